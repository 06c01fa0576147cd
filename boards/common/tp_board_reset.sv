// SPDX-License-Identifier: Apache-2.0
// The card's reset: on from configuration and from the slot's reset (PERST#), until the block's clock has run without the block's reset for a while.
//
// The block's clock stops with PERST#, so the reset is set without a clock. It is released by the clock: as long as the block is in reset, no
// register changes when PERST# goes, so it does not matter where in a clock that happens. A link that goes down later does not reset the card.
module tp_board_reset (
    input  logic clk,
    input  logic perst_n,
    input  logic block_reset,
    output logic rst
);
  logic [3:0] left;

  initial begin
    rst  = 1'b1;
    left = '1;
  end

  always_ff @(posedge clk or negedge perst_n) begin
    if (!perst_n) begin
      rst  <= 1'b1;
      left <= '1;
    end else if (rst) begin
      rst  <= block_reset || left != 0;
      left <= block_reset ? '1 : left - 4'(left != 0);
    end
  end
endmodule
