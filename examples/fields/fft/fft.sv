// SPDX-License-Identifier: Apache-2.0
//
// A Fourier transform, pipelined (radix 2, decimation in frequency, a single path with delay feedback: a stage for each bit of a sample's
// number). A message on channel "time" holds any number of blocks of 2^LOG samples; for each block as many come out on "frequency":
//     X[k] = 1 / 2^LOG  sum over n of  x[n] exp(-2 pi i k n / 2^LOG)
// A sample is a complex number of two 16-bit integers, the real part first. What lacks in the last block counts as 0.
//
// Order: X[k] is in the place whose number has the bits of k in reverse.
//
// Precision: parts have 4 more bits inside, and each stage halves and rounds. With LOG = 10, |X - exact| is below 6 (in units of the last
// bit): a stage adds at most sqrt(2) / 2 for its half and as much for its product, of a 16th of a unit, and the factors' error of at most
// sqrt(2) 2^-17 of a value that is at most sqrt(2) 2^15, but not in the last two stages, whose factors are exact: 0.9 + 8 * 0.5 + 0.7 for the
// last rounding. Parts beyond 16 bits, which only blocks with samples near (1 + i) 2^15 can have, are cut to the nearest integer there is.
//
// Rate: a sample a clock; after a message it takes 2^LOG + 2 LOG - 1 clocks until the last block has left and the next message may begin.
module fft #(
    parameter int LOG = 10  // twiddle.hex is for 10
) (
    input logic clk,
    input logic rst_n,

    input  logic [31:0] time_tdata,
    input  logic [ 3:0] time_tkeep,
    input  logic        time_tlast,
    input  logic        time_tvalid,
    output logic        time_tready,
    input  logic        time_reset,

    output logic [31:0] frequency_tdata,
    output logic [ 3:0] frequency_tkeep,
    output logic        frequency_tlast,
    output logic        frequency_tvalid,
    input  logic        frequency_tready,
    input  logic        frequency_reset
);
  localparam int POINTS = 1 << LOG;
  localparam int MORE = 4;  // bits behind the point
  localparam int WIDTH = 16 + 1 + MORE;  // a rotation makes a part up to sqrt(2) longer
  localparam int LATENCY = POINTS - 1 + 2 * LOG;  // steps from a block's first sample to its first result

  wire unused = ^time_tkeep[3:1];  // messages are whole samples

  // ---- a message's way: its samples, then zeros until its last block is whole and has left
  logic [LOG-1:0] position;  // of the sample that comes, in its block
  logic [LOG:0] silent;  // steps until the first result leaves
  logic [LOG+1:0] left;  // steps of zeros to do
  logic any, empty;  // a sample has come; a message without one is to be answered
  wire room = !frequency_tvalid || frequency_tready;
  wire flushing = left != 0;
  assign time_tready = room && !flushing && !empty;
  wire fire = time_tvalid && time_tready;
  wire sample = fire && time_tkeep[0];  // an end that comes late has none
  wire step = sample || (flushing && room);
  wire [LOG-1:0] after = position + LOG'(sample);
  wire [LOG-1:0] lacking = -after;
  wire done = flushing && room && left == 1;
  wire forget = !rst_n || time_reset || frequency_reset || done;

  always_ff @(posedge clk) begin
    if (step) begin
      position <= position + 1'b1;
      any <= 1'b1;
      if (silent != 0) silent <= silent - 1'b1;
    end
    if (fire && time_tlast) begin
      if (any || sample) left <= (LOG + 2)'(LATENCY) + (LOG + 2)'(lacking);
      else empty <= 1'b1;
    end else if (flushing && room) left <= left - 1'b1;
    if (empty && room) empty <= 1'b0;
    if (forget) begin
      position <= '0;
      silent <= (LOG + 1)'(LATENCY);
      left <= '0;
      any <= 1'b0;
    end
    if (!rst_n || time_reset || frequency_reset) empty <= 1'b0;
  end

  // ---- the stages
  logic signed [LOG:0][WIDTH-1:0] re, im;
  assign re[0] = flushing ? '0 : {time_tdata[15], time_tdata[15:0], MORE'(0)};
  assign im[0] = flushing ? '0 : {time_tdata[31], time_tdata[31:16], MORE'(0)};
  for (genvar s = 0; s < LOG; s++) begin : g_stage
    localparam int DELAY = POINTS >> (s + 1);
    localparam int LATER = 2 * s + POINTS - 2 * DELAY;  // steps from the core's input to the stage's
    localparam int AT = DELAY == 1 ? 1 : $clog2(DELAY);
    wire [LOG-1:0] here = position - LOG'(LATER);
    wire [LOG-1:0] high = here >> (LOG - 1 - s);
    fft_stage #(
        .DELAY (DELAY),
        .POINTS(POINTS),
        .WIDTH (WIDTH)
    ) stage (
        .clk,
        .step,
        .second(high[0]),
        .at(here[AT-1:0]),
        .in_re(re[s]),
        .in_im(im[s]),
        .out_re(re[s+1]),
        .out_im(im[s+1])
    );
    wire unused_high = ^high;
  end

  // ---- results: rounded to 16 bits
  function automatic logic [15:0] rounded(input logic signed [WIDTH-1:0] part);
    logic signed [WIDTH-1:0] whole;
    whole = (part + WIDTH'(1 << (MORE - 1))) >>> MORE;
    if (whole > WIDTH'(32767)) return 16'h7fff;
    if (whole < -WIDTH'(32768)) return 16'h8000;
    return whole[15:0];
  endfunction

  always_ff @(posedge clk) begin
    if (room) begin
      frequency_tvalid <= (step && silent == 0) || empty;
      frequency_tdata  <= {rounded(im[LOG]), rounded(re[LOG])};
      frequency_tkeep  <= empty ? '0 : '1;
      frequency_tlast  <= done || empty;
    end
    if (!rst_n || time_reset || frequency_reset) frequency_tvalid <= 1'b0;
  end
endmodule
