// SPDX-License-Identifier: Apache-2.0
// The bus, the control register, an input of BITS bits and a held output, as host/cores puts them before a core.
module tb_wires #(
    parameter int BITS  = 40,
    parameter bit CHAIN = 0
) (
    input  logic            clk,
    input  logic            rst_n,
    input  logic [    31:0] s_axil_awaddr,
    input  logic            s_axil_awvalid,
    output logic            s_axil_awready,
    input  logic [    31:0] s_axil_wdata,
    input  logic [     3:0] s_axil_wstrb,
    input  logic            s_axil_wvalid,
    output logic            s_axil_wready,
    output logic [     1:0] s_axil_bresp,
    output logic            s_axil_bvalid,
    input  logic            s_axil_bready,
    input  logic [    31:0] s_axil_araddr,
    input  logic            s_axil_arvalid,
    output logic            s_axil_arready,
    output logic [    31:0] s_axil_rdata,
    output logic [     1:0] s_axil_rresp,
    output logic            s_axil_rvalid,
    input  logic            s_axil_rready,
    output logic [BITS-1:0] value,
    input  logic            valid,
    input  logic [    31:0] live,
    output logic            ap_start,
    input  logic            ap_done,
    input  logic            ap_idle,
    input  logic            ap_ready,
    output logic            ap_continue
);
  logic wr_en, rd_en;
  logic [29:0] wr_word, rd_word;
  logic [31:0] wr_data, rd_data, control, held;
  logic [3:0] wr_strb;
  tp_wires_bus bus (.*);
  tp_wires_control #(
      .FIRST(0),
      .CHAIN(CHAIN)
  ) ctrl (
      .value(control),
      .*
  );
  tp_wires_input #(
      .BITS (BITS),
      .FIRST(4)
  ) in (
      .*
  );
  tp_wires_output #(.BITS(32)) out (.*);
  always_comb begin
    case (rd_word)
      30'd0:   rd_data = control;
      30'd4:   rd_data = 32'(value);
      30'd5:   rd_data = 32'(value >> 32);
      30'd8:   rd_data = held;
      default: rd_data = '0;
    endcase
  end
endmodule
