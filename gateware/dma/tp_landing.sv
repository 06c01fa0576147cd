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
// In three steps, a beat a cycle: `s_` holds what is on the wire and looks up what stands beside its tag, `c_` checks the packet, the outputs
// act. What a packet leaves behind for the next of its tag is written when it is checked; to the one that follows at once it is handed on.
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
    parameter int CHANNELS = 2,
    parameter int TAGS = 32,
    parameter int LANDING_BYTES = 16384,
    parameter int SLOTS = 32,              // order slots for each channel
    localparam int TW = $clog2(TAGS),
    localparam int SW = $clog2(SLOTS),
    localparam int CW = CHANNELS > 1 ? $clog2(CHANNELS) : 1,
    localparam int BW = $clog2(LANDING_BYTES / CPL_BOUNDARY),  // place, in units of a completion boundary
    localparam int RW = $clog2(LANDING_BYTES / (DATA_WIDTH / 8)),  // row
    localparam int CONTEXT = 1 + CW + SW + BW
) (
    input logic clk,
    input logic rst,

    input logic                  rx_valid,
    input tp_completion_hdr_t    rx_hdr,
    input logic [DATA_WIDTH-1:0] rx_data,
    input logic                  rx_last,
    input logic                  rx_bad,      // with `rx_last`: the packet is damaged

    input  logic               note_valid,
    input  logic [TW-1:0]      note_tag,
    input  logic [CONTEXT-1:0] note_context,  // {list, channel, slot, place}
    input  logic [12:0]        note_bytes,
    input  logic [6:0]         note_low,      // address of the first byte, modulo 128

    // to and from tp_tags
    output logic [TW-1:0] look_tag,
    input  logic          look_out,           // it is out, be it in quarantine
    input  logic          look_lap,           // another one each time it is handed out
    output logic          quiet,              // no packet is in hand or half way in, nor was a cycle ago
    output logic          free_valid,         // the last of the answer has come; only when not quiet
    output logic          free_late,          // ... to a read that was given up
    output logic          give_up_valid,
    output logic [TW-1:0] free_tag,           // of either
    input  logic          overdue_valid,
    output logic          overdue_ready,
    input  logic [TW-1:0] overdue_tag,
    input  logic          overdue_link,
    input  logic          overdue_reset,

    output logic       event_valid,           // for the counters of the card page
    output logic [3:0] event_code,            // the counter's dword in the card page, modulo 16

    input  logic          inject_valid,
    output logic          inject_ready,
    input  logic [BW-1:0] inject_place,       // its first row gets the word, in its first bytes
    input  logic [63:0]   inject_data,

    output logic                  write_valid,
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
  always_ff @(posedge clk) if (note_valid) notes[note_tag] <= {note_context, note_bytes, note_low};

  // What the packets of a tag have left behind: nothing, if it is another lap's.
  typedef struct packed {
    logic       lap;
    logic       over;                         // its read has ended
    logic       spoiled;                      // a poisoned packet has come
    logic [5:0] blocks;                       // that have come
  } state_t;
  logic [$bits(state_t)-1:0] states[TAGS];

  // ------------------------------------------------------------------------------------------------ on the wire
  logic s_valid, s_first, s_last, s_bad, s_overdue, s_link, s_reset, s_in_range;
  tp_completion_hdr_t s_hdr;
  logic [DATA_WIDTH-1:0] s_data;
  logic rx_inside;                          // the next beat belongs to the packet of the one before
  assign overdue_ready = !rx_valid && !rx_inside;
  always_ff @(posedge clk) begin
    s_valid <= (rx_valid || (overdue_valid && overdue_ready)) && !rst;
    s_first <= !rx_inside;
    s_last <= rx_last || !rx_valid;
    s_bad <= rx_bad;
    s_overdue <= !rx_valid;
    s_link <= overdue_link;
    s_reset <= overdue_reset;
    s_in_range <= !rx_valid || 32'(rx_hdr.tag) < 32'(TAGS);
    s_hdr <= rx_hdr;
    if (!rx_valid) s_hdr.tag <= 10'(overdue_tag);
    if (rx_valid) s_data <= rx_data;
    if (rx_valid) rx_inside <= !rx_last;
    if (rst) rx_inside <= 1'b0;
  end

  logic [TW-1:0] s_tag;
  assign s_tag = s_hdr.tag[TW-1:0];
  assign look_tag = s_tag;

  logic n_list;
  logic [CW-1:0] n_channel;
  logic [SW-1:0] n_slot;
  logic [BW-1:0] n_place;
  logic [12:0] n_bytes;
  logic [6:0] n_low;
  state_t s_state;
  logic s_begun;                            // a packet has come before
  assign {n_list, n_channel, n_slot, n_place, n_bytes, n_low} = notes[s_tag];
  assign s_state = states[s_tag];
  assign s_begun = s_state.lap == look_lap;

  // A packet ends its request, or on a completion boundary.
  logic s_ok, s_short, s_exact;
  logic [11:0] s_whole;                     // dwords which all that is still to come would have
  logic [3:0] s_stop;                       // address of the packet's end, in dwords modulo a block
  logic [6:0] s_before;                     // blocks before this packet, by its byte count
  assign s_ok = !s_overdue && s_hdr.status == CPL_OK;
  assign s_whole = 12'((14'(s_hdr.byte_count) + 14'(s_hdr.lower_addr[1:0]) + 14'd3) >> 2);
  assign s_short = 12'(s_hdr.dwords) < s_whole;
  assign s_exact = 12'(s_hdr.dwords) == s_whole;
  assign s_stop = s_hdr.lower_addr[5:2] + s_hdr.dwords[3:0];
  assign s_before = n_bytes[12:6] - s_hdr.byte_count[12:6];

  // ------------------------------------------------------------------------------------------------ checked
  // What was looked up when the packet began stands until its end: the tag may be another read's before.
  logic c_valid, c_first, c_last, c_bad, c_overdue, c_ok, c_in_range, c_lap, c_out, c_live, c_same, c_list, c_poisoned, c_spoiled;
  logic c_short, c_fits, c_match, c_odd;
  logic [TW-1:0] c_tag;
  logic [CW-1:0] c_channel;
  logic [SW-1:0] c_slot;
  logic [RW-1:0] c_row;
  logic [5:0] c_blocks, c_gone;  // in this packet, before it
  logic [6:0] c_before;
  logic [7:0] c_fault;
  logic [DATA_WIDTH-1:0] c_data;
  logic [10:0] c_dwords;

  logic same;                               // the packet that is being checked is of the tag on the wire, and of its lap
  logic known, out, match, bad, good, ends, over, spoiled;
  logic was_over, was_freed;  // the packet before left its tag so
  logic [5:0] gone_next;
  logic [7:0] status;
  assign same = c_valid && c_tag == s_tag && c_in_range && c_lap == look_lap;
  assign known = c_live && !(c_same && was_over);
  assign out = c_out && !(c_same && was_freed);
  assign match = c_match && c_before == {1'b0, c_gone} && c_odd == c_gone[0];
  assign good = c_ok && match && c_fits;
  assign bad = c_ok && !(match && c_fits);
  assign ends = !(good && c_short);
  assign over = !known || ends;
  assign gone_next = c_gone + c_blocks;
  assign free_valid = c_valid && c_last && out && !c_overdue && !(c_ok && c_short) && !(known && bad);
  assign free_late = !known;
  assign give_up_valid = c_valid && c_last && known && (c_overdue || bad);
  assign free_tag = c_tag;

  always_ff @(posedge clk) begin
    quiet <= !rx_valid && !rx_inside && !overdue_valid && !s_valid && !c_valid && !rst;
    c_valid <= s_valid && !rst;
    c_last <= s_last;
    c_bad <= s_bad;
    if (s_valid) begin
      c_data <= s_data;
      c_row <= c_row + 1'b1;
    end
    if (s_valid && s_first) begin
      c_tag <= s_tag;
      c_in_range <= s_in_range;
      c_overdue <= s_overdue;
      c_ok <= s_ok;
      c_lap <= look_lap;
      c_out <= look_out && s_in_range;
      c_live <= look_out && s_in_range && !(s_begun && s_state.over);
      c_same <= same;
      c_list <= n_list;
      c_channel <= n_channel;
      c_slot <= n_slot;
      c_row <= RW'(n_place + BW'(s_before)) << (RW - BW);
      c_blocks <= s_hdr.dwords[9:4];
      c_gone <= same ? gone_next : s_begun ? s_state.blocks : '0;
      c_poisoned <= s_hdr.poisoned;
      c_spoiled <= same ? spoiled : s_begun && s_state.spoiled;
      c_before <= s_before;
      c_match <= s_hdr.byte_count[5:0] == n_bytes[5:0] && s_hdr.lower_addr[5:0] == n_low[5:0];
      c_odd <= s_hdr.lower_addr[6] ^ n_low[6];
      c_short <= s_short;
      c_fits <= s_exact || (s_short && s_stop == '0 && s_hdr.dwords != '0);
      c_dwords <= s_hdr.dwords;
      if (s_overdue) c_fault <= s_link ? TP_STATUS_LINK_DOWN : s_reset ? TP_STATUS_RESET : TP_STATUS_TIMEOUT;
      else if (s_hdr.status == CPL_ENDED) c_fault <= TP_STATUS_TIMEOUT;
      else c_fault <= s_hdr.status == CPL_COMPLETER_ABORT ? TP_STATUS_COMPLETER_ABORT : TP_STATUS_UNSUPPORTED_REQUEST;
    end
    if (c_valid && c_last) begin
      was_over <= over;
      was_freed <= free_valid;
    end
  end
  always_ff @(posedge clk) if (c_valid && c_last && c_in_range) states[c_tag] <= {c_lap, over, spoiled, gone_next};

  // One poisoned or damaged packet spoils its request, whichever packet comes last.
  assign spoiled = c_poisoned || c_spoiled || (c_bad && c_last);
  always_comb begin
    if (!c_ok) status = c_fault;
    else if (bad) status = TP_STATUS_BAD_COMPLETION;
    else if (spoiled) status = TP_STATUS_POISONED;
    else status = TP_STATUS_DONE;
  end

  // ------------------------------------------------------------------------------------------------ done
  logic told, told_known, told_out;  // what the counters may want to know
  assign inject_ready = !c_valid;
  always_ff @(posedge clk) begin
    write_valid <= (c_valid ? known && good && !c_poisoned && !c_list : inject_valid) && !rst;
    write_row <= c_valid ? c_row : RW'(inject_place) << (RW - BW);
    write_data <= c_data;
    if (!c_valid) write_data[63:0] <= inject_data;

    done_valid <= c_valid && c_last && known && ends && !c_list && !rst;
    done_channel <= c_channel;
    done_slot <= c_slot;
    done_status <= status;

    told <= c_valid && c_last && (known ? ends : !c_overdue) && !rst;
    told_known <= known;
    told_out <= out;
    event_valid <= told && !rst && !(told_known && (done_status == TP_STATUS_DONE || done_status == TP_STATUS_LINK_DOWN ||
                                                    done_status == TP_STATUS_RESET));
    case (done_status)
      TP_STATUS_UNSUPPORTED_REQUEST: event_code <= 4'(TP_CARD_UNSUPPORTED_REQUESTS_OFFSET / 4);
      TP_STATUS_COMPLETER_ABORT: event_code <= 4'(TP_CARD_COMPLETER_ABORTS_OFFSET / 4);
      TP_STATUS_POISONED: event_code <= 4'(TP_CARD_POISONED_OFFSET / 4);
      TP_STATUS_TIMEOUT: event_code <= 4'(TP_CARD_TIMEOUTS_OFFSET / 4);
      default: event_code <= 4'(TP_CARD_BAD_COMPLETIONS_OFFSET / 4);
    endcase
    if (!told_known) event_code <= told_out ? 4'(TP_CARD_LATE_COMPLETIONS_OFFSET / 4) : 4'(TP_CARD_UNEXPECTED_COMPLETIONS_OFFSET / 4);
  end

  // ------------------------------------------------------------------------------------------------ list entries
  // A fetch is answered by one packet. Its beats leave as entries, beside their writes that are none.
  logic l_valid, l_last, l_failed;
  always_ff @(posedge clk) begin
    l_valid <= c_valid && known && c_list && ((good && !c_poisoned) || (c_last && ends)) && !rst;
    l_last <= c_last && ends;
    l_failed <= !good || spoiled;
  end

  if (DATA_WIDTH == 64) begin : g_half
    logic half;
    logic [63:0] early;
    assign entry = {write_data, early};
    assign entry_valid = l_valid && (half || l_failed);
    assign entry_last = l_last;
    assign entry_failed = l_failed;
    assign entry_channel = done_channel;
    assign entry_status = done_status;
    always_ff @(posedge clk) begin
      if (l_valid) begin
        half <= !half && !l_failed;
        early <= write_data;
      end
      if (rst) half <= 1'b0;
    end
  end else if (DATA_WIDTH == 128) begin : g_whole
    assign entry = write_data;
    assign entry_valid = l_valid;
    assign entry_last = l_last;
    assign entry_failed = l_failed;
    assign entry_channel = done_channel;
    assign entry_status = done_status;
  end else begin : g_more
    // Several entries a beat: the beats wait until they have been cut. Each walker has one fetch under way, so the queue cannot overflow.
    localparam int BEATS = 512 / DATA_WIDTH;
    localparam int PER_BEAT = DATA_WIDTH / 128;
    localparam int IW = $clog2(PER_BEAT);
    logic l_ready, q_valid, q_last, q_failed, at_end;
    logic [IW-1:0] l_final, q_final, index;  // the last entry in the beat
    logic [DATA_WIDTH-1:0] q_data;
    logic [1:0] entries;                      // of the packet, less one
    always_ff @(posedge clk) entries <= 2'((c_dwords - 11'd1) >> 2);
    assign l_final = l_last ? IW'(entries) : '1;
    tp_fifo #(
        .WIDTH(DATA_WIDTH + 2 + IW + CW + 8),
        .DEPTH(2 ** $clog2(CHANNELS * BEATS + 1))
    ) i_lists (
        .clk,
        .rst,
        .clear(1'b0),
        .in_valid(l_valid),
        .in_ready(l_ready),
        .in_data({write_data, l_last, l_failed, l_final, done_channel, done_status}),
        .out_valid(q_valid),
        .out_ready(at_end),
        .out_data({q_data, q_last, q_failed, q_final, entry_channel, entry_status}),
        .count()
    );
    assign at_end = index == q_final || q_failed;
    assign entry = q_data[128*index+:128];
    assign entry_valid = q_valid;
    assign entry_last = q_last && at_end;
    assign entry_failed = q_failed;
    always_ff @(posedge clk) begin
      if (q_valid) index <= at_end ? '0 : index + 1'b1;
      if (rst) index <= '0;
      else
        assert (!l_valid || l_ready)
        else $error("%m: a list entry was lost");
    end
  end
endmodule
