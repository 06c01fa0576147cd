// SPDX-License-Identifier: Apache-2.0
// tp_stream_width, either way: bytes come out in order, each once and unchanged, with as many ends of message before it as at the input; beats at the output are
// full but with `tlast`, and stand until taken or flushed; bytes taken and not given are no more than a beat of the wider side.
// Bytes are counted; any one is watched, with the ends before it.
// Assumed: a beat at the input stands until it is taken or flushed; it has no holes, and is full but with `tlast`, or has no bytes.
module tp_stream_width_formal #(
    parameter  int S_WIDTH   = 8,
    parameter  int M_WIDTH   = 32,
    parameter  bit INDUCTION = 1,
    localparam int S_KEEP    = S_WIDTH / 8,
    localparam int M_KEEP    = M_WIDTH / 8
) (
    input logic clk,
    input logic rst,
    input logic flush,
    input logic s_tvalid,
    input logic [S_WIDTH-1:0] s_tdata,
    input logic [S_KEEP-1:0] s_tkeep,
    input logic s_tlast,
    input logic m_tready,
    input logic watch,
    input logic [3:0] lane
);
  logic s_tready, m_tvalid, m_tlast, m_side;
  logic [M_WIDTH-1:0] m_tdata;
  logic [M_KEEP-1:0] m_tkeep;
  tp_stream_width #(
      .S_WIDTH(S_WIDTH),
      .M_WIDTH(M_WIDTH),
      .SIDE(1)
  ) dut (
      .clk,
      .rst_n(!rst),
      .flush,
      .s_tvalid,
      .s_tready,
      .s_tdata,
      .s_tkeep,
      .s_tlast,
      .s_side(s_tlast),
      .m_tvalid,
      .m_tready,
      .m_tdata,
      .m_tkeep,
      .m_tlast,
      .m_side
  );

  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  always_comb if (!started) assume (rst);

  logic gone, put, get, waits, stands, waited_last, stood_last;
  logic [S_WIDTH-1:0] waited;
  logic [S_KEEP-1:0] waited_keep;
  logic [M_WIDTH-1:0] stood;
  logic [M_KEEP-1:0] stood_keep;
  assign gone = rst || flush;
  assign put = s_tvalid && s_tready && !gone;
  assign get = m_tvalid && m_tready && !gone;
  always_ff @(posedge clk) begin
    waits <= s_tvalid && !s_tready && !gone;
    {waited, waited_keep, waited_last} <= {s_tdata, s_tkeep, s_tlast};
    stands <= m_tvalid && !m_tready && !gone;
    {stood, stood_keep, stood_last} <= {m_tdata, m_tkeep, m_tlast};
  end
  always_comb if (started && waits && !gone) assume (s_tvalid && {s_tdata, s_tkeep, s_tlast} == {waited, waited_keep, waited_last});
  always_comb assume ((s_tkeep & (s_tkeep + 1'b1)) == '0 && (s_tkeep == '1 || s_tkeep == '0 || s_tlast));

  logic [5:0] taken, given, at;  // bytes
  logic [1:0] ends_taken, ends_given, ends;
  logic watching;
  logic [7:0] watched;
  logic [5:0] from_taken, from_given;  // where the watched byte is
  logic [5:0] next;  // the one that may be watched
  assign next = taken + 6'(lane);
  logic may_watch;  // it is there, and is not given before or now
  assign may_watch = watch && s_tvalid && 32'(lane) < S_KEEP && s_tkeep[lane] && 6'(next - given) < 6'd16 &&
      !(get && 6'(next - given) < 6'($countones(m_tkeep)));
  assign from_taken = at - taken;
  assign from_given = at - given;
  logic waiting;  // it is in the beat that was not taken
  assign waiting = waits && 32'(from_taken) < S_KEEP && waited_keep[from_taken] && waited[8*from_taken+:8] == watched && ends == ends_taken;
  always_ff @(posedge clk) begin
    if (put) begin
      taken <= taken + 6'($countones(s_tkeep));
      ends_taken <= ends_taken + 2'(s_tlast);
    end
    if (get) begin
      given <= given + 6'($countones(m_tkeep));
      ends_given <= ends_given + 2'(m_tlast);
    end
    if (!watching && may_watch) begin
      watching <= 1'b1;
      at <= next;
      ends <= ends_taken;
      watched <= s_tdata[8*32'(lane)+:8];
    end else if (watching && get && from_given < 6'($countones(m_tkeep))) watching <= 1'b0;
    if (gone) {taken, given, ends_taken, ends_given, watching} <= '0;
  end

  always_comb
    if (started && !rst) begin
      assert (!(flush && (s_tready || m_tvalid)));
      if (m_tvalid) begin
        assert ((m_tkeep & (m_tkeep + 1'b1)) == '0 && (m_tkeep == '1 || m_tlast));
        assert (m_side == (S_WIDTH < M_WIDTH ? m_tlast : s_tlast));
        if (watching && from_given < 6'($countones(m_tkeep))) assert (m_tdata[8*from_given+:8] == watched && ends == ends_given);
      end
      assert (!stands || gone || m_tvalid && {m_tdata, m_tkeep, m_tlast} == {stood, stood_keep, stood_last});
      cover (watching && get && m_tlast && ends == 2'd2 && from_given == 6'(S_WIDTH < M_WIDTH) && watched == 8'ha5);
      cover (m_tvalid && m_tlast && m_tkeep == '0);
    end

  if (INDUCTION && S_WIDTH < M_WIDTH) begin : g_wider
    logic [5:0] held;
    assign held = 6'($countones(dut.m_tkeep));
    always_comb
      if (started) begin
        assert (6'(taken - given) == held);
        assert ((dut.m_tkeep & (dut.m_tkeep + 1'b1)) == '0);
        assert (dut.g_wider.full ? dut.m_tlast || dut.m_tkeep == '1 : held == 6'(S_KEEP) * 6'(dut.g_wider.part));
        assert (!dut.g_wider.full || dut.g_wider.part == '0);
        assert (!dut.g_wider.full || dut.m_side == dut.m_tlast);
        assert (2'(ends_taken - ends_given) == 2'(dut.g_wider.full && dut.m_tlast));
        if (watching && from_given < held)
          assert (dut.m_tdata[8*from_given+:8] == watched && ends == ends_given);
          else if (watching && !gone) assert (waiting);
      end
  end
  if (INDUCTION && S_WIDTH > M_WIDTH) begin : g_narrower
    always_comb
      if (started) begin
        assert (6'(given - taken) == 6'(M_KEEP) * 6'(dut.g_narrower.part));
        assert (gone || dut.g_narrower.part == '0 || waits && (dut.g_narrower.filled >> dut.g_narrower.part) != '0);
        assert (ends_taken == ends_given);
        if (watching && !gone) assert (waiting && from_taken >= 6'(M_KEEP) * 6'(dut.g_narrower.part));
      end
  end
endmodule
