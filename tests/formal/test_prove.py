# SPDX-License-Identifier: Apache-2.0
"""The prover itself: what is false is refuted, what cannot be reached is no proof, and only the very same text comes from the cache."""

import os
from dataclasses import replace

import prove
import pytest

COUNTER = """
module counter (input logic clk, input logic rst, input logic go, output logic [3:0] q);
  always_ff @(posedge clk) if (rst || go) q <= rst || q == 4'd9 ? '0 : q + 1'b1;
endmodule
"""
PROPERTY = """
module counter_formal #(parameter bit INDUCTION = 1) (input logic clk, input logic rst, input logic go);
  logic [3:0] q;
  counter dut (.clk, .rst, .go, .q);
  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  always_comb if (!started) assume (rst);
  always_comb if (started) begin
    assert (q != 4'd12);
    cover (q == 4'd3);
  end
  if (INDUCTION) begin : g_induction
    always_comb if (started) assert (q < 4'd10);
  end
endmodule
"""
PROOFS = """
[[proof]]
name = "counter"
sources = ["gateware/a/counter.sv", "gateware/a/formal/counter_formal.sv"]
refute = 14
fault = [
  { file = "gateware/a/counter.sv", old = "4'd9", new = "4'd12" },
  { file = "gateware/a/counter.sv", old = "4'd9", new = "4'd7" },
  { file = "gateware/a/counter.sv", old = "4'd8", new = "4'd7" },
]
"""


@pytest.fixture
def tree(tmp_path, monkeypatch):
    monkeypatch.setattr(prove, "CACHE", tmp_path / "cache")
    (tmp_path / "gateware/a/formal").mkdir(parents=True)
    (tmp_path / "gateware/a/counter.sv").write_text(COUNTER)
    (tmp_path / "gateware/a/formal/counter_formal.sv").write_text(PROPERTY)
    (tmp_path / "gateware/a/formal/proofs.toml").write_text(PROOFS)
    return tmp_path


def change(tree, name, old, new):
    path = tree / "gateware/a" / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_proves_and_refutes(tree):
    (proof,) = prove.read(tree)
    assert prove.prove(proof, root=tree).result == prove.PROVED
    refuted = prove.prove(proof, proof.faults[0], tree)
    assert refuted.result == prove.REFUTED and "Assert failed" in refuted.log
    at_once = replace(proof.faults[0], at_once=True)
    again = prove.run(proof, prove.texts(proof, at_once, tree), at_once)
    assert again.result == prove.REFUTED and again.log.count("Checking assertions in step") < refuted.log.count(
        "Checking assertions in step"
    )
    # Nor does it find one that is not there.
    harmless = replace(proof.faults[1], at_once=True)
    assert prove.run(proof, prove.texts(proof, harmless, tree), harmless).result == prove.UNKNOWN
    # A fault that breaks no promise is not called caught, though a lemma may suffer.
    assert prove.prove(proof, proof.faults[1], tree).result == prove.UNKNOWN


def test_a_false_property_is_refuted(tree):
    change(tree, "formal/counter_formal.sv", "q != 4'd12", "q != 4'd8")
    (proof,) = prove.read(tree)
    trace = tree / "trace.vcd"
    assert prove.run(proof, prove.texts(proof, None, tree), None, trace).result == prove.REFUTED
    assert trace.read_text().startswith("$")


@pytest.mark.parametrize("apart", [False, True])
def test_a_property_without_its_lemma_is_not_called_proved(tree, apart):
    change(tree, "formal/proofs.toml", "refute = 14", f"refute = 14\napart = {str(apart).lower()}\ninduction = 1")
    (proof,) = prove.read(tree)
    assert prove.prove(proof, root=tree).result == prove.PROVED
    change(tree, "formal/counter_formal.sv", "assert (q < 4'd10)", "assert (q != 4'd15)")
    assert prove.prove(proof, root=tree).result == prove.UNKNOWN


def test_only_the_same_text_comes_from_the_cache(tree):
    (proof,) = prove.read(tree)
    assert not prove.prove(proof, root=tree).cached
    again = prove.prove(proof, root=tree)
    assert again.cached and again.result == prove.PROVED
    change(tree, "counter.sv", "4'd9", "4'd8")
    assert not prove.prove(proof, root=tree).cached
    change(tree, "formal/counter_formal.sv", "q == 4'd3", "q == 4'd4")
    assert not prove.prove(proof, root=tree).cached


def test_comments_and_space_are_no_content(tree):
    (proof,) = prove.read(tree)
    prove.prove(proof, root=tree)
    change(tree, "counter.sv", "  always_ff", "  // As it was.\n\n  /* always\n */ always_ff  ")
    assert prove.prove(proof, root=tree).cached
    assert prove.content('a // b\n`define c "// d" /* e */\n\n f\tg') == 'a\n`define c "// d"\nf g'


def test_a_proof_gets_the_constants_that_it_names(tree):
    """Those that a named one needs, too; and it is proved anew when one of them changes."""
    package = tree / "contract/generated/numbers_pkg.sv"
    package.parent.mkdir(parents=True)
    text = """package numbers_pkg;
  localparam NEXT = 10;
  localparam LAST = NEXT - 1;  // OTHER
  localparam OTHER = 3;
  localparam WIDE = 4;
  typedef logic [WIDE-1:0] number_t;
endpackage
"""
    package.write_text(text)
    change(tree, "formal/proofs.toml", 'sources = ["gateware/a', 'sources = ["contract/generated/numbers_pkg.sv", "gateware/a')
    change(tree, "formal/proofs.toml", "4'd", "numbers_pkg::")
    change(tree, "formal/proofs.toml", "numbers_pkg::9", "numbers_pkg::LAST")
    change(tree, "counter.sv", "4'd9", "numbers_pkg::LAST")
    (proof,) = prove.read(tree)
    assert "OTHER =" not in prove.texts(proof, None, tree)["contract/generated/numbers_pkg.sv"]
    assert not prove.prove(proof, root=tree).cached
    package.write_text(text.replace("OTHER = 3", "OTHER = 4"))
    assert prove.prove(proof, root=tree).cached
    for old, new in [("NEXT = 10", "NEXT = 9"), ("WIDE = 4", "WIDE = 5")]:
        package.write_text(text.replace(old, new))
        assert not prove.prove(proof, root=tree).cached
    package.write_text(text.replace("NEXT = 10", "NEXT = 13"))
    assert prove.prove(proof, root=tree).result != prove.PROVED


@pytest.mark.parametrize("text", ["", '{"result": "proved"', '["proved"]', '{"result": "proved"}', "\0\0"])
def test_a_broken_result_is_not_believed(tree, text):
    (proof,) = prove.read(tree)
    prove.prove(proof, root=tree)
    (kept,) = prove.CACHE.glob("*.json")
    kept.write_text(text)
    again = prove.prove(proof, root=tree)
    assert not again.cached and again.result == prove.PROVED
    assert prove.prove(proof, root=tree).cached


def test_what_is_used_is_renewed(tree):
    """Or .ci/run would throw it away."""
    (proof,) = prove.read(tree)
    prove.prove(proof, root=tree)
    (kept,) = prove.CACHE.glob("*.json")
    os.utime(kept, (0, 0))
    assert prove.prove(proof, root=tree).cached and kept.stat().st_mtime > 0


def test_what_cannot_be_tried_says_why(tree):
    (proof,) = prove.read(tree)
    with pytest.raises(prove.Trouble, match="0 places like"):
        prove.prove(proof, proof.faults[2], tree)
    change(tree, "formal/counter_formal.sv", "cover (q == 4'd3)", "cover (q == 4'd12)")
    with pytest.raises(prove.Trouble, match="must be reachable"):
        prove.prove(proof, root=tree)
    change(tree, "counter.sv", "q <= ", "r <= ")
    with pytest.raises(prove.Trouble, match="Yosys cannot read it"):
        prove.prove(proof, root=tree)
