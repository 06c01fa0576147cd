// SPDX-License-Identifier: Apache-2.0
// Whether a clock is passed, in whole pulses: `on` changes at its falling edges alone, when it is low on either side of the change.
//
// `enable` comes from a register of any clock. A clock that stands still keeps `on` as it is: who uses this masks it then (tp_clock_join). The mask
// is raised only over a clock that stands still, and lowered only while `on` is 0: else it cuts a pulse.
module tp_clock_gate #(
    parameter bit INITIAL = 0  // enabled from configuration on
) (
    input  logic clock,
    input  logic enable,
    output logic on
);
  logic enabled;
  tp_sync #(
      .INITIAL(INITIAL)
  ) enable_sync (
      .clk(clock),
      .d(enable),
      .q(enabled)
  );

  initial on = INITIAL;
  always_ff @(negedge clock) on <= enabled;
endmodule
