// SPDX-License-Identifier: Apache-2.0
// What comes in goes out, each bit turned if register `flip` says so; register `beats` counts.
module first #(
    parameter int DATA_WIDTH = 128
) (
    input logic clk,
    input logic rst_n,

    input  logic [  DATA_WIDTH-1:0] in_tdata,
    input  logic [DATA_WIDTH/8-1:0] in_tkeep,
    input  logic                    in_tlast,
    input  logic                    in_tvalid,
    output logic                    in_tready,

    output logic [  DATA_WIDTH-1:0] out_tdata,
    output logic [DATA_WIDTH/8-1:0] out_tkeep,
    output logic                    out_tlast,
    output logic                    out_tvalid,
    input  logic                    out_tready,

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
  logic flip;
  logic [31:0] beats;

  // The stream.
  assign out_tdata  = in_tdata ^ {DATA_WIDTH{flip}};
  assign out_tkeep  = in_tkeep;
  assign out_tlast  = in_tlast;
  assign out_tvalid = in_tvalid;
  assign in_tready  = out_tready;

  // Registers: `beats` at 0x0, `flip` at 0x4.
  logic write;
  assign write = s_axil_awvalid && s_axil_wvalid && !s_axil_bvalid;
  assign s_axil_awready = write;
  assign s_axil_wready = write;
  assign s_axil_bresp = '0;
  assign s_axil_rresp = '0;
  assign s_axil_arready = !s_axil_rvalid;
  always_ff @(posedge clk) begin
    if (in_tvalid && in_tready) beats <= beats + 1'b1;
    if (write && s_axil_awaddr == 32'h4 && s_axil_wstrb[0]) flip <= s_axil_wdata[0];
    s_axil_bvalid <= write || s_axil_bvalid && !s_axil_bready;
    if (s_axil_arvalid && s_axil_arready) s_axil_rdata <= s_axil_araddr == 32'h4 ? 32'(flip) : beats;
    s_axil_rvalid <= s_axil_arvalid && s_axil_arready || s_axil_rvalid && !s_axil_rready;
    if (!rst_n) begin
      beats <= '0;
      flip <= 1'b0;
      s_axil_bvalid <= 1'b0;
      s_axil_rvalid <= 1'b0;
    end
  end
endmodule
