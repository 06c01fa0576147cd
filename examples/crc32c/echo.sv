// SPDX-License-Identifier: Apache-2.0
//
// The core behind the kind: what came in goes out. That the CRCs come and go it does not see; it only says when a message was bad.
module echo #(
    parameter int DATA_WIDTH = 128,
    localparam int KEEP = DATA_WIDTH / 8
) (
    input logic clk,
    input logic rst_n,

    input  logic [DATA_WIDTH-1:0] data_in_tdata,
    input  logic [      KEEP-1:0] data_in_tkeep,
    input  logic                  data_in_tlast,
    input  logic                  data_in_tvalid,
    output logic                  data_in_tready,
    input  logic                  data_in_bad,
    input  logic                  data_in_reset,

    output logic [DATA_WIDTH-1:0] data_out_tdata,
    output logic [      KEEP-1:0] data_out_tkeep,
    output logic                  data_out_tlast,
    output logic                  data_out_tvalid,
    input  logic                  data_out_tready,
    output logic                  data_out_bad,
    input  logic                  data_out_reset
);
  assign data_in_tready = !data_out_tvalid || data_out_tready;

  always_ff @(posedge clk) begin
    if (data_in_tvalid && data_in_tready) begin
      data_out_tdata <= data_in_tdata;
      data_out_tkeep <= data_in_tkeep;
      data_out_tlast <= data_in_tlast;
      data_out_bad   <= data_in_bad;
    end
    if (data_in_tready) data_out_tvalid <= data_in_tvalid;
    if (!rst_n || data_in_reset || data_out_reset) data_out_tvalid <= 1'b0;
  end
endmodule
