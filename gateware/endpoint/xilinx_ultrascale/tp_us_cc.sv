// SPDX-License-Identifier: Apache-2.0
// Answers of ours: the core's, and those that refuse what the core does not know, become packets of the block's CC stream.
//
// An answer with a status other than success has five dwords behind the descriptor: what stood beside the request on CQ, and the request's
// descriptor, from which the block fills its error log; the descriptor's own count is 0 (PG156 and PG213, "Completions with Error Status"). For
// that the request is kept (`asked`): one is with the core at a time, for tp_us_cq asks the block for the next one only when it has been answered.
//
// The core's answers come slowly and are held back until they are whole. Every answer waits for `pass`, so that it does not overtake writes of ours that were accepted before it.
module tp_us_cc
  import tp_tlp_pkg::*;
  import tp_ultrascale_pkg::*;
#(
    parameter int DATA_WIDTH = 128,
    parameter int USER = 33
) (
    input  logic                     clk,
    input  logic                     rst,
    input  logic                     skip,
    input  logic                     cut,
    // verilator lint_off UNUSEDSIGNAL
    input  logic                     ask,                 // a request that is to be answered has come
    input  cq_t                      ask_head,
    input  cq_side_t                 ask_side,
    input  logic                     refuse,              // with ask: by an unsupported request, from here
    output logic                     refusing,
    output logic                     answer,              // to and from tp_us_order
    output logic                     answered,
    input  logic                     pass,
    input  logic                     tx_answer_valid,
    output logic                     tx_answer_ready,
    input  tp_answer_hdr_t           tx_answer_hdr,       // the tag's upper bits: the block has 8
    // verilator lint_on UNUSEDSIGNAL
    input  logic [   DATA_WIDTH-1:0] tx_answer_data,
    input  logic                     tx_answer_last,
    output logic [   DATA_WIDTH-1:0] s_axis_cc_tdata,
    output logic [DATA_WIDTH/32-1:0] s_axis_cc_tkeep,
    output logic                     s_axis_cc_tlast,
    output logic [         USER-1:0] s_axis_cc_tuser,
    output logic                     s_axis_cc_tvalid,
    input  logic                     s_axis_cc_tready
);
  localparam int LANES = DATA_WIDTH / 32;
  localparam int LW = $clog2(LANES);
  localparam int LOG = 5;  // dwords behind the descriptor of an answer that refuses
  localparam int LOG_BEATS = (LOG + LANES - 1) / LANES;

  logic mine, log, last, ready, start, first;
  logic theirs;                             // an answer of the core's is under way
  cq_t asked;
  cq_side_t asked_side;
  always_ff @(posedge clk) begin
    if (ask) begin
      asked <= ask_head;
      asked_side <= ask_side;
    end
    if (ask) refusing <= refuse;
    else if (answered && mine) refusing <= 1'b0;
    if (rst) refusing <= 1'b0;
  end

  // ---- the core's answer
  logic whole, whole_ready, whole_last;
  logic [DATA_WIDTH-1:0] whole_data;
  tp_whole_packet #(
      .DATA_WIDTH(DATA_WIDTH)
  ) i_whole (
      .clk,
      .rst,
      .in_valid(tx_answer_valid),
      .in_ready(tx_answer_ready),
      .in_data(tx_answer_data),
      .in_last(tx_answer_last),
      .out_valid(whole),
      .out_ready(whole_ready),
      .out_data(whole_data),
      .out_last(whole_last)
  );

  // ---- the answer whose turn it is
  cc_t head;
  logic [1:0] at;                           // the beat of the log
  logic log_last;
  logic [LOG_BEATS*LANES-1:0][31:0] what;
  assign what = (LOG_BEATS * LANES * 32)'({
      asked, 8'h00, asked_side.hint_tag, 5'h00, asked_side.hint_type, asked_side.hint, asked_side.last_be, asked_side.first_be
  });
  assign mine = refusing && !theirs;
  assign log = mine || tx_answer_hdr.status != CPL_OK;
  assign answer = mine || whole;
  assign log_last = 32'(at) == LOG_BEATS - 1;
  assign last = log ? log_last : whole_last;
  assign answered = answer && pass && ready && last;
  assign whole_ready = !mine && pass && ready && (log_last || !log);
  always_comb begin
    head = '0;
    if (mine) begin
      head.locked = asked.kind == MEM_READ_LOCKED;
      head.byte_count = 13'd4;
      head.status = CPL_UNSUPPORTED_REQUEST;
      head.requester = asked.requester;
      head.tag = asked.tag;
      head.tc = asked.tc;
      head.attr = asked.attr;
    end else begin
      head.lower_addr = tx_answer_hdr.lower_addr;
      head.byte_count = tx_answer_hdr.byte_count;
      head.dwords = tx_answer_hdr.dwords;
      head.status = tx_answer_hdr.status;
      head.requester = tx_answer_hdr.requester;
      head.tag = tx_answer_hdr.tag[7:0];
      head.tc = tx_answer_hdr.tc;
      head.attr = tx_answer_hdr.attr;
    end
  end
  always_ff @(posedge clk) begin
    theirs <= (theirs || (start && !mine)) && !answered && !rst;
    if (answer && pass && ready && log) at <= log_last ? '0 : at + 1'b1;
    if (rst) at <= '0;
  end

  logic [LW-1:0] tail;
  tp_us_pack #(
      .DATA_WIDTH(DATA_WIDTH),
      .HEAD(3),
      .SIDE(1)
  ) i_pack (
      .clk,
      .rst,
      .skip,
      .cut,
      .busy(),
      .start,
      .in_valid(answer && pass),
      .in_ready(ready),
      .in_head(head),
      .in_side(1'b0),
      .in_dwords(log ? 11'(LOG) : tx_answer_hdr.dwords),
      .in_data(log ? what[at*LANES+:LANES] : whole_data),
      .in_last(last),
      .out_valid(s_axis_cc_tvalid),
      .out_ready(s_axis_cc_tready),
      .out_data(s_axis_cc_tdata),
      .out_side(),
      .out_first(first),
      .out_last(s_axis_cc_tlast),
      .out_end(tail)
  );

  always_comb for (int i = 0; i < LANES; i++) s_axis_cc_tkeep[i] = !s_axis_cc_tlast || LW'(i) <= tail;
  if (DATA_WIDTH == 512) begin : g_512
    assign s_axis_cc_tuser = {64'd0, 1'b0, 4'd0, 4'(tail), 1'b0, s_axis_cc_tlast, 4'd0, 1'b0, first};
  end else begin : g_narrow
    // verilator lint_off UNUSEDSIGNAL
    logic unused;  // the packet's first beat shows in nothing but the one before
    assign unused = first;
    // verilator lint_on UNUSEDSIGNAL
    assign s_axis_cc_tuser = '0;
  end
endmodule
