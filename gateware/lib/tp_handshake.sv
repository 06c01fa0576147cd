// SPDX-License-Identifier: Apache-2.0
// Brings one word at a time into another clock domain, with a handshake on both sides.
//
// Promises: no word is lost or repeated, whatever the clocks' ratio; `dst_data` stands while `dst_valid`. The source is free again when
// the destination has taken the word.
// Not for: streams (use tp_async_fifo); a word takes about three clocks of each side. Both sides must be reset together
// (tp_reset_sync). Constraints: `tp_cdc_data` stands still while it is looked at; see constraints/tp_lib_cdc.sdc.tcl.
module tp_handshake #(
    parameter int WIDTH = 8
) (
    input  logic             src_clk,
    input  logic             src_rst,
    input  logic             src_valid,
    output logic             src_ready,
    input  logic [WIDTH-1:0] src_data,
    input  logic             dst_clk,
    input  logic             dst_rst,
    output logic             dst_valid,
    input  logic             dst_ready,
    output logic [WIDTH-1:0] dst_data
);
  logic asked, asked_dst, done, done_src;
  logic [WIDTH-1:0] tp_cdc_data;

  tp_sync ask_sync (
      .clk(dst_clk),
      .d(asked),
      .q(asked_dst)
  );
  tp_sync done_sync (
      .clk(src_clk),
      .d(done),
      .q(done_src)
  );

  assign src_ready = asked == done_src;
  assign dst_valid = asked_dst != done;
  assign dst_data = tp_cdc_data;

  always_ff @(posedge src_clk) begin
    if (src_rst) asked <= 1'b0;
    else if (src_valid && src_ready) asked <= !asked;
    if (src_valid && src_ready) tp_cdc_data <= src_data;
  end

  always_ff @(posedge dst_clk) begin
    if (dst_rst) done <= 1'b0;
    else if (dst_valid && dst_ready) done <= !done;
  end

`ifndef SYNTHESIS
  logic waited;
  logic [WIDTH-1:0] was;
  always_ff @(posedge src_clk) begin
    waited <= src_valid && !src_ready && !src_rst;
    was <= src_data;
    if (waited && !src_rst)
      assert (src_valid && src_data == was)
      else $error("%m: the source changed while it waited for src_ready");
  end
`endif
endmodule
