// SPDX-License-Identifier: Apache-2.0
// Answers the host's reads, one at a time and in order, a dword at a time.
//
// A dword is asked of a source by `ask` with `ask_addr`, both of which stay until `ack`; a source gives `data` with `ack`, and 0 without.
// A read of 1 to 16 dwords gets one completion; longer ones a completer abort, those of a BAR that is not ours an unsupported request,
// those of nowhere in our BARs zeros. A read without enabled bytes (a flush) is answered without asking anybody.
// Before a read starts, an MSI-X message that had been chosen before it leaves (`barrier` 0): a host that masks a vector and reads
// back then gets no message of that vector after its answer.
module tp_answer
  import towpath_pkg::*;
  import tp_tlp_pkg::*;
#(
    parameter int DATA_WIDTH = 128,
    parameter int WINDOW_BYTES = 4096,
    parameter int AW = 16
) (
    input  logic                            clk,
    input  logic                            rst,
    input  logic                            barrier,
    input  logic                            read_valid,
    output logic                            read_ready,
    input  tp_request_hdr_t                 read_hdr,
    input  logic                            read_hit,
    input  logic                            read_window,
    input  logic           [        AW-1:2] read_addr,
    output logic                            ask,
    output logic                            ask_none,     // with ask: nobody is to answer but tp_answer itself
    output logic                            ask_window,
    output logic           [        AW-1:2] ask_addr,
    input  logic                            ack,
    input  logic           [          31:0] data,
    output logic                            tx_answer_valid,
    input  logic                            tx_answer_ready,
    output tp_answer_hdr_t                  tx_answer_hdr,
    output logic           [DATA_WIDTH-1:0] tx_answer_data,
    output logic                            tx_answer_last
);
  localparam int LANES = DATA_WIDTH / 32;
  localparam int LW = $clog2(LANES);
  localparam int MAX_DWORDS = 16;

  typedef enum logic [1:0] {
    IDLE,
    ASK,
    SEND
  } state_e;
  state_e state;
  logic [4:0] index;                       // of the dword asked for
  logic [LANES-1:0][31:0] beat;
  logic ours, none, done, is_last;
  logic [2:0] status;

  // ---- the header, from the request at the queue's head
  // verilator lint_off UNUSEDSIGNAL
  logic [3:0] first_be, end_be;  // end_be[0] is implied by the others
  // verilator lint_on UNUSEDSIGNAL
  logic [1:0] lead, trail;  // bytes not enabled before the first and behind the last
  logic flush;
  assign first_be = read_hdr.first_be;
  assign end_be = read_hdr.dwords == 1 ? read_hdr.first_be : read_hdr.last_be;
  assign flush = read_hdr.dwords == 1 && first_be == 0;
  assign lead = first_be[0] || flush ? 2'd0 : first_be[1] ? 2'd1 : first_be[2] ? 2'd2 : 2'd3;
  assign trail = end_be[3] ? 2'd0 : end_be[2] ? 2'd1 : end_be[1] ? 2'd2 : 2'd3;

  assign ours = read_hdr.bar == 3'(TP_BAR_DEVICE) || WINDOW_BYTES != 0 && read_hdr.bar == 3'(TP_BAR_WINDOW);
  assign status = !ours ? CPL_UNSUPPORTED_REQUEST : read_hdr.dwords > 11'(MAX_DWORDS) ? CPL_COMPLETER_ABORT : CPL_OK;
  assign tx_answer_hdr = '{
      requester: read_hdr.requester,
      tag: read_hdr.tag,
      tc: read_hdr.tc,
      attr: read_hdr.attr,
      lower_addr: {read_hdr.offset[6:2], lead},
      byte_count: {read_hdr.dwords, 2'b00} - 13'(lead) - 13'(trail),
      dwords: status == CPL_OK ? read_hdr.dwords : '0,
      status: status
  };

  // ---- dword by dword
  assign none = !read_hit || flush;
  assign ask = state == ASK;
  assign ask_none = none;
  assign ask_window = read_window;
  assign done = ack || ask && none;
  assign is_last = status != CPL_OK || 11'(index) == read_hdr.dwords;

  assign tx_answer_valid = state == SEND;
  assign tx_answer_last = is_last;
  assign tx_answer_data = beat;
  assign read_ready = state == SEND && tx_answer_ready && is_last;

  always_ff @(posedge clk) begin
    if (rst) begin
      state <= IDLE;
    end else begin
      case (state)
        IDLE: begin
          index <= '0;
          ask_addr <= read_addr;
          if (read_valid && !barrier) state <= status == CPL_OK ? ASK : SEND;
        end
        ASK:
        if (done) begin
          index <= index + 1'b1;
          ask_addr <= ask_addr + 1'b1;
          if (&index[LW-1:0] || 11'(index) + 1'b1 == read_hdr.dwords) state <= SEND;
        end
        default: if (tx_answer_ready) state <= is_last ? IDLE : ASK;
      endcase
    end
    if (ask && done) beat[index[LW-1:0]] <= data;
  end
endmodule
