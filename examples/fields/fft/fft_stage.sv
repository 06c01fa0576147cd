// SPDX-License-Identifier: Apache-2.0
//
// A stage of the transform in fft.sv: butterflies between samples that are DELAY apart. The first half of 2 * DELAY samples waits in a delay
// line; with the second half come the sums, which go out at once, and the differences, which take the samples' place in the line and go out
// behind them, turned by the twiddle factors. Both are halved, so that nothing grows.
//
// In each step one sample comes in and one goes out, DELAY + 2 steps after the sample of its number. `position` is the number of the one that
// comes, modulo 2 * DELAY.
module fft_stage #(
    parameter int DELAY = 1,   // a power of two
    parameter int POINTS = 2,  // of the whole transform
    parameter int WIDTH = 16,  // of a real or imaginary part
    localparam int AT = DELAY == 1 ? 1 : $clog2(DELAY)
) (
    input logic clk,
    input logic step,
    input logic second,  // of the two halves
    input logic [AT-1:0] at,  // position in the half
    input logic signed [WIDTH-1:0] in_re,
    input logic signed [WIDTH-1:0] in_im,
    output logic signed [WIDTH-1:0] out_re,
    output logic signed [WIDTH-1:0] out_im
);
  localparam int TW = 18;  // of a factor's parts: 16 bits behind the point, and 1.0 has a place
  localparam int STRIDE = POINTS / (2 * DELAY);
  localparam int ANGLE = $clog2(POINTS / 2);

  // Half of a sum, rounded.
  function automatic logic signed [WIDTH-1:0] half(input logic signed [WIDTH:0] sum);
    return WIDTH'((sum + (WIDTH + 1)'(1)) >>> 1);
  endfunction

  // ---- the delay line, and the butterfly
  logic [2*WIDTH-1:0] line[DELAY];
  logic [2*WIDTH-1:0] old, kept;
  wire signed [WIDTH-1:0] old_re = old[WIDTH-1:0], old_im = old[2*WIDTH-1:WIDTH];
  wire [AT-1:0] next = DELAY == 1 ? '0 : at + 1'b1;

  always_comb begin
    kept = {in_im, in_re};
    if (second) kept = {half((WIDTH + 1)'(old_im) - (WIDTH + 1)'(in_im)), half((WIDTH + 1)'(old_re) - (WIDTH + 1)'(in_re))};
  end
  always_ff @(posedge clk) begin
    if (step) begin
      line[DELAY == 1 ? '0 : at] <= kept;
      old <= DELAY == 1 ? kept : line[next];
    end
  end

  logic signed [WIDTH-1:0] sum_re, sum_im;
  logic turn;  // this one is a difference
  always_ff @(posedge clk) begin
    if (step) begin
      turn   <= !second;
      sum_re <= second ? half((WIDTH + 1)'(old_re) + (WIDTH + 1)'(in_re)) : old_re;
      sum_im <= second ? half((WIDTH + 1)'(old_im) + (WIDTH + 1)'(in_im)) : old_im;
    end
  end

  // ---- the twiddle factor: exp(-2 pi i k / POINTS), real part in the low half of a word
  logic [2*TW-1:0] rom[POINTS / 2];
  initial $readmemh("twiddle.hex", rom);
  logic [2*TW-1:0] factor;
  always_ff @(posedge clk) if (step) factor <= rom[DELAY==1?'0 : ANGLE'(at)*ANGLE'(STRIDE)];

  localparam int PW = WIDTH + TW + 1;
  wire signed [PW-1:0] re = PW'(sum_re), im = PW'(sum_im), c = PW'($signed(factor[TW-1:0])), s = PW'($signed(factor[2*TW-1:TW]));
  wire signed [PW-1:0] turned_re = (re * c - im * s + PW'(1 << 15)) >>> 16;
  wire signed [PW-1:0] turned_im = (re * s + im * c + PW'(1 << 15)) >>> 16;
  wire unused = ^{turned_re[PW-1:WIDTH], turned_im[PW-1:WIDTH]};
  always_ff @(posedge clk) begin
    if (step) begin
      out_re <= turn ? turned_re[WIDTH-1:0] : sum_re;
      out_im <= turn ? turned_im[WIDTH-1:0] : sum_im;
    end
  end
endmodule
