// SPDX-License-Identifier: Apache-2.0
// Answers the host's reads, one at a time and in order, a dword at a time.
//
// A dword is asked of a source by `ask` with `ask_addr`, both of which stay until `ack`, in the next cycle or later, which comes with `data`.
// A read of 1 to 16 dwords gets one completion; longer ones a completer abort, those of a BAR that is not ours an unsupported request,
// those of nowhere in our BARs zeros, as does a read without enabled bytes (a flush): of both it is nobody who is asked (`ask_none`).
// The request stands for two cycles or more before `read_valid`, in which its header is worked out.
// Before a read starts, an MSI-X message that had been chosen before it leaves or is taken back (`barrier` 0): a host that masks a vector and
// reads back then gets no message of that vector after its answer. Meanwhile (`waits`) no other one is chosen, so that a read waits for one at most.
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
    output logic                            waits,
    input  logic                            read_valid,
    output logic                            read_ready,
    input  tp_request_hdr_t                 read_hdr,
    input  logic                            read_hit,
    input  logic                            read_window,
    input  logic           [        AW-1:2] read_addr,
    output logic                            ask,
    output logic                            ask_none,         // with ask: for zeros
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
  logic [3:0] index, last_index;  // of the dword asked for, of the read's last one
  logic [LANES-1:0][31:0] beat;
  logic ok, at_last, ended;

  // ---- the header
  // verilator lint_off UNUSEDSIGNAL
  logic [3:0] first_be, end_be;  // end_be[0] is implied by the others
  // verilator lint_on UNUSEDSIGNAL
  logic [1:0] lead, trail;  // bytes not enabled before the first and behind the last
  logic ours, flush, short_enough;
  assign first_be = read_hdr.first_be;
  assign end_be = read_hdr.dwords == 1 ? read_hdr.first_be : read_hdr.last_be;
  assign flush = read_hdr.dwords == 1 && first_be == 0;
  assign lead = first_be[0] || flush ? 2'd0 : first_be[1] ? 2'd1 : first_be[2] ? 2'd2 : 2'd3;
  assign trail = end_be[3] ? 2'd0 : end_be[2] ? 2'd1 : end_be[1] ? 2'd2 : 2'd3;
  assign ours = read_hdr.bar == 3'(TP_BAR_DEVICE) || WINDOW_BYTES != 0 && read_hdr.bar == 3'(TP_BAR_WINDOW);
  assign short_enough = read_hdr.dwords <= 11'(MAX_DWORDS);

  always_ff @(posedge clk) begin
    ok <= ours && short_enough;
    ask_none <= !read_hit || flush;
    ask_window <= read_window;
    last_index <= 4'(read_hdr.dwords - 1'b1);
    tx_answer_hdr <= '{
        requester: read_hdr.requester,
        tag: read_hdr.tag,
        tc: read_hdr.tc,
        attr: read_hdr.attr,
        lower_addr: {read_hdr.offset[6:2], lead},
        byte_count: {read_hdr.dwords, 2'b00} - 13'(3'(lead) + 3'(trail)),
        dwords: ours && short_enough ? 11'(read_hdr.dwords[4:0]) : '0,
        status: !ours ? CPL_UNSUPPORTED_REQUEST : !short_enough ? CPL_COMPLETER_ABORT : CPL_OK
    };
  end

  // ---- dword by dword; no read crosses a boundary of 4 KiB
  assign ask = state == ASK;
  assign ask_addr = {read_addr[AW-1:12], read_addr[11:2] + 10'(index)};
  assign at_last = index == last_index;
  assign waits = state == IDLE && read_valid;

  assign tx_answer_valid = state == SEND;
  assign tx_answer_last = ended || !ok;
  assign tx_answer_data = beat;
  assign read_ready = tx_answer_valid && tx_answer_ready && tx_answer_last;

  always_ff @(posedge clk) begin
    case (state)
      IDLE: begin
        index <= '0;
        ended <= 1'b0;
        if (read_valid && !barrier) state <= ok ? ASK : SEND;
      end
      ASK:
      if (ack) begin
        index <= index + 1'b1;
        ended <= at_last;
        if (&index[LW-1:0] || at_last) state <= SEND;
      end
      default: if (tx_answer_ready) state <= tx_answer_last ? IDLE : ASK;
    endcase
    if (rst) state <= IDLE;
    if (ask) beat[index[LW-1:0]] <= data;
  end
endmodule
