# SPDX-License-Identifier: Apache-2.0
"""A stream of one card that sends to a stream of another, in one simulated world."""

from __future__ import annotations

import random

import pytest

import towpath


def test_messages_go_from_card_to_card() -> None:
    chance = random.Random(7)
    world = "world=python-pairs"
    with towpath.open(f"sim:peer?{world}") as one, towpath.open(f"sim:peer?{world}") as other:
        with towpath.connect(one["out"], other["in"], slot_bytes=512) as pair:
            assert pair.slot_bytes == 512
            assert repr(pair) == '<towpath.Pair of "out" to "in">'
            for number in range(8):
                data = chance.randbytes(chance.randrange(3000))
                one["in"].send(data, offset=number, user=77)
                got, told = other["out"].recv_message()
                assert (got, told.offset, told.user) == (data, number, 77)
            with pytest.raises(towpath.UsageError, match="disconnect the pair"):
                other["in"].send(b"from the host")
            with pytest.raises(towpath.UsageError, match="disconnect the pair"):
                one["out"].recv(timeout=0.001)
            status = pair.status
            assert status.fault is None
            assert status.slots_arrived > 0
            assert pair.connected
        assert not pair.connected
        assert pair.disconnect() == towpath.Parted(arrived=True, taken=True, cut=False, fault=None)
        with pytest.raises(towpath.UsageError, match="is disconnected"):
            _ = pair.status
        # And the host again, and the other way round.
        other["in"].send(b"from the host")
        assert other["out"].recv() == b"from the host"
        pair = towpath.connect(other["out"], one["in"])
        other["in"].send(b"back")
        assert one["out"].recv() == b"back"
        one["in"].reset()
        assert pair.status.fault == "the channel that receives was reset, or its card"
        parted = pair.disconnect(timeout=0.001)
        assert not parted.arrived
        assert parted.fault == "the channel that receives was reset, or its card"
        # A `with` statement says it, too, unless it ends by another exception.
        told = '"out" to "in": the channel that receives was reset'
        with pytest.raises(towpath.DeviceError, match=told), towpath.connect(one["out"], other["in"]):
            other["in"].reset()
        with pytest.raises(ZeroDivisionError), towpath.connect(one["out"], other["in"]):
            other["in"].reset()
            raise ZeroDivisionError


def test_a_pair_ends_with_its_card() -> None:
    world = "world=python-pairs-2"
    with towpath.open(f"sim:peer?{world}") as other:
        with towpath.open(f"sim:peer?{world}") as one:
            pair = towpath.connect(one["out"], other["in"])
            assert pair.connected
        assert not pair.connected
        other["in"].send(b"from the host")
        assert other["out"].recv() == b"from the host"


def test_what_cannot_be() -> None:
    with towpath.open("sim:peer") as alone, towpath.open("sim:peer") as other, towpath.open("sim:loopback") as plain:
        with pytest.raises(towpath.UsageError, match="send through the host"):
            towpath.connect(alone["out"], other["in"])
        with pytest.raises(towpath.UsageError, match="open it for sending"):
            towpath.connect(alone["in"], other["in"])
        with pytest.raises(towpath.UsageError, match="peer = true"):
            towpath.connect(plain["out"], other["in"])
        with pytest.raises(towpath.UsageError, match="power of two, 128 to 4096"):
            towpath.connect(alone["out"], other["in"], slot_bytes=100)
        with pytest.raises(towpath.RangeError, match="slot_bytes=-1"):
            towpath.connect(alone["out"], other["in"], slot_bytes=-1)
