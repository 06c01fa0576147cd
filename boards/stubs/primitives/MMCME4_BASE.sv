// SPDX-License-Identifier: Apache-2.0
// A primitive's ports, for checks only: after the libraries guide, UG974.
module MMCME4_BASE #(
    parameter real CLKIN1_PERIOD = 0.0,
    parameter real CLKFBOUT_MULT_F = 5.0,
    parameter int  DIVCLK_DIVIDE = 1,
    parameter real CLKOUT0_DIVIDE_F = 1.0,
    parameter int  CLKOUT1_DIVIDE = 1
) (
    input  logic CLKIN1,
    input  logic CLKFBIN,
    input  logic PWRDWN,
    input  logic RST,
    output logic CLKFBOUT,
    output logic CLKFBOUTB,
    output logic CLKOUT0,
    output logic CLKOUT1,
    output logic CLKOUT2,
    output logic CLKOUT3,
    output logic CLKOUT4,
    output logic CLKOUT5,
    output logic CLKOUT6,
    output logic CLKOUT0B,
    output logic CLKOUT1B,
    output logic CLKOUT2B,
    output logic CLKOUT3B,
    output logic LOCKED
);
endmodule
