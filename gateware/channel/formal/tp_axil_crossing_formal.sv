// SPDX-License-Identifier: Apache-2.0
// tp_axil_crossing, for any two clocks and whatever both ports do: each access that is taken from the mover's side is made once on the
// user's, with its address, data and strobes, one after the other and in order; it stands until it is taken, address and data of a write
// each once; its answer is taken after that and given to the mover's side once, unchanged, as the answer of a write or of a read,
// whichever it is; none is invented. An address is never taken without its data, nor a read beside a write. Assumed: the reset of
// crossings (tp_reset_phase).
module tp_axil_crossing_formal #(
    parameter bit INDUCTION = 1
) (
    input logic clk,
    input logic rst,
    input logic [31:0] s_awaddr,
    input logic s_awvalid,
    input logic [31:0] s_wdata,
    input logic [3:0] s_wstrb,
    input logic s_wvalid,
    input logic s_bready,
    input logic [31:0] s_araddr,
    input logic s_arvalid,
    input logic s_rready,
    input logic user_clk,
    input logic user_rst,
    input logic m_awready,
    input logic m_wready,
    input logic [1:0] m_bresp,
    input logic m_bvalid,
    input logic m_arready,
    input logic [31:0] m_rdata,
    input logic [1:0] m_rresp,
    input logic m_rvalid
);
  logic live, s_awready, s_wready, s_bvalid, s_arready, s_rvalid, m_awvalid, m_wvalid, m_bready, m_arvalid, m_rready;
  logic [1:0] s_bresp, s_rresp;
  logic [31:0] s_rdata, m_awaddr, m_wdata, m_araddr;
  logic [3:0] m_wstrb;
  tp_axil_crossing dut (.*);
  tp_reset_phase phase (
      .a_clk(clk),
      .a_rst(rst),
      .b_clk(user_clk),
      .b_rst(user_rst),
      .live
  );

  // ------------------------------------------------------------------------------------------------ the mover's side
  logic [1:0] taken, given;  // accesses taken, answers given
  logic write, s_writes, s_reads, s_stands, s_write;
  logic [31:0] addr, data;  // of the last access taken
  logic [3:0] strb;
  logic [33:0] s_stood;
  assign s_writes = s_awvalid && s_awready;
  assign s_reads  = s_arvalid && s_arready;
  always_ff @(posedge clk) begin
    if (s_writes || s_reads) begin
      taken <= taken + 1'b1;
      write <= s_writes;
      addr <= s_writes ? s_awaddr : s_araddr;
      {data, strb} <= {s_wdata, s_wstrb};
    end
    if (s_bvalid && s_bready || s_rvalid && s_rready) given <= given + 1'b1;
    s_stands <= s_bvalid && !s_bready || s_rvalid && !s_rready;
    s_write <= s_bvalid;
    s_stood <= {s_rdata, s_rresp};
    if (rst) {taken, given, s_stands} <= '0;
  end

  // ------------------------------------------------------------------------------------------------ the user's side
  logic [1:0] answered, under_way, to_give;
  logic did_aw, did_w, did_ar, answers, answer_write, stands_aw, stands_w, stands_ar;
  logic [33:0] answer;  // the last one
  assign answers = m_bvalid && m_bready || m_rvalid && m_rready;
  always_ff @(posedge user_clk) begin
    if (m_awvalid && m_awready) did_aw <= 1'b1;
    if (m_wvalid && m_wready) did_w <= 1'b1;
    if (m_arvalid && m_arready) did_ar <= 1'b1;
    stands_aw <= m_awvalid && !m_awready;
    stands_w <= m_wvalid && !m_wready;
    stands_ar <= m_arvalid && !m_arready;
    if (answers) begin
      answered <= answered + 1'b1;
      answer_write <= m_bready;
      answer <= {m_rdata, m_bready ? m_bresp : m_rresp};
      {did_aw, did_w, did_ar} <= '0;
    end
    if (user_rst) {answered, did_aw, did_w, did_ar, stands_aw, stands_w, stands_ar} <= '0;
  end

  assign under_way = taken - answered;
  assign to_give = answered - given;
  always_comb
    if (live && !rst && !user_rst) begin
      assert (s_awready == s_wready && !(s_awready && !(s_awvalid && s_wvalid)) && !(s_writes && s_reads));
      assert (under_way <= 2'd1 && to_give <= 2'd1);
      assert (!(s_writes || s_reads) || under_way == '0);
      // accesses
      assert (!(m_awvalid || m_wvalid || m_arvalid) || under_way == 2'd1);
      assert (!m_awvalid || (write && !did_aw && m_awaddr == addr));
      assert (!m_wvalid || (write && !did_w && {m_wdata, m_wstrb} == {data, strb}));
      assert (!m_arvalid || (!write && !did_ar && m_araddr == addr));
      assert ((!stands_aw || m_awvalid) && (!stands_w || m_wvalid) && (!stands_ar || m_arvalid));
      // answers
      assert (!m_bready || (under_way == 2'd1 && write && did_aw && did_w));
      assert (!m_rready || (under_way == 2'd1 && !write && did_ar));
      assert (!(s_bvalid && s_rvalid) && (!(s_bvalid || s_rvalid) || to_give == 2'd1));
      assert (!s_bvalid || (answer_write && s_bresp == answer[1:0]));
      assert (!s_rvalid || (!answer_write && {s_rdata, s_rresp} == answer));
      assert (!s_stands || (s_write ? s_bvalid : s_rvalid && {s_rdata, s_rresp} == s_stood));
      cover (given == 2'd2 && answered == 2'd2 && answer_write);
      cover (under_way == 2'd1 && to_give == 2'd1);
    end

  if (INDUCTION) begin : g_induction
    // Each way round holds one change at most: see tp_handshake_formal.
    logic [7:0] down, up;
    assign down = {
      dut.down.asked, dut.down.ask_sync.older, dut.down.ask_sync.meta, dut.down.asked_dst,
      dut.down.done, dut.down.done_sync.older, dut.down.done_sync.meta, dut.down.done_src
    };
    assign up = {
      dut.up.asked, dut.up.ask_sync.older, dut.up.ask_sync.meta, dut.up.asked_dst,
      dut.up.done, dut.up.done_sync.older, dut.up.done_sync.meta, dut.up.done_src
    };
    always_comb
      if (live) begin
        assert ($countones(down[7:1] ^ down[6:0]) <= 1 && $countones(up[7:1] ^ up[6:0]) <= 1);
        assert (under_way <= 2'd1 && under_way[0] == (dut.down.asked ^ dut.down.done));
        assert (to_give <= 2'd1 && to_give[0] == (dut.up.asked ^ dut.up.done));
        assert (under_way == 0 || dut.down.tp_cdc_data == {write, addr, data, strb});
        assert (to_give == 0 || (dut.up.tp_cdc_data[34] == answer_write && dut.up.tp_cdc_data[1:0] == answer[1:0] &&
                (answer_write || dut.up.tp_cdc_data[33:2] == answer[33:2])));
        assert (user_rst || !dut.issued || dut.down.dst_valid);
        assert (user_rst || dut.issued || !(m_awvalid || m_wvalid || m_arvalid || did_aw || did_w || did_ar));
        assert (user_rst || !dut.issued || (write ? m_awvalid == !did_aw && m_wvalid == !did_w && !m_arvalid && !did_ar :
                !m_awvalid && !did_aw && !m_wvalid && !did_w && m_arvalid == !did_ar));
        assert (user_rst || ((!stands_aw || m_awvalid) && (!stands_w || m_wvalid) && (!stands_ar || m_arvalid)));
        assert (!s_stands || rst || (to_give == 2'd1 && up[4] != up[3] && s_write == answer_write &&
                (s_write || s_stood == dut.up.tp_cdc_data[33:0])));
      end
    // While the reset lasts, what the registers were before has left the chains one by one.
    always_comb begin
      assert (!phase.a_cleared || phase.a_out || (!dut.down.asked && !dut.up.done && taken == 0 && given == 0 && !s_stands));
      assert (!phase.b_cleared || phase.b_out || (!dut.down.done && !dut.up.asked && answered == 0 && !did_aw && !did_w && !did_ar &&
              !stands_aw && !stands_w && !stands_ar && !dut.issued && !m_awvalid && !m_wvalid && !m_arvalid));
    end
    always_comb
      if (!live) begin
        assert (phase.b_left == 3 || (!dut.down.ask_sync.older && !dut.up.done_sync.older));
        assert (phase.b_left >= 2 || (!dut.down.ask_sync.meta && !dut.up.done_sync.meta));
        assert (phase.b_left != 0 || (!dut.down.ask_sync.q && !dut.up.done_sync.q));
        assert (phase.a_left == 3 || (!dut.down.done_sync.older && !dut.up.ask_sync.older));
        assert (phase.a_left >= 2 || (!dut.down.done_sync.meta && !dut.up.ask_sync.meta));
        assert (phase.a_left != 0 || (!dut.down.done_sync.q && !dut.up.ask_sync.q));
      end
  end
endmodule
