// SPDX-License-Identifier: Apache-2.0
// Plug-in `tlplog`: a ring of the packets that the card sends and receives, each with its header, first dword of payload, and time.
//
// It looks at the neutral streams where the card meets its endpoint, and has no way to hold them: see tp_tap_pkg. A packet is logged when its first
// beat goes over. Up to six begin in a clock; a burst beyond what the queues take is counted as dropped: see tp_tlplog_ring. Accesses of its own
// registers, and their answers, are not logged, so that reading the log does not fill it. The card's reset leaves it as it is, for what led to the
// reset is what one wants to see; it logs from configuration on if RUN is 1.
// An answer to a read of a BAR is known by the read's tag. Where several requesters read with one tag at a time, the last of them decides.
module tp_plugin_tlplog
  import towpath_pkg::*;
  import tp_tlp_pkg::*;
#(
    parameter int BYTES = 32768,  // of registers, of which the upper half is the ring
    parameter int OFFSET = 0,     // of its registers in the register window
    parameter int QUEUE = 16,
    parameter bit RUN = 1
) (
    input logic clk,
    input logic rst_n,

    input  logic [31:0] s_axil_awaddr,
    input  logic        s_axil_awvalid,
    output logic        s_axil_awready,
    input  logic [31:0] s_axil_wdata,
    input  logic [ 3:0] s_axil_wstrb,
    input  logic        s_axil_wvalid,
    output logic        s_axil_wready,
    output logic [ 1:0] s_axil_bresp,
    output logic        s_axil_bvalid,
    input  logic        s_axil_bready,
    input  logic [31:0] s_axil_araddr,
    input  logic        s_axil_arvalid,
    output logic        s_axil_arready,
    output logic [31:0] s_axil_rdata,
    output logic [ 1:0] s_axil_rresp,
    output logic        s_axil_rvalid,
    input  logic        s_axil_rready,

    input tp_tap_pkg::tp_taps_t tlp_taps
);
  localparam int AW = $clog2(BYTES);
  localparam int DEPTH = BYTES / (2 * TP_PLUGIN_TLPLOG_ENTRY_BYTES);
  localparam int EW = $clog2(TP_PLUGIN_TLPLOG_ENTRY_BYTES);
  localparam int STREAMS = 6;
  localparam int WIDTH = 8 * TP_PLUGIN_TLPLOG_ENTRY_NUMBER_OFFSET;  // the ring adds the number
  // The streams here; the contract's numbers leave one out.
  localparam int SW = 0, SR = 1, SC = 2, RW = 3, RR = 4, RC = 5;

  // ------------------------------------------------------------------------------------------------ registers
  logic set;
  logic [AW-1:2] set_at, get_at;
  logic [31:0] set_data, get_data;
  tp_plugin_registers #(
      .BYTES(BYTES)
  ) registers (
      .get(),
      .*
  );

  logic fresh, clear, running;  // fresh: in the first clock
  logic [STREAMS-1:0] streams;
  logic [5:0] bars;
  logic [63:0] first, last, logged;
  logic [31:0] dropped;
  initial fresh = 1'b1;

  function automatic logic is_at(input logic [AW-1:2] at, input int offset);
    return at == (AW - 2)'(offset / 4);
  endfunction

  logic commanded;
  assign commanded = set && is_at(set_at, TP_PLUGIN_TLPLOG_COMMAND_OFFSET);
  always_ff @(posedge clk) begin
    fresh <= 1'b0;
    clear <= fresh || commanded && set_data[TP_PLUGIN_TLPLOG_COMMAND_CLEAR_LSB];
    if (commanded && set_data[TP_PLUGIN_TLPLOG_COMMAND_START_LSB]) running <= 1'b1;
    if (commanded && set_data[TP_PLUGIN_TLPLOG_COMMAND_STOP_LSB]) running <= 1'b0;
    if (set && is_at(set_at, TP_PLUGIN_TLPLOG_FILTER_OFFSET)) begin
      streams <= {set_data[TP_PLUGIN_TLPLOG_FILTER_STREAMS_LSB+4+:3], set_data[TP_PLUGIN_TLPLOG_FILTER_STREAMS_LSB+:3]};
      bars <= set_data[TP_PLUGIN_TLPLOG_FILTER_BARS_LSB+:6];
    end
    if (set && is_at(set_at, TP_PLUGIN_TLPLOG_FIRST_OFFSET)) first[31:0] <= set_data;
    if (set && is_at(set_at, TP_PLUGIN_TLPLOG_FIRST_OFFSET + 4)) first[63:32] <= set_data;
    if (set && is_at(set_at, TP_PLUGIN_TLPLOG_LAST_OFFSET)) last[31:0] <= set_data;
    if (set && is_at(set_at, TP_PLUGIN_TLPLOG_LAST_OFFSET + 4)) last[63:32] <= set_data;
    if (fresh) begin
      running <= RUN;
      streams <= '1;
      bars <= '1;
      first <= '0;
      last <= TP_PLUGIN_TLPLOG_LAST_RESET;
    end
  end

  // ------------------------------------------------------------------------------------------------ packets that begin
  // The taps end in registers: they add no logic to any path of the card's.
  // verilator lint_off UNUSEDSIGNAL
  tp_tap_pkg::tp_taps_t tap;  // what a header has that its stream does not use
  // verilator lint_on UNUSEDSIGNAL
  logic [STREAMS-1:0] beat, ends, under_way, begins;
  logic [47:0] elapsed;
  assign beat[SW] = tlp_taps.sent_write_beat;
  assign beat[SR] = tlp_taps.sent_read_beat;
  assign beat[SC] = tlp_taps.sent_completion_beat;
  assign beat[RW] = tlp_taps.received_write_beat;
  assign beat[RR] = tlp_taps.received_read_beat;
  assign beat[RC] = tlp_taps.received_completion_beat;
  assign ends[SW] = tlp_taps.sent_write_last;
  assign ends[SR] = 1'b1;
  assign ends[SC] = tlp_taps.sent_completion_last;
  assign ends[RW] = tlp_taps.received_write_last;
  assign ends[RR] = 1'b1;
  assign ends[RC] = tlp_taps.received_completion_last;
  always_ff @(posedge clk) begin
    tap <= tlp_taps;
    under_way <= (under_way & ~beat) | (beat & ~ends);
    begins <= beat & ~under_way;
    elapsed <= elapsed + 1'b1;
    if (tlp_taps.rst) {under_way, begins} <= '0;
    if (fresh) elapsed <= '0;
  end

  // ------------------------------------------------------------------------------------------------ which are wanted
  logic skips[1 << $bits(tap.received_read_hdr.tag)];  // answers to reads that are not logged, by tag
  logic [STREAMS-1:0] wanted;
  logic read_skipped;
  function automatic logic is_logged(input logic [2:0] bar, input logic [35:AW] block, input logic [5:0] bars_on);
    return bar > 3'd5 || bars_on[bar] && !(32'(bar) == TP_BAR_WINDOW && block == (36 - AW)'(OFFSET / BYTES));
  endfunction
  function automatic logic is_within(input logic [63:0] addr, input logic [63:0] least, input logic [63:0] most);
    return addr >= least && addr <= most;
  endfunction
  assign read_skipped = !is_logged(tap.received_read_hdr.bar, tap.received_read_hdr.offset[35:AW], bars);
  always_comb begin
    wanted = streams;
    if (!is_within(tap.sent_write_hdr.addr, first, last)) wanted[SW] = 1'b0;
    if (!is_within(tap.sent_read_hdr.addr, first, last)) wanted[SR] = 1'b0;
    if (skips[tap.sent_completion_hdr.tag]) wanted[SC] = 1'b0;
    if (!is_logged(tap.received_write_hdr.bar, tap.received_write_hdr.offset[35:AW], bars)) wanted[RW] = 1'b0;
    if (read_skipped) wanted[RR] = 1'b0;
  end
  always_ff @(posedge clk) begin
    if (begins[RR]) skips[tap.received_read_hdr.tag] <= read_skipped;
  end

  // ------------------------------------------------------------------------------------------------ their entries
  // verilator lint_off UNUSEDSIGNAL
  // All but the number.
  tp_plugin_tlplog_entry_t sent_write, sent_read, sent_completion, received_write, received_read, received_completion, stamp;
  // verilator lint_on UNUSEDSIGNAL
  always_comb begin
    stamp = '0;
    {stamp.time_high, stamp.time_low} = elapsed;

    sent_write = stamp;
    sent_write.header.stream = TP_TLP_STREAM_SENT_WRITE;
    sent_write.address = tap.sent_write_hdr.addr;
    sent_write.header.dwords = tap.sent_write_hdr.dwords;
    sent_write.header.first_be = tap.sent_write_hdr.first_be;
    sent_write.header.last_be = tap.sent_write_hdr.last_be;
    sent_write.header.attr = {1'b0, tap.sent_write_hdr.relaxed, 1'b0};
    sent_write.ids.tc = tap.sent_write_hdr.tc;
    sent_write.data = tap.sent_write_data;

    sent_read = stamp;
    sent_read.header.stream = TP_TLP_STREAM_SENT_READ;
    sent_read.address = tap.sent_read_hdr.addr;
    sent_read.header.dwords = tap.sent_read_hdr.dwords;
    sent_read.header.first_be = tap.sent_read_hdr.first_be;
    sent_read.header.last_be = tap.sent_read_hdr.last_be;
    sent_read.header.attr = {1'b0, tap.sent_read_hdr.relaxed, 1'b0};
    sent_read.ids.tag = tap.sent_read_hdr.tag;
    sent_read.ids.tc = tap.sent_read_hdr.tc;

    sent_completion = stamp;
    sent_completion.header.stream = TP_TLP_STREAM_SENT_COMPLETION;
    sent_completion.address[6:0] = tap.sent_completion_hdr.lower_addr;
    sent_completion.header.dwords = tap.sent_completion_hdr.dwords;
    sent_completion.header.status = tap.sent_completion_hdr.status;
    sent_completion.header.attr = tap.sent_completion_hdr.attr;
    sent_completion.ids.tag = tap.sent_completion_hdr.tag;
    sent_completion.ids.byte_count = tap.sent_completion_hdr.byte_count;
    sent_completion.ids.tc = tap.sent_completion_hdr.tc;
    sent_completion.requester = tap.sent_completion_hdr.requester;
    sent_completion.data = tap.sent_completion_hdr.dwords == '0 ? '0 : tap.sent_completion_data;

    received_write = stamp;
    received_write.header.stream = TP_TLP_STREAM_RECEIVED_WRITE;
    received_write.header.bar = tap.received_write_hdr.bar;
    received_write.address[35:0] = tap.received_write_hdr.offset;
    received_write.header.dwords = tap.received_write_hdr.dwords;
    received_write.header.first_be = tap.received_write_hdr.first_be;
    received_write.header.last_be = tap.received_write_hdr.last_be;
    received_write.requester = tap.received_write_hdr.requester;
    received_write.data = tap.received_write_data;

    received_read = stamp;
    received_read.header.stream = TP_TLP_STREAM_RECEIVED_READ;
    received_read.header.bar = tap.received_read_hdr.bar;
    received_read.address[35:0] = tap.received_read_hdr.offset;
    received_read.header.dwords = tap.received_read_hdr.dwords;
    received_read.header.first_be = tap.received_read_hdr.first_be;
    received_read.header.last_be = tap.received_read_hdr.last_be;
    received_read.header.attr = tap.received_read_hdr.attr;
    received_read.ids.tag = tap.received_read_hdr.tag;
    received_read.ids.tc = tap.received_read_hdr.tc;
    received_read.requester = tap.received_read_hdr.requester;

    received_completion = stamp;
    received_completion.header.stream = TP_TLP_STREAM_RECEIVED_COMPLETION;
    received_completion.address[6:0] = tap.received_completion_hdr.lower_addr;
    received_completion.header.dwords = tap.received_completion_hdr.dwords;
    received_completion.header.status = tap.received_completion_hdr.status;
    received_completion.header.poisoned = tap.received_completion_hdr.poisoned;
    received_completion.ids.tag = tap.received_completion_hdr.tag;
    received_completion.ids.byte_count = tap.received_completion_hdr.byte_count;
    received_completion.data = tap.received_completion_hdr.dwords == '0 ? '0 : tap.received_completion_data;
  end

  // ------------------------------------------------------------------------------------------------ the ring
  tp_plugin_tlplog_entry_t entry;
  logic lost;
  logic [WIDTH-1:0] row;
  logic [31:0] number;
  tp_tlplog_ring #(
      .STREAMS(STREAMS),
      .WIDTH(WIDTH),
      .DEPTH(DEPTH),
      .QUEUE(QUEUE)
  ) store (
      .in_valid(running ? begins & wanted : '0),
      .in_row({
        WIDTH'(received_completion),
        WIDTH'(received_read),
        WIDTH'(received_write),
        WIDTH'(sent_completion),
        WIDTH'(sent_read),
        WIDTH'(sent_write)
      }),
      .row_at(s_axil_araddr[AW-2:EW]),
      .row_lost(lost),
      .row_number(number),
      .*
  );
  // verilator lint_off UNUSEDSIGNAL
  always_comb begin
    entry = {number, row};
    entry.ids.lost = lost;
  end
  // verilator lint_on UNUSEDSIGNAL

  always_comb begin
    get_data = '0;
    if (get_at[AW-1]) get_data = entry[32*32'(get_at[EW-1:2])+:32];
    else begin
      if (is_at(get_at, TP_PLUGIN_TLPLOG_STATUS_OFFSET)) get_data[TP_PLUGIN_TLPLOG_STATUS_RUNNING_LSB] = running;
      if (is_at(get_at, TP_PLUGIN_TLPLOG_DEPTH_OFFSET)) get_data = 32'(DEPTH);
      if (is_at(get_at, TP_PLUGIN_TLPLOG_FILTER_OFFSET)) begin
        get_data[TP_PLUGIN_TLPLOG_FILTER_STREAMS_LSB+:7] = {streams[RC:RW], 1'b0, streams[SC:SW]};
        get_data[TP_PLUGIN_TLPLOG_FILTER_BARS_LSB+:6] = bars;
      end
      if (is_at(get_at, TP_PLUGIN_TLPLOG_LOGGED_OFFSET)) get_data = logged[31:0];
      if (is_at(get_at, TP_PLUGIN_TLPLOG_LOGGED_OFFSET + 4)) get_data = logged[63:32];
      if (is_at(get_at, TP_PLUGIN_TLPLOG_DROPPED_OFFSET)) get_data = dropped;
      if (is_at(get_at, TP_PLUGIN_TLPLOG_FIRST_OFFSET)) get_data = first[31:0];
      if (is_at(get_at, TP_PLUGIN_TLPLOG_FIRST_OFFSET + 4)) get_data = first[63:32];
      if (is_at(get_at, TP_PLUGIN_TLPLOG_LAST_OFFSET)) get_data = last[31:0];
      if (is_at(get_at, TP_PLUGIN_TLPLOG_LAST_OFFSET + 4)) get_data = last[63:32];
    end
  end
endmodule
