// SPDX-License-Identifier: Apache-2.0
// Doorbell pages: puts the words of descriptors together, per channel, and passes on commits, arms and cancels.
//
// A word that comes in one cycle shows its effect in the next. Dword 0 of a descriptor opens the stage, dword 3 commits. Unless dwords 0
// to 3 came whole and in order, with nothing else of the descriptor between them, the commit is `torn`: only dword 3 of
// `push_descriptor` (cookie and control) is then the host's. `arm` and `lead` want a whole dword, `cancel` any byte. A write of another size to
// the page (`misfit`) empties the stage, so that a commit behind it is torn.
// After `rst` or `clear` the stages are emptied one a cycle; what comes meanwhile is ignored.
module tp_doorbell
  import towpath_pkg::*;
#(
    parameter int CHANNELS = 2,
    localparam int CHW = CHANNELS > 1 ? $clog2(CHANNELS) : 1
) (
    input  logic           clk,
    input  logic           rst,
    input  logic           clear,
    output logic           sweeping,
    input  logic           word_valid,   // in the doorbell page of word_channel
    input  logic           word_misfit,  // a write to that page which is no word
    input  logic [CHW-1:0] word_channel,
    input  logic [   11:3] word_offset,
    input  logic [   63:0] word_data,
    input  logic [    7:0] word_strb,
    output logic           push_valid,
    output logic [CHW-1:0] push_channel,
    output logic           push_torn,
    output logic [  127:0] push_descriptor,
    output logic           arm_valid,
    output logic [CHW-1:0] arm_channel,
    output logic [   31:0] arm_index,
    output logic           lead_valid,
    output logic [CHW-1:0] lead_channel,
    output logic [   31:0] lead_bytes,
    output logic           cancel_valid,
    output logic [CHW-1:0] cancel_channel
);
  localparam logic [8:0] WORD_LOW = 9'(TP_DOORBELL_DESCRIPTOR_OFFSET / 8);
  localparam logic [8:0] WORD_HIGH = WORD_LOW + 1'b1;

  if (TP_DESCRIPTOR_BYTES != 16 || TP_DOORBELL_DESCRIPTOR_OFFSET % 16 != 0)
    $error("%m: the stage holds descriptors of 16 bytes, not %0d at offset %0d", TP_DESCRIPTOR_BYTES, TP_DOORBELL_DESCRIPTOR_OFFSET);

  // Per channel: dwords 0 to 2, and how many of them have come in order (`held`).
  logic [31:0] stage0[CHANNELS];
  logic [31:0] stage1[CHANNELS];
  logic [31:0] stage2[CHANNELS];
  logic [1:0] held[CHANNELS];

  logic [CHW-1:0] sweep;
  logic [1:0] before_low, after_low, after_high;
  logic low_any, high_any, low_whole, high_whole, low_word, high_word, commit;

  assign low_any = word_strb[3:0] != 0;
  assign high_any = word_strb[7:4] != 0;
  assign low_whole = &word_strb[3:0];
  assign high_whole = &word_strb[7:4];
  assign low_word = word_valid && word_offset == WORD_LOW;
  assign high_word = word_valid && word_offset == WORD_HIGH;
  assign commit = high_word && high_any && !sweeping;

  // The lower dword of a word counts before the upper one. A dword that is not the next one, or not whole, empties the stage; dword 0
  // opens it whatever it held.
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

  always_ff @(posedge clk) begin
    if (low_word && low_any) stage0[word_channel] <= word_data[31:0];
    if (low_word && high_any) stage1[word_channel] <= word_data[63:32];
    if (high_word && low_any) stage2[word_channel] <= word_data[31:0];
    if (sweeping || low_word || high_word || word_misfit)
      held[sweeping?sweep : word_channel] <= sweeping || word_misfit ? 2'd0 : after_high;
  end

  always_ff @(posedge clk) begin
    if (rst || clear) begin
      sweeping <= 1'b1;
      sweep <= '0;
    end else if (sweeping) begin
      sweep <= sweep + 1'b1;
      sweeping <= sweep != CHW'(CHANNELS - 1);
    end
  end

  assign arm_channel = push_channel;
  assign cancel_channel = push_channel;
  assign lead_channel = push_channel;
  assign arm_index = push_descriptor[95:64];
  assign lead_bytes = push_descriptor[95:64];

  always_ff @(posedge clk) begin
    push_valid <= commit && !rst;
    push_torn <= !(high_whole && after_low == 2'd3);
    push_channel <= word_channel;
    // An arm's index and a lead share the register of dword 2: they come in the lower half of a word, too.
    push_descriptor <= {word_data[63:32], low_any ? word_data[31:0] : stage2[word_channel], stage1[word_channel], stage0[word_channel]};
    arm_valid <= word_valid && word_offset == 9'(TP_DOORBELL_ARM_OFFSET / 8) && low_whole && !sweeping && !rst;
    lead_valid <= word_valid && word_offset == 9'(TP_DOORBELL_LEAD_OFFSET / 8) && low_whole && !sweeping && !rst;
    cancel_valid <= word_valid && word_offset == 9'(TP_DOORBELL_CANCEL_OFFSET / 8) && high_any && !sweeping && !rst;
  end

  if (TP_DOORBELL_ARM_OFFSET % 8 != 0 || TP_DOORBELL_CANCEL_OFFSET % 8 != 4 || TP_DOORBELL_LEAD_OFFSET % 8 != 0)
    $error("%m: arm and lead must be the lower and cancel the upper half of a word");
endmodule
