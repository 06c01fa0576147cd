# SPDX-License-Identifier: Apache-2.0
"""Windows onto two memories, with DMA on one of them, from packets to cocotbext-axi's slaves: a cocotb module, started by test_window.

The host writes and reads BAR 4 as PCI Express allows: a read follows the writes before it, later writes may pass it. What a read may bring
is known byte by byte: what stood there when it was sent, or what came later. Windows and DMA write different pages; either reads any.
The memories' writes and reads are four IDs of one slave behind an interconnect: whose answers come next is drawn by lot, beat by beat
or for long.
"""

from collections import deque

import cocotb
from bench import ANSWER, CONFIG, REQUEST, TLP, TP, generator
from bench_memory import DECERR_PAGE, SLVERR_PAGE, Target
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, RisingEdge
from cocotbext.axi import AxiBus, AxiSlave
from cocotbext.axi.constants import AxiResp

BYTES, ONE, ONE_BYTES, BASE = 0x10000, 0x100000, 0x2000, 0xE0000
DMA = range(6 * 4096, 12 * 4096)  # what DMA writes; windows write the rest
OPERATIONS = 250
ONES = (1 << 32) - 1


class Small(Target):
    """Memory 1: 8 KiB."""

    def place(self, address, length):
        if address + length > ONE_BYTES:
            self.strays.append(address)
            raise IndexError(hex(address))
        return address


class Bench:
    def __init__(self, dut, what):
        self.dut, self.rng = dut, generator(what)
        self.width = len(dut.rx_posted_data)
        self.lanes, self.keep = self.width // 32, self.width // 8
        self.user = dut.user_clk if dut.USER_ASYNC.value else dut.clk
        self.zero, self.one = Target(BASE, 1 << 32, self.rng), Small(0, 1 << 32, self.rng)
        self.must = dict(enumerate(self.zero.image))
        self.must |= {ONE + at: value for at, value in enumerate(self.one.image[:ONE_BYTES])}
        self.maybe = {}  # address: values of DMA that is under way
        self.reads = []  # that are under way, by window or DMA: (address, [set for each byte])
        self.unsettled = deque()  # (number of a window's write, {address: value before})
        self.operations = deque()
        self.answers = []  # the IDs' channels
        self.beats = deque()
        self.written = self.refused = 0
        self.credits, self.asked, self.answer = 0, None, None
        self.held = 0
        self.paused = False
        self.chosen = None  # the ID that is answered; None: all

    async def start(self):
        dut = self.dut
        zeros = ("rx_posted_valid", "rx_nonposted_valid", "tx_answer_ready", "card_reset_done", "s_tvalid", "s_tlast", "s_error", "s_reset")
        for name in (*zeros, "m_reset", "m_tready", "end_ready", "ask_valid", "ask_cancel"):
            getattr(dut, name).value = 0
        dut.cfg.value = CONFIG.pack(requester=0x100, bus_master=1, link_up=1, active=1, transmit_room=255, rcb_128=self.rng.randrange(2))
        dut.rst.value = 1
        cocotb.start_soon(Clock(dut.clk, 4000, unit="ps").start())
        cocotb.start_soon(Clock(dut.user_clk, self.rng.choice((2600, 4000, 7300)), unit="ps").start())
        for name, target in (("zero", self.zero), ("one", self.one)):
            self.attach(AxiSlave(AxiBus.from_prefix(dut, name), self.user, dut.user_rst_n, target=target, reset_active_level=False), target)
        await ClockCycles(dut.clk, 8)
        cocotb.start_soon(self.choose())
        cocotb.start_soon(self.host())
        cocotb.start_soon(self.collect())
        dut.rst.value = 0
        await ClockCycles(dut.clk, 200)

    def attach(self, slave, target):
        for part in (slave.write_if, slave.read_if):
            part.log.setLevel("ERROR")
        for channel, response in ((slave.write_if.b_channel, "bresp"), (slave.read_if.r_channel, "rresp")):
            self.translate(channel, response, target)
        for channel in (slave.write_if.aw_channel, slave.write_if.w_channel, slave.read_if.ar_channel):
            channel.set_pause_generator(self.pauses())
        for channel in (slave.write_if.b_channel, slave.read_if.r_channel):
            self.answers.append(channel)
            channel.set_pause_generator(self.pauses(channel))

    async def choose(self):
        """Whose answer comes: an ID's that another one's has to wait for, though its burst was first."""
        while True:
            self.chosen = self.rng.choice((None, None, *self.answers))
            await ClockCycles(self.user, self.rng.choice((1, 1, 3, self.rng.randrange(1, 60))))

    @staticmethod
    def translate(channel, response, target):
        """The slave knows SLVERR only."""
        send = channel.send

        async def sends(answer):
            if getattr(answer, response) == AxiResp.SLVERR:
                setattr(answer, response, target.fault)
            await send(answer)

        channel.send = sends

    def pauses(self, own=None):
        while True:
            busy = self.rng.choice((0, 0, 0.1, 0.5, 0.9))
            for _ in range(self.rng.randrange(1, 300)):
                yield self.paused or self.rng.random() < busy or (own is not None and self.chosen not in (None, own))

    # ---- what memory may hold
    def expect(self, address, length):
        """A read that is sent now: what each byte may be."""
        sets = [{self.must[at]} | self.maybe.get(at, set()) for at in range(address, address + length)]
        self.reads.append((address, sets))
        return self.reads[-1]

    def puts(self, at, value):
        for address, sets in self.reads:
            if address <= at < address + len(sets):
                sets[at - address].add(value)

    # ---- the host at BAR 4
    async def host(self):
        """Writes go at a random pace, not while they are held; a read goes when those before it have gone, and there is a credit."""
        dut, rng, ready = self.dut, self.rng, 0.7
        reads = deque()  # (beats before it that have not gone, operation)
        sent = 0  # beats
        queued = 0
        while True:
            await FallingEdge(dut.clk)
            while self.operations:
                operation = self.operations.popleft()
                if operation[0] == "write":
                    beats = operation[1]
                    self.beats += beats
                    queued += len(beats)
                else:
                    reads.append((queued, operation))
            begins = bool(self.beats) and self.beats[0][3] is not None
            self.held += int(dut.rx_posted_hold.value)
            go = bool(self.beats) and (not begins or (not dut.rx_posted_hold.value and rng.random() < 0.9))
            dut.rx_posted_valid.value = int(go)
            if go:
                header, data, last, write = self.beats.popleft()
                dut.rx_posted_hdr.value, dut.rx_posted_data.value, dut.rx_posted_last.value = header, data, last
                sent += 1
                if write is not None:
                    self.write_begins(*write)
            can = (
                bool(reads)
                and self.credits > 0
                and self.asked is None
                and reads[0][0] <= sent
                and (not self.beats or self.beats[0][3] is not None)
            )
            dut.rx_nonposted_valid.value = int(can)
            if can:
                self.credits -= 1
                self.asked = reads.popleft()[1]
                dut.rx_nonposted_hdr.value = REQUEST.pack(**self.asked[1])
                self.asked[2](self.asked)
            if rng.random() < 0.01:
                ready = rng.choice((0.1, 0.7, 1))
            dut.tx_answer_ready.value = int(rng.random() < ready)
            await RisingEdge(dut.clk)
            self.credits += int(dut.nonposted_credit.value)
            if dut.tx_answer_valid.value and dut.tx_answer_ready.value:
                self.take(ANSWER.unpack(int(dut.tx_answer_hdr.value)), int(dut.tx_answer_data.value), dut.tx_answer_last.value)

    def write_begins(self, address, data, mask):
        """A packet goes to the card."""
        page = address // 4096
        first = next((at for at in range(address, address + len(data)) if at in self.must), None)
        self.written += 1
        if first is None or page in (SLVERR_PAGE, DECERR_PAGE):
            self.refused += int(first is None or any(mask))  # the slave does not refuse a row without bytes
            return
        before = {}
        for at, (value, enabled) in enumerate(zip(data, mask, strict=True), address):
            if enabled:
                before[at] = self.must[at]
                self.must[at] = value
                self.puts(at, value)
        self.unsettled.append((self.written, before))

    def write(self, address, data, mask=None):
        """Queues one packet: `mask` says which bytes count; by default all."""
        mask = mask or [True] * len(data)
        start = address & ~3
        lead, dwords = address - start, (address % 4 + len(data) + 3) // 4
        whole = bytearray(lead) + data + bytearray(4 * dwords - lead - len(data))
        enabled = [False] * lead + list(mask) + [False] * (4 * dwords - lead - len(data))
        be = [sum(enabled[4 * i + k] << k for k in range(4)) for i in range(dwords)]
        assert all(b == 15 for b in be[1:-1])
        header = REQUEST.pack(bar=TP.TP_BAR_MEMORY, offset=start, dwords=dwords, first_be=be[0], last_be=be[-1] if dwords > 1 else 0)
        beats = []
        for at in range(0, len(whole), self.keep):
            row = int.from_bytes(whole[at : at + self.keep], "little")
            beats.append((header, row, int(at + self.keep >= len(whole)), (address, data, mask) if at == 0 else None))
        self.operations.append(("write", beats))

    def read(self, address, length, bar=TP.TP_BAR_MEMORY):
        """Queues a read; the list that comes back holds its bytes when it has been answered."""
        start = address & ~3
        lead, dwords = address - start, (address % 4 + length + 3) // 4
        tail = 4 * dwords - lead - length
        first, last = 15 << lead & 15, 15 >> tail
        header = dict(
            bar=bar, offset=start, dwords=dwords, first_be=first & last if dwords == 1 else first, last_be=last if dwords > 1 else 0
        )
        header |= dict(
            requester=self.rng.randrange(1 << 16), tag=self.rng.randrange(1 << 10), tc=self.rng.randrange(8), attr=self.rng.randrange(8)
        )
        result = {"address": address, "length": length, "bytes": bytearray()}

        def goes(operation):
            result["number"] = self.written
            known = bar == TP.TP_BAR_MEMORY and address in self.must
            result["sets"] = self.expect(address, length) if known else None

        self.operations.append(("read", header, goes, result))
        return result

    def take(self, header, data, last):
        """A beat of an answer: the header is what the read's rest demands."""
        _, asked, _, result = self.asked
        at, left = result["address"] + len(result["bytes"]), result["length"] - len(result["bytes"])
        if self.answer is None:
            self.answer = bytearray()
            most = min(left, 128 - at % 128) if asked["bar"] == TP.TP_BAR_MEMORY else left
            dwords = (at % 4 + most + 3) // 4
            want = {key: asked[key] for key in ("requester", "tag", "tc", "attr")}
            want |= dict(lower_addr=at % 128, byte_count=left, dwords=dwords, status=TLP.CPL_OK)
            assert header == want, f"{header}, not {want}"
            self.most = most
        self.answer += data.to_bytes(self.keep, "little")
        assert last == (len(self.answer) >= at % 4 + self.most), "the packet has another length than its header"
        if last:
            result["bytes"] += self.answer[at % 4 : at % 4 + self.most]
            self.answer = None
            if len(result["bytes"]) == result["length"]:
                self.asked = None
                self.answered(result)

    def answered(self, result):
        while self.unsettled and self.unsettled[0][0] <= result["number"]:
            self.unsettled.popleft()
        result["done"] = True
        if result["sets"]:
            self.reads.remove(result["sets"])
            page, address = result["address"] // 4096, result["address"]
            for i, value in enumerate(result["bytes"]):
                may = {0xFF} if page in (SLVERR_PAGE, DECERR_PAGE) or self.dead else result["sets"][1][i]
                assert value in may, f"byte {address + i:#x} reads {value:#x}, may be {may}"
        elif result["address"] >= BYTES:
            assert set(result["bytes"]) == {0xFF}, "there is no memory"

    dead = False

    async def until(self, done, what, clocks=20_000):
        for _ in range(clocks):
            if done():
                return
            await RisingEdge(self.dut.clk)
        raise AssertionError(f"{what} never came: {len(self.beats)} beats, read {self.asked}, {self.credits} credits")

    # ---- DMA
    async def collect(self):
        dut, message = self.dut, bytearray()
        self.verdicts, self.messages = deque(), deque()
        while True:
            await FallingEdge(self.user)
            dut.end_ready.value = self.rng.random() < 0.6
            dut.m_tready.value = self.rng.random() < 0.8
            await RisingEdge(self.user)
            if dut.m_tvalid.value and dut.m_tready.value:
                message += int(dut.m_tdata.value).to_bytes(self.keep, "little")[: int(dut.m_tkeep.value).bit_count()]
                if dut.m_tlast.value:
                    self.messages.append((bytes(message), int(dut.m_status.value)))
                    message = bytearray()
            if dut.end_valid.value and dut.end_ready.value:
                self.verdicts.append(int(dut.end_status.value))

    async def dma_write(self, offset, data):
        dut, keep = self.dut, self.keep
        for at, value in enumerate(data, offset):
            self.maybe.setdefault(at, set()).add(value)
            self.puts(at, value)
        for at in range(0, len(data), keep):
            part = data[at : at + keep]
            while self.rng.random() < 0.1:
                await RisingEdge(self.user)
            await FallingEdge(self.user)
            dut.s_tdata.value, dut.s_tkeep.value = int.from_bytes(part, "little"), (1 << len(part)) - 1
            dut.s_tlast.value = int(at + keep >= len(data))
            dut.s_offset.value, dut.s_length.value, dut.s_tvalid.value = offset, len(data), 1
            await RisingEdge(self.user)
            while not dut.s_tready.value:
                await RisingEdge(self.user)
            await FallingEdge(self.user)
            dut.s_tvalid.value = 0
        await self.until(lambda: self.verdicts, "a verdict")
        assert self.verdicts.popleft() == 0
        for at, value in enumerate(data, offset):
            self.must[at] = value
            del self.maybe[at]

    async def dma_read(self, offset, length):
        dut = self.dut
        expected = self.expect(offset, length)
        for _, before in self.unsettled:  # a window's write which no window's read has followed may not be there yet
            for at, value in before.items():
                if offset <= at < offset + length:
                    expected[1][at - offset].add(value)
        await FallingEdge(self.user)
        dut.ask_offset.value, dut.ask_length.value, dut.ask_valid.value = offset, length, 1
        await RisingEdge(self.user)
        while not dut.ask_ready.value:
            await RisingEdge(self.user)
        await FallingEdge(self.user)
        dut.ask_valid.value = 0
        await self.until(lambda: self.messages, "a message")
        message, status = self.messages.popleft()
        assert status == 0 and len(message) == length
        self.reads.remove(expected)
        for i, value in enumerate(message):
            assert value in expected[1][i], f"byte {offset + i:#x} reads {value:#x} by DMA, may be {expected[1][i]}"

    # ---- what to do
    def place(self, most, writes):
        """Where in BAR 4: rarely in no memory; of a write no page that DMA writes."""
        rng = self.rng
        length = rng.choice((1, 4, 8, rng.randrange(1, 65), rng.randrange(1, most + 1), most))
        page = rng.choice((*range(16), *[ONE // 4096] * 3, ONE // 4096 + 1, 16, ONE // 4096 + 2))
        if writes and page * 4096 in DMA:
            page %= 6
        offset = rng.choice((rng.randrange(4096), rng.randrange(64) * 64, 0, 4096 - length))
        offset = min(offset, 4096 - length)
        return page * 4096 + offset, length


@cocotb.test()
async def all_at_once(dut):
    """Writes and reads of any place and length by window, messages and asks by DMA, errors, random paces on all sides."""
    bench = Bench(dut, "all_at_once")
    await bench.start()
    rng = bench.rng
    most = rng.choice((128, 256, 512))
    over = [False]

    async def window():
        results = []
        for _ in range(OPERATIONS):
            if rng.random() < 0.6:
                for _ in range(rng.choice((1, 1, 4, 20))):
                    address, length = bench.place(most, True)
                    data, mask = bytearray(rng.randbytes(length)), None
                    if address % 4 + length <= 4 or (address % 8 == 0 and length == 8 and rng.random() < 0.5):  # may have holes
                        mask = [rng.random() < 0.6 for _ in range(length)]
                        if length == 8:
                            mask[rng.randrange(4)] = mask[4 + rng.randrange(4)] = True
                    length = min(length, most - address % 4)
                    bench.write(address, data[:length], mask and mask[:length])
            else:
                results.append(bench.read(*bench.place(rng.choice((64, 512, 4096)), False)))
            if rng.random() < 0.5:
                await ClockCycles(dut.clk, rng.randrange(1, 200))
            await bench.until(lambda: len(bench.beats) < 500 and sum("done" not in r for r in results) < 8, "progress")
        await bench.until(lambda: all("done" in r for r in results), "the last answer")
        over[0] = True

    async def dma_writes():
        while not over[0]:
            length = rng.choice((1, bench.keep, rng.randrange(1, 300), 4096, rng.randrange(1, 9000)))
            offset = rng.randrange(DMA.start, DMA.stop - length + 1)
            await bench.dma_write(offset, rng.randbytes(length))
            await ClockCycles(dut.clk, rng.randrange(1, 100))

    async def dma_reads():
        while not over[0]:
            length = rng.choice((1, bench.keep, rng.randrange(1, 300), 4096, rng.randrange(1, 9000)))
            await bench.dma_read(rng.randrange(0, 13 * 4096 - length + 1), length)
            await ClockCycles(dut.clk, rng.randrange(1, 100))

    tasks = [cocotb.start_soon(part()) for part in (window(), dma_writes(), dma_reads()) for part in [lambda part=part: part]]
    for task in tasks:
        await task
    last = bench.read(0, 4)
    await bench.until(lambda: "done" in last, "the last read")
    for at, value in bench.must.items():
        image = bench.zero.image[at] if at < BYTES else bench.one.image[at - ONE]
        page = at // 4096
        assert value == image or page in (SLVERR_PAGE, DECERR_PAGE), f"byte {at:#x} is {image:#x}, not {value:#x}"
    assert not bench.zero.strays and not bench.one.strays, "an access beyond a memory"
    card = 1 << 12
    overruns, errors = (
        bench.read(card + TP.TP_CARD_MEMORY_WINDOW_OVERRUNS_OFFSET, 4, 0),
        bench.read(card + TP.TP_CARD_MEMORY_WINDOW_ERRORS_OFFSET, 4, 0),
    )
    status = bench.read(card + TP.TP_CARD_WINDOW_STATUS_OFFSET, 4, 0)
    await bench.until(lambda: "done" in status, "the card page")
    assert int.from_bytes(overruns["bytes"], "little") == 0, "a write was dropped"
    assert int.from_bytes(errors["bytes"], "little") == bench.refused, f"not {bench.refused} writes failed"
    assert int.from_bytes(status["bytes"], "little") == TP.TP_CARD_WINDOW_STATUS_MEMORY_ERROR_MASK


@cocotb.test()
async def a_core_that_never_answers(dut):
    """It holds the link for a while, once; then writes are dropped and counted, reads are all ones, and a reset ends that."""
    bench = Bench(dut, "a_core_that_never_answers")
    await bench.start()
    rng, card = bench.rng, 1 << 12
    timeout = 2500
    header = REQUEST.pack(bar=0, offset=card + TP.TP_CARD_WINDOW_TIMEOUT_OFFSET, dwords=1, first_be=15, last_be=0)
    bench.operations.append(("write", [(header, timeout, 1, None)]))
    status = REQUEST.pack(bar=0, offset=card + TP.TP_CARD_WINDOW_STATUS_OFFSET, dwords=1, first_be=15, last_be=0)

    async def value(offset):
        read = bench.read(card + offset, 4, 0)
        await bench.until(lambda: "done" in read, "the card page")
        return int.from_bytes(read["bytes"], "little")

    def fill(packets):
        for _ in range(packets):
            bench.write(rng.randrange(60) * 64, bytearray(rng.randbytes(64)))

    for with_read in (False, True):
        await bench.until(lambda: not bench.beats, "quiet")
        bench.paused = True
        await ClockCycles(dut.clk, 50)
        bench.held = 0
        if with_read:
            late = bench.read(rng.randrange(4096), 4)
            bench.dead = True
            await bench.until(lambda late=late: "done" in late, "all ones")
        fill(400)
        await bench.until(lambda: not bench.beats and not bench.operations, "the end of the hold")
        bench.dead = True
        assert (bench.held > timeout // 2) != with_read, f"held for {bench.held} clocks"
        assert bench.held < 3 * timeout, f"held for {bench.held} clocks"
        read = bench.read(rng.randrange(3000), rng.choice((1, 4, 64, 1000)))
        await bench.until(lambda read=read: "done" in read, "all ones")
        # The windows are off, whoever has read that before.
        for _ in range(2):
            assert await value(TP.TP_CARD_WINDOW_STATUS_OFFSET) & TP.TP_CARD_WINDOW_STATUS_MEMORY_TIMEOUT_MASK
            bench.operations.append(("write", [(status, 15, 1, None)]))
        overruns = await value(TP.TP_CARD_MEMORY_WINDOW_OVERRUNS_OFFSET)
        fill(10)
        bench.write(BYTES // 2, bytearray(256))
        await bench.until(lambda: not bench.beats and not bench.operations, "quiet")
        await ClockCycles(dut.clk, 10)
        assert await value(TP.TP_CARD_MEMORY_WINDOW_OVERRUNS_OFFSET) == overruns + 11, "not all is counted"

        # The core comes back, and must not be believed until it has been reset.
        bench.paused = False
        await ClockCycles(dut.clk, 2000)
        read = bench.read(0, 8)
        await bench.until(lambda read=read: "done" in read, "all ones")
        reset = REQUEST.pack(bar=0, offset=card + TP.TP_CARD_CONTROL_OFFSET, dwords=1, first_be=15, last_be=0)
        bench.operations.append(("write", [(reset, 1, 1, None)]))
        await bench.until(lambda: dut.card_reset.value, "the reset")
        await ClockCycles(dut.clk, 100)
        await FallingEdge(dut.clk)
        dut.card_reset_done.value = 1
        await FallingEdge(dut.clk)
        dut.card_reset_done.value = 0
        await bench.until(lambda: dut.user_rst_n.value, "the core")
        await ClockCycles(dut.clk, 200)
        # What had not reached the core is forgotten, or not: memory is what it is.
        bench.must |= dict(enumerate(bench.zero.image))
        bench.unsettled.clear()
        bench.dead = False
        fill(20)
        read = bench.read(0, 4096)
        await bench.until(lambda read=read: "done" in read, "the bytes")
        assert await value(TP.TP_CARD_WINDOW_STATUS_OFFSET) == 0
