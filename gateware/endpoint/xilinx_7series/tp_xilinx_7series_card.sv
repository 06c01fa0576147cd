// SPDX-License-Identifier: Apache-2.0
// All of a card of the 7 series but the vendor's primitives: the block's pins on this side, behind them the endpoint, the core and the user core of
// `tp_user_pkg`. A board's top connects this to the block; benches and the simulator connect it to models of the block's pins.
module tp_xilinx_7series_card
  import tp_tlp_pkg::*;
  import towpath_pkg::*;
  import tp_user_pkg::*;
#(
    parameter int PIN_WIDTH = DATA_WIDTH  // of the block's streams: 32 beside a DATA_WIDTH of 64 for Spartan-6
) (
    input logic clk,
    input logic [USER_CLOCKS-1:0] user_clk,
    input logic rst,

    input  logic                  user_reset_out,
    input  logic                  user_lnk_up,
    input  logic [           5:0] tx_buf_av,
    output logic                  tx_cfg_gnt,
    input  logic                  s_axis_tx_tready,
    output logic [PIN_WIDTH-1:0] s_axis_tx_tdata,
    output logic [PIN_WIDTH/8-1:0] s_axis_tx_tkeep,
    output logic                  s_axis_tx_tlast,
    output logic                  s_axis_tx_tvalid,
    output logic [           3:0] s_axis_tx_tuser,
    input  logic [PIN_WIDTH-1:0] m_axis_rx_tdata,
    // verilator lint_off UNUSEDSIGNAL
    input  logic [PIN_WIDTH/8-1:0] m_axis_rx_tkeep,  // the adapter goes by headers
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
      .PIN_WIDTH(PIN_WIDTH),
      .BAR0_BITS($clog2((TP_PAGE_CHANNELS + (H2C + C2H) * TP_PAGES_PER_CHANNEL) * TP_PAGE_BYTES_MIN)),
      .BAR2_BITS(WINDOW_BYTES < 4096 ? 12 : $clog2(WINDOW_BYTES)),  // a board's BAR is a page at least
      .BAR4_BITS(MEMORY_WINDOW_BYTES == 0 ? 20 : $clog2(MEMORY_WINDOW_BYTES))
  ) endpoint (
      .*
  );

  // This block's one stream of packets cannot be stopped: completions would be, too, and its buffer has no room for all that may come.
  tp_system system (
      .rx_posted_hold(),
      .*
  );
endmodule
