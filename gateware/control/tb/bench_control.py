# SPDX-License-Identifier: Apache-2.0
"""tp_control under random and adversarial hosts: a cocotb module, started by test_control.

What comes out is compared with what the protocol says, dword by dword, since how dwords share a word is tp_inbound's affair.
around.py plays the host, the mover and the user core.
"""

from itertools import chain

import cocotb
from around import ONES, Bench, Vectors
from bench import TLP, TP


def expected_bells(stages, channel, offset, data, be):
    """What a dword in a doorbell page means: an independent reading of the protocol's page. `stages`: dwords in order, per channel."""
    stage = stages.setdefault(channel, [])
    at = offset - TP.TP_DOORBELL_DESCRIPTOR_OFFSET
    whole = be == 15
    if 0 <= at < 12:
        if at == 0:
            stage.clear()
        if whole and len(stage) == at // 4:
            stage.append(data)
        else:
            stage.clear()
    elif at == 12:
        good = whole and len(stage) == 3
        found = ("push", channel, sum(v << 32 * i for i, v in enumerate([*stage, data]))) if good else ("torn", channel, None)
        stage.clear()
        return [found]
    elif offset == TP.TP_DOORBELL_ARM_OFFSET and whole:
        return [("arm", channel, data)]
    elif offset in (TP.TP_DOORBELL_LEAD_OFFSET, TP.TP_DOORBELL_FILL_OFFSET) and whole:
        return [("lead" if offset == TP.TP_DOORBELL_LEAD_OFFSET else "fill", channel, data)]
    elif offset == TP.TP_DOORBELL_CANCEL_OFFSET:
        return [("cancel", channel, 0)]
    elif offset == TP.TP_DOORBELL_BATCH_OFFSET:
        if not data & 0xFF:
            return []
        stage.clear()
        return [("batch", channel, data & 0xFF)]
    return []


def random_writes(b):
    """(page in channel, channel, offset, dwords, first, last): within a page, often where something happens; or the two of a descriptor."""
    rng = b.rng
    channel = rng.randrange(b.channels)
    if rng.random() < 0.1:
        return [(TP.TP_PAGE_CHANNEL_DOORBELL, channel, at, [rng.getrandbits(32), rng.getrandbits(32)], 15, 15) for at in (0, 8)]
    of_user = (TP.TP_PAGE_CHANNEL_DOORBELL, TP.TP_PAGE_CHANNEL_DOORBELL, TP.TP_PAGE_CHANNEL_INLINE, TP.TP_PAGE_CHANNEL_BATCH)
    page = rng.choice((*of_user, TP.TP_PAGE_CHANNEL_PRIVILEGED))
    count = rng.choice((1, 1, 2, 2, 2, 3, 4, 4, 5, 8, 16, rng.randint(1, 64)))
    offset = 4 * rng.randrange(10 if rng.random() < 0.8 else 1024 - count)
    whole = rng.random() < 0.7
    first = 15 if whole else rng.choice((0, 8, 12, 14, 3, 1, 7, 5))
    last = 15 if whole else rng.choice((1, 3, 7, 15))
    if count > 1 and first == 0:
        first = 8
    return [(page, channel, offset, [rng.getrandbits(32) for _ in range(count)], first, last)]


def fits(offset, count):
    """Doorbells and registers take 4 or 8 aligned bytes."""
    return count == 1 or (count == 2 and offset % 8 == 0)


@cocotb.test()
async def words(dut):
    """Writes of any size, start and byte enables have the effects the protocol says, in order, at the link's full rate for ever."""
    b = Bench(dut, "words")
    await b.start()
    bells, inlines, batches, privs, stages, dropped = [], [], [], [], {}, 0
    for page, channel, offset, data, first, last in chain.from_iterable(random_writes(b) for _ in range(1000)):
        b.write(TP.TP_BAR_DEVICE, b.of(channel, page, offset), data, first, last)
        if page in (TP.TP_PAGE_CHANNEL_DOORBELL, TP.TP_PAGE_CHANNEL_PRIVILEGED) and not fits(offset, len(data)):
            dropped += 1
            if page == TP.TP_PAGE_CHANNEL_DOORBELL:
                stages[channel] = []  # a commit behind it is torn
            continue
        for i, value in enumerate(data):
            be = first if i == 0 else last if i == len(data) - 1 else 15
            where = offset + 4 * i
            if not be:
                continue
            masked = value & sum(0xFF << 8 * k for k in range(4) if be >> k & 1)
            if page == TP.TP_PAGE_CHANNEL_DOORBELL:
                bells += expected_bells(stages, channel, where, value, be)
            elif page == TP.TP_PAGE_CHANNEL_INLINE and channel < b.h2c:
                inlines.append((channel, where, masked, be))
            elif page == TP.TP_PAGE_CHANNEL_BATCH:
                batches.append((channel, where, masked, be))
            elif page == TP.TP_PAGE_CHANNEL_PRIVILEGED and where < 0x100:
                privs.append((channel, where, masked, be))
        if b.rng.random() < 0.1:
            b.beats.extend([None] * b.rng.randrange(9))
    await b.until(lambda: not b.beats, 40000)
    await b.step(40)
    seen = [(kind, channel, None if kind == "torn" else value) for kind, channel, value in b.bells]
    assert seen == bells, next((i, s, e) for i, (s, e) in enumerate(zip(seen + [None], bells + [None], strict=False)) if s != e)
    assert any(kind == "torn" for kind, _, _ in bells) and any(kind == "push" for kind, _, _ in bells)
    assert b.inlines == inlines and b.batches == batches and b.privs == privs
    assert await b.read(0, b.card(TP.TP_CARD_INBOUND_OVERRUNS_OFFSET)) == dropped > 0


@cocotb.test()
async def descriptors(dut):
    """Well-formed and broken sequences of stores, with channels interleaved: torn exactly where the protocol says, cookie kept."""
    b = Bench(dut, "descriptors")
    await b.start()
    expected, stages = [], {}
    for _ in range(300):
        sequences = []
        for channel in b.rng.sample(range(b.channels), b.rng.randint(1, b.channels)):
            d = [b.rng.getrandbits(32) for _ in range(4)]
            stores = [(0, d[:2]), (8, d[2:])] if b.rng.random() < 0.5 else [(4 * i, [d[i]]) for i in range(4)]
            trouble = b.rng.random()
            if trouble < 0.15:
                stores.pop(b.rng.randrange(len(stores) - 1))
            elif trouble < 0.25:
                i = b.rng.randrange(len(stores) - 1)
                stores.insert(i, stores[i])
            elif trouble < 0.35:
                b.rng.shuffle(stores)
            elif trouble < 0.45:
                stores.insert(b.rng.randrange(len(stores)), (0x10 + 4 * b.rng.randrange(2), [b.rng.getrandbits(32)]))
            sequences.append([(channel, *store) for store in stores])
        while any(sequences):
            sequence = b.rng.choice([s for s in sequences if s])
            channel, offset, data = sequence.pop(0)
            b.write(0, b.of(channel, TP.TP_PAGE_CHANNEL_DOORBELL, offset), data)
            for i, value in enumerate(data):
                for bell in expected_bells(stages, channel, offset + 4 * i, value, 15):
                    expected.append(("torn", channel, value) if bell[0] == "torn" else bell)
    await b.until(lambda: not b.beats, 20000)
    await b.step(10)
    assert b.bells == expected
    kinds = [kind for kind, _, _ in expected]
    assert kinds.count("push") > 50 and kinds.count("torn") > 50


@cocotb.test()
async def all_at_once(dut):
    """A host that keeps the contract loses nothing: all slots and all queues written without a pause, twice over."""
    b = Bench(dut, "all_at_once")
    await b.start()
    slots, queue = int(dut.INLINE_SLOTS.value), int(dut.QUEUE_DEPTH.value)
    for _ in range(2):
        count = len(b.inlines)
        for channel in range(b.h2c):
            for slot in range(slots):
                offset = slot * TP.TP_INLINE_SLOT_BYTES
                b.write(0, b.of(channel, TP.TP_PAGE_CHANNEL_INLINE, offset), [b.rng.getrandbits(32) for _ in range(16)])
        for channel in range(b.channels):
            for _ in range(queue):
                b.write64(b.of(channel, TP.TP_PAGE_CHANNEL_DOORBELL, 0), b.rng.getrandbits(64))
                b.write64(b.of(channel, TP.TP_PAGE_CHANNEL_DOORBELL, 8), b.rng.getrandbits(64))
        await b.until(lambda: not b.beats)
        await b.step(4)
        assert len(b.inlines) - count == 16 * slots * b.h2c
    assert [kind for kind, _, _ in b.bells] == ["push"] * (2 * queue * b.channels)
    assert await b.read(0, b.card(TP.TP_CARD_INBOUND_OVERRUNS_OFFSET)) == 0


@cocotb.test()
async def floods(dut):
    """Stores to one page without a pause cost no other page a write, and no read its answer: inline, batch, doorbells, window, card."""
    b = Bench(dut, "floods")
    await b.start()
    b.write32(b.card(TP.TP_CARD_WINDOW_TIMEOUT_OFFSET), 20)
    await b.step(10)
    overruns = 0
    of_user = [b.of(0, page) for page in (TP.TP_PAGE_CHANNEL_INLINE, TP.TP_PAGE_CHANNEL_BATCH, TP.TP_PAGE_CHANNEL_DOORBELL)]
    floods = [*((0, page) for page in of_user), (2, 0), (0, b.card(0x800))]
    for bar, flooded in floods:
        for count in (2, 16, 32):
            b.bells.clear()
            b.privs.clear()
            b.core.delay = lambda count=count: b.rng.randrange(3) if count < 32 else None
            channel, sent, words, stores = b.channels - 1, [], [], 0
            for number in range(60):
                offset = 4 * b.rng.randrange(0, 64 - count, 2)
                b.write(bar, flooded + offset, [b.rng.getrandbits(32) | 1 for _ in range(count)])
                stores += 1
                low, high = b.rng.getrandbits(64), b.rng.getrandbits(64)
                if number % 3 == 0:
                    b.write64(b.of(channel, TP.TP_PAGE_CHANNEL_DOORBELL, 0), low)
                    b.write(bar, flooded + offset, [b.rng.getrandbits(32) | 1 for _ in range(count)])
                    stores += 1
                    b.write64(b.of(channel, TP.TP_PAGE_CHANNEL_DOORBELL, 8), high)
                    sent.append(("push", channel, high << 64 | low))
                if number % 3 == 1:
                    b.write32(b.of(channel, TP.TP_PAGE_CHANNEL_PRIVILEGED, 8), number)
                    words.append((channel, 8, number, 15))
            answered = len(b.answers)
            asked = [(0, 0, TP.TP_DISCOVERY_MAGIC_VALUE & ONES), (0, b.card(TP.TP_CARD_WINDOW_TIMEOUT_OFFSET), 20), (2, 256, None)]
            await b.step(40)
            for where, offset, _ in asked:
                b.read_later(where, offset)
            # Each write of the window that comes before a read may take its time; what comes later does not count.
            room = int(dut.WINDOW_QUEUE.value) * 2
            await b.until(lambda answered=answered: len(b.answers) == answered + 3, 3 * room * 30)
            assert all(value in (None, answer[1][0]) for (_, _, value), answer in zip(asked, b.answers[answered:], strict=True))
            await b.until(lambda: not b.beats, 20000)
            await b.step(30)
            assert [bell for bell in b.bells if bell[1] == channel] == sent and b.privs == words
            b.core.pending = None
            await b.step(room * 30)
            counted = await b.read(0, b.card(TP.TP_CARD_INBOUND_OVERRUNS_OFFSET))
            # Words have room, but for those that make two dwords of registers; longer writes have no place there.
            words_only = bar == 2 or flooded in of_user[:2] or count == 2
            if count == 2 and flooded == floods[-1][1]:
                assert 0 <= counted - overruns < stores
            else:
                assert counted - overruns == (0 if words_only else stores)
            overruns = counted
    assert await b.read(0, b.card(TP.TP_CARD_WINDOW_OVERRUNS_OFFSET)) > 0


def expected_answer(header):
    """Byte count and lower address, from the byte enables, by counting: PCI Express Base Specification 2.3.1.1."""
    bits = []
    for i in range(header["dwords"]):
        be = header["first_be"] if i == 0 else header["last_be"] if i == header["dwords"] - 1 else 15
        bits += [be >> k & 1 for k in range(4)]
    if not any(bits):
        return 1, header["offset"] & 0x7C
    first, last = bits.index(1), len(bits) - 1 - bits[::-1].index(1)
    return last - first + 1, (header["offset"] & 0x7C) + first


@cocotb.test()
async def reads(dut):
    """Reads of any length and byte enables, mixed with writes: right headers, and values no older than the writes before them."""
    b = Bench(dut, "reads")
    await b.start()
    ready = 0.5 + b.rng.random() / 2
    b.answer_ready = lambda: b.rng.random() < ready
    asked, version, sent = [], 0, {}
    contiguous = (15, 14, 12, 8, 7, 6, 4, 3, 2, 1)
    for _ in range(250):
        for _ in range(b.rng.randrange(4)):
            version += 1
            channel, offset = b.rng.randrange(b.channels), 4 * b.rng.randrange(64)
            b.write32(b.of(channel, TP.TP_PAGE_CHANNEL_PRIVILEGED, offset), version)
            sent[channel, offset] = version
        while b.beats:
            await b.step()
        kind = b.rng.random()
        count = b.rng.choice((1, 2, 2, 3, 4, 5, 8, 15, 16))
        first = b.rng.choice(contiguous) if count == 1 else b.rng.choice((15, 14, 12, 8))
        last = b.rng.choice((15, 7, 3, 1))
        if kind < 0.6:
            channel, offset = b.rng.randrange(b.channels), 4 * b.rng.randrange(64)
            count = min(count, 64 - offset // 4)
            least = [sent.get((channel, offset + 4 * i), 0) for i in range(count)]
            header = b.read_later(0, b.of(channel, TP.TP_PAGE_CHANNEL_PRIVILEGED, offset), count, first, last)
            asked.append((header, TLP.CPL_OK, least))
        elif kind < 0.7:
            header = b.read_later(0, b.page(TP.TP_PAGE_CHANNELS + 4 * b.channels + b.rng.randrange(9), 64), count, first, last)
            asked.append((header, TLP.CPL_OK, [None] * count))
        elif kind < 0.8:
            page = b.rng.choice((TP.TP_PAGE_CHANNEL_DOORBELL, TP.TP_PAGE_CHANNEL_INLINE, 3))
            header = b.read_later(0, b.of(0, page, 4 * b.rng.randrange(500)), count, first, last)
            asked.append((header, TLP.CPL_OK, [None] * count))
        elif kind < 0.85:
            header = b.read_later(0, b.of(0, 0), 1, 0)
            asked.append((header, TLP.CPL_OK, [None]))
        elif kind < 0.92:
            header = b.read_later(b.rng.choice((0, 2)), 0, b.rng.randint(17, 1024), first, last)
            asked.append((header, TLP.CPL_COMPLETER_ABORT, []))
        else:
            header = b.read_later(b.rng.choice((1, 3, 4, 5, 6)), 4 * b.rng.randrange(100), count, first, last)
            asked.append((header, TLP.CPL_UNSUPPORTED_REQUEST, []))
        while len(b.reads) > 2 or b.rng.random() < 0.5:
            await b.step()
    await b.until(lambda: len(b.answers) == len(asked) and b.answers[-1][2], 20000)
    assert not b.reads
    for (header, status, least), (answer, data, _) in zip(asked, b.answers, strict=True):
        for name in ("requester", "tag", "tc", "attr"):
            assert answer[name] == header[name]
        assert answer["status"] == status
        assert answer["dwords"] == (header["dwords"] if status == TLP.CPL_OK else 0)
        assert (answer["byte_count"], answer["lower_addr"]) == expected_answer(header), header
        if status == TLP.CPL_OK:
            assert len(data) == -(-header["dwords"] // b.lanes) * b.lanes
        for old, new in zip(least, data, strict=False):
            assert new == 0 if old is None else old <= new <= version, (header, old, new)
    await b.step(10)
    assert b.credits == 1, "each read gives its credit back"


@cocotb.test()
async def discovery(dut):
    """The discovery page says what the parameters are, by any width of read."""
    b = Bench(dut, "discovery")
    await b.start()
    size = TP.TP_DISCOVERY_CHANNEL_ENTRY_OFFSET + b.channels * TP.TP_CHANNEL_ENTRY_BYTES
    image = bytearray()
    while len(image) < size + 64:
        count = b.rng.choice((1, 2, 4, 16))
        image += (await b.read(0, len(image), count)).to_bytes(4 * count, "little")

    def field(at, size):
        return int.from_bytes(image[at : at + size], "little")

    def name(at):
        return bytes(image[at : at + TP.TP_NAME_BYTES]).rstrip(b"\0").decode()

    assert image[:8] == b"TOWPATH\0"
    header = {
        "VERSION_MAJOR": (2, TP.TP_VERSION_MAJOR),
        "VERSION_MINOR": (2, TP.TP_VERSION_MINOR),
        "HEADER_BYTES": (2, TP.TP_DISCOVERY_CHANNEL_ENTRY_OFFSET),
        "PAGE_SHIFT": (1, b.shift),
        "DATA_BYTES": (1, b.width // 8),
        "CHANNELS": (2, b.channels),
        "ENTRY_OFFSET": (2, TP.TP_DISCOVERY_CHANNEL_ENTRY_OFFSET),
        "ENTRY_BYTES": (2, TP.TP_CHANNEL_ENTRY_BYTES),
        "VECTORS": (2, b.vectors),
        "USER_INTERRUPTS": (2, 16),
        "TAGS": (2, int(dut.TAGS.value)),
        "WINDOW_BYTES": (4, int(dut.WINDOW_BYTES.value)),
        "SERIAL": (8, 0x0123456789ABCDEF),
        "CORE_CLOCK_KHZ": (4, int(dut.CORE_CLOCK_KHZ.value)),
        "USER_CLOCK_KHZ": (4, int(dut.USER_CLOCK_KHZ.value)),
        "CORE_VERSION": (4, 0),
        "FEATURES": (2, int(dut.FEATURES.value)),
    }
    for what, (size_, value) in header.items():
        assert field(getattr(TP, f"TP_DISCOVERY_{what}_OFFSET"), size_) == value, what
    assert name(TP.TP_DISCOVERY_CORE_NAME_OFFSET) == "a core"
    for channel in range(b.channels):
        at = TP.TP_DISCOVERY_CHANNEL_ENTRY_OFFSET + channel * TP.TP_CHANNEL_ENTRY_BYTES
        h2c = channel < b.h2c
        assert field(at + TP.TP_CHANNEL_ENTRY_DIRECTION_OFFSET, 1) == (TP.TP_DIRECTION_H2C if h2c else TP.TP_DIRECTION_C2H)
        assert field(at + TP.TP_CHANNEL_ENTRY_QUEUE_DEPTH_OFFSET, 2) == int(dut.QUEUE_DEPTH.value)
        assert field(at + TP.TP_CHANNEL_ENTRY_INLINE_SLOTS_OFFSET, 2) == (int(dut.INLINE_SLOTS.value) if h2c else 0)
        assert field(at + TP.TP_CHANNEL_ENTRY_FIRST_PAGE_OFFSET, 4) == TP.TP_PAGE_CHANNELS + TP.TP_PAGES_PER_CHANNEL * channel
        assert name(at + TP.TP_CHANNEL_ENTRY_NAME_OFFSET) == f"channel {channel}"
    assert not any(image[size:])


@cocotb.test()
async def msix(dut):
    """Random fires, user interrupts and masks of every kind: no message while masked, none forgotten, pending bits as they should be."""
    b = Bench(dut, "msix")
    await b.start()
    table = Vectors(b)
    table.fill()
    assert await b.read(0, table.at(1, TP.TP_MSIX_VECTOR_CONTROL_OFFSET)) == 1, "masked after reset"
    assert await b.read(0, table.at(1, TP.TP_MSIX_VECTOR_ADDRESS_OFFSET), 2) == 0x2_FEE0_0010
    assert await b.read(0, table.at(1, TP.TP_MSIX_VECTOR_DATA_OFFSET), 2) == 1 << 32 | 0x4001
    lines = [b.rng.randrange(b.vectors + 3) for _ in range(14)]
    lines += [b.rng.randrange(b.vectors) | 1 << b.rng.randrange(8, 32) for _ in range(2)]  # which no table has, either
    enabled = b.rng.getrandbits(16)
    for k, vector in enumerate(lines):
        b.write32(b.card(TP.TP_CARD_USER_IRQ_VECTOR_OFFSET + 4 * k), vector)
    b.write32(b.card(TP.TP_CARD_USER_IRQ_ENABLE_OFFSET), enabled)
    assert await b.read(0, b.card(TP.TP_CARD_USER_IRQ_ENABLE_OFFSET)) == enabled
    for k, vector in enumerate(lines):
        assert await b.read(0, b.card(TP.TP_CARD_USER_IRQ_VECTOR_OFFSET + 4 * k)) == vector
    fired, events = [0] * b.vectors, [0] * 16
    ready = b.rng.choice((0.2, 0.7, 1.0))
    b.posted_ready = lambda: b.rng.random() < ready
    for _ in range(60):
        owed = [False] * b.vectors  # fired in this round, or pending from before
        bits = await table.pending()
        before = table.counts()
        for v in range(b.vectors):
            owed[v] = bool(bits >> v & 1)
        b.config["msix_enable"] = int(b.rng.random() < 0.9)
        b.config["msix_mask"] = int(b.rng.random() < 0.1)
        b.config["bus_master"] = int(b.rng.random() < 0.9)
        off = not (b.config["msix_enable"] and b.config["bus_master"]) or b.config["msix_mask"]
        for v in b.rng.sample(range(b.vectors), 4):
            table.mask(v, b.rng.random() < 0.5)
        await b.read(0, table.at(0, TP.TP_MSIX_VECTOR_CONTROL_OFFSET))  # the host's flush
        held = table.counts()
        for _ in range(b.rng.randrange(12)):
            if b.rng.random() < 0.5:
                v = b.rng.choice((b.rng.randrange(b.vectors), b.rng.randrange(b.vectors, 256)))
                b.fires.append(v)
                if v < b.vectors:
                    fired[v] += 1
                    owed[v] = True
            else:
                k, n = b.rng.randrange(16), b.rng.randint(1, 3)
                b.irqs[k] += n
                events[k] += n
                if enabled >> k & 1 and lines[k] < b.vectors:
                    fired[lines[k]] += n
                    owed[lines[k]] = True
            await b.step(b.rng.randrange(20))
        await b.until(lambda: not b.fires and not any(b.irqs))
        # The scan of pending vectors goes round; it passes by those that find a message waiting, so none waits long now.
        slow, b.posted_ready = b.posted_ready, lambda: True
        await b.step(150 + 4 * b.vectors)
        b.posted_ready = slow
        after, bits = table.counts(), await table.pending()
        for v in range(b.vectors):
            quiet = off or table.masked[v]
            if quiet:
                assert after[v] == held[v], f"vector {v} fired while masked"
            else:
                assert (after[v] > before[v]) == owed[v], f"vector {v}: forgotten or out of nothing"
            assert bits >> v & 1 == (quiet and owed[v] and after[v] == held[v] == before[v] or quiet and owed[v] and bits >> v & 1)
            if quiet and owed[v] and after[v] == before[v]:
                assert bits >> v & 1, f"vector {v} forgot that it is pending"
            assert after[v] <= fired[v]
    for k in range(16):
        assert await b.read(0, b.card(TP.TP_CARD_USER_IRQ_COUNT_OFFSET + 4 * k)) == events[k]
    assert sum(table.counts()) > 30


@cocotb.test()
async def order(dut):
    """A read sees every write that began before it, however long the queue, also behind a write whose last beats come after the read."""
    b = Bench(dut, "order")
    await b.start()
    b.core.delay = lambda: b.rng.randrange(3)
    for version in range(1, 160):
        count = b.rng.randrange(1, 30)
        window = version % 2
        for _ in range(count):  # words ahead of the one that is read
            b.write32(8, 1, bar=2) if window else b.write32(b.card(TP.TP_CARD_WINDOW_TIMEOUT_OFFSET), 1000)
        half = 4 * b.rng.randrange(2)
        bar, place = (2, 0) if window else (0, b.of(0, TP.TP_PAGE_CHANNEL_PRIVILEGED))
        b.write(bar, place, [version] * 2)
        # With this many beats left all writes have begun; the read comes in the next clock.
        left = 0
        if b.rng.randrange(2):
            b.write(0, b.of(0, TP.TP_PAGE_CHANNEL_INLINE), [version] * 32)
            left = b.rng.randrange(32 // b.lanes)
        while len(b.beats) > left:
            await b.step()
        answered = len(b.answers)
        b.read_later(bar, place + half)
        await b.until(lambda answered=answered: len(b.answers) > answered)
        assert b.answers[-1][1][0] == version, f"write {version} behind {count} was passed by a read that began with {left} beats left"
        assert not b.beats, "a read was answered before the write under way had ended"
        await b.step(b.rng.randrange(20))


@cocotb.test()
async def masked_and_read_back(dut):
    """A host that masks a vector and reads back gets no message of it after the answer: not one that waited at the stream, either."""
    b = Bench(dut, "masked_and_read_back")
    await b.start()
    table = Vectors(b)
    table.fill()
    for _ in range(10):
        table.mask(1, False)
        await b.until(lambda: not b.beats)
        await b.step(10)
        b.posted_ready = lambda: False
        b.fires.extend([1] * b.rng.randint(1, 3))
        await b.step(b.rng.randrange(30))
        waiting = bool(dut.msix_posted_valid.value)
        table.mask(1, True)
        await b.until(lambda: not b.beats)
        answered, sent = len(b.answers), len(b.messages)
        b.read_later(0, table.at(1, TP.TP_MSIX_VECTOR_CONTROL_OFFSET))
        await b.step(60)
        assert not waiting or len(b.answers) == answered, "the answer passed a message that was there before it"
        b.posted_ready = lambda: True
        await b.until(lambda answered=answered: len(b.answers) > answered)
        assert b.answers[-1][1][0] == TP.TP_MSIX_VECTOR_CONTROL_MASK_MASK
        quiet = len(b.messages)
        assert quiet >= sent + waiting
        await b.step(100)
        assert len(b.messages) == quiet and not b.fires


@cocotb.test()
async def a_read_never_waits_for_a_closed_stream(dut):
    """A message that finds the posted stream closed goes back into its pending bit: reads are answered, and it leaves once, later."""
    b = Bench(dut, "a_read_never_waits_for_a_closed_stream")
    await b.start()
    table = Vectors(b)
    table.fill()
    for off in (dict(bus_master=0), dict(active=0), dict(link_up=0), dict(msix_enable=0), dict(msix_mask=1)) * 3:
        table.mask(1, False)
        await b.until(lambda: not b.beats)
        await b.step(10)
        sent = len(b.messages)
        b.posted_ready = lambda: False
        b.fires.append(1)
        await b.step(b.rng.randrange(30))
        b.config |= off
        await b.read(0, table.at(0, TP.TP_MSIX_VECTOR_CONTROL_OFFSET), patience=100)
        assert await table.pending() >> 1 & 1, "the message is neither sent nor pending"
        b.config |= dict(bus_master=1, active=1, link_up=1, msix_enable=1, msix_mask=0)
        b.posted_ready = lambda: True
        await b.until(lambda sent=sent: len(b.messages) > sent)
        await b.step(100)
        assert len(b.messages) == sent + 1 and await table.pending() == 0

    b.leaving = True  # taken by the mover, and on its way
    answered = len(b.answers)
    b.read_later(0, table.at(0, TP.TP_MSIX_VECTOR_CONTROL_OFFSET))
    await b.step(60)
    assert len(b.answers) == answered, "the answer passed a message that was there before it"
    b.leaving = False
    await b.until(lambda: len(b.answers) > answered)


class Crowded(Bench):
    """The link is busy: each message is on its way out for 60 clocks after the mover has taken it."""

    taken, gone = 0, 0

    @property
    def leaving(self):
        if len(self.messages) != self.taken:
            self.taken, self.gone = len(self.messages), self.cycle + 60
        return self.cycle < self.gone

    @leaving.setter
    def leaving(self, _):
        pass


@cocotb.test()
async def a_read_waits_for_one_message_at_most(dut):
    """User interrupts without a pause, over a busy link: a message is on its way out at any time, and reads are answered all the same."""
    b = Crowded(dut, "a_read_waits_for_one_message_at_most")
    await b.start()
    table = Vectors(b)
    table.fill()
    for v in range(b.vectors):
        table.mask(v, False)
    for k in range(16):
        b.write32(b.card(TP.TP_CARD_USER_IRQ_VECTOR_OFFSET + 4 * k), k % b.vectors)
    b.write32(b.card(TP.TP_CARD_USER_IRQ_ENABLE_OFFSET), 0xFFFF)
    await b.until(lambda: not b.beats)
    await b.step(20)
    b.irqs = [10000] * 16
    await b.step(100)
    for _ in range(20):
        sent = len(b.messages)
        await b.read(0, table.at(0, TP.TP_MSIX_VECTOR_CONTROL_OFFSET), patience=200)
        assert len(b.messages) <= sent + 5
    assert len(b.messages) > 20, "messages go on"


@cocotb.test()
async def window(dut):
    """Accesses of the user core: in order, as 32-bit accesses with the host's strobes, with errors reported."""
    b = Bench(dut, "window")
    await b.start()
    b.core.delay = lambda: b.rng.randrange(6)
    b.core.accept = lambda: b.rng.random() < 0.6
    size = int(dut.WINDOW_BYTES.value)
    expected, values = [], {}
    for _ in range(150):
        offset = 4 * b.rng.randrange(size // 4)
        if b.rng.random() < 0.6:
            count = 2 if offset % 8 == 0 and b.rng.random() < 0.5 else 1
            data = [b.rng.getrandbits(32) for _ in range(count)]
            b.write(2, offset, data)
            for i, value in enumerate(data):
                expected.append(("w", offset + 4 * i, value, 15))
                values[offset + 4 * i] = value
            await b.step(b.rng.randrange(40))
        else:
            value = await b.read(2, offset)
            expected.append(("r", offset))
            assert value == values.get(offset, 0)
    await b.step(400)
    assert b.core.log == expected
    b.core.log.clear()
    b.write(2, 16, [0x11223344], first=6)
    assert await b.read(0, b.card(TP.TP_CARD_WINDOW_STATUS_OFFSET)) == 0
    assert b.core.log == [("w", 16, 0x11223344, 6)], "the card page is read after window writes"
    assert await b.read(2, 16) == values.get(16, 0) & 0xFF0000FF | 0x00223300
    # A longer read is as many accesses; a longer write is dropped and counted.
    b.core.log.clear()
    assert await b.read(2, 4, 7) == sum(b.core.registers.get(4 + 4 * i, 0) << 32 * i for i in range(7))
    assert b.core.log == [("r", 4 + 4 * i) for i in range(7)]
    b.write(2, 4, [1, 2])
    b.write(2, 0, [1, 2, 3])
    assert await b.read(0, b.card(TP.TP_CARD_WINDOW_OVERRUNS_OFFSET)) == 2 and len(b.core.log) == 7
    # Errors.
    b.core.resp = lambda: 2
    assert await b.read(2, 4) == ONES
    b.core.resp = lambda: 0
    status = await b.read(0, b.card(TP.TP_CARD_WINDOW_STATUS_OFFSET))
    assert status == TP.TP_CARD_WINDOW_STATUS_ERROR_MASK
    b.core.resp = lambda: 3
    b.write32(8, 5, bar=2)
    await b.step(30)
    b.core.resp = lambda: 0
    b.write32(b.card(TP.TP_CARD_WINDOW_STATUS_OFFSET), status)
    assert await b.read(0, b.card(TP.TP_CARD_WINDOW_STATUS_OFFSET)) == 0
    assert await b.read(0, b.card(TP.TP_CARD_WINDOW_TIMEOUTS_OFFSET)) == 0


@cocotb.test()
async def status_after_writes(dut):
    """A read of window_status that already waits when a window write is given up or answered with an error tells of it."""
    b = Bench(dut, "status_after_writes")
    await b.start()
    status_at = b.card(TP.TP_CARD_WINDOW_STATUS_OFFSET)
    limit = 40
    b.write32(b.card(TP.TP_CARD_WINDOW_TIMEOUT_OFFSET), limit)
    for turn in range(60):
        late = turn % 2
        b.core.delay = lambda late=late: 2 * limit if late else b.rng.randrange(limit // 2)
        # Of a word of two accesses only the last one may fail, too.
        count = b.rng.randint(1, 2)
        responses = [0] * (count - 1) + [b.rng.choice((2, 3))]
        b.core.resp = lambda responses=responses: responses.pop(0)
        b.write(2, 8, [turn] * count)
        await b.until(lambda: not b.beats)
        answered = len(b.answers)
        b.read_later(0, status_at)
        await b.until(lambda answered=answered: len(b.answers) > answered and b.answers[-1][2])
        expected = TP.TP_CARD_WINDOW_STATUS_TIMEOUT_MASK if late else TP.TP_CARD_WINDOW_STATUS_ERROR_MASK
        assert b.answers[-1][1][0] == expected, f"write {turn} of {count} dwords, {'given up' if late else 'refused'}"
        await b.until(lambda: not b.core.pending)
        b.write32(status_at, expected)
        await b.step(5)


@cocotb.test()
async def window_timeout(dut):
    """A core that answers late or never: all ones, counted, nothing else stands still, and no late answer is taken for another's."""
    b = Bench(dut, "window_timeout")
    await b.start()
    b.write32(b.card(TP.TP_CARD_WINDOW_TIMEOUT_OFFSET), 50)
    b.core.registers = {4 * i: 0x1000 + i for i in range(64)}
    failures = 0
    for _ in range(30):
        # Late: the answer comes after the time is up.
        b.core.delay = lambda: 150
        started = b.cycle
        assert await b.read(2, 8) == ONES
        assert 50 <= b.cycle - started < 100
        started = b.cycle
        assert await b.read(2, 12) == ONES
        assert b.cycle - started < 30, "until the answer has come, accesses fail at once"
        failures += 2
        if b.rng.random() < 0.5:
            b.write32(0x10, 0xBAD, bar=2)
            failures += 1
        b.core.delay = lambda: b.rng.randrange(3)
        await b.step(200)
        index = b.rng.randrange(64)
        assert await b.read(2, 4 * index) == 0x1000 + index, "a late answer was taken for this one's"
        assert await b.read(0, b.card(TP.TP_CARD_WINDOW_STATUS_OFFSET)) == TP.TP_CARD_WINDOW_STATUS_TIMEOUT_MASK
        assert await b.read(0, b.card(TP.TP_CARD_WINDOW_TIMEOUTS_OFFSET)) == failures
        b.write32(b.card(TP.TP_CARD_WINDOW_STATUS_OFFSET), ONES)
    assert 0xBAD not in b.core.registers.values()
    # Never, and not even accepted: the queue fills, the rest is dropped and counted, and other pages are still there.
    b.core.accept = lambda: False
    b.write32(b.card(TP.TP_CARD_WINDOW_TIMEOUT_OFFSET), 2000)
    queue = int(dut.WINDOW_QUEUE.value)
    for i in range(queue + 5):
        b.write32(8 * i, i, bar=2)
    assert await b.read(0, 0, 2) == TP.TP_DISCOVERY_MAGIC_VALUE
    b.bells.clear()
    b.write64(b.of(0, 1, 0), 5)
    b.write64(b.of(0, 1, 8), 6)
    await b.step(20)
    assert len(b.bells) == 1
    await b.step(2100)
    assert await b.read(0, b.card(TP.TP_CARD_WINDOW_OVERRUNS_OFFSET)) == 5
    assert await b.read(0, b.card(TP.TP_CARD_WINDOW_TIMEOUTS_OFFSET)) == failures + queue
    # The card's reset frees the port.
    b.core.accept = lambda: True
    b.write32(b.card(TP.TP_CARD_CONTROL_OFFSET), 1)
    await b.step(5)
    b.core.reset()
    assert await b.read(2, 4) == ONES, "no access while the user core is in reset"
    while await b.read(0, b.card(TP.TP_CARD_CONTROL_OFFSET)):
        pass
    b.core.log.clear()
    assert await b.read(2, 8) == 0x1002
    assert b.core.log == [("r", 8)]


@cocotb.test()
async def resets(dut):
    """control.reset and the function's reset: what each clears, and when each is said to be done."""
    b = Bench(dut, "resets")
    await b.start()
    table = Vectors(b)
    table.fill()
    table.mask(2, False)
    b.write32(b.card(TP.TP_CARD_USER_IRQ_VECTOR_OFFSET + 12), 2)
    b.write32(b.card(TP.TP_CARD_USER_IRQ_ENABLE_OFFSET), 0xFFFF)
    b.write32(b.card(TP.TP_CARD_WINDOW_TIMEOUT_OFFSET), 77)
    b.irqs[3] = 2
    b.fires.append(5)
    b.write64(b.of(0, 1, 0), 1)  # half a descriptor, which a reset forgets
    await b.until(lambda: not b.irqs[3])
    await b.step(20)

    b.user_busy = 1
    b.write32(b.card(TP.TP_CARD_CONTROL_OFFSET), 1)
    assert await b.read(0, b.card(TP.TP_CARD_CONTROL_OFFSET)) == 1
    await b.step(60)
    assert not dut.card_reset.value
    assert await b.read(0, b.card(TP.TP_CARD_CONTROL_OFFSET)) == 1, "the user core is still in reset"
    b.irqs[3] = 1
    await b.step(60)
    assert b.irqs[3] == 1, "a user core in reset has no events"
    b.user_busy = 0
    await b.step(60)
    assert await b.read(0, b.card(TP.TP_CARD_CONTROL_OFFSET)) == 0
    assert b.done == 0
    assert await b.read(0, b.card(TP.TP_CARD_USER_IRQ_ENABLE_OFFSET)) == 0xFFFF
    assert await b.read(0, b.card(TP.TP_CARD_USER_IRQ_COUNT_OFFSET + 12)) == 3
    assert await b.read(0, b.card(TP.TP_CARD_WINDOW_TIMEOUT_OFFSET)) == 77
    assert await table.pending() == 1 << 5
    b.bells.clear()
    b.write64(b.of(0, 1, 8), 7 << 32)
    await b.step(20)
    assert b.bells == [("torn", 0, 7)]

    # Half a descriptor from before the channel was disabled, as by its reset, or from while it was, is forgotten, too.
    for when in ("before", "while"):
        b.bells.clear()
        if when == "while":
            b.set("enabled", 0)
            await b.step(4)
        b.write64(b.of(0, 1, 0), 1)
        await b.step(20)
        b.set("enabled", 0)
        await b.step(4)
        b.set("enabled", (1 << b.channels) - 1)
        await b.step(4)
        b.write64(b.of(0, 1, 8), 7 << 32)
        b.write64(b.of(0, 1, 0), 1)
        b.write64(b.of(0, 1, 8), 9 << 32)
        await b.step(20)
        assert b.bells == [("torn", 0, 7), ("push", 0, 9 << 96 | 1)], (when, b.bells)

    b.reset_after = 300
    b.user_busy = 1  # as when the user's clock stands still: the function's reset must not wait for it
    b.config["function_reset"] = 1
    await b.step(250)
    assert dut.card_reset.value and b.done == 0
    await b.step(100 + b.channels)
    assert not dut.card_reset.value and b.done == 1
    await b.step(100)
    assert b.done == 1 and not dut.card_reset.value, "one request, one reset"
    b.config["function_reset"] = 0
    b.user_busy = 0
    await b.step(5)
    assert await b.read(0, b.card(TP.TP_CARD_USER_IRQ_ENABLE_OFFSET)) == 0
    for k in range(16):
        assert await b.read(0, b.card(TP.TP_CARD_USER_IRQ_VECTOR_OFFSET + 4 * k)) == 0
        assert await b.read(0, b.card(TP.TP_CARD_USER_IRQ_COUNT_OFFSET + 4 * k)) == 0
    assert await b.read(0, b.card(TP.TP_CARD_WINDOW_TIMEOUT_OFFSET)) == TP.TP_CARD_WINDOW_TIMEOUT_RESET
    assert await table.pending() == 0
    for v in range(b.vectors):
        assert await b.read(0, table.at(v, TP.TP_MSIX_VECTOR_CONTROL_OFFSET)) == 1
    b.reset_after = 3
    b.config["function_reset"] = 1
    await b.until(lambda: b.done == 2)


LINK_COUNTERS = ("UNSUPPORTED_REQUESTS", "COMPLETER_ABORTS", "POISONED", "TIMEOUTS", "BAD_COMPLETIONS", "LATE_COMPLETIONS")
LINK_LOSSES = dict(bus_master="BUS_MASTERING_LOSSES", active="BUS_MASTERING_LOSSES", link_up="LINK_DOWNS")


@cocotb.test()
async def counters(dut):
    """What goes wrong on the link, in any rhythm, a read at any time: none is lost and none counted twice."""
    b = Bench(dut, "counters")
    await b.start()
    places = {getattr(TP, f"TP_CARD_{name}_OFFSET"): 0 for name in (*LINK_COUNTERS, "UNEXPECTED_COMPLETIONS", *LINK_LOSSES.values())}
    told = list(places)[: len(LINK_COUNTERS)]
    for place in places:  # no reset clears them
        places[place] = await b.read(0, b.card(place))
    for rate in (1.0, 0.5, 0.05):
        for _ in range(150):
            now = int(b.rng.random() < rate)
            place = b.rng.choice(told)
            b.set("event_valid", now)
            b.set("event_code", place // 4 % 16)
            places[place] += now
            if b.rng.random() < 0.05 and b.credits:
                b.read_later(0, b.card(4 * b.rng.randrange(64)), 2)
            if rate < 1 and b.rng.random() < 0.02:
                what = b.rng.choice([name for name in LINK_LOSSES if name != "link_up" or b.config["link_up"]])
                others = [name for name in ("bus_master", "active") if name != what]
                if b.config[what] and (what == "link_up" or all(b.config[name] for name in others)):
                    places[getattr(TP, f"TP_CARD_{LINK_LOSSES[what]}_OFFSET")] += 1
                b.config[what] ^= 1
            await b.step()
        b.set("event_valid", 0)
        b.config |= dict.fromkeys(LINK_LOSSES, 1)
        await b.step(60)
        for place, count in places.items():
            assert await b.read(0, b.card(place)) == count, hex(place)
    b.set("quarantined", 7)
    await b.step(2)
    assert await b.read(0, b.card(TP.TP_CARD_QUARANTINED_OFFSET)) == 7
    assert await b.read(0, b.card(TP.TP_CARD_QUARANTINE_OFFSET)) == TP.TP_CARD_QUARANTINE_RESET
    assert await b.read(0, b.card(TP.TP_CARD_INBOUND_OVERRUNS_OFFSET), 3) == 0
    assert await b.read(0, b.card(TP.TP_CARD_STATUS_OFFSET)) == 0
