# SPDX-License-Identifier: Apache-2.0
"""What the long tests must leave as it was."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from inside import Card, Module, until
from soaking import mappings, open_files, pins


@pytest.fixture
def counted(driver: Module, cards: list[Card]) -> Iterator[None]:
    """The module can go, and pins, mappings and open files are what they were."""

    def count() -> tuple[int, int, int]:
        driver.unload()
        driver.load()
        until(lambda: all("control" in card.files for card in cards), "the cards' files are there")
        return pins(), mappings(), open_files()

    before = count()
    yield
    assert count() == before
