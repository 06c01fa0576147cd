// SPDX-License-Identifier: Apache-2.0
// What the C2H channels sent and no write has carried yet: beats are written whole, and read at any byte, one full beat a cycle, no beat ever
// split in two.
//
// Even and odd beats stand in two banks, so that the two beats which an unaligned read touches are reached in one cycle. Without a read there are
// zeros, so that `other`, what comes out then, is joined by OR, with no choice to make.
//
// Promises: a read shows each byte as written up to the cycle before; what is read, or `other`, comes out after two cycles with `advance`; without
// it nothing moves.
module tp_sending_ram #(
    parameter int DATA_WIDTH = 128,
    parameter int BYTES = 8192,             // at least four beats
    parameter bit ALIGNED = 0,              // each read begins with a beat: one bank, and nothing to turn
    localparam int KEEP = DATA_WIDTH / 8,
    localparam int KW = $clog2(KEEP),
    localparam int BW = $clog2(BYTES)
) (
    input logic clk,

    input logic                  wr_valid,
    input logic [BW-1:KW]        wr_row,
    input logic [DATA_WIDTH-1:0] wr_data,

    // The read begins with a byte of one row and goes on in the next one, which may be any: where the odd one of both is, and where the even
    // one. ALIGNED: the first row is in the pair of `rd_odd`.
    input  logic                  advance,
    input  logic                  rd,
    input  logic [BW-1:KW+1]      rd_odd,
    input  logic [BW-1:KW+1]      rd_even,
    input  logic [KW:0]           rd_byte,  // {the first row is an odd one, the byte of it that comes out in lane 0}
    input  logic [DATA_WIDTH-1:0] other,    // 0 beside a read
    output logic [DATA_WIDTH-1:0] out_data
);
  if (BYTES < 4 * KEEP) $error("%m: BYTES %0d: make it at least four beats", BYTES);

  logic [DATA_WIDTH-1:0] beside;
  if (ALIGNED) begin : g_aligned
    logic [DATA_WIDTH-1:0] rows[BYTES/KEEP];
    logic [DATA_WIDTH-1:0] row;
    always_ff @(posedge clk) begin
      if (wr_valid) rows[wr_row] <= wr_data;
      if (advance) begin
        row <= rd ? rows[{rd_odd, rd_byte[KW]}] : '0;
        beside <= other;
        out_data <= row | beside;
      end
    end
  end else begin : g_unaligned
    logic [DATA_WIDTH-1:0] evens[BYTES/KEEP/2];
    logic [DATA_WIDTH-1:0] odds[BYTES/KEEP/2];
    logic [DATA_WIDTH-1:0] even, odd;
    always_ff @(posedge clk) begin
      if (wr_valid && !wr_row[KW]) evens[wr_row[BW-1:KW+1]] <= wr_data;
      if (advance) even <= rd ? evens[rd_even] : '0;
    end
    always_ff @(posedge clk) begin
      if (wr_valid && wr_row[KW]) odds[wr_row[BW-1:KW+1]] <= wr_data;
      if (advance) odd <= rd ? odds[rd_odd] : '0;
    end

    logic [KW-1:0] turn, turn_now;  // what brings the first byte into lane 0
    logic [KEEP-1:0] from_odd;
    logic [DATA_WIDTH-1:0] window;
    always_ff @(posedge clk)
      if (advance) begin
        turn <= rd ? -rd_byte[KW-1:0] : '0;
        // Lanes from the first byte on are in the first beat, those below it in the next one.
        for (int b = 0; b < KEEP; b++) from_odd[b] <= (KW'(b) >= rd_byte[KW-1:0]) == rd_byte[KW];
        beside <= other;
        for (int b = 0; b < KEEP; b++) window[8*b+:8] <= (from_odd[b] ? odd[8*b+:8] : even[8*b+:8]) | beside[8*b+:8];
        turn_now <= turn;
      end
    tp_rotate #(
        .LANES(KEEP),
        .WIDTH(8)
    ) i_rotate (
        .clk,
        .by(advance ? turn : turn_now),
        .in(window),
        .out(out_data)
    );
  end
endmodule
