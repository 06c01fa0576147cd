// SPDX-License-Identifier: Apache-2.0
// tp_sending_ram: what is read comes out after two steps of `advance`, each byte as last written before the read, from lane 0 on, and
// `other` when nothing is read. One byte of one channel is watched, any one.
module tp_sending_ram_formal #(
    parameter int DATA_WIDTH = 64,
    parameter int CHANNELS = 2,
    parameter int BYTES = 32,
    parameter bit INDUCTION = 1,
    localparam int KEEP = DATA_WIDTH / 8,
    localparam int KW = $clog2(KEEP),
    localparam int BW = $clog2(BYTES)
) (
    input logic clk,
    input logic [CHANNELS-1:0] wr_valid,
    input logic [CHANNELS-1:0][BW-1:KW] wr_beat,
    input logic [CHANNELS-1:0][DATA_WIDTH-1:0] wr_data,
    input logic advance,
    input logic [CHANNELS-1:0] rd,
    input logic [BW-1:0] rd_byte,
    input logic [DATA_WIDTH-1:0] other,
    input logic [BW-1:0] choose,
    input logic [CHANNELS-1:0] choose_channel
);
  logic [DATA_WIDTH-1:0] out_data;
  tp_sending_ram #(
      .DATA_WIDTH(DATA_WIDTH),
      .CHANNELS(CHANNELS),
      .BYTES(BYTES)
  ) dut (
      .clk,
      .wr_valid,
      .wr_beat,
      .wr_data,
      .advance,
      .rd,
      .rd_byte,
      .other,
      .out_data
  );

  logic started = 1'b0;
  logic [BW-1:0] at;  // the byte that is watched, ...
  logic [CHANNELS-1:0] in;  // ... in this channel
  always_ff @(posedge clk) begin
    started <= 1'b1;
    if (!started) begin
      at <= choose;
      in <= choose_channel;
    end
  end
  always_comb begin
    assume ((rd & (rd - 1'b1)) == '0);
    assume (rd == '0 || other == '0);
    if (!started) assume (choose_channel != '0 && (choose_channel & (choose_channel - 1'b1)) == '0);
  end

  logic [BW-1:0] far;  // behind the first byte that is read; a read that runs over the end goes on at the start
  logic known, known1, known2, hits1, hits2, other1, other2;
  logic [7:0] value, value1, value2;
  logic [KW-1:0] lane1, lane2;
  logic [DATA_WIDTH-1:0] others1, others2;
  assign far = at - rd_byte;
  always_ff @(posedge clk) begin
    for (int c = 0; c < CHANNELS; c++)
    if (in[c] && wr_valid[c] && wr_beat[c] == at[BW-1:KW]) begin
      known <= 1'b1;
      value <= wr_data[c][8*at[KW-1:0]+:8];
    end
    if (advance) begin
      hits1 <= rd == in && 32'(far) < KEEP;
      known1 <= known;
      value1 <= value;
      lane1 <= KW'(far);
      other1 <= rd == '0;
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

  // Where the watched byte stands: holds the induction.
  logic [BW-1:KW+1] row;
  logic [CHANNELS-1:0][DATA_WIDTH-1:0] rows;
  logic [7:0] stored;
  assign row = at[BW-1:KW+1];
  for (genvar c = 0; c < CHANNELS; c++) begin : g_channel
    assign rows[c] = at[KW] ? dut.g_unaligned.g_channel[c].odd[row] : dut.g_unaligned.g_channel[c].even[row];
  end
  always_comb begin
    stored = '0;
    for (int c = 0; c < CHANNELS; c++) if (in[c]) stored |= rows[c][8*at[KW-1:0]+:8];
  end

  always_comb
    if (started) begin
      assert (!(hits2 && known2) || out_data[8*lane2+:8] == value2);
      assert (!other2 || out_data == others2);
      cover (hits2 && known2 && value2 == 8'h5a && at == 0 && lane2 != 0 && !other2);
    end

  if (INDUCTION) begin : g_induction
    logic [KW-1:0] lane;
    logic [7:0] read;
    logic [CHANNELS-1:0][DATA_WIDTH-1:0] banks;
    assign lane = at[KW-1:0];
    for (genvar c = 0; c < CHANNELS; c++) begin : g_banks
      assign banks[c] = at[KW] ? dut.g_unaligned.odds[c] : dut.g_unaligned.evens[c];
    end
    always_comb begin
      read = '0;
      for (int c = 0; c < CHANNELS; c++) read |= banks[c][8*lane+:8];
    end
    always_comb
      if (started) begin
        assert (in != '0 && (in & (in - 1'b1)) == '0);
        assert (!known || stored == value);
        assert (dut.g_unaligned.i_rotate.far == (2 * ((KW + 1) / 2))'(dut.g_unaligned.turn_now) &&
                dut.g_unaligned.i_rotate.not_far == ~dut.g_unaligned.i_rotate.far);
        assert (!(hits1 && known1) || (read == value1 && dut.g_unaligned.beside == '0 && dut.g_unaligned.from_odd[lane] == at[KW] &&
                                         dut.g_unaligned.turn == lane1 - lane));
        assert (!other1 || (dut.g_unaligned.evens == '0 && dut.g_unaligned.odds == '0 && dut.g_unaligned.beside == others1 &&
                            dut.g_unaligned.turn == '0));
      end
  end
endmodule
