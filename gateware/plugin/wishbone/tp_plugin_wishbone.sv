// SPDX-License-Identifier: Apache-2.0
// Plug-in `wishbone`: a Wishbone B4 master of 32 bits behind the register window, one access at a time.
//
// PIPELINED 0 is the classic cycle: `core_stb` stands until the answer. PIPELINED 1: until `core_stall` is 0; the answer comes in that clock or later.
// `core_ack` is a done access, `core_err` one that the host is told of. After `core_rty` the cycle ends, and the access is made again.
// A reset of the core ends the cycle.
module tp_plugin_wishbone #(
    parameter int BYTES = 4096,
    parameter bit PIPELINED = 0,
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

    output logic          core_cyc,
    output logic          core_stb,
    output logic          core_we,
    output logic [AW-1:0] core_adr,    // of a byte: the lowest two bits are 0
    output logic [   3:0] core_sel,
    output logic [  31:0] core_dat_w,
    input  logic [  31:0] core_dat_r,
    input  logic          core_ack,
    input  logic          core_err,
    input  logic          core_rty,
    input  logic          core_stall
);
  logic valid, done, answered, asked;
  logic [1:0] result;
  logic begun;  // with the access in hand: its cycle is under way
  tp_plugin_access #(
      .BYTES(BYTES)
  ) access (
      .abort(user_reset),
      .write(core_we),
      .addr(core_adr),
      .data(core_dat_w),
      .strb(core_sel),
      .got(core_dat_r),
      .*
  );
  assign core_cyc = valid && begun;
  assign core_stb = core_cyc && !asked;
  assign answered = core_cyc && (core_ack || core_err || core_rty) && (!PIPELINED || asked || !core_stall);
  assign done = answered && !core_rty;
  assign result = {core_err, 1'b0};
  always_ff @(posedge clk) begin
    // Of a cycle that ends with a retry, a clock is left out.
    begun <= valid && !answered && !user_reset && rst_n;
    asked <= PIPELINED && core_cyc && !answered && (asked || !core_stall) && !user_reset && rst_n;
  end
endmodule
