// SPDX-License-Identifier: Apache-2.0
// tp_inbound: a write to an inline page, a doorbell, a privileged page or the window is handed on at once, whatever waits; a word of the card's page or
// MSI-X that found room is shown once, in its turn and unchanged; one that found none, or is not of 4 or 8 aligned bytes, is dropped whole and
// counted; a read is offered only when the words that had come before it have been shown and every write that had begun is over, and the
// window's have passed where it follows them; no read comes before the one in hand is answered. One word of the queue is watched, any.
// Assumed: a packet's header stands beside all of its beats, and a read comes only with a credit (the endpoint).
module tp_inbound_formal
  import towpath_pkg::*;
  import tp_tlp_pkg::*;
#(
    parameter int DATA_WIDTH = 64,
    parameter int WORDS = 4,
    localparam int CW = $clog2(WORDS),
    localparam int AW = 16
) (
    input logic clk,
    input logic rst,
    input logic hold,
    input logic posted_valid,
    input tp_request_hdr_t posted_hdr,
    input logic [63:0] posted_data,
    input logic posted_last,
    input logic nonposted_valid,
    input tp_request_hdr_t nonposted_hdr,
    input logic read_ready,
    input logic window_passed,
    input logic watch
);
  logic [AW-1:2] read_addr;
  logic
      credit,
      overrun,
      word_valid,
      read_valid,
      read_window,
      inline_valid,
      batch_valid,
      window_valid,
      window_mark,
      bell_valid,
      bell_misfit,
      priv_valid;
  logic [9:0] word_offset;
  logic window_misfit;
  logic [63:0] put_data;
  logic [7:0] put_strb;
  logic [31:0] word_data;
  logic [3:0] word_strb;
  tp_inbound #(
      .DATA_WIDTH(DATA_WIDTH),
      .CHANNELS(1),
      .WORDS(WORDS),
      .AW(AW)
  ) dut (
      .clk,
      .rst,
      .hold,
      .rx_posted_valid(posted_valid),
      .rx_posted_hdr(posted_hdr),
      .rx_posted_low(posted_data),
      .rx_posted_last(posted_last),
      .rx_nonposted_valid(nonposted_valid),
      .rx_nonposted_hdr(nonposted_hdr),
      .nonposted_credit(credit),
      .overrun,
      .wr_strb(),
      .wr_channel(),
      .wr_offset(),
      .inline_valid,
      .batch_valid,
      .window_valid,
      .window_misfit,
      .window_mark,
      .window_passed,
      .bell_valid,
      .bell_misfit,
      .priv_valid,
      .put_channel(),
      .put_addr(),
      .put_data,
      .put_strb,
      .word_valid,
      .word_page(),
      .word_offset,
      .word_data,
      .word_strb,
      .read_valid,
      .read_ready,
      .read_hdr(),
      .read_hit(),
      .read_window,
      .read_addr
  );

  // ------------------------------------------------------------------------------------------------ what is around it
  logic started = 1'b0;
  logic of_card;       // the read in hand is of the card's page
  logic window_older;  // what comes out for the window came before the read in hand, or with it
  assign of_card = !read_window && read_addr[15:12] == 4'(TP_PAGE_CARD);
  logic in_packet;
  tp_request_hdr_t packet_hdr;
  logic endpoint_may;  // the endpoint holds the credit; it may also use one in the clock in which it gets it
  logic passed_was;
  always_ff @(posedge clk) begin
    started <= 1'b1;
    if (posted_valid) begin
      in_packet <= !posted_last;
      packet_hdr <= posted_hdr;
    end
    endpoint_may <= (credit || endpoint_may) && !nonposted_valid;
    window_older <= dut.read == 2'd0;
    if (rst) {in_packet, endpoint_may} <= '0;
  end
  always_comb begin
    if (!started) assume (rst);
    if (in_packet) assume (posted_hdr == packet_hdr);
    if (posted_valid) assume (posted_hdr.dwords != '0);
    if (posted_valid && !in_packet && posted_hdr.dwords <= 11'd2) assume (posted_last);
    if (nonposted_valid) assume (endpoint_may || credit);
    if (dut.read >= 2'd2 && passed_was) assume (window_passed);  // until the next mark
  end
  always_ff @(posedge clk) passed_was <= window_passed && !window_mark;

  // ------------------------------------------------------------------------------------------------ the watched word
  logic [CW:0] held;  // words that have found room and not been shown whole
  logic [1:0] page;
  logic device, channels, put, lost, bell, priv, window;  // by the contract's pages, with four kilobytes each
  assign page = posted_hdr.offset[13:12];
  assign channels = posted_hdr.offset[14];
  assign device = posted_valid && !in_packet && posted_hdr.bar == 3'(TP_BAR_DEVICE) && posted_hdr.offset[31:15] == '0;
  logic word, aligned;
  assign word = device && !channels && (page == 2'd1 || page == 2'd2);
  assign priv = device && channels && page == 2'd0;
  assign bell = device && channels && page == 2'd1;
  assign window = posted_valid && !in_packet && posted_hdr.bar == 3'(TP_BAR_WINDOW) && posted_hdr.offset[31:12] == '0;
  assign aligned = posted_hdr.dwords == 11'd1 || (posted_hdr.dwords == 11'd2 && !posted_hdr.offset[2]);
  assign put = word && aligned && held != (CW + 1)'(WORDS);
  assign lost = (word && !put) || ((bell || priv) && !aligned);

  logic shown;  // the last dword of one is shown
  assign shown = dut.pop;
  logic
      waits,
      older,
      lost_was,
      bell_was,
      bell_misfit_was,
      priv_was,
      window_was,
      misfit_was,
      was_in_reset;  // `older`: it came before the read in hand
  logic [CW:0] place;  // words before it
  logic begun;         // the write under way had begun when the read in hand came
  logic [63:0] data, put_data_was;
  logic [7:0] strb, put_be_was;
  logic put_odd_was, put_two_was;
  logic half_shown, odd;
  always_ff @(posedge clk) begin
    was_in_reset <= rst;
    begun <= !(posted_valid && posted_last) && !rst && (begun || (nonposted_valid && (in_packet || posted_valid)));
    lost_was <= lost;
    bell_was <= bell && aligned;
    bell_misfit_was <= bell && !aligned;
    priv_was <= priv && aligned;
    window_was <= window && aligned;
    misfit_was <= window && !aligned;
    put_data_was <= posted_data;
    put_be_was <= {posted_hdr.last_be, posted_hdr.first_be};
    {put_odd_was, put_two_was} <= {posted_hdr.offset[2], posted_hdr.dwords == 11'd2};
    held <= held + (CW + 1)'(put) - (CW + 1)'(shown);
    if (!waits) begin
      waits <= watch && put;
      place <= held - (CW + 1)'(shown);
      odd <= posted_hdr.offset[2];
      data <= posted_hdr.offset[2] ? {posted_data[31:0], posted_data[31:0]} : posted_data;
      strb <= {posted_hdr.dwords == 11'd2 ? posted_hdr.last_be : 4'h0, posted_hdr.first_be};
      if (posted_hdr.offset[2]) strb <= {posted_hdr.first_be, 4'h0};
      older <= nonposted_valid;
      half_shown <= 1'b0;
    end else begin
      if (shown) place <= place - 1'b1;
      if (shown && place == '0) waits <= 1'b0;
      if (place == '0 && dut.show && !shown) half_shown <= 1'b1;
      if (nonposted_valid) older <= 1'b1;
      else if (read_valid && read_ready) older <= 1'b0;
    end
    if (rst) {waits, held} <= '0;
  end
  logic show_was, show_upper, show_odd;
  logic [63:0] show_data;
  logic [7:0] show_strb;
  always_ff @(posedge clk) begin
    show_was <= waits && place == '0 && dut.show && !rst;
    show_upper <= half_shown;
    show_odd <= odd;
    show_data <= data;
    show_strb <= strb;
  end

  always_comb
    if (started && !rst) begin
      assert (was_in_reset || overrun == lost_was);
      assert (was_in_reset || (bell_valid == bell_was && bell_misfit == bell_misfit_was && priv_valid == priv_was));
      assert (was_in_reset || (window_valid == window_was && window_misfit == misfit_was));
      if (bell_valid || priv_valid || window_valid) begin
        assert (put_strb == (put_odd_was ? {put_be_was[3:0], 4'h0} : {put_two_was ? put_be_was[7:4] : 4'h0, put_be_was[3:0]}));
        assert (put_odd_was ? put_data[63:32] == put_data_was[31:0] : put_data[31:0] == put_data_was[31:0]);
        assert (!put_two_was || put_data == put_data_was);
      end
      if (posted_valid) assert (inline_valid == (posted_hdr.bar == 3'(TP_BAR_DEVICE) && posted_hdr.offset[31:14] == 18'd1 && page == 2'd2));
      if (show_was) begin
        assert (word_valid && word_offset[0] == (show_odd || show_upper));
        assert (word_data == (show_upper ? show_data[63:32] : show_data[31:0]));
        assert (word_strb == (show_odd || show_upper ? show_strb[7:4] : show_strb[3:0]));
      end
      assert (!(waits && older && read_valid) && !(begun && read_valid));
      if (waits && place == '0 && shown) assert (half_shown || odd || strb[7:4] == '0);
      assert (!(read_valid && (read_window || of_card)) || window_passed || passed_was);
      assert (!window_mark || !(window_valid && window_older));
      assert (!nonposted_valid || dut.read == '0);
      assert (!credit || !endpoint_may);
      cover (waits && older && place == (CW + 1)'(WORDS - 1));
      cover (show_was && show_upper);
      cover (lost && !bell);
      cover (read_valid && held != '0);
    end

  // ------------------------------------------------------------------------------------------------ induction
  localparam logic [1:0] NONE = 2'd0, ARRIVED = 2'd1, MARKED = 2'd2, OFFERED = 2'd3;  // as the module numbers them
  logic [CW:0] at;
  assign at = dut.queue.rd + place;
  always_comb
    if (started && !rst) begin
      assert (held == dut.count && 32'(held) <= WORDS);
      assert (in_packet == dut.in_tlp);
      assert (2'(endpoint_may) + 2'(credit) + 2'(dut.owed) + 2'(dut.read != NONE) <= 2'd1);
      assert (!window_mark || dut.read == MARKED);
      assert (!begun || (dut.read == ARRIVED && in_packet));
      if (dut.read == MARKED) assert (dut.ahead <= held && (dut.follows_window || !(read_window || of_card)));
      assert (!dut.second || held != '0);
      if (waits) begin
        assert (place < held);
        assert (dut.queue.mem[at[CW-1:0]][71:0] == {strb, data});  // as it is placed
        assert (dut.queue.mem[at[CW-1:0]][72] == odd);
        assert (half_shown == (place == '0 && dut.second));
        assert (!odd || data[63:32] == data[31:0]);
        if (older) begin
          assert (dut.read == ARRIVED || dut.read == MARKED);
          assert (dut.read != MARKED || place < dut.ahead);
        end
      end
      assert (!half_shown || !waits || (strb[7:4] != '0 && !odd));
    end
endmodule
