// SPDX-License-Identifier: Apache-2.0
// The loopback and the scratchpad side by side. While the register is not 0, the memory takes nothing and answers nothing: bit 0 silences what is
// written, bit 1 what is read. What it offers when it falls silent stands until it is taken, as AXI4 asks.
module mishaps #(
    parameter int DATA_WIDTH = 128,
    localparam int KEEP = DATA_WIDTH / 8
) (
    input logic clk,
    input logic rst_n,

    input  logic [DATA_WIDTH-1:0] in_tdata,
    input  logic [      KEEP-1:0] in_tkeep,
    input  logic                  in_tlast,
    input  logic                  in_tvalid,
    output logic                  in_tready,
    input  logic [          63:0] in_length,
    input  logic [          63:0] in_offset,
    input  logic [          31:0] in_user,
    input  logic                  in_error,
    input  logic                  in_reset,

    output logic [DATA_WIDTH-1:0] out_tdata,
    output logic [      KEEP-1:0] out_tkeep,
    output logic                  out_tlast,
    output logic                  out_tvalid,
    input  logic                  out_tready,
    output logic [          47:0] out_length,
    output logic [          31:0] out_offset,
    output logic [          31:0] out_user,
    input  logic                  out_reset,

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
  logic [1:0] silent;
  wire write = s_axil_awvalid && s_axil_wvalid && (!s_axil_bvalid || s_axil_bready);
  wire read = s_axil_arvalid && (!s_axil_rvalid || s_axil_rready);
  wire unused = ^{s_axil_awaddr, s_axil_araddr, s_axil_wdata[31:2], s_axil_wstrb};
  assign s_axil_awready = write;
  assign s_axil_wready = write;
  assign s_axil_arready = read;
  assign {s_axil_bresp, s_axil_rresp} = '0;
  always_ff @(posedge clk) begin
    if (write) silent <= s_axil_wdata[1:0];
    if (read) s_axil_rdata <= 32'(silent);
    s_axil_bvalid <= write || (s_axil_bvalid && !s_axil_bready);
    s_axil_rvalid <= read || (s_axil_rvalid && !s_axil_rready);
    if (!rst_n) {silent, s_axil_bvalid, s_axil_rvalid} <= '0;
  end

  logic aw_ready, w_ready, ar_ready, b_valid, r_valid, b_stands, r_stands;
  assign ram_awready = aw_ready && !silent[0];
  assign ram_wready = w_ready && !silent[0];
  assign ram_arready = ar_ready && !silent[1];
  assign ram_bvalid = b_valid && (!silent[0] || b_stands);
  assign ram_rvalid = r_valid && (!silent[1] || r_stands);
  always_ff @(posedge clk) begin
    b_stands <= ram_bvalid && !ram_bready && rst_n;
    r_stands <= ram_rvalid && !ram_rready && rst_n;
  end
  scratchpad #(
      .DATA_WIDTH(DATA_WIDTH),
      .BYTES(16384)
  ) i_ram (
      .clk,
      .rst_n,
      .ram_awid('0),
      .ram_bid(),
      .ram_arid('0),
      .ram_rid(),
      .ram_awaddr,
      .ram_awlen,
      .ram_awsize,
      .ram_awburst,
      .ram_awvalid(ram_awvalid && !silent[0]),
      .ram_awready(aw_ready),
      .ram_wdata,
      .ram_wstrb,
      .ram_wlast,
      .ram_wvalid(ram_wvalid && !silent[0]),
      .ram_wready(w_ready),
      .ram_bresp,
      .ram_bvalid(b_valid),
      .ram_bready(ram_bready && ram_bvalid),
      .ram_araddr,
      .ram_arlen,
      .ram_arsize,
      .ram_arburst,
      .ram_arvalid(ram_arvalid && !silent[1]),
      .ram_arready(ar_ready),
      .ram_rdata,
      .ram_rresp,
      .ram_rlast,
      .ram_rvalid(r_valid),
      .ram_rready(ram_rready && ram_rvalid),
      .s_axil_awaddr('0),
      .s_axil_awvalid(1'b0),
      .s_axil_awready(),
      .s_axil_wdata('0),
      .s_axil_wstrb('0),
      .s_axil_wvalid(1'b0),
      .s_axil_wready(),
      .s_axil_bresp(),
      .s_axil_bvalid(),
      .s_axil_bready(1'b1),
      .s_axil_araddr('0),
      .s_axil_arvalid(1'b0),
      .s_axil_arready(),
      .s_axil_rdata(),
      .s_axil_rresp(),
      .s_axil_rvalid(),
      .s_axil_rready(1'b1)
  );
  loopback #(
      .DATA_WIDTH(DATA_WIDTH)
  ) i_echo (
      .clk,
      .rst_n,
      .in_tdata,
      .in_tkeep,
      .in_tlast,
      .in_tvalid,
      .in_tready,
      .in_length,
      .in_offset,
      .in_user,
      .in_error,
      .in_reset,
      .out_tdata,
      .out_tkeep,
      .out_tlast,
      .out_tvalid,
      .out_tready,
      .out_length,
      .out_offset,
      .out_user,
      .out_reset,
      .s_axil_awaddr('0),
      .s_axil_awvalid(1'b0),
      .s_axil_awready(),
      .s_axil_wdata('0),
      .s_axil_wstrb('0),
      .s_axil_wvalid(1'b0),
      .s_axil_wready(),
      .s_axil_bresp(),
      .s_axil_bvalid(),
      .s_axil_bready(1'b1),
      .s_axil_araddr('0),
      .s_axil_arvalid(1'b0),
      .s_axil_arready(),
      .s_axil_rdata(),
      .s_axil_rresp(),
      .s_axil_rvalid(),
      .s_axil_rready(1'b1),
      .irq_valid(),
      .irq_ready(1'b1)
  );
endmodule
