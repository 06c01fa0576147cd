// SPDX-License-Identifier: Apache-2.0
// The core with the loopback user core behind the adapter: the block's pins on this side. Device under test of the suite in tests/agree.
// Not for synthesis.
module x7_top
  import tp_tlp_pkg::*;
  import towpath_pkg::*;
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
    parameter logic [511:0] CHANNEL_NAMES = "",
    localparam int KEEP = DATA_WIDTH / 8
) (
    input logic clk,
    input logic user_clk,
    input logic rst,

    input  logic                  user_reset_out,
    input  logic                  user_lnk_up,
    input  logic [           5:0] tx_buf_av,
    output logic                  tx_cfg_gnt,
    input  logic                  s_axis_tx_tready,
    output logic [DATA_WIDTH-1:0] s_axis_tx_tdata,
    output logic [      KEEP-1:0] s_axis_tx_tkeep,
    output logic                  s_axis_tx_tlast,
    output logic                  s_axis_tx_tvalid,
    output logic [           3:0] s_axis_tx_tuser,
    input  logic [DATA_WIDTH-1:0] m_axis_rx_tdata,
    // verilator lint_off UNUSEDSIGNAL
    input  logic [      KEEP-1:0] m_axis_rx_tkeep,  // the adapter goes by headers
    // verilator lint_on UNUSEDSIGNAL
    input  logic                  m_axis_rx_tlast,
    input  logic                  m_axis_rx_tvalid,
    output logic                  m_axis_rx_tready,
    input  logic [          21:0] m_axis_rx_tuser,
    output logic                  rx_np_ok,
    output logic                  rx_np_req,
    input  logic [           7:0] fc_ph,
    input  logic [           7:0] fc_nph,
    input  logic [           7:0] fc_cplh,
    output logic [           2:0] fc_sel,
    input  logic [           7:0] cfg_bus_number,
    input  logic [           4:0] cfg_device_number,
    input  logic [           2:0] cfg_function_number,
    input  logic [          15:0] cfg_command,
    input  logic [          15:0] cfg_dcommand,
    input  logic [          15:0] cfg_dcommand2,
    input  logic [          15:0] cfg_lcommand,
    input  logic [           1:0] cfg_pmcsr_powerstate,
    input  logic                  cfg_interrupt_msixenable,
    input  logic                  cfg_interrupt_msixfm,
    input  logic                  cfg_received_func_lvl_rst,
    input  logic                  cfg_to_turnoff,
    output logic                  cfg_turnoff_ok,
    output logic                  cfg_err_cpl_timeout,
    output logic                  cfg_err_cpl_unexpect,
    output logic                  cfg_err_poisoned,
    output logic                  cfg_err_ur,
    output logic                  cfg_err_locked,
    output logic                  cfg_err_posted,
    output logic [          47:0] cfg_err_tlp_cpl_header,
    input  logic                  cfg_err_cpl_rdy
);
  tp_config_t cfg;
  tp_errors_t errors;
  logic function_reset_done;
  logic tx_posted_valid, tx_posted_ready, tx_posted_last, tx_read_valid, tx_read_ready, tx_answer_valid, tx_answer_ready, tx_answer_last;
  logic rx_completion_valid, rx_completion_last, rx_completion_bad, rx_posted_valid, rx_posted_last, rx_nonposted_valid, nonposted_credit;
  tp_write_hdr_t tx_posted_hdr;
  tp_read_hdr_t tx_read_hdr;
  tp_answer_hdr_t tx_answer_hdr;
  tp_completion_hdr_t rx_completion_hdr;
  tp_request_hdr_t rx_posted_hdr, rx_nonposted_hdr;
  logic [DATA_WIDTH-1:0] tx_posted_data, tx_answer_data, rx_completion_data, rx_posted_data;

  tp_xilinx_7series #(
      .DATA_WIDTH(DATA_WIDTH),
      .BAR0_BITS($clog2((TP_PAGE_CHANNELS + 2 * TP_PAGES_PER_CHANNEL) << PAGE_SHIFT)),
      .BAR2_BITS($clog2(WINDOW_BYTES))
  ) i_endpoint (
      .*
  );
  agree_top #(
      .DATA_WIDTH(DATA_WIDTH),
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
      .activity(),
      .*
  );
endmodule
