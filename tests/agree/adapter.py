# SPDX-License-Identifier: Apache-2.0
"""The thin adapter: tp_core as a PCIe function of cocotbext-pcie.

`Card` is that package's Endpoint with our BARs, capabilities and configuration bundle. It turns the TLPs that the package's link hands
over into beats of the neutral streams, and the core's beats into TLPs. It holds no opinion on what a TLP means; it judges only what a
stream, or the link, allows: a beat that was shown stays, a packet has the beats its header tells of, requests keep to MPS, MRRS, 4 KiB and
the rules of byte enables, tags are not used twice, reads of a BAR come only against a credit.

Like a hard block it may pause any stream at any beat, keeps a few packets in its buffers, sends what the core gave in the order in which
the last beats were taken, delivers reads of a BAR behind the writes before them, and hands over answers to different reads in any order.
"""

import random
from collections import deque
from typing import NamedTuple

import cocotb
from bench import PACKAGES, TLP, TP, Layout
from built import BUILT
from cocotb.triggers import Event, RisingEdge
from cocotbext.pcie.core import Device, Endpoint
from cocotbext.pcie.core.caps import MsixCapability
from cocotbext.pcie.core.tlp import CplStatus, Tlp, TlpAttr, TlpTc, TlpType
from cocotbext.pcie.core.utils import PcieId

CONFIG, WRITE, READ, ANSWER, COMPLETION, REQUEST = (
    Layout(PACKAGES[1], f"tp_{name}_t") for name in ("config", "write_hdr", "read_hdr", "answer_hdr", "completion_hdr", "request_hdr")
)
VENDOR, DEVICE = 0x1D0F, 0x7077
BUFFERS = 16  # packets that wait for the link before the core is stopped
SHUFFLE = 8  # answers among which the next one is chosen
GRACE = 4  # clocks until a change of the configuration must have taken effect
CHANNELS = 2


class Limits(NamedTuple):
    """What the link allows the card."""

    master: bool
    payload: int
    read: int
    tags: int
    relaxed: bool


class Outbound:
    """One stream of the core's: its rules, and packets out of beats."""

    def __init__(self, dut, name: str, layout: Layout, rng: random.Random, stall: float):
        self.name, self.layout, self.rng, self.stall = name, layout, rng, stall
        self.valid, self.ready, self.hdr = (getattr(dut, f"tx_{name}_{s}") for s in ("valid", "ready", "hdr"))
        self.data = getattr(dut, f"tx_{name}_data", None)
        self.last = getattr(dut, f"tx_{name}_last", None)
        self.lane = len(self.data) // 8 if self.data is not None else 0
        self.waiting = None  # the beat that was shown and not taken
        self.open = None  # (header, payload so far)
        self.shown = 0  # clock in which the packet under way was first shown
        self.is_ready = 0
        self.change = 0  # clocks until `ready` may change
        self.ready.value = 0

    def pace(self, room: bool) -> None:
        """Choose `ready` for the next edge: pauses and bursts of random length."""
        want = self.is_ready
        if self.change == 0:
            want = int(self.rng.random() >= self.stall)
            self.change = self.rng.randrange(1, 12)
        self.change -= 1
        want = want if room else 0
        if want != self.is_ready:
            self.is_ready = want
            self.ready.value = want

    def idle(self) -> None:
        assert self.waiting is None, f"tx_{self.name}: a beat was taken back before it was accepted"

    def sample(self, clock: int):
        """(header's fields, payload) of the packet whose last beat was taken, if one was."""
        if self.valid.value != 1:
            self.idle()
            return None
        if self.waiting is None and self.open is None:
            self.shown = clock
        beat = (int(self.hdr.value), int(self.data.value) if self.lane else 0, int(self.last.value) if self.lane else 1)
        assert self.waiting in (None, beat), f"tx_{self.name}: a beat changed while it waited"
        if not self.is_ready:
            self.waiting = beat
            return None
        self.waiting = None
        header, data, last = beat
        if self.open is None:
            self.open = (header, bytearray())
        assert self.open[0] == header, f"tx_{self.name}: the header changed within a packet"
        if self.lane:
            self.open[1].extend(data.to_bytes(self.lane, "little"))
        if not last:
            return None
        payload, self.open = self.open[1], None
        fields = self.layout.unpack(header)
        if self.lane:
            beats = max(1, -(-4 * fields["dwords"] // self.lane))
            assert len(payload) == beats * self.lane, f"tx_{self.name}: {len(payload) // self.lane} beats for {fields}"
        return fields, bytes(payload[: 4 * fields["dwords"]]) if self.lane else b""


class Inbound:
    """One stream to the core: packets into beats, with pauses."""

    def __init__(self, dut, name: str, rng: random.Random, stall: float):
        self.rng, self.stall = rng, stall
        self.valid, self.hdr = (getattr(dut, f"rx_{name}_{s}") for s in ("valid", "hdr"))
        self.data = getattr(dut, f"rx_{name}_data", None)
        self.last = getattr(dut, f"rx_{name}_last", None)
        self.lane = len(self.data) // 8 if self.data is not None else 0
        self.beats = deque()
        self.shown = False
        self.tlp = None
        self.valid.value = 0

    def load(self, tlp: Tlp, header: int, payload: bytes) -> None:
        step = self.lane or 4
        parts = [payload[i : i + step] for i in range(0, len(payload), step)] if self.lane else []
        self.tlp = tlp
        self.beats.extend((header, part) for part in parts or [b""])

    def drive(self):
        """Show a beat, or none; returns the TLP that this completes."""
        if not self.beats or self.rng.random() < self.stall:
            if self.shown:
                self.valid.value = 0
                self.shown = False
            return None
        header, part = self.beats.popleft()
        self.valid.value = 1
        self.shown = True
        self.hdr.value = header
        if self.lane:
            # Lanes that do not count hold rubbish.
            self.data.value = int.from_bytes(part + self.rng.randbytes(self.lane - len(part)), "little")
            self.last.value = int(not self.beats)
        if self.beats:
            return None
        tlp, self.tlp = self.tlp, None
        return tlp


def check_request(tlp: Tlp, most: int, relaxed: bool) -> str:
    """The link's rules for a request of the card's, of `most` bytes; says whether it is a write or a read."""
    what = "read" if tlp.is_nonposted() else "write"
    where = f"{what} of {tlp.length} dwords at {tlp.address:#x}"
    assert relaxed or not tlp.attr & TlpAttr.RO, f"{where}, relaxed, which is not allowed"
    assert tlp.address % 4 == 0 and 1 <= tlp.length <= most // 4, f"{where}; {most} bytes are allowed"
    assert tlp.address // 4096 == (tlp.address + 4 * tlp.length - 1) // 4096, f"{where} crosses 4 KiB"
    if tlp.length == 1:
        right = tlp.last_be == 0 and tlp.first_be
    else:
        right = tlp.first_be in (15, 14, 12, 8) and tlp.last_be in (15, 7, 3, 1)
    assert right, f"{where}, byte enables {tlp.first_be:04b} {tlp.last_be:04b}"
    return what


ABORT_BITS = True  # the model keeps a record of aborts in the Status register
FAULTS = ("byte_enables", "tag", "lanes", "order", "lower_address")


class Card(Endpoint):
    """tp_core as an endpoint. `fault` plants a mistake (see FAULTS) to show that the bench would see it."""

    def __init__(self, dut, rng: random.Random, stall: float = 0.2, fault: str | None = None):
        super().__init__()
        assert fault is None or fault in FAULTS
        self.dut, self.rng, self.fault = dut, rng, fault
        self.vendor_id, self.device_id, self.class_code = VENDOR, DEVICE, 0x120000
        page = 1 << BUILT.PAGE_SHIFT
        self.pages = (TP.TP_PAGE_CHANNELS + CHANNELS * TP.TP_PAGES_PER_CHANNEL) * page
        self.configure_bar(TP.TP_BAR_DEVICE, self.pages, ext=True, prefetch=True)
        self.configure_bar(TP.TP_BAR_WINDOW, BUILT.WINDOW_BYTES, ext=True, prefetch=True)
        self.msix_cap = MsixCapability()
        self.msix_cap.msix_table_size = BUILT.VECTORS - 1
        self.msix_cap.msix_table_bar_indicator_register = self.msix_cap.msix_pba_bar_indicator_register = TP.TP_BAR_DEVICE
        self.msix_cap.msix_table_offset = TP.TP_PAGE_MSIX * page + TP.TP_MSIX_VECTOR_OFFSET
        self.msix_cap.msix_pba_offset = TP.TP_PAGE_MSIX * page + TP.TP_MSIX_PENDING_OFFSET
        self.register_capability(self.msix_cap)
        self.pcie_cap.max_payload_size_supported = 3
        self.pcie_cap.extended_tag_supported = True
        self.pcie_cap.function_level_reset_capability = True
        self.pcie_cap.initiate_function_level_reset = self._function_reset

        self.posted_out = Outbound(dut, "posted", WRITE, rng, stall)
        self.read_out = Outbound(dut, "read", READ, rng, stall)
        self.answer_out = Outbound(dut, "answer", ANSWER, rng, stall)
        self.completion_in = Inbound(dut, "completion", rng, stall / 2)
        dut.rx_completion_bad.value = 0
        self.posted_in = Inbound(dut, "posted", rng, stall / 2)
        self.nonposted_in = Inbound(dut, "nonposted", rng, stall / 2)
        self.completions: deque = deque()  # from the link, in its order
        self.requests: deque = deque()  # writes and reads of a BAR, in the link's order
        self.credits = 0
        self.reading: dict[int, int] = {}  # the core's reads in flight: tag: bytes to come
        self.asked: dict[tuple[int, int], Tlp] = {}  # the host's reads in flight
        self.outgoing: deque = deque()  # in the order in which the core's packets were taken whole
        self.late: Tlp | None = None  # see _accept
        self.more = Event()
        self.clock = 0
        self.function_reset = False
        self.largest = {"write": 0, "read": 0, "reads in flight": 0}
        self.changed = True  # the configuration, since the core saw it last
        self.limits = self.former_limits = self._limits()
        self.since = 0  # clock in which the core saw `limits` first
        cocotb.start_soon(self._run())
        cocotb.start_soon(self._transmit())

    # ---- configuration space

    async def write_config_register(self, reg, data, mask):
        await super().write_config_register(reg, data, mask)
        self.changed = True

    def _configuration(self) -> int:
        """What configuration space says, as the core is to see it from the next clock on."""
        cap = self.pcie_cap
        return CONFIG.pack(
            requester=int(self.pcie_id),
            max_payload=cap.max_payload_size,
            max_read=cap.max_read_request_size,
            rcb_128=int(cap.read_completion_boundary),
            bus_master=int(self.bus_master_enable),
            relaxed=int(cap.enable_relaxed_ordering),
            tags_8bit=int(cap.extended_tag_field_enable),
            completion_timeout=cap.completion_timeout_value,
            msix_enable=int(self.msix_cap.msix_enable),
            msix_mask=int(self.msix_cap.msix_function_mask),
            link_up=1,
            active=1,
            function_reset=int(self.function_reset),
            transmit_room=(1 << CONFIG.fields["transmit_room"][1]) - 1,
        )

    def _limits(self) -> Limits:
        cap = self.pcie_cap
        tags = 256 if cap.extended_tag_field_enable else 32
        payload, read = 128 << cap.max_payload_size, 128 << cap.max_read_request_size
        return Limits(self.bus_master_enable, payload, read, tags, cap.enable_relaxed_ordering)

    def _allowed(self, stream: Outbound) -> Limits:
        """The limits that hold for the packet of this stream: when they changed while it was shown, either."""
        if stream.shown > self.since + GRACE:
            return self.limits
        return Limits(*map(max, self.limits, self.former_limits))

    async def _function_reset(self) -> None:
        """Function-level reset: configuration space goes back to its defaults at once, the core says when it is quiet."""
        self.memory_space_enable = self.bus_master_enable = self.msix_cap.msix_enable = self.msix_cap.msix_function_mask = False
        cap = self.pcie_cap
        cap.max_payload_size, cap.max_read_request_size, cap.extended_tag_field_enable = 0, 2, False
        for i, mask in enumerate(self.bar_mask):
            self.bar[i] &= ~mask
        self.function_reset = True

    # ---- from the link

    async def handle_tlp(self, tlp: Tlp) -> None:
        memory = (TlpType.MEM_WRITE, TlpType.MEM_WRITE_64, TlpType.MEM_READ, TlpType.MEM_READ_64)
        if tlp.is_completion():
            self.completions.append(tlp)
        elif tlp.fmt_type in memory:
            if not self.memory_space_enable or not self.match_bar(tlp.address):
                tlp.release_fc()
                if tlp.is_nonposted():
                    await self.send(Tlp.create_ur_completion_for_tlp(tlp, self.pcie_id))
                return
            self.requests.append(tlp)
        else:
            await super().handle_tlp(tlp)

    def _next_completion(self) -> Tlp:
        """Answers to one read stay in order, those to different reads need not."""
        first = {}
        for i, tlp in enumerate(self.completions):
            first.setdefault(tlp.tag, i)
            if i >= SHUFFLE:
                break
        i = self.rng.choice(list(first.values()))
        tlp = self.completions[i]
        del self.completions[i]
        return tlp

    def _load_completion(self) -> None:
        tlp = self._next_completion()
        payload = bytes(tlp.data) if tlp.has_data() else b""
        if tlp.tag in self.reading:
            self.reading[tlp.tag] -= len(payload) - (tlp.lower_address & 3) if payload else self.reading[tlp.tag]
            if tlp.status != CplStatus.SC or self.reading[tlp.tag] <= 0:
                del self.reading[tlp.tag]
        tag = tlp.tag
        if self.fault == "tag" and len(self.reading) > 1:
            tag = self.rng.choice(list(self.reading))
        if self.fault == "lanes" and len(payload) > 8:
            payload = payload[4:] + payload[:4]
        header = COMPLETION.pack(
            tag=tag,
            status=int(tlp.status),
            poisoned=int(tlp.ep),
            dwords=len(payload) // 4,
            byte_count=tlp.byte_count,
            lower_addr=tlp.lower_address,
        )
        self.completion_in.load(tlp, header, payload)

    def _request(self, tlp: Tlp) -> int:
        bar, offset = self.match_bar(tlp.address)
        read = {} if tlp.has_data() else {"requester": int(tlp.requester_id), "tag": tlp.tag, "tc": int(tlp.tc), "attr": int(tlp.attr)}
        return REQUEST.pack(bar=bar, offset=offset, dwords=tlp.length, first_be=tlp.first_be, last_be=tlp.last_be, **read)

    def _load_request(self) -> None:
        """Writes go as they come. The first read goes when it has a credit and the writes before it have gone; writes may pass it."""
        if not self.posted_in.beats:
            for i, tlp in enumerate(self.requests):
                if tlp.is_posted():
                    del self.requests[i]
                    self.posted_in.load(tlp, self._request(tlp), bytes(tlp.data))
                    break
        if not self.nonposted_in.beats and not self.posted_in.beats and self.credits and self.requests and self.requests[0].is_nonposted():
            tlp = self.requests.popleft()
            self.credits -= 1
            assert (int(tlp.requester_id), tlp.tag) not in self.asked, "the host uses a tag twice"
            self.asked[int(tlp.requester_id), tlp.tag] = tlp
            self.nonposted_in.load(tlp, self._request(tlp), b"")

    # ---- from the core

    def _check_request(self, stream: Outbound, tlp: Tlp, most: int) -> None:
        allowed = self._allowed(stream)
        what = check_request(tlp, most, allowed.relaxed)
        assert allowed.master, f"{what} at {tlp.address:#x} with bus mastering off"
        self.largest[what] = max(self.largest[what], 4 * tlp.length)

    def _write(self, f: dict[str, int], payload: bytes) -> Tlp:
        tlp = Tlp()
        tlp.fmt_type = TlpType.MEM_WRITE_64 if f["addr"] >> 32 else TlpType.MEM_WRITE
        tlp.requester_id = self.pcie_id
        tlp.address, tlp.length, tlp.first_be, tlp.last_be = f["addr"], f["dwords"], f["first_be"], f["last_be"]
        tlp.attr = TlpAttr.RO if f["relaxed"] else TlpAttr(0)
        tlp.tc = TlpTc(f["tc"])
        self._check_request(self.posted_out, tlp, self._allowed(self.posted_out).payload)
        if self.fault == "byte_enables" and tlp.length > 1:
            tlp.first_be = 15
        tlp.data = bytearray(payload)
        return tlp

    def _read(self, f: dict[str, int], _: bytes) -> Tlp:
        allowed = self._allowed(self.read_out)
        assert f["tag"] not in self.reading, f"tag {f['tag']} is in use"
        assert f["tag"] < allowed.tags, f"tag {f['tag']} is too long for this link"
        tlp = Tlp()
        tlp.fmt_type = TlpType.MEM_READ_64 if f["addr"] >> 32 else TlpType.MEM_READ
        tlp.requester_id = self.pcie_id
        tlp.address, tlp.length, tlp.first_be, tlp.last_be, tlp.tag = f["addr"], f["dwords"], f["first_be"], f["last_be"], f["tag"]
        tlp.attr = TlpAttr.RO if f["relaxed"] else TlpAttr(0)
        tlp.tc = TlpTc(f["tc"])
        self._check_request(self.read_out, tlp, allowed.read)
        self.reading[tlp.tag] = tlp.get_be_byte_count()
        self.largest["reads in flight"] = max(self.largest["reads in flight"], len(self.reading))
        return tlp

    def _answer(self, f: dict[str, int], payload: bytes) -> Tlp:
        asked = self.asked.pop((f["requester"], f["tag"]), None)
        assert asked is not None, f"an answer to a read that nobody asked: {f}"
        tlp = Tlp()
        tlp.fmt_type = TlpType.CPL_DATA if f["dwords"] else TlpType.CPL
        tlp.requester_id = PcieId.from_int(f["requester"])
        tlp.completer_id = self.pcie_id
        tlp.status = CplStatus(f["status"])
        assert (f["dwords"] == 0) == (f["status"] != TLP.CPL_OK), f"an answer with {f}"
        assert (f["tc"], f["attr"]) == (int(asked.tc), int(asked.attr)), f"traffic class and attributes of the question, not {f}"
        tlp.tag, tlp.tc, tlp.attr = f["tag"], TlpTc(f["tc"]), TlpAttr(f["attr"])
        tlp.byte_count, tlp.lower_address, tlp.length = f["byte_count"], f["lower_addr"], f["dwords"]
        if self.fault == "lower_address":
            tlp.lower_address ^= 1
        tlp.data = bytearray(payload)
        return tlp

    def _accept(self, stream: Outbound, build) -> None:
        packet = stream.sample(self.clock)
        if packet is None:
            return
        tlp = build(*packet)
        late, self.late = self.late, None
        if self.fault == "order" and tlp.has_data() and tlp.length > 4 and late is None:
            self.late = tlp  # goes behind the packet after it
        else:
            self.outgoing.extend([tlp] if late is None else [tlp, late])
        self.more.set()

    async def _transmit(self) -> None:
        while True:
            while not self.outgoing:
                self.more.clear()
                await self.more.wait()
            await self.send(self.outgoing.popleft())

    # ---- clock by clock

    async def _run(self) -> None:
        dut = self.dut
        edge = RisingEdge(dut.clk)
        streams = (self.posted_out, self.read_out, self.answer_out)
        builders = (self._write, self._read, self._answer)
        inbound = (self.completion_in, self.posted_in, self.nonposted_in)
        while True:
            if self.changed:
                dut.cfg.value = self._configuration()
                self.former_limits, self.limits, self.since = self.limits, self._limits(), self.clock
                self.changed = False
            if self.completions and not self.completion_in.beats:
                self._load_completion()
            if self.requests:
                self._load_request()
            for stream in inbound:
                if stream.beats or stream.shown:
                    done = stream.drive()
                    if done is not None:
                        done.release_fc()
            room = len(self.outgoing) < BUFFERS
            for stream in streams:
                stream.pace(room)
            await edge
            self.clock += 1
            if dut.activity.value == 1:
                for stream, build in zip(streams, builders, strict=True):
                    self._accept(stream, build)
                self.credits += int(dut.nonposted_credit.value)
                if dut.function_reset_done.value == 1:
                    assert self.function_reset, "a function reset was acknowledged that nobody asked for"
                    self.function_reset = False
                    self.changed = True
            else:
                for stream in streams:
                    stream.idle()


def make(dut, rng: random.Random, stall: float, fault: str | None) -> tuple[Card, Device]:
    """The card, and the device that it is a function of; its link is as fast as the core's data path, so that either end may wait."""
    card = Card(dut, rng, stall, fault)
    found = Device(card)
    found.upstream_port.max_link_speed, found.upstream_port.max_link_width = 3 if len(dut.tx_posted_data) == 128 else 2, 4
    return card, found
