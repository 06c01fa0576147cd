// SPDX-License-Identifier: Apache-2.0
// The blocks of a memory that several channels share: gives each channel SHARE of them whenever it asks, and the rest to whoever is busy.
//
// A channel gets blocks beyond its share only while more of these are left than it holds: so one whose user core stands still leaves as many
// to the others, however long it stands. `sparing` asks for one of them only if more than KEPT are left. A channel that is the only one may
// have all blocks; it must give them back in the order in which it got them.
//
// Promises: a block has one owner. A wish for a block of the share is granted in its turn, in as many cycles as there are channels, as soon as the list of
// free blocks is filled, which takes BLOCKS cycles after reset. Nothing is lost: what is given back is given out again.
// With one channel only the assertions read which block comes back.
// verilator lint_off UNUSEDSIGNAL
module tp_blocks #(
    parameter int BLOCKS = 32,
    parameter int CHANNELS = 1,
    parameter int SHARE = 2,                // of each channel
    parameter int KEPT = 6,
    localparam int BW = $clog2(BLOCKS)
) (
    input logic clk,
    input logic rst,

    input  logic [CHANNELS-1:0] want,       // a block; stands until granted or withdrawn
    input  logic [CHANNELS-1:0] sparing,
    output logic [CHANNELS-1:0] grant,      // in the same cycle, of ...
    output logic [BW-1:0]       block,

    input logic [CHANNELS-1:0] back,        // one of them gives a block back, ...
    input logic [BW-1:0]       back_block   // ... this
);
  if (BLOCKS < 2 || BLOCKS < CHANNELS * SHARE)
    $error("%m: %0d blocks for %0d channels: each has %0d of its own, so make them %0d or more", BLOCKS, CHANNELS, SHARE, CHANNELS * SHARE);
  localparam int CW = $clog2(BLOCKS + 1);  // of a count of blocks

  if (CHANNELS == 1) begin : g_single
    // The blocks go round: the next one is the one that came back first.
    localparam int LEAST = KEPT < BLOCKS - SHARE ? KEPT : BLOCKS - SHARE;
    logic [CW-1:0] left;
    logic any, ample;
    assign grant = want && any && (ample || !sparing);
    always_ff @(posedge clk) begin
      // `grant` comes last in its cycle: so each outcome is made ready beside it.
      left <= grant == back ? left : grant ? left - 1'b1 : left + 1'b1;
      any <= rst || back || (grant ? 32'(left) > 1 : left != '0);
      ample <= rst || (grant == back ? 32'(left) > LEAST : grant ? 32'(left) > LEAST + 1 : 32'(left) >= LEAST);
      if (grant) block <= 32'(block) == BLOCKS - 1 ? '0 : block + 1'b1;
      if (rst) begin
        left <= CW'(BLOCKS);
        block <= '0;
      end
    end
`ifndef SYNTHESIS
    logic [BW-1:0] oldest;
    always_ff @(posedge clk) begin
      if (back) oldest <= 32'(oldest) == BLOCKS - 1 ? '0 : oldest + 1'b1;
      if (rst) oldest <= '0;
      else
        assert (!back || (back_block == oldest && 32'(left) != BLOCKS))
        else $error("%m: block %0d came back out of turn", back_block);
    end
`endif
  end else begin : g_shared
    // ---- the free ones
    logic filling, free_valid, put_ready;
    logic [BW-1:0] fill;
    tp_fifo #(
        .WIDTH(BW),
        .DEPTH(2 ** BW)
    ) i_free (
        .clk,
        .rst,
        .clear(1'b0),
        .in_valid(filling || back != '0),
        .in_ready(put_ready),
        .in_data(filling ? fill : back_block),
        .out_valid(free_valid),
        .out_ready(grant != '0),
        .out_data(block),
        .count()
    );
    always_ff @(posedge clk) begin
      if (filling) fill <= fill + 1'b1;
      if (fill == BW'(BLOCKS - 1)) filling <= 1'b0;
      if (rst) begin
        filling <= 1'b1;
        fill <= '0;
      end else begin
        assert (put_ready || !(filling || back != '0))
        else $error("%m: more blocks came back than there are");
        assert ($onehot0(back) && (!filling || back == '0))
        else $error("%m: two blocks came back at once, or one before any was given");
      end
    end

    // ---- who may have one
    logic [CHANNELS-1:0] may, turn;
    tp_round_robin_ahead #(
        .N(CHANNELS)
    ) i_turn (
        .clk,
        .rst,
        .request(want & may),
        .served(free_valid && !filling),
        .turn
    );
    assign grant = free_valid && !filling ? want & may & turn : '0;

    logic [CW-1:0] extra, extra_next;  // free ones that no share needs
    logic ample, any;
    logic [CHANNELS-1:0] below, over;  // it holds less than its share; more
    logic [CHANNELS-1:0] gets, gives;  // one more, one less: who does both changes nothing
    logic fewer, more;  // extra ones
    assign any = extra != '0;
    assign gets = grant & ~back;
    assign gives = back & ~grant;
    assign fewer = (gets & ~below) != '0;
    assign more = (gives & over) != '0;
    assign extra_next = fewer == more ? extra : more ? extra + 1'b1 : extra - 1'b1;  // `fewer` comes last in its cycle
    always_ff @(posedge clk) begin
      extra <= rst ? CW'(BLOCKS - CHANNELS * SHARE) : extra_next;
      ample <= 32'(extra) > KEPT + 1;
    end
    for (genvar c = 0; c < CHANNELS; c++) begin : g_channel
      logic [CW-1:0] held, next;
      logic fair;
      assign next = held + CW'(grant[c]) - CW'(back[c]);
      always_ff @(posedge clk) begin
        held <= rst ? '0 : next;
        below[c] <= rst || 32'(next) < SHARE;
        over[c] <= !rst && 32'(next) > SHARE;
        fair <= 32'(next) < 32'(extra) + SHARE;
      end
      assign may[c] = below[c] || (any && fair && (ample || !sparing[c]));
    end
  end
endmodule
