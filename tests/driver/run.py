#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`./run test driver`, `driver-debug` and `driver-qemu`: the kernel driver on a real kernel, with simulated cards.

    python tests/driver/run.py [--kernel plain|debug|qemu] [--setup] [--soak [--seed N]] [--endpoint NAME | --card COMMAND]
                               [--report FILE] [PYTEST'S...]

Boots guests, each with cards of its own, as many at a time as they are good for. In some, the tests of guest/ run, and the kernel must not
complain of anything, from its first line to its last, nor may a card reach for memory that is not mapped for it. In the last, those of
plants/ commit faults on purpose and see that kernel or card complain. What kernels, cards and tests said is left in .towpath/driver/.
`-k bus -x` and the like are handed to pytest in the guests. What `qemu` needs is fetched with --setup only. `./run soak driver` runs the
long tests of soak/ in place of all others. With `--endpoint` the cards are simulated at the pins of that endpoint's hard block.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import shlex
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import complaints
import debian
import kernel
import languages
import utilities
from cards import ROOT, Cards, Failed
from guest import HERE, Ended, Machine, boot, without_skips
from qemu import BOUNCING, Qemu
from uml import UserModeLinux

sys.path.insert(0, str(ROOT / "tools"))
import suites

DRIVER = ROOT / "driver/linux"
KERNELS = (*kernel.FLAVOURS, "qemu")
SOAK_SECONDS = 5400
LEFT = ROOT / ".towpath/driver"


class Report:
    """A JUnit report: what the guests' pytest reported, and tests of our own."""

    def __init__(self) -> None:
        self.root = ElementTree.Element("testsuites")
        self.own = ElementTree.SubElement(self.root, "testsuite", name="driver")
        self.failed = False

    def add(self, name: str, kind: str = "", text: str = "") -> None:
        """A test of our own, which passed, or is a "failure" or "skipped"."""
        case = ElementTree.SubElement(self.own, "testcase", classname="tests.driver.run", name=name)
        if kind:
            printable = "".join(c for c in text if c.isprintable() or c in "\n\t")
            ElementTree.SubElement(case, kind, message=printable.splitlines()[0] if printable else kind).text = printable
            print(f"{name}: {kind}: {printable}", flush=True)
        else:
            print(f"{name}: passed", flush=True)
        self.failed |= kind == "failure"

    def take(self, file: Path) -> None:
        if file.exists():
            self.root.extend(ElementTree.parse(file).getroot().iter("testsuite"))

    def write(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        ElementTree.ElementTree(self.root).write(file)


def make_modules(work: Path, machine: Machine) -> dict[str, str]:
    """Copies and builds the modules; says where they are in the words of the guest's environment."""
    sources: dict[str, tuple[Path, tuple[str, ...]]] = {
        "TOWPATH_GUEST_MODULE": (DRIVER, ()),
        "TOWPATH_GUEST_REDUCED": (DRIVER, ("CONFIG_TOWPATH_URING=n", "CONFIG_TOWPATH_LATENCY=n")),
        "TOWPATH_GUEST_PLANT": (HERE / "plants", ()),
        "TOWPATH_GUEST_EXPORTER": (HERE / "exporter", ()),
    }
    copies = {name: Path(shutil.copytree(source, work / name)) for name, (source, _) in sources.items()}
    return {name: str(machine.module(copy, *sources[name][1])) for name, copy in copies.items()}


def built(what: str, *arguments: str) -> Path:
    """The one program that cargo makes with these arguments."""
    command = ["cargo", *arguments, "--release", "--locked", "--message-format=json-render-diagnostics"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    found = [said["executable"] for line in done.stdout.splitlines() if (said := json.loads(line)).get("executable")]
    if done.returncode != 0 or len(found) != 1:
        raise Failed(f"{what} does not build")
    return Path(found[0])


def make_programs() -> dict[str, str]:
    """Builds what uses the library in the guest; says where it is in the words of the guest's environment."""
    towpath = built("the command line", "build", f"--manifest-path={ROOT / 'host/Cargo.toml'}", "--package=towpath-cli", "--bin=towpath")
    manifest = f"--manifest-path={ROOT / 'tests/property/Cargo.toml'}"
    transfers = built("the test of random transfers", "test", "--no-run", manifest, "--test=property")
    memories = built("the test of random reads and writes", "test", "--no-run", manifest, "--test=memory")
    programs = {"COMMAND": towpath, "PROPERTY": transfers, "MEMORIES": memories}
    return {f"TOWPATH_GUEST_{name}": str(path) for name, path in programs.items()}


def find_utilities() -> dict[str, str]:
    """Where Debian's programs are, or why they are not there, in the words of the guest's environment."""
    try:
        return {"TOWPATH_GUEST_UTILITIES": str(utilities.fetch())}
    except kernel.Missing as why:
        return {"TOWPATH_GUEST_NO_UTILITIES": str(why)}


def card_command(towpath: str, front: str, endpoint: str | None) -> list[str]:
    """What serves a card; CORE and SOCKET stand for those of each."""
    # A read that is never answered ends after 100 us: simulated time goes slowly where nothing moves. And that soon: none of these
    # cores has anything to do that is not seen.
    settings = ["completion_timeout=1", "quiet=100000", *([f"endpoint={endpoint}"] if endpoint else [])]
    return [towpath, "sim", "CORE", "--faults", *(word for value in settings for word in ("--set", value)), front, "SOCKET"]


def run(report: Report, flavour: str, card: list[str] | None, endpoint: str | None, seed: int | None, arguments: list[str]) -> None:
    """With a seed, the long tests."""
    machine: Machine = Qemu() if flavour == "qemu" else UserModeLinux(flavour)
    programs = make_programs() | find_utilities()
    if seed is not None:
        machine.limit = SOAK_SECONDS
        programs |= {"TOWPATH_SOAK_SECONDS": str(SOAK_SECONDS), "TOWPATH_SOAK_SEED": str(seed)}
        programs |= {name: value for name, value in os.environ.items() if name.startswith("TOWPATH_SOAK_")}
        print(f"seed {seed}: --seed {seed} repeats what is random here", flush=True)
    command = card or card_command(programs["TOWPATH_GUEST_COMMAND"], machine.front, endpoint)
    # Names of sockets are short, and the kernel's command line knows no blanks.
    with tempfile.TemporaryDirectory(prefix="towpath-", dir="/tmp") as name:
        with ThreadPoolExecutor(1) as beside:
            modules = beside.submit(make_modules, Path(name), machine)
            programs |= languages.build(Path(name) / "languages")
        built = modules.result() | programs | machine.files
        folder = LEFT / flavour
        shutil.rmtree(folder, ignore_errors=True)

        def run_part(part: str, tests: list[Path]) -> tuple[str, Ended, list[str]]:
            work = Path(name) / part
            work.mkdir()
            kind = Qemu(BOUNCING) if part == "bounce" else machine
            with Cards(command, work) as cards:
                ended = boot(kind, cards, work, built, tests, arguments, show=machine.at_once == 1)
            leave(work, folder / part)
            return part, ended, [card.log.read_text(errors="replace") for card in cards.cards]

        parts = {"soak": [HERE / "soak"]} if seed is not None else divided(machine.at_once) | {"plants": [HERE / "plants"]}
        if flavour == "qemu" and seed is None:
            parts["bounce"] = [HERE / "guest" / f"test_{name}.py" for name in ("bounce", "files")]
        with ThreadPoolExecutor(machine.at_once) as pool:
            for part, ended, logs in pool.map(lambda part: run_part(*part), parts.items()):
                if machine.at_once > 1:
                    print(without_skips((folder / part / "tests.log").read_text()), flush=True)
                judge(report, part, ended, logs)


def divided(count: int) -> dict[str, list[Path]]:
    """The tests of guest/ in so many parts, dealt there and back: how long one takes has little to do with how long its file is."""
    parts: dict[str, list[Path]] = {f"guest-{number}": [] for number in range(1, count + 1)}
    there = list(parts.values())
    turns = itertools.cycle(there + there[::-1])
    for file in sorted((HERE / "guest").glob("test_*.py")):
        next(turns).append(file)
    return parts


def leave(work: Path, folder: Path) -> None:
    """Keeps what a guest and its cards said, for whoever wants to know why."""
    folder.mkdir(parents=True)
    for log in work.glob("*.log"):
        shutil.copy(log, folder)


def judge(report: Report, tests: str, ended: Ended, logs: list[str]) -> None:
    report.take(ended.report)
    if ended.why:
        report.add(f"{tests}: the guest comes to its end", "failure", f"{ended.why}\n{ended.kernel[-6000:]}")
    elif ended.code == 5:  # no test was chosen, with -k
        report.add(f"{tests}: there are tests", "skipped", "no test of these names")
    elif ended.code not in (0, 1):  # 1: the tests' own reports say which failed
        report.add(f"{tests}: the tests run", "failure", f"pytest ended with exit code {ended.code}")
    else:
        report.add(f"{tests}: the guest comes to its end")
        report.failed |= ended.code != 0
    found = complaints.find(ended.kernel)
    strays = [line for log in logs for line in complaints.strays(log)]
    if tests != "plants":
        report.add(f"{tests}: the kernel does not complain", "failure" if found else "", "\n\n".join(found))
        report.add(f"{tests}: no card reaches for memory that is not mapped", "failure" if strays else "", "\n".join(strays))
    elif "test_memory_taken_away_from_a_card" in ended.kernel:
        report.add("plants: the card tells of memory that was taken away", "" if strays else "failure", "it says nothing")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="run.py", description="The kernel driver on a real kernel, with simulated cards.")
    parser.add_argument("--kernel", choices=KERNELS, default="plain", help="with debug it finds more, and takes longer; qemu has an IOMMU")
    parser.add_argument("--setup", action="store_true", help="first fetch what qemu needs, if it is not there")
    parser.add_argument("--soak", action="store_true", help="the long tests")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32), metavar="N", help="of the long tests, to repeat them")
    cards = parser.add_mutually_exclusive_group()
    cards.add_argument("--endpoint", metavar="NAME", help="simulate the cards at the pins of this endpoint's hard block")
    cards.add_argument(
        "--card",
        type=shlex.split,
        metavar="COMMAND",
        help="serves a card, in place of `towpath sim CORE --vhost-user SOCKET` (or --socket)",
    )
    parser.add_argument("--report", type=Path, metavar="FILE", help="the JUnit report")
    options, others = parser.parse_known_args(arguments)
    # That of the whole long tests is kept beside those of the suites, for tools/driverproofs.py.
    shortened = others or any(name.startswith("TOWPATH_SOAK_") for name in os.environ)
    whole = options.soak and not shortened
    options.report = options.report or (suites.OUT / f"reports/soak-{options.kernel}.xml" if whole else LEFT / "report.xml")
    options.report.unlink(missing_ok=True)
    report = Report()
    try:
        if options.setup:
            debian.set_up()
        run(report, options.kernel, options.card, options.endpoint, options.seed if options.soak else None, others)
    except kernel.Missing as why:
        report.add("all of it", "skipped", str(why))
    except (kernel.Broken, Failed) as why:
        report.add("the guests start", "failure", str(why))
    report.write(options.report)
    for line in suites.by_reason(suites.read_junit("", options.report).skips):
        print(f"skipped  {line}", flush=True)
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
