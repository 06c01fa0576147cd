// SPDX-License-Identifier: Apache-2.0
// Takes each transaction as fast as it comes, and sends others without a pause; word N of one is N.
module riffa_pour #(
    parameter C_PCI_DATA_WIDTH = 128,
    parameter LENGTH = 16384  // words of a transaction that is sent
) (
    input wire CLK,
    input wire RST,

    output wire                        CHNL_RX_CLK,
    input  wire                        CHNL_RX,
    output wire                        CHNL_RX_ACK,
    input  wire                        CHNL_RX_LAST,
    input  wire [                31:0] CHNL_RX_LEN,
    input  wire [                30:0] CHNL_RX_OFF,
    input  wire [C_PCI_DATA_WIDTH-1:0] CHNL_RX_DATA,
    input  wire                        CHNL_RX_DATA_VALID,
    output wire                        CHNL_RX_DATA_REN,

    output wire                        CHNL_TX_CLK,
    output reg                         CHNL_TX,
    input  wire                        CHNL_TX_ACK,
    output wire                        CHNL_TX_LAST,
    output wire [                31:0] CHNL_TX_LEN,
    output wire [                30:0] CHNL_TX_OFF,
    output wire [C_PCI_DATA_WIDTH-1:0] CHNL_TX_DATA,
    output wire                        CHNL_TX_DATA_VALID,
    input  wire                        CHNL_TX_DATA_REN
);
  localparam WORDS = C_PCI_DATA_WIDTH / 32;
  assign CHNL_RX_CLK = CLK;
  assign CHNL_RX_ACK = CHNL_RX;
  assign CHNL_RX_DATA_REN = 1'b1;

  reg [31:0] sent;
  assign CHNL_TX_CLK = CLK;
  assign CHNL_TX_LAST = 1'b1;
  assign CHNL_TX_LEN = LENGTH;
  assign CHNL_TX_OFF = 31'd0;
  assign CHNL_TX_DATA_VALID = CHNL_TX;
  genvar n;
  generate
    for (n = 0; n < WORDS; n = n + 1) begin : g_word
      assign CHNL_TX_DATA[32*n+:32] = sent + n;
    end
  endgenerate

  always @(posedge CLK) begin
    // Between two transactions CHNL_TX is down for a clock.
    if (!CHNL_TX) begin
      CHNL_TX <= 1'b1;
      sent <= 32'd0;
    end else if (CHNL_TX_DATA_REN) begin
      CHNL_TX <= sent + WORDS < LENGTH;
      sent <= sent + WORDS;
    end
    if (RST) begin
      CHNL_TX <= 1'b0;
      sent <= 32'd0;
    end
  end
endmodule
