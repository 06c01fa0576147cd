// SPDX-License-Identifier: Apache-2.0
// What comes out of a core's own FIFO, as a stream.
//
// Promises: each word that the FIFO gives arrives once, in order; it is read only while `empty` is 0 and while there is room for it. With FALL_THROUGH the word stands at
// `dout` while `empty` is 0; without, it stands there in the clock after `rd_en`. One word a clock. `flush` forgets what is held, and the word that is on its way.
module tp_fifo_get #(
    parameter int WIDTH = 64,
    parameter bit FALL_THROUGH = 0
) (
    input  logic             clk,
    input  logic             rst_n,
    input  logic             flush,
    input  logic             empty,
    output logic             rd_en,
    input  logic [WIDTH-1:0] dout,
    output logic             tvalid,
    input  logic             tready,
    output logic [WIDTH-1:0] tdata
);
  if (FALL_THROUGH) begin : g_through
    assign tvalid = !empty && !flush;
    assign rd_en  = tvalid && tready && rst_n;
    assign tdata  = dout;
  end else begin : g_standard
    logic coming;  // a word stands at `dout` in this clock
    logic [2:0] count;
    assign rd_en = !empty && rst_n && !flush && count + 3'(coming) < 3'd4;
    always_ff @(posedge clk) coming <= rd_en;
    tp_fifo #(
        .WIDTH(WIDTH),
        .DEPTH(4)
    ) words (
        .clk,
        .rst(!rst_n),
        .clear(flush),
        .in_valid(coming),
        .in_ready(),
        .in_data(dout),
        .out_valid(tvalid),
        .out_ready(tready),
        .out_data(tdata),
        .count
    );
  end
endmodule
