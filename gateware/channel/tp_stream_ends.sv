// SPDX-License-Identifier: Apache-2.0
// Ends of message for a stream that has none: a message has `bytes` bytes, as that stands when its first beat is there; with 0 the stream has no ends.
//
// Promises: no register stands between the two sides. The beat with a message's last byte has `tlast`, and `tkeep` for the bytes up to it: what else is in it is dropped.
// Every beat at the input is full. `flush` begins a message, in a clock or more in which nothing moves.
module tp_stream_ends #(
    parameter  int WIDTH = 64,
    localparam int KEEP  = WIDTH / 8
) (
    input  logic             clk,
    input  logic             rst_n,
    input  logic             flush,
    input  logic [     31:0] bytes,
    input  logic             s_tvalid,
    output logic             s_tready,
    input  logic [WIDTH-1:0] s_tdata,
    output logic             m_tvalid,
    input  logic             m_tready,
    output logic [WIDTH-1:0] m_tdata,
    output logic [ KEEP-1:0] m_tkeep,
    output logic             m_tlast
);
  logic midway, endless;  // of a message
  logic was_endless, waits;
  logic [31:0] left, now;
  // A beat that waits keeps the length that it was shown with.
  assign now = midway || waits ? left : bytes;
  assign endless = midway || waits ? was_endless : bytes == '0;
  assign s_tready = m_tready && !flush;
  assign m_tvalid = s_tvalid && !flush;
  assign m_tdata = s_tdata;
  assign m_tlast = !endless && now <= 32'(KEEP);
  for (genvar b = 0; b < KEEP; b++) begin : g_keep
    assign m_tkeep[b] = endless || now > 32'(b);
  end
  always_ff @(posedge clk) begin
    if (m_tvalid) begin
      was_endless <= endless;
      waits <= !m_tready;
      left <= m_tready ? now - 32'(KEEP) : now;
      if (m_tready) midway <= !endless && !m_tlast;
    end
    if (!rst_n || flush) {midway, waits} <= '0;
  end
endmodule
