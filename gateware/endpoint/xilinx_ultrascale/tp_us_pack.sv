// SPDX-License-Identifier: Apache-2.0
// Puts a packet's descriptor before its payload: a stream with the header beside the data becomes the block's.
//
// The descriptor of HEAD dwords comes first, the payload follows at once. So a payload beat is turned by the part of a beat that the descriptor
// fills, and what does not fit goes into the next beat. `in_dwords` is the payload's length, 0 for a packet without.
//
// Promises: outputs are registers; a packet's beats are adjacent if those of the input are; what is shown stays until `out_ready`; one
// beat a clock. `busy` tells that a packet is under way: only then the input must stay the same packet's.
// While `skip`, whole packets are taken and dropped. `cut` drops what is under way, too, and takes `out_valid` back: the block is in reset.
module tp_us_pack #(
    parameter int DATA_WIDTH = 128,
    parameter int HEAD = 4,                // dwords of the descriptor, 3 or 4
    parameter int SIDE = 8,                // bits that go with the packet
    localparam int LANES = DATA_WIDTH / 32,
    localparam int LW = $clog2(LANES)
) (
    input  logic                   clk,
    input  logic                   rst,
    input  logic                   skip,
    input  logic                   cut,
    output logic                   busy,
    output logic                   start,        // the packet of the input begins in this clock, or is dropped
    input  logic                   in_valid,
    output logic                   in_ready,
    input  logic [HEAD-1:0][31:0]  in_head,
    input  logic [SIDE-1:0]        in_side,
    input  logic [10:0]            in_dwords,
    input  logic [LANES-1:0][31:0] in_data,
    input  logic                   in_last,
    output logic                   out_valid,
    input  logic                   out_ready,
    output logic [LANES-1:0][31:0] out_data,
    output logic [SIDE-1:0]        out_side,
    output logic                   out_first,
    output logic                   out_last,
    output logic [LW-1:0]          out_end       // with out_last: the last lane that counts
);
  localparam int WHOLE = HEAD / LANES;  // beats that hold nothing but the descriptor
  localparam int SHIFT = HEAD % LANES;  // lanes of the next beat that hold the rest of it

  logic under_way, advance, lead, body, empty, fits, drop, begun, dropping, final_beat;
  logic spill;                              // the rest of the last payload beat makes a beat of its own
  logic [1:0] led;                          // descriptor beats that have gone
  logic [LW-1:0] tail;                      // the last lane that counts in the last beat
  logic [LANES-1:0][31:0] beat;

  assign advance = !out_valid || out_ready;
  assign lead = 32'(led) != WHOLE;
  assign body = !lead && !spill;
  assign empty = in_dwords == '0;
  assign tail = LW'(HEAD - 1) + in_dwords[LW-1:0];
  assign final_beat = spill || (body ? in_last && fits : SHIFT == 0 && empty && 32'(led) == WHOLE - 1);
  assign busy = under_way || begun;
  assign drop = cut || dropping || (skip && !under_way);
  assign start = in_valid && !busy && (drop || advance);
  assign in_ready = drop || (advance && (body || (lead && final_beat)));

  if (SHIFT == 0) begin : g_aligned
    assign spill = 1'b0;
    assign fits = 1'b1;
    assign beat = lead ? in_head[LANES*led[0]+:LANES] : in_data;
  end else begin : g_turned
    logic first_body;                       // the rest of the descriptor is still to come
    logic [SHIFT-1:0][31:0] rest;
    assign fits = empty || 32'(tail) >= SHIFT;
    always_ff @(posedge clk) begin
      if (advance && in_valid && body) begin
        rest <= in_data[LANES-1-:SHIFT];
        first_body <= 1'b0;
        spill <= in_last && !fits;
      end
      if (advance && final_beat && (in_valid || spill)) first_body <= 1'b1;
      if (advance && spill) spill <= 1'b0;
      if (rst || drop) begin
        first_body <= 1'b1;
        spill <= 1'b0;
      end
    end
    if (WHOLE == 0) begin : g_part
      assign beat = {in_data[LANES-SHIFT-1:0], first_body ? in_head : rest};
    end else begin : g_whole
      assign beat = lead ? in_head[LANES-1:0] : {in_data[LANES-SHIFT-1:0], first_body ? in_head[HEAD-1-:SHIFT] : rest};
    end
  end

  always_ff @(posedge clk) begin
    if (advance) begin
      out_valid <= (in_valid || spill) && !drop;
      out_data <= beat;
      out_last <= final_beat;
      out_first <= !under_way;
      if (!spill) begin
        out_side <= in_side;
        out_end <= tail;
      end
      if ((in_valid || spill) && !drop) begin
        under_way <= !final_beat;
        led <= final_beat ? '0 : lead ? led + 1'b1 : led;
      end
    end
    if (in_valid && in_ready) begun <= !in_last;
    dropping <= drop && (in_valid ? !in_last : begun);
    if (rst || cut) begin
      out_valid <= 1'b0;
      under_way <= 1'b0;
      led <= '0;
    end
    if (rst) begin
      begun <= 1'b0;
      dropping <= 1'b0;
    end
  end

`ifndef SYNTHESIS
  // The block nullifies a packet whose beats are not adjacent, and one that changes while it waits.
  logic open, waits;
  logic [LANES-1:0][31:0] was;
  always_ff @(posedge clk) begin
    if (out_valid && out_ready) open <= !out_last;
    waits <= out_valid && !out_ready && !cut && !rst;
    was <= out_data;
    if (rst || cut) open <= 1'b0;
    else begin
      assert (!open || out_valid)
      else $error("%m: a gap within a packet");
      assert (!waits || (out_valid && out_data == was))
      else $error("%m: a beat changed while it waited");
    end
  end
`endif
endmodule
