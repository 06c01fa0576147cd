# SPDX-License-Identifier: Apache-2.0
"""tp_user_edge's crossings for kinds, with resets at any moment: a cocotb module, started by test_user_edge.

A mover and a kind are played on two clocks. The kind gives a verdict on each message and a message for each ask, numbered alike. After a
reset the mover must see nothing of before, and all of what comes after.
"""

import cocotb
from bench import generator
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, RisingEdge

RATIOS = ((4000, 4002), (4000, 17006), (4000, 1302))


async def kind(dut, rng):
    """On the user's clock: forgets everything with a reset of the stream."""
    verdicts, messages, shows = [], [], [False, False]
    while True:
        await FallingEdge(dut.user_clk)
        dut.h2c_tready.value = int(rng.random() < 0.7)
        dut.c2h_ask_ready.value = int(rng.random() < 0.7)
        shows = [bool(verdicts) and (shows[0] or rng.random() < 0.4), bool(messages) and (shows[1] or rng.random() < 0.4)]
        dut.h2c_end_valid.value, dut.c2h_tvalid.value = map(int, shows)
        dut.h2c_end_status.value = verdicts[0] % 64 if verdicts else 0
        dut.c2h_tdata.value = messages[0] if messages else 0
        dut.c2h_status.value = messages[0] % 64 if messages else 0
        dut.c2h_tkeep.value = 0xFF
        dut.c2h_tlast.value = 1
        await RisingEdge(dut.user_clk)
        gone, asked = bool(dut.h2c_reset.value), bool(dut.c2h_reset.value)
        if dut.h2c_end_valid.value and dut.h2c_end_ready.value:
            verdicts.pop(0)
            shows[0] = False
        if dut.c2h_tvalid.value and dut.c2h_tready.value:
            messages.pop(0)
            shows[1] = False
        if dut.h2c_tvalid.value and dut.h2c_tready.value:
            verdicts.append(int(dut.h2c_tdata.value))
        if dut.c2h_ask_valid.value and dut.c2h_ask_ready.value:
            number = int(dut.c2h_ask_offset.value)
            assert int(dut.c2h_ask_length.value) == number + 1 and int(dut.c2h_ask_user.value) == number + 2
            assert int(dut.c2h_ask_cancel.value) == number & 1
            messages.append(number)
        # What was shown is withdrawn at the next falling edge.
        if gone:
            verdicts.clear()
            shows[0] = False
        if asked:
            messages.clear()
            shows[1] = False


class Mover:
    """On the mover's clock: sends numbers, and wants each back once, in order, until a reset."""

    def __init__(self, dut, rng):
        self.dut, self.rng = dut, rng
        self.sent = {"h2c": [], "c2h": []}
        self.next, self.back, self.quiet = 0, 0, {"h2c": False, "c2h": False}

    async def run(self):
        dut, rng = self.dut, self.rng
        offered = {"h2c": None, "c2h": None}
        while True:
            await FallingEdge(dut.clk)
            for way, valid in (("h2c", dut.mv_h2c_tvalid), ("c2h", dut.mv_c2h_ask_valid)):
                if self.quiet[way]:
                    offered[way] = None
                elif offered[way] is None and rng.random() < 0.5:
                    self.next += 1
                    offered[way] = self.next
                valid.value = int(offered[way] is not None)
            dut.mv_h2c_tdata.value = offered["h2c"] or 0
            dut.mv_h2c_tlast.value, dut.mv_h2c_tkeep.value = 1, 0xFF
            ask = offered["c2h"] or 0
            dut.mv_c2h_ask_offset.value, dut.mv_c2h_ask_length.value, dut.mv_c2h_ask_user.value = ask, ask + 1, ask + 2
            dut.mv_c2h_ask_cancel.value = ask & 1
            dut.mv_h2c_end_ready.value = int(rng.random() < 0.7 and not self.quiet["h2c"])
            dut.mv_c2h_tready.value = int(rng.random() < 0.7 and not self.quiet["c2h"])
            await RisingEdge(dut.clk)
            if dut.mv_h2c_tvalid.value and dut.mv_h2c_tready.value:
                self.sent["h2c"].append(offered["h2c"])
                offered["h2c"] = None
            if dut.mv_c2h_ask_valid.value and dut.mv_c2h_ask_ready.value:
                self.sent["c2h"].append(offered["c2h"])
                offered["c2h"] = None
            if dut.mv_h2c_end_valid.value and dut.mv_h2c_end_ready.value:
                want = self.sent["h2c"].pop(0) if self.sent["h2c"] else None
                assert want is not None and int(dut.mv_h2c_end_status.value) == want % 64, f"a verdict for {want}"
                self.back += 1
            if dut.mv_c2h_tvalid.value and dut.mv_c2h_tready.value:
                want, got = self.sent["c2h"].pop(0) if self.sent["c2h"] else None, int(dut.mv_c2h_tdata.value)
                assert got == want and int(dut.mv_c2h_status.value) == want % 64, f"message {got}, not {want}"
                self.back += 1

    async def reset(self, way):
        """As the mover resets a channel: quiet, then the pulse, then busy until the other side has been told."""
        dut = self.dut
        handle, busy = getattr(dut, f"mv_{way}_reset"), getattr(dut, f"mv_{way}_reset_busy")
        self.quiet[way] = True
        await FallingEdge(dut.clk)
        await FallingEdge(dut.clk)
        handle.value = 1
        await ClockCycles(dut.clk, self.rng.randrange(1, 10), FallingEdge)
        handle.value = 0
        for _ in range(2000):
            if not busy.value:
                break
            await FallingEdge(dut.clk)
        assert not busy.value, "a reset does not end"
        self.sent[way].clear()
        self.quiet[way] = False


@cocotb.test()
async def resets(dut):
    rng = generator("kinds at the edge")
    near, far = rng.choice(RATIOS)
    for name in ("mv_h2c_reset", "mv_c2h_reset", "card_reset", "mv_h2c_tvalid", "mv_c2h_ask_valid", "h2c_end_valid", "c2h_tvalid"):
        getattr(dut, name).value = 0
    dut.rst.value = 1
    cocotb.start_soon(Clock(dut.clk, near, unit="ps").start())
    cocotb.start_soon(Clock(dut.user_clk, far, unit="ps").start())
    await ClockCycles(dut.clk, 10)
    dut.rst.value = 0
    while dut.user_busy.value:
        await RisingEdge(dut.clk)
    mover = Mover(dut, rng)
    cocotb.start_soon(kind(dut, rng))
    cocotb.start_soon(mover.run())
    for _ in range(80):
        await ClockCycles(dut.clk, rng.choice((1, 5, 30, rng.randrange(300))))
        await mover.reset(rng.choice(("h2c", "c2h")))
    for way in ("h2c", "c2h"):
        mover.quiet[way] = False
    before = mover.back
    await ClockCycles(dut.clk, 2000)
    assert mover.back > before + 20, "nothing comes back"
