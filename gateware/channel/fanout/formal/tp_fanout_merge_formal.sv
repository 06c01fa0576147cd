// SPDX-License-Identifier: Apache-2.0
// tp_fanout_merge: the beats of each port go out, each once and in order, with the port's number; a message goes whole, before another begins. A port
// that waits is served after one message of each other. One beat of one port is watched, any.
// Shown from reset on, for a number of cycles. With two ports of two beats and two more each; a row of two bytes.
// Assumed: the stream's rules.
module tp_fanout_merge_formal #(
    parameter int DATA_WIDTH = 16,
    localparam int KEEP = DATA_WIDTH / 8,
    localparam int PORTS = 2,
    localparam int DEPTH = 2,
    localparam int CW = 4  // of a count: more than the cycles that are looked at
) (
    input logic clk,
    input logic rst,
    input logic m_tready,
    input logic m_reset,
    input logic [PORTS-1:0][DATA_WIDTH-1:0] core_out_tdata,
    input logic [PORTS-1:0][1:0] core_bytes,
    input logic [PORTS-1:0] core_out_tlast,
    input logic [PORTS-1:0] core_out_tvalid,
    input logic at,              // a port
    input logic [CW-1:0] watch   // one of its beats
);
  logic m_tvalid, m_tlast, core_out_reset;
  logic [DATA_WIDTH-1:0] m_tdata;
  logic [KEEP-1:0] m_tkeep;
  logic [47:0] m_length;
  logic [31:0] m_offset, m_user;
  logic [PORTS-1:0][KEEP-1:0] core_out_tkeep;
  logic [PORTS-1:0] core_out_tready;
  for (genvar p = 0; p < PORTS; p++) begin : g_keep
    assign core_out_tkeep[p] = KEEP'((32'd1 << core_bytes[p]) - 1);
    always_comb assume (core_bytes[p] <= 2'd2 && (core_out_tlast[p] || core_bytes[p] == 2'd2));
  end
  tp_fanout_merge #(
      .DATA_WIDTH(DATA_WIDTH),
      .PORTS(PORTS),
      .DEPTH(DEPTH)
  ) dut (
      .rst_n(!rst),
      .*
  );

  logic started = 1'b0;
  logic at_was, stands, leaves, middle, in_reset;
  logic [31:0] user_was;
  logic [CW-1:0] watch_was, ins, outs;  // beats of the port: taken from the core, taken by the channel
  logic [CW-1:0] passed;  // messages of the other port that went out since the watched one's first beat stood at its FIFO's end
  logic waits, open;  // the port waits; the message whose turn it is has begun
  logic [DATA_WIDTH+KEEP:0] watched, in, out;
  logic [DATA_WIDTH+KEEP+32:0] all_was;
  assign leaves = m_tvalid && m_tready && !m_reset;
  assign in = {core_out_tdata[at], core_out_tkeep[at], core_out_tlast[at]};
  assign out = {m_tdata, m_tkeep, m_tlast};
  assign waits = dut.valid[at] && !dut.owner[at];
  always_ff @(posedge clk) begin
    started <= 1'b1;
    at_was <= at;
    watch_was <= watch;
    in_reset <= m_reset;
    stands <= m_tvalid && !m_tready && !rst && !m_reset;
    all_was <= {out, m_user};
    if (core_out_tvalid[at] && core_out_tready[at]) begin
      ins <= ins + 1'b1;
      if (ins == watch) watched <= in;
    end
    if (leaves) begin
      middle <= !m_tlast;
      user_was <= m_user;
      if (m_user == 32'(at)) outs <= outs + 1'b1;
    end
    passed <= !waits ? '0 : passed + CW'(dut.ends);
    if (dut.leaves) open <= !dut.ends;
    if (rst || m_reset) {ins, outs, middle, passed, open} <= '0;
  end
  always_comb
    if (!started)
      assume (rst);
      else assume (at == at_was && watch == watch_was);
  always_comb
    if (started && !rst) begin
      if (stands && !m_reset) assert (m_tvalid && {out, m_user} == all_was);
      if (in_reset) assert (!m_tvalid);
      if (m_reset) assert (core_out_tready == '0);
      if (m_tvalid && !m_reset) begin
        assert (m_user < 32'(PORTS));
        if (middle) assert (m_user == user_was);
        if (m_user == 32'(at)) begin
          assert (outs != ins);
          if (outs == watch) assert (out == watched);
        end
      end
      assert (passed <= CW'(1));
      // A turn is given with a message, never ahead of one: nobody waits for a port that has nothing.
      assert (dut.owner == '0 || open || (dut.owner & dut.valid) != '0);
      cover (leaves && m_user == 32'(at) && outs == watch && outs == CW'(3) && user_was != m_user);
      cover (passed == CW'(1));
    end
endmodule
