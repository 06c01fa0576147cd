# SPDX-License-Identifier: Apache-2.0
"""Builds the data mover at each width and several shapes and runs bench_dma on it."""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib/tb"))
import bench

HERE = Path(__file__)


@pytest.mark.parametrize("width,h2c,c2h", [(128, 1, 1), (64, 3, 2), (256, 2, 1), (512, 1, 2)])
def test_dma(width, h2c, c2h):
    bench.run(
        "tp_dma",
        bench.sources("lib", "dma"),
        HERE.with_name("bench_dma.py"),
        bench.ROOT / f".towpath/benches/dma-{width}-{h2c}-{c2h}",
        # With two H2C channels, 32 inline slots are a block RAM.
        {"DATA_WIDTH": width, "H2C": h2c, "C2H": c2h, "TAGS": 32 if width < 512 else 64, "INLINE_SLOTS": 4 if width < 256 else 32},
        more=("bench_batches", "bench_shares", "bench_rings", "bench_limits", "bench_pairs"),
    )


@pytest.mark.parametrize("width,depth", [(512, 2), (64, 2), (128, 256)])
def test_depths(width, depth):
    bench.run(
        "tp_dma",
        bench.sources("lib", "dma"),
        HERE.with_name("bench_depths.py"),
        bench.ROOT / f".towpath/benches/dma-{width}-depth-{depth}",
        {"DATA_WIDTH": width, "H2C": 2, "C2H": 2, "QUEUE_DEPTH": depth},
        quick=True,
    )


@pytest.mark.parametrize("width,h2c,c2h,ahead", [(128, 1, 1, 0), (64, 2, 2, 1)])
def test_kinds(width, h2c, c2h, ahead):
    """Channel 0 of each direction has a kind."""
    bench.run(
        "tp_dma",
        bench.sources("lib", "dma"),
        HERE.with_name("bench_kinds.py"),
        bench.ROOT / f".towpath/benches/dma-{width}-kinds",
        {"DATA_WIDTH": width, "H2C": h2c, "C2H": c2h, "H2C_VERDICTS": 1, "C2H_ASKED": 1, "C2H_AHEAD": ahead},
    )


@pytest.mark.parametrize("width,h2c,c2h", [(128, 1, 1), (64, 3, 2)])
def test_fill(width, h2c, c2h):
    bench.run(
        "tp_dma",
        bench.sources("lib", "dma"),
        HERE.with_name("bench_fill.py"),
        bench.ROOT / f".towpath/benches/dma-{width}-{h2c}-{c2h}-fill",
        {"DATA_WIDTH": width, "H2C": h2c, "C2H": c2h, "FILL": 1},
        more=("bench_rings",),
    )


@pytest.mark.parametrize("width", [128, 512])
def test_qos(width, monkeypatch):
    # What delays a channel is the same logic at every width, and takes long to watch.
    monkeypatch.setenv("COCOTB_TEST_FILTER", os.environ.get("COCOTB_TEST_FILTER", "" if width == 128 else "a_rate|registers"))
    bench.run(
        "tp_dma",
        bench.sources("lib", "dma"),
        HERE.with_name("bench_qos.py"),
        bench.ROOT / f".towpath/benches/qos-{width}",
        {"DATA_WIDTH": width, "H2C": 3, "C2H": 3, "QOS": 1, "TAGS": width // 4, "LANDING_BYTES": 128 * width, "SENDING_BYTES": 16384},
    )
