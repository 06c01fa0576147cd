// SPDX-License-Identifier: Apache-2.0
// tp_posted_gate: packets stay whole; a beat once shown stays until it is taken; no packet starts while bus mastering is off or `hold`; when off, with
// `discard`, packets are swallowed whole. Nothing is taken but what was shown or swallowed.
// Assumed: a beat stands until it is taken.
module tp_posted_gate_formal #(
    parameter bit INDUCTION = 1
) (
    input logic clk,
    input logic rst,
    input logic bus_master,
    input logic discard,
    input logic hold,
    input logic in_valid,
    input logic in_last,
    input logic out_ready
);
  logic in_ready, out_valid;
  tp_posted_gate dut (
      .clk,
      .rst,
      .bus_master,
      .discard,
      .hold,
      .in_valid,
      .in_ready,
      .in_last,
      .out_valid,
      .out_ready
  );

  logic started = 1'b0;
  logic waits, last_was, shown;
  always_ff @(posedge clk) begin
    started <= 1'b1;
    waits <= in_valid && !in_ready && !rst;
    last_was <= in_last;
    shown <= out_valid && !out_ready && !rst;
  end
  always_comb begin
    if (!started) assume (rst);
    if (started && waits) assume (in_valid && in_last == last_was);
  end

  // A packet is open from the moment it is shown or swallowed until its last beat has gone.
  logic open, swallowed, moved;
  assign moved = in_valid && in_ready;
  int packets;  // with more than one beat, that left whole
  logic longer;
  always_ff @(posedge clk) begin
    if (!open) begin
      swallowed <= !out_valid;
      longer <= 1'b0;
    end
    if (out_valid || moved) begin
      open <= !(moved && in_last);
      longer <= moved;
    end
    if (open && longer && out_valid && out_ready && in_last) packets <= packets < 2 ? packets + 1 : packets;
    if (rst) begin
      open <= 1'b0;
      packets <= 0;
    end
  end

  always_comb
    if (started && !rst) begin
      assert (!out_valid || in_valid);
      assert (!out_valid || out_ready == moved);
      assert (!shown || out_valid);
      assert (open || (bus_master && !hold) || !out_valid);
      assert (open || (discard && !bus_master) || !moved || out_valid);
      assert (!open || !moved || out_valid == !swallowed);
      assert (!open || !out_valid || !swallowed);
      cover (packets == 2 && open && swallowed);
    end

  if (INDUCTION) begin : g_induction
    always_comb
      if (started && !rst) begin
        assert (dut.open == open);
        assert (!open || dut.open_drops == swallowed);
        assert (!shown || (open && !swallowed && waits));
      end
  end
endmodule
