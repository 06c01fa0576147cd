// SPDX-License-Identifier: Apache-2.0
// The channels' completion rings and privileged registers: writes entries into host memory, in order, and fires interrupts.
//
// What a channel knows about its ring stands in a small RAM, laid out like its privileged page: words of 64 bits, of which the lower and
// the upper half are written apart. One job at a time walks through a channel's words: clear its counts when it is enabled, look whether
// an interrupt is due, answer a register read, note an entry. A write of the host goes first; the job waits a cycle.
// An entry that has been noted stands in `e` until the posted stream takes it, and holds up no other job.
//
// An armed vector fires when as many entries as `moderation` wants have not been reaped, when its time is over, for an overflow,
// or early: when the descriptor in hand has no more than `lead` bytes to go, in steps of 256 bytes, once for each descriptor.
//
// Promises: an entry is taken when its place in the ring is decided; entries of a channel are written in the order taken; a vector fires
// after its entry has been shown to the posted stream, where entries go before MSI-X. One fire for each arm.
// A lead's last bits do not count.
// verilator lint_off UNUSEDSIGNAL
module tp_ring
  import tp_tlp_pkg::*;
  import towpath_pkg::*;
#(
    parameter int DATA_WIDTH = 128,
    parameter int CHANNELS = 2,
    parameter int SOURCES = 2,              // of entries
    localparam int CW = CHANNELS > 1 ? $clog2(CHANNELS) : 1
) (
    input logic clk,
    input logic rst,

    input  logic           [SOURCES-1:0]         entry_valid,
    output logic           [SOURCES-1:0]         entry_ready,
    input  logic           [SOURCES-1:0][CW-1:0] entry_channel,
    input  tp_completion_t [SOURCES-1:0]         entry,
    output logic                                 told_valid,
    output logic           [CW-1:0]              told_channel,
    output logic                                 told_start,  // a message start, not a completion
    output logic           [CHANNELS-1:0]        telling,     // an entry has been taken and not yet been written

    input logic          mastering,         // the posted stream may begin packets

    input logic          arm_valid,
    input logic [CW-1:0] arm_channel,
    input logic [31:0]   arm_index,
    input logic          lead_valid,
    input logic [CW-1:0] lead_channel,
    input logic [31:0]   lead_bytes,
    input logic [CHANNELS-1:0] alarm,       // fire if armed
    input logic [CHANNELS-1:0] in_hand,     // a descriptor is, with bytes_left to go
    input logic [CHANNELS-1:0][31:0] bytes_left,

    input  logic          priv_write_valid,
    input  logic [CW-1:0] priv_write_channel,
    input  logic [7:3]    priv_write_offset,
    input  logic [63:0]   priv_write_data,
    input  logic [7:0]    priv_write_strb,
    input  logic          priv_read_valid,
    input  logic [CW-1:0] priv_read_channel,
    input  logic [7:3]    priv_read_offset,
    output logic          priv_read_ack,
    output logic [63:0]   priv_read_data,

    output logic [CHANNELS-1:0]       enabled,
    output logic [CHANNELS-1:0]       announce,
    output logic [CHANNELS-1:0]       reset_request,  // pulses
    input  logic [CHANNELS-1:0]       resetting,
    input  logic [CHANNELS-1:0]       error,
    input  logic [CHANNELS-1:0][15:0] overflows,

    output logic       fire_valid,
    input  logic       fire_ready,
    output logic [7:0] fire_vector,

    output logic                  posted_valid,
    input  logic                  posted_ready,
    output tp_write_hdr_t         posted_hdr,
    output logic [DATA_WIDTH-1:0] posted_data,
    output logic                  posted_last
);
  // ------------------------------------------------------------------------------------------------ words
  typedef enum logic [2:0] {
    W_CONTROL = 3'(TP_CHANNEL_CONTROL_OFFSET / 8),    // not in the RAM: {reset, control}
    W_BASE = 3'(TP_CHANNEL_RING_BASE_OFFSET / 8),     // {base high, base low}
    W_LOG2 = 3'(TP_CHANNEL_RING_LOG2_OFFSET / 8),     // {vector, log2}
    W_STATUS = 3'(TP_CHANNEL_STATUS_OFFSET / 8),      // not in the RAM: {overflows, status}
    W_TORN = 3'(TP_CHANNEL_TORN_OFFSET / 8),          // {produced, torn}
    W_CONSUMED = 3'(TP_CHANNEL_CONSUMED_OFFSET / 8),  // {armed index, consumed}
    W_MODERATE = 3'(TP_CHANNEL_MODERATION_OFFSET / 8)  // {-, moderation}
  } word_e;
  if (TP_CHANNEL_RESET_OFFSET != TP_CHANNEL_CONTROL_OFFSET + 4 || TP_CHANNEL_VECTOR_OFFSET != TP_CHANNEL_RING_LOG2_OFFSET + 4 ||
      TP_CHANNEL_OVERFLOWS_OFFSET != TP_CHANNEL_STATUS_OFFSET + 4 || TP_CHANNEL_PRODUCED_OFFSET != TP_CHANNEL_TORN_OFFSET + 4 ||
      TP_CHANNEL_CONSUMED_OFFSET % 8 != 0 || TP_CHANNEL_MODERATION_OFFSET % 8 != 0 || TP_CHANNEL_MODERATION_OFFSET > 63)
    $error("%m: the contract's channel page has changed: adapt the words");

  logic [31:0] lower[2**(CW+3)];
  logic [31:0] upper[2**(CW+3)];
  logic [CW-1:0] at;  // the channel and the word of the job in hand
  word_e word;
  logic [31:0] low, high;
  assign low = lower[{at, word}];
  assign high = upper[{at, word}];

  // The host sets what it may; the card counts in the same RAM, in cycles that the host leaves.
  logic host_sets, host_low, host_high, host_we, low_we, high_we, clears;
  always_comb begin
    host_sets = priv_write_valid && priv_write_offset[7:6] == 2'b00;
    host_low = host_sets && (&priv_write_strb[3:0]) && (priv_write_offset[5:3] == W_BASE || priv_write_offset[5:3] == W_LOG2 ||
                                                       priv_write_offset[5:3] == W_MODERATE);
    host_high = host_sets && (&priv_write_strb[7:4]) && (priv_write_offset[5:3] == W_BASE || priv_write_offset[5:3] == W_LOG2);
    host_we = host_low || host_high || arm_valid;
  end
  logic [CW+2:0] low_at, high_at;
  logic [31:0] low_data, high_data;
  assign low_at = host_low ? {priv_write_channel, priv_write_offset[5:3]} : {at, word};
  assign low_data = host_low ? priv_write_data[31:0] : clears ? '0 : low + 1'b1;
  assign high_at = arm_valid ? {arm_channel, W_CONSUMED} : host_high ? {priv_write_channel, priv_write_offset[5:3]} : {at, word};
  assign high_data = arm_valid ? arm_index : host_high ? priv_write_data[63:32] : clears ? '0 : high + 1'b1;
  always_ff @(posedge clk) begin
    if (host_low || low_we) lower[low_at] <= low_data;
    if (host_high || arm_valid || high_we) upper[high_at] <= high_data;
  end

  // ------------------------------------------------------------------------------------------------ what is wanted
  typedef enum logic [3:0] {
    IDLE,
    CLEAR,                                  // after a reset: counts, moderation and lead
    ARM,                                    // note what the host has reaped; is an interrupt due?
    ALARM,
    READ,
    BASE,                                   // an entry's address, ...
    LOG2,
    PLACE,                                  // ... its place and phase; from here on it is shown
    COUNT,
    DIFFERENCE,                             // is an interrupt due: how much is not reaped
    DECIDE,
    VECTOR
  } state_e;
  state_e state;
  logic [CHANNELS-1:0] clear_wanted, arm_wanted, alarm_wanted, armed, was_resetting, timing, hinted;
  logic clear_done, fired, times;
  logic read_wanted, moves;
  logic [CW-1:0] read_at;
  logic [7:3] read_offset;
  assign moves = !host_we;  // the job may take its next step

  // One channel a cycle is looked at for what time and progress bring.
  localparam int SPAN = $clog2(64);  // core clocks in a unit of moderation.time
  if (CHANNELS > 64) $error("%m: CHANNELS %0d: each must be looked at within a unit of time", CHANNELS);
  logic [CW-1:0] scan;
  logic [SPAN+15:0] clock;
  logic [15:0] now, due[2**CW];
  logic [23:0] leads[2**CW];
  logic [23:0] lead;
  logic time_over, near;
  assign now = clock[SPAN+:16];
  assign lead = leads[scan];
  assign time_over = timing[scan] && due[scan] == now;
  assign near = in_hand[scan] && !hinted[scan] && lead != '0 && bytes_left[scan][31:8] <= lead;
  always_ff @(posedge clk) begin
    if (lead_valid || clear_done) leads[lead_valid?lead_channel : at] <= lead_valid ? lead_bytes[31:8] : '0;
    if (times) due[at] <= now + low[31:16];
    clock <= clock + 1'b1;
    scan <= scan == CW'(CHANNELS - 1) ? '0 : scan + 1'b1;
    if (rst) begin
      clock <= '0;
      scan <= '0;
    end
  end

  logic control_we, reset_we;
  assign control_we = host_sets && (&priv_write_strb[3:0]) && priv_write_offset[5:3] == W_CONTROL;
  assign reset_we = host_sets && (&priv_write_strb[7:4]) && priv_write_offset[5:3] == W_CONTROL &&
                    priv_write_data[32+TP_CHANNEL_RESET_RESET_LSB];
  always_ff @(posedge clk) begin
    for (int c = 0; c < CHANNELS; c++) begin
      reset_request[c] <= 1'b0;
      if (control_we && priv_write_channel == CW'(c)) begin
        enabled[c] <= priv_write_data[TP_CHANNEL_CONTROL_ENABLE_LSB] && !resetting[c];
        announce[c] <= priv_write_data[TP_CHANNEL_CONTROL_ANNOUNCE_LSB];
      end
      if (reset_we && priv_write_channel == CW'(c)) reset_request[c] <= 1'b1;
      if (resetting[c]) begin
        enabled[c] <= 1'b0;
        announce[c] <= 1'b0;
      end
      if (at == CW'(c)) begin
        if (clear_done) clear_wanted[c] <= 1'b0;
        if (state == ARM) begin
          arm_wanted[c] <= 1'b0;
          armed[c] <= 1'b1;
        end
        if (state == ALARM) alarm_wanted[c] <= 1'b0;
        if (times) timing[c] <= 1'b1;
        if (fired) begin
          armed[c] <= 1'b0;
          timing[c] <= 1'b0;
        end
      end
      if (arm_valid && arm_channel == CW'(c)) arm_wanted[c] <= 1'b1;
      if (alarm[c] || (scan == CW'(c) && (time_over || (near && armed[c])))) alarm_wanted[c] <= 1'b1;
      if (scan == CW'(c) && time_over) timing[c] <= 1'b0;
      if (scan == CW'(c) && near && armed[c]) hinted[c] <= 1'b1;
      if (!in_hand[c]) hinted[c] <= 1'b0;
      was_resetting[c] <= resetting[c];
      if (was_resetting[c] && !resetting[c]) clear_wanted[c] <= 1'b1;
      // A channel that is being reset has nobody to wake.
      if (rst || resetting[c]) begin
        arm_wanted[c] <= 1'b0;
        alarm_wanted[c] <= 1'b0;
        armed[c] <= 1'b0;
        timing[c] <= 1'b0;
      end
    end
    if (rst) begin
      enabled <= '0;
      announce <= '0;
      clear_wanted <= '1;
      was_resetting <= '0;
      reset_request <= '0;
      hinted <= '0;
    end
  end

  // ------------------------------------------------------------------------------------------------ jobs
  function automatic logic [CW-1:0] lowest(input logic [CHANNELS-1:0] wanted);
    lowest = '0;
    for (int c = CHANNELS - 1; c >= 0; c--) if (wanted[c]) lowest = CW'(c);
  endfunction

  logic [SOURCES-1:0] pick;
  logic take;
  tp_completion_t picked;
  logic [CW-1:0] picked_channel;
  tp_round_robin #(
      .N(SOURCES)
  ) i_turn (
      .clk,
      .rst,
      .request(entry_valid),
      .take(take),
      .grant(pick)
  );
  always_comb begin
    picked = '0;
    picked_channel = '0;
    for (int s = 0; s < SOURCES; s++)
    if (pick[s]) begin
      picked |= entry[s];
      picked_channel |= entry_channel[s];
    end
  end

  tp_completion_t e;                        // the entry in hand
  logic e_valid;                            // it is shown to the posted stream
  logic [CW-1:0] e_at;
  logic sent;
  // A count is not read before the entry that it counts has left, unless nothing can leave.
  logic read_now;
  assign read_now = read_wanted && (!e_valid || !mastering);
  assign take = state == IDLE && !(|clear_wanted) && !(|arm_wanted) && !(|alarm_wanted) && !read_now && !e_valid && |entry_valid;
  assign entry_ready = take ? pick : '0;
  always_comb
    for (int c = 0; c < CHANNELS; c++) telling[c] = (e_valid || state == BASE || state == LOG2 || state == PLACE) && e_at == CW'(c);

  logic [4:0] log2;
  logic [31:0] index;                       // entries that the host has reaped, as of its last arm
  logic [31:0] unreaped;
  logic [63:0] address;
  logic due_now;
  assign clear_done = state == CLEAR && word == W_MODERATE && moves;
  assign clears = state == CLEAR;
  assign low_we = moves && (clears || (state == PLACE && e.status == TP_STATUS_TORN) || (state == COUNT && !e.flags.start));
  assign high_we = moves && (clears || state == PLACE);
  assign due_now = low[31:16] == '0 || unreaped >= 32'(low[15:0]);
  assign times = state == DECIDE && unreaped != '0 && !due_now && !timing[at];
  assign fire_valid = state == VECTOR;
  assign fire_vector = high[7:0];
  assign fired = fire_valid;                // also when nobody takes it at once: an arm that comes meanwhile is a new one

  always_ff @(posedge clk) begin
    case (state)
      IDLE: begin
        if (!e_valid) begin
          e <= picked;
          e_at <= picked_channel;
        end
        if (|clear_wanted) begin
          at <= lowest(clear_wanted);
          word <= W_TORN;
          state <= CLEAR;
        end else if (|arm_wanted) begin
          at <= lowest(arm_wanted);
          word <= W_CONSUMED;
          state <= ARM;
        end else if (|alarm_wanted) begin
          at <= lowest(alarm_wanted);
          word <= W_LOG2;
          state <= ALARM;
        end else if (read_now) begin
          at <= read_at;
          word <= word_e'(read_offset[5:3]);
          state <= READ;
        end else if (take) begin
          at <= picked_channel;
          word <= W_BASE;
          state <= BASE;
        end
      end
      CLEAR:
      if (moves) begin
        word <= word == W_TORN ? W_CONSUMED : W_MODERATE;
        if (clear_done) state <= IDLE;
      end
      ARM: begin
        index <= high;
        word <= W_TORN;
        state <= DIFFERENCE;
      end
      ALARM: state <= armed[at] ? VECTOR : IDLE;
      READ: state <= IDLE;
      BASE: begin
        address <= {high, low[31:6], 6'b0};
        word <= W_LOG2;
        state <= LOG2;
      end
      LOG2: begin
        log2 <= low[4:0];
        word <= W_TORN;
        state <= PLACE;
      end
      PLACE:
      if (moves) begin
        // The ring is aligned to its size.
        for (int i = 0; i < 16; i++) if (i < 2 || 5'(i) < log2) address[4+i] <= high[i];
        e.flags.phase <= !high[log2];
        word <= W_CONSUMED;
        state <= COUNT;
      end
      COUNT:
      if (moves) begin
        index <= high;
        word <= W_TORN;
        state <= armed[at] ? DIFFERENCE : IDLE;
      end
      DIFFERENCE: begin
        unreaped <= high - index;
        word <= W_MODERATE;
        state <= DECIDE;
      end
      DECIDE: begin
        word <= W_LOG2;
        state <= unreaped != '0 && due_now ? VECTOR : IDLE;
      end
      VECTOR: if (fire_ready) state <= IDLE;
      default: state <= IDLE;
    endcase
    if (sent) e_valid <= 1'b0;
    if (state == PLACE && moves) e_valid <= 1'b1;
    told_valid <= state == PLACE && moves;
    told_channel <= at;
    told_start <= e.flags.start;
    if (priv_read_valid) begin
      read_wanted <= 1'b1;
      read_at <= priv_read_channel;
      read_offset <= priv_read_offset;
    end else if (state == READ) begin
      read_wanted <= 1'b0;
    end
    if (rst) begin
      state <= IDLE;
      at <= '0;
      read_wanted <= 1'b0;
      told_valid <= 1'b0;
      e_valid <= 1'b0;
    end
  end

  // ------------------------------------------------------------------------------------------------ towards the host
  localparam int BEATS = DATA_WIDTH < 128 ? 2 : 1;
  logic second;
  assign posted_valid = e_valid;
  assign posted_last = BEATS == 1 || second;
  assign posted_hdr = '{addr: address, dwords: 11'd4, first_be: 4'b1111, last_be: 4'b1111, relaxed: 1'b0};
  assign sent = posted_valid && posted_ready && posted_last;
  always_ff @(posedge clk) second <= !rst && posted_valid && (posted_ready ? !posted_last : second);
  if (BEATS == 2) begin : g_two
    assign posted_data = second ? e[127:64] : e[63:0];
  end else begin : g_one
    assign posted_data = DATA_WIDTH'(e);
  end

  always_ff @(posedge clk) begin
    priv_read_ack <= state == READ && !rst;
    priv_read_data <= {high, low};
    if (word == W_CONSUMED || word == W_MODERATE) priv_read_data[63:32] <= '0;
    if (word == W_CONTROL) begin
      priv_read_data <= '0;
      priv_read_data[TP_CHANNEL_CONTROL_ENABLE_LSB] <= enabled[at];
      priv_read_data[TP_CHANNEL_CONTROL_ANNOUNCE_LSB] <= announce[at];
      priv_read_data[32+TP_CHANNEL_RESET_RESET_LSB] <= resetting[at] || reset_request[at] || clear_wanted[at];
    end
    if (word == W_STATUS) begin
      priv_read_data <= {16'b0, overflows[at], 32'b0};
      priv_read_data[TP_CHANNEL_STATUS_RUNNING_LSB] <= enabled[at] && !error[at];
      priv_read_data[TP_CHANNEL_STATUS_ERROR_LSB] <= error[at];
      priv_read_data[TP_CHANNEL_STATUS_RESETTING_LSB] <= resetting[at] || clear_wanted[at];
    end
    if (read_offset[7:6] != '0 || read_offset[5:3] == 3'd7) priv_read_data <= '0;
  end

  initial
    for (int i = 0; i < 2 ** (CW + 3); i++) begin
      lower[i] = '0;
      upper[i] = '0;
    end
  initial for (int i = 0; i < 2 ** CW; i++) leads[i] = '0;
endmodule
