// SPDX-License-Identifier: Apache-2.0
// Walks the tables of a list descriptor and hands out its pieces in order.
//
// Fetches the rest of an aligned 64-byte block at a time, so that a fetch is answered by one completion and never reads past the block
// which holds the entry that ends the table. At most one fetch is under way; the next is asked for as soon as four pieces fit.
//
// Promises: no fetch starts once `stop` is given; `quiet` says that none is under way. `finish` forgets everything; it may only come
// when quiet. A failed fetch ends the list with its status.
// Tables are 16-byte aligned.
// verilator lint_off UNUSEDSIGNAL
module tp_list
  import towpath_pkg::*;
(
    input logic clk,
    input logic rst,

    input logic        start,         // a pulse; only when idle
    input logic [63:0] start_addr,
    input logic        stop,
    input logic        finish,

    output logic        fetch_valid,
    input  logic        fetch_grant,
    output logic [63:0] fetch_addr,
    output logic [ 6:0] fetch_bytes,  // 16 to 64
    input  logic        entry_valid,  // entries come in order; the last of a fetch has entry_last
    input  logic [127:0] entry,
    input  logic        entry_last,
    input  logic        fail_valid,   // instead of entries
    input  logic [ 7:0] fail_status,

    output logic        piece_valid,
    input  logic        piece_ready,
    output logic [63:0] piece_addr,
    output logic [31:0] piece_bytes,
    output logic        over,         // no piece is left and none will come
    output logic [ 7:0] status,       // why, when a fetch failed; else 0
    output logic        quiet
);
  tp_list_entry_t e;
  assign e = entry;

  logic active, ended, skip, pending;
  logic [63:0] table_addr;
  logic [3:0] count;
  logic push, room;
  logic is_chain, is_last;

  assign is_chain = e.control.chain;
  assign is_last = e.control.last && !is_chain;
  assign push = entry_valid && active && !skip && !is_chain;

  tp_fifo #(
      .WIDTH(96),
      .DEPTH(8)
  ) i_pieces (
      .clk,
      .rst,
      .clear(finish),
      .in_valid(push),
      .in_ready(room),
      .in_data({e.address, e.length}),
      .out_valid(piece_valid),
      .out_ready(piece_ready),
      .out_data({piece_addr, piece_bytes}),
      .count(count)
  );

  assign fetch_valid = active && !ended && !pending && !stop && count <= 4;
  assign fetch_addr = table_addr;
  assign fetch_bytes = 7'd64 - {1'b0, table_addr[5:4], 4'b0};
  assign over = ended && !piece_valid && !pending;
  assign quiet = !pending;

  always_ff @(posedge clk) begin
    if (start) begin
      active <= 1'b1;
      ended <= 1'b0;
      skip <= 1'b0;
      status <= '0;
      table_addr <= {start_addr[63:4], 4'b0};
    end
    if (fetch_valid && fetch_grant) begin
      pending <= 1'b1;
      skip <= 1'b0;
      table_addr <= {table_addr[63:6] + 1'b1, 6'b0};
    end
    if (entry_valid) begin
      if (!skip && is_chain) begin
        table_addr <= {e.address[63:4], 4'b0};
        skip <= 1'b1;
      end
      if (!skip && is_last) begin
        ended <= 1'b1;
        skip <= 1'b1;
      end
      if (entry_last) pending <= 1'b0;
    end
    if (fail_valid) begin
      pending <= 1'b0;
      ended <= 1'b1;
      status <= fail_status;
    end
    if (rst || finish) begin
      active <= 1'b0;
      ended <= 1'b0;
      pending <= 1'b0;
    end
    if (!rst) begin
      assert (!push || room)
      else $error("%m: a piece was lost");
      assert (!finish || !pending)
      else $error("%m: finished with a fetch under way");
    end
  end
endmodule
