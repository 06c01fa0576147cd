// SPDX-License-Identifier: Apache-2.0
//
// The core behind the kind: what came in goes out. That the CRCs come and go it does not see; it only says when a message was bad.
//
// A reset of one channel cuts a message for this core, and the other channel knows nothing of it. What has begun to go out is ended, as bad;
// of what the way out has dropped a part, the rest goes out as bad. Otherwise two pieces would leave with a right CRC over them.
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
  logic open, cut, torn;  // a message has begun; its end is still to be put out; a part of it is gone
  wire free = !data_out_tvalid || data_out_tready;
  assign data_in_tready = free && !cut;
  wire taken = data_in_tvalid && data_in_tready;
  wire goes_on = taken ? !data_in_tlast : open;

  always_ff @(posedge clk) begin
    if (free) begin
      data_out_tvalid <= taken || cut;
      data_out_tdata <= data_in_tdata;
      data_out_tkeep <= cut ? '0 : data_in_tkeep;
      data_out_tlast <= cut || data_in_tlast;
      data_out_bad <= cut || data_in_bad || torn;
      cut <= 1'b0;
    end
    open <= goes_on && !data_in_reset;
    if (data_in_reset && goes_on) cut <= 1'b1;
    torn <= goes_on && !data_in_reset && (torn || data_out_reset);
    if (!rst_n || data_out_reset) begin
      data_out_tvalid <= 1'b0;
      cut <= 1'b0;
    end
    if (!rst_n) {open, torn} <= '0;
  end
endmodule
