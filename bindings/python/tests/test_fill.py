# SPDX-License-Identifier: Apache-2.0
"""Waiting for what the card holds, on a card with fill levels."""

from __future__ import annotations

import asyncio
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

    asyncio.run(main())


def test_what_is_refused(levels: towpath.Device, card: towpath.Device) -> None:
    with pytest.raises(towpath.Error, match="core.fill_levels = true"):
        card["out"].wait_held(1)
    with pytest.raises(towpath.UsageError):
        levels["in"].wait_held(1)
    with pytest.raises(towpath.UsageError):
        asyncio.run(levels["out"].await_drained())
    with pytest.raises(towpath.RangeError, match="bytes"):
        levels["out"].wait_held(-1)
