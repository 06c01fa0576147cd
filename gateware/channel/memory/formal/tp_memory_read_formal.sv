// SPDX-License-Identifier: Apache-2.0
// tp_memory_read: AXI4's rules for a master that reads, and messages. A burst stays within 4 KiB and within the memory; its address stands until
// taken. What is left to ask for is asked for before anything of a second ask. Each ask gets one message, in order, of as many bytes as it says
// unless a cancel came, and its status is an error if any of its answers was, and only then. After a reset none of before comes.
// Shown from reset on, for a number of cycles. With a row of two bytes, so that bursts that are cut at 512 bytes show early.
// Assumed: the core answers bursts in order, and marks each one's last row; two asks at most are without their messages, and behind a cancel
// none comes before these have (tp_asked); a reset comes beside no ask.
module tp_memory_read_formal #(
    parameter int DATA_WIDTH = 16,
    parameter int ADDRESS_WIDTH = 14,
    localparam int KEEP = DATA_WIDTH / 8,
    localparam int CW = 4  // of a count: more than the cycles that are looked at
) (
    input logic clk,
    input logic rst,
    input logic ask_valid,
    input logic ask_cancel,
    input logic [12:0] length,
    input logic [13:0] offset,
    input logic m_tready,
    input logic m_reset,
    input logic core_arready,
    input logic [DATA_WIDTH-1:0] core_rdata,
    input logic [1:0] core_rresp,
    input logic core_rvalid
);
  localparam logic [63:0] BYTES = 64'd8192, BASE = 64'd4096;
  logic ask_ready, m_tvalid, m_tlast, core_arvalid, core_rready, core_rlast;
  logic [DATA_WIDTH-1:0] m_tdata;
  logic [KEEP-1:0] m_tkeep;
  logic [5:0] m_status;
  logic [ADDRESS_WIDTH-1:0] core_araddr;
  logic [7:0] core_arlen;
  logic [2:0] core_arsize;
  logic [1:0] core_arburst;
  tp_memory_read #(
      .DATA_WIDTH(DATA_WIDTH),
      .ADDRESS_WIDTH(ADDRESS_WIDTH),
      .BYTES(BYTES),
      .BASE(BASE)
  ) dut (
      .rst_n(!rst),
      .ask_length(32'(length)),
      .ask_offset(64'(offset)),
      .ask_user('0),
      .m_length(),
      .m_offset(),
      .m_user(),
      .*
  );

  // ------------------------------------------------------------------------------------------------ the core
  logic started = 1'b0;
  logic asked, address, row;
  assign asked = ask_valid && ask_ready && !ask_cancel;
  assign address = core_arvalid && core_arready;
  assign row = core_rvalid && core_rready;
  logic [7:0] lengths[4];  // of the bursts that are to be answered, less one
  logic [1:0] first, next;
  logic [2:0] waiting;
  logic [7:0] rows;
  assign core_rlast = rows == lengths[first];
  always_ff @(posedge clk) begin
    started <= 1'b1;
    if (address) begin
      lengths[next] <= core_arlen;
      next <= next + 1'b1;
    end
    if (row) rows <= core_rlast ? '0 : rows + 1'b1;
    if (row && core_rlast) first <= first + 1'b1;
    waiting <= waiting + 3'(address) - 3'(row && core_rlast);
    if (rst) {first, next, waiting, rows} <= '0;
  end

  // ------------------------------------------------------------------------------------------------ the message
  logic busy, second;  // a message is to come, and another one
  logic cancelled, failed, second_failed, reset_was, both;
  logic [13:0] come, wants, second_wants, mine, second_rows;  // bytes; rows of the first one that are to come, and all of the second one's
  logic beat, over, beyond, asking;
  logic [31:0] ask_left;
  logic [12:0] row_at;  // of the dut, as they must be
  logic [13:0] rows_of;
  assign over = beat && m_tlast;
  assign beyond = 32'(offset) + 32'(length) > 8192;
  assign rows_of = beyond ? '0 : (14'(length) + 14'(offset[0]) + 14'd1) >> 1;
  logic stands, beat_stands;
  logic [ADDRESS_WIDTH+7:0] ar_was;
  logic [DATA_WIDTH+KEEP:0] beat_was;
  logic [13:0] bytes;
  assign beat = m_tvalid && m_tready;
  assign bytes = m_tkeep == 2'b11 ? 14'd2 : m_tkeep == 2'b01 ? 14'd1 : 14'd0;
  always_ff @(posedge clk) begin
    if (row && mine != '0) begin
      mine <= mine - 1'b1;
      if (core_rresp[1]) failed <= 1'b1;
    end
    if (row && mine == '0) begin  // of the second one; the last row of the first is gone before its last beat
      second_rows <= second_rows - 1'b1;
      if (core_rresp[1]) second_failed <= 1'b1;
    end
    asking <= dut.ask_left != '0 && !dut.cut && !m_reset && !rst;
    ask_left <= 32'(dut.ask_left) - (dut.begin_burst ? 32'(dut.rows) : '0);
    row_at <= dut.row + (dut.begin_burst ? 13'(dut.rows) : '0);
    if (beat) come <= come + bytes;
    if (over) begin
      busy <= second;
      second <= 1'b0;
      come <= '0;
      wants <= second_wants;
      mine <= second_rows - 14'(row && mine == '0);
      failed <= second_failed || (row && mine == '0 && core_rresp[1]);
    end
    if (asked && (!busy || (over && !second))) begin
      busy <= 1'b1;
      cancelled <= 1'b0;
      failed <= beyond;
      wants <= 14'(length);
      come <= '0;
      mine <= rows_of;
    end else if (asked) begin
      second <= 1'b1;
      second_failed <= beyond;
      second_wants <= 14'(length);
      second_rows <= rows_of;
    end
    if (busy && ask_valid && ask_cancel) cancelled <= 1'b1;
    both <= both || (beat && second && core_arvalid);
    stands <= core_arvalid && !core_arready && !rst;
    ar_was <= {core_araddr, core_arlen};
    beat_stands <= m_tvalid && !m_tready && !m_reset && !rst;
    beat_was <= {m_tdata, m_tkeep, m_tlast};
    reset_was <= m_reset;
    if (rst || m_reset) {busy, second} <= '0;
    if (rst) both <= 1'b0;
  end
  always_comb begin
    if (!started) assume (rst);
    if (core_rvalid) assume (waiting != '0);
    if (core_arready) assume (waiting != 3'd4);
    if (ask_valid) assume (!m_reset && !reset_was && length != '0 && (ask_cancel || (!second && !(busy && cancelled))));
  end
  always_comb
    if (started && !rst) begin
      if (core_arvalid) begin
        assert (core_arsize == 3'd1 && core_arburst == 2'b01);
        assert (32'(core_araddr[11:0]) + (32'(core_arlen) + 1) * KEEP <= 4096);
        assert (64'(core_araddr) >= BASE && 64'(core_araddr) < BASE + BYTES);
      end
      if (asking && !reset_was && ask_left != '0)
        assert (32'(dut.ask_left) == ask_left && dut.row == row_at);  // another ask takes nothing of it away
      if (stands) assert (core_arvalid && {core_araddr, core_arlen} == ar_was);
      if (beat_stands) assert (m_tvalid && {m_tdata, m_tkeep, m_tlast} == beat_was);
      if (m_tvalid) begin
        assert (busy);
        assert (m_tkeep == 2'b11 || (m_tlast && m_tkeep != 2'b10));
        if (m_tlast && !cancelled && !failed) assert (come + bytes == wants);
        if (m_tlast && failed && !cancelled) assert (m_status[1]);
        if (m_tlast && !failed) assert (m_status == '0);
        assert (come + bytes <= wants);
        if (m_tlast && !second) assert (dut.bursts == '0);  // nothing of it comes any more
        if (m_tlast && !cancelled) assert (mine == '0);
      end
      cover (beat && m_tlast && wants == 14'd5 && dut.skew != '0);
      cover (beat && m_tlast && cancelled && come == 14'd2);
      cover (both && over && !second && !cancelled);
    end
endmodule
