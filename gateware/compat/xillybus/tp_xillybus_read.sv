// SPDX-License-Identifier: Apache-2.0
// A stream of Xillybus to the host, `user_r_NAME_*`, as a C2H stream. docs/guide/from-xillybus.md says what is what.
//
// Promises: each word that the core gives arrives once, in order; `rden` is 1 only while `empty` is 0 and `open` 1, and the word is taken from `data` in the clock after it.
// A message ends when the core has had no word for IDLE clocks, so that no byte waits for more; then none ends so for REST clocks, as the card holds 32 messages at most. `eof` beside `empty` ends it at once, and an empty message follows: the end of the file.
// It comes once, until the core gives a word, or takes `eof` away, or the channel is reset. The end of words is always beside the last one, so that nothing else reads as empty.
// Widths differ by powers of two.
module tp_xillybus_read #(
    parameter  int DATA_WIDTH = 128,
    parameter  int WIDTH      = 32,
    parameter  int IDLE       = 2048,           // a power of two
    parameter  int REST       = 65536,          // a power of two
    localparam int KEEP       = DATA_WIDTH / 8
) (
    input  logic                  clk,
    input  logic                  rst_n,
    input  logic                  m_reset,
    output logic                  m_tvalid,
    input  logic                  m_tready,
    output logic [DATA_WIDTH-1:0] m_tdata,
    output logic [      KEEP-1:0] m_tkeep,
    output logic                  m_tlast,
    output logic                  rden,
    input  logic                  empty,
    input  logic [     WIDTH-1:0] data,
    input  logic                  eof,
    output logic                  open
);
  localparam int IW = $clog2(IDLE);
  localparam int RW = $clog2(REST);
  logic word_valid, word_ready, valid, ready, fetched, over, due, told, rests, holds;
  logic [WIDTH-1:0] word, held;
  logic [IW:0] idle;
  logic [RW:0] rested;
  tp_xillybus_open opens (
      .clk,
      .rst_n,
      .reset(m_reset),
      .open
  );
  // What ends stands until it has gone: no word is fetched before that. So it has its place behind the words before it, and before those behind it.
  assign over = open && empty && eof && !told && !due;
  tp_fifo_get #(
      .WIDTH(WIDTH)
  ) get (
      .clk,
      .rst_n,
      .flush(m_reset),
      .empty(empty || due || rests || !open),
      .rd_en(rden),
      .dout(data),
      .tvalid(word_valid),
      .tready(word_ready),
      .tdata(word)
  );

  // A word goes when it is known whether it is a message's last; the end of the file goes behind all.
  assign valid = holds ? word_valid || due || rests : due && !word_valid;
  assign word_ready = ready || !holds;
  always_ff @(posedge clk) begin
    fetched <= rden;  // a word is on its way
    idle <= rden || fetched || word_valid ? '0 : idle + (IW + 1)'(!idle[IW]);
    rested <= valid && ready && rests ? '0 : rested + (RW + 1)'(!rested[RW]);
    if (holds && idle[IW] && rested[RW] && !rden && !due) rests <= 1'b1;
    if (over) due <= 1'b1;
    if (valid && ready) {rests, holds} <= '0;
    if (valid && ready && !holds) {due, told} <= 2'b01;
    if (word_valid && word_ready) begin
      holds <= 1'b1;
      held  <= word;
    end
    if (rden || !eof) told <= 1'b0;
    if (!rst_n || m_reset) begin
      {fetched, idle, due, told, rests, holds} <= '0;
      rested <= (RW + 1)'(REST);
    end
  end
  tp_stream_width #(
      .S_WIDTH(WIDTH),
      .M_WIDTH(DATA_WIDTH)
  ) width (
      .clk,
      .rst_n,
      .flush(m_reset),
      .s_tvalid(valid),
      .s_tready(ready),
      .s_tdata(held),
      .s_tkeep({WIDTH / 8{holds}}),
      .s_tlast(!word_valid),
      .s_side(1'b0),
      .m_tvalid,
      .m_tready,
      .m_tdata,
      .m_tkeep,
      .m_tlast,
      .m_side()
  );
endmodule
