// SPDX-License-Identifier: Apache-2.0
// Plug-in `reset`: resets of the user core in a sequence, by software or by the core's own fault.
//
// A sequence asserts all OUTPUTS at once for `length` clocks; output k is released `delay` k clocks later. Output 0 is also the core's own
// reset (`user_rst_n`). The card's reset begins a sequence, with LENGTH, and with STEP clocks from one output's release to the next's.
// While it is held it stays at its start. A fault is a rise of `core_fault` outside a sequence: it is counted, and begins one if software
// wants that, or begins one and holds it. Outputs come from registers, so they are free of glitches.
module tp_plugin_reset
  import towpath_pkg::*;
#(
    parameter int OUTPUTS = 1,
    parameter int LENGTH  = 16,
    parameter int STEP    = 0
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

    output logic               user_rst_n,
    output logic [OUTPUTS-1:0] core_rst_n,
    input  logic               core_fault
);
  localparam int TW = 24;  // of a time

  if (OUTPUTS < 1 || OUTPUTS > TP_PLUGIN_RESET_DELAY_COUNT)
    $error("%m: OUTPUTS %0d: make it 1 to %0d", OUTPUTS, TP_PLUGIN_RESET_DELAY_COUNT);
  if (LENGTH < 1 || LENGTH >= (1 << TW)) $error("%m: LENGTH %0d: make it 1 to %0d", LENGTH, (1 << TW) - 1);
  if (STEP < 0 || STEP * (OUTPUTS - 1) >= (1 << TW)) $error("%m: STEP %0d: the last output would be released after 2^%0d clocks", STEP, TW);

  logic set;
  logic [11:2] set_at, get_at;
  logic [31:0] set_data, get_data;
  tp_plugin_registers registers (
      .get(),
      .*
  );

  // ---- registers
  logic on_fault_start, on_fault_hold;
  logic [TW-1:0] length;
  logic [OUTPUTS-1:0][TW-1:0] delay;
  logic [31:0] sequences, faults;
  logic commanded, start, hold, free;
  assign commanded = set && set_at == 10'(TP_PLUGIN_RESET_COMMAND_OFFSET / 4);
  assign start = commanded && set_data[TP_PLUGIN_RESET_COMMAND_START_LSB];
  assign hold = commanded && set_data[TP_PLUGIN_RESET_COMMAND_HOLD_LSB];
  assign free = commanded && set_data[TP_PLUGIN_RESET_COMMAND_RELEASE_LSB];

  // ---- the sequence
  logic running, releasing, over, fault, fault_before, begins, held;
  logic [TW-1:0] elapsed, since;  // clocks of `length`, then since its end
  logic [OUTPUTS-1:0] asserted, due;
  assign fault = core_fault && !fault_before && !running;
  assign begins = start || hold && !held || fault && (on_fault_start || on_fault_hold);
  assign over = releasing || elapsed + 1'b1 >= length;
  assign since = releasing ? elapsed : '0;
  always_comb for (int k = 0; k < OUTPUTS; k++) due[k] = since >= delay[k];

  assign core_rst_n = ~asserted;
  assign user_rst_n = core_rst_n[0];

  always_ff @(posedge clk) begin
    fault_before <= core_fault;
    if (running && over) begin
      asserted <= asserted & ~due;
      if ((asserted & ~due) == '0) running <= 1'b0;
    end
    releasing <= over;
    elapsed <= (over ? since : elapsed) + 1'b1;  // a delay is reached before it turns over
    if (begins) sequences <= sequences + 1'b1;
    if (fault) faults <= faults + 1'b1;
    if (begins || held) begin
      running <= 1'b1;
      asserted <= '1;
      releasing <= 1'b0;
      elapsed <= '0;
    end

    if (hold || fault && on_fault_hold) held <= 1'b1;
    if (free) held <= 1'b0;
    if (set && set_at == 10'(TP_PLUGIN_RESET_ON_FAULT_OFFSET / 4)) begin
      on_fault_start <= set_data[TP_PLUGIN_RESET_ON_FAULT_START_LSB];
      on_fault_hold <= set_data[TP_PLUGIN_RESET_ON_FAULT_HOLD_LSB];
    end
    if (set && set_at == 10'(TP_PLUGIN_RESET_LENGTH_OFFSET / 4)) length <= set_data[TW-1:0];
    for (int k = 0; k < OUTPUTS; k++) begin
      if (set && set_at == 10'(TP_PLUGIN_RESET_DELAY_OFFSET / 4 + k)) delay[k] <= set_data[TW-1:0];
    end

    if (!rst_n) begin
      held <= 1'b0;
      on_fault_start <= 1'b0;
      on_fault_hold <= 1'b0;
      length <= TW'(LENGTH);
      for (int k = 0; k < OUTPUTS; k++) delay[k] <= TW'(STEP * k);
      sequences <= '0;
      faults <= '0;
      running <= 1'b1;
      releasing <= 1'b0;
      asserted <= '1;
      elapsed <= '0;
    end
  end

  always_comb begin
    get_data = '0;
    case (get_at)
      10'(TP_PLUGIN_RESET_STATUS_OFFSET / 4): begin
        get_data[TP_PLUGIN_RESET_STATUS_BUSY_LSB] = running;
        get_data[TP_PLUGIN_RESET_STATUS_HELD_LSB] = held;
        get_data[TP_PLUGIN_RESET_STATUS_FAULT_LSB] = core_fault;
        get_data[TP_PLUGIN_RESET_STATUS_ASSERTED_LSB+:OUTPUTS] = asserted;
      end
      10'(TP_PLUGIN_RESET_ON_FAULT_OFFSET / 4): begin
        get_data[TP_PLUGIN_RESET_ON_FAULT_START_LSB] = on_fault_start;
        get_data[TP_PLUGIN_RESET_ON_FAULT_HOLD_LSB] = on_fault_hold;
      end
      10'(TP_PLUGIN_RESET_OUTPUTS_OFFSET / 4): get_data = 32'(OUTPUTS);
      10'(TP_PLUGIN_RESET_LENGTH_OFFSET / 4): get_data = 32'(length);
      10'(TP_PLUGIN_RESET_SEQUENCES_OFFSET / 4): get_data = sequences;
      10'(TP_PLUGIN_RESET_FAULTS_OFFSET / 4): get_data = faults;
      default: begin
        for (int k = 0; k < OUTPUTS; k++) begin
          if (get_at == 10'(TP_PLUGIN_RESET_DELAY_OFFSET / 4 + k)) get_data = 32'(delay[k]);
        end
      end
    endcase
  end
endmodule
