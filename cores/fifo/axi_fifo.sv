// SPDX-License-Identifier: Apache-2.0
//
// A FIFO in each direction behind a range of addresses: a subordinate of AXI4 for a channel of kind "memory", and AXI4-Streams for the core.
// For any core that wants to be written and read by address, by other cards' and GPUs' stores, too: take this file and byte_fifo.sv.
//
// The range has BYTES bytes. H is BYTES / 2, which is what each FIFO's RAM holds.
//   0 to H - 1   A write appends its bytes to the stream `m`, at whatever address. A read from address a shows the bytes that `s` brought,
//                from the one on that is a behind the oldest, and zeros behind the newest. It takes nothing: reading twice, or ahead, is harmless.
//   H + 0x00     held: bytes of `s` that can be read (32 bits, as all of these)
//   H + 0x40     room: bytes that can be appended
//   H + 0x80     take: a write of n drops the n oldest bytes of `s`
//   H + 0xC0     end: a write of any value ends a message of `m` behind what was appended before
//   Reads between show zeros. A read that takes would lose bytes to whatever reads ahead, for BAR 4 is prefetchable.
//
// Promises
//   The port never waits for the core. A burst that has more bytes than there is room for is refused as a whole, and so is a burst to other
//   addresses from H on, a `take` of more than is held, and a write of a part of a register: answer SLVERR, nothing done. What is at most
//   `room` at once is never refused. `room` is 0 while 16 ends wait, for a further one would be refused.
//   Bytes of a message that do not fill a beat wait for more, or for the end: AXI4-Streams here are full but at a message's last beat.
//   Strobes within a burst need no order, but those of a beat must have no holes: DMA and windows make none.
// Bursts are INCR, of full width, and cross no multiple of 4096. One at a time in each direction; answers come at once.
module axi_fifo #(
    parameter int DATA_WIDTH = 128,
    parameter int BYTES = 65536,  // a power of two from 8192 on
    parameter int ID_WIDTH = 4,
    localparam int KEEP = DATA_WIDTH / 8
) (
    input logic clk,
    input logic rst_n,

    input  logic [  ID_WIDTH-1:0] awid,
    input  logic [          31:0] awaddr,
    input  logic [           7:0] awlen,
    input  logic                  awvalid,
    output logic                  awready,
    input  logic [DATA_WIDTH-1:0] wdata,
    input  logic [      KEEP-1:0] wstrb,
    input  logic                  wlast,
    input  logic                  wvalid,
    output logic                  wready,
    output logic [  ID_WIDTH-1:0] bid,
    output logic [           1:0] bresp,
    output logic                  bvalid,
    input  logic                  bready,
    input  logic [  ID_WIDTH-1:0] arid,
    input  logic [          31:0] araddr,
    input  logic [           7:0] arlen,
    input  logic                  arvalid,
    output logic                  arready,
    output logic [  ID_WIDTH-1:0] rid,
    output logic [DATA_WIDTH-1:0] rdata,
    output logic [           1:0] rresp,
    output logic                  rlast,
    output logic                  rvalid,
    input  logic                  rready,

    // What was written, to the core
    output logic [DATA_WIDTH-1:0] m_tdata,
    output logic [      KEEP-1:0] m_tkeep,
    output logic                  m_tlast,
    output logic                  m_tvalid,
    input  logic                  m_tready,
    // What is read, from the core; the ends of its messages are not kept
    input  logic [DATA_WIDTH-1:0] s_tdata,
    input  logic [      KEEP-1:0] s_tkeep,
    input  logic                  s_tvalid,
    output logic                  s_tready
);
  localparam int LANES = $clog2(KEEP);
  localparam int AW = $clog2(BYTES) - 1;  // bits of an address in one half
  localparam int HALF = BYTES / 2;
  localparam int ENDS = 16;
  localparam logic [1:0] OKAY = 2'b00, SLVERR = 2'b10;
  localparam logic [AW-1:0] HELD = AW'(0), ROOM = AW'(64), TAKE = AW'(128), END = AW'(192);

  wire unused = ^{awaddr[31:AW+1], awaddr[LANES-1:0], araddr[31:AW+1], araddr[LANES-1:0]};

  function automatic logic [LANES:0] count_of(input logic [KEEP-1:0] bytes);
    count_of = '0;
    for (int i = 0; i < KEEP; i++) count_of = count_of + (LANES + 1)'(bytes[i]);
  endfunction

  function automatic logic [LANES-1:0] first_of(input logic [KEEP-1:0] bytes);
    first_of = '0;
    for (int i = KEEP - 1; i >= 0; i--) if (bytes[i]) first_of = LANES'(i);
  endfunction

  // ---- writes: what the burst's first beat decides holds for all of it
  logic [AW:0] in_held, out_held, in_take, out_take, room;
  logic [$clog2(ENDS):0] ends;
  logic w_busy, w_upper, w_fits, w_refused, m_go;
  logic [AW-1:0] w_at;
  wire w_fire = wvalid && wready;
  wire [LANES:0] w_count = count_of(wstrb);
  // A burst of n bytes may have as many more that are not strobed as two beats have less one each.
  assign room = ends == ($clog2(ENDS) + 1)'(ENDS) || in_held > (AW + 1)'(HALF - 2 * KEEP) ? '0 : (AW + 1)'(HALF - 2 * KEEP) - in_held;
  wire [AW:0] free = (AW + 1)'(HALF) - in_held;
  wire take_fits = wdata[31:0] <= 32'(out_held) && w_at == TAKE && wstrb == KEEP'(15);
  wire end_fits = ends != ($clog2(ENDS) + 1)'(ENDS) && w_at == END && wstrb == KEEP'(15);
  wire idle_beat = wstrb == '0;
  wire refused = !idle_beat && (w_upper ? !take_fits && !end_fits : !w_fits);

  assign awready = !w_busy && !bvalid;
  assign wready = w_busy;
  assign out_take = w_fire && w_upper && take_fits ? (AW + 1)'(wdata[AW:0]) : '0;
  wire [LANES:0] in_count = w_fire && !w_upper && w_fits ? w_count : '0;
  wire end_put = w_fire && w_upper && end_fits;

  always_ff @(posedge clk) begin
    if (awvalid && awready) begin
      w_busy <= 1'b1;
      w_upper <= awaddr[AW];
      w_at <= {awaddr[AW-1:LANES], LANES'(0)};
      // While a burst is under way, nothing else appends: room only grows.
      w_fits <= (32'(awlen) + 1) * KEEP <= 32'(free);
      w_refused <= 1'b0;
      bid <= awid;
    end
    if (w_fire) begin
      w_at <= w_at + AW'(KEEP);
      w_refused <= w_refused || refused;
      if (wlast) begin
        w_busy <= 1'b0;
        bvalid <= 1'b1;
        bresp <= w_refused || refused ? SLVERR : OKAY;
      end
    end
    if (bvalid && bready) bvalid <= 1'b0;
    if (!rst_n) begin
      w_busy <= 1'b0;
      bvalid <= 1'b0;
    end
  end

  byte_fifo #(
      .DATA_WIDTH(DATA_WIDTH),
      .BYTES(HALF)
  ) written (
      .clk,
      .rst_n,
      .in_data(wdata >> (8 * first_of(wstrb))),
      .in_count,
      .take(in_take),
      .held(in_held),
      .peek(m_go),
      .peek_offset('0),
      .peek_data(m_tdata)
  );

  // ---- to the core: a beat when it is full, or when its message ends in it. `sent` and the ends count bytes, as the FIFO's ends do.
  logic [AW:0] put, sent, until_end;
  logic [AW:0] end_at[ENDS];
  logic [$clog2(ENDS)-1:0] end_in, end_out;
  wire ending = ends != '0;
  assign until_end = end_at[end_out] - sent;
  wire last_beat = ending && until_end <= (AW + 1)'(KEEP);
  wire m_free = !m_tvalid || m_tready;
  assign m_go = m_free && (last_beat || in_held >= (AW + 1)'(KEEP));
  assign in_take = !m_go ? '0 : last_beat ? until_end : (AW + 1)'(KEEP);

  always_ff @(posedge clk) begin
    put  <= put + (AW + 1)'(in_count);
    sent <= sent + in_take;
    if (end_put) begin
      end_at[end_in] <= put;
      end_in <= end_in + 1;
    end
    if (m_go && last_beat) end_out <= end_out + 1;
    ends <= ends + ($clog2(ENDS) + 1)'(end_put) - ($clog2(ENDS) + 1)'(m_go && last_beat);
    if (m_go) begin
      m_tlast <= last_beat;
      for (int i = 0; i < KEEP; i++) m_tkeep[i] <= (AW + 1)'(i) < in_take;
    end
    if (m_free) m_tvalid <= m_go;
    if (!rst_n) begin
      put <= '0;
      sent <= '0;
      end_in <= '0;
      end_out <= '0;
      ends <= '0;
      m_tvalid <= 1'b0;
    end
  end

  // ---- from the core
  wire s_fire = s_tvalid && s_tready;
  assign s_tready = out_held <= (AW + 1)'(HALF - KEEP);

  logic r_busy, r_upper, r_go, p_upper;
  logic [AW-1:0] r_at, p_at;
  logic [ID_WIDTH-1:0] r_id;
  logic [AW:0] p_beyond;  // bytes of the beat that are held, all ones when all are
  logic [7:0] r_left;
  logic [31:0] p_value;
  logic [DATA_WIDTH-1:0] shown;

  byte_fifo #(
      .DATA_WIDTH(DATA_WIDTH),
      .BYTES(HALF)
  ) readable (
      .clk,
      .rst_n,
      .in_data(s_tdata),
      .in_count(s_fire ? count_of(s_tkeep) : '0),
      .take(out_take),
      .held(out_held),
      .peek(r_go),
      .peek_offset(r_at),
      .peek_data(shown)
  );

  // ---- reads: an address, then a beat a clock
  assign arready = !r_busy;
  assign r_go = r_busy && (!rvalid || rready);
  assign rresp = OKAY;

  always_ff @(posedge clk) begin
    if (arvalid && arready) begin
      r_busy <= 1'b1;
      r_upper <= araddr[AW];
      r_at <= {araddr[AW-1:LANES], LANES'(0)};
      r_left <= arlen;
      r_id <= arid;
    end
    if (r_go) begin
      r_at <= r_at + AW'(KEEP);
      r_left <= r_left - 1;
      if (r_left == '0) r_busy <= 1'b0;
      rvalid <= 1'b1;
      rlast <= r_left == '0;
      rid <= r_id;
      p_upper <= r_upper;
      p_at <= r_at;
      p_beyond <= out_held < (AW + 1)'(r_at) ? '0 : out_held - (AW + 1)'(r_at);
      p_value <= r_at == HELD ? 32'(out_held) : 32'(room);
    end else if (rready) rvalid <= 1'b0;
    if (!rst_n) begin
      r_busy <= 1'b0;
      rvalid <= 1'b0;
    end
  end

  always_comb begin
    if (p_upper) rdata = p_at == HELD || p_at == ROOM ? DATA_WIDTH'(p_value) : '0;
    else for (int i = 0; i < KEEP; i++) rdata[8*i+:8] = (AW + 1)'(i) < p_beyond ? shown[8*i+:8] : 8'h00;
  end
endmodule
