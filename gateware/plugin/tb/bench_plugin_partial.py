# SPDX-License-Identifier: Apache-2.0
"""tp_plugin_partial: loads that end in every way, against a configuration port that is as slow, and as wrong, as it likes.

Watched in every clock: the core never runs while the region is being configured, nor before a load has ended well; what the port takes is
what was written, in order; no more is asked of it when the load is over.
"""

from dataclasses import dataclass, field

import cocotb
from bench import TP, generator
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge
from window import SLVERR, Window

BEGIN, CUT, END, ABORT, RELEASE = (
    getattr(TP, f"TP_PLUGIN_PARTIAL_COMMAND_{name}_MASK") for name in ("BEGIN", "CUT", "END", "ABORT", "RELEASE")
)
LOADING, DECOUPLED, WHOLE, MIDWAY = (
    getattr(TP, f"TP_PLUGIN_PARTIAL_STATUS_{name}_MASK") for name in ("LOADING", "DECOUPLED", "WHOLE", "MIDWAY")
)
OUTCOME = TP.TP_PLUGIN_PARTIAL_STATUS_OUTCOME_LSB
IDLE, LOADED, REFUSED, OVERRUN, PORT, ABORTED = range(6)  # partial_outcome
SETTLE = 16
NAME = TP.TP_PLUGIN_PARTIAL_CORE_NAME_OFFSET
DWORDS = TP.TP_PLUGIN_PARTIAL_CORE_NAME_COUNT // 4


@dataclass
class Port:
    """The configuration port: takes dwords at `rate`, says `done` some clocks after the end, or `error` after `fails_at` dwords."""

    dut: object
    pace: object
    rate: float = 1.0
    fails_at: int | None = None
    mute: bool = False
    took: list[int] = field(default_factory=list)
    starts: int = 0
    since: int = 10**6  # clocks since the region was last touched
    clean: bool = True  # what the region holds is whole

    def start(self) -> None:
        for name in ("ready", "done", "error"):
            getattr(self.dut, f"config_{name}").value = 0
        cocotb.start_soon(self._run())

    async def _run(self) -> None:
        dut, wait = self.dut, 0
        while True:
            await RisingEdge(dut.clk)
            self.since += 1
            running = int(dut.user_rst_n.value)
            assert running != int(dut.user_decoupled.value), "the region is decoupled while the core is in reset"
            beat = int(dut.config_valid.value) and int(dut.config_ready.value)
            if int(dut.config_start.value):
                self.took, self.starts, self.clean, wait = [], self.starts + 1, False, self.pace.randrange(30)
                dut.config_done.value = dut.config_error.value = 0
                assert not int(dut.config_valid.value)
            elif int(dut.config_end.value) and not self.mute:
                assert not int(dut.config_valid.value), "the end comes after the last dword"
                wait -= 1
                if wait < 0 and not int(dut.config_error.value):
                    dut.config_done.value = 1
                    self.clean = True
            if beat:
                self.took.append(int(dut.config_data.value))
            if self.fails_at is not None and len(self.took) >= self.fails_at and not int(dut.config_start.value):
                dut.config_error.value = 1
            if not self.clean:
                self.since = 0
            assert not running or self.since > SETTLE, f"the core runs {self.since} clocks after the region was configured"
            dut.config_ready.value = int(self.pace.random() < self.rate)


class Plugin:
    def __init__(self, dut, window: Window):
        self.dut, self.window = dut, window

    async def command(self, value: int) -> None:
        await self.window.set(TP.TP_PLUGIN_PARTIAL_COMMAND_OFFSET, value)

    async def get(self, name: str) -> int:
        return await self.window.get(getattr(TP, f"TP_PLUGIN_PARTIAL_{name}_OFFSET"))

    async def put(self, dword: int) -> None:
        await self.window.set(TP.TP_PLUGIN_PARTIAL_DATA_OFFSET, dword)

    async def feed(self, dwords: list[int]) -> None:
        """As software does it: never more than there is room for; until the load is over."""
        left = list(dwords)
        while left and await self.get("STATUS") & LOADING:
            for _ in range(min(await self.get("ROOM"), len(left))):
                await self.put(left.pop(0))

    async def over(self) -> int:
        """Waits for the end of the load; returns the outcome."""
        for _ in range(2000):
            status = await self.get("STATUS")
            if not status & LOADING:
                return status >> OUTCOME & 7
        raise AssertionError("the load does not end")

    async def name(self) -> list[int]:
        return [await self.window.get(NAME + 4 * k) for k in range(DWORDS)]

    async def settled(self) -> int:
        """The status a while later."""
        await ClockCycles(self.dut.clk, 2 * SETTLE)
        return await self.get("STATUS")


async def reset(dut) -> None:
    dut.rst_n.value = 0
    await ClockCycles(dut.clk, 3)
    dut.rst_n.value = 1
    await RisingEdge(dut.clk)


async def start(dut, what: str):
    pace = generator(what)
    cocotb.start_soon(Clock(dut.clk, 4, unit="ns").start())
    window, port = Window(dut, pace), Port(dut, pace)
    dut.user_midway.value, dut.rst_n.value = 0, 0
    port.start()
    await ClockCycles(dut.clk, 3)
    await reset(dut)
    return pace, port, Plugin(dut, window)


@cocotb.test()
async def loads_of_every_outcome(dut):
    pace, port, plugin = await start(dut, "loads")
    loads, whole, name = await plugin.get("LOADS"), True, await plugin.name()
    assert await plugin.settled() == WHOLE and name == [0] * DWORDS, "as configured with the card"
    depth = await plugin.get("ROOM")
    for _ in range(120):
        assert await plugin.get("ROOM") == depth, "of an earlier load nothing is left"
        dwords = [pace.getrandbits(32) for _ in range(pace.choice([0, 1, 2, depth, depth + 1, 3 * depth, pace.randrange(200)]))]
        wanted = pace.choice([LOADED, LOADED, REFUSED, OVERRUN, PORT, ABORTED, IDLE])
        running = not await plugin.get("STATUS") & DECOUPLED
        port.rate, port.fails_at, port.mute = pace.choice([0.05, 0.5, 1.0]), None, False
        dut.user_midway.value = midway = int(wanted == REFUSED or pace.random() < 0.3)
        if wanted == REFUSED and running:
            starts = port.starts
            await plugin.command(BEGIN)
            assert await plugin.get("STATUS") == REFUSED << OUTCOME | MIDWAY | WHOLE and port.starts == starts
            await plugin.put(1)
            await plugin.window.set(NAME, 7)  # both without effect, and so is this
            await plugin.command(pace.choice([END, ABORT, RELEASE]))
            assert await plugin.name() == name and await plugin.get("STATUS") == REFUSED << OUTCOME | MIDWAY | WHOLE
            dut.user_midway.value = 0
            continue
        if wanted == PORT:
            port.fails_at = pace.randrange(len(dwords) + 1)
        # A region that is decoupled has no messages to lose.
        await plugin.command(BEGIN | (CUT if midway and running or pace.random() < 0.5 else 0))
        dut.user_midway.value = 0
        whole = False
        status = await plugin.get("STATUS")
        assert status & DECOUPLED and not status & WHOLE
        if pace.random() < 0.2:  # what was begun begins anew
            await plugin.feed(dwords[: pace.randrange(10)])
            port.fails_at, wanted = None, LOADED
            await plugin.command(BEGIN)
        written = [pace.getrandbits(32) for _ in range(DWORDS)]
        for k, dword in enumerate(written):
            if port.fails_at is None:
                await plugin.window.set(NAME + 4 * k, dword)
        name = written if port.fails_at is None else await plugin.name()
        await plugin.command(RELEASE)  # not while it is being configured
        if wanted == OVERRUN:
            port.rate = 0.0
            for dword in range(depth + 1):
                assert await plugin.get("STATUS") & LOADING
                await plugin.put(dword)
            assert await plugin.over() == OVERRUN
        elif wanted == ABORTED:
            await plugin.feed(dwords)
            if pace.random() < 0.5:
                port.mute = True
                await plugin.command(END)
            await plugin.command(ABORT)
            assert await plugin.over() == ABORTED
        elif wanted == IDLE:
            await plugin.feed(dwords)
            await reset(dut)
            assert await plugin.over() == IDLE
        else:
            await plugin.feed(dwords)
            await plugin.command(END)
            await plugin.put(99)  # after the end
            outcome = await plugin.over()
            assert outcome == (LOADED if port.fails_at is None else PORT), f"outcome {outcome}"
            whole = outcome == LOADED
            assert await plugin.get("WORDS") == len(port.took)
            assert port.took == dwords[: len(port.took)] and (not whole or len(port.took) == len(dwords))
        loads += whole
        took = len(port.took)
        assert await plugin.get("LOADS") == loads and await plugin.name() == name
        assert await plugin.settled() & (DECOUPLED | WHOLE) == DECOUPLED | (WHOLE if whole else 0), "held until released"
        await plugin.command(pace.choice([END, ABORT, RELEASE, RELEASE, RELEASE]))
        assert await plugin.get("LOADS") == loads and len(port.took) == took
        if pace.random() < 0.2:
            await reset(dut)  # forgets nothing of what the region holds
        if whole:
            await plugin.command(RELEASE)
        status = await plugin.settled()
        assert status & (DECOUPLED | WHOLE) == (WHOLE if whole else DECOUPLED)
        assert await plugin.get("LOADS") == loads and await plugin.name() == name


@cocotb.test()
async def a_release_at_once_waits_for_the_core_to_settle(dut):
    pace, port, plugin = await start(dut, "release")
    for _ in range(20):
        port.rate = pace.choice([0.3, 1.0])
        await plugin.command(BEGIN)
        await plugin.feed([pace.getrandbits(32) for _ in range(pace.randrange(20))])
        await plugin.command(END)
        while not await plugin.get("STATUS") & WHOLE:
            pass
        await plugin.command(RELEASE)  # Port watches when the core runs
        assert await plugin.settled() == WHOLE | LOADED << OUTCOME
        # A part of a dword is no command.
        assert await plugin.window.write(TP.TP_PLUGIN_PARTIAL_COMMAND_OFFSET, BEGIN, strobe=1) == SLVERR
        assert await plugin.get("STATUS") == WHOLE | LOADED << OUTCOME
