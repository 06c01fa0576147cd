# SPDX-License-Identifier: Apache-2.0
"""What only the block's pins show: a link that goes, limits that change in flight, requests that are none, damage."""

import cocotb
from bench import CONFIG, TP
from bench_agree import again, all_ended, busy, channels, fresh, loop, some_messages, start
from cocotb.triggers import ClockCycles, Timer

from driver import DEVICE_CONTROL, EXTENDED_TAGS, RING_LOG2

DEVICE_CONTROL_2 = 0x28  # in the PCI Express capability
POWER_STATE, D0, D3HOT = 4, 0, 3  # in the power management capability
SCRATCH = 4  # loopback.sv: a register in the window
MWR, MRD_LOCKED, FETCH_ADD, POISONED = 0x40 << 24, 0x01 << 24, 0x4C << 24, 1 << 14
ROOT = 0x0000  # the requester of what is injected


@cocotb.test()
@cocotb.parametrize(hot=[False, True])
async def link_lost(dut, hot):
    """The link goes in the middle of packets, or by a hot reset: what was under way ends so, and all goes on afterwards."""
    host = await start(dut, f"link lost {hot}")
    rng, card, lost = host.rng, host.card, 0
    saved = await host.save()
    for _ in range(6):
        tx, rx = await channels(host)
        await busy(host, tx, rx)
        await Timer(rng.randrange(1, 4000), "ns")
        await card.link_down(rng.randrange(8, 60), hot, rng.choice([None, 2]))
        await host.restore(saved)
        await Timer(3, "us")
        for channel in (tx, rx):  # an entry that was on the link's way is lost, and so are those behind it
            while channel.peek():
                status = (await channel.reap())["status"]
                lost += status == "LINK_DOWN"
                assert status in ("DONE", "END_OF_MESSAGE", "LINK_DOWN", "BUS_MASTERING_OFF", "POISONED", "BAD_COMPLETION"), status
        await again(host, tx, rx)
    assert lost, "nothing was under way when the link went"
    assert await host.card_register(TP.TP_CARD_LINK_DOWNS_OFFSET) == host.link_faults["LINK_DOWNS"] + 6


@cocotb.test()
async def changing_limits(dut):
    """The host changes payload, read size and tags while data flows. That each packet keeps to them the block judges."""
    host = await start(dut, "changing limits", max_payload=512)
    rng, cap = host.rng, host.card.pcie_cap.cap_id
    for _ in range(8):
        tx, rx = await channels(host)
        await busy(host, tx, rx)
        for _ in range(3):
            await Timer(rng.randrange(1, 1500), "ns")
            control = await host.dev.capability_read_word(cap, DEVICE_CONTROL) & ~(7 << 5 | 7 << 12 | EXTENDED_TAGS)
            control |= rng.randrange(3) << 5 | rng.randrange(6) << 12 | rng.choice([0, EXTENDED_TAGS])
            await host.dev.capability_write_word(cap, DEVICE_CONTROL, control)
        await all_ended(tx, rx)
        await again(host, tx, rx)


@cocotb.test()
async def power_state(dut):
    """In D3hot the card leaves the host alone, and its channels work again when it is back; what was under way ends."""
    host = await start(dut, "power state")
    power = host.card.pm_cap.cap_id
    for _ in range(3):
        tx, rx = await channels(host)
        await busy(host, tx, rx)
        await Timer(host.rng.randrange(1, 1500), "ns")
        await host.dev.capability_write_word(power, POWER_STATE, D3HOT)
        await Timer(2, "us")
        assert not CONFIG.unpack(int(dut.endpoint.cfg.value))["active"]
        await host.dev.capability_write_word(power, POWER_STATE, D0)
        await all_ended(tx, rx)
        await again(host, tx, rx)


@cocotb.test()
async def timeouts(dut):
    """The completion timeout that the host sets reaches the core; bit 4 switches it off."""
    host = await start(dut, "timeouts")
    for value, told in ((6, 6), (1 << 4 | 6, 15), (0, 0)):
        await host.dev.capability_write_word(host.card.pcie_cap.cap_id, DEVICE_CONTROL_2, value)
        await ClockCycles(dut.clk, 4)
        assert CONFIG.unpack(int(dut.endpoint.cfg.value))["completion_timeout"] == told


@cocotb.test()
async def refused(dut):
    """Locked reads and atomic operations get the block's answer; a poisoned write is reported and changes nothing; traffic goes on."""
    host = await start(dut, "refused")
    rng, card = host.rng, host.card
    tx, rx = await channels(host)
    window = await host.dev.config_read_dword(0x18) & ~15
    await host.window.write_dword(SCRATCH, 0x1234)
    flow = cocotb.start_soon(loop(host, some_messages(rng, 6, 3000), tx, rx))
    before = dict(card.reports)
    for tag in range(200, 212):
        kind = rng.choice([MRD_LOCKED | 3, FETCH_ADD | 1])
        words = [kind, ROOT << 16 | tag << 8 | (0xFF if kind & 3 == 3 else 0x0F), (window + 64) & 0xFFFFFFFF]
        card.inject(words + [rng.getrandbits(32)] * (kind >> 30 & 1), bars=0b1100)
        if rng.random() < 0.5:
            card.inject([MWR | POISONED | 1, ROOT << 16 | 0x0F, (window + SCRATCH) & 0xFFFFFFFF, rng.getrandbits(32)], bars=0b0100)
        await Timer(rng.randrange(1, 400), "ns")
    await host.until(lambda: not card.asked, "a request that cannot be served was never answered")
    await flow
    assert await host.window.read_dword(SCRATCH) == 0x1234, "a poisoned write was executed"
    assert card.reports["ur"] - before["ur"] >= 12 and card.reports["poisoned"] > before["poisoned"]


@cocotb.test()
async def damaged(dut):
    """A damaged write: from then on the card asks for nothing and writes nothing, until its reset, or bus mastering off and on."""
    host = await start(dut, "damaged")
    rng, card = host.rng, host.card
    tx, rx = await channels(host)
    await loop(host, some_messages(rng, 2, 1000), tx, rx)
    bar = await host.dev.config_read_dword(0x10) & ~15
    words = [MWR | 16, ROOT << 16 | 0xFF, (bar + tx.slots) & 0xFFFFFFFF, *(rng.getrandbits(32) for _ in range(16))]
    card.inject(words, bars=0b0001, ecrc=True)
    await Timer(300, "ns")
    for arena in host.arenas:  # from here on the card has no business anywhere
        arena.readable, arena.writable = bytearray(len(arena.readable)), bytearray(len(arena.writable))
    await tx.push(TP.TP_KIND_DIRECT, host.arenas[0].base, 64, True)
    await Timer(2, "us")
    if host.rng.random() < 0.5:
        await host.restore(await host.reset_function())
    else:  # bus mastering off and on, and a reset of the card, as a driver does
        for channel in (tx, rx):
            host.allow("writable", channel.ring, TP.TP_COMPLETION_BYTES << RING_LOG2)
        await host.dev.set_master(False)
        await host.dev.set_master(True)
        await fresh(tx, rx)
    tx, rx = await channels(host)
    await loop(host, some_messages(rng, 3, 1500), tx, rx)


@cocotb.test()
async def turned_off(dut):
    """The host is about to take power away: the user says so, with transfers in flight."""
    host = await start(dut, "turned off")
    tx, rx = await channels(host)
    await busy(host, tx, rx)
    await host.card.turn_off()
