// SPDX-License-Identifier: Apache-2.0
// The block's user pins and nothing behind them: the user of bench_block is Python, too. All are inputs, so that either side may drive its own.
// Not for synthesis.
module pins #(
    parameter int DATA_WIDTH = 128,
    parameter int TAGS = 64,
    parameter int VECTORS = 8,
    parameter int PAGE_SHIFT = 12,
    parameter int WINDOW_BYTES = 4096
) (
    input logic clk,

    // driven by the block
    input logic user_reset,
    input logic user_lnk_up,
    input logic [DATA_WIDTH-1:0] m_axis_rx_tdata,
    input logic [DATA_WIDTH/8-1:0] m_axis_rx_tkeep,
    input logic m_axis_rx_tlast,
    input logic m_axis_rx_tvalid,
    input logic [21:0] m_axis_rx_tuser,
    input logic s_axis_tx_tready,
    input logic [5:0] tx_buf_av,
    input logic tx_err_drop,
    input logic tx_cfg_req,
    input logic [7:0] cfg_bus_number,
    input logic [4:0] cfg_device_number,
    input logic [2:0] cfg_function_number,
    input logic [15:0] cfg_status,
    input logic [15:0] cfg_command,
    input logic [15:0] cfg_dstatus,
    input logic [15:0] cfg_dcommand,
    input logic [15:0] cfg_lstatus,
    input logic [15:0] cfg_lcommand,
    input logic [15:0] cfg_dcommand2,
    input logic [2:0] cfg_pcie_link_state,
    input logic [1:0] cfg_pmcsr_powerstate,
    input logic cfg_received_func_lvl_rst,
    input logic cfg_to_turnoff,
    input logic cfg_err_cpl_rdy,
    input logic cfg_interrupt_msienable,
    input logic cfg_interrupt_msixenable,
    input logic cfg_interrupt_msixfm,

    // driven by the user
    input logic m_axis_rx_tready,
    input logic rx_np_ok,
    input logic rx_np_req,
    input logic [DATA_WIDTH-1:0] s_axis_tx_tdata,
    input logic [DATA_WIDTH/8-1:0] s_axis_tx_tkeep,
    input logic s_axis_tx_tlast,
    input logic s_axis_tx_tvalid,
    input logic [3:0] s_axis_tx_tuser,
    input logic tx_cfg_gnt,
    input logic cfg_turnoff_ok,
    input logic cfg_trn_pending,
    input logic cfg_err_ur,
    input logic cfg_err_cpl_abort,
    input logic cfg_err_posted,
    input logic cfg_err_locked,
    input logic cfg_err_cpl_timeout,
    input logic cfg_err_cpl_unexpect,
    input logic cfg_err_ecrc,
    input logic cfg_err_cor,
    input logic cfg_err_poisoned,
    input logic cfg_err_malformed,
    input logic [47:0] cfg_err_tlp_cpl_header
);
endmodule
