// SPDX-License-Identifier: Apache-2.0
// A model of the clock multiplexer, for benches, after its description in UG472: of each input a select that is taken while the input is high and the other
// is not passed, and a gate that follows it while the input is low. IGNORE has both follow at once. INIT_OUT is 0.
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
  if (INIT_OUT != 0) $error("%m: INIT_OUT %0d: this model has 0", INIT_OUT);

  logic chosen0, chosen1, passed0, passed1;
  initial begin
    chosen0 = PRESELECT_I0 == "TRUE";
    passed0 = PRESELECT_I0 == "TRUE";
    chosen1 = PRESELECT_I1 == "TRUE";
    passed1 = PRESELECT_I1 == "TRUE";
  end
  always_latch if (I0 || IGNORE0) chosen0 = S0 && !passed1;
  always_latch if (!I0 || IGNORE0) passed0 = CE0 && chosen0;
  always_latch if (I1 || IGNORE1) chosen1 = S1 && !passed0;
  always_latch if (!I1 || IGNORE1) passed1 = CE1 && chosen1;
  assign O = passed0 && I0 || passed1 && I1;
endmodule
