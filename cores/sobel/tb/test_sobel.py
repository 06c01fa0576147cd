# SPDX-License-Identifier: Apache-2.0
"""Sobel against the same filter in NumPy, to the last byte: widths that fit no beat, odd lengths, thresholds, back-pressure, resets."""

import random

import bench
import cocotb
import numpy as np
import pytest
from cocotb.triggers import ClockCycles, RisingEdge

WIDTH, HEIGHT, FRAMES, MISMATCHES, THRESHOLD = 0x00, 0x04, 0x08, 0x0C, 0x10


def sobel(message: bytes, width: int, threshold: int = 0) -> bytes:
    """The filter as sobel.sv describes it, on the linear message, so that an unfinished last row is covered, too."""
    n = len(message)
    if not 3 <= width <= 4096 or n < 2 * width + 3:
        return bytes(n)
    p = np.frombuffer(message, np.uint8).astype(int)
    i = np.arange(width + 1, n - width - 1)  # pixels with both an upper left and a lower right neighbour
    a, b, c = p[i - width - 1], p[i - width], p[i - width + 1]
    d, f = p[i - 1], p[i + 1]
    g, h, k = p[i + width - 1], p[i + width], p[i + width + 1]
    edge = np.minimum(255, abs(c + 2 * f + k - a - 2 * d - g) + abs(g + 2 * h + k - a - 2 * b - c))
    if threshold:
        edge = np.where(edge >= threshold, 255, 0)
    x = i % width
    out = np.zeros(n, np.uint8)
    out[i] = np.where((x == 0) | (x == width - 1), 0, edge)
    return out.tobytes()


def picture(length: int) -> bytes:
    """Noise, or something smooth whose gradients do not saturate."""
    if random.random() < 0.5:
        return random.randbytes(length)
    return (np.cumsum(np.random.default_rng(random.getrandbits(32)).integers(-9, 10, length)) & 255).astype(np.uint8).tobytes()


@cocotb.test()
async def random_pictures(dut):
    regs = await bench.start(dut)
    receiver = bench.Receiver(dut, "edges")
    expected = []
    for n in range(60):
        receiver.ready = random.choice([1.0, 0.6, 0.2])
        width = random.choice([3, 4, 5, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, random.randint(3, 200)])
        length = width * random.randint(1, 20)
        if random.random() < 0.2:
            length = bench.random_length(1500)
        threshold = random.choice([0, 0, 0, 1, 128, 255])
        await regs.write_dword(WIDTH, width)
        await regs.write_dword(THRESHOLD, threshold)
        message = picture(length)
        expected.append(sobel(message, width, threshold))
        late_end = random.random() < 0.3
        await bench.send(dut, "pixels", message, busy=random.choice([1.0, 0.5]), late_end=late_end)
        await receiver.wait(n + 1)
        assert receiver.messages[n] == expected[n], f"width {width}, length {length}, threshold {threshold}, late end {late_end}"
    assert await regs.read_dword(FRAMES) == len(expected)


@cocotb.test()
async def widest(dut):
    regs = await bench.start(dut)
    receiver = bench.Receiver(dut, "edges")
    for n, width in enumerate([4096, 4095, 2049]):
        await regs.write_dword(WIDTH, width)
        message = picture(width * 4)
        await bench.send(dut, "pixels", message)
        assert (await receiver.wait(n + 1))[n] == sobel(message, width)
    for n, width in enumerate([0, 2, 4097, 0x10003], start=3):
        await regs.write_dword(WIDTH, width)
        message = picture(1000)
        await bench.send(dut, "pixels", message)
        assert (await receiver.wait(n + 1))[n] == bytes(1000)


@cocotb.test()
async def full_rate(dut):
    """Back to back, with the width unchanged: one beat a cycle in a picture, a short flush between two."""
    regs = await bench.start(dut)
    receiver = bench.Receiver(dut, "edges")
    await regs.write_dword(WIDTH, 100)
    keep = len(dut.pixels_tkeep)
    await ClockCycles(dut.clk, 2 * keep + 10)  # it prepares for the width it was reset to, and then for this one
    message = picture(100 * 40)
    start = cocotb.utils.get_sim_time("ns")
    for _ in range(3):
        await bench.send(dut, "pixels", message)
    await receiver.wait(3)
    assert set(receiver.messages) == {sobel(message, 100)}
    cycles = (cocotb.utils.get_sim_time("ns") - start) / 4
    assert receiver.stalls == 0
    assert cycles <= 3 * (-(-4000 // keep) + 101 // keep + 9) + 10


@cocotb.test()
async def heights_and_registers(dut):
    regs = await bench.start(dut)
    receiver = bench.Receiver(dut, "edges")
    await regs.write_dword(WIDTH, 20)
    await regs.write_dword(HEIGHT, 5)
    for n, length in enumerate([100, 99, 100, 120, 0]):
        await bench.send(dut, "pixels", picture(length))
        await receiver.wait(n + 1)
    await ClockCycles(dut.clk, 4)
    assert (await regs.read_dword(FRAMES), await regs.read_dword(MISMATCHES)) == (5, 3)
    await regs.write_dword(FRAMES, 0)
    assert (await regs.read_dword(FRAMES), await regs.read_dword(MISMATCHES)) == (0, 0)
    assert [await regs.read_dword(a) for a in (WIDTH, HEIGHT, THRESHOLD, 0x40)] == [20, 5, 0, 0]


@cocotb.test()
async def channel_reset(dut):
    regs = await bench.start(dut)
    await regs.write_dword(WIDTH, 30)
    for port in ("pixels_reset", "edges_reset"):
        task = cocotb.start_soon(bench.send(dut, "pixels", picture(900)))
        await ClockCycles(dut.clk, random.randint(5, 30))
        task.cancel()
        dut.pixels_tvalid.value = 0
        await RisingEdge(dut.clk)
        getattr(dut, port).value = 1
        await RisingEdge(dut.clk)
        getattr(dut, port).value = 0
        await ClockCycles(dut.clk, 2)
        assert not dut.edges_tvalid.value
        receiver = bench.Receiver(dut, "edges")
        message = picture(600)
        await bench.send(dut, "pixels", message)
        assert await receiver.wait(1) == [sobel(message, 30)]
        receiver.task.cancel()
        dut.edges_tready.value = 0


@pytest.mark.parametrize("width", [*bench.WIDTHS, 512])
def test_sobel(width):
    bench.run(width)
