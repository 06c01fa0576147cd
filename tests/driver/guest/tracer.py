# SPDX-License-Identifier: Apache-2.0
"""Counts the system calls of a program, by ptrace(2), between marks: calls of getppid(2), of which no program has need."""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Callable

from inside import LIBC

MARK = os.getppid
GETPPID = 110
# What may stand between marks; others are shown by number.
NAMES = {0: "read", 1: "write", 7: "poll", 9: "mmap", 11: "munmap", 12: "brk", 16: "ioctl", 19: "readv", 202: "futex", 228: "clock_gettime"}
TRACEME, PEEKUSER, SYSCALL, SETOPTIONS = 0, 3, 24, 0x4200
# Stops at system calls are told from signals, threads are followed, and the program ends with its tracer.
OPTIONS = 0x01 | 0x08 | 0x10 | 0x100000
AT_CALL = signal.SIGTRAP | 0x80
NUMBER_AT = 15 * 8  # orig_rax in struct user
ALL_THREADS = 0x40000000

LIBC.ptrace.restype = ctypes.c_long


def ptrace(request: int, pid: int = 0, address: int = 0, data: int = 0) -> int:
    ctypes.set_errno(0)
    result = int(LIBC.ptrace(ctypes.c_long(request), ctypes.c_long(pid), ctypes.c_void_p(address), ctypes.c_void_p(data)))
    if result == -1 and ctypes.get_errno():
        raise OSError(ctypes.get_errno(), f"ptrace {request}: {os.strerror(ctypes.get_errno())}")
    return result


def calls_between_marks(program: Callable[[], object]) -> list[list[str]]:
    """The calls of a program's threads from each mark to the next. It runs in a process of its own, to its end, which is good."""
    child = os.fork()
    if child == 0:
        try:
            ptrace(TRACEME)
            os.kill(os.getpid(), signal.SIGSTOP)
            program()
            os._exit(0)
        finally:
            os._exit(1)
    os.waitpid(child, 0)
    ptrace(SETOPTIONS, child, 0, OPTIONS)
    ptrace(SYSCALL, child)
    inside: set[int] = set()
    seen: list[list[str]] = []
    while True:
        thread, status = os.waitpid(-1, ALL_THREADS)
        if not os.WIFSTOPPED(status):
            if thread != child:
                continue
            assert status == 0, f"the program ends with {status:#x}, after {seen}"
            return seen[:-1]
        what = os.WSTOPSIG(status)
        if what == AT_CALL and thread in inside:
            inside.discard(thread)
        elif what == AT_CALL:
            inside.add(thread)
            number = ptrace(PEEKUSER, thread, NUMBER_AT)
            if number == GETPPID:
                seen.append([])
            elif seen:
                seen[-1].append(NAMES.get(number, str(number)))
        # Signals are handed on, but for those that tracing makes: at the start of a thread, and of another program.
        ptrace(SYSCALL, thread, 0, 0 if what in (AT_CALL, signal.SIGTRAP, signal.SIGSTOP) else what)
