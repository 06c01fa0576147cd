// SPDX-License-Identifier: Apache-2.0
// tp_answer: a read has one answer, within a stated number of clocks: BARRIER + 1, SOURCE + 1 for each dword and LINK + 1 for each beat,
// where these three are the clocks for which the barrier, a source and the link may keep it. It is of as many beats as it has dwords,
// each of them the one that its source gave for its address, asked for once and in order; or it says what is wrong, without data and
// without asking. `waits` while it has not begun. Any one dword is watched.
// Assumed: the request stands for two cycles before
// `read_valid`, and until it is answered; what is asked for is answered in the next cycle or later.
module tp_answer_formal
  import towpath_pkg::*;
  import tp_tlp_pkg::*;
#(
    parameter bit INDUCTION = 1,
    localparam int AW = 16,
    localparam int MOST = 16,
    localparam int BARRIER = 4,  // clocks that each may take
    localparam int SOURCE = 3,
    localparam int LINK = 2
) (
    input logic clk,
    input logic rst,
    input logic barrier,
    input logic read_valid,
    input tp_request_hdr_t read_hdr,
    input logic read_hit,
    input logic read_window,
    input logic [AW-1:2] read_addr,
    input logic ack,
    input logic [31:0] data,
    input logic tx_answer_ready,
    input logic [3:0] which
);
  logic waits, read_ready, ask, ask_none, ask_window, tx_answer_valid, tx_answer_last;
  logic [AW-1:2] ask_addr;
  tp_answer_hdr_t tx_answer_hdr;
  logic [63:0] tx_answer_data;
  tp_answer #(
      .DATA_WIDTH(64),
      .AW(AW)
  ) dut (
      .*
  );

  // ------------------------------------------------------------------------------------------------ what is around it
  logic started = 1'b0;
  logic asked, valid1, ready1;
  logic [1:0] steady;               // cycles in which the request has stood
  tp_request_hdr_t hdr1;
  logic [AW+1:2] at1;
  logic [3:0] which1;
  logic [2:0] held, sought, stood;  // clocks of barrier, source and link
  always_ff @(posedge clk) begin
    started <= 1'b1;
    which1 <= which;
    {hdr1, at1} <= {read_hdr, read_hit, read_window, read_addr};
    steady <= rst || read_ready || {hdr1, at1} != {read_hdr, read_hit, read_window, read_addr} ? 2'd0 : steady + 2'(steady != 2'd3);
    asked <= ask && !ack && !rst;
    valid1 <= read_valid && !read_ready && !rst;
    held <= waits && barrier ? held + 1'b1 : '0;
    sought <= ask && !ack ? sought + 1'b1 : '0;
    stood <= tx_answer_valid && !tx_answer_ready ? stood + 1'b1 : '0;
    if (rst) {held, sought, stood} <= '0;
  end
  always_comb begin
    if (!started) assume (rst);
    if (started) assume (which == which1);
    assume (!read_valid || (steady >= 2'd1 && {hdr1, at1} == {read_hdr, read_hit, read_window, read_addr}));
    if (started && valid1) assume (read_valid);
    assume (read_hdr.dwords >= 11'd1 && read_hdr.dwords <= 11'd1024);
    assume (!ack || (ask && asked));
    if (32'(held) == BARRIER) assume (!barrier);
    if (32'(sought) == SOURCE) assume (ack);
    if (32'(stood) == LINK) assume (tx_answer_ready);
  end

  // ------------------------------------------------------------------------------------------------ the read
  logic good, taken;
  logic [4:0] got, sent;  // dwords that have come, beats that have left
  logic [31:0] word;  // the watched one
  int clocks, most, beats;
  assign good = (read_hdr.bar == 3'(TP_BAR_DEVICE) || read_hdr.bar == 3'(TP_BAR_WINDOW)) && read_hdr.dwords <= 11'(MOST);
  assign beats = good ? (32'(read_hdr.dwords) + 1) / 2 : 1;
  assign most = BARRIER + 1 + (good ? 32'(read_hdr.dwords) * (SOURCE + 1) : 0) + beats * (LINK + 1);
  assign taken = tx_answer_valid && tx_answer_ready;
  always_ff @(posedge clk) begin
    clocks <= read_valid && !read_ready ? clocks + 1 : 0;
    if (ask && ack) begin
      got <= got + 1'b1;
      if (got == 5'(which)) word <= data;
    end
    sent <= sent + 5'(taken);
    if (rst || read_ready) {got, sent} <= '0;
    if (rst) clocks <= 0;
  end

  always_comb
    if (started && !rst) begin
      assert (clocks >= 0 && clocks < most);
      assert (!tx_answer_valid || read_valid);
      assert (!taken || tx_answer_last == (32'(sent) == beats - 1));
      assert (read_ready == (taken && tx_answer_last));
      if (tx_answer_valid)
        assert (tx_answer_hdr.tag == read_hdr.tag && tx_answer_hdr.requester == read_hdr.requester &&
                tx_answer_hdr.dwords == (good ? read_hdr.dwords : '0) && (tx_answer_hdr.status == CPL_OK) == good);
      assert (!ask || (read_valid && good && 11'(got) < read_hdr.dwords && ask_addr == {read_addr[AW-1:12], read_addr[11:2] + 10'(got)}));
      if (tx_answer_valid && good) begin
        assert (11'(got) == read_hdr.dwords || 32'(got) == 2 * 32'(sent) + 2);
        if (32'(which[3:1]) == 32'(sent) && 5'(which) < got) assert (tx_answer_data[32*which[0]+:32] == word);
      end
      assert (!waits || (got == '0 && sent == '0 && !ask));
      cover (read_ready && got == 5'd5 && clocks == 30);
      cover (read_ready && read_valid && !good);
    end

  if (INDUCTION) begin : g_induction
    int least;  // clocks that may still be needed
    assign least = (good && dut.state != 2'd0 ? (32'(read_hdr.dwords) - 32'(got)) * (SOURCE + 1) : 0) + (beats - 32'(sent)) * (LINK + 1);
    always_comb
      if (started && !rst) begin
        assert (dut.state != 2'd3);
        assert (dut.state == 2'd0 || read_valid);
        if (read_valid) assert (dut.ok == good && dut.last_index == 4'(read_hdr.dwords - 1'b1));
        if (steady >= 2'd1 || read_valid) assert (tx_answer_hdr.tag == hdr1.tag && tx_answer_hdr.requester == hdr1.requester);
        assert (32'(held) <= BARRIER && 32'(sought) <= SOURCE && 32'(stood) <= LINK);
        assert (sought == '0 || (ask && asked));
        assert (stood == '0 || tx_answer_valid);
        assert (held == '0 || dut.state == 2'd0);
        if (dut.state == 2'd0) begin
          assert (got == '0 && sent == '0 && clocks == 32'(held));
        end else begin
          assert (clocks + least - 32'(sought) - 32'(stood) <= most);
          assert (32'(sent) < beats);
          if (good) begin
            assert (dut.index == got[3:0] && 11'(got) <= read_hdr.dwords && dut.ended == (11'(got) == read_hdr.dwords));
            if (dut.state == 2'd1) assert (11'(got) < read_hdr.dwords && 32'(got) / 2 == 32'(sent));
            if (dut.state == 2'd2) assert (32'(sent) == (32'(got) - 1) / 2 && got != '0);
            if (5'(which) < got && 32'(which[3:1]) == 32'(sent)) assert (dut.beat[which[0]] == word);
          end else assert (dut.state == 2'd2 && got == '0 && sent == '0);
        end
      end
  end
endmodule
