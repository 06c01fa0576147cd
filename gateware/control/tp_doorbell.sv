// SPDX-License-Identifier: Apache-2.0
// Doorbell pages: sees which words of a descriptor come, per channel, and passes on commits, arms and cancels.
//
// A word that comes in one cycle shows its effect in the next; the mover keeps the words themselves, as beats. Dword 0 of a descriptor opens
// it, dword 3 commits. Unless dwords 0 to 3 came whole and in order, with nothing else of the descriptor between them, the commit is `torn`:
// only dword 3 (cookie and control) is then the host's. `arm`, `lead`, `fill` and `credit` want a whole dword, `cancel` and `batch` any byte. A batch of none does
// nothing. A write of another size to the page (`misfit`), a batch, and a channel that is not enabled forget what came of the descriptor, so
// that a commit behind them is torn.
module tp_doorbell
  import towpath_pkg::*;
#(
    parameter int CHANNELS = 2,
    parameter bit BATCHES = 1,
    localparam int CHW = CHANNELS > 1 ? $clog2(CHANNELS) : 1
) (
    input  logic           clk,
    input  logic           rst,
    input  logic           clear,        // while it is 1, what comes is ignored
    input  logic [CHANNELS-1:0] enabled,  // channels, in the mover
    input  logic           word_valid,   // in the doorbell page of word_channel
    input  logic           word_misfit,  // a write to that page which is no word
    input  logic [CHW-1:0] word_channel,
    input  logic [   11:3] word_offset,
    input  logic [   39:0] word_data,    // no more of it is looked at
    input  logic [    7:0] word_strb,
    output logic           words_valid,    // the beat two cycles ago holds words of a descriptor
    output logic           push_valid,   // ... and the last ones; or a batch is committed
    output logic [CHW-1:0] push_channel,
    output logic           push_torn,    // of words only
    output logic [    7:0] push_count,   // descriptors
    output logic           arm_valid,
    output logic [CHW-1:0] arm_channel,
    output logic [   31:0] arm_index,
    output logic           lead_valid,
    output logic [CHW-1:0] lead_channel,
    output logic [   31:0] lead_bytes,
    output logic           fill_valid,
    output logic [CHW-1:0] fill_channel,
    output logic [   31:0] fill_level,
    output logic           credit_valid,
    output logic [CHW-1:0] credit_channel,
    output logic [   31:0] credit,
    output logic           cancel_valid,
    output logic [CHW-1:0] cancel_channel
);
  localparam logic [8:0] WORD_LOW = 9'(TP_DOORBELL_DESCRIPTOR_OFFSET / 8);
  localparam logic [8:0] WORD_HIGH = WORD_LOW + 1'b1;

  if (TP_DESCRIPTOR_BYTES != 16 || TP_DOORBELL_DESCRIPTOR_OFFSET % 16 != 0)
    $error("%m: written for descriptors of 16 bytes, not %0d at offset %0d", TP_DESCRIPTOR_BYTES, TP_DOORBELL_DESCRIPTOR_OFFSET);

  // Per channel: how many of dwords 0 to 2 have come in order.
  logic [CHANNELS-1:0][1:0] held;

  logic [1:0] before_low, after_low, after_high;
  logic low_any, high_any, low_whole, high_whole, low_word, high_word, commit, batch;

  assign low_any = word_strb[3:0] != 0;
  assign high_any = word_strb[7:4] != 0;
  assign low_whole = &word_strb[3:0];
  assign high_whole = &word_strb[7:4];
  assign low_word = word_valid && word_offset == WORD_LOW;
  assign high_word = word_valid && word_offset == WORD_HIGH;
  assign commit = high_word && high_any && !clear;
  assign batch = BATCHES && word_valid && word_offset == 9'(TP_DOORBELL_BATCH_OFFSET / 8) && high_any && word_data[39:32] != '0 && !clear;

  // The lower dword of a word counts before the upper one. A dword that is not the next one, or not whole, closes the descriptor; dword 0
  // opens it whatever came before.
  assign before_low = held[word_channel];
  always_comb begin
    after_low = before_low;
    if (low_any) begin
      if (low_word) after_low = low_whole ? 2'd1 : 2'd0;
      else after_low = low_whole && before_low == 2'd2 ? 2'd3 : 2'd0;
    end
    after_high = after_low;
    if (high_any) begin
      if (low_word) after_high = high_whole && after_low == 2'd1 ? 2'd2 : 2'd0;
      else after_high = 2'd0;
    end
  end

  always_ff @(posedge clk)
    for (int c = 0; c < CHANNELS; c++)
      if (rst || clear || !enabled[c]) held[c] <= 2'd0;
      else if ((low_word || high_word || word_misfit || batch) && word_channel == CHW'(c))
        held[c] <= word_misfit || batch ? 2'd0 : after_high;

  assign arm_channel = push_channel;
  assign cancel_channel = push_channel;
  assign lead_channel = push_channel;
  assign lead_bytes = arm_index;
  assign fill_channel = push_channel;
  assign fill_level = arm_index;
  assign credit_channel = push_channel;
  assign credit = arm_index;

  always_ff @(posedge clk) begin
    words_valid <= (low_word || high_word) && !clear && !rst;
    push_valid <= (commit || batch) && !rst;
    push_torn <= !(high_whole && after_low == 2'd3);
    push_channel <= word_channel;
    push_count <= batch ? word_data[39:32] : 8'd1;
    arm_index <= word_data[31:0];
    arm_valid <= word_valid && word_offset == 9'(TP_DOORBELL_ARM_OFFSET / 8) && low_whole && !clear && !rst;
    lead_valid <= word_valid && word_offset == 9'(TP_DOORBELL_LEAD_OFFSET / 8) && low_whole && !clear && !rst;
    fill_valid <= word_valid && word_offset == 9'(TP_DOORBELL_FILL_OFFSET / 8) && low_whole && !clear && !rst;
    credit_valid <= word_valid && word_offset == 9'(TP_DOORBELL_CREDIT_OFFSET / 8) && low_whole && !clear && !rst;
    cancel_valid <= word_valid && word_offset == 9'(TP_DOORBELL_CANCEL_OFFSET / 8) && high_any && !clear && !rst;
  end

  if (TP_DOORBELL_ARM_OFFSET % 8 != 0 || TP_DOORBELL_CANCEL_OFFSET % 8 != 4 || TP_DOORBELL_LEAD_OFFSET % 8 != 0 ||
      TP_DOORBELL_BATCH_OFFSET % 8 != 4 || TP_DOORBELL_FILL_OFFSET % 8 != 0 ||
      TP_DOORBELL_CREDIT_OFFSET % 8 != 0)
    $error("%m: arm, lead, fill and credit must be the lower, cancel and batch the upper half of a word");
endmodule
