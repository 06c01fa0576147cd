// SPDX-License-Identifier: Apache-2.0
// tp_sending_ram: what is read comes out after two steps of `advance`, each byte as last written before the read, from lane 0 on, and
// `other` when nothing is read. One byte is watched, any one.
module tp_sending_ram_formal #(
    parameter int DATA_WIDTH = 64,
    parameter int BYTES = 32,
    parameter bit INDUCTION = 1,
    localparam int KEEP = DATA_WIDTH / 8,
    localparam int KW = $clog2(KEEP),
    localparam int BW = $clog2(BYTES)
) (
    input logic clk,
    input logic wr_valid,
    input logic [BW-1:KW] wr_row,
    input logic [DATA_WIDTH-1:0] wr_data,
    input logic advance,
    input logic rd,
    input logic [BW-1:KW+1] rd_odd,
    input logic [BW-1:KW+1] rd_even,
    input logic [KW:0] rd_byte,
    input logic [DATA_WIDTH-1:0] other,
    input logic [BW-1:0] choose
);
  logic [DATA_WIDTH-1:0] out_data;
  tp_sending_ram #(
      .DATA_WIDTH(DATA_WIDTH),
      .BYTES(BYTES)
  ) dut (
      .*
  );

  logic started = 1'b0;
  logic [BW-1:0] at;  // the byte that is watched
  always_ff @(posedge clk) begin
    started <= 1'b1;
    if (!started) at <= choose;
  end
  always_comb assume (!rd || other == '0);

  // The first row gives what stands from the first byte on, the other one what stands before.
  logic [BW-1:KW] first, second;
  assign first = rd_byte[KW] ? {rd_odd, 1'b1} : {rd_even, 1'b0};
  assign second = rd_byte[KW] ? {rd_even, 1'b0} : {rd_odd, 1'b1};
  logic hit;
  assign hit = at[BW-1:KW] == (at[KW-1:0] >= rd_byte[KW-1:0] ? first : second);

  logic known, known1, known2, hits1, hits2, other1, other2;
  logic [7:0] value, value1, value2;
  logic [KW-1:0] lane1, lane2;
  logic [DATA_WIDTH-1:0] others1, others2;
  always_ff @(posedge clk) begin
    if (wr_valid && wr_row == at[BW-1:KW]) begin
      known <= 1'b1;
      value <= wr_data[8*at[KW-1:0]+:8];
    end
    if (advance) begin
      hits1 <= rd && hit;
      known1 <= known;
      value1 <= value;
      lane1 <= at[KW-1:0] - rd_byte[KW-1:0];
      other1 <= !rd;
      others1 <= other;
      hits2 <= hits1;
      known2 <= known1;
      value2 <= value1;
      lane2 <= lane1;
      other2 <= other1;
      others2 <= others1;
    end
    if (!started) begin
      known <= 1'b0;
      known1 <= 1'b0;
      known2 <= 1'b0;
      other1 <= 1'b0;
      other2 <= 1'b0;
    end
  end

  always_comb
    if (started) begin
      assert (!(hits2 && known2) || out_data[8*lane2+:8] == value2);
      assert (!other2 || out_data == others2);
      cover (hits2 && known2 && value2 == 8'h5a && at == 0 && lane2 != 0 && !other2);
    end

  if (INDUCTION) begin : g_induction
    logic [KW-1:0] lane;
    logic [DATA_WIDTH-1:0] stored, read, even, odd;
    assign even = dut.g_unaligned.even;
    assign odd = dut.g_unaligned.odd;
    assign lane = at[KW-1:0];
    assign stored = at[KW] ? dut.g_unaligned.odds[at[BW-1:KW+1]] : dut.g_unaligned.evens[at[BW-1:KW+1]];
    assign read = at[KW] ? odd : even;
    always_comb
      if (started) begin
        assert (!known || stored[8*lane+:8] == value);
        assert (dut.g_unaligned.i_rotate.far == (2 * ((KW + 1) / 2))'(dut.g_unaligned.turn_now) &&
                dut.g_unaligned.i_rotate.not_far == ~dut.g_unaligned.i_rotate.far);
        assert (!(hits1 && known1) || (read[8*lane+:8] == value1 && dut.beside == '0 && dut.g_unaligned.from_odd[lane] == at[KW] &&
                                       dut.g_unaligned.turn == lane1 - lane));
        assert (!other1 || (even == '0 && odd == '0 && dut.beside == others1 && dut.g_unaligned.turn == '0));
      end
  end
endmodule
