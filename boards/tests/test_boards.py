# SPDX-License-Identifier: Apache-2.0
"""Each board with cores of each kind: what is prepared is whole, and the checks see what is planted."""

from __future__ import annotations

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
CORES = ("loopback", "sobel", "counter", "clocked", "bare")


def board(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(TOOL), *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL)


@pytest.fixture(scope="session")
def cores(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Shipped ones, the loopback with a clock of its own, and one without registers."""
    clocked = tmp_path_factory.mktemp("cores") / "clocked"
    shutil.copytree(ROOT / "cores" / "loopback", clocked)
    manifest = clocked / "towpath.toml"
    manifest.write_text(manifest.read_text().replace("width = 128", "width = 128\nclock_mhz = 156.25"))
    return {name: ROOT / "cores" / name for name in CORES[:3]} | {"clocked": clocked, "bare": HERE / "bare"}


@pytest.fixture(scope="session")
def prepared(cores: dict[str, Path], tmp_path_factory: pytest.TempPathFactory):
    """Prepares each project once."""
    done: dict[tuple[str, ...], Path] = {}

    def prepare(name: str, core: str, *more: str) -> Path:
        if (name, core, *more) not in done:
            folder = tmp_path_factory.mktemp("projects") / f"{name}-{core}"
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


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("name", NAMES)
def test_project_is_whole(prepared, tmp_path: Path, name: str, core: str) -> None:
    assert findings(prepared(name, core), tmp_path) == []


@pytest.mark.parametrize("name", NAMES)
def test_other_paths(prepared, tmp_path: Path, name: str) -> None:
    for link in boardproject.read(name).links[1:]:
        assert findings(prepared(name, "clocked", f"--width={link.width}"), tmp_path) == []


@pytest.mark.parametrize(
    ("name", "core"), [("vc707", "clocked"), ("ac701", "sobel"), ("kc705", "bare"), ("vcu118", "clocked"), ("u50", "loopback")]
)
def test_verilator_is_content(prepared, tmp_path: Path, name: str, core: str) -> None:
    assert lint(prepared(name, core), tmp_path) == []


def test_every_board_has_its_files() -> None:
    assert {"vc707", "kc705", "ac701", "vcu118", "u50"} <= set(NAMES)
    guide = (ROOT / "docs" / "guide" / "board.md").read_text()
    page = (ROOT / "boards" / "README.md").read_text()
    for name in NAMES:
        assert f"`{name}`" in guide and f"`{name}`" in page
        assert all((ROOT / "boards" / name / file).is_file() for file in ("board.toml", "tp_top.sv", "pins.xdc"))
        tomllib.loads((ROOT / "boards" / name / "board.toml").read_text())


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
    assert refused.returncode == 1 and "for a path of 128 bit" in refused.stderr and "`up`" in refused.stderr
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
    monkeypatch.setenv("PATH", f"{tools}:{__import__('os').environ['PATH']}")
    assert board(*arguments).returncode == 3
    assert (tmp_path / "out" / "started").read_text() == f"-mode batch -source build.tcl\n{tmp_path / 'out'}\n"


def test_a_mixed_clock_is_made_exactly() -> None:
    multiply, divide, output = boardproject.clock_factors(250_000, 156_250, False)
    assert 250_000 * multiply == 156_250 * divide * output and 600_000 <= 250_000 * multiply / divide <= 1_200_000


# --- build.tcl ------------------------------------------------------------------------------------------------------------------


def test_build_gives_a_bit_stream(project, tmp_path: Path) -> None:
    folder = project("vc707")
    done = run(folder / "build.tcl", tmp_path, [])
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
        ({"TP_SLACK": "-0.2"}, "timing is not met, STATS.WNS is -0.2"),
    ],
)
def test_build_stops(project, tmp_path: Path, planted: dict[str, str], said: str) -> None:
    folder = project("vc707")
    done = run(folder / "build.tcl", tmp_path, [], **planted)
    assert done.code == 1 and said in done.said
    assert not (folder / "vc707-loopback.bit").exists()


@pytest.mark.parametrize("version", ["2019.1", "2019.1.3", "2020.1_AR75345", "2025.2"])
def test_build_takes_every_version_since_2019_1(project, tmp_path: Path, version: str) -> None:
    assert run(project("vc707") / "build.tcl", tmp_path, [], "project", TP_VERSION=version).code == 0


# --- faults, each of which a check must see ---------------------------------------------------------------------------------------

BLOCK7 = "sources/boards/common/tp_board_7series.sv"
BLOCKP = "sources/boards/common/tp_board_ultrascale.sv"
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
    "another straddling": ("u50", BLOCKP, "DATA_WIDTH == 512 ? 4 : 1", "2", "answers in a beat: the block is told 4, the design has 2"),
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
        "AXISTEN_IF_EXT_512_RQ_STRADDLE {false}",
        "AXISTEN_IF_EXT_512_RQ_STRADDLE {no}",
        "is no, and may be",
    ),
    "another clock": ("vc707", "settings.tcl", "User_Clk_Freq {250}", "User_Clk_Freq {125}", "clock in kHz: the block is told 125000"),
    "another width": ("vc707", "settings.tcl", "Interface_Width {128_bit}", "Interface_Width {64_bit}", "s_axis_tx_tdata"),
    "fewer lanes": ("vcu118", "settings.tcl", "MAX_LINK_WIDTH {X16}", "MAX_LINK_WIDTH {X8}", "pci_exp_txp"),
    "a small BAR 0": ("vc707", "settings.tcl", "Bar0_Size {64}", "Bar0_Size {32}", "BAR 0 has 32768 bytes, its pages 49152"),
    "a large BAR 0": ("vc707", "settings.tcl", "Bar0_Size {64}", "Bar0_Size {128}", "bits of an address in BAR 0"),
    "no BAR 2": ("u50", "settings.tcl", "pf0_bar2_enabled {true}", "pf0_bar2_enabled {false}", "BAR 2 does not fit"),
    "the MSI-X table elsewhere": (
        "vc707",
        "settings.tcl",
        "MSIx_Table_Offset {400}",
        "MSIx_Table_Offset {2000}",
        "place of the MSI-X table",
    ),
    "a small BAR 2": ("kc705", "settings.tcl", "Bar2_Size {4}", "Bar2_Size {2}", "BAR 2 does not fit a window of 4096 bytes"),
    "one vector less": ("u50", "settings.tcl", "TABLE_SIZE {01F}", "TABLE_SIZE {01E}", "MSI-X vectors: the block is told 31"),
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
    "another reference clock": ("vc707", "pins.xdc", "-period 10.000", "-period 8.000", "reference clock in ns: the block is told 10"),
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
        "wait_on_run synth_1",
        "wait_for_run synth_1",
        'invalid command name "wait_for_run"',
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
        "requests in a beat: the block is told 2",
    ),
    "a slower crossing": ("vc707", "crossings.tcl", "tp_cdc_max_ns 4.000", "tp_cdc_max_ns 8.000", "8.000 ns, not 4.000"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_is_seen(project, tmp_path: Path, fault: str) -> None:
    name, file, old, new, said = FAULTS[fault]
    folder = project(name)
    edit(folder / file, old, new)
    found = findings(folder, tmp_path)
    assert any(said in line for line in found), found


@pytest.mark.parametrize("register", ["tp_sync_meta", "tp_cdc_data", "tp_cdc_mem"])
def test_renamed_register_of_a_crossing_is_seen(project, tmp_path: Path, register: str) -> None:
    folder = project("vc707", "clocked")
    for file in (folder / "sources" / "gateware" / "lib").glob("*.sv"):
        file.write_text(file.read_text().replace(register, "renamed"))
    found = findings(folder, tmp_path)
    assert any(register in line and "no register of the design" in line for line in found), found


def test_an_oscillator_out_of_bounds_is_seen(project, tmp_path: Path) -> None:
    folder = project("vc707", "clocked")
    package = folder / "sources" / "tp_board_pkg.sv"
    # 250 MHz times 5, by 8: the right clock, from an oscillator that does not run so slowly.
    text = re.sub(r"CLOCK_(\w+) = \d+", lambda m: f"CLOCK_{m[1]} = {dict(MULTIPLY=5, DIVIDE=8, OUTPUT=1)[m[1]]}", package.read_text())
    package.write_text(text)
    assert findings(folder, tmp_path) == ["an oscillator of 156.25 MHz: 600 to 1200 are allowed"]


def test_wrong_factors_of_a_clock_are_seen(project, tmp_path: Path) -> None:
    folder = project("vcu118", "clocked")
    package = folder / "sources" / "tp_board_pkg.sv"
    package.write_text(package.read_text().replace("CLOCK_DIVIDE = ", "CLOCK_DIVIDE = 1 + "))
    assert any("user clock in kHz" in line for line in findings(folder, tmp_path))


def test_lint_sees_an_unused_signal(project, tmp_path: Path) -> None:
    folder = project("vc707")
    edit(folder / BLOCK7, "  logic refclk, clk", "  logic nobody;\n  logic refclk, clk")
    assert any("nobody" in line for line in lint(folder, tmp_path))
