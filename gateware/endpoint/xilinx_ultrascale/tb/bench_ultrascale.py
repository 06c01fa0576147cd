# SPDX-License-Identifier: Apache-2.0
"""What only this endpoint has to do, and what a root complex alone cannot bring about: a cocotb module, started by test_ultrascale.py.

The frames that the models' own link would never make are handed to their streams directly.
"""

from collections import Counter

import cocotb
import pytest
from bench import PACKAGES, TP, Layout
from bench_agree import again, all_ended, busy, channels, link_faults, loop, quiet, some_messages, start
from block import GRACE
from built import BUILT
from cocotb.triggers import ClockCycles, RisingEdge, Timer
from cocotbext.pcie.core.tlp import CplStatus, TlpType
from cocotbext.pcie.core.utils import PcieId
from cocotbext.pcie.xilinx.us.interface import UsPcieFrame
from cocotbext.pcie.xilinx.us.tlp import Tlp_us

from driver import DEVICE_CONTROL

CONFIG = Layout(PACKAGES[1], "tp_config_t")
SCRATCH = 4  # of the loopback's registers
MESSAGE = 0xC  # a request's type
MISMATCH, TIMEOUT = 4, 9  # a completion's error codes
D0, D3HOT = 1, 4
DEVICE_CONTROL_2 = 0x28


def config(dut) -> dict[str, int]:
    return CONFIG.unpack(int(dut.endpoint.cfg.value))


async def deliver(device, frame: UsPcieFrame) -> None:
    """A request that wants an answer: the block holds it until it has been asked for one."""
    while not device.cq_np_req_count:
        await Timer(20, "ns")
    device.cq_np_req_count -= 1
    await device.cq_source.send(frame)


def request(host, kind: TlpType, tag: int, address: int) -> UsPcieFrame:
    tlp = Tlp_us()
    tlp.fmt_type, tlp.requester_id, tlp.tag, tlp.address = kind, PcieId(0, 0, 0), tag, address
    tlp.length, tlp.first_be = 1, 15
    tlp.bar_id, tlp.bar_aperture = TP.TP_BAR_WINDOW, (BUILT.WINDOW_BYTES - 1).bit_length()
    if tlp.has_data():
        tlp.data = bytearray(host.rng.randbytes(4))
    return tlp.pack_us_cq()


@cocotb.test()
async def refused(dut):
    """I/O, atomic and locked requests are refused, so that the block can log them; messages are dropped; the core knows of none."""
    host = await start(dut, "refused")
    device, window = host.card.device, host.dev.bar_addr[TP.TP_BAR_WINDOW]
    kinds = (TlpType.IO_READ, TlpType.IO_WRITE, TlpType.FETCH_ADD_64, TlpType.CAS_64, TlpType.MEM_READ_LOCKED_64)
    await host.window.write_dword(SCRATCH, 0x12345678)
    answers, send = [], device.upstream_send

    async def kept(tlp):
        if tlp.is_completion() and tlp.tag >= 200:
            answers.append(tlp)
        else:
            await send(tlp)

    device.upstream_send = kept
    for n, kind in enumerate(kinds):
        asked = request(host, kind, 200 + n, window + SCRATCH)
        await deliver(device, asked)
        message = request(host, TlpType.MEM_WRITE_64, 0, window + SCRATCH)
        message.data[2] = message.data[2] & ~(0xF << 11) | MESSAGE << 11
        await device.cq_source.send(message)
        assert await host.window.read_dword(SCRATCH) == 0x12345678
        log = next(f for f in host.card.answers if f.data[2] & 0xFF == 200 + n)
        assert log.data[4:] == asked.data[:4] and log.data[3] == asked.first_be | asked.last_be << 4, f"{kind!r}: {log!r}"
        assert log.data[1] & 0x7FF == 0, f"{kind!r}: the descriptor tells of payload: {log!r}"
        assert len(answers) == n + 1 and answers[n].status == CplStatus.UR and not answers[n].data, f"{kind!r}: {answers[n]!r}"
        assert (answers[n].fmt_type == TlpType.CPL_LOCKED) == (kind == TlpType.MEM_READ_LOCKED_64), f"{kind!r}: {answers[n]!r}"
    # What the core itself refuses is logged, too.
    host.complaints.expect("Sending completion with CA status")
    with pytest.raises(Exception, match="Unsuccessful completion"):
        await host.bar.read(0, 128)
    log = host.card.answers[-1]
    assert len(log.data) == 8 and log.data[1] >> 11 & 7 == CplStatus.CA and log.data[1] & 0x7FF == 0, log
    assert log.data[4] == host.dev.bar_addr[TP.TP_BAR_DEVICE] & 0xFFFFFFFF and log.data[6] & 0x7FF == 32, log
    await quiet(host)


@cocotb.test()
async def ended(dut):
    """A read that the block ends by itself is a timeout, its tag is free at once; an answer that does not fit its request is nobody's."""
    host = await start(dut, "ended")
    device, root, rng = host.card.device, host.root, host.rng
    tx, rx = await channels(host)
    silent = host.room(64, align=64)
    host.allow("readable", silent, 64)
    handle = root.handle_mem_read_tlp

    async def deaf(tlp):
        if tlp.address == silent:
            tlp.release_fc()
        else:
            await handle(tlp)

    root.register_rx_tlp_handler(TlpType.MEM_READ, deaf)
    root.register_rx_tlp_handler(TlpType.MEM_READ_64, deaf)
    await tx.post(TP.TP_KIND_DIRECT, silent, 64, True, pieces=[(silent, 64)])
    await host.until(lambda: host.card.reading, "the read never left")
    tag = host.card.reading[0].tag
    foreign = UsPcieFrame()
    foreign.data = [MISMATCH << 12 | 64 << 16, 16, tag] + [rng.getrandbits(32) for _ in range(16)]
    foreign.byte_en = [15] * len(foreign.data)
    foreign.update_parity()
    await device.rc_source.send(foreign)
    await Timer(1, "us")
    assert not tx.peek(), "an answer that is not ours ended the read"
    over = UsPcieFrame()
    over.data = [TIMEOUT << 12 | 1 << 30 | rng.getrandbits(12), rng.getrandbits(11), tag]
    over.byte_en = [0] * 3
    over.update_parity()
    device.active_request[tag] = None
    await device.rc_source.send(over)
    entry = await tx.reap("the read that the block ended never completed")
    assert (entry["status"], entry["bytes"]) == ("TIMEOUT", 0), entry
    host.link_faults["TIMEOUTS"] += 1
    await rx.receive(64)
    entry = await rx.reap("the message that was cut was not closed")
    assert (entry["status"], entry["bytes"]) == ("END_OF_MESSAGE", 0), entry
    await loop(host, some_messages(rng, 3, 600), tx, rx)
    await quiet(host)


@cocotb.test()
@cocotb.parametrize(stream=["rc", "cq"])
async def damaged(dut, stream):
    """After a packet that the block marks as damaged at its end, the card leaves the host alone until it is reset."""
    host = await start(dut, f"damaged {stream}")
    device, rng = host.card.device, host.rng
    tx, rx = await channels(host)
    source = device.rc_source if stream == "rc" else device.cq_source
    send, hit = source.send, []

    async def broken(frame):
        if len(frame.data) > (20 if stream == "rc" else 4) and not hit:
            frame.discontinue = True
            hit.append(frame)
        await send(frame)

    source.send = broken
    if stream == "cq":
        await host.window.write_dword(SCRATCH, 1)
    for _ in range(2):
        await tx.send(rng.randbytes(1000), TP.TP_KIND_DIRECT)
    await host.until(lambda: hit, "nothing was damaged")
    await Timer(1, "us")
    assert not config(dut)["bus_master"]
    before = host.card.requests
    await tx.send(rng.randbytes(100), TP.TP_KIND_DIRECT)
    await Timer(2, "us")
    assert host.card.requests == before, "the card went on"
    await host.restore(await host.reset_function())
    if stream == "cq":
        assert await host.window.read_dword(SCRATCH) == 0, "a damaged write of one dword was executed"
    tx, rx = await channels(host)
    await loop(host, some_messages(rng, 3, 600), tx, rx)
    assert (await link_faults(host))["FUNCTION_RESETS"] == host.link_faults["FUNCTION_RESETS"] + 1
    host.complaints.check()


async def shared(dut):
    """Requests share beats if they may: a write with the next one, and with a read. Else none do, and `tkeep` and `tlast` tell the same."""
    host = await start(dut, "shared")
    rng = host.rng
    alone, kinds = int(dut.RQ_STRADDLE.value) == 1, Counter()

    async def watch():
        while True:
            await RisingEdge(dut.clk)
            if not (dut.s_axis_rq_tvalid.value and dut.s_axis_rq_tready.value):
                continue
            user = int(dut.s_axis_rq_tuser.value)
            starts, ends = user >> 20 & 3, user >> 26 & 3
            at = user >> 22 & 3
            if alone:
                last, keep = ends & 1, (2 << (user >> 28 & 15)) - 1 if ends & 1 else 0xFFFF
                assert (int(dut.s_axis_rq_tlast.value), int(dut.s_axis_rq_tkeep.value)) == (last, keep), f"{user:#x}"
            if starts == 3 or (starts and at):
                assert ends & 1, f"a packet starts where none has ended: {user:#x}"
                latter, former = (67, 61) if starts == 3 else (61, None)  # where their numbers stand; what began earlier is a write
                kind, behind = ("read" if at and user >> at & 0x20 else "write" for at in (latter, former))
                kinds[f"{kind} behind {behind}"] += 1

    watching = cocotb.start_soon(watch())
    tx, rx = await channels(host)
    await loop(host, [rng.randbytes(4096) for _ in range(4)], tx, rx)
    watching.cancel()
    # 128 writes of 128 bytes and a descriptor, two in five beats if the second waits.
    if alone:
        assert not kinds, kinds
    else:
        assert kinds["write behind write"] >= 16 and kinds["read behind write"] and kinds["write behind read"], kinds
    dut._log.info("requests that shared a beat: %s", dict(kinds))
    await quiet(host)


if BUILT.DATA_WIDTH == 512:  # elsewhere no beat has room for two
    shared = cocotb.test()(shared)


@cocotb.test()
async def credits(dut):
    """Without credits for reads at the link partner none goes to the block, while writes and answers do."""
    host = await start(dut, "credits")
    tx, rx = await channels(host)
    message = host.rng.randbytes(600)
    await tx.send(message, TP.TP_KIND_DIRECT)
    await tx.reap()
    host.card.credits = False
    await ClockCycles(dut.clk, 8)
    await rx.receive(1000, TP.TP_KIND_DIRECT)
    await tx.send(message, TP.TP_KIND_DIRECT)
    got = await rx.reap("writes waited for credits of reads")
    assert got["content"] == message
    await Timer(1, "us")
    assert not host.card.reading and not tx.peek() and await host.window.read(0, 4) == b"LOOP"
    host.card.credits = True
    assert (await tx.reap())["status"] == "DONE"
    await rx.receive(1000, TP.TP_KIND_DIRECT)
    assert (await rx.reap())["content"] == message
    await quiet(host)


@cocotb.test()
async def link_down(dut):
    """The link goes down under traffic: what was under way ends, and what the card still sends vanishes; when it is up, all works again."""
    host = await start(dut, "link down")
    rng = host.rng
    tx, rx = await channels(host)
    for n in range(6):
        await tx.send(rng.randbytes(3000), None, end=n % 2 == 1)
        await rx.receive(2000, TP.TP_KIND_DIRECT)
    await Timer(rng.randrange(100, 2000), "ns")
    dut.cfg_phy_link_down.value = 1
    await ClockCycles(dut.clk, 4)
    assert not config(dut)["link_up"]
    await Timer(2, "us")
    before = host.card.requests
    await Timer(1, "us")
    assert host.card.requests == before, "the card sent what nobody can receive"
    dut.cfg_phy_link_down.value = 0
    for channel in (tx, rx):
        await channel.reset()
        await channel.reset_done()
    await Timer(2, "us")
    tx, rx = await channels(host)
    await loop(host, some_messages(rng, 4, 1500), tx, rx)
    assert (await link_faults(host))["LINK_DOWNS"] == host.link_faults["LINK_DOWNS"] + 1
    host.complaints.check()


@cocotb.test()
async def dropped(dut):
    """A block that drops writes while bus mastering is off tells no numbers of them; answers wait for these a microsecond."""
    host = await start(dut, "dropped")
    host.complaints.expect("Bus mastering disabled")
    tx, rx = await channels(host)
    host.card.device.drops = True
    for _ in range(8):
        await rx.receive(2000, TP.TP_KIND_DIRECT)
        await tx.send(host.rng.randbytes(2000), TP.TP_KIND_DIRECT)
    await host.until(lambda: host.card.largest["write"], "no write left")
    await host.dev.set_master(False)
    await Timer(2, "us")
    assert any(line.startswith("Bus mastering disabled") for line in host.complaints.lines), "nothing was dropped: the test says nothing"
    assert await host.window.read(0, 4) == b"LOOP"
    await host.dev.set_master(True)
    assert await host.window.read(0, 4) == b"LOOP"
    host.complaints.check()


@cocotb.test()
async def configuration(dut):
    """What the host writes into Device Control, and the power state, reach the core."""
    host = await start(dut, "configuration")
    cap, dev = host.card.pcie_cap, host.dev
    tags = 1 << 8 if host.card.plus or BUILT.TAGS <= 64 else 0
    for control in (0, 1 << 4, tags, 5 << 5 | 2 << 12, 1 << 12 | 1 << 4):
        await dev.capability_write_word(cap.cap_id, DEVICE_CONTROL, control)
        await ClockCycles(dut.clk, GRACE)
        cfg = config(dut)
        found = (cfg["relaxed"], cfg["tags_8bit"], cfg["max_payload"], cfg["max_read"])
        # The wider block tells no more than 1024 bytes.
        payload = control >> 5 & (3 if host.card.plus else 7)
        assert found == (control >> 4 & 1, control >> 8 & 1, payload, control >> 12 & 7), f"{control:#x}: {cfg}"
    for value, told in ((6, 6), (1 << 4 | 6, 15), (0, 0)):  # bit 4: no timeout at all
        await dev.capability_write_word(cap.cap_id, DEVICE_CONTROL_2, value)
        await ClockCycles(dut.clk, GRACE)
        assert config(dut)["completion_timeout"] == told
    assert config(dut)["active"] and not config(dut)["tags_10bit"]
    dut.cfg_function_power_state.value = D3HOT
    await ClockCycles(dut.clk, 3)
    assert not config(dut)["active"]
    dut.cfg_function_power_state.value = D0
    await ClockCycles(dut.clk, 3)
    assert config(dut)["active"]


@cocotb.test()
async def changing_limits(dut):
    """The host changes payload and read size while data flows. What was cut before keeps to what held before, and is soon gone."""
    host = await start(dut, "changing limits", max_payload=512)
    rng, cap = host.rng, host.card.pcie_cap.cap_id
    host.card.grace = 1000  # clocks: packets wait at a block that takes them now and then
    for _ in range(8):
        tx, rx = await channels(host)
        await busy(host, tx, rx)
        for _ in range(3):
            await Timer(rng.randrange(1, 1500), "ns")
            control = await host.dev.capability_read_word(cap, DEVICE_CONTROL) & ~(7 << 5 | 7 << 12)
            control |= rng.randrange(3) << 5 | rng.randrange(6) << 12
            await host.dev.capability_write_word(cap, DEVICE_CONTROL, control)
        await all_ended(tx, rx)
        await again(host, tx, rx)


@cocotb.test()
async def power_state(dut):
    """In D3hot the card leaves the host alone, and its channels work again when it is back; what was under way ends."""
    host = await start(dut, "power state")
    for _ in range(3):
        tx, rx = await channels(host)
        await busy(host, tx, rx)
        await Timer(host.rng.randrange(1, 1500), "ns")
        dut.cfg_function_power_state.value = D3HOT
        await Timer(1, "us")
        before = host.card.requests
        await Timer(3, "us")
        assert host.card.requests == before, "a request left in D3hot"
        dut.cfg_function_power_state.value = D0
        await all_ended(tx, rx)
        await again(host, tx, rx)
