// SPDX-License-Identifier: Apache-2.0
// The core with the loopback user core behind it: the neutral streams on this side, nothing on the other. Device under test of bench_agree.
//
// `activity` is 1 in a cycle in which the core shows anything; the bench looks at nothing else in the others, which makes it quick.
// Not for synthesis.
module agree_top
  import tp_tlp_pkg::*;
#(
    parameter int DATA_WIDTH = 128,
    parameter bit USER_ASYNC = 0,
    parameter int TAGS = 32,
    parameter int LANDING_BYTES = 16384,
    parameter int SENDING_BYTES = 8192,
    parameter int QUEUE_DEPTH = 16,
    parameter int INLINE_SLOTS = 4,
    parameter int VECTORS = 32,
    parameter int WINDOW_BYTES = 4096,
    parameter int PAGE_SHIFT = 12,
    parameter int CORE_CLOCK_KHZ = 250000,
    parameter int USER_CLOCK_KHZ = 250000,
    parameter logic [31:0] CORE_VERSION = 0,
    parameter logic [63:0] SERIAL = 0,
    parameter logic [255:0] CORE_NAME = "",
    parameter logic [511:0] CHANNEL_NAMES = ""
) (
    input logic clk,
    input logic user_clk,
    input logic rst,
    input tp_config_t cfg,
    output logic function_reset_done,
    output tp_errors_t errors,
    output logic activity,

    output logic                                tx_posted_valid,
    input  logic                                tx_posted_ready,
    output tp_write_hdr_t                       tx_posted_hdr,
    output logic               [DATA_WIDTH-1:0] tx_posted_data,
    output logic                                tx_posted_last,
    output logic                                tx_read_valid,
    input  logic                                tx_read_ready,
    output tp_read_hdr_t                        tx_read_hdr,
    output logic                                tx_answer_valid,
    input  logic                                tx_answer_ready,
    output tp_answer_hdr_t                      tx_answer_hdr,
    output logic               [DATA_WIDTH-1:0] tx_answer_data,
    output logic                                tx_answer_last,
    input  logic                                rx_completion_valid,
    input  tp_completion_hdr_t                  rx_completion_hdr,
    input  logic               [DATA_WIDTH-1:0] rx_completion_data,
    input  logic                                rx_completion_last,
    input  logic                                rx_completion_bad,
    input  logic                                rx_posted_valid,
    input  tp_request_hdr_t                     rx_posted_hdr,
    input  logic               [DATA_WIDTH-1:0] rx_posted_data,
    input  logic                                rx_posted_last,
    input  logic                                rx_nonposted_valid,
    input  tp_request_hdr_t                     rx_nonposted_hdr,
    output logic                                nonposted_credit
);
  localparam int KEEP = DATA_WIDTH / 8;

  assign activity = tx_posted_valid || tx_read_valid || tx_answer_valid || nonposted_credit || function_reset_done;

  logic user_rst_n;
  logic h2c_tvalid, h2c_tready, h2c_tlast, h2c_error, h2c_reset, c2h_tvalid, c2h_tready, c2h_tlast, c2h_reset;
  logic [DATA_WIDTH-1:0] h2c_tdata, c2h_tdata;
  logic [KEEP-1:0] h2c_tkeep, c2h_tkeep;
  logic [63:0] h2c_length, h2c_offset;
  logic [47:0] c2h_length;
  logic [31:0] h2c_user, c2h_offset, c2h_user;
  logic [31:0] awaddr, wdata, araddr, rdata;
  logic awvalid, awready, wvalid, wready, bvalid, bready, arvalid, arready, rvalid, rready;
  logic [3:0] wstrb;
  logic [1:0] bresp, rresp;
  logic [15:0] irq_valid;
  // verilator lint_off UNUSEDSIGNAL
  logic [15:0] irq_ready;  // the loopback has one interrupt
  // verilator lint_on UNUSEDSIGNAL

  assign irq_valid[15:1] = '0;

  tp_core #(
      .DATA_WIDTH(DATA_WIDTH),
      .H2C(1),
      .C2H(1),
      .USER_ASYNC(USER_ASYNC),
      .TAGS(TAGS),
      .LANDING_BYTES(LANDING_BYTES),
      .SENDING_BYTES(SENDING_BYTES),
      .QUEUE_DEPTH(QUEUE_DEPTH),
      .INLINE_SLOTS(INLINE_SLOTS),
      .VECTORS(VECTORS),
      .WINDOW_BYTES(WINDOW_BYTES),
      .PAGE_SHIFT(PAGE_SHIFT),
      .CORE_CLOCK_KHZ(CORE_CLOCK_KHZ),
      .USER_CLOCK_KHZ(USER_CLOCK_KHZ),
      .CORE_VERSION(CORE_VERSION),
      .SERIAL(SERIAL),
      .CORE_NAME(CORE_NAME),
      .CHANNEL_NAMES(CHANNEL_NAMES)
  ) i_core (
      .m_axil_awaddr(awaddr),
      .m_axil_awvalid(awvalid),
      .m_axil_awready(awready),
      .m_axil_wdata(wdata),
      .m_axil_wstrb(wstrb),
      .m_axil_wvalid(wvalid),
      .m_axil_wready(wready),
      .m_axil_bresp(bresp),
      .m_axil_bvalid(bvalid),
      .m_axil_bready(bready),
      .m_axil_araddr(araddr),
      .m_axil_arvalid(arvalid),
      .m_axil_arready(arready),
      .m_axil_rdata(rdata),
      .m_axil_rresp(rresp),
      .m_axil_rvalid(rvalid),
      .m_axil_rready(rready),
      .*
  );

  loopback #(
      .DATA_WIDTH(DATA_WIDTH)
  ) i_user (
      .clk(user_clk),
      .rst_n(user_rst_n),
      .in_tdata(h2c_tdata),
      .in_tkeep(h2c_tkeep),
      .in_tlast(h2c_tlast),
      .in_tvalid(h2c_tvalid),
      .in_tready(h2c_tready),
      .in_length(h2c_length),
      .in_offset(h2c_offset),
      .in_user(h2c_user),
      .in_error(h2c_error),
      .in_reset(h2c_reset),
      .out_tdata(c2h_tdata),
      .out_tkeep(c2h_tkeep),
      .out_tlast(c2h_tlast),
      .out_tvalid(c2h_tvalid),
      .out_tready(c2h_tready),
      .out_length(c2h_length),
      .out_offset(c2h_offset),
      .out_user(c2h_user),
      .out_reset(c2h_reset),
      .s_axil_awaddr(awaddr),
      .s_axil_awvalid(awvalid),
      .s_axil_awready(awready),
      .s_axil_wdata(wdata),
      .s_axil_wstrb(wstrb),
      .s_axil_wvalid(wvalid),
      .s_axil_wready(wready),
      .s_axil_bresp(bresp),
      .s_axil_bvalid(bvalid),
      .s_axil_bready(bready),
      .s_axil_araddr(araddr),
      .s_axil_arvalid(arvalid),
      .s_axil_arready(arready),
      .s_axil_rdata(rdata),
      .s_axil_rresp(rresp),
      .s_axil_rvalid(rvalid),
      .s_axil_rready(rready),
      .irq_valid(irq_valid[0]),
      .irq_ready(irq_ready[0])
  );
endmodule
