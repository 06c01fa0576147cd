# SPDX-License-Identifier: Apache-2.0
"""What one blocking transfer of 4 KiB costs: system calls, counted by a tracer, and copies, counted by the driver."""

from __future__ import annotations

import ctypes
import fcntl
import os
from collections.abc import Callable

import pytest
from asking import CARD_RESET, opened
from inside import Card, Module, until
from queueing import END, EXCHANGE, FOR_EVER, Completion, Exchange, Memory, Transfer, queue, transfer
from tracer import MARK, calls_between_marks

BYTES = 4096
TRANSFERS = 10
ALLOWED = 2
# A look at the clock is no system call where the kernel lends programs its clock (vDSO), as all do but User-Mode Linux.
CLOCK = "clock_gettime"


@pytest.fixture(autouse=True)
def loaded(driver: Module, card: Card) -> None:
    until(lambda: "out" in card.files, "the card's files are there")
    with opened(card.files["control"], os.O_RDWR) as control:
        fcntl.ioctl(control, CARD_RESET)


def measure(card: Card, program: Callable[[], object]) -> tuple[list[list[str]], list[list[str]], list[float]]:
    """Calls of each transfer to the card and from it, which take turns; and how often each byte was copied, in both directions."""

    def counted() -> list[list[int]]:
        return [[int(card.channel(channel, f"statistics/{name}")) for name in ("copied", "bytes")] for channel in range(2)]

    before = counted()
    calls = calls_between_marks(program)
    copies = [(copied - old) / (moved - less) for (copied, moved), (old, less) in zip(counted(), before, strict=True)]
    print(f"{calls=} {copies=}")
    assert len(calls) == 2 * TRANSFERS
    return calls[::2], calls[1::2], copies


def test_a_program_over_a_channels_file(card: Card) -> None:
    data, into = bytes(range(256)) * (BYTES // 256), bytearray(BYTES)

    def program() -> None:
        with opened(card.files["in"], os.O_WRONLY | os.O_DIRECT) as to, opened(card.files["out"], os.O_RDONLY) as back:
            for _ in range(TRANSFERS):
                MARK()
                os.write(to, data)
                MARK()
                os.readv(back, [into])
            MARK()
            assert into == data

    writes, reads, copies = measure(card, program)
    assert writes == [["write"]] * TRANSFERS and reads == [["readv"]] * TRANSFERS
    assert copies == [1, 1]


def call(transfer: Transfer, completion: Completion) -> Exchange:
    """One transfer, from its submission to its end."""
    return Exchange(
        argsz=ctypes.sizeof(Exchange),
        transfer=ctypes.addressof(transfer),
        transfers=1,
        completion=ctypes.addressof(completion),
        completions=1,
        wanted=1,
        timeout_ns=FOR_EVER,
    )


def test_a_program_over_a_queue(card: Card) -> None:
    data, into = Memory(bytes(range(256)) * (BYTES // 256)), Memory(BYTES)
    transfers, completion = (transfer(data, END), transfer(into)), Completion()
    sends, receives = (call(wanted, completion) for wanted in transfers)

    def program() -> None:
        with queue(card.files["in"], os.O_WRONLY) as to, queue(card.files["out"], os.O_RDONLY) as back:
            for _ in range(TRANSFERS):
                MARK()
                fcntl.ioctl(to.file, EXCHANGE, sends)
                MARK()
                fcntl.ioctl(back.file, EXCHANGE, receives)
            MARK()
            assert into.content() == data.content()

    sent, received, copies = measure(card, program)
    assert sent == received == [["ioctl"]] * TRANSFERS
    assert copies == [0, 0]


def test_the_library(card: Card) -> None:
    command = [os.environ["TOWPATH_GUEST_PROPERTY"], "--exact", "transfers_between_marks", "--test-threads=1"]
    environment = os.environ | {"TOWPATH_PROPERTY_DEVICE": f"/dev/{card.name}", "TOWPATH_TRANSFERS": str(TRANSFERS)}
    sent, received, copies = measure(card, lambda: os.execve(command[0], command, environment))
    calls = [[name for name in names if name != CLOCK] for names in (*sent, *received)]
    assert max(map(len, calls)) <= ALLOWED, calls
    assert copies == [0, 0]
