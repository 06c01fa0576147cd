# SPDX-License-Identifier: Apache-2.0
"""The generated checks of the discovery table, in C and Rust: they agree on random tables, they refuse no card that the gateware can be,
and protocol.md says what they allow.

The random tables lie around the limits. TOWPATH_SEED, which a failure names, repeats them.
"""

import itertools
import os
import random
import struct
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pyslang
import pytest

CONTRACT = Path(__file__).resolve().parents[1]
GENERATED = CONTRACT / "generated"
sys.path[:0] = [str(CONTRACT), str(CONTRACT / "traces"), str(CONTRACT / "tests")]
import generate  # noqa: E402
import test_card  # noqa: E402

MODEL = generate.read_contract(CONTRACT / "towpath.rdl")
HEADER, PLUGIN, ENTRY = MODEL.tables
CONSTANTS = {c.name: c.number for c in MODEL.constants}
SEED = int(os.environ.get("TOWPATH_SEED") or random.SystemRandom().randrange(1 << 32))

# Each reads tables from a file: the bytes of the BARs, how many entries follow (as many as a good header says), header and entries. It
# prints a line for each: what is wrong, or `good` and a number made of every register.
C_PROGRAM = """#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "towpath.h"
static uint64_t sum;
static void add(uint64_t value) { sum = sum * 31 + value; }
static void take(void *bytes, size_t count, FILE *from) { if (fread(bytes, 1, count, from) != count) exit(2); }
static void tell(const char *where, const struct tp_table_fault *fault)
{
    printf("%s%s is %" PRIu64, where, fault->what, fault->value);
    printf("; allowed: %" PRIu64 " to %" PRIu64 "%s\\n", fault->least, fault->most, fault->besides);
}
static void table(const uint64_t *facts, FILE *from)
{
    static struct tp_channel_entry_image images[TP_CHANNELS_MAX];
    struct tp_plugin_entry_image plugin_images[TP_PLUGINS_MAX];
    struct tp_plugin_entry plugin;
    struct tp_discovery_image image;
    struct tp_discovery header;
    struct tp_channel_entry entries[TP_CHANNELS_MAX];
    struct tp_table_fault fault;
    uint32_t n, k;

    take(&image, sizeof(image), from);
    take(plugin_images, sizeof(plugin_images), from);
    take(images, facts[3] * sizeof(*images), from);
    tp_discovery_read(&header, &image);
    if (tp_discovery_check(&header, facts[0], facts[1], facts[2], &fault)) { tell("", &fault); return; }
    sum = 0;
    @header@
    for (n = 0; n < header.plugins; n++) {
        tp_plugin_entry_read(&plugin, &plugin_images[n]);
        if (tp_plugin_entry_check(&plugin, &header, &fault)) { tell("plug-in ", &fault); return; }
        @plugin@
    }
    for (n = 0; n < header.channels; n++) {
        tp_channel_entry_read(&entries[n], &images[n]);
        if (tp_channel_entry_check(&entries[n], entries, n, &header, facts[0], &fault)) { tell("entry ", &fault); return; }
        @entry@
    }
    printf("good %" PRIu64 "\\n", sum);
}
int main(int count, char **arguments)
{
    FILE *from = fopen(arguments[count - 1], "rb");
    uint64_t facts[4];

    while (from && fread(facts, sizeof(facts), 1, from) == 1) table(facts, from);
    return !from;
}
"""
RUST_PROGRAM = """#![allow(dead_code)]
include!("@generated@");
use std::io::{BufRead, BufReader, Read, Write};
fn take<const N: usize>(from: &mut impl Read) -> [u8; N] { let mut bytes = [0; N]; from.read_exact(&mut bytes).unwrap(); bytes }
type Plugins = [[u8; 16]; PLUGINS_MAX];
type Header = [u8; @header_bytes@];
fn judge(device: u64, window: u64, memory: u64, header: &Header, plugins: &Plugins, images: &[[u8; 64]]) -> Result<u64, String> {
    let header = Discovery::from_image(header);
    header.check(device, window, memory).map_err(|fault| fault.to_string())?;
    let mut sum = 0u64;
    let mut add = |value: u64| sum = sum.wrapping_mul(31).wrapping_add(value);
    @header@
    for image in &plugins[..header.plugins.into()] {
        let plugin = PluginEntry::from_image(image);
        plugin.check(&header).map_err(|fault| format!("plug-in {fault}"))?;
        @plugin@
    }
    let mut entries = Vec::new();
    for image in &images[..header.channels.into()] {
        let entry = ChannelEntry::from_image(image);
        entry.check(&entries, &header, device).map_err(|fault| format!("entry {fault}"))?;
        @entry@
        entries.push(entry);
    }
    Ok(sum)
}
fn main() {
    let mut from = BufReader::new(std::fs::File::open(std::env::args().last().unwrap()).unwrap());
    let mut to = std::io::BufWriter::new(std::io::stdout());
    while !from.fill_buf().unwrap().is_empty() {
        let [device, window, memory, count] = [take(&mut from), take(&mut from), take(&mut from), take(&mut from)].map(u64::from_le_bytes);
        let header = take(&mut from);
        let plugins = [(); PLUGINS_MAX].map(|()| take(&mut from));
        let images: Vec<_> = (0..count).map(|_| take(&mut from)).collect();
        match judge(device, window, memory, &header, &plugins, &images) {
            Ok(sum) => writeln!(to, "good {sum}").unwrap(),
            Err(fault) => writeln!(to, "{fault}").unwrap(),
        }
    }
}
"""


def built(command: list[str | Path], source: str, program: Path) -> Path:
    program.with_suffix(".source").write_text(source)
    result = subprocess.run([*command, program.with_suffix(".source"), "-o", program], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return program


def filled(program: str, lines: dict[str, str]) -> str:
    for name, line in lines.items():
        program = program.replace(f"@{name}@", line)
    return program


def c_program(folder: Path, header: str) -> Path:
    (folder / "towpath.h").write_text(header)
    lines = {}
    for name, table, place in (("header", HEADER, "header"), ("plugin", PLUGIN, "plugin"), ("entry", ENTRY, "entries[n]")):
        loops = [f"for (k = 0; k < {r.count}; k++) add({place}.{r.name}[k]);" for r in table.registers if r.count]
        lines[name] = " ".join([f"add({place}.{r.name});" for r in table.registers if not r.count] + loops)
    source = filled(C_PROGRAM, lines)
    options = ["-std=c11", "-O1", "-fsanitize=undefined", "-fno-sanitize-recover", "-Wall", "-Wextra", "-Werror", f"-I{folder}", "-x", "c"]
    return built(["cc", *options], source, folder / "tables_c")


def rust_program(folder: Path, module: str) -> Path:
    (folder / "towpath.rs").write_text(module)
    lines = {}
    for place, table in (("header", HEADER), ("plugin", PLUGIN), ("entry", ENTRY)):
        loops = [f"{place}.{r.name}.iter().for_each(|b| add(u64::from(*b)));" for r in table.registers if r.count]
        lines[place] = " ".join([f"add({place}.{r.name} as u64);" for r in table.registers if not r.count] + loops)
    lines |= {"generated": str(folder / "towpath.rs"), "header_bytes": str(HEADER.image_bytes)}
    source = filled(RUST_PROGRAM, lines)
    return built(["rustc", "--edition", "2021", "-O", "-C", "overflow-checks=on", "--crate-name", "tables"], source, folder / "tables_rust")


def image(table: generate.Block, values: dict[str, int | bytes]) -> bytes:
    found = bytearray(table.image_bytes)
    for register in table.registers:
        value = values[register.name]
        content = value if isinstance(value, bytes) else value.to_bytes(register.bytes, "little")
        found[register.offset : register.offset + len(content)] = content
    return bytes(found)


@dataclass
class Table:
    device: int
    window: int
    memory: int
    header: dict[str, int | bytes]
    plugins: list[dict[str, int | bytes]]
    entries: list[dict[str, int | bytes]]

    def number(self, name: str) -> int:
        value = self.header[name]
        assert isinstance(value, int)
        return value

    @property
    def bytes(self) -> bytes:
        plugins = [image(PLUGIN, plugin) for plugin in self.plugins]
        plugins += [bytes(PLUGIN.image_bytes)] * (CONSTANTS["PLUGINS_MAX"] - len(plugins))
        images = [image(HEADER, self.header), *plugins, *(image(ENTRY, entry) for entry in self.entries)]
        return struct.pack("<4Q", self.device, self.window, self.memory, len(self.entries)) + b"".join(images)


def numbers(table: generate.Block) -> list[generate.Entry]:
    return [register for register in table.registers if not register.count]


def edge(draw: random.Random, register: generate.Entry) -> int:
    """A number at a limit or beside it, or any other."""
    top = (1 << register.bits) - 1
    limit = register.limit or generate.Limit(0, top)
    some = [0, 1, limit.least - 1, limit.least, limit.least + 1, limit.most - 1, limit.most, limit.most + 1, top]
    some += [1 << draw.randrange(register.bits), (1 << draw.randrange(register.bits)) + 1, draw.randrange(top + 1)]
    return min(max(draw.choice(some), 0), top)


def good(draw: random.Random) -> Table:
    """A table within all limits: what is refused is then what a lie made of it."""
    shift = draw.choice([12, 12, 13, 16])
    count = draw.choice([1, 2, 2, 3, 4]) if draw.random() < 0.99 else 60
    plugins = draw.choice([0, 0, 1, 2, 7])
    first = 128 + 16 * plugins
    offset, stride = (256, 64) if draw.random() < 0.5 else (draw.randrange(first, 256, 8), draw.choice([64, 64, 72]) if count < 50 else 64)
    header: dict[str, int | bytes] = {r.name: draw.randrange(1 << r.bits) for r in numbers(HEADER)}
    header |= {
        "magic": 0, "header_bytes": draw.randrange(first, offset + 1), "plugins": plugins,
        "page_shift": shift, "data_bytes": 8 << draw.randrange(5),
        "channels": count, "entry_offset": offset, "entry_bytes": stride, "vectors": draw.randrange(1, 129),
        "user_interrupts": draw.randrange(17), "tags": draw.randrange(1, 1025),
        "window_bytes": 65536 if plugins else draw.choice([0, 8, 4096]),
        "core_clock_khz": draw.randrange(1, 1 << 32), "core_name": draw.randbytes(32),
        "memory_window_bytes": draw.choice([0, 1 << 20, 1 << 24, 1 << 36]),
    }  # fmt: skip
    groups = draw.sample(range(count + 2), count)
    entries = []
    for group in groups:
        direction = draw.randrange(2)
        entry: dict[str, int | bytes] = {
            "direction": direction, "kind": draw.randrange(256), "kind_version": draw.randrange(1 << 16),
            "kind_parameter": draw.randrange(1 << 32), "kind_name": draw.randbytes(8), "queue_depth": draw.randrange(1, 32768),
            "inline_slots": 0 if direction else draw.randrange(65), "first_page": 4 + 4 * group + draw.randrange(4) * (count == 1),
            "buffer_bytes": draw.randrange(1 << 32), "batch_slots": draw.choice([0, 1 << draw.randrange(9)]), "name": draw.randbytes(32),
            "window": draw.randrange(min(header["memory_window_bytes"] >> 20, 65535) + 1),  # type: ignore[operator]
        }  # fmt: skip
        entries.append(entry)
    shelf: list[dict[str, int | bytes]] = []
    for _ in range(plugins):
        pages = draw.randrange(1, 17)
        place = 4096 * draw.randrange(17 - pages)
        shelf.append({"type_name": draw.randbytes(8), "version": draw.randrange(1 << 16), "pages": pages, "offset": place})
    end = max(int(entry["first_page"]) for entry in entries) + 4
    device = draw.choice([end << shift, 1 << (end << shift).bit_length(), (1 << 64) - 1])
    memory = draw.choice([header["memory_window_bytes"], (1 << 64) - 1])
    return Table(device, draw.choice([header["window_bytes"], 65536, (1 << 64) - 1]), memory, header, shelf, entries)  # type: ignore[arg-type]


def lie(draw: random.Random, table: Table) -> None:
    """Changes one thing."""
    what = draw.randrange(9)
    if what < 3:
        register = draw.choice(numbers(HEADER))
        table.header[register.name] = edge(draw, register)
    elif what == 8 and table.plugins:
        register = draw.choice(numbers(PLUGIN))
        plugin = draw.choice(table.plugins)
        # Around the end of the window, or of the number's own limits.
        past = {
            "offset": 65536 - 4096 * int(plugin["pages"]) + draw.choice([-4096, 0, 1, 4096]),
            "pages": 16 - int(plugin["offset"]) // 4096 + 1,
        }
        plugin[register.name] = max(past[register.name], 0) if register.name in past and draw.randrange(2) else edge(draw, register)
    elif what < 5:
        register = draw.choice(numbers(ENTRY))
        draw.choice(table.entries)[register.name] = edge(draw, register)
    elif what == 5:  # around another's pages
        other = draw.choice(table.entries)["first_page"]
        assert isinstance(other, int)
        draw.choice(table.entries)["first_page"] = max(0, min((1 << 32) - 1, other + draw.randrange(-5, 6)))
    elif what == 6:  # around the end of the page
        room = (1 << min(table.number("page_shift"), 16)) - table.number("entry_offset")
        table.header["entry_bytes"] = max(0, min(65535, room // max(1, table.number("channels")) + draw.choice([-8, -1, 0, 8]) & ~7))
    elif draw.randrange(2):  # around the end of BAR 0
        table.device = max(
            0, min((1 << 64) - 1, table.device + draw.choice([-4096, -1, 1]) if draw.randrange(4) else draw.randrange(1 << 20))
        )
    elif draw.randrange(2):
        table.window = draw.choice([0, 7, 8, 4095, 4096])
    else:
        table.memory = draw.choice([0, (1 << 20) - 1, 1 << 20, 1 << 24])


def random_tables(seed: int, count: int) -> bytes:
    draw, found = random.Random(seed), bytearray()
    for _ in range(count):
        table = good(draw)
        for _ in range(draw.choice([0, 1, 1, 1, 1, 2, 3])):
            lie(draw, table)
        channels = table.number("channels")
        more = itertools.islice(itertools.cycle(table.entries), channels if channels <= CONSTANTS["CHANNELS_MAX"] else 0)
        table.entries = list(more)
        found += table.bytes
    return bytes(found)


def told(program: Path, file: Path) -> list[str]:
    result = subprocess.run([program, file], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()


@pytest.fixture(scope="module")
def in_c(tmp_path_factory) -> Path:
    return c_program(tmp_path_factory.mktemp("c"), (GENERATED / "towpath.h").read_text())


@pytest.fixture(scope="module")
def in_rust(tmp_path_factory) -> Path:
    return rust_program(tmp_path_factory.mktemp("rust"), (GENERATED / "towpath.rs").read_text())


def test_c_and_rust_agree(tmp_path, in_c, in_rust):
    print(f"TOWPATH_SEED={SEED} repeats this", flush=True)
    file = tmp_path / "tables"
    file.write_bytes(random_tables(SEED, 100_000))
    c, rust = told(in_c, file), told(in_rust, file)
    assert len(c) == len(rust) == 100_000
    differing = [pair for pair in zip(c, rust, strict=True) if pair[0] != pair[1]]
    assert not differing, f"TOWPATH_SEED={SEED}: {len(differing)} differ, first {differing[0]}"
    # Each limit and each rule was broken, and many tables were good.
    found = Counter(line.split()[0] if line.startswith("good") else line.partition(" is ")[0] for line in c)
    wanted = {register.name for register in HEADER.limited} | {rule.what for rule in HEADER.rules} | {"good"}
    wanted |= {f"plug-in {name}" for name in {register.name for register in PLUGIN.limited} | {rule.what for rule in PLUGIN.rules}}
    wanted |= {f"entry {name}" for name in {register.name for register in ENTRY.limited} | {rule.what for rule in ENTRY.rules}}
    seldom = {name for name in wanted if found[name] < 50}
    assert not seldom, f"TOWPATH_SEED={SEED}: seldom or never: {seldom} of {found}"


PLANTED = {
    "C, a limit one too high": ("c", "table->page_shift, 12u, 16u", "table->page_shift, 12u, 17u"),
    "C, a rule without its equality": (
        "c",
        ", (tp_u64)table->window_bytes, 0u, bar_window,",
        ", (tp_u64)table->window_bytes + 1, 0u, bar_window,",
    ),
    "C, pages that may touch": ("c", "one < other + 4u", "one < other + 3u"),
    "C, a register read from elsewhere": ("c", "image->bytes + 26, 2", "image->bytes + 24, 2"),
    "Rust, a limit one too low": ("rust", "u64::from(self.queue_depth), 1, 32767,", "u64::from(self.queue_depth), 1, 32766,"),
    "Rust, not a power of two": ("rust", "u64::from(self.data_bytes), 8, 128, 1, true,", "u64::from(self.data_bytes), 8, 128, 1, false,"),
    "Rust, another's pages": ("rust", "self.first_page.abs_diff(other.first_page) < 4", "self.first_page == other.first_page"),
    "Rust, a plug-in beyond the window": ("rust", "u64::from(self.pages) << 12", "u64::from(self.pages) << 11"),
    "C, plug-ins beyond the header": ("c", "(8ull + (tp_u64)table->plugins) << 4ull", "(7ull + (tp_u64)table->plugins) << 4ull"),
    "Rust, another text": ("rust", "(the bytes of BAR 0)", "(the bytes of BAR 1)"),
}


@pytest.mark.parametrize("plant", PLANTED)
def test_a_difference_is_seen(tmp_path, in_c, in_rust, plant):
    language, old, new = PLANTED[plant]
    name, build, honest = ("towpath.h", c_program, in_rust) if language == "c" else ("towpath.rs", rust_program, in_c)
    text = (GENERATED / name).read_text()
    assert old in text
    file = tmp_path / "tables"
    file.write_bytes(random_tables(SEED, 10_000))
    assert told(build(tmp_path, text.replace(old, new)), file) != told(honest, file), f"TOWPATH_SEED={SEED}"


# ---- what the gateware can be ----

TREES = [pyslang.syntax.SyntaxTree.fromFile(str(source)) for source in test_card.sources()]
USUAL = {
    "DATA_WIDTH": 128, "H2C": 1, "C2H": 1, "TAGS": 32, "QUEUE_DEPTH": 16, "INLINE_SLOTS": 4, "VECTORS": 32, "WINDOW_BYTES": 4096,
    "USER_INTERRUPTS": 16, "PAGE_SHIFT": 12, "MEMORY_WINDOW_BYTES": 0,
}  # fmt: skip
# At and beyond what the gateware's own checks take. A queue deeper than 16384 has no ring, which no check of the gateware's knows.
AROUND = {
    "DATA_WIDTH": (32, 64, 128, 256, 512, 1024), "H2C": (0, 1, 30, 59, 60), "C2H": (0, 1, 30, 59, 60), "TAGS": (2, 8, 64, 256, 512),
    "QUEUE_DEPTH": (1, 2, 1024, 16384), "INLINE_SLOTS": (1, 16, 64, 65), "VECTORS": (0, 1, 33, 128, 129),
    "PAGE_SHIFT": (11, 12, 13, 14, 16, 17), "WINDOW_BYTES": (0, 4, 8, 4096, 1 << 24), "USER_INTERRUPTS": (0, 1, 16, 17),
    "MEMORY_WINDOW_BYTES": (0, 1 << 19, 1 << 20, 3 << 20, 1 << 36, 1 << 37),
}  # fmt: skip


def elaborates(parameters: dict[str, int]) -> bool:
    """Does the gateware take these parameters?"""
    options = pyslang.ast.CompilationOptions()
    options.topModules = {"tp_core"}
    options.paramOverrides = [f"{name}={value}" for name, value in parameters.items()]
    compilation = pyslang.ast.Compilation(pyslang.Bag([options]))
    for tree in TREES:
        compilation.addSyntaxTree(tree)
    return not any(diagnostic.isError() for diagnostic in compilation.getAllDiagnostics())


def table_of(parameters: dict[str, int]) -> Table:
    """What tp_pages shows, in BARs of the least size that PCI has for it."""
    count, p = parameters["H2C"] + parameters["C2H"], parameters
    header: dict[str, int | bytes] = {register.name: 0 for register in numbers(HEADER)}
    header |= {register.name: register.reset for register in numbers(HEADER) if register.reset is not None}
    header |= {
        "page_shift": p["PAGE_SHIFT"], "data_bytes": p["DATA_WIDTH"] // 8, "channels": count, "vectors": p["VECTORS"],
        "user_interrupts": p["USER_INTERRUPTS"], "tags": p["TAGS"], "window_bytes": p["WINDOW_BYTES"], "core_clock_khz": 250_000,
        "core_name": b"card", "memory_window_bytes": p["MEMORY_WINDOW_BYTES"],
    }  # fmt: skip
    entries: list[dict[str, int | bytes]] = []
    for channel in range(count):
        entry: dict[str, int | bytes] = {register.name: 0 for register in numbers(ENTRY)}
        h2c = channel < p["H2C"]
        entry |= {
            "direction": int(not h2c),
            "queue_depth": p["QUEUE_DEPTH"],
            "inline_slots": p["INLINE_SLOTS"] if h2c else 0,
            "kind_version": 1,
            "kind_name": b"stream",
            "name": b"channel",
        }
        entry["first_page"] = CONSTANTS["PAGE_CHANNELS"] + CONSTANTS["PAGES_PER_CHANNEL"] * channel
        entries.append(entry)
    pages = (CONSTANTS["PAGE_CHANNELS"] + CONSTANTS["PAGES_PER_CHANNEL"] * count) << p["PAGE_SHIFT"]
    return Table(1 << (pages - 1).bit_length(), p["WINDOW_BYTES"], p["MEMORY_WINDOW_BYTES"], header, [], entries)


def test_no_card_of_the_gateware_is_refused(tmp_path, in_c):
    """Parameters one by one at and beyond their ends, then together."""
    draw = random.Random(SEED)
    taken = {name: [v for v in values if elaborates(USUAL | {name: v})] for name, values in AROUND.items()}
    for name, values in AROUND.items():
        assert 0 < len(taken[name]) < len(values), f"{name}: not at its end"
    cards = [USUAL | {name: value} for name, values in taken.items() for value in values]
    together = ({name: draw.choice(values) for name, values in taken.items()} for _ in range(100))
    cards += [parameters for parameters in together if elaborates(parameters)]
    file = tmp_path / "tables"
    file.write_bytes(b"".join(table_of(parameters).bytes for parameters in cards))
    refused = [pair for pair in zip(told(in_c, file), cards, strict=True) if not pair[0].startswith("good")]
    assert not refused, f"TOWPATH_SEED={SEED}: {refused[0]}"


def test_the_protocol_says_what_is_allowed():
    text = (CONTRACT / "protocol.md").read_text()
    rows = {tuple(cell.strip() for cell in line.split("|")[1:3]) for line in text.splitlines() if line.startswith("| ")}
    wanted = {(f"`{register.name}`", register.limit.text) for table in MODEL.tables for register in table.limited if register.limit}
    wanted |= {("", f"`{rule.shown}`") for table in MODEL.tables for rule in table.rules}
    assert wanted <= rows, f"protocol.md lacks {sorted(wanted - rows)}"
