// SPDX-License-Identifier: Apache-2.0
// Requests of ours: memory writes and read requests of the neutral streams become packets of the block's RQ stream, with our tags.
//
// A read goes before a write that waits, but not behind another read, and only while the link partner's credits for it last: the block would
// else keep it in front of all that comes later. Its count is two clocks old, so reads of the last clocks are subtracted (PG213, "Avoiding
// Head-of-Line Blocking"). One packet a beat at most: at 512 bit, too, where the block may be set to straddle or not.
module tp_us_rq
  import tp_tlp_pkg::*;
  import tp_ultrascale_pkg::*;
#(
    parameter int DATA_WIDTH = 128,
    parameter int USER = 62,
    parameter int SEQ = 6,                 // bits of a sequence number
    parameter int CREDITS = 4              // bits of pcie_tfc_nph_av
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

  // ---- whose turn it is
  logic busy, start, read, read_was, reading, may_read, may_write, valid, ready, first;
  logic [1:0] recent;
  logic [2:0] reads_out;
  assign reads_out = 3'(s_axis_rq_tvalid && reading) + 3'(recent[0]) + 3'(recent[1]);
  assign may_read = tx_read_valid && (32'(pcie_tfc_nph_av) > 32'(reads_out) || skip);
  assign may_write = tx_posted_valid && (!write_full || skip);
  assign read = busy ? read_was : may_read && !(may_write && read_was);
  assign valid = busy ? (read_was ? tx_read_valid : tx_posted_valid) : may_read || may_write;
  assign write_start = start && !read;
  assign tx_read_ready = ready && valid && read;
  assign tx_posted_ready = ready && valid && !read;
  always_ff @(posedge clk) begin
    if (start) read_was <= read;
    if (start) reading <= read;
    recent <= {recent[0], s_axis_rq_tvalid && s_axis_rq_tready && reading && s_axis_rq_tlast};
    if (rst) begin
      read_was <= 1'b0;
      recent <= '0;
    end
  end

  // ---- the packet
  rq_t head;
  side_t side, out_side;
  always_comb begin
    head = '0;
    head.kind = read ? MEM_READ : MEM_WRITE;
    head.addr = read ? tx_read_hdr.addr[63:2] : tx_posted_hdr.addr[63:2];
    head.dwords = read ? tx_read_hdr.dwords : tx_posted_hdr.dwords;
    head.attr[1] = read ? tx_read_hdr.relaxed : tx_posted_hdr.relaxed;
    if (read) head.tag = tx_read_hdr.tag[7:0];
    side.first_be = read ? tx_read_hdr.first_be : tx_posted_hdr.first_be;
    side.last_be = read ? tx_read_hdr.last_be : tx_posted_hdr.last_be;
    side.seq = {read, read ? '0 : write_number};
  end

  logic [LW-1:0] tail;
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
      .in_head(head),
      .in_side(side),
      .in_dwords(read ? '0 : tx_posted_hdr.dwords),
      .in_data(tx_posted_data),
      .in_last(read || tx_posted_last),
      .out_valid(s_axis_rq_tvalid),
      .out_ready(s_axis_rq_tready),
      .out_data(s_axis_rq_tdata),
      .out_side,
      .out_first(first),
      .out_last(s_axis_rq_tlast),
      .out_end(tail)
  );

  always_comb for (int i = 0; i < LANES; i++) s_axis_rq_tkeep[i] = !s_axis_rq_tlast || LW'(i) <= tail;
  if (DATA_WIDTH == 512) begin : g_512
    assign s_axis_rq_tuser = {
      64'd0,
      6'd0,
      6'(out_side.seq),
      24'd0,
      1'b0,
      4'd0,
      4'(tail),
      1'b0,
      s_axis_rq_tlast,
      4'd0,
      1'b0,
      first,
      4'd0,
      4'd0,
      out_side.last_be,
      4'd0,
      out_side.first_be
    };
  end else begin : g_narrow
    // verilator lint_off UNUSEDSIGNAL
    logic unused;  // the packet's first beat shows in nothing but the one before
    assign unused = first;
    // verilator lint_on UNUSEDSIGNAL
    if (USER == 62) begin : g_62
      assign s_axis_rq_tuser = {2'(out_side.seq >> 4), 32'd0, out_side.seq[3:0], 16'd0, out_side.last_be, out_side.first_be};
    end else begin : g_60
      assign s_axis_rq_tuser = {32'd0, out_side.seq[3:0], 16'd0, out_side.last_be, out_side.first_be};
    end
  end
endmodule
