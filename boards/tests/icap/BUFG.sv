// SPDX-License-Identifier: Apache-2.0
// A model of the clock buffer, for benches.
module BUFG (
    input  logic I,
    output logic O
);
  assign O = I;
endmodule
