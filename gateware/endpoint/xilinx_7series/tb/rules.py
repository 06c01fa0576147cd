# SPDX-License-Identifier: Apache-2.0
"""What a link partner demands of a packet: the header taken apart, and the rules of the PCI Express Base Specification 2.1 for it.

block.py reads packets off the pins and asks here. Each answer is None, or (name of the check, what was wrong); plan.md lists the names.
"""

from dataclasses import dataclass
from typing import NamedTuple

MEMORY, LOCKED, IO, CONFIG, CONFIG_1, COMPLETION, COMPLETION_LOCKED = 0, 1, 2, 4, 5, 10, 11  # type field, 2.2.1
MESSAGES, ATOMICS = range(16, 24), range(12, 15)
RELAXED, NO_SNOOP, ID_ORDER = 2, 1, 4  # attribute bits
BOUNDARY = 128  # an endpoint cuts its answers at multiples of this, 2.3.1.1
RESERVED = 0x008B_0C00  # of the first dword; AT is among them, for the block translates no addresses
SUCCESS, UNSUPPORTED, ABORT = 0, 1, 4


class Limits(NamedTuple):
    """What configuration space allows the function; a value for each kind of rule that it sets."""

    master: bool
    active: bool  # power state D0
    payload: int
    read: int
    tags: int
    relaxed: bool
    snoop: bool
    order: bool  # ID-based ordering
    ids: frozenset

    def either(self, other: "Limits") -> "Limits":
        """For a packet that may have been cut before a change: what one or the other allows."""
        return Limits(*(a | b if isinstance(a, bool | frozenset) else max(a, b) for a, b in zip(self, other, strict=True)))


class Header:
    """The header of a packet, from its first dwords; those that have not come yet count as 0."""

    def __init__(self, words: list[int]):
        first, second, third, fourth = (*words[:4], 0, 0, 0)[:4]
        self.first = first
        self.fmt, self.kind = first >> 29, first >> 24 & 31
        self.tc, self.attr = first >> 20 & 7, first >> 12 & 3 | first >> 16 & 4
        self.digest, self.poisoned = first >> 15 & 1, first >> 14 & 1
        self.dwords = first & 1023 or 1024
        self.data, self.long = bool(self.fmt & 2), self.fmt & 1
        self.size = 3 + self.long
        self.total = self.size + (self.dwords if self.data else 0) + self.digest
        self.sender = second >> 16
        self.tag, self.last_be, self.first_be = second >> 8 & 255, second >> 4 & 15, second & 15
        self.address = third << 32 | fourth if self.long else third
        # of a completion
        self.status, self.modified, self.byte_count = second >> 13 & 7, second >> 12 & 1, second & 4095 or 4096
        self.requester, self.answers, self.lower, self.spare = third >> 16, third >> 8 & 255, third & 127, third >> 7 & 1

    @property
    def completion(self) -> bool:
        return self.kind in (COMPLETION, COMPLETION_LOCKED)

    @property
    def posted(self) -> bool:
        return self.kind == MEMORY and self.data or self.kind in MESSAGES

    @property
    def nonposted(self) -> bool:
        return not self.posted and not self.completion

    def __str__(self) -> str:
        if self.completion:
            return f"completion of {self.dwords if self.data else 0} dwords for tag {self.answers:#x} of {self.requester:#06x}"
        what = ("write" if self.data else "read") if self.kind == MEMORY else f"request of type {self.kind:#x}"
        return f"{what} of {self.dwords} dwords at {self.address:#x}"


def enabled(dwords: int, first: int, last: int) -> tuple[int, int]:
    """(first byte that is asked for, bytes from there to the last one), 2.3.1.1, table 2-31 and 2-32."""
    if dwords == 1:
        if not first:
            return 0, 1
        low = (first & -first).bit_length() - 1
        return low, first.bit_length() - low
    low = (first & -first).bit_length() - 1 if first else 0
    return low, 4 * dwords - low - (4 - last.bit_length())


def _byte_enables(h: Header) -> str | None:
    """2.2.5."""
    if h.dwords == 1:
        return "the last dword's are not 0" if h.last_be else None
    if not h.first_be or not h.last_be:
        return "an end has none"
    if h.dwords == 2 and h.address & 4 == 0:
        return None
    return "they leave a hole" if h.first_be not in (15, 14, 12, 8) or h.last_be not in (15, 7, 3, 1) else None


def judge_header(h: Header) -> tuple[str, str] | None:
    """What the first dword alone tells."""
    if h.fmt > 3 or h.first & RESERVED:
        return "reserved", f"reserved bits in the first dword {h.first:#010x}"
    if h.kind not in (MEMORY, COMPLETION, COMPLETION_LOCKED):
        return "type", f"a {h}: the function sends memory requests and completions"
    if h.completion and h.long:
        return "type", "a completion with four dwords of header"
    return None


def judge_request(h: Header, limits: Limits, reading) -> tuple[str, str] | None:
    if not limits.master:
        return "bus_master", f"a {h} with bus mastering off"
    if not limits.active:
        return "power", f"a {h} outside of D0"
    if h.sender not in limits.ids:
        return "requester", f"a {h} from {h.sender:#06x}, not {sorted(map(hex, limits.ids))}"
    if h.attr & RELAXED and not limits.relaxed or h.attr & NO_SNOOP and not limits.snoop or h.attr & ID_ORDER and not limits.order:
        return "attributes", f"a {h} with attributes {h.attr:03b}, which are not allowed"
    if h.address & 3:
        return "address", f"a {h}: the low bits of the address are not 0"
    if h.long and not h.address >> 32:
        return "address", f"a {h}, below 4 GiB, with four dwords of header"
    if h.address // 4096 != (h.address + 4 * h.dwords - 1) // 4096:
        return "page", f"a {h} crosses 4 KiB"
    most, name = (limits.payload, "payload") if h.data else (limits.read, "read_size")
    if 4 * h.dwords > most:
        return name, f"a {h}; {most} bytes are allowed"
    if wrong := _byte_enables(h):
        return "byte_enables", f"a {h} with byte enables {h.first_be:04b} {h.last_be:04b}: {wrong}"
    if not h.data:
        if h.tag >= limits.tags:
            return "tag_width", f"a {h} with tag {h.tag:#x}; tags are allowed below {limits.tags:#x}"
        if h.tag in reading:
            return "tag_in_use", f"a {h} with tag {h.tag:#x}, which is in use"
    return None


@dataclass(slots=True)
class Asked:
    """A non-posted request that the user has been given, and what of it is still to be answered."""

    memory: bool
    locked: bool
    tc: int
    attr: int
    lower: int
    left: int

    @classmethod
    def by(cls, h: Header) -> "Asked":
        if h.kind in (MEMORY, LOCKED):
            lead, count = enabled(h.dwords, h.first_be, h.last_be)
            return cls(True, h.kind == LOCKED, h.tc, h.attr, h.address & 0x7C | lead, count)
        return cls(False, False, h.tc, h.attr, 0, 4)

    def judge(self, h: Header, limits: Limits) -> tuple[str, str] | None:
        """A completion for this, 2.2.9; takes its bytes off what is left."""
        if h.sender not in limits.ids:
            return "completer", f"a {h} from {h.sender:#06x}, not {sorted(map(hex, limits.ids))}"
        if (h.tc, h.attr) != (self.tc, self.attr):
            return "class", f"a {h} with class {h.tc} and attributes {h.attr:03b}, asked with {self.tc} and {self.attr:03b}"
        wants = self.memory and h.status == SUCCESS
        if h.status not in (SUCCESS, UNSUPPORTED, ABORT) or h.modified or h.spare or h.data != wants:
            return "status", f"a {h} with status {h.status}, {'' if h.data else 'no '}data"
        if self.locked != (h.kind == COMPLETION_LOCKED):
            return "status", f"a {h} of type {h.kind:#x} for a request that was {'' if self.locked else 'not '}locked"
        if not wants:
            # Lower address: 0, or as if bytes came; the specification does not say which for a read that fails.
            if h.first & 1023 or h.byte_count != self.left or h.lower not in (0, self.lower):
                return "count", f"a {h} with length {h.first & 1023}, {h.byte_count} bytes to come, lower address {h.lower:#x}"
            self.left = 0
            return None
        if 4 * h.dwords > limits.payload:
            return "payload", f"a {h}; {limits.payload} bytes are allowed"
        whole = ((self.lower & 3) + self.left + 3) // 4
        if (h.byte_count, h.lower) != (self.left, self.lower) or h.dwords > whole:
            told = f"{h.byte_count} bytes to come from {h.lower:#x}, of {self.left} from {self.lower:#x}"
            return "count", f"a {h} with {told}"
        if h.dwords < whole:
            end = (self.lower & ~3) + 4 * h.dwords
            if end % BOUNDARY:
                return "boundary", f"a {h}, cut at {end % BOUNDARY:#x}, which is no multiple of {BOUNDARY}"
            self.left -= 4 * h.dwords - (self.lower & 3)
            self.lower = 0
        else:
            self.left = 0
        return None
