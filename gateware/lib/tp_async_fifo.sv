// SPDX-License-Identifier: Apache-2.0
// First-word-fall-through FIFO between two clocks, for shallow queues (distributed RAM), with pointers in Gray code.
//
// Promises: nothing is lost, repeated or reordered, whatever the clocks' ratio; one beat a clock on each side; `rd_data` stands while
// `rd_valid`. `wr_ready` and `rd_valid` depend on registers only. A beat is seen after about three clocks of the reader, and its room
// after about three of the writer: for full rate between like clocks DEPTH is 8 or more.
// Not for: one clock (use tp_fifo). Both sides must be reset together (tp_reset_sync), the writer quiet until both have left reset.
// Constraints: constraints/tp_lib_cdc.sdc.tcl bounds the skew of the `tp_cdc_gray` registers and the path through the RAM.
module tp_async_fifo #(
    parameter int WIDTH = 8,
    parameter int DEPTH = 16,              // a power of two, 4 or more
    localparam int AW = $clog2(DEPTH)
) (
    input  logic             wr_clk,
    input  logic             wr_rst,
    input  logic             wr_valid,
    output logic             wr_ready,
    input  logic [WIDTH-1:0] wr_data,
    input  logic             rd_clk,
    input  logic             rd_rst,
    output logic             rd_valid,
    input  logic             rd_ready,
    output logic [WIDTH-1:0] rd_data
);
  if (DEPTH < 4 || (DEPTH & (DEPTH - 1)) != 0) $error("%m: DEPTH %0d: make it a power of two, 4 or more", DEPTH);

  logic [WIDTH-1:0] tp_cdc_mem[DEPTH];
  logic [AW:0] wr, wr_next, wr_tp_cdc_gray, wr_gray_rd;  // one bit more than the address: full and empty differ
  logic [AW:0] rd, rd_next, rd_tp_cdc_gray, rd_gray_wr;

  assign wr_next = wr + 1'b1;
  assign rd_next = rd + 1'b1;

  // Full: the writer is DEPTH ahead, in Gray code the two upper bits differ and the others agree.
  assign wr_ready = wr_tp_cdc_gray != {~rd_gray_wr[AW:AW-1], rd_gray_wr[AW-2:0]};
  assign rd_valid = rd_tp_cdc_gray != wr_gray_rd;
  assign rd_data = tp_cdc_mem[rd[AW-1:0]];

  tp_sync #(
      .WIDTH(AW + 1)
  ) to_rd (
      .clk(rd_clk),
      .d(wr_tp_cdc_gray),
      .q(wr_gray_rd)
  );
  tp_sync #(
      .WIDTH(AW + 1)
  ) to_wr (
      .clk(wr_clk),
      .d(rd_tp_cdc_gray),
      .q(rd_gray_wr)
  );

  always_ff @(posedge wr_clk) begin
    if (wr_valid && wr_ready) tp_cdc_mem[wr[AW-1:0]] <= wr_data;
  end
  always_ff @(posedge wr_clk) begin
    if (wr_rst) begin
      wr <= '0;
      wr_tp_cdc_gray <= '0;
    end else if (wr_valid && wr_ready) begin
      wr <= wr_next;
      wr_tp_cdc_gray <= wr_next ^ (wr_next >> 1);
    end
  end
  always_ff @(posedge rd_clk) begin
    if (rd_rst) begin
      rd <= '0;
      rd_tp_cdc_gray <= '0;
    end else if (rd_valid && rd_ready) begin
      rd <= rd_next;
      rd_tp_cdc_gray <= rd_next ^ (rd_next >> 1);
    end
  end
endmodule
