// SPDX-License-Identifier: Apache-2.0
// Takes the block's packets apart: descriptor and payload that follow each other become a header beside data that starts in lane 0.
//
// A beat is kept until the next one has come, for payload dwords of both make one beat of the output; a packet that has ended waits for nobody.
// Several packets may share a beat (straddling): up to PIECES of them are in it, of which each starts in a lane that is a multiple of
// LANES / PIECES. They are taken one a clock, but for a packet whose rest makes no beat of its own: then the next one begins in the same clock,
// as it does behind every payload that is a multiple of 64 bytes and begins on such a boundary. Only otherwise the block waits a clock.
//
// Outputs (`put_*`) are for the caller to register. Promises: every packet is put whole, in order, a beat a clock at most; `put_head` and
// `put_side` count beside the first beat, `put_bad` beside the last. When the block's side is reset (`cut`), a packet of which nothing has been
// put vanishes, and one that is half way out is completed with beats of no meaning and `put_bad`. Until then the block waits.
module tp_us_unpack #(
    parameter int DATA_WIDTH = 128,
    parameter int HEAD = 3,                // dwords of the descriptor, 3 or 4
    parameter int COUNT_AT = 32,           // where the descriptor tells the dwords of the payload
    parameter int PIECES = 1,              // packets that may share a beat: 1, 2 (from 256 bit), 4 (512 bit)
    parameter int SIDE = 1,                // bits that go with a packet
    localparam int LANES = DATA_WIDTH / 32,
    localparam int LW = $clog2(LANES),
    localparam int PW = PIECES > 1 ? $clog2(PIECES) : 1
) (
    input  logic                         clk,
    input  logic                         rst,
    input  logic                         cut,
    input  logic                         in_valid,
    output logic                         in_ready,
    input  logic [LANES-1:0][31:0]       in_data,
    input  logic [PIECES-1:0]            in_start,      // a packet starts, the n-th of this beat
    input  logic [PIECES-1:0][PW-1:0]    in_slot,       // ... in this piece of the beat (looked at where there are 4)
    input  logic [PIECES-1:0][SIDE-1:0]  in_side,
    input  logic [PIECES-1:0]            in_end,        // a packet ends, the n-th of this beat
    input  logic [PIECES-1:0][LW-1:0]    in_end_lane,
    input  logic                         in_bad,        // packets that end in this beat are damaged
    output logic                         put,
    output logic                         put_first,
    output logic                         put_last,
    output logic                         put_bad,
    output logic [HEAD-1:0][31:0]        put_head,
    output logic [SIDE-1:0]              put_side,
    output logic [LANES-1:0][31:0]       put_data
);
  localparam int STEP = LANES / PIECES;
  localparam int PRE = HEAD > LANES ? LANES : 0;  // dwords of the descriptor in a beat of their own: at 64 bit
  localparam int LEAD = HEAD - PRE;  // dwords of the descriptor before the payload in the same beat

  if (LEAD > STEP) $error("%m: a descriptor of %0d dwords does not fit a piece of %0d", HEAD, STEP);

  // ---- the beat in hand: the block's own, or a register, which lets it wait
  logic b_valid, b_bad, more;
  logic [LANES-1:0][31:0] b_data;
  logic [PIECES-1:0] b_start, b_end;
  logic [PIECES-1:0][PW-1:0] b_slot;
  logic [PIECES-1:0][SIDE-1:0] b_side;
  logic [PIECES-1:0][LW-1:0] b_end_lane;
  logic filling;                            // beats of no meaning complete what the reset cut

  if (PIECES == 1) begin : g_direct
    assign in_ready = !filling;
    assign b_valid = in_valid && in_ready && !cut;
    assign {b_data, b_start, b_slot, b_side, b_end, b_end_lane, b_bad} = {in_data, in_start, in_slot, in_side, in_end, in_end_lane, in_bad};
  end else begin : g_kept
    logic kept;
    assign in_ready = !filling && (!kept || !more);
    assign b_valid = kept && !cut;
    always_ff @(posedge clk) begin
      if (in_ready) begin
        kept <= in_valid;
        {b_data, b_start, b_slot, b_side} <= {in_data, in_start, in_slot, in_side};
        {b_end, b_end_lane, b_bad} <= {in_end, in_end_lane, in_bad};
      end
      if (rst || cut) kept <= 1'b0;
    end
  end

  // ---- the beat that is kept
  logic h_valid, h_first, h_end, h_bad;  // `h_first`: nothing of its packet has been put; `h_end`: its packet ends in it
  logic [LANES-1:0][31:0] h_data;
  logic [PW-1:0] h_slot;                    // where its packet starts, for all beats of the packet
  logic [SIDE-1:0] h_side;
  logic has_pre;
  logic [10:0] left;                        // beats of the packet that are still to be put

  // ---- which packets of the beat in hand are taken now: `seg` and `starts` count those of this beat that have been
  logic [PW-1:0] seg, starts, new_seg;
  logic open, tail, tail_end, tail_done, begins, fill;
  logic [PW:0] starts_then;
  logic [LW:0] lead;                        // dwords of the beat in hand that complete the beat to put
  assign open = h_valid && !h_end;
  assign lead = (LW + 1)'(LEAD) + (PIECES > 1 ? (LW + 1)'(STEP) * (LW + 1)'(h_slot) : '0);
  assign tail = open && b_valid;
  assign tail_end = tail && b_end[seg];
  assign tail_done = tail_end && {1'b0, b_end_lane[seg]} < lead;
  assign begins = b_valid && b_start[starts] && (!open || tail_done) && !(PIECES == 1 && tail);
  assign new_seg = tail ? seg + 1'b1 : seg;
  assign starts_then = {1'b0, starts} + (PW + 1)'(begins);
  assign more = PIECES > 1 && 32'(starts_then) < PIECES && b_start[starts_then[PW-1:0]];

  assign fill = open && !h_first && (cut || filling);
  assign put = (h_valid && h_end) || tail || fill;
  assign put_first = h_first;
  assign put_last = fill ? left <= 11'd1 : h_end || tail_done;
  assign put_bad = fill || (h_end ? h_bad : b_bad);
  assign put_side = h_side;

  logic [2*LANES-1:0][31:0] both;
  assign both = {b_data, h_data};
  always_comb begin
    put_data = both[LEAD+:LANES];
    put_head[HEAD-1-:LEAD] = h_data[LEAD-1:0];
    for (int p = 1; p < PIECES; p++)
    if (h_slot == PW'(p)) begin
      put_data = both[LEAD+p*STEP+:LANES];
      put_head[HEAD-1-:LEAD] = h_data[p*STEP+:LEAD];
    end
  end
  if (PRE != 0) begin : g_pre
    logic [PRE-1:0][31:0] pre, h_pre;
    always_ff @(posedge clk) begin
      if (begins && !has_pre) pre <= b_data;
      if (begins) h_pre <= pre;
    end
    assign put_head[PRE-1:0] = h_pre;
  end

  always_ff @(posedge clk) begin
    if (put) left <= put_first ? (11'(put_head[COUNT_AT/32][10:0]) - 1'b1) >> LW : left - 1'b1;
    filling <= fill && !put_last;

    if (put && (h_end || tail_done || (fill && put_last))) h_valid <= 1'b0;
    if (tail) begin
      h_first <= 1'b0;
      h_data <= b_data;
      h_end <= tail_end;
      h_bad <= b_bad;
    end
    if (begins) begin
      has_pre <= PRE != 0 && !has_pre;
      if (PRE == 0 || has_pre) begin
        h_valid <= 1'b1;
        h_first <= 1'b1;
        h_data <= b_data;
        h_end <= b_end[new_seg];
        h_bad <= b_bad;
        h_slot <= PIECES == 4 ? b_slot[starts] : new_seg;
      end
      if (PRE == 0 || !has_pre) h_side <= b_side[starts];
    end
    seg <= more ? (begins ? new_seg + 1'b1 : new_seg) : '0;
    starts <= more ? starts_then[PW-1:0] : '0;

    if (cut) begin
      has_pre <= 1'b0;
      seg <= '0;
      starts <= '0;
      if (open && h_first) h_valid <= 1'b0;
    end
    if (rst) begin
      h_valid <= 1'b0;
      has_pre <= 1'b0;
      filling <= 1'b0;
      seg <= '0;
      starts <= '0;
    end
  end
endmodule
