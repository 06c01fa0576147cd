// SPDX-License-Identifier: Apache-2.0
// tp_us_order: an answer passes only when the block has told the numbers of all writes that were handed over before it came, and keeps passing until its
// last beat; numbers of writes that are out are never used twice. Assumed: the block tells the numbers of writes once and in order, up to
// two a clock; bus mastering stays on and the link up, or all is given up.
module tp_us_order_formal #(
    parameter bit INDUCTION = 1,
    parameter int SEQ = 4
) (
    input logic           clk,
    input logic           rst,
    input logic [SEQ-1:0] seq0,
    input logic           seq0_valid,
    input logic [SEQ-1:0] seq1,
    input logic           seq1_valid,
    input logic           start,
    input logic           answer,
    input logic           answered
);
  localparam int KW = SEQ - 1;
  logic [KW-1:0] number;
  logic [7:0] room;
  logic full, pass;
  tp_us_order #(
      .SEQ(SEQ)
  ) dut (
      .clear(1'b0),
      .mastering(1'b1),
      .*
  );

  // ---- the block: writes handed over, and told of; what it told is looked at a clock later
  logic [15:0] out, told, told_was, earlier;
  logic told0, told1, started = 1'b0, waiting, passed;
  assign told0 = seq0_valid && !seq0[KW];
  assign told1 = seq1_valid && !seq1[KW];
  always_ff @(posedge clk) begin
    started <= 1'b1;
    out <= out + 16'(start);
    told <= told + 16'(told0) + 16'(told1);
    told_was <= told;
    if (!waiting) earlier <= out;
    waiting <= answer && !answered;
    passed <= answer && !answered && pass;
    if (rst) begin
      {out, told, told_was} <= '0;
      waiting <= 1'b0;
      passed <= 1'b0;
    end
  end
  logic [15:0] owed;
  assign owed = waiting ? earlier : out;  // of the answer that shows now
  always_comb begin
    if (!started) assume (rst);
    if (started && !rst) begin
      if (full) assume (!start);
      if (told0) assume (seq0[KW-1:0] == told[KW-1:0] && told != out);
      if (told1) assume (seq1[KW-1:0] == KW'(told + 16'(told0)) && told + 16'(told0) != out);
      assume (!answered || (answer && pass));
      assume (answer || !waiting);
      assume (out < 16'hfff0);
    end
  end
  always_comb
    if (started && !rst) begin
      if (answer && pass && !passed) assert (told >= owed);
      if (passed) assert (pass);
      assert (out - told < 16'(1 << KW));
      if (start) assert (number == out[KW-1:0] && out - told < 16'((1 << KW) - 1));
      cover (answer && pass && out - owed == 3);
      cover (full && answer && !pass);
      if (INDUCTION) begin
        assert (told <= out && told_was <= told && out - told_was < 16'(1 << KW) && told - told_was <= 2);
        assert (dut.next == out[KW-1:0] && dut.gone == told_was[KW-1:0]);
        assert (told == told_was + 16'(dut.v0) + 16'(dut.v1));
        if (dut.v0) assert (dut.n0 == told_was[KW-1:0]);
        if (dut.v1) assert (dut.n1 == KW'(told_was + 16'(dut.v0)));
        assert (dut.marked == waiting && dut.passed == passed);
        if (waiting) assert (earlier <= out && dut.mark == earlier[KW-1:0]);
        if (waiting && !passed) assert (earlier + 16'(1 << KW) > out);
        if (passed) assert (told_was >= earlier);
        assert (dut.patience == 0);
      end
    end
endmodule
