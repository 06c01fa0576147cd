// SPDX-License-Identifier: Apache-2.0
// tp_window_ram: a read shows, in the lane asked for, each byte as it was last written in a cycle before; a write changes no
// other byte. One byte of the RAM is watched, any one.
module tp_window_ram_formal #(
    parameter int DATA_WIDTH = 64,
    parameter int REGION_BYTES = 32,
    parameter int REGIONS = 2,
    parameter bit INDUCTION = 1,
    localparam int KEEP = DATA_WIDTH / 8,
    localparam int KW = $clog2(KEEP),
    localparam int RW = $clog2(REGION_BYTES),
    localparam int AW = $clog2(REGION_BYTES * REGIONS)
) (
    input logic clk,
    input logic rst,
    input logic wr_valid,
    input logic [AW-1:KW] wr_beat,
    input logic [DATA_WIDTH-1:0] wr_data,
    input logic rd_valid,
    input logic [AW-1:0] rd_byte,
    input logic [KW-1:0] rd_lane,
    input logic rd_meta,
    input logic [AW-1:0] choose
);
  logic out_valid, out_meta;
  logic [DATA_WIDTH-1:0] out_data;
  tp_window_ram #(
      .DATA_WIDTH(DATA_WIDTH),
      .REGION_BYTES(REGION_BYTES),
      .REGIONS(REGIONS),
      .META(1)
  ) dut (
      .clk,
      .rst,
      .wr_valid,
      .wr_beat,
      .wr_data,
      .rd_valid,
      .rd_byte,
      .rd_lane,
      .rd_meta,
      .out_valid,
      .out_data,
      .out_meta
  );

  logic started = 1'b0;
  logic [AW-1:0] at;  // the byte that is watched
  always_ff @(posedge clk) begin
    started <= 1'b1;
    if (!started) at <= choose;
  end
  always_comb if (!started) assume (rst);

  // How far behind the first byte of a read the watched byte lies; a read that runs over the region's end goes on at its start.
  logic [RW-1:0] rd_far;
  logic wr_hits, rd_hits;
  assign rd_far = at[RW-1:0] - rd_byte[RW-1:0];
  assign wr_hits = wr_valid && wr_beat == at[AW-1:KW];
  assign rd_hits = rd_valid && !rst && at >> RW == rd_byte >> RW && 32'(rd_far) < KEEP;

  logic known, known1, known2, hits1, hits2, valid1, valid2, meta1, meta2;
  logic [7:0] value, value1, value2;
  logic [KW-1:0] lane1, lane2;
  always_ff @(posedge clk) begin
    if (wr_hits) begin
      known <= 1'b1;
      value <= wr_data[8*at[KW-1:0]+:8];
    end
    // A read and its answer two cycles later. A read in the cycle of a write may see either.
    valid1 <= rd_valid && !rst;
    hits1 <= rd_hits && !wr_hits;
    known1 <= known;
    value1 <= value;
    lane1 <= rd_lane + KW'(rd_far);
    meta1 <= rd_meta;
    valid2 <= valid1 && !rst;
    hits2 <= hits1 && !rst;
    known2 <= known1;
    value2 <= value1;
    lane2 <= lane1;
    meta2 <= meta1;
    if (!started) known <= 1'b0;
  end

  // Where the watched byte stands in the RAM: holds the induction.
  localparam int WW = AW - KW;
  logic [WW-1:0] beat;
  logic [DATA_WIDTH-1:0] there;
  assign beat = at[AW-1:KW];
  assign there = beat[0] ? dut.odd[beat[WW-1:1]] : dut.even[beat[WW-1:1]];

  always_comb
    if (started) begin
      assert (out_valid == valid2);
      assert (!valid2 || out_meta == meta2);
      assert (!(hits2 && known2) || out_data[8*lane2+:8] == value2);
      cover (hits2 && known2 && value2 == 8'h5a && at[RW-1:0] == 0 && lane2 != 0);
    end

  if (INDUCTION) begin : g_induction
    always_comb if (started) assert (!known || there[8*at[KW-1:0]+:8] == value);
    always_comb if (started) assert (dut.i_rotate.far == ~dut.i_rotate.not_far);
  end
endmodule
