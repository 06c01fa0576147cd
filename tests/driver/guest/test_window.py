# SPDX-License-Identifier: Apache-2.0
"""The register window, by call and mapped into programs: what fails in it, what is refused, and how it is taken away."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import os
import signal
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from asking import CARD_RESET, opened, read_register, write_register
from inside import IN_QEMU, LIBC, Card, Module, contract, planted, until
from mapped import EXECUTE, PAGE, READ, WRITE, Mapped, can_be_mapped, checked, child, end_of

ID, SCRATCH = 0x00, 0x04
# Of the second card's core, which answers to the first, does not to the second, and has no third.
MESSAGES, DEAF, NONE = 0x08, 0x10, 0x14
MAY_MOVE, FIXED = 1, 2


@pytest.fixture(autouse=True)
def loaded(driver: Module, card: Card) -> None:
    until(lambda: "control" in card.files, "the card's files are there")


@contextmanager
def window(card: Card, flags: int = os.O_RDWR, **arguments: int) -> Iterator[Mapped]:
    """Mapped by a file that is not kept open for anything else."""
    with opened(card.files["control"], flags) as file:
        found = Mapped(file, **arguments)
    yield found
    found.end()


def dies(mapped: Mapped) -> bool:
    """Does an access raise SIGBUS?"""
    return end_of(child(lambda: mapped.read(ID))) == -signal.SIGBUS


def again_and_again(mapped: Mapped) -> None:
    while True:
        mapped.read(ID)


def rebind(card: Card) -> None:
    card.unbind()
    card.bind()


def test_a_core_that_does_not_answer_is_told_of(cards: list[Card]) -> None:
    """And until it answers, each access fails."""
    with opened(cards[1].files["control"], os.O_RDWR) as control:
        for offset in (DEAF, MESSAGES):
            with pytest.raises(TimeoutError):
                read_register(control, offset)
            with pytest.raises(TimeoutError):
                write_register(control, offset, 1)
        fcntl.ioctl(control, CARD_RESET)
        assert read_register(control, MESSAGES) == 0


def test_a_core_that_answers_with_an_error_is_told_of(cards: list[Card]) -> None:
    with opened(cards[1].files["control"], os.O_RDWR) as control:
        for access in (lambda: read_register(control, NONE), lambda: write_register(control, NONE, 1)):
            with pytest.raises(OSError) as caught:
                access()
            assert caught.value.errno == errno.EREMOTEIO
            assert read_register(control, MESSAGES) == 0, "told once"


@pytest.mark.skipif(IN_QEMU, reason="here it can be mapped")
def test_a_machine_that_cannot_map_it_says_so(card: Card) -> None:
    for flags, protection in ((os.O_RDWR, READ | WRITE), (os.O_RDONLY, READ)):
        with pytest.raises(OSError, match="not supported") as caught, window(card, flags, protection=protection):
            pass
        assert caught.value.errno == errno.EOPNOTSUPP


@pytest.mark.parametrize(
    "flags, arguments, wanted",
    [
        (os.O_RDWR, {"kind": mmap.MAP_PRIVATE}, errno.EINVAL),
        (os.O_RDWR, {"bytes": 2 * PAGE}, errno.EINVAL),
        (os.O_RDWR, {"bytes": PAGE + 1}, errno.EINVAL),
        (os.O_RDWR, {"bytes": 0}, errno.EINVAL),
        (os.O_RDWR, {"bytes": 1 << 33}, errno.EINVAL),
        (os.O_RDWR, {"offset": PAGE}, errno.EINVAL),
        (os.O_RDWR, {"offset": 1}, errno.EINVAL),
        (os.O_RDWR, {"offset": 1 << 43}, errno.EINVAL),
        (os.O_RDWR, {"protection": READ | EXECUTE}, errno.EACCES),
        (os.O_RDWR, {"protection": READ | EXECUTE, "kind": mmap.MAP_PRIVATE}, errno.EACCES),
        (os.O_RDONLY, {}, errno.EACCES),
        (os.O_RDONLY, {"kind": mmap.MAP_PRIVATE}, errno.EINVAL),
        (os.O_WRONLY, {"protection": WRITE}, errno.EACCES),
    ],
)
def test_what_is_no_window_is_refused(card: Card, flags: int, arguments: dict[str, int], wanted: int) -> None:
    with pytest.raises(OSError) as caught, window(card, flags, **arguments):
        pass
    assert caught.value.errno == wanted, caught.value


@can_be_mapped
def test_it_is_the_same_as_by_call(card: Card) -> None:
    with opened(card.files["control"], os.O_RDWR) as control, window(card) as mapped:
        assert mapped.read(ID).to_bytes(4, "little") == b"LOOP"
        assert read_register(control, ID) == mapped.read(ID)
        for value in (0, 1, 0x12345678, 0xFFFF_FFFF):
            mapped.write(SCRATCH, value)
            assert read_register(control, SCRATCH) == value
            write_register(control, SCRATCH, value ^ 0x0F0F_0F0F)
            assert mapped.read(SCRATCH) == value ^ 0x0F0F_0F0F


@can_be_mapped
def test_a_page_with_registers_of_others_is_shown_to_nobody(cards: list[Card]) -> None:
    """The second card has 256 bytes of registers: other devices' may lie beside them."""
    assert cards[1].bars()[contract("BAR_WINDOW")] < PAGE
    with pytest.raises(OSError, match="not supported") as caught, window(cards[1], bytes=256):
        pass
    assert caught.value.errno == errno.EOPNOTSUPP


@can_be_mapped
def test_who_may_only_read_only_reads(card: Card) -> None:
    with window(card, os.O_RDONLY, protection=READ) as mapped:
        assert mapped.read(ID).to_bytes(4, "little") == b"LOOP"
        for protection in (READ | WRITE, WRITE, READ | EXECUTE):
            with pytest.raises(PermissionError):
                mapped.protect(protection)
        process = child(lambda: mapped.write(SCRATCH, 1))
        assert end_of(process) == -signal.SIGSEGV


@can_be_mapped
def test_who_may_write_can_allow_it_later_but_never_runs_code(card: Card) -> None:
    with window(card, protection=READ) as mapped:
        mapped.read(ID)
        mapped.protect(READ | WRITE)
        mapped.write(SCRATCH, 7)
        assert mapped.read(SCRATCH) == 7
        with pytest.raises(PermissionError):
            mapped.protect(READ | EXECUTE)


@can_be_mapped
def test_it_can_be_moved_but_does_not_grow(card: Card) -> None:
    with window(card) as mapped:
        mapped.write(SCRATCH, 9)
        for old, new in ((PAGE, 2 * PAGE), (0, PAGE)):
            assert LIBC.mremap(mapped.at, old, new, MAY_MOVE) == ctypes.c_void_p(-1).value
        elsewhere = LIBC.mmap(None, PAGE, READ, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
        moved = LIBC.mremap(mapped.at, PAGE, PAGE, MAY_MOVE | FIXED, ctypes.c_void_p(elsewhere))
        checked(moved == elsewhere)
        mapped.at = moved
        assert mapped.read(SCRATCH) == 9
        card.unbind()
        assert dies(mapped)
    card.bind()


@can_be_mapped
def test_a_child_has_it_too(card: Card) -> None:
    with window(card) as mapped:
        assert end_of(child(lambda: mapped.write(SCRATCH, 0xC41D))) == 0
        assert mapped.read(SCRATCH) == 0xC41D


@can_be_mapped
def test_it_can_be_handed_to_the_kernel(card: Card) -> None:
    """A call on this memory touches it first, from the inside: a page fault in the midst of a transfer."""
    with opened(card.files["control"], os.O_RDWR) as control:
        write_register(control, SCRATCH, 0x6162_6364)
        with (
            window(card) as mapped,
            opened(card.files["in"], os.O_WRONLY | os.O_DIRECT) as to,
            opened(card.files["out"], os.O_RDONLY) as back,
        ):
            assert LIBC.write(to, ctypes.c_void_p(mapped.at + SCRATCH), ctypes.c_size_t(4)) == 4
            assert os.read(back, 100) == b"dcba"


@can_be_mapped
def test_a_failure_there_is_told_to_nobody(cards: list[Card]) -> None:
    card = cards[1]
    assert int((card.pci / "resource").read_text().splitlines()[contract("BAR_WINDOW")].split()[0], 16) % PAGE == 0
    card.unbind()
    with planted(f"fault=wide card={card.pci.name} bar={contract('BAR_WINDOW')}"):
        card.bind()
        with window(card) as mapped, opened(card.files["control"], os.O_RDWR) as control:
            assert mapped.read(NONE) == 0xFFFF_FFFF
            write_register(control, MESSAGES, 1)
            mapped.write(NONE, 1)
            write_register(control, MESSAGES, 1)
            for access in (lambda: read_register(control, NONE), lambda: write_register(control, NONE, 1)):
                with pytest.raises(OSError) as caught:
                    access()
                assert caught.value.errno == errno.EREMOTEIO, "its own is told"
            assert mapped.read(MESSAGES) == 0
        card.unbind()
    card.bind()


@can_be_mapped
def test_it_is_taken_away_with_the_card(card: Card) -> None:
    """Every way to have it: touched or not, in a child that is at it, by another node; none keeps the card."""
    node = Path("/tmp/another-control")
    os.mknod(node, stat.S_IFCHR | 0o600, os.stat(card.files["control"]).st_rdev)
    with window(card) as touched, window(card) as untouched, window(card, os.O_RDONLY, protection=READ) as only_read:
        with opened(node, os.O_RDWR) as file:
            by_another_node = Mapped(file)
        node.unlink()
        old = (touched, untouched, only_read, by_another_node)
        for mapped in (touched, only_read, by_another_node):
            assert mapped.read(ID).to_bytes(4, "little") == b"LOOP"
        at_it = [child(lambda mapped=mapped: again_and_again(mapped)) for mapped in old]  # type: ignore[misc]
        time.sleep(0.3)
        with opened(card.files["control"], os.O_RDWR) as control:
            card.unbind()
            assert [end_of(process) for process in at_it] == [-signal.SIGBUS] * len(old)
            assert all(dies(mapped) for mapped in old)
            with pytest.raises(OSError, match="No such device"):
                Mapped(control)
        card.bind()
        with window(card) as new:
            assert new.read(ID).to_bytes(4, "little") == b"LOOP"
            assert all(dies(mapped) for mapped in old), "it is another card now"
        by_another_node.end()


@can_be_mapped
def test_a_module_whose_card_is_mapped_stays(driver: Module, card: Card) -> None:
    with window(card) as mapped:
        card.unbind()
        with pytest.raises(OSError, match="temporarily unavailable|busy"):
            driver.unload()
        assert dies(mapped)
        card.bind()
    driver.unload()
    driver.load()


@can_be_mapped
def test_it_is_back_after_a_reset(card: Card) -> None:
    with window(card) as mapped, opened(card.files["control"], os.O_RDWR) as control:
        for reset in (lambda: (card.pci / "reset").write_text("1"), lambda: fcntl.ioctl(control, CARD_RESET)):
            mapped.write(SCRATCH, 5)
            assert mapped.read(SCRATCH) == 5
            reset()
            assert mapped.read(SCRATCH) == 0, "the user core was reset, too"
            assert mapped.read(ID).to_bytes(4, "little") == b"LOOP"


@can_be_mapped
def test_it_is_taken_away_and_given_back_beside_accesses(card: Card) -> None:
    """Who is at it goes on, or is ended by SIGBUS, and by nothing else."""
    others = (lambda: (card.pci / "reset").write_text("1"), lambda: rebind(card))
    died = [0, 0]
    for turn in range(12):
        with window(card) as mapped:
            at_it = [child(lambda mapped=mapped: again_and_again(mapped)) for _ in range(3)]  # type: ignore[misc]
            time.sleep(0.05 * (turn % 3))
            others[turn % 2]()
            for process in at_it:
                os.kill(process, signal.SIGKILL)
            ends = [end_of(process) for process in at_it]
            assert set(ends) <= {-signal.SIGBUS, -signal.SIGKILL}
            died[turn % 2] += ends.count(-signal.SIGBUS)
    assert all(died), "nobody was at it when it was taken away"
