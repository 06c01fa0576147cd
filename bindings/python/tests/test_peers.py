# SPDX-License-Identifier: Apache-2.0
"""A card's memory as a buffer of another card, in one simulated world."""

from __future__ import annotations

import random

import pytest

import towpath


def test_bytes_go_from_card_to_card() -> None:
    world = "world=python-peers"
    chance = random.Random(5)
    with towpath.open(f"sim:loopback?{world}") as card, towpath.open(f"sim:scratchpad?{world}") as other:
        ram = other.memory["ram"]
        window = ram.window()
        model = bytearray(1 << 16)
        ram.write(0, model)
        for turn in range(20):
            start = chance.randrange(1 << 15)
            data = chance.randbytes(chance.randrange(1, 1 << 12))
            part = window.part(start, start + len(data))
            assert len(part) == len(data)
            if turn % 2:
                ticket = card["out"].submit_recv(part)
                card["in"].send(data)
                assert ticket.wait().bytes == len(data)
            else:
                card["in"].send(data)
                assert card["out"].recv_into(part).bytes == len(data)
            window.flush()
            model[start : start + len(data)] = data
            assert ram[start : start + len(data)] == data
        assert ram[0 : len(model)] == model


def test_what_cannot_be() -> None:
    with towpath.open("sim:loopback") as alone, towpath.open("sim:scratchpad") as other:
        window = other.memory["ram"].window()
        part = window.part(0, 64)
        assert repr(part) == "<towpath.WindowPart of ram, bytes 0x0 to 0x40>"
        with pytest.raises(towpath.UsageError, match="same `world=NAME`"):
            alone["out"].recv_into(part)
        with pytest.raises(towpath.UsageError, match="the card's own"):
            other.memory["ram"].read_into(part, 4096)
        with pytest.raises(towpath.UsageError, match="staged=True is for the memory of a GPU"):
            alone["out"].recv_into(part, staged=True)
        with pytest.raises(towpath.UsageError, match="at least one byte"):
            alone["out"].recv_into(window.part(64, 64))
    world = "world=python-peers-2"
    with towpath.open(f"sim:loopback?{world}") as card:
        with towpath.open(f"sim:scratchpad?{world}") as other:
            part = other.memory["ram"].window().part(0, 64)
            with pytest.raises(towpath.UsageError, match="can only be received into"):
                card["in"].send(part)
        with pytest.raises(towpath.UsageError, match="closed"):
            card["out"].recv_into(part)
