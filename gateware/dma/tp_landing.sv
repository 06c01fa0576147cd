// SPDX-License-Identifier: Apache-2.0
// Takes every completion in the cycle it comes and puts its payload where its request reserved room.
//
// What a request still waits for stands beside its tag, so packets of different tags may come in any order and cut in any legal way. Data
// goes to the landing RAM, list entries to the walkers, and when the last of a request has been written, `done` says so.
//
// A request starts on a completion boundary (64 bytes) or ends before the next one, so it is answered by one packet or by packets which all start
// on a boundary. Hence a packet's beats are rows of the landing RAM, written whole, and blocks of 64 bytes say how far a request is.
//
// A packet whose byte count, length or address cannot be the next of its request ends the request (`bad_completion`); a request that is
// overdue ends like one whose packet has come, in a cycle without one. Either is given up: what else comes for it is counted and dropped,
// as is what comes for a tag that is not out.
//
// Promises: no back-pressure towards the link, ever. Nothing is written outside the room that a request has reserved. `done` comes
// beside the last write. Inline data (`inject_*`) is written in cycles that completions leave free.
// The lowest bits of byte positions, and what one width needs and another does not.
// verilator lint_off UNUSEDSIGNAL
module tp_landing
  import tp_tlp_pkg::*;
  import towpath_pkg::*;
#(
    parameter int DATA_WIDTH = 128,
    parameter int H2C = 1,
    parameter int CHANNELS = 2,
    parameter int TAGS = 32,
    parameter int LANDING_BYTES = 8192,
    parameter int SLOTS = 32,              // order slots for each channel
    localparam int TW = $clog2(TAGS),
    localparam int SW = $clog2(SLOTS),
    localparam int CW = CHANNELS > 1 ? $clog2(CHANNELS) : 1,
    localparam int NH = H2C == 0 ? 1 : H2C,
    localparam int HW = NH > 1 ? $clog2(NH) : 1,
    localparam int BW = $clog2(LANDING_BYTES / CPL_BOUNDARY),  // block in a channel's region
    localparam int RW = $clog2(LANDING_BYTES / (DATA_WIDTH / 8)),  // row in a channel's region
    localparam int LANES = DATA_WIDTH / 32,
    localparam int CONTEXT = 1 + CW + SW + BW
) (
    input logic clk,
    input logic rst,

    input logic                  rx_valid,
    input tp_completion_hdr_t    rx_hdr,
    input logic [DATA_WIDTH-1:0] rx_data,
    input logic                  rx_last,

    input  logic               note_valid,
    input  logic [TW-1:0]      note_tag,
    input  logic [CONTEXT-1:0] note_context,  // {list, channel, slot, block}
    input  logic [12:0]        note_bytes,
    input  logic [6:0]         note_low,      // address of the first byte, modulo 128
    input  logic [TAGS-1:0]    busy,
    input  logic [TAGS-1:0]    quarantined,
    output logic               free_valid,
    output logic               give_up_valid,
    output logic [TW-1:0]      free_tag,      // of either
    input  logic               overdue_valid,
    output logic               overdue_ready,
    input  logic [TW-1:0]      overdue_tag,
    input  logic               overdue_link,
    output logic               packet_valid,  // a packet is half way in
    output logic [TW-1:0]      packet_tag,
    output logic               event_valid,   // for the counters of the card page
    output logic [3:0]         event_code,    // the counter's dword in the card page, modulo 16

    input  logic          inject_valid,
    output logic          inject_ready,
    input  logic [HW-1:0] inject_channel,
    input  logic [BW-1:0] inject_block,       // its first row gets the word, in its first bytes
    input  logic [63:0]   inject_data,

    output logic                  write_valid,
    output logic [HW-1:0]         write_channel,
    output logic [RW-1:0]         write_row,
    output logic [DATA_WIDTH-1:0] write_data,

    output logic          done_valid,
    output logic [CW-1:0] done_channel,
    output logic [SW-1:0] done_slot,
    output logic [7:0]    done_status,        // TP_STATUS_DONE when good

    output logic          entry_valid,        // for the walker of entry_channel
    output logic [CW-1:0] entry_channel,
    output logic [127:0]  entry,
    output logic          entry_last,
    output logic          entry_failed,       // with entry_valid: no entry but entry_status
    output logic [7:0]    entry_status
);
  // ------------------------------------------------------------------------------------------------ what is out
  logic [CONTEXT+19:0] notes[TAGS];
  logic [5:0] states[TAGS];                 // once the first packet has come: blocks that have come
  logic [TAGS-1:0] begun, spoiled;  // the first packet has come; a poisoned one has
  always_ff @(posedge clk) if (note_valid) notes[note_tag] <= {note_context, note_bytes, note_low};

  // ------------------------------------------------------------------------------------------------ the packet in hand
  logic s_valid, s_last, s_overdue, s_link;
  tp_completion_hdr_t s_hdr;
  logic [DATA_WIDTH-1:0] s_data;
  logic rx_inside;                          // the next beat belongs to the packet of the one before
  assign overdue_ready = !rx_valid && !rx_inside;
  always_ff @(posedge clk) begin
    s_valid <= (rx_valid || (overdue_valid && overdue_ready)) && !rst;
    s_overdue <= !rx_valid;
    s_link <= overdue_link;
    s_last <= rx_last || !rx_valid;
    s_hdr <= rx_hdr;
    if (!rx_valid) s_hdr.tag <= 10'(overdue_tag);
    s_data <= rx_data;
    if (rx_valid) rx_inside <= !rx_last;
    if (rst) rx_inside <= 1'b0;
  end

  logic [TW-1:0] s_tag;
  logic n_list;
  logic [CW-1:0] n_channel;
  logic [SW-1:0] n_slot;
  logic [BW-1:0] n_block, block;
  logic [12:0] n_bytes, bytes;  // still to come, with this packet's
  logic [6:0] n_low, low;
  logic [5:0] gone;  // blocks that came before
  assign s_tag = s_hdr.tag[TW-1:0];
  assign {n_list, n_channel, n_slot, n_block, n_bytes, n_low} = notes[s_tag];
  assign gone = begun[s_tag] ? states[s_tag] : '0;
  assign bytes = {n_bytes[12:6] - 7'(gone), n_bytes[5:0]};
  assign low = {n_low[6] ^ gone[0], n_low[5:0]};
  assign block = n_block + BW'(gone);

  // A packet ends its request, or at a read completion boundary.
  // Whether its read is out is asked when it begins: the tag may be another read's before it ends.
  logic first;  // the packet's first beat
  logic out, known, out_first, known_first;
  logic [TW-1:0] packet_last;
  logic bad, good, final_packet;
  logic [11:0] whole;                       // dwords which all that is still to come would have
  logic [3:0] stop;                         // address of the packet's end, in dwords modulo a block
  assign out = first ? 32'(s_hdr.tag) < 32'(TAGS) && busy[s_tag] : out_first;
  assign known = first ? out && !quarantined[s_tag] : known_first;
  assign packet_valid = s_valid || !first;
  assign packet_tag = s_valid ? s_tag : packet_last;
  assign whole = 12'((14'(s_hdr.byte_count) + 14'(s_hdr.lower_addr[1:0]) + 14'd3) >> 2);
  assign stop = s_hdr.lower_addr[5:2] + s_hdr.dwords[3:0];
  assign final_packet = s_overdue || s_hdr.status != CPL_OK || 12'(s_hdr.dwords) >= whole;
  assign bad = !s_overdue && s_hdr.status == CPL_OK &&
               (s_hdr.byte_count != bytes || s_hdr.lower_addr != low || s_hdr.dwords == '0 || 12'(s_hdr.dwords) > whole ||
                (12'(s_hdr.dwords) < whole && stop != '0));
  assign good = !s_overdue && s_hdr.status == CPL_OK && !s_hdr.poisoned && !bad;

  logic [8:0] beats;  // of the packet, before this one
  always_ff @(posedge clk) begin
    if (s_valid) begin
      first <= s_last;
      out_first <= out;
      known_first <= known;
      packet_last <= s_tag;
      beats <= s_last ? '0 : beats + 1'b1;
    end
    if (rst) begin
      first <= 1'b1;
      beats <= '0;
    end
  end

  // ------------------------------------------------------------------------------------------------ writes
  logic write;
  assign write = s_valid && known && good && !n_list;
  assign inject_ready = !write;
  always_ff @(posedge clk) begin
    write_valid <= (write || inject_valid) && !rst;
    write_channel <= write ? HW'(n_channel) : inject_channel;
    write_row <= (RW'(write ? block : inject_block) << (RW - BW)) + (write ? RW'(beats) : '0);
    write_data <= s_data;
    if (!write) write_data[63:0] <= inject_data;
  end

  // ------------------------------------------------------------------------------------------------ done
  // One poisoned packet spoils its request, whichever packet comes last.
  logic [7:0] status;
  logic ends, finished;
  always_comb begin
    case (s_hdr.status)
      CPL_OK: status = bad ? TP_STATUS_BAD_COMPLETION : s_hdr.poisoned || spoiled[s_tag] ? TP_STATUS_POISONED : TP_STATUS_DONE;
      CPL_COMPLETER_ABORT: status = TP_STATUS_COMPLETER_ABORT;
      default: status = TP_STATUS_UNSUPPORTED_REQUEST;
    endcase
    if (s_overdue) status = s_link ? TP_STATUS_LINK_DOWN : TP_STATUS_TIMEOUT;
  end
  assign ends = final_packet || bad;
  assign finished = s_valid && s_last && known && ends;
  assign give_up_valid = finished && (s_overdue || bad);
  assign free_valid = s_valid && s_last && out && final_packet && !s_overdue && !(known && bad);
  assign free_tag = s_tag;

  always_ff @(posedge clk) begin
    if (s_valid && s_last && known && !ends) states[s_tag] <= gone + s_hdr.dwords[9:4];
    if (s_valid && s_last && known && !ends) begin
      begun[s_tag] <= 1'b1;
      if (s_hdr.poisoned) spoiled[s_tag] <= 1'b1;
    end
    if (note_valid) begin
      begun[note_tag] <= 1'b0;
      spoiled[note_tag] <= 1'b0;
    end
    event_valid <= s_valid && s_last && !rst && (known ? ends && status != TP_STATUS_DONE && status != TP_STATUS_LINK_DOWN : !s_overdue);
    case (status)
      TP_STATUS_UNSUPPORTED_REQUEST: event_code <= 4'(TP_CARD_UNSUPPORTED_REQUESTS_OFFSET / 4);
      TP_STATUS_COMPLETER_ABORT: event_code <= 4'(TP_CARD_COMPLETER_ABORTS_OFFSET / 4);
      TP_STATUS_POISONED: event_code <= 4'(TP_CARD_POISONED_OFFSET / 4);
      TP_STATUS_TIMEOUT: event_code <= 4'(TP_CARD_TIMEOUTS_OFFSET / 4);
      default: event_code <= 4'(TP_CARD_BAD_COMPLETIONS_OFFSET / 4);
    endcase
    if (!known) event_code <= out ? 4'(TP_CARD_LATE_COMPLETIONS_OFFSET / 4) : 4'(TP_CARD_UNEXPECTED_COMPLETIONS_OFFSET / 4);
  end

  always_ff @(posedge clk) begin
    done_valid <= finished && !n_list && !rst;
    done_channel <= n_channel;
    done_slot <= n_slot;
    done_status <= status;
  end

  // ------------------------------------------------------------------------------------------------ list entries
  // Beats wait here until they have been cut into entries. Each walker has one fetch under way, so the queue cannot overflow.
  localparam int BEATS = 512 / DATA_WIDTH;
  localparam int LIST_DEPTH = 2 ** $clog2(CHANNELS * BEATS + 1);
  localparam int PER_BEAT = DATA_WIDTH > 128 ? DATA_WIDTH / 128 : 1;
  logic l_push, l_ready, l_valid, l_pop, l_last, l_failed;
  logic [CW-1:0] l_channel;
  logic [7:0] l_status;
  logic [2:0] l_entries;                    // whole entries in the beat; with 64 bit, 1
  logic [DATA_WIDTH-1:0] l_data;
  logic [2:0] s_entries;
  logic [10:0] left;                        // dwords of the packet, from this beat on
  assign left = s_hdr.dwords - 11'(beats) * 11'(LANES);
  assign l_push = s_valid && known && n_list && (good || (s_last && ends));
  assign s_entries = left >= 11'(LANES) ? 3'(PER_BEAT) : 3'(left >> 2);

  tp_fifo #(
      .WIDTH(DATA_WIDTH + 5 + CW + 8),
      .DEPTH(LIST_DEPTH < 2 ? 2 : LIST_DEPTH)
  ) i_lists (
      .clk,
      .rst,
      .clear(1'b0),
      .in_valid(l_push),
      .in_ready(l_ready),
      .in_data({s_data, s_last && ends, status != TP_STATUS_DONE, DATA_WIDTH == 64 ? 3'd1 : s_entries, n_channel, status}),
      .out_valid(l_valid),
      .out_ready(l_pop),
      .out_data({l_data, l_last, l_failed, l_entries, l_channel, l_status}),
      .count()
  );

  assign entry_channel = l_channel;
  assign entry_status = l_status;
  assign entry_failed = l_failed;
  if (DATA_WIDTH == 64) begin : g_half
    logic half;
    logic [63:0] early;
    assign entry = {l_data, early};
    assign entry_valid = l_valid && (half || l_failed);
    assign entry_last = l_last;
    assign l_pop = 1'b1;
    always_ff @(posedge clk) begin
      if (l_valid) begin
        half <= !half && !l_failed;
        early <= l_data;
      end
      if (rst) half <= 1'b0;
    end
  end else begin : g_whole
    logic [2:0] index;
    logic at_end;
    assign at_end = index + 3'd1 >= l_entries || l_failed;
    assign entry = l_data[128*(PER_BEAT == 1 ? 0 : 32'(index))+:128];
    assign entry_valid = l_valid;
    assign entry_last = l_last && at_end;
    assign l_pop = at_end;
    always_ff @(posedge clk) begin
      if (l_valid) index <= at_end ? '0 : index + 3'd1;
      if (rst) index <= '0;
    end
  end

  always_ff @(posedge clk)
    if (!rst) begin
      assert (!l_push || l_ready)
      else $error("%m: a list entry was lost");
      assert (!s_valid || first == (beats == 0))
      else $error("%m: lost count of a packet");
    end
endmodule
