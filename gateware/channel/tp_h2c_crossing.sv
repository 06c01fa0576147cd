// SPDX-License-Identifier: Apache-2.0
// One H2C stream from the mover's clock to the user's, with the channel's reset.
//
// Promises: beats arrive whole, in order and once. With a rise of `mv_reset` all beats taken before it and not yet handed over are dropped,
// those taken later arrive. `reset` is 1 for a clock or more between the two, beside `tvalid` 0. A stream that is reset may lose a beat it
// had shown: that is what `reset` says. `mv_reset` may last as long as it likes: it is one reset. `mv_tready` is 0 in it, and beside
// `mv_reset_busy`, which is 1 from the rise until all old beats have been dropped; a rise meanwhile is part of that reset.
// Both halves are reset together by tp_reset_sync.
module tp_h2c_crossing #(
    parameter int WIDTH = 8,
    parameter int DEPTH = 16
) (
    input  logic             clk,
    input  logic             rst,
    input  logic             mv_reset,
    output logic             mv_reset_busy,
    input  logic             mv_tvalid,
    output logic             mv_tready,
    input  logic [WIDTH-1:0] mv_beat,
    input  logic             user_clk,
    input  logic             user_rst,
    output logic             reset,
    output logic             tvalid,
    input  logic             tready,
    output logic [WIDTH-1:0] beat
);
  // The writer stops, then asks (`asked` flips, a clock after the last beat's pointer, which therefore is not seen later), and goes on
  // when the reader has emptied the FIFO (`emptied` follows).
  logic blocked, launched, asked, asked_user, emptied, emptied_mv;
  logic wr_ready, rd_valid, flushing, dry;
  logic mv_reset_was, rise;

  tp_async_fifo #(
      .WIDTH(WIDTH),
      .DEPTH(DEPTH)
  ) fifo (
      .wr_clk(clk),
      .wr_rst(rst),
      .wr_valid(mv_tvalid && !blocked && !mv_reset),
      .wr_ready,
      .wr_data(mv_beat),
      .rd_clk(user_clk),
      .rd_rst(user_rst),
      .rd_valid,
      .rd_ready(flushing || tready),
      .rd_data(beat)
  );
  tp_sync ask_sync (
      .clk(user_clk),
      .d(asked),
      .q(asked_user)
  );
  tp_sync emptied_sync (
      .clk(clk),
      .d(emptied),
      .q(emptied_mv)
  );

  assign rise = mv_reset && !mv_reset_was;
  assign mv_reset_busy = rise || blocked;
  assign mv_tready = wr_ready && !blocked && !mv_reset;
  assign flushing = asked_user != emptied;
  assign reset = flushing && !user_rst;
  assign tvalid = rd_valid && !flushing && !user_rst;

  always_ff @(posedge clk) begin
    mv_reset_was <= mv_reset;
    if (rst) begin
      blocked <= 1'b0;
      launched <= 1'b0;
      asked <= 1'b0;
    end else if (!blocked) begin
      blocked <= rise;
      launched <= 1'b0;
    end else if (!launched) begin
      launched <= 1'b1;
      asked <= !asked;
    end else if (asked == emptied_mv) begin
      blocked <= 1'b0;
    end
  end

  always_ff @(posedge user_clk) begin
    dry <= flushing && !rd_valid;
    if (user_rst) emptied <= 1'b0;
    else if (flushing && dry && !rd_valid) emptied <= asked_user;
  end
endmodule
