// SPDX-License-Identifier: Apache-2.0
// The attributes of the messages on their way to a user core: a queue that shows its head while `show`, and zeros otherwise.
//
// The zeros are entries of the same memory that nobody writes: a memory of look-up tables has 32 in any case, and so no gate stands behind it.
module tp_attributes #(
    parameter int WIDTH = 160,
    parameter int DEPTH = 16,               // a power of two
    localparam int AW = $clog2(DEPTH)
) (
    input logic clk,
    input logic rst,
    input logic clear,

    input  logic             in_valid,
    output logic             in_ready,      // stays until something has come
    input  logic [WIDTH-1:0] in_data,
    input  logic             show,          // only when there is one
    input  logic             pop,           // with show
    output logic [WIDTH-1:0] out_data
);
  logic [AW:0] wr, rd;
  logic [WIDTH-1:0] mem[2*DEPTH];
  initial for (int i = 0; i < 2 * DEPTH; i++) mem[i] = '0;

  assign out_data = mem[{!show, rd[AW-1:0]}];
  always_ff @(posedge clk) if (in_valid && in_ready) mem[{1'b0, wr[AW-1:0]}] <= in_data;
  always_ff @(posedge clk) begin
    in_ready <= (AW + 1)'(wr - rd) < (in_valid ? (AW + 1)'(DEPTH - 1) : (AW + 1)'(DEPTH)) && !rst;
    if (in_valid && in_ready) wr <= wr + 1'b1;
    if (pop) rd <= rd + 1'b1;
    if (rst || clear) begin
      wr <= '0;
      rd <= '0;
    end else begin
      assert (!show || wr != rd)
      else $error("%m: a message without its attributes");
      assert (!pop || show)
      else $error("%m: what was not shown was dropped");
    end
  end
endmodule
