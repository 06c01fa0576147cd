// SPDX-License-Identifier: Apache-2.0
//
// One pair of channels for measuring: see bench_pairs.sv.
module bench1 #(
    parameter int DATA_WIDTH = 128,
    localparam int KEEP = DATA_WIDTH / 8
) (
    input logic clk,
    input logic rst_n,

    input logic [DATA_WIDTH-1:0] in_tdata,
    input logic [KEEP-1:0] in_tkeep,
    input logic in_tlast,
    input logic in_tvalid,
    output logic in_tready,
    input logic in_error,
    input logic in_reset,

    output logic [DATA_WIDTH-1:0] out_tdata,
    output logic [KEEP-1:0] out_tkeep,
    output logic out_tlast,
    output logic out_tvalid,
    input logic out_tready,
    input logic out_reset,

    input logic [31:0] s_axil_awaddr,
    input logic s_axil_awvalid,
    output logic s_axil_awready,
    input logic [31:0] s_axil_wdata,
    input logic [3:0] s_axil_wstrb,
    input logic s_axil_wvalid,
    output logic s_axil_wready,
    output logic [1:0] s_axil_bresp,
    output logic s_axil_bvalid,
    input logic s_axil_bready,
    input logic [31:0] s_axil_araddr,
    input logic s_axil_arvalid,
    output logic s_axil_arready,
    output logic [31:0] s_axil_rdata,
    output logic [1:0] s_axil_rresp,
    output logic s_axil_rvalid,
    input logic s_axil_rready
);
  bench_pairs #(
      .DATA_WIDTH(DATA_WIDTH),
      .PAIRS(1)
  ) u_pairs (
      .clk(clk),
      .rst_n(rst_n),
      .in_tdata(in_tdata),
      .in_tkeep(in_tkeep),
      .in_tlast(in_tlast),
      .in_tvalid(in_tvalid),
      .in_tready(in_tready),
      .in_error(in_error),
      .in_reset(in_reset),
      .out_tdata(out_tdata),
      .out_tkeep(out_tkeep),
      .out_tlast(out_tlast),
      .out_tvalid(out_tvalid),
      .out_tready(out_tready),
      .out_reset(out_reset),
      .s_axil_awaddr(s_axil_awaddr),
      .s_axil_awvalid(s_axil_awvalid),
      .s_axil_awready(s_axil_awready),
      .s_axil_wdata(s_axil_wdata),
      .s_axil_wstrb(s_axil_wstrb),
      .s_axil_wvalid(s_axil_wvalid),
      .s_axil_wready(s_axil_wready),
      .s_axil_bresp(s_axil_bresp),
      .s_axil_bvalid(s_axil_bvalid),
      .s_axil_bready(s_axil_bready),
      .s_axil_araddr(s_axil_araddr),
      .s_axil_arvalid(s_axil_arvalid),
      .s_axil_arready(s_axil_arready),
      .s_axil_rdata(s_axil_rdata),
      .s_axil_rresp(s_axil_rresp),
      .s_axil_rvalid(s_axil_rvalid),
      .s_axil_rready(s_axil_rready)
  );
endmodule
