// SPDX-License-Identifier: Apache-2.0
// The posted descriptors of all channels, in one block RAM.
//
// A row is {torn, descriptor}. It comes out with its length less by one, but for a prefix, whose length is a value. Which of a channel's ROWS
// are in use its front knows.
//
// Promises: a push is taken as it comes; it can be asked for in the next cycle. A row that is asked for comes two cycles after its grant, or as
// many later as `hold` is given, with `row_valid` for its channel.
module tp_store
  import towpath_pkg::*;
#(
    parameter int CHANNELS = 2,
    parameter int ROWS = 16,                // for each channel, a power of two
    parameter int INLINE_SLOTS = 4,
    localparam int CW = CHANNELS > 1 ? $clog2(CHANNELS) : 1,
    localparam int RW = $clog2(ROWS)
) (
    input logic clk,
    input logic rst,

    input logic          push_valid,
    input logic [CW-1:0] push_channel,
    input logic [RW-1:0] push_at,
    input logic [128:0]  push_row,

    input  logic                        hold,           // no row comes in this cycle
    input  logic [CHANNELS-1:0]         want,
    input  logic [CHANNELS-1:0][RW-1:0] want_at,
    output logic [CHANNELS-1:0]         grant,
    output logic [CHANNELS-1:0]         row_there,      // a row comes, now or when `hold` ends
    output logic [CHANNELS-1:0]         row_valid,
    output logic [128:0]                row,
    output logic                        row_malformed,  // of an unknown kind, or its slot or length is out of range
    output logic                        row_prefix,
    output logic                        row_list,
    output logic                        row_inline,
    output logic                        row_empty       // of length 0
);
  // What a descriptor is, is found out before it goes in: the way out of a block RAM is slow.
  typedef struct packed {
    logic malformed;
    logic prefix;
    logic list;
    logic is_inline;
    logic empty;
  } kind_t;
  // verilator lint_off UNUSEDSIGNAL
  tp_descriptor_t pushed;  // its cookie and user bits are not used here
  // verilator lint_on UNUSEDSIGNAL
  kind_t pushed_kind;
  logic [31:0] pushed_more;
  assign pushed = push_row[127:0];
  assign pushed_more = pushed.length - 32'(!pushed_kind.prefix);
  always_comb begin
    pushed_kind.empty = pushed.length == '0;
    pushed_kind.prefix = !push_row[128] && (pushed.control.kind == TP_KIND_ATTRIBUTES || pushed.control.kind == TP_KIND_MESSAGE_LENGTH);
    pushed_kind.list = pushed.control.kind == TP_KIND_LIST;
    pushed_kind.is_inline = pushed.control.kind == TP_KIND_INLINE;
    case (pushed.control.kind)
      TP_KIND_DIRECT, TP_KIND_LIST, TP_KIND_ATTRIBUTES, TP_KIND_MESSAGE_LENGTH: pushed_kind.malformed = 1'b0;
      TP_KIND_INLINE:
      pushed_kind.malformed = pushed.length > 32'(TP_INLINE_SLOT_BYTES) || pushed.address >= 64'(INLINE_SLOTS * TP_INLINE_SLOT_BYTES) ||
                              32'(pushed.address) % TP_INLINE_SLOT_BYTES != 0;
      default: pushed_kind.malformed = 1'b1;
    endcase
  end

  (* ram_style = "block" *) logic [$bits(kind_t)+128:0] rows[2**(CW+RW)];
  always_ff @(posedge clk) if (push_valid) rows[{push_channel, push_at}] <= {pushed_kind, push_row[128:96], pushed_more, push_row[63:0]};

  logic [CHANNELS-1:0] pick;
  logic [CW-1:0] channel;
  tp_round_robin #(
      .N(CHANNELS)
  ) i_turn (
      .clk,
      .rst,
      .request(want),
      .take(!hold),
      .grant(pick)
  );
  always_comb begin
    channel = '0;
    for (int c = 0; c < CHANNELS; c++) if (pick[c]) channel |= CW'(c);
  end
  assign grant = hold ? '0 : pick;

  logic [128:0] found;
  kind_t found_kind;
  logic [CHANNELS-1:0] found_valid, shown;
  assign row_valid = hold ? '0 : shown;
  assign row_there = shown;
  always_ff @(posedge clk) begin
    if (!hold) begin
      {found_kind, found} <= rows[{channel, want_at[channel]}];
      found_valid <= pick;
      shown <= found_valid;
      row <= found;
      {row_malformed, row_prefix, row_list, row_inline, row_empty} <= found_kind;
    end
    if (rst) begin
      found_valid <= '0;
      shown <= '0;
    end
  end
endmodule
