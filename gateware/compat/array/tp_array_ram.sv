// SPDX-License-Identifier: Apache-2.0
// Block RAM between the host and a core of high-level synthesis that has an array outside (`ap_memory`): `s_` is the port of a channel of kind memory, `c_` the core's,
// once or twice: address, enable, write, and data in the clock after.
//
// Promises: the core is served in every clock; the host is in each clock in which the core does not use its second port. An element of BITS bits takes a power of two of bytes: the host sees
// element n at n times that. What is above BITS is 0 when the core has written it. Outside of BYTES the host gets DECERR; the core's writes are dropped, and it reads 0.
// Not for: elements that are wider than the path; a core that uses its second port in every clock, for it has no signal by which it could be held back, and the host would wait as long.
// What host and core write to one element in the same clock is not specified, nor what one reads that the other is writing.
module tp_array_ram #(
    parameter  int          DATA_WIDTH    = 128,       // of `s_` and of a row
    parameter  int          BITS          = 32,        // of an element
    parameter  int          LANE          = 32,        // a power of two, 8 to DATA_WIDTH: bits that it takes
    parameter  int          CORE_ADDRESS  = 8,         // bits of the core's addresses, which count elements
    parameter  logic [63:0] BYTES         = 64'd4096,  // a multiple of 4096
    parameter  int          ADDRESS_WIDTH = 32,        // of `s_`
    localparam int          KEEP          = DATA_WIDTH / 8
) (
    input  logic                         clk,
    input  logic                         rst_n,
    input  logic [    ADDRESS_WIDTH-1:0] s_awaddr,
    input  logic [                  7:0] s_awlen,
    input  logic [                  2:0] s_awsize,
    input  logic [                  1:0] s_awburst,
    input  logic                         s_awvalid,
    output logic                         s_awready,
    input  logic [       DATA_WIDTH-1:0] s_wdata,
    input  logic [             KEEP-1:0] s_wstrb,
    input  logic                         s_wlast,
    input  logic                         s_wvalid,
    output logic                         s_wready,
    output logic [                  1:0] s_bresp,
    output logic                         s_bvalid,
    input  logic                         s_bready,
    input  logic [    ADDRESS_WIDTH-1:0] s_araddr,
    input  logic [                  7:0] s_arlen,
    input  logic [                  2:0] s_arsize,
    input  logic [                  1:0] s_arburst,
    input  logic                         s_arvalid,
    output logic                         s_arready,
    output logic [       DATA_WIDTH-1:0] s_rdata,
    output logic [                  1:0] s_rresp,
    output logic                         s_rlast,
    output logic                         s_rvalid,
    input  logic                         s_rready,
    input  logic [1:0][CORE_ADDRESS-1:0] c_address,
    input  logic [1:0]                   c_ce,
    input  logic [1:0]                   c_we,
    input  logic [1:0][        BITS-1:0] c_d,
    output logic [1:0][        BITS-1:0] c_q
);
  localparam int ROWS = int'(BYTES / 64'(KEEP));
  localparam int ROW = $clog2(ROWS);
  localparam int LANES = DATA_WIDTH / LANE;
  localparam logic [63:0] ELEMENTS = BYTES / 64'(LANE / 8);
  if (LANE > DATA_WIDTH || LANE < 8 || LANE != 1 << $clog2(LANE) || BITS > LANE || BYTES == 0 || BYTES % 4096 != 0) begin : g_refused
    $error("%m: BITS %0d, BYTES %0d: make BITS %0d at most, and BYTES a multiple of 4096", BITS, BYTES, DATA_WIDTH);
  end

  wire unused = s_wlast;  // awlen says it, too

  logic writes, reads, write_ready, read_ready, turn, free;
  logic [ROW-1:0] write_row, read_row;
  logic [KEEP-1:0] strobes;
  logic [DATA_WIDTH-1:0] written;
  // A wish of the host's is not in its own term: ready does not follow from valid.
  assign free = !c_ce[1];
  assign write_ready = free && (!reads || !turn);
  assign read_ready = free && (!writes || turn);
  always_ff @(posedge clk) begin
    if (free && writes && reads) turn <= !turn;
    if (!rst_n) turn <= 1'b0;
  end

  // The core's elements as parts of rows.
  logic [1:0][ROW-1:0] core_row;
  logic [1:0][KEEP-1:0] core_strobes;
  logic [1:0][DATA_WIDTH-1:0] core_data;
  logic [1:0][DATA_WIDTH-1:0] out;
  for (genvar p = 0; p < 2; p++) begin : g_port
    logic [31:0] element, lane, was;
    logic holds, fresh, beyond;  // the address is in the array; what comes was asked for in the last clock, and is not
    logic [BITS-1:0] found, kept;
    assign element = 32'(c_address[p]);
    assign holds = 64'(c_address[p]) < ELEMENTS;
    assign lane = element % LANES;
    assign core_row[p] = ROW'(element / LANES);
    for (genvar l = 0; l < LANES; l++) begin : g_lane
      assign core_data[p][LANE*l+:LANE] = LANE'(c_d[p]);
      assign core_strobes[p][LANE/8*l+:LANE/8] = {LANE / 8{c_we[p] && holds && lane == l}};
    end
    assign found = beyond ? '0 : out[p][LANE*was+:BITS];
    // The host reads by the second port as well: what the core has read stands.
    always_ff @(posedge clk) begin
      fresh <= c_ce[p];
      if (c_ce[p]) {was, beyond} <= {lane, !holds};
      if (fresh) kept <= found;
    end
    assign c_q[p] = fresh ? found : kept;
  end

  wire host_writes_now = writes && write_ready;
  wire [ROW-1:0] second = c_ce[1] ? core_row[1] : host_writes_now ? write_row : read_row;
  wire [KEEP-1:0] second_strobes = c_ce[1] ? core_strobes[1] : host_writes_now ? strobes : '0;
  wire [DATA_WIDTH-1:0] second_data = c_ce[1] ? core_data[1] : written;
  logic [DATA_WIDTH-1:0] memory[ROWS];
  // Two ports of one RAM, with a process for each: in one process the second write would win, for which a tool would have to add what no RAM has.
  always @(posedge clk) begin
    for (int i = 0; i < KEEP; i++) if (c_ce[0] && core_strobes[0][i]) memory[core_row[0]][8*i+:8] <= core_data[0][8*i+:8];
    if (c_ce[0]) out[0] <= memory[core_row[0]];
  end
  always @(posedge clk) begin
    for (int i = 0; i < KEEP; i++) if (second_strobes[i]) memory[second][8*i+:8] <= second_data[8*i+:8];
    out[1] <= memory[second];
  end

  tp_axi_ram_write #(
      .DATA_WIDTH(DATA_WIDTH),
      .WIDTH(DATA_WIDTH),
      .ADDRESS_WIDTH(ADDRESS_WIDTH),
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
      .valid(writes),
      .ready(write_ready),
      .row(write_row),
      .strobes,
      .data(written)
  );
  tp_axi_ram_read #(
      .DATA_WIDTH(DATA_WIDTH),
      .WIDTH(DATA_WIDTH),
      .ADDRESS_WIDTH(ADDRESS_WIDTH),
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
      .valid(reads),
      .ready(read_ready),
      .row(read_row),
      .data(out[1])
  );
endmodule
