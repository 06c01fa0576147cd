# SPDX-License-Identifier: Apache-2.0
"""The core under a root complex that somebody else wrote: a cocotb module, started by test_agree.

Everything here is done by cocotbext-pcie's root complex: it enumerates the card, sizes and places its BARs, sets MPS, MRRS and extended
tags, fills the MSI-X table, cuts and counts completions, and takes interrupts. adapter.py joins it to the neutral streams, driver.py is the
host's program. Every byte, entry and interrupt is compared; what the card touches without being asked to fails a test (driver.Root).

That it can fail is tested, too: `planted_faults` runs the plain loopback test with a mistake in the adapter and wants each to be seen. What
sees them now: a byte enable too many: driver.Root, a byte that nothing covers; an answer's tag: a message that never ends; payload in the
wrong lane: a message's bytes; a write of data behind the packet after it: the bytes when the entry has come; the lower address of an answer
to the host: the model's own count of bytes. TOWPATH_SEED, printed with each test, replays a run.
"""

import importlib
import os
import random
import warnings

import cocotb
from bench import TP, generator
from built import BUILT, NAMES
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, Timer, gather
from cocotbext.pcie.core.tlp import Tlp, TlpType

from driver import C2H, H2C, RING_LOG2, Channel, Host

warnings.filterwarnings("ignore", category=DeprecationWarning, module="cocotbext")
# What joins the device under test to the root complex: adapter.py, or the bench of an endpoint. It has `make`, `FAULTS`
# and `ABORT_BITS` as adapter.py does.
BOUNDARY = importlib.import_module(os.environ.get("TOWPATH_BOUNDARY", "adapter"))
PERIOD = 4000  # picoseconds
FAULT_SEED = 7
LOOPBACK_FAULTS = 0x14  # loopback.sv: messages that ended with in_error


async def start(dut, name: str, *, fault=None, stall=None, max_read=512, rng: random.Random | None = None, **host) -> Host:
    """A card fresh from reset behind an enumerated root complex."""
    rng = rng or generator(f"{name} at {BUILT.DATA_WIDTH} bit")
    cocotb.start_soon(Clock(dut.clk, PERIOD, unit="ps").start())
    # With a clock of its own the user core is slower and never in step; without, the two are one net.
    user = PERIOD * 5 // 4 + 6 if BUILT.USER_ASYNC else PERIOD
    cocotb.start_soon(Clock(dut.user_clk, user, unit="ps").start())
    dut.rst.value = 1
    await ClockCycles(dut.clk, 10)  # what a failed test left behind is gone before anybody looks
    found = Host(rng, **host)
    card, device = BOUNDARY.make(dut, rng, rng.choice([0, 0.2, 0.5]) if stall is None else stall, fault)
    found.connect(device, card)  # at once: the package's devices begin to send
    await ClockCycles(dut.clk, 2)
    dut.rst.value = 0
    await found.start(max_read)
    found.link_faults = await link_faults(found)
    return found


async def loop(host: Host, messages: list, tx: Channel, rx: Channel, kinds=(None,), attributes=False, most=4096) -> None:
    """Send messages, each cut into descriptors at random, and receive them into buffers of any size; compare all that comes."""
    rng, slots = host.rng, list(range(BUILT.INLINE_SLOTS))
    facts = [(rng.getrandbits(48), rng.getrandbits(32), rng.getrandbits(32)) if attributes else (0, 0, 0) for _ in messages]
    posted, all_posted, finished = 0, False, False

    async def send() -> None:
        nonlocal posted, all_posted
        for message, (length, offset, user) in zip(messages, facts, strict=True):
            prefixes = [(TP.TP_KIND_ATTRIBUTES, offset, user), (TP.TP_KIND_MESSAGE_LENGTH, length, 0)] if attributes else []
            rest, first = message, True
            while rest or first:
                n = len(rest) if rng.random() < 0.5 else rng.randrange(len(rest) + 1)
                kind = rng.choice(kinds)
                slot = None
                if kind == TP.TP_KIND_INLINE or (kind is None and n <= TP.TP_INLINE_SLOT_BYTES and slots and rng.random() < 0.5):
                    await host.until(lambda: slots, "no inline slot came free")
                    n, slot = min(n, TP.TP_INLINE_SLOT_BYTES), slots.pop()
                if rest and not n:
                    n = 1  # a descriptor of no bytes begins no message, and its prefixes are lost
                end = n == len(rest)
                note = await tx.send(rest[:n], kind, end, prefixes if first else (), slot)
                if slot is not None and note.get("slot") is None:
                    slots.append(slot)
                rest, first = rest[n:], False
                posted += 1
        all_posted = True

    async def reap() -> None:
        done = 0
        while done < posted or not all_posted:
            if done == posted:
                await Timer(100, "ns")
                continue
            entry = await tx.reap("a message that was sent never completed")
            size = sum(n for _, n in entry["pieces"]) if entry.get("slot") is None else len(entry["content"])
            assert (entry["status"], entry["bytes"]) == ("DONE", size), f"H2C: {entry}"
            assert (entry["offset"], entry["user"]) == (0, 0), f"H2C: {entry}"
            if entry.get("slot") is not None:
                slots.append(entry["slot"])
            done += 1

    async def post() -> None:
        while not finished:
            if rx.places >= rx.depth - 1 or sum(w["size"] for w in rx.waiting) > 4 * most:
                await Timer(100, "ns")
                continue
            await rx.receive(max(1, int(2 ** rng.uniform(0, most.bit_length()))))

    async def receive() -> None:
        nonlocal finished
        for n, (message, (_, offset, user)) in enumerate(zip(messages, facts, strict=True)):
            got = bytearray()
            while True:
                entry = await rx.reap(f"message {n} of {len(message)} bytes stands at {len(got)}")
                got += entry["content"]
                assert entry["status"] in ("DONE", "END_OF_MESSAGE"), f"C2H: {entry}"
                assert message.startswith(got), f"message {n}: wrong bytes after {len(got) - entry['bytes']} of {len(message)}: {entry}"
                if entry["bytes"] or entry["status"] == "END_OF_MESSAGE":
                    assert (entry["offset"], entry["user"]) == (offset, user), f"message {n}: {entry}, not {offset:#x}, {user:#x}"
                if entry["status"] == "END_OF_MESSAGE":
                    break
                assert entry["bytes"] == entry["size"], f"C2H: {entry}"
            assert bytes(got) == message, f"message {n} ended after {len(got)} of {len(message)} bytes"
        finished = True

    await gather(send(), reap(), post(), receive())
    # What is left are empty buffers.
    while rx.waiting:
        await rx.cancel()
        entry = await rx.reap("a cancelled buffer never came back")
        assert (entry["status"], entry["bytes"]) == ("CANCELLED", 0), f"C2H: {entry}"


async def link_faults(host: Host) -> dict[str, int]:
    """The counters of faults on the link. No reset clears them, so a test compares with what they were at its start."""
    kinds = ("UNSUPPORTED_REQUESTS", "COMPLETER_ABORTS", "POISONED", "TIMEOUTS", "BAD_COMPLETIONS", "LATE_COMPLETIONS", "LINK_DOWNS")
    kinds += ("BUS_MASTERING_LOSSES", "FUNCTION_RESETS", "UNEXPECTED_COMPLETIONS")
    return {name: await host.card_register(getattr(TP, f"TP_CARD_{name}_OFFSET")) for name in kinds}


async def quiet(host: Host) -> None:
    """The counters of what went wrong in the card stand still, and no read of it is unanswered."""
    for name in ("INBOUND_OVERRUNS", "WINDOW_OVERRUNS", "WINDOW_TIMEOUTS"):
        assert await host.card_register(getattr(TP, f"TP_CARD_{name}_OFFSET")) == 0, name.lower()
    assert await link_faults(host) == host.link_faults
    await host.until(lambda: not host.card.reading, "the card waits for answers")
    host.complaints.check()


async def channels(host: Host, announce: bool = False) -> tuple[Channel, Channel]:
    tx, rx = Channel(host, H2C), Channel(host, C2H)
    await tx.enable()
    await rx.enable(announce)
    return tx, rx


def some_messages(rng: random.Random, count: int, most: int) -> list[bytes]:
    """Lengths log-uniform from 0, a third of them around multiples of 64."""
    lengths = [int(2 ** rng.uniform(0, most.bit_length())) - 1 for _ in range(count)]
    lengths = [64 * rng.randrange(most // 64) + rng.randrange(-1, 2) if rng.random() < 0.3 else n for n in lengths]
    return [rng.randbytes(min(max(n, 0), most)) for n in lengths]


async def busy(host: Host, tx, rx) -> None:
    """Descriptors of both directions in flight, seven each."""
    for n in range(7):
        await rx.receive(1000, TP.TP_KIND_DIRECT)
        await tx.send(host.rng.randbytes(1000), None, end=n % 2 == 0)
    await host.card_register(TP.TP_CARD_TIMEOUTS_OFFSET)  # the doorbells have arrived


async def all_ended(tx, rx) -> None:
    """How the fourteen descriptors of `busy` ended: each one, once."""
    await rx.cancel()  # no message comes for some of its buffers
    for channel in (tx, rx):
        statuses = [(await channel.reap("a descriptor was lost"))["status"] for _ in range(7)]
        assert set(statuses) <= {"DONE", "END_OF_MESSAGE", "CANCELLED", "BUS_MASTERING_OFF"}, statuses


async def fresh(*pair) -> None:
    for channel in pair:
        await channel.reset()
        await channel.reset_done()


async def again(host: Host, tx, rx) -> None:
    """Both channels from the start, data through them, and again from the start."""
    await fresh(tx, rx)
    tx, rx = await channels(host)
    await loop(host, some_messages(host.rng, 4, 2000), tx, rx)
    await fresh(tx, rx)


# ---------------------------------------------------------------------------------------------------------------- the card as such


@cocotb.test()
async def discovery(dut):
    """The card is found, its BARs are 64-bit and prefetchable and hold the pages; what page 0 says is how the card was built."""
    host = await start(dut, "discovery")
    host.complaints.expect("Sending completion with CA status")
    dev = host.dev
    parameter = vars(BUILT)
    for bar, size in ((TP.TP_BAR_DEVICE, host.card.pages), (TP.TP_BAR_WINDOW, parameter["WINDOW_BYTES"])):
        assert dev.bar_raw[bar] & 0xF == 0xC, f"BAR {bar} is not 64-bit and prefetchable"
        assert dev.bar_size[bar] >= size and dev.bar_addr[bar] >> 32
    assert await dev.msix_vec_count() == parameter["VECTORS"]

    page = bytearray()
    while len(page) < 0x400:  # in pieces of 4, 8 and 64 bytes
        page += await host.bar.read(len(page), 64 if len(page) % 64 == 0 and host.rng.random() < 0.5 else host.rng.choice([4, 8]))

    def field(name: str, size: int, base: int = 0) -> int:
        at = base + getattr(TP, f"TP_{name}_OFFSET")
        return int.from_bytes(page[at : at + size], "little")

    for name in ("MAGIC 8", "VERSION_MAJOR 2", "VERSION_MINOR 2", "HEADER_BYTES 2", "ENTRY_OFFSET 2", "ENTRY_BYTES 2"):
        word, size = name.split()
        assert field(f"DISCOVERY_{word}", int(size)) == getattr(TP, f"TP_DISCOVERY_{word}_VALUE"), word.lower()
    assert page[:8] == b"TOWPATH\0"
    built = {
        "PAGE_SHIFT 1": parameter["PAGE_SHIFT"],
        "DATA_BYTES 1": BUILT.DATA_WIDTH // 8,
        "CHANNELS 2": len(NAMES),
        "VECTORS 2": parameter["VECTORS"],
        "USER_INTERRUPTS 2": TP.TP_USER_INTERRUPTS,
        "TAGS 2": parameter["TAGS"],
        "WINDOW_BYTES 4": parameter["WINDOW_BYTES"],
        "SERIAL 8": parameter["SERIAL"],
        "CORE_CLOCK_KHZ 4": parameter["CORE_CLOCK_KHZ"],
        "USER_CLOCK_KHZ 4": parameter["USER_CLOCK_KHZ"],
        "CORE_VERSION 4": parameter["CORE_VERSION"],
        f"CORE_NAME {TP.TP_NAME_BYTES}": int.from_bytes(b"loopback", "little"),
    }
    for name, value in built.items():
        word, size = name.split()
        assert field(f"DISCOVERY_{word}", int(size)) == value, (
            f"{word.lower()} is {field(f'DISCOVERY_{word}', int(size)):#x}, not {value:#x}"
        )
    for n, name in enumerate(NAMES):
        base = field("DISCOVERY_ENTRY_OFFSET", 2) + n * field("DISCOVERY_ENTRY_BYTES", 2)
        entry = {
            "DIRECTION 1": (TP.TP_DIRECTION_H2C, TP.TP_DIRECTION_C2H)[n],
            "KIND 1": TP.TP_CHANNEL_KIND_STREAM,
            "KIND_VERSION 2": 1,
            "KIND_PARAMETER 4": 0,
            "KIND_NAME 8": int.from_bytes(b"stream", "little"),
            "QUEUE_DEPTH 2": parameter["QUEUE_DEPTH"],
            "INLINE_SLOTS 2": parameter["INLINE_SLOTS"] if n == H2C else 0,
            "FIRST_PAGE 4": TP.TP_PAGE_CHANNELS + n * TP.TP_PAGES_PER_CHANNEL,
            "BUFFER_BYTES 4": parameter["LANDING_BYTES"] if n == H2C else parameter["SENDING_BYTES"],
            f"NAME {TP.TP_NAME_BYTES}": int.from_bytes(name.encode(), "little"),
        }
        for what, value in entry.items():
            word, size = what.split()
            assert field(f"CHANNEL_ENTRY_{word}", int(size), base) == value, f"{word.lower()} of channel {n}"
    rest = field("DISCOVERY_ENTRY_OFFSET", 2) + len(NAMES) * field("DISCOVERY_ENTRY_BYTES", 2)
    assert not any(page[rest:]), "entries of channels that are not there"
    # Behind the last page the BAR is empty; a host that asks for more than the card answers at once gets a completer abort.
    assert not any(await host.bar.read(host.card.pages, 8))
    try:
        await host.bar.read(0, 128)
    except Exception as refused:
        assert "Unsuccessful completion" in str(refused)
    else:
        raise AssertionError("a read of 128 bytes was answered")
    assert await host.bar.read(0, 8) == page[:8]
    await quiet(host)


@cocotb.test()
async def window(dut):
    """The user core's registers: 4 and 8 bytes, single bytes, runs of registers, reads of nothing; strobes from byte enables."""
    host = await start(dut, "window")
    rng, bar = host.rng, host.window
    assert await bar.read(0, 4) == b"LOOP"
    scratch = 4
    expected = bytearray(4)
    for _ in range(25):
        at = rng.randrange(4)
        content = rng.randbytes(rng.randrange(1, 5 - at))
        await bar.write(scratch + at, content)
        expected[at : at + len(content)] = content
        at = rng.randrange(4)
        size = rng.randrange(1, 5 - at)
        assert await bar.read(scratch + at, size) == expected[at : at + size]
    # 8 bytes are two registers, 6 bytes one and a half.
    await bar.write(0, b"nope" + b"word")
    assert await bar.read(0, 8) == b"LOOPword"
    await bar.write(2, b"??new!")
    assert await bar.read(0, 8) == b"LOOPnew!"
    assert await bar.read(3, 3) == b"Pne"
    assert await bar.read(0, 64) == b"LOOPnew!" + bytes(56)
    assert await bar.read(0xFF8, 8) == bytes(8)
    assert await bar.read(4, 0) == b"" and await host.bar.read(8, 0) == b"", "a read without byte enables is answered"
    # Many reads at once, more than the core grants credits.
    reads = [cocotb.start_soon(bar.read(4 * (i % 2), 4)) for i in range(24)]
    assert [await r for r in reads] == [b"LOOP", b"new!"] * 12
    assert await host.card_register(TP.TP_CARD_WINDOW_STATUS_OFFSET) == 0
    await quiet(host)


# ---------------------------------------------------------------------------------------------------------------- data


@cocotb.test()
async def direct(dut):
    """Any length, any offset, around 4 KiB edges, both directions at once."""
    host = await start(dut, "direct", max_payload=256)
    tx, rx = await channels(host)
    await loop(host, some_messages(host.rng, 20, 5000), tx, rx, kinds=(TP.TP_KIND_DIRECT,))
    await quiet(host)


@cocotb.test()
async def lists(dut):
    """Lists of pieces as short as a byte, or empty, in tables that chain."""
    host = await start(dut, "lists")
    tx, rx = await channels(host)
    await loop(host, some_messages(host.rng, 8, 2500), tx, rx, kinds=(TP.TP_KIND_LIST,))
    await quiet(host)


@cocotb.test()
async def inline(dut):
    """Messages in inline slots, written whole or in pieces in any order, 0 to 64 bytes."""
    host = await start(dut, "inline", max_payload=host_payload(dut))
    tx, rx = await channels(host)
    sizes = [0, 1, 64, 63, 4, 8] + [host.rng.randrange(65) for _ in range(20)]
    await loop(host, [host.rng.randbytes(n) for n in sizes], tx, rx, kinds=(TP.TP_KIND_INLINE,), most=128)
    await quiet(host)


def host_payload(dut) -> int:
    """The narrow card meets the smallest payload, the wide one a larger."""
    return 128 if BUILT.DATA_WIDTH == 64 else 256


@cocotb.test()
async def everything(dut):
    """All kinds with attributes, mixed within messages."""
    host = await start(dut, "everything", max_payload=512, rcb_128=True)
    tx, rx = await channels(host)
    await loop(host, some_messages(host.rng, 12, 3000), tx, rx, attributes=True)
    await quiet(host)


@cocotb.test()
@cocotb.parametrize(payload_read_split=[(128, 128, False), (128, 512, True), (256, 256, False), (512, 128, True), (1024, 512, False)])
async def sizes(dut, payload_read_split):
    """MPS and MRRS as the host sets them: the card keeps to them and makes use of them, whatever size the answers come in."""
    payload, read, split = payload_read_split
    host = await start(dut, f"sizes {payload} {read}", max_payload=payload, max_read=read, split=split, rcb_128=split)
    cap = host.card.pcie_cap
    assert (128 << cap.max_payload_size, 128 << cap.max_read_request_size) == (payload, read), "the root complex set something else"
    tx, rx = await channels(host)
    message = host.rng.randbytes(6000 + host.rng.randrange(100))
    buffer = host.room(len(message))
    host.allow("writable", buffer, len(message))
    await rx.post(TP.TP_KIND_DIRECT, buffer, len(message), pieces=[(buffer, len(message))], size=len(message))
    await tx.send(message, TP.TP_KIND_DIRECT)
    sent = await tx.reap()
    got = await rx.reap()
    assert (sent["status"], sent["bytes"]) == ("DONE", len(message)), sent
    # A message that fills its buffer to the last byte may end in it.
    assert got["status"] == "END_OF_MESSAGE" and got["content"] == message, got["status"]
    largest = host.card.largest
    assert (largest["write"], largest["read"]) == (payload, read), f"{largest}, where {payload} and {read} are allowed"
    assert largest["reads in flight"] > 1
    await quiet(host)


@cocotb.test()
async def message_start(dut):
    """A message is announced before any buffer is there, with its length, offset and user word; then come its bytes."""
    host = await start(dut, "message start")
    rng = host.rng
    tx, rx = await channels(host, announce=True)
    for size in (0, 1, 300):
        message = rng.randbytes(size)
        length, offset, user = rng.getrandbits(48), rng.getrandbits(32), rng.getrandbits(32)
        await tx.send(message, None, True, [(TP.TP_KIND_ATTRIBUTES, offset, user), (TP.TP_KIND_MESSAGE_LENGTH, length, 0)])
        assert (await tx.reap())["status"] == "DONE"
        entry = await rx.reap("no message start came")
        assert entry["start"] and entry["status"] == "NONE", entry
        assert (entry["bytes"] | entry["cookie"] << 32, entry["offset"], entry["user"]) == (length, offset, user), entry
        await rx.receive(400)
        entry = await rx.reap()
        assert not entry["start"] and (entry["status"], entry["content"]) == ("END_OF_MESSAGE", message), entry
        assert (entry["offset"], entry["user"]) == (offset, user), entry
    await quiet(host)


@cocotb.test()
async def cancel(dut):
    """A cancel in flight in either direction: partial counts that add up, nothing lost, the channel goes on."""
    host = await start(dut, "cancel")
    rng = host.rng
    tx, rx = await channels(host)
    # More than the card holds, and nobody takes it: some descriptor stops in the middle.
    parts = [rng.randbytes(rng.randrange(2000, 6000)) for _ in range(8)]
    for n, part in enumerate(parts):
        await tx.send(part, None, end=n == len(parts) - 1)
    await Timer(rng.randrange(2, 8), "us")
    await tx.cancel()
    entries = [await tx.reap("a cancelled descriptor never completed") for _ in parts]
    statuses = [e["status"] for e in entries]
    assert set(statuses) <= {"DONE", "CANCELLED"} and statuses == sorted(statuses, reverse=True), statuses
    assert statuses[-1] == "CANCELLED", "the card held more than its buffers"
    landed = bytearray()
    for n, (entry, part) in enumerate(zip(entries, parts, strict=True)):
        assert entry["bytes"] <= len(part) and (entry["status"] != "DONE" or entry["bytes"] == len(part)), entry
        assert entry["bytes"] == 0 or statuses[:n].count("CANCELLED") == 0, "bytes behind a cancelled descriptor"
        landed += part[: entry["bytes"]]
    # The message goes on with the next descriptor.
    tail = rng.randbytes(100)
    await tx.send(tail, None, True)
    landed += tail
    got = bytearray()
    while True:
        await rx.receive(rng.randrange(500, 5000))
        entry = await rx.reap(f"{len(got)} of {len(landed)} bytes came")
        got += entry["content"]
        if entry["status"] == "END_OF_MESSAGE":
            break
        assert entry["status"] == "DONE", entry
    assert bytes(got) == bytes(landed), f"{len(got)} bytes came back, {len(landed)} had landed"
    assert (await tx.reap())["status"] == "DONE"
    # C2H: buffers that wait come back empty; one that holds an open message's beginning comes back with it.
    for _ in range(3):
        await rx.receive(64)
    await rx.cancel()
    for _ in range(3):
        entry = await rx.reap("a cancelled buffer never came back")
        assert (entry["status"], entry["bytes"]) == ("CANCELLED", 0), entry
    begin = rng.randbytes(1024)
    await rx.receive(4096, TP.TP_KIND_DIRECT)
    await tx.send(begin, TP.TP_KIND_DIRECT, end=False)
    assert (await tx.reap())["status"] == "DONE"
    await Timer(rng.randrange(1, 2000), "ns")
    await rx.cancel()
    entry = await rx.reap()
    assert entry["status"] == "CANCELLED" and begin.startswith(entry["content"]), entry
    rest = begin[entry["bytes"] :] + tail
    await tx.send(tail, None, True)
    await rx.receive(4096)
    entry = await rx.reap()
    assert (entry["status"], entry["content"]) == ("END_OF_MESSAGE", rest), entry["status"]
    await quiet(host)


# ---------------------------------------------------------------------------------------------------------------- interrupts


@cocotb.test()
async def interrupts(dut):
    """MSI-X as the root complex set it up: once for each arm, behind the entry, at once if there is more, held back by either mask."""
    host = await start(dut, "interrupts")
    tx, rx = await channels(host)
    fired = host.messages

    async def message(size: int = 32) -> None:
        await rx.receive(64)
        await tx.send(host.rng.randbytes(size))

    async def settle() -> None:
        await Timer(2, "us")

    seen = []

    async def look() -> None:  # the interrupt's handler: the entry must be there
        seen.append(rx.peek())

    host.dev.request_irq(rx.vector, look)
    await rx.arm()
    await settle()
    assert fired == [], "nothing has happened yet"
    await message()
    await host.until(lambda: fired, "the interrupt never came")
    await settle()
    assert fired == [rx.vector] and seen == [True], (fired, seen)
    await message()
    await settle()
    assert fired == [rx.vector], "it fires once for each arm"
    await rx.reap()
    await rx.arm()  # one entry is still there
    await host.until(lambda: len(fired) == 2, "there was more, and it did not fire")
    await rx.reap()
    await tx.reap()
    await tx.arm()  # as here
    await host.until(lambda: fired[2:] == [tx.vector], "there was more, and it did not fire")
    await tx.reap()
    assert tx.vector != rx.vector
    fired.clear()

    # The vector's own mask: pending until unmasked.
    entry = host.page(TP.TP_PAGE_MSIX, TP.TP_MSIX_VECTOR_OFFSET + rx.vector * TP.TP_MSIX_VECTOR_STRIDE)
    pending = host.page(TP.TP_PAGE_MSIX, TP.TP_MSIX_PENDING_OFFSET + rx.vector // 64 * TP.TP_MSIX_PENDING_STRIDE)
    await host.bar.write_dword(entry + TP.TP_MSIX_VECTOR_CONTROL_OFFSET, TP.TP_MSIX_VECTOR_CONTROL_MASK_MASK)
    await rx.arm()
    await message()
    await rx.reap()
    await tx.reap()
    await settle()
    assert fired == [] and await host.bar.read_qword(pending) == 1 << rx.vector % 64
    await host.bar.write_dword(entry + TP.TP_MSIX_VECTOR_CONTROL_OFFSET, 0)
    await host.until(lambda: fired == [rx.vector], "an unmasked vector did not fire")
    assert await host.bar.read_qword(pending) == 0
    fired.clear()

    # The function's mask, in configuration space.
    control = await host.dev.capability_read_word(host.card.msix_cap.cap_id, 2)
    await host.dev.capability_write_word(host.card.msix_cap.cap_id, 2, control | 1 << 14)
    await rx.arm()
    await message()
    await rx.reap()
    await tx.reap()
    await settle()
    assert fired == [] and await host.bar.read_qword(pending) == 1 << rx.vector % 64
    await host.dev.capability_write_word(host.card.msix_cap.cap_id, 2, control)
    await host.until(lambda: fired == [rx.vector], "a function that was unmasked did not fire")
    fired.clear()

    # The user core's interrupt, once for each message (several may share a message); counted even while it is not enabled.
    card = lambda offset: host.page(TP.TP_PAGE_CARD, offset)  # noqa: E731 an abbreviation
    assert await host.card_register(TP.TP_CARD_USER_IRQ_COUNT_OFFSET) == 4
    await host.bar.write_dword(card(TP.TP_CARD_USER_IRQ_VECTOR_OFFSET), 17)
    await host.bar.write_dword(card(TP.TP_CARD_USER_IRQ_ENABLE_OFFSET), 1)
    await message()
    await host.until(lambda: fired == [17], "the user interrupt never came")
    assert await host.card_register(TP.TP_CARD_USER_IRQ_COUNT_OFFSET) == 5
    await quiet(host)


# ---------------------------------------------------------------------------------------------------------------- bad days


@cocotb.test()
async def faults(dut):
    """Answers that are none: each ends one descriptor with its status and the bytes before it, and the next one runs."""
    host = await start(dut, "faults")
    rng = host.rng
    host.complaints.expect("Memory request did not match any regions", "Memory read operation failed", ".*oisoned TLP", ".*Bad status")
    host.complaints.expect("Received completion with (UR|CA) status")
    tx, rx = await channels(host)
    nowhere = 0x77_0000_0000  # in no region of the model: unsupported request
    gap = host.root.mem_pool.get_absolute_address(0) + (1 << 30)  # in its pool, never allocated: completer abort
    host.open_to_reads = [(nowhere, 1 << 16), (gap, 1 << 16)]
    message = rng.randbytes(700)
    bad = host.room(3000)
    cut_short = 0
    cases = (
        ("UNSUPPORTED_REQUEST", TP.TP_KIND_DIRECT, nowhere + rng.randrange(4096)),
        ("COMPLETER_ABORT", TP.TP_KIND_DIRECT, gap + rng.randrange(4096)),
        ("UNSUPPORTED_REQUEST", TP.TP_KIND_LIST, nowhere + 16 * rng.randrange(256)),
        ("POISONED", TP.TP_KIND_DIRECT, bad),
    )
    for n, (status, kind, address) in enumerate(cases):
        content = b""
        pieces = []
        size = 3000
        if status == "POISONED":
            content, pieces = rng.randbytes(size), [(address, size)]
            host.store(address, content)
            host.allow("readable", address, size)
            host.poison = (address + rng.randrange(size), 1)
        await tx.post(kind, address, size, True, pieces=pieces)
        await tx.send(message)
        entry = await tx.reap(f"{status} never completed")
        assert entry["status"] == status and entry["bytes"] <= len(content), (n, entry)
        if status == "POISONED":
            assert entry["bytes"] <= host.poison[0] - address, (entry, host.poison)
        assert (await tx.reap())["status"] == "DONE"
        # The message that was cut reaches the core closed, with what came of it; then the next one, whole. A fault before any byte
        # may leave nothing to close.
        cut = content[: entry["bytes"]]
        got = []
        while not got or got[-1] != message:
            await rx.receive(4096)
            came = await rx.reap(f"after {status}")
            assert came["status"] == "END_OF_MESSAGE", came
            got.append(came["content"])
            assert len(got) <= 2, f"after {status}: messages of {[len(g) for g in got]} bytes"
        assert got[:-1] in ([], [cut]) and (got[:-1] or not cut), (
            f"after {status}: {[len(g) for g in got]} bytes, {len(cut)} before the fault"
        )
        cut_short += len(got) - 1
        host.poison = None
    assert await host.window.read_dword(LOOPBACK_FAULTS) == cut_short, f"{cut_short} messages were cut short"
    if BOUNDARY.ABORT_BITS:
        assert host.card.received_master_abort and host.card.received_target_abort, "what configuration space tells of it"
    await loop(host, some_messages(rng, 3, 600), tx, rx)
    counted = await link_faults(host)
    for kind in ("UNSUPPORTED_REQUESTS", "COMPLETER_ABORTS", "POISONED"):  # several reads of one descriptor may fail
        assert counted[kind] > host.link_faults[kind], counted
        host.link_faults[kind] = counted[kind]
    await quiet(host)


@cocotb.test(skip=BUILT.TAGS == 256)  # there every tag may be in use
async def stray_answers(dut):
    """Answers to nothing, in the middle of traffic: counted, and no harm to anybody."""
    host = await start(dut, "stray answers")
    host.complaints.expect("Invalid tag")
    rng, card = host.rng, host.card
    tx, rx = await channels(host)
    strays = 0

    async def answer() -> None:
        nonlocal strays
        for _ in range(10):
            await Timer(rng.randrange(100, 1000), "ns")
            tlp = Tlp()
            tlp.fmt_type = TlpType.CPL_DATA
            tlp.requester_id = card.pcie_id
            # No tag that the core uses now or takes up before this arrives: it has fewer in all.
            tlp.tag = rng.randrange(BUILT.TAGS, 256)
            tlp.set_data(rng.randbytes(4 * rng.randrange(1, 33)))
            tlp.byte_count = len(tlp.data)
            await host.root.send(tlp)
            strays += 1

    stray = cocotb.start_soon(answer())
    await loop(host, some_messages(rng, 8, 2000), tx, rx)
    await stray
    await Timer(1, "us")
    assert await link_faults(host) == host.link_faults | {"UNEXPECTED_COMPLETIONS": host.link_faults["UNEXPECTED_COMPLETIONS"] + strays}
    host.complaints.check()


@cocotb.test()
async def channel_reset(dut):
    """A reset in flight: everything queued completes, the card touches nothing afterwards, and the channel works again."""
    host = await start(dut, "channel reset")
    rng = host.rng
    tx, rx = await channels(host)
    for n in range(8):
        await tx.send(rng.randbytes(4000), None, end=n % 2 == 1)
    await Timer(rng.randrange(1, 8), "us")
    await tx.reset()
    entries = [await tx.reap("a descriptor did not survive the reset") for _ in range(8)]
    statuses = [e["status"] for e in entries]
    assert set(statuses) <= {"DONE", "RESET"} and statuses == sorted(statuses) and "RESET" in statuses, statuses
    await tx.reset_done()
    assert await tx.register(TP.TP_CHANNEL_STATUS_OFFSET) == 0
    assert await tx.register(TP.TP_CHANNEL_PRODUCED_OFFSET) == 0 and await tx.register(TP.TP_CHANNEL_CONSUMED_OFFSET) == 0
    # What C2H holds of the cut messages goes with its own reset, buffers or no buffers.
    for _ in range(3):
        await rx.receive(100)
    await rx.reset()
    await rx.reset_done()
    for _ in range(3):
        entry = await rx.reap("a buffer did not survive the reset")
        assert entry["status"] in ("DONE", "END_OF_MESSAGE", "RESET"), entry
    # Nothing covers these any more: a write of the card's would be seen.
    for c in (tx, rx):
        host.allow("writable", c.ring, TP.TP_COMPLETION_BYTES << RING_LOG2, 0)
    await Timer(2, "us")
    # A channel that is not enabled drops what it is given and says so.
    await tx.push(TP.TP_KIND_DIRECT, 0, 64, True)
    assert await tx.register(TP.TP_CHANNEL_STATUS_OFFSET) == TP.TP_CHANNEL_STATUS_ERROR_MASK
    assert await tx.register(TP.TP_CHANNEL_OVERFLOWS_OFFSET) == 1
    await tx.reset()
    await tx.reset_done()
    await tx.enable()
    await rx.enable()
    await loop(host, some_messages(rng, 4, 2000), tx, rx)
    await quiet(host)


@cocotb.test()
async def function_reset(dut):
    """Function-level reset with transfers in flight: the card falls silent and acknowledges; set up again, it works."""
    host = await start(dut, "function reset")
    rng = host.rng
    tx, rx = await channels(host)
    for _ in range(6):
        await tx.send(rng.randbytes(3000))
        await rx.receive(1000, TP.TP_KIND_DIRECT)
    await Timer(rng.randrange(1, 4000), "ns")
    saved = await host.reset_function()
    await Timer(1, "us")
    for arena in host.arenas:  # from here on the card has no business anywhere
        arena.readable, arena.writable = bytearray(len(arena.readable)), bytearray(len(arena.writable))
    await Timer(2, "us")
    await host.restore(saved)
    assert await host.bar.read(0, 8) == b"TOWPATH\0"
    assert await host.bar.read_dword(tx.privileged + TP.TP_CHANNEL_STATUS_OFFSET) == 0
    tx, rx = await channels(host)
    await loop(host, some_messages(rng, 3, 1500), tx, rx)
    host.link_faults["FUNCTION_RESETS"] += 1
    host.link_faults["BUS_MASTERING_LOSSES"] += 1  # the reset takes the command register with it
    late = (await link_faults(host))["LATE_COMPLETIONS"] - host.link_faults["LATE_COMPLETIONS"]
    assert 0 <= late <= 6 * 50, f"{late} answers to the reads that the reset gave up"
    host.link_faults["LATE_COMPLETIONS"] += late
    await quiet(host)


@cocotb.test()
async def renumbered(dut):
    """The host gives the card's bus another number while nothing moves; requests and answers bear the new one at once."""
    host = await start(dut, "renumbered")
    tx, rx = await channels(host)
    for bus in (9, 2, 255):
        await loop(host, some_messages(host.rng, 2, 1500), tx, rx)
        await host.renumber(bus)
        assert host.card.pcie_id.bus == bus
    await loop(host, some_messages(host.rng, 3, 1500), tx, rx)
    await quiet(host)


@cocotb.test()
async def bus_mastering(dut):
    """While bus mastering is off the card asks for nothing (the adapter checks that); what it cuts ends with its own status, once."""
    host = await start(dut, "bus mastering")
    rng, cut = host.rng, 0
    for _ in range(4):
        tx, rx = await channels(host)
        # More than the card has room for: what is not cut must find buffers at the other end, or it waits there for good.
        for _ in range(12):
            await rx.receive(4000, TP.TP_KIND_DIRECT)
        for n in range(6):
            await tx.send(rng.randbytes(4000), None, end=n % 2 == 1)
        await Timer(rng.randrange(200, 3000), "ns")
        await host.dev.set_master(False)
        await Timer(rng.randrange(100, 1500), "ns")
        await host.dev.set_master(True)
        statuses = [(await tx.reap("a descriptor was lost with bus mastering"))["status"] for _ in range(6)]
        assert set(statuses) <= {"DONE", "BUS_MASTERING_OFF"}, statuses
        cut += statuses.count("BUS_MASTERING_OFF")
        host.link_faults["BUS_MASTERING_LOSSES"] += 1
        for channel in (tx, rx):
            await channel.reset()
            await channel.reset_done()
    assert cut, "nothing was ever cut: the test says nothing"
    tx, rx = await channels(host)
    await loop(host, some_messages(rng, 6, 8000), tx, rx)
    await quiet(host)


@cocotb.test()
async def posted_order(dut):
    """What a register says has been written is in memory when the answer comes: answers do not pass the writes before them."""
    host = await start(dut, "posted order", stall=0.5)
    tx, rx = await channels(host)
    looked = 0
    running = True

    async def look() -> None:
        nonlocal looked
        while running:
            produced = await rx.register(TP.TP_CHANNEL_PRODUCED_OFFSET)
            for n in range(rx.reaped, produced):
                flags = host.load(rx.ring + n % (1 << RING_LOG2) * TP.TP_COMPLETION_BYTES + TP.TP_COMPLETION_FLAGS_OFFSET, 1)[0]
                phase = bool(flags & TP.TP_COMPLETION_FLAGS_PHASE_MASK)
                assert phase != bool(n >> RING_LOG2 & 1), f"{produced} entries were written, says the card; number {n} is not there"
            looked += 1

    looker = cocotb.start_soon(look())
    await loop(host, [host.rng.randbytes(n) for n in [8, 100, 500] * 8], tx, rx, kinds=(TP.TP_KIND_DIRECT,), most=256)
    running = False
    await looker
    assert looked > 20, looked
    await quiet(host)


# ---------------------------------------------------------------------------------------------------------------- the bench itself


@cocotb.test(expect_fail=True)
@cocotb.parametrize(fault=BOUNDARY.FAULTS)
async def planted_faults(dut, fault):
    """Mistakes in the adapter that must be seen, each by some assertion; the same test without them is `direct`."""
    host = await start(dut, fault, fault=fault, stall=0.2, max_payload=256, rng=random.Random(FAULT_SEED))
    tx, rx = await channels(host)
    await loop(host, some_messages(host.rng, 12, 3000), tx, rx, kinds=(TP.TP_KIND_DIRECT,))
    await quiet(host)
