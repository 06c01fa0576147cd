# SPDX-License-Identifier: Apache-2.0
"""Builds what stands before a core with EPEE's ports and runs bench_epee on it: both widths, paths wider and narrower, both FIFOs."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "lib/tb"))
import bench

HERE = Path(__file__).resolve().parent


@pytest.mark.parametrize(("width", "path", "through"), [(64, 256, 1), (128, 64, 0)])
def test_epee(width, path, through):
    bench.run(
        "tb_epee",
        [*bench.sources("lib", "compat/fifo", "compat/epee"), HERE / "tb_epee.sv"],
        HERE / "bench_epee.py",
        bench.ROOT / f".towpath/benches/epee-{width}-{path}-{through}",
        {"WIDTH": width, "PATH": path, "FALL_THROUGH": through},
    )
