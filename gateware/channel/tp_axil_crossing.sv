// SPDX-License-Identifier: Apache-2.0
// One AXI4-Lite port from the mover's clock to the user's, one access at a time.
//
// A write is taken when its address and its data are both there. Not for: masters that want several accesses in flight; the second one
// waits at its ready. Both halves are reset together by tp_reset_sync; nothing is taken while `rst`.
module tp_axil_crossing (
    input  logic        clk,
    input  logic        rst,
    input  logic [31:0] s_awaddr,
    input  logic        s_awvalid,
    output logic        s_awready,
    input  logic [31:0] s_wdata,
    input  logic [ 3:0] s_wstrb,
    input  logic        s_wvalid,
    output logic        s_wready,
    output logic [ 1:0] s_bresp,
    output logic        s_bvalid,
    input  logic        s_bready,
    input  logic [31:0] s_araddr,
    input  logic        s_arvalid,
    output logic        s_arready,
    output logic [31:0] s_rdata,
    output logic [ 1:0] s_rresp,
    output logic        s_rvalid,
    input  logic        s_rready,
    input  logic        user_clk,
    input  logic        user_rst,
    output logic [31:0] m_awaddr,
    output logic        m_awvalid,
    input  logic        m_awready,
    output logic [31:0] m_wdata,
    output logic [ 3:0] m_wstrb,
    output logic        m_wvalid,
    input  logic        m_wready,
    input  logic [ 1:0] m_bresp,
    input  logic        m_bvalid,
    output logic        m_bready,
    output logic [31:0] m_araddr,
    output logic        m_arvalid,
    input  logic        m_arready,
    input  logic [31:0] m_rdata,
    input  logic [ 1:0] m_rresp,
    input  logic        m_rvalid,
    output logic        m_rready
);
  typedef struct packed {
    logic write;
    logic [31:0] addr;
    logic [31:0] data;
    logic [3:0] strb;
  } request_t;
  typedef struct packed {
    logic write;
    logic [31:0] data;
    logic [1:0] resp;
  } answer_t;

  request_t s_request, request;
  answer_t answer, s_answer;
  logic s_write, s_request_valid, s_request_ready, s_answer_valid, request_valid, answer_valid, answer_ready;

  // ---- the mover's side
  assign s_write = s_awvalid && s_wvalid;
  assign s_request = '{write: s_write, addr: s_write ? s_awaddr : s_araddr, data: s_wdata, strb: s_wstrb};
  assign s_request_valid = (s_write || s_arvalid) && !rst;
  assign s_awready = s_write && s_request_ready && !rst;
  assign s_wready = s_awready;
  assign s_arready = !s_write && s_request_ready && !rst;
  assign s_bvalid = s_answer_valid && s_answer.write;
  assign s_rvalid = s_answer_valid && !s_answer.write;
  assign s_bresp = s_answer.resp;
  assign s_rresp = s_answer.resp;
  assign s_rdata = s_answer.data;

  tp_handshake #(
      .WIDTH($bits(request_t))
  ) down (
      .src_clk(clk),
      .src_rst(rst),
      .src_valid(s_request_valid),
      .src_ready(s_request_ready),
      .src_data(s_request),
      .dst_clk(user_clk),
      .dst_rst(user_rst),
      .dst_valid(request_valid),
      .dst_ready(answer_valid && answer_ready),
      .dst_data(request)
  );
  tp_handshake #(
      .WIDTH($bits(answer_t))
  ) up (
      .src_clk(user_clk),
      .src_rst(user_rst),
      .src_valid(answer_valid),
      .src_ready(answer_ready),
      .src_data(answer),
      .dst_clk(clk),
      .dst_rst(rst),
      .dst_valid(s_answer_valid),
      .dst_ready(s_answer.write ? s_bready : s_rready),
      .dst_data(s_answer)
  );

  // ---- the user's side: the request stands until its answer has been taken
  logic issued;
  assign m_awaddr = request.addr;
  assign m_araddr = request.addr;
  assign m_wdata = request.data;
  assign m_wstrb = request.strb;
  assign m_bready = issued && request.write && !m_awvalid && !m_wvalid && answer_ready;
  assign m_rready = issued && !request.write && !m_arvalid && answer_ready;
  assign answer_valid = m_bready && m_bvalid || m_rready && m_rvalid;
  assign answer = '{write: request.write, data: m_rdata, resp: request.write ? m_bresp : m_rresp};

  always_ff @(posedge user_clk) begin
    if (user_rst) begin
      issued <= 1'b0;
      m_awvalid <= 1'b0;
      m_wvalid <= 1'b0;
      m_arvalid <= 1'b0;
    end else if (!issued) begin
      issued <= request_valid;
      m_awvalid <= request_valid && request.write;
      m_wvalid <= request_valid && request.write;
      m_arvalid <= request_valid && !request.write;
    end else begin
      if (m_awready) m_awvalid <= 1'b0;
      if (m_wready) m_wvalid <= 1'b0;
      if (m_arready) m_arvalid <= 1'b0;
      if (answer_valid) issued <= 1'b0;
    end
  end
endmodule
