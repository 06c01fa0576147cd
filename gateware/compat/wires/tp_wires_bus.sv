// SPDX-License-Identifier: Apache-2.0
// AXI4-Lite for registers that are ports of the core's: words that are written, and words to choose from.
//
// Promises: one write and one read at a time, each answered. `wr_en` is up for one clock with the word's number, data and bytes; `rd_en` for one clock with the word's number, and
// `rd_data` counts in that clock. Numbers are addresses without their two lowest bits.
// Not for: a word whose reading takes longer.
module tp_wires_bus (
    input  logic        clk,
    input  logic        rst_n,
    // verilator lint_off UNUSEDSIGNAL
    input  logic [31:0] s_axil_awaddr,
    // verilator lint_on UNUSEDSIGNAL
    input  logic        s_axil_awvalid,
    output logic        s_axil_awready,
    input  logic [31:0] s_axil_wdata,
    input  logic [ 3:0] s_axil_wstrb,
    input  logic        s_axil_wvalid,
    output logic        s_axil_wready,
    output logic [ 1:0] s_axil_bresp,
    output logic        s_axil_bvalid,
    input  logic        s_axil_bready,
    // verilator lint_off UNUSEDSIGNAL
    input  logic [31:0] s_axil_araddr,
    // verilator lint_on UNUSEDSIGNAL
    input  logic        s_axil_arvalid,
    output logic        s_axil_arready,
    output logic [31:0] s_axil_rdata,
    output logic [ 1:0] s_axil_rresp,
    output logic        s_axil_rvalid,
    input  logic        s_axil_rready,
    output logic        wr_en,
    output logic [29:0] wr_word,
    output logic [31:0] wr_data,
    output logic [ 3:0] wr_strb,
    output logic        rd_en,
    output logic [29:0] rd_word,
    input  logic [31:0] rd_data
);
  assign wr_en = rst_n && s_axil_awvalid && s_axil_wvalid && !s_axil_bvalid;
  assign s_axil_awready = wr_en;
  assign s_axil_wready = wr_en;
  assign wr_word = s_axil_awaddr[31:2];
  assign wr_data = s_axil_wdata;
  assign wr_strb = s_axil_wstrb;
  assign s_axil_bresp = '0;
  assign rd_en = rst_n && s_axil_arvalid && !s_axil_rvalid;
  assign s_axil_arready = rd_en;
  assign rd_word = s_axil_araddr[31:2];
  assign s_axil_rresp = '0;

  always_ff @(posedge clk) begin
    s_axil_bvalid <= rst_n && (wr_en || (s_axil_bvalid && !s_axil_bready));
    s_axil_rvalid <= rst_n && (rd_en || (s_axil_rvalid && !s_axil_rready));
    if (rd_en) s_axil_rdata <= rd_data;
  end
endmodule
