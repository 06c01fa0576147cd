// SPDX-License-Identifier: Apache-2.0
// The C2H half of kind `buffer`: the core writes a frame of up to BYTES into block RAM by rows, in any order, and the kind sends it as one message.
// There are two halves: while one frame goes out, the core writes the next one into the other.
//
// While `core_out_free` the core has a half: `core_out_write` puts `core_out_data` into row `core_out_row`; `core_out_done`, with the last row's write
// or later, sends `core_out_bytes` bytes from row 0 on, with `core_out_user` as the user word. More than BYTES are BYTES; 0 is an empty message. Rows
// that were not written are rubbish. Without `core_out_free`, writes and `core_out_done` are not taken.
//
// A reset forgets the frames that are done, and one that is done in it. The half that the core writes stays the core's, with what it has written.
//
// Promises: each frame that is done goes out whole, once and in order, as it was then.
// Rate: one row a clock, from one frame to the next, too.
module tp_buffer_out #(
    parameter int DATA_WIDTH = 128,
    parameter int BYTES = 4096,  // of the longest frame, a power of two
    localparam int KEEP = DATA_WIDTH / 8,
    localparam int ROWS = BYTES / KEEP,
    localparam int AW = $clog2(ROWS)
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

    output logic                  core_out_free,
    input  logic                  core_out_write,
    input  logic [        AW-1:0] core_out_row,
    input  logic [DATA_WIDTH-1:0] core_out_data,
    input  logic                  core_out_done,
    input  logic [          31:0] core_out_bytes,
    input  logic [          31:0] core_out_user
);
  localparam int KW = $clog2(KEEP);
  localparam int BW = AW + KW + 1;  // of a count of bytes

  if (BYTES < 2 * KEEP || (BYTES & (BYTES - 1)) != 0) $error("%m: BYTES %0d: make it a power of two, %0d or more", BYTES, 2 * KEEP);

  logic fills, sends;  // the half that the core writes, and the one that goes out
  logic [1:0] full;
  logic [BW-1:0] bytes[2];
  logic [31:0] user[2];
  logic done;
  assign core_out_free = !full[fills];
  assign done = core_out_done && core_out_free && !m_reset;

  // ------------------------------------------------------------------------------------------------ rows on their way out
  logic [AW-1:0] row;  // the next one
  logic [BW-1:0] length;
  logic fetch, last, take, q_valid, q_last;
  logic [KW:0] rest, q_rest;  // bytes of the last row
  logic [31:0] q_user;
  logic [BW-1:0] q_length, out_length;
  assign length = bytes[sends];
  assign last = length <= {1'b0, row, {KW{1'b0}}} + BW'(KEEP);
  assign rest = length != '0 && length[KW-1:0] == '0 ? (KW + 1)'(KEEP) : {1'b0, length[KW-1:0]};
  assign take = m_tready || !m_tvalid;
  assign fetch = full[sends] && (take || !q_valid);

  logic [DATA_WIDTH-1:0] mem[2*ROWS];
  logic [DATA_WIDTH-1:0] q;
  always_ff @(posedge clk) begin
    if (core_out_write && core_out_free) mem[{fills, core_out_row}] <= core_out_data;
  end
  always_ff @(posedge clk) begin
    if (fetch) q <= mem[{sends, row}];
  end

  assign m_length = 48'(out_length);
  assign m_offset = '0;
  always_ff @(posedge clk) begin
    if (done) begin
      full[fills] <= 1'b1;
      bytes[fills] <= core_out_bytes > 32'(BYTES) ? BW'(BYTES) : BW'(core_out_bytes);
      user[fills] <= core_out_user;
      fills <= !fills;
    end
    if (fetch) begin
      q_last <= last;
      q_rest <= last ? rest : (KW + 1)'(KEEP);
      q_user <= user[sends];
      q_length <= length;
      row <= last ? '0 : row + 1'b1;
      if (last) begin
        full[sends] <= 1'b0;
        sends <= !sends;
      end
    end
    if (fetch || take) q_valid <= fetch;
    if (take) begin
      m_tvalid <= q_valid;
      m_tdata <= q;
      for (int b = 0; b < KEEP; b++) m_tkeep[b] <= (KW + 1)'(b) < q_rest;
      m_tlast <= q_last;
      m_user <= q_user;
      out_length <= q_length;
    end
    if (!rst_n || m_reset) begin
      full <= '0;
      sends <= fills;
      row <= '0;
      q_valid <= 1'b0;
      m_tvalid <= 1'b0;
    end
    if (!rst_n) {fills, sends} <= '0;
  end
endmodule
