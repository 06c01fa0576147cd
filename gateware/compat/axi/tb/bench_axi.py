# SPDX-License-Identifier: Apache-2.0
"""The RAM between host and core: cocotbext-axi's masters at both ports, and a model of its bytes. A cocotb module, started by test_axi."""

import itertools
import random

import cocotb
from bench import generator
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, gather
from cocotb.utils import get_sim_time
from cocotbext.axi import AxiBurstType, AxiBus, AxiMaster, AxiResp

PERIOD = 4


class Both:
    """The host's master and the core's, each with pauses in all of its channels."""

    def __init__(self, dut, rng: random.Random, idle: float):
        self.dut, self.rng = dut, rng
        self.base, self.bytes = int(dut.BASE.value), int(dut.BYTES.value)
        self.memory: bytearray | None = None
        self.masters = [AxiMaster(AxiBus.from_prefix(dut, side), dut.clk, dut.rst_n, reset_active_level=False) for side in ("s", "c")]
        for side in self.masters:
            for interface, channels in ((side.write_if, ("aw", "w", "b")), (side.read_if, ("ar", "r"))):
                interface.log.setLevel("WARNING")
                for channel in channels:
                    if idle:
                        getattr(interface, f"{channel}_channel").set_pause_generator(rng.random() < idle for _ in itertools.count())

    async def start(self) -> "Both":
        cocotb.start_soon(Clock(self.dut.clk, PERIOD, unit="ns").start())
        self.dut.rst_n.value = 0
        await ClockCycles(self.dut.clk, 4)
        self.dut.rst_n.value = 1
        await ClockCycles(self.dut.clk, 2)
        self.memory = bytearray(self.rng.randbytes(self.bytes))
        assert (await self.write(0, 0, bytes(self.memory))).resp == AxiResp.OKAY
        return self

    def beat(self, side: int) -> int:
        return (int(self.dut.WIDTH.value) if side else int(self.dut.DATA_WIDTH.value)) // 8

    async def write(self, side: int, at: int, data: bytes, **more):
        return await self.masters[side].write(self.base + at, data, awid=self.rng.randrange(16) if side else 0, **more)

    async def read(self, side: int, at: int, length: int, **more):
        return await self.masters[side].read(self.base + at, length, arid=self.rng.randrange(16) if side else 0, **more)

    async def random(self, side: int, first: int, end: int, rounds: int) -> None:
        """Bytes in [first, end), which nobody else writes, by beats as wide as the port and narrower."""
        rng, memory = self.rng, self.memory
        for _ in range(rounds):
            at = rng.randrange(first, end)
            size = min(end - at, int(2 ** rng.uniform(0, 11)))
            narrow = rng.randrange(self.beat(side).bit_length()) if side else None
            if rng.random() < 0.5:
                data = rng.randbytes(size)
                assert (await self.write(side, at, data, size=narrow)).resp == AxiResp.OKAY
                memory[at : at + size] = data
            else:
                got = await self.read(side, at, size, size=narrow)
                assert (got.resp, got.data) == (AxiResp.OKAY, bytes(memory[at : at + size])), f"{size} bytes at {at:#x}, port {side}"


@cocotb.test()
@cocotb.parametrize(idle=[0.0, 0.4])
async def both_at_once(dut, idle):
    """Each port has parts of its own; at the end either sees all."""
    rng = generator(f"both_at_once, idle {idle}")
    both = await Both(dut, rng, idle).start()
    quarter = both.bytes // 4
    await gather(*[both.random(part % 2, part * quarter, (part + 1) * quarter, 60) for part in range(4)])
    for side in range(2):
        assert (await both.read(side, 0, both.bytes)).data == bytes(both.memory)


@cocotb.test()
async def one_after_the_other(dut):
    """What one port has been answered for, the other reads at once."""
    rng = generator("one_after_the_other")
    both = await Both(dut, rng, 0.2).start()
    for _ in range(150):
        side, size = rng.randrange(2), int(2 ** rng.uniform(0, 8))
        at = rng.randrange(both.bytes - size)
        both.memory[at : at + size] = data = rng.randbytes(size)
        await both.write(side, at, data)
        first = max(0, at - 20)
        assert (await both.read(1 - side, first, size + 40)).data[: both.bytes - first] == bytes(both.memory[first : first + size + 40])


@cocotb.test()
async def bursts_that_wrap_or_stay(dut):
    rng = generator("bursts_that_wrap_or_stay")
    both = await Both(dut, rng, 0.2).start()
    for _ in range(80):
        side = rng.randrange(2)
        beat, beats = both.beat(side), rng.choice([2, 4, 8, 16])
        whole = beat * beats
        container = rng.randrange(both.bytes // whole) * whole
        turn = rng.randrange(beats) * beat
        data = rng.randbytes(whole)
        if rng.random() < 0.5:
            places = [container + (turn + i * beat) % whole for i in range(beats)]
            kind = AxiBurstType.WRAP
        else:
            places = [container + turn] * beats
            kind = AxiBurstType.FIXED
        # The master counts a burst's addresses upwards, and cuts it where that crosses 4096.
        if (both.base + places[0]) % 4096 + whole > 4096:
            continue
        if rng.random() < 0.5:
            assert (await both.write(side, places[0], data, burst=kind)).resp == AxiResp.OKAY
            for i, at in enumerate(places):
                both.memory[at : at + beat] = data[i * beat : (i + 1) * beat]
        else:
            wanted = b"".join(bytes(both.memory[at : at + beat]) for at in places)
            assert (await both.read(side, places[0], whole, burst=kind)).data == wanted, f"{kind!r} of {beats} at {places[0]:#x}"
    assert (await both.read(0, 0, both.bytes)).data == bytes(both.memory)


@cocotb.test()
async def outside(dut):
    """Nothing is written outside, and nothing else by it: the answer is DECERR, and what is inside goes on."""
    rng = generator("outside")
    both = await Both(dut, rng, 0.2).start()
    for _ in range(40):
        side, size = rng.randrange(2), rng.randrange(1, 200)
        at = rng.choice([both.bytes, both.bytes + 4096, 1 << 20, (1 << 31) - 4096])
        if both.base and rng.random() < 0.3:
            at = -both.base + rng.randrange(both.base - size)
        assert (await both.write(side, at, bytes(size))).resp == AxiResp.DECERR
        got = await both.read(side, at, size)
        assert (got.resp, got.data) == (AxiResp.DECERR, bytes(size))
        await both.random(1 - side, 0, both.bytes, 1)
    assert (await both.read(1, 0, both.bytes)).data == bytes(both.memory)


@cocotb.test()
async def rate(dut):
    """A port that is alone writes a beat and reads a beat in a clock, but for one clock between bursts; two share evenly."""
    both = await Both(dut, generator("rate"), 0.0).start()

    async def clocks(*moves) -> float:
        begun = get_sim_time("ns")
        await gather(*moves)
        return (get_sim_time("ns") - begun) / PERIOD

    for side in range(2):
        beats = 4096 // both.beat(side)
        # Bursts of up to 256 beats, or to the next multiple of 4096.
        slack = 12 + 2 * -(-beats // 256)
        assert await clocks(both.write(side, 0, bytes(4096))) <= beats + slack
        assert await clocks(both.read(side, 0, 4096), both.write(side, 4096, bytes(4096))) <= beats + slack
    beats = [4096 // both.beat(side) for side in range(2)]
    ends = {}

    async def one(side: int) -> None:
        ends[side] = await clocks(both.write(side, 4096 * side, bytes(4096)))

    await gather(one(0), one(1))
    least = min((0, 1), key=lambda side: beats[side])
    assert ends[least] <= 2 * beats[least] + 40 and ends[1 - least] <= sum(beats) + 60, f"{ends} clocks for {beats} beats"
