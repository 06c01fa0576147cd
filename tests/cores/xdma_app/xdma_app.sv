// SPDX-License-Identifier: Apache-2.0
// A core with the ports that an application beside the DMA/Bridge Subsystem for PCI Express (PG195) has: names as at the block, so `m_axis_h2c` comes in
// and `s_axis_c2h` goes out. What comes in goes out, and a register keeps what is written to it.
module xdma_app #(
    parameter int C_DATA_WIDTH = 128
) (
    input  logic                      user_clk,
    input  logic                      user_resetn,
    input  logic                      user_lnk_up,

    input  logic [C_DATA_WIDTH-1:0]   m_axis_h2c_tdata_0,
    input  logic [C_DATA_WIDTH/8-1:0] m_axis_h2c_tkeep_0,
    input  logic                      m_axis_h2c_tlast_0,
    input  logic                      m_axis_h2c_tvalid_0,
    output logic                      m_axis_h2c_tready_0,

    output logic [C_DATA_WIDTH-1:0]   s_axis_c2h_tdata_0,
    output logic [C_DATA_WIDTH/8-1:0] s_axis_c2h_tkeep_0,
    output logic                      s_axis_c2h_tlast_0,
    output logic                      s_axis_c2h_tvalid_0,
    input  logic                      s_axis_c2h_tready_0,

    input  logic [31:0]               s_axil_awaddr,
    input  logic [2:0]                s_axil_awprot,
    input  logic                      s_axil_awvalid,
    output logic                      s_axil_awready,
    input  logic [31:0]               s_axil_wdata,
    input  logic [3:0]                s_axil_wstrb,
    input  logic                      s_axil_wvalid,
    output logic                      s_axil_wready,
    output logic [1:0]                s_axil_bresp,
    output logic                      s_axil_bvalid,
    input  logic                      s_axil_bready,
    input  logic [31:0]               s_axil_araddr,
    input  logic [2:0]                s_axil_arprot,
    input  logic                      s_axil_arvalid,
    output logic                      s_axil_arready,
    output logic [31:0]               s_axil_rdata,
    output logic [1:0]                s_axil_rresp,
    output logic                      s_axil_rvalid,
    input  logic                      s_axil_rready,

    output logic [3:0]                leds
);

  assign s_axis_c2h_tdata_0 = m_axis_h2c_tdata_0;
  assign s_axis_c2h_tkeep_0 = m_axis_h2c_tkeep_0;
  assign s_axis_c2h_tlast_0 = m_axis_h2c_tlast_0;
  assign s_axis_c2h_tvalid_0 = m_axis_h2c_tvalid_0;
  assign m_axis_h2c_tready_0 = s_axis_c2h_tready_0;

  logic [31:0] kept;
  assign leds = {user_lnk_up, kept[2:0]};

  assign s_axil_awready = s_axil_awvalid && s_axil_wvalid && !s_axil_bvalid;
  assign s_axil_wready = s_axil_awready;
  assign s_axil_arready = !s_axil_rvalid;
  assign s_axil_bresp = '0;
  assign s_axil_rresp = '0;

  always_ff @(posedge user_clk) begin
    if (s_axil_awready) kept <= s_axil_wdata;
    if (s_axil_arready) s_axil_rdata <= kept;
    s_axil_bvalid <= user_resetn && (s_axil_awready || (s_axil_bvalid && !s_axil_bready));
    s_axil_rvalid <= user_resetn && (s_axil_arvalid || (s_axil_rvalid && !s_axil_rready));
    if (!user_resetn) kept <= '0;
  end

endmodule
