# SPDX-License-Identifier: Apache-2.0
"""tp_inbox under a sender that keeps to its credit, in random pairings, with messages of the host's between: a cocotb module, started by
test_inbox.

A model reads what comes and says beat by beat what the user core must get. The channel is unpaired with a message open, or in the middle
of an entry, paired again before the core has taken what came, and reset. Credits arrive late, twice or never; packets of other pairings
come between. Nothing may be lost, repeated, mixed up or held back; all room must be told of.
Where packets get lost on the way, the model is not asked alone: a message that ends well has all its bytes, and none before it is missing.
"""

from collections import deque
from dataclasses import dataclass
from itertools import chain

import bench
import cocotb
from bench import TP, generator
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, RisingEdge

PAIRINGS = 100
MOST = 16  # slots that may be to come
ENTRY = bench.Layout(bench.PACKAGES[0], "tp_completion_t")
FLAGS = bench.Layout(bench.PACKAGES[0], "tp_completion_flags_t")
STATUS = {name: getattr(TP, f"TP_STATUS_{name}") for name in ("END_OF_MESSAGE", "CANCELLED", "BUS_MASTERING_OFF", "LINK_DOWN")}
CONTROL, BASE = TP.TP_CHANNEL_PEER_CONTROL_OFFSET // 8, TP.TP_CHANNEL_PEER_BASE_OFFSET // 8
PAIRED, SLOT, KEY = (getattr(TP, f"TP_CHANNEL_PEER_CONTROL_{name}_LSB") for name in ("PAIRED", "SLOT_LOG2", "KEY"))
OF_HOST = 1 << 31  # in a user word


def start_entry(length, offset, user):
    flags = FLAGS.pack(start=1)
    return ENTRY.pack(flags=flags, cookie=length >> 32, bytes=length & 0xFFFF_FFFF, offset=offset, user=user)


def end_entry(status, cookie, count):
    return ENTRY.pack(status=STATUS[status], cookie=cookie & 0xFFFF, bytes=count)


@dataclass
class Beat:
    """What the core gets; `data` is None where no lane counts."""

    data: int | None
    keep: int
    last: int
    error: int
    head: tuple[int, int, int]  # length, offset, user word


class Model:
    """What goes on to the core, of what the channel has accepted."""

    def __init__(self, keep):
        self.keep, self.all, self.parts = keep, (1 << keep) - 1, max(1, 16 // keep)
        self.due = deque()
        self.pair(0)
        self.forget()

    def pair(self, slot):
        self.slots = self.rows = 0
        self.slot, self.half = slot, []  # the slot's rows
        self.overrun = False  # something before has been lost: nothing more enters

    def forget(self):
        self.due.clear()
        self.open, self.row, self.head, self.half = False, None, None, []
        self.late = False  # of a message whose pairing has ended the end is due; what comes then may delay it

    def accept(self, entry, data, sound, whole):
        if self.overrun:
            return
        if not entry:
            self.overrun = not self.open or self.rows == self.slot
            if self.overrun:
                return
            self.rows += 1
            if self.rows == self.slot and whole:  # else its end says how many bytes of the row count
                self.slots, self.rows = self.slots + 1, 0
            if self.row is not None:
                self.due.append(Beat(self.row, self.all, 0, 0, self.head))
            self.row = data
            return
        self.overrun = not sound
        self.half.append(data)
        if len(self.half) < self.parts or self.overrun:
            return
        width = 128 // self.parts
        note = ENTRY.unpack(sum((half & (1 << width) - 1) << width * n for n, half in enumerate(self.half)))
        self.half = []
        if FLAGS.unpack(note["flags"])["start"]:
            self.overrun = self.open
            if not self.overrun:
                self.open, self.late, self.head = True, False, (note["cookie"] << 32 | note["bytes"], note["offset"], note["user"])
            return
        well = note["status"] == STATUS["END_OF_MESSAGE"]
        if note["cookie"] == self.slots % (1 << 16):
            self.overrun = self.rows != -(-note["bytes"] // self.keep) or well and not self.open
            if not self.overrun:
                self.slots, self.rows = self.slots + 1, 0
        else:  # a slot that was full has been stopped all the same
            self.overrun = note["cookie"] != (self.slots - 1) % (1 << 16) or self.rows > 0 or well
        if self.overrun:
            return
        if well:
            lanes = note["bytes"] % self.keep
            self.close((1 << lanes) - 1 if lanes else self.all, 0)
        elif note["status"] != STATUS["CANCELLED"]:
            self.close()

    def close(self, keep=None, error=1):
        """The open message, if there is one, ends."""
        if self.open:
            keep = 0 if self.row is None else self.all if keep is None else keep
            self.due.append(Beat(self.row, keep, 1, error, self.head))
        self.open, self.row = False, None


class Sender:
    """What the other card sends: rows, as far as it has credit, and entries. `run` gives a beat (entry, data, sound, whole) or None.

    `lose` asks for a loss on the way, once: part (a packet of data), slot, start, end, or the whole message.
    """

    def __init__(self, rng, keep, slot, sent):
        self.rng, self.keep, self.slot = rng, keep, slot
        self.sent = sent  # the bytes of each message, by its user word
        self.lose, self.losing, self.lost = None, False, None  # `lost`: the first message of which something is
        self.packet = rng.choice((128, 128, 256, 512))
        self.allowed = self.slots = 0  # slots since pairing; of those that have ended
        self.posting, self.stopped, self.user = True, False, max(sent, default=0)
        self.busy, self.faulty = 1.0, 0.005
        self.longest = rng.choice((1, 3, 8)) * slot

    def loses(self, *kinds):
        """Whether what comes now is to be lost."""
        if self.lose in kinds:
            self.lose, self.lost = None, self.user
            return True
        return self.losing

    def beats(self, entry, data):
        if self.losing:
            return
        for at in range(0, len(data), self.keep):
            part = data[at : at + self.keep]
            while self.rng.random() >= self.busy:
                yield None
            image = int.from_bytes(part + self.rng.randbytes(self.keep - len(part)), "little")
            yield entry, image, entry or self.rng.randrange(2), int(len(part) == self.keep)

    def entry(self, image):
        yield from self.beats(1, image.to_bytes(16, "little"))

    def end(self, status, count):
        kept, self.losing = self.losing, self.loses("end") if status == "END_OF_MESSAGE" else self.losing
        yield from self.entry(end_entry(status, self.slots, count))
        self.losing = kept
        self.slots += 1

    def credit(self):
        """Waits for a slot; whether there is one, for the sender may be stopped meanwhile."""
        while self.posting and self.allowed == self.slots:
            yield None
        return self.posting

    def length(self):
        rng, slot, keep = self.rng, self.slot, self.keep
        choices = 0, 1, keep, slot, slot - 1, slot * rng.randrange(1, 4), keep * rng.randrange(1, 3 * slot // keep), rng.randrange(slot)
        return rng.choice((*choices, rng.randrange(self.longest)))

    def message(self):
        """One message: start, slots, end; it may be cut by a fault, behind which no other comes."""
        rng, slot = self.rng, self.slot
        left = self.length()
        if rng.random() < 0.5 and not (yield from self.credit()):  # else it announces its messages
            return
        self.user = (self.user + 1) % OF_HOST
        self.sent[self.user] = bytearray()
        head = rng.choice((0, left, rng.randrange(1 << 48))), rng.randrange(1 << 32), self.user
        whole = self.losing = self.loses("message")
        self.losing = self.loses("start")
        yield from self.entry(start_entry(*head))
        self.losing = whole
        over = False
        while not over and (yield from self.credit()):
            count = min(left, slot)
            cut = rng.random()
            if cut < 0.08 + self.faulty:
                count = min(count, self.packet * rng.randrange(1 + slot // self.packet))
            self.losing = whole or count > 0 and self.loses("slot")
            for at in range(0, count, self.packet):
                part = rng.randbytes(min(self.packet, count - at))
                self.sent[self.user] += part
                kept, self.losing = self.losing, self.losing or rng.random() < 0.5 and self.loses("part")
                yield from self.beats(0, part)
                self.losing = kept
            left -= count
            over = not left and count < slot  # the end of a slot that is full has no entry: the message's is in the next
            status = "END_OF_MESSAGE" if over else None
            if cut < 0.08 and not over:
                status = "CANCELLED"
            elif 0.08 <= cut < 0.08 + self.faulty:
                status, over = rng.choice(("BUS_MASTERING_OFF", "LINK_DOWN")), True
                self.posting = False
            elif status is None and count < slot:
                status = "CANCELLED"
            if status:
                yield from self.end(status, count)
            else:
                self.slots += 1
            self.losing = whole
            # Those that have been posted behind it end with it.
            if status == "CANCELLED":
                while self.allowed != self.slots and rng.random() < 0.8:
                    yield from self.end("CANCELLED", 0)
        self.losing = False

    def run(self):
        while self.posting:
            yield from self.message()
        # As after a store to `cancel`: each slot that was posted ends.
        posted = self.slots + self.rng.randrange(1 + self.allowed - self.slots)
        while self.slots < posted:
            yield from self.end("CANCELLED", 0)
        self.stopped = True
        while True:
            yield None


class Bench:
    def __init__(self, dut, what):
        self.dut, self.rng = dut, generator(what)
        self.keep = len(dut.out_keep)
        self.tell_clocks = 1 << int(dut.TELL.value)
        rows = int(dut.BYTES.value) // self.keep
        self.rows = rows - max(1, 16 // self.keep) * (2 * MOST + 2)
        self.sizes = [log2 for log2 in range(7, 13) if 1 << log2 <= self.rows * self.keep]
        self.model = Model(self.keep)
        self.sender = self.beats = None
        self.writes, self.mail = deque(), deque()  # of registers; credits on their way: (clock, count)
        self.flush = self.flushing = self.clock = self.quiet = self.since = 0
        self.paired = self.key = self.base = 0
        self.told = None
        self.taking = self.telling = 1.0
        self.may_tell = 1
        self.link = self.linked = 1
        self.strangers = 0.0  # how often a packet of another pairing comes
        self.strikes = False  # the pairing is to end with a beat
        self.deaf = False  # what comes is no lawful sender's: what goes on is not looked at
        self.hosting = 0.0  # how often the host begins a message
        self.host = deque()  # beats of its message
        self.host_open = self.ours_open = False
        self.counts = {"messages": 0, "errors": 0, "of host": 0, "tells": 0}
        self.offers = False
        self.sent, self.got = {}, bytearray()  # bytes of each message, and of the one that goes to the core
        self.shown = self.told_shown = None
        self.was_able = 1
        self.word = self.overruns = 0

    async def start(self):
        dut = self.dut
        for name in ("flush", "write_valid", "rx_valid", "in_valid", "out_ready", "tell_ready", "may_tell"):
            getattr(dut, name).value = 0
        dut.rst.value = 1
        cocotb.start_soon(Clock(dut.clk, 4000, unit="ps").start())
        await ClockCycles(dut.clk, 4, FallingEdge)
        dut.rst.value = 0
        cocotb.start_soon(self.run())

    def field(self, name):
        prefix = f"TP_CHANNEL_PEER_STATUS_{name}"
        return (self.word >> 32 & getattr(TP, f"{prefix}_MASK")) >> getattr(TP, f"{prefix}_LSB")

    # ------------------------------------------------------------------------------------------------ each clock
    async def run(self):
        dut = self.dut
        while True:
            await FallingEdge(dut.clk)
            self.drive()
            await RisingEdge(dut.clk)
            self.clock += 1
            self.sample()

    def drive(self):
        dut, rng = self.dut, self.rng
        self.flushing = int(self.flush > 0)
        self.flush -= self.flushing
        dut.flush.value = self.flushing
        self.linked = dut.link_up.value = self.link
        strange = rng.random() < self.strangers
        beat = next(self.beats, None) if self.beats and not strange else None
        self.rx = beat if self.linked else None
        dut.rx_valid.value = int(strange or self.rx is not None)
        dut.rx_pages.value = (self.key + strange * rng.randrange(1, 128)) % 128
        if strange:
            dut.rx_entry.value, dut.rx_sound.value, dut.rx_whole.value = (rng.randrange(2) for _ in range(3))
            dut.rx_data.value = rng.randrange(1 << 8 * self.keep)
        elif self.rx:
            dut.rx_entry.value, dut.rx_data.value, dut.rx_sound.value, dut.rx_whole.value = beat
            if self.strikes and rng.random() < 0.2:
                self.strikes = False
                self.store(CONTROL, 0, 15)
        self.write = self.writes.popleft() if self.writes else None
        dut.write_valid.value = int(self.write is not None)
        if self.write:
            dut.write_offset.value, dut.write_data.value, dut.write_strb.value = self.write
        dut.may_tell.value = self.may_tell
        self.tell_ready = int(rng.random() < self.telling)
        dut.tell_ready.value = self.tell_ready
        self.out_ready = int(rng.random() < self.taking)
        dut.out_ready.value = self.out_ready
        if self.flushing:
            self.host.clear()
            self.offers = False
        elif not self.host and rng.random() < self.hosting:
            self.host.extend(self.message_of_host())
            self.offers = False
        if not self.host:
            self.offers = False
        elif not self.offers and rng.random() < 0.8:
            self.offers = True
            beat = self.host[0]
            dut.in_data.value, dut.in_keep.value, dut.in_last.value, dut.in_error.value = beat.data, beat.keep, beat.last, beat.error
            dut.in_length.value, dut.in_offset.value, dut.in_user.value = beat.head
        dut.in_valid.value = int(self.offers)

    def message_of_host(self):
        rng = self.rng
        head = rng.randrange(1 << 48), rng.randrange(1 << 64), OF_HOST | rng.randrange(OF_HOST)
        beats, full = rng.choice((0, 1, 2, 9)), (1 << self.keep) - 1
        for _ in range(beats):
            yield Beat(rng.randrange(1 << 8 * self.keep), full, 0, 0, head)
        yield Beat(rng.randrange(1 << 8 * self.keep), (1 << rng.randrange(self.keep + 1)) - 1, 1, int(rng.random() < 0.1), head)

    def sample(self):
        self.word = int(self.dut.word.value)
        assert self.word & 1 == self.paired, f"paired is {self.word & 1}"
        self.overruns |= self.paired and self.field("OVERRUN")
        if self.paired and self.field("IDLE") and not self.deaf and not self.model.late:
            assert not self.model.due, "idle, and the core has not taken all that came"
        self.see_output()
        self.see_tell()
        # what the channel accepts in this clock
        if self.flushing:
            self.model.forget()
            self.paired, self.host_open, self.ours_open, self.shown, self.got = 0, False, False, None, bytearray()
        elif self.paired and not self.deaf:
            self.model.overrun |= not self.linked
            if self.rx:
                self.model.accept(*self.rx)
        if self.write and self.write[0] == CONTROL and self.write[2] & 15 == 15 and not self.flushing:
            paired = self.write[1] >> PAIRED & 1
            if self.paired and not paired:
                self.model.late = self.model.open
                self.model.close()
            if paired and not self.paired:
                self.told, self.told_shown, self.since = None, None, self.clock
            self.paired = paired
        self.quiet = 0 if self.paired or not self.field("IDLE") or self.model.due or self.flushing or self.host_open else self.quiet + 1

    def see_output(self):
        dut = self.dut
        ready = int(dut.in_ready.value)
        if not dut.out_valid.value:
            assert self.shown is None or self.flushing, "a beat was taken back"
            assert not self.offers or not ready, "a beat of the host's is taken and not shown"
            assert self.quiet < 12 or not self.offers, "the host's message is held back"
            return
        beat = Beat(
            int(dut.out_data.value),
            int(dut.out_keep.value),
            int(dut.out_last.value),
            int(dut.out_error.value),
            (int(dut.out_length.value), int(dut.out_offset.value), int(dut.out_user.value)),
        )
        assert self.shown in (None, beat), "a beat changed while it waited"
        self.shown = None if self.out_ready else beat
        if self.deaf:
            return
        if not self.out_ready:
            assert not ready
        elif beat.head[2] & OF_HOST:
            assert self.offers and ready and beat == self.host.popleft(), "another beat than the host's"
            assert not self.ours_open, "a beat of the host's in a message of the peer's"
            self.host_open, self.offers = not beat.last, False
            self.counts["of host"] += beat.last
        else:
            assert not ready or not self.offers, "a beat of the host's got lost"
            assert not self.host_open, "a beat of the peer's in a message of the host's"
            assert self.model.due, f"{beat} came from nowhere"
            due = self.model.due.popleft()
            if due.data is None:
                due.data = beat.data
            assert beat == due, f"{beat} instead of {due}"
            self.got += beat.data.to_bytes(self.keep, "little")[: beat.keep.bit_length()] if beat.keep else b""
            if beat.last and not beat.error:
                user = beat.head[2]
                assert self.got == self.sent[user], f"{len(self.got)} bytes of {len(self.sent[user])}, and no error"
                assert self.sender.lost is None or user < self.sender.lost, "something before it is missing, and no error"
            if beat.last:
                self.got = bytearray()
            self.ours_open = not beat.last
            self.counts["messages"] += beat.last
            self.counts["errors"] += beat.error

    def see_tell(self):
        dut = self.dut
        offered = bool(dut.tell_valid.value)
        if not offered:
            assert self.told_shown is None or not self.paired or not self.was_able, "a credit was taken back"
            self.told_shown = None
        else:
            told = int(dut.tell.value), int(dut.tell_address.value) << 2
            assert self.told_shown in (None, told), "a credit changed while it waited"
            self.told_shown = None if self.tell_ready else told
            if self.tell_ready and self.paired:
                self.take_credit(*told)
        self.was_able = self.may_tell
        if not self.paired or not self.may_tell or self.telling < 1:
            self.since = self.clock
        assert self.clock - self.since < self.tell_clocks + 8, "no credit for too long"

    def take_credit(self, word, address):
        self.since = self.clock
        self.counts["tells"] += 1
        assert word >> 16 == self.key and address == self.base, f"a credit of {word:#x} to {address:#x}"
        last = self.told or 0
        ahead = (word - last) % (1 << 16)
        assert ahead < 1 << 15, f"the credit runs back from {last} to {word & 0xFFFF}"
        self.told = last + ahead
        assert self.deaf or self.told - self.model.slots <= MOST
        if self.rng.random() < 0.9:  # else it is lost
            self.mail.append((self.clock + self.rng.choice((0, 0, 5, 50)), self.told, self.sender))
        while self.mail and self.mail[0][0] <= self.clock:
            _, told, sender = self.mail.popleft()
            sender.allowed = max(sender.allowed, told)

    # ------------------------------------------------------------------------------------------------ what a test does
    async def clocks(self, count):
        await ClockCycles(self.dut.clk, count)

    async def until(self, done, what, clocks=30_000):
        for _ in range(clocks):
            if done():
                return
            await RisingEdge(self.dut.clk)
        raise AssertionError(f"{what} never came")

    def store(self, offset, value, strobes=255):
        self.writes.append((offset, value, strobes))

    async def pair(self, slot_log2=None):
        rng = self.rng
        self.key, self.base = rng.randrange(256), rng.randrange(1 << 62) << 2
        slot_log2 = slot_log2 or rng.choice(self.sizes)
        self.mail.clear()
        if rng.random() < 0.5:
            self.store(BASE, self.base | rng.randrange(4))
        else:
            self.store(BASE, self.base & 0xFFFF_FFFF, 15)
            self.store(BASE, self.base, 240)
        self.sender = Sender(rng, self.keep, 1 << slot_log2, self.sent)
        self.overruns = 0
        self.model.pair((1 << slot_log2) // self.keep)
        self.store(CONTROL, 1 << PAIRED | slot_log2 << SLOT | self.key << KEY, 15)
        await self.until(lambda: self.paired, "the pairing")
        self.beats = self.sender.run()

    def paces(self):
        rng = self.rng
        self.taking, self.telling = rng.choice((1.0, 1.0, 0.5, 0.02)), rng.choice((1.0, 1.0, 0.1))
        self.sender.busy = rng.choice((1.0, 1.0, 0.7, 0.1))
        self.may_tell = int(rng.random() < 0.9)
        self.strangers = rng.choice((0.0, 0.0, 0.3))

    async def fence(self):
        """As the host does it: the sender stops, all that it has sent arrives and is taken, and what is open is known."""
        self.taking, self.telling, self.may_tell, self.sender.busy = 1.0, 1.0, 1, 1.0
        self.sender.posting = False
        await self.until(lambda: self.sender.stopped, "the sender's end")
        await self.clocks(3)
        slots = self.sender.slots
        await self.until(lambda: self.field("SLOTS") == slots % (1 << 16), f"the end of slot {slots}", 100)
        await self.until(lambda: self.field("IDLE"), "that the inbox is empty")
        assert self.field("OPEN") == self.model.open
        # All of its room is told of again.
        room = min(MOST, self.rows * self.keep // self.sender.slot)
        await self.until(lambda: self.told == slots + room, f"credit for {slots} + {room} slots", 2 * self.tell_clocks + 50)

    async def part(self, struck=False, hasty=False):
        """Ends the pairing, at once or in a clock in which something comes, and hardly anything has before.

        `hasty`: what has come still waits in the inbox."""
        if struck:
            self.taking, self.telling, self.may_tell, self.sender.busy, self.strikes = 1.0, 1.0, 1, 0.1, True
            await self.until(lambda: not self.strikes or self.sender.stopped, "a beat")
        if hasty:
            self.taking, self.sender.busy = 0.0, 1.0
            await self.clocks(40)
        if not struck or self.strikes:
            self.strikes = False
            self.store(CONTROL, 0, 15)
        await self.until(lambda: not self.paired, "the end of the pairing")
        self.beats = None
        if not hasty:
            await self.until(lambda: not self.model.due and not self.ours_open, "what has come")

    async def reset(self):
        self.flush = self.rng.randrange(8, 20)
        await self.until(lambda: not self.flush and not self.flushing, "the end of the reset")
        self.beats = None
        assert not self.paired


@cocotb.test()
async def pairings(dut):
    """Random pairings: by the protocol, broken off anywhere, and reset."""
    bench = Bench(dut, f"pairings {len(dut.out_keep)}")
    await bench.start()
    rng = bench.rng
    hasty = False
    for _ in range(PAIRINGS):
        if not hasty:
            bench.hosting = rng.choice((0.0, 0.3))
            await bench.clocks(rng.randrange(60))
        if rng.random() < 0.7:
            bench.hosting = 0.0  # so that it comes to its turn
        await bench.pair()
        for _ in range(rng.choice((1, 3, 8))):
            bench.paces()
            await bench.clocks(rng.randrange(200))
        bench.hosting = rng.choice((0.0, 0.3))
        how = rng.random()
        if how < 0.5:
            bench.hosting = 0.0
            await bench.fence()
        bench.taking = max(bench.taking, 0.3)
        assert not bench.overruns
        if how < 0.85:
            hasty = how > 0.77
            await bench.part(struck=0.6 < how < 0.77, hasty=hasty)
        else:
            hasty = False
            await bench.reset()
    assert all(bench.counts.values()), f"something never happened: {bench.counts}"


@cocotb.test()
async def a_turn(dut):
    """The inbox waits for the end of a message that the host has begun, and says so; then the host waits for the end of the pairing."""
    bench = Bench(dut, f"a turn {len(dut.out_keep)}")
    await bench.start()
    rng = bench.rng
    for _ in range(20):
        head = 0, 0, OF_HOST
        beats = [Beat(rng.randrange(1 << 8 * bench.keep), (1 << bench.keep) - 1, 0, 0, head) for _ in range(5)]
        bench.host.extend(beats)
        await bench.until(lambda: not bench.host, "the host's beats")
        await bench.pair()
        bench.sender.longest, bench.sender.faulty = 1, 0.0
        await bench.clocks(rng.randrange(20, 200))
        assert bench.field("WAITING") and not bench.counts["messages"]
        bench.host.append(Beat(1, 1, 1, 0, head))
        await bench.until(lambda: bench.counts["messages"] > 3, "the peer's messages")
        assert not bench.field("WAITING")
        before = bench.counts["of host"]
        bench.host.extend(bench.message_of_host())
        await bench.clocks(rng.randrange(20, 200))
        await bench.fence()
        assert bench.counts["of host"] == before, "the host's turn came while the channel was paired"
        await bench.part()
        await bench.until(lambda before=before: bench.counts["of host"] > before, "the host's message")
        assert not bench.overruns
        bench.counts["messages"] = 0


@cocotb.test()
async def overruns(dut):
    """What no peer sends is told of, and ends what comes. Rows beyond the credit get lost here and nowhere else."""
    bench = Bench(dut, f"overruns {len(dut.out_keep)}")
    await bench.start()
    rng = bench.rng
    for kind in ("flood", "length", "cookie", "late", "flood"):
        await bench.pair()
        sender = bench.sender
        await bench.clocks(100)
        assert not bench.overruns
        bench.taking = 1.0
        if kind == "length":
            bench.beats = chain(((1, rng.randrange(1 << 8 * bench.keep), 0, 1) for _ in range(3)), bench.beats)
        else:
            await bench.fence()
            start = () if bench.model.open else sender.entry(start_entry(0, 0, 0))
            end = sender.entry(end_entry("END_OF_MESSAGE", sender.slots + 5 * (kind == "cookie"), sender.slot))
            rows = sender.beats(0, rng.randbytes(sender.slot))
            bench.beats = chain(start, end) if kind == "cookie" else chain(start, rows, end)
        if kind == "flood":
            bench.taking, bench.deaf, sender.busy = 0.0, True, 1.0
            bench.beats = chain(start, sender.beats(0, rng.randbytes(4 * bench.rows * bench.keep)))
        await bench.until(lambda: bench.overruns, f"the overrun by {kind}")
        await bench.reset()
        bench.taking, bench.deaf = 1.0, False
        # The next pairing knows nothing of it.
        await bench.pair()
        await bench.clocks(300)
        await bench.fence()
        assert not bench.overruns
        await bench.part()
        bench.host.extend(bench.message_of_host())
        before = bench.counts["of host"]
        await bench.until(lambda before=before: bench.counts["of host"] > before, "the host's message")


@cocotb.test()
async def losses(dut):
    """What gets lost on the way shows: as an overrun, or by slots that never end. What is open then ends with an error."""
    bench = Bench(dut, f"losses {len(dut.out_keep)}")
    await bench.start()
    rng = bench.rng
    for kind in 3 * ("part", "slot", "start", "end", "message", "link"):
        await bench.pair()
        bench.paces()
        sender = bench.sender
        sender.busy, bench.strangers, bench.taking, bench.telling, bench.may_tell = rng.choice((1.0, 0.7)), 0.0, 1.0, 1.0, 1
        await bench.clocks(rng.randrange(300))
        if kind == "link":
            bench.link = 0
            await bench.clocks(rng.randrange(1, 9))
            bench.link = 1
            await bench.until(lambda: bench.overruns, "that the link was down", 3)
        else:
            sender.lose = kind
            await bench.until(lambda sender=sender: sender.lost or sender.stopped, f"the loss of {kind}")
            for _ in range(2000):
                await bench.clocks(1)
                if bench.overruns or sender.stopped:
                    break
        sender.posting = False
        await bench.until(lambda sender=sender: sender.stopped, "the sender's end")
        await bench.clocks(5)
        assert bench.field("OPEN") == bench.model.open and bench.field("SLOTS") == bench.model.slots % (1 << 16)
        told = bench.overruns or bench.field("SLOTS") != sender.slots % (1 << 16)
        assert told or not (sender.lost or kind == "link"), f"nobody knows of the loss of {kind}"
        await bench.part()
    assert bench.counts["errors"], "no message was open"
