# SPDX-License-Identifier: Apache-2.0
"""Both halves of a channel of RIFFA, with cores that acknowledge in many ways: a cocotb module, started by test_riffa.py."""

import cocotb
from bench import generator
from cocotb.triggers import Timer

TRANSFERS = 3400  # at each of three widths, half of them in each direction
WAYS = ("at once", "held", "with the first word", "beside a later word", "after the data")


class Channel:
    """Three clocks in a random order; on each the side of the channel that runs on it."""

    def __init__(self, dut, what):
        self.dut, self.rng = dut, generator(what)
        self.keep, self.words = len(dut.s_tkeep), len(dut.rx_data) // 32
        self.pace = [1.0] * 3  # of the clocks
        self.eager = [0.7] * 4  # the host's sides, and the core's
        self.s_beats, self.s_head, self.offered = [], None, False
        self.received = []  # by the host: bytes, length, offset, user
        self.given = bytearray()
        self.core = self.sender = None
        self.got = []  # by the core: words as bytes, length, offset, last

    async def start(self):
        dut = self.dut
        for name in ("clk", "rx_clk", "tx_clk", "rst_n", "s_reset", "m_reset", "s_tvalid", "s_tdata", "s_tkeep", "s_tlast"):
            getattr(dut, name).value = 0
        for name in ("s_length", "s_offset", "s_user", "m_tready", "rx_ack", "rx_data_ren", "tx", "tx_last", "tx_len", "tx_off"):
            getattr(dut, name).value = 0
        dut.tx_data.value = dut.tx_data_valid.value = 0
        for _ in range(60):
            await self.edges([True] * 3)
        dut.rst_n.value = 1
        for _ in range(60):
            await self.edges([True] * 3)

    async def edges(self, which):
        for name, rises in zip(("clk", "rx_clk", "tx_clk"), which, strict=True):
            getattr(self.dut, name).value = int(rises)
        await Timer(1, "ns")
        for name in ("clk", "rx_clk", "tx_clk"):
            getattr(self.dut, name).value = 0
        await Timer(1, "ns")

    async def step(self):
        """One clock of some: what each side drives stands until its own clock."""
        which = [self.rng.random() < pace for pace in self.pace]
        if which[0]:
            self.host_drives()
        if which[1]:
            self.core_receives()
        if which[2]:
            self.core_sends()
        await Timer(1, "ns")
        if which[0]:
            self.host_looks()
        if which[1]:
            self.core_looks()
        if which[2]:
            self.sender_looks()
        await self.edges(which)

    # ---- the host
    def message(self, data, words, offset, last, late):
        parts = [data[i : i + self.keep] for i in range(0, len(data), self.keep)]
        if not parts or late and len(parts[-1]) == self.keep:
            parts.append(b"")
        head = (words * 4, offset, last | self.rng.getrandbits(31) << 1)
        self.s_beats += [(part, i == len(parts) - 1, head) for i, part in enumerate(parts)]

    def host_drives(self):
        dut = self.dut
        self.offered = bool(self.s_beats) and (self.offered or self.rng.random() < self.eager[0])
        dut.s_tvalid.value = self.offered
        if self.offered:
            data, last, (length, offset, user) = self.s_beats[0]
            dut.s_tdata.value = int.from_bytes(data + self.rng.randbytes(self.keep - len(data)), "little")
            dut.s_tkeep.value, dut.s_tlast.value = (1 << len(data)) - 1, last
            dut.s_length.value, dut.s_offset.value, dut.s_user.value = length, offset, user
        dut.m_tready.value = self.rng.random() < self.eager[1]

    def host_looks(self):
        dut = self.dut
        if self.offered and dut.s_tready.value == 1:
            self.s_beats.pop(0)
            self.offered = False
        if dut.m_tvalid.value == 1 and dut.m_tready.value == 1:
            keep, last = int(dut.m_tkeep.value), dut.m_tlast.value == 1
            assert keep & keep + 1 == 0 and (last or keep == (1 << self.keep) - 1), f"keep {keep:b}, last {last}"
            head = (int(dut.m_length.value), int(dut.m_offset.value), int(dut.m_user.value))
            assert not self.given or head == self.head, "attributes changed within a message"
            self.head = head
            self.given += int(dut.m_tdata.value).to_bytes(self.keep, "little")[: keep.bit_count()]
            if last:
                self.received.append((bytes(self.given), *head))
                self.given.clear()

    # ---- a core that receives: it looks at its ports as they stand before the clock, as a register would
    def core_receives(self):
        dut, core, rng = self.dut, self.core, self.rng
        ack = ren = 0
        if core:
            done = core["count"] >= core["len"]
            ren = int(not done and rng.random() < self.eager[2] and (not core["looks"] or dut.rx_data_valid.value == 1))
            way, first = core["way"], core["count"] == 0
            if core["acked"] and way != "held" or way == "held" and core["acked"] and done:
                ack = 0
            elif way in ("at once", "held"):
                ack = 1
            elif way == "with the first word":
                ack = int(ren or core["len"] == 0)
            elif way == "beside a later word":
                ack = int(not first and ren or done)
            else:
                ack = int(done)
        dut.rx_ack.value, dut.rx_data_ren.value = ack, ren

    def core_looks(self):
        dut, core = self.dut, self.core
        up = dut.rx.value == 1
        if core is None:
            if up:
                head = (int(dut.rx_len.value), int(dut.rx_off.value), int(dut.rx_last.value))
                self.core = {"len": head[0], "head": head, "count": 0, "data": bytearray(), "acked": False, "way": self.rng.choice(WAYS)}
                self.core["looks"] = self.rng.random() < 0.5  # it asks for what it sees alone
            return
        if dut.rx_data_ren.value == 1 and dut.rx_data_valid.value == 1:
            core["data"] += int(dut.rx_data.value).to_bytes(4 * self.words, "little")
            core["count"] += self.words
        if dut.rx_ack.value == 1:
            core["acked"] = True
        if not core["acked"]:
            assert up, "rx fell before it was acknowledged"
        if core["acked"] and core["count"] >= core["len"]:
            # It looks for the next transaction in the very next clock: rx has to be down by then.
            self.got.append((bytes(core["data"][: 4 * core["len"]]), *core["head"]))
            self.core = None

    # ---- a core that sends
    def transaction(self, data, words, offset, last, drop, beyond):
        """`data` is what is sent of `words`; `drop`: tx falls in the clock of the last word, or after it."""
        size = 4 * self.words
        beats = [data[i : i + size] for i in range(0, len(data), size)]
        self.sender = {"beats": beats, "head": (words, offset, last), "drop": drop, "beyond": beyond, "acked": False, "low": 0}
        self.sender["patient"] = self.rng.random() < 0.5  # it waits for tx_ack before it offers a word

    def core_sends(self):
        dut, sender, rng = self.dut, self.sender, self.rng
        dut.tx.value = dut.tx_data_valid.value = 0
        if not sender or sender["low"]:
            return
        words, offset, last = sender["head"]
        dut.tx.value, dut.tx_len.value, dut.tx_off.value, dut.tx_last.value = 1, words, offset, last
        beats = sender["beats"]
        if (sender["acked"] or not sender["patient"]) and (beats or sender["beyond"]) and rng.random() < self.eager[3]:
            data = beats[0] if beats else b""
            dut.tx_data_valid.value = 1
            dut.tx_data.value = int.from_bytes(data + rng.randbytes(4 * self.words - len(data)), "little")
            if len(beats) == 1 and sender["drop"] and sender["acked"] and dut.tx_data_ren.value == 1:
                dut.tx.value = 0

    def sender_looks(self):
        dut, sender = self.dut, self.sender
        if not sender:
            assert dut.tx_ack.value == 0 and dut.tx_data_ren.value in (0, 1)
            return
        if sender["low"]:
            sender["low"] -= 1
            if not sender["low"]:
                self.sender = None
            return
        if dut.tx_data_ren.value == 1:
            assert sender["acked"], "words are taken before tx_ack"
        fell = dut.tx.value == 0
        if dut.tx_data_ren.value == 1 and dut.tx_data_valid.value == 1:
            if sender["beats"]:
                sender["beats"].pop(0)
            else:
                sender["beyond"] -= 1
        if dut.tx_ack.value == 1:
            assert not sender["acked"], "tx_ack came twice"
            sender["acked"] = True
        if fell or sender["acked"] and not sender["beats"] and not sender["beyond"]:
            sender["low"] = self.rng.choice([1, 1, 3])

    async def until(self, condition, what):
        for _ in range(20000):
            if condition():
                return
            await self.step()
        raise AssertionError(f"{what}: nothing moves")

    def paces(self):
        self.pace = self.rng.choice([[1, 1, 1], [1, 0.4, 0.5], [0.4, 1, 1], [0.9, 0.8, 0.7]])
        self.eager = [self.rng.choice([0.2, 0.6, 1, 1]) for _ in self.eager]

    def length(self):
        """In words: around beats of both widths, none, and some that are long."""
        few = self.rng.choice([0, 1, self.words, self.keep // 4, 2 * self.keep // 4]) + self.rng.randint(-1, 1)
        return max(0, self.rng.randint(0, 120) if self.rng.random() < 0.05 else few)


@cocotb.test()
async def transactions_are_messages(dut):
    channel = Channel(dut, "transactions")
    await channel.start()
    rng = channel.rng
    down, up = [], []
    for number in range(TRANSFERS // 2):
        if number % 50 == 0:
            channel.paces()
        words, (offset, last) = channel.length(), (rng.choice([0, 1, rng.getrandbits(31)]), rng.getrandbits(1))
        data = rng.randbytes(4 * words)
        # Longer than its length: the rest is dropped.
        more = rng.randbytes(4 * rng.randint(1, 9)) if rng.random() < 0.1 else b""
        channel.message(data + more, words, offset, last, late=rng.random() < 0.3)
        down.append((data, words, offset, last))
        words, (offset, last) = channel.length(), (rng.choice([0, 1, rng.getrandbits(31)]), rng.getrandbits(1))
        data = rng.randbytes(4 * words)
        await channel.until(lambda: channel.sender is None, "sending")
        early = rng.random() < 0.3
        sent = data[: 4 * channel.words * rng.randint(0, words // channel.words)] if early else data
        beyond = rng.randint(1, 3) if len(sent) == len(data) and rng.random() < 0.1 else 0
        channel.transaction(sent, words, offset, last, drop=not beyond and rng.random() < 0.3, beyond=beyond)
        up.append((sent, 4 * words, offset, last))
        await channel.until(lambda: len(channel.s_beats) < 20, "receiving")
    await channel.until(lambda: len(channel.got) == len(down) and len(channel.received) == len(up), "the end")
    assert channel.got == down
    assert channel.received == up


@cocotb.test()
async def a_reset_frees_the_core(dut):
    channel = Channel(dut, "resets")
    await channel.start()
    rng = channel.rng
    for _ in range(60):
        channel.paces()
        for _ in range(3):
            words = rng.randint(0, 40)
            # Some are cut: they end before their length.
            channel.message(rng.randbytes(4 * rng.randint(0, words)), words, 1, 1, late=False)
        channel.transaction(rng.randbytes(4 * 30), 30, 2, 1, drop=False, beyond=0)
        for _ in range(rng.randint(0, 60)):
            await channel.step()
        # The channels' resets: in them nothing moves, and the messages of before are gone.
        dut.s_reset.value = dut.m_reset.value = 1
        channel.s_beats.clear()
        channel.offered = False
        dut.s_tvalid.value = 0
        pace, channel.pace = channel.pace, [0, *channel.pace[1:]]
        await channel.edges([True, False, False])
        for _ in range(rng.randint(0, 3)):
            await channel.step()
        channel.pace = pace
        dut.s_reset.value = dut.m_reset.value = 0
        channel.given.clear()
        channel.received.clear()
        # Whatever was under way, the core gets rid of it, and what comes next arrives.
        await channel.until(lambda: channel.sender is None and channel.core is None, "the old transactions")
        for _ in range(100):
            await channel.step()
        await channel.until(lambda: channel.core is None, "the last of them")
        assert not channel.received, "a message of before the reset"
        channel.got.clear()
        data = rng.randbytes(4 * 11)
        channel.message(data, 11, 5, 0, late=False)
        channel.transaction(data, 11, 6, 1, drop=False, beyond=0)
        await channel.until(lambda: channel.got and channel.received and channel.sender is None, "after a reset")
        assert channel.got == [(data, 11, 5, 0)] and channel.received == [(data, 44, 6, 1)]
