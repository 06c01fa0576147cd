// SPDX-License-Identifier: Apache-2.0
// The scratchpad without IDs: a kind from elsewhere has the ports that it has, and no others may stand beside them.
module asked #(
    parameter int DATA_WIDTH = 128,
    localparam int KEEP = DATA_WIDTH / 8
) (
    input logic clk,
    input logic rst_n,

    input  logic [          31:0] ram_awaddr,
    input  logic [           7:0] ram_awlen,
    input  logic [           2:0] ram_awsize,
    input  logic [           1:0] ram_awburst,
    input  logic                  ram_awvalid,
    output logic                  ram_awready,
    input  logic [DATA_WIDTH-1:0] ram_wdata,
    input  logic [      KEEP-1:0] ram_wstrb,
    input  logic                  ram_wlast,
    input  logic                  ram_wvalid,
    output logic                  ram_wready,
    output logic [           1:0] ram_bresp,
    output logic                  ram_bvalid,
    input  logic                  ram_bready,
    input  logic [          31:0] ram_araddr,
    input  logic [           7:0] ram_arlen,
    input  logic [           2:0] ram_arsize,
    input  logic [           1:0] ram_arburst,
    input  logic                  ram_arvalid,
    output logic                  ram_arready,
    output logic [DATA_WIDTH-1:0] ram_rdata,
    output logic [           1:0] ram_rresp,
    output logic                  ram_rlast,
    output logic                  ram_rvalid,
    input  logic                  ram_rready,

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
  scratchpad #(
      .DATA_WIDTH(DATA_WIDTH)
  ) i_scratchpad (
      .ram_awid('0),
      .ram_bid(),
      .ram_arid('0),
      .ram_rid(),
      .*
  );
endmodule
