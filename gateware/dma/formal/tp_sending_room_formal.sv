// SPDX-License-Identifier: Apache-2.0
// tp_sending_room, of two channels: what a channel reads at a place is what it wrote there since it got the block, whatever the other one
// does; a block that comes back is the one that the channel has there; a beat that waits for its turn waits for CHANNELS cycles at most. One
// byte of one channel is watched, any.
// Assumed: each channel gets its places in order and gives them back in order, and may begin anew when it has none; it writes only in its turn
// and where it has a block, and does not write what it reads (tp_c2h); what is granted has no owner (tp_blocks).
module tp_sending_room_formal #(
    parameter int DATA_WIDTH = 64,
    parameter bit INDUCTION = 1,
    localparam int CHANNELS = 2,
    localparam int KEEP = DATA_WIDTH / 8,
    localparam int BLOCK_BYTES = 4 * KEEP,
    localparam int BLOCKS = 4,
    localparam int BYTES = BLOCKS * BLOCK_BYTES,
    localparam int KW = $clog2(KEEP),
    localparam int LB = $clog2(BLOCK_BYTES),
    localparam int BW = $clog2(BYTES)
) (
    input logic clk,
    input logic rst,
    input logic [CHANNELS-1:0] ask,
    input logic [CHANNELS-1:0] beat_valid,
    input logic [CHANNELS-1:0][BW-1:KW] beat_at,
    input logic [CHANNELS-1:0][DATA_WIDTH-1:0] beat_data,
    input logic [CHANNELS-1:0] get_want,
    input logic [CHANNELS-1:0] get_sparing,
    input logic [CHANNELS-1:0] give_valid,
    input logic [CHANNELS-1:0] restart,     // the channel counts from zero, when it has no block
    input logic advance,
    input logic rd,
    input logic rd_channel,
    input logic [BW-1:0] rd_byte,
    input logic choose_channel,
    input logic [BW-1:0] choose
);
  logic [CHANNELS-1:0] turn, get_grant, give_taken;
  logic turn_channel;
  logic [CHANNELS-1:0][BW-1:LB] get_at, give_at;
  logic [DATA_WIDTH-1:0] out_data;
  tp_sending_room #(
      .DATA_WIDTH(DATA_WIDTH),
      .CHANNELS(CHANNELS),
      .BYTES(BYTES),
      .BLOCK_BYTES(BLOCK_BYTES),
      .SHARE(2)
  ) dut (
      .other('0),
      .*
  );

  logic started = 1'b0;
  logic who;                                // the byte that is watched
  logic [BW-1:0] at;
  logic [CHANNELS-1:0][BW:LB] got, gave;  // what each channel counts
  logic [CHANNELS-1:0][BLOCKS-1:0] has;  // it has a block at this place
  for (genvar c = 0; c < CHANNELS; c++) begin : g_has
    logic [BW:LB] count;
    assign count = got[c] - gave[c];
    assign get_at[c] = got[c][BW-1:LB];
    assign give_at[c] = gave[c][BW-1:LB];
    for (genvar p = 0; p < BLOCKS; p++) begin : g_place
      logic [BW-1:LB] behind;
      assign behind = (BW - LB)'(p) - gave[c][BW-1:LB];
      assign has[c][p] = {1'b0, behind} < count;
    end
  end
  logic [BLOCKS-1:0] held;  // somebody has it
  always_comb begin
    held = '0;
    for (int c = 0; c < CHANNELS; c++) for (int p = 0; p < BLOCKS; p++) if (has[c][p]) held[dut.g_shared.places[4*c+p]] = 1'b1;
  end

  logic mine, known, known1, known2, hits1, hits2;
  logic [7:0] value, value1, value2;
  logic [KW-1:0] lane1, lane2;
  logic [BW-1:0] far;
  assign mine = has[who][at[BW-1:LB]];
  assign far = at - rd_byte;
  logic writes, hit;
  assign writes = beat_valid[who] && beat_at[who] == at[BW-1:KW];
  assign hit = rd && rd_channel == who && 32'(far) < KEEP && mine;
  logic [CHANNELS-1:0][2:0] waited;
  logic [CHANNELS-1:0] given;               // a block has been offered and not taken
  always_ff @(posedge clk) begin
    started <= 1'b1;
    if (!started) {who, at} <= {choose_channel, choose};
    for (int c = 0; c < CHANNELS; c++) begin
      if (get_grant[c]) got[c] <= got[c] + 1'b1;
      if (give_taken[c]) gave[c] <= gave[c] + 1'b1;
      if (restart[c] && got[c] == gave[c] && !get_grant[c]) begin
        got[c] <= '0;
        gave[c] <= '0;
      end
      given[c] <= give_valid[c] && !give_taken[c] && !rst;
      waited[c] <= ask[c] && !turn[c] ? waited[c] + 1'b1 : '0;
    end
    if (writes) begin
      known <= 1'b1;
      value <= beat_data[who][8*at[KW-1:0]+:8];
    end
    if (give_taken[who] && give_at[who] == at[BW-1:LB]) known <= 1'b0;
    if (advance) begin
      hits1 <= hit && known && !writes;
      value1 <= value;
      lane1 <= KW'(far);
      hits2 <= hits1;
      value2 <= value1;
      lane2 <= lane1;
    end
    if (rst) {known, got, gave, waited, hits1, hits2} <= '0;
  end
  always_comb begin
    if (!started) assume (rst);
    for (int c = 0; c < CHANNELS; c++) begin
      assume (!beat_valid[c] || (turn[c] && has[c][beat_at[c][BW-1:LB]]));
      assume (!give_valid[c] || (got[c] != gave[c] && !rst));
      if (given[c]) assume (give_valid[c]);  // it stands until taken
      // Not the block that is being written.
      assume (!(give_valid[c] && beat_valid[c]) || give_at[c] != beat_at[c][BW-1:LB]);
      assume (!get_want[c] || !rst);
    end
    if (started && dut.g_shared.grant != '0)
      assume (!held[dut.g_shared.block] && !(get_grant != '0 && dut.g_shared.block == dut.g_shared.grant_block));
  end

  always_comb
    if (started && !rst) begin
      assert ($onehot(turn) && turn[turn_channel]);
      assert (!hits2 || out_data[8*lane2+:8] == value2);
      for (int c = 0; c < CHANNELS; c++) begin
        assert (32'(waited[c]) <= CHANNELS);
        assert (!give_taken[c] || dut.g_shared.back_block == dut.g_shared.places[4*c+32'(give_at[c])]);
      end
      cover (hits2 && value2 == 8'h5a && lane2 != 0 && who && at[KW-1:0] == 0 && at[LB-1:KW] == 0);
      cover (got[0] == 3 && got[1] == 5 && give_taken[1]);
    end

  if (INDUCTION) begin : g_induction
    logic [BW-1:LB] there;
    logic [BW-1:0] place;
    logic [DATA_WIDTH-1:0] stored;
    logic [KW-1:0] lane;
    assign there = dut.g_shared.places[{who, at[BW-1:LB]}];
    assign place = {there, at[LB-1:0]};
    assign lane = at[KW-1:0];
    // As in the proof of tp_blocks.
    logic [31:0] filled;
    assign filled = dut.g_shared.i_blocks.g_shared.filling ? 32'(dut.g_shared.i_blocks.g_shared.fill) : BLOCKS;
    logic [BW-LB:0] listed;
    logic [31:0] used;
    assign listed = dut.g_shared.i_blocks.g_shared.i_free.wr - dut.g_shared.i_blocks.g_shared.i_free.rd;
    assign used = 32'((BW + 1 - LB)'(got[0] - gave[0])) + 32'((BW + 1 - LB)'(got[1] - gave[1]));
    assign stored = place[KW] ? dut.i_ram.g_unaligned.odds[place[BW-1:KW+1]] : dut.i_ram.g_unaligned.evens[place[BW-1:KW+1]];
    always_comb
      if (started && !rst) begin
        assert (get_grant == '0 || !held[dut.g_shared.grant_block]);
        assert ($onehot0(get_grant));
        assert ((dut.g_shared.give & ~give_valid) == '0 && $onehot0(dut.g_shared.give));
        assert (32'(listed) + used + 32'(get_grant != '0) == filled);
        assert (!dut.g_shared.i_blocks.g_shared.filling || (used == '0 && get_grant == '0));
        for (int c = 0; c < CHANNELS; c++) begin
          assert (32'((BW + 1 - LB)'(got[c] - gave[c])) <= BLOCKS);
          // Whoever waits while the other one has its turn is next.
          assert (waited[c] == '0 || dut.g_shared.i_turn.later[1] == !turn_channel);
          assert (32'(waited[c]) < 2 || 32'(turn_channel) == c);
        end
        for (int p = 0; p < CHANNELS * BLOCKS; p++)
        if (mine && has[p/BLOCKS][p%BLOCKS] && p != 32'({who, at[BW-1:LB]})) assert (dut.g_shared.places[p] != there);
        assert (!known || (mine && stored[8*lane+:8] == value));
        assert (dut.i_ram.g_unaligned.i_rotate.far == (2 * ((KW + 1) / 2))'(dut.i_ram.g_unaligned.turn_now) &&
                dut.i_ram.g_unaligned.i_rotate.not_far == ~dut.i_ram.g_unaligned.i_rotate.far);
        // The row's parity is the place's, so what has been read stands although the block may be another's by now.
        assert (!hits1 || ((at[KW] ? dut.i_ram.g_unaligned.odd[8*lane+:8] : dut.i_ram.g_unaligned.even[8*lane+:8]) == value1 &&
                           dut.i_ram.beside == '0 && dut.i_ram.g_unaligned.from_odd[lane] == at[KW] &&
                           dut.i_ram.g_unaligned.turn == lane1 - lane));
      end
  end
endmodule
