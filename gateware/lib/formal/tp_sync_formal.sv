// SPDX-License-Identifier: Apache-2.0
// tp_sync: `q` is what `d` was STAGES clocks ago, and INITIAL before that. For metastability see late/tp_sync.sv.
module tp_sync_formal #(
    parameter int WIDTH = 3,
    parameter int STAGES = 3,
    parameter logic [WIDTH-1:0] INITIAL = 3'b101,
    parameter bit INDUCTION = 1
) (
    input logic clk,
    input logic [WIDTH-1:0] d
);
  logic [WIDTH-1:0] q;
  tp_sync #(
      .WIDTH(WIDTH),
      .STAGES(STAGES),
      .INITIAL(INITIAL)
  ) dut (
      .clk,
      .d,
      .q
  );

  logic [STAGES-1:0][WIDTH-1:0] was = {STAGES{INITIAL}};
  always_ff @(posedge clk) was <= {was[STAGES-2:0], d};
  always_comb begin
    assert (q == was[STAGES-1]);
    cover (q != INITIAL);
  end
endmodule
