// SPDX-License-Identifier: Apache-2.0
// Holds C2H data back while enough of it waits in the block's transmit buffer, so that read requests and answers find it nearly empty.
//
// The block sends packets in the order in which it took them. A read request behind a full buffer of writes waits for all of them, and
// the landing room would have to cover that wait, too. Four packets, or 1 KiB, keep the link busy: one is on the wire, one is coming in, and
// two cover the delay of `room`. An empty buffer is the largest `room` seen since reset.
//
// Promises: `hold` depends on registers only. No packet begins behind `enough` others or more, but for one that came in the cycle before.
// Where the block does not tell its room (all ones), nothing is held back.
module tp_pace (
    input  logic       clk,
    input  logic       rst,
    input  logic [7:0] room,              // packets that still fit into the block's transmit buffer; all ones: unknown
    input  logic [2:0] max_payload,       // 128 << n bytes
    input  logic       start,             // a packet of writes starts in this cycle: `room` does not tell of it yet
    output logic       hold
);
  // `start` comes last in its cycle: so what waits in the block is compared with both outcomes beside it.
  logic [7:0] most;
  logic [8:0] waiting;                       // packets
  logic eight, started, emptier;  // `eight`: of 128 bytes, 1 KiB are eight
  assign emptier = room != '1 && room > most;
  assign waiting = 9'(most - room) + 9'(started);
  always_ff @(posedge clk) begin
    eight <= max_payload == '0;
    started <= start;
    if (emptier) most <= room;
    hold <= room != '1 && !emptier && (start ? waiting >= (eight ? 9'd7 : 9'd3) : waiting >= (eight ? 9'd8 : 9'd4));
    if (rst) begin
      most <= '0;
      hold <= 1'b0;
    end
  end
endmodule
