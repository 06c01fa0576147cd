// SPDX-License-Identifier: Apache-2.0
// Gathers pieces of a stream into full beats and queues them: a piece fills the beat at the tail from a byte lane on, `put_full` closes it.
//
// Promises: beats come out in order, each once; a lane shows what was last put there. What is shown stands until it is taken.
// `put_*` has no ready: the writer counts room by what comes out (see tp_h2c). A beat shows two cycles after it was closed.
module tp_beat_fifo #(
    parameter int DATA_WIDTH = 128,
    parameter int DEPTH = 32,               // a power of two
    parameter int META = 1,
    localparam int KEEP = DATA_WIDTH / 8,
    localparam int KW = $clog2(KEEP),
    localparam int AW = $clog2(DEPTH)
) (
    input logic clk,
    input logic rst,
    input logic clear,

    input logic                  put_valid,
    input logic [KW-1:0]         put_from,  // the first lane
    input logic [DATA_WIDTH-1:0] put_data,
    input logic                  put_full,
    input logic [META-1:0]       put_meta,  // of the beat, with put_full

    output logic                  out_valid,
    input  logic                  out_ready,
    output logic [DATA_WIDTH-1:0] out_data,
    output logic [META-1:0]       out_meta
);
  logic [AW:0] wr, rd;
  logic fetch;
  assign fetch = wr != rd && (!out_valid || out_ready);

  // In LUT memory: a block RAM would be nearly empty, and a pair of channels has few.
  (* ram_style = "distributed" *) logic [DATA_WIDTH-1:0] beats[DEPTH];
  logic [META-1:0] metas[DEPTH];
  always_ff @(posedge clk) begin
    for (int b = 0; b < KEEP; b++) if (put_valid && KW'(b) >= put_from) beats[wr[AW-1:0]][8*b+:8] <= put_data[8*b+:8];
    if (fetch) out_data <= beats[rd[AW-1:0]];
  end
  always_ff @(posedge clk) begin
    if (put_valid && put_full) metas[wr[AW-1:0]] <= put_meta;
    if (fetch) out_meta <= metas[rd[AW-1:0]];
  end

  always_ff @(posedge clk) begin
    if (put_valid && put_full) wr <= wr + 1'b1;
    if (fetch) rd <= rd + 1'b1;
    out_valid <= fetch || (out_valid && !out_ready);
    if (rst || clear) begin
      wr <= '0;
      rd <= '0;
      out_valid <= 1'b0;
    end else begin
      assert (!put_valid || (AW + 1)'(wr - rd) != (AW + 1)'(DEPTH))
      else $error("%m: written without room");
    end
  end
endmodule
