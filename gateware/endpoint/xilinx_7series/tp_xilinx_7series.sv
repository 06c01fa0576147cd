// SPDX-License-Identifier: Apache-2.0
// The 7 Series Integrated Block for PCI Express (PG054, 64 and 128 bit) as an endpoint: from the block's AXI4-Stream and configuration pins, by
// their names, to the neutral streams of tp_tlp_pkg. Virtex-6 (UG671) has the same pins, Spartan-6 (UG654) 32 bit of them: PIN_WIDTH 32 at a
// DATA_WIDTH of 64. Pins that these lack: see the README.
//
// `clk` is the block's user_clk_out. `rst` comes with power, or while that clock does not run: user_reset_out is an input of its own, for
// a link that goes down does not reset the core.
//
// The block must be generated with: BAR 0 and BAR 2 as the core's, MSI-X with table and pending bits in BAR 0 (the contract's page 3), 32 or
// more tags, completion timeout ranges as wanted, no expansion ROM.
// It has no function-level reset that waits for its user; the one it knows is passed on.
module tp_xilinx_7series
  import tp_tlp_pkg::*;
#(
    parameter int DATA_WIDTH = 128,         // of the neutral streams
    parameter int PIN_WIDTH = DATA_WIDTH,   // of the block's streams: the same, or 32 beside 64
    parameter int BAR0_BITS = 20,           // of an address in BAR 0, and in BAR 2: as the block is generated with
    parameter int BAR2_BITS = 12,
    parameter int BAR4_BITS = 20,
    localparam int KEEP = PIN_WIDTH / 8
) (
    input logic clk,
    input logic rst,

    // the block
    input  logic                  user_reset_out,
    input  logic                  user_lnk_up,
    input  logic [           5:0] tx_buf_av,
    output logic                  tx_cfg_gnt,
    input  logic                  s_axis_tx_tready,
    output logic [ PIN_WIDTH-1:0] s_axis_tx_tdata,
    output logic [      KEEP-1:0] s_axis_tx_tkeep,
    output logic                  s_axis_tx_tlast,
    output logic                  s_axis_tx_tvalid,
    output logic [           3:0] s_axis_tx_tuser,
    input  logic [ PIN_WIDTH-1:0] m_axis_rx_tdata,
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
    input  logic                  cfg_err_cpl_rdy,

    // the core
    output tp_config_t                          cfg,
    input  logic                                function_reset_done,
    input  tp_errors_t                          errors,
    input  logic                                tx_posted_valid,
    output logic                                tx_posted_ready,
    input  tp_write_hdr_t                       tx_posted_hdr,
    input  logic               [DATA_WIDTH-1:0] tx_posted_data,
    input  logic                                tx_posted_last,
    input  logic                                tx_read_valid,
    output logic                                tx_read_ready,
    input  tp_read_hdr_t                        tx_read_hdr,
    input  logic                                tx_answer_valid,
    output logic                                tx_answer_ready,
    input  tp_answer_hdr_t                      tx_answer_hdr,
    input  logic               [DATA_WIDTH-1:0] tx_answer_data,
    input  logic                                tx_answer_last,
    output logic                                rx_completion_valid,
    output tp_completion_hdr_t                  rx_completion_hdr,
    output logic               [DATA_WIDTH-1:0] rx_completion_data,
    output logic                                rx_completion_last,
    output logic                                rx_completion_bad,
    output logic                                rx_posted_valid,
    output tp_request_hdr_t                     rx_posted_hdr,
    output logic               [DATA_WIDTH-1:0] rx_posted_data,
    output logic                                rx_posted_last,
    output logic                                rx_nonposted_valid,
    output tp_request_hdr_t                     rx_nonposted_hdr,
    input  logic                                nonposted_credit
);
  logic link, up;
  assign link = user_lnk_up && !user_reset_out;
  always_ff @(posedge clk) up <= link && !rst;

  assign tx_cfg_gnt = 1'b1;
  assign s_axis_tx_tuser[2:0] = '0;          // no ECRC, no poison, no streaming
  assign m_axis_rx_tready = 1'b1;
  assign rx_np_req = 1'b1;

  // ------------------------------------------------------------------------------------------------ the block's width
  logic rx_tvalid, rx_tlast, tx_tvalid, tx_tready, tx_tlast, tx_discontinue;
  logic [DATA_WIDTH-1:0] rx_tdata, tx_tdata;
  logic [DATA_WIDTH/8-1:0] tx_tkeep;
  logic [21:0] rx_tuser;
  if (PIN_WIDTH == 32 && DATA_WIDTH == 64) begin : g_narrow
    tp_x7_narrow i_narrow (
        .clk,
        .rst,
        .up,
        .block_reset(user_reset_out),
        .pin_rx_tvalid(m_axis_rx_tvalid),
        .pin_rx_tdata(m_axis_rx_tdata),
        .pin_rx_tlast(m_axis_rx_tlast),
        .pin_rx_tuser(m_axis_rx_tuser),
        .pin_tx_tvalid(s_axis_tx_tvalid),
        .pin_tx_tready(s_axis_tx_tready),
        .pin_tx_tdata(s_axis_tx_tdata),
        .pin_tx_tkeep(s_axis_tx_tkeep),
        .pin_tx_tlast(s_axis_tx_tlast),
        .pin_tx_discontinue(s_axis_tx_tuser[3]),
        .rx_tvalid,
        .rx_tdata,
        .rx_tlast,
        .rx_tuser,
        .tx_tvalid,
        .tx_tready,
        .tx_tdata,
        .tx_tkeep,
        .tx_tlast,
        .tx_discontinue
    );
  end else begin : g_whole
    if (PIN_WIDTH != DATA_WIDTH) $error("%m: PIN_WIDTH %0d: make it DATA_WIDTH, or 32 where DATA_WIDTH is 64", PIN_WIDTH);
    assign rx_tvalid = m_axis_rx_tvalid;
    assign rx_tdata = m_axis_rx_tdata;
    assign rx_tlast = m_axis_rx_tlast;
    assign rx_tuser = m_axis_rx_tuser;
    assign s_axis_tx_tvalid = tx_tvalid;
    assign s_axis_tx_tdata = tx_tdata;
    assign s_axis_tx_tkeep = tx_tkeep;
    assign s_axis_tx_tlast = tx_tlast;
    assign s_axis_tx_tuser[3] = tx_discontinue;
    assign tx_tready = s_axis_tx_tready;
  end

  // ------------------------------------------------------------------------------------------------ in
  logic in_valid, in_first, in_last, in_bad, damaged, poisoned, refuse;
  logic [127:0] in_header;
  logic [7:0] in_bars;
  logic [DATA_WIDTH-1:0] in_data;
  tp_x7_receive #(
      .DATA_WIDTH(DATA_WIDTH)
  ) i_receive (
      .clk,
      .rst,
      .link,
      .up,
      .tvalid(rx_tvalid),
      .tdata(rx_tdata),
      .tlast(rx_tlast),
      .tuser(rx_tuser),
      .valid(in_valid),
      .first(in_first),
      .last(in_last),
      .bad(in_bad),
      .header(in_header),
      .bars(in_bars),
      .data(in_data)
  );
  assign rx_completion_data = in_data;
  assign rx_completion_last = in_last;
  assign rx_posted_data = in_data;
  assign rx_posted_last = in_last;
  tp_x7_requests #(
      .BAR0_BITS(BAR0_BITS),
      .BAR2_BITS(BAR2_BITS),
      .BAR4_BITS(BAR4_BITS)
  ) i_requests (
      .clk,
      .rst,
      .up,
      .valid(in_valid),
      .first(in_first),
      .last(in_last),
      .bad(in_bad),
      .header(in_header),
      .bars(in_bars),
      .rx_completion_valid,
      .rx_completion_hdr,
      .rx_completion_bad,
      .rx_posted_valid,
      .rx_posted_hdr,
      .rx_nonposted_valid,
      .rx_nonposted_hdr,
      .nonposted_credit,
      .np_ok(rx_np_ok),
      .damaged,
      .poisoned,
      .refuse,
      .refuse_locked(cfg_err_locked),
      .refuse_header(cfg_err_tlp_cpl_header),
      .refuse_ready(cfg_err_cpl_rdy)
  );
  assign cfg_err_ur = refuse;
  assign cfg_err_posted = poisoned;
  assign cfg_err_poisoned = poisoned;
  assign cfg_err_cpl_timeout = errors.completion_timeout;
  assign cfg_err_cpl_unexpect = errors.unexpected_completion;

  // ------------------------------------------------------------------------------------------------ out
  logic sent, answer_valid, answer_ready, answer_last;
  logic [DATA_WIDTH-1:0] answer_data;
  tp_whole_packet #(
      .DATA_WIDTH(DATA_WIDTH)
  ) i_answer (
      .clk,
      .rst,
      .in_valid(tx_answer_valid),
      .in_ready(tx_answer_ready),
      .in_data(tx_answer_data),
      .in_last(tx_answer_last),
      .out_valid(answer_valid),
      .out_ready(answer_ready),
      .out_data(answer_data),
      .out_last(answer_last)
  );
  tp_x7_transmit #(
      .DATA_WIDTH(DATA_WIDTH)
  ) i_transmit (
      .clk,
      .rst,
      .up,
      .block_reset(user_reset_out),
      .requester(cfg.requester),
      .posted_valid(tx_posted_valid),
      .posted_ready(tx_posted_ready),
      .posted_hdr(tx_posted_hdr),
      .posted_data(tx_posted_data),
      .posted_last(tx_posted_last),
      .read_valid(tx_read_valid),
      .read_ready(tx_read_ready),
      .read_hdr(tx_read_hdr),
      .answer_valid,
      .answer_ready,
      .answer_hdr(tx_answer_hdr),
      .answer_data,
      .answer_last,
      .tvalid(tx_tvalid),
      .tready(tx_tready),
      .tdata(tx_tdata),
      .tkeep(tx_tkeep),
      .tlast(tx_tlast),
      .discontinue(tx_discontinue),
      .sent
  );

  // ------------------------------------------------------------------------------------------------ configuration
  tp_x7_config i_config (
      .clk,
      .rst,
      .up,
      .cfg_bus_number,
      .cfg_device_number,
      .cfg_function_number,
      .cfg_command,
      .cfg_dcommand,
      .cfg_dcommand2,
      .cfg_lcommand,
      .cfg_pmcsr_powerstate,
      .cfg_interrupt_msixenable,
      .cfg_interrupt_msixfm,
      .cfg_received_func_lvl_rst,
      .cfg_to_turnoff,
      .cfg_turnoff_ok,
      .tx_buf_av,
      .fc_ph,
      .fc_nph,
      .fc_cplh,
      .fc_sel,
      .sent,
      .damaged,
      .function_reset_done,
      .cfg
  );
endmodule
