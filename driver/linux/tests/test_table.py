# SPDX-License-Identifier: GPL-2.0 OR MIT
"""The contract's golden traces of discovery tables, good and hostile, replayed against the driver's table.c, which is compiled here as it
stands."""

from __future__ import annotations

import ctypes
import mmap
import subprocess
import sys
from pathlib import Path

import pytest

DRIVER = Path(__file__).resolve().parents[1]
ROOT = DRIVER.parents[1]
sys.path[:0] = [str(ROOT / "contract"), str(ROOT / "contract" / "traces")]

import cases  # noqa: E402
import generate  # noqa: E402
import golden  # noqa: E402

CONSTANTS = cases.Names(generate.read_contract(ROOT / "contract/towpath.rdl")).constants
GLUE = """#include "table.c"
static struct tp_table table;
static u32 load(void *at) { return *(u32 *)at; }
static void store(void *at, u32 bits, u64 value) { (void)at; (void)bits; (void)value; __builtin_trap(); }
int verdict(void *page, u64 device_bytes, u64 window_bytes, u64 memory_bytes)
{
    tp_load = load;
    tp_store = store;
    memset(&table, 0xa5, sizeof(table));
    return tp_table_load(&table, page, device_bytes, window_bytes, memory_bytes);
}
int channel(void) { return table.channel; }
const char *what(void) { return table.fault.what; }
u64 value(void) { return table.fault.value; }
u64 least(void) { return table.fault.least; }
u64 most(void) { return table.fault.most; }
u32 serial(void) { return table.header.serial; }
u32 channels(void) { return table.header.channels; }
const u8 *name(u32 index) { return table.entries[index].name; }
"""
GOOD, NO_MAGIC, OTHER_VERSION, BAD = range(4)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    path = tmp_path_factory.mktemp("table") / "table.so"
    options = ("-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", f"-I{DRIVER}")
    subprocess.run(["cc", *options, "-x", "c", "-", "-o", path], input=GLUE, text=True, check=True)
    loaded = ctypes.CDLL(str(path))
    loaded.what.restype = loaded.name.restype = ctypes.c_char_p
    for name in ("value", "least", "most"):
        getattr(loaded, name).restype = ctypes.c_uint64
    loaded.serial.restype = ctypes.c_uint32
    return loaded


class Card:
    """BARs of a card, of which only page 0 is there. Loads read it in place; a store ends the test's process."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.library = library
        self.bytes = bytearray(1 << 16)
        self.bars = {CONSTANTS["BAR_DEVICE"]: 1 << 20, CONSTANTS["BAR_WINDOW"]: 4096, CONSTANTS["BAR_MEMORY"]: 0}

    def verdict(self) -> int:
        with mmap.mmap(-1, len(self.bytes)) as memory:
            memory[:] = bytes(self.bytes)
            page = ctypes.c_char.from_buffer(memory)
            try:
                bars = (ctypes.c_uint64(self.bars[CONSTANTS[name]]) for name in ("BAR_DEVICE", "BAR_WINDOW", "BAR_MEMORY"))
                return self.library.verdict(ctypes.byref(page), *bars)
            finally:
                del page

    def told(self) -> tuple[str, str, int, int, int]:
        """In the words of `do reject`."""
        where = "header" if self.library.channel() < 0 else str(self.library.channel())
        what = self.library.what().decode().replace(" ", "")
        return where, what, self.library.value(), self.library.least(), self.library.most()


def replay(library: ctypes.CDLL, trace: golden.Trace) -> list[str]:
    """What was asked of the driver."""
    card, asked = Card(library), []
    for line in trace.lines:
        match line.verb, line.words:
            case "contents", ["discovery", offset, data]:
                found = golden.data(data)
                card.bytes[golden.number(offset) : golden.number(offset) + len(found)] = found
            case "bar", [number, count]:
                card.bars[golden.number(number)] = golden.number(count)
            case "do", [what, *words]:
                where = f"{trace.name}, line {line.number}"
                verdict = card.verdict()
                if what == "reject":
                    place, register, *numbers = words
                    assert verdict == BAD, where
                    assert card.told() == (place, register, *(golden.number(word) for word in numbers)), where
                else:
                    assert verdict == {"open": GOOD, "refuse": OTHER_VERSION}[what], where
                if what == "open":
                    assert (library.serial(), library.channels()) == (0x89ABCDEF, 2)
                    assert [library.name(index) for index in range(2)] == [b"in", b"out"]
                asked.append(what)
            case "settle", []:
                pass
            case other:
                pytest.fail(f"{trace.name}, line {line.number}: {other}: no line for this bench")
    return asked


TRACES = [golden.load(path) for path in sorted((ROOT / "contract/traces").glob("*.trace"))]
# The others are the engine's.
TABLES = [trace for trace in TRACES if trace.replay != "card" and not trace.channels]


@pytest.mark.parametrize("trace", TABLES, ids=lambda trace: trace.name)
def test_trace(library: ctypes.CDLL, trace: golden.Trace) -> None:
    assert replay(library, trace)


def test_there_are_hostile_tables(library: ctypes.CDLL) -> None:
    asked = [what for trace in TABLES for what in replay(library, trace)]
    assert asked.count("reject") > 60 and asked.count("open") > 25 and asked.count("refuse") == 1


def test_another_card_is_not_read_on(library: ctypes.CDLL) -> None:
    card = Card(library)
    card.bytes[:] = b"\xff" * len(card.bytes)
    assert card.verdict() == NO_MAGIC
