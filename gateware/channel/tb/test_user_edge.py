# SPDX-License-Identifier: Apache-2.0
"""Builds tp_user_edge with and without a clock of the user's own and runs bench_user_edge on it."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib/tb"))
import bench


@pytest.mark.parametrize("asynchronous", [0, 1])
def test_user_edge(asynchronous):
    bench.run(
        "tp_user_edge",
        bench.sources("lib", "channel"),
        Path(__file__).with_name("bench_user_edge.py"),
        bench.ROOT / f".towpath/benches/user-edge-{asynchronous}",
        {"DATA_WIDTH": 64, "H2C": 2, "C2H": 2, "USER_ASYNC": asynchronous},
        {"TP_SYNC_LATE": 1},
    )


def test_kinds():
    bench.run(
        "tp_user_edge",
        bench.sources("lib", "channel"),
        Path(__file__).with_name("bench_kinds_edge.py"),
        bench.ROOT / ".towpath/benches/user-edge-kinds",
        {"DATA_WIDTH": 64, "USER_ASYNC": 1, "H2C_VERDICTS": 1, "C2H_ASKED": 1},
        {"TP_SYNC_LATE": 1},
    )
