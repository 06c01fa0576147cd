// SPDX-License-Identifier: Apache-2.0
// tp_read_issue: a grant answers one wish that stands, with a tag taken in the same cycle; the note beside it is that wish's, and one cycle
// later the request shown is that wish's, with this tag and with byte enables for exactly its bytes. What is shown stays until it is
// taken. No grant without a tag, nor while `hold`. With QOS the last client, lists, is granted at the second chance at the latest, and whatever
// is in `waiting`, since their last grant the others' wishes are refused at no more than PATIENCE chances; who was waited for so long is not waited
// for again before the end of the period.
// Assumed: a wish is 1 to 4096 bytes and crosses no 4 KiB edge.
module tp_read_issue_formal
  import tp_tlp_pkg::*;
#(
    parameter int CLIENTS = 3,
    parameter int TAGS = 8,
    parameter int CONTEXT = 3,
    parameter bit QOS = 0,
    parameter int PATIENCE = 4,
    parameter bit INDUCTION = 1,
    localparam int TW = $clog2(TAGS),
    localparam int LISTS = CLIENTS - 1
) (
    input logic clk,
    input logic rst,
    input logic hold,
    input logic relaxed,
    input logic [CLIENTS-1:0] want,
    input logic [CLIENTS-1:0][63:0] addr,
    input logic [CLIENTS-1:0][12:0] bytes,
    input logic [CLIENTS-1:0][CONTEXT-1:0] context_in,
    input logic [CLIENTS-1:0][2:0] tc,
    input logic [LISTS-1:0] waiting,
    input logic tag_valid,
    input logic [TW-1:0] tag,
    input logic tx_read_ready
);
  logic [CLIENTS-1:0] grant;
  logic tag_take, tx_read_valid;
  logic [CONTEXT-1:0] note_context;
  logic [12:0] note_bytes;
  logic [6:0] note_low;
  logic [$clog2(CLIENTS)-1:0] client;
  tp_read_hdr_t tx_read_hdr;
  logic [12:0] long;  // bytes of what was granted last
  tp_read_issue #(
      .CLIENTS(CLIENTS),
      .TAGS(TAGS),
      .CONTEXT(CONTEXT),
      .QOS(QOS),
      .PATIENCE(PATIENCE)
  ) dut (
      .clk,
      .rst,
      .hold,
      .relaxed,
      .want,
      .grant,
      .context_in,
      .client,
      .addr(addr[client]),
      .more(12'(bytes[client] - 1'b1)),
      .tc(tc[client]),
      .even(1'b0),
      .share({LISTS{13'd32}}),
      .waiting,
      .charge(long),
      .tag_valid,
      .tag,
      .tag_take,
      .note_context,
      .note_bytes,
      .note_low,
      .tx_read_valid,
      .tx_read_ready,
      .tx_read_hdr
  );

  logic started = 1'b0;
  logic granted, shown;
  logic [63:0] at;
  logic [TW-1:0] with_tag;
  logic [2:0] class_was;
  logic passed;  // a list's wish stands and another one was granted
  logic refuses;  // a channel wishes, a read may go, it is no list's turn, and none is granted
  logic [$clog2(PATIENCE):0] refused;  // so many times since a channel's last grant
  logic [LISTS-1:0] over;  // who was in `waiting` at the limit, in this period
  logic [$clog2(PATIENCE)+3:0] age;
  assign refuses = want[LISTS-1:0] != '0 && tag_valid && !hold && (!tx_read_valid || tx_read_ready) && grant == '0;
  tp_read_hdr_t hdr_was;
  always_ff @(posedge clk) begin
    started <= 1'b1;
    granted <= grant != '0 && !rst;
    with_tag <= tag;
    for (int c = 0; c < CLIENTS; c++)
    if (grant[c]) begin
      at <= addr[c];
      long <= bytes[c];
      class_was <= tc[c];
    end
    shown <= tx_read_valid && !tx_read_ready && !rst;
    passed <= want[LISTS] && !grant[LISTS] && !rst && (passed || grant != '0);
    hdr_was <= tx_read_hdr;
    if (rst || grant[LISTS-1:0] != '0) refused <= '0;
    else if (refuses) refused <= refused + 1'b1;
    age <= rst ? '0 : age + 1'b1;
    over <= rst ? '0 : (&age ? '0 : over) | (32'(refused) == PATIENCE ? waiting : '0);
  end
  always_comb begin
    if (!started) assume (rst);
    for (int c = 0; c < CLIENTS; c++)
    if (want[c]) assume (bytes[c] >= 1 && bytes[c] <= 13'd4096 && {1'b0, addr[c][11:0]} + bytes[c] <= 13'd4096);
  end

  // Of the request that is shown: its bytes, counted from its byte enables.
  int enabled;
  assign enabled = tx_read_hdr.dwords == 1 ? $countones(
      tx_read_hdr.first_be
  ) : $countones(
      tx_read_hdr.first_be
  ) + $countones(
      tx_read_hdr.last_be
  ) + 4 * (32'(tx_read_hdr.dwords) - 2);

  always_comb
    if (started && !rst) begin
      assert ((grant & (grant - 1'b1)) == '0 && (grant & ~want) == '0);
      assert (tag_take == (grant != '0));
      assert (!tag_take || (tag_valid && !hold));
      assert (!tag_take || !tx_read_valid || tx_read_ready);
      for (int c = 0; c < CLIENTS; c++)
      if (grant[c]) assert (note_context == context_in[c] && note_bytes == bytes[c] && note_low == addr[c][6:0]);
      assert (!granted || (tx_read_valid && tx_read_hdr.tag == 10'(with_tag) && tx_read_hdr.addr == {at[63:2], 2'b00}));
      assert (!granted || (enabled == 32'(long) && tx_read_hdr.first_be[at[1:0]] && (tx_read_hdr.first_be & ~(4'b1111 << at[1:0])) == '0));
      assert (!granted || (tx_read_hdr.dwords >= 1 && tx_read_hdr.dwords <= 11'd1024));
      assert (!granted || tx_read_hdr.tc == class_was);
      assert (!(QOS && passed && want[LISTS] && grant != '0) || grant[LISTS]);
      assert (!QOS || 32'(refused) <= PATIENCE);
      assert (!(QOS && refuses) || (waiting & ~over) != '0);
      assert (!granted || tx_read_hdr.dwords != 1 || tx_read_hdr.last_be == 0);
      assert (!shown || (tx_read_valid && tx_read_hdr == hdr_was));
      assert (!(tx_read_valid && !granted) || shown);
      cover (granted && long == 13'd4096);
      cover (QOS ? passed && grant[LISTS] : passed);
      cover (!QOS || (32'(refused) == PATIENCE && grant[LISTS-1:0] != '0));
      cover (granted && long == 13'd2 && tx_read_hdr.dwords == 2);
    end

  if (INDUCTION && !QOS) begin : g_plain
    always_comb if (started) assert (dut.pick != '0 && (dut.pick & (dut.pick - 1'b1)) == '0);
    always_comb if (started) assert (dut.g_plain.i_turn.g_several.later == ~(dut.pick | (dut.pick - 1'b1)));
  end
  if (INDUCTION && QOS) begin : g_induction
    always_comb
      if (started && !rst) begin
        assert (!passed || !dut.g_weighted.list_went);
        assert (refused <= dut.g_weighted.refused && 32'(dut.g_weighted.refused) <= PATIENCE);
        assert (age == dut.g_weighted.age && (over & ~dut.g_weighted.forgotten) == '0);
      end
  end
endmodule
