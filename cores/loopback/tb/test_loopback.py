# SPDX-License-Identifier: Apache-2.0
"""Loopback: messages and attributes come back whole, at full rate and with back-pressure; counters, interrupts and the channel's reset."""

import random

import bench
import cocotb
import pytest
from cocotb.triggers import ClockCycles, RisingEdge


@cocotb.test()
async def random_messages(dut):
    regs = await bench.start(dut)
    irq = bench.Interrupts(dut)
    sent, attributes = [], []
    receiver = bench.Receiver(dut, "out", ready=0.5, extras=("length", "offset", "user"))
    for n in range(150):
        receiver.ready = random.choice([1.0, 0.6, 0.1])
        message = random.randbytes(bench.random_length(2000))
        user, offset = random.getrandbits(32), random.getrandbits(32)
        dut.in_length.value, dut.in_offset.value, dut.in_user.value = len(message), offset, user
        await bench.send(dut, "in", message, busy=random.choice([1.0, 0.5]), late_end=random.random() < 0.5, error=n % 10 == 0)
        sent.append(message)
        attributes.append({"length": len(message), "offset": offset, "user": user})
    assert await receiver.wait(len(sent)) == sent
    assert receiver.noted == attributes
    await ClockCycles(dut.clk, 100)
    assert irq.count == len(sent)
    assert bytes((await regs.read(0x00, 4)).data) == b"LOOP"
    assert await regs.read_dword(0x08) == len(sent)
    assert await regs.read_qword(0x0C) == sum(map(len, sent))
    assert await regs.read_dword(0x14) == 15
    await regs.write_dword(0x08, 0)
    assert [await regs.read_dword(a) for a in (0x08, 0x0C, 0x10, 0x14)] == [0, 0, 0, 0]


@cocotb.test()
async def full_rate(dut):
    await bench.start(dut)
    receiver = bench.Receiver(dut, "out")
    message = random.randbytes(len(dut.in_tkeep) * 200)
    cocotb.start_soon(bench.send(dut, "in", message))
    await receiver.wait(1)
    assert receiver.messages == [message]
    assert receiver.stalls == 0


@cocotb.test()
async def scratch_strobes(dut):
    regs = await bench.start(dut)
    expected = bytearray(4)
    for _ in range(50):
        first = random.randrange(4)
        data = random.randbytes(random.randint(1, 4 - first))
        await regs.write(4 + first, data)
        expected[first : first + len(data)] = data
        assert (await regs.read(4, 4)).data == bytes(expected)
    assert await regs.read_dword(0xFFC) == 0


@cocotb.test()
async def channel_reset(dut):
    await bench.start(dut)
    dut.out_tready.value = 0
    cocotb.start_soon(bench.send(dut, "in", bytes(len(dut.in_tkeep))))
    await ClockCycles(dut.clk, 5)
    assert dut.out_tvalid.value
    dut.out_reset.value = 1
    await RisingEdge(dut.clk)
    dut.out_reset.value = 0
    await ClockCycles(dut.clk, 2)
    assert not dut.out_tvalid.value
    receiver = bench.Receiver(dut, "out")
    await bench.send(dut, "in", b"after")
    assert await receiver.wait(1) == [b"after"]


@pytest.mark.parametrize("width", bench.WIDTHS)
def test_loopback(width):
    bench.run(width)
