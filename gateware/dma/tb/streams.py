# SPDX-License-Identifier: Apache-2.0
"""The user core beside the data mover, and transfers of which every byte is accounted for."""

import cocotb
from bench import TP
from cocotb.triggers import ClockCycles, RisingEdge
from mover import DIRECT, DONE, RING_LOG2, Bench, Channel

from host import BASE


async def sink(bench: Bench, got: list, stall: float):
    """All H2C channels of the user core."""
    dut, rng, keep = bench.dut, bench.rng, bench.width // 8
    current = [bytearray() for _ in range(bench.h2c)]
    while True:
        ready = sum(int(rng.random() >= stall) << c for c in range(bench.h2c))
        dut.h2c_tready.value = ready
        await RisingEdge(dut.clk)
        moved = int(dut.h2c_tvalid.value) & ready
        if moved:
            data, keeps, lasts = int(dut.h2c_tdata.value), int(dut.h2c_tkeep.value), int(dut.h2c_tlast.value)
            for c in range(bench.h2c):
                if not moved >> c & 1:
                    continue
                k, last = keeps >> c * keep & (1 << keep) - 1, lasts >> c & 1
                assert k & (k + 1) == 0, f"tkeep {k:b} has holes"
                assert last or k == (1 << keep) - 1, f"tkeep {k:b} in the middle of a message"
                assert not int(dut.h2c_error.value) >> c & 1
                current[c] += (data >> c * bench.width & (1 << bench.width) - 1).to_bytes(keep, "little")[: k.bit_length()]
                got[c][1] = current[c]
                if last:
                    length = int(dut.h2c_length.value) >> 64 * c & (1 << 64) - 1
                    offset = int(dut.h2c_offset.value) >> 64 * c & (1 << 64) - 1
                    user = int(dut.h2c_user.value) >> 32 * c & (1 << 32) - 1
                    got[c][0].append((bytes(current[c]), (length, offset, user)))
                    current[c] = bytearray()
                    got[c][1] = current[c]


async def source(bench: Bench, feeds: list, stall: float):
    """All C2H channels of the user core: each feed is a list of (message, length, offset, user)."""
    dut, rng, keep = bench.dut, bench.rng, bench.width // 8
    beats = [[] for _ in range(bench.c2h)]
    shown = [None] * bench.c2h
    while True:
        valid = data = keeps = lasts = lengths = offsets = users = 0
        for c in range(bench.c2h):
            if not beats[c] and feeds[c]:
                m, *head = feeds[c].pop(0)
                step = [m[i : i + keep] for i in range(0, len(m), keep)] or [b""]
                if len(step[-1]) == keep and rng.random() < 0.2:
                    step.append(b"")  # the end comes late, by itself
                beats[c] = [(b, i == len(step) - 1, head) for i, b in enumerate(step)]
            if shown[c] is None and beats[c] and rng.random() >= stall:
                shown[c] = beats[c].pop(0)
            if shown[c]:
                b, last, (length, offset, user) = shown[c]
                valid |= 1 << c
                data |= int.from_bytes(b, "little") << c * bench.width
                keeps |= (1 << len(b)) - 1 << c * keep
                lasts |= int(last) << c
                lengths |= length << 48 * c
                offsets |= offset << 32 * c
                users |= user << 32 * c
        names = ("tvalid", "tdata", "tkeep", "tlast", "length", "offset", "user")
        for name, value in zip(names, (valid, data, keeps, lasts, lengths, offsets, users), strict=True):
            getattr(dut, f"c2h_{name}").value = value
        await RisingEdge(dut.clk)
        moved = int(dut.c2h_tready.value) & valid
        for c in range(bench.c2h):
            if moved >> c & 1:
                shown[c] = None


class Streams:
    """The user core of every channel: what it sends and takes, each channel's from its last reset on."""

    def __init__(self, bench: Bench):
        self.bench, self.stall = bench, bench.rng.choice([0, 0.3, 0.7])
        self.takes = True  # the core
        self.sent = [bytearray() for _ in range(bench.c2h)]  # accepted beats of one message without an end
        self.taken = [bytearray() for _ in range(bench.h2c)]
        bench.tasks.append(cocotb.start_soon(self.run()))

    async def run(self):
        bench, dut, rng, keep = self.bench, self.bench.dut, self.bench.rng, self.bench.width // 8
        beats = [rng.randbytes(keep) for _ in self.sent]
        dut.c2h_tkeep.value = (1 << bench.c2h * keep) - 1
        dut.c2h_tlast.value = 0
        valid = 0
        while True:
            valid = sum(int(valid >> c & 1 or rng.random() >= self.stall) << c for c in range(bench.c2h))
            ready = sum(int(self.takes and rng.random() >= self.stall) << c for c in range(bench.h2c))
            dut.c2h_tvalid.value, dut.h2c_tready.value = valid, ready
            dut.c2h_tdata.value = int.from_bytes(b"".join(beats), "little")
            await RisingEdge(dut.clk)
            moved = int(dut.c2h_tready.value) & valid
            valid &= ~moved
            for c in range(bench.c2h):
                if moved >> c & 1:
                    self.sent[c] += beats[c]
                    beats[c] = rng.randbytes(keep)
                if int(dut.c2h_reset.value) >> c & 1:
                    self.sent[c].clear()
            moved = int(dut.h2c_tvalid.value) & ready
            data, keeps = int(dut.h2c_tdata.value), int(dut.h2c_tkeep.value)
            for c in range(bench.h2c):
                if moved >> c & 1:
                    count = (keeps >> c * keep & (1 << keep) - 1).bit_length()
                    self.taken[c] += (data >> c * bench.width & (1 << bench.width) - 1).to_bytes(keep, "little")[:count]
                if int(dut.h2c_reset.value) >> c & 1:
                    self.taken[c].clear()


class Transfers:
    """Descriptors of one channel, and what must have become of their bytes."""

    def __init__(self, bench: Bench, streams: Streams, index: int):
        self.bench, self.streams, self.channel = bench, streams, Channel(bench, index)
        self.posted, self.moved = [], bytearray()

    def post(self, size: int):
        bench, index = self.bench, self.channel.index
        h2c = index < bench.h2c
        address = bench.room(size)
        memory = bench.host.memory
        bench.allow(bench.host.readable if h2c else bench.host.writable, address, size)
        if h2c:
            memory[address - BASE : address - BASE + size] = bench.rng.randbytes(size)
        self.posted.append((address, size))
        bench.push(index, DIRECT, address, size, len(self.posted), 1)

    async def end(self, *allowed: int):
        """Wait for the oldest one; note the bytes that it moved."""
        entry = await self.channel.wait(20_000)
        address, size = self.posted.pop(0)
        assert entry["status"] in allowed and (entry["bytes"] == size or entry["status"] != DONE), entry
        self.moved += self.bench.host.memory[address - BASE : address - BASE + entry["bytes"]]

    def compare(self):
        index = self.channel.index
        if index < self.bench.h2c:
            assert self.streams.taken[index] == self.moved, f"channel {index}: the core got other bytes than have landed"
        else:
            assert self.streams.sent[index - self.bench.h2c].startswith(self.moved), f"channel {index}: not what the core sent"

    def forbid(self):
        """Its ring and its buffers belong to somebody else now."""
        for address, size in self.posted:
            self.bench.allow(self.bench.host.writable, address, size, 0)
            self.bench.allow(self.bench.host.readable, address, size, 0)
        self.bench.allow(self.bench.host.writable, self.channel.ring, TP.TP_COMPLETION_BYTES << RING_LOG2, 0)


async def reset_channels(bench: Bench, channels: list, clocks: int):
    """Reset them; each must end within so many clocks, once all reads have been answered."""
    for c in channels:
        bench.priv(c, TP.TP_CHANNEL_RESET_OFFSET, TP.TP_CHANNEL_RESET_RESET_MASK)
    await bench.rung()
    while bench.host.pending:
        await RisingEdge(bench.dut.clk)
    await ClockCycles(bench.dut.clk, clocks)
    for c in channels:
        assert not await bench.read(c, TP.TP_CHANNEL_STATUS_OFFSET) & TP.TP_CHANNEL_STATUS_RESETTING_MASK, (
            f"channel {c}: its reset does not end"
        )
