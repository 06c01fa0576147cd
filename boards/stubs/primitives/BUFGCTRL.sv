// SPDX-License-Identifier: Apache-2.0
// A primitive's ports, for checks only: after the libraries guide, UG953 and UG974.
module BUFGCTRL #(
    parameter int INIT_OUT = 0,
    parameter string PRESELECT_I0 = "FALSE",
    parameter string PRESELECT_I1 = "FALSE"
) (
    input  logic I0,
    input  logic I1,
    input  logic S0,
    input  logic S1,
    input  logic CE0,
    input  logic CE1,
    input  logic IGNORE0,
    input  logic IGNORE1,
    output logic O
);
endmodule
