// SPDX-License-Identifier: Apache-2.0
// The write channels of one AXI4 port of tp_axi_ram: bursts of any kind, of the port's width or narrower, as rows of the RAM with strobes.
//
// Promises: one burst at a time, answered when all of its rows have been written; addresses outside of the RAM write nothing, and their burst is answered DECERR. A beat
// a clock while the RAM grants it, and a clock between two bursts. A burst has as many beats as `awlen` says, whatever `wlast` is.
module tp_axi_ram_write #(
    parameter  int          DATA_WIDTH    = 128,    // of a row
    parameter  int          WIDTH         = 128,    // of the port, DATA_WIDTH at most
    parameter  int          ADDRESS_WIDTH = 32,
    parameter  int          ID_WIDTH      = 1,
    parameter  logic [63:0] BASE          = 64'h0,
    parameter  logic [63:0] BYTES         = 64'd4096,
    parameter  int          ROW           = 8,      // bits of a row's number
    localparam int          KEEP          = DATA_WIDTH / 8,
    localparam int          STROBES       = WIDTH / 8
) (
    input  logic                     clk,
    input  logic                     rst_n,
    input  logic [     ID_WIDTH-1:0] awid,
    input  logic [ADDRESS_WIDTH-1:0] awaddr,
    input  logic [              7:0] awlen,
    input  logic [              2:0] awsize,
    input  logic [              1:0] awburst,
    input  logic                     awvalid,
    output logic                     awready,
    input  logic [        WIDTH-1:0] wdata,
    input  logic [      STROBES-1:0] wstrb,
    input  logic                     wvalid,
    output logic                     wready,
    output logic [     ID_WIDTH-1:0] bid,
    output logic [              1:0] bresp,
    output logic                     bvalid,
    input  logic                     bready,
    // To the RAM: a row is written in each clock with `valid` and `ready`.
    output logic                     valid,
    input  logic                     ready,
    output logic [          ROW-1:0] row,
    output logic [         KEEP-1:0] strobes,
    output logic [   DATA_WIDTH-1:0] data
);
  localparam logic [1:0] OKAY = 2'b00, DECERR = 2'b11;
  localparam int LANES = DATA_WIDTH / WIDTH;
  logic busy, hit, moves;
  logic [ADDRESS_WIDTH-1:0] address, next;
  logic [7:0] len, left;
  logic [2:0] size;
  logic [1:0] burst;
  logic [63:0] offset;

  tp_axi_next #(
      .ADDRESS_WIDTH(ADDRESS_WIDTH)
  ) i_next (
      .address,
      .len,
      .size,
      .burst,
      .next
  );

  assign offset = 64'(address) - BASE;
  assign hit = offset < BYTES;
  assign awready = !busy && (!bvalid || bready) && rst_n;
  assign valid = busy && wvalid && hit;
  assign wready = busy && (ready || !hit);
  assign moves = wvalid && wready;
  assign row = offset[$clog2(KEEP)+:ROW];
  for (genvar lane = 0; lane < LANES; lane++) begin : g_lane
    assign data[WIDTH*lane+:WIDTH] = wdata;
    if (LANES == 1) begin : g_one
      assign strobes = wstrb;
    end else begin : g_several
      localparam int BITS = $clog2(LANES);
      assign strobes[STROBES*lane+:STROBES] = offset[$clog2(STROBES)+:BITS] == BITS'(lane) ? wstrb : '0;
    end
  end

  always_ff @(posedge clk) begin
    if (bvalid && bready) bvalid <= 1'b0;
    if (awvalid && awready) begin
      busy <= 1'b1;
      bid <= awid;
      address <= awaddr;
      len <= awlen;
      left <= awlen;
      size <= awsize;
      burst <= awburst;
    end
    if (moves) begin
      address <= next;
      left <= left - 1;
      if (left == '0) begin
        busy   <= 1'b0;
        bvalid <= 1'b1;
        bresp  <= hit ? OKAY : DECERR;  // of all beats: BASE and BYTES are multiples of 4096, which no burst crosses
      end
    end
    if (!rst_n) begin
      busy   <= 1'b0;
      bvalid <= 1'b0;
    end
  end
endmodule
