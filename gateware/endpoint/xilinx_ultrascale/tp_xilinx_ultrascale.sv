// SPDX-License-Identifier: Apache-2.0
// The endpoint of UltraScale (PG156) and UltraScale+ (PG213): between the block's four AXI4-Streams and the neutral TLP streams.
//
// Ports of the block bear its names. Where a family's port is narrower, or is not there: take the lowest bits, and tie inputs to 0. UltraScale's
// pcie_rq_seq_num is seq_num0 here. The block is to be set up with client tags (up to 64 in UltraScale: build the core with no more), dword-aligned
// streams, 64-bit BARs, MSI-X outside of the block, completions checked by the block, and without parity. It is told by its own pins:
// cfg_power_state_change_ack 1, cfg_config_space_enable 1, cfg_err_cor_in and cfg_err_uncor_in 0 (the block itself notes what the core could tell).
//
// The STRADDLE parameters tell how many packets the block puts into a beat of RC and CQ, and takes from one of RQ. CC carries one, and RQ with
// RQ_STRADDLE 1, whether the block straddles there or not.
// `rst` comes with power, user_reset is the block's own: it cuts packets, and is a link that is down to the core. Both are synchronous to clk.
module tp_xilinx_ultrascale
  import tp_tlp_pkg::*;
  import tp_ultrascale_pkg::*;
#(
    parameter bit PLUS = 1,                // UltraScale+
    parameter int DATA_WIDTH = 128,        // 64, 128, 256; UltraScale+ also 512
    parameter int RC_STRADDLE = 1,         // 1; at 256 and 512 bit 2; at 512 bit 4
    parameter int CQ_STRADDLE = 1,         // 1; at 512 bit 2
    parameter int RQ_STRADDLE = 1,         // 1; at 512 bit 2
    localparam int KW = DATA_WIDTH / 32,
    localparam int RQ_USER = DATA_WIDTH == 512 ? 137 : PLUS ? 62 : 60,
    localparam int RC_USER = DATA_WIDTH == 512 ? 161 : 75,
    localparam int CQ_USER = DATA_WIDTH == 512 ? 183 : PLUS ? 88 : 85,
    localparam int CC_USER = DATA_WIDTH == 512 ? 81 : 33,
    localparam int SEQ = PLUS ? 6 : 4,
    localparam int CREDITS = PLUS ? 4 : 2,
    localparam int MGMT = PLUS ? 10 : 19
) (
    input logic clk,
    input logic rst,

    output logic [DATA_WIDTH-1:0] s_axis_rq_tdata,
    output logic [        KW-1:0] s_axis_rq_tkeep,
    output logic                  s_axis_rq_tlast,
    output logic [   RQ_USER-1:0] s_axis_rq_tuser,
    output logic                  s_axis_rq_tvalid,
    input  logic                  s_axis_rq_tready,
    input  logic [       SEQ-1:0] pcie_rq_seq_num0,
    input  logic                  pcie_rq_seq_num_vld0,
    input  logic [       SEQ-1:0] pcie_rq_seq_num1,
    input  logic                  pcie_rq_seq_num_vld1,
    input  logic [   CREDITS-1:0] pcie_tfc_nph_av,

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
    output logic [           1:0] pcie_cq_np_req,

    output logic [DATA_WIDTH-1:0] s_axis_cc_tdata,
    output logic [        KW-1:0] s_axis_cc_tkeep,
    output logic                  s_axis_cc_tlast,
    output logic [   CC_USER-1:0] s_axis_cc_tuser,
    output logic                  s_axis_cc_tvalid,
    input  logic                  s_axis_cc_tready,

    input  logic            user_reset,
    input  logic            user_lnk_up,
    input  logic            cfg_phy_link_down,
    input  logic            cfg_hot_reset_out,
    input  logic [     7:0] cfg_bus_number,
    input  logic [     2:0] cfg_max_payload,
    input  logic [     2:0] cfg_max_read_req,
    input  logic [     3:0] cfg_function_status,
    input  logic [     2:0] cfg_function_power_state,
    input  logic            cfg_rcb_status,
    input  logic            cfg_interrupt_msix_enable,
    input  logic            cfg_interrupt_msix_mask,
    input  logic            cfg_flr_in_process,
    output logic            cfg_flr_done,
    output logic [MGMT-1:0] cfg_mgmt_addr,
    output logic            cfg_mgmt_read,
    input  logic [    31:0] cfg_mgmt_read_data,
    input  logic            cfg_mgmt_read_write_done,

    output tp_config_t                          cfg,
    input  logic                                function_reset_done,
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
    input  logic                                rx_posted_hold,
    output logic                                rx_posted_valid,
    output tp_request_hdr_t                     rx_posted_hdr,
    output logic               [DATA_WIDTH-1:0] rx_posted_data,
    output logic                                rx_posted_last,
    output logic                                rx_nonposted_valid,
    output tp_request_hdr_t                     rx_nonposted_hdr,
    input  logic                                nonposted_credit
);
  if (DATA_WIDTH != 64 && DATA_WIDTH != 128 && DATA_WIDTH != 256 && !(PLUS && DATA_WIDTH == 512))
    $error("%m: DATA_WIDTH %0d: make it 64, 128, 256, or in UltraScale+ 512", DATA_WIDTH);
  if (!(RC_STRADDLE == 1 || (RC_STRADDLE == 2 && DATA_WIDTH >= 256) || (RC_STRADDLE == 4 && DATA_WIDTH == 512)))
    $error("%m: RC_STRADDLE %0d: make it 1; at 256 and 512 bit it may be 2, at 512 bit 4", RC_STRADDLE);
  if (!(CQ_STRADDLE == 1 || (CQ_STRADDLE == 2 && DATA_WIDTH == 512)))
    $error("%m: CQ_STRADDLE %0d: make it 1; at 512 bit it may be 2", CQ_STRADDLE);
  if (!(RQ_STRADDLE == 1 || (RQ_STRADDLE == 2 && DATA_WIDTH == 512)))
    $error("%m: RQ_STRADDLE %0d: make it 1; at 512 bit it may be 2", RQ_STRADDLE);

  logic link_down, write_start, write_full, answer, answered, pass, ask, refuse, refusing, write_damaged;
  logic [SEQ-2:0] write_number;
  logic [7:0] room;
  cq_t ask_head;
  cq_side_t ask_side;
  assign link_down = !cfg.link_up;

  tp_us_config #(
      .PLUS(PLUS)
  ) i_config (
      .damaged(write_damaged || (rx_completion_valid && rx_completion_bad)),
      .*
  );

  tp_us_order #(
      .SEQ(SEQ)
  ) i_order (
      .clk,
      .rst,
      .clear(link_down),
      .mastering(cfg_function_status[2]),
      .seq0(pcie_rq_seq_num0),
      .seq0_valid(pcie_rq_seq_num_vld0),
      .seq1(pcie_rq_seq_num1),
      .seq1_valid(pcie_rq_seq_num_vld1),
      .start(write_start),
      .number(write_number),
      .full(write_full),
      .room,
      .answer,
      .answered,
      .pass
  );

  tp_us_rq #(
      .DATA_WIDTH(DATA_WIDTH),
      .USER(RQ_USER),
      .SEQ(SEQ),
      .CREDITS(CREDITS),
      .STRADDLE(RQ_STRADDLE)
  ) i_rq (
      .skip(link_down),
      .cut(user_reset),
      .*
  );

  tp_us_rc #(
      .DATA_WIDTH(DATA_WIDTH),
      .USER(RC_USER),
      .STRADDLE(RC_STRADDLE)
  ) i_rc (
      .cut(user_reset),
      .*
  );

  tp_us_cq #(
      .DATA_WIDTH(DATA_WIDTH),
      .USER(CQ_USER),
      .STRADDLE(CQ_STRADDLE)
  ) i_cq (
      .cut(user_reset),
      .pcie_cq_np_req(pcie_cq_np_req[0]),
      .damaged(write_damaged),
      .*
  );
  assign pcie_cq_np_req[1] = 1'b0;

  tp_us_cc #(
      .DATA_WIDTH(DATA_WIDTH),
      .USER(CC_USER)
  ) i_cc (
      .skip(link_down),
      .cut(user_reset),
      .*
  );
endmodule
