# SPDX-License-Identifier: Apache-2.0
"""Builds the plug-in `clock` with its switch and runs its bench; then with faults planted, which the bench must find."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "lib/tb"))
import bench

HERE = Path(__file__).parent
CLOCK = bench.ROOT / "gateware/plugin/clock"
FILES = [*bench.sources("lib", "plugin"), *sorted(CLOCK.glob("*.sv")), HERE / "plugin_clock_top.sv"]
# As on boards: their join, over a model of the vendor's multiplexer.
BOARD_JOIN = bench.ROOT / "boards/common/tp_clock_join.sv"
BOARD_FILES = [file for file in FILES if file.name != "tp_clock_join.sv"] + [bench.ROOT / "boards/tests/BUFGCTRL.sv", BOARD_JOIN]
# A fault: in which module, what stands there, what stands there instead.
FAULTS = {
    "a plain multiplexer": ("tp_clock_control", "      .on,\n      .masked,", "      .on(CLOCKS'(1) << wanted),\n      .masked('0),"),
    "gates that open at a rising edge": ("tp_clock_gate", "always_ff @(negedge clock)", "always_ff @(posedge clock)"),
    "the next before the last is closed": ("tp_clock_control", "if (!seen_all[current] || masked_all[current]) begin", "if (1'b1) begin"),
    "a stopped input is waited for": ("tp_clock_join", "clocks & on & ~masked", "clocks & on"),
    "an input that stands still is switched to": ("tp_clock_control", "if (runs_all[ask_input] && ask_input", "if (ask_input"),
    "the core leaves reset at once": ("tp_plugin_clock", "keep || selected || left != 0", "keep || selected"),
    "the card's reset leaves the input": ("tp_plugin_clock", "switch_ask <= 1'b1;\n      held <= 1'b0;", "held <= 1'b0;"),
    "an ask is over when it is taken": ("tp_clock_switch", "else if (settled) served <= taken;", "else served <= taken;"),
}


def run(build: Path, files: list[Path], clocks: int = 3) -> None:
    bench.run("plugin_clock_top", files, HERE / "bench_plugin_clock.py", build, {"CLOCKS": clocks}, {"TP_SYNC_LATE": 1}, quick=True)


@pytest.mark.parametrize("clocks", [2, 3])
def test_clock(clocks):
    run(bench.ROOT / f".towpath/benches/plugin_clock_{clocks}", FILES, clocks)


def test_the_join_of_boards():
    run(bench.ROOT / ".towpath/benches/plugin_clock_board", BOARD_FILES, 2)


def test_a_stopped_input_that_the_join_of_boards_waits_for(tmp_path, record_property):
    change = (BOARD_JOIN, ".IGNORE0(masked[0])", ".IGNORE0(1'b0)")
    record_property("cached", bench.find_planted(change, BOARD_FILES, tmp_path, HERE, lambda files: run(tmp_path, files, 2)))


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults(fault, tmp_path, record_property):
    module, *change = FAULTS[fault]
    kept = bench.find_planted((CLOCK / f"{module}.sv", *change), FILES, tmp_path, HERE, lambda files: run(tmp_path, files))
    record_property("cached", kept)
