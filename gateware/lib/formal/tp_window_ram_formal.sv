// SPDX-License-Identifier: Apache-2.0
// tp_window_ram: a read shows, in the lane asked for, each byte as it was last written two cycles or more before; a write changes no
// other byte. One byte of the RAM is watched, any one.
module tp_window_ram_formal #(
    parameter int DATA_WIDTH = 64,
    parameter int REGION_BYTES = 32,
    parameter int REGIONS = 2,
    parameter int WRITE_ALIGNED = 0,
    parameter bit INDUCTION = 1,
    localparam int KEEP = DATA_WIDTH / 8,
    localparam int LANES = DATA_WIDTH / 32,
    localparam int KW = $clog2(KEEP),
    localparam int LW = $clog2(LANES),
    localparam int RW = $clog2(REGION_BYTES),
    localparam int AW = $clog2(REGION_BYTES * REGIONS)
) (
    input logic clk,
    input logic rst,
    input logic wr_valid,
    input logic [AW-1:2] wr_dword,
    input logic [LW:0] wr_dwords,
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
      .WRITE_ALIGNED(WRITE_ALIGNED),
      .META(1)
  ) dut (
      .clk,
      .rst,
      .wr_valid,
      .wr_dword,
      .wr_dwords,
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
  always_comb begin
    if (!started) assume (rst);
    if (wr_valid) begin
      assume (wr_dwords >= 1 && wr_dwords <= (LW + 1)'(LANES));
      if (WRITE_ALIGNED != 0) assume (wr_dword[KW-1:2] == 0);
    end
  end

  // How far behind the first byte of an access the watched byte lies; an access that runs over the region's end goes on at its start.
  logic [RW-1:0] wr_far, rd_far;
  logic wr_hits, rd_hits;
  assign wr_far = at[RW-1:0] - RW'({wr_dword, 2'b00});
  assign rd_far = at[RW-1:0] - rd_byte[RW-1:0];
  assign wr_hits = wr_valid && !rst && at >> RW == AW'({wr_dword, 2'b00}) >> RW && 32'(wr_far) < 4 * 32'(wr_dwords);
  assign rd_hits = rd_valid && !rst && at >> RW == rd_byte >> RW && 32'(rd_far) < KEEP;

  logic known, known1, known2, hits1, hits2, valid1, valid2, meta1, meta2;
  logic [7:0] value, value1, value2, fresh;
  logic fresh_valid;
  logic [KW-1:0] lane1, lane2;
  always_ff @(posedge clk) begin
    // A write counts from the cycle after the next one.
    fresh_valid <= wr_hits;
    fresh <= wr_data[8*wr_far[KW-1:0]+:8];
    if (fresh_valid) begin
      known <= 1'b1;
      value <= fresh;
    end
    // A read and its answer two cycles later. A read in the cycle before the write counts may see either.
    valid1 <= rd_valid && !rst;
    hits1 <= rd_hits && !fresh_valid;
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
    if (!started) begin
      known <= 1'b0;
      fresh_valid <= 1'b0;
    end
  end

  // Where the watched byte stands in the RAM: holds the induction.
  localparam int WW = AW - KW;
  logic [7:0] stored, stored_next;
  logic we;
  logic [WW-1:0] beat;
  logic [LW-1:0] lane;
  assign beat = at[AW-1:KW];
  assign lane = at[KW-1:2];
  logic [LANES-1:0][31:0] even, odd;
  for (genvar l = 0; l < LANES; l++) begin : g_lane
    assign even[l] = dut.g_lane[l].even[beat[WW-1:1]];
    assign odd[l] = dut.g_lane[l].odd[beat[WW-1:1]];
  end
  assign stored = beat[0] ? odd[lane][8*at[1:0]+:8] : even[lane][8*at[1:0]+:8];
  assign we = beat[0] ? dut.we_odd[lane] && dut.wa_odd == beat[WW-1:1] : dut.we_even[lane] && dut.wa_even == beat[WW-1:1];
  assign stored_next = dut.wd[32*lane+8*at[1:0]+:8];

  always_comb
    if (started) begin
      assert (out_valid == valid2);
      assert (!valid2 || out_meta == meta2);
      assert (!(hits2 && known2) || out_data[8*lane2+:8] == value2);
      cover (hits2 && known2 && value2 == 8'h5a && at[RW-1:0] == 0 && lane2 != 0);
    end

  if (INDUCTION) begin : g_induction
    always_comb
      if (started) begin
        assert (!known || stored == value);
        assert (we == fresh_valid && (!we || stored_next == fresh));
      end
  end
endmodule
