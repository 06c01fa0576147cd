// SPDX-License-Identifier: Apache-2.0
// tp_asked: messages reach tp_c2h in the order of the descriptors that they were asked for, one for each, from the one in hand on; so none
// reaches another's buffer. There are two such at most, with AHEAD 0 one. When a descriptor ends before its message, tp_c2h forgets all that it has
// before anything else comes, and nothing more of what was asked for by then gets there. An ask stands until taken, and says what its
// descriptor wants. A descriptor's end waits for nothing here.
// Assumed: descriptors come in hand and are seen in order (tp_front), each ends once, what was seen ahead of one that ends early is seen again;
// the kind sends one message for each ask; a message ends in a descriptor only after its last beat has come (tp_c2h); reads end; a reset of the
// channel comes between descriptors, and the kind forgets.
module tp_asked_formal #(
    parameter bit AHEAD = 0,
    parameter bit INDUCTION = 1
) (
    input logic clk,
    input logic rst,
    input logic flush,
    input logic resetting,
    input logic comes,        // a descriptor, in hand
    input logic see_prefix,
    input logic see_ask,
    input logic dropped,      // a prefix whose descriptor does not come
    input logic [63:0] row_addr,
    input logic [31:0] row_more,
    input logic p_valid,
    input logic stopping,
    input logic finish,
    input logic finish_over,
    input logic ask_ready,
    input logic in_valid,
    input logic in_last,
    input logic [5:0] in_status,
    input logic out_ready,
    input logic reading
);
  logic d_valid, d_asks, see_none, see_more, rewind, ask_valid, ask_cancel, in_ready, out_valid, forget;
  logic [31:0] ask_length, ask_user;
  logic [63:0] ask_offset;
  logic [5:0] status;
  tp_asked #(.AHEAD(AHEAD)) dut (.*);

  logic started = 1'b0, finish_was, valid_was, cancel_was, asked_was, resetting_was;
  logic [31:0] length_was, user_was, wanted_length, wanted_user, prefix_user;
  logic [63:0] offset_was, wanted_offset, prefix_offset;
  logic put, comes_seen, early, last_live;
  logic prefixed;  // a prefix was seen ahead whose descriptor was not
  logic [1:0] ahead;  // descriptors that were seen and are not in hand
  logic [1:0] live, dead;  // messages to come: that are wanted; that are not
  logic [1:0] taken;  // ... for which the kind has the ask
  logic [1:0] here;
  logic [5:0] said[2];  // status of those
  assign put = in_valid && in_ready;
  assign comes_seen = comes && ahead != '0;
  assign see_none = resetting || (dropped && !d_valid && ahead == '0) || ((finish ? !prefixed : comes && !see_ask) && ahead == '0);
  assign early = finish && d_asks && !finish_over;
  assign last_live = put && in_last && dead == '0;
  always_ff @(posedge clk) begin
    started <= 1'b1;
    resetting_was <= resetting && !flush;
    if (comes) begin
      d_valid <= 1'b1;
      d_asks <= comes_seen || see_ask;
    end
    if (see_prefix) prefixed <= d_valid;
    if ((comes && ahead == '0) || see_ask || early) prefixed <= 1'b0;
    ahead <= ahead + 2'(see_ask && !comes) - 2'(comes_seen);
    if (finish) d_valid <= 1'b0;
    if (see_none || rewind || dut.g_ask.ask) begin
      prefix_offset <= '0;
      prefix_user <= '0;
    end
    if (see_prefix) begin
      prefix_offset <= row_addr;
      prefix_user <= row_more;
    end
    if (see_ask) begin
      wanted_offset <= prefix_offset;
      wanted_user <= prefix_user;
      wanted_length <= row_more + 1'b1;
    end
    asked_was <= dut.g_ask.ask && !flush && !rst;
    length_was <= asked_was ? wanted_length : ask_length;
    user_was <= ask_user;
    offset_was <= ask_offset;

    live <= live + 2'(dut.g_ask.ask) - 2'(last_live);
    if (put && in_last && dead != '0) dead <= dead - 1'b1;
    taken <= taken + 2'(ask_valid && ask_ready && !ask_cancel) - 2'(put && in_last);
    if (last_live) said[here==2'(finish&&finish_over)?0 : 1] <= in_status;
    if (finish && finish_over && here == 2'd2) said[0] <= said[1];
    here <= here + 2'(last_live) - 2'(finish && finish_over);
    finish_was <= early && (live != '0 || here != '0) && !flush;
    if (early) begin
      dead <= dead + live - 2'(put && in_last);
      live <= '0;
      here <= '0;
      ahead <= '0;
    end
    valid_was <= ask_valid && !ask_ready && !flush;
    cancel_was <= ask_cancel;
    if (rst || flush) {live, dead, here, taken, valid_was, finish_was} <= '0;
    if (rst) {d_valid, prefixed, ahead, prefix_offset, prefix_user} <= '0;
  end
  always_comb begin
    if (!started) assume (rst);
    if (rst) assume (!(comes || see_ask || see_prefix || finish || flush));
    if (comes) assume (!d_valid && !(see_ask && ahead != '0));
    if (see_ask) assume (see_more && !early && !stopping && !dropped && (comes || (AHEAD && d_valid)) && ahead != 2'd3);
    if (see_prefix) assume (!dropped && !see_ask && !comes && see_more && !early && (ahead == '0 || d_valid) && (AHEAD || !d_valid));
    if (finish) assume (d_valid);
    if (finish_over) assume (finish && here != '0 && d_asks);
    if (p_valid) assume (d_valid && d_asks);
    if (resetting) assume (stopping);
    if (resetting_was) assume (resetting || flush);
    if (in_valid) assume (taken != '0);
    if (flush) assume (!d_valid && ahead == '0 && !comes && !in_valid && resetting);
  end
  always_comb
    if (started && !rst) begin
      assert (dead == '0 || (live == '0 && here == '0));
      assert (3'(live) + 3'(here) <= (AHEAD ? 3'd2 : 3'd1));
      // As many are asked for as were seen, less one that waits: so each message belongs to one of them, in order.
      assert (3'(d_valid && d_asks) + 3'(ahead) >= 3'(live) + 3'(here) + 3'(dut.g_ask.seen));
      if (!resetting && !resetting_was) assert (3'(d_valid && d_asks) + 3'(ahead) == 3'(live) + 3'(here) + 3'(dut.g_ask.seen));
      if (d_valid && !d_asks) assert (live == '0 && here == '0);
      if (out_valid) assert (dead == '0 && live != '0);
      if (put && dead == '0) assert (out_valid && out_ready);
      if (dut.g_ask.ask) assert (dead == '0 && d_valid && d_asks && !forget);
      if (finish_was) assert (forget);
      assert (dut.g_ask.stale == (dead != '0));  // no ask waits for a message that has ended
      if (here != '0) assert (status == said[0]);
      if (valid_was && started)
        assert (ask_valid && ask_cancel == cancel_was && ask_length == length_was && ask_offset == offset_was && ask_user == user_was);
      if (asked_was) assert (ask_valid && !ask_cancel && ask_length == wanted_length);
      if (dut.g_ask.ask) assert (dut.g_ask.offset == wanted_offset && dut.g_ask.user == wanted_user);
      cover (ask_valid && ask_ready && ask_cancel);
      cover (finish && finish_over);
      cover (put && !out_valid && in_last);
      if (AHEAD) cover (here == 2'd2);
      if (AHEAD) cover (finish_was && dead == 2'd2);
    end
  if (INDUCTION) begin : g_induction
    always_comb
      if (started && !rst) begin
        assert (dut.g_ask.coming == live + dead && dut.g_ask.here == here);
        assert (3'(taken) + 3'(ask_valid && !ask_cancel) == 3'(live) + 3'(dead));
        assert (dead <= (AHEAD ? 2'd2 : 2'd1));
        if (dut.g_ask.seen)
          assert (dut.g_ask.length == wanted_length && dut.g_ask.offset == wanted_offset && dut.g_ask.user == wanted_user);
        assert (dut.g_ask.offset == prefix_offset && dut.g_ask.user == prefix_user || dut.g_ask.seen);
        if ((d_valid || ahead != '0) && !prefixed && !dut.g_ask.seen) assert ({prefix_offset, prefix_user} == '0);
        if (here == 2'd2) assert (dut.g_ask.behind == said[1]);
        assert (!forget || (live == '0 && here == '0));
        assert (!dut.g_ask.cancel || (live == '0 && here == '0));
        assert (!(ask_valid && ask_cancel) || (live == '0 && here == '0));
      end
  end
endmodule
