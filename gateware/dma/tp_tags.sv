// SPDX-License-Identifier: Apache-2.0
// The pool of tags for read requests: which are out, since when, and which are in quarantine.
//
// A read that is not answered within the completion timeout is `overdue`: the landing ends it, and its tag goes into quarantine, so that a
// late answer finds no other read under its tag. A tag leaves quarantine when the last of its answer has come (`free`), when
// the link goes down, or after `quarantine` completion timeouts. When the link goes down, and when the card is reset (`abandon`), every read
// that is out is overdue at once: two cycles a tag and what the landing needs.
//
// A sweep over all tags follows every tick of half a timeout and adds 1 to the age of each; a read that is 2 old is overdue, so after one
// to one and a half timeouts. The landing is then told of it, which ends the read unless something has ended it before: in either case the tag
// is in quarantine from then on, and its age begins anew.
//
// What is known of a tag stands in small RAMs with one writer each. A tag is out while its two laps differ: one is turned when it is handed out, the
// other follows when it is put back. The lap also tells the landing what belongs to an earlier read of the same tag. After reset a first sweep
// puts every tag back, and tells the landing of each, so that nothing of before counts.
//
// A function may use tags of 5 bits, or of 8 where the host enables extended tags. Tags above the first 32 stand in a pool of their own, which is
// used first, and only while that is so.
//
// Each client has one of the first tags for itself, if there are at least two tags up to SHORT for each client. All others form a pool, which serves
// requests in their order; a client's own tag serves when the pool is empty. So unanswered reads of one client leave every other client one read at a time.
//
// Promises: a tag handed out is not handed out again before it is freed; nothing but `rst` empties the quarantine early: after `abandon` the
// answers may still come. After reset TAGS cycles without a packet pass until all are in the pool. While `hold`, ask for nothing: the pool is
// not full yet, the landing needs a free cycle, or the link went down.
module tp_tags #(
    parameter int TAGS = 32,              // a power of two, 2 to 256
    parameter int CORE_CLOCK_KHZ = 250000,
    parameter int SHORT = 32,             // tags that need no permission, a power of two
    parameter int CLIENTS = 1,
    localparam int TW = $clog2(TAGS),
    localparam int IW = CLIENTS > 1 ? $clog2(CLIENTS) : 1
) (
    input  logic          clk,
    input  logic          rst,
    input  logic [3:0]    completion_timeout,  // Device Control 2 (PCI Express Base Specification, 7.5.3.16); all ones: never
    input  logic          link_up,
    input  logic          abandon,             // a pulse: nobody waits for any answer
    input  logic [7:0]    quarantine,          // 0: until the answer comes or the link goes down
    input  logic          extended,            // tags from SHORT on are allowed
    output logic [CLIENTS-1:0] may,            // there is a tag for this client
    input  logic [IW-1:0] client,              // takes, if any does
    output logic [TW-1:0] tag,
    input  logic          take,
    input  logic [TW-1:0] look_tag,
    output logic          look_out,            // this tag is out, be it in quarantine: two cycles after `take` and later
    output logic          look_lap,            // another one each time it is handed out
    input  logic          quiet,               // no packet is in hand or half way in, nor was a cycle ago: tags may leave quarantine
    input  logic          free_valid,          // the last of its answer has come; only when not quiet
    input  logic          free_late,           // ... and it was in quarantine
    input  logic          give_up_valid,       // its read has ended, its answer may still come
    input  logic [TW-1:0] free_tag,
    output logic [TW:0]   count,               // in quarantine
    input  logic          shown_valid,         // this read is shown to the link and not taken: it may still go out
    input  logic [TW-1:0] shown_tag,
    output logic          overdue_valid,
    input  logic          overdue_ready,       // its read ends: `give_up` follows, unless the answer has come after all
    output logic [TW-1:0] overdue_tag,
    output logic          overdue_link,        // because the link went down, ...
    output logic          overdue_reset,       // ... or by `abandon`
    output logic          hold
);
  if (TAGS < 2 || TAGS > 256 || (TAGS & (TAGS - 1)) != 0) $error("%m: TAGS %0d: use a power of two from 2 to 256", TAGS);

  // ------------------------------------------------------------------------------------------------ time
  // Half a timeout is 33 us times a power of two: so each code's timeout lies inside the range that the specification gives for it.
  localparam int UNIT = CORE_CLOCK_KHZ * 33 / 1000;
  localparam int UW = $clog2(UNIT);
  logic [UW-1:0] unit;
  logic [17:0] spans, mask;
  logic unit_over, tick, timed;
  always_ff @(posedge clk) begin
    timed <= 1'b1;
    case (completion_timeout)
      4'h0, 4'h5: mask <= 18'h000ff;        // 17 to 25 ms
      4'h1: mask <= 18'h00000;              // 66 to 99 us
      4'h2: mask <= 18'h0003f;              // 4.2 to 6.3 ms
      4'h6: mask <= 18'h003ff;              // 68 to 101 ms
      4'h9: mask <= 18'h00fff;              // 270 to 405 ms
      4'ha: mask <= 18'h03fff;              // 1.1 to 1.6 s
      4'hd: mask <= 18'h0ffff;              // 4.3 to 6.5 s
      4'he: mask <= 18'h3ffff;              // 17 to 26 s
      default: begin
        mask <= '1;
        timed <= 1'b0;
      end
    endcase
  end
  always_ff @(posedge clk) begin
    unit <= unit + 1'b1;
    unit_over <= unit == UW'(UNIT - 2);
    if (unit_over) begin
      unit <= '0;
      spans <= spans + 1'b1;
    end
    tick <= unit_over && (spans & mask) == '0;
    if (rst) begin
      unit <= '0;
      unit_over <= 1'b0;
      spans <= '0;
      tick <= 1'b0;
    end
  end

  // ------------------------------------------------------------------------------------------------ what is out
  logic took;                               // a tag was handed out in the cycle before
  logic [TW-1:0] took_tag;
  logic put;
  logic [TW-1:0] put_tag;
  logic [TW-1:0] at;                        // where the sweep is
  logic out_laps[TAGS];
  logic back_laps[TAGS];
  logic filling;
  logic at_out;
  always_ff @(posedge clk) begin
    took <= take && !rst;
    took_tag <= tag;
    if (took) out_laps[took_tag] <= !out_laps[took_tag];
    if (put) back_laps[put_tag] <= out_laps[put_tag];
  end
  initial for (int i = 0; i < TAGS; i++) out_laps[i] = 1'b0;  // not unknown; either will do
  assign look_lap = out_laps[look_tag];
  assign look_out = look_lap != back_laps[look_tag] && !filling;
  assign at_out = out_laps[at] != back_laps[at];

  // ------------------------------------------------------------------------------------------------ sweep
  localparam int AW = 10;  // of an age: 2 * 255 + 2 fit, and count no further
  typedef struct packed {
    logic          told;                    // overdue, and the landing knows: in quarantine
    logic [AW-1:0] age;
  } row_t;
  logic [AW:0] rows[TAGS];
  row_t row;
  logic sweeping, was_up;
  logic seen, late, spent;  // the row was looked at in the cycle before; its read is overdue, its quarantine over
  logic dead;  // one sweep gives up every read, ...
  logic lost, second;  // ... and, if the link went down, a second one empties the quarantine
  logic look, step, release_valid;
  assign row = rows[at];
  assign look = sweeping && !step && !took;
  assign overdue_valid = filling || (late && !took);
  assign overdue_tag = at;
  assign overdue_link = dead && lost;
  assign overdue_reset = dead && !lost;
  assign release_valid = spent && quiet && !took && !(shown_valid && shown_tag == at);
  always_comb begin
    if (filling || late) step = overdue_ready;
    else step = seen && (quiet || !spent);
    if (took && !filling) step = 1'b0;
  end

  always_ff @(posedge clk) begin
    if (took) rows[took_tag] <= '0;
    else if (step) rows[at] <= late ? {1'b1, AW'(0)} : {row.told, row.age + AW'(!dead && !row.age[AW-1])};
  end
  always_ff @(posedge clk) begin
    hold <= late || spent || dead || !link_up || abandon || filling;
    was_up <= link_up;
    seen <= look;
    late <= look && at_out && !row.told && (dead || (timed && row.age >= AW'(2)));
    spent <= look && at_out && row.told && ((dead && second) || (quarantine != '0 && row.age[AW-1:1] > (AW - 1)'(quarantine)));
    if (step) begin
      at <= at + 1'b1;
      if (&at) begin
        filling <= 1'b0;
        sweeping <= dead && lost && !second;
        dead <= dead && lost && !second;
        second <= dead && lost && !second;
      end
    end
    if (tick && !filling) sweeping <= 1'b1;
    if (((was_up && !link_up) || abandon) && !filling) begin
      sweeping <= 1'b1;
      dead <= 1'b1;
      lost <= (was_up && !link_up) || (dead && lost);
      second <= 1'b0;
      seen <= 1'b0;
      late <= 1'b0;
      spent <= 1'b0;
      at <= '0;
    end
    if (rst) begin
      filling <= 1'b1;
      seen <= 1'b0;
      late <= 1'b0;
      spent <= 1'b0;
      sweeping <= 1'b0;
      dead <= 1'b0;
      second <= 1'b0;
      was_up <= 1'b0;
      hold <= 1'b1;
      at <= '0;
    end
  end

  // ------------------------------------------------------------------------------------------------ pool
  logic put_ready;
  assign put = free_valid || release_valid || (filling && overdue_ready && !rst);
  assign put_tag = filling || quiet ? at : free_tag;
  localparam int LOW = TAGS < SHORT ? TAGS : SHORT;
  localparam int LW = $clog2(LOW);
  localparam int OWN = CLIENTS > 1 && LOW >= 2 * CLIENTS ? CLIENTS : 0;
  logic valid;                              // there is one in the pool
  logic put_own;
  logic low_ready, low_valid, low_next;  // the first ones; `next`: there is one after this cycle's take
  logic high_ready, high_valid, high_next, use_high, put_high;
  logic [LW-1:0] low_tag;
  logic [LW:0] low_count;
  logic [TW-1:0] high_tag;
  tp_fifo #(
      .WIDTH(LW),
      .DEPTH(LOW)
  ) i_low (
      .clk,
      .rst,
      .clear(1'b0),
      .in_valid(put && !put_high && !put_own),
      .in_ready(low_ready),
      .in_data(put_tag[LW-1:0]),
      .out_valid(low_valid),
      .out_ready(take && valid && !use_high),
      .out_data(low_tag),
      .count(low_count)
  );
  assign low_next = take && valid && !use_high ? low_count > (LW + 1)'(1) : low_valid;
  if (TAGS > SHORT) begin : g_high
    localparam int DEPTH = TAGS == 2 * SHORT ? SHORT : TAGS;
    logic [$clog2(DEPTH):0] high_count;
    tp_fifo #(
        .WIDTH(TW),
        .DEPTH(DEPTH)
    ) i_high (
        .clk,
        .rst,
        .clear(1'b0),
        .in_valid(put && put_high),
        .in_ready(high_ready),
        .in_data(put_tag),
        .out_valid(high_valid),
        .out_ready(take && valid && use_high),
        .out_data(high_tag),
        .count(high_count)
    );
    assign put_high = put_tag[TW-1:LW] != '0;
    assign high_next = extended && (take && valid && use_high ? 32'(high_count) > 1 : high_valid);
  end else begin : g_short
    // verilator lint_off UNUSEDSIGNAL
    logic unused;
    // verilator lint_on UNUSEDSIGNAL
    assign unused = &{extended, high_valid};
    assign high_ready = 1'b0;
    assign high_valid = 1'b0;
    assign high_tag = '0;
    assign put_high = 1'b0;
    assign high_next = 1'b0;
  end
  if (OWN != 0) begin : g_own
    logic [OWN-1:0] own_free, own_back;  // what has come back shows a cycle later, too
    assign put_own = 32'(put_tag) < OWN;
    for (genvar c = 0; c < OWN; c++) begin : g_client
      assign may[c] = valid || own_free[c];
      always_ff @(posedge clk) begin
        if (take && !valid && 32'(client) == c) own_free[c] <= 1'b0;
        own_back[c] <= put && 32'(put_tag) == c && !rst;
        if (own_back[c]) own_free[c] <= 1'b1;
        if (rst) own_free[c] <= 1'b0;
      end
    end
    assign tag = valid ? (use_high ? high_tag : TW'(low_tag)) : TW'(client);
  end else begin : g_pool
    assign put_own = 1'b0;
    assign may = {CLIENTS{valid}};
    assign tag = use_high ? high_tag : TW'(low_tag);
  end
  assign put_ready = put_own || (put_high ? high_ready : low_ready);
  // In registers, so that they cost no time in the cycle of a take; a tag that comes back shows a cycle later.
  always_ff @(posedge clk) begin
    valid <= (low_next || high_next) && !rst;
    use_high <= high_next && !rst;
  end

  logic one_more, one_less;
  always_ff @(posedge clk) begin
    one_more <= give_up_valid;
    one_less <= (free_valid && free_late) || release_valid;
    count <= count + (TW + 1)'(one_more) - (TW + 1)'(one_less);
    if (rst) begin
      one_more <= 1'b0;
      one_less <= 1'b0;
      count <= '0;
    end else begin
      assert (!put || (put_ready && (filling || out_laps[put_tag] != back_laps[put_tag])))
      else $error("%m: tag %0d freed twice", put_tag);
      assert (!(free_valid && quiet))
      else $error("%m: tag %0d freed without a packet", free_tag);
    end
  end
endmodule
