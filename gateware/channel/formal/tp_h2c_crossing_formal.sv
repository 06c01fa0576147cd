// SPDX-License-Identifier: Apache-2.0
// tp_h2c_crossing, for any two clocks: beats are handed over in the order taken, each once and unchanged; of those taken before a reset
// of the stream none is handed over after the core has been told, and only a reset drops any. `reset` comes once for each reset, for 1
// to DEPTH + 2 clocks of the core's whatever that does, beside `tvalid` 0, and only while the mover's side is busy; that side takes
// nothing in `mv_reset` nor while it is busy, and is busy until the core has been told and nothing old is left. `tvalid` and its beat
// stay until taken, or until `reset`.
// Resets part the stream into ages, on both sides; beats are counted in their age, and any one is
// watched. A side's age changes when its part of the reset is over: for the mover with the end of `blocked`, for the core with that of
// `reset`.
// Assumed: the reset of crossings (tp_reset_phase); `mv_reset` is of the mover's clock.
module tp_h2c_crossing_formal #(
    parameter int WIDTH = 2,
    parameter int DEPTH = 4,
    parameter bit INDUCTION = 1,
    localparam int AW = $clog2(DEPTH)
) (
    input logic clk,
    input logic rst,
    input logic mv_reset_next,
    input logic mv_tvalid,
    input logic [WIDTH-1:0] mv_beat,
    input logic user_clk,
    input logic user_rst,
    input logic tready,
    input logic watch
);
  logic live, mv_reset, mv_reset_busy, mv_tready, reset, tvalid;
  logic [WIDTH-1:0] beat;
  tp_h2c_crossing #(
      .WIDTH(WIDTH),
      .DEPTH(DEPTH)
  ) dut (
      .*
  );
  tp_reset_phase phase (
      .a_clk(clk),
      .a_rst(rst),
      .b_clk(user_clk),
      .b_rst(user_rst),
      .live
  );
  always_ff @(posedge clk) mv_reset <= mv_reset_next;

  // ------------------------------------------------------------------------------------------------ the mover's side
  logic blocked, age, age_now, watching, mv_reset_was, rise, due;  // `due`: a reset that was asked for
  logic [AW:0] put, put_now, at;  // beats taken in this age; which of them is watched
  logic [WIDTH-1:0] watched;
  assign rise = mv_reset && !mv_reset_was;
  assign age_now = age ^ (blocked && !dut.blocked);
  assign put_now = age_now == age ? put : '0;
  always_ff @(posedge clk) begin
    blocked <= dut.blocked && !rst;
    mv_reset_was <= mv_reset;
    if (rise) due <= 1'b1;
    else if (age_now != age) due <= 1'b0;
    age <= age_now;
    put <= put_now;
    if (age_now != age) watching <= 1'b0;
    if (mv_tvalid && mv_tready) begin
      put <= put_now + 1'b1;
      if (!(watching && age_now == age)) begin
        watching <= watch;
        at <= put_now;
        watched <= mv_beat;
      end
    end
    if (rst) {age, put, watching, due} <= '0;
  end
  logic watching_now;
  assign watching_now = watching && age_now == age;

  // ------------------------------------------------------------------------------------------------ the core's side
  logic told, core_age, core_age_now, stands, passed, stays;  // the watched beat was handed over, or is still to come
  logic [AW:0] got, got_now;
  logic [WIDTH-1:0] stood;
  int lasts;  // clocks of `reset`
  assign core_age_now = core_age ^ (told && !reset);
  assign got_now = core_age_now == core_age ? got : '0;
  always_ff @(posedge user_clk) begin
    told <= reset;
    lasts <= reset ? lasts + 1 : 0;
    core_age <= core_age_now;
    got <= got_now + (AW + 1)'(tvalid && tready);
    stands <= tvalid && !tready;
    stood <= beat;
    passed <= (passed && core_age_now == core_age) || (tvalid && tready && watching_now && got_now == at);
    if (user_rst) {told, core_age, got, stands, passed} <= '0;
    if (user_rst) lasts <= 0;
  end

  assign stays = watching_now && !(passed && core_age_now == core_age);

  logic [AW:0] under_way;
  assign under_way = put_now - got_now;
  always_comb
    if (live && !rst && !user_rst) begin
      assert (!tvalid || (!reset && core_age_now == age_now && under_way != '0));
      assert (!(tvalid && stays && got_now == at) || beat == watched);
      assert (core_age_now != age_now || reset || under_way <= (AW + 1)'(DEPTH));
      assert (!stands || reset || (tvalid && beat == stood));
      assert (!rise || mv_reset_busy);
      assert (!(reset || age_now != age) || due);
      assert (!reset || mv_reset_busy);
      assert (lasts >= 0 && lasts <= DEPTH + 2);
      assert (mv_reset_busy || core_age_now == age_now);
      assert (!(mv_tready && (mv_reset || mv_reset_busy)));
      cover (passed && age_now && watched == '1);
      cover (reset && under_way == (AW + 1)'(2) && !mv_reset);
    end

  if (INDUCTION) begin : g_induction
    function automatic logic [AW:0] binary(input logic [AW:0] gray);
      binary = gray;
      for (int i = AW - 1; i >= 0; i--) binary[i] = binary[i+1] ^ gray[i];
    endfunction
    // Of the FIFO, as in tp_async_fifo_formal.
    logic [AW:0] stored, w3, w2, w1, r3, r2, r1, place;
    assign stored = dut.fifo.wr - dut.fifo.rd;
    assign w1 = binary(dut.fifo.to_rd.older) - dut.fifo.rd;
    assign w2 = binary(dut.fifo.to_rd.meta) - dut.fifo.rd;
    assign w3 = binary(dut.fifo.wr_gray_rd) - dut.fifo.rd;
    assign r1 = dut.fifo.wr - binary(dut.fifo.to_wr.older);
    assign r2 = dut.fifo.wr - binary(dut.fifo.to_wr.meta);
    assign r3 = dut.fifo.wr - binary(dut.fifo.rd_gray_wr);
    assign place = dut.fifo.rd + at - got_now;
    // The way round, from `asked` to the mover's view of `emptied`: it holds one change at most.
    logic [7:0] round;
    assign round = {
      dut.asked,
      dut.ask_sync.older,
      dut.ask_sync.meta,
      dut.asked_user,
      dut.emptied,
      dut.emptied_sync.older,
      dut.emptied_sync.meta,
      dut.emptied_mv
    };
    always_comb
      if (live) begin
        assert (binary(dut.fifo.wr_tp_cdc_gray) == dut.fifo.wr && binary(dut.fifo.rd_tp_cdc_gray) == dut.fifo.rd);
        assert (w3 <= w2 && w2 <= w1 && w1 <= stored && stored - w1 <= 1);
        assert (r3 >= r2 && r2 >= r1 && r1 >= stored && r1 - stored <= 1 && r3 <= (AW + 1)'(DEPTH));
        assert ($countones(round[7:1] ^ round[6:0]) <= 1);
        assert (round == '0 || round == '1 || (dut.blocked && dut.launched));
        assert (age_now == dut.asked ^ (dut.blocked && dut.launched));
        assert (core_age_now == dut.emptied);
        assert (lasts == 0 || (told && lasts > 0 && lasts <= DEPTH + 2));
        // A beat goes in each of these clocks, and then two without one.
        assert (user_rst || !reset || lasts + 32'(stored) + (stored == 0 && dut.dry ? 0 : 1) <= DEPTH + 1);
        assert (!(dut.blocked || blocked) || due);
        assert (!due || dut.blocked || age_now != age);
        assert (!blocked || rst || !dut.blocked || !mv_tready);
        // With `asked` come all beats that were taken before it.
        if (dut.blocked) assert (w1 == stored);
        if (dut.blocked && dut.launched && dut.ask_sync.meta == dut.asked) assert (w2 == stored);
        if (dut.blocked && dut.launched && dut.asked_user == dut.asked) assert (w3 == stored);
        if (dut.emptied == dut.asked && dut.blocked && dut.launched) assert (stored == '0 && got_now == '0);
        if (core_age_now == age_now && !dut.flushing) assert (stored == under_way);
        if (stays && core_age_now == age_now && !dut.flushing)
          assert ((AW + 1)'(at - got_now) < stored && dut.fifo.tp_cdc_mem[place[AW-1:0]] == watched);
        assert (!(passed && core_age_now == core_age) || (watching_now && core_age_now == age_now));
        assert (user_rst || !told || dut.flushing || core_age_now == dut.emptied);
        assert (!stands || user_rst || dut.flushing || (w3 != 0 && dut.fifo.tp_cdc_mem[dut.fifo.rd[AW-1:0]] == stood));
      end
    // While the reset lasts, what the registers were before has left the chains one by one.
    always_comb begin
      assert (!phase.a_cleared || dut.mv_reset_was == mv_reset_was);
      assert (!phase.a_cleared || phase.a_out || (dut.fifo.wr == 0 && dut.fifo.wr_tp_cdc_gray == 0 && put == 0 && !watching && !age &&
              !due && !blocked &&               !dut.blocked && !dut.launched && !dut.asked));
      assert (!phase.b_cleared || phase.b_out || (dut.fifo.rd == 0 && dut.fifo.rd_tp_cdc_gray == 0 && got == 0 && !told && lasts == 0 &&
              !core_age && !stands && !passed &&               !dut.emptied));
    end
    always_comb
      if (!live) begin
        assert (phase.b_left == 3 || (dut.fifo.to_rd.older == '0 && !dut.ask_sync.older));
        assert (phase.b_left >= 2 || (dut.fifo.to_rd.meta == '0 && !dut.ask_sync.meta));
        assert (phase.b_left != 0 || (dut.fifo.to_rd.q == '0 && !dut.asked_user));
        assert (phase.a_left == 3 || (dut.fifo.to_wr.older == '0 && !dut.emptied_sync.older));
        assert (phase.a_left >= 2 || (dut.fifo.to_wr.meta == '0 && !dut.emptied_sync.meta));
        assert (phase.a_left != 0 || (dut.fifo.to_wr.q == '0 && !dut.emptied_mv));
      end
  end
endmodule
