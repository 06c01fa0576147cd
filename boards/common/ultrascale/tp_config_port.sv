// SPDX-License-Identifier: Apache-2.0
// The configuration port of plug-in `partial` on UltraScale+: ICAPE3 (UG570) and the buffer of its clock. gateware/endpoint/xilinx_icap says how it is driven.
//
// `clk` has CLOCK_KHZ at most. tools/boardproject.py writes the constraints of the clock that is made of it.
// It has not met hardware.
module tp_config_port #(
    parameter int CLOCK_KHZ = 250_000
) (
    input  logic        clk,
    input  logic        config_start,
    input  logic        config_valid,
    output logic        config_ready,
    input  logic [31:0] config_data,
    input  logic        config_end,
    output logic        config_done,
    output logic        config_error
);
  logic icap_clk, tp_config_divided, icap_csib, icap_rdwrb;
  logic [31:0] icap_i;
  // Of what is read, only the status counts.
  // verilator lint_off UNUSEDSIGNAL
  logic [31:0] icap_o;
  // verilator lint_on UNUSEDSIGNAL
  logic icap_avail, icap_prdone, icap_prerror;

  BUFG i_clk (
      .I(tp_config_divided),
      .O(icap_clk)
  );
  ICAPE3 i_icap (
      .CLK(icap_clk),
      .CSIB(icap_csib),
      .RDWRB(icap_rdwrb),
      .I(icap_i),
      .AVAIL(icap_avail),
      .O(icap_o),
      .PRDONE(icap_prdone),
      .PRERROR(icap_prerror)
  );
  tp_xilinx_icap #(
      .CLOCK_KHZ(CLOCK_KHZ),
      .MOST_KHZ(125_000)  // of parts of several dies, as those of the boards are: UG909, "Configuration Time"
  ) i_port (
      .clk,
      .config_start,
      .config_valid,
      .config_ready,
      .config_data,
      .config_end,
      .config_done,
      .config_error,
      .tp_config_divided,
      .icap_csib,
      .icap_rdwrb,
      .icap_i,
      .icap_cfgerr_b(icap_o[7]),
      .icap_dalign(icap_o[6]),
      .icap_avail,
      .icap_prdone,
      .icap_prerror
  );
endmodule
