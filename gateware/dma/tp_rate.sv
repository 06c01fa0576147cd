// SPDX-License-Identifier: Apache-2.0
// A channel's rate: says when it is `over` the bytes that it may move in 2^20 clocks.
//
// What it may move fills up clock by clock, to AHEAD bytes, and what it moves is taken off, also below nothing: so on average it is exact. With
// rate 0 it is never over, and the next rate begins with nothing; a change from one rate to another keeps what there is. `spend` counts two cycles later.
//
// Promises: from any clock to any later one, with a rate that stays, it moves no more than the rate's part, AHEAD, and what is spent while `over`
// does not tell yet.
module tp_rate #(
    parameter int AHEAD = 8192,             // a power of two
    parameter int CHARGE = 13,
    parameter int FRACTION = 20
) (
    input  logic              clk,
    input  logic              rst,
    input  logic [      31:0] rate,
    input  logic              spend,
    input  logic [CHARGE-1:0] bytes,
    output logic              over
);
  localparam int TOP = $clog2(AHEAD) + FRACTION;  // bit of AHEAD; one more, and the sign
  logic signed [TOP+1:0] level, next;
  logic full, empty;  // at AHEAD or above; below -AHEAD: nothing more is taken off
  assign full = !level[TOP+1] && level[TOP];
  assign empty = level[TOP+1] && !level[TOP];
  assign next = level + (full ? '0 : (TOP + 2)'(rate)) - (spend && !empty ? (TOP + 2)'({bytes, FRACTION'(0)}) : '0);
  always_ff @(posedge clk) begin
    level <= next;
    over <= next <= 0;
    if (rst || rate == '0) begin
      level <= '0;
      over <= 1'b0;
    end
  end
endmodule
