// SPDX-License-Identifier: Apache-2.0
// A buffer behind a source that cannot wait: it has no `tready`.
//
// Promises: until the first beat that finds no room, each arrives once, in order; DEPTH beats find room, whatever the reader does. `lost` is 1 in the clock of such a beat. With RESUME 0
// nothing arrives that comes after it until `flush`. With RESUME 1 what comes is dropped until all that was held has been taken; then the message that was cut ends, by a beat without
// bytes, an empty message tells of the loss, and beats are taken anew. With ENDS the first of these begins a message, and so does the first after a flush, unless the source knows of the
// flush (TOLD); without ENDS the source has no ends, or begins a message when `dropping` falls.
// Not for: a source with `tready`.
module tp_stream_buffer #(
    parameter  int WIDTH  = 64,
    parameter  int SIDE   = 1,   // bits beside the data
    parameter  int DEPTH  = 64,  // a power of two, 2 or more
    parameter  bit RESUME = 0,
    parameter  bit ENDS   = 1,
    parameter  bit TOLD   = 0,
    localparam int KEEP   = WIDTH / 8
) (
    input  logic             clk,
    input  logic             rst_n,
    input  logic             flush,
    input  logic             s_tvalid,
    input  logic [WIDTH-1:0] s_tdata,
    input  logic [ KEEP-1:0] s_tkeep,
    input  logic             s_tlast,
    input  logic [ SIDE-1:0] s_side,
    output logic             m_tvalid,
    input  logic             m_tready,
    output logic [WIDTH-1:0] m_tdata,
    output logic [ KEEP-1:0] m_tkeep,
    output logic             m_tlast,
    output logic [ SIDE-1:0] m_side,
    output logic             lost,
    output logic             dropping
);
  localparam int W = SIDE + 1 + KEEP + WIDTH;
  localparam int HELD = $clog2(DEPTH + 3);  // the FIFO takes two more
  logic room, valid, take, put, tells, resumes, rest;
  logic midway;   // the source's message has begun, and not ended
  logic skip;     // what is left of it is not taken
  logic open;     // the last beat that was put did not end its message
  logic closed;   // the message that was cut has its end, in the FIFO
  logic [HELD-1:0] held;
  logic [W-1:0] beat, head;

  assign rest = s_tvalid ? !s_tlast : midway;
  assign tells = RESUME && dropping && (held == '0 || closed);
  assign resumes = tells && !open;
  assign put = tells || (s_tvalid && !dropping && !skip && room);
  assign lost = s_tvalid && !dropping && !skip && !room && !flush && rst_n;
  assign beat = tells ? {{SIDE{1'b0}}, 1'b1, {KEEP{1'b0}}, {WIDTH{1'b0}}} : {s_side, s_tlast, s_tkeep, s_tdata};
  assign m_tvalid = valid && !flush;
  assign take = m_tvalid && m_tready;
  assign {m_side, m_tlast, m_tkeep, m_tdata} = head;

  tp_deep_fifo #(
      .WIDTH(W),
      .DEPTH(DEPTH)
  ) beats (
      .clk,
      .rst(!rst_n || flush),
      .in_valid(put),
      .in_ready(room),
      .in_data(beat),
      .out_valid(valid),
      .out_ready(m_tready && !flush),
      .out_data(head)
  );

  always_ff @(posedge clk) begin
    midway <= rest;
    held <= held + HELD'(put) - HELD'(take);
    if (put) open <= !beat[WIDTH+KEEP];
    closed <= tells && open;
    if (lost) dropping <= 1'b1;
    if (resumes) dropping <= 1'b0;
    if (resumes) skip <= ENDS && rest;
    else if (s_tvalid && s_tlast) skip <= 1'b0;
    if (flush) begin
      {held, open, closed, dropping} <= '0;
      skip <= ENDS && !TOLD && rest;
    end
    if (!rst_n) {midway, skip, held, open, closed, dropping} <= '0;
  end
endmodule
