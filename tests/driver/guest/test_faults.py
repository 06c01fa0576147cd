# SPDX-License-Identifier: Apache-2.0
"""Faults on the card's link: each ends one transfer with its own errno, is told of once, and the next message is as good as any."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import select
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from asking import CARD_RESET, CHANNEL_RESET, INTERRUPT, Aside, Interrupt, ask, noise, opened
from inside import Card, Module, until
from queueing import LINK_COUNTERS, LinkCounters, Memory, error_of, queue, transfer

# What the card's next read meets, what the program is told, and what the card counts.
FAULTS = {
    "ur": (errno.EIO, "unsupported_requests"),
    "ca": (errno.EIO, "completer_aborts"),
    "poison": (errno.EBADMSG, "poisoned"),
    "drop": (errno.ETIMEDOUT, "timeouts"),
    "count": (errno.EIO, "bad_completions"),
}


@pytest.fixture(autouse=True)
def loaded(driver: Module, card: Card) -> None:
    until(lambda: "out" in card.files, "the card's files are there")


def comes_through(to: int, back: int, text: bytes) -> None:
    """What is left of messages that a fault cut short comes before it."""
    os.write(to, text)
    end = time.monotonic() + 20
    while os.read(back, 1 << 20) != text:
        assert time.monotonic() < end, "the message does not come"


@pytest.mark.parametrize("size", [1000, 100_000], ids=["copied", "in place"])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_ends_one_transfer(card: Card, fault: str, size: int) -> None:
    wanted, counter = FAULTS[fault]
    path = f"towpath/{card.name}!control/link/{counter}"
    before = card.counter(path)
    with opened(card.files["in"], os.O_WRONLY | os.O_DIRECT) as to, opened(card.files["out"], os.O_RDONLY) as back:
        card.fault(fault)
        with pytest.raises(OSError) as caught:
            count = os.write(to, noise(size, 1))
            assert size == 1000 or count < size, "what has not landed is not reported"
            os.fsync(to)
        assert caught.value.errno == wanted, caught.value
        os.fsync(to)  # told once
        comes_through(to, back, b"still well")
    assert card.counter(path) > before
    for index in range(2):
        for name in ("wrong_cookies", "wrong_lengths", "wrong_statuses", "unexpected"):
            assert card.channel(index, f"statistics/{name}") == "0"


@pytest.mark.parametrize("fault", ["link", "mastering"])
def test_a_link_that_fails_for_a_moment(card: Card, fault: str) -> None:
    """Whoever reads or writes is told, if it hits what is in flight; after a reset of the channels all is well."""
    with opened(card.files["in"], os.O_WRONLY | os.O_DIRECT) as to, opened(card.files["out"], os.O_RDONLY) as back:
        reading = Aside(os.read, back, 100_000)
        time.sleep(0.1)
        card.fault(fault)
        with pytest.raises(OSError) as caught:
            reading.finish()
        assert caught.value.errno in (errno.ENOLINK, errno.EACCES, errno.ECONNRESET)
        for file in (to, back):
            fcntl.ioctl(file, CHANNEL_RESET)
        comes_through(to, back, b"still well")


def told_soon(call: Callable[[], object]) -> object:
    """What a call gives that may tell of what came before it, in so many ways."""
    for _ in range(3):
        try:
            return call()
        except OSError as error:
            assert errno.errorcode[error.errno or 0] in ("ENOLINK", "ECONNRESET", "ECANCELED")
    return call()


def test_a_link_that_was_down_for_long(card: Card) -> None:
    """Meanwhile the card reads as all ones, which nobody is told as a number; afterwards the files that are open serve, and queues."""
    counter = Path(f"/sys/class/towpath/{card.name}!control/link/link_downs")
    with (
        opened(card.files["in"], os.O_WRONLY | os.O_DIRECT) as to,
        queue(card.files["out"], os.O_RDONLY) as back,
        opened(card.files["control"], os.O_RDWR) as control,
    ):
        card.fault("down")
        try:
            assert error_of(ask, control, LINK_COUNTERS, LinkCounters()) == "ENOLINK"
            assert error_of(ask, control, INTERRUPT, Interrupt()) == "ENOLINK"
            assert error_of(counter.read_text) == "ENOLINK"
            for call in (lambda: os.write(to, noise(100_000, 1)), lambda: os.fsync(to)):
                with pytest.raises(OSError):
                    Aside(call).finish()
            for file in (to, back.file) * 2:
                assert error_of(fcntl.ioctl, file, CHANNEL_RESET) == "ENOLINK"
            assert error_of(fcntl.ioctl, control, CARD_RESET) == "ENOLINK"
            assert error_of(back.exchange, timeout_ns=0) == "ENOLINK"
        finally:
            card.fault("up")
        until(lambda: error_of(counter.read_text) == "none", "the link is up")
        told_soon(lambda: back.exchange(timeout_ns=0))
        # What was given up ends on the card only now, which is no fault of its.
        assert [card.channel(index, "statistics/unexpected") for index in range(2)] == ["0", "0"]
        assert told_soon(lambda: os.write(to, b"on the same file")) == 16
        found = told_soon(lambda: back.run(transfer(Memory(100))))
        assert found.bytes == 16  # type: ignore[attr-defined]


@pytest.mark.parametrize("how", ["a poll", "a wait for a message"])
def test_who_waits_on_a_channel_that_could_not_be_reset(card: Card, how: str) -> None:
    """A wait without a limit ends by that, or goes on when the link is up again: nobody else uses the channel meanwhile."""
    with contextlib.ExitStack() as stack:
        to = stack.enter_context(opened(card.files["in"], os.O_WRONLY | os.O_DIRECT))
        if how == "a poll":
            back = stack.enter_context(opened(card.files["out"], os.O_RDONLY | os.O_NONBLOCK))
            poll = select.poll()
            poll.register(back, select.POLLIN)

            def wait() -> object:
                while True:
                    poll.poll()
                    with contextlib.suppress(OSError):
                        return os.read(back, 100)

        else:
            receiver = stack.enter_context(queue(card.files["out"], os.O_RDONLY, announce=True))
            back = receiver.file

            def wait() -> object:
                while error_of(receiver.message_start, -1) != "none":
                    pass
                return receiver.run(transfer(memory := Memory(100))) and memory.content(10)

        waiting = Aside(wait)
        time.sleep(0.1)
        card.fault("down")
        try:
            assert error_of(fcntl.ioctl, back, CHANNEL_RESET) == "ENOLINK"
        finally:
            card.fault("up")
        # What comes before it waits again, its reset takes away.
        while waiting.is_alive():
            with contextlib.suppress(OSError):
                os.write(to, b"still well")
            waiting.join(0.2)
        assert waiting.finish() == b"still well"


@pytest.mark.parametrize("who", ["polls a file", "polls a queue", "polls an eventfd"])
def test_who_only_waits_is_woken_without_an_interrupt(card: Card, who: str) -> None:
    """By the driver's own look, for nobody makes a call that would find what has ended. Then interrupts serve again."""
    with contextlib.ExitStack() as stack:
        to = stack.enter_context(opened(card.files["in"], os.O_WRONLY | os.O_DIRECT))
        poll = select.poll()
        if who == "polls a file":
            back = stack.enter_context(opened(card.files["out"], os.O_RDONLY | os.O_NONBLOCK))
            poll.register(back, select.POLLIN)

            def take() -> bytes:
                return os.read(back, 100)

        else:
            news = os.eventfd(0, os.EFD_NONBLOCK)
            stack.callback(os.close, news)
            receiver = stack.enter_context(queue(card.files["out"], os.O_RDONLY, eventfd=news))
            memory = Memory(100)
            receiver.submit(transfer(memory))
            with contextlib.suppress(BlockingIOError):
                os.eventfd_read(news)
            poll.register(news if who == "polls an eventfd" else receiver.file, select.POLLIN)

            def take() -> bytes:
                found = receiver.collect(1)[0].bytes
                receiver.submit(transfer(memory))
                content = memory.content(found)
                with contextlib.suppress(BlockingIOError):
                    os.eventfd_read(news)
                return content

        def woken_by(text: bytes) -> None:
            """The poll looks only when it begins."""
            waiting = Aside(poll.poll, 20_000)
            time.sleep(0.1)
            os.write(to, text)
            assert waiting.finish(), "nobody is woken"
            assert take() == text

        taken = int(card.channel(1, "statistics/interrupts_taken"))
        card.fault("mute")
        try:
            for text in (b"unheard", b"and again"):
                woken_by(text)
            assert int(card.channel(1, "statistics/interrupts_taken")) == taken
        finally:
            card.fault("loud")
        woken_by(b"heard")
        assert int(card.channel(1, "statistics/interrupts_taken")) > taken, "it is armed no more"


def test_a_link_that_is_down_for_long(card: Card) -> None:
    """The card reads as all ones meanwhile. Nothing hangs, and who opens the files afterwards finds it well."""
    to, back = os.open(card.files["in"], os.O_WRONLY | os.O_DIRECT), os.open(card.files["out"], os.O_RDONLY)
    card.fault("down")
    try:
        for call in (lambda: os.write(to, noise(100_000, 1)), lambda: os.fsync(to)):
            with pytest.raises(OSError):
                Aside(call).finish()
    finally:
        card.fault("up")
    for file in (to, back):
        try:
            os.close(file)
        except OSError as error:
            assert error.errno in (errno.ENOLINK, errno.ECONNRESET, errno.EIO)
    with opened(card.files["in"], os.O_WRONLY | os.O_DIRECT) as to, opened(card.files["out"], os.O_RDONLY) as back:
        for file in (to, back):
            fcntl.ioctl(file, CHANNEL_RESET)
        comes_through(to, back, b"still well")
