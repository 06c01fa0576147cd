# SPDX-License-Identifier: Apache-2.0
"""Builds the bare pins at both widths and runs bench_block on them: the model of the block against a small user in Python."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[4] / "gateware/lib/tb"))
import bench


@pytest.mark.parametrize("width", [64, 128])
def test_block(width, monkeypatch):
    here = Path(__file__).resolve().parent
    monkeypatch.syspath_prepend(str(bench.ROOT / "tests/agree"))  # the simulator's Python looks where this one does
    build = bench.ROOT / f".towpath/benches/block-7series-{width}"
    bench.run("pins", [here / "pins.sv"], here / "bench_block.py", build, {"DATA_WIDTH": width})
