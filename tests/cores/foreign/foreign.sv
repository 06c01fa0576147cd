// SPDX-License-Identifier: Apache-2.0
// What comes in goes out; register `sum` counts bytes, and a write of it sets it. `mask` is half of a parameter. Each message raises the interrupt for four clocks.
// Its ports are called as they are elsewhere: see towpath.toml.
module foreign #(
    parameter real GAIN = 0.0,
    parameter logic [39:0] MASK = '0
) (
    input logic aclk,
    input logic reset,

    input  logic [63:0] S_AXIS_TDATA,
    input  logic [ 7:0] S_AXIS_TKEEP,
    input  logic        S_AXIS_TLAST,
    input  logic        S_AXIS_TVALID,
    output logic        S_AXIS_TREADY,
    input  logic [ 3:0] S_AXIS_TUSER,

    output logic [63:0] result_tdata_o,
    output logic [ 7:0] result_tkeep_o,
    output logic        result_tlast_o,
    output logic        result_tvalid_o,
    input  logic        result_tready_o,
    output logic [ 7:0] result_tid_o,

    input  logic [ 5:0] s_axi_ctrl_awaddr,
    input  logic [ 2:0] s_axi_ctrl_awprot,
    input  logic        s_axi_ctrl_awvalid,
    output logic        s_axi_ctrl_awready,
    input  logic [31:0] s_axi_ctrl_wdata,
    input  logic [ 3:0] s_axi_ctrl_wstrb,
    input  logic        s_axi_ctrl_wvalid,
    output logic        s_axi_ctrl_wready,
    output logic [ 1:0] s_axi_ctrl_bresp,
    output logic        s_axi_ctrl_bvalid,
    input  logic        s_axi_ctrl_bready,
    input  logic [ 5:0] s_axi_ctrl_araddr,
    input  logic [ 2:0] s_axi_ctrl_arprot,
    input  logic        s_axi_ctrl_arvalid,
    output logic        s_axi_ctrl_arready,
    output logic [31:0] s_axi_ctrl_rdata,
    output logic [ 1:0] s_axi_ctrl_rresp,
    output logic        s_axi_ctrl_rvalid,
    input  logic        s_axi_ctrl_rready,

    output logic irq,
    input logic [2:0] mode,
    input logic [7:0] dbg_select,
    output logic [7:0] dbg_state
);
  if (GAIN != 1.5) $error("GAIN is not 1.5");

  // Without a reset that arrives, with other tied inputs or with a sideband that is driven, it gives nothing.
  logic started = 1'b0;
  always_ff @(posedge aclk) if (reset) started <= 1'b1;
  wire sound = started && mode == 3'd5 && dbg_select == '0 && S_AXIS_TUSER == '0;

  assign result_tdata_o = S_AXIS_TDATA;
  assign result_tkeep_o = S_AXIS_TKEEP;
  assign result_tlast_o = S_AXIS_TLAST;
  assign result_tvalid_o = S_AXIS_TVALID && sound && !reset;
  assign S_AXIS_TREADY = result_tready_o && sound && !reset;
  assign result_tid_o = '1;
  assign dbg_state = '1;
  wire beat = S_AXIS_TVALID && S_AXIS_TREADY;

  logic [31:0] sum;
  logic [ 2:0] raised;
  wire write = s_axi_ctrl_awvalid && s_axi_ctrl_wvalid && !s_axi_ctrl_bvalid;
  assign irq = raised != '0;
  always_ff @(posedge aclk) begin
    if (beat) sum <= sum + 32'($countones(S_AXIS_TKEEP));
    if (write && s_axi_ctrl_awaddr == '0) sum <= s_axi_ctrl_wdata;
    if (raised != '0) raised <= raised - 1'b1;
    if (beat && S_AXIS_TLAST) raised <= 3'd4;
    if (reset) begin
      sum <= '0;
      raised <= '0;
    end
  end

  assign s_axi_ctrl_awready = write;
  assign s_axi_ctrl_wready = write;
  assign s_axi_ctrl_bresp = '0;
  assign s_axi_ctrl_rresp = '0;
  assign s_axi_ctrl_arready = !s_axi_ctrl_rvalid;
  always_ff @(posedge aclk) begin
    s_axi_ctrl_bvalid <= !reset && (write || s_axi_ctrl_bvalid && !s_axi_ctrl_bready);
    if (s_axi_ctrl_arvalid && s_axi_ctrl_arready) s_axi_ctrl_rdata <= s_axi_ctrl_araddr == 6'd4 ? MASK[39:8] : sum;
    s_axi_ctrl_rvalid <= !reset && (s_axi_ctrl_arvalid && s_axi_ctrl_arready || s_axi_ctrl_rvalid && !s_axi_ctrl_rready);
  end
endmodule
