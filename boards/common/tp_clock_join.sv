// SPDX-License-Identifier: Apache-2.0
// What stands on boards in the place of gateware/plugin/clock/tp_clock_join.sv: the user's clock out of two inputs, by a clock multiplexer (BUFGCTRL,
// UG472 and UG572).
//
// A multiplexer whose select falls leaves its input at the end of a pulse that begins after that, and takes the other at a falling edge of the other's: so
// no pulse is cut, however long the way from `on` is. A masked input stands still and has no such pulse: the multiplexer is told not to wait for it (IGNORE).
// A second multiplexer behind this one would wait for pulses that this one no longer passes: so there are two inputs, and tools/boardproject.py refuses more.
// An input that stops between the fall of `on` and its next pulse is not left until it runs again.
// It has not met hardware; its bench has a model of the primitive (boards/tests/BUFGCTRL.sv).
module tp_clock_join #(
    parameter int CLOCKS = 2
) (
    input  logic [CLOCKS-1:0] clocks,
    input  logic [CLOCKS-1:0] on,
    input  logic [CLOCKS-1:0] masked,
    output logic              user_clk
);
  if (CLOCKS != 2) $error("%m: CLOCKS %0d: make it 2", CLOCKS);

  logic [CLOCKS-1:0] open;
  assign open = on & ~masked;

  // Input 0 is on from configuration. crossings.tcl finds the multiplexer by its name.
  BUFGCTRL #(
      .INIT_OUT(0),
      .PRESELECT_I0("TRUE"),
      .PRESELECT_I1("FALSE")
  ) i_clock_mux (
      .I0(clocks[0]),
      .I1(clocks[1]),
      .S0(open[0]),
      .S1(open[1]),
      .CE0(1'b1),
      .CE1(1'b1),
      .IGNORE0(masked[0]),
      .IGNORE1(masked[1]),
      .O(user_clk)
  );
endmodule
