// SPDX-License-Identifier: Apache-2.0
// Interrupts: the user core's lines, counted, and MSI-X messages, both for the mover and for the lines.
//
// Counts, vectors and the MSI-X table stand in the pages' RAM (tp_pages), which is read a dword at a time, so one job is done after another:
// a vector that the mover fires is looked up and sent, or, while it may not be (masked, function masked, MSI-X off, bus mastering off, or
// another message still waits for the posted stream), its pending bit is set. A message that the posted stream has not taken when
// messages may no longer be sent goes back into its pending bit: so nothing waits for it. Between the mover's, a scan goes round: it sends pending
// vectors that may be sent by now, and serves the lines of the user core. A handshake of a line is one event; it increments the line's
// count and, when the line is enabled, does with its vector as if it had been fired. One message may stand for several fires of a
// vector. A vector that the table does not have is ignored.
//
// With `hold` (the user core is in reset) no line is looked at or answered. While the pages are swept, nothing is served; all vectors become masked and
// nothing is pending: the scan passes a vector a clock then, and is round before the sweep is. `sending`: a message has been decided on and is
// not yet shown. With `give_way` none is decided on: what fires is pending meanwhile.
// Pending bits are told by the scan, too.
module tp_interrupts
  import towpath_pkg::*;
  import tp_tlp_pkg::*;
#(
    parameter int DATA_WIDTH = 128,
    parameter int VECTORS = 32,
    parameter int SPAN = 7                  // log2 of the dwords of a page in the RAM
) (
    input  logic                           clk,
    input  logic                           rst,
    input  logic                           clear,
    input  logic                           sweeping,
    input  logic                           enable,         // MSI-X and bus mastering on, link up, function awake and not masked
    input  logic                           hold,
    input  logic                           give_way,
    input  logic                           fire_valid,
    output logic                           fire_ready,
    input  logic          [           7:0] fire_vector,
    input  logic          [          15:0] irq_valid,
    output logic          [          15:0] irq_ready,
    output logic                           sending,
    output logic                           posted_valid,
    input  logic                           posted_ready,
    output tp_write_hdr_t                  posted_hdr,
    output logic          [DATA_WIDTH-1:0] posted_data,
    output logic                           posted_last,

    // tp_pages
    // verilator lint_off UNUSEDSIGNAL
    input  logic              set,
    input  logic [SPAN+1:0]   set_at,
    input  logic              set_lines,
    input  logic [      31:0] set_data,
    // verilator lint_on UNUSEDSIGNAL
    output logic              job,
    output logic [SPAN+1:0]   job_at,
    output logic              count,
    input  logic              counted,
    input  logic [      31:0] q,
    input  logic [      31:0] late,         // q as it was a cycle ago

    input  logic        pending_ask,        // stays until pending_ack
    input  logic [ 1:0] pending_word,
    output logic        pending_shift,      // of a word of 32, the first one first, ...
    output logic        pending_bit,
    output logic        pending_ack         // ... with the last one
);
  localparam int VW = VECTORS > 1 ? $clog2(VECTORS) : 1;
  localparam int IW = VW > 5 ? VW : 5;

  localparam logic [SPAN-1:0] VECTOR = SPAN'(TP_CARD_USER_IRQ_VECTOR_OFFSET / 4);
  localparam logic [SPAN-1:0] COUNTS = SPAN'(TP_CARD_USER_IRQ_COUNT_OFFSET / 4);

  if (TP_USER_INTERRUPTS != 16 || TP_MSIX_VECTOR_BYTES != 16) $error("%m: written for 16 lines, and table entries of 16 bytes");
  if (VECTOR[3:0] != 0 || COUNTS[3:0] != 0) $error("%m: the registers of line 0 have moved: adapt it");

  typedef enum logic [2:0] {
    IDLE,
    NAME,                                   // a line's vector is read,
    FETCH,                                  // ... and its count,
    COUNT,                                  // the vector is taken, and a cycle later the count written
    LOOK,                                   // may the chosen vector be sent? Its address is read,
    LOW,                                    // ... taken,
    HIGH,
    DATA                                    // ... and its data
  } state_e;
  state_e state;

  // ---- the scan: a vector is chosen (`chose`) and, in the next step, looked at together with a line. Between the two it is left alone.
  logic [IW-1:0] scan;
  logic [15:0] line;                        // one hot: scan modulo 16
  logic chose, fired, choose, looked, line_event, line_enabled;
  logic taken;                              // a line's vector, in COUNT
  logic [8:0] chosen;
  logic [15:0] line_enable;

  assign line_event = irq_valid[scan[3:0]] && !hold && !sweeping;
  always_ff @(posedge clk) begin
    if (rst || clear) begin
      scan <= '0;
      line <= 16'd1;
    end else if (choose) begin
      scan <= scan + 1'b1;
      line <= {line[14:0], line[15]};
    end
    irq_ready <= '0;
    if (counted && !hold) irq_ready <= line;
    if (looked) line_enabled <= line_enable[scan[3:0]];  // before its vector: a host names the vector first
    if (set_lines) line_enable <= set_data[15:0];
  end

  // ---- masks as the table's, pending bits
  logic masks[1<<IW];
  logic pendings[1<<IW];
  logic masked, is_pending, may, good, send, park, recall;
  logic [IW-1:0] posted_vector;
  always_ff @(posedge clk) begin
    if (set && set_at[SPAN+1:SPAN] == 2'(TP_PAGE_MSIX) && set_at[1:0] == 2'(TP_MSIX_VECTOR_CONTROL_OFFSET / 4))
      masks[IW'(set_at[SPAN-1:2])] <= set_data[TP_MSIX_VECTOR_CONTROL_MASK_LSB];
    if (sweeping || send || park || recall) pendings[recall?posted_vector : chosen[IW-1:0]] <= park || recall;
  end
  assign masked = masks[chosen[IW-1:0]];
  assign is_pending = pendings[chosen[IW-1:0]];
  assign may = enable && !masked && !posted_valid && !give_way;
  assign good = chosen < 9'(VECTORS);
  assign send = state == LOOK && good && may;
  assign park = state == LOOK && good && !may && !sweeping;
  assign recall = posted_valid && !posted_ready && !enable && !sweeping && state != LOOK;

  // ---- jobs
  assign fire_ready = state == IDLE && !chose && !fired && !sweeping;
  assign choose = state == IDLE && (!chose || sweeping) && !(fire_valid && fire_ready);
  assign looked = state == IDLE && chose && !(is_pending && may && !sweeping);
  assign count = state == COUNT && taken;
  assign job = state != IDLE;
  always_comb begin
    job_at = {2'(TP_PAGE_CARD), (state == NAME ? VECTOR : COUNTS) | SPAN'(scan[3:0])};
    if (state == LOOK || state == LOW || state == HIGH) job_at = {2'(TP_PAGE_MSIX), SPAN'({chosen[VW-1:0], state == HIGH, state == LOW})};
  end

  always_ff @(posedge clk) begin
    taken <= state == COUNT && !counted;
    case (state)
      IDLE:
      if (choose) begin
        chosen <= 9'(scan);
        chose <= 1'b1;
        fired <= 1'b0;
      end else if (!chose) begin
        chosen <= 9'(fire_vector);
        fired <= 1'b1;                      // the scan has the next step
        state <= LOOK;
      end else if (looked) begin
        chose <= 1'b0;
        if (line_event) state <= NAME;
      end else begin
        state <= LOOK;
      end
      NAME: state <= FETCH;
      FETCH: state <= COUNT;
      COUNT: begin
        if (!taken) chosen <= {|late[31:8], late[7:0]};
        if (counted) state <= line_enabled ? LOOK : IDLE;
      end
      LOOK: state <= send ? LOW : IDLE;
      LOW: state <= HIGH;
      HIGH: state <= DATA;
      default: state <= IDLE;
    endcase
    if (rst || clear) begin
      state <= IDLE;
      chose <= 1'b0;
      fired <= 1'b0;
    end
  end

  // ---- the message
  assign sending = state == LOW || state == HIGH || state == DATA;
  assign posted_last = 1'b1;
  logic [63:2] address;
  logic [31:0] data;
  assign posted_hdr = '{addr: {address, 2'b00}, dwords: 11'd1, first_be: 4'hf, last_be: 4'h0, relaxed: 1'b0, tc: '0};
  assign posted_data = DATA_WIDTH'(data);
  always_ff @(posedge clk) begin
    if (rst) posted_valid <= 1'b0;
    else if (state == DATA && !clear) posted_valid <= 1'b1;
    else if (posted_ready || recall || (clear && !enable)) posted_valid <= 1'b0;
    if (state == LOW) address[31:2] <= q[31:2];
    if (state == HIGH) address[63:32] <= q;
    if (state == DATA) begin
      data <= q;
      posted_vector <= chosen[IW-1:0];
    end
  end

  // ---- the host reads pending bits: as the scan looks at them, a word from its begin to its end
  logic walking;
  assign pending_shift = looked;
  assign pending_bit = is_pending;
  always_ff @(posedge clk) begin
    pending_ack <= 1'b0;
    if (looked && scan[4:0] == '0) begin  // a word ends, and another one begins
      pending_ack <= walking;
      walking <= 2'((IW + 1)'(scan) >> 5) == pending_word;
    end
    if (!pending_ask || pending_ack) walking <= 1'b0;
  end
endmodule
