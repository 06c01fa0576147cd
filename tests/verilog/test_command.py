# SPDX-License-Identifier: Apache-2.0
"""`./run export-verilog` from its arguments to its files, with a stand-in for the command line that tells of a user core."""

import json
import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import verilog  # noqa: E402
import verilogopen  # noqa: E402

TOLD = {"folder": str(ROOT / "cores/loopback"), "sources": ["loopback.sv"], "include": [], "defines": [], "data": [], "top": "loopback"}


@pytest.fixture
def towpath(tmp_path, monkeypatch):
    """Puts a `towpath` first on PATH that writes what `wrapper` writes, or fails as it does."""

    def put(failure: str = "", more: str = "") -> None:
        wrapper = "".join((ROOT / "tests/agree" / name).read_text() for name in ("tp_user_pkg.sv", "tp_user.sv"))
        wrapper = f"{more}\nendmodule".join(wrapper.rsplit("endmodule", 1))
        tool = tmp_path / "towpath"
        tool.write_text(
            f"#!{sys.executable}\nimport sys\n"
            f"if {failure!r}:\n    sys.exit({json.dumps({'error': {'message': failure}})!r})\n"
            f"assert sys.argv[1:4] == ['--json', 'wrapper', 'loopback'], sys.argv\n"
            f"assert sys.argv[sys.argv.index('--width') + 1] == '128', sys.argv\n"
            f"assert '--core-clock' not in sys.argv or sys.argv[sys.argv.index('--core-clock') + 1] == '62.5', sys.argv\n"
            f"open(sys.argv[sys.argv.index('--output') + 1], 'w').write({wrapper!r})\nprint({json.dumps(TOLD)!r})\n"
        )
        tool.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    return put


def test_a_card_and_a_system(towpath, tmp_path, capsys):
    towpath()
    out = tmp_path / "out"
    common = ["--core", "loopback", "--width", "128", "--output", str(out)]
    assert verilog.main([*common, "--endpoint", "xilinx_ultrascale", "--core-clock", "62.5", "--parameter", "PLUS=0"]) == 0
    assert "top tp_xilinx_ultrascale_card" in capsys.readouterr().out
    assert "localparam PLUS = 1'd0;" in (out / "tp_xilinx_ultrascale_card.v").read_text()
    assert verilog.main(common) == 0
    files = (out / "towpath.f").read_text().splitlines()
    assert files[0] == "tp_system.v" and "loopback.v" in files
    assert sorted(f.name for f in out.iterdir()) == sorted([*files, "towpath.f"])


def test_a_card_without_its_core(towpath, tmp_path, capsys):
    """The core's ports are the top's, turned round; its own logic is not there."""
    towpath()
    out = tmp_path / "out"
    card = ["--endpoint", "xilinx_7series", "--core-clock", "62.5", "--open"]
    assert verilog.main(["--core", "loopback", "--width", "128", "--output", str(out), *card]) == 0
    assert "top tp_xilinx_7series_card" in capsys.readouterr().out
    top = (out / "tp_xilinx_7series_card.v").read_text()
    assert "    output wire [127:0] core_in_tdata,\n" in top and "    input wire [127:0] core_out_tdata,\n" in top
    assert (out / "tp_core_outside.v").exists() and not (out / "loopback.v").exists()


def test_names_of_the_modules_between_are_no_ports(towpath, tmp_path):
    """With plug-ins the wrapper has a `core_rst_n` of its own; and nothing keeps a source from the names that are chosen below the top."""
    towpath(more="  logic core_rst_n, tp_outside_rst_n;\n  assign core_rst_n = rst_n;\n  assign tp_outside_rst_n = !core_rst_n;")
    assert verilog.main(["--core", "loopback", "--width", "128", "--output", str(tmp_path / "out"), "--open"]) == 0
    top, wrapper = ((tmp_path / "out" / name).read_text() for name in ("tp_system.v", "tp_user.v"))
    assert "    output wire core_rst_n,\n" in top and ".tp_outside_1_rst_n(core_rst_n)" in top
    assert "assign core_rst_n = rst_n;" in wrapper and "assign tp_outside_rst_n = !core_rst_n;" in wrapper


@pytest.mark.skipif(shutil.which("towpath") is None, reason="no command line `towpath` here: ./run setup builds it")
def test_a_core_with_plugins_outside(tmp_path):
    out = tmp_path / "out"
    assert verilog.main(["--core", str(ROOT / "examples/plugins"), "--output", str(out), "--open"]) == 0
    assert "    output wire core_rst_n,\n" in (out / "tp_system.v").read_text()
    assert "assign core_rst_n = rst_n && user_rst_n_reset;" in (out / "tp_user.v").read_text()


def test_a_name_that_the_top_has_is_refused(tmp_path):
    source = tmp_path / "design.sv"
    source.write_text(
        "module core (input logic a);\n  wire unused = a;\nendmodule\n"
        "module top (input logic b);\n  wire core_a = b;\n  core user (.a(core_a));\nendmodule\n"
    )
    compilation = verilog.elaborate([source], "top", {}, [], [])
    with pytest.raises(verilogopen.Unsupported, match="port a cannot be led out, for top has a core_a already"):
        verilogopen.without_core(compilation, "core", tmp_path / "open")


def test_the_reason_of_a_failure_is_told(towpath, tmp_path, capsys):
    towpath("no core named loopback")
    assert verilog.main(["--width", "128", "--output", str(tmp_path / "out")]) == 1
    assert capsys.readouterr().err == "./run export-verilog: no core named loopback\n"


def test_a_parameter_needs_a_value(tmp_path, capsys):
    with pytest.raises(SystemExit):
        verilog.main(["--parameter", "PLUS", "--output", str(tmp_path)])
    assert "NAME=VALUE is wanted" in capsys.readouterr().err


def test_a_card_needs_its_clock(tmp_path, capsys):
    with pytest.raises(SystemExit):
        verilog.main(["--endpoint", "xilinx_7series", "--output", str(tmp_path)])
    assert "--core-clock MHZ is needed" in capsys.readouterr().err
