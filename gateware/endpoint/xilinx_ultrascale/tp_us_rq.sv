// SPDX-License-Identifier: Apache-2.0
// Requests of ours: memory writes and read requests of the neutral streams become packets of the block's RQ stream, with our tags.
//
// A read goes before a write that waits, but not behind another read, and only while the link partner's credits for it last: the block would
// else keep it in front of all that comes later. Its count is two clocks old, so reads of the last clocks are subtracted (PG213, "Avoiding
// Head-of-Line Blocking").
//
// STRADDLE packets may share a beat, as the block is set: 1, or 2 (512 bit). With 1, the block may be set to straddle, too.
module tp_us_rq
  import tp_tlp_pkg::*;
  import tp_ultrascale_pkg::*;
#(
    parameter int DATA_WIDTH = 128,
    parameter int USER = 62,
    parameter int SEQ = 6,                 // bits of a sequence number
    parameter int CREDITS = 4,             // bits of pcie_tfc_nph_av
    parameter int STRADDLE = 1
) (
    input  logic                     clk,
    input  logic                     rst,
    input  logic                     skip,
    input  logic                     cut,
    input  logic                     tx_posted_valid,
    output logic                     tx_posted_ready,
    input  tp_write_hdr_t            tx_posted_hdr,
    input  logic [   DATA_WIDTH-1:0] tx_posted_data,
    input  logic                     tx_posted_last,
    input  logic                     tx_read_valid,
    output logic                     tx_read_ready,
    // verilator lint_off UNUSEDSIGNAL
    input  tp_read_hdr_t             tx_read_hdr,         // the tag's upper bits: no card has so many
    // verilator lint_on UNUSEDSIGNAL
    output logic                     write_start,         // to and from tp_us_order
    input  logic [          SEQ-2:0] write_number,
    input  logic                     write_full,
    input  logic [      CREDITS-1:0] pcie_tfc_nph_av,
    output logic [   DATA_WIDTH-1:0] s_axis_rq_tdata,
    output logic [DATA_WIDTH/32-1:0] s_axis_rq_tkeep,
    output logic                     s_axis_rq_tlast,
    output logic [         USER-1:0] s_axis_rq_tuser,
    output logic                     s_axis_rq_tvalid,
    input  logic                     s_axis_rq_tready
);
  localparam int LANES = DATA_WIDTH / 32;
  localparam int LW = $clog2(LANES);

  typedef struct packed {
    logic [SEQ-1:0] seq;
    logic [3:0] last_be;
    logic [3:0] first_be;
  } side_t;

  // ---- the beat that shows
  logic [1:0] starts, ends;  // of packets
  logic high;                               // the first that starts in it does so in its middle
  side_t [1:0] sides;
  logic [1:0][LW-1:0] end_lanes;

  // ---- what may go
  logic may_read, read_shows, read_leaves;
  logic [1:0] recent;
  logic [2:0] reads_out;
  assign reads_out = 3'(read_shows) + 3'(recent[0]) + 3'(recent[1]);
  assign may_read = tx_read_valid && (32'(pcie_tfc_nph_av) > 32'(reads_out) || skip);
  assign read_shows = s_axis_rq_tvalid && (sides[0].seq[SEQ-1] || sides[1].seq[SEQ-1]);
  assign read_leaves = read_shows && s_axis_rq_tready && ends[0];
  always_ff @(posedge clk) recent <= rst ? '0 : {recent[0], read_leaves};

  rq_t write_head, read_head;
  side_t write_side, read_side;
  always_comb begin
    write_head = '0;
    write_head.kind = MEM_WRITE;
    write_head.addr = tx_posted_hdr.addr[63:2];
    write_head.dwords = tx_posted_hdr.dwords;
    write_head.attr[1] = tx_posted_hdr.relaxed;
    write_head.tc = tx_posted_hdr.tc;
    write_side = '{seq: {1'b0, write_number}, first_be: tx_posted_hdr.first_be, last_be: tx_posted_hdr.last_be};
    read_head = '0;
    read_head.kind = MEM_READ;
    read_head.addr = tx_read_hdr.addr[63:2];
    read_head.dwords = tx_read_hdr.dwords;
    read_head.attr[1] = tx_read_hdr.relaxed;
    read_head.tc = tx_read_hdr.tc;
    read_head.tag = tx_read_hdr.tag[7:0];
    read_side = '{seq: {1'b1, (SEQ - 1)'(0)}, first_be: tx_read_hdr.first_be, last_be: tx_read_hdr.last_be};
  end

  // ---- the packets
  if (STRADDLE == 2) begin : g_two
    tp_us_straddle #(
        .DATA_WIDTH(DATA_WIDTH),
        .HEAD(4),
        .SIDE($bits(side_t))
    ) i_straddle (
        .clk,
        .rst,
        .skip,
        .cut,
        .start(write_start),
        .write_valid(tx_posted_valid),
        .write_wait(write_full),
        .write_ready(tx_posted_ready),
        .write_head,
        .write_side,
        .write_dwords(tx_posted_hdr.dwords),
        .write_data(tx_posted_data),
        .write_last(tx_posted_last),
        .read_valid(may_read),
        .read_ready(tx_read_ready),
        .read_head,
        .read_side,
        .out_valid(s_axis_rq_tvalid),
        .out_ready(s_axis_rq_tready),
        .out_data(s_axis_rq_tdata),
        .out_start(starts),
        .out_high(high),
        .out_side(sides),
        .out_end(ends),
        .out_end_lane(end_lanes)
    );
    assign s_axis_rq_tkeep = '1;            // neither this nor tlast is looked at
    assign s_axis_rq_tlast = 1'b0;
  end else begin : g_one
    logic may_write, busy, start, read, read_was, valid, ready, first;
    logic [LW-1:0] tail;
    side_t side;
    assign may_write = tx_posted_valid && (!write_full || skip);
    assign read = busy ? read_was : may_read && !(may_write && read_was);
    assign valid = busy ? (read_was ? tx_read_valid : tx_posted_valid) : may_read || may_write;
    assign write_start = start && !read;
    assign tx_read_ready = ready && valid && read;
    assign tx_posted_ready = ready && valid && !read;
    always_ff @(posedge clk) begin
      if (start) read_was <= read;
      if (rst) read_was <= 1'b0;
    end
    tp_us_pack #(
        .DATA_WIDTH(DATA_WIDTH),
        .HEAD(4),
        .SIDE($bits(side_t))
    ) i_pack (
        .clk,
        .rst,
        .skip,
        .cut,
        .busy,
        .start,
        .in_valid(valid),
        .in_ready(ready),
        .in_head(read ? read_head : write_head),
        .in_side(read ? read_side : write_side),
        .in_dwords(read ? '0 : tx_posted_hdr.dwords),
        .in_data(tx_posted_data),
        .in_last(read || tx_posted_last),
        .out_valid(s_axis_rq_tvalid),
        .out_ready(s_axis_rq_tready),
        .out_data(s_axis_rq_tdata),
        .out_side(side),
        .out_first(first),
        .out_last(s_axis_rq_tlast),
        .out_end(tail)
    );
    assign starts = {1'b0, first};
    assign ends = {1'b0, s_axis_rq_tlast};
    assign high = 1'b0;
    assign sides = {side_t'('0), side};
    assign end_lanes = {LW'(0), tail};
    always_comb for (int i = 0; i < LANES; i++) s_axis_rq_tkeep[i] = !s_axis_rq_tlast || LW'(i) <= tail;
  end

  // ---- what stands beside a beat
  if (DATA_WIDTH == 512) begin : g_512
    assign s_axis_rq_tuser = {
      64'd0,  // parity
      6'(sides[1].seq),
      6'(sides[0].seq),
      24'd0,  // hints
      1'b0,  // discontinue
      end_lanes[1],
      end_lanes[0],
      ends,
      2'b10,  // where the second packet starts: in the middle
      {high, 1'b0},
      starts,
      4'd0,  // offsets
      sides[1].last_be,
      sides[0].last_be,
      sides[1].first_be,
      sides[0].first_be
    };
  end else begin : g_narrow
    // verilator lint_off UNUSEDSIGNAL
    logic unused;  // a packet's first beat shows in nothing but the one before
    assign unused = &{starts, ends, high, end_lanes, sides[1]};
    // verilator lint_on UNUSEDSIGNAL
    if (USER == 62) begin : g_62
      assign s_axis_rq_tuser = {2'(sides[0].seq >> 4), 32'd0, sides[0].seq[3:0], 16'd0, sides[0].last_be, sides[0].first_be};
    end else begin : g_60
      assign s_axis_rq_tuser = {32'd0, sides[0].seq[3:0], 16'd0, sides[0].last_be, sides[0].first_be};
    end
  end
endmodule
