// SPDX-License-Identifier: Apache-2.0
// tp_x7_receive: for any packets on the block's bus, straddled or not, with pauses anywhere: one arbitrary packet leaves with its header, BARs
// and number of beats, and an arbitrary dword of its payload in its place, after those before it and before those behind it. One that the
// link cuts leaves complete, and `bad`, and is not mixed with the next one, however soon the link is back.
// Assumed: what PG054 says of the block's frames: one ends, and the next one begins behind it, where its header says; nothing comes while the
// link is down. Lengths are bounded, to 15 dwords of payload.
module tp_x7_receive_formal #(
    parameter bit INDUCTION = 1,
    parameter int DATA_WIDTH = 128,
    localparam int LANES = DATA_WIDTH / 32
) (
    input logic clk,
    input logic rst,
    input logic up,
    input logic tvalid,
    input logic [LANES-1:0][31:0] tdata,
    input logic sof,
    input logic high,
    input logic ecrc,
    input logic [7:0] bar_hit,
    input logic watch,                      // one is watched
    input logic mark,                       // the packet that begins is the one that is watched
    input logic [3:0] which                 // dword of its payload
);
  logic valid, first, last, bad, eof;
  logic [1:0] eof_lane;
  logic [127:0] header;
  logic [7:0] bars;
  logic [LANES-1:0][31:0] data;
  tp_x7_receive #(
      .DATA_WIDTH(DATA_WIDTH)
  ) dut (
      .clk,
      .rst,
      .link(up),
      .up,
      .tvalid,
      .tdata,
      .tlast(eof),
      .tuser({eof, eof_lane, 2'b11, 2'b00, sof, high, 3'b000, bar_hit, 1'b0, ecrc}),
      .valid,
      .first,
      .last,
      .bad,
      .header,
      .bars,
      .data
  );

  // ------------------------------------------------------------------------------------------------ the block
  logic started = 1'b0;
  // The link stays down longer than a packet takes to be completed.
  localparam int DOWN = 16 / LANES + 3;
  logic [3:0] down;
  always_ff @(posedge clk) down <= rst || up ? '0 : 32'(down) < DOWN ? down + 1'b1 : down;
  logic [5:0] rest;  // dwords that the packet under way still has; 0: none is under way
  logic [5:0] rest_here, size;  // of the packet that begins: all its dwords
  logic [31:0] h0;
  logic begins;
  logic [2:0] begins_lane;
  assign begins = tvalid && sof;
  assign begins_lane = high ? 3'd2 : 3'd0;
  assign h0 = tdata[high && LANES == 4?2 : 0];
  assign size = 6'd3 + 6'(h0[29]) + (h0[30] ? 6'(h0[3:0]) : 6'd0);
  assign rest_here = rest != 0 ? rest : sof && !high ? size : '0;  // of the packet that has the beat's lowest lane
  assign eof = rest_here != 0 && rest_here <= 6'(LANES);
  assign eof_lane = 2'(rest_here - 1'b1);
  always_ff @(posedge clk) begin
    started <= 1'b1;
    if (started) assume (which == $past(which) && watch == $past(watch));
  end
  always_comb begin
    if (!started) assume (rst);
    if (tvalid) begin
      if (sof) begin
        assume (h0[31] == 0 && h0[9:4] == 0);
        assume (!h0[30] || h0[3:0] != 0);
        if (LANES == 2)
          assume (!high && rest == 0);
          else if (high)
            assume (rest <= 2);
            else assume (rest == 0);
      end else assume (rest != 0);  // no beats of nothing
      if (LANES == 2) assume (sof == (rest == 0));
    end
    if (!up) assume (!tvalid);
    if (watch && down != 0 && down < DOWN) assume (!up);
  end
  always_ff @(posedge clk) begin
    if (tvalid) begin
      if (sof && high) rest <= size - 6'd2;
      else rest <= rest_here > 6'(LANES) ? rest_here - 6'(LANES) : '0;
    end
    if (rst || !up) rest <= '0;
  end

  // ------------------------------------------------------------------------------------------------ the watched packet
  logic watched;                            // it has begun
  logic over;                               // it has left
  logic coming;                             // its dwords are on the bus
  logic lost;                               // the link went while they were
  logic [5:0] come;                         // its dwords that have come
  logic [2:0] ahead;                       // packets that began before it and have not left
  logic [2:0] inflight;                     // that have begun and not left
  logic [3:0][31:0] w_header;
  logic [7:0] w_bars;
  logic [31:0] w_dword;
  logic here;                               // it is the watched packet
  logic [5:0] sent;                         // dwords of payload that have left before this beat
  logic leaves, mine;
  assign leaves = valid && last;
  assign mine = begins && mark && watch && !watched && !rst;

  logic [5:0] base;                         // index in the packet of the dword in the lowest lane
  logic [5:0] total;
  logic four, payload;
  assign four = w_header[0][29];
  assign payload = w_header[0][30];
  assign total = 6'd3 + 6'(four) + (payload ? 6'(w_header[0][3:0]) : 6'd0);
  always_ff @(posedge clk) begin
    inflight <= inflight + 3'(begins) - 3'(leaves);
    if (leaves && ahead != 0) ahead <= ahead - 1'b1;
    if (leaves && watched && ahead == 0) over <= 1'b1;
    if (mine) begin
      watched <= 1'b1;
      ahead <= inflight - 3'(leaves);
      w_bars <= bar_hit;
      coming <= 1'b1;
      for (int i = 0; i < 4; i++) if (32'(begins_lane) + i < LANES) w_header[i] <= tdata[32'(begins_lane)+i];
      come <= 6'(LANES) - 6'(begins_lane);
      // At 128 bit, the first dword of payload may be here already.
      if (LANES == 4 && !high && !h0[29] && which == 0) w_dword <= tdata[LANES-1];
      if (size <= 6'(LANES) - 6'(begins_lane)) coming <= 1'b0;
    end else if (watched && coming && tvalid) begin
      for (int i = 0; i < LANES; i++) begin
        if (come + 6'(i) < 4) w_header[2'(come)+2'(i)] <= tdata[i];
        if (come + 6'(i) == 6'd3 + 6'(four) + 6'(which)) w_dword <= tdata[i];
      end
      come <= come + 6'(LANES);
      if (total <= come + 6'(LANES)) coming <= 1'b0;
    end
    // What has begun to leave is completed, and watched; what has not may vanish.
    if (!up) begin
      inflight <= '0;
      coming <= 1'b0;
      if (watched && !over) begin
        if (here ? !last : ahead == 0 && sent != 0) lost <= 1'b1;
        else over <= 1'b1;
      end
    end
    if (rst) begin
      inflight <= '0;
      ahead <= '0;
      watched <= 1'b0;
      over <= 1'b0;
      coming <= 1'b0;
      lost <= 1'b0;
      come <= '0;
    end
  end

  // ------------------------------------------------------------------------------------------------ what leaves
  assign here = watched && !over && ahead == 0 && valid;
  logic [127:0] header_was;
  always_ff @(posedge clk) if (valid) header_was <= header;
  logic [3:0] late;  // clocks since it has come, or the link was lost
  always_ff @(posedge clk) begin
    late <= watched && !over && !coming && !(here && last) && !rst ? late + 1'b1 : '0;
    if (valid) sent <= last ? '0 : sent + 6'(LANES);
    if (rst) sent <= '0;
  end
  always_comb
    if (started && !rst) begin
      // However short the link is lost, each packet keeps its own header and as many beats as that needs.
      if (valid) assert (first == (sent == 0));
      if (valid && !first) assert (header == header_was);
      if (valid) assert (last == (!header[30] || sent + 6'(LANES) >= 6'(header[3:0])));
      if (here && !lost) begin
        assert (header[95:0] == w_header[2:0]);
        if (four) assert (header[127:96] == w_header[3]);
        assert (bars == w_bars);
        assert (last == (!payload || sent + 6'(LANES) >= 6'(w_header[0][3:0])));
        if (payload && 6'(which) < 6'(w_header[0][3:0]) && sent <= 6'(which) && 6'(which) < sent + 6'(LANES) && !bad)
          for (int i = 0; i < LANES; i++)
          if (6'(which) == sent + 6'(i)) for (int b = 0; b < 4; b++) assert (data[i][8*b+:8] == w_dword[8*(3-b)+:8]);
      end
      // A packet of which the whole header has come is completed, even if its link is lost.
      if (here && lost && payload) assert (last == (sent + 6'(LANES) >= 6'(w_header[0][3:0])));
      if (here && lost && last) assert (bad);
      // It leaves soon after its last dword has come, or when the link is lost with as many beats as it still has.
      assert (late < (lost ? 4'(16 / LANES + 3) : 4'd4));
      cover (over && four && w_header[0][3:0] == 4'd9);
      cover (over && lost && payload);
    end
endmodule
