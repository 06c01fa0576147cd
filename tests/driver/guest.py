# SPDX-License-Identifier: Apache-2.0
"""A guest: a machine with simulated cards on its bus, in which pytest runs, with this machine's programs and this checkout.

What kind of machine it is, and how its kernel is started, is the concern of uml.py and qemu.py.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Protocol

from cards import ROOT, Cards, Failed

HERE = Path(__file__).resolve().parent
# What a guest's tests may start by name, beside what they build: a minimal Debian with what set-up installs (tools/setup.sh) has all of
# them.
PROGRAMS = ("as", "bash", "cat", "cc", "cmp", "dd", "gcc", "head", "id", "ld", "sh", "sleep", "tail", "wc", "yes")
# A kernel that cannot stop complaining would fill the disk.
LONGEST_OUTPUT = 8 << 20
# How pytest tells of a skip, as it happens and at the end. Of these there may be many; the report has all of them.
SKIP = re.compile(r"\S+::.* SKIPPED .*|SKIPPED \[\d+\] .*")


class Machine(Protocol):
    """A kind of machine."""

    flavour: str  # by which tests know where they are
    limit: int  # seconds for all that a guest does
    at_once: int  # how many of them this machine is good for
    front: str  # the option of `towpath sim` that serves a card to it
    places: tuple[str, ...]  # of the cards, on its PCI bus
    consoles: tuple[str, str]  # its devices for the tests' output, and to ask the outside
    files: dict[str, str]  # of its own that tests use, in the words of the guest's environment

    def module(self, folder: Path, *arguments: str) -> Path:
        """Builds the one kernel module of a folder, in place, with further arguments of make."""

    def mount(self, output: Path) -> tuple[str, str, str]:
        """What its first process mounts to write into a folder of ours: kind, source and options."""

    def command(self, init: Path, output: Path, cards: Cards, said: int) -> list[str]:
        """What starts it with that first process. Its kernel's log comes out of standard output, the tests' output of descriptor `said`."""


@dataclass
class Ended:
    """What came of a guest."""

    kernel: str  # all that the kernel said
    code: int | None  # pytest's exit code; None when the guest did not come to its end
    report: Path  # pytest's
    why: str = ""


def without_skips(said: str) -> str:
    """What tests said, but for lines that tell of a skip."""
    return "".join(line for line in said.splitlines(keepends=True) if not SKIP.fullmatch(line.rstrip()))


@dataclass
class Pipe:
    """Takes what comes out of a descriptor, shows it if wanted, and keeps it up to a limit."""

    source: IO[bytes]
    show: bool
    kept: bytearray = field(default_factory=bytearray)

    def run(self) -> None:
        for line in self.source:
            line = line.replace(b"\r", b"")
            if len(self.kept) < LONGEST_OUTPUT:
                self.kept += line
                if self.show:
                    sys.stdout.write(without_skips(line.decode(errors="replace")))
                    sys.stdout.flush()


def boot(machine: Machine, cards: Cards, work: Path, built: dict[str, str], tests: list[Path], arguments: list[str], show: bool) -> Ended:
    """Runs tests in a guest of its own, whose environment names what was built for it, and shows what they say, if wanted; `work` is a new
    folder, with a short name and without blanks in it.
    """
    output = work / "out"
    output.mkdir()
    places = " ".join(f"{place}@{card.socket}" for place, card in zip(machine.places, cards.cards, strict=True))
    environment = {
        "TOWPATH_GUEST": machine.flavour,
        "TOWPATH_GUEST_CARDS": places,
        "TOWPATH_GUEST_OUTSIDE": machine.consoles[1],
        **built,
    }
    init = first_process(machine, work, output, environment, tests, arguments)
    reading, writing = os.pipe()
    with subprocess.Popen(
        machine.command(init, output, cards, writing),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        pass_fds=(writing, cards.guests.fileno()),
        process_group=0,
    ) as process:
        os.close(writing)
        assert process.stdout is not None
        with os.fdopen(reading, "rb") as shown:
            pipes = [Pipe(process.stdout, show=False), Pipe(shown, show)]
            threads = [threading.Thread(target=pipe.run, daemon=True) for pipe in pipes]
            for thread in threads:
                thread.start()
            try:
                process.wait(machine.limit)
                why = ""
            except subprocess.TimeoutExpired:
                why = f"it did not switch itself off within {machine.limit} s"
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)  # it answers no other signal when it hangs
            for thread in threads:
                thread.join(10)
    kernel_log, said = (pipe.kept.decode(errors="replace") for pipe in pipes)
    (work / "tests.log").write_text(said)
    (work / "kernel.log").write_text(kernel_log)
    code = int((output / "code").read_text()) if (output / "code").exists() else None
    if code is None:
        during = re.findall(r"towpath: (.+)", kernel_log)[-1:] or ["the start"]
        why = f"{why or 'it ended before its tests did'}, during {during[0]}"
    return Ended(kernel_log, code, output / "report.xml", why)


def first_process(machine: Machine, work: Path, output: Path, environment: dict[str, str], tests: list[Path], arguments: list[str]) -> Path:
    """Writes the program that a guest starts with, a script that hands over to guest/init.py."""
    paths = [Path(value) for value in environment.values()]
    files = [path if path.is_dir() else path.parent for path in paths if path.exists()]
    needed = {str(path) for path in (ROOT, work, output, sys.prefix, sys.base_prefix, *files)}
    pytest = [
        "-m",
        "pytest",
        "-v",
        "--color=no",
        "--tb=short",
        "-p",
        "no:cacheprovider",
        "--junitxml=/run/out/report.xml",
        *map(str, tests),
        *arguments,
    ]
    shown = machine.consoles[0]
    command = [sys.executable, str(HERE / "guest/init.py"), shown, *machine.mount(output), *sorted(needed), "--", sys.executable, *pytest]
    programs = work / "programs"
    programs.mkdir()
    for name in PROGRAMS:
        if found := shutil.which(name, path="/usr/local/bin:/usr/bin:/bin"):
            (programs / name).symlink_to(found)
    variables = {
        "HOME": "/tmp",
        "PATH": f"{Path(sys.executable).parent}:{programs}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "LANG": "C.UTF-8",
        **environment,
    }
    lines = ["#!/bin/sh", f"cd {shlex.quote(str(ROOT))} || exit 1"]
    lines += [f"export {name}={shlex.quote(value)}" for name, value in variables.items()]
    init = work / "init"
    init.write_text("\n".join([*lines, f"exec {shlex.join(command)}", ""]))
    init.chmod(0o755)
    return init


def make_module(folder: Path, *arguments: str) -> Path:
    """Builds the one module of a folder with these words for make, in place."""
    command = ["make", f"-j{len(os.sched_getaffinity(0))}", *arguments]
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "ARCH")}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL, env=environment)
    if done.returncode != 0:
        raise Failed(f"the module in {folder.name} does not build:\n{done.stdout[-3000:]}{done.stderr[-6000:]}")
    return next(folder.glob("*.ko"))
