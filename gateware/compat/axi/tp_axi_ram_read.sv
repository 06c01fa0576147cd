// SPDX-License-Identifier: Apache-2.0
// The read channels of one AXI4 port of tp_axi_ram: bursts of any kind, of the port's width or narrower, from rows of the RAM.
//
// Promises: one burst at a time, in order; beats outside of the RAM are zeros with DECERR. A beat a clock while the RAM grants it, and a clock between two bursts.
module tp_axi_ram_read #(
    parameter int          DATA_WIDTH    = 128,      // of a row
    parameter int          WIDTH         = 128,      // of the port, DATA_WIDTH at most
    parameter int          ADDRESS_WIDTH = 32,
    parameter int          ID_WIDTH      = 1,
    parameter logic [63:0] BASE          = 64'h0,
    parameter logic [63:0] BYTES         = 64'd4096,
    parameter int          ROW           = 8         // bits of a row's number
) (
    input  logic                     clk,
    input  logic                     rst_n,
    input  logic [     ID_WIDTH-1:0] arid,
    input  logic [ADDRESS_WIDTH-1:0] araddr,
    input  logic [              7:0] arlen,
    input  logic [              2:0] arsize,
    input  logic [              1:0] arburst,
    input  logic                     arvalid,
    output logic                     arready,
    output logic [     ID_WIDTH-1:0] rid,
    output logic [        WIDTH-1:0] rdata,
    output logic [              1:0] rresp,
    output logic                     rlast,
    output logic                     rvalid,
    input  logic                     rready,
    // To the RAM: `data` is the row's in the clock after `valid` and `ready`.
    output logic                     valid,
    input  logic                     ready,
    output logic [          ROW-1:0] row,
    input  logic [   DATA_WIDTH-1:0] data
);
  localparam int KEEP = DATA_WIDTH / 8;
  localparam int LANES = DATA_WIDTH / WIDTH;
  localparam logic [1:0] OKAY = 2'b00, DECERR = 2'b11;
  logic busy, hit, room, moves, coming, coming_last, coming_hit, out_hit;
  logic [ADDRESS_WIDTH-1:0] address, next;
  logic [7:0] len, left;
  logic [2:0] size;
  logic [1:0] burst;
  logic [63:0] offset;
  logic [ID_WIDTH-1:0] id, coming_id;
  logic [WIDTH-1:0] lane_data;
  logic [2:0] count;

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
  assign arready = !busy && rst_n;
  assign room = count + 3'(coming) < 3'd4;
  assign valid = busy && room && hit;
  assign moves = busy && room && (ready || !hit);
  assign row = offset[$clog2(KEEP)+:ROW];

  if (LANES == 1) begin : g_one
    assign lane_data = data;
  end else begin : g_several
    localparam int BITS = $clog2(LANES);
    logic [BITS-1:0] lane;
    always_ff @(posedge clk) lane <= offset[$clog2(WIDTH/8)+:BITS];
    assign lane_data = data[WIDTH*lane+:WIDTH];
  end

  always_ff @(posedge clk) begin
    coming <= moves;
    coming_last <= left == '0;
    coming_hit <= hit;
    coming_id <= id;
    if (arvalid && arready) begin
      busy <= 1'b1;
      id <= arid;
      address <= araddr;
      len <= arlen;
      left <= arlen;
      size <= arsize;
      burst <= arburst;
    end
    if (moves) begin
      address <= next;
      left <= left - 1;
      if (left == '0) busy <= 1'b0;
    end
    if (!rst_n) begin
      busy   <= 1'b0;
      coming <= 1'b0;
    end
  end

  tp_fifo #(
      .WIDTH(ID_WIDTH + 2 + WIDTH),
      .DEPTH(4)
  ) beats (
      .clk,
      .rst(!rst_n),
      .clear(1'b0),
      .in_valid(coming),
      .in_ready(),
      .in_data({coming_id, coming_last, coming_hit, coming_hit ? lane_data : {WIDTH{1'b0}}}),
      .out_valid(rvalid),
      .out_ready(rready),
      .out_data({rid, rlast, out_hit, rdata}),
      .count
  );
  assign rresp = out_hit ? OKAY : DECERR;
endmodule
