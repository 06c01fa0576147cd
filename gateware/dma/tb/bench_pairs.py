# SPDX-License-Identifier: Apache-2.0
"""A C2H channel that is paired with another card: its ends that are just `done` have no entry, so nothing is behind its last write."""

import cocotb
from bench import TP, WRITE, generator
from cocotb.triggers import ClockCycles, RisingEdge
from mover import DIRECT, Bench, Channel

from host import BASE


@cocotb.test()
async def a_reset_waits_for_the_last_write(dut):
    """All descriptors are `done`, but the link has stood still since before the last write was read: a reset leaves it its bytes, and
    tells the user core, which goes on sending, when it has left."""
    rng = generator("a_reset_waits_for_the_last_write")
    for _ in range(12):
        bench = Bench(dut, rng)
        bench.host.stall, bench.host.max_payload = 0, 128
        await bench.start()
        index = rng.randrange(bench.c2h)
        c, keep = bench.h2c + index, bench.width // 8
        Channel(bench, c)
        inbox = bench.room(8192, align=8192, skew=0)
        bench.allow(bench.host.writable, inbox + 4096, 64)
        bench.priv(c, TP.TP_CHANNEL_PEER_BASE_OFFSET, inbox, 8)
        await bench.rung()
        dut.paired.value = 1 << c
        sizes = [rng.choice([128, rng.randrange(keep, 129)]) for _ in range(2)]
        slots = [bench.room(size, align=128) for size in sizes]
        vector = bench.room(4, align=4)
        bench.allow(bench.host.writable, vector, 4)
        dut.msix_posted_hdr.value = WRITE.pack(addr=vector, dwords=1, first_be=15)

        # One message, which never ends. When its first slot has been written, the link stands still, and MSI-X messages fill the way
        # out: what is behind them has not been read when its descriptor is done.
        sent, beat, messages, ended, asked, clock = bytearray(), rng.randbytes(keep), 2, 0, None, 0
        dut.c2h_tlast.value = 0
        dut.c2h_tkeep.value = (1 << bench.c2h * keep) - 1
        dut.c2h_tvalid.value = 1 << index
        wait = rng.randrange(20, 200)
        while not int(dut.c2h_reset.value) >> index & 1:
            if clock in (0, 200):
                slot, size = slots[clock // 200], sizes[clock // 200]
                bench.allow(bench.host.writable, slot, size)
                bench.push(c, DIRECT, slot, size)
            if clock == 100:
                bench.host.stall = 1
            dut.msix_posted_valid.value = int(clock > 100 and messages > 0)
            dut.c2h_tdata.value = int.from_bytes(beat, "little") << index * bench.width
            await RisingEdge(dut.clk)
            clock += 1
            messages -= int(dut.msix_posted_valid.value == 1 and dut.msix_posted_ready.value == 1)
            if int(dut.c2h_tready.value) >> index & 1:
                sent += beat
                beat = rng.randbytes(keep)
            ended += int(dut.ended.value) >> c & 1
            if ended == 2 and asked is None:
                asked = clock
                bench.priv(c, TP.TP_CHANNEL_RESET_OFFSET, TP.TP_CHANNEL_RESET_RESET_MASK)
            if asked and clock == asked + wait:
                bench.host.stall = 0
            assert clock < 2000, f"{ended} descriptors have ended, the reset does not"
        assert clock > asked + wait, "the user core was told of the reset before the last write had left"
        at = 0
        for slot, size in zip(slots, sizes, strict=True):
            found = bytes(bench.host.memory[slot - BASE : slot - BASE + size])
            assert found == sent[at : at + size], f"{size} bytes at {at} of the message are not those that were sent"
            at += size
        dut.c2h_tvalid.value = 0
        await ClockCycles(dut.clk, 100)
        dut.paired.value = 0
        bench.stop()
