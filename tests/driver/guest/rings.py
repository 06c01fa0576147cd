# SPDX-License-Identifier: Apache-2.0
"""io_uring, by its system calls, and the driver's transfers on it, for tests."""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import re
from dataclasses import dataclass

import pytest
from asking import U16, U32, U64, number
from inside import LIBC
from queueing import S32, Completion, Memory, Transfer

KERNEL = tuple(map(int, re.findall(r"\d+", os.uname().release)[:3]))
by_commands = pytest.mark.skipif(KERNEL < (6, 7), reason="before 6.7 a program could not be killed with commands in flight")
SETUP, ENTER, REGISTER = 425, 426, 427
IOPOLL, SQPOLL, SINGLE_ISSUER, DEFER_TASKRUN = 1 << 0, 1 << 1, 1 << 12, 1 << 13
# A ring whose owner alone has its completions brought: nothing disturbs other calls of that thread.
MAY_DEFER = KERNEL >= (6, 18, 7) or (6, 12, 67) <= KERNEL < (6, 13)
QUIET = SINGLE_ISSUER | (DEFER_TASKRUN if MAY_DEFER else 0)
GET_EVENTS, WAKE_UP, EXTENDED = 1 << 0, 1 << 1, 1 << 3
SECONDS = 20
LINK, ASYNC = 1 << 2, 1 << 4
REGISTER_BUFFERS = 0
URING_CMD, ASYNC_CANCEL = 46, 14
FIXED = 1
SUBMISSIONS_AT = 0x1000_0000


class Offsets(ctypes.Structure):
    """Of both queues; the last two but one have other names in the other."""

    _fields_ = (*((name, U32) for name in "head tail mask entries flags dropped array reserved".split()), ("address", U64))


class Parameters(ctypes.Structure):
    _fields_ = (
        *((name, U32) for name in "submissions completions flags processor idle features workers".split()),
        *(("reserved", U32 * 3), ("sq", Offsets), ("cq", Offsets)),
    )


class Submission(ctypes.Structure):
    _fields_ = (
        *(("opcode", ctypes.c_uint8), ("flags", ctypes.c_uint8), ("ioprio", U16), ("file", S32), ("cmd_op", U32), ("pad", U32)),
        *(("address", U64), ("length", U32), ("command_flags", U32), ("user_data", U64)),
        *(("buffer", U16), ("personality", U16), ("other", U32), ("transfer", U64), ("completion", U64)),
    )


class UringTransfer(ctypes.Structure):
    _fields_ = (("transfer", U64), ("completion", U64))


class Wait(ctypes.Structure):
    _fields_ = (("signals", U64), ("signal_bytes", U32), ("reserved", U32), ("timeout", U64))


class Event(ctypes.Structure):
    _fields_ = (("user_data", U64), ("result", S32), ("flags", U32))


URING_TRANSFER = number(UringTransfer, 0x87)


@dataclass
class End:
    """How one came out."""

    user_data: int
    result: int
    completion: Completion | None


def called(number: int, *arguments: object) -> int:
    while True:
        result = int(LIBC.syscall(number, *arguments))
        if result >= 0:
            return result
        error = ctypes.get_errno()
        # Interrupted by a signal, whose handler runs now.
        if error != 4:
            raise OSError(error, os.strerror(error))


class Ring:
    def __init__(self, entries: int = 256, flags: int = QUIET) -> None:
        self.parameters = Parameters(flags=flags, idle=1000)
        self.file = called(SETUP, entries, ctypes.byref(self.parameters))
        sq, cq = self.parameters.sq, self.parameters.cq
        room = max(sq.array + 4 * self.parameters.submissions, cq.dropped + 16 * self.parameters.completions)
        self.queues = mmap.mmap(self.file, room)
        self.slots = mmap.mmap(self.file, 64 * self.parameters.submissions, offset=SUBMISSIONS_AT)
        self.pending = 0
        self.next = 0
        self.kept: dict[int, tuple[Transfer, Completion | None]] = {}

    def __enter__(self) -> Ring:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Nothing of it is left: the maps hold it, too."""
        if self.file >= 0:
            self.queues.close()
            self.slots.close()
            os.close(self.file)
            self.file = -1

    def word(self, at: int) -> int:
        return int.from_bytes(self.queues[at : at + 4], "little")

    def put(self, at: int, value: int) -> None:
        self.queues[at : at + 4] = (value & 0xFFFF_FFFF).to_bytes(4, "little")

    def push(self, submission: Submission) -> int:
        """For the next `enter`."""
        sq = self.parameters.sq
        tail = self.word(sq.tail)
        index = tail & self.word(sq.mask)
        submission.user_data = self.next
        self.slots[64 * index : 64 * index + 64] = bytes(submission)
        self.put(sq.array + 4 * index, index)
        self.put(sq.tail, tail + 1)
        self.pending += 1
        self.next += 1
        return self.next - 1

    def add(
        self, file: int, wanted: Transfer, completion: Completion | int | None = None, operation: int = URING_TRANSFER, **more: int
    ) -> int:
        """A transfer on a queue's file; without another wish, its completion is kept."""
        kept = Completion(ticket=77, bytes=77, status=77, offset=77, user=77) if completion is None else completion
        into = kept if isinstance(kept, int) else ctypes.addressof(kept)
        made = Submission(opcode=URING_CMD, file=file, cmd_op=operation, transfer=ctypes.addressof(wanted), completion=into, **more)
        name = self.push(made)
        self.kept[name] = (wanted, None if isinstance(kept, int) else kept)
        return name

    def enter(self, wait: int = 0) -> int:
        """Submits all that was pushed, and waits for so many to have ended."""
        timeout = (U64 * 2)(SECONDS, 0)
        limited = Wait(timeout=ctypes.addressof(timeout))
        flags = GET_EVENTS | WAKE_UP | EXTENDED
        submitted = called(ENTER, self.file, self.pending, wait, flags, ctypes.byref(limited), U64(ctypes.sizeof(limited)))
        self.pending -= submitted
        return submitted

    def ended(self) -> list[End]:
        """Those that have been told of."""
        cq = self.parameters.cq
        found = []
        head, tail = self.word(cq.head), self.word(cq.tail)
        for at in range(head, tail if tail >= head else tail + (1 << 32)):
            event = Event.from_buffer_copy(self.queues, cq.dropped + 16 * (at & self.word(cq.mask)))
            _, completion = self.kept.pop(event.user_data, (None, None))
            found.append(End(event.user_data, event.result, completion))
        self.put(cq.head, tail)
        return found

    def take(self, count: int) -> list[End]:
        """So many, neither fewer nor more."""
        found: list[End] = []
        while len(found) < count:
            try:
                self.enter(count - len(found))
            except OSError as error:
                assert error.errno == errno.ETIME
                found += self.ended()
                raise AssertionError(f"only {len(found)} of {count}: {found}") from None
            found += self.ended()
        assert len(found) == count
        return found

    def run(self, file: int, wanted: Transfer, completion: Completion | int | None = None, **more: int) -> End:
        name = self.add(file, wanted, completion, **more)
        (end,) = self.take(1)
        assert end.user_data == name
        return end

    def register(self, memory: Memory) -> None:
        """As a buffer of the ring's, which has nothing to do with the driver's."""
        vector = (U64 * 2)(memory.address, memory.bytes)
        called(REGISTER, self.file, REGISTER_BUFFERS, vector, 1)
