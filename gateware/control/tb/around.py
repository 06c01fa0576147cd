# SPDX-License-Identifier: Apache-2.0
"""What surrounds tp_control in its bench: the host at the neutral streams, its MSI-X table, a small mover, the user core's registers."""

from collections import deque

import cocotb
from bench import ANSWER, CONFIG, REQUEST, TLP, TP, WRITE, generator
from cocotb.triggers import FallingEdge, Timer

PERIOD = 4000
ONES = (1 << 32) - 1


class Core:
    """The user core's AXI4-Lite port, on the core's clock: answers after `delay()` clocks, or never while that gives None."""

    def __init__(self, dut):
        self.dut = dut
        self.registers = {}
        self.log = []  # ("w", address, data, strobes) or ("r", address)
        self.delay = lambda: 0
        self.resp = lambda: 0
        self.accept = lambda: True
        self.reset()

    def reset(self):
        self.aw = self.w = self.pending = None

    def drive(self):
        d = self.dut
        d.m_axil_awready.value = int(self.aw is None and self.pending is None and self.accept())
        d.m_axil_wready.value = int(self.w is None and self.pending is None and self.accept())
        d.m_axil_arready.value = int(self.pending is None and self.accept())
        due = self.pending is not None and self.pending[0] is not None and self.pending[0] <= 0
        kind = self.pending[1] if due else None
        d.m_axil_bvalid.value = int(kind == "w")
        d.m_axil_rvalid.value = int(kind == "r")
        if due:
            d.m_axil_bresp.value = d.m_axil_rresp.value = self.pending[3]
            d.m_axil_rdata.value = self.pending[2]

    def sample(self):
        d = self.dut
        if self.pending and self.pending[0] is not None:
            if d.m_axil_bvalid.value and d.m_axil_bready.value or d.m_axil_rvalid.value and d.m_axil_rready.value:
                self.pending = None
            elif self.pending:
                self.pending[0] -= 1
        if d.m_axil_awvalid.value and d.m_axil_awready.value:
            self.aw = int(d.m_axil_awaddr.value)
        if d.m_axil_wvalid.value and d.m_axil_wready.value:
            self.w = (int(d.m_axil_wdata.value), int(d.m_axil_wstrb.value))
        if self.aw is not None and self.w is not None:
            assert self.pending is None, "two accesses at once"
            data, strb = self.w
            old = self.registers.get(self.aw, 0)
            for i in range(4):
                if strb >> i & 1:
                    old = old & ~(0xFF << 8 * i) | data & 0xFF << 8 * i
            self.registers[self.aw] = old
            self.log.append(("w", self.aw, data, strb))
            self.pending = [self.delay(), "w", 0, self.resp()]
            self.aw = self.w = None
        elif d.m_axil_arvalid.value and d.m_axil_arready.value:
            assert self.pending is None, "two accesses at once"
            addr = int(d.m_axil_araddr.value)
            self.log.append(("r", addr))
            self.pending = [self.delay(), "r", self.registers.get(addr, 0), self.resp()]


class Bench:
    def __init__(self, dut, what):
        self.dut = dut
        self.rng = generator(what)
        self.width = len(dut.rx_posted_data)
        self.lanes = self.width // 32
        self.h2c, self.c2h = int(dut.H2C.value), int(dut.C2H.value)
        self.channels = self.h2c + self.c2h
        self.shift = int(dut.PAGE_SHIFT.value)
        self.vectors = int(dut.VECTORS.value)
        self.core = Core(dut)
        self.config = dict(requester=0x100, bus_master=1, msix_enable=1, link_up=1, active=1, transmit_room=255)
        self.beats = deque()  # (header, data, last) or None for a clock without
        self.reads = deque()
        self.credits = 0
        self.answers = []
        self.messages = []  # (vector by table, data)
        self.bells, self.inlines, self.batches, self.privs = [], [], [], []  # what the mover saw
        self.written = deque([None, None])  # the beats of the last two clocks
        self.words = {}  # of descriptors, per channel: the dwords that came last
        self.priv = {}
        self.priv_answer = None
        self.fires = deque()
        self.irqs = [0] * 16  # events that a line still has
        self.answer_ready = self.posted_ready = lambda: True
        self.leaving = False  # a message is in the mover
        self.reset_after = 20  # clocks that the mover takes for a reset, None: never
        self.resetting = None
        self.user_busy = 0
        self.done = 0
        self.cycle = 0
        self.idle = {}

    def set(self, name, value):
        if self.idle.get(name) != value:
            self.idle[name] = value
            getattr(self.dut, name).value = value

    async def start(self):
        cocotb.start_soon(self.clock())
        self.set("rst", 1)
        for name in ("priv_read_ack", "priv_read_data", "event_valid", "event_code", "quarantined", "card_reset_done", "user_busy"):
            self.set(name, 0)
        self.set("enabled", (1 << self.channels) - 1)
        for _ in range(4):
            await self.step()
        self.set("rst", 0)
        await self.step(30)
        await self.until(lambda: not self.dut.sweeping.value)

    async def clock(self):
        clk = self.dut.clk
        while True:
            clk.value = 0
            await Timer(PERIOD // 2, "ps")
            clk.value = 1
            await Timer(PERIOD - PERIOD // 2, "ps")

    async def step(self, n=1):
        for _ in range(n):
            await FallingEdge(self.dut.clk)
            self.drive()
            await Timer(PERIOD // 4, "ps")
            self.sample()
            self.cycle += 1

    def drive(self):
        put = self.set
        put("cfg", CONFIG.pack(**self.config))
        beat = self.beats.popleft() if self.beats else None
        put("rx_posted_valid", int(beat is not None))
        if beat:
            put("rx_posted_hdr", beat[0])
            put("rx_posted_data", beat[1])
            put("rx_posted_last", beat[2])
        send = bool(self.reads) and self.credits > 0
        put("rx_nonposted_valid", int(send))
        if send:
            self.credits -= 1
            put("rx_nonposted_hdr", self.reads.popleft())
        put("tx_answer_ready", int(self.answer_ready()))
        put("msix_posted_ready", int(self.posted_ready()))
        put("msix_leaving", int(self.leaving))
        put("fire_valid", int(bool(self.fires)))
        if self.fires:
            put("fire_vector", self.fires[0])
        put("irq_valid", sum(1 << k for k in range(16) if self.irqs[k]))
        put("user_busy", self.user_busy)
        put("card_reset_done", int(self.resetting == 0))
        put("priv_read_ack", int(self.priv_answer is not None and self.priv_answer[0] == 0))
        if self.priv_answer:
            put("priv_read_data", self.priv_answer[1])
            self.priv_answer = None if self.priv_answer[0] == 0 else (self.priv_answer[0] - 1, self.priv_answer[1])
        self.core.drive()

    def sample(self):
        d = self.dut
        self.credits += int(d.nonposted_credit.value)
        self.done += int(d.function_reset_done.value)
        if d.tx_answer_valid.value and d.tx_answer_ready.value:
            if not self.answers or self.answers[-1][2]:
                self.answers.append([ANSWER.unpack(int(d.tx_answer_hdr.value)), [], False])
            answer = self.answers[-1]
            assert answer[0] == ANSWER.unpack(int(d.tx_answer_hdr.value)), "the header changed within a packet"
            data = int(d.tx_answer_data.value)
            answer[1] += [data >> 32 * i & ONES for i in range(self.lanes)]
            answer[2] = bool(d.tx_answer_last.value)
        if d.msix_posted_valid.value and d.msix_posted_ready.value:
            header = WRITE.unpack(int(d.msix_posted_hdr.value))
            assert d.msix_posted_last.value and header["dwords"] == 1 and header["first_be"] == 15 and header["last_be"] == 0
            assert not header["relaxed"]
            self.messages.append((header["addr"], int(d.msix_posted_data.value) & ONES))
        if d.fire_valid.value and d.fire_ready.value:
            self.fires.popleft()
        ready = int(d.irq_ready.value)
        for k in range(16):
            if ready >> k & 1:
                assert self.irqs[k], f"irq_ready[{k}] without irq_valid"
                self.irqs[k] -= 1
        where = int(d.wr_channel.value), int(d.wr_offset.value) << 2
        beat = []
        data, strb = int(d.wr_data.value), int(d.wr_strb.value)
        for at in range(0, self.lanes, 2):
            beat += self.dwords((where[0], where[1] + 4 * at), data >> 32 * at, strb >> 4 * at)
        self.written.append(beat)
        words = self.written.popleft()
        channel = int(d.push_channel.value)
        if d.words_valid.value:
            for of, offset, value, _ in words:
                assert of == channel
                self.words.setdefault(of, {})[offset - TP.TP_DOORBELL_DESCRIPTOR_OFFSET] = value
        for bell, value in (("lead", d.lead_bytes), ("fill", d.fill_level)):
            if getattr(d, f"{bell}_valid").value:
                self.bells.append((bell, int(getattr(d, f"{bell}_channel").value), int(value.value)))
        if d.push_valid.value and d.words_valid.value:
            assert int(d.push_count.value) == 1
            descriptor = sum(self.words[channel].get(4 * i, 0) << 32 * i for i in range(4))
            torn = int(d.push_torn.value)
            self.bells.append(("torn" if torn else "push", channel, descriptor >> 96 if torn else descriptor))
        elif d.push_valid.value:
            self.bells.append(("batch", channel, int(d.push_count.value)))
        if d.arm_valid.value:
            self.bells.append(("arm", int(d.arm_channel.value), int(d.arm_index.value)))
        if d.cancel_valid.value:
            self.bells.append(("cancel", int(d.cancel_channel.value), 0))
        if d.inline_valid.value:
            self.inlines += beat
        if d.batch_valid.value:
            self.batches += beat
        if d.priv_write_valid.value:
            where = int(d.priv_write_channel.value), int(d.priv_write_offset.value) << 3
            self.privs += self.dwords(where, int(d.priv_write_data.value), int(d.priv_write_strb.value))
            for channel, offset, data, _ in self.privs[-2:]:
                self.priv[channel, offset] = data
        if d.priv_read_valid.value:
            assert self.priv_answer is None
            where = int(d.priv_read_channel.value), int(d.priv_read_offset.value) << 3
            value = self.priv.get(where, 0) | self.priv.get((where[0], where[1] + 4), 0) << 32
            self.priv_answer = (self.rng.randrange(6), value)
        if d.card_reset.value:
            self.resetting = self.reset_after if self.resetting is None else self.resetting - 1
        else:
            self.resetting = None
        self.core.sample()

    @staticmethod
    def dwords(where, data, strb):
        """The dwords of a word that have a byte enabled; bytes that are not are shown as 0."""
        found = []
        for half in (0, 1):
            be = strb >> 4 * half & 15
            if be:
                bytes_ = (data >> 32 * half) & sum(0xFF << 8 * i for i in range(4) if be >> i & 1)
                found.append((where[0], where[1] + 4 * half, bytes_, be))
        return found

    # ---- the host
    def page(self, page, offset=0):
        return (page << self.shift) + offset

    def of(self, channel, page, offset=0):
        return self.page(TP.TP_PAGE_CHANNELS + TP.TP_PAGES_PER_CHANNEL * channel + page, offset)

    def card(self, offset):
        return self.page(TP.TP_PAGE_CARD, offset)

    def write(self, bar, offset, dwords, first=15, last=15):
        """Queues a posted write."""
        if len(dwords) == 1:
            last = 0
        header = REQUEST.pack(bar=bar, offset=offset, dwords=len(dwords), first_be=first, last_be=last)
        for at in range(0, len(dwords), self.lanes):
            data = sum(v << 32 * i for i, v in enumerate(dwords[at : at + self.lanes]))
            self.beats.append((header, data, int(at + self.lanes >= len(dwords))))

    def write32(self, offset, value, bar=0):
        self.write(bar, offset, [value & ONES])

    def write64(self, offset, value, bar=0):
        self.write(bar, offset, [value & ONES, value >> 32])

    def read_later(self, bar, offset, dwords=1, first=15, last=15, tag=None):
        header = dict(bar=bar, offset=offset, dwords=dwords, first_be=first, last_be=last if dwords > 1 else 0)
        header |= dict(requester=self.rng.randrange(1 << 16), tag=self.rng.randrange(1 << 10), tc=self.rng.randrange(8))
        header["attr"] = self.rng.randrange(8)
        self.reads.append(REQUEST.pack(**header))
        return header

    async def read(self, bar, offset, dwords=1, patience=2000):
        await self.until(lambda: not self.beats)
        before = len(self.answers)
        header = self.read_later(bar, offset, dwords)
        await self.until(lambda: len(self.answers) > before and self.answers[-1][2], patience)
        answer, data, _ = self.answers[-1]
        assert answer["status"] == TLP.CPL_OK and answer["tag"] == header["tag"]
        return sum(v << 32 * i for i, v in enumerate(data[:dwords]))

    async def until(self, true, patience=3000):
        for _ in range(patience):
            if true():
                return
            await self.step()
        raise AssertionError(f"nothing for {patience} clocks")


class Vectors:
    """The host's view of the MSI-X table. A message's address tells its vector."""

    def __init__(self, b):
        self.b = b
        self.masked = [True] * b.vectors

    def at(self, vector, offset):
        return self.b.page(TP.TP_PAGE_MSIX, TP.TP_MSIX_VECTOR_OFFSET + vector * TP.TP_MSIX_VECTOR_STRIDE + offset)

    def fill(self):
        for v in range(self.b.vectors):
            address = 0x1_0000_0000 * (v + 1) | 0xFEE0_0000 | v << 4
            if self.b.rng.random() < 0.5:
                self.b.write64(self.at(v, TP.TP_MSIX_VECTOR_ADDRESS_OFFSET), address)
                self.b.beats.append(None)  # a dword a clock is taken
            else:
                self.b.write32(self.at(v, TP.TP_MSIX_VECTOR_ADDRESS_OFFSET), address)
                self.b.write32(self.at(v, TP.TP_MSIX_VECTOR_ADDRESS_OFFSET + 4), address >> 32)
            self.b.write32(self.at(v, TP.TP_MSIX_VECTOR_DATA_OFFSET), 0x4000 + v)

    def mask(self, vector, on):
        self.masked[vector] = on
        self.b.write32(self.at(vector, TP.TP_MSIX_VECTOR_CONTROL_OFFSET), int(on))

    def counts(self):
        counts = [0] * self.b.vectors
        for address, data in self.b.messages:
            v = data - 0x4000
            assert address == 0x1_0000_0000 * (v + 1) | 0xFEE0_0000 | v << 4
            counts[v] += 1
        return counts

    async def pending(self):
        """All there is room for, also where the table has no vectors."""
        return await self.b.read(0, self.b.page(TP.TP_PAGE_MSIX, TP.TP_MSIX_PENDING_OFFSET), TP.TP_MSIX_VECTORS_MAX // 32)
