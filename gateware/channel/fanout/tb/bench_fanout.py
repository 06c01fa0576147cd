# SPDX-License-Identifier: Apache-2.0
"""Kind `fanout`: messages of random tags at random paces through both halves, right and wrong ones, with resets: a cocotb module,
started by test_fanout.

Each port must have its own messages, whole and in order, and nothing else; the channel stops for a full port, and for nothing else.
"""

from collections import deque

import cocotb
from bench import generator
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, RisingEdge

MESSAGES = 300
DONE, NO_PORT = 0, 1


class Bench:
    """What comes is in queues: (bytes, error) of each port in `ports`, (tag, bytes) in `messages`, statuses in `verdicts`."""

    def __init__(self, dut, what):
        self.dut, self.rng = dut, generator(what)
        self.count, self.keep = len(dut.in_tvalid), len(dut.s_tkeep)
        self.depth = int(dut.DEPTH.value)
        self.ports = [deque() for _ in range(self.count)]
        self.partial = [b""] * self.count
        self.messages, self.verdicts = deque(), deque()
        self.pace = [1.0] * self.count  # at which the core takes beats
        self.taking = self.judging = 1.0
        self.beats = 0  # that the channel took
        self.at_core = [0] * self.count  # beats that the core took
        self.gaps = 0  # clocks in which the channel C2H had nothing, and its reader was ready
        self.slots = [None] * self.count  # what each port offers C2H

    async def start(self):
        dut = self.dut
        zeros = ("s_tvalid", "s_tlast", "s_error", "s_reset", "m_reset", "m_tready", "end_ready")
        for name in (*zeros, "in_tready", "out_tvalid", "out_tlast"):
            getattr(dut, name).value = 0
        dut.rst_n.value = 0
        cocotb.start_soon(Clock(dut.clk, 4000, unit="ps").start())
        await ClockCycles(dut.clk, 4)
        dut.rst_n.value = 1
        await ClockCycles(dut.clk, 2)
        cocotb.start_soon(self.collect())

    def lanes(self, data, keep, last):
        count = keep.bit_count()
        assert keep == (1 << count) - 1 and (last or count == self.keep), f"tkeep {keep:b}, tlast {last}"
        return data.to_bytes(self.keep, "little")[:count]

    async def collect(self):
        """All that comes out, at its pace; offers stand until they are taken, but for a reset."""
        dut, rng, width = self.dut, self.rng, 8 * self.keep
        message, tag, offered = b"", None, [None] * (self.count + 1)
        while True:
            await FallingEdge(dut.clk)
            dut.in_tready.value = sum((rng.random() < pace) << p for p, pace in enumerate(self.pace))
            dut.m_tready.value, dut.end_ready.value = rng.random() < self.taking, rng.random() < self.judging
            await RisingEdge(dut.clk)
            assert dut.in_reset.value == dut.s_reset.value and dut.out_reset.value == dut.m_reset.value
            self.beats += int(dut.s_tvalid.value) & int(dut.s_tready.value)
            if dut.end_valid.value and dut.end_ready.value and not dut.s_reset.value:
                self.verdicts.append(int(dut.end_status.value))
            valid, ready = int(dut.in_tvalid.value), int(dut.in_tready.value)
            data, keep = int(dut.in_tdata.value), int(dut.in_tkeep.value)
            last, error = int(dut.in_tlast.value), int(dut.in_error.value)
            if dut.s_reset.value:
                assert not valid, "a beat in a reset"
                self.partial, offered[: self.count] = [b""] * self.count, [None] * self.count
            for p in range(self.count):
                if not valid >> p & 1:
                    assert offered[p] is None or dut.s_reset.value, f"port {p}: a beat was taken back"
                    continue
                bits = data >> (p * width) & (1 << width) - 1, keep >> (p * self.keep) & (1 << self.keep) - 1, last >> p & 1, error >> p & 1
                assert offered[p] in (None, bits), f"port {p}: a beat changed while it waited"
                offered[p] = bits
                if ready >> p & 1:
                    offered[p] = None
                    self.at_core[p] += 1
                    self.partial[p] += self.lanes(*bits[:3])
                    assert bits[2] or not bits[3], "an error within a message"
                    if bits[2]:
                        self.ports[p].append((self.partial[p], bits[3]))
                        self.partial[p] = b""
            if dut.m_reset.value:
                message, tag, offered[-1] = b"", None, None
            elif dut.m_tvalid.value:
                bits = int(dut.m_tdata.value), int(dut.m_tkeep.value), int(dut.m_tlast.value)
                assert offered[-1] in (None, bits), "a beat changed while it waited"
                offered[-1] = bits
                user = int(dut.m_user.value)
                assert tag in (None, user), f"the user word changed from {tag} to {user} in a message"
                if dut.m_tready.value:
                    offered[-1], tag = None, user
                    message += self.lanes(*bits)
                    if bits[2]:
                        self.messages.append((tag, message))
                        message, tag = b"", None
            else:
                assert offered[-1] is None, "a beat was taken back"
                self.gaps += int(dut.m_tready.value)

    async def until(self, done, what, clocks=50_000):
        for _ in range(clocks):
            if done():
                return
            await RisingEdge(self.dut.clk)
        raise AssertionError(f"{what} never came")

    def parts(self, data, late):
        """The beats of a message; `late`: if its last is full, the end comes in one without bytes."""
        parts = [data[i : i + self.keep] for i in range(0, len(data), self.keep)] or [b""]
        return [*parts, b""] if late and len(parts[-1]) == self.keep else parts

    def pad(self, part):
        return int.from_bytes(part + self.rng.randbytes(self.keep - len(part)), "little")

    async def send(self, tag, data, *, error=0, late=False, busy=1.0, stop=None):
        """One message H2C; with `stop` it is left after so many beats."""
        dut, parts = self.dut, self.parts(data, late)
        for number, part in enumerate(parts[:stop]):
            await FallingEdge(dut.clk)
            while self.rng.random() >= busy:
                dut.s_tvalid.value = 0
                await FallingEdge(dut.clk)
            last = number == len(parts) - 1
            dut.s_tdata.value, dut.s_tkeep.value = self.pad(part), (1 << len(part)) - 1
            dut.s_tlast.value, dut.s_error.value, dut.s_user.value, dut.s_tvalid.value = last, error and last, tag, 1
            await RisingEdge(dut.clk)
            while not dut.s_tready.value:
                await RisingEdge(dut.clk)
        await FallingEdge(dut.clk)
        dut.s_tvalid.value = 0

    async def offer(self):
        """The ports' beats C2H, from `slots`: each a list of (bytes, last), of which the first is offered; None: nothing."""
        dut, width = self.dut, 8 * self.keep
        while True:
            await FallingEdge(dut.clk)
            data = keep = last = valid = 0
            for p, slot in enumerate(self.slots):
                if slot:
                    part, end = slot[0]
                    # Lanes that do not count are ones for as long as the beat stands.
                    data |= int.from_bytes(part.ljust(self.keep, b"\xff"), "little") << (p * width)
                    keep |= (1 << len(part)) - 1 << (p * self.keep)
                    last, valid = last | end << p, valid | 1 << p
            dut.out_tdata.value, dut.out_tkeep.value, dut.out_tlast.value, dut.out_tvalid.value = data, keep, last, valid
            await RisingEdge(dut.clk)
            taken = valid & int(dut.out_tready.value)
            for p in range(self.count):
                if taken >> p & 1:
                    self.slots[p].pop(0)

    def message(self, most=20):
        """Random bytes: of several beats at most `most`, ends anywhere."""
        rng = self.rng
        keep = self.keep
        return rng.randbytes(rng.choice((0, 1, keep, rng.randrange(3 * keep), keep * rng.randrange(most), rng.randrange(most * keep))))


@cocotb.test()
async def split(dut):
    """Random messages for all ports, for none, and cut ones, while each port's pace changes."""
    bench = Bench(dut, "split")
    await bench.start()
    rng = bench.rng
    due, verdicts = [[] for _ in range(bench.count)], []
    for _ in range(MESSAGES):
        if rng.random() < 0.1:
            bench.pace = [rng.choice((1.0, 1.0, 0.5, 0.05)) for _ in range(bench.count)]
            bench.judging = rng.choice((1.0, 0.5, 0.1))
        tag = rng.randrange(bench.count)
        if rng.random() < 0.15:
            tag = rng.choice((bench.count, rng.randrange(bench.count, 1 << 32), 1 << 31 | tag, (1 << 32) - 1))
        data, error = bench.message(), int(rng.random() < 0.1)
        await bench.send(tag, data, error=error, late=rng.random() < 0.2, busy=rng.choice((1.0, 1.0, 0.5)))
        if tag < bench.count:
            due[tag].append((data, error))
        if not error:
            verdicts.append(DONE if tag < bench.count else NO_PORT)
    bench.pace, bench.judging = [1.0] * bench.count, 1.0
    await bench.until(lambda: all(len(got) >= len(want) for got, want in zip(bench.ports, due, strict=True)), "the last message")
    await ClockCycles(dut.clk, 20)
    for p, (got, want) in enumerate(zip(bench.ports, due, strict=True)):
        assert list(got) == want, f"port {p}"
    assert list(bench.verdicts) == verdicts


@cocotb.test()
async def a_full_port_stops_the_channel(dut):
    """Exactly when it has DEPTH + 2 beats, and the next is for it: beats for others go on until then."""
    bench = Bench(dut, "full")
    await bench.start()
    for slow in range(bench.count):
        bench.pace = [float(p != slow) for p in range(bench.count)]
        for tag in (slow + 1, bench.count):  # another port, if there is one, and none
            other = tag % bench.count if tag < bench.count else tag
            for beat in range(bench.depth + 2):
                await bench.send(slow, bytes([beat]))
                if other != slow:
                    await bench.send(other, b"goes on")
            # Full: others go on still, for as long as they like.
            for _ in range(3 * bench.depth if other != slow else 0):
                await bench.send(other, b"goes on")
            await ClockCycles(dut.clk, 20)
            waits = cocotb.start_soon(bench.send(slow, b"one more"))
            before = bench.beats
            await ClockCycles(dut.clk, 200)
            assert bench.beats == before and not waits.done(), "the FIFO took more than it has room for"
            # Nothing is taken, whatever the others do; one beat that the core takes lets one in.
            taken = bench.at_core[slow]
            bench.pace[slow] = 1.0
            await bench.until(lambda slow=slow, taken=taken: bench.at_core[slow] > taken, "a beat of the slow port")
            bench.pace[slow] = 0.0
            await bench.until(waits.done, "the beat that waited", 50)
            bench.pace[slow] = 1.0
            last = taken + bench.depth + 3
            await bench.until(lambda slow=slow, last=last: bench.at_core[slow] == last, "the slow port's beats")
            due = [*(bytes([n]) for n in range(bench.depth + 2)), b"one more"]
            assert [data for data, _ in bench.ports[slow]][-bench.depth - 3 :] == due
            bench.pace[slow] = 0.0


@cocotb.test()
async def split_rate(dut):
    """A beat a clock within a message and from one to the next; three clocks from the channel to the core's port."""
    bench = Bench(dut, "split rate")
    await bench.start()
    begun, beats = cocotb.utils.get_sim_time("ps"), 0
    for n in range(30):
        await bench.send(n % bench.count, bytes(bench.keep * (n + 1)))
        await RisingEdge(dut.clk)  # `send` leaves a clock free
        beats += n + 2
    assert (cocotb.utils.get_sim_time("ps") - begun) / 4000 <= beats + 2
    await ClockCycles(dut.clk, 10)
    await bench.send(0, b"x")
    clocks = 0
    while not int(dut.in_tvalid.value) & 1:
        await RisingEdge(dut.clk)
        clocks += 1
    assert clocks <= 3


@cocotb.test()
async def split_reset(dut):
    """A reset in a message leaves nothing in any FIFO, and no verdict; what comes next is a message."""
    bench = Bench(dut, "split reset")
    await bench.start()
    rng = bench.rng
    for _ in range(60):
        bench.pace, bench.judging = [rng.choice((0.0, 0.3, 1.0)) for _ in range(bench.count)], rng.choice((0.0, 1.0))
        for tag in range(bench.count):
            if bench.judging:
                await bench.send(tag, rng.randbytes(bench.keep * rng.randrange(1, 4)))
        tag = rng.choice((rng.randrange(bench.count), bench.count))
        await bench.send(tag, bytes(bench.keep * 6), stop=rng.randrange(1, 6))
        await ClockCycles(dut.clk, rng.randrange(1, 5), FallingEdge)
        dut.s_reset.value = 1
        await ClockCycles(dut.clk, rng.randrange(1, 3), FallingEdge)
        dut.s_reset.value = 0
        for queue in (*bench.ports, bench.verdicts):
            queue.clear()
        bench.pace, bench.judging = [1.0] * bench.count, 1.0
        for tag in range(bench.count):
            await bench.send(tag, bytes([tag, 1, 2]))
        await ClockCycles(dut.clk, 20)
        assert [list(port) for port in bench.ports] == [[(bytes([tag, 1, 2]), 0)] for tag in range(bench.count)]
        assert list(bench.verdicts) == [DONE] * bench.count
        for queue in (*bench.ports, bench.verdicts):
            queue.clear()


@cocotb.test()
async def merge(dut):
    """Random messages of all ports; a port that stops in the middle keeps its turn."""
    bench = Bench(dut, "merge")
    await bench.start()
    cocotb.start_soon(bench.offer())
    rng, due = bench.rng, [[] for _ in range(bench.count)]

    async def port(p):
        for _ in range(MESSAGES // bench.count):
            data = bench.message()
            due[p].append(data)
            parts = bench.parts(data, rng.random() < 0.2)
            bench.slots[p] = []
            for n, part in enumerate(parts):
                while bench.slots[p] or rng.random() < 0.1:
                    await FallingEdge(dut.clk)
                bench.slots[p] = [(part, int(n == len(parts) - 1))]
            await ClockCycles(dut.clk, rng.choice((0, 0, 0, 30)) + 1, FallingEdge)
            while bench.slots[p]:
                await FallingEdge(dut.clk)

    ports = [cocotb.start_soon(port(p)) for p in range(bench.count)]
    while not all(task.done() for task in ports):
        bench.taking = rng.choice((1.0, 0.5, 0.05))
        await ClockCycles(dut.clk, 50)
    bench.taking = 1.0
    await bench.until(lambda: len(bench.messages) >= sum(map(len, due)), "the last message")
    await ClockCycles(dut.clk, 20)
    assert [[data for tag, data in bench.messages if tag == p] for p in range(bench.count)] == due
    assert len(bench.messages) == sum(map(len, due))


@cocotb.test()
async def merge_turns(dut):
    """Busy ports are served in turn, without a clock between; one alone waits a clock between its messages."""
    bench = Bench(dut, "merge turns")
    await bench.start()
    cocotb.start_soon(bench.offer())
    bench.taking = 0.0
    rounds = bench.depth // 2
    for p in range(bench.count):
        bench.slots[p] = [(bytes([p] * bench.keep), n % 2) for n in range(2 * rounds)]
    await ClockCycles(dut.clk, 4 * bench.depth)
    bench.taking = 1.0
    await bench.until(lambda: bench.messages, "a message")
    bench.gaps = 0
    await bench.until(lambda: len(bench.messages) == rounds * bench.count, "the last message")
    assert bench.gaps <= (1 if bench.count > 1 else rounds)
    for turn in range(rounds):
        tags = [tag for tag, _ in list(bench.messages)[turn * bench.count : (turn + 1) * bench.count]]
        assert sorted(tags) == list(range(bench.count)), f"turn {turn}: {tags}"


@cocotb.test()
async def merge_reset(dut):
    """A reset in a message leaves nothing of before; what the ports send next are messages."""
    bench = Bench(dut, "merge reset")
    await bench.start()
    cocotb.start_soon(bench.offer())
    rng = bench.rng
    for _ in range(60):
        bench.taking = rng.choice((0.0, 0.5, 1.0))
        for p in range(bench.count):
            bench.slots[p] = [(bytes(bench.keep), 0)] * rng.randrange(0, 6)
        await ClockCycles(dut.clk, rng.randrange(1, 12), FallingEdge)
        dut.m_reset.value = 1
        bench.slots = [None] * bench.count
        await ClockCycles(dut.clk, rng.randrange(2, 4), FallingEdge)
        dut.m_reset.value = 0
        bench.messages.clear()
        bench.taking = 1.0
        for p in range(bench.count):
            bench.slots[p] = [(b"\1" * bench.keep, 0), (bytes([p]), 1)]
        await bench.until(lambda: len(bench.messages) >= bench.count, "the messages after a reset", 200)
        await ClockCycles(dut.clk, 10)
        assert sorted(bench.messages) == [(p, b"\1" * bench.keep + bytes([p])) for p in range(bench.count)]
        bench.messages.clear()
