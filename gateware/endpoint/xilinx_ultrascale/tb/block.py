# SPDX-License-Identifier: Apache-2.0
"""The boundary of bench_agree for this endpoint: cocotbext-pcie's models of the blocks, between the pins of the card and the link.

`make` builds the model that fits the device under test, as tests/agree/adapter.py makes its thin adapter. What the models leave out is
added here, where PG156 and PG213 tell of it: transmit credits, function-level reset, random pauses of every stream. The rules of requests
(MPS, MRRS, 4 KiB, byte enables) are those of the thin adapter, checked on what leaves for the link.
"""

import random
from itertools import repeat

import cocotb
from adapter import CHANNELS, DEVICE, VENDOR, check_request
from bench import TP
from built import BUILT
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiStreamBus
from cocotbext.pcie.core.tlp import Tlp, TlpType
from cocotbext.pcie.xilinx.us import UltraScalePcieDevice, UltraScalePlusPcieDevice, us_model, usp_model

ABORT_BITS = False  # the models keep no record of aborts in the Status register
FAULTS = ("byte_enables", "tag", "lanes", "early")
GRACE = 60  # clocks until a change of the configuration must have taken effect: two registers are read in turn
LINKS = {64: (2, 4), 128: (3, 4), 256: (3, 8), 512: (3, 16)}  # generation and lanes that fit the width at 250 MHz


class NoClock:
    """The models drive user_clk; the bench has done so already."""

    def __init__(self, *args, **kwargs):
        pass

    async def start(self):
        pass


us_model.Clock = usp_model.Clock = NoClock


class Asked:
    """pcie_cq_np_req as the models are to see it: they look at it only between packets, and would miss pulses."""

    def __init__(self, pin):
        self.pin, self.pulses = pin, 0

    def __len__(self) -> int:
        return len(self.pin)

    @property
    def value(self) -> int:
        seen = int(self.pulses > 0)
        self.pulses -= seen
        return seen


class Card:
    """What bench_agree and driver.py want to know of the card: the function of the model, and what has left it."""

    def __init__(self, dut, device, asked: Asked):
        self.dut, self.device, self.asked = dut, device, asked
        self.plus = isinstance(device, UltraScalePlusPcieDevice)
        self.function = device.functions[0]
        self.function.vendor_id, self.function.device_id, self.function.class_code = VENDOR, DEVICE, 0x120000
        page = 1 << BUILT.PAGE_SHIFT
        self.pages = (TP.TP_PAGE_CHANNELS + CHANNELS * TP.TP_PAGES_PER_CHANNEL) * page
        self.function.configure_bar(TP.TP_BAR_DEVICE, self.pages, ext=True, prefetch=True)
        self.function.configure_bar(TP.TP_BAR_WINDOW, BUILT.WINDOW_BYTES, ext=True, prefetch=True)
        self.pcie_cap, self.msix_cap = self.function.pcie_cap, self.function.msix_cap
        self.pcie_cap.function_level_reset_capability = True
        self.pcie_cap.initiate_function_level_reset = self._function_reset
        self.largest = {"write": 0, "read": 0, "reads in flight": 0}
        self.function_reset = False
        self.grace = GRACE  # clocks until what leaves must keep to a change
        self.requests = 0  # that have left
        self.answers: list = []  # the last frames on CC
        self._recv, device.cc_sink.recv = device.cc_sink.recv, self._answer
        self.credits = True  # whether the link partner has credits for reads
        self.allowed = [self._limits()] * 2
        cocotb.start_soon(self._pins())

    @property
    def pcie_id(self):
        return self.function.pcie_id

    @property
    def reading(self) -> list[Tlp]:
        return [request for request in self.device.active_request if request]

    def _limits(self) -> tuple[int, int, int, bool]:
        cap = self.pcie_cap
        tags = 256 if cap.extended_tag_field_enable else 32
        return 128 << cap.max_payload_size, 128 << cap.max_read_request_size, tags, cap.enable_relaxed_ordering

    async def _function_reset(self) -> None:
        """Configuration space goes back to its defaults at once; the core says when it is quiet."""
        f, cap = self.function, self.pcie_cap
        f.memory_space_enable = f.bus_master_enable = self.msix_cap.msix_enable = self.msix_cap.msix_function_mask = False
        cap.max_payload_size, cap.max_read_request_size = 0, 2
        for i, mask in enumerate(f.bar_mask):
            f.bar[i] &= ~mask
        self.function_reset = True
        self.dut.cfg_flr_in_process.value = 1

    async def _pins(self) -> None:
        """Clock by clock, what the models leave out."""
        dut, edge = self.dut, RisingEdge(self.dut.clk)
        full = (1 << len(dut.pcie_tfc_nph_av)) - 1
        history = [self._limits()]
        for name in ("cfg_flr_in_process", "cfg_hot_reset_out", "cfg_phy_link_down", "cfg_function_power_state"):
            getattr(dut, name).value = 0
        if not self.plus:
            dut.cfg_bus_number.value = dut.pcie_rq_seq_num_vld1.value = 0
        while True:
            history = [*history[-self.grace + 1 :], self._limits()]
            # Any of these limits may hold while changes are on their way.
            self.allowed = [history[-1], *set(history)]
            dut.pcie_tfc_nph_av.value = full if self.credits else 0
            await edge
            self.asked.pulses += int(dut.pcie_cq_np_req.value)
            if self.function_reset and int(dut.cfg_flr_done.value) & 1:
                self.function_reset = False
                self.pcie_cap.extended_tag_field_enable = False  # not before: the model refuses tags of what it has taken
                dut.cfg_flr_in_process.value = 0

    async def _answer(self):
        self.answers = [*self.answers[-7:], await self._recv()]
        return self.answers[-1]

    def left(self, tlp: Tlp) -> None:
        """A look at what leaves for the link."""
        if tlp.fmt_type not in (TlpType.MEM_WRITE, TlpType.MEM_WRITE_64, TlpType.MEM_READ, TlpType.MEM_READ_64):
            return
        self.requests += 1
        payload, read, tags, relaxed = map(max, *self.allowed)
        what = check_request(tlp, read if tlp.is_nonposted() else payload, relaxed)
        self.largest[what] = max(self.largest[what], 4 * tlp.length)
        assert what == "write" or tlp.tag < tags, f"tag {tlp.tag} is too long for this link"
        self.largest["reads in flight"] = max(self.largest["reads in flight"], len(self.reading))


def take_what_was_handed_over(device) -> None:
    """The models drop requests that they take after bus mastering went off, reads without any answer. Here they do so only with `drops`."""
    function, device.drops = device.functions[0], False
    kind, recv, taken = type(function), device.rq_sink.recv, []

    class Function(kind):
        @property
        def bus_master_enable(self) -> bool:
            if taken:  # the look that follows a request's coming
                return taken.pop()
            return self.mastering

        @bus_master_enable.setter
        def bus_master_enable(self, value: bool) -> None:
            self.mastering = value

    function.mastering = function.__dict__.pop("bus_master_enable")
    function.__class__ = Function

    async def take():
        frame = await recv()
        taken[:] = [] if device.drops else [True]
        return frame

    device.rq_sink.recv = take


def byte_enables_in_order(source) -> None:
    """Byte enables of the first packet that starts in a beat lie lowest, wherever it starts (PG213); the model goes by where."""
    drive = source._drive

    async def mended(beat) -> None:
        starts, first_at = beat.tuser >> 80 & 3, beat.tuser >> 82 & 3
        if source.seg_count == 2 and starts == 1 and first_at == 2:
            beat.tuser = beat.tuser >> 16 << 16 | beat.tuser >> 4 & 0xF0F
        await drive(beat)

    source._drive = mended


def pauses(rng: random.Random, stall: float):
    """Pauses and bursts of random length."""
    while True:
        yield from repeat(rng.random() < stall, rng.randrange(1, 12))


def make(dut, rng: random.Random, stall: float, fault: str | None):
    """The card behind a block, and the block's device for the link."""
    assert fault is None or fault in FAULTS
    width, plus = BUILT.DATA_WIDTH, bool(int(dut.PLUS.value))
    generation, lanes = LINKS[width]
    straddle = int(dut.RC_STRADDLE.value)
    pins = dict(
        user_clk=dut.clk,
        user_reset=dut.user_reset,
        user_lnk_up=dut.user_lnk_up,
        rq_bus=AxiStreamBus.from_prefix(dut, "s_axis_rq"),
        rc_bus=AxiStreamBus.from_prefix(dut, "m_axis_rc"),
        cq_bus=AxiStreamBus.from_prefix(dut, "m_axis_cq"),
        cc_bus=AxiStreamBus.from_prefix(dut, "s_axis_cc"),
    )
    same = (
        "pcie_cq_np_req cfg_max_payload cfg_max_read_req cfg_function_status cfg_rcb_status "
        "cfg_interrupt_msix_enable cfg_interrupt_msix_mask cfg_mgmt_addr cfg_mgmt_write cfg_mgmt_write_data cfg_mgmt_byte_enable "
        "cfg_mgmt_read cfg_mgmt_read_data cfg_mgmt_read_write_done"
    )
    own = "cfg_mgmt_function_number cfg_bus_number pcie_rq_seq_num0 pcie_rq_seq_num_vld0 pcie_rq_seq_num1 pcie_rq_seq_num_vld1"
    pins |= {name: getattr(dut, name) for name in (same + " " + own if plus else same).split()}
    asked = pins["pcie_cq_np_req"] = Asked(dut.pcie_cq_np_req)
    options = dict(
        pcie_generation=generation,
        pcie_link_width=lanes,
        user_clk_frequency=250e6,
        max_payload_size=1024,
        enable_extended_tag=True,
        rc_straddle=straddle > 1,
        pf0_msix_enable=True,
        pf0_msix_table_size=BUILT.VECTORS - 1,
        pf0_msix_table_bir=TP.TP_BAR_DEVICE,
        pf0_msix_table_offset=(TP.TP_PAGE_MSIX << BUILT.PAGE_SHIFT) + TP.TP_MSIX_VECTOR_OFFSET,
        pf0_msix_pba_bir=TP.TP_BAR_DEVICE,
        pf0_msix_pba_offset=(TP.TP_PAGE_MSIX << BUILT.PAGE_SHIFT) + TP.TP_MSIX_PENDING_OFFSET,
    )
    if plus:
        other = int(dut.CQ_STRADDLE.value) > 1  # the same to a card that puts one packet into a beat
        requests = int(dut.RQ_STRADDLE.value) > 1 or other
        options |= dict(rc_4tlp_straddle=straddle == 4, cq_straddle=other, rq_straddle=requests, cc_straddle=other)
        device = UltraScalePlusPcieDevice(**options, **pins)
    else:
        pins |= dict(pcie_rq_seq_num=dut.pcie_rq_seq_num0, pcie_rq_seq_num_vld=dut.pcie_rq_seq_num_vld0)
        device = UltraScalePcieDevice(**options, **pins)
    take_what_was_handed_over(device)
    byte_enables_in_order(device.cq_source)
    card = Card(dut, device, asked)
    send = device.upstream_send

    async def watched(tlp: Tlp) -> None:
        card.left(tlp)
        await send(tlp)

    device.upstream_send = watched
    if stall:
        for sink in (device.rq_sink, device.cc_sink):
            sink.set_pause_generator(pauses(rng, stall))
        for source in (device.rc_source, device.cq_source):
            source.set_pause_generator(pauses(rng, stall / 2))
    if fault:
        plant(device, fault, rng)
    return card, device


def plant(device, fault: str, rng: random.Random) -> None:
    """A mistake on a stream, as the endpoint might make it, to show that the bench would see it."""
    if fault in ("byte_enables", "lanes"):
        stream = device.rq_sink
        recv = stream.recv

        async def wrong():
            frame = await recv()
            if len(frame.data) > 5 and fault == "byte_enables":
                frame.first_be = 15
            if len(frame.data) > 6 and fault == "lanes":
                frame.data[4:] = frame.data[5:] + frame.data[4:5]
            return frame

        stream.recv = wrong
    else:
        queue = device.rc_source.send

        async def sent(frame):
            if fault == "tag" and len(frame.data) > 3 and rng.random() < 0.2:
                frame.data[2] ^= 1
            if fault == "early" and len(frame.data) > 8:
                del frame.data[-1], frame.byte_en[-1], frame.parity[-1]
            await queue(frame)

        device.rc_source.send = sent
