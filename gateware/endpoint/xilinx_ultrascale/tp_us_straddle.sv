// SPDX-License-Identifier: Apache-2.0
// Puts packets with payload (writes) and without (reads) into the block's beats, of which two packets may share one (straddling). For one a beat:
// tp_us_pack.
//
// A packet starts in the first lane, or in the middle one when the packet before it ends below that. So a write's beats are turned by its
// descriptor, or by that and half a beat. In a beat that holds the end of one packet, or a read, the upper half is for whoever is next and
// there: a write that begins cannot share the beat with one whose last payload comes in the same clock. Nobody waits for company.
//
// A read goes before a write that waits, but not behind another read.
//
// Promises: outputs are registers; a packet's beats are adjacent if those of the input are; what is shown stays until `out_ready`; one beat a
// clock. While `skip`, whole packets are taken and dropped. `cut` drops what is under way, too, and takes `out_valid` back.
module tp_us_straddle #(
    parameter int DATA_WIDTH = 512,
    parameter int HEAD = 4,                // dwords of the descriptor, less than half a beat
    parameter int SIDE = 8,                // bits that go with the packet
    localparam int LANES = DATA_WIDTH / 32,
    localparam int HALF = LANES / 2,
    localparam int LW = $clog2(LANES)
) (
    input  logic                   clk,
    input  logic                   rst,
    input  logic                   skip,
    input  logic                   cut,
    output logic                   start,         // a write begins in this clock
    input  logic                   write_valid,
    input  logic                   write_wait,    // no write may begin
    output logic                   write_ready,
    input  logic [HEAD-1:0][31:0]  write_head,
    input  logic [SIDE-1:0]        write_side,
    // verilator lint_off UNUSEDSIGNAL
    input  logic [10:0]            write_dwords,  // 1 or more; only where the last one stands counts
    // verilator lint_on UNUSEDSIGNAL
    input  logic [LANES-1:0][31:0] write_data,
    input  logic                   write_last,
    input  logic                   read_valid,
    output logic                   read_ready,
    input  logic [HEAD-1:0][31:0]  read_head,
    input  logic [SIDE-1:0]        read_side,
    output logic                   out_valid,
    input  logic                   out_ready,
    output logic [LANES-1:0][31:0] out_data,
    output logic [1:0]             out_start,     // a packet starts, the n-th of this beat
    output logic                   out_high,      // ... the first of them in the middle lane; the second always does
    output logic [1:0][SIDE-1:0]   out_side,      // ... and what goes with them; a read's only if one starts
    output logic [1:0]             out_end,       // a packet ends, the n-th of this beat
    output logic [1:0][LW-1:0]     out_end_lane
);
  localparam int KEPT = HALF + HEAD;  // lanes of a write's beat that may have to wait for the next one

  logic under_way, high, spill;  // of the write that has begun: it did so in the middle; its rest needs a beat, but no input
  logic [LW-1:0] spill_end;
  logic [KEPT-1:0][31:0] rest;
  logic begun, dropping, read_was;  // input of a write has been taken, but not its last; the latest packet was a read

  // ---- whose beat it is, half by half
  logic advance, drop, write, read, goes_on, shared, low_read, low_write, high_read, high_write, body, body_high;
  logic [LW:0]
      last_low, last_lane;  // where the payload that comes ends, counted from this beat's first lane: if the write began there; as it did
  logic ends_low;  // a write that began there ends in the lower half
  assign advance = !out_valid || out_ready;
  assign drop = cut || dropping || (skip && !under_way);
  assign write = write_valid && !write_wait && !skip && !cut && !dropping;  // ... may begin
  assign read = read_valid && !skip && !cut;
  assign goes_on = under_way && !spill;
  assign low_read = !under_way && read && !(write && read_was);
  assign low_write = !under_way && write && !low_read;
  assign shared = spill && !spill_end[LW-1];
  assign ends_low = write_last && last_low[LW:LW-1] == '0 && ((goes_on && !high) || low_write);
  assign high_read = read && ((shared && !(write && read_was)) || ends_low);
  assign high_write = write && ((shared && !high_read) || low_read);
  assign body_high = high_write || (goes_on && high);
  assign body = goes_on || low_write || high_write;
  assign last_low = (LW + 1)'(HEAD) + {1'b0, LW'(write_dwords[LW-1:0] - 1'b1)};
  assign last_lane = body_high ? last_low + (LW + 1)'(HALF) : last_low;
  assign start = advance && (low_write || high_write);
  assign write_ready = drop || (advance && body);
  assign read_ready = skip || cut || (advance && (low_read || high_read));

  always_ff @(posedge clk) begin
    if (advance) begin
      out_valid <= low_read || spill || (body && write_valid);
      if (body && write_valid) begin
        under_way <= !write_last || last_lane[LW];
        high <= body_high;
        spill <= write_last && last_lane[LW];
        spill_end <= last_lane[LW-1:0];
        rest <= write_data[LANES-1-:KEPT];
      end else if (spill) begin
        under_way <= 1'b0;
        spill <= 1'b0;
      end
      if (high_read || high_write) read_was <= high_read;
      else if (low_read || low_write) read_was <= low_read;
    end
    if (write_valid && write_ready) begun <= !write_last;
    dropping <= drop && (write_valid ? !write_last : begun);
    if (rst || cut) begin
      out_valid <= 1'b0;
      under_way <= 1'b0;
      spill <= 1'b0;
    end
    if (rst) begin
      begun <= 1'b0;
      dropping <= 1'b0;
      read_was <= 1'b0;
    end
  end

  // ---- the beat
  logic turned, end_low, end_high;
  logic [LW-1:0] low_lane, high_lane;
  logic [LANES-1:0][31:0] beat;
  assign turned = under_way && high;
  always_comb begin
    for (int i = 0; i < LANES; i++) begin
      if (i < HEAD) beat[i] = turned ? rest[i] : under_way ? rest[HALF+i] : low_read ? read_head[i] : write_head[i];
      else if (i < HALF) beat[i] = turned ? rest[i] : write_data[i-HEAD];
      else if (i < KEPT) beat[i] = high_write ? write_head[i-HALF] : high_read ? read_head[i-HALF] : turned ? rest[i] : write_data[i-HEAD];
      else beat[i] = body_high ? write_data[i-KEPT] : write_data[i-HEAD];
    end
  end
  assign end_low = low_read || shared || ends_low;
  assign end_high = high_read || (spill && !shared) || (body && write_last && last_lane[LW:LW-1] == 2'b01);
  assign low_lane = low_read ? LW'(HEAD - 1) : spill ? spill_end : last_low[LW-1:0];
  assign high_lane = high_read ? LW'(KEPT - 1) : spill && !shared ? spill_end : last_lane[LW-1:0];
  always_ff @(posedge clk)
    if (advance) begin
      out_data <= beat;
      out_start <= {(low_read || low_write) && (high_read || high_write), low_read || low_write || high_read || high_write};
      out_high <= !(low_read || low_write);
      out_side <= {high_read ? read_side : write_side, low_read || (high_read && !low_write) ? read_side : write_side};
      out_end <= {end_low && end_high, end_low || end_high};
      out_end_lane <= {high_lane, end_low ? low_lane : high_lane};
    end

`ifndef SYNTHESIS
  // The block nullifies a packet whose beats are not adjacent, and one that changes while it waits.
  logic waits;
  logic [LANES-1:0][31:0] was;
  always_ff @(posedge clk) begin
    waits <= out_valid && !out_ready && !cut && !rst;
    was <= out_data;
    if (!rst && !cut) begin
      assert (!goes_on || write_valid)
      else $error("%m: a gap within a packet");
      assert (!waits || (out_valid && out_data == was))
      else $error("%m: a beat changed while it waited");
    end
  end
`endif
endmodule
