# SPDX-License-Identifier: Apache-2.0
"""Kinds of channel at the mover's edge: verdicts on H2C messages, and asked C2H messages, among cancels, faults and resets."""

import random

import cocotb
from bench import TLP, TP, generator
from cocotb.triggers import ClockCycles, FallingEdge, RisingEdge
from mover import ATTRIBUTES, CANCELLED, DIRECT, DONE, EOM, LENGTH, LIST, RESET, UR, Bench, Channel, pieces
from streams import reset_channels

from host import BASE

KIND = TP.TP_STATUS_KIND_STATUS


class Judge:
    """A kind with verdicts, on H2C channel 0: takes messages, and judges those that come whole, late, in order."""

    def __init__(self, bench):
        self.bench, self.rng = bench, bench.rng
        self.messages = []  # (bytes, length as told, verdict)
        self.closed = True  # the last descriptor that was told ended its message for certain
        self.waiting, self.speaks = [], True
        bench.tasks.append(cocotb.start_soon(self.run()))

    async def run(self):
        dut, rng, keep = self.bench.dut, self.rng, self.bench.width // 8
        current = bytearray()
        lanes, bits = (1 << keep) - 1, (1 << self.bench.width) - 1
        while True:
            await FallingEdge(dut.clk)
            dut.h2c_tready.value = int(rng.random() < 0.8)
            # A verdict that is shown stands until it is taken.
            shown = bool(self.waiting) and self.speaks and (bool(int(dut.h2c_end_valid.value) & 1) or rng.random() < 0.2)
            dut.h2c_end_valid.value = int(shown)
            dut.h2c_end_status.value = self.waiting[0] if self.waiting else 0
            await RisingEdge(dut.clk)
            if int(dut.h2c_reset.value) & 1:
                current.clear()
                self.waiting.clear()
                await FallingEdge(dut.clk)
                dut.h2c_end_valid.value = 0
                continue
            if shown and int(dut.h2c_end_ready.value) & 1:
                self.waiting.pop(0)
            if int(dut.h2c_tvalid.value) & int(dut.h2c_tready.value) & 1:
                k = int(dut.h2c_tkeep.value) & lanes
                current += (int(dut.h2c_tdata.value) & bits).to_bytes(keep, "little")[: k.bit_length()]
                if int(dut.h2c_tlast.value) & 1:
                    if not int(dut.h2c_error.value) & 1:
                        verdict = rng.choice((0, 0, 0, rng.randrange(1, 64)))
                        self.messages.append((bytes(current), int(dut.h2c_length.value) & (1 << 64) - 1, verdict))
                        self.waiting.append(verdict)
                    current.clear()


@cocotb.test()
async def verdicts(dut):
    """Each descriptor that ends a message is told with the verdict on that message; a cancel waits for none."""
    bench = Bench(dut, rng := generator("verdicts"))
    await bench.start()
    dut.h2c_end_valid.value = 0
    judge, host = Judge(bench), bench.host
    channel, posted, seen, hurried, told = Channel(bench, 0), [], 0, False, 0
    for _ in range(400):
        if len(posted) < 5 and rng.random() < 0.7:
            data, end, sort = rng.randbytes(rng.choice((16, 33, 200, rng.randrange(16, 3000)))), int(rng.random() < 0.8), rng.random()
            prefixed = rng.random() < 0.2
            if prefixed:
                bench.push(0, LENGTH, 1 << 40, 0)
            if sort < 0.3:
                table, cuts = pieces(bench, len(data), host.readable)
                at = 0
                for address, n in cuts:
                    host.memory[address - BASE : address - BASE + n] = data[at : at + n]
                    at += n
                bench.push(0, LIST, table, len(data), channel.cookie, end)
            else:
                address = bench.room(len(data))
                host.memory[address - BASE : address - BASE + len(data)] = data
                bench.allow(host.readable, address, len(data))
                if sort >= 0.95:
                    host.faults[address] = TLP.CPL_UNSUPPORTED_REQUEST
                bench.push(0, DIRECT, address, len(data), channel.cookie, end)
            posted.append({"data": data, "end": end, "bad": sort >= 0.95, "cookie": channel.cookie, "prefixed": prefixed})
            channel.cookie = (channel.cookie + 1) & 0xFFFF
        if rng.random() < 0.05:
            judge.speaks = False
            await ClockCycles(dut.clk, rng.randrange(400))
            hurried = rng.random() < 0.7
        if hurried or rng.random() < 0.02:
            bench.ring("cancel", channel=0)
            await bench.rung()
            for descriptor in posted:
                descriptor["late"] = True
            hurried = False
            # The kind says nothing, and yet the cancel ends.
            while posted:
                seen, told = judge_entry(await channel.wait(3000), posted.pop(0), judge, seen), told + 1
        judge.speaks = judge.speaks or rng.random() < 0.3
        entry = channel.reap()
        if entry:
            seen, told = judge_entry(entry, posted.pop(0), judge, seen), told + 1
        await ClockCycles(dut.clk, rng.choice((1, 10, 100)))
    judge.speaks = True
    while posted:
        seen, told = judge_entry(await channel.wait(3000), posted.pop(0), judge, seen), told + 1
    assert told > 50 and seen > 20, (told, seen)


def judge_entry(entry, descriptor, judge, seen):
    """Compare an entry; returns how many of the kind's messages are accounted for."""
    assert entry["cookie"] == descriptor["cookie"], entry
    status, data, closed = entry["status"], descriptor["data"], judge.closed
    judge.closed = bool(descriptor["end"]) and status != CANCELLED
    if status == CANCELLED:
        assert descriptor.get("late") and entry["bytes"] <= len(data), entry
        return seen
    if status == UR:
        assert descriptor["bad"], entry
        return seen
    assert not descriptor["bad"] and entry["bytes"] == len(data), entry
    if not descriptor["end"]:
        assert status == DONE, entry
        return seen
    found = next((i for i in range(seen, len(judge.messages)) if judge.messages[i][0].endswith(data)), None)
    assert found is not None, f"told before the kind had it: {entry}"
    message, length, verdict = judge.messages[found]
    assert status == (KIND | verdict if verdict else DONE), f"{entry} for verdict {verdict}"
    if message == data and closed:
        assert length == (1 << 40 if descriptor["prefixed"] else len(data)), f"the kind was told {length} bytes of {len(data)}"
    return found + 1


class Answerer:
    """An asked kind, on C2H channel 0: sends what the offset says, now and then more or less of it, or nothing."""

    def __init__(self, bench):
        self.bench, self.rng = bench, bench.rng
        self.asks, self.status = [], {}
        self.sends, self.obeys = True, True
        self.most = 0  # asks without an end
        self.queue, self.beats, self.shown = [], [], False
        bench.tasks.append(cocotb.start_soon(self.run()))

    @staticmethod
    def bytes_of(offset, count):
        return random.Random(offset).randbytes(4096)[:count]

    async def run(self):
        dut, rng, keep = self.bench.dut, self.rng, self.bench.width // 8
        while True:
            await FallingEdge(dut.clk)
            dut.c2h_ask_ready.value = int(rng.random() < 0.5)
            if not self.beats and self.queue and self.sends:
                offset, length, user = self.queue.pop(0)
                count = max(0, length + rng.choice((0, 0, 0, 0, -1, 1, -rng.randrange(300), rng.randrange(300))))
                data, status = self.bytes_of(offset, count), rng.choice((0, 0, rng.randrange(1, 64)))
                self.status[offset] = count, status
                parts = [data[i : i + keep] for i in range(0, count, keep)] or [b""]
                if len(parts[-1]) == keep and rng.random() < 0.2:
                    parts.append(b"")
                self.beats = [(part, i == len(parts) - 1, status) for i, part in enumerate(parts)]
            if self.beats and not self.shown and self.sends and rng.random() < 0.8:
                part, last, status = self.beats[0]
                dut.c2h_tdata.value = int.from_bytes(part, "little")
                dut.c2h_tkeep.value = (1 << len(part)) - 1
                dut.c2h_tlast.value, dut.c2h_status.value = int(last), status if last else rng.randrange(64)
                self.shown = True
            dut.c2h_tvalid.value = int(self.shown)
            await RisingEdge(dut.clk)
            if int(dut.c2h_reset.value) & 1:
                self.queue, self.beats, self.shown = [], [], False
                await FallingEdge(dut.clk)
                dut.c2h_tvalid.value = 0
                continue
            if self.shown and int(dut.c2h_tready.value) & 1:
                self.beats.pop(0)
                self.shown = False
            if int(dut.c2h_ask_valid.value) & int(dut.c2h_ask_ready.value) & 1:
                if int(dut.c2h_ask_cancel.value) & 1:
                    if self.obeys and len(self.beats) > 1 + self.shown:  # an early end
                        self.beats = [*self.beats[: int(self.shown)], (b"", True, 0)]
                    elif self.obeys and not self.beats:
                        self.beats, self.queue = [(b"", True, 0) for _ in self.queue], []
                else:
                    ask = tuple(int(getattr(dut, f"c2h_ask_{name}").value) for name in ("offset", "length", "user"))
                    self.asks.append(ask)
                    self.queue.append(ask)
                    self.most = max(self.most, len(self.queue) + bool(self.beats))


@cocotb.test()
async def asked(dut):
    """Each buffer gets the message that its own prefix asked for, whatever became of the ones before it. A kind that is asked ahead is."""
    bench = Bench(dut, rng := generator("asked"))
    await bench.start()
    for name in ("c2h_tvalid", "c2h_ask_ready", "h2c_end_valid"):
        getattr(dut, name).value = 0
    answerer, host, index = Answerer(bench), bench.host, bench.h2c
    channel, posted, whole, resets = Channel(bench, index, announce=True), [], 0, 0

    def compare(entry, wanted):
        nonlocal whole
        offset, size, address, user = (wanted[k] for k in ("offset", "size", "address", "user"))
        assert entry["cookie"] == wanted["cookie"] and not entry["start"], entry
        got = bytes(host.memory[address - BASE : address - BASE + entry["bytes"]])
        if "cuts" in wanted:
            got = b"".join(bytes(host.memory[a - BASE : a - BASE + n]) for a, n in wanted["cuts"])[: entry["bytes"]]
        assert entry["bytes"] <= size and got == answerer.bytes_of(offset, len(got)), f"another message's bytes: {entry}"
        if entry["status"] in (CANCELLED, RESET):
            assert wanted.get("late"), entry
            return
        if not size:
            assert entry["status"] == DONE, entry
            return
        count, status = answerer.status[offset]
        assert (offset, size, user) in answerer.asks
        if count <= size and not (count == size and entry["status"] == DONE):
            assert (entry["bytes"], entry["status"]) == (count, KIND | status if status else EOM), (entry, count, status)
        else:
            assert (entry["bytes"], entry["status"]) == (size, DONE), (entry, count)
        whole += 1

    for _ in range(500):
        if len(posted) < 6 and rng.random() < 0.6:
            size = rng.choice((0, 1, 16, 64, 1000, rng.randrange(1, 3000)))
            wanted = {"offset": rng.randrange(1 << 64), "user": rng.randrange(1 << 32), "size": size, "cookie": channel.cookie}
            bench.push(index, ATTRIBUTES, wanted["offset"], wanted["user"])
            wanted["address"] = bench.room(size)
            bench.allow(host.writable, wanted["address"], size)
            if size and rng.random() < 0.5:
                table, wanted["cuts"] = pieces(bench, size, host.writable)
                bench.push(index, LIST, table, size, channel.cookie)
            else:
                bench.push(index, DIRECT, wanted["address"], size, channel.cookie)
            channel.cookie = (channel.cookie + 1) & 0xFFFF
            posted.append(wanted)
        if rng.random() < 0.04:
            answerer.sends = False
            await ClockCycles(dut.clk, rng.randrange(300))
        if rng.random() < 0.06:
            answerer.obeys = rng.random() < 0.5
            bench.ring("cancel", channel=index)
            await bench.rung()
            for wanted in posted:
                wanted["late"] = True
            while posted:  # though the kind may send nothing
                compare(await channel.wait(3000), posted.pop(0))
        if rng.random() < 0.02:
            for wanted in posted:
                wanted["late"] = True
            await reset_channels(bench, [index], 1500)
            while posted:
                compare(await channel.wait(3000), posted.pop(0))
            channel, resets = Channel(bench, index), resets + 1
            await bench.rung()
        answerer.sends = answerer.sends or rng.random() < 0.3
        entry = channel.reap()
        if entry:
            compare(entry, posted.pop(0))
        await ClockCycles(dut.clk, rng.choice((1, 10, 60)))
    answerer.sends = True
    while posted:
        compare(await channel.wait(20_000), posted.pop(0))
    assert whole > 30, whole
    assert answerer.most == 1 + (int(dut.C2H_AHEAD.value) & 1), answerer.most


@cocotb.test()
async def a_reset_with_verdicts_to_come(dut):
    """The kind owes verdicts when its channel is reset: what is posted afterwards gets its own."""
    bench = Bench(dut, rng := generator("a_reset_with_verdicts_to_come"))
    await bench.start()
    dut.h2c_end_valid.value = 0
    judge = Judge(bench)
    for turn in range(12):
        channel = Channel(bench, 0)
        await bench.rung()
        judge.speaks = False
        held = rng.randrange(0, 5)
        address = bench.room(64)
        bench.allow(bench.host.readable, address, 64)
        for k in range(held):
            bench.push(0, DIRECT, address, 64, k, 1)
        if rng.random() < 0.5:
            bench.ring("cancel", channel=0)
        await bench.rung()
        await ClockCycles(dut.clk, rng.randrange(600))
        await reset_channels(bench, [0], 1500)
        for k in range(held):
            entry = await channel.wait(10)
            assert entry["cookie"] == k and entry["status"] in (RESET, CANCELLED), (turn, entry)
        channel = Channel(bench, 0)
        await bench.rung()
        judge.speaks, judge.messages = True, []
        for k in range(3):
            bench.push(0, DIRECT, address, 64, 7 + k, 1)
        for k in range(3):
            entry = await channel.wait(3000)
            verdict = judge.messages[k][2]
            assert (entry["cookie"], entry["status"]) == (7 + k, KIND | verdict if verdict else DONE), (turn, entry, judge.messages)
        await reset_channels(bench, [0], 1500)
