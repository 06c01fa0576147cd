# SPDX-License-Identifier: Apache-2.0
"""Builds streams and a seekable file of Xillybus at five widths, and runs bench_xillybus on them."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "lib/tb"))
import bench

HERE = Path(__file__).resolve().parent


@pytest.mark.parametrize(("core", "path"), [(8, 128), (32, 64), (64, 64), (64, 128), (128, 256)])
def test_xillybus(core, path):
    bench.run(
        "tb_xillybus",
        [*bench.sources("lib", "channel", "compat/fifo", "compat/xillybus"), HERE / "tb_xillybus.sv"],
        HERE / "bench_xillybus.py",
        bench.ROOT / f".towpath/benches/xillybus-{core}-{path}",
        {"WIDTH": core, "DATA_WIDTH": path},
    )
