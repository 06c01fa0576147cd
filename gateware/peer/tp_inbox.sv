// SPDX-License-Identifier: Apache-2.0
// The inbox of one H2C channel: what a C2H channel of another card sends, as a stream towards the user core, in turn with the host's.
//
// Packets come in order, so all of them, data and entries, wait in one FIFO, a beat in each row. Data goes on as it comes, but for the last row of what
// has come: whether the message ends with it, and how many of its bytes count, stands in the entry that follows.
// A slot of the sender's has ended when all its rows have come, or its entry. That is counted as packets come in, and tells how much more may:
//
//   slots ended + (free rows / rows of a slot)  =  slots that the sender may post
//
// which `tell` carries as an absolute count. No count is told that is less than the one before. Where the sender keeps to it, nothing finds the FIFO full;
// where it does not, what has no room is dropped. So is what shows that something before it has been lost: an end that does not fit the slot's number or its rows, data
// or a message's end that no start precedes, a start within a message; and the link may have been down. All that comes later in this pairing is dropped, too; `overrun` says
// so, and nobody but this channel has a loss.
//
// The two streams change places between two messages of the host's. The host's waits until the channel is not paired and the FIFO is empty; a
// message that is then open is closed with `error`.
//
// Promises: rows leave in the order they came, each once. A message that the sender has not ended is not ended without `error`.
// Not for: senders whose writes are not in order, or that do not begin a row with each packet.
module tp_inbox
  import towpath_pkg::*;
#(
    parameter int DATA_WIDTH = 128,
    parameter int BYTES = 16384,            // of the FIFO, a power of two
    parameter int TELL = 15,                // log2 of the clocks after which a count is told again
    parameter int MOST = 16,                // slots that may be to come, 16 at most
    localparam int KEEP = DATA_WIDTH / 8,
    localparam int KW = $clog2(KEEP)
) (
    input logic clk,
    input logic rst,
    input logic flush,                      // the channel has been reset

    // registers
    input  logic        write_valid,        // of this channel's privileged page
    input  logic [7:3]  write_offset,
    // verilator lint_off UNUSEDSIGNAL
    input  logic [63:0] write_data,
    // verilator lint_on UNUSEDSIGNAL
    input  logic [7:0]  write_strb,
    output logic [63:0] word,               // what a read of control and status shows

    // packets to the inbox
    input logic                  link_up,
    input logic                  rx_valid,
    input logic [6:0]            rx_pages,  // which 8 KiB of its MiB: the pairing's
    input logic                  rx_entry,  // ... to its second page
    input logic                  rx_sound,  // of an entry's length, if it is one
    input logic                  rx_whole,  // all bytes of the beat are written
    input logic [DATA_WIDTH-1:0] rx_data,

    // credit
    input  logic        may_tell,           // requests may leave
    output logic        tell_valid,
    input  logic        tell_ready,
    output logic [63:2] tell_address,
    output logic [31:0] tell,

    // the host's stream, and what the user core gets
    input  logic                  in_valid,
    output logic                  in_ready,
    input  logic [DATA_WIDTH-1:0] in_data,
    input  logic [KEEP-1:0]       in_keep,
    input  logic                  in_last,
    input  logic                  in_error,
    input  logic [63:0]           in_length,
    input  logic [63:0]           in_offset,
    input  logic [31:0]           in_user,
    output logic                  out_valid,
    input  logic                  out_ready,
    output logic [DATA_WIDTH-1:0] out_data,
    output logic [KEEP-1:0]       out_keep,
    output logic                  out_last,
    output logic                  out_error,
    output logic [63:0]           out_length,
    output logic [63:0]           out_offset,
    output logic [31:0]           out_user
);
  localparam int DEPTH = BYTES / KEEP;
  localparam int DW = $clog2(DEPTH) + 2;  // of a count of rows, with a sign
  localparam int PARTS = DATA_WIDTH < 128 ? 128 / DATA_WIDTH : 1;  // rows of an entry
  // Each slot may bring a start and an end beside its rows, and one start more.
  localparam int SPARE = PARTS * (2 * MOST + 2);
  localparam int ROOM = DEPTH - SPARE;
  localparam logic [7:3] BASE = 5'(TP_CHANNEL_PEER_BASE_OFFSET / 8);
  localparam logic [7:3] CONTROL = 5'(TP_CHANNEL_PEER_CONTROL_OFFSET / 8);
  if (ROOM < DEPTH / 4 || (BYTES & (BYTES - 1)) != 0)
    $error("%m: BYTES %0d: make it a power of two, from %0d on", BYTES, 2 ** $clog2(SPARE * KEEP * 4 / 3));

  // ------------------------------------------------------------------------------------------------ registers
  logic paired, sets;
  logic [3:0] slot_log2;
  logic [7:0] key;
  logic [63:2] base;
  assign sets = write_valid && write_offset == CONTROL && (&write_strb[3:0]);
  assign tell_address = base;
  logic begins;  // a pairing
  assign begins = sets && write_data[TP_CHANNEL_PEER_CONTROL_PAIRED_LSB] && !paired;
  always_ff @(posedge clk) begin
    if (write_valid && write_offset == BASE && (&write_strb[3:0])) base[31:2] <= write_data[31:2];
    if (write_valid && write_offset == BASE && (&write_strb[7:4])) base[63:32] <= write_data[63:32];
    if (sets) begin
      paired <= write_data[TP_CHANNEL_PEER_CONTROL_PAIRED_LSB];
      slot_log2 <= write_data[TP_CHANNEL_PEER_CONTROL_SLOT_LOG2_LSB+:4];
      key <= write_data[TP_CHANNEL_PEER_CONTROL_KEY_LSB+:8];
    end
    if (rst || flush) paired <= 1'b0;
  end

  // ------------------------------------------------------------------------------------------------ what comes
  typedef struct packed {
    logic entry;
    logic second;  // of an entry
    logic [DATA_WIDTH-1:0] data;
  } row_t;
  // verilator lint_off UNUSEDSIGNAL
  row_t came, head;
  // verilator lint_on UNUSEDSIGNAL
  logic came_entry, came_whole, second;  // `second`: an entry's first row has come
  logic [DATA_WIDTH-1:0] came_data;
  assign came = '{entry: came_entry, second: second, data: came_data};
  logic came_valid, enters, in_room, have, pop, drops;
  logic whole;                              // with this row it is whole
  logic [127:0] image;
  // verilator lint_off UNUSEDSIGNAL
  tp_completion_t entry;
  // verilator lint_on UNUSEDSIGNAL
  always_ff @(posedge clk) begin
    came_valid <= rx_valid && rx_pages == key[6:0] && paired && (rx_sound || !rx_entry) && !rst && !flush;
    came_entry <= rx_entry;
    came_whole <= rx_whole;
    came_data <= rx_data;
    drops <= rx_valid && rx_pages == key[6:0] && paired && rx_entry && !rx_sound;
  end
  if (PARTS == 1) begin : g_whole
    assign image = came.data[127:0];
    assign second = 1'b1;
  end else begin : g_parts
    logic [63:0] lower;
    assign image = {came.data[63:0], lower};
    always_ff @(posedge clk) begin
      if (came_valid) begin
        lower <= came.data[63:0];
        second <= came.entry && !second;
      end
      if (rst || begins) second <= 1'b0;
    end
  end
  assign entry = image;
  assign whole = came.entry && second;

  logic [15:0] slots;  // ended
  logic [9:0] rows, rows_most;  // of the slot that comes, less one: that have come, and all
  logic begun;  // a message has, and its end has not come
  logic full, ends_slot, closes, follows, fits, wrong, overrun;
  logic [DW-1:0] held;  // rows in the FIFO
  assign enters = came_valid && in_room && !overrun && !wrong;
  assign rows_most = 10'((11'd1 << (slot_log2 - 4'(KW))) - 1'b1);
  assign full = !came.entry && came_whole && rows == rows_most;
  assign ends_slot = whole && !entry.flags.start;
  assign closes = ends_slot && entry.cookie == slots && rows == 10'((entry.bytes[12:0] + 13'(KEEP - 1)) >> KW);
  // A slot that was full may have been stopped all the same.
  assign follows = ends_slot && entry.cookie == slots - 1'b1 && rows == '0 && entry.status != TP_STATUS_END_OF_MESSAGE;
  // A message has a start, be it empty.
  assign fits = (closes || follows) && (begun || entry.status != TP_STATUS_END_OF_MESSAGE);
  assign wrong = came.entry ? whole && (entry.flags.start ? begun : !fits) : !begun || rows > rows_most;
  always_ff @(posedge clk) begin
    if (enters) begin
      if (!came.entry) rows <= rows + 1'b1;
      if (full || closes) begin
        rows <= '0;
        slots <= slots + 1'b1;
      end
      if (whole && entry.flags.start) begun <= 1'b1;
      if (ends_slot && entry.status != TP_STATUS_DONE && entry.status != TP_STATUS_CANCELLED) begun <= 1'b0;
    end
    if (came_valid && (!in_room || wrong)) overrun <= 1'b1;
    if (drops || (paired && !link_up)) overrun <= 1'b1;
    if (begins) begin
      begun <= 1'b0;
      rows <= '0;
      slots <= '0;
      overrun <= 1'b0;
    end
    held <= held + DW'(enters) - DW'(pop && have);
    if (rst || flush) held <= '0;
  end

  tp_deep_fifo #(
      .WIDTH($bits(row_t)),
      .DEPTH(DEPTH)
  ) i_fifo (
      .clk,
      .rst(rst || flush),
      .in_valid(came_valid && !overrun && !wrong),
      .in_ready(in_room),
      .in_data(came),
      .out_valid(have),
      .out_ready(pop),
      .out_data(head)
  );

  // ------------------------------------------------------------------------------------------------ credit
  logic [15:0] told, allowed, ahead, step;
  logic signed [DW-1:0] spare;
  logic [TELL-1:0] clock;
  logic again, tells;
  function automatic logic [4:0] least(input logic [DW-1:0] value, input int most);
    return 32'(value) > most ? 5'(most) : 5'(value);
  endfunction
  // The write that ends a pairing may bring another key.
  assign tell_valid = tells && paired;
  assign spare = $signed(DW'(ROOM)) - $signed(held);
  assign ahead = allowed - told;
  always_ff @(posedge clk) begin
    allowed <= slots + (spare < 0 ? '0 : 16'(least(spare >> (slot_log2 - 4'(KW)), MOST)));
    // Where slots are short, several are told of at once.
    step <= 16'(least(DW'(ROOM) >> (slot_log2 - 4'(KW)), MOST)) >> 2;
    clock <= clock + 1'b1;
    if (&clock) again <= 1'b1;
    if (tells && (tell_ready || !may_tell || !paired)) tells <= 1'b0;
    if (paired && may_tell && !tells && !ahead[15] && ahead != '0 && (ahead >= step || told == '0 || again)) begin
      tells <= 1'b1;
      told <= allowed;
    end else if (paired && may_tell && !tells && again) begin
      tells <= 1'b1;
    end
    if (tell_valid && tell_ready) begin
      again <= 1'b0;
      clock <= '0;
    end
    if (begins || !paired || rst) begin
      clock <= '0;
      told <= '0;
      allowed <= '0;
      again <= 1'b0;
      tells <= 1'b0;
    end
  end
  assign tell = {8'b0, key, told};

  // ------------------------------------------------------------------------------------------------ what goes on
  // The row in `pending` waits for what follows it.
  logic ours, open, host_open, pending_valid, emits, done, ends, cuts, starts;
  logic over, shutting;  // not paired, and nothing is held; the open message is being closed for that
  logic [DATA_WIDTH-1:0] pending;
  logic [47:0] length;
  logic [31:0] offset, user;
  logic later;                              // an entry's first row is in hand
  logic [127:0] shown;
  tp_completion_t note;                     // the entry at the FIFO's end
  logic noted;
  if (PARTS == 1) begin : g_note
    assign shown = head.data[127:0];
    assign later = 1'b1;
  end else begin : g_note_parts
    logic [63:0] lower;
    assign shown = {head.data[63:0], lower};
    always_ff @(posedge clk) begin
      if (pop && have) begin
        lower <= head.data[63:0];
      end
    end
    // Of an entry that was cut off there may be the first half alone.
    assign later = head.second;
  end
  assign note = shown;
  assign noted = ours && have && head.entry && later;
  // A start where a message is open: its end has been lost, so it is closed first.
  assign starts = noted && note.flags.start && !open;
  assign over = !paired && held == '0 && !came_valid;
  assign cuts = open && (shutting || noted && (note.flags.start || (note.status != TP_STATUS_END_OF_MESSAGE &&
      note.status != TP_STATUS_CANCELLED && note.status != TP_STATUS_DONE)));
  assign ends = open && !shutting && noted && !note.flags.start && note.status == TP_STATUS_END_OF_MESSAGE;
  assign emits = cuts || ends || (ours && have && !head.entry && open && pending_valid);
  assign done = !emits || out_ready;
  assign pop = ours && done && !(open && (shutting || noted && note.flags.start));

  logic [KEEP-1:0] tail;  // of the message's last row
  always_comb for (int i = 0; i < KEEP; i++) tail[i] = note.bytes[KW-1:0] == '0 || i < 32'(note.bytes[KW-1:0]);
  always_ff @(posedge clk) begin
    shutting <= open && (shutting || ours && over) && !(cuts && out_ready);
    if (pop && have && !head.entry && open) begin
      pending <= head.data;
      pending_valid <= 1'b1;
    end
    if ((cuts || ends) && out_ready) begin
      open <= 1'b0;
      pending_valid <= 1'b0;
    end
    if (starts) begin
      open <= 1'b1;
      {length, offset, user} <= {note.cookie, note.bytes, note.offset, note.user};
    end
    if (in_valid && in_ready) host_open <= !in_last;
    if (!ours) ours <= !over && !host_open && !in_valid;
    else if (over && !open) ours <= 1'b0;
    if (rst || flush) begin
      ours <= 1'b0;
      open <= 1'b0;
      shutting <= 1'b0;
      pending_valid <= 1'b0;
      host_open <= 1'b0;
    end
  end

  assign in_ready = out_ready && !ours;
  assign out_valid = ours ? emits : in_valid;
  assign out_data = ours ? pending : in_data;
  assign out_keep = !ours ? in_keep : !pending_valid ? '0 : ends ? tail : '1;
  assign out_last = ours ? cuts || ends : in_last;
  assign out_error = ours ? cuts : in_error;
  assign out_length = ours ? 64'(length) : in_length;
  assign out_offset = ours ? 64'(offset) : in_offset;
  assign out_user = ours ? user : in_user;

  assign word = {
    12'b0, paired && !ours, overrun, paired ? begun : open, held == '0 && !came_valid, slots,  //
    8'b0, key, 4'b0, slot_log2, 7'b0, paired
  };
endmodule
