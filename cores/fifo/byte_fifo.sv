// SPDX-License-Identifier: Apache-2.0
//
// A FIFO of bytes in block RAM: up to a beat's bytes go in at once, any number goes out, and what is held can be looked at from any byte on.
//
// Promises: no byte is lost, repeated or moved. `held` counts a byte from the clock after it went in; `peek_data` shows it from then on.
// The user must not put in what does not fit (`held` + `in_count` <= BYTES) nor take more than `held`.
//
// Each lane is a RAM of its own: byte n of all that ever went in is in lane n % KEEP, row n / KEEP.
module byte_fifo #(
    parameter int DATA_WIDTH = 128,
    parameter int BYTES = 32768,  // a power of two, two beats at least
    localparam int KEEP = DATA_WIDTH / 8,
    localparam int AW = $clog2(BYTES)
) (
    input logic clk,
    input logic rst_n,

    input  logic [DATA_WIDTH-1:0] in_data,   // from its lowest byte on
    input  logic [$clog2(KEEP):0] in_count,  // 0 to KEEP
    input  logic [          AW:0] take,      // the oldest bytes that go, in this clock
    output logic [          AW:0] held,

    // A clock after `peek`: the beat that begins `peek_offset` bytes behind the oldest byte as it was then. It stays until the next `peek`.
    input  logic                  peek,
    input  logic [        AW-1:0] peek_offset,
    output logic [DATA_WIDTH-1:0] peek_data
);
  localparam int LANES = $clog2(KEEP);
  localparam int ROWS = AW - LANES;

  logic [AW-1:0] head, tail;  // the oldest byte, and where the next goes
  wire [AW-1:0] from = head + peek_offset;
  logic [DATA_WIDTH-1:0] turned, out;
  logic [LANES-1:0] turn;

  // Lane i gets the byte that is `i - tail` behind the first: in the tail's row, or in the next one if i is below the tail's lane.
  always_comb begin
    for (int i = 0; i < KEEP; i++) begin
      turned[8*i+:8] = in_data[8*(LANES'(i)-tail[LANES-1:0])+:8];
    end
  end

  for (genvar i = 0; i < KEEP; i++) begin : g_lane
    logic [7:0] ram[2**ROWS];
    wire [LANES-1:0] behind = LANES'(i) - tail[LANES-1:0];
    wire [ROWS-1:0] in_row = ROWS'((tail + AW'(KEEP - 1 - i)) >> LANES);
    wire [ROWS-1:0] out_row = ROWS'((from + AW'(KEEP - 1 - i)) >> LANES);
    always_ff @(posedge clk) begin
      if ((LANES + 1)'(behind) < in_count) ram[in_row] <= turned[8*i+:8];
      if (peek) out[8*i+:8] <= ram[out_row];
    end
  end

  always_comb begin
    for (int i = 0; i < KEEP; i++) peek_data[8*i+:8] = out[8*(LANES'(i)+turn)+:8];
  end

  always_ff @(posedge clk) begin
    head <= head + AW'(take);
    tail <= tail + AW'(in_count);
    held <= held + (AW + 1)'(in_count) - take;
    if (peek) turn <= from[LANES-1:0];
    if (!rst_n) begin
      head <= '0;
      tail <= '0;
      held <= '0;
    end
  end
endmodule
