// SPDX-License-Identifier: Apache-2.0
// Card page, first part: reset of the whole card, and the windows' timeout and status.
//
// `card_reset` rises for a 1 written to control.reset or for `function_reset` (a level, held by the endpoint until `function_reset_done`)
// and falls with `card_reset_done`, the mover's pulse. A function reset also clears what the host has set: `clear` pulses at its start.
// It is acknowledged once the mover is quiet and no table is being swept (`sweeping`); it does not wait for the user's clock, which may
// stand still. control.reset reads 1 until the user core has left reset (`user_busy` 0), too.
// A register takes a write of its whole dword only.
module tp_card
  import towpath_pkg::*;
(
    input  logic        clk,
    input  logic        rst,
    input  logic        function_reset,
    output logic        function_reset_done,
    output logic        card_reset,
    input  logic        card_reset_done,
    output logic        clear,
    input  logic        sweeping,
    input  logic        user_busy,
    output logic [31:0] window_timeout,
    output logic        window_timeout_set,
    input  logic        window_timed_out,
    input  logic        window_failed,
    input  logic        memory_timed_out,   // a level, which a card reset ends
    input  logic        memory_failed,
    input  logic        word_valid,         // in the card page
    input  logic [11:2] word_offset,
    input  logic [31:0] word_data,
    input  logic [ 3:0] word_strb,
    output logic [ 1:0] control,            // the registers' bits in use
    output logic [ 3:0] window_status
);
  // Which register a whole dword is written to.
  logic whole, to_control, to_timeout, to_status;
  assign whole = word_valid && (&word_strb);
  assign to_control = whole && word_offset == 10'(TP_CARD_CONTROL_OFFSET / 4);
  assign to_timeout = whole && word_offset == 10'(TP_CARD_WINDOW_TIMEOUT_OFFSET / 4);
  assign to_status = whole && word_offset == 10'(TP_CARD_WINDOW_STATUS_OFFSET / 4);

  logic wanted;        // a 1 was written to control.reset
  logic for_function;  // the reset under way is the function's, too
  logic ending;        // the mover is quiet
  logic acknowledged;  // this function_reset has had its answer
  logic timed_out, failed, memory_late, memory_error;
  logic [31:0] cleared;

  assign control = 2'(wanted || card_reset || ending || user_busy) << TP_CARD_CONTROL_RESET_LSB;
  assign window_status = 4'(timed_out) << TP_CARD_WINDOW_STATUS_TIMEOUT_LSB | 4'(failed) << TP_CARD_WINDOW_STATUS_ERROR_LSB |
      4'(memory_late) << TP_CARD_WINDOW_STATUS_MEMORY_TIMEOUT_LSB | 4'(memory_error) << TP_CARD_WINDOW_STATUS_MEMORY_ERROR_LSB;
  assign cleared = to_status ? word_data : '0;

  always_ff @(posedge clk) begin
    function_reset_done <= 1'b0;
    clear <= 1'b0;
    if (rst) begin
      wanted <= 1'b0;
      card_reset <= 1'b0;
      for_function <= 1'b0;
      ending <= 1'b0;
      acknowledged <= 1'b0;
    end else begin
      if (card_reset) begin
        if (card_reset_done) begin
          card_reset <= 1'b0;
          ending <= 1'b1;
        end
      end else if (ending) begin
        if (!sweeping) begin
          ending <= 1'b0;
          for_function <= 1'b0;
          function_reset_done <= for_function;
          acknowledged <= for_function;
        end
      end else if (function_reset && !acknowledged) begin
        card_reset <= 1'b1;
        for_function <= 1'b1;
        clear <= 1'b1;
        wanted <= 1'b0;
      end else if (wanted) begin
        card_reset <= 1'b1;
        wanted <= 1'b0;
      end
      if (!function_reset) acknowledged <= 1'b0;
      if (to_control && (word_data & TP_CARD_CONTROL_RESET_MASK) != 0) wanted <= 1'b1;
    end
  end

  always_ff @(posedge clk) begin
    window_timeout_set <= clear || to_timeout;
    if (rst || clear) begin
      window_timeout <= TP_CARD_WINDOW_TIMEOUT_RESET;
      timed_out <= 1'b0;
      failed <= 1'b0;
      memory_late <= 1'b0;
      memory_error <= 1'b0;
    end else begin
      if (to_timeout) window_timeout <= word_data;
      timed_out <= window_timed_out || timed_out && (cleared & TP_CARD_WINDOW_STATUS_TIMEOUT_MASK) == 0;
      failed <= window_failed || failed && (cleared & TP_CARD_WINDOW_STATUS_ERROR_MASK) == 0;
      memory_late <= memory_timed_out || memory_late && (cleared & TP_CARD_WINDOW_STATUS_MEMORY_TIMEOUT_MASK) == 0;
      memory_error <= memory_failed || memory_error && (cleared & TP_CARD_WINDOW_STATUS_MEMORY_ERROR_MASK) == 0;
      // What was of before the card's reset is no news after it.
      if (card_reset && card_reset_done) {memory_late, memory_error} <= '0;
    end
  end
endmodule
