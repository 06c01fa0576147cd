// SPDX-License-Identifier: Apache-2.0
// tp_handshake: each word taken at the source is given once at the destination, unchanged, and no other; one is under way at a time.
// Assumed: the reset of crossings (tp_reset_phase), and, as the module itself asserts, that the source's word stands until it is taken.
module tp_handshake_formal #(
    parameter int WIDTH = 3,
    parameter bit INDUCTION = 1
) (
    input logic src_clk,
    input logic src_rst,
    input logic src_valid,
    input logic [WIDTH-1:0] src_data,
    input logic dst_clk,
    input logic dst_rst,
    input logic dst_ready
);
  logic live, src_ready, dst_valid;
  logic [WIDTH-1:0] dst_data;
  tp_handshake #(
      .WIDTH(WIDTH)
  ) dut (
      .src_clk,
      .src_rst,
      .src_valid,
      .src_ready,
      .src_data,
      .dst_clk,
      .dst_rst,
      .dst_valid,
      .dst_ready,
      .dst_data
  );
  tp_reset_phase phase (
      .a_clk(src_clk),
      .a_rst(src_rst),
      .b_clk(dst_clk),
      .b_rst(dst_rst),
      .live
  );

  logic waits;
  logic [WIDTH-1:0] waited, word;
  logic [1:0] put, got;  // words taken, words given
  always_ff @(posedge src_clk) begin
    waits <= src_valid && !src_ready && !src_rst;
    waited <= src_data;
    if (src_rst) put <= '0;
    else if (src_valid && src_ready) begin
      put <= put + 1'b1;
      word <= src_data;
    end
  end
  always_ff @(posedge dst_clk) begin
    if (dst_rst) got <= '0;
    else if (dst_valid && dst_ready) got <= got + 1'b1;
  end
  always_comb if (waits && !src_rst) assume (src_valid && src_data == waited);

  logic [1:0] under_way;
  assign under_way = put - got;

  // The way round, from `asked` to the source's view of `done`: it holds one change at most.
  logic [7:0] round;
  assign round = {
    dut.asked, dut.ask_sync.older, dut.ask_sync.meta, dut.asked_dst, dut.done, dut.done_sync.older, dut.done_sync.meta, dut.done_src
  };
  always_comb
    if (live) begin
      assert (under_way <= 1);
      assert (!src_ready || src_rst || under_way == 0);
      assert (!dst_valid || dst_rst || (under_way == 1 && dst_data == word));
      cover (put == 2 && got == 2);
    end

  if (INDUCTION) begin : g_induction
    always_comb
      if (live) begin
        assert ($countones(round[7:1] ^ round[6:0]) <= 1);
        assert (under_way[0] == (dut.asked ^ dut.done));
        assert (under_way == 0 || dut.tp_cdc_data == word);
      end
    // While the reset lasts, what the registers were before has left the chains one by one.
    always_comb begin
      assert (!phase.a_cleared || phase.a_out || (!dut.asked && put == 0 && !waits));
      assert (!phase.b_cleared || phase.b_out || (!dut.done && got == 0));
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
