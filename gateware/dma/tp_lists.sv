// SPDX-License-Identifier: Apache-2.0
// Walks the tables of list descriptors, one of each channel at a time, and hands out their pieces in order.
//
// Fetches the rest of an aligned 64-byte block at a time, so that a fetch is answered by one completion and never reads past the block
// which holds the entry that ends the table. Each channel has at most one fetch under way; the next is asked for as soon as four pieces fit.
//
// Promises: no fetch starts once `stop` is given and `quiet` seen; `quiet` says that none is under way. `finish` forgets a channel's list; it may
// only come when quiet. A failed fetch ends the list with its status.
// Tables are 16-byte aligned; what a control word holds besides is for the engines.
// verilator lint_off UNUSEDSIGNAL
module tp_lists
  import towpath_pkg::*;
#(
    parameter int CHANNELS = 2,
    parameter logic [CHANNELS-1:0] AHEAD = '0,  // rows of these are read ahead, while a list is walked
    localparam int CW = CHANNELS > 1 ? $clog2(CHANNELS) : 1,
    localparam int PIECES = 8,            // for each channel
    localparam int PW = $clog2(PIECES)
) (
    input logic clk,
    input logic rst,

    input logic [CHANNELS-1:0] row_there,   // a list of this channel may start, if none is walked
    input logic [CHANNELS-1:0] start,       // it does; only when idle
    input logic [63:0]         start_addr,
    input logic [CHANNELS-1:0] stop,
    input logic [CHANNELS-1:0] finish,

    output logic          fetch_valid,
    input  logic          fetch_grant,
    output logic [CW-1:0] fetch_channel,
    output logic [63:0]   fetch_addr,
    output logic [6:0]    fetch_bytes,      // 16 to 64

    // Entries come in order; the last of a fetch has `entry_last`. With `entry_failed` there is none but `entry_status`.
    input logic          entry_valid,
    input logic [CW-1:0] entry_channel,
    input logic [127:0]  entry,
    input logic          entry_last,
    input logic          entry_failed,
    input logic [7:0]    entry_status,
    output logic         hold,              // start nothing in this cycle: an entry comes, which may say where its table goes on

    input  logic [CHANNELS-1:0] hungry,      // wants a piece, until it comes
    output logic [CHANNELS-1:0] piece_next,   // one comes in the next cycle, for this channel
    output logic [CHANNELS-1:0] piece_valid,
    output logic                piece_any,   // for any of them
    output logic [63:0]         piece_addr,
    output logic [31:0]         piece_more,   // its bytes, less one
    output logic                piece_empty,  // it has none
    output logic [CHANNELS-1:0]         over,     // no piece is left and none will come
    output logic [CHANNELS-1:0][7:0]    status,   // why, when a fetch failed; else 0
    output logic [CHANNELS-1:0]         quiet
);
  tp_list_entry_t e;
  assign e = entry;

  // Where each channel's next fetch begins, in entries of 16 bytes.
  logic [59:0] tables[2**CW];
  logic [CHANNELS-1:0] active, ended, skip, pending, need;
  logic [CHANNELS-1:0][PW:0] wr, rd;

  function automatic logic [CW-1:0] number(input logic [CHANNELS-1:0] one_hot);
    number = '0;
    for (int c = 0; c < CHANNELS; c++) if (one_hot[c]) number |= CW'(c);
  endfunction

  // ------------------------------------------------------------------------------------------------ entries
  logic is_chain, is_last, lives, keep, chains;
  assign lives = active[entry_channel] && !skip[entry_channel] && !entry_failed;
  assign is_chain = e.control.chain;
  assign is_last = e.control.last && !is_chain;
  assign keep = entry_valid && lives && !is_chain;
  assign chains = entry_valid && is_chain;
  assign hold = entry_valid;  // whether the entry counts, or chains, shows too late in the cycle

  // ------------------------------------------------------------------------------------------------ pieces
  logic [96:0] pieces[2**(CW+PW)];
  // Whose piece comes next is chosen a cycle before it is looked up.
  logic [CHANNELS-1:0] asked, chosen, give;
  logic [CW-1:0] give_channel;
  tp_round_robin #(
      .N(CHANNELS)
  ) i_give (
      .clk,
      .rst,
      .request(asked & ~give),
      .take(1'b1),
      .grant(chosen)
  );
  assign give_channel = number(give);
  assign piece_next = give;
  always_ff @(posedge clk) begin
    if (keep) pieces[{entry_channel, wr[entry_channel][PW-1:0]}] <= {e.length == '0, e.length - 1'b1, e.address};
    {piece_empty, piece_more, piece_addr} <= pieces[{give_channel, rd[give_channel][PW-1:0]}];
    give <= chosen & ~finish & ~{CHANNELS{rst}};
    piece_valid <= give & ~{CHANNELS{rst}};
    piece_any <= give != '0 && !rst;
  end

  // ------------------------------------------------------------------------------------------------ fetches
  logic [CHANNELS-1:0] pick;
  logic [CW-1:0] pick_channel;
  logic choose, picked;
  logic [CHANNELS-1:0] may_start;
  assign may_start = row_there & ~(active & AHEAD);
  tp_round_robin #(
      .N(CHANNELS)
  ) i_turn (
      .clk,
      .rst,
      .request(need),
      .take(choose),
      .grant(pick)
  );
  assign choose = !picked && may_start == '0 && !chains && need != '0;
  assign pick_channel = number(pick);
  assign fetch_valid = picked;
  assign fetch_bytes = 7'd64 - {1'b0, fetch_addr[5:4], 4'b0};

  logic [59:0] place, next;
  logic [CW-1:0] table_at;
  assign place = tables[pick_channel];
  always_comb begin
    if (chains) begin
      table_at = entry_channel;
      next = e.address[63:4];
    end else if (may_start != '0) begin
      table_at = number(may_start);
      next = start_addr[63:4];
    end else begin
      table_at = pick_channel;
      next = {place[59:2] + 1'b1, 2'b00};
    end
  end
  always_ff @(posedge clk) begin
    // Where a list may start it is noted whether it does or not, which shows late: there is none of this channel before.
    if (chains ? lives : may_start != '0 || (need != '0 && !picked)) tables[table_at] <= next;
    // A fetch that is not needed any more is withdrawn.
    if (fetch_grant || !need[fetch_channel]) picked <= 1'b0;
    if (choose) begin
      picked <= 1'b1;
      fetch_channel <= pick_channel;
      fetch_addr <= {place, 4'b0};
    end
    if (rst) picked <= 1'b0;
  end

  for (genvar c = 0; c < CHANNELS; c++) begin : g_channel
    logic mine, fetched, waiting;
    assign mine = entry_valid && entry_channel == CW'(c);
    assign fetched = fetch_grant && fetch_channel == CW'(c);
    assign waiting = wr[c] != rd[c];
    assign over[c] = ended[c] && !waiting && !pending[c] && !piece_valid[c];
    assign quiet[c] = !pending[c] && !need[c] && !(picked && fetch_channel == CW'(c));
    always_ff @(posedge clk) begin
      need[c] <= active[c] && !ended[c] && !pending[c] && !fetched && !stop[c] && (PW + 1)'(wr[c] - rd[c]) <= (PW + 1)'(PIECES - 4);
      if (start[c]) begin
        active[c] <= 1'b1;
        ended[c] <= 1'b0;
        status[c] <= '0;
      end
      if (fetched) begin
        pending[c] <= 1'b1;
        skip[c] <= 1'b0;
      end
      if (mine) begin
        if (lives && !is_chain) wr[c] <= wr[c] + 1'b1;
        if (lives && (is_chain || is_last)) skip[c] <= 1'b1;
        if (lives && is_last) ended[c] <= 1'b1;
        if (entry_last || entry_failed) pending[c] <= 1'b0;
        if (entry_failed) begin
          ended[c] <= 1'b1;
          status[c] <= entry_status;
        end
      end
      asked[c] <= !give[c] && (asked[c] || (hungry[c] && waiting && !piece_valid[c]));
      if (give[c]) rd[c] <= rd[c] + 1'b1;
      if (rst || finish[c]) begin
        active[c] <= 1'b0;
        ended[c] <= 1'b0;
        pending[c] <= 1'b0;
        need[c] <= 1'b0;
        asked[c] <= 1'b0;
        wr[c] <= '0;
        rd[c] <= '0;
      end
      if (!rst) begin
        assert (!mine || !lives || is_chain || (PW + 1)'(wr[c] - rd[c]) != (PW + 1)'(PIECES))
        else $error("%m: a piece was lost");
        assert (!start[c] || !hold)
        else $error("%m: started while an entry needs the table");
        assert (!finish[c] || !pending[c])
        else $error("%m: finished with a fetch under way");
      end
    end
  end
endmodule
