// SPDX-License-Identifier: Apache-2.0
// A core with EPEE's ports: it adds a number to each 32 bits that the host sends, and sends them back.
//
// Registers: 0 tells which core it is, 1 keeps what is written, 2 is the number that is added. A write to 3 requests the interrupt whose number is written, and is acknowledged when the
// one before has been cleared. 4 counts words of the FIFO. Others are 0.
module epee_demo #(
    parameter W = 130  // 130 or 66: the two highest bits say which half is valid
) (
    input  wire         usr_clk,
    input  wire         usr_rst,
    input  wire [ 16:0] usr_ucr_wr_addr,
    input  wire [ 31:0] usr_ucr_wr_data,
    input  wire         usr_ucr_wr_req,
    output reg          usr_ucr_wr_ack,
    input  wire [ 16:0] usr_ucr_rd_addr,
    output reg  [ 31:0] usr_ucr_rd_data,
    input  wire         usr_ucr_rd_req,
    output reg          usr_ucr_rd_ack,
    output reg          usr_int_req,
    output reg  [  2:0] usr_int_vector,
    input  wire [  7:0] usr_int_sw_waiting,
    input  wire         usr_int_clr,
    input  wire         usr_int_enable,
    input  wire [W-1:0] host2board_dout,
    input  wire         host2board_empty,
    output wire         host2board_rd_en,
    output wire [W-1:0] board2host_din,
    input  wire         board2host_prog_full,
    output wire         board2host_wr_en
);
  localparam [31:0] ID = 32'h45455045;
  reg [31:0] scratch, add, words;

  // A word that stands there goes through, if there is room.
  wire moves = !host2board_empty && !board2host_prog_full;
  assign host2board_rd_en = moves;
  assign board2host_wr_en = moves;
  assign board2host_din[W-1:W-2] = host2board_dout[W-1:W-2];
  genvar n;
  generate
    for (n = 0; n < (W - 2) / 32; n = n + 1) begin : g_sum
      assign board2host_din[32*n+:32] = host2board_dout[32*n+:32] + add;
    end
  endgenerate

  // Nobody need wait for an interrupt that this core requests: a program takes it when it likes.
  wire wanted = usr_ucr_wr_addr == 17'd3;
  wire writes = usr_ucr_wr_req && !usr_ucr_wr_ack && !(wanted && (usr_int_req || usr_int_clr || !usr_int_enable));
  always @(posedge usr_clk) begin
    usr_ucr_wr_ack <= usr_ucr_wr_req && (usr_ucr_wr_ack || writes);
    if (writes) begin
      case (usr_ucr_wr_addr)
        17'd1:   scratch <= usr_ucr_wr_data;
        17'd2:   add <= usr_ucr_wr_data;
        17'd3: begin
          usr_int_req <= usr_int_sw_waiting[usr_ucr_wr_data[2:0]];
          usr_int_vector <= usr_ucr_wr_data[2:0];
        end
        default: ;
      endcase
    end
    if (usr_int_clr) usr_int_req <= 1'b0;

    usr_ucr_rd_ack <= usr_ucr_rd_req;
    case (usr_ucr_rd_addr)
      17'd0:   usr_ucr_rd_data <= ID;
      17'd1:   usr_ucr_rd_data <= scratch;
      17'd2:   usr_ucr_rd_data <= add;
      17'd4:   usr_ucr_rd_data <= words;
      default: usr_ucr_rd_data <= 32'd0;
    endcase
    words <= words + {31'd0, moves};
    if (usr_rst) begin
      {scratch, add, words} <= 96'd0;
      {usr_ucr_wr_ack, usr_ucr_rd_ack, usr_int_req} <= 3'd0;
    end
  end
endmodule
