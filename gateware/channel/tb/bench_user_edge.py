# SPDX-License-Identifier: Apache-2.0
"""tp_user_edge under random traffic, clocks and resets: a cocotb module, started by test_user_edge.

A mover and a core are played on the two clocks. Each beat carries a number in all its fields; a reset of a channel or of the card may cut
what came before it, and must not touch what comes after.
"""

import cocotb
from bench import generator
from cocotb.triggers import FallingEdge, Timer

CHANNELS = 2
RATIOS = ((4000, 4000), (4000, 6202), (4000, 17006), (4000, 1302))
H2C_FIELDS = {"tdata": 64, "tkeep": 8, "tlast": 1, "error": 1, "length": 64, "offset": 64, "user": 32}
C2H_FIELDS = {"tdata": 64, "tkeep": 8, "tlast": 1, "length": 48, "offset": 32, "user": 32}


def fields(number, widths):
    """Every field from the beat's number, each in its own way."""
    return {
        name: (number * 0x9E3779B97F4A7C15 + i * 0x1234567) >> (3 * i) & (1 << width) - 1 for i, (name, width) in enumerate(widths.items())
    }


class Side:
    """One end of all streams of one direction, on its own clock: `valid` and fields out, `ready` in, or the other way round."""

    def __init__(self, edge, prefix, widths, channels=CHANNELS):
        self.edge, self.prefix, self.widths = edge, prefix, widths
        self.rng = edge.rng

    def handle(self, name):
        return getattr(self.edge.dut, f"{self.prefix}_{name}")

    def bits(self, name):
        return int(self.handle(name).value)


class Source(Side):
    """Sends numbered beats, an epoch a reset: what it was told to forget is not sent again."""

    def __init__(self, *args):
        super().__init__(*args)
        self.sent = [[] for _ in range(CHANNELS)]  # (epoch, number) that were taken
        self.epoch = [0] * CHANNELS
        self.next = [1] * CHANNELS
        self.offered = [False] * CHANNELS
        self.eager = 0.7
        self.open = True

    def drive(self):
        valid, image = 0, dict.fromkeys(self.widths, 0)
        for c in range(CHANNELS):
            if not self.offered[c] and self.open:
                self.offered[c] = self.rng.random() < self.eager
            if self.offered[c]:
                valid |= 1 << c
            for name, value in fields(self.next[c] * CHANNELS + c, self.widths).items():
                image[name] |= value << c * self.widths[name]
        self.handle("tvalid").value = valid
        for name, value in image.items():
            self.handle(name).value = value

    def sample(self):
        taken = self.bits("tvalid") & self.bits("tready")
        for c in range(CHANNELS):
            if taken >> c & 1:
                self.sent[c].append((self.epoch[c], self.next[c]))
                self.next[c] += 1
                self.offered[c] = False

    def forget(self, c):
        """The beat on offer is withdrawn, its number is never seen again, and a new epoch begins."""
        if self.offered[c]:
            self.next[c] += 1
            self.offered[c] = False
        self.epoch[c] += 1


class Sink(Side):
    def __init__(self, *args):
        super().__init__(*args)
        self.got = [[] for _ in range(CHANNELS)]  # (number, marks seen so far)
        self.marks = [0] * CHANNELS
        self.eager = 0.7
        self.open = True

    def drive(self):
        ready = sum(1 << c for c in range(CHANNELS) if self.open and self.rng.random() < self.eager)
        self.handle("tready").value = ready

    def sample(self):
        taken = self.bits("tvalid") & self.bits("tready")
        if not taken:
            return
        image = {name: self.bits(name) for name in self.widths}
        for c in range(CHANNELS):
            if taken >> c & 1:
                beat = {name: image[name] >> c * width & (1 << width) - 1 for name, width in self.widths.items()}
                number = self.expected(c, beat)
                self.got[c].append((number, self.marks[c]))

    def expected(self, c, beat):
        """The number of a beat: the first after the last one seen whose fields these are."""
        start = self.got[c][-1][0] + 1 if self.got[c] else 1
        for number in range(start, start + 400):
            if fields(number * CHANNELS + c, self.widths) == beat:
                return number
        raise AssertionError(f"{self.prefix} {c}: a beat that was not sent, sent before, or mixed of two: {beat}")


class Edge:
    def __init__(self, dut, what):
        self.dut, self.rng = dut, generator(what)
        self.asynchronous = int(dut.USER_ASYNC.value)
        self.h2c_in, self.h2c_out = Source(self, "mv_h2c", H2C_FIELDS), Sink(self, "h2c", H2C_FIELDS)
        self.c2h_in, self.c2h_out = Source(self, "c2h", C2H_FIELDS), Sink(self, "mv_c2h", C2H_FIELDS)
        self.reset_h2c = self.reset_c2h = 0  # to begin in the next clock
        self.hold = 1  # clocks that a reset lasts
        self.held = (0, 0)
        self.left = 0
        self.told_h2c, self.told_c2h = [0] * CHANNELS, [0] * CHANNELS  # resets that the core has seen begin
        self.was_h2c = self.was_c2h = 0
        self.card_reset = 1
        self.user_low = 0
        self.irqs = [0] * 16
        self.events, self.seen = [0] * 16, [0] * 16
        self.irq_eager = 0.5
        self.mover_hooks, self.user_hooks = [], []
        self.stop = False
        self.still = False  # the user's clock stands still
        for name in ("rst", "card_reset", "mv_h2c_reset", "mv_c2h_reset", "irq_valid", "mv_irq_ready", "user_clk", "clk"):
            getattr(dut, name).value = 0
        for prefix, names in (
            ("mv_axil", ("awvalid", "wvalid", "bready", "arvalid", "rready")),
            ("m_axil", ("awready", "wready", "arready")),
        ):
            for name in names:
                getattr(dut, f"{prefix}_{name}").value = 0
        dut.m_axil_bvalid.value = dut.m_axil_rvalid.value = 0

    async def clock(self, clks, period, phase):
        await Timer(phase + 1, "ps")
        while not self.stop:
            for clk in clks:
                clk.value = int(not self.still or clk is self.dut.clk)
            await Timer(period // 2, "ps")
            for clk in clks:
                clk.value = 0
            await Timer(period // 2, "ps")

    async def start(self, a, b):
        """From whatever was before, through a reset, to open streams."""
        dut = self.dut
        sides = self.h2c_in, self.h2c_out, self.c2h_in, self.c2h_out
        for side in sides:
            side.open = False
        if self.asynchronous:
            cocotb.start_soon(self.clock([dut.clk], a, 0))
            cocotb.start_soon(self.clock([dut.user_clk], b, self.rng.randrange(1, b)))
        else:
            cocotb.start_soon(self.clock([dut.clk, dut.user_clk], a, 0))
        cocotb.start_soon(self.mover())
        cocotb.start_soon(self.user())
        self.period = max(a, b)
        await self.wait(lambda: not dut.user_rst_n.value)
        await self.clocks(5)
        self.card_reset = 0
        await self.wait(lambda: not dut.user_busy.value)
        for side in sides:
            side.open = True

    async def finish(self):
        self.stop = True
        await Timer(4 * self.period, "ps")

    async def mover(self):
        """The mover's clock: drive, let settle, look, as the next rising edge will."""
        dut = self.dut
        while not self.stop:
            await FallingEdge(dut.clk)
            if self.reset_h2c or self.reset_c2h:
                self.held, self.left = (self.reset_h2c, self.reset_c2h), self.hold
            dut.mv_h2c_reset.value, dut.mv_c2h_reset.value = self.held if self.left else (0, 0)
            self.left = max(self.left - 1, 0)
            pulsed_h2c, pulsed_c2h = self.reset_h2c, self.reset_c2h
            self.reset_h2c = self.reset_c2h = 0
            epochs = list(self.c2h_in.epoch)
            dut.card_reset.value = self.card_reset
            self.h2c_in.drive()
            self.c2h_out.drive()
            ready = sum(1 << k for k in range(16) if self.rng.random() < self.irq_eager)
            if dut.user_busy.value and not self.asynchronous:
                ready = 0  # the mover's side takes none
            dut.mv_irq_ready.value = ready
            for hook in self.mover_hooks:
                hook.drive()
            await Timer(100, "ps")
            self.h2c_in.sample()
            self.c2h_out.sample()
            fired = int(dut.mv_irq_valid.value) & ready
            for k in range(16):
                self.seen[k] += fired >> k & 1
            for hook in self.mover_hooks:
                hook.sample()
            if dut.user_busy.value:
                assert not int(dut.mv_h2c_tready.value) and not int(dut.mv_c2h_tvalid.value) and not fired
            for c in range(CHANNELS):
                if pulsed_h2c >> c & 1:
                    self.h2c_in.forget(c)
                if pulsed_c2h >> c & 1:
                    self.c2h_out.marks[c] = epochs[c] + 1  # what comes now is of a later epoch than the core is in

    async def user(self):
        dut = self.dut
        while not self.stop:
            await FallingEdge(dut.user_clk)
            self.c2h_in.drive()
            self.h2c_out.drive()
            dut.irq_valid.value = sum(1 << k for k in range(16) if self.irqs[k]) if dut.user_rst_n.value else 0
            for hook in self.user_hooks:
                hook.drive()
            await Timer(90, "ps")
            if not dut.user_rst_n.value:
                self.user_low += 1
                assert not int(dut.h2c_tvalid.value) and not int(dut.c2h_tready.value) and not int(dut.irq_ready.value)
                self.irqs = [0] * 16
                for c in range(CHANNELS):
                    self.c2h_in.offered[c] = False
            self.c2h_in.sample()
            self.h2c_out.sample()
            ready = int(dut.irq_ready.value) & int(dut.irq_valid.value)
            for k in range(16):
                if ready >> k & 1:
                    self.irqs[k] -= 1
                    self.events[k] += 1
            for hook in self.user_hooks:
                hook.sample()
            h2c_reset, c2h_reset = int(dut.h2c_reset.value), int(dut.c2h_reset.value)
            assert h2c_reset & int(dut.h2c_tvalid.value) == 0 and c2h_reset & int(dut.c2h_tready.value) == 0
            for c in range(CHANNELS):
                self.told_h2c[c] += (h2c_reset & ~self.was_h2c) >> c & 1
                self.told_c2h[c] += (c2h_reset & ~self.was_c2h) >> c & 1
                if h2c_reset >> c & 1:
                    self.h2c_out.marks[c] += 1
                if c2h_reset >> c & 1:
                    self.c2h_in.forget(c)
            self.was_h2c, self.was_c2h = h2c_reset, c2h_reset

    async def wait(self, true, patience=3000):
        for _ in range(patience):
            if true():
                return
            await FallingEdge(self.dut.clk)
        raise AssertionError(f"nothing for {patience} clocks")

    async def clocks(self, n):
        for _ in range(n):
            await FallingEdge(self.dut.clk)

    async def drain(self):
        """Sources stop, sinks go on; then all is over."""
        self.h2c_in.open = self.c2h_in.open = False
        self.h2c_out.eager = self.c2h_out.eager = 1.0
        await self.wait(lambda: not any(self.h2c_in.offered) and not any(self.c2h_in.offered))
        for _ in range(40):
            await FallingEdge(self.dut.user_clk)
        await self.clocks(40)


def runs(pairs):
    """[(key, number)] as {key: [numbers]}."""
    found = {}
    for key, number in pairs:
        found.setdefault(key, []).append(number)
    return found


@cocotb.test()
async def traffic(dut):
    """All beats, whole, once and in order, at any ratio and pace; events are counted once each; full rate between like clocks."""
    for a, b in RATIOS if int(dut.USER_ASYNC.value) else RATIOS[:1]:
        e = Edge(dut, f"traffic {a}:{b}")
        await e.start(a, b)
        assert e.user_low >= 16
        for side in (e.h2c_in, e.h2c_out, e.c2h_in, e.c2h_out):
            side.eager = e.rng.choice((0.3, 0.8, 1.0))
        for k in range(16):
            e.irqs[k] = e.rng.randrange(6)
        wanted = list(e.irqs)
        await e.clocks(250)
        for side in (e.h2c_in, e.h2c_out, e.c2h_in, e.c2h_out):
            side.eager = 1.0
        await e.clocks(30)
        marks = [len(s.got[0]) for s in (e.h2c_out, e.c2h_out)]
        await e.clocks(100)
        moved = [len(s.got[0]) - m for s, m in zip((e.h2c_out, e.c2h_out), marks, strict=True)]
        assert min(moved) > 95 * min(1, a / b), f"{moved} beats in 100 clocks at {a}:{b}"
        await e.drain()
        for source, sink in ((e.h2c_in, e.h2c_out), (e.c2h_in, e.c2h_out)):
            for c in range(CHANNELS):
                assert [n for n, _ in sink.got[c]] == [n for _, n in source.sent[c]]
        await e.wait(lambda e=e: not any(e.irqs))
        await e.clocks(60)
        assert e.events == wanted == e.seen
        await e.finish()


@cocotb.test()
async def channel_resets(dut):
    """Resets of channels in mid-traffic, also of a core that does not take anything: old beats go, new ones all arrive."""
    cut = 0
    for a, b in RATIOS if int(dut.USER_ASYNC.value) else RATIOS[:1]:
        e = Edge(dut, f"channel resets {a}:{b}")
        await e.start(a, b)
        for _ in range(12):
            for side in (e.h2c_in, e.h2c_out, e.c2h_in, e.c2h_out):
                side.eager = e.rng.choice((0.0, 0.3, 1.0))
            await e.clocks(e.rng.randrange(1, 90))
            e.reset_h2c, e.reset_c2h = e.rng.randrange(4), e.rng.randrange(4)
            if e.rng.random() < 0.3:
                await e.clocks(e.rng.randrange(1, 8))
                e.reset_h2c |= e.rng.randrange(4)
                e.reset_c2h |= e.rng.randrange(4)
        # One more each, with everybody stalled and full; then the streams go on.
        e.h2c_out.eager = e.c2h_out.eager = 0
        e.h2c_in.eager = e.c2h_in.eager = 1.0
        await e.clocks(120)
        e.reset_h2c = e.reset_c2h = 3
        await e.clocks(150)
        e.h2c_out.eager = e.c2h_out.eager = 1.0
        await e.clocks(100)
        await e.drain()
        for c in range(CHANNELS):
            # H2C: of each epoch a first part; of the last one everything; and a mark between two epochs.
            sent, got = runs(e.h2c_in.sent[c]), {}
            epoch_of = {n: epoch for epoch, n in e.h2c_in.sent[c]}
            last_mark = {}
            for number, mark in e.h2c_out.got[c]:
                got.setdefault(epoch_of[number], []).append(number)
                for older, seen in last_mark.items():
                    assert older == epoch_of[number] or seen < mark, "the core was not told between two epochs"
                last_mark[epoch_of[number]] = mark
            for epoch, numbers in got.items():
                assert numbers == sent[epoch][: len(numbers)], "an epoch has a hole"
                cut += len(sent[epoch]) - len(numbers)
            final = e.h2c_in.epoch[c]
            assert got.get(final) == sent.get(final) and len(sent[final]) > 15
            # C2H: nothing of before a reset after it; of the last epoch everything.
            sent = runs(e.c2h_in.sent[c])
            epoch_of = {n: epoch for epoch, n in e.c2h_in.sent[c]}
            got = {}
            for number, least in e.c2h_out.got[c]:
                assert epoch_of[number] >= least, "a beat of before the reset came after it"
                got.setdefault(epoch_of[number], []).append(number)
            for epoch, numbers in got.items():
                assert numbers == sent[epoch][: len(numbers)], "an epoch has a hole"
            final = e.c2h_in.epoch[c]
            assert final > 0 and got.get(final) == sent.get(final) and len(sent[final]) > 15
        await e.finish()
    assert cut > 0 or not int(dut.USER_ASYNC.value)


@cocotb.test()
async def long_resets(dut):
    """A reset of any length is one reset; once it is neither asked for nor busy, all that either side sends arrives."""
    asynchronous = int(dut.USER_ASYNC.value)
    for a, b in (*RATIOS, (4000, 90014)) if asynchronous else RATIOS[:1]:
        e = Edge(dut, f"long resets {a}:{b}")
        await e.start(a, b)
        for turn, hold in enumerate((1, 2, 8, 8, 60, 200), 1):
            for side in (e.h2c_in, e.h2c_out, e.c2h_in, e.c2h_out):
                side.eager = e.rng.choice((0.3, 1.0))
            await e.clocks(e.rng.randrange(100, 160))
            e.hold, e.reset_h2c, e.reset_c2h = hold, 3, 3
            await e.clocks(2)  # the first drives it
            busy = int(dut.mv_h2c_reset_busy.value), int(dut.mv_c2h_reset_busy.value)
            assert busy == ((3, 3) if asynchronous else (0, 0))
            await e.wait(
                lambda e=e: (
                    not (e.left or dut.mv_h2c_reset.value or dut.mv_c2h_reset.value)
                    and not (int(dut.mv_h2c_reset_busy.value) or int(dut.mv_c2h_reset_busy.value))
                )
            )
            since = [len(sent) for source in (e.h2c_in, e.c2h_in) for sent in source.sent]
            for side in (e.h2c_in, e.h2c_out, e.c2h_in, e.c2h_out):
                side.eager = 1.0
            await e.clocks(40 * max(a, b) // a)
            await e.drain()
            await e.clocks(40 * max(a, b) // a)
            assert e.told_h2c == e.told_c2h == [turn] * CHANNELS, f"{turn} resets, the last of {hold} clocks"
            pairs = ((source, sink, c) for source, sink in ((e.h2c_in, e.h2c_out), (e.c2h_in, e.c2h_out)) for c in range(CHANNELS))
            for start, (source, sink, c) in zip(since, pairs, strict=True):
                new = [number for _, number in source.sent[c][start:]]
                assert len(new) > 15 and [number for number, _ in sink.got[c]][-len(new) :] == new
            e.h2c_in.open = e.c2h_in.open = True
        if asynchronous:
            # A clock that stands still holds up a channel's reset, but not the card's.
            e.still, e.hold, e.reset_h2c, e.reset_c2h = True, 8, 3, 3
            await e.clocks(100)
            assert int(dut.mv_h2c_reset_busy.value) == int(dut.mv_c2h_reset_busy.value) == 3
            e.card_reset = 1
            await e.clocks(5)
            assert int(dut.mv_h2c_reset_busy.value) == int(dut.mv_c2h_reset_busy.value) == 0
            e.still, e.card_reset = False, 0
            await e.wait(lambda: not dut.user_busy.value)
        await e.finish()


@cocotb.test()
async def card_resets(dut):
    """The card's reset in mid-traffic: 16 clocks of reset at least, and afterwards a fresh start with nothing left over."""
    for a, b in RATIOS if int(dut.USER_ASYNC.value) else RATIOS[:1]:
        e = Edge(dut, f"card resets {a}:{b}")
        await e.start(a, b)
        for _ in range(4):
            await e.wait(lambda: not dut.user_busy.value)
            for side in (e.h2c_in, e.h2c_out, e.c2h_in, e.c2h_out):
                side.eager = e.rng.choice((0.0, 0.5, 1.0))
            e.irqs = [2] * 16
            await e.clocks(e.rng.randrange(20, 120))
            e.user_low = 0
            e.card_reset = 1
            await e.clocks(2)
            assert dut.user_busy.value
            for c in range(CHANNELS):
                e.h2c_in.forget(c)
            if e.rng.random() < 0.5:
                await e.clocks(e.rng.randrange(60))
            e.card_reset = 0
            await e.wait(lambda: dut.user_rst_n.value == 0)
            for c in range(CHANNELS):
                e.c2h_in.forget(c)
            await e.wait(lambda: not dut.user_busy.value)
            assert e.user_low >= 16
            first = [e.h2c_in.epoch[c] for c in range(CHANNELS)], [e.c2h_in.epoch[c] for c in range(CHANNELS)]
            counts = [len(e.h2c_out.got[c]) for c in range(CHANNELS)], [len(e.c2h_out.got[c]) for c in range(CHANNELS)]
            for side in (e.h2c_in, e.h2c_out, e.c2h_in, e.c2h_out):
                side.eager = 1.0
            await e.clocks(100)
            await e.drain()
            for source, sink, epochs, before in ((e.h2c_in, e.h2c_out, first[0], counts[0]), (e.c2h_in, e.c2h_out, first[1], counts[1])):
                for c in range(CHANNELS):
                    new = [n for epoch, n in source.sent[c] if epoch == epochs[c]]
                    assert [n for n, _ in sink.got[c]][-len(new) :] == new and len(new) > 10
                    assert before[c] + len(new) >= len(sink.got[c]), "something of before the reset came after it"
            seen = list(e.seen)
            await e.clocks(40)
            assert e.seen == seen, "an event of before the reset"
            e.h2c_in.open = e.c2h_in.open = True
        await e.finish()


class Master:
    """The window's side: one access at a time, address and data of a write offered together."""

    def __init__(self, e):
        self.dut, self.rng = e.dut, e.rng
        self.todo, self.done = [], []
        self.now = None
        self.aw = self.w = self.ar = False

    def drive(self):
        d = self.dut
        if self.now is None and self.todo:
            self.now = self.todo.pop(0)
            self.aw = self.w = self.now[0] == "w"
            self.ar = not self.aw
        d.mv_axil_awvalid.value, d.mv_axil_wvalid.value, d.mv_axil_arvalid.value = int(self.aw), int(self.w), int(self.ar)
        if self.now:
            d.mv_axil_awaddr.value = d.mv_axil_araddr.value = self.now[1]
            if self.now[0] == "w":
                d.mv_axil_wdata.value, d.mv_axil_wstrb.value = self.now[2:]
        waiting = self.now is not None and not (self.aw or self.w or self.ar)
        d.mv_axil_bready.value = int(waiting and self.now[0] == "w")
        d.mv_axil_rready.value = int(waiting and self.now[0] == "r")

    def sample(self):
        d = self.dut
        if self.aw and d.mv_axil_awready.value:
            self.aw = False
        if self.w and d.mv_axil_wready.value:
            self.w = False
        if self.ar and d.mv_axil_arready.value:
            self.ar = False
        if d.mv_axil_bvalid.value and d.mv_axil_bready.value:
            self.done.append((*self.now, int(d.mv_axil_bresp.value)))
            self.now = None
        elif d.mv_axil_rvalid.value and d.mv_axil_rready.value:
            self.done.append((*self.now, int(d.mv_axil_rdata.value), int(d.mv_axil_rresp.value)))
            self.now = None


class Slave:
    """The core's side: registers, each channel at its own pace."""

    def __init__(self, e):
        self.dut, self.rng = e.dut, e.rng
        self.log = []
        self.pending = None
        self.aw = self.w = None
        self.eager = 0.5

    def drive(self):
        d = self.dut
        free = self.pending is None
        d.m_axil_awready.value = int(free and self.aw is None and self.rng.random() < self.eager)
        d.m_axil_wready.value = int(free and self.w is None and self.rng.random() < self.eager)
        d.m_axil_arready.value = int(free and self.rng.random() < self.eager)
        kind = self.pending[0] if self.pending and (self.pending[-1] or self.rng.random() < self.eager) else None
        if kind:
            self.pending[-1] = True  # once valid, it stays
            d.m_axil_bresp.value = d.m_axil_rresp.value = self.pending[2]
            d.m_axil_rdata.value = self.pending[1]
        d.m_axil_bvalid.value, d.m_axil_rvalid.value = int(kind == "w"), int(kind == "r")

    def sample(self):
        d = self.dut
        if d.m_axil_bvalid.value and d.m_axil_bready.value or d.m_axil_rvalid.value and d.m_axil_rready.value:
            self.pending = None
            return
        if d.m_axil_awvalid.value and d.m_axil_awready.value:
            self.aw = int(d.m_axil_awaddr.value)
        if d.m_axil_wvalid.value and d.m_axil_wready.value:
            self.w = int(d.m_axil_wdata.value), int(d.m_axil_wstrb.value)
        if self.aw is not None and self.w is not None:
            self.log.append(("w", self.aw, *self.w))
            self.pending = ["w", 0, self.aw >> 2 & 3, False]
            self.aw = self.w = None
        elif d.m_axil_arvalid.value and d.m_axil_arready.value:
            address = int(d.m_axil_araddr.value)
            self.log.append(("r", address))
            self.pending = ["r", address * 3 & 0xFFFFFFFF, address >> 2 & 3, False]


@cocotb.test()
async def registers(dut):
    """AXI4-Lite: every access once, in order, with its own answer; a card's reset in the middle of one leaves nothing behind."""
    for a, b in RATIOS if int(dut.USER_ASYNC.value) else RATIOS[:1]:
        e = Edge(dut, f"registers {a}:{b}")
        master, slave = Master(e), Slave(e)
        e.mover_hooks.append(master)
        e.user_hooks.append(slave)
        await e.start(a, b)
        for _ in range(3):
            await e.wait(lambda: not dut.user_busy.value)
            wanted = []
            for _ in range(25):
                address = 4 * e.rng.randrange(1 << 10)
                wanted.append(("w", address, e.rng.getrandbits(32), e.rng.randrange(1, 16)) if e.rng.random() < 0.5 else ("r", address))
            master.todo, master.done = list(wanted), []
            slave.log.clear()
            await e.wait(lambda master=master, wanted=wanted: len(master.done) == len(wanted), 8000)
            assert slave.log == wanted
            for access, done in zip(wanted, master.done, strict=True):
                address = access[1]
                assert done == (*access, *([address * 3] if access[0] == "r" else []), address >> 2 & 3)
            # A reset while an access is open, at any point of it.
            slave.eager = e.rng.choice((0.0, 0.5))
            master.todo = [("w", 4, 5, 15), ("r", 8)]
            await e.clocks(e.rng.randrange(40))
            e.card_reset = 1
            master.todo, master.now = [], None
            master.aw = master.w = master.ar = False
            await e.wait(lambda: not dut.user_rst_n.value)
            slave.pending = slave.aw = slave.w = None
            slave.eager = 0.5
            await e.clocks(3)
            slave.pending = slave.aw = slave.w = None
            e.card_reset = 0
        await e.finish()
