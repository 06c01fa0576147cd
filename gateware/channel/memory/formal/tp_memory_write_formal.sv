// SPDX-License-Identifier: Apache-2.0
// tp_memory_write: AXI4's rules for a master that writes, and verdicts. A burst stays within 4 KiB and within the memory, and has as many rows as
// its address said, the last one marked; addresses and rows stand until taken. A message's verdict comes after the answers to all of its bursts,
// once, and is an error if one of them was. After a reset no verdict of before comes. One burst and one message are watched, any.
// Shown from reset on, for a number of cycles. With a row of two bytes, so that bursts that are cut at 512 bytes show early.
// Assumed: the stream's rules (tkeep, and what a message says of itself stands); an answer comes only for a burst whose last row has been taken;
// a reset comes between beats.
module tp_memory_write_formal #(
    parameter int DATA_WIDTH = 16,
    parameter int ADDRESS_WIDTH = 14,
    localparam int KEEP = DATA_WIDTH / 8,
    localparam int CW = 4  // of a count: more than the cycles that are looked at
) (
    input logic clk,
    input logic rst,
    input logic s_tvalid,
    input logic [DATA_WIDTH-1:0] s_tdata,
    input logic [1:0] s_bytes,
    input logic s_tlast,
    input logic s_error,
    input logic [13:0] length,
    input logic [13:0] offset,
    input logic s_reset,
    input logic end_ready,
    input logic core_awready,
    input logic core_wready,
    input logic [1:0] core_bresp,
    input logic core_bvalid,
    input logic [CW-1:0] watch,       // a burst
    input logic [CW-1:0] watch_end    // a message that has a verdict
);
  localparam logic [63:0] BYTES = 64'd8192, BASE = 64'd4096;
  logic s_tready, end_valid, core_awvalid, core_wlast, core_wvalid, core_bready;
  logic [5:0] end_status;
  logic [ADDRESS_WIDTH-1:0] core_awaddr;
  logic [7:0] core_awlen;
  logic [2:0] core_awsize;
  logic [1:0] core_awburst;
  logic [DATA_WIDTH-1:0] core_wdata;
  logic [KEEP-1:0] core_wstrb;
  tp_memory_write #(
      .DATA_WIDTH(DATA_WIDTH),
      .ADDRESS_WIDTH(ADDRESS_WIDTH),
      .BYTES(BYTES),
      .BASE(BASE)
  ) dut (
      .rst_n(!rst),
      .s_tkeep(KEEP'((32'd1 << s_bytes) - 1)),
      .s_length(64'(length)),
      .s_offset(64'(offset)),
      .s_user('0),
      .*
  );

  // ------------------------------------------------------------------------------------------------ what is around it
  logic started = 1'b0;
  logic beat, address, row, answer, said, middle;
  logic [13:0] length_was, offset_was;
  assign beat = s_tvalid && s_tready;
  assign address = core_awvalid && core_awready;
  assign row = core_wvalid && core_wready;
  assign answer = core_bvalid && core_bready;
  assign said = end_valid && end_ready;
  logic [CW-1:0]
      addresses, bursts, answers, ends, verdicts;  // addresses and last rows taken, answers given, messages judged, verdicts given
  logic [7:0] rows;  // of the burst whose rows come
  always_ff @(posedge clk) begin
    started <= 1'b1;
    if (beat) middle <= !s_tlast;
    length_was <= length;
    offset_was <= offset;
    addresses <= addresses + CW'(address);
    bursts <= bursts + CW'(row && core_wlast);
    answers <= answers + CW'(answer);
    rows <= row ? (core_wlast ? '0 : rows + 1'b1) : rows;
    ends <= ends + CW'(dut.put_end && dut.judged);
    verdicts <= verdicts + CW'(said);
    if (s_reset) begin
      middle <= 1'b0;
      ends <= '0;
      verdicts <= '0;
    end
    if (rst) {middle, addresses, bursts, answers, rows, ends, verdicts} <= '0;
  end
  always_comb begin
    if (!started) assume (rst);
    assume (s_bytes <= 2'd2 && (s_tlast || s_bytes == 2'd2));
    if (middle) assume (length == length_was && offset == offset_was);
    if (core_bvalid) assume (answers != bursts && answers != addresses);
    if (s_reset) assume (!s_tvalid);
    assume (!(s_error && !s_tlast));
  end

  // ------------------------------------------------------------------------------------------------ what is watched
  logic known, aw_known;  // the watched burst's address has been seen; its rows
  logic [7:0] said_rows;
  logic stands, row_stands;
  logic [ADDRESS_WIDTH+7:0] aw_was;
  logic [DATA_WIDTH+KEEP:0] w_was;
  logic ended, bad;  // the watched message; a burst of it was answered with an error
  logic [CW-1:0] needs;                  // answers before its verdict
  logic [CW-1:0] begun;                  // bursts that have been queued
  logic [CW-1:0] watch_was, watch_end_was;
  always_ff @(posedge clk) begin
    watch_was <= watch;
    watch_end_was <= watch_end;
    stands <= core_awvalid && !core_awready && !rst;
    aw_was <= {core_awaddr, core_awlen};
    row_stands <= core_wvalid && !core_wready && !rst;
    w_was <= {core_wdata, core_wstrb, core_wlast};
    if (address && addresses == watch) begin
      aw_known <= 1'b1;
      said_rows <= core_awlen;
    end
    if (row && core_wlast && bursts == watch) begin
      known <= 1'b1;
    end
    begun <= begun + CW'(dut.begin_burst);
    if (dut.put_end && dut.judged && ends == watch_end) begin
      ended <= 1'b1;
      needs <= begun;
    end
    if (s_reset) ended <= 1'b0;
    if (rst) {known, aw_known, begun, ended} <= '0;
  end
  always_comb if (started) assume (watch == watch_was && watch_end == watch_end_was);
  always_comb
    if (started && !rst) begin
      if (core_awvalid) begin
        assert (core_awsize == 3'd1 && core_awburst == 2'b01);
        assert (32'(core_awaddr[11:0]) + (32'(core_awlen) + 1) * KEEP <= 4096);
        assert (64'(core_awaddr) >= BASE && 64'(core_awaddr) < BASE + BYTES);
      end
      if (stands) assert (core_awvalid && {core_awaddr, core_awlen} == aw_was);
      if (row_stands) assert (core_wvalid && {core_wdata, core_wstrb, core_wlast} == w_was);
      // The watched burst's rows, whichever of the two comes first.
      if (core_wvalid && bursts == watch && aw_known) assert (core_wlast == (rows == said_rows));
      if (said) assert (verdicts != ends || (dut.put_end && dut.judged));
      if (said && ended && verdicts == watch_end) assert (CW'(answers - needs) < CW'(2 ** (CW - 1)));
      if (said && end_status == '0 && dut.worst != '0) assert (1'b0);
      cover (said && ended && verdicts == watch_end && answers == CW'(2) && end_status == 6'd3);
      cover (row && core_wlast && rows == 8'd2 && aw_known && bursts == CW'(1));
    end
endmodule
