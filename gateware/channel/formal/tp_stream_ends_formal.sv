// SPDX-License-Identifier: Apache-2.0
// tp_stream_ends: each message has as many bytes as were asked for when its first beat was shown, or no end; beats pass as they are, and stand.
// Assumed: a beat at the input stands until it is taken or flushed.
module tp_stream_ends_formal #(
    parameter  int WIDTH     = 32,
    parameter  bit INDUCTION = 1,
    localparam int KEEP      = WIDTH / 8
) (
    input logic clk,
    input logic rst,
    input logic flush,
    input logic [31:0] bytes,
    input logic s_tvalid,
    input logic [WIDTH-1:0] s_tdata,
    input logic m_tready
);
  logic s_tready, m_tvalid, m_tlast;
  logic [WIDTH-1:0] m_tdata;
  logic [KEEP-1:0] m_tkeep;
  tp_stream_ends #(
      .WIDTH(WIDTH)
  ) dut (
      .clk,
      .rst_n(!rst),
      .flush,
      .bytes,
      .s_tvalid,
      .s_tready,
      .s_tdata,
      .m_tvalid,
      .m_tready,
      .m_tdata,
      .m_tkeep,
      .m_tlast
  );

  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  always_comb if (!started) assume (rst);

  logic gone, shown, waits, last;
  logic [31:0] asked, want, sent;  // of the message
  logic [KEEP-1:0] keep;
  assign gone  = rst || flush;
  assign want  = shown ? asked : bytes;
  always_ff @(posedge clk) begin
    waits <= m_tvalid && !m_tready && !gone;
    {keep, last} <= {m_tkeep, m_tlast};
    asked <= want;
    if (m_tvalid) shown <= !(m_tready && (want == '0 || m_tlast));
    if (m_tvalid && m_tready) sent <= m_tlast || want == '0 ? '0 : sent + 32'($countones(m_tkeep));
    if (gone) {shown, sent} <= '0;
  end
  always_comb if (started && waits && !gone) assume (s_tvalid);

  always_comb
    if (started && !rst) begin
      assert (m_tvalid == (s_tvalid && !flush) && s_tready == (m_tready && !flush) && m_tdata == s_tdata);
      if (m_tvalid) begin
        assert (want == '0 ? !m_tlast && m_tkeep == '1 : m_tlast == (want - sent <= 32'(KEEP)));
        assert (m_tlast ? sent + 32'($countones(m_tkeep)) == want : m_tkeep == '1);
        assert ((m_tkeep & (m_tkeep + 1'b1)) == '0 && m_tkeep != '0);
        assert (!waits || {keep, last} == {m_tkeep, m_tlast});
      end
      cover (m_tvalid && m_tlast && sent == 32'd8 && want == 32'd9 && bytes != 32'd9);
      cover (m_tvalid && shown && want == '0 && bytes != '0);
    end

  if (INDUCTION) begin : g_induction
    always_comb
      if (started) begin
        assert (shown == (dut.midway || dut.waits));
        assert (!shown || dut.was_endless == (asked == '0));
        assert (!dut.was_endless || !dut.midway || !shown);
        assert (!shown || asked == '0 || (dut.left == asked - sent && sent < asked && sent[1:0] == '0));
        assert (sent == '0 || dut.midway);
        assert (waits == dut.waits);
      end
  end
endmodule
