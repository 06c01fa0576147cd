// SPDX-License-Identifier: Apache-2.0
// tp_inbound, its queue and its credit: each beat of a write that found room is handed on once, in its turn and unchanged; a write that
// found none is dropped whole and told; a read is offered only when the writes that had come or begun to come before it have been handed
// on; and no read comes before the one in hand is answered. One beat is watched, any.
// Assumed: a packet's header stands beside all of its beats, and a read comes only with a credit (the endpoint).
module tp_inbound_formal
  import tp_tlp_pkg::*;
#(
    parameter int DATA_WIDTH = 64,
    parameter int DEPTH = 4,
    parameter bit INDUCTION = 1,
    localparam int PW = $clog2(DEPTH),
    localparam int AW = 16
) (
    input logic clk,
    input logic rst,
    input logic hold,
    input logic posted_valid,
    input tp_request_hdr_t posted_hdr,
    input logic [DATA_WIDTH-1:0] posted_data,
    input logic posted_last,
    input logic nonposted_valid,
    input logic read_ready,
    input logic watch
);
  logic credit, overrun, word_valid, read_valid;
  tp_inbound #(
      .DATA_WIDTH(DATA_WIDTH),
      .CHANNELS(1),
      .DEPTH(DEPTH),
      .AW(AW)
  ) dut (
      .clk,
      .rst,
      .hold,
      .rx_posted_valid(posted_valid),
      .rx_posted_hdr(posted_hdr),
      .rx_posted_data(posted_data),
      .rx_posted_last(posted_last),
      .rx_nonposted_valid(nonposted_valid),
      .rx_nonposted_hdr('0),
      .nonposted_credit(credit),
      .overrun,
      .word_valid,
      .word_window(),
      .word_addr(),
      .word_data(),
      .word_strb(),
      .dword_strb(),
      .read_valid,
      .read_ready,
      .read_hdr(),
      .read_hit(),
      .read_window(),
      .read_addr()
  );

  // ------------------------------------------------------------------------------------------------ what is around it
  logic started = 1'b0;
  logic in_packet, packet_ours;  // a packet is under way
  logic endpoint_may;  // the endpoint holds the credit
  always_ff @(posedge clk) begin
    started <= 1'b1;
    if (posted_valid) {in_packet, packet_ours} <= {!posted_last, dut.ours};
    endpoint_may <= credit || (endpoint_may && !nonposted_valid);
    if (rst) {in_packet, endpoint_may} <= '0;
  end
  always_comb begin
    if (!started) assume (rst);
    if (in_packet) assume (dut.ours == packet_ours);
    if (nonposted_valid) assume (endpoint_may);
  end

  // ------------------------------------------------------------------------------------------------ the watched beat
  logic waits;                // it has come and has not been handed on
  logic sure;                 // all of its packet has come and found room
  logic older;                // its packet had begun when the read in hand came
  logic [PW:0] at;
  logic [DATA_WIDTH-1:0] data;
  logic handed;               // its last word comes out of the queue
  logic put, lost_now;
  assign put = posted_valid && dut.ours && !dut.full && !dut.lost;
  assign lost_now = posted_valid && posted_last && dut.ours && (dut.lost || dut.full);
  assign handed = dut.have && dut.ends && dut.rd == at;
  always_ff @(posedge clk) begin
    if (!waits) begin
      waits <= watch && put;
      sure <= posted_last;
      older <= nonposted_valid || (dut.read == 2'd1 && in_packet);
      at <= dut.wr;
      data <= posted_data;
    end else begin
      if (handed || (!sure && lost_now)) waits <= 1'b0;
      if (posted_valid && posted_last) sure <= 1'b1;
      if (nonposted_valid) older <= 1'b1;
      else if (read_valid && read_ready) older <= 1'b0;
    end
    if (rst) waits <= 1'b0;
  end
  logic dropped, was_in_reset;
  logic [PW:0] packet, good;  // beats of the packet under way; beats of packets that found room and have not been handed on
  always_ff @(posedge clk) begin
    dropped <= lost_now;
    was_in_reset <= rst;
    if (posted_valid && posted_last) packet <= '0;
    else packet <= packet + (PW + 1)'(put);
    good <= good + (put && posted_last ? packet + 1'b1 : '0) - (PW + 1)'(dut.have && dut.ends);
    if (rst) {packet, good} <= '0;
  end

  always_comb
    if (started && !rst) begin
      assert (was_in_reset || overrun == dropped);
      assert (!dut.have || good != '0);
      assert (!(waits && dut.have && dut.rd == at) || (sure && dut.lanes == data));
      assert (!(waits && put) || dut.wr[PW-1:0] != at[PW-1:0]);
      assert (!(waits && sure) || (PW + 1)'(at - dut.rd) < (PW + 1)'(dut.commit - dut.rd));
      assert (!(waits && older && read_valid));
      assert (!nonposted_valid || dut.read == '0);
      assert (!credit || !endpoint_may);
      cover (waits && handed && older);
      cover (waits && lost_now && !sure);
      cover (credit && word_valid);
    end

  if (INDUCTION) begin : g_induction
    localparam logic [1:0] NONE = 2'd0, ARRIVED = 2'd1, MARKED = 2'd2, OFFERED = 2'd3;  // as the module numbers them
    logic [PW:0] used, certain, place;
    assign used = dut.wr - dut.rd;
    assign certain = dut.commit - dut.rd;
    assign place = at - dut.rd;
    always_comb
      if (started && !rst) begin
        assert (32'(used) <= DEPTH && certain <= used);
        assert (in_packet == dut.in_tlp);
        assert (good == certain && (dut.lost || packet == (PW + 1)'(dut.wr - dut.commit)));
        assert (!dut.lost || (in_packet && packet_ours));
        if (!in_packet || !packet_ours) assert (dut.wr == dut.commit);
        assert (2'(endpoint_may) + 2'(credit) + 2'(dut.owed) + 2'(dut.read != NONE) <= 2'd1);
        if (dut.read == MARKED) assert ((PW + 1)'(dut.mark - dut.rd) <= certain);
        if (waits) begin
          assert (place < used && dut.queue[at[PW-1:0]].data == data);
          assert (sure ? place < certain : (in_packet && packet_ours && place >= certain));
          if (older) begin
            assert (dut.read == ARRIVED || dut.read == MARKED);
            assert (dut.read != MARKED || (sure && place < (PW + 1)'(dut.mark - dut.rd)));
          end
        end
      end
  end
endmodule
