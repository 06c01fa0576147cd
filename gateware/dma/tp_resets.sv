// SPDX-License-Identifier: Apache-2.0
// The resets of the channels, one by one or all with the card's.
//
// A channel's reset waits until it is idle, empties its buffers, and ends when the user core has been told. If the card may send no request at any
// moment of a reset, the channel is mute until that reset has ended: tp_ring and tp_writer take back and forget what is its own, so that it can end.
// A reset of the card ends when all of these have, and the link has taken a read that it was shown.
module tp_resets #(
    parameter int CHANNELS = 2
) (
    input logic clk,
    input logic rst,
    input logic mastering,                    // requests may leave the card
    input logic [CHANNELS-1:0] request,       // pulses
    input logic card_reset,
    output logic card_reset_done,
    output logic [CHANNELS-1:0] resetting,
    output logic [CHANNELS-1:0] mute,         // nothing of the channel leaves any more
    output logic mute_card,                   // nor any message of before a reset of the card
    output logic abandon,                     // a reset of the card begins: nobody waits for answers
    output logic [CHANNELS-1:0] flush,        // forget everything, ...
    input logic [CHANNELS-1:0] emptied,       // ... until the blocks of shared memory have been given back
    input logic [CHANNELS-1:0] idle,          // nothing is queued, asked for, or on its way out
    input logic asking,                       // the link has been shown a read and has not taken it
    input logic [CHANNELS-1:0] edge_busy      // the user core has not been told
);
  logic [2:0] flush_count;  // a flush lasts a round of it, or several
  logic [CHANNELS-1:0] flushed;
  logic card_reset_was, card_resetting;
  assign abandon = card_reset && !card_reset_was;
  always_ff @(posedge clk) begin
    mute <= resetting & (mute | {CHANNELS{!mastering}});
    mute_card <= card_reset && !mastering;
    flush_count <= flush_count + 1'b1;
    card_reset_was <= card_reset;
    card_reset_done <= 1'b0;
    for (int c = 0; c < CHANNELS; c++) begin
      // The flush outlasts what is still in the pipeline of a RAM; the reset also what is still in the crossing to the user core.
      if (flush[c]) begin
        if (&flush_count && emptied[c]) begin
          flush[c] <= 1'b0;
          flushed[c] <= 1'b1;
        end
      end else if (flushed[c]) begin
        if (!edge_busy[c]) begin
          flushed[c] <= 1'b0;
          resetting[c] <= 1'b0;
        end
      end else if (&flush_count && resetting[c] && idle[c]) begin
        flush[c] <= 1'b1;
      end
      if (request[c] || abandon) resetting[c] <= 1'b1;
    end
    if (abandon) card_resetting <= 1'b1;
    else if (card_resetting && resetting == '0 && !asking) begin
      card_resetting <= 1'b0;
      card_reset_done <= 1'b1;
    end
    if (rst) begin
      resetting <= '0;
      mute <= '0;
      mute_card <= 1'b0;
      flush <= '0;
      flushed <= '0;
      flush_count <= '0;
      card_resetting <= 1'b0;
      card_reset_was <= 1'b0;
      card_reset_done <= 1'b0;
    end
  end
endmodule
