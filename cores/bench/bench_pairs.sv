// SPDX-License-Identifier: Apache-2.0
//
// Pairs of channels for measuring: behind each pair a "sink", which takes a beat in each cycle, and a "counter", which has one in each cycle.
// So whatever a measurement finds is the mover's and the link's. Both check or make a known pattern, so a measurement also sees that its bytes
// are right.
//
// Registers: those of the counters from 0x0000, those of the sinks from 0x1000 (see counter.sv and sink.sv). A write goes to all of its kind; a
// read at 0x2000 * k more is of pair k. The cores' interrupts are not used.
module bench_pairs #(
    parameter int DATA_WIDTH = 128,
    parameter int PAIRS = 1,
    localparam int KEEP = DATA_WIDTH / 8
) (
    input logic clk,
    input logic rst_n,

    input  logic [PAIRS-1:0][DATA_WIDTH-1:0] in_tdata,
    input  logic [PAIRS-1:0][      KEEP-1:0] in_tkeep,
    input  logic [PAIRS-1:0]                 in_tlast,
    input  logic [PAIRS-1:0]                 in_tvalid,
    output logic [PAIRS-1:0]                 in_tready,
    input  logic [PAIRS-1:0]                 in_error,
    input  logic [PAIRS-1:0]                 in_reset,

    output logic [PAIRS-1:0][DATA_WIDTH-1:0] out_tdata,
    output logic [PAIRS-1:0][      KEEP-1:0] out_tkeep,
    output logic [PAIRS-1:0]                 out_tlast,
    output logic [PAIRS-1:0]                 out_tvalid,
    input  logic [PAIRS-1:0]                 out_tready,
    input  logic [PAIRS-1:0]                 out_reset,

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
    input  logic        s_axil_rready
);
  if (PAIRS < 1 || PAIRS > 8) begin : gen_check
    $error("%m: PAIRS %0d: make it 1 to 8", PAIRS);
  end

  // All of a kind see the same accesses in the same cycles and answer alike, so that the first one's handshakes are everyone's.
  logic [PAIRS-1:0] counter_awready, counter_wready, counter_bvalid, counter_arready, counter_rvalid, counter_irq;
  logic [PAIRS-1:0] sink_awready, sink_wready, sink_bvalid, sink_arready, sink_rvalid, sink_irq;
  logic [PAIRS-1:0][1:0] counter_bresp, counter_rresp, sink_bresp, sink_rresp;
  logic [PAIRS-1:0][31:0] counter_rdata, sink_rdata;
  logic [PAIRS-1:0][47:0] length;
  logic [PAIRS-1:0][31:0] offset, user;

  wire to_sinks = s_axil_awaddr[12];
  assign s_axil_awready = to_sinks ? sink_awready[0] : counter_awready[0];
  assign s_axil_wready = to_sinks ? sink_wready[0] : counter_wready[0];
  assign s_axil_bvalid = sink_bvalid[0] || counter_bvalid[0];
  assign s_axil_bresp = 2'b00;

  logic of_sink;
  logic [2:0] pair;
  assign s_axil_arready = counter_arready[0];
  assign s_axil_rvalid = counter_rvalid[0];
  assign s_axil_rresp = 2'b00;
  always_ff @(posedge clk) if (s_axil_arvalid && s_axil_arready) {pair, of_sink} <= s_axil_araddr[15:12];
  always_comb begin
    s_axil_rdata = '0;
    for (int k = 0; k < PAIRS; k++) if (pair == 3'(k)) s_axil_rdata = of_sink ? sink_rdata[k] : counter_rdata[k];
  end

  wire unused = &{counter_awready, counter_wready, counter_bvalid, counter_arready, counter_rvalid, counter_irq, sink_awready,
                  sink_wready, sink_bvalid, sink_arready, sink_rvalid, sink_irq, counter_bresp, counter_rresp, sink_bresp,
                  sink_rresp, length, offset, user, s_axil_awaddr[31:13], s_axil_araddr[31:16]};

  for (genvar k = 0; k < PAIRS; k++) begin : gen_pair
    counter #(
        .DATA_WIDTH(DATA_WIDTH)
    ) u_counter (
        .clk(clk),
        .rst_n(rst_n),
        .out_tdata(out_tdata[k]),
        .out_tkeep(out_tkeep[k]),
        .out_tlast(out_tlast[k]),
        .out_tvalid(out_tvalid[k]),
        .out_tready(out_tready[k]),
        .out_length(length[k]),
        .out_offset(offset[k]),
        .out_user(user[k]),
        .out_reset(out_reset[k]),
        .s_axil_awaddr({20'd0, s_axil_awaddr[11:0]}),
        .s_axil_awvalid(s_axil_awvalid && !to_sinks),
        .s_axil_awready(counter_awready[k]),
        .s_axil_wdata(s_axil_wdata),
        .s_axil_wstrb(s_axil_wstrb),
        .s_axil_wvalid(s_axil_wvalid && !to_sinks),
        .s_axil_wready(counter_wready[k]),
        .s_axil_bresp(counter_bresp[k]),
        .s_axil_bvalid(counter_bvalid[k]),
        .s_axil_bready(s_axil_bready),
        .s_axil_araddr({20'd0, s_axil_araddr[11:0]}),
        .s_axil_arvalid(s_axil_arvalid),
        .s_axil_arready(counter_arready[k]),
        .s_axil_rdata(counter_rdata[k]),
        .s_axil_rresp(counter_rresp[k]),
        .s_axil_rvalid(counter_rvalid[k]),
        .s_axil_rready(s_axil_rready),
        .irq_valid(counter_irq[k]),
        .irq_ready(1'b1)
    );

    sink #(
        .DATA_WIDTH(DATA_WIDTH)
    ) u_sink (
        .clk(clk),
        .rst_n(rst_n),
        .in_tdata(in_tdata[k]),
        .in_tkeep(in_tkeep[k]),
        .in_tlast(in_tlast[k]),
        .in_tvalid(in_tvalid[k]),
        .in_tready(in_tready[k]),
        .in_error(in_error[k]),
        .in_reset(in_reset[k]),
        .s_axil_awaddr({20'd0, s_axil_awaddr[11:0]}),
        .s_axil_awvalid(s_axil_awvalid && to_sinks),
        .s_axil_awready(sink_awready[k]),
        .s_axil_wdata(s_axil_wdata),
        .s_axil_wstrb(s_axil_wstrb),
        .s_axil_wvalid(s_axil_wvalid && to_sinks),
        .s_axil_wready(sink_wready[k]),
        .s_axil_bresp(sink_bresp[k]),
        .s_axil_bvalid(sink_bvalid[k]),
        .s_axil_bready(s_axil_bready),
        .s_axil_araddr({20'd0, s_axil_araddr[11:0]}),
        .s_axil_arvalid(s_axil_arvalid),
        .s_axil_arready(sink_arready[k]),
        .s_axil_rdata(sink_rdata[k]),
        .s_axil_rresp(sink_rresp[k]),
        .s_axil_rvalid(sink_rvalid[k]),
        .s_axil_rready(s_axil_rready),
        .irq_valid(sink_irq[k]),
        .irq_ready(1'b1)
    );
  end
endmodule
