// SPDX-License-Identifier: Apache-2.0
// The inline slots of all H2C channels, in one block RAM: the host writes them, byte by byte in any order; their words go into the landing RAM.
//
// A channel wants its next word copied until it is told that it was (`copied`): a word is read in one cycle and offered to the landing
// in the next ones. A wish that is withdrawn is forgotten.
//
// Promises: a write is seen by words asked for in the next cycle or later.
module tp_inline
  import towpath_pkg::*;
#(
    parameter int CHANNELS = 1,
    parameter int SLOTS = 4,                // of each channel
    localparam int CW = CHANNELS > 1 ? $clog2(CHANNELS) : 1,
    localparam int WORDS = SLOTS == 0 ? 2 : 2 ** $clog2(SLOTS * TP_INLINE_SLOT_BYTES / 8),
    localparam int WW = $clog2(WORDS)
) (
    input logic clk,
    input logic rst,

    input logic          wr_valid,
    input logic [CW-1:0] wr_channel,
    input logic [11:3]   wr_offset,         // what lies beyond the slots is dropped
    input logic [63:0]   wr_data,
    input logic [7:0]    wr_strb,

    input  logic [CHANNELS-1:0]         want,
    input  logic [CHANNELS-1:0][WW-1:0] word,
    output logic [CHANNELS-1:0]         copied,

    output logic          out_valid,
    input  logic          out_ready,
    output logic [CW-1:0] out_channel,
    output logic [63:0]   out_data
);
  (* ram_style = "block" *) logic [63:0] mem[WORDS*2**CW];

  logic [CHANNELS-1:0] pick, shown;
  logic [CW-1:0] channel;
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

  always_ff @(posedge clk) begin
    for (int b = 0; b < 8; b++)
    if (wr_valid && wr_strb[b] && 32'(wr_offset) < WORDS) mem[{wr_channel, wr_offset[WW+2:3]}][8*b+:8] <= wr_data[8*b+:8];
  end
  always_ff @(posedge clk) begin
    if (free) begin
      shown <= pick;
      out_channel <= channel;
      out_data <= mem[{channel, word[channel]}];
    end
    if (rst) shown <= '0;
  end
endmodule
