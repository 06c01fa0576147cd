# SPDX-License-Identifier: Apache-2.0
"""Builds the RAM of an array outside of the core, with several elements a row and with one, and runs bench_array on it."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "lib/tb"))
import bench

HERE = Path(__file__).resolve().parent


@pytest.mark.parametrize(("width", "bits", "lane", "size"), [(64, 12, 16, 4096), (64, 64, 64, 12288)])
def test_array(width, bits, lane, size):
    bench.run(
        "tb_array",
        [*bench.sources("lib", "compat/axi", "compat/array"), HERE / "tb_array.sv"],
        HERE / "bench_array.py",
        bench.ROOT / f".towpath/benches/array-{bits}",
        {"DATA_WIDTH": width, "BITS": bits, "LANE": lane, "BYTES": size},
    )
