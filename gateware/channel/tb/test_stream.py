# SPDX-License-Identifier: Apache-2.0
"""Builds tp_stream_width at several widths, behind tp_stream_ends too, and tp_stream_buffer, and runs their benches."""

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


@pytest.mark.parametrize(("resume", "ends"), [(0, 1), (1, 1), (1, 0)])
def test_buffer(resume, ends):
    bench.run(
        "tb_buffer",
        [*bench.sources("lib", "channel"), HERE / "tb_buffer.sv"],
        HERE / "bench_buffer.py",
        bench.ROOT / f".towpath/benches/buffer-{resume}-{ends}",
        {"DEPTH": 8, "RESUME": resume, "ENDS": ends},
    )
