// SPDX-License-Identifier: Apache-2.0
// The C2H half of kind `fanout`: PORTS streams of the core to one channel, each behind a FIFO. A message's user word is the number of its port.
//
// Ports with something in their FIFO are served in turn, a message each. The turn is given with a message's first beat and kept to its last: a
// port that stops in a message stops the others, once their FIFOs are full.
// A reset empties all FIFOs. `core_out_reset` tells the core, in the clocks of the reset; what a port sends afterwards begins a message.
//
// Promises: the messages of each port go out whole, once and in order; a port that waits is served after one message at most of each other.
// Rate: one beat a clock; where one port alone is busy, a clock passes between its messages.
module tp_fanout_merge #(
    parameter int DATA_WIDTH = 128,
    parameter int PORTS = 4,
    parameter int DEPTH = 512,  // beats of each port's FIFO, a power of two
    localparam int KEEP = DATA_WIDTH / 8
) (
    input logic clk,
    input logic rst_n,

    output logic                  m_tvalid,
    input  logic                  m_tready,
    output logic [DATA_WIDTH-1:0] m_tdata,
    output logic [      KEEP-1:0] m_tkeep,
    output logic                  m_tlast,
    output logic [          47:0] m_length,
    output logic [          31:0] m_offset,
    output logic [          31:0] m_user,
    input  logic                  m_reset,

    input  logic [PORTS-1:0][DATA_WIDTH-1:0] core_out_tdata,
    input  logic [PORTS-1:0][      KEEP-1:0] core_out_tkeep,
    input  logic [PORTS-1:0]                 core_out_tlast,
    input  logic [PORTS-1:0]                 core_out_tvalid,
    output logic [PORTS-1:0]                 core_out_tready,
    output logic                             core_out_reset
);
  localparam int CW = $clog2(KEEP) + 1;
  localparam int TW = $clog2(PORTS) + 1;

  if (PORTS < 1 || PORTS > 64) $error("%m: PORTS %0d: make it 1 to 64", PORTS);

  assign core_out_reset = m_reset;
  assign m_length = '0;
  assign m_offset = '0;

  logic [PORTS-1:0] valid, last, owner, grant;  // `owner`: the port whose message is going out
  logic [PORTS-1:0][DATA_WIDTH-1:0] data;
  logic [PORTS-1:0][CW-1:0] bytes;
  logic out_ready, leaves, ends, choose;

  for (genvar p = 0; p < PORTS; p++) begin : g_port
    logic room;
    logic [CW-1:0] count;
    // A FIFO has the number of a beat's bytes in place of its lanes: that spares it a block RAM.
    always_comb begin
      count = '0;
      for (int n = 1; n <= KEEP; n++) begin
        if (core_out_tkeep[p][n-1] && (n == KEEP || !core_out_tkeep[p][n%KEEP])) count |= CW'(n);
      end
    end
    tp_deep_fifo #(
        .WIDTH(DATA_WIDTH + CW + 1),
        .DEPTH(DEPTH)
    ) i_fifo (
        .clk,
        .rst(!rst_n || m_reset),
        .in_valid(core_out_tvalid[p]),
        .in_ready(room),
        .in_data({core_out_tdata[p], count, core_out_tlast[p]}),
        .out_valid(valid[p]),
        .out_ready(owner[p] && out_ready),
        .out_data({data[p], bytes[p], last[p]})
    );
    assign core_out_tready[p] = room && !m_reset;
  end

  // ---- whose turn it is: chosen anew when no message is under way, and beside the last beat of one that is
  assign leaves = (owner & valid) != '0 && out_ready;
  assign ends = leaves && (owner & last) != '0;
  assign choose = owner == '0 || ends;
  tp_round_robin #(
      .N(PORTS)
  ) i_turn (
      .clk,
      .rst(!rst_n),
      .request(valid & ~owner),
      .take(choose),
      .grant
  );
  always_ff @(posedge clk) begin
    if (choose) owner <= grant;
    if (!rst_n || m_reset) owner <= '0;
  end

  // ---- the owner's beat
  logic [DATA_WIDTH-1:0] beat;
  logic [CW-1:0] beat_bytes;
  logic [KEEP-1:0] lanes;
  logic [TW-1:0] tag, out_tag;
  always_comb begin
    beat = '0;
    beat_bytes = '0;
    tag = '0;
    for (int p = 0; p < PORTS; p++) begin
      beat |= data[p] & {DATA_WIDTH{owner[p]}};
      beat_bytes |= bytes[p] & {CW{owner[p]}};
      tag |= TW'(p) & {TW{owner[p]}};
    end
    for (int b = 0; b < KEEP; b++) lanes[b] = CW'(b) < beat_bytes;
  end
  tp_skid #(
      .WIDTH(DATA_WIDTH + KEEP + 1 + TW)
  ) i_out (
      .clk,
      .rst(!rst_n || m_reset),
      .in_valid((owner & valid) != '0),
      .in_ready(out_ready),
      .in_data({beat, lanes, (owner & last) != '0, tag}),
      .out_valid(m_tvalid),
      .out_ready(m_tready),
      .out_data({m_tdata, m_tkeep, m_tlast, out_tag})
  );
  assign m_user = 32'(out_tag);
endmodule
