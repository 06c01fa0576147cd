# SPDX-License-Identifier: Apache-2.0
"""A channel's file as a queue of transfers (TOWPATH_IOC_QUEUE and what belongs to it), for tests."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from asking import S64, U16, U32, U64, ask, number

S32 = ctypes.c_int32
ANNOUNCE = 1
END, ATTRIBUTES, LENGTH = 1, 2, 4
TO_CARD, FROM_CARD = 1, 2
FOR_EVER = -1
SECOND = 10**9


class InterruptEvent(ctypes.Structure):
    _fields_ = (("argsz", U32), ("flags", U32), ("index", U32), ("eventfd", S32))


COUNTERS = (
    "unsupported_requests completer_aborts poisoned timeouts bad_completions late_completions unexpected_completions "
    "bus_mastering_losses link_downs function_resets quarantined reserved"
).split()


class LinkCounters(ctypes.Structure):
    _fields_ = tuple((name, U32) for name in ("argsz", "flags", *COUNTERS))


class RegisterBuffer(ctypes.Structure):
    _fields_ = (("argsz", U32), ("flags", U32), ("address", U64), ("bytes", U64), ("buffer", U32), ("reserved", U32))


class AllocateBuffer(ctypes.Structure):
    _fields_ = (("argsz", U32), ("flags", U32), ("bytes", U64), ("offset", U64), ("buffer", U32), ("reserved", U32))


class ImportBuffer(ctypes.Structure):
    _fields_ = (("argsz", U32), ("flags", U32), ("dmabuf", S32), ("buffer", U32), ("bytes", U64))


class UnregisterBuffer(ctypes.Structure):
    _fields_ = tuple((name, U32) for name in "argsz flags buffer reserved".split())


class MakeQueue(ctypes.Structure):
    _fields_ = (("argsz", U32), ("flags", U32), ("control", S32), ("eventfd", S32))


class Piece(ctypes.Structure):
    _fields_ = (("address", U64), ("bytes", U64), ("buffer", U32), ("reserved", U32))


class Transfer(ctypes.Structure):
    _fields_ = (
        *(("pieces", U64), ("count", U32), ("flags", U32), ("length", U64)),
        *(("offset", U64), ("user", U32), ("reserved", U32)),
    )


class Completion(ctypes.Structure):
    _fields_ = (("ticket", U64), *((name, U32) for name in "bytes status offset user".split()))


class Exchange(ctypes.Structure):
    _fields_ = (
        *(("argsz", U32), ("flags", U32), ("transfer", U64), ("transfers", U32), ("submitted", U32), ("ticket", U64)),
        *(("completion", U64), ("completions", U32), ("collected", U32), ("wanted", U32), ("reserved", U32), ("timeout_ns", S64)),
    )


class MessageStart(ctypes.Structure):
    _fields_ = (("argsz", U32), ("flags", U32), ("length", U64), ("offset", U32), ("user", U32), ("timeout_ns", S64))


class Moderation(ctypes.Structure):
    _fields_ = (("argsz", U32), ("flags", U32), ("entries", U16), ("time", U16), ("reserved", U32))


class Statistics(ctypes.Structure):
    _fields_ = (
        *(("argsz", U32), ("flags", U32)),
        *((name, U64) for name in "submitted completed bytes interrupts wrong_cookies wrong_lengths wrong_statuses unexpected".split()),
    )


class Level(ctypes.Structure):
    _fields_ = (*((name, U32) for name in "argsz flags level bytes full reached".split()), ("timeout_ns", S64))


INTERRUPT_EVENT = number(InterruptEvent, 0x75)
LINK_COUNTERS = number(LinkCounters, 0x76)
REGISTER_BUFFER = number(RegisterBuffer, 0x77)
UNREGISTER_BUFFER = number(UnregisterBuffer, 0x78)
ALLOCATE_BUFFER = number(AllocateBuffer, 0x79)
IMPORT_BUFFER = number(ImportBuffer, 0x7A)
QUEUE = number(MakeQueue, 0x81)
EXCHANGE = number(Exchange, 0x82)
MESSAGE_START = number(MessageStart, 0x83)
CANCEL = number(None, 0x84)
MODERATION = number(Moderation, 0x85)
CHANNEL_STATISTICS = number(Statistics, 0x86)
FILL_LEVEL = number(Level, 0x88)


class Buffer:
    """Memory for the card; `map` is where the program has it, and transfers name it from `address` on."""

    map: mmap.mmap
    bytes: int
    address = 0
    buffer = 0

    def piece(self, start: int = 0, count: int | None = None) -> Piece:
        return Piece(address=self.address + start, bytes=self.bytes - start if count is None else count, buffer=self.buffer)

    def content(self, count: int | None = None) -> bytes:
        return self.map[: self.bytes if count is None else count]

    def unregister(self, control: int) -> None:
        ask(control, UNREGISTER_BUFFER, UnregisterBuffer(buffer=self.buffer))
        self.buffer = 0


class Memory(Buffer):
    """Pages of the program; with a number, so many bytes that nobody has touched."""

    def __init__(self, content: bytes | int) -> None:
        self.bytes = content if isinstance(content, int) else len(content)
        self.map = mmap.mmap(-1, max(self.bytes, 1), mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        if isinstance(content, bytes):
            self.map[: self.bytes] = content
        self.view = (ctypes.c_char * max(self.bytes, 1)).from_buffer(self.map)
        self.address = ctypes.addressof(self.view)

    def register(self, control: int, flags: int = TO_CARD | FROM_CARD) -> Memory:
        wanted = RegisterBuffer(flags=flags, address=self.address, bytes=self.bytes)
        ask(control, REGISTER_BUFFER, wanted)
        assert wanted.buffer != 0
        self.buffer = wanted.buffer
        return self


class Allocated(Buffer):
    """New memory of the driver's."""

    def __init__(self, control: int, count: int, flags: int = TO_CARD | FROM_CARD) -> None:
        wanted = AllocateBuffer(flags=flags, bytes=count)
        ask(control, ALLOCATE_BUFFER, wanted)
        self.bytes, self.buffer, self.offset = wanted.bytes, wanted.buffer, wanted.offset
        self.map = self.mapped(control)

    def mapped(self, control: int) -> mmap.mmap:
        return mmap.mmap(control, self.bytes, mmap.MAP_SHARED, offset=self.offset)


class Imported(Buffer):
    """The memory behind a dma-buf."""

    def __init__(self, control: int, descriptor: int, flags: int = TO_CARD | FROM_CARD) -> None:
        wanted = ImportBuffer(flags=flags, dmabuf=descriptor)
        ask(control, IMPORT_BUFFER, wanted)
        self.bytes, self.buffer = wanted.bytes, wanted.buffer
        self.map = mmap.mmap(descriptor, self.bytes, mmap.MAP_SHARED)


def transfer(pieces: Buffer | Sequence[Piece], flags: int = 0, length: int = 0, offset: int = 0, user: int = 0) -> Transfer:
    """Of whole memory, or of pieces; it keeps them."""
    listed = [pieces.piece()] if isinstance(pieces, Buffer) else list(pieces)
    array = (Piece * len(listed))(*listed)
    made = Transfer(pieces=ctypes.addressof(array), count=len(listed), flags=flags, length=length, offset=offset, user=user)
    made.keep = (array, pieces)  # type: ignore[attr-defined]
    return made


@dataclass
class Queue:
    file: int

    def exchange(
        self, transfers: Sequence[Transfer] = (), wanted: int = 0, room: int = 64, timeout_ns: int = 20 * SECOND, goes_on: bool = True
    ) -> tuple[Exchange, list[Completion]]:
        """What came of it, and what was collected; an OSError has both, too. Goes on when interrupted, as by the end of a ring before."""
        posted = (Transfer * len(transfers))(*transfers)
        found = (Completion * room)()
        argument = Exchange(
            transfer=ctypes.addressof(posted),
            transfers=len(transfers),
            completion=ctypes.addressof(found),
            completions=room,
            wanted=wanted,
            timeout_ns=timeout_ns,
        )
        try:
            ask(self.file, EXCHANGE, argument)
        except OSError as error:
            ended = list(found[: argument.collected])
            if error.errno == errno.EINTR and goes_on:
                left, count = transfers[argument.submitted :], len(ended)
                rest, more = self.exchange(left, max(wanted - count, 0), room - count, timeout_ns)
                rest.ticket = argument.ticket if argument.submitted else rest.ticket
                rest.submitted += argument.submitted
                return rest, ended + more
            error.exchange, error.found = argument, ended  # type: ignore[attr-defined]
            raise
        return argument, list(found[: argument.collected])

    def submit(self, *transfers: Transfer) -> int:
        """The ticket of the first; all of them must find room."""
        argument, _ = self.exchange(transfers, room=0)
        assert argument.submitted == len(transfers)
        return int(argument.ticket)

    def collect(self, count: int) -> list[Completion]:
        _, found = self.exchange(wanted=count, room=count)
        assert len(found) == count
        return found

    def run(self, wanted: Transfer) -> Completion:
        """One transfer, from its beginning to its end."""
        _, found = self.exchange([wanted], wanted=1, room=1)
        return found[0]

    def message_start(self, timeout_ns: int = 20 * SECOND) -> MessageStart:
        start = MessageStart(timeout_ns=timeout_ns)
        ask(self.file, MESSAGE_START, start)
        return start

    def cancel(self) -> None:
        fcntl.ioctl(self.file, CANCEL)


@contextmanager
def queue(path: Path, flags: int, control: int = -1, eventfd: int = -1, announce: bool = False) -> Iterator[Queue]:
    file = os.open(path, flags)
    try:
        ask(file, QUEUE, MakeQueue(flags=ANNOUNCE if announce else 0, control=control, eventfd=eventfd))
        yield Queue(file)
    finally:
        os.close(file)


def error_of(call: object, *arguments: object, **named: object) -> str:
    """The name of the error that a call ends with."""
    try:
        call(*arguments, **named)  # type: ignore[operator]
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    return "none"
