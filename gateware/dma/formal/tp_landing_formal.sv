// SPDX-License-Identifier: Apache-2.0
// tp_landing, whatever comes in on the wire: each beat is in hand in the next cycle and, if it is data of a read that is out and good, is
// written then, into the room that its read reserved and nowhere else; a read is called done once, and good only if every dword of its room
// has been written, in order, and not before it can be read. Nothing that comes for another tag touches it.
//
// Headers are anything, in any order. Assumed: a packet's header stands beside all its beats, of which there are as many as its length says
// (the endpoint's duty); tags are handed out as tp_tags is proved to do; a request asks for no more than the landing RAM holds and a list
// fetch is the rest of an aligned 64-byte block, one under way for each channel (tp_h2c, tp_list). One tag is watched, any one.
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
    localparam int DW = $clog2(LANDING_BYTES) - 2,
    localparam int AW = $clog2(LANDING_BYTES * H2C),
    localparam int LANES = DATA_WIDTH / 32,
    localparam int LW = $clog2(LANES)
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
    input logic [DW-1:0] note_dword,
    input logic [12:0] note_bytes,
    input logic [6:0] note_low,
    input logic release_valid,  // out of quarantine
    input logic [TW-1:0] release_tag,
    input logic overdue_valid,
    input logic [TW-1:0] overdue_tag,
    input logic overdue_link,
    input logic inject_valid,
    input logic [AW-1:2] inject_dword,
    input logic [1:0] inject_dwords,
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
      .note_context({note_list, note_channel, note_slot, note_dword}),
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
      .inject_dword,
      .inject_dwords,
      .inject_data,
      .done_valid,
      .done_channel,
      .done_slot,
      .done_status,
      .entry_valid,
      .entry_channel,
      .entry,
      .entry_last,
      .entry_failed,
      .entry_status,
      .rd_valid(1'b0),
      .rd_byte('0),
      .rd_lane('0),
      .rd_meta('0),
      .out_valid(),
      .out_data(),
      .out_meta()
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
  logic [13:0] note_span;  // bytes from the start of the first dword
  assign note_span = 14'(note_bytes) + 14'(note_low[1:0]);
  always_comb
    if (started) begin
      if (note_valid) begin
        assume (!rst && !busy[note_tag] && note_bytes != 0 && 32'(note_span) <= LANDING_BYTES && 32'(note_channel) < CHANNELS);
        if (note_list)
          assume (!fetching[note_channel] && note_low[3:0] == 0 && 32'(note_bytes) == 64 - 32'(note_low[5:0]));
          else assume (32'(note_channel) < H2C);
      end
      if (release_valid)
        assume (quarantined[release_tag] && !(free_valid && free_tag == release_tag) && !(packet_valid && packet_tag == release_tag));
      if (overdue_valid && overdue_ready) assume (busy[overdue_tag] && !quarantined[overdue_tag]);
      if (inject_valid) assume (inject_dwords == 1 || inject_dwords == 2);
    end

  // ------------------------------------------------------------------------------------------------ the watched read
  logic list, out;  // it is a list fetch; it is out: asked for and not yet ended
  logic [CW-1:0] channel;
  logic [SW-1:0] slot;
  logic [DW-1:0] room_at;     // its room: from this dword on
  logic [11:0] room;          // dwords
  logic [11:0] written;       // dwords of it that have been written, or passed over
  logic holed;                // some were passed over: they came poisoned
  logic mine;                 // a write of its data, in this cycle
  logic [DW-1:0] far;         // from its room's start
  assign mine = dut.write && dut.s_tag == one;
  assign far = dut.i_ram.wr_dword[DW+1:2] - room_at;
  always_ff @(posedge clk) begin
    if (note_valid && note_tag == one) begin
      out <= 1'b1;
      list <= note_list;
      channel <= note_channel;
      slot <= note_slot;
      room_at <= note_dword;
      room <= 12'((note_span + 14'd3) >> 2);
      written <= '0;
      holed <= 1'b0;
    end
    if (out && dut.s_valid && dut.s_last && !dut.s_overdue && dut.s_tag == one && dut.known && dut.s_hdr.poisoned) begin
      written <= written + 12'(dut.s_hdr.dwords);
      holed <= 1'b1;
    end
    if (mine) written <= written + 12'(dut.i_ram.wr_dwords);
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

  // Its end, on the way to `done`: told two cycles after the last write, when the RAM shows it.
  logic end1, end2, poor1, poor2;
  logic [CW-1:0] channel1, channel2;
  logic [SW-1:0] slot1, slot2;
  logic complete;
  assign complete = !holed && written + (mine ? 12'(dut.i_ram.wr_dwords) : '0) == room;
  always_ff @(posedge clk) begin
    end1 <= dut.finished && dut.s_tag == one && out && !list && !rst;
    poor1 <= !complete;
    channel1 <= channel;
    slot1 <= slot;
    end2 <= end1 && !rst;
    poor2 <= poor1;
    channel2 <= channel1;
    slot2 <= slot1;
  end

  always_comb
    if (started) begin
      // Every beat is in hand in the next cycle, and what of it belongs into the RAM is written then.
      assert (!was_valid || (dut.s_valid && !dut.s_overdue && dut.s_hdr == was_hdr && dut.s_data == was_data));
      assert (!dut.write || (dut.i_ram.wr_valid && dut.i_ram.wr_data == dut.s_data && was_valid));
      assert (!mine || !inject_ready);
      // Only inside the room of its read, in order, while that read is out.
      assert (!mine || (out && !list && dut.i_ram.wr_dword[AW-1:DW+2] == HW'(channel)));
      assert (!mine || (12'(far) == written && written + 12'(dut.i_ram.wr_dwords) <= room && dut.i_ram.wr_dwords != 0));
      assert (!(was_valid && dut.s_tag != one) || !mine);
      // Without a completion only inline data is written, where it says.
      assert (dut.write || !dut.i_ram.wr_valid || (inject_valid && inject_ready && dut.i_ram.wr_dword == inject_dword));
      // The end, once, and good only when all has been written.
      assert (!(dut.finished && dut.s_tag == one) || out);
      assert (!(free_valid && free_tag == one) || busy[one]);
      assert (!(give_up_valid && free_tag == one) || (busy[one] && !quarantined[one]));
      assert (!free_valid || !give_up_valid);
      assert (!end2 || (done_valid && done_channel == channel2 && done_slot == slot2 && (!poor2 || done_status != TP_STATUS_DONE)));
      assert (out == (busy[one] && !quarantined[one]));
      // The queue of list entries has room.
      assert (!dut.l_push || dut.l_ready);
      cover (end2 && done_status == TP_STATUS_DONE && room == 12'd3);
      cover (end2 && poor2 && done_status == TP_STATUS_BAD_COMPLETION);
      cover (mine && midway && far != 0);
    end

  if (INDUCTION) begin : g_induction
    logic [12:0] m_bytes;
    logic m_low;
    logic [DW-1:0] m_dword;
    assign {m_bytes, m_low, m_dword} = dut.states[one];
    logic [13:0] n_span;
    logic n_list;
    logic [CW-1:0] n_channel;
    logic [SW-1:0] n_slot;
    logic [DW-1:0] n_dword;
    logic [12:0] n_bytes;
    logic [6:0] n_low;
    assign {n_list, n_channel, n_slot, n_dword, n_bytes, n_low} = dut.notes[one];
    assign n_span = 14'(n_bytes) + 14'(n_low[1:0]);
    // Dwords of the watched read that were written before the packet in hand or the next one.
    logic [11:0] earlier;
    assign earlier = dut.begun[one] ? room - 12'((14'(m_bytes) + 14'd3) >> 2) : '0;
    // The packet under way, if it is the watched read's and good: its beats so far have been written.
    tp_completion_hdr_t h;
    logic [12:0] h_bytes;
    logic [6:0] h_low;
    logic [11:0] h_whole;
    logic [4:0] h_stop;
    logic h_good, going;
    assign h = dut.s_valid ? dut.s_hdr : hdr;
    assign h_bytes = dut.begun[one] ? m_bytes : n_bytes;
    assign h_low = dut.begun[one] ? {m_low, 6'b0} : n_low;
    assign h_whole = 12'((14'(h.byte_count) + 14'(h.lower_addr[1:0]) + 14'd3) >> 2);
    assign h_stop = h.lower_addr[6:2] + h.dwords[4:0];
    assign h_good = h.status == CPL_OK && !h.poisoned && h.byte_count == h_bytes && h.lower_addr == h_low && h.dwords != 0 &&
                    (12'(h.dwords) == h_whole || (12'(h.dwords) < h_whole && h_stop[3:0] == 0));
    assign going = dut.known_first && h.tag == 10'(one) && h_good && dut.beat_dwords != 0;
    always_comb
      if (started) begin
        assert ((quarantined & ~busy) == '0);
        assert (dut.rx_inside == midway);
        if (dut.beat_dwords != 0) begin
          assert (dut.packet_last == h.tag[TW-1:0] && (dut.out_first || !dut.known_first));
          if (dut.out_first) assert (h.tag < 10'(TAGS) && busy[h.tag[TW-1:0]] && dut.known_first == !quarantined[h.tag[TW-1:0]]);
        end
        assert (dut.first == (dut.beat_dwords == 0));
        // The packet in hand and the one on the wire.
        if (dut.s_valid && dut.s_overdue) assert (dut.beat_dwords == 0 && dut.s_last);
        if (dut.s_valid && !dut.s_overdue) begin
          assert (dut.s_last == (32'(dut.s_hdr.dwords) <= 32'(dut.beat_dwords) + LANES));
          assert (dut.s_last == !midway);
          assert (!midway || (dut.s_hdr == hdr && gone == dut.beat_dwords + 11'(LANES)));
          assert (dut.s_hdr.dwords <= 11'd1024 && (dut.s_hdr.status == CPL_OK || dut.s_hdr.dwords == 0));
          assert (dut.beat_dwords == 0 || dut.beat_dwords < dut.s_hdr.dwords);
        end
        if (!dut.s_valid) begin
          assert (midway ? gone == dut.beat_dwords && gone != 0 : dut.beat_dwords == 0);
        end
        if (midway) assert (gone < hdr.dwords && gone != 0);
        if (out) begin
          assert ({n_list, n_channel, n_slot, n_dword} == {list, channel, slot, room_at});
          assert (room == 12'((n_span + 14'd3) >> 2) && n_bytes != 0 && 32'(n_span) <= LANDING_BYTES);
          assert (list || written == earlier + (going ? 12'(dut.beat_dwords) : '0));
          assert (holed == dut.spoiled[one]);
          if (dut.begun[one] && !list) begin
            assert (m_bytes != 0 && m_bytes <= n_bytes && 12'((14'(m_bytes) + 14'd3) >> 2) <= room);
            assert (m_dword == room_at + DW'(earlier));
          end
        end
        assert (dut.i_lists.count <= 1);
      end
  end
endmodule
