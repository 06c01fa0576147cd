// SPDX-License-Identifier: Apache-2.0
// What stands on boards in the place of gateware/plugin/clock/tp_clock_join.sv: the user's clock out of two or three inputs, by clock multiplexers (BUFGCTRL,
// UG472 and UG572).
//
// A multiplexer leaves an input when that is low, and takes another at its falling edge, whenever its selects change: so no pulse is cut, however long the
// way from `on` is. A masked input stands still, so the multiplexer is told not to wait for it (IGNORE). No input selected is low.
// It has not met hardware, and no simulation here has the primitive: it is elaborated against a stub.
module tp_clock_join #(
    parameter int CLOCKS = 3
) (
    input  logic [CLOCKS-1:0] clocks,
    input  logic [CLOCKS-1:0] on,
    input  logic [CLOCKS-1:0] masked,
    output logic              user_clk
);
  if (CLOCKS < 2 || CLOCKS > 3) $error("%m: CLOCKS %0d: make it 2 or 3", CLOCKS);

  logic [CLOCKS-1:0] open;
  logic of_two;
  assign open = on & ~masked;

  // Input 0 is on from configuration.
  BUFGCTRL #(
      .INIT_OUT(0),
      .PRESELECT_I0("TRUE"),
      .PRESELECT_I1("FALSE")
  ) i_of_two (
      .I0(clocks[0]),
      .I1(clocks[1]),
      .S0(open[0]),
      .S1(open[1]),
      .CE0(1'b1),
      .CE1(1'b1),
      .IGNORE0(masked[0]),
      .IGNORE1(masked[1]),
      .O(of_two)
  );

  if (CLOCKS == 3) begin : gen_third
    BUFGCTRL #(
        .INIT_OUT(0),
        .PRESELECT_I0("TRUE"),
        .PRESELECT_I1("FALSE")
    ) i_of_three (
        .I0(of_two),
        .I1(clocks[2]),
        .S0(!open[2]),  // what it takes is low while neither of the two is open
        .S1(open[2]),
        .CE0(1'b1),
        .CE1(1'b1),
        .IGNORE0(1'b0),
        .IGNORE1(masked[2]),
        .O(user_clk)
    );
  end else begin : gen_two
    assign user_clk = of_two;
  end
endmodule
