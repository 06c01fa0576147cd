// SPDX-License-Identifier: Apache-2.0
// Watches the AXI4-Lite port of a user core's registers, which the core answers. Each rule is told once.
//
// Rules: an answer comes for each access and after it (a write's address and data); it stands until it is taken; it is not EXOKAY. An access that is not answered
// within PATIENCE clocks is a warning: the host's access ends by its own timeout.
module tp_check_axil #(
    parameter bit STOPS = 1'b1,
    parameter int PATIENCE = 65536,
    parameter string BVALID = "bvalid",
    parameter string BRESP = "bresp",
    parameter string RVALID = "rvalid",
    parameter string RDATA = "rdata",
    parameter string RRESP = "rresp"
) (
    input logic        clk,
    input logic        rst_n,
    input logic        quiet,
    input logic        awvalid,
    input logic        awready,
    input logic        wvalid,
    input logic        wready,
    input logic [ 1:0] bresp,
    input logic        bvalid,
    input logic        bready,
    input logic        arvalid,
    input logic        arready,
    input logic [31:0] rdata,
    input logic [ 1:0] rresp,
    input logic        rvalid,
    input logic        rready
);
  localparam int GONE = 0, RESP = 1, DATA = 2, BEFORE = 3, EXOKAY = 4, SILENT = 5;
  logic aw, w, b, ar, r;  // handshakes
  assign aw = awvalid && awready;
  assign w = wvalid && wready;
  assign b = bvalid && bready;
  assign ar = arvalid && arready;
  assign r = rvalid && rready;

  // Taken and not answered, as far as these clocks' edges tell.
  logic [15:0] aw_open, w_open, ar_open;
  logic b_waited, r_waited;
  logic [1:0] was_bresp, was_rresp;
  logic [31:0] was_rdata, writes, reads;
  logic [5:0] b_told, r_told;
  int b_idle, r_idle;

  task automatic b_say(int rule, bit stops, string port, string what);
    if (!b_told[rule]) tp_check_pkg::breach(stops, port, $sformatf("answer %0d", writes + 1), what);
    b_told[rule] <= 1'b1;
  endtask
  task automatic r_say(int rule, bit stops, string port, string what);
    if (!r_told[rule]) tp_check_pkg::breach(stops, port, $sformatf("answer %0d", reads + 1), what);
    r_told[rule] <= 1'b1;
  endtask

  always_ff @(posedge clk) begin
    if (b_waited && rst_n && !quiet) begin
      if (!bvalid) b_say(GONE, STOPS, BVALID, "it was withdrawn before bready: an answer must stand until it is taken");
      else if (bresp != was_bresp)
        b_say(RESP, STOPS, BRESP, "it changed while bvalid waited for bready: it must stand until the answer is taken");
    end
    if (bvalid && rst_n) begin
      if ((aw_open == '0 && !aw) || (w_open == '0 && !w))
        b_say(BEFORE, STOPS, BVALID, $sformatf(
              "an answer, and no write waits for one: the core has taken %0d addresses and %0d words of data",
              writes + 32'(aw_open),
              writes + 32'(w_open)
              ));
      if (bresp == 2'b01) b_say(EXOKAY, STOPS, BRESP, "EXOKAY (1) is no answer of AXI4-Lite: give OKAY (0), SLVERR (2) or DECERR (3)");
    end
    b_waited <= bvalid && !bready && rst_n;
    if (bvalid) was_bresp <= bresp;
    if (aw || w || b) begin
      // An answer that nothing waits for counts for nothing.
      aw_open <= aw_open + 16'(aw) - 16'(b && (aw_open != '0 || aw));
      w_open  <= w_open + 16'(w) - 16'(b && (w_open != '0 || w));
      writes  <= writes + 32'(b);
    end
    if (awvalid || aw_open != '0) begin
      b_idle <= bvalid ? 0 : b_idle + 1;
      if (b_idle == PATIENCE && rst_n)
        b_say(SILENT, 1'b0, BVALID, $sformatf(
              "a write has had no answer for %0d clocks: the host's access will end by its timeout", PATIENCE));
    end else begin
      b_idle <= 0;
    end
    if (!rst_n) begin
      aw_open <= '0;
      w_open <= '0;
      writes <= '0;
    end
  end

  always_ff @(posedge clk) begin
    if (r_waited && rst_n && !quiet) begin
      if (!rvalid) begin
        r_say(GONE, STOPS, RVALID, "it was withdrawn before rready: an answer must stand until it is taken");
      end else begin
        if (rdata != was_rdata)
          r_say(DATA, STOPS, RDATA, "it changed while rvalid waited for rready: it must stand until the answer is taken");
        if (rresp != was_rresp)
          r_say(RESP, STOPS, RRESP, "it changed while rvalid waited for rready: it must stand until the answer is taken");
      end
    end
    if (rvalid && rst_n) begin
      if (ar_open == '0 && !ar)
        r_say(BEFORE, STOPS, RVALID, $sformatf("an answer, and no read waits for one: the core has taken %0d addresses", reads));
      if (rresp == 2'b01) r_say(EXOKAY, STOPS, RRESP, "EXOKAY (1) is no answer of AXI4-Lite: give OKAY (0), SLVERR (2) or DECERR (3)");
    end
    r_waited <= rvalid && !rready && rst_n;
    if (rvalid) {was_rdata, was_rresp} <= {rdata, rresp};
    if (ar || r) begin
      ar_open <= ar_open + 16'(ar) - 16'(r && (ar_open != '0 || ar));
      reads   <= reads + 32'(r);
    end
    if (arvalid || ar_open != '0) begin
      r_idle <= rvalid ? 0 : r_idle + 1;
      if (r_idle == PATIENCE && rst_n)
        r_say(SILENT, 1'b0, RVALID, $sformatf("a read has had no answer for %0d clocks: the host's access will end by its timeout", PATIENCE
              ));
    end else begin
      r_idle <= 0;
    end
    if (!rst_n) begin
      ar_open <= '0;
      reads   <= '0;
    end
  end
endmodule
