// SPDX-License-Identifier: Apache-2.0
// tp_fill, of any one of its channels: a store is due once at most, never before its level has been reached since it came, and not again after a
// store that replaces it or takes it back, or a reset. A level that stands for CHANNELS + 1 clocks is due behind them, whatever else is
// stored meanwhile. What is held is told as it was when it was asked for.
// Assumed: no channel holds 2^WIDTH - 1 bytes; a fire is taken only where one is due.
module tp_fill_formal
  import towpath_pkg::*;
#(
    parameter int CHANNELS = 3,
    parameter int WIDTH = 4,
    localparam int CW = $clog2(CHANNELS)
) (
    input logic clk,
    input logic rst,
    input logic fill_valid,
    input logic [CW-1:0] fill_channel,
    input logic [31:0] fill_level,
    input logic [CHANNELS-1:0] resetting,
    input logic [CHANNELS-1:0][30:0] holds,
    input logic [CHANNELS-1:0] stuck,
    input logic [CHANNELS-1:0] taken,
    input logic read,
    input logic [CW-1:0] read_channel,
    input logic [CW-1:0] who                 // the channel that is watched
);
  logic [CHANNELS-1:0] due;
  logic [CW-1:0] scan;
  logic [31:0] held;
  tp_fill #(
      .CHANNELS(CHANNELS),
      .WIDTH(WIDTH)
  ) dut (
      .*
  );

  logic started = 1'b0;
  logic [CW-1:0] who1;
  logic was_read;
  logic [31:0] was_held;
  always_ff @(posedge clk) begin
    started <= 1'b1;
    who1 <= who;
    scan <= scan == CW'(CHANNELS - 1) ? '0 : scan + 1'b1;  // as tp_ring's
    was_read <= read && !rst;
    was_held <= {stuck[read_channel], holds[read_channel]};
    if (rst) scan <= '0;
  end
  always_comb begin
    if (!started) assume (rst);
    if (started) assume (who == who1);
    assume (32'(who) < CHANNELS && 32'(fill_channel) < CHANNELS && 32'(read_channel) < CHANNELS);
    for (int c = 0; c < CHANNELS; c++) assume (holds[c] < 31'(2 ** WIDTH - 1));
    assume ((taken & ~due) == '0);
  end

  // ------------------------------------------------------------------------------------------------ the watched channel
  logic open;                               // its last store asks for something and has not fired
  logic met;                                // ... and has been reached since
  logic above;
  logic [30:0] bytes;
  logic [7:0] stands;                       // clocks for which it has been reached, up to now
  logic stores, reached;
  assign stores = fill_valid && fill_channel == who;
  assign reached = above ? stuck[who] || holds[who] >= bytes : holds[who] <= bytes;
  always_ff @(posedge clk) begin
    if (reached) met <= 1'b1;
    stands <= !reached ? '0 : stands == '1 ? stands : stands + 1'b1;
    if (taken[who]) open <= 1'b0;
    if (stores) begin
      {above, bytes} <= fill_level;
      open <= fill_level != 32'h8000_0000;
      met <= 1'b0;
      stands <= '0;
    end
    if (rst || resetting[who]) open <= 1'b0;
  end

  logic [WIDTH-1:0] kept;  // the level as the RAM has it
  assign kept = |(bytes >> WIDTH) ? '1 : bytes[WIDTH-1:0];
  logic looked;
  int since;                                // clocks since its last turn
  assign since = 32'(scan) - 32'(who) + (scan > who ? 0 : CHANNELS);
  assign looked = dut.look && dut.at == who;
  always_comb
    if (started && !rst) begin
      assert (!due[who] || (open && met));
      assert (!(open && 32'(stands) >= CHANNELS + 1) || due[who]);
      assert (!was_read || held == was_held);
      cover (due[who] && above && bytes == 31'd5);
      cover (due[who] && !above && bytes == '0);
      cover (due[who] && above && bytes == '1);
      cover (open && stands == '0 && bytes == 31'd2 && above && dut.look && due != '0);
      // Induction.
      assert (32'(scan) < CHANNELS && (!dut.look || 32'(dut.at) < CHANNELS));
      assert (open == (dut.asked[who] || due[who]) && !(dut.asked[who] && due[who]));
      if (open) assert (dut.levels[who] == {above, kept});
      if (looked) assert (dut.asked[who] && dut.level == {above, kept} && (!dut.reached || met));
      if (looked && stands != '0) assert (dut.reached);
      // The turn that finds it has not come, or has just come.
      if (looked) assert (since == 1);
      if (open && !due[who] && stands != '0) assert (32'(stands) <= CHANNELS && (looked || 32'(stands) < since));
    end
endmodule
