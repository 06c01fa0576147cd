// SPDX-License-Identifier: Apache-2.0
// One C2H channel: keeps what the user core sends until there is a buffer for it, and fills the writes that tp_plan cuts from buffers.
//
// The beats of a message stand in the sending room (tp_sending_room), each message from a new beat on; where messages end stands in a queue
// beside it. A write to the host carries as much as its plan has room for, or less where the message ends. One cycle (LOOK) finds out
// whether there is as much, in the next one (WRITE) it goes.
//
// A channel alone has the whole room, and counts beats. One of several (SHARED) asks for blocks, one ahead of the beats, and gives each back
// when the last read of it has been made. Its places count on through its own blocks, as if these were the room; tp_sending_room knows where they are.
// A beat then comes in the channel's turn, and the heads of messages stand in a memory of all channels (tp_heads).
//
// Promises: bytes leave in the order they came, each once; a write never crosses 4 KiB nor the end of a message; the end of a
// descriptor is told when its writes have been taken, a message's start before them. Bytes for which there is no buffer stay.
// Without SHARED the ports for blocks are unused, with it the head outputs.
// verilator lint_off UNUSEDSIGNAL
module tp_c2h
  import towpath_pkg::*;
#(
    parameter int DATA_WIDTH = 128,
    parameter int SENDING_BYTES = 8192,     // of the room
    parameter int MESSAGES = 32,            // messages that may stand in the room, a power of two
    parameter bit QUEUE_HEADS = 0,          // as many heads; else two
    parameter bit SHARED = 0,               // other channels use the room, too: ...
    parameter int BLOCK_BYTES = 512,        // ... in blocks, ...
    parameter int HOLD = 8192,              // ... and without a descriptor each keeps so many bytes
    localparam int KEEP = DATA_WIDTH / 8,
    localparam int KW = $clog2(KEEP),
    localparam int BW = $clog2(SENDING_BYTES),
    localparam int LB = SHARED ? $clog2(BLOCK_BYTES) : KW,  // what is given back: blocks, or beats
    localparam int HW = QUEUE_HEADS ? $clog2(MESSAGES) : 1  // of a head's place
) (
    input  logic       clk,
    input  logic       rst,
    input  logic       announce,
    input  logic       paired,              // with another card: it is told of a message when there is a descriptor
    input  logic       flush,
    input  logic       forget,              // drop what has come, as soon as none of it is being read; begin nothing before
    output logic       emptied,             // with either: all blocks have been given back, so it may end
    output logic       idle,                // nothing is being written or told
    output logic [30:0] holds,              // bytes that have come and no write has taken
    output logic        refused,            // a beat finds no room, for longer than the cycle that a message's head may take

    input  logic                  tvalid,
    output logic                  tready,
    input  logic [DATA_WIDTH-1:0] tdata,
    input  logic [KEEP-1:0]       tkeep,
    input  logic                  tlast,
    input  logic [47:0]           tlength,
    input  logic [31:0]           toffset,
    input  logic [31:0]           tuser,

    // into the sending room
    output logic                  ask,      // there is a beat, and a place for it
    input  logic                  turn,     // it may be taken
    output logic                  beat_valid,
    output logic [BW-1:KW]        beat_at,
    output logic [DATA_WIDTH-1:0] beat_data,
    output logic                  get_want,
    output logic                  get_sparing,  // one of the channel's share only
    input  logic                  get_grant,    // of what was wanted a clock ago
    output logic [BW-1:LB]        get_at,
    output logic                  give_valid,
    output logic [BW-1:LB]        give_at,
    input  logic                  give_taken,
    output logic                  head_put,       // the beat begins a message: its head goes ...
    output logic [HW-1:0]         head_put_at,    // ... here; ...
    output logic [HW-1:0]         head_at,        // ... that of the message in hand stands here

    // the descriptor in hand, from tp_front
    input  logic        d_valid,
    input  logic [15:0] d_cookie,
    input  logic        d_over,
    input  logic [ 7:0] d_status,
    input  logic        p_valid,
    input  logic        p_at,
    input  logic        plan_valid,         // tp_plan has made another one, ...
    input  logic [11:0] plan_more,          // ... with room for so many bytes less one, ...
    input  logic        plan_at,            // ... which stands here
    output logic        take,
    output logic        abandon,
    output logic        finish,
    input  logic        stopping,

    // writes. `begun` and `reading`: see tp_writer
    output logic          command_valid,
    input  logic          command_ready,
    output logic [11:0]   command_last,     // bytes - 1
    output logic [BW-1:0] command_from,
    input  logic          begun,
    input  logic          reading,

    // to tp_ring: ends of descriptors and starts of messages
    output logic        entry_valid,
    input  logic        entry_ready,
    output logic        entry_start,
    output logic [31:0] entry_bytes,
    output logic [15:0] entry_cookie,
    output logic [ 7:0] entry_status,
    output logic [47:0] head_length,        // of the message in hand, unless they stand in tp_heads
    output logic [31:0] head_offset,
    output logic [31:0] head_user
);
  if ((SENDING_BYTES & (SENDING_BYTES - 1)) != 0 || SENDING_BYTES < 4 * KEEP)
    $error("%m: SENDING_BYTES %0d: make it a power of two and at least four beats", SENDING_BYTES);

  // ------------------------------------------------------------------------------------------------ in
  logic [BW:KW] wr;                         // beat, with a lap bit
  logic [BW:0] rd;                          // byte, with a lap bit
  logic [BW:LB] freed;                      // what is before it may be overwritten
  logic begun_in;                           // a message's first beat has come, its last has not
  logic ends_ready, end_valid, message_over;
  logic [BW:0] end_at;
  logic room, accept;  // there is a place for a beat
  logic head_valid, waiting, head_room;  // see below
  logic wipe;
  logic [BW:0] present;                     // bytes that no write has taken
  assign wipe = flush || (forget && !reading);

  // tkeep is 2^n - 1, and n is looked for bit by bit: half of the lanes that are left at a time.
  logic [KW-1:0] in_bytes;  // 0 for a whole beat, too
  always_comb begin
    logic [KEEP-1:0] lanes;
    lanes = tkeep;
    for (int k = KW - 1; k >= 0; k--) begin
      in_bytes[k] = lanes[(1<<k)-1] && !tkeep[KEEP-1];
      if (lanes[(1<<k)-1]) lanes >>= 1 << k;
    end
  end
  logic may;
  assign may = room && ends_ready && (begun_in || head_room) && !flush && !forget;
  assign ask = tvalid && may;
  assign tready = may && turn;
  assign accept = tvalid && tready;
  assign beat_valid = accept;
  assign beat_at = wr[BW-1:KW];
  assign beat_data = tdata;

  always_ff @(posedge clk) begin
    if (accept) begin
      begun_in <= !tlast;
      wr <= wr + (BW + 1 - KW)'(tkeep[0]);
    end
    if (rst || wipe) begin
      begun_in <= 1'b0;
      wr <= '0;
    end
    if (!rst && accept) begin
      assert ((tkeep & (tkeep + 1'b1)) == '0)
      else $error("%m: tkeep %b has holes: it must be 2^n - 1", tkeep);
      assert (tlast || (&tkeep))
      else $error("%m: tkeep %b: only a message's last beat may be partial", tkeep);
    end
  end

  tp_fifo #(
      .WIDTH(BW + 1),
      .DEPTH(MESSAGES)
  ) i_ends (
      .clk,
      .rst,
      .clear(wipe),
      .in_valid(accept && tlast),
      .in_ready(ends_ready),
      .in_data({wr + (BW + 1 - KW)'(tkeep[KEEP-1]), in_bytes}),
      .out_valid(end_valid),
      .out_ready(message_over),
      .out_data(end_at),
      .count()
  );

  // The heads of two messages: of the one in hand, and of the next one. A third message waits outside. Where the card is to hold messages
  // until they are worth fetching, the next ones stand in a queue.
  logic [111:0] next_head;
  assign head_put = accept && !begun_in;
  if (SHARED) begin : g_outside
    logic [HW:0] put_at, at;
    assign head_put_at = put_at[HW-1:0];
    assign head_at = at[HW-1:0];
    assign waiting = put_at != at + (HW + 1)'(head_valid);
    assign head_room = put_at != {~at[HW], at[HW-1:0]};
    assign next_head = '0;
    always_ff @(posedge clk) begin
      if (head_put) put_at <= put_at + 1'b1;
      if (message_over) at <= at + 1'b1;
      if (rst || wipe) begin
        put_at <= '0;
        at <= '0;
      end
    end
  end else if (QUEUE_HEADS) begin : g_heads
    assign {head_put_at, head_at} = '0;
    assign head_room = 1'b1;  // MESSAGES that have ended and one that has begun: all but the one in hand fit
    tp_fifo #(
        .WIDTH(112),
        .DEPTH(MESSAGES)
    ) i_heads (
        .clk,
        .rst,
        .clear(wipe),
        .in_valid(head_put),
        .in_ready(),
        .in_data({tlength, toffset, tuser}),
        .out_valid(waiting),
        .out_ready(!head_valid || message_over),
        .out_data(next_head),
        .count()
    );
  end else begin : g_head
    assign {head_put_at, head_at} = '0;
    assign head_room = !waiting;
    always_ff @(posedge clk) begin
      if (head_put) begin
        next_head <= {tlength, toffset, tuser};
        waiting <= 1'b1;
      end
      if (waiting && (!head_valid || message_over)) waiting <= 1'b0;
      if (rst || wipe) waiting <= 1'b0;
    end
  end
  always_ff @(posedge clk) begin
    if (!head_valid || message_over) begin
      {head_length, head_offset, head_user} <= next_head;
      head_valid <= waiting;
    end
    if (rst || wipe) head_valid <= 1'b0;
  end

  // ------------------------------------------------------------------------------------------------ plan
  typedef enum logic [1:0] {
    LOOK,
    START,
    WRITE,
    END
  } state_e;
  state_e state;
  logic announced, ended;
  logic paired_was, changes;  // changes: in this clock; a start announces the message in hand to the new partner
  assign changes = paired != paired_was;
  logic soon;                               // END has just begun: `d_over` follows within the ring's next cycles, as a rule
  logic [31:0] moved;

  logic [11:0] rooms[2];
  always_ff @(posedge clk) if (plan_valid) rooms[plan_at] <= plan_more;

  // Up to where there are bytes at hand: to the message's end, if that is known. One cycle late, so for a cycle after a message's end it is
  // still that end.
  logic whole, stale;
  logic [BW:0] limit;
  always_ff @(posedge clk) begin
    whole <= end_valid;
    limit <= end_valid ? end_at : {wr, {KW{1'b0}}};
    stale <= message_over;
  end

  // LOOK compares the bytes at hand with those that the write may carry, both less one: it takes what there is if the message ends with it, and
  // what the write may carry if there is as much.
  logic [11:0] most;
  logic signed [BW:0] have;                 // -1: nothing
  logic less;                               // have < most, or have <= most with the message's end
  logic fewer, fits, nothing;
  logic [11:0] last;
  assign most = rooms[p_at];
  assign have = limit + ~rd;
  // In a pair a message never ends with the last byte of a slot: every slot ends in one way, which both cards count.
  assign less = $signed((BW + 2)'({most, whole && !paired})) > $signed({have, 1'b0});
  always_ff @(posedge clk)
    if (state == LOOK) begin
      fewer <= less;
      fits <= whole || !less;
      nothing <= have < 0;
      last <= less ? 12'(have) : most;
    end

  always_ff @(posedge clk) begin
    case (state)
      LOOK:
      if (announce && (!paired || d_valid) && head_valid && !announced && !stopping && !flush && !forget) state <= START;
      else if (d_valid && d_over) state <= END;
      else if (p_valid && head_valid && !stale && !stopping && !forget) state <= WRITE;
      START:
      if (entry_ready || changes) begin
        state <= LOOK;
        announced <= 1'b1;
      end
      WRITE:
      if (!fits) begin
        state <= LOOK;
      end else if (command_ready || nothing) begin  // without another byte the message ends at once
        state <= fewer ? END : LOOK;
        ended <= fewer;
      end
      default:  // END
      if (finish) begin
        state <= LOOK;
        ended <= 1'b0;
      end
    endcase
    soon <= state == WRITE;
    if (take) moved <= moved + 32'(last) + 1'b1;
    if (finish) moved <= '0;
    paired_was <= paired;
    if (message_over || changes) announced <= 1'b0;
    if (rst || flush) begin
      state <= LOOK;
      announced <= 1'b0;
      ended <= 1'b0;
      moved <= '0;
    end
  end

  // Each message begins with a beat of its own.
  logic [BW:0] step;
  assign step = take ? (BW + 1)'(last) : (BW + 1)'(KEEP - 1);
  // Beats are free when the reads before the command at `held` are made.
  logic [BW:LB] held;
  always_ff @(posedge clk) begin
    if (take || message_over) rd <= rd + step + (BW + 1)'(take);
    if (message_over) rd[KW-1:0] <= '0;
    if (take || !reading) held <= rd[BW:LB];
    if (rst || wipe) begin
      rd <= '0;
      held <= '0;
    end
  end
  logic soon_room;  // there is none now, but soon
  if (!SHARED) begin : g_alone
    // As it was a cycle ago, when there was room for one more.
    logic full;
    always_ff @(posedge clk) begin
      full <= (BW + 1 - KW)'(wr - freed) >= (BW + 1 - KW)'(SENDING_BYTES / KEEP - 1);
      if (begun || !reading) freed <= held;
      if (rst || wipe) freed <= '0;
    end
    assign room = !full;
    assign soon_room = 1'b0;
    assign emptied = 1'b1;
    assign {get_want, get_sparing, get_at, give_valid, give_at} = '0;
  end else begin : g_shared
    // Blocks: those before `gave` have been given back, those from `got` on not been got.
    logic [BW:LB] got, gave, ahead, kept;
    logic capped;
    assign ahead = got - wr[BW:LB];
    assign kept = got - rd[BW:LB];
    assign room = ahead != '0 && !capped;
    assign soon_room = ahead == '0 && 32'(kept) <= HOLD / BLOCK_BYTES;
    assign emptied = gave == got && !get_grant;
    assign get_want = ahead[BW:LB+1] == '0 && !flush && !forget;
    assign get_sparing = !d_valid;
    assign get_at = got[BW-1:LB];
    assign give_valid = gave != freed;
    assign give_at = gave[BW-1:LB];
    always_ff @(posedge clk) begin
      // With fill levels and no descriptor a channel keeps HOLD bytes at most, as `buffer_bytes` says. As it was a cycle ago, when there was room for one more.
      capped <= QUEUE_HEADS && !d_valid && present > (BW + 1)'(HOLD - 2 * KEEP);
      if (get_grant) got <= got + 1'b1;
      if (give_taken) gave <= gave + 1'b1;
      if (begun || !reading) freed <= wipe ? got : held;  // all blocks go back; then the count begins anew
      if (rst || (wipe && emptied)) begin
        got <= '0;
        gave <= '0;
        freed <= '0;
      end
    end
  end

  // Beats count without the padding of a message's last.
  logic waits;
  always_ff @(posedge clk) begin
    present <= present + (accept ? (BW + 1)'({tkeep[KEEP-1], in_bytes}) : '0) - (take ? (BW + 1)'(last) + 1'b1 : '0);
    waits <= tvalid && !may;
    refused <= waits && tvalid && !may && !soon_room && !rst;
    if (rst || wipe) present <= '0;
  end
  assign holds = 31'(present);

  assign command_valid = state == WRITE && fits && !nothing;
  assign command_last = last;
  assign command_from = rd[BW-1:0];
  assign take = command_valid && command_ready;
  assign finish = state == END && d_over && entry_ready;
  assign message_over = finish && ended;
  assign abandon = ended;                   // a message that ends in the middle of a list
  assign idle = state == LOOK;

  assign entry_valid = state == START || (state == END && (d_over || soon));
  assign entry_start = state == START;
  assign entry_bytes = moved;
  assign entry_cookie = d_cookie;
  assign entry_status = ended ? TP_STATUS_END_OF_MESSAGE : d_status;
endmodule
