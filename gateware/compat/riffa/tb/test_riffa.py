# SPDX-License-Identifier: Apache-2.0
"""Builds both halves of a channel of RIFFA at three widths, and runs bench_riffa on them."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "lib/tb"))
import bench

HERE = Path(__file__).resolve().parent


@pytest.mark.parametrize(("core", "path"), [(32, 64), (64, 128), (128, 128), (128, 256)])
def test_riffa(core, path):
    bench.run(
        "tb_riffa",
        [*bench.sources("lib", "channel", "compat/riffa"), HERE / "tb_riffa.sv"],
        HERE / "bench_riffa.py",
        bench.ROOT / f".towpath/benches/riffa-{core}-{path}",
        {"WIDTH": core, "DATA_WIDTH": path},
    )
