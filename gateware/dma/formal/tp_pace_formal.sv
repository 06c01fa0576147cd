// SPDX-License-Identifier: Apache-2.0
// tp_pace and tp_posted_gate as tp_writer joins them, before a block whose transmit buffer is modelled: when a packet of data is first shown,
// fewer packets than `enough` are in the block, besides one that came in the cycle before. So a read request is never behind more packets of
// data than that. Other packets are not held back, and data is held only while the block has nearly enough.
// Assumed: the block tells its room a cycle late at most; the buffer was empty when it first told; a beat stands until it is taken.
module tp_pace_formal (
    input logic clk,
    input logic rst,
    input logic [2:0] max_payload,
    input logic [7:0] capacity,
    input logic known,             // the block tells its room
    input logic in_valid,
    input logic in_last,
    input logic in_data,           // C2H data, not an entry or a message
    input logic out_ready,
    input logic other,             // a read or an answer goes into the block
    input logic leaves             // a packet has left the block
);
  logic hold, in_ready, out_valid, open, begins, start;
  logic [7:0] used, room;
  assign start = out_valid && out_ready && begins;
  tp_pace pace (
      .clk,
      .rst,
      .room,
      .max_payload,
      .start,
      .hold
  );
  tp_posted_gate gate (
      .clk,
      .rst,
      .bus_master(1'b1),
      .hold(hold && in_data),
      .in_valid,
      .in_ready,
      .in_last,
      .out_valid,
      .out_ready,
      .open
  );

  logic started = 1'b0;
  logic waits, last_was, data_was, midway, start_was;
  logic [7:0] capacity_was;
  logic [2:0] payload_was;
  logic known_was;
  logic other_was;
  always_ff @(posedge clk) begin
    started <= 1'b1;
    waits <= in_valid && !in_ready && !rst;
    last_was <= in_last;
    data_was <= in_data;
    capacity_was <= capacity;
    known_was <= known;
    payload_was <= max_payload;
    if (out_valid && out_ready) begins <= in_last;
    if (out_valid) midway <= !(out_ready && in_last);
    used <= used + 8'(start) + 8'(other) - 8'(leaves);
    other_was <= other && !rst;
    start_was <= start;
    room <= known ? capacity - (used + 8'(start) + 8'(other) - 8'(leaves)) : '1;
    if (rst) begin
      begins <= 1'b1;
      used <= '0;
      room <= known ? capacity : '1;
      midway <= 1'b0;
    end
  end
  always_comb begin
    if (!started) assume (rst);
    assume (capacity >= 8'd1 && capacity != '1);
    if (started) assume (capacity == capacity_was && known == known_was && max_payload == payload_was);
    if (started && waits) assume (in_valid && in_last == last_was && in_data == data_was);
    if (started && midway) assume (in_data == data_was);
    // The block takes what fits.
    assume (!other || used < capacity);
    assume (!start || 32'(used) + 32'(other) < 32'(capacity));
    assume (!leaves || used != '0);
  end

  logic settled;  // max_payload and the capacity have gone through their registers
  logic [1:0] since;
  assign settled = since == 2'd3;
  always_ff @(posedge clk) begin
    if (!settled) since <= since + 1'b1;
    if (rst) since <= '0;
  end
  int enough, most_used;
  always_comb begin
    enough = max_payload == '0 ? 8 : 4;
    most_used = enough - 1 + 32'(other_was);
    if (started && !rst && settled && known) begin
      assert (!(out_valid && in_data && !midway) || 32'(used) <= most_used);
      assert (!hold || 32'(used) + 32'd3 >= enough);
      assert (!(in_valid && !in_data) || out_valid);
      cover (hold && in_valid && in_data && 32'(used) == enough);
      cover (start && !in_data && hold);
      cover (!hold && start && in_data && 32'(used) == enough);
      // Induction.
      assert (pace.most == capacity && pace.eight == (enough == 8) && pace.started == start_was);
      assert (hold || 32'(used) <= most_used);
    end
    if (started && !rst) begin
      assert (!known || room == capacity - used);
      assert (32'(used) <= 32'(capacity));
      assert (known || room == '1);
      assert (midway == open || !started);
      assert (known || since < 2'd2 || !hold);
      assert (since == '0 || !known || pace.most == capacity);
      assert (since < 2'd2 || pace.eight == (enough == 8));
      assert (since == '0 || pace.started == start_was);
    end
  end
endmodule
