# SPDX-License-Identifier: Apache-2.0
"""tp_plugin_tlplog: every packet of six streams at once, with its header, data and time; filters; what its queues do not take; commands."""

from dataclasses import dataclass

import cocotb
from bench import PACKAGES, ROOT, TP, Layout, generator
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge
from window import Window

BYTES, OFFSET, QUEUE = 4096, 0x3000, 4  # as test_plugins.py builds it
DEPTH = BYTES // 64
TAPS = Layout(ROOT / "gateware/plugin/tp_tap_pkg.sv", "tp_taps_t", PACKAGES[1])
ENTRY, HEADER, IDS = (Layout(PACKAGES[0], f"tp_plugin_tlplog_entry{part}_t") for part in ("", "_header", "_ids"))
HDR = {
    name: Layout(PACKAGES[1], f"tp_{kind}_hdr_t")
    for name, kind in (
        ("sent_write", "write"),
        ("sent_read", "read"),
        ("sent_completion", "answer"),
        ("received_write", "request"),
        ("received_read", "request"),
        ("received_completion", "completion"),
    )
}
NUMBER = {name: getattr(TP, f"TP_TLP_STREAM_{name.upper()}") for name in HDR}
READS = ("sent_read", "received_read")
START, STOP, CLEAR = (getattr(TP, f"TP_PLUGIN_TLPLOG_COMMAND_{name}_MASK") for name in ("START", "STOP", "CLEAR"))


def at(name: str) -> int:
    return getattr(TP, f"TP_PLUGIN_TLPLOG_{name}_OFFSET")


@dataclass
class Packet:
    stream: str
    hdr: dict[str, int]
    beats: list[int]  # their first dwords
    began: int = -1  # the clock
    wanted: bool = True

    def entry(self) -> dict[str, int]:
        """What the log must say of it, but for time, number and what was lost."""
        h = self.hdr
        sent = self.stream.startswith("sent")
        said = {"address": h.get("addr", h.get("offset", h.get("lower_addr"))), "stream": NUMBER[self.stream]}
        said |= {name: h.get(name, 0) for name in ("dwords", "first_be", "last_be", "bar", "status", "poisoned", "byte_count", "requester")}
        said |= {name: h.get(name, 0) if self.stream != "received_write" else 0 for name in ("tag", "tc", "attr")}
        if sent and "relaxed" in h:
            said["attr"] = h["relaxed"] << 1
        said["data"] = 0 if self.stream in READS or h["dwords"] == 0 else self.beats[0]
        return said


class Card:
    """What passes between a card and its endpoint: random packets on all streams, each at its own pace."""

    def __init__(self, dut, pace):
        self.dut, self.pace, self.clock = dut, pace, 0
        self.streams, self.bars, self.range, self.running = 0x77, 0x3F, (0, (1 << 64) - 1), True
        self.rate = dict.fromkeys(HDR, 0.0)  # that a packet begins in a clock, and that the next beat comes
        self.under_way: dict[str, list[int]] = {name: [] for name in HDR}
        self.shown: dict[str, dict[str, int]] = {}
        self.began: list[Packet] = []
        self.reads: list[tuple[int, int, bool]] = []  # of BARs, to be answered: when they came, tag, wanted
        self.reset_next = False
        cocotb.start_soon(self._run())

    def wants(self, stream: str, hdr: dict[str, int]) -> bool:
        """By all that the filter says but whether the stream is logged."""
        if "addr" in hdr:
            return self.range[0] <= hdr["addr"] <= self.range[1]
        if "bar" in hdr:
            own = hdr["bar"] == TP.TP_BAR_WINDOW and OFFSET <= hdr["offset"] < OFFSET + BYTES
            return not own and (hdr["bar"] > 5 or self.bars >> hdr["bar"] & 1 == 1)
        return True

    def begin(self, stream: str) -> Packet | None:
        pace, hdr = self.pace, {}
        wanted = True
        for name, (_, width) in HDR[stream].fields.items():
            hdr[name] = pace.getrandbits(width)
        if "addr" in hdr:
            edge = pace.choice([*self.range, pace.getrandbits(64), pace.getrandbits(20)])
            hdr["addr"] = max(0, min((1 << 64) - 1, edge + pace.choice([-4, 0, 4])))
        if "bar" in hdr and pace.random() < 0.6:
            near = pace.choice([0, OFFSET - 4, OFFSET, OFFSET + BYTES - 4, OFFSET + BYTES, OFFSET + (1 << 16)])
            hdr["bar"], hdr["offset"] = pace.choice([0, 2, 2]), near
        if stream == "received_read":
            used = {tag for _, tag, _ in self.reads}
            hdr["tag"] = next(tag for tag in iter(lambda: pace.getrandbits(10), None) if tag not in used)
        wanted = self.wants(stream, hdr)
        if stream == "received_read":
            self.reads.append((self.clock, hdr["tag"], wanted))
        if stream == "sent_completion":
            if not self.reads or self.reads[0][0] + 3 > self.clock:
                return None
            _, hdr["tag"], wanted = self.reads.pop(0)
        if pace.random() < 0.2 if stream.endswith("completion") else hdr["dwords"] == 0:
            hdr["dwords"] ^= hdr["dwords"] or 1  # an answer without payload; nothing else is
        beats = [pace.getrandbits(32) for _ in range(1 if stream in READS else pace.choice([1, 1, 2, 5]))]
        return Packet(stream, hdr, beats, self.clock, wanted and self.running and self.streams >> NUMBER[stream] & 1 == 1)

    async def _run(self) -> None:
        while True:
            values = {"rst": int(self.reset_next)}
            if self.reset_next:
                self.reset_next = False
                self.under_way = {name: [] for name in HDR}
                self.reads.clear()
            for stream, rest in self.under_way.items():
                values[f"{stream}_beat"] = 0
                hdr = self.shown.get(stream) or {name: self.pace.getrandbits(width) for name, (_, width) in HDR[stream].fields.items()}
                if not values["rst"]:
                    if rest:
                        if self.pace.random() < max(self.rate[stream], 0.5):
                            values[f"{stream}_beat"] = 1
                    elif self.pace.random() < self.rate[stream] and (packet := self.begin(stream)):
                        self.began.append(packet)
                        self.shown[stream] = hdr = packet.hdr
                        rest.extend(packet.beats)
                        values[f"{stream}_beat"] = 1
                values[f"{stream}_hdr"] = HDR[stream].pack(**hdr)
                if stream not in READS:
                    values[f"{stream}_data"] = rest[0] if values[f"{stream}_beat"] else self.pace.getrandbits(32)
                    values[f"{stream}_last"] = int(len(rest) == 1) if values[f"{stream}_beat"] else self.pace.getrandbits(1)
                if values[f"{stream}_beat"]:
                    rest.pop(0)
            self.dut.tlp_taps.value = TAPS.pack(**values)
            await RisingEdge(self.dut.clk)
            self.clock += 1

    async def quiet(self) -> None:
        """No packet begins, and those under way end; what the queues hold gets into the ring."""
        self.rate = dict.fromkeys(HDR, 0.0)
        await ClockCycles(self.dut.clk, 100)
        assert not any(self.under_way.values())

    async def busy(self, clocks: int, rate: float) -> None:
        self.rate = {name: rate * self.pace.choice([0, 0.3, 1, 1]) for name in HDR}
        await ClockCycles(self.dut.clk, clocks)

    async def gentle(self, rate: float) -> None:
        """Bursts that the queues take, whichever streams begin at once."""
        for _ in range(self.pace.randrange(1, 3)):
            await self.busy(self.pace.randrange(1, QUEUE + 1), rate)
            self.rate = dict.fromkeys(HDR, 0.0)
            await ClockCycles(self.dut.clk, 8 * QUEUE)
        await self.quiet()

    def wanted(self) -> list[Packet]:
        """Those that began since the last call and must be logged."""
        found, self.began = [packet for packet in self.began if packet.wanted], []
        return found


class Log:
    """What a program reads."""

    def __init__(self, window: Window):
        self.window, self.next = window, 0

    async def get(self, name: str, more: int = 0) -> int:
        return await self.window.get(OFFSET + at(name) + more)

    async def set(self, name: str, value: int, more: int = 0) -> None:
        await self.window.set(OFFSET + at(name) + more, value)

    async def logged(self) -> int:
        return await self.get("LOGGED") | await self.get("LOGGED", 4) << 32

    async def entry(self, number: int) -> dict[str, int]:
        place = OFFSET + BYTES // 2 + number % DEPTH * TP.TP_PLUGIN_TLPLOG_ENTRY_BYTES
        words = [await self.window.get(place + 4 * n) for n in range(8)]
        entry = ENTRY.unpack(sum(word << 32 * n for n, word in enumerate(words)))
        assert entry["number"] == number
        return entry | HEADER.unpack(entry["header"]) | IDS.unpack(entry["ids"]) | {"time": entry["time_high"] << 32 | entry["time_low"]}

    async def new(self) -> list[dict[str, int]]:
        """Entries since the last call; all of them are still there."""
        end = await self.logged()
        assert end - self.next <= DEPTH, "the bench lets the ring overwrite what it has not read"
        entries = [await self.entry(number) for number in range(self.next, end)]
        self.next = end
        return entries


def check(packets: list[Packet], entries: list[dict[str, int]], zero: int, dropped: int = 0, gaps: set[str] | None = None) -> None:
    """`zero`: the log's time is this much more than the bench's clock. `dropped`: so many packets are not there. `gaps`: streams of which
    the last packet before these was dropped; afterwards those of which the last one of these was."""
    gaps = set() if gaps is None else gaps
    assert len(entries) + dropped == len(packets), (len(entries), dropped, len(packets))
    for stream, number in NUMBER.items():
        left = [packet for packet in packets if packet.stream == stream]
        there = [entry for entry in entries if entry["stream"] == number]
        # A queue holds QUEUE packets, so the first ones are there.
        assert [entry["time"] - zero for entry in there[:QUEUE]] == [packet.began for packet in left[:QUEUE]]
        for entry in there:
            missing = [packet for packet in left if packet.began < entry["time"] - zero]
            del left[: len(missing)]
            packet = left.pop(0)
            said = packet.entry()
            assert packet.began == entry["time"] - zero, (entry, packet)
            assert {name: entry[name] for name in said} == said, (entry, packet)
            # `lost` stands at the first packet after a gap.
            assert entry["lost"] == int(bool(missing) or stream in gaps), (entry, missing)
            gaps.discard(stream)
        if left:
            gaps.add(stream)


async def start(dut, what: str):
    pace = generator(what)
    cocotb.start_soon(Clock(dut.clk, 4, unit="ns").start())
    window = Window(dut, pace)
    dut.tlp_taps.value, dut.rst_n.value = TAPS.pack(rst=1), 0
    await ClockCycles(dut.clk, 4)
    dut.rst_n.value = 1
    card, log = Card(dut, pace), Log(window)
    # As it is from configuration on, whatever the test before has left; one packet tells how the two times differ.
    for name, value in (("FILTER", TP.TP_PLUGIN_TLPLOG_FILTER_RESET), ("FIRST", 0), ("LAST", (1 << 32) - 1), ("COMMAND", START | CLEAR)):
        await log.set(name, value)
        if name in ("FIRST", "LAST"):
            await log.set(name, value, 4)
    card.rate["sent_read"] = 1.0
    await RisingEdge(dut.clk)
    await card.quiet()
    first, entry = card.wanted()[0], await log.entry(0)
    log.next = await log.logged()
    assert log.next and await log.get("DROPPED") == 0
    return pace, card, log, entry["time"] - first.began


@cocotb.test()
async def every_packet(dut):
    pace, card, log, zero = await start(dut, "every_packet")
    assert await log.get("DEPTH") == DEPTH and await log.get("STATUS") == 1
    assert await log.get("FILTER") == TP.TP_PLUGIN_TLPLOG_FILTER_RESET
    total = 0
    while total < 3 * DEPTH:  # the ring goes round
        await card.gentle(pace.choice([0.2, 0.5, 1.0]))
        packets = card.wanted()
        total += len(packets)
        check(packets, await log.new(), zero)
        assert await log.get("DROPPED") == 0


@cocotb.test()
async def filters(dut):
    pace, card, log, zero = await start(dut, "filters")
    for _ in range(30):
        card.streams, card.bars = pace.choice([0x77, pace.getrandbits(7) & 0x77]), pace.getrandbits(6)
        ends = sorted(pace.choice([0, pace.getrandbits(64), pace.getrandbits(34), (1 << 64) - 1]) & ~3 for _ in range(2))
        card.range = (ends[0], ends[1])
        await log.set("FILTER", card.streams | card.bars << 8)
        assert await log.get("FILTER") == card.streams | card.bars << 8
        for name, value in zip(("FIRST", "LAST"), card.range, strict=True):
            for more in (0, 4):
                await log.set(name, value >> 8 * more & 0xFFFFFFFF, more)
                assert await log.get(name, more) == value >> 8 * more & 0xFFFFFFFF
        card.reads.clear()  # answers go by the filter of their reads' time
        await card.gentle(0.5)
        check(card.wanted(), await log.new(), zero)


@cocotb.test()
async def more_than_it_takes(dut):
    pace, card, log, zero = await start(dut, "more_than_it_takes")
    counted = lost = 0
    gaps: set[str] = set()
    while counted < 100 or lost < 10:
        await card.busy(pace.randrange(4, 24), 1.0)
        await card.quiet()
        dropped, entries = await log.get("DROPPED"), await log.new()
        check(card.wanted(), entries, zero, dropped - counted, gaps)
        counted = dropped
        lost += sum(entry["lost"] for entry in entries)
    # The ring keeps the last ones.
    while (end := await log.logged()) <= log.next + DEPTH:
        await card.busy(100, 0.3)
        await card.quiet()
    log.next = end - DEPTH
    assert len(await log.new()) == DEPTH


@cocotb.test()
async def commands(dut):
    pace, card, log, zero = await start(dut, "commands")
    for _ in range(10):
        await card.gentle(0.5)
        check(card.wanted(), await log.new(), zero)
        # Stopped, nothing is logged.
        await log.set("COMMAND", STOP)
        card.running = False
        assert await log.get("STATUS") == 0
        await card.busy(40, 0.3)
        card.rate = dict.fromkeys(HDR, 0.0) | {"received_read": 0.5}  # to be answered when it runs again
        await ClockCycles(dut.clk, 30)
        await card.quiet()
        assert not card.wanted() and not await log.new()
        # A reset of the card's keeps the log, and ends packets under way.
        dut.rst_n.value = 0
        await ClockCycles(dut.clk, 3)
        dut.rst_n.value = 1
        assert await log.get("STATUS") == 0 and await log.logged() == log.next
        await log.set("COMMAND", START)
        card.running = True
        for _ in range(4):
            await card.gentle(1.0)
            check(card.wanted(), await log.new(), zero)
        await card.busy(2, 0.9)
        card.reset_next, card.rate = True, dict.fromkeys(HDR, 0.0)
        await card.quiet()
        await card.gentle(0.5)
        check(card.wanted(), await log.new(), zero)
        if pace.random() < 0.5:
            await log.set("COMMAND", CLEAR)
            log.next = 0
            assert await log.logged() == 0 and await log.get("DROPPED") == 0
    # Overflows are forgotten with the rest.
    while await log.get("DROPPED") == 0:
        await card.busy(60, 1.0)
        await card.quiet()
    card.wanted()
    await log.set("COMMAND", CLEAR)
    log.next = 0
    for name in HDR:
        card.rate = dict.fromkeys(HDR, 0.0)
        card.rate[name] = 1.0
        await ClockCycles(dut.clk, 2)
    await card.quiet()
    assert await log.get("DROPPED") == 0
    check(card.wanted(), await log.new(), zero)
