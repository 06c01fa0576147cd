// SPDX-License-Identifier: Apache-2.0
// Card page, second part: user interrupts and the card's event counters.
//
// Sixteen lines of the user core with a handshake each: one handshake is one event. A scanner looks at one line a cycle; an event found
// increments the line's count and, when the line is enabled, asks for its MSI-X vector. While a vector waits (`fire_ready` 0), events
// wait at their lines. The card's own events (`event_pulse`, one a cycle at most) are collected by the same scanner and never lost.
// A count follows its event late: by one round of the scanner, SLOTS cycles, and by one more for each read of the host in that time, so
// that a read right after a write that timed out may show the old count (`window_status` is never late).
// Counts live in one small RAM, as do the vectors; after `rst` or `clear` they are swept to 0, in which time nothing is served.
// With `hold` (the user core is in reset) no line is looked at. A vector over 255 is kept as 255, which no table has.
module tp_user_irq
  import towpath_pkg::*;
#(
    parameter int EVENTS = 3  // counters from TP_CARD_INBOUND_OVERRUNS_OFFSET on
) (
    input  logic                         clk,
    input  logic                         rst,
    input  logic                         clear,
    input  logic                         hold,
    output logic                         sweeping,
    input  logic [TP_USER_INTERRUPTS-1:0] irq_valid,
    output logic [TP_USER_INTERRUPTS-1:0] irq_ready,
    input  logic [           EVENTS-1:0] event_pulse,
    output logic                         fire_valid,
    input  logic                         fire_ready,
    output logic [                  7:0] fire_vector,
    input  logic                         word_valid,  // in the card page
    input  logic [                 11:3] word_offset,
    input  logic [                 63:0] word_data,
    input  logic [                  7:0] word_strb,
    input  logic                         ask,         // within the registers of this module: tp_control's decoding
    input  logic [                 11:2] offset,
    output logic                         ack,
    output logic [                 31:0] data
);
  localparam int LINES = TP_USER_INTERRUPTS;
  localparam int SLOTS = LINES + EVENTS;
  localparam int SW = $clog2(SLOTS);
  localparam int LW = $clog2(LINES);
  localparam int EW = 6;  // an event counter is visited at least every SLOTS cycles and one for each read of the host

  if (LINES != 16 || TP_CARD_USER_IRQ_VECTOR_STRIDE != 4 || TP_CARD_USER_IRQ_COUNT_STRIDE != 4)
    $error("%m: written for 16 lines with registers of 4 bytes");
  if (2 * SLOTS > (1 << EW)) $error("%m: EVENTS %0d: too many for collectors of %0d bits", EVENTS, EW);

  logic [LINES-1:0] enable;
  logic [31:0] counts[SLOTS];
  logic [7:0] vectors_even[LINES/2];
  logic [7:0] vectors_odd[LINES/2];
  logic [EVENTS-1:0][EW-1:0] collected;

  // The RAMs' one read port: the host's for the cycle of `ask`, else the scanner's.
  logic [SW-1:0] scan, at;
  logic is_line, line_event, served;
  logic [31:0] count, amount;
  logic [7:0] vector;
  logic ask_count, ask_vector;
  logic [SW-1:0] ask_slot;

  localparam logic [9:0] COUNT = 10'(TP_CARD_USER_IRQ_COUNT_OFFSET / 4);
  localparam logic [9:0] VECTOR = 10'(TP_CARD_USER_IRQ_VECTOR_OFFSET / 4);
  localparam logic [9:0] EVENT = 10'(TP_CARD_INBOUND_OVERRUNS_OFFSET / 4);
  assign ask_vector = offset >= VECTOR && offset < VECTOR + 10'(LINES);
  assign ask_count = (offset >= COUNT && offset < COUNT + 10'(LINES)) || (offset >= EVENT && offset < EVENT + 10'(EVENTS));
  always_comb begin
    if (offset >= COUNT) ask_slot = SW'(offset - COUNT);
    else if (offset >= VECTOR) ask_slot = SW'(offset - VECTOR);
    else ask_slot = SW'(offset - EVENT + 10'(LINES));
  end
  assign at = ask ? ask_slot : scan;
  assign count = counts[at];
  assign vector = at[0] ? vectors_odd[at[LW-1:1]] : vectors_even[at[LW-1:1]];

  assign is_line = scan < SW'(LINES);
  assign line_event = is_line && irq_valid[scan[LW-1:0]] && !irq_ready[scan[LW-1:0]] && !hold && !fire_valid;
  assign served = !ask && !sweeping && (line_event || !is_line);
  always_comb begin
    amount = 32'(line_event);
    for (int i = 0; i < EVENTS; i++) if (scan == SW'(LINES + i)) amount = 32'(collected[i]);
  end

  always_ff @(posedge clk) begin
    if (sweeping || served) counts[scan] <= sweeping ? '0 : count + amount;
  end

  function automatic logic [7:0] bounded(input logic [31:0] value);
    return value > 32'hff ? 8'hff : value[7:0];
  endfunction
  logic vector_word;
  assign vector_word = word_valid && word_offset >= VECTOR[9:1] && word_offset < VECTOR[9:1] + 9'(LINES / 2);

  logic [LW-2:0] vector_at;
  assign vector_at = sweeping ? scan[LW-1:1] : (LW - 1)'(word_offset - VECTOR[9:1]);

  always_ff @(posedge clk) begin
    if (sweeping || vector_word && (&word_strb[3:0])) vectors_even[vector_at] <= sweeping ? '0 : bounded(word_data[31:0]);
    if (sweeping || vector_word && (&word_strb[7:4])) vectors_odd[vector_at] <= sweeping ? '0 : bounded(word_data[63:32]);
  end

  always_ff @(posedge clk) begin
    irq_ready <= '0;
    if (rst || clear) begin
      sweeping <= 1'b1;
      scan <= '0;
      enable <= '0;
      fire_valid <= 1'b0;
      collected <= '0;
    end else begin
      scan <= scan == SW'(SLOTS - 1) ? '0 : scan + 1'b1;
      if (scan == SW'(SLOTS - 1)) sweeping <= 1'b0;
      if (ask && !sweeping) scan <= scan;
      for (int i = 0; i < EVENTS; i++) collected[i] <= (served && scan == SW'(LINES + i) ? '0 : collected[i]) + EW'(event_pulse[i]);
      if (fire_valid && fire_ready) fire_valid <= 1'b0;
      if (served && line_event) begin
        irq_ready[scan[LW-1:0]] <= 1'b1;
        fire_valid <= enable[scan[LW-1:0]];
        fire_vector <= vector;
      end
      if (word_valid && word_offset == 9'(TP_CARD_USER_IRQ_ENABLE_OFFSET / 8) && (&word_strb[3:0])) enable <= word_data[LINES-1:0];
    end
  end
  if (TP_CARD_USER_IRQ_ENABLE_OFFSET % 8 != 0) $error("%m: enable must be the lower half of a word");

  always_ff @(posedge clk) begin
    ack  <= ask;
    data <= '0;
    if (ask && !sweeping) begin
      if (ask_count) data <= count;
      else if (ask_vector) data <= 32'(vector);
      else if (offset == 10'(TP_CARD_USER_IRQ_ENABLE_OFFSET / 4)) data <= 32'(enable);
    end
  end
endmodule
