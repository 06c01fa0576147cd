// SPDX-License-Identifier: Apache-2.0
// tp_round_robin_ahead: one has the turn, and it is one that requested in the cycle before, if any did; and nobody is passed over: while a request
// stays, at most N - 1 cycles come before its turn in which another one is served, or whoever has the turn wants nothing. The request that
// is watched is any one of them.
module tp_round_robin_ahead_formal #(
    parameter int N = 5,
    parameter bit INDUCTION = 1
) (
    input logic clk,
    input logic rst,
    input logic [N-1:0] request,
    input logic served,
    input logic [N-1:0] choose
);
  logic [N-1:0] turn;
  tp_round_robin_ahead #(
      .N(N)
  ) dut (
      .clk,
      .rst,
      .request,
      .served,
      .turn
  );

  logic started = 1'b0;
  logic [N-1:0] one;  // the request that is watched
  logic [N-1:0] request1;
  always_ff @(posedge clk) begin
    started <= 1'b1;
    request1 <= rst ? '0 : request;
    if (!started) one <= choose;
  end
  always_comb
    if (!started) begin
      assume (rst);
      assume (choose != '0 && (choose & (choose - 1'b1)) == '0);
    end

  logic [3:0] passed;  // such cycles since the watched request came and stayed
  always_ff @(posedge clk) begin
    if (rst || (request & one) == '0 || (served && turn == one)) passed <= '0;
    else if (served || (request & turn) == '0) passed <= passed + 1'b1;
  end

  // How many lines come before the watched one: from behind the turn's owner on, which is the last.
  logic [3:0] line;
  always_comb begin
    line = '0;
    for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) if (turn[i] && one[j]) line = 4'(j > i ? j - i : j == i ? 0 : j - i + N);
  end

  always_comb
    if (started) begin
      assert (turn != '0 && (turn & (turn - 1'b1)) == '0);
      assert (request1 == '0 || (turn & request1) != '0);
      assert (32'(passed) <= N - 1);
      cover (32'(passed) == N - 1 && turn == one && served && !rst);
    end

  if (INDUCTION) begin : g_induction
    always_comb
      if (started) begin
        assert (one != '0 && (one & (one - 1'b1)) == '0);
        assert (32'(passed) + 32'(line) <= N - 1);
      end
    if (N > 2) begin : g_several
      always_comb if (started) assert (dut.g_several.later == ~(turn | (turn - 1'b1)));
    end
  end
endmodule
