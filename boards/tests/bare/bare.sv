// SPDX-License-Identifier: Apache-2.0
// What comes in goes out, and nothing else: see towpath.toml.
`include "bare.svh"

module bare #(
    parameter int DATA_WIDTH = 128,
    localparam int KEEP = DATA_WIDTH / 8
) (
    // verilator lint_off UNUSEDSIGNAL
    input logic clk,
    input logic rst_n,
    // verilator lint_on UNUSEDSIGNAL

    input  logic [DATA_WIDTH-1:0] in_tdata,
    input  logic [      KEEP-1:0] in_tkeep,
    input  logic                  in_tlast,
    input  logic                  in_tvalid,
    output logic                  in_tready,

    output logic [DATA_WIDTH-1:0] out_tdata,
    output logic [      KEEP-1:0] out_tkeep,
    output logic                  out_tlast,
    output logic                  out_tvalid,
    input  logic                  out_tready
);
  `BARE_JOIN(data)
  `BARE_JOIN(keep)
  `BARE_JOIN(last)
  `BARE_JOIN(valid)
  assign in_tready = out_tready;
endmodule
