// SPDX-License-Identifier: Apache-2.0
// A stream as EPEE's FIFO from the host: words of which the two highest bits say which halves of the rest are valid.
//
// Promises: bytes come in order, each once. Both halves are valid, but in the last word of a message, where the lower one may be alone; of a half that is not full the rest is 0. A
// beat without bytes is no word. With FALL_THROUGH a word stands at `dout` while `empty` is 0, and `rd_en` takes it; without, it stands there from the clock after `rd_en` until the
// next is fetched. `almost_empty`: there is one word at most. `flush` forgets what is held.
// Not for: the core's knowing where messages end.
module tp_epee_read #(
    parameter  int WIDTH        = 128,       // of both halves: 64 or 128
    parameter  bit FALL_THROUGH = 1,
    localparam int KEEP         = WIDTH / 8
) (
    input  logic             clk,
    input  logic             rst_n,
    input  logic             flush,
    input  logic             tvalid,
    output logic             tready,
    input  logic [WIDTH-1:0] tdata,
    input  logic [ KEEP-1:0] tkeep,
    output logic             empty,
    output logic             almost_empty,
    input  logic             rd_en,
    output logic [WIDTH+1:0] dout
);
  logic room, there;
  logic [WIDTH+1:0] word, next;
  logic [2:0] count;
  for (genvar b = 0; b < KEEP; b++) begin : g_byte
    assign word[8*b+:8] = tkeep[b] ? tdata[8*b+:8] : '0;
  end
  assign word[WIDTH+:2] = {tkeep[KEEP/2], tkeep[0]};
  assign tready = (room || !tkeep[0]) && rst_n && !flush;
  assign empty = !there || flush;
  assign almost_empty = count <= 3'd1;
  tp_fifo #(
      .WIDTH(WIDTH + 2),
      .DEPTH(4)
  ) words (
      .clk,
      .rst(!rst_n),
      .clear(flush),
      .in_valid(tvalid && tready && tkeep[0]),
      .in_ready(room),
      .in_data(word),
      .out_valid(there),
      .out_ready(rd_en && !empty),
      .out_data(next),
      .count
  );
  if (FALL_THROUGH) begin : g_through
    assign dout = next;
  end else begin : g_standard
    always_ff @(posedge clk) begin
      if (rd_en && !empty) dout <= next;
    end
  end
endmodule
