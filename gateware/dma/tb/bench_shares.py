# SPDX-License-Identifier: Apache-2.0
"""What channels share: rates, room and tags, and that one channel leaves the others theirs."""

import cocotb
from batches import Batches
from bench import generator
from cocotb.triggers import ClockCycles, RisingEdge
from mover import DIRECT, DONE, EOM, Bench, Channel
from streams import Streams, Transfers, reset_channels


@cocotb.test()
async def small_messages(dut):
    """Messages of 64 bytes on one pair, in batches of four: clocks for each, one way alone and both."""
    rng = generator("small_messages")
    bench = Bench(dut, rng)
    bench.host.stall, bench.host.latency = 0, 2
    await bench.start()
    depth, size, keep = int(dut.QUEUE_DEPTH.value), 64, bench.width // 8
    ways = (0, bench.h2c)
    channels, pages = {k: Channel(bench, k) for k in ways}, {k: Batches(bench, k) for k in ways}
    dut.h2c_tready.value = (1 << bench.h2c) - 1
    buffer = bench.room(size, align=size)
    bench.allow(bench.host.readable, buffer, size)
    bench.allow(bench.host.writable, buffer, size)
    await ClockCycles(dut.clk, 50)
    beats, sent = size // keep, 0
    dut.c2h_tkeep.value = (1 << keep) - 1
    dut.c2h_tvalid.value = 1
    # 12.5 clocks at 250 MHz are 20 million a second.
    for which, most in (((0,), 12.5), ((bench.h2c,), 12.5), (ways, 12.5 if bench.width > 64 else 16)):
        posted, done, times = dict.fromkeys(which, 0), dict.fromkeys(which, 0), {k: [] for k in which}
        for cycle in range(8000):
            for k in which:
                if posted[k] - done[k] <= depth - 4 and posted[k] < 200 and len(bench.doorbells) < 2:
                    pages[k].post_line([bench.descriptor(DIRECT, buffer, size, posted[k] + i, int(k == 0)) for i in range(4)])
                    posted[k] += 4
                while entry := channels[k].reap():
                    assert entry["status"] == (DONE if k == 0 else EOM) and entry["bytes"] == size, entry
                    done[k] += 1
                    times[k].append(cycle)
            dut.c2h_tlast.value = int(sent % beats == beats - 1)
            await RisingEdge(dut.clk)
            sent += int(dut.c2h_tready.value) & 1
            if all(done[k] == 200 for k in which):
                break
        for k in which:
            clocks = (times[k][150] - times[k][50]) / 100
            dut._log.info(f"{'both' if len(which) > 1 else 'alone'}, channel {k}: {clocks} clocks a message")
            assert clocks <= most, f"{clocks} clocks a message of {size} bytes, {which}"


@cocotb.test()
async def a_core_that_stands_still_leaves_room(dut):
    """The core of one H2C channel takes nothing, until its reads fill what they may of the landing room: another channel still has enough
    reads in flight for a host that is far away."""
    rng = generator("a_core_that_stands_still_leaves_room")
    bench = Bench(dut, rng)
    if bench.h2c < 2:
        return
    bench.host.stall, bench.host.latency, bench.host.max_read = 0, 600, 512
    await bench.start()
    still, busy = Channel(bench, 0), Channel(bench, 1)
    dut.h2c_tready.value = 0b10
    size = 1 << 15
    for channel in (still, busy):
        buffer = bench.room(size, align=4096)
        bench.allow(bench.host.readable, buffer, size)
        bench.push(channel.index, DIRECT, buffer, size, 1, 1)
        if channel is still:
            await ClockCycles(dut.clk, 6000)
            assert not bench.host.pending, "reads of the first channel are still out"
    most = 0
    for _ in range(20_000):
        await RisingEdge(dut.clk)
        most = max(most, len(bench.host.tags))
        if entry := busy.reap():
            break
    assert entry["status"] == DONE and entry["bytes"] == size, entry
    assert still.reap() is None
    assert most >= 6, f"{most} reads in flight: two blocks of its own hold four"
    dut.h2c_tready.value = 0b11
    entry = await still.wait(20_000)
    assert entry["status"] == DONE and entry["bytes"] == size, entry
    bench.stop()


@cocotb.test()
async def cores_without_a_buffer_leave_room(dut):
    """Cores of C2H channels send without a descriptor: each channel keeps its share of the sending room, also after resets, and one with a
    descriptor goes on at a beat a clock, and keeps more while the link takes nothing."""
    rng = generator("cores_without_a_buffer_leave_room")
    bench = Bench(dut, rng)
    if bench.c2h < 2:
        return
    bench.host.stall, bench.host.latency = 0, 2
    await bench.start()
    keep, block = bench.width // 8, 512
    share = 2 ** (int(dut.SENDING_BYTES.value) // bench.c2h // 2).bit_length() // 2 + block
    busy, idle = Channel(bench, bench.h2c), range(bench.h2c + 1, bench.h2c + bench.c2h)
    dut.c2h_tkeep.value = (1 << len(dut.c2h_tkeep)) - 1
    taken = [0] * bench.c2h  # bytes, of each channel, ...
    held = 0  # ... and those of the busy one that no descriptor has taken

    async def watch():
        nonlocal held
        while True:
            await RisingEdge(dut.clk)
            moved = int(dut.c2h_tvalid.value) & int(dut.c2h_tready.value)
            for c in range(bench.c2h):
                taken[c] += keep * (moved >> c & 1)
            held += keep * (moved & 1)

    bench.tasks.append(cocotb.start_soon(watch()))
    size = 1 << 14
    buffer = bench.room(4 * size, align=4096, skew=0)
    bench.allow(bench.host.writable, buffer, 4 * size)
    for turn in range(4):
        taken[:] = [0] * bench.c2h
        dut.c2h_tvalid.value = (1 << bench.c2h) - 2
        await ClockCycles(dut.clk, 2000 + rng.randrange(9))
        assert taken[1:] == [share] * len(idle), f"{taken} bytes without a descriptor, and {share} are a share"
        if turn % 2:
            dut.c2h_tvalid.value = 0
            await reset_channels(bench, idle, 1000)
            continue
        dut.c2h_tvalid.value = (1 << bench.c2h) - 1
        bench.push(busy.index, DIRECT, buffer, size)
        entry = None
        for _ in range(int(1.2 * size / keep) + 200):
            await RisingEdge(dut.clk)
            if entry := busy.reap():
                break
        assert entry and entry["bytes"] == size, "the busy channel does not go on at a beat a clock"
        held -= size
        period, bench.host.period = bench.host.period, 1 << 30
        bench.push(busy.index, DIRECT, buffer, 4 * size)
        await ClockCycles(dut.clk, 2000)
        assert held > share + block, f"{held} bytes: a channel with a descriptor gets no more than its share, {share}"
        bench.host.period = period
        assert (await busy.wait(20_000))["bytes"] == 4 * size
        held -= 4 * size
        dut.c2h_tvalid.value = 0
        await reset_channels(bench, idle, 1000)
    bench.stop()


@cocotb.test()
async def resets_of_the_card_do_not_shorten_the_quarantine(dut):
    """Reads that are not answered stay in quarantine as long as it says, however often the card is reset meanwhile."""
    rng = generator("resets_of_the_card_do_not_shorten_the_quarantine")
    bench = Bench(dut, rng)
    await bench.start()
    dut.cfg.value = bench.host.config(completion_timeout=1)
    dut.quarantine.value = 4
    way = Transfers(bench, Streams(bench), 0)
    bench.host.withheld = True
    way.post(2000)
    await ClockCycles(dut.clk, 300)
    out = 0
    for _ in range(20):
        dut.card_reset.value = 1
        for _ in range(1500):
            await RisingEdge(dut.clk)
            if dut.card_reset_done.value == 1:
                break
        else:
            raise AssertionError("the reset does not end")
        dut.card_reset.value = 0
        await ClockCycles(dut.clk, 20)
        out = out or len(bench.host.tags)
        assert int(dut.quarantined.value) == out > 0, f"{int(dut.quarantined.value)} tags in quarantine, {out} reads without an answer"
    bench.stop()


@cocotb.test()
async def reads_that_nobody_answers_leave_others_theirs(dut):
    """One channel's buffer is never answered, and takes every tag that it can get: another channel's transfer goes on meanwhile."""
    rng = generator("reads_that_nobody_answers_leave_others_theirs")
    bench = Bench(dut, rng)
    if bench.h2c < 2:
        return
    bench.host.stall, bench.host.latency = 0, 20
    await bench.start()
    dut.cfg.value = bench.host.config(completion_timeout=1)
    dut.quarantine.value = 0  # for good
    dead, live = Channel(bench, 0), Channel(bench, 1)
    dut.h2c_tready.value = (1 << bench.h2c) - 1
    size = 65536
    silent, buffer = bench.room(size, align=4096), bench.room(4096, align=4096)
    bench.allow(bench.host.readable, silent, size)
    bench.allow(bench.host.readable, buffer, 4096)
    bench.host.silent = range(silent, silent + size)
    # The pool is empty, and so is the channel's own tag: a descriptor that fails leaves tags in quarantine, and the next one takes more.
    tags = int(dut.TAGS.value) - bench.h2c
    posted = 0
    for _ in range(300_000):
        if posted < 8 and dead.reap() is not None or not posted:
            bench.push(0, DIRECT, silent, size, posted)
            posted += 1
        await RisingEdge(dut.clk)
        if len(bench.host.tags) >= tags:
            break
    assert len(bench.host.tags) == tags, f"{len(bench.host.tags)} tags are out of the {tags} that one channel may have"
    for k in range(4):
        bench.push(1, DIRECT, buffer, 4096, k)
    for k in range(4):
        entry = await live.wait(4000)
        assert entry["status"] == DONE and entry["bytes"] == 4096 and entry["cookie"] == k, entry
    bench.stop()
