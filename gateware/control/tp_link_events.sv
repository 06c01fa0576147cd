// SPDX-License-Identifier: Apache-2.0
// Card page, third part: what went wrong on the link, counted by kind, and the quarantine of tags.
//
// The mover tells of at most one event a cycle by its counter's place; losses of bus mastering or link and function resets are seen here and
// counted in a cycle which the mover leaves free. Counts have 16 bits, stop at their largest, and begin at 0 with the card's configuration:
// no reset clears them. `data` is 0 but in the cycle after `ask`.
// Of a word only the quarantine's byte is looked at.
// verilator lint_off UNUSEDSIGNAL
module tp_link_events
  import towpath_pkg::*;
(
    input  logic        clk,
    input  logic        rst,
    input  logic        clear,              // of what the host has set
    input  logic        mastering,          // bus mastering is on, and the card in D0
    input  logic        link_up,
    input  logic        function_reset,
    input  logic        event_valid,
    input  logic [ 3:0] event_code,         // the counter's dword in the card page, modulo 16
    output logic [ 7:0] quarantine,
    input  logic [15:0] quarantined,        // tags
    input  logic        word_valid,         // in the card page
    input  logic [11:3] word_offset,
    input  logic [63:0] word_data,
    input  logic [ 7:0] word_strb,
    input  logic        ask,
    input  logic [11:2] offset,
    output logic [31:0] data
);
  localparam int FIRST = TP_CARD_UNSUPPORTED_REQUESTS_OFFSET / 4;
  localparam int LAST = TP_CARD_UNEXPECTED_COMPLETIONS_OFFSET / 4;
  if (LAST - FIRST > 15 || TP_CARD_QUARANTINE_OFFSET % 8 != 0) $error("%m: the counters have moved: adapt it");

  logic [2:0] was, lost, waiting;  // function reset, link, bus mastering
  logic [3:0] code;
  logic rare, count;
  assign lost = {function_reset, !link_up, !mastering} & ~was;
  assign rare = !event_valid && waiting != '0;
  assign count = event_valid || rare;
  always_comb begin
    if (event_valid) code = event_code;
    else if (waiting[0]) code = 4'(TP_CARD_BUS_MASTERING_LOSSES_OFFSET / 4);
    else if (waiting[1]) code = 4'(TP_CARD_LINK_DOWNS_OFFSET / 4);
    else code = 4'(TP_CARD_FUNCTION_RESETS_OFFSET / 4);
  end
  always_ff @(posedge clk) begin
    was <= {function_reset, !link_up, !mastering};
    waiting <= (waiting & (rare ? waiting - 1'b1 : '1)) | lost;
    if (rst) begin
      was <= '1;
      waiting <= '0;
    end
  end

  logic [15:0] counts[16];
  initial for (int i = 0; i < 16; i++) counts[i] = '0;
  logic [15:0] counted;
  assign counted = counts[code];
  always_ff @(posedge clk) if (count && counted != '1) counts[code] <= counted + 1'b1;

  always_ff @(posedge clk) begin
    if (word_valid && word_offset == 9'(TP_CARD_QUARANTINE_OFFSET / 8) && (&word_strb[3:0])) quarantine <= word_data[7:0];
    if (rst || clear) quarantine <= TP_CARD_QUARANTINE_RESET[7:0];
    data <= '0;
    if (ask) begin
      if (offset == 10'(TP_CARD_QUARANTINE_OFFSET / 4)) data <= 32'(quarantine);
      if (offset == 10'(TP_CARD_QUARANTINED_OFFSET / 4)) data <= 32'(quarantined);
      if (offset >= 10'(FIRST) && offset <= 10'(LAST)) data <= 32'(counts[offset[5:2]]);
    end
  end
endmodule
