# SPDX-License-Identifier: Apache-2.0
"""What can be known of a prepared project without Vivado: `findings(folder)` names everything that is wrong with it.

build.tcl and the constraints run under tclsh with stand-ins (vivado.tcl); the sources, as build.tcl adds them, are elaborated against stubs
of the block and the primitives, whose widths and groups of ports follow the settings that build.tcl gives the IP.
"""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "gateware/lib/tb"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import boardproject
from bench import TP

HERE = Path(__file__).resolve().parent
STUBS = HERE.parent / "stubs"
ROOT = HERE.parent.parent
PART = re.compile(r"xc(7[akv]x?\d+t[a-z]{3}\d+-[123]|vu\d+p-[a-z]{4}\d+-\d[A-Z]?-[ei]|u\d+-[a-z]{4}\d+-\d[A-Z]?-[ei])")
# What an XDC may hold: it is no script.
XDC = {"set_property", "create_clock", "set_false_path"}
STANDARDS = {"LVCMOS12", "LVCMOS15", "LVCMOS18", "LVCMOS25", "LVCMOS33"}  # of single pins, UG471 and UG571
GT_PORTS = re.compile(r"pcie_(refclk|tx|rx)_[pn]")
MEGABIT = {
    "2.5": 2000,
    "5.0": 4000,
    "8.0": 8000,
}  # of a lane, in the clock's terms: 8 Gbit/s carry 128 of 130 bits, but need a path for all


@dataclass
class Script:
    """What a script asked of Vivado."""

    code: int
    said: str
    records: list[list[str]] = field(default_factory=list)

    def of(self, command: str) -> list[list[str]]:
        return [record[1:] for record in self.records if record[0] == command]


def run(script: Path, scratch: Path, registers: Iterable[str], *arguments: str, **planted: str) -> Script:
    log, cells = scratch / f"{script.stem}.log", scratch / "cells"
    cells.write_text("\n".join(registers))
    command = ["tclsh", str(HERE / "vivado.tcl"), str(log), str(cells), str(script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, env=os.environ | planted)
    records = [record.split("\x1f") for record in log.read_text().split("\x1e")[:-1]]
    return Script(done.returncode, done.stdout + done.stderr, records)


def family(ip: str) -> str:
    """The folder of an IP's stub: two IPs are alike."""
    return "pcie_7x" if ip == "pcie_7x" else "pcie4_uscale_plus"


def stubs(ip: str, settings: dict[str, str]) -> tuple[list[str], list[str]]:
    """The stubs' files, and what they must know of the settings, as options that slang and Verilator share."""
    files, macros = boardproject.stubs(family(ip), settings)
    return [str(file) for file in files], [f"+define+{macro}" for macro in macros]


def included(build: Script) -> list[str]:
    """The folders of included files and the macros, as options that slang and Verilator share."""
    kinds = {"include_dirs": "+incdir+", "verilog_define": "+define+"}
    lists = [(kinds[name], value) for name, value, *_ in build.of("set_property") if name in kinds]
    return [f"{option}{braced or word}" for option, value in lists for braced, word in re.findall(r"\{([^{}]*)\}|(\S+)", value)]


def told(build: Script) -> dict[str, str]:
    """The IP's settings, as build.tcl gives them."""
    return {name.removeprefix("CONFIG."): value for name, value, *to in build.of("set_property") if to == ["@ip"]}


def elaborated(sources: list[str], ip: str, settings: dict[str, str]) -> tuple[list[str], dict[str, Any]]:
    """Findings, and the hierarchy (empty if it cannot be elaborated)."""
    files, macros = stubs(ip, settings)
    command = [sys.executable, str(HERE / "hierarchy.py"), "tp_top", *sources, *files, *macros]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        return [f"slang: {line}" for line in done.stderr.splitlines() if "error" in line] or [f"slang: {done.stderr}"], {}
    hierarchy = json.loads(done.stdout)
    found = [f"{place}: an input that nothing drives" for place in hierarchy["open_inputs"]]
    return found + hierarchy["widths"], hierarchy


def documented(ip: str, settings: dict[str, str]) -> list[str]:
    known = tomllib.loads((STUBS / family(ip) / "settings.toml").read_text())
    found = []
    for name, value in settings.items():
        if name not in known:
            found.append(f"{ip} has no setting {name}")
        elif not re.fullmatch(known[name], value):
            found.append(f"{ip}: {name} is {value}, and may be {known[name]}")
    return found


def parameters(hierarchy: dict[str, Any], module: str) -> dict[str, float]:
    return next((instance["parameters"] for instance in hierarchy["instances"].values() if instance["module"] == module), {})


def size_of(settings: dict[str, str], bar: str) -> int:
    return {"Bytes": 1, "Kilobytes": 1 << 10, "Megabytes": 1 << 20, "Gigabytes": 1 << 30}[settings[f"{bar}_scale"]] * int(
        settings[f"{bar}_size"]
    )


def agreed(ip: str, settings: dict[str, str], hierarchy: dict[str, Any], clocks: list[list[str]], switched: Sequence[int]) -> list[str]:
    """Whether the IP's settings, which the tool computes, agree with the parameters that the gateware computes."""
    found = []

    def same(what: str, told: float, built: float) -> None:
        if told != built:
            found.append(f"{what}: the IP's setting is {told:g}, the design has {built:g}")

    old = ip == "pcie_7x"
    lower = {name.lower(): value for name, value in settings.items()}
    lower |= {f"pf0_{name}": value for name, value in lower.items() if re.match(r"bar\d_", name)}
    core, board = parameters(hierarchy, "tp_core"), hierarchy["ports"]
    width = int(lower["interface_width" if old else "axisten_if_width"].removesuffix("_bit"))
    lanes = int(lower["maximum_link_width" if old else "pl_link_cap_max_link_width"].removeprefix("x").removeprefix("X"))
    mhz = float(lower["user_clk_freq" if old else "axisten_freq"])
    speed = lower["link_speed" if old else "pl_link_cap_max_link_speed"].removesuffix("_GT/s")
    same("width of the path", width, core["DATA_WIDTH"])
    same("lanes", lanes, board["pcie_rx_p"][0])
    same("clock in kHz", mhz * 1000, core["CORE_CLOCK_KHZ"])
    if width * mhz != lanes * MEGABIT[speed]:
        found.append(f"{width} bit at {mhz:g} MHz is no path of {lanes} lanes of {speed} GT/s")
    same("reference clock in ns", 1000 / float(lower["ref_clk_freq"].removesuffix("_MHz")), float(clocks[0][1]) if clocks else 0)

    page = 1 << int(core["PAGE_SHIFT"])
    pages = TP.TP_PAGE_CHANNELS + TP.TP_PAGES_PER_CHANNEL * int(core["H2C"] + core["C2H"])
    if size_of(lower, "pf0_bar0") < pages * page:
        found.append(f"BAR 0 has {size_of(lower, 'pf0_bar0')} bytes, its pages {pages * page}")
    if old:
        same(
            "bits of an address in BAR 0",
            size_of(lower, "pf0_bar0").bit_length() - 1,
            parameters(hierarchy, "tp_xilinx_7series")["BAR0_BITS"],
        )
    window = size_of(lower, "pf0_bar2") if lower["pf0_bar2_enabled"] == "true" else 0
    if window < core["WINDOW_BYTES"] or bool(window) != bool(core["WINDOW_BYTES"]):
        found.append(f"BAR 2 does not fit a window of {core['WINDOW_BYTES']:g} bytes")
    memories = size_of(lower, "pf0_bar4") if lower["pf0_bar4_enabled"] == "true" else 0
    same("bytes of BAR 4", memories, core["MEMORY_WINDOW_BYTES"])
    msix = TP.TP_PAGE_MSIX * page
    prefix, unit, less = ("msix", 8, 0) if old else ("pf0_msix_cap", 1, 1)
    same("MSI-X vectors", int(lower[f"{prefix}_table_size"], 16) + less, core["VECTORS"])
    same("place of the MSI-X table", int(lower[f"{prefix}_table_offset"], 16) * unit, msix + TP.TP_MSIX_VECTOR_OFFSET)
    same("place of the MSI-X pending bits", int(lower[f"{prefix}_pba_offset"], 16) * unit, msix + TP.TP_MSIX_PENDING_OFFSET)
    if not old:
        endpoint = parameters(hierarchy, "tp_xilinx_ultrascale")
        same("answers in a beat", (2, 4)[lower["axisten_if_ext_512_rc_4tlp_straddle"] == "true"], endpoint["RC_STRADDLE"])
        same("requests in a beat", (1, 2)[lower["axisten_if_ext_512_cq_straddle"] == "true"], endpoint["CQ_STRADDLE"])
        same("requests of ours in a beat", (1, 2)[lower["axisten_if_ext_512_rq_straddle"] == "true"], endpoint["RQ_STRADDLE"])
    for primitive, slowest, fastest in (("MMCME2_BASE", 600, 1200), ("MMCME4_BASE", 800, 1600)):
        if mmcm := parameters(hierarchy, primitive):
            oscillator = 1000 / mmcm["CLKIN1_PERIOD"] * mmcm["CLKFBOUT_MULT_F"] / mmcm["DIVCLK_DIVIDE"]
            dividers = ("CLKOUT0_DIVIDE_F", "CLKOUT1_DIVIDE")
            for khz, divider in zip(switched or [core["USER_CLOCK_KHZ"]], dividers, strict=False):
                same("user clock in kHz", round(oscillator / mmcm[divider] * 1000), khz)
            if not slowest <= oscillator <= fastest:
                found.append(f"an oscillator of {oscillator:g} MHz: {slowest} to {fastest} are allowed")
    return found


def wired(hierarchy: dict[str, Any]) -> list[str]:
    """Whether what resets and clocks the card is joined as tp_board.sv's comments say: of one width, so that nothing else would tell."""
    nets = {instance["module"]: instance["nets"] for instance in hierarchy["instances"].values()}
    paths = {instance["module"]: path for path, instance in hierarchy["instances"].items()}
    block, old = nets["tp_pcie"], "user_clk_out" in nets["tp_pcie"]
    clock, reset = block["user_clk_out" if old else "user_clk"], block["user_reset_out" if old else "user_reset"]
    board, resets = nets["tp_board"], nets["tp_board_reset"]
    card = nets["tp_xilinx_7series_card" if old else "tp_xilinx_ultrascale_card"]
    joined = [
        ("PERST# of the pins", board["perst_n"], "tp_top.pcie_reset_n"),
        ("the block's PERST#", block["sys_rst_n" if old else "sys_reset"], "tp_top.i_board.perst_n"),
        ("PERST# of tp_board_reset", resets["perst_n"], "tp_top.i_board.perst_n"),
        ("the clock of tp_board_reset", resets["clk"], clock),
        ("the block's reset at tp_board_reset", resets["block_reset"], reset),
        ("the card's clock", card["clk"], clock),
        ("the card's reset", card["rst"], resets["rst"]),
    ]
    if mmcm := nets.get("MMCME2_BASE") or nets.get("MMCME4_BASE"):
        made = nets["tp_board_clock"]
        joined += [
            ("the MMCM's input", mmcm["CLKIN1"], "tp_top.i_board.gen_user_clock.i_clock.clk"),
            ("the MMCM's reset", mmcm["RST"], "tp_top.i_board.gen_user_clock.i_clock.rst"),
            ("the MMCM's lock", mmcm["LOCKED"], "tp_top.i_board.gen_user_clock.i_clock.locked"),
            ("the input of tp_board_clock", made["clk"], clock),
            ("the reset of tp_board_clock", made["rst"], resets["mmcm_rst"]),
            ("the lock of tp_board_clock", made["locked"], resets["locked"]),
            ("the user core's clock", made["user_clk"], card["user_clk"]),
            *((f"CLKOUT{k} of the MMCM", mmcm[f"CLKOUT{k}"], f"made[{k}]") for k in range(2)),
            *(
                (f"{pin} of {path}", instance["nets"][pin], of)
                for path, instance in hierarchy["instances"].items()
                if instance["module"] == "BUFG" and "gen_buffers" in path
                for pin, of in (("I", "made[k]"), ("O", "user_clk[k]"))
            ),
        ]
    if primitive := nets.get("ICAPE2" if old else "ICAPE3"):
        port = paths["tp_config_port"]
        buffer = hierarchy["instances"][f"{port}.i_clk"]["nets"]
        driven = {pin: primitive[pin] for pin in ("CLK", "CSIB", "RDWRB", "I")}
        joined += [(f"{pin} of the configuration port", net, f"{port}.icap_{pin.lower()}") for pin, net in driven.items()]
        joined += [
            ("the input of the configuration port's clock buffer", buffer["I"], f"{port}.tp_config_divided"),
            ("the output of the configuration port's clock buffer", buffer["O"], f"{port}.icap_clk"),
            ("the clock of tp_config_port", nets["tp_config_port"]["clk"], nets["tp_plugin_partial"]["clk"]),
        ]
    if switch := nets.get("tp_clock_switch"):
        joins = nets["tp_clock_join"]
        joined += [
            ("the clock of tp_clock_switch", switch["clk"], "tp_top.i_board.i_card.system.clk"),
            ("the inputs of tp_clock_switch", switch["clocks"], "tp_top.i_board.i_card.system.user_clk"),
            ("the inputs of tp_clock_join", joins["clocks"], f"{paths['tp_clock_control']}.clocks"),
            ("the mask of tp_clock_join", joins["masked"], f"{paths['tp_clock_control']}.masked"),
            ("the clock of tp_user", nets["tp_user"]["clk"], switch["user_clk"]),
        ]
        multiplexers = {path: instance["nets"] for path, instance in hierarchy["instances"].items() if instance["module"] == "BUFGCTRL"}
        join = paths["tp_clock_join"]
        joined.append(("what joins the clocks", ", ".join(multiplexers), f"{join}.i_clock_mux"))
        one = multiplexers.get(f"{join}.i_clock_mux", {})
        pins = {"I": "clocks[{}]", "S": "open[{}]", "IGNORE": "masked[{}]", "CE": "1'b1"}
        joined += [
            (f"{pin}{k} of {join}.i_clock_mux", one.get(f"{pin}{k}", "open"), of.format(k)) for pin, of in pins.items() for k in (0, 1)
        ]
        joined.append((f"O of {join}.i_clock_mux", one.get("O", "open"), f"{join}.user_clk"))
    return [f"{what} is {net}, not {expected}" for what, net, expected in joined if net != expected]


def is_ball(name: str, part: str) -> bool:
    """Whether a package has this pin: a square of balls, with the rows named by JEDEC's letters."""
    side = math.isqrt(int(re.search(r"[a-z](\d{3,4})-", part)[1]) - 1) + 1
    letters = "ABCDEFGHJKLMNPRTUVWY"
    rows = [*letters, *(first + second for first in letters for second in letters)][:side]
    ball = re.fullmatch(r"([A-Z]{1,2})([1-9]\d?)", name)
    return bool(ball) and ball[1] in rows and int(ball[2]) <= side


def pins(xdc: Script, ports: dict[str, Any], part: str) -> list[str]:
    """Every port has one pin and a standard, every pin one port, and every name is a port's."""
    found: list[str] = []
    names = {f"{name}[{bit}]" for name, (bits, scalar, _) in ports.items() if not scalar for bit in range(bits)}
    names |= {name for name, (_, scalar, _) in ports.items() if scalar}
    # In Tcl's patterns as in the shell's, but [*] of a bus is meant literally.
    for (pattern,) in xdc.of("get_ports"):
        escaped = re.sub(r"\[(\d+|\*)\]", r"[[]\1]", pattern)
        if not any(fnmatchcase(name, escaped) for name in names):
            found.append(f"pins.xdc: there is no port {pattern}")
    placed: dict[str, str] = {}
    standards = set()
    for name, value, *objects in xdc.of("set_property"):
        if name == "PACKAGE_PIN":
            if not is_ball(value, part):
                found.append(f"pins.xdc: {part} has no pin {value}")
            for port in objects:
                if value in placed.values():
                    found.append(f"pins.xdc: pin {value} is used twice")
                if port in placed:
                    found.append(f"pins.xdc: port {port} has two pins")
                placed[port] = value
        if name == "IOSTANDARD":
            if value not in STANDARDS:
                found.append(f"pins.xdc: {value} is no IOSTANDARD")
            standards.update(objects)
    found += [f"pins.xdc: port {name} has no pin" for name in sorted(names - placed.keys())]
    found += [f"pins.xdc: port {name} has no IOSTANDARD" for name in sorted(names - standards) if not GT_PORTS.match(name)]
    return found


def regions(folder: Path, scratch: Path) -> list[tuple[list[str], list[str]]]:
    """Of each core of a project's region: its sources, and folders and macros as options, as the scripts have them synthesised."""
    cells = ["tp_sync_meta_reg", "tp_cdc_data_reg", "tp_cdc_mem_reg", "tp_config_divided_reg"]
    build = run(folder / "build.tcl", scratch, cells)
    if build.code:
        raise ValueError(f"build.tcl: {build.said.strip()}")

    def of(record: str, number: int) -> list[str]:
        return [what for core, what in build.of(record) if core == str(number)]

    options = {"region_include": "+incdir+", "region_define": "+define+"}
    return [
        (of("region_source", number), [f"{option}{what}" for record, option in options.items() for what in of(record, number)])
        for number in range(len(build.of("create_memory_project")))
    ]


def filled(folder: Path, scratch: Path, sources: list[str], options: list[str], region: int | None) -> tuple[list[str], list[str]]:
    """Sources and options with this core in the region's place; without a number, as they are."""
    if region is None:
        return sources, options
    inside, more = regions(folder, scratch)[region]
    around = [path for path in sources if not path.endswith("/sources/region/tp_region.sv")]
    return around + inside, options + [option for option in more if option not in options]


def config_clock(hierarchy: dict[str, Any], crossings: Script) -> list[str]:
    """The clock of the configuration port: no faster than the primitive may have it, and as the constraint says."""
    port = parameters(hierarchy, "tp_xilinx_icap")
    if not port:
        return []
    core = parameters(hierarchy, "tp_core")
    khz = core["USER_CLOCK_KHZ"]
    most = 100_000 if parameters(hierarchy, "ICAPE2") else 125_000
    found = []
    if port["CLOCK_KHZ"] != khz or port["MOST_KHZ"] > most:
        found.append(f"tp_xilinx_icap: {port['CLOCK_KHZ']:g} and {port['MOST_KHZ']:g} kHz: its clock has {khz:g}, and {most} are allowed")
    divide = 2 * math.ceil(port["CLOCK_KHZ"] / (2 * port["MOST_KHZ"]))
    made = [(name, int(by)) for name, by, *_ in crossings.of("create_generated_clock")]
    if made != [("tp_config_clock", divide)]:
        found.append(f"crossings.tcl: the configuration port's clock is {made}, and divided by {divide}")
    # Its inputs change half a period before it takes them, and again half a period later.
    ends = ["tp_config_divided_reg/C", "tp_config_divided_reg/Q"]
    wanted = [[str(divide // 2), "-setup", "-start", *ends], [str(divide - 1), "-hold", "-start", *ends]]
    told = crossings.of("set_multicycle_path")
    if told != wanted:
        found.append(f"crossings.tcl: the paths to the configuration port have {told}, not {wanted}")
    return found


def findings(folder: Path, scratch: Path, switched: Sequence[int] = (), region: int | None = None) -> list[str]:
    """With `switched`: the clocks in kHz between which the core's plug-in switches. With `region`: with this core in it, by number."""
    build = run(folder / "build.tcl", scratch, [], "project")
    if build.code:
        return [f"build.tcl: {build.said.strip()}"]
    found = []
    (_, _, part), (ip, _) = build.of("create_project")[0], build.of("create_ip")[0]
    if not PART.fullmatch(part):
        return [f"{part} is no part's name"]
    settings = told(build)
    found += documented(ip, settings)
    sources = [path for fileset, path in build.of("add_files") if fileset == "sources_1"]
    sources, options = filled(folder, scratch, sources, included(build), region)
    trouble, hierarchy = elaborated([*options, *sources], ip, settings)
    found += trouble
    if not hierarchy:
        return found

    registers = hierarchy["registers"]
    text = (folder / "pins.xdc").read_text()
    found += [
        f"pins.xdc: {line}: not allowed in an XDC" for line in text.splitlines() if line and line[0] != "#" and line.split()[0] not in XDC
    ]
    xdc = run(folder / "pins.xdc", scratch, registers)
    if xdc.code:
        return [*found, f"pins.xdc: {xdc.said.strip()}"]
    found += pins(xdc, hierarchy["ports"], part)
    found += wired(hierarchy)
    found += agreed(ip, settings, hierarchy, xdc.of("create_clock"), switched)

    mmcm = [path for path, instance in hierarchy["instances"].items() if instance["module"].startswith("MMCME")]
    pins_of = [f"{path}/CLKOUT{k}" for path in mmcm for k in range(7)]
    selects = [f"{pin}{k}" for pin in ("S", "CE", "IGNORE") for k in (0, 1)]
    multiplexers = [path for path, instance in hierarchy["instances"].items() if instance["module"] == "BUFGCTRL"]
    pins_of += [f"{path}/{pin}" for path in multiplexers for pin in (*selects, "I0", "I1")]
    if "tp_config_divided" in registers:
        pins_of += ["tp_config_divided_reg/C", "tp_config_divided_reg/Q"]
    crossings = run(folder / "crossings.tcl", scratch, [*registers, *pins_of])
    if crossings.code:
        return [*found, f"crossings.tcl: {crossings.said.strip()}"]
    found += config_clock(hierarchy, crossings)
    core = parameters(hierarchy, "tp_core")
    for pattern, count in crossings.of("get_cells"):
        # With one clock there are no words and no RAM that cross, but the reset's level does.
        if count == "0" and (core["USER_ASYNC"] or "sync" in pattern):
            found.append(f"crossings.tcl: {pattern} is no register of the design")
    groups = [pin.rpartition("/")[2] for pin, *_ in crossings.of("set_clock_groups")]
    if groups != [f"CLKOUT{k}" for k in range(len(switched))]:
        found.append(f"crossings.tcl: exclusive are {', '.join(groups) or 'no clocks'}, of {len(switched) or 1}")
    free = {pin for end, *to in crossings.of("set_false_path") if end == "-to" for pin in to}
    apart = {
        pin for name, value, *nets in crossings.of("set_property") if (name, value) == ("CLOCK_DEDICATED_ROUTE", "FALSE") for pin in nets
    }
    for path in multiplexers:
        found += [f"crossings.tcl: {path}/{pin} is timed" for pin in selects if f"{path}/{pin}" not in free]
        if ip == "pcie_7x":
            found += [f"crossings.tcl: {path}/{pin} needs a buffer beside it" for pin in ("I0", "I1") if f"{path}/{pin}" not in apart]
    shorter = 1e6 / max(core["CORE_CLOCK_KHZ"], core["USER_CLOCK_KHZ"], *switched)
    found += [
        f"crossings.tcl: {delay} ns, not {shorter:.3f}" for (delay,) in crossings.of("set_max_delay") if float(delay) != round(shorter, 3)
    ]
    return found


def lint(folder: Path, scratch: Path, region: int | None = None) -> list[str]:
    """What Verilator has to say of the whole, the user core and the stubs aside. With `region`: with this core in it, by number."""
    build = run(folder / "build.tcl", scratch, [], "project")
    sources = [path for fileset, path in build.of("add_files") if fileset == "sources_1"]
    sources, options = filled(folder, scratch, sources, included(build), region)
    rules = [str(ROOT / "tools/lint.vlt"), str(STUBS / "stubs.vlt")]
    files, macros = stubs(build.of("create_ip")[0][0], told(build))
    command = ["verilator", "--lint-only", "-Wall", "--top-module", "tp_top", *macros, *rules, *options, *sources, *files]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, cwd=folder)
    return (done.stdout + done.stderr).splitlines() if done.returncode else []
