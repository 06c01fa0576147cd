// SPDX-License-Identifier: Apache-2.0
// The pool of tags for read requests: which are out, since when, and which are in quarantine.
//
// A read that is not answered within the completion timeout is `overdue`: the landing ends it, and its tag goes into quarantine, so that a
// late answer finds no other read under its tag. A tag leaves quarantine when the last of its answer has come (`free`), when
// the link goes down, or after `quarantine` completion timeouts. When the link goes down every read that is out is overdue at once.
//
// A sweep over all tags follows every tick of half a timeout and adds 1 to the age of each; a read that is 2 old is overdue, so after one
// to one and a half timeouts. Ages stand in a small RAM with one writer at a time: a sweep pauses while a tag is handed out.
//
// Promises: a tag handed out is not handed out again before it is freed; nothing but `rst` empties the quarantine early. After reset TAGS
// cycles pass until all are in the pool. While `hold`, ask for nothing: the pool is not full yet, the landing needs a free cycle, or the link went down.
module tp_tags #(
    parameter int TAGS = 32,              // a power of two, 8 to 256
    parameter int CORE_CLOCK_KHZ = 250000,
    localparam int TW = $clog2(TAGS)
) (
    input  logic            clk,
    input  logic            rst,
    input  logic [3:0]      completion_timeout,  // Device Control 2 (PCI Express Base Specification, 7.5.3.16); all ones: never
    input  logic            link_up,
    input  logic [7:0]      quarantine,          // 0: until the answer comes or the link goes down
    output logic            valid,               // a tag is free
    output logic [TW-1:0]   tag,
    input  logic            take,
    input  logic            free_valid,          // the last of its answer has come
    input  logic [TW-1:0]   free_tag,
    input  logic            give_up_valid,       // its read has ended, its answer may still come
    input  logic [TW-1:0]   give_up_tag,
    output logic [TAGS-1:0] busy,                // out, in quarantine too
    output logic [TAGS-1:0] quarantined,
    output logic [TW:0]     count,               // in quarantine
    input  logic            shown_valid,         // this read is shown to the link and not taken: it may still go out
    input  logic [TW-1:0]   shown_tag,
    input  logic            landing_valid,       // a packet under this tag is half way in
    input  logic [TW-1:0]   landing_tag,
    output logic            overdue_valid,
    input  logic            overdue_ready,       // its read ends: `give_up` follows, unless the answer has come after all
    output logic [TW-1:0]   overdue_tag,
    output logic            overdue_link,        // because the link went down
    output logic            hold
);
  if (TAGS < 8 || TAGS > 256 || (TAGS & (TAGS - 1)) != 0) $error("%m: TAGS %0d: use a power of two from 8 to 256", TAGS);

  // ------------------------------------------------------------------------------------------------ time
  // Half a timeout is 33 us times a power of two: so each code's timeout lies inside the range that the specification gives for it.
  localparam int UNIT = CORE_CLOCK_KHZ * 33 / 1000;
  localparam int UW = $clog2(UNIT);
  logic [UW-1:0] unit;
  logic [17:0] spans, mask;
  logic tick, timed;
  always_comb begin
    timed = 1'b1;
    case (completion_timeout)
      4'h0, 4'h5: mask = 18'h000ff;         // 17 to 25 ms
      4'h1: mask = 18'h00000;               // 66 to 99 us
      4'h2: mask = 18'h0003f;               // 4.2 to 6.3 ms
      4'h6: mask = 18'h003ff;               // 68 to 101 ms
      4'h9: mask = 18'h00fff;               // 270 to 405 ms
      4'ha: mask = 18'h03fff;               // 1.1 to 1.6 s
      4'hd: mask = 18'h0ffff;               // 4.3 to 6.5 s
      4'he: mask = 18'h3ffff;               // 17 to 26 s
      default: begin
        mask = '1;
        timed = 1'b0;
      end
    endcase
  end
  always_ff @(posedge clk) begin
    unit <= unit == '0 ? UW'(UNIT - 1) : unit - 1'b1;
    if (unit == '0) spans <= spans + 1'b1;
    tick <= unit == '0 && (spans & mask) == '0;
    if (rst) begin
      unit <= '0;
      spans <= '0;
      tick <= 1'b0;
    end
  end

  logic [TW:0] fill;  // counts up while the pool is filled for the first time
  logic filling;
  assign filling = !fill[TW];

  // ------------------------------------------------------------------------------------------------ sweep
  localparam int AW = 10;  // of an age: 2 * 255 + 3 and more fit
  logic [AW-1:0] ages[TAGS];
  logic [AW-1:0] age;
  logic sweeping, was_up;
  logic dead;                               // the link went down: one sweep gives up every read, a second one empties the quarantine
  logic second;
  logic [TW-1:0] at;
  logic late, spent, step, release_valid;
  assign age = ages[at];
  assign late = sweeping && busy[at] && !quarantined[at] && (dead || (timed && age >= AW'(2)));
  assign spent = sweeping && quarantined[at] && !(shown_valid && shown_tag == at) && !(landing_valid && landing_tag == at) &&
                 ((dead && second) || (quarantine != 0 && age[AW-1:1] > (AW - 1)'(quarantine)));
  assign overdue_valid = late && !take;
  assign overdue_tag = at;
  assign overdue_link = dead;
  assign release_valid = spent && !free_valid;
  assign step = sweeping && !take && (late ? overdue_ready : !spent || !free_valid);

  always_ff @(posedge clk) begin
    if (take) ages[tag] <= '0;
    else if (sweeping) ages[at] <= late ? (overdue_ready ? '0 : age) : age == '1 || !step ? age : age + 1'b1;
  end
  always_ff @(posedge clk) begin
    hold <= late || dead || !link_up || filling;
    was_up <= link_up;
    if (step) begin
      at <= at + 1'b1;
      if (&at) begin
        sweeping <= dead && !second;
        dead <= dead && !second;
        second <= dead && !second;
      end
    end
    if (tick && !sweeping) sweeping <= 1'b1;
    if (was_up && !link_up) begin
      sweeping <= 1'b1;
      dead <= 1'b1;
      second <= 1'b0;
      at <= '0;
    end
    if (rst) begin
      sweeping <= 1'b0;
      dead <= 1'b0;
      second <= 1'b0;
      was_up <= 1'b0;
      hold <= 1'b1;
      at <= '0;
    end
  end

  // ------------------------------------------------------------------------------------------------ pool
  logic put_ready, put;
  logic [TW-1:0] put_tag;
  assign put = free_valid || release_valid;
  assign put_tag = free_valid ? free_tag : at;

  tp_fifo #(
      .WIDTH(TW),
      .DEPTH(TAGS)
  ) i_pool (
      .clk,
      .rst,
      .clear(1'b0),
      .in_valid(filling || put),
      .in_ready(put_ready),
      .in_data(filling ? fill[TW-1:0] : put_tag),
      .out_valid(valid),
      .out_ready(take),
      .out_data(tag),
      .count()
  );

  always_ff @(posedge clk) begin
    if (filling) fill <= fill + 1'b1;
    if (take && valid) busy[tag] <= 1'b1;
    if (give_up_valid) quarantined[give_up_tag] <= 1'b1;
    if (put) begin
      busy[put_tag] <= 1'b0;
      quarantined[put_tag] <= 1'b0;
    end
    count <= count + (TW + 1)'(give_up_valid) - (TW + 1)'(put && quarantined[put_tag]);
    if (rst) begin
      fill <= '0;
      busy <= '0;
      quarantined <= '0;
      count <= '0;
    end else begin
      assert (!put || (busy[put_tag] && put_ready))
      else $error("%m: tag %0d freed twice", put_tag);
      assert (!give_up_valid || (busy[give_up_tag] && !quarantined[give_up_tag]))
      else $error("%m: tag %0d given up twice", give_up_tag);
    end
  end
endmodule
