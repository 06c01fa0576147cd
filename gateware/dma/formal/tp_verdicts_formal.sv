// SPDX-License-Identifier: Apache-2.0
// tp_verdicts: each descriptor is told once, in order, with its own cookie; one that ended its message whole is told with the verdict on
// that message or, if it was committed before a cancel or stands in a reset, without; never with another's. A descriptor that a cancel
// covers never waits for the kind. One descriptor is watched, any, and the verdict on its message.
// Shown from reset on, for a number of cycles.
// Assumed: no more than QUEUE_DEPTH descriptors have ended in the front and have not been told; they come in the order of their ends; a
// cancel covers those that ended before its last cycle, in which none ends (tp_front); the kind gives a verdict on each message that owes one, after its descriptor has ended, and
// no more; a flush comes when nothing is held, and the kind forgets.
module tp_verdicts_formal
  import towpath_pkg::*;
#(
    parameter int QUEUE_DEPTH = 2,
    parameter int CW = 4,  // of a count: more than the cycles that are looked at
    localparam int AW = $clog2(QUEUE_DEPTH)
) (
    input logic clk,
    input logic rst,
    input logic flush,
    input logic cancelling,
    input logic resetting,
    input logic finish,
    input logic in_valid,
    input logic in_owes,
    input logic end_valid,
    input logic [5:0] end_status,
    input logic out_ready,
    input logic watch
);
  logic in_ready, end_ready, out_valid, empty;
  logic [15:0] in_cookie, out_cookie;
  logic [31:0] out_bytes;
  logic [7:0] out_status;
  tp_verdicts #(
      .QUEUE_DEPTH(QUEUE_DEPTH)
  ) dut (
      .in_bytes({16'd0, in_cookie}),
      .in_status(TP_STATUS_DONE),
      .*
  );

  // ------------------------------------------------------------------------------------------------ what is around it
  logic started = 1'b0;
  logic [CW-1:0] ended, come, told;  // descriptors since the reset
  logic [CW-1:0] owed, given;  // verdicts
  logic put, get, said;
  assign put = in_valid && in_ready;
  assign get = out_valid && out_ready;
  assign said = end_valid && end_ready;
  assign in_cookie = 16'(come);
  always_ff @(posedge clk) begin
    started <= 1'b1;
    ended <= ended + CW'(finish);
    come <= come + CW'(put);
    told <= told + CW'(get);
    owed <= owed + CW'(put && in_owes);
    given <= given + CW'(said);
    if (rst) {ended, come, told, owed, given} <= '0;
    if (flush) {owed, given} <= '0;
  end
  always_comb begin
    if (!started) assume (rst);
    if (finish) assume (CW'(ended - told) < CW'(QUEUE_DEPTH));
    if (in_valid) assume (come != ended);
    if (end_valid) assume (owed != given);
    if (flush) assume (empty && come == ended && !in_valid && !end_valid && !finish && !cancelling);
  end

  // ------------------------------------------------------------------------------------------------ what is watched
  logic waits;  // the watched descriptor is held
  logic owes, verdict_known;
  logic [5:0] verdict;
  logic [CW-1:0] number, place;  // of the descriptor; of its message among those that owe a verdict
  logic cancelling_was, finish_was;
  logic cancels, covered;  // the last cancel covered descriptors before `until`; the watched one among them
  logic [CW-1:0] until_number;
  assign covered = waits && (cancelling || (cancels && CW'(until_number - number - 1'b1) < CW'(2 ** (CW - 1))));
  always_comb if (cancelling_was && !cancelling) assume (!finish_was);
  always_ff @(posedge clk) begin
    cancelling_was <= cancelling && !rst;
    finish_was <= finish;
    if (cancelling) begin
      cancels <= 1'b1;
      until_number <= ended;
    end
    if (put && watch && !waits) begin
      waits <= 1'b1;
      owes <= in_owes;
      number <= come;
      place <= owed;
    end
    if (get && out_cookie[CW-1:0] == number) waits <= 1'b0;
    if (rst || flush) cancels <= 1'b0;
    if (rst) waits <= 1'b0;
  end
  always_comb
    if (started) begin
      if (out_valid) assert (out_bytes[15:0] == out_cookie);
      if (get) assert (out_cookie[CW-1:0] == told);
      if (get && waits && out_cookie[CW-1:0] == number) begin
        if (!owes)
          assert (out_status == TP_STATUS_DONE);
          else if (said && given == place)
            assert (out_status == (end_status == '0 ? TP_STATUS_DONE : TP_STATUS_KIND_STATUS | 8'(end_status)));
            else begin
              assert (covered || resetting);
              assert (out_status == (resetting ? TP_STATUS_RESET : TP_STATUS_CANCELLED));
            end
      end
      // Its verdict is taken with it, or after it has been told without: never before.
      if (waits && owes && said && given == place) assert (get && out_cookie[CW-1:0] == number);
      // Nobody who is covered waits for the kind.
      if (waits && covered && told == number && !dut.g_hold.paused) assert (out_valid);
      cover (get && waits && owes && covered && !end_valid);
      cover (get && waits && owes && said && given == place && given > CW'(1));
    end
endmodule
