// SPDX-License-Identifier: Apache-2.0
// tp_fifo: what goes in comes out, each beat once and in order; it takes no more than it has room for, and `clear` empties it.
//
// One beat is watched, any one: the solver says when by `watch`. How many beats are ahead of it tells when it must come out.
module tp_fifo_formal #(
    parameter int WIDTH = 4,
    parameter int DEPTH = 4,
    parameter bit INDUCTION = 1,
    localparam int AW = $clog2(DEPTH)
) (
    input logic clk,
    input logic rst,
    input logic clear,
    input logic in_valid,
    input logic [WIDTH-1:0] in_data,
    input logic out_ready,
    input logic watch
);
  logic in_ready, out_valid;
  logic [WIDTH-1:0] out_data;
  logic [AW:0] count;
  tp_fifo #(
      .WIDTH(WIDTH),
      .DEPTH(DEPTH)
  ) dut (
      .clk,
      .rst,
      .clear,
      .in_valid,
      .in_ready,
      .in_data,
      .out_valid,
      .out_ready,
      .out_data,
      .count
  );

  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  always_comb if (!started) assume (rst);

  logic put, get;
  assign put = in_valid && in_ready;
  assign get = out_valid && out_ready;

  int stored;  // beats that went in and did not come out
  logic watching, seen;
  logic [AW:0] ahead;
  logic [WIDTH-1:0] watched;
  always_ff @(posedge clk) begin
    stored <= stored + 32'(put) - 32'(get);
    if (!watching) begin
      watching <= watch && put;
      watched <= in_data;
      ahead <= count - (AW + 1)'(get);
    end else if (get) begin
      watching <= ahead != 0;
      ahead <= ahead - 1'b1;
    end
    seen <= watching && get && ahead == 0;
    if (rst || clear) begin
      stored <= 0;
      watching <= 1'b0;
      seen <= 1'b0;
    end
  end

  always_comb
    if (started) begin
      assert (stored >= 0 && stored <= DEPTH);
      assert (32'(count) == stored && in_ready == (stored != DEPTH) && out_valid == (stored != 0));
      assert (!watching || ahead < count);
      assert (!(watching && ahead == 0) || out_data == watched);
      cover (seen && stored == DEPTH - 1);
    end

  if (INDUCTION) begin : g_induction
    always_comb
      if (started) begin
        // The watched beat stands where it will be read.
        assert (!watching || dut.mem[AW'(dut.rd+ahead)] == watched);
      end
  end
endmodule
