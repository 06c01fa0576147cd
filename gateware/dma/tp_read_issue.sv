// SPDX-License-Identifier: Apache-2.0
// Turns the channels' wishes to read host memory into read requests: picks one in turn, gives it a tag, notes what the tag is for.
//
// With QOS the turns of the channels, which are all clients but the last one, are weighted. The last one, lists, goes before them, but not twice in a
// row: its reads are small, and a channel's wishes depend on them.
//
// A wish may have to wait for a channel in `waiting` (tp_weighted), whose reads may be answered late, or never. So after PATIENCE clocks without
// a grant, in which one could have been, whoever is in `waiting` is passed over, and not waited for before the next multiple of 16 * PATIENCE clocks.
// Shorter than an answer takes, patience would leave nothing of the weights.
//
// Promises, with QOS: since the channels' last grant a wish of theirs has been refused, with a tag and without `hold`, in PATIENCE clocks at most.
//
// A wish is an address and a number of bytes that crosses no 4 KiB edge and is no more than the host allows, both looked up when it is
// its turn, and a context that comes back with the answer. It stands until granted or withdrawn; a grant answers the wish of the same cycle.
// Without QOS nobody looks at shares.
// verilator lint_off UNUSEDSIGNAL
module tp_read_issue
  import tp_tlp_pkg::*;
#(
    parameter int CLIENTS = 2,
    parameter int TAGS = 32,
    parameter int CONTEXT = 8,
    parameter bit QOS = 0,
    parameter int SHARE = 13,
    parameter int PATIENCE = 1024,          // a power of two
    localparam int TW = $clog2(TAGS),
    localparam int IW = CLIENTS > 1 ? $clog2(CLIENTS) : 1,
    localparam int DATA = CLIENTS > 1 ? CLIENTS - 1 : 1  // clients with weights
) (
    input logic clk,
    input logic rst,
    input logic hold,                      // ask for nothing
    input logic relaxed,

    input  logic [CLIENTS-1:0]              want,
    output logic [CLIENTS-1:0]              grant,
    input  logic [CLIENTS-1:0][CONTEXT-1:0] context_in,
    output logic [IW-1:0]                   client,  // whose turn it is, ...
    input  logic [63:0]                     addr,    // ... and what it asks for, in the same cycle
    input  logic [11:0]                     more,    // bytes, less one
    input  logic [2:0]                      tc,      // traffic class

    input logic                        even,     // see tp_weighted
    input logic [DATA-1:0][SHARE-1:0]  share,
    input logic [DATA-1:0]             waiting,
    input logic [12:0]                 charge,

    input  logic               tag_valid,
    input  logic [TW-1:0]      tag,
    output logic               tag_take,
    output logic [CONTEXT-1:0] note_context,   // with tag_take
    output logic [12:0]        note_bytes,
    output logic [6:0]         note_low,       // address of the first byte, modulo 128

    output logic         tx_read_valid,
    input  logic         tx_read_ready,
    output tp_read_hdr_t tx_read_hdr
);
  logic go, any;
  logic [CLIENTS-1:0] pick;
  if (QOS && CLIENTS > 2) begin : g_weighted
    logic list_turn, list_went;
    logic [DATA-1:0] data_pick;
    assign list_turn = want[DATA] && !(list_went && data_pick != '0);
    assign any = pick != '0;  // with a wish there may be none
    assign pick = list_turn ? {1'b1, DATA'(0)} : {1'b0, data_pick};
    always_ff @(posedge clk) if (go) list_went <= list_turn;

    logic [$clog2(PATIENCE):0] refused;  // clocks; at PATIENCE it stays
    logic [$clog2(PATIENCE)+3:0] age;  // since nobody was forgotten
    logic [DATA-1:0] forgotten;
    logic weary;
    assign weary = refused[$clog2(PATIENCE)];
    always_ff @(posedge clk) begin
      if (go && !list_turn) refused <= '0;
      else if (want[DATA-1:0] != '0 && data_pick == '0 && tag_valid && !hold) refused <= refused + 1'b1;
      age <= age + 1'b1;
      forgotten <= (&age ? '0 : forgotten) | (weary ? waiting : '0);
      if (rst) begin
        refused <= '0;
        age <= '0;
        forgotten <= '0;
      end
    end
    tp_weighted #(
        .N(DATA),
        .SHARE(SHARE)
    ) i_turn (
        .clk,
        .rst,
        .even,
        .share,
        .request(want[DATA-1:0]),
        .waiting(weary ? '0 : waiting & ~forgotten),
        .take(go && !list_turn),
        .grant(data_pick),
        .charge
    );
  end else begin : g_plain
    assign any = |(want & pick);
    tp_round_robin_ahead #(
        .N(CLIENTS)
    ) i_turn (
        .clk,
        .rst,
        .request(want),
        .served(go),
        .turn(pick)
    );
  end

  logic [12:0] span;  // from the first dword's start to the last byte
  always_comb begin
    client = '0;
    for (int c = 0; c < CLIENTS; c++) if (pick[c]) client |= IW'(c);
    note_context = context_in[client];
    span = 13'(more) + 13'(addr[1:0]);
  end

  assign go = any && tag_valid && !hold && (!tx_read_valid || tx_read_ready);
  assign grant = go ? pick : '0;
  assign tag_take = go;
  assign note_bytes = 13'(more) + 1'b1;
  assign note_low = addr[6:0];

  // The wish as it was granted; what follows from it is worked out behind the register, since the wish itself comes late.
  logic [63:0] tx_addr;
  logic [12:0] tx_span;
  logic [TW-1:0] tx_tag;
  logic [3:0] head_be, tail_be;
  logic tx_relaxed, one;
  logic [2:0] tx_tc;
  assign one = tx_span[12:2] == '0;
  assign head_be = 4'b1111 << tx_addr[1:0];
  assign tail_be = 4'b1111 >> (2'd3 - tx_span[1:0]);
  assign tx_read_hdr = '{
      addr: {tx_addr[63:2], 2'b00},
      dwords: tx_span[12:2] + 1'b1,
      first_be: one ? head_be & tail_be : head_be,
      last_be: one ? 4'b0000 : tail_be,
      relaxed: tx_relaxed,
      tc: tx_tc,
      tag: 10'(tx_tag)
  };

  always_ff @(posedge clk) begin
    if (tx_read_ready) tx_read_valid <= 1'b0;
    if (go) begin
      tx_read_valid <= 1'b1;
      tx_addr <= addr;
      tx_span <= span;
      tx_tag <= tag;
      tx_relaxed <= relaxed;
      tx_tc <= tc;
    end
    if (rst) tx_read_valid <= 1'b0;
    else if (go)
      assert ({1'b0, addr[11:0]} + 13'(more) < 13'd4096)
      else $error("%m: a read of %0d bytes at %h crosses 4 KiB", note_bytes, addr);
  end
endmodule
