// SPDX-License-Identifier: Apache-2.0
// Requests of the host: packets of the block's CQ stream become the neutral streams of writes and reads of a BAR.
//
// Other requests never reach the core. Those that want an answer (I/O, atomic, locked) are handed to tp_us_cc, which refuses them; messages are
// dropped. A write that the block marks as damaged, or that its reset cuts short, is completed, or dropped if it is a single beat, and `damaged` pulses.
//
// `rx_posted_hold` stops all requests, between packets. Not with STRADDLE 2: where each beat ends one packet and begins the next, there is no
// place to stop.
//
// The block delivers a request that wants an answer only when it has been asked for one (`pcie_cq_np_req`), and writes all the time. It is asked
// for one at a time: when the core has granted it, or one has been refused. So there is always room for it, and requests wait here only for
// `rx_posted_hold`. What was asked for and had not come when the block was reset is asked for again.
module tp_us_cq
  import tp_tlp_pkg::*;
  import tp_ultrascale_pkg::*;
#(
    parameter int DATA_WIDTH = 128,
    parameter int USER = 88,
    parameter int STRADDLE = 1
) (
    input  logic                                clk,
    input  logic                                rst,
    input  logic                                cut,
    input  logic            [   DATA_WIDTH-1:0] m_axis_cq_tdata,
    // verilator lint_off UNUSEDSIGNAL
    input  logic            [DATA_WIDTH/32-1:0] m_axis_cq_tkeep,    // only one of these tells of the end
    input  logic                                m_axis_cq_tlast,
    input  logic            [         USER-1:0] m_axis_cq_tuser,
    // verilator lint_on UNUSEDSIGNAL
    input  logic                                m_axis_cq_tvalid,
    output logic                                m_axis_cq_tready,
    output logic                                pcie_cq_np_req,
    input  logic                                rx_posted_hold,
    output logic                                rx_posted_valid,
    output tp_request_hdr_t                     rx_posted_hdr,
    output logic            [   DATA_WIDTH-1:0] rx_posted_data,
    output logic                                rx_posted_last,
    output logic                                rx_nonposted_valid,
    output tp_request_hdr_t                     rx_nonposted_hdr,
    input  logic                                nonposted_credit,
    output logic                                damaged,
    output logic                                ask,                // to and from tp_us_cc
    output cq_t                                 ask_head,
    output cq_side_t                            ask_side,
    output logic                                refuse,
    input  logic                                refusing
);
  localparam int LANES = DATA_WIDTH / 32;
  localparam int LW = $clog2(LANES);
  localparam int SW = $bits(cq_side_t);

  logic [STRADDLE-1:0] starts, ends;
  cq_side_t [STRADDLE-1:0] sides;
  logic [STRADDLE-1:0][LW-1:0] end_lanes;
  if (STRADDLE == 1) begin : g_single
    assign starts = 1'b1;
    assign ends = m_axis_cq_tlast;
    always_comb begin
      end_lanes = '0;
      for (int i = 0; i < LANES; i++) if (m_axis_cq_tkeep[i]) end_lanes = LW'(i);
    end
  end else begin : g_straddle
    assign starts = m_axis_cq_tuser[81:80];
    assign ends = m_axis_cq_tuser[87:86];
    assign end_lanes = {m_axis_cq_tuser[95:92], m_axis_cq_tuser[91:88]};
  end
  if (DATA_WIDTH == 512) begin : g_512
    for (genvar i = 0; i < STRADDLE; i++) begin : g_packet
      assign sides[i] = '{
              hint_tag: m_axis_cq_tuser[103+8*i+:8],
              hint_type: m_axis_cq_tuser[99+2*i+:2],
              hint: m_axis_cq_tuser[97+i],
              last_be: m_axis_cq_tuser[8+4*i+:4],
              first_be: m_axis_cq_tuser[4*i+:4]
          };
    end
  end else begin : g_narrow
    assign sides[0] = '{
            hint_tag: m_axis_cq_tuser[52:45],
            hint_type: m_axis_cq_tuser[44:43],
            hint: m_axis_cq_tuser[42],
            last_be: m_axis_cq_tuser[7:4],
            first_be: m_axis_cq_tuser[3:0]
        };
  end

  // With `rx_posted_hold` no beat is taken that begins a packet and nothing else; the block lets completions with relaxed ordering pass.
  logic cq_ready, stop, open;  // a packet goes on in the next beat
  assign stop = rx_posted_hold && !open;
  assign m_axis_cq_tready = cq_ready && !stop;
  if (STRADDLE == 1) begin : g_open_single
    always_ff @(posedge clk) begin
      if (m_axis_cq_tvalid && m_axis_cq_tready) open <= !ends[0];
      if (rst || cut) open <= 1'b0;
    end
  end else begin : g_open_straddle
    always_ff @(posedge clk) begin
      if (m_axis_cq_tvalid && m_axis_cq_tready) open <= 2'(open) + 2'($countones(starts)) != 2'($countones(ends));
      if (rst || cut) open <= 1'b0;
    end
  end

  logic put, put_first, put_last, put_bad;
  // verilator lint_off UNUSEDSIGNAL
  cq_t head;                                // bits that no request of ours has
  // verilator lint_on UNUSEDSIGNAL
  cq_side_t side;
  logic [LANES-1:0][31:0] put_data;
  tp_us_unpack #(
      .DATA_WIDTH(DATA_WIDTH),
      .HEAD(4),
      .COUNT_AT(64),
      .PIECES(STRADDLE),
      .SIDE(SW)
  ) i_unpack (
      .clk,
      .rst,
      .cut,
      .in_valid(m_axis_cq_tvalid && !stop),
      .in_ready(cq_ready),
      .in_data(m_axis_cq_tdata),
      .in_start(starts),
      .in_slot('0),
      .in_side(sides),
      .in_end(ends),
      .in_end_lane(end_lanes),
      .in_bad(m_axis_cq_tuser[DATA_WIDTH == 512 ? 96 : 41]),
      .put,
      .put_first,
      .put_last,
      .put_bad,
      .put_head(head),
      .put_side(side),
      .put_data
  );

  // ---- what it is
  logic is_write, was_write, is_read;
  logic [35:2] in_bar;                      // the bits of an address that lie within the BAR
  tp_request_hdr_t hdr;
  assign is_write = put_first ? head.kind == MEM_WRITE : was_write;
  assign is_read = head.kind == MEM_READ;
  assign ask = put && put_first && head.kind < MESSAGE && head.kind != MEM_WRITE;
  assign ask_head = head;
  assign ask_side = side;
  assign refuse = !is_read;
  always_comb for (int i = 2; i < 36; i++) in_bar[i] = 32'(head.aperture) > i;
  always_ff @(posedge clk) begin
    if (put && put_first) begin
      was_write <= is_write;
      hdr <= '{
          bar: head.bar,
          offset: {head.addr[35:2] & in_bar, 2'b00},
          dwords: head.dwords,
          first_be: side.first_be,
          last_be: side.last_be,
          requester: head.requester,
          tag: 10'(head.tag),
          tc: head.tc,
          attr: head.attr
      };
    end
    rx_posted_valid <= put && is_write && !(put_first && put_last && put_bad) && !rst;
    rx_posted_data <= put_data;
    rx_posted_last <= put_last;
    rx_nonposted_valid <= ask && is_read && !rst;
    damaged <= put && put_last && put_bad && is_write && !rst;
  end
  assign rx_posted_hdr = hdr;
  assign rx_nonposted_hdr = hdr;

  // ---- requests that are asked for
  logic asked, refused, back;
  logic [5:0] granted;
  assign back = refused && !refusing;       // one has been refused: its place is free
  assign pcie_cq_np_req = granted != '0 && !asked && !refused && !cut;
  always_ff @(posedge clk) begin
    granted <= granted + 6'(nonposted_credit) + 6'(back) + 6'(cut && asked && !ask) - 6'(pcie_cq_np_req);
    if (ask || cut) asked <= 1'b0;
    if (pcie_cq_np_req) asked <= 1'b1;
    if (ask && refuse) refused <= 1'b1;
    else if (back) refused <= 1'b0;
    if (rst) begin
      granted <= '0;
      asked <= 1'b0;
      refused <= 1'b0;
    end
  end
endmodule
