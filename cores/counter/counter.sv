// SPDX-License-Identifier: Apache-2.0
//
// Counter: a source of messages with a known pattern on channel "out", for measuring and testing card to host. Its other half is the core
// "sink", which checks the same pattern on the way from host to card.
//
// The pattern
//   A run of 32-bit little-endian words, seed, seed + 1, seed + 2, ..., which starts afresh in each message. A message of n bytes holds the
//   first n bytes of the run, so n need not be a multiple of 4. The host's check is one line, in Python:
//     numpy.arange(seed, seed + (n + 3) // 4, dtype="uint32").tobytes()[:n]
//
// Registers (32 bits; set all others first, then write control; other addresses read 0 and ignore writes)
//   0x00 control  bit 0: a write of 1 starts a run, a write of 0 stops it after the message that is going out.
//                 Reads 1 while a run is going on. A start during a run is ignored.
//   0x04 length   bytes in each message; 0 is an empty message. Resets to 4096.
//   0x08 count    messages in a run; 0: until it is stopped. Resets to 1.
//   0x0C gap      idle cycles between two beats. Resets to 0: one beat a cycle.
//   0x10 seed     the pattern's first word. Resets to 0.
//   0x14 sent     read only: whole messages sent since the last start
//   What is written to length, count, gap and seed during a run counts from the next message on.
//
// Attributes: out_length is the message's length, out_user its number in the run, from 0, and out_offset is 0.
// Interrupt 0 is raised once at the end of each run.
// Reset of the channel (out_reset) ends the run at once and forgets the message that was going out.
module counter #(
    parameter int DATA_WIDTH = 128,
    localparam int KEEP = DATA_WIDTH / 8
) (
    input logic clk,
    input logic rst_n,

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
  localparam int WORDS = DATA_WIDTH / 32;
  if (DATA_WIDTH % 32 != 0 || DATA_WIDTH < 32) begin : gen_check
    $error("%m: DATA_WIDTH %0d: make it a multiple of 32", DATA_WIDTH);
  end

  wire unused = ^{s_axil_awaddr[31:12], s_axil_awaddr[1:0], s_axil_araddr[31:12], s_axil_araddr[1:0]};

  // ---- registers
  logic [31:0] length, count, gap, seed, sent;
  logic running, stopping;
  wire write = s_axil_awvalid && s_axil_wvalid && (!s_axil_bvalid || s_axil_bready);
  wire read = s_axil_arvalid && (!s_axil_rvalid || s_axil_rready);
  assign s_axil_awready = write;
  assign s_axil_wready = write;
  assign s_axil_bresp = 2'b00;
  assign s_axil_arready = read;
  assign s_axil_rresp = 2'b00;

  function automatic logic [31:0] merge(input logic [31:0] old);
    for (int i = 0; i < 4; i++) merge[8*i+:8] = s_axil_wstrb[i] ? s_axil_wdata[8*i+:8] : old[8*i+:8];
  endfunction

  wire control = write && s_axil_awaddr[11:2] == 10'h000 && s_axil_wstrb[0];
  wire start = control && s_axil_wdata[0] && !running;

  always_ff @(posedge clk) begin
    if (write) begin
      case (s_axil_awaddr[11:2])
        10'h001: length <= merge(length);
        10'h002: count <= merge(count);
        10'h003: gap <= merge(gap);
        10'h004: seed <= merge(seed);
        default: ;
      endcase
    end
    if (write) s_axil_bvalid <= 1'b1;
    else if (s_axil_bready) s_axil_bvalid <= 1'b0;
    if (read) begin
      s_axil_rvalid <= 1'b1;
      case (s_axil_araddr[11:2])
        10'h000: s_axil_rdata <= 32'(running);
        10'h001: s_axil_rdata <= length;
        10'h002: s_axil_rdata <= count;
        10'h003: s_axil_rdata <= gap;
        10'h004: s_axil_rdata <= seed;
        10'h005: s_axil_rdata <= sent;
        default: s_axil_rdata <= '0;
      endcase
    end else if (s_axil_rready) s_axil_rvalid <= 1'b0;
    if (!rst_n) begin
      length <= 32'd4096;
      count <= 32'd1;
      gap <= '0;
      seed <= '0;
      s_axil_bvalid <= 1'b0;
      s_axil_rvalid <= 1'b0;
    end
  end

  // ---- the source: a beat is made whenever the one before it leaves (or there is none) and the gap is over
  logic first;                   // the next beat begins a message
  logic [31:0] left;             // bytes of the message after the beat at the output
  logic [31:0] word;             // the pattern's next word
  logic [31:0] wait_cycles;
  logic [31:0] number;           // messages begun in this run

  wire free = !out_tvalid || out_tready;
  wire make = running && free && wait_cycles == 0;
  wire [31:0] remaining = first ? length : left;
  wire [31:0] base = first ? seed : word;
  wire ends = remaining <= 32'(KEEP);
  wire [31:0] begun = first ? number + 1 : number;  // with the message that this beat belongs to
  wire stop = stopping || (control && !s_axil_wdata[0]);
  // Stopped between two messages: nothing more to send.
  wire over = running && first && number != 0 && stop;

  assign out_offset = '0;

  always_ff @(posedge clk) begin
    if (out_tvalid && out_tready) out_tvalid <= 1'b0;
    if (out_tvalid && out_tready && out_tlast) sent <= sent + 1;
    if (wait_cycles != 0 && free) wait_cycles <= wait_cycles - 1;
    if (irq_valid && irq_ready) irq_valid <= 1'b0;
    if (control && !s_axil_wdata[0]) stopping <= 1'b1;

    if (over) begin
      running   <= 1'b0;
      irq_valid <= 1'b1;
    end else if (make) begin
      out_tvalid <= 1'b1;
      out_tlast <= ends;
      for (int i = 0; i < WORDS; i++) out_tdata[32*i+:32] <= base + 32'(i);
      for (int i = 0; i < KEEP; i++) out_tkeep[i] <= remaining > 32'(i);
      if (first) begin
        out_length <= 48'(length);
        out_user   <= number;
      end
      number <= begun;
      first <= ends;
      left <= remaining - 32'(KEEP);
      word <= base + 32'(WORDS);
      wait_cycles <= gap;
      if (ends && (stop || (count != 0 && begun >= count))) begin
        running   <= 1'b0;
        irq_valid <= 1'b1;
      end
    end

    if (start) begin
      running <= 1'b1;
      stopping <= 1'b0;
      first <= 1'b1;
      number <= '0;
      sent <= '0;
      wait_cycles <= '0;
    end
    if (!rst_n || out_reset) begin
      running <= 1'b0;
      stopping <= 1'b0;
      first <= 1'b1;
      out_tvalid <= 1'b0;
      wait_cycles <= '0;
      number <= '0;
    end
    if (!rst_n) begin
      irq_valid <= 1'b0;
      sent <= '0;
    end
  end
endmodule
