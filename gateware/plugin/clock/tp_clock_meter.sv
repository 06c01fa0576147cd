// SPDX-License-Identifier: Apache-2.0
// Counts the edges of a clock in windows that `clk` times, and tells whether it runs: 32 edges in a window or more.
//
// The clock may be up to four times as fast as `clk`: then 32 edges of which some came before `restart` leave enough of both clocks for
// what tp_clock_control says of a window. `restart` begins to count anew within the window.
module tp_clock_meter (
    input  logic        clk,
    input  logic        window_end,
    input  logic        restart,
    input  logic        clock,
    output logic [15:0] edges,       // of the last window
    output logic        runs         // 1 until a window has shown that it does not
);
  logic [3:0] count, tp_cdc_gray, gray, here, last;
  logic [15:0] sum, next;
  initial begin
    count = '0;
    tp_cdc_gray = '0;
    last = '0;
    sum = '0;
    edges = '0;
    runs = 1'b1;
  end

  always_ff @(posedge clock) begin
    count <= count + 1'b1;
    tp_cdc_gray <= count ^ (count >> 1);
  end
  tp_sync #(
      .WIDTH(4)
  ) gray_sync (
      .clk,
      .d(tp_cdc_gray),
      .q(gray)
  );
  assign here = {gray[3], ^gray[3:2], ^gray[3:1], ^gray[3:0]};
  assign next = sum + 16'(4'(here - last));

  always_ff @(posedge clk) begin
    last <= here;
    sum <= next;
    if (window_end) begin
      edges <= next;
      runs  <= next[15:5] != '0;
      sum   <= '0;
    end
    if (restart) begin
      sum  <= '0;
      runs <= 1'b0;
    end
  end
endmodule
