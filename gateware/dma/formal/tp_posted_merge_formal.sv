// SPDX-License-Identifier: Apache-2.0
// tp_posted_merge: packets stay whole and unchanged; a beat once shown stays until it is taken; no packet starts while bus mastering is
// off, and then, with `discard`, packets are swallowed whole.
// Assumed of each source: a beat stands until it is taken.
module tp_posted_merge_formal
  import tp_tlp_pkg::*;
#(
    parameter int SOURCES = 3,
    parameter int DATA_WIDTH = 8,
    parameter bit INDUCTION = 1
) (
    input logic clk,
    input logic rst,
    input logic bus_master,
    input logic discard,
    input logic [SOURCES-1:0] in_valid,
    input tp_write_hdr_t [SOURCES-1:0] in_hdr,
    input logic [SOURCES-1:0][DATA_WIDTH-1:0] in_data,
    input logic [SOURCES-1:0] in_last,
    input logic out_ready
);
  logic [SOURCES-1:0] in_ready;
  logic out_valid, out_last;
  tp_write_hdr_t out_hdr;
  logic [DATA_WIDTH-1:0] out_data;
  tp_posted_merge #(
      .SOURCES(SOURCES),
      .DATA_WIDTH(DATA_WIDTH)
  ) dut (
      .clk,
      .rst,
      .bus_master,
      .discard,
      .in_valid,
      .in_ready,
      .in_hdr,
      .in_data,
      .in_last,
      .out_valid,
      .out_ready,
      .out_hdr,
      .out_data,
      .out_last
  );

  logic started = 1'b0;
  logic [SOURCES-1:0] waits;
  tp_write_hdr_t [SOURCES-1:0] hdr_was;
  logic [SOURCES-1:0][DATA_WIDTH-1:0] data_was;
  logic [SOURCES-1:0] last_was;
  logic shown;
  tp_write_hdr_t out_hdr_was;
  logic [DATA_WIDTH-1:0] out_data_was;
  logic out_last_was;
  always_ff @(posedge clk) begin
    started <= 1'b1;
    waits <= rst ? '0 : in_valid & ~in_ready;
    hdr_was <= in_hdr;
    data_was <= in_data;
    last_was <= in_last;
    shown <= out_valid && !out_ready && !rst;
    out_hdr_was <= out_hdr;
    out_data_was <= out_data;
    out_last_was <= out_last;
  end
  always_comb begin
    if (!started) assume (rst);
    for (int s = 0; s < SOURCES; s++)
    if (started && waits[s]) assume (in_valid[s] && in_hdr[s] == hdr_was[s] && in_data[s] == data_was[s] && in_last[s] == last_was[s]);
  end

  // A packet is open from the moment it is shown or swallowed until its last beat has gone, and has one source.
  logic open, swallowed;
  logic [SOURCES-1:0] owner, moved;
  assign moved = in_valid & in_ready;
  int packets;  // with more than one beat, that left whole
  logic longer;
  always_ff @(posedge clk) begin
    if (!open) begin
      owner <= out_valid ? dut.pick : moved;
      swallowed <= !out_valid;
      longer <= 1'b0;
    end
    if (out_valid || moved != 0) begin
      open <= !(moved != 0 && (moved & in_last) != 0);
      longer <= moved != 0;
    end
    if (open && longer && out_valid && out_ready && out_last) packets <= packets < 2 ? packets + 1 : packets;
    if (rst) begin
      open <= 1'b0;
      packets <= 0;
    end
  end

  always_comb
    if (started && !rst) begin
      assert ((moved & (moved - 1'b1)) == '0);
      assert (!shown || (out_valid && out_hdr == out_hdr_was && out_data == out_data_was && out_last == out_last_was));
      assert (open || bus_master || !out_valid);
      assert (open || (discard && !bus_master) || moved == '0 || out_valid);
      assert (!open || moved == '0 || (moved == owner && out_valid == !swallowed));
      assert (!open || !out_valid || !swallowed);
      assert (!out_valid || out_ready == (moved != '0));
      for (int s = 0; s < SOURCES; s++)
      if (moved[s] && out_valid) assert (out_hdr == in_hdr[s] && out_data == in_data[s] && out_last == in_last[s]);
      cover (packets == 2 && open && swallowed);
    end

  if (INDUCTION) begin : g_induction
    always_comb
      if (started && !rst) begin
        assert (dut.holds == open);
        assert (!open || (dut.held == owner && dut.held_drops == swallowed));
        assert (!open || (owner != '0 && (owner & (owner - 1'b1)) == '0));
        assert (!shown || (open && !swallowed && (owner & waits) != '0));
        for (int s = 0; s < SOURCES; s++)
        if (shown && owner[s]) assert (out_hdr_was == hdr_was[s] && out_data_was == data_was[s] && out_last_was == last_was[s]);
      end
  end
endmodule
