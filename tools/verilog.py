#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`./run export-verilog`: the gateware and a user core as Verilog-2005, for tools that do not read SystemVerilog.

The folder holds a file for each module, and for each set of its parameters if there are several, and the list `towpath.f`, the top first.
With --board it is the project that `./run board` prepares, with these files for its sources.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from pyslang.driver import Driver
from verilogexpr import Unsupported
from verilogopen import without_core
from verilogwriter import Design

ROOT = Path(__file__).resolve().parent.parent
ENDPOINTS = ROOT / "gateware/endpoint"
LIST = "towpath.f"


class Failed(Exception):
    """The export ends; the text says why."""


def elaborate(files: list[Path], top: str, parameters: dict[str, str], include: list[Path], defines: list[str]) -> Any:
    """The compilation of these files with `top` as the only top module."""
    driver = Driver()
    driver.addStandardArgs()
    # slang's driver splits a command line; quotes and blanks in it must be escaped.
    arguments = [
        *(f"-D{name}" for name in ("SYNTHESIS", *defines)),
        "--allow-dup-initial-drivers",
        "--top",
        top,
        *(f"-G{name}={value}" for name, value in parameters.items()),
    ]
    arguments += ["-Wno-unconnected-output-port", *(f"-I{folder}" for folder in include), *(str(file) for file in files)]
    line = " ".join("".join(f"\\{c}" if c in "\\'\" " else c for c in argument) for argument in ["export", *arguments])
    if not driver.parseCommandLine(line) or not driver.processOptions() or not driver.parseAllSources():
        raise Failed("the sources could not be read")
    compilation = driver.createCompilation()
    driver.reportCompilation(compilation, True)
    driver.runAnalysis(compilation)
    if not driver.reportDiagnostics(True):
        raise Failed("the sources could not be elaborated")
    return compilation


def listed(*lists: Path) -> list[Path]:
    """The sources that these file lists name, in order."""
    lines = [line for file in lists for line in file.read_text().splitlines()]
    return [ROOT / line for line in lines if line and not line.startswith("//")]


def export(
    files: list[Path],
    top: str,
    folder: Path,
    parameters: dict[str, str] | None = None,
    include: list[Path] | None = None,
    stubs: list[Path] | None = None,
    defines: list[str] | None = None,
) -> list[Path]:
    """Writes a file for each module and the list of them; returns the files, the top first. What an earlier export wrote goes.

    `stubs` have the ports of modules that the tools bring along, each in a file of its name: of these only instances are written.
    """
    stubs = stubs or []
    compilation = elaborate([*files, *stubs], top, parameters or {}, include or [], defines or [])
    design = Design(compilation, compilation.getRoot().topInstances[0], frozenset(stub.stem for stub in stubs))
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / LIST).exists():
        for name in (folder / LIST).read_text().splitlines():
            (folder / name).unlink(missing_ok=True)
    for module in design.modules.values():
        (folder / f"{module.name}.v").write_text(module.text)
    names = [f"{module.name}.v" for module in design.modules.values()]
    (folder / LIST).write_text("".join(f"{name}\n" for name in names))
    return [folder / name for name in names]


class UserCore(NamedTuple):
    """A user core with what the command line generates around it."""

    top: str
    own: list[Path]  # its sources, and those of the kinds of its channels and of its plug-ins
    wrapper: Path  # the generated file
    include: list[Path]  # folders
    defines: list[str]
    data: list[tuple[str, Path]]  # files that it reads, by its names for them


def user_core(core: str, width: int | None, clock: str | None, scratch: Path) -> UserCore:
    towpath = shutil.which("towpath")
    if towpath is None:
        raise Failed("the command line `towpath` is missing: ./run setup builds it")
    wrapper = scratch / "tp_user.sv"
    command = [towpath, "--json", "wrapper", core, "--output", str(wrapper), *(["--width", str(width)] if width else [])]
    command += ["--core-clock", clock] if clock else []
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise Failed(json.loads(done.stderr)["error"]["message"])
    told = json.loads(done.stdout)
    folder = Path(told["folder"])
    if vhdl := next((s for s in told["sources"] if s.lower().endswith((".vhd", ".vhdl"))), None):
        raise Failed(f"{vhdl}: a core in VHDL cannot be exported as Verilog; boards take it as it is (./run board)")
    return UserCore(
        told["top"],
        [folder / s for s in told["sources"]],
        wrapper,
        [*(folder / i for i in told["include"]), folder],
        told["defines"],
        [(found["name"], Path(found["file"])) for found in told["data"]],
    )


def opened(lists: list[Path], core: UserCore, card: list[Path], top: str, parameters: dict[str, str], scratch: Path) -> list[Path]:
    """The sources of the design without the user core, whose ports are the top's."""
    compilation = elaborate([*lists, *core.own, core.wrapper, *card], top, parameters, core.include, core.defines)
    copies = without_core(compilation, core.top, scratch)
    return [copies.get(file.resolve(), file) for file in [*lists, *core.own, core.wrapper, *card]]


def copy_data(data: list[tuple[str, Path]], folder: Path) -> None:
    """Puts each file where the exported modules ask for it, if their tool runs in their folder."""
    for name, file in data:
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise Failed(f'the core reads "{name}", which is not in the folder: name the file from its source\'s folder, without ".."')
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, folder / name)


def board_project(name: str, core: str, folder: Path, width: int | None) -> int:
    """Prepares a board's project with Verilog-2005 for its sources; returns how many modules it has."""
    import boardproject

    def convert(sources: list[Path], include: list[Path], stubs: list[Path], defines: list[str]) -> list[Path]:
        return export(sources, "tp_top", folder / "sources", None, include, stubs, defines)

    try:
        boardproject.prepare(boardproject.read(name), core, folder, width, 0, convert)
    except (boardproject.Failure, OSError) as failure:
        raise Failed(str(failure)) from failure
    return len((folder / "sources" / LIST).read_text().splitlines())


def main(arguments: list[str]) -> int:
    endpoints = sorted(f.parent.name for f in ENDPOINTS.glob("*/endpoint.f"))
    parser = argparse.ArgumentParser(prog="./run export-verilog", description="The gateware and a user core as Verilog-2005.")
    parser.add_argument("--core", default="loopback", help="folder of a user core, or the name of one that ships (loopback)")
    parser.add_argument("--board", metavar="NAME", help="the project of `./run board NAME`, with Verilog-2005 for its sources")
    parser.add_argument("--endpoint", choices=endpoints, help="a whole card with this endpoint; without it, up to the neutral streams")
    parser.add_argument("--width", type=int, help="of the data path, in bits; without it, the core's own")
    parser.add_argument(
        "--core-clock", metavar="MHZ", help="the block's user clock, which the card reports and counts time by; needed with --endpoint"
    )
    parser.add_argument("--parameter", action="append", default=[], metavar="NAME=VALUE", help="of the endpoint's card; may be repeated")
    parser.add_argument(
        "--open", action="store_true", help="without the core itself: its ports are the top's, named core_..., for a block design"
    )
    parser.add_argument("--output", type=Path, required=True, metavar="DIR", help="where the files go")
    options = parser.parse_args(arguments)
    parameters = {}
    for given in options.parameter:
        name, equals, value = given.partition("=")
        if not equals:
            parser.error(f"--parameter {given}: NAME=VALUE is wanted")
        parameters[name] = value
    if options.board and (options.endpoint or options.core_clock or options.parameter or options.open):
        given = "--endpoint, --core-clock, --parameter and --open"
        parser.error(f"--board sets the endpoint, its clock and its parameters, and has the core in it: leave {given} out")
    lists, card, top = [ROOT / "gateware/towpath.f"], [ROOT / "gateware/tp_system.sv"], "tp_system"
    if options.endpoint:
        if not options.core_clock:
            parser.error(
                "--core-clock MHZ is needed with --endpoint: the block's user clock, such as 250, or 62.5 for Spartan-6 at Gen1 x1"
            )
        top = f"tp_{options.endpoint}_card"
        lists.append(ENDPOINTS / options.endpoint / "endpoint.f")
        card.append(ENDPOINTS / options.endpoint / f"{top}.sv")
    try:
        if options.board:
            count = board_project(options.board, options.core, options.output, options.width)
            print(f"{options.output}: {count} modules, top tp_top; in Vivado: vivado -mode batch -source build.tcl")
            return 0
        with tempfile.TemporaryDirectory() as scratch:
            core = user_core(options.core, options.width, options.core_clock, Path(scratch))
            if options.open:
                files = opened(listed(*lists), core, card, top, parameters, Path(scratch) / "open")
            else:
                files = [*listed(*lists), *core.own, core.wrapper, *card]
                copy_data(core.data, options.output)
            written = export(files, top, options.output, parameters, core.include, defines=core.defines)
    except (Failed, Unsupported) as failure:
        print(f"./run export-verilog: {failure}", file=sys.stderr)
        return 1
    print(f"{options.output / LIST}: {len(written)} modules, top {top}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
