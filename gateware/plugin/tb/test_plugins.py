# SPDX-License-Identifier: Apache-2.0
"""Builds the modules of gateware/plugin and runs their benches; then with faults planted, which the benches must find."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib/tb"))
import bench

HERE = Path(__file__).parent
# What each bench builds: the module, and its parameters.
PORTS = {"OFFSET": "96'h000020000000100000000000", "BYTES": "96'h000020000000100000001000"}
BENCHES = {
    "plugin_bus": ("tp_plugin_bus", {"PORTS": 3, "TIMEOUT": 64} | PORTS),
    "plugin_wishbone": ("tp_plugin_wishbone", {"PIPELINED": 0}),
    "plugin_wishbone_pipelined": ("tp_plugin_wishbone", {"PIPELINED": 1}),
    "plugin_avalon": ("tp_plugin_avalon", {"VALID": 1}),
    "plugin_avalon_at_once": ("tp_plugin_avalon", {"VALID": 0}),
    "plugin_reset": ("tp_plugin_reset", {"OUTPUTS": 3, "LENGTH": 20, "STEP": 7}),
    "plugin_tlplog": ("tp_plugin_tlplog", {"BYTES": 4096, "OFFSET": 0x3000, "QUEUE": 4}),
    "plugin_partial": ("tp_plugin_partial", {"DEPTH": 16}),
}
# A fault: in which module, what stands there, what stands there instead.
FAULTS = [
    ("plugin_bus", "== OFFSET[p]", "== OFFSET[p] || p == 2"),
    ("plugin_bus", "lost <= (lost & ~(m_axil_bvalid | m_axil_rvalid) | give_up) & port_rst_n;", "lost <= (lost | give_up) & port_rst_n;"),
    ("plugin_bus", "(here || gone || expired)", "(here || expired)"),
    ("plugin_wishbone", "begun <= valid && !answered && ", "begun <= valid && "),
    ("plugin_avalon", "write || !VALID || core_readdatavalid", "write || !VALID || asked || core_readdatavalid"),
    ("plugin_reset", "assign over = releasing || elapsed + 1'b1 >= length;", "assign over = releasing || elapsed >= length;"),
    ("plugin_reset", "if (begins || held) begin", "if (begins) begin"),
    ("plugin_reset", "core_fault && !fault_before && !running", "core_fault && !fault_before"),
    ("plugin_reset", "start || hold && !held ||", "start || hold ||"),
    ("plugin_partial", "coupled <= free && whole && left == 0", "coupled <= free && left == 0"),
    ("plugin_partial", "coupled <= free && whole && left == 0", "coupled <= free && whole"),
    ("plugin_partial", "(!coupled || !user_midway || ", "(!user_midway || "),
    ("plugin_partial", "RELEASE_LSB] && !loading;", "RELEASE_LSB];"),
    ("plugin_partial", "if (rst_n && begins) whole <= 1'b0;", ""),
    ("plugin_partial", "put && !room ||", ""),
    ("plugin_partial", "assign config_end = ending && !waiting;", "assign config_end = ending;"),
    ("plugin_partial", ".clear(begins || !loading)", ".clear(begins)"),
    ("plugin_partial", "loading && !ending;", "loading;"),
    ("plugin_tlplog", "(under_way & ~beat) | (beat & ~ends)", "beat & ~ends"),
    ("plugin_tlplog", "begins <= beat & ~under_way;", "begins <= beat & ~under_way & ~(beat - 1'b1);"),
    ("plugin_tlplog", "== (36 - AW)'(OFFSET / BYTES)", "== '0"),
    ("plugin_tlplog", "if (begins[RR]) skips", "if (begins[RR] && running) skips"),
    ("plugin_tlplog", "if (tlp_taps.rst) {under_way, begins} <= '0;", "if (tlp_taps.rst) begins <= '0;"),
    ("plugin_tlplog", "addr >= least && addr <= most", "addr >= least && addr < most"),
    ("plugin_tlplog", "sent_completion_hdr.dwords == '0 ? '0 : tap", "sent_completion_hdr.dwords == '1 ? '0 : tap"),
    ("plugin_tlplog", "entry.ids.lost = lost;", "entry.ids.lost = 1'b0;"),
    ("plugin_tlplog", "sent_write.ids.tc = tap.sent_write_hdr.tc;", "sent_write.ids.tc = tap.sent_read_hdr.tc;"),
]


def run(name: str, build: Path, files: list[Path]) -> None:
    top, parameters = BENCHES[name]
    bench_of = HERE / f"bench_{top.removeprefix('tp_')}.py"
    bench.run(top, files, bench_of if bench_of.exists() else HERE / "bench_plugin_masters.py", build, parameters, quick=True)


def sources() -> list[Path]:
    return [*bench.sources("lib", "plugin"), *sorted((bench.ROOT / "gateware/plugin").glob("*/*.sv"))]


@pytest.mark.parametrize("name", BENCHES)
def test_plugins(name):
    run(name, bench.ROOT / f".towpath/benches/{name}", sources())


@pytest.mark.parametrize("number", range(len(FAULTS)))
def test_planted_faults(number, tmp_path, record_property):
    name, *fault = FAULTS[number]
    files = sources()
    source = next(f for f in files if f.stem == BENCHES[name][0])
    record_property("cached", bench.find_planted((source, *fault), files, tmp_path, HERE, lambda files: run(name, tmp_path, files)))
