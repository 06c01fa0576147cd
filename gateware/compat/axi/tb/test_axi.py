# SPDX-License-Identifier: Apache-2.0
"""Builds the RAM between the host and a core that is a master, at several widths, and runs bench_axi on it."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "lib/tb"))
import bench

HERE = Path(__file__).resolve().parent


@pytest.mark.parametrize(("core", "path", "base"), [(32, 64, 0), (128, 128, 0x4000), (32, 256, 0x1000)])
def test_axi(core, path, base):
    bench.run(
        "tb_axi",
        [*bench.sources("lib", "compat/axi"), HERE / "tb_axi.sv"],
        HERE / "bench_axi.py",
        bench.ROOT / f".towpath/benches/axi-{core}-{path}",
        {"WIDTH": core, "DATA_WIDTH": path, "BYTES": 8192, "BASE": base},
    )
