// SPDX-License-Identifier: Apache-2.0
// Forms every memory write of the card: completion entries, MSI-X messages, and what the C2H channels send, read out of the sending RAM.
//
// A command waits in `next` until all reads of the one in `hand` are made, so that there is no gap between them. Entries go first, then
// MSI-X, then the channels in turn. What was read, a beat a cycle, goes on through two stages with its header; all of it stops when
// the link does.
//
// Promises: writes leave in the order their commands were taken, each as one packet; so an entry stays behind the data that it tells of,
// and an interrupt behind its entry. Commands are taken one in two cycles. No packet starts while bus mastering is off (tp_posted_gate).
module tp_writer
  import tp_tlp_pkg::*;
  import towpath_pkg::*;
#(
    parameter int DATA_WIDTH = 128,
    parameter int CHANNELS = 1,             // C2H channels
    parameter int SENDING_BYTES = 8192,
    localparam int KEEP = DATA_WIDTH / 8,
    localparam int KW = $clog2(KEEP),
    localparam int BW = $clog2(SENDING_BYTES),
    localparam int PW = CHANNELS > 1 ? $clog2(CHANNELS) : 1
) (
    input logic clk,
    input logic rst,
    input logic relaxed,
    input logic bus_master,
    input logic discard,                    // with bus mastering off: swallow
    input logic [7:0] transmit_room,        // see tp_pace
    input logic [2:0] max_payload,

    // completion entries
    input  logic           entry_valid,
    output logic           entry_ready,
    input  logic [63:0]    entry_addr,
    input  tp_completion_t entry,           // stands until entry_read
    output logic           entry_read,
    output logic           entry_gone,      // the entry read last has left the card

    // MSI-X
    input  logic        message_valid,
    output logic        message_ready,
    input  logic [63:0] message_addr,
    input  logic [31:0] message,
    output logic        message_leaving,  // one has been taken, and leaves as soon as the link takes what is before it

    // C2H data
    input  logic [CHANNELS-1:0]                 beat_valid,
    input  logic [CHANNELS-1:0][BW-1:KW]        beat_at,
    input  logic [CHANNELS-1:0][DATA_WIDTH-1:0] beat_data,
    input  logic [CHANNELS-1:0]                 command_valid,
    output logic [CHANNELS-1:0]                 command_ready,
    output logic [PW-1:0]                       command_channel,  // whose turn it is, ...
    input  logic [63:0]                         command_addr,     // ... and where its data goes, in the same cycle
    input  logic [CHANNELS-1:0][11:0]           command_last,  // bytes - 1; a command crosses no 4 KiB
    input  logic [CHANNELS-1:0][BW-1:0]         command_from,
    output logic [CHANNELS-1:0]                 begun,    // a pulse: all reads before this channel's last command are made
    output logic [CHANNELS-1:0]                 reading,  // a command of this channel waits or is being read for

    output logic                  posted_valid,
    input  logic                  posted_ready,
    output tp_write_hdr_t         posted_hdr,
    output logic [DATA_WIDTH-1:0] posted_data,
    output logic                  posted_last
);
  localparam int SOURCES = CHANNELS + 2;
  localparam int ENTRY = CHANNELS;
  localparam int MESSAGE = CHANNELS + 1;
  localparam int CW = $clog2(SOURCES);

  // ------------------------------------------------------------------------------------------------ the next command
  typedef struct packed {
    logic [CW-1:0] source;
    logic          relaxed;
    logic [63:0]   addr;
  } command_t;
  command_t next;
  logic next_valid, take, begin_next;
  logic [11:0] next_last;
  logic [BW-1:0] next_from;
  logic [31:0] next_message;

  logic [CHANNELS-1:0] turn;
  logic [CW-1:0] source;
  tp_round_robin #(
      .N(CHANNELS)
  ) i_turn (
      .clk,
      .rst,
      .request(command_valid),
      .take(|command_ready),
      .grant(turn)
  );
  assign take = !next_valid && (entry_valid || message_valid || |command_valid);
  assign entry_ready = !next_valid && entry_valid;
  assign message_ready = !next_valid && !entry_valid && message_valid;
  assign command_ready = !next_valid && !entry_valid && !message_valid ? turn : '0;
  always_comb begin
    command_channel = '0;
    for (int c = 1; c < CHANNELS; c++) if (turn[c]) command_channel |= PW'(c);
    source = CW'(command_channel);
    if (message_valid) source = CW'(MESSAGE);
    if (entry_valid) source = CW'(ENTRY);
  end
  always_ff @(posedge clk) begin
    if (!next_valid) begin
      next <= '{
          source: source,
          relaxed: relaxed && !entry_valid && !message_valid,
          addr: entry_valid ? entry_addr : message_valid ? message_addr : command_addr
      };
      next_last <= entry_valid ? 12'd15 : message_valid ? 12'd3 : command_last[command_channel];
      next_from <= entry_valid || message_valid ? '0 : command_from[command_channel];
      next_message <= message;
    end
    if (take) next_valid <= 1'b1;
    else if (begin_next) next_valid <= 1'b0;
    if (rst) next_valid <= 1'b0;
  end

  // ------------------------------------------------------------------------------------------------ the command in hand
  // The last byte counted from the first dword's start tells how many dwords and beats there are. Lane 0 holds that dword's start, so that is
  // where reading starts: up to three bytes before the first one, which no byte enable names.
  logic advance, hand_valid, rd, rd_last;
  command_t hand;
  logic [11:0] hand_span;
  logic [BW-1:0] hand_from;
  logic [11:KW] hand_left;                  // beats after this one
  logic [31:0] hand_message;
  logic [11:0] next_span;
  assign next_span = next_last + 12'(next.addr[1:0]);
  assign rd = hand_valid && advance;
  assign rd_last = hand_left == '0;
  assign begin_next = next_valid && (!hand_valid || (advance && rd_last));
  always_ff @(posedge clk) begin
    if (rd) begin
      hand_left <= hand_left - 1'b1;
      hand_from[BW-1:KW] <= hand_from[BW-1:KW] + 1'b1;
      if (rd_last) hand_valid <= 1'b0;
    end
    if (begin_next) begin
      hand_valid <= 1'b1;
      hand <= next;
      hand_span <= next_span;
      hand_left <= next_span[11:KW];
      hand_from <= next_from - BW'(next.addr[1:0]);
      hand_message <= next_message;
    end
    if (rst) hand_valid <= 1'b0;
  end
  for (genvar c = 0; c < CHANNELS; c++) begin : g_reading
    assign begun[c] = begin_next && next.source == CW'(c);
    assign reading[c] = (next_valid && next.source == CW'(c)) || (hand_valid && hand.source == CW'(c));
  end
  assign entry_read = rd && rd_last && hand.source == CW'(ENTRY);

  // An entry or a message goes out in the place of the RAM's bytes.
  logic [CHANNELS-1:0] rd_channel;
  logic [DATA_WIDTH-1:0] instead, other;
  if (DATA_WIDTH < 128) begin : g_halves
    assign instead = rd_last ? entry[127:64] : entry[63:0];
  end else begin : g_whole
    assign instead = DATA_WIDTH'(entry);
  end
  always_comb begin
    for (int c = 0; c < CHANNELS; c++) rd_channel[c] = hand.source == CW'(c);
    other = '0;
    if (hand.source == CW'(ENTRY)) other = instead;
    if (hand.source == CW'(MESSAGE)) other = DATA_WIDTH'(hand_message);
  end
  tp_sending_ram #(
      .DATA_WIDTH(DATA_WIDTH),
      .CHANNELS(CHANNELS),
      .BYTES(SENDING_BYTES)
  ) i_ram (
      .clk,
      .wr_valid(beat_valid),
      .wr_beat(beat_at),
      .wr_data(beat_data),
      .advance,
      .rd(rd_channel),
      .rd_byte(hand_from),
      .other,
      .out_data(posted_data)
  );

  // ------------------------------------------------------------------------------------------------ out
  logic read_valid, read_last, out_valid, out_last, out_ready;
  command_t read, out;
  logic [11:0] read_span, out_span;
  assign advance = !out_valid || out_ready;
  always_ff @(posedge clk) begin
    if (advance) begin
      read_valid <= hand_valid;
      read_last <= rd_last;
      read <= hand;
      read_span <= hand_span;
      out_valid <= read_valid;
      out_last <= read_last;
      out <= read;
      out_span <= read_span;
    end
    if (rst) begin
      read_valid <= 1'b0;
      out_valid <= 1'b0;
    end
  end

  // Entries and messages are small and few: they go as soon as what was taken before them has gone.
  logic pace, begins;
  tp_pace i_pace (
      .clk,
      .rst,
      .room(transmit_room),
      .max_payload,
      .start(posted_valid && posted_ready && begins),
      .hold(pace)
  );
  always_ff @(posedge clk) begin
    if (posted_valid && posted_ready) begins <= posted_last;
    if (rst) begins <= 1'b1;
  end
  tp_posted_gate i_gate (
      .clk,
      .rst,
      .bus_master,
      .discard,
      .hold(pace && out.source < CW'(ENTRY)),
      .in_valid(out_valid),
      .in_ready(out_ready),
      .in_last(out_last),
      .out_valid(posted_valid),
      .out_ready(posted_ready)
  );
  assign message_leaving = bus_master &&
      ((next_valid && next.source == CW'(MESSAGE)) || (hand_valid && hand.source == CW'(MESSAGE)) ||
       (read_valid && read.source == CW'(MESSAGE)) || (out_valid && out.source == CW'(MESSAGE)));
  assign entry_gone = out_valid && out_ready && out_last && out.source == CW'(ENTRY);

  logic [3:0] head_be, tail_be;
  logic one;  // a single dword
  assign head_be = 4'b1111 << out.addr[1:0];
  assign tail_be = 4'b1111 >> (2'd3 - out_span[1:0]);
  assign one = out_span[11:2] == '0;
  assign posted_hdr = '{
      addr: {out.addr[63:2], 2'b00},
      dwords: 11'(out_span[11:2]) + 11'd1,
      first_be: one ? head_be & tail_be : head_be,
      last_be: one ? 4'b0000 : tail_be,
      relaxed: out.relaxed
  };
  assign posted_last = out_last;
endmodule
