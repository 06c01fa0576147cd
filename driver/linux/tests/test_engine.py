# SPDX-License-Identifier: GPL-2.0 OR MIT
"""The contract's golden traces, replayed against the driver's engine.c, which is compiled here as it stands.

What each `do` of a trace must lead to stands below it: the stores are compared word by word. Entries that the trace's card writes are put
into the ring, and the engine must find each of them, and no more.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
from collections import deque
from pathlib import Path

import pytest

DRIVER = Path(__file__).resolve().parents[1]
ROOT = DRIVER.parents[1]
sys.path[:0] = [str(ROOT / "contract"), str(ROOT / "contract" / "traces")]

import cases  # noqa: E402
import generate  # noqa: E402
import golden  # noqa: E402

STORE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint64)
LOAD = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p)
# Any addresses do: nothing is mapped there.
PAGES = {"privileged": 0x10_0000, "doorbell": 0x20_0000}
NAMES = cases.Names(generate.read_contract(ROOT / "contract/towpath.rdl"))
KINDS, STATUSES = NAMES.enums["kind"], NAMES.enums["status"]
END = NAMES.mask("DESCRIPTOR_CONTROL", "end")
START = NAMES.mask("COMPLETION_FLAGS", "start")
RESET = NAMES.offset("CHANNEL_RESET")


def image(structure: str, **values: int) -> bytes:
    """A structure of the contract, as it lies in memory."""
    fields = {name: NAMES.registers[f"{structure}_{name.upper()}"] for name in values}
    ordered = sorted(fields, key=lambda name: fields[name].offset)
    return b"".join((values[name] & (1 << fields[name].bits) - 1).to_bytes(fields[name].bits // 8, "little") for name in ordered)


ENTRY_BYTES = len(image("COMPLETION", bytes=0, offset=0, user=0, cookie=0, status=0, flags=0))


class Engine(ctypes.Structure):
    _fields_ = (
        ("privileged", ctypes.c_void_p),
        ("doorbell", ctypes.c_void_p),
        ("ring", ctypes.c_void_p),
        ("ring_address", ctypes.c_uint64),
        ("ring_log2", ctypes.c_uint32),
        ("consumer", ctypes.c_uint32),
        ("depth", ctypes.c_uint16),
        ("used", ctypes.c_uint16),
    )


class Entry(ctypes.Structure):
    _fields_ = (
        ("bytes", ctypes.c_uint32),
        ("offset", ctypes.c_uint32),
        ("user", ctypes.c_uint32),
        ("cookie", ctypes.c_uint16),
        ("status", ctypes.c_uint8),
        ("start", ctypes.c_bool),
    )


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    path = tmp_path_factory.mktemp("engine") / "engine.so"
    options = ("-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC")
    subprocess.run(["cc", *options, "-o", path, DRIVER / "engine.c"], check=True)
    loaded = ctypes.CDLL(str(path))
    loaded.tp_engine_post.restype = ctypes.c_bool
    loaded.tp_engine_next.restype = ctypes.c_bool
    loaded.tp_engine_is_resetting.restype = ctypes.c_bool
    return loaded


class Channel:
    """One engine, and its ring as the trace's card writes it."""

    def __init__(self, library: ctypes.CDLL, number: int, depth: int) -> None:
        self.library = library
        base = number << 24
        self.engine = Engine(privileged=base + PAGES["privileged"], doorbell=base + PAGES["doorbell"], depth=depth)
        self.memory = ctypes.create_string_buffer(0)
        self.written = 0
        self.told: deque[tuple[int, int, int, int, int, bool]] = deque()
        # Places that each descriptor takes with the prefixes before it, by cookie.
        self.prefixes = 0
        self.places: dict[int, int] = {}

    def call(self, name: str, *arguments: object) -> bool:
        return getattr(self.library, f"tp_engine_{name}")(ctypes.byref(self.engine), *arguments)

    def enable(self, ring: int, log2: int, vector: int, announce: bool) -> None:
        # Full of entries of the other lap: the engine must clear it.
        self.memory = ctypes.create_string_buffer(b"\xff" * (ENTRY_BYTES << log2), ENTRY_BYTES << log2)
        (self.engine.ring, self.engine.ring_address, self.engine.ring_log2) = (ctypes.addressof(self.memory), ring, log2)
        self.written = 0
        self.places.clear()
        self.call("start", ctypes.c_uint32(vector), ctypes.c_bool(announce))

    def post(self, kind: str, address: int, length: int, cookie: int, end: bool) -> None:
        control = KINDS[kind] | (END if end else 0)
        assert self.call("post", image("DESCRIPTOR", address=address, length=length, cookie=cookie, control=control)), "there is no room"
        self.prefixes += 1
        if kind not in ("attributes", "message_length"):
            (self.places[cookie], self.prefixes) = (self.prefixes, 0)

    def reap(self, until: int | None = None) -> None:
        """All that the card has written must be found, and nothing else; or so many entries since the start, of those."""
        if not self.engine.ring:
            return
        entry = Entry()
        while self.told and self.engine.consumer != until:
            assert self.call("next", ctypes.byref(entry)), "an entry was not found"
            found = (entry.bytes, entry.offset, entry.user, entry.cookie, entry.status, entry.start)
            assert found == self.told.popleft()
            if not entry.start:
                self.engine.used -= self.places.pop(entry.cookie)
        assert until is not None or not self.call("next", ctypes.byref(entry)), "an entry was found that nobody wrote"

    def entry(self, address: int, words: list[str]) -> None:
        """BYTES OFFSET USER COOKIE STATUS FLAGS; what is not compared is written as nonsense."""
        count, offset, user, cookie = (0xA5A5A5A5 if word == "-" else golden.number(word) for word in words[:4])
        status, flags = STATUSES[words[4]], golden.number(words[5])
        assert address == self.engine.ring_address + ENTRY_BYTES * (self.written % (1 << self.engine.ring_log2))
        entry = image("COMPLETION", bytes=count, offset=offset, user=user, cookie=cookie, status=status, flags=flags)
        ctypes.memmove(ctypes.addressof(self.memory) + address - self.engine.ring_address, entry, len(entry))
        self.written += 1
        self.told.append((count, offset, user, cookie & 0xFFFF, status, bool(flags & START)))


class Replay:
    """Goes down a trace's lines."""

    def __init__(self, library: ctypes.CDLL, trace: golden.Trace) -> None:
        self.stores: list[tuple[str, int, int, int]] = []
        self.channels = {name: Channel(library, 1 + n, depth) for n, (name, (_, depth)) in enumerate(trace.channels.items())}
        self.lines = deque(trace.lines)
        self.polled = 0
        # Kept alive as long as the library may call them.
        self.callbacks = (STORE(self.on_store), LOAD(self.on_load))
        for name, callback in zip(("tp_store", "tp_load"), self.callbacks, strict=True):
            ctypes.c_void_p.in_dll(library, name).value = ctypes.cast(callback, ctypes.c_void_p).value

    def place(self, at: int) -> tuple[str, int]:
        name = list(self.channels)[(at >> 24) - 1]
        page = next(page for page, base in PAGES.items() if base <= (at & 0xFF_FFFF) < base + 0x1000)
        return f"{name}.{page}", at & 0xFFF

    def on_store(self, at: int, bits: int, value: int) -> None:
        self.stores.append((*self.place(at), bits, value))

    def on_load(self, at: int) -> int:
        """Only a reset is waited for: it goes on for two looks."""
        self.polled += 1
        return int(self.polled % 3 != 0)

    def run(self) -> None:
        while self.lines:
            line = self.lines.popleft()
            match line.verb, line.words:
                case "do", [what, name, *words]:
                    self.do(what, name, words)
                case "entry", [name, address, *words]:
                    self.channels[name].entry(golden.number(address), words)
                case "poll", [page, offset, *_]:
                    self.await_reset(page, golden.number(offset))
                case "store", words:
                    pytest.fail(f"line {line.number}: store {' '.join(words)}: no `do` asked for it")
        for channel in self.channels.values():
            channel.reap()

    def do(self, what: str, name: str, words: list[str]) -> None:
        channel = self.channels[name]
        # The card's entries are reaped as late as the trace tells, for some arm with an index that has passed.
        channel.reap(golden.number(words[0]) if what == "arm" else None)
        flag = words[-1] in ("end", "announce") if words else False
        numbers = [golden.number(word) for word in words if word[0].isdigit()]
        if what == "enable":
            channel.enable(*numbers, flag)
        elif what == "post":
            channel.post(words[0], *numbers, flag)
        elif what == "arm":
            assert channel.engine.consumer == numbers[0]
            channel.call("arm")
        elif what == "cancel":
            channel.call("cancel")
        elif what == "reset":
            channel.call("reset")
        else:
            pytest.fail(f"do {what}: unknown")
        self.compare(what)

    def await_reset(self, page: str, offset: int) -> None:
        name, kind = page.split(".")
        before = self.polled
        unanswered = ctypes.c_bool(False)
        while self.channels[name].call("is_resetting", ctypes.byref(unanswered)):
            pass
        assert not unanswered
        assert (kind, offset, self.polled - before) == ("privileged", RESET, 3), "looks at its reset until that is over"

    def compare(self, what: str) -> None:
        """The stores that the trace has here are those that were made."""
        wanted = []
        while self.lines and self.lines[0].verb == "store":
            page, offset, bits, value = self.lines.popleft().words
            wanted.append((page, *(golden.number(word) for word in (offset, bits, value))))
        made, self.stores = self.stores, []
        # In a privileged page the order is the driver's own, but for the last.
        if what == "enable":
            assert made[-1:] == wanted[-1:]
            made, wanted = sorted(made), sorted(wanted)
        assert made == wanted


TRACES = [golden.load(path) for path in sorted((ROOT / "contract/traces").glob("*.trace"))]
# Without channels they are the discovery table's (test_table.py); inline messages the engine does not post yet.
OURS = [trace for trace in TRACES if trace.replay != "card" and trace.channels and trace.name != "inline"]


@pytest.mark.parametrize("trace", OURS, ids=lambda trace: trace.name)
def test_trace(library: ctypes.CDLL, trace: golden.Trace) -> None:
    Replay(library, trace).run()


def test_a_full_queue_takes_nothing(library: ctypes.CDLL) -> None:
    (line,) = (t for t in TRACES if t.name == "direct")
    replay = Replay(library, line)
    channel = next(iter(replay.channels.values()))
    channel.enable(0x1000, 6, 0, False)
    for cookie in range(channel.engine.depth):
        channel.post("direct", 0x1000, 1, cookie, False)
    replay.stores.clear()
    assert not channel.call("post", image("DESCRIPTOR", address=0, length=0, cookie=0, control=0))
    assert replay.stores == [], "what finds no room must not reach the card"


@pytest.mark.parametrize(("depth", "log2"), [(1, 2), (2, 3), (3, 3), (4, 4), (16, 6), (31, 6), (32, 7)])
def test_the_ring_holds_two_for_each_descriptor_and_two_more(library: ctypes.CDLL, depth: int, log2: int) -> None:
    assert library.tp_engine_ring_log2(ctypes.c_uint16(depth)) == log2
    assert 2 * depth + 2 <= 1 << log2 < 2 * (2 * depth + 2)
