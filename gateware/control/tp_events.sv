// SPDX-License-Identifier: Apache-2.0
// Card page: what went wrong, counted by kind, and the quarantine of tags.
//
// What finds no room, or no answer from the user core, comes as pulses. What goes wrong on the link is told by the mover, at most one event
// a cycle, by its counter's place; losses of bus mastering or link and function resets are seen here and counted in a cycle which the
// mover leaves free. The link's counts have 16 bits, stop at their largest, and begin at 0 with the card's configuration: no reset clears
// them. The others are modulo 2^32.
// Of a word only the quarantine's byte is looked at.
// verilator lint_off UNUSEDSIGNAL
module tp_events
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
    input  logic        word_valid,         // in the card page
    input  logic [11:2] word_offset,
    input  logic [31:0] word_data,
    input  logic [ 3:0] word_strb,
    input  logic        inbound_overrun,
    input  logic        window_overrun,
    input  logic        window_timed_out,
    input  logic        memory_overrun,
    input  logic        memory_refused,
    output logic [31:0] inbound_overruns,
    output logic [31:0] window_overruns,
    output logic [31:0] window_timeouts,
    output logic [31:0] memory_overruns,
    output logic [31:0] memory_errors,
    input  logic [ 3:0] link_count_at,      // as event_code
    output logic [15:0] link_count
);
  localparam int FIRST = TP_CARD_UNSUPPORTED_REQUESTS_OFFSET / 4;
  localparam int LAST = TP_CARD_UNEXPECTED_COMPLETIONS_OFFSET / 4;
  if (LAST - FIRST > 15) $error("%m: the counters have moved: adapt it");

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

  logic [15:0] link_counts[16];
  initial for (int i = 0; i < 16; i++) link_counts[i] = '0;
  logic [15:0] counted;
  assign counted = link_counts[code];
  assign link_count = link_counts[link_count_at];
  always_ff @(posedge clk) if (count && counted != '1) link_counts[code] <= counted + 1'b1;

  always_ff @(posedge clk) begin
    if (inbound_overrun) inbound_overruns <= inbound_overruns + 1'b1;
    if (window_overrun) window_overruns <= window_overruns + 1'b1;
    if (window_timed_out) window_timeouts <= window_timeouts + 1'b1;
    if (memory_overrun) memory_overruns <= memory_overruns + 1'b1;
    if (memory_refused) memory_errors <= memory_errors + 1'b1;
    if (word_valid && word_offset == 10'(TP_CARD_QUARANTINE_OFFSET / 4) && (&word_strb)) quarantine <= word_data[7:0];
    if (rst || clear) begin
      inbound_overruns <= '0;
      window_overruns <= '0;
      window_timeouts <= '0;
      memory_overruns <= '0;
      memory_errors <= '0;
      quarantine <= TP_CARD_QUARANTINE_RESET[7:0];
    end
  end
endmodule
