// SPDX-License-Identifier: Apache-2.0
// Passes a clock while it is enabled, in whole pulses: `on` changes at falling edges alone, when the output is low on either side of the change.
//
// `enable` comes from a register of any clock. A clock that stands still keeps `on` as it is; `masked` stops the output without it. The user
// of this module raises `masked` only over a clock that stands still, and lowers it only while `on` is 0: else it cuts a pulse.
module tp_clock_gate #(
    parameter bit INITIAL = 0  // enabled from configuration on
) (
    input  logic clock,
    input  logic enable,
    input  logic masked,
    output logic on,
    output logic gated
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
  assign gated = clock && on && !masked;
endmodule
