// SPDX-License-Identifier: Apache-2.0
// tp_us_straddle: what it tells of packets' starts and ends is legal in every beat, and true: every packet leaves whole and in order among its kind,
// its descriptor first, its dwords where they belong, its beats adjacent, whatever `out_ready` does. A second packet starts in the middle of a
// beat, and only behind one that ends below. With DROP, packets may vanish (`skip`, `cut`), but what leaves is still that, unless `cut` takes it
// back midway.
//
// With DATA, any dword (`at`) of any packet (`which`) is followed; a packet bears its kind and number as what goes beside it. Assumed: writes of up to
// LONGEST dwords, with adjacent beats that stand until they are taken. A read may come and go.
module tp_us_straddle_formal #(
    parameter bit INDUCTION = 1,
    parameter int DATA_WIDTH = 512,
    parameter int HEAD = 4,
    parameter bit DROP = 0,
    parameter bit DATA = 1,                // look at the dwords, too
    localparam int LANES = DATA_WIDTH / 32,
    localparam int HALF = LANES / 2,
    localparam int LW = $clog2(LANES),
    localparam int LONGEST = 2 * LANES + 1
) (
    input logic                   clk,
    input logic                   rst,
    input logic                   skip,
    input logic                   cut,
    input logic                   write_valid,
    input logic                   write_wait,
    input logic [HEAD-1:0][31:0]  write_head,
    input logic [10:0]            write_dwords,
    input logic [LANES-1:0][31:0] write_data,
    input logic                   write_last,
    input logic                   read_valid,
    input logic [HEAD-1:0][31:0]  read_head,
    input logic                   out_ready,
    input logic [3:0]             which,
    input logic [5:0]             at
);
  logic write_ready, read_ready, start, out_valid, out_high;
  logic [3:0] write_side, read_side;
  logic [1:0] out_start, out_end;
  logic [1:0][3:0] out_side;
  logic [1:0][LW-1:0] out_end_lane;
  logic [LANES-1:0][31:0] out_data;
  tp_us_straddle #(
      .DATA_WIDTH(DATA_WIDTH),
      .HEAD(HEAD),
      .SIDE(4)
  ) dut (
      .*
  );

  // ---- what comes
  logic started = 1'b0;
  logic [9:0] followed;
  logic waited, midway;
  logic [10:0] beat;                        // of the write that comes
  logic [HEAD-1:0][31:0] head_was;
  logic [10:0] dwords_was;
  logic [LANES-1:0][31:0] data_was;
  logic [2:0] writes, reads;  // that came
  assign write_side = {1'b0, writes};
  assign read_side = {1'b1, reads};
  always_ff @(posedge clk) begin
    started <= 1'b1;
    followed <= {which, at};
    waited <= write_valid && !write_ready && !rst;
    head_was <= write_head;
    dwords_was <= write_dwords;
    data_was <= write_data;
    if (write_valid && write_ready) begin
      midway <= !write_last;
      beat <= write_last ? '0 : beat + 1'b1;
      if (write_last) writes <= writes + 1'b1;
    end
    if (read_valid && read_ready) reads <= reads + 1'b1;
    if (rst) begin
      midway <= 1'b0;
      beat <= '0;
      writes <= '0;
      reads <= '0;
    end
  end
  always_comb begin
    if (!started) assume (rst);
    if (started) assume (followed == {which, at});
    if (started && !rst) begin
      if (!DROP) assume (!skip && !cut);
      assume (write_dwords != '0 && 32'(write_dwords) <= LONGEST);
      assume (write_last == (32'(write_dwords) <= LANES * (32'(beat) + 1)));
      assume (!(midway || waited) || (write_valid && write_dwords == dwords_was));
      if (DATA) assume (!(midway || waited) || write_head == head_was);
      if (DATA) assume (!waited || write_data == data_was);
      assume (writes != '1 && reads != '1);  // numbers are not used twice
    end
  end

  // ---- the dword that is followed, and the lengths of all writes
  logic [31:0] want;
  logic [7:0][10:0] dwords;
  int place;
  assign place = 32'(at) - HEAD;
  always_ff @(posedge clk) begin
    if (write_valid) dwords[writes] <= write_dwords;
    if (write_valid && which == {1'b0, writes}) begin
      if (place < 0) want <= write_head[at];
      else if (place / LANES == 32'(beat)) want <= write_data[place%LANES];
    end
    if (read_valid && read_ready && which == {1'b1, reads}) want <= read_head[at];
  end

  // ---- what leaves: a packet from the first lane, and perhaps one from the middle
  logic open, cut_was, upper;
  logic [1:0] any;                          // of each kind: one has left
  logic [1:0][2:0] latest;
  logic [3:0] owner, first, second;
  int sent, gone, first_rest, second_rest;  // dwords
  function automatic int total(logic [3:0] side);
    return HEAD + (side[3] ? 0 : 32'(dwords[side[2:0]]));
  endfunction
  assign upper = open ? out_start[0] : out_start[1];
  assign first = open ? owner : out_side[0];
  assign second = out_side[!open];
  assign gone = open ? sent : 0;
  assign first_rest = total(first) - gone;
  assign second_rest = total(second);
  always_ff @(posedge clk) begin
    cut_was <= cut;
    if (out_valid && out_ready) begin
      open <= upper ? second_rest > HALF : first_rest > LANES;
      owner <= upper ? second : first;
      sent <= upper ? HALF : LANES + gone;
      any[first[3]] <= 1'b1;
      latest[first[3]] <= first[2:0];
      if (upper) begin
        any[second[3]] <= 1'b1;
        latest[second[3]] <= second[2:0];
      end
    end
    if (rst || cut) open <= 1'b0;
    if (rst) any <= '0;
  end
  always_comb
    if (started && !rst) begin
      assert (!open || out_valid || cut_was);
      if (out_valid) begin
        assert (out_start == (open ? {1'b0, upper} : {upper, 1'b1}));
        if (out_start[0]) assert (out_high == open);
        if (!open) begin
          assert (!any[first[3]] || first[2:0] > latest[first[3]]);
          if (!DROP) assert (first[2:0] == (any[first[3]] ? latest[first[3]] + 1'b1 : '0));
        end
        if (upper) begin
          assert (first_rest <= HALF);
          assert (out_end == {second_rest <= HALF, 1'b1});
          if (out_end[1]) assert (32'(out_end_lane[1]) == HALF + second_rest - 1);
          if (first[3] == second[3] && !open) begin
            assert (second[2:0] > first[2:0]);
            if (!DROP) assert (second[2:0] == first[2:0] + 1'b1);
          end else begin
            assert (!any[second[3]] || second[2:0] > latest[second[3]]);
            if (!DROP) assert (second[2:0] == (any[second[3]] ? latest[second[3]] + 1'b1 : '0));
          end
          if (DATA && second == which && 32'(at) < second_rest && 32'(at) < HALF) assert (out_data[HALF+32'(at)] == want);
        end else assert (out_end == {1'b0, first_rest <= LANES});
        if (out_end[0]) assert (32'(out_end_lane[0]) == first_rest - 1);
        if (DATA && first == which && 32'(at) >= gone && 32'(at) < gone + LANES && 32'(at) < total(first))
          assert (out_data[32'(at)-gone] == want);
      end
      cover (out_valid && out_ready && open && upper && !first[3] && !second[3] && first_rest == HALF && second_rest == HEAD + LONGEST);
      cover (out_valid && out_ready && open && upper && second[3]);
      cover (out_valid && out_ready && !open && upper && first[3] && !second[3]);
      cover (out_valid && out_ready && !open && upper && !first[3] && second[3]);
    end
endmodule
