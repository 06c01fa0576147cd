// SPDX-License-Identifier: Apache-2.0
// The core with kind `fanout` before it, as Towpath puts them together: for the bench.
/* verilator lint_off PINCONNECTEMPTY */
module exchange_channel #(
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
    input  logic [          31:0] s_user,
    input  logic                  s_reset,
    output logic                  end_valid,
    input  logic                  end_ready,
    output logic [           5:0] end_status,
    output logic [DATA_WIDTH-1:0] m_tdata,
    output logic [      KEEP-1:0] m_tkeep,
    output logic                  m_tlast,
    output logic                  m_tvalid,
    input  logic                  m_tready,
    output logic [          31:0] m_user,
    input  logic                  m_reset
);
  logic [3:0][DATA_WIDTH-1:0] in_tdata, out_tdata;
  logic [3:0][KEEP-1:0] in_tkeep, out_tkeep;
  logic [3:0] in_tlast, in_error, in_tvalid, in_tready, out_tlast, out_tvalid, out_tready;
  logic in_reset, out_reset;

  tp_fanout_split #(
      .DATA_WIDTH(DATA_WIDTH),
      .PORTS(4),
      .DEPTH(16)
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

  exchange #(
      .DATA_WIDTH(DATA_WIDTH)
  ) core (
      .clk,
      .rst_n,
      .data_in_tdata(in_tdata),
      .data_in_tkeep(in_tkeep),
      .data_in_tlast(in_tlast),
      .data_in_error(in_error),
      .data_in_tvalid(in_tvalid),
      .data_in_tready(in_tready),
      .data_in_reset(in_reset),
      .data_out_tdata(out_tdata),
      .data_out_tkeep(out_tkeep),
      .data_out_tlast(out_tlast),
      .data_out_tvalid(out_tvalid),
      .data_out_tready(out_tready),
      .data_out_reset(out_reset)
  );

  tp_fanout_merge #(
      .DATA_WIDTH(DATA_WIDTH),
      .PORTS(4),
      .DEPTH(16)
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
