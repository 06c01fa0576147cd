// SPDX-License-Identifier: Apache-2.0
// The ring of a log that several streams write at once: a queue for each stream, and one row a clock from the queues, in turn, into the ring.
//
// Promises: a row that comes is never held, for there is no ready. If its stream's queue has room it gets into the ring within
// STREAMS * QUEUE + 1 clocks, and rows of one stream keep their order; else it is counted in `dropped`, and the stream's next row in the ring has
// `lost`. Row n since `clear` stands at n modulo DEPTH, with the number n, from the clock in which `logged` is n + 1 until row n + DEPTH replaces it.
// `row` is what stood at `row_at` in the clock before. From configuration on it is empty.
// Not for: rows that come faster than one a clock for long.
module tp_tlplog_ring #(
    parameter int STREAMS = 6,
    parameter int WIDTH = 8,
    parameter int DEPTH = 512,  // a power of two, 2 or more
    parameter int QUEUE = 16,   // rows of each stream, a power of two, 2 or more
    localparam int AW = $clog2(DEPTH)
) (
    input  logic                          clk,
    input  logic                          clear,
    input  logic [STREAMS-1:0]            in_valid,
    input  logic [STREAMS-1:0][WIDTH-1:0] in_row,
    output logic [       63:0]            logged,
    output logic [       31:0]            dropped,
    input  logic [     AW-1:0]            row_at,
    output logic [  WIDTH-1:0]            row,
    output logic                          row_lost,
    output logic [       31:0]            row_number
);
  if (DEPTH < 2 || (DEPTH & (DEPTH - 1)) != 0) $error("%m: DEPTH %0d: make it a power of two, 2 or more", DEPTH);

  // ---- queues
  logic [STREAMS-1:0] room, waits, turn, lost;
  logic [STREAMS-1:0][WIDTH:0] head;
  for (genvar s = 0; s < STREAMS; s++) begin : gen_queue
    tp_fifo #(
        .WIDTH(WIDTH + 1),
        .DEPTH(QUEUE)
    ) queue (
        .clk,
        .rst(1'b0),
        .clear,
        .in_valid(in_valid[s]),
        .in_ready(room[s]),
        .in_data({lost[s], in_row[s]}),
        .out_valid(waits[s]),
        .out_ready(turn[s]),
        .out_data(head[s]),
        .count()
    );
  end
  tp_round_robin #(
      .N(STREAMS)
  ) arbiter (
      .clk,
      .rst(clear),
      .request(waits),
      .take(1'b1),
      .grant(turn)
  );

  // ---- one of them, and the ring
  logic [WIDTH:0] chosen, next;
  logic next_valid;
  logic [STREAMS-1:0] over;
  logic [WIDTH+32:0] ring[DEPTH];
  always_comb begin
    chosen = '0;
    for (int s = 0; s < STREAMS; s++) if (turn[s]) chosen = head[s];
  end
  always_ff @(posedge clk) begin
    if (next_valid) ring[logged[AW-1:0]] <= {logged[31:0], next};
    {row_number, row_lost, row} <= ring[row_at];
  end
  always_ff @(posedge clk) begin
    next <= chosen;
    next_valid <= turn != '0;
    over <= in_valid & ~room;
    lost <= (lost | in_valid) & ~(in_valid & room);
    if (next_valid) logged <= logged + 1'b1;
    dropped <= dropped + 32'($countones(over));
    if (clear) begin
      next_valid <= 1'b0;
      over <= '0;
      lost <= '0;
      logged <= '0;
      dropped <= '0;
    end
  end
endmodule
