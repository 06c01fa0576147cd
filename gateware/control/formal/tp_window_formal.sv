// SPDX-License-Identifier: Apache-2.0
// tp_window, its queue: a word that finds no room is counted; each dword of another with an enabled byte is taken once, in its turn, to its
// address, be it by an access or by giving it up; after `mark`, `passed` says that the words that had come are gone. A read waits for no later
// one but that under way. One word is watched, any.
// Assumed: a read is asked for once the writes before it have passed.
module tp_window_formal #(
    parameter int QUEUE = 4,
    localparam int QW = $clog2(QUEUE),
    localparam int AW = 12
) (
    input logic clk,
    input logic rst,
    input logic flush,
    input logic timeout_set,
    input logic word_valid,
    input logic word_misfit,
    input logic [AW-1:3] word_addr,
    input logic [1:0][31:0] word_data,
    input logic [1:0][3:0] word_strb,
    input logic mark,
    input logic ask,
    input logic [AW-1:2] addr,
    input logic awready,
    input logic wready,
    input logic bvalid,
    input logic arready,
    input logic rvalid,
    input logic watch
);
  logic overrun, timed_out, passed, ack, awvalid, wvalid, arvalid;
  logic [31:0] awaddr, wdata;
  logic [3:0] wstrb;
  tp_window #(
      .QUEUE(QUEUE)
  ) dut (
      .clk,
      .rst,
      .flush,
      .timeout(32'd2),
      .timeout_set,
      .overrun,
      .timed_out,
      .failed(),
      .word_valid,
      .word_misfit,
      .word_addr,
      .word_data,
      .word_strb,
      .mark,
      .passed,
      .ask,
      .addr,
      .ack,
      .data(),
      .m_axil_awaddr(awaddr),
      .m_axil_awvalid(awvalid),
      .m_axil_awready(awready),
      .m_axil_wdata(wdata),
      .m_axil_wstrb(wstrb),
      .m_axil_wvalid(wvalid),
      .m_axil_wready(wready),
      .m_axil_bresp(2'b00),
      .m_axil_bvalid(bvalid),
      .m_axil_bready(),
      .m_axil_araddr(),
      .m_axil_arvalid(arvalid),
      .m_axil_arready(arready),
      .m_axil_rdata('0),
      .m_axil_rresp(2'b00),
      .m_axil_rvalid(rvalid),
      .m_axil_rready()
  );

  // ------------------------------------------------------------------------------------------------ what is around it
  logic started = 1'b0;
  logic ask_was, ack_was, read_began;
  always_ff @(posedge clk) begin
    started <= 1'b1;
    ask_was <= ask;
    ack_was <= ack;
    read_began <= dut.start && ask && !ack && !rst && !flush;
  end
  always_comb begin
    if (!started) assume (rst);
    assume (!word_valid || !word_misfit);
    if (ask && !ask_was) assume (passed);
    if (ask_was && !ack_was) assume (ask);
    if (ask_was && ack_was) assume (!ask);
  end

  // ------------------------------------------------------------------------------------------------ the watched word
  logic put, gone;
  logic [QW:0] held, place;
  assign gone = dut.pop_word;
  logic waits, older, refused;
  logic [AW-1:3] at;
  logic [1:0][31:0] data;
  logic [1:0][3:0] strb;
  logic upper;          // of it, the next to be taken
  assign put = word_valid && !flush && 32'(held) < QUEUE;
  always_ff @(posedge clk) begin
    refused <= ((word_valid && !put) || word_misfit) && !flush && !rst;
    held <= held + (QW + 1)'(put) - (QW + 1)'(gone);
    if (!waits) begin
      waits <= watch && put;
      older <= 1'b0;
      place <= held - (QW + 1)'(gone);
      {at, data, strb} <= {word_addr, word_data, word_strb};
      upper <= 1'b0;
    end else begin
      if (mark) older <= 1'b1;
      if (gone) place <= place - 1'b1;
      if (dut.pop && place == '0) upper <= 1'b1;
      if (gone && place == '0) waits <= 1'b0;
    end
    if (rst || flush) {waits, held} <= '0;
  end

  logic vanishes;  // the dword that is taken
  assign vanishes = dut.expired || dut.give_up;
  always_comb
    if (started && !rst) begin
      assert (overrun == refused);
      assert (!put || 32'(held) < QUEUE);
      assert (!gone || held != '0);
      // What is taken of the watched word is its next dword; the access is of that one; the last one with a byte ends it.
      if (waits && place == '0) begin
        assert (!(dut.start && !dut.reading) || strb[upper] != '0);
        assert (!gone || upper || strb[1] == '0);
        assert (!upper || strb[1] != '0);
        if (dut.pop && strb[upper] != '0)
          assert (vanishes || (dut.writing && awaddr == 32'({at, upper, 2'b00}) && wdata == data[upper] && wstrb == strb[upper]));
      end
      assert (!(waits && older && passed));
      assert (!(ask && !ack && dut.have && dut.pop) || (dut.writing && dut.over));  // one that was under way
      assert (!read_began || (arvalid && !awvalid && !wvalid));
      cover (waits && older && place == 2'd2);
      cover (waits && place == '0 && gone && upper);
      cover (overrun && timed_out);
      cover (ack && waits && !older);
    end

  // ------------------------------------------------------------------------------------------------ induction
  logic [QW:0] where;
  assign where = dut.queue.rd + place;
  always_comb
    if (started && !rst) begin
      assert (held == dut.count && 32'(held) <= QUEUE && dut.queued == (held != '0));
      assert (dut.ahead <= held);
      assert (held != '0 || !dut.upper);
      // A write under way is of the dword in hand.
      assert (!(dut.waited && dut.writing) || (dut.have && dut.access_addr == {dut.head.addr, dut.upper} &&
              wdata == dut.head.data[dut.upper] && wstrb == dut.head.strb[dut.upper]));
      assert (!dut.waited || dut.open);
      if (waits) begin
        assert (place < held);
        assert (dut.queue.mem[where[QW-1:0]] == {strb[1] != '0, strb[0] != '0, at, strb, data});
        assert (place == '0 ? upper == dut.upper : !upper);
        assert (!older || place < dut.ahead);
      end
    end
endmodule
