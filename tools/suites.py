#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`./run test`: runs the suites of the table below and closes with one line over all of them.

A suite is one command and a time budget. Suites that use one core run first, on each core one; then the others, which use all cores,
one after the other. Everything a suite prints is kept in .towpath/log/, and shown as it comes, or when the suite ends if others run
beside it. A suite that finds no test, or ends badly without naming one, counts as a failure: tests must not vanish silently. Exit code
0 only if something ran and nothing failed.

To add a suite, add a line to SUITES; docs/testing.md is filled in from the same table with `./run test --times`.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / ".towpath"
TIMES_PAGE = ROOT / "docs" / "testing.md"
# A suite over its budget is only remarked on, for machines differ and may be busy; one that is so far beyond it hangs, and is stopped.
HANG_FACTOR = 4
HANG_SECONDS = 600


@dataclass
class Result:
    """What one suite came to."""

    passed: int = 0
    failures: list[str] = field(default_factory=list)
    skips: list[str] = field(default_factory=list)
    cached: int = 0  # of those that passed: found proved before, from the very same texts
    seconds: float = 0.0

    def __str__(self) -> str:
        return f"{self.passed} passed, {len(self.failures)} failed, {len(self.skips)} skipped"


@dataclass(frozen=True)
class Suite:
    """One line of the table: `command` ends as a list of arguments, `read` turns its output and report into a result."""

    name: str
    about: str
    budget: int  # seconds on 2 cores, from a warm cache of compiled runtime objects
    command: list[str]
    read: Callable[[str, Path], Result]
    only_named: bool = False  # left out when no suite is named
    sets_up: bool = False  # has an argument --setup, which fetches what it needs
    one_core: bool = False  # it has no use for more, so others run beside it

    @property
    def limit(self) -> int:
        return self.budget * HANG_FACTOR + HANG_SECONDS

    @property
    def report(self) -> Path:
        return OUT / "reports" / f"{self.name}.xml"


def read_junit(_output: str, report: Path) -> Result:
    """The counts of a pytest run, from its JUnit report."""
    result = Result()
    if not report.exists():
        return result
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        name = f"{case.get('classname', '')}::{case.get('name', '')}".strip(":")
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            result.failures.append(name)
        elif skipped is not None:
            result.skips.append(f"{name}: {skipped.get('message', 'no reason given')}")
        else:
            result.passed += 1
            result.cached += case.find("properties/property[@name='cached'][@value='True']") is not None
    return result


def read_cargo(output: str, _report: Path) -> Result:
    """The counts of `cargo test`, from what its test programs print."""
    result = Result()
    for passed, _failed, _ignored in re.findall(r"^test result: \S+ (\d+) passed; (\d+) failed; (\d+) ignored;", output, re.M):
        result.passed += int(passed)
    # Test and result stand on one line unless the test wrote something of its own in between.
    result.failures += sorted(set(re.findall(r"^    (\S+)$", "".join(re.findall(r"^failures:\n((?:    \S+\n)+)", output, re.M)), re.M)))
    for name, reason in re.findall(r"^test (.+?) \.\.\. ignored(?:, (.*))?$", output, re.M):
        result.skips.append(f"{name}: {reason or 'no reason given'}")
    return result


def read_races(output: str, report: Path) -> Result:
    """As `read_cargo`, and what miri or ThreadSanitizer finds: miri ends the program in the middle of a test, the other lets it pass."""
    result = read_cargo(output, report)
    kinds = "Undefined Behavior|unsupported operation|memory leaked|deadlock"
    found = re.findall(rf"^(?:test (\S+) \.\.\. )?error: ((?:{kinds}).*)$", output, re.M)
    found += [("", re.sub(r" \(.*?\)", "", line)) for line in re.findall(r"^SUMMARY: (ThreadSanitizer: .*)$", output, re.M)]
    result.failures += sorted({": ".join(filter(None, each)) for each in found})
    return result


def pytest_suite(name: str, about: str, budget: int, *arguments: str) -> Suite:
    """A test on each core, if the arguments say so (SPREAD)."""
    report = OUT / "reports" / f"{name}.xml"
    command = [sys.executable, "-m", "pytest", "-v", "--tb=short", f"--junitxml={report}", f"-ojunit_suite_name={name}", *arguments]
    return Suite(name, about, budget, command, read_junit, one_core="-n" not in arguments)


def cargo_suite(name: str, about: str, budget: int, *arguments: str, one_core: bool = False) -> Suite:
    return Suite(
        name, about, budget, ["cargo", "test", "--release", "--locked", "--no-fail-fast", *arguments], read_cargo, one_core=one_core
    )


def driver_suite(name: str, about: str, budget: int, kernel: str, only_named: bool, sets_up: bool = False) -> Suite:
    report = OUT / "reports" / f"{name}.xml"
    command = [sys.executable, "tests/driver/run.py", f"--kernel={kernel}", f"--report={report}"]
    return Suite(name, about, budget, command, read_junit, only_named, sets_up, one_core=kernel != "qemu")


def races_suite(name: str, about: str, budget: int) -> Suite:
    return Suite(name, about, budget, [sys.executable, "tests/races/run.py", name], read_races)


# A test on each core: for suites whose tests each compile or simulate with one thread. A worker without any takes another's.
SPREAD = ("-n", "auto", "--maxprocesses=8", "--dist=worksteal")

SUITES = [
    pytest_suite(
        "contract",
        "generator, and golden traces replayed against the card and the kernel driver's engine",
        180,
        "contract",
        "driver/linux/tests",
        *SPREAD,
    ),
    pytest_suite(
        "tools",
        "set-up, ./run test and ./run check themselves, each check with a planted fault",
        90,
        "tools/tests",
        "tests/driver/test_rig.py",
    ),
    pytest_suite("gateware", "modules of gateware/ on their own, under cocotb", 420, "gateware", "--ignore=gateware/endpoint", *SPREAD),
    pytest_suite("endpoints", "the core behind each endpoint, and models of the hard blocks", 600, "gateware/endpoint", *SPREAD),
    pytest_suite("cores", "the cores that ship, each under cocotb", 180, "cores", "examples", *SPREAD),
    pytest_suite(
        "boards",
        "what ./run board prepares, without Vivado: elaborated against stubs, its scripts and constraints run",
        120,
        "boards",
        *SPREAD,
    ),
    cargo_suite(
        "rust",
        "host/: library, driver, simulator, command line",
        420,
        "--workspace",
        "--exclude=towpath-property",
        "--manifest-path=host/Cargo.toml",
        one_core=True,  # one program after the other, and those that take long hardly use a second core
    ),
    pytest_suite("python", "the Python package, over the simulator", 180, "bindings/python/tests", *SPREAD),
    pytest_suite("gpu", "a GPU's memory and streams, over a stand-in for the GPU's driver", 180, "tests/gpu", *SPREAD),
    pytest_suite("c", "the C library: every function, under sanitizers, too; installed; Java, Octave", 240, "bindings/c/tests"),
    # Its output is shown: seeds, simulated times and speeds.
    cargo_suite(
        "property",
        "random transfers, every byte and completion compared",
        420,
        "--package=towpath-property",
        "--manifest-path=host/Cargo.toml",
        "--",
        "--nocapture",
        one_core=True,  # most of it is one long test after the other
    ),
    races_suite("miri", "short tests of the library under an interpreter that checks memory and threads (nightly Rust)", 180),
    races_suite("tsan", "the library's tests with threads under ThreadSanitizer, over cards in software (nightly Rust)", 240),
    pytest_suite("formal", "proofs of what gateware/ promises, and faults that must break them", 600, "tests/formal", *SPREAD),
    pytest_suite("cost", "instructions that the library spends on a transfer, counted by callgrind", 120, "-s", "tests/cost"),
    pytest_suite("vfio", "the library over a real kernel's VFIO, in virtual machines (QEMU, fetched on first use)", 240, "tests/vfio"),
    driver_suite("driver", "the kernel driver on a real kernel, User-Mode Linux (built on first use)", 480, "plain", False),
    driver_suite("driver-debug", "the same on a kernel with KASAN, lockdep, DMA-API debug and kmemleak", 480, "debug", True),
    driver_suite(
        "driver-qemu", "the same on Debian's kernel in QEMU: two processors, an IOMMU (--setup fetches it)", 600, "qemu", True, True
    ),
    # With checkpatch of the kernel's source, which it builds if no suite has.
    pytest_suite(
        "driver-builds",
        "the kernel driver for Debian's kernels, without a warning; sparse, checkpatch; its package, DKMS and manual page",
        180,
        "tests/driver/test_builds.py",
        "tests/driver/test_package.py",
        "tests/driver/test_manual.py",
    ),
    pytest_suite("verilog", "the gateware exported as Verilog-2005: read by other tools, and run", 180, "tests/verilog", *SPREAD),
    pytest_suite("agree", "the core under a root complex written elsewhere (cocotbext-pcie)", 240, "tests/agree", *SPREAD),
]


def by_reason(skips: list[str]) -> list[str]:
    """A line for each reason: with the test's name, or with how many tests have the same."""
    tests: dict[str, list[str]] = {}
    for skip in skips:
        name, _, reason = skip.partition(": ")
        tests.setdefault(" ".join(reason.split()), []).append(name)
    return [f"{names[0] if len(names) == 1 else f'{len(names)} tests'}: {reason}" for reason, names in tests.items()]


class Running:
    """The suites' processes, and whose turn it is to print."""

    def __init__(self) -> None:
        self.printing = threading.Lock()
        self.changing = threading.Lock()
        self.ended = False
        self.processes: set[subprocess.Popen[bytes]] = set()

    def start(self, suite: Suite) -> subprocess.Popen[bytes]:
        """In a process group of its own, unless all have been ended."""
        with self.changing:
            if self.ended:
                raise InterruptedError(f"{suite.name} is not started any more")
            process = subprocess.Popen(
                suite.command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, process_group=0
            )
            self.processes.add(process)
        return process

    def end(self) -> None:
        """Ends what runs; nothing starts afterwards."""
        with self.changing:
            self.ended = True
            for process in self.processes:
                kill_group(process)


def run_suite(suite: Suite, running: Running | None = None, beside: bool = False) -> Result:
    """Runs the command, shows and keeps its output, and reads what it came to. `beside` others, the output is shown when it ends."""
    running = running or Running()
    log = OUT / "log" / f"test-{suite.name}.log"
    for path in (log, suite.report):
        path.parent.mkdir(parents=True, exist_ok=True)
    suite.report.unlink(missing_ok=True)
    head = f"\n==== {suite.name}: {suite.about} (budget {suite.budget} s)"
    if not beside:
        print(head, flush=True)
    started = time.monotonic()
    stopped = threading.Event()
    with running.start(suite) as process:

        def stop(*_: object) -> None:
            stopped.set()
            kill_group(process)

        timer = threading.Timer(suite.limit, stop)
        timer.start()
        lines: list[str] = []
        try:
            assert process.stdout is not None
            with log.open("w") as file:
                for raw in process.stdout:
                    line = raw.decode(errors="replace")
                    if not beside:
                        sys.stdout.write(line)
                        sys.stdout.flush()
                    file.write(line)
                    lines.append(line)
            code = process.wait()
        except BaseException:
            kill_group(process)
            raise
        finally:
            timer.cancel()
            with running.changing:
                running.processes.discard(process)
    result = judge(suite, "".join(lines), code, stopped.is_set(), time.monotonic() - started)
    if beside and not running.ended:
        with running.printing:
            print(head, "".join(lines), sep="\n", end="", flush=True)
    return result


def run_all(suites: list[Suite]) -> dict[str, Result]:
    """Suites of one core beside each other, those that take long first; then the others. The results are in the order of `suites`."""
    narrow = sorted((suite for suite in suites if suite.one_core), key=lambda suite: -suite.budget)
    cores = len(os.sched_getaffinity(0))
    results: dict[str, Result] = {}
    if len(narrow) > 1 and cores > 1:
        print(f"\n==== {cores} at a time, each shown when it ends: {', '.join(suite.name for suite in narrow)}", flush=True)
        running = Running()
        with ThreadPoolExecutor(cores) as pool:
            try:
                jobs = {suite.name: pool.submit(run_suite, suite, running, beside=True) for suite in narrow}
                results = {name: job.result() for name, job in jobs.items()}
            except BaseException:
                running.end()  # the pool waits for them
                raise
    for suite in suites:
        if suite.name not in results:
            results[suite.name] = run_suite(suite)
    return {suite.name: results[suite.name] for suite in suites}


def kill_group(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def judge(suite: Suite, output: str, code: int, stopped: bool, seconds: float) -> Result:
    """Turns a finished command into a result in which a suite that went wrong has a failure at least."""
    result = suite.read(output, suite.report)
    result.seconds = seconds
    if stopped:
        result.failures.append(f"{suite.name}: stopped after {seconds:.0f} s, far beyond its budget of {suite.budget} s: it hangs")
    elif result.passed + len(result.failures) + len(result.skips) == 0:
        result.failures.append(f"{suite.name}: no test ran (exit code {code}); see .towpath/log/test-{suite.name}.log")
    elif code != 0 and not result.failures:
        result.failures.append(f"{suite.name}: exit code {code}, though no test failed; see .towpath/log/test-{suite.name}.log")
    return result


def table(results: dict[str, Result], suites: list[Suite]) -> str:
    """The suites with counts and times, as a Markdown table."""
    rows = [("suite", "passed", "failed", "skipped", "seconds", "budget", "what")]
    for suite in suites:
        r = results[suite.name]
        rows.append(
            (suite.name, str(r.passed), str(len(r.failures)), str(len(r.skips)), f"{r.seconds:.0f}", str(suite.budget), suite.about)
        )
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def write_times(text: str) -> None:
    """Puts the table between the marks of docs/testing.md."""
    begin, end = "<!-- times: written by ./run test --times -->\n", "<!-- end of times -->\n"
    page = TIMES_PAGE.read_text()
    if begin not in page or end not in page:
        raise SystemExit(f"{TIMES_PAGE.relative_to(ROOT)}: the marks between which the table goes are gone: {begin!r} and {end!r}")
    before, rest = page.split(begin, 1)
    TIMES_PAGE.write_text(before + begin + text + "\n" + end + rest.split(end, 1)[1])


def main(arguments: list[str]) -> int:
    names = [suite.name for suite in SUITES]
    parser = argparse.ArgumentParser(prog="./run test", description="Run the tests; no card needed.")
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"only these: {', '.join(names)}")
    parser.add_argument("--setup", action="store_true", help="first fetch what a named suite needs and does not fetch by itself")
    parser.add_argument("--list", action="store_true", help="say what suites there are, and run none")
    parser.add_argument("--times", action="store_true", help="write the measured times into docs/testing.md (all suites only)")
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.suites if name not in names]:
        parser.error(f"no suite {', '.join(unknown)}; there are: {', '.join(names)}")
    if options.times and options.suites:
        parser.error("--times needs all suites: leave the names out")
    chosen = [suite for suite in SUITES if suite.name in options.suites or not (options.suites or suite.only_named)]
    if options.setup:
        if not any(suite.sets_up for suite in chosen):
            parser.error(f"--setup goes with {' or '.join(suite.name for suite in SUITES if suite.sets_up)}")
        chosen = [replace(suite, command=[*suite.command, "--setup"]) if suite.sets_up else suite for suite in chosen]
    if options.list:
        for suite in SUITES:
            if not options.suites or suite in chosen:
                print(f"{suite.name:12} {suite.budget:4} s  {suite.about}{' (only when named)' if suite.only_named else ''}")
        return 0

    # Ended from outside: end what is running, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    started = time.monotonic()
    results = run_all(chosen)
    total = Result(seconds=time.monotonic() - started)
    for r in results.values():
        total.passed += r.passed
        total.failures += r.failures
        total.skips += r.skips

    print("\n==== result\n" + table(results, chosen))
    for suite in chosen:
        if results[suite.name].seconds > suite.budget:
            print(f"over its budget: {suite.name}, {results[suite.name].seconds:.0f} s of {suite.budget} s")
    for suite in chosen:
        if (result := results[suite.name]).cached:
            print(f"from the cache: {result.cached} of the {result.passed} results of {suite.name}, for the same sources and tools")
    for line in by_reason(total.skips):
        print(f"skipped  {line}")
    for failure in total.failures:
        print(f"FAILED   {failure}")
    if options.times:
        write_times(table(results, chosen))
        print(f"times written to {TIMES_PAGE.relative_to(ROOT)}")
    (OUT / "reports" / "test.count").write_text(f"{total.passed} {len(total.failures)} {len(total.skips)}\n")
    print(f"\n{total.seconds:.0f} s in all\n{total}", flush=True)
    return 1 if total.failures or total.passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
