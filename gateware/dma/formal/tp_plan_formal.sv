// SPDX-License-Identifier: Apache-2.0
// tp_plan: the plans of a piece tile it, each from where the one before ended to the next boundary or the piece's end, and those of a
// descriptor's pieces come to its length and no further; one channel is watched while another one is cut in between. A plan stands where
// it was put until another is put there.
// Assumed: what tp_front, tp_store and tp_lists promise: a row or a piece at a time, and no cut of a channel while another one of it is
// on its way or before there is something to cut.
module tp_plan_formal
  import tp_tlp_pkg::*;
#(
    parameter int READ_BYTES = 512,
    parameter int SENDING_BYTES = 1024
) (
    input logic clk,
    input logic rst,
    input logic [2:0] max_read,
    input logic [2:0] max_payload,
    input logic who,
    input logic [1:0] row_valid,
    input logic row_wanted,
    input logic row_list,
    input logic [63:0] row_addr,
    input logic [31:0] row_more,
    input logic [1:0] piece_next,
    input logic [1:0] piece_valid,
    input logic piece_wanted,
    input logic piece_empty,
    input logic [63:0] piece_addr,
    input logic [31:0] piece_more,
    input logic [1:0] want,
    input logic [1:0] plan_at,
    input logic look_at
);
  logic [1:0] grant, plan_valid;
  logic [11:0] plan_more, read_more;
  logic plan_all, plan_last;
  logic [63:0] read_addr, write_addr;
  logic [31:0] left_more;
  tp_plan #(
      .H2C(1),
      .C2H(1),
      .READ_BYTES(READ_BYTES),
      .SENDING_BYTES(SENDING_BYTES)
  ) dut (
      .clk,
      .rst,
      .max_read,
      .max_payload,
      .row_valid,
      .row_cut(row_valid & {2{row_wanted}}),
      .row_list,
      .row_addr,
      .row_more,
      .piece_next,
      .piece_valid,
      .piece_cut(piece_valid & {2{piece_wanted}}),
      .piece_empty,
      .piece_addr,
      .piece_more,
      .want,
      .grant,
      .plan_valid,
      .plan_more,
      .plan_all,
      .plan_last,
      .plan_at,
      .read_channel(who),
      .read_at(look_at),
      .read_addr,
      .read_more,
      .write_channel(who),
      .write_at(look_at),
      .write_addr,
      .left_channel(who),
      .left_more
  );

  // ------------------------------------------------------------------------------------------------ what is cut, as counted here
  logic [2:0] started = '0;
  logic who_was;
  logic [1:0] next_was;
  logic [2:0] max_read_was, max_payload_was;
  logic [1:0] on_its_way, noted_now;
  logic [63:0] addr;
  logic [31:0] more, left;
  logic last, open, noted;  // something is left of the piece; `left` counts
  logic [1:0] kept;
  logic [1:0][63:0] kept_addr;
  logic [1:0][11:0] kept_more;
  logic [63:0] cut, stop;
  logic [31:0] room, take;
  logic [12:0] most;
  assign most = 13'd128 << max_payload;
  always_comb begin
    if (!who) cut = addr[5:0] != '0 ? 64'd64 : max_read >= 3'd2 ? 64'd512 : 64'd128 << max_read;
    else cut = most > 13'd512 ? 64'd512 : 64'(most);
    stop = addr - addr % cut + cut;
    room = 32'(stop - addr);
    take = more < room ? more + 1'b1 : room;  // bytes
  end

  logic row_mine, piece_mine, plan_mine;
  assign row_mine = row_valid[who] && row_wanted;
  assign piece_mine = piece_valid[who] && piece_wanted && !piece_empty;
  assign plan_mine = plan_valid[who];
  always_ff @(posedge clk) begin
    started <= {started[1:0], 1'b1};
    who_was <= who;
    next_was <= piece_next & {2{!rst}};
    max_read_was <= max_read;
    max_payload_was <= max_payload;
    on_its_way <= rst ? '0 : (row_list || !row_wanted ? '0 : row_valid) | (piece_empty || !piece_wanted ? '0 : piece_valid) | grant;
    noted_now <= rst || !row_list || !row_wanted ? '0 : row_valid;
    if (row_mine) begin
      noted <= 1'b1;
      left <= row_more;
      open <= !row_list;
      {addr, more, last} <= {row_addr, row_more, 1'b1};
    end
    if (piece_mine) begin
      open <= 1'b1;
      addr <= piece_addr;
      more <= piece_more < left ? piece_more : left;
      last <= piece_more >= left;
    end
    if (plan_mine) begin
      addr <= stop;
      more <= more - take;
      left <= left - take;
      if (plan_all) open <= 1'b0;
      if (plan_last) noted <= 1'b0;
      kept[plan_at[who]] <= 1'b1;
      kept_addr[plan_at[who]] <= addr;
      kept_more[plan_at[who]] <= 12'(take - 1'b1);
    end
    if (rst) begin
      open <= 1'b0;
      noted <= 1'b0;
      kept <= '0;
    end
  end
  always_comb begin
    if (!started[2]) assume (rst);
    if (started[0]) assume (who == who_was && max_read == max_read_was && max_payload == max_payload_was);
    assume (max_read <= 3'd5 && max_payload <= 3'd5);
    assume ($onehot0({row_valid, piece_valid}) && $onehot0(piece_next));
    if (started[0]) assume (piece_valid == next_was);
    assume ((piece_next & (on_its_way | noted_now | row_valid | piece_valid)) == '0);
    assume ((piece_valid & on_its_way) == '0 && (row_valid & on_its_way) == '0 && (want & on_its_way) == '0);
    assume ((piece_valid & noted_now) == '0);  // a list is fetched first
    if (rst) assume (row_valid == '0 && piece_valid == '0 && want == '0);
    if (piece_valid[who] || piece_next[who]) assume (noted && !open);
    if (want[who]) assume (open);
    if (row_mine) assume (!open);
  end

  always_comb
    if (started[2] && !rst) begin
      assert (plan_valid == on_its_way);
      if (plan_mine) begin
        assert (32'(plan_more) + 1'b1 == take);
        assert (plan_all == (more < room));
        assert (plan_last == (plan_all && more == left));
        assert ({1'b0, addr[11:0]} + 13'(plan_more) < 13'd4096);
      end
      if (kept[look_at] && !who) assert (read_addr == kept_addr[look_at] && read_more == kept_more[look_at]);
      if (kept[look_at] && who) assert (write_addr == kept_addr[look_at]);
      if (noted && !on_its_way[who] && !dut.b_note) assert (left_more == left);
      cover (plan_mine && plan_all && !plan_last && kept == 2'b11);
      cover (plan_mine && !plan_all && !who && addr[5:0] != '0 && noted && more != left);
      cover (plan_mine && plan_last && who && kept == 2'b11);
    end

  // ------------------------------------------------------------------------------------------------ induction
  always_comb
    if (started[2]) begin
      for (int i = 0; i < 12; i++) begin
        assert (dut.read_mask[i] == (32'(dut.read_log2) > i));
        assert (dut.write_mask[i] == (i < 7 || (i < 9 && 32'(max_payload) + 7 > i)));
      end
      assert (32'(dut.read_log2) == (max_read >= 3'd2 ? 9 : 7 + 32'(max_read)));
      if (!rst) begin
        assert (dut.b_valid == on_its_way && dut.b_cut == (on_its_way != '0) && $onehot0(on_its_way));
        assert (!(dut.b_cut && dut.b_note) && dut.b_note == (noted_now != '0) && $onehot0(noted_now));
        if (dut.b_note) assert (noted_now[dut.b_channel]);
        if (dut.b_cut) assert (on_its_way[dut.b_channel]);
        if (on_its_way[who])
          for (int i = 0; i < 12; i++) assert (dut.mask[i] == (!who ? i < 6 || (addr[5:0] == '0 && dut.read_mask[i]) : dut.write_mask[i]));
        if (on_its_way[who]) assert (dut.b_long == (more >= 32'd4096));
        if (open && !on_its_way[who]) assert (addr[5:0] == '0);
        if (open || noted) assert (!open || more <= left);
        if (next_was[who]) assert (noted && !open && dut.piece_left == left);
        if (open) assert (noted && last == (more == left));
        if (on_its_way[who]) assert (open && dut.b_addr == addr && dut.b_more == more && dut.b_last == last && dut.b_left == left);
        if (open && !on_its_way[who]) assert (dut.addrs[who] == addr && dut.pieces[who] == {last, more});
        if (noted && !on_its_way[who] && !(dut.b_note && dut.b_channel == who))
          assert (dut.lefts[who] == left && dut.lefts_too[who] == left);
        if (noted && dut.b_note && dut.b_channel == who) assert (dut.b_left == left && !open);
        for (int i = 0; i < 2; i++)
        if (kept[i]) assert (dut.reads[{who, 1'(i)}] == {kept_more[i], kept_addr[i]} && dut.writes[{who, 1'(i)}] == kept_addr[i]);
      end
    end
endmodule
