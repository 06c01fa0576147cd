// SPDX-License-Identifier: Apache-2.0
// The H2C half of kind `fanout`: one channel to PORTS streams of the core, each behind a FIFO. A message's user word is the number of its port.
//
// Verdicts: 0 the message is in its port's FIFO; 1 there is no such port: the message is dropped. A message that a fault has cut has none; its
// port gets what there is, with `core_in_error` beside `core_in_tlast`.
//
// Messages are taken in their order. So the channel stops when the message at its head has no room: when a port has DEPTH + 2 beats that the
// core has not taken, and the next beat is for it. Then all ports wait for that one; what stands in their FIFOs they go on to have. Nothing else
// stops it.
// A reset empties all FIFOs. `core_in_reset` tells the core, in the clocks of the reset.
//
// Promises: each port has its messages whole, once and in order, and nothing else.
// Rate: one beat a clock; a beat is at the core's port three clocks after it was taken.
module tp_fanout_split #(
    parameter int DATA_WIDTH = 128,
    parameter int PORTS = 4,
    parameter int DEPTH = 512,  // beats of each port's FIFO, a power of two
    localparam int KEEP = DATA_WIDTH / 8
) (
    input logic clk,
    input logic rst_n,

    input  logic                  s_tvalid,
    output logic                  s_tready,
    input  logic [DATA_WIDTH-1:0] s_tdata,
    input  logic [      KEEP-1:0] s_tkeep,
    input  logic                  s_tlast,
    input  logic                  s_error,
    input  logic [          63:0] s_length,
    input  logic [          63:0] s_offset,
    input  logic [          31:0] s_user,
    input  logic                  s_reset,
    output logic                  end_valid,
    input  logic                  end_ready,
    output logic [           5:0] end_status,

    output logic [PORTS-1:0][DATA_WIDTH-1:0] core_in_tdata,
    output logic [PORTS-1:0][      KEEP-1:0] core_in_tkeep,
    output logic [PORTS-1:0]                 core_in_tlast,
    output logic [PORTS-1:0]                 core_in_error,
    output logic [PORTS-1:0]                 core_in_tvalid,
    input  logic [PORTS-1:0]                 core_in_tready,
    output logic                             core_in_reset
);
  localparam logic [5:0] NO_PORT = 6'd1;
  localparam int CW = $clog2(KEEP) + 1;

  if (PORTS < 1 || PORTS > 64) $error("%m: PORTS %0d: make it 1 to 64", PORTS);

  wire unused = ^{s_length, s_offset};
  assign core_in_reset = s_reset;

  logic [PORTS-1:0] chosen, room;  // the message's port, none if there is no such; ports whose FIFO takes a beat
  logic known, taken, may_end;
  assign known = s_user < 32'(PORTS);
  assign may_end = !s_tlast || !end_valid || end_ready;
  assign s_tready = (!known || (chosen & room) != '0) && may_end && !s_reset;
  assign taken = s_tvalid && s_tready;

  // A FIFO has the number of a beat's bytes in place of its lanes: that spares it a block RAM.
  logic [CW-1:0] count;
  always_comb begin
    count = '0;
    for (int n = 1; n <= KEEP; n++) if (s_tkeep[n-1] && (n == KEEP || !s_tkeep[n%KEEP])) count |= CW'(n);
  end

  for (genvar p = 0; p < PORTS; p++) begin : g_port
    logic valid;
    logic [CW-1:0] bytes;
    assign chosen[p] = s_user == 32'(p);
    tp_deep_fifo #(
        .WIDTH(DATA_WIDTH + CW + 2),
        .DEPTH(DEPTH)
    ) i_fifo (
        .clk,
        .rst(!rst_n || s_reset),
        .in_valid(taken && chosen[p]),
        .in_ready(room[p]),
        .in_data({s_tdata, count, s_tlast, s_error}),
        .out_valid(valid),
        .out_ready(core_in_tready[p]),
        .out_data({core_in_tdata[p], bytes, core_in_tlast[p], core_in_error[p]})
    );
    assign core_in_tvalid[p] = valid && !s_reset;
    for (genvar b = 0; b < KEEP; b++) begin : g_lane
      assign core_in_tkeep[p][b] = CW'(b) < bytes;
    end
  end

  always_ff @(posedge clk) begin
    if (taken && s_tlast && !s_error) begin
      end_valid  <= 1'b1;
      end_status <= known ? 6'd0 : NO_PORT;
    end else if (end_ready) end_valid <= 1'b0;
    if (!rst_n || s_reset) end_valid <= 1'b0;
  end
endmodule
