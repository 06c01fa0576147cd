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
# TOWPATH_ENDPOINTS=all runs all of it in every case here, and in EVERY one of the rest.
CASES = {
    # family (1: UltraScale+), width, packets a beat on RC, CQ and RQ, tags of the core
    (1, 128, 1, 1, 1, 64): None,
    (0, 64, 1, 1, 1, 32): f"{DATA}|inline|window|ended|damaged|configuration",
    (0, 256, 2, 1, 1, 64): f"{DATA}|lists|faults$|stray_answers",
    (1, 512, 1, 2, 1, 256): f"{DATA}|lists|inline|window|cancel|faults$|damaged|shared",
    (1, 512, 4, 1, 2, 64): f"{DATA}|lists|window|inline|function_reset|faults$|link_down|shared",  # as the boards set it
}
EVERY = (
    (0, 128, 1, 1, 1, 64),
    (0, 256, 1, 1, 1, 32),
    (1, 64, 1, 1, 1, 256),
    (1, 256, 1, 1, 1, 256),
    (1, 256, 2, 1, 1, 32),
    (1, 512, 1, 1, 1, 32),
    (1, 512, 2, 2, 1, 64),
    (1, 512, 4, 2, 2, 256),
)
WHOLE = os.environ.get("TOWPATH_ENDPOINTS") == "all"


@pytest.mark.parametrize("plus,width,rc,cq,rq,tags", dict.fromkeys([*CASES, *EVERY]) if WHOLE else CASES)
def test_ultrascale(plus, width, rc, cq, rq, tags, monkeypatch):
    tests = None if WHOLE else CASES[plus, width, rc, cq, rq, tags]
    if tests and "COCOTB_TEST_FILTER" not in os.environ:
        monkeypatch.setenv("COCOTB_TEST_FILTER", tests)
    monkeypatch.setenv("TOWPATH_BOUNDARY", "block")
    for folder in (ROOT / "gateware/lib/tb", AGREE, HERE):  # the simulator's Python looks where this one does
        monkeypatch.syspath_prepend(str(folder))
    build = ROOT / f".towpath/benches/ultrascale-{plus}-{width}-{rc}-{cq}-{rq}"
    sources = [*bench.listed(*LISTS), *built.user_core(build, monkeypatch, DATA_WIDTH=width, TAGS=tags), HERE / "seen.vlt", CARD]
    parameters = {"PLUS": plus, "RC_STRADDLE": rc, "CQ_STRADDLE": cq, "RQ_STRADDLE": rq}
    top, module = "tp_xilinx_ultrascale_card", AGREE / "bench_agree.py"
    bench.run(top, sources, module, build, parameters, more=("bench_ultrascale",), quick=True)
