# SPDX-License-Identifier: Apache-2.0
"""Channels as objects: the calls of the device without a name, iteration, and what a channel says of itself."""

from __future__ import annotations

import asyncio
import gc
import threading
import time

import pytest

import towpath


def test_a_channel_has_the_devices_calls(card: towpath.Device) -> None:
    there, back = card["in"], card["out"]
    assert there.send(b"one", user=7) == 3
    assert back.message_start() == towpath.MessageStart(None, 0, 7)
    assert back.recv() == b"one"
    there.send(b"two")
    into = bytearray(8)
    assert back.recv_into(into) == towpath.Received(3, True, 0, 0) and into[:3] == b"two"
    receiving, sending = back.submit_recv(into), there.submit_send(b"three")
    assert sending.wait().bytes == receiving.wait().bytes == 5 and into[:5] == b"three"
    receiving = back.submit_recv(into)
    back.cancel()
    with pytest.raises(towpath.TransferError) as caught:
        receiving.wait()
    assert caught.value.status == "cancelled"
    there.set_moderation(entries=2, time=1e-6)


def test_many_are_submitted_by_one_call(card: towpath.Device) -> None:
    there, back = card["in"], card["out"]
    memory, landing = card.allocate(64 * 40), card.allocate(64 * 40)
    memoryview(memory)[:] = bytes((7 * n + n // 256) % 256 for n in range(64 * 40))
    parts = [slice(64 * n, 64 * (n + 1)) for n in range(40)]
    done = 0
    while done < len(parts):
        receiving = back.submit_recv_many(landing[part] for part in parts[done:])
        sending = card.submit_send_many("in", [memory[part] for part in parts[done : done + len(receiving)]])
        assert 1 < len(sending) <= len(receiving)
        assert [ticket.wait().bytes for ticket in sending] == [ticket.wait().bytes for ticket in receiving] == [64] * len(sending)
        done += len(sending)
    assert bytes(landing) == bytes(memory)
    assert there.submit_send_many([]) == []
    tickets = there.submit_send_many([b"one", bytearray(b"twenty"), memory[:3]])
    assert [ticket.wait().bytes for ticket in tickets] == [3, 6, 3]
    assert [back.recv() for _ in tickets] == [b"one", b"twenty", bytes(memory[:3])]
    before = there.statistics().submitted
    with pytest.raises(towpath.ArgumentTypeError, match="of type str"):
        there.submit_send_many([b"good", "bad"])  # type: ignore[list-item]
    with pytest.raises(towpath.UsageError, match="read-only"):
        back.submit_recv_many([bytearray(3), b"read-only"])
    assert there.statistics().submitted == before and back.submit_recv_many([]) == []


def test_what_a_channel_says_of_itself(card: towpath.Device) -> None:
    channel = card["out"]
    assert isinstance(channel, towpath.Channel) and isinstance(channel.info, towpath.ChannelInfo)
    assert channel is card["out"] is card[channel.number]
    assert (channel.name, channel.direction, channel.info) == ("out", "c2h", card.channel("out"))
    assert repr(channel) == f'<towpath.Channel {channel.number} "out" (c2h)>'
    assert not channel.closed


def test_no_such_channel_and_the_wrong_direction(card: towpath.Device) -> None:
    for name in ("sideways", 99, -1, 1 << 70):
        with pytest.raises(towpath.NotFoundError, match='no channel.*"in".*"out"'):
            card[name]
    with pytest.raises(towpath.UsageError, match=r'"in".*carries data to the card.*"out"'):
        card["in"].recv()
    with pytest.raises(towpath.UsageError, match=r'"out".*carries data from the card.*"in"'):
        card["out"].send(b"")


def test_reset_of_one_channel(card: towpath.Device) -> None:
    card["in"].send(b"lost")
    ticket = card["in"].submit_send(bytes(100_000))
    card["in"].reset()
    with pytest.raises(towpath.TransferError) as caught:
        ticket.wait()
    assert caught.value.status == "reset"
    card["out"].reset()
    card["in"].send(b"after it")
    assert card["out"].recv() == b"after it"


def test_statistics(card: towpath.Device) -> None:
    for n in range(10):
        card["in"].send(bytes(n))
        card["out"].recv()
    assert card["in"].statistics() == towpath.Statistics(10, 10, 45, 0, 0, 0, 0)


def test_iteration_ends_with_the_device(card: towpath.Device) -> None:
    messages: list[bytes] = []
    thread = threading.Thread(target=lambda: messages.extend(card["out"]), daemon=True)
    thread.start()
    for n in range(5):
        card["in"].send(bytes([n]))
    deadline = time.monotonic() + 30
    while len(messages) < 5 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert thread.is_alive()
    card.close()
    thread.join(30)
    assert not thread.is_alive()
    assert messages == [bytes([n]) for n in range(5)]
    assert list(card["out"]) == []


def test_iteration_under_asyncio(card: towpath.Device) -> None:
    async def main() -> None:
        messages = []

        async def take() -> None:
            async for message in card["out"]:
                messages.append(message)

        taking = asyncio.create_task(take())
        for n in range(5):
            await card["in"].asend(bytes(1000 * n))
        async with asyncio.timeout(30):
            while len(messages) < 5:
                await asyncio.sleep(0.01)
        await asyncio.to_thread(card.close)
        async with asyncio.timeout(30):
            await taking
        assert messages == [bytes(1000 * n) for n in range(5)]

    asyncio.run(main())


def test_an_error_that_is_no_end_leaves_the_iteration(card: towpath.Device) -> None:
    with pytest.raises(towpath.UsageError, match="carries data to the card"):
        next(iter(card["in"]))


def test_a_channel_keeps_its_device_open() -> None:
    channel = towpath.open("sim:loopback")["in"]
    gc.collect()
    assert channel.send(b"still open") == 10


def test_of_two_channels_with_one_name_a_call_has_its_own() -> None:
    with towpath.open("sim:riffa_echo") as card:
        assert [channel.name for channel in card.info.channels] == ["riffa0", "riffa0"]
        card.send("riffa0", b"12345678", length=8, user=1)
        assert card.message_start("riffa0").length == 8
        assert card.recv("riffa0") == b"12345678"
        assert (card["riffa0"].direction, card[1].direction) == ("h2c", "c2h")
