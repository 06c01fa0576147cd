// SPDX-License-Identifier: Apache-2.0
// The attributes of the messages on their way to a user core: a queue that shows of its head what the message has, and zeros for the rest.
//
// They are written into the tail as they come, a message's length by itself and all else by itself, and again if they come again. The tail
// becomes an entry with `note`; so it is kept free, and what was written without `note` is forgotten.
//
// The zeros are entries of the same memory that nobody writes: a memory of look-up tables has 32 in any case, and so no gate stands behind it.
module tp_attributes #(
    parameter int DEPTH = 16,               // a power of two
    localparam int AW = $clog2(DEPTH)
) (
    input logic clk,
    input logic rst,
    input logic clear,

    input  logic        length_put,
    input  logic [63:0] length_in,
    input  logic        other_put,
    input  logic [95:0] other_in,      // {offset, user word}
    output logic        ready,         // there is room for the next `note`, in whichever cycle it comes
    input  logic        note,
    input  logic        length_show,   // only when there is an entry
    input  logic        other_show,
    input  logic        pop,           // with either
    output logic [63:0] length_out,
    output logic [95:0] other_out
);
  logic [AW:0] wr, rd;
  logic [63:0] lengths[2*DEPTH];
  logic [95:0] others [2*DEPTH];
  initial
    for (int i = 0; i < 2 * DEPTH; i++) begin
      lengths[i] = '0;
      others[i] = '0;
    end

  assign length_out = lengths[{!length_show, rd[AW-1:0]}];
  assign other_out = others[{!other_show, rd[AW-1:0]}];
  always_ff @(posedge clk) begin
    if (length_put) lengths[{1'b0, wr[AW-1:0]}] <= length_in;
    if (other_put) others[{1'b0, wr[AW-1:0]}] <= other_in;
  end
  always_ff @(posedge clk) begin
    // `note` comes too late in its cycle to be counted: so room is kept for the one of this cycle, too.
    ready <= (AW + 1)'(wr - rd) < (AW + 1)'(DEPTH - 2) && !rst;
    if (note) wr <= wr + 1'b1;
    if (pop) rd <= rd + 1'b1;
    if (rst || clear) begin
      wr <= '0;
      rd <= '0;
    end else begin
      assert ((!length_put && !other_put) || (AW + 1)'(wr - rd) < (AW + 1)'(DEPTH))
      else $error("%m: attributes came without room");
      assert (!note || (AW + 1)'(wr - rd) < (AW + 1)'(DEPTH - 1))
      else $error("%m: the attributes of a message found no room");
      assert (!(length_show || other_show) || wr != rd)
      else $error("%m: a message without its attributes");
      assert (!pop || length_show || other_show)
      else $error("%m: what was not shown was dropped");
    end
  end
endmodule
