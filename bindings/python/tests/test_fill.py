# SPDX-License-Identifier: Apache-2.0
"""Waiting for what the card holds, on a card with fill levels."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import towpath

CORE = Path(__file__).resolve().parents[3] / "tests/cores/loopback_fill"


@pytest.fixture
def levels() -> Iterator[towpath.Device]:
    with towpath.open(f"sim:{CORE}") as device:
        yield device


def test_a_batch(levels: towpath.Device) -> None:
    out, back = levels["in"], levels["out"]
    assert back.held() == towpath.Held(0, False)
    with pytest.raises(towpath.TimeoutError):
        back.wait_held(1, timeout=0.0001)
    for piece in range(4):
        out.send(bytes([piece]) * 480, end=piece == 3)
    assert back.wait_held(1920) == towpath.Held(1920, False)
    assert back.recv() == b"".join(bytes([piece]) * 480 for piece in range(4))
    assert back.held().bytes == 0
    assert out.wait_drained() == towpath.Held(0, False)
    assert out.wait_drained(100, timeout=0).bytes == 0


def test_a_full_card(levels: towpath.Device) -> None:
    for message in range(20):
        levels["in"].send(bytes([message]))
    assert levels["out"].wait_held(20) == towpath.Held(20, False)
    for message in range(20, 40):
        levels["in"].send(bytes([message]))
    assert levels["out"].wait_held(1 << 30) == towpath.Held(32, True)
    assert [levels["out"].recv()[0] for _ in range(40)] == list(range(40))


def test_asyncio(levels: towpath.Device) -> None:
    async def main() -> None:
        out, back = levels["in"], levels["out"]
        waiting = asyncio.create_task(back.await_held(2000))
        await out.asend(bytes(1000), end=False)
        assert not waiting.done()
        await out.asend(bytes(1000))
        assert await waiting == towpath.Held(2000, False)
        assert len(await back.arecv()) == 2000
        assert (await out.await_drained()).bytes == 0
        with pytest.raises(towpath.TimeoutError):
            await back.await_held(1, timeout=0.01)
        # One task waits at a time, and leaves nothing behind, however it ends.
        waiting = asyncio.create_task(back.await_held(1))
        await asyncio.sleep(0)
        with pytest.raises(towpath.UsageError, match="another task"):
            await back.await_held(2)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        with pytest.raises(towpath.TimeoutError):
            await back.await_held(1, timeout=0.001)

    asyncio.run(main())
    # Nobody is woken for the byte that was waited for.
    levels["in"].send(bytes(100), end=False)
    before = levels.wire()
    with pytest.raises(towpath.TimeoutError):
        levels["out"].wait_held(4096, timeout=2e-3)
    after = levels.wire()
    assert before is not None and after is not None
    assert after.card_write_payload - before.card_write_payload < 40  # interrupts, of 4 bytes each


def test_the_guides_loop(levels: towpath.Device) -> None:
    """docs/guide/fill-levels.md: short messages and the last ones, too."""
    samples, received, waits = levels["out"], bytearray(), 0

    def feed() -> None:
        for message in range(100):
            levels["in"].send(bytes([message]) * 64)

    feeding = threading.Thread(target=feed)
    feeding.start()
    batch = bytearray(8192)
    while len(received) < 6400:
        waits += 1
        try:
            left = samples.wait_held(4096, timeout=1e-3).bytes
        except towpath.TimeoutError:
            left = samples.held().bytes
        while left > 0:
            got = samples.recv_into(memoryview(batch)[:left])
            received += batch[: got.bytes]
            left -= got.bytes
    feeding.join()
    assert received == b"".join(bytes([message]) * 64 for message in range(100))
    assert waits < 20


def test_what_is_refused(levels: towpath.Device, card: towpath.Device) -> None:
    assert (levels.info.fill_levels, card.info.fill_levels) == (True, False)
    with pytest.raises(towpath.Error, match="core.fill_levels = true"):
        card["out"].wait_held(1)
    with pytest.raises(towpath.UsageError):
        levels["in"].wait_held(1)
    with pytest.raises(towpath.UsageError):
        asyncio.run(levels["out"].await_drained())
    with pytest.raises(towpath.RangeError, match="bytes"):
        levels["out"].wait_held(-1)
