// SPDX-License-Identifier: Apache-2.0
// What the host writes, as a sequence of 64-bit words; and the host's reads, each held back until the writes before it are done.
//
// Posted writes are always taken. They wait in a queue of DEPTH beats, from which one aligned 64-bit word with byte strobes comes a
// cycle; a dword whose neighbour lies in the next beat comes as a word of its own. The queue is sized by tp_control so that a host that
// keeps the contract cannot fill it. A TLP that finds no room is dropped whole and `overrun` pulses; one longer than the queue never
// finds any. Writes to nowhere are dropped in silence.
//
// Reads are granted by credits, 1 << READS_LOG2 at most, and offered in order. A read is offered (`read_valid`) the cycle after the last
// word of the writes that had come, or begun to come, before it: a sink that takes a word in the cycle it is offered has done so.
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
    parameter int READS_LOG2 = 2,
    parameter int AW = 16                   // bits of the short address
) (
    input  logic                         clk,
    input  logic                         rst,
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
    output logic        [        AW-1:3] word_addr,
    output logic        [          63:0] word_data,
    output logic        [           7:0] word_strb,
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
  localparam int READS = 1 << READS_LOG2;

  if (DATA_WIDTH != 64 && DATA_WIDTH != 128 && DATA_WIDTH != 256 && DATA_WIDTH != 512)
    $error("%m: DATA_WIDTH %0d: make it 64, 128, 256 or 512", DATA_WIDTH);
  if (DEPTH < 4 || (DEPTH & (DEPTH - 1)) != 0) $error("%m: DEPTH %0d: make it a power of two, 4 or more", DEPTH);

  function automatic logic is_window(input logic [2:0] bar);
    return WINDOW_BYTES != 0 && bar == 3'(TP_BAR_WINDOW);
  endfunction
  function automatic logic is_ours(input logic [2:0] bar, input logic [31:0] offset);
    if (is_window(bar)) return (offset & ~32'(WINDOW_BYTES - 1)) == 0;
    return bar == 3'(TP_BAR_DEVICE) && (offset >> (PAGE_SHIFT + 2)) <= 32'(CHANNELS) && (offset & 32'((1 << PAGE_SHIFT) - 4096)) == 0;
  endfunction
  // verilator lint_off UNUSEDSIGNAL
  function automatic logic [AW-1:2] shorten(input logic [2:0] bar, input logic [31:0] offset);  // of an offset that is ours
    return is_window(bar) ? offset[AW-1:2] : (AW - 2)'({offset[PAGE_SHIFT+:GW+2], offset[11:2]});
  endfunction
  // verilator lint_on UNUSEDSIGNAL

  // ---- posted: into the queue. `wr` runs ahead of `commit` and falls back to it when a TLP finds no room.
  typedef struct packed {
    logic last;
    logic [LW-1:0] top;       // highest lane of the TLP's last beat
    logic [3:0] first_be;
    logic [3:0] last_be;
    logic window;
    logic [AW-1:2] addr;      // of the TLP's first dword
    logic [DATA_WIDTH-1:0] data;
  } beat_t;

  beat_t queue[DEPTH];
  beat_t in, head;
  logic [PW:0] wr, commit, rd;
  logic in_tlp, lost, full;

  assign full = (wr - rd) == (PW + 1)'(DEPTH);
  assign in.last = rx_posted_last;
  assign in.top = LW'(rx_posted_hdr.dwords - 1'b1);
  assign in.first_be = rx_posted_hdr.first_be;
  assign in.last_be = rx_posted_hdr.dwords == 1 ? rx_posted_hdr.first_be : rx_posted_hdr.last_be;
  assign in.window = is_window(rx_posted_hdr.bar);
  assign in.addr = shorten(rx_posted_hdr.bar, rx_posted_hdr.offset);
  assign in.data = rx_posted_data;

  logic ours;
  assign ours = rx_posted_valid && is_ours(rx_posted_hdr.bar, rx_posted_hdr.offset);

  always_ff @(posedge clk) if (ours && !full) queue[wr[PW-1:0]] <= in;

  always_ff @(posedge clk) begin
    overrun <= 1'b0;
    if (rst) begin
      wr <= '0;
      commit <= '0;
      in_tlp <= 1'b0;
      lost <= 1'b0;
    end else if (rx_posted_valid) begin
      in_tlp <= !rx_posted_last;
      if (ours && rx_posted_last) begin
        lost <= 1'b0;
        overrun <= lost || full;
        if (lost || full) begin
          wr <= commit;
        end else begin
          wr <= wr + 1'b1;
          commit <= wr + 1'b1;
        end
      end else if (ours) begin
        lost <= lost || full;
        if (!full) wr <= wr + 1'b1;
      end
    end
  end

  // ---- out of the queue: `step` counts the aligned words of a beat. With an odd first dword, lane 0 is an upper half.
  logic have, first, odd, step_last;
  logic [LW-1:0] step, lanes_top;
  logic [LW:0] low, high;  // lanes of the word's two dwords; low is -1 in the first step of an odd beat
  logic low_in, high_in;
  logic [AW-1:3] next_addr, addr;
  logic [3:0] low_be, high_be;
  logic [LANES-1:0][31:0] lanes;

  assign head = queue[rd[PW-1:0]];
  assign have = rd != commit;
  assign lanes = head.data;
  assign odd = head.addr[2];
  assign lanes_top = head.last ? head.top : LW'(LANES - 1);
  assign low = {step, 1'b0} - (LW + 1)'(odd);
  assign high = {step, 1'b0} + (LW + 1)'(!odd);
  assign low_in = !low[LW] && low[LW-1:0] <= lanes_top;
  assign high_in = !high[LW] && high[LW-1:0] <= lanes_top;
  assign step_last = high >= {1'b0, lanes_top};
  assign addr = first ? head.addr[AW-1:3] : next_addr;

  // Byte enables of the dword in a lane: the first and the last dword have their own.
  function automatic logic [3:0] enables(input logic is_first, input logic is_last, input logic [3:0] first_be, input logic [3:0] last_be);
    return is_first ? first_be : is_last ? last_be : 4'hf;
  endfunction
  always_comb begin
    low_be = enables(first && low == 0, head.last && low[LW-1:0] == head.top, head.first_be, head.last_be);
    high_be = enables(first && high == 0, head.last && high[LW-1:0] == head.top, head.first_be, head.last_be);
    if (!low_in) low_be = 4'h0;
    if (!high_in) high_be = 4'h0;
  end

  always_ff @(posedge clk) begin
    word_valid <= have && {high_be, low_be} != 0 && !rst;
    word_window <= head.window;
    word_addr <= addr;
    word_data <= {lanes[high[LW-1:0]], lanes[low[LW-1:0]]};
    word_strb <= {high_be, low_be};
    if (have) next_addr <= step_last && odd ? addr : addr + 1'b1;
    if (rst) begin
      rd <= '0;
      step <= '0;
      first <= 1'b1;
    end else if (have) begin
      step <= step_last ? '0 : step + 1'b1;
      if (step_last) begin
        rd <= rd + 1'b1;
        first <= head.last;
      end else begin
        first <= 1'b0;
      end
    end
  end

  // ---- reads: `rwr` arrived, `rok` may be answered, `rrd` next. One at a time waits for the queue's reader to pass `mark`.
  tp_request_hdr_t reads[READS];
  logic [READS_LOG2:0] rwr, rok, rrd, owed;
  logic marked;
  logic [PW:0] mark;

  assign read_valid = rrd != rok;
  assign read_hdr = reads[rrd[READS_LOG2-1:0]];
  assign read_hit = is_ours(read_hdr.bar, read_hdr.offset);
  assign read_window = is_window(read_hdr.bar);
  assign read_addr = shorten(read_hdr.bar, read_hdr.offset);

  always_ff @(posedge clk) if (rx_nonposted_valid) reads[rwr[READS_LOG2-1:0]] <= rx_nonposted_hdr;

  always_ff @(posedge clk) begin
    nonposted_credit <= 1'b0;
    if (rst) begin
      rwr <= '0;
      rok <= '0;
      rrd <= '0;
      owed <= (READS_LOG2 + 1)'(READS);
      marked <= 1'b0;
    end else begin
      if (rx_nonposted_valid) rwr <= rwr + 1'b1;
      // Between TLPs `commit` covers every write that began before the read.
      if (!marked && rwr != rok && !in_tlp) begin
        marked <= 1'b1;
        mark <= commit;
      end else if (marked && rd == mark) begin
        marked <= 1'b0;
        rok <= rok + 1'b1;
      end
      if (read_valid && read_ready) rrd <= rrd + 1'b1;
      nonposted_credit <= owed != 0;
      owed <= owed - (READS_LOG2 + 1)'(owed != 0) + (READS_LOG2 + 1)'(read_valid && read_ready);
    end
  end

`ifndef SYNTHESIS
  logic [READS_LOG2:0] granted;  // credits in the endpoint's hands
  always_ff @(posedge clk) begin
    granted <= rst ? '0 : granted + (READS_LOG2 + 1)'(nonposted_credit) - (READS_LOG2 + 1)'(rx_nonposted_valid);
    if (!rst && rx_nonposted_valid)
      assert (granted != 0)
      else $error("%m: a read came without a credit");
  end
`endif
endmodule
