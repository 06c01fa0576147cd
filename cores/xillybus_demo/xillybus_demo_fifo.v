// SPDX-License-Identifier: Apache-2.0
// A FIFO whose word stands at `dout` in the clock after `rd_en`.
module xillybus_demo_fifo #(
    parameter WIDTH = 8,
    parameter BITS = 9  // of its depth
) (
    input  wire             clk,
    input  wire             srst,
    input  wire             wr_en,
    output wire             full,
    input  wire [WIDTH-1:0] din,
    input  wire             rd_en,
    output wire             empty,
    output reg  [WIDTH-1:0] dout
);
  reg [WIDTH-1:0] words[0:(1 << BITS) - 1];
  reg [BITS:0] put, got;
  assign empty = put == got;
  assign full  = put == {~got[BITS], got[BITS-1:0]};
  always @(posedge clk) begin
    if (wr_en && !full) begin
      words[put[BITS-1:0]] <= din;
      put <= put + 1'b1;
    end
    if (rd_en && !empty) begin
      dout <= words[got[BITS-1:0]];
      got  <= got + 1'b1;
    end
    if (srst) begin
      put <= 0;
      got <= 0;
    end
  end
endmodule
