// SPDX-License-Identifier: Apache-2.0
// Both halves of a channel of RIFFA, each core port on a clock of its own: for bench_riffa.py.
module tb_riffa #(
    parameter  int DATA_WIDTH = 64,
    parameter  int WIDTH      = 32,
    localparam int KEEP       = DATA_WIDTH / 8
) (
    input  logic                  clk,
    input  logic                  rst_n,
    input  logic                  s_reset,
    input  logic                  s_tvalid,
    output logic                  s_tready,
    input  logic [DATA_WIDTH-1:0] s_tdata,
    input  logic [      KEEP-1:0] s_tkeep,
    input  logic                  s_tlast,
    input  logic [          63:0] s_length,
    input  logic [          63:0] s_offset,
    input  logic [          31:0] s_user,
    input  logic                  m_reset,
    output logic                  m_tvalid,
    input  logic                  m_tready,
    output logic [DATA_WIDTH-1:0] m_tdata,
    output logic [      KEEP-1:0] m_tkeep,
    output logic                  m_tlast,
    output logic [          47:0] m_length,
    output logic [          31:0] m_offset,
    output logic [          31:0] m_user,
    input  logic                  rx_clk,
    output logic                  rx,
    input  logic                  rx_ack,
    output logic                  rx_last,
    output logic [          31:0] rx_len,
    output logic [          30:0] rx_off,
    output logic [     WIDTH-1:0] rx_data,
    output logic                  rx_data_valid,
    input  logic                  rx_data_ren,
    input  logic                  tx_clk,
    input  logic                  tx,
    output logic                  tx_ack,
    input  logic                  tx_last,
    input  logic [          31:0] tx_len,
    input  logic [          30:0] tx_off,
    input  logic [     WIDTH-1:0] tx_data,
    input  logic                  tx_data_valid,
    output logic                  tx_data_ren
);
  tp_riffa_rx #(
      .DATA_WIDTH(DATA_WIDTH),
      .WIDTH(WIDTH)
  ) receive (
      .*
  );
  tp_riffa_tx #(
      .DATA_WIDTH(DATA_WIDTH),
      .WIDTH(WIDTH)
  ) send (
      .*
  );
endmodule
