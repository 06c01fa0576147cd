# SPDX-License-Identifier: Apache-2.0
"""Windows of the card that are mapped into a test: accesses that are never torn, and children that may die of one."""

from __future__ import annotations

import ctypes
import faulthandler
import functools
import mmap
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable

import pytest
from inside import IN_QEMU, LIBC

PAGE = 4096
READ, WRITE, EXECUTE = mmap.PROT_READ, mmap.PROT_WRITE, mmap.PROT_EXEC
# A child that is at it for longer was forgotten.
CHILD_SECONDS = 20
LIBC.mmap.restype = LIBC.mremap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
LIBC.mremap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int]
LIBC.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
LIBC.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]

can_be_mapped = pytest.mark.skipif(not IN_QEMU, reason="User-Mode Linux cannot map a BAR into a program")

# Python tears a word into bytes when it likes.
ACCESSES = """
#include <stdint.h>
uint32_t get(const volatile uint32_t *at) { return *at; }
void put(volatile uint32_t *at, uint32_t value) { *at = value; }
"""


@functools.cache
def accesses() -> ctypes.CDLL:
    with tempfile.TemporaryDirectory() as folder:
        library = f"{folder}/accesses.so"
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-x", "c", "-", "-o", library], input=ACCESSES, text=True, check=True)
        made = ctypes.CDLL(library)
    made.get.argtypes = [ctypes.c_void_p]
    made.get.restype = ctypes.c_uint32
    made.put.argtypes = [ctypes.c_void_p, ctypes.c_uint32]
    return made


class Mapped:
    """A mapping. It has no descriptor of its own, as one of Python's has."""

    def __init__(self, file: int, bytes: int = PAGE, protection: int = READ | WRITE, kind: int = mmap.MAP_SHARED, offset: int = 0) -> None:
        self.bytes = bytes
        accesses()  # before there are children that need them
        self.at = LIBC.mmap(None, bytes, protection, kind, file, offset)
        checked(self.at != ctypes.c_void_p(-1).value)

    def read(self, offset: int) -> int:
        return int(accesses().get(self.at + offset))

    def write(self, offset: int, value: int) -> None:
        accesses().put(self.at + offset, value)

    def protect(self, protection: int) -> None:
        checked(LIBC.mprotect(self.at, self.bytes, protection) == 0)

    def end(self) -> None:
        checked(LIBC.munmap(self.at, self.bytes) == 0)


def checked(is_well: bool) -> None:
    if not is_well:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def child(work: Callable[[], object]) -> int:
    """A child that does this and ends."""
    process = os.fork()
    if process == 0:
        try:
            faulthandler.disable()
            signal.signal(signal.SIGBUS, signal.SIG_DFL)
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(CHILD_SECONDS)
            work()
            os._exit(0)
        finally:
            os._exit(1)
    return process


def end_of(process: int) -> int:
    """Its exit code, or less than zero: the signal that ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
