# SPDX-License-Identifier: Apache-2.0
"""A source that never waits, before a reader of any pace: a cocotb module, started by test_stream.py."""

import cocotb
from bench import generator
from cocotb.triggers import Timer

EMPTY = (0, 0, 1, 0)  # data, keep, last, side: a beat without bytes


class Buffer:
    def __init__(self, dut, what):
        self.dut, self.rng = dut, generator(what)
        self.depth, self.resume, self.ends = (int(getattr(dut, name).value) for name in ("DEPTH", "RESUME", "ENDS"))
        self.number = 0
        self.inside = False  # the source is in a message
        self.reset()

    def reset(self, skips=False):
        self.expected = []  # what the reader is to get
        self.open = False  # the last of it did not end its message
        self.dropping, self.skips = False, skips
        self.taken = self.losses = 0

    async def start(self):
        for name in ("clk", "rst_n", "flush", "s_tvalid", "s_tdata", "s_tkeep", "s_tlast", "s_side", "m_tready"):
            getattr(self.dut, name).value = 0
        for _ in range(3):
            await self.edge()
        self.dut.rst_n.value = 1

    async def edge(self):
        self.dut.clk.value = 1
        await Timer(1, "ns")
        self.dut.clk.value = 0
        await Timer(1, "ns")

    async def clock(self, eager_in, eager_out, flush=False):
        dut = self.dut
        given = self.rng.random() < eager_in
        last = self.ends and self.rng.random() < 0.2
        self.number = (self.number + 1) % 65536
        beat = (self.number, 1 if last and self.rng.random() < 0.5 else 3, int(last), self.number % 16)
        dut.s_tvalid.value, dut.m_tready.value, dut.flush.value = given, self.rng.random() < eager_out, flush
        dut.s_tdata.value, dut.s_tkeep.value, dut.s_tlast.value, dut.s_side.value = beat
        await Timer(1, "ns")
        lost = dut.lost.value == 1
        if flush:
            assert dut.m_tvalid.value == 0 and not lost
        elif dut.m_tvalid.value == 1 and dut.m_tready.value == 1:
            got = tuple(int(getattr(dut, name).value) for name in ("m_tdata", "m_tkeep", "m_tlast", "m_side"))
            assert self.expected, f"{got} has not been given, or not yet"
            want = self.expected.pop(0)
            assert got[1:3] == want[1:3] and (got == want or want == EMPTY), f"{got}, and {want} was next"
            self.taken += 1
        if not flush:
            self.source(beat, given, lost)
        if given:
            self.inside = not last
        if flush:
            self.reset(skips=bool(self.ends) and self.inside)
        await self.edge()

    def source(self, beat, given, lost):
        if self.dropping:
            assert not lost
            return
        if not given:
            assert not lost
            return
        if self.skips:
            assert not lost, "what is not wanted is not lost"
            self.skips = not beat[2]
            return
        if lost:
            assert len(self.expected) >= self.depth, f"no room beside {len(self.expected)} of {self.depth}"
            self.losses += 1
            self.dropping = True
            return
        self.expected.append(beat)
        self.open = not beat[2]

    async def step(self, eager_in, eager_out):
        """A clock, and what follows from the end of a loss in it."""
        was = self.dropping
        await self.clock(eager_in, eager_out)
        if was and self.dropping and self.dut.dropping.value == 0:
            assert self.resume, "nothing but a flush ends this"
            assert not self.expected, "all that was held is taken first"
            self.expected = [EMPTY, EMPTY] if self.open else [EMPTY]
            self.open = self.dropping = False
            self.skips = bool(self.ends) and self.inside


@cocotb.test()
async def what_finds_room_arrives_and_a_loss_is_told(dut):
    buffer = Buffer(dut, "losses")
    await buffer.start()
    for _ in range(40):
        buffer_in, buffer_out = buffer.rng.choice([(1, 0.5), (0.3, 1), (0.9, 0.05), (1, 0), (0.5, 0.6), (0.1, 0.05)])
        for _ in range(buffer.rng.randint(1, 120)):
            await buffer.step(buffer_in, buffer_out)
        if not buffer.resume and buffer.losses:
            # It stands still, with what came before the loss.
            while buffer.expected:
                await buffer.step(1, 0.7)
            for _ in range(20):
                await buffer.step(1, 1)
            for _ in range(buffer.rng.randint(1, 3)):
                await buffer.clock(0.8, 0.5, flush=True)
    dut.flush.value = 0
    assert buffer.number > 500


@cocotb.test()
async def a_flush_forgets(dut):
    buffer = Buffer(dut, "flushes")
    await buffer.start()
    for _ in range(60):
        for _ in range(buffer.rng.randint(0, 40)):
            await buffer.step(0.7, buffer.rng.choice([0, 0.5, 1]))
        for _ in range(buffer.rng.randint(1, 3)):
            await buffer.clock(0.7, 0.5, flush=True)
        # All that comes finds room.
        for _ in range(buffer.depth):
            await buffer.step(0.7, 0)
        while buffer.expected:
            await buffer.step(0, 0.9)
        assert not buffer.losses
