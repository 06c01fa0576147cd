# SPDX-License-Identifier: Apache-2.0
"""A million ioctl calls with random arguments: whatever a program asks for, the kernel answers, and nothing stays behind."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import random
import resource
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import asking
import queueing
from asking import CARD_RESET, CHANNEL_RESET
from inside import LIBC, Card, say, until
from queueing import QUEUE, Memory

# Bytes, while calls are made at random.
PINNED = 64 << 20
U32_MAX = (1 << 32) - 1
CALLS = int(os.environ.get("TOWPATH_SOAK_CALLS", "1000000"))
STRUCTURES = [
    structure
    for module in (asking, queueing)
    for structure in vars(module).values()
    if isinstance(structure, type) and issubclass(structure, ctypes.Structure) and structure is not ctypes.Structure
]
NUMBERS = list(range(0x70, 0x90))
COMMANDS = [
    value
    for module in (asking, queueing)
    for value in vars(module).values()
    if isinstance(value, int) and not isinstance(value, bool) and value >> 8 & 0xFF == ord("t")
]
EDGES = [0, 1, 2, 3, 4, 8, 16, 63, 64, 4095, 4096, 1 << 31, (1 << 32) - 1, (1 << 48) - 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1]


@contextmanager
def interrupted() -> Iterator[None]:
    """Calls that would wait for ever are ended by a signal."""
    signal.signal(signal.SIGALRM, lambda *_: None)
    signal.siginterrupt(signal.SIGALRM, True)
    signal.setitimer(signal.ITIMER_REAL, 0.005, 0.005)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


CAPSET, CAPABILITIES_3, IPC_LOCK = 126, 0x20080522, 14


@contextmanager
def bounded_memory() -> Iterator[None]:
    """Root may pin as much as it likes, and calls at random would: for so long it may not."""
    before = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (PINNED, PINNED))
    text = Path("/proc/self/status").read_text()
    permitted, effective = (int(text.split(f"{name}:")[1].split()[0], 16) for name in ("CapPrm", "CapEff"))

    def have(wanted: int) -> None:
        head = (ctypes.c_uint32 * 2)(CAPABILITIES_3, 0)
        halves = [value for shift in (0, 32) for value in ((wanted >> shift) & U32_MAX, (permitted >> shift) & U32_MAX, 0)]
        assert LIBC.syscall(CAPSET, head, (ctypes.c_uint32 * 6)(*halves)) == 0

    have(effective & ~(1 << IPC_LOCK))
    try:
        yield
    finally:
        have(effective)
        resource.setrlimit(resource.RLIMIT_MEMLOCK, before)


class Arguments:
    """Random ones: fields of their own kind, edges, or noise; pointers into memory that may be written, or nowhere."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.arena = Memory(1 << 20)
        # What the card or the kernel writes by a wrong pointer goes here, not into the program.
        self.block = ctypes.create_string_buffer(4096)

    def pointer(self) -> int:
        if self.draw.random() < 0.8:
            return self.arena.address + self.draw.randrange(self.arena.bytes)
        return self.draw.choice([0, 8, 4096, 1 << 47, (1 << 64) - 4096])

    def value(self, name: str, bits: int) -> int:
        if name in ("address", "pieces", "transfer", "completion"):
            return self.pointer()
        if name in ("control", "eventfd", "dmabuf"):
            return self.draw.choice([-1, -1, -1, self.draw.randrange(30)])
        kind = self.draw.random()
        if kind < 0.6:
            return self.draw.randrange(4)
        if kind < 0.9:
            return self.draw.choice(EDGES) & ((1 << bits) - 1)
        return self.draw.getrandbits(bits)

    def structure(self, size: int = 0) -> ctypes.Structure:
        """Of any kind, or one of that size."""
        made = self.draw.choice([structure for structure in STRUCTURES if size in (0, ctypes.sizeof(structure))])()
        for name, kind, *_ in made._fields_:
            if issubclass(kind, ctypes._SimpleCData):
                setattr(made, name, self.value(name, 8 * ctypes.sizeof(kind)))
        if hasattr(made, "argsz") and self.draw.random() < 0.9:
            made.argsz = ctypes.sizeof(made)
        if hasattr(made, "timeout_ns") and self.draw.random() < 0.9:
            made.timeout_ns = self.draw.choice([0, 0, 1000])
        return made

    def scatter(self) -> None:
        """Transfers and pieces lie about in the arena, where pointers may find them."""
        for _ in range(20):
            made = bytes(self.structure())
            at = 8 * self.draw.randrange(self.arena.bytes // 8 - 32)
            self.arena.map[at : at + len(made)] = made


# Resets take their time.
SLOW = (CARD_RESET, CHANNEL_RESET, QUEUE)


def any_call(draw: random.Random, arguments: Arguments, files: list[int]) -> tuple[int, ctypes.Structure, int]:
    """Mostly one that exists, with a structure of its size, on a file that has it."""
    if draw.random() < 0.2:
        structure = arguments.structure()
        size = draw.choice([ctypes.sizeof(structure), draw.randrange(1 << 14)])
        return draw.choice([3, 0]) << 30 | size << 16 | ord("t") << 8 | draw.choice(NUMBERS), structure, draw.choice(files)
    command = draw.choice(COMMANDS)
    while command in SLOW and draw.random() < 0.97:
        command = draw.choice(COMMANDS)
    file = files[0] if command & 0xFF < CHANNEL_RESET & 0xFF else draw.choice(files[1:])
    return command, arguments.structure(command >> 16 & 0x3FFF), file


def test_calls_with_random_arguments(card: Card, counted: None) -> None:
    seed = int(os.environ["TOWPATH_SOAK_SEED"])
    draw = random.Random(seed)
    until(lambda: "out" in card.files, "the card's files are there")
    answers: Counter[str] = Counter()
    arguments = Arguments(draw)
    files: list[int] = []

    def again() -> None:
        for file in files:
            try:
                os.close(file)
            except OSError as error:
                answers[f"close: {errno.errorcode[error.errno or 0]}"] += 1
        wanted = (("control", os.O_RDWR), ("in", os.O_WRONLY), ("out", os.O_RDONLY))
        files[:] = [os.open(card.files[name], flags | os.O_NONBLOCK) for name, flags in wanted]

    with interrupted(), bounded_memory():
        for count in range(CALLS):
            if count % 5000 == 0:
                again()
                arguments.scatter()
            command, structure, file = any_call(draw, arguments, files)
            ctypes.memmove(arguments.block, bytes(structure), ctypes.sizeof(structure))
            at = ctypes.addressof(arguments.block) if draw.random() < 0.95 else arguments.pointer()
            result = LIBC.ioctl(file, ctypes.c_ulong(command), ctypes.c_void_p(at))
            answers["0" if result == 0 else errno.errorcode.get(ctypes.get_errno(), "?")] += 1
        again()
        fcntl.ioctl(files[0], CARD_RESET)
    for file in files:
        with suppress(OSError):  # of the reset
            os.close(file)
    say(f"seed {seed}: {dict(answers.most_common())}")
    assert answers["0"] > CALLS // 100 and answers["EINVAL"] > CALLS // 100
