# SPDX-License-Identifier: Apache-2.0
"""Builds tp_control at several widths and shapes and runs bench_control on it."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib/tb"))
import bench


@pytest.mark.parametrize("width,h2c,c2h,page_shift,vectors", [(128, 1, 1, 12, 12), (64, 3, 2, 12, 6), (512, 2, 1, 16, 70)])
def test_control(width, h2c, c2h, page_shift, vectors):
    bench.run(
        "tp_control",
        bench.sources("lib", "control"),
        Path(__file__).with_name("bench_control.py"),
        bench.ROOT / f".towpath/benches/control-{width}-{h2c}-{c2h}-{page_shift}",
        {
            "DATA_WIDTH": width,
            "H2C": h2c,
            "C2H": c2h,
            "PAGE_SHIFT": page_shift,
            "VECTORS": vectors,
            "CORE_NAME": bench.text("a core"),
            "CHANNEL_NAMES": bench.text(*(f"channel {i}" for i in range(h2c + c2h))),
            "SERIAL": "64'h0123456789abcdef",
            "FEATURES": 3 * (width == 64),
        },
    )
