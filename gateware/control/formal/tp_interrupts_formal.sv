// SPDX-License-Identifier: Apache-2.0
// tp_interrupts, of any one vector: what has fired it, be it the mover or a line of the user core, is a message that leaves later, or
// its pending bit stands, at every moment until the message has left; a message or a pending bit has had such a cause since the last
// reset. A message is decided on only while messages may be sent, the vector is not masked and nobody asks to `give_way`; it says what
// the table says. A reset leaves nothing pending: a sweep has cleared vector n after n + 3 clocks. Bounded: what has been decided on is
// shown three clocks later, and a message that may no longer be sent is taken back within two; so with `give_way` nothing stands before
// a read for more than 5 clocks and twice those that the link makes a message wait, whatever becomes of `enable` meanwhile. Lines: each
// one counted is told so, once, in the next cycle, and no other.
// Assumed: `clear` and the sweep behind it come while messages are off;
// the host leaves an entry's address and data alone; the RAM answers in the next cycle (tp_pages).
module tp_interrupts_formal
  import towpath_pkg::*;
  import tp_tlp_pkg::*;
#(
    parameter bit INDUCTION = 1,
    localparam int VECTORS = 4,
    localparam int SPAN = 7,
    localparam int LINK = 3                // clocks that the link makes a message wait
) (
    input logic clk,
    input logic rst,
    input logic clear,
    input logic sweeping,
    input logic enable,
    input logic hold,
    input logic give_way,
    input logic fire_valid,
    input logic [7:0] fire_vector,
    input logic [15:0] irq_valid,
    input logic posted_ready,
    input logic set,
    input logic [SPAN+1:0] set_at,
    input logic set_lines,
    input logic [31:0] set_data,
    input logic counted,
    input logic [31:0] q,
    input logic pending_ask,
    input logic [1:0] pending_word,
    input logic [1:0] who,                 // the vector that is watched, and its entry
    input logic [2:0][31:0] entry
);
  logic fire_ready, sending, posted_valid, posted_last, job, count, pending_shift, pending_bit, pending_ack;
  logic [15:0] irq_ready;
  logic [SPAN+1:0] job_at;
  tp_write_hdr_t posted_hdr;
  logic [63:0] posted_data;
  logic [31:0] late;
  always_ff @(posedge clk) late <= q;
  tp_interrupts #(
      .DATA_WIDTH(64),
      .VECTORS(VECTORS),
      .SPAN(SPAN)
  ) dut (
      .*
  );

  // ------------------------------------------------------------------------------------------------ what is around it
  logic started = 1'b0;
  logic off, sweeping1, job1;
  logic [7:0] swept;                       // clocks of this sweep
  logic [1:0] who1;
  logic [2:0][31:0] entry1;
  logic [SPAN+1:0] job_at1;
  always_ff @(posedge clk) begin
    started <= 1'b1;
    off <= rst || clear;
    sweeping1 <= sweeping;
    swept <= rst || clear ? '0 : swept + 8'(swept != '1);
    {who1, entry1} <= {who, entry};
    if (job) job_at1 <= job_at;
    job1 <= job;
  end
  always_comb begin
    if (!started) assume (rst);
    if (started) assume ({who1, entry1} == {who, entry});
    if (started) assume (off ? sweeping : sweeping == (sweeping1 && sweeping));  // begins then, and ends once, ...
    if (started && sweeping1 && !off && swept < 8'd8) assume (sweeping);  // ... after the vectors that there are
    if (clear || sweeping) assume (!enable);
    assume (!counted || count);
    if (started && job1 && job_at1[SPAN+1:SPAN] == 2'(TP_PAGE_MSIX) && job_at1[SPAN-1:2] == (SPAN - 2)'(who) && job_at1[1:0] != 2'd3)
      assume (q == entry[job_at1[1:0]]);
  end

  // ------------------------------------------------------------------------------------------------ the watched vector
  logic mask, enable1, give_way1, mask1, sending1, due, caused, fires, leaves, mine;
  logic [2:0] closed;                      // clocks in which a message stands that may not be sent
  logic [4:0] stands;                      // clocks in which one stands before a read
  logic [2:0] shown;                       // clocks in which the link made one wait
  logic [1:0] sent;
  logic counted1, hold1, rst1;
  logic [31:0] named;  // the vector of the line that is counted
  assign mine = dut.chosen == 9'(who);
  assign fires = (fire_valid && fire_ready && fire_vector == 8'(who)) || (count && counted && dut.line_enabled && named == 32'(who));
  assign leaves = posted_valid && posted_ready && dut.posted_vector == 5'(who);
  always_ff @(posedge clk) begin
    if (set && set_at == {2'(TP_PAGE_MSIX), (SPAN - 2)'(who), 2'd3}) mask <= set_data[0];
    {enable1, give_way1, mask1, sending1} <= {enable, give_way, mask, sending};
    if (dut.state == 3'd2) named <= q;
    if (leaves) due <= 1'b0;
    if (fires) {due, caused} <= 2'b11;
    if (rst || clear) {due, caused} <= '0;
    closed <= posted_valid && !enable && !posted_ready && !clear ? closed + 1'b1 : '0;
    shown <= !posted_valid || posted_ready ? '0 : enable ? shown + 1'b1 : shown;
    stands <= give_way && (sending || posted_valid) ? stands + 1'b1 : '0;
    sent <= sending ? sent + 1'b1 : '0;
    {counted1, hold1, rst1} <= {counted, hold, rst};
    if (rst) {closed, shown, stands, sent} <= '0;
  end
  always_comb begin
    if (!started) assume (mask == dut.masks[who]);
    if (posted_valid && enable && shown == 3'(LINK)) assume (posted_ready);
  end

  logic under_way, waits;
  assign under_way = mine && (dut.state == 3'd4 || sending);  // LOOK, or decided on
  assign waits = posted_valid && dut.posted_vector == 5'(who);
  always_comb
    if (started && !rst) begin
      assert (!due || dut.pendings[who] || under_way || waits);
      if (!sweeping && !off) assert (!(dut.pendings[who] || under_way || waits) || caused);
      if (sweeping && swept >= 8'(who) + 8'd3) assert (!dut.pendings[who]);
      assert (!(sending && !sending1 && mine) || (enable1 && !mask1 && !give_way1));
      assert (!waits || (posted_hdr.addr == {entry[1], entry[0][31:2], 2'b00} && posted_data == 64'(entry[2])));
      assert (!posted_valid || (posted_last && posted_hdr.dwords == 11'd1 && posted_hdr.first_be == 4'hf && posted_hdr.last_be == 4'h0 &&
              !posted_hdr.relaxed));
      assert (sent <= 2'd3 && (!(sending1 && !sending) || posted_valid || off));
      assert (closed <= 3'd2);
      assert (stands <= 5'(2 * LINK + 5));
      assert (rst1 || (irq_ready == '0 ? !(counted1 && !hold1) : counted1 && !hold1 && $onehot(irq_ready)));
      for (int i = 0; i < 16; i++)
      assert (rst1 || !irq_ready[i] || job_at1 == {2'(TP_PAGE_CARD), SPAN'(TP_CARD_USER_IRQ_COUNT_OFFSET / 4 + i)});
      cover (leaves && due);
      cover (irq_ready[1] && dut.state == 3'd4 && mine);
    end

  if (INDUCTION) begin : g_induction
    logic looked1;  // the state was LOOK
    always_ff @(posedge clk) looked1 <= dut.state == 3'd4 && !rst;
    always_comb if (started) assert (mask == dut.masks[who]);
    always_comb
      if (started && !rst) begin
        assert (dut.line == 16'd1 << dut.scan[3:0]);
        if (dut.state != 3'd0) assert (!sweeping && !off && (!sending || dut.good));
        assert (!sweeping || (!posted_valid && !due && dut.state == 3'd0));
        // In a sweep the scan is a vector ahead of its clocks.
        if (sweeping && swept != '0 && swept < 8'd32) assert (8'(dut.scan) == swept);
        if (sweeping && swept >= 8'd1 && swept < 8'd33) assert (dut.chose && 8'(dut.chosen) == swept - 8'd1);
        assert (dut.state == 3'd0 || !dut.chose || (dut.state == 3'd4 || sending || dut.state inside {3'd1, 3'd2, 3'd3}));
        if (sending && mine) begin
          if (dut.state == 3'd6) assert (posted_hdr.addr[31:2] == entry[0][31:2]);
          if (dut.state == 3'd7) assert (posted_hdr.addr == {entry[1], entry[0][31:2], 2'b00});
        end
        if (dut.state inside {3'd5, 3'd6, 3'd7})
          assert (job1 && job_at1 == {2'(TP_PAGE_MSIX), (SPAN - 2)'(dut.chosen[1:0]), 2'(dut.state - 3'd5)} && dut.chosen < 9'd4);
        assert (!sending || (!posted_valid && sent == 2'(dut.state - 3'd5)));
        assert (!posted_valid || sent == '0 || (sent == 2'd3 && sending1));
        assert (shown <= 3'(LINK) && (!sending || shown == '0));
        if (sending)
          assert (stands <= 5'(sent));
          else if (posted_valid) assert (stands <= 5'd3 + 5'(2 * shown) + 5'(looked1));
        assert (!(looked1 && dut.state == 3'd4));
        if (dut.state == 3'd3) assert (dut.taken ? dut.chosen == {|named[31:8], named[7:0]} : late == named);
        assert (!(posted_valid && closed != '0) || (looked1 && closed == 3'd1));
      end
  end
endmodule
