# SPDX-License-Identifier: Apache-2.0
"""Builds kind `memory` at several widths and runs bench_memory on it."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "lib/tb"))
import bench


@pytest.mark.parametrize("width, address, base", [(64, 20, 0xE0000), (128, 64, 0xFFFF_FFFF_FFFF_0000), (512, 32, 0x10000)])
def test_memory(width, address, base):
    here = Path(__file__).parent
    bench.run(
        "memory_top",
        [*bench.sources("lib", "channel/memory"), here / "memory_top.sv"],
        here / "bench_memory.py",
        bench.ROOT / f".towpath/benches/memory-{width}",
        {"DATA_WIDTH": width, "ADDRESS_WIDTH": address, "BYTES": "64'h10000", "BASE": f"64'h{base:x}"},
        quick=True,
    )
