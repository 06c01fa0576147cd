// SPDX-License-Identifier: Apache-2.0
// Plug-in `avalon`: an Avalon memory-mapped host of 32 bits behind the register window, one access at a time.
//
// An access stands until `core_waitrequest` is 0. With VALID 1 what is read comes with `core_readdatavalid`, in that clock or later; with VALID 0 in
// that clock. `core_response` stands beside it, as AXI's: 2 and 3 are errors. A write is done when it is taken. A reset of the core ends the access.
module tp_plugin_avalon #(
    parameter int BYTES = 4096,
    parameter bit VALID = 1,
    localparam int AW = $clog2(BYTES)
) (
    input logic clk,
    input logic rst_n,
    input logic user_reset,

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

    output logic [AW-1:0] core_address,        // of a byte: the lowest two bits are 0
    output logic          core_read,
    output logic          core_write,
    output logic [   3:0] core_byteenable,
    output logic [  31:0] core_writedata,
    input  logic [  31:0] core_readdata,
    input  logic          core_readdatavalid,
    input  logic [   1:0] core_response,
    input  logic          core_waitrequest
);
  logic valid, write, done, asked, taken;
  logic [1:0] result;
  tp_plugin_access #(
      .BYTES(BYTES)
  ) access (
      .abort(user_reset),
      .addr(core_address),
      .data(core_writedata),
      .strb(core_byteenable),
      .got(core_readdata),
      .*
  );
  assign core_write = valid && write && !user_reset;
  assign core_read = valid && !write && !asked && !user_reset;
  assign taken = asked || !core_waitrequest;
  assign done = valid && taken && (write || !VALID || core_readdatavalid);
  assign result = write ? 2'b00 : core_response;
  always_ff @(posedge clk) asked <= valid && !write && taken && !done && !user_reset && rst_n;
endmodule
