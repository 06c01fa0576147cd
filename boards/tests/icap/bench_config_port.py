# SPDX-License-Identifier: Apache-2.0
"""A program's bit files through plug-in `partial` and the configuration port of a board, to a model of its primitive: a cocotb module.

Files are sound, damaged where the device can tell, of another device, cut off, or given up, in any order. Watched at the primitive's pins
in every clock: its clock is no faster than it may be, its inputs stand still around the edge that takes them, and what it takes is what was
written, bit-swapped, word for word.
"""

import sys
from dataclasses import dataclass, field

import cocotb
from bench import ROOT, generator
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge

sys.path.insert(0, str(ROOT / "gateware/plugin/tb"))
from bench_plugin_partial import ABORT, ABORTED, BEGIN, DECOUPLED, END, IDLE, LOADED, OUTCOME, PORT, RELEASE, WHOLE, Plugin, reset
from window import Window

# Of the configuration packets of UG470 and UG570.
DUMMY, SYNC, NOOP = 0xFFFFFFFF, 0xAA995566, 0x20000000
WIDTHS = {8: 0x11, 16: 0x22, 32: 0x44}
CRC, FAR, FDRI, CMD, IDCODE = 0, 1, 2, 4, 12
WCFG, RCRC, DESYNC = 1, 7, 13
DEVICE = 0x03651093


def swapped(word: int) -> int:
    """Each byte's bits the other way round."""
    return int.from_bytes(bytes(int(f"{byte:08b}"[::-1], 2) for byte in word.to_bytes(4)))


def packet(register: int, *words: int) -> list[int]:
    """A write, of type 1."""
    return [1 << 29 | 2 << 27 | register << 13 | len(words), *words]


def crc(writes: list[tuple[int, int]]) -> int:
    """CRC-32C over each word and the register's five bits, lowest bit first."""
    value = 0
    for register, word in writes:
        for bit in f"{register:05b}{word:032b}"[::-1]:
            value = value >> 1 ^ (0x82F63B78 if (value & 1) != int(bit) else 0)
    return value


@dataclass
class File:
    words: list[int]
    covered: list[int]  # words of which the device sees each bit that is wrong
    frames: int

    @classmethod
    def random(cls, pace) -> "File":
        idle = [NOOP] * pace.randrange(3)
        frames = [pace.getrandbits(32) for _ in range(pace.choice([1, 5, pace.randrange(1, 150)]))]
        far = pace.getrandbits(26)
        writes = [(IDCODE, DEVICE), (CMD, WCFG), (FAR, far), *((FDRI, word) for word in frames)]
        words = [DUMMY] * pace.randrange(1, 9) + [0xBB, 0x11220000 | WIDTHS[32], DUMMY, DUMMY, SYNC, NOOP]
        words += packet(CMD, RCRC) + idle + packet(IDCODE, DEVICE) + packet(CMD, WCFG) + packet(FAR, far)
        covered = [words.index(DEVICE), len(words) - 1]
        # A type 2 packet goes on with the register of a type 1 without words.
        long = pace.random() < 0.5
        words += [*packet(FDRI), 2 << 29 | 2 << 27 | len(frames)] if long else packet(FDRI, *frames)[:1]
        covered += range(len(words), len(words) + len(frames))
        words += frames + packet(CRC, crc(writes))
        covered.append(len(words) - 1)
        words += idle + packet(CMD, DESYNC) + [NOOP] * pace.randrange(4)
        return cls(words, covered, len(frames))


@dataclass
class Pins:
    """Watches the primitive: `took` is what it has taken since the last abort, as a file has it."""

    dut: object
    model: object
    least_ps: int
    took: list[int] = field(default_factory=list)
    aborts: int = 0
    frames: int = 0  # words of frames before that

    async def watch(self) -> None:
        last, edge, before, pins = 0, None, None, None
        reading = 0
        while True:
            await RisingEdge(self.dut.clk)
            # As they stand before this edge.
            now, pins = int(self.model.CLK.value), tuple(int(getattr(self.model, name).value) for name in ("CSIB", "RDWRB", "I"))
            time = cocotb.utils.get_sim_time("ps")
            if now and not last:
                assert edge is None or time - edge >= self.least_ps, f"{time - edge} ps between edges of the primitive's clock"
                assert before in (None, pins), "its inputs change with the edge that takes them"
                edge = time
                csib, rdwrb, word = pins
                reading = 0 if csib or not rdwrb else reading + 1
                if reading == 4:  # an abort's clocks: what was taken before belongs to no file
                    self.aborts += 1
                    self.took.clear()
                    self.frames = int(self.model.frames.value)
                if not csib and not rdwrb:
                    self.took.append(swapped(word))
            last, before = now, pins


async def start(dut, what: str):
    pace = generator(what)
    cocotb.start_soon(Clock(dut.clk, 1_000_000_000 // dut.CLOCK_KHZ.value.to_unsigned(), unit="ps").start())
    model = dut.i_port.i_icap.i_model
    pins = Pins(dut, model, 1_000_000_000 // dut.MOST_KHZ.value.to_unsigned())
    window = Window(dut, pace)
    dut.user_midway.value, dut.rst_n.value = 0, 0
    cocotb.start_soon(pins.watch())
    await ClockCycles(dut.clk, 3)
    await reset(dut)
    return pace, pins, Plugin(dut, window), model


@cocotb.test()
async def files_of_every_kind(dut):
    pace, pins, plugin, model = await start(dut, "files")
    whole = True
    kinds = ["sound", "sound", "damaged", "another device's", "of another width", "without its end", "cut", "given up", "reset"]
    for kind in [*kinds[2:], *(pace.choice(kinds) for _ in range(30))]:
        model.keeps.value = pace.randrange(3)
        file = File.random(pace)
        words = list(file.words)
        if kind == "damaged":
            words[pace.choice(file.covered)] ^= 1 << pace.randrange(32)
        elif kind == "another device's":
            words[words.index(DEVICE)] ^= pace.randrange(1, 1 << 32)
        elif kind == "of another width":
            words[words.index(0xBB) + 1] = 0x11220000 | WIDTHS[pace.choice([8, 16])]
        elif kind == "without its end":
            del words[words.index(DESYNC) - 1 :]
        elif kind == "cut":
            del words[pace.randrange(words.index(DESYNC)) :]
        aborts = pins.aborts
        await plugin.command(BEGIN)
        if kind in ("given up", "reset"):
            await plugin.feed(words[: pace.randrange(len(words))])
            if kind == "reset":
                await reset(dut)
            else:
                await plugin.command(ABORT)
        else:
            await plugin.feed(words)
            await plugin.command(END)
        outcome = await plugin.over()
        wanted = {"sound": LOADED, "given up": ABORTED, "reset": IDLE}.get(kind, PORT)
        assert outcome == wanted, f"{kind}: outcome {outcome}, not {wanted}"
        whole = kind == "sound"
        await ClockCycles(dut.clk, 40)
        assert pins.aborts == aborts + 1, f"{kind}: a begin aborts what was under way"
        # Once a load has failed, the rest of the file need not come.
        assert pins.took == words[: len(pins.took)], f"{kind}: other words at the pins than were written"
        if whole:
            assert len(pins.took) == len(words) and int(model.whole.value) and int(model.frames.value) == pins.frames + file.frames
            assert await plugin.get("WORDS") == len(words)
        await plugin.command(RELEASE)
        status = await plugin.settled()
        assert status & (DECOUPLED | WHOLE) == (WHOLE if whole else DECOUPLED), f"{kind}: status {status:#x}"
        assert int(dut.user_rst_n.value) == whole and int(dut.user_decoupled.value) != whole
        assert status >> OUTCOME & 7 == wanted


@cocotb.test()
async def a_port_that_something_else_has(dut):
    """ICAPE3 says when it is not to be had: the file waits. ICAPE2 cannot say so."""
    pace, pins, plugin, model = await start(dut, "available")
    if dut.MOST_KHZ.value.to_unsigned() == 100_000:
        return
    for _ in range(5):
        file = File.random(pace)
        await plugin.command(BEGIN)
        left = list(file.words)
        while left:  # a part of the file, and then the port is gone
            part = pace.randrange(1, 60)
            await plugin.feed(left[:part])
            del left[:part]
            while await plugin.get("WORDS") < len(file.words) - len(left):
                pass
            await ClockCycles(dut.clk, 10)
            words, part = int(model.words.value), pace.randrange(1, 60)
            model.available.value = 0
            await ClockCycles(dut.clk, 10)
            await plugin.feed(left[:part])
            del left[:part]
            if pace.random() < 0.3:  # an abort waits, too
                await plugin.command(BEGIN)
                left = list(file.words)
            await ClockCycles(dut.clk, pace.randrange(100, 300))
            assert int(model.words.value) == words, "words to a port that is not to be had"
            model.available.value = 1
        await plugin.command(END)
        assert await plugin.over() == LOADED
        assert pins.took == file.words
