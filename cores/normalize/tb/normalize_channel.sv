// SPDX-License-Identifier: Apache-2.0
// The core with kind `buffer` before it, as Towpath puts them together: for the bench.
/* verilator lint_off PINCONNECTEMPTY */
module normalize_channel #(
    parameter int DATA_WIDTH = 128,
    parameter int BYTES = 4096,
    localparam int KEEP = DATA_WIDTH / 8,
    localparam int AW = $clog2(BYTES / KEEP)
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
  logic in_valid, in_done, out_free, out_write, out_done;
  logic [31:0] in_bytes, in_user, out_bytes, out_user;
  logic [AW-1:0] in_row, out_row;
  logic [DATA_WIDTH-1:0] in_data, out_data;

  tp_buffer_in #(
      .DATA_WIDTH(DATA_WIDTH),
      .BYTES(BYTES)
  ) from_host (
      .s_length('0),
      .s_offset('0),
      .core_in_valid(in_valid),
      .core_in_bytes(in_bytes),
      .core_in_user(in_user),
      .core_in_row(in_row),
      .core_in_data(in_data),
      .core_in_done(in_done),
      .*
  );

  normalize #(
      .DATA_WIDTH(DATA_WIDTH),
      .BYTES(BYTES)
  ) core (
      .clk,
      .rst_n,
      .frames_in_valid(in_valid),
      .frames_in_bytes(in_bytes),
      .frames_in_user(in_user),
      .frames_in_row(in_row),
      .frames_in_data(in_data),
      .frames_in_done(in_done),
      .frames_out_free(out_free),
      .frames_out_write(out_write),
      .frames_out_row(out_row),
      .frames_out_data(out_data),
      .frames_out_done(out_done),
      .frames_out_bytes(out_bytes),
      .frames_out_user(out_user)
  );

  tp_buffer_out #(
      .DATA_WIDTH(DATA_WIDTH),
      .BYTES(BYTES)
  ) to_host (
      .m_length(),
      .m_offset(),
      .core_out_free(out_free),
      .core_out_write(out_write),
      .core_out_row(out_row),
      .core_out_data(out_data),
      .core_out_done(out_done),
      .core_out_bytes(out_bytes),
      .core_out_user(out_user),
      .*
  );
endmodule
