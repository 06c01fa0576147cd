// SPDX-License-Identifier: Apache-2.0
// tp_attributes: while a message is the head, what is shown of it is what came last before it was noted, and what is not shown is zero; entries leave
// in the order in which they were noted. One entry is watched, any one.
// Assumed: `note` only when it has been `ready` for it since the one before, and not as attributes come; what is shown is of an entry (tp_h2c).
module tp_attributes_formal #(
    parameter int DEPTH = 4,
    parameter bit INDUCTION = 1,
    localparam int AW = $clog2(DEPTH)
) (
    input logic clk,
    input logic rst,
    input logic clear,
    input logic length_put,
    input logic [63:0] length_in,
    input logic other_put,
    input logic [95:0] other_in,
    input logic note,
    input logic length_show,
    input logic other_show,
    input logic pop,
    input logic watch
);
  logic ready;
  logic [63:0] length_out;
  logic [95:0] other_out;
  tp_attributes #(.DEPTH(DEPTH)) dut (.*);

  logic started = 1'b0;
  logic has_length, has_other;  // they have come for the tail
  logic [63:0] length;
  logic [95:0] other;
  logic watching, its_length, its_other;
  logic [63:0] kept_length;
  logic [95:0] kept_other;
  logic [AW:0] count, ahead;  // entries in all; those ahead of the watched one
  logic mine;
  logic promised;  // it has been ready since the last note
  assign mine = watching && ahead == '0;
  always_ff @(posedge clk) begin
    started <= 1'b1;
    if (length_put) {has_length, length} <= {1'b1, length_in};
    if (other_put) {has_other, other} <= {1'b1, other_in};
    promised <= (promised || ready) && !note && !rst && !clear;
    count <= count + (AW + 1)'(note) - (AW + 1)'(pop);
    if (watching && pop) begin
      ahead <= ahead - 1'b1;
      if (ahead == '0) watching <= 1'b0;
    end
    if (note) {has_length, has_other} <= '0;
    if (note && watch && !watching) begin
      watching <= 1'b1;
      ahead <= count - (AW + 1)'(pop);
      {its_length, its_other} <= {has_length, has_other};
      kept_length <= length;
      kept_other <= other;
    end
    if (rst || clear) begin
      {has_length, has_other, watching} <= '0;
      count <= '0;
    end
  end
  always_comb begin
    if (!started) assume (rst);
    if (note) assume ((promised || ready) && !length_put && !other_put);
    if (length_show || other_show) assume (count != '0);
    if (pop) assume (length_show || other_show);
  end

  always_comb
    if (started && !rst && !clear) begin
      assert (length_show || length_out == '0);
      assert (other_show || other_out == '0);
      assert (!(mine && its_length && length_show) || length_out == kept_length);
      assert (!(mine && its_other && other_show) || other_out == kept_other);
      cover (mine && its_length && its_other && pop && 32'(count) == DEPTH - 1);
    end

  if (INDUCTION) begin : g_induction
    logic [AW-1:0] place;
    assign place = dut.rd[AW-1:0] + ahead[AW-1:0];
    always_comb begin
      if (started && !rst) begin
        assert (count == (AW + 1)'(dut.wr - dut.rd) && 32'(count) < DEPTH && (!(ready || promised) || 32'(count) < DEPTH - 1));
        assert (!watching || ahead < count);
        assert (!(watching && its_length) || dut.lengths[{1'b0, place}] == kept_length);
        assert (!(watching && its_other) || dut.others[{1'b0, place}] == kept_other);
        assert (!has_length || dut.lengths[{1'b0, dut.wr[AW-1:0]}] == length);
        assert (!has_other || dut.others[{1'b0, dut.wr[AW-1:0]}] == other);
      end
      for (int i = DEPTH; i < 2 * DEPTH; i++) assert (dut.lengths[i] == '0 && dut.others[i] == '0);
    end
  end
endmodule
