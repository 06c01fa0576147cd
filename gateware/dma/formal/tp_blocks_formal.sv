// SPDX-License-Identifier: Apache-2.0
// tp_blocks: a block that is granted has no owner; a channel which holds less than its share gets one within as many cycles as there are channels, once
// the list is filled; none gets more beyond its share while fewer blocks are left that no share needs than it has of them, and a sparing wish
// leaves KEPT; every block is on the list or somebody's.
// Assumed: one channel at a time gives back what it holds, the only one in order.
module tp_blocks_formal #(
    parameter int BLOCKS = 7,
    parameter int CHANNELS = 2,
    parameter int SHARE = 2,
    parameter int KEPT = 1,
    parameter bit INDUCTION = 1,
    localparam int BW = $clog2(BLOCKS)
) (
    input logic clk,
    input logic rst,
    input logic [CHANNELS-1:0] want,
    input logic [CHANNELS-1:0] sparing,
    input logic [CHANNELS-1:0] back,
    input logic [BW-1:0] back_block
);
  logic [CHANNELS-1:0] grant;
  logic [BW-1:0] block;
  tp_blocks #(
      .BLOCKS(BLOCKS),
      .CHANNELS(CHANNELS),
      .SHARE(SHARE),
      .KEPT(KEPT)
  ) dut (
      .*
  );

  logic started = 1'b0;
  logic filling;                            // the list is
  logic [BW-1:0] oldest;                    // of a single channel's blocks
  if (CHANNELS == 1) begin : g_whole
    assign filling = 1'b0;
  end else begin : g_filling
    assign filling = dut.g_shared.filling;
  end
  logic [CHANNELS-1:0][BLOCKS-1:0] has;    // the channel holds the block
  logic [BLOCKS-1:0] had;                   // anybody does
  logic [CHANNELS-1:0][3:0] held, waited;  // how many it holds; cycles in which it has asked for one of its share
  logic [3:0] used, promised;  // blocks in use, and those of shares that are not
  always_comb begin
    had = '0;
    used = '0;
    promised = '0;
    for (int c = 0; c < CHANNELS; c++) begin
      held[c] = '0;
      for (int b = 0; b < BLOCKS; b++) held[c] += 4'(has[c][b]);
      had |= has[c];
      used += held[c];
      if (32'(held[c]) < SHARE) promised += 4'(SHARE) - held[c];
    end
  end
  always_ff @(posedge clk) begin
    started <= 1'b1;
    for (int c = 0; c < CHANNELS; c++) begin
      if (grant[c]) has[c][block] <= 1'b1;
      if (back[c]) has[c][back_block] <= 1'b0;
      waited[c] <= want[c] && !grant[c] && 32'(held[c]) < SHARE && !filling ? waited[c] + 1'b1 : '0;
    end
    if (back[0]) oldest <= 32'(oldest) == BLOCKS - 1 ? '0 : oldest + 1'b1;
    if (rst) begin
      oldest <= '0;
      has <= '0;
      waited <= '0;
    end
  end
  always_comb begin
    if (!started) assume (rst);
    assume ($onehot0(back));
    for (int c = 0; c < CHANNELS; c++) if (back[c]) assume (32'(back_block) < BLOCKS && has[c][back_block] && !rst);
    if (rst) assume (want == '0);
    if (CHANNELS == 1 && back[0]) assume (back_block == oldest);
  end

  always_comb
    if (started && !rst) begin
      assert ($onehot0(grant) && (grant & ~want) == '0);
      if (grant != '0) assert (32'(block) < BLOCKS && !had[block]);
      assert (4'(BLOCKS) - used >= promised);  // what the shares promise is there
      for (int c = 0; c < CHANNELS; c++) begin
        assert (32'(waited[c]) < CHANNELS);
        if (grant[c] && sparing[c] && 32'(held[c]) >= SHARE) assert (32'(used) + (CHANNELS == 1 ? 0 : 32'(promised)) < BLOCKS - KEPT);
      end
      // None gets more beyond its share while fewer are left than it has.
      for (int c = 0; c < CHANNELS; c++)
      if (CHANNELS > 1 && grant[c] && 32'(held[c]) >= SHARE) assert (32'(held[c]) - SHARE <= BLOCKS - 32'(used) - 32'(promised));
      cover (32'(held[0]) == BLOCKS - (CHANNELS - 1) * SHARE - 1);
      cover (32'(used) == BLOCKS);
      cover (back != '0 && want == '1 && grant != '0);
    end

  if (INDUCTION && CHANNELS == 1) begin : g_single
    logic [CHANNELS-1:0][BLOCKS-1:0] should;  // the blocks from the oldest to the next one
    always_comb begin
      should = '0;
      for (int b = 0; b < BLOCKS; b++) should[0][b] = (b - 32'(oldest) + (b < 32'(oldest) ? BLOCKS : 0)) < 32'(held[0]);
    end
    always_comb
      if (started && !rst) begin
        assert (has == should && 32'(block) < BLOCKS && 32'(oldest) < BLOCKS);
        assert (32'(dut.g_single.left) + 32'(used) == BLOCKS);
        assert ((32'(oldest) + 32'(used)) % BLOCKS == 32'(block));
        assert (!dut.g_single.any || dut.g_single.left != '0);
        assert (!dut.g_single.ample || 32'(dut.g_single.left) > (KEPT < BLOCKS - SHARE ? KEPT : BLOCKS - SHARE));
      end
  end
  if (INDUCTION && CHANNELS > 1) begin : g_several
    logic [BLOCKS-1:0][3:0] listed;         // how often a block stands on the list
    logic [BW:0] count;
    assign count = dut.g_shared.i_free.wr - dut.g_shared.i_free.rd;
    always_comb
      for (int b = 0; b < BLOCKS; b++) begin
        listed[b] = '0;
        for (int i = 0; i < 2 ** BW; i++)
        if ({1'b0, BW'(i) - dut.g_shared.i_free.rd[BW-1:0]} < count && 32'(dut.g_shared.i_free.mem[i]) == b) listed[b] += 4'd1;
      end
    always_comb
      if (started && !rst) begin
        for (int b = 0; b < BLOCKS; b++) assert (listed[b] + 4'(had[b]) == 4'(!filling || b < 32'(dut.g_shared.fill)));
        for (int i = 0; i < 2 ** BW; i++)
        if ({1'b0, BW'(i) - dut.g_shared.i_free.rd[BW-1:0]} < count) assert (32'(dut.g_shared.i_free.mem[i]) < BLOCKS);
        assert (32'(count) + 32'(used) == (filling ? 32'(dut.g_shared.fill) : BLOCKS));
        for (int c = 1; c < CHANNELS; c++) assert ((has[c] & has[0]) == '0);
        assert (!filling || (32'(dut.g_shared.fill) < BLOCKS && used == '0));
        assert (dut.g_shared.extra == BLOCKS - used - promised);
        assert (!dut.g_shared.ample || filling || 32'(dut.g_shared.extra) > KEPT);
        for (int c = 0; c < CHANNELS; c++) begin
          assert (dut.g_shared.below[c] == (32'(held[c]) < SHARE) && dut.g_shared.over[c] == (32'(held[c]) > SHARE));
          // Whoever of the two waits is next.
          if (waited[c] != '0) assert (dut.g_shared.turn[c]);
        end
      end
    for (genvar c = 0; c < CHANNELS; c++) begin : g_held
      always_comb if (started && !rst) assert (32'(dut.g_shared.g_channel[c].held) == 32'(held[c]));
    end
  end
endmodule
