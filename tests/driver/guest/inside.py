# SPDX-License-Identifier: Apache-2.0
"""From inside a guest: its cards, modules and the kernel's log, and the way to ask the outside; ../conftest.py makes fixtures of it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import threading
import time
import tty
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
DEVICES = Path("/sys/bus/pci/devices")
DRIVER = Path("/sys/bus/pci/drivers/towpath")
FINIT_MODULE, DELETE_MODULE = 313, 176
LIBC = ctypes.CDLL(None, use_errno=True)
# Which guest this is: "plain" or "debug", User-Mode Linux, or "qemu"; empty outside of one.
FLAVOUR = os.environ.get("TOWPATH_GUEST", "")
# kmemleak calls nothing a leak that is younger.
LEAK_SECONDS = 5.5


def contract(name: str) -> int:
    """A constant of the contract between host and card."""
    found = re.search(rf"\bTP_{name}(?: =)? (0x[0-9a-f]+|\d+)", (ROOT / "contract/generated/towpath.h").read_text())
    assert found is not None, f"the contract has no {name}"
    return int(found[1], 0)


def until(condition: Callable[[], bool], what: str, seconds: float = 20) -> None:
    """Waits for something that happens soon."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"{what}: not within {seconds} s"
        time.sleep(0.01)


# What only one kind of guest can do.
IN_QEMU = FLAVOUR == "qemu"
cards_come_and_go = pytest.mark.skipif(IN_QEMU, reason="QEMU 11.1 ends itself when a vfio-user card leaves (memory_region_del_subregion)")
guest_sleeps = pytest.mark.skipif(IN_QEMU, reason="the guest's files come by 9p over virtio, which does not outlive a sleep")


def sleep() -> None:
    """As far as the devices' part of it goes."""
    Path("/sys/power/pm_test").write_text("devices")
    Path("/sys/module/suspend/parameters/pm_test_delay").write_text("0")
    try:
        Path("/sys/power/state").write_text("mem")
    finally:
        Path("/sys/power/pm_test").write_text("none")


def utility(path: str) -> Path:
    """A program of Debian's that was fetched for tests (../utilities.py), or a skip that says why there is none."""
    if "TOWPATH_GUEST_UTILITIES" not in os.environ:
        pytest.skip(f"{path} could not be fetched: {os.environ['TOWPATH_GUEST_NO_UTILITIES']}")
    return Path(os.environ["TOWPATH_GUEST_UTILITIES"], path)


class Outside:
    """Asks for what a guest cannot do; ../cards.py has the words."""

    def __init__(self) -> None:
        self.console = os.open(os.environ["TOWPATH_GUEST_OUTSIDE"], os.O_RDWR | os.O_NOCTTY)
        tty.setraw(self.console)
        # One question at a time.
        self.asking = threading.Lock()

    def ask(self, line: str) -> None:
        answer = b""
        with self.asking:
            os.write(self.console, f"{line}\n".encode())
            while not answer.endswith(b"\n"):
                answer += os.read(self.console, 4096)
        assert answer == b"ok\n", answer.decode(errors="replace")


class Card:
    """A card on the guest's bus."""

    def __init__(self, number: int, outside: Outside) -> None:
        self.number = number
        self.outside = outside
        place, self.socket = os.environ["TOWPATH_GUEST_CARDS"].split()[number].split("@")
        self.pci = DEVICES / place

    @property
    def name(self) -> str:
        """As the driver calls it, "towpath0"."""
        names = [path.name.removesuffix("!control") for path in self.pci.glob("towpath/towpath*!control")]
        assert len(names) == 1, f"the driver has {len(names)} names for {self.pci.name}"
        return names[0]

    @property
    def files(self) -> dict[str, Path]:
        """The card's device files, by name."""
        folder = Path("/dev", self.name) if (self.pci / "towpath").exists() else Path()
        return {path.name: path for path in folder.iterdir()} if folder != Path() and folder.is_dir() else {}

    def channel(self, index: int, attribute: str) -> str:
        """What sysfs says of a channel."""
        return self.attribute(f"towpath/{self.name}!control/{self.name}!{index}/{attribute}")

    def attribute(self, path: str) -> str:
        """What a file below the card's folder in sysfs says."""
        return (self.pci / path).read_text().strip()

    def counter(self, path: str) -> int:
        return int(self.attribute(path), 0)

    def config(self, at: int, size: int) -> int:
        """A number in the configuration space."""
        with (self.pci / "config").open("rb", buffering=0) as file:
            return int.from_bytes(os.pread(file.fileno(), size, at), "little")

    def write_config(self, at: int, size: int, value: int) -> None:
        with (self.pci / "config").open("r+b", buffering=0) as file:
            assert os.pwrite(file.fileno(), value.to_bytes(size, "little"), at) == size

    def capability(self, number: int) -> int:
        """Where a capability stands in the configuration space; 0 when there is none."""
        at = self.config(0x34, 1)
        while at and self.config(at, 1) != number:
            at = self.config(at + 1, 1)
        return at

    def bars(self) -> dict[int, int]:
        """Sizes of the BARs that there are."""
        rows = [[int(word, 16) for word in line.split()] for line in (self.pci / "resource").read_text().splitlines()[:6]]
        return {bar: end - start + 1 for bar, (start, end, flags) in enumerate(rows) if flags}

    def kill(self) -> None:
        """The card is pulled out; this returns when the kernel has seen it."""
        self.outside.ask(f"kill {self.number}")
        until(lambda: not self.pci.exists(), f"{self.pci.name} is gone")

    def bind(self) -> None:
        """Returns when its files are there."""
        (DRIVER / "bind").write_text(self.pci.name)
        until(lambda: "control" in self.files, "the card's files are there")

    def unbind(self) -> None:
        (DRIVER / "unbind").write_text(self.pci.name)

    def fault(self, words: str) -> None:
        """A fault on the card's link, in the words of `towpath sim --faults`: "drop", "ur 3", "down"."""
        self.outside.ask(f"fault {self.number} {words}")

    def start(self, *settings: str) -> None:
        """It is plugged in again, perhaps with settings of the simulated device, and this returns when it has been found."""
        self.outside.ask(" ".join([f"start {self.number}", *settings]))
        Path("/sys/module/virtio_uml/parameters/device").write_text(f"{self.socket}:64")
        until(self.pci.exists, f"{self.pci.name} is there again")


class Module:
    """A kernel module, from a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.folder = Path("/sys/module") / path.stem.replace("-", "_")

    @property
    def loaded(self) -> bool:
        return self.folder.exists()

    def load(self, parameters: str = "") -> None:
        with self.path.open("rb") as file:
            self.done(LIBC.syscall(FINIT_MODULE, file.fileno(), parameters.encode(), 0))

    def unload(self) -> None:
        self.done(LIBC.syscall(DELETE_MODULE, self.folder.name.encode(), os.O_NONBLOCK))

    def done(self, result: int) -> None:
        if result != 0:
            raise OSError(ctypes.get_errno(), f"{self.path.name}: {os.strerror(ctypes.get_errno())}")


@contextlib.contextmanager
def planted(parameters: str) -> Iterator[None]:
    """What no program can do to a card (plants/plant.c), and its end."""
    plant = Module(Path(os.environ["TOWPATH_GUEST_PLANT"]))
    plant.load(parameters)
    try:
        yield
    finally:
        plant.unload()


class KernelLog:
    """What the kernel says from now on."""

    def __init__(self) -> None:
        self.device = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
        os.lseek(self.device, 0, os.SEEK_END)

    def read(self) -> str:
        lines = []
        with contextlib.suppress(BlockingIOError):
            while True:
                lines.append(os.read(self.device, 8192).decode(errors="replace").split(";", 1)[-1].splitlines()[0])
        return "\n".join(lines)


def say(text: str) -> None:
    """A line of ours in the kernel's log, between the kernel's."""
    Path("/dev/kmsg").write_text(f"towpath: {text}\n")


def look_for_leaks() -> None:
    """Has the debug kernel look for memory that nobody knows of any more, and puts what it finds into its log."""
    report = Path("/sys/kernel/debug/kmemleak")
    if not report.exists():
        return
    time.sleep(LEAK_SECONDS)
    # What a scan has not seen before counts as changed since, and is reported by the next one.
    for _ in range(2):
        report.write_text("scan")
    for line in report.read_text().splitlines():
        Path("/dev/kmsg").write_text(f"kmemleak: {line}\n")
