# SPDX-License-Identifier: Apache-2.0
"""What was written to a card's core, what has happened to it since, and what may therefore be read from it.

One process writes messages to the core, which gives them back, and another reads. Both may be killed at any moment, and others take their
place; so what they know of each other lies in memory that they share. A message is a number, counted from one, and a length: these
determine each of its bytes. Its end counts as one more.

The bytes that are read must be those of the messages in the order of their numbers, whole and each with its end where it belongs. What is
missing must have been lost by something that happens to the card or its programs and that the contract lets lose it: noted before it
begins and when it is over, and not before the message was begun. Whatever happens, nothing comes twice, late, or changed.
"""

from __future__ import annotations

import errno
import mmap
import random
from array import array
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from os.path import commonprefix

SMALLEST, LARGEST = 16, 100_000
# That a ledger has room for.
MESSAGES = 1 << 17
# So many bytes in a row are found at one place of one message alone; of less, nobody can tell.
PIECE = SMALLEST
NOISE = int.from_bytes(random.Random(0).randbytes(LARGEST + 4096 + 8), "little")

GONE = frozenset({errno.ENODEV, errno.ENOENT, errno.ENXIO})
# The latter to one who opens a channel, and must not wait.
RESET = frozenset({errno.ECONNRESET, errno.EAGAIN})
# What may happen, and what those who are in the middle of something may be told of it.
HAPPENINGS = {
    "a reset of the writer's own": frozenset[int](),
    "a reset of the reader's own": frozenset[int](),
    "the writer killed": frozenset[int](),
    "the reader killed": frozenset[int](),
    "a reset of the card": RESET,
    "a reset of the function": RESET,
    "bound anew": GONE,
    "pulled out": GONE | {errno.ENOLINK},
}
KINDS = list(HAPPENINGS)


@lru_cache(64)
def content(number: int, length: int) -> bytes:
    """Of each eight bytes, four are the message's number and four their place in it, under noise of its own."""
    cells = -(-length // 8)
    plain = array("Q", range(number, number + (cells << 32), 1 << 32)).tobytes()
    mixed = int.from_bytes(plain, "little") ^ (NOISE >> 8 * (number % 4096)) & (1 << 64 * cells) - 1
    return mixed.to_bytes(8 * cells, "little")[:length]


class Ledger:
    """Of each number in it only one process at a time is the writer, and each is written at once."""

    LAST, PLACE, WHOLE, UNDISTURBED, NEWEST, STOP = range(6)

    def __init__(self) -> None:
        self.shared = mmap.mmap(-1, 8 * (6 + len(KINDS) + 2 * MESSAGES))
        words = memoryview(self.shared).cast("Q")
        self.state, self.counts = words[:6], words[6 : 6 + len(KINDS)]
        self.lengths, self.begun = words[-2 * MESSAGES : -MESSAGES], words[-MESSAGES:]
        words.release()
        self.place = (0, 1)

    def close(self) -> None:
        """Shared memory is an open file."""
        for words in (self.state, self.counts, self.lengths, self.begun):
            words.release()
        self.shared.close()

    # What happens.

    @contextmanager
    def happening(self, kind: str) -> Iterator[None]:
        """An odd count is that of something under way."""
        index = KINDS.index(kind)
        self.counts[index] += 1
        try:
            yield
        finally:
            self.counts[index] += 1

    def settle(self, kind: str) -> None:
        """Whoever did this was killed."""
        self.counts[KINDS.index(kind)] += self.counts[KINDS.index(kind)] % 2

    def over(self) -> list[int]:
        """How often each has happened; what is under way counts as still to come."""
        return [count - count % 2 for count in self.counts]

    def since(self, before: list[int]) -> list[str]:
        return [kind for kind, count, earlier in zip(KINDS, self.counts, before, strict=True) if count > earlier]

    def explain(self, error: int, before: list[int]) -> None:
        """A program has been told this."""
        happened = self.since(before)
        assert any(error in HAPPENINGS[kind] for kind in happened), f"told {errno.errorcode.get(error, error)}, and there was {happened}"

    # What is written.

    @property
    def last(self) -> int:
        return self.state[self.LAST]

    def begin(self, length: int) -> int:
        """A new message: its number."""
        number = self.last + 1
        self.lengths[number], self.begun[number] = length, sum(self.over())
        self.state[self.LAST] = number
        return number

    def give_up(self, first: int, before: list[int]) -> None:
        """The writer has been told of what has happened since then in the middle of these messages, perhaps when it was over."""
        for number in range(first, self.last + 1):
            self.begun[number] = min(self.begun[number], sum(before))

    def content(self, number: int) -> bytes:
        return content(number, self.lengths[number])

    def may_have_lost(self, number: int) -> bool:
        return sum(self.counts) > self.begun[number]

    # What is read.

    @property
    def place(self) -> tuple[int, int]:
        """The message of the next byte, and where in it. Behind its length comes its end, and behind that the next message."""
        return self.state[self.PLACE] >> 32, self.state[self.PLACE] & 0xFFFFFFFF

    @place.setter
    def place(self, place: tuple[int, int]) -> None:
        self.state[self.PLACE] = place[0] << 32 | place[1]

    @property
    def whole(self) -> int:
        """Messages that were read from their first byte to their end."""
        return self.state[self.WHOLE]

    @property
    def undisturbed(self) -> int:
        """Of these, those that had to arrive."""
        return self.state[self.UNDISTURBED]

    @property
    def newest(self) -> int:
        """The last of them."""
        return self.state[self.NEWEST]

    def has_read(self, number: int) -> bool:
        return self.place > (number, self.lengths[number])


class Checked:
    """What one reader gets."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        number, at = ledger.place
        self.whole = at > ledger.lengths[number]
        self.recent = b""
        self.pending: list[bytes] = []
        self.taken: deque[str] = deque(maxlen=12)
        self.before = ledger.over()

    def take(self, data: bytes, ended: bool | None) -> None:
        """Bytes of one message in a row, and whether it ends with them; None: that was not told."""
        self.taken.append(f"{len(data)}{'.' if ended else ''} after {self.ledger.since(self.before) or 'nothing'}")
        self.before = self.ledger.over()
        rest = data
        if self.pending:
            parts, self.pending = [*self.pending, data], []
            rest = b"".join(parts)
            if len(rest) < PIECE and not ended:
                self.pending = parts
                return
            if not self.goes_on(rest):
                # Between these, too, something is missing.
                for part in parts[:-1]:
                    self.follow(part, True)
                rest = data
        self.follow(rest, bool(ended))
        if not self.pending:
            self.end(ended)

    def follow(self, rest: bytes, all_of_it: bool) -> None:
        """Finds out where this comes from; of its end, perhaps later."""
        while rest:
            number, at = self.following()
            ours = self.ledger.content(number)[at : at + len(rest)]
            same = len(ours) if ours and rest.startswith(ours) else len(commonprefix([ours, rest]))
            if not same:
                if len(rest) < PIECE and not all_of_it:
                    self.pending = [rest]  # too little to know where it belongs
                    return
                self.jump(rest)
                continue
            if at == 0:
                self.whole = True
            self.ledger.place = number, at + same
            self.recent = (self.recent + rest[max(0, same - PIECE) : same])[-PIECE:]
            rest = rest[same:]

    def end(self, ended: bool | None) -> None:
        """Whether one is told behind what has been read."""
        number, at = self.ledger.place
        length = self.ledger.lengths[number]
        if ended and at != length:
            # One that was cut, or of which nothing is left but its end.
            self.lost(min(number + (at > length), self.ledger.last))
            self.whole = False
        elif ended is not False and at == length:
            self.ledger.place = number, length + 1
            if self.whole:
                self.ledger.state[Ledger.WHOLE] += 1
                self.ledger.state[Ledger.NEWEST] = number
                self.ledger.state[Ledger.UNDISTURBED] += not self.ledger.may_have_lost(number)

    def following(self) -> tuple[int, int]:
        number, at = self.ledger.place
        return (number + 1, 0) if at > self.ledger.lengths[number] else (number, at)

    def jump(self, rest: bytes) -> None:
        """Something is missing: find out where it goes on."""
        number, at = self.ledger.place
        found = self.goes_on(rest)
        assert found, (
            f"behind byte {at} of message {number} comes what was not written there: {rest[:64].hex(' ')}; "
            f"bytes (with a point: and the end) that came last: {', '.join(self.taken)}"
        )
        later, start = found
        # Its first bytes may have been, by chance, those that were expected.
        self.whole = 0 < start <= PIECE and self.recent.endswith(self.ledger.content(later)[:start])
        self.lost(later - 1 if self.whole or not start else later)
        self.ledger.place = found

    def goes_on(self, rest: bytes) -> tuple[int, int] | None:
        """Where these bytes can be from."""
        return self.find(rest[:PIECE], self.ledger.place) or self.find_short(rest)

    def find(self, piece: bytes, behind: tuple[int, int]) -> tuple[int, int] | None:
        """The first place of these bytes."""
        for number in range(behind[0], self.ledger.last + 1):
            at = self.ledger.content(number).find(piece, behind[1] if number == behind[0] else 0)
            if at >= 0:
                return number, at
        return None

    def find_short(self, rest: bytes) -> tuple[int, int] | None:
        """The same for less than that of one message, with another behind it."""
        for size in range(1, min(PIECE, len(rest))):
            found = self.find(rest[:size], self.ledger.place)
            if found and self.find(rest[size : size + PIECE], (found[0], found[1] + size)):
                return found
        return None

    def lost(self, number: int) -> None:
        """Of this one, and perhaps of others before it."""
        assert self.ledger.may_have_lost(number), (
            f"behind {self.ledger.place} something of message {number} is missing, and nothing has happened since it was begun"
        )
