# SPDX-License-Identifier: Apache-2.0
"""Threads beside each other on one card, which take it away from each other: each is told by errno, none waits for ever, and the card is
well afterwards. On a guest with several processors they run at the same time; on another they take turns."""

from __future__ import annotations

import errno
import fcntl
import os
import random
import select
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from asking import CARD_INFO, CARD_RESET, CHANNEL_RESET, Aside, CardInfo, ask, noise, opened
from inside import IN_QEMU, Card, Module, until
from queueing import FOR_EVER, Memory, Queue, queue, transfer

# Where there is one processor, and no preemption, less is found, and less soon.
SECONDS = 4 if IN_QEMU else 1
# For one who never gets on.
PATIENCE = 60
# What one may hear whose card or channel is used, reset or taken away by another; and ENOENT, for files that are not there for a while.
TOLD = (errno.EBUSY, errno.ECONNRESET, errno.ENODEV, errno.ENOENT, errno.ENXIO, errno.EAGAIN, errno.ECANCELED)


@pytest.fixture(autouse=True)
def well_afterwards(driver: Module, card: Card) -> Iterator[None]:
    until(lambda: "out" in card.files, "the card's files are there")
    yield
    until(lambda: "out" in card.files, "the card's files are there")
    with opened(file_now(card, "in"), os.O_WRONLY | os.O_DIRECT) as to, opened(file_now(card, "out"), os.O_RDONLY) as back:
        for file in (to, back):
            fcntl.ioctl(file, CHANNEL_RESET)
        for size in (10, 100_000):
            writing = Aside(os.write, to, noise(size, size))
            assert os.read(back, 200_000) == noise(size, size)
            writing.finish()
    for index in range(2):
        for name in ("wrong_cookies", "wrong_lengths", "wrong_statuses", "unexpected"):
            assert card.channel(index, f"statistics/{name}") == "0", name


@contextmanager
def held(path: Path, flags: int) -> Iterator[int]:
    """Open, and in the end left behind with what is on its way; what the last close() has to tell is no fault."""
    file = os.open(path, flags | os.O_NONBLOCK)
    try:
        yield file
    finally:
        with suppress(OSError):
            fcntl.ioctl(file, CHANNEL_RESET)
        with suppress(OSError):
            os.close(file)


def beside_each_other(*works: Callable[[], object], patience: int = PATIENCE) -> list[int]:
    """Each again and again, for a while and until each has got on; what they are told is no fault. How often each has succeeded."""
    end = time.monotonic() + SECONDS
    done = [0] * len(works)

    def again(number: int) -> None:
        while time.monotonic() < end or (not all(done) and time.monotonic() < end + patience):
            try:
                works[number]()
                done[number] += 1
            except OSError as error:
                if error.errno not in TOLD:
                    raise

    for thread in [Aside(again, number) for number in range(len(works))]:
        thread.finish(SECONDS + 2 * PATIENCE)
    return done


def sends(file: int, seed: int) -> Callable[[], object]:
    random_ = random.Random(seed)
    return lambda: os.write(file, noise(random_.choice([1, 500, 5000, 100_000]), seed))


def takes(file: int) -> Callable[[], object]:
    poll = select.poll()
    poll.register(file, select.POLLIN)
    return lambda: poll.poll(100) and os.read(file, 300_000)


@pytest.mark.parametrize("what", ["a channel's", "the card's", "the function's"])
def test_resets_beside_traffic(card: Card, what: str) -> None:
    with (
        held(card.files["in"], os.O_WRONLY | os.O_DIRECT) as to,
        held(card.files["out"], os.O_RDONLY) as back,
        opened(card.files["control"], os.O_RDWR) as control,
    ):
        resets = {
            "a channel's": lambda: [fcntl.ioctl(file, CHANNEL_RESET) for file in (to, back)],
            "the card's": lambda: fcntl.ioctl(control, CARD_RESET),
            "the function's": lambda: (card.pci / "reset").write_text("1"),
        }

        def now_and_then() -> None:
            time.sleep(0.05)
            resets[what]()

        assert all(beside_each_other(sends(to, 1), takes(back), now_and_then, lambda: ask(control, CARD_INFO, CardInfo())))


@pytest.mark.parametrize("other", ["the card's", "the function's"])
def test_two_resets_at_once(card: Card, other: str) -> None:
    """And nobody else's that would help: none waits for ever, be there one who waits for what never comes."""
    ended = False

    def wait(back: Queue) -> None:
        while not ended:
            try:
                back.exchange([transfer(Memory(10))], wanted=1, timeout_ns=FOR_EVER)
            except OSError as error:
                if error.errno not in TOLD:
                    raise

    def open_and_close() -> None:
        os.close(os.open(card.files["in"], os.O_WRONLY))

    with opened(card.files["control"], os.O_RDWR) as control, queue(card.files["out"], os.O_RDONLY) as back:

        def reset(what: str) -> None:
            with suppress(ConnectionResetError):
                if what == "the card's":
                    fcntl.ioctl(control, CARD_RESET)
                else:
                    (card.pci / "reset").write_text("1")

        def both() -> None:
            beside = Aside(reset, other)
            reset("the card's")
            beside.finish(PATIENCE)

        waiting = Aside(wait, back)
        try:
            done = beside_each_other(both, open_and_close)
        finally:
            ended = True
            until(lambda: not waiting.is_alive() or bool(Aside(reset, "the card's").finish(PATIENCE)), "the one who waits has ended")
        waiting.finish()
        assert all(done), done


def test_channels_opened_and_closed_by_many(card: Card) -> None:
    def come_and_go(name: str, flags: int) -> None:
        with held(card.files[name], flags) as file:
            if flags == os.O_RDONLY:
                takes(file)()
            else:
                sends(file, 2)()

    pairs = [("in", os.O_WRONLY), ("in", os.O_WRONLY), ("out", os.O_RDONLY), ("out", os.O_RDONLY)]
    done = beside_each_other(*(lambda pair=pair: come_and_go(*pair) for pair in pairs), patience=0)  # type: ignore[misc]
    # Of two who want the same channel, one may always come too late.
    assert done[0] + done[1] and done[2] + done[3]


def test_a_card_unbound_and_bound_beside_traffic(card: Card) -> None:
    def round_trip() -> None:
        with held(file_now(card, "in"), os.O_WRONLY) as to, held(file_now(card, "out"), os.O_RDONLY) as back:
            sends(to, 3)()
            takes(back)()

    def unbind_and_bind() -> None:
        card.unbind()
        card.bind()
        time.sleep(0.1)

    def ask_it() -> None:
        with opened(file_now(card, "control"), os.O_RDONLY) as control:
            ask(control, CARD_INFO, CardInfo())

    assert all(beside_each_other(round_trip, unbind_and_bind, ask_it))


def file_now(card: Card, name: str) -> Path:
    """One of the card's files, which has another name each time that it is bound while it is in use."""
    for control in card.pci.glob("towpath/towpath*!control"):
        return Path("/dev", control.name.removesuffix("!control"), name)
    raise FileNotFoundError(errno.ENOENT, "the card is not bound")


def test_both_cards_at_once_bring_every_byte(cards: list[Card]) -> None:
    """One processor's interrupts beside the other's."""

    def echo(card: Card, seed: int) -> None:
        with opened(card.files["0"], os.O_WRONLY | os.O_DIRECT) as to, opened(card.files[first_out(card)], os.O_RDONLY) as back:
            end = time.monotonic() + SECONDS
            while time.monotonic() < end:
                for size in (1, 5000, 70_000):
                    data = noise(size, seed)
                    writing = Aside(os.write, to, data)
                    assert os.read(back, 200_000) == data
                    writing.finish()

    for thread in [Aside(echo, card, seed) for seed, card in enumerate(cards[:2])]:
        thread.finish(SECONDS + 60)


def first_out(card: Card) -> str:
    """The first channel from card to host, by number."""
    return next(str(index) for index in range(8) if card.channel(index, "direction") == "c2h")
