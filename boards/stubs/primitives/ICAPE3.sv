// SPDX-License-Identifier: Apache-2.0
// A primitive's ports, for checks only: after the libraries guide, UG974.
module ICAPE3 (
    input  logic        CLK,
    input  logic        CSIB,
    input  logic        RDWRB,
    input  logic [31:0] I,
    output logic        AVAIL,
    output logic [31:0] O,
    output logic        PRDONE,
    output logic        PRERROR
);
endmodule
