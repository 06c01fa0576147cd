#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes driver/linux/PROOFS.md: what the kernel driver promises, and which tests have proven it on which kernel.

    python tools/driverproofs.py             # from the files beside it: proofs.toml and proofs.json
    python tools/driverproofs.py --renew     # first replaces the results in proofs.json by those of the reports in .towpath/reports/

proofs.toml lists the promises, the tests that prove each, and the known reasons of skips. proofs.json holds the outcome of each test in the
last run that was taken over, without times and names of machines. --renew takes over every report that is there; a run without a report
keeps its results. `./run check driver-proofs` fails when the page is not what these files make, when a promise names a test that the
sources do not have, and when a promise names no test of a file in tests/driver/guest/.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
import tomllib
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROMISES = "driver/linux/proofs.toml"
RESULTS = "driver/linux/proofs.json"
PAGE = "driver/linux/PROOFS.md"
GUEST = "tests/driver/guest"
KERNEL_TESTS = (f"{GUEST}/test_*.py", "tests/driver/plants/test_*.py")
SOAK_TESTS = ("tests/driver/soak/test_*.py",)
BUILD_TESTS = ("tests/driver/test_builds.py", "tests/driver/test_package.py", "tests/driver/test_manual.py")


class ProofsError(Exception):
    """The text says what is wrong, and where."""


@dataclass(frozen=True)
class Run:
    """One run of tests: its name in proofs.json, the column of the table, the name of its report, and its test files."""

    name: str
    column: str
    report: str
    files: tuple[str, ...]


RUNS = (
    Run("traces", "traces", "contract", ("driver/linux/tests/test_*.py",)),
    Run("UML", "UML", "driver", KERNEL_TESTS),
    Run("debug", "debug", "driver-debug", KERNEL_TESTS),
    Run("QEMU", "QEMU", "driver-qemu", KERNEL_TESTS),
    Run("builds", "builds", "driver-builds", BUILD_TESTS),
    Run("soak UML", "soak", "soak-plain", SOAK_TESTS),
    Run("soak debug", "soak", "soak-debug", SOAK_TESTS),
    Run("soak QEMU", "soak", "soak-qemu", SOAK_TESTS),
)
COLUMNS = tuple(dict.fromkeys(run.column for run in RUNS))


@dataclass(frozen=True)
class Promise:
    text: str
    tests: tuple[str, ...]
    remark: str = ""


@dataclass(frozen=True)
class Promises:
    promises: tuple[Promise, ...]
    skips: dict[str, str]  # a known reason of a skip, and how the page says it


@dataclass
class Results:
    """What each run came to: tests that belong to no test function and failed, and the outcome of each test by its id."""

    runs: dict[str, list[str]]
    tests: dict[str, dict[str, str]]


# --- what is there --------------------------------------------------------------------------------------------------------------


def read_promises(root: Path) -> Promises:
    read = tomllib.loads((root / PROMISES).read_text())
    if unknown := set(read) - {"promise", "skips"}:
        raise ProofsError(f"{PROMISES}: unknown: {', '.join(sorted(unknown))}")
    promises = []
    for entry in read.get("promise", []):
        text = entry.get("text", "")
        if not text or set(entry) - {"text", "tests", "remark"}:
            raise ProofsError(f"{PROMISES}: a promise has a text, tests and, perhaps, a remark: {entry}")
        if not entry.get("tests"):
            raise ProofsError(f"{PROMISES}: no test is named for: {text}")
        promises.append(Promise(text, tuple(entry["tests"]), entry.get("remark", "")))
    return Promises(tuple(promises), read.get("skips", {}))


def read_results(root: Path) -> Results:
    if not (root / RESULTS).exists():
        return Results({}, {})
    read = json.loads((root / RESULTS).read_text())
    return Results(read["runs"], {f"{file}::{name}": known for file, tests in read["tests"].items() for name, known in tests.items()})


def write_results(root: Path, results: Results) -> None:
    """A line for each test, so that a change of one is seen as such."""

    def entries(mapping: Mapping[str, object], indent: int) -> str:
        return ",\n".join(f"{' ' * indent}{json.dumps(key)}: {json.dumps(value)}" for key, value in mapping.items())

    by_file: dict[str, dict[str, dict[str, str]]] = {}
    for test in sorted(results.tests):
        file, name = test.split("::", 1)
        by_file.setdefault(file, {})[name] = results.tests[test]
    runs = entries({run.name: results.runs[run.name] for run in RUNS if run.name in results.runs}, 2)
    tests = ",\n".join(f"  {json.dumps(file)}: {{\n{entries(known, 3)}\n  }}" for file, known in by_file.items())
    (root / RESULTS).write_text(f'{{\n "runs": {{\n{runs}\n }},\n "tests": {{\n{tests}\n }}\n}}\n')


def find_tests(root: Path) -> list[str]:
    """Each test function of the sources, "file::function"."""
    patterns = dict.fromkeys(pattern for run in RUNS for pattern in run.files)
    files = sorted({path for pattern in patterns for path in root.glob(pattern)})
    return [
        f"{path.relative_to(root).as_posix()}::{node.name}"
        for path in files
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    ]


def function_of(test: str) -> str:
    """The function of a test: its id without the parameters."""
    return test.split("[", 1)[0]


def named(pattern: str, functions: list[str]) -> list[str]:
    """The functions that a pattern names: a file for all of its functions; `*` in a function's name; parameters do not matter here."""
    wanted = function_of(pattern)
    return [name for name in functions if fnmatchcase(name, wanted if "::" in wanted else f"{wanted}::*")]


def chosen(promise: Promise, functions: list[str]) -> dict[str, set[str]]:
    """The functions that prove a promise, each with the ids of its tests; none: all of them. A pattern after "!" takes functions out."""
    found: dict[str, set[str]] = {}
    for pattern in promise.tests:
        for name in named(pattern.removeprefix("!"), functions):
            if pattern.startswith("!"):
                found.pop(name, None)
            elif "[" in pattern:
                found.setdefault(name, set()).add(pattern)
            else:
                found[name] = set()
    return found


# --- reports --------------------------------------------------------------------------------------------------------------------


def belongs(test: str, run: Run) -> bool:
    return any(fnmatchcase(test.split("::", 1)[0], pattern) for pattern in run.files)


def outcome(case: ElementTree.Element, skips: dict[str, str]) -> str:
    skipped = case.find("skipped")
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    if skipped is None:
        return "passed"
    # Any other reason is this machine's, and says nothing of the kernel.
    reason = skipped.get("message", "")
    return f"skipped: {reason}" if reason in skips else "skipped"


def take_over(results: Results, run: Run, report: Path, skips: dict[str, str]) -> bool:
    """Replaces what is known of a run by its JUnit report; False, and nothing is replaced, when no test ran."""
    broken: list[str] = []
    taken: dict[str, str] = {}
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        module, name = case.get("classname", ""), case.get("name", "")
        test, came_to = f"{module.replace('.', '/')}.py::{name}", outcome(case, skips)
        if belongs(test, run):
            # A test has a second entry when its teardown fails.
            taken[test] = "failed" if "failed" in (came_to, taken.get(test)) else came_to
        elif came_to == "failed" and not module.startswith("contract."):  # whose report holds the traces, too
            broken.append(name)
    if not broken and not any(came_to != "skipped" for came_to in taken.values()):
        return False
    results.runs[run.name] = sorted(broken)
    for known in results.tests.values():
        known.pop(run.name, None)
    for test, came_to in taken.items():
        results.tests.setdefault(test, {})[run.name] = came_to
    order = [each.name for each in RUNS]
    results.tests = {
        test: dict(sorted(known.items(), key=lambda item: order.index(item[0]))) for test, known in results.tests.items() if known
    }
    return True


def renew(root: Path, reports: Path) -> None:
    promises, results = read_promises(root), read_results(root)
    for run in RUNS:
        report = reports / f"{run.report}.xml"
        stays = "its results stay as they were" if run.name in results.runs else "it has no results"
        if not report.exists():
            print(f"{run.name}: no {report.name}: {stays}")
        elif not take_over(results, run, report, promises.skips):
            print(f"{run.name}: no test ran, says {report.name}: {stays}")
        else:
            outcomes = {test: known[run.name] for test, known in results.tests.items() if run.name in known}
            skips = [test for test, each in outcomes.items() if each.startswith("skipped")]
            failed = [*results.runs[run.name], *(test for test, each in outcomes.items() if each == "failed")]
            print(f"{run.name}: {len(outcomes) - len(skips)} ran, {len(skips)} skipped, failed: {', '.join(failed) or 'none'}")
            if unknown := [test for test in skips if outcomes[test] == "skipped"]:
                print(f"    skipped for a reason that {PROMISES} does not list, which counts as not run: {', '.join(unknown)}")
    write_results(root, results)


# --- the page -------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cell:
    """What a promise came to in one run."""

    word: str
    reasons: tuple[str, ...] = ()


def judge(wanted: dict[str, set[str]], run: Run, results: Results) -> Cell | None:
    """None where none of the promise's tests belongs to the run."""
    mine = {name: ids for name, ids in wanted.items() if belongs(name, run)}
    if not mine:
        return None
    if run.name not in results.runs:
        return Cell("not run")
    outcomes: list[str] = []
    for name, ids in mine.items():
        known = {test: each[run.name] for test, each in results.tests.items() if function_of(test) == name and run.name in each}
        outcomes += [known.get(test, "skipped") for test in ids or known] or ["skipped"]
    reasons = tuple(dict.fromkeys(each.removeprefix("skipped: ") for each in outcomes if each.startswith("skipped: ")))
    passed = "passed" in outcomes
    if results.runs[run.name] or "failed" in outcomes:
        return Cell("**FAILED**")
    if "skipped" in outcomes:
        return Cell("incomplete" if passed else "not run", reasons)
    if reasons:
        return Cell("in part" if passed else "–", reasons)
    return Cell("passed")


def is_proven(wanted: dict[str, set[str]], results: Results) -> bool:
    """Each test has passed in a run, and none has failed in any."""
    for name, ids in wanted.items():
        runs = [run.name for run in RUNS if belongs(name, run) and run.name in results.runs]
        known = {test: [each[run] for run in runs if run in each] for test, each in results.tests.items() if function_of(test) == name}
        ran = [known.get(test, []) for test in ids] if ids else [outcomes for outcomes in known.values() if outcomes]
        if not ran or any("passed" not in outcomes or "failed" in outcomes for outcomes in ran) or any(results.runs[run] for run in runs):
            return False
    return bool(wanted)


def named_in_page(promise: Promise) -> str:
    """The tests of a promise, by file."""
    by_file: dict[str, list[str]] = {}
    for pattern in promise.tests:
        file, _, function = pattern.removeprefix("!").partition("::")
        words = by_file.setdefault(file, [])
        if function:
            words.append(f"{'without ' if pattern.startswith('!') else ''}`{function}`")

    def link(file: str) -> str:
        return f"[{Path(file).stem}]({'../../' if not file.startswith('driver/linux/') else ''}{file.removeprefix('driver/linux/')})"

    return "; ".join(f"{link(file)}{': ' if words else ''}{', '.join(words)}" for file, words in by_file.items())


HEAD = """\
<!-- Generated by tools/driverproofs.py from proofs.toml and proofs.json: do not edit. -->
# towpath.ko: what has been proven, and where
**Nothing here has been tested on a board.** The card is the simulated one: the Verilated gateware. [testing.md](../../docs/testing.md)
describes the suites, and how to renew this page.

| column | what ran |
|---|---|
| traces | parts of the driver in a program: `engine.c` and `table.c` replay the contract's golden traces (`./run test contract`) |
| UML | the driver on a real kernel 6.1: User-Mode Linux, one processor (`./run test driver`) |
| debug | the same on a kernel with KASAN, lockdep, DMA-API debugging and kmemleak (`./run test driver-debug`) |
| QEMU | the same tests on Debian's kernel 6.12: two processors, full preemption and an IOMMU (`./run test driver-qemu`) |
| builds | compiled for Debian's kernels 6.1, 6.12 and the newest, packaged, installed; not loaded (`./run test driver-builds`) |
| soak | long random tests (`./run soak driver`), by kernel |

| entry | meaning |
|---|---|
| passed | all tests of the promise that belong to this column passed |
| in part | some passed; this kernel or machine cannot run the others, for the reason in the footnote |
| – | this kernel or machine can run none of them, for the reason in the footnote |
| not run, incomplete | no result for any of them, or for some of them |
| **FAILED** | a test failed, or the run as a whole: its kernel complained, or its card accessed memory that was not mapped |
| (empty) | none of the promise's tests belongs to this column |

A promise is proven when each of its tests has passed in at least one run and none has failed in any.
"""


def page(promises: Promises, results: Results, functions: list[str]) -> str:
    notes: dict[str, int] = {}
    rows, lists, open_promises = [], [], []
    for number, promise in enumerate(promises.promises, 1):
        wanted = chosen(promise, functions)
        cells: dict[str, list[str]] = {column: [] for column in COLUMNS}
        for run in RUNS:
            cell = judge(wanted, run, results)
            if cell is None:
                continue
            marks = "".join(f"[^{notes.setdefault(reason, len(notes) + 1)}]" for reason in cell.reasons)
            # Several runs share a column: each with the rest of its name.
            rest = run.name.removeprefix(run.column).strip() if run.name != run.column else ""
            cells[run.column].append(f"{rest}{' ' if rest else ''}{cell.word}{marks}")
        proven = is_proven(wanted, results)
        if not proven:
            open_promises.append(str(number))
        text = promise.text if proven else f"**Not proven.** {promise.text}"
        rows.append(f"| {number} | {text} | {' | '.join(', '.join(cells[column]) for column in COLUMNS)} | {promise.remark} |")
        lists.append(f"{number}. {named_in_page(promise)}")
    verdict = f"{len(promises.promises)} promises; not proven: {', '.join(open_promises) or 'none'}."
    table = [f"| | promise | {' | '.join(COLUMNS)} | limits |", f"|{'---|' * (len(COLUMNS) + 3)}", *rows]
    footnotes = [f"[^{number}]: {promises.skips.get(reason, reason)}" for reason, number in notes.items()]
    parts = [HEAD + verdict, "", "## Promises", *table, "", *footnotes, "", "## Tests", "By the numbers above:", "", *lists]
    return "\n".join(parts) + "\n"


def made(root: Path) -> str:
    return page(read_promises(root), read_results(root), find_tests(root))


def findings(root: Path) -> list[str]:
    """What is wrong with the page and the files that it is made from."""
    try:
        promises, functions = read_promises(root), find_tests(root)
        results = read_results(root)
    except (ProofsError, OSError, tomllib.TOMLDecodeError, json.JSONDecodeError, KeyError) as error:
        return [f"{PROMISES}: {error!r}"]
    found = [
        f"{PROMISES}: no such test: {pattern} (promised: {promise.text[:60]})"
        for promise in promises.promises
        for pattern in promise.tests
        if not named(pattern.removeprefix("!"), functions)
    ]
    proving = {name.split("::")[0] for promise in promises.promises for name in chosen(promise, functions)}
    files = sorted(path.relative_to(root).as_posix() for path in (root / GUEST).glob("test_*.py"))
    found += [f"{file}: no promise in {PROMISES} names a test of it" for file in files if file not in proving]
    if not (root / PAGE).exists() or (root / PAGE).read_text() != page(promises, results, functions):
        found.append(f"{PAGE}: not what {PROMISES}, {RESULTS} and the sources make")
    return found


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="driverproofs.py", description="Write driver/linux/PROOFS.md.")
    parser.add_argument("--renew", action="store_true", help="first take over the results of the reports")
    parser.add_argument("--reports", type=Path, default=ROOT / ".towpath/reports", metavar="FOLDER", help="where they are")
    options = parser.parse_args(arguments)
    try:
        if options.renew:
            renew(ROOT, options.reports)
        (ROOT / PAGE).write_text(made(ROOT))
    except (ProofsError, OSError, tomllib.TOMLDecodeError, ElementTree.ParseError) as error:
        print(f"driverproofs: {error}", file=sys.stderr)
        return 1
    verdict = re.search(r"^\d+ promises; .*$", (ROOT / PAGE).read_text(), re.M)
    print(f"{PAGE}: {verdict[0] if verdict else ''}")
    # What no tool can mend: a promise that names what is not there.
    wrong = findings(ROOT)
    print("".join(f"{line}\n" for line in wrong), end="", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
