// SPDX-License-Identifier: Apache-2.0
// The resets of the card and of the user clock's MMCM: on from configuration and from the slot's reset (PERST#).
//
// The MMCM is let go when the block's clock has run without the block's reset for a while; the card, when the MMCM is locked as well.
// A board without an MMCM ties `locked` to 1. An MMCM that lost its lock must be reset (UG472), and what ran on its clock cannot be
// trusted, so all begins anew, MMCM and card.
// The block's clock stops with PERST#, so the resets are set without a clock. They are released by the clock: as long as the block is in
// reset, no register changes when PERST# goes, so it does not matter where in a clock that happens. A link that goes down later does not
// reset the card.
module tp_board_reset (
    input  logic clk,
    input  logic perst_n,
    input  logic block_reset,
    input  logic locked,       // of the MMCM, without relation to `clk`
    output logic mmcm_rst,
    output logic rst           // the card's
);
  logic [3:0] left;
  logic lock;

  // After the clock has stopped, `lock` shows an old level. `mmcm_rst` outlasts the synchroniser, so that level is never acted on.
  tp_sync i_lock (
      .clk,
      .d(locked),
      .q(lock)
  );

  initial begin
    mmcm_rst = 1'b1;
    rst      = 1'b1;
    left     = '1;
  end

  always_ff @(posedge clk or negedge perst_n) begin
    if (!perst_n) begin
      mmcm_rst <= 1'b1;
      rst      <= 1'b1;
      left     <= '1;
    end else if (mmcm_rst) begin
      mmcm_rst <= block_reset || left != 0;
      left     <= block_reset ? '1 : left - 4'(left != 0);
    end else if (rst ? block_reset : !lock) begin
      mmcm_rst <= 1'b1;
      rst      <= 1'b1;
      left     <= '1;
    end else if (lock) begin
      rst <= 1'b0;
    end
  end
endmodule
