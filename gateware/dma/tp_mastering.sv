// SPDX-License-Identifier: Apache-2.0
// May requests leave the card, and under the limits to which they were cut? From registers: a packet that is shown depends on no input of the
// same cycle.
//
// Lowered limits bar for two cycles, too: descriptors in hand have plans that were cut to the old ones. Later plans keep the new ones.
// The rest of the configuration is for others.
// verilator lint_off UNUSEDSIGNAL
module tp_mastering
  import tp_tlp_pkg::*;
  import towpath_pkg::*;
(
    input  logic       clk,
    input  logic       rst,
    input  tp_config_t cfg,
    output logic       mastering,
    output logic       may_begin,           // writes may; a cycle later, so that a reset takes back (`mute`) what has waited
    output logic       barred,              // no read leaves, and descriptors that ask something of the host end, ...
    output logic [7:0] barred_status        // ... with this status
);
  logic may, lower, lowered;
  logic [2:0] max_read, max_payload;
  assign may = cfg.bus_master && cfg.active && cfg.link_up && !rst;
  always_ff @(posedge clk) begin
    mastering <= may;
    may_begin <= mastering && may;
    barred_status <= cfg.link_up ? TP_STATUS_BUS_MASTERING_OFF : TP_STATUS_LINK_DOWN;
    max_read <= cfg.max_read;
    max_payload <= cfg.max_payload;
    lower <= cfg.max_read < max_read || cfg.max_payload < max_payload;
    lowered <= lower;
  end
  assign barred = !mastering || lower || lowered;
endmodule
