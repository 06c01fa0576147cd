# SPDX-License-Identifier: Apache-2.0
"""A board's project with plug-in `partial`: whole with each core in the region, its script in order, and the checks see what is planted."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from board_checks import findings, lint, regions, run

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools/boardproject.py"
CELLS = ["tp_sync_meta_reg", "tp_cdc_data_reg", "tp_cdc_mem_reg", "tp_config_divided_reg"]
PBLOCK = ["SLICE_X0Y0:SLICE_X49Y49", "RAMB36_X0Y0:RAMB36_X1Y9"]
CORES = ["loopback", "sobel"]
PORT = "sources/core/01/tp_config_port.sv"


def prepare(name: str, core: Path, folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, TOOL, "board", name, f"--core={core}", f"--output={folder}", "--no-build", *more]
    return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One of the 7 series, and one of UltraScale+ on a clock of the core's own, with a data file and a macro in one core."""
    home = tmp_path_factory.mktemp("partial")
    clocked = shutil.copytree(ROOT / "examples/partial", home / "core")
    edit(clocked / "towpath.toml", '"../../cores', f'"{ROOT}/cores')
    edit(clocked / "towpath.toml", "width = 128", "width = 512\nclock_mhz = 312.5")
    sobel = shutil.copytree(ROOT / "cores/sobel", home / "sobel")
    edit(clocked / "towpath.toml", '["sobel"]', '["../sobel"]')
    (sobel / "kernel.hex").write_text("0 1\n")
    edit(sobel / "towpath.toml", 'sources = ["sobel.sv"]', 'sources = ["sobel.sv"]\ndata = ["kernel.hex"]\ninclude = ["more"]')
    (sobel / "more").mkdir()
    (sobel / "more/kernel.svh").write_text(
        '`define KERNEL(name) logic [7:0] name[2]; initial $readmemh(`"kernel.hex`", name);\n'.replace('`"', '"')
    )
    text = (sobel / "sobel.sv").read_text()
    head = text.index("module sobel")
    body = text.index(");\n", head) + 3
    (sobel / "sobel.sv").write_text(
        f'{text[:head]}`include "kernel.svh"\n{text[head:body]}  // verilator lint_off UNUSEDSIGNAL\n  `KERNEL(kernel)\n'
        f"  // verilator lint_on UNUSEDSIGNAL\n{text[body:]}"
    )
    for name, core in (("kc705", ROOT / "examples/partial"), ("u50", clocked)):
        made = prepare(name, core, home / name, "--pblock", *PBLOCK)
        assert made.returncode == 0, made.stderr
    return {name: home / name for name in ("kc705", "u50")}


@pytest.fixture
def project(prepared: dict[str, Path], tmp_path: Path):
    return lambda name: shutil.copytree(prepared[name], tmp_path / "project")


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text, f"{file}: nothing to plant the fault in: {old}"
    file.write_text(text.replace(old, new))


@pytest.mark.parametrize(("name", "region"), [("kc705", None), ("kc705", 1), ("u50", 0), ("u50", 1)])
def test_a_project_is_whole_with_each_core(prepared: dict[str, Path], tmp_path: Path, name: str, region: int | None) -> None:
    assert findings(prepared[name], tmp_path, region=region) == []


@pytest.mark.parametrize(("name", "region"), [("kc705", 0), ("u50", 1)])
def test_verilator_is_content(prepared: dict[str, Path], tmp_path: Path, name: str, region: int) -> None:
    assert lint(prepared[name], tmp_path, region) == []


def test_what_a_core_of_the_region_reads_comes_along(prepared: dict[str, Path], tmp_path: Path) -> None:
    (own, _), (other, options) = regions(prepared["u50"], tmp_path)
    assert [Path(path).name for path in own] == ["loopback.sv", "tp_region.sv"]
    assert [Path(path).name for path in other] == ["sobel.sv", "tp_region.sv"]
    assert (Path(other[0]).parent / "kernel.hex").is_file()
    assert [option for option in options if option.startswith("+incdir+") and Path(option[8:], "kernel.svh").is_file()]
    build = run(prepared["u50"] / "build.tcl", tmp_path, CELLS)
    assert [Path(path).name for (path,) in build.of("read_mem")] == ["kernel.hex"]


@pytest.mark.parametrize("name", ["kc705", "u50"])
def test_the_script_makes_a_whole_and_a_partial_file_of_each(prepared: dict[str, Path], tmp_path: Path, name: str) -> None:
    folder = shutil.copytree(prepared[name], tmp_path / "project")
    done = run(folder / "build.tcl", tmp_path, CELLS)
    assert done.code == 0, done.said
    assert done.of("launch_runs") == [["synth_1"]]
    assert done.of("synth_design") == [["tp_region", part := done.of("create_project")[0][2]]] * 2 and part
    assert [place for (place,) in done.of("resize_pblock")] == PBLOCK
    assert done.of("read_checkpoint") == [["1"], ["2"]] and done.of("pr_verify") == [["1", "2"]]
    # A program takes the file's name for the core's.
    assert done.of("write_bitstream") == [["1", "loopback.bit", "1"], ["1", "whole.bit", "0"], ["2", "sobel.bit", "1"]]
    assert all((folder / f"partial/{core}.bin").is_file() for core in CORES) and (folder / f"{name}-loopback.bit").is_file()
    # An earlier build's files are gone when a later one stops.
    stopped = run(folder / "build.tcl", tmp_path, CELLS, TP_REGION_SLACK="0.1 -0.2")
    assert stopped.code == 1 and "core sobel: timing is not met, the setup slack is -0.2 ns: see timing-1.txt" in stopped.said
    assert not (folder / f"{name}-loopback.bit").exists() and not (folder / "partial/sobel.bin").exists()


def test_the_project_alone_leaves_the_region_out(prepared: dict[str, Path], tmp_path: Path) -> None:
    done = run(prepared["kc705"] / "build.tcl", tmp_path, [], "project")
    assert done.code == 0 and "a hole for the region" in done.said and not done.of("synth_design")


@pytest.mark.parametrize("count", [0, 2])
def test_a_netlist_with_another_number_of_regions(project, tmp_path: Path, count: int) -> None:
    done = run(project("kc705") / "build.tcl", tmp_path, CELLS, TP_REGIONS=str(count))
    assert done.code == 1 and f"the design has {count} cells of tp_region" in done.said and not done.of("write_bitstream")


FAULTS = {
    "a faster clock than was told": ("kc705", "sources/tp_user.sv", ".CLOCK_KHZ(250000)", ".CLOCK_KHZ(125000)", "its clock has 250000"),
    "a faster port than there is": ("kc705", PORT, "MOST_KHZ(100_000)", "MOST_KHZ(125_000)", "and 100000 are allowed"),
    "another divider": ("u50", "crossings.tcl", "-divide_by 4", "-divide_by 2", "'tp_config_clock', 2)], and divided by 4"),
    "no clock": ("kc705", "crossings.tcl", "create_generated_clock", "if 0 {} ;# ", "the configuration port's clock is []"),
    "a setup of one clock": (
        "u50",
        "crossings.tcl",
        "set_multicycle_path 2 -setup",
        "set_multicycle_path 1 -setup",
        "have [['1', '-setup'",
    ),
    "no hold": ("kc705", "crossings.tcl", "set_multicycle_path 3 -hold", "if 0 {} ;# ", "the paths to the configuration port have"),
    "the primitive beside the buffer": ("kc705", PORT, ".CLK(icap_clk)", ".CLK(clk)", "CLK of the configuration port is"),
    "select and direction exchanged": ("u50", PORT, ".CSIB(icap_csib)", ".CSIB(icap_rdwrb)", "CSIB of the configuration port is"),
    "a narrow word": ("kc705", PORT, "logic [31:0] icap_i;", "logic [15:0] icap_i;", "icap_i"),
    "a port that the primitive does not have": (
        "u50",
        PORT,
        ".AVAIL(icap_avail)",
        ".AVAILABLE(icap_avail)",
        "port 'AVAILABLE' does not exist",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_seen(project, tmp_path: Path, fault: str) -> None:
    name, file, old, new, said = FAULTS[fault]
    folder = project(name)
    edit(folder / file, old, new)
    found = findings(folder, tmp_path)
    assert any(said in line for line in found), found


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("sources/region/01/tp_region.sv", ".edges_tdata(out_tdata)", ".edges_tdata(out_tdata[63:0])", "edges_tdata of sobel has 128 bits"),
        ("sources/region/01/tp_region.sv", "output logic out_tlast,\n", "", "out_tlast"),
        ("project.tcl", "  {sources/region/01/core/00/sobel.sv}\n", "", "unknown module 'sobel'"),
    ],
)
def test_a_fault_of_another_core_is_seen(project, tmp_path: Path, file: str, old: str, new: str, said: str) -> None:
    folder = project("kc705")
    edit(folder / file, old, new)
    found = findings(folder, tmp_path, region=1)
    assert any(said in line for line in found), found
    assert findings(folder, tmp_path, region=0) == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("      lock_design -level routing\n", "", "the rest's routing is not locked"),
        ("      update_design -cell $cell -black_box\n", "", "lock_design -level routing"),
        ("  place_design\n", "", "route_design: before place_design"),
        ("      set_property HD.RECONFIGURABLE true [get_cells $cell]\n", "", "the region is not declared"),
        ("-cell $cell $file.bit", "$file.bit", "the whole holds the card's own core"),
    ],
)
def test_a_step_left_out_of_the_script_is_seen(project, tmp_path: Path, old: str, new: str, said: str) -> None:
    folder = project("kc705")
    edit(folder / "partial.tcl", old, new)
    done = run(folder / "build.tcl", tmp_path, CELLS)
    assert done.code != 0 and said in done.said, done.said


def test_errors_say_what_to_do(tmp_path: Path) -> None:
    partial, out = ROOT / "examples/partial", tmp_path / "out"

    def refused(name: str, core: Path, *more: str) -> str:
        said = prepare(name, core, out, *more)
        assert said.returncode == 1 and not out.exists()
        return said.stderr

    assert 'plug-in "partial" must be told where its region lies, which only you can know: --pblock SLICE_X0Y0' in refused("kc705", partial)
    assert "xc7k325tffg900-2 has SLICE, RAMB18, RAMB36, DSP48, CLOCKREGION" in refused(
        "kc705", partial, "--pblock", "URAM288_X0Y0:URAM288_X1Y1"
    )
    assert "give two corners" in refused("u50", partial, "--width=512", "--pblock", "SLICE_X0Y0:RAMB36_X1Y1")
    assert "give the lower left corner first" in refused("u50", partial, "--pblock", "SLICE_X9Y0:SLICE_X1Y1")
    assert 'core "loopback" has no plug-in "partial": leave it out' in refused("kc705", ROOT / "cores/loopback", "--pblock", *PBLOCK)
    both = shutil.copytree(partial, tmp_path / "both")
    edit(both / "towpath.toml", '"../../cores', f'"{ROOT}/cores')
    text = (both / "towpath.toml").read_text()
    (both / "towpath.toml").write_text(
        text.replace("width = 128", "width = 128\nclock_mhz = 156.25") + '[[plugin]]\ntype = "clock"\nclocks = [156.25, 312.5]\n'
    )
    assert 'plug-ins "partial" and "clock" together are not on boards yet' in refused("kc705", both, "--pblock", *PBLOCK)
    export = [sys.executable, ROOT / "tools/verilog.py", "--board", "kc705", "--core", partial, "--output", out]
    said = subprocess.run(export, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert said.returncode == 1 and "cannot be exported as Verilog; boards take it as it is" in said.stderr
