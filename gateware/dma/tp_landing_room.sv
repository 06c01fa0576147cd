// SPDX-License-Identifier: Apache-2.0
// The landing room of all H2C channels: its blocks, and the RAM, which the channels read in turn.
//
// Promises: those of tp_blocks and tp_landing_ram. A read is granted in the cycle in which it is its channel's turn; its data comes in `put_*`
// two cycles later.
module tp_landing_room #(
    parameter int DATA_WIDTH = 128,
    parameter int CHANNELS = 1,
    parameter int BLOCKS = 32,
    parameter int BLOCK_BYTES = 512,
    parameter int SHARE = 2,                // blocks that each channel has for itself
    parameter int META = 1,                 // bits that travel beside a read
    localparam int KW = $clog2(DATA_WIDTH / 8),
    localparam int CW = CHANNELS > 1 ? $clog2(CHANNELS) : 1,
    localparam int BW = $clog2(BLOCKS),
    localparam int ROWS = BLOCKS * (BLOCK_BYTES / (DATA_WIDTH / 8)),
    localparam int RW = $clog2(ROWS)
) (
    input logic clk,
    input logic rst,

    // see tp_blocks
    input  logic [CHANNELS-1:0]         block_want,
    input  logic [CHANNELS-1:0]         block_sparing,
    output logic [CHANNELS-1:0]         block_grant,
    output logic [BW-1:0]               block,
    input  logic [CHANNELS-1:0]         back_valid,
    input  logic [CHANNELS-1:0][BW-1:0] back_block,
    output logic [CHANNELS-1:0]         back_taken,

    input logic                  write_valid,
    input logic [RW-1:0]         write_row,
    input logic [DATA_WIDTH-1:0] write_data,

    input  logic [CHANNELS-1:0]           read_want,
    output logic [CHANNELS-1:0]           read_grant,
    input  logic [CHANNELS-1:0][RW-1:0]   read_row,
    input  logic [CHANNELS-1:0][KW-1:0]   read_turn,
    input  logic [CHANNELS-1:0][META-1:0] read_meta,
    output logic                          put_valid,
    output logic [CW-1:0]                 put_channel,
    output logic [DATA_WIDTH-1:0]         put_data,
    output logic [META-1:0]               put_meta
);
  // Inline messages may use the last three sixteenths of the room, reads not: reads beyond what the host's latency needs would only make its
  // doorbells wait behind their answers (ADR 20).
  tp_blocks #(
      .BLOCKS(BLOCKS),
      .CHANNELS(CHANNELS),
      .SHARE(SHARE),
      .KEPT(3 * BLOCKS / 16)
  ) i_blocks (
      .clk,
      .rst,
      .want(block_want),
      .sparing(block_sparing),
      .grant(block_grant),
      .block,
      .back(back_valid),
      .back_block,
      .back_taken
  );

  logic [CW-1:0] channel;
  tp_round_robin #(
      .N(CHANNELS)
  ) i_reads (
      .clk,
      .rst,
      .request(read_want),
      .take(1'b1),
      .grant(read_grant)
  );
  always_comb begin
    channel = '0;
    for (int c = 0; c < CHANNELS; c++) if (read_grant[c]) channel |= CW'(c);
  end
  tp_landing_ram #(
      .DATA_WIDTH(DATA_WIDTH),
      .CHANNELS(CHANNELS),
      .ROWS(ROWS),
      .META(META)
  ) i_ram (
      .clk,
      .rst,
      .wr_valid(write_valid),
      .wr_row(write_row),
      .wr_data(write_data),
      .rd_valid(|read_want),
      .rd_channel(channel),
      .rd_row(read_row[channel]),
      .rd_turn(read_turn[channel]),
      .rd_meta(read_meta[channel]),
      .out_valid(put_valid),
      .out_channel(put_channel),
      .out_data(put_data),
      .out_meta(put_meta)
  );
endmodule
