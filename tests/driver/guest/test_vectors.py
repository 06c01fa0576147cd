# SPDX-License-Identifier: Apache-2.0
"""A card of five channels and sixteen user interrupts that gets one vector, or two: everybody's news arrive all the same."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import select
from collections.abc import Iterator
from pathlib import Path

import pytest
from asking import CARD_INFO, CARD_RESET, INTERRUPT, WAIT, Aside, CardInfo, Interrupt, ask, noise, opened, write_register
from inside import Card, Module, cards_come_and_go, until
from queueing import END, INTERRUPT_EVENT, MODERATION, SECOND, InterruptEvent, Memory, Moderation, Queue, queue, transfer
from test_library import random_transfers

pytestmark = cards_come_and_go
RAISE = 0x0C
INTERRUPTS = 16
WAYS = {"a": os.O_WRONLY, "b": os.O_WRONLY, "c": os.O_WRONLY, "x": os.O_RDONLY, "y": os.O_RDONLY}
LOOPS = (("a", "x"), ("b", "y"))  # what goes in, and where it comes out; c swallows
# Held back for 2.6 ms of the card's time.
HELD = Moderation(entries=1000, time=10_000)


@pytest.fixture(scope="module", params=[1, 2])
def vectors(request: pytest.FixtureRequest, cards: list[Card], driver: Module) -> Iterator[int]:
    """As many, for as long as tests ask for them."""
    card = cards[1]

    def again(*settings: str) -> None:
        until(lambda: "control" in card.files, "the card's files are there")
        card.kill()
        card.start(*settings)
        until(lambda: "control" in card.files, "the card's files are there again")

    again(f"vectors={request.param}")
    yield request.param
    again()


@pytest.fixture
def card(vectors: int, cards: list[Card]) -> Iterator[Card]:
    """It has told nothing that cannot be."""
    card = cards[1]
    yield card
    for index in range(len(WAYS)):
        for name in ("wrong_cookies", "wrong_lengths", "wrong_statuses", "unexpected"):
            assert card.channel(index, f"statistics/{name}") == "0", name


@pytest.fixture
def control(card: Card) -> Iterator[int]:
    with opened(card.files["control"], os.O_RDWR) as file:
        yield file
        fcntl.ioctl(file, CARD_RESET)


class Watched:
    """A channel as a queue, with an eventfd: nothing but an interrupt tells of what is in flight."""

    def __init__(self, stack: contextlib.ExitStack, card: Card, control: int, name: str) -> None:
        self.event = os.eventfd(0, os.EFD_NONBLOCK)
        stack.callback(os.close, self.event)
        self.queue: Queue = stack.enter_context(queue(card.files[name], WAYS[name], control, self.event))
        sends = WAYS[name] == os.O_WRONLY
        # With room for a byte more than a message has: it ends in its buffer.
        self.memory, self.flags = (Memory(100), END) if sends else (Memory(101), 0)

    def submit(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self.event)
        self.queue.submit(transfer(self.memory, self.flags))

    def hears(self) -> None:
        arrives(self.event)
        self.queue.collect(1)


def arrives(event: int) -> None:
    assert select.select([event], [], [], 20)[0], "no interrupt has told of it"
    os.eventfd_read(event)


@pytest.fixture
def watched(card: Card, control: int) -> Iterator[dict[str, Watched]]:
    with contextlib.ExitStack() as stack:
        yield {name: Watched(stack, card, control, name) for name in WAYS}


def test_the_system_gave_so_many(card: Card, control: int, vectors: int) -> None:
    info = CardInfo()
    ask(control, CARD_INFO, info)
    assert vectors == info.vectors_used < info.vectors
    assert vectors == card.counter(f"towpath/{card.name}!control/vectors")
    assert len(re.findall(rf"\b{card.name}-\d+$", Path("/proc/interrupts").read_text(), re.M)) == vectors


def test_every_channel_has_its_news(watched: dict[str, Watched], control: int) -> None:
    for _ in range(3):
        for into, out in LOOPS:
            watched[out].submit()
            watched[into].submit()
            watched[into].hears()
            watched[out].hears()
        watched["c"].submit()
        watched["c"].hears()
        # All at once, too.
        for channel in reversed(watched.values()):
            channel.submit()
        for channel in watched.values():
            channel.hears()
        fcntl.ioctl(control, CARD_RESET)


def test_user_interrupts(control: int, watched: dict[str, Watched]) -> None:
    """On an eventfd each, and by a call that waits; beside a channel that is in use."""
    events = [os.eventfd(0, os.EFD_NONBLOCK) for _ in range(INTERRUPTS)]
    for index, event in enumerate(events):
        ask(control, INTERRUPT_EVENT, InterruptEvent(index=index, eventfd=event))
    for index, event in enumerate(events):
        seen = Interrupt(index=index)
        ask(control, INTERRUPT, seen)
        waiting = Aside(ask, control, INTERRUPT, waited := Interrupt(flags=WAIT, index=index, seen=seen.count, timeout_ns=20 * SECOND))
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(event)
        write_register(control, RAISE, 1 << index)
        arrives(event)
        waiting.finish()
        assert waited.count == (seen.count + 1) % 2**32
        watched["c"].submit()
        watched["c"].hears()
    for event in events:
        os.close(event)


def test_held_news_hold_up_nobody(watched: dict[str, Watched]) -> None:
    """Interrupts of one channel are moderated: those of another come at once, as often as they may, and its own come, too."""
    quick, slow = watched["c"], watched["b"]
    for channel in (slow, watched["y"]):
        ask(channel.queue.file, MODERATION, HELD)
    for _ in range(20):
        watched["y"].submit()
        slow.submit()
        for _ in range(5):
            quick.submit()
            quick.hears()
        slow.hears()
        watched["y"].hears()


def test_blocking_calls_and_poll(card: Card) -> None:
    data = noise(100_000, 1)
    with contextlib.ExitStack() as stack:
        files = {name: stack.enter_context(opened(card.files[name], way | os.O_DIRECT)) for name, way in WAYS.items()}
        for _ in range(5):
            reads = [Aside(os.read, files[out], len(data) + 1) for _, out in LOOPS]
            swallowed = Aside(os.write, files["c"], data)
            for (into, _), read in zip(LOOPS, reads, strict=True):
                assert os.write(files[into], data[:1000]) == 1000
                assert read.finish() == data[:1000]
            assert swallowed.finish() == len(data)
            poll = select.poll()
            for into, out in LOOPS:
                poll.register(files[out], select.POLLIN)
                os.write(files[into], data[:10])
                assert poll.poll(20_000) == [(files[out], select.POLLIN)]
                assert os.read(files[out], 100) == data[:10]


def test_random_transfers_over_all_channels(card: Card) -> None:
    random_transfers(card, 100, seed=3)
