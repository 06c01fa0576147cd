// SPDX-License-Identifier: Apache-2.0
// Both halves of kind `buffer`, for the bench.
module buffer_top #(
    parameter int DATA_WIDTH = 128,
    parameter int BYTES = 256,
    localparam int KEEP = DATA_WIDTH / 8,
    localparam int AW = $clog2(BYTES / KEEP)
) (
    input  logic                  clk,
    input  logic                  rst_n,
    input  logic                  s_tvalid,
    output logic                  s_tready,
    input  logic [DATA_WIDTH-1:0] s_tdata,
    input  logic [      KEEP-1:0] s_tkeep,
    input  logic                  s_tlast,
    input  logic                  s_error,
    input  logic [          31:0] s_user,
    input  logic                  s_reset,
    output logic                  end_valid,
    input  logic                  end_ready,
    output logic [           5:0] end_status,
    output logic                  core_in_valid,
    output logic [          31:0] core_in_bytes,
    output logic [          31:0] core_in_user,
    input  logic [        AW-1:0] core_in_row,
    output logic [DATA_WIDTH-1:0] core_in_data,
    input  logic                  core_in_done,
    output logic                  m_tvalid,
    input  logic                  m_tready,
    output logic [DATA_WIDTH-1:0] m_tdata,
    output logic [      KEEP-1:0] m_tkeep,
    output logic                  m_tlast,
    output logic [          47:0] m_length,
    output logic [          31:0] m_offset,
    output logic [          31:0] m_user,
    input  logic                  m_reset,
    output logic                  core_out_free,
    input  logic                  core_out_write,
    input  logic [        AW-1:0] core_out_row,
    input  logic [DATA_WIDTH-1:0] core_out_data,
    input  logic                  core_out_done,
    input  logic [          31:0] core_out_bytes,
    input  logic [          31:0] core_out_user
);
  tp_buffer_in #(
      .DATA_WIDTH(DATA_WIDTH),
      .BYTES(BYTES)
  ) from_host (
      .s_length('0),
      .s_offset('0),
      .*
  );
  tp_buffer_out #(
      .DATA_WIDTH(DATA_WIDTH),
      .BYTES(BYTES)
  ) to_host (
      .*
  );
endmodule
