# SPDX-License-Identifier: Apache-2.0
"""Transfers of a queue by io_uring: order, results, room; and programs, rings, files, channels and cards that go meanwhile."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from asking import CARD_RESET, CHANNEL_RESET, Aside, noise, opened
from inside import Card, Module, contract, until
from looping import pinned
from queueing import ATTRIBUTES, CANCEL, END, TO_CARD, Completion, Memory, Piece, Queue, Transfer, error_of, queue, transfer
from rings import (
    ASYNC,
    ASYNC_CANCEL,
    DEFER_TASKRUN,
    FIXED,
    IOPOLL,
    KERNEL,
    LINK,
    MAY_DEFER,
    QUIET,
    SINGLE_ISSUER,
    SQPOLL,
    URING_CMD,
    URING_TRANSFER,
    Ring,
    Submission,
    by_commands,
)

READ, WRITE = os.O_RDONLY, os.O_WRONLY
DONE, END_OF_MESSAGE, CANCELLED, RESET = (contract(f"STATUS_{name}") for name in ("DONE", "END_OF_MESSAGE", "CANCELLED", "RESET"))
RINGS = {"plain": 0, "quiet": QUIET, "polled for": SQPOLL}


@dataclass
class Loop:
    """Both ways of the loopback core, a ring, and how many transfers the card's queue takes back."""

    control: int
    to: Queue
    back: Queue
    ring: Ring
    depth: int


@contextlib.contextmanager
def looped(card: Card, flags: int = QUIET) -> Iterator[Loop]:
    """At the end nothing is in flight, nothing is pinned, and the card has told nothing that cannot be."""
    with contextlib.ExitStack() as stack:
        control = stack.enter_context(opened(card.files["control"], os.O_RDWR))
        to = stack.enter_context(queue(card.files["in"], WRITE, control))
        back = stack.enter_context(queue(card.files["out"], READ, control))
        loop = Loop(control, to, back, stack.enter_context(Ring(512, flags)), int(card.channel(1, "queue_depth")))
        yield loop
        loop.ring.close()
        fcntl.ioctl(control, CARD_RESET)
    until(lambda: pinned() == 0 and held() == 0, "nothing is pinned")
    for index in range(2):
        for name in ("wrong_cookies", "wrong_lengths", "wrong_statuses", "unexpected"):
            assert int(card.channel(index, f"statistics/{name}")) == 0, name
    # The files close when the ring's last command has ended.
    for name, way in (("in", WRITE), ("out", READ)):
        until(lambda name=name, way=way: can_be_opened(card, name, way), f"{name} is closed")  # type: ignore[misc]


@pytest.fixture
def loop(card: Card, control: int) -> Iterator[Loop]:
    with looped(card) as made:
        yield made


def can_be_opened(card: Card, name: str, way: int) -> bool:
    try:
        os.close(os.open(card.files[name], way))
    except OSError as error:
        assert error.errno == errno.EBUSY
        return False
    return True


def held() -> int:
    """Pages of whatever program, pinned by whatever driver."""
    # Each processor counts for itself, for a while.
    Path("/proc/sys/vm/stat_refresh").write_text("1")
    found = dict(line.split() for line in Path("/proc/vmstat").read_text().splitlines())
    return int(found["nr_foll_pin_acquired"]) - int(found["nr_foll_pin_released"])


def there_and_back(loop: Loop, data: bytes = b"a message") -> None:
    into = Memory(len(data) + 1)
    sent = loop.ring.add(loop.to.file, transfer(Memory(data), END))
    got = loop.ring.add(loop.back.file, transfer(into))
    results = {end.user_data: end.result for end in loop.ring.take(2)}
    assert results == {sent: len(data), got: len(data)}
    assert into.content(len(data)) == data


def test_commands_on_an_older_kernel(driver: Module, card: Card, control: int) -> None:
    """And on whatever kernel for the control file, which takes none."""
    with queue(card.files["in"], WRITE, control) as to, Ring(8) as ring:
        wanted = transfer(Memory(b"x"), END)
        assert ring.run(control, wanted).result == -errno.EOPNOTSUPP
        if KERNEL < (6, 7):
            assert ring.run(to.file, wanted).result == -errno.EOPNOTSUPP
        if not MAY_DEFER:
            with Ring(8, SINGLE_ISSUER | DEFER_TASKRUN) as deferring:
                assert deferring.run(to.file, wanted).result == -errno.EOPNOTSUPP
        assert to.run(wanted).status == DONE
        fcntl.ioctl(control, CARD_RESET)


@by_commands
def test_an_interrupt_that_is_lost(card: Card, loop: Loop) -> None:
    card.fault("mute")
    try:
        there_and_back(loop)
    finally:
        card.fault("loud")
    there_and_back(loop)


@by_commands
@pytest.mark.parametrize("kind", RINGS)
@pytest.mark.parametrize("seed", range(2))
def test_random_messages(card: Card, control: int, kind: str, seed: int) -> None:
    """Through one ring, both ways, in pieces, from memory registered or not: each byte comes through, in order, with what belongs to it."""
    draw = random.Random(seed)
    sizes = [0, 1, 64, 65, 4095, 4097, 20_000, 200_000]
    messages = [noise(draw.choice([*sizes, draw.randrange(100_000)]), seed << 16 | number) for number in range(60)]
    with looped(card, RINGS[kind]) as loop:
        ways: list[list[tuple[int, Transfer]]] = [[], []]
        sources, targets, names = [], [], {}
        for number, data in enumerate(messages):
            source, target = Memory(data), Memory(len(data) + 1)
            if data and draw.random() < 0.5:
                source.register(loop.control, TO_CARD)
            if draw.random() < 0.5:
                target.register(loop.control)
            cut = draw.randrange(len(data) + 1)
            pieces = [source.piece(0, cut), source.piece(cut)]
            ways[0].append((loop.to.file, transfer(pieces, END | ATTRIBUTES, offset=number, user=len(data))))
            ways[1].append((loop.back.file, transfer(target)))
            sources.append(source)
            targets.append(target)
        ends = []
        while ways[0] or ways[1]:
            file, wanted = draw.choice([way for way in ways if way]).pop(0)
            names[loop.ring.add(file, wanted)] = file
            if draw.random() < 0.1:
                loop.ring.enter()
                ends += loop.ring.ended()
        ends += loop.ring.take(2 * len(messages) - len(ends))
        got = [end for end in sorted(ends, key=lambda end: end.user_data) if names[end.user_data] == loop.back.file]
        for number, (end, data, target) in enumerate(zip(got, messages, targets, strict=True)):
            assert (end.result, target.content(len(data))) == (len(data), data), number
            assert end.completion is not None
            assert (end.completion.ticket, end.completion.bytes, end.completion.status) == (0, len(data), END_OF_MESSAGE)
            if data:
                assert (end.completion.offset, end.completion.user) == (number, len(data))
        sent = {end.user_data: end for end in ends if names[end.user_data] == loop.to.file}
        assert [sent[name].result for name in sorted(sent)] == [len(data) for data in messages]


@by_commands
@pytest.mark.parametrize("kind", RINGS)
def test_more_than_the_card_takes_by_one_call(card: Card, control: int, kind: str) -> None:
    """The rest waits, in order."""
    with looped(card, RINGS[kind]) as loop:
        count = 3 * loop.depth + 7
        assert count > 200 or loop.depth < 64
        source, into = Memory(noise(64 * count, 1)), Memory(64 * count)
        for memory in (source, into):
            memory.register(loop.control)
        for number in range(count):
            loop.ring.add(loop.back.file, transfer([into.piece(64 * number, 64)]))
        loop.ring.enter()
        for number in range(count):
            loop.ring.add(loop.to.file, transfer([source.piece(64 * number, 64)], END))
        loop.ring.enter()
        results = [end.result for end in loop.ring.take(2 * count)]
        assert results == [64] * 2 * count
        assert into.content() == source.content()


@by_commands
def test_beside_exchange(loop: Loop) -> None:
    """Both share the channel, each hears of its own, and none is overtaken."""
    into = Memory(100).register(loop.control)
    parts = [transfer([into.piece(10 * number, 10)]) for number in range(4)]
    loop.ring.add(loop.back.file, parts[0])
    loop.ring.enter()
    assert loop.back.submit(parts[1]) == 0
    loop.ring.add(loop.back.file, parts[2])
    loop.ring.enter()
    assert loop.back.submit(parts[3]) == 1
    for number in range(4):
        loop.to.run(transfer(Memory(bytes([number]) * 10), END))
    found = loop.back.collect(2)
    assert [(done.ticket, done.bytes) for done in found] == [(0, 10), (1, 10)]
    assert [end.result for end in loop.ring.take(2)] == [10, 10]
    assert into.content(40) == b"".join(bytes([number]) * 10 for number in range(4))
    # A ring's in flight is nothing that EXCHANGE could wait for.
    loop.ring.add(loop.back.file, parts[0])
    loop.ring.enter()
    assert loop.back.exchange(wanted=1)[1] == []
    loop.back.submit(parts[1])
    fcntl.ioctl(loop.back.file, CANCEL)
    assert [done.status for done in loop.back.exchange(wanted=5)[1]] == [CANCELLED]
    assert loop.ring.take(1)[0].result == -errno.ECANCELED


@by_commands
def test_an_end_may_interrupt_exchange(card: Card, control: int) -> None:
    """Of a thread whose ring was not asked to be quiet."""
    with looped(card, 0) as loop:
        first, second = Memory(10), Memory(10)
        loop.ring.add(loop.back.file, transfer(first))
        loop.ring.enter()
        loop.back.submit(transfer(second))
        later = Aside(lambda: (time.sleep(0.2), loop.to.submit(transfer(Memory(b"first"), END))))
        assert error_of(loop.back.exchange, wanted=1, goes_on=False) == "EINTR"
        later.finish()
        assert loop.ring.take(1)[0].result == 5
        loop.to.submit(transfer(Memory(b"second"), END))
        assert loop.back.collect(1)[0].bytes == 6


@by_commands
def test_exchange_does_not_overtake_what_waits(loop: Loop) -> None:
    into = Memory(8 * (loop.depth + 10)).register(loop.control)
    for number in range(loop.depth + 1):
        loop.ring.add(loop.back.file, transfer([into.piece(8 * number, 8)]))
    loop.ring.enter()
    last = transfer([into.piece(8 * (loop.depth + 1), 8)])
    assert error_of(loop.back.submit, last) == "EAGAIN"
    data = noise(8 * (loop.depth + 2), 2)
    parts = [data[at : at + 8] for at in range(0, len(data), 8)]
    loop.to.run(transfer(Memory(parts[0]), END))
    loop.ring.take(1)
    assert error_of(loop.back.submit, last) == "EAGAIN", "what waited has taken the room"
    loop.to.run(transfer(Memory(parts[1]), END))
    loop.ring.take(1)
    loop.back.submit(last)
    for part in parts[2:]:
        loop.to.run(transfer(Memory(part), END))
    assert loop.back.collect(1)[0].bytes == 8
    assert len(loop.ring.take(loop.depth - 1)) == loop.depth - 1
    assert into.content(len(data)) == data


@by_commands
def test_results(loop: Loop) -> None:
    """A message that ends before the memory, one that does not, and one of nothing; with and without a completion."""
    into = Memory(100)
    loop.to.run(transfer(Memory(b"short"), END | ATTRIBUTES, offset=5, user=6))
    end = loop.ring.run(loop.back.file, transfer(into))
    assert end.result == 5 and end.completion is not None
    assert [getattr(end.completion, name) for name, _ in Completion._fields_] == [0, 5, END_OF_MESSAGE, 5, 6]  # type: ignore[misc]
    loop.to.run(transfer(Memory(b"0123456789"), END))
    end = loop.ring.run(loop.back.file, transfer([into.piece(0, 4)]))
    assert end.result == 4 and end.completion is not None and end.completion.status == DONE
    assert loop.ring.run(loop.back.file, transfer([into.piece(4)]), 0).result == 6
    assert into.content(10) == b"0123456789"
    assert loop.ring.run(loop.to.file, transfer([], END), 0).result == 0
    end = loop.ring.run(loop.back.file, transfer(into))
    assert end.result == 0 and end.completion is not None and end.completion.status == END_OF_MESSAGE


@by_commands
def test_linked_and_by_a_worker(loop: Loop) -> None:
    """One after the other, and from a thread of io_uring's own."""
    into = [Memory(10) for _ in range(3)]
    for memory in into:
        loop.ring.add(loop.back.file, transfer(memory), flags=LINK if memory is not into[2] else 0)
    loop.ring.enter()
    for text in (b"one", b"two", b"three"):
        loop.to.run(transfer(Memory(text), END))
    # A short one is no failure of its link.
    assert [end.result for end in loop.ring.take(3)] == [3, 3, 5]
    assert [memory.content(5).rstrip(b"\0") for memory in into] == [b"one", b"two", b"three"]
    name = loop.ring.add(loop.back.file, transfer(into[0]), flags=ASYNC)
    loop.ring.enter()
    loop.to.run(transfer(Memory(b"worker"), END))
    (end,) = loop.ring.take(1)
    assert (end.user_data, end.result, into[0].content(6)) == (name, 6, b"worker")
    assert loop.ring.run(loop.to.file, transfer(Memory(b"x"), 64), flags=ASYNC).result == -errno.EINVAL


@by_commands
def test_bad_commands(loop: Loop) -> None:
    """Each is refused, and nothing of it is left."""
    memory = Memory(b"x").register(loop.control, TO_CARD)
    good = transfer(memory, END)
    bad = {
        "EINVAL": [
            *(Transfer(flags=8), Transfer(flags=END, reserved=1), Transfer(flags=END, length=1)),
            transfer([Piece(address=memory.address, bytes=1, buffer=memory.buffer, reserved=1)], END),
        ],
        "EFAULT": [
            *(Transfer(flags=END, count=1, pieces=8), transfer([Piece(address=4096, bytes=100)], END)),
            transfer([memory.piece(1, 1)], END),
        ],
        "EMSGSIZE": [transfer([memory.piece()] * 513, END), transfer([Piece(address=4096, bytes=(4 << 20) + 1)], END)],
        "ENOENT": [transfer([Piece(address=memory.address, bytes=1, buffer=memory.buffer + 9)], END)],
    }
    for name, transfers in bad.items():
        for wanted in transfers:
            end = loop.ring.run(loop.to.file, wanted)
            assert errno.errorcode[-end.result] == name
            assert end.completion is not None and end.completion.status == 77, "it was not submitted"
    into = Memory(10).register(loop.control, TO_CARD)
    assert loop.ring.run(loop.back.file, transfer(into)).result == -errno.EACCES
    assert loop.ring.run(loop.to.file, good, operation=0).result == -errno.ENOTTY
    loop.ring.push(Submission(opcode=URING_CMD, file=loop.to.file, cmd_op=URING_TRANSFER, transfer=8))
    assert loop.ring.take(1)[0].result == -errno.EFAULT
    loop.ring.register(memory)
    assert loop.ring.run(loop.to.file, good, command_flags=FIXED).result == -errno.EINVAL
    # What cannot be told has been done all the same.
    assert loop.ring.run(loop.to.file, good, 8).result == -errno.EFAULT
    there = Memory(10)
    assert loop.ring.run(loop.back.file, transfer(there)).result == 1 and there.content(1) == b"x"
    with Ring(8, IOPOLL) as polled:
        assert polled.run(loop.to.file, good).result == -errno.EOPNOTSUPP
    memory.unregister(loop.control)
    into.unregister(loop.control)
    there_and_back(loop)


@by_commands
def test_a_file_that_is_no_queue(card: Card, control: int) -> None:
    with opened(card.files["in"], WRITE) as to, Ring(8) as ring:
        assert ring.run(to, transfer(Memory(b"x"), END)).result == -errno.ENOTTY


@by_commands
def test_a_limit_of_transfers(card: Card, control: int) -> None:
    with queue(card.files["out"], READ, control) as back, Ring(4096, QUIET) as ring:
        into = Memory(8).register(control)
        wanted = transfer(into)
        for _ in range(4096):
            ring.add(back.file, wanted, 0)
        assert ring.enter() == 4096
        assert ring.run(back.file, wanted, 0).result == -errno.ENOBUFS
        back.cancel()
        assert {end.result for end in ring.take(4096)} == {-errno.ECANCELED}
        back.submit(wanted)
        back.cancel()
        assert back.collect(1)[0].status == CANCELLED


@by_commands
@pytest.mark.parametrize("kind", RINGS)
def test_memory_is_the_programs_account(card: Card, control: int, kind: str) -> None:
    """Whichever thread pins it."""
    with looped(card, RINGS[kind]) as loop:
        into = Memory(1 << 20)
        loop.ring.add(loop.back.file, transfer(into))
        loop.ring.enter()
        until(lambda: pinned() == 1 << 10, "it is pinned")
        fcntl.ioctl(loop.back.file, CANCEL)
        assert loop.ring.take(1)[0].result == -errno.ECANCELED
        assert pinned() == 0
        child = os.fork()
        if child == 0:
            resource.setrlimit(resource.RLIMIT_MEMLOCK, (1 << 19, 1 << 19))
            os.setuid(65534)
            with Ring(8, RINGS[kind]) as own:
                os._exit(0 if own.run(loop.back.file, transfer(into)).result == -errno.ENOMEM else 1)
        assert os.waitpid(child, 0)[1] == 0


@by_commands
def test_cancel(loop: Loop) -> None:
    """By the driver's call: it ends all, and tells how far each came. io_uring's own does not reach them."""
    count = loop.depth + 20
    into = Memory(1 << 20).register(loop.control)
    data = noise(4096, 3)
    first = loop.ring.add(loop.back.file, transfer([into.piece(0, 1 << 19)]))
    for number in range(1, count):
        loop.ring.add(loop.back.file, transfer([into.piece((1 << 19) + 8 * number, 8)]))
    loop.ring.enter()
    loop.to.run(transfer(Memory(data)))
    until(lambda: into.content(2048) == data[:2048], "bytes are there")
    name = loop.ring.push(Submission(opcode=ASYNC_CANCEL, file=-1, address=first))
    (end,) = loop.ring.take(1)
    assert end.user_data == name and end.result in (-errno.ENOENT, -errno.EALREADY)
    loop.back.cancel()
    ends = {end.user_data: end for end in loop.ring.take(count)}
    assert {end.result for end in ends.values()} == {-errno.ECANCELED}
    came = [end.completion.bytes for end in ends.values() if end.completion is not None and end.completion.status == CANCELLED]
    assert len(came) == count and sum(came) == ends[first].completion.bytes >= 2048  # type: ignore[union-attr]
    assert into.content(sum(came)) == data[: sum(came)]
    rest = Memory(5000)
    loop.to.run(transfer(Memory(b"the end"), END))
    got = loop.ring.run(loop.back.file, transfer(rest)).result
    assert data[sum(came) :] + b"the end" == rest.content(got)


@by_commands
@pytest.mark.parametrize("what", ["a channel's", "the card's"])
def test_a_reset_meanwhile(loop: Loop, what: str) -> None:
    """What is in flight, and what waits, says so; and the queue goes on."""
    for _ in range(3):
        count = loop.depth + 20
        into = Memory(8 * count)
        loop.ring.add(loop.back.file, transfer(into))
        for _ in range(1, count):
            loop.ring.add(loop.back.file, transfer([Piece(address=into.address, bytes=0)]))
        loop.ring.enter()
        file, reset = (loop.back.file, CHANNEL_RESET) if what == "a channel's" else (loop.control, CARD_RESET)
        fcntl.ioctl(file, reset)
        ends = loop.ring.take(count)
        assert {end.result for end in ends} == {-errno.ECONNRESET}
        assert {end.completion.status for end in ends if end.completion is not None} == {RESET}
        there_and_back(loop)


@by_commands
def test_a_reset_of_somebody_elses_is_told_once(loop: Loop, card: Card) -> None:
    with opened(card.files["control"], os.O_RDWR) as other:
        loop.ring.add(loop.back.file, transfer(Memory(10)))
        loop.ring.enter()
        fcntl.ioctl(other, CARD_RESET)
    assert loop.ring.take(1)[0].result == -errno.ECONNRESET
    for _ in range(2):
        assert loop.ring.run(loop.to.file, transfer(Memory(b"x"), END)).result == -errno.ECONNRESET
    loop.to.cancel()
    there_and_back(loop)
    # What came before a reset of one's own makes no difference any more.
    with opened(card.files["control"], os.O_RDWR) as other:
        fcntl.ioctl(other, CARD_RESET)
    for way in (loop.to, loop.back):
        fcntl.ioctl(way.file, CHANNEL_RESET)
    there_and_back(loop)


@by_commands
@pytest.mark.parametrize("aware", ["a cancel", "a channel's reset", "a card's reset"])
@pytest.mark.parametrize("what", ["a reset", "a ring that goes", "a ring that waits, and goes"])
def test_a_message_that_is_cut_short(loop: Loop, card: Card, what: str, aware: str) -> None:
    """By somebody else: what the program has submitted by then does not go on with it, nor does the call, until it says that it knows."""
    part, rest = transfer(Memory(1 << 20)), transfer(Memory(b"the rest"), END)
    depth = int(card.channel(0, "queue_depth"))
    with opened(card.files["control"], os.O_RDWR) as other, Ring(512) as ring:
        waits = depth if "waits" in what else 0
        for _ in range(waits):
            loop.ring.add(loop.to.file, part)
        loop.ring.enter()
        ring.add(loop.to.file, part)
        ring.enter()
        if waits:
            loop.ring.add(loop.to.file, rest)
            loop.ring.enter()
        if what == "a reset":
            fcntl.ioctl(other, CARD_RESET)
            why = errno.ECONNRESET
            assert loop.ring.run(loop.back.file, transfer(Memory(1))).result == -why
        else:
            ring.close()
            why = errno.ECANCELED
            assert not waits or {end.result for end in loop.ring.take(waits + 1)} == {-why}
            until(lambda: pinned() == 0, "they have ended")
        for _ in range(2):
            loop.ring.add(loop.to.file, rest)
        assert [end.result for end in loop.ring.take(2)] == [-why] * 2
        assert error_of(loop.to.submit, rest) == errno.errorcode[why]
        if aware == "a cancel":
            loop.to.cancel()
            assert loop.ring.run(loop.to.file, transfer([], END)).result == 0
            assert loop.back.run(transfer(Memory(1 << 20))).status == END_OF_MESSAGE
        elif aware == "a channel's reset":
            fcntl.ioctl(loop.to.file, CHANNEL_RESET)
            fcntl.ioctl(loop.back.file, CHANNEL_RESET)
        else:
            fcntl.ioctl(loop.control, CARD_RESET)
        there_and_back(loop)


@by_commands
@pytest.mark.parametrize("kind", RINGS)
def test_a_ring_closed_with_transfers_in_flight(card: Card, control: int, kind: str) -> None:
    """All of the channel's end, those in flight and those that wait, and the queue goes on."""
    with looped(card, RINGS[kind]) as loop:
        into = Memory(1 << 20)
        count = loop.depth + 5
        for _ in range(2):
            for _ in range(count):
                loop.ring.add(loop.back.file, transfer([into.piece(0, 8)]))
            loop.ring.enter()
            until(lambda: pinned() == 4 * count, "they are in flight")
            loop.ring.close()
            until(lambda: pinned() == 0, "they have ended")
            loop.ring = Ring(512, RINGS[kind])
            there_and_back(loop)
        loop.ring.close()


@by_commands
def test_a_file_closed_with_transfers_in_flight(card: Card, control: int) -> None:
    """They go on, and the channel is closed with the last of them."""
    into = Memory(10)
    with queue(card.files["in"], WRITE, control) as to, Ring(8) as ring:
        with queue(card.files["out"], READ, control) as back:
            ring.add(back.file, transfer(into))
            ring.add(back.file, transfer(into))
            ring.enter()
        assert not can_be_opened(card, "out", READ)
        to.run(transfer(Memory(b"still"), END))
        assert ring.take(1)[0].result == 5 and into.content(5) == b"still"
        assert not can_be_opened(card, "out", READ)
    until(lambda: can_be_opened(card, "out", READ), "the channel is closed")
    assert pinned() == 0


LEAVER = """
import os, sys, time
sys.path[:0] = {path!r}
from queueing import *
from rings import *
control = os.open({control!r}, os.O_RDWR)
with queue(Path({to!r}), os.O_WRONLY, control) as to, queue(Path({back!r}), os.O_RDONLY, control) as back:
    registered = Memory(1 << 20).register(control)
    ring, memory = Ring(512, {flags}), Memory(1 << 20)
    for number in range({count}):
        wanted = transfer([(registered if number % 2 else memory).piece(0, 100_000)])
        ring.add(back.file, wanted, flags={how})
        if number < 5:
            ring.add(to.file, wanted)
    ring.enter()
    print("ready", flush=True)
    {then}
"""


@by_commands
@pytest.mark.parametrize("then", ["time.sleep(1000)", "ring.take(1000)", "os._exit(0)", "pass"])
@pytest.mark.parametrize("kind", [*RINGS, "of workers"])
def test_a_program_that_goes_with_transfers_in_flight(card: Card, control: int, kind: str, then: str) -> None:
    """Killed while it sleeps or waits, or gone by itself: it is gone, its memory is free, and the next one begins anew."""
    script = LEAVER.format(
        path=sys.path[:3],
        control=str(card.files["control"]),
        to=str(card.files["in"]),
        back=str(card.files["out"]),
        flags=RINGS.get(kind, 0),
        how=ASYNC if kind == "of workers" else 0,
        count=int(card.channel(1, "queue_depth")) + 30,
        then=then,
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None and program.stdout.readline() == "ready\n"
        if "1000" in then:
            program.kill()
        program.wait(30)
    for name, way in (("in", WRITE), ("out", READ)):
        until(lambda name=name, way=way: can_be_opened(card, name, way), f"{name} is closed")  # type: ignore[misc]
    until(lambda: held() == 0, "its memory is free")
    with looped(card) as loop:
        there_and_back(loop, noise(5000, 11))


@by_commands
def test_one_of_two_programs_goes(loop: Loop) -> None:
    """With it go the other's transfers, which it shares the channel with; and the other goes on."""
    loop.back.submit(transfer(Memory(10)))
    child = os.fork()
    if child == 0:
        own = Ring(8, 0)
        own.add(loop.back.file, transfer(Memory(10)))
        own.enter()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert loop.back.collect(1)[0].status == CANCELLED
    there_and_back(loop)


@by_commands
@pytest.mark.parametrize("kind", RINGS)
def test_a_card_that_goes(card: Card, control: int, kind: str) -> None:
    """Whoever is in flight is told, and the memory is free before anybody looks."""
    with contextlib.ExitStack() as stack:
        own = stack.enter_context(opened(card.files["control"], os.O_RDWR))
        back = stack.enter_context(queue(card.files["out"], READ, own))
        ring = stack.enter_context(Ring(512, RINGS[kind]))
        memory, count = Memory(1 << 20), int(card.channel(1, "queue_depth")) + 20
        registered = Memory(1 << 20).register(own)
        for number in range(count):
            ring.add(back.file, transfer([(registered if number % 2 else memory).piece(number, 100)]))
        ring.enter()
        until(lambda: pinned() == (1 << 10) + 4 * ((count + 1) // 2), "they are in flight")
        Path("/sys/bus/pci/drivers/towpath/unbind").write_text(card.pci.name)
        assert pinned() == 0
        ends = ring.take(count)
        assert {end.result for end in ends} == {-errno.ENODEV}
        assert ring.run(back.file, transfer(memory)).result == -errno.ENODEV
    Path("/sys/bus/pci/drivers/towpath/bind").write_text(card.pci.name)
    until(lambda: "out" in card.files, "the card's files are there again")
    with looped(card) as loop:
        there_and_back(loop)


def cancel(way: Queue) -> None:
    """Whatever else comes to an end in this thread."""
    while True:
        with contextlib.suppress(InterruptedError):
            way.cancel()
            return


@by_commands
@pytest.mark.parametrize("what", ["resets", "cancels", "rings that go"])
def test_beside(card: Card, control: int, what: str) -> None:
    """Of each that is submitted one end is told, whatever happens beside it."""
    seconds = 4
    end = time.monotonic() + seconds
    told = (-errno.ECONNRESET, -errno.ECANCELED, -errno.EAGAIN)

    def traffic(to: Queue, back: Queue, seed: int) -> int:
        draw, ended = random.Random(seed), 0
        with Ring(512, 0) as ring:
            memory = Memory(noise(100_000, seed))
            while time.monotonic() < end:
                count = draw.randrange(1, 100)
                for _ in range(count):
                    way = draw.choice([to, back])
                    ring.add(way.file, transfer([memory.piece(0, draw.choice([1, 5000]))], END if way is to else 0))
                submitted = ring.enter()
                assert submitted == count
                left = count
                while left:
                    cancel(to)
                    cancel(back)
                    for gone in ring.take(left):
                        left -= 1
                        assert gone.result >= 0 or gone.result in told, gone.result
                ended += count
        return ended

    def now_and_then(to: Queue, back: Queue) -> None:
        while time.monotonic() < end:
            time.sleep(0.01)
            if what == "resets":
                fcntl.ioctl(back.file, CHANNEL_RESET)
                fcntl.ioctl(control, CARD_RESET)
            elif what == "cancels":
                cancel(back)
            else:
                with Ring(64, 0) as ring:
                    for _ in range(40):
                        ring.add(back.file, transfer(Memory(10)))
                    ring.enter()

    with queue(card.files["in"], WRITE, control) as to, queue(card.files["out"], READ, control) as back:
        threads = [Aside(traffic, to, back, 1), Aside(traffic, to, back, 2), Aside(now_and_then, to, back)]
        assert all(int(thread.finish(seconds + 60)) for thread in threads[:2])  # type: ignore[call-overload]
        threads[2].finish()
        fcntl.ioctl(control, CARD_RESET)
    until(lambda: pinned() == 0 and held() == 0, "nothing is pinned")
    with looped(card) as loop:
        there_and_back(loop)
