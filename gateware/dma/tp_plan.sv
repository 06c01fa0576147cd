// SPDX-License-Identifier: Apache-2.0
// Cuts the pieces of all channels' descriptors into requests, one cut at a time for whichever channel wants one.
//
// What is left of a channel's piece and of its descriptor stands in LUT memory, so that another channel costs no adder. A cut starts from a row
// of tp_store (a direct descriptor), from a piece of tp_lists, or from what the last cut left. `a` picks one and reads; `b` cuts, writes
// back what is left, and hands the channel its plan: an address and a count of bytes, which stand in memory until the channel is done with
// them. Each channel has room for two plans, which its front counts.
//
// A read is cut where its natural boundary lies, and is no longer than READ_BYTES; what does not start on a completion
// boundary goes up to the next one, so that each packet of an answer starts at a row of the landing RAM. A write is cut at the
// next multiple of what one TLP may carry, and is no longer than half of the sending room. So neither crosses 4 KiB.
//
// All counts of bytes are less by one: `more`.
// Promises: a plan follows its cut in the next cycle; another cut may be asked for in the cycle after.
module tp_plan
  import tp_tlp_pkg::*;
#(
    parameter int H2C = 1,
    parameter int C2H = 1,
    parameter int READ_BYTES = 512,         // no read is longer, a power of two up to 4096
    parameter int SENDING_BYTES = 8192,
    localparam int CHANNELS = H2C + C2H,
    localparam int CW = CHANNELS > 1 ? $clog2(CHANNELS) : 1,
    localparam int READ_LOG2 = $clog2(READ_BYTES),
    localparam int WRITE_LOG2 = $clog2(SENDING_BYTES / 2) > 12 ? 12 : $clog2(SENDING_BYTES / 2)
) (
    input  logic       clk,
    input  logic       rst,
    input  logic [2:0] max_read,              // 128 << n bytes
    input  logic [2:0] max_payload,

    // A row or a piece is cut as it comes, if it is to be; they never come together.
    input  logic [CHANNELS-1:0] row_valid,
    input  logic [CHANNELS-1:0] row_cut,      // with row_valid: of a direct descriptor, or of a list: then only its length is noted
    input  logic                row_list,
    input  logic [63:0]         row_addr,
    input  logic [31:0]         row_more,
    input  logic [CHANNELS-1:0] piece_next,   // piece_valid in the next cycle
    input  logic [CHANNELS-1:0] piece_valid,
    input  logic [CHANNELS-1:0] piece_cut,    // with piece_valid
    input  logic                piece_empty,
    input  logic [63:0]         piece_addr,
    input  logic [31:0]         piece_more,
    input  logic [CHANNELS-1:0] want,         // another cut
    output logic [CHANNELS-1:0] grant,

    // the plan of a cut, and where it is to stand
    output logic [CHANNELS-1:0] plan_valid,
    output logic [11:0]         plan_more,
    output logic                plan_all,     // of the piece
    output logic                plan_last,    // of the descriptor
    input  logic [CHANNELS-1:0] plan_at,

    // the plans
    input  logic [CW-1:0]       read_channel,
    input  logic                read_at,
    output logic [63:0]         read_addr,
    output logic [11:0]         read_more,
    input  logic [CW-1:0]       write_channel,
    input  logic                write_at,
    output logic [63:0]         write_addr,

    // what no plan covers yet, of any channel's descriptor
    input  logic [CW-1:0] left_channel,
    output logic [31:0]   left_more
);
  if (H2C < 0 || C2H < 0 || CHANNELS < 1) $error("%m: H2C %0d and C2H %0d: at least one channel", H2C, C2H);

  localparam int EDGE = $clog2(CPL_BOUNDARY);
  logic [11:0] read_mask, write_mask;
  logic [3:0] read_log2;  // of the longest read
  always_ff @(posedge clk) begin
    read_log2 <= 4'd7 + 4'(max_read) > 4'(READ_LOG2) ? 4'(READ_LOG2) : 4'd7 + 4'(max_read);
    for (int i = 0; i < 12; i++) begin
      read_mask[i] <= 32'(read_log2) > i;
      write_mask[i] <= i < 7 || (i < WRITE_LOG2 && 32'(max_payload) + 7 > i);
    end
  end

  // ------------------------------------------------------------------------------------------------ memory
  localparam int N = 2 ** CW;
  logic [63:0] addrs[N];
  logic [32:0] pieces[N];                     // {it is the descriptor's last, more}
  logic [31:0] lefts[N];
  logic [31:0] lefts_too[N];                  // a copy to look at: a second read port would cost more
  logic [75:0] reads[2*N];
  logic [63:0] writes[2*N];

  // ------------------------------------------------------------------------------------------------ a
  function automatic logic [CW-1:0] number(input logic [CHANNELS-1:0] one_hot);
    number = '0;
    for (int c = 0; c < CHANNELS; c++) if (one_hot[c]) number |= CW'(c);
  endfunction

  logic row_now, piece_now, piece_soon;
  logic [CHANNELS-1:0] turn, a_channels;
  logic [CW-1:0] a_channel, a_read, a_turn;
  logic [31:0] a_left, piece_left, clip;  // piece_left: of the descriptor whose piece comes
  logic clipped;
  assign row_now = |row_valid;
  assign piece_now = |piece_valid;
  assign piece_soon = |piece_next;
  tp_round_robin_ahead #(
      .N(CHANNELS)
  ) i_turn (
      .clk,
      .rst,
      .request(want),
      .served(grant != '0),
      .turn
  );
  assign grant = row_now || piece_now || piece_soon ? '0 : want & turn;
  assign a_channels = row_now ? row_valid : piece_now ? piece_valid : turn;
  assign a_channel = number(a_channels);
  assign a_turn = number(turn);
  assign a_read = number(piece_soon ? piece_next : turn);  // a row and a piece have nothing to read
  assign a_left = lefts[a_read];
  assign clipped = piece_more >= piece_left;
  assign clip = clipped ? piece_left : piece_more;

  // ------------------------------------------------------------------------------------------------ b
  logic [CHANNELS-1:0] b_valid;
  logic [CW-1:0] b_channel;
  logic b_cut, b_last, b_note;
  logic [63:0] b_addr;
  logic [31:0] b_more, b_left;
  logic b_long;                               // b_more is 4096 or more
  logic [11:0] mask;                          // where it is cut: before the next byte behind which these bits are all ones
  logic a_read_side, aligned;
  assign a_read_side = 32'(a_channel) < H2C;
  always_comb begin
    aligned = 1'b1;  // what a cut has left starts on a boundary
    if (piece_now) aligned = piece_addr[EDGE-1:0] == '0;
    if (row_now) aligned = row_addr[EDGE-1:0] == '0;
  end
  always_ff @(posedge clk) begin
    b_valid <= (row_list ? '0 : row_cut) | (piece_empty ? '0 : piece_cut) | grant;  // one of them at most
    b_note <= |row_cut && row_list && !rst;
    piece_left <= a_left;
    b_channel <= a_channel;
    for (int i = 0; i < 12; i++) mask[i] <= a_read_side ? (i < EDGE || (aligned && read_mask[i])) : write_mask[i];
    if (row_now) begin
      b_addr <= row_addr;
      {b_last, b_more} <= {1'b1, row_more};
      b_long <= row_more[31:12] != '0;
      b_left <= row_more;
    end else if (piece_now) begin
      b_addr <= piece_addr;
      {b_last, b_more} <= {clipped, clip};
      b_long <= clipped ? piece_left[31:12] != '0 : piece_more[31:12] != '0;
      b_left <= piece_left;
    end else begin
      b_addr <= addrs[a_turn];
      {b_last, b_more} <= pieces[a_turn];
      b_long <= pieces[a_turn][31:12] != '0;
      b_left <= a_left;
    end
    if (rst) b_valid <= '0;
  end

  logic [11:0] room;  // from here to the cut
  assign room = mask & ~b_addr[11:0];
  assign plan_all = !b_long && b_more[11:0] <= room;
  assign plan_last = plan_all && b_last;
  assign plan_more = plan_all ? b_more[11:0] : room;
  assign plan_valid = b_valid;
  assign b_cut = b_valid != '0;
  logic b_at;
  always_comb begin
    b_at = 1'b0;
    for (int c = 0; c < CHANNELS; c++) if (b_valid[c]) b_at |= plan_at[c];
  end

  logic [31:0] b_rest;  // both differences are made beside the comparison, not after it
  always_comb begin
    b_rest = plan_all ? b_left - b_more - 1'b1 : b_left - 32'(room) - 1'b1;
    if (!b_cut) b_rest = b_left;
  end
  always_ff @(posedge clk) begin
    if (b_cut) begin
      addrs[b_channel] <= {b_addr[63:12], b_addr[11:0] | mask} + 1'b1;
      pieces[b_channel] <= {b_last, b_more - 32'(room) - 1'b1};
      reads[{b_channel, b_at}] <= {plan_more, b_addr};
      writes[{b_channel, b_at}] <= b_addr;
    end
    if (b_cut || b_note) begin
      lefts[b_channel] <= b_rest;
      lefts_too[b_channel] <= b_rest;
    end
  end

  assign {read_more, read_addr} = reads[{read_channel, read_at}];
  assign write_addr = writes[{write_channel, write_at}];
  assign left_more = lefts_too[left_channel];
endmodule
