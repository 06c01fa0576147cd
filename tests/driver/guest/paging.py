# SPDX-License-Identifier: Apache-2.0
"""Memory whose pages come late: whoever touches it first waits, a system call in the kernel as well (userfaultfd(2))."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import os

import pytest
from inside import LIBC

USERFAULTFD = 323
API, MISSING = 0xAA, 1


def _call(number: int, *values: int) -> tuple[int, ctypes.Array[ctypes.c_uint64]]:
    """One of its ioctls, whose structures are all 64-bit words."""
    words = (ctypes.c_uint64 * len(values))(*values)
    return 3 << 30 | ctypes.sizeof(words) << 16 | API << 8 | number, words


class Withheld:
    """So many bytes of zeroes that nobody gets before `hand_out`."""

    def __init__(self, count: int) -> None:
        self.map = mmap.mmap(-1, count, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.view = (ctypes.c_char * count).from_buffer(self.map)
        self.file = LIBC.syscall(USERFAULTFD, os.O_CLOEXEC)
        if self.file < 0 and ctypes.get_errno() == errno.ENOSYS:
            pytest.skip("this kernel has no userfaultfd")
        assert self.file >= 0, os.strerror(ctypes.get_errno())
        fcntl.ioctl(self.file, *_call(0x3F, API, 0, 0))
        fcntl.ioctl(self.file, *_call(0x00, ctypes.addressof(self.view), count, MISSING, 0))

    def hand_out(self) -> None:
        """Once it is closed, the kernel goes on as with any memory."""
        if self.file >= 0:
            os.close(self.file)
            self.file = -1

    def __enter__(self) -> Withheld:
        return self

    def __exit__(self, *_: object) -> None:
        self.hand_out()
