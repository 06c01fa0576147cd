// SPDX-License-Identifier: Apache-2.0
// Packets to the block's transmit stream: PG054 "Transmit Interface", 64 and 128 bit.
//
// Answers go first, then read requests, then writes: writes alone are long, and the core paces them. A packet goes whole. Its header has three
// dwords, or four for an address beyond 4 GiB, and the payload follows right behind it, most significant byte first in each dword: behind
// three dwords it is moved by one lane.
//
// Promises: packets leave in the order in which they were taken, whole and without gaps of ours; what is shown stays until it is taken. While
// the link is down everything is taken and dropped. A packet of which the block has a part is ended there, as discontinued, for the block
// waits for its end; nothing of what was under way is left when the link is back.
module tp_x7_transmit
  import tp_tlp_pkg::*;
#(
    parameter int DATA_WIDTH = 128,
    localparam int KEEP = DATA_WIDTH / 8,
    localparam int LANES = DATA_WIDTH / 32
) (
    input logic clk,
    input logic rst,
    input logic up,
    input logic block_reset,                // the block forgets what it has
    input logic [15:0] requester,           // ours: it is the completer of answers, too

    input  logic                           posted_valid,
    output logic                           posted_ready,
    input  tp_write_hdr_t                  posted_hdr,
    input  logic          [DATA_WIDTH-1:0] posted_data,
    input  logic                           posted_last,
    input  logic                           read_valid,
    output logic                           read_ready,
    input  tp_read_hdr_t                   read_hdr,
    input  logic                           answer_valid,
    output logic                           answer_ready,
    // verilator lint_off UNUSEDSIGNAL
    input  tp_answer_hdr_t                 answer_hdr,   // tags of the block have 8 bits
    // verilator lint_on UNUSEDSIGNAL
    input  logic          [DATA_WIDTH-1:0] answer_data,
    input  logic                           answer_last,

    output logic                  tvalid,
    input  logic                  tready,
    output logic [DATA_WIDTH-1:0] tdata,
    output logic [      KEEP-1:0] tkeep,
    output logic                  tlast,
    output logic                  discontinue,  // with `tlast`
    output logic                  sent      // a packet's last beat was taken
);
  localparam logic [4:0] MEMORY = 5'b00000, COMPLETION = 5'b01010;

  // ------------------------------------------------------------------------------------------------ the packet to send
  typedef enum logic [1:0] {
    POSTED,
    READ,
    ANSWER
  } source_e;
  source_e choice, source;
  logic any, four, payload;
  logic [3:0][31:0] h;
  logic [10:0] dwords;
  logic [63:0] addr;
  assign any = posted_valid || read_valid || answer_valid;
  assign choice = answer_valid ? ANSWER : read_valid ? READ : POSTED;
  assign addr = choice == READ ? read_hdr.addr : posted_hdr.addr;
  assign four = choice != ANSWER && addr[63:32] != '0;
  always_comb begin
    dwords = choice == READ ? read_hdr.dwords : posted_hdr.dwords;
    payload = choice == POSTED;
    h[0] = {
      1'b0, payload, four, MEMORY, 1'b0, choice == READ ? read_hdr.tc : posted_hdr.tc, 6'b0,
      choice == READ ? read_hdr.relaxed : posted_hdr.relaxed, 3'b0, dwords[9:0]
    };
    h[1] = {requester, 8'b0, posted_hdr.last_be, posted_hdr.first_be};
    if (choice == READ) h[1][15:0] = {read_hdr.tag[7:0], read_hdr.last_be, read_hdr.first_be};
    h[2] = four ? addr[63:32] : addr[31:0];
    h[3] = addr[31:0];
    if (choice == ANSWER) begin
      dwords = answer_hdr.dwords;
      payload = dwords != '0;
      h[0] = {
        1'b0, payload, 1'b0, COMPLETION, 1'b0, answer_hdr.tc, 1'b0, answer_hdr.attr[2], 4'b0, answer_hdr.attr[1:0], 2'b0, dwords[9:0]
      };
      h[1] = {requester, answer_hdr.status, 1'b0, answer_hdr.byte_count[11:0]};
      h[2] = {answer_hdr.requester, answer_hdr.tag[7:0], 1'b0, answer_hdr.lower_addr};
    end
  end

  // ------------------------------------------------------------------------------------------------ beats
  // HEAD: the header, at 64 bit its first half. MORE: at 64 bit its second half. DATA: payload. TAIL: what the last beat of payload left.
  typedef enum logic [1:0] {
    HEAD,
    MORE,
    DATA,
    TAIL
  } state_e;
  state_e state;
  logic drop;                               // the packet under way, and while the link is down each
  logic ending;                             // the block waits for the end of a packet that was cut
  logic space;                              // the output takes a beat
  logic moved;                              // payload stands one lane higher than it came
  logic use_data;                           // a beat of payload is taken in this cycle
  logic in_last;
  logic [10:0] left;                        // dwords of payload that no beat has carried yet
  logic [DATA_WIDTH-1:0] in;
  logic [LANES-1:0][31:0] swapped, out;
  logic [LANES-1:1][31:0] held;  // lanes that the beat before left
  logic out_valid, out_last;
  logic [$clog2(LANES+1)-1:0] lanes;        // that the beat carries
  source_e now;
  assign space = drop || ((!tvalid || tready) && !ending);
  assign now = state == HEAD ? choice : source;
  assign in = now == ANSWER ? answer_data : posted_data;
  assign in_last = now == ANSWER ? answer_last : posted_last;
  always_comb for (int i = 0; i < LANES; i++) for (int b = 0; b < 4; b++) swapped[i][8*b+:8] = in[32*i+8*(3-b)+:8];

  logic has_payload, is_four;  // of the packet under way
  logic [1:0][31:0] h_high;  // at 64 bit, the second half of its header

  always_comb begin
    use_data = 1'b0;
    out_last = 1'b0;
    lanes = ($bits(lanes))'(LANES);
    out = swapped;
    if (moved) out = {swapped[0], held};
    case (state)
      HEAD: begin
        out_valid = any;
        out = h[LANES-1:0];
        if (DATA_WIDTH == 128) begin
          out_last = !payload || (!four && dwords == 11'd1);
          if (!four) begin
            use_data = payload;
            if (payload) out[LANES-1] = swapped[0];
            else lanes = ($bits(lanes))'(3);
          end
        end
      end
      MORE: begin
        out_valid = 1'b1;
        for (int i = 0; i < 2; i++) out[i] = h_high[i];
        out_last = !has_payload || (!is_four && left == 11'd1);
        if (!is_four) begin
          use_data = has_payload;
          if (has_payload) out[LANES-1] = swapped[0];
          else lanes = ($bits(lanes))'(1);
        end
      end
      DATA: begin
        out_valid = 1'b1;
        use_data = 1'b1;
        out_last = left <= 11'(LANES);
        if (out_last) lanes = ($bits(lanes))'(left);
      end
      default: begin  // TAIL
        out_valid = 1'b1;
        out_last = 1'b1;
        lanes = ($bits(lanes))'(left);
      end
    endcase
  end

  logic go;  // the beat goes to the output, or is dropped
  assign go = out_valid && space;
  assign posted_ready = go && use_data && now == POSTED;
  assign answer_ready = go && (use_data || (state == HEAD && !payload)) && now == ANSWER;
  assign read_ready = go && state == HEAD && choice == READ;
  // TAIL carries what is left in `held`; whether there will be any is known with the last beat of payload.
  always_ff @(posedge clk) begin
    if (go) begin
      if (use_data) held <= swapped[LANES-1:1];
      case (state)
        HEAD: begin
          source <= choice;
          has_payload <= payload;
          is_four <= four;
          h_high <= h[3:2];
          moved <= !four;
          left <= DATA_WIDTH == 128 && !four ? dwords - 11'd1 : dwords;
          if (DATA_WIDTH == 64) state <= MORE;
          else if (!out_last) state <= !four && in_last ? TAIL : DATA;
        end
        MORE: begin
          if (!is_four) left <= left - 11'd1;
          state <= out_last ? HEAD : !is_four && in_last ? TAIL : DATA;
        end
        DATA: begin
          left <= left - 11'(LANES);
          state <= out_last ? HEAD : in_last ? TAIL : DATA;
        end
        default: state <= HEAD;
      endcase
    end
    if (!up) drop <= 1'b1;
    else if (go ? out_last : state == HEAD) drop <= 1'b0;
    if (rst) begin
      state <= HEAD;
      drop <= 1'b1;
    end
  end

  logic open, open_next;  // the block has a part of a packet
  assign open_next = tvalid && tready ? !tlast : open;
  always_ff @(posedge clk) begin
    open <= open_next && !block_reset && !rst;
    ending <= (drop || !up || ending) && open_next && !block_reset && !rst;
    if (drop || !up || ending) begin
      // A beat of a packet that is open stays until it is taken, and the end follows it; one that opens a packet is withdrawn.
      if (!(open && tvalid && !tready)) begin
        tvalid <= open_next;
        tlast <= 1'b1;
        tkeep <= '1;
        discontinue <= 1'b1;
      end
      if (block_reset) tvalid <= 1'b0;
    end else if (space) begin
      tvalid <= out_valid;
      tdata <= out;
      tlast <= out_last;
      discontinue <= 1'b0;
      for (int i = 0; i < LANES; i++) tkeep[4*i+:4] <= {4{32'(lanes) > i}};
    end
    if (rst) tvalid <= 1'b0;
  end
  assign sent = tvalid && tready && tlast;
endmodule
