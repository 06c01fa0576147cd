# SPDX-License-Identifier: Apache-2.0
"""Completion rings and vectors that are set to what the contract does not allow."""

import cocotb
from bench import TP, generator
from cocotb.triggers import ClockCycles
from mover import DIRECT, DONE, Bench, Channel


@cocotb.test()
async def a_ring_too_small_or_too_large(dut):
    """`ring_log2` of 0 or 1 counts as 2, of more than 16 as 16: where entries stand and how their phase goes round."""
    rng = generator("a_ring_too_small_or_too_large")
    bench = Bench(dut, rng)
    await bench.start()
    if bench.h2c == 0:
        return
    dut.h2c_tready.value = (1 << bench.h2c) - 1
    # Entries beyond 40 of a large ring are not looked at: the bench's memory is smaller.
    for value, acts_as, entries in ((0, 2, 13), (1, 2, 13), (2, 2, 13), (3, 3, 20), (17, 6, 40), (31, 6, 40)):
        channel = Channel(bench, 0, ring_log2=acts_as)
        bench.priv(0, TP.TP_CHANNEL_RING_LOG2_OFFSET, value)
        for k in range(entries):
            bench.push(0, DIRECT, 0, 0, k, 1)
            entry = await channel.wait(2000)
            assert (entry["status"], entry["cookie"]) == (DONE, k), (value, k, entry)
        bench.priv(0, TP.TP_CHANNEL_RESET_OFFSET, 1)
        await ClockCycles(dut.clk, 10)
        while await bench.read(0, TP.TP_CHANNEL_RESET_OFFSET):
            pass


@cocotb.test()
async def a_vector_that_no_card_has(dut):
    """A channel's vector beyond 255 is not that of another channel."""
    rng = generator("a_vector_that_no_card_has")
    bench = Bench(dut, rng)
    await bench.start()
    if bench.h2c == 0:
        return
    dut.h2c_tready.value = (1 << bench.h2c) - 1
    channel = Channel(bench, 0)
    for k, (value, fires) in enumerate(((3, [3]), (254, [254]), (256, []), (1 << 31 | 5, []))):
        bench.priv(0, TP.TP_CHANNEL_VECTOR_OFFSET, value)
        bench.host.fires.clear()
        bench.ring("arm", channel=0, index=k)
        bench.push(0, DIRECT, 0, 0, k, 1)
        assert await channel.wait(2000)
        await ClockCycles(dut.clk, 200)
        assert bench.host.fires == fires, (value, bench.host.fires)


@cocotb.test()
async def a_fire_behind_entries_that_wait(dut):
    """However many entries wait for the link when an interrupt is due, it comes once they have left: it is not lost, and is not early."""
    rng = generator("a_fire_behind_entries_that_wait")
    bench = Bench(dut, rng)
    await bench.start()
    if bench.h2c == 0:
        return
    dut.h2c_tready.value = (1 << bench.h2c) - 1
    channel = Channel(bench, 0)
    bench.priv(0, TP.TP_CHANNEL_VECTOR_OFFSET, 7)
    stall, armed = bench.host.stall, 0
    for count in (1, 2, 3, 4, 6):
        bench.host.stall = 1
        bench.host.fires.clear()
        early = rng.random() < 0.5
        if early:
            bench.ring("arm", channel=0, index=armed)
        for k in range(count):
            bench.push(0, DIRECT, 0, 0, k, 1)
        await ClockCycles(dut.clk, 100)
        if not early:
            bench.ring("arm", channel=0, index=armed)
        await ClockCycles(dut.clk, rng.randrange(100))
        assert not bench.host.fires and channel.reap() is None
        bench.host.stall = stall
        for k in range(count):
            entry = await channel.wait(2000)
            assert (entry["status"], entry["cookie"]) == (DONE, k), (count, k, entry)
        armed += count
        await ClockCycles(dut.clk, 200)
        assert bench.host.fires == [7], (count, bench.host.fires)


@cocotb.test()
async def a_vector_is_rewritten_while_it_fires(dut):
    """One fire, of the old vector or the new one; none if the new one is no vector. The next one is of the new vector."""
    rng = generator("a_vector_is_rewritten_while_it_fires")
    bench = Bench(dut, rng)
    await bench.start()
    if bench.h2c == 0:
        return
    dut.h2c_tready.value = (1 << bench.h2c) - 1
    channel = Channel(bench, 0)
    stall, old = bench.host.stall, channel.index
    for k, new in enumerate((9, 256, 10, 1 << 20, 11)):
        bench.host.stall = 1
        bench.host.fires.clear()
        bench.ring("arm", channel=0, index=k)
        bench.push(0, DIRECT, 0, 0, k, 1)
        await ClockCycles(dut.clk, 100)
        bench.priv(0, TP.TP_CHANNEL_VECTOR_OFFSET, new)
        await ClockCycles(dut.clk, rng.randrange(20))
        bench.host.stall = stall
        assert await channel.wait(2000)
        await ClockCycles(dut.clk, 200)
        allowed = [[v] if v < 256 else [] for v in (old, new)]
        assert bench.host.fires in allowed, (old, new, bench.host.fires)
        old = new


@cocotb.test()
async def entries_without_an_end_hold_up_no_fire(dut):
    """One channel always has an entry, the link takes one every so many clocks: another channel's fire comes all the same."""
    rng = generator("entries_without_an_end_hold_up_no_fire")
    bench = Bench(dut, rng)
    bench.host.stall = 0
    await bench.start()
    if bench.h2c == 0:
        return
    depth, other = int(dut.QUEUE_DEPTH.value), bench.h2c
    dut.h2c_tready.value = (1 << bench.h2c) - 1
    dut.c2h_tkeep.value = (1 << len(dut.c2h_tkeep)) - 1
    dut.c2h_tvalid.value = dut.c2h_tlast.value = (1 << bench.c2h) - 1
    busy, quiet = Channel(bench, 0), Channel(bench, other)
    buffer = bench.room(64, align=64)
    bench.allow(bench.host.writable, buffer, 64)
    bench.push(other, DIRECT, buffer, bench.width // 8, 1)
    assert await quiet.wait(2000)
    posted = done = 0
    for period in range(3, 41):
        bench.host.period = period
        bench.host.fires.clear()
        clocks = 0
        while not bench.host.fires:
            if posted - done < depth and len(bench.doorbells) < 2:
                bench.push(0, DIRECT, 0, 0, posted % (1 << 16), 1)
                posted += 1
            while busy.reap():
                done += 1
            if clocks == 20 * period:
                bench.ring("arm", channel=other, index=0)
            assert clocks < 26 * period + 40, f"a packet every {period} clocks: no fire"
            clocks += 1
            await ClockCycles(dut.clk, 1)
        assert bench.host.fires == [other], bench.host.fires
