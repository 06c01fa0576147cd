// SPDX-License-Identifier: Apache-2.0
// For proofs over several clocks: a register takes its input in each step of the solver in which its clock is 1. So a clock is an input
// that says "now": one step for an edge, any order and any ratio of edges, none at all, and several at once.
(* techmap_celltype = "$dff" *)
module tp_tick_dff #(
    parameter WIDTH = 1,
    parameter CLK_POLARITY = 1
) (
    input CLK,
    input [WIDTH-1:0] D,
    output [WIDTH-1:0] Q
);
  \$ff #(.WIDTH(WIDTH)) _TECHMAP_REPLACE_ (.D(CLK ? D : Q), .Q(Q));
endmodule
