// SPDX-License-Identifier: Apache-2.0
// The plug-in `partial` and the configuration port of a board's family, as tp_user joins them.
module config_bench_top #(
    parameter int CLOCK_KHZ = 250_000,
    parameter int MOST_KHZ = 100_000  // of the primitive, for the bench
) (
    input  logic        clk,
    input  logic        rst_n,
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
    output logic        user_rst_n,
    output logic        user_decoupled,
    input  logic        user_midway
);
  logic config_start, config_valid, config_ready, config_end, config_done, config_error;
  logic [31:0] config_data;
  tp_plugin_partial i_plugin (.*);
  tp_config_port #(.CLOCK_KHZ(CLOCK_KHZ)) i_port (.*);
endmodule
