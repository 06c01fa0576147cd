// SPDX-License-Identifier: Apache-2.0
// An output of the core's that counts in some clocks alone: it is held for the host.
//
// Promises: 0 after a reset, then what stood in the last clock in which `valid` was up.
// Not for: an output that always counts: that needs nothing.
module tp_wires_output #(
    parameter int BITS = 32
) (
    input  logic            clk,
    input  logic            rst_n,
    input  logic            valid,
    input  logic [BITS-1:0] live,
    output logic [BITS-1:0] held
);
  always_ff @(posedge clk) begin
    if (valid) held <= live;
    if (!rst_n) held <= '0;
  end
endmodule
