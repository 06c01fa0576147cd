// SPDX-License-Identifier: Apache-2.0
// The configuration port of plug-in `partial` in simulation: a model, in which a load selects one of CORES cores that are all there.
//
// A file is a header with a core's name, dwords of whatever, and a CRC (`partial_image` in the contract). `live` is the core that the region holds; it
// changes only with the end of a file that is whole and names one of NAMES. While `torn` the region holds none, from a file's begin until one ends well,
// and whoever connects the cores has their outputs be `junk`: a region that is being configured does anything. No reset reaches the region.
// Not for: synthesis.
module tp_config_model
  import towpath_pkg::*;
#(
    parameter int CORES = 2,
    parameter logic [CORES-1:0][255:0] NAMES = '0,  // as in the discovery table: the first character in the lowest byte
    localparam int LW = $clog2(CORES + 1)
) (
    input logic clk,

    input  logic        config_start,
    input  logic        config_valid,
    output logic        config_ready,
    input  logic [31:0] config_data,
    input  logic        config_end,
    output logic        config_done,
    output logic        config_error,

    output logic          torn,
    output logic [LW-1:0] live,
    output logic          junk
);
  localparam logic [31:0] POLYNOMIAL = 32'hEDB88320;
  localparam int NAME = TP_PLUGIN_PARTIAL_IMAGE_CORE_NAME_OFFSET / 4;  // the dwords of the header
  localparam int BODY = NAME + TP_PLUGIN_PARTIAL_IMAGE_CORE_NAME_COUNT / 4;

  // The CRC with one more byte, least bit first.
  function automatic logic [31:0] with_byte(input logic [31:0] crc, input logic [7:0] data);
    with_byte = crc ^ 32'(data);
    for (int i = 0; i < 8; i++) with_byte = (with_byte >> 1) ^ (with_byte[0] ? POLYNOMIAL : '0);
  endfunction

  logic [31:0] at, words, crc, next_crc, noise;
  logic [31:0] first_lowest;
  logic [255:0] name;
  logic closed, beat;
  assign beat = config_valid && config_ready;
  // As uneven as a port may be.
  assign config_ready = noise[1:0] != 0;
  assign junk = noise[7];
  // In a file the first character is a dword's highest byte.
  assign first_lowest = {config_data[7:0], config_data[15:8], config_data[23:16], config_data[31:24]};

  always_comb begin
    next_crc = crc;
    for (int i = 3; i >= 0; i--) next_crc = with_byte(next_crc, config_data[8*i+:8]);
  end

  initial begin
    torn = 1'b0;
    live = '0;
    noise = 32'h1;
    {config_done, config_error, closed} = '0;
    {at, words, crc, name} = '0;
  end
  always_ff @(posedge clk) begin
    noise <= {noise[30:0], noise[31] ^ noise[21] ^ noise[1] ^ noise[0]};
    if (beat) begin
      at <= at + 1'b1;
      crc <= next_crc;
      if (at == 32'(TP_PLUGIN_PARTIAL_IMAGE_MAGIC_OFFSET / 4) && config_data != TP_PLUGIN_PARTIAL_IMAGE_MAGIC_VALUE) config_error <= 1'b1;
      if (at == 32'(TP_PLUGIN_PARTIAL_IMAGE_WORDS_OFFSET / 4)) words <= config_data;
      if (at >= 32'(NAME) && at < 32'(BODY)) name <= {first_lowest, name[255:32]};
      if (at >= 32'(BODY) && at == 32'(BODY) + words) begin
        closed <= 1'b1;
        if (config_data != ~crc) config_error <= 1'b1;
      end
      if (closed) config_error <= 1'b1;
    end
    if (config_end && !config_done && !config_error) begin
      config_error <= 1'b1;
      for (int k = 0; k < CORES; k++) begin
        if (closed && name == NAMES[k]) begin
          config_error <= 1'b0;
          config_done <= 1'b1;
          live <= LW'(k);
          torn <= 1'b0;
        end
      end
    end
    if (config_start) begin
      torn <= 1'b1;
      {config_done, config_error, closed} <= '0;
      {at, words, name} <= '0;
      crc <= '1;
    end
  end
endmodule
