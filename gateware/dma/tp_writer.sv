// SPDX-License-Identifier: Apache-2.0
// Forms every memory write of the card: completion entries, MSI-X messages, and what the C2H channels send, read out of the sending room.
//
// A command waits in `next` until all reads of the one in `hand` are made, so that there is no gap between them. Entries go first, then
// MSI-X, then the channels in turn, weighted with QOS. What was read, a beat a cycle, goes on through two stages with its header; all of it stops when
// the link does.
//
// Each command has an owner: the channel whose data or entry it is, or for a message the card. What an owner in `withdraw` has in here is
// taken back, from all stages in one cycle, and what it sends is taken and forgotten: so its reset waits for no packet that cannot leave.
// Only the packet that the link has been shown stays, until the link takes it.
//
// Promises: writes leave in the order their commands were taken, each as one packet; so an entry stays behind the data that it tells of,
// and an interrupt behind its entry. Commands are taken one in two cycles. No packet starts while bus mastering is off (tp_posted_gate).
// A packet leaves whole or not at all.
// Without QOS nobody looks at shares.
// verilator lint_off UNUSEDSIGNAL
module tp_writer
  import tp_tlp_pkg::*;
  import towpath_pkg::*;
#(
    parameter int DATA_WIDTH = 128,
    parameter int H2C = 1,                  // channels that have entries only, ...
    parameter int CHANNELS = 1,             // ... and C2H channels
    parameter int SENDING_BYTES = 8192,
    parameter bit QOS = 0,
    parameter int SHARE = 13,
    localparam int OWNERS = H2C + CHANNELS + 1,  // the last one is the card
    localparam int OW = $clog2(OWNERS),
    localparam int KEEP = DATA_WIDTH / 8,
    localparam int KW = $clog2(KEEP),
    localparam int BW = $clog2(SENDING_BYTES),
    localparam int PW = CHANNELS > 1 ? $clog2(CHANNELS) : 1
) (
    input logic clk,
    input logic rst,
    input logic relaxed,
    input logic bus_master,
    input  logic [OWNERS-1:0] withdraw,     // rises only in a cycle in which bus mastering is off
    output logic [OWNERS-2:0] leaving,      // something of this channel's has been read in part and not left
    input logic [7:0] transmit_room,        // see tp_pace
    input logic [2:0] max_payload,
    input logic [OWNERS-1:0][2:0] tc,       // traffic classes

    // completion entries
    input  logic           entry_valid,
    output logic           entry_ready,
    input  logic [OW-1:0]  entry_owner,
    input  logic [63:0]    entry_addr,
    input  tp_completion_t entry,           // stands until entry_read
    output logic           entry_read,      // ... or taken back
    output logic           entry_leaving,   // an entry has been read and not left

    // MSI-X
    input  logic        message_valid,
    output logic        message_ready,
    input  logic [63:0] message_addr,
    input  logic [31:0] message,
    output logic        message_leaving,    // one has been taken, and leaves as soon as the link takes what is before it

    // C2H data
    input  logic [CHANNELS-1:0]                 command_valid,
    output logic [CHANNELS-1:0]                 command_ready,
    output logic [PW-1:0]                       command_channel,  // whose turn it is, ...
    input  logic [63:0]                         command_addr,     // ... and where its data goes, in the same cycle
    input  logic [CHANNELS-1:0][11:0]           command_last,  // bytes - 1; a command crosses no 4 KiB
    input  logic [CHANNELS-1:0][BW-1:0]         command_from,
    input  logic                                even,   // see tp_weighted
    input  logic [CHANNELS-1:0][SHARE-1:0]      share,
    input  logic [12:0]                         charge,
    output logic [CHANNELS-1:0]                 begun,    // a pulse: all reads before this channel's last command have been made
    output logic [CHANNELS-1:0]                 reading,  // a command of this channel waits or is being read for

    // to tp_sending_room: a beat of this channel's from this byte on, or `other`, comes back after two cycles with `advance`
    output logic                  advance,
    output logic                  read_data,
    output logic [PW-1:0]         read_channel,
    output logic [BW-1:0]         read_byte,
    output logic [DATA_WIDTH-1:0] read_other,
    input  logic [DATA_WIDTH-1:0] data,

    output logic                  posted_valid,
    input  logic                  posted_ready,
    output tp_write_hdr_t         posted_hdr,
    output logic [DATA_WIDTH-1:0] posted_data,
    output logic                  posted_last
);
  localparam int CARD = OWNERS - 1;
  // ------------------------------------------------------------------------------------------------ the next command
  typedef struct packed {
    logic [OW-1:0] owner;
    logic          entry;
    logic          relaxed;
    logic [2:0]    tc;
    logic [63:0]   addr;
  } command_t;
  command_t next;
  logic next_valid, next_gone, take, begin_next;  // `gone`: it is taken back in this cycle
  logic [11:0] next_last;
  logic [BW-1:0] next_from;
  logic [31:0] next_message;

  logic [CHANNELS-1:0] turn;
  logic free, any;  // for data; whose turn it is has some
  assign free = !next_valid && !entry_valid && !message_valid;
  assign any = |(command_valid & turn);
  if (QOS && CHANNELS > 1) begin : g_weighted
    tp_weighted #(
        .N(CHANNELS),
        .SHARE(SHARE)
    ) i_turn (
        .clk,
        .rst,
        .even,
        .share,
        .request(command_valid),
        .waiting('0),
        .take(free),
        .grant(turn),
        .charge
    );
  end else begin : g_plain
    tp_round_robin_ahead #(
        .N(CHANNELS)
    ) i_turn (
        .clk,
        .rst,
        .request(command_valid),
        .served(free),
        .turn
    );
  end
  assign take = !next_valid && (entry_valid || message_valid || any);
  assign entry_ready = !next_valid && entry_valid;
  assign message_ready = !next_valid && !entry_valid && message_valid;
  assign command_ready = (free ? turn : '0) | withdraw[H2C+:CHANNELS];
  always_comb begin
    command_channel = '0;
    for (int c = 1; c < CHANNELS; c++) if (turn[c]) command_channel |= PW'(c);
  end
  logic [OW-1:0] next_owner;
  assign next_owner = entry_valid ? entry_owner : message_valid ? OW'(CARD) : OW'(H2C + 32'(command_channel));
  assign next_gone = withdraw[next.owner];
  always_ff @(posedge clk) begin
    if (!next_valid) begin
      next <= '{
          owner: next_owner,
          entry: entry_valid,
          relaxed: relaxed && !entry_valid && !message_valid,
          tc: tc[next_owner],
          addr: entry_valid ? entry_addr : message_valid ? message_addr : command_addr
      };
      next_last <= entry_valid ? 12'd15 : message_valid ? 12'd3 : command_last[command_channel];
      next_from <= entry_valid || message_valid ? '0 : command_from[command_channel];
      next_message <= message;
    end
    if (take) next_valid <= 1'b1;
    else if (begin_next || next_gone) next_valid <= 1'b0;
    if (rst) next_valid <= 1'b0;
  end

  // ------------------------------------------------------------------------------------------------ the command in hand
  // The last byte counted from the first dword's start tells how many dwords and beats there are. Lane 0 holds that dword's start, so that is
  // where reading starts: up to three bytes before the first one, which no byte enable names.
  logic hand_valid, hand_gone, rd, rd_last;  // `hand_gone`, as `read_gone` and `out_gone`: see the end
  command_t hand;
  logic [11:0] hand_span;
  logic [BW-1:0] hand_from;
  logic [11:KW] hand_left;                  // beats after this one
  logic [31:0] hand_message;
  logic [11:0] next_span;
  assign next_span = next_last + 12'(next.addr[1:0]);
  assign rd = hand_valid && advance;
  assign begin_next = next_valid && (!hand_valid || (advance && rd_last));
  always_ff @(posedge clk) begin
    if (rd) begin
      hand_left <= hand_left - 1'b1;
      rd_last <= hand_left == (12 - KW)'(1);
      hand_from[BW-1:KW] <= hand_from[BW-1:KW] + 1'b1;
    end
    if ((rd && rd_last) || hand_gone) hand_valid <= 1'b0;
    if (begin_next) begin
      hand_valid <= !next_gone;
      hand <= next;
      hand_span <= next_span;
      hand_left <= next_span[11:KW];
      rd_last <= next_span[11:KW] == '0;
      hand_from <= next_from - BW'(next.addr[1:0]);
      hand_message <= next_message;
    end
    if (rst) hand_valid <= 1'b0;
  end
  logic [CHANNELS-1:0] rd_channel;
  for (genvar c = 0; c < CHANNELS; c++) begin : g_reading
    logic in_next;  // its data
    assign in_next = !next.entry && next.owner == OW'(H2C + c);
    assign rd_channel[c] = !hand.entry && hand.owner == OW'(H2C + c);
    always_ff @(posedge clk) begun[c] <= begin_next && in_next && !rst;
    assign reading[c] = (next_valid && in_next) || (hand_valid && rd_channel[c]);
  end
  assign entry_read = (hand_valid && hand.entry && ((advance && rd_last) || hand_gone)) || (next_valid && next.entry && next_gone);

  // An entry or a message goes out in the place of the RAM's bytes.
  logic [DATA_WIDTH-1:0] instead;
  if (DATA_WIDTH < 128) begin : g_halves
    assign instead = rd_last ? entry[127:64] : entry[63:0];
  end else begin : g_whole
    assign instead = DATA_WIDTH'(entry);
  end
  always_comb begin
    read_channel = '0;
    for (int c = 1; c < CHANNELS; c++) if (rd_channel[c]) read_channel |= PW'(c);
    read_other = '0;
    if (hand.entry) read_other = instead;
    if (hand.owner == OW'(CARD)) read_other = DATA_WIDTH'(hand_message);
  end
  assign read_data = |rd_channel;
  assign read_byte = hand_from;
  assign posted_data = data;

  // ------------------------------------------------------------------------------------------------ out
  logic read_valid, read_last, read_gone, out_valid, out_last, out_ready, out_gone;
  logic open;  // the packet at `out` has been shown; its beats stand one behind the other, up to its last one
  command_t read, out;
  logic out_data;  // it is C2H data
  logic [11:0] read_span, out_span;
  assign advance = !out_valid || out_ready;
  assign out_gone = withdraw[out.owner] && !open;
  assign read_gone = withdraw[read.owner] && !(open && !out_last);
  assign hand_gone = withdraw[hand.owner] && !(open && !out_last && !read_last);
  always_ff @(posedge clk) begin
    if (advance) begin
      read_valid <= hand_valid && !hand_gone;
      read_last <= rd_last;
      read <= hand;
      read_span <= hand_span;
      out_valid <= read_valid && !read_gone;
      out_last <= read_last;
      out <= read;
      out_data <= !read.entry && read.owner != OW'(CARD);
      out_span <= read_span;
    end else begin
      if (read_gone) read_valid <= 1'b0;
      if (out_gone) out_valid <= 1'b0;
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
      .hold(pace && out_data),
      .in_valid(out_valid),
      .in_ready(out_ready),
      .in_last(out_last),
      .out_valid(posted_valid),
      .out_ready(posted_ready),
      .open
  );
  always_comb for (int c = 0; c < OWNERS - 1; c++) leaving[c] = (read_valid && read.owner == OW'(c)) || (out_valid && out.owner == OW'(c));
  assign message_leaving = bus_master &&
      ((next_valid && next.owner == OW'(CARD)) || (hand_valid && hand.owner == OW'(CARD)) ||
       (read_valid && read.owner == OW'(CARD)) || (out_valid && out.owner == OW'(CARD)));
  assign entry_leaving = (read_valid && read.entry) || (out_valid && out.entry);

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
      relaxed: out.relaxed,
      tc: out.tc
  };
  assign posted_last = out_last;
endmodule
