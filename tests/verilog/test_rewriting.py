# SPDX-License-Identifier: Apache-2.0
"""How tools/verilogexpr.py and tools/verilogwriter.py rewrite each construct, and what they refuse."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import verilog
import verilogexpr

HEAD = "// SPDX-License-Identifier: Apache-2.0\n// A module.\n"
PORTS = """
    input logic clk,
    input logic [3:0] a,
    input logic [7:0] b,
    input logic [11:2] c,
    input logic [2:0][7:0] d,
    input pair_t p,
    output logic [15:0] y
"""
PACKAGE = """
package pkg;
  typedef struct packed {
    logic [4:0] high;
    logic [2:0] low;
  } pair_t;
  localparam int FIVE = 5;
endpackage
"""
OTHER = "module n (input logic clk, output logic [15:0] z);\n  assign z = {16{clk}};\nendmodule\n"


def exported(body: str, tmp_path: Path) -> str:
    source = tmp_path / "m.sv"
    source.write_text(f"{HEAD}{PACKAGE}module m\n  import pkg::*;\n(\n{PORTS}\n);\n{body}\nendmodule\n{OTHER}")
    (file,) = verilog.export([source], "m", tmp_path / "out")
    return file.read_text()


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("b + FIVE", "b + FIVE"),
        ("16'(a)", "{12'd0, a}"),
        ("16'(a + a)", "{12'd0, a + a}"),  # the carry is lost first
        ("4'(b)", "b[3:0]"),
        ("16'(4'(b + 1) == a)", "{15'd0, {b[3:0] + 4'd1} == a}"),
        ("{4'(b >> a), a}", "{low_8_to_4(b >> a), a}"),
        ("16'(signed'(a))", "{{12{a[3]}}, a}"),
        ("16'(FIVE)", "16'd5"),
        ("c[5:4] + c[2]", "c[5:4] + c[2]"),
        ("d[a]", "d[a * 8 +: 8]"),
        ("d[a[1:0]+1'b1]", "d[{a[1:0] + 1'b1} * 8 +: 8]"),  # the index wraps
        ("d[1][a+:2]", "d[a + 8 +: 2]"),
        ("p.high", "p[7:3] /* high */"),
        ("b == '1", "b == {8{1'b1}}"),
        ("b == {p.low, 5'(FIVE)}", "b == {p[2:0] /* low */, 5'd5}"),
        ("(pair_t'(b) == pair_t'{high: 5'd1, low: 3'(a)})", "b == {5'd1, a[2:0]}"),
        ("$bits(pair_t) * 2", "8 * 2"),
        ("32'(b) & ~32'(FIVE - 6)", "{24'd0, b} & ~(-1)"),
        ("a && b || a[0]", "(a && b) || a[0]"),
        ("a[0] ? b : '0", "a[0] ? b : 16'd0"),
    ],
)
def test_expressions(expression: str, text: str, tmp_path: Path) -> None:
    found = exported(f"  assign y = {expression};", tmp_path)
    assert f"  assign y = {text};" in found


def test_loops_that_read_alike_stay_loops(tmp_path: Path) -> None:
    body = "  for (genvar i = 0; i < 4; i++) begin : g_x\n    assign y[4*i+:4] = a;\n  end"
    assert "for (i = 0; i < 4; i = i + 1) begin : g_x" in exported(body, tmp_path)


def test_part_of_a_constant_of_a_loop(tmp_path: Path) -> None:
    body = "  for (genvar i = 0; i < 4; i++) begin : g\n    localparam logic [7:0] K = 8'(3 * i);\n    assign y[4*i+:4] = a + 4'(K);\n  end"
    assert "assign y[4 * i +: 4] = a + low_8_to_4(K);" in exported(body, tmp_path)


def test_other_loops_are_unrolled(tmp_path: Path) -> None:
    body = "  for (genvar i = 0; i < 2; i++) begin : g_x\n    localparam int W = i + 1;\n    logic [W:0] t;\n    assign t = '0;\n  end"
    found = exported(body + "\n  assign y = '0;", tmp_path)
    assert "begin : g_x_0" in found and "begin : g_x_1" in found and "wire [2:0] t;" in found


def test_a_function_that_returns_early(tmp_path: Path) -> None:
    body = "  function automatic logic [15:0] f(input logic [3:0] x);\n    if (x == 0) return 16'd7;\n    return 16'(x);\n  endfunction"
    found = exported(body + "\n  assign y = f(a);", tmp_path)
    assert "if (x == 0) begin\n        f = 16'd7;\n      end else begin\n        f = {12'd0, x};\n      end" in found


def test_data_files_keep_the_names_of_each_instance(tmp_path: Path) -> None:
    text = exported(
        """  logic [7:0] one[16], two[16];
  localparam string NAME = "rom/two.bin";
  localparam OTHER = "one.hex";
  initial begin
    $readmemh(OTHER, one);
    $readmemb(NAME, two, 0, FIVE);
  end
  always_ff @(posedge clk) y <= {one[a], two[a]};""",
        tmp_path,
    )
    assert '$readmemh("one.hex", one);' in text and '$readmemb("rom/two.bin", two, 0, FIVE);' in text, text
    with pytest.raises(verilogexpr.Unsupported, match="computed name"):
        exported('  logic [7:0] m[16]; string s;\n  initial begin s = "x"; $readmemh(s, m); end\n  assign y = 16\'(m[a]);', tmp_path)


def test_memories_keep_their_attributes_and_comments_their_place(tmp_path: Path) -> None:
    body = '  // A memory.\n  (* ram_style = "block" *) logic [15:0] mem[16];  // of words\n  always_ff @(posedge clk) y <= mem[a];'
    found = exported(body, tmp_path)
    assert '  // A memory.\n  (* ram_style = "block", syn_ramstyle = "block_ram" *) reg [15:0] mem [0:15];  // of words\n' in found
    assert found.startswith(HEAD + "`default_nettype none\nmodule m (\n")
    found = exported(body.replace("block", "distributed").replace("always_ff @(posedge clk) y <=", "assign y ="), tmp_path)
    assert '(* ram_style = "distributed", ramstyle = "MLAB", syn_ramstyle = "select_ram" *) reg [15:0] mem' in found
    assert '(* async_reg = "true" *) reg' in exported(
        '  (* async_reg = "true" *) logic r;\n  always_ff @(posedge clk) r <= a[0];', tmp_path
    )


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ("  always_ff @(posedge clk) y[3:0] <= a;\n  assign y[15:4] = '0;", "a constant part of a variable"),
        ("  always_comb y = 16'd5;", "always_comb that reads nothing"),
        ("  function automatic logic f(input logic x);\n    return x && b[0];\n  endfunction\n  assign y = 16'(f(a[0]));", "reads b"),
        ("  assign y = 16'({a, b}[3:0]);", "a part of what has no name"),
        ("  logic [15:0] w[2];\n  n i_n (.clk, .z(w[0]));\n  assign y = w[0];", "a memory's word that port z drives"),
        ("  logic [7:0] t;\n  assign {<<{t}} = b;\n  assign y = 16'(t);", "Streaming"),
    ],
)
def test_what_has_no_rewriting_is_named_with_its_place(body: str, word: str, tmp_path: Path) -> None:
    with pytest.raises(verilogexpr.Unsupported, match=rf"m\.sv:\d+: .*{word}"):
        exported(body, tmp_path)


def test_an_export_replaces_an_earlier_one(tmp_path: Path) -> None:
    exported("  assign y = 16'(a);", tmp_path)
    out = tmp_path / "out"
    (out / "towpath.f").write_text("gone.v\nm.v\n")
    (out / "gone.v").write_text("")
    (out / "mine.v").write_text("")
    exported("  assign y = 16'(a);", tmp_path)
    assert sorted(f.name for f in out.iterdir()) == ["m.v", "mine.v", "towpath.f"]


def test_what_a_macro_makes(tmp_path: Path) -> None:
    """Users' cores have declarations and items that stand in macros."""
    macros = "`define WORD(name, bits) logic [bits-1:0] name;\n`define REGISTER(to, from) always_ff @(posedge clk) to <= from;\n"
    body = f"{macros}  // How many there were.\n  `WORD(count, 8)\n  `REGISTER(count, count + 8'd1)\n  assign y = 16'(count);"
    found = exported(body, tmp_path)
    assert "  // How many there were.\n  reg [7:0] count;\n" in found and "always @(posedge clk) count <= count + 8'd1;" in found


def test_quality_of_service(tmp_path: Path) -> None:
    """Cards do not have it unless their manifest asks for it, so no other export has this module."""
    sources = verilog.listed(verilog.ROOT / "gateware/towpath.f")
    assert "tp_qos.v" in [file.name for file in verilog.export(sources, "tp_qos", tmp_path / "out")]
