// SPDX-License-Identifier: Apache-2.0
// tp_fanout_split: each port has the beats that were for it, each once and in order, and no other; none is in neither FIFO nor core. A verdict comes
// once for each message that ended without a fault, in their order, and tells whether there is such a port. One beat of one port is watched, any.
// Shown from reset on, for a number of cycles. With two ports of two beats and two more each; a row of two bytes.
// Assumed: the stream's rules; a reset comes between beats.
module tp_fanout_split_formal #(
    parameter int DATA_WIDTH = 16,
    localparam int KEEP = DATA_WIDTH / 8,
    localparam int PORTS = 2,
    localparam int DEPTH = 2,
    localparam int CW = 4  // of a count: more than the cycles that are looked at
) (
    input logic clk,
    input logic rst,
    input logic s_tvalid,
    input logic [DATA_WIDTH-1:0] s_tdata,
    input logic [1:0] s_bytes,
    input logic s_tlast,
    input logic s_error,
    input logic [31:0] s_user,
    input logic s_reset,
    input logic end_ready,
    input logic [PORTS-1:0] core_in_tready,
    input logic at,              // a port
    input logic [CW-1:0] watch   // one of its beats
);
  logic s_tready, end_valid, core_in_reset;
  logic [5:0] end_status;
  logic [PORTS-1:0][DATA_WIDTH-1:0] core_in_tdata;
  logic [PORTS-1:0][KEEP-1:0] core_in_tkeep;
  logic [PORTS-1:0] core_in_tlast, core_in_error, core_in_tvalid;
  logic [KEEP-1:0] s_tkeep;
  assign s_tkeep = KEEP'((32'd1 << s_bytes) - 1);
  tp_fanout_split #(
      .DATA_WIDTH(DATA_WIDTH),
      .PORTS(PORTS),
      .DEPTH(DEPTH)
  ) dut (
      .rst_n(!rst),
      .s_length('0),
      .s_offset('0),
      .*
  );

  // ------------------------------------------------------------------------------------------------ what is around it
  logic started = 1'b0;
  logic middle, beat, at_was, stands;
  logic [31:0] user_was;
  logic [CW-1:0] watch_was;
  logic [DATA_WIDTH+KEEP+1:0] out, out_was;
  assign beat = s_tvalid && s_tready;
  assign out = {core_in_tdata[at], core_in_tkeep[at], core_in_tlast[at], core_in_error[at]};
  always_ff @(posedge clk) begin
    started <= 1'b1;
    if (beat) middle <= !s_tlast;
    if (rst || s_reset) middle <= 1'b0;
    user_was <= s_user;
    at_was <= at;
    watch_was <= watch;
    stands <= core_in_tvalid[at] && !core_in_tready[at] && !rst && !s_reset;
    out_was <= out;
  end
  always_comb begin
    if (!started)
      assume (rst);
      else assume (at == at_was && watch == watch_was);
    assume (s_bytes <= 2'd2 && (s_tlast || s_bytes == 2'd2));
    if (middle) assume (s_user == user_was);
    if (s_reset) assume (!s_tvalid);
    assume (!(s_error && !s_tlast));
  end

  // ------------------------------------------------------------------------------------------------ what is watched
  logic [CW-1:0] ins, outs, stored;  // beats of the port: taken from the channel, taken by the core, in the FIFO
  logic [DATA_WIDTH+KEEP+1:0] watched;
  logic due, known;  // a verdict has not been given; its message had a port
  logic [PORTS-1:0][CW-1:0] held;
  for (genvar p = 0; p < PORTS; p++) begin : g_held
    logic [1:0] in_ram;
    assign in_ram = dut.g_port[p].i_fifo.wr - dut.g_port[p].i_fifo.rd;
    assign held[p] = CW'(in_ram) + CW'(dut.g_port[p].i_fifo.q_valid) + CW'(dut.g_port[p].valid);
  end
  assign stored = held[at];
  always_ff @(posedge clk) begin
    if (beat && s_user == 32'(at)) begin
      ins <= ins + 1'b1;
      if (ins == watch) watched <= {s_tdata, s_tkeep, s_tlast, s_error};
    end
    if (core_in_tvalid[at] && core_in_tready[at]) outs <= outs + 1'b1;
    if (end_valid && end_ready) due <= 1'b0;
    if (beat && s_tlast && !s_error) begin
      due <= 1'b1;
      known <= s_user < 32'(PORTS);
    end
    if (rst || s_reset) {ins, outs, due} <= '0;
  end
  always_comb
    if (started && !rst) begin
      if (stands && !s_reset) assert (core_in_tvalid[at] && out == out_was);
      if (core_in_tvalid[at]) assert (outs != ins);
      if (core_in_tvalid[at] && outs == watch) assert (out == watched);
      if (s_reset) assert (core_in_tvalid == '0);
      assert (ins - outs == stored && stored <= CW'(DEPTH + 2));
      assert (end_valid == due);
      if (due) assert (end_status == (known ? 6'd0 : 6'd1));
      // A verdict that waits is not overtaken by the next message's end.
      if (beat && s_tlast && !s_error && due) assert (end_ready);
      cover (core_in_tvalid[at] && core_in_tready[at] && outs == watch && outs == CW'(5));
      cover (stored == CW'(DEPTH + 2) && s_tvalid && s_user == 32'(at) && !s_tready && core_in_tvalid[!at]);
    end
endmodule
