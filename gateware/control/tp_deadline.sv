// SPDX-License-Identifier: Apache-2.0
// Tells when somebody has been waiting too long: `expired` is 1 from about `timeout` clocks of `waiting` on, in which nothing `moved`.
module tp_deadline (
    input  logic        clk,
    input  logic        rst,
    input  logic [31:0] timeout,
    input  logic        timeout_set,   // it is another one: begin anew
    input  logic        waiting,
    input  logic        moved,
    output logic        expired
);
  logic [31:0] left;
  always_ff @(posedge clk) begin
    expired <= 1'b0;
    if (rst || timeout_set || !waiting || moved) left <= timeout;
    else if (left == '0) expired <= 1'b1;
    else left <= left - 1'b1;
  end
endmodule
