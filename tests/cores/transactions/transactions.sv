// SPDX-License-Identifier: Apache-2.0
//
// Test core: three pairs of channels. What comes in on rx0 and rx1 goes out on tx0 and tx1 with the attributes that it came with. tx1
// rests behind the first beat of a message of 777 words, for 2 ms at 250 MHz. tx2 ends each message after 64 bytes at most, whatever
// length it has announced, and drops the rest.
module transactions_pair #(
    parameter int CUT  = 0,  // beats after which a message ends; 0: never
    parameter int REST = 0   // bytes of a message that is held up; 0: none is
) (
    input logic clk,
    input logic rst_n,

    input  logic [63:0] in_tdata,
    input  logic [ 7:0] in_tkeep,
    input  logic        in_tlast,
    input  logic        in_tvalid,
    output logic        in_tready,
    input  logic [63:0] in_length,
    input  logic [63:0] in_offset,
    input  logic [31:0] in_user,
    input  logic        in_reset,

    output logic [63:0] out_tdata,
    output logic [ 7:0] out_tkeep,
    output logic        out_tlast,
    output logic        out_tvalid,
    input  logic        out_tready,
    output logic [47:0] out_length,
    output logic [31:0] out_offset,
    output logic [31:0] out_user,
    input  logic        out_reset
);
  logic [31:0] beat;  // of the message that comes in
  logic [18:0] rest;  // clocks that are left
  wire drop = CUT != 0 && beat >= CUT;
  wire fire = in_tvalid && in_tready;
  assign in_tready = (drop || !out_tvalid || out_tready) && rest == '0;
  wire unused = ^{in_length[63:48], in_offset[63:32]};

  always_ff @(posedge clk) begin
    if (fire && !drop) begin
      out_tdata  <= in_tdata;
      out_tkeep  <= in_tkeep;
      out_tlast  <= in_tlast || (CUT != 0 && beat == CUT - 1);
      out_length <= in_length[47:0];
      out_offset <= in_offset[31:0];
      out_user   <= in_user;
    end
    if (fire && !drop) out_tvalid <= 1'b1;
    else if (out_tready) out_tvalid <= 1'b0;
    if (fire) beat <= in_tlast ? '0 : beat + 1;
    if (fire && beat == '0 && REST != 0 && in_length == 64'(REST)) rest <= '1;
    else if (rest != '0) rest <= rest - 1'b1;
    if (!rst_n || in_reset || out_reset) begin
      out_tvalid <= 1'b0;
      beat <= '0;
      rest <= '0;
    end
  end
endmodule

module transactions (
    input logic clk,
    input logic rst_n,

    input  logic [63:0] rx0_tdata,
    input  logic [ 7:0] rx0_tkeep,
    input  logic        rx0_tlast,
    input  logic        rx0_tvalid,
    output logic        rx0_tready,
    input  logic [63:0] rx0_length,
    input  logic [63:0] rx0_offset,
    input  logic [31:0] rx0_user,
    input  logic        rx0_reset,

    output logic [63:0] tx0_tdata,
    output logic [ 7:0] tx0_tkeep,
    output logic        tx0_tlast,
    output logic        tx0_tvalid,
    input  logic        tx0_tready,
    output logic [47:0] tx0_length,
    output logic [31:0] tx0_offset,
    output logic [31:0] tx0_user,
    input  logic        tx0_reset,

    input  logic [63:0] rx1_tdata,
    input  logic [ 7:0] rx1_tkeep,
    input  logic        rx1_tlast,
    input  logic        rx1_tvalid,
    output logic        rx1_tready,
    input  logic [63:0] rx1_length,
    input  logic [63:0] rx1_offset,
    input  logic [31:0] rx1_user,
    input  logic        rx1_reset,

    output logic [63:0] tx1_tdata,
    output logic [ 7:0] tx1_tkeep,
    output logic        tx1_tlast,
    output logic        tx1_tvalid,
    input  logic        tx1_tready,
    output logic [47:0] tx1_length,
    output logic [31:0] tx1_offset,
    output logic [31:0] tx1_user,
    input  logic        tx1_reset,

    input  logic [63:0] rx2_tdata,
    input  logic [ 7:0] rx2_tkeep,
    input  logic        rx2_tlast,
    input  logic        rx2_tvalid,
    output logic        rx2_tready,
    input  logic [63:0] rx2_length,
    input  logic [63:0] rx2_offset,
    input  logic [31:0] rx2_user,
    input  logic        rx2_reset,

    output logic [63:0] tx2_tdata,
    output logic [ 7:0] tx2_tkeep,
    output logic        tx2_tlast,
    output logic        tx2_tvalid,
    input  logic        tx2_tready,
    output logic [47:0] tx2_length,
    output logic [31:0] tx2_offset,
    output logic [31:0] tx2_user,
    input  logic        tx2_reset
);
  transactions_pair pair0 (
      .clk,
      .rst_n,
      .in_tdata(rx0_tdata),
      .in_tkeep(rx0_tkeep),
      .in_tlast(rx0_tlast),
      .in_tvalid(rx0_tvalid),
      .in_tready(rx0_tready),
      .in_length(rx0_length),
      .in_offset(rx0_offset),
      .in_user(rx0_user),
      .in_reset(rx0_reset),
      .out_tdata(tx0_tdata),
      .out_tkeep(tx0_tkeep),
      .out_tlast(tx0_tlast),
      .out_tvalid(tx0_tvalid),
      .out_tready(tx0_tready),
      .out_length(tx0_length),
      .out_offset(tx0_offset),
      .out_user(tx0_user),
      .out_reset(tx0_reset)
  );
  transactions_pair #(
      .REST(4 * 777)
  ) pair1 (
      .clk,
      .rst_n,
      .in_tdata(rx1_tdata),
      .in_tkeep(rx1_tkeep),
      .in_tlast(rx1_tlast),
      .in_tvalid(rx1_tvalid),
      .in_tready(rx1_tready),
      .in_length(rx1_length),
      .in_offset(rx1_offset),
      .in_user(rx1_user),
      .in_reset(rx1_reset),
      .out_tdata(tx1_tdata),
      .out_tkeep(tx1_tkeep),
      .out_tlast(tx1_tlast),
      .out_tvalid(tx1_tvalid),
      .out_tready(tx1_tready),
      .out_length(tx1_length),
      .out_offset(tx1_offset),
      .out_user(tx1_user),
      .out_reset(tx1_reset)
  );
  transactions_pair #(
      .CUT(8)
  ) pair2 (
      .clk,
      .rst_n,
      .in_tdata(rx2_tdata),
      .in_tkeep(rx2_tkeep),
      .in_tlast(rx2_tlast),
      .in_tvalid(rx2_tvalid),
      .in_tready(rx2_tready),
      .in_length(rx2_length),
      .in_offset(rx2_offset),
      .in_user(rx2_user),
      .in_reset(rx2_reset),
      .out_tdata(tx2_tdata),
      .out_tkeep(tx2_tkeep),
      .out_tlast(tx2_tlast),
      .out_tvalid(tx2_tvalid),
      .out_tready(tx2_tready),
      .out_length(tx2_length),
      .out_offset(tx2_offset),
      .out_user(tx2_user),
      .out_reset(tx2_reset)
  );
endmodule
