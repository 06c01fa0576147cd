// SPDX-License-Identifier: Apache-2.0
// Lets packets of memory writes out of the card only while bus mastering is on and nothing holds them back.
//
// Promises: packets stay whole; a packet once shown stays until it is taken. No packet starts while bus mastering is off; then, with
// `discard`, packets are swallowed, so that a reset can end. No packet starts while `hold`. Header and data pass beside it.
module tp_posted_gate (
    input  logic clk,
    input  logic rst,
    input  logic bus_master,
    input  logic discard,
    input  logic hold,
    input  logic in_valid,
    output logic in_ready,
    input  logic in_last,
    output logic out_valid,
    input  logic out_ready
);
  logic open, drops, open_drops;  // a packet has been shown or swallowed in part
  logic passes;

  assign drops = open ? open_drops : discard && !bus_master;
  assign passes = open || (bus_master && !hold);
  assign out_valid = in_valid && !drops && passes;
  assign in_ready = drops || (out_ready && passes);

  always_ff @(posedge clk) begin
    if (!open) open_drops <= drops;
    if (out_valid || (in_valid && drops)) open <= !(in_ready && in_last);
    if (rst) open <= 1'b0;
  end
endmodule
