# SPDX-License-Identifier: Apache-2.0
"""The plug-in `clock` and its switch: random switches at random phases, inputs that stop, and every pulse of the user's clock measured."""

import sys
from pathlib import Path

import cocotb
from bench import TP, generator
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge, Timer, ValueChange
from cocotb.utils import get_sim_time

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from window import Window

CARD_PS = 4000
WINDOW = 200  # clocks of the card's in which edges are counted: as test_clock.py builds it
SETTLE = 16  # clocks of the new input that the core has in reset
EDGE_KHZ = 16
BUSY, HELD, ASTRAY, MEASURED = (getattr(TP, f"TP_PLUGIN_CLOCK_STATUS_{name}_MASK") for name in ("BUSY", "HELD", "ASTRAY", "MEASURED"))
RELEASE = TP.TP_PLUGIN_CLOCK_COMMAND_RELEASE_MASK


class Inputs:
    """The inputs: each has its half periods in picoseconds, and may stand still at either level."""

    def __init__(self, dut, pace, halves: list[int]):
        self.dut, self.halves, self.levels = dut, halves, 0
        self.run = [True] * len(halves)
        dut.clocks.value = 0
        for index in range(len(halves)):
            cocotb.start_soon(self._drive(index, pace.randrange(1, 10_000)))

    async def _drive(self, index: int, phase: int) -> None:
        await Timer(phase, unit="ps")
        while True:
            await Timer(self.halves[index], unit="ps")
            if self.run[index]:
                self.levels ^= 1 << index
                self.dut.clocks.value = self.levels

    async def stop(self, index: int, level: int) -> None:
        while self.levels >> index & 1 != level:
            await Timer(self.halves[index] // 2, unit="ps")
        self.run[index] = False


class Monitor:
    """Measures each pulse of the user's clock. No pulse may be shorter than `shortest`; out of reset the core has those of one input alone,
    and has had SETTLE of them in reset."""

    def __init__(self, dut, shortest: int):
        self.dut, self.shortest, self.pulses, self.period = dut, shortest, 0, 0
        self.lost = False  # the input has stopped: until the core is in reset, one pulse may be longer
        cocotb.start_soon(self._run())

    async def _run(self) -> None:
        changed = rose = None
        same = 0
        while True:
            await ValueChange(self.dut.clk)
            now = round(get_sim_time("ps"))
            if changed is not None:
                assert now - changed >= self.shortest, f"a pulse of {now - changed} ps, the shortest half period is {self.shortest}"
                self.pulses += 1
            changed = now
            if not self.dut.clk.value:
                continue
            period = now - (rose or 0)
            same = same + 1 if period == self.period else 0
            self.period, rose = period, now
            if self.dut.user_rst_n.value and not self.lost:
                assert same >= SETTLE - 1, f"the core is out of reset, {same} periods after one of another length"


class Aligned(Window):
    """Accesses begin at a clock, whatever the bench has waited for."""

    async def read(self, address: int) -> tuple[int, int]:
        await RisingEdge(self.dut.clk)
        return await super().read(address)

    async def write(self, address: int, data: int, strobe: int = 15) -> int:
        await RisingEdge(self.dut.clk)
        return await super().write(address, data, strobe)


class Plugin:
    def __init__(self, dut, window: Window):
        self.dut, self.window = dut, window

    async def get(self, name: str, index: int = 0) -> int:
        return await self.window.get(getattr(TP, f"TP_PLUGIN_CLOCK_{name}_OFFSET") + 4 * index)

    async def select(self, index: int) -> int:
        """Returns the status once the switch is over."""
        await self.window.set(TP.TP_PLUGIN_CLOCK_SELECT_OFFSET, index)
        return await self.done()

    async def release(self) -> None:
        await self.window.set(TP.TP_PLUGIN_CLOCK_COMMAND_OFFSET, RELEASE)
        await self.done()

    async def done(self) -> int:
        for _ in range(1000):
            if not (status := await self.get("STATUS")) & BUSY:
                return status
        raise AssertionError("the switch does not end")


def current(status: int) -> int:
    return (status & TP.TP_PLUGIN_CLOCK_STATUS_CURRENT_MASK) >> TP.TP_PLUGIN_CLOCK_STATUS_CURRENT_LSB


def runs(status: int) -> int:
    return (status & TP.TP_PLUGIN_CLOCK_STATUS_RUNS_MASK) >> TP.TP_PLUGIN_CLOCK_STATUS_RUNS_LSB


async def start(dut, what: str):
    pace = generator(what)
    count = len(dut.clocks)
    halves = [pace.randrange(1_000, 9_000) for _ in range(count)]
    window = Aligned(dut, pace)
    dut.card_rst.value = 1
    cocotb.start_soon(Clock(dut.card_clk, CARD_PS, unit="ps").start())
    inputs = Inputs(dut, pace, halves)
    await ClockCycles(dut.card_clk, 3 * WINDOW)  # inputs that the test before has stopped run again
    monitor = Monitor(dut, min(halves))
    dut.card_rst.value = 0
    await RisingEdge(dut.user_rst_n)
    return pace, inputs, monitor, Plugin(dut, window)


def period(inputs: Inputs, index: int) -> int:
    return 2 * inputs.halves[index]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def switches(dut):
    pace, inputs, monitor, plugin = await start(dut, "switches")
    count = len(inputs.halves)
    status = await plugin.done()
    assert current(status) == 0 and await plugin.get("INPUTS") == count
    for _ in range(60):
        index = pace.randrange(count)
        await Timer(pace.randrange(1, 20_000), unit="ps")
        status = await plugin.select(index)
        assert status & (BUSY | HELD | ASTRAY) == HELD and current(status) == index == await plugin.get("SELECT")
        assert monitor.period == period(inputs, index) and not dut.user_rst_n.value
        if pace.random() < 0.2:
            continue  # from one to the next without a release
        await plugin.release()
        assert dut.user_rst_n.value and monitor.period == period(inputs, index)
        assert await plugin.get("STATUS") & (BUSY | HELD | ASTRAY) == 0
    # One more while the one before is under way: the last counts.
    await plugin.window.set(TP.TP_PLUGIN_CLOCK_SELECT_OFFSET, 1)
    await plugin.window.set(TP.TP_PLUGIN_CLOCK_SELECT_OFFSET, count - 1)
    assert current(await plugin.done()) == count - 1 and monitor.pulses > 2000


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def frequencies(dut):
    pace, inputs, monitor, plugin = await start(dut, "frequencies")
    await ClockCycles(dut.card_clk, 3 * WINDOW)
    assert await plugin.get("STATUS") & MEASURED
    for _ in range(4):
        for index in range(len(inputs.halves)):
            edges = WINDOW * CARD_PS / period(inputs, index)
            assert abs(await plugin.get("KHZ", index) / EDGE_KHZ - edges) <= 2, (index, edges)
        await plugin.select(pace.randrange(len(inputs.halves)))
    assert await plugin.get("KHZ", len(inputs.halves)) == 0


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def stops(dut):
    """An input that stops, selected or not, at either level, and comes back."""
    pace, inputs, monitor, plugin = await start(dut, "stops")
    count = len(inputs.halves)
    for _ in range(15):
        index, other = pace.sample(range(count), 2)
        assert current(await plugin.select(index)) == index
        await plugin.release()
        stopped = pace.choice([index, other])
        monitor.lost = True
        await inputs.stop(stopped, pace.randrange(2))
        if stopped == index:
            # The first that runs takes its place, and the core is in reset.
            await ClockCycles(dut.card_clk, 3 * WINDOW)
            status = await plugin.done()
            first = min(k for k in range(count) if k != stopped)
            assert status & (HELD | ASTRAY) == ASTRAY and current(status) == first and monitor.period == period(inputs, first)
            assert not dut.user_rst_n.value and not runs(status) >> stopped & 1
            # What asks for another clears it, for the same one too.
            other = pace.choice([k for k in range(count) if k != stopped])
            monitor.lost = False
            assert await plugin.select(other) & ASTRAY == 0
        else:
            # One that stands still is refused, and the core is in reset until another is selected.
            await ClockCycles(dut.card_clk, 3 * WINDOW)
            monitor.lost = False
            status = await plugin.select(stopped)
            assert status & (HELD | ASTRAY) == HELD | ASTRAY and current(status) == index
            await plugin.release()
            assert not dut.user_rst_n.value
            other = index
            assert current(await plugin.select(other)) == other
        await plugin.release()
        assert dut.user_rst_n.value and monitor.period == period(inputs, other)
        inputs.run[stopped] = True
        await ClockCycles(dut.card_clk, 3 * WINDOW)
        assert runs(await plugin.get("STATUS")) == (1 << count) - 1
    # An input that is not there.
    status = await plugin.select(3)
    assert status & ASTRAY
    # All stop; the first that comes back is it.
    assert current(await plugin.select(0)) == 0
    await plugin.release()
    monitor.lost = True
    for k in range(count):
        await inputs.stop(k, pace.randrange(2))
    await ClockCycles(dut.card_clk, 3 * WINDOW)
    pulses = monitor.pulses
    await ClockCycles(dut.card_clk, 3 * WINDOW)
    assert monitor.pulses == pulses
    inputs.run[count - 1] = True
    await ClockCycles(dut.card_clk, 3 * WINDOW)
    status = await plugin.done()
    assert status & ASTRAY and current(status) == count - 1 and monitor.period == period(inputs, count - 1)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def card_reset(dut):
    """The card's reset selects input 0 and releases the core, whatever was."""
    pace, inputs, monitor, plugin = await start(dut, "card_reset")
    for _ in range(10):
        index = pace.randrange(len(inputs.halves))
        await plugin.window.set(TP.TP_PLUGIN_CLOCK_SELECT_OFFSET, index)
        await Timer(pace.randrange(1, 200_000), unit="ps")
        dut.card_rst.value = 1
        await ClockCycles(dut.card_clk, pace.randrange(1, 20))
        dut.card_rst.value = 0
        await Timer(2_000_000, unit="ps")
        status = await plugin.done()
        assert status & (HELD | ASTRAY) == 0 and current(status) == 0 and monitor.period == period(inputs, 0)
        assert dut.user_rst_n.value
