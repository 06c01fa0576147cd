// SPDX-License-Identifier: Apache-2.0
// tp_tags: a tag that is handed out is not out; each tag is out or in the pool once; only what is out is overdue or in quarantine; a tag
// leaves quarantine without its answer only if the link went down meanwhile or the host allowed it (`quarantine` not 0); one that is
// still shown to the link, or half way in, never does.
// Assumed: as tp_landing is proved to do, only tags that are out are freed or given up, and given up once; nothing is taken while `hold`
// (tp_read_issue).
module tp_tags_formal #(
    parameter int TAGS = 8,
    parameter int CORE_CLOCK_KHZ = 100,
    parameter bit INDUCTION = 1,
    localparam int TW = $clog2(TAGS)
) (
    input logic clk,
    input logic rst,
    input logic [3:0] completion_timeout,
    input logic link_up,
    input logic [7:0] quarantine,
    input logic take,
    input logic free_valid,
    input logic [TW-1:0] free_tag,
    input logic give_up_valid,
    input logic [TW-1:0] give_up_tag,
    input logic shown_valid,
    input logic [TW-1:0] shown_tag,
    input logic landing_valid,
    input logic [TW-1:0] landing_tag,
    input logic overdue_ready,
    input logic [TW-1:0] choose
);
  logic valid, overdue_valid, overdue_link, hold;
  logic [TW-1:0] tag, overdue_tag;
  logic [TAGS-1:0] busy, quarantined;
  logic [TW:0] count;
  tp_tags #(
      .TAGS(TAGS),
      .CORE_CLOCK_KHZ(CORE_CLOCK_KHZ)
  ) dut (
      .clk,
      .rst,
      .completion_timeout,
      .link_up,
      .quarantine,
      .valid,
      .tag,
      .take,
      .free_valid,
      .free_tag,
      .give_up_valid,
      .give_up_tag,
      .busy,
      .quarantined,
      .count,
      .shown_valid,
      .shown_tag,
      .landing_valid,
      .landing_tag,
      .overdue_valid,
      .overdue_ready,
      .overdue_tag,
      .overdue_link,
      .hold
  );

  logic started = 1'b0;
  logic [TW-1:0] one;  // the tag that is watched
  always_ff @(posedge clk) begin
    started <= 1'b1;
    if (!started) one <= choose;
  end

  // The watched tag, told from outside: out from its handing out until its answer or its release from quarantine.
  logic out, given_up, down;  // down: the link went down since it was taken
  logic taken, up;
  assign taken = take && valid && tag == one;
  always_ff @(posedge clk) begin
    up <= link_up;
    if (taken) begin
      out <= 1'b1;
      given_up <= 1'b0;
      down <= 1'b0;
    end
    if (up && !link_up) down <= 1'b1;
    if (give_up_valid && give_up_tag == one) given_up <= 1'b1;
    if ((free_valid && free_tag == one) || (dut.release_valid && dut.at == one)) out <= 1'b0;
    if (rst) begin
      up <= 1'b0;
      out <= 1'b0;
    end
  end

  always_comb begin
    if (!started) assume (rst);
    assume (!take || (valid && !hold));
    if (started) begin
      assume (!free_valid || (busy[free_tag]));
      assume (!give_up_valid || (busy[give_up_tag] && !quarantined[give_up_tag]));
      assume (!free_valid || !give_up_valid);
    end
  end

  always_comb
    if (started && !rst) begin
      assert (!valid || tag != one || !busy[one]);
      assert (!taken || !out);
      assert (busy[one] == out && quarantined[one] == (out && given_up));
      assert (!overdue_valid || (busy[overdue_tag] && !quarantined[overdue_tag]));
      assert (!(dut.release_valid && dut.at == one) || (out && given_up && (down || quarantine != 0)));
      assert (!(dut.release_valid && dut.at == one) || (!(shown_valid && shown_tag == one) && !(landing_valid && landing_tag == one)));
      assert (32'(count) == $countones(quarantined));
      assert (!(dut.filling || dut.put) || dut.put_ready);
      cover (dut.release_valid && dut.at == one && down);
      cover (taken && $countones(busy) == 2);
      cover (free_valid && free_tag == one && given_up);
    end

  if (INDUCTION) begin : g_induction
    // How often each tag stands in the pool.
    logic [TAGS-1:0][TW:0] places;
    logic [TW-1:0] place;  // behind the head
    always_comb begin
      places = '0;
      for (int i = 0; i < TAGS; i++) begin
        place = TW'(i) - dut.i_pool.rd[TW-1:0];
        if ({1'b0, place} < dut.i_pool.count) places[dut.i_pool.mem[i]] += 1'b1;
      end
    end
    always_comb
      if (started) begin
        assert (dut.i_pool.count <= (TW + 1)'(TAGS));
        assert (32'(dut.i_pool.count) + $countones(busy) == 32'(dut.fill));
        assert (32'(dut.fill) <= TAGS);
        for (int t = 0; t < TAGS; t++) begin
          assert (places[t] == (TW + 1)'(!busy[t] && 32'(dut.fill) > t));
          assert (!busy[t] || 32'(dut.fill) > t);
        end
        assert ((quarantined & ~busy) == '0);
        assert (!dut.filling || (hold && busy == '0));
        assert (dut.was_up == up);
        assert (!(dut.dead && out) || down);
        assert (!dut.dead || dut.sweeping || rst);
        assert (!dut.second || dut.dead);
        assert (!dut.dead || hold || !link_up);
      end
  end
endmodule
