// SPDX-License-Identifier: Apache-2.0
// Holds the ends of an H2C channel's descriptors until the channel's kind has given its verdict on their messages.
//
// A descriptor that ended a message without a fault `owes` a verdict; others pass. Ends leave in order. A kind gives one verdict for each
// message that reached it whole, in order.
// Descriptors that a cancel or a reset ends wait for no verdict: those committed before it are told at once, and their verdicts are dropped
// when they come.
//
// Promises: nothing is told twice or out of order; a verdict is never taken for another message's; a cancel never waits for the kind.
// With VERDICTS 0, of a channel whose kind gives none, ends pass as they come.
// verilator lint_off UNUSEDSIGNAL
module tp_verdicts
  import towpath_pkg::*;
#(
    parameter bit VERDICTS = 1,
    parameter int QUEUE_DEPTH = 16,       // descriptors posted and not completed, a power of two
    localparam int AW = $clog2(QUEUE_DEPTH)
) (
    input logic clk,
    input logic rst,
    input logic flush,                    // the kind is being reset; only while nothing is held
    input logic cancelling,               // until every descriptor committed before the cancel has ended in the front
    input logic resetting,
    input logic finish,                   // a descriptor has ended in the front: it comes to `in` in its turn

    input  logic        in_valid,
    output logic        in_ready,
    input  logic [31:0] in_bytes,
    input  logic [15:0] in_cookie,
    input  logic [ 7:0] in_status,
    input  logic        in_owes,

    input  logic       end_valid,
    output logic       end_ready,
    input  logic [5:0] end_status,        // 0: done

    output logic        out_valid,        // may be withdrawn
    input  logic        out_ready,
    output logic [31:0] out_bytes,
    output logic [15:0] out_cookie,
    output logic [ 7:0] out_status,
    output logic        empty
);
  if (!VERDICTS) begin : g_pass
    assign out_valid = in_valid;
    assign in_ready = out_ready;
    assign out_bytes = in_bytes;
    assign out_cookie = in_cookie;
    assign out_status = in_status;
    assign end_ready = 1'b0;
    assign empty = 1'b1;
  end else begin : g_hold
    // A verdict that is owed for a descriptor told without it. As many messages as the stream and the kind can hold may come to that.
    localparam int DEBT = 12;

    logic head_valid, head_owes, pop, paused, verdict, forgiven;
    logic [7:0] head_status;
    tp_fifo #(
        .WIDTH(32 + 16 + 8 + 1),
        .DEPTH(QUEUE_DEPTH)
    ) i_held (
        .clk,
        .rst,
        .clear(1'b0),
        .in_valid,
        .in_ready,
        .in_data({in_bytes, in_cookie, in_status, in_owes}),
        .out_valid(head_valid),
        .out_ready(pop),
        .out_data({out_bytes, out_cookie, head_status, head_owes}),
        .count()
    );

    // What was committed before a cancel, counted by ends: `mark` is the first that was not.
    logic [AW:0] ended, told, mark;
    logic marked, hurried;
    assign hurried = resetting || cancelling || (marked && told != mark);

    logic [DEBT-1:0] debt;
    assign verdict = end_valid && debt == '0;
    assign forgiven = pop && head_owes && !verdict;
    assign end_ready = debt != '0 || (pop && head_owes);
    assign out_valid = head_valid && !paused && (!head_owes || verdict || hurried);
    assign pop = out_valid && out_ready;
    assign empty = !head_valid;
    always_comb begin
      out_status = head_status;
      if (head_owes) begin
        if (!verdict) out_status = resetting ? TP_STATUS_RESET : TP_STATUS_CANCELLED;
        else if (end_status != '0) out_status = TP_STATUS_KIND_STATUS | 8'(end_status);
      end
    end

    always_ff @(posedge clk) begin
      paused <= pop;  // the front counts one completion in two cycles
      ended <= ended + (AW + 1)'(finish);
      told <= told + (AW + 1)'(pop);
      if (cancelling) begin
        mark <= ended;
        marked <= 1'b1;
      end else if (told == mark) begin
        marked <= 1'b0;
      end
      debt <= debt + DEBT'(forgiven) - DEBT'(end_valid && debt != '0);
      if (rst || flush) begin
        marked <= 1'b0;
        debt <= '0;
      end
      if (rst) begin
        paused <= 1'b0;
        ended <= '0;
        told <= '0;
      end else begin
        assert (!(flush && head_valid))
        else $error("%m: a flush while ends are held");
        assert (!(forgiven && (&debt)))
        else $error("%m: more messages without a verdict than can be counted");
      end
    end
  end
endmodule
