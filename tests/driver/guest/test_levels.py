# SPDX-License-Identifier: Apache-2.0
"""Fill levels of queues: what the card holds, and waits for it; on the card whose core is loop3x2_qos, through its channels a and x."""

from __future__ import annotations

import fcntl
import os
import random
import select
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from asking import CARD_RESET, CHANNEL_INFO, CHANNEL_RESET, Aside, ChannelInfo, ask, opened
from inside import Card, Module, cards_come_and_go, until
from queueing import ANNOUNCE, END, FILL_LEVEL, FOR_EVER, QUEUE, SECOND, Level, MakeQueue, Memory, Queue, error_of, queue, transfer

WAIT, EVENT, NEVER = 1, 2, 4
BEAT = 16
# Long enough for what must not happen, in seconds.
WHILE = 0.05


@dataclass
class Line:
    """What goes in on `to` leaves on `back`, whose eventfd is `event`."""

    card: Card
    control: int
    to: Queue
    back: Queue
    event: int
    room: int

    def send(self, count: int, flags: int = 0) -> None:
        assert self.to.run(transfer(Memory(bytes(count)), flags)).bytes == count

    def take(self, count: int) -> None:
        """A message's rest may end in a transfer of its own."""
        while count:
            count -= self.back.run(transfer(Memory(count))).bytes

    def was_signalled(self, seconds: float = WHILE) -> bool:
        signalled = bool(select.select([self.event], [], [], seconds)[0])
        if signalled:
            os.read(self.event, 8)
        return signalled


@pytest.fixture
def line(driver: Module, cards: list[Card]) -> Iterator[Line]:
    card = cards[1]
    until(lambda: "control" in card.files, "the card's files are there")
    event = os.eventfd(0, os.EFD_NONBLOCK)
    with opened(card.files["control"], os.O_RDWR) as control:
        fcntl.ioctl(control, CARD_RESET)
        info = ChannelInfo(index=3)
        ask(control, CHANNEL_INFO, info)
        with queue(card.files["a"], os.O_WRONLY, control) as to, queue(card.files["x"], os.O_RDONLY | os.O_DIRECT, control, event) as back:
            yield Line(card, control, to, back, event, info.buffer_bytes)
    os.close(event)


def level(made: Queue, flags: int = 0, bytes: int = 0, timeout_ns: int = 20 * SECOND) -> Level:
    asked = Level(flags=flags, level=bytes, timeout_ns=timeout_ns)
    ask(made.file, FILL_LEVEL, asked)
    return asked


def held(made: Queue) -> int:
    return int(level(made).bytes)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_random_levels_are_told_when_they_are_reached_and_not_before(line: Line, seed: int) -> None:
    """Threads wait for levels of their own while bytes come and go; the model is what was sent and taken."""
    draw = random.Random(seed)
    print(f"seed {seed}")
    for _ in range(4):
        wanted = [draw.randrange(1, 3000) for _ in range(3)]
        waits = [Aside(level, line.back, WAIT, bytes_) for bytes_ in wanted]
        sent = 0
        while sent < max(wanted):
            part = draw.choice([1, 15, 16, 17, 200, 1000])
            line.send(part)
            sent += part
            # Until a beat is full, what is in it is not on its way to the core.
            assert sent - BEAT < held(line.back) <= sent
            for bytes_, wait in zip(wanted, waits, strict=True):
                assert wait.is_alive() or bytes_ <= sent, f"{bytes_} are told with {sent} sent"
        line.send(BEAT, END)
        sent += BEAT
        for bytes_, wait in zip(wanted, waits, strict=True):
            found = wait.finish()
            assert isinstance(found, Level) and bytes_ <= found.bytes <= sent and found.reached == 1 and not found.full
        assert level(line.to, WAIT, 0).bytes == 0 and held(line.back) == sent
        assert error_of(level, line.back, WAIT, sent + 1, SECOND // 100) == "ETIMEDOUT"
        line.take(sent)
        assert held(line.back) == 0 and level(line.back, WAIT, 0).reached


def test_a_card_that_is_full_ends_every_wait(line: Line) -> None:
    """A level that can never be held counts as the largest that can; and the way to the core fills up behind it."""
    waits = [Aside(level, line.back, WAIT, bytes_) for bytes_ in (line.room - BEAT, line.room, 2**32 - 1)]
    line.to.submit(transfer(Memory(bytes(line.room - BEAT))))
    for wait in waits:
        found = wait.finish()
        assert isinstance(found, Level) and found.bytes >= line.room - BEAT
    line.to.submit(transfer(Memory(bytes(line.room))))
    until(lambda: bool(level(line.back).full), "the core can send no more")
    assert level(line.back, WAIT, 2**32 - 1, 0).reached and not level(line.to).full
    waiting = held(line.to)
    assert waiting > 0 and error_of(level, line.to, WAIT, waiting - 1, 0) == "ETIMEDOUT"
    drained = Aside(level, line.to, WAIT, 0)
    line.take(line.room)
    found = drained.finish()
    assert isinstance(found, Level) and found.bytes == 0


def test_an_event_is_counted_once_its_level_is_reached(line: Line) -> None:
    assert not level(line.back, EVENT, 100).reached and not line.was_signalled()
    line.send(96)
    assert not line.was_signalled(), "96 of 100"
    line.send(16)
    assert line.was_signalled(20) and level(line.back, EVENT, 100).reached
    # One that is reached leaves nothing behind, nor does one that is taken back.
    line.send(16)
    assert not line.was_signalled()
    assert not level(line.back, EVENT, 1000).reached
    assert not level(line.back, EVENT, 200).reached, "the last one counts"
    assert level(line.back, NEVER).bytes == 128
    line.send(2000)
    assert not line.was_signalled()
    # A call that waits takes none of it away.
    assert not level(line.back, EVENT, 3000).reached
    assert level(line.back, WAIT, 2128).reached
    line.send(1008)
    assert line.was_signalled(20)
    line.take(3136)


def test_waits_go_on_after_a_reset_of_the_channel_and_events_do_not(line: Line) -> None:
    wait = Aside(level, line.back, WAIT, 64)
    assert not level(line.back, EVENT, 32).reached
    time.sleep(WHILE)
    fcntl.ioctl(line.back.file, CHANNEL_RESET)
    line.was_signalled(0)  # of the reset
    line.send(48)
    assert not line.was_signalled() and wait.is_alive()
    line.send(16)
    found = wait.finish()
    assert isinstance(found, Level) and found.bytes == 64
    wait = Aside(level, line.back, WAIT, 128)
    time.sleep(WHILE)
    fcntl.ioctl(line.control, CARD_RESET)
    assert held(line.back) == 0
    line.send(128)
    wait.finish()


def test_resets_do_not_prolong_a_wait(line: Line) -> None:
    wait = Aside(error_of, level, line.back, WAIT, 64, SECOND)
    for _ in range(50):
        time.sleep(0.1)
        fcntl.ioctl(line.control, CARD_RESET)
        if not wait.is_alive():
            break
    else:
        pytest.fail("after five seconds of resets, a wait of one goes on")
    assert wait.finish() == "ETIMEDOUT"


def test_a_signal_ends_a_wait(line: Line) -> None:
    before = signal.signal(signal.SIGUSR1, lambda *_: None)
    here = threading.get_ident()
    later = threading.Timer(WHILE, lambda: signal.pthread_kill(here, signal.SIGUSR1))
    later.start()
    assert error_of(level, line.back, WAIT, 1, FOR_EVER) == "EINTR"
    later.join()
    signal.signal(signal.SIGUSR1, before)


@cards_come_and_go
def test_a_card_that_is_pulled_out_ends_a_wait(line: Line) -> None:
    wait = Aside(error_of, level, line.back, WAIT, 1, FOR_EVER)
    time.sleep(WHILE)
    line.card.kill()
    line.card.start()
    assert wait.finish() == "ENODEV"
    until(lambda: "control" in line.card.files, "the card's files are there again")


def test_what_is_refused(line: Line, card: Card) -> None:
    for flags in (WAIT | EVENT, WAIT | NEVER, 7):
        assert error_of(level, line.back, flags, 1) == "EINVAL"
    # A card without levels; a file that is no queue.
    with opened(card.files["out"], os.O_RDONLY) as out:
        assert error_of(level, Queue(out)) == "ENOTTY"
        ask(out, QUEUE, MakeQueue(flags=ANNOUNCE, control=-1, eventfd=-1))
        assert error_of(level, Queue(out)) == "ENOTSUP"
