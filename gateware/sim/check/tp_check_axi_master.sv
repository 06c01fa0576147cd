// SPDX-License-Identifier: Apache-2.0
// Watches the requests of an AXI4 port where the user core is the master: its write addresses, or its read addresses. Each rule is told once.
//
// Rules (AMBA AXI and ACE Protocol Specification, A3.2 and A3.4.1): a request stands, unchanged, until it is taken; beats are no wider than the port; there are three kinds of
// burst; INCR crosses no multiple of 4096; WRAP has 2, 4, 8 or 16 beats and begins at a multiple of their size; FIXED has 16 beats at most.
// tp_check_axi_data watches the data of writes.
module tp_check_axi_master #(
    parameter int WIDTH = 128,
    parameter int ADDRESS = 32,
    parameter bit STOPS = 1'b1,
    parameter string VALID = "awvalid",
    parameter string ADDR = "awaddr",
    parameter string LEN = "awlen",
    parameter string SIZE = "awsize",
    parameter string BURST = "awburst"
) (
    input logic               clk,
    input logic               rst_n,
    input logic               quiet,
    input logic               valid,
    input logic               ready,
    input logic [ADDRESS-1:0] addr,
    input logic [        7:0] len,
    input logic [        2:0] size,
    input logic [        1:0] burst
);
  localparam int GONE = 0, ADDRESSES = 1, LENGTHS = 2, SIZES = 3, KINDS = 4, WIDE = 5, NONE = 6, CROSSES = 7, BEATS = 8, ALIGNED = 9;
  localparam string STANDS = "it must stand until the request is taken";
  logic waited;
  logic [ADDRESS-1:0] was_addr;
  logic [7:0] was_len;
  logic [2:0] was_size;
  logic [1:0] was_burst;
  logic [31:0] bursts;
  logic [9:0] told;
  int bytes, last;  // of the burst: from its first address, aligned; the last one's offset in its 4096

  task automatic say(int rule, string port, string what);
    if (!told[rule]) tp_check_pkg::breach(STOPS, port, $sformatf("burst %0d", bursts + 1), what);
    told[rule] <= 1'b1;
  endtask

  assign bytes = (32'(len) + 1) << size;
  assign last  = 32'((12'(addr) >> size) << size) + bytes - 1;
  always_ff @(posedge clk) begin
    if (waited && rst_n && !quiet) begin
      if (!valid) begin
        say(GONE, VALID, $sformatf("it was withdrawn before it was taken: %s", STANDS));
      end else begin
        if (addr != was_addr) say(ADDRESSES, ADDR, $sformatf("it changed from %h to %h: %s", was_addr, addr, STANDS));
        if (len != was_len) say(LENGTHS, LEN, $sformatf("it changed from %0d to %0d: %s", was_len, len, STANDS));
        if (size != was_size) say(SIZES, SIZE, $sformatf("it changed from %0d to %0d: %s", was_size, size, STANDS));
        if (burst != was_burst) say(KINDS, BURST, $sformatf("it changed from %0d to %0d: %s", was_burst, burst, STANDS));
      end
    end
    if (valid && rst_n) begin
      if (8 << size > WIDTH) say(WIDE, SIZE, $sformatf("%0d: beats of %0d bytes, and the port has %0d", size, 1 << size, WIDTH / 8));
      case (burst)
        2'b00: if (len > 15) say(BEATS, LEN, $sformatf("%0d: a burst of kind FIXED has 16 beats at most", len));
        2'b01:
        if (last > 4095)
          say(CROSSES, ADDR, $sformatf("%h: %0d bytes from there cross a multiple of 4096: cut the burst there", addr, bytes));
        2'b10: begin
          if (!(len inside {1, 3, 7, 15})) say(BEATS, LEN, $sformatf("%0d: a burst of kind WRAP has 2, 4, 8 or 16 beats", len));
          if ((addr >> size) << size != addr)
            say(ALIGNED, ADDR, $sformatf("%h: a burst of kind WRAP begins at a multiple of %0d bytes, its beats' size", addr, 1 << size));
        end
        default: say(NONE, BURST, "3 is no kind of burst: give FIXED (0), INCR (1) or WRAP (2)");
      endcase
    end
    waited <= valid && !ready && rst_n;
    if (valid && !ready) {was_addr, was_len, was_size, was_burst} <= {addr, len, size, burst};
    if (valid && ready) bursts <= bursts + 1;
    if (!rst_n) bursts <= '0;
  end
endmodule
