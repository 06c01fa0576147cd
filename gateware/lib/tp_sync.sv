// SPDX-License-Identifier: Apache-2.0
// Brings a level into another clock domain: STAGES registers in a row.
//
// Promises: `q` follows `d` after STAGES clocks, never metastable in practice. `d` must come straight from a register.
// Not for: words of several bits, unless at most one of them changes at a time (Gray code); pulses (use tp_pulse). Constraints:
// constraints/tp_lib_cdc.sdc.tcl finds the first register by its name, `tp_sync_meta`.
module tp_sync #(
    parameter int WIDTH = 1,
    parameter int STAGES = 2,
    parameter logic [WIDTH-1:0] INITIAL = '0
) (
    input  logic             clk,
    input  logic [WIDTH-1:0] d,
    output logic [WIDTH-1:0] q
);
  if (STAGES < 2) $error("%m: STAGES %0d: make it 2 or more", STAGES);

  (* async_reg = "true" *)
  logic [WIDTH-1:0] tp_sync_meta;
  (* async_reg = "true" *)
  logic [STAGES-2:0][WIDTH-1:0] tp_sync_stable;

  initial begin
    tp_sync_meta = INITIAL;
    tp_sync_stable = {(STAGES - 1) {INITIAL}};
  end

  assign q = tp_sync_stable[STAGES-2];

`ifdef TP_SYNC_LATE
  // For benches: of the last change of `d` before an edge, each bit may be seen one clock late, as by a register that is metastable.
  logic [WIDTH-1:0] now, older, seen;
  always @(d) begin
    older = now;
    now = d;
  end
  always_ff @(posedge clk) seen <= d;
`endif

  always_ff @(posedge clk) begin
`ifdef TP_SYNC_LATE
    tp_sync_meta <= seen == d ? d : d ^ ((d ^ older) & WIDTH'($urandom));
`else
    tp_sync_meta <= d;
`endif
    tp_sync_stable[0] <= tp_sync_meta;
    for (int i = 1; i < STAGES - 1; i++) tp_sync_stable[i] <= tp_sync_stable[i-1];
  end
endmodule
