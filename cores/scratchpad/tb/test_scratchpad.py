# SPDX-License-Identifier: Apache-2.0
"""Scratchpad: cocotbext-axi's master as the judge of its AXI4 port; latency, stalls, faults and the full rate."""

import itertools
import random

import bench
import cocotb
import pytest
from cocotb.triggers import Combine, RisingEdge
from cocotbext.axi import AxiBurstType, AxiBus, AxiMaster, AxiResp

BYTES = 1 << 20
LATENCY, STALL, SLVERR_PAGE, DECERR_PAGE, WRITES, READS = 0x04, 0x08, 0x0C, 0x10, 0x14, 0x18
NONE = 0xFFFF_FFFF


async def start(dut):
    regs = await bench.start(dut)
    master = AxiMaster(AxiBus.from_prefix(dut, "ram"), dut.clk, dut.rst_n, reset_active_level=False, max_burst_len=256)
    for interface in (master.write_if, master.read_if):
        interface.log.setLevel("WARNING")
    await RisingEdge(dut.clk)
    return regs, master


def uneven(master, idle: float) -> None:
    """The master's own pauses, in each channel."""
    channels = [
        master.write_if.aw_channel,
        master.write_if.w_channel,
        master.write_if.b_channel,
        master.read_if.ar_channel,
        master.read_if.r_channel,
    ]
    for channel in channels:
        channel.set_pause_generator(random.random() < idle for _ in itertools.count())


@cocotb.test()
async def random_access(dut):
    """Four programs, each with an area of its own, write and read bytes at random; at the end all of it is as they left it."""
    regs, master = await start(dut)
    assert bytes((await regs.read(0x00, 4)).data) == b"SPAD"
    area = BYTES // 4

    async def program(base: int, known: bytearray) -> None:
        for _ in range(40):
            length = 1 + bench.random_length(5000)
            at = random.randrange(len(known) - length)
            if random.random() < 0.5:
                known[at : at + length] = data = random.randbytes(length)
                assert (await master.write(base + at, data)).resp == AxiResp.OKAY
            else:
                got = await master.read(base + at, length)
                assert (got.resp, got.data) == (AxiResp.OKAY, bytes(known[at : at + length]))

    images = []
    for n in range(4):
        # A small part of each area, or nothing would be read that was written; the areas' ends are the memory's.
        images.append((n * area + random.choice([0, area - 16384]), bytearray(random.randbytes(16384))))
        await master.write(images[-1][0], bytes(images[-1][1]))
    for latency, stall, idle in [(0, 0, 0.0), (random.randrange(100), random.randrange(200), 0.3)]:
        await regs.write_dword(LATENCY, latency)
        await regs.write_dword(STALL, stall)
        uneven(master, idle)
        await Combine(*(cocotb.start_soon(program(*image)) for image in images))
    await regs.write_dword(STALL, 0)
    for base, known in images:
        assert (await master.read(base, len(known))).data == bytes(known)


@cocotb.test()
async def faults(dut):
    regs, master = await start(dut)
    await master.write(0x3000, bytes(range(256)) * 48)
    await regs.write_dword(WRITES, 0)
    await regs.write_dword(SLVERR_PAGE, 4)
    await regs.write_dword(DECERR_PAGE, 5)
    for page, expected in [
        (3, AxiResp.OKAY),
        (4, AxiResp.SLVERR),
        (5, AxiResp.DECERR),
        (BYTES >> 12, AxiResp.DECERR),
        (0xFFFFF, AxiResp.DECERR),
    ]:
        at = (page << 12) + random.randrange(4000)
        assert (await master.write(at, b"new")).resp == expected
        got = await master.read(at, 3)
        assert (got.resp, got.data) == (expected, b"new" if page == 3 else bytes(3))
    assert (await master.write(0x3000, bytes(8), burst=AxiBurstType.FIXED)).resp == AxiResp.SLVERR
    assert [await regs.read_dword(r) for r in (WRITES, READS)] == [6, 5]
    # What was answered with a fault was not written, and with all ones no page has one.
    await regs.write_dword(SLVERR_PAGE, NONE)
    await regs.write_dword(DECERR_PAGE, NONE)
    assert (await master.read(0x4000, 8192)).data == bytes(range(256)) * 32
    assert (await master.read(0x3000, 8)).data != bytes(8)


async def clocks(dut, begins, ends) -> int:
    """Clocks from one handshake to the next beat of another channel."""
    while not begins():
        await RisingEdge(dut.clk)
    count = 0
    while not ends():
        await RisingEdge(dut.clk)
        count += 1
    return count


@cocotb.test()
async def latency(dut):
    regs, master = await start(dut)
    await master.write(0, bytes(64))
    least = {}
    for wait in [0, 1, 50, 300]:
        await regs.write_dword(LATENCY, wait)
        task = cocotb.start_soon(clocks(dut, lambda: dut.ram_arvalid.value and dut.ram_arready.value, lambda: dut.ram_rvalid.value))
        await master.read(0, 4)
        read = await task
        task = cocotb.start_soon(
            clocks(dut, lambda: dut.ram_wvalid.value and dut.ram_wready.value and dut.ram_wlast.value, lambda: dut.ram_bvalid.value)
        )
        await master.write(0, bytes(4))
        write = await task
        least = least or {"read": read, "write": write}
        # An entry of a queue is seen a clock after it was put in, so a wait of one costs nothing more.
        assert {"read": read, "write": write} == {name: own + max(wait - 1, 0) for name, own in least.items()}
    assert least["read"] <= 4 and least["write"] <= 3, least


@cocotb.test()
async def full_rate(dut):
    """With 200 ns of latency and both directions at once, no clock passes without a beat, but for the first wait."""
    regs, master = await start(dut)
    keep = len(dut.ram_wstrb)
    latency_clocks, bursts = 50, 12
    await regs.write_dword(LATENCY, latency_clocks)
    beats = bursts * 4096 // keep
    seen = {"r": [], "w": []}

    async def watch():
        while True:
            await RisingEdge(dut.clk)
            now = cocotb.utils.get_sim_time("ns") / 4
            for name, times in seen.items():
                if getattr(dut, f"ram_{name}valid").value and getattr(dut, f"ram_{name}ready").value:
                    times.append(now)

    cocotb.start_soon(watch())
    data = random.randbytes(bursts * 4096)
    read = cocotb.start_soon(master.read(0x80000, len(data)))
    await master.write(0, data)
    await read
    assert (await master.read(0, len(data))).data == data
    for name, times in seen.items():
        took = times[beats - 1] - times[0] + 1
        # The master itself loses a clock between bursts.
        assert took <= beats + 2 * bursts, f"{name}: {beats} beats in {took} clocks"


@pytest.mark.parametrize("width", [64, 512])
def test_scratchpad(width):
    bench.run(width)
