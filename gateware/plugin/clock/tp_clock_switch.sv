// SPDX-License-Identifier: Apache-2.0
// The user core's clock out of CLOCKS inputs, for the plug-in `clock`: the switch itself (tp_clock_control), a meter for each input, and the
// way between them, on the card's clock, and the plug-in's registers, on the user's.
//
// The plug-in raises `switch_ask` beside `switch_input`; it is taken when `switch_ready` is 1, which is 0 until the switch has done with it.
// `switch_told` is on the user's clock: what the card's side last sent. Of the time in which the user's clock stands still it tells nothing.
// `rst` resets the way between the two sides, not the switch: the plug-in asks for input 0 after a reset, as for any other.
module tp_clock_switch
  import towpath_pkg::*;
#(
    parameter int CLOCKS = 3,
    parameter int KHZ = 250_000,                         // of `clk`
    parameter int EDGE_KHZ = 16,                         // what an edge in a window is: a window is 1/EDGE_KHZ of a millisecond
    localparam int TW = 1 + 1 + 2 + CLOCKS + CLOCKS * 16
) (
    input  logic              clk,
    input  logic              rst,
    input  logic [CLOCKS-1:0] clocks,
    output logic              user_clk,
    input  logic              switch_ask,
    output logic              switch_ready,
    input  logic [       1:0] switch_input,
    output logic [    TW-1:0] switch_told    // astray, measured, current, runs, and edges of each input in a window, the first input lowest
);
  localparam int WINDOW = KHZ / EDGE_KHZ;
  localparam int WW = $clog2(WINDOW);
  if (CLOCKS < 2 || CLOCKS > TP_PLUGIN_CLOCK_KHZ_COUNT) $error("%m: CLOCKS %0d: make it 2 to %0d", CLOCKS, TP_PLUGIN_CLOCK_KHZ_COUNT);

  logic near_rst, far_rst, unused_busy;
  tp_reset_sync #(
      .CLOCKS(4)
  ) reset_sync (
      .clk,
      .request(rst),
      .busy(unused_busy),
      .src_rst(near_rst),
      .dst_clk(user_clk),
      .dst_rst(far_rst)
  );

  // ---- the inputs
  logic [WW-1:0] left;
  logic measured, window_end;
  logic [CLOCKS-1:0] ran, runs, masked, masked_last, fresh;
  logic [CLOCKS-1:0][15:0] edges;
  assign window_end = left == '0;
  // What ran before an input was masked counts no more.
  assign fresh = masked & ~masked_last;
  assign runs = ran & ~fresh;
  initial begin
    left = WW'(WINDOW - 1);
    measured = 1'b0;
    masked_last = '0;
  end
  always_ff @(posedge clk) begin
    left <= window_end ? WW'(WINDOW - 1) : left - 1'b1;
    if (window_end) measured <= 1'b1;
    masked_last <= masked;
  end
  for (genvar k = 0; k < CLOCKS; k++) begin : gen_meters
    tp_clock_meter meter (
        .clk,
        .window_end,
        .restart(fresh[k]),
        .clock(clocks[k]),
        .edges(edges[k]),
        .runs(ran[k])
    );
  end

  // ---- asks
  logic free, ask_valid, ask_ready, ask_number, settled, astray;
  logic [1:0] ask_input, current;
  logic taken, served;  // the number of the last ask, when it is taken and when the switch has done with it
  logic sent, served_told;
  tp_handshake #(
      .WIDTH(3)
  ) asks (
      .src_clk(user_clk),
      .src_rst(far_rst),
      .src_valid(switch_ask && switch_ready),
      .src_ready(free),
      .src_data({!sent, switch_input}),
      .dst_clk(clk),
      .dst_rst(near_rst),
      .dst_valid(ask_valid),
      .dst_ready(ask_ready),
      .dst_data({ask_number, ask_input})
  );
  tp_clock_control #(.CLOCKS(CLOCKS)) control (.*);
  always_ff @(posedge clk) begin
    if (ask_valid && ask_ready) taken <= ask_number;
    else if (settled) served <= taken;
    if (near_rst) {taken, served} <= '0;
  end
  assign switch_ready = free && sent == served_told && !far_rst;
  always_ff @(posedge user_clk) begin
    if (far_rst) sent <= 1'b0;
    else if (switch_ask && switch_ready) sent <= !sent;
  end

  // ---- what is told
  logic told_valid, told_free;
  logic [TW:0] told;
  tp_handshake #(
      .WIDTH(TW + 1)
  ) tells (
      .src_clk(clk),
      .src_rst(near_rst),
      .src_valid(told_free),
      .src_ready(told_free),
      .src_data({served, astray, measured, current, runs, edges}),
      .dst_clk(user_clk),
      .dst_rst(far_rst),
      .dst_valid(told_valid),
      .dst_ready(1'b1),
      .dst_data(told)
  );
  always_ff @(posedge user_clk) begin
    if (told_valid) {served_told, switch_told} <= told;
    if (far_rst) {served_told, switch_told} <= '0;
  end
endmodule
