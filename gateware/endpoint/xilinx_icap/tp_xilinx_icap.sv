// SPDX-License-Identifier: Apache-2.0
// What stands before the configuration port of these families, ICAPE2 (7 series) and ICAPE3 (UltraScale+): the port of plug-in `partial` on one side, the
// primitive's pins on the other.
//
// It takes a raw bit file (.bin), a dword at a time, the file's first byte highest, and turns each byte's bits round, as the primitive wants them at 32 bit
// (UG470 and UG570, "Parallel Bus Bit Order"). The primitive's clock is `tp_config_divided` behind a clock buffer: `clk`, which has at most CLOCK_KHZ, divided
// by the least even number that leaves at most MOST_KHZ. Its inputs change with the falling edge, which constraints must say
// (tools/boardproject.py writes them): half a period before they are taken, and half behind. A begin aborts what is under way: RDWRB changes while CSIB
// is low.
// A file is well if the primitive was in step (DALIGN) and, some time after the last dword, no longer is, and if it has reported no error since the begin. An
// error of the file before, which it may go on reporting, does not count until it has been gone. A primitive that says so itself must have done, too: ICAPE3's
// PRDONE; tie `icap_prdone` to 1 otherwise.
// Promises: a dword is taken once, in order, when `icap_avail` is 1; between dwords CSIB is high.
// It has not met hardware: its bench has a model of the primitive (boards/tests/icap).
// Not for: reading the configuration back.
module tp_xilinx_icap #(
    parameter int CLOCK_KHZ = 250_000,
    parameter int MOST_KHZ = 100_000,
    parameter int QUIET = 64  // clocks of the primitive's after which its word on a file stands
) (
    input  logic        clk,
    input  logic        config_start,
    input  logic        config_valid,
    output logic        config_ready,
    input  logic [31:0] config_data,
    input  logic        config_end,
    output logic        config_done,
    output logic        config_error,

    output logic        tp_config_divided,
    output logic        icap_csib,
    output logic        icap_rdwrb,         // 0 to write
    output logic [31:0] icap_i,
    // What the primitive says, in its own time.
    input  logic        icap_cfgerr_b,
    input  logic        icap_dalign,
    input  logic        icap_avail,
    input  logic        icap_prdone,
    input  logic        icap_prerror
);
  localparam int HALF = (CLOCK_KHZ + 2 * MOST_KHZ - 1) / (2 * MOST_KHZ);  // clocks of `clk` in half a clock of the primitive's
  localparam int PW = HALF == 1 ? 1 : $clog2(HALF);
  localparam int ABORT = 8;  // clocks of the primitive's in an abort: one to write, five to read, two to leave
  localparam logic [31:0] NOOP = 32'h0400_0000;  // as the primitive has it: the word by which an abort begins
  localparam int QW = $clog2(QUIET + 1);
  if (CLOCK_KHZ < 1 || MOST_KHZ < 1) $error("%m: CLOCK_KHZ %0d, MOST_KHZ %0d: give clocks in kHz", CLOCK_KHZ, MOST_KHZ);

  // Levels of the primitive's clock: where that stands to `clk` behind its buffer nobody needs to know.
  logic sound, in_step, available, done, wrong;
  tp_sync #(
      .WIDTH(5)
  ) levels (
      .clk,
      .d({icap_cfgerr_b, icap_dalign, icap_avail, icap_prdone, icap_prerror}),
      .q({sound, in_step, available, done, wrong})
  );

  logic [PW-1:0] phase;
  logic turn, beat, aborting, failing, was_failing, was_in_step;
  logic [3:0] abort_left;
  logic [QW-1:0] quiet_left;
  assign turn = tp_config_divided && phase == '0;
  assign config_ready = turn && abort_left == 0 && available;
  assign beat = config_valid && config_ready;
  assign aborting = abort_left != 0 && (available || abort_left != 4'(ABORT));  // one that something else takes is lost
  assign failing = !sound || wrong;

  initial begin
    {tp_config_divided, icap_rdwrb, config_done, config_error, was_failing, was_in_step} = '0;
    {phase, abort_left, quiet_left} = '0;
    icap_csib = 1'b1;
    icap_i = NOOP;
  end
  always_ff @(posedge clk) begin
    phase <= phase == '0 ? PW'(HALF - 1) : phase - 1'b1;
    if (phase == '0) tp_config_divided <= !tp_config_divided;
    if (turn) begin
      icap_csib <= !beat && !(aborting && abort_left > 2);
      icap_rdwrb <= abort_left > 1 && abort_left < 4'(ABORT);
      for (int i = 0; i < 32; i++) icap_i[i] <= beat ? config_data[(i/8)*8+7-i%8] : NOOP[i];
      if (aborting) abort_left <= abort_left - 1'b1;
      quiet_left <= config_end ? quiet_left - QW'(quiet_left != 0) : QW'(QUIET);
      if (abort_left == 0) begin
        was_in_step <= was_in_step || in_step;
        was_failing <= failing;
        if (failing && !was_failing) config_error <= 1'b1;
        if (config_end && quiet_left == 0) begin
          if (was_in_step && !in_step && done && !failing && !config_error) config_done <= 1'b1;
          else config_error <= 1'b1;
        end
      end
    end
    if (config_start) begin
      abort_left <= 4'(ABORT);
      quiet_left <= QW'(QUIET);
      was_failing <= 1'b1;
      {config_done, config_error, was_in_step} <= '0;
    end
  end
endmodule
