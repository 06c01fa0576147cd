// SPDX-License-Identifier: Apache-2.0
// Pages 0 to 2 of BAR 0 (discovery, card, MSI-X) in one block RAM of dwords: what a host can read there, but for what others show (tp_control).
//
// Discovery is the RAM's first content, made from the parameters. What the host may set it writes itself, a whole dword at a time: a word
// shown in one cycle is written in the next, when `set` tells who else wants to know; a host's read waits for it. After `rst` or `clear` the pages of card and MSI-X are
// swept to what the contract says of a reset, a dword a cycle (`sweeping`); tp_inbound holds the host's words back meanwhile. Addresses and
// data of messages are left: they are the host's to write before it unmasks a vector.
//
// The read port has one owner at a time: `job` (tp_interrupts) has it in the cycles that it takes, the host's reads (`ask`, which stays until
// `ack`) in the others. `q` comes a cycle after its address and stands until the next; `late` is what `q` was a cycle ago, and what `ack`
// comes with: the way out of a block RAM is slow. `count` writes late + 1 back where q was read, unless a word or a sweep has the write
// port: then it is tried again.
module tp_pages
  import towpath_pkg::*;
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
    // {kind_parameter[31:0], kind_version[15:0], kind[7:0], kind_name[63:0]} of each; streams, if nobody says otherwise.
    parameter logic [(H2C+C2H)*120-1:0] CHANNEL_KINDS = {(H2C + C2H) {32'd0, 16'd1, 8'd0, 64'h6d6165727473}},
    parameter logic [63:0] MEMORY_WINDOW_BYTES = 0,
    parameter logic [(H2C+C2H)*16-1:0] CHANNEL_WINDOWS = '0,
    parameter logic [15:0] FEATURES = '0,
    // Entries of the discovery page's table of plug-ins, as they stand there; entry 0 lowest.
    parameter int PLUGINS = 0,
    parameter logic [TP_PLUGINS_MAX*128-1:0] PLUGIN_ENTRIES = '0,
    parameter int SPAN = 7                  // log2 of the dwords of a page that the RAM holds; what lies behind them is not asked for
) (
    input  logic              clk,
    input  logic              rst,
    input  logic              clear,
    output logic              sweeping,
    input  logic              word_valid,  // in the pages of card or MSI-X
    input  logic [       1:0] word_page,
    input  logic [      11:2] word_offset,
    input  logic [      31:0] word_data,
    input  logic [       3:0] word_strb,
    output logic              set,         // `set_data` is written at `set_at`: {page, dword}
    output logic [SPAN+1:0]   set_at,
    output logic              set_lines,   // ... which is the card's user_irq_enable
    output logic [      31:0] set_data,
    input  logic              job,
    input  logic [SPAN+1:0]   job_at,
    input  logic              count,
    output logic              counted,
    input  logic              ask,
    input  logic [SPAN+1:0]   ask_at,
    output logic              ack,
    output logic [      31:0] q,
    output logic [      31:0] late
);
  localparam int DISCOVERY_BYTES = TP_DISCOVERY_CHANNEL_ENTRY_OFFSET + (H2C + C2H) * TP_CHANNEL_ENTRY_BYTES;
  localparam int TABLE_BYTES = VECTORS * TP_MSIX_VECTOR_BYTES;
  localparam int HEADER_DWORDS = TP_DISCOVERY_CHANNEL_ENTRY_OFFSET / 4;
  localparam int ENTRY_DWORDS = TP_CHANNEL_ENTRY_BYTES / 4;

  if (DISCOVERY_BYTES > TP_PAGE_BYTES_MIN) $error("%m: %0d channels: the discovery page has no room", H2C + C2H);
  if (VECTORS < 1 || VECTORS > TP_MSIX_VECTORS_MAX) $error("%m: VECTORS %0d: make it 1 to %0d", VECTORS, TP_MSIX_VECTORS_MAX);
  if (TP_PLUGIN_ENTRY_BYTES != 16) $error("%m: the entries of plug-ins have grown: adapt it");
  if (TP_MSIX_VECTOR_BYTES != 16 || TP_CARD_USER_IRQ_VECTOR_STRIDE != 4 || TP_PAGE_CARD != 1 || TP_PAGE_MSIX != 2)
    $error("%m: the contract's pages have changed: adapt it");

  function automatic logic [HEADER_DWORDS*32-1:0] header();
    logic [HEADER_DWORDS*32-1:0] image;
    image = '0;
    image[8*TP_DISCOVERY_MAGIC_OFFSET+:64] = TP_DISCOVERY_MAGIC_VALUE;
    image[8*TP_DISCOVERY_VERSION_MAJOR_OFFSET+:16] = 16'(TP_VERSION_MAJOR);
    image[8*TP_DISCOVERY_VERSION_MINOR_OFFSET+:16] = 16'(TP_VERSION_MINOR);
    image[8*TP_DISCOVERY_HEADER_BYTES_OFFSET+:16] = TP_DISCOVERY_HEADER_BYTES_VALUE;
    image[8*TP_DISCOVERY_PAGE_SHIFT_OFFSET+:8] = 8'(PAGE_SHIFT);
    image[8*TP_DISCOVERY_DATA_BYTES_OFFSET+:8] = 8'(DATA_WIDTH / 8);
    image[8*TP_DISCOVERY_CHANNELS_OFFSET+:16] = 16'(H2C + C2H);
    image[8*TP_DISCOVERY_ENTRY_OFFSET_OFFSET+:16] = TP_DISCOVERY_ENTRY_OFFSET_VALUE;
    image[8*TP_DISCOVERY_ENTRY_BYTES_OFFSET+:16] = TP_DISCOVERY_ENTRY_BYTES_VALUE;
    image[8*TP_DISCOVERY_VECTORS_OFFSET+:16] = 16'(VECTORS);
    image[8*TP_DISCOVERY_USER_INTERRUPTS_OFFSET+:16] = 16'(USER_INTERRUPTS);
    image[8*TP_DISCOVERY_TAGS_OFFSET+:16] = 16'(TAGS);
    image[8*TP_DISCOVERY_WINDOW_BYTES_OFFSET+:32] = 32'(WINDOW_BYTES);
    image[8*TP_DISCOVERY_SERIAL_OFFSET+:64] = SERIAL;
    image[8*TP_DISCOVERY_CORE_CLOCK_KHZ_OFFSET+:32] = 32'(CORE_CLOCK_KHZ);
    image[8*TP_DISCOVERY_USER_CLOCK_KHZ_OFFSET+:32] = 32'(USER_CLOCK_KHZ);
    image[8*TP_DISCOVERY_CORE_VERSION_OFFSET+:32] = CORE_VERSION;
    image[8*TP_DISCOVERY_CORE_NAME_OFFSET+:256] = CORE_NAME;
    image[8*TP_DISCOVERY_MEMORY_WINDOW_BYTES_OFFSET+:64] = MEMORY_WINDOW_BYTES;
    image[8*TP_DISCOVERY_PLUGINS_OFFSET+:16] = 16'(PLUGINS);
    image[8*TP_DISCOVERY_FEATURES_OFFSET+:16] = FEATURES;
    image[8*TP_DISCOVERY_PLUGIN_ENTRY_OFFSET+:TP_PLUGINS_MAX*128] = PLUGIN_ENTRIES;
    return image;
  endfunction

  function automatic logic [ENTRY_DWORDS*32-1:0] entry(input int channel);
    logic [ENTRY_DWORDS*32-1:0] image;
    logic h2c;
    h2c = channel < H2C;
    image = '0;
    image[8*TP_CHANNEL_ENTRY_DIRECTION_OFFSET+:8] = 8'(h2c ? TP_DIRECTION_H2C : TP_DIRECTION_C2H);
    image[8*TP_CHANNEL_ENTRY_KIND_NAME_OFFSET+:64] = CHANNEL_KINDS[120*channel+:64];
    image[8*TP_CHANNEL_ENTRY_KIND_OFFSET+:8] = CHANNEL_KINDS[120*channel+64+:8];
    image[8*TP_CHANNEL_ENTRY_KIND_VERSION_OFFSET+:16] = CHANNEL_KINDS[120*channel+72+:16];
    image[8*TP_CHANNEL_ENTRY_KIND_PARAMETER_OFFSET+:32] = CHANNEL_KINDS[120*channel+88+:32];
    image[8*TP_CHANNEL_ENTRY_WINDOW_OFFSET+:16] = CHANNEL_WINDOWS[16*channel+:16];
    image[8*TP_CHANNEL_ENTRY_QUEUE_DEPTH_OFFSET+:16] = 16'(QUEUE_DEPTH);
    image[8*TP_CHANNEL_ENTRY_INLINE_SLOTS_OFFSET+:16] = h2c ? 16'(INLINE_SLOTS) : 16'd0;
    image[8*TP_CHANNEL_ENTRY_FIRST_PAGE_OFFSET+:32] = 32'(TP_PAGE_CHANNELS + TP_PAGES_PER_CHANNEL * channel);
    image[8*TP_CHANNEL_ENTRY_BATCH_SLOTS_OFFSET+:16] = 4 * QUEUE_DEPTH <= TP_BATCH_SLOTS_MAX ? 16'(4 * QUEUE_DEPTH) : 16'd0;
    image[8*TP_CHANNEL_ENTRY_BUFFER_BYTES_OFFSET+:32] = h2c ? 32'(LANDING_BYTES) : 32'(SENDING_BYTES);
    image[8*TP_CHANNEL_ENTRY_NAME_OFFSET+:256] = CHANNEL_NAMES[256*channel+:256];
    return image;
  endfunction

  logic [31:0] ram[4<<SPAN];
  initial begin
    logic [HEADER_DWORDS*32-1:0] top;
    logic [ENTRY_DWORDS*32-1:0] row;
    for (int i = 0; i < (4 << SPAN); i++) ram[i] = '0;
    top = header();
    for (int i = 0; i < HEADER_DWORDS; i++) ram[i] = top[32*i+:32];
    for (int c = 0; c < H2C + C2H; c++) begin
      row = entry(c);
      for (int i = 0; i < ENTRY_DWORDS; i++) ram[HEADER_DWORDS+c*ENTRY_DWORDS+i] = row[32*i+:32];
    end
  end

  // ---- writes: the host's, the sweep's, a count's
  typedef struct packed {
    logic [1:0] page;
    logic [SPAN-1:0] dword;
  } at_t;
  localparam at_t LINES = '{page: 2'(TP_PAGE_CARD), dword: SPAN'(TP_CARD_USER_IRQ_ENABLE_OFFSET / 4)};
  at_t sweep, last, host_at;
  logic settable, host_sets;
  logic [31:0] host_data, value;

  always_comb begin
    if (word_page == 2'(TP_PAGE_MSIX)) settable = word_offset < 10'(TABLE_BYTES / 4);
    else
      settable = word_offset == 10'(TP_CARD_WINDOW_TIMEOUT_OFFSET / 4) || word_offset == 10'(TP_CARD_QUARANTINE_OFFSET / 4) ||
          word_offset == 10'(TP_CARD_USER_IRQ_ENABLE_OFFSET / 4) ||
          word_offset[11:6] == 6'(TP_CARD_USER_IRQ_VECTOR_OFFSET / 64);
  end
  if (TP_USER_INTERRUPTS * 4 != 64 || TP_CARD_USER_IRQ_VECTOR_OFFSET % 64 != 0) $error("%m: the vectors have moved: adapt it");

  function automatic logic [31:0] at_reset(input at_t at);
    at_reset = '0;
    if (at.page == 2'(TP_PAGE_MSIX)) begin
      if (at.dword[1:0] == 2'(TP_MSIX_VECTOR_CONTROL_OFFSET / 4)) at_reset = TP_MSIX_VECTOR_CONTROL_RESET;
    end else begin
      if (at.dword == SPAN'(TP_CARD_WINDOW_TIMEOUT_OFFSET / 4)) at_reset = TP_CARD_WINDOW_TIMEOUT_RESET;
      if (at.dword == SPAN'(TP_CARD_QUARANTINE_OFFSET / 4)) at_reset = TP_CARD_QUARANTINE_RESET;
    end
  endfunction

  always_ff @(posedge clk) begin
    host_sets <= word_valid && (&word_strb) && settable && !rst;
    host_at <= {word_page, word_offset[SPAN+1:2]};
    host_data <= word_data;
  end
  assign sweeping = sweep.page == 2'(TP_PAGE_CARD) || sweep.page == 2'(TP_PAGE_MSIX);  // it stops behind them
  assign counted = count && !host_sets && !sweeping;
  assign set = host_sets || sweeping;
  assign set_lines = host_sets ? host_at == LINES : sweeping && sweep == LINES;
  assign set_at = host_sets ? host_at : sweeping ? sweep : last;
  assign set_data = host_sets ? host_data : at_reset(sweep);
  assign value = set ? set_data : late + 1'b1;

  always_ff @(posedge clk) begin
    if (rst || clear) sweep <= '{page: 2'(TP_PAGE_CARD), dword: '0};
    else if (sweeping && !host_sets) begin  // all that the card's page has, then each vector's control
      if (sweep.page == 2'(TP_PAGE_MSIX)) sweep <= sweep + (SPAN + 2)'(4);
      else if (&sweep.dword[5:0]) sweep <= '{page: 2'(TP_PAGE_MSIX), dword: SPAN'(TP_MSIX_VECTOR_CONTROL_OFFSET / 4)};
      else sweep <= sweep + 1'b1;
    end
  end

  // ---- reads
  logic [SPAN+1:0] read_at;
  logic asked;  // the word that was shown last before the read has been written
  logic fetched;
  assign read_at = job ? job_at : ask_at;
  always_ff @(posedge clk) begin
    if ((set || counted) && !rst) ram[set_at] <= value;
    if (job || ask) begin
      q <= ram[read_at];
      last <= read_at;
    end
    late <= q;
    asked <= ask && !fetched && !ack;
    fetched <= ask && asked && !fetched && !ack && !job && !rst;
    ack <= fetched && !rst;
  end
endmodule
