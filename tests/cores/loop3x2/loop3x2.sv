// SPDX-License-Identifier: Apache-2.0
//
// A core for tests with three channels from the host and two to it: what comes in on a (with its attributes) leaves on x, what comes in on b
// leaves on y, and c is added up. Registers (32 bits; a read of any other address is an AXI error, SLVERR, and so is a write):
//   0x00 c_bytes      bytes that came in on c; a write of anything clears this and the next two
//   0x04 c_sum        sum of these bytes, modulo 2^32
//   0x08 c_messages   messages that came in on c
//   0x0C raise        each bit of a write raises that interrupt once; reads which are pending
//   0x10 deaf         a read of this address is never answered; a write is
module loop3x2 #(
    parameter int DATA_WIDTH = 128,
    localparam int KEEP = DATA_WIDTH / 8
) (
    input logic clk,
    input logic rst_n,

    input  logic [DATA_WIDTH-1:0] a_tdata,
    input  logic [      KEEP-1:0] a_tkeep,
    input  logic                  a_tlast,
    input  logic                  a_tvalid,
    output logic                  a_tready,
    input  logic [          63:0] a_length,
    input  logic [          63:0] a_offset,
    input  logic [          31:0] a_user,
    input  logic                  a_reset,
    output logic [DATA_WIDTH-1:0] x_tdata,
    output logic [      KEEP-1:0] x_tkeep,
    output logic                  x_tlast,
    output logic                  x_tvalid,
    input  logic                  x_tready,
    output logic [          47:0] x_length,
    output logic [          31:0] x_offset,
    output logic [          31:0] x_user,
    input  logic                  x_reset,

    input  logic [DATA_WIDTH-1:0] b_tdata,
    input  logic [      KEEP-1:0] b_tkeep,
    input  logic                  b_tlast,
    input  logic                  b_tvalid,
    output logic                  b_tready,
    input  logic                  b_reset,
    output logic [DATA_WIDTH-1:0] y_tdata,
    output logic [      KEEP-1:0] y_tkeep,
    output logic                  y_tlast,
    output logic                  y_tvalid,
    input  logic                  y_tready,
    input  logic                  y_reset,

    input  logic [DATA_WIDTH-1:0] c_tdata,
    input  logic [      KEEP-1:0] c_tkeep,
    input  logic                  c_tlast,
    input  logic                  c_tvalid,
    output logic                  c_tready,

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
    input  logic        s_axil_rready,

    output logic [15:0] irq_valid,
    input  logic [15:0] irq_ready
);
  wire unused = ^{a_length[63:48], a_offset[63:32], s_axil_awaddr[31:8], s_axil_awaddr[1:0], s_axil_araddr[31:8], s_axil_araddr[1:0],
                  s_axil_wstrb, s_axil_wdata[31:16]};

  assign a_tready = !x_tvalid || x_tready;
  assign b_tready = !y_tvalid || y_tready;
  assign c_tready = 1'b1;
  always_ff @(posedge clk) begin
    if (a_tready) begin
      x_tvalid <= a_tvalid;
      x_tdata  <= a_tdata;
      x_tkeep  <= a_tkeep;
      x_tlast  <= a_tlast;
      x_length <= a_length[47:0];
      x_offset <= a_offset[31:0];
      x_user   <= a_user;
    end
    if (b_tready) begin
      y_tvalid <= b_tvalid;
      y_tdata  <= b_tdata;
      y_tkeep  <= b_tkeep;
      y_tlast  <= b_tlast;
    end
    if (!rst_n || a_reset || x_reset) x_tvalid <= 1'b0;
    if (!rst_n || b_reset || y_reset) y_tvalid <= 1'b0;
  end

  wire write = s_axil_awvalid && s_axil_wvalid && (!s_axil_bvalid || s_axil_bready);
  wire read = s_axil_arvalid && (!s_axil_rvalid || s_axil_rready);
  wire known_write = s_axil_awaddr[7:2] <= 6'h04;
  wire known_read = s_axil_araddr[7:2] <= 6'h04;
  wire deaf = s_axil_araddr[7:2] == 6'h04;
  assign s_axil_awready = write;
  assign s_axil_wready = write;
  assign s_axil_arready = read;

  logic [31:0] c_bytes, c_sum, c_messages, beat_sum;
  logic [15:0] pending;
  assign irq_valid = pending;
  always_comb begin
    beat_sum = '0;
    for (int i = 0; i < KEEP; i++) if (c_tkeep[i]) beat_sum = beat_sum + 32'(c_tdata[8*i+:8]);
  end

  always_ff @(posedge clk) begin
    pending <= pending & ~irq_ready | (write && s_axil_awaddr[7:2] == 6'h03 ? s_axil_wdata[15:0] : 16'h0);
    if (c_tvalid) begin
      c_bytes <= c_bytes + 32'($countones(c_tkeep));
      c_sum <= c_sum + beat_sum;
      c_messages <= c_messages + 32'(c_tlast);
    end
    if (!rst_n || (write && s_axil_awaddr[7:2] == 6'h00)) begin
      c_bytes <= '0;
      c_sum <= '0;
      c_messages <= '0;
    end
    if (write) begin
      s_axil_bvalid <= 1'b1;
      s_axil_bresp  <= known_write ? 2'b00 : 2'b10;
    end else if (s_axil_bready) s_axil_bvalid <= 1'b0;
    if (read && !deaf) begin
      s_axil_rvalid <= 1'b1;
      s_axil_rresp  <= known_read ? 2'b00 : 2'b10;
      case (s_axil_araddr[7:2])
        6'h00: s_axil_rdata <= c_bytes;
        6'h01: s_axil_rdata <= c_sum;
        6'h02: s_axil_rdata <= c_messages;
        6'h03: s_axil_rdata <= 32'(pending);
        default: s_axil_rdata <= '0;
      endcase
    end else if (s_axil_rready) s_axil_rvalid <= 1'b0;
    if (!rst_n) begin
      pending <= '0;
      s_axil_bvalid <= 1'b0;
      s_axil_rvalid <= 1'b0;
    end
  end
endmodule
