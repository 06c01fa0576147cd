// SPDX-License-Identifier: Apache-2.0
// Merges packets of memory writes into the one posted stream; source 0 goes first, then 1, ...
//
// Promises: packets stay whole; a packet once shown stays until it is taken. No packet starts while bus mastering is off; then, with
// `discard`, packets are swallowed, so that a reset can end.
module tp_posted_merge
  import tp_tlp_pkg::*;
#(
    parameter int SOURCES = 3,
    parameter int DATA_WIDTH = 128
) (
    input logic clk,
    input logic rst,
    input logic bus_master,
    input logic discard,

    input  logic          [SOURCES-1:0]                 in_valid,
    output logic          [SOURCES-1:0]                 in_ready,
    input  tp_write_hdr_t [SOURCES-1:0]                 in_hdr,
    input  logic          [SOURCES-1:0][DATA_WIDTH-1:0] in_data,
    input  logic          [SOURCES-1:0]                 in_last,

    output logic                  out_valid,
    input  logic                  out_ready,
    output tp_write_hdr_t         out_hdr,
    output logic [DATA_WIDTH-1:0] out_data,
    output logic                  out_last
);
  logic [SOURCES-1:0] pick, held;
  logic holds, drops, held_drops, moves;

  assign drops = holds ? held_drops : discard && !bus_master;
  assign pick = holds ? held : bus_master || drops ? in_valid & (~in_valid + 1'b1) : '0;
  assign out_valid = |(pick & in_valid) && !drops;
  assign moves = |(pick & in_valid) && (out_ready || drops);
  assign in_ready = moves ? pick : '0;
  always_comb begin
    out_hdr = '0;
    out_data = '0;
    out_last = 1'b0;
    for (int s = 0; s < SOURCES; s++)
    if (pick[s]) begin
      out_hdr |= in_hdr[s];
      out_data |= in_data[s];
      out_last |= in_last[s];
    end
  end

  always_ff @(posedge clk) begin
    if (!holds) begin
      held <= pick;
      held_drops <= drops;
    end
    if (|(pick & in_valid)) holds <= !(moves && out_last);
    if (rst) holds <= 1'b0;
  end
endmodule
