// SPDX-License-Identifier: Apache-2.0
// A sink that always takes and sources that cannot wait: what comes in goes out at once, with ones turned to zeros, and beside it a count of 12 bit, in each clock in which it is switched on.
module bursts (
    input  logic        clk,
    input  logic        rst_n,
    input  logic [31:0] in_tdata,
    input  logic [ 3:0] in_tkeep,
    input  logic        in_tlast,
    input  logic        in_tvalid,
    output logic [31:0] out_tdata,
    output logic [ 3:0] out_tkeep,
    output logic        out_tlast,
    output logic        out_tvalid,
    output logic [11:0] count_tdata,
    output logic        count_tvalid,
    input  logic        go,
    output logic [31:0] beats
);
  assign out_tdata = ~in_tdata;
  assign {out_tkeep, out_tlast, out_tvalid} = {in_tkeep, in_tlast, in_tvalid};
  assign count_tvalid = go;
  always_ff @(posedge clk) begin
    if (go) count_tdata <= count_tdata + 1'b1;
    if (in_tvalid) beats <= beats + 1'b1;
    if (!rst_n) {count_tdata, beats} <= '0;
  end
endmodule
