// SPDX-License-Identifier: Apache-2.0
// Reads of the memory windows (BAR 4), one at a time: each is asked of the memory in pieces within blocks of 128 bytes, and each piece is
// answered with one completion, for that is where a device may cut its answers (Base Specification 2.3.1.1).
//
// A piece is asked for (`ask_`) when there is room for its rows; the first one of a read carries `taken`, the number of writes that are to be done
// before it. Rows come back in order; one with `answer_error` reads as all ones, and `failed` pulses. While the windows are `off`, or `closed`,
// what is left of a read is answered with all ones, and rows are dropped.
// As for registers, a message that had been chosen before the read leaves first (`barrier`, `waits`: see tp_answer).
module tp_memory_reads
  import towpath_pkg::*;
  import tp_tlp_pkg::*;
#(
    parameter int DATA_WIDTH = 128
) (
    input  logic                             clk,
    input  logic                             rst,
    input  logic                             closed,
    input  logic                             off,
    input  logic                             barrier,
    output logic                             waits,
    output logic                             stuck,           // an answer is due and does not come
    output logic                             failed,
    input  logic            [          15:0] taken,
    input  logic                             read_valid,      // stands until read_ready
    output logic                             read_ready,
    // verilator lint_off UNUSEDSIGNAL
    input  tp_request_hdr_t                  read_hdr,        // BAR: it is known
    // verilator lint_on UNUSEDSIGNAL
    output logic                             ask_valid,
    input  logic                             ask_ready,
    output logic            [          35:0] ask_address,     // of the first row
    output logic            [           4:0] ask_rows,
    output logic                             ask_after,       // `ask_taken` writes are to be done before
    output logic            [          15:0] ask_taken,
    input  logic                             answer_valid,    // always taken
    input  logic            [DATA_WIDTH-1:0] answer_data,
    input  logic                             answer_error,
    output logic                             sending,         // the stream of answers is this module's
    output logic                             tx_answer_valid,
    input  logic                             tx_answer_ready,
    output tp_answer_hdr_t                   tx_answer_hdr,
    output logic            [DATA_WIDTH-1:0] tx_answer_data,
    output logic                             tx_answer_last
);
  localparam int LANES = DATA_WIDTH / 32;
  localparam int LW = $clog2(LANES);
  localparam int BLOCK = 32;  // dwords
  localparam int PIECES = 4;  // asked for ahead
  localparam int DEPTH = PIECES * BLOCK / LANES;

  // A piece: from `at` to the end of its block, or of the read.
  function automatic logic [5:0] piece(input logic [4:0] at, input logic [10:0] left);
    logic [5:0] most;
    most = 6'(BLOCK) - 6'(at);
    return left > 11'(most) ? most : 6'(left);
  endfunction
  function automatic logic [4:0] rows_of(input logic [LW-1:0] lane, input logic [5:0] dwords);
    return 5'((7'(lane) + 7'(dwords) + 7'(LANES - 1)) >> LW);
  endfunction

  typedef enum logic [1:0] {
    IDLE,
    START,                                    // of a piece's answer
    SEND
  } state_e;
  state_e state;
  logic given_up;                             // the rest is all ones
  logic first;                                // piece
  logic [2:0] out;                            // pieces that have been asked for and whose answers have not been sent

  // ------------------------------------------------------------------------------------------------ the request
  // verilator lint_off UNUSEDSIGNAL
  logic [3:0] first_be, end_be;  // end_be[0] is implied by the others
  // verilator lint_on UNUSEDSIGNAL
  logic [1:0] lead, trail;  // bytes not enabled before the first and behind the last
  assign first_be = read_hdr.first_be;
  assign end_be = read_hdr.dwords == 1 ? read_hdr.first_be : read_hdr.last_be;
  assign lead = first_be[0] || first_be == '0 ? 2'd0 : first_be[1] ? 2'd1 : first_be[2] ? 2'd2 : 2'd3;
  assign trail = end_be[3] ? 2'd0 : end_be[2] ? 2'd1 : end_be[1] ? 2'd2 : 2'd3;
  assign waits = state == IDLE && read_valid;
  assign sending = state != IDLE;

  // ------------------------------------------------------------------------------------------------ asking
  logic [35:2] ask_at;
  logic [10:0] ask_left;
  logic [5:0] asked;
  logic sent;                                 // a piece's last beat goes
  assign asked = piece(ask_at[6:2], ask_left);
  assign ask_valid = sending && !given_up && ask_left != '0 && out != 3'(PIECES);
  assign ask_address = {ask_at[35:2+LW], (2 + LW)'(0)};
  assign ask_rows = rows_of(ask_at[2+:LW], asked);

  // ------------------------------------------------------------------------------------------------ rows that have come
  logic have, row_error, row_take;
  logic give_up;  // but a beat that is shown stays as it is
  logic [DATA_WIDTH-1:0] came, row;
  tp_fifo #(
      .WIDTH(DATA_WIDTH + 1),
      .DEPTH(DEPTH)
  ) rows (
      .clk,
      .rst,
      .clear(give_up),
      .in_valid(answer_valid),
      .in_ready(),
      .in_data({answer_error, answer_data}),
      .out_valid(have),
      .out_ready(row_take),
      .out_data({row_error, came}),
      .count()
  );
  assign row = given_up || row_error ? '1 : came;
  assign give_up = (off || closed) && !(tx_answer_valid && !tx_answer_ready);

  // ------------------------------------------------------------------------------------------------ answering
  logic [4:0] at;                             // in its block
  logic [10:0] left;
  logic [5:0] dwords, beats_left;
  logic [4:0] rows_left;
  logic [LW-1:0] skew;
  logic [DATA_WIDTH-1:0] rotated, carry;
  logic primed, row_there, beat;
  assign dwords = piece(at, left);
  assign skew = at[LW-1:0];
  assign rotated = DATA_WIDTH'({row, row} >> (32 * 32'(skew)));
  assign row_there = have || given_up;
  assign beat = state == SEND && (rows_left == '0 || (row_there && (primed || skew == '0)));
  assign tx_answer_valid = beat;
  assign tx_answer_last = beats_left == 6'd1;
  for (genvar l = 0; l < LANES; l++) begin : g_lane
    assign tx_answer_data[32*l+:32] = skew != '0 && l < LANES - 32'(skew) ? carry[32*l+:32] : rotated[32*l+:32];
  end
  assign row_take = state == SEND && rows_left != '0 && row_there && (!beat || tx_answer_ready);
  assign sent = beat && tx_answer_ready && tx_answer_last;
  assign read_ready = sent && left == 11'(dwords);
  assign stuck = (ask_valid && !ask_ready) || (state == SEND && rows_left != '0 && !row_there);

  always_ff @(posedge clk) begin
    failed <= row_take && have && row_error && !given_up && !rst;
    if (give_up) given_up <= 1'b1;
    if (ask_valid && ask_ready) begin
      ask_at <= ask_at + 34'(asked);
      ask_left <= ask_left - 11'(asked);
      ask_after <= 1'b0;
    end
    out <= out + 3'(ask_valid && ask_ready) - 3'(sent && !given_up);
    if (row_take) begin
      carry <= rotated;
      primed <= 1'b1;
      rows_left <= rows_left - 1'b1;
    end
    if (beat && tx_answer_ready) beats_left <= beats_left - 1'b1;

    case (state)
      IDLE: begin
        given_up <= off || closed;
        first <= 1'b1;
        out <= '0;
        ask_at <= read_hdr.offset[35:2];
        ask_left <= read_hdr.dwords;
        ask_after <= 1'b1;
        ask_taken <= taken;
        at <= read_hdr.offset[6:2];
        left <= read_hdr.dwords;
        if (read_valid && !barrier) state <= START;
      end
      START: begin
        tx_answer_hdr <= '{
            requester: read_hdr.requester,
            tag: read_hdr.tag,
            tc: read_hdr.tc,
            attr: read_hdr.attr,
            lower_addr: {at, first ? lead : 2'd0},
            byte_count: {left, 2'b00} - 13'(3'(first ? lead : 2'd0) + 3'(trail)),
            dwords: 11'(dwords),
            status: CPL_OK
        };
        rows_left <= rows_of(skew, dwords);
        beats_left <= (dwords + 6'(LANES - 1)) >> LW;
        primed <= 1'b0;
        state <= SEND;
      end
      default:
      if (sent) begin
        at <= '0;
        left <= left - 11'(dwords);
        first <= 1'b0;
        state <= read_ready ? IDLE : START;
      end
    endcase
    if (rst) state <= IDLE;
  end
endmodule
