// SPDX-License-Identifier: Apache-2.0
// tp_round_robin: one grant at most, only to a request, and always one when there is a request; and nobody is passed over: while a request
// stays, at most N - 1 others are served before it. The request that is watched is any one of them.
module tp_round_robin_formal #(
    parameter int N = 5,
    parameter bit INDUCTION = 1
) (
    input logic clk,
    input logic rst,
    input logic [N-1:0] request,
    input logic take,
    input logic [N-1:0] choose
);
  logic [N-1:0] grant;
  tp_round_robin #(
      .N(N)
  ) dut (
      .clk,
      .rst,
      .request,
      .take,
      .grant
  );

  logic started = 1'b0;
  logic [N-1:0] one;  // the request that is watched
  always_ff @(posedge clk) begin
    started <= 1'b1;
    if (!started) one <= choose;
  end
  always_comb
    if (!started) begin
      assume (rst);
      assume (choose != '0 && (choose & (choose - 1'b1)) == '0);
    end

  int others;  // served since the watched request came and stayed
  always_ff @(posedge clk) begin
    if (rst || (request & one) == 0 || (grant & one) != 0) others <= 0;
    else if (take) others <= others + 1;
  end

  // How many lines come before the watched one in the order of the moment.
  int line;
  always_comb begin
    line = 0;
    for (int i = 0; i < N; i++) begin
      if ((dut.later & one) != 0) line += 32'(dut.later[i] && (N'(1) << i) < one);
      else line += 32'(dut.later[i] || (N'(1) << i) < one);
    end
  end

  always_comb
    if (started) begin
      assert ((grant & (grant - 1'b1)) == '0 && (grant & ~request) == '0 && (grant != '0) == (request != '0));
      assert (others >= 0 && others <= N - 1);
      cover (others == N - 1 && (grant & one) != 0 && !rst);
    end

  if (INDUCTION) begin : g_induction
    always_comb
      if (started) begin
        // `later` is the lines above some line, and each service of another brings the watched one nearer.
        assert (one != '0 && (one & (one - 1'b1)) == '0);
        assert ((~dut.later & (~dut.later + 1'b1)) == '0);
        assert (others + line <= N - 1);
      end
  end
endmodule
