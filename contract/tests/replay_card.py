# SPDX-License-Identifier: Apache-2.0
"""Replays golden traces against tp_core at its neutral streams, by the rules of contract/traces/README.md.

A cocotb module: test_card.py compiles the card and starts it; each trace is a test. It plays the host and the user core with as little
cleverness as it can, always ready, answering reads in order; stress is the gateware's own benches' business.
"""

import itertools
import os
import sys
from collections import deque
from pathlib import Path
from typing import Any

import cocotb
import pyslang
from cocotb.triggers import ReadOnly, RisingEdge, Timer

CONTRACT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(CONTRACT), str(CONTRACT / "traces")]
import cases  # noqa: E402
import generate  # noqa: E402
import golden  # noqa: E402

NAMES = cases.Names(generate.read_contract(CONTRACT / "towpath.rdl"))
BAR = NAMES.constants["BAR_DEVICE"]
PATIENCE = 4000  # clocks that a line may wait
QUIET = 300  # clocks in which nothing may happen at `settle`
MSIX_ADDRESS = 0xFEE0_0000
CHANNELS = {"tx": 0, "rx": 1}
READ_BOUNDARY = 64
STATUS = {"unsupported_request": 1, "completer_abort": 4}


def struct_layout(name: str) -> tuple[int, dict[str, tuple[int, int]]]:
    """Width of a structure of tp_tlp_pkg, and each field's lowest bit and width, from the package itself."""
    compilation = pyslang.ast.Compilation()
    compilation.addSyntaxTree(pyslang.syntax.SyntaxTree.fromFile(str(CONTRACT.parent / "gateware/endpoint/tp_tlp_pkg.sv")))
    package: Any = compilation.getPackage("tp_tlp_pkg")
    kind = package.find(name).targetType.type
    return kind.bitWidth, {part.name: (part.bitOffset, part.type.bitWidth) for part in kind}


LAYOUTS = {n: struct_layout(f"tp_{n}_t") for n in ("config", "write_hdr", "read_hdr", "answer_hdr", "completion_hdr", "request_hdr")}


def pack(name: str, **fields: int) -> int:
    value = 0
    for part, number in fields.items():
        lsb, width = LAYOUTS[name][1][part]
        assert 0 <= number < 1 << width, (part, number)
        value |= number << lsb
    return value


def unpack(name: str, value: int) -> dict[str, int]:
    return {part: value >> lsb & ((1 << width) - 1) for part, (lsb, width) in LAYOUTS[name][1].items()}


def enabled(hdr: dict[str, int]) -> list[bool]:
    """For each byte of a request's dwords: does it count?"""
    flags = [True] * (4 * hdr["dwords"])
    for i in range(4):
        flags[i] = flags[i] and bool(hdr["first_be"] >> i & 1)
        if hdr["dwords"] > 1:
            flags[-4 + i] = bool(hdr["last_be"] >> i & 1)
    return flags


class Bench:
    def __init__(self, dut, trace: golden.Trace) -> None:
        self.dut = dut
        self.trace = trace
        self.lane = len(dut.tx_posted_data) // 8
        self.memory: dict[int, int] = {}
        self.denied: list[tuple[int, int, str]] = []
        self.held = False
        self.reads: deque = deque()  # not yet answered
        self.asked: set[int] = set()  # bytes the card asked for and no `reads` line has named yet
        self.allowed: set[int] = set()  # bytes that a line named
        self.written: dict[int, tuple[int, int]] = {}  # not yet named by a line: address: value, when
        self.rings: dict[str, tuple[int, int]] = {}  # channel: first address, bytes
        self.entries: dict[str, deque] = {c: deque() for c in CHANNELS}
        self.fired: dict[int, deque] = {v: deque() for v in CHANNELS.values()}
        self.last_write: dict[str, int] = dict.fromkeys(CHANNELS, -1)
        self.last_entry = -1
        self.taken: deque = deque()
        self.gifts: deque = deque()
        self.resets: set[str] = set()
        self.posted: deque = deque()  # towards the card
        self.completions: deque = deque()
        self.credits = 0
        self.nonposted: deque = deque()
        self.answers: deque = deque()
        self.clocks = 0
        self.activity = 0
        self.line = trace.lines[0]
        self.faults: list[str] = []
        self.partial: tuple[dict[str, int], bytearray] | None = None
        self.partial_answer = bytearray()
        self.message = bytearray()

    def fail(self, what: str) -> None:
        raise AssertionError(f"{self.trace.name}.trace:{self.line.number}: {self.line.verb} {' '.join(self.line.words)}: {what}")

    # ---- clock by clock ----

    async def clock(self) -> None:
        """One clock: drives everything after the edge, samples everything before the next."""
        d = self.dut
        self.drive()
        await Timer(1, "ns")
        await ReadOnly()
        self.sample()
        await Timer(1, "ns")
        d.clk.value = 1
        d.user_clk.value = 1
        await RisingEdge(d.clk)
        await Timer(2, "ns")
        d.clk.value = 0
        d.user_clk.value = 0
        self.clocks += 1

    def drive(self) -> None:
        d = self.dut
        d.rx_posted_valid.value = int(bool(self.posted))
        if self.posted:
            hdr, data, last = self.posted.popleft()
            d.rx_posted_hdr.value, d.rx_posted_data.value, d.rx_posted_last.value = hdr, data, last
        d.rx_completion_bad.value = 0
        d.rx_completion_valid.value = int(bool(self.completions))
        if self.completions:
            hdr, data, last = self.completions.popleft()
            d.rx_completion_hdr.value, d.rx_completion_data.value, d.rx_completion_last.value = hdr, data, last
        send = bool(self.nonposted) and self.credits > 0 and not self.posted  # a read never passes a write
        d.rx_nonposted_valid.value = int(send)
        if send:
            self.credits -= 1
            d.rx_nonposted_hdr.value = self.nonposted.popleft()
        d.c2h_tvalid.value = int(bool(self.gifts))
        if self.gifts:
            data, keep, last, length, offset, user = self.gifts[0]
            d.c2h_tdata.value, d.c2h_tkeep.value, d.c2h_tlast.value = data, keep, last
            d.c2h_length.value, d.c2h_offset.value, d.c2h_user.value = length, offset, user
        if not self.held and self.reads:
            self.answer_read(self.reads.popleft())

    def sample(self) -> None:
        d = self.dut
        if int(d.nonposted_credit.value):
            self.credits += 1
        if int(d.tx_posted_valid.value):
            self.take_posted(int(d.tx_posted_hdr.value), int(d.tx_posted_data.value), int(d.tx_posted_last.value))
        if int(d.tx_read_valid.value):
            hdr = unpack("read_hdr", int(d.tx_read_hdr.value))
            self.asked.update(range(hdr["addr"], hdr["addr"] + 4 * hdr["dwords"]))
            self.reads.append(hdr)
            self.activity = self.clocks
        if int(d.tx_answer_valid.value):
            self.partial_answer += int(d.tx_answer_data.value).to_bytes(self.lane, "little")
            if int(d.tx_answer_last.value):
                self.answers.append((unpack("answer_hdr", int(d.tx_answer_hdr.value)), bytes(self.partial_answer)))
                self.partial_answer = bytearray()
        if int(d.h2c_tvalid.value):
            self.take_beat()
        if self.gifts and int(d.c2h_tready.value):
            self.gifts.popleft()
        if int(d.h2c_reset.value):
            self.resets.add("tx")
        if int(d.c2h_reset.value):
            self.resets.add("rx")
        if self.faults:
            self.fail(self.faults[0])

    def take_beat(self) -> None:
        d = self.dut
        keep, data = int(d.h2c_tkeep.value), int(d.h2c_tdata.value).to_bytes(self.lane, "little")
        last = int(d.h2c_tlast.value)
        count = keep.bit_count()
        if keep != (1 << count) - 1 or (not last and count != self.lane):
            self.faults.append(f"tkeep {keep:#x} on the core's stream{'' if last else ' before the last beat'}")
        self.message += data[:count]
        if last:
            facts = (int(d.h2c_length.value), int(d.h2c_offset.value), int(d.h2c_user.value))
            self.taken.append((bytes(self.message), "error" if int(d.h2c_error.value) else "end", *facts))
            self.message = bytearray()
        self.activity = self.clocks

    def take_posted(self, hdr: int, data: int, last: int) -> None:
        self.activity = self.clocks
        if self.partial is None:
            self.partial = (unpack("write_hdr", hdr), bytearray())
        self.partial[1].extend(data.to_bytes(self.lane, "little"))
        if not last:
            return
        fields, content = self.partial
        self.partial = None
        flags, at = enabled(fields), fields["addr"]
        if at >= MSIX_ADDRESS and at < MSIX_ADDRESS + 0x1000:
            self.fired.setdefault((at - MSIX_ADDRESS) // 4, deque()).append(self.clocks)
            return
        for channel, (base, size) in self.rings.items():
            if base <= at < base + size:
                if fields["dwords"] != 4 or not all(flags) or fields["relaxed"]:
                    self.faults.append(f"a ring entry at {at:#x} is {fields}")
                self.entries[channel].append((at, bytes(content[:16]), self.clocks))
                return
        for i, counts in enumerate(flags):
            if counts:
                if at + i in self.written:
                    self.faults.append(f"the card writes {at + i:#x} twice")
                self.written[at + i] = (content[i], self.clocks)

    def answer_read(self, hdr: dict[str, int]) -> None:
        """Completions split at the read completion boundary."""
        flags = enabled(hdr)
        first, last = flags.index(True) if any(flags) else 0, len(flags) - 1 - flags[::-1].index(True) if any(flags) else 0
        at, left = hdr["addr"] + first, last - first + 1
        status = next((s for base, size, s in self.denied if base <= at < base + size), "")
        if status in STATUS:
            self.completions.append((pack("completion_hdr", tag=hdr["tag"], status=STATUS[status], byte_count=4), 0, 1))
            return
        while left:
            count = min(left, READ_BOUNDARY - at % READ_BOUNDARY)
            dwords = (at % 4 + count + 3) // 4
            fields = pack(
                "completion_hdr",
                tag=hdr["tag"], poisoned=int(status == "poisoned"), dwords=dwords, byte_count=left, lower_addr=at & 0x7F,
            )  # fmt: skip
            base = at & ~3
            content = bytes(self.memory.get(base + i, 0) for i in range(4 * dwords))
            for beat in range(0, len(content), self.lane):
                part = content[beat : beat + self.lane]
                self.completions.append((fields, int.from_bytes(part, "little"), int(beat + self.lane >= len(content))))
            at, left = at + count, left - count

    # ---- the host ----

    def page(self, name: str) -> int:
        channel, _, part = name.rpartition(".")
        constants = NAMES.constants
        if not channel:
            number = constants[f"PAGE_{name.upper()}"]
        else:
            number = constants["PAGE_CHANNELS"] + constants["PAGES_PER_CHANNEL"] * CHANNELS[channel]
            number += constants[f"PAGE_CHANNEL_{part.upper()}"]
        return number * constants["PAGE_BYTES_MIN"]

    def write(self, at: int, content: bytes) -> None:
        """Aligned dwords, within 64 aligned bytes."""
        dwords = len(content) // 4
        fields = pack(
            "request_hdr", bar=NAMES.constants["BAR_DEVICE"], offset=at, dwords=dwords, first_be=15, last_be=15 if dwords > 1 else 0
        )
        for beat in range(0, len(content), self.lane):
            part = content[beat : beat + self.lane]
            self.posted.append((fields, int.from_bytes(part, "little"), int(beat + self.lane >= len(content))))

    async def read(self, at: int, count: int) -> int:
        dwords = count // 4
        first = 15 if count >= 4 else ((1 << count) - 1) << (at & 3)
        fields = {"offset": at & ~3, "dwords": max(dwords, 1), "first_be": first, "last_be": 15 if dwords > 1 else 0}
        self.nonposted.append(pack("request_hdr", bar=BAR, requester=8, tag=5, **fields))
        await self.until(lambda: bool(self.answers), "the card does not answer")
        hdr, content = self.answers.popleft()
        if hdr["status"] or hdr["tag"] != 5 or hdr["requester"] != 8 or hdr["dwords"] != fields["dwords"]:
            self.fail(f"answered with {hdr}")
        skip = at & 3 if count < 4 else 0
        return int.from_bytes(content[skip : skip + count], "little")

    async def until(self, condition, what: str) -> None:
        for _ in range(PATIENCE):
            if condition():
                return
            await self.clock()
        self.fail(what)

    # ---- lines ----

    async def run(self) -> None:
        await self.start()
        for self.line in self.trace.lines:  # noqa: B020 fail() tells where we are
            handler = getattr(self, "on_" + self.line.verb.replace("-", "_"), None)
            if handler:
                await handler(*self.line.words)
        await self.on_settle()

    async def start(self) -> None:
        d = self.dut
        idle = "clk user_clk rx_completion_valid rx_posted_valid rx_nonposted_valid c2h_tvalid irq_valid m_axil_awready m_axil_wready "
        idle += "m_axil_bvalid m_axil_bresp m_axil_arready m_axil_rvalid m_axil_rdata m_axil_rresp"
        for name in idle.split():
            getattr(d, name).value = 0
        d.rst.value = 1
        on = dict.fromkeys(("bus_master", "tags_8bit", "msix_enable", "link_up", "active"), 1)
        d.cfg.value = pack("config", requester=0x100, max_payload=0, max_read=2, transmit_room=255, **on)
        d.tx_posted_ready.value = d.tx_read_ready.value = d.tx_answer_ready.value = 1
        d.h2c_tready.value = 1
        for _ in range(20):
            await self.clock()
        d.rst.value = 0
        self.credits = 0
        for _ in range(QUIET):  # no host writes sooner after a reset, in which the card sweeps its pages
            await self.clock()
        self.resets.clear()
        vector = NAMES.registers["MSIX_VECTOR"]
        for v in CHANNELS.values():
            at = self.page("msix") + vector.offset + v * vector.stride
            self.write(at, (MSIX_ADDRESS + 4 * v).to_bytes(8, "little"))
            self.write(at + NAMES.offset("MSIX_VECTOR_DATA"), v.to_bytes(4, "little"))
            self.write(at + NAMES.offset("MSIX_VECTOR_CONTROL"), bytes(4))

    async def on_contents(self, page: str, offset: str, content: str) -> None:
        want = golden.data(content)
        for i in range(0, len(want), 8):
            got = (await self.read(self.page(page) + golden.number(offset) + i, 8)).to_bytes(8, "little")
            if got != want[i : i + 8]:
                self.fail(f"at {golden.number(offset) + i:#x} stands {got.hex()}")

    async def on_zero(self, address: str, count: str) -> None:
        base = golden.number(address)
        for at in range(base, base + golden.number(count)):
            self.memory.pop(at, None)

    async def on_memory(self, address: str, content: str) -> None:
        base = golden.number(address)
        self.memory.update({base + i: b for i, b in enumerate(golden.data(content))})

    async def on_do(self, what: str, *words: str) -> None:
        if what == "enable":
            self.rings[words[0]] = (golden.number(words[1]), 16 << golden.number(words[2]))

    async def on_store(self, page: str, offset: str, width: str, value: str) -> None:
        self.write(self.page(page) + golden.number(offset), golden.number(value).to_bytes(int(width) // 8, "little"))

    async def on_load(self, page: str, offset: str, width: str, value: str) -> None:
        got = await self.read(self.page(page) + golden.number(offset), int(width) // 8)
        if value != "-" and got != golden.number(value):
            self.fail(f"found {got:#x}")

    async def on_poll(self, page: str, offset: str, width: str, mask: str, value: str) -> None:
        for _ in range(200):
            got = await self.read(self.page(page) + golden.number(offset), int(width) // 8)
            if got & golden.number(mask) == golden.number(value):
                return
        self.fail(f"still {got:#x}")

    async def on_combine(self, channel: str, offset: str, content: str) -> None:
        """Eight bytes at a time, the last first: a write-combining store may arrive so."""
        image = golden.data(content)
        at = self.page(f"{channel}.inline") + golden.number(offset)
        for i in reversed(range(0, len(image), 8)):
            self.write(at + i, image[i : i + 8].ljust(8, b"\0"))

    async def on_slots(self, channel: str, offset: str, content: str) -> None:
        """Lines whole and in order; of the others the last dword first."""
        image, start = golden.data(content), golden.number(offset)
        at = self.page(f"{channel}.batch") + start
        cuts = [0, *(i for i in range(1, len(image)) if (start + i) % 64 == 0), len(image)]
        for a, b in itertools.pairwise(cuts):
            size = 64 if b - a == 64 else 4
            for i in reversed(range(a, b, size)):
                self.write(at + i, image[i : i + size])

    async def on_deny(self, address: str, count: str, status: str) -> None:
        self.denied = [(golden.number(address), golden.number(count), status)]

    async def on_hold(self) -> None:
        self.held = True

    async def on_release(self) -> None:
        self.held = False

    async def on_reads(self, channel: str, address: str, count: str) -> None:
        base, size = golden.number(address), golden.number(count)
        wanted = set(range(base, base + size))
        await self.until(lambda: wanted <= self.asked, f"the card never asked for {len(wanted - self.asked)} of these bytes")
        self.asked -= wanted
        await self.on_may(channel, address, count)

    async def on_may(self, _channel: str, address: str, count: str) -> None:
        base, size = golden.number(address), golden.number(count)
        self.allowed.update(range(base & ~3, (base + size + 3) & ~3))

    async def on_writes(self, channel: str, address: str, content: str) -> None:
        base, image = golden.number(address), golden.data(content)
        await self.until(lambda: all(base + i in self.written for i in range(len(image))), "the card did not write all of it")
        for i, byte in enumerate(image):
            value, when = self.written.pop(base + i)
            if value != byte:
                self.fail(f"at {base + i:#x} the card wrote {value:#x}, not {byte:#x}")
            self.last_write[channel] = max(self.last_write[channel], when)

    async def on_entry(self, channel: str, address: str, *words: str) -> None:
        await self.until(lambda: bool(self.entries[channel]), "the entry never came")
        at, image, when = self.entries[channel].popleft()
        names = ("bytes", "offset", "user", "cookie", "status", "flags")
        for name, word in zip(names, words, strict=True):
            register = NAMES.registers[f"COMPLETION_{name.upper()}"]
            got = int.from_bytes(image[register.offset : register.offset + register.bytes], "little")
            if word != "-" and got != (NAMES.enums["status"][word] if name == "status" else golden.number(word)):
                self.fail(f"{name} is {got:#x}, in the entry {image.hex()}")
        if at != golden.number(address):
            self.fail(f"the entry stands at {at:#x}")
        if when < self.last_write[channel]:
            self.fail("the entry came before its data")
        self.last_entry = when

    async def on_irq(self, vector: str) -> None:
        v = golden.number(vector)
        await self.until(lambda: bool(self.fired.get(v)), "the interrupt never came")
        if self.fired[v].popleft() < self.last_entry:
            self.fail("the interrupt came before its entry")

    async def on_give(self, _channel: str, content: str, end: str, *facts: str) -> None:
        image = golden.data(content)
        if end == "open" and (len(image) % self.lane or not image):
            self.fail("an open message is given in whole beats")
        for i in range(0, len(image) or 1, self.lane):
            part = image[i : i + self.lane]
            last = int(end == "end" and i + self.lane >= len(image))
            self.gifts.append((int.from_bytes(part, "little"), (1 << len(part)) - 1, last, *(golden.number(w) for w in facts)))

    async def on_take(self, _channel: str, content: str, end: str, *facts: str) -> None:
        await self.until(lambda: bool(self.taken), f"the message never came; so far {self.message.hex()}")
        got = self.taken.popleft()
        want = (golden.data(content), end, *(golden.number(w) for w in facts))
        if got != want:
            self.fail(f"the core got {len(got[0])} bytes {got[0][:64].hex()}, {got[1:]}")

    async def on_core_reset(self, channel: str) -> None:
        await self.until(lambda: channel in self.resets, "the core never saw the reset")
        self.resets.discard(channel)

    async def on_settle(self) -> None:
        self.activity = self.clocks
        while self.clocks - self.activity < QUIET:
            await self.clock()
        more = {
            "entries": [e[1].hex() for q in self.entries.values() for e in q],
            "interrupts": [v for v, q in self.fired.items() for _ in q],
            "writes at": [hex(a) for a in sorted(self.written)[:4]],
            "reads at": [hex(a) for a in sorted(self.asked - self.allowed)[:4]],
            "messages": [m[0].hex() for m in self.taken],
            "beats that the card did not take": self.gifts,
        }
        for what, found in more.items():
            if found:
                self.fail(f"there were {what} {list(found)}, which no line names")


def names() -> list[str]:
    return sorted(p.stem for p in (CONTRACT / "traces").glob("*.trace") if golden.load(p).replay != "host")


@cocotb.test()
@cocotb.parametrize(name=os.environ.get("TP_TRACES", "").split() or names())
async def card(dut, name: str) -> None:
    await Bench(dut, golden.load(CONTRACT / "traces" / f"{name}.trace")).run()
