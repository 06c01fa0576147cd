// SPDX-License-Identifier: Apache-2.0
// Watches the data that a user core writes at an AXI4 port where it is the master. Each rule is told once.
//
// Rules (AMBA AXI and ACE Protocol Specification, A3.2 and A3.4.1): a beat stands, unchanged, until it is taken, the bytes that wstrb names; wlast is with the last beat that
// awlen says, and with no other.
// Not for: data whose address has not been taken; it counts for no burst.
module tp_check_axi_data #(
    parameter int WIDTH = 128,
    parameter bit STOPS = 1'b1,
    parameter string WVALID = "wvalid",
    parameter string WDATA = "wdata",
    parameter string WSTRB = "wstrb",
    parameter string WLAST = "wlast"
) (
    input logic               clk,
    input logic               rst_n,
    input logic               quiet,
    input logic [        7:0] awlen,
    input logic               awvalid,
    input logic               awready,
    input logic [  WIDTH-1:0] wdata,
    input logic [WIDTH/8-1:0] wstrb,
    input logic               wlast,
    input logic               wvalid,
    input logic               wready
);
  localparam int GONE = 0, DATA = 1, STROBES = 2, ENDS = 3, EARLY = 4, LATE = 5;
  logic aw, waited, was_wlast, open;
  logic [WIDTH-1:0] was_wdata, named;
  logic [WIDTH/8-1:0] was_wstrb;
  logic [63:0] beats;
  logic [5:0] told;
  assign aw = awvalid && awready;
  // Lengths of bursts whose addresses were taken, in their order.
  logic [7:0] lengths[64];
  logic [6:0] asked, done;
  logic [7:0] beat, length;  // of the burst in hand
  assign open = asked != done;
  assign length = open ? lengths[done[5:0]] : awlen;
  always_comb for (int b = 0; b < WIDTH / 8; b++) named[8*b+:8] = {8{wstrb[b]}};

  task automatic say(int rule, string port, string what);
    if (!told[rule]) tp_check_pkg::breach(STOPS, port, $sformatf("beat %0d", beats + 1), what);
    told[rule] <= 1'b1;
  endtask

  always_ff @(posedge clk) begin
    if (waited && rst_n && !quiet) begin
      if (!wvalid) begin
        say(GONE, WVALID, "it was withdrawn before wready: a beat must stand until it is taken");
      end else begin
        if (wstrb != was_wstrb) say(STROBES, WSTRB, "it changed while wvalid waited for wready: it must stand until the beat is taken");
        else if (((wdata ^ was_wdata) & named) != '0)
          say(DATA, WDATA, "it changed while wvalid waited for wready: it must stand until the beat is taken");
        if (wlast != was_wlast) say(ENDS, WLAST, "it changed while wvalid waited for wready: it must stand until the beat is taken");
      end
    end
    if (wvalid && rst_n && (open || aw) && (!waited || wlast == was_wlast)) begin
      if (wlast && beat != length) say(EARLY, WLAST, $sformatf("it is with beat %0d of %0d of a burst", beat + 1, length + 1));
      if (!wlast && beat == length) say(LATE, WLAST, $sformatf("it is not with the last of the %0d beats of a burst", length + 1));
    end
    waited <= wvalid && !wready && rst_n;
    if (wvalid && !wready) {was_wdata, was_wstrb, was_wlast} <= {wdata, wstrb, wlast};
    if (aw) begin
      lengths[asked[5:0]] <= awlen;
      asked <= asked + 1'b1;
    end
    if (wvalid && wready) begin
      beats <= beats + 1;
      if (open || aw) begin
        beat <= beat == length ? '0 : beat + 1'b1;
        if (beat == length) done <= done + 1'b1;
      end
    end
    if (!rst_n) begin
      asked <= '0;
      done  <= '0;
      beat  <= '0;
      beats <= '0;
    end
  end
endmodule
