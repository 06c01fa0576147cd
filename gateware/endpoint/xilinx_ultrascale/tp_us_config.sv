// SPDX-License-Identifier: Apache-2.0
// What the block's configuration and status pins say, as the core is to see it; function 0's.
//
// The block has no pins for relaxed ordering, extended tags and the completion timeout: they are read from Device Control and Device Control 2
// in turn, without end, over the configuration management port, which is therefore nobody else's. All else follows its pin in one clock.
//
// `damaged`: a packet turned out damaged when a part of it had gone on. Bus mastering is then withheld until the function or the link is
// reset, or the host has switched it off.
// Function-level reset: shown until the core acknowledges it; `cfg_flr_done` then pulses, and the block ends it.
// `link_up` 0 also while the block's side is in reset, and in a hot reset.
module tp_us_config
  import tp_tlp_pkg::*;
#(
    parameter bit PLUS = 1,                // UltraScale+
    localparam int AW = PLUS ? 10 : 19
) (
    input logic clk,
    input logic rst,
    input logic damaged,
    input logic [7:0] room,
    input logic function_reset_done,
    output tp_config_t cfg,

    input  logic       user_reset,
    input  logic       user_lnk_up,
    input  logic       cfg_phy_link_down,
    input  logic       cfg_hot_reset_out,
    input  logic [7:0] cfg_bus_number,
    input  logic [2:0] cfg_max_payload,
    input  logic [2:0] cfg_max_read_req,
    // verilator lint_off UNUSEDSIGNAL
    input  logic [3:0] cfg_function_status,      // I/O, memory, bus mastering, INTx
    input  logic [2:0] cfg_function_power_state,
    // verilator lint_on UNUSEDSIGNAL
    input  logic       cfg_rcb_status,
    input  logic       cfg_interrupt_msix_enable,
    input  logic       cfg_interrupt_msix_mask,
    input  logic       cfg_flr_in_process,
    output logic       cfg_flr_done,

    output logic [AW-1:0] cfg_mgmt_addr,
    output logic          cfg_mgmt_read,
    // verilator lint_off UNUSEDSIGNAL
    input  logic [  31:0] cfg_mgmt_read_data,
    // verilator lint_on UNUSEDSIGNAL
    input  logic          cfg_mgmt_read_write_done
);
  // The PCI Express capability stands where the block's wizard puts it: 0x70 in UltraScale+, 0xc0 in UltraScale; addresses count dwords.
  localparam int CAPABILITY = (PLUS ? 'h70 : 'hc0) / 4;
  localparam int DEVICE_CONTROL = CAPABILITY + 'h08 / 4;
  localparam int DEVICE_CONTROL_2 = CAPABILITY + 'h28 / 4;

  logic second, relaxed, tags_8bit, acknowledged, withheld;
  logic [3:0] completion_timeout;
  assign cfg_mgmt_addr = second ? AW'(DEVICE_CONTROL_2) : AW'(DEVICE_CONTROL);
  always_ff @(posedge clk) begin
    cfg_mgmt_read <= !cfg_mgmt_read_write_done;
    if (cfg_mgmt_read && cfg_mgmt_read_write_done) begin
      second <= !second;
      if (second) completion_timeout <= cfg_mgmt_read_data[4] ? 4'hf : cfg_mgmt_read_data[3:0];  // bit 4: never
      else begin
        relaxed <= cfg_mgmt_read_data[4];
        tags_8bit <= cfg_mgmt_read_data[8];
      end
    end
    if (rst || user_reset) begin
      cfg_mgmt_read <= 1'b0;
      second <= 1'b0;
    end
    if (rst) begin
      relaxed <= 1'b0;
      tags_8bit <= 1'b0;
      completion_timeout <= '0;
    end
  end

  always_ff @(posedge clk) begin
    acknowledged <= cfg_flr_in_process && (acknowledged || function_reset_done) && !rst;
    cfg_flr_done <= function_reset_done && !rst;
    withheld <= (damaged || (withheld && cfg_function_status[2])) && cfg.link_up && !cfg.function_reset && !rst;

    cfg <= '{
        requester: {cfg_bus_number, 8'h00},
        max_payload: cfg_max_payload,
        max_read: cfg_max_read_req,
        rcb_128: cfg_rcb_status,
        bus_master: cfg_function_status[2] && !withheld && !damaged,
        relaxed: relaxed,
        tags_8bit: tags_8bit,
        tags_10bit: 1'b0,                  // no card has so many
        completion_timeout: completion_timeout,
        msix_enable: cfg_interrupt_msix_enable,
        msix_mask: cfg_interrupt_msix_mask,
        link_up: user_lnk_up && !user_reset && !cfg_phy_link_down && !cfg_hot_reset_out && !rst,
        active: cfg_function_power_state[2:1] == '0,  // neither D1 nor D3hot
        function_reset: cfg_flr_in_process && !acknowledged && !function_reset_done,
        transmit_room: room
    };
  end
endmodule
