# SPDX-License-Identifier: Apache-2.0
"""Builds the adapters between streams and FIFOs, with words that fall through and words that are fetched, and runs bench_fifo on them."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "lib/tb"))
import bench

HERE = Path(__file__).resolve().parent


@pytest.mark.parametrize(("width", "through"), [(8, 1), (24, 0)])
def test_fifo(width, through):
    bench.run(
        "tb_fifo",
        [*bench.sources("lib", "compat/fifo"), HERE / "tb_fifo.sv"],
        HERE / "bench_fifo.py",
        bench.ROOT / f".towpath/benches/fifo-{width}-{through}",
        {"WIDTH": width, "FALL_THROUGH": through},
    )
