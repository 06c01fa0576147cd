// SPDX-License-Identifier: Apache-2.0
// Plug-in `clock`: a switch between the user core's clocks, at run time. Here are its registers; tp_clock_switch stands in tp_system.
//
// A write of `select` holds the core in reset and has the switch go to that input. The core stays in reset until `release`, or the card's reset, which
// selects input 0. It is in reset also while the switch is on another input than the one it was asked for, since that does not run (`astray`). Out of
// reset it comes when it has had SETTLE clocks of the new input.
module tp_plugin_clock
  import towpath_pkg::*;
#(
    parameter  int CLOCKS = 3,
    parameter  int EDGE_KHZ = 16,                        // as tp_clock_switch has it
    localparam int TW = 1 + 1 + 2 + CLOCKS + CLOCKS * 16
) (
    input logic clk,
    input logic rst_n,

    input  logic [31:0] s_axil_awaddr,
    input  logic        s_axil_awvalid,
    output logic        s_axil_awready,
    input  logic [31:0] s_axil_wdata,
    input  logic [ 3:0] s_axil_wstrb,
    input  logic        s_axil_wvalid,
    output logic        s_axil_wready,
    output logic [ 1:0] s_axil_bresp,
    output logic        s_axil_bvalid,
    input  logic        s_axil_bready,
    input  logic [31:0] s_axil_araddr,
    input  logic        s_axil_arvalid,
    output logic        s_axil_arready,
    output logic [31:0] s_axil_rdata,
    output logic [ 1:0] s_axil_rresp,
    output logic        s_axil_rvalid,
    input  logic        s_axil_rready,

    output logic user_rst_n,

    // tp_clock_switch
    output logic          switch_ask,
    input  logic          switch_ready,
    output logic [   1:0] switch_input,
    input  logic [TW-1:0] switch_told
);
  localparam int SETTLE = 16;

  logic set;
  logic [11:2] set_at, get_at;
  logic [31:0] set_data, get_data;
  tp_plugin_registers registers (
      .get(),
      .*
  );

  logic astray, measured;
  logic [1:0] current;
  logic [CLOCKS-1:0] runs;
  logic [CLOCKS-1:0][15:0] edges;
  assign {astray, measured, current, runs, edges} = switch_told;

  logic held, keep, selected, released;
  logic [4:0] left;
  assign selected = set && set_at == 10'(TP_PLUGIN_CLOCK_SELECT_OFFSET / 4);
  assign released = set && set_at == 10'(TP_PLUGIN_CLOCK_COMMAND_OFFSET / 4) && set_data[TP_PLUGIN_CLOCK_COMMAND_RELEASE_LSB];
  assign keep = held || astray || switch_ask || !switch_ready;

  always_ff @(posedge clk) begin
    if (switch_ready) switch_ask <= 1'b0;
    if (selected) begin
      switch_input <= set_data[1:0];
      switch_ask <= 1'b1;
      held <= 1'b1;
    end
    if (released) held <= 1'b0;
    left <= keep ? 5'(SETTLE) : left - 5'(left != 0);
    user_rst_n <= !(keep || selected || left != 0);

    if (!rst_n) begin
      switch_input <= '0;
      switch_ask <= 1'b1;
      held <= 1'b0;
      left <= 5'(SETTLE);
      user_rst_n <= 1'b0;
    end
  end

  always_comb begin
    get_data = '0;
    case (get_at)
      10'(TP_PLUGIN_CLOCK_SELECT_OFFSET / 4): get_data[1:0] = switch_input;
      10'(TP_PLUGIN_CLOCK_STATUS_OFFSET / 4): begin
        get_data[TP_PLUGIN_CLOCK_STATUS_BUSY_LSB] = switch_ask || !switch_ready || left != 0 && !held && !astray;
        get_data[TP_PLUGIN_CLOCK_STATUS_HELD_LSB] = held;
        get_data[TP_PLUGIN_CLOCK_STATUS_ASTRAY_LSB] = astray;
        get_data[TP_PLUGIN_CLOCK_STATUS_MEASURED_LSB] = measured;
        get_data[TP_PLUGIN_CLOCK_STATUS_CURRENT_LSB+:2] = current;
        get_data[TP_PLUGIN_CLOCK_STATUS_RUNS_LSB+:CLOCKS] = runs;
      end
      10'(TP_PLUGIN_CLOCK_INPUTS_OFFSET / 4): get_data = 32'(CLOCKS);
      default: begin
        for (int k = 0; k < CLOCKS; k++) begin
          if (get_at == 10'(TP_PLUGIN_CLOCK_KHZ_OFFSET / 4 + k)) get_data = 32'(edges[k]) * EDGE_KHZ;
        end
      end
    endcase
  end
endmodule
