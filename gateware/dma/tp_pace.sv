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
  logic [7:0] most;
  logic [3:0] enough;
  logic started, emptier;
  assign emptier = room != '1 && room > most;
  always_ff @(posedge clk) begin
    enough <= max_payload == '0 ? 4'd8 : 4'd4;
    started <= start;
    if (emptier) most <= room;
    hold <= room != '1 && !emptier && 9'(most - room) + 9'(start) + 9'(started) >= 9'(enough);
    if (rst) begin
      most <= '0;
      hold <= 1'b0;
    end
  end
endmodule
