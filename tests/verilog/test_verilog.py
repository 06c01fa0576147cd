# SPDX-License-Identifier: Apache-2.0
"""The gateware as Verilog-2005 (tools/verilog.py): other tools take it, and it does what the SystemVerilog does.

The functional suite of tests/agree runs on the exported core and loopback, at the widths and clocks of that test; a few of its tests run
under Icarus Verilog, which shares no code with Verilator and knows unknown values.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from cocotb_tools.runner import get_results, get_runner

ROOT = Path(__file__).resolve().parents[2]
AGREE = ROOT / "tests/agree"
for folder in (ROOT / "tools", ROOT / "gateware/lib/tb", AGREE):
    sys.path.insert(0, str(folder))
import bench  # noqa: E402
import built  # noqa: E402
import verilog  # noqa: E402

BUILDS = [(128, 0), (64, 1)]
# The sources' own waivers do not come along: parameters that only other parameters or a comment use, parts of structures that a module has
# no use for. The upper bits that an assignment drops are those that a cast dropped.
ALLOWED = ["UNUSEDPARAM", "UNUSEDSIGNAL", "WIDTHTRUNC", "PINCONNECTEMPTY", "VARHIDDEN"]


CARDS = [
    ("xilinx_7series", 64, {"PIN_WIDTH": "32"}),  # Spartan-6, whose tools read nothing else
    ("xilinx_7series", 128, {}),
    ("xilinx_ultrascale", 256, {"PLUS": "0"}),
    ("xilinx_ultrascale", 512, {}),
]


def exported(what: str, width: int, user_async: int, monkeypatch) -> list[Path]:
    build = ROOT / f".towpath/benches/verilog-{what}-{width}"
    card = {"DATA_WIDTH": width, "USER_ASYNC": user_async, "TAGS": 32 if user_async else 64}
    card["USER_CLOCK_KHZ"] = 200_000 if user_async else 250_000
    user = built.user_core(build, monkeypatch, **card)
    return verilog.export([*bench.listed("gateware/towpath.f"), *user, AGREE / "agree_top.sv"], "agree_top", build / "source")


def said(*command: object) -> str:
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.stdout + (f"exit code {done.returncode}" if done.returncode else "")


def icarus(files: list[Path], top: str) -> str:
    return said("iverilog", "-g2005", "-Wall", "-s", top, "-o", os.devnull, *files)


def verilator(files: list[Path], top: str) -> str:
    allowed = [f"-Wno-{name}" for name in ALLOWED]
    tool = ROOT / "tools/bin/verilator"
    return said(tool, "--lint-only", "--quiet", "--language", "1364-2005", "-Wall", *allowed, "--top-module", top, *files)


@pytest.mark.parametrize("width,user_async", BUILDS)
def test_other_tools_take_it_without_a_warning(width, user_async, monkeypatch):
    files = exported("read", width, user_async, monkeypatch)
    assert icarus(files, "agree_top") == ""
    assert verilator(files, "agree_top") == ""


@pytest.mark.parametrize("endpoint,width,parameters", CARDS)
def test_whole_cards_are_taken_without_a_warning(endpoint, width, parameters, tmp_path, monkeypatch):
    folder, top = ROOT / "gateware/endpoint" / endpoint, f"tp_{endpoint}_card"
    user = built.user_core(tmp_path, monkeypatch, DATA_WIDTH=width)
    sources = [*bench.listed("gateware/towpath.f", f"gateware/endpoint/{endpoint}/endpoint.f"), *user, folder / f"{top}.sv"]
    files = verilog.export(sources, top, tmp_path / "source", parameters)
    assert icarus(files, top) == ""
    assert verilator(files, top) == ""


@pytest.mark.parametrize("width,user_async", BUILDS)
def test_the_functional_suite_passes(width, user_async, monkeypatch):
    files = exported("verilator", width, user_async, monkeypatch)
    for folder in (ROOT / "gateware/lib/tb", AGREE):  # the simulator's Python looks where this one does
        monkeypatch.syspath_prepend(str(folder))
    bench.run("agree_top", files, AGREE / "bench_agree.py", files[0].parent.parent, quick=True)


def test_a_part_of_it_passes_under_icarus(monkeypatch):
    files = exported("icarus", 64, 1, monkeypatch)
    build = files[0].parent.parent
    runner = get_runner("icarus")
    runner.build(sources=files, hdl_toplevel="agree_top", build_dir=build, build_args=["-g2005"], timescale=("1ps", "1ps"), always=True)
    for folder in (ROOT / "gateware/lib/tb", AGREE):
        monkeypatch.syspath_prepend(str(folder))
    seed = os.environ.setdefault("TOWPATH_SEED", "1")
    environment = {
        "TOWPATH_SEED": seed,
        "COCOTB_LOG_LEVEL": "WARNING",
        "GPI_LOG_LEVEL": "WARNING",
        "PYTHONPATH": os.pathsep.join([str(AGREE), str(ROOT / "gateware/lib/tb"), os.environ.get("PYTHONPATH", "")]),
        # Lanes that do not count hold what nobody has written; the bench reads whole beats as integers.
        "COCOTB_RESOLVE_X": "zeros",
        "COCOTB_TEST_FILTER": os.environ.get("COCOTB_TEST_FILTER", "discovery|inline|message_start"),
    }
    results = runner.test(hdl_toplevel="agree_top", test_module="bench_agree", build_dir=build, test_dir=build, extra_env=environment)
    tests, failures = get_results(results)
    assert tests and not failures, f"{failures} of {tests} tests failed; replay with TOWPATH_SEED={seed}"
