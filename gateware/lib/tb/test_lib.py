# SPDX-License-Identifier: Apache-2.0
"""Builds the modules of gateware/lib in one model and runs bench_lib on it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import bench


def test_lib():
    here = Path(__file__).parent
    files = [*bench.sources("lib"), here / "tb_lib.sv"]
    bench.run("tb_lib", files, here / "bench_lib.py", bench.ROOT / ".towpath/benches/lib", defines={"TP_SYNC_LATE": 1})
