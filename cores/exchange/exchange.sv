// SPDX-License-Identifier: Apache-2.0
//
// Exchange: what the host sends to a port of channel "data" comes back from the same port. Kind `fanout` stands before it, so the core has a
// stream in and a stream out for each of its four ports.
//
// Port 0 sets the pace: its messages come back as well, and bit p of their first byte, p = 1 to 3, holds port p: it takes nothing until a later
// message lets it go. So a program can see what one slow port does to the others. After a reset of the card no port is held.
//
// A reset of one way cuts a message for this core, and the other way knows nothing of it. What has begun to go out is ended there. Of what the way
// out has dropped a part, the rest goes out as a message.
module exchange #(
    parameter int DATA_WIDTH = 128,
    localparam int KEEP = DATA_WIDTH / 8
) (
    input logic clk,
    input logic rst_n,

    input  logic [3:0][DATA_WIDTH-1:0] data_in_tdata,
    input  logic [3:0][      KEEP-1:0] data_in_tkeep,
    input  logic [3:0]                 data_in_tlast,
    input  logic [3:0]                 data_in_error,
    input  logic [3:0]                 data_in_tvalid,
    output logic [3:0]                 data_in_tready,
    input  logic                       data_in_reset,

    output logic [3:0][DATA_WIDTH-1:0] data_out_tdata,
    output logic [3:0][      KEEP-1:0] data_out_tkeep,
    output logic [3:0]                 data_out_tlast,
    output logic [3:0]                 data_out_tvalid,
    input  logic [3:0]                 data_out_tready,
    input  logic                       data_out_reset
);
  logic [3:0] held;  // ports that take nothing; never port 0
  logic begins;  // what port 0 brings next is a message's first beat
  wire [3:0] taken = data_in_tvalid & data_in_tready;
  wire unused = ^data_in_error;  // what a fault has cut goes back as it is

  always_ff @(posedge clk) begin
    if (taken[0]) begin
      begins <= data_in_tlast[0];
      if (begins && data_in_tkeep[0][0]) held <= data_in_tdata[0][3:0] & 4'b1110;
    end
    if (!rst_n || data_in_reset) begins <= 1'b1;
    if (!rst_n) held <= '0;
  end

  for (genvar p = 0; p < 4; p++) begin : g_port
    logic open, cut;  // a message has begun; its end is still to be put out
    wire free = !data_out_tvalid[p] || data_out_tready[p];
    wire goes_on = taken[p] ? !data_in_tlast[p] : open;
    assign data_in_tready[p] = free && !cut && !held[p];
    always_ff @(posedge clk) begin
      if (free) begin
        data_out_tvalid[p] <= taken[p] || cut;
        data_out_tdata[p] <= data_in_tdata[p];
        data_out_tkeep[p] <= cut ? '0 : data_in_tkeep[p];
        data_out_tlast[p] <= cut || data_in_tlast[p];
        cut <= 1'b0;
      end
      open <= goes_on && !data_in_reset;
      if (data_in_reset && goes_on) cut <= 1'b1;
      if (!rst_n || data_out_reset) begin
        data_out_tvalid[p] <= 1'b0;
        cut <= 1'b0;
      end
      if (!rst_n) open <= 1'b0;
    end
  end
endmodule
