// SPDX-License-Identifier: Apache-2.0
//
// A parser of packets: each message on channel "packets" is one IPv4 packet (RFC 791) from its header's first byte; for each a record of 16
// bytes comes out on "records". Checksums are computed while the packet goes by; nothing of it is kept.
//
// A record, numbers as on the wire, the most significant byte first:
//     0 source address, 4 destination address, 8 source port, 10 destination port (0 where the packet is no UDP datagram),
//     12 total length as the header says it, 14 protocol, 15 flags:
//     bit 0  version 4, a header of 20 bytes or more, and all that the total length tells is there
//     bit 1  and the header's checksum is right
//     bit 2  and it is a whole UDP datagram (RFC 768): protocol 17, not a fragment, as long as the packet has room for
//     bit 3  and its checksum is right, or 0, which means that there is none
//     bit 4  it is a fragment
//     bit 5  there are bytes behind the total length, which count for nothing
//     bit 6  the message was cut by a fault of the link
//
// Ports that are registers: `port`, if not 0, lets only whole UDP datagrams to this port be told; `seen` and `told` count packets and records.
//
// Rate: 16 bytes a clock, and a clock more for each packet.
module packets (
    input logic clk,
    input logic rst_n,

    input  logic [15:0] port,
    output logic [31:0] seen,
    output logic [31:0] told,

    input  logic [127:0] packets_tdata,
    input  logic [ 15:0] packets_tkeep,
    input  logic         packets_tlast,
    input  logic         packets_error,
    input  logic         packets_tvalid,
    output logic         packets_tready,
    input  logic         packets_reset,

    output logic [127:0] records_tdata,
    output logic [ 15:0] records_tkeep,
    output logic         records_tvalid,
    input  logic         records_tready,
    input  logic         records_reset
);
  typedef logic [5:0][15:0] fields_t;
  typedef logic [7:0][15:0] words_t;  // word i of a beat is bytes 2i and 2i + 1 of the wire

  // ---- what the header's first 16 bytes say; in the first beat they are just there
  words_t word, header, head;
  logic [127:0] masked;
  always_comb begin
    for (int i = 0; i < 16; i++) masked[8*i+:8] = packets_tkeep[i] ? packets_tdata[8*i+:8] : 8'h00;
    for (int i = 0; i < 8; i++) word[i] = {masked[16*i+:8], masked[16*i+8+:8]};
  end
  logic begins;  // what comes is a packet's first beat
  assign head = begins ? word : header;
  wire [4:0] header_words = {head[0][11:8], 1'b0};  // in words of 16 bits, as all that follows
  wire [15:0] length = head[1];  // bytes
  wire fragment = head[3][13] || head[3][12:0] != 0;
  wire udp = head[4][7:0] == 8'd17 && !fragment;

  // ---- a beat: which words belong to what, and their sums
  logic [15:0] at, place;  // of the beat's first word; of a word
  logic [15:0] bytes, here;  // that have come, and with this beat
  logic [19:0] header_add, udp_add;
  logic [15:0] whole;  // a word without the byte behind the packet's end
  fields_t found;  // 0: source port, 1: destination port, 2: length, 3: checksum, of UDP; 4 and 5: destination address
  logic [5:0] hit;
  always_comb begin
    header_add = '0;
    udp_add = '0;
    found = '0;
    hit = '0;
    here = bytes;
    for (int i = 0; i < 16; i++) here = here + 16'(packets_tkeep[i]);
    for (int i = 0; i < 8; i++) begin
      place = at + 16'(i);
      whole = {place[14:0], 1'b0} < length ? word[i] : '0;
      if ({place[14:0], 1'b1} >= length) whole[7:0] = '0;
      if (place < 16'(header_words)) header_add = header_add + 20'(whole);
      // The pseudo header has both addresses of the header.
      if (place >= 16'(header_words) || (place >= 6 && place <= 9)) udp_add = udp_add + 20'(whole);
      for (int k = 0; k < 6; k++) begin
        if (place == (k < 4 ? 16'(header_words) + 16'(k) : 16'(4 + k))) begin
          found[k] = word[i];
          hit[k]   = 1'b1;
        end
      end
    end
  end

  // ---- a packet: its beats, then a clock for its record
  fields_t field;
  logic [31:0] header_sum, udp_sum;
  logic [16:0] count;
  logic closed, cut, over;  // all of it has come; by a fault; there was more
  wire emit = closed && (!records_tvalid || records_tready);
  assign packets_tready = !closed;
  wire fire = packets_tvalid && packets_tready;
  // Packets are at most 65535 bytes long: what comes beyond only sets a flag.
  wire beyond = here < bytes || over;

  always_ff @(posedge clk) begin
    if (fire) begin
      begins <= 1'b0;
      closed <= packets_tlast;
      cut <= packets_error && packets_tlast;
      header <= head;
      at <= packets_tlast ? '0 : over ? at : at + 8;
      bytes <= packets_tlast ? '0 : here;
      over <= beyond && !packets_tlast;
      count <= {beyond, here};
      header_sum <= (begins ? '0 : header_sum) + (over ? '0 : 32'(header_add));
      udp_sum <= (begins ? '0 : udp_sum) + (over ? '0 : 32'(udp_add));
      for (int k = 0; k < 6; k++) if (begins || (hit[k] && !over)) field[k] <= found[k];
    end
    if (emit) begins <= 1'b1;
    if (emit) closed <= 1'b0;
    if (!rst_n || packets_reset) begin
      begins <= 1'b1;
      closed <= 1'b0;
      at <= '0;
      bytes <= '0;
      over <= 1'b0;
    end
  end

  // ---- the record: a one's complement sum ends in all ones where a checksum is right. Of 32768 words, one fold brings the carries in.
  function automatic logic right(input logic [31:0] sum);
    return 32'(sum[31:16]) + 32'(sum[15:0]) == 32'hffff;
  endfunction

  logic sound, intact, datagram, matched;
  logic [7:0] flags;
  always_comb begin
    sound = header[0][15:12] == 4 && header_words >= 10 && length >= {10'b0, header_words, 1'b0} && count >= 17'(length);
    intact = sound && right(header_sum);
    datagram = intact && udp && field[2] >= 8 && field[2] == length - {10'b0, header_words, 1'b0};
    matched = port == 0 || (datagram && field[1] == port);
    flags = {1'b0, cut, sound && count > 17'(length), sound && fragment, 4'b0000};
    flags[0] = sound;
    flags[1] = intact;
    flags[2] = datagram;
    flags[3] = datagram && (field[3] == 0 || right(udp_sum + 32'd17 + 32'(field[2])));
  end

  words_t out;
  assign out = {
    header[4][7:0], flags, length, datagram ? field[1] : 16'h0000, datagram ? field[0] : 16'h0000, field[5], field[4], header[7], header[6]
  };
  always_ff @(posedge clk) begin
    if (emit) begin
      seen <= seen + 1;
      if (matched) told <= told + 1;
      for (int i = 0; i < 8; i++) records_tdata[16*i+:16] <= {out[i][7:0], out[i][15:8]};
    end
    if (emit) records_tvalid <= matched;
    else if (records_tready) records_tvalid <= 1'b0;
    if (!rst_n || records_reset) records_tvalid <= 1'b0;
    if (!rst_n) begin
      seen <= '0;
      told <= '0;
    end
  end
  assign records_tkeep = '1;
endmodule
