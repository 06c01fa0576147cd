// SPDX-License-Identifier: Apache-2.0
// The channels' completion rings and privileged registers: writes entries into host memory, in order, and fires interrupts.
//
// One job at a time, each a few cycles: clear a channel's counts when it is enabled, compare an `arm`, raise an alarm (an overflow),
// answer a register read, write an entry. What a channel knows about its ring stands in small RAMs, one word a channel.
//
// Promises: an entry is taken when its place in the ring is decided; entries of a channel are written in the order taken; `told` comes when
// the write has been accepted by the posted stream; a vector fires after that. One fire for each arm.
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

    input logic          arm_valid,
    input logic [CW-1:0] arm_channel,
    input logic [31:0]   arm_index,
    input logic [CHANNELS-1:0] alarm,       // fire if armed

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
  // Registers come in words of 64 bits.
  localparam logic [7:3] W_CONTROL = 5'(TP_CHANNEL_CONTROL_OFFSET / 8);
  localparam logic [7:3] W_BASE = 5'(TP_CHANNEL_RING_BASE_OFFSET / 8);
  localparam logic [7:3] W_LOG2 = 5'(TP_CHANNEL_RING_LOG2_OFFSET / 8);
  localparam logic [7:3] W_STATUS = 5'(TP_CHANNEL_STATUS_OFFSET / 8);
  localparam logic [7:3] W_TORN = 5'(TP_CHANNEL_TORN_OFFSET / 8);
  localparam logic [7:3] W_CONSUMED = 5'(TP_CHANNEL_CONSUMED_OFFSET / 8);

  // ------------------------------------------------------------------------------------------------ what the host sets
  logic [31:0] base_low[2**CW];
  logic [31:0] base_high[2**CW];
  logic [4:0] log2s[2**CW];
  logic [7:0] vectors[2**CW];
  logic [31:0] arms[2**CW];
  logic low_we, high_we;
  assign low_we = priv_write_valid && (&priv_write_strb[3:0]);
  assign high_we = priv_write_valid && (&priv_write_strb[7:4]);

  always_ff @(posedge clk) begin
    if (low_we && priv_write_offset == W_BASE) base_low[priv_write_channel] <= priv_write_data[31:0];
    if (high_we && priv_write_offset == W_BASE) base_high[priv_write_channel] <= priv_write_data[63:32];
    if (low_we && priv_write_offset == W_LOG2) log2s[priv_write_channel] <= priv_write_data[4:0];
    if (high_we && priv_write_offset == W_LOG2) vectors[priv_write_channel] <= priv_write_data[39:32];
    if (arm_valid) arms[arm_channel] <= arm_index;
  end

  logic [CHANNELS-1:0] clear_wanted, arm_wanted, alarm_wanted, armed, was_resetting;
  logic [CW-1:0] at;  // the channel of the job in hand
  logic clear_done, arm_done, alarm_done, arm_holds, fired;
  logic control_we, reset_we;
  assign control_we = low_we && priv_write_offset == W_CONTROL;
  assign reset_we = high_we && priv_write_offset == W_CONTROL &&
                    priv_write_data[32+TP_CHANNEL_RESET_RESET_LSB];

  always_ff @(posedge clk) begin
    for (int c = 0; c < CHANNELS; c++) begin
      reset_request[c] <= 1'b0;
      if (control_we && priv_write_channel == CW'(c)) begin
        enabled[c] <= priv_write_data[TP_CHANNEL_CONTROL_ENABLE_LSB] && !resetting[c];
        announce[c] <= priv_write_data[TP_CHANNEL_CONTROL_ANNOUNCE_LSB];
        if (priv_write_data[TP_CHANNEL_CONTROL_ENABLE_LSB] && !enabled[c] && !resetting[c]) clear_wanted[c] <= 1'b1;
      end
      if (reset_we && priv_write_channel == CW'(c)) reset_request[c] <= 1'b1;
      if (resetting[c]) begin
        enabled[c] <= 1'b0;
        announce[c] <= 1'b0;
      end
      if (arm_valid && arm_channel == CW'(c)) arm_wanted[c] <= 1'b1;
      if (alarm[c]) alarm_wanted[c] <= 1'b1;
      if (at == CW'(c)) begin
        if (clear_done) begin
          clear_wanted[c] <= 1'b0;
          armed[c] <= 1'b0;
        end
        if (arm_done && !(arm_valid && arm_channel == CW'(c))) arm_wanted[c] <= 1'b0;
        if (alarm_done) alarm_wanted[c] <= alarm[c];
        if (arm_holds) armed[c] <= 1'b1;
        if (fired) armed[c] <= 1'b0;
      end
      was_resetting[c] <= resetting[c];
      if (was_resetting[c] && !resetting[c]) clear_wanted[c] <= 1'b1;
      // A channel that is being reset has nobody to wake.
      if (rst || resetting[c]) begin
        arm_wanted[c] <= 1'b0;
        alarm_wanted[c] <= 1'b0;
        armed[c] <= 1'b0;
      end
    end
    if (rst) begin
      enabled <= '0;
      announce <= '0;
      clear_wanted <= '0;
      was_resetting <= '0;
      reset_request <= '0;
    end
  end

  // ------------------------------------------------------------------------------------------------ what the card counts
  logic [31:0] produced[2**CW];
  logic [31:0] consumed[2**CW];
  logic [31:0] torn[2**CW];
  logic [31:0] produced_q, consumed_q, torn_q;
  assign produced_q = produced[at];
  assign consumed_q = consumed[at];
  assign torn_q = torn[at];

  typedef enum logic [3:0] {
    IDLE,
    CLEAR,
    ARM,
    ALARM,
    READ,
    ENTRY,
    SEND,
    FIRE
  } state_e;
  state_e state;
  tp_completion_t e;
  logic read_wanted;
  logic [CW-1:0] read_at;
  logic [7:3] read_offset;

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
  assign take = state == IDLE && !(|clear_wanted) && !(|arm_wanted) && !(|alarm_wanted) && !read_wanted && |entry_valid;
  assign entry_ready = take ? pick : '0;
  always_comb begin
    picked = '0;
    picked_channel = '0;
    for (int s = 0; s < SOURCES; s++)
    if (pick[s]) begin
      picked |= entry[s];
      picked_channel |= entry_channel[s];
    end
  end

  logic [31:0] place, mask;  // entry number in the ring
  tp_completion_t written;
  assign mask = ~(32'hffff_ffff << log2s[at]);
  assign place = produced_q & mask;
  always_comb begin
    written = e;
    written.flags.phase = !produced_q[log2s[at]];
  end

  localparam int BEATS = DATA_WIDTH < 128 ? 2 : 1;
  logic second;
  logic sent;
  assign posted_valid = state == SEND;
  assign posted_last = BEATS == 1 || second;
  if (BEATS == 2) begin : g_two
    assign posted_data = second ? written[127:64] : written[63:0];
  end else begin : g_one
    assign posted_data = DATA_WIDTH'(written);
  end
  logic [63:0] posted_addr;
  always_ff @(posedge clk) posted_addr <= {base_high[at], base_low[at][31:6], 6'b0} + {28'b0, place, 4'b0};
  assign posted_hdr = '{addr: posted_addr, dwords: 11'd4, first_be: 4'b1111, last_be: 4'b1111, relaxed: 1'b0};
  assign sent = posted_valid && posted_ready && posted_last;

  assign clear_done = state == CLEAR;
  assign arm_done = state == ARM;
  assign arm_holds = state == ARM && produced_q == arms[at];
  assign alarm_done = state == ALARM;
  assign fire_valid = state == FIRE;
  assign fire_vector = vectors[at];
  assign fired = state == FIRE;             // also when nobody takes it at once: an arm that comes meanwhile is a new one

  always_ff @(posedge clk) begin
    case (state)
      IDLE: begin
        e <= picked;
        if (|clear_wanted) begin
          at <= lowest(clear_wanted);
          state <= CLEAR;
        end else if (|arm_wanted) begin
          at <= lowest(arm_wanted);
          state <= ARM;
        end else if (|alarm_wanted) begin
          at <= lowest(alarm_wanted);
          state <= ALARM;
        end else if (read_wanted) begin
          at <= read_at;
          state <= READ;
        end else if (take) begin
          at <= picked_channel;
          state <= ENTRY;
        end
      end
      CLEAR: state <= IDLE;
      ARM: state <= produced_q == arms[at] ? IDLE : FIRE;
      ALARM: state <= armed[at] ? FIRE : IDLE;
      READ: state <= IDLE;
      ENTRY: state <= SEND;                 // the address is being added up
      SEND: if (sent) state <= armed[at] ? FIRE : IDLE;
      FIRE: if (fire_ready) state <= IDLE;
      default: state <= IDLE;
    endcase
    second <= state == SEND && posted_valid && posted_ready ? !posted_last : state == SEND && second;
    told_valid <= sent;
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
      second <= 1'b0;
    end
  end

  always_ff @(posedge clk) begin
    if (clear_done || sent) produced[at] <= clear_done ? '0 : produced_q + 1'b1;
    if (clear_done || (sent && !e.flags.start)) consumed[at] <= clear_done ? '0 : consumed_q + 1'b1;
    if (clear_done || (sent && e.status == TP_STATUS_TORN)) torn[at] <= clear_done ? '0 : torn_q + 1'b1;
  end

  // ------------------------------------------------------------------------------------------------ register reads
  always_ff @(posedge clk) begin
    priv_read_ack <= state == READ && !rst;
    case (read_offset)
      W_CONTROL: begin
        priv_read_data <= '0;
        priv_read_data[TP_CHANNEL_CONTROL_ENABLE_LSB] <= enabled[at];
        priv_read_data[TP_CHANNEL_CONTROL_ANNOUNCE_LSB] <= announce[at];
        priv_read_data[32+TP_CHANNEL_RESET_RESET_LSB] <= resetting[at] || reset_request[at];
      end
      W_BASE: priv_read_data <= {base_high[at], base_low[at][31:6], 6'b0};
      W_LOG2: priv_read_data <= {24'b0, vectors[at], 27'b0, log2s[at]};
      W_STATUS: begin
        priv_read_data <= {16'b0, overflows[at], 32'b0};
        priv_read_data[TP_CHANNEL_STATUS_RUNNING_LSB] <= enabled[at] && !error[at];
        priv_read_data[TP_CHANNEL_STATUS_ERROR_LSB] <= error[at];
        priv_read_data[TP_CHANNEL_STATUS_RESETTING_LSB] <= resetting[at];
      end
      W_TORN: priv_read_data <= {produced_q, torn_q};
      W_CONSUMED: priv_read_data <= {32'b0, consumed_q};
      default: priv_read_data <= '0;
    endcase
  end

  // The layout that the words above take for granted.
  if (TP_CHANNEL_RESET_OFFSET != TP_CHANNEL_CONTROL_OFFSET + 4 || TP_CHANNEL_VECTOR_OFFSET != TP_CHANNEL_RING_LOG2_OFFSET + 4 ||
      TP_CHANNEL_OVERFLOWS_OFFSET != TP_CHANNEL_STATUS_OFFSET + 4 || TP_CHANNEL_PRODUCED_OFFSET != TP_CHANNEL_TORN_OFFSET + 4)
    $error("%m: the contract's channel page has changed: adapt the words");
endmodule
