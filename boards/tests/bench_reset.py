# SPDX-License-Identifier: Apache-2.0
"""The boards' reset, with a clock that comes and goes as the block's does, and an MMCM on it: a cocotb module, started by test_reset."""

import cocotb
from bench import generator
from cocotb.triggers import Timer

CLOCKS = 17  # for which the block must be out of reset, and the MMCM's lock seen
LOCK = 40  # clocks that the MMCM takes to lock


class Mmcm:
    """Locks some clocks after its reset. A clock that stops takes the lock away, and only a reset lets it come back."""

    def __init__(self, dut):
        self.dut = dut
        self.lost = True
        self.left = LOCK
        dut.locked.value = 0

    def look(self) -> None:
        if self.dut.mmcm_rst.value == 1:
            self.lost, self.left = False, LOCK
        elif not self.lost:
            self.left = max(self.left - 1, 0)
        self.dut.locked.value = int(not self.lost and self.left == 0)

    def stop(self) -> None:
        self.lost = True
        self.dut.locked.value = 0


async def clocks(dut, count: int, mmcm: Mmcm | None = None) -> None:
    for _ in range(count):
        for level in (1, 0):
            dut.clk.value = level
            await Timer(2, "ns")
        if mmcm:
            mmcm.look()


async def powered(dut) -> None:
    dut.clk.value, dut.perst_n.value, dut.block_reset.value = 0, 0, 1
    dut.locked.value = 1
    await Timer(100, "ns")
    dut.perst_n.value = 1
    await Timer(1, "ns")


async def released(dut) -> None:
    dut.block_reset.value = 0
    await clocks(dut, CLOCKS - 1)
    assert dut.rst.value == 1
    await clocks(dut, 2)
    assert dut.rst.value == 0 and dut.mmcm_rst.value == 0


async def locks(dut, mmcm: Mmcm) -> None:
    """The block is out of reset: the MMCM's reset ends, it locks, and only then the card's does."""
    dut.block_reset.value = 0
    for _ in range(CLOCKS + LOCK + 10):
        await clocks(dut, 1, mmcm)
        if dut.rst.value == 0:
            assert dut.locked.value == 1 and dut.mmcm_rst.value == 0, "the card runs on a clock that is not locked"
            break
    assert dut.rst.value == 0, "the MMCM is locked, and the card still in reset"
    await clocks(dut, 100, mmcm)
    assert dut.rst.value == 0


@cocotb.test()
async def from_power_on(dut):
    dut.clk.value, dut.perst_n.value, dut.block_reset.value, dut.locked.value = 0, 1, 1, 1
    await Timer(1, "ns")
    assert dut.rst.value == 1 and dut.mmcm_rst.value == 1, "from configuration on, also without PERST#"
    await powered(dut)
    await clocks(dut, 100)
    assert dut.rst.value == 1 and dut.mmcm_rst.value == 1, "as long as the block is in reset"
    await released(dut)


@cocotb.test()
async def a_link_that_goes_down_is_no_reset(dut):
    await powered(dut)
    await clocks(dut, 3)
    await released(dut)
    dut.block_reset.value = 1
    await clocks(dut, 100)
    assert dut.rst.value == 0 and dut.mmcm_rst.value == 0


@cocotb.test()
async def without_a_clock(dut):
    await powered(dut)
    await clocks(dut, 3)
    await released(dut)
    dut.perst_n.value = 0
    await Timer(1, "ns")
    assert dut.rst.value == 1 and dut.mmcm_rst.value == 1, "no clock runs while PERST# is low"
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


@cocotb.test()
async def the_card_waits_for_the_lock(dut):
    await powered(dut)
    mmcm = Mmcm(dut)
    await clocks(dut, 3, mmcm)
    await locks(dut, mmcm)


@cocotb.test()
async def the_block_resets_while_the_mmcm_locks(dut):
    await powered(dut)
    mmcm = Mmcm(dut)
    dut.block_reset.value = 0
    await clocks(dut, CLOCKS + LOCK // 2, mmcm)
    assert dut.mmcm_rst.value == 0 and dut.rst.value == 1
    dut.block_reset.value = 1
    await clocks(dut, 2, mmcm)
    assert dut.mmcm_rst.value == 1
    await locks(dut, mmcm)


@cocotb.test()
async def a_warm_restart_stops_the_clock(dut):
    await powered(dut)
    mmcm = Mmcm(dut)
    await locks(dut, mmcm)
    dut.perst_n.value = 0
    mmcm.stop()
    await Timer(100, "ns")
    assert dut.mmcm_rst.value == 1 and dut.rst.value == 1
    dut.perst_n.value, dut.block_reset.value = 1, 1
    await clocks(dut, 3, mmcm)
    await locks(dut, mmcm)


@cocotb.test()
async def a_clock_that_stops_by_itself(dut):
    rng = generator("a_clock_that_stops_by_itself")
    await powered(dut)
    mmcm = Mmcm(dut)
    await locks(dut, mmcm)
    for _ in range(5):
        mmcm.stop()
        await Timer(rng.randrange(10, 200), "ns")
        await clocks(dut, 4, mmcm)
        assert dut.mmcm_rst.value == 1 and dut.rst.value == 1, "a lost lock begins anew"
        await locks(dut, mmcm)
