// SPDX-License-Identifier: Apache-2.0
// Posts the descriptors of C2H channels that are paired with a channel of another card, as far as these have given credit.
//
// It stands in the way from the doorbell pages to the mover. In a clock in which no packet of the host's comes, it puts a descriptor there as a host would write
// it: one slot at the partner's inbox, with the slot's number as its cookie. What the mover makes of it is a descriptor like any other.
//
// `paired` tells the mover that entries go to the inbox. It stays until the host clears it or the channel has been reset; a reset of the channel, or a
// fault, stops the posting at once.
//
// Promises: no more slots are posted than the partner has allowed since pairing, nor than QUEUE_DEPTH that have not ended. A credit with another key, or of
// fewer slots than the last one, changes nothing.
// Not for: a channel on which the host posts, too.
module tp_outbox
  import towpath_pkg::*;
#(
    parameter int DATA_WIDTH = 128,
    parameter int H2C = 1,
    parameter int C2H = 1,
    parameter int QUEUE_DEPTH = 16,
    localparam int CHANNELS = H2C + C2H,
    localparam int CW = CHANNELS > 1 ? $clog2(CHANNELS) : 1,
    localparam int NC = C2H == 0 ? 1 : C2H,
    parameter logic [NC-1:0] ABLE = '1  // channels that can be paired
) (
    input logic clk,
    input logic rst,

    // from control, and on to the mover
    input  logic                    busy,            // a packet of the host's comes
    input  logic [CW-1:0]           in_channel,
    input  logic [11:2]             in_offset,
    input  logic [DATA_WIDTH-1:0]   in_data,
    input  logic [DATA_WIDTH/8-1:0] in_strb,
    input  logic                    in_words_valid,  // two clocks after its beat, ...
    input  logic                    in_push_valid,   // ... and this, too
    input  logic [CW-1:0]           in_push_channel,
    input  logic                    in_push_torn,
    input  logic [7:0]              in_push_count,
    output logic [CW-1:0]           wr_channel,
    output logic [11:2]             wr_offset,
    output logic [DATA_WIDTH-1:0]   wr_data,
    output logic [DATA_WIDTH/8-1:0] wr_strb,
    output logic                    words_valid,
    output logic                    push_valid,
    output logic [CW-1:0]           push_channel,
    output logic                    push_torn,
    output logic [7:0]              push_count,

    // verilator lint_off UNUSEDSIGNAL
    input logic          credit_valid,
    input logic [CW-1:0] credit_channel,
    input logic [31:0]   credit,

    input  logic          write_valid,               // of a privileged page
    input  logic [CW-1:0] write_channel,
    input  logic [7:3]    write_offset,
    input  logic [63:0]   write_data,
    input  logic [7:0]    write_strb,
    input  logic          read_valid,
    input  logic [CW-1:0] read_channel,
    input  logic [7:3]    read_offset,
    output logic [63:0]   read_data,                 // from the clock after `read_valid` on; 0 for what is not here

    input  logic [CHANNELS-1:0] enabled,
    // verilator lint_on UNUSEDSIGNAL
    input  logic [NC-1:0]       flush,               // the channel has been reset
    // verilator lint_off UNUSEDSIGNAL
    input  logic [CHANNELS-1:0]      ended,          // a descriptor is, ...
    input  logic [CHANNELS-1:0][7:0] ended_status,   // ... with this
    // verilator lint_on UNUSEDSIGNAL
    output logic [CHANNELS-1:0] paired,              // C2H only
    output logic [CHANNELS-1:0] alarm                // pulses: a fault
);
  localparam logic [7:3] BASE = 5'(TP_CHANNEL_PEER_BASE_OFFSET / 8);
  localparam logic [7:3] CONTROL = 5'(TP_CHANNEL_PEER_CONTROL_OFFSET / 8);
  localparam int COUNT = $clog2(QUEUE_DEPTH) + 1;
  localparam int BEATS = DATA_WIDTH < 128 ? 128 / DATA_WIDTH : 1;
  if (TP_CHANNEL_PEER_BASE_OFFSET % 8 != 0 || TP_CHANNEL_PEER_CONTROL_OFFSET % 8 != 0 ||
      TP_CHANNEL_PEER_STATUS_OFFSET != TP_CHANNEL_PEER_CONTROL_OFFSET + 4 || TP_DOORBELL_DESCRIPTOR_OFFSET % 64 != 0)
    $error("%m: the contract's pages have changed: adapt it");

  // ------------------------------------------------------------------------------------------------ channels
  logic [NC-1:0] want, pick;
  logic choose;
  tp_descriptor_t [NC-1:0] descriptors;
  logic [NC-1:0][63:0] words;  // what a read of control and status shows
  logic [7:0] credit_key;
  logic [15:0] credit_slots;
  assign credit_key = credit[TP_DOORBELL_CREDIT_KEY_LSB+:8];
  assign credit_slots = credit[TP_DOORBELL_CREDIT_SLOTS_LSB+:16];
  if (H2C != 0) begin : g_h2c
    assign paired[H2C-1:0] = '0;
    assign alarm[H2C-1:0] = '0;
  end
  for (genvar c = 0; c < NC; c++) begin : g_channel
    localparam int C = H2C + (c < C2H ? c : 0);
    if (C2H != 0 && ABLE[c]) begin : g_able
      logic mine, sets, posting, posts, faulty, linked, failed;
      logic [3:0] slot_log2;
      logic [7:0] key, fault;
      logic [63:13] base;
      logic [15:0] posted, allowed;
      logic [COUNT-1:0] under_way;
      assign paired[C] = linked;
      assign alarm[C] = failed;
      assign mine = write_valid && write_channel == CW'(C);
      assign sets = mine && write_offset == CONTROL && (&write_strb[3:0]);
      assign posts = choose && pick[c];
      assign faulty = ended[C] && ended_status[C] != TP_STATUS_DONE && ended_status[C] != TP_STATUS_END_OF_MESSAGE &&
          ended_status[C] != TP_STATUS_CANCELLED;
      assign want[c] = posting && paired[C] && enabled[C] && allowed != posted && under_way != COUNT'(QUEUE_DEPTH);
      assign descriptors[c] = '{
          address: {base, 13'b0},
          length: 32'd1 << slot_log2,
          cookie: posted,
          control: '{reserved: '0, end_: 1'b0, kind: TP_KIND_DIRECT}
      };
      assign words[c] = {
        fault, 7'b0, under_way == '0, posted,  //
        8'b0, key, 4'b0, slot_log2, 6'b0, posting, paired[C]
      };
      always_ff @(posedge clk) begin
        if (mine && write_offset == BASE && (&write_strb[3:0])) base[31:13] <= write_data[31:13];
        if (mine && write_offset == BASE && (&write_strb[7:4])) base[63:32] <= write_data[63:32];
        under_way <= under_way + COUNT'(posts) - COUNT'(ended[C] && under_way != '0);
        if (posts) posted <= posted + 1'b1;
        if (credit_valid && credit_channel == CW'(C) && paired[C] && credit_key == key && $signed(credit_slots - allowed) > 0)
          allowed <= credit_slots;
        failed <= faulty && paired[C] && !rst;
        if (faulty && paired[C]) begin
          posting <= 1'b0;
          fault <= ended_status[C];
        end
        if (sets) begin
          linked <= write_data[TP_CHANNEL_PEER_CONTROL_PAIRED_LSB];
          posting <= write_data[TP_CHANNEL_PEER_CONTROL_POSTING_LSB];
          slot_log2 <= write_data[TP_CHANNEL_PEER_CONTROL_SLOT_LOG2_LSB+:4];
          key <= write_data[TP_CHANNEL_PEER_CONTROL_KEY_LSB+:8];
          if (!paired[C]) begin
            posted <= '0;
            allowed <= '0;
            fault <= '0;
          end
        end
        if (rst || flush[c]) begin
          linked <= 1'b0;
          posting <= 1'b0;
          under_way <= '0;
        end
      end
    end else begin : g_unable
      logic unused;
      assign unused = ^{flush[c], pick[c]};
      assign {want[c], descriptors[c], words[c]} = '0;
      if (C2H != 0) begin : g_never
        assign {paired[C], alarm[C]} = '0;
      end
    end
  end

  always_ff @(posedge clk) begin
    if (read_valid) begin
      read_data <= '0;
      for (int c = 0; c < C2H; c++) if (read_channel == CW'(H2C + c) && read_offset == CONTROL) read_data <= words[c];
    end
  end

  // ------------------------------------------------------------------------------------------------ one descriptor after another
  // A descriptor is chosen, then shown, in beats, as soon as the host leaves a clock; the next one comes when the mover has counted this one.
  logic [3:0] rest;  // clocks until then
  logic shows, mine;
  logic [$clog2(BEATS+1)-1:0] beat;
  logic [CW-1:0] channel;
  logic [NC-1:0][CW-1:0] numbers;
  tp_descriptor_t descriptor, picked;
  tp_round_robin #(
      .N(NC)
  ) i_turn (
      .clk,
      .rst,
      .request(want),
      .take(choose),
      .grant(pick)
  );
  always_comb begin
    picked = '0;
    for (int c = 0; c < NC; c++) numbers[c] = CW'(H2C + c);
    for (int c = 0; c < NC; c++) if (pick[c]) picked |= descriptors[c];
  end
  assign choose = |want && !shows && rest == '0;
  assign mine = shows && !busy;
  logic [1:0] words_soon, push_soon;
  logic [1:0][CW-1:0] channel_soon;
  always_ff @(posedge clk) begin
    if (choose) begin
      descriptor <= picked;
      channel <= '0;
      for (int c = 0; c < NC; c++) if (pick[c]) channel <= numbers[c];
      shows <= 1'b1;
      beat <= '0;
    end
    if (mine) begin
      beat <= beat + 1'b1;
      if (32'(beat) == BEATS - 1) shows <= 1'b0;
    end
    if (shows && !enabled[channel]) shows <= 1'b0;  // its channel is being reset
    if (shows) rest <= '1;
    else if (rest != '0) rest <= rest - 1'b1;
    words_soon <= {words_soon[0], mine};
    push_soon <= {push_soon[0], mine && 32'(beat) == BEATS - 1};
    channel_soon <= {channel_soon[0], channel};
    if (rst) begin
      shows <= 1'b0;
      rest <= '0;
      words_soon <= '0;
      push_soon <= '0;
    end
  end

  logic [127:0] image;
  assign image = descriptor;
  always_comb begin
    wr_channel = in_channel;
    wr_offset = in_offset;
    wr_data = in_data;
    wr_strb = in_strb;
    if (mine) begin
      wr_channel = channel;
      wr_offset = 10'(TP_DOORBELL_DESCRIPTOR_OFFSET / 4) + 10'(32'(beat) * DATA_WIDTH / 32);
      wr_data = DATA_WIDTH'(image >> (32'(beat) * DATA_WIDTH));
      wr_strb = (DATA_WIDTH / 8)'(16'hffff);
    end
    words_valid = in_words_valid || words_soon[1];
    push_valid = in_push_valid || push_soon[1];
    push_channel = push_soon[1] ? channel_soon[1] : in_push_channel;
    push_torn = in_push_torn && !push_soon[1];
    push_count = push_soon[1] ? 8'd1 : in_push_count;
  end
endmodule
