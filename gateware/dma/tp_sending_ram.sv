// SPDX-License-Identifier: Apache-2.0
// What the C2H channels sent and no write has carried yet: each channel's beats are written whole, in all channels at once if they like, and
// read at any byte, one full beat a cycle, no beat ever split in two.
//
// A channel's even and odd beats stand in two banks, so that the two beats which an unaligned read touches are reached in one cycle. A read
// that runs over the end goes on at the start. Channels that are not read show zeros: so they are joined by OR, with no choice
// to make, and so is `other`, what comes out when none is read.
//
// Promises: a read shows each byte as written up to the cycle before; what is read, or `other`, comes out after two cycles with `advance`; without
// it nothing moves.
module tp_sending_ram #(
    parameter int DATA_WIDTH = 128,
    parameter int CHANNELS = 1,
    parameter int BYTES = 8192,             // of each channel, a power of two, at least four beats
    parameter bit ALIGNED = 0,              // each read begins with a beat: one bank, and nothing to turn
    localparam int KEEP = DATA_WIDTH / 8,
    localparam int KW = $clog2(KEEP),
    localparam int BW = $clog2(BYTES)
) (
    input logic clk,

    input logic [CHANNELS-1:0]                 wr_valid,
    input logic [CHANNELS-1:0][BW-1:KW]        wr_beat,
    input logic [CHANNELS-1:0][DATA_WIDTH-1:0] wr_data,

    input  logic                  advance,
    input  logic [CHANNELS-1:0]   rd,       // one, or none
    input  logic [BW-1:0]         rd_byte,  // where the byte is that comes out in lane 0
    input  logic [DATA_WIDTH-1:0] other,    // 0 beside a read
    output logic [DATA_WIDTH-1:0] out_data
);
  if ((BYTES & (BYTES - 1)) != 0 || BYTES < 4 * KEEP) $error("%m: BYTES %0d: make it a power of two and at least four beats", BYTES);

  if (ALIGNED) begin : g_aligned
    logic [CHANNELS-1:0][DATA_WIDTH-1:0] rows;
    for (genvar c = 0; c < CHANNELS; c++) begin : g_rows
      logic [DATA_WIDTH-1:0] row[BYTES/KEEP];
      always_ff @(posedge clk) begin
        if (wr_valid[c]) row[wr_beat[c]] <= wr_data[c];
        if (advance) rows[c] <= rd[c] ? row[rd_byte[BW-1:KW]] : '0;
      end
    end
    logic [DATA_WIDTH-1:0] beside, row_now;
    always_comb begin
      row_now = '0;
      for (int c = 0; c < CHANNELS; c++) row_now |= rows[c];
    end
    always_ff @(posedge clk)
      if (advance) begin
        beside <= other;
        out_data <= row_now | beside;
      end
  end else begin : g_unaligned
    logic [BW-1:KW+1] at_even, at_odd;
    assign at_odd = rd_byte[BW-1:KW+1];
    assign at_even = rd_byte[BW-1:KW+1] + (BW - KW - 1)'(rd_byte[KW]);  // the beat after an odd one

    logic [CHANNELS-1:0][DATA_WIDTH-1:0] evens, odds;
    for (genvar c = 0; c < CHANNELS; c++) begin : g_channel
      logic [DATA_WIDTH-1:0] even[BYTES/KEEP/2];
      logic [DATA_WIDTH-1:0] odd[BYTES/KEEP/2];
      always_ff @(posedge clk) begin
        if (wr_valid[c] && !wr_beat[c][KW]) even[wr_beat[c][BW-1:KW+1]] <= wr_data[c];
        if (advance) evens[c] <= rd[c] ? even[at_even] : '0;
      end
      always_ff @(posedge clk) begin
        if (wr_valid[c] && wr_beat[c][KW]) odd[wr_beat[c][BW-1:KW+1]] <= wr_data[c];
        if (advance) odds[c] <= rd[c] ? odd[at_odd] : '0;
      end
    end

    logic [KW-1:0] turn, turn_now;  // what brings the first byte into lane 0
    logic [KEEP-1:0] from_odd;
    logic [DATA_WIDTH-1:0] beside, even_now, odd_now, window;
    always_comb begin
      even_now = '0;
      odd_now = '0;
      for (int c = 0; c < CHANNELS; c++) begin
        even_now |= evens[c];
        odd_now |= odds[c];
      end
    end
    always_ff @(posedge clk)
      if (advance) begin
        turn <= |rd ? -rd_byte[KW-1:0] : '0;
        // Lanes from the first byte on are in the first beat, those below it in the next one.
        for (int b = 0; b < KEEP; b++) from_odd[b] <= (KW'(b) >= rd_byte[KW-1:0]) == rd_byte[KW];
        beside <= other;
        for (int b = 0; b < KEEP; b++) window[8*b+:8] <= (from_odd[b] ? odd_now[8*b+:8] : even_now[8*b+:8]) | beside[8*b+:8];
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
