// SPDX-License-Identifier: Apache-2.0
//
// Card to host: appends a CRC-32C, low byte first, to each message of the core. With `core_out_bad` beside `core_out_tlast` the CRC is turned
// to a wrong one: what came in damaged does not go out as if it were sound.
//
// Rate: one beat a clock, and one clock more for a message whose last beat has no room for the CRC.
module crc_add #(
    parameter int DATA_WIDTH = 128,
    localparam int KEEP = DATA_WIDTH / 8
) (
    input logic clk,
    input logic rst_n,

    output logic                  m_tvalid,
    input  logic                  m_tready,
    output logic [DATA_WIDTH-1:0] m_tdata,
    output logic [      KEEP-1:0] m_tkeep,
    output logic                  m_tlast,
    output logic [          47:0] m_length,
    output logic [          31:0] m_offset,
    output logic [          31:0] m_user,
    input  logic                  m_reset,

    input  logic [DATA_WIDTH-1:0] core_out_tdata,
    input  logic [      KEEP-1:0] core_out_tkeep,
    input  logic                  core_out_tlast,
    input  logic                  core_out_tvalid,
    output logic                  core_out_tready,
    input  logic                  core_out_bad,
    output logic                  core_out_reset
);
  assign {m_length, m_offset, m_user} = '0;
  assign core_out_reset = m_reset;

  logic [31:0] crc, with_this;
  crc_step #(
      .DATA_WIDTH(DATA_WIDTH)
  ) step (
      .crc_in(crc),
      .data(core_out_tdata),
      .keep(core_out_tkeep),
      .crc_out(with_this)
  );

  // The last beat's bytes with the CRC behind them: `spill` is what goes beyond the beat.
  wire [31:0] sum = ~with_this ^ 32'(core_out_bad);
  logic [DATA_WIDTH-1:0] bytes;
  logic [DATA_WIDTH+31:0] joined;
  logic [KEEP+3:0] lanes;
  always_comb begin
    for (int i = 0; i < KEEP; i++) bytes[8*i+:8] = core_out_tkeep[i] ? core_out_tdata[8*i+:8] : 8'h00;
    joined = (DATA_WIDTH + 32)'(bytes) | (DATA_WIDTH + 32)'(sum) << 8 * $countones(core_out_tkeep);
  end
  assign lanes = {core_out_tkeep, 4'hF};

  logic spill_valid;
  logic [31:0] spill;
  logic [3:0] spill_keep;
  wire free = !m_tvalid || m_tready;
  assign core_out_tready = free && !spill_valid;
  wire taken = core_out_tvalid && core_out_tready;

  always_ff @(posedge clk) begin
    if (taken) begin
      m_tdata <= core_out_tlast ? joined[DATA_WIDTH-1:0] : core_out_tdata;
      m_tkeep <= core_out_tlast ? lanes[KEEP-1:0] : '1;
      m_tlast <= core_out_tlast && lanes[KEEP+3:KEEP] == '0;
      spill <= joined[DATA_WIDTH+:32];
      spill_keep <= lanes[KEEP+3:KEEP];
      spill_valid <= core_out_tlast && lanes[KEEP+3:KEEP] != '0;
      crc <= core_out_tlast ? '1 : with_this;
    end else if (free && spill_valid) begin
      m_tdata <= DATA_WIDTH'(spill);
      m_tkeep <= KEEP'(spill_keep);
      m_tlast <= 1'b1;
      spill_valid <= 1'b0;
    end
    if (free) m_tvalid <= taken || spill_valid;
    if (!rst_n || m_reset) begin
      m_tvalid <= 1'b0;
      spill_valid <= 1'b0;
      crc <= '1;
    end
  end
endmodule
