// SPDX-License-Identifier: Apache-2.0
// tp_c2h_crossing, for any two clocks: beats come out in the order the core sent them, each once and unchanged; of those sent before the
// core has seen a reset of the stream none comes out after it, those sent afterwards all do. `reset` comes for a clock or more, beside
// `tready` 0, only while the mover's side is busy, and at least once after each rise of `mv_reset`; the mover's side shows nothing in
// `mv_reset` nor while it is busy, and is busy from the rise until the core has been told and nothing old is left, which is DEPTH + 3 of
// its clocks later at most.
// Resets part the stream into ages, on both sides; beats are counted in their age, and any one is watched. A
// side's age changes when its part of the reset is over: for the core with the end of `reset`, for the mover when it finds the mark.
// Assumed: the reset of crossings (tp_reset_phase); `mv_reset` is of the mover's clock, and `user_rst` of the core's.
module tp_c2h_crossing_formal #(
    parameter int WIDTH = 2,
    parameter int DEPTH = 4,
    parameter bit INDUCTION = 1,
    localparam int AW = $clog2(DEPTH)
) (
    input logic user_clk,
    input logic user_rst_next,
    input logic tvalid,
    input logic [WIDTH-1:0] beat,
    input logic clk,
    input logic rst,
    input logic mv_reset_next,
    input logic mv_tready,
    input logic watch
);
  logic user_rst = 1'b1;
  logic live, mv_reset, mv_reset_busy, mv_tvalid, reset, tready;
  logic [WIDTH-1:0] mv_beat;
  tp_c2h_crossing #(
      .WIDTH(WIDTH),
      .DEPTH(DEPTH)
  ) dut (
      .*
  );
  tp_reset_phase phase (
      .a_clk(user_clk),
      .a_rst(user_rst),
      .b_clk(clk),
      .b_rst(rst),
      .live
  );
  always_ff @(posedge clk) mv_reset <= mv_reset_next;
  always_ff @(posedge user_clk) user_rst <= user_rst_next;

  // ------------------------------------------------------------------------------------------------ the core's side
  logic told, age, age_now, watching, watching_now;
  logic [1:0] begun, begun_now;  // times that the core has been told
  logic [AW:0] put, put_now, at;  // beats sent in this age; which of them is watched
  logic [WIDTH-1:0] watched;
  assign age_now = age ^ (told && !reset);
  assign put_now = age_now == age ? put : '0;
  assign watching_now = watching && age_now == age;
  assign begun_now = begun + 2'(reset && !told);
  always_ff @(posedge user_clk) begin
    told <= reset;
    begun <= begun_now;
    age <= age_now;
    put <= put_now;
    if (age_now != age) watching <= 1'b0;
    if (tvalid && tready) begin
      put <= put_now + 1'b1;
      if (!watching_now) begin
        watching <= watch;
        at <= put_now;
        watched <= beat;
      end
    end
    if (user_rst) {told, begun, age, put, watching} <= '0;
  end

  // ------------------------------------------------------------------------------------------------ the mover's side
  logic mv_reset_was, rise, asked, mv_age, stands, passed, stays;
  logic [1:0] begun_then;         // `begun` at the last rise
  logic [AW:0] got;
  logic [WIDTH-1:0] stood;
  assign rise = mv_reset && !mv_reset_was;
  always_ff @(posedge clk) begin
    mv_reset_was <= mv_reset;
    if (rise) begin
      asked <= 1'b1;
      begun_then <= begun_now;
    end else if (!mv_reset_busy) asked <= 1'b0;
    if (mv_tvalid && mv_tready) begin
      got <= got + 1'b1;
      if (watching_now && got == at) passed <= 1'b1;
    end
    if (dut.found) begin
      mv_age <= !mv_age;
      got <= '0;
      passed <= 1'b0;
    end
    stands <= mv_tvalid && !mv_tready;
    stood <= mv_beat;
    if (rst) {asked, mv_age, got, passed, stands} <= '0;
  end
  int late;  // clocks of the mover's since the core was told
  always_ff @(posedge clk) late <= rst || mv_age == age_now || dut.found ? 0 : late + 1;
  assign stays = watching_now && !(passed && mv_age == age_now);

  logic [AW:0] under_way;
  assign under_way = put_now - got;
  always_comb
    if (live && !rst && !user_rst) begin
      assert (!mv_tvalid || (!mv_reset && !mv_reset_busy && mv_age == age_now && under_way != '0));
      assert (!(mv_tvalid && stays && got == at) || mv_beat == watched);
      assert (mv_reset_busy || (mv_age == age_now && under_way <= (AW + 1)'(DEPTH)));
      assert (!stands || mv_reset || mv_reset_busy || (mv_tvalid && mv_beat == stood));
      assert (!reset || (!tready && mv_reset_busy));
      assert (!rise || mv_reset_busy);
      assert (late >= 0 && late <= DEPTH + 3);
      assert (!asked || mv_reset_busy || begun != begun_then);
      cover (passed && age_now && watched == '1);
      cover (reset && dut.again && begun == 2'd1);
      cover (asked && !mv_reset_busy && age_now == 1'b0 && begun == 2'd2);
    end

  if (INDUCTION) begin : g_induction
    function automatic logic [AW:0] binary(input logic [AW:0] gray);
      binary = gray;
      for (int i = AW - 1; i >= 0; i--) binary[i] = binary[i+1] ^ gray[i];
    endfunction
    // Of the FIFO, as in tp_async_fifo_formal.
    logic [AW:0] stored, w3, w2, w1, r3, r2, r1, place, marked_at, ahead;
    assign stored = dut.fifo.wr - dut.fifo.rd;
    assign w1 = binary(dut.fifo.to_rd.older) - dut.fifo.rd;
    assign w2 = binary(dut.fifo.to_rd.meta) - dut.fifo.rd;
    assign w3 = binary(dut.fifo.wr_gray_rd) - dut.fifo.rd;
    assign r1 = dut.fifo.wr - binary(dut.fifo.to_wr.older);
    assign r2 = dut.fifo.wr - binary(dut.fifo.to_wr.meta);
    assign r3 = dut.fifo.wr - binary(dut.fifo.rd_gray_wr);
    // Where the mark stands, and the watched beat.
    always_ff @(posedge user_clk) if (dut.marking && dut.wr_ready) marked_at <= dut.fifo.wr;
    assign place = mv_age == age_now ? dut.fifo.rd + at - got : marked_at + 1'b1 + at;
    assign ahead = marked_at - dut.fifo.rd;
    // The way from `asked` to `marked`: it holds one change at most.
    logic [4:0] way;
    logic [1:0] times;
    assign times = begun_now - begun_then;
    assign way = {dut.asked, dut.ask_sync.older, dut.ask_sync.meta, dut.asked_user, dut.marked};
    always_comb
      if (live) begin
        assert (binary(dut.fifo.wr_tp_cdc_gray) == dut.fifo.wr && binary(dut.fifo.rd_tp_cdc_gray) == dut.fifo.rd);
        assert (w3 <= w2 && w2 <= w1 && w1 <= stored && stored - w1 <= 1);
        assert (r3 >= r2 && r2 >= r1 && r1 >= stored && r1 - stored <= 1 && r3 <= (AW + 1)'(DEPTH));
        assert ($countones(way[4:1] ^ way[3:0]) <= 1);
        assert (user_rst || age_now == dut.marked);
        assert (mv_age == (dut.asked ^ dut.flushing));
        assert (dut.flushing || way == {5{dut.asked}});
        assert (!dut.again || dut.flushing);
        // One mark is in the FIFO, if the core has set it and the mover not found it.
        assert (mv_age == dut.marked || ((AW + 1)'(marked_at - dut.fifo.rd) < stored && dut.asked == dut.marked));
        for (int i = 0; i < DEPTH; i++)
        if (i < 32'(stored))
          assert (dut.fifo.tp_cdc_mem[AW'(32'(dut.fifo.rd)+i)][WIDTH] == (mv_age != dut.marked && dut.fifo.rd + (AW + 1)'(i) == marked_at));
        if (mv_age != dut.marked) assert ((AW + 1)'(dut.fifo.wr - marked_at) == put_now + 1'b1);
        if (mv_age == dut.marked && !dut.flushing) assert (stored == under_way);
        if (stays && !(mv_age == dut.marked && dut.flushing))
          assert ((AW + 1)'(place - dut.fifo.rd) < stored && dut.fifo.tp_cdc_mem[place[AW-1:0]][WIDTH-1:0] == watched);
        assert (!watching_now || mv_age == dut.marked || at < put_now);
        assert (!stands || rst || (w3 != 0 && dut.fifo.tp_cdc_mem[dut.fifo.rd[AW-1:0]] == {1'b0, stood}));
        // The mark comes into sight, and what is before it goes, a beat a clock.
        assert (late >= 0 && (late == 0 || mv_age != dut.marked));
        if (mv_age != dut.marked && !rst) begin
          assert (late + 32'(ahead) <= DEPTH + 2);
          assert ((late < 1 || w1 > ahead) && (late < 2 || w2 > ahead) && (late < 3 || w3 > ahead));
        end
        // Since the last rise.
        if (asked && dut.again)
          assert (times == 2'd0 || (times == 2'd1 && (reset || dut.marked == dut.asked)));
          else if (asked && dut.flushing && dut.marked != dut.asked && !reset)
            assert (times <= 2'd1);
            else if (asked) assert (times == 2'd1 || times == 2'd2);
        assert (!dut.flushing || asked);
      end
    always_comb begin
      assert (!phase.b_cleared || dut.mv_reset_was == mv_reset_was);
      assert (!phase.a_cleared || phase.a_out || (dut.fifo.wr == 0 && dut.fifo.wr_tp_cdc_gray == 0 && put == 0 && !watching && !age &&
              !told && begun == 0 && !dut.marked));
      assert (!phase.b_cleared || phase.b_out || (dut.fifo.rd == 0 && dut.fifo.rd_tp_cdc_gray == 0 && got == 0 && !mv_age && !stands &&
              !passed && late == 0 && !asked && !dut.asked && !dut.flushing && !dut.again));
    end
    always_comb
      if (!live) begin
        assert (phase.b_left == 3 || dut.fifo.to_rd.older == '0);
        assert (phase.b_left >= 2 || dut.fifo.to_rd.meta == '0);
        assert (phase.b_left != 0 || dut.fifo.to_rd.q == '0);
        assert (phase.a_left == 3 || (dut.fifo.to_wr.older == '0 && !dut.ask_sync.older));
        assert (phase.a_left >= 2 || (dut.fifo.to_wr.meta == '0 && !dut.ask_sync.meta));
        assert (phase.a_left != 0 || (dut.fifo.to_wr.q == '0 && !dut.asked_user));
      end
  end
endmodule
