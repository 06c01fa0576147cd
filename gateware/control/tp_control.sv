// SPDX-License-Identifier: Apache-2.0
// Inbound requests: what the host writes and reads in the BARs, turned into events for the data mover, accesses of the user core and
// messages. A drawing and the mover's side are in README.md; what each register does is in contract/.
//
// `channel` counts over both directions, H2C first. The mover's inputs are taken as they come; only `fire` and the streams have a ready.
// The AXI4-Lite port and the user interrupts are on `clk`: tp_user_edge brings them to the user's clock, resets the user core while
// `card_reset` and shortly after, and tells by `user_busy`.
module tp_control
  import towpath_pkg::*;
  import tp_tlp_pkg::*;
#(
    parameter int DATA_WIDTH = 128,
    parameter int H2C = 1,
    parameter int C2H = 1,
    parameter int TAGS = 32,
    parameter int LANDING_BYTES = 16384,
    parameter int SENDING_BYTES = 8192,
    parameter int QUEUE_DEPTH = 16,
    parameter int INLINE_SLOTS = 4,
    parameter int VECTORS = 32,
    parameter int WINDOW_BYTES = 4096,
    parameter int USER_INTERRUPTS = 16,
    parameter int PAGE_SHIFT = 12,
    parameter int CORE_CLOCK_KHZ = 250000,
    parameter int USER_CLOCK_KHZ = 250000,
    parameter logic [31:0] CORE_VERSION = 0,
    parameter logic [63:0] SERIAL = 0,
    parameter logic [255:0] CORE_NAME = "",
    parameter logic [(H2C+C2H)*256-1:0] CHANNEL_NAMES = "",
    parameter logic [(H2C+C2H)*120-1:0] CHANNEL_KINDS = {(H2C + C2H) {32'd0, 16'd1, 8'd0, 64'h6d6165727473}},
    parameter logic [63:0] MEMORY_WINDOW_BYTES = 0,  // of BAR 4, 0: none
    parameter int INBOX_FIRST = 65536,      // MiB of BAR 4, from its start, that are memories'
    parameter logic [(H2C+C2H)*16-1:0] CHANNEL_WINDOWS = '0,
    parameter logic [15:0] FEATURES = '0,
    parameter int PLUGINS = 0,
    parameter logic [TP_PLUGINS_MAX*128-1:0] PLUGIN_ENTRIES = '0,
    parameter int WINDOW_QUEUE = 32,        // writes that the host may be ahead of the window
    localparam int CHW = (H2C + C2H) > 1 ? $clog2(H2C + C2H) : 1
) (
    input  logic       clk,
    input  logic       rst,
    // verilator lint_off UNUSEDSIGNAL
    input  tp_config_t cfg,  // only what concerns MSI-X and the function's reset
    // verilator lint_on UNUSEDSIGNAL
    output logic       function_reset_done,

    // neutral streams
    input  logic                             rx_posted_valid,
    input  tp_request_hdr_t                  rx_posted_hdr,
    input  logic            [DATA_WIDTH-1:0] rx_posted_data,
    input  logic                             rx_posted_last,
    input  logic                             rx_nonposted_valid,
    input  tp_request_hdr_t                  rx_nonposted_hdr,
    output logic                             nonposted_credit,
    output logic                             rx_posted_hold,
    output logic                             tx_answer_valid,
    input  logic                             tx_answer_ready,
    output tp_answer_hdr_t                   tx_answer_hdr,
    output logic            [DATA_WIDTH-1:0] tx_answer_data,
    output logic                             tx_answer_last,

    // the mover
    output logic [        CHW-1:0] wr_channel,
    output logic [           11:2] wr_offset,
    output logic [ DATA_WIDTH-1:0] wr_data,
    output logic [DATA_WIDTH/8-1:0] wr_strb,
    output logic                   inline_valid,
    output logic                   batch_valid,
    output logic                   words_valid,
    output logic                   push_valid,
    output logic [        CHW-1:0] push_channel,
    output logic                   push_torn,
    output logic [            7:0] push_count,
    output logic                   arm_valid,
    output logic [        CHW-1:0] arm_channel,
    output logic [           31:0] arm_index,
    output logic                   lead_valid,
    output logic [        CHW-1:0] lead_channel,
    output logic [           31:0] lead_bytes,
    output logic                   fill_valid,
    output logic [        CHW-1:0] fill_channel,
    output logic [           31:0] fill_level,
    output logic                   credit_valid,
    output logic [        CHW-1:0] credit_channel,
    output logic [           31:0] credit,
    output logic                   cancel_valid,
    output logic [        CHW-1:0] cancel_channel,
    output logic                   priv_write_valid,
    output logic [        CHW-1:0] priv_write_channel,
    output logic [            7:3] priv_write_offset,
    output logic [           63:0] priv_write_data,
    output logic [            7:0] priv_write_strb,
    output logic                   priv_read_valid,
    output logic [        CHW-1:0] priv_read_channel,
    output logic [            7:3] priv_read_offset,
    input  logic                   priv_read_ack,
    input  logic [           63:0] priv_read_data,
    input  logic                   fire_valid,
    output logic                   fire_ready,
    input  logic [            7:0] fire_vector,
    output logic                   msix_posted_valid,
    input  logic                   msix_posted_ready,
    output tp_write_hdr_t          msix_posted_hdr,
    output logic [ DATA_WIDTH-1:0] msix_posted_data,
    output logic                   msix_posted_last,
    input  logic                   msix_leaving,       // a message has been taken and is on its way out
    output logic                   card_reset,
    input  logic                   card_reset_done,
    input  logic                   event_valid,
    input  logic [            3:0] event_code,
    output logic [            7:0] quarantine,
    input  logic [           15:0] quarantined,
    input  logic [   H2C+C2H-1:0] enabled,

    // tp_user_edge
    input  logic        user_busy,
    output logic [31:0] m_axil_awaddr,
    output logic        m_axil_awvalid,
    input  logic        m_axil_awready,
    output logic [31:0] m_axil_wdata,
    output logic [ 3:0] m_axil_wstrb,
    output logic        m_axil_wvalid,
    input  logic        m_axil_wready,
    input  logic [ 1:0] m_axil_bresp,
    input  logic        m_axil_bvalid,
    output logic        m_axil_bready,
    output logic [31:0] m_axil_araddr,
    output logic        m_axil_arvalid,
    input  logic        m_axil_arready,
    input  logic [31:0] m_axil_rdata,
    input  logic [ 1:0] m_axil_rresp,
    input  logic        m_axil_rvalid,
    output logic        m_axil_rready,
    input  logic [15:0] irq_valid,
    output logic [15:0] irq_ready,
    output logic                    mem_write_valid,
    input  logic                    mem_write_ready,
    output logic [            35:0] mem_write_address,
    output logic [             7:0] mem_write_rows,
    output logic [  DATA_WIDTH-1:0] mem_write_data,
    output logic [DATA_WIDTH/8-1:0] mem_write_strb,
    output logic                    mem_write_last,
    input  logic                    mem_failed_valid,
    output logic                    mem_failed_ready,
    output logic                    mem_read_valid,
    input  logic                    mem_read_ready,
    output logic [            35:0] mem_read_address,
    output logic [             4:0] mem_read_rows,
    output logic                    mem_read_after,
    output logic [            15:0] mem_read_taken,
    input  logic                    mem_answer_valid,
    output logic                    mem_answer_ready,
    input  logic [  DATA_WIDTH-1:0] mem_answer_data,
    input  logic                    mem_answer_error
);
  localparam int CHANNELS = H2C + C2H;
  localparam bit MEMORIES = MEMORY_WINDOW_BYTES != 0 && INBOX_FIRST != 0;  // have windows
  localparam int GW = $clog2(CHANNELS + 1);
  localparam int WINDOW_AW = WINDOW_BYTES > 8 ? $clog2(WINDOW_BYTES) : 4;
  localparam int AW = WINDOW_BYTES != 0 && WINDOW_AW > GW + 14 ? WINDOW_AW : GW + 14;

  // Dwords of a page that tp_pages holds, log2: as many as the longer of discovery and MSI-X table needs.
  localparam int DISCOVERY_BYTES = TP_DISCOVERY_CHANNEL_ENTRY_OFFSET + CHANNELS * TP_CHANNEL_ENTRY_BYTES;
  localparam int TABLE_BYTES = VECTORS * TP_MSIX_VECTOR_BYTES;
  localparam int SPAN = $clog2(DISCOVERY_BYTES > TABLE_BYTES ? DISCOVERY_BYTES : TABLE_BYTES) - 2;

  if (CHANNELS < 1 || CHANNELS > TP_CHANNELS_MAX) $error("%m: H2C %0d and C2H %0d: make them 1 to %0d together", H2C, C2H, TP_CHANNELS_MAX);
  if ((1 << PAGE_SHIFT) < TP_PAGE_BYTES_MIN || PAGE_SHIFT > 16) $error("%m: PAGE_SHIFT %0d: make it 12 to 16", PAGE_SHIFT);
  if (INLINE_SLOTS > TP_INLINE_SLOTS_MAX) $error("%m: INLINE_SLOTS %0d: the page holds %0d", INLINE_SLOTS, TP_INLINE_SLOTS_MAX);
  if (TP_PAGES_PER_CHANNEL != 4 || TP_PAGE_CHANNELS != 4) $error("%m: written for groups of four pages");
  if (USER_INTERRUPTS < 0 || USER_INTERRUPTS > TP_USER_INTERRUPTS)
    $error("%m: USER_INTERRUPTS %0d: make it 0 to %0d", USER_INTERRUPTS, TP_USER_INTERRUPTS);
  if (TP_USER_INTERRUPTS != 16) $error("%m: written for 16 user interrupts");
  if ((MEMORY_WINDOW_BYTES & (MEMORY_WINDOW_BYTES - 1)) != 0 || MEMORY_WINDOW_BYTES[19:0] != '0 || MEMORY_WINDOW_BYTES > 64'h10_0000_0000)
    $error("%m: MEMORY_WINDOW_BYTES %0d: make it 0, or a power of two from 2^20 to 2^36", MEMORY_WINDOW_BYTES);

  // ---- writes and reads, each for its page
  logic sweeping;
  logic overrun, bell_valid, bell_misfit, priv_valid, word_valid, to_inline;
  logic [CHW-1:0] put_channel;
  logic [63:0] put_data;
  logic [7:0] put_strb;
  // verilator lint_off UNUSEDSIGNAL
  logic [AW-1:3] put_addr;
  // verilator lint_on UNUSEDSIGNAL
  logic [1:0] page;
  logic [11:2] offset;
  logic [31:0] word_data;
  logic [3:0] word_strb;
  logic window_valid, window_misfit, window_mark, window_passed;
  logic read_valid, read_ready, read_hit, read_window;
  tp_request_hdr_t read_hdr;
  logic [AW-1:2] read_addr;
  logic to_card, to_msix;

  tp_inbound #(
      .DATA_WIDTH(DATA_WIDTH),
      .CHANNELS(CHANNELS),
      .PAGE_SHIFT(PAGE_SHIFT),
      .WINDOW_BYTES(WINDOW_BYTES),
      .AW(AW)
  ) inbound (
      .clk,
      .rst,
      .hold(sweeping),
      .rx_posted_valid,
      .rx_posted_hdr,
      .rx_posted_low(rx_posted_data[63:0]),
      .rx_posted_last,
      .rx_nonposted_valid,
      .rx_nonposted_hdr,
      .nonposted_credit,
      .overrun,
      .wr_strb,
      .wr_channel,
      .wr_offset,
      .inline_valid(to_inline),
      .batch_valid,
      .window_valid,
      .window_misfit,
      .window_mark,
      .window_passed,
      .bell_valid,
      .bell_misfit,
      .priv_valid,
      .put_channel,
      .put_addr,
      .put_data,
      .put_strb,
      .word_valid,
      .word_page(page),
      .word_offset(offset),
      .word_data,
      .word_strb,
      .read_valid,
      .read_ready,
      .read_hdr,
      .read_hit,
      .read_window,
      .read_addr
  );

  assign inline_valid = to_inline && 32'(wr_channel) < H2C;
  assign wr_data = rx_posted_data;
  assign to_card = word_valid && page == 2'(TP_PAGE_CARD);
  assign to_msix = word_valid && page == 2'(TP_PAGE_MSIX);
  assign priv_write_valid = priv_valid && put_addr[11:8] == '0;
  assign priv_write_channel = put_channel;
  assign priv_write_offset = put_addr[7:3];
  assign priv_write_data = put_data;
  assign priv_write_strb = put_strb;

  tp_doorbell #(
      .CHANNELS(CHANNELS),
      .BATCHES(4 * QUEUE_DEPTH <= TP_BATCH_SLOTS_MAX)
  ) doorbell (
      .clk,
      .rst,
      .clear(card_reset),
      .enabled,
      .word_valid(bell_valid),
      .word_misfit(bell_misfit),
      .word_channel(put_channel),
      .word_offset(put_addr[11:3]),
      .word_data(put_data[39:0]),
      .word_strb(put_strb),
      .words_valid,
      .push_valid,
      .push_channel,
      .push_torn,
      .push_count,
      .arm_valid,
      .arm_channel,
      .arm_index,
      .lead_valid,
      .lead_channel,
      .lead_bytes,
      .fill_valid,
      .fill_channel,
      .fill_level,
      .credit_valid,
      .credit_channel,
      .credit,
      .cancel_valid,
      .cancel_channel
  );

  // ---- who is asked for a dword: the mover, the window, the scan of pending bits, else the pages' RAM, whose fourth page is all zeros and
  // answers where there is nothing. `ask` stays until `ack`. Its first cycle decides who it is for (`asks_*`), the others ask.
  logic ask, ask_none, ask_window, asks_pages, asks_pending, asks_window, ack;
  logic [AW-1:2] ask_addr;
  logic [GW-1:0] ask_group;
  logic [1:0] ask_page, pages_page;
  logic [11:2] ask_offset;
  logic in_first, in_pages, in_card, in_pending, in_priv;
  logic pages_ack, pending_ack, pending_shift, pending_bit, window_ack, msix_sending, read_waits;
  logic [31:0] pages_q, pages_data, window_data, answer_data;

  assign ask_group = ask_addr[14+:GW];
  assign ask_page = ask_addr[13:12];
  assign ask_offset = ask_addr[11:2];
  assign in_first = !ask_none && !ask_window && ask_group == 0;
  assign in_pages = in_first && ask_offset >> SPAN == 0;
  assign in_card = in_pages && ask_page == 2'(TP_PAGE_CARD);
  assign in_pending = in_first && ask_page == 2'(TP_PAGE_MSIX) && ask_offset[11:4] == 8'(TP_MSIX_PENDING_OFFSET / 16) &&
      3'(ask_offset[3:2]) < 3'((VECTORS + 31) / 32);
  assign in_priv = !ask_none && !ask_window && ask_group != 0 && ask_page == 2'(TP_PAGE_CHANNEL_PRIVILEGED) && ask_offset[11:8] == 0;

  logic asked;
  always_ff @(posedge clk) begin
    asked <= ask && !ack && !rst;
    priv_read_valid <= ask && !asked && in_priv && !rst;
    asks_window <= ask && !ack && ask_window && !ask_none;
    asks_pending <= ask && !ack && in_pending;
    asks_pages <= ask && !ack && !in_pending && !in_priv && (ask_none || !ask_window);
    pages_page <= in_pages ? ask_page : 2'd3;
  end
  assign priv_read_channel = CHW'(ask_group - 1'b1);
  assign priv_read_offset = ask_offset[7:3];
  assign ack = pages_ack || pending_ack || priv_read_ack || window_ack;

  // In the card's page the RAM holds 0 where others show what they have: counts of events, and bits. Bits are taken into `seen`, as are
  // pending bits, one by one.
  logic [31:0] seen, inbound_overruns, window_overruns, window_timeouts, memory_overruns, memory_errors;
  logic [15:0] link_count;
  logic [1:0] card_control;
  logic [3:0] window_status;
  logic show_control, show_window_status, show_quarantined, show_link_count;
  logic shows_control, shows_window_status, shows_quarantined, shows_link_count;
  logic show_memory_overruns, show_memory_errors, shows_memory_overruns, shows_memory_errors;
  assign show_control = in_card && ask_offset == 10'(TP_CARD_CONTROL_OFFSET / 4);
  assign show_window_status = in_card && ask_offset == 10'(TP_CARD_WINDOW_STATUS_OFFSET / 4);
  assign show_memory_overruns = MEMORIES && in_card && ask_offset == 10'(TP_CARD_MEMORY_WINDOW_OVERRUNS_OFFSET / 4);
  assign show_memory_errors = MEMORIES && in_card && ask_offset == 10'(TP_CARD_MEMORY_WINDOW_ERRORS_OFFSET / 4);
  assign show_quarantined = in_card && ask_offset == 10'(TP_CARD_QUARANTINED_OFFSET / 4);
  assign show_link_count = in_card && ask_offset[11:6] == 6'(TP_CARD_UNSUPPORTED_REQUESTS_OFFSET / 64) &&
      ask_offset != 10'(TP_CARD_USER_IRQ_ENABLE_OFFSET / 4);
  if (TP_CARD_UNSUPPORTED_REQUESTS_OFFSET / 64 != TP_CARD_USER_IRQ_ENABLE_OFFSET / 64 ||
      TP_CARD_UNSUPPORTED_REQUESTS_OFFSET / 64 != TP_CARD_UNEXPECTED_COMPLETIONS_OFFSET / 64)
    $error("%m: beside the counts of what goes wrong on the link the RAM's dwords have changed: adapt it");

  typedef enum logic [1:0] {
    PAGES,
    SEEN,
    PRIVILEGED,
    WINDOW
  } source_e;
  typedef enum logic [1:0] {
    SOURCE,
    INBOUND_OVERRUNS,
    WINDOW_OVERRUNS,
    WINDOW_TIMEOUTS
  } count_e;
  source_e source;
  count_e counter;
  always_ff @(posedge clk) begin
    shows_control <= show_control;
    shows_window_status <= show_window_status;
    shows_quarantined <= show_quarantined;
    shows_link_count <= show_link_count;
    shows_memory_overruns <= show_memory_overruns;
    shows_memory_errors <= show_memory_errors;
    source <= in_pending || show_control || show_window_status || show_quarantined || show_link_count ||
        show_memory_overruns || show_memory_errors ? SEEN :
        in_priv ? PRIVILEGED : ask_window && !ask_none ? WINDOW : PAGES;
    counter <= SOURCE;
    if (in_card)
      case (ask_offset)
        10'(TP_CARD_INBOUND_OVERRUNS_OFFSET / 4): counter <= INBOUND_OVERRUNS;
        10'(TP_CARD_WINDOW_OVERRUNS_OFFSET / 4): counter <= WINDOW_OVERRUNS;
        10'(TP_CARD_WINDOW_TIMEOUTS_OFFSET / 4): counter <= WINDOW_TIMEOUTS;
        default: ;
      endcase
  end
  logic [15:0] bits;
  logic [31:0] words;
  assign bits = {16{shows_link_count}} & link_count | {16{shows_quarantined}} & quarantined |
      16'(window_status & {4{shows_window_status}}) | 16'(card_control & {2{shows_control}});
  assign words = 32'(bits) | {32{shows_memory_overruns}} & memory_overruns | {32{shows_memory_errors}} & memory_errors;
  always_ff @(posedge clk) if (!asks_pending || pending_shift) seen <= asks_pending ? {pending_bit, seen[31:1]} : words;

  // Two muxes of four are two LUTs a bit.
  logic [3:0][31:0] sources, counters;
  assign sources[PAGES] = pages_data;
  assign sources[SEEN] = seen;
  assign sources[PRIVILEGED] = ask_offset[2] ? priv_read_data[63:32] : priv_read_data[31:0];
  assign sources[WINDOW] = window_data;
  assign counters[SOURCE] = sources[source];
  assign counters[INBOUND_OVERRUNS] = inbound_overruns;
  assign counters[WINDOW_OVERRUNS] = window_overruns;
  assign counters[WINDOW_TIMEOUTS] = window_timeouts;
  assign answer_data = counters[counter];

  // Reads of BAR 4 are answered by tp_memory_reads: one of the two has a read in hand.
  logic word_read, memory_read, word_read_ready, memory_read_ready, word_waits, memory_waits, read_barrier;
  logic word_answer_valid, word_answer_last, memory_answers, memory_answer_valid, memory_answer_last;
  tp_answer_hdr_t word_answer_hdr, memory_answer_hdr;
  logic [DATA_WIDTH-1:0] word_answer_data, memory_answer_data;
  assign memory_read = read_valid && MEMORIES && read_hdr.bar == 3'(TP_BAR_MEMORY);
  assign word_read = read_valid && !memory_read;
  assign read_ready = word_read_ready || memory_read_ready;
  assign read_waits = word_waits || memory_waits;
  assign read_barrier = msix_sending || msix_posted_valid || msix_leaving;
  assign tx_answer_valid = word_answer_valid || memory_answer_valid;
  assign tx_answer_hdr = memory_answers ? memory_answer_hdr : word_answer_hdr;
  assign tx_answer_data = memory_answers ? memory_answer_data : word_answer_data;
  assign tx_answer_last = memory_answers ? memory_answer_last : word_answer_last;

  tp_answer #(
      .DATA_WIDTH(DATA_WIDTH),
      .WINDOW_BYTES(WINDOW_BYTES),
      .AW(AW)
  ) answer (
      .clk,
      .rst,
      .barrier(read_barrier),
      .waits(word_waits),
      .read_valid(word_read),
      .read_ready(word_read_ready),
      .read_hdr,
      .read_hit,
      .read_window,
      .read_addr,
      .ask,
      .ask_none,
      .ask_window,
      .ask_addr,
      .ack,
      .data(answer_data),
      .tx_answer_valid(word_answer_valid),
      .tx_answer_ready,
      .tx_answer_hdr(word_answer_hdr),
      .tx_answer_data(word_answer_data),
      .tx_answer_last(word_answer_last)
  );

  // ---- pages
  logic clear, set, set_lines, job, count, counted;
  logic [SPAN+1:0] set_at, job_at;
  logic [31:0] set_data;
  tp_pages #(
      .DATA_WIDTH(DATA_WIDTH),
      .H2C(H2C),
      .C2H(C2H),
      .TAGS(TAGS),
      .LANDING_BYTES(LANDING_BYTES),
      .SENDING_BYTES(SENDING_BYTES),
      .QUEUE_DEPTH(QUEUE_DEPTH),
      .INLINE_SLOTS(INLINE_SLOTS),
      .VECTORS(VECTORS),
      .WINDOW_BYTES(WINDOW_BYTES),
      .USER_INTERRUPTS(USER_INTERRUPTS),
      .PAGE_SHIFT(PAGE_SHIFT),
      .CORE_CLOCK_KHZ(CORE_CLOCK_KHZ),
      .USER_CLOCK_KHZ(USER_CLOCK_KHZ),
      .CORE_VERSION(CORE_VERSION),
      .SERIAL(SERIAL),
      .CORE_NAME(CORE_NAME),
      .CHANNEL_NAMES(CHANNEL_NAMES),
      .CHANNEL_KINDS(CHANNEL_KINDS),
      .MEMORY_WINDOW_BYTES(MEMORY_WINDOW_BYTES),
      .CHANNEL_WINDOWS(CHANNEL_WINDOWS),
      .FEATURES(FEATURES),
      .PLUGINS(PLUGINS),
      .PLUGIN_ENTRIES(PLUGIN_ENTRIES),
      .SPAN(SPAN)
  ) pages (
      .clk,
      .rst,
      .clear,
      .sweeping,
      .word_valid(to_card || to_msix),
      .word_page(page),
      .word_offset(offset),
      .word_data,
      .word_strb,
      .set,
      .set_at,
      .set_lines,
      .set_data,
      .job,
      .job_at,
      .count,
      .counted,
      .ask(asks_pages),
      .ask_at({pages_page, ask_offset[SPAN+1:2]}),
      .ack(pages_ack),
      .q(pages_q),
      .late(pages_data)
  );

  tp_interrupts #(
      .DATA_WIDTH(DATA_WIDTH),
      .VECTORS(VECTORS),
      .SPAN(SPAN)
  ) interrupts (
      .clk,
      .rst,
      .clear,
      .sweeping,
      .enable(cfg.msix_enable && !cfg.msix_mask && cfg.bus_master && cfg.active && cfg.link_up),
      .hold(card_reset || user_busy),
      .give_way(read_waits),
      .fire_valid,
      .fire_ready,
      .fire_vector,
      .irq_valid,
      .irq_ready,
      .sending(msix_sending),
      .posted_valid(msix_posted_valid),
      .posted_ready(msix_posted_ready),
      .posted_hdr(msix_posted_hdr),
      .posted_data(msix_posted_data),
      .posted_last(msix_posted_last),
      .set,
      .set_at,
      .set_lines,
      .set_data,
      .job,
      .job_at,
      .count,
      .counted,
      .q(pages_q),
      .late(pages_data),
      .pending_ask(asks_pending),
      .pending_word(ask_offset[3:2]),
      .pending_ack,
      .pending_shift,
      .pending_bit
  );

  logic
      window_timeout_set, window_overrun, window_timed_out, window_failed, memory_overrun, memory_timed_out, memory_refused, memory_failed;
  logic [31:0] window_timeout;
  tp_card card (
      .clk,
      .rst,
      .function_reset(cfg.function_reset),
      .function_reset_done,
      .card_reset,
      .card_reset_done,
      .clear,
      .sweeping,
      .user_busy,
      .window_timeout,
      .window_timeout_set,
      .window_timed_out,
      .window_failed,
      .memory_timed_out,
      .memory_failed(memory_failed || memory_refused),
      .word_valid(to_card),
      .word_offset(offset),
      .word_data,
      .word_strb,
      .control(card_control),
      .window_status
  );

  tp_events events (
      .clk,
      .rst,
      .clear,
      .mastering(cfg.bus_master && cfg.active),
      .link_up(cfg.link_up),
      .function_reset(cfg.function_reset),
      .event_valid,
      .event_code,
      .quarantine,
      .word_valid(to_card),
      .word_offset(offset),
      .word_data,
      .word_strb,
      .inbound_overrun(overrun),
      .window_overrun,
      .window_timed_out,
      .memory_overrun,
      .memory_refused,
      .inbound_overruns,
      .window_overruns,
      .window_timeouts,
      .memory_overruns,
      .memory_errors,
      .link_count_at(ask_offset[5:2]),
      .link_count
  );

  // ---- memory windows
  if (MEMORIES) begin : gen_memory
    logic closed, off, writes_stand, reads_stand, stuck, row_came;
    logic [15:0] taken;
    assign closed = card_reset || user_busy;
    tp_memory_writes #(
        .DATA_WIDTH(DATA_WIDTH),
        .MIB(INBOX_FIRST)
    ) writes (
        .clk,
        .rst,
        .closed,
        .off,
        .hold(rx_posted_hold),
        .overrun(memory_overrun),
        .taken,
        .rx_posted_valid,
        .rx_posted_hdr,
        .rx_posted_data,
        .rx_posted_strb(wr_strb),
        .rx_posted_last,
        .write_valid(mem_write_valid),
        .write_ready(mem_write_ready),
        .write_address(mem_write_address),
        .write_rows(mem_write_rows),
        .write_data(mem_write_data),
        .write_strb(mem_write_strb),
        .write_last(mem_write_last)
    );
    tp_memory_reads #(
        .DATA_WIDTH(DATA_WIDTH)
    ) reads (
        .clk,
        .rst,
        .closed,
        .off,
        .barrier(read_barrier),
        .waits(memory_waits),
        .stuck,
        .failed(memory_failed),
        .taken,
        .read_valid(memory_read),
        .read_ready(memory_read_ready),
        .read_hdr,
        .ask_valid(mem_read_valid),
        .ask_ready(mem_read_ready),
        .ask_address(mem_read_address),
        .ask_rows(mem_read_rows),
        .ask_after(mem_read_after),
        .ask_taken(mem_read_taken),
        .answer_valid(row_came),
        .answer_data(mem_answer_data),
        .answer_error(mem_answer_error),
        .sending(memory_answers),
        .tx_answer_valid(memory_answer_valid),
        .tx_answer_ready,
        .tx_answer_hdr(memory_answer_hdr),
        .tx_answer_data(memory_answer_data),
        .tx_answer_last(memory_answer_last)
    );
    assign mem_answer_ready = 1'b1;
    assign row_came = mem_answer_valid && !off && !closed;
    assign mem_failed_ready = 1'b1;

    // A memory that does not answer is given up until the card is reset: what it owes then cannot be told from what it is asked later.
    tp_deadline write_deadline (
        .clk,
        .rst(rst || closed),
        .timeout(window_timeout),
        .timeout_set(window_timeout_set),
        .waiting(mem_write_valid),
        .moved(mem_write_ready),
        .expired(writes_stand)
    );
    tp_deadline read_deadline (
        .clk,
        .rst(rst || closed),
        .timeout(window_timeout),
        .timeout_set(window_timeout_set),
        .waiting(stuck),
        .moved(mem_write_valid && mem_write_ready),  // the read may wait behind them
        .expired(reads_stand)
    );
    assign memory_timed_out = off;
    always_ff @(posedge clk) begin
      memory_refused <= mem_failed_valid && !rst;
      if (writes_stand || reads_stand) off <= 1'b1;
      if (rst || closed) off <= 1'b0;
    end
  end else begin : gen_no_memory
    logic unused;
    assign unused = &{memory_read, mem_write_ready, mem_failed_valid, mem_read_ready, mem_answer_valid, mem_answer_data, mem_answer_error,
        rx_posted_data, rx_posted_hdr};
    assign rx_posted_hold = 1'b0;
    assign {memory_overrun, memory_timed_out, memory_refused, memory_failed} = '0;
    assign {memory_waits, memory_read_ready, memory_answers, memory_answer_valid, memory_answer_last} = '0;
    assign memory_answer_hdr = '0;
    assign memory_answer_data = '0;
    assign {mem_write_valid, mem_write_address, mem_write_rows, mem_write_data, mem_write_strb, mem_write_last} = '0;
    assign {mem_failed_ready, mem_read_valid, mem_read_address, mem_read_rows, mem_read_after, mem_read_taken, mem_answer_ready} = '0;
  end

  // ---- window
  if (WINDOW_BYTES != 0) begin : gen_window
    tp_window #(
        .WINDOW_BYTES(WINDOW_BYTES),
        .QUEUE(WINDOW_QUEUE)
    ) window (
        .clk,
        .rst,
        .flush(card_reset),
        .timeout(window_timeout),
        .timeout_set(window_timeout_set),
        .overrun(window_overrun),
        .timed_out(window_timed_out),
        .failed(window_failed),
        .word_valid(window_valid),
        .word_misfit(window_misfit),
        .word_addr(put_addr[WINDOW_AW-1:3]),
        .word_data(put_data),
        .word_strb(put_strb),
        .mark(window_mark),
        .passed(window_passed),
        .ask(asks_window),
        .addr(ask_addr[WINDOW_AW-1:2]),
        .ack(window_ack),
        .data(window_data),
        .m_axil_awaddr,
        .m_axil_awvalid,
        .m_axil_awready,
        .m_axil_wdata,
        .m_axil_wstrb,
        .m_axil_wvalid,
        .m_axil_wready,
        .m_axil_bresp,
        .m_axil_bvalid,
        .m_axil_bready,
        .m_axil_araddr,
        .m_axil_arvalid,
        .m_axil_arready,
        .m_axil_rdata,
        .m_axil_rresp,
        .m_axil_rvalid,
        .m_axil_rready
    );
  end else begin : gen_no_window
    logic unused;
    assign unused = &{m_axil_awready, m_axil_wready, m_axil_bresp, m_axil_bvalid, m_axil_arready, m_axil_rdata, m_axil_rresp,
        m_axil_rvalid, window_valid, window_misfit, window_mark, asks_window, window_timeout, window_timeout_set};
    assign window_overrun = 1'b0;
    assign window_timed_out = 1'b0;
    assign window_failed = 1'b0;
    assign window_passed = 1'b1;
    assign window_ack = 1'b0;
    assign window_data = '0;
    assign m_axil_awaddr = '0;
    assign m_axil_awvalid = 1'b0;
    assign m_axil_wdata = '0;
    assign m_axil_wstrb = '0;
    assign m_axil_wvalid = 1'b0;
    assign m_axil_bready = 1'b0;
    assign m_axil_araddr = '0;
    assign m_axil_arvalid = 1'b0;
    assign m_axil_rready = 1'b0;
  end

`ifndef SYNTHESIS
  logic reading;  // the mover owes an answer
  always_ff @(posedge clk) begin
    reading <= !rst && (priv_read_valid || reading && !priv_read_ack);
    if (!rst && priv_read_ack)
      assert (reading)
      else $error("%m: priv_read_ack without priv_read_valid");
    if (!rst && card_reset_done)
      assert (card_reset)
      else $error("%m: card_reset_done without card_reset");
  end
`endif
endmodule
