# SPDX-License-Identifier: Apache-2.0
"""Memory that the driver makes for programs, and memory of other drivers (dma-buf), through the loopback core."""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
import random
import re
import resource
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from asking import CARD_RESET, CHANNEL_RESET, Aside, ask, noise, opened
from exporters import BEYOND, OVERWRITTEN, PAGE, RAW, READ_ONLY, SHORT, Exporter, from_heap, from_memory_file
from inside import IN_QEMU, Card, KernelLog, cards_come_and_go, until
from looping import CANCELLED, DONE, END_OF_MESSAGE, Loop, Pieces, pinned, there_and_back
from queueing import (
    ALLOCATE_BUFFER,
    END,
    FROM_CARD,
    IMPORT_BUFFER,
    TO_CARD,
    UNREGISTER_BUFFER,
    AllocateBuffer,
    Allocated,
    Buffer,
    ImportBuffer,
    Imported,
    Memory,
    Piece,
    Queue,
    UnregisterBuffer,
    error_of,
    queue,
    transfer,
)
from rings import Ring, by_commands

MEGABYTE = 1 << 20


def imported(control: int, descriptor: int, flags: int = TO_CARD | FROM_CARD) -> Imported:
    """The import and its mapping are enough: the descriptor is closed."""
    try:
        return Imported(control, descriptor, flags)
    finally:
        os.close(descriptor)


def give_up(loop: Loop, *buffers: Buffer) -> None:
    for buffer in buffers:
        if not isinstance(buffer, Memory):
            buffer.map.close()
        if buffer.buffer:
            buffer.unregister(loop.control)


@pytest.mark.parametrize("seed", range(4))
def test_random_messages_between_all_kinds_of_memory(loop: Loop, exporter: Exporter, seed: int) -> None:
    """In pieces, at any places: each byte comes through, in order, and no other is touched."""
    draw = random.Random(seed)
    kinds: list[Callable[[], Buffer]] = [
        lambda: Memory(MEGABYTE),
        lambda: Memory(MEGABYTE).register(loop.control),
        lambda: Allocated(loop.control, MEGABYTE),
        lambda: imported(loop.control, exporter.export(MEGABYTE)),
        lambda: imported(loop.control, from_heap(MEGABYTE)),
        lambda: imported(loop.control, from_memory_file(MEGABYTE)),
    ]
    sources, targets = ([kind() for kind in draw.sample(kinds, len(kinds))] for _ in range(2))
    for _ in range(6):
        sizes = [draw.choice([0, 1, 64, 4095, 4096, 4097, 20_000, 300_000, draw.randrange(300_000)]) for _ in sources]
        messages = [noise(size, draw.randrange(1 << 30)) for size in sizes]
        filled = [Pieces(draw, source, len(data)) for source, data in zip(sources, messages, strict=True)]
        taken = [Pieces(draw, target, len(data) + 1) for target, data in zip(targets, messages, strict=True)]
        for pieces, data in zip(filled, messages, strict=True):
            pieces.fill(data)
        # A queue has room for eight.
        for begin in (0, 3):
            loop.to.submit(*(transfer(pieces.listed(), END) for pieces in filled[begin : begin + 3]))
            loop.back.submit(*(transfer(pieces.listed()) for pieces in taken[begin : begin + 3]))
            for into, data, found in zip(taken[begin : begin + 3], messages[begin : begin + 3], loop.back.collect(3), strict=True):
                assert (found.status, found.bytes) == (END_OF_MESSAGE, len(data))
                assert into.content(len(data)) == data and into.is_whole(len(data))
            assert [done.status for done in loop.to.collect(3)] == [DONE] * 3
    give_up(loop, *sources, *targets)


def test_new_memory(loop: Loop) -> None:
    """As much as was asked for and a little more, empty, and on the program's account; more than one transfer can move."""
    small, large = Allocated(loop.control, 1), Allocated(loop.control, (9 << 20) + 1)
    assert (small.bytes, large.bytes) == (PAGE, (9 << 20) + PAGE)
    assert pinned() * 1024 == small.bytes + large.bytes
    assert not any(small.content()) and large.content().count(0) == large.bytes
    data = noise(3 << 20, 1)
    large.map[: 3 << 20] = data
    loop.to.submit(transfer([large.piece(0, 3 << 20)], END))
    assert loop.back.run(transfer([large.piece(5 << 20, 3 << 20)])).bytes == 3 << 20
    assert large.map[5 << 20 : 8 << 20] == data and not any(large.map[3 << 20 : 5 << 20])
    loop.to.collect(1)
    give_up(loop, small, large)
    assert pinned() == 0


def test_new_memory_is_given_back(loop: Loop) -> None:
    """More of it, one after the other, than the machine has."""
    page, pages = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_PHYS_PAGES")
    wanted = AllocateBuffer(flags=FROM_CARD, bytes=page * pages // 10)
    for _ in range(15):
        ask(loop.control, ALLOCATE_BUFFER, wanted)
        ask(loop.control, UNREGISTER_BUFFER, UnregisterBuffer(buffer=wanted.buffer))
    assert pinned() == 0


def test_new_memory_mapped_often(loop: Loop, card: Card) -> None:
    """By several, who see the same; it stays for as long as one has it, whatever is closed."""
    buffer = Allocated(loop.control, 2 * PAGE)
    again = buffer.mapped(loop.control)
    child = os.fork()
    if child == 0:
        again[PAGE:] = b"c" * PAGE
        signal.pause()
    until(lambda: buffer.map[PAGE:] == b"c" * PAGE, "the child has written")
    buffer.map.close()
    again.close()
    assert error_of(buffer.unregister, loop.control) == "EBUSY"
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    buffer.unregister(loop.control)
    with opened(card.files["control"], os.O_RDWR) as other:
        kept = Allocated(other, PAGE)
    assert pinned() == 4
    kept.map[:4] = b"kept"
    assert kept.map[:4] == b"kept"
    kept.map.close()
    assert pinned() == 0


def test_what_is_no_new_memory(loop: Loop, card: Card) -> None:
    for wanted, expected in (
        (AllocateBuffer(flags=0, bytes=1), "EINVAL"),
        (AllocateBuffer(flags=4, bytes=1), "EINVAL"),
        (AllocateBuffer(flags=3, bytes=0), "EINVAL"),
        (AllocateBuffer(flags=3, bytes=1, reserved=1), "EINVAL"),
        (AllocateBuffer(flags=3, bytes=1 << 40), "ENOMEM"),
        (AllocateBuffer(flags=3, bytes=1 << 62), "ENOMEM"),
        (AllocateBuffer(flags=3, bytes=2**64 - 1), "ENOMEM"),
    ):
        assert error_of(ask, loop.control, ALLOCATE_BUFFER, wanted) == expected, wanted.bytes
    # More than the machine has; what was found of it goes back.
    assert error_of(ask, loop.control, ALLOCATE_BUFFER, AllocateBuffer(flags=3, bytes=1 << 36)) == "ENOMEM"
    assert pinned() == 0
    buffer, registered = Allocated(loop.control, 2 * PAGE, TO_CARD), Memory(PAGE).register(loop.control)
    into = Allocated(loop.control, PAGE, FROM_CARD)

    def mapped(
        count: int = PAGE, offset: int = buffer.offset, flags: int = mmap.MAP_SHARED, prot: int = 3, file: int = loop.control
    ) -> None:
        mmap.mmap(file, count, flags, prot, offset=offset).close()

    mapped()
    assert error_of(mapped, flags=mmap.MAP_PRIVATE) == "EINVAL"
    assert error_of(mapped, count=3 * PAGE) == "ENXIO"
    assert error_of(mapped, offset=registered.buffer * PAGE) == "EINVAL"
    assert error_of(mapped, offset=(into.buffer + 100) * PAGE) == "EINVAL"
    assert error_of(mapped, offset=1 << 62) == "EINVAL"
    with opened(card.files["control"], os.O_RDONLY) as other:
        assert error_of(mapped, file=other) == "EACCES"
        assert error_of(mapped, file=other, prot=mmap.PROT_READ) == "EINVAL"
        # Whoever may only read may have memory all the same, and see it.
        theirs = AllocateBuffer(flags=FROM_CARD, bytes=PAGE)
        ask(other, ALLOCATE_BUFFER, theirs)
        assert error_of(mapped, file=other, offset=theirs.offset, prot=mmap.PROT_READ) == "none"
        assert error_of(mapped, file=other, offset=theirs.offset) == "EACCES"
        assert error_of(loop.back.submit, transfer([Piece(address=0, bytes=1, buffer=100)])) == "ENOENT"
    for expected, way, piece in (
        ("EACCES", loop.to, into.piece()),
        ("EACCES", loop.back, buffer.piece()),
        ("EFAULT", loop.to, buffer.piece(1, buffer.bytes)),
        ("EFAULT", loop.to, buffer.piece(buffer.bytes, 1)),
        ("EFAULT", loop.to, Piece(address=2**64 - 1, bytes=2, buffer=buffer.buffer)),
    ):
        assert error_of(way.submit, transfer([piece], END if way is loop.to else 0)) == expected, (expected, piece.address)
    registered.unregister(loop.control)
    give_up(loop, buffer, into)
    there_and_back(loop)


def test_new_memory_has_a_limit(loop: Loop, exporter: Exporter) -> None:
    descriptor = exporter.export((1 << 19) + PAGE)
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (1 << 19, 1 << 19))
        os.setuid(65534)
        wanted = AllocateBuffer(flags=TO_CARD, bytes=(1 << 19) + 1)
        first = error_of(ask, loop.control, ALLOCATE_BUFFER, wanted)
        wanted.bytes = 1 << 19
        second = error_of(ask, loop.control, ALLOCATE_BUFFER, wanted)
        third = error_of(ask, loop.control, ALLOCATE_BUFFER, AllocateBuffer(flags=TO_CARD, bytes=1))
        fourth = error_of(ask, loop.control, IMPORT_BUFFER, ImportBuffer(flags=TO_CARD, dmabuf=descriptor))
        os._exit(0 if (first, second, third, fourth) == ("ENOMEM", "none", "ENOMEM", "ENOMEM") else 1)
    os.close(descriptor)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("how", ["unbound", pytest.param("pulled out", marks=cards_come_and_go)])
def test_a_card_that_goes(card: Card, control: int, exporter: Exporter, how: str) -> None:
    """Its buffers are the programs' still, and those of other drivers are given back."""
    descriptor = exporter.export(PAGE)
    with queue(card.files["in"], os.O_WRONLY, control) as to, queue(card.files["out"], os.O_RDONLY, control) as back:
        buffer, theirs = Allocated(control, PAGE), Imported(control, descriptor)
        # Exporters that hold on to what they have mapped once.
        others = [imported(control, from_heap(PAGE)), imported(control, from_memory_file(PAGE))]
        back.submit(*map(transfer, others))
        buffer.map[:5] = b"stays"
        assert exporter.importers(descriptor) == 1
        back.submit(transfer(theirs), transfer(buffer))
        if how == "unbound":
            Path("/sys/bus/pci/drivers/towpath/unbind").write_text(card.pci.name)
        else:
            card.kill()
        assert exporter.importers(descriptor) == 0
        exporter.take_back(descriptor)
        assert buffer.map[:5] == b"stays" and theirs.map[:] == OVERWRITTEN * PAGE
        assert error_of(buffer.mapped, control) == "ENODEV"
        assert error_of(Allocated, control, 1) == "ENODEV"
        assert error_of(to.submit, transfer(buffer, END)) == "ENODEV"
        # Nor does what nobody has collected need them.
        buffer.map.close()
        for kept in (buffer, theirs, *others):
            kept.unregister(control)
    assert pinned() == 0
    if how == "unbound":
        Path("/sys/bus/pci/drivers/towpath/bind").write_text(card.pci.name)
    else:
        card.start()
    until(lambda: "out" in card.files, "the card is there again")
    os.close(descriptor)


def test_an_import_ends(loop: Loop, card: Card, exporter: Exporter) -> None:
    """By its handle, or with its control file; before, it does not need its descriptor."""
    descriptor = exporter.export(2 * PAGE)
    first, second = Imported(loop.control, descriptor), Imported(loop.control, descriptor, TO_CARD)
    assert exporter.importers(descriptor) == 2 and pinned() * 1024 == 4 * PAGE
    first.map[:3] = b"abc"
    into = Memory(10)
    loop.to.submit(transfer([second.piece(1, 2)], END))
    assert loop.back.run(transfer(into)).bytes == 2 and into.content(2) == b"bc"
    loop.to.collect(1)
    first.unregister(loop.control)
    assert exporter.importers(descriptor) == 1
    second.unregister(loop.control)
    assert exporter.importers(descriptor) == 0 and pinned() == 0
    with opened(card.files["control"], os.O_RDWR) as other:
        ask(other, IMPORT_BUFFER, ImportBuffer(flags=TO_CARD, dmabuf=descriptor))
        assert exporter.importers(descriptor) == 1
    assert exporter.importers(descriptor) == 0
    os.close(descriptor)


def test_what_cannot_be_imported(loop: Loop, exporter: Exporter) -> None:
    good, lent, for_writing = exporter.export(PAGE), exporter.export(PAGE, READ_ONLY), from_heap(PAGE, os.O_WRONLY)
    null = os.open("/dev/null", os.O_RDWR)
    closed = os.dup(null)
    os.close(closed)
    for wanted, expected in (
        (ImportBuffer(flags=3, dmabuf=closed), "EBADF"),
        (ImportBuffer(flags=3, dmabuf=-1), "EBADF"),
        (ImportBuffer(flags=3, dmabuf=null), "EINVAL"),
        (ImportBuffer(flags=3, dmabuf=loop.control), "EINVAL"),
        (ImportBuffer(flags=0, dmabuf=good), "EINVAL"),
        (ImportBuffer(flags=4, dmabuf=good), "EINVAL"),
        (ImportBuffer(flags=3, dmabuf=lent), "EACCES"),
        (ImportBuffer(flags=2, dmabuf=lent), "EACCES"),
        (ImportBuffer(flags=1, dmabuf=for_writing), "EACCES"),
        (ImportBuffer(flags=3, dmabuf=for_writing), "EACCES"),
    ):
        assert error_of(ask, loop.control, IMPORT_BUFFER, wanted) == expected, (wanted.flags, wanted.dmabuf)
    wanted = ImportBuffer(flags=TO_CARD, dmabuf=lent)
    ask(loop.control, IMPORT_BUFFER, wanted)
    assert wanted.bytes == PAGE and exporter.importers(lent) == 1
    assert error_of(loop.back.submit, transfer([Piece(address=0, bytes=1, buffer=wanted.buffer)])) == "EACCES"
    assert error_of(loop.to.submit, transfer([Piece(address=1, bytes=PAGE, buffer=wanted.buffer)], END)) == "EFAULT"
    exporter.take_back(good)
    assert error_of(Imported, loop.control, good) == "ENODEV"
    taken = ImportBuffer(flags=FROM_CARD, dmabuf=for_writing)
    ask(loop.control, IMPORT_BUFFER, taken)
    for buffer in (wanted.buffer, taken.buffer):
        ask(loop.control, UNREGISTER_BUFFER, UnregisterBuffer(buffer=buffer))
    for file in (null, good, lent, for_writing):
        os.close(file)


def through(loop: Loop, source: Buffer) -> None:
    """A message out of this memory, into a transfer that is under way."""
    loop.to.submit(transfer(source, END))
    assert [found.status for found in loop.back.collect(1)] == [END_OF_MESSAGE]
    assert [done.status for done in loop.to.collect(1)] == [DONE]


WRONG = {"raw": (RAW, "has mapped nothing"), "beyond": (BEYOND, "cannot reach"), "short": (SHORT, "more or less")}


@pytest.mark.parametrize(("flag", "said"), WRONG.values(), ids=WRONG)
def test_memory_that_is_mapped_wrongly(loop: Loop, exporter: Exporter, kernel_log: KernelLog, flag: int, said: str) -> None:
    """It is refused by its exporter's name, and all else goes on. Without an IOMMU raw addresses are the right ones."""
    descriptor, data = exporter.export(MEGABYTE, flag), noise(MEGABYTE, flag)
    into, own = imported(loop.control, exporter.export(MEGABYTE)), Memory(data).register(loop.control)

    def use() -> None:
        theirs = Imported(loop.control, descriptor)
        theirs.map[:] = data[::-1]
        loop.back.submit(transfer(into))
        through(loop, theirs)
        assert into.content() == data[::-1]
        theirs.unregister(loop.control)

    loop.back.submit(transfer(into))
    if flag != RAW or IN_QEMU:
        assert error_of(use) == "EADDRNOTAVAIL"
        assert re.search(rf"exporter exporter \(module exporter\) .*{said}", kernel_log.read())
    through(loop, own)
    assert into.content() == data
    if flag == RAW and not IN_QEMU:
        use()
    assert exporter.importers(descriptor) == 0
    for buffer in (into, own):
        buffer.unregister(loop.control)
    os.close(descriptor)


def test_memory_that_is_taken_back(loop: Loop, exporter: Exporter) -> None:
    """What is in flight on its queue ends, nothing touches it any more, and all else goes on."""
    descriptor = exporter.export(MEGABYTE)
    theirs, own = Imported(loop.control, descriptor), Memory(MEGABYTE).register(loop.control)
    # A core that sends nothing, and one that takes no more than it has room for.
    loop.back.submit(transfer(own), transfer([own.piece(0, 10), theirs.piece(5000, 100)]), transfer(own))
    exporter.take_back(descriptor)
    assert [(found.status, found.bytes) for found in loop.back.collect(3)] == [(CANCELLED, 0)] * 3
    assert error_of(loop.back.submit, transfer(theirs)) == "ESTALE"
    assert error_of(loop.to.submit, transfer([own.piece(0, 1), theirs.piece(0, 1)], END)) == "ESTALE"
    loop.to.submit(transfer(own, END))
    assert loop.back.run(transfer(Memory(MEGABYTE))).bytes == MEGABYTE
    loop.to.collect(1)
    assert theirs.map[:] == OVERWRITTEN * MEGABYTE
    for buffer in (theirs, own):
        buffer.unregister(loop.control)
    os.close(descriptor)
    there_and_back(loop)


@by_commands
def test_memory_of_a_ring_that_is_taken_back(loop: Loop, exporter: Exporter, card: Card) -> None:
    """Whether a transfer that names it is in flight, or waits for room."""
    depth = int(card.channel(1, "queue_depth"))
    own = Memory(MEGABYTE).register(loop.control)
    for place in (0, depth + 5):
        descriptor = exporter.export(MEGABYTE)
        theirs = Imported(loop.control, descriptor)
        with Ring() as ring:
            for number in range(depth + 10):
                ring.add(loop.back.file, transfer([(theirs if number == place else own).piece(0, 100)]))
            ring.enter()
            exporter.take_back(descriptor)
            assert {end.result for end in ring.take(depth + 10)} == {-errno.ECANCELED}
            assert ring.run(loop.back.file, transfer([theirs.piece(0, 1)])).result == -errno.ESTALE
        assert theirs.map[:] == OVERWRITTEN * MEGABYTE
        theirs.unregister(loop.control)
        os.close(descriptor)
    own.unregister(loop.control)
    there_and_back(loop)


def test_memory_that_is_read_and_taken_back(loop: Loop, exporter: Exporter) -> None:
    """The message that is cut short is open, and nothing goes on with it until the program has seen that."""
    descriptor = exporter.export(MEGABYTE)
    theirs, own = Imported(loop.control, descriptor), Memory(b"the next one")
    loop.to.submit(*[transfer(theirs, END)] * 4)
    exporter.take_back(descriptor)
    assert error_of(loop.to.submit, transfer(own, END)) == "ECANCELED"
    found = loop.to.collect(3)
    assert error_of(loop.to.submit, transfer(own, END)) == "ECANCELED"
    found += loop.to.collect(1)
    moved = sum(done.bytes for done in found)
    assert [done.status for done in found] == [CANCELLED] * 4 and moved < MEGABYTE
    loop.to.submit(transfer([], END), transfer(own, END))
    ends = [loop.back.run(transfer(Memory(MEGABYTE))) for _ in range(2)]
    assert [(end.status, end.bytes) for end in ends] == [(END_OF_MESSAGE, moved), (END_OF_MESSAGE, own.bytes)]
    loop.to.collect(2)
    theirs.unregister(loop.control)
    os.close(descriptor)
    there_and_back(loop)


def echo(way: Queue, made: Callable[[], Buffer], ended: Callable[[], bool], end: int) -> int:
    """Transfers of memory, until it is taken back; how many were submitted."""
    count = 0
    while not ended():
        try:
            way.exchange([transfer(made(), end)], wanted=1, room=8, timeout_ns=10**8)
            count += 1
        except OSError as error:
            if error.errno not in (errno.ESTALE, errno.ETIMEDOUT, errno.EAGAIN, errno.ECONNRESET, errno.ECANCELED):
                raise
    return count


@pytest.mark.parametrize("beside", ["nothing", "resets of the channel", "resets of the card"])
def test_taking_back_beside_all_else(loop: Loop, exporter: Exporter, beside: str) -> None:
    """At any moment of a stream, and beside resets: not a byte is written afterwards."""
    draw = random.Random(beside)
    done = False

    def reset() -> None:
        while not done and beside != "nothing":
            if beside == "resets of the card":
                fcntl.ioctl(loop.control, CARD_RESET)
            else:
                fcntl.ioctl(loop.back.file, CHANNEL_RESET)
            time.sleep(0.01)

    resetting = Aside(reset)
    for _ in range(12):
        descriptor = exporter.export(16 * PAGE)
        theirs, taken = Imported(loop.control, descriptor), False
        ways = [
            Aside(echo, loop.to, lambda: theirs, lambda: taken, END),  # noqa: B023
            Aside(echo, loop.back, lambda: theirs, lambda: taken, 0),  # noqa: B023
        ]
        time.sleep(draw.random() * 0.05)
        exporter.take_back(descriptor)
        time.sleep(0.01)
        taken = True
        for way in ways:
            way.finish()
        assert theirs.map[:] == OVERWRITTEN * (16 * PAGE)
        fcntl.ioctl(loop.control, CARD_RESET)
        for queue_ in (loop.to, loop.back):
            queue_.exchange(room=64)
        theirs.unregister(loop.control)
        os.close(descriptor)
    done = True
    resetting.finish()
    until(lambda: error_of(there_and_back, loop) == "none", "the queues go on")
