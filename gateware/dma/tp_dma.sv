// SPDX-License-Identifier: Apache-2.0
// The data mover: descriptors in, memory reads and writes out, streams to and from the user core, completions to the host.
//
//   beats -> tp_turn -> tp_store -> tp_front (a channel's descriptors; tp_plan cuts them) -> tp_h2c -> tp_read_issue -> link -> tp_landing -> tp_h2c -> user core
//                                                   -> tp_c2h <- user core;  tp_c2h -> tp_writer -> link
//   ends of descriptors -> tp_ring -> tp_writer;  fires -> MSI-X (control) -> tp_writer
//
// It never knows what a channel carries. Channels 0 to H2C-1 are H2C, the others C2H.
// Each direction leaves some of what the fronts offer unused; a build without one direction leaves more.
// verilator lint_off UNUSEDSIGNAL
module tp_dma
  import tp_tlp_pkg::*;
  import towpath_pkg::*;
#(
    parameter int DATA_WIDTH = 128,
    parameter int H2C = 1,
    parameter int C2H = 1,
    parameter int TAGS = 32,
    parameter int LANDING_BYTES = 16384,   // for all H2C channels, a multiple of LANDING_BLOCK
    parameter int LANDING_BLOCK = 1024,    // a power of two from 128 on: no read is longer
    parameter int LANDING_SHARE = 2,       // blocks that each H2C channel has for itself; two let it go on while one is read
    parameter int SENDING_BYTES = 8192,    // for all C2H channels, a power of two
    parameter int QUEUE_DEPTH = 16,
    parameter int INLINE_SLOTS = 4,
    parameter bit QOS = 0,                 // channels have weights, rates and traffic classes
    parameter int CORE_CLOCK_KHZ = 250000,
    localparam int CHANNELS = H2C + C2H,
    localparam int CW = CHANNELS > 1 ? $clog2(CHANNELS) : 1,
    localparam int KEEP = DATA_WIDTH / 8,
    localparam int NH = H2C == 0 ? 1 : H2C,
    localparam int NC = C2H == 0 ? 1 : C2H,
    // What a channel's kind does, a bit for each channel: see the channel kinds of contract/protocol.md.
    parameter logic [NH-1:0] H2C_VERDICTS = '0,
    parameter logic [NC-1:0] C2H_ASKED = '0,
    parameter logic [NC-1:0] C2H_AHEAD = '0,
    parameter bit FILL = 0,                // fill levels
    parameter bit PEERS_ONLY = 0           // no H2C channel has data of the host's, nor any C2H channel lists: nothing is read
) (
    input logic clk,
    input logic rst,
    input tp_config_t cfg,

    // from and to control: see gateware/control/README.md
    input  logic [CW-1:0] wr_channel,
    input  logic [11:2]   wr_offset,
    input  logic [DATA_WIDTH-1:0]   wr_data,
    input  logic [DATA_WIDTH/8-1:0] wr_strb,
    input  logic          inline_valid,
    input  logic          batch_valid,
    input  logic          words_valid,
    input  logic          push_valid,
    input  logic [CW-1:0] push_channel,
    input  logic          push_torn,
    input  logic [7:0]    push_count,
    input  logic          arm_valid,
    input  logic [CW-1:0] arm_channel,
    input  logic [31:0]   arm_index,
    input  logic          lead_valid,
    input  logic [CW-1:0] lead_channel,
    input  logic [31:0]   lead_bytes,
    input  logic          fill_valid,
    input  logic [CW-1:0] fill_channel,
    input  logic [31:0]   fill_level,
    input  logic          cancel_valid,
    input  logic [CW-1:0] cancel_channel,
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
    output logic          fire_valid,
    input  logic          fire_ready,
    output logic [7:0]    fire_vector,
    input  logic                  msix_posted_valid,
    output logic                  msix_posted_ready,
    input  tp_write_hdr_t         msix_posted_hdr,
    input  logic [DATA_WIDTH-1:0] msix_posted_data,
    input  logic                  msix_posted_last,
    output logic                  msix_leaving,
    input  logic          card_reset,
    output logic          card_reset_done,
    output logic          event_valid,
    output logic [3:0]    event_code,
    input  logic [7:0]    quarantine,
    output logic [15:0]   quarantined,
    output logic [CHANNELS-1:0] enabled,

    output logic                  tx_posted_valid,
    input  logic                  tx_posted_ready,
    output tp_write_hdr_t         tx_posted_hdr,
    output logic [DATA_WIDTH-1:0] tx_posted_data,
    output logic                  tx_posted_last,
    output logic                  tx_read_valid,
    input  logic                  tx_read_ready,
    output tp_read_hdr_t          tx_read_hdr,
    input  logic                  rx_completion_valid,
    input  tp_completion_hdr_t    rx_completion_hdr,
    input  logic [DATA_WIDTH-1:0] rx_completion_data,
    input  logic                  rx_completion_last,
    input  logic                  rx_completion_bad,

    // towards the user's edge
    output logic [NH-1:0]                 h2c_tvalid,
    input  logic [NH-1:0]                 h2c_tready,
    output logic [NH-1:0][DATA_WIDTH-1:0] h2c_tdata,
    output logic [NH-1:0][      KEEP-1:0] h2c_tkeep,
    output logic [NH-1:0]                 h2c_tlast,
    output logic [NH-1:0]                 h2c_error,
    output logic [NH-1:0][          63:0] h2c_length,
    output logic [NH-1:0][          63:0] h2c_offset,
    output logic [NH-1:0][          31:0] h2c_user,
    output logic [NH-1:0]                 h2c_reset,
    input  logic [NH-1:0]                 h2c_reset_busy,  // the reset is still on its way to the user core
    input  logic [NH-1:0]                 h2c_end_valid,   // a verdict
    output logic [NH-1:0]                 h2c_end_ready,
    input  logic [NH-1:0][           5:0] h2c_end_status,
    input  logic [NC-1:0]                 c2h_tvalid,
    output logic [NC-1:0]                 c2h_tready,
    input  logic [NC-1:0][DATA_WIDTH-1:0] c2h_tdata,
    input  logic [NC-1:0][      KEEP-1:0] c2h_tkeep,
    input  logic [NC-1:0]                 c2h_tlast,
    input  logic [NC-1:0][          47:0] c2h_length,
    input  logic [NC-1:0][          31:0] c2h_offset,
    input  logic [NC-1:0][          31:0] c2h_user,
    input  logic [NC-1:0][           5:0] c2h_status,      // asked: with tlast
    output logic [NC-1:0]                 c2h_ask_valid,
    input  logic [NC-1:0]                 c2h_ask_ready,
    output logic [NC-1:0]                 c2h_ask_cancel,
    output logic [NC-1:0][          31:0] c2h_ask_length,
    output logic [NC-1:0][          63:0] c2h_ask_offset,
    output logic [NC-1:0][          31:0] c2h_ask_user,
    output logic [NC-1:0]                 c2h_reset,
    input  logic [NC-1:0]                 c2h_reset_busy,
    input  logic [CHANNELS-1:0]           paired,          // see tp_outbox
    input  logic [CHANNELS-1:0]           paired_alarm,
    output logic [CHANNELS-1:0]           ended,           // a descriptor is, ...
    output logic [CHANNELS-1:0][     7:0] ended_status     // ... with this
);
  // Order slots of an H2C channel: enough for reads of 512 bytes that fill the room, at most DATA_WIDTH / 4, and for short messages.
  localparam int BLOCKS = LANDING_BYTES / LANDING_BLOCK;
  localparam int READS = LANDING_BYTES / 512 < DATA_WIDTH / 4 ? LANDING_BYTES / 512 : DATA_WIDTH / 4;
  localparam int MOST = READS > 2 * QUEUE_DEPTH ? READS : 2 * QUEUE_DEPTH;
  localparam int SLOTS = MOST < 8 ? 8 : 2 ** $clog2(MOST);
  localparam int SW = $clog2(SLOTS);
  localparam int LBW = $clog2(BLOCKS);
  localparam int LW = LBW + $clog2(LANDING_BLOCK / CPL_BOUNDARY);  // place in the landing room
  localparam int RW = $clog2(LANDING_BYTES / KEEP);  // row of it
  localparam int KW = $clog2(KEEP);
  localparam int BW = $clog2(SENDING_BYTES);
  localparam int SENDING_BLOCK = 512;
  localparam int SENDING_HOLD = kept_sending(SENDING_BYTES, NC);  // no write is longer
  localparam int LB = NC > 1 ? $clog2(SENDING_BLOCK) : KW;
  localparam int PW = NC > 1 ? $clog2(NC) : 1;
  localparam int TW = $clog2(TAGS);
  localparam int QW = $clog2(QUEUE_DEPTH);
  localparam int CLIENTS = H2C + 1;  // of reads: data of the H2C channels, and lists
  localparam int CONTEXT = 1 + CW + SW + LW;
  localparam int WW = INLINE_SLOTS == 0 ? 1 : $clog2(INLINE_SLOTS * TP_INLINE_SLOT_BYTES / 8);
  localparam int RIW = CLIENTS > 1 ? $clog2(CLIENTS) : 1;

  if (H2C < 0 || C2H < 0 || CHANNELS < 1 || CHANNELS > TP_CHANNELS_MAX)
    $error("%m: H2C %0d and C2H %0d: use 1 to %0d channels in all", H2C, C2H, TP_CHANNELS_MAX);
  if (SENDING_HOLD < SENDING_BLOCK)
    $error("%m: SENDING_BYTES %0d for %0d channels: make it a power of two, %0d for each or more", SENDING_BYTES, NC, 2 * SENDING_BLOCK);
  if (LANDING_BYTES % LANDING_BLOCK != 0) $error("%m: LANDING_BYTES %0d: make it a multiple of %0d", LANDING_BYTES, LANDING_BLOCK);

  logic mastering, may_begin, barred;
  logic [7:0] barred_status;
  tp_mastering i_mastering (.*);

  // ------------------------------------------------------------------------------------------------ quality of service
  localparam int SHARE = 13;
  logic [CHANNELS-1:0] over;  // beyond its rate
  logic [NH-1:0] held_back;  // of them, the H2C channels
  assign held_back = H2C == 0 ? '0 : NH'(over);
  logic [CHANNELS-1:0][2:0] tc;
  logic h2c_even, c2h_even;
  logic [NH-1:0][SHARE-1:0] h2c_share;
  logic [NC-1:0][SHARE-1:0] c2h_share;
  logic [12:0] read_charge, write_charge;
  logic [63:0] qos_read_data, ring_read_data;
  assign priv_read_data = ring_read_data | qos_read_data;

  // ------------------------------------------------------------------------------------------------ reset of channels
  logic [CHANNELS-1:0] reset_request, resetting, flush, emptied, front_idle, engine_idle, telling, edge_busy, mute, still_read;
  logic mute_card, end_reads;
  logic [H2C+NC:0] withdraw;                // the last one is the card
  logic [H2C+NC-1:0] leaving;
  assign withdraw = {mute_card, (H2C + NC)'(mute)};
  tp_resets #(
      .CHANNELS(CHANNELS)
  ) i_resets (
      .clk,
      .rst,
      .mastering,
      .request(reset_request),
      .card_reset,
      .card_reset_done,
      .resetting,
      .mute,
      .mute_card,
      .abandon(end_reads),
      .flush,
      .emptied,
      // A write of a pair has no entry behind it which would be the last to go.
      .idle(front_idle & engine_idle & ~telling & ~leaving[CHANNELS-1:0] & ~still_read),
      .asking(tx_read_valid),
      .edge_busy
  );

  // ------------------------------------------------------------------------------------------------ plans
  logic [PW-1:0] command_channel;
  logic [CHANNELS-1:0] cut_row, cut_piece, cut_want, cut_grant, plan_valid, plan_at, plan_known, plan_none;
  logic plan_all, plan_last;
  logic [11:0] plan_more, read_more;
  logic [63:0] read_addr, write_addr;
  logic [CW-1:0] scan;
  logic [31:0] left_more;  // counted in steps of 256 bytes

  // ------------------------------------------------------------------------------------------------ rings
  logic [CHANNELS-1:0]
      d_valid, d_end, d_inline, d_empty, d_over, d_broken, f_valid, f_last, f_at, take, abandon, finish, stopping, cancelling;
  logic [CHANNELS-1:0][15:0] d_cookie;
  logic [CHANNELS-1:0][7:0] d_status;
  logic [CHANNELS-1:0][31:0] d_user;
  logic [CHANNELS-1:0][63:0] d_length, d_offset;
  logic [CHANNELS-1:0][1:0] d_prefix;

  logic [CHANNELS-1:0] announce, alarm, error, completed;
  logic [CHANNELS-1:0][15:0] overflows;
  logic [CHANNELS-1:0] entry_valid, entry_ready;
  logic [CHANNELS-1:0][31:0] entry_bytes;
  logic [CHANNELS-1:0][15:0] entry_cookie;
  logic [CHANNELS-1:0][7:0] entry_status;
  assign ended_status = entry_status;
  assign ended = completed;
  logic [NC-1:0] entry_start;
  logic [CW-1:0] head_channel;
  logic [47:0] head_length;
  logic [31:0] head_offset, head_user;
  logic out_valid, out_ready, out_read, out_leaving;
  logic [CW-1:0] out_channel;
  logic [63:0] out_addr;
  tp_completion_t out_entry;
  logic [CHANNELS-1:0][30:0] holds;
  logic [NC-1:0] refused;

  tp_ring #(
      .H2C(H2C),
      .C2H(C2H),
      .FILL(FILL),
      .HOLDS($clog2((LANDING_BYTES > SENDING_BYTES ? LANDING_BYTES : SENDING_BYTES) + 64 * KEEP))
  ) i_ring (
      .in_hand(d_valid & plan_known),
      .planned(plan_none),
      .left(left_more[31:8]),
      .idle(front_idle),
      .alarm(alarm | paired_alarm),
      .priv_read_data(ring_read_data),
      .*
  );

  // ------------------------------------------------------------------------------------------------ fronts
  logic [CLIENTS-1:0] want, grant;
  logic [NH-1:0] in_line;
  logic [RIW-1:0] read_client;
  logic [CLIENTS-1:0][CONTEXT-1:0] want_context;

  logic list_valid, list_last, list_failed;
  logic [CW-1:0] list_channel, fetch_channel;
  logic [127:0] list_entry;
  logic [7:0] list_status;
  logic [CHANNELS-1:0] row_want, row_grant, row_there, row_valid, see_prefix, see_ask, see_none, see_more, rewind, d_asks;
  logic [CHANNELS-1:0][QW+1:0] next_at, row_want_at;
  logic [11:2] turned_at;
  logic [DATA_WIDTH/32-1:0][31:0] turned_data;
  logic [DATA_WIDTH/32-1:0][3:0] turned_strb;
  logic [128:0] row;
  logic row_malformed, row_prefix, row_list, row_inline, row_empty;
  logic [CHANNELS-1:0] list_start, list_stop, list_finish, list_over, list_quiet, hungry, piece_next, piece_valid;
  logic [CHANNELS-1:0][7:0] list_end;
  logic [63:0] piece_addr;
  logic [31:0] piece_more;
  logic piece_empty, piece_any;
  logic [63:0] fetch_addr;
  logic [6:0] fetch_bytes;
  logic list_hold;

  tp_turn #(
      .DATA_WIDTH(DATA_WIDTH)
  ) i_turn (
      .clk,
      .offset(wr_offset),
      .data(wr_data),
      .strb(wr_strb),
      .at(turned_at),
      .out_data(turned_data),
      .out_strb(turned_strb)
  );
  tp_store #(
      .DATA_WIDTH(DATA_WIDTH),
      .CHANNELS(CHANNELS),
      .ROWS(2 * QUEUE_DEPTH),
      .INLINE_SLOTS(INLINE_SLOTS),
      .LISTS(!PEERS_ONLY),
      .BLOCK_RAM(!PEERS_ONLY)
  ) i_store (
      .wr_batch(batch_valid),
      .put(words_valid),
      .put_torn(push_torn),
      .hold(list_hold || piece_any),  // one thing at a time for tp_plan
      .want(row_want),
      .want_at(row_want_at),
      .grant(row_grant),
      .*
  );
  tp_lists #(
      .CHANNELS(CHANNELS),
      .AHEAD(CHANNELS'(C2H_AHEAD) << H2C)
  ) i_lists (
      .start(list_start),
      .start_addr(row[63:0]),
      .stop(list_stop),
      .finish(list_finish),
      .fetch_valid(want[H2C]),
      .fetch_grant(grant[H2C]),
      .entry_valid(list_valid),
      .entry_channel(list_channel),
      .entry(list_entry),
      .entry_last(list_last),
      .entry_failed(list_failed),
      .entry_status(list_status),
      .hold(list_hold),
      .over(list_over),
      .status(list_end),
      .quiet(list_quiet),
      .*
  );
  assign want_context[H2C] = {1'b1, fetch_channel, SW'(0), LW'(0)};

  for (genvar c = PEERS_ONLY ? H2C : 0; c < CHANNELS; c++) begin : g_front
    tp_front #(
        .QUEUE_DEPTH(QUEUE_DEPTH),
        .H2C(c < H2C),
        .AHEAD(c >= H2C && C2H_AHEAD[(c < H2C ? 0 : c - H2C)])
    ) i_front (
        .clk,
        .rst,
        .push_valid(push_valid && push_channel == CW'(c)),
        .push_count,
        .next_at(next_at[c]),
        .restart(flush[c]),
        .cancel(cancel_valid && cancel_channel == CW'(c)),
        .enabled(enabled[c]),
        .resetting(resetting[c]),
        .barred,
        .barred_status,
        .flush(resetting[c]),
        .completed(completed[c]),
        .error(error[c]),
        .error_pulse(alarm[c]),
        .overflows(overflows[c]),
        .idle(front_idle[c]),
        .cancelling(cancelling[c]),
        .want(row_want[c]),
        .want_at(row_want_at[c]),
        .grant(row_grant[c]),
        .row_valid(row_valid[c]),
        .row,
        .row_malformed,
        .row_prefix,
        .row_list,
        .row_inline,
        .row_empty,
        .list_start(list_start[c]),
        .list_stop(list_stop[c]),
        .list_finish(list_finish[c]),
        .hungry(hungry[c]),
        .piece_valid(piece_valid[c]),
        .piece_empty,
        .list_over(list_over[c]),
        .list_status(list_end[c]),
        .list_quiet(list_quiet[c]),
        .cut_row(cut_row[c]),
        .cut_piece(cut_piece[c]),
        .cut_want(cut_want[c]),
        .cut_grant(cut_grant[c]),
        .plan_valid(plan_valid[c]),
        .plan_all,
        .plan_last,
        .plan_at(plan_at[c]),
        .plan_known(plan_known[c]),
        .plan_none(plan_none[c]),
        .d_valid(d_valid[c]),
        .d_cookie(d_cookie[c]),
        .d_end(d_end[c]),
        .d_inline(d_inline[c]),
        .d_empty(d_empty[c]),
        .d_over(d_over[c]),
        .d_broken(d_broken[c]),
        .d_status(d_status[c]),
        .d_prefix(d_prefix[c]),
        .d_length(d_length[c]),
        .d_offset(d_offset[c]),
        .d_user(d_user[c]),
        .p_valid(f_valid[c]),
        .p_last(f_last[c]),
        .p_at(f_at[c]),
        .take(take[c]),
        .abandon(abandon[c]),
        .finish(finish[c]),
        .stopping(stopping[c]),
        .see_prefix(see_prefix[c]),
        .see_ask(see_ask[c]),
        .see_none(see_none[c]),
        .d_asks(d_asks[c]),
        .see_more(see_more[c]),
        .rewind(rewind[c])
    );
  end

  if (H2C != 0) begin : g_not_asked
    assign {see_more[NH-1:0], rewind[NH-1:0]} = '0;
  end

  // Whose plan is looked at. A build without one direction looks at any.
  logic [CW-1:0] asking, sending;
  assign asking = 32'(read_client) < H2C ? CW'(read_client) : '0;
  assign sending = C2H == 0 ? '0 : CW'(H2C + 32'(command_channel));
  tp_plan #(
      .H2C(H2C),
      .C2H(C2H),
      .READ_BYTES(LANDING_BLOCK),
      .SENDING_BYTES(NC == 1 ? SENDING_BYTES : 2 * SENDING_HOLD)
  ) i_plan (
      .max_read(cfg.max_read),
      .max_payload(cfg.max_payload),
      .row_cut(cut_row),
      .row_addr(row[63:0]),
      .row_more(row[95:64]),
      .piece_cut(cut_piece),
      .want(cut_want),
      .grant(cut_grant),
      .read_channel(asking),
      .read_at(f_at[asking]),
      .write_channel(sending),
      .write_at(f_at[sending]),
      .left_channel(scan),
      .*
  );

  // ------------------------------------------------------------------------------------------------ reads
  logic tag_take, look_out, look_lap, quiet, free_valid, free_late, give_up_valid;
  logic hold, overdue_valid, overdue_ready, overdue_link, overdue_reset;
  logic [TW-1:0] tag, look_tag, free_tag, overdue_tag;
  logic [TW:0] quarantine_count;
  logic [CONTEXT-1:0] note_context;
  logic [12:0] note_bytes;
  logic [6:0] note_low;
  tp_reads #(
      .CLIENTS(CLIENTS),
      .TAGS(TAGS),
      .CONTEXT(CONTEXT),
      .QOS(QOS),
      .SHARE(SHARE),
      .CORE_CLOCK_KHZ(CORE_CLOCK_KHZ)
  ) i_reads (
      .abandon(end_reads),
      .count(quarantine_count),
      .want(want & ~CLIENTS'(held_back) & {CLIENTS{!PEERS_ONLY}}),
      .context_in(want_context),
      .client(read_client),
      .addr(read_client == RIW'(H2C) ? fetch_addr : read_addr),
      .more(read_client == RIW'(H2C) ? 12'(fetch_bytes) - 12'd1 : read_more),
      .tc(tc[read_client==RIW'(H2C)?fetch_channel : asking]),
      .even(h2c_even),
      .share(h2c_share),
      .waiting(in_line & ~held_back),
      .charge(read_charge),
      .*
  );
  assign quarantined = PEERS_ONLY ? '0 : 16'(quarantine_count);

  // ------------------------------------------------------------------------------------------------ H2C
  localparam int HW = NH > 1 ? $clog2(NH) : 1;
  typedef struct packed {
    logic [KW-1:0] from;
    logic          full;
    logic          last;
    logic [KW:0]   bytes;
    logic          error;
    logic [1:0]    attributes;
  } meta_t;

  logic done_valid;
  logic [CW-1:0] done_channel;
  logic [SW-1:0] done_slot;
  logic [7:0] done_status;
  logic [NH-1:0] copy_want, copied, next_valid, next_taken, room, spend;
  logic [NH-1:0][LW-1:0] copy_places;
  logic [NH-1:0] block_want, block_sparing, block_grant;
  logic [LBW-1:0] block;
  logic [NH-1:0][WW-1:0] copy_words;
  logic [NH-1:0][LW+$clog2(LANDING_BLOCK)+11:0] next;  // slots
  logic inject_valid, inject_there, inject_ready, land_valid, put_valid;
  assign inject_valid = inject_there && H2C != 0 && !PEERS_ONLY;
  logic [HW-1:0] inject_channel, put_channel;
  logic [63:0] inject_word;
  logic [RW-1:0] land_row;
  meta_t put_meta;
  logic [DATA_WIDTH-1:0] land_data, put_data;

  tp_inline #(
      .DATA_WIDTH(DATA_WIDTH),
      .CHANNELS(NH),
      .SLOTS(INLINE_SLOTS)
  ) i_inline (
      .wr_valid(inline_valid && 32'(wr_channel) < H2C),
      .wr_channel(HW'(wr_channel)),
      .want(copy_want),
      .word(copy_words),
      .out_valid(inject_there),
      .out_ready(inject_ready),
      .out_channel(inject_channel),
      .out_data(inject_word),
      .*
  );
  tp_landing #(
      .DATA_WIDTH(DATA_WIDTH),
      .CHANNELS(CHANNELS),
      .TAGS(TAGS),
      .LANDING_BYTES(LANDING_BYTES),
      .SLOTS(SLOTS)
  ) i_landing (
      .rx_valid(rx_completion_valid && !PEERS_ONLY),
      .overdue_valid(overdue_valid && !PEERS_ONLY),
      .rx_hdr(rx_completion_hdr),
      .rx_data(rx_completion_data),
      .rx_last(rx_completion_last),
      .rx_bad(rx_completion_bad),
      .note_valid(tag_take),
      .note_tag(tag),
      .inject_place(copy_places[inject_channel]),
      .inject_data(inject_word),
      .write_valid(land_valid),
      .write_row(land_row),
      .write_data(land_data),
      .entry_valid(list_valid),
      .entry_channel(list_channel),
      .entry(list_entry),
      .entry_last(list_last),
      .entry_failed(list_failed),
      .entry_status(list_status),
      .*
  );
  tp_landing_room #(
      .DATA_WIDTH(DATA_WIDTH),
      .CHANNELS(NH),
      .BLOCKS(BLOCKS),
      .BLOCK_BYTES(LANDING_BLOCK),
      .SHARE(LANDING_SHARE)
  ) i_room (
      .flush(H2C == 0 ? '0 : NH'(flush)),
      .write_valid(land_valid),
      .write_row(land_row),
      .write_data(land_data),
      .done_channel(HW'(done_channel)),
      .*
  );

  for (genvar c = 0; c < (PEERS_ONLY ? 0 : H2C); c++) begin : g_h2c
    logic [SW-1:0] slot;
    logic [LW-1:0] place;
    logic [8:0] word;  // in as many slots as a page may hold
    tp_completion_t entry;
    logic landed_valid, landed_ready, landed_ends, settled, told;
    tp_descriptor_t head;
    logic length_put, other_put;
    logic known, own;  // the length that came is not 0; the descriptor's is the message's
    assign copy_words[c] = word[WW-1:0];
    // A kind with verdicts is told the length of a message that is one descriptor.
    assign head = row[127:0];
    assign length_put = row_valid[c] && row_prefix && head.control.kind == TP_KIND_MESSAGE_LENGTH;
    assign other_put = row_valid[c] && row_prefix && head.control.kind == TP_KIND_ATTRIBUTES;
    always_ff @(posedge clk) if (length_put) known <= head.address != '0;
    assign own = H2C_VERDICTS[c] && row_valid[c] && !row_prefix && head.control.end_ && !(d_prefix[c][1] && known);
    tp_h2c #(
        .DATA_WIDTH(DATA_WIDTH),
        .BLOCKS(BLOCKS),
        .BLOCK_BYTES(LANDING_BLOCK),
        .QUEUE_DEPTH(QUEUE_DEPTH),
        .SLOTS(SLOTS)
    ) i_h2c (
        .clk,
        .rst,
        .flush(flush[c]),
        .flushed(emptied[c]),
        .idle(settled),
        .holds(holds[c]),
        .d_valid(d_valid[c]),
        .d_cookie(d_cookie[c]),
        .d_end(d_end[c]),
        .d_inline(d_inline[c]),
        .d_empty(d_empty[c]),
        .d_over(d_over[c]),
        .d_broken(d_broken[c]),
        .d_status(d_status[c]),
        .d_attributes(d_prefix[c] | {H2C_VERDICTS[c] && d_end[c], 1'b0}),
        .length_put(length_put || own),
        .length_in(own ? 64'(32'(head.length + 1'b1)) : head.address),
        .other_put,
        .other_in({head.address, head.length}),
        .p_valid(f_valid[c]),
        .p_last(f_last[c]),
        .p_at(f_at[c]),
        .plan_valid(plan_valid[c]),
        .plan_more,
        .plan_at(plan_at[c]),
        .take(take[c]),
        .abandon(abandon[c]),
        .finish(finish[c]),
        .stopping(stopping[c]),
        .row_valid(row_valid[c]),
        .row_word(row[11:3]),
        .row_more(row[70:64]),
        .block_want(block_want[c]),
        .block_sparing(block_sparing[c]),
        .block_grant(block_grant[c]),
        .block,
        .want(want[c]),
        .grant(grant[c]),
        .grant_bytes(note_bytes),
        .grant_skew(note_low[1:0]),
        .in_line(in_line[c]),
        .want_slot(slot),
        .want_place(place),
        .copy_want(copy_want[c]),
        .copied(copied[c]),
        .copy_word(word),
        .copy_place(copy_places[c]),
        .done_valid(done_valid && done_channel == CW'(c)),
        .done_slot,
        .done_status,
        .entry_valid(landed_valid),
        .entry_ready(landed_ready),
        .entry,
        .entry_ends(landed_ends),
        .next_valid(next_valid[c]),
        .next(next[c]),
        .next_taken(next_taken[c]),
        .room(room[c]),
        .spend(spend[c]),
        .put_valid(put_valid && put_channel == HW'(c)),
        .put_from(put_meta.from),
        .put_data,
        .put_full(put_meta.full),
        .put_meta({put_meta.last, put_meta.bytes, put_meta.error, put_meta.attributes}),
        .tvalid(h2c_tvalid[c]),
        .tready(h2c_tready[c]),
        .tdata(h2c_tdata[c]),
        .tkeep(h2c_tkeep[c]),
        .tlast(h2c_tlast[c]),
        .terror(h2c_error[c]),
        .tlength(h2c_length[c]),
        .toffset(h2c_offset[c]),
        .tuser(h2c_user[c])
    );
    tp_verdicts #(
        .VERDICTS(H2C_VERDICTS[c]),
        .QUEUE_DEPTH(QUEUE_DEPTH)
    ) i_verdicts (
        .clk,
        .rst,
        .flush(flush[c]),
        .cancelling(cancelling[c]),
        .resetting(resetting[c]),
        .finish(finish[c]),
        .in_valid(landed_valid),
        .in_ready(landed_ready),
        .in_bytes(entry.bytes),
        .in_cookie(entry.cookie),
        .in_status(entry.status),
        .in_owes(landed_ends),
        .end_valid(h2c_end_valid[c]),
        .end_ready(h2c_end_ready[c]),
        .end_status(h2c_end_status[c]),
        .out_valid(entry_valid[c]),
        .out_ready(entry_ready[c]),
        .out_bytes(entry_bytes[c]),
        .out_cookie(entry_cookie[c]),
        .out_status(entry_status[c]),
        .empty(told)
    );
    assign engine_idle[c] = settled && told;
    assign want_context[c] = {1'b0, CW'(c), slot, place};
    assign completed[c] = entry_valid[c] && entry_ready[c];
    assign h2c_reset[c] = flush[c];
    assign edge_busy[c] = h2c_reset_busy[c];
  end
  for (genvar c = 0; c < (PEERS_ONLY ? H2C : 0); c++) begin : g_inbox_alone
    assign {engine_idle[c], front_idle[c], emptied[c]} = '1;
    assign {want[c], want_context[c], next_at[c], row_want[c], row_want_at[c], error[c], alarm[c], overflows[c], cancelling[c],
      list_start[c], list_stop[c], list_finish[c], hungry[c], cut_row[c], cut_piece[c], cut_want[c], d_valid[c], d_cookie[c],
      d_end[c], d_inline[c], d_empty[c], d_over[c], d_broken[c], d_status[c], d_prefix[c], d_length[c], d_offset[c], d_user[c], f_valid[c],
      f_last[c], f_at[c], take[c], abandon[c], finish[c], stopping[c], entry_valid[c], entry_bytes[c], entry_cookie[c],
      entry_status[c], completed[c], holds[c], plan_at[c], plan_known[c], plan_none[c], see_prefix[c], see_ask[c], see_none[c],
      d_asks[c]} = '0;
    assign edge_busy[c] = h2c_reset_busy[c];
  end
  if (H2C == 0 || PEERS_ONLY) begin : g_no_h2c
    assign h2c_reset = H2C == 0 ? '0 : NH'(flush);
    assign {in_line, copy_want, copy_places, block_want, block_sparing, copy_words, next_valid, next, room,
      h2c_tvalid, h2c_tdata, h2c_tkeep, h2c_tlast, h2c_error, h2c_length, h2c_offset, h2c_user, h2c_end_ready} = '0;
  end

  // ------------------------------------------------------------------------------------------------ C2H
  logic [NC-1:0] ask, turn, beat_valid, get_want, get_sparing, get_grant, give_valid, give_taken;
  logic [PW-1:0] turn_channel;
  logic [NC-1:0][BW-1:LB] get_at, give_at;
  logic [NC-1:0] command_valid, command_ready, command_taken, command_held, begun, reading;
  assign still_read = C2H == 0 ? '0 : CHANNELS'(reading) << H2C;
  logic [NC-1:0][BW-1:KW] beat_at;
  logic [NC-1:0][DATA_WIDTH-1:0] beat_data;
  logic [NC-1:0][11:0] command_last;
  logic [NC-1:0][BW-1:0] command_from;

  if (C2H != 0) begin : g_c2h
    tp_senders #(
        .DATA_WIDTH(DATA_WIDTH),
        .CHANNELS(C2H),
        .SENDING_BYTES(SENDING_BYTES),
        .BLOCK_BYTES(SENDING_BLOCK),
        .HOLD(SENDING_HOLD),
        .FILL(FILL),
        .ASKED(C2H_ASKED),
        .AHEAD(C2H_AHEAD)
    ) i_senders (
        .announce(announce[CHANNELS-1:H2C]),
        .paired(paired[CHANNELS-1:H2C]),
        .enabled(enabled[CHANNELS-1:H2C]),
        .flush(flush[CHANNELS-1:H2C]),
        .emptied(emptied[CHANNELS-1:H2C]),
        .idle(engine_idle[CHANNELS-1:H2C]),
        .holds(holds[CHANNELS-1:H2C]),
        .tvalid(c2h_tvalid),
        .tready(c2h_tready),
        .tdata(c2h_tdata),
        .tkeep(c2h_tkeep),
        .tlast(c2h_tlast),
        .tlength(c2h_length),
        .toffset(c2h_offset),
        .tuser(c2h_user),
        .tstatus(c2h_status),
        .ask_valid(c2h_ask_valid),
        .ask_ready(c2h_ask_ready),
        .ask_cancel(c2h_ask_cancel),
        .ask_length(c2h_ask_length),
        .ask_offset(c2h_ask_offset),
        .ask_user(c2h_ask_user),
        .see_prefix(see_prefix[CHANNELS-1:H2C]),
        .see_ask(see_ask[CHANNELS-1:H2C]),
        .see_none(see_none[CHANNELS-1:H2C]),
        .see_more(see_more[CHANNELS-1:H2C]),
        .rewind(rewind[CHANNELS-1:H2C]),
        .d_asks(d_asks[CHANNELS-1:H2C]),
        .row_addr(row[63:0]),
        .row_more(row[95:64]),
        .d_valid(d_valid[CHANNELS-1:H2C]),
        .d_cookie(d_cookie[CHANNELS-1:H2C]),
        .d_over(d_over[CHANNELS-1:H2C]),
        .d_status(d_status[CHANNELS-1:H2C]),
        .p_valid(f_valid[CHANNELS-1:H2C]),
        .p_at(f_at[CHANNELS-1:H2C]),
        .plan_valid(plan_valid[CHANNELS-1:H2C]),
        .plan_at(plan_at[CHANNELS-1:H2C]),
        .take(take[CHANNELS-1:H2C]),
        .abandon(abandon[CHANNELS-1:H2C]),
        .finish(finish[CHANNELS-1:H2C]),
        .stopping(stopping[CHANNELS-1:H2C]),
        .entry_valid(entry_valid[CHANNELS-1:H2C]),
        .entry_ready(entry_ready[CHANNELS-1:H2C]),
        .telling(telling[CHANNELS-1:H2C]),
        .entry_bytes(entry_bytes[CHANNELS-1:H2C]),
        .entry_cookie(entry_cookie[CHANNELS-1:H2C]),
        .entry_status(entry_status[CHANNELS-1:H2C]),
        .head_channel(PW'(head_channel)),
        .*
    );
    assign completed[CHANNELS-1:H2C] = finish[CHANNELS-1:H2C];
    assign c2h_reset = flush[CHANNELS-1:H2C];
    assign edge_busy[CHANNELS-1:H2C] = c2h_reset_busy;
    // One that is stopping is not held back: its command, which stands, is all that it still sends.
    assign command_held = over[CHANNELS-1:H2C] & ~stopping[CHANNELS-1:H2C];
    always_comb for (int i = 0; i < C2H; i++) command_taken[i] = command_valid[i] && command_ready[i] && 32'(command_channel) == i;
  end else begin : g_no_c2h
    assign {ask, beat_valid, beat_at, beat_data, get_want, get_sparing, get_at, give_valid, give_at, command_valid, command_last,
      command_from, entry_start, head_length, head_offset, head_user, command_held, command_taken, c2h_tready, c2h_reset, refused,
      c2h_ask_valid, c2h_ask_cancel, c2h_ask_length, c2h_ask_offset, c2h_ask_user} = '0;
  end

  logic advance, read_data;
  logic [PW-1:0] read_channel;
  logic [BW-1:0] read_byte;
  logic [DATA_WIDTH-1:0] read_other, data;
  tp_sending_room #(
      .DATA_WIDTH(DATA_WIDTH),
      .CHANNELS(NC),
      .BYTES(SENDING_BYTES),
      .BLOCK_BYTES(SENDING_BLOCK),
      .SHARE(SENDING_HOLD / SENDING_BLOCK + 1),
      .ALIGNED(PEERS_ONLY)
  ) i_sending (
      .rd(read_data),
      .rd_channel(read_channel),
      .rd_byte(read_byte),
      .other(read_other),
      .out_data(data),
      .*
  );
  tp_writer #(
      .DATA_WIDTH(DATA_WIDTH),
      .H2C(H2C),
      .CHANNELS(NC),
      .SENDING_BYTES(SENDING_BYTES),
      .QOS(QOS),
      .SHARE(SHARE)
  ) i_writer (
      .relaxed(cfg.relaxed && paired == '0),
      .bus_master(may_begin),
      .transmit_room(cfg.transmit_room),
      .max_payload(cfg.max_payload),
      .entry_valid(out_valid),
      .entry_ready(out_ready),
      .entry_owner($clog2(H2C + NC + 1)'(out_channel)),
      .entry_addr(out_addr),
      .entry(out_entry),
      .entry_read(out_read),
      .entry_leaving(out_leaving),
      .message_valid(msix_posted_valid),
      .message_ready(msix_posted_ready),
      .message_addr(msix_posted_hdr.addr),
      .message(msix_posted_data[31:0]),
      .message_leaving(msix_leaving),
      .command_valid(command_valid & ~command_held),
      .command_addr(write_addr),
      .tc({3'b0, (3 * (H2C + NC))'(tc)}),
      .even(c2h_even),
      .share(c2h_share),
      .charge(write_charge),
      .posted_valid(tx_posted_valid),
      .posted_ready(tx_posted_ready),
      .posted_hdr(tx_posted_hdr),
      .posted_data(tx_posted_data),
      .posted_last(tx_posted_last),
      .*
  );

  // ------------------------------------------------------------------------------------------------ what quality of service sees
  if (QOS) begin : g_qos
    tp_qos #(
        .H2C(H2C),
        .C2H(C2H),
        .READ_BYTES(LANDING_BLOCK),
        .SHARE(SHARE)
    ) i_qos (
        .clear(cfg.function_reset),
        .max_read(cfg.max_read),
        .max_payload(cfg.max_payload),
        .write_valid(priv_write_valid),
        .write_channel(priv_write_channel),
        .write_offset(priv_write_offset),
        .write_data(priv_write_data),
        .write_strb(priv_write_strb),
        .read_valid(priv_read_valid),
        .read_channel(priv_read_channel),
        .read_offset(priv_read_offset),
        .read_data(qos_read_data),
        .reads(NH'(grant) & {NH{H2C != 0}}),
        .read_bytes(note_bytes),
        .writes(command_taken),
        .write_bytes(13'(command_last[command_channel]) + 13'd1),
        .*
    );
  end else begin : g_no_qos
    assign {over, tc, h2c_even, c2h_even, h2c_share, c2h_share, read_charge, write_charge, qos_read_data} = '0;
  end
endmodule
