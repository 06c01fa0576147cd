# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests in this folder: queues through the loopback core, memory of others."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from asking import CARD_RESET, opened
from exporters import Exporter
from inside import Card, Module, until
from looping import Loop, pinned
from queueing import queue


@pytest.fixture
def control(driver: Module, card: Card) -> Iterator[int]:
    until(lambda: "control" in card.files, "the card's files are there")
    with opened(card.files["control"], os.O_RDWR) as file:
        yield file


@pytest.fixture(scope="module")
def exporter() -> Iterator[Exporter]:
    module = Module(Path(os.environ["TOWPATH_GUEST_EXPORTER"]))
    module.load()
    exporter = Exporter()
    yield exporter
    os.close(exporter.file)
    module.unload()


@pytest.fixture
def loop(card: Card, control: int) -> Iterator[Loop]:
    """At the end nothing is in flight, nothing is pinned, and the card has told nothing that cannot be."""
    with queue(card.files["in"], os.O_WRONLY, control) as to, queue(card.files["out"], os.O_RDONLY, control, announce=True) as back:
        yield Loop(control, to, back)
        # What the core still holds is nothing for the next test.
        fcntl.ioctl(control, CARD_RESET)
    assert pinned() == 0
    for index in range(2):
        for name in ("wrong_cookies", "wrong_lengths", "wrong_statuses", "unexpected"):
            assert int(card.channel(index, f"statistics/{name}")) == 0, name
