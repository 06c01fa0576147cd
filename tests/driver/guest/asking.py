# SPDX-License-Identifier: Apache-2.0
"""The driver's ioctls (driver/linux/uapi/towpath.h) for tests, and files without anything of Python's in between."""

from __future__ import annotations

import ctypes
import fcntl
import os
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

U16, U32, U64, S64 = ctypes.c_uint16, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int64


class CardInfo(ctypes.Structure):
    _fields_ = (
        *((name, U32) for name in ("argsz", "flags")),
        *((name, U16) for name in ("version_major", "version_minor")),
        ("data_bytes", U32),
        ("serial", U64),
        *((name, U32) for name in ("core_version", "core_clock_khz", "user_clock_khz", "window_bytes")),
        *((name, U16) for name in ("channels", "vectors", "vectors_used", "interrupts", "tags", "plugins", "features", "reserved")),
        ("core_name", ctypes.c_char * 32),
    )


class ChannelInfo(ctypes.Structure):
    _fields_ = (
        *((name, U32) for name in "argsz flags index direction queue_depth inline_slots buffer_bytes reserved".split()),
        ("name", ctypes.c_char * 32),
        *((name, U32) for name in "kind kind_version kind_parameter".split()),
        ("kind_name", ctypes.c_char * 8),
    )


class PluginInfo(ctypes.Structure):
    _fields_ = (*((name, U32) for name in "argsz flags index version offset bytes".split()), ("type_name", ctypes.c_char * 8))


class Register(ctypes.Structure):
    _fields_ = tuple((name, U32) for name in ("argsz", "flags", "offset", "value"))


class Window(ctypes.Structure):
    _fields_ = (
        *((name, U32) for name in "argsz flags index off".split()),
        *((name, U64) for name in ("offset", "bytes")),
        *((name, U32) for name in "errors stores_refused stores_dropped reserved".split()),
    )


class Qos(ctypes.Structure):
    _fields_ = tuple((name, U32) for name in "argsz flags index weight rate traffic_class".split())


class Interrupt(ctypes.Structure):
    _fields_ = (*((name, U32) for name in "argsz flags index seen count reserved".split()), ("timeout_ns", S64))


def number(structure: type[ctypes.Structure] | None, at: int) -> int:
    """As _IOWR and _IO make them."""
    size = ctypes.sizeof(structure) if structure else 0
    return (3 if structure else 0) << 30 | size << 16 | ord("t") << 8 | at


CARD_INFO = number(CardInfo, 0x70)
CHANNEL_INFO = number(ChannelInfo, 0x71)
REGISTER = number(Register, 0x72)
INTERRUPT = number(Interrupt, 0x73)
PLUGIN_INFO = number(PluginInfo, 0x7B)
WINDOW = number(Window, 0x7C)
CHANNEL_QOS = number(Qos, 0x7D)
CARD_RESET = number(None, 0x74)
CHANNEL_RESET = number(None, 0x80)
WRITE = WAIT = 1


def ask(file: int, command: int, argument: ctypes.Structure) -> None:
    """With `argsz` filled in."""
    argument.argsz = ctypes.sizeof(argument)  # type: ignore[attr-defined]
    fcntl.ioctl(file, command, argument)


def read_register(control: int, offset: int) -> int:
    access = Register(offset=offset)
    ask(control, REGISTER, access)
    return int(access.value)


def write_register(control: int, offset: int, value: int) -> None:
    ask(control, REGISTER, Register(flags=WRITE, offset=offset, value=value))


@contextmanager
def opened(path: Path, flags: int) -> Iterator[int]:
    file = os.open(path, flags)
    try:
        yield file
    finally:
        os.close(file)


def write_all(file: int, data: bytes | memoryview) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(file, left) :]


def read_exactly(file: int, count: int) -> bytes:
    """So many bytes, in as many reads as it takes; less where a message ends with nothing."""
    found = bytearray()
    while len(found) < count:
        more = os.read(file, count - len(found))
        if not more:
            break
        found += more
    return bytes(found)


class Aside(threading.Thread):
    """Does something beside the test; `finish` waits for it and raises what it raised."""

    def __init__(self, what: object, *arguments: object) -> None:
        super().__init__(daemon=True)
        self.what, self.arguments = what, arguments
        self.result: object = None
        self.error: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            self.result = self.what(*self.arguments)  # type: ignore[operator]
        except BaseException as error:
            self.error = error

    def finish(self, seconds: float = 40) -> object:
        self.join(seconds)
        assert not self.is_alive(), f"{self.what} is not done"
        if self.error:
            raise self.error
        return self.result


def noise(count: int, seed: int) -> bytes:
    return random.Random(seed).randbytes(count)
