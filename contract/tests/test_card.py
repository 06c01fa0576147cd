# SPDX-License-Identifier: Apache-2.0
"""The golden traces against the gateware, at its neutral streams: replay_card.py does the replaying, this compiles and starts it."""

import os
import sys
from pathlib import Path

import pytest
from cocotb_tools.runner import get_results, get_runner

CONTRACT = Path(__file__).resolve().parents[1]
ROOT = CONTRACT.parent
sys.path.insert(0, str(CONTRACT / "tests"))
import replay_card  # noqa: E402 found only now


def text(*names: bytes) -> str:
    """A parameter of names, 32 bytes each, the first in the lowest bits."""
    image = b"".join(name.ljust(32, b"\0") for name in names)
    return f"{8 * len(image)}'h{int.from_bytes(image, 'little'):x}"


def sources() -> list[Path]:
    """Packages first; a folder's order does not matter otherwise."""
    found = [CONTRACT / "generated/towpath_pkg.sv", ROOT / "gateware/endpoint/tp_tlp_pkg.sv"]
    for folder in ("lib", "control", "dma", "channel", "peer"):
        found += sorted((ROOT / "gateware" / folder).glob("*.sv"), key=lambda f: (not f.stem.endswith("_pkg"), f))
    return [*found, ROOT / "gateware/tp_core.sv"]


@pytest.mark.parametrize("width", [64, 128])
def test_golden_traces(width, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{ROOT / 'tools/bin'}:{os.environ['PATH']}")
    runner = get_runner("verilator")
    runner.build(
        sources=sources(),
        hdl_toplevel="tp_core",
        build_dir=tmp_path / "build",
        # What is built is told of by the simulator's own lint (./run check), not here.
        # And it is built as the benches of gateware/ are whose runs are short: see gateware/lib/tb/bench.py.
        build_args=[
            *("--no-public-flat-rw", "--public-depth", "1", "--output-split", "0", "-CFLAGS", "-O0"),
            *("--assert", "-Wno-fatal", "-Wno-lint", "-Wno-style"),
        ],
        parameters={
            "DATA_WIDTH": width,
            "CORE_VERSION": 3,
            "SERIAL": "64'h0123456789abcdef",
            "CORE_NAME": text(b"golden"),
            "CHANNEL_NAMES": text(b"in", b"out"),
        },
    )
    # The discovery page shows the width: its trace is for 128.
    replayed = [n for n in replay_card.names() if width == 128 or n != "discovery"]
    results = runner.test(
        hdl_toplevel="tp_core",
        test_module="replay_card",
        test_dir=CONTRACT / "tests",
        build_dir=tmp_path / "build",
        results_xml=str(tmp_path / "results.xml"),
        extra_env={"TP_TRACES": " ".join(replayed)},
    )
    assert get_results(results) == (len(replayed), 0)
