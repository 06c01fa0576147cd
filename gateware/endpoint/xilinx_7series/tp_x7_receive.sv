// SPDX-License-Identifier: Apache-2.0
// Packets from the block's receive stream, cut into header and payload: PG054 "Receive Interface", 64 and 128 bit.
//
// The block's bus carries a header of three or four dwords and the payload right behind it, most significant byte first in each dword; at
// 128 bit a packet may begin in the upper half of a beat in whose lower half another one ends. Two beats stand here, `p` before `c`; a beat of
// payload begins in lane `lane` of `p` and goes on in `c`. So each beat leaves in the cycle after the one that holds its first
// dword, and two packets never want the same cycle.
//
// Promises: a beat a cycle is taken for ever. A packet leaves with as many beats as its header's length needs, also when the link goes in the
// middle, for however short a time: the missing beats follow, its last one is `bad`, and meanwhile nothing else comes in. A packet that ended in the two clocks
// before `link` fell is `bad`, too.
module tp_x7_receive #(
    parameter int DATA_WIDTH = 128,
    localparam int LANES = DATA_WIDTH / 32,
    localparam int LW = $clog2(LANES)
) (
    input logic clk,
    input logic rst,
    input logic link,                       // as the pins have it; while it is down nothing comes
    input logic up,                         // ... a clock later

    input logic                    tvalid,
    input logic [  DATA_WIDTH-1:0] tdata,
    input logic                    tlast,   // 64 bit only
    // verilator lint_off UNUSEDSIGNAL
    input logic [            21:0] tuser,   // {rx_is_eof[4:0], -, rx_is_sof[4:0], rx_bar_hit[7:0], rx_err_fwd, rx_ecrc_err}
    // verilator lint_on UNUSEDSIGNAL

    output logic                  valid,
    output logic                  first,
    output logic                  last,
    output logic                  bad,      // with `last`: what came is not what was sent
    output logic [         127:0] header,   // dword 0 in the lowest bits; of 3 dwords, the fourth is undefined
    output logic [           7:0] bars,     // that the packet hit
    output logic [DATA_WIDTH-1:0] data      // byte 0 in the lowest bits
);
  if (DATA_WIDTH != 64 && DATA_WIDTH != 128) $error("%m: DATA_WIDTH %0d: make it 64 or 128", DATA_WIDTH);

  // ------------------------------------------------------------------------------------------------ beats
  logic c_valid, c_sof, c_eof, c_ecrc, p_eof, p_ecrc;
  // verilator lint_off UNUSEDSIGNAL
  logic c_high;  // the packet begins in the upper half: not at 64 bit
  // verilator lint_on UNUSEDSIGNAL
  logic [7:0] c_bars, p_bars;
  logic [LANES-1:0][31:0] c, p;
  logic cut;     // a packet is completed for want of the link: nothing else comes in
  logic between;  // 64 bit: the next beat begins a packet
  always_ff @(posedge clk) begin
    c_valid <= tvalid && up && !cut && !rst;
    c <= tdata;
    c_bars <= tuser[9:2];
    c_ecrc <= tuser[0];
    if (DATA_WIDTH == 64) begin
      c_sof <= between;
      c_high <= 1'b0;
      c_eof <= tlast;
      if (tvalid) between <= tlast;
      if (rst || !up) between <= 1'b1;
    end else begin
      c_sof <= tuser[14];
      c_high <= tuser[13];
      c_eof <= tuser[21];
    end
    if (c_valid) begin
      p <= c;
      p_bars <= c_bars;
      p_eof <= c_eof;
      p_ecrc <= c_ecrc;
    end
  end

  // ------------------------------------------------------------------------------------------------ header
  // It is whole when its beat is in `c`, or its second beat where it needs two: in the upper half, and at 64 bit.
  logic begins_in_p;                        // and needs `c` to be whole
  logic take;                               // the header is whole in this cycle
  logic [127:0] whole;
  logic [7:0] hit;
  logic fresh;                              // `header_in` has just come
  logic [127:0] header_in;
  logic [7:0] bars_in;
  if (DATA_WIDTH == 64) begin : g_narrow
    assign take = c_valid && !cut && begins_in_p;
    assign whole = {c, p};
    assign hit = p_bars;
    always_ff @(posedge clk) begin
      if (c_valid) begins_in_p <= c_sof;
      if (rst || !up || cut) begins_in_p <= 1'b0;
    end
  end else begin : g_wide
    assign take = c_valid && !cut && (begins_in_p || (c_sof && !c_high));
    assign whole = begins_in_p ? {c[1:0], p[LANES-1:LANES-2]} : 128'(c);
    assign hit = begins_in_p ? p_bars : c_bars;
    always_ff @(posedge clk) begin
      if (c_valid) begins_in_p <= c_sof && c_high;
      if (rst || !up || cut) begins_in_p <= 1'b0;
    end
  end

  // ------------------------------------------------------------------------------------------------ payload
  logic open;                               // beats of payload are to come
  logic skip;                               // `p` still holds the header alone
  logic there;                              // `p` has not been used
  logic [LW-1:0] lane;                      // of `p` in which a beat begins
  logic [10:0] left;                        // dwords
  logic ends, ends_in_p, ready, cutting, move, four, spoiled;
  assign four = whole[29];
  assign ends = left <= 11'(LANES);
  assign ends_in_p = left <= 11'(LANES) - 11'(lane);
  assign ready = there && !skip && (ends_in_p || c_valid);
  assign cut = open && (!up || cutting);
  assign move = open && (ready || cut);

  logic [LANES-1:0][31:0] turned;
  always_comb
    for (int i = 0; i < LANES; i++) begin
      turned[i] = p[i];
      for (int k = 1; k < LANES; k++) if (lane == LW'(k)) turned[i] = i + k < LANES ? p[(i+k)%LANES] : c[(i+k)%LANES];
    end

  always_ff @(posedge clk) begin
    there <= c_valid || (there && !move);
    cutting <= (take && !up ? whole[30] : cut && !(move && ends)) && !rst;
    if (c_valid) skip <= 1'b0;
    fresh <= take;
    if (move) begin
      left <= left - 11'(LANES);
      if (ends) open <= 1'b0;
    end
    if (take) begin
      header_in <= whole;
      bars_in <= hit;
      open <= whole[30];
      left <= {whole[9:0] == '0, whole[9:0]};
      skip <= four && (DATA_WIDTH == 64 || !begins_in_p);
      lane <= LW'((DATA_WIDTH == 128 && begins_in_p ? 2 : 0) + (four ? 0 : 3));
    end
    if (rst) begin
      open <= 1'b0;
      fresh <= 1'b0;
      there <= 1'b0;
    end
  end

  // ------------------------------------------------------------------------------------------------ out
  // A packet without payload leaves at once.
  // What came in the last clocks before the link went may have been nothing.
  logic begun, damaged;
  assign bad = damaged || !up || !link;
  assign spoiled = cut || (p_eof && p_ecrc) || (!ends_in_p && c_eof && c_ecrc);
  always_ff @(posedge clk) begin
    valid <= (move || (fresh && !open)) && !rst;
    first <= !(open && begun);
    last <= !open || ends;
    damaged <= open && spoiled;
    if (move) begun <= !ends;
    header <= header_in;
    bars <= bars_in;
    for (int i = 0; i < LANES; i++) for (int b = 0; b < 4; b++) data[32*i+8*b+:8] <= turned[i][8*(3-b)+:8];
    if (rst) begun <= 1'b0;
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk)
    if (!rst && up) begin
      assert (!(take && open && !(move && ends)))
      else $error("%m: a packet begins before the one before it has ended");
    end
`endif
endmodule
