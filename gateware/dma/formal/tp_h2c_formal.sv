// SPDX-License-Identifier: Apache-2.0
// tp_h2c and its row of tp_h2c_stream, their counters: nothing is asked for, and no inline word copied, without a place in a block of the channel's own and without an order
// slot; while a message is open in the slots, one more is free for its end; the place of a read is given to no other until it has landed and has been
// passed on, and its block is not given back before; a block that is given back is one that the channel has, and no block is forgotten; no slot is
// given twice; a beat is read only when the queue towards the user core has room for it, and the end of every descriptor has a place: so a
// completion never stalls and never overflows. One read is watched, any one, and its place.
// And a channel that wants to stream has its turn within as many cycles as there are channels.
// Nor does retire count a slot of the next descriptor before the one before it has been told.
// Assumed: a descriptor stands until `finish`, and no more than QUEUE_DEPTH are finished and not told; a read is as long as tp_plan told; what is
// to be done next changes only when a descriptor or a plan comes, or one is taken (tp_front);
// a block that is granted is not the channel's (tp_blocks); an answer lands once, for a slot that waits for one (tp_landing); what is read
// comes two cycles later (tp_landing_ram). Of the other channels of the engine, nothing is assumed. A flush lasts rounds of eight cycles, until `flushed`, while there is no descriptor (tp_resets).
module tp_h2c_formal
  import tp_tlp_pkg::*;
  import towpath_pkg::*;
#(
    parameter int DATA_WIDTH = 64,
    parameter int BLOCKS = 4,
    parameter int BLOCK_BYTES = 256,
    parameter int QUEUE_DEPTH = 2,
    parameter int SLOTS = 8,
    parameter int BEATS = 4,
    parameter int CHANNELS = 2,  // of the engine; tp_h2c is the first
    parameter bit INDUCTION = 1,
    localparam int CW = CHANNELS > 1 ? $clog2(CHANNELS) : 1,
    localparam int SW = $clog2(SLOTS),
    localparam int KEEP = DATA_WIDTH / 8,
    localparam int KW = $clog2(KEEP),
    localparam int PLACES = BLOCK_BYTES / CPL_BOUNDARY,
    localparam int PW = $clog2(PLACES),
    localparam int BW = $clog2(BLOCKS),
    localparam int YW = $clog2(BLOCK_BYTES) + 1,
    localparam int SLOT = BW + PW + YW + 11
) (
    input logic clk,
    input logic rst,
    input logic flush,
    input logic d_valid,
    input logic [15:0] d_cookie,
    input logic d_end,
    input logic d_inline,
    input logic d_over,
    input logic d_empty,
    input logic d_broken,
    input logic [7:0] d_status,
    input logic [1:0] d_attributes,
    input logic p_valid,
    input logic p_last,
    input logic p_at,
    input logic plan_valid,
    input logic [11:0] plan_more,
    input logic plan_at,
    input logic stopping,
    input logic length_put,
    input logic other_put,
    input logic row_valid,
    input logic [8:0] row_word,
    input logic [6:0] row_more,
    input logic block_grant,
    input logic [BW-1:0] block,
    input logic grant,
    input logic [12:0] grant_bytes,
    input logic [1:0] grant_skew,
    input logic copied,
    input logic done_valid,
    input logic [SW-1:0] done_slot,
    input logic [7:0] done_status,
    input logic entry_ready,
    input logic [CHANNELS-1:0] other_flush,
    input logic [CHANNELS-1:0] other_valid,
    input logic [CHANNELS-1:0][SLOT-1:0] other_next,
    input logic [CHANNELS-1:0] other_room,
    input logic [CW-1:0] landed,
    input logic tready,
    input logic watch
);
  logic idle, flushed, block_want, take, abandon, finish, want, copy_want, entry_valid, tvalid;
  logic next_valid, room, read_valid, read, read_full;
  logic [SLOT-1:0] next;
  logic [CHANNELS-1:0] next_taken, spend, back;
  logic [CW-1:0] read_channel;
  logic [SW-1:0] want_slot;
  logic [BW-1:0] back_block;
  logic [BW+PW-1:0] want_place, copy_place;
  logic coming, coming_full, put, put_full;  // read, and on its way out of the RAM
  tp_h2c #(
      .DATA_WIDTH(DATA_WIDTH),
      .BLOCKS(BLOCKS),
      .BLOCK_BYTES(BLOCK_BYTES),
      .QUEUE_DEPTH(QUEUE_DEPTH),
      .SLOTS(SLOTS),
      .BEATS(BEATS)
  ) dut (
      .clk,
      .rst,
      .flush,
      .flushed,
      .idle,
      .holds(),
      .d_valid,
      .d_cookie,
      .d_end,
      .d_inline,
      .d_over,
      .d_empty,
      .d_broken,
      .d_status,
      .d_attributes,
      .length_put,
      .length_in('0),
      .other_put,
      .other_in('0),
      .p_valid,
      .p_last,
      .p_at,
      .plan_valid,
      .plan_more,
      .plan_at,
      .take,
      .abandon,
      .finish,
      .stopping,
      .row_valid,
      .row_word,
      .row_more,
      .block_want,
      .block_sparing(),
      .block_grant,
      .block,
      .want,
      .grant,
      .grant_bytes,
      .grant_skew,
      .in_line(),
      .want_slot,
      .want_place,
      .copy_want,
      .copied,
      .copy_word(),
      .copy_place,
      .done_valid,
      .done_slot,
      .done_status,
      .entry_valid,
      .entry_ready,
      .entry(),
      .entry_ends(),
      .next_valid,
      .next,
      .next_taken(next_taken[0]),
      .room,
      .spend(spend[0]),
      .put_valid(put),
      .put_from('0),
      .put_data('0),
      .put_full,
      .put_meta('0),
      .tvalid,
      .tready,
      .tdata(),
      .tkeep(),
      .tlast(),
      .terror(),
      .tlength(),
      .toffset(),
      .tuser()
  );
  logic [CHANNELS-1:0] all_flush, all_valid, all_room;
  logic [CHANNELS-1:0][SLOT-1:0] all_next;
  always_comb begin
    all_flush = other_flush;
    all_valid = other_valid;
    all_room = other_room;
    all_next = other_next;
    all_flush[0] = flush;
    all_valid[0] = next_valid;
    all_room[0] = room;
    all_next[0] = next;
  end
  tp_h2c_stream #(
      .DATA_WIDTH(DATA_WIDTH),
      .CHANNELS(CHANNELS),
      .BLOCKS(BLOCKS),
      .BLOCK_BYTES(BLOCK_BYTES)
  ) engine (
      .clk,
      .rst,
      .flush(all_flush),
      .next_valid(all_valid),
      .next(all_next),
      .next_taken,
      .room(all_room),
      .spend,
      .landed,
      .back,
      .back_block,
      .read_valid,
      .read_channel,
      .read_row(),
      .read_turn(),
      .read_from(),
      .read_full,
      .read_last(),
      .read_bytes(),
      .read_error(),
      .read_attributes()
  );
  assign read = read_valid && read_channel == '0;

  // ------------------------------------------------------------------------------------------------ what is around it
  logic [$clog2(BEATS):0] credits;  // beats for which there is room
  assign credits = dut.credits + 1'b1;
  logic started = 1'b0;
  logic put_was, d_broken_was, none;  // a slot was put; the plan taken last was the descriptor's last
  logic held, end_was, inline_was, empty_was, last_was, plan_was, at_was;
  logic [1:0] attributes_was;
  logic [BLOCKS-1:0] owned;  // blocks that the channel has
  logic came, row_was;  // a plan has come or one was taken; a row has come
  logic [3:0] flushing;  // cycles of this flush, up to 8
  logic flushed_was;
  logic [SLOTS-1:0] waiting;  // slots whose answer is to come
  logic [$clog2(QUEUE_DEPTH):0] untold;  // finished, not told
  always_ff @(posedge clk) begin
    started <= 1'b1;
    held <= d_valid && !finish && !rst;
    end_was <= d_end;
    attributes_was <= d_attributes;
    inline_was <= d_inline;
    put_was <= dut.slot_put && !rst;
    none <= d_valid && !finish && !rst && (none || (take && p_last));
    came <= plan_valid || take;
    row_was <= row_valid;
    plan_was <= p_valid && !take && !finish && !rst;
    at_was <= p_at;
    d_broken_was <= d_broken;
    last_was <= d_valid && p_last && !take && !finish && !rst;
    empty_was <= d_empty;
    flushing <= flush ? (flushing == 4'd8 ? (flushed_was ? 4'd1 : 4'd8) : flushing + 1'b1) : '0;
    flushed_was <= flushed;
    coming <= read && !rst;
    coming_full <= read_full;
    put <= coming && !rst;
    put_full <= coming_full;
    if (block_grant) owned[block] <= 1'b1;
    if (back[0]) owned[back_block] <= 1'b0;
    if (want && grant) waiting[want_slot] <= 1'b1;
    if (done_valid) waiting[done_slot] <= 1'b0;
    untold <= untold + 2'(finish) - 2'(entry_valid && entry_ready);
    if (rst) begin
      waiting <= '0;
      flushing <= '0;
      untold <= '0;
      owned <= '0;
    end
  end
  logic [PW:0] need;  // places of what comes next
  assign need = d_inline ? (PW + 1)'(1) : dut.needs[p_at] + 1'b1;
  always_comb begin
    if (!started) assume (rst);
    if (started && held && !rst)
      assume (d_valid && {d_end, d_inline, d_empty, d_attributes} == {end_was, inline_was, empty_was, attributes_was});
    if (started && last_was && !rst) assume (p_last);
    if (p_valid) assume (d_valid && !none);
    if (started && plan_was && !rst) assume (p_valid && p_at == at_was);
    if (started && !plan_was && !came) assume (!p_valid || ((d_inline || d_empty) && row_was));
    if (p_valid) assume (need != '0 && 32'(need) <= PLACES);  // tp_plan has told of it
    if (plan_valid) assume (32'(plan_more) < BLOCK_BYTES && !(p_valid && plan_at == p_at));
    if (block_grant) assume (block_want && 32'(block) < BLOCKS && !owned[block] && !rst);
    if (row_valid) assume (!d_valid);
    if (p_valid && (d_empty || d_inline)) assume (p_last);
    if (started && held && d_broken_was && !rst) assume (d_broken);
    if (grant) assume (want && !rst);
    assume (grant_bytes >= 1);
    if (grant) assume (32'(need) == (32'(grant_bytes) + CPL_BOUNDARY - 1) / CPL_BOUNDARY);
    assume (grant_skew == '0 || 13'(grant_skew) + grant_bytes <= 13'(CPL_BOUNDARY));
    if (copied) assume (copy_want && !rst);
    if (done_valid) assume (!rst && waiting[done_slot]);
    assume (done_status[7:4] == '0 && d_status[7:4] == '0);
    if (d_valid) assume (32'(untold) < QUEUE_DEPTH);
    if (started && flushing != 0 && (flushing != 4'd8 || !flushed_was) && !rst) assume (flush);
    if (flush) assume (!d_valid && idle && !rst);
  end

  // ------------------------------------------------------------------------------------------------ the watched read
  logic watching;  // from its grant until the stream takes its slot, ...
  logic reading;   // ... and until all of it has been read
  logic [SW:0] slot;
  logic [BW-1:0] its_block;
  logic [PW:0] its_place, its_end;
  always_ff @(posedge clk) begin
    if (!watching && !reading) begin
      watching <= watch && want && grant;
      slot <= dut.issue_at;
      its_block <= dut.newest;
      its_place <= dut.used;
      its_end <= dut.used + need;
    end else if (next_taken[0] && dut.stream_at == slot) begin
      watching <= 1'b0;
      reading <= watching && engine.starts;
    end else if (read && engine.over) reading <= 1'b0;
    if (rst || flush) {watching, reading} <= '0;
  end

  logic [SW:0] used;
  logic [SLOTS-1:0] taken;  // slots between stream and issue
  assign used = dut.issue_at - dut.stream_at;
  always_comb for (int i = 0; i < SLOTS; i++) taken[i] = {1'b0, SW'(i) - dut.stream_at[SW-1:0]} < used;
  // The slots, whose fields the module's own type names.
  typedef struct packed {
    logic [BW-1:0] block;
    logic [PW-1:0] place;
    logic fresh, empty, last;
    logic [1:0] attributes, skew;
    logic plain, broken;
    logic [YW-1:0] bytes;
  } slot_t;
  slot_t [SLOTS-1:0] slots;
  always_comb for (int i = 0; i < SLOTS; i++) slots[i] = dut.slots[i];

  // The engine's rows, whose fields the module's own type names, and who comes before the channel.
  typedef struct packed {
    logic [$clog2(BLOCKS*(BLOCK_BYTES/KEEP))-1:0] row;
    logic [KW-1:0] turn, from;
    logic [YW-1-KW:0] left;
    logic [KW:0] bytes;
    logic prime, tail, over, last, error;
    logic [1:0] attributes;
    logic [KW-1:0] fill;
    logic [BW-1:0] oldest;
  } state_t;
  state_t [CHANNELS-1:0] rows;
  // The next read is its slot's last.
  function automatic logic last_of(input state_t its);
    last_of = !its.prime && (its.left == '0 || (its.left == 1 && !its.tail));
  endfunction
  logic [BW-1:0] oldest;
  logic [CHANNELS-1:0] turn_after;
  if (CHANNELS == 1) begin : g_single
    assign rows[0] = engine.g_single.state;
    assign turn_after = '0;
  end else begin : g_several
    always_comb for (int c = 0; c < CHANNELS; c++) rows[c] = engine.g_several.states[c];
    assign turn_after = engine.g_several.i_turn.later;
  end
  assign oldest = rows[0].oldest;
  // How long it has wanted a turn.
  logic [CW:0] waited;
  always_ff @(posedge clk) waited <= !rst && !flush && read_channel != '0 && (engine.run[0] ? room : next_valid) ? waited + 1'b1 : '0;

  // Who has a block: the stream, a fresh slot which it has not reached, the issue before its first slot, or who takes it back.
  logic [BLOCKS-1:0][3:0] owners;
  always_comb
    for (int b = 0; b < BLOCKS; b++) begin
      owners[b] = 4'(engine.owner[0] && 32'(oldest) == b) + 4'(!dut.begun && 32'(dut.newest) == b) + 4'(back[0] && 32'(back_block) == b);
      for (int i = 0; i < SLOTS; i++) owners[b] += 4'(taken[i] && slots[i].fresh && 32'(slots[i].block) == b);
    end

  always_comb
    if (started && !rst) begin
      // No block is forgotten, none has two uses.
      for (int b = 0; b < BLOCKS; b++) assert (owners[b] == 4'(owned[b]));
      // A place and a slot for what is asked for.
      assert (!dut.reserve || 32'(dut.used) + 32'(need) <= PLACES);
      assert (!dut.reserve || owned[dut.newest]);
      assert (!grant || want_place == {dut.newest, dut.used[PW-1:0]});
      assert (!copied || (copy_place == {dut.newest, dut.used[PW-1:0]} && 32'(need) == 1));
      assert (!back[0] || owned[back_block]);
      assert (dut.copy_all == (dut.inline_more < 7'd8));
      assert ($onehot0(back) && $onehot0(next_taken) && $onehot0(spend));
      assert (32'(waited) < CHANNELS || read_channel == '0);
      assert (!read_valid || engine.over == last_of(engine.now));
      assert (!(want || copy_want) || dut.issue_at - dut.stream_at != (SW + 1)'(SLOTS));
      assert (!(want && grant) || !waiting[want_slot]);
      // No slot of the next descriptor is counted before the one before has been told.
      assert (!(dut.retire && dut.here));
      assert (!dut.unclosed || dut.issue_at - dut.stream_at != (SW + 1)'(SLOTS));
      // The watched read's place is its own.
      assert (!((watching || reading) && dut.reserve && dut.newest == its_block) || dut.used >= its_end);
      assert (!(watching || reading) || (owned[its_block] && !(back[0] && back_block == its_block)));
      if (watching && next_taken[0] && dut.stream_at == slot)
        assert ({engine.slot.block, engine.slot.place} == {its_block, its_place[PW-1:0]});
      assert (!next_taken[0] || !waiting[dut.stream_at[SW-1:0]]);
      assert (!(watching && want && grant) || want_slot != slot[SW-1:0]);
      // Credits: see also what tp_beat_fifo asserts, and tp_h2c of the ends of descriptors.
      assert (32'(credits) <= BEATS);
      cover (watching && want && grant && !waiting[slot[SW-1:0]] && dut.newest != its_block);
      cover (copied && watching);
      cover (reading && dut.reserve);
      cover (credits == 0 && put);
    end

  if (INDUCTION) begin : g_induction
    // The places that were taken in its block before each slot came. Slots follow each other, in a block or from one to the next.
    logic [PW:0] places[SLOTS];
    always_ff @(posedge clk) if (dut.slot_put) places[dut.issue_at[SW-1:0]] <= dut.used;
    logic [SLOTS-1:0] pending;  // between retire and issue
    logic [SLOTS-1:0][PW+1:0] ends;  // places that are taken after it
    localparam logic [2:0] ASK = 3'd1, COPY = 3'd2, EMPTY = 3'd3;  // states, as the module numbers them
    always_comb begin
      for (int i = 0; i < SLOTS; i++) begin
        pending[i] = {1'b0, SW'(i) - dut.retire_at[SW-1:0]} < (SW + 1)'(dut.issue_at - dut.retire_at);
        ends[i] = (PW + 2)'(places[i]) + (slots[i].empty ? '0 : (PW + 2)'((14'(slots[i].bytes) + 14'd63) >> 6));
      end
    end
    logic [SW-1:0] first, newest;  // slots
    assign first = dut.stream_at[SW-1:0];
    assign newest = dut.issue_at[SW-1:0] - 1'b1;
    int beats;
    logic [BEATS-1:0] held_beats;
    assign beats = 32'(($clog2(BEATS) + 1)'(dut.i_beats.wr - dut.i_beats.rd)) + 32'(dut.i_beats.out_valid);
    always_comb
      for (int i = 0; i < BEATS; i++)
        held_beats[i] = {1'b0, ($clog2(BEATS))'(i) - dut.i_beats.rd[$clog2(BEATS)-1:0]} <
            (($clog2(BEATS) + 1)'(dut.i_beats.wr - dut.i_beats.rd));
    always_comb
      if (started && !rst) begin
        assert (untold == dut.i_ends.count && (!entry_valid || dut.here));
        assert (!dut.here || dut.at_end || dut.retire_at == dut.issue_at);
        assert (!dut.settled || !p_valid || d_empty || d_inline || dut.fits == dut.fits_now);
        assert (32'(used) <= SLOTS && (SW + 1)'(dut.retire_at - dut.stream_at) <= used);
        assert ((SW + 1)'(dut.issue_at - dut.retire_at) <= used);
        assert (32'(dut.used) <= PLACES && (dut.begun || dut.used == 0));
        if (!dut.begun) assert (32'(dut.newest) < BLOCKS);
        if (engine.owner[0]) assert (32'(oldest) < BLOCKS);
        if (back[0]) assert (32'(back_block) < BLOCKS);
        if (used == 0) begin
          if (dut.begun) assert (engine.owner[0] ? oldest == dut.newest : 32'(dut.used) == PLACES);
        end else begin
          if (!slots[first].fresh) assert (engine.owner[0] ? oldest == slots[first].block : 32'(places[first]) == PLACES);
          if (dut.begun) assert (dut.newest == slots[newest].block && (PW + 2)'(dut.used) == ends[newest]);
        end
        assert (!dut.slot_free || put_was || 32'(used) < SLOTS);
        assert (!(put_was && dut.state == '0 && d_valid && p_valid) || (32'(used) < SLOTS && dut.open));
        assert (!dut.slot_spare || 32'(used) < SLOTS - 1);
        assert (32'(used) + 32'(dut.unclosed) <= SLOTS && (dut.open || !dut.unclosed));
        for (int i = 0; i < SLOTS; i++) begin
          assert (!waiting[i] || (pending[i] && dut.asked[i] == dut.answered[i] && !slots[i].plain));
          assert (!pending[i] || slots[i].plain || waiting[i] || dut.asked[i] != dut.answered[i]);
          if (taken[i]) begin
            assert (32'(ends[i]) <= PLACES && slots[i].place == places[i][PW-1:0] && 32'(slots[i].bytes) <= BLOCK_BYTES);
            assert (slots[i].empty || slots[i].bytes != '0);
            if (slots[i].fresh)
              assert (places[i] == '0 && 32'(slots[i].block) < BLOCKS);
              else if (i != 32'(first))
                assert (slots[i].block == slots[(i+SLOTS-1)%SLOTS].block && (PW + 2)'(places[i]) == ends[(i+SLOTS-1)%SLOTS]);
          end
        end
        if (reading) assert (!watching && engine.run[0] && engine.owner[0] && oldest == its_block);
        if (watching) begin
          assert ((SW + 1)'(slot - dut.stream_at) < used && !slots[slot[SW-1:0]].empty);
          assert (its_block == slots[slot[SW-1:0]].block && its_place == places[slot[SW-1:0]]);
          assert ((PW + 2)'(its_end) == ends[slot[SW-1:0]]);
        end
        // What came behind the watched read in its block, or comes, is behind it there.
        if (watching || reading) begin
          if (dut.begun && dut.newest == its_block) assert (dut.used >= its_end);
          for (int i = 0; i < SLOTS; i++)
          if (taken[i] && slots[i].block == its_block && SW'(i) != slot[SW-1:0] &&
              (reading || {1'b0, SW'(i) - slot[SW-1:0]} < (SW + 1)'(dut.issue_at - slot)))
            assert (places[i] >= its_end);
        end
        // The attributes of a message find the room that was there when it was begun.
        assert (5'(dut.i_attributes.wr - dut.i_attributes.rd) < (dut.attributes_ready ? 5'd15 : 5'd16));
        assert (!dut.unclosed || dut.open);
        if (dut.state == ASK || dut.state == COPY || dut.state == EMPTY)
          assert (dut.open || d_attributes == '0 || 5'(dut.i_attributes.wr - dut.i_attributes.rd) < 5'd15);
        if (dut.state == ASK || dut.state == COPY || (dut.state == EMPTY && !d_broken)) assert (plan_was);
        if (dut.state == ASK) assert (dut.fits_now && 32'(used) < SLOTS - 32'(!(d_end && p_last)));
        if (dut.state == EMPTY) assert (32'(used) < SLOTS && (d_empty || d_broken));
        if (dut.state == ASK || dut.state == COPY) assert (held && inline_was == (dut.state == COPY));
        if (dut.state == COPY) assert (!empty_was);
        if (dut.state != '0) assert (held);
        // Beats come without attributes here: those are not what this is about.
        for (int i = 0; i < BEATS; i++) if (held_beats[i]) assert (dut.i_beats.metas[i][1:0] == '0);
        if (dut.i_beats.out_valid) assert (dut.i_beats.out_meta[1:0] == '0);
        // Credits, but while a flush sweeps the pipeline.
        assert (flushing <= 8);
        if (flushing == 0) assert (32'(credits) + beats + 32'(put && put_full) + 32'(coming && coming_full) == BEATS);
        if (flushing == 0 && coming && !coming_full) assert (credits != 0);
        if (flushing == 0 && put && !put_full) assert (credits != 0 || (coming && coming_full));
        // A piece that does not fill its beat leaves the credit to the one that will.
        if (put && flushing == 0) assert (beats < BEATS);
        if (flushing >= 1) assert (!engine.run[0] && 32'(credits) == BEATS && beats == 0);
        if (flushing >= 2) assert (!coming);
        if (flushing >= 3) assert (!put);
        if (engine.run[0]) assert (flushing == 0);
        for (int c = 0; c < CHANNELS; c++) assert (!engine.run[c] || rows[c].over == last_of(rows[c]));
        // Whoever is passed over is next.
        if (CHANNELS == 2) assert (waited == '0 || read_channel == '0 || (32'(waited) == 1 && turn_after == '0));
      end
  end
endmodule
