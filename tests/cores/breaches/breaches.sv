// SPDX-License-Identifier: Apache-2.0
// A source of messages, registers, a memory, requests to another one and interrupts, which keep all rules but the one whose number is in register `rule`; a write to `go` begins messages
// and raises interrupt 1. The numbers are those of host/towpath/tests/checker.rs.
module breaches (
    input logic aclk,
    input logic aresetn,

    output logic [63:0] result_tdata,
    output logic [ 7:0] result_tkeep,
    output logic        result_tlast,
    output logic        result_tvalid,
    input  logic        result_tready,
    output logic [47:0] result_length,
    output logic [31:0] result_offset,
    output logic [31:0] result_user,

    input  logic [31:0] s_axi_lite_awaddr,
    input  logic        s_axi_lite_awvalid,
    output logic        s_axi_lite_awready,
    input  logic [31:0] s_axi_lite_wdata,
    input  logic [ 3:0] s_axi_lite_wstrb,
    input  logic        s_axi_lite_wvalid,
    output logic        s_axi_lite_wready,
    output logic [ 1:0] s_axi_lite_bresp,
    output logic        s_axi_lite_bvalid,
    input  logic        s_axi_lite_bready,
    input  logic [31:0] s_axi_lite_araddr,
    input  logic        s_axi_lite_arvalid,
    output logic        s_axi_lite_arready,
    output logic [31:0] s_axi_lite_rdata,
    output logic [ 1:0] s_axi_lite_rresp,
    output logic        s_axi_lite_rvalid,
    input  logic        s_axi_lite_rready,

    input  logic [31:0] S_AXI_awaddr,
    input  logic [ 7:0] S_AXI_awlen,
    input  logic [ 2:0] S_AXI_awsize,
    input  logic [ 1:0] S_AXI_awburst,
    input  logic        S_AXI_awvalid,
    output logic        S_AXI_awready,
    input  logic [63:0] S_AXI_wdata,
    input  logic [ 7:0] S_AXI_wstrb,
    input  logic        S_AXI_wlast,
    input  logic        S_AXI_wvalid,
    output logic        S_AXI_wready,
    output logic [ 1:0] S_AXI_bresp,
    output logic [ 3:0] S_AXI_bid,
    output logic        S_AXI_bvalid,
    input  logic        S_AXI_bready,
    input  logic [31:0] S_AXI_araddr,
    input  logic [ 7:0] S_AXI_arlen,
    input  logic [ 2:0] S_AXI_arsize,
    input  logic [ 1:0] S_AXI_arburst,
    input  logic        S_AXI_arvalid,
    output logic        S_AXI_arready,
    output logic [63:0] S_AXI_rdata,
    output logic [ 1:0] S_AXI_rresp,
    output logic        S_AXI_rlast,
    output logic [ 3:0] S_AXI_rid,
    output logic        S_AXI_rvalid,
    input  logic        S_AXI_rready,

    output logic [31:0] M_AXI_awaddr,
    output logic [ 7:0] M_AXI_awlen,
    output logic [ 2:0] M_AXI_awsize,
    output logic [ 1:0] M_AXI_awburst,
    output logic        M_AXI_awvalid,
    input  logic        M_AXI_awready,
    output logic [63:0] M_AXI_wdata,
    output logic [ 7:0] M_AXI_wstrb,
    output logic        M_AXI_wlast,
    output logic        M_AXI_wvalid,
    input  logic        M_AXI_wready,
    input  logic        M_AXI_bvalid,
    output logic        M_AXI_bready,
    output logic [31:0] M_AXI_araddr,
    output logic [ 7:0] M_AXI_arlen,
    output logic [ 2:0] M_AXI_arsize,
    output logic [ 1:0] M_AXI_arburst,
    output logic        M_AXI_arvalid,
    input  logic        M_AXI_arready,
    input  logic [63:0] M_AXI_rdata,
    input  logic        M_AXI_rvalid,
    output logic        M_AXI_rready,

    output logic [1:0] irq_valid,
    input  logic [1:0] irq_ready
);
  logic [5:0] rule;
  logic go;
  logic [3:0] since;  // clocks since a rule was chosen, up to 15
  logic chosen;       // some clocks after that, once
  assign chosen = since == 4'd14;

  // ---- messages of 16 beats, or of one where the rule is about a message's first or last beat
  logic running, held;  // held: the beat has been shown before
  logic single;
  logic [31:0] beat;
  assign single = rule inside {3, 4, 6, 8, 9, 10};
  assign result_tvalid = running && !(rule == 1 && held);
  assign result_tdata = {2{beat}} ^ 64'(rule == 2 && held);
  always_comb begin
    result_tkeep = '1;
    if (rule == 3 && held) result_tkeep = 8'h0f;
    if (rule == 5 && beat == 16) result_tkeep = 8'b11011011;
    if (rule == 6 && beat == 2) result_tkeep = 8'b11110000;
    if (rule == 7 && beat == 16) result_tkeep = 8'b00001111;
  end
  assign result_tlast = single ? !(rule == 4 && held) : beat[3:0] == 4'd15;
  assign result_length = 48'(rule == 8 && held);
  assign result_offset = 32'(rule == 9 && held);
  assign result_user = 32'(rule == 10 && held);
  always_ff @(posedge aclk) begin
    if (go) running <= 1'b1;
    held <= running && !result_tready;
    if (result_tvalid && result_tready) beat <= beat + 1;
    if (!aresetn) begin
      running <= 1'b0;
      beat <= '0;
    end
  end

  // ---- registers
  logic lite_write, lite_read, again_b, again_r, b_left, r_left;  // left: an answer without a request is still to come
  assign lite_write = s_axi_lite_awvalid && s_axi_lite_wvalid && !lite_b;
  assign lite_read = s_axi_lite_arvalid && !s_axi_lite_rvalid;
  logic lite_b, lite_r;  // the answers that follow the rules
  logic address_taken;
  assign s_axi_lite_awready = rule == 18 ? s_axi_lite_awvalid && !address_taken : lite_write;
  assign s_axi_lite_wready = rule != 18 && lite_write;
  assign s_axi_lite_arready = rule != 19 && lite_read;
  logic stray_b;
  assign stray_b = (rule == 11 && s_axi_lite_awvalid && s_axi_lite_wvalid) || (rule == 12 && chosen) || (rule == 18 && address_taken);
  assign s_axi_lite_bvalid = lite_b || stray_b || b_left;
  assign s_axi_lite_rvalid = lite_r || (rule == 13 && chosen) || r_left;
  assign s_axi_lite_bresp = {1'b0, rule == 16};
  assign s_axi_lite_rresp = {1'b0, rule == 17};
  assign s_axi_lite_rdata = 32'(rule);
  assign again_b = rule == 14 && s_axi_lite_bvalid && s_axi_lite_bready && !b_left;
  assign again_r = rule == 15 && s_axi_lite_rvalid && s_axi_lite_rready && !r_left;
  always_ff @(posedge aclk) begin
    go <= 1'b0;
    if (lite_write) begin
      if (s_axi_lite_awaddr[2]) go <= 1'b1;
      else rule <= s_axi_lite_wdata[5:0];
    end
    lite_b <= lite_write && rule != 11 || lite_b && !s_axi_lite_bready;
    lite_r <= lite_read && rule != 19 || lite_r && !s_axi_lite_rready;
    b_left <= again_b;
    r_left <= again_r;
    address_taken <= rule == 18 && s_axi_lite_awvalid;
    since <= lite_write ? '0 : since + 4'(since != '1);
    if (!aresetn) begin
      rule <= '0;
      since <= '1;
      lite_b <= 1'b0;
      lite_r <= 1'b0;
      b_left <= 1'b0;
      r_left <= 1'b0;
    end
  end

  // ---- the memory: a write at a time, and a read
  logic [63:0] rows[512];
  logic [8:0] w_at, r_at;
  logic [7:0] r_left_beats, w_beats;
  logic writing, b_due, b_again, reading, r_held, r_stray;
  assign S_AXI_awready = !writing && !b_due;
  assign S_AXI_wready = writing && !b_due;
  assign S_AXI_bvalid = b_due || b_again || (rule == 21 && chosen) || (rule == 22 && writing && w_beats == 1);
  assign S_AXI_bresp = {1'b0, rule == 24};
  assign S_AXI_bid = rule == 26 ? 4'd3 : '0;
  assign S_AXI_arready = !reading;
  assign S_AXI_rvalid = reading && !(rule == 31 && r_held) || r_stray || (rule == 20 && chosen);
  assign S_AXI_rdata = rows[r_at] ^ 64'(rule == 32 && r_held);
  assign S_AXI_rlast = r_left_beats == 0 ? rule != 28 : (rule == 29 && r_left_beats == 1) || (rule == 33 && r_held);
  assign S_AXI_rresp = {1'b0, rule == 25};
  assign S_AXI_rid = rule == 27 ? 4'd5 : '0;
  always_ff @(posedge aclk) begin
    if (S_AXI_awvalid && S_AXI_awready) begin
      writing <= 1'b1;
      w_at <= S_AXI_awaddr[11:3];
      w_beats <= '0;
    end
    if (S_AXI_wvalid && S_AXI_wready) begin
      for (int b = 0; b < 8; b++) if (S_AXI_wstrb[b]) rows[w_at][8*b+:8] <= S_AXI_wdata[8*b+:8];
      w_at <= w_at + 1;
      w_beats <= w_beats + 1;
      if (S_AXI_wlast) begin
        writing <= 1'b0;
        b_due <= 1'b1;
      end
    end
    if (S_AXI_bvalid && S_AXI_bready) b_due <= 1'b0;
    b_again <= rule == 23 && b_due && S_AXI_bready;
    if (S_AXI_arvalid && S_AXI_arready) begin
      reading <= 1'b1;
      r_at <= S_AXI_araddr[11:3];
      r_left_beats <= S_AXI_arlen;
    end
    r_held <= S_AXI_rvalid && !S_AXI_rready;
    r_stray <= 1'b0;
    if (reading && S_AXI_rvalid && S_AXI_rready) begin
      r_at <= r_at + 1;
      r_left_beats <= r_left_beats - 1;
      if (r_left_beats == 0) begin
        reading <= 1'b0;
        r_stray <= rule == 30;
      end
    end
    if (!aresetn) begin
      writing <= 1'b0;
      b_due <= 1'b0;
      b_again <= 1'b0;
      reading <= 1'b0;
      r_stray <= 1'b0;
    end
  end

  // ---- the memory where it is the master: two writes of four beats, and two reads. The second of each waits for the first, as does the first beat.
  logic [1:0] aw_sent, ar_sent;
  logic [3:0] w_sent;
  logic asking, aw_held, ar_held, w_held;
  logic [31:0] first;
  assign first = rule == 40 ? 32'hff8 : rule == 49 ? 32'h4 : 32'h40;
  assign M_AXI_awvalid = asking && aw_sent < 2 && !(rule == 35 && aw_held);
  assign M_AXI_awaddr = first + 64 * 32'(aw_sent) + 64 * 32'(rule == 36 && aw_held);
  assign M_AXI_awsize = rule == 38 ? 3'd4 : 3'd3;
  always_comb begin
    M_AXI_awlen   = 8'd3 + 8'(rule == 37 && aw_held);
    M_AXI_awburst = 2'b01;
    if (rule == 39) M_AXI_awburst = 2'b11;
    if (rule == 41) {M_AXI_awburst, M_AXI_awlen} = {2'b10, 8'd2};
    if (rule == 49) M_AXI_awburst = 2'b10;
    if (rule == 50) {M_AXI_awburst, M_AXI_awlen} = {2'b00, 8'd16};
  end
  assign M_AXI_wvalid = asking && w_sent < 8 && !(rule == 44 && w_held);
  assign M_AXI_wdata = 64'(w_sent) ^ 64'(rule == 45 && w_held);
  assign M_AXI_wstrb = rule == 46 && w_held ? 8'h0f : '1;
  assign M_AXI_wlast = w_sent[1:0] == 2'd3 ? rule != 48 : rule == 47 && w_sent[1:0] == 2'd2;
  assign M_AXI_bready = 1'b1;
  assign M_AXI_arvalid = asking && ar_sent < 2 && !(rule == 42 && ar_held);
  assign M_AXI_araddr = 64 * 32'(ar_sent) + 64 * 32'(rule == 43 && ar_held);
  assign {M_AXI_arlen, M_AXI_arsize, M_AXI_arburst} = {8'd3, 3'd3, 2'b01};
  assign M_AXI_rready = 1'b1;
  always_ff @(posedge aclk) begin
    if (M_AXI_awvalid && M_AXI_awready) aw_sent <= aw_sent + 1;
    if (M_AXI_arvalid && M_AXI_arready) ar_sent <= ar_sent + 1;
    if (M_AXI_wvalid && M_AXI_wready) w_sent <= w_sent + 1;
    aw_held <= M_AXI_awvalid && !M_AXI_awready;
    ar_held <= M_AXI_arvalid && !M_AXI_arready;
    w_held  <= M_AXI_wvalid && !M_AXI_wready;
    if (go) asking <= 1'b1;
    if (!aresetn || go && !asking) {aw_sent, ar_sent, w_sent} <= '0;
    if (!aresetn) asking <= 1'b0;
  end

  // ---- interrupts
  logic raised;
  assign irq_valid = {raised, 1'b0};
  always_ff @(posedge aclk) raised <= aresetn && (go || raised && !irq_ready[1] && rule != 34);
endmodule
