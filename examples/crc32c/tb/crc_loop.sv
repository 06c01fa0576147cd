// SPDX-License-Identifier: Apache-2.0
// The kind's two modules with the core behind them, as Towpath puts them together: for the bench, which needs nothing of Towpath.
/* verilator lint_off PINCONNECTEMPTY */
module crc_loop #(
    parameter int DATA_WIDTH = 128,
    localparam int KEEP = DATA_WIDTH / 8
) (
    input  logic                  clk,
    input  logic                  rst_n,
    input  logic [DATA_WIDTH-1:0] s_tdata,
    input  logic [      KEEP-1:0] s_tkeep,
    input  logic                  s_tlast,
    input  logic                  s_tvalid,
    output logic                  s_tready,
    input  logic                  s_error,
    input  logic                  s_reset,
    output logic                  end_valid,
    input  logic                  end_ready,
    output logic [           5:0] end_status,
    output logic [DATA_WIDTH-1:0] m_tdata,
    output logic [      KEEP-1:0] m_tkeep,
    output logic                  m_tlast,
    output logic                  m_tvalid,
    input  logic                  m_tready,
    input  logic                  m_reset
);
  logic [DATA_WIDTH-1:0] in_tdata, out_tdata;
  logic [KEEP-1:0] in_tkeep, out_tkeep;
  logic in_tlast, in_tvalid, in_tready, in_bad, in_reset, out_tlast, out_tvalid, out_tready, out_bad, out_reset;

  crc_check #(
      .DATA_WIDTH(DATA_WIDTH)
  ) check (
      .s_length('0),
      .s_offset('0),
      .s_user('0),
      .core_in_tdata(in_tdata),
      .core_in_tkeep(in_tkeep),
      .core_in_tlast(in_tlast),
      .core_in_tvalid(in_tvalid),
      .core_in_tready(in_tready),
      .core_in_bad(in_bad),
      .core_in_reset(in_reset),
      .*
  );

  echo #(
      .DATA_WIDTH(DATA_WIDTH)
  ) core (
      .data_in_tdata(in_tdata),
      .data_in_tkeep(in_tkeep),
      .data_in_tlast(in_tlast),
      .data_in_tvalid(in_tvalid),
      .data_in_tready(in_tready),
      .data_in_bad(in_bad),
      .data_in_reset(in_reset),
      .data_out_tdata(out_tdata),
      .data_out_tkeep(out_tkeep),
      .data_out_tlast(out_tlast),
      .data_out_tvalid(out_tvalid),
      .data_out_tready(out_tready),
      .data_out_bad(out_bad),
      .data_out_reset(out_reset),
      .*
  );

  crc_add #(
      .DATA_WIDTH(DATA_WIDTH)
  ) add (
      .m_length(),
      .m_offset(),
      .m_user(),
      .core_out_tdata(out_tdata),
      .core_out_tkeep(out_tkeep),
      .core_out_tlast(out_tlast),
      .core_out_tvalid(out_tvalid),
      .core_out_tready(out_tready),
      .core_out_bad(out_bad),
      .core_out_reset(out_reset),
      .*
  );
endmodule
