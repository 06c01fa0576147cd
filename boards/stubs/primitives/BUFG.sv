// SPDX-License-Identifier: Apache-2.0
// A primitive's ports, for checks only: after the libraries guide, UG953 and UG974.
module BUFG (
    input  logic I,
    output logic O
);
endmodule
