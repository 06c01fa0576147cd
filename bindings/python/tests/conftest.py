# SPDX-License-Identifier: Apache-2.0
"""Every test has a card of its own: the simulated loopback core, compiled once and then taken from the cache."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

import towpath


@pytest.fixture(autouse=True)
def nothing_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TOWPATH_DEVICE", "RUST_LOG"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def card() -> Iterator[towpath.Device]:
    with towpath.open("sim:loopback") as device:
        yield device


@pytest.fixture
def keyboard() -> Iterator[None]:
    """Python's own handler: a process started in the background, and its children, begin with SIGINT ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
