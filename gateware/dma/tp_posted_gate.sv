// SPDX-License-Identifier: Apache-2.0
// Lets packets of memory writes out of the card only while bus mastering is on and nothing holds them back.
//
// Promises: packets stay whole; a packet once shown stays until it is taken. No packet starts while bus mastering is off or while `hold`.
// What stands before the gate may be withdrawn until it is shown; a packet that is `open` may not. Header and data pass beside it.
module tp_posted_gate (
    input  logic clk,
    input  logic rst,
    input  logic bus_master,
    input  logic hold,
    input  logic in_valid,
    output logic in_ready,
    input  logic in_last,
    output logic out_valid,
    input  logic out_ready,
    output logic open        // the packet that stands before it has been shown, perhaps in part
);
  logic passes;

  assign passes = open || (bus_master && !hold);
  assign out_valid = in_valid && passes;
  assign in_ready = out_ready && passes;

  always_ff @(posedge clk) begin
    if (out_valid) open <= !(in_ready && in_last);
    if (rst) open <= 1'b0;
  end
endmodule
