# SPDX-License-Identifier: Apache-2.0
"""Cards, user cores and programs that do not go on: every wait for them has an end, and who must not wait does not."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from asking import CARD_RESET, CHANNEL_RESET, Aside, noise, opened
from inside import Card, KernelLog, Module, contract, until
from paging import Withheld
from queueing import END, Memory, error_of, queue, transfer
from rings import Ring
from test_faults import comes_through

# The way there and back through each card's core.
WAYS = [("in", "out"), ("a", "x")]
PATIENCE = Path("/sys/module/towpath/parameters/drain_ms")


@pytest.fixture(autouse=True)
def loaded(driver: Module, cards: list[Card]) -> None:
    until(lambda: all("control" in card.files for card in cards), "the cards' files are there")


@contextlib.contextmanager
def patience(milliseconds: int) -> Iterator[None]:
    """Of fsync() and close()."""
    before = PATIENCE.read_text()
    PATIENCE.write_text(str(milliseconds))
    try:
        yield
    finally:
        PATIENCE.write_text(before)


def reset_card(card: Card) -> None:
    with opened(card.files["control"], os.O_RDWR) as control:
        fcntl.ioctl(control, CARD_RESET)


def stop(card: Card, way: tuple[str, str], how: str) -> None:
    """It hears nothing, goes on moving what was posted, and waits for more, until it is cut off."""
    there, back = way
    received = [Memory(2 << 20) for _ in range(5)]
    with contextlib.ExitStack() as stack:
        sender = stack.enter_context(queue(card.files[there], os.O_WRONLY))
        receiver = stack.enter_context(queue(card.files[back], os.O_RDONLY))
        receiver.submit(*(transfer(memory) for memory in received))
        sender.submit(*(transfer(Memory(noise(2 << 20, seed)), END) for seed in range(4)))
        card.fault("deaf")
        stops: dict[str, Callable[[], object]] = {
            "cancel": receiver.cancel,
            "card": lambda: reset_card(card),
            "unbind": card.unbind,
        }
        told = "ENODEV" if how == "unbind" else "EIO"
        assert error_of(stops[how]) == ("none" if how == "unbind" else "EIO")
        for pair in (sender, receiver):
            assert error_of(pair.exchange, timeout_ns=0) == told
        if how != "unbind":
            assert not card.config(4, 2) & 4, "it is still master of the bus"
        # It has moved on meanwhile: had it not been cut off, it would have been seen to reach for memory that is not mapped for it.
        time.sleep(0.2)
        if how != "unbind":
            assert error_of(os.open, card.files[there], os.O_WRONLY) == "EIO"
            card.unbind()
    assert error_of(card.bind) != "none", "a card that does not answer is bound"


def stop_and_cure(card: Card, way: tuple[str, str], *ways: str) -> None:
    for how in ways:
        try:
            stop(card, way, how)
        finally:
            if (card.pci / "driver").exists():
                card.unbind()
            (card.pci / "reset").write_text("1")
            card.bind()
        with opened(card.files[way[0]], os.O_WRONLY | os.O_DIRECT) as to, opened(card.files[way[1]], os.O_RDONLY) as back:
            comes_through(to, back, b"still well")


def test_a_card_that_does_not_stop(cards: list[Card], kernel_log: KernelLog) -> None:
    """Two of them, at the same time: one that should cancel, and then reset a channel; and one that should be reset, and unbound."""
    asides = [Aside(stop_and_cure, cards[0], WAYS[0], "cancel"), Aside(stop_and_cure, cards[1], WAYS[1], "card", "unbind")]
    for aside in asides:
        aside.finish()
    said = kernel_log.read()
    found = [sum(card.pci.name in line and "does not stop" in line for line in said.splitlines()) for card in cards]
    assert found == [1, 2, 0], said


def fill(file: int) -> int:
    """Write until there is no room any more; how many bytes that were."""
    poll = select.poll()
    poll.register(file, select.POLLOUT)
    count = 0
    # Bytes are on their way after the first refusal.
    while poll.poll(200):
        with contextlib.suppress(BlockingIOError):
            count += os.write(file, noise(65536, count))
    return count


def test_a_core_that_takes_nothing(card: Card, kernel_log: KernelLog) -> None:
    """fsync() and close() give up, and whoever opens the channel next finds it well."""
    with patience(300):
        to = os.open(card.files["in"], os.O_WRONLY | os.O_NONBLOCK)
        fill(to)
        assert [error_of(os.fsync, to) for _ in range(2)] == ["ETIMEDOUT", "ETIMEDOUT"]
        assert error_of(os.close, to) == "ETIMEDOUT"
        assert "in: closed in the middle of a message" in kernel_log.read()
        with opened(card.files["in"], os.O_WRONLY | os.O_DIRECT) as to, opened(card.files["out"], os.O_RDONLY) as back:
            fcntl.ioctl(back, CHANNEL_RESET)
            comes_through(to, back, b"still well")


@pytest.mark.parametrize("call", ["fsync", "write"])
def test_a_reset_is_told_once_to_who_waits(card: Card, call: str) -> None:
    """However much of what was written before is in flight."""
    with opened(card.files["in"], os.O_WRONLY | os.O_NONBLOCK) as to:
        fill(to)
        fcntl.fcntl(to, fcntl.F_SETFL, 0)
        waiting = Aside(os.fsync, to) if call == "fsync" else Aside(os.write, to, noise(1000, 1))
        time.sleep(0.1)
        assert waiting.is_alive()
        reset_card(card)
        assert error_of(waiting.finish) == "ECONNRESET"
        assert [error_of(os.write, to, b"once"), error_of(os.fsync, to)] == ["none", "none"]


def test_a_core_that_takes_its_time(card: Card) -> None:
    """It is waited for as long as it goes on."""
    steps = 0
    with opened(card.files["in"], os.O_WRONLY | os.O_NONBLOCK) as to, queue(card.files["out"], os.O_RDONLY) as receiver, patience(400):
        fill(to)
        waiting = Aside(os.fsync, to)
        status = 0
        while status != contract("STATUS_END_OF_MESSAGE"):
            time.sleep(0.15)
            assert steps > 4 or waiting.is_alive(), "fsync() returns before the core has all of it"
            status = receiver.run(transfer(Memory(65536))).status
            steps += 1
        waiting.finish()
    assert steps * 0.15 > 0.4, "all of it would have been in time"


@pytest.mark.parametrize("flags", [0, os.O_DIRECT], ids=["stream", "packets"])
def test_close_tells_of_what_came_late(card: Card, flags: int) -> None:
    to = os.open(card.files["in"], os.O_WRONLY | flags)
    card.fault("ur")
    assert os.write(to, noise(1000, 1)) == 1000
    assert error_of(os.close, to) == "EIO"
    with opened(card.files["in"], os.O_WRONLY | os.O_DIRECT) as to, opened(card.files["out"], os.O_RDONLY) as back:
        comes_through(to, back, b"still well")


def test_a_reset_behind_a_part(card: Card) -> None:
    """What a call has moved it tells; that the rest went with a reset of the channel, the next one."""
    with opened(card.files["in"], os.O_WRONLY) as to, opened(card.files["out"], os.O_RDONLY) as back:
        os.write(to, noise(65536, 1))
        reading = Aside(os.read, back, 1 << 20)
        time.sleep(0.3)
        assert reading.is_alive()
        fcntl.ioctl(back, CHANNEL_RESET)
        part = reading.finish()
        assert isinstance(part, bytes)
        assert noise(65536, 1).startswith(part)
        assert len(part) > 0
        assert error_of(os.read, back, 1) == "ECONNRESET"
        fcntl.ioctl(to, CHANNEL_RESET)
        fcntl.ioctl(back, CHANNEL_RESET)
        os.write(to, b"still well")
        os.fsync(to)
        assert os.read(back, 100) == b"still well"


@dataclass
class Wanted:
    """A card that somebody keeps, by memory whose pages come late, and that a program waits to reset."""

    keeps: Aside
    memory: Withheld
    resets: subprocess.Popen[bytes]

    def give_up(self) -> None:
        """The program that waits to reset it is killed."""
        assert self.resets.poll() is None
        self.resets.kill()
        assert self.resets.wait(20) == -signal.SIGKILL


def resetting(card: Card, start: Callable[..., subprocess.Popen[bytes]]) -> subprocess.Popen[bytes]:
    """A program that resets the card."""
    program = "import fcntl, os, sys; fcntl.ioctl(os.open(sys.argv[1], os.O_RDWR), int(sys.argv[2]))"
    return start(sys.executable, "-c", program, card.files["control"], str(CARD_RESET))


@contextlib.contextmanager
def wanted(card: Card, start: Callable[..., subprocess.Popen[bytes]], to: int) -> Iterator[Wanted]:
    with Withheld(1 << 20) as memory:
        keeps = Aside(os.write, to, memory.map)
        time.sleep(0.2)
        assert keeps.is_alive()
        yield Wanted(keeps, memory, resetting(card, start))


@pytest.mark.parametrize("kind", ["file", "queue"])
def test_who_must_not_wait(card: Card, start: Callable[..., subprocess.Popen[bytes]], kind: str) -> None:
    """With O_NONBLOCK nobody waits for a reset that waits for somebody else, and who waits to reset can be killed."""
    ways = os.O_RDONLY | os.O_NONBLOCK
    with contextlib.ExitStack() as stack:
        to = stack.enter_context(opened(card.files["in"], os.O_WRONLY))
        calls: list[Callable[[], object]]
        if kind == "file":
            back = stack.enter_context(opened(card.files["out"], ways))
            calls = [lambda: os.read(back, 100), lambda: os.open(card.files["out"], ways)]
        else:
            receiver = stack.enter_context(queue(card.files["out"], ways, announce=True))
            back = receiver.file
            calls = [lambda: receiver.exchange(timeout_ns=0), lambda: receiver.message_start(0)]
        poll = select.poll()
        poll.register(back, select.POLLIN)
        state = stack.enter_context(wanted(card, start, to))
        # A file tells of it once.
        first = "ECONNRESET" if kind == "file" else "EAGAIN"
        until(lambda: error_of(calls[0]) == first, "the card is being reset")
        for _ in range(3):
            assert [error_of(call) for call in calls] == ["EAGAIN"] * 2
            assert poll.poll(0) == []
        state.give_up()
        # Nobody has reset it: each channel is, when it is used again.
        until(lambda: error_of(calls[1]) in ("EBUSY", "ETIMEDOUT"), "it can be used")
        state.memory.hand_out()
        assert error_of(state.keeps.finish) in ("none", "ECONNRESET")
        until(lambda: error_of(calls[0]) == ("EAGAIN" if kind == "file" else "none"), "it has been told")
        fcntl.ioctl(to, CHANNEL_RESET)
        os.write(to, b"still well")
        os.fsync(to)
        assert poll.poll(20_000)
        if kind == "file":
            assert os.read(back, 100) == b"still well"
        else:
            assert receiver.run(transfer(Memory(100))).bytes == 10


@pytest.mark.parametrize("kind", ["eventfd", "ring"])
def test_a_reset_that_is_given_up(card: Card, start: Callable[..., subprocess.Popen[bytes]], kind: str) -> None:
    """Who waits without a call is told all the same: what was in flight has ended by a reset."""
    with contextlib.ExitStack() as stack:
        to = stack.enter_context(opened(card.files["in"], os.O_WRONLY))
        event = os.eventfd(0, os.EFD_NONBLOCK)
        stack.callback(os.close, event)
        back = stack.enter_context(queue(card.files["out"], os.O_RDONLY | os.O_NONBLOCK, eventfd=event))
        state = stack.enter_context(wanted(card, start, to))
        until(lambda: error_of(back.exchange, timeout_ns=0) == "EAGAIN", "the card is being reset")
        state.give_up()
        until(lambda: error_of(back.exchange, timeout_ns=0) == "none", "it has been told")
        # And once more, with something in flight.
        if kind == "eventfd":
            back.submit(transfer(Memory(100)))
        else:
            ring = stack.enter_context(Ring(8))
            ring.add(back.file, transfer(Memory(100)))
            ring.enter()
        state.resets = resetting(card, start)
        until(lambda: error_of(back.exchange, room=0, timeout_ns=0) == "EAGAIN", "the card is being reset")
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(event)
        state.give_up()
        if kind == "eventfd":
            assert select.select([event], [], [], 20)[0], "nobody tells"
            assert back.collect(1)[0].status == contract("STATUS_RESET")
        else:
            assert ring.take(1)[0].result == -errno.ECONNRESET
        state.memory.hand_out()
        assert error_of(state.keeps.finish) in ("none", "ECONNRESET")


@contextlib.contextmanager
def forked(does: Callable[[], object]) -> Iterator[None]:
    """A program that has what this one has and does this; inside, it has begun, and in the end it is killed."""
    begun, begins = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(begins, b".")
            does()
        finally:
            os._exit(1)
    try:
        os.read(begun, 1)
        time.sleep(0.1)
        assert os.waitpid(child, os.WNOHANG) == (0, 0), "it does not wait"
        yield
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(begun)
        os.close(begins)


def test_a_queue_that_closes_as_a_reset_is_given_up(card: Card) -> None:
    """By one death, of a program that has the one open and waits to make the other."""
    with contextlib.ExitStack() as stack:
        to = stack.enter_context(opened(card.files["in"], os.O_WRONLY))
        memory = stack.enter_context(Withheld(1 << 20))
        keeps = Aside(os.write, to, memory.map)
        time.sleep(0.2)

        def closes() -> None:
            with queue(card.files["out"], os.O_RDONLY):
                reset_card(card)

        for _ in range(15):
            with forked(closes):
                assert keeps.is_alive()
        memory.hand_out()
        assert error_of(keeps.finish) in ("none", "ECONNRESET")
    with opened(card.files["in"], os.O_WRONLY | os.O_DIRECT) as to, opened(card.files["out"], os.O_RDONLY) as back:
        comes_through(to, back, b"still well")


@pytest.mark.parametrize("who", ["nobody", "the program", "another"])
def test_a_reset_of_a_channel_that_is_in_use(card: Card, start: Callable[..., subprocess.Popen[bytes]], who: str) -> None:
    """Two programs have one file. Of a reset that one of them wants, who is killed then, the other is told, and it is made.
    If he makes it after all, and the card is to be reset meanwhile, that is told by the next call."""
    with contextlib.ExitStack() as stack:
        to = stack.enter_context(opened(card.files["in"], os.O_WRONLY))
        memory = stack.enter_context(Withheld(1 << 20))
        assert os.write(to, b"the old half") == 12
        keeps = Aside(os.write, to, memory.map)
        time.sleep(0.2)
        if who == "nobody":
            with forked(lambda: fcntl.ioctl(to, CHANNEL_RESET)):
                assert keeps.is_alive()
            memory.hand_out()
            told = [error_of(keeps.finish)]
        else:
            resets = Aside(fcntl.ioctl, to, CHANNEL_RESET)
            time.sleep(0.2)
            if who == "another":
                card_resets = resetting(card, start)
                until(lambda: error_of(os.open, card.files["in"], os.O_WRONLY | os.O_NONBLOCK) == "EAGAIN", "the card is being reset")
            memory.hand_out()
            told = [error_of(keeps.finish)]
            assert error_of(resets.finish) == "none"
            if who == "another":
                assert card_resets.wait(20) == 0
                assert error_of(os.write, to, b"x") == "ECONNRESET"
        # A call that has come to something tells of it the next time.
        if told == ["none"]:
            told = [error_of(os.write, to, b"x")]
        assert told == ["ECONNRESET"]
        with opened(card.files["out"], os.O_RDONLY) as back:
            fcntl.ioctl(back, CHANNEL_RESET)
            os.write(to, b"still well")
            os.fsync(to)
            assert os.read(back, 100) == b"still well"


def test_a_reset_of_a_channel_is_told_once(card: Card) -> None:
    """Two threads read, one behind the other, and a third behind both resets it: that is told to one, and waited for by the other."""
    reset_card(card)
    there, back = (card.files[name] for name in WAYS[0])
    with opened(there, os.O_WRONLY) as to, opened(back, os.O_RDONLY) as out:
        reads = []
        for _ in range(2):
            reads.append(Aside(os.read, out, 100))
            time.sleep(0.2)
        fcntl.ioctl(out, CHANNEL_RESET)
        os.write(to, b"after it")
        os.fsync(to)
        assert [error_of(reads[0].finish), reads[1].finish()] == ["ECONNRESET", b"after it"]


def test_resets_of_a_channel_by_two_threads(card: Card) -> None:
    """Each is made, and says so, though the other is behind it."""
    reset_card(card)
    there, back = (card.files[name] for name in WAYS[0])

    def resets(out: int) -> None:
        for _ in range(10):
            fcntl.ioctl(out, CHANNEL_RESET)

    with opened(there, os.O_WRONLY) as to, opened(back, os.O_RDONLY) as out:
        both = [Aside(resets, out) for _ in range(2)]
        assert [error_of(one.finish) for one in both] == ["none", "none"]
        os.write(to, b"after them")
        os.fsync(to)
        assert os.read(out, 100) == b"after them"


def test_who_is_sent_away_hears_of_it(cards: list[Card]) -> None:
    """While another thread resets the channel, one that does not wait gets EAGAIN; by edges alone it learns when to come again."""
    reset_card(cards[1])
    # Its core takes whatever comes.
    with opened(cards[1].files["c"], os.O_WRONLY | os.O_NONBLOCK) as to, select.epoll() as edges:
        edges.register(to, select.EPOLLOUT | select.EPOLLET)
        for _ in range(200):
            resets = Aside(fcntl.ioctl, to, CHANNEL_RESET)
            while resets.is_alive():
                if error_of(os.write, to, b"x") == "EAGAIN":
                    assert edges.poll(20), "nobody tells"
            assert error_of(resets.finish) == "none"


def test_who_is_killed_as_memory_is_waited_for(card: Card) -> None:
    """In the middle of a read, whose file another program has, too: he is told of nothing."""
    # Made by him who waits for it, or it would not be withheld; but here, too, if there is none.
    Withheld(4096).hand_out()
    reset_card(card)
    with opened(card.files["in"], os.O_WRONLY) as to, opened(card.files["out"], os.O_RDONLY) as back:
        os.write(to, noise(4096, 1))

        def reads() -> None:
            with Withheld(1 << 20) as memory:
                os.readv(back, [bytearray(4096), memory.map])

        with forked(reads):
            time.sleep(0.5)
        poll = select.poll()
        poll.register(back, select.POLLIN)
        assert poll.poll(0) == []
        os.write(to, b"the rest")
        os.fsync(to)
        assert os.read(back, 100) == b"the rest"
