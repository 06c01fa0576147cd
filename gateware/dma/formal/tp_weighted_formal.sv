// SPDX-License-Identifier: Apache-2.0
// tp_weighted: nobody is passed over: while a request stays, each other requester takes at most 2^HOLD + 2 of its shares before it is granted. With
// `take`, a request waits only for one in `waiting` that has credit, and nobody without credit goes before such a one. No credit overflows. With
// `even`, at most N - 1 others are served before a request that stays. Shares and `even` change at any time: then it is counted anew two cycles
// later, when no credit is above 2^HOLD + 1 of the new shares.
// Assumed: what is charged is 1 to a unit, hence no more than a share; nobody asks in the cycle after its grant.
module tp_weighted_formal #(
    parameter int N = 3,
    parameter int HOLD = 1,
    parameter bit INDUCTION = 1,
    localparam int SHARE = 2,
    localparam int UNIT = 1,
    localparam int CHARGE = 2
) (
    input logic clk,
    input logic rst,
    input logic even,
    input logic [N-1:0][SHARE-1:0] share,
    input logic [N-1:0] request,
    input logic [N-1:0] waiting,
    input logic take,
    input logic [CHARGE-1:0] charge,
    input logic [1:0] choose
);
  logic [N-1:0] grant;
  tp_weighted #(
      .N(N),
      .SHARE(SHARE),
      .UNIT(UNIT),
      .CHARGE(CHARGE),
      .HOLD(HOLD)
  ) dut (
      .*
  );

  logic started = 1'b0;
  logic [1:0] one;  // the request that is watched
  logic [N-1:0][SHARE-1:0] share_was = '1, share_before = '1;
  logic even_was = 1'b0, even_before = 1'b0;
  logic same;  // for three cycles
  assign same = share == share_was && share == share_before && even == even_was && even == even_before;
  logic [N-1:0] served;
  logic [7:0] others, taken;  // grants of others, and what they took, since the watched request came and stayed
  logic [7:0] most;  // what the others' shares allow
  always_comb begin
    most = '0;
    for (int c = 0; c < N; c++) if (c != 32'(one)) most += 8'(share[c]) << (UNIT + HOLD);
    for (int c = 0; c < N; c++) if (c != 32'(one)) most += 8'(share[c]) << (UNIT + 1);
  end
  always_ff @(posedge clk) begin
    started <= 1'b1;
    if (!started) one <= choose;
    share_was <= share;
    even_was <= even;
    share_before <= share_was;
    even_before <= even_was;
    served <= take && !rst ? grant : '0;
    if (rst || !same || !request[one] || (take && grant[one])) others <= '0;
    else if (take && grant != '0) others <= others + 1'b1;
  end
  always_comb begin
    if (!started) assume (rst && 32'(choose) < N);
    for (int c = 0; c < N; c++) assume (share[c] != '0);
    assume (charge != '0 && 32'(charge) <= 2 ** UNIT);
    if (started) assume ((request & served) == '0);
  end

  // Credits as they are seen from here.
  logic signed [N-1:0][7:0] credit;
  logic [N-1:0] has, low;
  for (genvar c = 0; c < N; c++) begin : g_seen
    assign credit[c] = 8'(dut.g_requester[c].credit);
    assign has[c] = $signed(credit[c]) > 0;
    assign low[c] = dut.g_requester[c].low;
    if (INDUCTION) begin : g_whole  // nothing is cut off
      always_comb if (started && !rst) assert (dut.g_requester[c].credit == $signed(credit[c]));
    end
  end

  always_comb
    if (started && !rst) begin
      assert ((grant & (grant - 1'b1)) == '0 && (grant & ~request) == '0);
      assert (request == '0 || grant != '0 || (waiting & has & ~request) != '0);
      if (grant != '0 && (grant & has) == '0) assert (((request | waiting) & has) == '0);
      assert (!same || others <= most);
      assert (!(same && even) || 32'(others) < N);
      for (int c = 0; c < N; c++) begin
        assert ($signed(credit[c]) > -(2 ** UNIT));
        assert ($signed(credit[c]) < $signed(8'(share_before[c])) * 2 ** (UNIT + HOLD) + $signed(8'(share_was[c])) * 2 ** UNIT);
      end
      cover (!even && others == 8'd6 && grant[one] && take);
      cover (!even && request != '0 && grant == '0);
      cover (even && 32'(others) == N - 1 && grant[one]);
    end

  if (INDUCTION) begin : g_induction
    // What the others may still take before the watched one: their credit, and another share if that one waits for its own.
    logic signed [N-1:0][7:0] soon;
    logic [7:0] left;
    logic needs;
    logic [N-1:0] later;
    int line;
    assign needs = !has[one] && !dut.renew;
    assign later = dut.i_turn.later;
    always_comb begin
      left = '0;
      for (int c = 0; c < N; c++) begin
        soon[c] = low[c] ? credit[c] : 8'(8'(share_was[c]) << (UNIT + HOLD));
        if (dut.renew && low[c]) soon[c] = soon[c] + 8'(8'(share[c]) << UNIT);
        if (dut.given[c]) soon[c] = soon[c] - 8'd1;
        if (c != 32'(one)) left += ($signed(soon[c]) > 0 ? soon[c] : 8'd0) + (needs ? 8'(8'(share[c]) << UNIT) : 8'd0);
      end
      line = 0;
      for (int c = 0; c < N; c++) begin
        if (later[one]) line += 32'(later[c] && c < 32'(one));
        else line += 32'(later[c] || c < 32'(one));
      end
    end
    always_comb if (started) assert (32'(one) < N);
    for (genvar c = 0; c < N; c++) begin : g_share
      always_comb assert (share_was[c] != '0 && share_before[c] != '0);
      always_comb if (started) assert (dut.g_requester[c].top == share_was[c]);
    end
    always_comb
      if (started && !rst) begin
        assert (dut.given == (even_was ? '0 : served) && (served & (served - 1'b1)) == '0);
        assert (dut.has == has);
        assert ((~later & (~later + 1'b1)) == '0);
        assert (!even_was || credit == '0);
        assert (!(same && even) || others == '0 || 32'(others) + line <= N - 1);
        for (int c = 0; c < N; c++) begin
          assert (low[c] == ($signed(credit[c]) < $signed(8'(8'(share_was[c]) << (UNIT + HOLD)))));
          if (!even_was) assert (!served[c] || $signed(soon[c]) >= 0);
        end
        if (same && !even) assert (9'(others) + 9'(left) <= 9'(most));
      end
  end
endmodule
