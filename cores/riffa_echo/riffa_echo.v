// SPDX-License-Identifier: Apache-2.0
// A core with the ports of one of RIFFA's channels: it sends back every transaction that it receives, with its length, offset and last.
//
// As in RIFFA both halves run on CLK. It needs no memory for a transaction: what comes in goes out.
module riffa_echo #(
    parameter C_PCI_DATA_WIDTH = 128
) (
    input  wire                        CLK,
    input  wire                        RST,
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
    output wire                        CHNL_TX,
    input  wire                        CHNL_TX_ACK,
    output wire                        CHNL_TX_LAST,
    output wire [                31:0] CHNL_TX_LEN,
    output wire [                30:0] CHNL_TX_OFF,
    output wire [C_PCI_DATA_WIDTH-1:0] CHNL_TX_DATA,
    output wire                        CHNL_TX_DATA_VALID,
    input  wire                        CHNL_TX_DATA_REN
);
  localparam [31:0] WORDS = C_PCI_DATA_WIDTH / 32;
  localparam [1:0] IDLE = 2'd0, ASK = 2'd1, MOVE = 2'd2, REST = 2'd3;
  reg [1:0] state;
  reg [31:0] len, left;
  reg [30:0] off;
  reg last;

  assign CHNL_RX_CLK = CLK;
  assign CHNL_TX_CLK = CLK;
  assign CHNL_RX_ACK = state == ASK && CHNL_TX_ACK;  // received once it is certain that it can be sent
  assign CHNL_TX = state == ASK || state == MOVE;
  assign {CHNL_TX_LAST, CHNL_TX_LEN, CHNL_TX_OFF} = {last, len, off};
  assign CHNL_TX_DATA = CHNL_RX_DATA;
  assign CHNL_TX_DATA_VALID = state == MOVE && CHNL_RX_DATA_VALID;
  assign CHNL_RX_DATA_REN = state == MOVE && CHNL_TX_DATA_REN;

  wire moves = CHNL_TX_DATA_VALID && CHNL_TX_DATA_REN;
  always @(posedge CLK) begin
    case (state)
      IDLE:
      if (CHNL_RX) begin
        {last, len, off} <= {CHNL_RX_LAST, CHNL_RX_LEN, CHNL_RX_OFF};
        left <= CHNL_RX_LEN;
        state <= ASK;
      end
      ASK: if (CHNL_TX_ACK) state <= len == 32'd0 ? REST : MOVE;
      MOVE:
      if (moves) begin
        left <= left - WORDS;
        if (left <= WORDS) state <= REST;
      end
      default: state <= IDLE;
    endcase
    if (RST) state <= IDLE;
  end
endmodule
