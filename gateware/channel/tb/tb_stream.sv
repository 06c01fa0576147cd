// SPDX-License-Identifier: Apache-2.0
// tp_stream_width, with what it gets from outside or from tp_stream_ends: for bench_stream.py.
module tb_stream #(
    parameter  int S_WIDTH = 64,
    parameter  int M_WIDTH = 128,
    localparam int S_KEEP  = S_WIDTH / 8,
    localparam int M_KEEP  = M_WIDTH / 8
) (
    input  logic               clk,
    input  logic               rst_n,
    input  logic               flush,
    input  logic               ended,    // by tp_stream_ends
    input  logic [       31:0] bytes,
    input  logic               s_tvalid,
    output logic               s_tready,
    input  logic [S_WIDTH-1:0] s_tdata,
    input  logic [ S_KEEP-1:0] s_tkeep,
    input  logic               s_tlast,
    input  logic [        7:0] s_side,
    output logic               m_tvalid,
    input  logic               m_tready,
    output logic [M_WIDTH-1:0] m_tdata,
    output logic [ M_KEEP-1:0] m_tkeep,
    output logic               m_tlast,
    output logic [        7:0] m_side
);
  logic e_tready, e_tvalid, e_tlast, w_tready, w_tvalid, w_tlast;
  logic [S_WIDTH-1:0] e_tdata;
  logic [S_KEEP-1:0] e_tkeep, w_tkeep;
  tp_stream_ends #(
      .WIDTH(S_WIDTH)
  ) ends (
      .clk,
      .rst_n,
      .flush,
      .bytes,
      .s_tvalid(s_tvalid && ended),
      .s_tready(e_tready),
      .s_tdata,
      .m_tvalid(e_tvalid),
      .m_tready(w_tready && ended),
      .m_tdata(e_tdata),
      .m_tkeep(e_tkeep),
      .m_tlast(e_tlast)
  );
  assign s_tready = ended ? e_tready : w_tready;
  assign w_tvalid = ended ? e_tvalid : s_tvalid;
  assign w_tkeep = ended ? e_tkeep : s_tkeep;
  assign w_tlast = ended ? e_tlast : s_tlast;
  tp_stream_width #(
      .S_WIDTH(S_WIDTH),
      .M_WIDTH(M_WIDTH),
      .SIDE(8)
  ) dut (
      .clk,
      .rst_n,
      .flush,
      .s_tvalid(w_tvalid),
      .s_tready(w_tready),
      .s_tdata(ended ? e_tdata : s_tdata),
      .s_tkeep(w_tkeep),
      .s_tlast(w_tlast),
      .s_side,
      .m_tvalid,
      .m_tready,
      .m_tdata,
      .m_tkeep,
      .m_tlast,
      .m_side
  );
endmodule
