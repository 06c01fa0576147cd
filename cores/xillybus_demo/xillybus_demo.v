// SPDX-License-Identifier: Apache-2.0
// A core as it is written for Xillybus: what /dev/xillybus_write_32 and _write_8 bring goes back by _read_32 and _read_8, and _mem_8 is a RAM of 32 bytes.
// verilator lint_off UNUSEDSIGNAL  // a RAM needs no word of when a file is open or its address set
module xillybus_demo (
    input  wire        bus_clk,
    input  wire        quiesce,
    input  wire        user_r_read_32_rden,
    output wire        user_r_read_32_empty,
    output wire [31:0] user_r_read_32_data,
    output wire        user_r_read_32_eof,
    input  wire        user_r_read_32_open,
    input  wire        user_w_write_32_wren,
    output wire        user_w_write_32_full,
    input  wire [31:0] user_w_write_32_data,
    input  wire        user_w_write_32_open,
    input  wire        user_r_read_8_rden,
    output wire        user_r_read_8_empty,
    output wire [ 7:0] user_r_read_8_data,
    output wire        user_r_read_8_eof,
    input  wire        user_r_read_8_open,
    input  wire        user_w_write_8_wren,
    output wire        user_w_write_8_full,
    input  wire [ 7:0] user_w_write_8_data,
    input  wire        user_w_write_8_open,
    input  wire        user_r_mem_8_rden,
    output wire        user_r_mem_8_empty,
    output reg  [ 7:0] user_r_mem_8_data,
    output wire        user_r_mem_8_eof,
    input  wire        user_r_mem_8_open,
    input  wire        user_w_mem_8_wren,
    output wire        user_w_mem_8_full,
    input  wire [ 7:0] user_w_mem_8_data,
    input  wire        user_w_mem_8_open,
    input  wire [ 4:0] user_mem_8_addr,
    input  wire        user_mem_8_addr_update
);
  // verilator lint_on UNUSEDSIGNAL
  // A FIFO is emptied while neither of its files is open.
  xillybus_demo_fifo #(
      .WIDTH(32)
  ) fifo_32 (
      .clk(bus_clk),
      .srst(quiesce || !user_w_write_32_open && !user_r_read_32_open),
      .wr_en(user_w_write_32_wren),
      .full(user_w_write_32_full),
      .din(user_w_write_32_data),
      .rd_en(user_r_read_32_rden),
      .empty(user_r_read_32_empty),
      .dout(user_r_read_32_data)
  );
  xillybus_demo_fifo #(
      .WIDTH(8)
  ) fifo_8 (
      .clk(bus_clk),
      .srst(quiesce || !user_w_write_8_open && !user_r_read_8_open),
      .wr_en(user_w_write_8_wren),
      .full(user_w_write_8_full),
      .din(user_w_write_8_data),
      .rd_en(user_r_read_8_rden),
      .empty(user_r_read_8_empty),
      .dout(user_r_read_8_data)
  );
  assign {user_r_read_32_eof, user_r_read_8_eof} = 2'b00;

  reg [7:0] ram[0:31];
  assign {user_r_mem_8_empty, user_r_mem_8_eof, user_w_mem_8_full} = 3'b000;
  always @(posedge bus_clk) begin
    if (user_w_mem_8_wren) ram[user_mem_8_addr] <= user_w_mem_8_data;
    if (user_r_mem_8_rden) user_r_mem_8_data <= ram[user_mem_8_addr];
  end
endmodule
