// SPDX-License-Identifier: Apache-2.0
// A stream as the read side of a FIFO, for a core that reads from one.
//
// Promises: words come in order, each once. With FALL_THROUGH a word stands at `dout` while `empty` is 0, and `rd_en` takes it; without, `rd_en` fetches it, and it stands at
// `dout` from the next clock until the next word is fetched. `rd_en` while `empty` does nothing. `empty` may stand at 0 with no word taken for as long as the core likes.
// Not for: a core that is itself a FIFO, which is written into: that takes wires alone.
module tp_fifo_read #(
    parameter int WIDTH = 64,
    parameter bit FALL_THROUGH = 0
) (
    input  logic             clk,
    input  logic             tvalid,
    output logic             tready,
    input  logic [WIDTH-1:0] tdata,
    output logic             empty,
    input  logic             rd_en,
    output logic [WIDTH-1:0] dout
);
  assign empty  = !tvalid;
  assign tready = rd_en;
  if (FALL_THROUGH) begin : g_through
    assign dout = tdata;
  end else begin : g_standard
    always_ff @(posedge clk) begin
      if (tvalid && rd_en) dout <= tdata;
    end
  end
endmodule
