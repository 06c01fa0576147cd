# SPDX-License-Identifier: Apache-2.0
"""The host's end: cocotbext-pcie's root complex with memory, and a driver of our channels that acts through it alone.

`Host` enumerates the card, hands out memory and watches what reaches the root complex: a read or write of a byte that no descriptor, table
or ring covers at that time fails the test, as does a ring entry that is not one whole TLP in strict order. The model alone would drop such
a write with no more than a line in its log.
"""

import logging
import random
import re

from bench import PACKAGES, TP, Layout
from built import BUILT
from cocotb.triggers import Event, First, Timer
from cocotb.utils import get_sim_time
from cocotbext.pcie.core import RootComplex
from cocotbext.pcie.core.tlp import CplStatus, Tlp, TlpAttr
from cocotbext.pcie.core.utils import PcieId

DESCRIPTOR, LIST_ENTRY, COMPLETION = (Layout(PACKAGES[0], f"tp_{name}_t") for name in ("descriptor", "list_entry", "completion"))
STATUS = {getattr(TP, f"TP_STATUS_{n}"): n for n in (
    "NONE DONE END_OF_MESSAGE UNSUPPORTED_REQUEST COMPLETER_ABORT POISONED TIMEOUT CANCELLED BUS_MASTERING_OFF RESET TORN MALFORMED "
    "BAD_COMPLETION LINK_DOWN".split()
)}  # fmt: skip
LOW, HIGH = 4 << 20, 4 << 20  # bytes of memory below and above 4 GiB
HIGH_BASE = 0x12_0000_0000
RING_LOG2 = 6
INTERRUPT_LINE = 0x3C  # a register of configuration space that the card does not heed
DEVICE_CONTROL, RELAXED, EXTENDED_TAGS, FUNCTION_RESET = 8, 1 << 4, 1 << 8, 1 << 15  # in the PCI Express capability
PATIENCE = 40_000  # nanoseconds that the card may take
READ_PATIENCE = 40_000  # nanoseconds that a read of the card may take, behind all that waits for a slow link
H2C, C2H = 0, 1  # the channels of the card under test


class Complaints(logging.Handler):
    """What the package's models warn of, but for what is expected: it fails the test when somebody looks (`check`)."""

    ALWAYS = ("Failed to route config type 0",)  # the root complex looks for devices where none are
    log = logging.getLogger("cocotb")

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        for other in [h for h in self.log.handlers if isinstance(h, Complaints)]:  # an earlier test's
            self.log.removeHandler(other)
        self.log.addHandler(self)
        self.expected = re.compile("|".join(self.ALWAYS))
        self.lines: list[str] = []

    def expect(self, *patterns: str) -> None:
        self.expected = re.compile("|".join((self.expected.pattern, *patterns)))

    def emit(self, record: logging.LogRecord) -> None:
        if record.name != "cocotb.regression":
            self.lines.append(record.getMessage())

    def check(self) -> None:
        unexpected = [line for line in self.lines if not self.expected.match(line)]
        assert not unexpected, f"a model complained {len(unexpected)} times, first: {unexpected[0]}"


class Arena:
    """A piece of host memory, and which of its bytes the card may touch now."""

    def __init__(self, base: int, memory):
        self.base, self.memory = base, memory
        self.readable, self.writable = bytearray(len(memory)), bytearray(len(memory))
        self.next = 0


class Root(RootComplex):
    """The model, with a look at each request that reaches it."""

    def __init__(self, host: "Host"):
        super().__init__()
        self.host = host

    async def handle_mem_write_tlp(self, tlp: Tlp) -> None:
        self.host.saw_write(tlp)
        await super().handle_mem_write_tlp(tlp)
        self.host.activity.set()

    async def handle_mem_read_tlp(self, tlp: Tlp) -> None:
        self.host.saw_read(tlp)
        await super().handle_mem_read_tlp(tlp)

    async def perform_nonposted_operation(self, req: Tlp, timeout=0, timeout_unit="ns"):
        """The model waits for ever for an answer; this does not."""
        end = get_sim_time("ns") + READ_PATIENCE
        answers = await super().perform_nonposted_operation(req, timeout or READ_PATIENCE, timeout_unit)
        assert timeout or get_sim_time("ns") < end, f"no answer, or not the whole of it, to a read at {req.address:#x}: {answers}"
        return answers

    async def send(self, tlp: Tlp) -> None:
        if tlp.is_completion() and tlp.status == CplStatus.SC:
            tlp.ep = tlp.tag in self.host.poison_tags
        await super().send(tlp)


class Host:
    def __init__(self, rng: random.Random, max_payload: int = 128, rcb_128: bool = False, split: bool = False):
        self.rng = rng
        self.complaints = Complaints()
        self.activity = Event()
        self.root = Root(self)
        self.root.max_payload_size = max_payload.bit_length() - 8
        self.root.read_completion_boundary = rcb_128
        self.root.split_on_all_rcb = split
        high = self.root.mem_address_space.create_pool(HIGH_BASE, HIGH)
        self.arenas = []
        for pool, size in ((self.root.mem_pool, LOW), (high, HIGH)):
            region = pool.alloc_region(size)
            self.arenas.append(Arena(region.get_absolute_address(0), region.mem))
        self.rings: list[tuple[int, int]] = []
        self.link_faults: dict[str, int] = {}  # the card's counters, as they should stand
        self.open_to_reads: list[tuple[int, int]] = []  # addresses outside memory that the card may ask for
        self.poison: tuple[int, int] | None = None  # reads that touch this are answered poisoned
        self.poison_tags: set[int] = set()
        self.messages: list[int] = []  # vectors in the order in which they fired

    def connect(self, device, card) -> None:
        self.card = card
        self.port = self.root.make_port()
        device.connect(self.port.downstream_port)

    async def start(self, max_read: int = 512) -> None:
        """Enumerate, enable the card and its interrupts."""
        card = self.card
        await self.root.enumerate()
        self.dev = self.root.find_device(card.pcie_id)
        assert self.dev is not None, "the card was not found"
        await self.enable(max_read)

    async def enable(self, max_read: int) -> None:
        await self.dev.enable_device()
        await self.dev.set_readrq(max_read.bit_length() - 8)
        await self._limit()
        await self.dev.set_master()
        vectors = BUILT.VECTORS
        assert await self.dev.alloc_irq_vectors(vectors, vectors) == vectors
        for v in range(vectors):
            self.dev.request_irq(v, self._fired(v))
        self.bar = self.dev.bar_window[TP.TP_BAR_DEVICE]
        self.window = self.dev.bar_window[TP.TP_BAR_WINDOW]
        self.page_bytes = 1 << (await self.bar.read(TP.TP_DISCOVERY_PAGE_SHIFT_OFFSET, 1))[0]

    async def renumber(self, bus: int) -> None:
        """Gives the card's bus another number; the card learns it from the first write to its configuration space."""
        self.root.upstream_bridge.sub_bus_num = self.port.sub_bus_num = self.port.sec_bus_num = bus
        self.dev.pcie_id = PcieId(bus, 0, 0)
        await self.dev.config_write_byte(INTERRUPT_LINE, 0xFF)

    async def save(self) -> tuple:
        """What `restore` puts back."""
        return await self.dev.config_read_dwords(0x10, 6), await self.dev.capability_read_word(self.card.pcie_cap.cap_id, DEVICE_CONTROL)

    async def reset_function(self) -> tuple:
        """Function-level reset, up to the card's acknowledgement; what `restore` puts back."""
        saved = await self.save()
        await self.dev.capability_write_word(self.card.pcie_cap.cap_id, DEVICE_CONTROL, saved[1] | FUNCTION_RESET)
        await self.until(lambda: not self.card.function_reset, "the card never acknowledged the reset")
        return saved

    async def restore(self, saved: tuple) -> None:
        """Puts configuration space back, as a kernel does after a reset."""
        await self.dev.config_write_dwords(0x10, saved[0])
        await self.dev.capability_write_word(self.card.pcie_cap.cap_id, DEVICE_CONTROL, saved[1])
        command = await self.dev.config_read_word(4)
        await self.dev.config_write_word(4, command | 6)

    async def _limit(self) -> None:
        """Half of the hosts allow no relaxed ordering, and half no extended tags, for want of which a card is built with 32 at most."""
        cap = self.card.pcie_cap
        control = await self.dev.capability_read_word(cap.cap_id, DEVICE_CONTROL)
        if self.rng.random() < 0.5:
            control &= ~RELAXED
        if self.rng.random() < 0.5 and BUILT.TAGS <= 32:
            control &= ~EXTENDED_TAGS
        await self.dev.capability_write_word(cap.cap_id, DEVICE_CONTROL, control)
        assert cap.enable_relaxed_ordering == bool(control & RELAXED) and cap.extended_tag_field_enable == bool(control & EXTENDED_TAGS)

    def _fired(self, vector: int):
        async def handler() -> None:
            self.messages.append(vector)
            self.activity.set()

        return handler

    # ---- memory

    def arena(self, address: int, size: int) -> tuple[Arena, int] | None:
        for a in self.arenas:
            if a.base <= address and address + size <= a.base + len(a.memory):
                return a, address - a.base
        return None

    def room(self, size: int, align: int = 1, skew: int | None = None) -> int:
        """Fresh memory, below or above 4 GiB, mostly around the edge of a page; nothing is handed out twice."""
        a = self.rng.choice(self.arenas)
        if skew is None:
            skew = self.rng.choice([0, 1, 3, 4, 63, 64, 4000, 4093, 4095, -size % 4096, (1 - size) % 4096, self.rng.randrange(4096)])
        at = -(-a.next // 4096) * 4096 + skew if self.rng.random() < 0.7 else a.next + skew % 64
        at = -(-at // align) * align
        assert at + size <= len(a.memory), "the test asks for more memory than the host has"
        a.next = at + size + 1
        return a.base + at

    def allow(self, what: str, address: int, size: int, value: int = 1) -> None:
        """Open (or close) memory to the card's reads or writes: `what` is readable or writable."""
        if size:
            a, at = self.arena(address, size)
            getattr(a, what)[at : at + size] = bytes([value]) * size

    def load(self, address: int, size: int) -> bytes:
        if not size:
            return b""
        a, at = self.arena(address, size)
        return a.memory[at : at + size]

    def store(self, address: int, content: bytes) -> None:
        if content:
            a, at = self.arena(address, len(content))
            a.memory[at : at + len(content)] = content

    # ---- what reaches the root complex

    def saw_write(self, tlp: Tlp) -> None:
        self.saw_number(tlp)
        first, size = tlp.address + tlp.get_first_be_offset(), tlp.get_be_byte_count()
        message = self.root.msi_region.get_absolute_address(0)
        if tlp.address == message:
            assert tlp.length == 1 and tlp.first_be == 15 and not tlp.attr & TlpAttr.RO, f"a strange interrupt message: {tlp!r}"
            return
        found = self.arena(first, size)
        assert found, f"the card writes {size} bytes at {first:#x}, where no memory is"
        a, at = found
        assert a.writable.count(0, at, at + size) == 0, f"the card writes {size} bytes at {first:#x}, which nothing covers now"
        for base, length in self.rings:
            if base <= first < base + length:
                whole = size == TP.TP_COMPLETION_BYTES and first % size == 0
                assert whole and not tlp.attr & TlpAttr.RO, f"an entry that is not whole, or relaxed: {tlp!r}"

    def saw_number(self, tlp: Tlp) -> None:
        assert tlp.requester_id == self.card.pcie_id, f"a request of {tlp.requester_id}, not of {self.card.pcie_id}"

    def saw_read(self, tlp: Tlp) -> None:
        self.saw_number(tlp)
        first, size = tlp.address + tlp.get_first_be_offset(), tlp.get_be_byte_count()
        self.poison_tags.discard(tlp.tag)
        if self.poison and first < sum(self.poison) and self.poison[0] < first + size:
            self.poison_tags.add(tlp.tag)
        if any(base <= first and first + size <= base + length for base, length in self.open_to_reads):
            return
        found = self.arena(first, size)
        assert found, f"the card reads {size} bytes at {first:#x}, where no memory is"
        a, at = found
        assert a.readable.count(0, at, at + size) == 0, f"the card reads {size} bytes at {first:#x}, which nothing covers now"

    # ---- time

    async def until(self, condition, what: str, patience: int = PATIENCE) -> None:
        """Wait for a condition, looking again at each write and interrupt that comes; `what` is said when it never holds."""
        end = get_sim_time("ns") + patience
        while not condition():
            assert get_sim_time("ns") < end, f"{what} within {patience} ns"
            self.activity.clear()
            await First(self.activity.wait(), Timer(200, "ns"))

    # ---- pages

    def page(self, number: int, offset: int = 0) -> int:
        return number * self.page_bytes + offset

    async def card_register(self, offset: int) -> int:
        return await self.bar.read_dword(self.page(TP.TP_PAGE_CARD, offset))


class Channel:
    """A driver's view of a channel: posts, reaps, arms; checks phase and order of its completions' cookies."""

    def __init__(self, host: Host, index: int, vector: int | None = None):
        self.host, self.index, self.rng = host, index, host.rng
        self.vector = index + 3 if vector is None else vector
        first = TP.TP_PAGE_CHANNELS + index * TP.TP_PAGES_PER_CHANNEL
        self.privileged = host.page(first + TP.TP_PAGE_CHANNEL_PRIVILEGED)
        self.doorbell = host.page(first + TP.TP_PAGE_CHANNEL_DOORBELL)
        self.slots = host.page(first + TP.TP_PAGE_CHANNEL_INLINE)
        self.depth = BUILT.QUEUE_DEPTH
        self.cookie = self.rng.randrange(1 << 16)
        self.ring = 0

    async def enable(self, announce: bool = False) -> None:
        size = TP.TP_COMPLETION_BYTES << RING_LOG2
        if not self.ring:
            self.ring = self.host.room(size, align=size)
            self.host.rings.append((self.ring, size))
        self.host.store(self.ring, bytes(size))
        self.host.allow("writable", self.ring, size)
        self.reaped = 0
        self.places = 0  # taken in the card's queue
        self.waiting: list[dict] = []
        at = self.privileged
        await self.host.bar.write_qword(at + TP.TP_CHANNEL_RING_BASE_OFFSET, self.ring)
        await self.host.bar.write_dword(at + TP.TP_CHANNEL_RING_LOG2_OFFSET, RING_LOG2)
        await self.host.bar.write_dword(at + TP.TP_CHANNEL_VECTOR_OFFSET, self.vector)
        control = TP.TP_CHANNEL_CONTROL_ENABLE_MASK | (TP.TP_CHANNEL_CONTROL_ANNOUNCE_MASK if announce else 0)
        await self.host.bar.write_dword(at + TP.TP_CHANNEL_CONTROL_OFFSET, control)

    async def register(self, offset: int) -> int:
        return await self.host.bar.read_dword(self.privileged + offset)

    # ---- post

    async def push(self, kind: int, address: int, length: int, end: bool = False, cookie: int = 0) -> None:
        """One descriptor, by two stores or by four."""
        control = kind << TP.TP_DESCRIPTOR_CONTROL_KIND_LSB | int(end) << TP.TP_DESCRIPTOR_CONTROL_END_LSB
        image = DESCRIPTOR.pack(address=address, length=length, cookie=cookie, control=control).to_bytes(TP.TP_DESCRIPTOR_BYTES, "little")
        step = self.rng.choice([4, 8])
        self.places += 1
        for i in range(0, len(image), step):
            await self.host.bar.write(self.doorbell + TP.TP_DOORBELL_DESCRIPTOR_OFFSET + i, image[i : i + step])

    async def post(self, kind: int, address: int, length: int, end: bool = False, prefixes=(), **notes) -> dict:
        """A descriptor behind its prefixes, waiting for room in the queue. `notes` are kept for whoever reaps it."""
        await self.host.until(lambda: self.places + 1 + len(prefixes) <= self.depth, "no room in the queue came free")
        self.cookie = (self.cookie + 1) & 0xFFFF
        note = {"cookie": self.cookie, "places": 1 + len(prefixes), **notes}
        self.waiting.append(note)
        for prefix in prefixes:
            await self.push(*prefix)
        await self.push(kind, address, length, end, note["cookie"])
        return note

    async def send(self, content: bytes, kind: int | None = None, end: bool = True, prefixes=(), slot: int | None = None) -> dict:
        """Post these bytes, in memory made for them, as any kind that can carry them."""
        host = self.host
        kinds = [TP.TP_KIND_DIRECT, TP.TP_KIND_LIST] + [TP.TP_KIND_INLINE] * (slot is not None)
        kind = self.rng.choice(kinds) if kind is None else kind
        if kind == TP.TP_KIND_INLINE:
            await self.fill(slot, content)
            return await self.post(kind, slot * TP.TP_INLINE_SLOT_BYTES, len(content), end, prefixes, content=content, pieces=[], slot=slot)
        address, pieces = self.layout(kind, len(content), "readable")
        for at, size in pieces:
            host.store(at, content[:size])
            content = content[size:]
        return await self.post(kind, address, sum(n for _, n in pieces), end, prefixes, pieces=pieces)

    async def receive(self, size: int, kind: int | None = None) -> dict:
        kind = self.rng.choice([TP.TP_KIND_DIRECT, TP.TP_KIND_LIST]) if kind is None else kind
        address, pieces = self.layout(kind, size, "writable")
        return await self.post(kind, address, size, pieces=pieces, size=size)

    async def fill(self, slot: int, content: bytes) -> None:
        """Write an inline slot as a write-combining buffer may: whole, or in 4- to 32-byte chunks in any order."""
        base = self.slots + slot * TP.TP_INLINE_SLOT_BYTES
        step = self.rng.choice([4, 8, 16, 32, TP.TP_INLINE_SLOT_BYTES])
        starts = list(range(0, len(content), step))
        self.rng.shuffle(starts)
        for i in starts:
            await self.host.bar.write(base + i, content[i : i + step])

    def layout(self, kind: int, size: int, access: str) -> tuple[int, list[tuple[int, int]]]:
        """Memory for so many bytes: (what the descriptor's address is, pieces)."""
        if kind == TP.TP_KIND_DIRECT:
            pieces = [(self.host.room(size), size)]
        else:
            pieces, left = [], size
            while left:
                n = min(left, self.rng.choice([1, 2, 17, 100, 513, 4096]))
                if self.rng.random() < 0.1:
                    pieces.append((self.host.room(0), 0))
                pieces.append((self.host.room(n), n))
                left -= n
            pieces = pieces or [(self.host.room(0), 0)]
        for address, n in pieces:
            self.host.allow(access, address, n)
        return (pieces[0][0] if kind == TP.TP_KIND_DIRECT else self.table(pieces)), pieces

    def table(self, pieces: list[tuple[int, int]]) -> int:
        """A list of these pieces, in tables of a few entries which chain."""
        host, size = self.host, TP.TP_LIST_ENTRY_BYTES
        groups, rest = [], list(pieces)
        while rest:
            n = self.rng.choice([1, 3, 4, 7])
            groups.append(rest[:n])
            rest = rest[n:]
        tables = [host.room(size * (len(g) + 1) + 64, align=size) for g in groups]
        for i, group in enumerate(groups):
            final = i == len(groups) - 1
            entries = [(a, n, 0) for a, n in group]
            if final:
                entries[-1] = (*group[-1], TP.TP_LIST_ENTRY_CONTROL_LAST_MASK)
            else:
                entries.append((tables[i + 1], self.rng.getrandbits(32), TP.TP_LIST_ENTRY_CONTROL_CHAIN_MASK))
            image = b"".join(LIST_ENTRY.pack(address=a, length=n, control=c).to_bytes(size, "little") for a, n, c in entries)
            host.store(tables[i], image)
            # The card may read ahead, to the end of the aligned 64 bytes that hold the last or chaining entry.
            end = -(-(tables[i] + len(image)) // 64) * 64
            host.allow("readable", tables[i], end - tables[i])
        return tables[0]

    # ---- reap

    def peek(self) -> bool:
        place = self.ring + self.reaped % (1 << RING_LOG2) * TP.TP_COMPLETION_BYTES
        flags = self.host.load(place + TP.TP_COMPLETION_FLAGS_OFFSET, 1)[0]
        return bool(flags & TP.TP_COMPLETION_FLAGS_PHASE_MASK) != bool(self.reaped >> RING_LOG2 & 1)

    async def reap(self, what: str = "no completion came") -> dict:
        """The next entry of the ring, joined with the note of the descriptor that it completes."""
        await self.host.until(self.peek, f"channel {self.index}: {what} ({self.reaped} reaped, {len(self.waiting)} posted)")
        place = self.ring + self.reaped % (1 << RING_LOG2) * TP.TP_COMPLETION_BYTES
        entry = COMPLETION.unpack(int.from_bytes(self.host.load(place, TP.TP_COMPLETION_BYTES), "little"))
        self.reaped += 1
        entry["status"] = STATUS[entry["status"]]
        entry["start"] = bool(entry["flags"] & TP.TP_COMPLETION_FLAGS_START_MASK)
        known = TP.TP_COMPLETION_FLAGS_START_MASK | TP.TP_COMPLETION_FLAGS_PHASE_MASK
        assert not entry["flags"] & ~known, f"reserved flags in {entry}"
        if entry["start"]:
            return entry
        assert self.waiting, f"channel {self.index}: a completion of nothing: {entry}"
        note = self.waiting.pop(0)
        assert entry["cookie"] == note["cookie"], f"channel {self.index}: {entry} completes {note}"
        self.places -= note["places"]
        if self.index == C2H:
            entry["content"] = b"".join(self.host.load(a, n) for a, n in note["pieces"])[: entry["bytes"]]
        # From now on the card has no business there.
        for a, n in note["pieces"]:
            self.host.allow("readable" if self.index == H2C else "writable", a, n, 0)
        return {**note, **entry}

    async def arm(self) -> None:
        await self.host.bar.write_dword(self.doorbell + TP.TP_DOORBELL_ARM_OFFSET, self.reaped)

    async def cancel(self) -> None:
        await self.host.bar.write_dword(self.doorbell + TP.TP_DOORBELL_CANCEL_OFFSET, 1)

    async def reset(self) -> None:
        await self.host.bar.write_dword(self.privileged + TP.TP_CHANNEL_RESET_OFFSET, TP.TP_CHANNEL_RESET_RESET_MASK)

    async def reset_done(self) -> None:
        for _ in range(200):
            if not await self.register(TP.TP_CHANNEL_RESET_OFFSET) & TP.TP_CHANNEL_RESET_RESET_MASK:
                return
        raise AssertionError(f"channel {self.index}: the reset never ended")
