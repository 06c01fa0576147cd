// SPDX-License-Identifier: Apache-2.0
// A beat that the host writes, turned so that each of its dwords stands in the lane that its address names: for memories in banks as wide as
// a dword. What is not turned in the cycle in which it comes, but a cycle later, is `at`, where the beat's first dword goes.
module tp_turn #(
    parameter int DATA_WIDTH = 128,
    localparam int LANES = DATA_WIDTH / 32
) (
    input  logic                         clk,
    input  logic [         11:2]         offset,   // of the first dword, which stands in lane 0
    input  logic [DATA_WIDTH-1:0]        data,
    input  logic [DATA_WIDTH/8-1:0]      strb,
    output logic [         11:2]         at,
    output logic [    LANES-1:0][  31:0] out_data,
    output logic [    LANES-1:0][   3:0] out_strb
);
  typedef struct packed {
    logic [3:0]  strb;
    logic [31:0] data;
  } lane_t;
  lane_t [LANES-1:0] beat, turned;
  always_ff @(posedge clk) begin
    at <= offset;
    for (int i = 0; i < LANES; i++) beat[i] <= '{strb: strb[4*i+:4], data: data[32*i+:32]};
  end
  tp_rotate #(
      .LANES(LANES),
      .WIDTH($bits(lane_t))
  ) i_turn (
      .clk,
      .by(offset[2+:$clog2(LANES)]),
      .in(beat),
      .out(turned)
  );
  always_comb
    for (int i = 0; i < LANES; i++) begin
      out_data[i] = turned[i].data;
      out_strb[i] = turned[i].strb;
    end
endmodule
