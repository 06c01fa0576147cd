// SPDX-License-Identifier: Apache-2.0
// Writes to the memory windows (BAR 4): packets become rows of memory, each byte in the lane that its address names.
//
// Beats wait in a buffer of BYTES. A packet enters it whole: what has no room, or is longer than 1,024 bytes, or comes while the windows are
// `off`, is dropped, and `overrun` pulses; while `closed` (the card is being reset), nobody is told. `hold` asks the endpoint to start no more
// packets, so that there is room: what was left when it rose takes those that the endpoint has begun.
//
// Out goes a packet as rows; `write_address`, of its first row, and `write_rows`, their number, stand beside the first one. `taken` counts the packets
// that have entered, modulo 2^16: a read that is to follow them carries it.
// Not for: packets that cross 4 KiB.
module tp_memory_writes
  import towpath_pkg::*;
  import tp_tlp_pkg::*;
#(
    parameter int DATA_WIDTH = 128,
    parameter int BYTES = 8192,
    parameter int MIB = 65536,              // what is behind so many is not a memory's
    localparam int KEEP = DATA_WIDTH / 8
) (
    input  logic                             clk,
    input  logic                             rst,
    input  logic                             closed,
    input  logic                             off,
    output logic                             hold,
    output logic                             overrun,
    output logic            [          15:0] taken,
    input  logic                             rx_posted_valid,
    // verilator lint_off UNUSEDSIGNAL
    input  tp_request_hdr_t                  rx_posted_hdr,    // fields that only reads have, unused
    // verilator lint_on UNUSEDSIGNAL
    input  logic            [DATA_WIDTH-1:0] rx_posted_data,
    input  logic            [      KEEP-1:0] rx_posted_strb,
    input  logic                             rx_posted_last,
    output logic                             write_valid,
    input  logic                             write_ready,
    output logic            [          35:0] write_address,
    output logic            [           7:0] write_rows,
    output logic            [DATA_WIDTH-1:0] write_data,
    output logic            [      KEEP-1:0] write_strb,
    output logic                             write_last
);
  localparam int LANES = DATA_WIDTH / 32;
  localparam int LW = $clog2(LANES);
  localparam int DEPTH = BYTES / KEEP;  // beats
  localparam int DW = $clog2(DEPTH) + 1;
  localparam int LONGEST = 256;  // dwords of a packet

  typedef struct packed {
    logic [35:2] address;
    logic [8:0] dwords;
    logic last;
    logic [KEEP-1:0] strb;
    logic [DATA_WIDTH-1:0] data;
  } beat_t;

  // ---- a clock after it came, a beat enters, or not
  beat_t in, head;
  logic valid, starts, in_packet, too_long, taking, takes, enters;
  logic [DW-1:0] beats, room;  // of the packet; places that no packet has
  assign takes = starts ? room >= beats && !too_long && !off && !closed : taking && !closed;
  assign enters = valid && takes;
  always_ff @(posedge clk) begin
    valid <= rx_posted_valid && rx_posted_hdr.bar == 3'(TP_BAR_MEMORY) && 17'(rx_posted_hdr.offset[35:20]) < 17'(MIB) && !rst;
    starts <= !in_packet;
    in <= '{
        address: rx_posted_hdr.offset[35:2],
        dwords: rx_posted_hdr.dwords[8:0],
        last: rx_posted_last,
        strb: rx_posted_strb,
        data: rx_posted_data
    };
    too_long <= rx_posted_hdr.dwords > 11'(LONGEST);
    beats <= DW'((rx_posted_hdr.dwords + 11'(LANES - 1)) >> LW);
    if (rx_posted_valid) in_packet <= !rx_posted_last;
    if (valid) taking <= takes;
    overrun <= valid && starts && !takes && !closed;
    hold <= room < DW'(DEPTH / 2) && !off && !closed;
    if (valid && starts && takes) taken <= taken + 1'b1;
    if (rst) in_packet <= 1'b0;
    if (rst || closed) begin
      taking <= 1'b0;
      hold <= 1'b0;
      taken <= '0;
    end
  end

  logic have, pop;
  tp_deep_fifo #(
      .WIDTH($bits(beat_t)),
      .DEPTH(DEPTH)
  ) buffer (
      .clk,
      .rst(rst || closed),
      .in_valid(enters),
      .in_ready(),
      .in_data(in),
      .out_valid(have),
      .out_ready(pop),
      .out_data(head)
  );
  always_ff @(posedge clk) begin
    room <= room - (valid && starts && takes ? beats : '0) + DW'(pop && have);
    if (rst || closed) room <= DW'(DEPTH);
  end

  // ---- rows: the lanes of a beat that go over the top of its row wait for the next one
  logic [LW-1:0] skew;
  logic [DATA_WIDTH-1:0] rotated, carry;
  logic [2*KEEP-1:0] lanes;
  logic [KEEP-1:0] carry_strb;
  logic [LANES-1:0] below;  // lanes before the beat's first
  logic over, tail;  // the packet has one more row than beats; it is shown
  assign skew = head.address[2+:LW];
  assign rotated = DATA_WIDTH'({head.data, head.data} >> (32 * (LANES - 32'(skew))));
  assign lanes = {{KEEP{1'b0}}, head.strb} << {skew, 2'b00};
  assign below = (LANES'(1) << skew) - 1'b1;
  assign over = 32'(skew) + 32'(LW'(head.dwords - 1'b1)) >= LANES;
  assign write_valid = have || tail;
  assign write_last = tail || (head.last && !over);
  assign write_address = {head.address[35:2+LW], (2 + LW)'(0)};
  assign write_rows = 8'((32'(skew) + 32'(head.dwords) + LANES - 1) >> LW);
  assign write_strb = tail ? carry_strb : lanes[KEEP-1:0] | carry_strb;
  for (genvar l = 0; l < LANES; l++) begin : g_lane
    assign write_data[32*l+:32] = below[l] || tail ? carry[32*l+:32] : rotated[32*l+:32];
  end
  assign pop = write_ready && !tail;
  always_ff @(posedge clk) begin
    if (write_valid && write_ready) begin
      tail <= !tail && head.last && over;
      carry <= rotated;
      carry_strb <= write_last ? '0 : lanes[2*KEEP-1:KEEP];
    end
    if (rst || closed) begin
      tail <= 1'b0;
      carry_strb <= '0;
    end
  end
endmodule
