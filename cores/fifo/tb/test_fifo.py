# SPDX-License-Identifier: Apache-2.0
"""Fifo: bytes through the range in both directions at random sizes and paces, what is refused, and that looking takes nothing."""

import itertools
import random

import bench
import cocotb
import pytest
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiBus, AxiMaster, AxiResp

HALF = 32768
HELD, ROOM, TAKE, END = (HALF + at for at in (0x00, 0x40, 0x80, 0xC0))


class Range:
    """The range as a program sees it."""

    def __init__(self, dut, idle: float = 0.0):
        self.master = AxiMaster(AxiBus.from_prefix(dut, "range"), dut.clk, dut.rst_n, reset_active_level=False, max_burst_len=256)
        for interface in (self.master.write_if, self.master.read_if):
            interface.log.setLevel("WARNING")
        writes, reads = self.master.write_if, self.master.read_if
        for channel in (writes.aw_channel, writes.w_channel, writes.b_channel, reads.ar_channel, reads.r_channel):
            channel.set_pause_generator(random.random() < idle for _ in itertools.count())

    async def register(self, at: int) -> int:
        return int.from_bytes((await self.master.read(at, 4)).data, "little")

    async def store(self, at: int, data: bytes) -> AxiResp:
        return (await self.master.write(at, data)).resp

    async def set(self, at: int, value: int) -> AxiResp:
        return await self.store(at, value.to_bytes(4, "little"))

    async def look(self, at: int, length: int) -> bytes:
        return (await self.master.read(at, length)).data


async def start(dut, idle: float = 0.0) -> Range:
    await bench.start(dut)
    return Range(dut, idle)


@cocotb.test()
async def appended(dut):
    """Messages of any length in stores of any length to any address: whole, in order, each ended where it was."""
    fifos = await start(dut, random.choice([0.0, 0.3]))
    receiver = bench.Receiver(dut, "out", ready=random.choice([1.0, 0.2]))
    sent = []
    for _ in range(120):
        message = random.randbytes(bench.random_length(3000))
        at = 0
        while at < len(message):
            part = message[at : at + random.choice([1, 3, 8, 64, 300, 5000])]
            if len(part) > await fifos.register(ROOM):
                continue
            assert await fifos.store(random.randrange(HALF - len(part)), part) == AxiResp.OKAY
            at += len(part)
        while await fifos.register(ROOM) == 0:  # 16 ends wait
            pass
        assert await fifos.set(END, 0) == AxiResp.OKAY
        sent.append(message)
    assert await receiver.wait(len(sent)) == sent


@cocotb.test()
async def read(dut):
    """What is sent is read from the oldest byte on, from any address, again and again, until it is taken."""
    fifos = await start(dut, random.choice([0.0, 0.3]))
    data = random.randbytes(3 * HALF + 5)

    async def sends() -> None:
        at = 0
        while at < len(data):
            length = 1 + bench.random_length(4000)
            await bench.send(dut, "in", data[at : at + length], busy=random.choice([1.0, 0.5]))
            at += length

    cocotb.start_soon(sends())
    taken = 0
    while taken < len(data):
        held = await fifos.register(HELD)
        for _ in range(random.randrange(3)):
            at = random.randrange(held) if held else 0
            length = random.randint(0, min(3000, held - at))
            if length:
                assert await fifos.look(at, length) == data[taken + at : taken + at + length]
        take = random.choice([held, random.randint(0, held)])
        assert await fifos.look(0, take) == data[taken : taken + take]
        assert await fifos.set(TAKE, take) == AxiResp.OKAY
        taken += take
    assert await fifos.register(HELD) == 0
    assert await fifos.look(0, 64) == bytes(64), "what is not held shows zeros"


@cocotb.test()
async def full(dut):
    """The port never waits: what does not fit is refused whole, up to `room` is never refused, and the core waits at the other end."""
    keep = len(dut.out_tkeep)
    fifos = await start(dut)
    dut.out_tready.value = 0
    sent = b""
    while room := await fifos.register(ROOM):
        data = random.randbytes(random.randint(1, min(room, random.choice([1, 100, 4000, HALF]))))
        assert await fifos.store(random.randrange(HALF - len(data)), data) == AxiResp.OKAY, (room, len(data))
        sent += data
    assert len(sent) >= HALF - 2 * keep
    assert await fifos.store(0, bytes(3 * keep)) == AxiResp.SLVERR
    receiver = bench.Receiver(dut, "out")
    assert await fifos.set(END, 1) == AxiResp.OKAY
    assert await receiver.wait(1) == [sent]

    # The other way: the core's side waits, with at most a beat less than all in the FIFO.
    await bench.send(dut, "in", b"odd")
    data = random.randbytes(HALF + 100)
    sending = cocotb.start_soon(bench.send(dut, "in", data))
    for _ in range(2 * HALF // keep):
        await RisingEdge(dut.clk)
    held = await fifos.register(HELD)
    assert HALF - keep < held <= HALF and not sending.done()
    assert await fifos.look(0, held) == b"odd" + data[: held - 3]
    assert await fifos.set(TAKE, held) == AxiResp.OKAY
    await sending


@cocotb.test()
async def refused(dut):
    fifos = await start(dut)
    await bench.send(dut, "in", b"0123456789")
    for _ in range(20):
        await RisingEdge(dut.clk)
    assert await fifos.set(TAKE, 11) == AxiResp.SLVERR
    for at in (HELD, ROOM, TAKE + 4, END + 4, 2 * HALF - 4):
        assert await fifos.set(at, 1) == AxiResp.SLVERR
    assert await fifos.store(TAKE, b"\1\0") == AxiResp.SLVERR
    assert await fifos.register(HELD) == 10 and await fifos.register(TAKE) == 0
    assert await fifos.set(TAKE, 4) == AxiResp.OKAY
    assert await fifos.look(0, 6) == b"456789"
    # Ends that wait are counted, for one more would be refused.
    dut.out_tready.value = 0
    count = 0
    while await fifos.register(ROOM):
        assert await fifos.set(END, 0) == AxiResp.OKAY
        count += 1
    assert count == 17, "16, and one that is on offer"
    assert await fifos.set(END, 0) == AxiResp.SLVERR
    receiver = bench.Receiver(dut, "out")
    assert await receiver.wait(17) == [b""] * 17


@cocotb.test()
async def full_rate(dut):
    """A burst is taken in a clock for each beat, and passed on so."""
    keep = len(dut.out_tkeep)
    fifos = await start(dut)
    receiver = bench.Receiver(dut, "out")
    data = random.randbytes(4096)
    stalls = 0

    async def watch() -> None:
        nonlocal stalls
        while True:
            await RisingEdge(dut.clk)
            stalls += bool(dut.range_wvalid.value) and not dut.range_wready.value

    cocotb.start_soon(watch())
    for _ in range(4):
        await fifos.store(0, data)
    await fifos.set(END, 0)
    assert await receiver.wait(1) == [4 * data]
    # The master offers a burst's first beat together with its address, and the answer before it may stand in the way for a clock.
    bursts = 4 * max(1, len(data) // (256 * keep)) + 1
    assert stalls <= 2 * bursts, f"{stalls} clocks lost in {bursts} bursts at {keep} bytes a beat"


@pytest.mark.parametrize("width", [64, 512])
def test_fifo(width):
    bench.run(width)
