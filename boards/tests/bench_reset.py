# SPDX-License-Identifier: Apache-2.0
"""The boards' reset, with a clock that comes and goes as the block's does: a cocotb module, started by test_reset."""

import cocotb
from bench import generator
from cocotb.triggers import Timer

CLOCKS = 16  # for which the block must be out of reset


async def clocks(dut, count: int) -> None:
    for _ in range(count):
        for level in (1, 0):
            dut.clk.value = level
            await Timer(2, "ns")


async def powered(dut) -> None:
    dut.clk.value, dut.perst_n.value, dut.block_reset.value = 0, 0, 1
    await Timer(100, "ns")
    dut.perst_n.value = 1
    await Timer(1, "ns")


async def released(dut) -> None:
    dut.block_reset.value = 0
    await clocks(dut, CLOCKS - 1)
    assert dut.rst.value == 1
    await clocks(dut, 2)
    assert dut.rst.value == 0


@cocotb.test()
async def from_power_on(dut):
    dut.clk.value, dut.perst_n.value, dut.block_reset.value = 0, 1, 1
    await Timer(1, "ns")
    assert dut.rst.value == 1, "from configuration on, also without PERST#"
    await powered(dut)
    await clocks(dut, 100)
    assert dut.rst.value == 1, "as long as the block is in reset"
    await released(dut)


@cocotb.test()
async def a_link_that_goes_down_is_no_reset(dut):
    await powered(dut)
    await clocks(dut, 3)
    await released(dut)
    dut.block_reset.value = 1
    await clocks(dut, 100)
    assert dut.rst.value == 0


@cocotb.test()
async def without_a_clock(dut):
    await powered(dut)
    await clocks(dut, 3)
    await released(dut)
    dut.perst_n.value = 0
    await Timer(1, "ns")
    assert dut.rst.value == 1, "no clock runs while PERST# is low"
    await Timer(100, "ns")
    dut.perst_n.value, dut.block_reset.value = 1, 1
    await clocks(dut, 3)
    await released(dut)


@cocotb.test()
async def a_block_that_hesitates(dut):
    rng = generator("a_block_that_hesitates")
    await powered(dut)
    for _ in range(20):
        dut.block_reset.value = 1
        await clocks(dut, rng.randrange(1, 5))
        dut.block_reset.value = 0
        await clocks(dut, rng.randrange(1, CLOCKS))
        assert dut.rst.value == 1
    dut.block_reset.value = 1
    await clocks(dut, 1)
    await released(dut)
