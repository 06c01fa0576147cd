// SPDX-License-Identifier: Apache-2.0
// The channels' completion rings and privileged registers: makes entries of what the channels end, and fires interrupts.
//
// What a channel knows about its ring stands in a small RAM, laid out like its privileged page: words of 64 bits, of which the lower and
// the upper half are written apart. One job at a time walks through a channel's words: clear its counts when it is enabled, look whether
// an interrupt is due, answer a register read, note an entry. A write of the host goes first; the job waits a cycle. Looks for an interrupt take
// turns, and between two of them a read or an entry has its turn: arms without a pause delay each of them by one look only. No entry is taken
// while a read waits.
// An entry is gathered half by half in `g` while its address is looked up; then it stands in `e` until tp_writer has read it, while the next one
// is gathered. Neither holds up another job.
// Entries of a channel in `mute`, which lasts until its reset has ended, are taken at once and forgotten, as are those in `g`, and in `e` if
// tp_writer has not taken it: no reset waits for an entry that cannot leave.
//
// An armed vector fires when as many entries as `moderation` wants have not been reaped, when its time is over, for an overflow,
// or early: when the descriptor in hand has no more than `lead` bytes to go, in steps of 256 bytes, once for each descriptor.
// A fill level that is due (tp_fill) fires the vector whether it is armed or not, waits for no entry, and leaves an arm as it is.
//
// Promises: an offered entry is taken when its place in the ring is being decided; entries of a channel are handed on in the order taken; a
// vector fires after its entry has been shown to tp_writer, where entries go before MSI-X. One fire for each arm, and for each fill level.
// A lead's last bits do not count.
//
// Entries of a `paired` channel go to its peer's inbox, behind one address, and count nowhere; no interrupt comes with them. An end that is just `done` has none.
// verilator lint_off UNUSEDSIGNAL
module tp_ring
  import towpath_pkg::*;
#(
    parameter int H2C = 1,
    parameter int C2H = 1,
    parameter bit FILL = 0,                 // fill levels
    parameter int HOLDS = 15,               // no channel holds 2^HOLDS - 1 bytes
    localparam int CHANNELS = H2C + C2H,
    localparam int CW = CHANNELS > 1 ? $clog2(CHANNELS) : 1,
    localparam int NC = C2H == 0 ? 1 : C2H
) (
    input logic clk,
    input logic rst,

    // What a channel has to tell: the end of a descriptor, or the start of a C2H message. An offer that is withdrawn is not taken.
    input  logic [CHANNELS-1:0]       entry_valid,
    output logic [CHANNELS-1:0]       entry_ready,
    input  logic [CHANNELS-1:0][31:0] entry_bytes,
    input  logic [CHANNELS-1:0][15:0] entry_cookie,
    input  logic [CHANNELS-1:0][7:0]  entry_status,
    input  logic [NC-1:0]             entry_start,   // C2H: a message's start, which tells its length instead of these three
    output logic [CW-1:0]             head_channel,  // the C2H channel whose message's head is looked at
    input  logic [47:0]               head_length,
    input  logic [31:0]               head_offset,
    input  logic [31:0]               head_user,
    output logic [CHANNELS-1:0]       telling,       // an entry has been taken, and not yet read by tp_writer
    input  logic [CHANNELS-1:0]       paired,        // C2H only

    // to tp_writer
    output logic           out_valid,
    input  logic           out_ready,
    output logic [CW-1:0]  out_channel,
    output logic [63:0]    out_addr,
    output tp_completion_t out_entry,       // stands until out_read
    input  logic           out_read,
    input  logic           out_leaving,     // an entry has been read and has not left the card
    input  logic           mastering,       // the posted stream may begin packets
    input  logic [CHANNELS-1:0] mute,

    input logic          arm_valid,
    input logic [CW-1:0] arm_channel,
    input logic [31:0]   arm_index,
    input logic          lead_valid,
    input logic [CW-1:0] lead_channel,
    input logic [31:0]   lead_bytes,
    input logic [CHANNELS-1:0] alarm,       // fire if armed
    input logic [CHANNELS-1:0] in_hand,     // a descriptor is, and what is left of it known
    input logic [CHANNELS-1:0] planned,     // all of it is asked for or about to be
    output logic [CW-1:0] scan,             // one channel after the other, ...
    input logic [31:8] left,                // ... and what is left of its descriptor, unless it is planned, in steps of 256 bytes
    input logic          fill_valid,
    input logic [CW-1:0] fill_channel,
    input logic [31:0]   fill_level,
    input logic [CHANNELS-1:0][30:0] holds,  // bytes
    input logic [NC-1:0] refused,           // of the core's beats
    input logic [CHANNELS-1:0] idle,        // no descriptor is there

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
    output logic [7:0] fire_vector
);
  // ------------------------------------------------------------------------------------------------ words
  typedef enum logic [2:0] {
    W_CONTROL = 3'(TP_CHANNEL_CONTROL_OFFSET / 8),    // not in the RAM: {reset, control}
    W_BASE = 3'(TP_CHANNEL_RING_BASE_OFFSET / 8),     // {base high, base low}
    W_LOG2 = 3'(TP_CHANNEL_RING_LOG2_OFFSET / 8),     // {vector, log2}
    W_STATUS = 3'(TP_CHANNEL_STATUS_OFFSET / 8),      // not in the RAM: {overflows, status}
    W_TORN = 3'(TP_CHANNEL_TORN_OFFSET / 8),          // {produced, torn}
    W_CONSUMED = 3'(TP_CHANNEL_CONSUMED_OFFSET / 8),  // {-, consumed}
    W_MODERATE = 3'(TP_CHANNEL_MODERATION_OFFSET / 8),  // {-, moderation}
    W_PEER = 3'(TP_CHANNEL_PEER_BASE_OFFSET / 8)      // {peer's base high, low}
  } word_e;
  if (TP_CHANNEL_RESET_OFFSET != TP_CHANNEL_CONTROL_OFFSET + 4 || TP_CHANNEL_VECTOR_OFFSET != TP_CHANNEL_RING_LOG2_OFFSET + 4 ||
      TP_CHANNEL_OVERFLOWS_OFFSET != TP_CHANNEL_STATUS_OFFSET + 4 || TP_CHANNEL_PRODUCED_OFFSET != TP_CHANNEL_TORN_OFFSET + 4 ||
      TP_CHANNEL_CONSUMED_OFFSET % 8 != 0 || (TP_CHANNEL_TORN_OFFSET / 8 | 1) != TP_CHANNEL_CONSUMED_OFFSET / 8 ||
      TP_CHANNEL_MODERATION_OFFSET % 8 != 0 || TP_CHANNEL_MODERATION_OFFSET > 63 || TP_CHANNEL_HELD_OFFSET % 8 != 4 ||
      TP_CHANNEL_PEER_BASE_OFFSET % 8 != 0 || TP_CHANNEL_PEER_BASE_OFFSET > 63)
    $error("%m: the contract's channel page has changed: adapt the words");

  logic [31:0] lower[2**(CW+3)];
  logic [31:0] upper[2**(CW+3)];
  logic [CW-1:0] at;  // the channel and the word of the job in hand
  word_e word;
  word_e low_word;  // an entry's place counts two words at once
  logic [31:0] low, high;
  assign low = lower[{at, low_word}];
  assign high = upper[{at, word}];

  // The host sets what it may, through a register; the card counts in the same RAM, in cycles that the host leaves.
  logic sets, set_low, set_high, moves, low_we, high_we, clears;
  logic [CW+2:0] set_at;
  logic [63:0] set_data;
  assign sets = priv_write_valid && priv_write_offset[7:6] == 2'b00;
  always_ff @(posedge clk) begin
    set_low <= sets && (&priv_write_strb[3:0]) && !rst && (priv_write_offset[5:3] == W_BASE || priv_write_offset[5:3] == W_LOG2 ||
                                                           priv_write_offset[5:3] == W_MODERATE || priv_write_offset[5:3] == W_PEER);
    set_high <= sets && (&priv_write_strb[7:4]) && !rst && (priv_write_offset[5:3] == W_BASE || priv_write_offset[5:3] == W_LOG2 ||
                                                            priv_write_offset[5:3] == W_PEER);
    set_at <= {priv_write_channel, priv_write_offset[5:3]};
    set_data <= priv_write_data;
  end
  assign moves = !set_low && !set_high;  // the job may take its next step
  always_ff @(posedge clk) begin
    if (set_low || low_we) lower[set_low?set_at : {at, low_word}] <= set_low ? set_data[31:0] : clears ? '0 : low + 1'b1;
    if (set_high || high_we) upper[set_high?set_at : {at, word}] <= set_high ? set_data[63:32] : clears ? '0 : high + 1'b1;
  end

  // ------------------------------------------------------------------------------------------------ what is wanted
  typedef enum logic [3:0] {
    IDLE,
    CLEAR,                                  // after a reset: counts, moderation and lead
    ALARM,
    READ,
    BASE,                                   // an entry's address and its first half, ...
    LOG2,                                   // ... its second half: the channel is rid of it, unless it withdraws, ...
    PLACE,                                  // ... its place and phase; it is counted, and goes on
    COUNT_TORN,
    DIFFERENCE,                             // is an interrupt due: how much is not reaped
    DECIDE,
    VECTOR
  } state_e;
  state_e state;
  tp_completion_t g, e;
  logic g_full;                             // an entry waits for its turn in `e`
  logic g_goes;                             // ... which has come
  logic e_valid;                            // the one in `e` is shown to tp_writer, ...
  logic e_full;                             // ... which has not read it yet
  logic [CW-1:0] g_at, e_at;
  logic [63:0] e_addr;
  logic [CHANNELS-1:0] clear_wanted, arm_wanted, alarm_wanted, armed, timing, hinted;
  logic clear_done, fired, times;
  logic fills;                              // the fire in hand is for a fill level
  logic read_wanted;
  logic [CW-1:0] read_at;
  logic [7:3] read_offset;

  // Entries that the host has reaped, as of its last arm. No more than 2^16 are ever on their way: one bit more tells all differences.
  localparam int INDEX = 17;
  logic [INDEX-1:0] reaped[2**CW];
  always_ff @(posedge clk) if (arm_valid) reaped[arm_channel] <= arm_index[INDEX-1:0];

  // One channel a cycle is looked at for what time and progress bring.
  localparam int SPAN = $clog2(64);  // core clocks in a unit of moderation.time
  if (CHANNELS > 64) $error("%m: CHANNELS %0d: each must be looked at within a unit of time", CHANNELS);
  logic [SPAN+15:0] clock;
  logic [15:0] now, due[2**CW];
  logic [23:0] leads[2**CW];
  logic [23:0] lead;
  logic time_over, near;
  assign now = clock[SPAN+:16];
  assign lead = leads[scan];
  assign time_over = timing[scan] && due[scan] == now;
  assign near = in_hand[scan] && !hinted[scan] && armed[scan] && lead != '0 && (planned[scan] || lead >= left);
  always_ff @(posedge clk) begin
    // A lead is no promise: one that comes in the cycle of a clear is lost.
    if (lead_valid || clear_done) leads[clear_done?at : lead_channel] <= clear_done ? '0 : lead_bytes[31:8];
    if (times) due[at] <= now + low[31:16];
    clock <= clock + 1'b1;
    scan <= scan == CW'(CHANNELS - 1) ? '0 : scan + 1'b1;
    if (rst) begin
      clock <= '0;
      scan <= '0;
    end
  end

  logic control_we, reset_we;
  assign control_we = sets && (&priv_write_strb[3:0]) && priv_write_offset[5:3] == W_CONTROL;
  assign reset_we = sets && (&priv_write_strb[7:4]) && priv_write_offset[5:3] == W_CONTROL &&
                    priv_write_data[32+TP_CHANNEL_RESET_RESET_LSB];
  always_ff @(posedge clk) begin
    for (int c = 0; c < CHANNELS; c++) begin
      reset_request[c] <= reset_we && priv_write_channel == CW'(c);
      if (control_we && priv_write_channel == CW'(c)) begin
        enabled[c] <= priv_write_data[TP_CHANNEL_CONTROL_ENABLE_LSB];
        announce[c] <= priv_write_data[TP_CHANNEL_CONTROL_ANNOUNCE_LSB];
      end
      if (at == CW'(c)) begin
        if (clear_done) clear_wanted[c] <= 1'b0;
        if (state == DIFFERENCE) begin  // for an arm, or for an entry with the vector armed already
          arm_wanted[c] <= 1'b0;
          armed[c] <= 1'b1;
        end
        if (state == ALARM) alarm_wanted[c] <= 1'b0;
        if (state == VECTOR && g_full && !fills) alarm_wanted[c] <= 1'b1;
        if (times) timing[c] <= 1'b1;
        if (fired) begin
          armed[c] <= 1'b0;
          timing[c] <= 1'b0;
        end
      end
      if (arm_valid && arm_channel == CW'(c)) arm_wanted[c] <= 1'b1;
      if (alarm[c]) alarm_wanted[c] <= 1'b1;
      if (scan == CW'(c)) begin
        if (time_over || near) alarm_wanted[c] <= 1'b1;
        if (time_over) timing[c] <= 1'b0;
        if (near) hinted[c] <= 1'b1;
      end
      if (!in_hand[c]) hinted[c] <= 1'b0;
      // A channel that is being reset has nobody to wake.
      if (rst || resetting[c]) begin
        enabled[c] <= 1'b0;
        announce[c] <= 1'b0;
        clear_wanted[c] <= 1'b1;
        arm_wanted[c] <= 1'b0;
        alarm_wanted[c] <= 1'b0;
        armed[c] <= 1'b0;
        timing[c] <= 1'b0;
      end
    end
  end

  // ------------------------------------------------------------------------------------------------ fill levels
  logic [CHANNELS-1:0] fill_due, fill_taken;  // a fire is due; it is on the way
  logic [31:0] held;
  if (FILL) begin : g_fill
    logic [CHANNELS-1:0] stuck;
    always_comb for (int c = 0; c < CHANNELS; c++) stuck[c] = c >= H2C && refused[c>=H2C?c-H2C : 0] && idle[c];
    tp_fill #(
        .CHANNELS(CHANNELS),
        .WIDTH(HOLDS)
    ) i_fill (
        .due(fill_due),
        .taken(fill_taken),
        .read(priv_read_valid),
        .read_channel(priv_read_channel),
        .*
    );
  end else begin : g_no_fill
    assign fill_due = '0;
    assign held = '0;
  end

  // ------------------------------------------------------------------------------------------------ jobs
  function automatic logic [CW-1:0] lowest(input logic [CHANNELS-1:0] wanted);
    lowest = '0;
    for (int c = CHANNELS - 1; c >= 0; c--) if (wanted[c]) lowest = CW'(c);
  endfunction
  function automatic logic [CW-1:0] number(input logic [CHANNELS-1:0] one_hot);
    number = '0;
    for (int c = 0; c < CHANNELS; c++) if (one_hot[c]) number |= CW'(c);
  endfunction

  logic [CHANNELS-1:0] offers, turn, clearable;
  logic offered;                            // whose turn it is offered an entry a cycle ago
  logic take;
  tp_round_robin_ahead #(
      .N(CHANNELS)
  ) i_turn (
      .clk,
      .rst,
      .request(offers),
      .served(take),
      .turn
  );
  logic [CHANNELS-1:0] quiet;  // an end that has no entry
  always_comb
    for (int c = 0; c < CHANNELS; c++)
      quiet[c] = c >= H2C && paired[c] && entry_status[c] == TP_STATUS_DONE && !entry_start[c>=H2C?c-H2C : 0];
  assign offers = entry_valid & ~quiet;
  always_ff @(posedge clk) offered <= offers != '0 && !rst;  // an offer may be withdrawn: LOG2 looks again
  logic clear_first;  // one of them is to be cleared
  logic [CHANNELS-1:0] unclear;
  always_comb for (int c = 0; c < CHANNELS; c++) unclear[c] = clear_wanted[c] && !resetting[c] && !(clear_done && at == CW'(c));
  always_ff @(posedge clk) begin
    clearable <= unclear;
    clear_first <= unclear != '0 && !rst;
  end

  // A count is not read before the entries that it counts have left, unless nothing can leave.
  logic read_now, may_take, placed, all_left;
  // A fire that finds an entry waiting comes back as an alarm. No entry is taken before that: each might stand before it again.
  logic fire_first;
  always_ff @(posedge clk) fire_first <= |(alarm_wanted & armed) || (state == VECTOR && g_full && !fills);
  // Channels for which an interrupt may be due, whose turn it is, and whether the last job was such a look.
  logic [CHANNELS-1:0] wakes, wake_turn;
  logic wake, woke, wakened;  // `wakened`: whose turn it is wanted a look a cycle ago, and has not just had it
  assign wakes = arm_wanted | alarm_wanted | fill_due;
  assign fill_taken = state == IDLE && !clear_first && wake ? wake_turn & fill_due : '0;
  tp_round_robin_ahead #(
      .N(CHANNELS)
  ) i_wakes (
      .clk,
      .rst,
      .request(wakes),
      .served(state == IDLE && !clear_first && wake),
      .turn(wake_turn)
  );
  assign g_goes = g_full && !e_full;
  always_ff @(posedge clk) all_left <= !placed && !g_full && !e_full && !out_leaving;
  assign read_now = read_wanted && (all_left || !mastering);
  assign may_take = !read_wanted && (!g_full || g_goes) && !fire_first && offered;
  always_ff @(posedge clk) wakened <= wakes != '0 && state != ALARM && !rst;
  assign wake = wakened && !(woke && (read_now || may_take));
  assign take = state == IDLE && !clear_first && !wake && may_take;
  logic looking;  // an entry is being gathered
  assign looking = state == BASE || state == LOG2 || state == PLACE;
  always_comb
    for (int c = 0; c < CHANNELS; c++) begin
      entry_ready[c] = (state == LOG2 && at == CW'(c)) || mute[c] || quiet[c];
      telling[c] = (looking && at == CW'(c)) || (g_full && g_at == CW'(c)) || (e_full && e_at == CW'(c));
    end

  // The half of an entry that BASE or LOG2 gathers: {offset, bytes}, then {flags, status, cookie, user}. An H2C and a C2H channel make a
  // pair, so that each bit has four sources.
  localparam int PAIRS = H2C > C2H ? H2C : C2H;
  logic [PAIRS-1:0][3:0][31:0] half_low, half_high;
  logic [CW-1:0] pair;
  logic c2h, second, start;
  logic [1:0] low_from, high_from, kind;
  for (genvar p = 0; p < PAIRS; p++) begin : g_pair
    localparam int H = p < H2C ? p : 0;
    localparam int C = p < C2H ? p : 0;
    localparam int CC = CHANNELS > H2C + C ? H2C + C : 0;
    assign half_low[p] = {head_user, head_length[31:0], entry_bytes[CC], entry_bytes[H]};
    assign half_high[p] = {
      head_offset,
      8'(1 << 1), 8'b0, head_length[47:32],
      8'b0, entry_status[CC], entry_cookie[CC],
      8'b0, entry_status[H], entry_cookie[H]
    };
  end
  always_comb begin
    c2h = 1'b0;
    pair = '0;
    for (int c = 0; c < CHANNELS; c++)
    if (at == CW'(c)) begin
      c2h = c >= H2C;
      pair = c >= H2C ? CW'(c - H2C) : CW'(c);
    end
  end
  assign head_channel = c2h ? pair : '0;
  assign second = state == LOG2;
  assign kind = !c2h ? 2'd0 : entry_start[pair] ? 2'd2 : 2'd1;
  assign low_from = c2h && second ? 2'd3 : kind;
  assign high_from = c2h && !second ? 2'd3 : kind;

  logic [4:0] log2;
  logic [57:0] base;
  logic [15:0] place;
  logic apart;  // the entry in hand is for the peer
  logic [INDEX-1:0] unreaped;
  logic due_now;
  assign clear_done = state == CLEAR && word == W_MODERATE && moves;
  assign clears = state == CLEAR;
  assign placed = state == PLACE && moves;
  assign low_word = word_e'(word | 3'(state == PLACE));  // W_TORN, then: see the check above
  assign low_we = moves && (clears || (placed && !g.flags.start && !apart) || state == COUNT_TORN);
  assign high_we = (moves && clears) || (placed && !apart);
  assign due_now = low[31:16] == '0 || unreaped >= INDEX'(low[15:0]);
  assign times = state == DECIDE && unreaped != '0 && !due_now && !timing[at];
  assign fire_valid = state == VECTOR && (!g_full || fills) && high[31:8] == '0;  // no card has more vectors
  assign fire_vector = high[7:0];
  assign fired = state == VECTOR && !g_full && !fills;  // before `fire_ready`, too: an arm that comes meanwhile is a new one
  assign out_valid = e_valid;
  assign out_channel = e_at;
  assign out_addr = e_addr;
  assign out_entry = e;

  always_ff @(posedge clk) begin
    case (state)
      IDLE: begin
        fills <= |fill_taken;
        if (clear_first) begin
          at <= lowest(clearable);
          word <= W_TORN;
          state <= CLEAR;
        end else if (wake) begin
          at <= number(wake_turn);
          word <= |fill_taken ? W_LOG2 : |(wake_turn & arm_wanted) ? W_TORN : W_LOG2;
          state <= |fill_taken ? VECTOR : |(wake_turn & arm_wanted) ? DIFFERENCE : ALARM;
          woke <= 1'b1;
        end else if (read_now) begin
          woke <= 1'b0;
          at <= read_at;
          word <= word_e'(read_offset[5:3]);
          state <= READ;
        end else if (take) begin
          woke <= 1'b0;
          at <= number(turn);
          word <= |(turn & paired) ? W_PEER : W_BASE;
          apart <= |(turn & paired);
          state <= BASE;
        end
      end
      CLEAR:
      if (moves) begin
        word <= word == W_TORN ? W_CONSUMED : W_MODERATE;
        if (clear_done) state <= IDLE;
      end
      ALARM: state <= armed[at] ? VECTOR : IDLE;
      READ: state <= IDLE;
      BASE: begin
        base <= {high, low[31:6]} | 58'(apart ? TP_PAGE_BYTES_MIN / 64 : 0);
        {g.offset, g.bytes} <= {c2h ? half_high[pair][high_from] : '0, half_low[pair][low_from]};
        word <= W_LOG2;
        state <= LOG2;
      end
      LOG2: begin
        log2 <= low[4:1] == '0 ? 5'd2 : low[4:0];  // and more than 16 is 16
        {g.flags, g.status, g.cookie, g.user} <= {half_high[pair][high_from], c2h ? half_low[pair][low_from] : '0};
        word <= W_TORN;
        state <= entry_valid[at] && !quiet[at] ? PLACE : IDLE;
      end
      PLACE:
      if (placed) begin
        for (int i = 0; i < 16; i++) place[i] <= high[i] && (i < 2 || 5'(i) < log2) && !apart;
        g.flags.phase <= log2[4] ? !high[16] : !high[{1'b0, log2[3:0]}];
        state <= apart ? IDLE : g.status == TP_STATUS_TORN ? COUNT_TORN : armed[at] ? DIFFERENCE : IDLE;
      end
      COUNT_TORN: if (moves) state <= armed[at] ? DIFFERENCE : IDLE;
      DIFFERENCE: begin
        unreaped <= high[INDEX-1:0] - reaped[at];
        word <= W_MODERATE;
        state <= DECIDE;
      end
      DECIDE: begin
        word <= W_LOG2;
        state <= unreaped != '0 && due_now ? VECTOR : IDLE;
      end
      VECTOR: if ((g_full && !fills) || fire_ready) state <= IDLE;  // not before the entry is shown: an alarm comes back to it
      default: state <= IDLE;
    endcase
    if (out_ready || mute[e_at]) e_valid <= 1'b0;
    if (out_read || (e_valid && !out_ready && mute[e_at])) e_full <= 1'b0;
    if (g_goes || mute[g_at]) g_full <= 1'b0;
    if (placed) begin
      g_full <= 1'b1;
      g_at <= at;
    end
    if (g_goes) begin
      e <= g;
      e_at <= g_at;
      e_addr <= {base, 6'b0} | 64'({place, 4'b0});  // the ring is aligned to its size
      e_valid <= 1'b1;
      e_full <= 1'b1;
    end
    if (priv_read_valid) begin
      read_wanted <= 1'b1;
      read_at <= priv_read_channel;
      read_offset <= priv_read_offset;
    end else if (state == READ) begin
      read_wanted <= 1'b0;
    end
    if (rst) begin
      state <= IDLE;
      woke <= 1'b0;
      at <= '0;
      read_wanted <= 1'b0;
      g_full <= 1'b0;
      e_valid <= 1'b0;
      e_full <= 1'b0;
    end
    if (!rst) begin
      assert (!out_read || (e_full && !e_valid))
      else $error("%m: an entry was read that was not there");
    end
  end

  logic in_reset;
  assign in_reset = reset_request[at] || resetting[at] || clear_wanted[at];
  always_ff @(posedge clk) begin
    priv_read_ack <= state == READ && !rst;
    priv_read_data <= {high, low};
    if (word == W_CONTROL) begin
      priv_read_data <= '0;
      priv_read_data[TP_CHANNEL_CONTROL_ENABLE_LSB] <= enabled[at];
      priv_read_data[TP_CHANNEL_CONTROL_ANNOUNCE_LSB] <= announce[at];
      priv_read_data[32+TP_CHANNEL_RESET_RESET_LSB] <= in_reset;
    end
    if (word == W_STATUS) begin
      priv_read_data <= {16'b0, overflows[at], 32'b0};
      priv_read_data[TP_CHANNEL_STATUS_RUNNING_LSB] <= enabled[at] && !error[at];
      priv_read_data[TP_CHANNEL_STATUS_ERROR_LSB] <= error[at];
      priv_read_data[TP_CHANNEL_STATUS_RESETTING_LSB] <= in_reset;
    end
    if (read_offset[7:6] != '0) priv_read_data <= '0;
    if (FILL && read_offset == 5'(TP_CHANNEL_HELD_OFFSET / 8)) priv_read_data <= {held, 32'b0};
  end

  initial
    for (int i = 0; i < 2 ** (CW + 3); i++) begin
      lower[i] = '0;
      upper[i] = '0;
    end
  initial for (int i = 0; i < 2 ** CW; i++) leads[i] = '0;
endmodule
