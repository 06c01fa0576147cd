// SPDX-License-Identifier: Apache-2.0
// tp_writer: of two commands, whatever goes on beside them, the one that was taken first leaves first, each once, whole, with its address, its owner's class and as
// many beats as it has bytes for, unless it has been taken back. What has been shown is not taken back and stays until it is taken. No packet
// begins while bus mastering is off, nor one of an owner in `withdraw`; a cycle after that began, nothing of that owner is held but the packet
// that has been shown and what was taken in that cycle. An entry is read, or let go, once.
// The bytes are tp_sending_room's. Assumed: `withdraw` rises only while bus mastering is off; a command crosses no 4 KiB; no entry is offered before
// the one before has been read (tp_ring).
module tp_writer_formal
  import tp_tlp_pkg::*;
  import towpath_pkg::*;
#(
    parameter int DATA_WIDTH = 64,
    parameter int H2C = 1,
    parameter int CHANNELS = 1,
    parameter bit INDUCTION = 1,
    localparam int BYTES = 4 * DATA_WIDTH / 8,
    localparam int KW = $clog2(DATA_WIDTH / 8),
    localparam int OWNERS = H2C + CHANNELS + 1,
    localparam int OW = $clog2(OWNERS),
    localparam int BW = $clog2(BYTES)
) (
    input logic clk,
    input logic rst,
    input logic relaxed,
    input logic bus_master,
    input logic [OWNERS-1:0] withdraw,
    input logic entry_valid,
    input logic [OW-1:0] entry_owner,
    input logic [63:0] entry_addr,
    input tp_completion_t entry,
    input logic message_valid,
    input logic [63:0] message_addr,
    input logic [31:0] message,
    input logic [CHANNELS-1:0] command_valid,
    input logic [63:0] command_addr,
    input logic [CHANNELS-1:0][11:0] command_last,
    input logic [CHANNELS-1:0][BW-1:0] command_from,
    input logic [7:0] transmit_room,
    input logic [OWNERS-1:0][2:0] tc,
    input logic posted_ready,
    input logic [1:0][63:2] choose
);
  logic [OWNERS-2:0] leaving;
  logic entry_ready, entry_read, entry_leaving, message_ready, message_leaving, posted_valid, posted_last;
  logic [CHANNELS-1:0] command_ready, begun, reading;
  logic [$clog2(CHANNELS > 1 ? CHANNELS : 2)-1:0] command_channel;
  tp_write_hdr_t posted_hdr;
  logic [DATA_WIDTH-1:0] posted_data;
  tp_writer #(
      .DATA_WIDTH(DATA_WIDTH),
      .H2C(H2C),
      .CHANNELS(CHANNELS),
      .SENDING_BYTES(BYTES)
  ) dut (
      .max_payload(3'd0),
      .even(1'b1),
      .share('1),
      .charge('0),
      .advance(),
      .read_data(),
      .read_channel(),
      .read_byte(),
      .read_other(),
      .data('0),
      .*
  );

  // What is taken in this cycle.
  logic taken, took_entry;
  logic [63:0] addr;
  logic [11:0] last, span;
  logic [OW-1:0] owner;
  assign taken = dut.take;                  // data of an owner in `withdraw` may be taken and forgotten instead
  assign took_entry = entry_valid && entry_ready;
  always_comb begin
    addr = command_addr;
    last = command_last[command_channel];
    owner = OW'(H2C + 32'(command_channel));
    if (message_valid && message_ready) {addr, last, owner} = {message_addr, 12'd3, OW'(OWNERS - 1)};
    if (took_entry) {addr, last, owner} = {entry_addr, 12'd15, entry_owner};
    span = last + 12'(addr[1:0]);
  end

  logic started = 1'b0;
  logic [1:0][63:2] one;  // the addresses of the two commands that are watched
  logic midway, shown, last1, taken1;
  logic [OW-1:0] owner1;
  logic [OWNERS-1:0] withdraw1;
  tp_write_hdr_t hdr1;
  logic in_e;  // an entry has been taken and not read
  always_ff @(posedge clk) begin
    started <= 1'b1;
    if (!started) one <= choose;
    if (posted_valid) midway <= !(posted_ready && posted_last);
    shown <= posted_valid && !posted_ready && !rst;
    hdr1 <= posted_hdr;
    last1 <= posted_last;
    taken1 <= taken && !rst;
    owner1 <= owner;
    withdraw1 <= withdraw & ~{OWNERS{rst}};
    if (entry_read) in_e <= 1'b0;
    if (took_entry) in_e <= 1'b1;
    if (rst) begin
      midway <= 1'b0;
      in_e <= 1'b0;
    end
  end
  always_comb begin
    if (!started) assume (rst);
    if (started) assume (one[0] != one[1]);
    assume (!(entry_valid && in_e) && 32'(entry_owner) < OWNERS - 1 && entry_addr[3:0] == '0 && message_addr[1:0] == '0);
    if (started) assume ((withdraw & ~withdraw1) == '0 || !bus_master);
    for (int c = 0; c < CHANNELS; c++) assume (13'(command_addr[11:0]) + 13'(command_last[c]) < 13'd4096);
  end

  logic [OWNERS-1:0] held;  // something of it is inside
  always_comb
    for (int o = 0; o < OWNERS; o++)
      held[o] = (dut.next_valid && 32'(dut.next.owner) == o) || (dut.hand_valid && 32'(dut.hand.owner) == o) ||
                (dut.read_valid && 32'(dut.read.owner) == o) || (dut.out_valid && 32'(dut.out.owner) == o);

  logic [1:0] in, come, next_has, hand_has, read_has, out_has, back;
  for (genvar k = 0; k < 2; k++) begin : g_watch
    logic [11:0] bytes;
    logic [63:0] at;
    logic [OW-1:0] whose;
    logic [2:0] tier;
    logic is_entry;
    logic [11:0] beats;  // that have left
    assign next_has[k] = dut.next_valid && dut.next.addr[63:2] == one[k];
    assign hand_has[k] = dut.hand_valid && dut.hand.addr[63:2] == one[k];
    assign read_has[k] = dut.read_valid && dut.read.addr[63:2] == one[k];
    assign out_has[k] = dut.out_valid && dut.out.addr[63:2] == one[k];
    assign back[k] = in[k] && withdraw[whose] && !(midway && posted_hdr.addr[63:2] == one[k]);
    logic mine;
    assign mine = posted_valid && posted_hdr.addr[63:2] == one[k];
    always_ff @(posedge clk) begin
      if (back[k]) in[k] <= 1'b0;
      if (mine && posted_ready) begin
        beats <= beats + 1'b1;
        if (posted_last) in[k] <= 1'b0;
      end
      if (taken && addr[63:2] == one[k]) begin
        in[k] <= 1'b1;
        come[k] <= 1'b1;
        {bytes, at, whose, is_entry, tier} <= {span, addr, owner, took_entry, tc[owner]};
        beats <= '0;
      end
      if (rst) begin
        in[k] <= 1'b0;
        come[k] <= 1'b0;
      end
    end
    always_comb begin
      if (started && taken && addr[63:2] == one[k]) assume (!come[k] && (k == 0 || come[0]));
      if (started && !rst) begin
        assert (!mine || in[k]);
        assert (!mine || (!back[k] && posted_hdr.addr[1:0] == '0 && posted_hdr.dwords == 11'(bytes[11:2]) + 11'd1));
        assert (!mine || posted_hdr.tc == tier);
        assert (!mine || posted_last == (beats == 12'(bytes[11:KW])));
      end
    end
    if (INDUCTION) begin : g_induction
      always_comb
        if (started && !rst) begin
          assert (!in[k] || come[k]);
          assert (in[k] || !(next_has[k] || hand_has[k] || read_has[k] || out_has[k]));
          if (in[k]) begin
            assert (32'(whose) < OWNERS);
            assert (13'(beats) + 13'(out_has[k]) + 13'(read_has[k]) + (hand_has[k] ? 13'(dut.hand_left) + 13'd1 : 13'd0) +
                    (next_has[k] ? 13'(bytes[11:KW]) + 13'd1 : 13'd0) == 13'(bytes[11:KW]) + 13'd1);
            assert (!next_has[k] || (!hand_has[k] && !read_has[k] && !out_has[k] && beats == '0));
            assert (!hand_has[k] || (12'(dut.hand_left) == 12'(bytes[11:KW])) == (!read_has[k] && !out_has[k] && beats == '0));
            assert (!(hand_has[k] && (out_has[k] || beats != '0)) || read_has[k]);
            assert (beats == '0 || (out_has[k] && midway));
            if (next_has[k])
              assert ({dut.next.addr, dut.next.owner, dut.next.entry, dut.next.tc, dut.next_span} == {at, whose, is_entry, tier, bytes});
            if (hand_has[k])
              assert ({dut.hand.addr, dut.hand.owner, dut.hand.entry, dut.hand.tc, dut.hand_span} == {at, whose, is_entry, tier, bytes});
            if (read_has[k]) begin
              assert ({dut.read.addr, dut.read.owner, dut.read.entry, dut.read.tc, dut.read_span} == {at, whose, is_entry, tier, bytes});
              assert (dut.read_last == !hand_has[k]);
            end
            if (out_has[k]) begin
              assert ({dut.out.addr, dut.out.owner, dut.out.entry, dut.out.tc, dut.out_span} == {at, whose, is_entry, tier, bytes});
              assert (dut.out_last == !(hand_has[k] || read_has[k]));
            end
          end
        end
    end
  end

  always_comb
    if (started && !rst) begin
      // The first one first.
      assert (!(posted_valid && posted_hdr.addr[63:2] == one[1] && in[0]));
      assert (!shown || (posted_valid && posted_hdr == hdr1 && posted_last == last1));
      assert (!posted_valid || midway || bus_master);
      for (int o = 0; o < OWNERS; o++)
      assert (!(withdraw1[o] && withdraw[o] && held[o]) || (midway && 32'(dut.out.owner) == o) || (taken1 && 32'(owner1) == o));
      for (int c = 0; c < OWNERS - 1; c++) assert (!withdraw1[c] || !withdraw[c] || leaving[c] == (midway && 32'(dut.out.owner) == c));
      assert (!entry_read || in_e);
      assert (in_e || !((dut.next_valid && dut.next.entry) || (dut.hand_valid && dut.hand.entry)));
      assert (!in_e || ((dut.next_valid && dut.next.entry) || (dut.hand_valid && dut.hand.entry)));
      cover (posted_valid && posted_hdr.addr[63:2] == one[1] && midway && come == 2'b11 && g_watch[0].beats == 12'd2);
      cover (back[1] && hand_has[1] && read_has[1] && midway && out_has[0]);
      cover (entry_read && back[0] && next_has[0]);
    end

  if (INDUCTION) begin : g_order
    always_comb
      if (started && !rst) begin
        assert (midway == dut.open);
        assert (!midway || dut.out_valid);
        assert (!dut.hand_valid || dut.rd_last == (dut.hand_left == '0));
        assert (!dut.out_valid || dut.out_data == (!dut.out.entry && 32'(dut.out.owner) != OWNERS - 1));
        assert (!dut.out_valid || dut.out_last || (dut.read_valid && dut.read == dut.out && dut.read_span == dut.out_span));
        assert (!dut.read_valid || dut.read_last || (dut.hand_valid && dut.hand == dut.read && dut.hand_span == dut.read_span));
        assert (!dut.next_valid || 32'(dut.next.owner) < OWNERS);
        assert (!dut.hand_valid || 32'(dut.hand.owner) < OWNERS);
        assert (!dut.read_valid || 32'(dut.read.owner) < OWNERS);
        assert (!dut.out_valid || 32'(dut.out.owner) < OWNERS);
        if (in == 2'b11) begin
          assert (!out_has[1]);
          assert (!read_has[1] || !(next_has[0] || hand_has[0] || read_has[0]));
          assert (!hand_has[1] || !(next_has[0] || hand_has[0]));
          assert (!next_has[1] || !next_has[0]);
        end
        assert (!come[1] || come[0]);
        assert (!(dut.next_valid && dut.next.entry && dut.hand_valid && dut.hand.entry));
      end
  end
endmodule
