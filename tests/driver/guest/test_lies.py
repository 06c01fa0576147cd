# SPDX-License-Identifier: Apache-2.0
"""A card that lies: entries in its completion rings that no card would write, a discovery table that cannot be, interrupts for nothing.

Of a ring's entries each is counted, none is told to a program as more than it had room for, nothing goes missing, and after a reset the
channel serves. A table is refused, or harmless.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import random
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from asking import CARD_INFO, CARD_RESET, CHANNEL_INFO, CHANNEL_RESET, Aside, CardInfo, ChannelInfo, ask, opened
from inside import Card, KernelLog, Module, contract, planted, until
from looping import Loop, there_and_back
from queueing import Memory, Queue, queue, transfer
from test_watching import statistic

COUNTERS = ("wrong_cookies", "wrong_lengths", "wrong_statuses", "unexpected")
DONE, END_OF_MESSAGE, RESET, LAST = (contract(f"STATUS_{name}") for name in ("DONE", "END_OF_MESSAGE", "RESET", "LINK_DOWN"))
PHASE, START = contract("COMPLETION_FLAGS_PHASE_MASK"), contract("COMPLETION_FLAGS_START_MASK")
ROUNDS = 12
# Of message starts that the driver keeps.
STARTS = 4


@dataclass
class Lie:
    """An entry, as it lies in the ring; seen when its phase says so."""

    bytes: int
    cookie: int
    status: int
    flags: int

    def words(self) -> list[int]:
        return [self.bytes, self.cookie << 32 | self.status << 48 | self.flags << 56]


@dataclass
class Model:
    """What the driver may make of it, by the contract."""

    h2c: bool
    announces: bool
    posted: list[tuple[int, int]] = field(default_factory=list)  # cookie and bytes, oldest first
    truly: list[int] = field(default_factory=list)  # cookies of all that the card itself still has
    ended: list[tuple[int, int]] = field(default_factory=list)  # status and bytes, not collected yet
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTERS, 0))
    starts: int = 0
    slots: dict[int, Lie] = field(default_factory=dict)
    consumer: int = 0

    def write(self, lies: list[Lie]) -> None:
        for number, lie in enumerate(lies):
            self.slots[self.consumer + number] = lie
        while self.consumer in self.slots and self.slots[self.consumer].flags & PHASE:
            self.hear(self.slots[self.consumer])
            self.consumer += 1

    def reset(self) -> None:
        """The card, which knows of no lies, ends all that it has, from the ring's beginning on."""
        for slot, cookie in enumerate(self.truly):
            self.slots[slot] = Lie(0, cookie, RESET, PHASE)
        self.write([])
        self.ended += [(RESET, 0)] * len(self.posted)

    def hear(self, lie: Lie) -> None:
        if lie.flags & START:
            if self.announces and self.starts < STARTS:
                self.starts += 1
            else:
                self.counts["unexpected"] += 1
            return
        if not self.posted:
            self.counts["unexpected"] += 1
            return
        cookie, wanted = self.posted[0]
        if lie.cookie != cookie:
            self.counts["wrong_cookies"] += 1
            return
        status, moved = lie.status, lie.bytes
        if moved > wanted or (status == DONE and moved != wanted):
            self.counts["wrong_lengths"] += 1
            status = moved = 0
        elif not DONE <= status <= LAST or (self.h2c and status == END_OF_MESSAGE):
            self.counts["wrong_statuses"] += 1
            status = moved = 0
        if status == END_OF_MESSAGE and self.announces:
            self.counts["unexpected"] += not self.starts
            self.starts = max(self.starts - 1, 0)
        self.posted.pop(0)
        self.ended.append((status, moved))


@pytest.fixture
def liar(driver: Module, card: Card) -> Iterator[Card]:
    """The card, whose counters are zero afterwards for other tests; its descriptors' cookies count from 0."""
    until(lambda: "out" in card.files, "the card's files are there")
    card.unbind()
    card.bind()
    yield card
    card.unbind()
    card.bind()


def tell(card: Card, channel: int, lies: list[Lie]) -> None:
    page = contract("PAGE_CHANNELS") + channel * contract("PAGES_PER_CHANNEL") + contract("PAGE_CHANNEL_PRIVILEGED")
    words = [word for lie in lies for word in lie.words()]
    with planted(f"fault=tell card={card.pci.name} at={page << 12} words={','.join(map(str, words))}"):
        pass


def a_lie(draw: random.Random, cookie: int, wanted: int) -> Lie:
    moved = draw.choice([wanted, wanted, wanted, 0, wanted - 1, wanted + 1, 1 << 31, 2**32 - 1, draw.randrange(1 << 32)])
    status = draw.choice([DONE, DONE, END_OF_MESSAGE, RESET, 0, LAST, LAST + 1, 255, draw.randrange(256)])
    told = draw.choice([cookie] * 4 + [cookie - 1, cookie + 1, draw.randrange(1 << 16)]) & 0xFFFF
    flags = draw.choice([PHASE] * 8 + [0, PHASE | START, draw.randrange(256) & ~START])
    return Lie(moved, told, status, flags)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("way", ["in", "out", "out, announced"])
def test_lies_about_transfers(liar: Card, way: str, seed: int) -> None:
    """Of each lie the driver makes what the contract says, however the next ones lie behind it."""
    draw = random.Random(f"{way} {seed}")
    # The card itself still has those that it is said to be done with.
    room = int(liar.channel(0, "queue_depth"))
    channel, model = int(way != "in"), Model(way == "in", way.endswith("announced"))
    with (
        opened(liar.files["control"], os.O_RDWR) as control,
        queue(liar.files["in"], os.O_WRONLY, control) as to,
        queue(liar.files["out"], os.O_RDONLY, control, announce=model.announces) as back,
    ):
        lied_of = to if model.h2c else back
        # Mapped for the card whatever it says; and more than a core takes that nobody reads from.
        memory = Memory(1 << 20).register(control)
        for _ in range(ROUNDS):
            for _ in range(min(draw.randrange(4), room)):
                room -= 1
                count = memory.bytes if model.h2c else draw.choice([1, 100, 4096, memory.bytes])
                cookie = statistic(liar, channel, "submitted") & 0xFFFF
                lied_of.submit(transfer([memory.piece(0, count)]))
                model.posted.append((cookie, count))
                model.truly.append(cookie)
            cookie, count = model.posted[0] if model.posted else (0, 1)
            # The newest of them are about the one behind it, and so on.
            lies = [a_lie(draw, cookie + draw.choice([0, number]), count) for number in range(draw.randrange(1, 4))]
            tell(liar, channel, lies)
            model.write(lies)
            check(liar, channel, lied_of, model)
        fcntl.ioctl(lied_of.file, CHANNEL_RESET)
        model.reset()
        check(liar, channel, lied_of, model)
        fcntl.ioctl(control, CARD_RESET)
        there_and_back(Loop(control, to, back))
        memory.unregister(control)


def check(card: Card, channel: int, lied_of: Queue, model: Model) -> None:
    found = lied_of.exchange(timeout_ns=0)[1]
    # How far a true one had come when it was reset is the core's to say.
    assert [(done.status, done.status != RESET and done.bytes) for done in found] == [
        (status, status != RESET and moved) for status, moved in model.ended
    ]
    model.ended.clear()
    assert {name: statistic(card, channel, name) for name in COUNTERS} == model.counts


@pytest.mark.parametrize("seed", range(3))
def test_lies_about_files(liar: Card, seed: int) -> None:
    """What is read and written beside lies is no more than there was, and what cannot be is told."""
    draw = random.Random(seed)
    told = "EAGAIN EPROTO EIO ECONNRESET ECANCELED ETIMEDOUT EBADMSG EACCES ENOLINK".split()
    with opened(liar.files["in"], os.O_WRONLY | os.O_NONBLOCK) as to, opened(liar.files["out"], os.O_RDONLY | os.O_NONBLOCK) as back:
        for _ in range(ROUNDS):
            for channel in range(2):
                size = draw.choice([1, 100, 4096, 100_000])
                with contextlib.suppress(OSError):
                    os.write(to, bytes(size))
                head = statistic(liar, channel, "completed")
                lies = [a_lie(draw, head + number, draw.choice([1, size])) for number in range(3)]
                # The ring may be in its second lap, where nothing can be told.
                with contextlib.suppress(OSError):
                    tell(liar, channel, lies)
                try:
                    assert len(os.read(back, size)) <= size
                except OSError as error:
                    assert errno.errorcode[error.errno or 0] in told
            for file in (to, back):
                fcntl.ioctl(file, CHANNEL_RESET)
        assert sum(statistic(liar, channel, name) for channel in range(2) for name in COUNTERS) > 0
    with opened(liar.files["control"], os.O_RDWR) as control:
        fcntl.ioctl(control, CARD_RESET)
        with queue(liar.files["in"], os.O_WRONLY) as way, queue(liar.files["out"], os.O_RDONLY) as other:
            there_and_back(Loop(control, way, other))


HEADER, ENTRY = contract("DISCOVERY_CORE_NAME_OFFSET") + contract("DISCOVERY_CORE_NAME_COUNT"), contract("CHANNEL_ENTRY_BYTES")
ENTRIES, FIRST_PAGE = contract("DISCOVERY_CHANNEL_ENTRY_OFFSET"), contract("CHANNEL_ENTRY_FIRST_PAGE_OFFSET")
# What a table may be refused with.
REFUSED = {errno.ENODEV, errno.EINVAL, errno.EPROTONOSUPPORT}


def a_lie_of_the_table(draw: random.Random, channels: int) -> list[tuple[int, int]]:
    """Bytes of one field, perhaps: each with its place."""
    # The first eight say that it is a card of ours.
    place = draw.randrange(8, HEADER) if draw.random() < 0.6 else ENTRIES + draw.randrange(channels * ENTRY)
    count = draw.choice([1, 2, 4])
    place -= place % count
    word = draw.choice([0, 1, 1 << 31, (1 << 31) - 1, (1 << 32) - 1, 1 << draw.randrange(32), draw.getrandbits(32)])
    if (place - ENTRIES) % ENTRY // 4 == FIRST_PAGE // 4:
        # On another's page the driver would do as the card bids it.
        place, count, word = place - place % 4, 4, draw.choice([0, 1, (1 << 32) - 1])
    return list(enumerate(word.to_bytes(4, "little")[:count], place))


def look_around(card: Card) -> None:
    """All that is told of a card."""
    for path in (card.pci / "towpath").rglob("*"):
        if path.is_file() and os.access(path, os.R_OK):
            with contextlib.suppress(OSError):
                path.read_bytes()
    with opened(card.files["control"], os.O_RDWR) as control:
        info = CardInfo()
        ask(control, CARD_INFO, info)
        for index in range(info.channels + 1):
            with contextlib.suppress(OSError):
                ask(control, CHANNEL_INFO, ChannelInfo(index=index))
        fcntl.ioctl(control, CARD_RESET)


@pytest.mark.parametrize("seed", range(4))
def test_lies_of_the_discovery_table(cards: list[Card], driver: Module, kernel_log: KernelLog, seed: int) -> None:
    """The card is refused, and the log says why; or it is bound, and nothing comes of it."""
    card, draw = cards[seed % 2], random.Random(seed)
    until(lambda: "control" in card.files, "the card's files are there")
    channels = len(list((card.pci / "towpath").glob(f"{card.name}!control/{card.name}![0-9]*")))
    assert channels in (2, 5)
    bound = 0
    card.unbind()
    try:
        for _ in range(ROUNDS):
            lies = [lie for _ in range(draw.randrange(1, 4)) for lie in a_lie_of_the_table(draw, channels)]
            for place, byte in lies:
                card.fault(f"say {place} {byte}")
            kernel_log.read()
            try:
                card.bind()
            except OSError as error:
                assert error.errno in REFUSED, (lies, error)
                assert card.pci.name in kernel_log.read(), lies
            else:
                bound += 1
                look_around(card)
                card.unbind()
            card.fault("honest")
    finally:
        card.fault("honest")
        if not (card.pci / "driver").exists():
            card.bind()
    assert 0 < bound < ROUNDS
    look_around(card)


def test_interrupts_for_nothing(liar: Card, kernel_log: KernelLog) -> None:
    """The log says so; what comes is found all the same."""
    with queue(liar.files["out"], os.O_RDONLY) as back, opened(liar.files["in"], os.O_WRONLY | os.O_DIRECT) as to:
        before = statistic(liar, 1, "submitted")
        waiting = Aside(back.run, transfer(memory := Memory(100)))
        until(lambda: statistic(liar, 1, "submitted") > before, "it is posted")
        with planted(f"fault=storm card={liar.pci.name} at=1"):
            pass
        assert "interrupts without completions" in kernel_log.read()
        os.write(to, b"still well")
        assert waiting.finish().bytes == 10  # type: ignore[attr-defined]
        os.write(to, b"and again")
        assert back.run(transfer(memory)).bytes == 9
        assert memory.content(9) == b"and again"
