# SPDX-License-Identifier: Apache-2.0
"""The core's functional suite (tests/agree) behind the adapter, with block.py as the hard block, at both widths."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "lib/tb"))
import bench

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[3]
AGREE = ROOT / "tests/agree"


SOURCES = [
    *bench.listed("gateware/towpath.f", "gateware/endpoint/xilinx_7series/endpoint.f"),
    ROOT / "cores/loopback/loopback.sv",
    AGREE / "agree_top.sv",
    HERE / "x7_top.sv",
]


@pytest.mark.parametrize("width,tags", [(128, 64), (64, 32)])
def test_suite(width, tags, monkeypatch):
    monkeypatch.setenv("TOWPATH_BOUNDARY", "block")
    monkeypatch.setenv("PYTHONPATH", str(HERE))
    for folder in (HERE, AGREE):  # the simulator's Python looks where this one does
        monkeypatch.syspath_prepend(str(folder))
    bench.run(
        "x7_top",
        SOURCES,
        AGREE / "bench_agree.py",
        ROOT / f".towpath/benches/7series-{width}",
        {
            "DATA_WIDTH": width,
            "TAGS": tags,
            "CORE_VERSION": 7,
            "SERIAL": "64'h0123456789abcdef",
            "CORE_NAME": bench.text("loopback"),
            "CHANNEL_NAMES": bench.text("in", "out"),
        },
        more=("bench_pins",),
        quick=True,
    )
