# SPDX-License-Identifier: Apache-2.0
"""One piece of memory in several transfers at once: what one of them gives back stays the others'."""

from __future__ import annotations

import numpy as np
import pytest

import towpath

# More than the card holds between its channels, so that a transfer is still in flight when the one before it ends.
LONG = 64 * 1024


def pattern(length: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, length, dtype=np.uint8)


@pytest.mark.parametrize("start", [0, 4096, 10_001], ids=["the same", "overlapping", "overlapping in a page"])
def test_memory_sent_twice_at_once(card: towpath.Device, start: int) -> None:
    message = pattern(2 * LONG)
    first = card.submit_send("in", message[:LONG])
    second = card.submit_send("in", message[start : start + LONG])
    assert card.recv("out") == message[:LONG].tobytes()
    assert first.wait().bytes == LONG
    del first  # its memory is given back; the second is in flight
    assert card.recv("out") == message[start : start + LONG].tobytes()
    assert second.wait().bytes == LONG


@pytest.mark.parametrize("start", [0, 4096, 10_001], ids=["the same", "overlapping", "overlapping in a page"])
def test_memory_received_into_twice_at_once(card: towpath.Device, start: int) -> None:
    out = np.zeros(2 * LONG, dtype=np.uint8)
    first = card.submit_recv("out", out[:LONG])
    second = card.submit_recv("out", out[start : start + LONG])
    for part, ticket, seed in ((out[:LONG], first, 1), (out[start : start + LONG], second, 2)):
        message = pattern(LONG, seed)
        card.send("in", message)
        assert ticket.wait().bytes == LONG
        assert np.array_equal(part, message)


def test_a_blocking_call_beside_a_ticket_with_the_same_memory(card: towpath.Device) -> None:
    message = pattern(LONG)
    ticket = card.submit_send("in", message)
    out = np.zeros_like(message)
    assert card.recv_into("out", out).bytes == LONG and np.array_equal(out, message)
    again = card.submit_send("in", message)
    assert ticket.wait().bytes == LONG
    assert card.recv("out") == message.tobytes()
    assert again.wait().bytes == LONG


def test_memory_there_and_back_at_once(card: towpath.Device) -> None:
    """The same memory is sent and received into: each byte comes back to where it left from."""
    memory = pattern(LONG)
    before = memory.tobytes()
    receiving = card.submit_recv("out", memory)
    sending = card.submit_send("in", memory)
    assert sending.wait().bytes == receiving.wait().bytes == LONG
    assert memory.tobytes() == before
