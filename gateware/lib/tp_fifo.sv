// SPDX-License-Identifier: Apache-2.0
// First-word-fall-through FIFO on one clock, for shallow queues (distributed RAM).
//
// Promises: `out_data` stands while `out_valid`; nothing is lost or repeated; one beat a cycle in and out; a beat written is visible in
// the next cycle. `in_ready` and `out_valid` depend on registers only. `clear` empties it.
// Not for: deep buffers (use block RAM) or two clocks (use tp_async_fifo).
module tp_fifo #(
    parameter int WIDTH = 8,
    parameter int DEPTH = 16,              // a power of two, 2 or more
    localparam int AW = $clog2(DEPTH)
) (
    input  logic             clk,
    input  logic             rst,
    input  logic             clear,
    input  logic             in_valid,
    output logic             in_ready,
    input  logic [WIDTH-1:0] in_data,
    output logic             out_valid,
    input  logic             out_ready,
    output logic [WIDTH-1:0] out_data,
    output logic [AW:0]      count
);
  if (DEPTH < 2 || (DEPTH & (DEPTH - 1)) != 0) $error("%m: DEPTH %0d: make it a power of two, 2 or more", DEPTH);

  logic [WIDTH-1:0] mem[DEPTH];
  logic [AW:0] wr, rd;

  assign count = wr - rd;
  assign in_ready = wr != {~rd[AW], rd[AW-1:0]};
  assign out_valid = wr != rd;
  assign out_data = mem[rd[AW-1:0]];

  always_ff @(posedge clk) begin
    if (in_valid && in_ready) mem[wr[AW-1:0]] <= in_data;
  end
  always_ff @(posedge clk) begin
    if (rst || clear) begin
      wr <= '0;
      rd <= '0;
    end else begin
      if (in_valid && in_ready) wr <= wr + 1'b1;
      if (out_valid && out_ready) rd <= rd + 1'b1;
    end
  end
endmodule
