// SPDX-License-Identifier: Apache-2.0
// tp_posted_gate: a beat once shown stays until it is taken; no packet starts while bus mastering is off or `hold`, and one that has been shown
// goes on whatever they do. Nothing is taken but what was shown. `open` says that the packet before the gate has been shown.
// Assumed: a beat that is shown stands until it is taken, any other may be withdrawn.
module tp_posted_gate_formal #(
    parameter bit INDUCTION = 1
) (
    input logic clk,
    input logic rst,
    input logic bus_master,
    input logic hold,
    input logic in_valid,
    input logic in_last,
    input logic out_ready
);
  logic in_ready, out_valid, open;
  tp_posted_gate dut (
      .clk,
      .rst,
      .bus_master,
      .hold,
      .in_valid,
      .in_ready,
      .in_last,
      .out_valid,
      .out_ready,
      .open
  );

  logic started = 1'b0;
  logic last_was, shown;
  always_ff @(posedge clk) begin
    started <= 1'b1;
    last_was <= in_last;
    shown <= out_valid && !out_ready && !rst;
  end
  always_comb begin
    if (!started) assume (rst);
    if (started && shown) assume (in_valid && in_last == last_was);
  end

  // A packet is midway from the moment it is shown until its last beat has gone.
  logic midway, moved;
  assign moved = in_valid && in_ready;
  int packets;  // with more than one beat, that left whole
  logic longer;
  always_ff @(posedge clk) begin
    if (!midway) longer <= 1'b0;
    if (out_valid || moved) begin
      midway <= !(moved && in_last);
      longer <= moved;
    end
    if (midway && longer && out_valid && out_ready && in_last) packets <= packets < 2 ? packets + 1 : packets;
    if (rst) begin
      midway <= 1'b0;
      packets <= 0;
    end
  end

  always_comb
    if (started && !rst) begin
      assert (!out_valid || in_valid);
      assert (moved == (out_valid && out_ready));
      assert (!shown || out_valid);
      assert (midway || (bus_master && !hold) || !out_valid);
      assert (!(midway && in_valid) || out_valid);
      assert (open == midway);
      cover (packets == 2 && midway && !bus_master);
    end

  if (INDUCTION) begin : g_induction
    always_comb
      if (started && !rst) begin
        assert (!shown || midway);
      end
  end
endmodule
