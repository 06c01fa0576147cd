// SPDX-License-Identifier: Apache-2.0
// The AXI4 port of a memory as a seekable file of Xillybus: `user_r_NAME_*`, `user_w_NAME_*`, `user_NAME_addr`. docs/guide/from-xillybus.md says what is what.
//
// Promises: one burst at a time, writes and reads in turn when both wait. Before the first element, and before the first one that is written behind others that are not, `addr_update` is 1 for a clock beside its
// address, and nothing moves; then `addr` counts elements of WIDTH bits, whose number beyond ADDRESS bits is dropped. So a core may as well count by itself. Each element whose bytes are all written comes with `wren` 1 while `full` is 0; `rden` is 1 only while `empty`
// is 0, and the element is taken from `data` in the clock after it. A read has whole beats: elements beside those that were asked for are read, too.
// A write of a part of an element, a read where `eof` stands beside `empty`, and what the core has no ports for, are answered with SLVERR.
// Not for: elements whose reading changes something that a neighbour's reader counts on; bursts that are not INCR or not of the port's full width.
// verilator lint_off UNUSEDSIGNAL
module tp_xillybus_memory #(
    parameter  int DATA_WIDTH    = 128,
    parameter  int WIDTH         = 8,               // of an element, DATA_WIDTH at most
    parameter  int ADDRESS       = 5,               // bits of `addr`
    parameter  int ADDRESS_WIDTH = 32,
    parameter  bit READS         = 1,               // the core has the ports for it
    parameter  bit WRITES        = 1,
    localparam int KEEP          = DATA_WIDTH / 8
) (
    input  logic                     clk,
    input  logic                     rst_n,
    input  logic [ADDRESS_WIDTH-1:0] s_awaddr,
    input  logic [              7:0] s_awlen,
    input  logic [              2:0] s_awsize,
    input  logic [              1:0] s_awburst,
    input  logic                     s_awvalid,
    output logic                     s_awready,
    input  logic [   DATA_WIDTH-1:0] s_wdata,
    input  logic [         KEEP-1:0] s_wstrb,
    input  logic                     s_wlast,
    input  logic                     s_wvalid,
    output logic                     s_wready,
    output logic [              1:0] s_bresp,
    output logic                     s_bvalid,
    input  logic                     s_bready,
    input  logic [ADDRESS_WIDTH-1:0] s_araddr,
    input  logic [              7:0] s_arlen,
    input  logic [              2:0] s_arsize,
    input  logic [              1:0] s_arburst,
    input  logic                     s_arvalid,
    output logic                     s_arready,
    output logic [   DATA_WIDTH-1:0] s_rdata,
    output logic [              1:0] s_rresp,
    output logic                     s_rlast,
    output logic                     s_rvalid,
    input  logic                     s_rready,
    output logic                     rden,
    input  logic                     empty,
    input  logic [        WIDTH-1:0] r_data,
    input  logic                     eof,
    output logic                     r_open,
    output logic                     wren,
    input  logic                     full,
    output logic [        WIDTH-1:0] w_data,
    output logic                     w_open,
    output logic [      ADDRESS-1:0] addr,
    output logic                     addr_update
);
  // verilator lint_on UNUSEDSIGNAL
  localparam int BYTES = WIDTH / 8;
  localparam int PARTS = KEEP / BYTES;
  localparam int PW = PARTS == 1 ? 1 : $clog2(PARTS);
  localparam int AW = ADDRESS_WIDTH - $clog2(BYTES);  // of an element
  localparam logic [1:0] SLVERR = 2'b10;
  if (WIDTH > DATA_WIDTH || WIDTH % 8 != 0 || BYTES != 1 << $clog2(BYTES) || ADDRESS < 1 || ADDRESS > AW) begin : g_refused
    $error("%m: WIDTH %0d, ADDRESS %0d: make WIDTH a power of two, 8 to %0d, and ADDRESS 1 to %0d", WIDTH, ADDRESS, DATA_WIDTH, AW);
  end
  typedef enum logic [2:0] {
    IDLE,
    WRITE,
    ANSWER,
    READ,
    SHOW
  } state_e;
  state_e state;
  logic open, turn, start, skipped, again, last, sum, part_last, coming, failed, step, whole, some;
  logic [AW-1:0] element;
  logic [PW-1:0] part, came;
  logic [7:0] left;
  logic [BYTES-1:0] strobes;
  tp_xillybus_open opens (
      .clk,
      .rst_n,
      .reset(1'b0),
      .open
  );
  assign {r_open, w_open} = {2{open}};
  assign addr = element[ADDRESS-1:0];
  assign addr_update = start;
  assign part_last = part == PW'(PARTS - 1);
  assign s_awready = state == IDLE && open && (turn || !s_arvalid);
  assign s_arready = state == IDLE && open && (!turn || !s_awvalid);

  // ---- writes: an element a clock
  assign strobes = s_wstrb[32'(part)*BYTES+:BYTES];
  assign whole = &strobes;
  assign some = |strobes;
  assign w_data = s_wdata[32'(part)*WIDTH+:WIDTH];
  assign again = state == WRITE && !start && s_wvalid && whole && skipped;
  assign wren = state == WRITE && !start && s_wvalid && whole && !skipped && !full;
  assign step = state == WRITE && !start && s_wvalid && (!whole || (!skipped && !full));
  assign s_wready = step && part_last;
  assign s_bvalid = state == ANSWER;
  assign s_bresp = failed ? SLVERR : 2'b00;

  // ---- reads: an element a clock, and its data in the next
  assign sum = coming && came == PW'(PARTS - 1);
  assign rden = state == READ && !start && !last && !empty;
  assign s_rvalid = state == SHOW;
  assign s_rresp = failed ? SLVERR : 2'b00;
  assign s_rlast = left == '0;

  always_ff @(posedge clk) begin
    start  <= 1'b0;
    coming <= rden;
    came   <= part;
    if (coming) s_rdata[32'(came)*WIDTH+:WIDTH] <= r_data;
    if (again) {start, skipped} <= 2'b10;
    if (state == IDLE || (step && !whole)) skipped <= 1'b1;
    if (step || rden) begin
      element <= element + 1'b1;
      part <= part_last ? '0 : part + 1'b1;
    end
    case (state)
      IDLE: begin
        part <= '0;
        failed <= 1'b0;
        last <= 1'b0;
        if (s_awvalid && s_awready) begin
          element <= AW'(s_awaddr >> $clog2(BYTES)) & ~AW'(PARTS - 1);
          turn <= 1'b0;
          state <= WRITE;
        end else if (s_arvalid && s_arready) begin
          element <= AW'(s_araddr >> $clog2(BYTES)) & ~AW'(PARTS - 1);
          {turn, start} <= 2'b11;
          left <= s_arlen;
          failed <= !READS;
          state <= READ;
        end
      end
      WRITE: begin
        if (step && some && (!whole || !WRITES)) failed <= 1'b1;
        if (step && part_last && s_wlast) state <= ANSWER;
      end
      ANSWER: if (s_bready) state <= IDLE;
      READ: begin
        if (rden && part_last) last <= 1'b1;
        if (sum) state <= SHOW;
        // Nothing more comes: what is missing of the burst means nothing.
        if (!start && !last && !rden && empty && eof && !coming) begin
          failed <= 1'b1;
          state  <= SHOW;
        end
      end
      default:
      if (s_rready) begin
        left  <= left - 1'b1;
        last  <= 1'b0;
        part  <= '0;
        state <= left == '0 ? IDLE : READ;
      end
    endcase
    if (!rst_n) begin
      state <= IDLE;
      {start, turn, coming} <= '0;
    end
  end
endmodule
