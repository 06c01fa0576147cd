// SPDX-License-Identifier: Apache-2.0
// Parts the register window among the core and its plug-ins: one AXI4-Lite port in, PORTS out, which share address and data.
//
// Port p has the BYTES[p] addresses (a power of two) from OFFSET[p] (a multiple of that) on. Addresses pass unchanged. One access is under way
// at a time. An address of no port is answered with DECERR.
//
// A port harms no other. What it does not answer within TIMEOUT clocks is answered with SLVERR here, and so is every later access to it
// until the answer comes, which is dropped, or until the port has been in reset (`port_rst_n` 0). An access to a port in reset is answered with
// SLVERR at once. A port that has not even taken an access after TIMEOUT clocks is offered it no longer: it needs the reset.
//
// Not for: masters that want several accesses in flight. A write is taken when its address and its data are both there.
module tp_plugin_bus #(
    parameter int PORTS = 2,
    parameter logic [PORTS-1:0][31:0] OFFSET = (PORTS * 32)'(64'h00001000_00000000),
    parameter logic [PORTS-1:0][31:0] BYTES = {PORTS{32'h1000}},
    parameter int TIMEOUT = 65536
) (
    input  logic             clk,
    input  logic             rst_n,
    input  logic [PORTS-1:0] port_rst_n,

    input  logic [31:0] s_axil_awaddr,
    input  logic        s_axil_awvalid,
    output logic        s_axil_awready,
    input  logic [31:0] s_axil_wdata,
    input  logic [ 3:0] s_axil_wstrb,
    input  logic        s_axil_wvalid,
    output logic        s_axil_wready,
    output logic [ 1:0] s_axil_bresp,
    output logic        s_axil_bvalid,
    input  logic        s_axil_bready,
    input  logic [31:0] s_axil_araddr,
    input  logic        s_axil_arvalid,
    output logic        s_axil_arready,
    output logic [31:0] s_axil_rdata,
    output logic [ 1:0] s_axil_rresp,
    output logic        s_axil_rvalid,
    input  logic        s_axil_rready,

    output logic [     31:0]       m_axil_awaddr,
    output logic [PORTS-1:0]       m_axil_awvalid,
    input  logic [PORTS-1:0]       m_axil_awready,
    output logic [     31:0]       m_axil_wdata,
    output logic [      3:0]       m_axil_wstrb,
    output logic [PORTS-1:0]       m_axil_wvalid,
    input  logic [PORTS-1:0]       m_axil_wready,
    input  logic [PORTS-1:0][ 1:0] m_axil_bresp,
    input  logic [PORTS-1:0]       m_axil_bvalid,
    output logic [PORTS-1:0]       m_axil_bready,
    output logic [     31:0]       m_axil_araddr,
    output logic [PORTS-1:0]       m_axil_arvalid,
    input  logic [PORTS-1:0]       m_axil_arready,
    input  logic [PORTS-1:0][31:0] m_axil_rdata,
    input  logic [PORTS-1:0][ 1:0] m_axil_rresp,
    input  logic [PORTS-1:0]       m_axil_rvalid,
    output logic [PORTS-1:0]       m_axil_rready
);
  localparam logic [1:0] SLVERR = 2'b10;
  localparam logic [1:0] DECERR = 2'b11;

  for (genvar p = 0; p < PORTS; p++) begin : gen_check
    if (BYTES[p] < 4 || (BYTES[p] & (BYTES[p] - 1)) != 0 || (OFFSET[p] & (BYTES[p] - 1)) != 0) begin : gen_bad
      $error("%m: port %0d: BYTES is a power of two, and OFFSET a multiple of it", p);
    end
  end

  // ---- what the window asks for
  logic s_write, take;
  logic [31:0] s_addr, addr;
  logic [PORTS-1:0] hit;
  assign s_write = s_axil_awvalid && s_axil_wvalid;
  assign s_addr = s_write ? s_axil_awaddr : s_axil_araddr;
  always_comb for (int p = 0; p < PORTS; p++) hit[p] = (s_addr & ~(BYTES[p] - 1)) == OFFSET[p];

  // ---- the access under way: at a port (one bit of `at`), or answered
  logic [PORTS-1:0] at, lost, give_up;
  logic busy, writing, address_left, data_left, asked, here, gone, expired;
  logic [1:0] resp, port_resp;
  logic [31:0] port_data;
  logic [$clog2(TIMEOUT)-1:0] elapsed;

  assign take = !busy && (s_write || s_axil_arvalid);
  assign s_axil_awready = take && s_write;
  assign s_axil_wready = take && s_write;
  assign s_axil_arready = take && !s_write;
  assign s_axil_bresp = resp;
  assign s_axil_rresp = resp;

  assign m_axil_awaddr = addr;
  assign m_axil_araddr = addr;
  assign m_axil_awvalid = writing && address_left ? at : '0;
  assign m_axil_wvalid = data_left ? at : '0;
  assign m_axil_arvalid = !writing && address_left ? at : '0;
  assign asked = !address_left && !data_left;
  assign m_axil_bready = lost | (writing && asked ? at : '0);
  assign m_axil_rready = lost | (!writing && asked ? at : '0);

  always_comb begin
    port_resp = '0;
    port_data = '0;
    for (int p = 0; p < PORTS; p++) begin
      if (at[p]) port_resp |= writing ? m_axil_bresp[p] : m_axil_rresp[p];
      if (at[p]) port_data |= m_axil_rdata[p];
    end
  end
  assign here = asked && (|(at & (writing ? m_axil_bvalid : m_axil_rvalid)));
  assign gone = |(at & ~port_rst_n);
  assign expired = elapsed == $bits(elapsed)'(TIMEOUT - 1);
  assign give_up = expired && !here ? at : '0;

  always_ff @(posedge clk) begin
    lost <= (lost & ~(m_axil_bvalid | m_axil_rvalid) | give_up) & port_rst_n;
    elapsed <= elapsed + 1'b1;
    if (s_axil_bready) s_axil_bvalid <= 1'b0;
    if (s_axil_rready) s_axil_rvalid <= 1'b0;
    if (s_axil_bvalid && s_axil_bready || s_axil_rvalid && s_axil_rready) busy <= 1'b0;
    if (|(at & (writing ? m_axil_awready : m_axil_arready))) address_left <= 1'b0;
    if (|(at & m_axil_wready)) data_left <= 1'b0;
    if (take) begin
      busy <= 1'b1;
      writing <= s_write;
      addr <= s_addr;
      m_axil_wdata <= s_axil_wdata;
      m_axil_wstrb <= s_axil_wstrb;
      elapsed <= '0;
      at <= hit & port_rst_n & ~lost;
      address_left <= 1'b1;
      data_left <= s_write;
      if ((hit & port_rst_n & ~lost) == '0) begin
        resp <= hit == '0 ? DECERR : SLVERR;
        s_axil_rdata <= '0;
        s_axil_bvalid <= s_write;
        s_axil_rvalid <= !s_write;
      end
    end
    if (at != '0 && (here || gone || expired)) begin
      at <= '0;
      resp <= here ? port_resp : SLVERR;
      s_axil_rdata <= here ? port_data : '0;
      s_axil_bvalid <= writing;
      s_axil_rvalid <= !writing;
    end
    if (!rst_n) begin
      busy <= 1'b0;
      at <= '0;
      lost <= '0;
      s_axil_bvalid <= 1'b0;
      s_axil_rvalid <= 1'b0;
    end
  end
endmodule
