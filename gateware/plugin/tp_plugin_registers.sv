// SPDX-License-Identifier: Apache-2.0
// A plug-in's end of the register window: AXI4-Lite to one write and one read of a register at a time.
//
// `set` is 1 for a clock: register `set_at` (a dword) gets `set_data`. A write of less than a dword sets nothing and is answered with SLVERR.
// `get_data` is what register `get_at` holds, in the same clock; `get` is 1 in the clock in which it is taken. Addresses are cut to BYTES.
// Not for: registers that take more than a clock to answer.
module tp_plugin_registers #(
    parameter  int BYTES = 4096,          // a power of two
    localparam int AW = $clog2(BYTES)
) (
    input logic clk,
    input logic rst_n,

    // verilator lint_off UNUSEDSIGNAL
    input  logic [31:0] s_axil_awaddr,   // the low bits count
    input  logic [31:0] s_axil_araddr,
    // verilator lint_on UNUSEDSIGNAL
    input  logic        s_axil_awvalid,
    output logic        s_axil_awready,
    input  logic [31:0] s_axil_wdata,
    input  logic [ 3:0] s_axil_wstrb,
    input  logic        s_axil_wvalid,
    output logic        s_axil_wready,
    output logic [ 1:0] s_axil_bresp,
    output logic        s_axil_bvalid,
    input  logic        s_axil_bready,
    input  logic        s_axil_arvalid,
    output logic        s_axil_arready,
    output logic [31:0] s_axil_rdata,
    output logic [ 1:0] s_axil_rresp,
    output logic        s_axil_rvalid,
    input  logic        s_axil_rready,

    output logic          set,
    output logic [AW-1:2] set_at,
    output logic [  31:0] set_data,
    output logic          get,
    output logic [AW-1:2] get_at,
    input  logic [  31:0] get_data
);
  logic write, read;
  assign write = s_axil_awvalid && s_axil_wvalid && (!s_axil_bvalid || s_axil_bready);
  assign read = s_axil_arvalid && !get && (!s_axil_rvalid || s_axil_rready);
  assign s_axil_awready = write;
  assign s_axil_wready = write;
  assign s_axil_arready = read;
  assign s_axil_rresp = 2'b00;

  always_ff @(posedge clk) begin
    set <= write && (&s_axil_wstrb);
    if (write) begin
      set_at <= s_axil_awaddr[AW-1:2];
      set_data <= s_axil_wdata;
      s_axil_bresp <= {!(&s_axil_wstrb), 1'b0};
    end
    if (write) s_axil_bvalid <= 1'b1;
    else if (s_axil_bready) s_axil_bvalid <= 1'b0;

    get <= read;
    if (read) get_at <= s_axil_araddr[AW-1:2];
    if (get) s_axil_rdata <= get_data;
    if (get) s_axil_rvalid <= 1'b1;
    else if (s_axil_rready) s_axil_rvalid <= 1'b0;

    if (!rst_n) begin
      set <= 1'b0;
      get <= 1'b0;
      s_axil_bvalid <= 1'b0;
      s_axil_rvalid <= 1'b0;
    end
  end
endmodule
