// SPDX-License-Identifier: Apache-2.0
// tp_outbox, of any one channel: no more slots are posted than have been allowed since pairing, and no more than QUEUE_DEPTH are under
// way. A credit with another key, or that is no more than the last one, changes nothing. Each descriptor is put whole, its words in order,
// into the doorbell page of its channel, in clocks without a packet of the host's, and pushed two clocks after its last beat; slots follow
// each other, and each descriptor names the inbox, the slot's size and its number (one may be left out where the channel is disabled).
// What the host writes passes unchanged. Where posting has been cleared, by the host, a fault or a reset, nothing more is chosen; a read
// shows that, and how many slots have been posted and whether any is under way.
// Assumed: a descriptor ends after it has been pushed, once; the host's push comes two clocks after a beat of its own, and it sets base,
// size and key only of a channel that is not paired; a channel's flush, and a new base, come when none of its descriptors is chosen and
// not yet pushed; the partner allows fewer than 2^15 slots beyond what has been posted.
module tp_outbox_formal
  import towpath_pkg::*;
#(
    parameter int DATA_WIDTH = 64,
    parameter int QUEUE_DEPTH = 2,
    parameter bit INDUCTION = 1,
    localparam int H2C = 1,
    localparam int C2H = 2,
    localparam int CHANNELS = 3,
    localparam int CW = 2,
    localparam int BEATS = DATA_WIDTH < 128 ? 128 / DATA_WIDTH : 1
) (
    input logic clk,
    input logic rst,
    input logic busy,
    input logic [CW-1:0] in_channel,
    input logic [11:2] in_offset,
    input logic [DATA_WIDTH-1:0] in_data,
    input logic [DATA_WIDTH/8-1:0] in_strb,
    input logic in_words_valid,
    input logic in_push_valid,
    input logic [CW-1:0] in_push_channel,
    input logic in_push_torn,
    input logic [7:0] in_push_count,
    input logic credit_valid,
    input logic [CW-1:0] credit_channel,
    input logic [31:0] credit,
    input logic write_valid,
    input logic [CW-1:0] write_channel,
    input logic [7:3] write_offset,
    input logic [63:0] write_data,
    input logic [7:0] write_strb,
    input logic [CHANNELS-1:0] enabled,
    input logic [C2H-1:0] flush,
    input logic [CHANNELS-1:0] ended,
    input logic [CHANNELS-1:0][7:0] ended_status,
    input logic who                        // the channel that is watched
);
  logic [CW-1:0] wr_channel, push_channel, channel;
  logic [11:2] wr_offset;
  logic [DATA_WIDTH-1:0] wr_data;
  logic [DATA_WIDTH/8-1:0] wr_strb;
  logic words_valid, push_valid, push_torn;
  logic [7:0] push_count;
  logic [63:0] read_data;
  logic [CHANNELS-1:0] paired, alarm;
  tp_outbox #(
      .DATA_WIDTH(DATA_WIDTH),
      .H2C(H2C),
      .C2H(C2H),
      .QUEUE_DEPTH(QUEUE_DEPTH)
  ) dut (
      .read_valid(1'b1),
      .read_channel(channel),
      .read_offset(5'(TP_CHANNEL_PEER_CONTROL_OFFSET / 8)),
      .*
  );
  assign channel = CW'(H2C) + CW'(who);

  // ------------------------------------------------------------------------------------------------ the host's writes
  localparam logic [7:3] BASE = 5'(TP_CHANNEL_PEER_BASE_OFFSET / 8), CONTROL = 5'(TP_CHANNEL_PEER_CONTROL_OFFSET / 8);
  logic started = 1'b0, who1;
  logic mine, sets, begins, posting;  // `posting`: as far as the host and faults allow
  logic [63:13] base;
  logic [1:0] has;                          // its halves have been written
  logic [3:0] log2;
  logic [7:0] key;
  assign mine = write_valid && write_channel == channel;
  assign sets = mine && write_offset == CONTROL && (&write_strb[3:0]);
  assign begins = sets && !paired[channel] && write_data[TP_CHANNEL_PEER_CONTROL_PAIRED_LSB];
  logic faulty;
  assign faulty = ended[channel] && !(ended_status[channel] inside {TP_STATUS_DONE, TP_STATUS_END_OF_MESSAGE, TP_STATUS_CANCELLED});

  // ------------------------------------------------------------------------------------------------ credit, and what is posted
  logic [15:0] allowed, chosen, put;  // slots: allowed, chosen, and pushed
  logic [2:0] under_way, pushed;  // that have not ended: posted, and pushed
  logic takes, chooses, host1, host2, mine1, mine2;
  logic [1:0] beat;  // of the descriptor that is being put
  logic puts, pushes, loses;  // `loses`: the channel is not enabled any more
  logic [2:0] lost;  // that have been chosen and are not put
  logic [127:0] image, so_far;
  tp_descriptor_t descriptor;
  assign takes = credit_valid && credit_channel == channel && paired[channel] && credit[23:16] == key &&
      $signed(credit[15:0] - allowed) > 0;
  assign chooses = dut.choose && dut.pick[who];
  assign puts = dut.mine && dut.channel == channel;
  assign pushes = push_valid && mine2 && push_channel == channel;
  assign descriptor = image;
  assign loses = dut.shows && dut.channel == channel && !enabled[channel] && !(puts && 32'(beat) == BEATS - 1);
  logic chosen_one;  // one of this channel's is chosen and not pushed
  always_comb begin
    image = so_far;
    image[DATA_WIDTH*32'(beat)+:DATA_WIDTH] = wr_data;
  end
  always_ff @(posedge clk) begin
    started <= 1'b1;
    who1 <= who;
    {host1, host2} <= {busy, host1};
    {mine1, mine2} <= {dut.mine, mine1};
    if (mine && write_offset == BASE && (&write_strb[3:0])) {has[0], base[31:13]} <= {1'b1, write_data[31:13]};
    if (mine && write_offset == BASE && (&write_strb[7:4])) {has[1], base[63:32]} <= {1'b1, write_data[63:32]};
    if (takes) allowed <= credit[15:0];
    if (chooses) begin
      chosen <= chosen + 1'b1;
      chosen_one <= 1'b1;
    end
    if (pushes) chosen_one <= 1'b0;
    if (loses) lost <= lost + 1'b1;
    under_way <= under_way + 3'(chooses) - 3'(ended[channel]);
    pushed <= pushed + 3'(pushes) - 3'(ended[channel]);
    if (puts) begin
      so_far <= image;
      beat <= 32'(beat) == BEATS - 1 ? '0 : beat + 1'b1;
    end
    if (loses) {chosen_one, beat} <= '0;
    if (faulty && paired[channel]) posting <= 1'b0;
    if (sets) begin
      posting <= write_data[TP_CHANNEL_PEER_CONTROL_POSTING_LSB];
      log2 <= write_data[TP_CHANNEL_PEER_CONTROL_SLOT_LOG2_LSB+:4];
      key <= write_data[TP_CHANNEL_PEER_CONTROL_KEY_LSB+:8];
      if (!paired[channel]) {allowed, chosen} <= '0;
    end
    if (rst || flush[who]) {posting, under_way, pushed, chosen_one, lost} <= '0;
    if (rst) {has, beat, mine1, mine2} <= '0;
  end
  always_comb begin
    if (!started) assume (rst);
    if (started) assume (who1 == who);
    if (ended[channel]) assume (pushed != '0);
    if (flush[who]) assume (!chosen_one && !chooses);
    assume (!(in_push_valid || in_words_valid) || host2);
    if (mine && write_offset == BASE) assume (!chosen_one && !chooses);
    if (sets && paired[channel])
      assume (write_data[TP_CHANNEL_PEER_CONTROL_SLOT_LOG2_LSB+:4] == log2 && write_data[TP_CHANNEL_PEER_CONTROL_KEY_LSB+:8] == key);
    if (sets && !paired[channel]) assume (under_way == '0);
    if (begins) assume (has == '1);
    if (takes) assume (16'(credit[15:0] - chosen) < 16'h8000);
  end

  // ------------------------------------------------------------------------------------------------ promises
  logic sound;                              // in this clock, what is put is as it must be
  tp_descriptor_t due;
  assign due = '{
          address: {base, 13'b0},
          length: 32'd1 << log2,
          cookie: chosen - 1'b1,
          control: '{reserved: '0, end_: 1'b0, kind: TP_KIND_DIRECT}
      };
  assign sound = wr_channel == channel && wr_offset == 10'(TP_DOORBELL_DESCRIPTOR_OFFSET / 4) + 10'(32'(beat) * DATA_WIDTH / 32) &&
      wr_strb == (DATA_WIDTH / 8)'(16'hffff);
  logic [18:0] shown;                       // by a read of control and status
  logic shows_it;
  always_ff @(posedge clk) begin
    shown <= {under_way == '0, chosen, posting, paired[channel]};
    shows_it <= paired[channel] && !rst;
  end
  always_comb
    if (started && !rst) begin
      assert (!shows_it || shown == {
        read_data[32+TP_CHANNEL_PEER_STATUS_IDLE_LSB], read_data[32+TP_CHANNEL_PEER_STATUS_SLOTS_LSB+:16],
        read_data[TP_CHANNEL_PEER_CONTROL_POSTING_LSB], read_data[TP_CHANNEL_PEER_CONTROL_PAIRED_LSB]});
      assert (under_way <= 3'(QUEUE_DEPTH));
      assert (!chooses || (posting && paired[channel] && enabled[channel] && allowed != chosen && under_way != 3'(QUEUE_DEPTH)));
      assert (!paired[channel] || allowed - chosen < 16'h8000);
      // The host's pass.
      assert (!busy || ({wr_channel, wr_offset, wr_data, wr_strb} == {in_channel, in_offset, in_data, in_strb} && !dut.mine));
      assert (!in_push_valid || (push_valid && {push_channel, push_torn, push_count} == {in_push_channel, in_push_torn, in_push_count}));
      assert (!in_words_valid || words_valid);
      assert (!push_valid || in_push_valid || (mine2 && push_count == 8'd1 && !push_torn));
      assert (!words_valid || in_words_valid || mine2);
      assert (!mine2 || words_valid);
      // A descriptor
      assert (!puts || (chosen_one && sound));
      assert (!(puts && 32'(beat) == BEATS - 1) || descriptor == due);
      assert (!pushes || (chosen_one && beat == '0));
      cover (pushes && chosen == 16'd1);
      cover (puts && host1 && host2);
      cover (alarm[channel] && allowed == 16'd3);
    end

  if (INDUCTION) begin : g_induction
    logic [1:0] posting_dut;
    logic [1:0][15:0] allowed_dut, posted_dut;
    logic [1:0][1:0] under_way_dut;
    logic [1:0][11:0] setting_dut;
    logic [1:0][63:13] base_dut;
    for (genvar c = 0; c < 2; c++) begin : g_each
      assign posting_dut[c] = dut.g_channel[c].g_able.posting;
      assign allowed_dut[c] = dut.g_channel[c].g_able.allowed;
      assign posted_dut[c] = dut.g_channel[c].g_able.posted;
      assign under_way_dut[c] = dut.g_channel[c].g_able.under_way;
      assign setting_dut[c] = {dut.g_channel[c].g_able.slot_log2, dut.g_channel[c].g_able.key};
      assign base_dut[c] = dut.g_channel[c].g_able.base;
    end
    always_comb
      if (started && !rst) begin
        assert (posting_dut[who] == posting && 3'(under_way_dut[who]) == under_way);
        assert (!paired[channel] || (allowed_dut[who] == allowed && has == '1));
        assert (!(paired[channel] || chosen_one) || posted_dut[who] == chosen);
        assert (!paired[channel] || (setting_dut[who] == {log2, key}));
        assert ((!has[1] || base_dut[who][63:32] == base[63:32]) && (!has[0] || base_dut[who][31:13] == base[31:13]));
        // One at a time
        assert (under_way == pushed + lost + 3'(chosen_one) && pushed <= 3'(QUEUE_DEPTH) && lost <= 3'(QUEUE_DEPTH));
        assert (chosen_one == ((dut.shows || dut.push_soon != '0) && dut.channel == channel));
        assert ({mine1, mine2} == {dut.words_soon[0], dut.words_soon[1]});
        assert (!dut.push_soon[0] || (!dut.shows && &dut.rest && mine1 && dut.channel_soon[0] == dut.channel));
        assert (!dut.push_soon[1] || (!dut.shows && dut.rest == 4'd14 && mine2 && dut.channel_soon[1] == dut.channel));
        assert (!(mine1 && host1) && !(mine2 && host2));
        assert (!dut.words_soon[0] || dut.shows || &dut.rest);
        assert (!dut.words_soon[1] || dut.shows || dut.rest >= 4'd14);
        assert (!dut.push_soon[1] || !(dut.words_soon[0] || dut.push_soon[0]));
        assert (!dut.shows || (dut.push_soon == '0 && (dut.beat != '0 || dut.words_soon == '0)));
        assert (!dut.shows || (dut.channel inside {2'd1, 2'd2} && 32'(dut.beat) < BEATS));
        assert (beat == (dut.shows && dut.channel == channel ? 2'(dut.beat) : '0));
        if (chosen_one && dut.shows) begin
          assert (dut.descriptor == due);
          assert (beat == '0 || so_far[63:0] == due[63:0]);
        end
      end
  end
endmodule
