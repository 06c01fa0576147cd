// SPDX-License-Identifier: Apache-2.0
// One C2H channel: keeps what the user core sends until there is a buffer for it, and cuts buffers into writes.
//
// The beats of a message stand in the channel's region of the sending RAM, each message from a new beat on; where messages end stands in
// a queue beside it. A write to the host is planned from the piece in hand and the bytes at hand: as much as one TLP may carry, or
// less where the message ends. Plans, ends of descriptors and message starts leave through one port, in order (`command`).
//
// Promises: bytes leave in the order they came, each once; a write never crosses 4 KiB nor the end of a message; the end of a
// descriptor leaves after its writes, a message's start before them. Bytes for which there is no buffer stay.
module tp_c2h
  import towpath_pkg::*;
#(
    parameter int DATA_WIDTH = 128,
    parameter int SENDING_BYTES = 8192,
    parameter int MESSAGES = 32,            // messages that may stand in the RAM, a power of two
    localparam int KEEP = DATA_WIDTH / 8,
    localparam int KW = $clog2(KEEP),
    localparam int BW = $clog2(SENDING_BYTES)
) (
    input  logic       clk,
    input  logic       rst,
    input  logic [2:0] max_payload,         // 128 << n bytes
    input  logic       announce,
    input  logic       flush,
    output logic       idle,                // no start is on its way
    input  logic       start_told,          // a pulse: a start was written into the ring

    input  logic                  tvalid,
    output logic                  tready,
    input  logic [DATA_WIDTH-1:0] tdata,
    input  logic [KEEP-1:0]       tkeep,
    input  logic                  tlast,
    input  logic [47:0]           tlength,
    input  logic [31:0]           toffset,
    input  logic [31:0]           tuser,

    // into the sending RAM
    output logic                  write_want,
    input  logic                  write_grant,
    output logic [BW-1:KW]        write_beat,
    output logic [DATA_WIDTH-1:0] write_data,

    // the descriptor in hand, from tp_front
    input  logic        d_valid,
    input  logic [15:0] d_cookie,
    input  logic        d_over,
    input  logic [ 7:0] d_status,
    input  logic        p_valid,
    input  logic [63:0] p_addr,
    input  logic [31:0] p_bytes,
    output logic        take,
    output logic [12:0] take_bytes,
    output logic        abandon,
    output logic        finish,
    input  logic        stopping,

    // A command is taken when all reads for the one before it have been made; `reading`: this channel's last one is still read for.
    output logic           command_valid,
    input  logic           command_ready,
    output logic           command_is_entry,
    output tp_completion_t command_entry,
    output logic [63:0]    command_addr,
    output logic [12:0]    command_bytes,
    output logic [BW-1:0]  command_from,
    input  logic           reading
);
  if ((SENDING_BYTES & (SENDING_BYTES - 1)) != 0 || SENDING_BYTES < 1024)
    $error("%m: SENDING_BYTES %0d: make it a power of two, 1024 or more", SENDING_BYTES);

  // ------------------------------------------------------------------------------------------------ in
  logic [BW:KW] wr;                         // beat, with a lap bit
  logic [BW:0] rd;                          // byte, with a lap bit
  logic [BW:KW] freed;                      // beats before it may be overwritten
  logic begun;                              // a message's first beat has come, its last has not
  logic heads_ready, ends_ready, head_valid, end_valid, message_over;
  logic [KW:0] in_bytes;
  logic [BW:0] end_at;
  logic [47:0] head_length;
  logic [31:0] head_offset, head_user;
  logic full, accept;

  always_comb begin
    in_bytes = '0;
    for (int b = 0; b < KEEP; b++) in_bytes += (KW + 1)'(tkeep[b]);
  end
  assign full = wr[BW-1:KW] == freed[BW-1:KW] && wr[BW] != freed[BW];
  assign write_want = tvalid && !full && ends_ready && (begun || heads_ready) && !flush;
  assign tready = write_grant;
  assign accept = write_want && write_grant;
  assign write_beat = wr[BW-1:KW];
  assign write_data = tdata;

  always_ff @(posedge clk) begin
    if (accept) begin
      begun <= !tlast;
      if (in_bytes != 0) wr <= wr + 1'b1;
    end
    if (rst || flush) begin
      begun <= 1'b0;
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
      .clear(flush),
      .in_valid(accept && tlast),
      .in_ready(ends_ready),
      .in_data({wr, {KW{1'b0}}} + (BW + 1)'(in_bytes)),
      .out_valid(end_valid),
      .out_ready(message_over),
      .out_data(end_at),
      .count()
  );
  tp_fifo #(
      .WIDTH(112),
      .DEPTH(MESSAGES)
  ) i_heads (
      .clk,
      .rst,
      .clear(flush),
      .in_valid(accept && !begun),
      .in_ready(heads_ready),
      .in_data({tlength, toffset, tuser}),
      .out_valid(head_valid),
      .out_ready(message_over),
      .out_data({head_length, head_offset, head_user}),
      .count()
  );

  // ------------------------------------------------------------------------------------------------ plan
  logic [BW:0] at_hand;
  logic [12:0] limit, room, bytes;
  logic ends_here;
  assign at_hand = (end_valid ? end_at : {wr, {KW{1'b0}}}) - rd;
  // No more than half of the RAM, so that a write's bytes can be at hand wherever they begin.
  localparam int CAP_LOG2 = $clog2(SENDING_BYTES / 2) > 12 ? 12 : $clog2(SENDING_BYTES / 2);
  assign limit = 4'd7 + 4'(max_payload) > 4'(CAP_LOG2) ? 13'd1 << CAP_LOG2 : 13'd128 << max_payload;
  always_comb begin
    room = limit - (13'(p_addr[11:0]) & (limit - 13'd1));
    if (p_bytes < 32'(room)) room = 13'(p_bytes);
    ends_here = end_valid && 32'(at_hand) <= 32'(room);
    bytes = ends_here ? 13'(at_hand) : room;
  end

  typedef enum logic [1:0] {
    LOOK,
    START,
    WRITE,
    END
  } state_e;
  state_e state;
  logic announced, ended, starting;
  logic [12:0] plan_bytes;
  logic plan_ends;
  logic [31:0] moved;

  always_ff @(posedge clk) begin
    case (state)
      LOOK: begin
        plan_bytes <= bytes;
        plan_ends <= ends_here;
        if (announce && head_valid && !announced && !stopping && !flush) state <= START;
        else if (d_valid && d_over) state <= END;
        else if (p_valid && !stopping && (ends_here || 32'(at_hand) >= 32'(room))) begin
          if (bytes != 0) state <= WRITE;
          else begin  // the message ends here without another byte
            ended <= 1'b1;
            state <= END;
          end
        end
      end
      START: if (command_ready) state <= LOOK;
      WRITE:
      if (command_ready) begin
        state <= plan_ends ? END : LOOK;
        ended <= plan_ends;
      end
      default:  // END
      if (finish) begin
        state <= LOOK;
        ended <= 1'b0;
      end
    endcase
    if (take) begin
      rd <= rd + (BW + 1)'(plan_bytes);
      moved <= moved + 32'(plan_bytes);
    end
    if ((command_valid && command_ready) || !reading) freed <= rd[BW:KW];
    if (state == START && command_ready) begin
      announced <= 1'b1;
      starting <= 1'b1;
    end
    if (start_told) starting <= 1'b0;
    if (finish) moved <= '0;
    if (message_over) begin
      announced <= 1'b0;
      rd <= {rd[BW:KW] + (BW + 1 - KW)'(rd[KW-1:0] != 0), {KW{1'b0}}};  // the next message has a beat of its own
    end
    if (rst || flush) begin
      state <= LOOK;
      announced <= 1'b0;
      starting <= 1'b0;
      ended <= 1'b0;
      moved <= '0;
      rd <= '0;
      freed <= '0;
    end
    if (!rst)
      assert (state != WRITE || plan_bytes != 0)
      else $error("%m: an empty write");
  end

  assign take = state == WRITE && command_ready;
  assign take_bytes = plan_bytes;
  assign finish = state == END && d_over && command_ready;
  assign message_over = finish && ended;
  assign abandon = ended;                   // a message that ends in the middle of a list
  assign idle = state == LOOK && !starting;

  assign command_valid = state == START || state == WRITE || (state == END && d_over);
  assign command_is_entry = state != WRITE;
  assign command_addr = p_addr;
  assign command_bytes = plan_bytes;
  assign command_from = rd[BW-1:0];
  always_comb begin
    command_entry = '0;
    command_entry.offset = head_valid ? head_offset : '0;
    command_entry.user = head_valid ? head_user : '0;
    if (state == START) begin
      command_entry.bytes = head_length[31:0];
      command_entry.cookie = head_length[47:32];
      command_entry.flags.start = 1'b1;
    end else begin
      command_entry.bytes = moved;
      command_entry.cookie = d_cookie;
      command_entry.status = ended ? TP_STATUS_END_OF_MESSAGE : d_status;
    end
  end
endmodule
