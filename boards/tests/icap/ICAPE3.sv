// SPDX-License-Identifier: Apache-2.0
// A model of ICAPE3, for benches: status as ICAPE2's; AVAIL is 0 while something else has the port, which then takes nothing.
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
  logic cfgerr_b, dalign, in_abort_b;
  tp_icap_model i_model (
      .CLK,
      .CSIB(CSIB || !AVAIL),
      .RDWRB,
      .I,
      .cfgerr_b,
      .dalign,
      .in_abort_b,
      .prdone(PRDONE)
  );
  assign O = {24'hFFFFFF, cfgerr_b, dalign, 1'b0, in_abort_b, 4'hB};
  assign PRERROR = !cfgerr_b;
  assign AVAIL = i_model.available;
endmodule
