# SPDX-License-Identifier: Apache-2.0
"""Kind `buffer`: frames of random lengths at random paces through both halves, right and wrong ones, with resets: a cocotb module,
started by test_buffer.

The core must see each frame whole, for as long as it looks, and nothing of one that is refused; what it has done must go out as it was.
"""

from collections import deque

import cocotb
from bench import generator
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, RisingEdge

FRAMES = 250
DONE, TOO_LONG = 0, 1


class Bench:
    def __init__(self, dut, what):
        self.dut, self.rng = dut, generator(what)
        self.keep, self.bytes = len(dut.s_tkeep), int(dut.BYTES.value)
        self.verdicts, self.messages = deque(), deque()
        self.taking = self.judging = 1.0
        self.beats = self.gaps = 0  # taken from the channel; clocks without a beat for a reader that was ready

    async def start(self):
        dut = self.dut
        zeros = ("s_tvalid", "s_tlast", "s_error", "s_reset", "m_reset", "m_tready", "end_ready", "core_in_done", "core_in_row")
        for name in (*zeros, "core_out_write", "core_out_done", "core_out_bytes", "core_out_row", "rst_n"):
            getattr(dut, name).value = 0
        cocotb.start_soon(Clock(dut.clk, 4000, unit="ps").start())
        await ClockCycles(dut.clk, 4)
        dut.rst_n.value = 1
        await ClockCycles(dut.clk, 2)
        cocotb.start_soon(self.collect())

    async def collect(self):
        dut, rng = self.dut, self.rng
        message, about, offered = b"", None, None
        while True:
            await FallingEdge(dut.clk)
            dut.m_tready.value, dut.end_ready.value = rng.random() < self.taking, rng.random() < self.judging
            await RisingEdge(dut.clk)
            self.beats += int(dut.s_tvalid.value) & int(dut.s_tready.value)
            if dut.end_valid.value and dut.end_ready.value and not dut.s_reset.value:
                self.verdicts.append(int(dut.end_status.value))
            if dut.m_reset.value:
                message, about, offered = b"", None, None
            elif dut.m_tvalid.value:
                bits = int(dut.m_tdata.value), int(dut.m_tkeep.value), int(dut.m_tlast.value)
                assert offered in (None, bits), "a beat changed while it waited"
                said = int(dut.m_user.value), int(dut.m_length.value)
                assert about in (None, said), f"attributes changed from {about} to {said} in a message"
                offered, about = bits, said
                if dut.m_tready.value:
                    count = bits[1].bit_count()
                    assert bits[1] == (1 << count) - 1 and (bits[2] or count == self.keep), f"tkeep {bits[1]:b}"
                    message, offered = message + bits[0].to_bytes(self.keep, "little")[:count], None
                    if bits[2]:
                        assert said[1] == len(message), f"{said[1]} bytes were announced of {len(message)}"
                        self.messages.append((message, said[0]))
                        message, about = b"", None
            else:
                assert offered is None, "a beat was taken back"
                self.gaps += int(dut.m_tready.value)

    async def until(self, done, what, clocks=20_000):
        for _ in range(clocks):
            if done():
                return
            await RisingEdge(self.dut.clk)
        raise AssertionError(f"{what} never came")

    async def send(self, data, user=0, *, error=0, late=False, busy=1.0, stop=None):
        """One message; `late`: if its last beat is full, its end comes in one without bytes. With `stop` it is left after so many beats."""
        dut, keep = self.dut, self.keep
        parts = [data[i : i + keep] for i in range(0, len(data), keep)] or [b""]
        if late and len(parts[-1]) == keep:
            parts.append(b"")
        for number, part in enumerate(parts[:stop]):
            await FallingEdge(dut.clk)
            while self.rng.random() >= busy:
                dut.s_tvalid.value = 0
                await FallingEdge(dut.clk)
            last = number == len(parts) - 1
            dut.s_tdata.value = int.from_bytes(part + self.rng.randbytes(keep - len(part)), "little")
            dut.s_tkeep.value, dut.s_tlast.value, dut.s_error.value = (1 << len(part)) - 1, last, error and last
            dut.s_user.value, dut.s_tvalid.value = user, 1
            await RisingEdge(dut.clk)
            while not dut.s_tready.value:
                await RisingEdge(dut.clk)
        await FallingEdge(dut.clk)
        dut.s_tvalid.value = 0

    async def look(self):
        """The frame that the core sees, read by rows in a random order, a row a clock, some twice. It ends behind a falling edge."""
        dut, rng, keep = self.dut, self.rng, self.keep
        await self.until(lambda: dut.core_in_valid.value, "a frame")
        await FallingEdge(dut.clk)
        size, user = int(dut.core_in_bytes.value), int(dut.core_in_user.value)
        rows = list(range((size + keep - 1) // keep))
        rng.shuffle(rows)
        rows += rng.sample(rows, min(3, len(rows)))
        seen = {}
        for n in range(len(rows) + 2):
            if n < len(rows):
                dut.core_in_row.value = rows[n]
            if n >= 2:
                data = int(dut.core_in_data.value).to_bytes(keep, "little")
                assert seen.setdefault(rows[n - 2], data) == data, "a row changed"
            await FallingEdge(dut.clk)
            assert dut.core_in_valid.value and int(dut.core_in_bytes.value) == size and int(dut.core_in_user.value) == user
        return b"".join(seen[row] for row in sorted(seen))[:size], user

    async def done(self):
        self.dut.core_in_done.value = 1
        await FallingEdge(self.dut.clk)
        self.dut.core_in_done.value = 0

    def frame(self):
        """Random bytes: empty, short, whole, and of any length up to the most."""
        rng, most = self.rng, self.bytes
        return rng.randbytes(
            rng.choice((0, 1, self.keep, rng.randrange(min(3 * self.keep, most)), most, most - 1, rng.randrange(most + 1)))
        )

    async def make(self, data, size, user):
        """One frame C2H, its rows in a random order, and rubbish in others; done with the last row or later."""
        dut, rng, keep = self.dut, self.rng, self.keep
        rows = {n: data[n * keep : (n + 1) * keep].ljust(keep, b"\x55") for n in range((len(data) + keep - 1) // keep)}
        order = [*rows]
        rng.shuffle(order)
        writes = [(rng.randrange(self.bytes // keep), rng.randbytes(keep)) for _ in range(rng.randrange(3))] + [(n, rows[n]) for n in order]
        while not dut.core_out_free.value:
            # What is written now is not taken, nor is `done`: the half belongs to the channel.
            dut.core_out_write.value, dut.core_out_done.value = rng.random() < 0.5, rng.random() < 0.5
            dut.core_out_row.value, dut.core_out_data.value = rng.randrange(self.bytes // keep), 0
            await RisingEdge(dut.clk)
            assert not dut.core_out_free.value
            await FallingEdge(dut.clk)
            dut.core_out_write.value = dut.core_out_done.value = 0
        late = not writes or rng.random() < 0.3
        for n, (row, part) in enumerate(writes):
            dut.core_out_row.value, dut.core_out_data.value = row, int.from_bytes(part, "little")
            dut.core_out_write.value = 1
            if n == len(writes) - 1 and not late:
                dut.core_out_done.value, dut.core_out_bytes.value, dut.core_out_user.value = 1, size, user
            await FallingEdge(dut.clk)
            dut.core_out_write.value = dut.core_out_done.value = 0
        if late:
            await ClockCycles(dut.clk, rng.randrange(1, 4), FallingEdge)
            dut.core_out_done.value, dut.core_out_bytes.value, dut.core_out_user.value = 1, size, user
            await FallingEdge(dut.clk)
        dut.core_out_done.value = 0


@cocotb.test()
async def frames_in(dut):
    """Frames of all lengths; those that are too long or cut are not seen by the core."""
    bench = Bench(dut, "frames in")
    await bench.start()
    rng, due, verdicts, seen = bench.rng, [], [], []

    async def core():
        while True:
            seen.append(await bench.look())
            await ClockCycles(dut.clk, rng.choice((0, 0, rng.randrange(200))) + 1, FallingEdge)
            await bench.done()
            if rng.random() < 0.5:
                await ClockCycles(dut.clk, rng.randrange(1, 20), FallingEdge)

    task = cocotb.start_soon(core())
    for _ in range(FRAMES):
        bench.judging = rng.choice((1.0, 1.0, 0.2))
        data, error, user = bench.frame(), int(rng.random() < 0.1), rng.randrange(1 << 32)
        if rng.random() < 0.2:
            data = rng.randbytes(bench.bytes + rng.choice((1, bench.keep, rng.randrange(1, 3 * bench.bytes))))
        await bench.send(data, user, error=error, late=rng.random() < 0.3, busy=rng.choice((1.0, 0.5)))
        if not error:
            verdicts.append(DONE if len(data) <= bench.bytes else TOO_LONG)
            if len(data) <= bench.bytes:
                due.append((data, user))
    bench.judging = 1.0
    await bench.until(lambda: len(seen) >= len(due), "the last frame")
    await ClockCycles(dut.clk, 20)
    task.cancel()
    assert seen == due
    assert list(bench.verdicts) == verdicts


@cocotb.test()
async def two_halves(dut):
    """While the core looks at a frame one more is taken, and not a beat of a third."""
    bench = Bench(dut, "two halves")
    await bench.start()
    whole, rows = bench.rng.randbytes(bench.bytes), bench.bytes // bench.keep
    await bench.send(whole, 1)
    await bench.send(bytes(bench.bytes), 2)
    await ClockCycles(dut.clk, 5)
    assert list(bench.verdicts) == [DONE, DONE] and bench.beats == 2 * rows
    third = cocotb.start_soon(bench.send(b"third", 3))
    await ClockCycles(dut.clk, 100, FallingEdge)
    assert bench.beats == 2 * rows
    assert await bench.look() == (whole, 1)
    await bench.done()
    assert await bench.look() == (bytes(bench.bytes), 2)
    await bench.until(third.done, "the third")
    await FallingEdge(dut.clk)
    await bench.done()
    assert await bench.look() == (b"third", 3)


@cocotb.test()
async def in_reset(dut):
    """A reset forgets what the core has not seen, and the frame that it looks at; no verdict comes for what was before."""
    bench = Bench(dut, "in reset")
    await bench.start()
    rng = bench.rng
    for _ in range(60):
        bench.judging = rng.choice((0.0, 1.0))
        for _ in range(rng.randrange(2 if bench.judging == 0.0 else 3)):
            await bench.send(bench.frame(), 7)
        torn = cocotb.start_soon(bench.send(rng.randbytes(bench.bytes), 8, stop=rng.randrange(1, bench.bytes // bench.keep)))
        await ClockCycles(dut.clk, rng.randrange(1, bench.bytes // bench.keep + 5), FallingEdge)
        torn.cancel()
        dut.s_reset.value, dut.s_tvalid.value = 1, 0
        await RisingEdge(dut.clk)
        assert not dut.core_in_valid.value
        await FallingEdge(dut.clk)
        dut.s_reset.value = 0
        bench.verdicts.clear()
        bench.judging = 1.0
        data = bench.frame()
        await bench.send(data, 9)
        assert await bench.look() == (data, 9)
        await bench.done()
        await ClockCycles(dut.clk, 5, FallingEdge)
        assert list(bench.verdicts) == [DONE] and not dut.core_in_valid.value


@cocotb.test()
async def frames_out(dut):
    """Frames of all lengths; one with more bytes than there are is cut there."""
    bench = Bench(dut, "frames out")
    await bench.start()
    rng, due = bench.rng, []
    await FallingEdge(dut.clk)
    for _ in range(FRAMES):
        bench.taking = rng.choice((1.0, 1.0, 0.5, 0.1))
        data, user = bench.frame(), rng.randrange(1 << 32)
        size = len(data) if len(data) < bench.bytes else rng.choice((bench.bytes, bench.bytes + 1, 3 * bench.bytes, (1 << 32) - 1))
        await bench.make(data, size, user)
        due.append((data, user))
        await ClockCycles(dut.clk, rng.choice((0, 0, rng.randrange(100))) + 1, FallingEdge)
    bench.taking = 1.0
    await bench.until(lambda: len(bench.messages) >= len(due), "the last message")
    await ClockCycles(dut.clk, 20)
    assert list(bench.messages) == due


@cocotb.test()
async def out_rate(dut):
    """A row a clock, and none lost between two frames."""
    bench = Bench(dut, "out rate")
    await bench.start()
    bench.taking = 0.0
    await FallingEdge(dut.clk)
    for _ in range(2):
        await bench.make(bytes(bench.bytes), bench.bytes, 1)
    await ClockCycles(dut.clk, 5)
    bench.taking, bench.gaps = 1.0, 0
    await bench.until(lambda: len(bench.messages) == 2, "two frames")
    assert bench.gaps == 0


@cocotb.test()
async def out_reset(dut):
    """A reset forgets frames that are done; the half that the core writes stays its own, with what is in it."""
    bench = Bench(dut, "out reset")
    await bench.start()
    rng, rows = bench.rng, bench.bytes // bench.keep
    for _ in range(60):
        bench.taking = rng.choice((0.0, 0.3, 1.0))
        await FallingEdge(dut.clk)
        await bench.make(b"\x11" * bench.bytes, bench.bytes, 1)
        # One half at least is the core's: its rows are written before, in and after the reset.
        data, at = rng.randbytes(bench.bytes), rng.randrange(rows - 1)
        for n in range(rows):
            dut.core_out_row.value = n
            dut.core_out_data.value = int.from_bytes(data[n * bench.keep : (n + 1) * bench.keep], "little")
            dut.core_out_write.value, dut.m_reset.value = 1, n == at
            dut.core_out_done.value, dut.core_out_bytes.value, dut.core_out_user.value = n == rows - 1, bench.bytes, 2
            if n == at:
                bench.taking = 1.0
            await FallingEdge(dut.clk)
            if n == at:
                bench.messages.clear()
        dut.core_out_write.value = dut.core_out_done.value = 0
        await bench.until(lambda: bench.messages, "the frame", 20 * rows)
        await ClockCycles(dut.clk, 3 * rows)
        assert list(bench.messages) == [(data, 2)]
        # One that is done in the reset is forgotten, and its half is the core's again.
        await FallingEdge(dut.clk)
        dut.core_out_done.value = dut.m_reset.value = 1
        await FallingEdge(dut.clk)
        dut.core_out_done.value = dut.m_reset.value = 0
        bench.messages.clear()
        await bench.make(data[:5], 5, 3)
        await bench.until(lambda: bench.messages, "a short frame", 100)
        await ClockCycles(dut.clk, 3 * rows)
        assert list(bench.messages) == [(data[:5], 3)]
        bench.messages.clear()
