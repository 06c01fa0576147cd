// SPDX-License-Identifier: Apache-2.0
// The H2C half of kind `memory`: turns messages into AXI4 writes, and gives a message's verdict when all of it has been answered.
//
// A message has its first byte's address as offset, and its length. It becomes bursts that end at multiples of BOUND bytes, so none crosses
// 4 KiB; its bytes are turned to their lanes (`rotated`), and what falls off the top of a row goes with the next one (`carry`).
// A burst's address is queued when its first row leaves. Each burst and each message's end has a token in one queue: answers are counted
// against it, in order.
//
// Verdicts: 0 done; 1 the message had no length, or rows more or less than it; 2 SLVERR, 3 DECERR, the worst of its bursts; 3, too, if it goes beyond BYTES,
// and then nothing of it is written. A message that was cut short by a fault has none.
// A reset forgets all messages. A burst that has begun goes on with rows without bytes, and its answer is awaited, before another message starts.
//
// Promises: AXI4's rules for a master; a verdict comes after all answers of its message; at most 32 bursts are without an answer.
// All bursts have one ID, so the core answers them in order.
// The lower half of an address's row is nobody's.
// verilator lint_off UNUSEDSIGNAL
module tp_memory_write #(
    parameter int DATA_WIDTH = 128,
    parameter int ADDRESS_WIDTH = 32,
    parameter logic [63:0] BYTES = 64'h100000,  // of the memory, a multiple of 4096
    parameter logic [63:0] BASE = 64'h0,        // the core's address of the first byte, a multiple of 4096
    localparam int KEEP = DATA_WIDTH / 8
) (
    input logic clk,
    input logic rst_n,

    input  logic                  s_tvalid,
    output logic                  s_tready,
    input  logic [DATA_WIDTH-1:0] s_tdata,
    input  logic [      KEEP-1:0] s_tkeep,
    input  logic                  s_tlast,
    input  logic                  s_error,
    input  logic [          63:0] s_length,
    input  logic [          63:0] s_offset,
    input  logic [          31:0] s_user,
    input  logic                  s_reset,
    output logic                  end_valid,
    input  logic                  end_ready,
    output logic [           5:0] end_status,

    output logic [ADDRESS_WIDTH-1:0] core_awaddr,
    output logic [              7:0] core_awlen,
    output logic [              2:0] core_awsize,
    output logic [              1:0] core_awburst,
    output logic                     core_awvalid,
    input  logic                     core_awready,
    output logic [   DATA_WIDTH-1:0] core_wdata,
    output logic [         KEEP-1:0] core_wstrb,
    output logic                     core_wlast,
    output logic                     core_wvalid,
    input  logic                     core_wready,
    input  logic [              1:0] core_bresp,
    input  logic                     core_bvalid,
    output logic                     core_bready
);
  localparam int KW = $clog2(KEEP);
  localparam int BOUND = 256 * KEEP < 4096 ? 256 * KEEP : 4096;
  localparam int ROWS = BOUND / KEEP;  // of the longest burst
  localparam int LW = $clog2(ROWS) + 1;  // of a count of them
  localparam int AW = ADDRESS_WIDTH - KW;  // of a row's address
  localparam logic [5:0] WRONG_LENGTH = 6'd1, DECERR = 6'd3;
  localparam int OUTSTANDING = 32;

  if (ADDRESS_WIDTH <= 12 || ADDRESS_WIDTH > 64) $error("%m: ADDRESS_WIDTH %0d: make it 13 to 64", ADDRESS_WIDTH);
  if (BYTES == '0 || BYTES % 4096 != 0 || BASE % 4096 != 0) $error("%m: BYTES and BASE: make them multiples of 4096");

  // ------------------------------------------------------------------------------------------------ the message in hand
  typedef enum logic [2:0] {
    IDLE,
    START,
    MOVE,
    TAIL,                                     // one more row, of what fell off the last
    PAD,                                      // the message is shorter than said: rows without bytes, to the burst's end
    DROP,                                     // it is not written
    FINISH
  } state_e;
  state_e state;
  logic forgetting;                           // after a reset, until all that was begun is over
  logic [63:0] length, offset, beyond;
  logic empty, refused;
  logic [KW-1:0] skew;                        // of the first byte in its row
  logic [AW-1:0] row;                         // the next one's address
  logic [AW:0] left, first_left;  // rows that the message still has
  logic [LW-1:0] burst_left;                  // ... and the burst
  logic [5:0] own;                            // verdict, as far as it is known without answers
  logic judged;                               // there is one
  assign beyond = BYTES - offset;
  assign refused = offset > BYTES || length > beyond;
  assign first_left = (AW + 1)'((length + 64'(skew) + 64'(KEEP - 1)) >> KW);

  // ------------------------------------------------------------------------------------------------ rows
  logic [DATA_WIDTH-1:0] rotated, carry, merged;
  logic [2*KEEP-1:0] lanes;  // bytes of this row; of the next one
  logic [KEEP-1:0] carry_lanes, strobes;
  assign rotated = DATA_WIDTH'({s_tdata, s_tdata} >> (8 * (KEEP - 32'(skew))));
  assign lanes = {{KEEP{1'b0}}, s_tkeep} << skew;
  assign strobes = lanes[KEEP-1:0] | carry_lanes;
  for (genvar b = 0; b < KEEP; b++) begin : g_lane
    assign merged[8*b+:8] = carry_lanes[b] ? carry[8*b+:8] : rotated[8*b+:8];
  end

  logic row_ready, aw_ready, token_ready, begin_burst, may_go, may_row, put, bytes, ends_burst;
  assign ends_burst = burst_left == LW'(1);
  // The next burst is made known with the last row of the one before, so that there is no gap.
  assign may_go = !ends_burst || left == (AW + 1)'(1) || (aw_ready && token_ready) || state == PAD;
  assign may_row = burst_left != '0 && row_ready && may_go;
  assign bytes = s_tkeep[0] || carry_lanes[0];  // a row begins with one, or at `skew`
  always_comb begin
    s_tready = 1'b0;
    put = 1'b0;
    case (state)
      MOVE: begin
        s_tready = left == '0 || !bytes || may_row;
        put = s_tvalid && left != '0 && bytes && may_row;
      end
      TAIL, PAD: put = left != '0 && may_row;
      DROP: s_tready = 1'b1;
      default: ;
    endcase
    if (s_reset || forgetting) s_tready = 1'b0;
    if (state == MOVE && (s_reset || forgetting)) put = 1'b0;
  end
  // The first burst is queued alone, the others each with the last row of the one before.
  logic first_burst, next_burst;
  logic [LW-1:0] to_bound, first_rows, next_rows;
  logic queue_first;
  assign to_bound = LW'(ROWS) - LW'(row[LW-2:0]);
  assign first_rows = left > (AW + 1)'(to_bound) ? to_bound : LW'(left);
  assign next_rows = left > (AW + 1)'(ROWS) ? LW'(ROWS) : LW'(left - 1'b1);
  assign first_burst = queue_first && aw_ready && token_ready;
  assign next_burst = put && ends_burst && left != (AW + 1)'(1) && state != PAD;
  assign begin_burst = first_burst || next_burst;

  logic token_valid, token_take, is_end, end_judged;
  logic [5:0] end_own;
  logic [LW-1:0] aw_rows;
  logic [AW-1:0] aw_row;
  tp_fifo #(
      .WIDTH(AW + LW),
      .DEPTH(4)
  ) i_addresses (
      .clk,
      .rst(!rst_n),
      .clear(1'b0),
      .in_valid(begin_burst),
      .in_ready(aw_ready),
      .in_data(first_burst ? {row, first_rows} : {row + 1'b1, next_rows}),
      .out_valid(core_awvalid),
      .out_ready(core_awready),
      .out_data({aw_row, aw_rows}),
      .count()
  );
  assign core_awaddr = {aw_row, {KW{1'b0}}};
  assign core_awlen = 8'(aw_rows - 1'b1);
  assign core_awsize = 3'(KW);
  assign core_awburst = 2'b01;

  tp_skid #(
      .WIDTH(DATA_WIDTH + KEEP + 1)
  ) i_rows (
      .clk,
      .rst(!rst_n),
      .in_valid(put),
      .in_ready(row_ready),
      .in_data({
        state == MOVE ? merged : carry, state == MOVE ? strobes : state == TAIL ? carry_lanes : {KEEP{1'b0}}, ends_burst
      }),
      .out_valid(core_wvalid),
      .out_ready(core_wready),
      .out_data({core_wdata, core_wstrb, core_wlast})
  );

  // ------------------------------------------------------------------------------------------------ tokens
  logic put_end;
  assign put_end = state == FINISH && token_ready && !forgetting && !s_reset;
  tp_fifo #(
      .WIDTH(8),
      .DEPTH(OUTSTANDING)
  ) i_tokens (
      .clk,
      .rst(!rst_n),
      .clear(1'b0),
      .in_valid(begin_burst || put_end),
      .in_ready(token_ready),
      .in_data({put_end, judged, own}),
      .out_valid(token_valid),
      .out_ready(token_take),
      .out_data({is_end, end_judged, end_own}),
      .count()
  );
  logic [1:0] worst;
  assign core_bready = token_valid && !is_end;
  assign end_valid = token_valid && is_end && end_judged && !forgetting && !s_reset;
  assign end_status = end_own != '0 ? end_own : 6'(worst);
  assign token_take = is_end ? (!end_judged || forgetting || (end_valid && end_ready)) : core_bvalid;

  always_ff @(posedge clk) begin
    if (token_valid && token_take) begin
      if (is_end) worst <= '0;
      else if (core_bresp[1] && (worst == '0 || core_bresp[0])) worst <= core_bresp;
    end

    // ---- rows
    if (put) begin
      row <= row + 1'b1;
      left <= left - 1'b1;
      burst_left <= next_burst ? next_rows : burst_left - 1'b1;
    end
    if (first_burst) begin
      burst_left <= first_rows;
      queue_first <= 1'b0;
    end
    if (s_tvalid && s_tready && state == MOVE) begin
      carry <= rotated;
      carry_lanes <= lanes[2*KEEP-1:KEEP];
    end

    // ---- messages
    case (state)
      IDLE: begin
        length <= s_length;
        offset <= s_offset;
        empty <= s_tlast && !s_tkeep[0];
        skew <= s_offset[KW-1:0];
        carry_lanes <= '0;
        own <= '0;
        judged <= 1'b1;
        if (s_tvalid && !forgetting && !s_reset) state <= START;
      end
      START: begin
        row <= AW'((BASE + offset) >> KW);
        left <= first_left;
        burst_left <= '0;
        if (length == '0 || refused) begin
          own <= refused ? DECERR : empty ? 6'd0 : WRONG_LENGTH;
          state <= DROP;
        end else begin
          queue_first <= 1'b1;
          state <= MOVE;
        end
      end
      MOVE:
      if (s_tvalid && s_tready) begin
        if (left == '0 && bytes) own <= WRONG_LENGTH;
        if (s_tlast) begin
          judged <= !s_error;
          state <= PAD;
          if (lanes[KEEP]) begin
            if (put && left != (AW + 1)'(1)) state <= TAIL;
            else own <= WRONG_LENGTH;
          end
        end
      end
      TAIL: if (put) state <= PAD;
      PAD: begin  // its rows are written, or the burst in hand is filled up
        if (left != '0) own <= WRONG_LENGTH;
        if (burst_left == '0 && !queue_first) state <= FINISH;
      end
      DROP:
      if (s_tvalid && s_tready && s_tlast) begin
        judged <= !s_error;
        state <= FINISH;
      end
      default: if (token_ready) state <= IDLE;  // FINISH
    endcase

    // A reset: what has begun on the bus is brought to its end.
    if (s_reset) forgetting <= 1'b1;
    else if (state == IDLE && !token_valid) forgetting <= 1'b0;
    if (forgetting && !token_valid) worst <= '0;
    if (s_reset || forgetting) begin
      case (state)
        MOVE, TAIL: state <= PAD;
        PAD, IDLE: ;
        default: begin
          queue_first <= 1'b0;  // of START
          state <= IDLE;
        end
      endcase
    end
    if (!rst_n) begin
      state <= IDLE;
      forgetting <= 1'b0;
      queue_first <= 1'b0;
      worst <= '0;
    end
  end
endmodule
