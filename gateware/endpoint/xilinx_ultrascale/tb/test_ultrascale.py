# SPDX-License-Identifier: Apache-2.0
"""The endpoint under cocotbext-pcie's models of the blocks: the core's functional suite, tests/agree/bench_agree.py, through it."""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "lib/tb"))
sys.path.insert(0, str(Path(__file__).resolve().parents[4] / "tests/agree"))
import bench
import built

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[3]
AGREE = ROOT / "tests/agree"

LISTS = ("gateware/towpath.f", "gateware/endpoint/xilinx_ultrascale/endpoint.f")
CARD = HERE.parent / "tp_xilinx_ultrascale_card.sv"

# What runs where: all of it at the width that most boards have, elsewhere what a width, a family or straddling could break.
DATA = "direct|everything|posted_order|refused|sizes/payload_read_split=4"
CASES = {
    # family (1: UltraScale+), width, packets a beat on RC and CQ, tags of the core
    (1, 128, 1, 1, 64): None,
    (0, 64, 1, 1, 32): f"{DATA}|inline|window|ended|damaged|configuration",
    (0, 256, 2, 1, 64): f"{DATA}|lists|faults$|stray_answers",
    (1, 512, 1, 1, 256): f"{DATA}|window|function_reset|damaged",
    (1, 512, 4, 1, 64): f"{DATA}|lists|window|inline|function_reset|faults$",  # as the boards set it
    (1, 512, 4, 2, 256): f"{DATA}|lists|inline|cancel|faults$|link_down",
}


@pytest.mark.parametrize("plus,width,rc,cq,tags", CASES)
def test_ultrascale(plus, width, rc, cq, tags, monkeypatch):
    if CASES[plus, width, rc, cq, tags] and "COCOTB_TEST_FILTER" not in os.environ:
        monkeypatch.setenv("COCOTB_TEST_FILTER", CASES[plus, width, rc, cq, tags])
    monkeypatch.setenv("TOWPATH_BOUNDARY", "block")
    for folder in (ROOT / "gateware/lib/tb", AGREE, HERE):  # the simulator's Python looks where this one does
        monkeypatch.syspath_prepend(str(folder))
    build = ROOT / f".towpath/benches/ultrascale-{plus}-{width}-{rc}-{cq}"
    sources = [*bench.listed(*LISTS), *built.user_core(build, monkeypatch, DATA_WIDTH=width, TAGS=tags), HERE / "seen.vlt", CARD]
    parameters = {"PLUS": plus, "RC_STRADDLE": rc, "CQ_STRADDLE": cq}
    top, module = "tp_xilinx_ultrascale_card", AGREE / "bench_agree.py"
    bench.run(top, sources, module, build, parameters, more=("bench_ultrascale",), quick=True)
