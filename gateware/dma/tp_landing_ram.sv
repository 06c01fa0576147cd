// SPDX-License-Identifier: Apache-2.0
// The block RAM in which the answers to reads land, a whole row (one beat) at a time, and from which they leave at any byte.
//
// A channel reads its rows one after the other, turned: a row's byte b comes out in lane b + `turn`; bytes that fall off the top come out in the
// bottom lanes of the next read. So one bank is enough: lanes of 32 bits have addresses of their own, so that a read takes the bytes which
// stay from its row and those which fell off from the row before. Up to three bytes of one lane would be wanted of both rows: those
// are kept from the channel's last read (`carry`).
//
// Lanes are turned behind the RAM, bytes behind a register: a block RAM is slow.
//
// Promises: a write is seen by reads given in the next cycle or later; read data comes two cycles later. Lanes below `turn` hold what fell off the
// row before, if the channel's last read was of that row, with the same turn.
module tp_landing_ram #(
    parameter int DATA_WIDTH = 128,
    parameter int CHANNELS = 1,
    parameter int ROWS = 512,              // of all channels
    parameter int META = 1,                // bits that travel beside a read
    localparam int KEEP = DATA_WIDTH / 8,
    localparam int LANES = DATA_WIDTH / 32,
    localparam int KW = $clog2(KEEP),
    localparam int CW = CHANNELS > 1 ? $clog2(CHANNELS) : 1,
    localparam int RW = $clog2(ROWS)
) (
    input logic clk,
    input logic rst,

    input logic                  wr_valid,
    input logic [RW-1:0]         wr_row,
    input logic [DATA_WIDTH-1:0] wr_data,

    input  logic                  rd_valid,
    input  logic [CW-1:0]         rd_channel,
    input  logic [RW-1:0]         rd_row,
    input  logic [KW-1:0]         rd_turn,
    input  logic [META-1:0]       rd_meta,
    output logic                  out_valid,
    output logic [CW-1:0]         out_channel,
    output logic [DATA_WIDTH-1:0] out_data,
    output logic [META-1:0]       out_meta
);
  if (DATA_WIDTH != 64 && DATA_WIDTH != 128 && DATA_WIDTH != 256 && DATA_WIDTH != 512)
    $error("%m: DATA_WIDTH %0d: use 64, 128, 256 or 512", DATA_WIDTH);
  if (ROWS < 4) $error("%m: ROWS %0d: make it 4 or more", ROWS);

  logic [RW-1:0] rd_before;
  assign rd_before = rd_row - 1'b1;

  logic [LANES-1:0][31:0] row, turned, window;
  for (genvar l = 0; l < LANES; l++) begin : g_lane
    logic [31:0] mem[ROWS];
    logic [RW-1:0] at;
    assign at = 32'(rd_turn[KW-1:2]) + l >= LANES ? rd_before : rd_row;
    always_ff @(posedge clk) begin
      if (wr_valid) mem[wr_row] <= wr_data[32*l+:32];
      row[l] <= mem[at];
    end
  end
  tp_rotate #(
      .LANES(LANES),
      .WIDTH(32)
  ) i_rotate (
      .clk,
      .by(rd_turn[KW-1:2]),
      .in(row),
      .out(turned)
  );

  logic row_valid;
  logic [CW-1:0] row_channel;
  logic [META-1:0] row_meta;
  logic [1:0] row_near, near, not_near;  // bytes still to be turned; as in tp_rotate, half of the bytes follow the complement
  always_ff @(posedge clk) begin
    row_valid <= rd_valid && !rst;
    row_channel <= rd_channel;
    row_meta <= rd_meta;
    row_near <= rd_turn[1:0];
    window <= turned;
    out_valid <= row_valid && !rst;
    out_channel <= row_channel;
    out_meta <= row_meta;
    near <= row_near;
    not_near <= ~row_near;
  end

  // The last three bytes of a channel's window stand before those of its next.
  logic [CHANNELS-1:0][2:0][7:0] carry;
  logic [KEEP+2:0][7:0] bytes;
  assign bytes = {window, carry[out_channel]};
  always_ff @(posedge clk) if (out_valid) carry[out_channel] <= window[LANES-1][31:8];
  for (genvar b = 0; b < KEEP; b++) begin : g_byte
    logic [1:0] steps;
    assign steps = b % 4 < 2 ? near : ~not_near;
    always_comb
      case (steps)
        2'd0: out_data[8*b+:8] = bytes[b+3];
        2'd1: out_data[8*b+:8] = bytes[b+2];
        2'd2: out_data[8*b+:8] = bytes[b+1];
        default: out_data[8*b+:8] = bytes[b];
      endcase
  end
endmodule
