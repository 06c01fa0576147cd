// SPDX-License-Identifier: Apache-2.0
// tp_landing, whatever comes in on the wire: each beat is checked two cycles later and, if it is data of a read that is out and good, is
// written in the next one, into the room that its read reserved and nowhere else; a read is called done once, and good only if every dword of its room
// has been written, in order, and not before it can be read. Nothing that comes for another tag touches it.
//
// Headers are anything, in any order. Assumed: a packet's header stands beside all its beats, of which there are as many as its length says
// (the endpoint's duty); tags are handed out as tp_tags is proved to do; a request asks for no more than the landing RAM holds, and starts on
// a completion boundary or ends before the next one; a list fetch is the rest of an aligned 64-byte block (tp_h2c, tp_lists).
// One tag is watched, any one.
module tp_landing_formal
  import tp_tlp_pkg::*;
  import towpath_pkg::*;
#(
    parameter int DATA_WIDTH = 64,
    parameter int H2C = 2,
    parameter int CHANNELS = 3,
    parameter int TAGS = 2,
    parameter int LANDING_BYTES = 512,
    parameter int SLOTS = 8,
    parameter bit INDUCTION = 1,
    localparam int TW = $clog2(TAGS),
    localparam int SW = $clog2(SLOTS),
    localparam int CW = $clog2(CHANNELS),
    localparam int BW = $clog2(LANDING_BYTES / CPL_BOUNDARY),
    localparam int RW = $clog2(LANDING_BYTES / (DATA_WIDTH / 8)),
    localparam int LANES = DATA_WIDTH / 32,
    localparam int LW = $clog2(LANES)
) (
    input logic clk,
    input logic rst,
    input logic rx_valid,
    input tp_completion_hdr_t rx_hdr,
    input logic [DATA_WIDTH-1:0] rx_data,
    input logic rx_last,
    input logic rx_bad,
    input logic note_valid,
    input logic [TW-1:0] note_tag,
    input logic note_list,
    input logic [CW-1:0] note_channel,
    input logic [SW-1:0] note_slot,
    input logic [BW-1:0] note_place,
    input logic [12:0] note_bytes,
    input logic [6:0] note_low,
    input logic release_valid,  // out of quarantine
    input logic [TW-1:0] release_tag,
    input logic overdue_valid,
    input logic [TW-1:0] overdue_tag,
    input logic overdue_link,
    input logic overdue_reset,
    input logic inject_valid,
    input logic [BW-1:0] inject_place,
    input logic [63:0] inject_data,
    input logic [TW-1:0] choose
);
  logic free_valid, free_late, give_up_valid, quiet, overdue_ready, event_valid, inject_ready, done_valid;
  logic entry_valid, entry_last, entry_failed;
  logic [TW-1:0] look_tag, free_tag;
  logic [3:0] event_code;
  logic [CW-1:0] done_channel, entry_channel;
  logic [SW-1:0] done_slot;
  logic [7:0] done_status, entry_status;
  logic [127:0] entry;
  logic write_valid;
  logic [RW-1:0] write_row;
  logic [DATA_WIDTH-1:0] write_data;
  logic [TAGS-1:0] shows, given_up, laps;  // what tp_tags says of each tag
  tp_landing #(
      .DATA_WIDTH(DATA_WIDTH),
      .CHANNELS(CHANNELS),
      .TAGS(TAGS),
      .LANDING_BYTES(LANDING_BYTES),
      .SLOTS(SLOTS)
  ) dut (
      .clk,
      .rst,
      .rx_valid,
      .rx_hdr,
      .rx_data,
      .rx_last,
      .rx_bad,
      .note_valid,
      .note_tag,
      .note_context({note_list, note_channel, note_slot, note_place}),
      .note_bytes,
      .note_low,
      .look_tag,
      .look_out(shows[look_tag]),
      .look_lap(laps[look_tag]),
      .quiet,
      .free_valid,
      .free_late,
      .give_up_valid,
      .free_tag,
      .overdue_valid,
      .overdue_ready,
      .overdue_tag,
      .overdue_link,
      .overdue_reset,
      .event_valid,
      .event_code,
      .inject_valid,
      .inject_ready,
      .inject_place,
      .inject_data,
      .write_valid,
      .write_row,
      .write_data,
      .done_valid,
      .done_channel,
      .done_slot,
      .done_status,
      .entry_valid,
      .entry_channel,
      .entry,
      .entry_last,
      .entry_failed,
      .entry_status
  );

  logic started = 1'b0;
  logic [TW-1:0] one;  // the tag that is watched
  always_ff @(posedge clk) begin
    started <= 1'b1;
    if (!started) one <= choose;
  end
  always_comb if (!started) assume (rst);

  // ------------------------------------------------------------------------------------------------ the wire: packets, in beats
  logic midway;  // the next beat belongs to the packet of the one before
  logic [10:0] gone, so_far;  // dwords of that packet that have come; before the beat on the wire
  assign so_far = midway ? gone : '0;
  always_ff @(posedge clk) begin
    if (rx_valid) begin
      midway <= !rx_last;
      gone <= so_far + 11'(LANES);
    end
    if (rst) midway <= 1'b0;
  end

  // What was on the wire a cycle ago (1) and two (2): a beat, or a read that is overdue. The headers are of the last packet that came by.
  logic beat1, beat2, late1, late2, last1, last2;
  logic bad1, bad2;  // it is damaged
  logic [1:0] why1, why2;  // it is overdue: because of {a reset, the link}
  tp_completion_hdr_t hdr1, hdr2;
  logic [DATA_WIDTH-1:0] data1, data2;
  logic [10:0] far1, far2;
  logic [TW-1:0] tag1, tag2;  // of either
  logic still;                // nothing was under way anywhere
  logic inside2;              // a packet has come by there, but not its last beat
  logic [10:0] gone2;
  always_ff @(posedge clk) begin
    beat1 <= rx_valid && !rst;
    late1 <= overdue_valid && overdue_ready && !rst;
    last1 <= rx_last || !rx_valid;
    bad1 <= rx_bad;
    why1 <= {overdue_reset, overdue_link};
    if (rx_valid) hdr1 <= rx_hdr;
    data1 <= rx_data;
    far1 <= rx_valid ? so_far : '0;
    tag1 <= rx_valid ? rx_hdr.tag[TW-1:0] : overdue_tag;
    beat2 <= beat1 && !rst;
    late2 <= late1 && !rst;
    last2 <= last1;
    bad2 <= bad1;
    why2 <= why1;
    if (beat1) hdr2 <= hdr1;
    data2 <= data1;
    far2 <= far1;
    if (beat1 || late1) tag2 <= tag1;
    if (beat2) begin
      inside2 <= !last2;
      gone2 <= far2 + 11'(LANES);
    end
    still <= !rst && !rx_valid && !midway && !overdue_valid && !beat1 && !late1 && !beat2 && !late2;
    if (rst) inside2 <= 1'b0;
  end

  always_comb
    if (rx_valid) begin
      assume (!midway || rx_hdr == hdr1);
      assume (rx_last == (32'(rx_hdr.dwords) <= 32'(so_far) + LANES));
      assume (rx_hdr.dwords <= 11'd1024);
      assume (rx_hdr.status == CPL_OK || rx_hdr.dwords == 0);
    end

  // ------------------------------------------------------------------------------------------------ the tags
  // A tag shows as out a cycle after it was handed out (`lately`). After a reset none is, until the landing has been told of it once.
  logic [TAGS-1:0] told;
  logic lately;
  logic [TW-1:0] lately_tag;
  always_ff @(posedge clk) begin
    lately <= note_valid && !rst;
    lately_tag <= note_tag;
    if (lately) begin
      shows[lately_tag] <= 1'b1;
      laps[lately_tag] <= !laps[lately_tag];
      given_up[lately_tag] <= 1'b0;
    end
    if (give_up_valid) given_up[free_tag] <= 1'b1;
    if (free_valid) shows[free_tag] <= 1'b0;
    if (release_valid) shows[release_tag] <= 1'b0;
    if (late2) told[tag2] <= 1'b1;
    if (rst) begin
      shows <= '0;
      told <= '0;
    end
  end
  always_comb
    if (started) begin
      if (note_valid) begin
        assume (!rst && !shows[note_tag] && !(lately && lately_tag == note_tag) && (told[note_tag] || (late2 && tag2 == note_tag)));
        assume (note_bytes != 0 && 32'(note_bytes) <= LANDING_BYTES && 32'(note_channel) < CHANNELS);
        assume (note_low[5:0] == 0 || 32'(note_low[5:0]) + 32'(note_bytes) <= CPL_BOUNDARY);
        if (note_list)
          assume (note_low[3:0] == 0 && 32'(note_bytes) == 64 - 32'(note_low[5:0]));
          else assume (32'(note_channel) < H2C);
      end
      if (release_valid) assume (shows[release_tag] && given_up[release_tag] && quiet);
    end

  // ------------------------------------------------------------------------------------------------ the watched read
  logic list, out;  // it is a list fetch; it is out: asked for and not yet ended
  logic [CW-1:0] channel;
  logic [SW-1:0] slot;
  logic [BW-1:0] place;       // its room: from here on
  logic [11:0] room;          // dwords
  logic [11:0] written;       // dwords of it that have been written, or passed over
  logic holed;                // some were passed over, for they came poisoned, or are damaged
  logic [12:0] left;          // bytes that its next packet must say are still to come
  logic [6:0] low;            // and the address of the first of them
  logic here2;                // it has been out since the packet in the second step was in the first
  logic due2;                 // it was out a cycle ago, and overdue
  logic finishes;             // it ends in this cycle
  assign finishes = dut.c_valid && dut.c_last && dut.known && dut.ends && dut.c_tag == one;
  always_ff @(posedge clk) begin
    if (beat1 && far1 == 0) here2 <= hdr1.tag == 10'(one) && out && shows[one];
    due2 <= late1 && tag1 == one && out && shows[one];
    if (finishes) begin
      here2 <= 1'b0;
      due2 <= 1'b0;
    end
  end

  logic mine, legal, whole_end;  // a beat of it, checked; its packet is what must come next, and all that is to come
  logic [11:0] whole, dwords;
  logic [4:0] stop;
  assign mine = beat2 && here2 && out;
  assign whole = 12'((14'(hdr2.byte_count) + 14'(hdr2.lower_addr[1:0]) + 14'd3) >> 2);
  assign stop = hdr2.lower_addr[6:2] + hdr2.dwords[4:0];
  assign whole_end = 12'(hdr2.dwords) == whole;
  assign legal = hdr2.byte_count == left && hdr2.lower_addr == low && hdr2.dwords != 0 &&
                 (whole_end || (12'(hdr2.dwords) < whole && stop[3:0] == 0));
  assign dwords = hdr2.dwords - far2 < 11'(LANES) ? 12'(hdr2.dwords - far2) : 12'(LANES);

  logic write, complete;
  assign write = mine && hdr2.status == CPL_OK && legal && !hdr2.poisoned && !list;
  assign complete = !holed && !(bad2 && last2) && written + (write ? dwords : '0) == room;
  always_ff @(posedge clk) begin
    if (mine && last2) begin
      left <= left - 13'({hdr2.dwords, 2'b00}) + 13'(hdr2.lower_addr[1:0]);
      low <= {stop, 2'b00};
      if (hdr2.poisoned) begin
        written <= written + 12'(hdr2.dwords);
        holed <= 1'b1;
      end
      if (bad2) holed <= 1'b1;
    end
    if (write) written <= written + dwords;
    if (finishes) out <= 1'b0;
    if (note_valid && note_tag == one) begin
      out <= 1'b1;
      list <= note_list;
      channel <= note_channel;
      slot <= note_slot;
      place <= note_place;
      room <= 12'((14'(note_bytes) + 14'(note_low[1:0]) + 14'd3) >> 2);
      written <= '0;
      holed <= 1'b0;
      left <= note_bytes;
      low <= note_low;
    end
    if (rst) out <= 1'b0;
  end

  // What must be written next, and called done.
  logic any3, write3, inject3, end3, poor3, free3, overdue3;
  logic [1:0] why3;
  logic [DATA_WIDTH-1:0] data3;
  logic [BW-1:0] inject_place3;
  logic [63:0] inject_data3;
  logic [RW-1:0] row3;
  logic [CW-1:0] channel3;
  logic [SW-1:0] slot3;
  always_ff @(posedge clk) begin
    any3 <= beat2 && !rst;
    write3 <= write && !rst;
    data3 <= data2;
    row3 <= (RW'(place) << (RW - BW)) + RW'(written / 12'(LANES));
    inject3 <= inject_valid && inject_ready && !rst;
    inject_place3 <= inject_place;
    inject_data3 <= inject_data;
    end3 <= finishes && out && !list && !rst;
    poor3 <= !complete;
    overdue3 <= due2 && late2;
    why3 <= why2;
    channel3 <= channel;
    slot3 <= slot;
    free3 <= free_valid && free_tag == one && !rst;
  end

  always_comb
    if (started) begin
      // Every beat is checked two cycles later; what of it belongs into the RAM is written in the next one, into the room of its read, row by row.
      assert (!beat2 || (dut.c_valid && dut.c_data == data2 && !inject_ready));
      assert (!write || (written + dwords <= room && written % LANES == 0 && dwords != 0));
      assert (!write3 || (write_valid && write_data == data3 && write_row == row3));
      // Nothing else is written for its tag; and without a completion only inline data, where it says.
      assert (!(beat2 && hdr2.tag == 10'(one)) || write == (dut.known && dut.good && !dut.c_poisoned && !dut.c_list));
      assert (!write_valid || any3 || inject3);
      assert (!inject3 || (write_valid && write_row == RW'(inject_place3) << (RW - BW)));
      assert (!inject3 || write_data[63:0] == inject_data3);
      // The end, once, beside the last write, and good only when all has been written.
      assert (!finishes || out);
      assert (!end3 || (done_valid && done_channel == channel3 && done_slot == slot3 && (!poor3 || done_status != TP_STATUS_DONE)));
      assert (!(mine && last2) || finishes == !(hdr2.status == CPL_OK && legal && !whole_end));
      if (end3 && overdue3) assert (done_status == (why3[0] ? TP_STATUS_LINK_DOWN : why3[1] ? TP_STATUS_RESET : TP_STATUS_TIMEOUT));
      // The tag: freed when the last of its answer has come, given up when its read ends without it.
      if (free_valid && free_tag == one) assert (shows[one] && free_late == given_up[one] && !quiet);
      if (give_up_valid && free_tag == one) assert (shows[one] && !given_up[one]);
      assert (!free_valid || !give_up_valid);
      assert (!(free3 && free_valid && free_tag == one));
      assert (out == ((shows[one] && !given_up[one]) || (lately && lately_tag == one)));
      if (due2 && late2) assert (finishes && give_up_valid && free_tag == one);
      assert (quiet == still && !(quiet && (midway || beat1 || late1 || beat2 || late2)));
      cover (end3 && done_status == TP_STATUS_DONE && room == 12'd3);
      cover (end3 && poor3 && done_status == TP_STATUS_BAD_COMPLETION);
      cover (write && midway && written != 0);
      cover (write && dut.c_same);
    end

  if (INDUCTION) begin : g_induction
    logic n_list;
    logic [CW-1:0] n_channel;
    logic [SW-1:0] n_slot;
    logic [BW-1:0] n_place;
    logic [12:0] n_bytes;
    logic [6:0] n_low;
    assign {n_list, n_channel, n_slot, n_place, n_bytes, n_low} = dut.notes[one];
    // What the watched tag's packets have left behind. {lap, over, spoiled, blocks}
    logic [8:0] state;
    logic begun;
    logic [5:0] blocks;
    assign state = dut.states[one];
    assign begun = state[8] == laps[one];
    assign blocks = begun ? state[5:0] : '0;
    // Its packet, or its being overdue, in the second step; and how far that packet has come.
    logic at2;
    logic [10:0] come;
    logic going;  // its good packet is half way in
    assign at2 = (late2 && tag2 == one) || ((beat2 || inside2) && hdr2.tag == 10'(one));
    assign come = beat2 ? far2 : gone2;
    assign going = here2 && inside2 && legal && hdr2.status == CPL_OK && !hdr2.poisoned;
    always_comb
      if (started) begin
        // The packets: on the wire, in the first step, in the second.
        assert (dut.rx_inside == midway && (!midway || (gone < hdr1.dwords && gone != 0 && gone[LW-1:0] == 0)));
        assert (!(beat1 && late1) && !(beat2 && late2));
        assert (dut.s_valid == (beat1 || late1) && dut.c_valid == (beat2 || late2));
        if (beat1 || late1) assert (dut.s_overdue == late1 && dut.s_last == last1 && dut.s_first == (far1 == 0) && dut.s_tag == tag1);
        if (beat1 || late1) assert (dut.s_bad == bad1);
        if (beat1) begin
          assert (dut.s_hdr == hdr1 && dut.s_data == data1 && dut.s_in_range == (hdr1.tag < 10'(TAGS)) && tag1 == hdr1.tag[TW-1:0]);
          assert (last1 == !midway && last1 == (32'(hdr1.dwords) <= 32'(far1) + LANES) && far1[LW-1:0] == 0);
          assert (!midway || gone == far1 + 11'(LANES));
          assert (far1 == 0 || far1 < hdr1.dwords);
        end
        if (late1) assert (dut.s_in_range && last1 && far1 == 0 && !midway);
        if (beat1 || midway) assert (hdr1.dwords <= 11'd1024 && (hdr1.status == CPL_OK || hdr1.dwords == 0));
        if (beat1 ? far1 != 0 : midway) begin
          assert (hdr1 == hdr2);
          assert (beat2 ? !last2 && far2 + 11'(LANES) == (beat1 ? far1 : gone) : inside2 && !late2 && gone2 == (beat1 ? far1 : gone));
        end else assert (beat2 ? last2 : !inside2);
        if (beat2) begin
          assert (last2 == (32'(hdr2.dwords) <= 32'(far2) + LANES) && tag2 == hdr2.tag[TW-1:0] && far2[LW-1:0] == 0);
          assert (far2 == 0 ? !inside2 : inside2 && gone2 == far2 && far2 < hdr2.dwords);
        end
        if (late2) assert (last2 && !inside2);
        if (beat2 || inside2) begin
          assert (hdr2.dwords <= 11'd1024 && (hdr2.status == CPL_OK || hdr2.dwords == 0));
          assert (dut.c_ok == (hdr2.status == CPL_OK) && dut.c_poisoned == hdr2.poisoned && dut.c_in_range == (hdr2.tag < 10'(TAGS)));
          assert (dut.c_tag == hdr2.tag[TW-1:0] && !dut.c_overdue && dut.c_blocks == hdr2.dwords[9:4]);
          assert (dut.c_short == (12'(hdr2.dwords) < whole));
          assert (dut.c_fits == (whole_end || (12'(hdr2.dwords) < whole && stop[3:0] == 0 && hdr2.dwords != 0)));
        end
        if (beat2 || late2 || inside2) assert ((dut.c_out || !dut.c_live) && (dut.c_in_range || !dut.c_out));
        if ((beat2 || late2 || inside2) && dut.c_same) assert (dut.was_over || !dut.was_freed);
        if (beat2 || late2) assert (dut.c_last == last2 && dut.c_bad == bad2 && dut.c_tag == tag2);
        if (late2) assert (dut.c_overdue && !dut.c_ok && dut.c_in_range);
        if (late1) assert ({dut.s_reset, dut.s_link} == why1);
        if (late2) assert (dut.c_fault == (why2[0] ? TP_STATUS_LINK_DOWN : why2[1] ? TP_STATUS_RESET : TP_STATUS_TIMEOUT));
        // The watched tag.
        if (!shows[one] && told[one]) assert (begun);  // and no more once it is handed out
        if (shows[one]) assert (told[one]);
        if (lately) assert (!shows[lately_tag]);
        if (lately && lately_tag == one) assert (told[one]);
        if (shows[one] && given_up[one]) assert (begun && state[7]);
        if (here2 && (beat2 || inside2)) assert (hdr2.tag == 10'(one) && out && shows[one]);
        if (due2 && late2) assert (tag2 == one && out && shows[one]);
        if (out) begin
          assert ({n_list, n_channel, n_slot, n_place} == {list, channel, slot, place});
          assert (room == 12'((14'(n_bytes) + 14'(n_low[1:0]) + 14'd3) >> 2) && n_bytes != 0 && 32'(n_bytes) <= LANDING_BYTES);
          assert (n_low[5:0] == 0 || 32'(n_low[5:0]) + 32'(n_bytes) <= CPL_BOUNDARY);
        end
        if (out && shows[one]) begin
          assert (!(begun && state[7]) && holed == (begun && state[6]));
          assert (left == n_bytes - 13'({blocks, 6'b0}) && low == (n_low ^ {blocks[0], 6'b0}));
          assert (blocks == 0 || (n_low[5:0] == 0 && 13'({blocks, 6'b0}) < n_bytes));
          assert (list || written == 12'({blocks, 4'b0}) + (going ? 12'(come) : '0));
        end
        if (at2 && dut.c_in_range) begin
          assert (!dut.out || shows[one]);
          assert (!dut.known || (dut.out && out && shows[one]));
          if (dut.out && !dut.known) assert (given_up[one]);
          if (dut.known) begin
            assert (dut.c_gone == blocks && dut.c_spoiled == (begun && state[6]));
            assert ({dut.c_list, dut.c_channel, dut.c_slot} == {list, channel, slot});
          end
          // It was handed out while a packet came that its last read did not get.
          if (dut.c_lap != laps[one])
            assert (shows[one] && !dut.out && !begun && !given_up[one]);
            else if (out && shows[one]) assert (dut.known);
          if (out && (late2 ? due2 : here2)) assert (dut.known);
          if (dut.known && !late2) begin
            assert (here2);
            assert (dut.c_before == n_bytes[12:6] - hdr2.byte_count[12:6] && dut.c_odd == (hdr2.lower_addr[6] ^ n_low[6]));
            assert (dut.c_match == (hdr2.byte_count[5:0] == n_bytes[5:0] && hdr2.lower_addr[5:0] == n_low[5:0]));
            assert (beat2 || dut.c_row == (RW'(n_place + BW'(dut.c_before)) << (RW - BW)) + RW'((gone2 >> LW) - 11'd1));
            assert (!beat2 || dut.c_row == (RW'(n_place + BW'(dut.c_before)) << (RW - BW)) + RW'(far2 >> LW));
          end
        end
      end
  end
endmodule
