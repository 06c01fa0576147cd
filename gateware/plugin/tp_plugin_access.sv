// SPDX-License-Identifier: Apache-2.0
// A plug-in's end of the register window where an access takes as long as it likes: AXI4-Lite to one access at a time.
//
// `valid` stands, with what the access is, until `done`, in whose clock the plug-in gives `result` (a response of AXI) and, of a read, `got`.
// Addresses are cut to BYTES; a read has all of `strb`. `abort` ends the access with SLVERR, and refuses others while it is 1.
// Not for: several accesses in flight. A write is taken when its address and its data are both there.
module tp_plugin_access #(
    parameter  int BYTES = 4096,          // a power of two
    localparam int AW = $clog2(BYTES)
) (
    input logic clk,
    input logic rst_n,
    input logic abort,

    // verilator lint_off UNUSEDSIGNAL
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
    input  logic        s_axil_rready,
    // verilator lint_on UNUSEDSIGNAL

    output logic          valid,
    output logic          write,
    output logic [AW-1:0] addr,
    output logic [  31:0] data,
    output logic [   3:0] strb,
    input  logic          done,
    input  logic [   1:0] result,
    input  logic [  31:0] got
);
  localparam logic [1:0] SLVERR = 2'b10;
  logic s_write, take, busy;
  logic [1:0] resp;
  assign s_write = s_axil_awvalid && s_axil_wvalid;
  assign take = !busy && (s_write || s_axil_arvalid);
  assign s_axil_awready = take && s_write;
  assign s_axil_wready = take && s_write;
  assign s_axil_arready = take && !s_write;
  assign s_axil_bresp = resp;
  assign s_axil_rresp = resp;

  always_ff @(posedge clk) begin
    if (s_axil_bvalid && s_axil_bready || s_axil_rvalid && s_axil_rready) begin
      busy <= 1'b0;
      s_axil_bvalid <= 1'b0;
      s_axil_rvalid <= 1'b0;
    end
    if (take) begin
      busy <= 1'b1;
      valid <= 1'b1;
      write <= s_write;
      addr <= {s_write ? s_axil_awaddr[AW-1:2] : s_axil_araddr[AW-1:2], 2'b00};
      data <= s_axil_wdata;
      strb <= s_write ? s_axil_wstrb : 4'hf;
    end
    if (valid && (done || abort)) begin
      valid <= 1'b0;
      resp <= abort ? SLVERR : result;
      s_axil_rdata <= got;
      s_axil_bvalid <= write;
      s_axil_rvalid <= !write;
    end
    if (!rst_n) begin
      busy <= 1'b0;
      valid <= 1'b0;
      s_axil_bvalid <= 1'b0;
      s_axil_rvalid <= 1'b0;
    end
  end
endmodule
