// SPDX-License-Identifier: Apache-2.0
// The landing room of all H2C channels: its blocks, the RAM, and the engine that reads it for the channels in turn.
//
// Promises: those of tp_blocks, tp_landing_ram and tp_h2c_stream. What is read comes in `put_*` two cycles later.
module tp_landing_room
  import tp_tlp_pkg::*;
#(
    parameter int DATA_WIDTH = 128,
    parameter int CHANNELS = 1,
    parameter int BLOCKS = 32,
    parameter int BLOCK_BYTES = 512,
    parameter int SHARE = 2,                // blocks that each channel has for itself
    localparam int KW = $clog2(DATA_WIDTH / 8),
    localparam int META = 2 * KW + 6,       // bits that travel beside a read: {from, full, last, bytes, error, attributes} of tp_h2c_stream
    localparam int CW = CHANNELS > 1 ? $clog2(CHANNELS) : 1,
    localparam int BW = $clog2(BLOCKS),
    localparam int ROWS = BLOCKS * (BLOCK_BYTES / (DATA_WIDTH / 8)),
    localparam int RW = $clog2(ROWS),
    localparam int SLOT = BW + $clog2(BLOCK_BYTES / CPL_BOUNDARY) + $clog2(BLOCK_BYTES) + 12
) (
    input logic clk,
    input logic rst,

    // see tp_blocks
    input  logic [CHANNELS-1:0] block_want,
    input  logic [CHANNELS-1:0] block_sparing,
    output logic [CHANNELS-1:0] block_grant,
    output logic [BW-1:0]       block,

    input logic                  write_valid,
    input logic [RW-1:0]         write_row,
    input logic [DATA_WIDTH-1:0] write_data,

    // see tp_h2c_stream
    input  logic [CHANNELS-1:0]           flush,
    input  logic [CHANNELS-1:0]           next_valid,
    input  logic [CHANNELS-1:0][SLOT-1:0] next,
    output logic [CHANNELS-1:0]           next_taken,
    input  logic [CHANNELS-1:0]           room,
    output logic [CHANNELS-1:0]           spend,
    input  logic                          done_valid,     // an answer has landed, ...
    input  logic [CW-1:0]                 done_channel,
    input  logic                          inject_valid,   // ... or a word of an inline message
    input  logic [CW-1:0]                 inject_channel,
    output logic                          put_valid,
    output logic [CW-1:0]                 put_channel,
    output logic [DATA_WIDTH-1:0]         put_data,
    output logic [META-1:0]               put_meta
);
  logic [CHANNELS-1:0] back;
  logic [BW-1:0] back_block;
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
      .back,
      .back_block
  );

  logic [CW-1:0] landed, read_channel;
  logic read_valid, read_full, read_last, read_error;
  logic [1:0] read_attributes;
  logic [RW-1:0] read_row;
  logic [KW-1:0] read_turn, read_from;
  logic [KW:0] read_bytes;
  always_ff @(posedge clk) begin
    if (done_valid || inject_valid) landed <= done_valid ? done_channel : inject_channel;
    if (rst) landed <= '0;
  end
  tp_h2c_stream #(
      .DATA_WIDTH(DATA_WIDTH),
      .CHANNELS(CHANNELS),
      .BLOCKS(BLOCKS),
      .BLOCK_BYTES(BLOCK_BYTES)
  ) i_stream (
      .*
  );
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
      .rd_valid(read_valid),
      .rd_channel(read_channel),
      .rd_row(read_row),
      .rd_turn(read_turn),
      .rd_meta({read_from, read_full, read_last, read_bytes, read_error, read_attributes}),
      .out_valid(put_valid),
      .out_channel(put_channel),
      .out_data(put_data),
      .out_meta(put_meta)
  );
endmodule
