// SPDX-License-Identifier: Apache-2.0
// One channel's descriptors: queues what the host pushes and turns each descriptor into contiguous pieces for the engine behind it.
//
// The engine sees one descriptor at a time (`d_*`): a piece of it (`p_*`), of which it takes bytes, until `d_over`; when it has
// noted the descriptor's end it gives `finish`. `d_status` is then what the descriptor ends with, as far as the front knows.
//
// Promises: descriptors come out in the order pushed, each once. With QUEUE_DEPTH of them pushed and not completed, another is dropped,
// counted and sets `error`. After `cancel` every descriptor pushed before it is `d_over`, and only those. `d_over` waits until no
// list fetch is under way.
module tp_front
  import towpath_pkg::*;
#(
    parameter int QUEUE_DEPTH = 16,       // a power of two
    parameter int INLINE_SLOTS = 4,       // 0: inline descriptors are malformed
    localparam int AW = $clog2(QUEUE_DEPTH)
) (
    input logic clk,
    input logic rst,

    input  logic         push_valid,
    input  logic         push_torn,
    input  logic [127:0] push_descriptor,
    input  logic         cancel,
    input  logic         enabled,
    input  logic         resetting,       // a cancel of everything, with its own status
    input  logic         barred,          // no request may leave the card: what is not asked for or sent ends with its own status
    input  logic [ 7:0]  barred_status,
    input  logic         flush,           // clear the error and the count
    input  logic         completed,       // a descriptor's completion has been handed on
    output logic         error,
    output logic         error_pulse,
    output logic [15:0]  overflows,
    output logic         idle,            // nothing queued, nothing pushed that is not completed

    output logic         fetch_valid,
    input  logic         fetch_grant,
    output logic [63:0]  fetch_addr,
    output logic [ 6:0]  fetch_bytes,
    input  logic         entry_valid,
    input  logic [127:0] entry,
    input  logic         entry_last,
    input  logic         fail_valid,
    input  logic [ 7:0]  fail_status,

    output logic        d_valid,
    output logic [15:0] d_cookie,
    output logic        d_end,
    output logic        d_inline,
    output logic        d_over,
    output logic        d_complete,       // all of its bytes were taken
    output logic        d_broken,         // its table could not be read, or no request may leave: what was taken is not all
    output logic [ 7:0] d_status,
    output logic [31:0] d_bytes,          // not yet taken
    output logic [63:0] d_length,         // the message's attributes, from prefixes
    output logic [63:0] d_offset,
    output logic [31:0] d_user,
    output logic        p_valid,          // p_bytes is not 0
    output logic [63:0] p_addr,
    output logic [31:0] p_bytes,
    input  logic        take,
    input  logic [12:0] take_bytes,
    input  logic        abandon,          // the engine wants no more of it
    input  logic        finish,
    output logic        stopping,         // start nothing new
    output logic [ 7:0] stop_status       // why
);
  if (QUEUE_DEPTH < 2 || (QUEUE_DEPTH & (QUEUE_DEPTH - 1)) != 0)
    $error("%m: QUEUE_DEPTH %0d: make it a power of two, 2 or more", QUEUE_DEPTH);

  // ------------------------------------------------------------------------------------------------ queue
  logic [128:0] queue[QUEUE_DEPTH];
  logic [AW:0] wr, rd, mark, outstanding;
  logic accept, pop, pop_prefix;
  logic cancelling;
  logic barring;                          // lasts until the descriptor in hand has ended
  logic [7:0] bar_status;

  assign accept = push_valid && enabled && !error && outstanding != (AW + 1)'(QUEUE_DEPTH);
  assign stopping = cancelling || resetting || barring;
  assign stop_status = resetting ? TP_STATUS_RESET : cancelling ? TP_STATUS_CANCELLED : bar_status;
  assign error_pulse = push_valid && !accept;

  always_ff @(posedge clk) if (accept) queue[wr[AW-1:0]] <= {push_torn, push_descriptor};

  logic head_torn;
  tp_descriptor_t head;
  logic [3:0] head_kind;
  logic head_prefix, head_bad;
  assign {head_torn, head} = queue[rd[AW-1:0]];
  assign head_kind = head.control.kind;
  assign head_prefix = !head_torn && (head_kind == TP_KIND_ATTRIBUTES || head_kind == TP_KIND_MESSAGE_LENGTH);

  localparam int SLOT_SHIFT = $clog2(TP_INLINE_SLOT_BYTES);
  localparam int SLOTS_END = INLINE_SLOTS * TP_INLINE_SLOT_BYTES;
  localparam int LAST_SLOT = INLINE_SLOTS == 0 ? 0 : SLOTS_END - TP_INLINE_SLOT_BYTES;
  always_comb begin
    case (head_kind)
      TP_KIND_DIRECT, TP_KIND_LIST: head_bad = 1'b0;
      TP_KIND_INLINE:
        head_bad = INLINE_SLOTS == 0 || head.length > 32'(TP_INLINE_SLOT_BYTES) || head.address[SLOT_SHIFT-1:0] != '0 ||
                   head.address > 64'(LAST_SLOT);
      default: head_bad = 1'b1;
    endcase
  end

  assign pop = !d_valid && rd != wr && !(cancelling && rd == mark);
  assign pop_prefix = pop && head_prefix;
  assign idle = rd == wr && !d_valid && outstanding == '0;

  always_ff @(posedge clk) begin
    if (accept) wr <= wr + 1'b1;
    if (pop) rd <= rd + 1'b1;
    outstanding <= outstanding + (AW + 1)'(accept) - (AW + 1)'(completed) - (AW + 1)'(pop_prefix);
    if (cancel) begin
      cancelling <= 1'b1;
      mark <= wr;
    end else if (!d_valid && rd == mark) begin
      cancelling <= 1'b0;
    end
    if (barred && !barring) bar_status <= barred_status;
    barring <= barred || (barring && d_valid);
    if (error_pulse) begin
      error <= 1'b1;
      if (overflows != '1) overflows <= overflows + 1'b1;
    end
    if (rst || flush) begin
      error <= 1'b0;
      overflows <= '0;
    end
    if (rst) begin
      wr <= '0;
      rd <= '0;
      outstanding <= '0;
      cancelling <= 1'b0;
      barring <= 1'b0;
    end
  end

  // ------------------------------------------------------------------------------------------------ the descriptor in hand
  logic is_list, list_over, list_quiet, piece_valid, piece_ready;
  logic [63:0] piece_addr;
  logic [31:0] piece_bytes;
  logic [7:0] list_status, own_status;  // 0: none yet

  tp_list i_list (
      .clk,
      .rst,
      .start(pop && !head_torn && head_kind == TP_KIND_LIST && !stopping),
      .start_addr(head.address),
      .stop(stopping || abandon || own_status != 0 || d_bytes == '0),
      .finish(finish && is_list),
      .fetch_valid,
      .fetch_grant,
      .fetch_addr,
      .fetch_bytes,
      .entry_valid,
      .entry,
      .entry_last,
      .fail_valid,
      .fail_status,
      .piece_valid,
      .piece_ready,
      .piece_addr,
      .piece_bytes,
      .over(list_over),
      .status(list_status),
      .quiet(list_quiet)
  );

  assign p_valid = d_valid && p_bytes != '0;
  assign piece_ready = is_list && p_bytes == '0 && d_bytes != '0;
  assign d_complete = own_status == 0 && d_bytes == '0;
  // The table ends, or broke, before the descriptor does; or no request may leave. What that means stands in registers one cycle later, and
  // nobody may go on before.
  logic short_list, barred_now;
  assign short_list = d_valid && is_list && list_over && p_bytes == '0 && d_bytes != '0 && own_status == 0;
  assign barred_now = d_valid && barring && !cancelling && !resetting && d_bytes != '0 && own_status == 0;
  assign d_over = d_valid && list_quiet && !short_list && !barred_now && (stopping || abandon || own_status != 0 || d_bytes == '0);
  always_comb begin
    if (own_status != 0) d_status = own_status;
    else if (d_bytes == '0) d_status = TP_STATUS_DONE;
    else d_status = stop_status;
  end

  always_ff @(posedge clk) begin
    if (take) begin
      p_addr <= p_addr + 64'(take_bytes);
      p_bytes <= p_bytes - 32'(take_bytes);
      d_bytes <= d_bytes - 32'(take_bytes);
    end
    if (piece_valid && piece_ready) begin
      p_addr <= piece_addr;
      p_bytes <= piece_bytes < d_bytes ? piece_bytes : d_bytes;
    end
    if (short_list) begin
      own_status <= list_status != 0 ? list_status : TP_STATUS_MALFORMED;
      d_broken <= list_status != 0;
    end

    if (barred_now && !short_list) begin
      own_status <= bar_status;
      d_broken <= 1'b1;
    end

    if (pop && !head_prefix) begin
      d_valid <= 1'b1;
      d_cookie <= head.cookie;
      d_end <= head.control.end_;
      d_inline <= head_kind == TP_KIND_INLINE;
      is_list <= !head_torn && head_kind == TP_KIND_LIST && !stopping;
      p_addr <= head.address;
      p_bytes <= head_kind == TP_KIND_LIST ? '0 : head.length;
      d_bytes <= head.length;
      d_broken <= barring && !cancelling && !resetting && !head_torn;
      if (head_torn) own_status <= TP_STATUS_TORN;
      else if (stopping) own_status <= stop_status;
      else if (head_bad) own_status <= TP_STATUS_MALFORMED;
      else own_status <= '0;
    end
    if (pop_prefix && head_kind == TP_KIND_ATTRIBUTES) begin
      d_offset <= head.address;
      d_user <= head.length;
    end
    if (pop_prefix && head_kind == TP_KIND_MESSAGE_LENGTH) d_length <= head.address;
    // A cancel or a reset takes a prefix with it whose descriptor has not come.
    if (finish || flush || (cancelling && !d_valid && rd == mark)) begin
      d_offset <= '0;
      d_user <= '0;
      d_length <= '0;
    end
    if (finish) begin
      d_valid <= 1'b0;
      is_list <= 1'b0;
    end
    if (rst) begin
      d_valid <= 1'b0;
      is_list <= 1'b0;
      own_status <= '0;
      d_bytes <= '0;
      p_bytes <= '0;
      d_offset <= '0;
      d_user <= '0;
      d_length <= '0;
    end
    if (!rst) begin
      assert (!take || (p_valid && 32'(take_bytes) <= p_bytes))
      else $error("%m: took more than there is");
      assert (!finish || d_over)
      else $error("%m: finished too early");
      assert (!completed || outstanding != 0)
      else $error("%m: completed more than was pushed");
    end
  end
endmodule
