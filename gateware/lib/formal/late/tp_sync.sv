// SPDX-License-Identifier: Apache-2.0
// tp_sync for proofs over two clocks, where each step of the solver ticks any of them: of the change that came with the step before, the
// first register sees each bit or not, as the solver likes. That is what a register that is metastable comes to, and more than any
// clock does to a word of Gray code; a word of which several bits change at once arrives torn.
module tp_sync #(
    parameter int WIDTH = 1,
    parameter int STAGES = 2,
    parameter logic [WIDTH-1:0] INITIAL = '0
) (
    input  logic             clk,
    input  logic [WIDTH-1:0] d,
    output logic [WIDTH-1:0] q
);
  logic [WIDTH-1:0] older, meta;
  logic [STAGES-2:0][WIDTH-1:0] stable;
  logic step;
  assign step = 1'b1;  // a clock that ticks with each step: see ticks.v
  logic [WIDTH-1:0] late;  // driven by nothing: the solver chooses it anew in each step

  initial begin
    older = INITIAL;
    meta = INITIAL;
    stable = {(STAGES - 1) {INITIAL}};
  end

  assign q = stable[STAGES-2];
  always_ff @(posedge step) older <= d;
  always_ff @(posedge clk) begin
    meta <= (d & ~late) | (older & late);
    stable[0] <= meta;
    for (int i = 1; i < STAGES - 1; i++) stable[i] <= stable[i-1];
  end
endmodule
