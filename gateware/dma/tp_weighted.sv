// SPDX-License-Identifier: Apache-2.0
// Weighted turns: which of N requests is next, so that what they take is as their shares are (deficit round robin).
//
// Each requester has a credit. Those with credit left go, one grant each in turn, and are charged what they take, also beyond their credit. When it
// is somebody's turn (`take`) and nobody in line has any left, all get another share, and every request may go, for each will have credit. Who
// wants nothing keeps what it has and gains up to 2^HOLD shares, so that a pause between two transfers costs it nothing. Of a share that gets smaller
// nobody keeps more than 2^HOLD either.
// `waiting` marks those that stand in line but cannot be granted now: while one of them has credit, nobody without it goes before it.
//
// `grant` is one-hot (0 if nobody may go) and follows `request` combinationally; `take` says that it was served. `charge` comes a cycle
// after the grant, and nobody asks again in that cycle. With `even` they take plain turns, whatever they take.
//
// Promises, for charges from 1 to a share: a request that stays is granted before each other one has taken 2^HOLD + 2 shares, counted anew two
// cycles after a share or `even` has changed; a request waits in a cycle that serves nobody only for one in `waiting` that has credit, for as
// long as that one waits. No credit overflows.
module tp_weighted #(
    parameter int N = 2,
    parameter int SHARE = 13,               // bits of a share, ...
    parameter int UNIT = 7,                 // ... which counts 2^UNIT of what is charged
    parameter int CHARGE = 13,
    parameter int HOLD = 3
) (
    input  logic                      clk,
    input  logic                      rst,
    input  logic                      even,
    input  logic [N-1:0][ SHARE-1:0]  share,    // none is 0
    input  logic [N-1:0]              request,
    input  logic [N-1:0]              waiting,
    input  logic                      take,
    output logic [N-1:0]              grant,
    input  logic [        CHARGE-1:0] charge
);
  localparam int CW = SHARE + UNIT + HOLD + 2;
  logic [N-1:0] has, given;
  logic spent;  // nobody in line has credit
  logic renew;  // so all get another share in this cycle
  assign spent = ((request | waiting) & has) == '0;
  tp_round_robin #(
      .N(N)
  ) i_turn (
      .clk,
      .rst,
      .request(request & (has | {N{spent}})),
      .take,
      .grant
  );
  always_ff @(posedge clk) begin
    given <= take && !rst && !even ? grant : '0;
    renew <= take && spent && request != '0 && !renew && !rst;
  end

  for (genvar c = 0; c < N; c++) begin : g_requester
    logic signed [CW-1:0] credit, kept, next;
    logic low;  // it may gain, ...
    logic [SHARE-1:0] top;  // ... for it has less than 2^HOLD of these
    assign kept = low ? credit : $signed({2'b00, top, (UNIT + HOLD)'(0)});
    assign next = kept + (renew && low ? CW'({share[c], UNIT'(0)}) : '0) - (given[c] ? CW'(charge) : '0);
    always_ff @(posedge clk) begin
      credit <= next;
      has[c] <= next > 0;
      low <= next < $signed({2'b00, share[c], (UNIT + HOLD)'(0)});
      top <= share[c];
      if (rst || even) begin
        credit <= '0;
        has[c] <= 1'b0;
        low <= 1'b1;
      end
    end
  end
endmodule
