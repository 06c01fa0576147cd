// SPDX-License-Identifier: Apache-2.0
// The posted descriptors of all channels, in block RAMs a dword wide.
//
// A channel's descriptors stand in a ring of ROWS, each at its position: {lap, row}. The host's dwords come as turned beats (tp_turn). Words
// of the doorbell go to the position that is filled next, which the channel's front knows (`next_at`); a beat of the batch page goes to the
// position that its address is, modulo two laps. Each dword is marked with the lap of its position. A descriptor that comes out with a dword
// of the lap before is torn: not all of it was written. In the first lap after a restart of the front what stands here from before may pass for
// new. So that a descriptor may be written while others wait, ROWS is twice the queue's depth.
// A row comes out with its length less by one, but for a prefix, whose length is a value.
//
// Promises: a beat is taken as it comes, for ever; what was put can be asked for in the next cycle. A row that is asked for comes two cycles
// after its grant, or as many later as `hold` is given, with `row_valid` for its channel.
module tp_store
  import towpath_pkg::*;
#(
    parameter int DATA_WIDTH = 128,
    parameter int CHANNELS = 2,
    parameter int ROWS = 32,                // for each channel, a power of two, 4 or more
    parameter int INLINE_SLOTS = 4,
    parameter bit LISTS = 1,                // are understood
    parameter bit BLOCK_RAM = 1,            // else LUTs
    localparam int CW = CHANNELS > 1 ? $clog2(CHANNELS) : 1,
    localparam int RW = $clog2(ROWS),
    localparam int PW = RW + 1,             // of a position
    localparam int LANES = DATA_WIDTH / 32,
    localparam int LW = $clog2(LANES)
) (
    input logic clk,
    input logic rst,

    // A beat, turned; in the cycle before, whose it is. Dwords of the doorbell are written two cycles after that, with `put`.
    input logic                    wr_batch,      // it is of the batch page
    input logic [CW-1:0]           wr_channel,
    input logic [11:2]             turned_at,
    input logic [LANES-1:0][31:0]  turned_data,
    input logic [LANES-1:0][ 3:0]  turned_strb,
    input logic                    put,
    input logic                    put_torn,      // its descriptor is torn
    input logic [CHANNELS-1:0][PW-1:0] next_at,

    input  logic                        hold,           // no row comes in this cycle
    input  logic [CHANNELS-1:0]         want,
    input  logic [CHANNELS-1:0][PW-1:0] want_at,
    output logic [CHANNELS-1:0]         grant,
    output logic [CHANNELS-1:0]         row_there,      // a row comes, now or when `hold` ends
    output logic [CHANNELS-1:0]         row_valid,
    output logic [128:0]                row,            // {torn, descriptor}
    output logic                        row_malformed,  // of an unknown kind, or its slot or length is out of range
    output logic                        row_prefix,
    output logic                        row_list,
    output logic                        row_inline,
    output logic                        row_empty       // of length 0
);
  localparam int BANKS = LANES < 4 ? 4 : LANES;
  localparam int PARTS = BANKS / 4;  // descriptors side by side
  localparam int GW = $clog2(PARTS);
  localparam int DW = CW + RW - GW;  // address in a bank
  localparam bit BATCHES = 2 * ROWS <= TP_BATCH_SLOTS_MAX;  // the page has a slot for each position

  if (DATA_WIDTH != 64 && DATA_WIDTH != 128 && DATA_WIDTH != 256 && DATA_WIDTH != 512)
    $error("%m: DATA_WIDTH %0d: make it 64, 128, 256 or 512", DATA_WIDTH);
  if (TP_INLINE_SLOT_BYTES != 64) $error("%m: written for inline slots of 64 bytes, not %0d", TP_INLINE_SLOT_BYTES);
  if (ROWS < 4 || (ROWS & (ROWS - 1)) != 0) $error("%m: ROWS %0d: make it a power of two, 4 or more", ROWS);

  // ------------------------------------------------------------------------------------------------ write
  logic batch_soon, batch;
  logic [CW-1:0] soon_channel, channel;
  logic [LANES-1:0][31:0] data;
  logic [LANES-1:0] any, whole;  // bytes of the lane are written; all of them
  logic [LANES-1:0][11:2] at;  // where the lane's dword goes
  always_ff @(posedge clk) begin
    batch_soon <= wr_batch && BATCHES && !rst;
    soon_channel <= wr_channel;
    batch <= batch_soon && !rst;
    channel <= soon_channel;
    data <= turned_data;
    for (int i = 0; i < LANES; i++) begin
      any[i] <= turned_strb[i] != '0;
      whole[i] <= turned_strb[i] == '1;
      // The first lane is that of `turned_at`; those below it hold dwords of the next row.
      at[i] <= {turned_at[11:2+LW] + (10 - LW)'(32'(turned_at[2+:LW]) > i), LW'(i)};
    end
  end

  logic [PW-1:0] next;
  assign next = next_at[channel];

  // What a descriptor is, is found out dword by dword before it goes in: the way out of a block RAM is slow.
  typedef struct packed {
    logic        lap;
    logic [1:0]  facts;
    logic [31:0] data;
  } dword_t;
  function automatic logic [1:0] facts(input int place, input logic [31:0] value);
    case (place)
      0: facts = {1'b0, value >= 32'(INLINE_SLOTS * TP_INLINE_SLOT_BYTES) || value % TP_INLINE_SLOT_BYTES != 0};  // no slot
      1: facts = {1'b0, value != '0};         // nor with this
      // longer than a slot; empty
      2: facts = {value >= 32'(2 * TP_INLINE_SLOT_BYTES) || (value[6] && value[5:0] != '0), value == '0};
      default: facts = '0;
    endcase
  endfunction

  logic [CHANNELS-1:0] pick;
  logic [DW-1:0] read_at;
  dword_t [BANKS-1:0] found;
  for (genvar b = 0; b < BANKS; b++) begin : g_bank
    localparam int LANE = b % LANES;
    localparam int PUT_LANE = (b % 4) % LANES;
    logic [PW-1:0] position;  // of a batch's dword
    logic here, write;
    dword_t value;
    logic [DW-1:0] write_at;
    assign position = PW'(at[LANE][11:4]);
    assign here = BANKS == LANES || at[LANE][3:2] == 2'(b % 4);
    always_comb begin
      if (batch) begin
        write = whole[LANE] && here;
        write_at = DW'({channel, position[RW-1:0]} >> GW);
      end else begin
        write = put && any[PUT_LANE] && at[PUT_LANE][3:2] == 2'(b % 4);
        if (BANKS > LANES ? !here : GW != 0 && 32'(next[RW-1:0]) % PARTS != b / 4) write = 1'b0;  // another descriptor's part of the row
        write_at = DW'({channel, next[RW-1:0]} >> GW);
      end
      value.data = batch ? data[LANE] : data[PUT_LANE];
      value.lap = batch ? position[RW] : next[RW] ^ (put_torn && b % 4 == 3);
      value.facts = facts(b % 4, value.data);
    end
    if (BLOCK_RAM) begin : g_block
      (* ram_style = "block" *) logic [$bits(dword_t)-1:0] mem[2**DW];
      initial for (int i = 0; i < 2 ** DW; i++) mem[i] = {1'b1, facts(b % 4, '0), 32'd0};
      always_ff @(posedge clk) if (write) mem[write_at] <= value;
      always_ff @(posedge clk) if (!hold) found[b] <= mem[read_at];
    end else begin : g_luts
      (* ram_style = "distributed" *) logic [$bits(dword_t)-1:0] mem[2**DW];
      initial for (int i = 0; i < 2 ** DW; i++) mem[i] = {1'b1, facts(b % 4, '0), 32'd0};
      always_ff @(posedge clk) if (write) mem[write_at] <= value;
      always_ff @(posedge clk) if (!hold) found[b] <= mem[read_at];
    end
  end

  // ------------------------------------------------------------------------------------------------ read
  logic [CW-1:0] reader;
  logic [PW-1:0] wanted;
  tp_round_robin #(
      .N(CHANNELS)
  ) i_turn (
      .clk,
      .rst,
      .request(want),
      .take(!hold),
      .grant(pick)
  );
  always_comb begin
    reader = '0;
    for (int c = 0; c < CHANNELS; c++) if (pick[c]) reader |= CW'(c);
  end
  assign grant = hold ? '0 : pick;
  assign wanted = want_at[reader];
  assign read_at = DW'({reader, wanted[RW-1:0]} >> GW);

  logic lap;                                  // of the row that was asked for
  logic [$clog2(PARTS+1)-1:0] part;           // ... which of those side by side
  dword_t [3:0] d;
  always_comb begin
    d = found[3:0];
    for (int i = 1; i < PARTS; i++) if (32'(part) == i) d = found[4*i+:4];
  end
  logic torn, malformed, prefix;
  logic [3:0] kind;
  // verilator lint_off UNUSEDSIGNAL
  tp_descriptor_t descriptor;  // its cookie and user bits are not used here
  // verilator lint_on UNUSEDSIGNAL
  assign descriptor = {d[3].data, d[2].data, d[1].data, d[0].data};
  assign kind = descriptor.control.kind;
  assign torn = d[0].lap != lap || d[1].lap != lap || d[2].lap != lap || d[3].lap != lap;
  assign prefix = kind == TP_KIND_ATTRIBUTES || kind == TP_KIND_MESSAGE_LENGTH;
  always_comb begin
    malformed = 1'b1;
    if (kind == TP_KIND_DIRECT || (kind == TP_KIND_LIST && LISTS) || prefix) malformed = 1'b0;
    if (kind == TP_KIND_INLINE) malformed = d[0].facts[0] || d[1].facts[0] || d[2].facts[1];
  end

  logic [CHANNELS-1:0] found_valid, shown;
  assign row_valid = hold ? '0 : shown;
  assign row_there = shown;
  always_ff @(posedge clk) begin
    if (!hold) begin
      lap <= wanted[RW];
      part <= ($bits(part))'(32'(wanted[RW-1:0]) % PARTS);
      found_valid <= pick;
      shown <= found_valid;
      row <= {torn, descriptor[127:96], descriptor.length - 32'(!prefix), descriptor[63:0]};
      row_malformed <= malformed;
      row_prefix <= prefix && !torn;
      row_list <= kind == TP_KIND_LIST && LISTS;
      row_inline <= kind == TP_KIND_INLINE;
      row_empty <= d[2].facts[0];
    end
    if (rst) begin
      found_valid <= '0;
      shown <= '0;
    end
  end
endmodule
