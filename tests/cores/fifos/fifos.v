// SPDX-License-Identifier: Apache-2.0
// FIFO ports of every kind, in Verilog: read and written as FIFOs of 24 bit and of high-level synthesis, and a FIFO itself. It knows nothing of messages.
module fifos (
    input wire clk,
    input wire reset,

    // Reads a FIFO and writes one; all ones turned to zeros and back.
    input  wire [23:0] a_dout,
    input  wire        a_empty,
    output wire        a_rd_en,
    output reg  [23:0] b_din,
    input  wire        b_almost_full,
    output reg         b_wr_en,

    // The same as high-level synthesis makes it.
    input  wire [31:0] in_V_dout,
    input  wire        in_V_empty_n,
    output wire        in_V_read,
    output wire [31:0] out_V_din,
    input  wire        out_V_full_n,
    output wire        out_V_write,

    // A FIFO of four words.
    input  wire [15:0] din,
    output wire        full,
    input  wire        wr_en,
    output reg  [15:0] dout,
    output wire        empty,
    input  wire        rd_en
);
  reg fetched;
  assign a_rd_en = !a_empty && !b_almost_full;
  always @(posedge clk) begin
    fetched <= a_rd_en && !reset;
    b_wr_en <= fetched && !reset;  // two clocks after it has looked whether there is room
    b_din   <= ~a_dout;
  end

  assign in_V_read   = in_V_empty_n && out_V_full_n;
  assign out_V_write = in_V_read;
  assign out_V_din   = ~in_V_dout;

  reg [15:0] words[0:3];
  reg [2:0] wr, rd;
  assign full  = wr == {~rd[2], rd[1:0]};
  assign empty = wr == rd;
  always @(posedge clk) begin
    if (wr_en && !full) begin
      words[wr[1:0]] <= din;
      wr <= wr + 3'd1;
    end
    if (rd_en && !empty) begin
      dout <= words[rd[1:0]];
      rd   <= rd + 3'd1;
    end
    if (reset) begin
      wr <= 3'd0;
      rd <= 3'd0;
    end
  end
endmodule
