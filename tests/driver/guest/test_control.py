# SPDX-License-Identifier: Apache-2.0
"""The card's control file: what the card is, registers, user interrupts, reset; and what it answers to those who ask badly."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import random
import time
from collections.abc import Iterator

import pytest
from asking import (
    CARD_INFO,
    CARD_RESET,
    CHANNEL_INFO,
    INTERRUPT,
    PLUGIN_INFO,
    REGISTER,
    WAIT,
    Aside,
    CardInfo,
    ChannelInfo,
    Interrupt,
    PluginInfo,
    Register,
    ask,
    opened,
    read_register,
    write_register,
)
from inside import LIBC, Card, Module, contract, until

ID, SCRATCH, MESSAGES = 0x00, 0x04, 0x08
STRUCTURES = {CARD_INFO: CardInfo, CHANNEL_INFO: ChannelInfo, REGISTER: Register, INTERRUPT: Interrupt}


@pytest.fixture(autouse=True)
def control(driver: Module, card: Card) -> Iterator[int]:
    until(lambda: "control" in card.files, "the card's files are there")
    with opened(card.files["control"], os.O_RDWR) as file:
        yield file


def test_what_the_card_is(control: int, card: Card) -> None:
    info = CardInfo()
    ask(control, CARD_INFO, info)
    assert (info.version_major, info.version_minor) == (contract("VERSION_MAJOR"), contract("VERSION_MINOR"))
    assert (info.core_name, info.core_version, info.channels, info.interrupts) == (b"loopback", 1, 2, 1)
    assert (info.data_bytes, info.window_bytes, info.argsz) == (16, 4096, ctypes.sizeof(CardInfo))
    assert 1 <= info.vectors_used <= info.vectors
    folder = f"towpath/{card.name}!control"
    assert card.attribute(f"{folder}/core") == "loopback"
    assert int(card.attribute(f"{folder}/serial"), 0) == info.serial
    assert all(card.counter(f"{folder}/link/{name}") == 0 for name in ("timeouts", "bad_completions", "unexpected_completions"))


def test_what_its_channels_are(control: int) -> None:
    for index, (name, direction) in enumerate(((b"in", 0), (b"out", 1))):
        info = ChannelInfo(index=index)
        ask(control, CHANNEL_INFO, info)
        assert (info.name, info.direction) == (name, direction)
        assert (info.kind, info.kind_name, info.kind_version, info.kind_parameter) == (0, b"stream", 1, 0)
        assert info.queue_depth > 0 and info.buffer_bytes > 0
    with pytest.raises(OSError, match="No such device or address"):
        ask(control, CHANNEL_INFO, ChannelInfo(index=2))


def test_what_its_plugins_are(control: int) -> None:
    info = CardInfo()
    ask(control, CARD_INFO, info)
    assert info.plugins == 0
    with pytest.raises(OSError, match="No such device or address"):
        ask(control, PLUGIN_INFO, PluginInfo(index=0))


def test_registers(control: int) -> None:
    for value in (0, 1, 0x12345678, 0xFFFF_FFFF):
        write_register(control, SCRATCH, value)
        assert read_register(control, SCRATCH) == value
    for offset in (1, 2, 4096, 0xFFFF_FFFC):
        with pytest.raises(OSError, match="Invalid"):
            read_register(control, offset)


def test_a_user_interrupt_wakes_and_is_counted(control: int, card: Card) -> None:
    seen = Interrupt()
    ask(control, INTERRUPT, seen)
    for count in (1, 2, 3):
        waiting = Aside(ask, control, INTERRUPT, wanted := Interrupt(flags=WAIT, seen=seen.count + count - 1, timeout_ns=20_000_000_000))
        with opened(card.files["in"], os.O_WRONLY | os.O_DIRECT) as to, opened(card.files["out"], os.O_RDONLY) as back:
            os.write(to, b"message")
            assert os.read(back, 100) == b"message"
        waiting.finish()
        assert wanted.count == seen.count + count, "the core tells of each message"


def test_a_wait_for_an_interrupt_ends_in_time(control: int) -> None:
    seen = Interrupt()
    ask(control, INTERRUPT, seen)
    for nanoseconds in (0, 1, 30_000_000):
        began = time.monotonic_ns()
        with pytest.raises(TimeoutError):
            ask(control, INTERRUPT, Interrupt(flags=WAIT, seen=seen.count, timeout_ns=nanoseconds))
        assert time.monotonic_ns() - began >= nanoseconds
    with pytest.raises(OSError, match="No such device or address"):
        ask(control, INTERRUPT, Interrupt(index=1))
    # As long as can be said, and longer than the kernel counts.
    waiting = Aside(ask, control, INTERRUPT, Interrupt(flags=WAIT, seen=seen.count, timeout_ns=2**63 - 1))
    time.sleep(0.1)
    assert waiting.is_alive()
    fcntl.ioctl(control, CARD_RESET)
    with pytest.raises(ConnectionResetError):
        waiting.finish()


def test_a_reset_of_the_card_ends_everything(control: int, card: Card) -> None:
    write_register(control, SCRATCH, 5)
    with opened(card.files["out"], os.O_RDONLY) as back:
        reading = Aside(os.read, back, 100)
        time.sleep(0.1)
        fcntl.ioctl(control, CARD_RESET)
        with pytest.raises(OSError, match="reset") as caught:
            reading.finish()
        assert caught.value.errno == errno.ECONNRESET
        assert read_register(control, SCRATCH) == 0, "the user core was reset, too"
        with opened(card.files["in"], os.O_WRONLY | os.O_DIRECT) as to:
            os.write(to, b"still well")
            assert os.read(back, 100) == b"still well"


def test_only_a_writer_may_change_anything(card: Card) -> None:
    with opened(card.files["control"], os.O_RDONLY) as file:
        with pytest.raises(PermissionError):
            fcntl.ioctl(file, CARD_RESET)
        with pytest.raises(PermissionError):
            write_register(file, SCRATCH, 1)
        read_register(file, SCRATCH)


@pytest.mark.parametrize("command", STRUCTURES, ids=lambda command: STRUCTURES[command].__name__)
def test_a_caller_who_knows_more_gives_zeros(control: int, command: int) -> None:
    """Others are refused in test_arguments.py."""
    size = ctypes.sizeof(STRUCTURES[command])
    for argsz in (size, size + 64):
        image = (ctypes.c_char * (size + 64))()
        image[:4] = argsz.to_bytes(4, "little")
        assert LIBC.ioctl(control, ctypes.c_ulong(command), image) == 0


def test_a_caller_who_knows_less_gets_no_more(control: int) -> None:
    image = (ctypes.c_ubyte * 32)(*[0xEE] * 32)
    image[:8] = [16, 0, 0, 0, 0, 0, 0, 0]
    image[8:16] = [0] * 8
    assert LIBC.ioctl(control, ctypes.c_ulong(CARD_INFO), image) == 0
    assert bytes(image[16:]) == b"\xee" * 16
    assert int.from_bytes(bytes(image[8:10]), "little") == contract("VERSION_MAJOR")


@pytest.mark.parametrize("seed", [1])
def test_random_requests_do_no_harm(control: int, card: Card, seed: int) -> None:
    """Many come to nothing; none may hurt. A wait with a random timeout would last: those are left to the end of time."""
    random_ = random.Random(seed)
    commands = [*STRUCTURES, *(random_.getrandbits(32) for _ in range(20))]
    image = (ctypes.c_char * 256)()
    for _ in range(3000):
        image[:] = random_.randbytes(256)
        command = random_.choice(commands)
        if random_.random() < 0.7:
            image[:4] = random_.choice([8, 16, 32, 64, 88, 96]).to_bytes(4, "little")
            image[4:8] = random_.choice([0, 0, 1, 2]).to_bytes(4, "little")
        if command == INTERRUPT:
            image[24:32] = bytes(8)
        LIBC.ioctl(control, ctypes.c_ulong(command), image)
    info = CardInfo()
    ask(control, CARD_INFO, info)
    assert info.core_name == b"loopback"
