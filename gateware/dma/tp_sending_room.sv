// SPDX-License-Identifier: Apache-2.0
// The sending room of all C2H channels: its blocks, the RAM, and whose beat is taken.
//
// A channel counts its beats through its own blocks, as through a room of its own; where each block of it is stands in `places`. One beat a clock is
// written. Whose beat that is has been decided a clock before, of those that waited then: so a `ready` follows no `valid`, and a channel
// alone keeps its turn.
//
// With one channel there are no blocks: the room is its own.
//
// Promises: those of tp_blocks and tp_sending_ram. A beat that waits, and for which its channel has a place, is taken when at most CHANNELS - 1 others have
// been. What a channel reads is what it wrote at that place, until it has given the block back.
// With one channel the ports for blocks are unused.
// verilator lint_off UNUSEDSIGNAL
module tp_sending_room #(
    parameter int DATA_WIDTH = 128,
    parameter int CHANNELS = 1,
    parameter int BYTES = 8192,             // of all channels, a power of two
    parameter int BLOCK_BYTES = 512,        // a power of two, two beats or more
    parameter int SHARE = 2,                // blocks that each of several channels has for itself
    parameter bit ALIGNED = 0,              // see tp_sending_ram
    localparam int KEEP = DATA_WIDTH / 8,
    localparam int KW = $clog2(KEEP),
    localparam int BW = $clog2(BYTES),
    localparam int LB = CHANNELS > 1 ? $clog2(BLOCK_BYTES) : KW,
    localparam int CW = CHANNELS > 1 ? $clog2(CHANNELS) : 1
) (
    input logic clk,
    input logic rst,

    // from tp_c2h
    input  logic [CHANNELS-1:0]                 ask,
    output logic [CHANNELS-1:0]                 turn,
    output logic [CW-1:0]                       turn_channel,
    input  logic [CHANNELS-1:0]                 beat_valid,  // in its turn
    input  logic [CHANNELS-1:0][BW-1:KW]        beat_at,
    input  logic [CHANNELS-1:0][DATA_WIDTH-1:0] beat_data,
    input  logic [CHANNELS-1:0]                 get_want,
    input  logic [CHANNELS-1:0]                 get_sparing,
    output logic [CHANNELS-1:0]                 get_grant,
    input  logic [CHANNELS-1:0][BW-1:LB]        get_at,
    input  logic [CHANNELS-1:0]                 give_valid,
    input  logic [CHANNELS-1:0][BW-1:LB]        give_at,
    output logic [CHANNELS-1:0]                 give_taken,

    // from tp_writer
    input  logic                  advance,
    input  logic                  rd,
    input  logic [CW-1:0]         rd_channel,
    input  logic [BW-1:0]         rd_byte,
    input  logic [DATA_WIDTH-1:0] other,
    output logic [DATA_WIDTH-1:0] out_data
);
  if ((BYTES & (BYTES - 1)) != 0) $error("%m: BYTES %0d: make it a power of two", BYTES);

  function automatic logic [CW-1:0] number(input logic [CHANNELS-1:0] one_hot);
    number = '0;
    for (int c = 0; c < CHANNELS; c++) if (one_hot[c]) number |= CW'(c);
  endfunction

  // The row of the first byte and the one after it: the odd one is in the same pair, the even one, behind an odd one, in the next.
  logic [BW-1:KW] wr_row;
  logic [BW-1:KW+1] odd_at, even_at, odd_row, even_row;
  assign odd_at = rd_byte[BW-1:KW+1];
  assign even_at = rd_byte[BW-1:KW+1] + (BW - KW - 1)'(rd_byte[KW]);

  if (CHANNELS == 1) begin : g_alone
    assign turn = 1'b1;
    assign turn_channel = '0;
    assign {get_grant, give_taken} = '0;
    assign wr_row = beat_at[0];
    assign odd_row = odd_at;
    assign even_row = even_at;
  end else begin : g_shared
    localparam int BLOCKS = BYTES / BLOCK_BYTES;
    if (BLOCK_BYTES < 2 * KEEP) $error("%m: BLOCK_BYTES %0d: make it two beats or more", BLOCK_BYTES);

    logic [CHANNELS-1:0] pick;
    tp_round_robin #(
        .N(CHANNELS)
    ) i_turn (
        .clk,
        .rst,
        .request(ask),
        .take(1'b1),
        .grant(pick)
    );
    assign turn_channel = number(turn);
    always_ff @(posedge clk) begin
      if (pick != '0) turn <= pick;
      if (rst) turn <= CHANNELS'(1);
    end

    // Where each block of a channel's is. A channel is told of a block a clock after tp_blocks has given it; then the place is noted.
    logic [BW-1:LB] places[2**(CW+BW-LB)];
    logic [CHANNELS-1:0] grant, give, give_pick;
    logic [CW-1:0] grant_channel, back_channel;
    logic [BW-1:LB] block, grant_block, back_block;
    assign grant_channel = number(get_grant);
    assign back_channel = number(give);
    assign back_block = places[{back_channel, give_at[back_channel]}];
    always_ff @(posedge clk) begin
      get_grant <= rst ? '0 : grant;
      grant_block <= block;
      if (get_grant != '0) places[{grant_channel, get_at[grant_channel]}] <= grant_block;
    end
    // Whose block goes back is decided a clock before, too.
    tp_round_robin #(
        .N(CHANNELS)
    ) i_give (
        .clk,
        .rst,
        .request(give_valid & ~give),
        .take(1'b1),
        .grant(give_pick)
    );
    always_ff @(posedge clk) give <= rst ? '0 : give_pick;
    // A channel without a descriptor takes no more than its share: so all that is left stays for who can send.
    tp_blocks #(
        .BLOCKS(BLOCKS),
        .CHANNELS(CHANNELS),
        .SHARE(SHARE),
        .KEPT(BLOCKS)
    ) i_blocks (
        .clk,
        .rst,
        .want(get_want & ~get_grant),
        .sparing(get_sparing),
        .grant,
        .block,
        .back(give),
        .back_block
    );
    assign give_taken = give;

    logic [BW-1:KW] at;
    assign at = beat_at[turn_channel];
    assign wr_row = {places[{turn_channel, at[BW-1:LB]}], at[LB-1:KW]};
    if (LB == KW + 1) begin : g_pairs
      assign odd_row = places[{rd_channel, odd_at}];
      assign even_row = places[{rd_channel, even_at}];
    end else begin : g_rows
      assign odd_row = {places[{rd_channel, odd_at[BW-1:LB]}], odd_at[LB-1:KW+1]};
      assign even_row = {places[{rd_channel, even_at[BW-1:LB]}], even_at[LB-1:KW+1]};
    end
    always_ff @(posedge clk)
      if (!rst)
        assert ((beat_valid & ~turn) == '0)
        else $error("%m: a beat came out of turn");
  end

  tp_sending_ram #(
      .DATA_WIDTH(DATA_WIDTH),
      .BYTES(BYTES),
      .ALIGNED(ALIGNED)
  ) i_ram (
      .clk,
      .wr_valid(beat_valid != '0),
      .wr_row,
      .wr_data(beat_data[turn_channel]),
      .advance,
      .rd,
      .rd_odd(odd_row),
      .rd_even(even_row),
      .rd_byte(rd_byte[KW:0]),
      .other,
      .out_data
  );
endmodule
