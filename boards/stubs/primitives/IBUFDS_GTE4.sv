// SPDX-License-Identifier: Apache-2.0
// A primitive's ports, for checks only: after the libraries guide, UG974.
module IBUFDS_GTE4 #(
    parameter logic [1:0] REFCLK_HROW_CK_SEL = 2'b00
) (
    input  logic I,
    input  logic IB,
    input  logic CEB,
    output logic O,
    output logic ODIV2
);
endmodule
