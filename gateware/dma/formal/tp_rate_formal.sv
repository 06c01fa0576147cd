// SPDX-License-Identifier: Apache-2.0
// tp_rate: from any clock on, what is moved in n clocks is no more than n times the rate, AHEAD, what the bucket may hold above it (one clock's rate), and
// one more move that began while `over` did not tell; with rate 0 nothing is over; and one that is over and moves nothing is not over for ever.
// Assumed: the rate stands and fills no more than AHEAD in a clock; a move comes only two clocks after a look that found nothing over, as a channel's do.
module tp_rate_formal #(
    parameter bit INDUCTION = 1,
    localparam int AHEAD = 8,
    localparam int CHARGE = 3,
    localparam int FRACTION = 2
) (
    input logic clk,
    input logic rst,
    input logic [31:0] rate,
    input logic spend,
    input logic [CHARGE-1:0] bytes,
    input logic start
);
  logic over;
  tp_rate #(
      .AHEAD(AHEAD),
      .CHARGE(CHARGE),
      .FRACTION(FRACTION)
  ) dut (
      .*
  );

  logic started = 1'b0;
  logic counting;
  logic over_was, spent;
  logic [31:0] rate_was;
  logic signed [15:0] beyond, level;  // bytes moved beyond the rate since counting began, in fractions
  logic [7:0] idle;  // clocks without a move
  assign level = 16'(dut.level);
  always_ff @(posedge clk) begin
    started <= 1'b1;
    over_was <= over;
    rate_was <= rate;
    spent <= spend;
    if (start) counting <= 1'b1;
    if (start && !counting) beyond <= '0;
    else beyond <= beyond - 16'(rate) + (spend ? 16'({bytes, FRACTION'(0)}) : 16'd0);
    idle <= spend || rst ? '0 : idle + 1'b1;
    if (rst) begin
      counting <= 1'b0;
      over_was <= 1'b0;
      spent <= 1'b0;
      beyond <= '0;
    end
  end
  always_comb begin
    if (!started) assume (rst);
    if (started) assume (rate == rate_was);
    assume (rate <= AHEAD << FRACTION);
    if (spend) assume (!over && !over_was && !spent && !rst);
  end

  localparam int MOST = 2 ** CHARGE << FRACTION;  // one move
  always_comb
    if (started && !rst) begin
      if (counting) assert (rate == '0 || beyond <= $signed(16'(AHEAD << FRACTION) + 16'(rate) + 16'(MOST)));
      assert (rate != '0 || !over);
      assert (level > -16'(MOST) && level < $signed(16'(AHEAD << FRACTION) + 16'(rate) + 16'd1));
      assert (!over || rate == '0 || 32'(idle) <= 32'(MOST) + 32'd2);
      cover (counting && over && beyond > $signed(16'(AHEAD << FRACTION)));
      cover (level >= $signed(16'(AHEAD << FRACTION)) && rate != '0);
    end
endmodule
