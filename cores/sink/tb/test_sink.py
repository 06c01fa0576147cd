# SPDX-License-Identifier: Apache-2.0
"""Sink: right messages give no error, and each wrong byte is counted, placed and told of."""

import random
import struct

import bench
import cocotb
import pytest
from cocotb.triggers import ClockCycles, RisingEdge

CONTROL, SEED, PACE, MESSAGES, BYTES, ERRORS, FIRST, FAULTS = 0x00, 0x04, 0x08, 0x0C, 0x10, 0x18, 0x1C, 0x24


def pattern(seed: int, length: int) -> bytes:
    return b"".join(struct.pack("<I", (seed + i) & 0xFFFFFFFF) for i in range((length + 3) // 4))[:length]


@cocotb.test()
async def random_messages(dut):
    regs = await bench.start(dut)
    irq = bench.Interrupts(dut)
    for _ in range(60):
        seed = random.choice([0, 0xFFFFFFFD, random.getrandbits(32)])
        await regs.write_dword(SEED, seed)
        await regs.write_dword(PACE, random.choice([0, 0, 2]))
        await regs.write_dword(CONTROL, 1)
        before = irq.count
        total, wrong, faults = 0, [], 0
        messages = random.randint(1, 4)
        for _message in range(messages):
            message = bytearray(pattern(seed, bench.random_length(700)))
            for place in random.sample(range(len(message)), min(len(message), random.choice([0, 0, 1, 9]))):
                message[place] ^= random.randint(1, 255)
                wrong.append(total + place)
            error = random.random() < 0.2
            faults += error
            await bench.send(dut, "in", bytes(message), busy=random.choice([1.0, 0.5]), late_end=random.random() < 0.5, error=error)
            total += len(message)
        await ClockCycles(dut.clk, 60)
        assert await regs.read_dword(MESSAGES) == messages
        assert await regs.read_qword(BYTES) == total
        assert await regs.read_dword(ERRORS) == len(wrong)
        assert await regs.read_qword(FIRST) == min(wrong, default=0)
        assert await regs.read_dword(FAULTS) == faults
        assert irq.count - before == bool(wrong)


@cocotb.test()
async def pace(dut):
    regs = await bench.start(dut)
    for wait in (0, 3):
        await regs.write_dword(PACE, wait)
        start = cocotb.utils.get_sim_time("ns")
        await bench.send(dut, "in", pattern(0, 100 * len(dut.in_tkeep)))
        cycles = (cocotb.utils.get_sim_time("ns") - start) / 4
        assert 99 * (1 + wait) <= cycles <= 102 * (1 + wait)
    assert await regs.read_dword(ERRORS) == 0


@cocotb.test()
async def channel_reset(dut):
    regs = await bench.start(dut)
    # Half a message, then a reset: the next one is compared from its first byte.
    dut.in_tvalid.value = 1
    dut.in_tkeep.value = (1 << len(dut.in_tkeep)) - 1
    dut.in_tdata.value = int.from_bytes(pattern(0, len(dut.in_tkeep)), "little")
    await RisingEdge(dut.clk)
    dut.in_tvalid.value = 0
    dut.in_reset.value = 1
    await RisingEdge(dut.clk)
    dut.in_reset.value = 0
    await bench.send(dut, "in", pattern(0, 100))
    await ClockCycles(dut.clk, 5)
    assert await regs.read_dword(ERRORS) == 0
    assert await regs.read_dword(MESSAGES) == 1


@pytest.mark.parametrize("width", bench.WIDTHS)
def test_sink(width):
    bench.run(width)
