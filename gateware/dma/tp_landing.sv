// SPDX-License-Identifier: Apache-2.0
// Takes every completion in the cycle it comes and puts its payload where its request reserved room.
//
// Where a packet belongs follows from its tag's note and its own byte count, so packets of different tags may come in any order and cut
// in any legal way, and nothing is kept between packets. Data goes to the landing RAM, list entries to the walkers, and when the
// last of a request has been written, `done` says so.
//
// Promises: no back-pressure towards the link, ever. `done` comes after the data can be read. Inline data (`inject_*`) is written in
// cycles that completions leave free. A completion whose tag is not out is counted and dropped.
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
    parameter int META = 1,
    localparam int TW = $clog2(TAGS),
    localparam int SW = $clog2(SLOTS),
    localparam int CW = CHANNELS > 1 ? $clog2(CHANNELS) : 1,
    localparam int NH = H2C == 0 ? 1 : H2C,
    localparam int HW = NH > 1 ? $clog2(NH) : 1,
    localparam int DW = $clog2(LANDING_BYTES) - 2,      // dword in a channel's region
    localparam int REGIONS = 2 ** $clog2(NH),
    localparam int AW = $clog2(LANDING_BYTES * REGIONS),
    localparam int LANES = DATA_WIDTH / 32,
    localparam int LW = $clog2(LANES),
    localparam int KW = LW + 2,
    localparam int CONTEXT = 1 + CW + SW + DW
) (
    input logic clk,
    input logic rst,

    input logic                  rx_valid,
    input tp_completion_hdr_t    rx_hdr,
    input logic [DATA_WIDTH-1:0] rx_data,
    input logic                  rx_last,

    input  logic               note_valid,
    input  logic [TW-1:0]      note_tag,
    input  logic [CONTEXT-1:0] note_context,  // {list, channel, slot, dword}
    input  logic [13:0]        note_end,
    input  logic [TAGS-1:0]    busy,
    output logic               free_valid,
    output logic [TW-1:0]      free_tag,
    output logic               unexpected,

    input  logic          inject_valid,
    output logic          inject_ready,
    input  logic [AW-1:2] inject_dword,
    input  logic [1:0]    inject_dwords,      // 1 or 2
    input  logic [63:0]   inject_data,

    output logic          done_valid,
    output logic [CW-1:0] done_channel,
    output logic [SW-1:0] done_slot,
    output logic [7:0]    done_status,        // TP_STATUS_DONE when good

    output logic          entry_valid,        // for the walker of entry_channel
    output logic [CW-1:0] entry_channel,
    output logic [127:0]  entry,
    output logic          entry_last,
    output logic          entry_failed,       // with entry_valid: no entry but entry_status
    output logic [7:0]    entry_status,

    input  logic                  rd_valid,
    input  logic [AW-1:0]         rd_byte,
    input  logic [KW-1:0]         rd_lane,
    input  logic [META-1:0]       rd_meta,
    output logic                  out_valid,
    output logic [DATA_WIDTH-1:0] out_data,
    output logic [META-1:0]       out_meta
);
  logic [CONTEXT+13:0] notes[TAGS];
  always_ff @(posedge clk) if (note_valid) notes[note_tag] <= {note_context, note_end};

  // ------------------------------------------------------------------------------------------------ the packet in hand
  logic s_valid, s_last;
  tp_completion_hdr_t s_hdr;
  logic [DATA_WIDTH-1:0] s_data;
  always_ff @(posedge clk) begin
    s_valid <= rx_valid && !rst;
    s_last <= rx_last;
    s_hdr <= rx_hdr;
    s_data <= rx_data;
  end

  logic n_list;
  logic [CW-1:0] n_channel;
  logic [SW-1:0] n_slot;
  logic [DW-1:0] n_dword;
  logic [13:0] n_end;
  assign {n_list, n_channel, n_slot, n_dword, n_end} = notes[s_hdr.tag[TW-1:0]];

  logic known, good, final_packet;
  logic [12:0] packet_bytes;
  assign known = 32'(s_hdr.tag) < 32'(TAGS) && busy[s_hdr.tag[TW-1:0]];
  assign good = s_hdr.status == CPL_OK && !s_hdr.poisoned;
  assign packet_bytes = 13'({s_hdr.dwords, 2'b00}) - 13'(s_hdr.lower_addr[1:0]);
  assign final_packet = s_hdr.status != CPL_OK || s_hdr.byte_count <= packet_bytes;

  logic first;
  logic [10:0] beat_dwords;                 // dwords before this beat
  logic [10:0] left;
  logic [13:0] ahead;                       // bytes of the request before this packet, from its first dword
  always_ff @(posedge clk) begin
    if (s_valid) begin
      first <= s_last;
      beat_dwords <= s_last ? '0 : beat_dwords + 11'(LANES);
    end
    if (rst) begin
      first <= 1'b1;
      beat_dwords <= '0;
    end
  end
  assign left = s_hdr.dwords - beat_dwords;
  assign ahead = n_end - 14'(s_hdr.byte_count);

  logic write;
  logic [DW-1:0] at;
  assign write = s_valid && known && good && !n_list && s_hdr.dwords != 0;
  assign at = n_dword + DW'(ahead[13:2]) + DW'(beat_dwords);
  assign inject_ready = !write;

  logic [AW-1:2] wr_dword;
  if (REGIONS > 1) begin : g_regions
    assign wr_dword = write ? {HW'(n_channel), at} : inject_dword;
  end else begin : g_region
    assign wr_dword = write ? at : inject_dword;
  end

  tp_window_ram #(
      .DATA_WIDTH(DATA_WIDTH),
      .REGION_BYTES(LANDING_BYTES),
      .REGIONS(REGIONS),
      .META(META)
  ) i_ram (
      .clk,
      .rst,
      .wr_valid(write || inject_valid),
      .wr_dword,
      .wr_dwords(write ? (left < 11'(LANES) ? (LW + 1)'(left) : (LW + 1)'(LANES)) : (LW + 1)'(inject_dwords)),
      .wr_data(write ? s_data : DATA_WIDTH'(inject_data)),
      .rd_valid,
      .rd_byte,
      .rd_lane,
      .rd_meta,
      .out_valid,
      .out_data,
      .out_meta
  );

  // ------------------------------------------------------------------------------------------------ done
  // One poisoned packet spoils its request, whichever packet comes last.
  logic [TAGS-1:0] spoiled;
  logic [7:0] status;
  always_comb begin
    case (s_hdr.status)
      CPL_OK: status = s_hdr.poisoned || spoiled[s_hdr.tag[TW-1:0]] ? TP_STATUS_POISONED : TP_STATUS_DONE;
      CPL_COMPLETER_ABORT: status = TP_STATUS_COMPLETER_ABORT;
      default: status = TP_STATUS_UNSUPPORTED_REQUEST;
    endcase
  end

  logic finished;
  assign finished = s_valid && s_last && known && final_packet;
  assign free_valid = finished;
  assign free_tag = s_hdr.tag[TW-1:0];

  logic d1_valid;
  logic [CW-1:0] d1_channel;
  logic [SW-1:0] d1_slot;
  logic [7:0] d1_status;
  always_ff @(posedge clk) begin
    unexpected <= s_valid && s_last && !known && !rst;
    if (s_valid && s_last && known) spoiled[s_hdr.tag[TW-1:0]] <= (spoiled[s_hdr.tag[TW-1:0]] || s_hdr.poisoned) && !final_packet;
    // The RAM shows a write after two cycles.
    d1_valid <= finished && !n_list && !rst;
    d1_channel <= n_channel;
    d1_slot <= n_slot;
    d1_status <= status;
    done_valid <= d1_valid && !rst;
    done_channel <= d1_channel;
    done_slot <= d1_slot;
    done_status <= d1_status;
    if (rst) spoiled <= '0;
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
  assign l_push = s_valid && known && n_list && (good || s_last);
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
      .in_data({s_data, s_last && final_packet, status != TP_STATUS_DONE, DATA_WIDTH == 64 ? 3'd1 : s_entries, n_channel, status}),
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
    logic [63:0] low;
    assign entry = {l_data, low};
    assign entry_valid = l_valid && (half || l_failed);
    assign entry_last = l_last;
    assign l_pop = 1'b1;
    always_ff @(posedge clk) begin
      if (l_valid) begin
        half <= !half && !l_failed;
        low <= l_data;
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
      assert (!s_valid || first == (beat_dwords == 0))
      else $error("%m: lost count of a packet");
    end
endmodule
