// SPDX-License-Identifier: Apache-2.0
//
// Writes the `words` 32-bit words from `source` on, each plus `bias`, to `target` on, in bursts of 16 words at most that cross no multiple of 64 bytes at either end.
//
// Registers: 0x00 control: writing 1 starts, bit 0 is set while it runs; 0x10 source; 0x14 target, both multiples of 64; 0x18 words; 0x1C bias; 0x20 bursts that were not answered
// OKAY. The interrupt comes when all is written.
module kernel (
    input logic ap_clk,
    input logic ap_rst_n,

    output logic [ 0:0] m_axi_gmem_AWID,
    output logic [63:0] m_axi_gmem_AWADDR,
    output logic [ 7:0] m_axi_gmem_AWLEN,
    output logic [ 2:0] m_axi_gmem_AWSIZE,
    output logic [ 1:0] m_axi_gmem_AWBURST,
    output logic [ 3:0] m_axi_gmem_AWCACHE,
    output logic        m_axi_gmem_AWVALID,
    input  logic        m_axi_gmem_AWREADY,
    output logic [31:0] m_axi_gmem_WDATA,
    output logic [ 3:0] m_axi_gmem_WSTRB,
    output logic        m_axi_gmem_WLAST,
    output logic        m_axi_gmem_WVALID,
    input  logic        m_axi_gmem_WREADY,
    input  logic [ 0:0] m_axi_gmem_BID,
    input  logic [ 1:0] m_axi_gmem_BRESP,
    input  logic        m_axi_gmem_BVALID,
    output logic        m_axi_gmem_BREADY,
    output logic [ 0:0] m_axi_gmem_ARID,
    output logic [63:0] m_axi_gmem_ARADDR,
    output logic [ 7:0] m_axi_gmem_ARLEN,
    output logic [ 2:0] m_axi_gmem_ARSIZE,
    output logic [ 1:0] m_axi_gmem_ARBURST,
    output logic        m_axi_gmem_ARVALID,
    input  logic        m_axi_gmem_ARREADY,
    input  logic [ 0:0] m_axi_gmem_RID,
    input  logic [31:0] m_axi_gmem_RDATA,
    input  logic [ 1:0] m_axi_gmem_RRESP,
    input  logic        m_axi_gmem_RLAST,
    input  logic        m_axi_gmem_RVALID,
    output logic        m_axi_gmem_RREADY,

    input  logic [ 5:0] s_axi_control_AWADDR,
    input  logic        s_axi_control_AWVALID,
    output logic        s_axi_control_AWREADY,
    input  logic [31:0] s_axi_control_WDATA,
    input  logic [ 3:0] s_axi_control_WSTRB,
    input  logic        s_axi_control_WVALID,
    output logic        s_axi_control_WREADY,
    output logic [ 1:0] s_axi_control_BRESP,
    output logic        s_axi_control_BVALID,
    input  logic        s_axi_control_BREADY,
    input  logic [ 5:0] s_axi_control_ARADDR,
    input  logic        s_axi_control_ARVALID,
    output logic        s_axi_control_ARREADY,
    output logic [31:0] s_axi_control_RDATA,
    output logic [ 1:0] s_axi_control_RRESP,
    output logic        s_axi_control_RVALID,
    input  logic        s_axi_control_RREADY,

    output logic irq_valid,
    input  logic irq_ready
);
  typedef enum logic [2:0] {
    IDLE,
    ASK,
    READ,
    TELL,
    WRITE,
    ANSWER
  } state_e;
  state_e state;
  logic [31:0] source, target, words, bias, faults, from, to, left;
  logic [31:0] buffer[16];
  logic [3:0] at, last;
  logic failed;

  assign last = left < 16 ? 4'(left - 1) : 4'd15;
  assign m_axi_gmem_ARID = '0;
  assign m_axi_gmem_AWID = '0;
  assign m_axi_gmem_AWCACHE = 4'b0011;
  assign m_axi_gmem_ARADDR = 64'(from);
  assign m_axi_gmem_AWADDR = 64'(to);
  assign {m_axi_gmem_ARLEN, m_axi_gmem_AWLEN} = {2{4'b0, last}};
  assign {m_axi_gmem_ARSIZE, m_axi_gmem_AWSIZE} = {2{3'd2}};
  assign {m_axi_gmem_ARBURST, m_axi_gmem_AWBURST} = {2{2'b01}};
  assign m_axi_gmem_ARVALID = state == ASK;
  assign m_axi_gmem_RREADY = state == READ;
  assign m_axi_gmem_AWVALID = state == TELL;
  assign m_axi_gmem_WVALID = state == WRITE;
  assign m_axi_gmem_WDATA = buffer[at] + bias;
  assign m_axi_gmem_WSTRB = '1;
  assign m_axi_gmem_WLAST = at == last;
  assign m_axi_gmem_BREADY = state == ANSWER;

  // A write is taken when address and data are both there and the answer before it is gone.
  wire write = s_axi_control_AWVALID && s_axi_control_WVALID && (!s_axi_control_BVALID || s_axi_control_BREADY);
  wire read = s_axi_control_ARVALID && (!s_axi_control_RVALID || s_axi_control_RREADY);
  assign {s_axi_control_AWREADY, s_axi_control_WREADY, s_axi_control_ARREADY} = {write, write, read};
  assign {s_axi_control_BRESP, s_axi_control_RRESP} = '0;

  always_ff @(posedge ap_clk) begin
    if (irq_ready) irq_valid <= 1'b0;
    unique case (state)
      ASK: begin
        at <= '0;
        failed <= 1'b0;
        if (m_axi_gmem_ARREADY) state <= READ;
      end
      READ:
      if (m_axi_gmem_RVALID) begin
        buffer[at] <= m_axi_gmem_RDATA;
        at <= at + 1;
        failed <= failed || m_axi_gmem_RRESP != '0;
        if (m_axi_gmem_RLAST) state <= TELL;
      end
      TELL: begin
        at <= '0;
        if (m_axi_gmem_AWREADY) state <= WRITE;
      end
      WRITE:
      if (m_axi_gmem_WREADY) begin
        at <= at + 1;
        if (m_axi_gmem_WLAST) state <= ANSWER;
      end
      ANSWER:
      if (m_axi_gmem_BVALID) begin
        if (failed || m_axi_gmem_BRESP != '0) faults <= faults + 1;
        from <= from + 64;
        to <= to + 64;
        left <= left - 32'(last) - 1;
        state <= left > 16 ? ASK : IDLE;
        if (left <= 16) irq_valid <= 1'b1;
      end
      default: ;
    endcase
    if (write) begin
      s_axi_control_BVALID <= 1'b1;
      case (s_axi_control_AWADDR)
        6'h00:
        if (s_axi_control_WDATA[0] && state == IDLE && words != '0) begin
          {from, to, left} <= {source, target, words};
          state <= ASK;
        end
        6'h10: source <= s_axi_control_WDATA;
        6'h14: target <= s_axi_control_WDATA;
        6'h18: words <= s_axi_control_WDATA;
        6'h1C: bias <= s_axi_control_WDATA;
        6'h20: faults <= '0;
        default: ;
      endcase
    end else if (s_axi_control_BREADY) s_axi_control_BVALID <= 1'b0;
    if (read) begin
      s_axi_control_RVALID <= 1'b1;
      case (s_axi_control_ARADDR)
        6'h00: s_axi_control_RDATA <= 32'(state != IDLE);
        6'h10: s_axi_control_RDATA <= source;
        6'h14: s_axi_control_RDATA <= target;
        6'h18: s_axi_control_RDATA <= words;
        6'h1C: s_axi_control_RDATA <= bias;
        6'h20: s_axi_control_RDATA <= faults;
        default: s_axi_control_RDATA <= '0;
      endcase
    end else if (s_axi_control_RREADY) s_axi_control_RVALID <= 1'b0;
    if (!ap_rst_n) begin
      state <= IDLE;
      {source, target, words, bias, faults} <= '0;
      {s_axi_control_BVALID, s_axi_control_RVALID, irq_valid} <= '0;
    end
  end

  wire unused = ^{m_axi_gmem_BID, m_axi_gmem_RID, s_axi_control_WSTRB};
endmodule
