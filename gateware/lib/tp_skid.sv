// SPDX-License-Identifier: Apache-2.0
// Register slice for a stream: cuts the paths of data, `valid` and `ready`, at full rate.
//
// Promises: all outputs are registers; nothing is lost, repeated or reordered; `out_data` stands while `out_valid`; one beat a clock;
// one clock of delay. Costs two registers a bit. Not for: queues (use tp_fifo).
module tp_skid #(
    parameter int WIDTH = 8
) (
    input  logic             clk,
    input  logic             rst,
    input  logic             in_valid,
    output logic             in_ready,
    input  logic [WIDTH-1:0] in_data,
    output logic             out_valid,
    input  logic             out_ready,
    output logic [WIDTH-1:0] out_data
);
  logic [WIDTH-1:0] spare;  // holds a beat that came while the output stood: then in_ready is 0

  always_ff @(posedge clk) begin
    if (rst) begin
      in_ready  <= 1'b1;
      out_valid <= 1'b0;
    end else begin
      if (out_ready || !out_valid) begin
        out_valid <= in_valid || !in_ready;
        in_ready  <= 1'b1;
      end else if (in_valid && in_ready) begin
        in_ready <= 1'b0;
      end
    end
    if (out_ready || !out_valid) out_data <= in_ready ? in_data : spare;
    if (in_ready) spare <= in_data;
  end

`ifndef SYNTHESIS
  logic waited;
  logic [WIDTH-1:0] was;
  always_ff @(posedge clk) begin
    waited <= in_valid && !in_ready && !rst;
    was <= in_data;
    if (waited && !rst)
      assert (in_valid && in_data == was)
      else $error("%m: a beat changed before in_ready");
  end
`endif
endmodule
