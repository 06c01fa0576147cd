// SPDX-License-Identifier: Apache-2.0
// tp_array_ram behind addresses that reach further than it: for bench_array.py.
module tb_array #(
    parameter int DATA_WIDTH = 64,
    parameter int BITS       = 12,
    parameter int LANE       = 16,
    parameter int BYTES      = 4096
) (
    input  logic                      clk,
    input  logic                      rst_n,
    input  logic                      s_awid,  // cocotbext-axi wants IDs: all are 0
    output logic                      s_bid,
    input  logic                      s_arid,
    output logic                      s_rid,
    input  logic [              31:0] s_awaddr,
    input  logic [               7:0] s_awlen,
    input  logic [               2:0] s_awsize,
    input  logic [               1:0] s_awburst,
    input  logic                      s_awvalid,
    output logic                      s_awready,
    input  logic [    DATA_WIDTH-1:0] s_wdata,
    input  logic [  DATA_WIDTH/8-1:0] s_wstrb,
    input  logic                      s_wlast,
    input  logic                      s_wvalid,
    output logic                      s_wready,
    output logic [               1:0] s_bresp,
    output logic                      s_bvalid,
    input  logic                      s_bready,
    input  logic [              31:0] s_araddr,
    input  logic [               7:0] s_arlen,
    input  logic [               2:0] s_arsize,
    input  logic [               1:0] s_arburst,
    input  logic                      s_arvalid,
    output logic                      s_arready,
    output logic [    DATA_WIDTH-1:0] s_rdata,
    output logic [               1:0] s_rresp,
    output logic                      s_rlast,
    output logic                      s_rvalid,
    input  logic                      s_rready,
    input  logic [              11:0] address0,
    input  logic [              11:0] address1,
    input  logic [               1:0] ce,
    input  logic [               1:0] we,
    input  logic [          BITS-1:0] d0,
    input  logic [          BITS-1:0] d1,
    output logic [          BITS-1:0] q0,
    output logic [          BITS-1:0] q1
);
  assign {s_bid, s_rid} = '0;
  tp_array_ram #(
      .DATA_WIDTH(DATA_WIDTH),
      .BITS(BITS),
      .LANE(LANE),
      .CORE_ADDRESS(12),
      .BYTES(64'(BYTES))
  ) dut (
      .c_address({address1, address0}),
      .c_ce(ce),
      .c_we(we),
      .c_d({d1, d0}),
      .c_q({q1, q0}),
      .*
  );
endmodule
