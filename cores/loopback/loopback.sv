// SPDX-License-Identifier: Apache-2.0
//
// Loopback: what the host sends to channel "in" comes back on channel "out", byte for byte and message for message. Start your own core
// from this file: it has one of everything that a core can have.
//
// What a core is
//   A module with one clock, an active-low reset and three kinds of ports, all of them AXI: a stream for each channel, an AXI4-Lite port for
//   registers, and a pair of handshakes for interrupts. The manifest beside this file (towpath.toml) names the channels; a channel's name is
//   the prefix of its ports. Nothing here knows of PCI Express, of addresses in the host or of the size of a transfer.
//
// The streams
//   A beat of DATA_WIDTH bits moves in each cycle in which both tvalid and tready are 1. Byte 0 of a message is in tdata[7:0] of its first
//   beat. The beat with tlast ends a message; only there may tkeep have zeros, from the top: 2^n - 1 for n bytes. n may be 0: an empty
//   message, or one whose end came after its last byte was gone. A core that wants to be asked less may ignore messages altogether.
//   Back-pressure is free: hold tready low as long as you like and the host waits.
//
// Attributes ("attributes = true" in the manifest)
//   in_length, in_offset and in_user stand from a message's first beat to its last: what the host gave with the message (0 when it gave
//   nothing). out_length, out_offset and out_user are taken with a message's first beat and reach the host with its completions.
//
// Faults and resets
//   in_error stands with tlast when the message was cut short by a fault on the link. in_reset and out_reset say that the host resets the
//   channel: forget what belongs to it. Both are optional ports.
//
// Registers (32 bits; writes obey the byte strobes; other addresses read 0 and ignore writes)
//   0x00 id        read only, "LOOP"
//   0x04 scratch   whatever was written last
//   0x08 messages  messages that went through; any write clears this and the two counters below
//   0x0C, 0x10     bytes that went through, low and high half
//   0x14 faults    messages that ended with in_error
//
// Interrupt 0 is raised once for each message that went through. Requests add up while the host is busy: none is lost.
//
// Rate: one beat a cycle; one cycle of delay.
module loopback #(
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
    input  logic [          63:0] in_length,
    input  logic [          63:0] in_offset,
    input  logic [          31:0] in_user,
    input  logic                  in_error,
    input  logic                  in_reset,

    output logic [DATA_WIDTH-1:0] out_tdata,
    output logic [      KEEP-1:0] out_tkeep,
    output logic                  out_tlast,
    output logic                  out_tvalid,
    input  logic                  out_tready,
    output logic [          47:0] out_length,
    output logic [          31:0] out_offset,
    output logic [          31:0] out_user,
    input  logic                  out_reset,

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

    output logic irq_valid,
    input  logic irq_ready
);
  if (DATA_WIDTH % 8 != 0 || DATA_WIDTH < 8) begin : gen_check
    $error("%m: DATA_WIDTH %0d: make it a multiple of 8", DATA_WIDTH);
  end

  // ---- the data: one register, which takes a new beat when it is empty or its beat leaves
  assign in_tready = !out_tvalid || out_tready;
  wire in_fire = in_tvalid && in_tready;

  // A host sees 48 bits of a length and 32 of an offset on the way back.
  wire unused = ^{in_length[63:48], in_offset[63:32], s_axil_awaddr[31:12], s_axil_awaddr[1:0], s_axil_araddr[31:12], s_axil_araddr[1:0]};

  always_ff @(posedge clk) begin
    if (in_fire) begin
      out_tdata  <= in_tdata;
      out_tkeep  <= in_tkeep;
      out_tlast  <= in_tlast;
      out_length <= in_length[47:0];
      out_offset <= in_offset[31:0];
      out_user   <= in_user;
    end
    if (in_fire) out_tvalid <= 1'b1;
    else if (out_tready) out_tvalid <= 1'b0;
    if (!rst_n || in_reset || out_reset) out_tvalid <= 1'b0;
  end

  // ---- counters
  logic clear;
  logic [31:0] messages, faults;
  logic [63:0] bytes;

  always_ff @(posedge clk) begin
    if (in_fire) bytes <= bytes + 64'($countones(in_tkeep));
    if (in_fire && in_tlast) messages <= messages + 1;
    if (in_fire && in_tlast && in_error) faults <= faults + 1;
    if (!rst_n || clear) begin
      bytes <= '0;
      messages <= '0;
      faults <= '0;
    end
  end

  // ---- the interrupt: how many messages the host has not been told of yet
  logic [15:0] untold;
  wire told = irq_valid && irq_ready;
  wire ended = in_fire && in_tlast;
  assign irq_valid = untold != 0;
  always_ff @(posedge clk) begin
    if (ended && !told && untold != '1) untold <= untold + 1;
    else if (told && !ended) untold <= untold - 1;
    if (!rst_n) untold <= '0;
  end

  // ---- registers: a write is taken when its address and its data are both there and the answer before it is gone
  logic [31:0] scratch;
  wire write = s_axil_awvalid && s_axil_wvalid && (!s_axil_bvalid || s_axil_bready);
  wire read = s_axil_arvalid && (!s_axil_rvalid || s_axil_rready);
  assign s_axil_awready = write;
  assign s_axil_wready = write;
  assign s_axil_bresp = 2'b00;
  assign s_axil_arready = read;
  assign s_axil_rresp = 2'b00;
  assign clear = write && s_axil_awaddr[11:2] == 10'h002;

  always_ff @(posedge clk) begin
    if (write && s_axil_awaddr[11:2] == 10'h001) for (int i = 0; i < 4; i++) if (s_axil_wstrb[i]) scratch[8*i+:8] <= s_axil_wdata[8*i+:8];
    if (write) s_axil_bvalid <= 1'b1;
    else if (s_axil_bready) s_axil_bvalid <= 1'b0;
    if (read) begin
      s_axil_rvalid <= 1'b1;
      case (s_axil_araddr[11:2])
        10'h000: s_axil_rdata <= 32'h504F4F4C;  // "LOOP", first character in the lowest byte
        10'h001: s_axil_rdata <= scratch;
        10'h002: s_axil_rdata <= messages;
        10'h003: s_axil_rdata <= bytes[31:0];
        10'h004: s_axil_rdata <= bytes[63:32];
        10'h005: s_axil_rdata <= faults;
        default: s_axil_rdata <= '0;
      endcase
    end else if (s_axil_rready) s_axil_rvalid <= 1'b0;
    if (!rst_n) begin
      scratch <= '0;
      s_axil_bvalid <= 1'b0;
      s_axil_rvalid <= 1'b0;
    end
  end
endmodule
