# SPDX-License-Identifier: Apache-2.0
"""Builds the boards' reset and runs bench_reset on it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "gateware/lib/tb"))
import bench


def test_reset():
    sources = [bench.ROOT / "gateware/lib/tp_sync.sv", bench.ROOT / "boards/common/tp_board_reset.sv"]
    bench.run("tp_board_reset", sources, Path(__file__).with_name("bench_reset.py"), bench.ROOT / ".towpath/benches/board-reset")
