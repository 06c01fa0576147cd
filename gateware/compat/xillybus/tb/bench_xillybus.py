# SPDX-License-Identifier: Apache-2.0
"""Streams of Xillybus in both directions, and a seekable file, with cores and hosts at random paces: started by test_xillybus.py."""

import cocotb
from bench import generator
from cocotb.triggers import Timer

TRANSFERS = 2000  # at each of five widths, half of them in each direction
ACCESSES = 400
EOF = None


class Bench:
    """A clock, and what every test drives."""

    def __init__(self, dut, what):
        self.dut, self.rng = dut, generator(what)
        self.keep, self.size = len(dut.s_tkeep), len(dut.w_data) // 8

    async def start(self):
        dut = self.dut
        names = "clk rst_n s_reset s_tvalid s_tdata s_tkeep s_tlast w_full m_reset m_tready r_data r_eof a_awaddr a_awlen a_awvalid "
        names += "a_wdata a_wstrb a_wlast a_wvalid a_bready a_araddr a_arlen a_arvalid a_rready x_r_data x_eof x_full x_empty"
        for name in names.split():
            getattr(dut, name).value = 0
        dut.r_empty.value = 1
        for _ in range(3):
            await self.edge()
        dut.rst_n.value = 1

    async def edge(self):
        self.dut.clk.value = 1
        await Timer(1, "ns")
        self.dut.clk.value = 0
        await Timer(1, "ns")

    async def until(self, condition, what, most=20000):
        for _ in range(most):
            if condition():
                return
            await self.step()
        raise AssertionError(f"{what}: nothing moves")


class Streams(Bench):
    """A core whose FIFOs are looked at and driven as Xillybus does; `step` is one clock."""

    def __init__(self, dut, what):
        super().__init__(dut, what)
        self.eager = [0.7] * 4  # the host's sides, and the core's
        self.resetting = 0
        self.tied = False  # `eof` is always 1
        self.forget()

    def forget(self):
        self.beats, self.offered = [], False
        self.written = bytearray()  # that the core got
        self.room = 4  # of its FIFO
        self.fifo, self.fetched = [], None  # words, and ends of file
        self.stands = None  # a beat that the host has not taken
        self.given, self.message = [], 0  # to the host: bytes, and EOF; bytes of the message under way

    def send(self, data, late):
        parts = [data[i : i + self.keep] for i in range(0, len(data), self.keep)]
        if not parts or late and len(parts[-1]) == self.keep:
            parts.append(b"")
        self.beats += [(part, i == len(parts) - 1) for i, part in enumerate(parts)]

    async def step(self):
        dut, rng = self.dut, self.rng
        eager = [rng.random() < e for e in self.eager]
        self.offered = bool(self.beats) and (self.offered or eager[0]) and not self.resetting
        dut.s_tvalid.value = self.offered
        if self.offered:
            data, last = self.beats[0]
            dut.s_tdata.value = int.from_bytes(data + rng.randbytes(self.keep - len(data)), "little")
            dut.s_tkeep.value, dut.s_tlast.value = (1 << len(data)) - 1, last
        dut.m_tready.value = eager[1] and not self.resetting
        dut.w_full.value = self.room == 0
        ended = bool(self.fifo) and self.fifo[0] is EOF
        dut.r_empty.value = not self.fifo or ended
        dut.r_eof.value = self.tied or ended
        dut.r_data.value = int.from_bytes(self.fetched or rng.randbytes(self.size), "little")
        await Timer(1, "ns")
        wrote, read = dut.w_wren.value == 1, dut.r_rden.value == 1
        assert not wrote or (self.room > 0 and dut.w_open.value == 1), "written while full, or not open"
        assert not read or (self.fifo and not ended and dut.r_open.value == 1), "read while empty, or not open"
        if wrote:
            self.written += int(dut.w_data.value).to_bytes(self.size, "little")
        if self.offered and dut.s_tready.value == 1:
            self.beats.pop(0)
            self.offered = False
        # What is shown stands.
        shown = dut.m_tvalid.value == 1 and (int(dut.m_tdata.value), int(dut.m_tkeep.value), int(dut.m_tlast.value))
        assert self.stands in (None, shown) or self.resetting, "what was shown has gone or changed"
        self.stands = shown if shown and dut.m_tready.value == 0 and not self.resetting else None
        if dut.m_tvalid.value == 1 and dut.m_tready.value == 1:
            self.take(int(dut.m_tkeep.value), dut.m_tlast.value == 1, int(dut.m_tdata.value))
        opened = dut.r_open.value == 1
        await self.edge()
        self.room = max(0, min(4, self.room - wrote + eager[2]))
        self.fetched = self.fifo.pop(0) if read else None
        # A core shows the end for a clock or for many.
        if ended and opened and eager[3]:
            self.fifo.pop(0)

    def take(self, keep, last, data):
        assert keep & keep + 1 == 0 and (last or keep == (1 << self.keep) - 1), f"keep {keep:b}, last {last}"
        part = data.to_bytes(self.keep, "little")[: keep.bit_count()]
        self.given += part
        self.message += len(part)
        if last:
            assert part or not self.message, "an end by itself reads as the end of the file"
            if not part:
                self.given.append(EOF)
            self.message = 0

    def paces(self):
        self.eager = [self.rng.choice([0.2, 0.6, 1, 1]) for _ in self.eager]

    def words(self, most=6):
        return [self.rng.randbytes(self.size) for _ in range(self.rng.randint(0, most))]


@cocotb.test()
async def bytes_come_once_and_in_order(dut):
    streams = Streams(dut, "streams")
    await streams.start()
    rng = streams.rng
    down, up, tail = bytearray(), [], b""
    for number in range(TRANSFERS // 2):
        if number % 40 == 0:
            streams.paces()
        data = rng.randbytes(rng.choice([0, 1, streams.size, streams.keep, rng.randint(0, 3 * streams.keep)]))
        streams.send(data, late=rng.random() < 0.3)
        # A word may be filled by several messages; an empty one forgets what is held.
        tail = tail + data if data else b""
        whole = len(tail) // streams.size * streams.size
        down += tail[:whole]
        tail = tail[whole:]
        if rng.random() < 0.1:  # so long that what has come ends without more
            await streams.until(lambda: not streams.fifo and streams.fetched is None, "reading")
            await streams.until(lambda up=up: len(streams.given) == len(up), "what came last")
        words = streams.words()
        streams.fifo += words
        up += b"".join(words)
        # Between two ends without a word `eof` would have to go in between.
        if rng.random() < 0.4 and words:
            streams.fifo.append(EOF)
            up.append(EOF)
        await streams.until(lambda: len(streams.beats) < 20 and len(streams.fifo) < 40, "moving")
    await streams.until(lambda: len(streams.written) == len(down) and len(streams.given) == len(up), "the end")
    for _ in range(100):
        await streams.step()
    assert streams.written == down
    assert streams.given == up
    assert not streams.message, "a message is open, and nothing comes"


@cocotb.test()
async def a_word_in_the_clock_of_an_end(dut):
    streams = Streams(dut, "a word and an end")
    await streams.start()
    for gap in range(40):
        words = [streams.rng.randbytes(streams.size) for _ in range(2)]
        streams.eager[1] = 1
        streams.fifo.append(words[0])
        for _ in range(gap):
            await streams.step()
        # The host takes nothing when the second comes.
        streams.eager[1] = 0
        streams.fifo.append(words[1])
        for _ in range(8):
            await streams.step()
        streams.eager[1] = 1
        for _ in range(150):
            await streams.step()
        assert streams.given == list(b"".join(words)) and not streams.message
        streams.given.clear()


@cocotb.test()
async def an_end_of_file_that_stays(dut):
    streams = Streams(dut, "tied")
    await streams.start()
    streams.tied = True
    for round_ in range(40):
        streams.paces()
        if round_:
            words = streams.words()[:3] + [streams.rng.randbytes(streams.size)]
            streams.given.clear()
            streams.fifo += words
        # One for each time that it has run empty, and one at the begin.
        sent = list(b"".join(words)) if round_ else []
        await streams.until(lambda sent=sent: streams.given == [*sent, EOF], "an end")
        for _ in range(60):
            await streams.step()
        assert streams.given == [*sent, EOF]


@cocotb.test()
async def a_reset_closes_for_a_while(dut):
    streams = Streams(dut, "resets")
    await streams.start()
    rng = streams.rng
    for _ in range(60):
        streams.paces()
        streams.send(rng.randbytes(rng.randint(1, 200)), late=False)
        streams.fifo += streams.words(20) + [EOF]
        for _ in range(rng.randint(0, 80)):
            await streams.step()
        # As the mover resets: nothing moves, and what waited is gone. The core forgets by `open`.
        dut.s_reset.value = dut.m_reset.value = 1
        streams.resetting = 1
        closed = 0
        for _ in range(rng.randint(1, 3)):
            await streams.step()
            assert dut.w_open.value == 0 and dut.r_open.value == 0
        dut.s_reset.value = dut.m_reset.value = 0
        streams.resetting = 0
        streams.forget()
        while dut.w_open.value == 0 or dut.r_open.value == 0:
            await streams.step()
            closed += 1
            assert closed < 40, "it stays closed"
        assert closed >= 15 and not streams.given, "no time for a reset of the core's, or something of before it"
        data, words = rng.randbytes(streams.size * 5), [rng.randbytes(streams.size) for _ in range(5)]
        streams.send(data, late=False)
        streams.fifo += words
        await streams.until(lambda data=data: len(streams.written) == len(data) == len(streams.given), "after a reset")
        assert streams.written == data and bytes(streams.given) == b"".join(words)


class File(Bench):
    """An AXI4 manager, and a core with elements behind `addr`."""

    def __init__(self, dut, what):
        super().__init__(dut, what)
        self.count = 1 << len(dut.x_addr)
        self.elements = [self.rng.randbytes(self.size) for _ in range(self.count)]
        self.eager = [0.7] * 6
        self.aw, self.w, self.ar, self.fetched = [], [], [], None
        self.answers, self.rows = [], []
        self.up = dict.fromkeys(("aw", "w", "ar"), False)
        self.counts = None  # as a core does that counts by itself
        self.ended = False

    async def step(self):
        dut, rng = self.dut, self.rng
        eager = [rng.random() < e for e in self.eager]
        for place, name in enumerate(("aw", "w", "ar")):
            queue = getattr(self, name)
            self.up[name] = bool(queue) and (self.up[name] or eager[place])
            getattr(dut, f"a_{name}valid").value = self.up[name]
            if self.up[name]:
                for signal, value in queue[0].items():
                    getattr(dut, f"a_{name}{signal}").value = value
        dut.a_bready.value, dut.a_rready.value = eager[3], eager[3]
        dut.x_full.value, dut.x_empty.value = not eager[4], self.ended or not eager[5]
        dut.x_eof.value = self.ended
        dut.x_r_data.value = int.from_bytes(self.fetched or rng.randbytes(self.size), "little")
        await Timer(1, "ns")
        self.fetched = None
        for name in ("aw", "w", "ar"):
            if self.up[name] and getattr(dut, f"a_{name}ready").value == 1:
                getattr(self, name).pop(0)
                self.up[name] = False
        place, wrote, read = int(dut.x_addr.value), dut.x_wren.value == 1, dut.x_rden.value == 1
        if dut.x_addr_update.value == 1:
            assert not wrote and not read, "moved beside addr_update"
            self.counts = place
        assert not (wrote and read) and not (wrote and dut.x_full.value == 1) and not (read and dut.x_empty.value == 1)
        if wrote or read:
            assert place == self.counts, "addr moved without addr_update"
            self.counts = (place + 1) % self.count
        if wrote:
            self.elements[place] = int(dut.x_w_data.value).to_bytes(self.size, "little")
        if read:
            self.fetched = self.elements[place]
        if dut.a_bvalid.value == 1 and eager[3]:
            self.answers.append(int(dut.a_bresp.value))
        if dut.a_rvalid.value == 1 and eager[3]:
            row = int(dut.a_rdata.value).to_bytes(self.keep, "little")
            self.rows.append((row, int(dut.a_rresp.value), dut.a_rlast.value == 1))
        await self.edge()

    def begin(self):
        """A burst's first byte: of any row, also beyond the core's last element."""
        return self.rng.randrange(4 * self.count * self.size // self.keep + 1) * self.keep

    def write(self, model):
        """Returns the answer."""
        rng, begin, rows, answer = self.rng, self.begin(), self.rng.randint(1, 4), 0
        self.aw.append({"addr": begin + rng.randrange(self.keep), "len": rows - 1})
        for row in range(rows):
            data, strobes = rng.randbytes(self.keep), 0
            for at in range(0, self.keep, self.size):
                lanes = (1 << self.size) - 1
                kind = rng.random()
                if kind < 0.6:
                    strobes |= lanes << at
                    model[(begin + row * self.keep + at) // self.size % self.count] = data[at : at + self.size]
                elif kind < 0.62 and self.size > 1:
                    strobes |= rng.randrange(1, lanes) << at
                    answer = 2
            self.w.append({"data": int.from_bytes(data, "little"), "strb": strobes, "last": row == rows - 1})
        return answer

    def read(self, model):
        """Returns what comes."""
        begin, rows = self.begin(), self.rng.randint(1, 4)
        self.ar.append({"addr": begin + self.rng.randrange(self.keep), "len": rows - 1})
        first, each = begin // self.size, self.keep // self.size
        all_ = [b"".join(model[(first + row * each + i) % self.count] for i in range(each)) for row in range(rows)]
        return [(data, 0, row == rows - 1) for row, data in enumerate(all_)]


@cocotb.test()
async def elements_are_where_they_were_put(dut):
    file = File(dut, "file")
    await file.start()
    model = list(file.elements)
    for number in range(ACCESSES):
        if number % 20 == 0:
            file.eager = [file.rng.choice([0.2, 0.6, 1, 1]) for _ in file.eager]
        # What is under way at once has no order: reads and writes are of one another's time only where they agree.
        answer = file.write(model)
        await file.until(lambda: file.answers, "a write")
        assert file.answers.pop() == answer and file.elements == model
        rows = file.read(model) + file.read(model)
        await file.until(lambda rows=rows: len(file.rows) == len(rows), "a read")
        assert file.rows == rows
        file.rows.clear()


@cocotb.test()
async def both_directions_have_their_turn(dut):
    file = File(dut, "turns")
    await file.start()
    file.eager = [1] * 6
    for _ in range(30):
        for _ in range(3):
            file.ar.append({"addr": 0, "len": 3})
            file.aw.append({"addr": 0, "len": 0})
            file.w.append({"data": 0, "strb": 0, "last": 1})
        rows = len(file.rows)
        await file.until(lambda: len(file.answers) == 2, "writes among reads")
        assert len(file.rows) - rows <= 4 * 2, "writes wait for all reads"
        await file.until(lambda rows=rows: len(file.answers) == 3 and len(file.rows) == rows + 12, "the rest")
        file.answers.clear()


@cocotb.test()
async def a_file_that_ends_frees_its_reader(dut):
    file = File(dut, "ends")
    await file.start()
    for _ in range(20):
        file.ended = False
        file.ar.append({"addr": 0, "len": 2})
        for _ in range(file.rng.randint(0, 20)):
            await file.step()
        file.ended = True
        await file.until(lambda: len(file.rows) == 3, "the rest of a burst")
        whole = [answer == 0 for _, answer, _ in file.rows]
        each = file.keep // file.size
        for place, (data, answer, last) in enumerate(file.rows):
            assert answer in (0, 2) and last == (place == 2) and whole == sorted(whole, reverse=True), file.rows
            if answer == 0:
                assert data == b"".join(file.elements[(place * each + i) % file.count] for i in range(each))
        file.rows.clear()
    file.ended = False
    model = list(file.elements)
    rows = file.read(model)
    await file.until(lambda: len(file.rows) == len(rows), "the next")
    assert file.rows == rows
