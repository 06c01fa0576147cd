// SPDX-License-Identifier: Apache-2.0
// tp_front with tp_store: no more descriptors are queued, in hand or not completed than QUEUE_DEPTH, whatever the host pushes, one or many; each
// one that was accepted comes in hand once, in its turn and as it stood when it was pushed, while other channels write, push and load, and while
// the host writes ahead; a dword that was not written since its row was pushed last makes it torn. A prefix is no descriptor. No more than two
// plans of it wait, each in a place of its own; attributes that are not zero are told of; it is complete when its last plan was taken, and is then told as done whatever comes in that
// cycle or later; none is left when it has finished; one that is over stays so until it finishes.
// With AHEAD, each descriptor is seen for tp_asked once before it is in hand or as it comes, unless it asks nothing; as it stood when it was pushed;
// once more after a `rewind`.
// Assumed: the host writes to no row that is queued, and pushes no more than it may, or none is accepted; a reset lasts and an engine that has abandoned a descriptor wants no more of it; it takes only what waits, finishes only what is over, and a completion is told only of what has finished, and not two in adjacent clocks; a cut is
// answered in the next cycle, a piece comes when one is wanted, the descriptor's last one by one that is also its piece's; the fetch of a list that was
// stopped and is quiet stays quiet.
module tp_front_formal
  import towpath_pkg::*;
#(
    parameter int QUEUE_DEPTH = 4,
    parameter bit AHEAD = 0,       // the front of a C2H channel that is asked ahead; else that of an H2C channel
    localparam int AW = $clog2(QUEUE_DEPTH),
    localparam int RW = AW + 1,
    localparam int PW = RW + 1
) (
    input logic clk,
    input logic rst,
    input logic push_valid,
    input logic [7:0] push_count,
    input logic words,             // of a descriptor, in the beat
    input logic torn,
    input logic batch_next,        // the beat in two cycles is of the batch page
    input logic channel_next,      // ... and of this channel, 1 the other
    input logic [11:2] turned_at,
    input logic [3:0][31:0] turned_data,
    input logic [3:0][3:0] turned_strb,
    input logic restart,
    input logic [PW-1:0] other_next_at,
    input logic other_want,
    input logic [PW-1:0] other_want_at,
    input logic hold,
    input logic cancel,
    input logic enabled,
    input logic resetting,
    input logic barred,
    input logic [7:0] barred_status,
    input logic flush,
    input logic completed,
    input logic piece_valid,
    input logic piece_empty,
    input logic cut_grant,
    input logic plan_all,
    input logic plan_last,
    input logic list_over,
    input logic [7:0] list_status,
    input logic list_quiet,
    input logic take,
    input logic abandon,
    input logic finish,
    input logic see_more,
    input logic rewind,
    input logic watch,
    input logic [AW:0] watch_behind,  // how far behind the first one of the push
    input logic [RW-1:0] spot         // a row whose writes are followed, any
);
  logic push_accept, error, error_pulse, idle, want, list_start, list_stop, list_finish, hungry;
  logic [PW-1:0] next_at, want_at;
  assign push_accept = dut.push_accept;
  logic [15:0] overflows;
  logic d_valid, d_end, d_inline, d_empty, d_over, d_broken, p_valid, p_last, p_at, stopping;
  logic cut_row, cut_piece, cut_want, plan_valid, plan_at, plan_known, plan_none;
  logic [15:0] d_cookie;
  logic [7:0] d_status;
  logic [31:0] d_user;
  logic [63:0] d_length, d_offset;
  logic [1:0] d_prefix;
  logic see_prefix, see_ask, d_asks;
  logic [1:0] grant, row_valid;
  logic [128:0] row;
  logic row_malformed, row_prefix, row_list, row_inline, row_empty;

  tp_store #(
      .CHANNELS(2),
      .ROWS(2 * QUEUE_DEPTH)
  ) store (
      .clk,
      .rst,
      .wr_batch(batch_next),
      .wr_channel(channel_next),
      .turned_at,
      .turned_data,
      .turned_strb,
      .put(words),
      .put_torn(torn),
      .next_at({other_next_at, next_at}),
      .hold,
      .want({other_want, want}),
      .want_at({other_want_at, want_at}),
      .grant,
      .row_there(),
      .row_valid,
      .row,
      .row_malformed,
      .row_prefix,
      .row_list,
      .row_inline,
      .row_empty
  );
  tp_front #(
      .QUEUE_DEPTH(QUEUE_DEPTH),
      .H2C(!AHEAD),
      .AHEAD(AHEAD)
  ) dut (
      .clk,
      .rst,
      .push_valid,
      .push_count,
      .next_at,
      .restart,
      .cancel,
      .enabled,
      .resetting,
      .barred,
      .barred_status,
      .flush,
      .completed,
      .error,
      .error_pulse,
      .overflows,
      .idle,
      .cancelling(),
      .want,
      .want_at,
      .grant(grant[0]),
      .row_valid(row_valid[0]),
      .row,
      .row_malformed,
      .row_prefix,
      .row_list,
      .row_inline,
      .row_empty,
      .list_start,
      .list_stop,
      .list_finish,
      .hungry,
      .piece_valid,
      .piece_empty,
      .list_over,
      .list_status,
      .list_quiet,
      .cut_row,
      .cut_piece,
      .cut_want,
      .cut_grant,
      .plan_valid,
      .plan_all,
      .plan_last,
      .plan_at,
      .plan_known,
      .plan_none,
      .d_valid,
      .d_cookie,
      .d_end,
      .d_inline,
      .d_empty,
      .d_over,
      .d_broken,
      .d_status,
      .d_prefix,
      .d_length,
      .d_offset,
      .d_user,
      .p_valid,
      .p_last,
      .p_at,
      .take,
      .abandon,
      .finish,
      .stopping,
      .see_prefix,
      .see_ask,
      .see_none(),
      .d_asks,
      .see_more,
      .rewind
  );

  logic started = 1'b0;
  logic [PW-1:0] queued, place;  // `place`: of the watched one, behind the head
  logic [RW-1:0] spot_was;
  logic [AW:0] untold;  // finished, its completion not told
  logic completed1;
  logic abandon_was, finish_was, resetting_was, over_was, quiet_was;
  logic [1:0] places;  // where plans wait
  logic whole;         // all plans were taken
  // Too late to count: the card may send nothing since the cycle before, in which the engine could still take what it had begun.
  logic late;
  assign late = dut.was_barring && !dut.ended && !abandon && !d_inline && !d_empty;
  always_ff @(posedge clk) begin
    abandon_was <= abandon;
    resetting_was <= resetting;
    finish_was <= finish;
    over_was <= d_over && !finish && !rst;
    quiet_was <= list_quiet && list_stop;
    plan_valid <= !rst && ((cut_row && !row_list) || (cut_piece && !piece_empty) || cut_grant);
    if (take) places[p_at] <= 1'b0;
    if (plan_valid) places[plan_at] <= 1'b1;
    if (dut.pop && !row_prefix) places <= dut.sound && (row_empty ? !AHEAD && dut.head.control.end_ : row_inline) ? 2'b01 << p_at : '0;
    if (rst || finish) places <= '0;
    if (take && p_last && dut.own_status == '0 && !late) whole <= 1'b1;
    if (rst || finish || !d_valid) whole <= 1'b0;
    started <= 1'b1;
    untold <= untold + (AW + 1)'(finish) - (AW + 1)'(completed);
    completed1 <= completed;
    if (rst) untold <= '0;
  end
  logic [PW-1:0] row_at;  // of the row that comes, ...
  logic row_known;  // ... unless it is none that is wanted any more
  if (AHEAD) begin : g_known
    assign row_at = dut.peeking ? dut.seen : dut.rd;
    assign row_known = !(dut.peeking && dut.g_ahead.outdated);
    always_comb if (started && !rst) assert (!dut.g_ahead.rest || dut.seen != dut.wr);
  end else begin : g_known
    assign row_at = dut.rd;
    assign row_known = 1'b1;
  end
  always_comb begin
    if (!started) assume (rst);
    if (started) begin
      assume (!words || !store.batch);  // one beat comes at a time
      assume (!(words && push_valid) || (store.channel == 1'b0 && push_count == 8'd1));
      // A batch writes ahead of what is queued.
      if (store.batch && store.channel == 1'b0)
        for (int i = 0; i < 4; i++) assume (!store.whole[i] || PW'(PW'(store.at[i][11:4]) - dut.wr) < PW'(2 * QUEUE_DEPTH) - queued);
      assume (!restart || (dut.idle && resetting));
      assume (spot == spot_was);
      assume (!take || (p_valid && d_valid));
      assume (!cut_piece || hungry);  // it stays so until a piece comes
      assume (!cut_grant || cut_want);
      assume (!plan_last || plan_all);
      assume (!finish || (d_valid && d_over));
      assume (!take || !finish);
      assume (!completed || (untold != '0 && !completed1));
      if (abandon_was && !finish_was) assume (abandon);
      if (resetting_was && d_valid) assume (resetting);
      if (!d_valid) assume (!abandon);
      if (quiet_was) assume (list_quiet);
      if (rewind) assume (finish && d_asks);
    end
  end

  // What stands in a row, and what a write changes of it.
  function automatic logic [35:0] stands(input logic [1:0] bank, input logic [RW-1:0] at_row);
    case (bank)
      2'd0: stands = store.g_bank[0].g_block.mem[{1'b0, at_row}];
      2'd1: stands = store.g_bank[1].g_block.mem[{1'b0, at_row}];
      2'd2: stands = store.g_bank[2].g_block.mem[{1'b0, at_row}];
      default: stands = store.g_bank[3].g_block.mem[{1'b0, at_row}];
    endcase
  endfunction
  function automatic logic [128:0] whole_row(input logic [PW-1:0] position);
    whole_row[128] = 1'b0;
    for (int i = 0; i < 4; i++) begin
      whole_row[32*i+:32] = stands(2'(i), position[RW-1:0]) [31:0];
      if (stands(2'(i), position[RW-1:0]) [34] != position[RW]) whole_row[128] = 1'b1;
    end
  endfunction

  // A row comes out with its length less by one, but for a prefix.
  function automatic logic [128:0] out_of(input logic [128:0] stored);
    tp_descriptor_t its;
    its = stored[127:0];
    out_of = stored;
    if (its.control.kind != TP_KIND_ATTRIBUTES && its.control.kind != TP_KIND_MESSAGE_LENGTH) out_of[95:64] = stored[95:64] - 1'b1;
  endfunction
  tp_descriptor_t shown;
  logic kind_prefix;
  assign shown = row[127:0];
  assign kind_prefix = shown.control.kind == TP_KIND_ATTRIBUTES || shown.control.kind == TP_KIND_MESSAGE_LENGTH;

  // One descriptor that was accepted is watched until it is in hand.
  logic waits, fresh, came, came_prefix, direct, direct_torn;
  logic [PW-1:0] at;
  logic [128:0] kept;
  logic [127:0] direct_data;  // of one that came whole by the doorbell
  tp_descriptor_t d;
  logic kept_prefix;
  assign d = kept[127:0];
  assign kept_prefix = !kept[128] && (d.control.kind == TP_KIND_ATTRIBUTES || d.control.kind == TP_KIND_MESSAGE_LENGTH);
  assign queued = dut.wr - dut.rd;
  assign place = at - dut.rd;
  logic pops;  // the watched one
  logic watched_row, seen, seen_was;  // its row comes; it was seen; or is in this cycle
  assign pops = waits && dut.pop && dut.rd == at;
  assign watched_row = waits && row_known && row_at == at && row_valid[0] && !rewind;
  always_ff @(posedge clk) begin
    if (watched_row && see_ask) seen <= 1'b1;
    if (rewind || !waits || pops || rst) seen <= 1'b0;
    seen_was <= seen || see_ask;
    came <= pops;
    came_prefix <= dut.pop_prefix;
    fresh <= 1'b0;
    if (pops) waits <= 1'b0;
    if (watch && push_accept && 8'(watch_behind) < push_count && !waits) begin
      {waits, fresh} <= 2'b11;
      at <= dut.wr + PW'(watch_behind);
      direct <= words && store.whole == '1;
      direct_torn <= torn;
      direct_data <= store.data;
    end
    if (fresh) kept <= whole_row(at);
    if (rst) {waits, fresh, came} <= '0;
  end

  // Which dwords of a row were written since it was pushed last; and whether it was whole then.
  logic clean, spot_known, spot_torn;
  logic [3:0] written, written_now;
  logic [RW-1:0] spot_behind, spot_place;
  logic covers, spot_queued;
  assign spot_behind = spot - dut.wr[RW-1:0];
  assign spot_place = spot - dut.rd[RW-1:0];
  assign spot_queued = PW'(spot_place) < queued;
  assign covers = push_accept && 8'(spot_behind) < push_count;
  always_comb begin
    written_now = written;
    for (int i = 0; i < 4; i++) begin
      if (store.batch && store.channel == 1'b0 && store.whole[i] && RW'(store.at[i][11:4]) == spot) written_now[i] = 1'b1;
      if (words && store.channel == 1'b0 && store.any[i] && spot_behind == '0) written_now[i] = !(torn && i == 3);
    end
  end
  always_ff @(posedge clk) begin
    spot_was <= started ? spot_was : spot;
    written <= written_now;
    if (covers) begin
      written <= '0;
      clean <= written_now == '1;
      spot_known <= clean;
      spot_torn <= written_now != '1;
    end
    if (rst || restart) {clean, spot_known, written} <= '0;
  end
  always_comb
    if (started && !rst) begin
      assert (32'(queued) + 32'(d_valid) + 32'(untold) <= QUEUE_DEPTH);
      assert (!push_accept || 32'(queued) + 32'(push_count) <= QUEUE_DEPTH);
      assert (!pops || row == out_of(kept));
      if (fresh && direct) assert (whole_row(at) == {direct_torn, direct_data});
      if (dut.pop && spot_place == '0 && spot_known) assert (row[128] == spot_torn);
      if (came && !came_prefix)
        assert (d_valid && d_cookie == d.cookie && d_end == d.control.end_ && (kept[128] ? dut.own_status == TP_STATUS_TORN : 1'b1));
      assert (!dut.pop || (!d_valid && queued != '0));
      if (came && !came_prefix) assert (d_asks == seen_was);
      assert (!(watched_row && see_ask) || (!seen && row == out_of(kept)));
      assert (!see_ask || (watched_row || !waits || row_at != at));
      if (AHEAD) cover (see_ask && d_valid && watched_row);
      if (AHEAD) cover (rewind && dut.seen != dut.rd);
      assert (!plan_valid || (d_valid && !places[plan_at] && !plan_none));
      assert (!p_valid || !d_valid || places[p_at]);
      assert (!take || p_last == (plan_none && $countones(places) == 1));
      assert (!(dut.done && dut.own_status == '0) || !d_valid || (plan_none && places == '0 && !plan_valid));
      assert (!whole || d_status == TP_STATUS_DONE);
      assert (!over_was || d_over);
      assert ((d_prefix[1] || d_length == '0) && (d_prefix[0] || {d_offset, d_user} == '0));
      assert (!finish || (!cut_grant && !cut_piece));
      if (QUEUE_DEPTH > 2) cover (came && !came_prefix && untold != '0 && queued != '0);
      cover (came && came_prefix);
      cover (came && !direct && !kept[128]);
      cover (covers && clean && written_now == '1);
      cover (covers && clean && written_now != '1);
      cover (error && queued != '0);
      cover (dut.is_list && places == 2'b11 && plan_none && queued != '0);
      cover (finish && places != '0);
    end

  // ------------------------------------------------------------------------------------------------ induction
  always_comb
    if (started) begin
      assert (32'(dut.room) + 32'(dut.owed) + 32'(queued) + 32'(d_valid) + 32'(untold) == QUEUE_DEPTH);
      assert (!idle || (queued == '0 && !d_valid));
      assert (!dut.owed || !store.shown[0]);
      assert (!dut.some || queued != '0);
      assert (32'(queued) <= QUEUE_DEPTH && 32'(untold) <= QUEUE_DEPTH);
      assert (dut.loading == (store.found_valid[0] || store.shown[0]));
      assert (!(store.found_valid[0] && store.shown[0]) && $onehot0(store.found_valid) && $onehot0(store.shown));
      assert (!dut.loading || ((dut.peeking || !d_valid) && queued != '0));
      assert (PW'(dut.seen - dut.rd) <= queued || !AHEAD);
      if (dut.loading && dut.peeking && row_known) assert (dut.seen != dut.wr);
      assert (AHEAD || !seen);
      if (AHEAD && waits && seen) assert (PW'(dut.seen - dut.rd) > place && !fresh && !kept_prefix);
      if (AHEAD && waits && !seen && (fresh || !kept_prefix)) assert (PW'(dut.seen - dut.rd) <= place);
      assert (!store.shown[0] || row_empty == (row[95:64] == (kind_prefix ? '0 : '1)));
      assert (!store.found_valid[0] || (store.d[2].facts[0] == (store.d[2].data == '0) && (!row_known || store.lap == row_at[RW])));
      for (int i = 0; i < 2 * QUEUE_DEPTH; i++) assert (stands(2'd2, RW'(i)) [32] == (stands(2'd2, RW'(i)) [31:0] == '0));
      if (store.found_valid[0] && row_known) assert ({store.torn, store.descriptor} == whole_row(row_at));
      if (store.shown[0] && row_known) assert (row == out_of(whole_row(row_at)));
      if (waits) begin
        assert (place < queued);
        if (!fresh) assert (whole_row(at) == kept);
        if (fresh) assert (place >= PW'(dut.loading));
        if (row_known && row_at == at && store.found_valid[0]) assert ({store.torn, store.descriptor} == kept && !fresh);
        if (row_known && row_at == at && store.shown[0]) assert (row == out_of(kept) && row_prefix == kept_prefix && !fresh);
      end
      assert (!clean || spot == spot_was);
      if (spot_queued) assert (written == '0);
      // What was written has the mark of the use to come; when clean, only that.
      for (int i = 0; i < 4; i++)
      if (!spot_queued && (clean || written[i]))
        assert ((stands(2'(i), spot) [34] == (dut.wr[RW] ^ (spot < dut.wr[RW-1:0]))) == written[i]);
        else if (clean) assert (stands(2'(i), spot) [34] == (dut.rd[RW] ^ (spot < dut.rd[RW-1:0])));
      if (spot_queued && spot_known) begin
        assert (whole_row({dut.rd[RW] ^ (spot < dut.rd[RW-1:0]), spot}) [128] == spot_torn);
        if (row_known && spot == row_at[RW-1:0] && store.found_valid[0]) assert (store.torn == spot_torn);
        if (row_known && spot == row_at[RW-1:0] && store.shown[0]) assert (row[128] == spot_torn);
      end
      assert (!d_over || (d_valid && dut.halted));
      assert (!dut.is_list || d_valid);
      assert (plan_valid == dut.cutting || rst);
      assert (!dut.cutting || (d_valid && !dut.held[1] && !plan_none));
      assert (32'(dut.held) == $countones(places) && dut.held != 2'd3);
      assert (dut.held == '0 || (d_valid && places[p_at]));
      assert (d_valid || dut.p_none);
      assert (!whole || (d_valid && dut.own_status == '0 && plan_none && dut.held == '0));
      assert (!plan_none || dut.p_none || !d_valid);
    end
endmodule
