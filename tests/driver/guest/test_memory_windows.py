# SPDX-License-Identifier: Apache-2.0
"""A memory's window, mapped into programs by its file and by the control file: loads, stores, what is refused, and how it is taken away."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from asking import CARD_RESET, WINDOW, Window, ask, noise, opened, write_register
from inside import IN_QEMU, Card, Module, contract, until
from mapped import EXECUTE, PAGE, READ, WRITE, Mapped, can_be_mapped, child, end_of
from queueing import queue

BYTES = 1 << 20
# Of the scratchpad core.
LATENCY, SLVERR_PAGE, NONE = 0x04, 0x0C, 0xFFFF_FFFF
ONES = 0xFFFF_FFFF
ENTRY = contract("DISCOVERY_CHANNEL_ENTRY_OFFSET")
PARAMETER, PLACE = ENTRY + contract("CHANNEL_ENTRY_KIND_PARAMETER_OFFSET"), ENTRY + contract("CHANNEL_ENTRY_WINDOW_OFFSET")
ENTRY_BYTES = contract("CHANNEL_ENTRY_BYTES")


@pytest.fixture(autouse=True)
def loaded(driver: Module, scratchpad: Card) -> None:
    until(lambda: "ram" in scratchpad.files, "the card's files are there")
    with opened(scratchpad.files["control"], os.O_RDWR) as control:
        fcntl.ioctl(control, CARD_RESET)
        for offset, value in ((LATENCY, 0), (SLVERR_PAGE, NONE)):
            write_register(control, offset, value)


@contextmanager
def window(card: Card, flags: int = os.O_RDWR, name: str = "ram", **arguments: int) -> Iterator[Mapped]:
    """Mapped by a file that is not kept open for anything else."""
    with opened(card.files[name], flags) as file:
        found = Mapped(file, **arguments)
    yield found
    found.end()


def asked(card: Card, index: int = 0) -> Window:
    with opened(card.files["control"], os.O_RDWR) as control:
        found = Window(index=index)
        ask(control, WINDOW, found)
    return found


def failure(call: Callable[[], object]) -> int:
    with pytest.raises(OSError) as caught:
        call()
    assert caught.value.errno is not None
    return caught.value.errno


def mapping(card: Card, flags: int = os.O_RDWR, name: str = "ram", **arguments: int) -> None:
    with window(card, flags, name, **arguments):
        pass


def dies(mapped: Mapped) -> bool:
    """Does an access raise SIGBUS?"""
    return end_of(child(lambda: mapped.read(0))) == -signal.SIGBUS


@contextmanager
def saying(card: Card, lies: dict[int, int]) -> Iterator[None]:
    """The card, bound anew, with other bytes in its discovery table."""
    card.unbind()
    try:
        for place, byte in lies.items():
            card.fault(f"say {place} {byte}")
        card.bind()
        until(lambda: "ram" in card.files, "the memory's file is there")
        yield
        card.unbind()
    finally:
        card.fault("honest")
        if (card.pci / "driver").exists():
            card.unbind()
        card.bind()


@pytest.mark.skipif(IN_QEMU, reason="here it can be mapped")
def test_a_machine_that_cannot_map_it_says_so(scratchpad: Card) -> None:
    for flags, protection in ((os.O_RDWR, READ | WRITE), (os.O_RDONLY, READ)):
        assert failure(lambda: mapping(scratchpad, flags, protection=protection)) == errno.EOPNOTSUPP  # noqa: B023
    assert failure(lambda: asked(scratchpad)) == errno.EOPNOTSUPP


def test_what_is_no_channel_of_a_memory_has_none(scratchpad: Card, card: Card) -> None:
    assert failure(lambda: asked(scratchpad, 2)) == errno.ENXIO
    assert failure(lambda: asked(card)) == errno.ENXIO
    with opened(scratchpad.files["1"], os.O_RDONLY) as half:
        assert failure(lambda: Mapped(half, protection=READ)) == errno.ENODEV


@pytest.mark.parametrize(
    "flags, arguments, wanted",
    [
        (os.O_RDWR, {"kind": mmap.MAP_PRIVATE}, errno.EINVAL),
        (os.O_RDWR, {"bytes": BYTES + 1}, errno.EINVAL),
        (os.O_RDWR, {"bytes": 0}, errno.EINVAL),
        (os.O_RDWR, {"offset": BYTES}, errno.EINVAL),
        (os.O_RDWR, {"offset": BYTES - PAGE, "bytes": 2 * PAGE}, errno.EINVAL),
        (os.O_RDWR, {"offset": 1 << 43}, errno.EINVAL),
        (os.O_RDWR, {"offset": 3 << 42}, errno.EINVAL),
        (os.O_RDWR, {"offset": 1}, errno.EINVAL),
        (os.O_RDWR, {"protection": READ | EXECUTE}, errno.EACCES),
        (os.O_RDONLY, {}, errno.EACCES),
        (os.O_WRONLY, {"protection": WRITE}, errno.EACCES),
    ],
)
def test_what_is_not_in_it_is_refused(scratchpad: Card, flags: int, arguments: dict[str, int], wanted: int) -> None:
    assert failure(lambda: mapping(scratchpad, flags, **arguments)) == wanted


@pytest.mark.parametrize("offset", [3 << 42, (3 << 42) + BYTES, (1 << 44) - PAGE])
def test_the_control_file_maps_what_is_a_memory_and_no_more(scratchpad: Card, card: Card, offset: int) -> None:
    """From where the first memory would be, two pages beyond the end of it."""
    assert failure(lambda: mapping(card, name="control", offset=offset)) == errno.EINVAL
    assert failure(lambda: mapping(scratchpad, name="control", offset=offset, bytes=BYTES + 2 * PAGE)) == errno.EINVAL


def test_a_memory_without_one_says_so(scratchpad: Card) -> None:
    """None in the table; or one that would go on behind the end of BAR 4."""
    both = (0, ENTRY_BYTES)
    none = {PLACE + at + byte: 0 for at in both for byte in range(2)}
    too_long = {PARAMETER + at + byte: value for at in both for byte, value in enumerate((BYTES // 4096 + 1).to_bytes(4, "little"))}
    for lies in (none, too_long):
        with saying(scratchpad, lies):
            assert failure(lambda: mapping(scratchpad)) == errno.ENXIO
            assert failure(lambda: asked(scratchpad)) == errno.ENXIO


@can_be_mapped
def test_it_is_the_same_as_by_transfers(scratchpad: Card) -> None:
    """From any page on, by the memory's file and by the control file."""
    where = asked(scratchpad)
    assert where.bytes == BYTES and not where.off
    with opened(scratchpad.files["ram"], os.O_RDWR) as file:
        data = noise(BYTES, 1)
        assert os.pwrite(file, data, 0) == BYTES
        for first in (0, PAGE, BYTES - PAGE):
            for name, offset in (("ram", first), ("control", where.offset + first)):
                with window(scratchpad, name=name, offset=offset) as mapped:
                    for at in (0, 4, PAGE - 4):
                        assert mapped.read(at).to_bytes(4, "little") == data[first + at : first + at + 4]
                        mapped.write(at, first + at + 7)
                        # A load after the store: it is there when the load is answered.
                        assert mapped.read(at) == first + at + 7
                        assert os.pread(file, 4, first + at) == (first + at + 7).to_bytes(4, "little")
                        assert os.pwrite(file, data[first + at : first + at + 4], first + at) == 4
        assert os.pread(file, BYTES, 0) == data


@can_be_mapped
def test_all_of_it_at_once(scratchpad: Card) -> None:
    with window(scratchpad, bytes=BYTES) as mapped:
        data = noise(3 * PAGE, 2)
        ctypes.memmove(mapped.at + BYTES - len(data), data, len(data))
        assert mapped.read(BYTES - 4).to_bytes(4, "little") == data[-4:]
        with opened(scratchpad.files["ram"], os.O_RDONLY) as file:
            assert os.pread(file, len(data), BYTES - len(data)) == data
        assert asked(scratchpad).stores_dropped == 0


@can_be_mapped
def test_it_can_be_mapped_while_the_channels_are_queues(scratchpad: Card) -> None:
    where = asked(scratchpad, 1)
    with queue(scratchpad.files["0"], os.O_WRONLY), queue(scratchpad.files["1"], os.O_RDONLY | os.O_DIRECT):
        assert failure(lambda: mapping(scratchpad)) == errno.EBUSY
        with window(scratchpad, name="control", offset=where.offset + PAGE) as mapped:
            mapped.write(8, 0xABCD)
            assert mapped.read(8) == 0xABCD


@can_be_mapped
def test_who_may_only_read_only_reads(scratchpad: Card) -> None:
    with window(scratchpad, os.O_RDONLY, protection=READ) as mapped:
        mapped.read(0)
        with pytest.raises(PermissionError):
            mapped.protect(READ | WRITE)
        assert end_of(child(lambda: mapped.write(0, 1))) == -signal.SIGSEGV


@can_be_mapped
def test_refusals_of_the_core_are_counted(scratchpad: Card) -> None:
    """And no access of a register is told of it."""
    with opened(scratchpad.files["control"], os.O_RDWR) as control, window(scratchpad, bytes=BYTES) as mapped:
        write_register(control, SLVERR_PAGE, 20)
        before = asked(scratchpad)
        assert mapped.read(20 * PAGE) == ONES
        write_register(control, LATENCY, 0)
        loaded = asked(scratchpad)
        assert (loaded.errors - before.errors, loaded.stores_refused, loaded.off) == (1, before.stores_refused, 0)
        assert asked(scratchpad).errors == loaded.errors, "told once"
        mapped.write(20 * PAGE, 5)
        mapped.read(0)
        stored = asked(scratchpad)
        assert (stored.errors - loaded.errors, stored.stores_refused - before.stores_refused) == (1, 1)
        assert stored.stores_dropped == before.stores_dropped


@can_be_mapped
def test_it_is_taken_away_with_the_card(scratchpad: Card) -> None:
    """Touched or not, by either file, in a child that is at it; none keeps the card."""
    where = asked(scratchpad)

    def for_ever(mapped: Mapped) -> None:
        while True:
            mapped.read(0)

    with (
        window(scratchpad) as touched,
        window(scratchpad) as untouched,
        window(scratchpad, os.O_RDONLY, protection=READ, offset=PAGE) as only_read,
        window(scratchpad, name="control", offset=where.offset) as by_control,
    ):
        old = (touched, untouched, only_read, by_control)
        for mapped in (touched, only_read, by_control):
            mapped.read(0)
        at_it = [child(lambda mapped=mapped: for_ever(mapped)) for mapped in old]  # type: ignore[misc]
        time.sleep(0.3)
        with opened(scratchpad.files["ram"], os.O_RDWR) as file:
            scratchpad.unbind()
            assert [end_of(process) for process in at_it] == [-signal.SIGBUS] * len(old)
            assert all(dies(mapped) for mapped in old)
            assert failure(lambda: Mapped(file)) == errno.ENODEV
        scratchpad.bind()
        with window(scratchpad) as new:
            new.write(0, 3)
            assert new.read(0) == 3
            assert all(dies(mapped) for mapped in old), "it is another card now"


@can_be_mapped
def test_it_is_back_after_a_reset(scratchpad: Card) -> None:
    with window(scratchpad) as mapped, opened(scratchpad.files["control"], os.O_RDWR) as control:
        for reset in (lambda: (scratchpad.pci / "reset").write_text("1"), lambda: fcntl.ioctl(control, CARD_RESET)):
            mapped.write(0, 5)
            assert mapped.read(0) == 5
            reset()
            mapped.write(0, 6)
            assert mapped.read(0) == 6
