# SPDX-License-Identifier: Apache-2.0
"""Each board with cores of each kind: what is prepared is whole, and the checks see what is planted."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from board_checks import findings, lint, run

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TOOL = ROOT / "tools" / "boardproject.py"
sys.path.insert(0, str(ROOT / "tools"))
import boardproject  # noqa: E402

NAMES = boardproject.names()
CELLS = ["tp_sync_meta_reg", "tp_cdc_data_reg", "tp_cdc_mem_reg"]
CORES = ("loopback", "sobel", "counter", "scratchpad", "clocked", "bare")
SWITCHED = [156_250, 312_500]  # kHz, of the core "switched"


def board(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(TOOL), *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL)


@pytest.fixture(scope="session")
def cores(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Shipped ones, the loopback with a clock of its own, and one without registers."""
    clocked = tmp_path_factory.mktemp("cores") / "clocked"
    shutil.copytree(ROOT / "cores" / "loopback", clocked)
    manifest = clocked / "towpath.toml"
    manifest.write_text(manifest.read_text().replace("width = 128", "width = 128\nclock_mhz = 156.25"))
    switched = shutil.copytree(ROOT / "tests/cores/loopback_clocks", clocked.parent / "switched")
    manifest = switched / "towpath.toml"
    manifest.write_text(manifest.read_text().replace("../../../cores", str(ROOT / "cores")).replace("62.5, 300.0", "312.5"))
    made = {"clocked": clocked, "bare": HERE / "bare", "switched": switched, "kernel": ROOT / "tests/cores/kernel"}
    return {name: ROOT / "cores" / name for name in (*CORES[:4], "fifo", "peer")} | made


@pytest.fixture(scope="session")
def prepared(cores: dict[str, Path], tmp_path_factory: pytest.TempPathFactory):
    """Prepares each project once, in a folder whose name has a blank."""
    done: dict[tuple[str, ...], Path] = {}

    def prepare(name: str, core: str, *more: str) -> Path:
        if (name, core, *more) not in done:
            folder = tmp_path_factory.mktemp("projects") / f"{name} {core}"
            made = board("board", name, f"--core={cores[core]}", f"--output={folder}", "--no-build", *more)
            assert made.returncode == 0, made.stderr
            done[name, core, *more] = folder
        return done[name, core, *more]

    return prepare


@pytest.fixture
def project(prepared, tmp_path: Path):
    """A copy of a prepared project, for a fault to be planted."""

    def copy(name: str, core: str = "loopback") -> Path:
        return shutil.copytree(prepared(name, core), tmp_path / "project")

    return copy


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text, f"{file}: nothing to plant the fault in: {old}"
    file.write_text(text.replace(old, new))


# --- every board ---------------------------------------------------------------------------------------------------------------


# What a core changes is the same on each board: each has a core with a clock of its own and one with BAR 4, and one board has all.
@pytest.mark.parametrize(
    ("name", "core"), [(name, core) for name in NAMES for core in CORES if name == "vc707" or core in ("clocked", "scratchpad")]
)
def test_project_is_whole(prepared, tmp_path: Path, name: str, core: str) -> None:
    assert findings(prepared(name, core), tmp_path) == []


@pytest.mark.parametrize("name", ["kc705", "u50"])
def test_a_switch_of_clocks_is_whole(prepared, tmp_path: Path, name: str) -> None:
    folder = prepared(name, "switched")
    assert findings(folder, tmp_path, SWITCHED) == []
    assert lint(folder, tmp_path) == []


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("crossings.tcl", "CLKOUT0 CLKOUT1", "CLKOUT0 CLKOUT2", "exclusive are CLKOUT0, CLKOUT2, of 2"),
        ("crossings.tcl", "max_ns 3.200", "max_ns 6.400", "6.400 ns, not 3.200"),
        ("sources/tp_board_pkg.sv", "CLOCK_OUTPUT_1 = ", "CLOCK_OUTPUT_1 = 1 + ", "user clock in kHz"),
        ("sources/boards/common/tp_board_clock.sv", ".I(made[k])", ".I(made)", "port I of BUFG has 1 bits"),
        ("sources/core/02/tp_clock_join.sv", ".I1(clocks[1])", ".I1(clocks)", "port I1 of BUFGCTRL has 1 bits"),
        ("sources/core/02/tp_clock_join.sv", ".S0(open[0])", ".S0(open[1])", "i_clock_mux is open[1], not open[0]"),
        ("sources/core/02/tp_clock_join.sv", ".IGNORE1(masked[1])", ".IGNORE1(masked[0])", "i_clock_mux is masked[0], not masked[1]"),
        (
            "sources/boards/common/tp_board_clock.sv",
            ".CLKOUT1(made[1])",
            ".CLKOUT1(made[0])",
            "CLKOUT1 of the MMCM is made[0], not made[1]",
        ),
        ("crossings.tcl", "CE1 IGNORE0", "CE1", "i_clock_mux/IGNORE0 is timed"),
        ("crossings.tcl", "{I0 I1}", "{I0}", "i_clock_mux/I1 needs a buffer beside it"),
    ],
)
def test_a_fault_of_the_switch_is_seen(project, tmp_path: Path, file: str, old: str, new: str, said: str) -> None:
    folder = project("kc705", "switched")
    (place,) = folder.glob(file.replace("/02/", "/*/"))
    edit(place, old, new)
    found = findings(folder, tmp_path, SWITCHED)
    assert any(said in line for line in found), found


@pytest.mark.parametrize("name", NAMES)
def test_other_paths(prepared, tmp_path: Path, name: str) -> None:
    for link in boardproject.read(name).links[1:]:
        assert findings(prepared(name, "clocked", f"--width={link.width}"), tmp_path) == []


@pytest.mark.parametrize(
    ("name", "core"), [("vc707", "clocked"), ("ac701", "sobel"), ("kc705", "bare"), ("vcu118", "clocked"), ("u50", "loopback")]
)
def test_verilator_is_content(prepared, tmp_path: Path, name: str, core: str) -> None:
    assert lint(prepared(name, core), tmp_path) == []


# Each board once: a core with a clock of its own, and what a memory, a master of AXI4 and peers bring along.
PLAIN = {"vc707": "clocked", "vcu118": "clocked", "kc705": "fifo", "ac701": "kernel", "u50": "peer"}


@pytest.mark.parametrize(("name", "core"), [(name, PLAIN.get(name, "loopback")) for name in NAMES])
def test_the_project_in_plain_verilog(cores, tmp_path: Path, name: str, core: str) -> None:
    folder = tmp_path / "project"
    export = [sys.executable, ROOT / "tools/verilog.py", "--board", name, "--core", cores[core], "--output", folder]
    made = subprocess.run(export, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert (made.returncode, made.stderr) == (0, "")
    assert {file.suffix for file in (folder / "sources").iterdir()} == {".v", ".f"}
    assert findings(folder, tmp_path) == []
    # Icarus passes over the block and the primitives, whose ports `findings` compared.
    files = sorted((folder / "sources").glob("*.v"))
    icarus = ["iverilog", "-g2005", "-Wall", "-i", "-s", "tp_top", "-o", os.devnull]
    read = subprocess.run([*icarus, *files], capture_output=True, text=True)
    assert (read.returncode, read.stdout + read.stderr) == (0, "")


def test_a_board_in_plain_verilog_sets_its_own_clock() -> None:
    export = [sys.executable, ROOT / "tools/verilog.py", "--board", "vc707", "--core-clock", "250", "--output", "unused"]
    made = subprocess.run(export, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert made.returncode == 2 and "leave --endpoint, --core-clock, --parameter and --open out" in made.stderr


def test_every_board_has_its_files() -> None:
    assert {"vc707", "kc705", "ac701", "vcu118", "u50"} <= set(NAMES)
    guide = (ROOT / "docs" / "guide" / "board.md").read_text()
    page = (ROOT / "boards" / "README.md").read_text()
    for name in NAMES:
        assert f"`{name}`" in guide and f"`{name}`" in page
        assert all((ROOT / "boards" / name / file).is_file() for file in ("board.toml", "pins.xdc"))
        tomllib.loads((ROOT / "boards" / name / "board.toml").read_text())


def flash_faults(guide: str, constraints: dict[str, str]) -> list[str]:
    """Boards whose flash the guide writes in another width than their constraints read it: write_cfgmem refuses that."""
    found = []
    for name, text in constraints.items():
        width = re.search(r"SPI_BUSWIDTH (\d)", text)
        told = re.search(rf"^\| `{name}` \| (SPIx\d|BPIx16)\b", guide, re.MULTILINE)
        reads = f"SPIx{width[1]}" if width else "BPIx16" if "CONFIG_MODE BPI16" in text else None
        if (told[1] if told else None) != reads:
            found.append(name)
    return found


def test_the_guide_writes_the_flash_as_constraints_read_it() -> None:
    guide = (ROOT / "docs/guide/board.md").read_text()
    constraints = {name: (ROOT / "boards" / name / "pins.xdc").read_text() for name in NAMES}
    assert flash_faults(guide, constraints) == []
    without = {
        name: re.sub(r"set_property (BITSTREAM.CONFIG.SPI_BUSWIDTH|CONFIG_MODE BPI16) ?.*", "", text) for name, text in constraints.items()
    }
    assert flash_faults(guide, without) == [name for name in NAMES if name != "ac701"]


# --- what the tool says --------------------------------------------------------------------------------------------------------


def test_list_names_every_board_and_link() -> None:
    shown = board("boards")
    assert shown.returncode == 0
    for name in NAMES:
        assert name in shown.stdout and all(str(link) in shown.stdout for link in boardproject.read(name).links)


def test_errors_say_what_to_do(cores: dict[str, Path], tmp_path: Path) -> None:
    loopback = f"--core={cores['loopback']}"
    unknown = board("board", "vc708", loopback)
    assert unknown.returncode == 1 and "no board 'vc708'; there are: ac701" in unknown.stderr
    no_core = board("board", "vc707", f"--core={tmp_path}")
    assert no_core.returncode == 1 and "Give a folder that holds a towpath.toml" in no_core.stderr
    odd = shutil.copytree(cores["bare"], tmp_path / "odd")
    edit(odd / "towpath.toml", 'direction = "c2h"', 'direction = "up"')
    refused = board("board", "vc707", f"--core={odd}")
    assert refused.returncode == 1 and "towpath --json wrapper" in refused.stderr and "`up`" in refused.stderr
    wide = board("board", "vc707", loopback, "--width=512")
    assert wide.returncode == 1 and "no path of 512 bit; there are: 128 bit at 250 MHz" in wide.stderr
    (tmp_path / "mine").write_text("")
    occupied = board("board", "vc707", loopback, f"--output={tmp_path}")
    assert occupied.returncode == 1 and "has other files in it" in occupied.stderr
    assert (tmp_path / "mine").exists()


def test_a_clock_that_cannot_be_made(cores: dict[str, Path], tmp_path: Path) -> None:
    odd = shutil.copytree(cores["clocked"], tmp_path / "odd")
    edit(odd / "towpath.toml", "156.25", "3")
    said = board("board", "vc707", f"--core={odd}", f"--output={tmp_path / 'out'}")
    assert said.returncode == 1 and "clock_mhz = 3 in the core's manifest cannot be made from 250 MHz; near it: 4.6" in said.stderr
    assert not (tmp_path / "out").exists()


def test_a_third_clock_is_refused(tmp_path: Path) -> None:
    said = board("board", "kc705", f"--core={ROOT / 'tests/cores/loopback_clocks'}", f"--output={tmp_path / 'out'}")
    assert (
        said.returncode == 1 and "clocks = [156.25, 62.5, 300] in the core's manifest: a board switches between two clocks" in said.stderr
    )
    assert not (tmp_path / "out").exists()


def test_a_manifest_without_its_clocks(tmp_path: Path) -> None:
    (tmp_path / "towpath.toml").write_text("")
    with pytest.raises(boardproject.Failure, match="the core has 2 clocks: one plug-in must name as many"):
        boardproject.user_clocks({"folder": tmp_path}, {"USER_CLOCKS": 2})


def test_clocks_that_no_one_oscillator_makes(cores: dict[str, Path], tmp_path: Path) -> None:
    odd = shutil.copytree(cores["switched"], tmp_path / "odd")
    edit(odd / "towpath.toml", "312.5", "300.0")
    said = board("board", "kc705", f"--core={odd}", f"--output={tmp_path / 'out'}")
    assert said.returncode == 1 and "clocks = [156.25, 300] in the core's manifest: no one oscillator makes them all" in said.stderr
    assert not (tmp_path / "out").exists()


def test_what_a_core_reads_and_defines_comes_along(cores: dict[str, Path], tmp_path: Path) -> None:
    """Data files beside the sources that read them, macros, and files that are included from the core's own folder."""
    core = shutil.copytree(cores["bare"], tmp_path / "reader")
    edit(core / "towpath.toml", 'sources = ["bare.sv"]', 'sources = ["*.sv"]\ndata = ["rom/*"]\ndefines = { ROWS = 4 }')
    edit(core / "bare.sv", "module bare #(", '`include "more.svh"\n\nmodule bare #(')
    reads = "\n".join(f'  logic [7:0] rom{n}[`ROWS]; initial $readmemh("{name}", rom{n});' for n, name in enumerate(["rom/a.hex", "b.mem"]))
    edit(core / "bare.sv", "  `BARE_JOIN(data)", f"  `MORE(more)\n{reads}\n  `BARE_JOIN(data)")
    (core / "more.svh").write_text("`define MORE(name) localparam int name = 1;\n")
    (core / "rom").mkdir()
    for name in ("a.hex", "b.mem"):
        (core / "rom" / name).write_text(f"// {name}\n0 1 2 3\n")
    folder = tmp_path / "project"
    made = board("board", "vc707", f"--core={core}", f"--output={folder}", "--no-build")
    assert made.returncode == 0, made.stderr
    assert findings(folder, tmp_path) == []
    build = run(folder / "build.tcl", tmp_path, [], "project")
    read = [Path(path).relative_to(folder).as_posix() for (path,) in build.of("read_mem")]
    assert sorted(read) == ["sources/core/00/b.mem", "sources/core/00/rom/a.hex"]
    assert (folder / read[0]).read_text().startswith(f"// {Path(read[0]).name}")
    # Without what came along the checks fail.
    edit(folder / "project.tcl", "  {ROWS=4}\n", "")
    assert findings(folder, tmp_path)
    # A name that leads out of the project.
    edit(core / "bare.sv", '"b.mem"', '"../b.mem"')
    refused = board("board", "vc707", f"--core={core}", f"--output={folder}", "--no-build")
    assert refused.returncode == 1 and 'the core reads "../b.mem", which a project cannot hold' in refused.stderr


def test_included_files_are_copied_to_where_they_are_looked_for() -> None:
    """Through "..", too, which must not lead out of the project."""

    def copied(include: list[str], *included: str) -> dict[str, str]:
        core = {"folder": "/c/core", "sources": [], "include": include, "data": [], "included": [f"/c/core/{name}" for name in included]}
        made = boardproject.core_files(core)
        assert all(folder.startswith("sources/include/") for folder in made.includes)
        return {target: str(path) for path, target in made.files}

    assert copied(["rtl"], "rtl/defs.svh") == {}, "the whole folder is copied"
    assert copied(["rtl"], "rtl/../defs.svh") == {"sources/include/defs.svh": "/c/core/defs.svh"}
    assert copied(["../rtl"], "../rtl/a.svh") == {} == copied(["../core/rtl"], "../core/rtl/a.svh")
    assert copied([], "../x.svh", "y.svh") == {"sources/include/x.svh": "/c/x.svh", "sources/include/core/y.svh": "/c/core/y.svh"}
    for out in ("../../../x.svh", "../../../../x.svh"):
        with pytest.raises(boardproject.Failure, match=r"leads out of a project's sources"):
            copied([], out)
    with pytest.raises(boardproject.Failure, match=r"/c/core/a/x.svh and /c/core/b/x.svh, which have one place in a project"):
        copied(["a/i", "b/i"], "a/i/../x.svh", "b/i/../x.svh")


def test_a_core_in_vhdl_stays_as_it_is(tmp_path: Path) -> None:
    """Its generics are passed on, and its files are VHDL-2008. What slang reads has no place in this project."""
    if shutil.which(os.environ.get("TOWPATH_GHDL", "ghdl")) is None:
        pytest.skip("GHDL is not installed")
    folder = tmp_path / "project"
    made = board("board", "vc707", f"--core={ROOT / 'tests/cores/vhdl'}", f"--output={folder}", "--no-build")
    assert made.returncode == 0, made.stderr
    build = run(folder / "build.tcl", tmp_path, [], "project")
    (files,) = [to for name, value, *to in build.of("set_property") if (name, value) == ("file_type", "VHDL 2008")]
    assert [Path(file).name for file in files] == ["gain_pkg.vhd", "gain.vhd"]
    assert ".FACTOR(3)" in (folder / "sources/tp_user.sv").read_text()


def test_preparing_again_renews_sources_and_keeps_a_build(cores: dict[str, Path], tmp_path: Path) -> None:
    folder = tmp_path / "project"
    make = ("board", "kc705", f"--core={cores['sobel']}", f"--output={folder}", "--no-build")
    assert board(*make).returncode == 0
    (folder / "build").mkdir()
    (folder / "build" / "kept").write_text("")
    (folder / "sources" / "stale.sv").write_text("")
    assert board(*make).returncode == 0
    assert (folder / "build" / "kept").exists() and not (folder / "sources" / "stale.sv").exists()


def test_vivado_on_the_path_is_started(cores: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "vivado").write_text('#!/bin/sh\necho "$@" > started\npwd >> started\nexit 3\n')
    (tools / "vivado").chmod(0o755)
    arguments = ("board", "kc705", f"--core={cores['loopback']}", f"--output={tmp_path / 'out'}")
    without = board(*arguments)
    assert without.returncode == 0 and "vivado -mode batch -source build.tcl" in without.stdout
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    assert board(*arguments).returncode == 3
    assert (tmp_path / "out" / "started").read_text() == f"-mode batch -source build.tcl\n{tmp_path / 'out'}\n"


def test_a_mixed_clock_is_made_exactly() -> None:
    multiply, divide, outputs = boardproject.clock_factors(250_000, SWITCHED, False)
    assert [250_000 * multiply / divide / output for output in outputs] == SWITCHED and 600_000 <= 250_000 * multiply / divide <= 1_200_000


def test_a_clock_too_fast_for_the_buffer_is_refused() -> None:
    for plus, allowed, refused in ((False, 450_000, 475_000), (True, 650_000, 675_000)):
        assert boardproject.clock_factors(250_000, [allowed], plus)
        with pytest.raises(boardproject.Failure, match=f"clock_mhz = {refused // 1000} .* cannot be made from 250 MHz; near it: "):
            boardproject.clock_factors(250_000, [refused], plus)


@pytest.mark.parametrize(("serial", "said"), [("-1", "-1: a number from 0 to 2**64 - 1"), ("zz", "invalid number value: 'zz'")])
def test_a_serial_number_that_is_none(cores: dict[str, Path], serial: str, said: str) -> None:
    refused = board("board", "vc707", f"--core={cores['loopback']}", f"--serial={serial}")
    assert refused.returncode == 2 and said in refused.stderr


def test_what_towpath_says_is_passed_on(cores: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "towpath").write_text("#!/bin/sh\necho \"error: unrecognized subcommand 'wrapper'\" >&2\nexit 2\n")
    (tmp_path / "towpath").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    refused = board("board", "vc707", f"--core={cores['loopback']}")
    assert refused.returncode == 1 and f"({tmp_path / 'towpath'}): error: unrecognized subcommand 'wrapper'" in refused.stderr


# --- build.tcl ------------------------------------------------------------------------------------------------------------------


def test_build_gives_a_bit_stream(project, tmp_path: Path) -> None:
    folder = project("vc707")
    done = run(folder / "build.tcl", tmp_path, CELLS)
    assert done.code == 0, done.said
    assert (folder / "vc707-loopback.bit").is_file()
    assert done.of("launch_runs") == [["synth_1"], ["impl_1"]]


def test_build_of_the_project_alone(project, tmp_path: Path) -> None:
    done = run(project("vc707") / "build.tcl", tmp_path, [], "project")
    assert done.code == 0 and done.of("launch_runs") == [] and done.of("generate_target")


@pytest.mark.parametrize(
    ("planted", "said"),
    [
        ({"TP_VERSION": "2018.3"}, "Vivado 2018.3 is too old"),
        ({"TP_IGNORED": "CONFIG.Bar0_64bit"}, "CONFIG.Bar0_64bit is what the IP had before, not true"),
        ({"TP_FAILED": "synth_1"}, "synth_1: ERROR"),
        ({"TP_FAILED": "impl_1"}, "impl_1: ERROR"),
        ({"TP_FAILED": "tp_pcie_synth_1"}, "tp_pcie_synth_1: synth_design ERROR. What it said is in "),
        ({"TP_SLACK": "-0.2"}, "timing is not met, STATS.WNS is -0.2"),
        ({"TP_PULSES": "-0.1"}, "timing is not met, STATS.TPWS is -0.1"),
        (
            {"TP_SAID": "CRITICAL WARNING: no such port [/tmp/pins.xdc:9]"},
            "impl_1 did not apply a constraint. CRITICAL WARNING: no such port",
        ),
        ({"TP_UNIT": "8"}, "CONFIG.MSIx_Table_Offset: 400 makes 80 of MSIX_CAP_TABLE_OFFSET, and the card has 400. Write 2000 in"),
        ({"TP_VECTORS": "0"}, "CONFIG.MSIx_Table_Size: 20 makes 20 of MSIX_CAP_TABLE_SIZE, and the card has 1F. Write 1F in"),
        ({"TP_GENERATED": "other.v"}, "the generated IP has no MSIX_CAP_TABLE_SIZE in a file tp_pcie_core_top.v"),
    ],
)
def test_build_stops(project, tmp_path: Path, planted: dict[str, str], said: str) -> None:
    folder = project("vc707")
    done = run(folder / "build.tcl", tmp_path, CELLS, **planted)
    assert done.code == 1 and said in done.said
    assert not (folder / "vc707-loopback.bit").exists()


@pytest.mark.parametrize("version", ["2019.1", "2019.1.3", "2020.1_AR75345", "2025.2"])
def test_build_takes_every_version_since_2019_1(project, tmp_path: Path, version: str) -> None:
    assert run(project("vc707") / "build.tcl", tmp_path, [], "project", TP_VERSION=version).code == 0


# --- faults, each of which a check must see ---------------------------------------------------------------------------------------

BLOCK7 = "sources/boards/common/7series/tp_board.sv"
BLOCKP = "sources/boards/common/ultrascale/tp_board.sv"
FAULTS = {
    "a port that the block does not have": ("vc707", BLOCK7, ".fc_sel,", ".fc_select(fc_sel),", "port 'fc_select' does not exist"),
    "an input left open": ("vc707", BLOCK7, "      .cfg_pm_wake(1'b0),\n", "", "cfg_pm_wake"),
    "an input left open explicitly": (
        "vc707",
        BLOCK7,
        ".cfg_pm_wake(1'b0)",
        ".cfg_pm_wake()",
        "cfg_pm_wake of tp_pcie: an input that nothing drives",
    ),
    "a narrow wire": ("vc707", BLOCK7, "logic [2:0] fc_sel;", "logic [1:0] fc_sel;", "fc_sel"),
    "a wide constant": ("vc707", BLOCK7, ".cfg_ds_bus_number(8'b0)", ".cfg_ds_bus_number(9'b0)", "cfg_ds_bus_number"),
    "a wide wire, plus": ("u50", BLOCKP, ".cfg_max_payload({1'b0, max_payload})", ".cfg_max_payload(max_payload)", "cfg_max_payload"),
    "a port of another family": ("u50", BLOCKP, ".cfg_fc_sel(3'b0)", ".fc_sel(3'b0)", "port 'fc_sel' does not exist"),
    "another straddling": ("u50", BLOCKP, "DATA_WIDTH == 512 ? 4 : 1", "2", "answers in a beat: the IP's setting is 4, the design has 2"),
    "a group of ports that is off": (
        "vc707",
        "settings.tcl",
        "err_reporting_if {true}",
        "err_reporting_if {false}",
        "cfg_err_ur' does not exist",
    ),
    "a group of ports with open inputs": ("vc707", "settings.tcl", "cfg_mgmt_if {false}", "cfg_mgmt_if {true}", "cfg_mgmt_di"),
    "a setting that does not exist": ("vc707", "settings.tcl", "CONFIG.MSI_Enabled", "CONFIG.MSI_Enable", "no setting MSI_Enable"),
    "a value that is not allowed": (
        "u50",
        "settings.tcl",
        "AXISTEN_IF_EXT_512_CC_STRADDLE {false}",
        "AXISTEN_IF_EXT_512_CC_STRADDLE {no}",
        "is no, and may be",
    ),
    "another clock": ("vc707", "settings.tcl", "User_Clk_Freq {250}", "User_Clk_Freq {125}", "clock in kHz: the IP's setting is 125000"),
    "another width": ("vc707", "settings.tcl", "Interface_Width {128_bit}", "Interface_Width {64_bit}", "s_axis_tx_tdata"),
    "fewer lanes": ("vcu118", "settings.tcl", "MAX_LINK_WIDTH {X16}", "MAX_LINK_WIDTH {X8}", "pci_exp_txp"),
    "a small BAR 0": ("vc707", "settings.tcl", "Bar0_Size {64}", "Bar0_Size {32}", "BAR 0 has 32768 bytes, its pages 49152"),
    "a large BAR 0": ("vc707", "settings.tcl", "Bar0_Size {64}", "Bar0_Size {128}", "bits of an address in BAR 0"),
    "no BAR 2": ("u50", "settings.tcl", "pf0_bar2_enabled {true}", "pf0_bar2_enabled {false}", "BAR 2 does not fit"),
    "a BAR 4": ("u50", "settings.tcl", "pf0_bar4_enabled {false}", "pf0_bar4_enabled {true}", "bytes of BAR 4"),
    "the MSI-X table elsewhere": (
        "vc707",
        "settings.tcl",
        "MSIx_Table_Offset {400}",
        "MSIx_Table_Offset {2000}",
        "place of the MSI-X table",
    ),
    "a small BAR 2": ("kc705", "settings.tcl", "Bar2_Size {4}", "Bar2_Size {2}", "BAR 2 does not fit a window of 4096 bytes"),
    "one vector less": ("u50", "settings.tcl", "TABLE_SIZE {01F}", "TABLE_SIZE {01E}", "MSI-X vectors: the IP's setting is 31"),
    "a file that is not there": ("vc707", "project.tcl", "tp_core.sv", "tp_cores.sv", "sources/gateware/tp_cores.sv is missing"),
    "a file that is not listed": ("vc707", "project.tcl", "  {sources/gateware/lib/tp_rotate.sv}\n", "", "unknown module 'tp_rotate'"),
    "no part": ("vc707", "project.tcl", "xc7vx485tffg1761-2", "xc7vx485t-2", "is no part's name"),
    "a pin used twice": ("vc707", "pins.xdc", "PACKAGE_PIN AA6 ", "PACKAGE_PIN Y4 ", "pin Y4 is used twice"),
    "a port that is not there": ("u50", "pins.xdc", "get_ports hbm_cattrip", "get_ports hbm_trip", "no port hbm_trip"),
    "a lane that is not there": ("ac701", "pins.xdc", "{pcie_rx_p[3]}", "{pcie_rx_p[4]}", "no port pcie_rx_p[4]"),
    "a port without a pin": (
        "ac701",
        "pins.xdc",
        "set_property PACKAGE_PIN D14 [get_ports {pcie_rx_p[2]}]\n",
        "",
        "port pcie_rx_p[2] has no pin",
    ),
    "a port without a standard": (
        "kc705",
        "pins.xdc",
        "PACKAGE_PIN G25 IOSTANDARD LVCMOS25",
        "PACKAGE_PIN G25",
        "pcie_reset_n has no IOSTANDARD",
    ),
    "a script among the constraints": ("vc707", "pins.xdc", "# Lanes.", "set lane 0", "not allowed in an XDC"),
    "an option that does not exist": ("vc707", "pins.xdc", "-period 10.000", "-periods 10.000", "there is no option -periods"),
    "another reference clock": ("vc707", "pins.xdc", "-period 10.000", "-period 8.000", "reference clock in ns: the IP's setting is 10"),
    "a port with two pins": (
        "ac701",
        "pins.xdc",
        "PACKAGE_PIN D14 [get_ports {pcie_rx_p[2]}]",
        "PACKAGE_PIN D14 [get_ports {pcie_rx_p[0]}]",
        "port pcie_rx_p[0] has two pins",
    ),
    "a script that cannot be read": ("vc707", "build.tcl", "proc fail {message} {", "proc fail {message} {{", "build.tcl: "),
    "a command that does not exist": (
        "vc707",
        "build.tcl",
        "update_compile_order ",
        "update_compile_orders ",
        'invalid command name "update_compile_orders"',
    ),
    "another name of the block": ("vc707", "build.tcl", "-module_name tp_pcie", "-module_name pcie", "get_ips: there is no tp_pcie"),
    "a slower link": ("vc707", "settings.tcl", "Link_Speed {5.0_GT/s}", "Link_Speed {2.5_GT/s}", "is no path of 8 lanes of 2.5 GT/s"),
    "the pending bits elsewhere": (
        "u50",
        "settings.tcl",
        "PBA_OFFSET {00002800}",
        "PBA_OFFSET {00002000}",
        "place of the MSI-X pending bits",
    ),
    "requests that share a beat": (
        "u50",
        "settings.tcl",
        "512_CQ_STRADDLE {false}",
        "512_CQ_STRADDLE {true}",
        "requests in a beat: the IP's setting is 2",
    ),
    "requests of ours that do not": (
        "u50",
        "settings.tcl",
        "512_RQ_STRADDLE {true}",
        "512_RQ_STRADDLE {false}",
        "requests of ours in a beat: the IP's setting is 1, the design has 2",
    ),
    "the block's PERST# inverted": ("vc707", BLOCK7, ".sys_rst_n(perst_n)", ".sys_rst_n(!perst_n)", "the block's PERST# is !perst_n, not"),
    "the block's PERST# inverted, UltraScale+": (
        "u50",
        BLOCKP,
        ".sys_reset(perst_n)",
        ".sys_reset(!perst_n)",
        "the block's PERST# is !perst_n",
    ),
    "the block's reset left out": (
        "vc707",
        BLOCK7,
        ".block_reset(user_reset_out)",
        ".block_reset(1'b0)",
        "the block's reset at tp_board_reset is 1'b0",
    ),
    "a pin that no package has": ("vc707", "pins.xdc", "PACKAGE_PIN AM39", "PACKAGE_PIN ZZ99", "xc7vx485tffg1761-2 has no pin ZZ99"),
    "a pin beside the package": ("ac701", "pins.xdc", "PACKAGE_PIN M26", "PACKAGE_PIN M27", "xc7a200tfbg676-2 has no pin M27"),
    "a standard that is none": ("vc707", "pins.xdc", "AM39 IOSTANDARD LVCMOS18", "AM39 IOSTANDARD LVCMOSX", "LVCMOSX is no IOSTANDARD"),
    "a slower crossing": ("vc707", "crossings.tcl", "tp_cdc_max_ns 4.000", "tp_cdc_max_ns 8.000", "8.000 ns, not 4.000"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_is_seen(project, tmp_path: Path, fault: str) -> None:
    name, file, old, new, said = FAULTS[fault]
    folder = project(name)
    edit(folder / file, old, new)
    # build.tcl stops at some of these by itself (test_build_stops); here the findings are asked.
    edit(folder / "settings.tcl", "set msix {", "set msix {}\nset unread {")
    found = findings(folder, tmp_path)
    assert any(said in line for line in found), found


@pytest.mark.parametrize("register", ["tp_sync_meta", "tp_cdc_data", "tp_cdc_mem"])
def test_renamed_register_of_a_crossing_is_seen(project, tmp_path: Path, register: str) -> None:
    folder = project("vc707", "clocked")
    for file in (folder / "sources" / "gateware" / "lib").glob("*.sv"):
        file.write_text(file.read_text().replace(register, "renamed"))
    found = findings(folder, tmp_path)
    assert any(register in line and "no register of the design" in line for line in found), found


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("tp_board_clock.sv", ".RST(rst)", ".RST(1'b0)", "the MMCM's reset is 1'b0"),
        ("tp_board_clock.sv", ".LOCKED(locked)", ".LOCKED(locked_nowhere)", "locked_nowhere"),
        ("7series/tp_board.sv", ".rst(mmcm_rst)", ".rst(rst)", "the reset of tp_board_clock is tp_top.i_board.rst"),
        ("7series/tp_board.sv", ".locked,\n      .mmcm_rst", ".locked(1'b1),\n      .mmcm_rst", "the lock of tp_board_clock is"),
    ],
)
def test_an_mmcm_without_its_reset_or_lock_is_seen(project, tmp_path: Path, file: str, old: str, new: str, said: str) -> None:
    folder = project("kc705", "clocked")
    edit(folder / "sources/boards/common" / file, old, new)
    found = findings(folder, tmp_path)
    assert any(said in line for line in found), found


def test_an_oscillator_out_of_bounds_is_seen(project, tmp_path: Path) -> None:
    folder = project("vc707", "clocked")
    package = folder / "sources" / "tp_board_pkg.sv"
    # 250 MHz times 5, by 8: the right clock, from an oscillator that does not run so slowly.
    text = re.sub(r"CLOCK_([A-Z]+) = \d+", lambda m: f"CLOCK_{m[1]} = {dict(MULTIPLY=5, DIVIDE=8, OUTPUT=1)[m[1]]}", package.read_text())
    package.write_text(text)
    assert findings(folder, tmp_path) == ["an oscillator of 156.25 MHz: 600 to 1200 are allowed"]


def test_wrong_factors_of_a_clock_are_seen(project, tmp_path: Path) -> None:
    folder = project("vcu118", "clocked")
    package = folder / "sources" / "tp_board_pkg.sv"
    package.write_text(package.read_text().replace("CLOCK_DIVIDE = ", "CLOCK_DIVIDE = 1 + "))
    assert any("user clock in kHz" in line for line in findings(folder, tmp_path))


@pytest.mark.parametrize("missing", CELLS)
def test_build_stops_at_a_crossing_without_cells(project, tmp_path: Path, missing: str) -> None:
    folder = project("vc707", "clocked")
    done = run(folder / "build.tcl", tmp_path, [cell for cell in CELLS if cell != missing])
    assert done.code == 1 and f"no cell is named *{missing.removesuffix('_reg')}*" in done.said
    assert done.of("launch_runs") == [["synth_1"]]


def test_msix_of_ultrascale_is_read_in_bytes(project, tmp_path: Path) -> None:
    done = run(project("u50") / "build.tcl", tmp_path, CELLS, TP_UNIT="8")
    assert done.code == 1 and "2000 makes 400 of PF0_MSIX_CAP_TABLE_OFFSET, and the card has 2000. Write 10000 in" in done.said


def test_lint_sees_an_unused_signal(project, tmp_path: Path) -> None:
    folder = project("vc707")
    edit(folder / BLOCK7, "  logic refclk, clk", "  logic nobody;\n  logic refclk, clk")
    assert any("nobody" in line for line in lint(folder, tmp_path))
