# SPDX-License-Identifier: Apache-2.0
"""Queues through the loopback core, for tests; conftest.py makes fixtures of it."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

from inside import contract
from queueing import END, Buffer, Memory, Piece, Queue, transfer

DONE, END_OF_MESSAGE, CANCELLED, RESET = (contract(f"STATUS_{name}") for name in ("DONE", "END_OF_MESSAGE", "CANCELLED", "RESET"))
GUARD = 64


@dataclass
class Loop:
    """Both ways of the loopback core, and the control file whose buffers they may use."""

    control: int
    to: Queue
    back: Queue


def pinned() -> int:
    """KiB of this program's memory that are pinned for the card until it says otherwise."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmPin:")[1].split()[0])


def there_and_back(loop: Loop, data: bytes = b"a message") -> None:
    into = Memory(len(data) + 1)
    loop.to.submit(transfer(Memory(data), END))
    found = loop.back.run(transfer(into))
    assert (found.status, found.bytes, into.content(found.bytes)) == (END_OF_MESSAGE, len(data), data)
    loop.to.collect(1)


class Pieces:
    """A random part of memory, cut at random, some of it perhaps registered; guarded on both sides of each piece."""

    def __init__(self, draw: random.Random, memory: Buffer, count: int) -> None:
        cuts = sorted(draw.randrange(count + 1) for _ in range(draw.choice([0, 0, 1, 3, 20])))
        lengths = [end - start for start, end in zip([0, *cuts], [*cuts, count], strict=True)]
        self.memory, self.parts, at = memory, [], GUARD
        for length in lengths:
            # A debug kernel wants no page mapped more than seven times at once.
            gaps = [0, 1, 63] if len(lengths) < 7 else []
            at += draw.choice([*gaps, 4096 - at % 4096, 4096 - at % 4096 + 4095])
            self.parts.append((at, length))
            at += length + GUARD
        memory.map[:at] = b"\xc3" * at

    def listed(self) -> list[Piece]:
        return [self.memory.piece(at, length) for at, length in self.parts]

    def fill(self, data: bytes) -> None:
        for at, length in self.parts:
            self.memory.map[at : at + length], data = data[:length], data[length:]

    def content(self, count: int) -> bytes:
        return b"".join(self.memory.map[at : at + length] for at, length in self.parts)[:count]

    def is_whole(self, count: int) -> bool:
        """Nothing beside the pieces was touched, nor the pieces behind `count` bytes."""
        for at, length in self.parts:
            used = min(length, count)
            count -= used
            around = self.memory.map[at - GUARD : at] + self.memory.map[at + used : at + length + GUARD]
            if around.count(b"\xc3") != len(around):
                return False
        return True
