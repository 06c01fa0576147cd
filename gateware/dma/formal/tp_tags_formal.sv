// SPDX-License-Identifier: Apache-2.0
// tp_tags: a tag that is handed out is not out; each tag is out or in the pool once; only what is out is overdue; a tag leaves quarantine
// without its answer only if its read was given up, and the link went down meanwhile or the host allowed it (`quarantine` not 0); one that is
// still shown to the link never does, nor any while a packet is in hand. No tag from SHORT on is offered unless the host allowed it a cycle
// ago. A client whose own tag is in is offered one, and no other client gets that. The lap turns when a tag is handed out, and only then. What was out at an `abandon` has been answered or given up before anything is asked for
// again, and the quarantine is as long as ever.
// Assumed: as tp_landing is proved to do, only tags that are out are freed or given up, and given up once; what is overdue has ended two
// cycles later; nothing is taken while `hold` (tp_read_issue).
module tp_tags_formal #(
    parameter int TAGS = 4,
    parameter int CORE_CLOCK_KHZ = 100,
    parameter int SHORT = 2,
    parameter int CLIENTS = 1,
    parameter bit INDUCTION = 1,
    localparam int TW = $clog2(TAGS),
    localparam int IW = CLIENTS > 1 ? $clog2(CLIENTS) : 1
) (
    input logic clk,
    input logic rst,
    input logic [3:0] completion_timeout,
    input logic link_up,
    input logic abandon,
    input logic [7:0] quarantine,
    input logic extended,
    input logic take,
    input logic [IW-1:0] client,
    input logic [TW-1:0] look_tag,
    input logic quiet,
    input logic free_valid,
    input logic free_late,
    input logic give_up_valid,
    input logic [TW-1:0] free_tag,
    input logic shown_valid,
    input logic [TW-1:0] shown_tag,
    input logic overdue_ready,
    input logic [TW-1:0] choose
);
  logic [CLIENTS-1:0] may;
  logic look_out, look_lap, overdue_valid, overdue_link, overdue_reset, hold;
  logic [TW-1:0] tag, overdue_tag;
  logic [TW:0] count;
  tp_tags #(
      .TAGS(TAGS),
      .CORE_CLOCK_KHZ(CORE_CLOCK_KHZ),
      .SHORT(SHORT),
      .CLIENTS(CLIENTS)
  ) dut (
      .clk,
      .rst,
      .completion_timeout,
      .link_up,
      .abandon,
      .quarantine,
      .extended,
      .may,
      .client,
      .tag,
      .take,
      .look_tag,
      .look_out,
      .look_lap,
      .quiet,
      .free_valid,
      .free_late,
      .give_up_valid,
      .free_tag,
      .count,
      .shown_valid,
      .shown_tag,
      .overdue_valid,
      .overdue_ready,
      .overdue_tag,
      .overdue_link,
      .overdue_reset,
      .hold
  );

  logic valid;  // there is a tag for the client that is looked at
  assign valid = 32'(client) < CLIENTS && may[client];
  logic started = 1'b0;
  logic [TW-1:0] one;  // the tag that is watched
  always_ff @(posedge clk) begin
    started <= 1'b1;
    if (!started) one <= choose;
  end

  localparam int LOW = TAGS < SHORT ? TAGS : SHORT;
  localparam int OWN = CLIENTS > 1 && LOW >= 2 * CLIENTS ? CLIENTS : 0;

  // Which tags are out, told from outside; and whose read was given up since they were handed out.
  logic [TAGS-1:0] busy, given_up;
  logic taken, put, put1;  // put1: in the cycle before
  logic [TW-1:0] put_tag, put_tag1;
  assign taken = take && valid;
  assign put = free_valid || dut.release_valid;
  assign put_tag = free_valid ? free_tag : dut.at;
  always_ff @(posedge clk) begin
    put1 <= put && !rst;
    put_tag1 <= put_tag;
    if (give_up_valid) given_up[free_tag] <= 1'b1;
    if (put) busy[put_tag] <= 1'b0;
    if (taken) begin
      busy[tag] <= 1'b1;
      given_up[tag] <= 1'b0;
    end
    if (rst) begin
      busy <= '0;
      given_up <= '0;
    end
  end
  logic down;  // the link went down since the watched tag was handed out
  logic up;
  always_ff @(posedge clk) begin
    up <= link_up && !rst;
    if (taken && tag == one) down <= 1'b0;
    if (up && !link_up) down <= 1'b1;
  end
  // What was overdue a cycle ago, and two, and has not been freed since.
  logic overdue1, overdue2;
  logic [TW-1:0] overdue_tag1, overdue_tag2;
  always_ff @(posedge clk) begin
    overdue1 <= overdue_valid && overdue_ready && !dut.filling && busy[overdue_tag] && !(free_valid && free_tag == overdue_tag) && !rst;
    overdue_tag1 <= overdue_tag;
    overdue2 <= overdue1 && !(free_valid && free_tag == overdue_tag1) && !rst;
    overdue_tag2 <= overdue_tag1;
  end
  // The watched tag was out at an `abandon`, and has been neither answered nor given up since.
  logic owes;
  always_ff @(posedge clk) begin
    if (abandon && !dut.filling && busy[one] && !given_up[one]) owes <= 1'b1;
    if ((put && put_tag == one) || (give_up_valid && free_tag == one)) owes <= 1'b0;
    if (rst) owes <= 1'b0;
  end
  // What was freed or given up a cycle ago; whether the host allowed tags to leave quarantine by time.
  logic ended1, freed1, allowed1, extended1;
  logic [TW-1:0] freed_tag1;
  always_ff @(posedge clk) begin
    ended1 <= (free_valid || give_up_valid) && !rst;
    freed1 <= free_valid && !rst;
    freed_tag1 <= free_tag;
    allowed1 <= quarantine != '0;
    extended1 <= extended;
  end
  // Tags show as out one cycle after they were taken.
  logic lately;
  logic [TW-1:0] lately_tag;
  always_ff @(posedge clk) begin
    lately <= taken && !rst;
    lately_tag <= tag;
  end
  logic [TAGS-1:0] shows;
  always_comb begin
    shows = busy;
    if (lately) shows[lately_tag] = 1'b0;
  end

  always_comb begin
    if (!started) assume (rst);
    assume (!take || (valid && !hold));
    if (started) begin
      if (free_valid) assume (!quiet && shows[free_tag] && free_late == given_up[free_tag] && !dut.filling);
      if (give_up_valid) assume (shows[free_tag] && !given_up[free_tag]);
      assume (!free_valid || !give_up_valid);
      assume (!((overdue1 || overdue2 || ended1) && quiet));
      if (overdue2 && !given_up[overdue_tag2]) assume (free_tag == overdue_tag2 && give_up_valid);
    end
  end

  logic known1 = 1'b0;  // lap1 is from after the first reset
  logic lap1, turns1;
  always_ff @(posedge clk) begin
    known1 <= started;
    lap1 <= dut.out_laps[one];
    turns1 <= lately && lately_tag == one;
  end
  logic [TAGS-1:0] quarantined;
  assign quarantined = busy & given_up;

  always_comb
    if (started && !rst) begin
      assert (!valid || !busy[tag]);
      assert (!valid || 32'(tag) < SHORT || extended1);
      for (int c = 0; c < OWN; c++) begin
        assert (dut.filling || busy[c] || may[c] || (put1 && 32'(put_tag1) == c));
        assert (!(valid && 32'(tag) == c) || 32'(client) == c);
      end
      assert (look_out == (shows[look_tag] && !dut.filling));
      assert (!known1 || (dut.out_laps[one] != lap1) == turns1);
      assert (dut.filling || !overdue_valid || busy[overdue_tag] || (freed1 && freed_tag1 == overdue_tag));
      assert (!dut.release_valid || (quiet && busy[dut.at] && given_up[dut.at] && !(shown_valid && shown_tag == dut.at)));
      assert (!(dut.release_valid && dut.at == one) || down || allowed1);
      assert (32'(count) + 32'(dut.one_more) - 32'(dut.one_less) == $countones(quarantined));
      assert (!dut.put || dut.put_ready);
      assert (!owes || hold || (overdue2 && overdue_tag2 == one));
      assert (!(overdue_link && overdue_reset));
      cover (dut.release_valid && dut.at == one && down);
      cover (taken && busy != '0);
      cover ((taken && 32'(tag) >= SHORT) || TAGS <= SHORT);
      cover (free_valid && free_tag == one && free_late);
      cover (owes && overdue_valid && overdue_reset && overdue_tag == one);
    end

  if (INDUCTION) begin : g_induction
    localparam int LW = $clog2(LOW);
    logic [TAGS-1:0] own;  // own tags that are in
    if (OWN != 0) begin : g_own
      assign own = TAGS'(dut.g_own.own_free | dut.g_own.own_back);
      always_comb if (started) assert ((dut.g_own.own_free & dut.g_own.own_back) == '0);
    end else begin : g_pool
      assign own = '0;
    end
    always_comb if (started && dut.valid) assert (dut.use_high ? dut.high_valid : dut.low_valid);
    // How often each tag stands in its pool.
    logic [TAGS-1:0][TW:0] places, high_places;
    logic strange;                          // somebody's own tag stands in the pool
    logic [TAGS-1:0] filled;
    logic [TW:0] high;  // tags in the other pool
    logic [LW-1:0] place;  // behind the head
    always_comb begin
      places = '0;
      strange = 1'b0;
      for (int i = 0; i < LOW; i++) begin
        place = LW'(i) - dut.i_low.rd[LW-1:0];
        strange |= {1'b0, place} < dut.i_low.count && 32'(dut.i_low.mem[i]) < OWN;
        if ({1'b0, place} < dut.i_low.count) places[TW'(dut.i_low.mem[i])] += 1'b1;
      end
      for (int i = 0; i < TAGS; i++) begin
        places[i] += (TW + 1)'(high_places[i]) + (TW + 1)'(own[i]);
        filled[i] = !dut.filling || 32'(dut.at) > i;
      end
    end
    if (TAGS > SHORT) begin : g_high
      logic [TW-2:0] high_place;
      assign high = (TW + 1)'(dut.g_high.i_high.count);
      always_comb begin
        high_places = '0;
        for (int i = 0; i < TAGS / 2; i++) begin
          high_place = (TW - 1)'(i) - dut.g_high.i_high.rd[TW-2:0];
          if ({1'b0, high_place} < dut.g_high.i_high.count) high_places[dut.g_high.i_high.mem[i]] += 1'b1;
        end
      end
      always_comb
        if (started) begin
          assert (32'(high) <= TAGS / 2);
          for (int t = 0; t < SHORT; t++) assert (high_places[t] == '0);
        end
    end else begin : g_low
      assign high = '0;
      assign high_places = '0;
    end
    always_comb
      if (started) begin
        assert (!dut.use_high || extended1);
        assert (!strange);
        assert (32'(dut.i_low.count) <= LOW);
        assert (32'(dut.i_low.count) + 32'(high) + $countones(own) + $countones(busy) == $countones(filled));
        for (int t = 0; t < TAGS; t++) begin
          assert (places[t] == (TW + 1)'(!busy[t] && filled[t]));
          assert (!busy[t] || filled[t]);
          assert (!filled[t] || shows[t] == (dut.out_laps[t] != dut.back_laps[t]));
          if (shows[t] && dut.rows[t][dut.AW])
            assert (given_up[t] || (overdue1 && 32'(overdue_tag1) == t) || (overdue2 && 32'(overdue_tag2) == t));
        end
        assert (!dut.filling || (hold && busy == '0 && !dut.dead && !dut.sweeping));
        assert (dut.took == lately && (!lately || (dut.took_tag == lately_tag && busy[lately_tag] && !given_up[lately_tag])));
        assert (!(overdue1 && overdue2 && overdue_tag1 == overdue_tag2));
        // What the sweep has seen is still so when it acts, but for a tag that was freed meanwhile.
        if (dut.late || dut.spent) begin
          assert (dut.seen && (dut.took || dut.rows[dut.at][dut.AW] == dut.spent));
          assert (dut.late != dut.spent);
          assert (shows[dut.at] || (freed1 && freed_tag1 == dut.at));
        end
        if (dut.spent && dut.at == one && shows[one]) assert (down || allowed1);
        assert (!dut.seen || dut.sweeping);
        assert (dut.was_up == up);
        assert (!(dut.dead && dut.lost && busy[one] && !dut.filling) || down);
        assert (!dut.dead || dut.sweeping || rst);
        assert (!dut.second || (dut.dead && dut.lost));
        assert (!dut.dead || hold);
        if (owes) begin
          assert (busy[one] && !given_up[one]);
          assert ((dut.dead && dut.at <= one) || (overdue1 && overdue_tag1 == one) || (overdue2 && overdue_tag2 == one));
        end
      end
  end
endmodule
