# SPDX-License-Identifier: Apache-2.0
"""The endpoint under cocotbext-pcie's models of the blocks: the core's functional suite, tests/agree/bench_agree.py, through it."""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "lib/tb"))
import bench

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[3]
SOURCES = [
    *bench.listed("gateware/towpath.f", "gateware/endpoint/xilinx_ultrascale/endpoint.f"),
    ROOT / "cores/loopback/loopback.sv",
    ROOT / "tests/agree/agree_top.sv",
    HERE / "ultrascale_top.sv",
]

# What runs where: all of it at the width that most boards have, elsewhere what a width, a family or straddling could break.
DATA = "direct|everything|posted_order|refused|sizes/payload_read_split=4"
CASES = {
    # family (1: UltraScale+), width, packets a beat on RC and CQ, tags of the core
    (1, 128, 1, 1, 64): None,
    (0, 64, 1, 1, 32): f"{DATA}|inline|window|ended|damaged|configuration",
    (0, 256, 2, 1, 64): f"{DATA}|lists|faults$|stray_answers",
    (1, 512, 1, 1, 256): f"{DATA}|window|function_reset|damaged",
    (1, 512, 4, 2, 256): f"{DATA}|lists|inline|cancel|faults$|link_down",
}


@pytest.mark.parametrize("plus,width,rc,cq,tags", CASES)
def test_ultrascale(plus, width, rc, cq, tags, monkeypatch):
    if CASES[plus, width, rc, cq, tags] and "COCOTB_TEST_FILTER" not in os.environ:
        monkeypatch.setenv("COCOTB_TEST_FILTER", CASES[plus, width, rc, cq, tags])
    monkeypatch.setenv("TOWPATH_BOUNDARY", "block")
    for folder in (ROOT / "gateware/lib/tb", ROOT / "tests/agree", HERE):  # the simulator's Python looks where this one does
        monkeypatch.syspath_prepend(str(folder))
    bench.run(
        "ultrascale_top",
        SOURCES,
        ROOT / "tests/agree/bench_agree.py",
        ROOT / f".towpath/benches/ultrascale-{plus}-{width}-{rc}-{cq}",
        {
            "PLUS": plus,
            "DATA_WIDTH": width,
            "RC_STRADDLE": rc,
            "CQ_STRADDLE": cq,
            "TAGS": tags,
            "CORE_VERSION": 7,
            "SERIAL": "64'h0123456789abcdef",
            "CORE_NAME": bench.text("loopback"),
            "CHANNEL_NAMES": bench.text("in", "out"),
        },
        more=("bench_ultrascale",),
        quick=True,
    )
