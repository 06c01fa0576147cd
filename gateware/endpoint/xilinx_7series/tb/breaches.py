# SPDX-License-Identifier: Apache-2.0
"""A user of the block's pins that breaks each rule of plan.md once."""

import cocotb
from block import PATIENCE
from cocotb.triggers import ClockCycles
from user import DISCONTINUED, STREAMED, Received

STRANGER = 0  # requester of packets that are injected; the root complex uses tags below 32
READ, READ_LOCKED, IO_READ, SWAP, MESSAGE, MESSAGE_DATA = 0x00, 0x01, 0x02, 0x4D, 0x30, 0x70  # fmt and type


def stray(kind: int, tag: int, dwords: int = 1, poisoned: int = 0, address: int = 0x1000, data: int = 0) -> list[int]:
    """The dwords of a packet that the root complex does not send."""
    words = [kind << 24 | poisoned << 14 | dwords, STRANGER << 16 | tag << 8 | 0x0F | (0xF0 if dwords > 1 else 0)]
    return words + [0] * (kind >> 5 & 1) + [address] + [0x01020304] * data


def altered(beats: list, index: int, **parts) -> list:
    """The beats with something else in one of them."""
    names = ("data", "keep", "last", "user")
    beats = list(beats)
    beats[index] = tuple(parts.get(name, old) for name, old in zip(names, beats[index], strict=True))
    return beats


class Breaches:
    """Each method breaks the rule that it is named after; what stands behind two underscores tells how. It cleans up behind itself."""

    def __init__(self, host):
        self.host, self.user, self.block, self.dut, self.rng = host, host.user, host.block, host.dut, host.rng
        self.low, self.high = host.memory
        self.tag = 63

    def _write(self, size: int = 64, at: int = 0, high: bool = False) -> list[int]:
        base = self.high if high else self.low
        return self.user.request(True, base + at, size, content=self.rng.randbytes(size))

    def _beats(self, words: list[int], user: int = 0) -> list:
        return self.user._beats(words, user)

    async def _ask(self, dwords: int = 1, at: int = 0x1000, kind: int = READ) -> Received:
        """A read that the user has been given and has not answered."""
        self.tag += 1
        self.user.answering = False
        came = len(self.user.received)
        self.block.inject(stray(kind, self.tag, dwords, address=at), 1)
        for _ in range(500):
            await ClockCycles(self.dut.clk, 1)
            if len(self.user.received) > came:
                break
        return self.user.received[-1]

    # -- framing

    async def hold__changed(self):
        self.block.floor = 99
        self.user.send(self._write())
        await ClockCycles(self.dut.clk, 20)
        self.dut.s_axis_tx_tdata.value = 0x4000_0001_1234_5678
        await ClockCycles(self.dut.clk, 2)
        self.user.beats.clear()
        self.user.showing = False
        self.dut.s_axis_tx_tvalid.value = 0
        self.block.waiting, self.block.floor = None, 0

    async def hold__taken_back(self):
        self.block.floor = 99
        self.user.send(self._write())
        await ClockCycles(self.dut.clk, 20)
        self.user.beats.clear()
        self.user.showing = False
        await ClockCycles(self.dut.clk, 2)
        self.block.floor = 0

    async def keep_within(self):
        self.user.send_beats(altered(self._beats(self._write()), 1, keep=(1 << self.user.lanes * 4 - 4) - 1))

    async def keep_end__hole(self):
        self.user.send_beats(altered(self._beats(self._write(64, high=True)), -1, keep=(1 << self.user.lanes * 4) - 1 & ~0xF))

    async def keep_end__bytes(self):
        self.user.send_beats(altered(self._beats(self._write(64, high=True)), -1, keep=0x3F))

    async def keep_end__nothing(self):
        self.user.send_beats(altered(self._beats(self._write(64, high=True)), -1, keep=0))

    async def length__short(self):
        self.user.send(self._write()[:-1])

    async def length__long(self):
        self.user.send([*self._write(), 0])

    async def length__without_end(self):
        self.user.send_beats(altered(self._beats(self._write(64, high=True)), -1, last=0) + altered(self._beats([0]), 0, last=1))

    async def length__read_with_data(self):
        self.user.send([*self.user.request(False, self.low, 4), *range(4)])

    async def gap(self):
        beats = self._beats(self._write(), STREAMED)
        self.user.send_beats([*beats[:2], None, *beats[2:]])

    async def discontinue_first(self):
        self.user.send_beats(altered(self._beats(self._write()), 0, user=DISCONTINUED, last=1)[:1])

    async def discontinue_last(self):
        self.user.send_beats(altered(self._beats(self._write()), 1, user=DISCONTINUED))

    async def unfinished(self):
        beats = self._beats(self._write(64, high=True))
        self.user.send_beats(beats[:2])
        await ClockCycles(self.dut.clk, PATIENCE + 100)
        self.user.send_beats(beats[2:])

    # -- headers

    async def reserved__prefix(self):
        words = self._write()
        self.user.send([words[0] | 1 << 31, *words[1:]])

    async def reserved__at(self):
        words = self._write()
        self.user.send([words[0] | 1 << 10, *words[1:]])

    async def type__io(self):
        self.user.send([IO_READ << 24 | 1, self.user.own() << 16 | 15, 0x100])

    async def requester(self):
        words = self._write()
        self.user.send([words[0], words[1] ^ 1 << 19, *words[2:]])

    async def bus_master(self):
        await self.host.dev.set_master(False)
        await ClockCycles(self.dut.clk, 4 * self.block.grace)
        self.user.send(self._write())
        await ClockCycles(self.dut.clk, 100)
        await self.host.dev.set_master(True)

    async def power(self):
        self.block.awake = 100_000
        await self.host.dev.capability_write_word(self.block.pm_cap.cap_id, 4, 3)
        await ClockCycles(self.dut.clk, 4 * self.block.grace)
        self.user.send(self._write())
        await ClockCycles(self.dut.clk, 100)
        await self.host.dev.capability_write_word(self.block.pm_cap.cap_id, 4, 0)

    async def address__low_bits(self):
        words = self._write()
        self.user.send([*words[:2], words[2] | 1, *words[3:]])

    async def address__four_dwords(self):
        words = self._write()
        self.user.send([words[0] | 1 << 29, words[1], 0, *words[2:]])

    async def page__write(self):
        self.user.send(self._write(8, at=4092))

    async def page__read(self):
        self.user.send(self.user.request(False, self.low + 4000, 128, 1))

    async def attributes__relaxed(self):
        await self.host.control(1 << 4, 0)
        await ClockCycles(self.dut.clk, 4 * self.block.grace)
        words = self._write()
        self.user.send([words[0] | 1 << 13, *words[1:]])
        await ClockCycles(self.dut.clk, 100)
        await self.host.control(0, 1 << 4)

    async def payload__write(self):
        self.user.send(self._write(257))

    async def read_size(self):
        self.user.send(self.user.request(False, self.low, 516, 1))

    async def byte_enables__hole(self):
        words = self._write()
        self.user.send([words[0], words[1] & ~0xF | 0b1101, *words[2:]])

    async def byte_enables__last_of_one(self):
        words = self._write(4)
        self.user.send([words[0], words[1] | 0xF0, *words[2:]])

    async def byte_enables__none(self):
        words = self._write(8)
        self.user.send([words[0], words[1] & ~0xF0, *words[2:]])

    async def tag_width(self):
        await self.host.control(1 << 8, 0)
        await ClockCycles(self.dut.clk, 4 * self.block.grace)
        self.user.send(self.user.request(False, self.low, 4, 32))
        await ClockCycles(self.dut.clk, 100)
        await self.host.control(0, 1 << 8)

    async def tag_in_use(self):
        for _ in range(2):
            self.user.send(self.user.request(False, self.low, 4, 9))

    # -- answers

    async def _answer(self, dwords: int = 1, lower: int = 0, count: int = 0, status: int = 0, cut: int = 0, change=lambda w: w, **asked):
        p = await self._ask(dwords, **asked)
        content = bytes(4 * (cut or dwords)) if not status else b""
        self.user.send(change(self.user.completion(p, lower, count or 4 * dwords, status, content)))

    async def unasked(self):
        await self._answer(change=lambda w: [*w[:2], w[2] ^ 0x8000, *w[3:]])

    async def unasked__twice(self):
        await self._answer()
        self.user.send(self.user.completion(self.user.received[-1], 0, 4, 0, bytes(4)))

    async def completer(self):
        await self._answer(change=lambda w: [w[0], w[1] ^ 1 << 24, *w[2:]])

    async def class__tc(self):
        await self._answer(change=lambda w: [w[0] | 1 << 20, *w[1:]])

    async def class__attributes(self):
        await self._answer(change=lambda w: [w[0] | 1 << 13, *w[1:]])

    async def status__data(self):
        await self._answer(change=lambda w: [w[0], w[1] | 1 << 13, *w[2:]])

    async def status__no_data(self):
        await self._answer(change=lambda w: [w[0] & ~(1 << 30) & ~1, *w[1:3]])

    async def status__unknown(self):
        await self._answer(status=3)

    async def status__unlocked(self):
        await self._answer(status=1, kind=READ_LOCKED)

    async def count__bytes(self):
        await self._answer(2, count=4)

    async def count__lower(self):
        await self._answer(lower=4)

    async def count__dwords(self):
        await self._answer(2, cut=3)

    async def count__refusal(self):
        await self._answer(2, count=4, status=1)

    async def boundary(self):
        await self._answer(40, cut=16)

    async def payload__answer(self):
        await self._answer(65)

    # -- beside the streams

    async def grant(self):
        self.user.grant = 0
        read = cocotb.start_soon(self.host.dev.config_read_word(0))
        await ClockCycles(self.dut.clk, PATIENCE + 200)
        self.user.grant = 1
        await read

    async def np_both(self):
        self.dut.rx_np_ok.value = 0
        await ClockCycles(self.dut.clk, 3)
        self.dut.rx_np_req.value = 0
        await ClockCycles(self.dut.clk, 3)
        self.dut.rx_np_ok.value = self.dut.rx_np_req.value = 1

    async def room(self):
        self.user.hold = True
        await ClockCycles(self.dut.clk, 3)
        for tag in range(24):
            self.user.send(self.user.request(False, self.low, 512, tag))
        for _ in range(500):
            await ClockCycles(self.dut.clk, 10)
        self.user.hold = False
        while self.block.reading:
            await ClockCycles(self.dut.clk, 10)
        del self.block.breaches[1:]  # each further answer is one

    async def error_lost(self):
        self.user.grant = 0
        reads = [cocotb.start_soon(self.host.dev.config_read_word(0)) for _ in range(5)]
        while len(self.block.internal) < 4 or self.dut.cfg_err_cpl_rdy.value == 1:
            await ClockCycles(self.dut.clk, 1)
        self.dut.cfg_err_posted.value = 0
        self.dut.cfg_err_ur.value = 1
        await ClockCycles(self.dut.clk, 3)
        self.dut.cfg_err_ur.value = 0
        await ClockCycles(self.dut.clk, 3)
        self.user.grant = 1
        for read in reads:
            await read

    async def unasked__error(self):
        self.user.errors.append(("ur", 0, 0, 4 << 29 | 0x55))

    async def count__error(self):
        p = await self._ask(2)
        self.user.errors.append(("cpl_abort", 0, 0, 4 << 29 | p.words[1] >> 8 & 255))

    async def turnoff(self):
        await self.block.turn_off()
