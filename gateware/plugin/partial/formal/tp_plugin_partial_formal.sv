// SPDX-License-Identifier: Apache-2.0
// tp_plugin_partial for any writes of its registers, resets of the card, and any configuration port: the core runs only while the region holds a whole
// core and no load is under way, and the port is asked for nothing while it does; a region is whole again only if the port has said so at a load's end.
module tp_plugin_partial_formal #(
    parameter bit INDUCTION = 1
) (
    input logic clk,
    input logic rst_n,
    input logic write,
    input logic [31:0] address,
    input logic [31:0] data,
    input logic user_midway,
    input logic config_ready,
    input logic config_done,
    input logic config_error
);
  logic user_rst_n, user_decoupled, config_start, config_valid, config_end;
  logic [31:0] config_data, s_axil_rdata;
  logic s_axil_awready, s_axil_wready, s_axil_bvalid, s_axil_arready, s_axil_rvalid;
  logic [1:0] s_axil_bresp, s_axil_rresp;
  tp_plugin_partial #(
      .DEPTH(2)
  ) dut (
      .s_axil_awaddr(address),
      .s_axil_awvalid(write),
      .s_axil_wdata(data),
      .s_axil_wstrb(4'hf),
      .s_axil_wvalid(write),
      .s_axil_bready(1'b1),
      .s_axil_araddr('0),
      .s_axil_arvalid(1'b0),
      .s_axil_rready(1'b1),
      .*
  );

  logic started, touched, ran;
  initial {started, touched, ran} = '0;
  always_ff @(posedge clk) begin
    started <= 1'b1;
    ran <= user_rst_n;
    // What the region holds, by what the port has been told and has said.
    if (config_start && started) touched <= 1'b1;
    else if (config_end && config_done && !config_error) touched <= 1'b0;
  end

  always_comb begin
    assume (started || !rst_n);
    if (started) begin
      assert (user_decoupled == !user_rst_n);
      assert (!user_rst_n || !config_start && !config_valid && !config_end && !touched);
      assert (!user_rst_n || dut.whole && !dut.loading);
      assert (!config_valid || dut.loading && !config_start);
      assert (!config_end || !config_valid);
    end
    cover (started && touched && user_decoupled && !dut.loading && rst_n);
    cover (ran && config_start);
    cover (config_valid && config_ready && config_end == 0);
    cover (started && !touched && dut.outcome == towpath_pkg::TP_PARTIAL_OUTCOME_LOADED && user_rst_n);
  end

  if (INDUCTION) begin : g_induction
    always_comb begin
      if (started) begin
        assert (!dut.whole || !dut.loading && !config_start && !touched);
        assert (!dut.ending || dut.loading);
        assert (!config_start || dut.loading);
        assert (!config_start || dut.queue.count == 0);
        assert (dut.queue.count <= 2);
      end
    end
  end
endmodule
