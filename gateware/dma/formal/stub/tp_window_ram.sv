// SPDX-License-Identifier: Apache-2.0
// tp_window_ram without its memory: for proofs that look at what is written and when, not at what is read. Its outputs are anything.
module tp_window_ram #(
    parameter int DATA_WIDTH = 128,
    parameter int REGION_BYTES = 8192,
    parameter int REGIONS = 1,
    parameter bit WRITE_ALIGNED = 0,
    parameter int META = 1,
    localparam int LANES = DATA_WIDTH / 32,
    localparam int KW = $clog2(DATA_WIDTH / 8),
    localparam int LW = $clog2(LANES),
    localparam int AW = $clog2(REGION_BYTES * REGIONS)
) (
    input logic clk,
    input logic rst,
    input logic                   wr_valid,
    input logic [AW-1:2]          wr_dword,
    input logic [LW:0]            wr_dwords,
    input logic [DATA_WIDTH-1:0]  wr_data,
    input  logic                  rd_valid,
    input  logic [AW-1:0]         rd_byte,
    input  logic [KW-1:0]         rd_lane,
    input  logic [META-1:0]       rd_meta,
    output logic                  out_valid,
    output logic [DATA_WIDTH-1:0] out_data,
    output logic [META-1:0]       out_meta
);
endmodule
