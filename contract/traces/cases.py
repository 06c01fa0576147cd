# SPDX-License-Identifier: Apache-2.0
"""The golden traces as they are thought up: a case is a function, and generate.py writes its trace.

A case says what happens in the protocol's words; the builder turns that into stores at the contract's offsets and keeps the ring's
books, so that no number of the contract is typed twice. What the card answers is the author's reading of protocol.md, never a
model's: golden.py then checks each trace against books of its own.
"""

import struct
from collections.abc import Callable

import golden

RING = {"tx": 0x1_0000_0000, "rx": 0x1_0000_1000}
VECTOR = {"tx": 0, "rx": 1}
RING_LOG2 = 6  # the smallest that holds 2 * DEPTH + 2 entries
DEPTH = 16  # tp_core's QUEUE_DEPTH, by default
SLOTS = 4  # tp_core's INLINE_SLOTS, by default
BATCH_SLOTS = 4 * DEPTH  # tp_core's
DATA = 0x2_3456_7000  # host memory for data; above 4 GiB, as a host's mostly is
TABLE = 0x3_0000_0000  # host memory for lists


class Names:
    """Looks numbers of the contract up by name."""

    def __init__(self, contract) -> None:
        self.registers = {f"{block.name}_{entry.name.upper()}": entry for block in contract.blocks for entry in block.entries}
        self.enums = {e.name: {v.name: v.number for v in e.values} for e in contract.enums}
        self.constants = {c.name: c.number for c in contract.constants}

    def offset(self, name: str) -> int:
        return self.registers[name].offset

    def mask(self, register: str, field: str) -> int:
        return next(f.mask for f in self.registers[register].fields if f.name == field)


class Builder:
    def __init__(self, names: Names, name: str, about: str, replay: str, channels: list[str]) -> None:
        self.names = names
        self.channels = channels
        self.index = dict.fromkeys(channels, 0)  # entries written since enable
        self.position = dict.fromkeys(channels, 0)  # descriptors committed since reset
        self.cookie = 0x10
        self.lines = [f"trace 1 {name}", f"replay {replay}"]
        self.lines[:0] = [f"# {line}" for line in about.splitlines()]
        self.lines += [f"channel {c} {'h2c' if c == 'tx' else 'c2h'} {DEPTH}" for c in channels]

    def say(self, *words) -> None:
        self.lines.append(" ".join(f"{w:#x}" if isinstance(w, int) else str(w) for w in words))

    def about(self, text: str) -> None:
        self.lines += ["", f"# {text}"]

    # ---- host ----

    def store(self, page: str, register: str, value: int, at: int = 0, width: int | None = None) -> None:
        entry = self.names.registers[register]
        self.say("store", page, entry.offset + at, str(width or entry.bits), value, f" # {register.lower()}")

    def load(self, page: str, register: str, value: int) -> None:
        entry = self.names.registers[register]
        self.say("load", page, entry.offset, str(entry.bits), value, f" # {register.lower()}")

    def enable(self, c: str, announce: bool = False) -> None:
        page = f"{c}.privileged"
        self.say("zero", RING[c], 16 << RING_LOG2)
        self.say("do", "enable", c, RING[c], RING_LOG2, VECTOR[c], "announce" if announce else "plain")
        self.store(page, "CHANNEL_RING_BASE", RING[c])
        self.store(page, "CHANNEL_RING_LOG2", RING_LOG2)
        self.store(page, "CHANNEL_VECTOR", VECTOR[c])
        control = self.names.mask("CHANNEL_CONTROL", "enable")
        if announce:
            control |= self.names.mask("CHANNEL_CONTROL", "announce")
        self.store(page, "CHANNEL_CONTROL", control)
        self.index[c] = 0

    def descriptor(self, kind: str | int, address: int, length: int, cookie: int, end: bool) -> bytes:
        number = kind if isinstance(kind, int) else self.names.enums["kind"][kind]
        control = number | (self.names.mask("DESCRIPTOR_CONTROL", "end") if end else 0)
        return struct.pack("<QIHH", address, length, cookie, control)

    def next_cookie(self) -> int:
        self.cookie += 1
        return self.cookie

    def post(self, c: str, kind: str, address: int, length: int, end: bool = False, raw_kind: int | None = None) -> int:
        cookie = self.next_cookie()
        if raw_kind is None:
            self.say("do", "post", c, kind, address, length, cookie, "end" if end else "plain")
        image = self.descriptor(kind if raw_kind is None else raw_kind, address, length, cookie, end)
        low, high = struct.unpack("<QQ", image)
        self.store(f"{c}.doorbell", "DOORBELL_DESCRIPTOR", low, 0, 64)
        self.store(f"{c}.doorbell", "DOORBELL_DESCRIPTOR", high, 8, 64)
        self.position[c] += 1
        return cookie

    def post_words(self, c: str, order: list[int], address: int, length: int, end: bool = False) -> int:
        """A descriptor by 32-bit stores in a given order."""
        cookie = self.next_cookie()
        words = struct.unpack("<4I", self.descriptor("direct", address, length, cookie, end))
        for word in order:
            self.store(f"{c}.doorbell", "DOORBELL_DESCRIPTOR", words[word], 4 * word, 32)
        self.position[c] += 1
        return cookie

    def slots(self, c: str, images: list[bytes], at: int = 0) -> None:
        """Whole dwords into the slots from the next one on, `at` bytes behind its start."""
        page = 16 * BATCH_SLOTS
        start = (16 * self.position[c] + at) % page
        content = b"".join(images)
        for piece, part in ((start, content[: page - start]), (0, content[page - start :])):
            if part:
                self.say("slots", c, piece, part.hex())

    def commit(self, c: str, count: int) -> None:
        self.say("fence")
        self.store(f"{c}.doorbell", "DOORBELL_BATCH", count)
        self.position[c] += count

    def inline(self, c: str, slot: int, content: bytes) -> None:
        size = self.names.constants["INLINE_SLOT_BYTES"]
        self.say("do", "inline", c, slot, content.hex())
        self.say("combine", c, slot * size, content.hex())
        self.say("fence")

    def arm(self, c: str, index: int) -> None:
        self.say("do", "arm", c, index)
        self.store(f"{c}.doorbell", "DOORBELL_ARM", index)

    def cancel(self, c: str) -> None:
        self.say("do", "cancel", c)
        self.store(f"{c}.doorbell", "DOORBELL_CANCEL", 1)

    def reset(self, c: str) -> None:
        self.say("do", "reset", c)
        self.store(f"{c}.privileged", "CHANNEL_RESET", self.names.mask("CHANNEL_RESET", "reset"))
        self.position[c] = 0

    def reset_done(self, c: str) -> None:
        register = self.names.registers["CHANNEL_RESET"]
        mask = self.names.mask("CHANNEL_RESET", "reset")
        self.say("poll", f"{c}.privileged", register.offset, str(register.bits), mask, 0)
        self.say("core-reset", c)

    def list_entry(self, address: int, length: int, last: bool = False, chain: bool = False) -> bytes:
        control = self.names.mask("LIST_ENTRY_CONTROL", "last") * last | self.names.mask("LIST_ENTRY_CONTROL", "chain") * chain
        return struct.pack("<QII", address, length, control)

    # ---- card ----

    def entry(self, c: str, count: int, cookie: int, status: str, offset="-", user="-", start: bool = False) -> None:
        n = self.index[c]
        self.index[c] += 1
        flags = self.names.mask("COMPLETION_FLAGS", "phase") * (1 - (n >> RING_LOG2 & 1))
        flags |= self.names.mask("COMPLETION_FLAGS", "start") * start
        self.say("entry", c, RING[c] + 16 * (n % (1 << RING_LOG2)), count, offset, user, cookie, status, flags)

    def done(self, count: int, cookie: int) -> None:
        """An H2C descriptor that ran: offset and user word are nobody's."""
        self.entry("tx", count, cookie, "done", 0, 0)

    # ---- in one line ----

    def send(self, address: int, pattern: str, length: int, end: bool = True) -> int:
        if length:
            self.say("memory", address, pattern)
        cookie = self.post("tx", "direct", address, length, end)
        if length:
            self.say("reads", "tx", address, length)
        return cookie

    def text(self) -> str:
        return "# SPDX-License-Identifier: Apache-2.0\n" + "\n".join(self.lines) + "\n"


CASES: dict[str, tuple[str, list[str], Callable[[Builder], None]]] = {}


def case(replay: str, *channels: str):
    def keep(function):
        CASES[function.__name__] = (replay, list(channels), function)
        return function

    return keep


@case("both", "tx", "rx")
def direct(t: Builder) -> None:
    """Contiguous pieces both ways: aligned, at odd addresses, over page edges, and a message of two pieces."""
    t.enable("tx")
    t.enable("rx")
    t.about("one piece, one message")
    cookie = t.send(DATA, "~1:64", 64)
    t.say("take", "tx", "~1:64", "end", 0, 0, 0)
    t.done(64, cookie)
    t.about("odd address, odd length, over a 4 KiB edge")
    cookie = t.send(DATA + 0xFFD, "~2:133", 133)
    t.say("take", "tx", "~2:133", "end", 0, 0, 0)
    t.done(133, cookie)
    t.about("longer than any request, over two 4 KiB edges")
    cookie = t.send(DATA + 0x1FF1, "~3:5000", 5000)
    t.say("take", "tx", "~3:5000", "end", 0, 0, 0)
    t.done(5000, cookie)
    t.about("two pieces, one message: the first ends within a beat")
    first = t.send(DATA + 3, "00112233445566", 7, end=False)
    second = t.send(DATA + 0x105, "778899aa", 4)
    t.say("take", "tx", "00112233445566778899aa", "end", 0, 0, 0)
    t.done(7, first)
    t.done(4, second)
    t.about("C2H: the message is shorter than the buffer")
    cookie = t.post("rx", "direct", DATA + 0x4001, 256)
    t.say("give", "rx", "~4:100", "end", 0, 0, 0)
    t.say("writes", "rx", DATA + 0x4001, "~4:100")
    t.entry("rx", 100, cookie, "end_of_message", 0, 0)
    t.about("C2H: it fits to the byte, over 4 KiB edges")
    cookie = t.post("rx", "direct", DATA + 0x4FFE, 5000)
    t.say("give", "rx", "~5:5000", "end", 0, 0, 0)
    t.say("writes", "rx", DATA + 0x4FFE, "~5:5000")
    t.entry("rx", 5000, cookie, "end_of_message", 0, 0)
    t.about("C2H: the message goes on in a second buffer")
    first = t.post("rx", "direct", DATA + 0x8000, 3)
    second = t.post("rx", "direct", DATA + 0x8103, 64)
    t.say("give", "rx", "a0a1a2a3a4a5a6a7a8a9", "end", 0, 0, 0)
    t.say("writes", "rx", DATA + 0x8000, "a0a1a2")
    t.entry("rx", 3, first, "done", 0, 0)
    t.say("writes", "rx", DATA + 0x8103, "a3a4a5a6a7a8a9")
    t.entry("rx", 7, second, "end_of_message", 0, 0)
    t.say("settle")
    t.load("tx.privileged", "CHANNEL_PRODUCED", 5)
    t.load("tx.privileged", "CHANNEL_CONSUMED", 5)
    t.load("rx.privileged", "CHANNEL_PRODUCED", 4)


@case("card", "tx")
def words(t: Builder) -> None:
    """A descriptor by four 32-bit stores, and what a stage forgives: opened anew, it forgets what it held."""
    t.enable("tx")
    t.say("memory", DATA, "~6:128")
    t.about("four ascending stores")
    cookie = t.post_words("tx", [0, 1, 2, 3], DATA, 64, end=True)
    t.say("reads", "tx", DATA, 64)
    t.say("take", "tx", "~6:64", "end", 0, 0, 0)
    t.done(64, cookie)
    t.about("given up half way, then written whole")
    cookie = t.post_words("tx", [0, 1, 0, 1, 2, 3], DATA, 64, end=True)
    t.say("reads", "tx", DATA, 64)
    t.say("take", "tx", "~6:64", "end", 0, 0, 0)
    t.done(64, cookie)
    t.say("settle")


@case("card", "tx")
def torn(t: Builder) -> None:
    """Descriptors that do not arrive whole and in order move nothing and end as torn; the next one runs."""
    t.enable("tx")
    t.say("memory", DATA, "~7:64")
    for about, order in (
        ("one word is missing", [0, 1, 3]),
        ("the first word is missing", [1, 2, 3]),
        ("two words changed places", [0, 2, 1, 3]),
        ("a word before the first one opens no stage", [1, 0, 2, 3]),
        ("the last word alone", [3]),
    ):
        t.about(about)
        cookie = t.post_words("tx", order, DATA, 64, end=True)
        t.entry("tx", 0, cookie, "torn", 0, 0)
    t.about("a whole one")
    cookie = t.post_words("tx", [0, 1, 2, 3], DATA, 64, end=True)
    t.say("reads", "tx", DATA, 64)
    t.say("take", "tx", "~7:64", "end", 0, 0, 0)
    t.done(64, cookie)
    t.say("settle")
    t.load("tx.privileged", "CHANNEL_TORN", 5)
    t.load("tx.privileged", "CHANNEL_OVERFLOWS", 0)
    t.load("tx.privileged", "CHANNEL_STATUS", t.names.mask("CHANNEL_STATUS", "running"))


@case("both", "tx", "rx")
def chained(t: Builder) -> None:
    """Lists both ways: pieces at any byte, an empty piece, two tables chained, and a list that is cut at the length posted."""
    t.enable("tx")
    t.enable("rx")
    t.about("H2C: two tables; the second stands at 16 bytes into 64")
    t.say("memory", DATA + 0x001, "~8:100")
    t.say("memory", DATA + 0xFFF, "~9:33")
    t.say("memory", DATA + 0x2000, "~10:64")
    first = [t.list_entry(DATA + 1, 100), t.list_entry(0, 0), t.list_entry(DATA + 0xFFF, 33), t.list_entry(TABLE + 0x1010, 0, chain=True)]
    t.say("memory", TABLE, b"".join(first).hex())
    t.say("memory", TABLE + 0x1010, t.list_entry(DATA + 0x2000, 64, last=True).hex())
    cookie = t.post("tx", "list", TABLE, 197, end=True)
    t.say("reads", "tx", TABLE, 64)
    t.say("reads", "tx", TABLE + 0x1010, 16)
    t.say("may", "tx", TABLE + 0x1000, 64)
    t.say("reads", "tx", DATA + 0x001, 100)
    t.say("reads", "tx", DATA + 0xFFF, 33)
    t.say("reads", "tx", DATA + 0x2000, 64)
    t.say("take", "tx", pattern(8, 100) + pattern(9, 33) + pattern(10, 64), "end", 0, 0, 0)
    t.done(197, cookie)
    t.about("H2C: longer than what was posted; cut")
    t.say("memory", TABLE + 0x2000, (t.list_entry(DATA + 1, 100) + t.list_entry(DATA + 0x2000, 64, last=True)).hex())
    cookie = t.post("tx", "list", TABLE + 0x2000, 110, end=True)
    t.say("reads", "tx", TABLE + 0x2000, 32)
    t.say("may", "tx", TABLE + 0x2000, 64)
    t.say("reads", "tx", DATA + 1, 100)
    t.say("reads", "tx", DATA + 0x2000, 10)
    t.say("take", "tx", pattern(8, 100) + pattern(10, 10), "end", 0, 0, 0)
    t.done(110, cookie)
    t.about("C2H: the message ends in the second piece")
    t.say("memory", TABLE + 0x3000, (t.list_entry(DATA + 0x5003, 13) + t.list_entry(DATA + 0x6000, 4096, last=True)).hex())
    cookie = t.post("rx", "list", TABLE + 0x3000, 13 + 4096)
    t.say("give", "rx", "~11:77", "end", 0, 0, 0)
    t.say("reads", "rx", TABLE + 0x3000, 32)
    t.say("may", "rx", TABLE + 0x3000, 64)
    whole = pattern(11, 77)
    t.say("writes", "rx", DATA + 0x5003, whole[:26])
    t.say("writes", "rx", DATA + 0x6000, whole[26:])
    t.entry("rx", 77, cookie, "end_of_message", 0, 0)
    t.say("settle")


@case("both", "tx")
def inline(t: Builder) -> None:
    """Messages that travel in the inline page: no read of host memory at all."""
    t.enable("tx")
    t.about("13 bytes in slot 0")
    t.inline("tx", 0, bytes(range(13)))
    cookie = t.post("tx", "inline", 0, 13, end=True)
    t.say("take", "tx", bytes(range(13)).hex(), "end", 0, 0, 0)
    t.done(13, cookie)
    t.about("a full slot, the last one")
    t.inline("tx", SLOTS - 1, bytes(range(64, 128)))
    cookie = t.post("tx", "inline", (SLOTS - 1) * 64, 64, end=True)
    t.say("take", "tx", bytes(range(64, 128)).hex(), "end", 0, 0, 0)
    t.done(64, cookie)
    t.about("a head inline, its body from memory: one message")
    t.inline("tx", 1, b"head")
    first = t.post("tx", "inline", 64, 4)
    second = t.send(DATA + 2, "~12:50", 50)
    t.say("take", "tx", b"head".hex() + pattern(12, 50), "end", 0, 0, 0)
    t.done(4, first)
    t.done(50, second)
    t.say("settle")


@case("card", "tx", "rx")
def malformed(t: Builder) -> None:
    """Descriptors that mean nothing move nothing, and harm nothing."""
    t.enable("tx")
    t.enable("rx")
    t.about("an unknown kind")
    cookie = t.post("tx", "", DATA, 64, raw_kind=15)
    t.entry("tx", 0, cookie, "malformed", 0, 0)
    t.about("an inline slot that is not there")
    cookie = t.post("tx", "", SLOTS * 64, 8, raw_kind=t.names.enums["kind"]["inline"])
    t.entry("tx", 0, cookie, "malformed", 0, 0)
    t.about("an inline message longer than a slot")
    cookie = t.post("tx", "", 0, 65, raw_kind=t.names.enums["kind"]["inline"])
    t.entry("tx", 0, cookie, "malformed", 0, 0)
    t.about("inline on C2H")
    cookie = t.post("rx", "", 0, 8, raw_kind=t.names.enums["kind"]["inline"])
    t.entry("rx", 0, cookie, "malformed")
    t.about("both channels run on")
    cookie = t.send(DATA, "~13:20", 20)
    t.say("take", "tx", "~13:20", "end", 0, 0, 0)
    t.done(20, cookie)
    cookie = t.post("rx", "direct", DATA + 0x1000, 64)
    t.say("give", "rx", "~14:20", "end", 0, 0, 0)
    t.say("writes", "rx", DATA + 0x1000, "~14:20")
    t.entry("rx", 20, cookie, "end_of_message", 0, 0)
    t.say("settle")


@case("both", "tx", "rx")
def attributes(t: Builder) -> None:
    """Length, offset and user word of messages, both ways; prefixes take places in the queue but have no completions of their own."""
    t.enable("tx")
    t.enable("rx")
    t.about("H2C: offset and user word, then the message's length")
    t.post("tx", "attributes", 0x1122334455667788, 0xCAFE0001)
    t.post("tx", "message_length", 40, 0)
    cookie = t.send(DATA, "~15:40", 40)
    t.say("take", "tx", "~15:40", "end", 40, 0x1122334455667788, 0xCAFE0001)
    t.done(40, cookie)
    t.about("H2C: they are of the message that the descriptor begins; in the middle of it they are ignored")
    t.post("tx", "attributes", 0x1000, 7)
    first = t.send(DATA + 64, "~16:32", 32, end=False)
    t.post("tx", "attributes", 0x2000, 8)
    second = t.send(DATA + 128, "~17:32", 32)
    t.say("take", "tx", pattern(16, 32) + pattern(17, 32), "end", 0, 0x1000, 7)
    t.done(32, first)
    t.done(32, second)
    t.about("H2C: the next message has none")
    cookie = t.send(DATA, "~15:40", 40)
    t.say("take", "tx", "~15:40", "end", 0, 0, 0)
    t.done(40, cookie)
    t.about("C2H: offset and user word stand in every completion of the message")
    first = t.post("rx", "direct", DATA + 0x3000, 64)
    second = t.post("rx", "direct", DATA + 0x3100, 64)
    t.say("give", "rx", "~18:96", "end", 96, 0x5000, 0xBEEF)
    t.say("writes", "rx", DATA + 0x3000, pattern(18, 96)[:128])
    t.entry("rx", 64, first, "done", 0x5000, 0xBEEF)
    t.say("writes", "rx", DATA + 0x3100, pattern(18, 96)[128:])
    t.entry("rx", 32, second, "end_of_message", 0x5000, 0xBEEF)
    t.say("settle")


@case("card", "tx", "rx")
def batch(t: Builder) -> None:
    """Descriptors from slots of the batch page: lines of them among single ones, with prefixes and over the page's end; torn where a dword
    was not written since the slot was committed last; dropped whole where not all fit; from slot 0 on after a reset."""
    t.enable("tx")
    t.enable("rx")
    t.say("memory", DATA, "~91:4096")

    def image(c: str, k: int, length: int, end: bool = True) -> tuple[bytes, int]:
        cookie = t.next_cookie()
        return t.descriptor("direct", DATA + 64 * k + (0x2000 if c == "rx" else 0), length, cookie, end and c == "tx"), cookie

    def sent(k: int, length: int, cookie: int) -> None:
        t.say("reads", "tx", DATA + 64 * k, length)
        t.say("take", "tx", pattern(91, 4096)[128 * k : 128 * k + 2 * length], "end", 0, 0, 0)
        t.done(length, cookie)

    def send(count: int, lengths: tuple[int, ...] = (64, 4, 33, 64)) -> None:
        """Lines of four, then one commit."""
        made = [(*image("tx", k, lengths[k % len(lengths)]), k, lengths[k % len(lengths)]) for k in range(count)]
        t.slots("tx", [m[0] for m in made])
        t.commit("tx", count)
        for _, cookie, k, length in made:
            sent(k, length, cookie)

    t.about("one line of four")
    send(4)
    t.about("none is nothing; then one by the doorbell, which takes a slot, and three that begin in the middle of a line")
    t.commit("tx", 0)
    cookie = t.post("tx", "direct", DATA, 64, end=True)
    sent(0, 64, cookie)
    send(3)
    t.about("a message of two descriptors, with its attributes, in one commit")
    (first, one), (second, two) = image("tx", 0, 64, end=False), image("tx", 1, 8)
    t.slots("tx", [t.descriptor("attributes", 0xABCD_EF01, 0x77, 0, False), first, second])
    t.commit("tx", 3)
    t.say("reads", "tx", DATA, 64)
    t.say("reads", "tx", DATA + 64, 8)
    t.say("take", "tx", pattern(91, 72), "end", 0, 0xABCD_EF01, 0x77)
    t.done(64, one)
    t.done(8, two)
    t.about("over the end of the page, twice as far as it is long")
    for _ in range(15):
        send(9)
    t.about("a dword that was not written since makes its descriptor torn, and no other; the number is taken modulo 256")
    made = [(*image("tx", k, 64), k) for k in range(4)]
    t.slots("tx", [made[0][0], made[1][0][:8]])
    t.slots("tx", [made[1][0][12:], made[2][0], made[3][0]], at=28)
    t.commit("tx", 4 + 0x300)
    t.position["tx"] -= 0x300
    for _, cookie, k in made:
        if k == 1:
            t.entry("tx", 0, cookie, "torn", 0, 0)
        else:
            sent(k, 64, cookie)
    t.about("C2H: four buffers by one commit, for messages that come later")
    made = [image("rx", k, 64) for k in range(4)]
    t.slots("rx", [m for m, _ in made])
    t.commit("rx", 4)
    for k, (_, cookie) in enumerate(made):
        t.say("give", "rx", f"~{95 + k}:{64 - k}", "end", 0, 0, 0)
        t.say("writes", "rx", DATA + 0x2000 + 64 * k, f"~{95 + k}:{64 - k}")
        t.entry("rx", 64 - k, cookie, "end_of_message", 0, 0)
    t.say("settle")
    t.load("tx.privileged", "CHANNEL_TORN", 1)
    t.load("tx.privileged", "CHANNEL_OVERFLOWS", 0)
    t.about("not all of them fit: none is taken")
    t.slots("tx", [t.descriptor("direct", DATA, 64, 0, True)] * (DEPTH + 1))
    t.commit("tx", DEPTH + 1)
    t.load("tx.privileged", "CHANNEL_OVERFLOWS", 1)
    t.load("tx.privileged", "CHANNEL_STATUS", t.names.mask("CHANNEL_STATUS", "error"))
    t.about("after a reset the next one is the page's first")
    t.reset("tx")
    t.reset_done("tx")
    t.enable("tx")
    send(4)
    t.say("settle")


@case("both", "tx", "rx")
def empty(t: Builder) -> None:
    """An empty message is a message; no bytes without an end are nothing."""
    t.enable("tx")
    t.enable("rx")
    t.about("H2C: an empty message")
    cookie = t.send(0, "-", 0)
    t.say("take", "tx", "-", "end", 0, 0, 0)
    t.done(0, cookie)
    t.about("H2C: nothing at all")
    cookie = t.send(0, "-", 0, end=False)
    t.done(0, cookie)
    t.about("H2C: a message that ends late")
    first = t.send(DATA, "~19:64", 64, end=False)
    t.done(64, first)
    second = t.send(0, "-", 0)
    t.say("take", "tx", "~19:64", "end", 0, 0, 0)
    t.done(0, second)
    t.about("C2H: an empty message takes a buffer")
    cookie = t.post("rx", "direct", DATA + 0x1000, 64)
    t.say("give", "rx", "-", "end", 0, 0, 0)
    t.entry("rx", 0, cookie, "end_of_message", 0, 0)
    t.about("C2H: the buffer is full, the message ends by a beat without bytes")
    first = t.post("rx", "direct", DATA + 0x1000, 64)
    t.say("give", "rx", "~20:64", "open", 0, 0, 0)
    t.say("writes", "rx", DATA + 0x1000, "~20:64")
    t.entry("rx", 64, first, "done", 0, 0)
    t.say("give", "rx", "-", "end", 0, 0, 0)
    second = t.post("rx", "direct", DATA + 0x2000, 64)
    t.entry("rx", 0, second, "end_of_message", 0, 0)
    t.say("settle")


@case("card", "rx")
def overflow(t: Builder) -> None:
    """One descriptor too many is dropped and counted, the armed interrupt fires, and the channel refuses work until its reset."""
    t.enable("rx")
    t.arm("rx", 0)
    cookies = [t.post("rx", "direct", DATA + 0x1000 * n, 64) for n in range(DEPTH)]
    t.load("rx.privileged", "CHANNEL_OVERFLOWS", 0)
    t.about("one too many")
    t.post("rx", "direct", DATA, 64)
    t.say("irq", VECTOR["rx"])
    t.load("rx.privileged", "CHANNEL_OVERFLOWS", 1)
    t.load("rx.privileged", "CHANNEL_STATUS", t.names.mask("CHANNEL_STATUS", "error"))  # no longer running: it takes no descriptors
    t.about("what was queued still runs")
    t.say("give", "rx", "~21:10", "end", 0, 0, 0)
    t.say("writes", "rx", DATA, "~21:10")
    t.entry("rx", 10, cookies[0], "end_of_message", 0, 0)
    t.about("there is room, but the channel is in error")
    t.post("rx", "direct", DATA, 64)
    t.load("rx.privileged", "CHANNEL_OVERFLOWS", 2)
    t.about("reset: what is queued ends, and the channel is as new")
    t.reset("rx")
    for cookie in cookies[1:]:
        t.entry("rx", 0, cookie, "reset")
    t.reset_done("rx")
    t.load("rx.privileged", "CHANNEL_OVERFLOWS", 0)
    t.load("rx.privileged", "CHANNEL_STATUS", 0)
    t.say("settle")


@case("both", "tx", "rx")
def cancel(t: Builder) -> None:
    """Cancel ends what was posted before it, touches nothing afterwards, and keeps what the user core holds."""
    t.enable("tx")
    t.enable("rx")
    t.about("with nothing queued: nothing")
    t.cancel("rx")
    t.say("settle")
    t.about("C2H: buffers for which the core had nothing")
    first = t.post("rx", "direct", DATA, 64)
    second = t.post("rx", "direct", DATA + 0x1000, 64)
    t.cancel("rx")
    t.entry("rx", 0, first, "cancelled")
    t.entry("rx", 0, second, "cancelled")
    t.about("C2H: the next buffer runs as usual")
    cookie = t.post("rx", "direct", DATA + 0x2000, 64)
    t.say("give", "rx", "~22:30", "end", 0, 0, 0)
    t.say("writes", "rx", DATA + 0x2000, "~22:30")
    t.entry("rx", 30, cookie, "end_of_message", 0, 0)
    t.about("H2C: all was asked for already: done, and the message stays open")
    t.say("hold")
    first = t.send(DATA + 0x3000, "~23:32", 32, end=False)
    t.cancel("tx")
    t.say("release")
    t.done(32, first)
    second = t.send(DATA + 0x4000, "~24:16", 16)
    t.say("take", "tx", pattern(23, 32) + pattern(24, 16), "end", 0, 0, 0)
    t.done(16, second)
    t.say("settle")


@case("both", "rx")
def start(t: Builder) -> None:
    """Message starts: told before any buffer is there, with what the core knows of the message."""
    t.enable("rx", announce=True)
    t.about("with a length above 32 bits")
    t.arm("rx", 0)
    t.say("give", "rx", "~25:100", "end", 0xABCD_0000_0064, 0x30, 0x1234)
    t.entry("rx", 0x64, 0xABCD, "none", 0x30, 0x1234, start=True)
    t.say("irq", VECTOR["rx"])
    t.say("settle")
    t.about("then the buffer")
    cookie = t.post("rx", "direct", DATA, 128)
    t.say("writes", "rx", DATA, "~25:100")
    t.entry("rx", 100, cookie, "end_of_message", 0x30, 0x1234)
    t.about("an empty message of unknown length, into a buffer that waits")
    cookie = t.post("rx", "direct", DATA, 128)
    t.say("give", "rx", "-", "end", 0, 0, 0)
    t.entry("rx", 0, 0, "none", 0, 0, start=True)
    t.entry("rx", 0, cookie, "end_of_message", 0, 0)
    t.say("settle")
    t.load("rx.privileged", "CHANNEL_PRODUCED", 4)


@case("both", "tx", "rx")
def reset(t: Builder) -> None:
    """A channel resets alone: its descriptors end, its counts are 0, it starts anew; the other one does not notice."""
    t.enable("tx")
    t.enable("rx")
    first = t.post("rx", "direct", DATA, 64)
    second = t.post("rx", "direct", DATA + 0x1000, 64)
    t.reset("rx")
    t.entry("rx", 0, first, "reset")
    t.entry("rx", 0, second, "reset")
    t.reset_done("rx")
    for register in ("CHANNEL_CONTROL", "CHANNEL_STATUS", "CHANNEL_PRODUCED", "CHANNEL_CONSUMED"):
        t.load("rx.privileged", register, 0)
    t.about("the other channel runs")
    cookie = t.send(DATA + 0x2000, "~26:48", 48)
    t.say("take", "tx", "~26:48", "end", 0, 0, 0)
    t.done(48, cookie)
    t.about("enabled again: the ring starts at its first entry, in the first lap")
    t.enable("rx")
    cookie = t.post("rx", "direct", DATA + 0x3000, 64)
    t.say("give", "rx", "~27:9", "end", 0, 0, 0)
    t.say("writes", "rx", DATA + 0x3000, "~27:9")
    t.entry("rx", 9, cookie, "end_of_message", 0, 0)
    t.load("rx.privileged", "CHANNEL_PRODUCED", 1)
    t.say("settle")


@case("both", "tx")
def arm(t: Builder) -> None:
    """The interrupt comes once for each arm, and at once when there is something to reap already: no wake-up is lost."""
    t.enable("tx")
    t.about("not armed: no interrupt")
    cookie = t.send(0, "-", 0)
    t.say("take", "tx", "-", "end", 0, 0, 0)
    t.done(0, cookie)
    t.say("settle")
    t.about("armed too late: fires at once")
    t.arm("tx", 0)
    t.say("irq", VECTOR["tx"])
    t.about("it has fired: the next entry is silent")
    cookie = t.send(0, "-", 0)
    t.say("take", "tx", "-", "end", 0, 0, 0)
    t.done(0, cookie)
    t.say("settle")
    t.about("armed with all reaped: fires with the next entry")
    t.arm("tx", 2)
    t.say("settle")
    cookie = t.send(DATA, "~28:20", 20)
    t.say("take", "tx", "~28:20", "end", 0, 0, 0)
    t.done(20, cookie)
    t.say("irq", VECTOR["tx"])
    t.about("armed before: one interrupt for two entries, the second of which is reaped with the first")
    t.arm("tx", 3)
    first = t.send(0, "-", 0)
    t.say("take", "tx", "-", "end", 0, 0, 0)
    t.done(0, first)
    t.say("irq", VECTOR["tx"])
    second = t.send(0, "-", 0)
    t.say("take", "tx", "-", "end", 0, 0, 0)
    t.done(0, second)
    t.say("settle")


@case("both", "tx")
def wrap(t: Builder) -> None:
    """More completions than the ring has entries: the phase flips, and flips back."""
    t.enable("tx")
    laps = (2 << RING_LOG2) + 3
    for first in range(0, laps, 8):
        batch = [t.send(0, "-", 0) for _ in range(min(8, laps - first))]
        for cookie in batch:
            t.say("take", "tx", "-", "end", 0, 0, 0)
            t.done(0, cookie)
    t.say("settle")
    t.load("tx.privileged", "CHANNEL_PRODUCED", laps)
    t.load("tx.privileged", "CHANNEL_CONSUMED", laps)


@case("both", "tx")
def faults(t: Builder) -> None:
    """A read that the host refuses ends its descriptor and the message in progress; the next descriptor runs."""
    t.enable("tx")
    for status in ("unsupported_request", "completer_abort", "poisoned"):
        t.about(status)
        t.say("deny", DATA + 0x8000, 64, status)
        first = t.send(DATA, "~29:64", 64, end=False)
        t.done(64, first)
        second = t.post("tx", "direct", DATA + 0x8000, 64, end=True)
        t.say("reads", "tx", DATA + 0x8000, 64)
        t.say("take", "tx", "~29:64", "error", 0, 0, 0)
        t.entry("tx", 0, second, status, 0, 0)
        third = t.send(DATA + 0x100, "~30:64", 64)
        t.say("take", "tx", "~30:64", "end", 0, 0, 0)
        t.done(64, third)
    t.say("settle")


@case("card", "tx", "rx")
def corners(t: Builder) -> None:
    """Rare cases: faults before the first byte, prefixes that are lost, buffers of no bytes, and more."""
    t.enable("tx")
    t.enable("rx")
    t.about("a fault before a message's first byte: the core gets an empty message with an error")
    t.say("deny", DATA + 0x8000, 64, "unsupported_request")
    cookie = t.post("tx", "direct", DATA + 0x8000, 64, end=True)
    t.say("reads", "tx", DATA + 0x8000, 64)
    t.say("take", "tx", "-", "error", 0, 0, 0)
    t.entry("tx", 0, cookie, "unsupported_request", 0, 0)
    t.about("a table that cannot be read: nothing was begun, the core gets nothing")
    cookie = t.post("tx", "list", DATA + 0x8000, 64, end=True)
    t.say("reads", "tx", DATA + 0x8000, 16)
    t.say("may", "tx", DATA + 0x8000, 64)
    t.entry("tx", 0, cookie, "unsupported_request", 0, 0)
    t.say("settle")
    t.about("a prefix is lost with the descriptor behind it: malformed, torn, cancelled")
    t.post("tx", "attributes", 0x1000, 7)
    cookie = t.post("tx", "", DATA, 64, raw_kind=15)
    t.entry("tx", 0, cookie, "malformed", 0, 0)
    t.post("tx", "attributes", 0x1000, 7)
    cookie = t.post_words("tx", [0, 1, 3], DATA, 64)
    t.entry("tx", 0, cookie, "torn", 0, 0)
    t.post("tx", "attributes", 0x1000, 7)
    t.cancel("tx")
    cookie = t.send(DATA, "~31:40", 40)
    t.say("take", "tx", "~31:40", "end", 0, 0, 0)
    t.done(40, cookie)
    t.about("C2H: a prefix takes a place and means nothing; a buffer of no bytes is done at once")
    t.post("rx", "attributes", 0x1000, 7)
    cookie = t.post("rx", "direct", DATA, 0)
    t.entry("rx", 0, cookie, "done")
    t.about("C2H: the message ends with the buffer's last byte")
    cookie = t.post("rx", "direct", DATA + 0x1000, 64)
    t.say("give", "rx", "~32:64", "end", 0, 0, 0)
    t.say("writes", "rx", DATA + 0x1000, "~32:64")
    t.entry("rx", 64, cookie, "end_of_message", 0, 0)
    t.about("a list entry with `last` and `chain` chains")
    t.say("memory", DATA + 0x2000, "~33:20")
    t.say("memory", TABLE, t.list_entry(TABLE + 0x40, 0, last=True, chain=True).hex())
    t.say("memory", TABLE + 0x40, t.list_entry(DATA + 0x2000, 20, last=True).hex())
    cookie = t.post("tx", "list", TABLE, 20, end=True)
    t.say("reads", "tx", TABLE, 16)
    t.say("reads", "tx", TABLE + 0x40, 16)
    t.say("may", "tx", TABLE, 128)
    t.say("reads", "tx", DATA + 0x2000, 20)
    t.say("take", "tx", "~33:20", "end", 0, 0, 0)
    t.done(20, cookie)
    t.about("armed with an index ahead of what was written: fires at once")
    t.say("settle")
    t.arm("tx", 100)
    t.say("irq", VECTOR["tx"])
    t.about("a reset keeps where the ring is, and clears the rest")
    t.reset("tx")
    t.reset_done("tx")
    t.load("tx.privileged", "CHANNEL_RING_BASE", RING["tx"])
    t.load("tx.privileged", "CHANNEL_RING_LOG2", RING_LOG2)
    t.load("tx.privileged", "CHANNEL_VECTOR", VECTOR["tx"])
    for register in ("CHANNEL_CONTROL", "CHANNEL_STATUS", "CHANNEL_PRODUCED", "CHANNEL_CONSUMED", "CHANNEL_MODERATION"):
        t.load("tx.privileged", register, 0)
    t.say("settle")


def discovery_page(t: Builder, major: int | None = None) -> bytes:
    """The page as the card of README.md shows it."""
    page = bytearray(t.names.offset("DISCOVERY_CHANNEL_ENTRY") + 2 * t.names.registers["DISCOVERY_CHANNEL_ENTRY"].stride)

    def put(name: str, value: int | bytes, base: int = 0) -> None:
        register = t.names.registers[name]
        image = value if isinstance(value, bytes) else value.to_bytes(register.bytes, "little")
        page[base + register.offset : base + register.offset + len(image)] = image

    for name, register in t.names.registers.items():
        if name.startswith("DISCOVERY_") and register.reset is not None:
            put(name, register.reset)
    put("DISCOVERY_VERSION_MAJOR", t.names.constants["VERSION_MAJOR"] if major is None else major)
    values: dict[str, int | bytes] = {
        "PAGE_SHIFT": 12, "DATA_BYTES": 16, "CHANNELS": 2, "VECTORS": 32, "USER_INTERRUPTS": 16, "TAGS": 32, "WINDOW_BYTES": 4096,
        "SERIAL": 0x0123456789ABCDEF, "CORE_CLOCK_KHZ": 250000, "USER_CLOCK_KHZ": 250000, "CORE_VERSION": 3, "CORE_NAME": b"golden",
    }  # fmt: skip
    for name, value in values.items():
        put(f"DISCOVERY_{name}", value)
    entries = t.names.registers["DISCOVERY_CHANNEL_ENTRY"]
    first, stride = t.names.constants["PAGE_CHANNELS"], t.names.constants["PAGES_PER_CHANNEL"]
    for n, (name, direction, slots) in enumerate((("in", "h2c", SLOTS), ("out", "c2h", 0))):
        base = entries.offset + n * entries.stride
        put("CHANNEL_ENTRY_DIRECTION", t.names.enums["direction"][direction], base)
        put("CHANNEL_ENTRY_QUEUE_DEPTH", DEPTH, base)
        put("CHANNEL_ENTRY_BATCH_SLOTS", BATCH_SLOTS, base)
        put("CHANNEL_ENTRY_INLINE_SLOTS", slots, base)
        put("CHANNEL_ENTRY_FIRST_PAGE", first + n * stride, base)
        put("CHANNEL_ENTRY_BUFFER_BYTES", 16384 if direction == "h2c" else 8192, base)
        put("CHANNEL_ENTRY_KIND_VERSION", 1, base)
        put("CHANNEL_ENTRY_KIND_NAME", b"stream", base)
        put("CHANNEL_ENTRY_NAME", name.encode(), base)
    return bytes(page)


def show_page(t: Builder, page: bytes) -> None:
    for at in range(0, len(page), 32):
        t.say("contents", "discovery", at, page[at : at + 32].hex())


@case("both")
def discovery(t: Builder) -> None:
    """What a host finds on page 0 of the card that README.md describes."""
    show_page(t, discovery_page(t))
    t.say("do", "open")


@case("host")
def version(t: Builder) -> None:
    """A card of another major version: the host refuses it, names both versions, and stores nothing to it."""
    show_page(t, discovery_page(t, t.names.constants["VERSION_MAJOR"] + 1))
    t.say("do", "refuse")
    t.say("settle")


class Liar:
    """A card that shows the page of README.md, but for what it is told to say."""

    def __init__(self, t: Builder) -> None:
        self.t = t
        self.page = discovery_page(t)
        show_page(t, self.page)

    def at(self, place: str) -> tuple[int, int]:
        """Offset and bytes of a register of the header, of CHANNEL.REGISTER or of pluginNUMBER.REGISTER."""
        entry, _, name = place.rpartition(".")
        registers = self.t.names.registers
        if not entry:
            register = registers[f"DISCOVERY_{name.upper()}"]
            return register.offset, register.bytes
        table = "PLUGIN_ENTRY" if entry.startswith("plugin") else "CHANNEL_ENTRY"
        entries, register = registers[f"DISCOVERY_{table}"], registers[f"{table}_{name.upper()}"]
        return register.offset + entries.offset + int(entry.removeprefix("plugin")) * entries.stride, register.bytes

    def say(self, place: str, value: int) -> None:
        at, count = self.at(place)
        self.t.say("contents", "discovery", at, value.to_bytes(count, "little").hex(), f" # {place}")

    def be_honest(self, *places: str) -> None:
        for place in places:
            at, count = self.at(place)
            self.say(place, int.from_bytes(self.page[at : at + count], "little"))

    def rejected(self, where: str, what: str, value: int, least: int, most: int) -> None:
        self.t.say("do", "reject", where, what.replace(" ", ""), value, least, most)

    def lie(self, place: str, value: int, least: int, most: int) -> None:
        """A register beyond what is allowed in it."""
        self.say(place, value)
        channel, _, name = place.rpartition(".")
        self.rejected(channel or "header", name, value, least, most)
        self.be_honest(place)


@case("host")
def limits(t: Builder) -> None:
    """Discovery tables with one register beyond its limits: the host refuses each, and stores nothing to the card."""
    card = Liar(t)
    t.about("the header")
    card.lie("header_bytes", 0, 116, 65535)
    card.lie("header_bytes", 115, 116, 65535)
    for page_shift in (0, 11, 17, 24, 64, 255):
        card.lie("page_shift", page_shift, 12, 16)
    for data_bytes in (0, 4, 24, 255):
        card.lie("data_bytes", data_bytes, 8, 128)
    for channels in (0, 61, 65535):
        card.lie("channels", channels, 1, 60)
    card.lie("entry_offset", 0x104, 0, 65535)
    for entry_bytes in (0, 56, 68):
        card.lie("entry_bytes", entry_bytes, 64, 65535)
    for vectors in (0, 129, 65535):
        card.lie("vectors", vectors, 1, 128)
    card.lie("user_interrupts", 17, 0, 16)
    for tags in (0, 1025):
        card.lie("tags", tags, 1, 1024)
    for window_bytes in (4, 24, 0xFFFF_FFFF):
        card.lie("window_bytes", window_bytes, 0, 0xFFFF_FFFF)
    card.lie("core_clock_khz", 0, 1, 0xFFFF_FFFF)
    for plugins in (9, 65535):
        card.lie("plugins", plugins, 0, 8)
    for plugin in (0, 7):
        t.about(f"the entry of plug-in {plugin}")
        card.say("plugins", plugin + 1)
        for before in range(plugin):
            card.say(f"plugin{before}.pages", 1)
        card.lie(f"plugin{plugin}.pages", 0, 1, 65535)
        card.say(f"plugin{plugin}.pages", 1)
        for offset in (1, 2048, 4095):
            card.lie(f"plugin{plugin}.offset", offset, 0, 0xFFFF_FFFF)
        card.be_honest("plugins", *(f"plugin{number}.pages" for number in range(plugin + 1)))
    for channel in (0, 1):
        t.about(f"the entry of channel {channel}")
        for direction in (2, 255):
            card.lie(f"{channel}.direction", direction, 0, 1)
        for queue_depth in (0, 32768, 65535):
            card.lie(f"{channel}.queue_depth", queue_depth, 1, 32767)
        for inline_slots in (65, 65535):
            card.lie(f"{channel}.inline_slots", inline_slots, 0, 64)
        for batch_slots in (3, 48, 512, 65535):
            card.lie(f"{channel}.batch_slots", batch_slots, 0, 256)
        for first_page in (0, 1, 2, 3):
            card.lie(f"{channel}.first_page", first_page, 4, 0xFFFF_FFFF)
    t.about("it is a good card, when it says what it is")
    t.say("do", "open")
    t.say("settle")


@case("host")
def overlaps(t: Builder) -> None:
    """Discovery tables whose registers do not go together: what fits nowhere, and pages that are another's."""
    card = Liar(t)
    t.about("the header reaches into the entries")
    card.say("header_bytes", 264)
    card.rejected("header", "header_bytes", 264, 0, 256)
    card.be_honest("header_bytes")
    t.about("the header does not reach to the end of the plug-ins' entries")
    for plugins, header_bytes in ((0, 127), (1, 143), (8, 248)):
        card.say("plugins", plugins)
        card.say("header_bytes", header_bytes)
        card.rejected("header", "(8 + plugins) << 4", 128 + 16 * plugins, 0, header_bytes)
    card.be_honest("plugins", "header_bytes")
    t.about("a plug-in's registers reach out of the window")
    card.say("plugins", 2)
    card.say("plugin0.pages", 1)
    for pages, offset, end in ((2, 0, 8192), (1, 4096, 8192), (65535, 0xFFFF_F000, 0x1_0FFF_E000)):
        card.say("plugin1.pages", pages)
        card.say("plugin1.offset", offset)
        card.rejected("plugin1", "offset + (pages << 12)", end, 0, 4096)
    card.be_honest("plugins", "plugin0.pages", "plugin1.pages", "plugin1.offset")
    t.about("the entries reach out of their page")
    for register, value, total in (("entry_offset", 4000, 4128), ("channels", 60, 256 + 60 * 128), ("entry_bytes", 65528, 131312)):
        card.say("entry_bytes", 128 if register == "channels" else 64)
        card.say(register, value)
        card.rejected("header", "entry_offset + channels * entry_bytes", total, 0, 4096)
        card.be_honest("entry_bytes", register)
    t.about("BAR 0 does not hold the card's own pages")
    for page_shift, total, bar in ((12, 16384, 8192), (16, 262144, 131072)):
        card.say("page_shift", page_shift)
        t.say("bar", 0, bar)
        card.rejected("header", "4 << page_shift", total, 0, bar)
    card.be_honest("page_shift")
    t.say("bar", 0, 0x10_0000)
    t.about("BAR 2 does not hold the window, or there is none")
    for bar in (2048, 0):
        t.say("bar", 2, bar)
        card.rejected("header", "window_bytes", 4096, 0, bar)
    t.say("bar", 2, 4096)
    t.about("inline slots in C2H")
    card.say("1.inline_slots", 1)
    card.rejected("1", "inline_slots", 1, 0, 0)
    card.be_honest("1.inline_slots")
    t.about("a channel's pages reach out of BAR 0, which has 256")
    for channel, first_page in (("0", 253), ("1", 253), ("1", 0x0010_0004), ("1", 0xFFFF_FFFF)):
        card.say(f"{channel}.first_page", first_page)
        card.rejected(channel, "(first_page + 4) << page_shift", (first_page + 4) << 12, 0, 0x10_0000)
        card.be_honest(f"{channel}.first_page")
    t.about("... and with pages of 64 KiB, of which it has 16")
    card.say("page_shift", 16)
    card.say("1.first_page", 13)
    card.rejected("1", "(first_page + 4) << page_shift", 17 << 16, 0, 0x10_0000)
    card.be_honest("page_shift", "1.first_page")
    t.about("a channel's pages are another's: all of them, the last, the first")
    for first_page in (4, 7, 5):
        card.say("1.first_page", first_page)
        card.rejected("1", "first_page", first_page, 4, 0xFFFF_FFFF)
        card.be_honest("1.first_page")
    for first_page in (8, 11, 5):
        card.say("0.first_page", first_page)
        card.rejected("1", "first_page", 8, 4, 0xFFFF_FFFF)
        card.be_honest("0.first_page")
    t.about("it is a good card, when it says what it is")
    t.say("do", "open")
    t.say("settle")


@case("host")
def edges(t: Builder) -> None:
    """Discovery tables at the edge of what is allowed: the host accepts each."""
    card = Liar(t)
    for place, values in {
        "header_bytes": (128, 256),
        "page_shift": (13, 14, 15, 16),
        "data_bytes": (8, 32, 64, 128),
        "vectors": (1, 128),
        "user_interrupts": (0, 16),
        "tags": (1, 1024),
        "window_bytes": (0, 8, 4096),
        "core_clock_khz": (1, 0xFFFF_FFFF),
        "0.queue_depth": (1, 32767),
        "0.inline_slots": (0, 64),
        "0.kind": (1, 2, 255),
        "1.kind_version": (0, 2, 65535),
        "1.kind_parameter": (1, 0xFFFF_FFFF),
        "0.batch_slots": (0, 1, 16, 256),
        "1.first_page": (8, 252),
    }.items():
        t.about(place)
        for value in values:
            card.say(place, value)
            t.say("do", "open")
        card.be_honest(place)
    t.about("eight plug-ins, in one place")
    card.say("plugins", 8)
    for number in range(8):
        card.say(f"plugin{number}.pages", 1)
    t.say("do", "open")
    card.be_honest("plugins", *(f"plugin{number}.pages" for number in range(8)))
    t.about("BAR 0 ends with the last channel's pages, BAR 2 with the window")
    t.say("bar", 0, 12 << 12)
    t.say("bar", 2, 4096)
    t.say("do", "open")
    t.about("the same with pages of 64 KiB")
    card.say("page_shift", 16)
    t.say("bar", 0, 12 << 16)
    t.say("do", "open")
    card.be_honest("page_shift")
    t.about("the last channel stands first; there are pages between them")
    t.say("bar", 0, 0x10_0000)
    card.say("0.first_page", 100)
    card.say("1.first_page", 4)
    t.say("do", "open")


def pattern(seed: int, length: int) -> str:
    """The bytes of `~SEED:LENGTH`, in hexadecimal."""
    return bytes((seed + 37 * i + i // 256) & 0xFF for i in range(length)).hex()


def all_traces(contract, note: str) -> dict[str, str]:
    """File name: text."""
    names = Names(contract)
    traces = {}
    for name, (replay, channels, function) in CASES.items():
        builder = Builder(names, name, f"{note}\n{function.__doc__}", replay, channels)
        function(builder)
        traces[f"{name}.trace"] = builder.text()
    return traces


def layout(contract) -> golden.Layout:
    """What golden.check() wants."""
    names = Names(contract)
    return golden.Layout({name: entry.offset for name, entry in names.registers.items()}, names.enums["status"], names.enums["kind"])
