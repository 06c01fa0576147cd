// SPDX-License-Identifier: Apache-2.0
// tp_stream_buffer: what comes out is what found room, in order and unchanged, and where something did not, the end of its message and an empty one; DEPTH beats always find room; what
// follows a loss begins a message. `index`, chosen in the reset, is any place in that sequence.
module tp_stream_buffer_formal #(
    parameter bit RESUME = 1,
    parameter bit ENDS   = 1
) (
    input logic clk,
    input logic rst,
    input logic flush,
    input logic s_tvalid,
    input logic [7:0] s_tdata,
    input logic s_tkeep,
    input logic s_tlast,
    input logic m_tready,
    input logic [4:0] pick
);
  localparam int DEPTH = 2;
  logic m_tvalid, m_tkeep, m_tlast, m_side, lost, dropping;
  logic [7:0] m_tdata;
  tp_stream_buffer #(
      .WIDTH(8),
      .DEPTH(DEPTH),
      .RESUME(RESUME),
      .ENDS(ENDS)
  ) dut (
      .clk,
      .rst_n(!rst),
      .flush,
      .s_tvalid,
      .s_tdata,
      .s_tkeep,
      .s_tlast,
      .s_side(s_tdata[0]),
      .m_tvalid,
      .m_tready,
      .m_tdata,
      .m_tkeep,
      .m_tlast,
      .m_side,
      .lost,
      .dropping
  );

  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  always_comb if (!started) assume (rst);

  logic [4:0] index;
  always_ff @(posedge clk) if (rst) index <= pick;
  logic [4:0] given, taken, now;  // the sequence's length, and how much of it has come out
  logic midway, skips, skips_now, was_dropping, was_lost, fell, again, open;
  logic stays, told;  // a beat waits at the output; one has been told of a loss
  logic [1:0] idle;  // clocks in which a loss could be told
  logic [10:0] shown, kept, want;
  assign shown = {m_side, m_tlast, m_tkeep, m_tdata};
  assign fell = was_dropping && !dropping && !again;
  assign now = fell ? given + (open ? 5'd2 : 5'd1) : given;
  // After a loss and after a flush the source's message goes on, but nothing of it is taken.
  assign skips_now = fell || again ? ENDS && midway : skips;
  wire wanted = s_tvalid && !dropping && !skips_now;
  wire accepted = wanted && !lost && !flush;
  always_ff @(posedge clk) begin
    if (s_tvalid) midway <= !s_tlast;
    skips <= skips_now && !(s_tvalid && s_tlast);
    was_dropping <= dropping;
    was_lost <= lost;
    again <= flush;
    given <= now + 5'(accepted);
    taken <= taken + 5'(m_tvalid && m_tready);
    open <= accepted ? !s_tlast : open && !fell;
    if (fell && (index == given || open && index == given + 5'd1)) want <= {3'b010, 8'd0};
    if (accepted && index == now) want <= {s_tdata[0], s_tlast, s_tkeep, s_tdata};
    stays <= m_tvalid && !m_tready && !flush;
    kept <= shown;
    told <= told || fell;
    idle <= dropping && now == taken ? idle + 2'd1 : '0;
    if (flush) {given, taken, open, idle} <= '0;
    if (rst) {midway, skips, was_dropping, was_lost, again, given, taken, open, stays, told, idle} <= '0;
  end

  always_comb
    if (started && !rst) begin
      assert (!m_tvalid || taken != now);
      if (m_tvalid && taken == index) assert (shown == want);
      assert (!flush || !m_tvalid && !lost);
      assert (!stays || flush || m_tvalid && shown == kept);
      assert (!lost || wanted && 32'(now - taken) >= DEPTH);
      assert (!was_dropping || dropping || again || RESUME);
      assert (!was_lost || dropping || again);
      assert (!fell || given == taken);
      assert (!RESUME || idle < 2'd3);
      cover (lost && told);
      cover (m_tvalid && told && m_tdata == 8'd9 && m_tkeep);
      cover (again && skips_now);
    end
endmodule
