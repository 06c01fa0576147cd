// SPDX-License-Identifier: Apache-2.0
// tp_c2h, its counters: what the user core sends is never overwritten before it has been read for the last time; a write carries only bytes
// that have come, never beyond the end of a message, and begins where the one before it ended; a message is told to be over when all of
// it has been taken; its head is shown while it is in hand. One byte and one message are watched, any.
// One of several channels (SHARED) gives no block back from which something is still to be read, writes only into blocks that it has, and
// with as many as its share holds enough for every write.
// Assumed: tkeep is 2^n - 1, and only a message's last beat is partial; a plan has room for half of the sending room at most (tp_plan); a
// flush comes when the channel is idle and none of its reads are to be made, and stands until all blocks are back (tp_resets); `reading` and `begun` tell of a command that waits and
// one that is read for (tp_writer); no channel gets more blocks than there are (tp_blocks).
module tp_c2h_formal
  import towpath_pkg::*;
#(
    parameter int DATA_WIDTH = 512,
    parameter int SENDING_BYTES = 256,
    parameter int MESSAGES = 2,
    parameter bit QUEUE_HEADS = 0,
    parameter bit SHARED = 0,
    parameter bit INDUCTION = 1,
    localparam int BLOCK_BYTES = SENDING_BYTES / 4,
    localparam int HOLD = SHARED ? BLOCK_BYTES : SENDING_BYTES / 2,  // no write is longer
    localparam int KEEP = DATA_WIDTH / 8,
    localparam int KW = $clog2(KEEP),
    localparam int BW = $clog2(SENDING_BYTES),
    localparam int LB = SHARED ? $clog2(BLOCK_BYTES) : KW,
    localparam int EW = $clog2(MESSAGES),
    localparam int HW = QUEUE_HEADS ? EW : 1
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
    input logic turn,
    input logic get_grant,
    input logic give_taken,
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
  logic emptied;
  logic begun;  // tp_writer tells a cycle late
  logic get_want, give_valid, head_put;
  logic [BW-1:LB] get_at, give_at;
  logic [HW-1:0] head_put_at, head_at;
  tp_c2h #(
      .DATA_WIDTH(DATA_WIDTH),
      .SENDING_BYTES(SENDING_BYTES),
      .MESSAGES(MESSAGES),
      .QUEUE_HEADS(QUEUE_HEADS),
      .SHARED(SHARED),
      .BLOCK_BYTES(BLOCK_BYTES),
      .HOLD(HOLD)
  ) dut (
      .clk,
      .rst,
      .announce,
      .paired(1'b0),
      .flush,
      .forget,
      .emptied,
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
      .ask(),
      .turn(turn || !SHARED),
      .beat_valid,
      .beat_at,
      .beat_data(),
      .get_want,
      .get_sparing(),
      .get_grant,
      .get_at,
      .give_valid,
      .give_at,
      .give_taken,
      .head_put,
      .head_put_at,
      .head_at,
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
  logic wanted;                             // in the cycle before
  logic forgetting, flushing, emptying;  // emptying: the blocks go back, and the count is to begin anew
  logic [3:0] blocks;                       // that the channel has
  logic full_up;                            // all of them
  always_ff @(posedge clk) begin
    started <= 1'b1;
    forgetting <= forget && (next || hand || !emptied) && !rst;
    flushing <= flush && !emptied && !rst;
    emptying <= dut.wipe && !emptied && !rst;
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
    blocks <= blocks + 4'(get_grant) - 4'(give_taken);
    wanted <= get_want && !get_grant && !rst;
    if (rst) {next, hand, planned, blocks} <= '0;
  end
  always_comb begin
    if (!started) assume (rst);
    assume (32'(tbytes) <= KEEP && (tlast || 32'(tbytes) == KEEP));
    assume (32'(plan_more) < HOLD);
    if (get_grant) assume (wanted && !rst && !full_up);
    if (give_taken) assume (give_valid && !rst);
    if (p_valid) assume (planned[p_at]);
    if (command_ready) assume (command_valid && !next && !rst);
    if (begin_next) assume (next && (!hand || read_out) && !rst);
    if (flush) assume (idle && !next && !hand && !rst);
    if (flushing) assume (flush);
    // It begins in the cycle after a descriptor's end, and stands until nothing is being read (tp_asked) and all blocks are back.
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
  logic [HW-1:0] head_place;
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
      head_place <= head_put_at;
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
      assert (!(command_valid || entry_start) || messages != '0);
      assert (!over || (ends != '0 && end_far == '0));
      assert (!waits || place_far < come);
      assert (!(waits && over) || before_byte != '0);
      assert (!(told && before_message == '0 && (command_valid || entry_start)) ||
              (dut.head_valid && (SHARED ? head_at == head_place : head_user == user)));
      assert (!(told && head_put && SHARED) || head_put_at != head_place);
      cover (over && waits && told && hand);
      cover (beat_valid && hand && next && next_first != hand_first);
      cover (over && end_far == '0 && dut.nothing);
    end

  // Distances in beats from the first one that may not be overwritten.
  localparam int FAR = BW + 2 - KW;
  logic [BW:KW] base;
  logic [FAR-1:0] used, held_far, rd_far, freed_far;
  assign used = {1'b0, (BW + 1 - KW)'(dut.wr - base)};
  assign rd_far = {1'b0, (BW + 1 - KW)'(dut.rd[BW:KW] - base)};
  if (SHARED) begin : g_shared
    logic [BW:LB] got, gave;
    logic [FAR-1:0] got_far;
    assign got = dut.g_shared.got;
    assign gave = dut.g_shared.gave;
    assign base = {gave, (LB - KW)'(0)};
    assign held_far = {1'b0, (BW + 1 - LB)'(dut.held - gave), (LB - KW)'(0)};
    assign freed_far = {1'b0, (BW + 1 - LB)'(dut.freed - gave), (LB - KW)'(0)};
    assign got_far = {1'b0, (BW + 1 - LB)'(got - gave), (LB - KW)'(0)};
    assign full_up = 32'(blocks) >= SENDING_BYTES / BLOCK_BYTES;
    logic [BW:LB] next_block, hand_block;
    assign next_block = next_first[BW:LB] - gave;
    assign hand_block = hand_first[BW:LB] - gave;
    always_comb
      if (started && !rst) begin
        // Blocks: what is given back is before all that is still to be read, what is written is in a block that the channel has.
        assert (!give_valid || (give_at == gave[BW-1:LB] && gave != got));
        if (give_valid)
          assert (emptying ? !next && !hand : dut.rd[BW:LB] != gave && (!next || next_block != '0) && (!hand || hand_block != '0));
        assert (!get_grant || get_at == got[BW-1:LB]);
        assert (32'(blocks) == 32'(got_far) / (BLOCK_BYTES / KEEP));  // none is forgotten
        assert (!beat_valid || (used < got_far && 32'(got_far) <= BEATS));
        // With its share it has enough for the longest write.
        assert (!(dut.g_shared.ahead == '0 && 32'(dut.g_shared.kept) > HOLD / BLOCK_BYTES) || 32'(come) >= HOLD);
        cover (give_valid && hand && next && beat_valid);
        cover (full_up && give_taken);
      end
    if (INDUCTION) begin : g_blocks
      always_comb
        if (started && !rst) begin
          assert (32'(got_far) <= BEATS && freed_far <= got_far && (emptying || used <= got_far));
          assert (!emptying || {dut.wr, dut.rd, dut.held, dut.begun_in, next, hand, begun, messages, ends} == '0);
          assert (!emptying || dut.wipe);
          assert (!next || next_first[BW:LB] == dut.held);
          assert (!hand || hand_first[BW:LB] == (begun ? dut.held : dut.freed));
          assert (messages == 2'(dut.g_outside.put_at - dut.g_outside.at) && (!dut.head_valid || messages != '0) && 32'(messages) <= 2);
          if (told) assert (head_place == HW'(dut.g_outside.at) + HW'(before_message));
        end
    end
  end else begin : g_alone
    assign base = dut.freed;
    assign full_up = 1'b0;
    assign freed_far = '0;
    assign held_far = {1'b0, (BW + 1 - KW)'(dut.held - dut.freed)};
    if (INDUCTION) begin : g_beats
      always_comb
        if (started && !rst) begin
          assert (!emptying);
          assert (dut.g_alone.full || 32'(used) < BEATS);
          assert (!next || next_first == dut.held);
          assert (!hand || hand_first == (begun ? dut.held : dut.freed));
          assert (messages == 2'(dut.head_valid) + 2'(dut.waiting));
          if (told) begin
            if (before_message == '0) assert (dut.head_valid ? head_user == user : dut.next_head[31:0] == user);
            if (32'(before_message) == 1) assert (dut.waiting && dut.head_valid && dut.next_head[31:0] == user);
          end
        end
    end
  end

  if (INDUCTION) begin : g_induction
    // The ends that have come: `first` is that of the message in hand, `second` comes behind it.
    logic [BW:0] first, second, behind_first, behind_second;
    function automatic logic [BW:0] whole_beats(input logic [BW:0] at);
      return {at[BW:KW] + (BW + 1 - KW)'(at[KW-1:0] != '0), KW'(0)};
    endfunction
    localparam logic [1:0] START = 2'd1, WRITE = 2'd2, END = 2'd3;  // states, as the module numbers them
    assign first = dut.i_ends.mem[dut.i_ends.rd[EW-1:0]];
    assign second = dut.i_ends.mem[EW'(dut.i_ends.rd[EW-1:0]+1'b1)];
    assign behind_first = whole_beats(first) - dut.rd;
    assign behind_second = whole_beats(second) - dut.rd;
    logic [BW:0] limit_far;
    assign limit_far = dut.limit - dut.rd;
    always_comb
      if (started && !rst) begin
        // Beats: freed, held, taken, come, in this order, and no more than there are.
        if (!emptying) begin
          assert (32'(used) <= BEATS);
          assert (freed_far <= held_far && held_far <= rd_far && rd_far <= used);
          assert (!(rd_far == used) || dut.rd[KW-1:0] == '0);
        end
        assert (!next || (BW + 1 - KW)'(next_first - base) <= (BW + 1 - KW)'(dut.rd[BW:KW] - base));
        assert (!hand || (BW + 1 - KW)'(hand_first - base) <= (BW + 1 - KW)'(dut.rd[BW:KW] - base));
        assert (!begun || (hand && !next));
        // Messages: where they end.
        assert (32'(ends) <= 2 && messages == 2'(ends) + 2'(dut.begun_in));
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
        for (int i = 0; i < 2; i++) if (planned[i]) assert (32'(dut.rooms[i]) < HOLD);
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
          assert (before_message < 2);
        end
      end
  end
endmodule
