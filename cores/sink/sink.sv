// SPDX-License-Identifier: Apache-2.0
//
// Sink: takes all that the host sends to channel "in" and compares it with a known pattern, for measuring and testing host to card. Its
// other half is the core "counter", which makes the same pattern on the way from card to host.
//
// The pattern
//   A run of 32-bit little-endian words, seed, seed + 1, seed + 2, ..., which starts afresh in each message. A message of n bytes is the
//   first n bytes of the run. The host makes one in one line of Python:
//     numpy.arange(seed, seed + (n + 3) // 4, dtype="uint32").tobytes()[:n]
//
// Registers (32 bits; other addresses read 0 and ignore writes)
//   0x00 control           bit 0: a write of 1 clears all counters and begins with a new message
//   0x04 seed              the pattern's first word, from the next message on. Resets to 0.
//   0x08 pace              cycles in which nothing is taken after each beat. Resets to 0: one beat a cycle.
//   0x0C messages          ends of message seen
//   0x10, 0x14 bytes       bytes seen, low and high half
//   0x18 errors            bytes that were not the pattern's; stops at its largest value
//   0x1C, 0x20 first_error which byte was the first of these, counted as in bytes from 0, low and high half
//   0x24 faults            messages that the link cut short (in_error)
//
// Interrupt 0 is raised by the first wrong byte after a reset or a clear, once: an interrupt for each would tell no more.
// Reset of the channel (in_reset) begins with a new message; the counters stay.
module sink #(
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
    input  logic                  in_error,
    input  logic                  in_reset,

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

  logic clear;
  logic [31:0] seed, pace;

  // ---- taking beats
  logic [31:0] wait_cycles;
  assign in_tready = wait_cycles == 0;
  wire fire = in_tvalid && in_tready;
  always_ff @(posedge clk) begin
    if (fire) wait_cycles <= pace;
    else if (wait_cycles != 0) wait_cycles <= wait_cycles - 1;
    if (!rst_n || in_reset) wait_cycles <= '0;
  end

  // ---- comparing: the beat is registered with the words it should hold, compared in the next cycle, and counted in the one after
  logic first;         // the next beat begins a message
  logic [31:0] word;   // the pattern's next word
  wire [31:0] base = first ? seed : word;

  logic beat_valid, beat_last, beat_error;
  logic [DATA_WIDTH-1:0] beat_data, beat_pattern;
  logic [KEEP-1:0] beat_keep, wrong;

  always_comb for (int i = 0; i < KEEP; i++) wrong[i] = beat_keep[i] && beat_data[8*i+:8] != beat_pattern[8*i+:8];

  logic [31:0] messages, errors, faults;
  logic [63:0] bytes, first_error;
  logic [$clog2(KEEP)-1:0] lowest;
  always_comb begin
    lowest = '0;
    for (int i = KEEP - 1; i >= 0; i--) if (wrong[i]) lowest = ($clog2(KEEP))'(i);
  end
  wire [32:0] more_errors = 33'(errors) + 33'($countones(wrong));

  always_ff @(posedge clk) begin
    beat_valid <= fire;
    beat_last  <= in_tlast;
    beat_error <= in_error;
    beat_data  <= in_tdata;
    beat_keep  <= in_tkeep;
    for (int i = 0; i < WORDS; i++) beat_pattern[32*i+:32] <= base + 32'(i);
    if (fire) begin
      first <= in_tlast;
      word  <= base + 32'(WORDS);
    end

    if (irq_valid && irq_ready) irq_valid <= 1'b0;
    if (beat_valid) begin
      bytes <= bytes + 64'($countones(beat_keep));
      if (beat_last) messages <= messages + 1;
      if (beat_last && beat_error) faults <= faults + 1;
      errors <= more_errors[32] ? '1 : more_errors[31:0];
      if (wrong != 0 && errors == 0) begin
        first_error <= bytes + 64'(lowest);
        irq_valid   <= 1'b1;
      end
    end
    if (clear) begin
      messages <= '0;
      bytes <= '0;
      errors <= '0;
      first_error <= '0;
      faults <= '0;
      beat_valid <= 1'b0;
    end
    if (clear || in_reset) first <= 1'b1;
    if (!rst_n) begin
      first <= 1'b1;
      beat_valid <= 1'b0;
      irq_valid <= 1'b0;
      messages <= '0;
      bytes <= '0;
      errors <= '0;
      first_error <= '0;
      faults <= '0;
    end
  end

  // ---- registers
  wire write = s_axil_awvalid && s_axil_wvalid && (!s_axil_bvalid || s_axil_bready);
  wire read = s_axil_arvalid && (!s_axil_rvalid || s_axil_rready);
  assign s_axil_awready = write;
  assign s_axil_wready = write;
  assign s_axil_bresp = 2'b00;
  assign s_axil_arready = read;
  assign s_axil_rresp = 2'b00;
  assign clear = write && s_axil_awaddr[11:2] == 10'h000 && s_axil_wstrb[0] && s_axil_wdata[0];

  function automatic logic [31:0] merge(input logic [31:0] old);
    for (int i = 0; i < 4; i++) merge[8*i+:8] = s_axil_wstrb[i] ? s_axil_wdata[8*i+:8] : old[8*i+:8];
  endfunction

  always_ff @(posedge clk) begin
    if (write && s_axil_awaddr[11:2] == 10'h001) seed <= merge(seed);
    if (write && s_axil_awaddr[11:2] == 10'h002) pace <= merge(pace);
    if (write) s_axil_bvalid <= 1'b1;
    else if (s_axil_bready) s_axil_bvalid <= 1'b0;
    if (read) begin
      s_axil_rvalid <= 1'b1;
      case (s_axil_araddr[11:2])
        10'h001: s_axil_rdata <= seed;
        10'h002: s_axil_rdata <= pace;
        10'h003: s_axil_rdata <= messages;
        10'h004: s_axil_rdata <= bytes[31:0];
        10'h005: s_axil_rdata <= bytes[63:32];
        10'h006: s_axil_rdata <= errors;
        10'h007: s_axil_rdata <= first_error[31:0];
        10'h008: s_axil_rdata <= first_error[63:32];
        10'h009: s_axil_rdata <= faults;
        default: s_axil_rdata <= '0;
      endcase
    end else if (s_axil_rready) s_axil_rvalid <= 1'b0;
    if (!rst_n) begin
      seed <= '0;
      pace <= '0;
      s_axil_bvalid <= 1'b0;
      s_axil_rvalid <= 1'b0;
    end
  end
endmodule
