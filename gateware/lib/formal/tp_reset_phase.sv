// SPDX-License-Identifier: Apache-2.0
// What proofs of crossings assume of reset: both halves (a and b) are in it together, for one clock of each and then three more of each;
// they leave it in any order and any time apart, and do not come back. `live`: those clocks are over.
// That a reset by tp_reset_sync is such a one is what tp_reset_sync_formal proves.
module tp_reset_phase (
    input  logic a_clk,
    input  logic a_rst,
    input  logic b_clk,
    input  logic b_rst,
    output logic live
);
  logic a_cleared = 1'b0, b_cleared = 1'b0, a_out = 1'b0, b_out = 1'b0;
  logic [1:0] a_left = 2'd3, b_left = 2'd3;
  assign live = a_left == 0 && b_left == 0;
  always_ff @(posedge a_clk) begin
    a_cleared <= 1'b1;
    if (a_cleared && b_cleared && a_left != 0) a_left <= a_left - 1'b1;
    a_out <= !a_rst;
  end
  always_ff @(posedge b_clk) begin
    b_cleared <= 1'b1;
    if (a_cleared && b_cleared && b_left != 0) b_left <= b_left - 1'b1;
    b_out <= !b_rst;
  end
  always_comb begin
    assume (live || (a_rst && b_rst));
    assume (!a_out || !a_rst);
    assume (!b_out || !b_rst);
    assert (live || (!a_out && !b_out));
    assert (a_cleared || a_left == 3);
    assert (b_cleared || b_left == 3);
    assert ((a_cleared && b_cleared) || (a_left == 3 && b_left == 3));
  end
endmodule
