// SPDX-License-Identifier: Apache-2.0
// Block RAM between the host and a core that is an AXI4 master: `s_` is the port of a channel of kind memory, `c_` the core's.
//
// Promises: each port is answered as by a RAM of its own, with bursts of any kind and beats as wide as the port or narrower; what one port has been answered a write for, the
// other reads. One beat is written and one read in a clock: a port that is alone has them all, and two take turns. Addresses count from BASE; those outside of BYTES are DECERR.
// Not for: locks (AxLOCK is taken for an ordinary access), and masters that are wider than the path. The ready of one port's data follows, within the clock, from
// the other port's valid.
module tp_axi_ram #(
    parameter  int          DATA_WIDTH         = 128,       // of `s_` and of a row
    parameter  int          WIDTH              = 64,        // of `c_`: 8 to DATA_WIDTH
    parameter  logic [63:0] BASE               = 64'h0,     // a multiple of 4096, as is BYTES
    parameter  logic [63:0] BYTES              = 64'd4096,
    parameter  int          ADDRESS_WIDTH      = 32,        // of `s_`
    parameter  int          CORE_ADDRESS_WIDTH = 64,
    parameter  int          ID_WIDTH           = 1,         // of `c_`
    localparam int          KEEP               = DATA_WIDTH / 8,
    localparam int          STROBES            = WIDTH / 8
) (
    input  logic                          clk,
    input  logic                          rst_n,
    input  logic [     ADDRESS_WIDTH-1:0] s_awaddr,
    input  logic [                   7:0] s_awlen,
    input  logic [                   2:0] s_awsize,
    input  logic [                   1:0] s_awburst,
    input  logic                          s_awvalid,
    output logic                          s_awready,
    input  logic [        DATA_WIDTH-1:0] s_wdata,
    input  logic [              KEEP-1:0] s_wstrb,
    input  logic                          s_wlast,
    input  logic                          s_wvalid,
    output logic                          s_wready,
    output logic [                   1:0] s_bresp,
    output logic                          s_bvalid,
    input  logic                          s_bready,
    input  logic [     ADDRESS_WIDTH-1:0] s_araddr,
    input  logic [                   7:0] s_arlen,
    input  logic [                   2:0] s_arsize,
    input  logic [                   1:0] s_arburst,
    input  logic                          s_arvalid,
    output logic                          s_arready,
    output logic [        DATA_WIDTH-1:0] s_rdata,
    output logic [                   1:0] s_rresp,
    output logic                          s_rlast,
    output logic                          s_rvalid,
    input  logic                          s_rready,
    input  logic [          ID_WIDTH-1:0] c_awid,
    input  logic [CORE_ADDRESS_WIDTH-1:0] c_awaddr,
    input  logic [                   7:0] c_awlen,
    input  logic [                   2:0] c_awsize,
    input  logic [                   1:0] c_awburst,
    input  logic                          c_awvalid,
    output logic                          c_awready,
    input  logic [             WIDTH-1:0] c_wdata,
    input  logic [           STROBES-1:0] c_wstrb,
    input  logic                          c_wlast,
    input  logic                          c_wvalid,
    output logic                          c_wready,
    output logic [          ID_WIDTH-1:0] c_bid,
    output logic [                   1:0] c_bresp,
    output logic                          c_bvalid,
    input  logic                          c_bready,
    input  logic [          ID_WIDTH-1:0] c_arid,
    input  logic [CORE_ADDRESS_WIDTH-1:0] c_araddr,
    input  logic [                   7:0] c_arlen,
    input  logic [                   2:0] c_arsize,
    input  logic [                   1:0] c_arburst,
    input  logic                          c_arvalid,
    output logic                          c_arready,
    output logic [          ID_WIDTH-1:0] c_rid,
    output logic [             WIDTH-1:0] c_rdata,
    output logic [                   1:0] c_rresp,
    output logic                          c_rlast,
    output logic                          c_rvalid,
    input  logic                          c_rready
);
  localparam int ROWS = int'(BYTES / 64'(KEEP));
  localparam int ROW = $clog2(ROWS);
  if (WIDTH > DATA_WIDTH || WIDTH < 8 || WIDTH != 1 << $clog2(WIDTH) || BYTES == 0 || BYTES % 4096 != 0) begin : g_refused
    $error("%m: WIDTH %0d, BYTES %0d: make WIDTH a power of two, 8 to %0d, and BYTES a multiple of 4096", WIDTH, BYTES, DATA_WIDTH);
  end

  wire unused = ^{s_wlast, c_wlast};  // awlen says it, too

  // The host's, and the core's.
  logic [1:0] writes, write_ready, reads, read_ready;
  logic [1:0][ROW-1:0] write_row, read_row;
  logic [1:0][KEEP-1:0] strobes;
  logic [1:0][DATA_WIDTH-1:0] written;
  logic write_turn, read_turn;  // whose it is when both want

  // A port's own wish is in neither term: its ready does not follow from its valid.
  assign write_ready = {!writes[0] || write_turn, !writes[1] || !write_turn};
  assign read_ready = {!reads[0] || read_turn, !reads[1] || !read_turn};
  always_ff @(posedge clk) begin
    if (writes == 2'b11) write_turn <= !write_turn;
    if (reads == 2'b11) read_turn <= !read_turn;
    if (!rst_n) {write_turn, read_turn} <= '0;
  end

  logic [DATA_WIDTH-1:0] memory[ROWS];
  logic [DATA_WIDTH-1:0] read;
  wire write_core = writes[1] && write_ready[1];
  wire read_core = reads[1] && read_ready[1];
  wire [ROW-1:0] to = write_row[write_core];
  always_ff @(posedge clk) begin
    for (int i = 0; i < KEEP; i++) begin
      if (writes != '0 && strobes[write_core][i]) memory[to][8*i+:8] <= written[write_core][8*i+:8];
    end
    if (reads != '0) read <= memory[read_row[read_core]];
  end

  tp_axi_ram_write #(
      .DATA_WIDTH(DATA_WIDTH),
      .WIDTH(DATA_WIDTH),
      .ADDRESS_WIDTH(ADDRESS_WIDTH),
      .BASE(BASE),
      .BYTES(BYTES),
      .ROW(ROW)
  ) host_writes (
      .clk,
      .rst_n,
      .awid('0),
      .awaddr(s_awaddr),
      .awlen(s_awlen),
      .awsize(s_awsize),
      .awburst(s_awburst),
      .awvalid(s_awvalid),
      .awready(s_awready),
      .wdata(s_wdata),
      .wstrb(s_wstrb),
      .wvalid(s_wvalid),
      .wready(s_wready),
      .bid(),
      .bresp(s_bresp),
      .bvalid(s_bvalid),
      .bready(s_bready),
      .valid(writes[0]),
      .ready(write_ready[0]),
      .row(write_row[0]),
      .strobes(strobes[0]),
      .data(written[0])
  );
  tp_axi_ram_read #(
      .DATA_WIDTH(DATA_WIDTH),
      .WIDTH(DATA_WIDTH),
      .ADDRESS_WIDTH(ADDRESS_WIDTH),
      .BASE(BASE),
      .BYTES(BYTES),
      .ROW(ROW)
  ) host_reads (
      .clk,
      .rst_n,
      .arid('0),
      .araddr(s_araddr),
      .arlen(s_arlen),
      .arsize(s_arsize),
      .arburst(s_arburst),
      .arvalid(s_arvalid),
      .arready(s_arready),
      .rid(),
      .rdata(s_rdata),
      .rresp(s_rresp),
      .rlast(s_rlast),
      .rvalid(s_rvalid),
      .rready(s_rready),
      .valid(reads[0]),
      .ready(read_ready[0]),
      .row(read_row[0]),
      .data(read)
  );
  tp_axi_ram_write #(
      .DATA_WIDTH(DATA_WIDTH),
      .WIDTH(WIDTH),
      .ADDRESS_WIDTH(CORE_ADDRESS_WIDTH),
      .ID_WIDTH(ID_WIDTH),
      .BASE(BASE),
      .BYTES(BYTES),
      .ROW(ROW)
  ) core_writes (
      .clk,
      .rst_n,
      .awid(c_awid),
      .awaddr(c_awaddr),
      .awlen(c_awlen),
      .awsize(c_awsize),
      .awburst(c_awburst),
      .awvalid(c_awvalid),
      .awready(c_awready),
      .wdata(c_wdata),
      .wstrb(c_wstrb),
      .wvalid(c_wvalid),
      .wready(c_wready),
      .bid(c_bid),
      .bresp(c_bresp),
      .bvalid(c_bvalid),
      .bready(c_bready),
      .valid(writes[1]),
      .ready(write_ready[1]),
      .row(write_row[1]),
      .strobes(strobes[1]),
      .data(written[1])
  );
  tp_axi_ram_read #(
      .DATA_WIDTH(DATA_WIDTH),
      .WIDTH(WIDTH),
      .ADDRESS_WIDTH(CORE_ADDRESS_WIDTH),
      .ID_WIDTH(ID_WIDTH),
      .BASE(BASE),
      .BYTES(BYTES),
      .ROW(ROW)
  ) core_reads (
      .clk,
      .rst_n,
      .arid(c_arid),
      .araddr(c_araddr),
      .arlen(c_arlen),
      .arsize(c_arsize),
      .arburst(c_arburst),
      .arvalid(c_arvalid),
      .arready(c_arready),
      .rid(c_rid),
      .rdata(c_rdata),
      .rresp(c_rresp),
      .rlast(c_rlast),
      .rvalid(c_rvalid),
      .rready(c_rready),
      .valid(reads[1]),
      .ready(read_ready[1]),
      .row(read_row[1]),
      .data(read)
  );
endmodule
