// SPDX-License-Identifier: Apache-2.0
// What the host writes, as a sequence of words; and the host's reads, each held back until the writes before it are done.
//
// Posted writes are always taken. They wait in a queue of DEPTH beats, from which a word comes each cycle: an aligned pair of dwords where a
// channel's page gets one from an even lane of a beat, else a single dword, so that pages of the card and the window get dwords only. The
// queue is sized by tp_control so that a host that keeps the contract cannot fill it. A TLP that finds no room is dropped whole and
// `overrun` pulses; one longer than the queue never finds any. Writes to nowhere are dropped in silence. While `hold`, words wait.
//
// A word is shown in two ways: as 64 bits with strobes, in the place that the address says; and, where it is a single one, as a dword
// with `dword_strb` in `word_data[31:0]`, at `word_addr` down to bit 2.
//
// Reads are granted one at a time. A read is offered (`read_valid`) the cycle after the last word of the writes that had come, or begun
// to come, before it: a sink that takes a word in the cycle it is offered has done so. Its credit goes back with its answer.
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
    parameter int DEPTH = 32,               // beats, a power of two
    parameter int AW = 16                   // bits of the short address
) (
    input  logic                         clk,
    input  logic                         rst,
    input  logic                         hold,
    input  logic                         rx_posted_valid,
    // verilator lint_off UNUSEDSIGNAL
    input  tp_request_hdr_t              rx_posted_hdr,       // fields that only reads have, unused
    // verilator lint_on UNUSEDSIGNAL
    input  logic        [DATA_WIDTH-1:0] rx_posted_data,
    input  logic                         rx_posted_last,
    input  logic                         rx_nonposted_valid,
    input  tp_request_hdr_t              rx_nonposted_hdr,
    output logic                         nonposted_credit,
    output logic                         overrun,
    output logic                         word_valid,
    output logic                         word_window,
    output logic        [        AW-1:2] word_addr,
    output logic        [          63:0] word_data,
    output logic        [           7:0] word_strb,
    output logic        [           3:0] dword_strb,
    output logic                         read_valid,
    input  logic                         read_ready,
    output tp_request_hdr_t              read_hdr,
    output logic                         read_hit,     // the address is one of ours
    output logic                         read_window,
    output logic        [        AW-1:2] read_addr
);
  localparam int LANES = DATA_WIDTH / 32;
  localparam int LW = $clog2(LANES);
  localparam int PW = $clog2(DEPTH);
  localparam int GW = $clog2(CHANNELS + 1);

  if (DATA_WIDTH != 64 && DATA_WIDTH != 128 && DATA_WIDTH != 256 && DATA_WIDTH != 512)
    $error("%m: DATA_WIDTH %0d: make it 64, 128, 256 or 512", DATA_WIDTH);
  if (DEPTH < 4 || (DEPTH & (DEPTH - 1)) != 0) $error("%m: DEPTH %0d: make it a power of two, 4 or more", DEPTH);

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

  // ---- posted: into the queue. `wr` runs ahead of `commit` and falls back to it when a TLP finds no room.
  typedef struct packed {
    logic last;
    logic [LW-1:0] top;       // highest lane in use
    logic [3:0] first_be;
    logic [3:0] last_be;      // of a TLP of several dwords
    logic window;
    logic [AW-1:2] addr;      // of the TLP's first dword
    logic [DATA_WIDTH-1:0] data;
  } beat_t;

  beat_t queue[DEPTH];
  beat_t in, head;
  logic [PW:0] wr, next_wr, commit, rd;
  logic in_tlp, lost, full, ours;

  assign next_wr = wr + 1'b1;
  assign full = (wr ^ rd) == (PW + 1)'(DEPTH);
  assign ours = is_ours(rx_posted_hdr.bar, rx_posted_hdr.offset);
  assign in.last = rx_posted_last;
  assign in.top = rx_posted_last ? LW'(rx_posted_hdr.dwords - 1'b1) : '1;
  assign in.first_be = rx_posted_hdr.first_be;
  assign in.last_be = rx_posted_hdr.last_be;
  assign in.window = is_window(rx_posted_hdr.bar);
  assign in.addr = shorten(rx_posted_hdr.bar, rx_posted_hdr.offset);
  assign in.data = rx_posted_data;

  always_ff @(posedge clk) if (rx_posted_valid && !full) queue[wr[PW-1:0]] <= in;

  always_ff @(posedge clk) begin
    overrun <= rx_posted_valid && rx_posted_last && ours && (lost || full) && !rst;
    if (rst) begin
      wr <= '0;
      commit <= '0;
      in_tlp <= 1'b0;
      lost <= 1'b0;
    end else if (rx_posted_valid) begin
      in_tlp <= !rx_posted_last;
      if (ours) begin
        lost <= !rx_posted_last && (lost || full);
        if (!rx_posted_last) wr <= full ? wr : next_wr;
        else if (lost || full) wr <= commit;
        else {wr, commit} <= {next_wr, next_wr};
      end
    end
  end

  // ---- out of the queue: `lane` is that of the next dword
  logic have, first, pair, single_only, at_top, ends;
  logic [LW-1:0] lane;
  logic [11:2] offset, next_offset;
  logic [3:0] low_be, high_be;
  logic [LANES-1:0][31:0] lanes;

  assign head = queue[rd[PW-1:0]];
  assign have = rd != commit && !hold;
  assign lanes = head.data;
  assign single_only = head.window || head.addr[14+:GW] == '0;
  assign at_top = lane == head.top;
  assign pair = !single_only && !head.addr[2] && !lane[0] && !at_top;
  assign ends = (lane | LW'(pair)) == head.top;
  assign offset = first ? head.addr[11:2] : next_offset;  // no TLP crosses a boundary of 4 KiB

  // Byte enables: the first and the last dword of a TLP have their own.
  assign low_be = first ? head.first_be : head.last && at_top ? head.last_be : 4'hf;
  assign high_be = head.last && ends ? head.last_be : 4'hf;

  always_ff @(posedge clk) begin
    word_valid <= have && !rst && (low_be != 0 || pair);
    word_window <= head.window;
    word_addr <= {head.addr[AW-1:12], offset};
    word_data <= {lanes[lane|LW'(!head.addr[2])], lanes[lane]};  // after an even start, an upper half comes from an odd lane
    word_strb <= {pair ? high_be : offset[2] ? low_be : 4'h0, offset[2] ? 4'h0 : low_be};
    dword_strb <= low_be;
    if (have) next_offset <= {offset[11:3] + 9'(pair || offset[2]), !pair && !offset[2]};
    if (rst) begin
      rd <= '0;
      lane <= '0;
      first <= 1'b1;
    end else if (have) begin
      lane <= ends ? '0 : lane + (pair ? LW'(2) : LW'(1));
      first <= ends && head.last;
      if (ends) rd <= rd + 1'b1;
    end
  end

  // ---- reads: one at a time waits for the queue's reader to pass `mark`
  typedef enum logic [1:0] {
    NONE,
    ARRIVED,
    MARKED,
    OFFERED
  } read_e;
  read_e read;
  logic owed;
  logic [PW:0] mark;

  assign read_valid = read == OFFERED;
  assign read_hit = is_ours(read_hdr.bar, read_hdr.offset);
  assign read_window = is_window(read_hdr.bar);
  assign read_addr = shorten(read_hdr.bar, read_hdr.offset);

  always_ff @(posedge clk) begin
    nonposted_credit <= owed && !rst;
    owed <= rst || read_valid && read_ready;
    if (rx_nonposted_valid) read_hdr <= rx_nonposted_hdr;
    case (read)
      NONE: if (rx_nonposted_valid) read <= ARRIVED;
      ARRIVED:  // between TLPs `commit` covers every write that began before the read
      if (!in_tlp) begin
        mark <= commit;
        read <= MARKED;
      end
      MARKED: if (rd == mark) read <= OFFERED;
      default: if (read_ready) read <= NONE;
    endcase
    if (rst) read <= NONE;
  end

`ifndef SYNTHESIS
  logic granted;  // the endpoint holds the credit
  always_ff @(posedge clk) begin
    granted <= !rst && (nonposted_credit || granted && !rx_nonposted_valid);
    if (!rst && rx_nonposted_valid)
      assert (granted)
      else $error("%m: a read came without a credit");
  end
`endif
endmodule
