# SPDX-License-Identifier: Apache-2.0
"""Every test has a card of its own, in simulation, and all of them the stand-in for a GPU's driver."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import towpath

sys.path.insert(0, str(Path(__file__).parent))  # loaded before any test file, whose folder leads from then on

from standin import StandIn, build


@pytest.fixture(scope="session")
def standin(tmp_path_factory: pytest.TempPathFactory) -> StandIn:
    return StandIn(build(tmp_path_factory.mktemp("standin")))


@pytest.fixture
def card(standin: StandIn) -> Iterator[towpath.Device]:
    with towpath.open("sim:loopback") as device:
        yield device
    assert standin.calls.standin_depth() <= 1, "a call has left a context current"


@pytest.fixture
def memory(standin: StandIn) -> Iterator[towpath.Device]:
    with towpath.open("sim:scratchpad") as device:
        yield device
