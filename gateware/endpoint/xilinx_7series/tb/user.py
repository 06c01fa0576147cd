# SPDX-License-Identifier: Apache-2.0
"""A small user of the block's pins, in Python: lawful as it stands, and with hands to break each rule once.

It answers reads of its BAR from a memory, takes writes to it, refuses what it does not know through the block's error pins, and reads and
writes the host's memory for `read` and `write`. It shares no code with block.py.
"""

from collections import deque

import cocotb
from cocotb.triggers import ClockCycles, Event, RisingEdge

DRIVEN = (
    "m_axis_rx_tready rx_np_ok rx_np_req s_axis_tx_tdata s_axis_tx_tkeep s_axis_tx_tlast s_axis_tx_tvalid s_axis_tx_tuser tx_cfg_gnt "
    "cfg_turnoff_ok cfg_trn_pending cfg_err_ur cfg_err_cpl_abort cfg_err_posted cfg_err_locked cfg_err_cpl_timeout cfg_err_cpl_unexpect "
    "cfg_err_ecrc cfg_err_cor cfg_err_poisoned cfg_err_malformed cfg_err_tlp_cpl_header"
).split()
STREAMED, DISCONTINUED = 4, 8  # tuser
BAR_BYTES = 4096
MEANINGLESS = 2  # clocks before user_lnk_up falls in which a packet may already be filled up with rubbish (plan.md)


class Lost(Exception):
    """The link went, or bus mastering, before the host had answered."""


class Received:
    """A packet from the pins: its dwords, the BARs that it hit, and what was told beside it."""

    def __init__(self):
        self.words, self.bars, self.poisoned, self.ecrc, self.clock = [], None, 0, 0, 0

    @property
    def kind(self) -> str:
        fmt, kind = self.words[0] >> 29, self.words[0] >> 24 & 31
        if kind in (10, 11):
            return "completion"
        if kind == 0:
            return "write" if fmt & 2 else "read"
        return "message" if kind >= 16 else "other"

    @property
    def nonposted(self) -> bool:
        return self.kind in ("read", "other")


class User:
    def __init__(self, dut, rng, idle: float = 0.2):
        self.dut, self.rng, self.idle = dut, rng, idle
        self.lanes = len(dut.m_axis_rx_tdata) // 32
        for name in DRIVEN:
            getattr(dut, name).value = 0
        self.memory = bytearray(BAR_BYTES)
        self.received: list[Received] = []  # all, in order
        self.straddles = 0  # beats in which one packet ended and the next began
        self.clock = 0
        self.ready = 0  # ours, for what the block sends
        self.hold = False  # take nothing
        self.listening = True  # look at what comes
        self.current: Received | None = None
        self.queue: deque = deque()  # functions that make a packet's beats when its time has come, or None: it is not to be sent any more
        self.beats: deque = deque()  # of the packet under way: (data, keep, last, user); None is a gap
        self.showing = False
        self.tags: dict[int, tuple] = {}
        self.errors: deque = deque()  # (name, posted, header): pulses for the block's error pins
        self.begun = 0  # beats of the packet under way that have been accepted
        self.waiting: dict[Event, None] = {}  # writes that have not been begun, in order: a set's order changes from run to run
        self.link = 0
        self.losses = 0
        self.answering = True
        self.grant = 1
        self.np_req = 1  # from the start
        cocotb.start_soon(self._run())

    # ---- clock by clock

    async def _run(self) -> None:
        dut, edge = self.dut, RisingEdge(self.dut.clk)
        dut.rx_np_ok.value, dut.rx_np_req.value = 1, self.np_req
        pulsing = None
        while True:
            await edge
            self.clock += 1
            if dut.user_reset.value == 1:
                self._fresh()
                continue
            dut.tx_cfg_gnt.value = self.grant
            link = int(dut.user_lnk_up.value)
            if self.link and not link:
                self._link_lost()
            self.link = link
            if self.ready and dut.m_axis_rx_tvalid.value == 1 and self.listening:
                self._take()
            ready = int(not self.hold and self.rng.random() >= self.idle / 2)
            if ready != self.ready:
                dut.m_axis_rx_tready.value = self.ready = ready
            self._give()
            if pulsing and dut.cfg_err_cpl_rdy.value == 1:  # what was shown at this edge has been taken
                getattr(dut, f"cfg_err_{pulsing}").value = 0
                pulsing = None
            elif not pulsing and self.errors:
                pulsing, posted, locked, header = self.errors.popleft()
                dut.cfg_err_posted.value, dut.cfg_err_locked.value, dut.cfg_err_tlp_cpl_header.value = posted, locked, header
                getattr(dut, f"cfg_err_{pulsing}").value = 1

    def _fresh(self) -> None:
        self.current, self.showing, self.link, self.ready = None, False, 0, 0
        self.beats.clear()
        self.dut.s_axis_tx_tvalid.value = 0
        self.dut.m_axis_rx_tready.value = 0
        self._link_lost()

    def _link_lost(self) -> None:
        """Nothing that was asked for comes any more; the packet under way is finished, one that waits is not begun."""
        self.losses += 1
        for done in (*self.waiting, *(done for _, done, _ in self.tags.values())):
            done.set()
        self.tags.clear()
        self.queue.clear()
        if self.showing and self.begun == 0 and self.dut.s_axis_tx_tready.value != 1:
            self.beats.clear()
            self.showing = False
            self.dut.s_axis_tx_tvalid.value = 0

    # ---- what the block sends

    def _take(self) -> None:
        dut, lanes = self.dut, self.lanes
        data, user = int(dut.m_axis_rx_tdata.value), int(dut.m_axis_rx_tuser.value)
        words = [data >> 32 * i & 0xFFFFFFFF for i in range(lanes)]
        if lanes < 4:
            end, keep = None, int(dut.m_axis_rx_tkeep.value)
            if dut.m_axis_rx_tlast.value == 1:
                end = {0x0F: 0, 0xFF: 1}[keep]
            else:
                assert keep == (1 << 4 * lanes) - 1
            start = 0 if self.current is None else None
        else:
            start = {0: 0, 8: 2}[user >> 10 & 15] if user >> 14 & 1 else None
            end = (user >> 17 & 15) // 4 if user >> 21 else None
            assert end is None or user >> 17 & 3 == 3
        if self.current is not None:
            self.current.words += words[: lanes if end is None else end + 1]
            if end is not None:
                self._end(user & 1)
            if start is None:
                return
            assert start == 2 and end in (0, 1), f"a packet begins in lane {start} and one ends in lane {end}"
            self.straddles += 1
        assert start is not None, "a beat of no packet"
        self.current = Received()
        self.current.bars = user >> 2 & 127
        if start:
            self.current.words = words[2:]
            return
        self.current.words = words[: lanes if end is None else end + 1]
        if end is not None:
            self._end(user & 1)

    def _end(self, ecrc: int) -> None:
        packet, self.current = self.current, None
        first = packet.words[0]
        packet.ecrc, packet.poisoned, packet.clock = ecrc, first >> 14 & 1, self.clock
        size = 3 + (first >> 29 & 1) + ((first & 1023 or 1024) if first >> 30 & 1 else 0)
        assert len(packet.words) == size, f"{len(packet.words)} dwords of a packet of {size}"
        self.received.append(packet)
        if self.link:
            self._obey(packet)

    def _obey(self, p: Received) -> None:
        first, second, third = p.words[:3]
        size = 3 + (first >> 29 & 1)
        payload = b"".join(w.to_bytes(4, "big") for w in p.words[size:])
        length = first & 1023 or 1024
        offset = p.words[size - 1] % BAR_BYTES
        if p.kind == "completion":
            self._answered(third >> 8 & 255, second >> 13 & 7, p.poisoned, payload[third & 3 :])
        elif p.kind == "write":
            if p.poisoned or p.ecrc or not p.bars & 1:
                self.errors.append(("poisoned" if p.poisoned else "ecrc", 1, 0, 0))
                return
            enables = [15] * length
            enables[-1] = second >> 4 & 15 if length > 1 else second & 15
            enables[0] = second & 15
            for i, byte in enumerate(payload):
                if enables[i // 4] >> i % 4 & 1:
                    self.memory[offset + i] = byte
        elif not self.answering:
            return
        elif p.kind == "read" and p.bars & 1:
            self._answer(p, offset, length)
        elif p.kind != "message":
            self._refuse(p)

    def _count(self, length: int, second: int) -> tuple[int, int]:
        """(first byte, number of bytes) of a read."""
        be = second & 15
        lead = next((i for i in range(4) if be >> i & 1), 0)
        if length == 1:
            return lead, max(be.bit_length() - lead, 1)
        return lead, 4 * length - lead - (4 - (second >> 4 & 15).bit_length())

    def _answer(self, p: Received, offset: int, length: int) -> None:
        """The answer to a read, cut at multiples of 128 here and there."""
        lead, left = self._count(length, p.words[1])
        at = offset + lead
        while left:
            whole = left
            edge = 128 - at % 128
            limit = self._payload() - at % 4
            if edge < left and (left > limit or self.rng.random() < 0.3):
                whole = edge + 128 * self.rng.randrange((min(left, limit) - edge) // 128 + 1) if left > edge else edge
                whole = min(whole, left)
            aligned = at & ~3
            content = bytes(self.memory[aligned : -(-(at + whole) // 4) * 4])
            self.queue.append(lambda a=at, n=left, c=content: self._beats(self.completion(p, a & 127, n, 0, c)))
            at, left = at + whole, left - whole

    def _payload(self) -> int:
        return 128 << (int(self.dut.cfg_dcommand.value) >> 5 & 7)

    def own(self) -> int:
        d = self.dut
        return int(d.cfg_bus_number.value) << 8 | int(d.cfg_device_number.value) << 3 | int(d.cfg_function_number.value)

    def completion(self, p: Received, lower: int, count: int, status: int, content: bytes, locked: bool = False) -> list[int]:
        first = (2 << 29 if content else 0) | (11 if locked else 10) << 24 | p.words[0] & 0x0070_3000 | len(content) // 4 & 1023
        words = [first, self.own() << 16 | status << 13 | count & 4095, p.words[1] & 0xFFFF_0000 | (p.words[1] >> 8 & 255) << 8 | lower]
        return words + [int.from_bytes(content[i : i + 4], "big") for i in range(0, len(content), 4)]

    def _refuse(self, p: Received) -> None:
        """Unsupported: the block answers for us."""
        first, second = p.words[:2]
        locked = first >> 24 & 31 == 1
        count = self._count(first & 1023 or 1024, second)[1] if first >> 24 & 31 <= 1 else 4
        header = count << 29 | (first >> 20 & 7) << 26 | (first >> 12 & 3) << 24 | second >> 16 << 8 | second >> 8 & 255
        self.errors.append(("ur", 0, int(locked), header))

    # ---- what we send

    def _give(self) -> None:
        dut = self.dut
        if self.showing:
            if dut.s_axis_tx_tready.value != 1:
                return
            self.showing = False
            self.begun += 1
        if not self.beats:
            self.begun = 0
            if self.queue and self.link and self.rng.random() >= self.idle:
                self.beats.extend(self.queue.popleft()() or ())
        beat = self.beats.popleft() if self.beats else None
        if beat is None:
            dut.s_axis_tx_tvalid.value = 0
            return
        dut.s_axis_tx_tdata.value, dut.s_axis_tx_tkeep.value, dut.s_axis_tx_tlast.value, dut.s_axis_tx_tuser.value = beat
        dut.s_axis_tx_tvalid.value = 1
        self.showing = True

    def _beats(self, words: list[int], user: int = 0) -> list[tuple]:
        beats = []
        for i in range(0, len(words), self.lanes):
            part = words[i : i + self.lanes]
            keep = (1 << 4 * len(part)) - 1
            part += [self.rng.getrandbits(32) for _ in range(self.lanes - len(part))]
            beats.append((sum(w << 32 * n for n, w in enumerate(part)), keep, int(i + self.lanes >= len(words)), user))
        return beats

    def send(self, words: list[int], user: int = 0) -> None:
        self.queue.append(lambda: self._beats(words, user))

    def send_beats(self, beats: list) -> None:
        self.queue.append(lambda: beats)

    def request(self, write: bool, address: int, length: int, tag: int = 0, content: bytes = b"") -> list[int]:
        """The dwords of a memory request for so many bytes at an address."""
        lead, dwords = address % 4, (address % 4 + length + 3) // 4
        first, last = 15 << lead & 15, 15 >> -(address + length) % 4
        if dwords == 1:
            first, last = first & last, 0
        long = int(address >> 32 > 0)
        words = [(2 * write | long) << 29 | dwords & 1023, self.own() << 16 | tag << 8 | last << 4 | first]
        words += [address >> 32, address & 0xFFFF_FFFC] if long else [address & ~3]
        padded = bytes(lead) + content + bytes(-(lead + length) % 4)
        return words + ([int.from_bytes(padded[i : i + 4], "big") for i in range(0, len(padded), 4)] if write else [])

    def may_master(self) -> bool:
        return bool(self.link and int(self.dut.cfg_command.value) & 4 and not int(self.dut.cfg_pmcsr_powerstate.value))

    async def _turn(self) -> None:
        while len(self.queue) > 2:
            await RisingEdge(self.dut.clk)

    async def write(self, address: int, content: bytes) -> None:
        """Returns when the last packet has been begun; raises Lost when one cannot be."""
        while content:
            await self._turn()
            size = min(len(content), 4096 - address % 4096, self.rng.randrange(1, self._payload() - address % 4 + 1))
            part, content = content[:size], content[size:]
            done, sent = Event(), []
            self.waiting[done] = None

            def beats(address=address, part=part, done=done, sent=sent):
                done.set()
                if not self.may_master() or len(part) + address % 4 > self._payload():
                    return None
                sent.append(True)
                return self._beats(self.request(True, address, len(part), content=part), self.rng.choice((0, STREAMED)))

            self.queue.append(beats)
            await done.wait()
            self.waiting.pop(done, None)
            if not sent:
                raise Lost("a write was not sent")
            address += size

    async def read(self, address: int, size: int) -> bytes:
        """Raises Lost when it cannot be asked or is not answered as it should."""
        result = b""
        while size:
            await self._turn()
            control = int(self.dut.cfg_dcommand.value)
            most = 128 << (control >> 12 & 7)
            part = min(size, 4096 - address % 4096, self.rng.randrange(1, most - address % 4 + 1))
            free = [t for t in range(256 if control >> 8 & 1 else 32) if t not in self.tags]
            tag, done, content = self.rng.choice(free), Event(), bytearray()
            self.tags[tag] = (part, done, content)

            def beats(address=address, part=part, tag=tag, done=done):
                late = int(self.dut.cfg_dcommand.value)
                short = 128 << (late >> 12 & 7) < part + address % 4 or tag >= (256 if late >> 8 & 1 else 32)
                if not self.may_master() or short:
                    self.tags.pop(tag, None)
                    done.set()
                    return None
                return self._beats(self.request(False, address, part, tag))

            self.queue.append(beats)
            losses = self.losses
            await done.wait()
            await ClockCycles(self.dut.clk, MEANINGLESS + 1)
            if len(content) != part or self.losses != losses:
                raise Lost(f"{len(content)} of {part} bytes")
            result += content
            address, size = address + part, size - part
        return result

    def _answered(self, tag: int, status: int, poisoned: int, payload: bytes) -> None:
        if tag not in self.tags:
            self.errors.append(("cpl_unexpect", 1, 0, 0))
            return
        part, done, content = self.tags[tag]
        content += payload[: part - len(content)]
        if status or poisoned or len(content) >= part:
            del self.tags[tag]
            done.set()
