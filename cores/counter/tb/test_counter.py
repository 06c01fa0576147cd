# SPDX-License-Identifier: Apache-2.0
"""Counter: lengths, seeds, counts, gaps and stops, with back-pressure, against the pattern in its comment."""

import random
import struct

import bench
import cocotb
import pytest
from cocotb.triggers import ClockCycles, RisingEdge

CONTROL, LENGTH, COUNT, GAP, SEED, SENT = 0x00, 0x04, 0x08, 0x0C, 0x10, 0x14


def pattern(seed: int, length: int) -> bytes:
    return b"".join(struct.pack("<I", (seed + i) & 0xFFFFFFFF) for i in range((length + 3) // 4))[:length]


async def idle(dut, regs):
    for _ in range(1000):
        if not await regs.read_dword(CONTROL):
            return
        await ClockCycles(dut.clk, 50)
    raise AssertionError("the run does not end")


@cocotb.test()
async def runs(dut):
    regs = await bench.start(dut)
    assert [await regs.read_dword(a) for a in (CONTROL, LENGTH, COUNT, GAP, SEED, SENT)] == [0, 4096, 1, 0, 0, 0]
    irq = bench.Interrupts(dut)
    receiver = bench.Receiver(dut, "out", extras=("length", "offset", "user"))
    expected, attributes = [], []
    for n in range(40):
        receiver.ready = random.choice([1.0, 0.6, 0.1])
        length, count, seed = bench.random_length(600), random.randint(1, 4), random.choice([0, 0xFFFFFFFE, random.getrandbits(32)])
        await regs.write_dword(LENGTH, length)
        await regs.write_dword(COUNT, count)
        await regs.write_dword(GAP, random.choice([0, 0, 1, 5]))
        await regs.write_dword(SEED, seed)
        await regs.write_dword(CONTROL, 1)
        expected += [pattern(seed, length)] * count
        attributes += [{"length": length, "offset": 0, "user": i} for i in range(count)]
        await receiver.wait(len(expected))
        await idle(dut, regs)
        assert await regs.read_dword(SENT) == count
        await ClockCycles(dut.clk, 50)
        assert irq.count == n + 1
    assert receiver.messages == expected
    assert receiver.noted == attributes


@cocotb.test()
async def full_rate_and_gap(dut):
    regs = await bench.start(dut)
    beats = 100
    for gap in (0, 3):
        receiver = bench.Receiver(dut, "out")
        await regs.write_dword(LENGTH, beats * len(dut.out_tkeep))
        await regs.write_dword(GAP, gap)
        await regs.write_dword(CONTROL, 1)
        await receiver.wait(1)
        assert receiver.stalls == gap * (beats - 1)
        receiver.task.cancel()


@cocotb.test()
async def stopped(dut):
    regs = await bench.start(dut)
    irq = bench.Interrupts(dut)
    receiver = bench.Receiver(dut, "out", ready=0.7)
    await regs.write_dword(COUNT, 0)
    await regs.write_dword(LENGTH, 300)
    for _ in range(20):
        before = len(receiver.messages)
        await regs.write_dword(CONTROL, 1)
        await ClockCycles(dut.clk, random.randint(0, 400))
        await regs.write_dword(CONTROL, 0)
        await idle(dut, regs)
        await ClockCycles(dut.clk, 200)
        assert len(receiver.messages) - before == await regs.read_dword(SENT) >= 1
    assert set(receiver.messages) == {pattern(0, 300)}
    assert irq.count == 20


@cocotb.test()
async def channel_reset(dut):
    regs = await bench.start(dut)
    await regs.write_dword(CONTROL, 1)
    await ClockCycles(dut.clk, 10)
    dut.out_reset.value = 1
    await RisingEdge(dut.clk)
    dut.out_reset.value = 0
    await ClockCycles(dut.clk, 2)
    assert not dut.out_tvalid.value
    assert await regs.read_dword(CONTROL) == 0
    receiver = bench.Receiver(dut, "out")
    await regs.write_dword(LENGTH, 33)
    await regs.write_dword(CONTROL, 1)
    assert await receiver.wait(1) == [pattern(0, 33)]


@pytest.mark.parametrize("width", bench.WIDTHS)
def test_counter(width):
    bench.run(width)
