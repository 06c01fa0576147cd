// SPDX-License-Identifier: Apache-2.0
// Holds another clock domain in reset, for a stated number of its clocks at least, and tells when it has left it.
//
// `request` (a level or a pulse of `clk`) is kept until the other domain has been in reset for CLOCKS of its own clocks; a clock that
// is slow, late or stopped cannot miss it. `busy` (on `clk`) is 1 from the clock after the request until the other domain has left
// reset; meanwhile nothing may be sent to it. `dst_rst` is a register on `dst_clk`, active high, and on from configuration.
// `src_rst` is the reset for the near half of a crossing between the two: it rises once the other half is in reset, so that the other
// half never sees it, and falls after the other half's.
// Without asynchronous resets: `dst_rst` does not rise while `dst_clk` stands still, but `busy` stays until it has.
module tp_reset_sync #(
    parameter int CLOCKS = 16
) (
    input  logic clk,
    input  logic request,
    output logic busy,
    output logic src_rst,
    input  logic dst_clk,
    output logic dst_rst
);
  localparam int W = $clog2(CLOCKS + 1);
  if (CLOCKS < 1) $error("%m: CLOCKS %0d: make it 1 or more", CLOCKS);

  logic hold;            // clk: the request, stretched
  logic hold_dst;
  logic served;          // dst_clk: in reset for long enough
  logic served_src;
  logic [2:0] settled;   // src_rst has been on for some clocks, so what it resets has reached the other side
  logic again;
  logic [W-1:0] left;

  // No reset reaches these: they start from configuration.
  initial begin
    hold = 1'b1;
    settled = '0;
    again = 1'b0;
    served = 1'b0;
    left = W'(CLOCKS);
    dst_rst = 1'b1;
  end

  tp_sync #(
      .INITIAL(1'b1)  // in reset from configuration on, too
  ) hold_sync (
      .clk(dst_clk),
      .d(hold),
      .q(hold_dst)
  );
  tp_sync served_sync (
      .clk(clk),
      .d(served),
      .q(served_src)
  );

  // A hold that was released is raised again only once the other side has taken back its answer to it: else that answer would serve
  // the new request before its time. Until then `again` remembers the request.
  assign busy = hold || again || served_src;
  assign src_rst = served_src;

  always_ff @(posedge clk) begin
    settled <= {settled[1:0], served_src && hold};
    if (hold) begin
      if (&settled && !request) hold <= 1'b0;
    end else if (request || again) begin
      again <= served_src;
      hold  <= !served_src;
    end
  end

  always_ff @(posedge dst_clk) begin
    if (hold_dst) begin
      dst_rst <= 1'b1;
      if (left != 0) left <= left - 1'b1;
      served <= left == 0;
    end else begin
      dst_rst <= 1'b0;
      left <= W'(CLOCKS);
      served <= 1'b0;
    end
  end
endmodule
