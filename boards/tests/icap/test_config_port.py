# SPDX-License-Identifier: Apache-2.0
"""Builds plug-in `partial` with the configuration port of each family and a model of its primitive; runs their bench; plants faults."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "gateware/lib/tb"))
import bench

HERE = Path(__file__).parent
PLUGIN = bench.ROOT / "gateware/plugin"
DRIVEN = bench.ROOT / "gateware/endpoint/xilinx_icap/tp_xilinx_icap.sv"
FAULTS = {
    "bits as they are": ("7series", "config_data[(i/8)*8+7-i%8]", "config_data[i]"),
    "a clock that is too fast": ("7series", "CLOCK_KHZ + 2 * MOST_KHZ - 1) / (2", "CLOCK_KHZ + 2 * MOST_KHZ - 1) / (4"),
    "inputs that change with the edge": ("7series", "assign turn = tp_config_divided &&", "assign turn = !tp_config_divided &&"),
    "no abort": ("7series", "abort_left > 1 && abort_left < 4'(ABORT)", "1'b0"),
    "a file that has not ended": ("7series", "was_in_step && !in_step && done", "was_in_step && done"),
    "a file that never began": ("7series", "was_in_step && !in_step && done", "!in_step && done"),
    "an error that is not heard": ("7series", "assign failing = !sound || wrong;", "assign failing = 1'b0;"),
    "the error of the file before": ("7series", "failing && !was_failing", "failing"),
    "an abort that something else takes": ("ultrascale", "(available || abort_left != 4'(ABORT))", "1'b1"),
    "a port that is not to be had": ("ultrascale", "abort_left == 0 && available", "abort_left == 0"),
}


def files(family: str) -> list[Path]:
    primitive = "ICAPE2" if family == "7series" else "ICAPE3"
    models = [HERE / f"{name}.sv" for name in ("tp_icap_model", primitive, "BUFG", "config_bench_top")]
    own = [PLUGIN / "tp_plugin_registers.sv", PLUGIN / "partial/tp_plugin_partial.sv", DRIVEN]
    return [*bench.sources("lib"), *own, bench.ROOT / f"boards/common/{family}/tp_config_port.sv", HERE / "seen.vlt", *models]


def run(build: Path, sources: list[Path], family: str) -> None:
    most = {"MOST_KHZ": {"7series": 100_000, "ultrascale": 125_000}[family]}
    bench.run("config_bench_top", sources, HERE / "bench_config_port.py", build, most, quick=True)


@pytest.mark.parametrize("family", ["7series", "ultrascale"])
def test_files(family):
    run(bench.ROOT / f".towpath/benches/config_port_{family}", files(family), family)


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults(fault, tmp_path, record_property):
    family, *change = FAULTS[fault]
    kept = bench.find_planted((DRIVEN, *change), files(family), tmp_path, HERE, lambda sources: run(tmp_path, sources, family))
    record_property("cached", kept)
