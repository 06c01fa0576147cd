#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`./run boards` lists the boards; `./run board NAME --core FOLDER` prepares a project folder for one, and builds it where Vivado is.

A board is a folder in boards/: board.toml (data), pins.xdc, and a tp_top.sv if it has other pins than most. The folder that is prepared
stands on its own: sources, constraints, the settings of the PCI Express block as data, and one script. What the block must be told comes
from the contract and from the core's parameters, as `towpath wrapper` writes them: nothing is typed twice.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
BOARDS = ROOT / "boards"
COMMON = BOARDS / "common"
SPEEDS = {1: "2.5", 2: "5.0", 3: "8.0"}  # GT/s of a PCI Express generation
MARK = "project.tcl"  # by this file a prepared folder is known


class Failure(Exception):
    """What went wrong, and what to do."""


@dataclass(frozen=True)
class Link:
    """One way in which a board's block can be set up."""

    width: int
    generation: int
    lanes: int
    clock_mhz: int
    payload: int

    def __str__(self) -> str:
        return f"{self.width} bit at {self.clock_mhz} MHz, Gen{self.generation} x{self.lanes}"


@dataclass(frozen=True)
class Board:
    """A folder in boards/, read."""

    name: str
    title: str
    part: str
    endpoint: str
    ip: str
    links: tuple[Link, ...]
    settings: dict[str, str]

    @property
    def folder(self) -> Path:
        return BOARDS / self.name

    @property
    def plus(self) -> bool:
        return self.endpoint == "xilinx_ultrascale"

    @property
    def ip_settings(self) -> Path:
        return COMMON / ("pcie4_uscale_plus.toml" if self.plus else "pcie_7x.toml")

    def link(self, width: int | None) -> Link:
        for link in self.links:
            if width in (None, link.width):
                return link
        raise Failure(f"{self.name}: no path of {width} bit; there are: {', '.join(str(link) for link in self.links)}")


def names() -> list[str]:
    return sorted(path.parent.name for path in BOARDS.glob("*/board.toml"))


def read(name: str) -> Board:
    path = BOARDS / name / "board.toml"
    if not path.is_file():
        raise Failure(f"no board '{name}'; there are: {', '.join(names())}")
    data = tomllib.loads(path.read_text())
    try:
        links = tuple(Link(**link) for link in data.pop("link"))
        return Board(name=name, links=links, settings=data.pop("settings", {}), **data)
    except (KeyError, TypeError) as error:
        raise Failure(f"{path}: {error}") from error


# --- what the block must be told -----------------------------------------------------------------------------------------------


def contract() -> dict[str, int]:
    """The contract's constants, as the C header has them."""
    text = (ROOT / "contract/generated/towpath.h").read_text()
    return {name: int(value, 0) for name, value in re.findall(r"^#define TP_(\w+) (0x[0-9a-f]+|\d+)u\b", text, re.MULTILINE)}


def constants(text: str) -> dict[str, int]:
    """The whole numbers among the parameters of SystemVerilog, by name."""
    return {
        name: int(value)
        for name, value in re.findall(
            r"^\s*(?:localparam|parameter) (?:int|bit|logic \[63:0\]) (\w+) = (?:64'd)?(\d+)[;,]", text, re.MULTILINE
        )
    }


def number(text: str) -> int:
    """A serial number on the command line: 64 bits, in any of Python's notations."""
    value = int(text, 0)
    if not 0 <= value < 1 << 64:
        raise argparse.ArgumentTypeError(f"{text}: a number from 0 to 2**64 - 1 is needed")
    return value


def log2(number: int) -> int:
    return (number - 1).bit_length()


def size(bits: int) -> tuple[str, str]:
    """The size of a BAR, in the IPs' words."""
    for scale, least in (("Gigabytes", 30), ("Megabytes", 20), ("Kilobytes", 10)):
        if bits >= least:
            return scale, str(1 << (bits - least))
    raise AssertionError(f"a BAR of {bits} bits")


def values(link: Link, user: dict[str, int]) -> dict[str, str]:
    """What stands in braces in the IPs' settings."""
    c = contract()
    pages = c["PAGE_CHANNELS"] + (user["H2C"] + user["C2H"]) * c["PAGES_PER_CHANNEL"]
    bar0_scale, bar0_size = size(log2(pages * c["PAGE_BYTES_MIN"]))
    # A host maps whole pages, so BAR 2 has one at least.
    bar2_scale, bar2_size = size(log2(max(user["WINDOW_BYTES"], c["PAGE_BYTES_MIN"])))
    bar4_scale, bar4_size = size(log2(max(user["MEMORY_WINDOW_BYTES"], 1 << 20)))
    vectors = constants((ROOT / "gateware/tp_core.sv").read_text())["VECTORS"]
    table = c["PAGE_MSIX"] * c["PAGE_BYTES_MIN"] + c["MSIX_VECTOR_OFFSET"]
    pending = c["PAGE_MSIX"] * c["PAGE_BYTES_MIN"] + c["MSIX_PENDING_OFFSET"]
    number = f"{c['PCI_CLASS']:06X}"
    return {
        "lanes": str(link.lanes),
        "speed": SPEEDS[link.generation],
        "generation": str(link.generation),
        "width": str(link.width),
        "clock_mhz": str(link.clock_mhz),
        "payload": str(link.payload),
        "vendor": f"{c['PCI_VENDOR']:04X}",
        "device": f"{c['PCI_DEVICE']:04X}",
        "subsystem_vendor": f"{c['PCI_SUBSYSTEM_VENDOR']:04X}",
        "subsystem": f"{c['PCI_SUBSYSTEM']:04X}",
        "class_base": number[0:2],
        "class_sub": number[2:4],
        "class_interface": number[4:6],
        "bar0_scale": bar0_scale,
        "bar0_size": bar0_size,
        "bar2_enabled": "true" if user["WINDOW_BYTES"] else "false",
        "bar2_scale": bar2_scale,
        "bar2_size": bar2_size,
        "bar4_enabled": "true" if user["MEMORY_WINDOW_BYTES"] else "false",
        "bar4_scale": bar4_scale,
        "bar4_size": bar4_size,
        "msix_vectors": f"{vectors:X}",
        "msix_last": f"{vectors - 1:03X}",
        "msix_table": f"{table:08X}",
        "msix_table_8": f"{table // 8:X}",
        "msix_pending": f"{pending:08X}",
        "msix_pending_8": f"{pending // 8:X}",
    }


def settings(board: Board, link: Link, user: dict[str, int]) -> dict[str, str]:
    """Every setting of the IP."""
    known = values(link, user)
    listed = tomllib.loads(board.ip_settings.read_text()) | board.settings
    of_bar2 = re.compile(r"(pf0_)?bar2_(?!enabled)", re.IGNORECASE)
    return {name: text.format_map(known) for name, text in listed.items() if user["WINDOW_BYTES"] or not of_bar2.match(name)}


def generated_msix(board: Board, user: dict[str, int]) -> list[str]:
    """The file of the generated IP that has the capability's place, and for each of its numbers: setting, parameter, and what it must be.

    The block of the 7 series has the register's own fields: the number of the last vector, and offsets in units of 8 bytes, in 29 bits. The
    UltraScale+ IP's top has offsets in bytes, as an IP file of XDMA shows, whose table and pending bits are at 0x8000 and 0x8FE0 (PG195).
    """
    told = values(board.link(user["DATA_WIDTH"]), user)
    places = [told["msix_table"], told["msix_pending"]] if board.plus else [told["msix_table_8"], told["msix_pending_8"]]
    file, prefix, setting = ("tp_pcie.v", "PF0_", "PF0_MSIX_CAP_") if board.plus else ("tp_pcie_core_top.v", "", "MSIx_")
    entries = zip(("TABLE_SIZE", "TABLE_OFFSET", "PBA_OFFSET"), [told["msix_last"], *places], strict=True)
    word = (lambda name: name) if board.plus else (lambda name: name.title().replace("Pba", "PBA"))
    return [f"set msix_file {file}", "set msix {"] + [
        f"  CONFIG.{setting}{word(name)} {prefix}MSIX_CAP_{name} {value}" for name, value in entries
    ]


def clock_factors(from_khz: int, to_khz: list[int], plus: bool) -> tuple[int, int, list[int]]:
    """Multiplier, divider and output dividers of an MMCM, with the fastest oscillator that makes all clocks to the kilohertz."""
    # Of the slowest grade of the families here (DS181, DS182, DS183; DS923): the oscillator, what may be compared, and the clock buffer,
    # which is no faster than the MMCM's output. The buffers' limits were read in DS189 (Spartan-7) and DS922 (Kintex UltraScale+).
    slowest, fastest, buffer = (800_000, 1_600_000, 667_000) if plus else (600_000, 1_200_000, 464_000)
    best: tuple[int, tuple[int, int, list[int]]] | None = None
    # Of each clock that is wanted, what comes nearest below and above, and whether it can be made at all.
    nearest: list[dict[bool, int]] = [{} for _ in to_khz]
    alone = [False for _ in to_khz]
    for divide, multiply in itertools.product(range(1, 11), range(2, 65)):
        compared, oscillator = from_khz / divide, from_khz * multiply / divide
        if not (slowest <= oscillator <= fastest and 10_000 <= compared <= 450_000):
            continue
        made = {round(oscillator / output): output for output in range(128, 0, -1) if round(oscillator / output) <= buffer}
        for wanted, near, found in zip(to_khz, nearest, range(len(to_khz)), strict=True):
            alone[found] = alone[found] or wanted in made
            for khz in made:
                if khz != wanted and abs(khz - wanted) < abs(near.get(khz > wanted, 1 << 40) - wanted):
                    near[khz > wanted] = khz
        if made.keys() >= set(to_khz) and (best is None or oscillator > best[0]):
            best = (round(oscillator), (multiply, divide, [made[khz] for khz in to_khz]))
    if best is not None:
        return best[1]
    for wanted, near, can in zip(to_khz, nearest, alone, strict=True):
        if not can:
            what = "clock_mhz =" if len(to_khz) == 1 else "among clocks:"
            said = " and ".join(f"{khz / 1000:g}" for _, khz in sorted(near.items()))
            raise Failure(f"{what} {wanted / 1000:g} in the core's manifest cannot be made from {from_khz / 1000:g} MHz; near it: {said}")
    every = ", ".join(f"{khz / 1000:g}" for khz in to_khz)
    raise Failure(f"clocks = [{every}] in the core's manifest: no one oscillator makes them all; change one of them, or leave one out")


# --- the folder ----------------------------------------------------------------------------------------------------------------


def listed(file: str) -> list[str]:
    """The sources that a list of sources names, relative to the repository's root."""
    lines = [line.split("//", 1)[0].strip() for line in (ROOT / file).read_text().splitlines()]
    return [line for line in lines if line]


def wrapper(core: str, link: Link, serial: int) -> tuple[dict[str, Any], str]:
    """What `towpath wrapper` tells of the core, and makes of it: its parameters, and the core behind arrays."""
    if shutil.which("towpath") is None:
        raise Failure("the command `towpath` is not built: ./run setup builds it")
    with tempfile.TemporaryDirectory() as folder:
        file, regions = Path(folder) / "tp_user.sv", Path(folder) / "regions"
        options = [
            f"--width={link.width}",
            f"--core-clock={link.clock_mhz}",
            f"--serial={serial}",
            f"--output={file}",
            f"--regions={regions}",
        ]
        command = ["towpath", "--json", "wrapper", core, *options]
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if done.returncode:
            try:
                # An object on the last line says what is wrong; what stands before it is progress.
                reason = json.loads(done.stderr.strip().splitlines()[-1])["error"]["message"]
            except (ValueError, LookupError, TypeError):
                reason = done.stderr.strip()
            raise Failure(f"`{' '.join(command[:-1])}` ({shutil.which('towpath')}): {reason}")
        told = json.loads(done.stdout)
        for region in told.get("regions", []):
            region["text"] = Path(region["file"]).read_text()
        if "regions" in told:
            told["hole"] = (regions / "tp_region.sv").read_text()
        return told, file.read_text()


def user_clocks(core: dict[str, Any], user: dict[str, int]) -> list[int]:
    """The core's clocks in kilohertz: none if it runs on the block's. Several stand in its manifest, with their plug-in."""
    if user["USER_CLOCKS"] == 1:
        return [user["USER_CLOCK_KHZ"]] if user["USER_ASYNC"] else []
    manifest = tomllib.loads((Path(core["folder"]) / "towpath.toml").read_text())
    lists = [plugin["clocks"] for plugin in manifest.get("plugin", []) if "clocks" in plugin]
    if len(lists) != 1 or len(lists[0]) != user["USER_CLOCKS"]:
        told = f"the core has {user['USER_CLOCKS']} clocks: one plug-in must name as many in `clocks`"
        raise Failure(f"{core['folder']}/towpath.toml: {told}")
    if len(lists[0]) > 2:
        every = ", ".join(f"{mhz:g}" for mhz in lists[0])
        remedy = "a board switches between two clocks; leave out all but the first and another"
        raise Failure(f"clocks = [{every}] in the core's manifest: {remedy}")
    return [round(mhz * 1000) for mhz in lists[0]]


def board_package(board: Board, link: Link, user: dict[str, int], clocks: list[int]) -> str:
    factors = clock_factors(user["CORE_CLOCK_KHZ"], clocks, board.plus) if clocks else (1, 1, [])
    multiply, divide, outputs = factors
    first, second = [*outputs, 1, 1][:2]
    return (
        f"// Written by tools/boardproject.py for {board.name}: {link}.\n"
        "package tp_board_pkg;\n"
        f"  localparam int LANES = {link.lanes};\n"
        "  // user clock = block clock * MULTIPLY / (DIVIDE * OUTPUT)\n"
        f"  localparam int CLOCK_MULTIPLY = {multiply};\n"
        f"  localparam int CLOCK_DIVIDE = {divide};\n"
        f"  localparam int CLOCK_OUTPUT = {first};\n"
        f"  localparam int CLOCK_OUTPUT_1 = {second};\n"
        "endpackage\n"
    )


def crossing_names(user: dict[str, int], region: bool) -> list[str]:
    """Registers that the design has, so that constraints must find them: with one clock no words and no RAM cross, but levels do."""
    names = ["*tp_sync_meta*"] + (["*tp_cdc_data*", "*tp_cdc_mem*"] if user["USER_ASYNC"] else [])
    return names + (["*tp_config_divided*"] if region else [])


# Of several clocks one is the core's at a time: nothing goes from one of them to another.
EXCLUSIVE = """
# Behind tp_clock_join one of the core's clocks runs at a time.
set tp_clock_groups {{}}
foreach tp_clock_name {{{names}}} {{
  set tp_clock_pin [get_pins -hierarchical -filter "NAME =~ *.i_mmcm/$tp_clock_name"]
  lappend tp_clock_groups -group [get_clocks -of_objects $tp_clock_pin]
}}
set_clock_groups -physically_exclusive {{*}}$tp_clock_groups
# What selects comes from registers of either clock and of the card's: the multiplexer takes it at any time.
foreach tp_clock_pin {{S0 S1 CE0 CE1 IGNORE0 IGNORE1}} {{
  set_false_path -to [get_pins -hierarchical -filter "NAME =~ *i_clock_mux/$tp_clock_pin"]
}}
"""
# The 7 series' placer wants a buffer behind a buffer beside it, unless told that the way between them does not matter.
CASCADE = """foreach tp_clock_pin {I0 I1} {
  set_property CLOCK_DEDICATED_ROUTE FALSE [get_nets -of_objects [get_pins -hierarchical -filter "NAME =~ *i_clock_mux/$tp_clock_pin"]]
}
"""
# The configuration port's clock comes from a register.
CONFIG_CLOCK = """
# The configuration port has a clock of its own, {khz} kHz by {divide}.
create_generated_clock -name tp_config_clock -divide_by {divide} \\
  -source [get_pins -hierarchical -filter "NAME =~ *tp_config_divided_reg/C"] \\
  [get_pins -hierarchical -filter "NAME =~ *tp_config_divided_reg/Q"]
# What it takes changes with its clock's falling edge, so half of it before the edge that takes it, and half behind.
set tp_config_from [get_clocks -of_objects [get_pins -hierarchical -filter "NAME =~ *tp_config_divided_reg/C"]]
set tp_config_to [get_clocks -of_objects [get_pins -hierarchical -filter "NAME =~ *tp_config_divided_reg/Q"]]
set_multicycle_path {setup} -setup -start -from $tp_config_from -to $tp_config_to
set_multicycle_path {hold} -hold -start -from $tp_config_from -to $tp_config_to
"""


def config_clock(khz: int, plus: bool) -> str:
    """Its constraints, with the divider that gateware/endpoint/xilinx_icap chooses.

    With `half` clocks in half a period: what changes at -half is taken at 0, and changes again at half. So the launch of a setup moves
    from -1 to -half. That of its hold is then a clock later, at 1 - half, and belongs at half.
    """
    half = -(-khz // (2 * (125_000 if plus else 100_000)))
    return CONFIG_CLOCK.format(khz=khz, divide=2 * half, setup=half, hold=2 * half - 1)


def crossings(user: dict[str, int], clocks: list[int], plus: bool, region: bool) -> str:
    """Constraints of the clock crossings, with what they ask to be told: the shortest period, and Vivado's option."""
    shorter = 1e6 / max(user["CORE_CLOCK_KHZ"], *clocks, 1)
    text = (ROOT / "gateware/lib/constraints/tp_lib_cdc.sdc.tcl").read_text()
    text = f"set tp_cdc_max_ns {shorter:.3f}\nset tp_cdc_path_options -datapath_only\n{text}"
    if region:
        text += config_clock((clocks or [user["CORE_CLOCK_KHZ"]])[0], plus)
    if len(clocks) < 2:
        return text
    return text + EXCLUSIVE.format(names=" ".join(f"CLKOUT{k}" for k in range(len(clocks)))) + ("" if plus else CASCADE)


def tcl_list(words: list[str]) -> str:
    for word in words:
        if re.search(r"[{}\\\n]", word):
            raise Failure(f"{word}: a name with braces, backslashes or line ends cannot go into a Tcl list: rename it")
    return "{" + "".join(f"\n  {{{word}}}" for word in words) + "\n}"


class CoreFiles(NamedTuple):
    """A user core in a project's folder."""

    files: list[tuple[Path, str]]  # each with its name there
    sources: list[str]
    includes: list[str]
    data: list[str]


def included_files(core: dict[str, Any], home: Path, includes: list[str], under: str) -> list[tuple[Path, str]]:
    """Included files that no folder of `includes` holds where the compiler looks for them; adds the core's own folder to `includes`.

    The simulator names a file as it found it: with the folder in which it looked, and behind that the text of the include.
    """
    own = f"{under}/include/core"
    # The core's folder comes last: there the simulator looks, too, and other folders often lie in it.
    places = [((home / folder).absolute(), name) for folder, name in zip(core["include"], includes, strict=True)]
    places.append((home.absolute(), own))
    files: dict[str, Path] = {}
    for path in map(Path, core["included"]):
        real = Path(os.path.normpath(path))
        # A folder may be named with ".." itself, and be found so or not.
        ways = [(path, folder, name) for folder, name in places] + [(real, Path(os.path.normpath(folder)), name) for folder, name in places]
        found = next(((name, way.relative_to(folder)) for way, folder, name in ways if way.is_relative_to(folder)), (own, Path(path.name)))
        name, inside = found
        inside = Path(os.path.normpath(inside))
        if name == own and own not in includes:
            includes.append(own)
        if name != own and ".." not in inside.parts:
            continue  # the folder is copied as a whole
        # Where ".." leads to there: so the same text finds it.
        target = os.path.normpath(f"{name}/{inside.as_posix()}")
        if not target.startswith(f"{under}/"):
            remedy = "include it by a shorter way, from a folder of core.include"
            raise Failure(f'the core includes {real} as "{inside.as_posix()}", which leads out of a project\'s sources: {remedy}')
        if files.setdefault(target, real) != real:
            raise Failure(f"the core includes {files[target]} and {real}, which have one place in a project: give one another name")
    return [(path, target) for target, path in files.items()]


# Sources of plug-ins in whose place a board has others: a family's own, or one for both.
OF_BOARDS = {"clock/tp_clock_join.sv": "tp_clock_join.sv", "partial/tp_config_model.sv": "{family}/tp_config_port.sv"}


def of_board(source: Path, family: str) -> Path:
    """What a board has in a source's place."""
    for pattern, name in OF_BOARDS.items():
        if source.match(f"gateware/plugin/{pattern}"):
            return COMMON / name.format(family=family)
    return source


def core_files(core: dict[str, Any], family: str = "", under: str = "sources") -> CoreFiles:
    files, sources, includes, data = [], [], [], []
    home = Path(core["folder"])
    for index, source in enumerate(core["sources"]):
        place = of_board(home / source, family)
        # A name of its own for each: a manifest may name files outside of its folder.
        name = f"{under}/core/{index:02}/{place.name}"
        files.append((place, name))
        sources.append(name)
    for index, folder in enumerate(core["include"]):
        name = f"{under}/include/{index:02}"
        includes.append(name)
        files += [(path, f"{name}/{path.relative_to(home / folder)}") for path in sorted((home / folder).rglob("*")) if path.is_file()]
    files += included_files(core, home, includes, under)
    for found in core["data"]:
        name = found["name"]
        if name.startswith("/") or ".." in Path(name).parts:
            raise Failure(f'the core reads "{name}", which a project cannot hold: name the file from its source\'s folder, without ".."')
        # Where the source looks first: beside itself.
        beside = [Path(sources[core["sources"].index(reader)]).parent for reader in found["readers"] if reader in core["sources"]]
        for place in beside or [Path(under) / "data"]:
            files.append((Path(found["file"]), f"{place.as_posix()}/{name}"))
            data.append(f"{place.as_posix()}/{name}")
    return CoreFiles(files, sources, includes, data)


def stubs(family: str, told: dict[str, str]) -> tuple[list[Path], list[str]]:
    """Files with the ports of the IP and of primitives, and what they must be told of the IP's settings, as NAME or NAME=VALUE."""
    width = told.get("Interface_Width") or told["axisten_if_width"]
    lanes = told.get("Maximum_Link_Width") or told["PL_LINK_CAP_MAX_LINK_WIDTH"]
    shape = [f"TP_STUB_WIDTH={width.removesuffix('_bit')}", f"TP_STUB_LANES={lanes.removeprefix('X')}"]
    files = [BOARDS / "stubs" / family / "tp_pcie.sv", *sorted((BOARDS / "stubs/primitives").glob("*.sv"))]
    return files, shape + [f"TP_STUB_{name}" for name, value in told.items() if value == "true"]


def floorplan(board: Board, core: dict[str, Any], user: dict[str, int], pblock: list[str]) -> None:
    """Whether a core has a region, and what a board must be told of it."""
    if "regions" not in core:
        if pblock:
            raise Failure(f'--pblock says where a region lies, and core "{core["core"]}" has no plug-in "partial": leave it out')
        return
    sites = ("SLICE", "RAMB18", "RAMB36", *(("DSP48E2", "URAM288") if board.plus else ("DSP48",)), "CLOCKREGION")
    if not pblock:
        what = f"--pblock SLICE_X0Y0:SLICE_X49Y49 RAMB36_X0Y0:RAMB36_X1Y9, for example ({', '.join(sites)})"
        how = "Vivado's device view of the part shows what is where, and a build without the plug-in how much the core takes"
        raise Failure(f'plug-in "partial" must be told where its region lies, which only you can know: {what}. {how}')
    for place in pblock:
        found = re.fullmatch(rf"({'|'.join(sites)})_X(\d+)Y(\d+):\1_X(\d+)Y(\d+)", place)
        if not found:
            raise Failure(f"--pblock {place}: give two corners, as in SLICE_X0Y0:SLICE_X49Y49; {board.part} has {', '.join(sites)}")
        left, low, right, high = map(int, found.groups()[1:])
        if right < left or high < low:
            raise Failure(f"--pblock {place}: give the lower left corner first")
    if user["USER_CLOCKS"] > 1:
        raise Failure('plug-ins "partial" and "clock" together are not on boards yet: remove one from the core\'s manifest')


# Writes sources anew, from: sources, folders of included files, stubs and what they are told. Returns the new ones.
Convert = Callable[[list[Path], list[Path], list[Path], list[str]], list[Path]]


def prepare(
    board: Board,
    core_name: str,
    output: Path | None,
    width: int | None,
    serial: int,
    convert: Convert | None = None,
    pblock: Sequence[str] = (),
) -> Path:
    """Writes the project's folder, and says where it is. What other files lie in it, such as a build, stays.

    With `convert`, the sources are what that makes of them; it leaves them in the folder. `pblock` says where a region lies.
    """
    link = board.link(width)
    core, text = wrapper(core_name, link, serial)
    regions: list[dict[str, Any]] = core.get("regions", [])
    if convert and regions:
        raise Failure('a core with plug-in "partial" cannot be exported as Verilog; boards take it as it is (./run board)')
    floorplan(board, core, constants(text), list(pblock))
    name = f"{board.name}-{core['core']}"
    output = output or ROOT / ".towpath" / "boards" / name
    if output.exists() and any(output.iterdir()) and not (output / MARK).is_file():
        raise Failure(f"{output} has other files in it: name another folder with --output")
    user = constants(text)
    clocks = user_clocks(core, user)

    family = "ultrascale" if board.plus else "7series"
    own_top = BOARDS / board.name / "tp_top.sv"
    top = own_top if own_top.is_file() else COMMON / "tp_top.sv"
    gateware = listed("gateware/towpath.f") + listed(f"gateware/endpoint/{board.endpoint}/endpoint.f")
    if regions:
        gateware.append("gateware/endpoint/xilinx_icap/tp_xilinx_icap.sv")
    cards = ["gateware/tp_system.sv", f"gateware/endpoint/{board.endpoint}/tp_xilinx_{family}_card.sv"]
    common = ["tp_board_reset.sv", "tp_board_clock.sv", f"{family}/tp_board.sv"]
    tops = [*(f"boards/common/{file}" for file in common), str(top.relative_to(ROOT))]
    from_core = core_files(core, family)
    from_regions = [core_files(region, family, f"sources/region/{number:02}") for number, region in enumerate(regions)]
    includes, data = from_core.includes, from_core.data
    if convert and any(file.lower().endswith((".vhd", ".vhdl")) for file in from_core.sources):
        raise Failure("a core in VHDL cannot be exported as Verilog; boards take it as it is (./run board)")
    written = {
        "sources/tp_board_pkg.sv": board_package(board, link, user, clocks),
        "sources/tp_user.sv": text,
        "pins.xdc": (board.folder / "pins.xdc").read_text(),
        "crossings.tcl": crossings(user, clocks, board.plus, bool(regions)),
        "build.tcl": (COMMON / "build.tcl").read_text(),
    }
    if regions:
        written["sources/region/tp_region.sv"] = core["hole"]
        written["partial.tcl"] = (COMMON / "partial.tcl").read_text()
        written |= {f"sources/region/{number:02}/tp_region.sv": region["text"] for number, region in enumerate(regions)}
    sources = [f"sources/{file}" for file in gateware] + from_core.sources + (["sources/region/tp_region.sv"] if regions else [])
    sources += ["sources/tp_user.sv", "sources/tp_board_pkg.sv"] + [f"sources/{file}" for file in cards + tops]
    told = settings(board, link, user)
    entries = [f"  CONFIG.{key} {{{value}}}" for key, value in told.items()]
    written["settings.tcl"] = "\n".join(["set settings {", *entries, "}", *generated_msix(board, user), "}"]) + "\n"
    writer = "./run export-verilog --board" if convert else "./run board"
    written["README.md"] = (
        f"# {board.title}, core {core['core']}\n{link}, part {board.part}. Written by `{writer}`.\n\n"
        f"    vivado -mode batch -source build.tcl      # to {name}.bit\n\n"
        "Vivado 2019.1 or newer. docs/guide/board.md goes on from there.\n"
    )

    shutil.rmtree(output / "sources", ignore_errors=True)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) if convert else output
        of_cores = [file for files in (from_core, *from_regions) for file in files.files]
        for source, target in [(ROOT / file, f"sources/{file}") for file in gateware + cards + tops] + of_cores:
            (folder / target).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, folder / target)
        for target in [file for file in written if file.startswith("sources/")]:
            (folder / target).parent.mkdir(parents=True, exist_ok=True)
            (folder / target).write_text(written.pop(target))
        if convert:
            files, macros = stubs(board.ip_settings.stem, told)
            made = convert([folder / file for file in sources], [folder / name for name in includes], files, [*macros, *core["defines"]])
            sources, includes = [str(file.relative_to(output)) for file in made], []
            # Beside the modules that read them now.
            data = [f"sources/{found['name']}" for found in core["data"]]
            for found in core["data"]:
                (output / "sources" / found["name"]).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(found["file"], output / "sources" / found["name"])
    project = {
        "sources": sources,
        "systemverilog": [file for file in sources if file.endswith(".sv")],
        "vhdl": [file for file in sources if file.lower().endswith((".vhd", ".vhdl"))],
        "includes": includes,
        "defines": ["SYNTHESIS=1", *core["defines"]],
        "data": data,
        "pins": ["pins.xdc"],
        "crossings": ["crossings.tcl"],
        "crossing_names": crossing_names(user, bool(regions)),
        "regions": [region["core"] for region in regions],
        "pblock": list(pblock),
    }
    for number, (region, its) in enumerate(zip(regions, from_regions, strict=True)):
        project |= {
            f"region_sources({number})": [*its.sources, f"sources/region/{number:02}/tp_region.sv"],
            f"region_includes({number})": its.includes,
            f"region_defines({number})": ["SYNTHESIS=1", *region["defines"]],
            f"region_data({number})": its.data,
        }
    lines = [f"set name {{{name}}}", f"set part {board.part}", f"set ip {board.ip}", f"set ip_settings {board.ip_settings.name}"]
    written[MARK] = "\n".join([*lines, *(f"set {key} {tcl_list(words)}" for key, words in project.items())]) + "\n"
    for target, content in written.items():
        (output / target).write_text(content)
    return output


# --- ./run boards, ./run board -------------------------------------------------------------------------------------------------


def show() -> None:
    for name in names():
        board = read(name)
        print(f"{name:8} {board.title}; part {board.part}")
        for link in board.links:
            print(f"{'':8} {link}")


def build(output: Path) -> int:
    vivado = shutil.which("vivado")
    if vivado is None:
        print(f"Prepared: {output}\nvivado is not on the path. Where it is, type:\n  cd {output} && vivado -mode batch -source build.tcl")
        return 0
    print(f"Prepared: {output}\nBuilding with {vivado}: this takes an hour or so.", flush=True)
    return subprocess.run([vivado, "-mode", "batch", "-source", "build.tcl"], cwd=output).returncode


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="./run", description="Projects for boards.")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    verbs.add_parser("boards", help="list the boards")
    board = verbs.add_parser("board", help="prepare a project folder for a board and a core, and build it if vivado is on the path")
    board.add_argument("name", metavar="NAME", help=f"the board: {', '.join(names())}")
    board.add_argument("--core", metavar="FOLDER", required=True, help="the core's folder, with its towpath.toml, or a shipped core's name")
    board.add_argument("--output", metavar="DIR", type=Path, help="the project's folder [default: .towpath/boards/NAME-CORE]")
    board.add_argument("--width", metavar="BITS", type=int, help="width of the path [default: the board's widest link]")
    board.add_argument("--serial", metavar="NUMBER", type=number, default=0, help="the card's serial number [default: 0]")
    board.add_argument(
        "--pblock", metavar="RANGE", nargs="+", default=[], help='where the region of plug-in "partial" lies: SLICE_X0Y0:SLICE_X49Y49 ...'
    )
    board.add_argument("--no-build", action="store_true", help="prepare the folder only")
    options = parser.parse_args(arguments)
    try:
        if options.verb == "boards":
            show()
            return 0
        output = prepare(read(options.name), options.core, options.output, options.width, options.serial, pblock=options.pblock)
    except (Failure, OSError) as failure:
        print(f"./run {options.verb}: {failure}", file=sys.stderr)
        return 1
    if options.no_build:
        print(f"Prepared: {output}")
        return 0
    return build(output.resolve())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
