// SPDX-License-Identifier: Apache-2.0
// tp_skid: what goes in comes out, each beat once, in order and unchanged; `out_data` stands while it is not taken.
// Assumed, as the module itself asserts: a beat at the input stands until it is taken.
module tp_skid_formal #(
    parameter int WIDTH = 4,
    parameter bit INDUCTION = 1
) (
    input logic clk,
    input logic rst,
    input logic in_valid,
    input logic [WIDTH-1:0] in_data,
    input logic out_ready,
    input logic watch
);
  logic in_ready, out_valid;
  logic [WIDTH-1:0] out_data;
  tp_skid #(
      .WIDTH(WIDTH)
  ) dut (
      .clk,
      .rst,
      .in_valid,
      .in_ready,
      .in_data,
      .out_valid,
      .out_ready,
      .out_data
  );

  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  always_comb if (!started) assume (rst);

  logic put, get, stands, waits;
  logic [WIDTH-1:0] stood, waited;
  assign put = in_valid && in_ready && !rst;
  assign get = out_valid && out_ready && !rst;
  always_ff @(posedge clk) begin
    waits <= in_valid && !in_ready && !rst;
    waited <= in_data;
    stands <= out_valid && !out_ready && !rst;
    stood <= out_data;
  end
  always_comb if (started && waits && !rst) assume (in_valid && in_data == waited);

  logic [1:0] stored, ahead;
  logic watching, seen;
  logic [WIDTH-1:0] watched;
  always_ff @(posedge clk) begin
    stored <= stored + 2'(put) - 2'(get);
    if (!watching) begin
      watching <= watch && put;
      watched <= in_data;
      ahead <= stored - 2'(get);
    end else if (get) begin
      watching <= ahead != 0;
      ahead <= ahead - 1'b1;
    end
    seen <= watching && get && ahead == 0;
    if (rst) begin
      stored <= '0;
      watching <= 1'b0;
      seen <= 1'b0;
    end
  end

  always_comb
    if (started) begin
      assert (stored <= 2 && in_ready == (stored != 2) && out_valid == (stored != 0));
      assert (!stands || (out_valid && out_data == stood));
      assert (!watching || ahead < stored);
      assert (!(watching && ahead == 0) || out_data == watched);
      cover (seen && stored == 1);
    end

  if (INDUCTION) begin : g_induction
    always_comb
      if (started) begin
        assert (!(watching && ahead == 1) || dut.spare == watched);
      end
  end
endmodule
