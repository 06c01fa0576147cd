// SPDX-License-Identifier: Apache-2.0
// A stream read as from a FIFO, written into a core's FIFO, and read out of that: for bench_fifo.py.
module tb_fifo #(
    parameter int WIDTH = 24,
    parameter bit FALL_THROUGH = 0
) (
    input  logic             clk,
    input  logic             rst_n,
    input  logic             flush,
    // a core that reads from a FIFO
    input  logic             r_tvalid,
    output logic             r_tready,
    input  logic [WIDTH-1:0] r_tdata,
    output logic             r_empty,
    input  logic             r_rd_en,
    output logic [WIDTH-1:0] r_dout,
    // a core that writes into one
    output logic             w_full,
    output logic             w_nearly_full,
    input  logic             w_wr_en,
    input  logic [WIDTH-1:0] w_din,
    output logic             w_tvalid,
    input  logic             w_tready,
    output logic [WIDTH-1:0] w_tdata,
    // a core that is one
    input  logic             g_empty,
    output logic             g_rd_en,
    input  logic [WIDTH-1:0] g_dout,
    output logic             g_tvalid,
    input  logic             g_tready,
    output logic [WIDTH-1:0] g_tdata
);
  tp_fifo_read #(
      .WIDTH(WIDTH),
      .FALL_THROUGH(FALL_THROUGH)
  ) read (
      .clk,
      .tvalid(r_tvalid),
      .tready(r_tready),
      .tdata(r_tdata),
      .empty(r_empty),
      .rd_en(r_rd_en),
      .dout(r_dout)
  );
  tp_fifo_write #(
      .WIDTH(WIDTH)
  ) write (
      .clk,
      .rst_n,
      .flush,
      .full(w_full),
      .nearly_full(w_nearly_full),
      .wr_en(w_wr_en),
      .din(w_din),
      .tvalid(w_tvalid),
      .tready(w_tready),
      .tdata(w_tdata)
  );
  tp_fifo_get #(
      .WIDTH(WIDTH),
      .FALL_THROUGH(FALL_THROUGH)
  ) get (
      .clk,
      .rst_n,
      .flush,
      .empty(g_empty),
      .rd_en(g_rd_en),
      .dout(g_dout),
      .tvalid(g_tvalid),
      .tready(g_tready),
      .tdata(g_tdata)
  );
endmodule
