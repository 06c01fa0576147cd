# SPDX-License-Identifier: Apache-2.0
"""Tickets that nobody collects: their transfers go on, and nothing of them stays."""

from __future__ import annotations

import os
from pathlib import Path

import towpath

TICKETS = 10_000
# What the process may grow by, for all tickets together: a dozen bytes for each.
SLACK = 256 * 1024


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_dropped_tickets_cost_nothing_later() -> None:
    message = bytes(range(64))
    with towpath.open("sim:sink") as card:

        def drop(count: int) -> None:
            for _ in range(count):
                card.submit_send("in", message, end=False)

        channel = card.info.channels[0].name
        assert channel == "in"
        drop(TICKETS)  # what the first ones make is not theirs alone
        before = resident()
        drop(2 * TICKETS)
        grown = resident() - before
        assert grown < SLACK
        assert card.send("in", message) == len(message)


def test_a_dropped_tickets_transfer_goes_on(card: towpath.Device) -> None:
    message = bytes(100_000)
    card.submit_send("in", message)
    assert card.recv("out") == message
    out = bytearray(4)
    card.submit_recv("out", out)
    card.send("in", b"here")
    card.send("in", b"next")
    assert card.recv("out") == b"next"
    assert out == b"here"
