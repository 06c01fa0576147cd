# SPDX-License-Identifier: Apache-2.0
"""Builds what stands before a core whose registers are its ports, and runs bench_wires on it."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "lib/tb"))
import bench

HERE = Path(__file__).resolve().parent


# Without and with ap_continue.
@pytest.mark.parametrize("chain", [0, 1])
def test_wires(chain):
    bench.run(
        "tb_wires",
        [*bench.sources("compat/wires"), HERE / "tb_wires.sv"],
        HERE / "bench_wires.py",
        bench.ROOT / f".towpath/benches/wires-{chain}",
        {"BITS": 40, "CHAIN": chain},
    )
