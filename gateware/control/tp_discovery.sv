// SPDX-License-Identifier: Apache-2.0
// Discovery page: what the card is, as a ROM made from the parameters. `data` is 0 but in the cycle after `ask`.
module tp_discovery
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
    parameter int VECTORS = 32,
    parameter int WINDOW_BYTES = 4096,
    parameter int PAGE_SHIFT = 12,
    parameter int CORE_CLOCK_KHZ = 250000,
    parameter int USER_CLOCK_KHZ = 250000,
    parameter logic [31:0] CORE_VERSION = 0,
    parameter logic [63:0] SERIAL = 0,
    parameter logic [255:0] CORE_NAME = "",
    parameter logic [(H2C+C2H)*256-1:0] CHANNEL_NAMES = ""
) (
    input  logic        clk,
    input  logic        ask,
    input  logic [11:2] offset,
    output logic        ack,
    output logic [31:0] data
);
  localparam int CHANNELS = H2C + C2H;
  localparam int BYTES = TP_DISCOVERY_CHANNEL_ENTRY_OFFSET + CHANNELS * TP_CHANNEL_ENTRY_BYTES;
  localparam int WORDS = BYTES / 4;

  if (CHANNELS > TP_CHANNELS_MAX) $error("%m: %0d channels: the page has room for %0d", CHANNELS, TP_CHANNELS_MAX);

  // A dword of the page that holds `size` bytes of `value` at byte `at`, or nothing of it.
  function automatic logic [31:0] part(input int word, input int at, input int size, input logic [255:0] value);
    logic [31:0] bits;
    bits = 0;
    for (int b = 0; b < 4; b++) if (word * 4 + b >= at && word * 4 + b < at + size) bits[8*b+:8] = value[8*(word*4+b-at)+:8];
    return bits;
  endfunction

  function automatic logic [31:0] header(input int word);
    logic [31:0] bits;
    bits = 0;
    bits |= part(word, TP_DISCOVERY_MAGIC_OFFSET, 8, 256'(TP_DISCOVERY_MAGIC_VALUE));
    bits |= part(word, TP_DISCOVERY_VERSION_MAJOR_OFFSET, 2, 256'(TP_VERSION_MAJOR));
    bits |= part(word, TP_DISCOVERY_VERSION_MINOR_OFFSET, 2, 256'(TP_VERSION_MINOR));
    bits |= part(word, TP_DISCOVERY_HEADER_BYTES_OFFSET, 2, 256'(TP_DISCOVERY_HEADER_BYTES_VALUE));
    bits |= part(word, TP_DISCOVERY_PAGE_SHIFT_OFFSET, 1, 256'(PAGE_SHIFT));
    bits |= part(word, TP_DISCOVERY_DATA_BYTES_OFFSET, 1, 256'(DATA_WIDTH / 8));
    bits |= part(word, TP_DISCOVERY_CHANNELS_OFFSET, 2, 256'(CHANNELS));
    bits |= part(word, TP_DISCOVERY_ENTRY_OFFSET_OFFSET, 2, 256'(TP_DISCOVERY_ENTRY_OFFSET_VALUE));
    bits |= part(word, TP_DISCOVERY_ENTRY_BYTES_OFFSET, 2, 256'(TP_DISCOVERY_ENTRY_BYTES_VALUE));
    bits |= part(word, TP_DISCOVERY_VECTORS_OFFSET, 2, 256'(VECTORS));
    bits |= part(word, TP_DISCOVERY_USER_INTERRUPTS_OFFSET, 2, 256'(TP_USER_INTERRUPTS));
    bits |= part(word, TP_DISCOVERY_TAGS_OFFSET, 2, 256'(TAGS));
    bits |= part(word, TP_DISCOVERY_WINDOW_BYTES_OFFSET, 4, 256'(WINDOW_BYTES));
    bits |= part(word, TP_DISCOVERY_SERIAL_OFFSET, 8, 256'(SERIAL));
    bits |= part(word, TP_DISCOVERY_CORE_CLOCK_KHZ_OFFSET, 4, 256'(CORE_CLOCK_KHZ));
    bits |= part(word, TP_DISCOVERY_USER_CLOCK_KHZ_OFFSET, 4, 256'(USER_CLOCK_KHZ));
    bits |= part(word, TP_DISCOVERY_CORE_VERSION_OFFSET, 4, 256'(CORE_VERSION));
    bits |= part(word, TP_DISCOVERY_CORE_NAME_OFFSET, TP_DISCOVERY_CORE_NAME_COUNT, CORE_NAME);
    return bits;
  endfunction

  function automatic logic [31:0] entry(input int channel, input int word);
    logic [31:0] bits;
    logic h2c;
    h2c = channel < H2C;
    bits = 0;
    bits |= part(word, TP_CHANNEL_ENTRY_DIRECTION_OFFSET, 1, h2c ? 256'(TP_DIRECTION_H2C) : 256'(TP_DIRECTION_C2H));
    bits |= part(word, TP_CHANNEL_ENTRY_KIND_OFFSET, 1, 256'(TP_CHANNEL_KIND_STREAM));
    bits |= part(word, TP_CHANNEL_ENTRY_QUEUE_DEPTH_OFFSET, 2, 256'(QUEUE_DEPTH));
    bits |= part(word, TP_CHANNEL_ENTRY_INLINE_SLOTS_OFFSET, 2, h2c ? 256'(INLINE_SLOTS) : 256'(0));
    bits |= part(word, TP_CHANNEL_ENTRY_FIRST_PAGE_OFFSET, 4, 256'(TP_PAGE_CHANNELS + TP_PAGES_PER_CHANNEL * channel));
    bits |= part(word, TP_CHANNEL_ENTRY_BUFFER_BYTES_OFFSET, 4, h2c ? 256'(LANDING_BYTES) : 256'(SENDING_BYTES));
    bits |= part(word, TP_CHANNEL_ENTRY_NAME_OFFSET, TP_CHANNEL_ENTRY_NAME_COUNT, CHANNEL_NAMES[256*channel+:256]);
    return bits;
  endfunction

  logic [31:0] rom[WORDS];
  initial begin
    for (int w = 0; w < TP_DISCOVERY_CHANNEL_ENTRY_OFFSET / 4; w++) rom[w] = header(w);
    for (int c = 0; c < CHANNELS; c++)
    for (int w = 0; w < TP_CHANNEL_ENTRY_BYTES / 4; w++)
    rom[TP_DISCOVERY_CHANNEL_ENTRY_OFFSET/4+c*TP_CHANNEL_ENTRY_BYTES/4+w] = entry(c, w);
  end

  logic inside_q;
  logic [31:0] rom_q;
  assign data = inside_q ? rom_q : '0;

  always_ff @(posedge clk) begin
    ack <= ask;
    inside_q <= ask && 32'(offset) < WORDS;
    rom_q <= rom[$clog2(WORDS)'(offset)];
  end
  if (WORDS > 1024) $error("%m: the discovery page holds 4 KiB");
endmodule
