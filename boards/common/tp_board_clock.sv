// SPDX-License-Identifier: Apache-2.0
// The user core's own clock, made from the block's: an MMCM with the factors that tools/boardproject.py computed (tp_board_pkg).
//
// The clock is not stable at first. That is left to tp_user_edge, which holds the user core in reset for clocks of this one.
module tp_board_clock
  import tp_board_pkg::*;
#(
    parameter bit PLUS = 0,  // UltraScale+, not 7 series
    parameter int KHZ = 250000
) (
    input  logic clk,
    output logic user_clk
);
  logic feedback, made;

  // Outputs that nobody needs are not named.
  // verilator lint_off PINMISSING
  if (PLUS) begin : gen_plus
    MMCME4_BASE #(
        .CLKIN1_PERIOD(1.0e6 / KHZ),
        .CLKFBOUT_MULT_F(CLOCK_MULTIPLY),
        .DIVCLK_DIVIDE(CLOCK_DIVIDE),
        .CLKOUT0_DIVIDE_F(CLOCK_OUTPUT)
    ) i_mmcm (
        .CLKIN1(clk),
        .CLKFBIN(feedback),
        .CLKFBOUT(feedback),
        .CLKOUT0(made),
        .PWRDWN(1'b0),
        .RST(1'b0)
    );
  end else begin : gen_7series
    MMCME2_BASE #(
        .CLKIN1_PERIOD(1.0e6 / KHZ),
        .CLKFBOUT_MULT_F(CLOCK_MULTIPLY),
        .DIVCLK_DIVIDE(CLOCK_DIVIDE),
        .CLKOUT0_DIVIDE_F(CLOCK_OUTPUT)
    ) i_mmcm (
        .CLKIN1(clk),
        .CLKFBIN(feedback),
        .CLKFBOUT(feedback),
        .CLKOUT0(made),
        .PWRDWN(1'b0),
        .RST(1'b0)
    );
  end
  // verilator lint_on PINMISSING

  BUFG i_buffer (
      .I(made),
      .O(user_clk)
  );
endmodule
