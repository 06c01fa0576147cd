// SPDX-License-Identifier: Apache-2.0
// Answers to us: packets of the block's RC stream become the neutral stream of completions, with one clock or two between pin and output.
//
// What the core checks itself (tag, length, address, byte count) goes on as it came. An answer whose requester, class or attributes are not those
// of its request is dropped: it is nobody's, and the block has reported it. A request that the block has ended, for it took too long or for a
// function-level reset, is CPL_ENDED. A packet that the block marks as damaged (`discontinue`) or that its reset cuts short is `bad`.
//
// STRADDLE packets may share a beat, as the block is set: 1, 2 (256 and 512 bit) or 4 (512 bit); see tp_us_unpack for when it then waits.
module tp_us_rc
  import tp_tlp_pkg::*;
  import tp_ultrascale_pkg::*;
#(
    parameter int DATA_WIDTH = 128,
    parameter int USER = 75,
    parameter int STRADDLE = 1
) (
    input  logic                                   clk,
    input  logic                                   rst,
    input  logic                                   cut,
    input  logic               [   DATA_WIDTH-1:0] m_axis_rc_tdata,
    // verilator lint_off UNUSEDSIGNAL
    input  logic               [DATA_WIDTH/32-1:0] m_axis_rc_tkeep,      // only one of these tells of the end
    input  logic                                   m_axis_rc_tlast,
    input  logic               [         USER-1:0] m_axis_rc_tuser,
    // verilator lint_on UNUSEDSIGNAL
    input  logic                                   m_axis_rc_tvalid,
    output logic                                   m_axis_rc_tready,
    output logic                                   rx_completion_valid,
    output tp_completion_hdr_t                     rx_completion_hdr,
    output logic               [   DATA_WIDTH-1:0] rx_completion_data,
    output logic                                   rx_completion_last,
    output logic                                   rx_completion_bad
);
  localparam int LANES = DATA_WIDTH / 32;
  localparam int LW = $clog2(LANES);
  localparam int PW = STRADDLE > 1 ? $clog2(STRADDLE) : 1;

  logic [STRADDLE-1:0] starts, ends;
  logic [STRADDLE-1:0][PW-1:0] slots;
  logic [STRADDLE-1:0][LW-1:0] end_lanes;
  if (STRADDLE == 1) begin : g_single
    assign starts = 1'b1;
    assign slots = '0;
    assign ends = m_axis_rc_tlast;
    always_comb begin
      end_lanes = '0;
      for (int i = 0; i < LANES; i++) if (m_axis_rc_tkeep[i]) end_lanes = LW'(i);
    end
  end else if (DATA_WIDTH == 256) begin : g_256
    assign starts = m_axis_rc_tuser[33:32];
    assign slots = '0;
    assign ends = {m_axis_rc_tuser[38], m_axis_rc_tuser[34]};
    assign end_lanes = {m_axis_rc_tuser[41:39], m_axis_rc_tuser[37:35]};
  end else begin : g_512
    assign starts = m_axis_rc_tuser[64+:STRADDLE];
    assign ends = m_axis_rc_tuser[76+:STRADDLE];
    for (genvar i = 0; i < STRADDLE; i++) begin : g_packet
      assign slots[i] = PW'(m_axis_rc_tuser[68+2*i+:2]);
      assign end_lanes[i] = m_axis_rc_tuser[80+4*i+:4];
    end
  end

  logic put, put_first, put_last, put_bad, ended, foreign;
  // verilator lint_off UNUSEDSIGNAL
  rc_t head;
  logic unused;
  // verilator lint_on UNUSEDSIGNAL
  logic [LANES-1:0][31:0] put_data;
  tp_us_unpack #(
      .DATA_WIDTH(DATA_WIDTH),
      .HEAD(3),
      .COUNT_AT(32),
      .PIECES(STRADDLE)
  ) i_unpack (
      .clk,
      .rst,
      .cut,
      .in_valid(m_axis_rc_tvalid),
      .in_ready(m_axis_rc_tready),
      .in_data(m_axis_rc_tdata),
      .in_start(starts),
      .in_slot(slots),
      .in_side('0),
      .in_end(ends),
      .in_end_lane(end_lanes),
      .in_bad(m_axis_rc_tuser[DATA_WIDTH == 512 ? 96 : 42]),
      .put,
      .put_first,
      .put_last,
      .put_bad,
      .put_head(head),
      .put_side(unused),
      .put_data
  );

  assign ended = head.error == ERROR_TIMEOUT || head.error == ERROR_FUNCTION_RESET;
  always_ff @(posedge clk) begin
    if (put_first) foreign <= head.error == ERROR_MISMATCH;
    rx_completion_valid <= put && !(put_first ? head.error == ERROR_MISMATCH : foreign) && !rst;
    rx_completion_last <= put_last;
    rx_completion_bad <= put_last && put_bad;
    rx_completion_data <= put_data;
    if (put && put_first)
      rx_completion_hdr <= '{
          tag: 10'(head.tag),
          status: ended ? CPL_ENDED : head.status,
          poisoned: !ended && (head.poisoned || head.error == ERROR_POISONED),
          dwords: ended ? '0 : head.dwords,
          byte_count: head.byte_count,
          lower_addr: head.lower_addr[6:0]
      };
  end
endmodule
