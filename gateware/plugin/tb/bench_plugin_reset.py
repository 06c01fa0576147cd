# SPDX-License-Identifier: Apache-2.0
"""tp_plugin_reset: every sequence to the clock, whoever begins it; `hold`; faults, counted and answered as software wants."""

import cocotb
from bench import TP, generator
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge
from window import SLVERR, Window

LENGTH, STEP = 20, 7  # as test_plugins.py builds it
START, HOLD, RELEASE = (getattr(TP, f"TP_PLUGIN_RESET_COMMAND_{name}_MASK") for name in ("START", "HOLD", "RELEASE"))
FAULT_STARTS, FAULT_HOLDS = TP.TP_PLUGIN_RESET_ON_FAULT_START_MASK, TP.TP_PLUGIN_RESET_ON_FAULT_HOLD_MASK
BUSY, HELD, FAULT = (getattr(TP, f"TP_PLUGIN_RESET_STATUS_{name}_MASK") for name in ("BUSY", "HELD", "FAULT"))


class Watch:
    """For each output, the clocks that it was asserted: [begin, end) by the clock's number."""

    def __init__(self, dut):
        self.dut, self.clock, self.outputs = dut, 0, len(dut.core_rst_n)
        self.spans: list[list[tuple[int, int]]] = [[] for _ in range(self.outputs)]
        cocotb.start_soon(self._run())

    async def _run(self) -> None:
        since: list[int | None] = [None] * self.outputs
        while True:
            await RisingEdge(self.dut.clk)
            released = int(self.dut.core_rst_n.value)
            assert released & 1 == int(self.dut.user_rst_n.value), "output 0 is the core's reset"
            for k in range(self.outputs):
                if released >> k & 1 and since[k] is not None:
                    self.spans[k].append((since[k], self.clock))
                    since[k] = None
                elif not released >> k & 1 and since[k] is None:
                    since[k] = self.clock
            self.clock += 1

    def last(self) -> list[tuple[int, int]]:
        return [spans[-1] for spans in self.spans]


class Plugin:
    def __init__(self, dut, window: Window):
        self.dut, self.window = dut, window

    async def command(self, value: int) -> None:
        await self.window.set(TP.TP_PLUGIN_RESET_COMMAND_OFFSET, value)

    async def get(self, name: str) -> int:
        return await self.window.get(getattr(TP, f"TP_PLUGIN_RESET_{name}_OFFSET"))

    async def busy(self) -> bool:
        return bool(await self.get("STATUS") & BUSY)

    async def done(self) -> None:
        for _ in range(1000):
            if not await self.busy():
                return
        raise AssertionError("the sequence does not end")

    async def times(self, pace) -> tuple[int, list[int]]:
        """Other times, written and read back."""
        length, delays = pace.choice([0, 1, 2, 3, 60]), [pace.choice([0, 0, 1, 2, 5, 90]) for _ in range(len(self.dut.core_rst_n))]
        registers = [(TP.TP_PLUGIN_RESET_LENGTH_OFFSET, length)]
        registers += [(TP.TP_PLUGIN_RESET_DELAY_OFFSET + TP.TP_PLUGIN_RESET_DELAY_STRIDE * k, d) for k, d in enumerate(delays)]
        for offset, value in registers:
            await self.window.set(offset, value)
            assert await self.window.get(offset) == value
        return max(length, 1), delays


def check(watch: Watch, length: int, delays: list[int]) -> None:
    spans = watch.last()
    assert len({begin for begin, _ in spans}) == 1, "all outputs are asserted at once"
    assert [end - begin for begin, end in spans] == [length + d for d in delays], (spans, length, delays)


async def start(dut, what: str):
    pace = generator(what)
    cocotb.start_soon(Clock(dut.clk, 4, unit="ns").start())
    window = Window(dut, pace)
    dut.core_fault.value, dut.rst_n.value = 0, 0
    await ClockCycles(dut.clk, 4)
    watch = Watch(dut)
    await RisingEdge(dut.clk)
    dut.rst_n.value = 1
    return pace, window, watch, Plugin(dut, window)


@cocotb.test()
async def sequences(dut):
    pace, window, watch, plugin = await start(dut, "sequences")
    outputs = len(dut.core_rst_n)
    await plugin.done()
    begin, end = watch.last()[0]
    assert [e - end for _, e in watch.last()] == [STEP * k for k in range(outputs)], "the card's reset begins a sequence"
    assert LENGTH <= end - begin <= LENGTH + 3, "of LENGTH clocks after the card's reset"
    assert await plugin.get("OUTPUTS") == outputs
    for number in range(1, 60):
        length, delays = await plugin.times(pace)
        await plugin.command(START)
        await plugin.done()
        check(watch, length, delays)
        assert await plugin.get("SEQUENCES") == number
        assert await plugin.get("STATUS") == 0 and await plugin.get("COMMAND") == 0
    # What is not held is not released.
    await plugin.command(RELEASE)
    assert await plugin.get("STATUS") == 0 and await plugin.get("SEQUENCES") == 59
    # An output that is not there, and a write of a part.
    assert await window.get(TP.TP_PLUGIN_RESET_DELAY_OFFSET + 4 * outputs) == 0
    before = await plugin.get("LENGTH")
    assert await window.write(TP.TP_PLUGIN_RESET_LENGTH_OFFSET, before ^ 255, strobe=1) == SLVERR
    assert await plugin.get("LENGTH") == before
    # A start in a sequence begins it again.
    await window.set(TP.TP_PLUGIN_RESET_LENGTH_OFFSET, 200)
    spans = len(watch.spans[0])
    await plugin.command(START)
    await ClockCycles(dut.clk, 100)
    await plugin.command(START)
    await plugin.done()
    begin, end = watch.last()[0]
    assert len(watch.spans[0]) == spans + 1 and end - begin > 300


@cocotb.test()
async def hold(dut):
    pace, window, watch, plugin = await start(dut, "hold")
    await plugin.done()
    extra = 0
    for number in range(1, 20):
        length, delays = await plugin.times(pace)
        await plugin.command(HOLD)
        begun = watch.clock
        await ClockCycles(dut.clk, pace.randrange(1, 200))
        again = pace.choice([0, HOLD, START, START | HOLD])
        await plugin.command(again)  # what is held stays held; a start is counted
        extra += bool(again & START)
        everything = ((1 << len(dut.core_rst_n)) - 1) << TP.TP_PLUGIN_RESET_STATUS_ASSERTED_LSB
        assert await plugin.get("STATUS") == BUSY | HELD | everything and int(dut.core_rst_n.value) == 0
        held = watch.clock - begun
        await plugin.command(RELEASE)
        await plugin.done()
        spans = watch.last()
        # From the release on, the sequence is as any other.
        assert [end - spans[0][1] for _, end in spans] == [d - delays[0] for d in delays]
        assert spans[0][1] - spans[0][0] >= held + length + delays[0]
        assert await plugin.get("SEQUENCES") == number + extra


@cocotb.test()
async def faults(dut):
    pace, window, watch, plugin = await start(dut, "faults")
    await plugin.done()
    sequences = 0

    async def fault(clocks: int) -> None:
        dut.core_fault.value = 1
        await ClockCycles(dut.clk, clocks)
        dut.core_fault.value = 0

    for count in range(1, 61):
        length, delays = await plugin.times(pace)
        mode = pace.choice([0, FAULT_STARTS, FAULT_HOLDS, FAULT_STARTS | FAULT_HOLDS])
        await window.set(TP.TP_PLUGIN_RESET_ON_FAULT_OFFSET, mode)
        assert await plugin.get("ON_FAULT") == mode
        spans = len(watch.spans[0])
        await fault(pace.choice([1, 2, 30]))
        await ClockCycles(dut.clk, 3)
        if mode:
            sequences += 1
            if mode & FAULT_HOLDS:
                await ClockCycles(dut.clk, 300)
                assert await plugin.get("STATUS") & (BUSY | HELD) == BUSY | HELD
                # A fault of a core in reset is none.
                await fault(5)
                assert int(dut.core_rst_n.value) == 0
                await plugin.command(RELEASE)
                await plugin.done()
            else:
                await plugin.done()
                check(watch, length, delays)
            assert len(watch.spans[0]) == spans + 1
        else:
            assert len(watch.spans[0]) == spans and not await plugin.busy()
        assert await plugin.get("FAULTS") == count and await plugin.get("SEQUENCES") == sequences
    await window.set(TP.TP_PLUGIN_RESET_ON_FAULT_OFFSET, 0)
    dut.core_fault.value = 1
    assert await plugin.get("STATUS") == FAULT
