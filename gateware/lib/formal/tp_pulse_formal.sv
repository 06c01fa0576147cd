// SPDX-License-Identifier: Apache-2.0
// tp_pulse: each event that the source is told of (a handshake there) was one handshake at the destination, just before; no event is given
// twice or invented. Assumed: the reset of crossings (tp_reset_phase), and, as the module asserts, that `src_valid` stays until `src_ready`.
module tp_pulse_formal #(
    parameter bit INDUCTION = 1
) (
    input logic src_clk,
    input logic src_rst,
    input logic src_valid,
    input logic dst_clk,
    input logic dst_rst,
    input logic dst_ready
);
  logic live, src_ready, dst_valid;
  tp_pulse dut (
      .src_clk,
      .src_rst,
      .src_valid,
      .src_ready,
      .dst_clk,
      .dst_rst,
      .dst_valid,
      .dst_ready
  );
  tp_reset_phase phase (
      .a_clk(src_clk),
      .a_rst(src_rst),
      .b_clk(dst_clk),
      .b_rst(dst_rst),
      .live
  );

  logic waits, wished;
  logic [1:0] told, given;  // handshakes at the source, at the destination
  always_ff @(posedge src_clk) begin
    waits <= src_valid && !src_ready && !src_rst;
    if (src_rst) told <= '0;
    else if (src_valid && src_ready) told <= told + 1'b1;
  end
  always_ff @(posedge dst_clk) begin
    if (dst_rst) given <= '0;
    else if (dst_valid && dst_ready) given <= given + 1'b1;
  end
  always_comb if (waits && !src_rst) assume (src_valid);

  logic [1:0] under_way;
  assign under_way = given - told;
  logic [7:0] round;  // see tp_handshake_formal
  assign round = {
    dut.asked, dut.ask_sync.older, dut.ask_sync.meta, dut.asked_dst, dut.done, dut.done_sync.older, dut.done_sync.meta, dut.done_src
  };
  always_comb
    if (live) begin
      assert (under_way <= 1);
      assert (!src_ready || src_rst || under_way == 1);
      assert (!dst_valid || dst_rst || (under_way == 0 && src_valid));
      cover (told == 2 && given == 2);
    end

  if (INDUCTION) begin : g_induction
    always_comb
      if (live) begin
        assert ($countones(round[7:1] ^ round[6:0]) <= 1);
        // An event is under way from the flip to its handshake at the source.
        assert (src_rst || !dut.served || waits);
        assert (dut.served || dut.asked == dut.done_src);
        assert (under_way[0] == (dut.served && dut.asked == dut.done));
      end
    // While the reset lasts, what the registers were before has left the chains one by one.
    always_comb begin
      assert (!phase.a_cleared || phase.a_out || (!dut.asked && !dut.served && told == 0 && !waits));
      assert (!phase.b_cleared || phase.b_out || (!dut.done && given == 0));
    end
    always_comb
      if (!live) begin
        assert (phase.b_left == 3 || dut.ask_sync.older == '0);
        assert (phase.b_left >= 2 || dut.ask_sync.meta == '0);
        assert (phase.b_left != 0 || dut.ask_sync.q == '0);
        assert (phase.a_left == 3 || dut.done_sync.older == '0);
        assert (phase.a_left >= 2 || dut.done_sync.meta == '0);
        assert (phase.a_left != 0 || dut.done_sync.q == '0);
      end
  end
endmodule
