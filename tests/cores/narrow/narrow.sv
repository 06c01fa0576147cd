// SPDX-License-Identifier: Apache-2.0
// Words of 32 bits in, each as two of 16 bits out, all ones turned to zeros and back. It knows no messages: see towpath.toml.
module narrow (
    input logic clk,
    input logic rst_n,

    input  logic [31:0] in_tdata,
    input  logic        in_tvalid,
    output logic        in_tready,

    output logic [15:0] out_tdata,
    output logic        out_tvalid,
    input  logic        out_tready,

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
  logic high;
  assign out_tdata = ~(high ? in_tdata[31:16] : in_tdata[15:0]);
  assign out_tvalid = in_tvalid;
  assign in_tready = out_tready && high;
  always_ff @(posedge clk) begin
    if (out_tvalid && out_tready) high <= !high;
    if (!rst_n) high <= 1'b0;
  end

  // Registers that take everything and read as 0.
  logic write;
  assign write = s_axil_awvalid && s_axil_wvalid && !s_axil_bvalid;
  assign {s_axil_awready, s_axil_wready} = {2{write}};
  assign {s_axil_bresp, s_axil_rresp, s_axil_rdata} = '0;
  assign s_axil_arready = !s_axil_rvalid;
  always_ff @(posedge clk) begin
    s_axil_bvalid <= rst_n && (write || s_axil_bvalid && !s_axil_bready);
    s_axil_rvalid <= rst_n && (s_axil_arvalid && s_axil_arready || s_axil_rvalid && !s_axil_rready);
  end
endmodule
