// SPDX-License-Identifier: Apache-2.0
// EPEE's request for an interrupt as user interrupts, of which `vector` names one.
//
// Promises: each request is one interrupt, of the vector that stood beside it in its first clock. When that is counted, `clr` comes up, and stays up until `req` is down, for one clock
// at least: a core may hold `req` until `clr`, or raise it for one clock. While an interrupt is on its way `req` is not looked at.
module tp_epee_interrupt #(
    parameter int VECTORS = 8
) (
    input  logic               clk,
    input  logic               rst_n,
    input  logic               req,
    input  logic [        2:0] vector,
    output logic               clr,
    output logic [VECTORS-1:0] irq_valid,
    input  logic [VECTORS-1:0] irq_ready
);
  logic [VECTORS-1:0] named;
  for (genvar v = 0; v < VECTORS; v++) begin : g_vector
    assign named[v] = VECTORS == 1 || vector == 3'(v);
  end
  always_ff @(posedge clk) begin
    irq_valid <= irq_valid & ~irq_ready;
    if ((irq_valid & irq_ready) != '0) clr <= 1'b1;
    else if (!req) clr <= 1'b0;
    if (req && irq_valid == '0 && !clr) irq_valid <= named;
    if (!rst_n) begin
      irq_valid <= '0;
      clr <= 1'b0;
    end
  end
endmodule
