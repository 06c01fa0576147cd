// SPDX-License-Identifier: Apache-2.0
// An H2C stream as a stream of Xillybus from the host: `user_w_NAME_*`. docs/guide/from-xillybus.md says what is what.
//
// Promises: the bytes of messages come as words, in order and once, each in a clock with `wren` 1, in which `full` is 0 and `open` 1. Ends of messages leave no mark: a word that one
// does not fill is filled by the next. An empty message forgets the bytes of such a word, and so does a reset of the channel.
// Widths differ by powers of two. Not for: cores that have to know where messages end.
module tp_xillybus_write #(
    parameter  int DATA_WIDTH = 128,
    parameter  int WIDTH      = 32,
    localparam int KEEP       = DATA_WIDTH / 8
) (
    input  logic                  clk,
    input  logic                  rst_n,
    input  logic                  s_reset,
    input  logic                  s_tvalid,
    output logic                  s_tready,
    input  logic [DATA_WIDTH-1:0] s_tdata,
    input  logic [      KEEP-1:0] s_tkeep,
    input  logic                  s_tlast,
    output logic                  wren,
    input  logic                  full,
    output logic [     WIDTH-1:0] data,
    output logic                  open
);
  localparam int BYTES = WIDTH / 8;
  localparam int CW = $clog2(BYTES) + 1;
  logic valid, ready, last, whole, midway;
  logic [WIDTH-1:0] part, held;
  logic [BYTES-1:0] keep;
  logic [CW-1:0] count, holds, together, rest;  // bytes that came, that are held, both, and what is held then
  logic [2*WIDTH-1:0] bytes;
  tp_xillybus_open opens (
      .clk,
      .rst_n,
      .reset(s_reset),
      .open
  );
  tp_stream_width #(
      .S_WIDTH(DATA_WIDTH),
      .M_WIDTH(WIDTH)
  ) width (
      .clk,
      .rst_n,
      .flush(s_reset),
      .s_tvalid,
      .s_tready,
      .s_tdata,
      .s_tkeep,
      .s_tlast,
      .s_side(1'b0),
      .m_tvalid(valid),
      .m_tready(ready),
      .m_tdata(part),
      .m_tkeep(keep),
      .m_tlast(last),
      .m_side()
  );
  // `keep` is ones from below.
  always_comb begin
    count = '0;
    for (int b = 0; b < BYTES; b++) if (keep[b]) count = CW'(b + 1);
  end
  assign together = holds + count;
  assign whole = together >= CW'(BYTES);
  assign rest = whole ? together - CW'(BYTES) : together;
  assign bytes = (2 * WIDTH)'(part) << (8 * 32'(holds)) | (2 * WIDTH)'(held);
  assign data = bytes[WIDTH-1:0];
  assign ready = open && (!full || !whole);
  assign wren = valid && whole && open && !full;
  always_ff @(posedge clk) begin
    if (valid && ready) begin
      midway <= !last;
      holds  <= rest;
      held   <= whole ? bytes[WIDTH+:WIDTH] : bytes[WIDTH-1:0];
      // What is above the bytes that are there is 0.
      for (int b = 0; b < BYTES; b++) if (CW'(b) >= rest) held[8*b+:8] <= '0;
      if (last && !midway && keep == '0) {holds, held} <= '0;
    end
    if (!rst_n || s_reset) {midway, holds, held} <= '0;
  end
endmodule
