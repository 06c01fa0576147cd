# SPDX-License-Identifier: Apache-2.0
"""The user side of the 7 Series Integrated Block for PCI Express (product guide PG054), pin by pin, as a function of cocotbext-pcie.

`Block` is that package's Endpoint: its link leads to a root complex, and its configuration space is the block's. On the other side it
drives and samples the pins of the AXI4-Stream interface, 32 to 128 bit, of any device under test that has ports of the block's names. It
knows nothing of what the user does with packets. plan.md lists the rules, where each is from, and what could not be confirmed.

Towards the user it does whatever the guide lets the block do, at random: pauses, straddled packets, answers to different reads in any
order, rubbish where nothing counts. From the user it accepts what the guide and a link partner accept; anything else is a breach, which
fails the test. With `tolerant` a breach is only noted in `breaches`, and the packet is dropped, as the block would do or might.
"""

import random
import struct
from collections import deque

import cocotb
from bench import TP
from built import BUILT
from cocotb.triggers import Event, RisingEdge, ValueChange
from cocotbext.pcie.core import Device, Endpoint
from cocotbext.pcie.core.caps import MsixCapability
from cocotbext.pcie.core.tlp import CplStatus, Tlp, TlpType
from rules import COMPLETION, COMPLETION_LOCKED, MEMORY, SUCCESS, Asked, Header, Limits, enabled, judge_header, judge_request

VENDOR, DEVICE = 0x1D0F, 0x7077
LINKS = {32: (1, 4), 64: (2, 4), 128: (3, 4)}  # generation and lanes, as fast as the width at 250 MHz
CHANNELS = 2
SHUFFLE = 8  # answers among which the next one is chosen
PATIENCE = 4000  # clocks that the user may take for what it has to do in the end
LATE = 2  # non-posted packets that may still come when rx_np_ok has fallen
COMPLETION_HEADERS, COMPLETION_CREDITS = 36, 461  # room for answers in the receive buffer; a credit is 16 bytes
PRESSED = 8  # answers in the receive buffer from which on the block makes no pauses of its own
RESET_CLOCKS = 250  # that stand for the 100 ms which software waits after a function-level reset
L0, L1 = 0, 1  # cfg_pcie_link_state
ERRORS = (
    "ur cpl_abort posted locked cpl_timeout cpl_unexpect ecrc cor poisoned malformed norecovery internal_cor internal_uncor acs mc_blocked "
    "atomic_egress_blocked"
).split()
ABORT_BITS = True  # the package's endpoint keeps a record of aborts in the Status register
FAULTS = ("byte_enables", "tag", "lanes", "order", "lower_address", "byte_order")


class Packet:
    """What is presented on the receive pins: dwords as the link carries them, and what the block tells beside them."""

    __slots__ = ("words", "header", "bars", "poisoned", "ecrc", "tlp", "number", "null")

    def __init__(self, words: list[int], bars: int, ecrc: bool, tlp: Tlp | None, number: int):
        self.words, self.header, self.bars, self.ecrc, self.tlp, self.number = words, Header(words), bars, ecrc, tlp, number
        self.poisoned = self.header.poisoned
        self.null = False  # the link was lost within it: what is left of it means nothing


class Block(Endpoint):
    """The block with our BARs and capabilities. `fault` plants a mistake (see FAULTS) to show that a bench behind it would see it."""

    gaps = True  # m_axis_rx_tvalid may fall within a packet
    lone = 0.1  # share of packets that begin in the upper half of an otherwise empty beat, 128 bit

    def __init__(self, dut, rng: random.Random, stall: float = 0.2, fault: str | None = None, tolerant: bool = False):
        super().__init__()
        assert fault is None or fault in FAULTS
        self.dut, self.rng, self.stall, self.fault, self.tolerant = dut, rng, stall, fault, tolerant
        self.breaches: list[tuple[str, str]] = []
        self.reports = dict.fromkeys(ERRORS, 0)  # clocks in which the user reported each
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

        self.width = len(dut.m_axis_rx_tdata)
        assert self.width in (32, 64, 128), self.width
        self.lanes = self.width // 32
        self.grace = 8192 // self.width  # beats that the user may move until a change must show in its requests: 1 KiB
        self.clock = 0
        self.started = Event()  # nothing comes before the link has been up once
        self.up = False  # the link, as the block sees it; user_lnk_up follows
        self.resetting = True  # user_reset is 1
        self.off = False  # turned off: nothing is taken any more
        self.link_state, self.awake = L0, 0
        self.function_reset = False
        self.captured = False  # bus and device number, from the first configuration write on
        self.changed = True  # the configuration, since the pins showed it last
        self._init_receive()
        self._init_transmit()
        self.limits = self._limits()
        self.former: list[tuple[int, Limits]] = []  # limits that still hold until so many beats have moved
        self.edge = RisingEdge(dut.clk)
        self.shown: dict[str, int] = {}
        for name in ("s_axis_tx_tready", "m_axis_rx_tvalid", "tx_err_drop", "tx_cfg_req", "cfg_err_cpl_rdy", "cfg_to_turnoff"):
            self._show(name, 0)
        self._show("tx_buf_av", self.buffers)
        self._show("user_lnk_up", 0)
        self._show_reset(1)
        self._show_configuration()
        for task in (self._run(), self._send(), self._start(), *map(self._watch, ERRORS), self._watch_ok(), self._watch_req()):
            cocotb.start_soon(task)

    # ---- pins

    def _pin(self, name: str):
        return getattr(self.dut, name, None)

    def _show(self, name: str, value: int) -> None:
        """Drive a pin of the block's; a top need not have those that its user ignores."""
        if self.shown.get(name) != value:
            self.shown[name] = value
            pin = self._pin(name)
            if pin is not None:
                pin.value = value

    def _show_reset(self, value: int) -> None:
        self._show("user_reset", value)
        self._show("user_reset_out", value)
        self.resetting = bool(value)
        self.np_asked, self.np_req_since = 0, self.clock  # what was asked for during a reset is forgotten

    def _read(self, name: str, absent: int = 0) -> int:
        pin = self._pin(name)
        return absent if pin is None else int(pin.value)

    def breach(self, check: str, what: str) -> None:
        text = f"{check}: {what}"
        if not self.tolerant:
            raise AssertionError(text)
        self.breaches.append((check, text))

    # ---- configuration space

    async def write_config_register(self, reg, data, mask):
        await super().write_config_register(reg, data, mask)
        self.captured = self.changed = True

    def _id(self) -> int:
        return int(self.pcie_id) if self.captured else 0

    def _limits(self) -> Limits:
        cap = self.pcie_cap
        return Limits(
            master=bool(self.bus_master_enable),
            active=self.pm_cap.power_state == 0,
            payload=128 << cap.max_payload_size,
            read=128 << cap.max_read_request_size,
            tags=256 if cap.extended_tag_field_enable else 32,
            relaxed=bool(cap.enable_relaxed_ordering),
            snoop=bool(cap.enable_no_snoop),
            order=bool(cap.ido_request_enable),
            ids=frozenset({self._id()}),
        )

    def _allowed(self) -> Limits:
        """The limits for a packet that is shown now: near a change the former ones as well."""
        allowed = self.limits
        if self.former:
            self.former = [f for f in self.former if f[0] >= self.moves]
            for _, limits in self.former:
                allowed = allowed.either(limits)
        return allowed

    def _show_configuration(self) -> None:
        cap, limits = self.pcie_cap, self._limits()
        if limits != self.limits:
            self.former.append((self.moves + self.grace, self.limits))
            self.limits = limits
        own = self._id()
        command = self.io_space_enable | self.memory_space_enable << 1 | self.bus_master_enable << 2
        control = cap.correctable_error_reporting_enable | cap.non_fatal_error_reporting_enable << 1 | cap.fatal_error_reporting_enable << 2
        control |= cap.unsupported_request_reporting_enable << 3 | cap.enable_relaxed_ordering << 4 | cap.max_payload_size << 5
        control |= cap.extended_tag_field_enable << 8 | cap.enable_no_snoop << 11 | cap.max_read_request_size << 12
        control_2 = cap.completion_timeout_value | cap.completion_timeout_disable << 4 | cap.ari_forwarding_enable << 5
        control_2 |= cap.atomic_op_requester_enable << 6 | cap.ido_request_enable << 8 | cap.ido_completion_enable << 9
        status = cap.correctable_error_detected | cap.nonfatal_error_detected << 1 | cap.fatal_error_detected << 2
        for name, value in {
            "bus_number": own >> 8,
            "device_number": own >> 3 & 31,
            "function_number": own & 7,
            "command": command | self.serr_enable << 8 | self.interrupt_disable << 10,
            "status": 0,  # the block shows none
            "dcommand": control,
            "dcommand2": control_2 | cap.ltr_mechanism_enable << 10,
            "dstatus": status | cap.unsupported_request_detected << 3 | cap.transactions_pending << 5,
            "lcommand": cap.aspm_control | cap.read_completion_boundary << 3 | cap.link_disable << 4 | cap.common_clock_configuration << 6,
            "lstatus": 1 | 4 << 4,
            "interrupt_msixenable": int(self.msix_cap.msix_enable),
            "interrupt_msixfm": int(self.msix_cap.msix_function_mask),
            "interrupt_msienable": 0,
            "pmcsr_powerstate": self.pm_cap.power_state,
            "pcie_link_state": self.link_state,
            "received_func_lvl_rst": int(self.pulse > 0),
        }.items():
            self._show(f"cfg_{name}", value)

    def _defaults(self) -> None:
        """Configuration space as after a reset."""
        self.memory_space_enable = self.bus_master_enable = self.msix_cap.msix_enable = self.msix_cap.msix_function_mask = False
        cap = self.pcie_cap
        cap.max_payload_size, cap.max_read_request_size, cap.extended_tag_field_enable = 0, 2, False
        for i, mask in enumerate(self.bar_mask):
            self.bar[i] &= ~mask
        self.pm_cap.power_state = 0
        self.changed = True

    async def _function_reset(self) -> None:
        """Function-level reset: the block knows no acknowledgement; software waits."""
        self._defaults()
        self.function_reset = True
        self.pulse = self.rng.randrange(1, 5)
        cocotb.start_soon(self._function_reset_ends())

    async def _function_reset_ends(self) -> None:
        await self._clocks(RESET_CLOCKS)
        while self.outgoing or self.completions or self.words is not None or self.waiting is not None:
            await self.edge
        self.function_reset = False

    async def renumber(self, bus: int) -> None:
        """The host gives the bus another number, by a configuration write that reaches us."""
        self.pcie_id = self.pcie_id._replace(bus=bus)
        self.changed = True

    # ---- the link

    async def _clocks(self, count: int) -> None:
        for _ in range(count):
            await self.edge

    async def _start(self) -> None:
        await self._clocks(8)
        self._show_reset(0)
        await self._clocks(self.rng.randrange(1, 5))
        await self._link_up()
        self.started.set()

    async def _link_up(self) -> None:
        self._show("user_lnk_up", 1)
        self.np_low = set()
        await self._clocks(2)
        self.former.clear()  # what was allowed before the link was lost is not
        self.up, self.up_since = True, self.clock

    async def link_down(self, clocks: int = 40, hot: bool = False, lag: int | None = None) -> None:
        """Lose the link for so many clocks, in the middle of whatever packet there is; `hot`: by a hot reset, which resets the user too.

        user_lnk_up falls `lag` clocks behind the first beat that means nothing, or before it.
        """
        lag = self.rng.randrange(-2, 3) if lag is None else lag
        if lag < 0:
            self._show("user_lnk_up", 0)
            await self._clocks(-lag)
        self.up = False
        self._drop_everything()
        if lag >= 0:
            await self._clocks(lag)
            self._show("user_lnk_up", 0)
        self.captured = False
        self._defaults()
        if hot:
            await self._clocks(self.rng.randrange(5))
            self._show_reset(1)
            self._cut()
        await self._clocks(clocks)
        # The package's link never goes: what the host still answers has to be gone before the next packets.
        for _ in range(PATIENCE):
            if not self.abroad:
                break
            await self.edge
        self.abroad.clear()
        if hot:
            self._show_reset(0)
            await self._clocks(self.rng.randrange(1, 5))
        # Nothing starts before the packet that was cut has been filled up.
        while self.packet is not None or self.valid:
            await self.edge
        await self._link_up()

    def _drop_everything(self) -> None:
        """What the link's end takes with it. A packet on either side's pins is finished first."""
        for packet in (*self.posted, *self.nonposted, *self.completions):
            if packet.tlp is not None:
                packet.tlp.release_fc()
        self.taken -= len(self.outgoing)
        for queue in (self.posted, self.nonposted, self.completions, self.outgoing, self.internal, self.reading, self.asked):
            queue.clear()
        self.credits_held = 0
        self.late = None
        self._show("tx_cfg_req", 0)
        self.spoiled = self.words is not None
        if self.packet is not None:
            self.packet.null = True

    def _cut(self) -> None:
        """A reset of the user side: no packet on the pins is finished."""
        self.packet, self.valid, self.ends = None, 0, ()
        self.waiting = self.words = None
        self.ready = 0
        self._show("m_axis_rx_tvalid", 0)
        self._show("s_axis_tx_tready", 0)

    async def turn_off(self) -> None:
        """The host is about to take power away: the user finishes and says so, and nothing more is taken from it."""
        self._show("cfg_to_turnoff", 1)
        await self._clocks(1)
        self._show("cfg_to_turnoff", 0)
        for _ in range(PATIENCE):
            await self.edge
            if self._read("cfg_turnoff_ok"):
                self.off = True
                return
        self.breach("turnoff", f"cfg_turnoff_ok did not come within {PATIENCE} clocks of cfg_to_turnoff")

    # ---- from the link

    async def handle_tlp(self, tlp: Tlp) -> None:
        await self.started.wait()
        if tlp.is_completion() and tlp.tag in self.abroad:
            self.abroad[tlp.tag] -= len(tlp.data) - (tlp.lower_address & 3)
            if tlp.status != CplStatus.SC or self.abroad[tlp.tag] <= 0:
                del self.abroad[tlp.tag]
        if not self.up:
            tlp.release_fc()
        elif tlp.is_completion():
            self._queue(Packet(self._words(tlp), self.rng.getrandbits(7), False, tlp, self._number()))
        elif tlp.fmt_type in (TlpType.MEM_WRITE, TlpType.MEM_WRITE_64, TlpType.MEM_READ, TlpType.MEM_READ_64):
            hit = self.match_bar(tlp.address)
            if not self.memory_space_enable or not hit:
                tlp.release_fc()
                if tlp.is_nonposted():
                    await self.upstream_send(Tlp.create_ur_completion_for_tlp(tlp, self.pcie_id))
                return
            # A 64-bit BAR is two of 32 bit; whether the upper one counts as hit as well is not certain.
            self._queue(Packet(self._words(tlp), self.rng.choice((1, 3)) << hit[0], False, tlp, self._number()))
        elif tlp.fmt_type in (TlpType.IO_READ, TlpType.IO_WRITE):
            tlp.release_fc()
            await self.upstream_send(Tlp.create_ur_completion_for_tlp(tlp, self.pcie_id))
        else:
            self.pcie_cap.transactions_pending = bool(self._read("cfg_trn_pending"))
            await super().handle_tlp(tlp)

    def inject(self, words: list[int], bars: int = 0, ecrc: bool = False) -> None:
        """Hand a packet of any kind to the user that no root complex of the package would send: a message, a locked read, a bad ECRC."""
        self._queue(Packet(words, bars, ecrc, None, self._number()))

    def _words(self, tlp: Tlp) -> list[int]:
        raw = bytes(tlp.pack())
        size = tlp.get_header_size()
        if self.fault == "lanes" and tlp.is_completion() and len(raw) > size + 8:
            raw = raw[:size] + raw[size + 4 :] + raw[size : size + 4]
        words = list(struct.unpack(f">{len(raw) // 4}I", raw))
        if self.fault == "byte_order":
            words[size // 4 :] = struct.unpack(f"<{(len(raw) - size) // 4}I", raw[size:])
        if self.fault == "tag" and tlp.is_completion() and len(self.reading) > 1:
            words[2] = words[2] & ~0xFF00 | next(tag for tag in range(256) if tag not in self.reading) << 8
        return words

    def _number(self) -> int:
        self.numbers += 1
        return self.numbers

    def _queue(self, packet: Packet) -> None:
        if packet.header.completion:
            self.completions.append(packet)
            self.credits_held += -(-4 * (len(packet.words) - 3) // 16)
            if len(self.completions) > COMPLETION_HEADERS or self.credits_held > COMPLETION_CREDITS:
                self.breach("room", f"{len(self.completions)} answers of {self.credits_held} credits wait: the receive buffer overflows")
        else:
            (self.posted if packet.header.posted else self.nonposted).append(packet)

    # ---- receive pins

    def _init_receive(self) -> None:
        self.posted: deque[Packet] = deque()
        self.nonposted: deque[Packet] = deque()
        self.completions: deque[Packet] = deque()
        self.credits_held = 0
        self.numbers = 0  # of arrival
        self.reading: dict[int, int] = {}  # the user's reads in flight: tag: bytes to come
        self.asked: dict[tuple[int, int], Asked] = {}  # what it has been asked and has not answered
        self.packet: Packet | None = None  # under way
        self.at = 0  # its dwords that have been shown
        self.valid = 0
        self.ends: tuple = ()  # packets that end in the beat that is shown
        self.np_ok, self.np_ok_late = 1, 0
        self.np_req, self.np_req_since, self.np_asked = 1, 0, 0
        self.np_low: set[str] = set()  # which of the two the user has held low
        self.rx = {name: getattr(self.dut, f"m_axis_rx_{name}") for name in ("tdata", "tkeep", "tlast", "tvalid", "tready", "tuser")}

    async def _watch_ok(self) -> None:
        pin = self._pin("rx_np_ok")
        while pin is not None:
            self.np_ok = int(pin.value)
            if self.np_ok:
                self.np_ok_late = LATE
            self._look_at_both()
            await ValueChange(pin)

    async def _watch_req(self) -> None:
        pin = self._pin("rx_np_req")
        while pin is not None:
            self.np_asked += (self.clock - self.np_req_since) * self.np_req
            self.np_req, self.np_req_since = int(pin.value), self.clock
            self._look_at_both()
            await ValueChange(pin)

    def _look_at_both(self) -> None:
        """rx_np_ok and rx_np_req must not be used together; in and shortly after a reset either may be low."""
        if not self.up or self.clock < self.up_since + 16:
            return
        self.np_low |= {name for name, level in (("rx_np_ok", self.np_ok), ("rx_np_req", self.np_req)) if not level}
        if len(self.np_low) == 2:
            self.np_low = set()
            self.breach("np_both", "rx_np_ok and rx_np_req are both used; one has to stay high")

    def _nonposted_may_come(self) -> bool:
        asked = self.np_asked + (self.clock - self.np_req_since) * self.np_req
        return asked > 0 and bool(self.np_ok or self.np_ok_late)

    def _next(self) -> Packet | None:
        """The packet to begin with now: nothing passes a posted one but another that came before it; otherwise any order."""
        if not self.up:
            return None
        first = self.posted[0].number if self.posted else self.numbers + 1
        choice = [self.posted[0]] if self.posted else []
        if self.nonposted and self.nonposted[0].number < first and self._nonposted_may_come():
            choice.append(self.nonposted[0])
        seen = {}
        for packet in self.completions:
            if packet.number > first or len(seen) >= SHUFFLE:
                break
            seen.setdefault(packet.header.answers, packet)
        if seen:
            choice.append(self.rng.choice(list(seen.values())))
        if not choice:
            return None
        packet = self.rng.choice(choice)
        self._begin(packet)
        return packet

    def _begin(self, packet: Packet) -> None:
        h = packet.header
        if h.completion:
            self.completions.remove(packet)
            self.credits_held -= -(-4 * (len(packet.words) - 3) // 16)
            if h.answers in self.reading:
                came = 4 * h.dwords - (h.lower & 3) if h.data and h.status == SUCCESS else self.reading[h.answers]
                self.reading[h.answers] -= came
                if self.reading[h.answers] <= 0:
                    del self.reading[h.answers]
        elif h.posted:
            self.posted.popleft()
        else:
            self.nonposted.popleft()
            self.np_asked -= 1
            if not self.np_ok:
                self.np_ok_late -= 1
            key = (h.sender, h.tag)
            assert key not in self.asked, f"the host uses tag {key} twice"
            self.asked[key] = Asked.by(h)

    def _rubbish(self, count: int) -> list[int]:
        return [self.rng.getrandbits(32) for _ in range(count)]

    def _beat(self) -> bool:
        """Show the next beat, if there is one."""
        rng, lanes = self.rng, self.lanes
        words: list[int] = []
        start = end = ended = None
        if self.packet is None:
            self.packet, self.at = self._next(), 0
            if self.packet is None:
                return False
            if lanes == 4 and rng.random() < self.lone:
                words = self._rubbish(2)
            start = len(words)
        packet = self.packet
        part = packet.words[self.at : self.at + lanes - len(words)]
        self.at += len(part)
        words += self._rubbish(len(part)) if packet.null else part
        if self.at == len(packet.words):
            end, ended, self.packet = len(words) - 1, packet, None
            # A straddle: the next packet begins in the upper half.
            if lanes == 4 and end < 2 and not packet.null and rng.random() < 0.8:
                self.packet = self._next()
                if self.packet is not None:
                    words += self._rubbish(2 - len(words)) + self.packet.words[:2]
                    start, self.at = 2, 2
        sides = [p for p in (ended, self.packet) if p is not None]
        words += self._rubbish(lanes - len(words))
        data = 0
        for word in reversed(words):
            data = data << 32 | word
        # In a beat of two packets the BARs are those of the one that begins; whose poison is shown is not certain.
        user = 0 if packet.null else sides[-1].bars << 2 | rng.choice(sides).poisoned << 1
        if ended is not None and ended.ecrc and not ended.null:
            user |= 1
        if lanes == 4:
            user |= (16 | 4 * start if start is not None else rng.getrandbits(4)) << 10
            user |= (16 | 4 * end + 3 if end is not None else rng.getrandbits(4)) << 17
            if rng.random() < 0.2:  # with 128 bit these two do not count
                self.rx["tkeep"].value, self.rx["tlast"].value = rng.getrandbits(16), rng.getrandbits(1)
        else:
            user |= rng.getrandbits(12) << 10
            self.rx["tkeep"].value = (1 << 4 * (lanes if end is None else end + 1)) - 1
            self.rx["tlast"].value = int(end is not None)
        self.rx["tdata"].value, self.rx["tuser"].value = data, user
        self.ends = (ended,) if ended is not None else ()
        return True

    def _receive(self) -> None:
        if self.valid:
            if self.rx["tready"].value != 1:
                return
            for packet in self.ends:
                if packet.tlp is not None:
                    packet.tlp.release_fc()
            self.ends = ()
        elif self.packet is None and not (self.posted or self.nonposted or self.completions):
            return
        pause = self.stall if self.packet is None else self.stall / 2 if self.gaps and not self.packet.null else 0
        if len(self.completions) > PRESSED:
            pause = 0
        valid = int(not (pause and self.rng.random() < pause) and self._beat())
        if valid != self.valid:
            self.valid = valid
            self._show("m_axis_rx_tvalid", valid)

    # ---- transmit pins

    def _init_transmit(self) -> None:
        rng = self.rng
        self.buffers = rng.randrange(8, 33)
        self.floor = rng.randrange(6) if self.stall else 0  # with so few buffers left nothing more is taken
        self.freeing: list[int] = []  # clocks in which buffers come free
        self.taken = 0  # buffers
        self.ready = 0
        self.change = 0  # clocks until `ready` may change
        self.moves = 0  # beats that the user could have moved
        self.waiting: tuple | None = None  # the beat that was shown and not taken
        self.words: list[int] | None = None  # of the packet under way
        self.since = 0  # clock of its last beat
        self.spoiled = False  # what is left of it is dropped
        self.poison = 0
        self.streaming = False
        self.header: Header | None = None
        self.allowed: Limits | None = None
        self.outgoing: deque[Tlp] = deque()
        self.abroad: dict[int, int] = {}  # reads that the host has, and bytes that it still owes
        self.internal: deque[Tlp] = deque()  # the block's own packets
        self.request_since = 0
        self.granted = 0  # clocks that the user has had to fall silent since its grant
        self.late: Tlp | None = None  # see the fault "order"
        self.more = Event()
        self.drop = 0
        self.pulse = 0  # clocks that cfg_received_func_lvl_rst still has
        self.raised: set[str] = set()  # error pins that are high
        self.lost: set[str] = set()  # of those, which have not been taken
        self.largest = {"write": 0, "read": 0, "reads in flight": 0}
        self.masks = {
            keep: int.from_bytes(bytes(255 * (keep >> i & 1) for i in range(self.width // 8)), "little") for keep in self._keeps()
        }
        self.tx = {name: getattr(self.dut, f"s_axis_tx_{name}") for name in ("tdata", "tkeep", "tlast", "tvalid", "tuser")}

    def _keeps(self) -> list[int]:
        return [(1 << 4 * n) - 1 for n in range(1, self.lanes + 1)]

    def _transmit(self) -> None:
        if self.ready:
            self.moves += 1
        if not (self.up and self.shown["user_lnk_up"]) and self.words is None and not self.ready:
            self.waiting = None  # what is shown now may be taken back; what is still there with the next link is judged by its rules
            return
        if self.tx["tvalid"].value != 1:
            if self.waiting is not None:
                self.waiting = None
                self.breach("hold", "a beat was taken back before it was accepted")
            if self.words is not None:
                if self.streaming and not self.spoiled:
                    self._spoil("gap", f"a gap behind {len(self.words)} dwords of a packet that is streamed")
                elif self.clock - self.since > PATIENCE:
                    self.since = self.clock
                    self.breach("unfinished", f"a packet stands at {len(self.words)} dwords for {PATIENCE} clocks")
            return
        data, keep, last, user = (int(self.tx[name].value) for name in ("tdata", "tkeep", "tlast", "tuser"))
        shown = (data & self.masks.get(keep, -1), keep, last, user)
        if self.waiting is None and self.words is None:
            self.allowed = self._allowed()
        if self.waiting not in (None, shown):
            self.breach("hold", f"a beat changed while it waited: {shown}, not {self.waiting}")
        if not self.ready:
            self.waiting = shown
            return
        self.waiting = None
        self.since = self.clock
        self._take(data, keep, last, user)

    def _take(self, data: int, keep: int, last: int, user: int) -> None:
        """An accepted beat. tuser is, from bit 0: ECRC wanted, poisoned, streamed, discontinued."""
        first = self.words is None
        if first:
            self.words, self.poison, self.streaming = [], 0, bool(user & 4)
            self.spoiled = not self.up  # with the link down the block takes what is left of a packet, and drops it
        self.poison |= user >> 1 & 1
        if not self.spoiled:
            self._judge_beat(first, data, keep, last, user)
        if last:
            words, self.words, spoiled = self.words, None, self.spoiled
            if not spoiled and not user & 8:
                self._finish(words)

    def _judge_beat(self, first: bool, data: int, keep: int, last: int, user: int) -> None:
        if not last and keep != self._keeps()[-1]:
            return self._spoil("keep_within", f"tkeep {keep:#x} before the end of a packet")
        if keep not in self.masks:
            return self._spoil("keep_end", f"tkeep {keep:#x} at the end of a packet")
        if user & 8 and first:
            return self._spoil("discontinue_first", "a packet is discontinued in its first beat")
        if user & 8 and not last:
            return self._spoil("discontinue_last", "a packet is discontinued, and goes on")
        self.words += struct.unpack(f"<{self.lanes}I", data.to_bytes(self.width // 8, "little"))[: keep.bit_count() // 4]
        if first:
            self.header = Header(self.words)
            if wrong := judge_header(self.header):
                return self._spoil(*wrong)
        total, come = self.header.total, len(self.words)
        if come > total or come == total and not last or come < total and last and not user & 8:
            return self._spoil("length", f"{come} dwords{'' if last else ', and more,'} of a packet whose header says {total}")

    def _spoil(self, check: str, what: str) -> None:
        self.spoiled = True
        self.drop = int(check in ("length", "payload", "gap"))
        self.breach(check, what)

    def _finish(self, words: list[int]) -> None:
        h = Header(words)
        wrong = self._judge_completion(h) if h.completion else judge_request(h, self.allowed, self.reading)
        if wrong:
            return self._spoil(*wrong)
        if h.kind == MEMORY:
            what = "write" if h.data else "read"
            self.largest[what] = max(self.largest[what], 4 * h.dwords)
            if not h.data:
                self.reading[h.tag] = enabled(h.dwords, h.first_be, h.last_be)[1]
                self.largest["reads in flight"] = max(self.largest["reads in flight"], len(self.reading))
        tlp = self._tlp(words[: h.total - h.digest])
        if self.fault == "byte_enables" and h.data and h.kind == MEMORY and h.dwords > 1:
            tlp.first_be = 15
        if self.fault == "lower_address" and h.completion:
            tlp.lower_address ^= 1
        tlp.ep = bool(h.poisoned or self.poison)
        self.taken += 1
        late, self.late = self.late, None
        if self.fault == "order" and h.data and h.dwords > 4 and late is None:
            self.late = tlp  # goes behind the packet after it
        else:
            self.outgoing.extend([tlp] if late is None else [tlp, late])
        self.more.set()

    def _tlp(self, words: list[int]) -> Tlp:
        tlp = Tlp.unpack(bytearray(struct.pack(f">{len(words)}I", *words)))
        if not tlp.has_data() and tlp.is_completion():
            tlp.length = 0
        return tlp

    def _judge_completion(self, h: Header) -> tuple[str, str] | None:
        key = (h.requester, h.answers)
        asked = self.asked.get(key)
        if asked is None:
            return "unasked", f"a {h}, which answers no request"
        wrong = asked.judge(h, self.allowed)
        if not asked.left:
            del self.asked[key]
        return wrong

    def _pace(self) -> None:
        """Choose tready for the next edge: pauses and bursts of random length, within packets as well."""
        want = self.ready
        if self.change == 0:
            want = int(self.rng.random() >= self.stall)
            self.change = self.rng.randrange(1, 12)
        self.change -= 1
        if self.words is None:  # with the link down the rest of a packet is still taken
            full = self.buffers - self.taken <= self.floor
            if full or self.granted or self.off or not self.up or self.link_state != L0:
                want = 0
        if want != self.ready:
            self.ready = want
            self._show("s_axis_tx_tready", want)

    # ---- to the link

    async def upstream_send(self, tlp: Tlp) -> None:
        """The block's own packets, which wait for the user's leave."""
        self.internal.append(tlp)

    def _serve_internal(self) -> None:
        if not self.shown["tx_cfg_req"]:
            self._show("tx_cfg_req", 1)
            self.request_since = self.clock
        elif not self.granted:
            if self._read("tx_cfg_gnt", 1):
                self.granted = 1
            elif self.clock - self.request_since > PATIENCE:
                self.request_since = self.clock
                self.breach("grant", f"tx_cfg_req has waited {PATIENCE} clocks for tx_cfg_gnt")
        elif self.words is None and not self.ready:
            self.granted += 1
            if self.granted > 3:
                self.granted = 0
                self._show("tx_cfg_req", 0)
                self.outgoing.append(self.internal.popleft())
                self.taken += 1
                self.more.set()

    def _next_outgoing(self) -> Tlp:
        """Posted packets and answers pass a read at times, as the specification wants them to be able to; nothing else passes."""
        if len(self.outgoing) > 1 and self.rng.random() < self.stall and self.outgoing[0].is_nonposted():
            for i, tlp in enumerate(self.outgoing):
                if not tlp.is_nonposted():
                    del self.outgoing[i]
                    return tlp
        return self.outgoing.popleft()

    async def _send(self) -> None:
        while True:
            while not self.outgoing:
                self.more.clear()
                await self.more.wait()
            tlp = self._next_outgoing()
            if tlp.is_nonposted():
                self.abroad[tlp.tag] = enabled(tlp.length, tlp.first_be, tlp.last_be)[1]
            if tlp.is_completion() and tlp.status == CplStatus.CA:
                self.signaled_target_abort = True
            await super().upstream_send(tlp)
            # The buffer is kept until the link partner has acknowledged.
            self.freeing.append(self.clock + self.rng.randrange(2, 40))

    # ---- errors that the user reports

    async def _watch(self, name: str) -> None:
        pin = self._pin(f"cfg_err_{name}")
        while pin is not None:
            if pin.value == 1:
                self.raised.add(name)
            await RisingEdge(pin)

    def _errors(self) -> None:
        for name in sorted(self.raised):
            if not self._read(f"cfg_err_{name}"):
                self.raised.discard(name)
                if name in self.lost:
                    self.lost.discard(name)
                    self.breach("error_lost", f"cfg_err_{name} fell before cfg_err_cpl_rdy rose: no answer is sent")
                continue
            self.reports[name] += 1
            cap = self.pcie_cap
            if name in ("ur", "cpl_abort") and not self._read("cfg_err_posted"):
                if not self.shown["cfg_err_cpl_rdy"]:
                    self.lost.add(name)
                    continue
                self.lost.discard(name)
                self._answer(name)
            if name == "ur":
                cap.unsupported_request_detected = True
            elif name in ("cor", "internal_cor"):
                cap.correctable_error_detected = True
            elif name not in ("posted", "locked"):
                cap.nonfatal_error_detected = True
            self.changed = True

    def _answer(self, name: str) -> None:
        """cfg_err_tlp_cpl_header is, from the top: lower address 7, byte count 12, class 3, attributes 2, requester 16, tag 8."""
        told = self._read("cfg_err_tlp_cpl_header")
        kind = COMPLETION_LOCKED if self._read("cfg_err_locked") else COMPLETION
        status = {"ur": 1, "cpl_abort": 4}[name]
        words = [
            kind << 24 | (told >> 26 & 7) << 20 | (told >> 24 & 3) << 12,
            self._id() << 16 | status << 13 | told >> 29 & 4095,
            (told >> 8 & 0xFFFF) << 16 | (told & 255) << 8 | told >> 41 & 127,
        ]
        self.allowed = self._allowed() if self.allowed is None else self.allowed.either(self._allowed())
        if wrong := self._judge_completion(Header(words)):
            self.breach(wrong[0], f"cfg_err_{name} for {wrong[1]}")
        else:
            self.internal.append(self._tlp(words))

    # ---- clock by clock

    async def _run(self) -> None:
        while True:
            await self.edge
            self.clock += 1
            if not self.resetting:
                self._receive()
                self._transmit()
                self._pace()
            if self.raised:
                self._errors()
            if self.internal and self.up:
                self._serve_internal()
            self._tidy()

    def _tidy(self) -> None:
        """The slow pins."""
        if self.freeing:
            left = [c for c in self.freeing if c > self.clock]
            self.taken -= len(self.freeing) - len(left)
            self.freeing = left
        if self.clock & 7 == 0 or len(self.internal) > 3:
            self._show("cfg_err_cpl_rdy", int(self.up and len(self.internal) < 4 and self.rng.random() >= self.stall / 2))
        free = self.buffers - self.taken
        if free != self.shown["tx_buf_av"] and self.rng.random() < 0.5:
            self._show("tx_buf_av", max(free, 0))
        if self.drop or self.shown["tx_err_drop"]:
            self._show("tx_err_drop", self.drop)
            self.drop = 0
        # Outside of D0 the link falls asleep in a while.
        self.awake = max(self.awake - 1, 0) if self.pm_cap.power_state else self.rng.randrange(64, 256) if self.awake < 64 else self.awake
        state = L0 if self.awake or self.words is not None or self.outgoing or self.internal else L1
        if state != self.link_state:
            self.link_state, self.changed = state, True
        if self.changed:
            self.changed = self.pulse > 0
            self._show_configuration()
            self.pulse = max(self.pulse - 1, 0)


def make(dut, rng: random.Random, stall: float, fault: str | None) -> tuple[Block, Device]:
    """The block, and the device that it is a function of; its link is as fast as the user's data path, so that either end may wait."""
    block = Block(dut, rng, stall, fault)
    found = Device(block)
    found.upstream_port.max_link_speed, found.upstream_port.max_link_width = LINKS[block.width]
    return block, found
