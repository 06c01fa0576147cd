# SPDX-License-Identifier: Apache-2.0
"""MPS and MRRS are lowered while data moves."""

import cocotb
from bench import TP, WRITE, generator
from cocotb.triggers import ClockCycles, RisingEdge
from mover import DIRECT, DONE, Bench, Channel

from host import READ


@cocotb.test()
async def lowered_limits_are_kept(dut):
    """What is in hand ends, two reads and three writes may still be too long; then all keep the new limits, and nothing is lost."""
    rng = generator("lowered_limits_are_kept")
    for _ in range(8):
        bench = Bench(dut, rng)
        bench.host.stall, bench.host.max_payload, bench.host.max_read = rng.choice([0, 0.3]), 512, 512
        await bench.start()
        c = bench.h2c
        down, up = Channel(bench, 0), Channel(bench, c)
        dut.h2c_tready.value = (1 << bench.h2c) - 1
        dut.c2h_tkeep.value = (1 << bench.c2h * bench.width // 8) - 1
        dut.c2h_tvalid.value = 1
        size = 16384
        buffer = bench.room(size)
        bench.allow(bench.host.readable, buffer, size)
        bench.allow(bench.host.writable, buffer, size)
        for k in range(4):
            bench.push(0, DIRECT, buffer, size, k, 1)
            bench.push(c, DIRECT, buffer, size, k)
        await ClockCycles(dut.clk, rng.randrange(100, 400))
        payload, read = rng.choice([(128, 512), (512, 128), (128, 128)])
        dut.cfg.value = config_with(bench, payload, read)
        long_reads = long_writes = 0
        open_write = bench.host.inside  # one that had begun
        ended = {0: [], c: []}
        for _ in range(30000):
            await RisingEdge(dut.clk)
            if dut.tx_read_valid.value == 1 and dut.tx_read_ready.value == 1:
                long_reads += READ.unpack(int(dut.tx_read_hdr.value))["dwords"] > read // 4
            if dut.tx_posted_valid.value == 1 and not open_write:
                long_writes += WRITE.unpack(int(dut.tx_posted_hdr.value))["dwords"] > payload // 4
            if dut.tx_posted_valid.value == 1:
                open_write = not (dut.tx_posted_ready.value == 1 and dut.tx_posted_last.value == 1)
            for channel in (down, up):
                while entry := channel.reap():
                    ended[channel.index].append(entry)
            if all(len(e) == 4 for e in ended.values()):
                break
        assert long_reads <= 2 and long_writes <= 3, f"{long_reads} reads and {long_writes} writes beyond the new limits"
        for entries in ended.values():
            assert [e["cookie"] for e in entries] == [0, 1, 2, 3], entries
            cut = [e for e in entries if e["status"] == TP.TP_STATUS_BUS_MASTERING_OFF]
            assert len(cut) <= 1 and all(e["status"] == DONE and e["bytes"] == size for e in entries if e not in cut), entries
        dut.c2h_tvalid.value = 0
        await ClockCycles(dut.clk, 5)
        bench.stop()


def config_with(bench, payload: int, read: int) -> int:
    """The configuration with new limits; what is on its way is still checked against the old ones."""
    old = bench.host.max_payload, bench.host.max_read
    bench.host.max_payload, bench.host.max_read = payload, read
    value = bench.host.config()
    bench.host.max_payload, bench.host.max_read = old
    return value
