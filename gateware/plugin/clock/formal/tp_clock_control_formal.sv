// SPDX-License-Identifier: Apache-2.0
// tp_clock_control with its gates, for any clocks, any asks, and inputs that stop and run as they like: never two gates are open, what is told to be the
// user's clock is one that is open, and a mask is lifted from a closed gate only. Of tp_clock_meter it takes: an input that is masked runs
// only after ticks of it, and of `clk` after those.
module tp_clock_control_formal #(
    parameter int CLOCKS = 3,
    parameter bit INDUCTION = 1
) (
    input logic clk,
    input logic [CLOCKS-1:0] clocks,
    input logic [CLOCKS-1:0] will_run,
    input logic ask_valid,
    input logic [1:0] ask_input
);
  logic step;
  assign step = 1'b1;  // a clock that ticks with each step: see ticks.v

  logic [CLOCKS-1:0] runs = '1, masked;
  logic ask_ready, settled, astray, user_clk;
  logic [1:0] current;
  tp_clock_control #(.CLOCKS(CLOCKS)) dut (.*);
  logic [CLOCKS-1:0] on, enable, seen;
  assign on = dut.on;
  assign enable = dut.enable;
  assign seen = dut.seen;

  logic [CLOCKS-1:0][2:0] ticks, after;  // of the input since it was masked, and of `clk` since it had enough of those
  logic [CLOCKS-1:0] was_masked, was_on;
  initial begin
    ticks = '0;
    after = '0;
    was_masked = '0;
    was_on = '0;
  end
  always_ff @(posedge clk) runs <= will_run;
  for (genvar k = 0; k < CLOCKS; k++) begin : g_input
    always_ff @(posedge step) begin
      ticks[k] <= !masked[k] ? '0 : ticks[k] + 3'(clocks[k] && ticks[k] != 4);
      after[k] <= !masked[k] || ticks[k] != 4 ? '0 : after[k] + 3'(clk && after[k] != 4);
      was_masked[k] <= masked[k];
      was_on[k] <= on[k];
    end
    always_comb begin
      assume (!(masked[k] && runs[k]) || after[k] == 4);
      assert (!(was_masked[k] && !masked[k]) || !(was_on[k] || on[k]));
    end
  end

  always_comb begin
    assert ($onehot0(on & ~masked));
    assert (!settled || on[current] && !masked[current]);
    assert (!ask_ready || settled && runs[current]);
    cover (settled && current == 2 && !astray);
    cover (settled && masked == 1);
    cover (settled && astray && current == 0 && masked == 2);
  end

  if (INDUCTION) begin : g_induction
    always_comb begin
      assert (32'(current) < CLOCKS && 32'(dut.wanted) < CLOCKS);
      assert (enable == (dut.changing ? '0 : CLOCKS'(1) << current));
      assert (dut.changing || !masked[current]);
    end
    for (genvar k = 0; k < CLOCKS; k++) begin : g_chain
      // From the enable to what is seen of the gate.
      logic [7:0] chain;
      assign chain = {
        enable[k],
        dut.gen_gates[k].gate.enable_sync.older,
        dut.gen_gates[k].gate.enable_sync.meta,
        dut.gen_gates[k].gate.enable_sync.stable[0],
        on[k],
        dut.on_sync.older[k],
        dut.on_sync.meta[k],
        seen[k]
      };
      always_comb begin
        assert (masked[k] || 32'(current) == k || chain == '0);
        assert (masked[k] || 32'(current) != k || $countones(chain[7:1] ^ chain[6:0]) <= 1);
        assert (!masked[k] || !enable[k]);
        assert (ticks[k] <= 4 && after[k] <= 4);
        assert (ticks[k] < 1 || !chain[6]);
        assert (ticks[k] < 2 || !chain[5]);
        assert (ticks[k] < 3 || !chain[4]);
        assert (ticks[k] < 4 || !chain[3]);
        assert (after[k] == 0 || ticks[k] == 4);
        assert (after[k] < 1 || !chain[2]);
        assert (after[k] < 2 || !chain[1]);
        assert (after[k] < 3 || !chain[0]);
      end
    end
  end
endmodule
