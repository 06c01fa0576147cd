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


def test_a_device_is_closed_by_async_with() -> None:
    async def main() -> None:
        async with towpath.open("sim:loopback") as card:
            await card["in"].asend(b"hello")
            assert await card["out"].arecv() == b"hello"
        assert card.closed
        with pytest.raises(towpath.UsageError, match="closed"):
            async with card:
                pass

    asyncio.run(main())


@pytest.mark.parametrize("which", [0, 1, 2])
def test_cancelling_one_call_leaves_its_siblings(card: towpath.Device, which: int) -> None:
    async def main() -> None:
        outs = [bytearray(8) for _ in range(3)]
        receiving = [asyncio.create_task(card["out"].arecv_into(out)) for out in outs]
        await asyncio.sleep(0.05)
        receiving[which].cancel()
        with pytest.raises(asyncio.CancelledError):
            await receiving[which]
        others = [n for n in range(3) if n != which]
        for n in others:
            await card["in"].asend(bytes([n + 1]))
            assert (await receiving[n]).bytes == 1
        assert [out[0] for out in outs] == [0 if n == which else n + 1 for n in range(3)]

    asyncio.run(main())


def test_a_call_whose_time_is_over_leaves_its_siblings(card: towpath.Device) -> None:
    async def main() -> None:
        first, second = bytearray(8), bytearray(8)
        receiving = asyncio.create_task(card.arecv_into("out", first, timeout=None))
        await asyncio.sleep(0.01)
        with pytest.raises(towpath.TimeoutError, match='channel "out": no progress for 50ms; 0 bytes') as caught:
            await card.arecv_into("out", second, timeout=0.05)
        assert caught.value.channel == "out" and caught.value.bytes == 0
        await card.asend("in", b"here")
        assert (await receiving).bytes == 4 and first[:4] == b"here"

    asyncio.run(main())


def test_a_send_whose_time_is_over_says_how_far_it_came(card: towpath.Device) -> None:
    async def main() -> None:
        message = bytes(range(256)) * 4096
        with pytest.raises(towpath.TimeoutError) as caught:
            await card["in"].asend(message, timeout=0.2)
        taken = caught.value.bytes
        assert 0 < taken < len(message)
        _, received = await asyncio.gather(card["in"].asend(memoryview(message)[taken:]), card["out"].arecv())
        assert received == message

    asyncio.run(main())


@pytest.mark.parametrize("length", [None, 1_000_000])
def test_a_whole_message_of_any_length(card: towpath.Device, length: int | None) -> None:
    async def main() -> None:
        message = np.random.default_rng(5).integers(0, 256, 1_000_000, dtype=np.uint8).tobytes()
        _, received = await asyncio.gather(card.asend("in", message, length=length), card.arecv("out"))
        assert received == message

    asyncio.run(main())


@pytest.mark.parametrize("how", ["time", "cancel"])
@pytest.mark.parametrize("after", ["arecv", "recv"])
def test_the_beginning_of_a_message_is_kept(card: towpath.Device, how: str, after: str) -> None:
    async def main() -> None:
        begun = bytes(range(200)) * 5
        await card.asend("in", begun, end=False)
        if how == "time":
            with pytest.raises(towpath.TimeoutError) as caught:
                await card.arecv("out", timeout=0.2)
            assert 0 < caught.value.bytes <= len(begun)
        else:
            receiving = asyncio.create_task(card.arecv("out"))
            await asyncio.sleep(0.2)
            receiving.cancel()
            with pytest.raises(asyncio.CancelledError):
                await receiving
        await card.asend("in", b"ended")
        assert (await card.arecv("out") if after == "arecv" else card.recv("out")) == begun + b"ended"

    asyncio.run(main())


def test_messages_come_whole_to_several_tasks(card: towpath.Device) -> None:
    async def main() -> None:
        sent = [bytes([n]) * (n * 9000) for n in range(8)]
        receiving = [asyncio.create_task(card["out"].arecv()) for _ in sent]
        await asyncio.gather(*(card["in"].asend(message) for message in sent))
        assert await asyncio.gather(*receiving) == sent

    asyncio.run(main())


def test_a_reset_wakes_who_waits(card: towpath.Device) -> None:
    async def main() -> None:
        receiving = asyncio.create_task(card.arecv_into("out", bytearray(8), timeout=None))
        await asyncio.sleep(0.05)
        await asyncio.to_thread(card.reset)
        async with asyncio.timeout(30):
            with pytest.raises(towpath.TransferError) as caught:
                await receiving
        assert caught.value.status == "reset"

    asyncio.run(main())


def test_closing_wakes_who_waits() -> None:
    async def main() -> None:
        async with towpath.open("sim:loopback") as card:
            receiving = asyncio.create_task(card.arecv_into("out", bytearray(8), timeout=None))
            whole = asyncio.create_task(card.arecv("out", timeout=None))
            await asyncio.sleep(0.05)
        async with asyncio.timeout(30):
            for task in (receiving, whole):
                with pytest.raises(towpath.Error):
                    await task

    asyncio.run(main())


def test_cancelling_a_ticket_does_not_wait(card: towpath.Device) -> None:
    """The card is stopped by what is done later: by then the call is back."""

    async def main() -> None:
        ticket = card["in"].submit_send(bytes(1 << 20))
        ticket.cancel()
        ticket.cancel()
        async with asyncio.timeout(30):
            while not ticket.done():
                await asyncio.sleep(0.001)
        with pytest.raises(towpath.TransferError) as caught:
            ticket.poll()
        assert caught.value.status == "cancelled"

    asyncio.run(main())


@pytest.mark.parametrize("timeout", [-1.0, float("nan"), "soon"])
def test_times_that_are_none(card: towpath.Device, timeout: float) -> None:
    async def main() -> None:
        for call in (card.asend("in", b"", timeout=timeout), card.arecv("out", timeout=timeout)):
            with pytest.raises(towpath.UsageError, match="timeout="):
                await call

    asyncio.run(main())
