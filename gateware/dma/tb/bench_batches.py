# SPDX-License-Identifier: Apache-2.0
"""Descriptors in batches: slots of the batch page, committed by a number."""

import cocotb
from batches import Batches
from bench import TP, generator
from cocotb.triggers import ClockCycles
from mover import DIRECT, DONE, INLINE, SLOT, TORN, Bench, Channel


@cocotb.test()
async def batches(dut):
    """Batches in pieces and any order among single descriptors, some with a dword that was never written, through laps and resets."""
    rng = generator("batches")
    bench = Bench(dut, rng)
    await bench.start()
    depth = int(dut.QUEUE_DEPTH.value)
    dut.h2c_tready.value = (1 << bench.h2c) - 1
    buffer = bench.room(4096, align=4096)
    bench.allow(bench.host.readable, buffer, 4096)
    for _ in range(3):
        for index in range(bench.h2c):
            channel, page = Channel(bench, index), Batches(bench, index)
            await ClockCycles(dut.clk, 20)
            rows = page.slots // 2  # one for two slots
            recent = [False] * rows
            expected, reset_after = [], rng.randrange(3 * depth, 6 * depth)
            while page.next < reset_after:
                count = rng.randrange(1, depth + 1 - len(expected)) if len(expected) < depth else 0
                new, forget = [], set()
                for k in range(count):
                    kind, length = rng.choice([(DIRECT, rng.randrange(1, 200)), (INLINE, rng.randrange(65)), (15, 4), (INLINE, 65)])
                    cookie = rng.randrange(1 << 16)
                    new.append(bench.descriptor(kind, buffer if kind == DIRECT else 0, length, cookie, 1))
                    status = DONE if kind == DIRECT or (kind == INLINE and length <= SLOT) else TP.TP_STATUS_MALFORMED
                    row = (page.next + k) % rows
                    if page.next + k >= rows and not recent[row] and rng.random() < 0.15:
                        lost = rng.randrange(4)
                        forget.add(4 * k + lost)
                        status = TORN
                        cookie = None if lost == 3 else cookie
                    recent[row] = status == TORN  # a dword that two laps in a row forget is not missed
                    expected.append((status, cookie))
                if count == 1 and not forget and rng.random() < 0.5:
                    page.post_one(new[0])
                elif count:
                    page.post(new, forget)
                for _ in range(rng.randrange(len(expected) + 1)):
                    status, cookie = expected.pop(0)
                    entry = await channel.wait()
                    assert entry["status"] == status and cookie in (None, entry["cookie"]), (entry, status, cookie)
            bench.priv(index, TP.TP_CHANNEL_RESET_OFFSET, TP.TP_CHANNEL_RESET_RESET_MASK)
            while bench.doorbells:  # a read of the status would overtake it
                await ClockCycles(dut.clk, 1)
            await ClockCycles(dut.clk, 20)
            while await bench.read(index, TP.TP_CHANNEL_STATUS_OFFSET) & TP.TP_CHANNEL_STATUS_RESETTING_MASK:
                pass


@cocotb.test()
async def a_batch_too_many(dut):
    """A batch without room for all of it is dropped whole and puts the channel in error; one of none does nothing."""
    rng = generator("a_batch_too_many")
    bench = Bench(dut, rng)
    await bench.start()
    depth = int(dut.QUEUE_DEPTH.value)
    dut.h2c_tready.value = 0
    channel, page = Channel(bench, 0), Batches(bench, 0)
    await ClockCycles(dut.clk, 20)
    torn = [bench.descriptor(INLINE, 0, 8, k, 1) for k in range(depth + 1)]
    page.post([])
    page.post(torn[:depth])
    for k in range(depth):
        assert (await channel.wait())["cookie"] == k
    page.post(torn)
    await ClockCycles(dut.clk, 400)
    assert channel.reap() is None
    assert await bench.read(0, TP.TP_CHANNEL_STATUS_OFFSET) & TP.TP_CHANNEL_STATUS_ERROR_MASK
    assert await bench.read(0, TP.TP_CHANNEL_OVERFLOWS_OFFSET) == 1
