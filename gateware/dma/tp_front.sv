// SPDX-License-Identifier: Apache-2.0
// One channel's descriptors: takes them from the store one by one and sees that each is cut into plans for the engine behind it.
//
// The engine sees one descriptor at a time (`d_*`) and how many plans of it wait (`p_*`; tp_plan has them). It takes them one by one until
// `d_over`; when it has noted the descriptor's end it gives `finish`. `d_status` is then what the descriptor ends with, as far as
// the front knows. What was cut and not taken by then is forgotten.
//
// An inline message, and an empty one, is a single plan. Neither asks anything of the host, so neither ends when bus mastering is lost.
//
// A push is of one descriptor or of several; the first of them stands in the store at `next_at`. Positions begin at row 0 with `restart`.
//
// An asked kind (tp_asked) sees each row once, as it comes in hand; with AHEAD, while another descriptor is in hand: rows are read from the
// store once more before they come (`peeking`), from `seen` on. It goes no further than a row that asks nothing. `rewind`: what was seen ahead
// is to be seen again.
//
// Promises: descriptors come out in the order pushed, each once. A push with which more than QUEUE_DEPTH of them would be pushed and not
// completed is dropped, counted and sets `error`. After `cancel` every descriptor pushed before it is `d_over`, and only those. `d_over` waits until no
// list fetch is under way, and stays until `finish`.
module tp_front
  import towpath_pkg::*;
#(
    parameter int QUEUE_DEPTH = 16,       // a power of two
    parameter bit H2C = 1,                // understands inline descriptors and `end`
    parameter bit AHEAD = 0,              // shows the next descriptor to an asked kind while one is in hand
    localparam int AW = $clog2(QUEUE_DEPTH),
    localparam int PW = AW + 2            // of a position: {lap, row}, with twice as many rows
) (
    input logic clk,
    input logic rst,

    input  logic         push_valid,
    input  logic [ 7:0]  push_count,      // of descriptors
    output logic [PW-1:0] next_at,        // in the store: where the next one goes
    input  logic         restart,         // only while nothing is queued
    input  logic         cancel,
    input  logic         enabled,
    input  logic         resetting,       // a cancel of everything, with its own status
    input  logic         barred,          // no request may leave the card: what is not asked for or sent ends with its own status
    input  logic [ 7:0]  barred_status,
    input  logic         flush,           // clear the error and the count
    input  logic         completed,       // a descriptor's completion has been handed on
    output logic         error,
    output logic         error_pulse,
    output logic [15:0]  overflows,
    output logic         idle,            // nothing queued, nothing pushed that is not completed
    output logic         cancelling,      // until all that was pushed before a cancel has been finished

    // tp_store
    output logic          want,
    output logic [PW-1:0] want_at,
    input  logic          grant,
    input  logic          row_valid,
    input  logic [128:0]  row,
    input  logic          row_malformed,
    input  logic          row_prefix,
    input  logic          row_list,
    input  logic          row_inline,
    input  logic          row_empty,

    // tp_lists
    output logic       list_start,
    output logic       list_stop,
    output logic       list_finish,
    output logic       hungry,            // for a piece of the list in hand
    input  logic       piece_valid,
    input  logic       piece_empty,
    input  logic       list_over,
    input  logic [7:0] list_status,
    input  logic       list_quiet,

    // tp_plan
    output logic       cut_row,           // the row that comes: a direct one, or a list whose length is to be noted
    output logic       cut_piece,         // the piece that comes
    output logic       cut_want,          // another plan of the piece
    input  logic       cut_grant,
    input  logic       plan_valid,
    input  logic       plan_all,          // of the piece
    input  logic       plan_last,         // of the descriptor
    output logic       plan_at,           // where the new plan goes
    output logic       plan_known,        // what is left is known to tp_plan, ...
    output logic       plan_none,         // ... or nothing is left

    output logic        d_valid,
    output logic [15:0] d_cookie,
    output logic        d_end,
    output logic        d_inline,
    output logic        d_empty,          // its plan has no bytes: it ends a message
    output logic        d_over,
    output logic        d_broken,         // its table could not be read, or no request may leave: what was taken is not all
    output logic [ 7:0] d_status,
    output logic [ 1:0] d_prefix,         // prefixes have come for it: {length, others}, ...
    output logic [63:0] d_length,         // ... these, or zeros: the message's attributes
    output logic [63:0] d_offset,
    output logic [31:0] d_user,
    output logic        p_valid,          // a plan waits
    output logic        p_last,           // it is the descriptor's last
    output logic        p_at,             // where it stands
    input  logic        take,
    input  logic        abandon,          // the engine wants no more of it
    input  logic        finish,
    output logic        stopping,         // start nothing new

    // tp_asked
    output logic        see_prefix,       // the row that comes is seen for the first time: attributes, ...
    output logic        see_ask,          // ... or what the kind is to be asked for
    output logic        d_asks,           // that of the descriptor in hand was
    output logic        see_none,         // forget what was seen: at a flush, when a cancel has none left before its mark, ...
                                          // ... and when a descriptor ends, or comes and asks nothing, and none behind it was seen
    input  logic        see_more,         // another one may be
    input  logic        rewind            // with `finish`
);
  if (QUEUE_DEPTH < 2 || (QUEUE_DEPTH & (QUEUE_DEPTH - 1)) != 0)
    $error("%m: QUEUE_DEPTH %0d: make it a power of two, 2 or more", QUEUE_DEPTH);

  // ------------------------------------------------------------------------------------------------ queue
  logic [PW-1:0] wr, rd, mark;
  logic [AW:0] room, room_next;  // descriptors that may still be pushed
  logic [AW:0] change;                    // ... by a push
  logic owed;                             // a prefix that has come out is to be counted, too
  logic more;
  // verilator lint_off UNUSEDSIGNAL
  logic carry;
  // verilator lint_on UNUSEDSIGNAL
  logic push_accept;
  logic some;                             // rd != wr, as far as it is known at the cycle's start
  logic marked;                           // rd == mark
  logic loading;  // a row is on its way
  logic pop, pop_prefix;
  logic barring;                          // lasts until the descriptor in hand has ended
  logic ended;                            // by a cancel or a reset
  logic [7:0] bar_status, stop_status;

  assign push_accept = push_valid && enabled && !resetting && !error && 32'(push_count) <= 32'(room);
  // One adder: its carry brings what is completed.
  assign change = push_accept ? -(AW + 1)'(push_count) : '0;
  assign more = completed || owed;
  assign {room_next, carry} = {room, 1'b1} + {change, more};
  assign next_at = wr;
  assign ended = cancelling || resetting;
  assign stopping = ended || (barring && !d_inline && !d_empty);
  assign stop_status = resetting ? TP_STATUS_RESET : cancelling ? TP_STATUS_CANCELLED : bar_status;
  assign error_pulse = push_valid && !push_accept;

  logic head_torn;
  tp_descriptor_t head;
  assign {head_torn, head} = row;

  logic is_list;
  logic [7:0] own_status;  // 0: none yet
  logic peek, peeking;  // a row is wanted, or on its way, that stays in the store
  logic [PW-1:0] seen;  // the first row that was not
  assign want = !loading && (peek || (!d_valid && some && !(cancelling && marked)));
  assign want_at = peek ? seen : rd;
  assign pop = row_valid && !peeking;
  assign pop_prefix = pop && row_prefix;
  assign idle = !d_valid && room[AW];     // what is queued is not completed

  always_ff @(posedge clk) begin
    if (push_accept) wr <= wr + PW'(push_count);
    if (pop) rd <= rd + 1'b1;
    if (grant) loading <= 1'b1;
    if (row_valid) loading <= 1'b0;
    some <= ((push_accept && push_count != '0) || rd != wr) && !pop && !rst;
    marked <= rd == mark;
    room <= room_next;
    owed <= pop_prefix || (owed && completed);
    if (cancel) begin
      cancelling <= 1'b1;
      mark <= wr;
    end else if (!d_valid && rd == mark) begin
      cancelling <= 1'b0;
    end
    if (barred && !barring) bar_status <= barred_status;
    barring <= barred || (barring && d_valid);
    if (error_pulse) begin
      error <= 1'b1;
      if (overflows != '1) overflows <= overflows + 1'b1;
    end
    if (rst || flush) begin
      error <= 1'b0;
      overflows <= '0;
    end
    if (restart || rst) begin  // a store as it comes out of configuration holds nothing of this lap
      wr <= '0;
      rd <= '0;
      cancelling <= 1'b0;
    end
    if (rst) begin
      loading <= 1'b0;
      room <= (AW + 1)'(QUEUE_DEPTH);
      owed <= 1'b0;
      barring <= 1'b0;
    end
  end

  // ------------------------------------------------------------------------------------------------ the descriptor in hand
  // Plans are made ahead of their use, two at most.
  logic malformed;
  logic sound;                            // the row that comes is of a descriptor whose bytes are to be moved
  logic on_card, row_stopped;  // the row asks nothing of the host; it comes too late to begin
  logic p_none;                           // nothing is left of the piece, or it has not come
  logic cutting;                          // a cut is on its way
  logic halted;                           // list_stop, a cycle late: one more cut does no harm
  logic [1:0] held;                       // plans that wait
  logic done;                             // all bytes of the descriptor were taken
  assign malformed = row_malformed || (row_inline && !H2C);
  assign on_card = row_inline || (row_empty && H2C);
  assign row_stopped = ended || (barring && !on_card);
  assign sound = pop && !row_prefix && !head_torn && !row_stopped && !malformed;
  assign list_start = sound && row_list && !row_empty;
  assign cut_row = sound && !row_inline && !row_empty;
  assign cut_piece = piece_valid && is_list && !list_stop;  // one may still come when nobody wants it any more
  assign cut_want = !p_none && !cutting && !held[1] && !halted;
  assign plan_at = p_at ^ held[0];
  assign p_valid = held != '0;
  assign p_last = plan_none && !held[1];
  assign done = plan_none && held == '0;

  assign list_stop = stopping || abandon || own_status != 0 || plan_none;
  assign list_finish = finish && is_list;
  assign hungry = is_list && p_none && !cutting && !held[1] && !plan_none && own_status == '0;

  // ------------------------------------------------------------------------------------------------ what an asked kind sees
  logic asks;  // the row that comes asks for something
  logic first, none_ahead;  // it is new; nothing was seen that has not come in hand
  assign see_prefix = first && row_prefix && head.control.kind == TP_KIND_ATTRIBUTES;
  assign see_ask = first && asks;
  assign see_none = flush || ((finish || (pop && !row_prefix && !asks)) && none_ahead) || (cancelling && !d_valid && rd == mark);
  assign asks = !row_prefix && !row_empty && !head_torn && !row_stopped && !malformed;
  if (AHEAD) begin : g_ahead
    logic
        rest,
        at_end,
        outdated;  // rows behind `seen`; it stands before a row that asks nothing; the row on its way is not what is looked for
    assign none_ahead = seen == rd;
    assign peek = d_valid && rest && !at_end && see_more && !stopping;
    assign first = row_valid && (peeking ? !outdated && !rewind : none_ahead);
    always_ff @(posedge clk) begin
      rest <= seen != wr && !row_valid && !rst;
      if (grant) begin
        peeking <= peek;
        outdated <= rewind;
      end else if (rewind) begin
        outdated <= 1'b1;
      end
      if (first && (row_prefix || asks || !peeking)) seen <= seen + 1'b1;
      if (first && peeking && !row_prefix && !asks) at_end <= 1'b1;
      if (pop && !row_prefix) d_asks <= !none_ahead || asks;
      if (finish) at_end <= 1'b0;
      if (rewind) seen <= rd;
      if (restart || rst) seen <= '0;
      if (rst) begin
        peeking <= 1'b0;
        at_end <= 1'b0;
      end
    end
  end else begin : g_in_hand
    logic unused;
    assign unused = see_more | rewind;
    assign {peek, peeking, seen} = '0;
    assign none_ahead = 1'b1;
    assign first = pop;
    always_ff @(posedge clk) if (pop && !row_prefix) d_asks <= asks;
  end

  // The table ends, or broke, before the descriptor does; or no request may leave, which is looked at a cycle later: a plan that is taken in the
  // cycle before counts, and comes late in it. What either means stands in registers one cycle later, and nobody goes on before.
  logic short_list, was_barring, barred_now;
  assign short_list = hungry && list_over && held == '0 && !stopping && !abandon;
  assign barred_now = d_valid && was_barring && !ended && !abandon && !d_inline && !d_empty && !done && own_status == 0;
  always_comb begin
    if (own_status != 0) d_status = own_status;
    else if (done) d_status = TP_STATUS_DONE;
    else d_status = stop_status;
  end

  always_ff @(posedge clk) begin
    was_barring <= barring && d_valid;
    d_over <= d_valid && list_quiet && !finish && (ended || abandon || own_status != 0 || (plan_none && held == 2'(take)));
    held <= held + 2'(plan_valid) - 2'(take);
    if (take) p_at <= !p_at;
    if (plan_valid) begin
      p_none <= plan_all;
      plan_none <= plan_last;
      plan_known <= 1'b1;
    end
    halted <= list_stop;
    cutting <= (cut_row && !row_list) || (cut_piece && !piece_empty) || cut_grant;
    if (short_list) begin
      own_status <= list_status != 0 ? list_status : TP_STATUS_MALFORMED;
      d_broken <= list_status != 0;
    end
    if (barred_now) begin
      own_status <= bar_status;
      d_broken <= 1'b1;
    end

    if (pop && !row_prefix) begin
      d_valid <= 1'b1;
      d_cookie <= head.cookie;
      d_end <= head.control.end_;
      d_inline <= row_inline;
      d_empty <= row_empty && H2C;
      is_list <= list_start;
      p_none <= 1'b1;
      held <= sound && (row_empty ? H2C && head.control.end_ : row_inline) ? 2'd1 : 2'd0;
      plan_none <= row_empty || row_inline;
      plan_known <= 1'b0;
      d_broken <= barring && !on_card && !ended && !head_torn;
      if (head_torn) own_status <= TP_STATUS_TORN;
      else if (row_stopped) own_status <= stop_status;
      else if (malformed) own_status <= TP_STATUS_MALFORMED;
      else own_status <= '0;
    end
    if (pop_prefix && head.control.kind == TP_KIND_ATTRIBUTES) begin
      d_prefix[0] <= 1'b1;
      d_offset <= head.address;
      d_user <= head.length;
    end
    if (pop_prefix && head.control.kind == TP_KIND_MESSAGE_LENGTH) begin
      d_prefix[1] <= 1'b1;
      d_length <= head.address;
    end
    // A cancel or a reset takes a prefix with it whose descriptor has not come.
    if (finish || flush || (cancelling && !d_valid && rd == mark)) begin
      d_prefix <= '0;
      d_offset <= '0;
      d_user <= '0;
      d_length <= '0;
    end
    if (finish) begin
      d_valid <= 1'b0;
      is_list <= 1'b0;
      p_none <= 1'b1;
      held <= '0;
    end
    if (rst) begin
      d_valid <= 1'b0;
      is_list <= 1'b0;
      d_over <= 1'b0;
      p_none <= 1'b1;
      cutting <= 1'b0;
      held <= '0;
      p_at <= 1'b0;
      plan_known <= 1'b0;
      d_prefix <= '0;
      d_offset <= '0;
      d_user <= '0;
      d_length <= '0;
    end
    if (!rst) begin
      assert (!take || (p_valid && d_valid))
      else $error("%m: took what was not there");
      assert (!plan_valid || (cutting && !held[1] && d_valid && !plan_none))
      else $error("%m: a plan that nobody asked for");
      assert (!finish || d_over)
      else $error("%m: finished too early");
      assert (!completed || !room[AW])
      else $error("%m: completed more than was pushed");
      assert (!(pop_prefix && owed && completed))
      else $error("%m: completions without a pause");
      assert (!row_valid || (loading && (peeking || !d_valid)))
      else $error("%m: a row that nobody asked for");
      assert (!restart || rd == wr)
      else $error("%m: a restart while descriptors are queued");
    end
  end
endmodule
