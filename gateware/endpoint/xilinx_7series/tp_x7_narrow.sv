// SPDX-License-Identifier: Apache-2.0
// Between a block's 32-bit pins (Spartan-6: UG654, its AXI4-Stream interface) and the endpoint's streams of 64 bit: two beats there are one here.
//
// Promises: what is shown to the block stays until it is taken, and a packet of which the block has a part is ended there, unless the block is
// reset. A packet of which the block has nothing when the link goes is dropped. Inward nothing is delayed beyond the second half's clock.
module tp_x7_narrow (
    input logic clk,
    input logic rst,
    input logic up,
    input logic block_reset,                // the block forgets what it has

    // the pins
    input  logic        pin_rx_tvalid,
    input  logic [31:0] pin_rx_tdata,
    input  logic        pin_rx_tlast,
    input  logic [21:0] pin_rx_tuser,
    output logic        pin_tx_tvalid,
    input  logic        pin_tx_tready,
    output logic [31:0] pin_tx_tdata,
    output logic [ 3:0] pin_tx_tkeep,
    output logic        pin_tx_tlast,
    output logic        pin_tx_discontinue,

    // the endpoint
    output logic        rx_tvalid,
    output logic [63:0] rx_tdata,
    output logic        rx_tlast,
    output logic [21:0] rx_tuser,
    input  logic        tx_tvalid,
    output logic        tx_tready,
    input  logic [63:0] tx_tdata,
    input  logic [ 7:0] tx_tkeep,
    input  logic        tx_tlast,
    input  logic        tx_discontinue
);
  // ------------------------------------------------------------------------------------------------ in
  logic half;                               // `low` holds the first half of a beat
  logic [31:0] low;
  assign rx_tvalid = pin_rx_tvalid && (half || pin_rx_tlast);
  assign rx_tdata = half ? {pin_rx_tdata, low} : {32'b0, pin_rx_tdata};
  assign rx_tlast = pin_rx_tlast;
  assign rx_tuser = pin_rx_tuser;           // each beat of a packet tells of its BARs, its last one of damage
  always_ff @(posedge clk) begin
    if (pin_rx_tvalid) begin
      low <= pin_rx_tdata;
      half <= !half && !pin_rx_tlast;
    end
    if (rst || !up) half <= 1'b0;
  end

  // ------------------------------------------------------------------------------------------------ out
  logic full, both, last, discontinue;  // a beat is held; of two halves; the packet's last one
  logic upper;                              // its second half is shown
  logic open;                               // the block has a part of the packet
  logic swallow;                            // the rest of a packet of which the block has nothing
  logic [63:0] held;
  logic ends;                               // the half that is shown is the beat's last
  assign ends = upper || !both;
  assign pin_tx_tvalid = full;
  assign pin_tx_tdata = upper ? held[63:32] : held[31:0];
  assign pin_tx_tkeep = '1;
  assign pin_tx_tlast = last && ends;
  assign pin_tx_discontinue = discontinue && ends;
  assign tx_tready = swallow || !full || (pin_tx_tready && ends);
  always_ff @(posedge clk) begin
    if (full && pin_tx_tready) begin
      open <= !pin_tx_tlast;
      upper <= !ends;
      if (ends) full <= 1'b0;
    end else if (full && !up && !open) begin
      full <= 1'b0;
      swallow <= !last;
    end
    if (tx_tvalid && tx_tready) begin
      held <= tx_tdata;
      both <= tx_tkeep[4];
      last <= tx_tlast;
      discontinue <= tx_discontinue;
      full <= !swallow;
      upper <= 1'b0;
      if (tx_tlast) swallow <= 1'b0;
    end
    if (rst || block_reset) begin
      full <= 1'b0;
      upper <= 1'b0;
      open <= 1'b0;
      swallow <= 1'b0;
    end
  end
endmodule
