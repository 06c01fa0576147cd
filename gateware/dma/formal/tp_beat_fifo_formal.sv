// SPDX-License-Identifier: Apache-2.0
// tp_beat_fifo: beats come out in order, each once, two cycles after their `put_full` or when those before have left, each lane as it was
// last written, with the meta of that `put_full`; what is shown stands.
// Assumed: the writer counts room, as tp_h2c is proved to. One lane of one beat is watched, any one.
module tp_beat_fifo_formal #(
    parameter int DATA_WIDTH = 32,
    parameter int DEPTH = 4,
    parameter int META = 2,
    parameter bit INDUCTION = 1,
    localparam int KEEP = DATA_WIDTH / 8,
    localparam int KW = $clog2(KEEP),
    localparam int AW = $clog2(DEPTH)
) (
    input logic clk,
    input logic rst,
    input logic clear,
    input logic put_valid,
    input logic [KW-1:0] put_from,
    input logic [DATA_WIDTH-1:0] put_data,
    input logic put_full,
    input logic [META-1:0] put_meta,
    input logic out_ready,
    input logic watch,
    input logic [KW-1:0] choose
);
  logic out_valid;
  logic [DATA_WIDTH-1:0] out_data;
  logic [META-1:0] out_meta;
  tp_beat_fifo #(
      .DATA_WIDTH(DATA_WIDTH),
      .DEPTH(DEPTH),
      .META(META)
  ) dut (
      .clk,
      .rst,
      .clear,
      .put_valid,
      .put_from,
      .put_data,
      .put_full,
      .put_meta,
      .out_valid,
      .out_ready,
      .out_data,
      .out_meta
  );

  logic started = 1'b0;
  logic [KW-1:0] lane;  // the lane that is watched
  int stored;                     // whole beats
  always_ff @(posedge clk) begin
    started <= 1'b1;
    if (!started) lane <= choose;
  end
  always_comb begin
    if (!started) assume (rst);
    if (put_valid) assume (rst || stored < DEPTH);
  end

  logic get;
  assign get = out_valid && out_ready;

  logic due;  // a beat must show
  always_ff @(posedge clk) due <= stored != 32'(get) && !rst && !clear;

  // The beat that is watched: chosen when the one before it is closed, gathered while it is at the tail, then followed to the head.
  logic gathering, waiting, written, seen;
  logic [AW:0] ahead;  // whole beats before it
  logic [7:0] value;
  logic [META-1:0] meta;
  always_ff @(posedge clk) begin
    stored <= stored + 32'(put_valid && put_full) - 32'(get);
    seen <= waiting && ahead == 0 && get && written;
    if (!gathering && !waiting) begin
      gathering <= watch && put_valid && put_full;
      written <= 1'b0;
    end
    if (gathering && put_valid) begin
      if (lane >= put_from) begin
        written <= 1'b1;
        value <= put_data[8*lane+:8];
      end
      if (put_full) begin
        gathering <= 1'b0;
        waiting <= 1'b1;
        meta <= put_meta;
        ahead <= (AW + 1)'(stored) - (AW + 1)'(get);
      end
    end
    if (waiting && get) begin
      waiting <= ahead != 0;
      ahead <= ahead - 1'b1;
    end
    if (rst || clear) begin
      stored <= 0;
      gathering <= 1'b0;
      waiting <= 1'b0;
    end
  end

  always_comb
    if (started) begin
      assert (stored >= 0 && stored <= DEPTH && (!out_valid || stored != 0));
      assert (!due || out_valid);
      assert (!(waiting && ahead == 0 && out_valid) || out_meta == meta);
      assert (!(waiting && ahead == 0 && out_valid && written) || out_data[8*lane+:8] == value);
      cover (seen && stored == DEPTH - 1);
    end

  // Where the watched lane stands: before it is shown, in the memory.
  logic shown;
  logic [AW-1:0] at;
  logic [DATA_WIDTH-1:0] there;
  assign shown = waiting && ahead == 0 && out_valid;
  assign at = waiting ? AW'(dut.rd + ahead) - AW'(out_valid) : dut.wr[AW-1:0];
  assign there = dut.beats[at];
  if (INDUCTION) begin : g_induction
    always_comb
      if (started) begin
        assert (32'((AW + 1)'(dut.wr - dut.rd)) == stored - 32'(out_valid));
        assert (!(gathering && waiting));
        assert (!waiting || (32'(ahead) < stored && (shown || dut.metas[at] == meta)));
        assert (!((waiting || gathering) && written) || shown || there[8*lane+:8] == value);
      end
  end
endmodule
