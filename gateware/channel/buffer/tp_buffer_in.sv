// SPDX-License-Identifier: Apache-2.0
// The H2C half of kind `buffer`: each message is a frame of up to BYTES, which the core sees as a whole, in block RAM. There are two halves: while
// the core looks at one frame, the next one fills the other.
//
// While `core_in_valid`, `core_in_bytes` and `core_in_user` are the frame's, and `core_in_data` is the row that `core_in_row` named two clocks ago;
// byte 0 of the frame is in the lowest lane of row 0. In a row beyond the frame's end, and in the last one's lanes beyond it, stands rubbish.
// `core_in_done` gives the half back; the next frame may be there in the next clock. Without `core_in_done` a frame goes only in a reset:
// then `core_in_valid` is 0 for a clock at least.
//
// Verdicts: 0 the frame is in its half; 1 it has more than BYTES, and the core does not see it. Nor does it see what a fault has cut.
// A reset forgets the frames in both halves.
//
// Promises: the core sees whole frames, once and in order, and a frame stands until it is done with.
// Rate: one row a clock, while a half is free.
module tp_buffer_in #(
    parameter int DATA_WIDTH = 128,
    parameter int BYTES = 4096,  // of the longest frame, a power of two
    localparam int KEEP = DATA_WIDTH / 8,
    localparam int ROWS = BYTES / KEEP,
    localparam int AW = $clog2(ROWS)
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

    output logic                  core_in_valid,
    output logic [          31:0] core_in_bytes,
    output logic [          31:0] core_in_user,
    input  logic [        AW-1:0] core_in_row,
    output logic [DATA_WIDTH-1:0] core_in_data,
    input  logic                  core_in_done
);
  localparam logic [5:0] TOO_LONG = 6'd1;
  localparam int KW = $clog2(KEEP);

  if (BYTES < 2 * KEEP || (BYTES & (BYTES - 1)) != 0) $error("%m: BYTES %0d: make it a power of two, %0d or more", BYTES, 2 * KEEP);

  wire unused = ^{s_length, s_offset};

  logic fills, shows;  // the half that the channel fills, and the one that the core sees
  logic [1:0] full;
  logic [AW+KW:0] bytes[2];
  logic [31:0] user[2];

  // ------------------------------------------------------------------------------------------------ the channel's side
  logic [AW:0] row;  // the next one; ROWS: the half is full
  logic cut;  // the message is too long, and its rest is dropped
  logic taken, beyond;
  logic [KW:0] count;  // of the beat's bytes
  always_comb begin
    count = '0;
    for (int n = 1; n <= KEEP; n++) if (s_tkeep[n-1] && (n == KEEP || !s_tkeep[n%KEEP])) count |= (KW + 1)'(n);
  end
  assign s_tready = !full[fills] && (!s_tlast || !end_valid || end_ready) && !s_reset;
  assign taken = s_tvalid && s_tready;
  assign beyond = cut || (row[AW] && s_tkeep[0]);

  // ------------------------------------------------------------------------------------------------ the halves
  logic [DATA_WIDTH-1:0] mem[2*ROWS];
  logic [DATA_WIDTH-1:0] q;  // the RAM's output, before its own register
  always_ff @(posedge clk) begin
    if (taken && !row[AW]) mem[{fills, row[AW-1:0]}] <= s_tdata;
  end
  always_ff @(posedge clk) begin
    q <= mem[{shows, core_in_row}];
    core_in_data <= q;
  end
  assign core_in_valid = full[shows] && !s_reset;
  assign core_in_bytes = 32'(bytes[shows]);
  assign core_in_user = user[shows];

  always_ff @(posedge clk) begin
    if (core_in_valid && core_in_done) begin
      full[shows] <= 1'b0;
      shows <= !shows;
    end
    if (taken) begin
      row <= s_tlast ? '0 : row[AW] ? row : row + 1'b1;
      cut <= beyond && !s_tlast;
      if (s_tlast && !s_error && !beyond) begin
        full[fills] <= 1'b1;
        bytes[fills] <= {row, {KW{1'b0}}} + (AW + KW + 1)'(count);
        user[fills] <= s_user;
        fills <= !fills;
      end
    end
    if (taken && s_tlast && !s_error) begin
      end_valid  <= 1'b1;
      end_status <= beyond ? TOO_LONG : 6'd0;
    end else if (end_ready) end_valid <= 1'b0;

    if (!rst_n || s_reset) begin
      full <= '0;
      fills <= 1'b0;
      shows <= 1'b0;
      row <= '0;
      cut <= 1'b0;
      end_valid <= 1'b0;
    end
  end
endmodule
