# SPDX-License-Identifier: Apache-2.0
"""Builds kind `fanout` at several widths and numbers of ports and runs bench_fanout on it."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "lib/tb"))
import bench


@pytest.mark.parametrize("width, ports, depth", [(64, 1, 16), (128, 3, 32), (512, 8, 16)])
def test_fanout(width, ports, depth):
    here = Path(__file__).parent
    bench.run(
        "fanout_top",
        [*bench.sources("lib", "channel/fanout"), here / "fanout_top.sv"],
        here / "bench_fanout.py",
        bench.ROOT / f".towpath/benches/fanout-{width}",
        {"DATA_WIDTH": width, "PORTS": ports, "DEPTH": depth},
        quick=True,
    )
