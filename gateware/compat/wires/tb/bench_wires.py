# SPDX-License-Identifier: Apache-2.0
"""Registers that are ports, and a start that a core takes at its own pace, against a model: a cocotb module, started by test_wires.py."""

import cocotb
from bench import generator
from cocotb.triggers import Timer

STEPS = 6000
AXIL = "awaddr awvalid wdata wstrb wvalid bready araddr arvalid rready"
BITS = 40


class Model:
    """What a host sees, clock by clock."""

    def __init__(self, chain):
        self.chain = chain
        self.start = self.again = self.done = self.ready = self.goes_on = 0
        self.value = self.held = 0

    def word(self, number, core):
        done = core["ap_done"] if self.chain else self.done
        return {
            0: self.again << 7 | self.ready << 3 | core["ap_idle"] << 2 | done << 1 | self.start,
            4: self.value & 0xFFFFFFFF,
            5: self.value >> 32,
            8: self.held,
        }.get(number, 0)

    def clock(self, core, write, read):
        started = self.start
        if core["ap_ready"]:
            self.start = self.again
        self.done = core["ap_done"] or self.done and read != 0
        self.ready = core["ap_ready"] and started or self.ready and read != 0
        if core["valid"]:
            self.held = core["live"]
        self.goes_on = 0
        if write is None:
            return
        number, data, strobes = write
        if number == 0 and strobes & 1:
            self.start |= data & 1
            self.again = data >> 7 & 1
            self.goes_on = data >> 4 & 1
        for byte in range(4):
            at = 32 * (number - 4) + 8 * byte
            if number in (4, 5) and strobes >> byte & 1 and at < BITS:
                self.value = self.value & ~(0xFF << at) | (data >> 8 * byte & 0xFF) << at


@cocotb.test()
async def registers_and_start(dut):
    chain = int(dut.CHAIN.value)
    rng, model = generator("wires"), Model(chain)
    pins = [*(f"s_axil_{signal}" for signal in AXIL.split()), "ap_done", "ap_idle", "ap_ready", "valid", "live", "rst_n", "clk"]
    for name in pins:
        getattr(dut, name).value = 0

    async def edge():
        dut.clk.value = 1
        await Timer(1, "ns")
        dut.clk.value = 0
        await Timer(1, "ns")

    for _ in range(3):
        await edge()
    dut.rst_n.value = 1
    write = read = expected = None  # accesses that are offered, and the word that was chosen
    answered = written = runs = 0
    waiting = {"b": False, "r": False}
    left = None  # clocks until the core is done
    for _ in range(STEPS):
        if write is None and rng.random() < 0.3:
            write = (rng.choice([0, 0, 4, 5, 8, 9]), rng.getrandbits(32), rng.choice([15, 15, rng.randrange(16)]))
        if read is None and rng.random() < 0.3:
            read = rng.choice([0, 0, 4, 5, 8, 9])
        # The core: takes a start when it likes, and is done some clocks later.
        start = int(dut.ap_start.value)
        ready = int(bool(start) and left is None and rng.random() < 0.3)
        finished = int(left == 0)
        # With `ap_continue` it stays done until it may go on.
        over = finished and (not chain or int(dut.ap_continue.value))
        left = rng.randrange(6) if ready else None if over else max(left - 1, 0) if left is not None else None
        runs += over
        core = {
            "ap_ready": ready,
            "ap_done": finished,
            "ap_idle": int(left is None),
            "valid": int(rng.random() < 0.2),
            "live": rng.getrandbits(32),
        }
        for name, value in core.items():
            getattr(dut, name).value = value
        # Address and data may come apart; both wait.
        number, data, strobes = write or (0, 0, 0)
        apart = rng.random() < 0.2
        dut.s_axil_awvalid.value, dut.s_axil_wvalid.value = int(write is not None), int(write is not None and not apart)
        dut.s_axil_awaddr.value, dut.s_axil_wdata.value, dut.s_axil_wstrb.value = 4 * number, data, strobes
        dut.s_axil_arvalid.value, dut.s_axil_araddr.value = int(read is not None), 4 * (read or 0)
        takes = {channel: int(rng.random() < 0.6) for channel in "br"}
        dut.s_axil_bready.value, dut.s_axil_rready.value = takes["b"], takes["r"]
        await Timer(1, "ns")
        took_write = write is not None and not apart and bool(int(dut.s_axil_wready.value))
        assert not took_write or int(dut.s_axil_awready.value), "data without its address"
        took_read = read is not None and bool(int(dut.s_axil_arready.value))
        for channel in "br":
            assert bool(int(getattr(dut, f"s_axil_{channel}valid").value)) == waiting[channel], f"an answer of {channel} too many, or none"
        if waiting["r"]:
            assert int(dut.s_axil_rdata.value) == expected
            answered += takes["r"]
        assert int(dut.value.value) == model.value
        assert start == model.start
        assert int(dut.ap_continue.value) == (model.goes_on or model.again)
        chosen = model.word(read, core) if took_read else expected
        model.clock(core, write if took_write else None, read if took_read else None)
        waiting = {"b": took_write or waiting["b"] and not takes["b"], "r": took_read or waiting["r"] and not takes["r"]}
        expected, written = chosen, written + took_write
        write, read = None if took_write else write, None if took_read else read
        await edge()
    assert min(answered, written) > 500, (answered, written)
    assert runs > 100, runs
