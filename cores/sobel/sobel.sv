// SPDX-License-Identifier: Apache-2.0
//
// Sobel: the edges of a grey picture, computed while it streams through. A message of pixels on channel "pixels" gives a message of as many
// pixels on channel "edges".
//
// The picture
//   One byte a pixel, row by row from the top, left to right, without padding: pixel (x, y) is byte y * width + x of the message. The width
//   is a register, 3 to 4096 pixels; it need not be a multiple of anything. The height is whatever the message's length makes it.
//
// The result, to the last byte (p is the picture, 0 outside never matters)
//   gx = p[x+1,y-1] + 2 p[x+1,y] + p[x+1,y+1] - p[x-1,y-1] - 2 p[x-1,y] - p[x-1,y+1]
//   gy = p[x-1,y+1] + 2 p[x,y+1] + p[x+1,y+1] - p[x-1,y-1] - 2 p[x,y-1] - p[x+1,y-1]
//   edge[x,y] = min(255, |gx| + |gy|)
//   With a threshold t other than 0: edge[x,y] = 255 where that is t or more, 0 elsewhere.
//   A pixel on the picture's border (first or last column, first or last row) is 0: not all of its neighbours are there. If the message's
//   length is no multiple of the width, pixels whose lower right neighbour is missing are on the border, too.
//   A width outside 3 to 4096 (it resets to 0: set it first) gives a message of zeros.
//
// Registers (32 bits; width and threshold count from the next message on; other addresses read 0 and ignore writes)
//   0x00 width       pixels in a row. Resets to 0.
//   0x04 height      rows that a message should have, 0: any. It changes no pixel, only what is counted as a mismatch. Resets to 0.
//   0x08 frames      read only: messages that have left. Any write clears both counters.
//   0x0C mismatches  read only: messages that had not width * height bytes, of those that left while height was not 0
//   0x10 threshold   0 to 255; 0: none. Resets to 0.
//
// How it works
//   The picture is one long line of bytes, DATA_WIDTH / 8 at a time. The row above a pixel is that line delayed by `width` bytes: a memory
//   delays by whole beats and a shifter by the rest, so that a row may begin in any lane. Two such delays in a row show three rows at once.
//       pixels -> a -> delay -> b -> delay -> c;   windows of a, b, c -> sums -> |gx|, |gy| -> edge -> shifter -> edges
//   The whole pipeline moves by one beat when a beat comes in (or, after the last one, when it flushes itself) and the beat at its end can
//   leave. So back-pressure needs no queue, and there is one set of enables.
//
// Rate: one beat a cycle in a message; between messages it takes (width + 1) / (DATA_WIDTH / 8) + 9 cycles to flush, and after a change of the
// width DATA_WIDTH / 8 cycles more.
module sobel #(
    parameter int DATA_WIDTH = 128,
    localparam int KEEP = DATA_WIDTH / 8
) (
    input logic clk,
    input logic rst_n,

    input  logic [DATA_WIDTH-1:0] pixels_tdata,
    input  logic [      KEEP-1:0] pixels_tkeep,
    input  logic                  pixels_tlast,
    input  logic                  pixels_tvalid,
    output logic                  pixels_tready,
    input  logic                  pixels_reset,

    output logic [DATA_WIDTH-1:0] edges_tdata,
    output logic [      KEEP-1:0] edges_tkeep,
    output logic                  edges_tlast,
    output logic                  edges_tvalid,
    input  logic                  edges_tready,
    input  logic                  edges_reset,

    input  logic [31:0] s_axil_awaddr,
    input  logic        s_axil_awvalid,
    output logic        s_axil_awready,
    input  logic [31:0] s_axil_wdata,
    input  logic [ 3:0] s_axil_wstrb,
    input  logic        s_axil_wvalid,
    output logic        s_axil_wready,
    output logic [ 1:0] s_axil_bresp,
    output logic        s_axil_bvalid,
    input  logic        s_axil_bready,
    input  logic [31:0] s_axil_araddr,
    input  logic        s_axil_arvalid,
    output logic        s_axil_arready,
    output logic [31:0] s_axil_rdata,
    output logic [ 1:0] s_axil_rresp,
    output logic        s_axil_rvalid,
    input  logic        s_axil_rready
);
  localparam int MAX_WIDTH = 4096;
  localparam int P = KEEP;  // pixels in a beat
  localparam int LANE = $clog2(P);
  localparam int DEPTH = MAX_WIDTH / P;  // beats in a delay's memory
  localparam int ADDR = $clog2(DEPTH);
  localparam int W = $clog2(MAX_WIDTH + 1);
  localparam int LATENCY = 7;  // steps from a beat's entry until its result is in the shifter's upper half

  if (DATA_WIDTH < 32 || DATA_WIDTH > 1024 || (DATA_WIDTH & (DATA_WIDTH - 1)) != 0) begin : gen_check
    $error("%m: DATA_WIDTH %0d: make it a power of two, 32 to 1024", DATA_WIDTH);
  end

  wire unused = ^{s_axil_awaddr[31:12], s_axil_awaddr[1:0], s_axil_araddr[31:12], s_axil_araddr[1:0]};

  // ---- registers
  logic [31:0] reg_width, reg_height, frames, mismatches;
  logic [7:0] reg_threshold;
  wire write = s_axil_awvalid && s_axil_wvalid && (!s_axil_bvalid || s_axil_bready);
  wire read = s_axil_arvalid && (!s_axil_rvalid || s_axil_rready);
  assign s_axil_awready = write;
  assign s_axil_wready = write;
  assign s_axil_bresp = 2'b00;
  assign s_axil_arready = read;
  assign s_axil_rresp = 2'b00;
  wire clear = write && s_axil_awaddr[11:2] == 10'h002;

  function automatic logic [31:0] merge(input logic [31:0] old);
    for (int i = 0; i < 4; i++) merge[8*i+:8] = s_axil_wstrb[i] ? s_axil_wdata[8*i+:8] : old[8*i+:8];
  endfunction

  always_ff @(posedge clk) begin
    if (write) begin
      case (s_axil_awaddr[11:2])
        10'h000: reg_width <= merge(reg_width);
        10'h001: reg_height <= merge(reg_height);
        10'h004: if (s_axil_wstrb[0]) reg_threshold <= s_axil_wdata[7:0];
        default: ;
      endcase
    end
    if (write) s_axil_bvalid <= 1'b1;
    else if (s_axil_bready) s_axil_bvalid <= 1'b0;
    if (read) begin
      s_axil_rvalid <= 1'b1;
      case (s_axil_araddr[11:2])
        10'h000: s_axil_rdata <= reg_width;
        10'h001: s_axil_rdata <= reg_height;
        10'h002: s_axil_rdata <= frames;
        10'h003: s_axil_rdata <= mismatches;
        10'h004: s_axil_rdata <= 32'(reg_threshold);
        default: s_axil_rdata <= '0;
      endcase
    end else if (s_axil_rready) s_axil_rvalid <= 1'b0;
    if (!rst_n) begin
      reg_width <= '0;
      reg_height <= '0;
      reg_threshold <= '0;
      s_axil_bvalid <= 1'b0;
      s_axil_rvalid <= 1'b0;
    end
  end

  // ---- a message's way: prepare for its width, take its beats, flush
  typedef enum logic [1:0] {
    PREPARE,
    IDLE,
    TAKE,
    FLUSH
  } state_e;
  state_e state;

  logic blank;                    // no such width: zeros
  logic [W-1:0] width;            // of the message
  logic [7:0] threshold;
  logic [P-1:0][W-1:0] lane_mod;  // lane modulo width
  logic [W-1:0] beat_mod;         // P modulo width
  logic [LANE:0] prepared;        // lanes done
  logic [W-1:0] next_mod;

  wire [W-1:0] whole = width >> LANE;                       // the delay by a row is so many beats
  wire [LANE-1:0] part = width[LANE-1:0];                   // and so many bytes
  wire [W-1:0] ahead = (width + W'(1)) >> LANE;             // the centre of the newest window is this far behind the newest byte
  wire [LANE-1:0] ahead_part = LANE'(width + W'(1));

  logic [W-1:0] fill;             // steps until the first beat leaves; in FLUSH, steps until the last one has left
  wire [W-1:0] full = ahead + W'(LATENCY);

  wire wanted_bad = reg_width < 3 || reg_width > MAX_WIDTH;
  wire [W-1:0] wanted = wanted_bad ? W'(3) : reg_width[W-1:0];
  wire stale = wanted != width;

  wire room = !edges_tvalid || edges_tready;
  wire enter = pixels_tvalid && pixels_tready;
  wire step = enter || (state == FLUSH && room);
  wire forget = !rst_n || pixels_reset || edges_reset;
  assign pixels_tready = room && ((state == IDLE && !stale) || state == TAKE);

  logic [KEEP-1:0] last_keep;
  wire emit = state == FLUSH || (state == TAKE && fill == 0);
  // In a message shorter than the pipeline nothing leaves until it has flushed far enough.
  logic [W-1:0] silent;           // steps of the flush in which nothing leaves
  wire final_step = state == FLUSH && fill == W'(1);

  logic [31:0] taken;             // bytes of the message, modulo 2^32
  logic [63:0] should;

  always_ff @(posedge clk) begin
    should <= 64'(width) * 64'(reg_height);
    if (enter) taken <= (state == IDLE ? 32'd0 : taken) + 32'($countones(pixels_tkeep));
    if (enter && pixels_tlast) last_keep <= pixels_tkeep;

    case (state)
      PREPARE: begin
        if (prepared == (LANE + 1)'(P)) begin
          beat_mod <= next_mod;
          state <= IDLE;
        end else begin
          for (int i = 0; i < P; i++) if (prepared == (LANE + 1)'(i)) lane_mod[i] <= next_mod;
          next_mod <= next_mod == width - 1 ? '0 : next_mod + 1;
          prepared <= prepared + 1;
        end
      end
      IDLE: begin
        blank <= wanted_bad;
        threshold <= reg_threshold;
        if (stale) begin
          width <= wanted;
          prepared <= '0;
          next_mod <= '0;
          state <= PREPARE;
        end else if (enter) begin
          fill <= pixels_tlast ? full : full - 1;
          silent <= full - 1;
          state <= pixels_tlast ? FLUSH : TAKE;
        end
      end
      TAKE:
      if (enter) begin
        if (fill != 0) fill <= fill - 1;
        if (pixels_tlast) begin
          fill <= full;
          silent <= fill == 0 ? '0 : fill - 1;
          state <= FLUSH;
        end
      end
      FLUSH:
      if (step) begin
        fill <= fill - 1;
        if (silent != 0) silent <= silent - 1;
        if (final_step) state <= IDLE;
      end
      default: state <= PREPARE;
    endcase
    if (forget) begin
      // What lies in the delays is never looked at by the next message: its first row is border.
      // A new width is prepared for all the same: it has been taken over, and would not be told from the old one any more.
      if (state != PREPARE && !(state == IDLE && stale)) state <= IDLE;
    end
    if (!rst_n) begin
      state <= PREPARE;
      width <= W'(3);
      prepared <= '0;
      next_mod <= '0;
    end
  end

  always_ff @(posedge clk) begin
    if (edges_tvalid && edges_tready && edges_tlast) begin
      frames <= frames + 1;
      if (reg_height != 0 && (blank || should != 64'(taken))) mismatches <= mismatches + 1;
    end
    if (!rst_n || clear) begin
      frames <= '0;
      mismatches <= '0;
    end
  end

  // ---- three rows: a is the newest beat, b the same delayed by a row, c by two
  typedef logic [P-1:0][7:0] beat_t;

  // The bytes that begin `by` lanes before the newer beat.
  function automatic beat_t later(input beat_t newer, input beat_t older, input logic [LANE-1:0] by);
    logic [2*P-1:0][7:0] both;
    both = {newer, older};
    for (int i = 0; i < P; i++) later[i] = both[(LANE+1)'(P+i)-(LANE+1)'(by)];
  endfunction

  logic [ADDR-1:0] at;  // where the beat that enters is kept
  logic [DATA_WIDTH-1:0] row1[DEPTH], row2[DEPTH];
  beat_t a1, a2, a3, b2, b3, c3;  // stages 1 to 3
  beat_t read1, read2, before1, before2;
  logic [KEEP-1:0] keep1, keep2, keep3;
  logic first1, first2;  // the message's first beat

  wire beat_t kept1 = whole == 0 ? a1 : read1;
  wire beat_t kept2 = whole == 0 ? b2 : read2;
  wire beat_t b1 = later(kept1, before1, part);
  wire beat_t c2 = later(kept2, before2, part);

  always_ff @(posedge clk) begin
    if (step) begin
      // A delay of as many beats as the memory has reads the place that is being written: the old beat, as it must be.
      row1[at] <= pixels_tdata;
      read1 <= row1[at-ADDR'(whole)];
    end
  end
  always_ff @(posedge clk) begin
    if (step) begin
      row2[at] <= b1;
      read2 <= row2[at-ADDR'(whole)];
    end
  end
  always_ff @(posedge clk) begin
    if (step) begin
      at <= at + 1;
      a1 <= pixels_tdata;
      keep1 <= state == FLUSH ? '0 : pixels_tkeep;
      first1 <= state == IDLE;
      before1 <= kept1;

      a2 <= a1;
      b2 <= b1;
      keep2 <= keep1;
      first2 <= first1;
      before2 <= kept2;

      a3 <= a2;
      b3 <= b2;
      c3 <= c2;
      keep3 <= keep2;
    end
    if (!rst_n) at <= '0;
  end

  // ---- which pixels are on the border: lane i's centre is in column (x + i) modulo width; `below` is how far lane 0's centre is below row 0
  logic [W-1:0] x;
  logic signed [W+1:0] below;
  wire [W:0] x_next = (W + 1)'(x) + (W + 1)'(beat_mod);
  always_ff @(posedge clk) begin
    if (step) begin
      if (first2) begin
        x <= width - 1;
        below <= -(W + 2)'({width, 1'b1});
      end else begin
        x <= x_next >= (W + 1)'(width) ? W'(x_next - (W + 1)'(width)) : W'(x_next);
        if (below < 0) below <= below + (W + 2)'(P);
      end
    end
  end

  logic [P-1:0] border;
  always_comb begin
    for (int i = 0; i < P; i++) begin
      automatic logic [W:0] column = (W + 1)'(x) + (W + 1)'(lane_mod[i]);
      border[i] = column == 0 || column == (W + 1)'(width) || column == (W + 1)'(width) - 1
          || below + (W + 2)'(i) < 0 || !keep3[i] || blank;
    end
  end

  // ---- the windows of stage 3 reach two pixels into the beat before
  logic [1:0][7:0] a_tail, b_tail, c_tail;
  wire [P+1:0][7:0] a = {a3, a_tail}, b = {b3, b_tail}, c = {c3, c_tail};

  logic [P-1:0][9:0] left, right, above, under;  // stage 4: weighted sums of the window's sides
  logic [P-1:0][9:0] gx, gy;  // stage 5: |gx|, |gy|
  logic [P-1:0] border4, border5;
  beat_t result, result_before;  // stage 6

  function automatic logic [9:0] sum(input logic [7:0] p, input logic [7:0] q, input logic [7:0] r);
    return 10'(p) + {1'b0, q, 1'b0} + 10'(r);
  endfunction
  function automatic logic [9:0] distance(input logic [9:0] p, input logic [9:0] q);
    return p > q ? p - q : q - p;
  endfunction

  always_ff @(posedge clk) begin
    if (step) begin
      a_tail <= a3[P-1-:2];
      b_tail <= b3[P-1-:2];
      c_tail <= c3[P-1-:2];
      border4 <= border;
      border5 <= border4;
      result_before <= result;
      for (int i = 0; i < P; i++) begin
        automatic logic [10:0] magnitude = 11'(gx[i]) + 11'(gy[i]);
        automatic logic [7:0] edge_value = magnitude > 255 ? 8'd255 : magnitude[7:0];
        left[i] <= sum(c[i], b[i], a[i]);
        right[i] <= sum(c[i+2], b[i+2], a[i+2]);
        above[i] <= sum(c[i], c[i+1], c[i+2]);
        under[i] <= sum(a[i], a[i+1], a[i+2]);
        gx[i] <= distance(left[i], right[i]);
        gy[i] <= distance(above[i], under[i]);
        if (border5[i]) result[i] <= '0;
        else if (threshold != 0) result[i] <= edge_value >= threshold ? 8'd255 : 8'd0;
        else result[i] <= edge_value;
      end
    end
  end

  // ---- the way out: results begin one row and one pixel before the message; move its first byte into lane 0
  wire leaves = step && emit && (state == TAKE || silent == 0);
  wire [2*P-1:0][7:0] results = {result, result_before};
  always_ff @(posedge clk) begin
    if (step) begin
      for (int i = 0; i < P; i++) edges_tdata[8*i+:8] <= results[(LANE+1)'(i)+(LANE+1)'(ahead_part)];
      edges_tkeep <= final_step ? last_keep : '1;
      edges_tlast <= final_step;
      edges_tvalid <= leaves;
    end else if (edges_tready) edges_tvalid <= 1'b0;
    if (forget) edges_tvalid <= 1'b0;
  end
endmodule
