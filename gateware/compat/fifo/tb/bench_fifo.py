# SPDX-License-Identifier: Apache-2.0
"""Words through each adapter between streams and FIFOs, at random paces: a cocotb module, started by test_fifo.py."""

import cocotb
from bench import generator
from cocotb.triggers import Timer


class Adapters:
    """The three adapters side by side, and a core at each; `step` is one clock of all."""

    def __init__(self, dut, what):
        self.dut, self.rng = dut, generator(what)
        self.through = int(dut.FALL_THROUGH.value)
        self.bits = len(dut.r_tdata)
        self.eager = [0.5] * 6
        self.forget()

    def forget(self):
        self.words = {name: [] for name in "rwg"}  # given and not yet come out
        self.fetched = None  # what the reading core finds at `dout` in the next clock
        self.to_read = None
        self.fifo = []  # the core's own
        self.count = 0

    async def start(self):
        dut = self.dut
        for name in ("clk", "rst_n", "flush", "r_tvalid", "r_tdata", "r_rd_en", "w_wr_en", "w_din", "w_tready", "g_dout", "g_tready"):
            getattr(dut, name).value = 0
        dut.g_empty.value = 1
        for _ in range(3):
            await self.edge()
        dut.rst_n.value = 1

    async def edge(self):
        self.dut.clk.value = 1
        await Timer(1, "ns")
        self.dut.clk.value = 0
        await Timer(1, "ns")

    def word(self):
        return self.rng.getrandbits(self.bits)

    def came(self, name, word):
        assert self.words[name], f"{name}: a word that was never given"
        assert word == self.words[name].pop(0), f"{name}: another word, or another order"
        self.count += 1

    async def step(self):
        dut, eager = self.dut, [self.rng.random() < e for e in self.eager]
        # A stream offers, and stands; the core asks whether or not there is anything.
        if self.to_read is None and eager[0]:
            self.to_read = self.word()
        dut.r_tvalid.value = self.to_read is not None
        dut.r_tdata.value = self.to_read if self.to_read is not None else self.word()
        dut.r_rd_en.value = eager[1]
        # The core writes whether or not there is room.
        written = self.word()
        dut.w_wr_en.value, dut.w_din.value, dut.w_tready.value = eager[2], written, eager[3]
        if eager[4]:
            self.fifo.append(self.word())
            self.words["g"].append(self.fifo[-1])
        dut.g_empty.value = not self.fifo
        if self.through:
            dut.g_dout.value = self.fifo[0] if self.fifo else self.word()
        dut.g_tready.value = eager[5]
        await Timer(1, "ns")
        if self.fetched is not None:
            self.came("r", int(dut.r_dout.value))
            self.fetched = None
        if dut.r_tready.value == 1 and self.to_read is not None:
            self.words["r"].append(self.to_read)
        if eager[1] and dut.r_empty.value == 0:
            assert self.to_read is not None, "not empty, and nothing was offered"
            if self.through:
                self.came("r", int(dut.r_dout.value))
            else:
                self.fetched = self.to_read
            self.to_read = None
        assert dut.w_nearly_full.value == 1 or dut.w_full.value == 0
        if eager[2] and dut.w_full.value == 0:
            self.words["w"].append(written)
        if dut.w_tvalid.value == 1 and eager[3]:
            self.came("w", int(dut.w_tdata.value))
        if dut.g_tvalid.value == 1 and eager[5]:
            self.came("g", int(dut.g_tdata.value))
        read = int(dut.g_rd_en.value)
        assert not read or self.fifo, "an empty FIFO was read"
        await self.edge()
        if read:
            taken = self.fifo.pop(0)
            if not self.through:
                dut.g_dout.value = taken
        elif not self.through:
            dut.g_dout.value = self.word()  # it stands for one clock


@cocotb.test()
async def words_come_once_and_in_order(dut):
    cores = Adapters(dut, "words")
    await cores.start()
    for number in range(4000):
        if number % 100 == 0:
            cores.eager = [cores.rng.choice([0.1, 0.5, 0.9, 1]) for _ in cores.eager]
        await cores.step()
    cores.eager = [0, 1, 0, 1, 0, 1]
    for _ in range(len(cores.fifo) + 40):
        await cores.step()
    assert not any(cores.words.values()) and cores.count > 2000


@cocotb.test()
async def late_writes_find_room_and_a_flush_forgets(dut):
    cores = Adapters(dut, "late")
    await cores.start()
    for _ in range(40):
        # A core that looks at nearly_full may write 8 more.
        cores.eager = [0, 0, 1, 0, 0, 0]
        while dut.w_nearly_full.value == 0:
            await cores.step()
        held = len(cores.words["w"])
        for _ in range(8):
            await cores.step()
        assert len(cores.words["w"]) == held + 8, "a late word found no room"
        cores.eager = [0, 0, 0, 0, 1, cores.rng.random()]
        for _ in range(cores.rng.randint(1, 6)):
            await cores.step()
        dut.flush.value = 1
        dut.w_wr_en.value = 1
        dut.g_empty.value = 1
        await Timer(1, "ns")
        assert dut.w_full.value == 1, "a word written in a flush would be lost with no word"
        await cores.edge()
        dut.flush.value = 0
        dut.w_wr_en.value = 0
        cores.forget()
        await cores.edge()
        cores.eager = [1, 1, 0.5, 1, 1, 1]
        for _ in range(20):
            await cores.step()
        cores.eager = [0, 1, 0, 1, 0, 1]
        for _ in range(len(cores.fifo) + 20):
            await cores.step()
        assert not any(cores.words.values())
