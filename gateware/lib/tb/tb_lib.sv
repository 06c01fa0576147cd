// SPDX-License-Identifier: Apache-2.0
// The modules of gateware/lib side by side, so that one model serves one bench. `a` is the source's clock, `b` the destination's.
module tb_lib (
    input  logic        a_clk,
    input  logic        b_clk,
    input  logic        request,
    output logic        busy,
    output logic        a_rst,
    output logic        b_rst,
    input  logic        fifo_in_valid,
    output logic        fifo_in_ready,
    input  logic [15:0] fifo_in_data,
    output logic        fifo_out_valid,
    input  logic        fifo_out_ready,
    output logic [15:0] fifo_out_data,
    input  logic        word_in_valid,
    output logic        word_in_ready,
    input  logic [15:0] word_in_data,
    output logic        word_out_valid,
    input  logic        word_out_ready,
    output logic [15:0] word_out_data,
    input  logic        pulse_in_valid,
    output logic        pulse_in_ready,
    output logic        pulse_out_valid,
    input  logic        pulse_out_ready,
    // on a_clk
    input  logic        rst,
    input  logic        skid_in_valid,
    output logic        skid_in_ready,
    input  logic [15:0] skid_in_data,
    output logic        skid_out_valid,
    input  logic        skid_out_ready,
    output logic [15:0] skid_out_data,
    input  logic        queue_clear,
    input  logic        queue_in_valid,
    output logic        queue_in_ready,
    input  logic [15:0] queue_in_data,
    output logic        queue_out_valid,
    input  logic        queue_out_ready,
    output logic [15:0] queue_out_data,
    output logic [ 3:0] queue_count,
    input  logic [ 4:0] arbiter_request,
    input  logic        arbiter_take,
    output logic [ 4:0] arbiter_grant
);
  tp_reset_sync #(
      .CLOCKS(16)
  ) reset_sync (
      .clk(a_clk),
      .request,
      .busy,
      .src_rst(a_rst),
      .dst_clk(b_clk),
      .dst_rst(b_rst)
  );

  tp_async_fifo #(
      .WIDTH(16),
      .DEPTH(8)
  ) fifo (
      .wr_clk(a_clk),
      .wr_rst(a_rst),
      .wr_valid(fifo_in_valid),
      .wr_ready(fifo_in_ready),
      .wr_data(fifo_in_data),
      .rd_clk(b_clk),
      .rd_rst(b_rst),
      .rd_valid(fifo_out_valid),
      .rd_ready(fifo_out_ready),
      .rd_data(fifo_out_data)
  );
  tp_handshake #(
      .WIDTH(16)
  ) word (
      .src_clk(a_clk),
      .src_rst(a_rst),
      .src_valid(word_in_valid),
      .src_ready(word_in_ready),
      .src_data(word_in_data),
      .dst_clk(b_clk),
      .dst_rst(b_rst),
      .dst_valid(word_out_valid),
      .dst_ready(word_out_ready),
      .dst_data(word_out_data)
  );
  tp_pulse pulse (
      .src_clk(a_clk),
      .src_rst(a_rst),
      .src_valid(pulse_in_valid),
      .src_ready(pulse_in_ready),
      .dst_clk(b_clk),
      .dst_rst(b_rst),
      .dst_valid(pulse_out_valid),
      .dst_ready(pulse_out_ready)
  );
  tp_skid #(
      .WIDTH(16)
  ) skid (
      .clk(a_clk),
      .rst,
      .in_valid(skid_in_valid),
      .in_ready(skid_in_ready),
      .in_data(skid_in_data),
      .out_valid(skid_out_valid),
      .out_ready(skid_out_ready),
      .out_data(skid_out_data)
  );
  tp_fifo #(
      .WIDTH(16),
      .DEPTH(8)
  ) queue (
      .clk(a_clk),
      .rst,
      .clear(queue_clear),
      .in_valid(queue_in_valid),
      .in_ready(queue_in_ready),
      .in_data(queue_in_data),
      .out_valid(queue_out_valid),
      .out_ready(queue_out_ready),
      .out_data(queue_out_data),
      .count(queue_count)
  );
  tp_round_robin #(
      .N(5)
  ) arbiter (
      .clk(a_clk),
      .rst,
      .request(arbiter_request),
      .take(arbiter_take),
      .grant(arbiter_grant)
  );
endmodule
