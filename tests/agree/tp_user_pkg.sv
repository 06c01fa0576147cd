// SPDX-License-Identifier: Apache-2.0
// How the card under test is built, as host/cores generates it from a manifest. `built.py` writes it anew where a bench wants other numbers.
package tp_user_pkg;
  localparam int DATA_WIDTH = 128;
  localparam int H2C = 1;
  localparam int C2H = 1;
  localparam int KEEP = DATA_WIDTH / 8;
  localparam int NH = 1;
  localparam int NC = 1;
  localparam bit USER_ASYNC = 0;
  localparam int TAGS = 32;
  localparam int LANDING_BYTES = 16384;
  localparam int SENDING_BYTES = 8192;
  localparam int QUEUE_DEPTH = 16;
  localparam int INLINE_SLOTS = 4;
  localparam int WINDOW_BYTES = 4096;
  localparam int USER_INTERRUPTS = 16;
  localparam int CORE_CLOCK_KHZ = 250000;
  localparam int USER_CLOCK_KHZ = 250000;
  localparam logic [31:0] CORE_VERSION = 7;
  localparam logic [63:0] SERIAL = 64'h0123456789abcdef;
  // Text, the first character in the lowest byte: "loopback", and "out" above "in".
  localparam logic [255:0] CORE_NAME = 256'h6b636162706f6f6c;
  localparam logic [511:0] CHANNEL_NAMES = {256'h74756f, 256'h6e69};
  localparam logic [0:0] H2C_VERDICTS = '0;
  localparam logic [0:0] C2H_ASKED = '0;
  localparam logic [0:0] C2H_AHEAD = '0;
  // Parameter, version, number and name of each channel's kind: both are streams.
  localparam logic [239:0] CHANNEL_KINDS = {2{32'd0, 16'd1, 8'd0, 64'h6d6165727473}};
  localparam logic [63:0] MEMORY_WINDOW_BYTES = 0;
  localparam logic [31:0] CHANNEL_WINDOWS = '0;
  localparam logic [0:0] H2C_INBOX = '0;
  localparam logic [0:0] C2H_OUTBOX = '0;
  localparam int INBOX_BYTES = 16384;
  localparam int INBOX_FIRST = 0;
  localparam bit PEERS_ONLY = 0;
  localparam bit QOS = 0;
  localparam int PLUGINS = 0;
  localparam logic [1024-1:0] PLUGIN_ENTRIES = '0;
  localparam bit FILL = 0;
  localparam int USER_CLOCKS = 1;
endpackage
