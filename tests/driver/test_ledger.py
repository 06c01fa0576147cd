# SPDX-License-Identifier: Apache-2.0
"""soak/ledger.py finds what it is for: bytes that are wrong, missing, doubled or out of place, and passes what the contract lets happen."""

from __future__ import annotations

import errno
from collections.abc import Callable
from contextlib import nullcontext

import pytest
from ledger import PIECE, Checked, Ledger

LENGTHS = [5000, PIECE, 100, 70_000, 300]
EVENT = "a reset of the card"


def written(*lengths: int) -> tuple[Ledger, list[bytes]]:
    ledger = Ledger()
    return ledger, [ledger.content(ledger.begin(length)) for length in lengths]


def happen(ledger: Ledger) -> None:
    with ledger.happening(EVENT):
        pass


@pytest.mark.parametrize("size", [1, 7, PIECE, 4096, 100_000])
def test_what_is_as_it_was_written_passes(size: int) -> None:
    ledger, messages = written(*LENGTHS)
    checked = Checked(ledger)
    for message in messages:
        for at in range(0, len(message), size):
            checked.take(message[at : at + size], at + size >= len(message))
    assert (ledger.whole, ledger.undisturbed, ledger.newest) == (5, 5, 5) and ledger.has_read(5)


SPOILT: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "a byte changed": lambda m: [m[0][:999] + bytes([m[0][999] ^ 1]) + m[0][1000:], *m[1:]],
    "a piece twice": lambda m: [m[0][:2000] + m[0][1000:], *m[1:]],
    "a message twice": lambda m: [m[0], *m],
    "bytes of zero": lambda m: [m[0][:4096] + bytes(len(m[0]) - 4096), *m[1:]],
    "shifted": lambda m: [m[0], m[1], m[2], b"\0" + m[3][:-1], m[4]],
    "two messages in turns": lambda m: [m[0], m[1], m[2], m[3][:4096] + m[4] + m[3][4096:], m[4]],
    "out of order": lambda m: [m[0], m[1], m[3], m[2], m[4]],
    "what was never written": lambda m: [*m, m[0]],
}


@pytest.mark.parametrize("how", SPOILT)
@pytest.mark.parametrize("disturbed", [False, True])
def test_what_nothing_explains(how: str, disturbed: bool) -> None:
    ledger, messages = written(*LENGTHS)
    checked = Checked(ledger)
    if disturbed:
        happen(ledger)
    with pytest.raises(AssertionError, match="what was not written there|something of message"):
        for message in SPOILT[how](messages):
            checked.take(message, True)


LOST: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "a message": lambda m: [m[0], m[1], m[3], m[4]],
    "a message's end": lambda m: [m[0], m[1], m[2], m[3][:5000], m[4]],
    "a message's beginning": lambda m: [m[0], m[1], m[2], m[3][5000:], m[4]],
    "a message's middle": lambda m: [m[0], m[1], m[2], m[3][:5000] + m[3][6000:], m[4]],
    "where a message ends": lambda m: [m[0], m[1], m[2], m[3] + m[4]],
    "all but a message's end": lambda m: [m[0], m[1], m[2], b"", m[4]],
    "all but very little, twice": lambda m: [m[0], m[1][:3] + m[2][:5] + m[3], m[4]],
}


@pytest.mark.parametrize("what", LOST)
@pytest.mark.parametrize("when", ["never", "before", "since"])
def test_what_may_be_lost(what: str, when: str) -> None:
    """When something has happened since it was begun."""
    ledger = Ledger()
    if when == "before":
        happen(ledger)
    messages = [ledger.content(ledger.begin(length)) for length in LENGTHS]
    if when == "since":
        happen(ledger)
    checked = Checked(ledger)
    with nullcontext() if when == "since" else pytest.raises(AssertionError, match="nothing has happened since it was begun"):
        for message in LOST[what](messages):
            checked.take(message, True)
    if when == "since":
        assert ledger.has_read(5) and ledger.whole < 5 and not ledger.undisturbed


def test_what_is_under_way_explains_what_comes() -> None:
    ledger = Ledger()
    with ledger.happening(EVENT):
        before = ledger.over()
        first = ledger.begin(100)
        ledger.begin(200)
        Checked(ledger).take(ledger.content(2), True)
        ledger.explain(errno.ECONNRESET, before)
    assert not ledger.has_read(first + 2)
    with pytest.raises(AssertionError, match="told ENODEV"):
        ledger.explain(errno.ENODEV, before)
    with pytest.raises(AssertionError, match="told ECONNRESET"):
        ledger.explain(errno.ECONNRESET, ledger.over())


def test_who_comes_next_goes_on_where_one_was_killed() -> None:
    ledger, messages = written(*LENGTHS)
    Checked(ledger).take(messages[0][:1234], False)
    again = Checked(ledger)
    again.take(messages[0][1234:], True)
    again.take(messages[1], True)
    assert ledger.whole == 1, "the first was not read by one"


def test_very_little_at_a_time_with_something_lost_each_time() -> None:
    """As found once: nobody can tell where a few bytes are from, and those that come next need not go on with them."""
    ledger, messages = written(*LENGTHS, *LENGTHS)
    checked = Checked(ledger)
    checked.take(messages[0], True)
    for few in (messages[2][:3], messages[2][3:5], messages[3][4096:4099]):
        happen(ledger)
        checked.take(few, None)
    happen(ledger)
    checked.take(messages[4][64:], True)
    for message in messages[5:]:
        checked.take(message, True)
    assert ledger.has_read(10) and ledger.whole == 6


@pytest.mark.parametrize("late", [0, 3])
def test_very_little_and_then_what_is_wrong(late: int) -> None:
    ledger, messages = written(*LENGTHS)
    checked = Checked(ledger)
    happen(ledger)
    checked.take(messages[2][:3], None)
    with pytest.raises(AssertionError, match=r"what was not written there: .* that came last: 3 after .*, \d+\. after nothing"):
        checked.take(messages[late][:50] + b"no" + messages[late][52:], True)
