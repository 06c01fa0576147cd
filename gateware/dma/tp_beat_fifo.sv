// SPDX-License-Identifier: Apache-2.0
// Gathers pieces of a stream into full beats and queues them: a piece fills some byte lanes of the beat at the tail, `put_full` closes it.
//
// Promises: beats come out in order, each once. `put_*` has no ready: the writer counts room by `pop` (see tp_h2c).
module tp_beat_fifo #(
    parameter int DATA_WIDTH = 128,
    parameter int DEPTH = 32,               // a power of two
    parameter int META = 1,
    localparam int KEEP = DATA_WIDTH / 8,
    localparam int AW = $clog2(DEPTH)
) (
    input logic clk,
    input logic rst,
    input logic clear,

    input logic                  put_valid,
    input logic [KEEP-1:0]       put_lanes,
    input logic [DATA_WIDTH-1:0] put_data,
    input logic                  put_full,
    input logic [META-1:0]       put_meta,  // of the beat, with put_full

    output logic                  out_valid,
    input  logic                  out_ready,
    output logic [DATA_WIDTH-1:0] out_data,
    output logic [META-1:0]       out_meta
);
  logic [AW:0] wr, rd;
  logic [META-1:0] metas[DEPTH];

  for (genvar b = 0; b < KEEP; b++) begin : g_byte
    logic [7:0] mem[DEPTH];
    always_ff @(posedge clk) if (put_valid && put_lanes[b]) mem[wr[AW-1:0]] <= put_data[8*b+:8];
    assign out_data[8*b+:8] = mem[rd[AW-1:0]];
  end
  always_ff @(posedge clk) if (put_valid && put_full) metas[wr[AW-1:0]] <= put_meta;

  assign out_valid = wr != rd;
  assign out_meta = metas[rd[AW-1:0]];

  always_ff @(posedge clk) begin
    if (put_valid && put_full) wr <= wr + 1'b1;
    if (out_valid && out_ready) rd <= rd + 1'b1;
    if (rst || clear) begin
      wr <= '0;
      rd <= '0;
    end else begin
      assert (!put_valid || (AW + 1)'(wr - rd) != (AW + 1)'(DEPTH))
      else $error("%m: written without room");
    end
  end
endmodule
