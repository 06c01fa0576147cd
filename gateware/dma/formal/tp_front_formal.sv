// SPDX-License-Identifier: Apache-2.0
// tp_front with tp_store: no more descriptors are queued, in hand or not completed than QUEUE_DEPTH, whatever the host pushes; each one that was
// accepted comes in hand once, in its turn and whole, while other channels push and load; a prefix is no descriptor. No more than two
// plans of it wait, each in a place of its own; it is complete when its last plan was taken, and is then told as done whatever comes in that
// cycle or later; none is left when it has finished; one that is over stays so until it finishes.
// Assumed: a reset lasts and an engine that has abandoned a descriptor wants no more of it; it takes only what waits, finishes only what is over, and a completion is told only of what has finished; a cut is
// answered in the next cycle, a piece comes when one is wanted, the descriptor's last one by one that is also its piece's; the fetch of a list that was
// stopped and is quiet stays quiet.
module tp_front_formal
  import towpath_pkg::*;
#(
    parameter int QUEUE_DEPTH = 4,
    localparam int AW = $clog2(QUEUE_DEPTH)
) (
    input logic clk,
    input logic rst,
    input logic push_valid,
    input logic other_push,        // of another channel
    input logic [AW-1:0] other_push_at,
    input logic [128:0] push_row,
    input logic other_want,
    input logic [AW-1:0] other_want_at,
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
    input logic watch
);
  logic push_accept, error, error_pulse, idle, want, list_start, list_stop, list_finish, hungry;
  logic [AW-1:0] push_at, want_at;
  logic [15:0] overflows;
  logic d_valid, d_end, d_inline, d_empty, d_over, d_broken, p_valid, p_last, p_at, stopping;
  logic cut_row, cut_piece, cut_want, plan_valid, plan_at, plan_known, plan_none;
  logic [15:0] d_cookie;
  logic [7:0] d_status;
  logic [31:0] d_user;
  logic [63:0] d_length, d_offset;
  logic [1:0] grant, row_valid;
  logic [128:0] row;
  logic row_malformed, row_prefix, row_list, row_inline, row_empty;

  tp_store #(
      .CHANNELS(2),
      .ROWS(QUEUE_DEPTH)
  ) store (
      .clk,
      .rst,
      .push_valid(push_accept || other_push),
      .push_channel(other_push),
      .push_at(other_push ? other_push_at : push_at),
      .push_row,
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
      .QUEUE_DEPTH(QUEUE_DEPTH)
  ) dut (
      .clk,
      .rst,
      .push_valid,
      .push_accept,
      .push_at,
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
      .d_length,
      .d_offset,
      .d_user,
      .p_valid,
      .p_last,
      .p_at,
      .take,
      .abandon,
      .finish,
      .stopping
  );

  logic started = 1'b0;
  logic [AW:0] untold;  // finished, its completion not told
  logic abandon_was, finish_was, resetting_was, over_was, quiet_was;
  logic [1:0] places;  // where plans wait
  logic whole;         // all plans were taken
  always_ff @(posedge clk) begin
    abandon_was <= abandon;
    resetting_was <= resetting;
    finish_was <= finish;
    over_was <= d_over && !finish && !rst;
    quiet_was <= list_quiet && list_stop;
    plan_valid <= !rst && ((cut_row && !row_list) || (cut_piece && !piece_empty) || cut_grant);
    if (take) places[p_at] <= 1'b0;
    if (plan_valid) places[plan_at] <= 1'b1;
    if (row_valid[0] && !row_prefix) places <= dut.sound && (row_empty ? dut.head.control.end_ : row_inline) ? 2'b01 << p_at : '0;
    if (rst || finish) places <= '0;
    if (take && p_last && dut.own_status == '0) whole <= 1'b1;
    if (rst || finish || !d_valid) whole <= 1'b0;
    started <= 1'b1;
    untold <= untold + (AW + 1)'(finish) - (AW + 1)'(completed);
    if (rst) untold <= '0;
  end
  always_comb begin
    if (!started) assume (rst);
    assume (!push_valid || !other_push);  // one word comes at a time
    if (started) begin
      assume (!take || (p_valid && d_valid));
      assume (!cut_piece || hungry);  // it stays so until a piece comes
      assume (!cut_grant || cut_want);
      assume (!plan_last || plan_all);
      assume (!finish || (d_valid && d_over));
      assume (!take || !finish);
      assume (!completed || untold != '0);
      if (abandon_was && !finish_was) assume (abandon);
      if (resetting_was && d_valid) assume (resetting);
      if (!d_valid) assume (!abandon);
      if (quiet_was) assume (list_quiet);
    end
  end

  // One descriptor that was accepted is watched until it is in hand.
  logic waits, came, came_prefix;
  logic [AW:0] at;
  logic [128:0] kept;
  tp_descriptor_t d, pushed;
  assign pushed = push_row[127:0];
  assign d = kept[127:0];
  logic prefix;  // what is pushed
  assign prefix = !push_row[128] && (pushed.control.kind == TP_KIND_ATTRIBUTES || pushed.control.kind == TP_KIND_MESSAGE_LENGTH);
  always_ff @(posedge clk) begin
    came <= waits && dut.pop && dut.rd == at;
    came_prefix <= dut.pop_prefix;
    if (waits && dut.pop && dut.rd == at) waits <= 1'b0;
    if (watch && push_accept && !waits) begin
      waits <= 1'b1;
      at <= dut.wr;
      kept <= {push_row[128:96], pushed.length - 32'(!prefix), push_row[63:0]};
    end
    if (rst) begin
      waits <= 1'b0;
      came <= 1'b0;
    end
  end

  logic [AW:0] queued;
  assign queued = dut.wr - dut.rd;
  always_comb
    if (started && !rst) begin
      assert (32'(queued) + 32'(d_valid) + 32'(untold) <= QUEUE_DEPTH);
      assert (!push_valid || !push_accept || 32'(queued) < QUEUE_DEPTH);
      assert (!(waits && dut.pop && dut.rd == at) || row == kept);
      if (came && !came_prefix)
        assert (d_valid && d_cookie == d.cookie && d_end == d.control.end_ && (kept[128] ? dut.own_status == TP_STATUS_TORN : 1'b1));
      assert (!dut.pop || (!d_valid && queued != '0));
      assert (!plan_valid || (d_valid && !places[plan_at] && !plan_none));
      assert (!p_valid || !d_valid || places[p_at]);
      assert (!take || p_last == (plan_none && $countones(places) == 1));
      assert (!(dut.done && dut.own_status == '0) || !d_valid || (plan_none && places == '0 && !plan_valid));
      assert (!whole || d_status == TP_STATUS_DONE);
      assert (!over_was || d_over);
      assert (!finish || (!cut_grant && !cut_piece));
      cover (came && !came_prefix && untold != '0 && queued != '0);
      cover (came && came_prefix);
      cover (error && queued != '0);
      cover (dut.is_list && places == 2'b11 && plan_none && queued != '0);
      cover (finish && places != '0);
    end

  // ------------------------------------------------------------------------------------------------ induction
  logic [AW:0] place;  // of the watched one, behind the head
  assign place = at - dut.rd;
  always_comb
    if (started) begin
      assert (dut.outstanding == (AW + 1)'(32'(queued) + 32'(d_valid) + 32'(untold)) && 32'(dut.outstanding) <= QUEUE_DEPTH);
      assert (32'(queued) <= QUEUE_DEPTH && 32'(untold) <= QUEUE_DEPTH);
      assert (dut.loading == (store.found_valid[0] || store.shown[0]));
      assert (!(store.found_valid[0] && store.shown[0]) && $onehot0(store.found_valid) && $onehot0(store.shown));
      assert (!dut.loading || (!d_valid && queued != '0));
      assert (!store.shown[0] || row_empty == (row[95:64] == (row_prefix ? '0 : '1)));
      assert (!store.found_valid[0] || store.found_kind.empty == (store.found[95:64] == (store.found_kind.prefix ? '0 : '1)));
      for (int i = 0; i < QUEUE_DEPTH; i++)
      if ({1'b0, AW'(i) - dut.rd[AW-1:0]} < queued) assert (store.rows[i][129] == (store.rows[i][95:64] == (store.rows[i][132] ? '0 : '1)));
      if (waits) begin
        assert (place < queued);
        assert (store.rows[{1'b0, at[AW-1:0]}][128:0] == kept);
        if (dut.rd == at && store.found_valid[0]) assert (store.found == kept);
        if (dut.rd == at && store.shown[0]) assert (row == kept);
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
