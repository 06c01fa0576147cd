// SPDX-License-Identifier: Apache-2.0
// Lets packets of memory writes out of the card only while bus mastering is on.
//
// Promises: packets stay whole; a packet once shown stays until it is taken. No packet starts while bus mastering is off; then, with
// `discard`, packets are swallowed, so that a reset can end. Header and data pass beside it.
module tp_posted_gate (
    input  logic clk,
    input  logic rst,
    input  logic bus_master,
    input  logic discard,
    input  logic in_valid,
    output logic in_ready,
    input  logic in_last,
    output logic out_valid,
    input  logic out_ready
);
  logic open, drops, open_drops;  // a packet has been shown or swallowed in part

  assign drops = open ? open_drops : discard && !bus_master;
  assign out_valid = in_valid && !drops && (open || bus_master);
  assign in_ready = drops || (out_ready && (open || bus_master));

  always_ff @(posedge clk) begin
    if (!open) open_drops <= drops;
    if (out_valid || (in_valid && drops)) open <= !(in_ready && in_last);
    if (rst) open <= 1'b0;
  end
endmodule
