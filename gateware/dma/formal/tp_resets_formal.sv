// SPDX-License-Identifier: Apache-2.0
// tp_resets: the reset of a channel ends within IDLE + EMPTY + EDGE + 20 clocks, whatever `mastering` does, where these three are the
// clocks in which the channel comes to rest, its blocks come back and the user core is told; and only after all that, a flush of eight
// clocks among it. A channel is mute only in a reset, from the clock after one in which the card may send nothing to its end. A reset of
// the card resets every channel, gives up its reads once, and is done once, when every channel's reset has ended and the link has taken
// the read that it was shown: ASK + 3 clocks after them at most.
// Assumed: what a channel has come to while it is reset stays so
// (tp_front, tp_ring, tp_writer with `mute`).
module tp_resets_formal #(
    parameter bit INDUCTION = 1,
    localparam int CHANNELS = 2,
    localparam int IDLE = 3,
    localparam int EMPTY = 9,
    localparam int EDGE = 2,
    localparam int ASK = 2
) (
    input logic clk,
    input logic rst,
    input logic mastering,
    input logic [CHANNELS-1:0] request,
    input logic card_reset,
    input logic [CHANNELS-1:0] emptied,
    input logic [CHANNELS-1:0] idle,
    input logic asking,
    input logic [CHANNELS-1:0] edge_busy
);
  logic card_reset_done, mute_card, abandon;
  logic [CHANNELS-1:0] resetting, mute, flush;
  tp_resets #(.CHANNELS(CHANNELS)) dut (.*);

  logic started = 1'b0;
  logic card1, wanted, quiet1;  // `wanted`: a reset of the card has begun and is not done
  logic [3:0] asks, rest;  // clocks for which the link has a read, and since the channels' resets have ended
  logic [CHANNELS-1:0] resetting1;
  always_ff @(posedge clk) begin
    started <= 1'b1;
    quiet1 <= resetting == '0 && !asking;
    card1 <= card_reset && !rst;
    resetting1 <= resetting & ~{CHANNELS{rst}};
    if (abandon) wanted <= 1'b1;
    else if (card_reset_done) wanted <= 1'b0;
    asks <= asking ? asks + 1'b1 : '0;
    rest <= wanted && resetting == '0 && !card_reset_done && !abandon ? rest + 1'b1 : '0;
    if (rst) {wanted, asks, rest} <= '0;
  end
  always_comb begin
    if (!started) assume (rst);
    if (32'(asks) == ASK) assume (!asking);
    if (wanted && resetting == '0) assume (!asking || asks != '0);  // no new one
    if (wanted) assume (!abandon);  // tp_card: one at a time
    if (card_reset_done) assume (!abandon);
  end

  for (genvar c = 0; c < CHANNELS; c++) begin : g_channel
    int clocks;                          // of this reset
    logic [3:0] lasts;                   // clocks of its flush
    logic barred, rested, back, begins;
    logic [7:0] to_rest, to_back, to_tell;
    always_ff @(posedge clk) begin
      clocks <= resetting[c] && !(dut.flushed[c] && !edge_busy[c]) ? clocks + 1 : 0;
      barred <= resetting[c] && (barred || !mastering);
      rested <= resetting[c] && (rested || idle[c]);
      back <= flush[c] && (back || emptied[c]);
      begins <= request[c] || abandon;
      to_rest <= resetting[c] && !flush[c] && !dut.flushed[c] && !idle[c] ? to_rest + 1'b1 : '0;
      to_back <= flush[c] && !emptied[c] ? to_back + 1'b1 : '0;
      to_tell <= dut.flushed[c] && edge_busy[c] ? to_tell + 1'b1 : '0;
      if (flush[c]) lasts <= lasts == 4'd15 ? lasts : lasts + 1'b1;
      else if (!resetting[c] || (dut.flushed[c] && !edge_busy[c])) lasts <= '0;
      if (rst) begin
        {barred, rested, back, begins, to_rest, to_back, to_tell, lasts} <= '0;
        clocks <= 0;
      end
    end
    always_comb begin
      if (32'(to_rest) == IDLE) assume (idle[c]);
      if (rested && resetting[c] && !dut.flushed[c]) assume (idle[c]);
      if (32'(to_back) == EMPTY) assume (emptied[c]);
      if (back) assume (emptied[c]);
      if (32'(to_tell) == EDGE) assume (!edge_busy[c]);
      if (started && !rst) begin
        assert (clocks >= 0 && clocks <= IDLE + EMPTY + EDGE + 20);
        assert (!begins || resetting[c]);
        assert (!mute[c] || resetting[c] || resetting1[c]);
        assert (!(barred && resetting[c]) || mute[c]);
        assert (!flush[c] || (resetting[c] && rested));
        assert (!(resetting1[c] && !resetting[c]) || lasts == '0);
        assert (!dut.flushed[c] || lasts >= 4'd8);
      end
    end
    if (INDUCTION) begin : g_induction
      always_comb
        if (started && !rst) begin
          assert (!(flush[c] && dut.flushed[c]) && (resetting[c] || !(flush[c] || dut.flushed[c])));
          assert (to_rest == '0 || (resetting[c] && !flush[c] && !dut.flushed[c] && !rested));
          assert (32'(to_rest) <= IDLE && 32'(to_back) <= EMPTY && 32'(to_tell) <= EDGE);
          assert (to_back == '0 || flush[c]);
          assert (to_tell == '0 || dut.flushed[c]);
          assert (!flush[c] || (lasts[2:0] == dut.flush_count) || 32'(to_back) + 8 >= 32'(lasts));
          if (resetting[c] && !flush[c] && !dut.flushed[c]) begin
            assert (lasts == '0);
            assert (rested ? clocks <= IDLE + 1 + 32'(dut.flush_count) + 8 : clocks == 32'(to_rest));
          end
        end
    end
  end

  if (INDUCTION) begin : g_card
    always_comb if (started && !rst) assert (wanted == (dut.card_resetting || card_reset_done) && !(dut.card_resetting && card_reset_done));
  end

  always_comb
    if (started && !rst) begin
      assert (abandon == (card_reset && !card1));
      assert (!card_reset_done || (wanted && quiet1));
      assert (32'(rest) <= ASK + 3);
      cover (card_reset_done);
      cover (resetting[0] && mute[0] && mastering && flush[0]);
    end
endmodule
