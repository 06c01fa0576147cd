// SPDX-License-Identifier: Apache-2.0
// A stream as the write side of a FIFO, for a core that writes into one.
//
// Promises: words that are written while `full` is 0 arrive in order, each once; one that is written while `full` is 1 is lost, as it is in a FIFO. `full` never waits for a write.
// `nearly_full` is 1 while the next 8 words might not find room: a core that looks at it may be late by so many. `flush` forgets what is held; `full` is 1 in it.
module tp_fifo_write #(
    parameter int WIDTH = 64
) (
    input  logic             clk,
    input  logic             rst_n,
    input  logic             flush,
    output logic             full,
    output logic             nearly_full,
    input  logic             wr_en,
    input  logic [WIDTH-1:0] din,
    output logic             tvalid,
    input  logic             tready,
    output logic [WIDTH-1:0] tdata
);
  localparam int DEPTH = 16;
  localparam int LATE = 8;
  logic room;
  logic [$clog2(DEPTH):0] count;
  assign full = !room || flush || !rst_n;
  assign nearly_full = full || 32'(count) >= DEPTH - LATE;
  tp_fifo #(
      .WIDTH(WIDTH),
      .DEPTH(DEPTH)
  ) words (
      .clk,
      .rst(!rst_n),
      .clear(flush),
      .in_valid(wr_en && !full),
      .in_ready(room),
      .in_data(din),
      .out_valid(tvalid),
      .out_ready(tready),
      .out_data(tdata),
      .count
  );
endmodule
