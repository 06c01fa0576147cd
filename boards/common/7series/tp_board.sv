// SPDX-License-Identifier: Apache-2.0
// What boards of the 7 series have in common: reference clock, block, reset, the user core's clock, and the card.
//
// `tp_pcie` is the block, 7 Series Integrated Block for PCI Express (PG054), generated with common/pcie_7x.toml. Which ports it has depends
// on those settings. Unused outputs are not connected.
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
  logic refclk, clk, rst, mmcm_rst, locked;
  logic [USER_CLOCKS-1:0] user_clk;
  logic user_reset_out, user_lnk_up;
  logic s_axis_tx_tready, s_axis_tx_tlast, s_axis_tx_tvalid, m_axis_rx_tlast, m_axis_rx_tvalid, m_axis_rx_tready;
  logic [DATA_WIDTH-1:0] s_axis_tx_tdata, m_axis_rx_tdata;
  logic [KEEP-1:0] s_axis_tx_tkeep, m_axis_rx_tkeep;
  logic [3:0] s_axis_tx_tuser;
  logic [21:0] m_axis_rx_tuser;
  logic [5:0] tx_buf_av;
  logic tx_cfg_gnt, rx_np_ok, rx_np_req;
  logic [7:0] fc_ph, fc_nph, fc_cplh;
  logic [2:0] fc_sel;
  logic [7:0] cfg_bus_number;
  logic [4:0] cfg_device_number;
  logic [2:0] cfg_function_number;
  logic [15:0] cfg_command, cfg_dcommand, cfg_dcommand2, cfg_lcommand;
  logic [1:0] cfg_pmcsr_powerstate;
  logic cfg_interrupt_msixenable, cfg_interrupt_msixfm, cfg_received_func_lvl_rst, cfg_to_turnoff, cfg_turnoff_ok;
  logic cfg_err_cpl_timeout, cfg_err_cpl_unexpect, cfg_err_poisoned, cfg_err_ur, cfg_err_locked, cfg_err_posted, cfg_err_cpl_rdy;
  logic [47:0] cfg_err_tlp_cpl_header;

  assign link_up = user_lnk_up;
  assign ready   = !rst;

  IBUFDS_GTE2 i_refclk (
      .I(refclk_p),
      .IB(refclk_n),
      .CEB(1'b0),
      .O(refclk),
      .ODIV2()
  );

  tp_board_reset i_reset (
      .clk,
      .perst_n,
      .block_reset(user_reset_out),
      .locked,
      .mmcm_rst,
      .rst
  );

  if (USER_ASYNC) begin : gen_user_clock
    tp_board_clock #(
        .PLUS(0),
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
      .sys_rst_n(perst_n),
      .pci_exp_txp(tx_p),
      .pci_exp_txn(tx_n),
      .pci_exp_rxp(rx_p),
      .pci_exp_rxn(rx_n),
      .user_clk_out(clk),
      .user_reset_out,
      .user_lnk_up,
      .s_axis_tx_tready,
      .s_axis_tx_tdata,
      .s_axis_tx_tkeep,
      .s_axis_tx_tlast,
      .s_axis_tx_tvalid,
      .s_axis_tx_tuser,
      .tx_buf_av,
      .tx_cfg_gnt,
      .m_axis_rx_tdata,
      .m_axis_rx_tkeep,
      .m_axis_rx_tlast,
      .m_axis_rx_tvalid,
      .m_axis_rx_tready,
      .m_axis_rx_tuser,
      .rx_np_ok,
      .rx_np_req,
      .fc_ph,
      .fc_nph,
      .fc_cplh,
      .fc_sel,
      .cfg_bus_number,
      .cfg_device_number,
      .cfg_function_number,
      .cfg_command,
      .cfg_dcommand,
      .cfg_dcommand2,
      .cfg_lcommand,
      .cfg_pmcsr_powerstate,
      .cfg_received_func_lvl_rst,
      .cfg_to_turnoff,
      .cfg_turnoff_ok,
      .cfg_dsn(SERIAL),
      .cfg_trn_pending(1'b0),
      .cfg_pm_halt_aspm_l0s(1'b0),
      .cfg_pm_halt_aspm_l1(1'b0),
      .cfg_pm_force_state_en(1'b0),
      .cfg_pm_force_state(2'b0),
      .cfg_pm_wake(1'b0),
      .cfg_pm_send_pme_to(1'b0),
      .cfg_ds_bus_number(8'b0),
      .cfg_ds_device_number(5'b0),
      .cfg_ds_function_number(3'b0),
      .cfg_interrupt(1'b0),
      .cfg_interrupt_assert(1'b0),
      .cfg_interrupt_di(8'b0),
      .cfg_interrupt_stat(1'b0),
      .cfg_pciecap_interrupt_msgnum(5'b0),
      .cfg_interrupt_msixenable,
      .cfg_interrupt_msixfm,
      .cfg_err_cpl_timeout,
      .cfg_err_cpl_unexpect,
      .cfg_err_poisoned,
      .cfg_err_ur,
      .cfg_err_locked,
      .cfg_err_posted,
      .cfg_err_tlp_cpl_header,
      .cfg_err_cpl_rdy,
      .cfg_err_ecrc(1'b0),
      .cfg_err_cpl_abort(1'b0),
      .cfg_err_cor(1'b0),
      .cfg_err_atomic_egress_blocked(1'b0),
      .cfg_err_internal_cor(1'b0),
      .cfg_err_internal_uncor(1'b0),
      .cfg_err_malformed(1'b0),
      .cfg_err_mc_blocked(1'b0),
      .cfg_err_norecovery(1'b0),
      .cfg_err_acs(1'b0),
      .cfg_err_aer_headerlog(128'b0),
      .cfg_aer_interrupt_msgnum(5'b0)
  );
  // verilator lint_on PINMISSING

  tp_xilinx_7series_card i_card (.*);
endmodule
