// SPDX-License-Identifier: Apache-2.0
// What the block's configuration space and its transmit buffer tell, as the core wants it; and what the core tells the block of errors.
//
// How many packets wait for the link: those handed over, less those that the block has charged against the partner's credits (`fc_*` with
// `fc_sel` 110, "transmit credits consumed"). `tx_buf_av` alone would not do: it also counts packets that were sent and wait to be acknowledged.
// It is the upper bound, and when the buffer is empty the count begins anew, for the block also sends packets of its own.
//
// Promises: after a damaged packet `bus_master` is 0 until the link goes, the function is reset, or the host has switched bus mastering off. `function_reset` stands until the core is done.
module tp_x7_config
  import tp_tlp_pkg::*;
(
    input logic clk,
    input logic rst,
    input logic up,

    // The block's pins: PG054 "Configuration Interface", registers as in the PCI Express Base Specification 7.5
    input  logic [ 7:0] cfg_bus_number,
    input  logic [ 4:0] cfg_device_number,
    input  logic [ 2:0] cfg_function_number,
    // verilator lint_off UNUSEDSIGNAL
    input  logic [15:0] cfg_command,
    input  logic [15:0] cfg_dcommand,
    input  logic [15:0] cfg_dcommand2,
    input  logic [15:0] cfg_lcommand,
    // verilator lint_on UNUSEDSIGNAL
    input  logic [ 1:0] cfg_pmcsr_powerstate,
    input  logic        cfg_interrupt_msixenable,
    input  logic        cfg_interrupt_msixfm,
    input  logic        cfg_received_func_lvl_rst,
    input  logic        cfg_to_turnoff,
    output logic        cfg_turnoff_ok,
    input  logic [ 5:0] tx_buf_av,
    input  logic [ 7:0] fc_ph,
    input  logic [ 7:0] fc_nph,
    input  logic [ 7:0] fc_cplh,
    output logic [ 2:0] fc_sel,

    input  logic       sent,                // a packet has been handed over
    input  logic       damaged,
    input  logic       function_reset_done,
    output tp_config_t cfg
);
  // ------------------------------------------------------------------------------------------------ room
  localparam logic [7:0] ROOM = 8'd64;  // `transmit_room` when nothing waits; only differences count
  logic [7:0] handed, gone, waiting;
  logic [5:0] most, used;
  logic empty;
  assign fc_sel = 3'b110;
  assign waiting = handed - gone;
  always_ff @(posedge clk) begin
    gone <= fc_ph + fc_nph + fc_cplh;
    used <= most - tx_buf_av;
    empty <= tx_buf_av >= most;
    if (tx_buf_av > most) most <= tx_buf_av;
    // More gone than handed over: packets of the block's own.
    if (sent) handed <= handed + 1'b1;
    else if (empty || waiting[7]) handed <= gone;
    cfg.transmit_room <= ROOM - (empty || waiting[7] ? 8'd0 : waiting < 8'(used) ? waiting : 8'(used));
    if (rst || !up) most <= '0;
  end

  // ------------------------------------------------------------------------------------------------ registers
  logic broken;  // a damaged packet has come
  always_ff @(posedge clk) begin
    cfg.requester <= {cfg_bus_number, cfg_device_number, cfg_function_number};
    cfg.max_payload <= cfg_dcommand[7:5];
    cfg.max_read <= cfg_dcommand[14:12];
    cfg.rcb_128 <= cfg_lcommand[3];
    cfg.bus_master <= cfg_command[2] && up && !broken && !damaged;
    cfg.relaxed <= cfg_dcommand[4];
    cfg.tags_8bit <= cfg_dcommand[8];
    cfg.tags_10bit <= 1'b0;
    cfg.completion_timeout <= cfg_dcommand2[4] ? 4'hf : cfg_dcommand2[3:0];  // bit 4: never
    cfg.msix_enable <= cfg_interrupt_msixenable;
    cfg.msix_mask <= cfg_interrupt_msixfm;
    cfg.link_up <= up;
    cfg.active <= cfg_pmcsr_powerstate == '0;
    cfg.function_reset <= cfg_received_func_lvl_rst || (cfg.function_reset && !function_reset_done);
    broken <= damaged || (broken && up && cfg_command[2] && !cfg_received_func_lvl_rst);
    cfg_turnoff_ok <= cfg_to_turnoff && !rst;
    if (rst) begin
      broken <= 1'b0;
      cfg.function_reset <= 1'b0;
      cfg.link_up <= 1'b0;
      cfg.bus_master <= 1'b0;
    end
  end
endmodule
