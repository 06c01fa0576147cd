// SPDX-License-Identifier: Apache-2.0
// tp_lists, of any one channel while others walk theirs: the pieces of its list are handed out in the order of the table, each once and
// unchanged, one for each wish, within CHANNELS + 1 clocks of the wish if one is there; none is lost for want of room. A fetch is of the
// rest of an aligned block of 64 bytes: the first where the descriptor said, each further one where the table goes on, be it the next
// block or the one that an entry names. It stands until it is granted, or the list stopped, a cycle after which it is taken back. None
// is asked for while one is out, beyond the entry that ends the table, after one has failed, or without room for its pieces; none is out
// or begins when a stopped list is quiet. A list is over when it has ended, nothing is out and no piece is left, and then only; its
// status is that of a failed fetch, or 0.
// The same with AHEAD, where rows of a channel come while its list is walked.
// Assumed: entries come of fetches that are out, as many as they have bytes for, unless one
// fails (tp_landing); a list starts when there is none, `hold` is not given, and not in the cycle after the one before it has finished;
// `stop` stays until `finish`, which comes once a stopped list was quiet; a wish stays until it is fulfilled, or the list is stopped
// (tp_front, tp_store).
module tp_lists_formal
  import towpath_pkg::*;
#(
    parameter int CHANNELS = 2,
    parameter bit INDUCTION = 1,
    parameter bit AHEAD = 0,
    localparam int CW = $clog2(CHANNELS)
) (
    input logic clk,
    input logic rst,
    input logic [CHANNELS-1:0] row_there,
    input logic [CHANNELS-1:0] start,
    input logic [63:0] start_addr,
    input logic [CHANNELS-1:0] stop,
    input logic [CHANNELS-1:0] finish,
    input logic fetch_grant,
    input logic entry_valid,
    input logic [CW-1:0] entry_channel,
    input logic [127:0] entry,
    input logic entry_last,
    input logic entry_failed,
    input logic [7:0] entry_status,
    input logic [CHANNELS-1:0] hungry,
    input logic [CW-1:0] choose,
    input logic watch
);
  localparam int PIECES = 8;
  logic fetch_valid, hold, piece_empty;
  logic [CW-1:0] fetch_channel;
  logic [63:0] fetch_addr, piece_addr;
  logic [6:0] fetch_bytes;
  logic [31:0] piece_more;
  logic [CHANNELS-1:0] piece_next, piece_valid, over, quiet;
  logic piece_any;
  logic [CHANNELS-1:0][7:0] status;
  tp_lists #(
      .CHANNELS(CHANNELS),
      .AHEAD({CHANNELS{AHEAD}})
  ) dut (
      .*
  );

  // ------------------------------------------------------------------------------------------------ what is around it
  logic started = 1'b0;
  logic [CW-1:0] who;               // the channel that is watched
  logic [CHANNELS-1:0] walks;       // it has a list
  logic [CHANNELS-1:0] out;         // a fetch of it is out, ...
  logic [CHANNELS-1:0][2:0] left;   // ... with so many entries to come
  logic [CHANNELS-1:0] settled;     // stopped and seen quiet
  logic [CHANNELS-1:0] stop1, stop2, finish1, hungry1, next_was;
  always_ff @(posedge clk) begin
    started <= 1'b1;
    if (!started) who <= choose;
    finish1 <= finish;
    next_was <= piece_next & {CHANNELS{!rst}};
    stop2 <= stop1 & stop & walks & ~finish;
    stop1 <= stop & walks & ~finish;
    hungry1 <= hungry & ~piece_valid & walks & ~finish;
    settled <= stop & walks & (settled | quiet) & ~finish;
    walks <= (walks | start) & ~finish;
    if (fetch_valid && fetch_grant) begin
      out[fetch_channel] <= 1'b1;
      left[fetch_channel] <= fetch_bytes[6:4];
    end
    if (entry_valid) begin
      left[entry_channel] <= left[entry_channel] - 1'b1;
      if (entry_last || entry_failed) out[entry_channel] <= 1'b0;
    end
    if (rst) {walks, out, settled, finish1, stop1, stop2, hungry1} <= '0;
  end
  always_comb begin
    if (!started) assume (rst && 32'(choose) < CHANNELS);
    if (entry_valid) assume (32'(entry_channel) < CHANNELS && out[entry_channel] && entry_last == (left[entry_channel] == 3'd1));
    assume (!fetch_grant || fetch_valid);
    assume ($onehot0(row_there) && (start & ~row_there) == '0 && (start & (walks | finish1)) == '0);
    if (!AHEAD) assume ((row_there & (walks | finish1)) == '0);
    if (hold) assume (start == '0);
    assume (rst || (stop1 & ~stop & walks) == '0);
    assume ((finish & ~settled) == '0);
    assume (((hungry1 & ~hungry) & walks & ~stop1) == '0);
    assume ((hungry & ~walks) == '0);
  end

  // ------------------------------------------------------------------------------------------------ the watched channel
  tp_list_entry_t e;
  assign e = entry;
  logic came, counts, keeps, taken;
  logic ended, skip, wished, watching, seen;
  logic [7:0] why;
  logic [59:0] next;                // where its next fetch begins
  logic [4:0] stored, ahead;  // its pieces that wait; those before the watched one
  logic [63:0] addr1;
  logic fetch1;
  logic [96:0] watched;
  logic [3:0] waited;               // clocks of a wish that a piece waits for
  assign came = entry_valid && entry_channel == who;
  assign counts = came && !entry_failed && walks[who] && !skip;
  assign keeps = counts && !e.control.chain;
  assign taken = piece_valid[who] && walks[who];
  always_ff @(posedge clk) begin
    fetch1 <= fetch_valid && fetch_channel == who && !fetch_grant && !stop[who] && !stop1[who];
    addr1 <= fetch_addr;
    if (fetch_valid && fetch_grant && fetch_channel == who) begin
      skip <= 1'b0;
      next <= {fetch_addr[63:6] + 1'b1, 2'b00};
    end
    if (counts && e.control.chain) next <= e.address[63:4];
    if (counts && (e.control.chain || e.control.last)) skip <= 1'b1;
    if (counts && e.control.last && !e.control.chain) ended <= 1'b1;
    if (came && entry_failed) begin
      ended <= 1'b1;
      why <= entry_status;
    end
    if (start[who]) begin
      ended <= 1'b0;
      why <= '0;
      next <= start_addr[63:4];
    end
    stored <= stored + 5'(keeps) - 5'(taken);
    if (!watching) begin
      watching <= watch && keeps;
      watched <= {e.length == '0, e.length - 1'b1, e.address};
      ahead <= stored - 5'(taken);
    end else if (taken) begin
      ahead <= ahead - 1'b1;
      watching <= ahead != '0;
    end
    seen <= watching && taken && ahead == '0;
    wished <= (hungry[who] || wished) && !taken;
    waited <= hungry[who] && stored != '0 && !taken ? waited + 1'b1 : '0;
    if (finish[who] || rst) begin
      {stored, watching, seen, wished, waited, fetch1} <= '0;
      ended <= 1'b0;
    end
  end

  always_comb
    if (started && !rst) begin
      // pieces
      if (!finish1[who]) begin
        assert (piece_valid == next_was);
        assert (!piece_valid[who] || (stored != '0 && wished));
        assert (!(taken && watching && ahead == '0) || {piece_empty, piece_more, piece_addr} == watched);
      end
      assert (stored <= 5'(PIECES) + 5'(taken));
      assert (piece_any == (piece_valid != '0));
      assert (32'(waited) <= CHANNELS + 2);
      // fetches
      if (fetch_valid && fetch_channel == who && walks[who]) begin
        assert (fetch_addr == {next, 4'b0} && 32'(fetch_bytes) == 64 - 32'(fetch_addr[5:0]));
        assert (!out[who] && !ended);
        assert (stored <= 5'(PIECES - 4) + 5'(taken));
      end
      assert (!(fetch_valid && fetch_channel == who) || walks[who]);
      assert (!fetch1 || (fetch_valid && fetch_channel == who && fetch_addr == addr1));
      assert (!(fetch_valid && fetch_channel == who) || !stop2[who]);
      assert (!settled[who] || (quiet[who] && !out[who]));
      assert (!quiet[who] || (!out[who] && !(fetch_valid && fetch_channel == who)));
      // the end
      if (walks[who]) begin
        assert (over[who] == (ended && stored == '0 && !out[who]));
        assert (!over[who] || status[who] == why);
      end
      cover (seen && stored == 5'd3 && out[who]);
      cover (over[who] && why != '0);
      cover (settled[who] && stored != '0);
    end

  if (INDUCTION) begin : g_induction
    // What the module asserts of each channel.
    for (genvar c = 0; c < CHANNELS; c++) begin : g_channel
      logic [3:0] waits;
      logic picked;
      assign waits  = dut.wr[c] - dut.rd[c];
      assign picked = dut.picked && 32'(dut.fetch_channel) == c;
      always_comb
        if (started && !rst) begin
          assert (walks[c] || !(out[c] || dut.need[c] || picked));
          assert (!dut.need[c] || (!out[c] && 32'(waits) <= PIECES - 4));
          assert (!picked || (!out[c] && 32'(waits) <= PIECES - 4));
          assert (!out[c] || (left[c] != '0 && left[c] <= 3'd4 && 32'(waits) + 32'(left[c]) <= PIECES));
          assert (32'(waits) <= PIECES);
          assert (!dut.asked[c] || waits != '0);
          assert (!settled[c] || (stop1[c] && !dut.need[c] && !picked && !out[c]));
        end
    end
    logic [3:0] place;
    assign place = dut.rd[who] + 4'(ahead) - 4'(taken);
    logic picked_mine;
    assign picked_mine = dut.picked && dut.fetch_channel == who;
    always_comb
      if (started && !rst) begin
        assert (32'(who) < CHANNELS);
        assert (dut.active == walks && dut.pending == out);
        assert (dut.wr[who] - dut.rd[who] == 4'(stored) - 4'(taken));
        assert (!walks[who] || (dut.ended[who] == ended && dut.status[who] == why));
        assert (!out[who] || !walks[who] || dut.skip[who] == skip);
        assert (walks[who] || (!dut.ended[who] && !out[who] && stored == '0 && !dut.need[who] && !watching));
        assert (!dut.need[who] || (walks[who] && !ended && !out[who] && stored <= 5'(PIECES - 4) + 5'(taken)));
        assert (!picked_mine || (walks[who] && !ended && !out[who] && stored <= 5'(PIECES - 4) + 5'(taken)));
        assert (!(walks[who] && !picked_mine && !stop1[who]) || dut.tables[who] == next || stop1[who]);
        assert (!picked_mine || {next, 4'b0} == dut.fetch_addr);
        assert (!(picked_mine && !out[who]) || dut.tables[who] == {next[59:2] + 1'b1, 2'b00});
        assert (!picked_mine || stop1[who] || dut.need[who]);
        assert (!(stop1[who] && !settled[who]) || walks[who]);
        assert (!out[who] || (left[who] != '0 && left[who] <= 3'd4));
        assert (!out[who] || stored <= 5'(PIECES) + 5'(taken) - 5'(left[who]));
        assert (!dut.asked[who] || (walks[who] && wished && stored > 5'(taken) && !(taken && !finish1[who])));
        assert (waited == '0 || dut.asked[who] || taken);
        assert (!dut.give[who] || dut.asked[who]);
        // The other channel has had its turn.
        assert (waited < 4'd2 || dut.give[who] || taken || dut.i_give.later[1] == who[0]);
        assert (waited < 4'd3 || dut.give[who] || taken);
        assert (!watching || ahead < stored);
        if (watching && !(taken && ahead == '0)) assert (dut.pieces[{who, place[2:0]}] == watched);
        assert (!settled[who] || (walks[who] && stop1[who] && !dut.need[who] && !picked_mine));
        assert ((stop1 & ~walks) == '0);
        assert ((hungry1 & ~walks) == '0);
        assert (!(finish1[who] && walks[who]));
        assert (!stop1[who] || !dut.need[who]);
        assert (!stop2[who] || stop1[who]);
      end
  end
endmodule
