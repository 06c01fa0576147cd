# SPDX-License-Identifier: Apache-2.0
"""Reads golden traces and checks that one keeps the protocol. The format is in README.md beside this file.

    trace = load(Path("contract/traces/direct.trace"))
    for line in trace.lines: ...                 # line.verb, line.words, line.number
    data(line.words[1])                          # bytes of a DATA word
    check(trace, Layout(...))                    # raises TraceError where the trace contradicts protocol.md

Needs nothing but Python, so that any bench can import it. It does not replay: how a store reaches a card is the replayer's affair.
"""

from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

FORMAT = 1

# verb: number of words behind it. `do` is described by its second word.
VERBS = {
    "trace": 2, "replay": 1, "channel": 3, "memory": 2, "contents": 3, "store": 4, "load": 4, "poll": 5, "combine": 3, "fence": 0,
    "deny": 3, "hold": 0, "release": 0, "reads": 3, "may": 3, "writes": 3, "entry": 8, "irq": 1, "give": 6, "take": 6, "core-reset": 1,
    "settle": 0, "zero": 2, "bar": 2, "slots": 3,
}  # fmt: skip
DO = {"open": 0, "refuse": 0, "reject": 5, "enable": 5, "post": 6, "inline": 3, "arm": 2, "cancel": 1, "reset": 1}


class TraceError(Exception):
    """A trace that cannot be read, or that contradicts the protocol: says file, line and what."""


@dataclass
class Line:
    number: int
    verb: str
    words: list[str]


@dataclass
class Trace:
    name: str
    replay: str  # both, card or host
    channels: dict[str, tuple[str, int]]  # name: direction, queue depth
    lines: list[Line]


def number(word: str) -> int:
    """A NUMBER word: decimal, or hexadecimal with 0x."""
    return int(word, 16) if word.startswith("0x") else int(word)


def data(word: str) -> bytes:
    """A DATA word: `-` for nothing, hexadecimal bytes, or `~SEED:LENGTH` for a pattern."""
    if word == "-":
        return b""
    if word.startswith("~"):
        seed, length = (number(part) for part in word[1:].split(":"))
        return bytes((seed + 37 * i + i // 256) & 0xFF for i in range(length))
    return bytes.fromhex(word)


def parse(text: str, source: str = "trace") -> Trace:
    lines: list[Line] = []
    for count, raw in enumerate(text.splitlines(), 1):
        words = raw.split("#", 1)[0].split()
        if not words:
            continue
        verb, rest = words[0], words[1:]
        expected = VERBS.get(verb)
        if verb == "do":
            if not rest or rest[0] not in DO:
                raise TraceError(f"{source}:{count}: `do` wants one of {', '.join(DO)}")
            expected = DO[rest[0]] + 1
        if expected is None:
            raise TraceError(f"{source}:{count}: no such verb: {verb}")
        if len(rest) != expected:
            raise TraceError(f"{source}:{count}: {verb} wants {expected} words, has {len(rest)}")
        lines.append(Line(count, verb, rest))
    if not lines or lines[0].verb != "trace" or lines[0].words[0] != str(FORMAT):
        raise TraceError(f"{source}:1: a trace starts with `trace {FORMAT} NAME`; another format needs another reader")
    if len(lines) < 2 or lines[1].verb != "replay" or lines[1].words[0] not in ("both", "card", "host"):
        raise TraceError(f"{source}: the second line is `replay both`, `replay card` or `replay host`")
    channels = {line.words[0]: (line.words[1], number(line.words[2])) for line in lines if line.verb == "channel"}
    return Trace(lines[0].words[1], lines[1].words[0], channels, [line for line in lines[2:] if line.verb != "channel"])


def load(path: Path) -> Trace:
    return parse(path.read_text(encoding="utf-8"), path.name)


@dataclass
class Layout:
    """The numbers of the contract that the checker needs, from the generated files: offsets in pages, names of values."""

    offsets: dict[str, int]  # "CHANNEL_RING_BASE": 8
    statuses: dict[str, int]
    kinds: dict[str, int]


@dataclass
class _Channel:
    direction: str
    depth: int
    regs: dict[int, int] = field(default_factory=dict)  # 32-bit words of the privileged page
    stage: dict[int, int] = field(default_factory=dict)
    position: int = 0  # of the next descriptor
    slots: dict[int, int] = field(default_factory=dict)  # dwords of the batch page, written since their slot was committed
    stale: dict[int, int] = field(default_factory=dict)  # those that were written before
    staged_whole: bool = True
    queue: deque = field(default_factory=deque)  # (cookie, kind, torn), not yet completed
    produced: int = 0
    armed: int | None = None
    error: bool = False
    dropped: int = 0
    torn: int = 0
    consumed: int = 0
    moved: int = 0  # bytes in completions
    user_side: int = 0  # bytes at the core's side
    memory_side: int = 0  # bytes read or written in host memory, lists' tables apart
    vector: int = 0

    def reset(self) -> None:
        self.regs.clear()
        self.stage.clear()
        self.slots.clear()
        self.stale.clear()
        self.position = 0
        self.produced = self.dropped = self.torn = self.consumed = 0
        self.armed, self.error = None, False


class _Checker:
    """Walks through a trace with a card's books: what is queued, where the ring stands, what may interrupt."""

    def __init__(self, trace: Trace, layout: Layout) -> None:
        self.trace = trace
        self.at = layout.offsets
        self.status = layout.statuses
        self.kind = layout.kinds
        self.channels = {name: _Channel(*what) for name, what in trace.channels.items()}
        self.due: dict[int, int] = {}  # vector: interrupts that must come
        self.line = Line(0, "", [])

    def fail(self, what: str) -> NoReturn:
        raise TraceError(f"{self.trace.name}:{self.line.number}: {what}")

    def channel(self, name: str) -> _Channel:
        if name not in self.channels:
            self.fail(f"no such channel: {name}")
        return self.channels[name]

    def run(self) -> None:
        for line in self.trace.lines:
            self.line = line
            handler = getattr(self, "on_" + self.line.verb.replace("-", "_"), None)
            if handler:
                handler(*self.line.words)
        for name, c in self.channels.items():
            if c.queue and self.trace.replay != "host":
                self.fail(f"{name}: {len(c.queue)} descriptors never completed")
            if c.moved != c.user_side:
                self.fail(f"{name}: completions tell of {c.moved} bytes, the core's side of {c.user_side}")
        self.on_settle()

    def on_settle(self) -> None:
        late = [str(v) for v, n in self.due.items() if n]
        if late:
            self.fail(f"interrupt due on vector {', '.join(late)}")

    def on_store(self, page: str, offset: str, width: str, value: str) -> None:
        name, _, part = page.rpartition(".")
        if part not in ("privileged", "doorbell"):
            return
        c, at, v = self.channel(name), number(offset), number(value)
        if width not in ("32", "64") or at % (int(width) // 8) or v >> int(width):
            self.fail(f"no such access: {width} bits at {at:#x} of {v:#x}")
        words = [(at + 4 * i, (v >> (32 * i)) & 0xFFFFFFFF) for i in range(int(width) // 32)]
        for word in words:
            (self.privileged if part == "privileged" else self.doorbell)(c, *word)

    def privileged(self, c: _Channel, at: int, value: int) -> None:
        if at == self.at["CHANNEL_RESET"]:
            c.queue = deque((cookie, "reset") for cookie, fate in c.queue if fate != "prefix")
            c.stage = {}
            return
        c.regs[at] = value
        c.vector = c.regs.get(self.at["CHANNEL_VECTOR"], 0)

    def doorbell(self, c: _Channel, at: int, value: int) -> None:
        if at == self.at["DOORBELL_ARM"]:
            c.armed = value
            if c.produced != value:
                self.fire(c)
            return
        if at == self.at["DOORBELL_CANCEL"]:
            c.queue = deque((cookie, "cancelled") for cookie, fate in c.queue if fate != "prefix")
            return
        if at == self.at["DOORBELL_BATCH"]:
            self.batch(c, value % 256)
            return
        word = (at - self.at["DOORBELL_DESCRIPTOR"]) // 4
        if not 0 <= word < 4:
            self.fail(f"nothing at {at:#x} of the doorbell page")
        if word == 0:
            c.stage = {}
            c.staged_whole = True
        elif word < 3:
            c.staged_whole = c.staged_whole and len(c.stage) == word
        if word < 3:
            c.staged_whole = c.staged_whole and word not in c.stage
            c.stage[word] = value
            return
        torn = not (c.staged_whole and len(c.stage) == 3)
        c.stage = {}
        if self.room(c, 1):
            self.commit(c, value & 0xFFFF, (value >> 16) & 0xF, torn)

    def batch(self, c: _Channel, count: int) -> None:
        if count == 0:
            return
        c.stage = {}
        if not self.room(c, count):
            return
        for _ in range(count):
            at = c.position % (4 * c.depth) * 4
            torn = not all(at + i in c.slots for i in range(4))
            last = c.slots.get(at + 3, c.stale.get(at + 3))
            if last is None:
                self.fail(f"slot {at // 4} was committed without a write")
            self.commit(c, last & 0xFFFF, (last >> 16) & 0xF, torn)

    def room(self, c: _Channel, count: int) -> bool:
        running = c.regs.get(self.at["CHANNEL_CONTROL"], 0) & 1
        if running and not c.error and len(c.queue) + count <= c.depth:
            return True
        c.dropped += 1
        if running and not c.error and c.armed is not None:
            self.fire(c)
        c.error = True
        return False

    def commit(self, c: _Channel, cookie: int, kind: int, torn: bool) -> None:
        for at in range(c.position % (4 * c.depth) * 4, c.position % (4 * c.depth) * 4 + 4):
            if at in c.slots:
                c.stale[at] = c.slots.pop(at)
        c.position += 1
        if torn:
            c.torn += 1
            c.queue.append((cookie, "torn"))
        elif kind in (self.kind["attributes"], self.kind["message_length"]):
            c.queue.append((None, "prefix"))
        else:
            c.queue.append((cookie, "run"))

    def on_slots(self, name: str, offset: str, content: str) -> None:
        c, at, image = self.channel(name), number(offset), data(content)
        if at % 4 or len(image) % 4 or at + len(image) > 4 * c.depth * 16:
            self.fail(f"no such slots: {len(image)} bytes at {at:#x}")
        for i in range(0, len(image), 4):
            c.slots[(at + i) // 4] = int.from_bytes(image[i : i + 4], "little")

    def fire(self, c: _Channel) -> None:
        c.armed = None
        self.due[c.vector] = self.due.get(c.vector, 0) + 1

    def on_entry(self, name: str, address: str, count: str, _offset: str, _user: str, cookie: str, status: str, flags: str) -> None:
        c = self.channel(name)
        base = c.regs.get(self.at["CHANNEL_RING_BASE"], 0) | c.regs.get(self.at["CHANNEL_RING_BASE"] + 4, 0) << 32
        log2 = c.regs.get(self.at["CHANNEL_RING_LOG2"], 0)
        want = base + 16 * (c.produced % (1 << log2))
        if number(address) != want:
            self.fail(f"entry {c.produced} of {name} belongs at {want:#x}")
        phase = 1 - (c.produced >> log2 & 1)
        if number(flags) & 1 != phase:
            self.fail(f"entry {c.produced} of {name} wants phase {phase}")
        if status not in self.status:
            self.fail(f"no such status: {status}")
        if number(flags) & 2:
            if status != "none":
                self.fail("a message start completes nothing")
        else:
            self.complete(name, c, number(count), number(cookie), status)
        c.produced = (c.produced + 1) & 0xFFFFFFFF
        if c.armed is not None:
            self.fire(c)

    def complete(self, name: str, c: _Channel, count: int, cookie: int, status: str) -> None:
        while c.queue and c.queue[0][1] == "prefix":  # ends with the descriptor it belongs to
            c.queue.popleft()
            c.consumed += 1
        if not c.queue:
            self.fail(f"nothing is queued on {name}")
        posted, fate = c.queue.popleft()
        c.consumed += 1
        if cookie != posted:
            self.fail(f"{name}: descriptor {posted:#x} ends next, not {cookie:#x}")
        allowed = {"torn": {"torn"}, "cancelled": {"cancelled", "done", "end_of_message"}, "reset": {"reset", "done", "end_of_message"}}
        if status == "none" or (fate in allowed and status not in allowed[fate]):
            self.fail(f"{name}: {cookie:#x} cannot end with {status}")
        if fate not in allowed and status in ("torn", "cancelled", "reset"):
            self.fail(f"{name}: nobody asked for {status}")
        if c.direction == "h2c" and status == "end_of_message":
            self.fail("end_of_message is of C2H")
        c.moved += count
        if status not in ("reset", "cancelled") and c.memory_side != c.moved and c.direction == "c2h":
            self.fail(f"{name}: {c.moved} bytes completed, {c.memory_side} written")

    def on_irq(self, vector: str) -> None:
        if not self.due.get(number(vector), 0):
            self.fail(f"vector {vector} was not armed, or has fired")
        self.due[number(vector)] -= 1

    def on_load(self, page: str, offset: str, _width: str, value: str) -> None:
        name, _, part = page.rpartition(".")
        if part != "privileged" or value == "-":
            return
        c, at = self.channel(name), number(offset)
        books = {"CHANNEL_OVERFLOWS": c.dropped, "CHANNEL_TORN": c.torn, "CHANNEL_PRODUCED": c.produced, "CHANNEL_CONSUMED": c.consumed}
        for register, want in books.items():
            if at == self.at[register] and number(value) != want:
                self.fail(f"{register} is {want} by now")

    def on_core_reset(self, name: str) -> None:
        c = self.channel(name)
        if c.queue:
            self.fail(f"{name}: reset with {len(c.queue)} descriptors queued")
        c.reset()

    def on_writes(self, name: str, _address: str, content: str) -> None:
        self.channel(name).memory_side += len(data(content))

    def on_give(self, name: str, content: str, *_: str) -> None:
        if self.channel(name).direction != "c2h":
            self.fail(f"{name}: a core gives to C2H channels only")
        self.channel(name).user_side += len(data(content))

    def on_take(self, name: str, content: str, *_: str) -> None:
        if self.channel(name).direction != "h2c":
            self.fail(f"{name}: a core takes from H2C channels only")
        self.channel(name).user_side += len(data(content))


def check(trace: Trace, layout: Layout) -> None:
    """Raise TraceError at the first line that contradicts the protocol: ring order, phases, one completion for each descriptor in the
    order of posting, torn and surplus descriptors, interrupts only when armed, and every byte told of in as many completions."""
    _Checker(trace, layout).run()
