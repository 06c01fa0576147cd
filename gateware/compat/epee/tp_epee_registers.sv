// SPDX-License-Identifier: Apache-2.0
// AXI4-Lite as EPEE's register ports: a request that stands until it is acknowledged. docs/guide/from-epee.md says what is what.
//
// Promises: one access at a time. `wr_req` or `rd_req` is up, with address and data, until the clock in which the acknowledgement is up, which may be the first; of a read `rd_data`
// counts in that clock. Before the next one the request is down for two clocks at least, and until the acknowledgement is down, for 16 clocks at most: a core may tie it up. A write of some bytes of a
// word ends as SLVERR, and the core sees nothing of it, for EPEE has words alone.
// Not for: limits. An access that is not acknowledged is never answered; what is before this module gives it up.
module tp_epee_registers (
    input  logic        clk,
    input  logic        rst_n,
    // bits 18 to 2 are the register's number
    // verilator lint_off UNUSEDSIGNAL
    input  logic [31:0] s_axil_awaddr,
    // verilator lint_on UNUSEDSIGNAL
    input  logic        s_axil_awvalid,
    output logic        s_axil_awready,
    input  logic [31:0] s_axil_wdata,
    input  logic [ 3:0] s_axil_wstrb,
    input  logic        s_axil_wvalid,
    output logic        s_axil_wready,
    output logic [ 1:0] s_axil_bresp,
    output logic        s_axil_bvalid,
    input  logic        s_axil_bready,
    // verilator lint_off UNUSEDSIGNAL
    input  logic [31:0] s_axil_araddr,
    // verilator lint_on UNUSEDSIGNAL
    input  logic        s_axil_arvalid,
    output logic        s_axil_arready,
    output logic [31:0] s_axil_rdata,
    output logic [ 1:0] s_axil_rresp,
    output logic        s_axil_rvalid,
    input  logic        s_axil_rready,
    output logic [16:0] wr_addr,
    output logic [31:0] wr_data,
    output logic        wr_req,
    input  logic        wr_ack,
    output logic [16:0] rd_addr,
    input  logic [31:0] rd_data,
    output logic        rd_req,
    input  logic        rd_ack
);
  typedef enum logic [1:0] {
    IDLE,
    ASK,
    ANSWER,
    REST
  } state_t;
  state_t state;
  logic is_write, refused, acknowledged;
  logic [16:0] number;
  logic [31:0] data;
  logic [3:0] waited;  // clocks since the request fell

  logic writes, reads;
  assign writes = state == IDLE && s_axil_awvalid && s_axil_wvalid && rst_n;
  assign reads = state == IDLE && s_axil_arvalid && !writes && rst_n;
  assign s_axil_awready = writes;
  assign s_axil_wready = writes;
  assign s_axil_arready = reads;
  assign wr_req = state == ASK && is_write;
  assign rd_req = state == ASK && !is_write;
  assign {wr_addr, rd_addr} = {number, number};
  assign wr_data = data;
  assign acknowledged = is_write ? wr_ack : rd_ack;
  assign s_axil_bvalid = state == ANSWER && is_write;
  assign s_axil_rvalid = state == ANSWER && !is_write;
  assign s_axil_bresp = {refused, 1'b0};
  assign s_axil_rresp = '0;
  assign s_axil_rdata = data;

  always_ff @(posedge clk) begin
    waited <= state == ASK ? '0 : waited == '1 ? waited : waited + 1'b1;
    case (state)
      IDLE: begin
        is_write <= writes;
        number <= writes ? s_axil_awaddr[18:2] : s_axil_araddr[18:2];
        data <= s_axil_wdata;
        refused <= writes && s_axil_wstrb != '1;
        if (writes || reads) state <= writes && s_axil_wstrb != '1 ? ANSWER : ASK;
      end
      ASK:
      if (acknowledged) begin
        if (!is_write) data <= rd_data;
        state <= ANSWER;
      end
      ANSWER: if (is_write ? s_axil_bready : s_axil_rready) state <= REST;
      default: if (!acknowledged || waited == '1) state <= IDLE;
    endcase
    if (!rst_n) state <= IDLE;
  end
endmodule
