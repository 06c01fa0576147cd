// SPDX-License-Identifier: Apache-2.0
// Watches the handshakes of a user core's interrupts: `irq_valid` stands until `irq_ready`. Each interrupt is told once.
module tp_check_irq #(
    parameter int COUNT = 1,
    parameter bit STOPS = 1'b1,
    parameter string VALID = "irq_valid"
) (
    input logic             clk,
    input logic             rst_n,
    input logic [COUNT-1:0] irq_valid,
    input logic [COUNT-1:0] irq_ready
);
  logic [COUNT-1:0] waited, told, gone;
  logic [31:0] taken;
  assign gone = waited & ~irq_valid & ~told;
  always_ff @(posedge clk) begin
    if (gone != '0 && rst_n) begin
      for (int i = 0; i < COUNT; i++)
      if (gone[i])
        tp_check_pkg::breach(STOPS, COUNT == 1 ? VALID : $sformatf("%s[%0d]", VALID, i), $sformatf("interrupt %0d", taken + 1),
                             "it was withdrawn before irq_ready: an interrupt must stand until it is taken");
      told <= told | gone;
    end
    waited <= irq_valid & ~irq_ready & {COUNT{rst_n}};
    if ((irq_valid & irq_ready) != '0) taken <= taken + 32'($countones(irq_valid & irq_ready));
    if (!rst_n) taken <= '0;
  end
endmodule
