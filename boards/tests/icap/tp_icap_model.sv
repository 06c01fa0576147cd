// SPDX-License-Identifier: Apache-2.0
// A model of the configuration port inside the device, for benches, after UG470 and UG570: what it takes at 32 bit, and what it says.
//
// From each word that it samples with CSIB and RDWRB low it turns every byte's bits back. It looks for the width (0xBB in the low byte, then 0x44 for 32 bit, 0x11
// and 0x22 for others), then for the sync word 0xAA995566, and from there on takes packets: type 1 with register and count, type 2 with a longer count for the
// same register. It knows the registers CRC, FDRI, CMD and IDCODE, and the commands RCRC and DESYNC; the CRC is CRC-32C over each word written and the
// register's five bits, lowest bit first, as public tools compute it. A wrong CRC or IDCODE is an error, and the file cannot end well any more. A change of RDWRB
// while CSIB is low aborts: the port is out of step, and busy with it for four clocks.
// The guides do not specify how long the error status lasts: the bench chooses, by `keeps`.
module tp_icap_model #(
    parameter logic [31:0] IDCODE = 32'h0365_1093
) (
    input  logic        CLK,
    input  logic        CSIB,
    input  logic        RDWRB,
    input  logic [31:0] I,
    output logic        cfgerr_b,
    output logic        dalign,
    output logic        in_abort_b,
    output logic        prdone
);
  localparam logic [4:0] CRC = 0, FDRI = 2, CMD = 4, ID = 12;
  localparam logic [31:0] SYNC = 32'hAA995566, RCRC = 7, DESYNC = 13;

  // For the bench.
  logic [1:0] keeps;  // the error status lasts until: 0 the abort, 1 the next sync word, 2 the next RCRC
  logic available;  // of ICAPE3
  logic [31:0] words;  // that the device has taken
  logic [31:0] frames;  // those for frames among them
  logic whole;  // the last file has ended, without an error

  logic [31:0] word, crc;
  logic [26:0] left;
  logic [4:0] register;
  logic was_csib, was_rdwrb, writes, wide, halfway, failed;
  logic [2:0] aborting;
  always_comb for (int i = 0; i < 32; i++) word[i] = I[(i/8)*8+7-i%8];

  function automatic logic [31:0] with_word(input logic [31:0] value, input logic [31:0] data, input logic [4:0] to);
    with_word = value;
    for (int i = 0; i < 37; i++) begin
      with_word = (with_word >> 1) ^ (with_word[0] ^ (i < 32 ? data[i%32] : to[(i-32)%8]) ? 32'h82F63B78 : '0);
    end
  endfunction

  initial begin
    {was_csib, was_rdwrb, cfgerr_b, in_abort_b, prdone, whole, available} = '1;
    {writes, wide, halfway, failed, dalign} = '0;
    {keeps, words, frames, crc, left, register, aborting} = '0;
  end
  always_ff @(posedge CLK) begin
    was_csib <= CSIB;
    was_rdwrb <= RDWRB;
    in_abort_b <= aborting <= 1;
    if (aborting != 0) aborting <= aborting - 1'b1;
    if (!CSIB && !was_csib && RDWRB != was_rdwrb) begin
      aborting <= 5;
      {dalign, wide, halfway, failed, left} <= '0;
      if (keeps == 0) cfgerr_b <= 1'b1;
    end else if (!CSIB && !RDWRB && aborting == 0) begin
      words <= words + 1'b1;
      if (!dalign) begin
        halfway <= word[7:0] == 8'hBB;
        if (halfway) wide <= word[7:0] == 8'h44;
        if (wide && word == SYNC) begin
          {dalign, prdone, whole} <= 3'b100;
          {left, failed} <= '0;
          if (keeps == 1) cfgerr_b <= 1'b1;
        end
      end else if (left != 0) begin
        left <= left - 1'b1;
        if (writes) begin
          crc <= with_word(crc, word, register);
          if (register == FDRI) frames <= frames + 1'b1;
          if (register == CRC && word != crc || register == ID && word != IDCODE) begin
            {failed, cfgerr_b} <= 2'b10;
          end
          if (register == CRC) crc <= '0;
          if (register == CMD && word == RCRC) begin
            crc <= '0;
            if (keeps == 2 && !failed) cfgerr_b <= 1'b1;
          end
          if (register == CMD && word == DESYNC) begin
            {dalign, wide, halfway} <= '0;
            if (!failed) {prdone, whole} <= '1;
          end
        end
      end else begin
        if (word[31:29] == 3'b001) {writes, register, left} <= {word[28:27] == 2'b10, word[17:13], 16'b0, word[10:0]};
        if (word[31:29] == 3'b010) {writes, left} <= {word[28:27] == 2'b10, word[26:0]};
      end
    end
  end
endmodule
