// SPDX-License-Identifier: Apache-2.0
// Watches an AXI4-Stream port that the user core drives, with the core's own width and names. Each rule is told once.
//
// Rules: what is shown stands until it is taken (valid, bytes that tkeep names, tkeep, tlast; attributes with a message's first beat); tkeep is 2^n - 1, and full
// before tlast. In `quiet` clocks, around a channel's reset, what is shown may go.
// Not for: streams without tkeep or tlast as such; the wrapper ties these to 1.
module tp_check_axis #(
    parameter int WIDTH = 128,
    parameter bit STOPS = 1'b1,
    parameter bit NULLS = 1'b0,      // beats without bytes may come before tlast, too
    parameter string TVALID = "tvalid",
    parameter string TDATA = "tdata",
    parameter string TKEEP = "tkeep",
    parameter string TLAST = "tlast",
    parameter string LENGTH = "length",
    parameter string OFFSET = "offset",
    parameter string USER = "user",
    localparam int KEEP = WIDTH / 8
) (
    input logic             clk,
    input logic             rst_n,
    input logic             quiet,
    input logic             tvalid,
    input logic             tready,
    input logic [WIDTH-1:0] tdata,
    input logic [ KEEP-1:0] tkeep,
    input logic             tlast,
    input logic [     47:0] length,
    input logic [     31:0] offset,
    input logic [     31:0] user
);
  localparam int GONE = 0, DATA = 1, LANES = 2, ENDS = 3, HOLES = 4, PARTIAL = 5, LENGTHS = 6, OFFSETS = 7, USERS = 8;
  logic waited, midway;  // a beat was not taken; a message has begun
  logic [63:0] beats;
  logic [8:0] told;
  logic [WIDTH-1:0] was_tdata;
  logic [KEEP-1:0] was_tkeep;
  logic was_tlast;
  logic [47:0] was_length;
  logic [31:0] was_offset, was_user;

  task automatic say(int rule, string port, string what);
    if (!told[rule]) tp_check_pkg::breach(STOPS, port, $sformatf("beat %0d", beats + 1), what);
    told[rule] <= 1'b1;
  endtask

  function automatic logic bytes_differ();
    for (int b = 0; b < KEEP; b++) if (was_tkeep[b] && tdata[8*b+:8] != was_tdata[8*b+:8]) return 1'b1;
    return 1'b0;
  endfunction

  always_ff @(posedge clk) begin
    if (waited && rst_n && !quiet) begin
      if (!tvalid) begin
        say(GONE, TVALID, "it was withdrawn before tready: what is shown must stand until it is taken");
      end else begin
        if (tdata != was_tdata && bytes_differ())
          say(DATA, TDATA, "it changed while tvalid waited for tready: it must stand until the beat is taken");
        if (tkeep != was_tkeep)
          say(LANES, TKEEP, $sformatf(
              "it changed from %b to %b while tvalid waited for tready: it must stand until the beat is taken", was_tkeep, tkeep));
        if (tlast != was_tlast) say(ENDS, TLAST, "it changed while tvalid waited for tready: it must stand until the beat is taken");
        if (!midway) begin
          if (length != was_length)
            say(LENGTHS, LENGTH, "it changed while a message's first beat waited for tready: it must stand until that is taken");
          if (offset != was_offset)
            say(OFFSETS, OFFSET, "it changed while a message's first beat waited for tready: it must stand until that is taken");
          if (user != was_user)
            say(USERS, USER, "it changed while a message's first beat waited for tready: it must stand until that is taken");
        end
      end
    end
    if (tvalid && rst_n && !quiet && !(&tkeep)) begin
      if ((tkeep & (tkeep + 1'b1)) != '0)
        say(HOLES, TKEEP, $sformatf("%b has holes: the bytes of a beat are in its lowest lanes, 2^n - 1 for n bytes", tkeep));
      else if (!tlast && !(NULLS && tkeep == '0))
        say(PARTIAL, TKEEP, $sformatf("%b without tlast: only a message's last beat may be partial", tkeep));
    end
    waited <= tvalid && !tready && rst_n;
    if (tvalid && !tready) begin
      was_tdata <= tdata;
      was_tkeep <= tkeep;
      was_tlast <= tlast;
      {was_length, was_offset, was_user} <= {length, offset, user};
    end
    if (tvalid && tready) begin
      beats <= beats + 1;
      midway <= !tlast;
    end
    if (quiet || !rst_n) midway <= 1'b0;
    if (!rst_n) beats <= '0;
  end
endmodule
