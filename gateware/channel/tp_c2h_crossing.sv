// SPDX-License-Identifier: Apache-2.0
// One C2H stream from the user's clock to the mover's, with the channel's reset.
//
// Promises: beats arrive whole, in order and once. With a rise of `mv_reset` all beats that the core sends before it has seen `reset` are
// dropped, those it sends afterwards arrive. `reset` is 1 for a clock or more, beside `tready` 0. `mv_reset` may last as long as it likes:
// it is one reset, and nothing moves in it. A second rise before the first has been served is served after it. `mv_reset_busy` is 1 from
// the rise until all that has been served: a beat that the core sends from then on arrives.
// Both halves are reset together by tp_reset_sync.
module tp_c2h_crossing #(
    parameter int WIDTH = 8,
    parameter int DEPTH = 16
) (
    input  logic             user_clk,
    input  logic             user_rst,
    output logic             reset,
    input  logic             tvalid,
    output logic             tready,
    input  logic [WIDTH-1:0] beat,
    input  logic             clk,
    input  logic             rst,
    input  logic             mv_reset,
    output logic             mv_reset_busy,
    output logic             mv_tvalid,
    input  logic             mv_tready,
    output logic [WIDTH-1:0] mv_beat
);
  // The reader asks (`asked` flips) and drops what comes until the writer's mark, which stands in the FIFO between old and new.
  logic asked, asked_user, marked, marking, wr_ready, mark, rd_valid, flushing, again, found;
  logic mv_reset_was, rise;

  tp_async_fifo #(
      .WIDTH(WIDTH + 1),
      .DEPTH(DEPTH)
  ) fifo (
      .wr_clk(user_clk),
      .wr_rst(user_rst),
      .wr_valid(marking || tvalid),
      .wr_ready,
      .wr_data({marking, beat}),
      .rd_clk(clk),
      .rd_rst(rst),
      .rd_valid,
      .rd_ready(flushing || mv_tready && !mv_reset),
      .rd_data({mark, mv_beat})
  );
  tp_sync ask_sync (
      .clk(user_clk),
      .d(asked),
      .q(asked_user)
  );

  assign marking = asked_user != marked;
  assign reset = marking && !user_rst;
  assign tready = wr_ready && !marking && !user_rst;
  assign rise = mv_reset && !mv_reset_was;
  assign mv_reset_busy = rise || flushing;
  assign mv_tvalid = rd_valid && !flushing && !mv_reset;
  assign found = flushing && rd_valid && mark;

  always_ff @(posedge user_clk) begin
    if (user_rst) marked <= 1'b0;
    else if (marking && wr_ready) marked <= asked_user;
  end

  always_ff @(posedge clk) begin
    mv_reset_was <= mv_reset;
    if (rst) begin
      asked <= 1'b0;
      flushing <= 1'b0;
      again <= 1'b0;
    end else if ((rise || again) && (!flushing || found)) begin
      asked <= !asked;
      flushing <= 1'b1;
      again <= 1'b0;
    end else if (found) begin
      flushing <= 1'b0;
    end else if (rise) begin
      again <= 1'b1;
    end
  end
endmodule
