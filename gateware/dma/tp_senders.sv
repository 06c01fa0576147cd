// SPDX-License-Identifier: Apache-2.0
// All C2H channels: for each its kind's asks (tp_asked) and its bytes (tp_c2h), and the heads of their messages. It only wires.
//
// Promises: those of tp_asked, tp_c2h and tp_heads.
// Where each message's head stands depends on how many channels there are.
// verilator lint_off UNUSEDSIGNAL
module tp_senders
  import towpath_pkg::*;
#(
    parameter int DATA_WIDTH = 128,
    parameter int CHANNELS = 1,
    parameter int SENDING_BYTES = 8192,     // of all of them
    parameter int BLOCK_BYTES = 512,
    parameter int HOLD = 8192,              // of each, without a descriptor
    parameter bit FILL = 0,
    parameter logic [CHANNELS-1:0] ASKED = '0,
    parameter logic [CHANNELS-1:0] AHEAD = '0,
    localparam int KEEP = DATA_WIDTH / 8,
    localparam int KW = $clog2(KEEP),
    localparam int BW = $clog2(SENDING_BYTES),
    localparam int LB = CHANNELS > 1 ? $clog2(BLOCK_BYTES) : KW,
    localparam int CW = CHANNELS > 1 ? $clog2(CHANNELS) : 1
) (
    input  logic clk,
    input  logic rst,
    input  logic [CHANNELS-1:0] announce,
    input  logic [CHANNELS-1:0] paired,
    input  logic [CHANNELS-1:0] enabled,
    input  logic [CHANNELS-1:0] flush,
    output logic [CHANNELS-1:0] emptied,
    output logic [CHANNELS-1:0] idle,
    output logic [CHANNELS-1:0][30:0] holds,
    output logic [CHANNELS-1:0] refused,

    // from and to the user core
    input  logic [CHANNELS-1:0]                 tvalid,
    output logic [CHANNELS-1:0]                 tready,
    input  logic [CHANNELS-1:0][DATA_WIDTH-1:0] tdata,
    input  logic [CHANNELS-1:0][      KEEP-1:0] tkeep,
    input  logic [CHANNELS-1:0]                 tlast,
    input  logic [CHANNELS-1:0][          47:0] tlength,
    input  logic [CHANNELS-1:0][          31:0] toffset,
    input  logic [CHANNELS-1:0][          31:0] tuser,
    input  logic [CHANNELS-1:0][           5:0] tstatus,   // asked: with tlast
    output logic [CHANNELS-1:0]                 ask_valid,
    input  logic [CHANNELS-1:0]                 ask_ready,
    output logic [CHANNELS-1:0]                 ask_cancel,
    output logic [CHANNELS-1:0][          31:0] ask_length,
    output logic [CHANNELS-1:0][          63:0] ask_offset,
    output logic [CHANNELS-1:0][          31:0] ask_user,

    // from and to tp_sending_room
    output logic [CHANNELS-1:0]                 ask,
    input  logic [CHANNELS-1:0]                 turn,
    input  logic [CW-1:0]                       turn_channel,
    output logic [CHANNELS-1:0]                 beat_valid,
    output logic [CHANNELS-1:0][BW-1:KW]        beat_at,
    output logic [CHANNELS-1:0][DATA_WIDTH-1:0] beat_data,
    output logic [CHANNELS-1:0]                 get_want,
    output logic [CHANNELS-1:0]                 get_sparing,
    input  logic [CHANNELS-1:0]                 get_grant,
    output logic [CHANNELS-1:0][BW-1:LB]        get_at,
    output logic [CHANNELS-1:0]                 give_valid,
    output logic [CHANNELS-1:0][BW-1:LB]        give_at,
    input  logic [CHANNELS-1:0]                 give_taken,

    // from and to the fronts, and what tp_plan cuts
    input  logic               [CHANNELS-1:0]       see_prefix,
    input  logic               [CHANNELS-1:0]       see_ask,
    input  logic               [CHANNELS-1:0]       see_none,
    output logic               [CHANNELS-1:0]       see_more,
    output logic               [CHANNELS-1:0]       rewind,
    input  logic               [CHANNELS-1:0]       d_asks,
    input  logic               [63:0]               row_addr,
    input  logic               [31:0]               row_more,
    input  logic               [CHANNELS-1:0]       d_valid,
    input  logic               [CHANNELS-1:0][15:0] d_cookie,
    input  logic               [CHANNELS-1:0]       d_over,
    input  logic               [CHANNELS-1:0][ 7:0] d_status,
    input  logic               [CHANNELS-1:0]       p_valid,
    input  logic               [CHANNELS-1:0]       p_at,
    input  logic               [CHANNELS-1:0]       plan_valid,
    input  logic               [11:0]               plan_more,
    input  logic               [CHANNELS-1:0]       plan_at,
    output logic               [CHANNELS-1:0]       take,
    output logic               [CHANNELS-1:0]       abandon,
    output logic               [CHANNELS-1:0]       finish,
    input  logic               [CHANNELS-1:0]       stopping,

    // from and to tp_writer
    output logic [CHANNELS-1:0]         command_valid,
    input  logic [CHANNELS-1:0]         command_ready,
    output logic [CHANNELS-1:0][11:0]   command_last,
    output logic [CHANNELS-1:0][BW-1:0] command_from,
    input  logic [CHANNELS-1:0]         begun,
    input  logic [CHANNELS-1:0]         reading,

    // from and to tp_ring
    output logic [CHANNELS-1:0]       entry_valid,
    input  logic [CHANNELS-1:0]       entry_ready,
    input  logic [CHANNELS-1:0]       telling,
    output logic [CHANNELS-1:0]       entry_start,
    output logic [CHANNELS-1:0][31:0] entry_bytes,
    output logic [CHANNELS-1:0][15:0] entry_cookie,
    output logic [CHANNELS-1:0][ 7:0] entry_status,
    input  logic [CW-1:0]             head_channel,
    output logic [47:0]               head_length,
    output logic [31:0]               head_offset,
    output logic [31:0]               head_user
);
  localparam int MESSAGES = 32;
  localparam int PLACES = FILL ? MESSAGES : 2;
  logic [CHANNELS-1:0] head_put;
  logic [CHANNELS-1:0][$clog2(PLACES)-1:0] head_put_at, head_at;
  logic [CHANNELS-1:0][47:0] lengths;
  logic [CHANNELS-1:0][31:0] offsets, users;

  for (genvar c = 0; c < CHANNELS; c++) begin : g_channel
    logic valid, ready, forget;
    logic [5:0] said;
    logic [7:0] end_status;
    tp_asked #(
        .ASKED(ASKED[c]),
        .AHEAD(AHEAD[c])
    ) i_asked (
        .clk,
        .rst,
        .flush(flush[c]),
        .see_prefix(see_prefix[c]),
        .see_ask(see_ask[c]),
        .row_addr,
        .row_more,
        .see_none(see_none[c]),
        .see_more(see_more[c]),
        .rewind(rewind[c]),
        .d_valid(d_valid[c]),
        .d_asks(d_asks[c]),
        .p_valid(p_valid[c]),
        .stopping(stopping[c]),
        .finish(finish[c]),
        .finish_over(end_status == TP_STATUS_END_OF_MESSAGE),
        .ask_valid(ask_valid[c]),
        .ask_ready(ask_ready[c]),
        .ask_cancel(ask_cancel[c]),
        .ask_length(ask_length[c]),
        .ask_offset(ask_offset[c]),
        .ask_user(ask_user[c]),
        .in_valid(tvalid[c]),
        .in_ready(tready[c]),
        .in_last(tlast[c]),
        .in_status(tstatus[c]),
        .out_valid(valid),
        .out_ready(ready),
        .status(said),
        .forget,
        .reading(reading[c] || !emptied[c])
    );
    assign entry_status[c] = ASKED[c] && end_status == TP_STATUS_END_OF_MESSAGE && said != '0 ?
        TP_STATUS_KIND_STATUS | 8'(said) : end_status;
    tp_c2h #(
        .DATA_WIDTH(DATA_WIDTH),
        .SENDING_BYTES(SENDING_BYTES),
        .MESSAGES(MESSAGES),
        .QUEUE_HEADS(FILL),
        .SHARED(CHANNELS > 1),
        .BLOCK_BYTES(BLOCK_BYTES),
        .HOLD(HOLD)
    ) i_c2h (
        .clk,
        .rst,
        .announce((announce[c] || paired[c]) && enabled[c] && !ASKED[c]),
        .paired(paired[c]),
        .flush(flush[c]),
        .forget,
        .emptied(emptied[c]),
        .idle(idle[c]),
        .holds(holds[c]),
        .refused(refused[c]),
        .tvalid(valid),
        .tready(ready),
        .tdata(tdata[c]),
        .tkeep(tkeep[c]),
        .tlast(tlast[c]),
        .tlength(tlength[c]),
        .toffset(toffset[c]),
        .tuser(tuser[c]),
        .ask(ask[c]),
        .turn(turn[c]),
        .beat_valid(beat_valid[c]),
        .beat_at(beat_at[c]),
        .beat_data(beat_data[c]),
        .get_want(get_want[c]),
        .get_sparing(get_sparing[c]),
        .get_grant(get_grant[c]),
        .get_at(get_at[c]),
        .give_valid(give_valid[c]),
        .give_at(give_at[c]),
        .give_taken(give_taken[c]),
        .head_put(head_put[c]),
        .head_put_at(head_put_at[c]),
        .head_at(head_at[c]),
        .d_valid(d_valid[c]),
        .d_cookie(d_cookie[c]),
        .d_over(d_over[c]),
        .d_status(d_status[c]),
        .p_valid(p_valid[c] && !(paired[c] && telling[c])),  // a peer has data and entries in their order
        .p_at(p_at[c]),
        .plan_valid(plan_valid[c]),
        .plan_more,
        .plan_at(plan_at[c]),
        .take(take[c]),
        .abandon(abandon[c]),
        .finish(finish[c]),
        .stopping(stopping[c]),
        .command_valid(command_valid[c]),
        .command_ready(command_ready[c]),
        .command_last(command_last[c]),
        .command_from(command_from[c]),
        .begun(begun[c]),
        .reading(reading[c]),
        .entry_valid(entry_valid[c]),
        .entry_ready(entry_ready[c]),
        .entry_start(entry_start[c]),
        .entry_bytes(entry_bytes[c]),
        .entry_cookie(entry_cookie[c]),
        .entry_status(end_status),
        .head_length(lengths[c]),
        .head_offset(offsets[c]),
        .head_user(users[c])
    );
  end

  if (CHANNELS == 1) begin : g_alone
    assign {head_length, head_offset, head_user} = {lengths, offsets, users};
  end else begin : g_heads
    tp_heads #(
        .CHANNELS(CHANNELS),
        .PLACES(PLACES)
    ) i_heads (
        .clk,
        .put(head_put != '0),
        .put_channel(turn_channel),
        .put_at(head_put_at),
        .length(tlength),
        .offset(toffset),
        .user(tuser),
        .channel(head_channel),
        .at(head_at),
        .head_length,
        .head_offset,
        .head_user
    );
  end
endmodule
