# SPDX-License-Identifier: Apache-2.0
"""Kind `memory` in front of cocotbext-axi's slave, which judges the bursts: a cocotb module, started by test_memory.

Messages and asks of any address and length, right and wrong, at random paces, with faults and resets. What a verdict or a status promises
must be in memory or in the message; what no message may touch must stand.
"""

from collections import deque

import cocotb
from bench import generator
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, RisingEdge
from cocotbext.axi import AxiBus, AxiSlave
from cocotbext.axi.constants import AxiResp

BYTES = 0x10000
SLVERR_PAGE, DECERR_PAGE = 13, 14
MESSAGES = 80
DONE, WRONG_LENGTH, SLVERR, DECERR = 0, 1, 2, 3


class Target:
    """64 KiB with two pages that answer with errors; everything outside refuses, too, and is noted."""

    def __init__(self, base, top, rng):
        self.base, self.top = base, top
        self.image = bytearray(rng.randbytes(BYTES))
        self.fault, self.strays = None, []

    def place(self, address, length):
        at = (address - self.base) % self.top
        if at + length > BYTES:
            self.strays.append(address)
            raise IndexError(hex(address))
        if at // 4096 in (SLVERR_PAGE, DECERR_PAGE):
            self.fault = AxiResp.SLVERR if at // 4096 == SLVERR_PAGE else AxiResp.DECERR
            raise PermissionError(hex(address))
        return at

    async def write(self, address, data, **_):
        at = self.place(address, len(data))
        self.image[at : at + len(data)] = data

    async def read(self, address, length, **_):
        at = self.place(address, length)
        return bytes(self.image[at : at + length])


class Bench:
    def __init__(self, dut, what):
        self.dut, self.rng = dut, generator(what)
        self.keep = len(dut.s_tkeep)
        self.target = Target(int(dut.BASE.value), 1 << len(dut.core_awaddr), self.rng)
        self.verdicts, self.messages = deque(), deque()

    async def start(self):
        dut = self.dut
        for name in ("s_tvalid", "s_tlast", "s_error", "s_reset", "m_reset", "m_tready", "end_ready", "ask_valid", "ask_cancel", "rst_n"):
            getattr(dut, name).value = 0
        cocotb.start_soon(Clock(dut.clk, 4000, unit="ps").start())
        slave = AxiSlave(AxiBus.from_prefix(dut, "core"), dut.clk, dut.rst_n, target=self.target, reset_active_level=False)
        for part in (slave.write_if, slave.read_if):
            part.log.setLevel("ERROR")  # it warns of each error that the target wants
        for channel, response in ((slave.write_if.b_channel, "bresp"), (slave.read_if.r_channel, "rresp")):
            self.translate(channel, response)
        for channel in (slave.write_if.aw_channel, slave.write_if.w_channel, slave.write_if.b_channel, slave.read_if.ar_channel,
                        slave.read_if.r_channel):  # fmt: skip
            channel.set_pause_generator(self.pauses())
        await ClockCycles(dut.clk, 4)
        dut.rst_n.value = 1
        await ClockCycles(dut.clk, 2)
        cocotb.start_soon(self.collect())

    def translate(self, channel, response):
        """The slave knows SLVERR only."""
        send = channel.send

        async def sends(answer):
            if getattr(answer, response) == AxiResp.SLVERR:
                setattr(answer, response, self.target.fault)
            await send(answer)

        channel.send = sends

    def pauses(self):
        while True:
            busy = self.rng.choice((0, 0, 0.1, 0.5, 0.9))
            for _ in range(self.rng.randrange(1, 300)):
                yield self.rng.random() < busy

    async def collect(self):
        """Verdicts and messages, at a random pace."""
        dut, message = self.dut, bytearray()
        while True:
            await FallingEdge(dut.clk)
            dut.end_ready.value = self.rng.random() < 0.6
            dut.m_tready.value = self.rng.random() < 0.8
            await RisingEdge(dut.clk)
            if dut.m_reset.value:
                message = bytearray()
            elif dut.m_tvalid.value and dut.m_tready.value:
                lanes = int(dut.m_tkeep.value)
                count = lanes.bit_count()
                assert lanes == (1 << count) - 1 and (dut.m_tlast.value or count == self.keep), f"tkeep {lanes:b}"
                message += int(dut.m_tdata.value).to_bytes(self.keep, "little")[:count]
                if dut.m_tlast.value:
                    self.messages.append((bytes(message), int(dut.m_status.value)))
                    message = bytearray()
            if dut.end_valid.value and dut.end_ready.value:
                self.verdicts.append(int(dut.end_status.value))

    async def until(self, done, what):
        for _ in range(200_000):
            if done():
                return
            await RisingEdge(self.dut.clk)
        raise AssertionError(f"{what} never came")

    async def beats(self, data, *, offset, length, error=0, late=False, stop=None):
        """One message; with `late` its end comes in a beat without bytes, with `stop` it is left after so many beats."""
        dut, keep = self.dut, self.keep
        parts = [data[i : i + keep] for i in range(0, len(data), keep)] or [b""]
        if late:
            parts.append(b"")
        for number, part in enumerate(parts):
            if number == stop:
                break
            while self.rng.random() < 0.1:
                await RisingEdge(dut.clk)
            await FallingEdge(dut.clk)
            dut.s_tdata.value = int.from_bytes(part.ljust(keep, b"\xaa"), "little")
            dut.s_tkeep.value = (1 << len(part)) - 1
            last = number == len(parts) - 1
            dut.s_tlast.value, dut.s_error.value = last, error and last
            dut.s_offset.value, dut.s_length.value = offset, length
            dut.s_tvalid.value = 1
            await RisingEdge(dut.clk)
            while not dut.s_tready.value:
                await RisingEdge(dut.clk)
            await FallingEdge(dut.clk)
            dut.s_tvalid.value = 0

    async def ask(self, offset=0, length=0, cancel=0):
        dut = self.dut
        await FallingEdge(dut.clk)
        dut.ask_offset.value, dut.ask_length.value, dut.ask_cancel.value = offset, length, cancel
        dut.ask_valid.value = 1
        await RisingEdge(dut.clk)
        while not dut.ask_ready.value:
            await RisingEdge(dut.clk)
        await FallingEdge(dut.clk)
        dut.ask_valid.value = 0

    async def reset(self, name):
        handle = getattr(self.dut, name)
        if not self.dut.s_tvalid.value:
            await FallingEdge(self.dut.clk)
        handle.value = 1
        self.dut.s_tvalid.value = 0
        await ClockCycles(self.dut.clk, self.rng.randrange(1, 4), FallingEdge)
        handle.value = 0

    def extent(self):
        """An address and a length: anywhere, at the edges of rows and pages, at the end, short and long."""
        rng = self.rng
        length = rng.choice((1, self.keep, rng.randrange(1, 3 * self.keep), rng.randrange(1, 300), 4096, rng.randrange(1, 5000)))
        offset = rng.choice((rng.randrange(BYTES), rng.randrange(16) * 4096 - rng.randrange(0, 40), BYTES - length))
        return max(0, min(offset, BYTES - length)), length

    @staticmethod
    def answer(offset, length):
        """What a memory of this kind says to an access: the worst of its pages."""
        pages = range(offset // 4096, (offset + max(length, 1) - 1) // 4096 + 1)
        return DECERR if DECERR_PAGE in pages else SLVERR if SLVERR_PAGE in pages else DONE


@cocotb.test()
async def writes(dut):
    """Messages of all sorts, several under way; resets in between. Each byte holds what the last message with a verdict put there."""
    bench = Bench(dut, "writes")
    await bench.start()
    rng, target = bench.rng, bench.target
    # Of each byte, what messages put there since the last reset: (which message, value, whether its verdict says so).
    model = [[(-1, value, True)] for value in target.image]
    expected = []

    def may(offset, data, must=False):
        for i, value in enumerate(data):
            if (offset + i) // 4096 not in (SLVERR_PAGE, DECERR_PAGE) and offset + i < BYTES:
                model[offset + i].append((len(expected), value, must))

    def must(offset, data):
        may(offset, data, must=True)

    def allowed(byte, verdicts):
        """What it may be with so many verdicts: what the last message with one put there, or what one without, or a later one, did."""
        first = max(n for n, (message, _, sure) in enumerate(byte) if sure and message < verdicts)
        return {value for _, value, _ in byte[first:]}

    for _ in range(MESSAGES):
        offset, length = bench.extent()
        data = rng.randbytes(length)
        sort = rng.choice(("good",) * 12 + ("late", "error", "short", "long", "unknown", "beyond", "empty", "reset"))
        if sort in ("good", "late"):
            await bench.beats(data, offset=offset, length=length, late=sort == "late")
            verdict = bench.answer(offset, length)
            (must if verdict == DONE else may)(offset, data)
            expected.append(verdict)
        elif sort == "error":  # cut at any byte
            cut = rng.randrange(length + 1)
            await bench.beats(data[:cut], offset=offset, length=length, error=1, late=rng.random() < 0.3)
            may(offset, data[:cut])
        elif sort == "short":
            cut = rng.randrange(0, length)
            whole = (offset + cut + bench.keep - 1) // bench.keep == (offset + length + bench.keep - 1) // bench.keep
            await bench.beats(data[:cut], offset=offset, length=length)
            may(offset, data[:cut])
            expected.append(None if whole or bench.answer(offset, length) else WRONG_LENGTH)
        elif sort == "long":
            more = rng.randbytes(rng.randrange(1, 3 * bench.keep))
            beyond = (offset + length - 1) // bench.keep < (offset + length + len(more) - 1) // bench.keep
            await bench.beats(data + more, offset=offset, length=length)
            row = (-(offset + length)) % bench.keep
            may(offset, data + more[:row])
            expected.append(WRONG_LENGTH if beyond else None)
        elif sort == "unknown":
            await bench.beats(data, offset=offset, length=0)
            expected.append(WRONG_LENGTH)
        elif sort == "beyond":
            offset = rng.choice((BYTES, BYTES - length + 1, rng.randrange(BYTES, 1 << 64), (1 << 64) - length))
            await bench.beats(data, offset=offset, length=length)
            expected.append(DECERR)
        elif sort == "empty":
            await bench.beats(b"", offset=offset, length=0)
            expected.append(DONE)
        else:
            stop = rng.choice((0, rng.randrange(0, length // bench.keep + 1)))
            await bench.beats(data, offset=offset, length=length, stop=stop)
            may(offset, data)
            if not stop and rng.random() < 0.7:  # shown for a clock or two, and withdrawn by the reset
                dut.s_offset.value, dut.s_length.value, dut.s_tlast.value = offset, length, 0
                dut.s_tdata.value = int.from_bytes(data[: bench.keep], "little")
                dut.s_tkeep.value, dut.s_tvalid.value = (1 << bench.keep) - 1, 1
                await ClockCycles(dut.clk, rng.randrange(1, 3), FallingEdge)
            given = list(bench.verdicts)
            await bench.reset("s_reset")
            check(given, expected[: len(given)])
            bench.verdicts.clear()
            expected.clear()
            # What had no verdict may be there, or may have been: a later message's bytes stand in any case.
            await bench.until(lambda: dut.write_idle.value, "the end of a reset")
            bench.verdicts.clear()
            for at, (byte, value) in enumerate(zip(model, target.image, strict=True)):
                assert value in allowed(byte, len(given)), f"after a reset, byte {at:#x} is {value:#x}: {byte}, {len(given)} verdicts"
                byte[:] = [(-1, value, True)]
    await bench.until(lambda: len(bench.verdicts) == len(expected), f"verdict {len(expected)}")
    await ClockCycles(dut.clk, 200)
    check(list(bench.verdicts), expected)
    for at, (byte, value) in enumerate(zip(model, target.image, strict=True)):
        assert value in allowed(byte, len(expected)), f"byte {at:#x} is {value:#x}: {byte}"
    assert not target.strays, f"writes beyond the memory: {target.strays}"


def check(given, expected):
    assert len(given) == len(expected), f"{len(given)} verdicts for {len(expected)} messages"
    for number, (got, want) in enumerate(zip(given, expected, strict=True)):
        assert want is None or got == want, f"verdict {number} is {got}, not {want}"


@cocotb.test()
async def reads(dut):
    """Asks of all sorts, one or two under way, cancelled and reset at any moment; each message is what stands in memory, or the part
    before its early end, with the status of its own bursts."""
    bench = Bench(dut, "reads")
    await bench.start()
    rng, target = bench.rng, bench.target

    async def told(ask, cancelled=False):
        offset, length = ask
        await bench.until(lambda: bench.messages, "a message")
        message, status = bench.messages.popleft()
        if offset + length > BYTES:
            assert message == b"" and status == DECERR, f"{len(message)} bytes and status {status} from beyond the memory"
            return
        if not (cancelled and len(message) < length):
            assert len(message) == length, f"{len(message)} bytes of {length}"
            assert status == bench.answer(offset, length), f"status {status} of {length} bytes at {offset:#x}"
        if status == DONE:
            assert message == target.image[offset : offset + len(message)], "wrong bytes"

    for _ in range(MESSAGES * 5 // 8):
        under_way, most = [], rng.choice((1, 2))
        for _ in range(rng.randrange(1, 4)):
            if len(under_way) == most:
                await told(under_way.pop(0))
            offset, length = bench.extent()
            if rng.random() < 0.05:
                offset = rng.choice((BYTES, BYTES - length + 1, rng.randrange(BYTES, 1 << 64), (1 << 64) - length))
            await bench.ask(offset, length)
            under_way.append((offset, length))
        sort = rng.choice(("whole",) * 6 + ("cancel", "reset"))
        if sort != "whole":
            await ClockCycles(dut.clk, rng.choice((1, 2, rng.randrange(1, 60), rng.randrange(1, 600))))
        if sort == "reset":
            await bench.reset("m_reset")
            bench.messages.clear()
            await bench.until(lambda: dut.read_idle.value, "the end of a reset")
            await ClockCycles(dut.clk, 5)
            assert not bench.messages, "a message after its reset"
            continue
        if sort == "cancel":
            await bench.ask(cancel=1)
        for ask in under_way:
            await told(ask, sort == "cancel")
        await ClockCycles(dut.clk, rng.choice((0, 0, 5)) + 1)
        assert not bench.messages, "more messages than asks"
    assert not target.strays, f"reads beyond the memory: {target.strays}"
