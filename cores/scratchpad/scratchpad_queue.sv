// SPDX-License-Identifier: Apache-2.0
//
// A queue whose entries may leave `delay` clocks after they came, in order. Its oldest entry stands at `out` before it is taken.
module scratchpad_queue #(
    parameter int WIDTH = 8,
    parameter int DEPTH = 32  // a power of two
) (
    input  logic             clk,
    input  logic             rst_n,
    input  logic [     15:0] delay,
    input  logic             in_valid,
    output logic             in_ready,
    input  logic [WIDTH-1:0] in,
    output logic             out_valid,
    input  logic             out_ready,
    output logic [WIDTH-1:0] out
);
  localparam int AW = $clog2(DEPTH);

  logic [AW:0] written, taken;  // modulo twice the depth: full and empty differ
  logic [31:0] now;
  logic [WIDTH-1:0] entries[DEPTH];
  logic [31:0] due[DEPTH];
  wire push = in_valid && in_ready;
  wire pull = out_valid && out_ready;
  assign in_ready = written - taken != (AW + 1)'(DEPTH);
  assign out = entries[taken[AW-1:0]];

  // Half the range of `now` is seconds: no entry waits as long.
  assign out_valid = written != taken && $signed(now - due[taken[AW-1:0]]) >= 0;

  always_ff @(posedge clk) begin
    now <= now + 1;
    if (push) begin
      entries[written[AW-1:0]] <= in;
      due[written[AW-1:0]] <= now + 32'(delay);
      written <= written + 1;
    end
    if (pull) taken <= taken + 1;
    if (!rst_n) begin
      now <= '0;
      written <= '0;
      taken <= '0;
    end
  end
endmodule
