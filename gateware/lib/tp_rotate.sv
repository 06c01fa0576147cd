// SPDX-License-Identifier: Apache-2.0
// Rotates a row of lanes: what stands in lane i comes out in lane i + `by`, over the top into the bottom.
//
// In stages of four choices, the widest steps first: each is one LUT of six inputs for a bit, where one wide shift takes many more. So that the
// mapper leaves it at that (it would share halves of choices between neighbours, in more LUTs that it counts as smaller), every other pair of
// lanes follows flip-flops of its own, which hold the complement. `by` is therefore given a cycle before the row, with its address.
module tp_rotate #(
    parameter int LANES = 16,              // a power of two, 2 or more
    parameter int WIDTH = 8,               // of a lane
    localparam int LW = $clog2(LANES)
) (
    input  logic                        clk,
    input  logic [LW-1:0]               by,   // for the next cycle's row
    input  logic [LANES-1:0][WIDTH-1:0] in,
    output logic [LANES-1:0][WIDTH-1:0] out
);
  localparam int STAGES = (LW + 1) / 2;
  logic [2*STAGES-1:0] far, not_far;
  logic [STAGES:0][LANES-1:0][WIDTH-1:0] turned;
  always_ff @(posedge clk) begin
    far <= (2 * STAGES)'(by);
    not_far <= ~(2 * STAGES)'(by);
  end
  assign turned[STAGES] = in;
  for (genvar s = 0; s < STAGES; s++) begin : g_stage
    localparam int STEP = 4 ** s;
    for (genvar l = 0; l < LANES; l++) begin : g_lane
      logic [1:0] steps;
      assign steps = (l / STEP) % 4 < 2 ? far[2*s+:2] : ~not_far[2*s+:2];
      always_comb
        case (steps)
          2'd0: turned[s][l] = turned[s+1][l];
          2'd1: turned[s][l] = turned[s+1][(l-STEP)&(LANES-1)];
          2'd2: turned[s][l] = turned[s+1][(l-2*STEP)&(LANES-1)];
          default: turned[s][l] = turned[s+1][(l-3*STEP)&(LANES-1)];
        endcase
    end
  end
  assign out = turned[0];
endmodule
