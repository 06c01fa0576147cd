// SPDX-License-Identifier: Apache-2.0
// tp_async_fifo: what goes in comes out, each beat once and in order; it takes no more than it has room for and shows nothing that is not
// there; `rd_data` stands while `rd_valid`. Any two clocks; assumed: the reset of crossings (tp_reset_phase).
// Beats are counted by the pointers themselves; any one beat is watched, by the pointer it was written at.
module tp_async_fifo_formal #(
    parameter int WIDTH = 2,
    parameter int DEPTH = 4,
    parameter bit INDUCTION = 1,
    localparam int AW = $clog2(DEPTH)
) (
    input logic wr_clk,
    input logic wr_rst,
    input logic wr_valid,
    input logic [WIDTH-1:0] wr_data,
    input logic rd_clk,
    input logic rd_rst,
    input logic rd_ready,
    input logic watch
);
  logic live, wr_ready, rd_valid;
  logic [WIDTH-1:0] rd_data;
  tp_async_fifo #(
      .WIDTH(WIDTH),
      .DEPTH(DEPTH)
  ) dut (
      .wr_clk,
      .wr_rst,
      .wr_valid,
      .wr_ready,
      .wr_data,
      .rd_clk,
      .rd_rst,
      .rd_valid,
      .rd_ready,
      .rd_data
  );
  tp_reset_phase phase (
      .a_clk(wr_clk),
      .a_rst(wr_rst),
      .b_clk(rd_clk),
      .b_rst(rd_rst),
      .live
  );

  logic [AW:0] put, got;  // beats that went in and came out
  logic watching;         // a beat was chosen; it stands in the FIFO as long as `got` has not passed it
  logic [AW:0] at;
  logic [WIDTH-1:0] watched;
  always_ff @(posedge wr_clk) begin
    if (wr_rst) begin
      put <= '0;
      watching <= 1'b0;
    end else if (wr_valid && wr_ready) begin
      put <= put + 1'b1;
      if (!watching) begin
        watching <= watch;
        at <= put;
        watched <= wr_data;
      end
    end
  end
  logic stands;
  logic [WIDTH-1:0] stood;
  logic passed;  // the watched beat was read
  always_ff @(posedge rd_clk) begin
    stands <= rd_valid && !rd_ready && !rd_rst;
    stood <= rd_data;
    if (rd_rst) begin
      got <= '0;
      passed <= 1'b0;
    end else if (rd_valid && rd_ready) begin
      got <= got + 1'b1;
      if (watching && got == at) passed <= 1'b1;
    end
  end

  function automatic logic [AW:0] binary(input logic [AW:0] gray);
    binary = gray;
    for (int i = AW - 1; i >= 0; i--) binary[i] = binary[i+1] ^ gray[i];
  endfunction

  // What each side's pointer is on its way to the other side, oldest first: it may only be old.
  logic [AW:0] stored, w3, w2, w1, r3, r2, r1;
  assign stored = put - got;
  assign w1 = binary(dut.to_rd.older) - got;
  assign w2 = binary(dut.to_rd.meta) - got;
  assign w3 = binary(dut.wr_gray_rd) - got;
  assign r1 = put - binary(dut.to_wr.older);
  assign r2 = put - binary(dut.to_wr.meta);
  assign r3 = put - binary(dut.rd_gray_wr);
  logic stays;
  assign stays = watching && !passed;

  always_comb
    if (live) begin
      assert (stored <= (AW + 1)'(DEPTH));
      assert (!rd_valid || stored != 0);
      assert (!wr_ready || stored != (AW + 1)'(DEPTH));
      assert (!stands || rd_rst || (rd_valid && rd_data == stood));
      assert (!(stays && rd_valid && got == at) || rd_data == watched);
      cover (passed && watched == '1 && at == (AW + 1)'(2));
    end

  if (INDUCTION) begin : g_induction
    always_comb
      if (live) begin
        assert (dut.wr == put && dut.rd == got && binary(dut.wr_tp_cdc_gray) == put && binary(dut.rd_tp_cdc_gray) == got);
        assert (w3 <= w2 && w2 <= w1 && w1 <= stored && stored - w1 <= 1);
        assert (r3 >= r2 && r2 >= r1 && r1 >= stored && r1 - stored <= 1 && r3 <= (AW + 1)'(DEPTH));
        assert (!stays || ((AW + 1)'(at - got) < stored && dut.tp_cdc_mem[at[AW-1:0]] == watched));
        assert (!stands || rd_rst || (w3 != 0 && dut.tp_cdc_mem[got[AW-1:0]] == stood));
      end
    // While the reset lasts, what the registers were before has left the chains one by one.
    always_comb begin
      assert (!phase.a_cleared || phase.a_out || (dut.wr == 0 && dut.wr_tp_cdc_gray == 0 && put == 0 && !watching));
      assert (!phase.b_cleared || phase.b_out || (dut.rd == 0 && dut.rd_tp_cdc_gray == 0 && got == 0 && !passed && !stands));
    end
    always_comb
      if (!live) begin
        assert (phase.b_left == 3 || dut.to_rd.older == '0);
        assert (phase.b_left >= 2 || dut.to_rd.meta == '0);
        assert (phase.b_left != 0 || dut.to_rd.q == '0);
        assert (phase.a_left == 3 || dut.to_wr.older == '0);
        assert (phase.a_left >= 2 || dut.to_wr.meta == '0);
        assert (phase.a_left != 0 || dut.to_wr.q == '0);
      end
  end
endmodule
