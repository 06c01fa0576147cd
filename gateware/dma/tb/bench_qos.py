# SPDX-License-Identifier: Apache-2.0
"""Quality of service: what busy channels get of the link by their weights, what a rate lets through, and that nobody waits for it.

The host answers in order at the link's rate and tells channels apart by the addresses that they read and write.
"""

from collections import Counter, deque

import cocotb
from bench import CONFIG, TP, WRITE, generator
from cocotb.triggers import ClockCycles, RisingEdge
from mover import CANCELLED, DIRECT, Bench, Channel

from host import BASE, COMPLETION, READ, Host

SIZE = 1 << 15  # of a buffer
MEASURE = 16000  # clocks
PERIOD = 16384  # clocks, for which who has made the line wait too long is not waited for again
WEIGHT, CLASS, RATE = TP.TP_CHANNEL_WEIGHT_OFFSET, TP.TP_CHANNEL_TRAFFIC_CLASS_OFFSET, TP.TP_CHANNEL_RATE_OFFSET


class Link(Host):
    """Answers reads after `latency` clocks, or a `slow` channel's after its own, a beat a clock, with a clock for each packet's header;
    takes writes likewise."""

    def __init__(self, *arguments, **settings):
        super().__init__(*arguments, **settings)
        self.owners = {}  # buffer -> channel
        self.moved = Counter()  # bytes of data, by channel
        self.classes = {}  # channel -> traffic classes seen
        self.others = set()  # traffic classes of what is nobody's data
        self.slow = {}  # channel -> clocks until its reads are answered
        self.lost = None  # the channel whose next read is never answered

    async def run(self):
        dut, step = self.dut, self.width // 8
        out, posted, cycle, resting = deque(), bytearray(), 0, 0
        while True:
            dut.tx_posted_ready.value = int(not resting)
            dut.tx_read_ready.value = 1
            dut.fire_ready.value = 1
            if not out and self.pending and self.pending[0][0] <= cycle and not self.withheld:
                out.extend(self._answer(step))
            beat = out.popleft() if out else None
            dut.rx_completion_valid.value = int(beat is not None)
            if beat:
                dut.rx_completion_hdr.value, dut.rx_completion_data.value, dut.rx_completion_last.value = beat
                dut.rx_completion_bad.value = 0
            await RisingEdge(dut.clk)
            cycle += 1
            taken = dut.tx_posted_valid.value == 1 and not resting
            resting = 0
            if taken:
                posted += int(dut.tx_posted_data.value).to_bytes(step, "little")
                if dut.tx_posted_last.value == 1:
                    self._count(int(dut.tx_posted_hdr.value), WRITE)
                    self._write(int(dut.tx_posted_hdr.value), posted)
                    posted, resting = bytearray(), 1
            if dut.tx_read_valid.value == 1:
                channel = self._count(int(dut.tx_read_hdr.value), READ)
                self._read(int(dut.tx_read_hdr.value), cycle)
                self.pending[-1][0] = cycle + self.slow.get(channel, self.latency)
                if channel is not None and channel == self.lost:
                    self.lost = None
                    self.pending.pop()  # its tag stays out
                self.pending.sort(key=lambda read: read[0])
            if dut.fire_valid.value == 1:
                self.fires.append(int(dut.fire_vector.value))

    def _count(self, word, layout):
        h = layout.unpack(word)
        channel = self.owners.get((h["addr"] - BASE) // SIZE)
        if channel is None:
            self.others.add(h["tc"])
        else:
            self.moved[channel] += 4 * h["dwords"]
            self.classes.setdefault(channel, set()).add(h["tc"])
        return channel

    def _answer(self, step):
        _, tag, address, left = self.pending.pop(0)
        self.tags.discard(tag)
        while left:
            take = min(left, self.max_payload - address % self.max_payload)
            data = self.memory[self.at(address) : self.at(address) + take]
            header = COMPLETION.pack(tag=tag, dwords=(take + 3) // 4, byte_count=left, lower_addr=address & 0x7F)
            for k in range(0, take, step):
                yield header, int.from_bytes(data[k : k + step], "little"), int(k + step >= take)
            yield None
            address, left = address + take, left - take


class Load:
    """Channels that always have something to move: H2C into cores that take all, C2H from cores that never stop."""

    def __init__(self, dut, rng, payload=256, read=512, latency=250, message=SIZE):
        self.dut, self.message = dut, message
        self.bench = Bench(dut, rng)
        self.host = self.bench.host = Link(dut, rng, self.bench.width, max_payload=payload, max_read=read, latency=latency)
        self.h2c, self.c2h = range(self.bench.h2c), range(self.bench.h2c, self.bench.h2c + self.bench.c2h)
        self.bench.next = 16 * SIZE
        self.out, self.ends = Counter(), {}
        self.tasks = []

    async def start(self, *busy, post=True):
        dut, bench = self.dut, self.bench
        await bench.start()
        self.ends = {c: [] for c in busy}
        self.channels = {c: Channel(bench, c) for c in busy}
        for c in busy:
            self.host.owners[c] = c
            bench.allow(self.host.readable if c in self.h2c else self.host.writable, BASE + c * SIZE, SIZE)
        dut.h2c_tready.value = (1 << bench.h2c) - 1
        dut.c2h_tkeep.value = (1 << bench.c2h * bench.width // 8) - 1
        dut.c2h_tvalid.value = (1 << bench.c2h) - 1
        self.tasks = [cocotb.start_soon(self._post())] if post else []

    async def _post(self):
        depth = int(self.dut.QUEUE_DEPTH.value)
        while True:
            for c, channel in self.channels.items():
                while entry := channel.reap():
                    self.ends[c].append(entry)
                    self.out[c] -= 1
                if self.out[c] < depth and len(self.bench.doorbells) < 4:
                    self.bench.push(c, DIRECT, BASE + c * SIZE, self.message, end=1)
                    self.out[c] += 1
            await RisingEdge(self.dut.clk)

    async def measure(self, cycles, warm=3000) -> Counter:
        """Bytes that each channel moves in so many clocks."""
        await ClockCycles(self.dut.clk, warm)
        before = Counter(self.host.moved)
        await ClockCycles(self.dut.clk, cycles)
        return Counter({c: self.host.moved[c] - before[c] for c in self.channels})

    def stop(self):
        for task in self.tasks:
            task.cancel()
        self.tasks = []
        self.bench.stop()


def off(moved, channels, weights):
    """By how much the worst channel's part of all is off what its weight says."""
    whole = sum(moved[c] for c in channels)
    return max(abs(moved[c] / whole / (w / sum(weights)) - 1) for c, w in zip(channels, weights, strict=True))


def weigh(load, weights):
    for group in (load.h2c, load.c2h):
        for c, weight in zip(group, weights, strict=True):
            load.bench.priv(c, WEIGHT, weight)


@cocotb.test()
async def weights_divide_the_link(dut):
    """Three channels of each direction that are always busy move bytes as their weights are, and together as many as with equal ones."""
    rng = generator("weights_divide_the_link")
    missed = []
    each = ("h2c", "c2h")
    for payload, read, latency, message, weights in (
        (256, 512, 250, SIZE, (1, 2, 5)),
        (128, 128, 250, SIZE, (5, 2, 1)),
        (256, 256, 500, SIZE, (1, 5, 2)),
        (512, 4096, 125, SIZE, (1, 2, 5)),
        (128, 512, 60, 2048, (1, 2, 5)),
        (256, 512, 250, SIZE, (3, 3, 1)),
    ):
        for ways in (*each, "both"):
            load = Load(dut, rng, payload, read, latency, message)
            busy = [*(load.h2c if ways != "c2h" else ()), *(load.c2h if ways != "h2c" else ())]
            await load.start(*busy)
            even = await load.measure(MEASURE)
            weigh(load, weights)
            moved = await load.measure(MEASURE)
            for group in (load.h2c, load.c2h):
                if group[0] in busy:
                    rate, rate_even = sum(moved[c] for c in group) / MEASURE, sum(even[c] for c in group) / MEASURE
                    what = f"{ways} payload {payload} read {read} latency {latency} message {message}, weights {weights}"
                    found = (
                        f"{[moved[c] for c in group]}, {off(moved, group, weights):.2%} off; {rate:.2f} bytes a clock, even {rate_even:.2f}"
                    )
                    print(f"{what}: {found}", flush=True)
                    if off(moved, group, weights) >= 0.02 or rate < 0.98 * rate_even:
                        missed.append(f"{what}: {found}")
            load.stop()
        each = ()
    assert not missed, "\n".join(missed)


@cocotb.test()
async def who_wants_less_leaves_the_rest(dut):
    """The heaviest channel is idle, or its core slow: the others get the rest, by their weights.

    The blocks that wait for a slow core leave fewer to the other H2C channels (ADR 22), and by weights one of these waits for the other: so
    there it is four fifths of what they move with equal weights.
    """
    rng = generator("who_wants_less_leaves_the_rest")
    missed = []
    for slow in (False, True):
        load = Load(dut, rng)
        idle = (load.h2c[2], load.c2h[2])
        await load.start(*(c for c in (*load.h2c, *load.c2h) if slow or c not in idle))
        if slow:
            cocotb.start_soon(slow_cores(dut, load))
        even = await load.measure(MEASURE)
        weigh(load, (1, 2, 5))
        moved = await load.measure(MEASURE)
        for group in (load.h2c, load.c2h):
            rate, rate_even = sum(moved[c] for c in group) / MEASURE, sum(even[c] for c in group) / MEASURE
            found = f"slow {slow}: {[moved[c] for c in group]}, {off(moved, group[:2], (1, 2)):.2%} off"
            found += f"; {rate:.2f} bytes a clock, even {rate_even:.2f}"
            print(found, flush=True)
            if off(moved, group[:2], (1, 2)) >= 0.03 or rate < (0.8 if slow and group is load.h2c else 0.95) * rate_even:
                missed.append(found)
        load.stop()
    assert not missed, "\n".join(missed)


async def slow_cores(dut, load):
    """The core of the last channel of each direction takes, or sends, a beat in 16 clocks."""
    last = 1 << 2
    cycle = 0
    while load.tasks:
        dut.h2c_tready.value = last - 1 | (last if cycle % 16 == 0 else 0)
        dut.c2h_tvalid.value = last - 1 | (last if cycle % 16 == 0 else 0)
        cycle += 1
        await RisingEdge(dut.clk)


@cocotb.test()
async def lost_read(dut):
    """A read of one channel is never answered: the others go on by their weights, in the room that the stuck one leaves them."""
    rng = generator("lost_read")
    missed = []
    for weights in ((1, 1, 1), (1, 2, 5), (5, 2, 1)):
        load = Load(dut, rng)
        await load.start(*load.h2c)
        even = await load.measure(MEASURE)
        weigh(load, weights)
        await ClockCycles(dut.clk, 3000)
        load.host.lost = 2
        moved = await load.measure(2 * PERIOD, warm=5000)
        rate, rate_even = sum(moved.values()) / (2 * PERIOD), sum(even.values()) / MEASURE
        assert moved[0] and moved[1], f"weights {weights}: the others stand still: {moved}"
        found = f"weights {weights}: {[moved[c] for c in load.h2c]}, {off(moved, load.h2c[:2], weights[:2]):.2%} off"
        found += f"; {rate:.2f} bytes a clock, {rate_even:.2f} before"
        print(found, flush=True)
        if load.host.lost is not None or moved[2] or off(moved, load.h2c[:2], weights[:2]) >= 0.02 or rate < 0.5 * rate_even:
            missed.append(found)
        load.stop()
    assert not missed, "\n".join(missed)


@cocotb.test()
async def slow_source(dut):
    """The heaviest channel's answers take longer than the card waits for them: all together move most of what they do in plain turns."""
    rng = generator("slow_source")
    missed = []
    for latency in (2500, 10000):
        load = Load(dut, rng)
        await load.start(*load.h2c)
        load.host.slow = {2: latency}
        even = await load.measure(PERIOD, warm=12000)
        weigh(load, (1, 2, 5))
        moved = await load.measure(2 * PERIOD, warm=12000)
        rate, rate_even = sum(moved.values()) / (2 * PERIOD), sum(even.values()) / PERIOD
        found = f"answers after {latency}: {[moved[c] for c in load.h2c]}, even {[even[c] for c in load.h2c]}"
        found += f"; {rate:.2f} bytes a clock, even {rate_even:.2f}"
        print(found, flush=True)
        if rate < 0.7 * rate_even:
            missed.append(found)
        load.stop()
    assert not missed, "\n".join(missed)


@cocotb.test()
async def weight_lowered(dut):
    """A channel that has saved up eight turns of a great weight has no more than eight of its new one when that is lowered."""
    rng = generator("weight_lowered")
    load = Load(dut, rng)
    await load.start(*load.h2c, post=False)
    all_of_them = load.channels
    weigh(load, (255, 254, 254))
    load.channels = {c: all_of_them[c] for c in load.h2c[1:]}  # channel 0 is idle
    load.tasks = [cocotb.start_soon(load._post())]
    await ClockCycles(dut.clk, 60000)
    weigh(load, (1, 2, 2))
    await ClockCycles(dut.clk, 1000)
    load.channels = all_of_them
    moved = await load.measure(MEASURE, warm=0)
    print(f"{[moved[c] for c in load.h2c]}, {off(moved, load.h2c, (1, 2, 2)):.2%} off", flush=True)
    assert off(moved, load.h2c, (1, 2, 2)) < 0.15, moved  # ahead by eight reads, of some eighty
    load.stop()


@cocotb.test()
async def a_rate_holds(dut):
    """A channel moves what its rate says, and the others use the rest; with and without weights."""
    rng = generator("a_rate_holds")
    missed = []
    for weights, per_clock in (((1, 1, 1), 2), ((200, 1, 1), 1.5)):
        load = Load(dut, rng)
        await load.start(*load.h2c, *load.c2h)
        even = await load.measure(MEASURE)
        weigh(load, weights)
        for group in (load.h2c, load.c2h):
            load.bench.priv(group[0], RATE, int(per_clock * 2**20))
        moved = await load.measure(4 * MEASURE)
        for group in (load.h2c, load.c2h):
            rate = sum(moved[c] for c in group) / (4 * MEASURE)
            found = f"{[moved[c] for c in group]} in {4 * MEASURE} clocks, {sum(even[c] for c in group) / MEASURE} bytes a clock before"
            print(found, flush=True)
            if abs(moved[group[0]] / (4 * MEASURE) / per_clock - 1) >= 0.01 or rate < 0.98 * sum(even[c] for c in group) / MEASURE:
                missed.append(found)
        load.stop()
    assert not missed, "\n".join(missed)


@cocotb.test()
async def a_rate_delays_no_cancel(dut):
    """Channels that wait for a rate of nearly nothing end a cancel at once."""
    rng = generator("a_rate_delays_no_cancel")
    load = Load(dut, rng)
    bench = load.bench
    await load.start(load.h2c[0], load.c2h[0], post=False)
    for c in load.channels:
        bench.priv(c, RATE, 1)
        for _ in range(4):
            bench.push(c, DIRECT, BASE + c * SIZE, SIZE, end=1)
    await ClockCycles(dut.clk, 3000)
    for c, channel in load.channels.items():
        assert load.host.moved[c] <= 512, "it is held back"
        assert channel.reap() is None
        bench.ring("cancel", channel=c)
        for _ in range(4):
            entry = await channel.wait(600)
            assert entry["status"] == CANCELLED, entry
    load.stop()


@cocotb.test()
async def registers_and_classes(dut):
    """What is set is read, stays over a card's reset, and is gone after a function's; packets have their channel's class."""
    rng = generator("registers_and_classes")
    load = Load(dut, rng)
    bench = load.bench
    down, up = load.h2c[1], load.c2h[2]
    await load.start(down, up)
    values = {(down, WEIGHT): 255, (down, CLASS): 3, (down, RATE): 0xFFFFFFFF, (up, WEIGHT): 9, (up, CLASS): 5}
    for (c, offset), value in values.items():
        bench.priv(c, offset, value)
    await bench.rung()
    load.host.classes.clear()
    load.host.others.clear()
    await ClockCycles(dut.clk, 3000)
    assert load.host.classes == {down: {3}, up: {5}}, load.host.classes
    assert load.host.others == {3, 5}, f"entries of class {load.host.others}"

    async def read_all():
        return {(c, offset): await bench.read(c, offset) for c in (*load.h2c, *load.c2h) for offset in (WEIGHT, CLASS, RATE)}

    fresh = {key: int(key[1] == WEIGHT) for key in await read_all()}
    assert await read_all() == fresh | values
    assert await bench.read(down, TP.TP_CHANNEL_HELD_OFFSET) == 0
    for task in load.tasks:
        task.cancel()
    dut.card_reset.value = 1
    while dut.card_reset_done.value != 1:
        await RisingEdge(dut.clk)
    dut.card_reset.value = 0
    assert await read_all() == fresh | values
    assert await bench.read(down, TP.TP_CHANNEL_RING_LOG2_OFFSET) == load.channels[down].ring_log2
    dut.cfg.value = load.host.config() | CONFIG.pack(function_reset=1)
    await ClockCycles(dut.clk, 3)
    dut.cfg.value = load.host.config()
    assert await read_all() == fresh
    load.stop()
