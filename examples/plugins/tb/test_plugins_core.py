# SPDX-License-Identifier: Apache-2.0
"""The echo at random paces; how it breaks, and what its resets do; the register that does not answer."""

import random
import sys
from pathlib import Path

import cocotb
import pytest
from cocotb.triggers import ClockCycles, SimTimeoutError, with_timeout

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "cores"))  # for `bench`, which drives and checks streams
import bench  # noqa: E402

SCRATCH, BREAK, MESSAGES, SILENT, EARLY, LATE = range(0, 0x18, 4)


async def start(dut):
    dut.reset_rst_n.value = 3
    for name in ("wishbone_cyc", "wishbone_stb", "avalon_read", "avalon_write"):
        getattr(dut, name).value = 0
    return await bench.start(dut)


@cocotb.test()
async def echoes(dut):
    master = await start(dut)
    receiver = bench.Receiver(dut, "out")
    sent = [random.randbytes(bench.random_length(300)) for _ in range(150)]
    for message in sent:
        receiver.ready = random.choice([1.0, 0.3])
        await bench.send(dut, "in", message, busy=random.choice([1.0, 0.5]), late_end=random.random() < 0.5)
    assert await receiver.wait(len(sent)) == sent
    assert await master.read_dword(MESSAGES) == len(sent) and dut.reset_fault.value == 0


@cocotb.test()
async def breaks_and_is_reset(dut):
    master = await start(dut)
    receiver = bench.Receiver(dut, "out")
    await master.write_dword(SCRATCH, 7)
    await master.write_dword(BREAK, 1)
    dut.in_tvalid.value = 1
    await ClockCycles(dut.clk, 20)
    assert dut.reset_fault.value == 1 and dut.in_tready.value == 0, "a broken core takes nothing"
    dut.in_tvalid.value = 0
    dut.rst_n.value = 0
    dut.reset_rst_n.value = 0
    await ClockCycles(dut.clk, 5)
    dut.rst_n.value = 1
    await ClockCycles(dut.clk, 30)
    dut.reset_rst_n.value = 3
    await ClockCycles(dut.clk, 5)
    assert dut.reset_fault.value == 0 and await master.read_dword(SCRATCH) == 0
    early, late = await master.read_dword(EARLY), await master.read_dword(LATE)
    assert 20 < early - late <= 30
    await bench.send(dut, "in", b"whole")
    assert await receiver.wait(1) == [b"whole"]


@cocotb.test()
async def one_register_does_not_answer(dut):
    master = await start(dut)
    with pytest.raises(SimTimeoutError):
        await with_timeout(master.read_dword(SILENT), 2, "us")


@pytest.mark.parametrize("width", bench.WIDTHS)
def test_plugins_core(width):
    bench.run(width)
