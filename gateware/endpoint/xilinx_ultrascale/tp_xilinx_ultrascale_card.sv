// SPDX-License-Identifier: Apache-2.0
// All of a card of UltraScale or UltraScale+ but the vendor's primitives: the block's pins on this side, in the widths of its family, behind them the
// endpoint, the core and the user core of `tp_user_pkg`. A board's top connects this to the block; benches and the simulator connect it to models
// of the block's pins.
module tp_xilinx_ultrascale_card
  import tp_tlp_pkg::*;
  import tp_user_pkg::*;
#(
    parameter bit PLUS = 1,
    parameter int RC_STRADDLE = 1,
    parameter int CQ_STRADDLE = 1,
    parameter int RQ_STRADDLE = 1,
    localparam int KW = DATA_WIDTH / 32,
    localparam int RQ_USER = DATA_WIDTH == 512 ? 137 : PLUS ? 62 : 60,
    localparam int RC_USER = DATA_WIDTH == 512 ? 161 : 75,
    localparam int CQ_USER = DATA_WIDTH == 512 ? 183 : PLUS ? 88 : 85,
    localparam int CC_USER = DATA_WIDTH == 512 ? 81 : 33
) (
    input logic clk,
    input logic [USER_CLOCKS-1:0] user_clk,
    input logic rst,

    output logic [DATA_WIDTH-1:0] s_axis_rq_tdata,
    output logic [        KW-1:0] s_axis_rq_tkeep,
    output logic                  s_axis_rq_tlast,
    output logic [   RQ_USER-1:0] s_axis_rq_tuser,
    output logic                  s_axis_rq_tvalid,
    input  logic                  s_axis_rq_tready,
    input  logic [DATA_WIDTH-1:0] m_axis_rc_tdata,
    input  logic [        KW-1:0] m_axis_rc_tkeep,
    input  logic                  m_axis_rc_tlast,
    input  logic [   RC_USER-1:0] m_axis_rc_tuser,
    input  logic                  m_axis_rc_tvalid,
    output logic                  m_axis_rc_tready,
    input  logic [DATA_WIDTH-1:0] m_axis_cq_tdata,
    input  logic [        KW-1:0] m_axis_cq_tkeep,
    input  logic                  m_axis_cq_tlast,
    input  logic [   CQ_USER-1:0] m_axis_cq_tuser,
    input  logic                  m_axis_cq_tvalid,
    output logic                  m_axis_cq_tready,
    output logic [DATA_WIDTH-1:0] s_axis_cc_tdata,
    output logic [        KW-1:0] s_axis_cc_tkeep,
    output logic                  s_axis_cc_tlast,
    output logic [   CC_USER-1:0] s_axis_cc_tuser,
    output logic                  s_axis_cc_tvalid,
    input  logic                  s_axis_cc_tready,

    input  logic [PLUS ? 5 : 3:0]  pcie_rq_seq_num0,
    input  logic                   pcie_rq_seq_num_vld0,
    input  logic [PLUS ? 5 : 3:0]  pcie_rq_seq_num1,
    input  logic                   pcie_rq_seq_num_vld1,
    input  logic [PLUS ? 3 : 1:0]  pcie_tfc_nph_av,
    output logic [PLUS ? 1 : 0:0]  pcie_cq_np_req,
    input  logic                   user_reset,
    input  logic                   user_lnk_up,
    input  logic                   cfg_phy_link_down,
    input  logic                   cfg_hot_reset_out,
    input  logic [            7:0] cfg_bus_number,
    input  logic [            2:0] cfg_max_payload,
    input  logic [            2:0] cfg_max_read_req,
    // verilator lint_off UNUSEDSIGNAL
    // The block tells of all its functions; a card has one.
    input  logic [           15:0] cfg_function_status,
    input  logic [           11:0] cfg_function_power_state,
    input  logic [            3:0] cfg_rcb_status,
    input  logic [PLUS ? 3 : 1:0]  cfg_interrupt_msix_enable,
    input  logic [PLUS ? 3 : 1:0]  cfg_interrupt_msix_mask,
    input  logic [            3:0] cfg_flr_in_process,
    // verilator lint_on UNUSEDSIGNAL
    output logic [            3:0] cfg_flr_done,
    output logic [PLUS ? 9 : 18:0] cfg_mgmt_addr,
    output logic [            7:0] cfg_mgmt_function_number,
    output logic                   cfg_mgmt_write,
    output logic [           31:0] cfg_mgmt_write_data,
    output logic [            3:0] cfg_mgmt_byte_enable,
    output logic                   cfg_mgmt_read,
    input  logic [           31:0] cfg_mgmt_read_data,
    input  logic                   cfg_mgmt_read_write_done
);
  tp_config_t cfg;
  logic function_reset_done;
  logic tx_posted_valid, tx_posted_ready, tx_posted_last, tx_read_valid, tx_read_ready, tx_answer_valid, tx_answer_ready, tx_answer_last;
  tp_write_hdr_t tx_posted_hdr;
  tp_read_hdr_t tx_read_hdr;
  tp_answer_hdr_t tx_answer_hdr;
  logic [DATA_WIDTH-1:0] tx_posted_data, tx_answer_data, rx_completion_data, rx_posted_data;
  logic rx_completion_valid, rx_completion_last, rx_completion_bad, rx_posted_valid, rx_posted_last, rx_nonposted_valid, nonposted_credit;
  logic rx_posted_hold;
  tp_completion_hdr_t rx_completion_hdr;
  tp_request_hdr_t rx_posted_hdr, rx_nonposted_hdr;
  logic [1:0] np_req;

  assign pcie_cq_np_req = np_req[(PLUS ? 1 : 0):0];
  assign cfg_flr_done[3:1] = '0;
  if (CQ_STRADDLE != 1 && MEMORY_WINDOW_BYTES != 0)
    $error("%m: CQ_STRADDLE %0d: make it 1 for a core with memory windows, which must be able to stop requests", CQ_STRADDLE);

  assign cfg_mgmt_function_number = '0;
  assign cfg_mgmt_write = 1'b0;
  assign cfg_mgmt_write_data = '0;
  assign cfg_mgmt_byte_enable = '0;

  tp_xilinx_ultrascale #(
      .PLUS(PLUS),
      .DATA_WIDTH(DATA_WIDTH),
      .RC_STRADDLE(RC_STRADDLE),
      .CQ_STRADDLE(CQ_STRADDLE),
      .RQ_STRADDLE(RQ_STRADDLE)
  ) endpoint (
      .pcie_cq_np_req(np_req),
      .cfg_function_status(cfg_function_status[3:0]),
      .cfg_function_power_state(cfg_function_power_state[2:0]),
      .cfg_rcb_status(cfg_rcb_status[0]),
      .cfg_interrupt_msix_enable(cfg_interrupt_msix_enable[0]),
      .cfg_interrupt_msix_mask(cfg_interrupt_msix_mask[0]),
      .cfg_flr_in_process(cfg_flr_in_process[0]),
      .cfg_flr_done(cfg_flr_done[0]),
      .*
  );

  tp_system system (
      .errors(),
      .*
  );
endmodule
