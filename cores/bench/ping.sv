// SPDX-License-Identifier: Apache-2.0
//
// Ping: sends a message of eight bytes and counts the clocks until one comes back, for measuring the way to another card and back. The other card
// returns what it gets: a core "ping" with `echo`, which sends each beat on in the clock in which it comes.
//
// Registers (32 bits; other addresses read 0 and ignore writes)
//   0x00 control   bit 0: a write of 1 sends a message; bit 1, echo: what comes is sent back
//   0x04 clocks    from the clock in which the message was taken to that in which the answer was there, of the last round
//   0x08 rounds    answers
//   0x0C errors    answers that were not what was sent
module ping #(
    parameter int DATA_WIDTH = 128,
    localparam int KEEP = DATA_WIDTH / 8
) (
    input logic clk,
    input logic rst_n,

    input  logic [DATA_WIDTH-1:0] in_tdata,
    input  logic [      KEEP-1:0] in_tkeep,
    input  logic                  in_tlast,
    input  logic                  in_tvalid,
    output logic                  in_tready,

    output logic [DATA_WIDTH-1:0] out_tdata,
    output logic [      KEEP-1:0] out_tkeep,
    output logic                  out_tlast,
    output logic                  out_tvalid,
    input  logic                  out_tready,

    input  logic [31:0] s_axil_awaddr,
    input  logic        s_axil_awvalid,
    output logic        s_axil_awready,
    input  logic [31:0] s_axil_wdata,
    input  logic [ 3:0] s_axil_wstrb,
    input  logic        s_axil_wvalid,
    output logic        s_axil_wready,
    output logic [ 1:0] s_axil_bresp,
    output logic        s_axil_bvalid,
    input  logic        s_axil_bready,
    input  logic [31:0] s_axil_araddr,
    input  logic        s_axil_arvalid,
    output logic        s_axil_arready,
    output logic [31:0] s_axil_rdata,
    output logic [ 1:0] s_axil_rresp,
    output logic        s_axil_rvalid,
    input  logic        s_axil_rready
);
  wire unused = ^{s_axil_awaddr[31:12], s_axil_awaddr[1:0], s_axil_araddr[31:12], s_axil_araddr[1:0], s_axil_wstrb[3:1],
      s_axil_wdata[31:2]};

  logic echo, wanted, waiting;
  logic [31:0] number, elapsed, clocks, rounds, errors;
  wire write = s_axil_awvalid && s_axil_wvalid && (!s_axil_bvalid || s_axil_bready);
  wire read = s_axil_arvalid && (!s_axil_rvalid || s_axil_rready);
  wire control = write && s_axil_awaddr[11:2] == 10'h000 && s_axil_wstrb[0];
  wire sent = wanted && out_tready && !echo;
  wire came = in_tvalid && in_tready && !echo;

  assign out_tvalid = echo ? in_tvalid : wanted;
  assign out_tdata = echo ? in_tdata : DATA_WIDTH'({~number, number});
  assign out_tkeep = echo ? in_tkeep : KEEP'(8'hff);
  assign out_tlast = echo ? in_tlast : 1'b1;
  assign in_tready = echo ? out_tready : 1'b1;

  always_ff @(posedge clk) begin
    if (control) begin
      echo <= s_axil_wdata[1];
      wanted <= s_axil_wdata[0];
    end
    elapsed <= elapsed + 1'b1;
    if (sent) begin
      wanted <= 1'b0;
      waiting <= 1'b1;
      elapsed <= 32'd1;
    end
    if (came && waiting) begin
      waiting <= 1'b0;
      clocks <= elapsed;
      rounds <= rounds + 1'b1;
      number <= number + 1'b1;
      if (in_tdata[63:0] != {~number, number} || in_tkeep != KEEP'(8'hff) || !in_tlast) errors <= errors + 1'b1;
    end
    if (!rst_n) begin
      {echo, wanted, waiting} <= '0;
      {number, clocks, rounds, errors} <= '0;
    end
  end

  assign s_axil_awready = write;
  assign s_axil_wready = write;
  assign s_axil_bresp = 2'b00;
  assign s_axil_arready = read;
  assign s_axil_rresp = 2'b00;
  always_ff @(posedge clk) begin
    if (write) s_axil_bvalid <= 1'b1;
    else if (s_axil_bready) s_axil_bvalid <= 1'b0;
    if (read) begin
      s_axil_rvalid <= 1'b1;
      case (s_axil_araddr[11:2])
        10'h001: s_axil_rdata <= clocks;
        10'h002: s_axil_rdata <= rounds;
        10'h003: s_axil_rdata <= errors;
        default: s_axil_rdata <= '0;
      endcase
    end else if (s_axil_rready) s_axil_rvalid <= 1'b0;
    if (!rst_n) begin
      s_axil_bvalid <= 1'b0;
      s_axil_rvalid <= 1'b0;
    end
  end
endmodule
