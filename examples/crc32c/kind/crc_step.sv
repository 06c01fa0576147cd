// SPDX-License-Identifier: Apache-2.0
//
// CRC-32C (Castagnoli) over the bytes of one beat. Start with all ones; the CRC is the complement of what comes out in the end. A message
// with its CRC behind it, low byte first, always comes to 32'hB798B438.
module crc_step #(
    parameter int DATA_WIDTH = 128,
    localparam int KEEP = DATA_WIDTH / 8
) (
    input  logic [          31:0] crc_in,
    input  logic [DATA_WIDTH-1:0] data,
    input  logic [      KEEP-1:0] keep,
    output logic [          31:0] crc_out
);
  always_comb begin
    crc_out = crc_in;
    for (int i = 0; i < KEEP; i++) begin
      if (keep[i]) begin
        crc_out = crc_out ^ 32'(data[8*i+:8]);
        for (int b = 0; b < 8; b++) crc_out = (crc_out >> 1) ^ (crc_out[0] ? 32'h82F63B78 : 32'h0);
      end
    end
  end
endmodule
