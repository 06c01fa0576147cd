// SPDX-License-Identifier: Apache-2.0
// MSI-X: the table and the pending bits of a page, and the messages.
//
// Two requesters name vectors by handshake (the mover and the user interrupts); they take turns. A vector that may fire is sent as a posted
// write of one dword; one that may not (masked, function masked, MSI-X off, bus mastering off) sets its pending bit, and is sent once it
// may, found by a scan of one vector a cycle. One message may stand for several requests of a pending vector. A vector that the table
// does not have is ignored. Requests are taken in order, so a message follows whatever its requester had accepted before.
// `clear` masks all vectors and forgets what is pending; addresses and data are the host's to write before it unmasks.
// A field of the table takes a write of its whole dword only. `data` is 0 but with `ack`.
module tp_msix
  import towpath_pkg::*;
  import tp_tlp_pkg::*;
#(
    parameter int DATA_WIDTH = 128,
    parameter int VECTORS = 32
) (
    input  logic                           clk,
    input  logic                           rst,
    input  logic                           clear,
    input  logic                           enable,        // MSI-X and bus mastering on, function not masked
    input  logic                           fire_valid,
    output logic                           fire_ready,
    input  logic          [           7:0] fire_vector,
    input  logic                           user_valid,
    output logic                           user_ready,
    input  logic          [           7:0] user_vector,
    output logic                           posted_valid,
    input  logic                           posted_ready,
    output tp_write_hdr_t                  posted_hdr,
    output logic          [DATA_WIDTH-1:0] posted_data,
    output logic                           posted_last,
    input  logic                           word_valid,    // in the MSI-X page
    input  logic          [          11:3] word_offset,
    input  logic          [          63:0] word_data,
    input  logic          [           7:0] word_strb,
    input  logic                           ask,           // stays until ack
    input  logic          [          11:2] offset,
    output logic                           ack,
    output logic          [          31:0] data
);
  localparam int VW = VECTORS > 1 ? $clog2(VECTORS) : 1;
  localparam int SPAN = 1 << VW;

  if (VECTORS < 1 || VECTORS > TP_MSIX_VECTORS_MAX) $error("%m: VECTORS %0d: make it 1 to %0d", VECTORS, TP_MSIX_VECTORS_MAX);
  if (TP_MSIX_VECTOR_BYTES != 16) $error("%m: written for table entries of 16 bytes");

  // ---- the table. One read port: a request being looked up, else the host.
  logic [31:0] addr_low[SPAN];
  logic [31:0] addr_high[SPAN];
  logic [31:0] message[SPAN];
  logic [SPAN-1:0] mask, pending;

  logic table_word, upper_word;
  logic [VW-1:0] row;
  assign table_word = word_valid && word_offset < 9'(VECTORS * 2);
  assign upper_word = word_offset[3];
  assign row = word_offset[4+:VW];

  always_ff @(posedge clk) begin
    if (table_word && !upper_word && (&word_strb[3:0])) addr_low[row] <= word_data[31:0];
    if (table_word && !upper_word && (&word_strb[7:4])) addr_high[row] <= word_data[63:32];
    if (table_word && upper_word && (&word_strb[3:0])) message[row] <= word_data[31:0];
  end
  always_ff @(posedge clk) begin
    if (rst || clear) mask <= '1;
    else if (table_word && upper_word && (&word_strb[7:4])) mask[row] <= word_data[32+TP_MSIX_VECTOR_CONTROL_MASK_LSB];
  end

  // ---- one request at a time: chosen, then looked up
  typedef enum logic [1:0] {
    SCANNED,
    MOVER,
    USER
  } source_e;
  logic [2:0] request;
  // verilator lint_off UNUSEDSIGNAL
  logic [2:0] grant;             // to the scan if to nobody else
  // verilator lint_on UNUSEDSIGNAL
  logic busy, good, may;  // a request is being looked up; its vector exists; and may fire
  logic [7:0] wanted, chosen;
  logic [VW-1:0] vector, scan, port;
  logic [31:0] port_low, port_high, port_message;
  logic choose, send, park;

  assign request[SCANNED] = enable && pending[scan] && !mask[scan];
  assign request[MOVER] = fire_valid;
  assign request[USER] = user_valid;
  assign choose = !busy && request != 0;
  assign fire_ready = !busy && grant[MOVER];
  assign user_ready = !busy && grant[USER];
  tp_round_robin #(
      .N(3)
  ) arbiter (
      .clk,
      .rst,
      .request,
      .take(choose),
      .grant
  );

  assign wanted = grant[MOVER] ? fire_vector : grant[USER] ? user_vector : 8'(scan);
  assign vector = chosen[VW-1:0];
  assign good = 32'(chosen) < VECTORS;
  assign may = enable && !mask[vector];
  assign send = busy && good && may && !posted_valid;
  assign park = busy && good && !may;

  assign port = busy ? vector : offset[4+:VW];
  assign port_low = addr_low[port];
  assign port_high = addr_high[port];
  assign port_message = message[port];

  always_ff @(posedge clk) begin
    scan <= scan == VW'(VECTORS - 1) ? '0 : scan + 1'b1;
    if (rst || clear) begin
      busy <= 1'b0;
      pending <= '0;
      scan <= '0;
    end else begin
      if (choose) busy <= 1'b1;
      else if (send || park || !good) busy <= 1'b0;
      if (send) pending[vector] <= 1'b0;
      else if (park) pending[vector] <= 1'b1;
    end
    if (!busy) chosen <= wanted;
  end

  // ---- the message
  assign posted_last = 1'b1;
  always_ff @(posedge clk) begin
    if (rst) posted_valid <= 1'b0;
    else if (send) posted_valid <= 1'b1;
    else if (posted_ready) posted_valid <= 1'b0;
    if (send) begin
      posted_hdr <= '{addr: {port_high, port_low[31:2], 2'b00}, dwords: 11'd1, first_be: 4'hf, last_be: 4'h0, relaxed: 1'b0};
      posted_data <= DATA_WIDTH'(port_message);
    end
  end

  // ---- the host's reads
  logic [127:0] pending_bits;
  logic ask_table, ask_pending;
  assign pending_bits = 128'(pending);
  assign ask_table = offset < 10'(VECTORS * 4);
  assign ask_pending = offset >= 10'(TP_MSIX_PENDING_OFFSET / 4) && offset < 10'(TP_MSIX_PENDING_OFFSET / 4 + (VECTORS + 31) / 32);

  always_ff @(posedge clk) begin
    ack  <= 1'b0;
    data <= '0;
    if (ask && !busy && !ack) begin
      ack <= 1'b1;
      if (ask_table) begin
        case (offset[3:2])
          2'd0: data <= port_low;
          2'd1: data <= port_high;
          2'd2: data <= port_message;
          default: data <= 32'(mask[port]) << TP_MSIX_VECTOR_CONTROL_MASK_LSB;
        endcase
      end else if (ask_pending) begin
        data <= pending_bits[{offset[3:2], 5'd0}+:32];
      end
    end
  end
endmodule
