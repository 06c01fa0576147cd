// SPDX-License-Identifier: Apache-2.0
// The inline slots of all H2C channels, in memory as wide as the path: the host writes them, any bytes in any order, a beat a clock; their words
// go into the landing RAM.
//
// A beat comes from tp_turn, each dword in the bank which its address names. A bank below the first dword's belongs to the next row.
//
// A channel wants its next word copied until it is told that it was (`copied`): a word is read in one cycle and offered to the landing
// in the next ones. A wish that is withdrawn is forgotten.
//
// Promises: a write is seen by words asked for two cycles later or more.
module tp_inline
  import towpath_pkg::*;
#(
    parameter int DATA_WIDTH = 128,
    parameter int CHANNELS = 1,
    parameter int SLOTS = 4,                // of each channel
    localparam int CW = CHANNELS > 1 ? $clog2(CHANNELS) : 1,
    localparam int WORDS = SLOTS == 0 ? DATA_WIDTH / 64 : 2 ** $clog2(SLOTS * TP_INLINE_SLOT_BYTES / 8),
    localparam int WW = SLOTS == 0 ? 1 : $clog2(WORDS)
) (
    input logic clk,
    input logic rst,

    input logic                           wr_valid,    // a beat comes in the next cycle, turned
    input logic [          CW-1:0]        wr_channel,  // ... of this channel
    input logic [            11:2]        turned_at,   // its first dword; what lies beyond the slots is dropped
    input logic [DATA_WIDTH/32-1:0][31:0] turned_data,
    input logic [DATA_WIDTH/32-1:0][ 3:0] turned_strb,

    input  logic [CHANNELS-1:0]         want,
    input  logic [CHANNELS-1:0][WW-1:0] word,
    output logic [CHANNELS-1:0]         copied,

    output logic          out_valid,
    input  logic          out_ready,
    output logic [CW-1:0] out_channel,
    output logic [63:0]   out_data
);
  localparam int LANES = DATA_WIDTH / 32;
  localparam int LW = $clog2(LANES);
  localparam int ROWS = 2 * WORDS / LANES;  // of each channel
  localparam int DEPTH = ROWS * 2 ** CW;
  localparam int DW = $clog2(DEPTH);
  localparam bit SMALL = DEPTH <= 64;

  // ------------------------------------------------------------------------------------------------ read
  logic [CHANNELS-1:0] pick, shown;
  logic [CW-1:0] channel;
  logic [WW-1:0] picked;
  logic [DW-1:0] read_at;
  logic [LANES-1:0][31:0] found;
  logic free;
  tp_round_robin #(
      .N(CHANNELS)
  ) i_turn (
      .clk,
      .rst,
      .request(want & ~shown),
      .take(free),
      .grant(pick)
  );
  always_comb begin
    channel = '0;
    for (int c = 0; c < CHANNELS; c++) if (pick[c]) channel |= CW'(c);
  end
  assign out_valid = |(shown & want);
  assign copied = out_ready ? shown & want : '0;
  assign free = !out_valid || out_ready;
  assign picked = word[channel];
  assign read_at = DW'(channel) * DW'(ROWS) + DW'(32'(picked) / (LANES / 2));
  always_ff @(posedge clk) begin
    if (free) begin
      shown <= pick;
      out_channel <= channel;
    end
    if (rst) shown <= '0;
  end
  // ------------------------------------------------------------------------------------------------ write
  logic valid;
  logic [CW-1:0] into;
  always_ff @(posedge clk) begin
    valid <= wr_valid && !rst;
    into <= wr_channel;
  end
  for (genvar b = 0; b < LANES; b++) begin : g_bank
    logic [12:2] row;
    logic [DW-1:0] write_at;
    logic [3:0] write;
    assign row = (11'(turned_at) + 11'(LANES - 1 - b)) >> LW;  // the first row that is not below it
    assign write_at = DW'(into) * DW'(ROWS) + DW'(row);
    assign write = valid && 32'(row) < ROWS ? turned_strb[b] : '0;
    // LUT memory for few channels; a block RAM reads as fast, and its banks are narrower than one.
    if (SMALL) begin : g_small
      (* ram_style = "distributed" *) logic [31:0] mem[DEPTH];
      always_ff @(posedge clk) for (int i = 0; i < 4; i++) if (write[i]) mem[write_at][8*i+:8] <= turned_data[b][8*i+:8];
      assign found[b] = mem[read_at];
    end else begin : g_large
      (* ram_style = "block" *) logic [31:0] mem[DEPTH];
      always_ff @(posedge clk) for (int i = 0; i < 4; i++) if (write[i]) mem[write_at][8*i+:8] <= turned_data[b][8*i+:8];
      always_ff @(posedge clk) if (free) found[b] <= mem[read_at];
    end
  end

  // The word of the row: chosen before the register that LUT memory needs, behind the one that a block RAM has.
  logic [63:0] found_word;
  if (SMALL) begin : g_choose
    always_ff @(posedge clk) if (free) out_data <= found_word;
  end else begin : g_chosen
    assign out_data = found_word;
  end
  if (LANES == 2) begin : g_only
    assign found_word = found;
  end else if (SMALL) begin : g_half
    assign found_word = found[{picked[LW-2:0], 1'b0}+:2];
  end else begin : g_half_was
    logic [LW-2:0] half;
    always_ff @(posedge clk) if (free) half <= picked[LW-2:0];
    assign found_word = found[{half, 1'b0}+:2];
  end
endmodule
