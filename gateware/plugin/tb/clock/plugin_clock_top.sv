// SPDX-License-Identifier: Apache-2.0
// For the bench: the plug-in `clock` and its switch as they stand in a card, with the reset that tp_user_edge makes. `clk` is the user's clock.
// The bench sees its rise after the registers have: what the plug-in shows before it is kept from the fall before.
module plugin_clock_top #(
    parameter int CLOCKS = 3,
    parameter int KHZ = 3200
) (
    input logic card_clk,
    input logic card_rst,
    input logic [CLOCKS-1:0] clocks,
    output logic clk,
    output logic user_rst_n,

    input  logic [31:0] s_axil_awaddr,
    input  logic        s_axil_awvalid,
    output logic        s_axil_awready,
    input  logic [31:0] s_axil_wdata,
    input  logic [ 3:0] s_axil_wstrb,
    input  logic        s_axil_wvalid,
    output logic        s_axil_wready,
    output logic [ 1:0] s_axil_bresp,
    output logic        s_axil_bvalid,
    input  logic        s_axil_bready,
    input  logic [31:0] s_axil_araddr,
    input  logic        s_axil_arvalid,
    output logic        s_axil_arready,
    output logic [31:0] s_axil_rdata,
    output logic [ 1:0] s_axil_rresp,
    output logic        s_axil_rvalid,
    input  logic        s_axil_rready
);
  logic user_rst, switch_ask, switch_ready;
  logic [1:0] switch_input;
  logic [4+CLOCKS*17-1:0] switch_told;

  tp_reset_sync reset_sync (
      .clk(card_clk),
      .request(card_rst),
      .busy(),
      .src_rst(),
      .dst_clk(clk),
      .dst_rst(user_rst)
  );
  tp_clock_switch #(
      .CLOCKS(CLOCKS),
      .KHZ(KHZ)
  ) clock_switch (
      .clk(card_clk),
      .rst(1'b0),  // the card's reset is of less than its power
      .user_clk(clk),
      .*
  );
  logic awready, wready, bvalid, arready, rvalid;
  logic [1:0] bresp, rresp;
  logic [31:0] rdata;
  always_ff @(negedge clk) begin
    {s_axil_awready, s_axil_wready, s_axil_bresp, s_axil_bvalid} <= {awready, wready, bresp, bvalid};
    {s_axil_arready, s_axil_rdata, s_axil_rresp, s_axil_rvalid} <= {arready, rdata, rresp, rvalid};
  end
  tp_plugin_clock #(
      .CLOCKS(CLOCKS)
  ) plugin_clock (
      .rst_n(!user_rst),
      .s_axil_awready(awready),
      .s_axil_wready(wready),
      .s_axil_bresp(bresp),
      .s_axil_bvalid(bvalid),
      .s_axil_arready(arready),
      .s_axil_rdata(rdata),
      .s_axil_rresp(rresp),
      .s_axil_rvalid(rvalid),
      .*
  );
endmodule
