// SPDX-License-Identifier: Apache-2.0
// tp_landing, whatever comes in on the wire: each beat is in hand in the next cycle and, if it is data of a read that is out and good, is
// written in the one after, into the room that its read reserved and nowhere else; a read is called done once, and good only if every dword of its room
// has been written, in order, and not before it can be read. Nothing that comes for another tag touches it.
//
// Headers are anything, in any order. Assumed: a packet's header stands beside all its beats, of which there are as many as its length says
// (the endpoint's duty); tags are handed out as tp_tags is proved to do; a request asks for no more than the landing RAM holds, and starts on
// a completion boundary or ends before the next one; a list fetch is the rest of an aligned 64-byte block, one under way for each channel
// (tp_h2c, tp_lists). One tag is watched, any one.
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
    localparam int HW = $clog2(H2C),
    localparam int BW = $clog2(LANDING_BYTES / CPL_BOUNDARY),
    localparam int RW = $clog2(LANDING_BYTES / (DATA_WIDTH / 8)),
    localparam int LANES = DATA_WIDTH / 32
) (
    input logic clk,
    input logic rst,
    input logic rx_valid,
    input tp_completion_hdr_t rx_hdr,
    input logic [DATA_WIDTH-1:0] rx_data,
    input logic rx_last,
    input logic note_valid,
    input logic [TW-1:0] note_tag,
    input logic note_list,
    input logic [CW-1:0] note_channel,
    input logic [SW-1:0] note_slot,
    input logic [BW-1:0] note_block,
    input logic [12:0] note_bytes,
    input logic [6:0] note_low,
    input logic release_valid,  // out of quarantine
    input logic [TW-1:0] release_tag,
    input logic overdue_valid,
    input logic [TW-1:0] overdue_tag,
    input logic overdue_link,
    input logic inject_valid,
    input logic [HW-1:0] inject_channel,
    input logic [BW-1:0] inject_block,
    input logic [63:0] inject_data,
    input logic [TW-1:0] choose
);
  logic free_valid, give_up_valid, overdue_ready, event_valid, inject_ready, done_valid, entry_valid, entry_last, entry_failed;
  logic [TW-1:0] free_tag, packet_tag;
  logic packet_valid;
  logic [3:0] event_code;
  logic [CW-1:0] done_channel, entry_channel;
  logic [SW-1:0] done_slot;
  logic [7:0] done_status, entry_status;
  logic [127:0] entry;
  logic write_valid;
  logic [HW-1:0] write_channel;
  logic [RW-1:0] write_row;
  logic [DATA_WIDTH-1:0] write_data;
  logic [TAGS-1:0] busy, quarantined;
  tp_landing #(
      .DATA_WIDTH(DATA_WIDTH),
      .H2C(H2C),
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
      .note_valid,
      .note_tag,
      .note_context({note_list, note_channel, note_slot, note_block}),
      .note_bytes,
      .note_low,
      .busy,
      .quarantined,
      .free_valid,
      .give_up_valid,
      .free_tag,
      .overdue_valid,
      .overdue_ready,
      .overdue_tag,
      .overdue_link,
      .packet_valid,
      .packet_tag,
      .event_valid,
      .event_code,
      .inject_valid,
      .inject_ready,
      .inject_channel,
      .inject_block,
      .inject_data,
      .write_valid,
      .write_channel,
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
  logic midway;                     // the next beat belongs to the packet of the one before
  tp_completion_hdr_t hdr;          // of that packet
  logic [10:0] gone;                // dwords of the packet that have come
  logic [10:0] so_far;
  assign so_far = midway ? gone : '0;
  always_ff @(posedge clk) begin
    if (rx_valid) begin
      midway <= !rx_last;
      hdr <= rx_hdr;
      gone <= so_far + 11'(LANES);
    end
    if (rst) midway <= 1'b0;
  end
  always_comb
    if (rx_valid) begin
      assume (!midway || rx_hdr == hdr);
      assume (rx_last == (32'(rx_hdr.dwords) <= 32'(so_far) + LANES));
      assume (rx_hdr.dwords <= 11'd1024);
      assume (rx_hdr.status == CPL_OK || rx_hdr.dwords == 0);
    end

  // ------------------------------------------------------------------------------------------------ the tags
  logic [CHANNELS-1:0] fetching;  // a channel's list fetch is under way
  always_ff @(posedge clk) begin
    if (note_valid) busy[note_tag] <= 1'b1;
    if (note_valid && note_list) fetching[note_channel] <= 1'b1;
    if (entry_valid && (entry_last || entry_failed)) fetching[entry_channel] <= 1'b0;
    if (give_up_valid) quarantined[free_tag] <= 1'b1;
    if (free_valid) begin
      busy[free_tag] <= 1'b0;
      quarantined[free_tag] <= 1'b0;
    end
    if (release_valid) begin
      busy[release_tag] <= 1'b0;
      quarantined[release_tag] <= 1'b0;
    end
    if (rst) begin
      busy <= '0;
      quarantined <= '0;
      fetching <= '0;
    end
  end
  always_comb
    if (started) begin
      if (note_valid) begin
        assume (!rst && !busy[note_tag] && note_bytes != 0 && 32'(note_bytes) <= LANDING_BYTES && 32'(note_channel) < CHANNELS);
        assume (note_low[5:0] == 0 || 32'(note_low[5:0]) + 32'(note_bytes) <= CPL_BOUNDARY);
        if (note_list)
          assume (!fetching[note_channel] && note_low[3:0] == 0 && 32'(note_bytes) == 64 - 32'(note_low[5:0]));
          else assume (32'(note_channel) < H2C);
      end
      if (release_valid)
        assume (quarantined[release_tag] && !(free_valid && free_tag == release_tag) && !(packet_valid && packet_tag == release_tag));
      if (overdue_valid && overdue_ready) assume (busy[overdue_tag] && !quarantined[overdue_tag]);
    end

  // ------------------------------------------------------------------------------------------------ the watched read
  logic list, out;  // it is a list fetch; it is out: asked for and not yet ended
  logic [CW-1:0] channel;
  logic [SW-1:0] slot;
  logic [BW-1:0] block;       // its room: from this block on
  logic [11:0] room;          // dwords
  logic [11:0] written;       // dwords of it that have been written, or passed over
  logic holed;                // some were passed over: they came poisoned
  logic mine;                 // data of it is in hand and will be written
  logic [11:0] dwords;        // so many
  assign mine = dut.write && dut.s_tag == one;
  assign dwords = dut.left < 11'(LANES) ? 12'(dut.left) : 12'(LANES);
  always_ff @(posedge clk) begin
    if (note_valid && note_tag == one) begin
      out <= 1'b1;
      list <= note_list;
      channel <= note_channel;
      slot <= note_slot;
      block <= note_block;
      room <= 12'((14'(note_bytes) + 14'(note_low[1:0]) + 14'd3) >> 2);
      written <= '0;
      holed <= 1'b0;
    end
    if (out && dut.s_valid && dut.s_last && !dut.s_overdue && dut.s_tag == one && dut.known && dut.s_hdr.poisoned) begin
      written <= written + 12'(dut.s_hdr.dwords);
      holed <= 1'b1;
    end
    if (mine) written <= written + dwords;
    if (dut.finished && dut.s_tag == one) out <= 1'b0;
    if (rst) out <= 1'b0;
  end

  // What was on the wire in the cycle before.
  logic was_valid;
  tp_completion_hdr_t was_hdr;
  logic [DATA_WIDTH-1:0] was_data;
  always_ff @(posedge clk) begin
    was_valid <= rx_valid && !rst;
    was_hdr <= rx_hdr;
    was_data <= rx_data;
  end

  // What must be written next, and called done.
  logic data1, mine1, inject1, end1, poor1;
  logic [DATA_WIDTH-1:0] what1;
  logic [HW-1:0] inject_channel1;
  logic [BW-1:0] inject_block1;
  logic [63:0] inject_data1;
  logic [RW-1:0] row1;
  logic [CW-1:0] channel1;
  logic [SW-1:0] slot1;
  logic complete;
  assign complete = !holed && written + (mine ? dwords : '0) == room;
  always_ff @(posedge clk) begin
    data1 <= dut.write && !rst;
    mine1 <= mine && !rst;
    what1 <= dut.s_data;
    row1 <= (RW'(block) << (RW - BW)) + RW'(written / 12'(LANES));
    inject1 <= inject_valid && inject_ready && !rst;
    inject_channel1 <= inject_channel;
    inject_block1 <= inject_block;
    inject_data1 <= inject_data;
    end1 <= dut.finished && dut.s_tag == one && out && !list && !rst;
    poor1 <= !complete;
    channel1 <= channel;
    slot1 <= slot;
  end

  always_comb
    if (started) begin
      // Every beat is in hand in the next cycle, and what of it belongs into the RAM is written in the one after.
      assert (!was_valid || (dut.s_valid && !dut.s_overdue && dut.s_hdr == was_hdr && dut.s_data == was_data));
      assert (!dut.write || (was_valid && !inject_ready));
      assert (!data1 || (write_valid && write_data == what1));
      // Only inside the room of its read, row by row, while that read is out.
      assert (!mine || (out && !list && written + dwords <= room && written % LANES == 0 && dwords != 0));
      assert (!mine1 || (write_channel == HW'(channel1) && write_row == row1));
      // Without a completion only inline data is written, where it says.
      assert (!write_valid || data1 != inject1);
      assert (!inject1 || (write_valid && write_channel == inject_channel1 && write_row == RW'(inject_block1) << (RW - BW)));
      assert (!inject1 || write_data[63:0] == inject_data1);
      // The end, once, beside the last write, and good only when all has been written.
      assert (!(dut.finished && dut.s_tag == one) || out);
      assert (!(free_valid && free_tag == one) || busy[one]);
      assert (!(give_up_valid && free_tag == one) || (busy[one] && !quarantined[one]));
      assert (!free_valid || !give_up_valid);
      assert (!end1 || (done_valid && done_channel == channel1 && done_slot == slot1 && (!poor1 || done_status != TP_STATUS_DONE)));
      assert (out == (busy[one] && !quarantined[one]));
      // The queue of list entries has room.
      assert (!dut.l_push || dut.l_ready);
      cover (end1 && done_status == TP_STATUS_DONE && room == 12'd3);
      cover (end1 && poor1 && done_status == TP_STATUS_BAD_COMPLETION);
      cover (mine && midway && written != 0);
    end

  if (INDUCTION) begin : g_induction
    logic n_list;
    logic [CW-1:0] n_channel;
    logic [SW-1:0] n_slot;
    logic [BW-1:0] n_block;
    logic [12:0] n_bytes;
    logic [6:0] n_low;
    assign {n_list, n_channel, n_slot, n_block, n_bytes, n_low} = dut.notes[one];
    // Blocks of the watched read that came before the packet in hand or the next one.
    logic [5:0] blocks;
    assign blocks = dut.begun[one] ? dut.states[one] : '0;
    // The packet under way, if it is the watched read's and good: its beats so far have been written.
    tp_completion_hdr_t h;
    logic [12:0] h_bytes;
    logic [6:0] h_low;
    logic [11:0] h_whole;
    logic [3:0] h_stop;
    logic h_good, going;
    assign h = dut.s_valid ? dut.s_hdr : hdr;
    assign h_bytes = n_bytes - 13'({blocks, 6'b0});
    assign h_low = n_low ^ {blocks[0], 6'b0};
    assign h_whole = 12'((14'(h.byte_count) + 14'(h.lower_addr[1:0]) + 14'd3) >> 2);
    assign h_stop = h.lower_addr[5:2] + h.dwords[3:0];
    assign h_good = h.status == CPL_OK && !h.poisoned && h.byte_count == h_bytes && h.lower_addr == h_low && h.dwords != 0 &&
                    (12'(h.dwords) == h_whole || (12'(h.dwords) < h_whole && h_stop == 0));
    assign going = dut.known_first && h.tag == 10'(one) && h_good && dut.beats != 0;
    logic [10:0] beat_dwords;  // of the packet under way, before the beat in hand or the next one
    assign beat_dwords = 11'(dut.beats) * 11'(LANES);
    always_comb
      if (started) begin
        assert ((quarantined & ~busy) == '0);
        assert (dut.rx_inside == midway);
        assert (32'(dut.beats) <= 1024 / LANES);
        if (dut.beats != 0) begin
          assert (dut.packet_last == h.tag[TW-1:0] && (dut.out_first || !dut.known_first));
          if (dut.out_first) assert (h.tag < 10'(TAGS) && busy[h.tag[TW-1:0]] && dut.known_first == !quarantined[h.tag[TW-1:0]]);
        end
        assert (dut.first == (dut.beats == 0));
        // The packet in hand and the one on the wire.
        if (dut.s_valid && dut.s_overdue) assert (dut.beats == 0 && dut.s_last);
        if (dut.s_valid && !dut.s_overdue) begin
          assert (dut.s_last == (32'(dut.s_hdr.dwords) <= 32'(beat_dwords) + LANES));
          assert (dut.s_last == !midway);
          assert (!midway || (dut.s_hdr == hdr && gone == beat_dwords + 11'(LANES)));
          assert (dut.s_hdr.dwords <= 11'd1024 && (dut.s_hdr.status == CPL_OK || dut.s_hdr.dwords == 0));
          assert (dut.beats == 0 || beat_dwords < dut.s_hdr.dwords);
        end
        if (!dut.s_valid) begin
          assert (midway ? gone == beat_dwords && gone != 0 : dut.beats == 0);
        end
        if (midway) assert (gone < hdr.dwords && gone != 0);
        if (out) begin
          assert ({n_list, n_channel, n_slot, n_block} == {list, channel, slot, block});
          assert (room == 12'((14'(n_bytes) + 14'(n_low[1:0]) + 14'd3) >> 2) && n_bytes != 0 && 32'(n_bytes) <= LANDING_BYTES);
          assert (n_low[5:0] == 0 || 32'(n_low[5:0]) + 32'(n_bytes) <= CPL_BOUNDARY);
          assert (list || written == {2'b0, blocks, 4'b0} + (going ? 12'(beat_dwords) : '0));
          assert (holed == dut.spoiled[one]);
          if (dut.begun[one]) assert (blocks != 0 && n_low[5:0] == 0 && 13'({blocks, 6'b0}) < n_bytes);
        end
        assert (dut.i_lists.count <= 1);
      end
  end
endmodule
