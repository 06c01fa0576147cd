# SPDX-License-Identifier: Apache-2.0
"""The data mover as its benches drive it: doorbells in order, and what a driver knows of a channel."""

from collections import deque

import cocotb
from bench import PACKAGES, TP, Layout
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge

from host import BASE, Host

DESCRIPTOR, ENTRY, COMPLETION = (Layout(PACKAGES[0], f"tp_{name}_t") for name in ("descriptor", "list_entry", "completion"))
CONTROL, FLAGS, LIST_CONTROL = (
    Layout(PACKAGES[0], f"tp_{name}_t") for name in ("descriptor_control", "completion_flags", "list_entry_control")
)
DIRECT, LIST, INLINE, ATTRIBUTES, LENGTH = (
    TP.TP_KIND_DIRECT,
    TP.TP_KIND_LIST,
    TP.TP_KIND_INLINE,
    TP.TP_KIND_ATTRIBUTES,
    TP.TP_KIND_MESSAGE_LENGTH,
)
DONE, EOM, CANCELLED = TP.TP_STATUS_DONE, TP.TP_STATUS_END_OF_MESSAGE, TP.TP_STATUS_CANCELLED
UR, RESET, TORN = TP.TP_STATUS_UNSUPPORTED_REQUEST, TP.TP_STATUS_RESET, TP.TP_STATUS_TORN
SLOT = TP.TP_INLINE_SLOT_BYTES
RING_LOG2 = 6


class Bench:
    """The mover, its host, and the order in which doorbells are rung: one a cycle."""

    def __init__(self, dut, rng):
        self.dut, self.rng = dut, rng
        self.width = int(dut.DATA_WIDTH.value)
        self.h2c, self.c2h = int(dut.H2C.value), int(dut.C2H.value)
        payload = rng.choice([128, 256])
        self.host = Host(dut, rng, self.width, max_payload=payload, max_read=rng.choice([128, 512, 4096]), stall=rng.choice([0, 0.2, 0.6]))
        self.doorbells = []
        self.next = 0x1000

    def room(self, size: int, align=1, skew=None) -> int:
        """Fresh host memory, at any offset; nothing is ever handed out twice."""
        skew = self.rng.choice([0, 1, 3, 4, 60, 63, 4095, 4000, self.rng.randrange(4096)]) if skew is None else skew
        start = (self.next + 127) // 128 * 128 + skew
        start = (start + align - 1) // align * align
        self.next = start + size + 64
        if self.next > len(self.host.memory):
            raise MemoryError
        return BASE + start

    def allow(self, table: bytearray, address: int, size: int, value=1):
        """Open or close memory to the card."""
        table[address - BASE : address - BASE + size] = bytes([value]) * size

    async def start(self):
        dut = self.dut
        for signal in (
            "batch_valid",
            "words_valid",
            "push_valid",
            "push_torn",
            "arm_valid",
            "lead_valid",
            "fill_valid",
            "quarantine",
            "cancel_valid",
            "inline_valid",
            "priv_write_valid",
            "priv_read_valid",
            "msix_posted_valid",
            "card_reset",
            "c2h_tvalid",
            "c2h_tlast",
            "h2c_tready",
            "rx_completion_valid",
            "h2c_reset_busy",
            "c2h_reset_busy",
        ):
            getattr(dut, signal).value = 0
        dut.cfg.value = self.host.config()
        dut.rst.value = 1
        self.tasks = [cocotb.start_soon(Clock(dut.clk, 4, unit="ns").start())]
        await ClockCycles(dut.clk, 5)
        dut.rst.value = 0
        self.tasks += [cocotb.start_soon(self.host.run()), cocotb.start_soon(self._ring())]

    def stop(self):
        """For a test that starts several times."""
        for task in self.tasks:
            task.cancel()

    async def _ring(self):
        """Each clock one entry: what shows at once, and what tp_doorbell makes of it two clocks later."""
        dut = self.dut
        later = deque([{}, {}])
        while True:
            for signal in ("words", "push", "arm", "lead", "fill", "cancel", "inline", "batch", "priv_write"):
                getattr(dut, f"{signal}_valid").value = 0
            now, follows = self.doorbells.pop(0) if self.doorbells else ({}, {})
            later.append(follows)
            for signal, value in (now | later.popleft()).items():
                getattr(dut, signal).value = value
            await RisingEdge(dut.clk)

    async def rung(self):
        """Until the last doorbell is seen."""
        while self.doorbells:
            await RisingEdge(self.dut.clk)
        await ClockCycles(self.dut.clk, 3)

    @staticmethod
    def event(name, **fields) -> dict:
        return {f"{name}_valid": 1} | {f"{name}_{field}": value for field, value in fields.items()}

    def ring(self, name, **fields):
        """A doorbell, but for a descriptor's words."""
        self.doorbells.append(({}, self.event(name, **fields)))

    def write(self, page, channel, at, data, follows=None):
        """Bytes to whole dwords of a channel's page, `inline` or `batch`, or words of a descriptor, as one packet."""
        width = len(self.dut.wr_data) // 8
        for k in range(0, len(data), width):
            beat = data[k : k + width]
            now = dict(wr_channel=channel, wr_offset=(at + k) // 4, wr_data=int.from_bytes(beat, "little"), wr_strb=(1 << len(beat)) - 1)
            then = {"words_valid": 1} if page == "words" else {}
            if k + width >= len(data):
                then |= follows or {}
            self.doorbells.append((now if page == "words" else now | {f"{page}_valid": 1}, then))

    def push(self, channel, kind, address, length, cookie=0, end=0, torn=0):
        self.raw(channel, self.descriptor(kind, address, length, cookie, end), torn)

    @staticmethod
    def descriptor(kind, address, length, cookie=0, end=0) -> bytes:
        word = DESCRIPTOR.pack(address=address, length=length, cookie=cookie, control=CONTROL.pack(kind=kind, end_=end))
        return word.to_bytes(TP.TP_DESCRIPTOR_BYTES, "little")

    def raw(self, channel, descriptor: bytes, torn=0):
        self.write("words", channel, TP.TP_DOORBELL_DESCRIPTOR_OFFSET, descriptor, self.event("push", channel=channel, torn=torn, count=1))

    def inline(self, channel, at, data):
        """Write bytes of an inline page, from a dword on, as one packet."""
        self.write("inline", channel, at, data)

    def priv(self, channel, offset, value, size=4):
        """Write `size` bytes of a privileged register."""
        shift = offset % 8
        fields = dict(channel=channel, offset=offset // 8, data=value << 8 * shift, strb=((1 << size) - 1) << shift)
        self.doorbells.append((self.event("priv_write", **fields), {}))

    async def read(self, channel, offset) -> int:
        """A privileged register of 4 bytes."""
        dut = self.dut
        dut.priv_read_channel.value = channel
        dut.priv_read_offset.value = offset // 8
        dut.priv_read_valid.value = 1
        await RisingEdge(dut.clk)
        dut.priv_read_valid.value = 0
        while True:
            await RisingEdge(dut.clk)
            if dut.priv_read_ack.value == 1:
                return int(dut.priv_read_data.value) >> 8 * (offset % 8) & 0xFFFFFFFF


class Channel:
    """What a driver knows of one channel: its ring and the descriptors it posted."""

    def __init__(self, bench: Bench, index: int, announce=False, ring_log2=RING_LOG2):
        self.bench, self.index, self.ring_log2 = bench, index, ring_log2
        self.ring = bench.room(TP.TP_COMPLETION_BYTES << ring_log2, align=TP.TP_COMPLETION_BYTES << ring_log2, skew=0)
        bench.allow(bench.host.writable, self.ring, TP.TP_COMPLETION_BYTES << ring_log2)
        self.reaped = 0
        self.cookie = bench.rng.randrange(1 << 16)
        bench.priv(index, TP.TP_CHANNEL_RING_BASE_OFFSET, self.ring, 8)
        bench.priv(index, TP.TP_CHANNEL_RING_LOG2_OFFSET, ring_log2)
        bench.priv(index, TP.TP_CHANNEL_VECTOR_OFFSET, index)
        control = TP.TP_CHANNEL_CONTROL_ENABLE_MASK | (TP.TP_CHANNEL_CONTROL_ANNOUNCE_MASK if announce else 0)
        bench.priv(index, TP.TP_CHANNEL_CONTROL_OFFSET, control)

    def reap(self):
        """The next ring entry, or None."""
        place = self.ring - BASE + self.reaped % (1 << self.ring_log2) * TP.TP_COMPLETION_BYTES
        entry = COMPLETION.unpack(int.from_bytes(self.bench.host.memory[place : place + TP.TP_COMPLETION_BYTES], "little"))
        flags = FLAGS.unpack(entry.pop("flags"))
        if flags["phase"] == (self.reaped >> self.ring_log2 & 1):
            return None
        assert not flags["reserved"]
        self.reaped += 1
        return entry | dict(start=flags["start"])

    async def wait(self, cycles=200000):
        for _ in range(cycles):
            entry = self.reap()
            if entry:
                return entry
            await RisingEdge(self.bench.dut.clk)
        raise AssertionError(f"channel {self.index}: no completion in {cycles} cycles; reaped {self.reaped}")


def pieces(bench: Bench, size: int, access: bytearray):
    """Random pieces for `size` bytes and the table that lists them; returns (table address, [(address, bytes)])."""
    rng, cuts = bench.rng, []
    left = size
    while left:
        n = min(left, rng.choice([1, 3, 16, 100, 513, 4096]))
        if rng.random() < 0.1:
            cuts.append((bench.room(1), 0))
        cuts.append((bench.room(n), n))
        left -= n
    for address, n in cuts:
        bench.allow(access, address, n)
    cuts = cuts or [(bench.room(1), 0)]
    # Tables of a few entries, chained.
    tables, rest = [], list(cuts)
    while rest:
        count = rng.choice([1, 3, 7])
        tables.append((bench.room(16 * 8, align=16), rest[:count]))
        rest = rest[count:]
    for i, (table, part) in enumerate(tables):
        last = i == len(tables) - 1
        entries = [(address, n, dict(last=int(last and k == len(part) - 1))) for k, (address, n) in enumerate(part)]
        if not last:
            entries.append((tables[i + 1][0], rng.randrange(1 << 32), dict(chain=1)))
        image = b"".join(
            ENTRY.pack(address=address, length=n, control=LIST_CONTROL.pack(**flags)).to_bytes(TP.TP_LIST_ENTRY_BYTES, "little")
            for address, n, flags in entries
        )
        bench.host.memory[table - BASE : table - BASE + len(image)] = image
        end = table + len(image) - 16  # the card reads to the end of the aligned 64 bytes that hold the last entry
        bench.allow(bench.host.readable, table, (end // 64 + 1) * 64 - table)
    return tables[0][0], cuts
