# SPDX-License-Identifier: Apache-2.0
"""Fill levels: what the card says it holds, and one fire for each store, at its level."""

import cocotb
from bench import TP, generator
from cocotb.triggers import ClockCycles, RisingEdge
from mover import DIRECT, DONE, EOM, Bench, Channel
from streams import Streams, Transfers, sink, source

ABOVE = TP.TP_DOORBELL_FILL_ABOVE_MASK
MOST = TP.TP_DOORBELL_FILL_BYTES_MASK


def fill(bench: Bench, channel: int, size: int, above: bool):
    bench.ring("fill", channel=channel, level=size | (ABOVE if above else 0))


async def held(bench: Bench, channel: int) -> int:
    return await bench.read(channel, TP.TP_CHANNEL_HELD_OFFSET) & TP.TP_CHANNEL_HELD_BYTES_MASK


async def steady(bench: Bench):
    """Until nothing moves."""
    dut, before, same = bench.dut, None, 0
    while same < 300:
        await RisingEdge(dut.clk)
        now = int(dut.holds.value)
        same = same + 1 if now == before and not bench.doorbells and not bench.host.pending else 0
        before = now


class Watch:
    """Compares every fire with the stores before it, and with what the channels hold. Channel n has vector n, and nothing else fires it
    but `arms`, of which each is due once."""

    PROMPT = 400  # clocks in which a fire leaves, whatever the others do

    def __init__(self, bench: Bench):
        self.bench, self.channels = bench, bench.h2c + bench.c2h
        self.store = [None] * self.channels  # [above, bytes, clocks for which it has been reached, ever, fires before it, since]
        self.allowed = [0] * self.channels  # fires that are due, or may be
        self.changed = [0] * self.channels  # the clock of the last store, or of a reset
        self.fires = [0] * self.channels
        self.met = 0  # stores that had to fire and did
        self.clock = 0
        bench.tasks.append(cocotb.start_soon(self.run()))

    def holds(self, c: int) -> int:
        dut = self.bench.dut
        width = len(dut.holds) // self.channels
        return int(dut.holds.value) >> c * width & (1 << width) - 1

    def full(self, c: int) -> bool:
        dut, c2h = self.bench.dut, c - self.bench.h2c
        return c2h >= 0 and bool(int(dut.refused.value) >> c2h & 1 and int(dut.front_idle.value) >> c & 1)

    async def run(self):
        bench, dut = self.bench, self.bench.dut
        seen = 0
        while True:
            await RisingEdge(dut.clk)
            self.clock += 1
            for c in range(self.channels):
                store, has = self.store[c], self.holds(c)
                if self.changed[c] == self.clock - 1:  # of what was due, only what is being handed on by now still fires
                    self.allowed[c] = self.fires[c] + self.owed(c)
                    if store:
                        store[4] = self.allowed[c]
                if int(dut.resetting.value) >> c & 1:
                    self.store[c], self.changed[c] = None, self.clock
                elif store:
                    above, size, *_ = store
                    reached = has >= size or self.full(c) if above else has <= size
                    store[2] = store[2] + 1 if reached else 0
                    if reached and not store[3]:
                        store[3] = True
                        self.allowed[c] += 1
                    if store[2] == self.channels + 1:
                        store[5] = store[5] or self.clock
                    if store[5] and self.clock - store[5] == self.PROMPT:
                        assert self.fires[c] > store[4], f"channel {c}: {has} bytes held, no fire for {store}"
                        self.met += 1
                        self.store[c] = None
            if dut.fill_valid.value == 1:
                c, level = int(dut.fill_channel.value), int(dut.fill_level.value)
                above, size = bool(level & ABOVE), level & MOST
                self.store[c] = None if above and not size else [above, size, 0, False, 0, None]
                self.changed[c] = self.clock
            for vector in bench.host.fires[seen:]:
                seen += 1
                self.fires[vector] += 1
                assert self.fires[vector] <= self.allowed[vector], f"channel {vector} fires, and holds {self.holds(vector)}: {self.store}"

    def owed(self, c: int) -> int:
        """1 if a fire is being handed on."""
        dut = self.bench.dut
        return int(dut.fire_valid.value == 1 and int(dut.fire_vector.value) == c)


@cocotb.test()
async def what_is_held(dut):
    """Bytes, without padding, in both directions and whatever is under way: compared whenever the streams rest."""
    rng = generator("what_is_held")
    bench = Bench(dut, rng)
    await bench.start()
    channels = [Channel(bench, c) for c in range(bench.h2c + bench.c2h)]
    feeds = [[] for _ in range(bench.c2h)]
    bench.tasks.append(cocotb.start_soon(source(bench, feeds, rng.choice([0, 0.3]))))
    # Of each channel: bytes that the core has sent or taken, and bytes that entries have told of.
    core, told = [0] * len(channels), [0] * len(channels)
    keep = bench.width // 8
    takes = [0.5]

    async def count():
        """The core's side; it takes beats with a probability of `takes`."""
        while True:
            ready = sum(int(rng.random() < takes[0]) << c for c in range(bench.h2c))
            dut.h2c_tready.value = ready
            await RisingEdge(dut.clk)
            for prefix, first, number in (("h2c", 0, bench.h2c), ("c2h", bench.h2c, bench.c2h)):
                moved = int(getattr(dut, f"{prefix}_tvalid").value) & int(getattr(dut, f"{prefix}_tready").value)
                keeps = int(getattr(dut, f"{prefix}_tkeep").value)
                for c in range(number):
                    if moved >> c & 1:
                        core[first + c] += (keeps >> c * keep & (1 << keep) - 1).bit_length()

    bench.tasks.append(cocotb.start_soon(count()))
    most = 0
    for _ in range(12):
        takes[0] = rng.choice([0, 0, 0.2, 1])
        for feed in feeds:
            for _ in range(rng.randrange(3)):
                feed.append((rng.randbytes(rng.choice([1, 7, keep, 100, 1000, rng.randrange(1, 3000)])), 0, 0, 0))
        for channel in channels:
            c = channel.index
            for _ in range(rng.randrange(3)):
                size = rng.choice([1, 64, 300, rng.randrange(1, 4000)])
                buffer = bench.room(size)
                bench.allow(bench.host.readable if c < bench.h2c else bench.host.writable, buffer, size)
                bench.push(c, DIRECT, buffer, size, 0, rng.randrange(2) if c < bench.h2c else 0)
        await bench.rung()
        for _ in range(rng.randrange(40)):
            await held(bench, rng.randrange(len(channels)))  # a read in the middle disturbs nothing
        await steady(bench)
        for channel in channels:
            while entry := channel.reap():
                assert entry["status"] in (DONE, EOM), entry
                told[channel.index] += entry["bytes"]
        for c in range(len(channels)):
            says = await held(bench, c)
            expected = told[c] - core[c] if c < bench.h2c else core[c] - told[c]
            if int(dut.d_valid.value) >> c & 1:  # it has moved bytes that no entry has told of yet
                assert says >= expected if c < bench.h2c else says <= expected, f"channel {c} holds {says}, told is {expected}"
            else:
                assert says == expected, f"channel {c} holds {says}, not {expected}"
            most = max(most, says)
        assert await bench.read(0, TP.TP_CHANNEL_HELD_OFFSET - 4) == 0
    assert most > 1000


@cocotb.test()
async def one_fire_for_each_level(dut):
    """Random levels, both ways, on every channel, while data moves and channels are reset; the fires are compared with what is held."""
    rng = generator("one_fire_for_each_level")
    met = 0
    for _ in range(3):
        bench = Bench(dut, rng)
        await bench.start()
        streams, watch = Streams(bench), Watch(bench)
        transfers = [Transfers(bench, streams, c) for c in range(watch.channels)]
        for _ in range(80):
            c = rng.randrange(watch.channels)
            act = rng.random()
            if act < 0.5:
                fill(bench, c, rng.choice([0, 1, 64, 1000, 4096, 8192, rng.randrange(9000), MOST, 1 << 20]), rng.random() < 0.5)
            elif act < 0.8:
                if len(transfers[c].posted) < 3:
                    transfers[c].post(rng.choice([16, 700, 4096, rng.randrange(1, 6000)]))
            elif act < 0.9:
                streams.takes = not streams.takes
            elif act < 0.93:
                await bench.rung()
                bench.priv(c, TP.TP_CHANNEL_RESET_OFFSET, TP.TP_CHANNEL_RESET_RESET_MASK)
                await bench.rung()
                while await bench.read(c, TP.TP_CHANNEL_RESET_OFFSET):
                    pass
                transfers[c].forbid()
                transfers[c] = Transfers(bench, streams, c)
            for transfer in transfers:
                while transfer.channel.reap():
                    transfer.posted.pop(0)
            await ClockCycles(dut.clk, rng.choice([1, 2, 30, 300, 800]))
        streams.takes = True
        await ClockCycles(dut.clk, 2 * Watch.PROMPT)
        met += watch.met
        bench.stop()
    assert met > 10, met


@cocotb.test()
async def beside_arms(dut):
    """A fill level leaves an arm as it is, and an arm a fill level: each has its fire."""
    rng = generator("beside_arms")
    bench = Bench(dut, rng)
    await bench.start()
    c = bench.h2c
    bench.tasks.append(cocotb.start_soon(sink(bench, [[[], b""] for _ in range(bench.h2c)], 0)))
    keep = bench.width // 8
    feeds = [[] for _ in range(bench.c2h)]
    bench.tasks.append(cocotb.start_soon(source(bench, feeds, 0)))
    channel = Channel(bench, c)
    reaped = 0
    for _ in range(60):
        bench.host.fires.clear()
        level = rng.randrange(1, 4) * keep
        steps = [("arm", dict(channel=c, index=reaped)), ("fill", dict(channel=c, level=ABOVE | level))]
        rng.shuffle(steps)
        early = rng.random() < 0.5
        if early:
            for name, fields in steps:
                bench.ring(name, **fields)
            await ClockCycles(dut.clk, 60)
            assert not bench.host.fires, bench.host.fires
        feeds[0].append((rng.randbytes(level), 0, 0, 0))
        if early:
            await ClockCycles(dut.clk, 60)
            assert bench.host.fires == [c], bench.host.fires
        buffer = bench.room(level)
        bench.allow(bench.host.writable, buffer, level)
        if not early:
            await ClockCycles(dut.clk, rng.randrange(60))
            for name, fields in steps:
                bench.ring(name, **fields)
                for _ in range(rng.randrange(6)):
                    bench.doorbells.append(({}, {}))
            await ClockCycles(dut.clk, 60)
            assert bench.host.fires == [c], bench.host.fires
        bench.push(c, DIRECT, buffer, level, 0)
        assert (await channel.wait(2000))["bytes"] == level
        # The message's end needs no second buffer: it is full with it.
        reaped = channel.reaped
        await ClockCycles(dut.clk, 100)
        assert bench.host.fires == [c, c], bench.host.fires


@cocotb.test()
async def a_store_replaces_the_one_before(dut):
    """While fires wait for the way out: what was due is taken back, or is replaced; nothing fires for a store that asks for nothing."""
    rng = generator("a_store_replaces_the_one_before")
    bench = Bench(dut, rng)
    await bench.start()
    channels = [Channel(bench, c) for c in range(bench.h2c + bench.c2h)]
    first = channels[0].index
    for c in range(1, len(channels)):
        stall = bench.host.stall
        bench.host.stall = 1
        bench.host.fires.clear()
        await ClockCycles(dut.clk, 5)
        fill(bench, first, 0, above=False)  # it is empty: this fire stands in the way of the others
        await ClockCycles(dut.clk, 20)
        fill(bench, c, rng.randrange(100), above=False)
        await ClockCycles(dut.clk, 20)
        again = c % 2 == 0
        fill(bench, c, 0, above=not again)
        fill(bench, first, 0, above=True)  # too late: it has fired
        await ClockCycles(dut.clk, 20)
        bench.host.stall = stall
        await ClockCycles(dut.clk, 100)
        assert bench.host.fires == ([first, c] if again else [first]), bench.host.fires
        # It is used up.
        await ClockCycles(dut.clk, 200)
        assert len(bench.host.fires) == 1 + again


@cocotb.test()
async def as_full_as_it_can_be(dut):
    """A core that can send no more, without a descriptor, has reached every level: by bytes, and by messages."""
    rng = generator("as_full_as_it_can_be")
    for short in (False, True):
        bench = Bench(dut, rng)
        await bench.start()
        c = bench.h2c
        Channel(bench, c)
        feeds = [[] for _ in range(bench.c2h)]
        bench.tasks.append(cocotb.start_soon(source(bench, feeds, 0.3)))
        # Of several channels each keeps half of an even part, rounded down to a power of two.
        room = int(dut.SENDING_BYTES.value)
        if bench.c2h > 1:
            room = 2 ** (room // bench.c2h // 2).bit_length() // 2
        fill(bench, c, MOST, above=True)
        feeds[0].extend([(b"x", 0, 0, 0)] * 100 if short else [(bytes(3 * room), 0, 0, 0)])
        await ClockCycles(dut.clk, 40)
        for _ in range(3 * room):
            if bench.host.fires:
                break
            await RisingEdge(dut.clk)
        assert bench.host.fires == [c], bench.host.fires
        full = await bench.read(c, TP.TP_CHANNEL_HELD_OFFSET)
        assert full & TP.TP_CHANNEL_HELD_FULL_MASK
        has = full & TP.TP_CHANNEL_HELD_BYTES_MASK
        assert has == 32 if short else room - bench.width // 4 <= has <= room, has
        if not short:  # a descriptor, which takes what has come, makes room
            buffer = bench.room(4 * room)
            bench.allow(bench.host.writable, buffer, 4 * room)
            bench.host.fires.clear()
            bench.host.period = 1 << 30  # though the link takes nothing
            bench.push(c, DIRECT, buffer, 4 * room, 0)
            await bench.rung()
            fill(bench, c, MOST, above=True)
            await ClockCycles(dut.clk, 200)
            assert not bench.host.fires and not await bench.read(c, TP.TP_CHANNEL_HELD_OFFSET) & TP.TP_CHANNEL_HELD_FULL_MASK
        bench.stop()


@cocotb.test()
async def stores_without_a_pause(dut):
    """A program that stores to `fill` in every clock, each time to fire at once, holds up no other channel's fire, entry or read."""
    rng = generator("stores_without_a_pause")
    bench = Bench(dut, rng)
    bench.host.stall = 0
    await bench.start()
    Channel(bench, 0)
    c = bench.h2c
    other = Channel(bench, c)
    await ClockCycles(dut.clk, 50)
    dut.c2h_tvalid.value = dut.c2h_tlast.value = 1
    dut.c2h_tkeep.value = (1 << len(dut.c2h_tkeep)) - 1
    dut.c2h_tdata.value = 0
    buffer = bench.room(64, align=64)
    bench.allow(bench.host.writable, buffer, 64)
    for cookie in range(20):
        pause = rng.randrange(6)
        event = [({}, bench.event("fill", channel=0, level=0))] + [({}, {})] * pause
        bench.host.fires.clear()
        bench.doorbells.extend(event * 20)
        bench.ring("arm", channel=c, index=cookie)
        bench.push(c, DIRECT, buffer, 64, cookie)
        bench.doorbells.extend(event * 200)
        entry, asked = None, cocotb.start_soon(held(bench, c))
        for _ in range(300):
            await RisingEdge(dut.clk)
            entry = entry or other.reap()
            if entry and asked.done() and c in bench.host.fires:
                break
        assert entry and entry["cookie"] == cookie, "another channel waits"
        assert asked.done(), "a read waits"
        assert c in bench.host.fires, "another channel's fire waits"
        bench.doorbells.clear()
