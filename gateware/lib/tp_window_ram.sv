// SPDX-License-Identifier: Apache-2.0
// Block RAM that is written in beats and read at any byte, one full beat a cycle each way, with no beat ever split in two.
//
// Two banks hold the even and the odd beats, so that the two beats which an unaligned read touches are reached in one cycle.
// The RAM is cut into regions of REGION_BYTES; a read that runs over the end of its region goes on at its start.
//
// Promises: a write is seen by reads given in the next cycle or later; read data comes two cycles after rd_valid.
// Not for: shallow queues (tp_fifo), data wanted in the next cycle.
// Lanes and the lowest beat bit are handled apart from addresses.
// verilator lint_off UNUSEDSIGNAL
module tp_window_ram #(
    parameter int DATA_WIDTH = 128,
    parameter int REGION_BYTES = 8192,     // a power of two, at least four beats
    parameter int REGIONS = 1,
    parameter int META = 1,                // bits that travel beside a read
    localparam int KEEP = DATA_WIDTH / 8,
    localparam int KW = $clog2(KEEP),
    localparam int AW = $clog2(REGION_BYTES * REGIONS)  // byte address
) (
    input logic clk,
    input logic rst,

    input logic                   wr_valid,
    input logic [AW-1:KW]         wr_beat,
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

  logic [WW-1:0] rd_beat, rd_beat_next;
  logic [WW-2:0] ra_even, ra_odd;
  assign rd_beat = rd_byte[AW-1:KW];
  assign rd_beat_next = next_beat(rd_beat);
  assign ra_even = rd_beat[0] ? rd_beat_next[WW-1:1] : rd_beat[WW-1:1];
  assign ra_odd = rd_beat[0] ? rd_beat[WW-1:1] : rd_beat_next[WW-1:1];

  logic [DATA_WIDTH-1:0] even[DEPTH];
  logic [DATA_WIDTH-1:0] odd[DEPTH];
  logic [DATA_WIDTH-1:0] q_even, q_odd;
  always_ff @(posedge clk) begin
    if (wr_valid && !wr_beat[KW]) even[wr_beat[AW-1:KW+1]] <= wr_data;
    q_even <= even[ra_even];
  end
  always_ff @(posedge clk) begin
    if (wr_valid && wr_beat[KW]) odd[wr_beat[AW-1:KW+1]] <= wr_data;
    q_odd <= odd[ra_odd];
  end

  logic s1_valid;
  logic [KEEP-1:0] s1_even;  // this byte is in the even beat
  logic [META-1:0] s1_meta;
  always_ff @(posedge clk) begin
    s1_valid <= rd_valid && !rst;
    for (int b = 0; b < KEEP; b++)  // bytes from the first one on are in the first beat, those below it in the next one
    s1_even[b] <= (KW'(b) >= rd_byte[KW-1:0]) != rd_beat[0];
    s1_meta <= rd_meta;
  end

  logic [DATA_WIDTH-1:0] window, turned;
  for (genvar b = 0; b < KEEP; b++) begin : g_byte
    assign window[8*b+:8] = s1_even[b] ? q_even[8*b+:8] : q_odd[8*b+:8];
  end
  tp_rotate #(
      .LANES(KEEP),
      .WIDTH(8)
  ) i_rotate (
      .clk,
      .by(rd_lane - rd_byte[KW-1:0]),
      .in(window),
      .out(turned)
  );
  always_ff @(posedge clk) begin
    out_valid <= s1_valid && !rst;
    out_data <= turned;
    out_meta <= s1_meta;
  end
endmodule
