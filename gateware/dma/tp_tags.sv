// SPDX-License-Identifier: Apache-2.0
// The pool of tags for read requests.
//
// Promises: a tag handed out is not handed out again before it is freed; after reset TAGS cycles pass until all are in the pool.
module tp_tags #(
    parameter int TAGS = 32,              // a power of two, 8 to 256
    localparam int TW = $clog2(TAGS)
) (
    input  logic            clk,
    input  logic            rst,
    output logic            valid,        // a tag is free
    output logic [TW-1:0]   tag,
    input  logic            take,
    input  logic            free_valid,
    input  logic [TW-1:0]   free_tag,
    output logic [TAGS-1:0] busy          // handed out
);
  if (TAGS < 8 || TAGS > 256 || (TAGS & (TAGS - 1)) != 0) $error("%m: TAGS %0d: use a power of two from 8 to 256", TAGS);

  logic [TW:0] fill;  // counts up while the pool is filled for the first time
  logic filling, put_ready;
  assign filling = !fill[TW];

  tp_fifo #(
      .WIDTH(TW),
      .DEPTH(TAGS)
  ) i_pool (
      .clk,
      .rst,
      .clear(1'b0),
      .in_valid(filling || free_valid),
      .in_ready(put_ready),
      .in_data(filling ? fill[TW-1:0] : free_tag),
      .out_valid(valid),
      .out_ready(take),
      .out_data(tag),
      .count()
  );

  always_ff @(posedge clk) begin
    if (filling) fill <= fill + 1'b1;
    if (take && valid) busy[tag] <= 1'b1;
    if (free_valid) busy[free_tag] <= 1'b0;
    if (rst) begin
      fill <= '0;
      busy <= '0;
    end else begin
      assert (!free_valid || (busy[free_tag] && put_ready))
      else $error("%m: tag %0d freed twice", free_tag);
    end
  end
endmodule
