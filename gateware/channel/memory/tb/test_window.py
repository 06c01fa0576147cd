# SPDX-License-Identifier: Apache-2.0
"""Builds the memory windows at several widths, on one clock and two, and runs bench_window on them."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "lib/tb"))
import bench

HERE = Path(__file__).parent


def run(name, width, asynchronous, files):
    bench.run(
        "window_top",
        files,
        HERE / "bench_window.py",
        bench.ROOT / f".towpath/benches/{name}",
        {"DATA_WIDTH": width, "USER_ASYNC": asynchronous},
        quick=True,
    )


FILES = [*bench.sources("lib", "control", "channel", "channel/memory"), HERE / "window_top.sv"]


@pytest.mark.parametrize("width, asynchronous", [(64, 0), (128, 1), (256, 0), (512, 1)])
def test_window(width, asynchronous):
    run(f"window-{width}", width, asynchronous, FILES)
