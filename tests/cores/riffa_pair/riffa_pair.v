// SPDX-License-Identifier: Apache-2.0
// Two of RIFFA's channels side by side, as RIFFA flattens them: each sends back what it receives.
module riffa_pair #(
    parameter C_NUM_CHNL = 2,
    parameter C_PCI_DATA_WIDTH = 32
) (
    input  wire                                   CLK,
    input  wire                                   RST,
    output wire [                 C_NUM_CHNL-1:0] CHNL_RX_CLK,
    input  wire [                 C_NUM_CHNL-1:0] CHNL_RX,
    output wire [                 C_NUM_CHNL-1:0] CHNL_RX_ACK,
    input  wire [                 C_NUM_CHNL-1:0] CHNL_RX_LAST,
    input  wire [              32*C_NUM_CHNL-1:0] CHNL_RX_LEN,
    input  wire [              31*C_NUM_CHNL-1:0] CHNL_RX_OFF,
    input  wire [C_PCI_DATA_WIDTH*C_NUM_CHNL-1:0] CHNL_RX_DATA,
    input  wire [                 C_NUM_CHNL-1:0] CHNL_RX_DATA_VALID,
    output wire [                 C_NUM_CHNL-1:0] CHNL_RX_DATA_REN,
    output wire [                 C_NUM_CHNL-1:0] CHNL_TX_CLK,
    output wire [                 C_NUM_CHNL-1:0] CHNL_TX,
    input  wire [                 C_NUM_CHNL-1:0] CHNL_TX_ACK,
    output wire [                 C_NUM_CHNL-1:0] CHNL_TX_LAST,
    output wire [              32*C_NUM_CHNL-1:0] CHNL_TX_LEN,
    output wire [              31*C_NUM_CHNL-1:0] CHNL_TX_OFF,
    output wire [C_PCI_DATA_WIDTH*C_NUM_CHNL-1:0] CHNL_TX_DATA,
    output wire [                 C_NUM_CHNL-1:0] CHNL_TX_DATA_VALID,
    input  wire [                 C_NUM_CHNL-1:0] CHNL_TX_DATA_REN
);
  genvar i;
  generate
    for (i = 0; i < C_NUM_CHNL; i = i + 1) begin : echo
      riffa_echo #(
          .C_PCI_DATA_WIDTH(C_PCI_DATA_WIDTH)
      ) one (
          .CLK(CLK),
          .RST(RST),
          .CHNL_RX_CLK(CHNL_RX_CLK[i]),
          .CHNL_RX(CHNL_RX[i]),
          .CHNL_RX_ACK(CHNL_RX_ACK[i]),
          .CHNL_RX_LAST(CHNL_RX_LAST[i]),
          .CHNL_RX_LEN(CHNL_RX_LEN[32*i+:32]),
          .CHNL_RX_OFF(CHNL_RX_OFF[31*i+:31]),
          .CHNL_RX_DATA(CHNL_RX_DATA[C_PCI_DATA_WIDTH*i+:C_PCI_DATA_WIDTH]),
          .CHNL_RX_DATA_VALID(CHNL_RX_DATA_VALID[i]),
          .CHNL_RX_DATA_REN(CHNL_RX_DATA_REN[i]),
          .CHNL_TX_CLK(CHNL_TX_CLK[i]),
          .CHNL_TX(CHNL_TX[i]),
          .CHNL_TX_ACK(CHNL_TX_ACK[i]),
          .CHNL_TX_LAST(CHNL_TX_LAST[i]),
          .CHNL_TX_LEN(CHNL_TX_LEN[32*i+:32]),
          .CHNL_TX_OFF(CHNL_TX_OFF[31*i+:31]),
          .CHNL_TX_DATA(CHNL_TX_DATA[C_PCI_DATA_WIDTH*i+:C_PCI_DATA_WIDTH]),
          .CHNL_TX_DATA_VALID(CHNL_TX_DATA_VALID[i]),
          .CHNL_TX_DATA_REN(CHNL_TX_DATA_REN[i])
      );
    end
  endgenerate
endmodule
