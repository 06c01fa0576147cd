// SPDX-License-Identifier: Apache-2.0
// What stands between streams, registers and interrupts and a core with EPEE's ports, side by side: for bench_epee.py.
module tb_epee #(
    parameter  int WIDTH        = 128,
    parameter  int PATH         = 128,
    parameter  bit FALL_THROUGH = 1,
    localparam int KEEP         = WIDTH / 8
) (
    input  logic             clk,
    input  logic             rst_n,
    input  logic             flush,
    input  logic             r_tvalid,
    output logic             r_tready,
    input  logic [WIDTH-1:0] r_tdata,
    input  logic [ KEEP-1:0] r_tkeep,
    output logic             r_empty,
    output logic             r_almost_empty,
    input  logic             r_rd_en,
    output logic [WIDTH+1:0] r_dout,
    output logic             w_prog_full,
    input  logic             w_wr_en,
    input  logic [WIDTH+1:0] w_din,
    output logic             w_tvalid,
    input  logic             w_tready,
    output logic [WIDTH-1:0] w_tdata,
    output logic [ KEEP-1:0] w_tkeep,
    output logic             w_tlast,
    input  logic             req,
    input  logic [      2:0] vector,
    output logic             clr,
    output logic [      7:0] irq_valid,
    input  logic [      7:0] irq_ready,
    input  logic [     31:0] s_axil_awaddr,
    input  logic             s_axil_awvalid,
    output logic             s_axil_awready,
    input  logic [     31:0] s_axil_wdata,
    input  logic [      3:0] s_axil_wstrb,
    input  logic             s_axil_wvalid,
    output logic             s_axil_wready,
    output logic [      1:0] s_axil_bresp,
    output logic             s_axil_bvalid,
    input  logic             s_axil_bready,
    input  logic [     31:0] s_axil_araddr,
    input  logic             s_axil_arvalid,
    output logic             s_axil_arready,
    output logic [     31:0] s_axil_rdata,
    output logic [      1:0] s_axil_rresp,
    output logic             s_axil_rvalid,
    input  logic             s_axil_rready,
    output logic [     16:0] wr_addr,
    output logic [     31:0] wr_data,
    output logic             wr_req,
    input  logic             wr_ack,
    output logic [     16:0] rd_addr,
    input  logic [     31:0] rd_data,
    output logic             rd_req,
    input  logic             rd_ack
);
  tp_epee_read #(
      .WIDTH(WIDTH),
      .FALL_THROUGH(FALL_THROUGH)
  ) read (
      .clk,
      .rst_n,
      .flush,
      .tvalid(r_tvalid),
      .tready(r_tready),
      .tdata(r_tdata),
      .tkeep(r_tkeep),
      .empty(r_empty),
      .almost_empty(r_almost_empty),
      .rd_en(r_rd_en),
      .dout(r_dout)
  );
  tp_epee_write #(
      .WIDTH(WIDTH),
      .PATH(PATH),
      .PAUSE(16)
  ) write (
      .clk,
      .rst_n,
      .flush,
      .prog_full(w_prog_full),
      .wr_en(w_wr_en),
      .din(w_din),
      .tvalid(w_tvalid),
      .tready(w_tready),
      .tdata(w_tdata),
      .tkeep(w_tkeep),
      .tlast(w_tlast)
  );
  tp_epee_interrupt interrupt (.*);
  tp_epee_registers registers (.*);
endmodule
