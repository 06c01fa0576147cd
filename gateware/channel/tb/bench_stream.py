# SPDX-License-Identifier: Apache-2.0
"""Streams at other widths, with random messages, stalls and flushes: a cocotb module, started by test_stream.py."""

import cocotb
from bench import generator
from cocotb.triggers import Timer


class Stream:
    def __init__(self, dut, what):
        self.dut, self.rng = dut, generator(what)
        self.s_keep, self.m_keep = len(dut.s_tkeep), len(dut.m_tkeep)
        self.beats = []  # to be offered: bytes, last, side; the first stands at the input
        self.offered = False
        self.given = bytearray()
        self.got = []  # messages, each with the side of its last beat
        self.eager_in, self.eager_out = 0.7, 0.7

    async def start(self):
        dut = self.dut
        for name in ("clk", "rst_n", "flush", "ended", "bytes", "s_tvalid", "s_tdata", "s_tkeep", "s_tlast", "s_side", "m_tready"):
            getattr(dut, name).value = 0
        for _ in range(3):
            await self.clock()
        dut.rst_n.value = 1

    def message(self, length, number, late=False):
        """A message as beats: full ones, and the last with what is left; a late end stands by itself. Returns its bytes."""
        data = self.rng.randbytes(length)
        parts = [data[i : i + self.s_keep] for i in range(0, length, self.s_keep)]
        if late and parts and len(parts[-1]) == self.s_keep or not parts:
            parts.append(b"")
        self.beats += [(part, i == len(parts) - 1, number % 251) for i, part in enumerate(parts)]
        return data

    async def clock(self):
        """A clock: what is offered, then what was taken and given."""
        dut = self.dut
        self.offered = bool(self.beats) and (self.offered or self.rng.random() < self.eager_in)
        dut.s_tvalid.value = self.offered
        if self.offered:
            data, last, side = self.beats[0]
            junk = self.rng.randbytes(self.s_keep - len(data))  # beside the bytes stands anything
            dut.s_tdata.value = int.from_bytes(data + junk, "little")
            dut.s_tkeep.value = (1 << len(data)) - 1
            dut.s_tlast.value = last
            dut.s_side.value = side
        dut.m_tready.value = self.rng.random() < self.eager_out
        await Timer(1, "ns")
        if dut.rst_n.value == 1 and dut.flush.value == 1:
            assert dut.s_tready.value == 0 and dut.m_tvalid.value == 0, "nothing moves in a flush"
        if self.offered and dut.s_tready.value == 1:
            self.beats.pop(0)
            self.offered = False
        if dut.m_tvalid.value == 1 and dut.m_tready.value == 1:
            keep, last = int(dut.m_tkeep.value), int(dut.m_tlast.value)
            count = keep.bit_count()
            assert keep == (1 << count) - 1, f"holes: {keep:b}"
            assert last or count == self.m_keep, f"a beat of {count} bytes without tlast"
            self.given += int(dut.m_tdata.value).to_bytes(self.m_keep, "little")[:count]
            if last:
                self.got.append((bytes(self.given), int(dut.m_side.value)))
                self.given.clear()
        dut.clk.value = 1
        await Timer(1, "ns")
        dut.clk.value = 0

    async def until(self, count):
        for _ in range(20000):
            if len(self.got) >= count:
                return
            await self.clock()
        raise AssertionError(f"{len(self.got)} of {count} messages came")


@cocotb.test()
async def messages_arrive_whole(dut):
    stream = Stream(dut, "messages")
    await stream.start()
    wide = max(stream.s_keep, stream.m_keep)
    expected = []
    for number in range(240):
        # Around multiples of both widths, empty ones, and ends that come late.
        length = max(0, stream.rng.choice([0, 1, stream.s_keep, stream.m_keep, wide, 3 * wide]) + stream.rng.randint(-1, 1))
        expected.append((stream.message(length, number, late=stream.rng.random() < 0.3), number % 251))
        if number % 40 == 0:
            stream.eager_in, stream.eager_out = stream.rng.choice([(1, 1), (0.2, 1), (1, 0.2), (0.6, 0.6)])
        await stream.until(max(0, len(expected) - 3))
    await stream.until(len(expected))
    assert stream.got == expected


@cocotb.test()
async def a_flush_forgets_and_goes_on(dut):
    stream = Stream(dut, "flushes")
    await stream.start()
    for number in range(60):
        stream.message(stream.rng.randint(0, 4 * max(stream.s_keep, stream.m_keep)), number)
        for _ in range(stream.rng.randint(0, 12)):
            await stream.clock()
        # The channel's reset: whatever was under way is gone on both sides.
        dut.flush.value = 1
        for _ in range(stream.rng.randint(1, 3)):
            stream.beats.clear()
            stream.offered = False
            await stream.clock()
        dut.flush.value = 0
        stream.given.clear()
        stream.got.clear()
        data = stream.message(stream.rng.randint(0, 3 * stream.m_keep), 200)
        await stream.until(1)
        assert stream.got == [(data, 200)]


@cocotb.test()
async def ends_by_length(dut):
    stream = Stream(dut, "ends")
    await stream.start()
    dut.ended.value = 1
    for _ in range(60):
        length = stream.rng.choice([1, stream.s_keep, 2 * stream.m_keep, stream.rng.randint(1, 5 * stream.m_keep)])
        dut.bytes.value = length
        data = stream.rng.randbytes(-(-length // stream.s_keep) * stream.s_keep)
        stream.beats += [(data[i : i + stream.s_keep], 0, 7) for i in range(0, len(data), stream.s_keep)]
        stream.got.clear()
        while not stream.got:
            await stream.clock()
            if len(stream.beats) * stream.s_keep < len(data):
                dut.bytes.value = stream.rng.randint(0, 9)  # it counts when the first beat is there, and no more
        assert stream.got == [(data[:length], 7)]
        assert not stream.beats, "a beat is left over"
    # Without a length there are no ends.
    stream.got.clear()
    dut.bytes.value = 0
    data = stream.rng.randbytes(40 * max(stream.s_keep, stream.m_keep))
    stream.beats += [(data[i : i + stream.s_keep], 0, 7) for i in range(0, len(data), stream.s_keep)]
    while stream.beats or len(stream.given) < len(data):
        await stream.clock()
    assert bytes(stream.given) == data and not stream.got
