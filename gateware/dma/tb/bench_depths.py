# SPDX-License-Identifier: Apache-2.0
"""Queues of other depths than usual: each channel's descriptors are its own."""

import cocotb
from batches import Batches
from bench import generator
from cocotb.triggers import ClockCycles
from mover import DIRECT, DONE, EOM, Bench, Channel


@cocotb.test()
async def each_channel_has_its_own_descriptors(dut):
    """All channels post at once, by doorbell and in batches where the page has a slot for each position, through several laps."""
    rng = generator("each_channel_has_its_own_descriptors")
    bench = Bench(dut, rng)
    await bench.start()
    depth, size = int(dut.QUEUE_DEPTH.value), bench.width // 8
    dut.h2c_tready.value = (1 << bench.h2c) - 1
    dut.c2h_tvalid.value = dut.c2h_tlast.value = (1 << bench.c2h) - 1
    dut.c2h_tkeep.value = (1 << len(dut.c2h_tkeep)) - 1
    ways = range(bench.h2c + bench.c2h)
    channels, pages = [Channel(bench, k) for k in ways], [Batches(bench, k) for k in ways]
    buffers = [bench.room(64, align=64) for _ in ways]
    for k in ways:
        bench.allow(bench.host.readable if k < bench.h2c else bench.host.writable, buffers[k], size)
    await ClockCycles(dut.clk, 20)
    for turn in range(40):
        count = rng.randint(1, min(depth, 4))
        cookies = {k: [rng.randrange(1 << 16) for _ in range(count)] for k in ways}
        lists = {k: [bench.descriptor(DIRECT, buffers[k], size, cookie, int(k < bench.h2c)) for cookie in cookies[k]] for k in ways}
        if 4 * depth <= 256 and turn % 2:
            for k in ways:
                at = pages[k].next % pages[k].slots
                for i, descriptor in enumerate(lists[k]):
                    bench.write("batch", k, (at + i) % pages[k].slots * 16, descriptor)
            for k in ways:
                bench.ring("push", channel=k, torn=0, count=count)
                pages[k].next += count
        else:
            for i in range(count):
                for k in ways:
                    pages[k].post_one(lists[k][i])
        for k in ways:
            for cookie in cookies[k]:
                entry = await channels[k].wait(5000)
                assert (entry["status"], entry["cookie"]) == (DONE if k < bench.h2c else EOM, cookie), (turn, k, entry)
                assert entry["bytes"] == size, (turn, k, entry)
