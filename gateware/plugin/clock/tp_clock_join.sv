// SPDX-License-Identifier: Apache-2.0
// The user's clock out of inputs of which one is open at most: whole pulses, as long as `on` of an input changes while it is low, and `masked`
// while it stands still or is closed. On a board the vendor's clock multiplexers stand in this module's place (boards/common/tp_clock_join.sv).
module tp_clock_join #(
    parameter int CLOCKS = 3
) (
    input  logic [CLOCKS-1:0] clocks,
    input  logic [CLOCKS-1:0] on,
    input  logic [CLOCKS-1:0] masked,
    output logic              user_clk
);
  assign user_clk = |(clocks & on & ~masked);
endmodule
