# SPDX-License-Identifier: Apache-2.0
"""Quality of service: a channel's part of the link, set by the control file, and who may set it; on the card whose core is loop3x2_qos."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
from asking import CARD_INFO, CARD_RESET, CHANNEL_QOS, CHANNEL_RESET, CardInfo, Qos, ask, opened
from inside import Card, Module, guest_sleeps, sleep, until
from queueing import END, FROM_CARD, Memory, error_of, queue, transfer

WEIGHT, RATE, CLASS = 1, 2, 4
NOBODY = 65534
CHANNELS = range(5)
# A program without rights that was given a control file: it tells, and may not set. It gives its rights up
# after its start, so it needs no right to read the folder that Python is in.
UNPRIVILEGED = """
import errno, fcntl, os, struct, sys
os.setgroups([])
os.setgid(int(sys.argv[3]))
os.setuid(int(sys.argv[3]))
for flags in (0, 1, 2, 4):
    try:
        fcntl.ioctl(int(sys.argv[1]), int(sys.argv[2]), struct.pack("6I", 24, flags, 1, 2, 2, 2))
        print("done")
    except OSError as error:
        print(errno.errorcode[error.errno])
"""


@pytest.fixture
def shared(driver: Module, cards: list[Card]) -> Iterator[Card]:
    card = cards[1]
    until(lambda: "control" in card.files, "the card's files are there")
    yield card
    with opened(card.files["control"], os.O_RDWR) as control:
        for index in CHANNELS:
            change(control, index, 7, 1, 0, 0)


def told(control: int, index: int) -> tuple[int, int, int]:
    found = Qos(index=index)
    ask(control, CHANNEL_QOS, found)
    return found.weight, found.rate, found.traffic_class


def change(control: int, index: int, flags: int, weight: int = 0, rate: int = 0, traffic_class: int = 0) -> tuple[int, int, int]:
    wanted = Qos(index=index, flags=flags, weight=weight, rate=rate, traffic_class=traffic_class)
    ask(control, CHANNEL_QOS, wanted)
    return wanted.weight, wanted.rate, wanted.traffic_class


def test_settings_are_set_one_by_one_and_told(shared: Card) -> None:
    with opened(shared.files["control"], os.O_RDWR) as control:
        info = CardInfo()
        ask(control, CARD_INFO, info)
        assert info.features == 3
        assert [told(control, index) for index in CHANNELS] == [(1, 0, 0)] * 5
        assert change(control, 1, WEIGHT, 255, 9, 9) == (255, 0, 0)
        assert change(control, 1, RATE, 0, 0xFFFF_FFFF, 9) == (255, 0xFFFF_FFFF, 0)
        assert change(control, 1, CLASS, 0, 0, 7) == (255, 0xFFFF_FFFF, 7)
        assert change(control, 4, WEIGHT | CLASS, 3, 0, 2) == (3, 0, 2)
        assert [told(control, index) for index in CHANNELS] == [(1, 0, 0), (255, 0xFFFF_FFFF, 7), (1, 0, 0), (1, 0, 0), (3, 0, 2)]
        # Nothing of a call that is refused is set.
        for flags, values in ((WEIGHT, (0, 0, 0)), (WEIGHT | RATE, (256, 5, 0)), (CLASS | WEIGHT, (9, 0, 8)), (8, (1, 1, 1))):
            assert error_of(change, control, 1, flags, *values) == "EINVAL", flags
        assert error_of(change, control, 5, WEIGHT, 1) == error_of(told, control, 2**32 - 1) == "ENXIO"
        assert told(control, 1) == (255, 0xFFFF_FFFF, 7)


@guest_sleeps
def test_settings_stay_over_every_reset(shared: Card) -> None:
    def rebind() -> None:
        shared.unbind()
        shared.bind()

    def reset_channel() -> None:
        with opened(shared.files["b"], os.O_WRONLY) as file:
            fcntl.ioctl(file, CHANNEL_RESET)

    resets = {
        "a channel's": reset_channel,
        "the card's": lambda: fcntl.ioctl(control, CARD_RESET),
        "the function's": lambda: (shared.pci / "reset").write_text("1"),
        "a sleep's": sleep,
    }
    with opened(shared.files["control"], os.O_RDWR) as control:
        change(control, 1, 7, 5, 1000, 3)
        for name, reset in resets.items():
            reset()
            assert [told(control, index) for index in CHANNELS] == [(1, 0, 0), (5, 1000, 3), *[(1, 0, 0)] * 3], name
    rebind()
    with opened(shared.files["control"], os.O_RDONLY) as control:
        assert told(control, 1) == (5, 1000, 3)


def test_only_the_system_sets_them(shared: Card) -> None:
    with opened(shared.files["control"], os.O_RDWR) as control:
        before = told(control, 1)
        command = [sys.executable, "-c", UNPRIVILEGED, str(control), str(CHANNEL_QOS), str(NOBODY)]
        done = subprocess.run(command, pass_fds=[control], capture_output=True, text=True)
        assert done.stdout.split() == ["done", "EPERM", "EPERM", "EPERM"], done.stderr
        assert told(control, 1) == before
    with opened(shared.files["control"], os.O_RDONLY) as control:
        assert told(control, 1) == before
        assert error_of(change, control, 1, WEIGHT, 2) == "EACCES"


def test_a_class_changes_only_while_nothing_is_in_flight(shared: Card) -> None:
    """A file that reads ahead has transfers in flight, and so has a queue until it is told otherwise."""
    with opened(shared.files["control"], os.O_RDWR) as control:
        with opened(shared.files["x"], os.O_RDONLY):
            assert error_of(change, control, 3, CLASS | WEIGHT, 9, 0, 1) == "EBUSY"
            assert change(control, 3, CLASS | WEIGHT, 4, 0, 0) == (4, 0, 0), "the class is what it was"
        with queue(shared.files["x"], os.O_RDONLY | os.O_DIRECT, control) as back:
            assert change(control, 3, CLASS, 0, 0, 1) == (4, 0, 1)
            back.submit(transfer(Memory(4096).register(control, FROM_CARD)))
            assert error_of(change, control, 3, CLASS, 0, 0, 2) == "EBUSY"
            assert change(control, 3, RATE, 0, 1 << 20) == (4, 1 << 20, 1)
            back.cancel()
            back.collect(1)
            assert change(control, 3, CLASS, 0, 0, 2) == (4, 1 << 20, 2)


def test_bytes_go_through_by_their_settings(shared: Card) -> None:
    """A rate of a byte in 4 clocks: bytes arrive whole, whatever the settings are, and change meanwhile."""
    data = bytes(range(256)) * 256
    with (
        opened(shared.files["control"], os.O_RDWR) as control,
        queue(shared.files["x"], os.O_RDONLY, control) as back,
        queue(shared.files["a"], os.O_WRONLY, control) as to,
    ):
        into = Memory(len(data))
        back.submit(transfer(into))
        for part in range(0, len(data), 8192):
            to.submit(transfer(Memory(data[part : part + 8192]), END if part + 8192 == len(data) else 0))
            change(control, 0, WEIGHT | RATE, 1 + part % 255, (1 << 18) + part)
        to.collect(8)
        back.collect(1)
        assert into.content() == data


def test_a_card_without_settings_says_so(driver: Module, card: Card) -> None:
    until(lambda: "control" in card.files, "the card's files are there")
    with opened(card.files["control"], os.O_RDWR) as control:
        info = CardInfo()
        ask(control, CARD_INFO, info)
        assert info.features == 0
        assert error_of(told, control, 0) == error_of(change, control, 0, WEIGHT, 2) == "ENOTSUP"
