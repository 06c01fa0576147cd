// SPDX-License-Identifier: Apache-2.0
// A primitive's ports, for checks only: after the libraries guide, UG953.
module IBUFDS_GTE2 (
    input  logic I,
    input  logic IB,
    input  logic CEB,
    output logic O,
    output logic ODIV2
);
endmodule
