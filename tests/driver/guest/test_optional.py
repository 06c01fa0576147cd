# SPDX-License-Identifier: Apache-2.0
"""The driver without its optional parts: files and queues serve, and what is left out is not there."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from asking import read_exactly
from inside import Card, Module, contract, until
from queueing import END, Memory, queue, transfer
from rings import Ring

HISTOGRAMS = Path("/sys/kernel/debug/towpath")
DONE, END_OF_MESSAGE = (contract(f"STATUS_{name}") for name in ("DONE", "END_OF_MESSAGE"))


@pytest.fixture
def reduced(driver: Module, cards: list[Card]) -> Iterator[Module]:
    """The driver built with CONFIG_TOWPATH_URING=n and CONFIG_TOWPATH_LATENCY=n, in place of the whole."""
    until(lambda: all("control" in card.files for card in cards), "the cards' files are there")
    driver.unload()
    module = Module(Path(os.environ["TOWPATH_GUEST_REDUCED"]))
    module.load()
    until(lambda: all("control" in card.files for card in cards), "the cards' files are there again")
    yield module
    module.unload()
    driver.load()
    until(lambda: all("control" in card.files for card in cards), "the cards' files are there again")


def test_the_driver_without_its_optional_parts(reduced: Module, card: Card) -> None:
    data = os.urandom(70_000)
    assert not HISTOGRAMS.exists()
    with open(card.files["in"], "wb", buffering=0) as to, open(card.files["out"], "rb", buffering=0) as back:
        assert to.write(data) == len(data)
        os.fsync(to.fileno())
        assert read_exactly(back.fileno(), len(data)) == data
    with queue(card.files["in"], os.O_WRONLY) as to, queue(card.files["out"], os.O_RDONLY) as back, Ring(8) as ring:
        into = Memory(len(data))
        assert ring.run(to.file, transfer(Memory(data), END)).result == -errno.EOPNOTSUPP
        back.submit(transfer(into))
        assert to.run(transfer(Memory(data), END)).status == DONE
        assert back.collect(1)[0].status in (DONE, END_OF_MESSAGE) and into.content() == data


def test_the_driver_with_its_optional_parts(driver: Module, card: Card) -> None:
    """That the one above can fail."""
    until(lambda: "control" in card.files, "the card's files are there")
    assert HISTOGRAMS.exists()
