// SPDX-License-Identifier: Apache-2.0
// One H2C channel: asks for host memory piece by piece, tells the host what has landed, and shows it to the user core in order.
//
// Every request, inline message and empty message takes a slot in one ring of order slots, which three pointers walk:
//   issue    writes the slot when the request goes out, with the place in the landing RAM where the answer will stand
//   retire   passes it when it has landed: counts bytes, notes faults, hands the descriptor's completion on at its end
//   stream   follows retire: tp_h2c_stream takes the slot, and reads the landing RAM into full beats for the user core
// Places are in blocks that the channel gets from tp_blocks: one after the other in its newest block, as long as the next one fits. The
// first slot since a block has come is `fresh`: with it, the block before is given back. So a channel at rest holds one block, or two.
//
// Where a descriptor ends stands in a queue of its own, with room for every descriptor that can be posted: so neither retire nor a cancel
// ever waits for the user core. A descriptor is done when it has landed.
//
// While the message of the slots is open, one slot is kept for its end: so a message can be closed at any time, and closing waits for nothing.
//
// Promises: bytes reach the user core in the order of the descriptors, each once; nothing is asked for without a place of its own. A fault
// ends its descriptor, closes the message with `error`, and drops what else of that descriptor comes; nothing more of it is asked for once
// the fault has been noted.
// Retire and stream each read a part of a slot.
// verilator lint_off UNUSEDSIGNAL
module tp_h2c
  import tp_tlp_pkg::*;
  import towpath_pkg::*;
#(
    parameter int DATA_WIDTH = 128,
    parameter int BLOCKS = 32,              // of the landing RAM
    parameter int BLOCK_BYTES = 512,
    parameter int QUEUE_DEPTH = 16,         // descriptors posted and not completed, at most
    parameter int SLOTS = 32,               // order slots, a power of two
    parameter int BEATS = 32,               // beats queued towards the user core
    localparam int SW = $clog2(SLOTS),
    localparam int KEEP = DATA_WIDTH / 8,
    localparam int KW = $clog2(KEEP),
    localparam int BW = $clog2(BLOCKS),
    localparam int PW = $clog2(BLOCK_BYTES / CPL_BOUNDARY),    // place in a block
    localparam int YW = $clog2(BLOCK_BYTES) + 1                // of a slot's bytes
) (
    input  logic clk,
    input  logic rst,
    input  logic flush,                     // forget everything, until `flushed`; only when idle
    output logic flushed,                   // every slot has been passed, and its block given back but for the newest two
    output logic idle,                      // nothing is asked for, nothing is waiting to be told
    output logic [30:0] holds,              // bytes that have landed, for the user core, and that it has not taken

    // the descriptor in hand, from tp_front
    input  logic        d_valid,
    input  logic [15:0] d_cookie,
    input  logic        d_end,
    input  logic        d_inline,
    input  logic        d_empty,
    input  logic        d_over,
    input  logic        d_broken,
    input  logic [ 7:0] d_status,
    input  logic [ 1:0] d_attributes,       // the message has: {a length, others}; both came before, to tp_attributes
    input  logic        p_valid,
    input  logic        p_last,
    input  logic        p_at,
    input  logic        plan_valid,         // tp_plan has made another plan, ...
    input  logic [11:0] plan_more,          // ... a read of so many bytes less one, ...
    input  logic        plan_at,            // ... which stands here
    output logic        take,
    output logic        abandon,
    output logic        finish,
    input  logic        stopping,

    // attributes come: see tp_attributes
    input logic        length_put,
    input logic [63:0] length_in,
    input logic        other_put,
    input logic [95:0] other_in,

    // an inline descriptor comes in hand: where its bytes stand, and how many they are less one
    input logic       row_valid,
    input logic [8:0] row_word,
    input logic [6:0] row_more,

    // blocks
    output logic          block_want,
    output logic          block_sparing,    // it is for a read
    input  logic          block_grant,
    input  logic [BW-1:0] block,

    // read requests
    output logic             want,
    input  logic             grant,
    input  logic [12:0]      grant_bytes,
    input  logic [1:0]       grant_skew,    // of the address
    output logic             in_line,       // reads are out, more are to follow, and the core takes what comes: see tp_weighted
    output logic [SW-1:0]    want_slot,
    output logic [BW+PW-1:0] want_place,    // in units of a completion boundary

    // inline words on their way into the landing RAM, each to a place
    output logic             copy_want,
    input  logic             copied,
    output logic [8:0]       copy_word,
    output logic [BW+PW-1:0] copy_place,

    input logic          done_valid,        // for this channel
    input logic [SW-1:0] done_slot,
    input logic [7:0]    done_status,

    // completions
    output logic           entry_valid,
    input  logic           entry_ready,
    output tp_completion_t entry,
    output logic           entry_ends,      // it ended its message, which the user core gets whole

    // towards tp_h2c_stream
    output logic                  next_valid,  // a slot has been passed by retire, ...
    output logic [BW+PW+YW+10:0]  next,        // ... this, with its verdict
    input  logic                  next_taken,
    output logic                  room,        // for another beat, beside all that are on their way
    input  logic                  spend,       // it is used
    input  logic                  put_valid,
    input  logic [KW-1:0]         put_from,
    input  logic [DATA_WIDTH-1:0] put_data,
    input  logic                  put_full,
    input  logic [KW+4:0]         put_meta,  // {last, bytes, error, attributes}

    // towards the user core
    output logic                  tvalid,
    input  logic                  tready,
    output logic [DATA_WIDTH-1:0] tdata,
    output logic [KEEP-1:0]       tkeep,
    output logic                  tlast,
    output logic                  terror,
    output logic [63:0]           tlength,
    output logic [63:0]           toffset,
    output logic [31:0]           tuser
);
  if (SLOTS < 8 || (SLOTS & (SLOTS - 1)) != 0) $error("%m: SLOTS %0d: make it a power of two, 8 or more", SLOTS);

  typedef struct packed {  // what retire reads stands together: so it is in fewer look-up tables
    logic [BW-1:0] block;
    logic [PW-1:0] place;  // in the block
    logic fresh;  // the first in its block
    logic empty;  // no bytes and no place: only ends a message
    logic last;  // ends the message
    logic [1:0] attributes;  // begins one, which has these: see d_attributes
    logic [1:0] skew;  // of the first byte in its row
    logic plain;  // no answer to wait for: counts as landed when it is written
    logic broken;  // ends the message with an error: something is missing that was never asked for
    logic [YW-1:0] bytes;
  } slot_t;

  logic [$bits(slot_t)-1:0] slots[SLOTS];
  logic [SW:0] issue_at, retire_at, stream_at;
  // As they were a cycle ago. Two slots may be put in adjacent cycles only where the first leaves its message open; so `slot_spare` allows
  // for one that was put since, and `slot_free` need not.
  logic slot_free, slot_spare;  // there is one; there is another after it
  always_ff @(posedge clk) begin
    slot_free <= (SW + 1)'(issue_at - stream_at) != (SW + 1)'(SLOTS) && !rst;
    slot_spare <= (SW + 1)'(issue_at - stream_at) < (SW + 1)'(SLOTS - 2) && !rst;
  end

  // ------------------------------------------------------------------------------------------------ issue
  // What is read is cut by tp_plan so that it can land in rows. Places are counted in completion boundaries. A word of an inline message
  // has a place of its own.
  localparam int EDGE = $clog2(CPL_BOUNDARY);
  localparam int WORD = 8;  // bytes of an inline message that are copied at once

  logic [PW:0] needs[2];  // places of the plans that wait, less one
  logic [BW-1:0] newest;  // the block in which the next place is, ...
  logic [PW:0] used;      // ... after so many others; no room is left if there is no block
  logic [PW:0] behind;    // the place behind the plan's last but one
  logic fits, word_fits;
  logic fits_now, settled;  // `fits` is as of a cycle ago: it holds if nothing that it depends on has changed since
  logic begun;  // a slot has come since the block has
  always_ff @(posedge clk) if (plan_valid) needs[plan_at] <= (PW + 1)'(plan_more >> EDGE);
  assign behind = used + needs[p_at];
  assign word_fits = !used[PW];
  assign fits_now = !behind[PW];

  typedef enum logic [2:0] {
    LOOK,
    ASK,
    COPY,
    EMPTY,
    END
  } state_e;
  state_e state;
  assign block_want = (state == LOOK || state == COPY) && p_valid && !d_empty && (d_inline ? !word_fits : settled && !fits);
  assign block_sparing = !d_inline;
  logic open;                               // a message is under way for the host
  logic unclosed;                           // ... and in the slots: a slot is kept for its end
  logic attributes_ready, first;
  logic last;
  logic slot_ready, copy_ready;  // a slot, and after it the one that ends the message
  assign first = !open;

  // What is taken in this cycle: a request, or a word of an inline message.
  logic [6:0] inline_more;                  // bytes that are still to be copied, less one
  logic copy_all;                           // the word is the message's last
  logic [YW-1:0] now;
  logic now_all;
  always_comb begin
    now = grant_bytes[YW-1:0];
    now_all = p_last;
    if (state == COPY) begin
      now = copy_all ? YW'(inline_more[2:0]) + 1'b1 : YW'(WORD);
      now_all = copy_all;
    end
  end
  assign last = d_end && now_all;
  assign slot_ready = d_end && p_last ? slot_free : slot_spare;
  assign copy_ready = d_end && copy_all ? slot_free : slot_spare;
  always_ff @(posedge clk) begin
    if (row_valid) begin
      copy_word <= row_word;
      inline_more <= row_more;
      copy_all <= row_more < 7'(WORD);
    end else if (copied) begin
      copy_word <= copy_word + 1'b1;
      inline_more <= inline_more - 7'(WORD);
      copy_all <= inline_more[6:3] == 4'd1;
    end
    if (rst) begin
      inline_more <= '1;
      copy_all <= 1'b0;
    end
  end

  logic slot_put, reserve;
  slot_t slot_new;
  always_comb begin
    slot_put = 1'b0;
    reserve = 1'b0;
    slot_new = '{
        block: newest,
        place: used[PW-1:0],
        fresh: !begun,
        plain: 1'b0,
        empty: 1'b0,
        broken: 1'b0,
        last: last,
        attributes: first ? d_attributes : '0,
        skew: grant_skew,
        bytes: now
    };
    take = 1'b0;
    finish = 1'b0;
    case (state)
      ASK: begin
        slot_put = grant;
        reserve = grant;
        take = grant;
      end
      COPY: begin
        slot_put = copied;
        slot_new.plain = 1'b1;
        slot_new.skew = 2'b00;
        reserve = copied;
        take = copied && copy_all;
      end
      EMPTY: begin
        slot_put = 1'b1;
        slot_new.plain = 1'b1;
        slot_new.empty = 1'b1;
        slot_new.broken = d_broken;
        slot_new.last = 1'b1;
        slot_new.bytes = '0;
        take = !d_broken;
      end
      END: finish = 1'b1;                   // there is room for every descriptor's end
      default: ;
    endcase
  end
  assign want = state == ASK;
  assign want_slot = issue_at[SW-1:0];
  assign want_place = {newest, used[PW-1:0]};

  // A descriptor that broke leaves a message which the core must not take for whole: EMPTY closes it, too.
  logic begin_plan;
  assign begin_plan = p_valid && !stopping && !abandon && (open || d_attributes == '0 || attributes_ready);
  always_ff @(posedge clk) begin
    fits <= fits_now;
    settled <= !(plan_valid || take || reserve || block_grant);
    case (state)
      LOOK:
      if (d_valid) begin
        if (d_over) state <= d_broken && unclosed ? EMPTY : END;
        else if (begin_plan && d_empty && (unclosed || slot_free)) state <= EMPTY;
        else if (begin_plan && !d_empty && slot_ready && (d_inline ? word_fits : settled && fits)) state <= d_inline ? COPY : ASK;
      end
      ASK: if (grant || stopping || abandon) state <= LOOK;
      COPY: if (copied ? copy_all : stopping) state <= LOOK;
      EMPTY: state <= d_broken ? END : LOOK;
      default: state <= LOOK;
    endcase
    if (slot_put) begin
      issue_at <= issue_at + 1'b1;
      begun <= 1'b1;
      open <= slot_new.broken ? !d_end : !slot_new.last;
      unclosed <= !slot_new.last;
    end
    // The message is closed towards the core. With `end`, the next descriptor begins another one.
    if (finish && (abandon || d_broken) && d_end) begin
      open <= 1'b0;
      unclosed <= 1'b0;
    end
    if (reserve) used <= (state == COPY ? used : behind) + 1'b1;
    if (block_grant) begin
      newest <= block;
      used <= '0;
      begun <= 1'b0;
    end
    if (rst || flush) begin
      state <= LOOK;
      open <= 1'b0;
      unclosed <= 1'b0;
    end
    if (rst) begin
      issue_at <= '0;
      used <= (PW + 1)'(2 ** PW);
      begun <= 1'b1;
    end
  end
  always_ff @(posedge clk) if (slot_put) slots[issue_at[SW-1:0]] <= slot_new;

  logic ends_ready, end_valid, end_ends;
  logic [$clog2(QUEUE_DEPTH):0] ends;       // of descriptors that have not been told
  logic [SW:0] end_at;                      // the slot before which the descriptor ends
  logic [3:0] end_status;                   // every status is below 16
  logic [15:0] end_cookie;
  tp_fifo #(
      .WIDTH(SW + 22),
      .DEPTH(QUEUE_DEPTH)
  ) i_ends (
      .clk,
      .rst,
      .clear(1'b0),
      .in_valid(finish),
      .in_ready(ends_ready),
      .in_data({issue_at, d_end && d_status == TP_STATUS_DONE, d_status[3:0], d_cookie}),
      .out_valid(end_valid),
      .out_ready(entry_valid && entry_ready),
      .out_data({end_at, end_ends, end_status, end_cookie}),
      .count(ends)
  );

  assign copy_want = state == COPY && copy_ready && word_fits;
  assign copy_place = want_place;

  // ------------------------------------------------------------------------------------------------ retire
  // A slot's answer has landed when its two bits differ: one is made equal when the slot is written, the other different when the answer
  // has come. So each stands in LUT memory with a writer of its own.
  (* ram_style = "distributed" *) logic asked[SLOTS];
  (* ram_style = "distributed" *) logic answered[SLOTS];
  initial  // not unknown; any values will do
    for (int i = 0; i < SLOTS; i++) begin
      asked[i] = 1'b0;
      answered[i] = 1'b0;
    end
  logic landed;
  assign landed = asked[retire_at[SW-1:0]] != answered[retire_at[SW-1:0]];
  logic [3:0] statuses[SLOTS];
  logic [1:0] verdicts[SLOTS];              // {drop, error}
  slot_t retire_slot;
  logic [3:0] retire_status, fault;
  logic retire, retire_good;
  // All of the oldest descriptor that has not been told has been passed; or that is not known yet, as the one before has just been told. Where its
  // end has just come, there is no slot behind it yet.
  logic at_end, here;
  logic [31:0] moved;

  assign retire_slot = slots[retire_at[SW-1:0]];
  assign retire_status = retire_slot.plain ? 4'(TP_STATUS_DONE) : statuses[retire_at[SW-1:0]];
  assign retire_good = retire_status == 4'(TP_STATUS_DONE) && !retire_slot.broken;
  assign here = end_valid && end_at == retire_at;
  assign retire = !at_end && retire_at != issue_at && (retire_slot.plain || landed);
  always_comb begin
    entry = '0;
    entry.bytes = moved;
    entry.cookie = end_cookie;
    entry.status = 8'(fault != 0 ? fault : end_status);
  end
  assign entry_ends = end_ends && fault == '0;

  always_ff @(posedge clk) begin
    if (slot_put) asked[issue_at[SW-1:0]] <= answered[issue_at[SW-1:0]];
    if (done_valid) answered[done_slot] <= !asked[done_slot];
    if (done_valid) statuses[done_slot] <= done_status[3:0];
    if (retire) verdicts[retire_at[SW-1:0]] <= {fault != 0, fault == 0 && !retire_good};
  end
  always_ff @(posedge clk) begin
    entry_valid <= here && !(entry_valid && entry_ready) && !rst;
    // `retire` comes last in its cycle: so both outcomes are made ready beside it.
    at_end <= (retire ? end_valid && end_at == retire_at + 1'b1 : here) && !rst;
    if (retire) begin
      retire_at <= retire_at + 1'b1;
      if (fault == 0) begin
        if (retire_good) moved <= moved + 32'(retire_slot.bytes);
        else if (!retire_slot.broken) fault <= retire_status;  // else the descriptor's own status tells
      end
    end
    if (entry_valid && entry_ready) begin
      moved <= '0;
      fault <= '0;
    end
    if (rst) begin
      retire_at <= '0;
      moved <= '0;
      fault <= '0;
    end
  end
  // With no other descriptor's end to come, the fault is of the one in hand.
  always_ff @(posedge clk) abandon <= fault != '0 && ends == '0 && !finish && !rst;
  assign idle = state == LOOK && retire_at == issue_at && !end_valid;

  // ------------------------------------------------------------------------------------------------ stream
  logic [$clog2(BEATS):0] credits;  // beats that the queue towards the user core has room for, less one: the top bit says: none
  logic pop;
  assign next_valid = stream_at != retire_at;
  assign next = {slots[stream_at[SW-1:0]], verdicts[stream_at[SW-1:0]]};
  assign room = !credits[$clog2(BEATS)];
  assign flushed = stream_at == issue_at;
  assign pop = tvalid && tready;
  always_ff @(posedge clk) begin
    if (next_taken) stream_at <= stream_at + 1'b1;
    credits <= credits - ($bits(credits))'(spend) + ($bits(credits))'(pop);
    if (rst || flush) credits <= ($bits(credits))'(BEATS - 1);
    if (rst) stream_at <= '0;
  end

  // ------------------------------------------------------------------------------------------------ weights
  // Between two wishes, or two descriptors, the channel stands in line for some clocks more. One whose core leaves half of its queue full does not.
  logic [3:0] lately;
  always_ff @(posedge clk) begin
    lately <= p_valid && !d_inline && !d_empty ? '1 : lately == '0 ? '0 : lately - 1'b1;
    in_line <= lately != '0 && retire_at != issue_at && room && 32'(credits) >= BEATS / 2 && !rst;
  end

  // ------------------------------------------------------------------------------------------------ towards the user core
  logic [KW:0] beat_bytes;
  logic [1:0] beat_attributes;
  tp_beat_fifo #(
      .DATA_WIDTH(DATA_WIDTH),
      .DEPTH(BEATS),
      .META(KW + 5)
  ) i_beats (
      .clk,
      .rst,
      .clear(flush),
      .put_valid,
      .put_from,
      .put_data,
      .put_full,
      .put_meta,
      .out_valid(tvalid),
      .out_ready(tready),
      .out_data(tdata),
      .out_meta({tlast, beat_bytes, terror, beat_attributes})
  );
  // What retire counts for the host and does not drop reaches the core, and nothing else does.
  localparam int HOLDS = $clog2(BLOCKS * BLOCK_BYTES + (BEATS + 8) * KEEP);
  logic [HOLDS-1:0] held;
  always_ff @(posedge clk) begin
    held <= held + (retire && fault == '0 && retire_good ? HOLDS'(retire_slot.bytes) : '0) -
        (!pop ? '0 : tlast ? HOLDS'(beat_bytes) : HOLDS'(KEEP));
    if (rst || flush) held <= '0;
  end
  assign holds = 31'(held);
  for (genvar b = 0; b < KEEP; b++) begin : g_keep
    assign tkeep[b] = !tlast || (KW + 1)'(b) < beat_bytes;
  end

  tp_attributes i_attributes (
      .clk,
      .rst,
      .clear(flush),
      .length_put,
      .length_in,
      .other_put,
      .other_in,
      .ready(attributes_ready),
      .note(slot_put && slot_new.attributes != '0),
      .length_show(tvalid && beat_attributes[1]),
      .other_show(tvalid && beat_attributes[0]),
      .pop(pop && tlast && beat_attributes != '0),
      .length_out(tlength),
      .other_out({toffset, tuser})
  );

  always_ff @(posedge clk)
    if (!rst) begin
      assert (!(finish && d_status[7:4] != '0) && !(done_valid && done_status[7:4] != '0))
      else $error("%m: a status beyond 15");
      assert (!grant || 32'(grant_bytes) <= BLOCK_BYTES)
      else $error("%m: a read of %0d bytes", grant_bytes);
      assert (!finish || ends_ready)
      else $error("%m: more descriptors end than can be posted");
      assert (!slot_put || (SW + 1)'(issue_at - stream_at) != (SW + 1)'(SLOTS))
      else $error("%m: an order slot was overwritten");
      assert (!done_valid || asked[done_slot] == answered[done_slot])
      else $error("%m: a request landed twice");
    end
endmodule
