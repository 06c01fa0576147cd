// SPDX-License-Identifier: Apache-2.0
// Words of 16 bit come back, and the word FFFF is an end of file. `table` has 1,024 words of 32 bit, which can be read alone: each is its number, but the first, which counts how often
// `open` of what is read has risen, and the last, which never comes.
module xillybus_ends (
    input  wire        bus_clk,
    input  wire        user_r_both_rden,
    output wire        user_r_both_empty,
    output wire [15:0] user_r_both_data,
    output wire        user_r_both_eof,
    input  wire        user_r_both_open,
    input  wire        user_w_both_wren,
    output wire        user_w_both_full,
    input  wire [15:0] user_w_both_data,
    input  wire        user_r_table_rden,
    output wire        user_r_table_empty,
    output reg  [31:0] user_r_table_data,
    input  wire [ 9:0] user_table_addr
);
  reg [16:0] words[0:63];
  reg [6:0] put, got;
  reg [15:0] dout;
  reg was_open = 0;
  reg [9:0] begins = 0;
  wire any = put != got;
  wire ends = any && words[got[5:0]][16];
  assign user_r_both_empty = !any || ends;
  assign user_r_both_eof = ends;
  assign user_r_both_data = dout;
  assign user_w_both_full = put == {~got[6], got[5:0]};
  assign user_r_table_empty = &user_table_addr;
  always @(posedge bus_clk) begin
    was_open <= user_r_both_open;
    if (user_r_both_open && !was_open) begins <= begins + 1;
    if (user_w_both_wren) begin
      words[put[5:0]] <= {&user_w_both_data, user_w_both_data};
      put <= put + 1'b1;
    end
    if (user_r_both_rden) dout <= words[got[5:0]][15:0];
    if (user_r_both_rden || ends) got <= got + 1'b1;
    if (!user_r_both_open) begin
      put <= 0;
      got <= 0;
    end
    if (user_r_table_rden) user_r_table_data <= {22'd0, user_table_addr == 0 ? begins : user_table_addr};
  end
endmodule
