# SPDX-License-Identifier: Apache-2.0
"""Every test has a card of its own, in simulation, and all of them the stand-in for a GPU's driver."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from standin import StandIn, build

import towpath


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
