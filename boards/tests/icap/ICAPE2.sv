// SPDX-License-Identifier: Apache-2.0
// A model of ICAPE2, for benches: its status is in the lowest byte of what is read, as UG909 has it.
module ICAPE2 #(
    parameter string ICAP_WIDTH = "X32"
) (
    input  logic        CLK,
    input  logic        CSIB,
    input  logic        RDWRB,
    input  logic [31:0] I,
    output logic [31:0] O
);
  if (ICAP_WIDTH != "X32") $error("%m: ICAP_WIDTH %s: this model has X32", ICAP_WIDTH);

  logic cfgerr_b, dalign, in_abort_b;
  tp_icap_model i_model (
      .CLK,
      .CSIB,
      .RDWRB,
      .I,
      .cfgerr_b,
      .dalign,
      .in_abort_b,
      .prdone()
  );
  assign O = {24'hFFFFFF, cfgerr_b, dalign, 1'b0, in_abort_b, 4'hF};
endmodule
