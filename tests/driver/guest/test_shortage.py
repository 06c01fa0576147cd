# SPDX-License-Identifier: Apache-2.0
"""Memory runs out: each allocation that a call makes fails once, one after the other (CONFIG_FAULT_INJECTION, `fail-nth`).

A call does without, or says ENOMEM and has done nothing; nothing is left behind, and the next call serves. Work that the driver leaves
to the kernel's own threads is not reached by this.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import itertools
import mmap
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from asking import CARD_RESET, CHANNEL_RESET, ask, noise, opened, read_exactly
from exporters import Exporter
from inside import DRIVER, FLAVOUR, Card, Module, until
from looping import END_OF_MESSAGE, Loop, pinned, there_and_back
from queueing import (
    ALLOCATE_BUFFER,
    ANNOUNCE,
    END,
    IMPORT_BUFFER,
    QUEUE,
    REGISTER_BUFFER,
    UNREGISTER_BUFFER,
    AllocateBuffer,
    Allocated,
    ImportBuffer,
    MakeQueue,
    Memory,
    RegisterBuffer,
    UnregisterBuffer,
    error_of,
    transfer,
)

pytestmark = pytest.mark.skipif(FLAVOUR != "debug", reason="only the debug kernel's allocations can be made to fail")

BOTH_WAYS = 3
FAULTS = Path("/sys/kernel/debug")
# Those that may wait too, of any size, and silently; in slabs only those of kmalloc() (../uml.py): where the kernel has none for what its
# check of DMA mappings knows of them, it gives that up.
SETTINGS = {
    FAULTS / folder / name: value
    for folder, settings in {
        "failslab": {"ignore-gfp-wait": "N", "cache-filter": "Y", "verbose": "0"},
        "fail_page_alloc": {"ignore-gfp-wait": "N", "ignore-gfp-highmem": "N", "min-order": "0", "verbose": "0"},
    }.items()
    for name, value in settings.items()
}


@pytest.fixture(scope="module", autouse=True)
def injected() -> Iterator[None]:
    before = {path: path.read_text() for path in SETTINGS}
    for path, value in SETTINGS.items():
        path.write_text(value)
    yield
    for path, value in before.items():
        path.write_text(value)
    assert (FAULTS / "dma-api/disabled").read_text() == "N\n"


class Shortage:
    """Who is inside gets no memory from the kernel when it asks for the `nth` time; `met` says whether it came to that."""

    met = False

    def __init__(self, nth: int) -> None:
        self.nth = b"%d" % nth

    def __enter__(self) -> None:
        self.file = os.open("/proc/thread-self/fail-nth", os.O_RDWR)
        os.pwrite(self.file, self.nth, 0)

    def __exit__(self, *_: object) -> None:
        self.met = int(os.pread(self.file, 16, 0)) == 0
        os.pwrite(self.file, b"0", 0)
        os.close(self.file)


def shortages() -> Iterator[Shortage]:
    """One for each time that what is inside asks for memory, and a last one that is not met."""
    for nth in itertools.count(1):
        shortage = Shortage(nth)
        yield shortage
        if not shortage.met:
            assert nth > 1, "nothing was asked for"
            return


def at_last(shortage: Shortage, call: Callable[..., object], *arguments: object, meanwhile: Callable[[], object] = lambda: None) -> None:
    """The call succeeds, at once or, after it has said that there is no memory, when there is."""
    with shortage:
        error = error_of(call, *arguments)
    if shortage.met and error == "ENOMEM":
        meanwhile()
        error = error_of(call, *arguments)
    assert error == "none"


@pytest.mark.parametrize("name", ["in", "out", "control"])
def test_a_file_is_opened(card: Card, control: int, name: str) -> None:
    path, flags = card.files[name], {"in": os.O_WRONLY, "out": os.O_RDONLY, "control": os.O_RDWR}[name]
    for shortage in shortages():
        file = -1
        with shortage, contextlib.suppress(MemoryError):
            try:
                file = os.open(path, flags)
            except OSError as error:
                assert error.errno == errno.ENOMEM
        if file >= 0:
            os.close(file)
        assert file >= 0 or shortage.met


@pytest.mark.parametrize("count", [100, 20_000, 300_001])
def test_what_is_written(card: Card, control: int, count: int) -> None:
    """write() copies what it has no memory to move in place."""
    data = noise(count, count)
    with opened(card.files["in"], os.O_WRONLY) as to, opened(card.files["out"], os.O_RDONLY) as back:
        for shortage in shortages():
            with shortage:
                written = os.write(to, data)
            os.fsync(to)
            assert written == count and read_exactly(back, count) == data
        for shortage in shortages():
            assert os.write(to, b"a message") == 9
            at_last(shortage, os.fsync, to)
            assert os.read(back, 100) == b"a message"
    assert pinned() == 0


@pytest.mark.parametrize("touched", [False, True], ids=["new", "used"])
@pytest.mark.parametrize("count", [100, 20_000, 300_001])
def test_what_is_read(card: Card, control: int, count: int, touched: bool) -> None:
    """So does read(); but into memory that is not there yet, and for which there is none, nobody can copy."""
    data = noise(count, count)
    with opened(card.files["in"], os.O_WRONLY | os.O_DIRECT) as to, opened(card.files["out"], os.O_RDONLY) as back:
        for shortage in shortages():
            os.write(to, data)
            into, got = Memory(bytes(count) if touched else count), 0
            with shortage:
                try:
                    got = os.readv(back, [into.map])
                except OSError as error:
                    assert error.errno in (errno.EFAULT, errno.ENOMEM)
            assert got == count or (shortage.met and not touched)
            assert into.content(got) + read_exactly(back, count - got) == data
    assert pinned() == 0


@pytest.mark.parametrize("name", ["in", "out"])
def test_a_file_becomes_a_queue(card: Card, control: int, name: str) -> None:
    flags, announce = {"in": (os.O_WRONLY, 0), "out": (os.O_RDONLY, ANNOUNCE)}[name]
    event = os.eventfd(0)
    for shortage in shortages():
        with opened(card.files[name], flags) as file:
            at_last(shortage, ask, file, QUEUE, MakeQueue(flags=announce, control=control, eventfd=event))
    os.close(event)


@pytest.mark.parametrize("way", ["to the card", "from the card"])
@pytest.mark.parametrize("registered", [False, True], ids=["pinned", "registered"])
def test_a_transfer(loop: Loop, way: str, registered: bool) -> None:
    """Of several pieces, in memory that nobody has touched where it is the card's to write: all of it, or none."""
    data = noise(100_000, 7)
    for shortage in shortages():
        source, target = Memory(data), Memory(len(data))
        if registered:
            source.register(loop.control)
            target.register(loop.control)
        cuts = [0, 1, 5000, 70_000, len(data)]
        out, back = ([memory.piece(at, end - at) for at, end in itertools.pairwise(cuts)] for memory in (source, target))
        first, then = ((loop.to, out), (loop.back, back)) if way == "to the card" else ((loop.back, back), (loop.to, out))
        at_last(shortage, first[0].submit, transfer(first[1], END if first[0] is loop.to else 0))
        then[0].submit(transfer(then[1], END if then[0] is loop.to else 0))
        found = loop.back.collect(1)[0]
        assert (found.status, found.bytes, target.content()) == (END_OF_MESSAGE, len(data), data)
        loop.to.collect(1)
        for memory in (source, target):
            if registered:
                memory.unregister(loop.control)
        assert pinned() == 0
        for memory in (source, target):
            memory.view = None
            memory.map.close()


@pytest.mark.parametrize("kind", ["registered", "new", "imported"])
def test_a_buffer(loop: Loop, exporter: Exporter, kind: str) -> None:
    count = 1 << 20
    descriptor = exporter.export(count)

    def nothing_is_left() -> None:
        assert pinned() == 0 and exporter.importers(descriptor) == 0

    for shortage in shortages():
        memory = Memory(count)
        command, wanted = {
            "registered": (REGISTER_BUFFER, RegisterBuffer(flags=BOTH_WAYS, address=memory.address, bytes=count)),
            "new": (ALLOCATE_BUFFER, AllocateBuffer(flags=BOTH_WAYS, bytes=count)),
            "imported": (IMPORT_BUFFER, ImportBuffer(flags=BOTH_WAYS, dmabuf=descriptor)),
        }[kind]
        at_last(shortage, ask, loop.control, command, wanted, meanwhile=nothing_is_left)
        assert pinned() == count // 1024
        ask(loop.control, UNREGISTER_BUFFER, UnregisterBuffer(buffer=wanted.buffer))
        nothing_is_left()
    os.close(descriptor)


def test_new_memory_is_mapped(loop: Loop) -> None:
    made = Allocated(loop.control, 1 << 20)
    for shortage in shortages():
        place = None
        with shortage, contextlib.suppress(OSError):
            place = mmap.mmap(loop.control, made.bytes, mmap.MAP_SHARED, offset=made.offset)
        if place is not None:
            place.close()
        assert place is not None or shortage.met
    made.map.close()
    # Nobody has it mapped any more, or this is refused.
    made.unregister(loop.control)


def test_resets(loop: Loop) -> None:
    for file, command in ((loop.to.file, CHANNEL_RESET), (loop.back.file, CHANNEL_RESET), (loop.control, CARD_RESET)):
        for shortage in shortages():
            with shortage:
                fcntl.ioctl(file, command)
            there_and_back(loop)


def test_a_card_is_bound_and_unbound(driver: Module, card: Card) -> None:
    """The driver serves the card, or has nothing of it; it always lets go."""
    place = card.pci.name.encode()
    with opened(DRIVER / "bind", os.O_WRONLY) as bind, opened(DRIVER / "unbind", os.O_WRONLY) as unbind:
        os.write(unbind, place)
        for shortage in shortages():
            bound = False
            with shortage, contextlib.suppress(OSError):
                os.write(bind, place)
                bound = True
            assert bound or shortage.met
            assert (card.pci / "driver").exists() == bound
            if bound:
                os.write(unbind, place)
        os.write(bind, place)
        for shortage in shortages():
            released = False
            with shortage, contextlib.suppress(OSError):
                os.write(unbind, place)
                released = True
            # Else it was the file in sysfs that could not take the words.
            assert released or shortage.met
            assert (card.pci / "driver").exists() != released
            if not released:
                os.write(unbind, place)
            os.write(bind, place)
    until(lambda: "control" in card.files, "the card's files are there")
