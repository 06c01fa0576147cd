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
    parameter int USER_INTERRUPTS = 16,
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

  localparam int HEADER_WORDS = TP_DISCOVERY_CHANNEL_ENTRY_OFFSET / 4;
  localparam int ENTRY_WORDS = TP_CHANNEL_ENTRY_BYTES / 4;

  function automatic logic [HEADER_WORDS*32-1:0] header();
    logic [HEADER_WORDS*32-1:0] image;
    image = '0;
    image[8*TP_DISCOVERY_MAGIC_OFFSET+:64] = TP_DISCOVERY_MAGIC_VALUE;
    image[8*TP_DISCOVERY_VERSION_MAJOR_OFFSET+:16] = 16'(TP_VERSION_MAJOR);
    image[8*TP_DISCOVERY_VERSION_MINOR_OFFSET+:16] = 16'(TP_VERSION_MINOR);
    image[8*TP_DISCOVERY_HEADER_BYTES_OFFSET+:16] = TP_DISCOVERY_HEADER_BYTES_VALUE;
    image[8*TP_DISCOVERY_PAGE_SHIFT_OFFSET+:8] = 8'(PAGE_SHIFT);
    image[8*TP_DISCOVERY_DATA_BYTES_OFFSET+:8] = 8'(DATA_WIDTH / 8);
    image[8*TP_DISCOVERY_CHANNELS_OFFSET+:16] = 16'(CHANNELS);
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
    return image;
  endfunction

  function automatic logic [ENTRY_WORDS*32-1:0] entry(input int channel);
    logic [ENTRY_WORDS*32-1:0] image;
    logic h2c;
    h2c = channel < H2C;
    image = '0;
    image[8*TP_CHANNEL_ENTRY_DIRECTION_OFFSET+:8] = 8'(h2c ? TP_DIRECTION_H2C : TP_DIRECTION_C2H);
    image[8*TP_CHANNEL_ENTRY_KIND_OFFSET+:8] = 8'(TP_CHANNEL_KIND_STREAM);
    image[8*TP_CHANNEL_ENTRY_QUEUE_DEPTH_OFFSET+:16] = 16'(QUEUE_DEPTH);
    image[8*TP_CHANNEL_ENTRY_INLINE_SLOTS_OFFSET+:16] = h2c ? 16'(INLINE_SLOTS) : 16'd0;
    image[8*TP_CHANNEL_ENTRY_FIRST_PAGE_OFFSET+:32] = 32'(TP_PAGE_CHANNELS + TP_PAGES_PER_CHANNEL * channel);
    image[8*TP_CHANNEL_ENTRY_BUFFER_BYTES_OFFSET+:32] = h2c ? 32'(LANDING_BYTES) : 32'(SENDING_BYTES);
    image[8*TP_CHANNEL_ENTRY_NAME_OFFSET+:256] = CHANNEL_NAMES[256*channel+:256];
    return image;
  endfunction

  logic [31:0] rom[WORDS];
  initial begin
    logic [HEADER_WORDS*32-1:0] top;
    logic [ENTRY_WORDS*32-1:0] row;
    top = header();
    for (int w = 0; w < HEADER_WORDS; w++) rom[w] = top[32*w+:32];
    for (int c = 0; c < CHANNELS; c++) begin
      row = entry(c);
      for (int w = 0; w < ENTRY_WORDS; w++) rom[HEADER_WORDS+c*ENTRY_WORDS+w] = row[32*w+:32];
    end
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
