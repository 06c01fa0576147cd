// SPDX-License-Identifier: Apache-2.0
// tp_stream_buffer, of beats of two bytes: for bench_buffer.py.
module tb_buffer #(
    parameter int DEPTH  = 8,
    parameter bit RESUME = 0,
    parameter bit ENDS   = 1
) (
    input  logic        clk,
    input  logic        rst_n,
    input  logic        flush,
    input  logic        s_tvalid,
    input  logic [15:0] s_tdata,
    input  logic [ 1:0] s_tkeep,
    input  logic        s_tlast,
    input  logic [ 3:0] s_side,
    output logic        m_tvalid,
    input  logic        m_tready,
    output logic [15:0] m_tdata,
    output logic [ 1:0] m_tkeep,
    output logic        m_tlast,
    output logic [ 3:0] m_side,
    output logic        lost,
    output logic        dropping
);
  tp_stream_buffer #(
      .WIDTH(16),
      .SIDE(4),
      .DEPTH(DEPTH),
      .RESUME(RESUME),
      .ENDS(ENDS)
  ) dut (
      .clk,
      .rst_n,
      .flush,
      .s_tvalid,
      .s_tdata,
      .s_tkeep,
      .s_tlast,
      .s_side,
      .m_tvalid,
      .m_tready,
      .m_tdata,
      .m_tkeep,
      .m_tlast,
      .m_side,
      .lost,
      .dropping
  );
endmodule
