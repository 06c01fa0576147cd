#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`./run check`: generated files, formatters, linters, and those of the invariants that can be checked by reading the sources.

Each check is one function that takes the tree and returns its findings; none means good. A check whose tool is missing raises
Skip with the reason. Every check has a planted fault in tools/tests/test_checks.py: a check that cannot fail is none.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

import driverproofs
import sitepages
import subset

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
GENERATED = ("contract/generated/*", "docs/reference/*", "bindings/c/include/*", "host/kmod/src/uapi/*")
LONGEST_FILE = 900  # lines
# Made by tools and only ever renewed whole: nobody reads them line by line.
LOCKS = ("*Cargo.lock", "tools/requirements.txt", "LICENSE*", "contract/traces/*")


class Skip(Exception):
    """A check cannot be made here; the text says why and what would change that."""


@dataclass(frozen=True)
class Tree:
    """The files of a checkout that git does not ignore, by path relative to its root; links to files count where they lead."""

    root: Path
    files: tuple[str, ...]

    @classmethod
    def of(cls, root: Path) -> Tree:
        command = ["git", "ls-files", "-z", "-co", "--exclude-standard"]
        listed = subprocess.run(command, cwd=root, capture_output=True) if shutil.which("git") else None
        if listed and listed.returncode == 0:
            names = listed.stdout.decode().split("\0")
        else:  # an unpacked archive, or no git
            names = [p.relative_to(root).as_posix() for p in root.rglob("*") if ".towpath" not in p.parts]
        return cls(root, tuple(sorted(n for n in set(names) if n and (root / n).is_file() and not (root / n).is_symlink())))

    def like(self, *patterns: str, but: Iterable[str] = ()) -> list[str]:
        """Files that fit one of the patterns (`*` also fits `/`) and none of `but`."""
        return [f for f in self.files if any(fnmatch(f, p) for p in patterns) and not any(fnmatch(f, p) for p in but)]

    def text(self, name: str) -> str:
        return (self.root / name).read_text(errors="replace")

    def run(self, *command: str, within: str = ".") -> list[str]:
        """What a command that failed had to say, line by line; nothing when it succeeded."""
        if shutil.which(command[0]) is None:
            raise Skip(f"{command[0]} is not installed")
        done = subprocess.run(command, cwd=self.root / within, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        if done.returncode == 0:
            return []
        return done.stdout.decode(errors="replace").splitlines() or [f"{' '.join(command)}: exit code {done.returncode}"]


@dataclass(frozen=True)
class Check:
    name: str
    remedy: str
    find: Callable[[Tree], list[str]]


CHECKS: list[Check] = []


def check(name: str, remedy: str) -> Callable[[Callable[[Tree], list[str]]], Callable[[Tree], list[str]]]:
    """Adds a function to the checks, with what to do when it finds something."""

    def add(find: Callable[[Tree], list[str]]) -> Callable[[Tree], list[str]]:
        CHECKS.append(Check(name, remedy, find))
        return find

    return add


# --- generated files -----------------------------------------------------------------------------------------------------------


@check("generated", "run contract/generate.py and commit what it wrote")
def generated_files_are_fresh(tree: Tree) -> list[str]:
    if not tree.like("contract/towpath.rdl"):
        raise Skip("no contract/towpath.rdl in this tree")
    return tree.run(sys.executable, "contract/generate.py", "--check")


@check("generated-place", f"generated files live in {', '.join(GENERATED)} only, and say in their head that they are generated")
def generated_files_are_marked_and_in_place(tree: Tree) -> list[str]:
    mark = re.compile(r"generated (by|from)\b.*(do not edit|contract/)", re.IGNORECASE)
    found = []
    for name in tree.files:
        if name.endswith(".md") and not fnmatch(name, "docs/reference/*"):
            continue
        head = "\n".join(tree.text(name).splitlines()[:3])
        inside = any(fnmatch(name, p) for p in GENERATED)
        if inside and not mark.search(head):
            found.append(f"{name}: lies among the generated files, but its first three lines do not say that it is generated")
        if not inside and re.search(r"\bdo not edit\b", head, re.IGNORECASE) and not name.endswith(".j2"):
            found.append(f"{name}: says that it is generated, but does not lie among the generated files")
    return found


@check(
    "driver-proofs",
    "mend driver/linux/proofs.toml, run tools/driverproofs.py and commit PROOFS.md; docs/testing.md says how to renew results",
)
def driver_proofs_are_fresh(tree: Tree) -> list[str]:
    if not tree.like(driverproofs.PROMISES):
        raise Skip(f"no {driverproofs.PROMISES} in this tree")
    return driverproofs.findings(tree.root)


# --- Rust ----------------------------------------------------------------------------------------------------------------------


def rust_workspaces(tree: Tree) -> list[str]:
    """Folders whose Cargo.toml is a workspace, or belongs to none."""
    roots = [str(Path(f).parent) for f in tree.like("*Cargo.toml", "Cargo.toml") if "[workspace]" in tree.text(f)]
    return roots or [str(Path(f).parent) for f in tree.like("*Cargo.toml", "Cargo.toml")]


def cargo_tool(tool: str) -> None:
    probe = subprocess.run(["cargo", tool, "--version"], capture_output=True) if shutil.which("cargo") else None
    if probe is None or probe.returncode != 0:
        raise Skip(f"cargo {tool} is not installed; Debian: apt-get install rustfmt-web rust-web-clippy, rustup: rustup component add")


@check("rust-format", "cargo fmt --all, in the folder named")
def rust_is_formatted(tree: Tree) -> list[str]:
    cargo_tool("fmt")
    command = ("cargo", "fmt", "--all", "--check", "--", "--color=never")
    return [line for folder in rust_workspaces(tree) for line in tree.run(*command, within=folder)]


@check("rust-lint", "mend what clippy says, or allow it in place with a reason")
def clippy_is_content(tree: Tree) -> list[str]:
    cargo_tool("clippy")
    command = ("cargo", "clippy", "--quiet", "--workspace", "--all-targets", "--release", "--", "-D", "warnings")
    found = [line for folder in rust_workspaces(tree) for line in tree.run(*command, within=folder)]
    if (tree.root / "host/towpath/Cargo.toml").exists():
        # As a program for a board uses it: without the features that the workspace turns on.
        alone = ("cargo", "clippy", "--quiet", "--package=towpath", "--lib", "--release", "--", "-D", "warnings")
        found += tree.run(*alone, within="host")
    return found


@check("publishable", "give a path dependency its version, and move what the crate includes into it")
def crates_can_be_published(tree: Tree) -> list[str]:
    if not shutil.which("cargo"):
        raise Skip("cargo is not installed")
    version = subprocess.run(["cargo", "--version"], capture_output=True, text=True).stdout
    if (number := re.match(r"cargo 1\.(\d+)\.", version)) and int(number[1]) < 90:
        raise Skip(f"{version.split('(')[0].strip()} cannot package crates that need each other; 1.90 or newer can")
    # Packaging compiles nothing. What a crate includes from outside of its folder is found by reading.
    command = ("cargo", "package", "--quiet", "--workspace", "--no-verify", "--allow-dirty", "--offline")
    found = [line for folder in rust_workspaces(tree) for line in tree.run(*command, within=folder) if "manifest has no" not in line]
    outside = re.compile(r'(?:include(?:_str|_bytes)?!\s*\(|#\[path\s*=)\s*"(\.\./[^"]*)"')
    for name in tree.like("host/*/src/*.rs"):
        body, crate = tree.text(name).split("#[cfg(test)]")[0], Path(*Path(name).parts[:2])
        for named in outside.findall(body):
            if not (tree.root / name).parent.joinpath(named).resolve().is_relative_to((tree.root / crate).resolve()):
                found.append(f"{name}: includes {named}, outside of its crate")
    return found


# --- Python --------------------------------------------------------------------------------------------------------------------

PYTHON = ("*.py", "*.pyi")


@check("python-format", "ruff format")
def python_is_formatted(tree: Tree) -> list[str]:
    files = tree.like(*PYTHON, but=GENERATED)
    return tree.run("ruff", "format", "--quiet", "--diff", *files) if files else []


@check("python-lint", "ruff check --fix, and mend the rest by hand")
def ruff_is_content(tree: Tree) -> list[str]:
    files = tree.like(*PYTHON, but=GENERATED)
    return tree.run("ruff", "check", "--quiet", "--output-format=concise", *files) if files else []


@check("python-types", "mend what mypy says")
def types_hold(tree: Tree) -> list[str]:
    # What guards the rest, and what users meet: a Python project with mypy settings of its own is checked with those. Not benches
    # (nobody can type cocotb's handles), examples (a cast would be in a reader's way) or the generator (every node of
    # systemrdl-compiler's tree is a union of all others).
    command = ("mypy", "--no-error-summary", f"--cache-dir={ROOT / '.towpath/cache/mypy'}")
    files = tree.like("tools/*.py", but=("*/tests/*",))
    found = tree.run(*command, *files) if files else []
    for project in tree.like("*/pyproject.toml"):
        if "[tool.mypy]" in tree.text(project):
            found += tree.run(*command, within=str(Path(project).parent))
    return found


# --- SystemVerilog -------------------------------------------------------------------------------------------------------------

VERILOG = ("*.sv", "*.svh")


@check("sv-format", "verible-verilog-format --flagfile=tools/verible-format.flags --inplace FILE")
def verilog_is_formatted(tree: Tree) -> list[str]:
    flags = f"--flagfile={HERE / 'verible-format.flags'}"
    found = []
    for name in tree.like(*VERILOG, but=GENERATED):
        found += [f"{name}: {line}" for line in tree.run("verible-verilog-format", flags, "--verify", "--failsafe_success=false", name)]
    return found


@check("sv-lint", "mend what verible says; the rules are in .rules.verible_lint")
def verible_is_content(tree: Tree) -> list[str]:
    files = tree.like(*VERILOG, but=GENERATED)
    return tree.run("verible-verilog-lint", f"--rules_config={ROOT / '.rules.verible_lint'}", *files) if files else []


# What needs a user core to be whole: checked with the one that the benches use.
CARDS = ("gateware/tp_system.sv", "gateware/endpoint/*_card.sv")
USER = ("tests/agree/tp_user*.sv", "cores/loopback/loopback.sv")


def card_sources(tree: Tree) -> list[str]:
    user = sorted(tree.like(*USER), key=lambda f: not f.endswith("_pkg.sv"))
    return gateware_sources(tree) + user + tree.like(*CARDS)


def gateware_sources(tree: Tree) -> list[str]:
    """The gateware as a whole, packages first; benches, proofs and the simulator's shim stand on their own."""
    own = ("*/tb/*", "*/formal/*", "gateware/sim/*", *CARDS)
    files = tree.like("contract/generated/*.sv", "gateware/*.sv", but=own)
    return sorted(files, key=lambda f: (not f.endswith("_pkg.sv"), not f.startswith("contract/"), f))


def elaborate(tree: Tree, files: list[str]) -> tuple[list[str], list[str]]:
    """Findings, and the modules nothing instantiates."""
    command = [sys.executable, str(HERE / "elaborate.py"), *files]
    done = subprocess.run(command, cwd=tree.root, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    findings = done.stderr.splitlines() if done.returncode else []
    return findings or ([f"elaborate.py: exit code {done.returncode}"] if done.returncode else []), done.stdout.split()


def verilator_lint(tree: Tree, top: str, files: list[str], *parameters: str) -> list[str]:
    command = ("verilator", "--lint-only", "-Wall", "--top-module", top, *(f"-G{p}" for p in parameters), str(HERE / "lint.vlt"))
    found = tree.run(*command, *files)
    return [f"{top} {' '.join(parameters)}: ", *found] if found else []


def cores(tree: Tree) -> list[tuple[str, str, list[str], list[str]]]:
    """Of each core that ships: manifest, top, sources, parameters."""
    result = []
    for manifest in tree.like("cores/*/towpath.toml"):
        core = tomllib.loads(tree.text(manifest))
        folder = Path(manifest).parent
        sources = [(folder / s).as_posix() for s in core["core"]["sources"]]
        result.append((manifest, core["core"]["top"], sources, [f"{k}={v}" for k, v in core.get("parameters", {}).items()]))
    return result


def core_files(tree: Tree, sources: list[str]) -> list[str]:
    return [f for f in gateware_sources(tree) if f.startswith(("contract/", "gateware/lib/"))] + sources


@check("sv-elaborate", "mend what slang says")
def slang_is_content(tree: Tree) -> list[str]:
    files = gateware_sources(tree)
    found = elaborate(tree, files)[0] if files else []
    if "gateware/tp_core.sv" in files:  # by itself a core has none of these
        found += elaborate(tree, ["--top", "tp_core", "-GQOS=1", "-GFILL=1", *files])[0]
    found += elaborate(tree, card_sources(tree))[0] if tree.like(*CARDS) else []
    for _, _, sources, _ in cores(tree):
        found += elaborate(tree, core_files(tree, sources))[0]
    return found


@check("sv-verilator", "mend what Verilator says, or lint_off in place with a reason")
def verilator_is_content(tree: Tree) -> list[str]:
    found: list[str] = []
    files = gateware_sources(tree)
    for top in elaborate(tree, files)[1] if files else []:
        shapes = [[]] if top != "tp_core" else [*([f"DATA_WIDTH={width}"] for width in (64, 128, 256, 512)), ["QOS=1"], ["C2H=9"]]
        for shape in shapes:
            found += verilator_lint(tree, top, files, *shape)
    for card in tree.like(*CARDS):
        found += verilator_lint(tree, Path(card).stem, card_sources(tree))
    for _, top, sources, parameters in cores(tree):
        found += verilator_lint(tree, top, core_files(tree, sources), *parameters)
    return found


@check("sv-subset", "write it with what docs/guide/hdl-tools.md lists; tools/subset.py says how the subset grows")
def verilog_keeps_to_the_subset(tree: Tree) -> list[str]:
    files = tree.like("contract/generated/*.sv", "gateware/*.sv", "cores/*.sv", but=("*/tb/*", "*/formal/*", "gateware/sim/*"))
    return [line for name in files for line in subset.findings(tree.root / name, name)]


# --- C, C++ and shell ----------------------------------------------------------------------------------------------------------


@check("c-format", "clang-format -i FILE")
def c_is_formatted(tree: Tree) -> list[str]:
    found = []
    # The kernel's code is written in the kernel's way.
    for style, names, but in ((".", ("*",), ("driver/linux/*",)), ("driver/linux", ("driver/linux/*",), ())):
        files = tree.like(*(f"{name}{kind}" for name in names for kind in (".c", ".h", ".cpp", ".hpp")), but=(*GENERATED, *but))
        if files:
            found += tree.run("clang-format", "--dry-run", "-Werror", f"--style=file:{ROOT / style / '.clang-format'}", *files)
    return found


@check("shell-lint", "mend what shellcheck says")
def shellcheck_is_content(tree: Tree) -> list[str]:
    return tree.run("shellcheck", "--external-sources", *shell_scripts(tree)) if shell_scripts(tree) else []


def shell_scripts(tree: Tree) -> list[str]:
    first = re.compile(r"#!.*\b(sh|bash)$|# shellcheck shell=")
    return [f for f in tree.files if "." not in Path(f).name or f.endswith(".sh") if first.match(tree.text(f).split("\n", 1)[0])]


@check("manual-pages", "mend what groff says")
def groff_is_content(tree: Tree) -> list[str]:
    found = []
    for name in tree.like("*.[1-9]"):
        if shutil.which("groff") is None:
            raise Skip("groff is not installed")
        done = subprocess.run(["groff", "-man", "-Tascii", "-ww", "-z", name], cwd=tree.root, capture_output=True, text=True)
        found += done.stderr.splitlines() or ([f"{name}: exit code {done.returncode}"] if done.returncode else [])
    return found


# --- licences, size, leftovers -------------------------------------------------------------------------------------------------

SOURCES = tuple(f"*.{kind}" for kind in "sv svh rdl rs py pyi c h cpp hpp java sh vlt xdc sdc tcl m".split())


KERNEL_MODULES = ("driver/", "tests/driver/plants/plant", "tests/driver/exporter/exporter")


@check("licence", "put 'SPDX-License-Identifier: Apache-2.0' into the first line (the second after #!), in the language's comment")
def sources_name_their_licence(tree: Tree) -> list[str]:
    found = []
    for name in sorted({*tree.like(*SOURCES), *shell_scripts(tree)}):
        text = tree.text(name)
        if not text.strip():
            continue  # an empty __init__.py or py.typed holds nothing to license
        licences = r"(GPL-2\.0|\(GPL-2\.0 WITH Linux-syscall-note\)) OR MIT" if name.startswith(KERNEL_MODULES) else r"Apache-2\.0"
        if not re.search(rf"SPDX-License-Identifier: {licences}\b", "\n".join(text.splitlines()[:2])):
            found.append(f"{name}: no SPDX-License-Identifier in its first two lines")
    return found


@check("leftovers", "finish it or file an issue; remove what is left of a merge")
def nothing_is_left_undone(tree: Tree) -> list[str]:
    word = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X)\b|^(<{7}|>{7}) ", re.MULTILINE)
    found = []
    for name in tree.like("*", but=(*LOCKS, "*.png", "*.jpg")):
        for number, line in enumerate(tree.text(name).splitlines(), 1):
            if word.search(line):
                found.append(f"{name}:{number}: {line.strip()[:100]}")
    return found


@check("length", f"no source file over {LONGEST_FILE} lines: split it by what it is about")
def files_are_short(tree: Tree) -> list[str]:
    lengths = {f: tree.text(f).count("\n") for f in tree.like("*", but=(*LOCKS, *GENERATED, "*.png", "*.jpg", "*.svg"))}
    return [f"{f}: {n} lines" for f, n in lengths.items() if n > LONGEST_FILE]


@check("products", "git rm --cached FILE: what a build makes stays out of the repository")
def no_build_products(tree: Tree) -> list[str]:
    found = tree.like("*.so", "*.o", "*.a", "*.whl", "*.pyc", "*.fst", "*.vcd", "*/obj_dir/*", "*/sim_build/*", "*/target/*")
    large = [f for f in tree.files if (tree.root / f).stat().st_size > 1 << 20 and not fnmatch(f, "docs/*.png")]
    return [*found, *(f"{f}: over 1 MiB" for f in large if f not in found)]


@check("local-paths", "name the file relative to the repository, or take it as an argument")
def no_local_paths(tree: Tree) -> list[str]:
    path = re.compile(r"(?<![\w.])/(home|root|Users)/\w")
    found = []
    for name in tree.like("*", but=(*LOCKS, "*.png", "*.jpg", "tools/tests/*")):
        found += [f"{name}:{n}: {line.strip()[:100]}" for n, line in enumerate(tree.text(name).splitlines(), 1) if path.search(line)]
    return found


@check("links", "mend the link: it is relative to the page it stands in")
def links_lead_somewhere(tree: Tree) -> list[str]:
    found = []
    for name in tree.like("*.md"):
        text = re.sub(r"```.*?```|`[^`\n]*`", "", tree.text(name), flags=re.DOTALL)
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
            if "://" not in target and not target.startswith("mailto:") and not (tree.root / name).parent.joinpath(target).exists():
                found.append(f"{name}: {target}")
    return found


@check("site", f"name the page in {sitepages.NAVIGATION}, in its place; a link's # is a heading of the page, in lower case, with hyphens")
def site_is_whole(tree: Tree) -> list[str]:
    """What reading finds of all that `./run docs` refuses: pages that no navigation leads to, links to headings that are not there."""
    if not tree.like(sitepages.NAVIGATION):
        raise Skip(f"no {sitepages.NAVIGATION} in this tree")
    return sitepages.findings(tree.root, tree.like(*sitepages.PAGES))


# --- the house's invariants ----------------------------------------------------------------------------------------------------

VENDORS = r"xilinx|amd|altera|intel|lattice|microchip|microsemi|versal|ultrascale\w*|stratix|agilex|arria|cyclone|kintex|virtex|artix"


@check("vendors", "vendors are named only under gateware/endpoint and boards: move it there, or say it without the name")
def vendors_stay_in_endpoints(tree: Tree) -> list[str]:
    word = re.compile(rf"\b({VENDORS})\b", re.IGNORECASE)
    found = []
    for name in tree.like("gateware/*", "contract/*", "cores/*", but=("gateware/endpoint/*",)):
        found += [f"{name}:{n}: {line.strip()[:100]}" for n, line in enumerate(tree.text(name).splitlines(), 1) if word.search(line)]
    return found


@check("layers", "gateware/channel never sees a TLP: what it needs comes from gateware/dma as plain streams")
def channels_see_no_tlp(tree: Tree) -> list[str]:
    files = tree.like("gateware/channel/*.sv", but=("*/tb/*", "*/formal/*"))
    return [f"{name}: uses tp_tlp_pkg" for name in files if "tp_tlp_pkg" in tree.text(name)]


@check("driver-layers", "driver/linux/Kbuild has the layers: include a header of a lower one, or move the code; split a long function")
def driver_has_layers(tree: Tree) -> list[str]:
    """Includes run one way, PCI stays in the bus's layer, functions are declared in headers, and are no longer than 60 lines."""
    if not tree.like("driver/linux/Kbuild"):
        raise Skip("no driver/linux/Kbuild in this tree")
    layers: dict[str, list[str]] = {}
    for name, objects in re.findall(r"^layer-(\w+)-\S+ [:+]= (.*)", tree.text("driver/linux/Kbuild"), re.MULTILINE):
        layers.setdefault(name, []).extend(Path(name).stem for name in objects.split())
    level = {file: number for number, files in enumerate(layers.values()) for file in files}
    found = []
    for file in [f for f in tree.like("driver/linux/*.[ch]") if f.count("/") == 2]:
        text, here = tree.text(file), level.get(Path(file).stem, 0)
        if file.endswith(".c") and Path(file).stem not in level:
            found.append(f"{file}: in no layer")
        for included in re.findall(r'^#include "(\w+)\.h"', text, re.MULTILINE):
            if level.get(included, 0) > here:
                found.append(f"{file}: includes {included}.h of a higher layer")
        if "<linux/pci.h>" in text and Path(file).stem not in layers["bus"]:
            found.append(f"{file}: includes <linux/pci.h>")
        if file.endswith(".c"):
            prototype = r"^(?:\w+ )+\**[a-z]\w*\([^{}#;]*\);$"
            found += [f"{file}: declares {line}" for line in re.findall(prototype, text, re.MULTILINE)]
            for body in re.finditer(r"^\{\n.*?^\}", text, re.MULTILINE | re.DOTALL):
                if (lines := body[0].count("\n") - 1) > 60:
                    found.append(f"{file}:{text.count(chr(10), 0, body.start()) + 1}: a function of {lines} lines")
    return found


@check("quiet-library", "the library returns errors and logs through the facade: it never prints, exits or aborts")
def library_never_prints_or_exits(tree: Tree) -> list[str]:
    word = re.compile(r"\b(e?print(ln)?!|dbg!|process::(exit|abort)|todo!|unimplemented!)")
    files = tree.like("host/*/src/*.rs", but=("host/cli/*", "host/bench/*"))
    found = []
    for name in files:
        body = tree.text(name).split("#[cfg(test)]")[0]
        for number, line in enumerate(body.splitlines(), 1):
            if word.search(line) and not line.lstrip().startswith("//"):
                found.append(f"{name}:{number}: {line.strip()[:100]}")
    return found


@check("system-calls", "host/system makes the calls of the C library and the kernel: add a safe function there, and use it")
def system_calls_stay_in_one_crate(tree: Tree) -> list[str]:
    word = re.compile(r"\b(libc|rustix)::|extern \"C\" \{")
    found = []
    for name in tree.like("host/*/src/*.rs", "bindings/python/src/*.rs", but=("host/system/*",)):
        body = tree.text(name).split("#[cfg(test)]")[0]
        found += [f"{name}:{n}: {line.strip()[:100]}" for n, line in enumerate(body.splitlines(), 1) if word.search(line)]
    return found


# --- ./run check ---------------------------------------------------------------------------------------------------------------


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="./run check", description="Formatters, linters, stale generated files, invariants.")
    names = [c.name for c in CHECKS]
    parser.add_argument("checks", nargs="*", metavar="CHECK", help=f"only these: {', '.join(names)}")
    parser.add_argument("--list", action="store_true", help="say what checks there are, and make none")
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.checks if name not in names]:
        parser.error(f"no check {', '.join(unknown)}; there are: {', '.join(names)}")
    chosen = [c for c in CHECKS if not options.checks or c.name in options.checks]
    if options.list:
        print("\n".join(f"{c.name:16} {c.remedy}" for c in chosen))
        return 0

    tree = Tree.of(ROOT)
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for c in chosen:
        started = time.monotonic()
        try:
            found = c.find(tree)
            outcome, note = ("failed", "") if found else ("passed", "")
        except Skip as skip:
            found, outcome, note = [], "skipped", f": {skip}"
        counts[outcome] += 1
        print(f"{outcome:8} {c.name:16} {time.monotonic() - started:5.1f} s{note}", flush=True)
        limit = len(found) if os.environ.get("TOWPATH_CHECK_ALL") else 40
        print("".join(f"    {line}\n" for line in found[:limit]), end="")
        if len(found) > limit:
            print(f"    ... and {len(found) - limit} lines more: TOWPATH_CHECK_ALL=1 ./run check {c.name}")
        if found:
            print(f"  remedy: {c.remedy}")
    reports = ROOT / ".towpath" / "reports"
    reports.mkdir(parents=True, exist_ok=True)
    (reports / "check.count").write_text(" ".join(str(n) for n in counts.values()) + "\n")
    print("\n" + ", ".join(f"{n} {what}" for what, n in counts.items()), flush=True)
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
