// SPDX-License-Identifier: Apache-2.0
//
// Fifo: what is stored anywhere in the memory `range` comes out of the stream `out`, and what is sent into the stream `in` is read from
// the range. The layout of the range, and what is promised, is at the head of axi_fifo.sv.
module fifo #(
    parameter int DATA_WIDTH = 128,
    parameter int BYTES = 65536,
    parameter int ID_WIDTH = 4,
    localparam int KEEP = DATA_WIDTH / 8
) (
    input logic clk,
    input logic rst_n,

    input  logic [  ID_WIDTH-1:0] range_awid,
    input  logic [          31:0] range_awaddr,
    input  logic [           7:0] range_awlen,
    input  logic [           2:0] range_awsize,
    input  logic [           1:0] range_awburst,
    input  logic                  range_awvalid,
    output logic                  range_awready,
    input  logic [DATA_WIDTH-1:0] range_wdata,
    input  logic [      KEEP-1:0] range_wstrb,
    input  logic                  range_wlast,
    input  logic                  range_wvalid,
    output logic                  range_wready,
    output logic [  ID_WIDTH-1:0] range_bid,
    output logic [           1:0] range_bresp,
    output logic                  range_bvalid,
    input  logic                  range_bready,
    input  logic [  ID_WIDTH-1:0] range_arid,
    input  logic [          31:0] range_araddr,
    input  logic [           7:0] range_arlen,
    input  logic [           2:0] range_arsize,
    input  logic [           1:0] range_arburst,
    input  logic                  range_arvalid,
    output logic                  range_arready,
    output logic [  ID_WIDTH-1:0] range_rid,
    output logic [DATA_WIDTH-1:0] range_rdata,
    output logic [           1:0] range_rresp,
    output logic                  range_rlast,
    output logic                  range_rvalid,
    input  logic                  range_rready,

    output logic [DATA_WIDTH-1:0] out_tdata,
    output logic [      KEEP-1:0] out_tkeep,
    output logic                  out_tlast,
    output logic                  out_tvalid,
    input  logic                  out_tready,

    input  logic [DATA_WIDTH-1:0] in_tdata,
    input  logic [      KEEP-1:0] in_tkeep,
    input  logic                  in_tlast,
    input  logic                  in_tvalid,
    output logic                  in_tready
);
  wire unused = ^{range_awsize, range_awburst, range_arsize, range_arburst, in_tlast};

  axi_fifo #(
      .DATA_WIDTH(DATA_WIDTH),
      .BYTES(BYTES),
      .ID_WIDTH(ID_WIDTH)
  ) fifos (
      .clk,
      .rst_n,
      .awid(range_awid),
      .awaddr(range_awaddr),
      .awlen(range_awlen),
      .awvalid(range_awvalid),
      .awready(range_awready),
      .wdata(range_wdata),
      .wstrb(range_wstrb),
      .wlast(range_wlast),
      .wvalid(range_wvalid),
      .wready(range_wready),
      .bid(range_bid),
      .bresp(range_bresp),
      .bvalid(range_bvalid),
      .bready(range_bready),
      .arid(range_arid),
      .araddr(range_araddr),
      .arlen(range_arlen),
      .arvalid(range_arvalid),
      .arready(range_arready),
      .rid(range_rid),
      .rdata(range_rdata),
      .rresp(range_rresp),
      .rlast(range_rlast),
      .rvalid(range_rvalid),
      .rready(range_rready),
      .m_tdata(out_tdata),
      .m_tkeep(out_tkeep),
      .m_tlast(out_tlast),
      .m_tvalid(out_tvalid),
      .m_tready(out_tready),
      .s_tdata(in_tdata),
      .s_tkeep(in_tkeep),
      .s_tvalid(in_tvalid),
      .s_tready(in_tready)
  );
endmodule
