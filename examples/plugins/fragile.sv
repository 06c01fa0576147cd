// SPDX-License-Identifier: Apache-2.0
//
// Fragile: an echo from channel "in" to channel "out" that breaks when it is told to, for showing what plug-ins do about it. Wishbone and
// Avalon each reach 16 words of its.
//
// Registers (32 bits; other addresses read 0 and ignore writes)
//   0x00 scratch   read and write
//   0x04 break     write 1: no more beats are taken until a reset, and the core reports a fault
//   0x08 messages  read only: whole messages since the reset
//   0x0C silent    an access of it is never answered
//   0x10 early     read only: clocks since the core's reset ended
//   0x14 late      read only: clocks since the reset of output 1 ended
module fragile #(
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

    input  logic [1:0] reset_rst_n,
    output logic       reset_fault,

    input  logic        wishbone_cyc,
    input  logic        wishbone_stb,
    input  logic        wishbone_we,
    input  logic [11:0] wishbone_adr,
    input  logic [ 3:0] wishbone_sel,
    input  logic [31:0] wishbone_dat_w,
    output logic [31:0] wishbone_dat_r,
    output logic        wishbone_ack,
    output logic        wishbone_err,

    input  logic [12:0] avalon_address,
    input  logic        avalon_read,
    input  logic        avalon_write,
    input  logic [ 3:0] avalon_byteenable,
    input  logic [31:0] avalon_writedata,
    output logic [31:0] avalon_readdata,
    output logic        avalon_waitrequest,

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
  wire unused = ^{s_axil_awaddr[31:8], s_axil_awaddr[1:0], s_axil_araddr[31:8], s_axil_araddr[1:0], s_axil_wstrb[3:1], reset_rst_n[0]};
  wire unused_too = ^{wishbone_adr[1:0], avalon_address[12:6], avalon_address[1:0], avalon_read};

  // ---- the echo: a register in its middle
  logic broken;
  wire free = !out_tvalid || out_tready;
  assign in_tready   = free && !broken;  // in reset no beat comes: tp_user holds them back
  assign reset_fault = broken;
  always_ff @(posedge clk) begin
    if (free) out_tvalid <= in_tvalid && in_tready;
    if (free) begin
      out_tdata <= in_tdata;
      out_tkeep <= in_tkeep;
      out_tlast <= in_tlast;
    end
    if (!rst_n) out_tvalid <= 1'b0;
  end

  // ---- 16 words on each of the other buses; on Wishbone there is nothing beyond them
  logic [31:0] words[16], others[16];
  wire wishbone_begins = wishbone_cyc && wishbone_stb && !wishbone_ack && !wishbone_err && rst_n;
  wire wishbone_here = wishbone_adr[11:6] == 6'h00;
  always_ff @(posedge clk) begin
    wishbone_ack <= wishbone_begins && wishbone_here;
    wishbone_err <= wishbone_begins && !wishbone_here;
    wishbone_dat_r <= words[wishbone_adr[5:2]];
    if (wishbone_begins && wishbone_here && wishbone_we) begin
      for (int i = 0; i < 4; i++) if (wishbone_sel[i]) words[wishbone_adr[5:2]][8*i+:8] <= wishbone_dat_w[8*i+:8];
    end
  end
  assign avalon_waitrequest = 1'b0;
  assign avalon_readdata = others[avalon_address[5:2]];
  always_ff @(posedge clk) begin
    for (int i = 0; i < 4; i++) begin
      if (avalon_write && avalon_byteenable[i]) others[avalon_address[5:2]][8*i+:8] <= avalon_writedata[8*i+:8];
    end
  end

  // ---- registers
  logic [31:0] scratch, messages, early, late;
  wire write = s_axil_awvalid && s_axil_wvalid && (!s_axil_bvalid || s_axil_bready);
  wire read = s_axil_arvalid && (!s_axil_rvalid || s_axil_rready);
  wire write_silent = s_axil_awaddr[7:2] == 6'h03;
  wire read_silent = s_axil_araddr[7:2] == 6'h03;
  assign s_axil_awready = write;
  assign s_axil_wready = write;
  assign s_axil_bresp = 2'b00;
  assign s_axil_arready = read;
  assign s_axil_rresp = 2'b00;

  always_ff @(posedge clk) begin
    early <= early + 1'b1;
    late <= late + 1'b1;
    if (in_tvalid && in_tready && in_tlast) messages <= messages + 1'b1;
    if (write && s_axil_awaddr[7:2] == 6'h00) scratch <= s_axil_wdata;
    if (write && s_axil_awaddr[7:2] == 6'h01 && s_axil_wstrb[0]) broken <= broken || s_axil_wdata[0];
    if (write) s_axil_bvalid <= !write_silent;
    else if (s_axil_bready) s_axil_bvalid <= 1'b0;
    if (read) begin
      s_axil_rvalid <= !read_silent;
      case (s_axil_araddr[7:2])
        6'h00:   s_axil_rdata <= scratch;
        6'h02:   s_axil_rdata <= messages;
        6'h04:   s_axil_rdata <= early;
        6'h05:   s_axil_rdata <= late;
        default: s_axil_rdata <= '0;
      endcase
    end else if (s_axil_rready) s_axil_rvalid <= 1'b0;
    if (!rst_n) begin
      broken <= 1'b0;
      scratch <= '0;
      messages <= '0;
      early <= '0;
      s_axil_bvalid <= 1'b0;
      s_axil_rvalid <= 1'b0;
    end
    if (!reset_rst_n[1]) late <= '0;
  end
endmodule
