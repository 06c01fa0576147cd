# SPDX-License-Identifier: Apache-2.0
"""The core's functional suite (tests/agree) behind the adapter, with block.py as the hard block, at each width."""

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

LISTS = ("gateware/towpath.f", "gateware/endpoint/xilinx_7series/endpoint.f")
CARD = HERE.parent / "tp_xilinx_7series_card.sv"


# At 32 bit, what the narrow pins could break; the rest is the adapter of 64 bit. COCOTB_TEST_FILTER=. runs all of it there, too.
NARROW = "direct|everything|posted_order|window|inline|renumbered|bus_mastering|link_lost|changing_limits|turned_off"


@pytest.mark.parametrize("width,pins,tags", [(128, 128, 64), (64, 64, 32), (64, 32, 32)])
def test_suite(width, pins, tags, monkeypatch):
    if pins == 32 and "COCOTB_TEST_FILTER" not in os.environ:
        monkeypatch.setenv("COCOTB_TEST_FILTER", NARROW)
    monkeypatch.setenv("TOWPATH_BOUNDARY", "block")
    monkeypatch.setenv("PYTHONPATH", str(HERE))
    for folder in (HERE, AGREE):  # the simulator's Python looks where this one does
        monkeypatch.syspath_prepend(str(folder))
    build = ROOT / f".towpath/benches/7series-{pins}"
    sources = [*bench.listed(*LISTS), *built.user_core(build, monkeypatch, DATA_WIDTH=width, TAGS=tags), HERE / "seen.vlt", CARD]
    bench.run("tp_xilinx_7series_card", sources, AGREE / "bench_agree.py", build, {"PIN_WIDTH": pins}, more=("bench_pins",), quick=True)
