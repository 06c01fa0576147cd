// SPDX-License-Identifier: Apache-2.0
// What the host writes and reads: each write goes to its page in the clock in which it comes, each read waits for the writes before it.
//
// Writes are taken at the link's rate for ever, a beat a clock, and what one page receives costs no other page anything:
//   inline, batch   beats as they come, to memory as wide as the path
//   others          words of one or two dwords within 8 aligned bytes, a clock later: doorbells, privileged pages and the window at once; the
//                   pages of card and MSI-X from a queue of WORDS, a dword a clock, and not while `hold`
// A write of another size to these, or a word of the card's page or MSI-X without room, is dropped, and `overrun` or `window_misfit`
// pulses. Writes to nowhere are dropped in silence. A dword stands in both halves of a word whose upper half it is.
//
// Writes to BAR 4 are tp_memory_writes': here they are dropped. A read of it is offered as any other.
//
// Reads are granted one at a time. A read is offered (`read_valid`) the cycle after the last word of the writes that had come, or begun
// to come, before it: a sink that takes a word in the cycle it is offered has done so. One of the window or of the card's page also waits for
// the window's writes before it (`window_mark`, `window_passed`). Its credit goes back with its answer.
//
// An address is given in a short form: WINDOW 1: offset in BAR 2; WINDOW 0: {group, page in group, offset in 4 KiB}, where group 0 is the
// first four pages and group n + 1 the pages of channel n.
module tp_inbound
  import towpath_pkg::*;
  import tp_tlp_pkg::*;
#(
    parameter int DATA_WIDTH = 128,
    parameter int CHANNELS = 2,
    parameter int PAGE_SHIFT = 12,
    parameter int WINDOW_BYTES = 4096,
    parameter int WORDS = 32,               // for the pages of card and MSI-X that wait, a power of two
    parameter int AW = 16,                  // bits of the short address
    localparam int CHW = CHANNELS > 1 ? $clog2(CHANNELS) : 1,
    localparam int GW = $clog2(CHANNELS + 1)
) (
    input  logic                           clk,
    input  logic                           rst,
    input  logic                           hold,
    input  logic                           rx_posted_valid,
    // verilator lint_off UNUSEDSIGNAL
    input  tp_request_hdr_t                rx_posted_hdr,        // fields that only reads have, unused
    // verilator lint_on UNUSEDSIGNAL
    input  logic        [            63:0] rx_posted_low,        // its first two lanes
    input  logic                           rx_posted_last,
    input  logic                           rx_nonposted_valid,
    input  tp_request_hdr_t                rx_nonposted_hdr,
    output logic                           nonposted_credit,
    output logic                           overrun,
    // a beat of a write, as it comes: which bytes of it are written, and where its first dword goes
    output logic        [DATA_WIDTH/8-1:0] wr_strb,
    output logic        [         CHW-1:0] wr_channel,
    output logic        [            11:2] wr_offset,
    output logic                           inline_valid,
    output logic                           batch_valid,
    output logic                           window_valid,
    output logic                           window_misfit,
    output logic                           window_mark,          // what has come so far is before the read
    input  logic                           window_passed,        // ... and has been answered, or dropped
    output logic                           bell_valid,
    output logic                           bell_misfit,
    output logic                           priv_valid,
    output logic        [         CHW-1:0] put_channel,          // of a word for a doorbell, a privileged page or the window
    output logic        [          AW-1:3] put_addr,
    output logic        [            63:0] put_data,
    output logic        [             7:0] put_strb,
    output logic                           word_valid,
    output logic        [             1:0] word_page,
    output logic        [            11:2] word_offset,
    output logic        [            31:0] word_data,
    output logic        [             3:0] word_strb,
    output logic                           read_valid,
    input  logic                           read_ready,
    output tp_request_hdr_t                read_hdr,
    output logic                           read_hit,             // the address is one of ours
    output logic                           read_window,
    output logic        [          AW-1:2] read_addr
);
  localparam int LANES = DATA_WIDTH / 32;
  localparam int LW = $clog2(LANES);

  if (DATA_WIDTH != 64 && DATA_WIDTH != 128 && DATA_WIDTH != 256 && DATA_WIDTH != 512)
    $error("%m: DATA_WIDTH %0d: make it 64, 128, 256 or 512", DATA_WIDTH);

  function automatic logic is_window(input logic [2:0] bar);
    return WINDOW_BYTES != 0 && bar == 3'(TP_BAR_WINDOW);
  endfunction
  function automatic logic is_ours(input logic [2:0] bar, input logic [31:0] offset);
    if (is_window(bar)) return (offset & ~32'(WINDOW_BYTES - 1)) == 0;
    return bar == 3'(TP_BAR_DEVICE) && (offset >> (PAGE_SHIFT + 2 + GW)) == 0 && offset[PAGE_SHIFT+2+:GW] <= GW'(CHANNELS) &&
        (offset & 32'((1 << PAGE_SHIFT) - 4096)) == 0;
  endfunction
  // verilator lint_off UNUSEDSIGNAL
  function automatic logic [AW-1:2] shorten(input logic [2:0] bar, input logic [31:0] offset);  // of an offset that is ours
    return is_window(bar) ? offset[AW-1:2] : (AW - 2)'({offset[PAGE_SHIFT+:GW+2], offset[11:2]});
  endfunction
  // verilator lint_on UNUSEDSIGNAL

  // ---- the beat that comes
  logic first, in_tlp, ours, to_window, to_device, to_word, to_priv, to_bell, fits;
  logic [AW-1:2] addr;
  logic [GW-1:0] group;
  logic [1:0] page;
  logic [11:2] rest, offset;  // where the next beat's first dword goes, and this one's
  logic [10:0] dwords;
  logic [3:0] be, end_be;
  assign first = !in_tlp;
  assign addr = shorten(rx_posted_hdr.bar, rx_posted_hdr.offset[31:0]);
  assign group = addr[14+:GW];
  assign page = addr[13:12];
  assign offset = first ? addr[11:2] : rest;  // no TLP crosses a boundary of 4 KiB
  assign dwords = rx_posted_hdr.dwords;
  assign be = rx_posted_hdr.first_be;
  assign end_be = rx_posted_hdr.last_be;

  // Byte enables: the first and the last dword of a TLP have their own.
  always_comb
    for (int i = 0; i < LANES; i++) begin
      wr_strb[4*i+:4] = 4'hf;
      if (rx_posted_last && LW'(i) == LW'(dwords - 1'b1)) wr_strb[4*i+:4] = end_be;
      if (rx_posted_last && LW'(i) > LW'(dwords - 1'b1)) wr_strb[4*i+:4] = '0;
      if (first && i == 0) wr_strb[3:0] = be;
    end

  assign ours = rx_posted_valid && is_ours(rx_posted_hdr.bar, rx_posted_hdr.offset[31:0]);
  assign to_window = ours && is_window(rx_posted_hdr.bar);
  assign to_device = ours && !is_window(rx_posted_hdr.bar);
  assign to_bell = to_device && group != '0 && page == 2'(TP_PAGE_CHANNEL_DOORBELL);
  assign to_priv = to_device && group != '0 && page == 2'(TP_PAGE_CHANNEL_PRIVILEGED);
  assign to_word = to_device && group == '0 && (page == 2'(TP_PAGE_CARD) || page == 2'(TP_PAGE_MSIX));
  assign fits = first && (dwords == 11'd1 || (dwords == 11'd2 && !addr[2]));

  assign inline_valid = to_device && group != '0 && page == 2'(TP_PAGE_CHANNEL_INLINE);
  assign batch_valid = to_device && group != '0 && page == 2'(TP_PAGE_CHANNEL_BATCH);
  assign wr_channel = CHW'(group - 1'b1);
  assign wr_offset = offset;
  always_ff @(posedge clk) begin
    if (rx_posted_valid) begin
      in_tlp <= !rx_posted_last;
      rest <= offset + 10'(LANES);
    end
    if (rst) in_tlp <= 1'b0;
  end

  // ---- words of one or two dwords
  typedef struct packed {
    logic [1:0] page;
    logic [11:2] offset;
    logic [7:0] strb;
    logic [1:0][31:0] dwords;
  } word_t;
  word_t in, head;
  logic in_ready, have, pop;
  logic [$clog2(WORDS):0] count;
  always_comb begin
    in = '{page: page, offset: addr[11:2], strb: wr_strb[7:0], dwords: rx_posted_low};
    if (addr[2]) begin
      in.strb = {be, 4'h0};
      in.dwords[1] = rx_posted_low[31:0];
    end
  end

  always_ff @(posedge clk) begin
    bell_valid <= to_bell && fits && !rst;
    bell_misfit <= to_bell && first && !fits && !rst;
    priv_valid <= to_priv && fits && !rst;
    window_valid <= to_window && fits && !rst;
    window_misfit <= to_window && first && !fits && !rst;
    put_channel <= wr_channel;
    put_addr <= addr[AW-1:3];
    put_data <= in.dwords;
    put_strb <= in.strb;
    overrun <= (to_bell || to_priv || to_word) && first && !(fits && (!to_word || in_ready)) && !rst;
  end

  tp_fifo #(
      .WIDTH($bits(word_t)),
      .DEPTH(WORDS)
  ) queue (
      .clk,
      .rst,
      .clear(1'b0),
      .in_valid(to_word && fits),
      .in_ready,
      .in_data(in),
      .out_valid(have),
      .out_ready(pop),
      .out_data(head),
      .count
  );
  logic show, upper;  // the upper dword follows the lower one
  logic second;
  assign show = have && !hold;
  assign upper = second || head.offset[2];
  assign pop = show && (upper || head.strb[7:4] == '0);
  always_ff @(posedge clk) begin
    word_valid <= show && !rst;
    word_page <= head.page;
    word_offset <= head.offset | 10'(second);
    word_data <= head.dwords[upper];
    word_strb <= upper ? head.strb[7:4] : head.strb[3:0];
    if (show) second <= !pop;
    if (rst) second <= 1'b0;
  end

  // ---- reads: one at a time waits for the words before it, of which `ahead` have not been shown
  typedef enum logic [1:0] {
    NONE,
    ARRIVED,
    MARKED,
    OFFERED
  } read_e;
  read_e read;
  logic owed, follows_window;
  logic [$clog2(WORDS):0] ahead;

  assign read_valid = read == OFFERED;
  assign read_hit = is_ours(read_hdr.bar, read_hdr.offset[31:0]);
  assign read_window = is_window(read_hdr.bar);
  assign read_addr = shorten(read_hdr.bar, read_hdr.offset[31:0]);

  always_ff @(posedge clk) begin
    nonposted_credit <= owed && !rst;
    owed <= rst || read_valid && read_ready;
    follows_window <= read_window || read_addr[14+:GW] == '0 && read_addr[13:12] == 2'(TP_PAGE_CARD);
    if (rx_nonposted_valid) read_hdr <= rx_nonposted_hdr;
    window_mark <= read == ARRIVED && !in_tlp && !rst;  // a clock later, the window's words are in its queue
    if (pop && ahead != '0) ahead <= ahead - 1'b1;
    case (read)
      NONE: if (rx_nonposted_valid) read <= ARRIVED;
      ARRIVED:  // between TLPs the queues hold every write that began before the read
      if (!in_tlp) begin
        ahead <= pop ? count - 1'b1 : count;  // pop comes last in its cycle
        read <= MARKED;
      end
      MARKED: if (ahead == '0 && !window_mark && (window_passed || !follows_window)) read <= OFFERED;
      default: if (read_ready) read <= NONE;
    endcase
    if (rst) read <= NONE;
  end

`ifndef SYNTHESIS
  logic granted;  // the endpoint holds the credit; it may use one in the clock in which it gets it
  always_ff @(posedge clk) begin
    granted <= !rst && (nonposted_credit || granted) && !rx_nonposted_valid;
    if (!rst && rx_nonposted_valid)
      assert (granted || nonposted_credit)
      else $error("%m: a read came without a credit");
  end
`endif
endmodule
