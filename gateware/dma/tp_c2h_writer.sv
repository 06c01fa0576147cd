// SPDX-License-Identifier: Apache-2.0
// Serves the C2H channels in turn: reads their bytes out of the sending RAM and forms memory writes; passes their entries to the ring.
//
// Promises: commands of one channel leave in order; an entry leaves after the last beat of the writes before it was accepted. A command is
// taken only when every read for the one before it has been made.
module tp_c2h_writer
  import tp_tlp_pkg::*;
  import towpath_pkg::*;
#(
    parameter int DATA_WIDTH = 128,
    parameter int CHANNELS = 1,             // C2H channels
    parameter int SENDING_BYTES = 8192,
    localparam int CW = CHANNELS > 1 ? $clog2(CHANNELS) : 1,
    localparam int KEEP = DATA_WIDTH / 8,
    localparam int KW = $clog2(KEEP),
    localparam int BW = $clog2(SENDING_BYTES),
    localparam int REGIONS = 2 ** $clog2(CHANNELS),
    localparam int AW = $clog2(SENDING_BYTES * REGIONS)
) (
    input logic clk,
    input logic rst,
    input logic relaxed,

    input  logic           [CHANNELS-1:0]         command_valid,
    output logic           [CHANNELS-1:0]         command_ready,
    input  logic           [CHANNELS-1:0]         command_is_entry,
    input  tp_completion_t [CHANNELS-1:0]         command_entry,
    input  logic           [CHANNELS-1:0][63:0]   command_addr,
    input  logic           [CHANNELS-1:0][12:0]   command_bytes,
    input  logic           [CHANNELS-1:0][BW-1:0] command_from,
    output logic           [CHANNELS-1:0]         reading,

    input logic [CHANNELS-1:0]                  write_want,
    output logic [CHANNELS-1:0]                 write_grant,
    input logic [CHANNELS-1:0][BW-1:KW]         write_beat,
    input logic [CHANNELS-1:0][DATA_WIDTH-1:0]  write_data,

    output logic           entry_valid,
    input  logic           entry_ready,
    output logic [CW-1:0]  entry_channel,
    output tp_completion_t entry,

    output logic                  posted_valid,
    input  logic                  posted_ready,
    output tp_write_hdr_t         posted_hdr,
    output logic [DATA_WIDTH-1:0] posted_data,
    output logic                  posted_last
);
  // ------------------------------------------------------------------------------------------------ in: one beat a cycle, in turn
  logic [AW-1:0] in_at;
  logic [DATA_WIDTH-1:0] in_data;
  tp_round_robin #(
      .N(CHANNELS)
  ) i_in (
      .clk,
      .rst,
      .request(write_want),
      .take(|write_want),
      .grant(write_grant)
  );
  always_comb begin
    in_at = '0;
    in_data = '0;
    for (int c = 0; c < CHANNELS; c++)
    if (write_grant[c]) begin
      in_at |= AW'(c * SENDING_BYTES) | AW'({write_beat[c], {KW{1'b0}}});
      in_data |= write_data[c];
    end
  end

  // ------------------------------------------------------------------------------------------------ the command in hand
  localparam int ORDERS = 8;  // commands between taking and sending
  localparam int BEATS = 32;  // beats between reading and sending
  typedef struct packed {
    logic          is_entry;
    logic [CW-1:0] channel;
    logic [127:0]  what;                    // the entry, or {bytes, address}
  } order_t;

  logic [CHANNELS-1:0] pick;
  logic take, order_ready;
  logic reads;                       // bytes are left to read
  logic [CW-1:0] owner;
  logic [12:0] left;
  logic [BW-1:0] from;
  logic [KW-1:0] lane;
  logic [$clog2(BEATS):0] credits;
  logic rd_valid, rd_last;
  logic [KW:0] rd_bytes, rd_room;
  order_t order_new;
  logic [BW-1:0] pick_from;

  tp_round_robin #(
      .N(CHANNELS)
  ) i_turn (
      .clk,
      .rst,
      .request(command_valid),
      .take(take),
      .grant(pick)
  );
  always_comb begin
    order_new = '0;
    pick_from = '0;
    for (int c = 0; c < CHANNELS; c++)
    if (pick[c]) begin
      order_new.is_entry |= command_is_entry[c];
      order_new.channel |= CW'(c);
      order_new.what |= command_is_entry[c] ? command_entry[c] : {51'b0, command_bytes[c], command_addr[c]};
      pick_from |= command_from[c];
    end
  end
  assign rd_room = (KW + 1)'(KEEP) - (KW + 1)'(lane);
  assign rd_bytes = left < 13'(rd_room) ? (KW + 1)'(left) : rd_room;
  assign rd_last = left == 13'(rd_bytes);
  assign rd_valid = reads && credits != 0;
  assign take = |command_valid && order_ready && (!reads || (rd_valid && rd_last));
  assign command_ready = take ? pick : '0;
  for (genvar c = 0; c < CHANNELS; c++) begin : g_reading
    assign reading[c] = reads && owner == CW'(c);
  end

  logic beat_pop;
  always_ff @(posedge clk) begin
    if (rd_valid) begin
      left <= left - 13'(rd_bytes);
      from <= from + BW'(rd_bytes);
      lane <= '0;
      if (rd_last) reads <= 1'b0;
    end
    if (take) begin
      reads <= !order_new.is_entry;
      owner <= order_new.channel;
      left <= order_new.what[76:64];
      lane <= KW'(order_new.what[1:0]);
      from <= pick_from;
    end
    credits <= credits - ($clog2(BEATS) + 1)'(rd_valid) + ($clog2(BEATS) + 1)'(beat_pop);
    if (rst) begin
      reads <= 1'b0;
      credits <= ($clog2(BEATS) + 1)'(BEATS);
    end
  end

  logic [AW-1:0] rd_at;
  if (REGIONS > 1) begin : g_regions
    assign rd_at = {owner, from};
  end else begin : g_region
    assign rd_at = from;
  end

  logic out_valid, out_last;
  logic [DATA_WIDTH-1:0] out_data;
  tp_window_ram #(
      .DATA_WIDTH(DATA_WIDTH),
      .REGION_BYTES(SENDING_BYTES),
      .REGIONS(REGIONS),
      .WRITE_ALIGNED(1),
      .META(1)
  ) i_ram (
      .clk,
      .rst,
      .wr_valid(|write_want),
      .wr_dword(in_at[AW-1:2]),
      .wr_dwords((KW - 1)'(DATA_WIDTH / 32)),
      .wr_data(in_data),
      .rd_valid,
      .rd_byte(rd_at),
      .rd_lane(lane),
      .rd_meta(rd_last),
      .out_valid,
      .out_data,
      .out_meta(out_last)
  );

  // ------------------------------------------------------------------------------------------------ out
  order_t order;
  logic order_valid, order_pop, beat_valid;
  tp_fifo #(
      .WIDTH($bits(order_t)),
      .DEPTH(ORDERS)
  ) i_orders (
      .clk,
      .rst,
      .clear(1'b0),
      .in_valid(take),
      .in_ready(order_ready),
      .in_data(order_new),
      .out_valid(order_valid),
      .out_ready(order_pop),
      .out_data(order),
      .count()
  );
  logic beat_room;
  tp_fifo #(
      .WIDTH(DATA_WIDTH + 1),
      .DEPTH(BEATS)
  ) i_beats (
      .clk,
      .rst,
      .clear(1'b0),
      .in_valid(out_valid),
      .in_ready(beat_room),
      .in_data({out_data, out_last}),
      .out_valid(beat_valid),
      .out_ready(beat_pop),
      .out_data({posted_data, posted_last}),
      .count()
  );

  logic [63:0] addr;
  logic [13:0] span;                        // from the first dword's start to the last byte
  logic [3:0] head_be, tail_be;
  assign addr = order.what[63:0];
  assign span = 14'(order.what[76:64]) + 14'(addr[1:0]);
  assign head_be = 4'b1111 << addr[1:0];
  assign tail_be = 4'b1111 >> (2'd0 - span[1:0]);

  assign entry_valid = order_valid && order.is_entry;
  assign entry_channel = order.channel;
  assign entry = order.what;
  assign posted_valid = order_valid && !order.is_entry && beat_valid;
  assign posted_hdr = '{
      addr: {addr[63:2], 2'b00},
      dwords: 11'((span + 14'd3) >> 2),
      first_be: span <= 14'd4 ? head_be & tail_be : head_be,
      last_be: span <= 14'd4 ? 4'b0000 : tail_be,
      relaxed: relaxed
  };
  assign beat_pop = posted_valid && posted_ready;
  assign order_pop = order.is_entry ? entry_ready : beat_pop && posted_last;

  always_ff @(posedge clk)
    if (!rst)
      assert (!out_valid || beat_room)
      else $error("%m: a beat was lost");
endmodule
