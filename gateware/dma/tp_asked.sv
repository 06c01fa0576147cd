// SPDX-License-Identifier: Apache-2.0
// Between an asked C2H channel's kind and its tp_c2h: shows each descriptor to the kind, and lets through the one message that answers it.
//
// An ask goes out when the descriptor's first piece is known. The message that comes belongs to it. If the descriptor ends before the message
// has (its buffer is full, a cancel, a fault), tp_c2h forgets what it has of the message, the rest is dropped as it comes, and the kind
// is told by an ask with `cancel`. The next ask waits for the message's last beat.
//
// Promises: no byte of a message reaches another descriptor's buffer. An ask that is shown stands until taken. What comes without an ask is
// dropped. A descriptor never waits for the kind to end.
// With ASKED 0 the channel is a stream: beats pass, bytes wait for the next buffer.
// verilator lint_off UNUSEDSIGNAL
module tp_asked #(
    parameter bit ASKED = 1
) (
    input logic clk,
    input logic rst,
    input logic flush,

    // the descriptor in hand, from tp_front
    input logic        row_valid,         // it comes in this cycle, ...
    input logic [31:0] row_more,          // ... of so many bytes, less one
    input logic        d_valid,
    input logic [63:0] d_offset,
    input logic [31:0] d_user,
    input logic        p_valid,           // it has a piece
    input logic        stopping,
    input logic        finish,
    input logic        finish_over,       // with finish: the message ended in it

    output logic        ask_valid,
    input  logic        ask_ready,
    output logic        ask_cancel,
    output logic [31:0] ask_length,
    output logic [63:0] ask_offset,
    output logic [31:0] ask_user,

    input  logic       in_valid,
    output logic       in_ready,
    input  logic       in_last,
    input  logic [5:0] in_status,         // with in_last
    output logic       out_valid,
    input  logic       out_ready,
    output logic [5:0] status,            // of the message that ends in tp_c2h

    output logic forget,                  // tp_c2h: drop what you have, as soon as nothing of it is being read
    input  logic reading                  // ... or its blocks are not all given back
);
  if (!ASKED) begin : g_pass
    assign out_valid = in_valid;
    assign in_ready = out_ready;
    assign {ask_valid, ask_cancel, ask_length, ask_offset, ask_user, status, forget} = '0;
  end else begin : g_ask
    logic asked;    // the descriptor in hand was
    logic owed;     // the kind owes a message, ...
    logic arrived;  // ... all of which is in tp_c2h
    logic stale;    // ... which nobody wants
    logic cancel;   // the kind is to be told
    logic passes, last_in, whole, unwanted, ask;
    logic [31:0] more;

    assign passes = owed && !stale && !arrived;
    assign out_valid = in_valid && passes;
    assign in_ready = passes ? out_ready : !arrived;
    assign last_in = in_valid && in_ready && in_last;
    assign whole = arrived || (passes && last_in);
    assign unwanted = finish && asked && !finish_over;
    assign ask = d_valid && p_valid && !finish && !asked && !stopping && !owed && !forget && !ask_valid && !cancel;

    always_ff @(posedge clk) begin
      if (row_valid) more <= row_more;
      if (ask_valid && ask_ready) ask_valid <= 1'b0;
      if (ask) begin
        ask_valid <= 1'b1;
        ask_cancel <= 1'b0;
        ask_length <= more + 1'b1;
        ask_offset <= d_offset;
        ask_user <= d_user;
      end else if (cancel && !ask_valid) begin
        ask_valid <= 1'b1;
        ask_cancel <= 1'b1;
        cancel <= 1'b0;
      end

      if (passes && last_in) begin
        arrived <= 1'b1;
        status <= in_status;
      end
      if (stale && last_in) begin
        stale <= 1'b0;
        owed <= 1'b0;
      end
      if (finish && asked && whole) begin
        owed <= 1'b0;
        arrived <= 1'b0;
      end
      if (unwanted && !whole) begin
        stale <= 1'b1;
        cancel <= 1'b1;
      end
      if (ask) begin
        owed <= 1'b1;
        asked <= 1'b1;
      end
      if (finish) asked <= 1'b0;
      if (unwanted) forget <= 1'b1;
      else if (!reading) forget <= 1'b0;

      if (rst || flush) begin
        ask_valid <= 1'b0;
        asked <= 1'b0;
        owed <= 1'b0;
        arrived <= 1'b0;
        stale <= 1'b0;
        cancel <= 1'b0;
        forget <= 1'b0;
      end else begin
        assert (!(in_valid && !owed))
        else $error("%m: the kind sends what it was not asked for; it is dropped");
        assert (!(finish && finish_over) || (asked && arrived))
        else $error("%m: a message ended that nobody asked for");
      end
    end
  end
endmodule
