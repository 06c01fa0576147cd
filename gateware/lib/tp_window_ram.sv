// SPDX-License-Identifier: Apache-2.0
// Block RAM that is written at any dword and read at any byte, one full beat a cycle each way, with no beat ever split in two.
//
// Two banks hold the even and the odd beats, so that the two beats which an unaligned access touches are reached in one cycle.
// This is what lets data land where it belongs and leave in any alignment without a second buffer, and what keeps the write side
// from ever stalling. The RAM is cut into regions of REGION_BYTES; an access that runs over the end of its region goes on at its start.
//
// Promises: a write is seen by reads given two cycles later or after; read data comes two cycles after rd_valid.
// Not for: shallow queues (tp_fifo), data wanted in the next cycle.
// Lanes and the lowest beat bit are handled apart from addresses.
// verilator lint_off UNUSEDSIGNAL
module tp_window_ram #(
    parameter int DATA_WIDTH = 128,
    parameter int REGION_BYTES = 8192,     // a power of two, at least four beats
    parameter int REGIONS = 1,
    parameter bit WRITE_ALIGNED = 0,       // writes start at beats: saves the rotator
    parameter int META = 1,                // bits that travel beside a read
    localparam int KEEP = DATA_WIDTH / 8,
    localparam int LANES = DATA_WIDTH / 32,
    localparam int KW = $clog2(KEEP),
    localparam int LW = $clog2(LANES),
    localparam int AW = $clog2(REGION_BYTES * REGIONS)  // byte address
) (
    input logic clk,
    input logic rst,

    input logic                   wr_valid,
    input logic [AW-1:2]          wr_dword,    // where lane 0 goes
    input logic [LW:0]            wr_dwords,   // 1 to LANES
    input logic [DATA_WIDTH-1:0]  wr_data,

    input  logic                  rd_valid,
    input  logic [AW-1:0]         rd_byte,     // where the first byte is
    input  logic [KW-1:0]         rd_lane,     // the byte lane where it shall come out; lanes beyond wrap round
    input  logic [META-1:0]       rd_meta,
    output logic                  out_valid,
    output logic [DATA_WIDTH-1:0] out_data,
    output logic [META-1:0]       out_meta
);
  localparam int WW = AW - KW;  // beat address
  localparam int RW = $clog2(REGION_BYTES) - KW;  // beat within its region
  localparam int DEPTH = REGION_BYTES * REGIONS / KEEP / 2;

  if (DATA_WIDTH != 64 && DATA_WIDTH != 128 && DATA_WIDTH != 256 && DATA_WIDTH != 512)
    $error("%m: DATA_WIDTH %0d: use 64, 128, 256 or 512", DATA_WIDTH);
  if ((REGION_BYTES & (REGION_BYTES - 1)) != 0 || REGION_BYTES < 4 * KEEP)
    $error("%m: REGION_BYTES %0d: make it a power of two and at least four beats", REGION_BYTES);

  function automatic logic [WW-1:0] next_beat(input logic [WW-1:0] beat);
    logic [RW-1:0] low;
    low = beat[RW-1:0] + 1'b1;
    next_beat = beat;
    next_beat[RW-1:0] = low;
  endfunction

  // ------------------------------------------------------------------------------------------------ write
  logic [WW-1:0] wr_beat, wr_beat_next;
  assign wr_beat = wr_dword[AW-1:KW];
  assign wr_beat_next = next_beat(wr_beat);

  logic [LANES-1:0] low_mask, high_mask;  // of the first beat, of the next one
  logic [DATA_WIDTH-1:0] wr_rotated;
  if (WRITE_ALIGNED) begin : g_aligned
    always_comb begin
      for (int l = 0; l < LANES; l++) low_mask[l] = (LW + 1)'(l) < wr_dwords;
      high_mask = '0;
      wr_rotated = wr_data;
    end
  end else begin : g_rotate
    logic [LW-1:0] lane;
    logic [2*LANES-1:0] mask;
    assign lane = wr_dword[KW-1:2];
    always_comb begin
      for (int l = 0; l < 2 * LANES; l++)
      mask[l] = (LW + 2)'(l) >= (LW + 2)'(lane) && (LW + 2)'(l) < (LW + 2)'(lane) + (LW + 2)'(wr_dwords);
      low_mask = mask[LANES-1:0];
      high_mask = mask[2*LANES-1:LANES];
      for (int l = 0; l < LANES; l++) wr_rotated[32*l+:32] = wr_data[32*LW'(LW'(l)-lane)+:32];
    end
  end

  logic [LANES-1:0] we_even, we_odd;
  logic [WW-2:0] wa_even, wa_odd;
  logic [DATA_WIDTH-1:0] wd;
  always_ff @(posedge clk) begin
    wd <= wr_rotated;
    we_even <= '0;
    we_odd <= '0;
    if (wr_valid && !rst) begin
      we_even <= wr_beat[0] ? high_mask : low_mask;
      we_odd <= wr_beat[0] ? low_mask : high_mask;
    end
    wa_even <= wr_beat[0] ? wr_beat_next[WW-1:1] : wr_beat[WW-1:1];
    wa_odd <= wr_beat[0] ? wr_beat[WW-1:1] : wr_beat_next[WW-1:1];
  end

  // ------------------------------------------------------------------------------------------------ read
  logic [WW-1:0] rd_beat, rd_beat_next;
  logic [WW-2:0] ra_even, ra_odd;
  assign rd_beat = rd_byte[AW-1:KW];
  assign rd_beat_next = next_beat(rd_beat);
  assign ra_even = rd_beat[0] ? rd_beat_next[WW-1:1] : rd_beat[WW-1:1];
  assign ra_odd = rd_beat[0] ? rd_beat[WW-1:1] : rd_beat_next[WW-1:1];

  logic [DATA_WIDTH-1:0] q_even, q_odd;
  for (genvar l = 0; l < LANES; l++) begin : g_lane
    logic [31:0] even[DEPTH];
    logic [31:0] odd[DEPTH];
    always_ff @(posedge clk) begin
      if (we_even[l]) even[wa_even] <= wd[32*l+:32];
      q_even[32*l+:32] <= even[ra_even];
    end
    always_ff @(posedge clk) begin
      if (we_odd[l]) odd[wa_odd] <= wd[32*l+:32];
      q_odd[32*l+:32] <= odd[ra_odd];
    end
  end

  logic s1_valid, s1_odd;
  logic [KW-1:0] s1_first, s1_turn;
  logic [META-1:0] s1_meta;
  always_ff @(posedge clk) begin
    s1_valid <= rd_valid && !rst;
    s1_odd <= rd_beat[0];
    s1_first <= rd_byte[KW-1:0];
    s1_turn <= rd_byte[KW-1:0] - rd_lane;
    s1_meta <= rd_meta;
  end

  logic [DATA_WIDTH-1:0] window, turned;
  always_comb begin
    for (int b = 0; b < KEEP; b++)  // lanes from the first byte on are in the first beat, those below it in the next one
    window[8*b+:8] = ((KW'(b) >= s1_first) != s1_odd) ? q_even[8*b+:8] : q_odd[8*b+:8];
    for (int b = 0; b < KEEP; b++) turned[8*b+:8] = window[8*KW'(KW'(b)+s1_turn)+:8];
  end
  always_ff @(posedge clk) begin
    out_valid <= s1_valid && !rst;
    out_data <= turned;
    out_meta <= s1_meta;
  end
endmodule
