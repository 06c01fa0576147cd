// SPDX-License-Identifier: Apache-2.0
// Holds an answer of the core's back until all of it is there: its beats come as the registers that are read give them, and meanwhile a
// block must not wait, nor hold up other packets.
//
// All beats but the last one are stored; the last one and the header wait at the core. So an answer of one beat passes at once.
//
// Promises: a packet leaves whole, in order, unchanged and without a gap.
module tp_whole_packet #(
    parameter int DATA_WIDTH = 128,
    parameter int BYTES = 128,              // of the longest packet
    localparam int DEPTH = BYTES * 8 / DATA_WIDTH,
    localparam int AW = DEPTH > 1 ? $clog2(DEPTH) : 1
) (
    input logic clk,
    input logic rst,

    input  logic                  in_valid,
    output logic                  in_ready,
    input  logic [DATA_WIDTH-1:0] in_data,
    input  logic                  in_last,
    output logic                  out_valid,
    input  logic                  out_ready,
    output logic [DATA_WIDTH-1:0] out_data,
    output logic                  out_last
);
  logic [AW-1:0] count, at;  // beats stored, and sent of them
  logic [DATA_WIDTH-1:0] beats[DEPTH];
  assign out_valid = in_valid && in_last;
  assign out_last = at == count;
  assign out_data = out_last ? in_data : beats[at];
  assign in_ready = !in_last || (out_ready && out_last);
  always_ff @(posedge clk) begin
    if (in_valid && !in_last) begin
      beats[count] <= in_data;
      count <= count + 1'b1;
    end
    if (out_valid && out_ready) at <= at + 1'b1;
    if (rst || (out_valid && out_ready && out_last)) begin
      count <= '0;
      at <= '0;
    end
    if (!rst)
      assert (!(in_valid && !in_last && 32'(count) == DEPTH - 1))
      else $error("%m: a packet of more than %0d bytes", BYTES);
  end
endmodule
