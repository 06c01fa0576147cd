# SPDX-License-Identifier: Apache-2.0
"""Streams, crossings and arbiters under random traffic and clocks of random ratio: a cocotb module, started by test_lib.

Synchronisers see changes late at random (TP_SYNC_LATE), so that a crossing which trusts two bits to arrive together is found out.
"""

import cocotb
from bench import generator
from cocotb.triggers import FallingEdge, Timer

RATIOS = ((4000, 4000), (4000, 3998), (2000, 10006), (10006, 2000), (4000, 6202), (7014, 4000), (1000, 40002))


class Clocks:
    """Two clocks of their own; `stop` ends them."""

    def __init__(self, dut, rng, a, b):
        self.running = {"a": True, "b": True}
        cocotb.start_soon(self.run(dut.a_clk, a, 0, "a"))
        cocotb.start_soon(self.run(dut.b_clk, b, rng.randrange(1, b), "b"))

    async def run(self, clk, period, phase, name):
        clk.value = 0
        await Timer(phase + 1, "ps")
        while self.running[name]:
            clk.value = 1
            await Timer(period // 2, "ps")
            clk.value = 0
            await Timer(period // 2, "ps")

    def stop(self):
        self.running = {"a": False, "b": False}


async def send(dut, rng, clk, name, items, eager, allowed=lambda: True):
    """Offers the items in order; a handshake is seen in the middle of the clock, where everything has settled."""
    valid, ready, data = (getattr(dut, f"{name}_in_{part}", None) for part in ("valid", "ready", "data"))
    for item in items:
        valid.value = 0
        while rng.random() > eager or not allowed():
            await FallingEdge(clk)
        valid.value = 1
        if data is not None:
            data.value = item
        while True:
            await Timer(1, "ps")
            taken = bool(ready.value)
            await FallingEdge(clk)
            if taken:
                break
    valid.value = 0


async def receive(dut, rng, clk, name, count, eager):
    valid, ready, data = (getattr(dut, f"{name}_out_{part}", None) for part in ("valid", "ready", "data"))
    got, stood = [], None
    while len(got) < count:
        ready.value = int(rng.random() < eager)
        await Timer(1, "ps")
        value = int(data.value) if data is not None else 0
        if stood is not None:
            assert valid.value and value == stood, f"{name}: a beat was taken back or changed before ready"
        stood = None
        if valid.value and ready.value:
            got.append(value)
        elif valid.value:
            stood = value
        await FallingEdge(clk)
    ready.value = 0
    return got


def quiet(dut):
    for name in ("fifo", "word", "pulse", "skid", "queue"):
        getattr(dut, f"{name}_in_valid").value = 0
        getattr(dut, f"{name}_out_ready").value = 0
    for name in ("request", "rst", "queue_clear", "arbiter_request", "arbiter_take"):
        getattr(dut, name).value = 0


async def until(clk, true, patience=4000):
    for _ in range(patience):
        if true():
            return
        await FallingEdge(clk)
    raise AssertionError(f"nothing for {patience} clocks")


@cocotb.test()
async def crossings(dut):
    """FIFO, handshake and pulse: all that goes in comes out, once and in order, at any ratio of clocks and any pace."""
    rng = generator("crossings")
    for a, b in RATIOS:
        quiet(dut)
        clocks = Clocks(dut, rng, a, b)
        dut.request.value = 1
        await FallingEdge(dut.a_clk)
        await FallingEdge(dut.a_clk)
        dut.request.value = 0
        await until(dut.a_clk, lambda: not dut.busy.value)
        items = [rng.getrandbits(16) for _ in range(120)]
        pace = [rng.choice((0.2, 0.6, 1.0)) for _ in range(6)]
        some = {"fifo": items, "word": items[:25], "pulse": [0] * 25}
        tasks, senders = [], []
        for i, (name, part) in enumerate(some.items()):
            senders.append(cocotb.start_soon(send(dut, rng, dut.a_clk, name, part, pace[i])))
            tasks.append(cocotb.start_soon(receive(dut, rng, dut.b_clk, name, len(part), pace[i + 3])))
        for task, (name, part) in zip(tasks, some.items(), strict=True):
            assert await task == part, f"{name} at {a}:{b}"
        for sender in senders:  # what has arrived is not acknowledged yet
            await sender
        for _ in range(12):
            await FallingEdge(dut.b_clk)
            assert not dut.fifo_out_valid.value and not dut.word_out_valid.value and not dut.pulse_out_valid.value, "out of nothing"
        clocks.stop()
        await Timer(3 * max(a, b), "ps")


@cocotb.test()
async def full_rate(dut):
    """Between like clocks the FIFO takes and gives a beat a clock; so do skid and queue."""
    rng = generator("full_rate")
    quiet(dut)
    clocks = Clocks(dut, rng, 4000, 4000)
    dut.rst.value = 1
    for _ in range(60):
        await FallingEdge(dut.a_clk)
    dut.rst.value = 0
    await until(dut.a_clk, lambda: not dut.busy.value)
    for name, clk in (("fifo", dut.b_clk), ("skid", dut.a_clk), ("queue", dut.a_clk)):
        taken = 0
        getattr(dut, f"{name}_in_valid").value = 1
        getattr(dut, f"{name}_out_ready").value = 1
        for i in range(260):
            await FallingEdge(clk)
            taken += int(getattr(dut, f"{name}_out_valid").value) if i >= 60 else 0
        getattr(dut, f"{name}_in_valid").value = 0
        # Late synchronisers cost the FIFO a clock now and then: DEPTH 8 covers most of it.
        assert taken == 200 or name == "fifo" and taken > 150, (name, taken)
    clocks.stop()
    await Timer(10, "ns")


@cocotb.test()
async def reset(dut):
    """The other side is in reset for 16 of its clocks, however short the request and whatever the clocks; busy tells the whole time."""
    rng = generator("reset")
    for a, b in RATIOS:
        quiet(dut)
        clocks = Clocks(dut, rng, a, b)
        await until(dut.a_clk, lambda: not dut.busy.value)
        for _ in range(6):
            for _ in range(rng.randrange(50)):
                await FallingEdge(dut.a_clk)
            counted = 0

            async def count():
                nonlocal counted
                while True:
                    await FallingEdge(dut.b_clk)
                    counted += int(dut.b_rst.value)
                    if dut.b_rst.value:
                        assert dut.busy.value, "in reset, but not busy"
                    if dut.a_rst.value and not dut.b_rst.value:
                        assert dut.busy.value

            counter = cocotb.start_soon(count())
            dut.request.value = 1
            await FallingEdge(dut.a_clk)
            assert dut.busy.value
            dut.request.value = 0
            # Another request while the first is under way, sometimes: also when its end is near.
            if rng.random() < 0.5:
                for _ in range(rng.randrange(120)):
                    await FallingEdge(dut.a_clk)
                counted = 0
                dut.request.value = 1
                await FallingEdge(dut.a_clk)
                dut.request.value = 0
                assert dut.busy.value
                await until(dut.a_clk, lambda: not dut.busy.value)
                assert counted >= 1
            else:
                await until(dut.a_clk, lambda: not dut.busy.value)
                assert counted >= 16
            assert not dut.b_rst.value
            counter.cancel()
        clocks.stop()
        await Timer(3 * max(a, b), "ps")
    # A clock that stands still is not missed.
    quiet(dut)
    clocks = Clocks(dut, rng, 4000, 4000)
    await until(dut.a_clk, lambda: not dut.busy.value)
    clocks.running["b"] = False
    await Timer(20, "ns")
    dut.request.value = 1
    await FallingEdge(dut.a_clk)
    dut.request.value = 0
    for _ in range(200):
        await FallingEdge(dut.a_clk)
        assert dut.busy.value
    clocks.running["b"] = True
    cocotb.start_soon(clocks.run(dut.b_clk, 4000, 7, "b"))
    await until(dut.a_clk, lambda: dut.b_rst.value == 1)
    await until(dut.a_clk, lambda: not dut.busy.value)
    clocks.stop()
    await Timer(10, "ns")


@cocotb.test()
async def streams(dut):
    """Skid and queue at any pace; `clear` empties the queue and nothing more."""
    rng = generator("streams")
    quiet(dut)
    clocks = Clocks(dut, rng, 4000, 4000)
    dut.rst.value = 1
    for _ in range(3):
        await FallingEdge(dut.a_clk)
    dut.rst.value = 0
    for _ in range(6):
        items = [rng.getrandbits(16) for _ in range(150)]
        tasks = []
        for name in ("skid", "queue"):
            cocotb.start_soon(send(dut, rng, dut.a_clk, name, items, rng.choice((0.2, 0.6, 1.0))))
            tasks.append(cocotb.start_soon(receive(dut, rng, dut.a_clk, name, len(items), rng.choice((0.2, 0.6, 1.0)))))
        for task in tasks:
            assert await task == items
    await send(dut, rng, dut.a_clk, "queue", [1, 2, 3], 1.0)
    assert dut.queue_count.value == 3 and dut.queue_out_valid.value
    dut.queue_clear.value = 1
    await FallingEdge(dut.a_clk)
    dut.queue_clear.value = 0
    assert dut.queue_count.value == 0 and not dut.queue_out_valid.value
    await send(dut, rng, dut.a_clk, "queue", range(8), 1.0)
    assert dut.queue_count.value == 8 and not dut.queue_in_ready.value
    assert await receive(dut, rng, dut.a_clk, "queue", 8, 0.5) == list(range(8))
    clocks.stop()
    await Timer(10, "ns")


@cocotb.test()
async def arbiter(dut):
    """One grant at a time, only to who asks, and nobody waits for more than all others once."""
    rng = generator("arbiter")
    quiet(dut)
    clocks = Clocks(dut, rng, 4000, 4000)
    dut.rst.value = 1
    for _ in range(3):
        await FallingEdge(dut.a_clk)
    dut.rst.value = 0
    waiting = [0] * 5  # grants to others since line i began to ask
    asking = 0
    served = [0] * 5
    for _ in range(1500):
        asking |= rng.getrandbits(5) & rng.getrandbits(5)
        dut.arbiter_request.value = asking
        take = rng.random() < 0.7
        dut.arbiter_take.value = int(take)
        await Timer(1, "ps")
        grant = int(dut.arbiter_grant.value)
        assert grant & ~asking == 0 and grant.bit_count() == (1 if asking else 0)
        if take and grant:
            line = grant.bit_length() - 1
            served[line] += 1
            for i in range(5):
                waiting[i] = waiting[i] + 1 if asking >> i & 1 and i != line else 0
            assert max(waiting) <= 4
            if rng.random() < 0.5:
                asking &= ~grant
        await FallingEdge(dut.a_clk)
    assert min(served) > 50
    clocks.stop()
    await Timer(10, "ns")
