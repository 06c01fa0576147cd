# SPDX-License-Identifier: Apache-2.0
"""Words, registers and interrupts of a core with EPEE's ports, at random paces: a cocotb module, started by test_epee.py."""

import cocotb
from bench import generator
from cocotb.triggers import Timer

WORDS = 2500  # in each direction, at each width
ACCESSES = 1500
QUIET = "r_tvalid r_tdata r_tkeep r_rd_en w_wr_en w_din w_tready req vector irq_ready flush wr_ack rd_ack rd_data"
AXIL = "awaddr awvalid wdata wstrb wvalid bready araddr arvalid rready"


class Sides:
    """One clock of all; `step` says what each side did in it."""

    def __init__(self, dut, what):
        self.dut, self.rng = dut, generator(what)
        self.bytes = len(dut.r_tkeep)
        self.through = int(dut.FALL_THROUGH.value)
        self.path = max(int(dut.PATH.value) // 8, self.bytes)  # a message ends where no multiple of this has gone
        self.eager = [0.5] * 4
        self.forget()

    def forget(self):
        self.offered = None  # a beat to the core: its bytes
        self.to_core, self.from_core = bytearray(), bytearray()  # on their way
        self.fetched = False
        self.late = 8  # words that the core may still write
        self.message = 0  # bytes of the message that has begun
        self.words = self.ends = 0
        self.stood = None  # a beat that waits
        self.more = False  # there was another word behind the one that was taken
        self.almost = [0, 0]  # how often almost_empty was 0, and 1

    async def start(self):
        dut = self.dut
        for name in [*QUIET.split(), "clk", "rst_n", *(f"s_axil_{signal}" for signal in AXIL.split())]:
            getattr(dut, name).value = 0
        for _ in range(3):
            await self.edge()
        dut.rst_n.value = 1

    async def edge(self):
        self.dut.clk.value = 1
        await Timer(1, "ns")
        self.dut.clk.value = 0
        await Timer(1, "ns")

    def core_got(self, dout):
        half = self.bytes // 2
        valid, data = dout >> 8 * self.bytes, (dout & (1 << 8 * self.bytes) - 1).to_bytes(self.bytes, "little")
        assert valid in (1, 3), f"halves {valid:02b}"
        data = data[: half * (1 + (valid == 3))]
        assert data == self.to_core[: len(data)], "other words, or another order"
        del self.to_core[: len(data)]
        self.words += 1

    def host_got(self):
        dut = self.dut
        keep, last = int(dut.w_tkeep.value), int(dut.w_tlast.value)
        count = keep.bit_count()
        assert keep == (1 << count) - 1 and (last or count == self.bytes), "a beat with holes"
        data = int(dut.w_tdata.value).to_bytes(self.bytes, "little")[:count]
        assert data == self.from_core[:count], "other halves, or another order"
        del self.from_core[:count]
        self.message += count
        if last:
            assert self.message % self.path != 0, "an end that nothing asked for"
            self.message = 0
            self.ends += 1

    async def step(self):
        dut, rng = self.dut, self.rng
        eager = [rng.random() < pace for pace in self.eager]
        if self.offered is None and eager[0]:
            # Some beats have a part of their bytes, as the last of a message, or none.
            count = rng.choice([self.bytes] * 6 + [rng.randint(0, self.bytes)])
            self.offered = rng.randbytes(count)
        dut.r_tvalid.value = self.offered is not None
        if self.offered is not None:
            junk = rng.randbytes(self.bytes - len(self.offered))
            dut.r_tdata.value = int.from_bytes(self.offered + junk, "little")
            dut.r_tkeep.value = (1 << len(self.offered)) - 1
        dut.r_rd_en.value = eager[1]
        # The core looks at prog_full, and is late by up to 8 words.
        writes = eager[2] and self.late > 0
        valid, data = rng.choice([3, 3, 3, 1, 2, 0]), rng.randbytes(self.bytes)
        dut.w_wr_en.value = writes
        dut.w_din.value = valid << 8 * self.bytes | int.from_bytes(data, "little")
        dut.w_tready.value = eager[3]
        await Timer(1, "ns")
        empty, almost = int(dut.r_empty.value), int(dut.r_almost_empty.value)
        assert almost or not empty, "nothing, and more than one word"
        assert not (self.more and empty), "no word behind the one that was taken, against almost_empty"
        self.almost[almost] += 1
        self.more = eager[1] and not almost
        if self.fetched:
            self.core_got(int(dut.r_dout.value))
            self.fetched = False
        if self.offered is not None and dut.r_tready.value == 1:
            half = self.bytes // 2
            self.to_core += self.offered + bytes(-len(self.offered) % half)
            self.offered = None
        if eager[1] and dut.r_empty.value == 0:
            if self.through:
                self.core_got(int(dut.r_dout.value))
            else:
                self.fetched = True
        if writes:
            half = self.bytes // 2
            self.from_core += (data[:half] if valid & 1 else b"") + (data[half:] if valid & 2 else b"")
            self.words += 1
        self.late = 8 if dut.w_prog_full.value == 0 else self.late - writes
        shown = (int(dut.w_tdata.value), int(dut.w_tkeep.value), int(dut.w_tlast.value)) if dut.w_tvalid.value == 1 else None
        assert self.stood is None or shown == self.stood, "a beat that waited has changed"
        self.stood = None if eager[3] else shown
        if shown and eager[3]:
            self.host_got()
        await self.edge()

    async def until(self, condition, what):
        for _ in range(3000):
            if condition():
                return
            await self.step()
        raise AssertionError(f"{what}: nothing moves")


@cocotb.test()
async def words_are_bytes_in_a_row(dut):
    sides = Sides(dut, "words")
    await sides.start()
    steps = 0
    while sides.words < 2 * WORDS:
        if steps % 60 == 0:
            sides.eager = [sides.rng.choice([0.0, 0.3, 0.9, 1.0]) for _ in sides.eager]
        steps += 1
        await sides.step()
    # What a core has written comes, whether or not it writes more; and so does all that the host has sent.
    sides.eager = [0, 1, 0, 1]
    await sides.until(lambda: not sides.from_core and not sides.to_core and sides.offered is None, "the rest")
    for _ in range(40):
        await sides.step()
    assert sides.message % sides.path == 0 and sides.ends > 0
    assert min(sides.almost) > 100, f"almost_empty was 0 and 1 {sides.almost} times"


@cocotb.test()
async def a_reset_of_the_channels_forgets(dut):
    sides = Sides(dut, "resets")
    await sides.start()
    for _ in range(60):
        sides.eager = [sides.rng.random() for _ in sides.eager]
        for _ in range(sides.rng.randint(1, 60)):
            await sides.step()
        dut.flush.value, dut.r_tvalid.value, dut.r_rd_en.value, dut.w_wr_en.value = 1, 0, 0, 0
        await Timer(1, "ns")
        assert dut.w_tvalid.value == 0 and dut.r_empty.value == 1 and dut.w_prog_full.value == 1
        await sides.edge()
        dut.flush.value = 0
        sides.forget()
    sides.eager = [1, 1, 1, 1]
    await sides.until(lambda: sides.words > 50, "after a reset")


class Core:
    """Registers that are acknowledged in one of many ways; of each request what the core saw of it."""

    WAYS = ("at once", "tied", "a clock later", "pulse", "late", "slow to fall")

    def __init__(self, dut, rng, way):
        self.dut, self.rng, self.way = dut, rng, way
        self.held = {"wr": [], "rd": []}  # of each kind, the request in the last clocks
        self.due = {"wr": 0, "rd": 0}
        self.memory = {}
        self.seen = []

    def looks(self):
        """After the inputs have settled: acknowledgements for this clock, which may follow from the request in it."""
        for kind in ("wr", "rd"):
            req, held = int(getattr(self.dut, f"{kind}_req").value), self.held[kind]
            before = held[-1] if held else 0
            if req and not before:
                self.due[kind] = self.rng.randint(0, 9)
            number = int(getattr(self.dut, f"{kind}_addr").value)
            ack = {
                "at once": req,
                "tied": 1,
                "a clock later": before,
                "pulse": req and before and held[-2:-1] != [1],
                "late": req and len(held) > 9 and all(held[-1 - self.due[kind] :]),
                "slow to fall": before or any(held[-4:]),
            }[self.way]
            # One that is left over from the request before is for none.
            ack, real = int(bool(ack)), self.way in ("at once", "tied") or before
            # The word counts in the clock of the acknowledgement alone.
            getattr(self.dut, f"{kind}_ack").value = ack
            if kind == "rd":
                self.dut.rd_data.value = self.memory.get(number, 7) if ack and real else self.rng.getrandbits(32)
            if req and ack and real:
                if kind == "wr":
                    self.memory[number] = int(self.dut.wr_data.value)
                self.seen.append((kind, number))
            held.append(req)
            del held[:-12]


@cocotb.test()
async def each_access_is_one_request(dut):
    sides = Sides(dut, "registers")
    await sides.start()
    rng = sides.rng
    for way in Core.WAYS:
        core, model = Core(dut, rng, way), {}
        for _ in range(20):
            core.looks()
            await sides.edge()
        for _ in range(ACCESSES // len(Core.WAYS)):
            number, write = rng.choice([0, 1, 0x1FFFF, rng.getrandbits(17)]), rng.random() < 0.5
            whole = rng.random() < 0.9
            value = rng.getrandbits(32)
            core.seen.clear()
            address = rng.getrandbits(13) << 19 | number << 2
            if write:
                dut.s_axil_awaddr.value, dut.s_axil_wdata.value = address, value
                dut.s_axil_wstrb.value = 15 if whole else rng.randint(0, 14)
                shows = {"aw": rng.randint(0, 2), "w": rng.randint(0, 2)}
            else:
                dut.s_axil_araddr.value = address
                shows = {"ar": 0}
            answer, patience = None, rng.randint(0, 3)
            for clock in range(80):
                for channel, at in shows.items():
                    getattr(dut, f"s_axil_{channel}valid").value = at is not None and clock >= at
                ready = clock > patience
                dut.s_axil_bready.value = dut.s_axil_rready.value = ready
                await Timer(1, "ns")
                core.looks()
                await Timer(1, "ns")
                for channel, at in list(shows.items()):
                    if at is not None and clock >= at and getattr(dut, f"s_axil_{channel}ready").value == 1:
                        shows[channel] = None
                if ready and (dut.s_axil_bvalid if write else dut.s_axil_rvalid).value == 1:
                    answer = int((dut.s_axil_bresp if write else dut.s_axil_rresp).value), int(dut.s_axil_rdata.value)
                    assert all(at is None for at in shows.values())
                    await sides.edge()
                    break
                await sides.edge()
            assert answer is not None, f"{way}: no answer"
            if write:
                assert answer[0] == (0 if whole else 2)
                assert core.seen == [("wr", number)] * whole, f"{way}: {core.seen}"
                if whole:
                    model[number] = value
            else:
                assert answer == (0, model.get(number, 7)), f"{way}: register {number}"
                assert core.seen == [("rd", number)], f"{way}: {core.seen}"
            assert core.memory == model


@cocotb.test()
async def an_access_that_is_not_acknowledged_hangs_alone(dut):
    """Nothing answers it; a reset frees the core."""
    sides = Sides(dut, "silence")
    await sides.start()
    dut.s_axil_araddr.value, dut.s_axil_arvalid.value, dut.s_axil_rready.value = 4, 1, 1
    await sides.edge()
    dut.s_axil_arvalid.value = 0
    for _ in range(100):
        await sides.edge()
        assert dut.rd_req.value == 1 and dut.s_axil_rvalid.value == 0
    dut.rst_n.value = 0
    await sides.edge()
    dut.rst_n.value = 1
    await sides.edge()
    assert dut.rd_req.value == 0


@cocotb.test()
async def requests_are_interrupts(dut):
    sides = Sides(dut, "interrupts")
    await sides.start()
    rng = sides.rng
    for number in range(600):
        vector, holds = rng.randrange(8), rng.random() < 0.7
        dut.req.value, dut.vector.value = 1, vector
        counted, cleared, wait = 0, 0, rng.choice([0, 0, 3, 9])
        for clock in range(40):
            dut.irq_ready.value = 0xFF if clock > wait else 0
            await Timer(1, "ns")
            valid = int(dut.irq_valid.value)
            assert valid in (0, 1 << vector), "another vector"
            counted += valid != 0 and clock > wait
            clr = int(dut.clr.value)
            assert not clr or counted == 1, "cleared before it counted"
            cleared += clr
            await sides.edge()
            # The vector stands in the first clock alone.
            dut.vector.value = rng.randrange(8)
            if clr or not holds:
                dut.req.value = 0
            if cleared and not clr:
                break
        assert counted == 1 and cleared, f"request {number}: counted {counted} times, cleared in {cleared} clocks"
