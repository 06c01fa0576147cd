# SPDX-License-Identifier: Apache-2.0
"""A channel's file as a queue of transfers: messages with their attributes, memory in place, batches; through the loopback core."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import mmap
import os
import random
import resource
import select
import sys
import time
from pathlib import Path

import pytest
from asking import CARD_RESET, CHANNEL_RESET, REGISTER, Aside, Register, ask, noise, opened, read_exactly, write_register
from inside import Card, Module, cards_come_and_go, until
from looping import CANCELLED, DONE, END_OF_MESSAGE, RESET, Loop, Pieces, pinned, there_and_back
from queueing import (
    ANNOUNCE,
    ATTRIBUTES,
    CHANNEL_STATISTICS,
    COUNTERS,
    END,
    EXCHANGE,
    FOR_EVER,
    FROM_CARD,
    INTERRUPT_EVENT,
    LENGTH,
    LINK_COUNTERS,
    MESSAGE_START,
    MODERATION,
    QUEUE,
    REGISTER_BUFFER,
    SECOND,
    TO_CARD,
    UNREGISTER_BUFFER,
    Completion,
    Exchange,
    InterruptEvent,
    LinkCounters,
    MakeQueue,
    Memory,
    MessageStart,
    Moderation,
    Piece,
    Queue,
    RegisterBuffer,
    Statistics,
    Transfer,
    UnregisterBuffer,
    error_of,
    queue,
    transfer,
)

READ, WRITE = os.O_RDONLY, os.O_WRONLY
LARGEST, PIECES = 4 << 20, 512


def test_a_message_with_all_that_belongs_to_it(loop: Loop) -> None:
    data = noise(100_000, 1)
    sent = loop.to.submit(transfer(Memory(data), END | ATTRIBUTES | LENGTH, length=len(data), offset=0x1234_5678, user=0xCAFE))
    start = loop.back.message_start()
    assert (start.offset, start.user) == (0x1234_5678, 0xCAFE)
    assert start.length in (0, len(data))
    into = Memory(len(data))
    found = loop.back.run(transfer(into))
    # Whether the end comes with the last byte or behind it is the card's to say.
    assert found.status in (DONE, END_OF_MESSAGE) and found.bytes == len(data) and into.content() == data
    assert (found.ticket, found.offset, found.user) == (0, 0x1234_5678, 0xCAFE)
    (done,) = loop.to.collect(1)
    assert (done.ticket, done.status, done.bytes) == (sent, DONE, len(data))


def test_a_message_of_nothing(loop: Loop) -> None:
    assert loop.to.run(transfer([], END)).status == DONE
    found = loop.back.run(transfer(Memory(10)))
    assert (found.status, found.bytes) == (END_OF_MESSAGE, 0)
    there_and_back(loop)


@pytest.mark.parametrize("seed", range(4))
def test_random_messages_in_flight(loop: Loop, seed: int) -> None:
    """Many at once, in pieces and batches, from memory registered or not: each byte comes through, in order, and no other is touched."""
    draw = random.Random(seed)
    sources, targets = ([Memory(1 << 20) for _ in range(8)] for _ in range(2))
    for number in range(8):
        if draw.random() < 0.5:
            sources[number].register(loop.control, draw.choice([TO_CARD, TO_CARD | FROM_CARD]))
        if draw.random() < 0.5:
            targets[number].register(loop.control, draw.choice([FROM_CARD, TO_CARD | FROM_CARD]))
    sizes = [0, 1, 63, 64, 65, 4095, 4096, 4097, 20_000, 300_000]
    messages = [noise(draw.choice([*sizes, draw.randrange(300_000)]), seed << 16 | number) for number in range(40)]
    arrived = 0
    for begin in range(0, len(messages), 8):
        part = messages[begin : begin + 8]
        filled, taken = [], []
        for number, data in enumerate(part):
            source, target = Pieces(draw, sources[number], len(data)), Pieces(draw, targets[number], len(data) + 1)
            source.fill(data)
            filled.append(transfer(source.listed(), END | ATTRIBUTES, offset=begin + number, user=len(data)))
            taken.append((target, transfer(target.listed())))
        ways = [(loop.to, filled), (loop.back, [wanted for _, wanted in taken])]
        draw.shuffle(ways)
        for way, transfers in ways:
            at = 0
            while at < len(transfers):
                at_once = draw.randrange(1, len(transfers) + 1)
                way.submit(*transfers[at : at + at_once])
                at += at_once
        found: list[Completion] = []
        while len(found) < len(part):
            found += loop.back.collect(draw.randrange(1, len(part) - len(found) + 1))
        for number, (completion, data, (target, _)) in enumerate(zip(found, part, taken, strict=True)):
            assert completion.ticket == arrived
            assert (completion.status, completion.bytes) == (END_OF_MESSAGE, len(data))
            if data:
                assert (completion.offset, completion.user) == (begin + number, len(data))
            assert target.content(len(data)) == data
            assert target.is_whole(len(data))
            arrived += 1
        sent = loop.to.collect(len(part))
        assert [(done.ticket, done.status, done.bytes) for done in sent] == [
            (begin + number, DONE, len(data)) for number, data in enumerate(part)
        ]
    for memory in (*sources, *targets):
        if memory.buffer:
            memory.unregister(loop.control)


def test_the_largest_transfer(loop: Loop) -> None:
    data, into = noise(LARGEST, 3), Memory(LARGEST)
    at_odds = Memory(LARGEST + 4096)
    at_odds.map[1 : 1 + LARGEST] = data
    loop.to.submit(transfer([at_odds.piece(1, LARGEST)], END))
    got = loop.back.run(transfer(into))
    assert got.bytes == LARGEST and into.content() == data
    assert loop.to.collect(1)[0].bytes == LARGEST


def test_too_much_for_one_transfer(loop: Loop) -> None:
    memory = Memory(LARGEST + 1)
    assert error_of(loop.to.submit, transfer(memory, END)) == "EMSGSIZE"
    assert error_of(loop.to.submit, transfer([memory.piece(0, 1)] * (PIECES + 1), END)) == "EMSGSIZE"
    data = noise(PIECES, 4)
    pieces = Memory(data).register(loop.control)
    ticket = loop.to.submit(transfer([pieces.piece(at, 1) for at in range(PIECES)], END))
    into = Memory(PIECES + 1)
    assert loop.back.run(transfer(into)).bytes == PIECES and into.content(PIECES) == data
    assert loop.to.collect(1)[0].ticket == ticket
    pieces.unregister(loop.control)


def test_one_call_for_a_transfer_and_one_for_many(loop: Loop, card: Card) -> None:
    """The copies that the driver makes are counted: none. Of a file's short write it makes one."""
    before = int(card.channel(0, "statistics/copied"))
    memory, into = Memory(noise(4096, 5)).register(loop.control), Memory(8 * 4096)
    argument, _ = loop.back.exchange([transfer([into.piece(4096 * number, 4096)]) for number in range(8)])
    assert argument.submitted == 8
    argument, found = loop.to.exchange([transfer(memory, END)] * 8, wanted=8)
    assert (argument.submitted, argument.collected, len(found)) == (8, 8, 8)
    loop.back.collect(8)
    assert into.content() == memory.content() * 8
    assert int(card.channel(0, "statistics/copied")) == before
    memory.unregister(loop.control)


def test_a_file_copies_once(card: Card, control: int) -> None:
    with opened(card.files["in"], WRITE | os.O_DIRECT) as to, opened(card.files["out"], READ) as back:
        before = [int(card.channel(index, "statistics/copied")) for index in range(2)]
        os.write(to, noise(4096, 6))
        assert os.read(back, 5000) == noise(4096, 6)
        after = [int(card.channel(index, "statistics/copied")) for index in range(2)]
        assert [now - then for now, then in zip(after, before, strict=True)] == [4096, 4096]
        os.write(to, noise(100_000, 6))
        assert read_exactly(back, 100_000) == noise(100_000, 6)
        assert int(card.channel(0, "statistics/copied")) == after[0]


def test_a_queue_is_no_file_and_a_file_no_queue(card: Card, control: int) -> None:
    with opened(card.files["in"], WRITE) as to:
        assert error_of(ask, to, EXCHANGE, Exchange()) == "ENOTTY"
        assert error_of(fcntl.ioctl, to, 0) == "ENOTTY"
    with queue(card.files["in"], WRITE, control) as sender:
        assert error_of(os.write, sender.file, b"x") == "EBUSY"
        assert error_of(os.fsync, sender.file) == "EBUSY"
        assert error_of(ask, sender.file, QUEUE, MakeQueue(control=-1, eventfd=-1)) == "EBUSY"
        assert sender.run(transfer([], END)).status == DONE, "and is a queue still"
        fcntl.ioctl(control, CARD_RESET)
    with opened(card.files["in"], WRITE | os.O_DIRECT) as to, opened(card.files["out"], READ) as back:
        os.write(to, b"a file again")
        assert os.read(back, 100) == b"a file again"
        ask(back, QUEUE, MakeQueue(control=-1, eventfd=-1))
        assert error_of(os.read, back, 1) == "EBUSY"


@pytest.mark.parametrize("announce", [False, True], ids=["", "announced"])
def test_a_queue_finds_what_was_sent_before(card: Card, announce: bool) -> None:
    """With O_DIRECT nothing is posted ahead: all of it is on the card. One that reads ahead is reset, and may lose it."""
    with opened(card.files["out"], os.O_RDONLY) as old:
        fcntl.ioctl(old, CHANNEL_RESET)
        fcntl.ioctl(old, QUEUE, MakeQueue(argsz=ctypes.sizeof(MakeQueue), control=-1, eventfd=-1))
    for _ in range(3):
        with opened(card.files["in"], os.O_WRONLY | os.O_DIRECT) as to:
            os.write(to, b"the first")
            os.write(to, b"and the second")
        with queue(card.files["out"], os.O_RDONLY | os.O_DIRECT, announce=announce) as back:
            for text in (b"the first", b"and the second"):
                if announce:
                    assert back.message_start().offset == 0
                assert back.run(transfer(memory := Memory(100))).bytes == len(text)
                assert memory.content(len(text)) == text


def test_waiting_has_an_end(loop: Loop) -> None:
    """What was in flight stays there, and what ended meanwhile is handed over."""
    small, into = Memory(3), Memory(100)
    loop.back.submit(transfer(small), transfer(into))
    with pytest.raises(TimeoutError) as caught:
        loop.back.exchange(wanted=1, timeout_ns=SECOND // 20)
    assert caught.value.found == []  # type: ignore[attr-defined]
    loop.to.run(transfer(Memory(b"abc"), END))
    with pytest.raises(TimeoutError) as caught:
        loop.back.exchange(wanted=2, timeout_ns=SECOND // 2)
    assert [done.bytes for done in caught.value.found] in ([3], [3, 0])  # type: ignore[attr-defined]
    assert small.content() == b"abc"
    loop.to.run(transfer(Memory(b"later"), END))
    bytes_found = [done.bytes for done in loop.back.exchange(wanted=1)[1]]
    assert bytes_found == [5] or bytes_found == []
    # None is in flight that could be waited for.
    loop.back.cancel()
    loop.back.exchange()
    assert loop.back.exchange(wanted=5)[1] == []


def test_a_signal_ends_waiting(loop: Loop) -> None:
    into = Memory(10)
    loop.back.submit(transfer(into))
    child = os.fork()
    if child == 0:
        import signal

        signal.signal(signal.SIGALRM, lambda *_: None)
        signal.siginterrupt(signal.SIGALRM, True)
        signal.setitimer(signal.ITIMER_REAL, 0.2, 0.2)
        libc = ctypes.CDLL(None, use_errno=True)
        argument = Exchange(argsz=ctypes.sizeof(Exchange), completions=0, wanted=0, timeout_ns=FOR_EVER)
        room = (ctypes.c_char * 64)()
        argument.completion, argument.completions, argument.wanted = ctypes.addressof(room), 1, 1
        result = libc.ioctl(loop.back.file, ctypes.c_ulong(EXCHANGE), ctypes.byref(argument))
        os._exit(0 if result == -1 and ctypes.get_errno() == errno.EINTR else 1)
    assert os.waitpid(child, 0)[1] == 0
    loop.to.run(transfer(Memory(b"whole"), END))
    assert loop.back.collect(1)[0].bytes == 5


def test_one_submits_while_another_waits(loop: Loop) -> None:
    first, second = Memory(10), Memory(10)
    loop.back.submit(transfer(first))
    waiting = Aside(loop.back.collect, 2)
    time.sleep(0.1)
    loop.back.submit(transfer(second))
    assert waiting.is_alive()
    loop.to.submit(transfer(Memory(b"one"), END), transfer(Memory(b"two"), END))
    assert [done.bytes for done in waiting.finish()] == [3, 3]  # type: ignore[attr-defined]
    assert (first.content(3), second.content(3)) == (b"one", b"two")


def test_a_queue_that_is_full(loop: Loop, card: Card) -> None:
    """It takes what there is room for, and says how much that was."""
    memory = Memory(64)
    pages = Memory(10 << 12)
    taken = 0
    with contextlib.suppress(BlockingIOError):
        while True:
            argument, _ = loop.back.exchange([transfer([pages.piece(page << 12, 64)]) for page in range(10)], room=0)
            assert argument.ticket == taken
            taken += argument.submitted
    assert taken == int(card.channel(1, "queue_depth"))
    poll = select.poll()
    poll.register(loop.back.file, select.POLLIN | select.POLLOUT)
    assert poll.poll(0) == []
    loop.back.cancel()
    found = loop.back.collect(taken)
    assert [(done.ticket, done.status) for done in found] == [(ticket, CANCELLED) for ticket in range(taken)]
    assert poll.poll(0)[0][1] == select.POLLOUT
    there_and_back_after = Memory(b"x")
    loop.to.run(transfer(there_and_back_after, END))
    assert loop.back.run(transfer(memory)).bytes == 1


def test_a_cancel_tells_how_far_it_came(loop: Loop) -> None:
    into = Memory(1 << 20)
    loop.back.submit(transfer(into), transfer(Memory(10)))
    data = noise(4096, 8)
    loop.to.run(transfer(Memory(data)))
    until(lambda: into.content(2048) == data[:2048], "bytes are there")
    loop.back.cancel()
    first, second = loop.back.collect(2)
    assert (first.status, second.status, second.bytes) == (CANCELLED, CANCELLED, 0)
    assert into.content(first.bytes) == data[: first.bytes]
    # The message goes on with what the card still has.
    rest = Memory(5000)
    loop.to.run(transfer(Memory(b"the end"), END))
    got = loop.back.run(transfer(rest))
    assert data[first.bytes :] + b"the end" == rest.content(got.bytes)


def test_resets_of_ones_own(loop: Loop) -> None:
    """What is in flight says so, and the queue goes on; a call that waits is not disturbed but by that."""
    for reset in (
        lambda: fcntl.ioctl(loop.back.file, CHANNEL_RESET),
        lambda: fcntl.ioctl(loop.control, CARD_RESET),
    ):
        into = Memory(10)
        loop.back.submit(transfer(into))
        waiting = Aside(loop.back.collect, 1)
        time.sleep(0.1)
        reset()
        assert [done.status for done in waiting.finish()] == [RESET]  # type: ignore[attr-defined]
        there_and_back(loop)
        reset()
        there_and_back(loop)


def test_a_reset_of_somebody_elses_is_told_once(loop: Loop, card: Card) -> None:
    with opened(card.files["control"], os.O_RDWR) as other:
        loop.back.submit(transfer(Memory(10)))
        fcntl.ioctl(other, CARD_RESET)
        # By the status of what was in flight, or else by an error.
        assert loop.back.collect(1)[0].status == RESET
        assert error_of(loop.to.submit, transfer(Memory(b"x"), END)) == "ECONNRESET"
        there_and_back(loop)


def test_a_reset_of_somebody_elses_in_mid_message(loop: Loop, card: Card) -> None:
    """What is submitted unawares is no message of its own; the call that is refused tells why, if there is room to."""
    rest = transfer(Memory(b"the rest"), END)
    with opened(card.files["control"], os.O_RDWR) as other:
        for collects in (False, True):
            loop.to.submit(transfer(Memory(1 << 20)))
            fcntl.ioctl(other, CARD_RESET)
            assert error_of(loop.back.submit, transfer(Memory(10))) == "ECONNRESET"
            if collects:
                with pytest.raises(ConnectionResetError) as told:
                    loop.to.exchange([rest], room=8)
                found = told.value.found  # type: ignore[attr-defined]
            else:
                for _ in range(2):
                    assert error_of(loop.to.submit, rest) == "ECONNRESET"
                found = loop.to.collect(1)
            assert [done.status for done in found] == [RESET]
            there_and_back(loop)


def test_message_starts(loop: Loop) -> None:
    assert error_of(loop.back.message_start, timeout_ns=SECOND // 50) == "ETIMEDOUT"
    waiting = Aside(loop.back.message_start)
    time.sleep(0.05)
    loop.to.submit(*(transfer(Memory(bytes([number]) * 200), END | ATTRIBUTES, offset=number) for number in (7, 8)))
    assert waiting.finish().offset == 7  # type: ignore[attr-defined]
    assert [loop.back.message_start().offset for _ in range(3)] == [7, 7, 7], "it does not consume"
    assert loop.back.run(transfer(Memory(1000))).offset == 7
    assert loop.back.message_start().offset == 8
    loop.back.run(transfer(Memory(1000)))
    assert error_of(loop.back.message_start, timeout_ns=0) == "ETIMEDOUT"
    assert error_of(ask, loop.to.file, MESSAGE_START, MessageStart()) == "EINVAL"


def test_news_on_an_eventfd(card: Card, control: int) -> None:
    news = os.eventfd(0, os.EFD_NONBLOCK)
    with queue(card.files["in"], WRITE, control) as to, queue(card.files["out"], READ, control, news, announce=True) as back:
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(news)
        poll = select.poll()
        poll.register(news, select.POLLIN)
        poll.register(back.file, select.POLLIN)
        assert poll.poll(50) == []
        to.run(transfer(Memory(b"hello"), END))
        assert {found for found, _ in poll.poll(20_000)} <= {news, back.file}
        until(lambda: len(poll.poll(0)) == 2, "a message's start is news")
        os.eventfd_read(news)
        back.message_start()
        assert poll.poll(0) == [], "until it was asked for"
        back.submit(transfer(Memory(100)))
        until(lambda: news in dict(poll.poll(0)), "so is a transfer's end")
        assert back.collect(1)[0].bytes == 5
        assert back.file not in dict(poll.poll(0))
    os.close(news)


def test_user_interrupts_on_an_eventfd(control: int, loop: Loop) -> None:
    news = os.eventfd(0, os.EFD_NONBLOCK)
    ask(control, INTERRUPT_EVENT, InterruptEvent(index=0, eventfd=news))
    there_and_back(loop)  # the core raises its interrupt with each message
    poll = select.poll()
    poll.register(news, select.POLLIN)
    assert poll.poll(20_000)
    os.eventfd_read(news)
    ask(control, INTERRUPT_EVENT, InterruptEvent(index=0, eventfd=-1))
    there_and_back(loop)
    assert poll.poll(100) == []
    assert error_of(ask, control, INTERRUPT_EVENT, InterruptEvent(index=1, eventfd=news)) == "ENXIO"
    assert error_of(ask, control, INTERRUPT_EVENT, InterruptEvent(index=0, eventfd=control)) == "EINVAL"
    os.close(news)


def test_registered_memory(loop: Loop) -> None:
    memory = Memory(noise(3 << 20, 9)).register(loop.control)
    assert pinned() == 3 << 10
    into = Memory(100).register(loop.control, FROM_CARD)
    loop.back.submit(transfer(into))
    assert error_of(into.unregister, loop.control) == "EBUSY"
    loop.to.run(transfer([memory.piece(2 << 20, 50)], END))
    assert loop.back.collect(1)[0].bytes == 50
    assert into.content(50) == memory.content()[2 << 20 :][:50]
    # What a program must not name.
    for expected, way, piece in (
        ("EACCES", loop.to, into.piece()),
        ("EFAULT", loop.to, memory.piece(1, memory.bytes)),
        ("EFAULT", loop.to, memory.piece(-1, 1)),
        ("EFAULT", loop.to, memory.piece(memory.bytes, 1)),
        ("EFAULT", loop.to, Piece(address=memory.address, bytes=1 << 22, buffer=memory.buffer)),
        ("ENOENT", loop.to, Piece(address=memory.address, bytes=1, buffer=memory.buffer + 100)),
        ("EFAULT", loop.back, Piece(address=4096, bytes=100)),
        ("EFAULT", loop.back, Piece(address=2**64 - 50, bytes=100)),
        ("EINVAL", loop.to, Piece(address=memory.address, bytes=1, buffer=memory.buffer, reserved=1)),
    ):
        assert error_of(way.submit, transfer([piece], END if way is loop.to else 0)) == expected, (expected, piece.address)
    into.unregister(loop.control)
    assert error_of(ask, loop.control, UNREGISTER_BUFFER, UnregisterBuffer(buffer=memory.buffer + 100)) == "ENOENT"
    memory.unregister(loop.control)
    assert pinned() == 0


def test_memory_that_is_written_after_it_was_registered(loop: Loop) -> None:
    """For the card to read alone, and not touched before: it must not see the zeroes that were there."""
    memory, into = Memory(5 << 12).register(loop.control, TO_CARD), Memory(6 << 12)
    data = noise(memory.bytes, 12)
    memory.map[:] = data
    loop.to.submit(transfer(memory, END))
    assert loop.back.run(transfer(into)).bytes == len(data) and into.content(len(data)) == data
    loop.to.collect(1)
    memory.unregister(loop.control)


def test_resets_beside_transfers(loop: Loop) -> None:
    """A program's own resets, at any moment, end transfers and nothing else."""
    resets, ended = 0, False

    def reset() -> None:
        nonlocal resets
        while not ended:
            fcntl.ioctl(loop.to.file, CHANNEL_RESET)
            resets += 1

    resetting = Aside(reset)
    memory, seen = Memory(noise(1000, 13)), set()
    # Nobody reads what comes back: once the card is full, only a reset ends them.
    while resets < 40:
        for done in loop.to.exchange([transfer(memory, END)] * 4, wanted=4)[1]:
            seen.add(done.status)
    ended = True
    resetting.finish()
    assert seen <= {DONE, RESET}


def test_what_the_card_may_write_must_be_writable(loop: Loop) -> None:
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    address = libc.mmap(None, ctypes.c_size_t(4096), mmap.PROT_READ, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    assert error_of(loop.back.submit, transfer([Piece(address=address, bytes=100)])) == "EFAULT"
    wanted = RegisterBuffer(flags=FROM_CARD, address=address, bytes=4096)
    assert error_of(ask, loop.control, REGISTER_BUFFER, wanted) == "EFAULT"


def test_pinned_memory_has_a_limit(loop: Loop) -> None:
    """One who is not root may pin as much as it may lock."""
    memory = Memory(1 << 20)
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (1 << 19, 1 << 19))
        os.setuid(65534)
        wanted = RegisterBuffer(flags=TO_CARD, address=memory.address, bytes=1 << 20)
        first = error_of(ask, loop.control, REGISTER_BUFFER, wanted)
        wanted.bytes = 1 << 18
        second = error_of(ask, loop.control, REGISTER_BUFFER, wanted)
        third = error_of(loop.to.submit, transfer([memory.piece(0, (1 << 18) + 1)], END))
        os._exit(0 if (first, second, third) == ("ENOMEM", "none", "ENOMEM") else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_buffers_belong_to_a_control_file(card: Card, loop: Loop) -> None:
    with opened(card.files["control"], os.O_RDWR) as other:
        theirs = Memory(100).register(other)
        assert error_of(loop.to.submit, transfer(theirs, END)) == "ENOENT"
        with pytest.raises(OSError, match="No such file"):
            theirs.unregister(loop.control)
    assert pinned() == 0, "closing the file unregisters"


def test_a_control_file_may_be_closed_before_its_queue(card: Card, driver: Module) -> None:
    control = os.open(card.files["control"], os.O_RDWR)
    with queue(card.files["in"], WRITE, control) as to, queue(card.files["out"], READ, control) as back:
        source, target = Memory(b"still there").register(control), Memory(100).register(control)
        back.submit(transfer(target))
        os.close(control)
        assert error_of(to.submit, transfer(source, END)) == "ENOENT"
        assert pinned() == 4, "the one in flight stays"
        to.run(transfer([Piece(address=source.address, bytes=source.bytes)], END))
        assert back.collect(1)[0].bytes == 11 and target.content(11) == b"still there"
    assert pinned() == 0


def test_a_queue_wants_this_cards_control_file(cards: list[Card], control: int) -> None:
    with opened(cards[1].files["control"], os.O_RDWR) as other, opened(cards[0].files["in"], WRITE) as to:
        for descriptor, expected in ((other, "EINVAL"), (to, "EINVAL"), (12345, "EBADF")):
            assert error_of(ask, to, QUEUE, MakeQueue(control=descriptor, eventfd=-1)) == expected
        assert error_of(ask, to, QUEUE, MakeQueue(control=-1, eventfd=to)) == "EINVAL"
        assert error_of(ask, to, QUEUE, MakeQueue(flags=ANNOUNCE, control=-1, eventfd=-1)) == "EINVAL", "it is for the other way"
        assert error_of(ask, to, QUEUE, MakeQueue(flags=2, control=-1, eventfd=-1)) == "EINVAL"
        os.write(to, b"still a file")
        fcntl.ioctl(to, CHANNEL_RESET)


def test_bad_arguments(loop: Loop) -> None:
    memory = Memory(b"x")
    for bad in (
        Transfer(flags=8),
        Transfer(flags=END, reserved=1),
        Transfer(flags=END, length=1),
        Transfer(flags=END, user=1),
        Transfer(flags=END, offset=1),
        Transfer(flags=END | LENGTH, length=1 << 48),
    ):
        assert error_of(loop.to.submit, bad) == "EINVAL"
    assert error_of(loop.back.submit, transfer(memory, END)) == "EINVAL"
    assert error_of(loop.to.submit, Transfer(flags=END, count=1, pieces=8)) == "EFAULT"
    for expected, argument in (
        ("EINVAL", Exchange(reserved=1)),
        ("EINVAL", Exchange(wanted=1)),
        ("EINVAL", Exchange(flags=1)),
        ("EFAULT", Exchange(transfers=1, transfer=8)),
    ):
        assert error_of(ask, loop.to.file, EXCHANGE, argument) == expected
    # Completions that cannot be handed over wait for the next call.
    ticket = loop.to.submit(transfer(memory, END))
    assert error_of(ask, loop.to.file, EXCHANGE, Exchange(completion=8, completions=1, wanted=1, timeout_ns=FOR_EVER)) == "EFAULT"
    assert loop.to.collect(1)[0].ticket == ticket


def test_counters(loop: Loop, card: Card) -> None:
    counters = LinkCounters()
    ask(loop.control, LINK_COUNTERS, counters)
    for name in COUNTERS[:-1]:
        assert getattr(counters, name) == card.counter(f"towpath/{card.name}!control/link/{name}")
    before, after = Statistics(), Statistics()
    ask(loop.to.file, CHANNEL_STATISTICS, before)
    there_and_back(loop, noise(1000, 10))
    ask(loop.to.file, CHANNEL_STATISTICS, after)
    assert (after.submitted - before.submitted, after.completed - before.completed, after.bytes - before.bytes) == (1, 1, 1000)
    assert after.unexpected == 0


def interrupts_for(to: Queue, back: Queue) -> int:
    """How many it takes to tell of 32 transfers, sent by eights."""
    before, after = Statistics(), Statistics()
    ask(to.file, CHANNEL_STATISTICS, before)
    for _ in range(4):
        back.submit(*[transfer(Memory(10))] * 8)
        to.exchange([transfer(Memory(b"x"), END)] * 8, wanted=8)
        back.collect(8)
    ask(to.file, CHANNEL_STATISTICS, after)
    return int(after.interrupts - before.interrupts)


def test_moderation(card: Card, control: int) -> None:
    """Many completions, few interrupts; it survives a reset, and is off for the next who opens the channel."""
    with queue(card.files["out"], READ, control) as back:
        with queue(card.files["in"], WRITE, control) as to:
            ask(to.file, MODERATION, Moderation(entries=8, time=0xFFFF))
            fcntl.ioctl(to.file, CHANNEL_RESET)
            few = interrupts_for(to, back)
            assert error_of(ask, to.file, MODERATION, Moderation(reserved=1)) == "EINVAL"
        with queue(card.files["in"], WRITE, control) as to:
            many = interrupts_for(to, back)
            ask(to.file, MODERATION, Moderation(entries=8, time=0xFFFF))
            assert interrupts_for(to, back) < many
    assert few < many


@pytest.mark.parametrize("how", ["killed", "closed"])
def test_one_who_leaves_with_transfers_in_flight(card: Card, control: int, how: str) -> None:
    """Its memory is free, the channel is empty, and the next one begins anew."""
    script = f"""
import os, sys, time
sys.path[:0] = {sys.path[:3]!r}
from queueing import *
control, to, back = (Path({str(card.files["control"].parent)!r}, name) for name in ("control", "in", "out"))
control = os.open(control, os.O_RDWR)
with queue(to, os.O_WRONLY, control) as to, queue(back, os.O_RDONLY, control) as back:
    memory = Memory(1 << 20).register(control)
    to.submit(transfer(memory), transfer(memory), transfer(Memory(1 << 20)))
    back.submit(*[transfer(memory)] * 5)
    print("ready", flush=True)
    time.sleep(0 if {how == "closed"} else 1000)
"""
    import subprocess

    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None and program.stdout.readline() == "ready\n"
        if how == "killed":
            program.kill()
        program.wait(30)
    with queue(card.files["in"], WRITE, control) as to, queue(card.files["out"], READ, control, announce=True) as back:
        there_and_back(Loop(control, to, back), noise(5000, 11))


@pytest.mark.parametrize("how", ["unbound", pytest.param("pulled out", marks=cards_come_and_go)])
def test_a_card_that_goes(card: Card, control: int, how: str) -> None:
    """Who waits is told, and the program has its memory back at once, though its files are open."""
    news = os.eventfd(0, os.EFD_NONBLOCK)
    with contextlib.ExitStack() as stack:
        own = stack.enter_context(opened(card.files["control"], os.O_RDWR))
        to = stack.enter_context(queue(card.files["in"], WRITE, own))
        back = stack.enter_context(queue(card.files["out"], READ, own, news, announce=True))
        memory = Memory(1 << 20).register(own)
        # More than is going to come, however long the card has.
        back.submit(transfer(memory), transfer(Memory(LARGEST)))
        to.submit(*[transfer(memory)] * 3)
        waits = [Aside(back.collect, 2), Aside(back.message_start, 50 * SECOND)]
        time.sleep(0.2)
        if how == "unbound":
            Path("/sys/bus/pci/drivers/towpath/unbind").write_text(card.pci.name)
        else:
            card.kill()
        for wait in waits:
            with contextlib.suppress(OSError):
                found = wait.finish()
                # A message had begun, if the core had got so far.
                assert isinstance(found, MessageStart)
                continue
            assert isinstance(wait.error, OSError) and wait.error.errno == errno.ENODEV, wait.error
        assert os.eventfd_read(news) > 0
        until(lambda: pinned() == 0, "its memory is free")
        for call in (lambda: to.submit(transfer(memory)), lambda: back.collect(1), back.message_start, back.cancel):
            assert error_of(call) == "ENODEV"
        assert error_of(ask, own, REGISTER, Register()) == "ENODEV"
    if how == "unbound":
        Path("/sys/bus/pci/drivers/towpath/bind").write_text(card.pci.name)
    else:
        card.start()
    os.close(news)
    until(lambda: "out" in card.files, "the card's files are there again")
    with opened(card.files["control"], os.O_RDWR) as own, queue(card.files["in"], WRITE, own) as to:
        write_register(own, 4, 1)
        to.run(transfer(Memory(b"x"), END))
