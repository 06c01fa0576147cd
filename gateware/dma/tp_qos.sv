// SPDX-License-Identifier: Apache-2.0
// What the host sets for each channel's part of the link: the registers weight, traffic_class and rate of its privileged page, and what follows from them.
//
// They stay over resets of channel and card, and are as after configuration after a reset of the function (`clear`). A read answers in `read_data`
// from the cycle after `read_valid` on, and with 0 for what is none of these, beside tp_ring's answer.
// What a channel takes is told in the cycle of its grant, and charged in the next.
// The registers are narrower than their words.
// verilator lint_off UNUSEDSIGNAL
module tp_qos
  import towpath_pkg::*;
#(
    parameter int H2C = 1,
    parameter int C2H = 1,
    parameter int READ_BYTES = 1024,        // no read is longer
    parameter int SHARE = 13,
    localparam int CHANNELS = H2C + C2H,
    localparam int CW = CHANNELS > 1 ? $clog2(CHANNELS) : 1,
    localparam int NH = H2C == 0 ? 1 : H2C,
    localparam int NC = C2H == 0 ? 1 : C2H
) (
    input logic clk,
    input logic rst,
    input logic clear,
    input logic [2:0] max_read,             // 128 << n bytes
    input logic [2:0] max_payload,

    input  logic          write_valid,
    input  logic [CW-1:0] write_channel,
    input  logic [   7:3] write_offset,
    input  logic [  63:0] write_data,
    input  logic [   7:0] write_strb,
    input  logic          read_valid,
    input  logic [CW-1:0] read_channel,
    input  logic [   7:3] read_offset,
    output logic [  63:0] read_data,

    input  logic [NH-1:0] reads,            // a read goes out for one of the H2C channels, ...
    input  logic [  12:0] read_bytes,       // ... of so many bytes
    output logic [  12:0] read_charge,
    input  logic [NC-1:0] writes,
    input  logic [  12:0] write_bytes,
    output logic [  12:0] write_charge,

    output logic [CHANNELS-1:0]      over,       // beyond its rate
    output logic [CHANNELS-1:0][2:0] tc,
    output logic h2c_even,                       // all of them have one weight
    output logic c2h_even,
    output logic [NH-1:0][SHARE-1:0] h2c_share,  // in units of 128 bytes: its weight times the longest read, ...
    output logic [NC-1:0][SHARE-1:0] c2h_share   // ... or write
);
  localparam logic [7:3] FIRST = 5'(TP_CHANNEL_WEIGHT_OFFSET / 8);
  localparam logic [7:3] SECOND = 5'(TP_CHANNEL_RATE_OFFSET / 8);
  localparam logic [2:0] MOST_READ = 3'($clog2(READ_BYTES / 128));
  if (TP_CHANNEL_WEIGHT_OFFSET % 8 != 0 || TP_CHANNEL_RATE_OFFSET % 8 != 0 ||
      TP_CHANNEL_TRAFFIC_CLASS_OFFSET != TP_CHANNEL_WEIGHT_OFFSET + 4)
    $error("%m: the contract's channel page has changed: adapt the words");
  if (READ_BYTES > 4096) $error("%m: READ_BYTES %0d: no read is longer than 4096", READ_BYTES);

  logic [CHANNELS-1:0][7:0] weight;
  logic [CHANNELS-1:0][31:0] rate;
  logic [CHANNELS-1:0][7:0] counts;  // the weight that counts: none is 1
  logic [2:0] read_size, write_size;
  logic [NH-1:0] h2c_same, reads_q;
  logic [NC-1:0] c2h_same, writes_q;
  assign h2c_even = &h2c_same;
  assign c2h_even = &c2h_same;
  always_ff @(posedge clk) begin
    read_size <= max_read < MOST_READ ? max_read : MOST_READ;
    write_size <= max_payload;
    reads_q <= reads;
    read_charge <= read_bytes;
    writes_q <= writes;
    write_charge <= write_bytes;
    if (read_valid) begin
      read_data <= '0;
      if (read_offset == FIRST) read_data <= {29'b0, tc[read_channel], 24'b0, weight[read_channel]};
      if (read_offset == SECOND) read_data <= 64'(rate[read_channel]);
    end
  end

  for (genvar c = 0; c < CHANNELS; c++) begin : g_channel
    localparam bit DOWN = c < H2C;
    localparam int FELLOW = DOWN ? 0 : H2C;  // the direction's first
    logic mine, same;
    logic [SHARE-1:0] share;
    assign mine = write_valid && write_channel == CW'(c);
    assign counts[c] = weight[c] == '0 ? 8'd1 : weight[c];
    always_ff @(posedge clk) begin
      if (mine && write_offset == FIRST && (&write_strb[3:0])) weight[c] <= write_data[7:0];
      if (mine && write_offset == FIRST && (&write_strb[7:4])) tc[c] <= write_data[34:32];
      if (mine && write_offset == SECOND && (&write_strb[3:0])) rate[c] <= write_data[31:0];
      if (rst || clear) begin
        weight[c] <= 8'd1;
        tc[c] <= '0;
        rate[c] <= '0;
      end
      same <= counts[c] == counts[FELLOW];
      share <= SHARE'(counts[c]) << (DOWN ? read_size : write_size);
    end
    tp_rate i_rate (
        .clk,
        .rst,
        .rate(rate[c]),
        .spend(DOWN ? reads_q[DOWN?c : 0] : writes_q[DOWN?0 : c-H2C]),
        .bytes(DOWN ? read_charge : write_charge),
        .over(over[c])
    );
    if (DOWN) begin : g_h2c
      assign h2c_same[c] = same;
      assign h2c_share[c] = share;
    end else begin : g_c2h
      assign c2h_same[c-H2C] = same;
      assign c2h_share[c-H2C] = share;
    end
  end
  if (H2C == 0) begin : g_no_h2c
    assign {h2c_same, h2c_share} = '1;
  end
  if (C2H == 0) begin : g_no_c2h
    assign {c2h_same, c2h_share} = '1;
  end
endmodule
