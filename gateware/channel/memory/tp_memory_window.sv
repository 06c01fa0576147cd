// SPDX-License-Identifier: Apache-2.0
// Brings the streams of BAR 4 to the memories behind it, each of which has a tp_memory_join.
//
// A write is a packet of rows; its address, of the first row, and their number stand beside the first one. A read is for rows within 128 bytes; with
// `read_after` it waits until all writes up to number `read_taken` (modulo 2^16) have been answered. Memories answer in any order among each other:
// `order` has where each write went, and an answer counts when all before it have come. WRITES may be without an answer. Rows that a read brings go back in order.
// What no memory is behind is taken: of a write `write_failed` is shown, as it is for one that its memory refuses; rows of a read come with an error.
// The next read with `read_after` comes when all rows of the one before have been taken.
module tp_memory_window #(
    parameter int DATA_WIDTH = 128,
    parameter int WINDOWS = 1,
    parameter int WRITES = 64,               // a power of two
    parameter logic [WINDOWS-1:0][63:0] OFFSETS = '0,       // in BAR 4, multiples of 1 MiB
    parameter logic [WINDOWS-1:0][63:0] BYTES = {WINDOWS{64'h100000}}        // of each memory, multiples of 4096
) (
    input logic clk,
    input logic rst_n,

    input  logic                  write_valid,
    output logic                  write_ready,
    input  logic [          35:0] write_address,
    input  logic                  write_last,
    output logic                  write_failed_valid,
    input  logic                  write_failed_ready,
    input  logic                  read_valid,
    output logic                  read_ready,
    input  logic [          35:0] read_address,
    input  logic [           4:0] read_rows,
    input  logic                  read_after,
    input  logic [          15:0] read_taken,
    output logic                  answer_valid,
    input  logic                  answer_ready,
    output logic [DATA_WIDTH-1:0] answer_data,
    output logic                  answer_error,

    // the joins; what is not here stands beside the streams above: rows, bytes and last
    output logic [WINDOWS-1:0]                 w_valid,
    input  logic [WINDOWS-1:0]                 w_ready,
    output logic [WINDOWS-1:0][          35:0] w_address,   // in the memory
    input  logic [WINDOWS-1:0]                 wb_valid,
    output logic [WINDOWS-1:0]                 wb_ready,
    input  logic [WINDOWS-1:0]                 wb_error,
    output logic [WINDOWS-1:0]                 q_valid,
    input  logic [WINDOWS-1:0]                 q_ready,
    output logic [WINDOWS-1:0][          35:0] q_address,
    input  logic [WINDOWS-1:0]                 a_valid,
    output logic [WINDOWS-1:0]                 a_ready,
    input  logic [WINDOWS-1:0][DATA_WIDTH-1:0] a_data,
    input  logic [WINDOWS-1:0]                 a_error
);
  // ------------------------------------------------------------------------------------------------ where to
  logic [WINDOWS-1:0] write_hits, write_held, write_to, read_to;
  logic due, enough;  // the writes before the read have been answered
  logic may_begin;  // there is room to keep where the write goes
  for (genvar i = 0; i < WINDOWS; i++) begin : g_window
    assign w_address[i] = write_address - 36'(OFFSETS[i]);
    assign q_address[i] = read_address - 36'(OFFSETS[i]);
    assign write_hits[i] = 64'(w_address[i]) < BYTES[i];
    assign read_to[i] = 64'(q_address[i]) < BYTES[i];
    assign w_valid[i] = write_valid && may_begin && write_to[i];
    // One answer to a write at a time, of the first memory that has one; a write that went nowhere comes behind them.
    assign wb_ready[i] = (wb_valid & ((WINDOWS'(1) << i) - 1'b1)) == '0 && (!wb_error[i] || !write_failed_valid);
    assign q_valid[i] = read_valid && due && read_to[i];
    assign a_ready[i] = answer_ready;
  end

  // ------------------------------------------------------------------------------------------------ writes
  localparam int CW = $clog2(WRITES) + 1;
  logic begun, nowhere, lost, failed, room, order_valid, counts;
  logic [15:0] answers;
  logic [WINDOWS-1:0] next_to;               // where the oldest write went that does not count yet; 0: nowhere
  logic [WINDOWS-1:0][CW-1:0] done;          // answers that have come and do not count yet
  assign may_begin = begun || room;
  assign write_to = begun ? write_held : write_hits;
  assign nowhere = write_to == '0;
  assign lost = write_valid && may_begin && write_last && nowhere && wb_valid == '0;
  assign write_ready = may_begin && ((write_to & w_ready) != '0 || (nowhere && (!write_last || (wb_valid == '0 && !write_failed_valid))));
  assign failed = lost || (wb_valid & wb_error & -wb_valid) != '0;
  tp_fifo #(
      .WIDTH(WINDOWS),
      .DEPTH(WRITES)
  ) order (
      .clk,
      .rst(!rst_n),
      .clear(1'b0),
      .in_valid(write_valid && write_ready && !begun),
      .in_ready(room),
      .in_data(write_to),
      .out_valid(order_valid),
      .out_ready(counts),
      .out_data(next_to),
      .count()
  );
  // A write to nowhere counts once all of it has been taken.
  logic there;
  always_comb begin
    there = next_to == '0 && !(begun && write_held == '0);
    for (int i = 0; i < WINDOWS; i++) there |= next_to[i] && done[i] != '0;
  end
  assign counts = order_valid && there;
  always_ff @(posedge clk) begin
    if (write_valid && write_ready) begin
      begun <= !write_last;
      write_held <= write_to;
    end
    for (int i = 0; i < WINDOWS; i++) done[i] <= done[i] + CW'(wb_valid[i] && wb_ready[i]) - CW'(counts && next_to[i]);
    if (counts) answers <= answers + 1'b1;
    write_failed_valid <= write_failed_valid ? !write_failed_ready : failed;
    if (!rst_n) begin
      begun <= 1'b0;
      answers <= '0;
      done <= '0;
      write_failed_valid <= 1'b0;
    end
  end

  // ------------------------------------------------------------------------------------------------ reads
  logic [4:0] missing;  // rows that no memory has
  assign due = enough || !read_after;
  assign read_ready = due && ((read_to & q_ready) != '0 || (read_to == '0 && missing == '0));
  always_ff @(posedge clk) begin
    // Kept until the read is taken: counts go on, and 2^15 later the difference would mean the opposite.
    enough <= read_valid && !read_ready && (enough || $signed(answers - read_taken) >= 0);
    if (read_valid && due && read_to == '0 && missing == '0) missing <= read_rows;
    else if (missing != '0 && answer_ready) missing <= missing - 1'b1;
    if (!rst_n) begin
      enough <= 1'b0;
      missing <= '0;
    end
  end
  always_comb begin
    answer_data = '0;
    answer_error = missing != '0;
    for (int i = 0; i < WINDOWS; i++)
    if (a_valid[i]) begin
      answer_data = a_data[i];
      answer_error = a_error[i];
    end
  end
  assign answer_valid = missing != '0 || a_valid != '0;
endmodule
