// SPDX-License-Identifier: Apache-2.0
// tp_c2h, its counters: what the user core sends is never overwritten before it has been read for the last time; a write carries only bytes
// that have come, never beyond the end of a message, and begins where the one before it ended; a message is told to be over when all of
// it has been taken; its head is shown while it is in hand. One byte and one message are watched, any.
// Assumed: tkeep is 2^n - 1, and only a message's last beat is partial; a plan has room for half of the sending room at most (tp_plan); a
// flush comes when the channel is idle and none of its reads are to be made (tp_dma); `reading` and `begun` tell of a command that waits and
// one that is read for (tp_writer).
module tp_c2h_formal
  import towpath_pkg::*;
#(
    parameter int DATA_WIDTH = 512,
    parameter int SENDING_BYTES = 256,
    parameter int MESSAGES = 2,
    parameter bit QUEUE_HEADS = 0,
    parameter bit INDUCTION = 1,
    localparam int KEEP = DATA_WIDTH / 8,
    localparam int KW = $clog2(KEEP),
    localparam int BW = $clog2(SENDING_BYTES)
) (
    input logic clk,
    input logic rst,
    input logic announce,
    input logic flush,
    input logic forget,
    input logic tvalid,
    input logic [KW:0] tbytes,
    input logic tlast,
    input logic [31:0] tuser,
    input logic d_valid,
    input logic d_over,
    input logic p_valid,
    input logic p_at,
    input logic plan_valid,
    input logic [11:0] plan_more,
    input logic plan_at,
    input logic stopping,
    input logic command_ready,
    input logic begin_next,   // tp_writer begins with the command that waits
    input logic read_out,     // it has made the last read of the one in hand
    input logic entry_ready,
    input logic watch,
    input logic [KW-1:0] watch_lane
);
  logic tready, beat_valid, idle, take, abandon, finish, command_valid, entry_valid, entry_start;
  logic [BW-1:KW] beat_at;
  logic [11:0] command_last;
  logic [BW-1:0] command_from;
  logic [31:0] head_user;
  logic next, hand;  // a command waits; one is read for
  logic begun;  // tp_writer tells a cycle late
  tp_c2h #(
      .DATA_WIDTH(DATA_WIDTH),
      .SENDING_BYTES(SENDING_BYTES),
      .MESSAGES(MESSAGES),
      .QUEUE_HEADS(QUEUE_HEADS)
  ) dut (
      .clk,
      .rst,
      .announce,
      .paired(1'b0),
      .flush,
      .forget,
      .idle,
      .holds(),
      .refused(),
      .tvalid,
      .tready,
      .tdata('0),
      .tkeep(KEEP'((65'd1 << tbytes) - 1'b1)),
      .tlast,
      .tlength('0),
      .toffset('0),
      .tuser,
      .beat_valid,
      .beat_at,
      .beat_data(),
      .d_valid,
      .d_cookie('0),
      .d_over,
      .d_status('0),
      .p_valid,
      .p_at,
      .plan_valid,
      .plan_more,
      .plan_at,
      .take,
      .abandon,
      .finish,
      .stopping,
      .command_valid,
      .command_ready,
      .command_last,
      .command_from,
      .begun,
      .reading(next || hand),
      .entry_valid,
      .entry_ready,
      .entry_start,
      .entry_bytes(),
      .entry_cookie(),
      .entry_status(),
      .head_length(),
      .head_offset(),
      .head_user
  );

  // ------------------------------------------------------------------------------------------------ what is around it
  localparam int BEATS = SENDING_BYTES / KEEP;
  logic started = 1'b0;
  logic [BW:KW] next_first, hand_first;  // the first beat that the command reads
  logic [1:0] planned;
  logic forgetting;
  always_ff @(posedge clk) begin
    started <= 1'b1;
    forgetting <= forget && (next || hand) && !rst;
    begun <= begin_next && !rst;
    if (take) begin
      next <= 1'b1;
      next_first <= dut.rd[BW:KW];
    end else if (begin_next) next <= 1'b0;
    if (begin_next) begin
      hand <= 1'b1;
      hand_first <= next_first;
    end else if (read_out) hand <= 1'b0;
    if (plan_valid) planned[plan_at] <= 1'b1;
    if (rst) {next, hand, planned} <= '0;
  end
  always_comb begin
    if (!started) assume (rst);
    assume (32'(tbytes) <= KEEP && (tlast || 32'(tbytes) == KEEP));
    assume (32'(plan_more) < SENDING_BYTES / 2);
    if (p_valid) assume (planned[p_at]);
    if (command_ready) assume (command_valid && !next && !rst);
    if (begin_next) assume (next && (!hand || read_out) && !rst);
    if (flush) assume (idle && !next && !hand && !rst);
    // It begins in the cycle after a descriptor's end, and stands until nothing is being read (tp_asked).
    if (forget && !forgetting) assume (idle && !d_valid);
    if (forgetting) assume (forget);
  end

  // ------------------------------------------------------------------------------------------------ what is watched
  logic accept, over;
  logic [1:0] messages;        // that have come or begun to, and are not over
  logic [$clog2(MESSAGES):0] ends;  // of those, the ones whose end has come
  assign accept = tvalid && tready;
  assign over = dut.message_over;
  assign ends = dut.i_ends.count;
  logic waits;                 // the watched byte: it has come, and no write has taken it
  logic [BW:0] place;
  logic [1:0] before_byte;     // ends of messages that come before it
  logic told;                  // the watched message is not over
  logic [31:0] user;
  logic [1:0] before_message;
  always_ff @(posedge clk) begin
    messages <= messages + 2'(accept && !dut.begun_in) - 2'(over);
    if (!waits) begin
      waits <= watch && accept && 32'(watch_lane) < 32'(tbytes);
      place <= {dut.wr, watch_lane};
      before_byte <= 2'(ends) - 2'(over);
    end else begin
      if (take && (BW + 1)'(place - dut.rd) <= (BW + 1)'(command_last)) waits <= 1'b0;
      before_byte <= before_byte - 2'(over);
    end
    if (!told) begin
      told <= watch && accept && !dut.begun_in;
      user <= tuser;
      before_message <= messages - 2'(over);
    end else begin
      if (over && before_message == '0) told <= 1'b0;
      before_message <= before_message - 2'(over);
    end
    if (rst || dut.wipe) {messages, waits, told} <= '0;
  end

  // Distances in bytes from the first byte that no write has taken.
  logic [BW:0] come, end_far, place_far;
  assign come = {dut.wr, KW'(0)} - dut.rd;
  assign end_far = dut.end_at - dut.rd;
  assign place_far = place - dut.rd;
  always_comb
    if (started && !rst) begin
      // Not overwritten: neither what no write has taken, nor what is still to be read.
      assert (!beat_valid || beat_at == dut.wr[BW-1:KW]);
      assert (!beat_valid || 32'((BW + 1 - KW)'(dut.wr - dut.rd[BW:KW])) < BEATS);
      assert (!(beat_valid && next) || 32'((BW + 1 - KW)'(dut.wr - next_first)) < BEATS);
      assert (!(beat_valid && hand) || 32'((BW + 1 - KW)'(dut.wr - hand_first)) < BEATS);
      // Only what has come, and of one message.
      assert (!command_valid || command_from == dut.rd[BW-1:0]);
      assert (!command_valid || 32'(command_last) < 32'(come));
      assert (!(command_valid && ends != '0) || 32'(command_last) < 32'(end_far));
      assert (!over || (ends != '0 && end_far == '0));
      assert (!waits || place_far < come);
      assert (!(waits && over) || before_byte != '0);
      assert (!(told && before_message == '0 && (command_valid || entry_start)) || (dut.head_valid && head_user == user));
      cover (over && waits && told && hand);
      cover (beat_valid && hand && next && next_first != hand_first);
      cover (over && end_far == '0 && dut.nothing);
    end

  if (INDUCTION) begin : g_induction
    // The ends that have come: `first` is that of the message in hand, `second` comes behind it.
    logic [BW:0] first, second, behind_first, behind_second;
    function automatic logic [BW:0] whole_beats(input logic [BW:0] at);
      return {at[BW:KW] + (BW + 1 - KW)'(at[KW-1:0] != '0), KW'(0)};
    endfunction
    localparam logic [1:0] START = 2'd1, WRITE = 2'd2, END = 2'd3;  // states, as the module numbers them
    assign first = dut.i_ends.mem[dut.i_ends.rd[0]];
    assign second = dut.i_ends.mem[!dut.i_ends.rd[0]];
    assign behind_first = whole_beats(first) - dut.rd;
    assign behind_second = whole_beats(second) - dut.rd;
    logic [BW+1-KW:0] used, held_far, rd_far;
    assign used = {1'b0, (BW + 1 - KW)'(dut.wr - dut.freed)};
    assign held_far = {1'b0, (BW + 1 - KW)'(dut.held - dut.freed)};
    assign rd_far = {1'b0, (BW + 1 - KW)'(dut.rd[BW:KW] - dut.freed)};
    logic [BW:0] limit_far;
    assign limit_far = dut.limit - dut.rd;
    always_comb
      if (started && !rst) begin
        // Beats: freed, held, taken, come, in this order, and no more than there are.
        assert (32'(used) <= BEATS && (dut.full || 32'(used) < BEATS));
        assert (held_far <= rd_far && rd_far <= used);
        assert (!(rd_far == used) || dut.rd[KW-1:0] == '0);
        assert (!next || (next_first == dut.held));
        assert (!hand || hand_first == (begun ? dut.held : dut.freed));
        assert (!begun || (hand && !next));
        // Messages: where they end.
        assert (32'(ends) <= MESSAGES && messages == 2'(ends) + 2'(dut.begun_in));
        assert (messages == 2'(dut.head_valid) + 2'(dut.waiting));
        if (ends == '0) assert (dut.begun_in || come == '0);
        if (ends != '0) begin
          assert (end_far <= behind_first && behind_first <= come);
          assert (32'(ends) != 1 || (dut.begun_in ? behind_first < come : behind_first == come));
        end
        if (32'(ends) == 2) begin
          assert (behind_first <= (BW + 1)'(second - dut.rd) && (BW + 1)'(second - dut.rd) <= behind_second && behind_second <= come);
          assert (dut.begun_in ? behind_second < come : behind_second == come);
        end
        // What LOOK compares with.
        if (!dut.stale && messages != '0) begin
          assert (limit_far <= come);
          assert (ends == '0 || limit_far <= end_far);
          assert (!dut.whole || (ends != '0 && limit_far == end_far));
        end
        if (dut.state == WRITE) begin
          assert (dut.head_valid && !dut.stale);
          assert (dut.nothing || (32'(dut.last) < 32'(come) && (ends == '0 || 32'(dut.last) < 32'(end_far))));
          assert (!dut.nothing || dut.fewer);
          assert (!(dut.fits && dut.fewer) || (ends != '0 && (dut.nothing ? end_far == '0 : 32'(dut.last) + 1 == 32'(end_far))));
        end
        for (int i = 0; i < 2; i++) if (planned[i]) assert (32'(dut.rooms[i]) < SENDING_BYTES / 2);
        if (dut.state == START) assert (dut.head_valid);
        if (dut.state == END && dut.ended) assert (ends != '0 && end_far == '0 && dut.head_valid);
        if (dut.ended) assert (dut.state == END);
        if (dut.stale) assert (dut.state == '0);
        if (forgetting) assert (dut.state == '0 || (dut.state == END && !dut.ended));
        // The watched byte lies in its message.
        if (waits) begin
          assert (32'(before_byte) <= 32'(ends) && (32'(before_byte) < 32'(ends) || dut.begun_in));
          if (before_byte == '0 && ends != '0) assert (place_far < end_far);
          if (32'(before_byte) == 1) assert (place_far >= behind_first);
          if (32'(before_byte) == 1 && 32'(ends) == 2) assert (place_far < (BW + 1)'(second - dut.rd));
          if (32'(before_byte) == 2) assert (place_far >= behind_second);
        end
        if (told) begin
          assert (before_message < messages);
          if (before_message == '0) assert (dut.head_valid ? head_user == user : dut.next_head[31:0] == user);
          if (32'(before_message) == 1) assert (dut.waiting && dut.head_valid && dut.next_head[31:0] == user);
          assert (before_message < 2);
        end
      end
  end
endmodule
