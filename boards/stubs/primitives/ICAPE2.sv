// SPDX-License-Identifier: Apache-2.0
// A primitive's ports, for checks only: after the libraries guide, UG953.
module ICAPE2 #(
    parameter string ICAP_WIDTH = "X32"
) (
    input  logic        CLK,
    input  logic        CSIB,
    input  logic        RDWRB,
    input  logic [31:0] I,
    output logic [31:0] O
);
endmodule
