// SPDX-License-Identifier: Apache-2.0
// One H2C channel: asks for host memory piece by piece, tells the host what has landed, and streams it to the user core in order.
//
// Every request, inline message and empty message takes a slot in one ring of order slots, which three pointers walk:
//   issue    writes the slot when the request goes out, and reserves the room in the landing RAM where the answer will stand
//   retire   passes it when it has landed: counts bytes, notes faults, hands the descriptor's completion on at its end
//   stream   follows retire, reads the landing RAM into full beats for the user core, and frees room and slot
// Where a descriptor ends stands in a queue of its own, with room for every descriptor that can be posted: so neither retire nor a cancel
// ever waits for the user core. A descriptor is done when it has landed.
//
// Promises: bytes reach the user core in the order of the descriptors, each once; nothing is asked for without room reserved. A fault
// ends its descriptor, closes the message with `error`, and drops what else of that descriptor comes.
// Retire and stream each read a part of a slot.
// verilator lint_off UNUSEDSIGNAL
module tp_h2c
  import towpath_pkg::*;
#(
    parameter int DATA_WIDTH = 128,
    parameter int LANDING_BYTES = 8192,
    parameter int INLINE_SLOTS = 4,
    parameter int QUEUE_DEPTH = 16,         // descriptors posted and not completed, at most
    parameter int SLOTS = 32,               // order slots, a power of two
    parameter int BEATS = 32,               // beats queued towards the user core
    localparam int SW = $clog2(SLOTS),
    localparam int DW = $clog2(LANDING_BYTES) - 2,
    localparam int KEEP = DATA_WIDTH / 8,
    localparam int KW = $clog2(KEEP),
    localparam int BW = $clog2(BEATS)
) (
    input logic clk,
    input logic rst,
    input logic [2:0] max_read,             // 128 << n bytes
    input logic flush,                      // forget everything; only when idle
    output logic idle,                      // nothing is asked for, nothing is waiting to be told

    // the descriptor in hand, from tp_front
    input  logic        d_valid,
    input  logic [15:0] d_cookie,
    input  logic        d_end,
    input  logic        d_inline,
    input  logic        d_over,
    input  logic        d_complete,
    input  logic        d_broken,
    input  logic [ 7:0] d_status,
    input  logic [31:0] d_bytes,
    input  logic [63:0] d_length,
    input  logic [63:0] d_offset,
    input  logic [31:0] d_user,
    input  logic        p_valid,
    input  logic [63:0] p_addr,
    input  logic [31:0] p_bytes,
    output logic        take,
    output logic [12:0] take_bytes,
    output logic        finish,
    input  logic        stopping,
    input  logic [ 7:0] stop_status,

    // inline slots, written by the host
    input logic        inline_valid,
    input logic [11:3] inline_offset,
    input logic [63:0] inline_data,
    input logic [ 7:0] inline_strb,

    // read requests
    output logic          want,
    input  logic          grant,
    output logic [63:0]   want_addr,
    output logic [12:0]   want_bytes,
    output logic [SW-1:0] want_slot,
    output logic [DW-1:0] want_dword,

    // inline data into the landing RAM
    output logic          inject_valid,
    input  logic          inject_ready,
    output logic [DW-1:0] inject_dword,
    output logic [1:0]    inject_dwords,
    output logic [63:0]   inject_data,

    input logic          done_valid,        // for this channel
    input logic [SW-1:0] done_slot,
    input logic [7:0]    done_status,

    // completions
    output logic           entry_valid,
    input  logic           entry_ready,
    output tp_completion_t entry,

    // reads of the landing RAM; the data comes back in put_*, each grant's in order
    output logic            read_want,
    input  logic            read_grant,
    output logic [DW+1:0]   read_byte,
    output logic [KW-1:0]   read_lane,
    output logic [KW:0]     read_bytes,
    output logic            read_full,      // this fills or ends the beat
    output logic            read_last,
    output logic            read_error,
    output logic            read_attributes,  // the message has an entry in the attributes queue
    input  logic                  put_valid,
    input  logic [KEEP-1:0]       put_lanes,
    input  logic [DATA_WIDTH-1:0] put_data,
    input  logic                  put_full,
    input  logic [KW+3:0]         put_meta,  // {bytes, last, error, attributes}

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

  typedef struct packed {
    logic        plain;     // no answer to wait for: counts as landed when it is written
    logic        broken;    // ends the message with an error: something is missing that was never asked for
    logic        last;      // ends the message
    logic        first;     // begins one, with an entry in the attributes queue
    logic [1:0]  skew;      // of the first byte in its dword
    logic [12:0] bytes;
  } slot_t;

  slot_t slots[SLOTS];
  logic [SW:0] issue_at, retire_at, stream_at;
  logic slot_free;
  assign slot_free = (SW + 1)'(issue_at - stream_at) != (SW + 1)'(SLOTS);

  // ------------------------------------------------------------------------------------------------ issue
  // A request is no longer than a quarter of the landing room, so that several are under way, and is cut where its natural boundary
  // lies: then it crosses no 4 KiB edge and its answer starts on a completion boundary.
  localparam int CAP_LOG2 = $clog2(LANDING_BYTES / 4) > 12 ? 12 : $clog2(LANDING_BYTES / 4);
  logic [3:0] cut_log2;
  logic [12:0] to_cut, bytes;
  assign cut_log2 = 4'd7 + 4'(max_read) > 4'(CAP_LOG2) ? 4'(CAP_LOG2) : 4'd7 + 4'(max_read);
  always_comb begin
    to_cut = (13'd1 << cut_log2) - ({1'b0, p_addr[11:0]} & ((13'd1 << cut_log2) - 13'd1));
    bytes = p_bytes < 32'(to_cut) ? 13'(p_bytes) : to_cut;
  end

  logic [DW:0] room_at, room_freed;  // dwords, with a lap bit
  logic [DW:0] room_left;
  logic [12:0] need;                        // dwords
  assign room_left = (DW + 1)'(1 << DW) - (room_at - room_freed);
  assign need = 13'((14'(bytes) + 14'(p_addr[1:0]) + 14'd3) >> 2);

  typedef enum logic [2:0] {
    LOOK,
    ASK,
    COPY,
    NOTE,
    EMPTY,
    END
  } state_e;
  state_e state;
  logic open;                               // a message is under way
  logic attributes_ready, first;
  logic [12:0] copied;                      // dwords of the inline message
  logic last;
  assign first = !open;
  assign last = d_end && 32'(bytes) == d_bytes;

  // A cancel or reset may end a broken descriptor before there is a slot to close its message. The slot is then owed: it is written as
  // soon as there is one, before anything else that needs a slot.
  logic owed, owed_end;
  logic slot_put;
  slot_t slot_new;
  always_comb begin
    slot_put = 1'b0;
    slot_new = '{plain: 1'b0, broken: 1'b0, last: last, first: first, skew: p_addr[1:0], bytes: bytes};
    take = 1'b0;
    finish = 1'b0;
    case (state)
      ASK: begin
        slot_put = grant;
        take = grant;
      end
      NOTE: begin
        slot_put = 1'b1;
        slot_new.plain = 1'b1;
        slot_new.skew = 2'b00;
        take = 1'b1;
      end
      EMPTY: begin
        slot_put = slot_free && (open || attributes_ready);
        slot_new.plain = 1'b1;
        slot_new.broken = d_broken;
        slot_new.last = 1'b1;
        slot_new.skew = 2'b00;
        slot_new.bytes = '0;
      end
      END: finish = 1'b1;                   // there is room for every descriptor's end
      default: ;
    endcase
    if (owed) begin
      slot_put = slot_free;
      slot_new = '{plain: 1'b1, broken: 1'b1, last: 1'b1, first: 1'b0, skew: 2'b00, bytes: '0};
    end
  end
  assign take_bytes = bytes;
  assign want = state == ASK;
  assign want_addr = p_addr;
  assign want_bytes = bytes;
  assign want_slot = issue_at[SW-1:0];
  assign want_dword = room_at[DW-1:0];

  logic had_bytes;                          // of the descriptor in hand
  logic given_up;                           // it was to end a message, but was stopped before
  always_ff @(posedge clk) begin
    case (state)
      LOOK:
      if (d_valid && !slot_put && (!owed || stopping)) begin
        if (d_over) begin
          // A descriptor of no bytes with `end` ends the message by itself.
          // One that broke leaves a message which the core must not take for whole.
          state <= (d_complete && d_end && !had_bytes) || (d_broken && open) ? EMPTY : END;
        end else if (p_valid && !stopping && slot_free && (open || attributes_ready) && 32'(room_left) >= 32'(need)) begin
          state <= d_inline ? COPY : ASK;
        end
      end
      ASK: if (grant || stopping) state <= LOOK;
      COPY: if (inject_ready && copied + 13'd2 >= need) state <= NOTE;
      NOTE: state <= LOOK;
      EMPTY:
      if (owed && slot_put) begin
        state <= LOOK;                      // that closed the message before: this one may not be open at all
      end else if (slot_put || stopping) begin
        state <= END;
        given_up <= !slot_put && !d_broken;
        if (!slot_put && d_broken) begin
          owed <= 1'b1;
          owed_end <= d_end || (owed && owed_end);
        end
      end
      END: if (finish) state <= LOOK;
      default: state <= LOOK;
    endcase
    copied <= state == COPY ? (inject_ready ? copied + 13'd2 : copied) : '0;
    if (slot_put) begin
      issue_at <= issue_at + 1'b1;
      if (owed) begin
        open <= !owed_end;
        owed <= 1'b0;
      end else begin
        open <= slot_new.broken ? !d_end : !slot_new.last;
        had_bytes <= 1'b1;
      end
    end
    if (finish) begin
      had_bytes <= 1'b0;
      given_up <= 1'b0;
    end
    if (take) room_at <= room_at + (DW + 1)'(need);
    if (rst || flush) begin
      state <= LOOK;
      open <= 1'b0;
      had_bytes <= 1'b0;
      given_up <= 1'b0;
      owed <= 1'b0;
    end
    if (rst) begin
      issue_at <= '0;
      room_at <= '0;
    end
  end
  always_ff @(posedge clk) if (slot_put) slots[issue_at[SW-1:0]] <= slot_new;

  logic ends_ready, end_valid;
  logic [SW:0] end_at;                      // the slot before which the descriptor ends
  logic [7:0] end_status;
  logic [15:0] end_cookie;
  tp_fifo #(
      .WIDTH(SW + 25),
      .DEPTH(QUEUE_DEPTH)
  ) i_ends (
      .clk,
      .rst,
      .clear(1'b0),
      .in_valid(finish),
      .in_ready(ends_ready),
      .in_data({issue_at, given_up ? stop_status : d_status, d_cookie}),
      .out_valid(end_valid),
      .out_ready(entry_valid && entry_ready),
      .out_data({end_at, end_status, end_cookie}),
      .count()
  );

  // Inline slots: bytes are written as they come, in any order.
  if (INLINE_SLOTS > 0) begin : g_inline
    localparam int WORDS = INLINE_SLOTS * TP_INLINE_SLOT_BYTES / 8;
    localparam int IW = $clog2(WORDS);
    logic [IW-1:0] word;
    assign word = IW'(p_addr[IW+2:3]) + IW'(copied[12:1]);
    for (genvar b = 0; b < 8; b++) begin : g_byte
      logic [7:0] mem[WORDS];
      always_ff @(posedge clk)
        if (inline_valid && inline_strb[b] && 32'(inline_offset) < 32'(WORDS))
          mem[inline_offset[IW+2:3]] <= inline_data[8*b+:8];
      assign inject_data[8*b+:8] = mem[word];
    end
  end else begin : g_no_inline
    assign inject_data = '0;
  end
  assign inject_valid = state == COPY;
  assign inject_dword = room_at[DW-1:0] + DW'(copied);
  assign inject_dwords = need - copied >= 13'd2 ? 2'd2 : 2'd1;

  // ------------------------------------------------------------------------------------------------ retire
  logic [SLOTS-1:0] landed;
  logic [7:0] statuses[SLOTS];
  logic [1:0] verdicts[SLOTS];              // {drop, error}
  slot_t retire_slot;
  logic [7:0] retire_status, fault;
  logic retire, retire_good;
  logic [31:0] moved;

  assign retire_slot = slots[retire_at[SW-1:0]];
  assign retire_status = retire_slot.plain ? TP_STATUS_DONE : statuses[retire_at[SW-1:0]];
  assign retire_good = retire_status == TP_STATUS_DONE && !retire_slot.broken;
  assign entry_valid = end_valid && end_at == retire_at;
  assign retire = !entry_valid && retire_at != issue_at && (retire_slot.plain || landed[retire_at[SW-1:0]]);
  always_comb begin
    entry = '0;
    entry.bytes = moved;
    entry.cookie = end_cookie;
    entry.status = fault != 0 ? fault : end_status;
  end

  always_ff @(posedge clk) begin
    if (done_valid) statuses[done_slot] <= done_status;
    if (retire) verdicts[retire_at[SW-1:0]] <= {fault != 0, fault == 0 && !retire_good};
  end
  always_ff @(posedge clk) begin
    if (slot_put) landed[issue_at[SW-1:0]] <= 1'b0;
    if (done_valid) landed[done_slot] <= 1'b1;
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
  assign idle = state == LOOK && retire_at == issue_at && !end_valid;

  // ------------------------------------------------------------------------------------------------ stream
  slot_t stream_slot;
  logic [1:0] verdict;
  logic drop, cut;  // drop the bytes; drop them and end the message with an error
  logic message_open;
  logic moot;       // a closing slot whose message a fault has closed already
  logic [12:0] slot_dwords;
  assign stream_slot = slots[stream_at[SW-1:0]];
  assign verdict = verdicts[stream_at[SW-1:0]];
  assign {drop, cut} = verdict;
  assign moot = stream_slot.broken && !message_open;
  assign slot_dwords = 13'((14'(stream_slot.bytes) + 14'(stream_slot.skew) + 14'd3) >> 2);

  logic run, run_last, run_error, run_attributes, run_over, load;
  logic [12:0] run_bytes;                   // left to read
  logic [DW+1:0] run_at;
  logic [DW:0] free_next;                   // where the room of the slots that were loaded ends
  logic [KW-1:0] fill;                      // bytes in the beat that is being gathered
  logic [BW:0] credits;                     // beats which the queue towards the user core has room for

  logic [KW:0] lanes_left;
  assign lanes_left = (KW + 1)'(KEEP) - (KW + 1)'(fill);
  assign read_want = run && credits != 0;
  assign read_byte = run_at;
  assign read_lane = fill;
  assign read_bytes = run_bytes < 13'(lanes_left) ? (KW + 1)'(run_bytes) : lanes_left;
  assign run_over = 13'(read_bytes) == run_bytes;
  assign read_last = run_over && run_last;
  assign read_full = read_last || read_bytes == lanes_left;
  assign read_error = run_error;
  assign read_attributes = run_attributes;
  assign load = stream_at != retire_at && (!run || (read_grant && run_over)) && !flush;

  logic pop;
  assign pop = tvalid && tready;
  always_ff @(posedge clk) begin
    if (read_grant) begin
      run_at <= run_at + (DW + 2)'(read_bytes);
      run_bytes <= run_bytes - 13'(read_bytes);
      fill <= read_full ? '0 : fill + KW'(read_bytes);
      if (run_over) run <= 1'b0;
    end
    // Room is freed when nothing is read from it any more: what was loaded before the slot in hand.
    if (load || !run || (read_grant && run_over)) room_freed <= free_next;
    if (load) begin
      stream_at <= stream_at + 1'b1;
      free_next <= free_next + (DW + 1)'(slot_dwords);
      if (!drop && !moot) begin
        run <= 1'b1;
        run_last <= stream_slot.last || cut;
        run_error <= cut;
        run_bytes <= cut ? '0 : stream_slot.bytes;
        run_at <= {free_next[DW-1:0], stream_slot.skew};
        if (!message_open) run_attributes <= stream_slot.first;
        message_open <= !(stream_slot.last || cut);
      end
    end
    credits <= credits - (BW + 1)'(read_grant && read_full) + (BW + 1)'(pop);
    if (rst || flush) begin
      run <= 1'b0;
      fill <= '0;
      message_open <= 1'b0;
      credits <= (BW + 1)'(BEATS);
      stream_at <= issue_at;
      room_freed <= room_at;
      free_next <= room_at;
    end
    if (rst) begin
      stream_at <= '0;
      room_freed <= '0;
      free_next <= '0;
    end
  end

  // ------------------------------------------------------------------------------------------------ towards the user core
  logic [KW:0] beat_bytes;
  logic beat_attributes;
  tp_beat_fifo #(
      .DATA_WIDTH(DATA_WIDTH),
      .DEPTH(BEATS),
      .META(KW + 4)
  ) i_beats (
      .clk,
      .rst,
      .clear(flush),
      .put_valid,
      .put_lanes,
      .put_data,
      .put_full,
      .put_meta,
      .out_valid(tvalid),
      .out_ready(tready),
      .out_data(tdata),
      .out_meta({beat_bytes, tlast, terror, beat_attributes})
  );
  for (genvar b = 0; b < KEEP; b++) begin : g_keep
    assign tkeep[b] = (KW + 1)'(b) < beat_bytes;
  end

  logic attributes_valid;
  logic [159:0] attributes;
  tp_fifo #(
      .WIDTH(160),
      .DEPTH(16)
  ) i_attributes (
      .clk,
      .rst,
      .clear(flush),
      .in_valid(slot_put && slot_new.first),
      .in_ready(attributes_ready),
      .in_data({d_length, d_offset, d_user}),
      .out_valid(attributes_valid),
      .out_ready(pop && tlast && beat_attributes),
      .out_data(attributes),
      .count()
  );
  assign {tlength, toffset, tuser} = beat_attributes ? attributes : '0;

  always_ff @(posedge clk)
    if (!rst) begin
      assert (!(pop && beat_attributes) || attributes_valid)
      else $error("%m: a message without its attributes");
      assert (!finish || ends_ready)
      else $error("%m: more descriptors end than can be posted");
      assert (!slot_put || slot_free)
      else $error("%m: an order slot was overwritten");
      assert (!done_valid || !landed[done_slot])
      else $error("%m: a request landed twice");
    end
endmodule
