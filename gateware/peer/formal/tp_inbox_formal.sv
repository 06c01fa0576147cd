// SPDX-License-Identifier: Apache-2.0
// tp_inbox: the core gets each row of each message once, in order, unchanged; a message has the head of its start, and one end. That is
// without error if an entry has ended it, which also says how many bytes of the last row count, and only then. Nothing is held back: an
// inbox that is idle has given all messages that were closed, and the rows of an open one but for the last. The host's beats pass
// unchanged, never within the peer's messages nor these within its own; they wait while the channel is paired, and pass soon after that.
// Behind what is wrong, by its own word (`dut.wrong`), or while the link is down, nothing comes in till the next pairing.
// What comes is made to say where it belongs (`image`): the inbox hands on rows, and of entries offset and user word, without a look at them.
// Assumed: what comes has room (see tp_inbox_room); the host pairs an inbox that is idle, without an open message; its stream keeps a beat
// until it is taken; a flush lasts for two clocks or more.
module tp_inbox_formal
  import towpath_pkg::*;
#(
    parameter bit INDUCTION = 1,
    localparam int DATA_WIDTH = 128,
    localparam int KEEP = DATA_WIDTH / 8,
    localparam int BEAT = DATA_WIDTH + KEEP + 2 + 64 + 64 + 32,
    localparam int N = 4                    // bits of a count of messages or rows: fewer than 2^N are in the inbox
) (
    input logic clk,
    input logic rst,
    input logic flush,
    input logic write_valid,
    input logic [7:3] write_offset,
    input logic [63:0] write_data,
    input logic [7:0] write_strb,
    input logic link_up,
    input logic rx_valid,
    input logic [6:0] rx_pages,
    input logic rx_entry,
    input logic rx_sound,
    input logic rx_whole,
    input logic [DATA_WIDTH-1:0] rx_data,
    input logic in_valid,
    input logic [BEAT-1:0] in_beat,
    input logic out_ready,
    input logic [DATA_WIDTH-1:0] mask      // see `image`
);
  logic [63:0] word;
  logic tell_valid, in_ready, in_last, in_error, out_valid, out_last, out_error;
  logic [63:2] tell_address;
  logic [31:0] tell, in_user, out_user;
  logic [DATA_WIDTH-1:0] in_data, out_data;
  logic [KEEP-1:0] in_keep, out_keep;
  logic [63:0] in_length, in_offset, out_length, out_offset;
  logic [BEAT-1:0] out_beat;
  assign {in_data, in_keep, in_last, in_error, in_length, in_offset, in_user} = in_beat;
  assign out_beat = {out_data, out_keep, out_last, out_error, out_length, out_offset, out_user};
  tp_inbox #(
      .DATA_WIDTH(DATA_WIDTH),
      .BYTES(128),
      .TELL(2),
      .MOST(1)
  ) dut (
      .may_tell(1'b0),
      .tell_ready(1'b0),
      .*
  );

  // ------------------------------------------------------------------------------------------------ what is around it
  localparam logic [7:3] CONTROL = 5'(TP_CHANNEL_PEER_CONTROL_OFFSET / 8);
  logic started = 1'b0;
  logic paired, sets, begins, parts, idle, flush1, flush2, waits;
  logic [6:0] key;
  logic [DATA_WIDTH-1:0] mask1;
  logic [BEAT-1:0] in_beat1;
  assign sets = write_valid && write_offset == CONTROL && (&write_strb[3:0]);
  assign begins = sets && write_data[TP_CHANNEL_PEER_CONTROL_PAIRED_LSB] && !paired;
  assign parts = sets && !write_data[TP_CHANNEL_PEER_CONTROL_PAIRED_LSB];
  assign idle = word[32+TP_CHANNEL_PEER_STATUS_IDLE_LSB];
  always_ff @(posedge clk) begin
    started <= 1'b1;
    {mask1, in_beat1} <= {mask, in_beat};
    {flush1, flush2} <= {flush, flush1};
    waits <= in_valid && !in_ready && !rst && !flush;
    if (sets) {paired, key} <= {!parts, write_data[TP_CHANNEL_PEER_CONTROL_KEY_LSB+:7]};
    if (rst || flush) paired <= 1'b0;
  end

  // ------------------------------------------------------------------------------------------------ what came
  typedef struct packed {
    logic open;           // a message is
    logic [N-1:0] begun;  // messages
    logic [N-1:0] rows;   // of the open one
    logic [N-1:0] ended;  // messages that an entry has ended
  } state_t;
  function automatic logic [DATA_WIDTH-1:0] image(input state_t state);
    return mask ^ DATA_WIDTH'({10{state}});
  endfunction
  // How many bytes of its last row count, of the message that has begun last: all, or so many.
  function automatic logic [3:0] bytes(input state_t state);
    return mask[7'd112+7'(state.begun)] ? '0 : mask[3:0] ^ state.begun;
  endfunction
  function automatic logic fits(input logic [DATA_WIDTH-1:0] data, input logic entry, input state_t state);
    logic [DATA_WIDTH-1:0] due;
    due = image(state);
    if (!entry) return data == due;
    if (data[121]) return data[111:0] == due[111:0];
    return data[95:32] == due[95:32] && (data[119:112] != TP_STATUS_END_OF_MESSAGE || data[3:0] == bytes(state));
  endfunction
  // Of what comes behind `state`: what it says of itself, and the state behind it.
  function automatic state_t tag(input state_t state, input logic starts);
    return starts ? {1'b0, N'(state.begun + 1'b1), {N{1'b0}}, state.ended} : state;
  endfunction
  function automatic state_t next(input state_t said, input logic entry, input logic start, input logic [7:0] status);
    next = said;
    if (!entry) next.rows = said.rows + N'(said.open);
    else if (start) next.open = 1'b1;
    else if (status != TP_STATUS_CANCELLED && status != TP_STATUS_DONE) begin
      next.open = 1'b0;
      next.rows = '0;
      next.ended = said.ended + N'(said.open && status == TP_STATUS_END_OF_MESSAGE);
    end
  endfunction

  logic comes, accepts, unsound, lost, stops, stopped;
  state_t came, kept, right, here;  // all that came, and without the last of it; all that was right; what the next beat says
  tp_completion_t entry;
  assign entry = rx_data;
  assign lost = dut.came_valid && dut.wrong && !stopped;
  assign right = lost ? kept : came;
  assign here = tag(right, rx_entry && entry.flags.start);
  assign comes = rx_valid && rx_pages == key && paired;
  assign stops = lost || (paired && !link_up) || unsound;
  assign accepts = comes && (rx_sound || !rx_entry) && !stops && !stopped;
  always_ff @(posedge clk) begin
    unsound <= comes && rx_entry && !rx_sound;
    if (stops) stopped <= 1'b1;
    came <= accepts ? next(here, rx_entry, entry.flags.start, entry.status) : right;
    kept <= right;
    if (begins || rst || flush) came <= '0;
    if (begins) stopped <= 1'b0;
  end
  always_comb begin
    if (!started) assume (rst);
    if (started) assume (mask1 == mask && (!flush1 || flush2 || flush));
    if (waits) assume (in_valid && in_beat1 == in_beat);
    if (flush || rst) assume (!in_valid);
    if (begins) assume (idle && !word[32+TP_CHANNEL_PEER_STATUS_OPEN_LSB]);
    assume (!dut.came_valid || dut.in_room);
    if (accepts) assume (fits(rx_data, rx_entry, here));
  end

  // ------------------------------------------------------------------------------------------------ what goes out
  logic mine, own_open, host_open, turn, still, stands, whole;
  logic [N-1:0] gone, put, ended;  // messages; rows of the one that is going; messages without error
  logic [1:0] quiet;               // clocks in which nothing kept it from giving all
  logic [BEAT-1:0] out_beat1;
  logic [KEEP-1:0] tail;
  logic [DATA_WIDTH-1:0] row, first;  // what the row that goes says, and the start of its message
  logic [3:0] last;
  assign mine = out_valid && out_ready && !in_ready;
  assign whole = out_keep != '0;
  assign still = !paired && idle && out_ready;
  assign row = image({1'b1, N'(gone + 1'b1), put, ended});
  assign first = image({1'b0, N'(gone + 1'b1), {N{1'b0}}, ended});
  assign last = bytes({1'b1, N'(gone + 1'b1), put, ended});
  always_comb for (int i = 0; i < KEEP; i++) tail[i] = last == '0 || i < 32'(last);
  always_ff @(posedge clk) begin
    if (mine) begin
      put <= out_last ? '0 : put + 1'b1;
      own_open <= !out_last;
      if (out_last) gone <= gone + 1'b1;
      if (out_last && !out_error) ended <= ended + 1'b1;
    end
    if (in_valid && in_ready) host_open <= !in_last;
    turn <= paired && (turn || (!host_open && !in_valid));
    quiet <= !still ? '0 : quiet + 2'(quiet != '1);
    stands <= out_valid && !out_ready;
    out_beat1 <= out_beat;
    if (begins || rst || flush) {gone, put, ended} <= '0;
    if (rst || flush) {own_open, host_open, turn, quiet, stands} <= '0;
  end
  always_comb
    if (started && !rst && !flush) begin
      assert (!stands || (out_valid && out_beat == out_beat1));
      // the host's
      assert (!(in_valid && in_ready) || (out_valid && out_beat == in_beat && !own_open));
      assert (!(out_valid && out_ready && in_ready) || in_valid);
      assert (!(turn && paired && in_ready));
      assert (!(&quiet && still && !host_open) || in_ready);
      // the peer's
      assert (!mine || (!host_open && (out_last || &out_keep)));
      assert (!mine || {out_length[47:32], out_user, out_offset[31:0], out_length[31:0]} == first[111:0]);
      assert (!mine || (out_length[63:48] == '0 && out_offset[63:32] == '0));
      assert (!(mine && whole) || out_data == row);
      assert (!(mine && out_last && whole) || out_keep == (out_error ? '1 : tail));
      assert (!(mine && out_last && !whole) || put == '0);
      if (paired && idle && turn)
        assert ({gone, ended} == {N'(came.begun - N'(came.open)), came.ended} &&
                (N'(put + 1'b1) == came.rows || (put == '0 && came.rows == '0)));
      if (&quiet && still) assert ({gone, ended} == {came.begun, came.ended});
      if (paired) assert (word[32+TP_CHANNEL_PEER_STATUS_OVERRUN_LSB] == stopped);
      if (paired && idle) assert (word[32+TP_CHANNEL_PEER_STATUS_OPEN_LSB] == came.open);
      cover (mine && out_last && !out_error && put == 1);
      cover (mine && out_last && out_error && put == 1);
      cover (mine && out_last && gone == 1 && stopped);
      cover (in_valid && in_ready && host_open && paired);
    end

  if (INDUCTION) begin : g_induction
    localparam int DEPTH = 8, AW = 3, ALL = DEPTH + 3;
    logic [AW:0] stored;
    logic [ALL-1:0] valid;                  // what is in the inbox, the newest first
    logic [ALL-1:0][DATA_WIDTH+1:0] items;
    logic [ALL-1:0] entries;
    state_t [ALL-1:0] said;
    state_t [ALL:0] behind;                 // the state behind each one, or behind the newest that is before it
    state_t out;
    logic [ALL-1:0] begin_one;              // a start
    assign stored = dut.i_fifo.wr - dut.i_fifo.rd;
    assign out = {dut.open, N'(gone + N'(dut.open)), N'(put + N'(dut.pending_valid)), ended};
    always_comb begin
      items[ALL-1] = dut.i_fifo.out_data;
      valid[ALL-1] = dut.i_fifo.out_valid;
      items[ALL-2] = dut.i_fifo.q;
      valid[ALL-2] = dut.i_fifo.q_valid;
      for (int i = 0; i < DEPTH; i++) begin
        items[ALL-3-i] = dut.i_fifo.mem[AW'(dut.i_fifo.rd+(AW+1)'(i))];
        valid[ALL-3-i] = i < 32'(stored);
      end
      items[0] = dut.came;
      valid[0] = dut.came_valid && !dut.wrong && !dut.overrun;
      behind[ALL] = out;
      for (int i = ALL - 1; i >= 0; i--) begin
        entries[i] = items[i][DATA_WIDTH+1];
        begin_one[i] = entries[i] && items[i][121];
        said[i] = items[i][51:39] ^ mask[51:39];
        behind[i] = valid[i] ? next(said[i], entries[i], items[i][121], items[i][119:112]) : behind[i+1];
      end
    end
    always_comb if (started) assert (dut.paired == paired && (!paired || dut.key[6:0] == key) && (!flush1 || !paired));
    always_comb
      if (started && !rst && !flush) begin
        assert (dut.host_open == host_open);
        assert (32'(stored) <= DEPTH && 32'(dut.held) == 32'(stored) + 32'(valid[ALL-2]) + 32'(valid[ALL-1]));
        // What is in the inbox follows on what has gone, and on each other; the last of it is the last that came.
        for (int i = 0; i < ALL; i++)
        if (valid[i]) begin
          assert (fits(items[i][DATA_WIDTH-1:0], entries[i], said[i]));
          assert (said[i] == tag(behind[i+1], begin_one[i]));
        end
        if (paired || valid != '0)
          assert (behind[0] == right);
          else assert (behind[0].begun == right.begun && behind[0].ended == right.ended && (!dut.open || behind[0] == right));
        if (paired || dut.came_valid) assert ({dut.overrun, dut.drops, dut.begun} == {stopped, unsound, behind[1].open});
        // what is on its way out
        assert (dut.open || (!dut.pending_valid && put == '0));
        assert (!dut.pending_valid || dut.pending == row);
        assert (dut.pending_valid || put == '0);
        assert (!dut.open || {dut.length[47:32], dut.user, dut.offset, dut.length[31:0]} == first[111:0]);
        assert (right.open || right.rows == '0);
        // turns
        assert (!(dut.open || own_open) || dut.ours);
        assert (!own_open || dut.open);
        assert (!dut.ours || !host_open);
        assert (!(turn && paired) || dut.ours);
        assert (!dut.shutting || (dut.open && !paired && valid == '0));
        assert (!(quiet != '0 && dut.open) || (dut.shutting && quiet == 2'd1));
        assert (quiet == '0 || valid == '0);
        assert (!(&quiet && dut.ours));
      end
  end
endmodule
