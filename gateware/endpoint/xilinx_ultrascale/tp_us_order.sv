// SPDX-License-Identifier: Apache-2.0
// Writes that were handed to the block and have not passed the point behind which no answer can overtake them.
//
// The block takes requests and answers on two streams, and answers may overtake writes. Of each request it tells the sequence number when
// no answer can pass it any more; so writes are numbered, 0 to WRITES, and an answer waits for the numbers of all writes that were handed over
// before it came. The numbers of reads have the highest bit set and are looked at by nobody. What waits is the block's transmit buffer, too:
// `room` tells how many writes more there may be.
//
// The block drops writes while bus mastering is off, and tells no number of them. So what was handed over until then counts as gone 1 us
// (GIVE_UP clocks) after the last such write, or after bus mastering went off. When the link goes down (`clear`), all is gone at once.
module tp_us_order #(
    parameter int SEQ = 6,                 // bits of a sequence number: 4 in UltraScale, 6 in UltraScale+
    localparam int KW = SEQ - 1,
    localparam int GIVE_UP = 256
) (
    input  logic            clk,
    input  logic            rst,
    input  logic            clear,
    input  logic            mastering,
    input  logic [SEQ-1:0]  seq0,
    input  logic            seq0_valid,
    input  logic [SEQ-1:0]  seq1,          // ... later than seq0
    input  logic            seq1_valid,
    input  logic            start,         // a write is handed over ...
    output logic [KW-1:0]   number,        // ... with this number
    output logic            full,          // ... but not now
    output logic [7:0]      room,
    input  logic            answer,        // an answer waits
    input  logic            answered,      // its last beat has been taken
    output logic            pass           // it may go; then until its last beat
);
  logic [KW-1:0] next, gone, waiting, mark, lost;
  logic marked, passed, v0, v1, told0, told1, give_up, was_mastering;
  logic [KW-1:0] n0, n1;
  logic [$clog2(GIVE_UP):0] patience;

  assign number = next;
  assign waiting = next - gone;
  assign full = &waiting;
  assign room = 8'(KW'(~waiting));
  // A number that is not among those out is old: what it stood for has been given up.
  assign told0 = v0 && KW'(n0 - gone) < waiting;
  assign told1 = v1 && KW'(n1 - gone) < waiting;
  assign give_up = patience == 1 && !v0 && !v1;  // numbers that are told come first
  assign pass = passed || waiting == '0 || (marked && waiting <= KW'(next - mark));

  always_ff @(posedge clk) begin
    v0 <= seq0_valid && !seq0[KW];
    n0 <= seq0[KW-1:0];
    v1 <= seq1_valid && !seq1[KW];
    n1 <= seq1[KW-1:0];
    if (start) next <= next + 1'b1;
    if (told1) gone <= n1 + 1'b1;
    else if (told0) gone <= n0 + 1'b1;
    else if (give_up && KW'(lost - gone) <= waiting) gone <= lost;

    if (!marked) mark <= next;
    marked <= answer && !answered;
    passed <= answer && !answered && pass;

    was_mastering <= mastering;
    if (!mastering) lost <= next + KW'(start);
    if (!mastering && (was_mastering || start)) patience <= ($clog2(GIVE_UP) + 1)'(GIVE_UP);
    else if (give_up || patience > 1) patience <= patience - 1'b1;

    if (clear) gone <= next + KW'(start);
    if (rst) begin
      next <= '0;
      gone <= '0;
      marked <= 1'b0;
      passed <= 1'b0;
      patience <= '0;
      was_mastering <= 1'b0;
      v0 <= 1'b0;
      v1 <= 1'b0;
    end
  end
endmodule
