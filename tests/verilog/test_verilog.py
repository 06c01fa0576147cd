# SPDX-License-Identifier: Apache-2.0
"""The gateware as Verilog-2005 (tools/verilog.py): other tools take it, and it does what the SystemVerilog does.

The functional suite of tests/agree runs on the exported core and loopback, at the widths and clocks of that test, once with the loopback
outside of the export; a few of its tests run under Icarus Verilog, which shares no code with Verilator and knows unknown values.
"""

import os
import re
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
PACKAGES = ["contract/generated/towpath_pkg.sv", "gateware/endpoint/tp_tlp_pkg.sv"]
# The sources' own waivers do not come along: parameters that only other parameters or a comment use, parts of structures that a module has
# no use for. The upper bits that an assignment drops are those that a cast dropped.
ALLOWED = ["UNUSEDPARAM", "UNUSEDSIGNAL", "WIDTHTRUNC", "PINCONNECTEMPTY", "VARHIDDEN"]


CARDS = [
    ("xilinx_7series", 64, {"PIN_WIDTH": "32"}),  # Spartan-6, whose tools read nothing else
    ("xilinx_7series", 128, {}),
    ("xilinx_ultrascale", 256, {"PLUS": "0"}),
    ("xilinx_ultrascale", 512, {}),
]


def user_core(build: Path, width: int, user_async: int, monkeypatch) -> list[Path]:
    card = {"DATA_WIDTH": width, "USER_ASYNC": user_async, "TAGS": 32 if user_async else 64}
    card["USER_CLOCK_KHZ"] = 200_000 if user_async else 250_000
    return built.user_core(build, monkeypatch, **card)


def exported(what: str, width: int, user_async: int, monkeypatch) -> list[Path]:
    build = ROOT / f".towpath/benches/verilog-{what}-{width}"
    user = user_core(build, width, user_async, monkeypatch)
    return verilog.export([*bench.listed("gateware/towpath.f"), *user, AGREE / "agree_top.sv"], "agree_top", build / "source")


def exported_open(build: Path, width: int, user_async: int, monkeypatch) -> list[Path]:
    """The system as exported without its user core, and the loopback joined to its ports as in a block design."""
    package, loopback, wrapper, system = user_core(build, width, user_async, monkeypatch)
    core = verilog.UserCore("loopback", [loopback], wrapper, [], [], [])
    files = verilog.opened([*bench.listed("gateware/towpath.f"), package], core, [system], "tp_system", {}, build / "open")
    written = verilog.export(files, "tp_system", build / "source")
    ports = re.findall(r"^    (?:in|out)put \w+ (\[\d+:0\] )?core_(\w+)", written[0].read_text(), re.MULTILINE)
    assert {"clk", "in_tdata", "s_axil_awaddr", "irq_ready"} <= {name for _, name in ports}
    wires = "\n".join(f"  wire {words}core_{name};" for words, name in ports)
    joined = f"  loopback #(.DATA_WIDTH(DATA_WIDTH)) user (\n{', '.join(f'.{name}(core_{name})' for _, name in ports)});"
    top = build / "agree_top.sv"
    text, found = re.subn(r"(?=^  tp_system system)", f"{wires}\n{joined}\n", (AGREE / "agree_top.sv").read_text(), flags=re.MULTILINE)
    assert found == 1
    top.write_text(text)
    return [*(ROOT / name for name in PACKAGES), package, loopback, *written, top]


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
    """With two clocks the user core is outside, too, and its clock comes out with its streams."""
    build = ROOT / f".towpath/benches/verilog-verilator-{width}"
    files = exported_open(build, width, user_async, monkeypatch) if user_async else exported("verilator", width, user_async, monkeypatch)
    for folder in (ROOT / "gateware/lib/tb", AGREE):  # the simulator's Python looks where this one does
        monkeypatch.syspath_prepend(str(folder))
    bench.run("agree_top", files, AGREE / "bench_agree.py", build, quick=True)


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
