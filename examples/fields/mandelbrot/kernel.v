// SPDX-License-Identifier: Apache-2.0
// Made of kernel.py by Polyphony 0.3.6: mandelbrot.py --kernel
module Mandelbrot_kernel
  (
    input wire clk,
    input wire rst,
    input wire signed [31:0] points_dout,
    input wire points_empty,
    input wire points_will_empty,
    output reg points_read,
    input wire counts_full,
    input wire counts_will_full,
    output reg signed [31:0] counts_din,
    output reg counts_write
  );

  //localparams
  localparam Mandelbrot_kernel_work_c0_b1_INIT = 0;
  localparam Mandelbrot_kernel_work_c0_b1_FINISH = 1;
  localparam Mandelbrot_kernel_work_c0_L1_while2_S0 = 2;
  localparam Mandelbrot_kernel_work_c0_L1_while2_S1 = 3;
  localparam Mandelbrot_kernel_work_c0_L1_while2_S2 = 4;
  localparam Mandelbrot_kernel_work_c0_L1_while2_S3 = 5;
  localparam Mandelbrot_kernel_work_c0_L1_while2_S4 = 6;
  localparam Mandelbrot_kernel_work_c0_L1_while2_S5 = 7;
  localparam Mandelbrot_kernel_work_c0_L1_while2_S6 = 8;
  localparam Mandelbrot_kernel_work_c0_L1_while2_S7 = 9;
  localparam Mandelbrot_kernel_work_c0_L1_whileexit6_S0 = 10;
  localparam Mandelbrot_kernel_work_c0_L1_whileexit6_S1 = 11;
  localparam Mandelbrot_kernel_work_c0_L1_whileexit6_S2 = 12;
  localparam Mandelbrot_kernel_work_c0_L1_whileexit6_S3 = 13;
  localparam Mandelbrot_kernel_work_c0_L2_while3_S0 = 14;
  localparam Mandelbrot_kernel_work_c0_L2_whilebody4_S0 = 15;
  localparam Mandelbrot_kernel_work_c0_L2_ifelse5_S0 = 16;
  localparam Mandelbrot_kernel_work_c0_L2_ifelse5_S1 = 17;

  //signals:
  wire kernel_work_c0_c533;
  wire kernel_work_c0_c537;
  wire kernel_work_c0_c570;
  wire kernel_work_c0_c622;
  reg        [4:0] kernel_work_c0_state;
  wire signed [31:0] kernel_work_c0_n4;
  wire signed [31:0] kernel_work_c0_t534;
  wire signed [31:0] kernel_work_c0_t535;
  wire signed [31:0] kernel_work_c0_t536;
  wire signed [31:0] kernel_work_c0_t538;
  wire signed [31:0] kernel_work_c0_t539;
  wire signed [31:0] kernel_work_c0_t540;
  wire signed [31:0] kernel_work_c0_x4;
  wire signed [31:0] kernel_work_c0_xx;
  wire signed [31:0] kernel_work_c0_y4;
  wire signed [31:0] kernel_work_c0_yy;
  reg signed [31:0] kernel_work_c0_cx;
  reg signed [31:0] kernel_work_c0_cy;
  reg signed [31:0] kernel_work_c0_n3;
  reg signed [31:0] kernel_work_c0_x3;
  reg signed [31:0] kernel_work_c0_y3;
  //combinations:
  assign kernel_work_c0_c533 = (kernel_work_c0_n3 < 255);
  assign kernel_work_c0_c537 = (kernel_work_c0_t536 > 16384);
  assign kernel_work_c0_c570 = (kernel_work_c0_c533 && !kernel_work_c0_c537);
  assign kernel_work_c0_c622 = (kernel_work_c0_c533 && !kernel_work_c0_c537);
  assign kernel_work_c0_n4 = (kernel_work_c0_n3 + 1);
  assign kernel_work_c0_t534 = (kernel_work_c0_x3 * kernel_work_c0_x3);
  assign kernel_work_c0_t535 = (kernel_work_c0_y3 * kernel_work_c0_y3);
  assign kernel_work_c0_t536 = (kernel_work_c0_xx + kernel_work_c0_yy);
  assign kernel_work_c0_t538 = (kernel_work_c0_x3 * kernel_work_c0_y3);
  assign kernel_work_c0_t539 = (kernel_work_c0_t538 >>> 11);
  assign kernel_work_c0_t540 = (kernel_work_c0_xx - kernel_work_c0_yy);
  assign kernel_work_c0_x4 = (kernel_work_c0_t540 + kernel_work_c0_cx);
  assign kernel_work_c0_xx = (kernel_work_c0_t534 >>> 12);
  assign kernel_work_c0_y4 = (kernel_work_c0_t539 + kernel_work_c0_cy);
  assign kernel_work_c0_yy = (kernel_work_c0_t535 >>> 12);

  always @(posedge clk) begin
    if (rst) begin
      counts_din <= 0;
      counts_write <= 0;
      kernel_work_c0_cx <= 0;
      kernel_work_c0_cy <= 0;
      kernel_work_c0_n3 <= 0;
      kernel_work_c0_x3 <= 0;
      kernel_work_c0_y3 <= 0;
      points_read <= 0;
      kernel_work_c0_state <= Mandelbrot_kernel_work_c0_b1_INIT;
    end else begin //if (rst)
      case(kernel_work_c0_state)
      Mandelbrot_kernel_work_c0_b1_INIT: begin
        kernel_work_c0_state <= Mandelbrot_kernel_work_c0_L1_while2_S0;
      end
      Mandelbrot_kernel_work_c0_L1_while2_S0: begin
        if (points_empty == 0) begin
          points_read <= 1;
          kernel_work_c0_state <= Mandelbrot_kernel_work_c0_L1_while2_S2;
        end
      end
      Mandelbrot_kernel_work_c0_L1_while2_S2: begin
        points_read <= 0;
        kernel_work_c0_cx <= points_dout;
        kernel_work_c0_state <= Mandelbrot_kernel_work_c0_L1_while2_S3;
      end
      Mandelbrot_kernel_work_c0_L1_while2_S3: begin
        if (points_empty == 0) begin
          points_read <= 1;
          kernel_work_c0_state <= Mandelbrot_kernel_work_c0_L1_while2_S5;
        end
      end
      Mandelbrot_kernel_work_c0_L1_while2_S5: begin
        points_read <= 0;
        kernel_work_c0_cy <= points_dout;
        kernel_work_c0_state <= Mandelbrot_kernel_work_c0_L1_while2_S6;
      end
      Mandelbrot_kernel_work_c0_L1_while2_S6: begin
        kernel_work_c0_n3 <= 0;
        kernel_work_c0_x3 <= 0;
        kernel_work_c0_y3 <= 0;
        kernel_work_c0_state <= Mandelbrot_kernel_work_c0_L2_while3_S0;
      end
      Mandelbrot_kernel_work_c0_L1_whileexit6_S2: begin
        counts_write <= 0;
        kernel_work_c0_state <= Mandelbrot_kernel_work_c0_L1_while2_S0;
      end
      Mandelbrot_kernel_work_c0_L2_while3_S0: begin
        /* kernel_work_c0_c533 <= (kernel_work_c0_n3 < 255); */
        if (kernel_work_c0_c533) begin
          /* kernel_work_c0_t534 <= (kernel_work_c0_x3 * kernel_work_c0_x3); */
          /* kernel_work_c0_t535 <= (kernel_work_c0_y3 * kernel_work_c0_y3); */
          /* kernel_work_c0_xx <= (kernel_work_c0_t534 >>> 12); */
          /* kernel_work_c0_yy <= (kernel_work_c0_t535 >>> 12); */
          /* kernel_work_c0_t536 <= (kernel_work_c0_xx + kernel_work_c0_yy); */
          /* kernel_work_c0_c537 <= (kernel_work_c0_t536 > 16384); */
          if (kernel_work_c0_c537) begin
            if (counts_full == 0) begin
              counts_write <= 1;
              counts_din <= kernel_work_c0_n3;
              kernel_work_c0_state <= Mandelbrot_kernel_work_c0_L1_whileexit6_S2;
            end
          end else begin
            /* kernel_work_c0_t538 <= (kernel_work_c0_x3 * kernel_work_c0_y3); */
            /* kernel_work_c0_n4 <= (kernel_work_c0_n3 + 1); */
            /* kernel_work_c0_t539 <= (kernel_work_c0_t538 >>> 11); */
            kernel_work_c0_n3 <= kernel_work_c0_n4;
            /* kernel_work_c0_y4 <= (kernel_work_c0_t539 + kernel_work_c0_cy); */
            /* kernel_work_c0_t540 <= (kernel_work_c0_xx - kernel_work_c0_yy); */
            /* kernel_work_c0_x4 <= (kernel_work_c0_t540 + kernel_work_c0_cx); */
            kernel_work_c0_y3 <= kernel_work_c0_y4;
            /* kernel_work_c0_c622 <= (kernel_work_c0_c533 && !kernel_work_c0_c537); */
            /* kernel_work_c0_c570 <= (kernel_work_c0_c533 && !kernel_work_c0_c537); */
            kernel_work_c0_x3 <= kernel_work_c0_x4;
            kernel_work_c0_state <= Mandelbrot_kernel_work_c0_L2_while3_S0;
          end
        end else begin
          if (counts_full == 0) begin
            counts_write <= 1;
            counts_din <= kernel_work_c0_n3;
            kernel_work_c0_state <= Mandelbrot_kernel_work_c0_L1_whileexit6_S2;
          end
        end
      end
      endcase
    end
  end


endmodule
