// SPDX-License-Identifier: Apache-2.0
// Brings events into another clock domain, one at a time: each handshake at the source is one handshake at the destination.
//
// Promises: no event is lost or repeated, whatever the clocks' ratio. `dst_valid` stays until `dst_ready`. The source's handshake
// happens once the destination's has: it is acknowledged end to end.
// Not for: streams; one event takes about three clocks of each side. Both sides must be reset together (tp_reset_sync).
module tp_pulse (
    input  logic src_clk,
    input  logic src_rst,
    input  logic src_valid,
    output logic src_ready,
    input  logic dst_clk,
    input  logic dst_rst,
    output logic dst_valid,
    input  logic dst_ready
);
  logic asked, asked_dst, done, done_src, served;

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

  // `asked` flips for an event, `done` follows it; `served` tells that the flip was this event's and not the one before it.
  assign src_ready = served && asked == done_src;
  assign dst_valid = asked_dst != done;

  always_ff @(posedge src_clk) begin
    if (src_rst) begin
      asked  <= 1'b0;
      served <= 1'b0;
    end else if (src_valid && !served) begin
      asked  <= !asked;
      served <= 1'b1;
    end else if (src_ready) begin
      served <= 1'b0;
    end
  end

  always_ff @(posedge dst_clk) begin
    if (dst_rst) done <= 1'b0;
    else if (dst_valid && dst_ready) done <= !done;
  end

`ifndef SYNTHESIS
  logic src_waited;
  always_ff @(posedge src_clk) begin
    src_waited <= src_valid && !src_ready && !src_rst;
    if (!src_rst)
      assert (!(src_waited && !src_valid))
      else $error("%m: src_valid was taken back before src_ready");
  end
`endif
endmodule
