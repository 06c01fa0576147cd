// SPDX-License-Identifier: Apache-2.0
//
// Host to card: takes the CRC-32C off the end of each message and checks it. The core gets the rest, with `core_in_bad` beside `core_in_tlast`;
// the host gets the verdict: 0, or 1 for a wrong CRC or a message too short to have one. Of such a message the core gets what there is.
//
// A beat is held until it is known how many of its bytes are CRC. A message may end in a beat of its own without bytes.
// Rate: one beat a clock, and one clock more for some messages. A message's last beat waits until the verdict before it is taken.
module crc_check #(
    parameter int DATA_WIDTH = 128,
    localparam int KEEP = DATA_WIDTH / 8
) (
    input logic clk,
    input logic rst_n,

    input  logic                  s_tvalid,
    output logic                  s_tready,
    input  logic [DATA_WIDTH-1:0] s_tdata,
    input  logic [      KEEP-1:0] s_tkeep,
    input  logic                  s_tlast,
    input  logic                  s_error,
    input  logic [          63:0] s_length,
    input  logic [          63:0] s_offset,
    input  logic [          31:0] s_user,
    input  logic                  s_reset,
    output logic                  end_valid,
    input  logic                  end_ready,
    output logic [           5:0] end_status,

    output logic [DATA_WIDTH-1:0] core_in_tdata,
    output logic [      KEEP-1:0] core_in_tkeep,
    output logic                  core_in_tlast,
    output logic                  core_in_tvalid,
    input  logic                  core_in_tready,
    output logic                  core_in_bad,    // with tlast: the CRC is wrong, or a fault cut the message
    output logic                  core_in_reset
);
  localparam logic [31:0] RIGHT = 32'hB798B438;  // no message of less than four bytes comes to it
  localparam int CW = $clog2(KEEP) + 1;
  localparam logic [CW-1:0] CRC = 4;  // bytes

  wire unused = ^{s_length, s_offset, s_user};
  assign core_in_reset = s_reset;

  // ---- the checksum of all beats that were taken, and with the one that is offered
  logic [31:0] crc, with_this;
  crc_step #(
      .DATA_WIDTH(DATA_WIDTH)
  ) step (
      .crc_in(crc),
      .data(s_tdata),
      .keep(s_tkeep),
      .crc_out(with_this)
  );

  // ---- the bytes: what is held, and then what is offered, less the CRC
  logic held_valid;
  logic [DATA_WIDTH-1:0] held;
  wire [CW-1:0] count = CW'($countones(s_tkeep));
  wire both = held_valid && s_tlast && count > CRC;  // the held beat is whole, and another one follows
  wire last = s_tlast && !both;
  wire room = !end_valid;  // what is offered to the core is never withdrawn
  wire leaves = core_in_tvalid && core_in_tready;
  wire taken = s_tvalid && s_tready;
  logic [CW-1:0] left;
  always_comb begin
    if (held_valid) left = last ? CW'(KEEP) + count - CRC : CW'(KEEP);
    else left = count > CRC ? count - CRC : '0;
  end
  assign core_in_tvalid = s_tvalid && (held_valid || s_tlast) && (room || !last);
  assign core_in_tdata = held_valid ? held : s_tdata;
  assign core_in_tlast = last;
  assign core_in_bad = s_error || with_this != RIGHT;
  assign s_tready = !held_valid && !s_tlast ? 1'b1 : core_in_tready && (room || !last) && !both;
  always_comb for (int i = 0; i < KEEP; i++) core_in_tkeep[i] = CW'(i) < left;

  always_ff @(posedge clk) begin
    if (taken) begin
      held <= s_tdata;
      crc <= s_tlast ? '1 : with_this;
    end
    if (taken && !s_tlast) held_valid <= 1'b1;
    else if (leaves && s_tlast) held_valid <= 1'b0;
    // A message that a fault has cut has no verdict: the host knows.
    if (taken && s_tlast && !s_error) begin
      end_valid  <= 1'b1;
      end_status <= core_in_bad ? 6'd1 : 6'd0;
    end else if (end_ready) end_valid <= 1'b0;
    if (!rst_n || s_reset) begin
      held_valid <= 1'b0;
      crc <= '1;
      end_valid <= 1'b0;
    end
  end
endmodule
