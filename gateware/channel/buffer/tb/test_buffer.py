# SPDX-License-Identifier: Apache-2.0
"""Builds kind `buffer` at several widths and sizes and runs bench_buffer on it."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "lib/tb"))
import bench


@pytest.mark.parametrize("width, size", [(64, 512), (128, 256), (512, 128)])
def test_buffer(width, size):
    here = Path(__file__).parent
    bench.run(
        "buffer_top",
        [*bench.sources("lib", "channel/buffer"), here / "buffer_top.sv"],
        here / "bench_buffer.py",
        bench.ROOT / f".towpath/benches/buffer-{width}",
        {"DATA_WIDTH": width, "BYTES": size},
        quick=True,
    )
