// SPDX-License-Identifier: Apache-2.0
// What boards of UltraScale+ have in common: reference clock, block, reset, the user core's clock, and the card.
//
// `tp_pcie` is the block, UltraScale+ Integrated Block for PCI Express (PG213), generated with common/pcie4_uscale_plus.toml. Unused
// outputs are not connected.
module tp_board
  import tp_board_pkg::*;
  import tp_user_pkg::*;
(
    input  logic             refclk_p,
    input  logic             refclk_n,
    input  logic             perst_n,
    output logic [LANES-1:0] tx_p,
    output logic [LANES-1:0] tx_n,
    input  logic [LANES-1:0] rx_p,
    input  logic [LANES-1:0] rx_n,
    output logic             link_up,
    output logic             ready     // the block's clock runs, and the card is out of reset
);
  localparam int KW = DATA_WIDTH / 32;
  localparam int RQ_USER = DATA_WIDTH == 512 ? 137 : 62;
  localparam int RC_USER = DATA_WIDTH == 512 ? 161 : 75;
  localparam int CQ_USER = DATA_WIDTH == 512 ? 183 : 88;
  localparam int CC_USER = DATA_WIDTH == 512 ? 81 : 33;

  logic refclk, refclk_gt, clk, rst, mmcm_rst, locked;
  logic [USER_CLOCKS-1:0] user_clk;
  logic user_reset, user_lnk_up;
  logic [DATA_WIDTH-1:0] s_axis_rq_tdata, m_axis_rc_tdata, m_axis_cq_tdata, s_axis_cc_tdata;
  logic [KW-1:0] s_axis_rq_tkeep, m_axis_rc_tkeep, m_axis_cq_tkeep, s_axis_cc_tkeep;
  logic [RQ_USER-1:0] s_axis_rq_tuser;
  logic [RC_USER-1:0] m_axis_rc_tuser;
  logic [CQ_USER-1:0] m_axis_cq_tuser;
  logic [CC_USER-1:0] s_axis_cc_tuser;
  logic s_axis_rq_tlast, s_axis_rq_tvalid, m_axis_rc_tlast, m_axis_rc_tvalid, m_axis_rc_tready;
  logic m_axis_cq_tlast, m_axis_cq_tvalid, m_axis_cq_tready, s_axis_cc_tlast, s_axis_cc_tvalid;
  logic [3:0] rq_ready, cc_ready;
  logic [5:0] pcie_rq_seq_num0, pcie_rq_seq_num1;
  logic pcie_rq_seq_num_vld0, pcie_rq_seq_num_vld1;
  logic [3:0] pcie_tfc_nph_av;
  logic [1:0] pcie_cq_np_req;
  logic cfg_phy_link_down, cfg_hot_reset_out;
  logic [7:0] cfg_bus_number;
  logic [1:0] max_payload;
  logic [2:0] cfg_max_read_req;
  logic [15:0] cfg_function_status;
  logic [11:0] cfg_function_power_state;
  logic [3:0] cfg_rcb_status, cfg_interrupt_msix_enable, cfg_interrupt_msix_mask, cfg_flr_in_process, cfg_flr_done;
  logic [9:0] cfg_mgmt_addr;
  logic [7:0] cfg_mgmt_function_number;
  logic cfg_mgmt_write, cfg_mgmt_read, cfg_mgmt_read_write_done;
  logic [31:0] cfg_mgmt_write_data, cfg_mgmt_read_data;
  logic [3:0] cfg_mgmt_byte_enable;

  assign link_up = user_lnk_up;
  assign ready   = !rst;

  // The block is given the clock twice: for its logic, and for its transceivers.
  IBUFDS_GTE4 #(
      .REFCLK_HROW_CK_SEL(2'b00)
  ) i_refclk (
      .I(refclk_p),
      .IB(refclk_n),
      .CEB(1'b0),
      .O(refclk_gt),
      .ODIV2(refclk)
  );

  tp_board_reset i_reset (
      .clk,
      .perst_n,
      .block_reset(user_reset),
      .locked,
      .mmcm_rst,
      .rst
  );

  if (USER_ASYNC) begin : gen_user_clock
    tp_board_clock #(
        .PLUS(1),
        .KHZ (CORE_CLOCK_KHZ)
    ) i_clock (
        .clk,
        .rst(mmcm_rst),
        .locked,
        .user_clk
    );
  end else begin : gen_one_clock
    assign user_clk = clk;
    assign locked   = 1'b1;
    logic unused_mmcm_rst;
    assign unused_mmcm_rst = mmcm_rst;
  end

  // verilator lint_off PINMISSING
  tp_pcie i_block (
      .sys_clk(refclk),
      .sys_clk_gt(refclk_gt),
      .sys_reset(perst_n),
      .pci_exp_txp(tx_p),
      .pci_exp_txn(tx_n),
      .pci_exp_rxp(rx_p),
      .pci_exp_rxn(rx_n),
      .user_clk(clk),
      .user_reset,
      .user_lnk_up,
      .s_axis_rq_tdata,
      .s_axis_rq_tkeep,
      .s_axis_rq_tlast,
      .s_axis_rq_tready(rq_ready),
      .s_axis_rq_tuser,
      .s_axis_rq_tvalid,
      .m_axis_rc_tdata,
      .m_axis_rc_tkeep,
      .m_axis_rc_tlast,
      .m_axis_rc_tready,
      .m_axis_rc_tuser,
      .m_axis_rc_tvalid,
      .m_axis_cq_tdata,
      .m_axis_cq_tkeep,
      .m_axis_cq_tlast,
      .m_axis_cq_tready,
      .m_axis_cq_tuser,
      .m_axis_cq_tvalid,
      .s_axis_cc_tdata,
      .s_axis_cc_tkeep,
      .s_axis_cc_tlast,
      .s_axis_cc_tready(cc_ready),
      .s_axis_cc_tuser,
      .s_axis_cc_tvalid,
      .pcie_rq_seq_num0,
      .pcie_rq_seq_num_vld0,
      .pcie_rq_seq_num1,
      .pcie_rq_seq_num_vld1,
      .pcie_tfc_nph_av,
      .pcie_cq_np_req,
      .cfg_phy_link_down,
      .cfg_hot_reset_out,
      .cfg_bus_number,
      .cfg_max_payload(max_payload),
      .cfg_max_read_req,
      .cfg_function_status,
      .cfg_function_power_state,
      .cfg_rcb_status,
      .cfg_flr_in_process,
      .cfg_flr_done,
      .cfg_mgmt_addr,
      .cfg_mgmt_function_number,
      .cfg_mgmt_write,
      .cfg_mgmt_write_data,
      .cfg_mgmt_byte_enable,
      .cfg_mgmt_read,
      .cfg_mgmt_read_data,
      .cfg_mgmt_read_write_done,
      .cfg_mgmt_debug_access(1'b0),
      .cfg_dsn(SERIAL),
      .cfg_config_space_enable(1'b1),
      .cfg_link_training_enable(1'b1),
      .cfg_power_state_change_ack(1'b1),
      .cfg_err_cor_in(1'b0),
      .cfg_err_uncor_in(1'b0),
      .cfg_fc_sel(3'b0),
      .cfg_msg_transmit(1'b0),
      .cfg_msg_transmit_type(3'b0),
      .cfg_msg_transmit_data(32'b0),
      .cfg_vf_flr_func_num(8'b0),
      .cfg_vf_flr_done(1'b0),
      .cfg_interrupt_int(4'b0),
      .cfg_interrupt_pending(4'b0),
      .cfg_interrupt_msi_function_number(8'b0),
      .cfg_interrupt_msix_enable,
      .cfg_interrupt_msix_mask,
      .cfg_interrupt_msix_data(32'b0),
      .cfg_interrupt_msix_address(64'b0),
      .cfg_interrupt_msix_int(1'b0),
      .cfg_interrupt_msix_vec_pending(2'b0),
      .cfg_pm_aspm_l1_entry_reject(1'b0),
      .cfg_pm_aspm_tx_l0s_entry_disable(1'b0),
      .cfg_req_pm_transition_l23_ready(1'b0),
      .cfg_hot_reset_in(1'b0),
      .cfg_ds_port_number(8'b0),
      .cfg_ds_bus_number(8'b0),
      .cfg_ds_device_number(5'b0)
  );
  // verilator lint_on PINMISSING

  // All bits of these ready pins say the same (PG213).
  logic unused_ready;
  assign unused_ready = &{rq_ready, cc_ready};

  tp_xilinx_ultrascale_card #(
      .PLUS(1),
      .RC_STRADDLE(DATA_WIDTH == 512 ? 4 : 1),  // as the block is set: common/pcie4_uscale_plus.toml
      .CQ_STRADDLE(1),
      .RQ_STRADDLE(DATA_WIDTH == 512 ? 2 : 1)
  ) i_card (
      .s_axis_rq_tready(rq_ready[0]),
      .s_axis_cc_tready(cc_ready[0]),
      .cfg_max_payload({1'b0, max_payload}),
      .*
  );
endmodule
