# SPDX-License-Identifier: Apache-2.0
"""Builds the data mover at each width and shape and runs bench_dma on it."""

from pathlib import Path

import pytest
from cocotb_tools.runner import get_runner

ROOT = Path(__file__).resolve().parents[3]
SOURCES = [
    "contract/generated/towpath_pkg.sv",
    "gateware/endpoint/tp_tlp_pkg.sv",
    "gateware/lib/tp_fifo.sv",
    "gateware/lib/tp_round_robin.sv",
    "gateware/lib/tp_window_ram.sv",
    *sorted(str(p.relative_to(ROOT)) for p in (ROOT / "gateware/dma").glob("*.sv")),
]


@pytest.mark.parametrize("width,h2c,c2h", [(128, 1, 1), (64, 3, 2), (256, 2, 1), (512, 1, 2)])
def test_dma(width, h2c, c2h, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent))  # the simulator's Python finds the bench there
    build = ROOT / ".towpath" / "benches" / f"dma-{width}-{h2c}-{c2h}"
    runner = get_runner("verilator")
    runner.build(
        sources=[ROOT / s for s in SOURCES],
        hdl_toplevel="tp_dma",
        build_dir=build,
        parameters={"DATA_WIDTH": width, "H2C": h2c, "C2H": c2h, "TAGS": 32 if width < 512 else 64},
        build_args=["--assert", "-Wno-fatal"],
    )
    runner.test(
        hdl_toplevel="tp_dma",
        test_module="bench_dma",
        build_dir=build,
        test_dir=build,
    )
