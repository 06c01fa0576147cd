# SPDX-License-Identifier: Apache-2.0
"""Channels' parts of the link: weights, rates and traffic classes."""

from __future__ import annotations

from pathlib import Path

import pytest

import towpath

CORE = Path(__file__).resolve().parents[3] / "tests/cores/loop3x2_qos"


def test_set_and_read() -> None:
    with towpath.open(f"sim:{CORE}") as card:
        assert card.info.qos
        assert card.qos("a") == towpath.Qos(weight=1, rate=0, traffic_class=0)
        card.set_qos("b", weight=5, rate=400_000_000)
        card.set_qos("b", traffic_class=3)
        card.set_qos("b")
        weight, rate, traffic_class = card.qos("b")
        assert (weight, traffic_class) == (5, 3) and abs(rate - 400_000_000) < 240
        card.reset()
        assert card.qos("b") == (weight, rate, traffic_class) and card.qos(0) == (1, 0, 0)
        with pytest.raises(towpath.RangeError, match="0 to 7"):
            card.set_qos("b", traffic_class=8)
        with pytest.raises(towpath.UsageError, match="1 to 255"):
            card.set_qos("b", weight=0)
        with pytest.raises(towpath.RangeError):
            card.set_qos("b", weight=256)
        with pytest.raises(towpath.NotFoundError, match="nowhere"):
            card.qos("nowhere")


def test_a_card_without_it_says_so(card: towpath.Device) -> None:
    assert not card.info.qos
    with pytest.raises(towpath.Error, match="qos = true"):
        card.qos("in")
    with pytest.raises(towpath.Error, match="qos = true"):
        card.set_qos("in", weight=2)
