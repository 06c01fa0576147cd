// SPDX-License-Identifier: Apache-2.0
// tp_ring, of any one of its channels: each entry that is taken is shown to tp_writer once, in the order taken and unchanged, at its place
// in the ring (base + 16 for each entry before it, round at the ring's size) with the phase of that round; it stands until it is taken,
// and until it is read, unless the channel is mute. After a reset the first place is first again. One fire for each arm at most, which
// stands until it is taken, and one for each fill level that is due and taken; and none is lost: without moderation, a channel that is
// armed and has nothing unlooked at has nothing that the host has not reaped. While the channel is paired, its entries go to its peer's
// inbox, in the same way, an end that is just `done` has none, and its place in the ring stands still.
// Assumed: what an offer says, but for cookie and status, stands in the cycle before it is taken; the host names base and size before the
// first entry, a vector below 256, no moderation, and arms no channel that it has not seen out of its reset; a reset lasts for three
// clocks or more and ends when nothing of the channel is being told; tp_writer reads an entry once, after it has taken it; a channel is
// paired, and is not any more, while nothing of it is offered or being told, after the host has named the inbox.
module tp_ring_formal
  import towpath_pkg::*;
#(
    parameter bit INDUCTION = 1,
    localparam int CHANNELS = 2            // one of each direction
) (
    input logic clk,
    input logic rst,
    input logic [1:0] entry_valid,
    input logic [1:0][31:0] entry_bytes,
    input logic [1:0][15:0] entry_cookie,
    input logic [1:0][7:0] entry_status,
    input logic entry_start,
    input logic [47:0] head_length,
    input logic [31:0] head_offset,
    input logic [31:0] head_user,
    input logic out_ready,
    input logic out_read,
    input logic out_leaving,
    input logic mastering,
    input logic [1:0] mute,
    input logic arm_valid,
    input logic arm_channel,
    input logic [31:0] arm_index,
    input logic [1:0] alarm,
    input logic [1:0] in_hand,
    input logic [1:0] planned,
    input logic fill_valid,
    input logic fill_channel,
    input logic [31:0] fill_level,
    input logic [1:0][30:0] bytes,
    input logic refused,
    input logic [1:0] idle,
    input logic [31:8] left,
    input logic priv_write_valid,
    input logic priv_write_channel,
    input logic [7:3] priv_write_offset,
    input logic [63:0] priv_write_data,
    input logic [7:0] priv_write_strb,
    input logic priv_read_valid,
    input logic priv_read_channel,
    input logic [7:3] priv_read_offset,
    input logic [1:0] resetting,
    input logic fire_ready,
    input logic who,                       // the channel that is watched, ...
    input logic [57:0] base,               // ... its ring, ...
    input logic [63:13] peer,              // ... and its peer's inbox
    input logic paired,                    // the C2H channel is
    input logic [4:0] log2
);
  logic [1:0] entry_ready, telling, enabled, announce, reset_request;
  logic out_valid, out_channel, scan, priv_read_ack, fire_valid;
  logic [63:0] out_addr, priv_read_data;
  logic [7:0] fire_vector;
  tp_completion_t out_entry;
  tp_ring #(
      .FILL(1),
      .HOLDS(3)
  ) dut (
      .holds(bytes),
      .head_channel(),
      .lead_valid(1'b0),
      .lead_channel('0),
      .lead_bytes('0),
      .error('0),
      .overflows('0),
      .paired({paired, 1'b0}),
      .*
  );

  // ------------------------------------------------------------------------------------------------ what is around it
  logic started = 1'b0;
  logic who1;
  logic [57:0] base1;
  logic [63:13] peer1;
  logic paired1, has_peer, set_peer, offered1, offered2;
  logic apart, silent;  // the channel is paired; an end that has no entry is offered
  assign apart = who && paired;
  assign silent = apart && !entry_start && entry_status[1] == TP_STATUS_DONE;
  logic [4:0] log2_1;
  logic taken, gone, shown1, has_base, has_log2, set_base, set_log2, reads, quiet1, quiet2, uncleared;
  logic [144:0] offer, offer1;  // what an entry's first half is made of
  assign offer = {entry_start, entry_bytes[who], head_length, head_offset, head_user};
  logic writes;
  assign writes = priv_write_valid && priv_write_channel == who && &priv_write_strb;
  assign taken = entry_valid[who] && entry_ready[who] && !mute[who] && !silent;
  always_ff @(posedge clk) begin
    started <= 1'b1;
    {who1, base1, log2_1, peer1, paired1} <= {who, base, log2, peer, paired};
    {offered1, offered2} <= {entry_valid[who], offered1};
    set_peer <= writes && priv_write_offset == 5'(TP_CHANNEL_PEER_BASE_OFFSET / 8);
    if (set_peer) has_peer <= 1'b1;
    offer1 <= offer;
    // A write is in the RAM two cycles later.
    set_base <= writes && priv_write_offset == 5'(TP_CHANNEL_RING_BASE_OFFSET / 8);
    set_log2 <= writes && priv_write_offset == 5'(TP_CHANNEL_RING_LOG2_OFFSET / 8);
    if (set_base) has_base <= 1'b1;
    if (set_log2) has_log2 <= 1'b1;
    if (out_valid && out_ready) reads <= 1'b1;
    else if (out_read) reads <= 1'b0;
    quiet1 <= !telling[who];
    quiet2 <= quiet1 && !telling[who];
    if (resetting[who]) uncleared <= 1'b1;
    else if (dut.clear_done && dut.at == who) uncleared <= 1'b0;
    if (rst) begin
      {has_base, has_log2, has_peer, set_base, set_log2, set_peer, reads} <= '0;
      uncleared <= 1'b1;
    end
  end
  logic resetting1, resetting2, mute1, late;  // `late`: a reset that came before the one before it was cleared
  always_ff @(posedge clk) begin
    resetting1 <= resetting[who] && !rst;
    resetting2 <= resetting1 && resetting[who] && !rst;
    mute1 <= mute[who] && !rst;
    if (rst || (resetting[who] && !resetting1 && uncleared)) late <= 1'b1;
    else if (!uncleared) late <= 1'b0;
  end
  always_comb begin
    if (!started) assume (rst);
    if (started) assume ({who1, base1, log2_1, peer1} == {who, base, log2, peer});
    if (started && who && paired1 != paired)
      assume (quiet1 && quiet2 && !telling[who] && !offered2 && !offered1 && !entry_valid[who] && has_peer);
    if (rst) assume (!paired);
    assume (log2 <= 5'd16 && log2 >= 5'd2);
    // aligned to its size
    for (int i = 0; i < 14; i++) assume (i + 2 >= 32'(log2) || !base[i]);
    if (priv_write_valid && priv_write_channel == who) begin
      if (priv_write_offset == 5'(TP_CHANNEL_RING_BASE_OFFSET / 8)) assume (&priv_write_strb && priv_write_data == {base, 6'b0});
      if (priv_write_offset == 5'(TP_CHANNEL_RING_LOG2_OFFSET / 8)) assume (&priv_write_strb && priv_write_data[4:0] == log2);
      if (priv_write_offset == 5'(TP_CHANNEL_PEER_BASE_OFFSET / 8)) assume (&priv_write_strb && priv_write_data == {peer, 13'b0});
      assume (priv_write_offset != 5'(TP_CHANNEL_MODERATION_OFFSET / 8));
    end
    if (entry_valid[who]) assume (!rst && has_base && has_log2);
    if (taken) assume (offer == offer1);
    if (out_read) assume (reads);
    if (arm_valid && arm_channel == who) assume (!uncleared && !resetting[who]);
    if (resetting1 && !resetting[who]) assume (resetting2 && quiet1 && quiet2 && !telling[who] && !offered1 && !entry_valid[who]);
    if (resetting[who] && (late || (!resetting1 && uncleared))) assume (!entry_valid[who]);
    assume ((mute & ~resetting) == '0 && (!mute1 || mute[who] || !resetting[who]));
  end

  // ------------------------------------------------------------------------------------------------ the watched channel
  logic [31:0] n;                          // entries taken since its last reset
  logic [1:0] holds;                       // so many are taken and not yet taken by tp_writer, ...
  tp_completion_t entry, newer;  // ... the oldest and the newest of them, ...
  logic [63:0] addr, newer_addr;  // ... and their places
  always_comb if (dut.state == 4'd10) assume (dut.high[31:8] == '0);

  logic mine, fire1;
  logic [2:0] arms;                        // that have not fired, as far as they are counted
  logic owes;                              // a fill level was taken, and has not begun to fire
  logic [16:0] reaped;
  logic [15:0] place;
  logic phase;
  assign mine = out_valid && out_channel == who && !mute[who];
  logic [63:0] goes_to;  // the next entry
  assign goes_to = apart ? {peer, 13'b0} + 64'd4096 : {base, 6'b0} + {44'b0, place, 4'b0};
  always_comb for (int i = 0; i < 16; i++) place[i] = n[i] && i < 32'(log2);
  assign phase = !n[log2];
  tp_completion_t offered;
  always_comb begin
    offered = '0;
    {offered.status, offered.cookie} = {entry_status[who], entry_cookie[who]};
    offered.bytes = entry_bytes[who];
    if (who) {offered.offset, offered.user} = {head_offset, head_user};
    if (who && entry_start) begin
      offered.bytes = head_length[31:0];
      {offered.status, offered.cookie} = {8'b0, head_length[47:32]};
      offered.flags.start = 1'b1;
    end
    offered.flags.phase = phase;
  end
  logic leaves;
  assign leaves = mine && out_ready;
  logic stands;
  logic [63:0] stood;
  always_ff @(posedge clk) begin
    if (leaves) {entry, addr} <= {newer, newer_addr};
    if (taken) begin
      {newer, newer_addr} <= {offered, goes_to};
      if (holds == 2'(leaves)) {entry, addr} <= {offered, goes_to};
      if (!apart) n <= n + 1'b1;
    end
    holds <= mute[who] ? '0 : holds + 2'(taken) - 2'(leaves);
    stands <= mine && !out_ready;
    stood <= out_addr;
    if (rst || (resetting1 && !resetting[who])) n <= '0;
    if (rst) {holds, stands} <= '0;
  end
  logic begins, fills;  // of a fire of this channel; it is for a fill level
  assign begins = fire_valid && !fire1 && dut.at == who && !owes;
  assign fills = fire_valid && !fire1 && dut.at == who && owes;
  always_ff @(posedge clk) begin
    fire1 <= fire_valid && !fire_ready && !rst;
    arms <= arms + 3'(arm_valid && arm_channel == who && arms != '1) - 3'(begins);
    if (arm_valid && arm_channel == who) begin
      reaped <= arm_index[16:0];
    end
    owes <= dut.fill_taken[who] || (owes && !fills);
    if (rst) {arms, owes} <= '0;
  end
  logic busy;  // it is being looked at, or will be
  assign busy = dut.arm_wanted[who] || dut.alarm_wanted[who] ||
      (dut.at == who && (dut.state == 4'd2 || (dut.state >= 4'd6 && !(dut.state == 4'd10 && dut.fills) &&
                                                    !(dut.state == 4'd6 && dut.apart))));

  always_comb
    if (started && !rst) begin
      assert (!mine || holds != '0);
      assert (!mine || (out_entry == entry && out_addr == addr));
      assert (!stands || mute[who] || (mine && out_addr == stood));
      assert (!(taken && holds[1]) && holds != 2'd3);
      assert (!(taken || holds != '0) || telling[who] || (taken && dut.state == 4'd5));
      assert (!begins || arms != '0);
      assert (!owes || fills);
      assert ((dut.fill_taken & ~dut.fill_due) == '0);
      assert (!fire1 || fire_valid);
      assert (!(dut.armed[who] && !busy && !resetting[who]) || n[16:0] == reaped || uncleared);
      cover (mine && n == 32'd2);
      cover (begins && n == 32'd2);
      cover (fills && arms != '0 && dut.g_full);
      assert (!(silent && entry_valid[1]) || entry_ready[1]);
      cover (mine && addr == {peer, 13'b0} + 64'd4096 && n == 32'd1);
      cover (n == 32'd1 && mine && who && entry.flags.start);
    end

  if (INDUCTION) begin : g_induction
    // The words of this channel in the RAM, by their numbers in the contract's page.
    localparam int W_BASE = TP_CHANNEL_RING_BASE_OFFSET / 8, W_LOG2 = TP_CHANNEL_RING_LOG2_OFFSET / 8, W_TORN = TP_CHANNEL_TORN_OFFSET / 8;
    localparam int W_PEER = TP_CHANNEL_PEER_BASE_OFFSET / 8;
    localparam int W_CONSUMED = TP_CHANNEL_CONSUMED_OFFSET / 8, W_MODERATE = TP_CHANNEL_MODERATION_OFFSET / 8;
    logic here, exact, dead;  // the job is this channel's; its count is `n`; its count is to be cleared
    logic [31:0] produced, last;  // `last`: entries before the one in hand
    logic [15:0] was;
    tp_completion_t youngest;  // that is held
    logic [63:0] last_addr;
    logic in_g, in_e;
    assign {youngest, last_addr} = holds[1] ? {newer, newer_addr} : {entry, addr};
    assign in_g = dut.g_full && dut.g_at == who;
    assign in_e = dut.e_valid && dut.e_at == who;
    assign last = n - 32'(!apart);
    always_comb for (int i = 0; i < 16; i++) was[i] = last[i] && i < 32'(log2);
    assign here = dut.at == who;
    assign dead = uncleared && (!resetting1 || late);
    assign exact = !dead && !mute[who] && !mute1;
    assign produced = dut.upper[{who, 3'(W_TORN)}];
    always_comb
      if (started && !rst) begin
        assert (dut.clear_wanted[who] == uncleared && (uncleared || !resetting1) && (resetting1 || !mute1));
        assert (dut.state <= 4'd10);
        assert (!dut.clear_first || dut.clearable != '0);
        assert (!dut.clearable[who] || (uncleared && !resetting1));
        assert (dut.clear_first || !dut.offered || !uncleared || resetting1);
        assert (!(dut.offered && dut.turn[who]) || offered1);
        // what the host has set
        if (set_peer) assert (dut.set_low && dut.set_high && dut.set_at == {who, 3'(W_PEER)});
        if ((dut.set_low || dut.set_high) && dut.set_at == {who, 3'(W_PEER)})
          assert (dut.set_low && dut.set_high && dut.set_data == {peer, 13'b0});
        if (has_peer) assert ({dut.upper[{who, 3'(W_PEER)}], dut.lower[{who, 3'(W_PEER)}]} == {peer, 13'b0});
        assert (!apart || has_peer);
        if (here && dut.looking) assert (dut.apart == apart);
        if (set_base) assert (dut.set_low && dut.set_high && dut.set_at == {who, 3'(W_BASE)});
        if (set_log2) assert (dut.set_low && dut.set_at == {who, 3'(W_LOG2)});
        if ((dut.set_low || dut.set_high) && dut.set_at == {who, 3'(W_BASE)})
          assert (dut.set_low && dut.set_high && dut.set_data == {base, 6'b0});
        if ((dut.set_low || dut.set_high) && dut.set_at == {who, 3'(W_LOG2)}) assert (dut.set_data[4:0] == log2);
        if (dut.set_low || dut.set_high) assert (dut.set_at[2:0] inside {3'(W_BASE), 3'(W_LOG2), 3'(W_MODERATE), 3'(W_PEER)});
        if (dut.set_high) assert (dut.set_at[2:0] != 3'(W_MODERATE));
        if (dut.set_low) assert (dut.set_at != {who, 3'(W_MODERATE)});
        if (has_base) assert ({dut.upper[{who, 3'(W_BASE)}], dut.lower[{who, 3'(W_BASE)}]} == {base, 6'b0});
        if (has_log2) assert (dut.lower[{who, 3'(W_LOG2)}][4:0] == log2);
        if (!uncleared) assert (dut.lower[{who, 3'(W_MODERATE)}] == '0);
        if (dut.state == 4'd1) begin
          assert (dut.word inside {3'(W_TORN), 3'(W_CONSUMED), 3'(W_MODERATE)});
          if (here) assert (dead && (dut.word == 3'(W_TORN) || produced == '0));
        end
        // counts
        if (dead) assert (n == '0);
        if (exact) assert (produced == n - 32'(dut.state == 4'd6 && here && !apart));
        // an entry on its way
        if (dut.offered && dut.turn[who]) assert (has_base && has_log2);
        if (dut.looking) assert (!dut.g_full);
        assert (!dut.e_valid || dut.e_full);
        assert (!reads || (dut.e_full && !dut.e_valid));
        assert (dut.e_full == (dut.e_valid || reads));
        if (here && dut.looking) assert (has_base && has_log2 && !(uncleared && !resetting[who]));
        if (here && dut.state == 4'd4) assert (dut.word == (apart ? 3'(W_PEER) : 3'(W_BASE)));
        if (here && dut.state == 4'd5) begin
          assert (dut.word == 3'(W_LOG2) && dut.base == (apart ? {peer, 7'd64} : base));
          assert (dut.g.bytes == (who && offer1[144] ? offer1[95:64] : offer1[143:112]));
          assert (dut.g.offset == (who ? offer1[63:32] : '0));
        end
        if (dut.state == 4'd6) assert (dut.word == 3'(W_TORN));
        if (dut.state == 4'd7) assert (dut.word == 3'(W_TORN));
        if (here && dut.state == 4'd6) begin
          assert (!dead);
          if (!mute[who]) begin
            assert (dut.base == (apart ? {peer, 7'd64} : base) && dut.log2 == log2);
            assert (last_addr == (apart ? {peer, 7'd64, 6'b0} : {base, 6'b0} + {44'b0, was, 4'b0}));
            assert ({dut.g.status, dut.g.cookie, dut.g.user, dut.g.offset, dut.g.bytes, dut.g.flags.start, dut.g.flags.reserved} ==
                    {youngest.status, youngest.cookie, youngest.user, youngest.offset,
                     youngest.bytes, youngest.flags.start, youngest.flags.reserved});
            assert (youngest.flags.phase == !last[log2]);
          end
        end
        if (!mute[who]) assert (holds == 2'(here && dut.state == 4'd6) + 2'(in_g) + 2'(in_e));
        if (in_g && !mute[who]) assert (dut.g == youngest && last_addr == ({dut.base, 6'b0} | 64'({dut.place, 4'b0})));
        // arms
        if (resetting1 || uncleared) assert (!dut.armed[who] && !dut.arm_wanted[who]);
        if (resetting2 || (uncleared && !resetting1)) assert (!(here && dut.state == 4'd8));
        assert (arms >= 3'(dut.arm_wanted[who]) + 3'(dut.armed[who]));
        if (here && dut.state == 4'd8) assert (arms != '0);
        assert (!(dut.fills && dut.state != 4'd10) || dut.state == 4'd0);
        assert (owes == (here && dut.state == 4'd10 && dut.fills && !fire1));
        if (here && (dut.state == 4'd9 || (dut.state == 4'd10 && !fire1 && !dut.fills))) assert (arms >= 3'd1 + 3'(dut.arm_wanted[who]));
        if (dut.state == 4'd8) assert (dut.word == 3'(W_TORN));
        if (dut.state == 4'd9) assert (dut.word == 3'(W_MODERATE));
        if (dut.state == 4'd10) assert (dut.word == 3'(W_LOG2));
        assert (!fire1 || dut.state == 4'd10);
        assert (dut.reaped[who] == reaped || arms == '0);
        if (here && dut.state == 4'd9 && !resetting[who] && !uncleared && dut.armed[who])
          assert (dut.unreaped == n[16:0] - reaped || dut.arm_wanted[who]);
        if (here && dut.state == 4'd10 && fire1 && !dut.fills) assert (!dut.armed[who]);
        if (dut.state == 4'd2) assert (dut.word == 3'(W_LOG2));
      end
  end
endmodule
