# SPDX-License-Identifier: Apache-2.0
"""Builds tp_stream_width at several widths, behind tp_stream_ends too, and runs bench_stream on it."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib/tb"))
import bench

HERE = Path(__file__).resolve().parent


# Wider, narrower, and as wide.
@pytest.mark.parametrize(("at_core", "at_path"), [(8, 64), (128, 8), (64, 64)])
def test_stream(at_core, at_path):
    bench.run(
        "tb_stream",
        [*bench.sources("channel"), HERE / "tb_stream.sv"],
        HERE / "bench_stream.py",
        bench.ROOT / f".towpath/benches/stream-{at_core}-{at_path}",
        {"S_WIDTH": at_core, "M_WIDTH": at_path},
    )
