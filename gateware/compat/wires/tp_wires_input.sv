// SPDX-License-Identifier: Apache-2.0
// An input of the core's that the host writes: as many words as it takes, from number FIRST on, the least significant first.
//
// Promises: 0 after a reset, then what has been written, byte by byte.
// Not for: a value of several words that must change at once.
module tp_wires_input #(
    parameter int BITS  = 32,
    parameter int FIRST = 0
) (
    input  logic            clk,
    input  logic            rst_n,
    input  logic            wr_en,
    input  logic [    29:0] wr_word,
    input  logic [    31:0] wr_data,
    input  logic [     3:0] wr_strb,
    output logic [BITS-1:0] value
);
  for (genvar b = 0; b < BITS; b++) begin : g_bit
    always_ff @(posedge clk) begin
      if (wr_en && wr_word == 30'(FIRST + b / 32) && wr_strb[b%32/8]) value[b] <= wr_data[b%32];
      if (!rst_n) value[b] <= 1'b0;
    end
  end
endmodule
