// SPDX-License-Identifier: Apache-2.0
// tp_us_unpack: every packet is put whole and in order, header and payload as they came, whichever way packets share beats; `put_bad` tells of the beat
// in which a packet ended. With CUT, the block's reset may come at any time: of each packet nothing is put, or all its beats, the last with
// `put_bad` if they are not the packet's own.
//
// Any dword (`at`) of any packet (`which`) is followed; a packet bears its number as what goes beside it. Assumed: packets of up to LONGEST dwords of
// payload, whose descriptor tells of them; a packet that starts in a beat does so in its first piece, or in the piece after one that is taken.
module tp_us_unpack_formal #(
    parameter bit INDUCTION = 1,
    parameter int DATA_WIDTH = 128,
    parameter int HEAD = 3,
    parameter int PIECES = 1,
    parameter bit CUT = 0,
    localparam int LANES = DATA_WIDTH / 32,
    localparam int LW = $clog2(LANES),
    localparam int PW = PIECES > 1 ? $clog2(PIECES) : 1,
    localparam int STEP = LANES / PIECES,
    localparam int LONGEST = CUT ? 2 * LANES + 1 : LANES + 2,
    localparam int COUNT = HEAD - 2          // the dword of the descriptor that tells the payload's
) (
    input logic                   clk,
    input logic                   rst,
    input logic                   cut,
    input logic                   in_valid,
    input logic [LANES-1:0][31:0] in_data,
    input logic [PIECES-1:0]      begins,      // a packet starts in this piece
    input logic [PIECES-1:0][4:0] length,      // ... of so many dwords of payload
    input logic                   in_bad,
    input logic [2:0]             which,
    input logic [5:0]             at
);
  // ---- a beat, piece by piece
  logic in_ready;
  logic [PIECES-1:0] in_start, in_end;
  logic [PIECES-1:0][PW-1:0] in_slot;
  logic [PIECES-1:0][2:0] in_side;
  logic [PIECES-1:0][LW-1:0] in_end_lane;
  logic [7:0] rest, rest_then, done, done_then;  // dwords to come of the packet under way, and that have come
  logic [2:0] came, came_then;  // packets
  logic legal, counts;
  logic [2:0] owner[LANES];                  // of a lane
  logic [7:0] index[LANES];                  // ... and which of its packet's dwords
  logic [LANES-1:0] taken;
  logic [7:0][7:0] lengths, lengths_then;
  always_comb begin
    int starts, ends;
    rest_then = rest;
    done_then = done;
    came_then = came;
    lengths_then = lengths;
    legal = 1'b1;
    counts = 1'b1;
    in_start = '0;
    in_end = '0;
    in_slot = '0;
    in_side = '0;
    in_end_lane = '0;
    starts = 0;
    ends = 0;
    taken = '0;
    for (int l = 0; l < LANES; l++) begin
      if (l % STEP == 0 && begins[l/STEP]) begin
        if (rest_then != '0 || (l != 0 && !taken[l-STEP]) || 32'(length[l/STEP]) > LONGEST) legal = 1'b0;
        rest_then = 8'(HEAD) + 8'(length[l/STEP]);
        done_then = '0;
        lengths_then[came_then] = 8'(length[l/STEP]);
        in_start[starts] = 1'b1;
        in_slot[starts] = PW'(l / STEP);
        in_side[starts] = came_then;
        starts = starts + 1;
      end
      owner[l] = came_then;
      index[l] = done_then;
      if (rest_then != '0) begin
        taken[l] = 1'b1;
        if (32'(done_then) == COUNT && in_data[l][10:0] != 11'(lengths_then[came_then])) counts = 1'b0;
        done_then = done_then + 1'b1;
        rest_then = rest_then - 1'b1;
        if (rest_then == '0) begin
          in_end[ends] = 1'b1;
          in_end_lane[ends] = LW'(l);
          ends = ends + 1;
          came_then = came_then + 1'b1;
        end
      end
    end
    if (!taken[0]) legal = 1'b0;
    if (PIECES == 1) begin
      in_start = '1;
      in_side = {PIECES{came}};
    end
  end

  logic put, put_first, put_last, put_bad;
  logic [HEAD-1:0][31:0] put_head;
  logic [2:0] put_side;
  logic [LANES-1:0][31:0] put_data;
  tp_us_unpack #(
      .DATA_WIDTH(DATA_WIDTH),
      .HEAD(HEAD),
      .COUNT_AT(32 * COUNT),
      .PIECES(PIECES),
      .SIDE(3)
  ) dut (
      .*
  );

  logic started = 1'b0;
  logic [8:0] followed;
  logic waited, bad_was;
  logic [LANES-1:0][31:0] data_was;
  logic [PIECES-1:0] begins_was;
  logic [PIECES-1:0][4:0] length_was;
  always_ff @(posedge clk) begin
    started <= 1'b1;
    followed <= {which, at};
    waited <= in_valid && !in_ready && !cut && !rst;
    {data_was, begins_was, length_was, bad_was} <= {in_data, begins, length, in_bad};
    if (in_valid && in_ready && !cut) begin
      rest <= rest_then;
      done <= done_then;
      came <= came_then;
      lengths <= lengths_then;
    end
    if (cut && rest != '0) begin
      rest <= '0;
      came <= came + 1'b1;
    end
    if (rst) begin
      rest <= '0;
      done <= '0;
      came <= '0;
    end
  end
  always_comb begin
    if (!started) assume (rst);
    if (started) assume (followed == {which, at});
    if (started && !rst) begin
      if (!CUT) assume (!cut);
      if (in_valid) assume (legal && counts);
      if (waited) assume (in_valid && {data_was, begins_was, length_was, bad_was} == {in_data, begins, length, in_bad});
      assume (came_then >= came && came != '1);  // numbers are not used twice
    end
  end

  // ---- the dword that is followed, and whether it has come
  logic [31:0] want;
  logic have;
  logic [7:0] bad, whole;  // packets that ended in a bad beat; that ended
  always_ff @(posedge clk) begin
    if (in_valid && in_ready && !cut)
      for (int l = 0; l < LANES; l++)
      if (taken[l]) begin
        if (owner[l] == which && index[l] == 8'(at)) {have, want} <= {1'b1, in_data[l]};
        bad[owner[l]] <= in_bad;
        if (32'(index[l]) == HEAD - 1 + 32'(lengths_then[owner[l]])) whole[owner[l]] <= 1'b1;
      end
    if (rst) {have, bad, whole} <= '0;
  end

  // ---- what is put
  logic open, any;
  logic [2:0] number, latest;
  logic [7:0] beat;  // of the packet that is put
  int total, place;
  assign number = open ? latest : put_side;
  assign total = 32'(lengths[number]);
  assign place = 32'(at) - HEAD;
  always_ff @(posedge clk) begin
    if (put) begin
      open <= !put_last;
      any <= 1'b1;
      latest <= number;
      beat <= put_last ? '0 : beat + 1'b1;
    end
    if (rst) begin
      open <= 1'b0;
      any <= 1'b0;
      beat <= '0;
    end
  end
  // A beat is put in the clock in which the last of it comes, or later.
  logic [31:0] now;
  logic here, whole_now, bad_now;
  always_comb begin
    {here, now} = {have, want};
    whole_now = whole[number];
    bad_now = bad[number];
    if (PIECES == 1 && in_valid && in_ready && !cut)
      for (int l = 0; l < LANES; l++)
      if (taken[l]) begin
        if (owner[l] == which && index[l] == 8'(at)) {here, now} = {1'b1, in_data[l]};
        if (owner[l] == number) bad_now = in_bad;
        if (owner[l] == number && 32'(index[l]) == HEAD - 1 + total) whole_now = 1'b1;
      end
  end
  always_comb
    if (started && !rst && put) begin
      assert (put_first == !open);
      assert (open || !any || put_side > latest);
      if (!CUT && !open) assert (put_side == (any ? latest + 1'b1 : '0));
      assert (put_last == (total <= LANES * (32'(beat) + 1)));
      if (put_last) assert (whole_now || (CUT && put_bad));
      if (put_last && !CUT) assert (put_bad == bad_now);
      if (number == which && !(CUT && put_bad)) begin
        if (put_first && place < 0) assert (here && put_head[at] == now);
        if (place >= 0 && place < total && place / LANES == 32'(beat))
          assert ((here && put_data[place%LANES] == now) || (CUT && !whole_now));
      end
      cover (put_last && number == 3'd2 && total == LONGEST && !put_bad);
      cover (PIECES == 1 || !in_ready);
    end
endmodule
