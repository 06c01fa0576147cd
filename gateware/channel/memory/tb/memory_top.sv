// SPDX-License-Identifier: Apache-2.0
// Both halves of kind `memory` at one AXI4 port, with the IDs that the bench's slave wants.
// verilator lint_off DECLFILENAME
module memory_top #(
    parameter int DATA_WIDTH = 128,
    parameter int ADDRESS_WIDTH = 32,
    parameter logic [63:0] BYTES = 64'h10000,
    parameter logic [63:0] BASE = 64'h0,
    localparam int KEEP = DATA_WIDTH / 8
) (
    input  logic                     clk,
    input  logic                     rst_n,
    input  logic                     s_tvalid,
    output logic                     s_tready,
    input  logic [   DATA_WIDTH-1:0] s_tdata,
    input  logic [         KEEP-1:0] s_tkeep,
    input  logic                     s_tlast,
    input  logic                     s_error,
    input  logic [             63:0] s_length,
    input  logic [             63:0] s_offset,
    input  logic [             31:0] s_user,
    input  logic                     s_reset,
    output logic                     end_valid,
    input  logic                     end_ready,
    output logic [              5:0] end_status,
    input  logic                     ask_valid,
    output logic                     ask_ready,
    input  logic                     ask_cancel,
    input  logic [             31:0] ask_length,
    input  logic [             63:0] ask_offset,
    input  logic [             31:0] ask_user,
    output logic                     m_tvalid,
    input  logic                     m_tready,
    output logic [   DATA_WIDTH-1:0] m_tdata,
    output logic [         KEEP-1:0] m_tkeep,
    output logic                     m_tlast,
    output logic [              5:0] m_status,
    output logic [             47:0] m_length,
    output logic [             31:0] m_offset,
    output logic [             31:0] m_user,
    input  logic                     m_reset,
    output logic                     core_awid,
    output logic [ADDRESS_WIDTH-1:0] core_awaddr,
    output logic [              7:0] core_awlen,
    output logic [              2:0] core_awsize,
    output logic [              1:0] core_awburst,
    output logic                     core_awvalid,
    input  logic                     core_awready,
    output logic [   DATA_WIDTH-1:0] core_wdata,
    output logic [         KEEP-1:0] core_wstrb,
    output logic                     core_wlast,
    output logic                     core_wvalid,
    input  logic                     core_wready,
    input  logic                     core_bid,
    input  logic [              1:0] core_bresp,
    input  logic                     core_bvalid,
    output logic                     core_bready,
    output logic                     core_arid,
    output logic [ADDRESS_WIDTH-1:0] core_araddr,
    output logic [              7:0] core_arlen,
    output logic [              2:0] core_arsize,
    output logic [              1:0] core_arburst,
    output logic                     core_arvalid,
    input  logic                     core_arready,
    input  logic                     core_rid,
    input  logic [   DATA_WIDTH-1:0] core_rdata,
    input  logic [              1:0] core_rresp,
    input  logic                     core_rlast,
    input  logic                     core_rvalid,
    output logic                     core_rready,
    output logic                     write_idle,  // nothing of a message is left
    output logic                     read_idle
);
  assign core_awid = 1'b0;
  assign core_arid = 1'b0;
  tp_memory_write #(
      .DATA_WIDTH(DATA_WIDTH),
      .ADDRESS_WIDTH(ADDRESS_WIDTH),
      .BYTES(BYTES),
      .BASE(BASE)
  ) i_write (
      .*
  );
  tp_memory_read #(
      .DATA_WIDTH(DATA_WIDTH),
      .ADDRESS_WIDTH(ADDRESS_WIDTH),
      .BYTES(BYTES),
      .BASE(BASE)
  ) i_read (
      .*
  );
  assign write_idle = i_write.state == 3'd0 && !i_write.forgetting;
  assign read_idle = i_read.state == 3'd0 && !i_read.waits;
  logic unused;
  assign unused = core_bid | core_rid;
endmodule
