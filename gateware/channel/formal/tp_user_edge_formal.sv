// SPDX-License-Identifier: Apache-2.0
// tp_user_edge, of both kinds: while `user_busy` nothing moves on the mover's side, and while the user core is in reset no beat moves on
// its own; a request of a reset is busy from the next clock on, and the core is not in reset without. With USER_ASYNC 0 a beat passes in
// the cycle in which it is sent, whole, and none in the cycle of its stream's reset, which passes, too. With USER_ASYNC 1 beats,
// accesses and resets are the crossings', which have proofs of their own. Both sides are on one clock here, with one channel each way:
// what is proved is combinational, but for the reset (tp_reset_sync).
module tp_user_edge_formal #(
    parameter bit USER_ASYNC = 1,
    parameter bit INDUCTION = 1,
    localparam int WIDTH = 16,
    localparam int KEEP = WIDTH / 8,
    localparam int H2C_BEAT = WIDTH + KEEP + 2 + 64 + 64 + 32,
    localparam int C2H_BEAT = WIDTH + KEEP + 1 + 48 + 32 + 32
) (
    input logic clk,
    input logic rst,
    input logic card_reset,
    input logic mv_h2c_tvalid,
    input logic [H2C_BEAT-1:0] mv_h2c_beat,
    input logic mv_h2c_reset,
    input logic mv_c2h_tready,
    input logic mv_c2h_reset,
    input logic h2c_tready,
    input logic c2h_tvalid,
    input logic [C2H_BEAT-1:0] c2h_beat,
    input logic mv_axil_awvalid,
    input logic mv_axil_wvalid,
    input logic mv_axil_bready,
    input logic mv_axil_arvalid,
    input logic mv_axil_rready,
    input logic m_axil_awready,
    input logic m_axil_wready,
    input logic m_axil_bvalid,
    input logic m_axil_arready,
    input logic m_axil_rvalid,
    input logic [15:0] mv_irq_ready,
    input logic [15:0] irq_valid,
    input logic mv_mem_write_valid,
    input logic mem_write_ready,
    input logic mem_failed_valid,
    input logic mv_mem_failed_ready,
    input logic mv_mem_read_valid,
    input logic mem_read_ready,
    input logic mem_answer_valid,
    input logic mv_mem_answer_ready
);
  logic user_busy, user_rst_n;
  logic mv_h2c_tready, mv_h2c_reset_busy, mv_c2h_tvalid, mv_c2h_reset_busy, h2c_tvalid, h2c_reset, c2h_tready, c2h_reset;
  logic mv_axil_awready, mv_axil_wready, mv_axil_bvalid, mv_axil_arready, mv_axil_rvalid;
  logic m_axil_awvalid, m_axil_wvalid, m_axil_bready, m_axil_arvalid, m_axil_rready;
  logic [15:0] mv_irq_valid, irq_ready;
  logic mv_mem_write_ready, mem_write_valid, mv_mem_failed_valid, mem_failed_ready;
  logic mv_mem_read_ready, mem_read_valid, mv_mem_answer_valid, mem_answer_ready;
  logic [H2C_BEAT-1:0] h2c_beat;
  logic [C2H_BEAT-1:0] mv_c2h_beat;
  // The order of a beat's parts is this module's own.
  logic [WIDTH-1:0] mv_h2c_tdata, h2c_tdata, mv_c2h_tdata, c2h_tdata;
  logic [KEEP-1:0] mv_h2c_tkeep, h2c_tkeep, mv_c2h_tkeep, c2h_tkeep;
  logic mv_h2c_tlast, h2c_tlast, mv_c2h_tlast, c2h_tlast, mv_h2c_error, h2c_error;
  logic [63:0] mv_h2c_length, h2c_length, mv_h2c_offset, h2c_offset;
  logic [31:0] mv_h2c_user, h2c_user, mv_c2h_user, c2h_user, mv_c2h_offset, c2h_offset;
  logic [47:0] mv_c2h_length, c2h_length;
  assign {mv_h2c_length, mv_h2c_tdata, mv_h2c_tlast, mv_h2c_user, mv_h2c_tkeep, mv_h2c_offset, mv_h2c_error} = mv_h2c_beat;
  assign h2c_beat = {h2c_length, h2c_tdata, h2c_tlast, h2c_user, h2c_tkeep, h2c_offset, h2c_error};
  assign {c2h_length, c2h_tdata, c2h_tlast, c2h_user, c2h_tkeep, c2h_offset} = c2h_beat;
  assign mv_c2h_beat = {mv_c2h_length, mv_c2h_tdata, mv_c2h_tlast, mv_c2h_user, mv_c2h_tkeep, mv_c2h_offset};
  tp_user_edge #(
      .DATA_WIDTH(WIDTH),
      .USER_ASYNC(USER_ASYNC),
      .MEMORY_WINDOWS(1),
      .DEPTH(4)
  ) dut (
      .user_clk(clk),
      .mv_axil_awaddr('0),
      .mv_axil_wdata('0),
      .mv_axil_wstrb('0),
      .mv_axil_bresp(),
      .mv_axil_araddr('0),
      .mv_axil_rdata(),
      .mv_axil_rresp(),
      .m_axil_awaddr(),
      .m_axil_wdata(),
      .m_axil_wstrb(),
      .m_axil_bresp('0),
      .m_axil_araddr(),
      .m_axil_rdata('0),
      .m_axil_rresp('0),
      .mv_h2c_end_valid(),
      .mv_h2c_end_ready(1'b0),
      .mv_h2c_end_status(),
      .h2c_end_valid(1'b0),
      .h2c_end_ready(),
      .h2c_end_status('0),
      .mv_c2h_status(),
      .mv_c2h_ask_valid(1'b0),
      .mv_c2h_ask_ready(),
      .mv_c2h_ask_cancel(1'b0),
      .mv_c2h_ask_length('0),
      .mv_c2h_ask_offset('0),
      .mv_c2h_ask_user('0),
      .c2h_status('0),
      .c2h_ask_valid(),
      .c2h_ask_ready(1'b0),
      .c2h_ask_cancel(),
      .c2h_ask_length(),
      .c2h_ask_offset(),
      .c2h_ask_user(),
      .mv_mem_write_address('0),
      .mv_mem_write_rows('0),
      .mv_mem_write_data('0),
      .mv_mem_write_strb('0),
      .mv_mem_write_last(1'b0),
      .mem_write_address(),
      .mem_write_rows(),
      .mem_write_data(),
      .mem_write_strb(),
      .mem_write_last(),
      .mv_mem_read_address('0),
      .mv_mem_read_rows('0),
      .mv_mem_read_after(1'b0),
      .mv_mem_read_taken('0),
      .mem_read_address(),
      .mem_read_rows(),
      .mem_read_after(),
      .mem_read_taken(),
      .mem_answer_data('0),
      .mem_answer_error(1'b0),
      .mv_mem_answer_data(),
      .mv_mem_answer_error(),
      .*
  );

  logic started = 1'b0, asked;
  always_ff @(posedge clk) begin
    started <= 1'b1;
    asked <= rst || card_reset;
  end
  always_comb if (!started) assume (rst);

  logic h2c_put, h2c_get, c2h_put, c2h_get;
  assign h2c_put = mv_h2c_tvalid && mv_h2c_tready;
  assign h2c_get = h2c_tvalid && h2c_tready;
  assign c2h_put = c2h_tvalid && c2h_tready;
  assign c2h_get = mv_c2h_tvalid && mv_c2h_tready;

  always_comb
    if (started) begin
      if (user_busy) begin
        assert (!mv_h2c_tready && !mv_c2h_tvalid && !mv_h2c_reset_busy && !mv_c2h_reset_busy);
        assert (!mv_axil_awready && !mv_axil_wready && !mv_axil_bvalid && !mv_axil_arready && !mv_axil_rvalid);
        assert (!USER_ASYNC || mv_irq_valid == '0);
        assert (!mv_mem_write_ready && !mv_mem_failed_valid && !mv_mem_read_ready && !mv_mem_answer_valid);
      end
      if (!user_rst_n) begin
        assert (!h2c_tvalid && !c2h_tready);
        assert (!USER_ASYNC || irq_ready == '0);
        assert (!mem_write_valid && !mem_failed_ready && !mem_read_valid && !mem_answer_ready);
      end
      assert (!asked || user_busy);
      assert (user_busy || user_rst_n);
      if (!USER_ASYNC) begin
        assert (h2c_put == h2c_get && (!h2c_put || h2c_beat == mv_h2c_beat));
        assert (c2h_put == c2h_get && (!c2h_put || mv_c2h_beat == c2h_beat));
        assert ((mem_write_valid && mem_write_ready) == (mv_mem_write_valid && mv_mem_write_ready));
        assert ((mem_answer_valid && mem_answer_ready) == (mv_mem_answer_valid && mv_mem_answer_ready));
        assert (h2c_reset == mv_h2c_reset && !(h2c_reset && h2c_put));
        assert (c2h_reset == mv_c2h_reset && !(c2h_reset && c2h_put));
      end
      cover (h2c_get && c2h_get);
    end

  if (INDUCTION) begin : g_induction
    // As in tp_reset_sync_formal.
    logic [5:0] round;
    assign round = {
      dut.reset_sync.hold,
      dut.reset_sync.hold_sync.tp_sync_meta,
      dut.reset_sync.hold_dst,
      dut.reset_sync.served,
      dut.reset_sync.served_sync.tp_sync_meta,
      dut.reset_sync.served_src
    };
    always_comb begin
      assert ($countones(round[5:1] ^ round[4:0]) <= 1);
      assert (!dut.reset_sync.served || !user_rst_n);
      assert (!dut.reset_sync.hold_dst || !user_rst_n || dut.reset_sync.left == 5'd16);
      assert (user_rst_n || dut.reset_sync.served || (dut.reset_sync.hold && dut.reset_sync.hold_dst));
    end
  end
endmodule
