// SPDX-License-Identifier: Apache-2.0
// Streams for all H2C channels: reads what has landed, channel by channel and slot by slot, so that it comes out in full beats.
//
// The landing RAM gives one row a cycle, so one engine is enough. It takes one step a cycle, for one channel: reads a row, and loads the channel's next
// slot beside the last row of the one before, or when there was none. What it knows of a channel stands in LUT memory, a row for each.
//
// Whose turn it is, is chosen a cycle ahead by what each channel wants then. So the channel that has its turn may want nothing more, which
// costs a cycle at most. When none wants anything, the turn goes to the channel for which something landed last: it can begin at once.
//
// A slot's bytes stand in rows of the landing RAM from byte `skew` of the first on, and go on in the beat at the tail from lane `fill` on: so each
// row is turned by the difference, and what falls off its top comes with the next read.
//
// Promises: a channel's slots are read in order, each row once; a channel reads only with room for a beat; it has a turn at least once in as many
// cycles as there are channels, as long as it wants one. A block is given back when nothing is read from it any more, a cycle after the
// first slot of the next one has been loaded.
// The engine does not read all of a slot.
// verilator lint_off UNUSEDSIGNAL
module tp_h2c_stream
  import tp_tlp_pkg::*;
#(
    parameter int DATA_WIDTH = 128,
    parameter int CHANNELS = 1,
    parameter int BLOCKS = 32,
    parameter int BLOCK_BYTES = 512,
    localparam int KEEP = DATA_WIDTH / 8,
    localparam int KW = $clog2(KEEP),
    localparam int CW = CHANNELS > 1 ? $clog2(CHANNELS) : 1,
    localparam int BW = $clog2(BLOCKS),
    localparam int PW = $clog2(BLOCK_BYTES / CPL_BOUNDARY),
    localparam int RW = $clog2(BLOCKS * (BLOCK_BYTES / KEEP)),
    localparam int YW = $clog2(BLOCK_BYTES) + 1,
    localparam int SLOT = BW + PW + YW + 11  // bits of a slot, see tp_h2c, with its verdict
) (
    input logic                clk,
    input logic                rst,
    input logic [CHANNELS-1:0] flush,       // of the channel: loads every slot and reads none; see tp_h2c

    input  logic [CHANNELS-1:0]           next_valid,  // the channel has a slot to stream, ...
    input  logic [CHANNELS-1:0][SLOT-1:0] next,        // ... this
    output logic [CHANNELS-1:0]           next_taken,
    input  logic [CHANNELS-1:0]           room,        // for another beat on its way to the user core
    output logic [CHANNELS-1:0]           spend,       // it is used
    input  logic [CW-1:0]                 landed,      // the channel of what landed last, in the cycle after it did

    output logic [CHANNELS-1:0] back,       // the channel gives a block back, ...
    output logic [BW-1:0]       back_block, // ... this

    output logic          read_valid,
    output logic [CW-1:0] read_channel,
    output logic [RW-1:0] read_row,
    output logic [KW-1:0] read_turn,
    output logic [KW-1:0] read_from,       // the first lane of what is new to the beat
    output logic          read_full,       // this fills or ends the beat
    output logic          read_last,
    output logic [KW:0]   read_bytes,      // in the beat, with read_last
    output logic          read_error,
    output logic [1:0]    read_attributes  // of the message, in the attributes queue
);
  localparam int EDGE = $clog2(CPL_BOUNDARY);

  typedef struct packed {  // as tp_h2c has it
    logic [BW-1:0] block;
    logic [PW-1:0] place;
    logic fresh, empty, last;
    logic [1:0] attributes, skew;
    logic plain, broken;
    logic [YW-1:0] bytes;
    logic drop, cut_off;  // drop the bytes; drop them and end the message with an error
  } slot_t;

  typedef struct packed {
    logic [RW-1:0] row;      // the next one to be read
    logic [KW-1:0] turn, from;
    logic [YW-1-KW:0] left;    // beats that are still to be filled
    logic [KW:0] bytes;
    logic prime;             // the first read only brings what falls off
    logic tail;              // the last read leaves its beat partly filled
    logic over;              // the next read is the last
    logic last, error;
    logic [1:0] attributes;
    logic [KW-1:0] fill;     // bytes in the beat that is being gathered, once all that was loaded has been read
    logic [BW-1:0] oldest;   // the block of the slot that was loaded last
  } state_t;

  // What a reset or a flush ends: a slot is being read; a message is under way to the user core; there is an oldest block.
  logic [CHANNELS-1:0] run, open, owner;

  // ------------------------------------------------------------------------------------------------ whose turn it is
  logic [CW-1:0] at;
  state_t now, after;
  logic step;
  if (CHANNELS == 1) begin : g_single
    state_t state;
    assign at = '0;
    assign now = state;
    always_ff @(posedge clk) if (step) state <= after;
  end else begin : g_several
    (* ram_style = "distributed" *) logic [$bits(state_t)-1:0] states[CHANNELS];
    assign now = states[at];
    always_ff @(posedge clk) if (step) states[at] <= after;

    logic [CHANNELS-1:0] pick;
    tp_round_robin #(
        .N(CHANNELS)
    ) i_turn (
        .clk,
        .rst,
        .request((run & room) | (~run & next_valid)),
        .take(1'b1),
        .grant(pick)
    );
    always_ff @(posedge clk) begin
      at <= pick == '0 ? landed : '0;
      for (int c = 0; c < CHANNELS; c++) if (pick[c]) at <= CW'(c);
    end
  end

  // ------------------------------------------------------------------------------------------------ a step
  slot_t slot;
  logic over, load, moot, starts, closes;  // moot: a closing slot whose message a fault has closed already
  logic [KW-1:0] fill;
  logic [YW-1:0] stop;                        // where the slot's last byte ends, counted from the first lane of the beat at the tail
  assign slot = next[at];
  assign fill = open[at] ? now.fill : '0;
  assign stop = YW'(fill) + slot.bytes;
  assign over = now.over;
  assign load = next_valid[at] && (!run[at] || flush[at] || (read_valid && over));
  assign moot = slot.broken && !open[at];
  assign starts = load && !slot.drop && !moot;
  assign closes = slot.last || slot.cut_off;
  assign step = read_valid || load;

  assign read_valid = run[at] && room[at];
  assign read_channel = at;
  assign read_row = now.row;
  assign read_turn = now.turn;
  assign read_from = now.from;
  assign read_full = !now.prime && (!(over && now.tail) || now.last);
  assign read_last = over && now.last;
  assign read_bytes = now.bytes;
  assign read_error = now.error;
  assign read_attributes = now.attributes;

  always_comb begin
    after = now;
    if (read_valid) begin
      after.row = now.row + 1'b1;
      after.prime = 1'b0;
      after.over = now.prime ? now.left == '0 || (now.left == 1 && !now.tail) : now.left == 1 || (now.left == 2 && !now.tail);
      if (!now.prime) begin
        after.left = now.left - 1'b1;
        after.from = '0;
      end
    end
    if (load && slot.fresh) after.oldest = slot.block;
    if (starts) begin
      after.row = RW'({slot.block, slot.place}) << (EDGE - KW);
      after.turn = fill - KW'(slot.skew);
      after.from = fill;
      after.last = closes;
      after.error = slot.cut_off;
      if (slot.cut_off || slot.empty) begin
        after.prime = 1'b0;
        after.left = '0;
        after.tail = 1'b1;
        after.over = 1'b1;
        after.bytes = (KW + 1)'(fill);
      end else begin
        after.prime = fill < KW'(slot.skew);
        after.left = stop[YW-1:KW];
        after.tail = stop[KW-1:0] != '0;
        after.over = fill >= KW'(slot.skew) && (stop[YW-1:KW] == '0 || (stop[YW-1:KW] == 1 && stop[KW-1:0] == '0));
        after.bytes = stop[KW-1:0] != '0 ? (KW + 1)'(stop[KW-1:0]) : (KW + 1)'(KEEP);
      end
      after.fill = stop[KW-1:0];
      if (!open[at]) after.attributes = slot.attributes;
    end
  end

  for (genvar c = 0; c < CHANNELS; c++) begin : g_channel
    logic its;
    assign its = at == CW'(c);
    assign next_taken[c] = its && load;
    assign spend[c] = its && read_valid && read_full;
    always_ff @(posedge clk) begin
      if (its && read_valid && over) run[c] <= 1'b0;
      if (its && starts) begin
        run[c] <= 1'b1;
        open[c] <= !closes;
      end
      // Nothing is read from the block before any more.
      back[c] <= its && load && slot.fresh && owner[c] && !rst;
      if (its && load && slot.fresh) owner[c] <= 1'b1;
      if (rst || flush[c]) begin
        run[c] <= 1'b0;
        open[c] <= 1'b0;
      end
      if (rst) owner[c] <= 1'b0;
    end
  end
  always_ff @(posedge clk) back_block <= now.oldest;
endmodule
