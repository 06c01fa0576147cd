// SPDX-License-Identifier: Apache-2.0
// Both halves of kind `fanout`, with ports that a bench can reach: those of all core ports side by side.
/* verilator lint_off PINCONNECTEMPTY */
module fanout_top #(
    parameter int DATA_WIDTH = 128,
    parameter int PORTS = 4,
    parameter int DEPTH = 16,
    localparam int KEEP = DATA_WIDTH / 8
) (
    input  logic                        clk,
    input  logic                        rst_n,
    input  logic                        s_tvalid,
    output logic                        s_tready,
    input  logic [      DATA_WIDTH-1:0] s_tdata,
    input  logic [            KEEP-1:0] s_tkeep,
    input  logic                        s_tlast,
    input  logic                        s_error,
    input  logic [                31:0] s_user,
    input  logic                        s_reset,
    output logic                        end_valid,
    input  logic                        end_ready,
    output logic [                 5:0] end_status,
    output logic [PORTS*DATA_WIDTH-1:0] in_tdata,
    output logic [      PORTS*KEEP-1:0] in_tkeep,
    output logic [           PORTS-1:0] in_tlast,
    output logic [           PORTS-1:0] in_error,
    output logic [           PORTS-1:0] in_tvalid,
    input  logic [           PORTS-1:0] in_tready,
    output logic                        in_reset,
    output logic                        m_tvalid,
    input  logic                        m_tready,
    output logic [      DATA_WIDTH-1:0] m_tdata,
    output logic [            KEEP-1:0] m_tkeep,
    output logic                        m_tlast,
    output logic [                31:0] m_user,
    input  logic                        m_reset,
    input  logic [PORTS*DATA_WIDTH-1:0] out_tdata,
    input  logic [      PORTS*KEEP-1:0] out_tkeep,
    input  logic [           PORTS-1:0] out_tlast,
    input  logic [           PORTS-1:0] out_tvalid,
    output logic [           PORTS-1:0] out_tready,
    output logic                        out_reset
);
  tp_fanout_split #(
      .DATA_WIDTH(DATA_WIDTH),
      .PORTS(PORTS),
      .DEPTH(DEPTH)
  ) split (
      .s_length('0),
      .s_offset('0),
      .core_in_tdata(in_tdata),
      .core_in_tkeep(in_tkeep),
      .core_in_tlast(in_tlast),
      .core_in_error(in_error),
      .core_in_tvalid(in_tvalid),
      .core_in_tready(in_tready),
      .core_in_reset(in_reset),
      .*
  );
  tp_fanout_merge #(
      .DATA_WIDTH(DATA_WIDTH),
      .PORTS(PORTS),
      .DEPTH(DEPTH)
  ) merge (
      .m_length(),
      .m_offset(),
      .core_out_tdata(out_tdata),
      .core_out_tkeep(out_tkeep),
      .core_out_tlast(out_tlast),
      .core_out_tvalid(out_tvalid),
      .core_out_tready(out_tready),
      .core_out_reset(out_reset),
      .*
  );
endmodule
