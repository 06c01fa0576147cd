// SPDX-License-Identifier: Apache-2.0
//
// AES-128 (FIPS 197) in counter mode (NIST SP 800-38A, 6.5): each message on channel "in" comes back on "out", exclusive-or'ed with the
// key stream. What enciphers also deciphers. A message may have any length.
//
// Ports that are registers: `key` and `counter`, the block that is enciphered for a message's first 16 bytes. Byte i of either is in bits
// 8i+7 to 8i. Set them while no message is under way. The block for the bytes after these is the one before plus 1, as a big-endian number.
// A message with an offset (a multiple of 16) continues there: a part of a long text needs nothing of the parts before it.
//
// One round a clock, and the round's key with it: 16 bytes in 12 clocks. This is an example: nothing hides the key from a power trace.
module aes (
    input logic clk,
    input logic rst_n,

    input logic [127:0] key,
    input logic [127:0] counter,

    input  logic [127:0] in_tdata,
    input  logic [ 15:0] in_tkeep,
    input  logic         in_tlast,
    input  logic         in_tvalid,
    output logic         in_tready,
    input  logic [ 63:0] in_length,
    input  logic [ 63:0] in_offset,
    input  logic [ 31:0] in_user,
    input  logic         in_reset,

    output logic [127:0] out_tdata,
    output logic [ 15:0] out_tkeep,
    output logic         out_tlast,
    output logic         out_tvalid,
    input  logic         out_tready,
    input  logic         out_reset
);
  typedef logic [15:0][7:0] block_t;  // byte r + 4c is in row r and column c of the standard's state
  typedef logic [255:0][7:0] table_t;

  wire unused = ^{in_length, in_offset[3:0], in_user};

  // ---- bytes as polynomials over GF(2), modulo x^8 + x^4 + x^3 + x + 1 (FIPS 197, 4.2)
  function automatic logic [7:0] xtime(input logic [7:0] b);
    return {b[6:0], 1'b0} ^ (b[7] ? 8'h1b : 8'h00);
  endfunction

  function automatic logic [7:0] times(input logic [7:0] a, input logic [7:0] b);
    logic [7:0] power;
    power = a;
    times = 8'h00;
    for (int i = 0; i < 8; i++) begin
      if (b[i]) times = times ^ power;
      power = xtime(power);
    end
  endfunction

  // The S-box (5.1.1): the inverse, which is the 254th power, and an affine transformation of its bits.
  function automatic table_t substitutions();
    logic [7:0] square, inverse;
    for (int b = 0; b < 256; b++) begin
      square  = 8'(b);
      inverse = 8'h01;
      for (int i = 1; i < 8; i++) begin
        square  = times(square, square);
        inverse = times(inverse, square);
      end
      for (int i = 0; i < 8; i++)
      substitutions[b][i] = inverse[i] ^ inverse[(i+4)%8] ^ inverse[(i+5)%8] ^ inverse[(i+6)%8] ^ inverse[(i+7)%8];
      substitutions[b] = substitutions[b] ^ 8'h63;
    end
  endfunction
  localparam table_t SBOX = substitutions();

  // ---- one round: SubBytes and ShiftRows, MixColumns, the next round's key
  function automatic block_t substituted(input block_t s);
    for (int c = 0; c < 4; c++) for (int r = 0; r < 4; r++) substituted[r+4*c] = SBOX[s[r+4*((c+r)%4)]];
  endfunction

  function automatic block_t mixed(input block_t s);
    for (int c = 0; c < 4; c++) begin
      for (int r = 0; r < 4; r++) begin
        mixed[r+4*c] = xtime(s[r+4*c] ^ s[(r+1)%4+4*c]) ^ s[(r+1)%4+4*c] ^ s[(r+2)%4+4*c] ^ s[(r+3)%4+4*c];
      end
    end
  endfunction

  function automatic block_t next_key(input block_t k, input logic [7:0] constant);
    for (int i = 0; i < 4; i++) next_key[i] = k[i] ^ SBOX[k[12+(i+1)%4]];
    next_key[0] = next_key[0] ^ constant;
    for (int i = 4; i < 16; i++) next_key[i] = k[i] ^ next_key[i-4];
  endfunction

  // A block is a big-endian number to the counter.
  function automatic logic [127:0] reversed(input logic [127:0] b);
    for (int i = 0; i < 16; i++) reversed[8*i+:8] = b[8*(15-i)+:8];
  endfunction

  logic begun;  // `number` belongs to the message that is there
  logic ready;  // `state` is the key stream for the next beat
  logic [3:0] round;
  logic [7:0] constant;
  logic [127:0] number;
  block_t state, round_key, shifted, following;
  assign shifted   = substituted(state);
  assign following = next_key(round_key, constant);

  assign in_tready = begun && ready && (!out_tvalid || out_tready);
  wire fire = in_tvalid && in_tready;

  always_ff @(posedge clk) begin
    if (!begun) begin
      number <= reversed(counter) + 128'(in_offset[63:4]);
      begun  <= in_tvalid;
      ready  <= 1'b0;
      round  <= '0;
    end else if (fire) begin
      number <= number + 1;
      begun  <= !in_tlast;
      ready  <= 1'b0;
      round  <= '0;
    end else if (!ready) begin
      if (round == 0) begin
        state <= reversed(number) ^ key;
        round_key <= key;
        constant <= 8'h01;
      end else begin
        state <= (round == 10 ? shifted : mixed(shifted)) ^ following;
        round_key <= following;
        constant <= xtime(constant);
      end
      round <= round + 1;
      ready <= round == 10;
    end
    if (!rst_n || in_reset) begun <= 1'b0;
  end

  always_ff @(posedge clk) begin
    if (fire) begin
      out_tdata <= in_tdata ^ state;
      out_tkeep <= in_tkeep;
      out_tlast <= in_tlast;
    end
    if (fire) out_tvalid <= 1'b1;
    else if (out_tready) out_tvalid <= 1'b0;
    if (!rst_n || in_reset || out_reset) out_tvalid <= 1'b0;
  end
endmodule
