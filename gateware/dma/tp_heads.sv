// SPDX-License-Identifier: Apache-2.0
// The heads of all C2H channels' messages (length, offset, user word), in one LUT memory: written with a message's first beat, one channel a
// clock, read by tp_ring, for one channel at a time.
//
// Promises: a head is seen from the clock after it was put, until another is put in its place.
// Not for: a single channel, whose two heads are cheaper in registers (tp_c2h).
module tp_heads #(
    parameter int CHANNELS = 2,
    parameter int PLACES = 2,               // for each channel, a power of two
    localparam int CW = CHANNELS > 1 ? $clog2(CHANNELS) : 1,
    localparam int HW = $clog2(PLACES)
) (
    input logic clk,

    input logic                        put,
    input logic [CW-1:0]               put_channel,
    input logic [CHANNELS-1:0][HW-1:0] put_at,
    input logic [CHANNELS-1:0][47:0]   length,
    input logic [CHANNELS-1:0][31:0]   offset,
    input logic [CHANNELS-1:0][31:0]   user,

    input  logic [CW-1:0]               channel,
    input  logic [CHANNELS-1:0][HW-1:0] at,
    output logic [47:0]                 head_length,
    output logic [31:0]                 head_offset,
    output logic [31:0]                 head_user
);
  logic [111:0] heads[2**(CW+HW)];
  always_ff @(posedge clk)
    if (put)
      heads[{put_channel, put_at[put_channel]}] <= {length[put_channel], offset[put_channel], user[put_channel]};
  assign {head_length, head_offset, head_user} = heads[{channel, at[channel]}];
endmodule
