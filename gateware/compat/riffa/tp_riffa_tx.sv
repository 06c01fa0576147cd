// SPDX-License-Identifier: Apache-2.0
// The sending half of a channel of RIFFA as a C2H stream: a transaction is a message. docs/guide/from-riffa.md says what is what.
//
// Promises: `tx_ack` is up for one clock, after which words are taken. The message has `tx_len` words, or those that were taken until `tx` fell: one more beat is taken in the clock of
// the fall, as RIFFA does. What the core sends beyond `tx_len` while `tx` is up is taken and dropped. `m_length`, `m_offset` and `m_user` are what the core declared.
// `m_reset` drops the rest of the transaction under way, which is still taken from the core. `tx_clk` is the core's, and may be any. Widths differ by powers of two.
module tp_riffa_tx #(
    parameter  int DATA_WIDTH = 128,
    parameter  int WIDTH      = 128,            // 32, 64 or 128
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
    output logic [          47:0] m_length,
    output logic [          31:0] m_offset,
    output logic [          31:0] m_user,
    input  logic                  tx_clk,
    input  logic                  tx,
    output logic                  tx_ack,
    input  logic                  tx_last,
    input  logic [          31:0] tx_len,
    input  logic [          30:0] tx_off,
    input  logic [     WIDTH-1:0] tx_data,
    input  logic                  tx_data_valid,
    output logic                  tx_data_ren
);
  localparam int WORDS = WIDTH / 32;
  typedef struct packed {
    logic last;
    logic [30:0] offset;
    logic [31:0] words;
  } head_t;
  typedef struct packed {
    head_t head;
    logic ends;
    logic [WORDS-1:0] keep;
    logic [WIDTH-1:0] data;
  } beat_t;
  typedef enum logic [1:0] {
    IDLE,
    ACKNOWLEDGED,
    OPEN,
    CLOSING
  } state_t;

  // ---- the core's clock
  logic held, near_rst, far_rst, reset, room, put, shown, take, w_tready;
  beat_t beat, w_beat;
  state_t state;
  head_t head;
  logic ended, dropped, due;  // the message has ended; it is dropped; an end without words has to be sent
  logic [31:0] left;
  assign tx_ack = state == ACKNOWLEDGED;
  assign tx_data_ren = state == OPEN && !due && (room || ended || dropped);
  assign take = tx_data_ren && tx_data_valid && !ended && !dropped;
  assign put = take || due;
  assign beat.head = head;
  assign beat.ends = due || !tx || left <= 32'(WORDS);
  assign beat.data = tx_data;
  for (genvar w = 0; w < WORDS; w++) begin : g_keep
    assign beat.keep[w] = !due && left > 32'(w);
  end
  always_ff @(posedge tx_clk) begin
    if (put && room && beat.ends) begin
      ended <= 1'b1;
      due   <= 1'b0;
    end
    if (take) left <= left - 32'(WORDS);
    if (state == IDLE) begin
      head <= '{last: tx_last, offset: tx_off, words: tx_len};
      left <= tx_len;
      {ended, dropped} <= '0;
      due <= tx && tx_len == '0;
      if (tx) state <= ACKNOWLEDGED;
    end else if (state != CLOSING) begin
      state <= tx ? OPEN : CLOSING;
      // It fell early.
      if (!tx && !(put && room) && !ended && !dropped) due <= 1'b1;
    end else if (!due) begin
      state <= IDLE;
    end
    if (reset && state != IDLE) begin
      dropped <= 1'b1;
      due <= 1'b0;
    end
    if (far_rst) begin
      state <= IDLE;
      due   <= 1'b0;
    end
  end
  tp_c2h_crossing #(
      .WIDTH($bits(beat_t))
  ) crossing (
      .user_clk(tx_clk),
      .user_rst(far_rst),
      .reset,
      .tvalid(put),
      .tready(room),
      .beat,
      .clk,
      .rst(near_rst),
      .mv_reset(m_reset),
      .mv_reset_busy(),
      .mv_tvalid(shown),
      .mv_tready(w_tready && !held),
      .mv_beat(w_beat)
  );

  // ---- Towpath's clock
  head_t m_head;
  logic [WIDTH/8-1:0] w_tkeep;
  for (genvar b = 0; b < WIDTH / 8; b++) begin : g_bytes
    assign w_tkeep[b] = w_beat.keep[b/4];
  end
  tp_reset_sync resets (
      .clk,
      .request(!rst_n),
      .busy(held),
      .src_rst(near_rst),
      .dst_clk(tx_clk),
      .dst_rst(far_rst)
  );
  tp_stream_width #(
      .S_WIDTH(WIDTH),
      .M_WIDTH(DATA_WIDTH),
      .SIDE($bits(head_t))
  ) width (
      .clk,
      .rst_n,
      .flush(m_reset),
      .s_tvalid(shown && !held),
      .s_tready(w_tready),
      .s_tdata(w_beat.data),
      .s_tkeep(w_tkeep),
      .s_tlast(w_beat.ends),
      .s_side(w_beat.head),
      .m_tvalid,
      .m_tready,
      .m_tdata,
      .m_tkeep,
      .m_tlast,
      .m_side(m_head)
  );
  assign m_length = {14'd0, m_head.words, 2'd0};
  assign m_offset = {1'b0, m_head.offset};
  assign m_user   = {31'd0, m_head.last};
endmodule
