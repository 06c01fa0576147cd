// SPDX-License-Identifier: Apache-2.0
// Round-robin arbiter: which of N requests is next.
//
// `grant` is one-hot (0 without a request) and follows `request` combinationally; `take` says that the granted request was served, and
// makes it the last in line. Promise: a request that stays is granted after at most N - 1 others are served.
// Not for: keeping a grant over several clocks; the owner latches it.
module tp_round_robin #(
    parameter int N = 2
) (
    input  logic         clk,
    input  logic         rst,
    input  logic [N-1:0] request,
    input  logic         take,
    output logic [N-1:0] grant
);
  if (N < 1) $error("%m: N %0d: make it 1 or more", N);

  logic [N-1:0] later, ahead;  // `later`: the lines after the one served last; they come before the others

  assign ahead = request & later;
  assign grant = ahead != 0 ? ahead & (~ahead + 1'b1) : request & (~request + 1'b1);

  always_ff @(posedge clk) begin
    if (rst) later <= '0;
    else if (take && grant != 0) later <= ~(grant | (grant - 1'b1));
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk) begin
    if (!rst)
      assert ($onehot0(grant) && (grant & ~request) == 0)
      else $error("%m: grant %b, request %b", grant, request);
  end
`endif
endmodule
