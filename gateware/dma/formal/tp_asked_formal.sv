// SPDX-License-Identifier: Apache-2.0
// tp_asked: a beat of a message reaches tp_c2h only while the descriptor is in hand that the message was asked for; so none reaches another's
// buffer. No second ask goes out before the first one's message has ended. An ask stands until taken, and says what the descriptor in hand
// wants. What tp_c2h has of a message that is not wanted it forgets before anything else comes. A descriptor's end waits for nothing here.
// Assumed: descriptors come one at a time and end once; the kind sends one message for each ask; a message ends in a descriptor only after
// its last beat has come (tp_c2h); reads end; a reset of the channel comes between descriptors, and the kind forgets.
module tp_asked_formal #(
    parameter bit INDUCTION = 1
) (
    input logic clk,
    input logic rst,
    input logic flush,
    input logic row_valid,
    input logic [31:0] row_more,
    input logic [63:0] d_offset,
    input logic [31:0] d_user,
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
  logic d_valid, ask_valid, ask_cancel, in_ready, out_valid, forget;
  logic [31:0] ask_length, ask_user;
  logic [63:0] ask_offset;
  logic [5:0] status;
  tp_asked dut (.*);

  logic started = 1'b0, rst_was, finish_was, valid_was, cancel_was, flush_was;
  logic [31:0] length, length_was, user_was;
  logic [63:0] offset_was, hold_offset;
  logic [31:0] hold_user;
  logic put, taken, mine, over, fresh, forget_due;
  logic [1:0] open;  // messages that were asked for (taken or shown) and have not ended
  assign put = in_valid && in_ready;
  assign taken = ask_valid && ask_ready;
  always_ff @(posedge clk) begin
    started <= 1'b1;
    flush_was <= flush;
    if (row_valid) begin
      d_valid <= 1'b1;
      length <= row_more + 1'b1;
      hold_offset <= d_offset;
      hold_user <= d_user;
      mine <= 1'b0;
      over <= 1'b0;
    end
    if (finish) d_valid <= 1'b0;
    // The message on its way is the one of the descriptor in hand.
    if (dut.g_ask.ask) mine <= 1'b1;
    if (finish) mine <= 1'b0;
    if (out_valid && out_ready && in_last) over <= 1'b1;
    open <= open + 2'(dut.g_ask.ask) - 2'(put && in_last);
    fresh <= out_valid && out_ready ? 1'b0 : (forget && !reading) || fresh;
    finish_was <= finish && mine && !finish_over;
    valid_was <= ask_valid && !ask_ready && !flush;
    cancel_was <= ask_cancel;
    length_was <= ask_length;
    user_was <= ask_user;
    offset_was <= ask_offset;
    if (rst || flush) begin
      mine <= 1'b0;
      over <= 1'b0;
      open <= '0;
      finish_was <= 1'b0;
      valid_was <= 1'b0;
    end
    if (rst) d_valid <= 1'b0;
  end
  always_comb begin
    if (!started) assume (rst);
    if (row_valid) assume (!d_valid && !rst);
    if (d_valid) assume (d_offset == hold_offset && d_user == hold_user);
    if (finish) assume (d_valid && !rst);
    if (finish_over) assume (over && mine);
    if (in_valid) assume (open != '0 && !(ask_valid && !ask_cancel));  // once the kind has taken the ask
    if (flush) assume (!d_valid && !row_valid && !in_valid && !rst);
    if (!started || rst) assume (!flush);
  end
  always_comb
    if (started && !rst) begin
      assert (open <= 2'd1);
      assert ((open != '0) == (dut.g_ask.owed && !dut.g_ask.arrived));  // it waits for no message that has ended
      assert (!dut.g_ask.arrived || (dut.g_ask.owed && mine && over));
      if (out_valid) assert (mine && d_valid && !over);
      if (dut.g_ask.ask) assert (open == '0 && d_valid && !forget);
      if (finish_was) assert (forget);
      if (valid_was && !flush_was)
        assert (ask_valid && ask_cancel == cancel_was && ask_length == length_was && ask_offset == offset_was && ask_user == user_was);
      if (ask_valid && !ask_cancel && mine) assert (ask_length == length && ask_offset == hold_offset && ask_user == hold_user);
      cover (taken && ask_cancel);
      cover (finish && finish_over);
      cover (put && !out_valid && in_last);
    end
  if (INDUCTION) begin : g_induction
    always_comb
      if (started && !rst) begin
        assert (mine == dut.g_ask.asked);
        assert (!mine || d_valid);
        assert (!over || !mine || dut.g_ask.arrived);
        assert (!over || !d_valid || mine);
        assert (!dut.g_ask.stale || (dut.g_ask.owed && !dut.g_ask.arrived && !mine));
        assert (!mine || (dut.g_ask.owed && !dut.g_ask.stale && !forget));
        assert (!dut.g_ask.owed || mine || dut.g_ask.stale);
        if (d_valid) assert (dut.g_ask.more + 1'b1 == length);
      end
  end
endmodule
