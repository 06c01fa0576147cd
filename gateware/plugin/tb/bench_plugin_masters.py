# SPDX-License-Identifier: Apache-2.0
"""The plug-ins that are masters of another bus: random accesses at random paces, with errors, retries and resets of the core."""

import cocotb
from bench import generator
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge
from window import DECERR, OKAY, SLVERR, Window

WORDS = 16


class Memory:
    """What is behind the master: words, those of which an access fails, and whether it answers at all."""

    def __init__(self, pace):
        self.pace, self.words, self.bad, self.silent, self.slow, self.accesses = pace, {}, {}, False, 0.5, 0

    def quick(self) -> bool:
        return not self.silent and self.pace.random() >= self.slow

    def write(self, address: int, data: int, strobe: int) -> int:
        self.accesses += 1
        if address not in self.bad:
            mask = sum(255 << 8 * lane for lane in range(4) if strobe >> lane & 1)
            self.words[address] = self.words.get(address, 0) & ~mask | data & mask
        return self.bad.get(address, OKAY)

    def read(self, address: int) -> tuple[int, int]:
        self.accesses += 1
        return self.bad.get(address, OKAY), self.words.get(address, 0)


async def wishbone(dut, memory: Memory) -> None:
    pipelined = bool(int(dut.PIPELINED.value))
    inputs = [dut.core_ack, dut.core_err, dut.core_rty]
    waiting = None  # the access that was taken
    retried = False
    while True:
        stall = pipelined and not memory.quick()
        dut.core_stall.value = stall
        await RisingEdge(dut.clk)
        cycle, strobe = bool(dut.core_cyc.value), bool(dut.core_stb.value)
        answers = [bool(signal.value) for signal in inputs]
        assert cycle or not strobe, "a strobe belongs to a cycle"
        assert not (cycle and retried), "a cycle ends with a retry"
        retried = cycle and answers[2]
        for signal in inputs:
            signal.value = 0
        dut.core_dat_r.value = memory.pace.getrandbits(32)
        if not cycle:
            waiting = None
            continue
        if any(answers):  # answered in this clock
            waiting = None
            continue
        now = tuple(int(signal.value) for signal in (dut.core_we, dut.core_adr, dut.core_dat_w, dut.core_sel))
        if waiting is None and strobe and not stall:
            waiting = now
        assert waiting is None or pipelined or now == waiting, "an access changed under way"
        assert not (pipelined and waiting and strobe and not stall and now != waiting)
        if waiting is None or not memory.quick():
            continue
        write, address, data, select = waiting
        if memory.pace.random() < 0.2:
            dut.core_rty.value = 1
            continue
        if write:
            response = memory.write(address, data, select)
        else:
            assert select == 15
            response, value = memory.read(address)
            dut.core_dat_r.value = value
        (dut.core_err if response else dut.core_ack).value = 1


async def avalon(dut, memory: Memory) -> None:
    delayed = bool(int(dut.VALID.value))
    owed: list[int] = []
    while True:
        # The fabric decides before the edge whether it takes what may come.
        takes = memory.quick() and (delayed or bool(dut.core_read.value or dut.core_write.value))  # its data is for the address seen now
        dut.core_waitrequest.value = not takes
        valid = bool(owed) and delayed and memory.quick()
        dut.core_readdatavalid.value = valid
        dut.core_readdata.value = memory.pace.getrandbits(32)
        dut.core_response.value = memory.pace.choice([OKAY, SLVERR])
        address = int(dut.core_address.value)
        if valid or not delayed:
            response, value = memory.read(owed[0] if valid else address)
            memory.accesses -= not valid  # counted when it is taken
            dut.core_readdata.value, dut.core_response.value = value, response
        await RisingEdge(dut.clk)
        if valid:
            owed.pop(0)
        assert not (dut.core_read.value and dut.core_write.value)
        if dut.core_write.value and takes:
            memory.write(int(dut.core_address.value), int(dut.core_writedata.value), int(dut.core_byteenable.value))
        if dut.core_read.value and takes:
            assert int(dut.core_byteenable.value) == 15
            if delayed:
                owed.append(int(dut.core_address.value))
            else:
                memory.accesses += 1
        if dut.user_reset.value:
            owed.clear()


async def start(dut, what: str):
    pace = generator(what)
    cocotb.start_soon(Clock(dut.clk, 4, unit="ns").start())
    window, memory = Window(dut, pace), Memory(pace)
    dut.rst_n.value, dut.user_reset.value = 0, 0
    is_wishbone = hasattr(dut, "core_cyc")
    cocotb.start_soon((wishbone if is_wishbone else avalon)(dut, memory))
    await ClockCycles(dut.clk, 4)
    dut.rst_n.value = 1
    return pace, window, memory, is_wishbone


@cocotb.test()
async def every_access_arrives_once(dut):
    pace, window, memory, is_wishbone = await start(dut, "accesses")
    told: dict[int, int] = {}
    for number in range(400):
        memory.slow = pace.choice([0.0, 0.5, 0.9])
        address, data = 4 * pace.randrange(WORDS), pace.getrandbits(32)
        memory.bad = {address: SLVERR if is_wishbone else pace.choice([SLVERR, DECERR])} if pace.random() < 0.1 else {}
        expected = memory.bad.get(address, OKAY)
        if pace.random() < 0.5:
            strobe = pace.choice([15, 15, 1, 12, 6])
            # A write over Avalon is done when it is taken.
            assert await window.write(address, data, strobe) == (expected if is_wishbone else OKAY)
            if not expected:
                mask = sum(255 << 8 * lane for lane in range(4) if strobe >> lane & 1)
                told[address] = told.get(address, 0) & ~mask | data & mask
        else:
            # Bits beyond its registers are not the plug-in's.
            response, value = await window.read(0x10000 + address)
            assert response == expected
            assert expected or value == told.get(address, 0), f"{address:#x}"
        assert memory.accesses == number + 1 and memory.words == told


@cocotb.test()
async def a_reset_of_the_core_ends_an_access(dut):
    pace, window, memory, _ = await start(dut, "resets")
    for _ in range(30):
        memory.slow, memory.silent = 0.3, True
        access = cocotb.start_soon(pace.choice([lambda: window.write(4, 1), lambda: window.read(4)])())
        await ClockCycles(dut.clk, pace.randrange(3, 30))
        dut.user_reset.value = 1
        await ClockCycles(dut.clk, pace.randrange(1, 5))
        if pace.random() < 0.5:
            await access
            response = await window.write(8, 1)
            assert response == SLVERR, "a core in reset takes nothing"
        dut.user_reset.value = 0
        response = await access
        assert (response if isinstance(response, int) else response[0]) == SLVERR
        memory.silent = False
        await ClockCycles(dut.clk, 2)
        data = pace.getrandbits(32)
        await window.set(12, data)
        assert await window.get(12) == data
