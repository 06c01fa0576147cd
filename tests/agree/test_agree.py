# SPDX-License-Identifier: Apache-2.0
"""Builds the core with the loopback user core at two widths and runs bench_agree on it: once on one clock, once with the user's own."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "gateware/lib/tb"))
sys.path.insert(0, str(Path(__file__).resolve().parent))
import bench
import built

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


@pytest.mark.parametrize("width,user_async", [(128, 0), (64, 1)])
def test_agree(width, user_async, monkeypatch):
    for folder in (ROOT / "gateware/lib/tb", HERE):  # the simulator's Python looks where this one does
        monkeypatch.syspath_prepend(str(folder))
    build = ROOT / f".towpath/benches/agree-{width}-{user_async}"
    card = {"DATA_WIDTH": width, "USER_ASYNC": user_async, "TAGS": 32 if user_async else 64}
    card["USER_CLOCK_KHZ"] = 200_000 if user_async else 250_000
    user = built.user_core(build, monkeypatch, **card)
    sources = [*bench.listed("gateware/towpath.f"), *user, HERE / "agree_top.sv"]
    bench.run("agree_top", sources, HERE / "bench_agree.py", build, quick=True)
