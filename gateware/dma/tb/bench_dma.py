# SPDX-License-Identifier: Apache-2.0
"""Random traffic through the data mover: every byte, message end and completion is accounted for."""

import os
from itertools import pairwise

import cocotb
from bench import TLP, TP, WRITE, generator
from cocotb.triggers import ClockCycles, RisingEdge
from mover import (
    ATTRIBUTES,
    CANCELLED,
    DIRECT,
    DONE,
    ENTRY,
    EOM,
    INLINE,
    LENGTH,
    LIST,
    LIST_CONTROL,
    RESET,
    SLOT,
    TORN,
    UR,
    Bench,
    Channel,
    pieces,
)
from streams import Streams, Transfers, reset_channels, sink, source

from host import BASE, READ


async def drive_h2c(bench: Bench, index: int, count: int, log: list):
    """Post `count` descriptors; log what must reach the user core: (bytes, ends)."""
    rng, host = bench.rng, bench.host
    channel = Channel(bench, index)
    waiting, slots = [], [0, 1, 2, 3]
    posted = open_message = 0
    while posted < count or waiting:
        places = sum(w["places"] for w in waiting)
        if posted < count and places <= 13 and rng.random() < 0.5:
            size = int(2 ** rng.uniform(0, 13)) - 1 if rng.random() < 0.9 else 0
            end, cookie = int(rng.random() < 0.6), channel.cookie
            channel.cookie = (channel.cookie + 1) & 0xFFFF
            data = rng.randbytes(size)
            w = dict(data=data, end=end, cookie=cookie, places=1, slot=None, kind=DIRECT)
            if rng.random() < 0.3 and not open_message:
                offset, user, length = rng.randrange(1 << 64), rng.randrange(1 << 32), rng.randrange(1 << 64)
                bench.push(index, ATTRIBUTES, offset, user)
                bench.push(index, LENGTH, length, 0)
                w.update(attributes=(length, offset, user), places=3)
            kind = rng.choice([DIRECT, LIST, INLINE, TORN if rng.random() < 0.3 else DIRECT])
            if kind == INLINE and slots:
                w.update(kind=INLINE, slot=slots.pop(), data=data[:SLOT])
                # As write-combining memory leaves a processor: cut anywhere, in any order.
                cuts = sorted({0, len(w["data"]), *(4 * rng.randrange(SLOT // 4) for _ in range(rng.randrange(4)))})
                parts = [(k, w["data"][k:n]) for k, n in pairwise(k for k in cuts if k <= len(w["data"]))]
                for k, part in rng.sample(parts, len(parts)):
                    bench.inline(index, w["slot"] * SLOT + k, part)
                bench.push(index, INLINE, w["slot"] * SLOT, len(w["data"]), cookie, end)
            elif kind == LIST and size:
                table, cuts = pieces(bench, size, host.readable)
                k = 0
                for address, n in cuts:
                    host.memory[address - BASE : address - BASE + n] = data[k : k + n]
                    k += n
                w["kind"] = LIST
                bench.push(index, LIST, table, size, cookie, end)
            else:
                address = bench.room(size)
                host.memory[address - BASE : address - BASE + size] = data
                bench.allow(host.readable, address, size)
                w["torn"] = kind == TORN
                bench.push(index, DIRECT, address, size, cookie, end, torn=int(kind == TORN))
            open_message = 0 if end and not w.get("torn") else 1
            waiting.append(w)
            posted += 1
            if rng.random() < 0.05:
                bench.ring("cancel", channel=index)
                for other in waiting:
                    other["may_cancel"] = True
        entry = channel.reap()
        if entry:
            w = waiting.pop(0)
            assert entry["cookie"] == w["cookie"], f"channel {index}: cookie {entry['cookie']:#x}, posted {w['cookie']:#x}"
            assert not entry["start"]
            if w.get("torn"):
                assert entry["status"] == TORN and entry["bytes"] == 0, entry
                log.append((b"", False, None))
            elif entry["status"] == CANCELLED:
                assert w.get("may_cancel") and entry["bytes"] <= len(w["data"]), entry
                log.append((w["data"][: entry["bytes"]], False, w.get("attributes")))
            else:
                assert entry["status"] == DONE and entry["bytes"] == len(w["data"]), entry
                log.append((w["data"], bool(w["end"]), w.get("attributes")))
            if w["slot"] is not None:
                slots.append(w["slot"])
        await RisingEdge(bench.dut.clk)


def messages(log):
    """The messages which a log of descriptors makes, the last one perhaps open."""
    done, current = [], bytearray()
    for data, end, _ in log:
        current += data
        if end:
            done.append(bytes(current))
            current = bytearray()
    return done, bytes(current)


async def drive_c2h(bench: Bench, index: int, sent: list, announce: bool):
    """Receive everything in `sent` into random buffers; compare as it comes."""
    rng, host = bench.rng, bench.host
    channel = Channel(bench, index, announce)
    waiting, current, message = [], bytearray(), 0
    starts = 0
    while message < len(sent):
        if len(waiting) < 12 and rng.random() < 0.4:
            size = max(1, int(2 ** rng.uniform(0, 13)))
            cookie = channel.cookie = (channel.cookie + 1) & 0xFFFF
            w = dict(cookie=cookie, size=size)
            if rng.random() < 0.4:
                table, w["cuts"] = pieces(bench, size, host.writable)
                bench.push(index, LIST, table, size, cookie)
            else:
                address = bench.room(size)
                bench.allow(host.writable, address, size)
                w["cuts"] = [(address, size)]
                bench.push(index, DIRECT, address, size, cookie)
            waiting.append(w)
            if rng.random() < 0.05:
                bench.ring("cancel", channel=index)
                for other in waiting:
                    other["may_cancel"] = True
        entry = channel.reap()
        if entry and entry["start"]:
            data, length, offset, user = sent[starts]
            told = (entry["bytes"] | entry["cookie"] << 32, entry["offset"], entry["user"])
            assert announce and told == (length, offset, user), (starts, entry)
            assert starts in (message, message + 1)
            starts += 1
        elif entry:
            w = waiting.pop(0)
            assert entry["cookie"] == w["cookie"]
            data, length, offset, user = sent[message]
            got = b"".join(bytes(host.memory[a - BASE : a - BASE + n]) for a, n in w["cuts"])[: entry["bytes"]]
            for a, n in w["cuts"]:
                bench.allow(host.writable, a, n, 0)  # afterwards the card must not touch it
            current += got
            assert not announce or starts == message + 1 or not got, "bytes were told of before their message's start"
            assert data.startswith(bytes(current)), f"channel {index}, message {message}: wrong bytes after {len(current) - len(got)}"
            if entry["status"] == EOM:
                assert bytes(current) == data, f"message {message} ended after {len(current)} of {len(data)} bytes"
                assert (entry["offset"], entry["user"]) == (offset, user)
                current, message = bytearray(), message + 1
            elif entry["status"] == DONE:
                assert entry["bytes"] == w["size"]
            else:
                assert entry["status"] == CANCELLED and w.get("may_cancel"), entry
        await RisingEdge(bench.dut.clk)


@cocotb.test()
async def random_traffic(dut):
    """Both directions on all channels: any length and offset, direct, list, inline, torn, attributes, cancels, message starts."""
    rng = generator("random_traffic")
    bench = Bench(dut, rng)
    await bench.start()
    count = int(os.environ.get("TOWPATH_COUNT", "120"))
    logs = [[] for _ in range(bench.h2c)]
    got = [[[], bytearray()] for _ in range(bench.h2c)]
    sent = [
        [
            (rng.randbytes(int(2 ** rng.uniform(0, 13)) - 1), rng.randrange(1 << 48), rng.randrange(1 << 32), rng.randrange(1 << 32))
            for _ in range(count // 2)
        ]
        for _ in range(bench.c2h)
    ]
    cocotb.start_soon(sink(bench, got, rng.choice([0, 0.3, 0.8])))
    cocotb.start_soon(source(bench, [list(s) for s in sent], rng.choice([0, 0.3, 0.8])))
    jobs = [cocotb.start_soon(drive_h2c(bench, c, count, logs[c])) for c in range(bench.h2c)]
    jobs += [cocotb.start_soon(drive_c2h(bench, bench.h2c + c, sent[c], rng.random() < 0.5)) for c in range(bench.c2h)]
    for job in jobs:
        await job
    await ClockCycles(dut.clk, 20000)
    keep = bench.width // 8
    for c in range(bench.h2c):
        want, rest = messages(logs[c])
        assert [m for m, _ in got[c][0]] == want, f"channel {c}: messages differ"
        assert rest[: len(rest) // keep * keep] == bytes(got[c][1]), f"channel {c}: the open message differs"
        expected, current, begun = [], None, False
        for data, end, attributes in logs[c]:
            if not begun and (data or end):  # a descriptor that moved nothing begins no message
                current, begun = attributes, True
            if end:
                expected.append(current or (0, 0, 0))
                begun = False
        assert [a for _, a in got[c][0]] == expected, f"channel {c}: attributes differ"


@cocotb.test()
async def arm_and_overflow(dut):
    """One interrupt for each arm, at once when there is more; a descriptor too many puts the channel in error until its reset."""
    rng = generator("arm_and_overflow")
    bench = Bench(dut, rng)
    await bench.start()
    channel = Channel(bench, 0)
    size = 64
    address = bench.room(size, skew=0)
    bench.allow(bench.host.readable, address, size)
    dut.h2c_tready.value = (1 << bench.h2c) - 1

    bench.ring("arm", channel=0, index=0)
    await ClockCycles(dut.clk, 50)
    assert bench.host.fires == []
    for k in range(3):
        bench.push(0, DIRECT, address, size, k, 1)
    for k in range(3):
        assert (await channel.wait())["cookie"] == k
    await ClockCycles(dut.clk, 50)
    assert bench.host.fires == [0], "one fire for one arm"
    bench.ring("arm", channel=0, index=2)
    await ClockCycles(dut.clk, 50)
    assert bench.host.fires == [0, 0], "there is more: it fires at once"
    bench.ring("arm", channel=0, index=3)
    await ClockCycles(dut.clk, 50)
    assert bench.host.fires == [0, 0]

    depth = int(dut.QUEUE_DEPTH.value)
    dut.cfg.value = bench.host.config(bus_master=0)  # nothing completes
    await ClockCycles(dut.clk, 5)
    # Three more fit: the entries that are on their way out count as completed.
    for k in range(depth + 5):
        if k == depth:
            await ClockCycles(dut.clk, 200)
        bench.push(0, DIRECT, address, size, k, 1)
    await ClockCycles(dut.clk, 200)
    assert await bench.read(0, TP.TP_CHANNEL_STATUS_OFFSET) == TP.TP_CHANNEL_STATUS_ERROR_MASK
    assert await bench.read(0, TP.TP_CHANNEL_OVERFLOWS_OFFSET) == 2
    dut.cfg.value = bench.host.config()
    for k in range(depth + 3):
        entry = await channel.wait()
        assert entry["cookie"] == k and entry["status"] == TP.TP_STATUS_BUS_MASTERING_OFF and entry["bytes"] == 0
    assert bench.host.fires == [0, 0, 0]
    bench.priv(0, TP.TP_CHANNEL_RESET_OFFSET, TP.TP_CHANNEL_RESET_RESET_MASK)
    for _ in range(100):
        if not await bench.read(0, TP.TP_CHANNEL_STATUS_OFFSET) & TP.TP_CHANNEL_STATUS_RESETTING_MASK:
            break
    assert await bench.read(0, TP.TP_CHANNEL_STATUS_OFFSET) == 0
    assert await bench.read(0, TP.TP_CHANNEL_OVERFLOWS_OFFSET) == 0
    channel = Channel(bench, 0)
    bench.push(0, DIRECT, address, size, 77, 1)
    assert (await channel.wait())["cookie"] == 77


@cocotb.test()
async def faults_and_reset(dut):
    """A refused read ends its own descriptor; a reset in flight completes everything with its status, and the channel works afterwards."""
    rng = generator("faults_and_reset")
    bench = Bench(dut, rng)
    bench.host.stall = 0.2
    await bench.start()
    channel = Channel(bench, 0)
    size = 3000
    buffers = [bench.room(size) for _ in range(4)]
    for b in buffers:
        bench.allow(bench.host.readable, b, size)
        bench.host.memory[b - BASE : b - BASE + size] = rng.randbytes(size)
    dut.h2c_tready.value = (1 << bench.h2c) - 1
    bench.host.faults = {buffers[1] + 1700: TLP.CPL_UNSUPPORTED_REQUEST}
    for k, b in enumerate(buffers):
        bench.push(0, DIRECT, b, size, k, 1)
    entries = [await channel.wait() for _ in buffers]
    assert [e["status"] for e in entries] == [DONE, UR, DONE, DONE], entries
    assert entries[1]["bytes"] <= 1700
    bench.host.faults = {}
    dut.h2c_tready.value = 0  # a core that takes nothing must not hold up a cancel or a reset
    await ClockCycles(dut.clk, 100)
    for k in range(12):
        bench.push(0, DIRECT, buffers[k % 4], rng.choice([0, 1, 64, size]), k, 1)
    await ClockCycles(dut.clk, rng.randrange(1, 2000))
    bench.ring("cancel", channel=0)
    entries = [await channel.wait() for _ in range(12)]
    assert [e["cookie"] for e in entries] == list(range(12))
    kinds = [e["status"] for e in entries]
    assert set(kinds) <= {DONE, CANCELLED} and kinds == sorted(kinds), kinds
    for k in range(8):
        bench.push(0, DIRECT, buffers[k % 4], size, k, 1)
    await ClockCycles(dut.clk, rng.randrange(1, 400))
    bench.priv(0, TP.TP_CHANNEL_RESET_OFFSET, TP.TP_CHANNEL_RESET_RESET_MASK)
    entries = [await channel.wait() for _ in range(8)]
    assert [e["cookie"] for e in entries] == list(range(8))
    kinds = [e["status"] for e in entries]
    assert set(kinds) <= {DONE, RESET} and kinds == sorted(kinds) and RESET in kinds, kinds
    for _ in range(100):
        if not await bench.read(0, TP.TP_CHANNEL_STATUS_OFFSET) & TP.TP_CHANNEL_STATUS_RESETTING_MASK:
            break
    got = [[[], bytearray()] for _ in range(bench.h2c)]
    cocotb.start_soon(sink(bench, got, 0.1))
    await ClockCycles(dut.clk, 100)
    assert not got[0][0] and not got[0][1], "bytes from before the reset"
    channel = Channel(bench, 0)
    bench.push(0, DIRECT, buffers[0], size, 5, 1)
    assert (await channel.wait())["status"] == DONE
    await ClockCycles(dut.clk, 1000)
    assert got[0][0][0][0] == bytes(bench.host.memory[buffers[0] - BASE :][:size])


async def watch(bench: Bench, channel: int, got: list):
    """What one H2C channel of the user core takes: (bytes, last, error) for each beat."""
    dut, keep = bench.dut, bench.width // 8
    while True:
        await RisingEdge(dut.clk)
        if int(dut.h2c_tvalid.value) >> channel & 1 and int(dut.h2c_tready.value) >> channel & 1:
            count = (int(dut.h2c_tkeep.value) >> channel * keep & (1 << keep) - 1).bit_length()
            data = (int(dut.h2c_tdata.value) >> channel * bench.width & (1 << bench.width) - 1).to_bytes(keep, "little")[:count]
            got.append((data, int(dut.h2c_tlast.value) >> channel & 1, int(dut.h2c_error.value) >> channel & 1))


@cocotb.test()
async def faults_close_the_message(dut):
    """One poisoned packet of several, or a table that cannot be read, ends the message towards the core with an error, never as whole."""
    rng = generator("faults_close_the_message")
    bench = Bench(dut, rng)
    bench.host.max_read = 512
    await bench.start()
    channel = Channel(bench, 0)
    dut.h2c_tready.value = (1 << bench.h2c) - 1
    got = []
    cocotb.start_soon(watch(bench, 0, got))

    async def outcome():
        await ClockCycles(dut.clk, 400)
        beats, got[:] = list(got), []
        return b"".join(b for b, _, _ in beats), [(last, error) for _, last, error in beats if last]

    size = 512
    for _ in range(8):
        buffer = bench.room(size, align=512)
        bench.allow(bench.host.readable, buffer, size)
        bench.host.memory[buffer - BASE : buffer - BASE + size] = rng.randbytes(size)
        bench.host.poison = {buffer + rng.randrange(size)}
        bench.push(0, DIRECT, buffer, size, 1, 1)
        assert (await channel.wait())["status"] == TP.TP_STATUS_POISONED
        data, ends = await outcome()
        assert ends == [(1, 1)] and bytes(bench.host.memory[buffer - BASE : buffer - BASE + size]).startswith(data)
    bench.host.poison = set()

    data = rng.randbytes(4 * 64)
    buffer = bench.room(len(data))
    bench.allow(bench.host.readable, buffer, len(data))
    bench.host.memory[buffer - BASE : buffer - BASE + len(data)] = data
    table, gone = bench.room(64, align=64), bench.room(64, align=64)
    bench.allow(bench.host.readable, table, 64)
    bench.allow(bench.host.readable, gone, 64)
    for i in range(4):
        chain = i == 3
        entry = ENTRY.pack(
            address=gone if chain else buffer + 64 * i, length=64, control=LIST_CONTROL.pack(**({"chain": 1} if chain else {}))
        )
        bench.host.memory[table - BASE + 16 * i : table - BASE + 16 * i + 16] = entry.to_bytes(16, "little")
    bench.host.faults = {gone: TLP.CPL_UNSUPPORTED_REQUEST}
    bench.push(0, LIST, table, 4 * 64, 2, 1)
    entry = await channel.wait()
    assert (entry["status"], entry["bytes"]) == (UR, 3 * 64)
    assert await outcome() == (data[: 3 * 64], [(1, 1)])
    bench.push(0, DIRECT, buffer, 64, 3, 1)
    assert (await channel.wait())["status"] == DONE
    assert await outcome() == (data[:64], [(1, 0)])


async def watch_users(bench: Bench, channel: int, users: list):
    """The user word beside the end of each message."""
    dut = bench.dut
    while True:
        await RisingEdge(dut.clk)
        if (int(dut.h2c_tvalid.value) & int(dut.h2c_tready.value) & int(dut.h2c_tlast.value)) >> channel & 1:
            users.append(int(dut.h2c_user.value) >> 32 * channel & 0xFFFFFFFF)


async def fill(bench: Bench, channel: Channel, buffer: int, most: int) -> int:
    """Fill the queue towards a core that takes nothing, then the order slots, with descriptors of one beat; returns how many landed."""
    for landed in range(most):
        bench.push(0, DIRECT, buffer, bench.width // 8)
        for _ in range(300):
            await RisingEdge(bench.dut.clk)
            entry = channel.reap()
            if entry:
                assert entry["status"] == DONE
                break
        else:
            return landed
    return most


class Stalled:
    """An H2C channel whose core takes nothing until `drain`, and which has no order slot for another piece of the open message."""

    async def start(self, dut, rng):
        self.bench = bench = Bench(dut, rng)
        await bench.start()
        self.channel, keep = Channel(bench, 0), bench.width // 8
        self.buffer = bench.room(4 * keep, skew=0)
        bench.allow(bench.host.readable, self.buffer, 4 * keep)
        dut.h2c_tready.value = 0
        self.got = []
        bench.tasks.append(cocotb.start_soon(watch(bench, 0, self.got)))
        self.room = await fill(bench, self.channel, self.buffer, 1000)
        bench.ring("cancel", channel=0)
        assert (await self.channel.wait())["status"] == CANCELLED
        return self

    async def drain(self) -> list:
        """(last, error) of each beat that the core takes."""
        self.bench.dut.h2c_tready.value = (1 << self.bench.h2c) - 1
        await ClockCycles(self.bench.dut.clk, 1000)
        self.bench.dut.h2c_tready.value = 0
        marks, self.got[:] = [(last, error) for _, last, error in self.got], []
        return marks


@cocotb.test()
async def closing_a_message_waits_for_nothing(dut):
    """Tables that cannot be read, behind a core that takes nothing: each ends, and the message is closed with an error."""
    rng = generator("closing_a_message_waits_for_nothing")
    stalled = await Stalled().start(dut, rng)
    bench, channel, keep = stalled.bench, stalled.channel, stalled.bench.width // 8
    table = bench.room(64, align=64)
    bench.allow(bench.host.readable, table, 64)
    bench.host.faults = {table: TLP.CPL_UNSUPPORTED_REQUEST}
    users = []
    cocotb.start_soon(watch_users(bench, 0, users))
    for ends in ((), (0,), (1,), (0, 0), (0, 1), (1, 0), (1, 1)):
        if ends:
            assert await fill(bench, channel, stalled.buffer, stalled.room) == stalled.room
        for end in ends:
            bench.push(0, LIST, table, keep, 0, end)
            assert (await channel.wait())["status"] == UR
        bench.push(0, ATTRIBUTES, 0x77, 0x99)
        bench.push(0, DIRECT, stalled.buffer, keep, 0, 1)
        marks = await stalled.drain()
        assert (await channel.wait())["status"] == DONE
        closed = [(1, 1)] if ends else []
        assert users.pop() == (0x99 if 1 in ends else 0), f"ends {ends}: a failed `end` counts"
        assert marks == [(0, 0)] * stalled.room + closed + [(1, 0)], f"ends {ends}: {marks[stalled.room - 1 :]}"


@cocotb.test()
async def an_empty_end_keeps_messages_apart(dut):
    """The end of a message finds no order slot but its own while bus mastering goes and comes back: it counts, all the same."""
    rng = generator("an_empty_end_keeps_messages_apart")
    stalled = await Stalled().start(dut, rng)
    bench, channel, keep = stalled.bench, stalled.channel, stalled.bench.width // 8
    for away in (0, 1, 200):
        if away:
            assert await fill(bench, channel, stalled.buffer, stalled.room) == stalled.room
        bench.push(0, DIRECT, 0, 0, 1, 1)
        await ClockCycles(dut.clk, rng.randrange(1, 60))
        dut.cfg.value = bench.host.config(bus_master=0)
        await ClockCycles(dut.clk, away)
        dut.cfg.value = bench.host.config()
        assert (await channel.wait())["status"] == DONE
        bench.push(0, DIRECT, stalled.buffer, keep, 2, 1)
        marks = await stalled.drain()
        assert (await channel.wait())["status"] == DONE
        assert marks[-2:] == [(1, 0), (1, 0)] and marks[:-2] == [(0, 0)] * (len(marks) - 2), marks


@cocotb.test()
async def inline_needs_no_bus_mastering(dut):
    """Bus mastering is lost in any clock beside an inline message: what the entry says is what the core got, each message once."""
    rng = generator("inline_needs_no_bus_mastering")
    bench = Bench(dut, rng)
    bench.host.stall = 0
    await bench.start()
    channel = Channel(bench, 0)
    dut.h2c_tready.value = (1 << bench.h2c) - 1
    got = []
    cocotb.start_soon(watch(bench, 0, got))
    buffer = bench.room(64, align=64)
    bench.allow(bench.host.readable, buffer, 64)
    bench.inline(0, 0, (0x1122334455667788).to_bytes(8, "little"))
    for clock in range(40):
        kind, place = (INLINE, 0) if clock % 3 else (DIRECT, buffer)
        bench.push(0, kind, place, 8, clock, 1)
        await ClockCycles(dut.clk, clock + 1)
        dut.cfg.value = bench.host.config(bus_master=0)
        await ClockCycles(dut.clk, rng.choice([1, 20, 100]))
        dut.cfg.value = bench.host.config()
        entry = await channel.wait()
        await ClockCycles(dut.clk, 200)
        ends = [(last, error) for _, last, error in got]
        if kind == INLINE:
            assert (entry["status"], entry["bytes"], ends) == (DONE, 8, [(1, 0)]), f"clock {clock}"
            assert got[0][0] == bytes.fromhex("8877665544332211")
        else:
            whole = entry["status"] == DONE
            assert whole or entry["status"] == TP.TP_STATUS_BUS_MASTERING_OFF
            assert ends == ([(1, 0)] if whole else []), f"clock {clock}: {entry} {got}"
        got.clear()


@cocotb.test()
async def doorbells_without_a_pause(dut):
    """A program that stores to its own pages in every clock, doorbells or descriptors, holds up no other channel and no read."""
    rng = generator("doorbells_without_a_pause")

    def beat(offset):
        # Descriptors of no kind: what one flood leaves in the slots, the next one may commit.
        width = len(dut.wr_data)
        return dict(wr_channel=0, wr_offset=offset // 4, wr_data=(1 << width) - 1, wr_strb=(1 << width // 8) - 1)

    for flood in ("arm", "lead", "commit", "slots", "batches"):
        bench = Bench(dut, rng)
        bench.host.stall = 0
        await bench.start()
        Channel(bench, 0)
        other = Channel(bench, bench.h2c)
        await ClockCycles(dut.clk, 50)
        dut.c2h_tvalid.value = dut.c2h_tlast.value = 1
        dut.c2h_tkeep.value = (1 << len(dut.c2h_tkeep)) - 1
        dut.c2h_tdata.value = 0
        buffer = bench.room(64, align=64)
        bench.allow(bench.host.writable, buffer, 64)
        for cookie in range(20):
            event = {
                "arm": ({}, bench.event("arm", channel=0, index=rng.randrange(1 << 32))),
                "lead": ({}, bench.event("lead", channel=0, bytes=rng.randrange(1 << 32))),
                "commit": (beat(8), {"words_valid": 1} | bench.event("push", channel=0, torn=1, count=1)),
                "slots": (beat(rng.randrange(0, 4096, 4)) | {"batch_valid": 1}, {}),
                "batches": ({}, bench.event("push", channel=0, torn=0, count=rng.randrange(256))),
            }[flood]
            bench.doorbells.extend([event] * 40)
            bench.push(bench.h2c, DIRECT, buffer, 64, cookie)
            bench.doorbells.extend([event] * 400)
            entry, asked = None, cocotb.start_soon(bench.read(bench.h2c, TP.TP_CHANNEL_STATUS_OFFSET))
            for _ in range(300):
                await RisingEdge(dut.clk)
                entry = entry or other.reap()
                if entry and asked.done():
                    break
            assert entry and entry["cookie"] == cookie, f"{flood}: another channel waits"
            assert asked.done() and asked.result() & TP.TP_CHANNEL_STATUS_RUNNING_MASK, f"{flood}: a read waits"
            bench.doorbells.clear()
        bench.stop()


@cocotb.test()
async def a_fault_ends_its_descriptor_now(dut):
    """Nobody answers the reads of a large descriptor: it asks for no more once the first has timed out. What follows is another message."""
    rng = generator("a_fault_ends_its_descriptor_now")
    for end in (1, 0):
        bench = Bench(dut, rng)
        bench.host.stall, bench.host.max_read = 0, 512
        await bench.start()
        dut.cfg.value = bench.host.config(completion_timeout=1)
        channel = Channel(bench, 0)
        dut.h2c_tready.value = (1 << bench.h2c) - 1
        got = []
        users = []
        bench.tasks += [cocotb.start_soon(watch(bench, 0, got)), cocotb.start_soon(watch_users(bench, 0, users))]
        size = 1 << 18
        silent, buffer = bench.room(size, align=4096), bench.room(4096, align=4096)
        bench.allow(bench.host.readable, silent, size)
        bench.allow(bench.host.readable, buffer, 4096)
        bench.host.silent = range(silent, silent + size)
        bench.push(0, DIRECT, silent, size, 1, end)
        bench.push(0, ATTRIBUTES, 0x77, 0x99)
        bench.push(0, DIRECT, buffer, 4096, 2, 1)
        for _ in range(40):
            await ClockCycles(dut.clk, 2000)
            entry = channel.reap()
            if entry:
                break
        assert (entry["status"], entry["bytes"], entry["cookie"]) == (TP.TP_STATUS_TIMEOUT, 0, 1), entry
        entry = await channel.wait()
        assert (entry["status"], entry["bytes"], entry["cookie"]) == (DONE, 4096, 2), entry
        await ClockCycles(dut.clk, 400)
        asked = len(bench.host.tags)
        assert asked <= int(dut.LANDING_BYTES.value) // 512 + 1, f"{asked} reads for a descriptor that had failed"
        assert [(last, error) for _, last, error in got if last] == [(1, 1), (1, 0)], got[-3:]
        assert users == [0, 0x99 if end else 0], users  # without `end`, the failed message goes on, and has no attributes of its own
        bench.stop()


@cocotb.test()
async def interrupts_pass_a_busy_writer(dut):
    """MSI-X leaves while a C2H stream always has more data to send."""
    rng = generator("interrupts_pass_a_busy_writer")
    bench = Bench(dut, rng)
    bench.host.stall = 0.3
    await bench.start()
    c = bench.h2c
    channel = Channel(bench, c)
    size = 100_000
    buffer = bench.room(size)
    bench.allow(bench.host.writable, buffer, size)
    vector = bench.room(4, align=4)
    bench.allow(bench.host.writable, vector, 4)
    dut.c2h_tdata.value = 0
    dut.c2h_tkeep.value = (1 << bench.c2h * bench.width // 8) - 1
    dut.c2h_tlast.value = 0
    dut.c2h_tvalid.value = 1
    bench.push(c, DIRECT, buffer, size, 1)
    await ClockCycles(dut.clk, 500)
    dut.msix_posted_hdr.value = WRITE.pack(addr=vector, dwords=1, first_be=15)
    dut.msix_posted_data.value = 0x12345678
    dut.msix_posted_last.value = 1
    dut.msix_posted_valid.value = 1
    for _ in range(500):
        await RisingEdge(dut.clk)
        if dut.msix_posted_ready.value == 1:
            break
    else:
        raise AssertionError("the interrupt waits for the stream to end")
    dut.msix_posted_valid.value = 0
    assert channel.reap() is None, "the stream still runs"


@cocotb.test()
async def reads_use_the_tags_that_are_allowed(dut):
    """Tags of more than 5 bits only while the host enables extended tags, which it may do while reads are under way."""
    rng = generator("reads_use_the_tags_that_are_allowed")
    bench = Bench(dut, rng)
    bench.host.max_read = 128
    await bench.start()
    channel = Channel(bench, 0)
    dut.h2c_tready.value = (1 << bench.h2c) - 1
    size = 1 << 15
    buffer = bench.room(size)
    bench.allow(bench.host.readable, buffer, size)
    for extended in (0, 1, 0, 1):
        dut.cfg.value = bench.host.config(tags_8bit=extended)
        await ClockCycles(dut.clk, 10)
        bench.push(0, DIRECT, buffer, size, 1, 1)
        tags = set()
        for _ in range(20_000):
            await RisingEdge(dut.clk)
            if dut.tx_read_valid.value == 1:
                tags.add(READ.unpack(int(dut.tx_read_hdr.value))["tag"])
            if channel.reap():
                break
        else:
            raise AssertionError("the descriptor does not end")
        assert (max(tags) >= 32) == (extended and int(dut.TAGS.value) > 32), f"tags {sorted(tags)}, extended tags {extended}"


@cocotb.test()
async def writes_leave_room_for_reads(dut):
    """With enough packets in the block's transmit buffer no write of data begins, and reads go all the same; then data flows again."""
    rng = generator("writes_leave_room_for_reads")
    bench = Bench(dut, rng)
    bench.host.stall, bench.host.max_payload = 0, rng.choice([128, 256, 512])
    await bench.start()
    enough = {128: 8}.get(bench.host.max_payload, 4)
    dut.cfg.value = bench.host.config(transmit_room=32)
    await ClockCycles(dut.clk, 2)  # what is seen first is an empty buffer
    channel, c = Channel(bench, 0), bench.h2c
    Channel(bench, c)
    dut.h2c_tready.value = (1 << bench.h2c) - 1
    size = 1 << 20
    buffer = bench.room(size)
    bench.allow(bench.host.writable, buffer, size)
    bench.allow(bench.host.readable, buffer, size)
    dut.c2h_tkeep.value = (1 << bench.c2h * bench.width // 8) - 1
    dut.c2h_tvalid.value = 1
    bench.push(c, DIRECT, buffer, size, 1)

    async def writes_and_reads(room: int) -> tuple[int, int]:
        """Beats of writes and reads in 200 clocks, when so many packets still fit; without the write that had begun."""
        dut.cfg.value = bench.host.config(transmit_room=room)
        await ClockCycles(dut.clk, 40 + bench.host.max_payload * 8 // bench.width)
        bench.push(0, DIRECT, buffer, 2000, 2, 1)
        writes = reads = 0
        for _ in range(200):
            await RisingEdge(dut.clk)
            writes += int(dut.tx_posted_valid.value)
            reads += int(dut.tx_read_valid.value)
        return writes, reads

    for _ in range(4):
        full = await writes_and_reads(32 - enough)
        assert full[0] == 0, f"{full[0]} beats of writes into a block that has enough"
        assert full[1] >= 2000 // 512, f"{full[1]} reads of 2,000 bytes beside a block that has enough writes"
        few = await writes_and_reads(32 - enough + 1)
        assert few[0] > 50, f"only {few[0]} beats of writes in 200 clocks, with room"
    assert channel.reap() is not None
    dut.c2h_tvalid.value = 0


@cocotb.test()
async def a_reset_without_bus_mastering_ends(dut):
    """The card's reset ends although nothing may be written, an entry that is already shown included."""
    rng = generator("a_reset_without_bus_mastering_ends")
    for _ in range(6):
        bench = Bench(dut, rng)
        bench.host.stall = 0.7
        await bench.start()
        channel = Channel(bench, 0)
        other = Channel(bench, bench.h2c)
        dut.h2c_tready.value = (1 << bench.h2c) - 1
        buffer = bench.room(4096)
        bench.allow(bench.host.readable, buffer, 4096)
        bench.allow(bench.host.writable, buffer, 4096)
        dut.c2h_tkeep.value = (1 << bench.c2h * bench.width // 8) - 1
        dut.c2h_tvalid.value = 1
        for k in range(8):
            bench.push(channel.index, DIRECT, buffer, 60, k, 1)
            bench.push(other.index, DIRECT, buffer, 256, k)
        await ClockCycles(dut.clk, rng.randrange(20, 200))
        dut.cfg.value = bench.host.config(bus_master=0)
        dut.card_reset.value = 1
        for _ in range(3000):
            await RisingEdge(dut.clk)
            if dut.card_reset_done.value == 1:
                break
        else:
            raise AssertionError("the reset does not end")
        dut.card_reset.value = 0
        dut.c2h_tvalid.value = 0
        await ClockCycles(dut.clk, 5)
        bench.stop()


@cocotb.test()
async def a_channel_reset_without_bus_mastering_ends(dut):
    """Entries, writes and reads of some channels are under way when bus mastering goes: their resets end, nothing leaves the card, and the
    others lose no byte and no entry once it is back."""
    rng = generator("a_channel_reset_without_bus_mastering_ends")
    for _ in range(24):
        bench = Bench(dut, rng)
        await bench.start()
        streams = Streams(bench)
        ways = [Transfers(bench, streams, c) for c in range(bench.h2c + bench.c2h)]
        victims = rng.sample(range(len(ways)), rng.randint(1, len(ways) - 1))
        sizes = rng.choice([[1, 64], [60, 256, 300], [1, 64, 2000]])
        for _ in range(8 if 2000 in sizes else 15):
            for way in rng.sample(ways, len(ways)):
                way.post(rng.choice(sizes))
        await ClockCycles(dut.clk, rng.randrange(20, 500))
        lost = rng.choice([dict(bus_master=0), dict(active=0)])
        dut.cfg.value = bench.host.config(**lost)
        await ClockCycles(dut.clk, 3)
        begun = bench.host.begun
        await ClockCycles(dut.clk, rng.choice([0, 1, 5, 20, 400]))
        if rng.random() < 0.5:
            await reset_channels(bench, victims, 1500)
            if rng.random() < 0.3:  # once more, with nothing to end
                await reset_channels(bench, victims, 100)
            assert bench.host.begun == begun, "a packet left the card without bus mastering"
            for c in victims:
                ways[c].forbid()
            dut.cfg.value = bench.host.config()
        else:  # it comes back while the channels are being reset
            for c in victims:
                bench.priv(c, TP.TP_CHANNEL_RESET_OFFSET, TP.TP_CHANNEL_RESET_RESET_MASK)
            await bench.rung()
            await ClockCycles(dut.clk, rng.randrange(5, 100))
            while bench.host.inside or dut.tx_read_valid.value == 1:  # what the link has been shown, it gets
                await RisingEdge(dut.clk)
            assert bench.host.begun == begun, "a packet left the card without bus mastering"
            for c in victims:
                ways[c].forbid()
            dut.cfg.value = bench.host.config()
            for c in victims:  # whose answers come among the others' now
                for _ in range(1000):
                    if not await bench.read(c, TP.TP_CHANNEL_STATUS_OFFSET) & TP.TP_CHANNEL_STATUS_RESETTING_MASK:
                        break
                    await ClockCycles(dut.clk, 20)
                else:
                    raise AssertionError(f"channel {c}: its reset does not end")
        for c in victims:
            ways[c] = Transfers(bench, streams, c)
            for _ in range(3):
                ways[c].post(rng.choice(sizes))
        for way in ways:
            while way.posted:
                await way.end(DONE, *(() if way.channel.index in victims else (TP.TP_STATUS_BUS_MASTERING_OFF,)))
        for way in ways:  # the first one after the loss may be cut, none of these
            for _ in range(4):
                way.post(rng.choice(sizes))
            while way.posted:
                await way.end(DONE)
        streams.stall = 0
        await ClockCycles(dut.clk, int(dut.LANDING_BYTES.value) * 8 // bench.width + 200)  # the core takes what has landed
        for way in ways:
            way.compare()
        bench.stop()


@cocotb.test()
async def a_card_reset_waits_for_no_answer(dut):
    """Reads are not answered when the card is reset: the reset ends at once, and late answers are counted and touch nothing."""
    rng = generator("a_card_reset_waits_for_no_answer")
    for mastering in (0, 1, 0, 1, 0, 1):
        bench = Bench(dut, rng)
        await bench.start()
        dut.quarantine.value = 0
        dut.cfg.value = bench.host.config(completion_timeout=15)  # never
        streams = Streams(bench)
        ways = [Transfers(bench, streams, c) for c in range(bench.h2c + bench.c2h)]
        late = [0]

        async def count(late=late):
            while True:
                await RisingEdge(dut.clk)
                if dut.event_valid.value == 1:
                    assert int(dut.event_code.value) == TP.TP_CARD_LATE_COMPLETIONS_OFFSET // 4 % 16, int(dut.event_code.value)
                    late[0] += 1

        bench.tasks.append(cocotb.start_soon(count()))
        bench.host.withheld = True
        for _ in range(8):
            for way in ways:
                way.post(rng.choice([1, 64, 2000]))
        table = bench.room(64, align=64)
        bench.allow(bench.host.readable, table, 64)
        bench.push(0, LIST, table, 64, 9, 1)
        await ClockCycles(dut.clk, rng.randrange(100, 600))
        dut.cfg.value = bench.host.config(completion_timeout=15, bus_master=mastering)
        dut.card_reset.value = 1
        for _ in range(1500):
            await RisingEdge(dut.clk)
            if dut.card_reset_done.value == 1:
                break
        else:
            raise AssertionError("the reset waits for answers")
        dut.card_reset.value = 0
        if mastering:  # then the ends are told
            entries = [ways[0].channel.reap() for _ in range(9)]
            assert all(entry["status"] in (DONE, RESET) for entry in entries) and entries[-1]["status"] == RESET, entries
            assert entries[0]["bytes"] == 0
        out = int(dut.quarantined.value)
        assert out == len(bench.host.tags) > 0, f"{out} tags in quarantine, {len(bench.host.tags)} reads without an answer"
        assert not late[0]
        for way in ways:
            way.forbid()
        dut.cfg.value = bench.host.config(completion_timeout=15)
        ways = [Transfers(bench, streams, c) for c in range(bench.h2c + bench.c2h)]
        await ClockCycles(dut.clk, 50)
        for way in ways:
            way.post(600)
        await ClockCycles(dut.clk, rng.randrange(200))
        bench.host.withheld = False  # old answers and new ones, in any order
        for way in ways:
            for _ in range(5):
                way.post(rng.choice([1, 64, 600]))
            while way.posted:
                await way.end(DONE)
        streams.stall = 0
        await ClockCycles(dut.clk, int(dut.LANDING_BYTES.value) * 8 // bench.width + 200)  # the core takes what has landed
        for way in ways:
            way.compare()
        assert int(dut.quarantined.value) == 0 and late[0] >= out, f"{late[0]} late answers to {out} reads"
        bench.stop()
