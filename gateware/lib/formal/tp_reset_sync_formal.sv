// SPDX-License-Identifier: Apache-2.0
// tp_reset_sync, from configuration on and for any requests: a reset of the other domain lasts for CLOCKS of its clocks at least; the near
// half's reset begins within it, has then four clocks of its own and three of the other before the other half leaves, and ends after it; a request is `busy` until such a
// reset is over; without `busy` neither half is in reset. This is what tp_reset_phase assumes of the crossings.
module tp_reset_sync_formal #(
    parameter int CLOCKS = 4,
    parameter bit INDUCTION = 1
) (
    input logic clk,
    input logic request,
    input logic dst_clk
);
  logic busy, src_rst, dst_rst;
  tp_reset_sync #(
      .CLOCKS(CLOCKS)
  ) dut (
      .clk,
      .request,
      .busy,
      .src_rst,
      .dst_clk,
      .dst_rst
  );

  // Each fall of dst_rst, and each request that came since the one before it, marked by a flip.
  logic asked = 1'b1, fell = 1'b0;
  int lasted = 0;  // clocks of the other domain in this reset
  int near = 0;    // clocks of the near half in its reset
  int after = 0;   // clocks of the other domain since the near half was first cleared
  always_ff @(posedge clk) begin
    if (request) asked <= !fell;
    near <= src_rst ? (near < 8 ? near + 1 : near) : 0;
  end
  always_ff @(posedge dst_clk) begin
    if (dst_rst) lasted <= lasted < CLOCKS ? lasted + 1 : lasted;
    else lasted <= 0;
    after <= near == 0 ? 0 : after < 8 ? after + 1 : after;
    if (dst_rst && !dut.hold_dst) fell <= asked;
  end

  logic [7:0] round;  // from `hold` to the near half's view of `served`
  assign round = {
    dut.hold, dut.hold_sync.older, dut.hold_sync.meta, dut.hold_dst, dut.served, dut.served_sync.older, dut.served_sync.meta, dut.served_src
  };
  logic leaves;
  assign leaves = dst_rst && !dut.hold_dst;  // with the next clock of the other domain

  always_comb begin
    assert (!leaves || lasted >= CLOCKS);
    assert (!leaves || (src_rst && near >= 4 && after >= 2));
    assert (busy || (asked == fell && !dst_rst && !src_rst));
    cover (!busy && near == 0 && asked);
  end

  if (INDUCTION) begin : g_induction
    always_comb begin
      assert ($countones(round[7:1] ^ round[6:0]) <= 1);
      assert (32'(dut.left) <= CLOCKS && 32'(dut.left) + lasted >= CLOCKS - 1 && lasted >= 0);
      assert (!dut.served || (dst_rst && dut.left == 0 && lasted >= CLOCKS));
      assert (!dut.hold_dst || dst_rst || 32'(dut.left) == CLOCKS);
      assert (near >= 0 && near <= 8 && after >= 0 && after <= 8);
      assert (asked == fell || dut.hold || dut.again || dst_rst);
      assert (!dst_rst || dut.served || (dut.hold && dut.hold_dst));
      assert (!(dut.settled[0] && dut.hold) || dut.served_src);
      assert (!dut.settled[0] || near >= 1);
      assert (!(dut.settled[0] && dut.settled[1]) || near >= 2);
      assert (!(&dut.settled) || near >= 3);
      assert (!(dut.served && !dut.hold) || near >= 4);
      assert (!(dut.served && !dut.hold_sync.meta) || after >= 1);
      assert (!(dut.served && !dut.hold_dst) || after >= 2);
    end
  end
endmodule
