// SPDX-License-Identifier: Apache-2.0
// Fill levels: the host names a number of bytes for a channel, and its vector fires once, as soon as the card holds so many.
//
// A channel's level stands in a small RAM. One channel after the other is looked at, in step with tp_ring's `scan`: in one cycle its level and
// what it holds are fetched, in the next one they are compared. What is due is tp_ring's to fire: it has the vectors.
//
// A store replaces the one before and takes back what has not been fired of it; `above` with 0 bytes is a store that asks for nothing.
// A C2H channel whose core can send no more, without a descriptor, is full: `above` fires then, however many bytes were named.
//
// Promises: one fire at most for each store, never below an `above` level nor over the other kind, but where a channel is `stuck`; a level that
// stands for CHANNELS + 1 clocks is due with the last of them. `held` is as it was with `read`, until the next one.
module tp_fill
  import towpath_pkg::*;
#(
    parameter int CHANNELS = 2,
    parameter int WIDTH = 15,               // no channel holds 2^WIDTH - 1 bytes
    localparam int CW = CHANNELS > 1 ? $clog2(CHANNELS) : 1
) (
    input logic clk,
    input logic rst,

    input logic          fill_valid,
    input logic [CW-1:0] fill_channel,
    input logic [31:0]   fill_level,

    input logic [CHANNELS-1:0]       resetting,
    input logic [CHANNELS-1:0][30:0] holds,  // bytes
    input logic [CHANNELS-1:0]       stuck,      // its core can send no more, and no descriptor is there
    input logic [CW-1:0]                  scan,

    output logic [CHANNELS-1:0] due,
    input  logic [CHANNELS-1:0] taken,      // its fire is on the way: one, or none

    input  logic          read,
    input  logic [CW-1:0] read_channel,
    output logic [31:0]   held
);
  if (TP_DOORBELL_FILL_BYTES_LSB != 0 || TP_DOORBELL_FILL_ABOVE_LSB != 31) $error("%m: the doorbell `fill` has changed: adapt it");

  // All ones is more than any channel holds.
  typedef struct packed {
    logic above;
    logic [WIDTH-1:0] bytes;
  } level_t;
  level_t level;
  logic [$bits(level_t)-1:0] levels[2**CW];
  logic above;
  logic [30:0] bytes;
  assign {above, bytes} = fill_level;

  logic [CHANNELS-1:0] asked;
  logic [CW-1:0] at;
  logic [WIDTH-1:0] has;
  logic look, full, reached, hit;
  assign reached = level.above ? full || has >= level.bytes : has <= level.bytes;
  assign hit = look && reached;

  always_ff @(posedge clk) begin
    if (fill_valid) levels[fill_channel] <= {above, |(bytes >> WIDTH) ? {WIDTH{1'b1}} : bytes[WIDTH-1:0]};
    level <= levels[scan];
    at <= scan;
    has <= holds[scan][WIDTH-1:0];
    full <= stuck[scan];
    look <= asked[scan] && !(fill_valid && fill_channel == scan) && !resetting[scan] && !rst;  // a new one has the next turn
    if (read) held <= {stuck[read_channel], holds[read_channel]};
    for (int c = 0; c < CHANNELS; c++) begin
      if (taken[c]) due[c] <= 1'b0;
      if (hit && at == CW'(c)) begin
        asked[c] <= 1'b0;
        due[c] <= 1'b1;
      end
      if (fill_valid && fill_channel == CW'(c)) begin  // of the one before, what is found in this cycle is taken back, too
        asked[c] <= !above || bytes != '0;
        due[c] <= 1'b0;
      end
      if (rst || resetting[c]) begin
        asked[c] <= 1'b0;
        due[c] <= 1'b0;
      end
    end
  end
  initial for (int i = 0; i < 2 ** CW; i++) levels[i] = '0;
endmodule
