// SPDX-License-Identifier: Apache-2.0
// tp_inbox: under a sender that keeps to its credit all that comes has room, nothing is told of as overrun, and slots are counted as the
// sender counts them. The count told never runs back, and is at most MOST ahead of the slots that have ended.
// Packets of other pairings change nothing.
// Assumed: a sender that begins rows and ends only in slots that it has been allowed; each slot brings at most its rows, then one end at
// most, or an end before, which says so many bytes; no message ends with the last byte of a slot; a start comes only when no message is open,
// data and a message's end only when one is; the link is up. The host sets `slot_log2` and `key` when it pairs, and pairs when the inbox is idle.
module tp_inbox_room_formal
  import towpath_pkg::*;
#(
    parameter int BYTES = 512,
    parameter int MOST = 2,
    parameter bit INDUCTION = 1,
    localparam int DATA_WIDTH = 128,
    localparam int DEPTH = BYTES * 8 / DATA_WIDTH,
    localparam int KEEP = DATA_WIDTH / 8
) (
    input logic clk,
    input logic rst,
    input logic flush,
    input logic write_valid,
    input logic [7:3] write_offset,
    input logic [63:0] write_data,
    input logic [7:0] write_strb,
    input logic rx_valid,
    input logic [6:0] rx_pages,
    input logic rx_entry,
    input logic rx_whole,
    input logic [DATA_WIDTH-1:0] rx_data,
    input logic may_tell,
    input logic tell_ready,
    input logic in_valid,
    input logic [DATA_WIDTH-1:0] in_data,
    input logic [KEEP-1:0] in_keep,
    input logic in_last,
    input logic in_error,
    input logic out_ready
);
  logic [63:0] word;
  logic tell_valid, in_ready, out_valid, out_last, out_error;
  logic [63:2] tell_address;
  logic [31:0] tell, out_user;
  logic [DATA_WIDTH-1:0] out_data;
  logic [KEEP-1:0] out_keep;
  logic [63:0] out_length, out_offset;
  tp_inbox #(
      .DATA_WIDTH(DATA_WIDTH),
      .BYTES(BYTES),
      .TELL(2),
      .MOST(MOST)
  ) dut (
      .link_up(1'b1),
      .rx_sound(1'b1),
      .in_length('0),
      .in_offset('0),
      .in_user('0),
      .*
  );

  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  localparam logic [7:3] CONTROL = 5'(TP_CHANNEL_PEER_CONTROL_OFFSET / 8);
  logic paired, sets, begins;
  logic [3:0] log2;
  logic [6:0] key;
  assign sets = write_valid && write_offset == CONTROL && (&write_strb[3:0]);
  assign begins = sets && !paired && write_data[TP_CHANNEL_PEER_CONTROL_PAIRED_LSB];
  always_ff @(posedge clk) begin
    if (sets) paired <= write_data[TP_CHANNEL_PEER_CONTROL_PAIRED_LSB];
    if (begins) log2 <= write_data[TP_CHANNEL_PEER_CONTROL_SLOT_LOG2_LSB+:4];
    if (sets) key <= write_data[TP_CHANNEL_PEER_CONTROL_KEY_LSB+:7];
    if (rst || flush) paired <= 1'b0;
  end

  // ------------------------------------------------------------------------------------------------ the sender
  logic [15:0] allowed, slots;  // told of, of those that have ended
  logic [4:0] rows, all;  // of its slot: that have been sent, and that fit
  logic open, late;  // a message is; the last slot ended full, and may have an end still
  logic ours, start, ends, closes, ends_late, fills;
  tp_completion_t entry;
  assign ours = rx_valid && rx_pages == key;
  assign entry = rx_data;
  assign all = 5'(1 << (log2 - 4'($clog2(KEEP))));
  assign start = ours && rx_entry && entry.flags.start;
  assign ends = ours && rx_entry && !entry.flags.start;
  assign closes = ends && entry.cookie == slots;
  assign ends_late = ends && !closes;
  assign fills = ours && !rx_entry && rx_whole && rows + 1'b1 == all;
  always_ff @(posedge clk) begin
    if (ours && !rx_entry) rows <= rows + 1'b1;
    if (fills || closes) begin
      slots <= slots + 1'b1;
      rows <= '0;
    end
    if (ours) late <= fills;
    if (start) open <= 1'b1;
    else if (ends && !(entry.status inside {TP_STATUS_CANCELLED, TP_STATUS_DONE})) open <= 1'b0;
    if (tell_valid && tell_ready) allowed <= tell[15:0];
    if (begins || rst) {allowed, slots, rows, open, late} <= '0;
  end
  always_comb begin
    if (!started) assume (rst);
    if (begins) begin
      assume (word[32+TP_CHANNEL_PEER_STATUS_IDLE_LSB]);
      assume (write_data[TP_CHANNEL_PEER_CONTROL_SLOT_LOG2_LSB+:4] inside {4'd7, 4'(6 + MOST)});
    end
    if (sets && paired) assume (!write_data[TP_CHANNEL_PEER_CONTROL_PAIRED_LSB]);
    if (ours && paired) begin
      assume (!start || !open);
      assume (start || allowed != slots || ends_late);
      assume (rx_entry || (open && rows != all));
      assume (!closes || 13'(rows) == (entry.bytes[12:0] + 13'(KEEP - 1)) / 13'(KEEP));
      assume (!ends || open || entry.status != TP_STATUS_END_OF_MESSAGE);
      assume (!ends_late || (late && entry.cookie == slots - 1'b1 && entry.status != TP_STATUS_END_OF_MESSAGE));
    end
  end

  // ------------------------------------------------------------------------------------------------ promises
  logic was;
  logic [15:0] told_was;
  always_ff @(posedge clk) begin
    was <= paired && !begins && !sets && !rst && !flush;
    told_was <= dut.told;
  end
  always_comb
    if (started && !rst) begin
      assert (!dut.came_valid || dut.in_room);
      assert (!paired || !word[32+TP_CHANNEL_PEER_STATUS_OVERRUN_LSB]);
      assert (!(was && paired) || dut.told - told_was <= 16'(MOST));
      assert (!(tell_valid && paired) || tell[15:0] - slots <= 16'(MOST));
      assert (!(tell_valid && paired) || tell[15:0] - allowed <= 16'(MOST));
      assert (!(paired && word[32+TP_CHANNEL_PEER_STATUS_IDLE_LSB]) || word[47:32] == slots);
      cover (paired && tell_valid && tell[15:0] == 16'(MOST + 1));
      cover (paired && dut.held == 5 && open);
      cover (paired && dut.came_valid && dut.closes && dut.rows == 10'(all));
    end

  if (INDUCTION) begin : g_induction
    // What may come beside the rows: a start and an end of each slot, the late end of the last one, and a start.
    logic [$clog2(DEPTH):0] stored;  // in the FIFO's RAM
    assign stored = dut.i_fifo.wr - dut.i_fifo.rd;
    logic came_open;
    logic [15:0] ahead_told, ahead_allowed, came_rows, came_slots;
    logic [7:0] entries_told, entries_allowed, extra, total_told, total_allowed;
    assign ahead_told = dut.told - slots;
    assign ahead_allowed = dut.allowed - slots;
    assign extra = late ? 8'd2 : open ? 8'd0 : 8'd1;
    assign entries_told = 8'(2 * ahead_told) + extra;
    assign entries_allowed = 8'(2 * ahead_allowed) + extra;
    assign total_told = 8'(dut.held) + 8'(dut.came_valid) + 8'(ahead_told[2:0] * all) - 8'(rows) + entries_told;
    assign total_allowed = 8'(dut.held) + 8'(dut.came_valid) + 8'(ahead_allowed[2:0] * all) - 8'(rows) + entries_allowed;
    assign came_slots = 16'(dut.came_valid && (dut.full || dut.closes));
    assign came_rows = 16'(dut.came_valid && !dut.came.entry);
    always_comb begin
      came_open = dut.begun;
      if (dut.came_valid && dut.came.entry)
        came_open = dut.entry.flags.start || (dut.begun && dut.entry.status inside {TP_STATUS_CANCELLED, TP_STATUS_DONE});
    end
    always_comb
      if (started && !rst) begin
        assert (dut.paired == paired && (!paired || (dut.slot_log2 == log2 && dut.key[6:0] == key)));
        assert (!paired || log2 == 4'd7 || log2 == 4'(6 + MOST));
        // The FIFO holds what is counted.
        assert (32'(stored) <= DEPTH && 32'(dut.held) == 32'(stored) + 32'(dut.i_fifo.q_valid) + 32'(dut.i_fifo.out_valid));
        assert (8'(dut.held) + 8'(dut.came_valid) <= 8'(DEPTH));
        if (paired) begin
          assert (slots == dut.slots + came_slots);
          assert (16'(rows) == (came_slots != '0 ? '0 : 16'(dut.rows) + came_rows));
          assert (rows <= all);
          assert (open == came_open);
          assert (!late || (open && rows == '0));
          // Of what it may: no more than it has been told, no less than it has used.
          assert (allowed - slots <= 16'(MOST) && ahead_told <= 16'(MOST) && dut.told - allowed <= 16'(MOST));
          assert (rows == '0 || allowed != slots);
          assert (total_told <= 8'(DEPTH));
          assert (ahead_allowed + 16'd2 <= 16'(MOST + 2));
          assert (ahead_allowed[15] || ahead_allowed == '0 || total_allowed <= 8'(DEPTH));
          assert (!dut.came_valid || !dut.wrong);
          assert (!(dut.came_valid && dut.came.entry) || (!late && (open || !dut.entry.flags.start)));
          assert (!dut.overrun && !dut.drops);
        end
      end
  end
endmodule
