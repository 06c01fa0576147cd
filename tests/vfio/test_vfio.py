# SPDX-License-Identifier: Apache-2.0
"""Crate towpath-vfio, the checks and the library against a real kernel's VFIO, in virtual machines: QEMU emulates processor, IOMMU and
devices, so no board and no rights are needed. The tests themselves are in src/; here the machines are started, and what they said is read.
A test that came to no result has failed.
"""

import contextlib
import functools
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import machine
import pytest

HERE = Path(__file__).resolve().parent
DEVICES = (
    *("-device", "edu,addr=4,dma_mask=0xffffffffffffffff"),
    *("-device", "e1000e,addr=5,romfile="),
    *("-device", "nvme,addr=6,serial=a,drive=null"),
    # Functions of one device, which stand in one group.
    *("-device", "nvme,addr=7.0,multifunction=on,serial=b", "-device", "edu,addr=7.1"),
)
GROUPS = ("two_cards_of_one_group_share_what_is_mapped",)


def names(source: str) -> list[str]:
    """The tests in a source of the guest's, from its table."""
    return re.findall(r'^    \("(\w+)", ', (HERE / "src" / source).read_text(), re.M)


@functools.cache
def program() -> Path:
    """The guest's, which outside of the machine serves the card for it."""
    command = ["cargo", "build", "--release", "--locked", f"--manifest-path={machine.ROOT / 'host/Cargo.toml'}"]
    subprocess.run([*command, "--package=towpath-vfio-guest"], check=True)
    return Path(os.environ.get("CARGO_TARGET_DIR", machine.ROOT / "host/target")) / "release/towpath-vfio-guest"


@pytest.fixture(scope="session")
def file_system(tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        machine.ready()
    except machine.Missing as why:
        pytest.skip(str(why))
    path = tmp_path_factory.mktemp("machine") / "initial"
    path.write_bytes(machine.initial_file_system(program()))
    return path


@pytest.fixture(scope="session")
def devices(file_system: Path) -> str:
    return machine.boot(file_system, "devices", *machine.IOMMU, *DEVICES, options="intel_iommu=on")


@pytest.fixture(scope="session")
def without(file_system: Path) -> str:
    return machine.boot(file_system, "no-iommu", *DEVICES)


@contextlib.contextmanager
def served(how: str, socket: Path) -> Iterator[None]:
    """A card in a process of its own, which the machine finds at the socket."""
    if not machine.has_device("vfio-user-pci"):
        pytest.skip("this QEMU has no vfio-user-pci: it needs QEMU 10.1 or newer")
    environment = {"TOWPATH_HOME": str(machine.ROOT)} | os.environ
    with subprocess.Popen([program(), how, socket], stdout=subprocess.PIPE, text=True, env=environment) as server:
        try:
            assert server.stdout is not None and server.stdout.readline() == "serving\n", "the card is not served"
            yield
        finally:
            server.kill()


def card_at(bus: str, socket: Path, more: str = "") -> tuple[str, ...]:
    return ("-device", f'{{"driver":"vfio-user-pci","bus":"{bus}",{more}"socket":{{"type":"unix","path":"{socket}"}}}}')


def behind_a_port(socket: Path, slot: int = 1) -> tuple[str, ...]:
    port = f"pcie-root-port,id=below{slot},slot={slot},chassis={slot},addr={3 + slot}"
    return ("-device", port, *card_at(f"below{slot}", socket))


def below_two_ports(sockets: list[Path]) -> tuple[str, ...]:
    return (*behind_a_port(sockets[0], 1), *behind_a_port(sockets[1], 2))


def below_a_switch(sockets: list[Path]) -> tuple[str, ...]:
    words = ["-device", "pcie-root-port,id=above,slot=1,chassis=1,addr=4", "-device", "x3130-upstream,id=switch,bus=above"]
    for slot, socket in enumerate(sockets, 2):
        words += ["-device", f"xio3130-downstream,id=port{slot},bus=switch,slot={slot},chassis={slot}", *card_at(f"port{slot}", socket)]
    return tuple(words)


def in_one_device(sockets: list[Path]) -> tuple[str, ...]:
    functions = [card_at("below", socket, f'"addr":"0.{n}","multifunction":true,') for n, socket in enumerate(sockets)]
    return ("-device", "pcie-root-port,id=below,slot=1,chassis=1,addr=4", *functions[0], *functions[1])


@pytest.fixture(scope="session")
def card(file_system: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    socket = tmp_path_factory.mktemp("card") / "socket"
    with served("serve", socket):
        return machine.boot(file_system, "card", *machine.IOMMU, *behind_a_port(socket), options="intel_iommu=on")


def with_two_cards(file_system: Path, folder: Path, tests: str, place: Callable[[list[Path]], tuple[str, ...]]) -> str:
    sockets = [folder / name for name in ("one", "two")]
    seed = os.environ.get("TOWPATH_SEED", "")
    with served("serve-peer", sockets[0]), served("serve-peer", sockets[1]):
        return machine.boot(file_system, tests, *machine.IOMMU, *place(sockets), options=f"intel_iommu=on seed={seed}")


@pytest.fixture(scope="session")
def two_cards(file_system: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    return with_two_cards(file_system, tmp_path_factory.mktemp("cards"), "peers", below_two_ports)


def passed(output: str, test: str) -> None:
    found = re.search(rf"^towpath: {test}: (\w+)$", output, re.M)
    assert found is not None, f"the machine did not come to it; the end of what it said:\n{output[-3000:]}"
    if found[1] != "ok":
        before = output[: found.start()].rpartition("\ntowpath: ")[2]
        pytest.fail(f"in the machine:\n{before}", pytrace=False)


@pytest.mark.parametrize("test", [*names("edu.rs"), *names("devices.rs"), *names("refusals.rs"), *GROUPS])
def test_with_qemus_devices(devices: str, test: str) -> None:
    passed(devices, test)


def test_without_an_iommu(without: str) -> None:
    passed(without, "without_an_iommu")


@pytest.mark.parametrize("test", names("card.rs"))
def test_with_the_simulated_card(card: str, test: str) -> None:
    passed(card, test)


@pytest.mark.parametrize("test", names("peers.rs"))
def test_with_two_simulated_cards(two_cards: str, test: str) -> None:
    passed(two_cards, test)


@pytest.mark.parametrize(
    ("tests", "place", "test"),
    [("switch", below_a_switch, "a_pair_below_a_switch"), ("group", in_one_device, "a_pair_in_one_group")],
)
def test_with_two_simulated_cards_elsewhere(
    file_system: Path, tmp_path: Path, tests: str, place: Callable[[list[Path]], tuple[str, ...]], test: str
) -> None:
    passed(with_two_cards(file_system, tmp_path, tests, place), test)
