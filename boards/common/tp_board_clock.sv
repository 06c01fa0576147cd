// SPDX-License-Identifier: Apache-2.0
// The user core's own clock, made from the block's: an MMCM with the factors that tools/boardproject.py computed (tp_board_pkg). With the plug-in
// `clock` there are several, of one oscillator.
//
// tp_board_reset holds the MMCM in reset while the block's clock cannot be trusted, and the card, with the user core, until `locked`.
module tp_board_clock
  import tp_board_pkg::*;
  import tp_user_pkg::*;
#(
    parameter bit PLUS = 0,  // UltraScale+, not 7 series
    parameter int KHZ = 250000
) (
    input  logic                   clk,
    input  logic                   rst,
    output logic                   locked,
    output logic [USER_CLOCKS-1:0] user_clk
);
  logic feedback;
  // verilator lint_off UNUSEDSIGNAL
  logic [1:0] made;  // as many are used as there are clocks
  // verilator lint_on UNUSEDSIGNAL

  // Unused outputs are not connected.
  // verilator lint_off PINMISSING
  if (PLUS) begin : gen_plus
    MMCME4_BASE #(
        .CLKIN1_PERIOD(1.0e6 / KHZ),
        .CLKFBOUT_MULT_F(CLOCK_MULTIPLY),
        .DIVCLK_DIVIDE(CLOCK_DIVIDE),
        .CLKOUT0_DIVIDE_F(CLOCK_OUTPUT),
        .CLKOUT1_DIVIDE(CLOCK_OUTPUT_1)
    ) i_mmcm (
        .CLKIN1(clk),
        .CLKFBIN(feedback),
        .CLKFBOUT(feedback),
        .CLKOUT0(made[0]),
        .CLKOUT1(made[1]),
        .LOCKED(locked),
        .PWRDWN(1'b0),
        .RST(rst)
    );
  end else begin : gen_7series
    MMCME2_BASE #(
        .CLKIN1_PERIOD(1.0e6 / KHZ),
        .CLKFBOUT_MULT_F(CLOCK_MULTIPLY),
        .DIVCLK_DIVIDE(CLOCK_DIVIDE),
        .CLKOUT0_DIVIDE_F(CLOCK_OUTPUT),
        .CLKOUT1_DIVIDE(CLOCK_OUTPUT_1)
    ) i_mmcm (
        .CLKIN1(clk),
        .CLKFBIN(feedback),
        .CLKFBOUT(feedback),
        .CLKOUT0(made[0]),
        .CLKOUT1(made[1]),
        .LOCKED(locked),
        .PWRDWN(1'b0),
        .RST(rst)
    );
  end
  // verilator lint_on PINMISSING

  for (genvar k = 0; k < USER_CLOCKS; k++) begin : gen_buffers
    BUFG i_buffer (
        .I(made[k]),
        .O(user_clk[k])
    );
  end
endmodule
