// SPDX-License-Identifier: Apache-2.0
// An H2C stream as the receiving half of a channel of RIFFA: a message is a transaction. docs/guide/from-riffa.md says what is what.
//
// Promises: `rx` is up from a message's first beat until the core has acknowledged it and has taken its last word; it is down for a clock at least between two. `rx_ack` counts in any
// clock in which `rx` is up, before, beside or after the data. Exactly `rx_len` words come, rounded up to a beat: of a longer message the rest is dropped, and for what is missing of one
// that was cut or reset stand words of no meaning, so that no core waits for them.
// `rx_clk` is the core's, and may be any. Widths differ by powers of two. Not for: messages without a length, which have `rx_len` 0.
// Of offset and user word there is more than RIFFA's channels can say.
// verilator lint_off UNUSEDSIGNAL
module tp_riffa_rx #(
    parameter  int DATA_WIDTH = 128,
    parameter  int WIDTH      = 128,            // 32, 64 or 128
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
    input  logic [          63:0] s_length,
    input  logic [          63:0] s_offset,
    input  logic [          31:0] s_user,
    input  logic                  rx_clk,
    output logic                  rx,
    input  logic                  rx_ack,
    output logic                  rx_last,
    output logic [          31:0] rx_len,
    output logic [          30:0] rx_off,
    output logic [     WIDTH-1:0] rx_data,
    output logic                  rx_data_valid,
    input  logic                  rx_data_ren
);
  // verilator lint_on UNUSEDSIGNAL
  localparam int WORDS = WIDTH / 32;
  typedef struct packed {
    logic last;
    logic [30:0] offset;
    logic [31:0] words;
  } head_t;
  typedef struct packed {
    head_t head;
    logic none;  // no byte is in the beat
    logic ends;
    logic [WIDTH-1:0] data;
  } beat_t;

  // ---- Towpath's clock: the core's width, and the crossing
  head_t s_head, w_head;
  logic [WIDTH-1:0] w_tdata;
  logic [WIDTH/8-1:0] w_tkeep;
  logic w_tvalid, w_tready, w_tlast, put_ready, held, near_rst, far_rst;
  assign s_head = '{last: s_user[0], offset: s_offset[30:0], words: s_length[33:2] + 32'(s_length[1:0] != 0)};
  tp_stream_width #(
      .S_WIDTH(DATA_WIDTH),
      .M_WIDTH(WIDTH),
      .SIDE($bits(head_t))
  ) width (
      .clk,
      .rst_n,
      .flush(s_reset),
      .s_tvalid,
      .s_tready,
      .s_tdata,
      .s_tkeep,
      .s_tlast,
      .s_side(s_head),
      .m_tvalid(w_tvalid),
      .m_tready(w_tready),
      .m_tdata(w_tdata),
      .m_tkeep(w_tkeep),
      .m_tlast(w_tlast),
      .m_side(w_head)
  );
  tp_reset_sync resets (
      .clk,
      .request(!rst_n),
      .busy(held),
      .src_rst(near_rst),
      .dst_clk(rx_clk),
      .dst_rst(far_rst)
  );
  beat_t w_beat, beat;
  logic shown, taken, reset;
  assign w_beat   = '{head: w_head, none: w_tkeep == '0, ends: w_tlast, data: w_tdata};
  assign w_tready = put_ready && !held;
  tp_h2c_crossing #(
      .WIDTH($bits(beat_t))
  ) crossing (
      .clk,
      .rst(near_rst),
      .mv_reset(s_reset),
      .mv_reset_busy(),
      .mv_tvalid(w_tvalid && !held),
      .mv_tready(put_ready),
      .mv_beat(w_beat),
      .user_clk(rx_clk),
      .user_rst(far_rst),
      .reset,
      .tvalid(shown),
      .tready(taken),
      .beat
  );

  // ---- the core's clock: a transaction is under way until the core has what it was told of, and the message is over
  logic under, ended, acked, take, ended_next, rx_next;
  logic [31:0] left, left_next;
  assign rx_data = beat.data;
  assign rx_data_valid = under && left != '0 && (ended || shown && !beat.none);
  assign take = rx_data_valid && rx_data_ren;
  assign taken = under && !ended && (left == '0 || beat.none || rx_data_ren);
  assign left_next = !take ? left : left <= 32'(WORDS) ? '0 : left - 32'(WORDS);
  assign ended_next = ended || shown && taken && beat.ends || reset;
  assign rx_next = rx && !(left_next == '0 && (acked || rx_ack));
  always_ff @(posedge rx_clk) begin
    if (under) begin
      left <= left_next;
      ended <= ended_next;
      acked <= acked || rx && rx_ack;
      rx <= rx_next;
      under <= rx_next || !ended_next;
    end else if (shown) begin
      {rx_last, rx_off, rx_len} <= beat.head;
      left <= beat.head.words;
      {ended, acked} <= '0;
      {rx, under} <= '1;
    end
    if (far_rst) {rx, under} <= '0;
  end
endmodule
