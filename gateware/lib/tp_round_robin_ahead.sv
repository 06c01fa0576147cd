// SPDX-License-Identifier: Apache-2.0
// Round-robin arbiter that chooses a cycle ahead: whose turn it is stands in a register, so that nothing behind it waits for the choice.
//
// `turn` is one-hot, and the turn's owner may be served in any cycle in which it requests; `served` says so. The turn goes on when its owner has
// been served or requests nothing, to the next one that requests, else it stays: so one that is alone waits for nothing, and who comes while
// the turn is elsewhere waits a cycle more than with tp_round_robin.
// Promise: a request that stays is served after at most N - 1 others.
// Not for: requests that still stand in the cycle after they were served and ask for nothing more, unless their owner looks again.
// One alone looks at nothing.
// verilator lint_off UNUSEDSIGNAL
module tp_round_robin_ahead #(
    parameter int N = 2
) (
    input  logic         clk,
    input  logic         rst,
    input  logic [N-1:0] request,
    input  logic         served,
    output logic [N-1:0] turn
);
  if (N == 1) begin : g_alone
    assign turn = 1'b1;
  end else if (N == 2) begin : g_two
    logic second;
    assign turn = {second, !second};
    always_ff @(posedge clk) begin
      if (second) second <= !(request[0] && (served || !request[1]));
      else second <= request[1] && (served || !request[0]);
      if (rst) second <= 1'b0;
    end
  end else begin : g_several
    logic moves;
    logic [N-1:0] later, line, below;  // `later`: the lines after the turn's owner; if one of them requests, they alone stand in line
    assign moves = served || (request & turn) == '0;
    assign line = (request & later) != '0 ? request & later : request;
    assign below = line - 1'b1;  // ... up to the first one that requests, this differs from `line`
    always_ff @(posedge clk) begin
      if (moves && request != '0) begin
        turn <= line & ~below;
        later <= ~(line ^ below);
      end
      if (rst) begin
        turn <= N'(1);
        later <= ~N'(1);
      end
    end
  end
endmodule
