// SPDX-License-Identifier: Apache-2.0
// EPEE's FIFO to the host as a stream: of each word the halves that are valid, one behind the other.
//
// Promises: valid halves of the words that are written arrive in order, each once; the lower half of a word is the first. A word takes a clock. `prog_full` is 1 while the next 8 words
// might not find room: a core may be late by so many. Beats are full. A message ends only where the host would wait for ever: when nothing has been written for PAUSE clocks, and what was
// written since its beginning is no multiple of PATH bits, or of WIDTH bits on a narrower path. Its last beat has half of its bytes, or none. `flush` forgets what is held.
module tp_epee_write #(
    parameter  int WIDTH = 128,       // of both halves: 64 or 128
    parameter  int PATH  = 128,       // of the stream behind
    parameter  int PAUSE = 256,
    localparam int KEEP  = WIDTH / 8
) (
    input  logic             clk,
    input  logic             rst_n,
    input  logic             flush,
    output logic             prog_full,
    input  logic             wr_en,
    input  logic [WIDTH+1:0] din,
    output logic             tvalid,
    input  logic             tready,
    output logic [WIDTH-1:0] tdata,
    output logic [ KEEP-1:0] tkeep,
    output logic             tlast
);
  localparam int HALF = WIDTH / 2;
  localparam int PARTS = PATH > HALF ? PATH / HALF : 1;
  localparam int PW = PARTS == 1 ? 1 : $clog2(PARTS);
  logic there, taken, both, some, held, due, put;
  logic [WIDTH+1:0] word;
  logic [HALF-1:0] first, second, half;
  logic [PW-1:0] parts;  // halves since the beginning of the message, modulo those of the path
  logic [$clog2(PAUSE)-1:0] pause;
  tp_fifo_write #(
      .WIDTH(WIDTH + 2)
  ) words (
      .clk,
      .rst_n,
      .flush,
      .full(),
      .nearly_full(prog_full),
      .wr_en,
      .din,
      .tvalid(there),
      .tready(taken),
      .tdata(word)
  );
  assign {both, some} = {&word[WIDTH+:2], |word[WIDTH+:2]};
  assign first = word[WIDTH] ? word[0+:HALF] : word[HALF+:HALF];
  assign second = word[HALF+:HALF];
  assign put = there && !due && (both || some && held);
  assign taken = there && !due && (!put || tready) && !flush;
  assign tvalid = (put || due) && !flush;
  assign tlast = due;
  // An end stands while the next words come.
  assign tdata = due ? {{HALF{1'b0}}, half} : held ? {first, half} : {second, first};
  assign tkeep = due ? {{KEEP / 2{1'b0}}, {KEEP / 2{held}}} : '1;
  always_ff @(posedge clk) begin
    pause <= there || due || !held && parts == '0 ? '0 : pause + 1'b1;
    if (taken) begin
      // A held half goes out before the first of this word; what is left over is held.
      if (some) held <= both ? held : !held;
      if (both ? held : some) half <= both ? second : first;
      if (PARTS > 1) parts <= parts + PW'(both) + PW'(some);
    end
    if (pause == '1 && !there) due <= 1'b1;
    if (due && tready) {due, held, parts} <= '0;
    if (!rst_n || flush) begin
      {due, held, parts} <= '0;
      pause <= '0;
    end
  end
endmodule
