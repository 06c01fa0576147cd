// SPDX-License-Identifier: Apache-2.0
// tp_us_pack: every packet leaves whole and in order, its descriptor first, its dwords and its end where they belong, its beats adjacent, whatever
// `out_ready` does. With DROP, packets may vanish (`skip`, `cut`), but what leaves is still that, unless `cut` takes it back midway.
//
// Any dword (`at`) of any packet (`which`) is followed; a packet bears its number as what goes beside it. Assumed: packets of up to LONGEST dwords,
// with adjacent beats that stand until they are taken.
module tp_us_pack_formal #(
    parameter bit INDUCTION = 1,
    parameter int DATA_WIDTH = 128,
    parameter int HEAD = 4,
    parameter bit DROP = 0,
    localparam int LANES = DATA_WIDTH / 32,
    localparam int LW = $clog2(LANES),
    localparam int LONGEST = 2 * LANES + 1
) (
    input logic                   clk,
    input logic                   rst,
    input logic                   skip,
    input logic                   cut,
    input logic                   in_valid,
    input logic [HEAD-1:0][31:0]  in_head,
    input logic [10:0]            in_dwords,
    input logic [LANES-1:0][31:0] in_data,
    input logic                   in_last,
    input logic                   out_ready,
    input logic [2:0]             which,
    input logic [5:0]             at
);
  logic in_ready, busy, start, out_valid, out_first, out_last;
  logic [2:0] in_side, out_side;
  logic [LANES-1:0][31:0] out_data;
  logic [LW-1:0] out_end;
  tp_us_pack #(
      .DATA_WIDTH(DATA_WIDTH),
      .HEAD(HEAD),
      .SIDE(3)
  ) dut (
      .*
  );

  // ---- what comes
  logic started = 1'b0;
  logic [8:0] followed;
  logic waited, midway;
  logic [10:0] beat;                        // of the packet that comes
  logic [HEAD-1:0][31:0] head_was;
  logic [10:0] dwords_was;
  logic [LANES-1:0][31:0] data_was;
  logic [2:0] came;                         // packets
  assign in_side = came;
  always_ff @(posedge clk) begin
    started <= 1'b1;
    followed <= {which, at};
    waited <= in_valid && !in_ready && !rst;
    head_was <= in_head;
    dwords_was <= in_dwords;
    data_was <= in_data;
    if (in_valid && in_ready) begin
      midway <= !in_last;
      beat <= in_last ? '0 : beat + 1'b1;
      if (in_last) came <= came + 1'b1;
    end
    if (rst) begin
      midway <= 1'b0;
      beat <= '0;
      came <= '0;
    end
  end
  always_comb begin
    if (!started) assume (rst);
    if (started) assume (followed == {which, at});
    if (started && !rst) begin
      if (!DROP) assume (!skip && !cut);
      assume (32'(in_dwords) <= LONGEST);
      assume (in_last == (32'(in_dwords) <= LANES * (32'(beat) + 1)));
      assume (!(midway || waited) || (in_valid && in_dwords == dwords_was && in_head == head_was));
      assume (!waited || in_data == data_was);
      assume (came != '1);  // numbers are not used twice
    end
  end

  // ---- the dword that is followed, and the lengths of all packets
  logic [31:0] want;
  logic [7:0][10:0] dwords;
  int place;
  assign place = 32'(at) - HEAD;
  always_ff @(posedge clk) begin
    if (in_valid) dwords[came] <= in_dwords;
    if (in_valid && came == which) begin
      if (place < 0) want <= in_head[at];
      else if (place / LANES == 32'(beat)) want <= in_data[place%LANES];
    end
  end

  // ---- what leaves
  logic open, any, cut_was;
  logic [10:0] sent;                        // beats of the packet that leaves
  logic [2:0] latest;
  int total;
  assign total = HEAD + 32'(dwords[out_side]);
  always_ff @(posedge clk) begin
    cut_was <= cut;
    if (out_valid && out_ready) begin
      open <= !out_last;
      sent <= out_last ? '0 : sent + 1'b1;
      any <= 1'b1;
      latest <= out_side;
    end
    if (rst || cut) begin
      open <= 1'b0;
      sent <= '0;
    end
    if (rst) any <= 1'b0;
  end
  always_comb
    if (started && !rst) begin
      assert (!open || out_valid || cut_was);
      if (out_valid) begin
        assert (out_first == !open);
        assert (!open || out_side == latest);
        assert (open || !any || out_side > latest);
        if (!DROP && !open) assert (out_side == (any ? latest + 1'b1 : '0));
        assert (out_last == (total <= LANES * (32'(sent) + 1)));
        if (out_last) assert (32'(out_end) == (total - 1) % LANES);
        if (out_side == which && 32'(at) / LANES == 32'(sent) && 32'(at) < total) assert (out_data[at%LANES] == want);
      end
      cover (out_valid && out_ready && out_last && out_side == 3'd2 && total == HEAD + LONGEST);
    end
endmodule
