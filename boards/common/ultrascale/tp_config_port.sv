// SPDX-License-Identifier: Apache-2.0
// The configuration port of plug-in `partial` on UltraScale and UltraScale+: ICAPE3 (UG570).
//
// It takes a raw bit file (.bin), a dword at a time, the file's first byte highest, and turns each byte's bits round as the primitive wants them. The
// primitive's clock is `clk` divided by 2 * HALF, and 125 MHz at most. A begin aborts what is under way: RDWRB changes while CSIB is low.
// A file is well when the port says so (PRDONE), and has said nothing of an error (PRERROR).
// It has not met hardware, and no simulation here has the primitive: it is elaborated against a stub. The clock that it makes needs a constraint
// (create_generated_clock on `divided`), and the region a partition and a floorplan, which are the project's.
module tp_config_port #(
    parameter int HALF = 1
) (
    input  logic        clk,
    input  logic        config_start,
    input  logic        config_valid,
    output logic        config_ready,
    input  logic [31:0] config_data,
    input  logic        config_end,
    output logic        config_done,
    output logic        config_error
);
  localparam int ABORT = 6;  // clocks of the primitive's that an abort takes
  localparam int QUIET = 64;  // and those after which its word on a file stands

  logic divided, icap_clk, turn;
  logic [$clog2(HALF+1)-1:0] phase;
  BUFG i_clk (
      .I(divided),
      .O(icap_clk)
  );
  // What the primitive takes changes with the falling edge, half a clock before it is taken.
  assign turn = divided && phase == '0;

  logic chip, read;  // CSIB and RDWRB, active low and low to write
  logic [31:0] word, swapped;
  logic available, done, wrong, was_low, was_done;
  ICAPE3 i_icap (
      .CLK(icap_clk),
      .CSIB(chip),
      .RDWRB(read),
      .I(word),
      .AVAIL(available),
      .O(),
      .PRDONE(done),
      .PRERROR(wrong)
  );
  always_comb for (int i = 0; i < 32; i++) swapped[i] = config_data[(i/8)*8+7-i%8];

  logic [2:0] abort_left;
  logic [6:0] quiet_left;
  assign config_ready = turn && abort_left == 0 && available;

  always_ff @(posedge clk) begin
    phase <= phase == '0 ? ($clog2(HALF + 1))'(HALF - 1) : phase - 1'b1;
    if (phase == '0) divided <= !divided;
    if (turn) begin
      chip <= !(config_valid && config_ready) && abort_left <= 2;
      read <= abort_left > 1 && abort_left < 3'(ABORT);
      word <= config_valid && config_ready ? swapped : '1;
      if (abort_left != 0) abort_left <= abort_left - 1'b1;
      quiet_left <= !config_end ? 7'(QUIET) : quiet_left - 7'(quiet_left != 0);
      if (abort_left == 0) begin
        was_low <= was_low || !done;
        was_done <= was_done || done && was_low;  // not the file's before
        if (wrong) config_error <= 1'b1;
        if (config_end && quiet_left == 0) begin
          if (was_done && !wrong) config_done <= 1'b1;
          else config_error <= 1'b1;
        end
      end
    end
    if (config_start) begin
      abort_left <= 3'(ABORT);
      {config_done, config_error, was_low, was_done} <= '0;
    end
  end
  initial begin
    {divided, read, config_done, config_error, was_low, was_done} = '0;
    {phase, abort_left} = '0;
    chip = 1'b1;
  end
endmodule
