# SPDX-License-Identifier: Apache-2.0
"""The event loop runs on while transfers are in flight."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

import towpath


def test_both_directions_at_once(card: towpath.Device) -> None:
    async def main() -> None:
        message = np.arange(25_000, dtype=np.uint32)
        out = np.zeros_like(message)
        sent, received = await asyncio.gather(card.asend("in", message), card.arecv_into("out", out))
        assert sent == message.nbytes
        assert received == towpath.Received(message.nbytes, True, 0, 0)
        assert np.array_equal(out, message)

    asyncio.run(main())


def test_more_transfers_than_the_queue_holds(card: towpath.Device) -> None:
    async def main() -> None:
        count = 4 * card.channel("in").queue_depth
        outs = [bytearray(8) for _ in range(count)]
        receiving = [asyncio.create_task(card.arecv_into("out", out)) for out in outs]
        await asyncio.gather(*(card.asend("in", n.to_bytes(8, "little")) for n in range(count)))
        await asyncio.gather(*receiving)
        assert [int.from_bytes(out, "little") for out in outs] == list(range(count))

    asyncio.run(main())


def test_the_loop_runs_on(card: towpath.Device) -> None:
    async def main() -> None:
        turns = 0
        out = bytearray(4)
        receiving = asyncio.create_task(card.arecv_into("out", out))
        while turns < 20:
            await asyncio.sleep(0.001)
            turns += 1
        assert not receiving.done()
        await card.asend("in", b"here")
        assert (await receiving).bytes == 4 and out == b"here"

    asyncio.run(main())


def test_a_cancelled_wait_cancels_its_transfer(card: towpath.Device) -> None:
    async def main() -> None:
        out = bytearray(8)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await card.arecv_into("out", out)
        out.clear()  # no longer in use
        again = bytearray(5)
        await asyncio.gather(card.asend("in", b"again"), card.arecv_into("out", again))
        assert again == b"again"

    asyncio.run(main())


def test_one_device_in_two_loops(card: towpath.Device) -> None:
    async def once(text: bytes) -> None:
        out = bytearray(len(text))
        await asyncio.gather(card.asend("in", text), card.arecv_into("out", out))
        assert out == text

    asyncio.run(once(b"first"))
    asyncio.run(once(b"second"))
