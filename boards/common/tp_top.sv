// SPDX-License-Identifier: Apache-2.0
// The pins that every board has. pins.xdc says where they are, tp_board.sv what is behind them.
module tp_top
  import tp_board_pkg::*;
(
    input  logic             pcie_refclk_p,
    input  logic             pcie_refclk_n,
    input  logic             pcie_reset_n,
    output logic [LANES-1:0] pcie_tx_p,
    output logic [LANES-1:0] pcie_tx_n,
    input  logic [LANES-1:0] pcie_rx_p,
    input  logic [LANES-1:0] pcie_rx_n,
    output logic [      1:0] led             // 0: the link is up; 1: the card is out of reset
);
  tp_board i_board (
      .refclk_p(pcie_refclk_p),
      .refclk_n(pcie_refclk_n),
      .perst_n (pcie_reset_n),
      .tx_p    (pcie_tx_p),
      .tx_n    (pcie_tx_n),
      .rx_p    (pcie_rx_p),
      .rx_n    (pcie_rx_n),
      .link_up (led[0]),
      .ready   (led[1])
  );
endmodule
