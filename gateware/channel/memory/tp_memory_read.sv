// SPDX-License-Identifier: Apache-2.0
// The C2H half of kind `memory`: reads by AXI4 what the host asks for, and sends it as one message.
//
// An ask has its first byte's address as offset, and its length. Bursts end at multiples of BOUND bytes, so none crosses 4 KiB; they are asked
// for ahead, 32 at most. Those of a second ask begin when all of the first one's have been asked for, while its rows still come. Bytes are turned from their lanes to the message's (`rotated`); with `skew`, a row brings the upper part of one beat
// and the lower part of the next (`carry`).
//
// Status of a message: 0, or the worst answer of its bursts (2 SLVERR, 3 DECERR), or 3 for an ask beyond BYTES, which is answered with an
// empty message. A cancel ends a message early whose bursts have not all been asked for, once those that have been have come. A reset ends both
// without one.
//
// Promises: AXI4's rules for a master; one message for each ask, in order.
// verilator lint_off UNUSEDSIGNAL
module tp_memory_read #(
    parameter int DATA_WIDTH = 128,
    parameter int ADDRESS_WIDTH = 32,
    parameter logic [63:0] BYTES = 64'h100000,  // of the memory, a multiple of 4096
    parameter logic [63:0] BASE = 64'h0,        // the core's address of the first byte, a multiple of 4096
    localparam int KEEP = DATA_WIDTH / 8
) (
    input logic clk,
    input logic rst_n,

    input  logic        ask_valid,
    output logic        ask_ready,
    input  logic        ask_cancel,
    input  logic [31:0] ask_length,
    input  logic [63:0] ask_offset,
    input  logic [31:0] ask_user,

    output logic                  m_tvalid,
    input  logic                  m_tready,
    output logic [DATA_WIDTH-1:0] m_tdata,
    output logic [      KEEP-1:0] m_tkeep,
    output logic                  m_tlast,
    output logic [           5:0] m_status,
    output logic [          47:0] m_length,
    output logic [          31:0] m_offset,
    output logic [          31:0] m_user,
    input  logic                  m_reset,

    output logic [ADDRESS_WIDTH-1:0] core_araddr,
    output logic [              7:0] core_arlen,
    output logic [              2:0] core_arsize,
    output logic [              1:0] core_arburst,
    output logic                     core_arvalid,
    input  logic                     core_arready,
    input  logic [   DATA_WIDTH-1:0] core_rdata,
    input  logic [              1:0] core_rresp,
    input  logic                     core_rlast,
    input  logic                     core_rvalid,
    output logic                     core_rready
);
  localparam int KW = $clog2(KEEP);
  localparam int BOUND = 256 * KEEP < 4096 ? 256 * KEEP : 4096;
  localparam int ROWS = BOUND / KEEP;  // of the longest burst
  localparam int LW = $clog2(ROWS) + 1;  // of a count of them
  localparam int AW = ADDRESS_WIDTH - KW;  // of a row's address
  localparam int RW = 33 - KW;  // of a count of rows, or of beats
  localparam logic [5:0] DECERR = 6'd3;
  localparam int OUTSTANDING = 32;
  localparam int OW = $clog2(OUTSTANDING) + 1;

  if (ADDRESS_WIDTH <= 12 || ADDRESS_WIDTH > 64) $error("%m: ADDRESS_WIDTH %0d: make it 13 to 64", ADDRESS_WIDTH);
  if (BYTES == '0 || BYTES % 4096 != 0 || BASE % 4096 != 0) $error("%m: BYTES and BASE: make them multiples of 4096");

  typedef enum logic [2:0] {
    IDLE,
    MOVE,
    TAIL,                                     // a last beat, of what the last row has left
    EMPTY,                                    // a last beat without bytes
    FORGET                                    // after a reset: what was asked for comes, and is dropped
  } state_e;
  state_e state;
  // The last ask; `waits`: its message has not begun, `fresh`: nor have its bursts.
  logic waits, fresh;
  logic [31:0] length;
  logic [63:0] offset;
  logic [RW-1:0] length_rows;
  // The message in hand.
  logic [KW-1:0] skew;  // of the first byte in its row
  logic [KW:0] tail;  // bytes of the last beat
  logic [AW-1:0] row;  // the next one's address
  logic [RW-1:0] ask_left, come_left, beats_left;  // rows to ask for, rows to come, beats to send
  logic [OW-1:0] bursts;                      // without their last row
  logic cut;                                  // what was asked is cancelled
  logic primed;                               // `carry` has the next beat's first bytes
  logic beyond, refused;  // the last ask; the message in hand
  assign beyond = offset > BYTES || 64'(length) > BYTES - offset;
  assign length_rows = RW'((33'(length) + 33'(offset[KW-1:0]) + 33'(KEEP - 1)) >> KW);

  // ------------------------------------------------------------------------------------------------ bursts
  logic ar_ready, begin_burst;
  logic [LW-1:0] to_bound, rows, ar_rows;
  logic [AW-1:0] ar_row;
  assign to_bound = LW'(ROWS) - LW'(row[LW-2:0]);
  assign rows = ask_left > RW'(to_bound) ? to_bound : LW'(ask_left);
  assign begin_burst = state != FORGET && !cut && ask_left != '0 && ar_ready && bursts != OW'(OUTSTANDING) && !m_reset;
  tp_fifo #(
      .WIDTH(AW + LW),
      .DEPTH(4)
  ) i_addresses (
      .clk,
      .rst(!rst_n),
      .clear(1'b0),
      .in_valid(begin_burst),
      .in_ready(ar_ready),
      .in_data({row, rows}),
      .out_valid(core_arvalid),
      .out_ready(core_arready),
      .out_data({ar_row, ar_rows}),
      .count()
  );
  assign core_araddr = {ar_row, {KW{1'b0}}};
  assign core_arlen = 8'(ar_rows - 1'b1);
  assign core_arsize = 3'(KW);
  assign core_arburst = 2'b01;

  // ------------------------------------------------------------------------------------------------ beats
  logic [DATA_WIDTH-1:0] rotated, carry, merged;
  logic [KEEP-1:0] tail_lanes;
  logic beat_ready, put, put_last, put_empty, come, over;
  logic [1:0] worst, worst_now;
  assign rotated = DATA_WIDTH'({core_rdata, core_rdata} >> (8 * 32'(skew)));
  for (genvar b = 0; b < KEEP; b++) begin : g_lane
    assign merged[8*b+:8] = 32'(b) < KEEP - 32'(skew) && skew != '0 ? carry[8*b+:8] : rotated[8*b+:8];
    assign tail_lanes[b] = (KW + 1)'(b) < tail;
  end
  assign worst_now = come && core_rresp[1] && (worst == '0 || core_rresp[0]) ? core_rresp : worst;
  assign core_rready = state == FORGET || (state == MOVE && beat_ready);
  assign come = core_rvalid && core_rready;
  assign over = cut && bursts == '0;          // nothing more comes
  always_comb begin
    put = 1'b0;
    put_empty = 1'b0;
    case (state)
      MOVE: put = come && (primed || skew == '0);
      TAIL: put = beat_ready;
      EMPTY: begin
        put = beat_ready;
        put_empty = 1'b1;
      end
      default: ;
    endcase
    if (m_reset) put = 1'b0;
  end
  assign put_last = put_empty || beats_left == RW'(1);
  tp_skid #(
      .WIDTH(DATA_WIDTH + KEEP + 1 + 6)
  ) i_beats (
      .clk,
      .rst(!rst_n || m_reset),
      .in_valid(put),
      .in_ready(beat_ready),
      .in_data({
        state == TAIL ? carry : merged,
        put_empty ? {KEEP{1'b0}} : put_last ? tail_lanes : {KEEP{1'b1}},
        put_last,
        refused ? DECERR : 6'(worst_now)
      }),
      .out_valid(m_tvalid),
      .out_ready(m_tready),
      .out_data({m_tdata, m_tkeep, m_tlast, m_status})
  );
  assign m_length = '0;
  assign m_offset = '0;
  assign m_user = '0;

  // A cancel says nothing to a message that has ended, and as little to one of which all has been asked for. A second ask is taken as it comes.
  assign ask_ready = !m_reset && (ask_cancel || (!waits && !fresh && state != FORGET && (state == IDLE || !cut)));

  always_ff @(posedge clk) begin
    bursts <= bursts + OW'(begin_burst) - OW'(come && core_rlast);
    if (begin_burst) begin
      row <= row + AW'(rows);
      ask_left <= ask_left - RW'(rows);
    end
    if (come) begin
      carry <= rotated;
      primed <= 1'b1;
      come_left <= come_left - 1'b1;
      worst <= worst_now;
    end
    if (put && !put_empty) beats_left <= beats_left - 1'b1;

    if (fresh && ask_left == '0) begin
      fresh <= 1'b0;
      row <= AW'((BASE + offset) >> KW);
      ask_left <= beyond ? '0 : length_rows;
    end
    if (cut) ask_left <= '0;
    if (ask_valid && ask_ready) begin
      cut <= ask_cancel;
      if (!ask_cancel) begin
        length <= ask_length;
        offset <= ask_offset;
        {waits, fresh} <= 2'b11;
      end
    end

    case (state)
      IDLE: begin
        skew <= offset[KW-1:0];
        refused <= beyond;
        tail <= length[KW-1:0] == '0 ? (KW + 1)'(KEEP) : (KW + 1)'(length[KW-1:0]);
        come_left <= length_rows;
        beats_left <= RW'((33'(length) + 33'(KEEP - 1)) >> KW);
        primed <= 1'b0;
        worst <= '0;
        if (waits) begin
          waits <= 1'b0;
          state <= beyond ? EMPTY : MOVE;
        end
      end
      MOVE: begin
        if (put && put_last) state <= IDLE;
        else if (come && come_left == RW'(1)) state <= TAIL;
        else if (over) state <= EMPTY;
      end
      TAIL, EMPTY: if (put) state <= IDLE;
      default: if (bursts == '0) state <= IDLE;  // FORGET
    endcase

    if (m_reset) begin
      if (waits || state != IDLE) state <= FORGET;
      {waits, fresh} <= 2'b00;
      ask_left <= '0;
    end
    if (!rst_n) begin
      state <= IDLE;
      bursts <= '0;
      ask_left <= '0;
      {waits, fresh} <= 2'b00;
    end
  end
endmodule
