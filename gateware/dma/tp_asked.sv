// SPDX-License-Identifier: Apache-2.0
// Between an asked C2H channel's kind and its tp_c2h: shows each descriptor to the kind, and lets through the one message that answers it.
//
// tp_front tells of each descriptor that asks for something (`see_*`), in order. Its ask goes out when its first piece is known. The message that
// comes belongs to it. With AHEAD the next descriptor's ask goes out, too, and its message comes behind the first one into tp_c2h, which ends each
// in its own descriptor. If a descriptor ends before its message has (its buffer is full, a cancel, a fault), tp_c2h forgets all that it has, what
// is still to come of either message is dropped as it comes, and the kind is told by an ask with `cancel`. A descriptor behind it is asked for
// again (`rewind`), as the next ask always is, after the last beat of what is dropped.
//
// Promises: no byte of a message reaches another descriptor's buffer. An ask that is shown stands until taken. What comes without an ask is
// dropped. A descriptor never waits for the kind to end.
// With ASKED 0 the channel is a stream: beats pass, bytes wait for the next buffer.
// verilator lint_off UNUSEDSIGNAL
module tp_asked #(
    parameter bit ASKED = 1,
    parameter bit AHEAD = 0               // two asks at a time
) (
    input logic clk,
    input logic rst,
    input logic flush,

    // from tp_front: what is seen of rows, and the descriptor in hand
    input  logic        see_prefix,       // attributes, ...
    input  logic        see_ask,          // ... or a descriptor: ...
    input  logic [63:0] row_addr,         // ... offset, ...
    input  logic [31:0] row_more,         // ... user word; or the descriptor's bytes, less one
    input  logic        see_none,
    output logic        see_more,
    output logic        rewind,
    input  logic        d_valid,
    input  logic        d_asks,
    input  logic        p_valid,          // it has a piece
    input  logic        stopping,
    input  logic        finish,
    input  logic        finish_over,      // with finish: the message ended in it

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
    assign {ask_valid, ask_cancel, ask_length, ask_offset, ask_user, status, forget, rewind} = '0;
    assign see_more = 1'b0;
  end else begin : g_ask
    logic seen;                           // a descriptor that is to be asked for, ...
    logic [63:0] offset;                  // ... with these
    logic [31:0] length, user;
    logic [1:0] coming;                   // messages that the kind owes
    logic [1:0] here;                     // messages all of which is in tp_c2h
    logic stale;                          // those that come are wanted by nobody
    logic cancel;                         // the kind is to be told
    logic [5:0] behind;                   // status of the second one in tp_c2h
    logic passes, last_in, whole, out_of, unwanted, ask;
    logic [1:0] left, asked;

    assign passes = coming != '0 && !stale;
    assign out_valid = in_valid && passes;
    assign in_ready = passes ? out_ready : 1'b1;
    assign last_in = in_valid && in_ready && in_last && coming != '0;
    assign left = coming - 2'(last_in);
    assign whole = passes && last_in;
    assign asked = stale ? '0 : coming + here;
    assign out_of = finish && d_asks && finish_over;
    assign unwanted = finish && d_asks && !finish_over && asked != '0;
    // Also where nothing is asked yet: then `seen` is the descriptor that ends.
    assign rewind = finish && d_asks && !finish_over;
    assign see_more = !seen;
    assign ask = seen && d_valid && !finish && !stopping && !stale && !forget && !ask_valid && !cancel &&
        (asked == '0 ? p_valid : AHEAD && !asked[1]);

    always_ff @(posedge clk) begin
      if (see_none || rewind || ask) begin
        seen <= 1'b0;
        offset <= '0;
        user <= '0;
      end
      if (see_prefix) begin
        offset <= row_addr;
        user <= row_more;
      end
      if (see_ask) begin
        seen <= 1'b1;
        length <= row_more + 1'b1;
      end

      if (ask_valid && ask_ready) ask_valid <= 1'b0;
      if (ask) begin
        ask_valid <= 1'b1;
        ask_cancel <= 1'b0;
        ask_length <= length;
        ask_offset <= offset;
        ask_user <= user;
      end else if (cancel && !ask_valid) begin
        ask_valid <= 1'b1;
        ask_cancel <= 1'b1;
        cancel <= 1'b0;
      end

      if (here == 2'(out_of)) status <= in_status;
      else if (out_of) status <= behind;
      if (whole) behind <= in_status;
      coming <= left + 2'(ask);
      here <= here + 2'(whole) - 2'(out_of);
      if (stale && left == '0) stale <= 1'b0;
      if (unwanted) begin
        here <= '0;
        stale <= left != '0;
        cancel <= left != '0;
        forget <= 1'b1;
      end else if (!reading) begin
        forget <= 1'b0;
      end

      if (rst || flush) begin
        seen <= 1'b0;
        ask_valid <= 1'b0;
        coming <= '0;
        here <= '0;
        stale <= 1'b0;
        cancel <= 1'b0;
        forget <= 1'b0;
      end
      if (rst) begin
        offset <= '0;
        user <= '0;
      end
      if (!rst && !flush) begin
        assert (!(in_valid && coming == '0))
        else $error("%m: the kind sends what it was not asked for; it is dropped");
        assert (!out_of || here != '0)
        else $error("%m: a message ended that nobody asked for");
      end
    end
  end
endmodule
