// SPDX-License-Identifier: Apache-2.0
// Register window: accesses of BAR 2 become accesses of the user core's AXI4-Lite port, 32 bits each, one at a time and in order.
//
// Writes within 8 aligned bytes wait in a queue of QUEUE; one too many is dropped and `overrun` pulses. A read is asked for when the writes
// before it have been answered: those that had come at `mark`, after which `passed`. It waits for no later one but that under way.
//
// An access that the core does not answer within `timeout` clocks is soon given up: a read returns all ones, a write vanishes, `timed_out`
// pulses. Its answer, should it come later, is swallowed; until then every access is given up at once. An answer other than OKAY: all ones and `failed` pulses.
// With `timeout_set` the clocks of the access under way are counted anew. `flush` (the user core is being reset) forgets the queue and what
// is under way and answers reads with all ones.
// Not for: a second master on the port, or more than one access in flight.
module tp_window #(
    parameter int WINDOW_BYTES = 4096,
    parameter int QUEUE = 32,                 // a power of two
    localparam int AW = WINDOW_BYTES > 8 ? $clog2(WINDOW_BYTES) : 4
) (
    input  logic          clk,
    input  logic          rst,
    input  logic          flush,
    input  logic [  31:0] timeout,
    input  logic          timeout_set,
    output logic          overrun,
    output logic          timed_out,
    output logic          failed,
    input  logic          word_valid,
    input  logic          word_misfit,       // of another size: dropped, too
    input  logic [AW-1:3] word_addr,
    input  logic [  63:0] word_data,
    input  logic [   7:0] word_strb,
    input  logic          mark,
    output logic          passed,
    input  logic          ask,               // stays until ack
    input  logic [AW-1:2] addr,
    output logic          ack,
    output logic [  31:0] data,              // with ack
    output logic [  31:0] m_axil_awaddr,
    output logic          m_axil_awvalid,
    input  logic          m_axil_awready,
    output logic [  31:0] m_axil_wdata,
    output logic [   3:0] m_axil_wstrb,
    output logic          m_axil_wvalid,
    input  logic          m_axil_wready,
    // verilator lint_off UNUSEDSIGNAL
    input  logic [   1:0] m_axil_bresp,      // OKAY and EXOKAY have bit 1 clear
    // verilator lint_on UNUSEDSIGNAL
    input  logic          m_axil_bvalid,
    output logic          m_axil_bready,
    output logic [  31:0] m_axil_araddr,
    output logic          m_axil_arvalid,
    input  logic          m_axil_arready,
    input  logic [  31:0] m_axil_rdata,
    // verilator lint_off UNUSEDSIGNAL
    input  logic [   1:0] m_axil_rresp,
    // verilator lint_on UNUSEDSIGNAL
    input  logic          m_axil_rvalid,
    output logic          m_axil_rready
);
  if (WINDOW_BYTES < 8 || (WINDOW_BYTES & (WINDOW_BYTES - 1)) != 0)
    $error("%m: WINDOW_BYTES %0d: make it a power of two, 8 or more", WINDOW_BYTES);

  // A dword of a word that is not written is passed over. `ahead` words are before the read that is to come.
  typedef struct packed {
    logic [1:0] dwords;  // that are written
    logic [AW-1:3] addr;
    logic [1:0][3:0] strb;
    logic [1:0][31:0] data;
  } word_t;

  word_t in, head;
  logic in_ready, queued, have, pop, pop_word, clear;  // `have`: the dword in hand is to be written
  logic upper;
  logic [$clog2(QUEUE):0] count, ahead;
  assign clear = rst || flush;
  assign in = '{dwords: {word_strb[7:4] != '0, word_strb[3:0] != '0}, addr: word_addr, strb: word_strb, data: word_data};
  assign passed = ahead == '0;

  tp_fifo #(
      .WIDTH($bits(word_t)),
      .DEPTH(QUEUE)
  ) queue (
      .clk,
      .rst,
      .clear(flush),
      .in_valid(word_valid),
      .in_ready,
      .in_data(in),
      .out_valid(),
      .out_ready(pop_word),
      .out_data(head),
      .count
  );
  assign have = queued && head.dwords[upper];
  assign pop_word = pop && (upper || !head.dwords[1]);
  always_ff @(posedge clk) begin
    // `pop_word` comes last in its cycle: so both outcomes are made ready beside it.
    queued <= (word_valid && in_ready || (pop_word ? 32'(count) > 1 : count != '0)) && !clear;
    if (pop) upper <= !pop_word;
    if (mark) ahead <= pop_word ? count - 1'b1 : count;
    else if (pop_word && ahead != '0) ahead <= ahead - 1'b1;
    if (clear) begin
      upper <= 1'b0;
      ahead <= '0;
    end
  end

  // An access is `open` from its start to the core's answer, and `waited` for until it is answered or given up.
  logic open, waited, writing, reading, wanted, answered, expired, give_up, start, refused, over, late;
  // Clocks are compared in parts of three bits, each a LUT, and a clock later all of them: an access is given up two clocks after its last.
  logic [32:0] elapsed, limit;
  logic [10:0] same;
  assign limit = 33'(timeout);
  logic [AW-1:2] access_addr;

  assign reading = ask && !ack;
  assign wanted = have || reading;
  assign m_axil_bready = open && writing && !m_axil_awvalid && !m_axil_wvalid;
  assign m_axil_rready = open && !writing && !m_axil_arvalid;
  assign answered = m_axil_bready && m_axil_bvalid || m_axil_rready && m_axil_rvalid;
  assign refused = writing ? m_axil_bresp[1] : m_axil_rresp[1];
  assign expired = waited && late && !answered;
  assign over = waited && (answered || late);
  assign start = wanted && !open;
  assign give_up = wanted && open && !waited;  // the core still owes an answer
  assign pop = writing && over || !reading && have && give_up || queued && !have;

  assign m_axil_awaddr = 32'({access_addr, 2'b00});
  assign m_axil_araddr = 32'({access_addr, 2'b00});

  always_ff @(posedge clk) begin
    overrun <= ((word_valid && !in_ready) || word_misfit) && !clear;
    timed_out <= (expired || give_up) && !clear;
    failed <= waited && answered && refused && !clear;
    ack <= clear ? ask && !ack && !rst : !writing && over || reading && give_up;
    if (clear || !answered || refused) data <= '1;
    else data <= m_axil_rdata;

    if (m_axil_awready) m_axil_awvalid <= 1'b0;
    if (m_axil_wready) m_axil_wvalid <= 1'b0;
    if (m_axil_arready) m_axil_arvalid <= 1'b0;
    if (answered) open <= 1'b0;
    if (over) waited <= 1'b0;
    if (start) begin
      open <= 1'b1;
      waited <= 1'b1;
      writing <= !reading;
      m_axil_awvalid <= !reading;
      m_axil_wvalid <= !reading;
      m_axil_arvalid <= reading;
    end
    if (!open) begin  // whether an access starts comes late in the cycle
      access_addr <= reading ? addr : {head.addr, upper};
      m_axil_wdata <= head.data[upper];
      m_axil_wstrb <= head.strb[upper];
    end
    if (clear) begin
      open <= 1'b0;
      waited <= 1'b0;
      m_axil_awvalid <= 1'b0;
      m_axil_wvalid <= 1'b0;
      m_axil_arvalid <= 1'b0;
    end
    elapsed <= elapsed + 1'b1;
    for (int i = 0; i < 11; i++) same[i] <= elapsed[3*i+:3] == limit[3*i+:3];
    late <= &same;
    if (!waited || timeout_set) begin
      elapsed <= '0;
      same <= '0;
      late <= 1'b0;
    end
  end
endmodule
