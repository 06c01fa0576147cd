// SPDX-License-Identifier: Apache-2.0
// First-word-fall-through FIFO on one clock, in block RAM.
//
// Promises: `out_data` stands while `out_valid`; nothing is lost or repeated; one beat a cycle in and out; a beat is visible three cycles after it
// was written. It takes DEPTH beats, and two more that are on their way out. All outputs depend on registers only.
// Not for: shallow queues (use tp_fifo) or two clocks (use tp_async_fifo).
module tp_deep_fifo #(
    parameter int WIDTH = 8,
    parameter int DEPTH = 512,             // a power of two, 2 or more
    localparam int AW = $clog2(DEPTH)
) (
    input  logic             clk,
    input  logic             rst,
    input  logic             in_valid,
    output logic             in_ready,
    input  logic [WIDTH-1:0] in_data,
    output logic             out_valid,
    input  logic             out_ready,
    output logic [WIDTH-1:0] out_data
);
  if (DEPTH < 2 || (DEPTH & (DEPTH - 1)) != 0) $error("%m: DEPTH %0d: make it a power of two, 2 or more", DEPTH);

  logic [WIDTH-1:0] mem[DEPTH];
  logic [WIDTH-1:0] q;                       // the RAM's output
  logic [AW:0] wr, rd;
  logic q_valid, fetch, take;
  assign in_ready = wr != {~rd[AW], rd[AW-1:0]};
  assign take = out_ready || !out_valid;
  assign fetch = wr != rd && (take || !q_valid);

  always_ff @(posedge clk) begin
    if (in_valid && in_ready) mem[wr[AW-1:0]] <= in_data;
  end
  always_ff @(posedge clk) begin
    if (fetch) q <= mem[rd[AW-1:0]];
  end
  always_ff @(posedge clk) begin
    if (take) out_data <= q;
    if (rst) begin
      wr <= '0;
      rd <= '0;
      q_valid <= 1'b0;
      out_valid <= 1'b0;
    end else begin
      if (in_valid && in_ready) wr <= wr + 1'b1;
      if (fetch) rd <= rd + 1'b1;
      if (fetch || take) q_valid <= fetch;
      if (take) out_valid <= q_valid;
    end
  end
endmodule
