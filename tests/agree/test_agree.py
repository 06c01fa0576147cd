# SPDX-License-Identifier: Apache-2.0
"""Builds the core with the loopback user core at two widths and runs bench_agree on it: once on one clock, once with the user's own."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent


def shared():
    """What the benches of gateware/ share; loaded by its place, for cores/ has a module of the same name."""
    spec = importlib.util.spec_from_file_location("gateware_bench", ROOT / "gateware/lib/tb/bench.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("width,user_async", [(128, 0), (64, 1)])
def test_agree(width, user_async, monkeypatch):
    bench = shared()
    for folder in (ROOT / "gateware/lib/tb", HERE):  # the simulator's Python looks where this one does
        monkeypatch.syspath_prepend(str(folder))
    bench.run(
        "agree_top",
        [*bench.listed("gateware/towpath.f"), ROOT / "cores/loopback/loopback.sv", HERE / "agree_top.sv"],
        HERE / "bench_agree.py",
        ROOT / f".towpath/benches/agree-{width}-{user_async}",
        {
            "DATA_WIDTH": width,
            "USER_ASYNC": user_async,
            "TAGS": 32 if user_async else 64,
            "CORE_VERSION": 7,
            "SERIAL": "64'h0123456789abcdef",
            "USER_CLOCK_KHZ": 200_000 if user_async else 250_000,
            "CORE_NAME": bench.text("loopback"),
            "CHANNEL_NAMES": bench.text("in", "out"),
        },
    )
