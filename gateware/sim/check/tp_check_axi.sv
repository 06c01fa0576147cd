// SPDX-License-Identifier: Apache-2.0
// Watches an AXI4 port of a user core's memory, or with LITE the AXI4-Lite port of its registers, which the core answers. Each rule is told once.
//
// Rules: a write is answered once, after its address and its last beat; a read after its address, with as many beats as arlen says, and rlast on the last of them
// alone; answers stand until they are taken, have ID 0 as their requests, and are not EXOKAY. A burst that is not answered within PATIENCE clocks is a warning;
// with LITE an address that is not taken, too, for the host's access ends by its own timeout.
// Not for: more than 64 reads at a time, as many as the gateware has with a window; IDs other than 0.
module tp_check_axi #(
    parameter bit LITE = 1'b0,  // wlast, rlast 1, arlen and IDs 0
    parameter int WIDTH = 128,
    parameter int ID = 1,
    parameter bit STOPS = 1'b1,
    parameter int PATIENCE = 65536,
    parameter string BVALID = "bvalid",
    parameter string BRESP = "bresp",
    parameter string BID = "bid",
    parameter string RVALID = "rvalid",
    parameter string RDATA = "rdata",
    parameter string RRESP = "rresp",
    parameter string RLAST = "rlast",
    parameter string RID = "rid"
) (
    input logic             clk,
    input logic             rst_n,
    input logic             quiet,
    input logic             awvalid,
    input logic             awready,
    input logic             wlast,
    input logic             wvalid,
    input logic             wready,
    input logic [      1:0] bresp,
    input logic [   ID-1:0] bid,
    input logic             bvalid,
    input logic             bready,
    input logic [      7:0] arlen,
    input logic             arvalid,
    input logic             arready,
    input logic [WIDTH-1:0] rdata,
    input logic [      1:0] rresp,
    input logic             rlast,
    input logic [   ID-1:0] rid,
    input logic             rvalid,
    input logic             rready
);
  localparam int GONE = 0, RESP = 1, DATA = 2, BEFORE = 3, EXOKAY = 4, SILENT = 5, OTHER = 6, EARLY = 7, LATE = 8, ENDS = 9;
  logic aw, w, b, ar, r;  // handshakes; of data the last beat's
  assign aw = awvalid && awready;
  assign w = wvalid && wready && wlast;
  assign b = bvalid && bready;
  assign ar = arvalid && arready;
  assign r = rvalid && rready;

  logic [15:0] aw_open, w_open;  // bursts that were taken and not answered
  logic b_waited;
  logic [1:0] was_bresp;
  logic [31:0] writes;
  logic [9:0] b_told;
  int b_idle;

  task automatic b_say(int rule, bit stops, string port, string what);
    if (!b_told[rule]) tp_check_pkg::breach(stops, port, $sformatf("answer %0d", writes + 1), what);
    b_told[rule] <= 1'b1;
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
              "an answer, and no write waits for one: the core has taken %0d addresses and the data of %0d writes",
              writes + 32'(aw_open),
              writes + 32'(w_open)
              ));
      if (bresp == 2'b01)
        b_say(EXOKAY, STOPS, BRESP, "EXOKAY (1) answers exclusive accesses, and there are none: give OKAY (0), SLVERR (2) or DECERR (3)");
      if (bid != '0) b_say(OTHER, STOPS, BID, $sformatf("%0d: an answer has the ID of its request, and all requests have 0", bid));
    end
    b_waited <= bvalid && !bready && rst_n;
    if (bvalid) was_bresp <= bresp;
    if (aw || w || b) begin
      // An answer that nothing waits for counts for nothing.
      aw_open <= aw_open + 16'(aw) - 16'(b && (aw_open != '0 || aw));
      w_open  <= w_open + 16'(w) - 16'(b && (w_open != '0 || w));
      writes  <= writes + 32'(b);
    end
    if (LITE ? awvalid || aw_open != '0 : aw_open != '0 && w_open != '0) begin
      b_idle <= bvalid ? 0 : b_idle + 1;
      if (b_idle == PATIENCE && rst_n) b_say(SILENT, 1'b0, BVALID, $sformatf("a write has had no answer for %0d clocks", PATIENCE));
    end else begin
      b_idle <= 0;
    end
    if (!rst_n) begin
      aw_open <= '0;
      w_open <= '0;
      writes <= '0;
    end
  end

  // Lengths of reads that were taken, in their order.
  logic [7:0] lengths[64];
  logic [6:0] asked, done;
  logic [7:0] beat;  // of the read in hand
  logic [7:0] length;
  logic open;
  assign open = asked != done;
  assign length = open ? lengths[done[5:0]] : arlen;
  logic r_waited, was_rlast;
  logic [1:0] was_rresp;
  logic [WIDTH-1:0] was_rdata;
  logic [63:0] beats;
  logic [9:0] r_told;
  int r_idle;

  task automatic r_say(int rule, bit stops, string port, string what);
    if (!r_told[rule]) tp_check_pkg::breach(stops, port, $sformatf("%0s %0d", LITE ? "answer" : "beat", beats + 1), what);
    r_told[rule] <= 1'b1;
  endtask

  always_ff @(posedge clk) begin
    if (r_waited && rst_n && !quiet) begin
      if (!rvalid) begin
        r_say(GONE, STOPS, RVALID, "it was withdrawn before rready: an answer must stand until it is taken");
      end else begin
        if (rdata != was_rdata)
          r_say(DATA, STOPS, RDATA, "it changed while rvalid waited for rready: it must stand until the beat is taken");
        if (rresp != was_rresp)
          r_say(RESP, STOPS, RRESP, "it changed while rvalid waited for rready: it must stand until the beat is taken");
        if (rlast != was_rlast)
          r_say(ENDS, STOPS, RLAST, "it changed while rvalid waited for rready: it must stand until the beat is taken");
      end
    end
    if (rvalid && rst_n) begin
      if (!open && !ar) begin
        r_say(BEFORE, STOPS, RVALID,
              LITE ? "an answer, and no read waits for one" : "data, and no read waits for it: all that arlen asked for has come");
      end else if (!r_waited || rlast == was_rlast) begin
        if (rlast && beat != length) r_say(EARLY, STOPS, RLAST, $sformatf("it is with beat %0d of %0d of a read", beat + 1, length + 1));
        if (!rlast && beat == length)
          r_say(LATE, STOPS, RLAST, $sformatf("it is not with the last of the %0d beats of a read", length + 1));
      end
      if (rresp == 2'b01)
        r_say(EXOKAY, STOPS, RRESP, "EXOKAY (1) answers exclusive accesses, and there are none: give OKAY (0), SLVERR (2) or DECERR (3)");
      if (rid != '0) r_say(OTHER, STOPS, RID, $sformatf("%0d: an answer has the ID of its request, and all requests have 0", rid));
    end
    r_waited <= rvalid && !rready && rst_n;
    if (rvalid && !rready) {was_rdata, was_rresp, was_rlast} <= {rdata, rresp, rlast};
    if (ar) begin
      lengths[asked[5:0]] <= arlen;
      asked <= asked + 1'b1;
    end
    if (r && (open || ar)) begin
      beats <= beats + 1;
      beat  <= beat == length ? '0 : beat + 1'b1;
      if (beat == length) done <= done + 1'b1;
    end
    if (open || (LITE && arvalid)) begin
      r_idle <= rvalid ? 0 : r_idle + 1;
      if (r_idle == PATIENCE && rst_n) r_say(SILENT, 1'b0, RVALID, $sformatf("a read has had no answer for %0d clocks", PATIENCE));
    end else begin
      r_idle <= 0;
    end
    if (!rst_n) begin
      asked <= '0;
      done  <= '0;
      beat  <= '0;
      beats <= '0;
    end
  end
endmodule
