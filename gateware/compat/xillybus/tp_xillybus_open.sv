// SPDX-License-Identifier: Apache-2.0
// What a core with Xillybus's ports gets as `open` of a channel.
//
// Promises: `open` is 0 in a reset, of the card or of the channel, and for 16 clocks after it, so that a FIFO whose reset is made of it has time to become ready; else it is 1.
// Nothing moves at the core while it is 0. Not for: telling whether a program has the channel: the card does not know.
module tp_xillybus_open (
    input  logic clk,
    input  logic rst_n,
    input  logic reset,
    output logic open
);
  logic [4:0] clocks;
  assign open = clocks[4] && !reset;
  always_ff @(posedge clk) begin
    if (!clocks[4]) clocks <= clocks + 1'b1;
    if (!rst_n || reset) clocks <= '0;
  end
endmodule
