// SPDX-License-Identifier: Apache-2.0
// tp_h2c, its counters: nothing is asked for, and no inline word copied, without room reserved in the landing RAM and without an order
// slot; while a message is open in the slots, one more is free for its end; the room of a read is given to no other until it has landed and has been
// passed on; no slot is given twice; a beat is read only when
// the queue towards the user core has room for it, and the end of every descriptor has a place: so a completion never stalls and never
// overflows. One read is watched, any one, and its room.
// Assumed: a descriptor stands until `finish`, and no more than QUEUE_DEPTH are finished and not told; a read is no longer than `read_log2`
// says; an answer lands once, for a slot that waits for one (tp_landing); what is read comes two cycles later (tp_landing_ram); a
// flush lasts eight cycles, while there is no descriptor (tp_dma).
module tp_h2c_formal
  import tp_tlp_pkg::*;
  import towpath_pkg::*;
#(
    parameter int DATA_WIDTH = 64,
    parameter int LANDING_BYTES = 512,
    parameter int QUEUE_DEPTH = 2,
    parameter int SLOTS = 8,
    parameter int BEATS = 4,
    parameter bit INDUCTION = 1,
    localparam int SW = $clog2(SLOTS),
    localparam int BLOCKS = LANDING_BYTES / CPL_BOUNDARY,
    localparam int BW = $clog2(BLOCKS)
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
    input logic p_valid,
    input logic p_last,
    input logic stopping,
    input logic row_valid,
    input logic [8:0] row_word,
    input logic [6:0] row_bytes,
    input logic grant,
    input logic [12:0] grant_bytes,
    input logic [1:0] grant_skew,
    input logic copied,
    input logic done_valid,
    input logic [SW-1:0] done_slot,
    input logic [7:0] done_status,
    input logic entry_ready,
    input logic read_grant,
    input logic tready,
    input logic watch
);
  localparam int LONGEST = 7;  // the logarithm of the longest read's bytes
  logic idle, take, abandon, finish, want, copy_want, entry_valid, read_want, read_full, tvalid;
  logic [SW-1:0] want_slot;
  logic [BW-1:0] want_block, copy_block;
  logic coming, coming_full, put, put_full;  // read, and on its way out of the RAM
  tp_h2c #(
      .DATA_WIDTH(DATA_WIDTH),
      .LANDING_BYTES(LANDING_BYTES),
      .QUEUE_DEPTH(QUEUE_DEPTH),
      .SLOTS(SLOTS),
      .BEATS(BEATS)
  ) dut (
      .clk,
      .rst,
      .read_log2(4'(LONGEST)),
      .flush,
      .idle,
      .d_valid,
      .d_cookie,
      .d_end,
      .d_inline,
      .d_over,
      .d_empty,
      .d_broken,
      .d_status,
      .d_length('0),
      .d_offset('0),
      .d_user('0),
      .p_valid,
      .p_last,
      .take,
      .abandon,
      .finish,
      .stopping,
      .row_valid,
      .row_word,
      .row_bytes,
      .want,
      .grant,
      .grant_bytes,
      .grant_skew,
      .want_slot,
      .want_block,
      .copy_want,
      .copied,
      .copy_word(),
      .copy_block,
      .done_valid,
      .done_slot,
      .done_status,
      .entry_valid,
      .entry_ready,
      .entry(),
      .read_want,
      .read_grant,
      .read_row(),
      .read_turn(),
      .read_from(),
      .read_full,
      .read_last(),
      .read_bytes(),
      .read_error(),
      .read_attributes(),
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

  // ------------------------------------------------------------------------------------------------ what is around it
  logic started = 1'b0;
  logic held, end_was, inline_was, empty_was, last_was;
  logic [3:0] flushing;  // cycles of this flush
  logic [SLOTS-1:0] waiting;  // slots whose answer is to come
  logic [1:0] took;  // blocks reserved in the cycle before
  logic [$clog2(QUEUE_DEPTH):0] untold;  // finished, not told
  always_ff @(posedge clk) begin
    started <= 1'b1;
    held <= d_valid && !finish && !rst;
    end_was <= d_end;
    inline_was <= d_inline;
    last_was <= d_valid && p_last && !take && !finish && !rst;
    empty_was <= d_empty;
    flushing <= flush ? (flushing == 4'd8 ? 4'd1 : flushing + 1'b1) : '0;
    coming <= read_grant && !rst;
    coming_full <= read_full;
    put <= coming && !rst;
    put_full <= coming_full;
    took <= dut.reserve ? 2'(dut.need) : '0;
    if (want && grant) waiting[want_slot] <= 1'b1;
    if (done_valid) waiting[done_slot] <= 1'b0;
    untold <= untold + 2'(finish) - 2'(entry_valid && entry_ready);
    if (rst) begin
      waiting <= '0;
      flushing <= '0;
      untold <= '0;
      took <= '0;
    end
  end
  always_comb begin
    if (!started) assume (rst);
    if (started && held && !rst) assume (d_valid && {d_end, d_inline, d_empty} == {end_was, inline_was, empty_was});
    if (started && last_was && !rst) assume (p_last);
    if (p_valid) assume (d_valid);
    if (row_valid) assume (!d_valid);
    if (d_inline && !d_empty) assume (dut.inline_bytes != '0);  // it waits for no more than it has
    if (grant) assume (want && !rst);
    assume (grant_bytes >= 1 && grant_bytes <= 13'd1 << LONGEST);
    assume (grant_skew == '0 || 13'(grant_skew) + grant_bytes <= 13'(CPL_BOUNDARY));
    if (copied) assume (copy_want && !rst);
    if (read_grant) assume (read_want && !rst);
    if (done_valid) assume (!rst && waiting[done_slot]);
    if (d_valid) assume (32'(untold) < QUEUE_DEPTH);
    if (started && flushing != 0 && flushing != 4'd8 && !rst) assume (flush);
    if (flush) assume (!d_valid && idle && !rst);
  end

  // ------------------------------------------------------------------------------------------------ the watched read
  logic watching;  // from its grant until the stream takes its slot, ...
  logic reading;   // ... and until all of it has been read
  logic [SW:0] slot;
  logic [BW:0] start;
  logic [BW:0] span;
  always_ff @(posedge clk) begin
    if (!watching && !reading) begin
      watching <= watch && want && grant;
      slot <= dut.issue_at;
      start <= dut.room_at;
      span <= (BW + 1)'(dut.need);
    end else if (dut.load && dut.stream_at == slot) begin
      watching <= 1'b0;
      reading <= watching && !dut.drop && !dut.moot;
    end else if (read_grant && dut.run_over) reading <= 1'b0;
    if (rst || flush) {watching, reading} <= '0;
  end

  // Rooms, in blocks from where the watched one starts: all that is reserved anew must lie behind it and end before it begins again.
  int new_at, new_end;
  logic [BW:0] behind, reserved;
  assign behind = dut.room_at - start;
  assign new_at = 32'(behind);
  assign new_end = 32'(behind) + 32'(dut.need);
  assign reserved = dut.room_at - dut.room_freed;

  always_comb
    if (started && !rst) begin
      // Room and slot for what is asked for.
      assert (32'(reserved) <= BLOCKS);
      assert (!dut.reserve || 32'(reserved) + 32'(dut.need) <= BLOCKS);
      assert (!grant || (want_block == dut.room_at[BW-1:0] && 32'(dut.need) * CPL_BOUNDARY >= 32'(grant_bytes)));
      assert (!copied || (copy_block == dut.room_at[BW-1:0] && 32'(dut.need) == 1));
      assert (!(want || copy_want) || dut.issue_at - dut.stream_at != (SW + 1)'(SLOTS));
      assert (!(want && grant) || !waiting[want_slot]);
      assert (!dut.unclosed || dut.issue_at - dut.stream_at != (SW + 1)'(SLOTS));
      // The watched read's room is its own.
      assert (!((watching || reading) && dut.reserve) || (new_at >= 32'(span) && new_end <= BLOCKS));
      assert (!(watching || reading) || 32'((BW + 1)'(start - dut.room_freed)) + 32'(span) <= 32'(reserved));
      assert (!dut.load || !waiting[dut.stream_at[SW-1:0]]);
      assert (!(watching && want && grant) || want_slot != slot[SW-1:0]);
      // Credits: see also what tp_beat_fifo asserts, and tp_h2c of the ends of descriptors.
      assert (32'(dut.credits) <= BEATS);
      cover (watching && want && grant && !waiting[slot[SW-1:0]] && 32'(reserved) > 2);
      cover (copied && watching);
      cover (reading && dut.reserve);
      cover (dut.credits == 0 && put);
    end

  if (INDUCTION) begin : g_induction
    // Where each slot's room starts. Rooms follow each other: a slot's ends where the next one's starts.
    logic [BW:0] starts[SLOTS];
    always_ff @(posedge clk) if (dut.slot_put) starts[dut.issue_at[SW-1:0]] <= dut.room_at;
    logic [SW:0] used;
    logic [SLOTS-1:0] pending, taken;  // between retire and issue; between stream and issue
    logic [SLOTS-1:0][BW+1:0] ends, nexts;
    logic [SLOTS-1:0][BW:0] far, spans;  // from the oldest room, blocks
    localparam logic [2:0] ASK = 3'd1, COPY = 3'd2, EMPTY = 3'd3;  // states, as the module numbers them
    always_comb begin
      used = dut.issue_at - dut.stream_at;
      for (int i = 0; i < SLOTS; i++) begin
        taken[i] = {1'b0, SW'(i) - dut.stream_at[SW-1:0]} < used;
        pending[i] = {1'b0, SW'(i) - dut.retire_at[SW-1:0]} < (SW + 1)'(dut.issue_at - dut.retire_at);
        far[i] = starts[i] - dut.room_freed;
        spans[i] = dut.slots[i].empty ? '0 : (BW + 1)'((14'(dut.slots[i].bytes) + 14'd63) >> 6);
      end
    end
    for (genvar i = 0; i < SLOTS; i++) begin : g_next
      assign ends[i] = {1'b0, far[i]} + {1'b0, spans[i]};
      assign nexts[i] = {1'b0, SW'(i + 1) == dut.issue_at[SW-1:0] ? reserved : far[(i+1)%SLOTS]};
    end
    logic [BW:0] run_room;
    int beats;
    logic [BEATS-1:0] held_beats;
    assign run_room = dut.free_next - dut.room_freed;
    assign beats = 32'(($clog2(BEATS) + 1)'(dut.i_beats.wr - dut.i_beats.rd)) + 32'(dut.i_beats.out_valid);
    always_comb
      for (int i = 0; i < BEATS; i++)
        held_beats[i] = {1'b0, ($clog2(BEATS))'(i) - dut.i_beats.rd[$clog2(BEATS)-1:0]} <
            (($clog2(BEATS) + 1)'(dut.i_beats.wr - dut.i_beats.rd));
    always_comb
      if (started && !rst) begin
        assert (untold == dut.i_ends.count);
        assert (32'(used) <= SLOTS && (SW + 1)'(dut.retire_at - dut.stream_at) <= used);
        assert ((SW + 1)'(dut.issue_at - dut.retire_at) <= used);
        assert (run_room <= reserved && 32'(reserved) <= BLOCKS);
        assert (used == 0 ? dut.free_next == dut.room_at : dut.free_next == starts[dut.stream_at[SW-1:0]]);
        assert (!dut.slot_free || !dut.settled || 32'(used) < SLOTS);
        assert (!dut.slot_spare || 32'(used) < SLOTS - 1);
        assert (32'(used) + 32'(dut.unclosed) <= SLOTS && (dut.open || !dut.unclosed));
        for (int i = 0; i < SLOTS; i++) begin
          assert (!waiting[i] || (pending[i] && dut.asked[i] == dut.answered[i] && !dut.slots[i].plain));
          assert (!pending[i] || dut.slots[i].plain || waiting[i] || dut.asked[i] != dut.answered[i]);
          if (taken[i]) begin
            assert (32'(dut.slots[i].bytes) <= 1 << LONGEST);
            assert (far[i] >= run_room);
            assert (ends[i] <= {1'b0, reserved});
            assert (ends[i] == nexts[i]);
          end
        end
        if (reading) assert (!watching && dut.run && dut.room_freed == start && dut.free_next == (BW + 1)'(start + span));
        if (watching) begin
          assert (32'(span) != 0 && (SW + 1)'(slot - dut.stream_at) < used);
          assert (start == starts[slot[SW-1:0]] && span == spans[slot[SW-1:0]]);
        end
        // Room for two blocks was there before what was reserved in the cycle before.
        assert (!dut.room || 32'(reserved) + 2 <= BLOCKS + 32'(took));
        // The attributes of a message find the room that was there when it was begun.
        assert (!dut.attributes_ready || 5'(dut.i_attributes.wr - dut.i_attributes.rd) < 5'd16);
        assert (!dut.unclosed || dut.open);
        assert (!(dut.settled && dut.noted) && (!dut.noted || dut.attributes_ready));
        if (dut.state == ASK || dut.state == COPY || dut.state == EMPTY) assert (dut.open || (dut.attributes_ready && !dut.noted));
        assert (took == '0 || !dut.settled);
        assert (!dut.settled || dut.state != COPY || 32'(took) <= 1);
        if (dut.state == ASK) assert (32'(reserved) + 2 <= BLOCKS && 32'(used) < SLOTS - 32'(!(d_end && p_last)));
        if (dut.state == COPY) assert (32'(took) <= 1);
        if (dut.state == EMPTY) assert (32'(used) < SLOTS);
        if (dut.state == ASK || dut.state == COPY) assert (held && inline_was == (dut.state == COPY));
        if (dut.state == COPY) assert (!empty_was);
        if (dut.state != '0) assert (held);
        // Beats come without attributes here: those are not what this is about.
        for (int i = 0; i < BEATS; i++) if (held_beats[i]) assert (!dut.i_beats.metas[i][0]);
        if (dut.i_beats.out_valid) assert (!dut.i_beats.out_meta[0]);
        // Credits, but while a flush sweeps the pipeline.
        assert (flushing <= 8);
        if (flushing == 0) assert (32'(dut.credits) + beats + 32'(put && put_full) + 32'(coming && coming_full) == BEATS);
        if (flushing == 0 && coming && !coming_full) assert (dut.credits != 0);
        if (flushing == 0 && put && !put_full) assert (dut.credits != 0 || (coming && coming_full));
        // A piece that does not fill its beat leaves the credit to the one that will.
        if (put && flushing == 0) assert (beats < BEATS);
        if (flushing >= 1) assert (!dut.run && 32'(dut.credits) == BEATS && beats == 0);
        if (flushing >= 2) assert (!coming);
        if (flushing >= 3) assert (!put);
        if (dut.run) assert (flushing == 0);
      end
  end
endmodule
