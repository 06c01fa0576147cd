// SPDX-License-Identifier: Apache-2.0
// The data mover: descriptors in, memory reads and writes out, streams to and from the user core, completions to the host.
//
//   push -> tp_front (a channel's queue and pieces) -> tp_h2c -> tp_read_issue -> link -> tp_landing -> tp_h2c -> user core
//                                                   -> tp_c2h <- user core;  tp_c2h -> tp_c2h_writer -> tp_posted_merge -> link
//   ends of descriptors -> tp_ring -> tp_posted_merge;  fires -> MSI-X (control) -> tp_posted_merge
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
    parameter int LANDING_BYTES = 8192,
    parameter int SENDING_BYTES = 8192,
    parameter int QUEUE_DEPTH = 16,
    parameter int INLINE_SLOTS = 4,
    parameter int CORE_CLOCK_KHZ = 250000,
    localparam int CHANNELS = H2C + C2H,
    localparam int CW = CHANNELS > 1 ? $clog2(CHANNELS) : 1,
    localparam int KEEP = DATA_WIDTH / 8,
    localparam int NH = H2C == 0 ? 1 : H2C,
    localparam int NC = C2H == 0 ? 1 : C2H
) (
    input logic clk,
    input logic rst,
    input tp_config_t cfg,

    // from and to control: see gateware/control/README.md
    input  logic          push_valid,
    input  logic [CW-1:0] push_channel,
    input  logic          push_torn,
    input  logic [127:0]  push_descriptor,
    input  logic          arm_valid,
    input  logic [CW-1:0] arm_channel,
    input  logic [31:0]   arm_index,
    input  logic          lead_valid,
    input  logic [CW-1:0] lead_channel,
    input  logic [31:0]   lead_bytes,
    input  logic          cancel_valid,
    input  logic [CW-1:0] cancel_channel,
    input  logic          inline_valid,
    input  logic [CW-1:0] inline_channel,
    input  logic [11:3]   inline_offset,
    input  logic [63:0]   inline_data,
    input  logic [7:0]    inline_strb,
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
    input  logic          card_reset,
    output logic          card_reset_done,
    output logic          event_valid,
    output logic [3:0]    event_code,
    input  logic [7:0]    quarantine,
    output logic [15:0]   quarantined,

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
    input  logic [NC-1:0]                 c2h_tvalid,
    output logic [NC-1:0]                 c2h_tready,
    input  logic [NC-1:0][DATA_WIDTH-1:0] c2h_tdata,
    input  logic [NC-1:0][      KEEP-1:0] c2h_tkeep,
    input  logic [NC-1:0]                 c2h_tlast,
    input  logic [NC-1:0][          47:0] c2h_length,
    input  logic [NC-1:0][          31:0] c2h_offset,
    input  logic [NC-1:0][          31:0] c2h_user,
    output logic [NC-1:0]                 c2h_reset,
    input  logic [NC-1:0]                 c2h_reset_busy
);
  localparam int SLOTS = 2 * QUEUE_DEPTH < 8 ? 8 : 2 * QUEUE_DEPTH;  // order slots of an H2C channel
  localparam int SW = $clog2(SLOTS);
  localparam int DW = $clog2(LANDING_BYTES) - 2;
  localparam int KW = $clog2(KEEP);
  localparam int BW = $clog2(SENDING_BYTES);
  localparam int TW = $clog2(TAGS);
  localparam int CLIENTS = H2C + CHANNELS;  // of reads: data of the H2C channels, then lists of all
  localparam int CONTEXT = 1 + CW + SW + DW;
  localparam int SOURCES = H2C + 1;  // of entries

  if (H2C < 0 || C2H < 0 || CHANNELS < 1 || CHANNELS > TP_CHANNELS_MAX)
    $error("%m: H2C %0d and C2H %0d: use 1 to %0d channels in all", H2C, C2H, TP_CHANNELS_MAX);

  // ------------------------------------------------------------------------------------------------ may requests leave the card?
  // From registers: a packet that is shown depends on no input of the same cycle.
  logic mastering;
  logic [7:0] barred_status;
  always_ff @(posedge clk) begin
    mastering <= cfg.bus_master && cfg.active && cfg.link_up && !rst;
    barred_status <= cfg.link_up ? TP_STATUS_BUS_MASTERING_OFF : TP_STATUS_LINK_DOWN;
  end

  // ------------------------------------------------------------------------------------------------ reset of channels
  logic [CHANNELS-1:0] reset_request, resetting, flush, flushed, front_idle, engine_idle, telling, edge_busy;
  logic [CHANNELS-1:0][2:0] flush_count;
  logic card_reset_was, card_resetting;
  always_ff @(posedge clk) begin
    card_reset_was <= card_reset;
    card_reset_done <= 1'b0;
    for (int c = 0; c < CHANNELS; c++) begin
      // The flush outlasts what is still in the pipeline of a RAM; the reset also what is still in the crossing to the user core.
      if (flush[c]) begin
        flush_count[c] <= flush_count[c] + 1'b1;
        if (&flush_count[c]) begin
          flush[c] <= 1'b0;
          flushed[c] <= 1'b1;
        end
      end else if (flushed[c]) begin
        if (!edge_busy[c]) begin
          flushed[c] <= 1'b0;
          resetting[c] <= 1'b0;
        end
      end else if (resetting[c] && front_idle[c] && engine_idle[c] && !telling[c]) begin
        flush[c] <= 1'b1;
      end
      if (reset_request[c] || (card_reset && !card_reset_was)) resetting[c] <= 1'b1;
    end
    if (card_reset && !card_reset_was) card_resetting <= 1'b1;
    else if (card_resetting && resetting == '0) begin
      card_resetting <= 1'b0;
      card_reset_done <= 1'b1;
    end
    if (rst) begin
      resetting <= '0;
      flush <= '0;
      flushed <= '0;
      flush_count <= '0;
      card_resetting <= 1'b0;
      card_reset_was <= 1'b0;
    end
  end

  // ------------------------------------------------------------------------------------------------ rings
  logic [CHANNELS-1:0] d_valid, d_end, d_inline, d_over, d_complete, d_broken, f_valid, take, abandon, finish, stopping;
  logic [CHANNELS-1:0][15:0] d_cookie;
  logic [CHANNELS-1:0][7:0] d_status, stop_status;
  logic [CHANNELS-1:0][31:0] d_bytes, d_user, f_bytes;
  logic [CHANNELS-1:0][63:0] d_length, d_offset, f_addr;
  logic [CHANNELS-1:0][12:0] take_bytes;

  logic [CHANNELS-1:0] enabled, announce, alarm, error;
  logic [CHANNELS-1:0][15:0] overflows;
  logic [SOURCES-1:0] entry_valid, entry_ready;
  logic [SOURCES-1:0][CW-1:0] entry_channel;
  tp_completion_t [SOURCES-1:0] entry;
  logic told_valid, told_start;
  logic [CW-1:0] told_channel;
  logic [2:0] p_valid, p_ready, p_last;  // posted: ring, MSI-X, writer. MSI-X before the writer, which may have data for ever
  tp_write_hdr_t [2:0] p_hdr;
  logic [2:0][DATA_WIDTH-1:0] p_data;

  tp_ring #(
      .DATA_WIDTH(DATA_WIDTH),
      .CHANNELS(CHANNELS),
      .SOURCES(SOURCES)
  ) i_ring (
      .clk,
      .rst,
      .entry_valid,
      .entry_ready,
      .entry_channel,
      .entry,
      .told_valid,
      .told_channel,
      .told_start,
      .telling,
      .mastering,
      .arm_valid,
      .arm_channel,
      .arm_index,
      .lead_valid,
      .lead_channel,
      .lead_bytes,
      .alarm,
      .in_hand(d_valid),
      .bytes_left(d_bytes),
      .priv_write_valid,
      .priv_write_channel,
      .priv_write_offset,
      .priv_write_data,
      .priv_write_strb,
      .priv_read_valid,
      .priv_read_channel,
      .priv_read_offset,
      .priv_read_ack,
      .priv_read_data,
      .enabled,
      .announce,
      .reset_request,
      .resetting,
      .error,
      .overflows,
      .fire_valid,
      .fire_ready,
      .fire_vector,
      .posted_valid(p_valid[0]),
      .posted_ready(p_ready[0]),
      .posted_hdr(p_hdr[0]),
      .posted_data(p_data[0]),
      .posted_last(p_last[0])
  );

  assign p_valid[1] = msix_posted_valid;
  assign p_hdr[1] = msix_posted_hdr;
  assign p_data[1] = msix_posted_data;
  assign p_last[1] = msix_posted_last;
  assign msix_posted_ready = p_ready[1];
  tp_posted_merge #(
      .SOURCES(3),
      .DATA_WIDTH(DATA_WIDTH)
  ) i_posted (
      .clk,
      .rst,
      .bus_master(mastering),
      .discard(card_reset),
      .in_valid(p_valid),
      .in_ready(p_ready),
      .in_hdr(p_hdr),
      .in_data(p_data),
      .in_last(p_last),
      .out_valid(tx_posted_valid),
      .out_ready(tx_posted_ready),
      .out_hdr(tx_posted_hdr),
      .out_data(tx_posted_data),
      .out_last(tx_posted_last)
  );

  // ------------------------------------------------------------------------------------------------ fronts
  logic [CLIENTS-1:0] want, grant;
  logic [CLIENTS-1:0][63:0] want_addr;
  logic [CLIENTS-1:0][12:0] want_bytes;
  logic [CLIENTS-1:0][CONTEXT-1:0] want_context;

  logic list_valid, list_last, list_failed;
  logic [CW-1:0] list_channel;
  logic [127:0] list_entry;
  logic [7:0] list_status;

  for (genvar c = 0; c < CHANNELS; c++) begin : g_front
    logic [6:0] bytes;
    tp_front #(
        .QUEUE_DEPTH(QUEUE_DEPTH),
        .INLINE_SLOTS(c < H2C ? INLINE_SLOTS : 0)
    ) i_front (
        .clk,
        .rst,
        .push_valid(push_valid && push_channel == CW'(c)),
        .push_torn,
        .push_descriptor,
        .cancel(cancel_valid && cancel_channel == CW'(c)),
        .enabled(enabled[c]),
        .resetting(resetting[c]),
        .barred(!mastering),
        .barred_status,
        .flush(resetting[c]),
        .completed(told_valid && !told_start && told_channel == CW'(c)),
        .error(error[c]),
        .error_pulse(alarm[c]),
        .overflows(overflows[c]),
        .idle(front_idle[c]),
        .fetch_valid(want[H2C+c]),
        .fetch_grant(grant[H2C+c]),
        .fetch_addr(want_addr[H2C+c]),
        .fetch_bytes(bytes),
        .entry_valid(list_valid && !list_failed && list_channel == CW'(c)),
        .entry(list_entry),
        .entry_last(list_last),
        .fail_valid(list_valid && list_failed && list_channel == CW'(c)),
        .fail_status(list_status),
        .d_valid(d_valid[c]),
        .d_cookie(d_cookie[c]),
        .d_end(d_end[c]),
        .d_inline(d_inline[c]),
        .d_over(d_over[c]),
        .d_complete(d_complete[c]),
        .d_broken(d_broken[c]),
        .d_status(d_status[c]),
        .d_bytes(d_bytes[c]),
        .d_length(d_length[c]),
        .d_offset(d_offset[c]),
        .d_user(d_user[c]),
        .p_valid(f_valid[c]),
        .p_addr(f_addr[c]),
        .p_bytes(f_bytes[c]),
        .take(take[c]),
        .take_bytes(take_bytes[c]),
        .abandon(abandon[c]),
        .finish(finish[c]),
        .stopping(stopping[c]),
        .stop_status(stop_status[c])
    );
    assign want_bytes[H2C+c] = 13'(bytes);
    assign want_context[H2C+c] = {1'b1, CW'(c), SW'(0), DW'(0)};
  end

  // ------------------------------------------------------------------------------------------------ reads
  logic tag_valid, tag_take, free_valid, give_up_valid, hold, overdue_valid, overdue_ready, overdue_link, packet_valid;
  logic [TW-1:0] tag, free_tag, overdue_tag, packet_tag;
  logic [TAGS-1:0] busy, in_quarantine;
  logic [TW:0] quarantine_count;
  logic [CONTEXT-1:0] note_context;
  logic [12:0] note_bytes;
  logic [6:0] note_low;
  tp_tags #(
      .TAGS(TAGS),
      .CORE_CLOCK_KHZ(CORE_CLOCK_KHZ)
  ) i_tags (
      .clk,
      .rst,
      .completion_timeout(cfg.completion_timeout),
      .link_up(cfg.link_up),
      .quarantine,
      .valid(tag_valid),
      .tag,
      .take(tag_take),
      .free_valid,
      .free_tag,
      .give_up_valid,
      .give_up_tag(free_tag),
      .busy,
      .quarantined(in_quarantine),
      .count(quarantine_count),
      .shown_valid(tx_read_valid),
      .shown_tag(tx_read_hdr.tag[TW-1:0]),
      .landing_valid(packet_valid),
      .landing_tag(packet_tag),
      .overdue_valid,
      .overdue_ready,
      .overdue_tag,
      .overdue_link,
      .hold
  );
  assign quarantined = 16'(quarantine_count);
  tp_read_issue #(
      .CLIENTS(CLIENTS),
      .TAGS(TAGS),
      .CONTEXT(CONTEXT)
  ) i_issue (
      .clk,
      .rst,
      .hold(hold || !mastering),
      .relaxed(cfg.relaxed),
      .want,
      .grant,
      .addr(want_addr),
      .bytes(want_bytes),
      .context_in(want_context),
      .tag_valid,
      .tag,
      .tag_take,
      .note_context,
      .note_bytes,
      .note_low,
      .tx_read_valid,
      .tx_read_ready,
      .tx_read_hdr
  );

  // ------------------------------------------------------------------------------------------------ H2C
  localparam int REGIONS = 2 ** $clog2(NH);
  localparam int AW = $clog2(LANDING_BYTES * REGIONS);
  localparam int HW = NH > 1 ? $clog2(NH) : 1;
  typedef struct packed {
    logic [HW-1:0] channel;
    logic [KW-1:0] lane;
    logic [KW:0]   bytes;
    logic          full;
    logic          last;
    logic          error;
    logic          attributes;
  } meta_t;

  logic done_valid;
  logic [CW-1:0] done_channel;
  logic [SW-1:0] done_slot;
  logic [7:0] done_status;
  logic [NH-1:0] inject_want, inject_pick, read_want, read_pick;
  logic [NH-1:0][DW-1:0] inject_dword;
  logic [NH-1:0][1:0] inject_dwords;
  logic [NH-1:0][63:0] inject_data;
  logic [NH-1:0][DW+1:0] read_byte;
  meta_t [NH-1:0] read_meta;
  logic inject_ready, put_valid;
  logic [AW-1:2] inject_at;
  logic [1:0] inject_count;
  logic [63:0] inject_word;
  logic [AW-1:0] read_at;
  meta_t read_new, put_meta;
  logic [DATA_WIDTH-1:0] put_data;
  logic [KEEP-1:0] put_lanes;

  tp_round_robin #(
      .N(NH)
  ) i_inject (
      .clk,
      .rst,
      .request(inject_want),
      .take(inject_ready),
      .grant(inject_pick)
  );
  tp_round_robin #(
      .N(NH)
  ) i_reads (
      .clk,
      .rst,
      .request(read_want),
      .take(1'b1),
      .grant(read_pick)
  );
  always_comb begin
    inject_at = '0;
    inject_count = '0;
    inject_word = '0;
    read_at = '0;
    read_new = '0;
    for (int c = 0; c < NH; c++) begin
      if (inject_pick[c]) begin
        inject_at |= (AW - 2)'(c * LANDING_BYTES / 4) | (AW - 2)'(inject_dword[c]);
        inject_count |= inject_dwords[c];
        inject_word |= inject_data[c];
      end
      if (read_pick[c]) begin
        read_at |= AW'(c * LANDING_BYTES) | AW'(read_byte[c]);
        read_new |= read_meta[c];
      end
    end
    for (int b = 0; b < KEEP; b++)
    put_lanes[b] = (KW + 1)'(b) >= (KW + 1)'(put_meta.lane) && (KW + 1)'(b) < (KW + 1)'(put_meta.lane) + put_meta.bytes;
  end

  tp_landing #(
      .DATA_WIDTH(DATA_WIDTH),
      .H2C(H2C),
      .CHANNELS(CHANNELS),
      .TAGS(TAGS),
      .LANDING_BYTES(LANDING_BYTES),
      .SLOTS(SLOTS),
      .META($bits(meta_t))
  ) i_landing (
      .clk,
      .rst,
      .rx_valid(rx_completion_valid),
      .rx_hdr(rx_completion_hdr),
      .rx_data(rx_completion_data),
      .rx_last(rx_completion_last),
      .note_valid(tag_take),
      .note_tag(tag),
      .note_context,
      .note_bytes,
      .note_low,
      .busy,
      .quarantined(in_quarantine),
      .free_valid,
      .give_up_valid,
      .free_tag,
      .overdue_valid,
      .overdue_ready,
      .overdue_tag,
      .overdue_link,
      .packet_valid,
      .packet_tag,
      .event_valid,
      .event_code,
      .inject_valid(|inject_want),
      .inject_ready,
      .inject_dword(inject_at),
      .inject_dwords(inject_count),
      .inject_data(inject_word),
      .done_valid,
      .done_channel,
      .done_slot,
      .done_status,
      .entry_valid(list_valid),
      .entry_channel(list_channel),
      .entry(list_entry),
      .entry_last(list_last),
      .entry_failed(list_failed),
      .entry_status(list_status),
      .rd_valid(|read_want),
      .rd_byte(read_at),
      .rd_lane(read_new.lane),
      .rd_meta(read_new),
      .out_valid(put_valid),
      .out_data(put_data),
      .out_meta(put_meta)
  );

  for (genvar c = 0; c < H2C; c++) begin : g_h2c
    logic [SW-1:0] slot;
    logic [DW-1:0] dword;
    tp_h2c #(
        .DATA_WIDTH(DATA_WIDTH),
        .LANDING_BYTES(LANDING_BYTES),
        .INLINE_SLOTS(INLINE_SLOTS),
        .QUEUE_DEPTH(QUEUE_DEPTH),
        .SLOTS(SLOTS)
    ) i_h2c (
        .clk,
        .rst,
        .max_read(cfg.max_read),
        .flush(flush[c]),
        .idle(engine_idle[c]),
        .d_valid(d_valid[c]),
        .d_cookie(d_cookie[c]),
        .d_end(d_end[c]),
        .d_inline(d_inline[c]),
        .d_over(d_over[c]),
        .d_complete(d_complete[c]),
        .d_broken(d_broken[c]),
        .d_status(d_status[c]),
        .d_bytes(d_bytes[c]),
        .d_length(d_length[c]),
        .d_offset(d_offset[c]),
        .d_user(d_user[c]),
        .p_valid(f_valid[c]),
        .p_addr(f_addr[c]),
        .p_bytes(f_bytes[c]),
        .take(take[c]),
        .take_bytes(take_bytes[c]),
        .finish(finish[c]),
        .stopping(stopping[c]),
        .stop_status(stop_status[c]),
        .inline_valid(inline_valid && inline_channel == CW'(c)),
        .inline_offset,
        .inline_data,
        .inline_strb,
        .want(want[c]),
        .grant(grant[c]),
        .want_addr(want_addr[c]),
        .want_bytes(want_bytes[c]),
        .want_slot(slot),
        .want_dword(dword),
        .inject_valid(inject_want[c]),
        .inject_ready(inject_ready && inject_pick[c]),
        .inject_dword(inject_dword[c]),
        .inject_dwords(inject_dwords[c]),
        .inject_data(inject_data[c]),
        .done_valid(done_valid && done_channel == CW'(c)),
        .done_slot,
        .done_status,
        .entry_valid(entry_valid[c]),
        .entry_ready(entry_ready[c]),
        .entry(entry[c]),
        .read_want(read_want[c]),
        .read_grant(read_pick[c]),
        .read_byte(read_byte[c]),
        .read_lane(read_meta[c].lane),
        .read_bytes(read_meta[c].bytes),
        .read_full(read_meta[c].full),
        .read_last(read_meta[c].last),
        .read_error(read_meta[c].error),
        .read_attributes(read_meta[c].attributes),
        .put_valid(put_valid && put_meta.channel == HW'(c)),
        .put_lanes,
        .put_data,
        .put_full(put_meta.full),
        .put_meta({(KW + 1)'(put_meta.lane) + put_meta.bytes, put_meta.last, put_meta.error, put_meta.attributes}),
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
    assign read_meta[c].channel = HW'(c);
    assign want_context[c] = {1'b0, CW'(c), slot, dword};
    assign entry_channel[c] = CW'(c);
    assign abandon[c] = 1'b0;
    assign h2c_reset[c] = flush[c];
    assign edge_busy[c] = h2c_reset_busy[c];
  end
  if (H2C == 0) begin : g_no_h2c
    assign inject_want = '0;
    assign inject_dword = '0;
    assign inject_dwords = '0;
    assign inject_data = '0;
    assign read_want = '0;
    assign read_byte = '0;
    assign read_meta = '0;
    assign h2c_tvalid = '0;
    assign h2c_tdata = '0;
    assign h2c_tkeep = '0;
    assign h2c_tlast = '0;
    assign h2c_error = '0;
    assign h2c_length = '0;
    assign h2c_offset = '0;
    assign h2c_user = '0;
    assign h2c_reset = '0;
  end

  // ------------------------------------------------------------------------------------------------ C2H
  localparam int WC = NC > 1 ? $clog2(NC) : 1;
  logic [NC-1:0] write_want, write_grant, command_valid, command_ready, command_is_entry, reading;
  logic [NC-1:0][BW-1:KW] write_beat;
  logic [NC-1:0][DATA_WIDTH-1:0] write_data;
  tp_completion_t [NC-1:0] command_entry;
  logic [NC-1:0][63:0] command_addr;
  logic [NC-1:0][12:0] command_bytes;
  logic [NC-1:0][BW-1:0] command_from;
  logic [WC-1:0] writer_channel;

  for (genvar i = 0; i < C2H; i++) begin : g_c2h
    localparam int C = H2C + i;
    tp_c2h #(
        .DATA_WIDTH(DATA_WIDTH),
        .SENDING_BYTES(SENDING_BYTES)
    ) i_c2h (
        .clk,
        .rst,
        .max_payload(cfg.max_payload),
        .announce(announce[C] && enabled[C]),
        .flush(flush[C]),
        .idle(engine_idle[C]),
        .start_told(told_valid && told_start && told_channel == CW'(C)),
        .tvalid(c2h_tvalid[i]),
        .tready(c2h_tready[i]),
        .tdata(c2h_tdata[i]),
        .tkeep(c2h_tkeep[i]),
        .tlast(c2h_tlast[i]),
        .tlength(c2h_length[i]),
        .toffset(c2h_offset[i]),
        .tuser(c2h_user[i]),
        .write_want(write_want[i]),
        .write_grant(write_grant[i]),
        .write_beat(write_beat[i]),
        .write_data(write_data[i]),
        .d_valid(d_valid[C]),
        .d_cookie(d_cookie[C]),
        .d_over(d_over[C]),
        .d_status(d_status[C]),
        .p_valid(f_valid[C]),
        .p_addr(f_addr[C]),
        .p_bytes(f_bytes[C]),
        .take(take[C]),
        .take_bytes(take_bytes[C]),
        .abandon(abandon[C]),
        .finish(finish[C]),
        .stopping(stopping[C]),
        .command_valid(command_valid[i]),
        .command_ready(command_ready[i]),
        .command_is_entry(command_is_entry[i]),
        .command_entry(command_entry[i]),
        .command_addr(command_addr[i]),
        .command_bytes(command_bytes[i]),
        .command_from(command_from[i]),
        .reading(reading[i])
    );
    assign c2h_reset[i] = flush[C];
    assign edge_busy[C] = c2h_reset_busy[i];
  end
  if (C2H == 0) begin : g_no_c2h
    assign write_want = '0;
    assign write_beat = '0;
    assign write_data = '0;
    assign command_valid = '0;
    assign command_is_entry = '0;
    assign command_entry = '0;
    assign command_addr = '0;
    assign command_bytes = '0;
    assign command_from = '0;
    assign c2h_tready = '0;
    assign c2h_reset = '0;
  end

  tp_c2h_writer #(
      .DATA_WIDTH(DATA_WIDTH),
      .CHANNELS(NC),
      .SENDING_BYTES(SENDING_BYTES)
  ) i_writer (
      .clk,
      .rst,
      .relaxed(cfg.relaxed),
      .command_valid,
      .command_ready,
      .command_is_entry,
      .command_entry,
      .command_addr,
      .command_bytes,
      .command_from,
      .reading,
      .write_want,
      .write_grant,
      .write_beat,
      .write_data,
      .entry_valid(entry_valid[H2C]),
      .entry_ready(entry_ready[H2C]),
      .entry_channel(writer_channel),
      .entry(entry[H2C]),
      .posted_valid(p_valid[2]),
      .posted_ready(p_ready[2]),
      .posted_hdr(p_hdr[2]),
      .posted_data(p_data[2]),
      .posted_last(p_last[2])
  );
  assign entry_channel[H2C] = CW'(H2C) + CW'(writer_channel);
endmodule
