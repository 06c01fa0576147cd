// SPDX-License-Identifier: Apache-2.0
//
// Histogram: counts the bytes of each message on channel "pixels", and sends the counts on channel "counts": a message of 256 numbers of
// 32 bits, little-endian, the count of byte value 0 first. An empty message gives 256 zeros.
//
// Each lane of a beat counts into a memory of its own, so a beat is counted in one cycle. Reading the counts out adds the lanes, clears
// them, and takes 256 cycles and a few; meanwhile no pixels are taken. A reset of "pixels" forgets the message that is being counted, a
// reset of "counts" the one that is being sent.
module histogram #(
    parameter int DATA_WIDTH = 128,
    localparam int KEEP = DATA_WIDTH / 8
) (
    input logic clk,
    input logic rst_n,

    input  logic [DATA_WIDTH-1:0] pixels_tdata,
    input  logic [      KEEP-1:0] pixels_tkeep,
    input  logic                  pixels_tlast,
    input  logic                  pixels_tvalid,
    output logic                  pixels_tready,
    input  logic                  pixels_reset,

    output logic [DATA_WIDTH-1:0] counts_tdata,
    output logic [      KEEP-1:0] counts_tkeep,
    output logic                  counts_tlast,
    output logic                  counts_tvalid,
    input  logic                  counts_tready,
    input  logic                  counts_reset
);
  localparam int EACH = DATA_WIDTH / 32;  // counts in a beat

  typedef enum logic [1:0] {
    CLEAR,  // after a reset: the memories hold anything
    COUNT,
    SEND
  } state_t;
  state_t state;

  logic [7:0] value;  // whose counts are read, or cleared
  logic [31:0] of_lane[KEEP];
  logic [31:0] sum;
  logic take, step, forget;

  assign forget = state == COUNT ? pixels_reset : counts_reset;
  assign take = state == COUNT && pixels_tvalid;
  // Counts are collected in counts_tdata, which must not change while it waits to be taken. Nothing is behind the last ones.
  assign step = state == CLEAR || (state == SEND && !(counts_tvalid && (!counts_tready || counts_tlast)));
  assign pixels_tready = state == COUNT;
  assign counts_tkeep = '1;

  for (genvar lane = 0; lane < KEEP; lane++) begin : g_lane
    logic [31:0] memory[256];
    logic [7:0] at;
    assign at = state == COUNT ? pixels_tdata[8*lane+:8] : value;
    assign of_lane[lane] = memory[at];
    always_ff @(posedge clk)
      if (step) memory[at] <= '0;
      else if (take && pixels_tkeep[lane]) memory[at] <= of_lane[lane] + 1;
  end

  always_comb begin
    sum = '0;
    for (int lane = 0; lane < KEEP; lane++) sum += of_lane[lane];
  end

  always_ff @(posedge clk) begin
    if (step) begin
      value <= value + 1;
      counts_tdata[32*(value%EACH)+:32] <= sum;
    end
    if (counts_tready) counts_tvalid <= 1'b0;
    case (state)
      CLEAR: if (value == 255) state <= COUNT;
      COUNT: if (take && pixels_tlast) state <= SEND;
      default: begin
        if (step) begin
          counts_tvalid <= value % EACH == EACH - 1;
          counts_tlast <= value == 255;
        end
        if (counts_tvalid && counts_tready && counts_tlast) state <= COUNT;
      end
    endcase
    if (forget || !rst_n) begin
      state <= CLEAR;
      value <= '0;
      counts_tvalid <= 1'b0;
    end
  end
endmodule
