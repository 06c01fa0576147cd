// SPDX-License-Identifier: Apache-2.0
// tp_tlplog_ring: every row that comes is in the ring or counted in `dropped`, whichever streams bring one in a clock, and none is held: there is no
// ready. A row is taken if fewer than QUEUE of its stream wait; then it gets into the ring as it came, after those of its stream that came before,
// with its number and with `lost` if one of them was dropped, and stands there until row number + DEPTH replaces it. With SOON: it gets there within
// STREAMS * QUEUE + 1 clocks.
//
// One row is watched, of any stream and any time.
module tp_tlplog_ring_formal #(
    parameter int STREAMS = 3,
    parameter int WIDTH = 2,
    parameter int DEPTH = 4,
    parameter int QUEUE = 2,
    parameter bit SOON = 0,
    parameter bit INDUCTION = 1,
    localparam int AW = $clog2(DEPTH)
) (
    input logic clk,
    input logic rst,
    input logic clear,
    input logic [STREAMS-1:0] in_valid,
    input logic [STREAMS-1:0][WIDTH-1:0] in_row,
    input logic [AW-1:0] row_at,
    input logic [STREAMS-1:0] watch  // of one stream
);
  logic [63:0] logged;
  logic [31:0] dropped, row_number;
  logic [WIDTH-1:0] row;
  logic row_lost;
  tp_tlplog_ring #(
      .STREAMS(STREAMS),
      .WIDTH(WIDTH),
      .DEPTH(DEPTH),
      .QUEUE(QUEUE)
  ) dut (
      .*
  );

  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  always_comb begin
    if (!started) assume (rst);
    if (rst) assume (clear);
    assume ($onehot0(watch));
  end

  // ------------------------------------------------------------------------------------------------ counts
  logic [STREAMS-1:0] taken, gap;  // gap: of this stream one was dropped since the last one that was taken
  logic [3:0] waiting[STREAMS];
  logic [31:0] come, held;
  always_comb begin
    held = 32'(dut.next_valid) + 32'($countones(dut.over));
    for (int s = 0; s < STREAMS; s++) begin
      taken[s] = in_valid[s] && waiting[s] < 4'(QUEUE);
      held += 32'(waiting[s]);
    end
  end
  always_ff @(posedge clk) begin
    come <= come + 32'($countones(in_valid));
    gap  <= (gap | in_valid) & ~taken;
    for (int s = 0; s < STREAMS; s++) waiting[s] <= waiting[s] + 4'(taken[s]) - 4'(dut.turn[s]);
    if (clear) begin
      come <= '0;
      gap  <= '0;
      for (int s = 0; s < STREAMS; s++) waiting[s] <= '0;
    end
  end

  // ------------------------------------------------------------------------------------------------ the watched row
  logic queued, next, stands, looked;  // it is in its queue; goes into the ring; is there; and was when row_at was its place
  logic [STREAMS-1:0] stream;
  logic [3:0] ahead, age;
  logic [WIDTH:0] watched;
  logic [31:0] number;
  logic served;
  assign served = |(stream & dut.turn);
  always_ff @(posedge clk) begin
    if (!queued && !next && !stands && (watch & taken) != '0) begin
      queued <= 1'b1;
      stream <= watch;
      age <= '0;
      for (int s = 0; s < STREAMS; s++) begin
        if (watch[s]) begin
          ahead   <= waiting[s] - 4'(dut.turn[s]);
          watched <= {gap[s], in_row[s]};
        end
      end
    end else if (queued) begin
      age <= age + 1'b1;
      if (served) ahead <= ahead - 1'b1;
      if (served && ahead == '0) {queued, next} <= 2'b01;
    end
    if (next) begin
      next   <= 1'b0;
      stands <= 1'b1;
      number <= logged[31:0];
    end
    if (stands && dut.next_valid && logged[AW-1:0] == number[AW-1:0]) stands <= 1'b0;
    looked <= stands && row_at == number[AW-1:0];
    if (clear) {queued, next, stands, looked} <= '0;
  end

  always_comb
    if (started) begin
      assert (logged[31:0] + dropped + held == come);
      if (looked) assert ({row_number, row_lost, row} == {number, watched});
      if (stands) assert (logged[31:0] - number != '0 && logged[31:0] - number <= 32'(DEPTH));
      if (next) assert (dut.next_valid);
      if (SOON && queued) assert (age < 4'(STREAMS * QUEUE));
      cover (looked && watched[WIDTH] && dropped > 32'd2);
      cover (in_valid == '1 && taken == '1 && waiting[0] != '0);
    end

  if (INDUCTION) begin : g_induction
    for (genvar s = 0; s < STREAMS; s++) begin : g_stream
      always_comb
        if (started) begin
          assert (dut.gen_queue[s].queue.wr - dut.gen_queue[s].queue.rd == 2'(waiting[s]) && waiting[s] <= 4'(QUEUE));
          if (queued && stream[s]) begin
            assert (ahead < waiting[s]);
            assert (dut.gen_queue[s].queue.mem[1'(dut.gen_queue[s].queue.rd+ahead[1:0])] == watched);
          end
        end
    end
    always_comb
      if (started) begin
        assert (dut.lost == gap);
        assert ($countones({queued, next, stands}) <= 1 && (!looked || stands || !next));
        if (queued) assert ($onehot0(stream) && stream != '0);
        if (next) assert (dut.next == watched);
        if (stands) assert (dut.ring[number[AW-1:0]] == {number, watched});
      end
  end
endmodule
