# SPDX-License-Identifier: Apache-2.0
"""The gateware as Verilog-2005 (tools/verilog.py): other tools take it, and it does what the SystemVerilog does.

The functional suite of tests/agree runs on the exported core and loopback, at the widths and clocks of that test; a few of its tests run
under Icarus Verilog, which shares no code with Verilator and knows unknown values.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cocotb_tools.runner import get_results, get_runner

ROOT = Path(__file__).resolve().parents[2]
AGREE = ROOT / "tests/agree"
sys.path.insert(0, str(ROOT / "tools"))
import verilog  # noqa: E402

BUILDS = [(128, 0), (64, 1)]
# The sources' own waivers do not come along: parameters that only other parameters or a comment use, parts of structures that a module has
# no use for. The upper bits that an assignment drops are those that a cast dropped.
ALLOWED = ["UNUSEDPARAM", "UNUSEDSIGNAL", "WIDTHTRUNC", "PINCONNECTEMPTY", "VARHIDDEN"]


def shared():
    """What the benches of gateware/ share; loaded by its place, for cores/ has a module of the same name."""
    spec = importlib.util.spec_from_file_location("gateware_bench", ROOT / "gateware/lib/tb/bench.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def exported(width: int, user_async: int) -> list[Path]:
    bench = shared()
    folder = ROOT / f".towpath/benches/verilog-{width}-{user_async}/source"
    shutil.rmtree(folder, ignore_errors=True)
    parameters = {
        "DATA_WIDTH": width,
        "USER_ASYNC": user_async,
        "TAGS": 32 if user_async else 64,
        "CORE_VERSION": 7,
        "SERIAL": "64'h0123456789abcdef",
        "USER_CLOCK_KHZ": 200_000 if user_async else 250_000,
        "CORE_NAME": bench.text("loopback"),
        "CHANNEL_NAMES": bench.text("in", "out"),
    }
    sources = [*bench.listed("gateware/towpath.f"), ROOT / "cores/loopback/loopback.sv", AGREE / "agree_top.sv"]
    return verilog.export(sources, "agree_top", folder, parameters)


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
def test_other_tools_take_it_without_a_warning(width, user_async):
    files = exported(width, user_async)
    assert icarus(files, "agree_top") == ""
    assert verilator(files, "agree_top") == ""


@pytest.mark.parametrize("width,user_async", BUILDS)
def test_the_functional_suite_passes(width, user_async, monkeypatch):
    bench = shared()
    files = exported(width, user_async)
    for folder in (ROOT / "gateware/lib/tb", AGREE):  # the simulator's Python looks where this one does
        monkeypatch.syspath_prepend(str(folder))
    bench.run("agree_top", files, AGREE / "bench_agree.py", files[0].parent.parent / "verilator")


def test_a_part_of_it_passes_under_icarus(monkeypatch):
    files = exported(64, 1)
    build = files[0].parent.parent / "icarus"
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
