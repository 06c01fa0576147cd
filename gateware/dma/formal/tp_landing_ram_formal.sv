// SPDX-License-Identifier: Apache-2.0
// tp_landing_ram: a row's byte b comes out in lane b + turn: in the read of that row if that is a lane, else in the same channel's next read, if
// that is of the next row with the same turn; as it was last written in a cycle before. A write changes no other byte.
// One byte of the RAM is watched, any one.
module tp_landing_ram_formal #(
    parameter int DATA_WIDTH = 64,
    parameter int CHANNELS = 2,
    parameter int ROWS = 4,
    parameter bit INDUCTION = 1,
    localparam int KEEP = DATA_WIDTH / 8,
    localparam int KW = $clog2(KEEP),
    localparam int CW = CHANNELS > 1 ? $clog2(CHANNELS) : 1,
    localparam int RW = $clog2(ROWS)
) (
    input logic clk,
    input logic rst,
    input logic wr_valid,
    input logic [RW-1:0] wr_row,
    input logic [DATA_WIDTH-1:0] wr_data,
    input logic rd_valid,
    input logic [CW-1:0] rd_channel,
    input logic [RW-1:0] rd_row,
    input logic [KW-1:0] rd_turn,
    input logic rd_meta,
    input logic [CW-1:0] choose_channel,
    input logic [RW-1:0] choose_row,
    input logic [KW-1:0] choose_byte
);
  logic out_valid, out_meta;
  logic [CW-1:0] out_channel;
  logic [DATA_WIDTH-1:0] out_data;
  tp_landing_ram #(
      .DATA_WIDTH(DATA_WIDTH),
      .CHANNELS(CHANNELS),
      .ROWS(ROWS),
      .META(1)
  ) dut (
      .clk,
      .rst,
      .wr_valid,
      .wr_row,
      .wr_data,
      .rd_valid,
      .rd_channel,
      .rd_row,
      .rd_turn,
      .rd_meta,
      .out_valid,
      .out_channel,
      .out_data,
      .out_meta
  );

  logic started = 1'b0;
  logic [CW-1:0] channel;  // the byte that is watched
  logic [RW-1:0] row;
  logic [KW-1:0] at;
  always_ff @(posedge clk) begin
    started <= 1'b1;
    if (!started) begin
      channel <= choose_channel;
      row <= choose_row;
      at <= choose_byte;
    end
  end
  always_comb begin
    if (!started) assume (rst);
    assume (32'(rd_channel) < CHANNELS && 32'(choose_channel) < CHANNELS);
  end

  logic writes, reads;  // that byte's row
  assign writes = wr_valid && wr_row == row;
  assign reads = rd_valid && !rst && rd_channel == channel && rd_row == row;

  logic known;
  logic [7:0] value;
  // The channel's last read, if it was of this row; and what it saw: a read in the cycle of a write may see either.
  logic prev, prev_sure;
  logic [KW-1:0] prev_turn;
  logic [7:0] prev_value;
  // What the read in hand must show, and where.
  logic [KW:0] lane;
  logic falls;  // off the top, in this read
  assign lane = (KW + 1)'(at) + (KW + 1)'(rd_turn);
  assign falls = lane[KW];
  logic comes;  // out of the bottom: this read is the one after
  assign comes = rd_valid && !rst && rd_channel == channel && prev && rd_row == RW'(row + 1'b1) && rd_turn == prev_turn;

  logic valid1, meta1, hits1, valid2, meta2, hits2;
  logic [CW-1:0] channel1, channel2;
  logic [KW-1:0] lane1, lane2;
  logic [7:0] value1, value2;
  always_ff @(posedge clk) begin
    if (writes) begin
      known <= 1'b1;
      value <= wr_data[8*at+:8];
    end
    if (rd_valid && rd_channel == channel) begin
      prev <= reads;
      prev_turn <= rd_turn;
    end
    if (reads) begin
      prev_sure <= known && !writes;
      prev_value <= value;
    end
    // While it stands between the two reads, nobody writes the row: then it does not matter which of them the byte was read with.
    if (writes) prev_sure <= 1'b0;
    valid1 <= rd_valid && !rst;
    meta1 <= rd_meta;
    channel1 <= rd_channel;
    lane1 <= KW'(lane);
    hits1 <= (reads && !falls && known && !writes) || (comes && falls && prev_sure && !writes);
    value1 <= reads && !falls ? value : prev_value;
    valid2 <= valid1 && !rst;
    {meta2, channel2, lane2, value2} <= {meta1, channel1, lane1, value1};
    hits2 <= hits1 && valid1 && !rst;
    if (!started || rst) prev <= 1'b0;
    if (!started) known <= 1'b0;
  end

  always_comb
    if (started) begin
      assert (out_valid == valid2);
      assert (!valid2 || (out_meta == meta2 && out_channel == channel2));
      assert (!hits2 || out_data[8*lane2+:8] == value2);
      cover (hits2 && value2 == 8'h5a && lane2 == 0 && at == KW'(KEEP - 1));
      cover (hits2 && value2 == 8'ha5 && 32'(lane2) == KEEP - 1);
    end

  // Where the watched byte stands: holds the induction.
  logic [KEEP/4-1:0][31:0] there;
  logic [KW:0] top;    // the lane that it had in the channel's last read
  logic carried, now, soon;  // it is one of the bytes that are kept for the next read; the last read's data comes now, or in the next cycle
  logic [2:0][7:0] kept;     // what stands before the next window of the channel
  logic [KW+2:0] place;      // of the expected byte in that window, with what is kept
  for (genvar l = 0; l < KEEP / 4; l++) begin : g_lane
    assign there[l] = dut.g_lane[l].mem[row];
  end
  assign top = (KW + 1)'(at) + (KW + 1)'(prev_turn);
  assign carried = prev && prev_sure && top[KW] && top[KW-1:0] < KW'(prev_turn[1:0]);
  assign now = out_valid && out_channel == channel;
  assign soon = dut.row_valid && dut.row_channel == channel;
  assign kept = now ? dut.window[KEEP/4-1][31:8] : dut.carry[channel];
  assign place = (KW + 3)'(lane1) + (KW + 3)'(3) - (KW + 3)'(dut.row_near);
  if (INDUCTION) begin : g_induction
    always_comb
      if (started) begin
        assert (32'(channel) < CHANNELS && (!out_valid || 32'(out_channel) < CHANNELS));
        assert (!dut.row_valid || 32'(dut.row_channel) < CHANNELS);
        assert (!known || there[at[KW-1:2]][8*at[1:0]+:8] == value);
        assert (!(prev && prev_sure) || (known && prev_value == value));
        assert (dut.near == ~dut.not_near && dut.i_rotate.far == ~dut.i_rotate.not_far);
        assert (dut.row_valid == valid1 && (!valid1 || (dut.row_channel == channel1 && dut.row_meta == meta1)));
        if (hits1 && valid1) begin
          assert (channel1 == channel);
          assert ((place < 3 ? kept[place[1:0]] : dut.turned[(place-3)>>2][8*((place-3)&3)+:8]) == value1);
        end
        if (carried && soon) begin
          assert (dut.row_near == prev_turn[1:0] && dut.i_rotate.far == prev_turn[KW-1:2]);
          assert (dut.row[at[KW-1:2]][8*at[1:0]+:8] == prev_value);
        end
        if (carried && !soon) assert (kept[2'(top)+2'd3-prev_turn[1:0]] == prev_value);
      end
  end
endmodule
