// SPDX-License-Identifier: Apache-2.0
//
// Scratchpad: block RAM that the host reads and writes by address, through a channel of kind "memory". To the kind it is a subordinate of
// AXI4, as a controller of a DRAM is; its registers make it slow, uneven or faulty, so that hosts and kinds can be tested against it.
//
// The port
//   INCR bursts of full width: awsize and arsize count as the width of the data. Another burst is answered SLVERR. Write strobes are obeyed.
//   Addresses from BYTES on are answered DECERR. What is answered with a fault is not written, and read as zeros.
//   32 bursts may wait in each direction. Answers come in order, whatever their IDs are. One beat a clock, written and read at once.
//
// Registers (32 bits; writes obey the byte strobes; other addresses read 0 and ignore writes)
//   0x00 id           read only, "SPAD"
//   0x04 latency      clocks that each burst waits before its answer begins: a write from its last beat, a read from its address; to 65535
//   0x08 stall        of 256 clocks, in how many each of the five handshakes is held back, at random; to 255
//   0x0C slverr_page  address / 4096 of a page that answers SLVERR; all ones: none
//   0x10 decerr_page  of one that answers DECERR
//   0x14 writes       bursts that were answered; any write clears this and the next
//   0x18 reads
module scratchpad #(
    parameter int DATA_WIDTH = 128,
    parameter int BYTES = 1048576,  // a power of two
    parameter int ID_WIDTH = 4,
    localparam int KEEP = DATA_WIDTH / 8
) (
    input logic clk,
    input logic rst_n,

    input  logic [  ID_WIDTH-1:0] ram_awid,
    input  logic [          31:0] ram_awaddr,
    input  logic [           7:0] ram_awlen,
    input  logic [           2:0] ram_awsize,
    input  logic [           1:0] ram_awburst,
    input  logic                  ram_awvalid,
    output logic                  ram_awready,
    input  logic [DATA_WIDTH-1:0] ram_wdata,
    input  logic [      KEEP-1:0] ram_wstrb,
    input  logic                  ram_wlast,
    input  logic                  ram_wvalid,
    output logic                  ram_wready,
    output logic [  ID_WIDTH-1:0] ram_bid,
    output logic [           1:0] ram_bresp,
    output logic                  ram_bvalid,
    input  logic                  ram_bready,
    input  logic [  ID_WIDTH-1:0] ram_arid,
    input  logic [          31:0] ram_araddr,
    input  logic [           7:0] ram_arlen,
    input  logic [           2:0] ram_arsize,
    input  logic [           1:0] ram_arburst,
    input  logic                  ram_arvalid,
    output logic                  ram_arready,
    output logic [  ID_WIDTH-1:0] ram_rid,
    output logic [DATA_WIDTH-1:0] ram_rdata,
    output logic [           1:0] ram_rresp,
    output logic                  ram_rlast,
    output logic                  ram_rvalid,
    input  logic                  ram_rready,

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
  localparam int LANES = $clog2(KEEP);
  localparam int ROW = $clog2(BYTES) - LANES;  // bits of a row's number
  localparam int QUEUED = ID_WIDTH + 2 + ROW;  // what waits of a burst: ID, answer, first row
  localparam logic [1:0] OKAY = 2'b00, SLVERR = 2'b10, DECERR = 2'b11, INCR = 2'b01;

  wire unused = ^{ram_awsize, ram_arsize, ram_awlen, s_axil_awaddr[31:12], s_axil_awaddr[1:0], s_axil_araddr[31:12], s_axil_araddr[1:0]};

  // ---- registers
  logic [15:0] latency;
  logic [7:0] stall;
  logic [31:0] slverr_page, decerr_page, writes, reads;

  // What a burst is answered. It crosses no multiple of 4096, so its first address tells.
  function automatic logic [1:0] answer(input logic [31:0] address, input logic [1:0] burst, input logic [31:0] slverr,
                                        input logic [31:0] decerr);
    logic [31:0] page;
    page = 32'(address[31:12]);
    answer = page == slverr || burst != INCR ? SLVERR : OKAY;
    if (page == decerr || address >= 32'(BYTES)) answer = DECERR;
  endfunction

  // ---- chance: a byte of `dice` for each handshake (Marsaglia's xorshift)
  logic [31:0] dice, dice1, dice2;
  assign dice1 = dice ^ (dice << 13);
  assign dice2 = dice1 ^ (dice1 >> 17);
  always_ff @(posedge clk) begin
    dice <= dice2 ^ (dice2 << 5);
    if (!rst_n) dice <= 32'h746f7770;
  end
  wire hold_aw = dice[7:0] < stall;
  wire hold_w = dice[15:8] < stall;
  wire hold_b = dice[23:16] < stall;
  wire hold_ar = dice[31:24] < stall;
  wire hold_r = {dice[3:0], dice[31:28]} < stall;

  // ---- the RAM: one port writes, the other reads
  logic [DATA_WIDTH-1:0] memory[BYTES / KEEP];
  logic [DATA_WIDTH-1:0] row_data;

  // ---- writes: addresses wait for their data, and answers for their time
  logic aw_space, aw_there, b_space, b_there;
  logic [ID_WIDTH-1:0] aw_id, b_id;
  logic [1:0] aw_answer, b_answer;
  logic [ROW-1:0] aw_row, w_beat;
  wire w_fire = ram_wvalid && ram_wready;
  wire b_take = b_there && !hold_b && (!ram_bvalid || ram_bready);
  assign ram_awready = aw_space && !hold_aw;
  assign ram_wready  = aw_there && b_space && !hold_w;

  scratchpad_queue #(
      .WIDTH(QUEUED)
  ) aw_queue (
      .clk,
      .rst_n,
      .delay('0),
      .in_valid(ram_awvalid && ram_awready),
      .in_ready(aw_space),
      .in({ram_awid, answer(ram_awaddr, ram_awburst, slverr_page, decerr_page), ram_awaddr[LANES+:ROW]}),
      .out_valid(aw_there),
      .out_ready(w_fire && ram_wlast),
      .out({aw_id, aw_answer, aw_row})
  );

  scratchpad_queue #(
      .WIDTH(ID_WIDTH + 2)
  ) b_queue (
      .clk,
      .rst_n,
      .delay(latency),
      .in_valid(w_fire && ram_wlast),
      .in_ready(b_space),
      .in({aw_id, aw_answer}),
      .out_valid(b_there),
      .out_ready(b_take),
      .out({b_id, b_answer})
  );

  always_ff @(posedge clk) begin
    if (w_fire && aw_answer == OKAY) begin
      for (int i = 0; i < KEEP; i++) if (ram_wstrb[i]) memory[aw_row+w_beat][8*i+:8] <= ram_wdata[8*i+:8];
    end
    if (w_fire) w_beat <= ram_wlast ? '0 : w_beat + 1'b1;
    if (b_take) begin
      ram_bid <= b_id;
      ram_bresp <= b_answer;
      ram_bvalid <= 1'b1;
    end else if (ram_bready) ram_bvalid <= 1'b0;
    if (!rst_n) begin
      w_beat <= '0;
      ram_bvalid <= 1'b0;
    end
  end

  // ---- reads: address, then the RAM's register (`row_`), then the port's
  logic ar_space, ar_there;
  logic [ID_WIDTH-1:0] ar_id, row_id;
  logic [1:0] ar_answer, row_answer;
  logic [ROW-1:0] ar_row;
  logic [7:0] ar_len, r_beat;
  logic row_valid, row_last;
  wire r_last = r_beat == ar_len;
  wire row_leaves = !hold_r && (!ram_rvalid || ram_rready);
  wire row_enters = ar_there && (!row_valid || row_leaves);
  assign ram_arready = ar_space && !hold_ar;

  scratchpad_queue #(
      .WIDTH(QUEUED + 8)
  ) ar_queue (
      .clk,
      .rst_n,
      .delay(latency),
      .in_valid(ram_arvalid && ram_arready),
      .in_ready(ar_space),
      .in({ram_arid, answer(ram_araddr, ram_arburst, slverr_page, decerr_page), ram_araddr[LANES+:ROW], ram_arlen}),
      .out_valid(ar_there),
      .out_ready(row_enters && r_last),
      .out({ar_id, ar_answer, ar_row, ar_len})
  );

  always_ff @(posedge clk) begin
    if (row_enters) begin
      row_data <= memory[ar_row+ROW'(r_beat)];
      row_id <= ar_id;
      row_answer <= ar_answer;
      row_last <= r_last;
      r_beat <= r_last ? '0 : r_beat + 1'b1;
    end
    if (row_enters) row_valid <= 1'b1;
    else if (row_leaves) row_valid <= 1'b0;
    if (row_valid && row_leaves) begin
      ram_rid <= row_id;
      ram_rdata <= row_answer == OKAY ? row_data : '0;
      ram_rresp <= row_answer;
      ram_rlast <= row_last;
      ram_rvalid <= 1'b1;
    end else if (ram_rready) ram_rvalid <= 1'b0;
    if (!rst_n) begin
      r_beat <= '0;
      row_valid <= 1'b0;
      ram_rvalid <= 1'b0;
    end
  end

  // ---- registers: a write is taken when its address and its data are both there and the answer before it is gone
  wire write = s_axil_awvalid && s_axil_wvalid && (!s_axil_bvalid || s_axil_bready);
  wire read = s_axil_arvalid && (!s_axil_rvalid || s_axil_rready);
  assign s_axil_awready = write;
  assign s_axil_wready = write;
  assign s_axil_bresp = 2'b00;
  assign s_axil_arready = read;
  assign s_axil_rresp = 2'b00;

  always_ff @(posedge clk) begin
    if (ram_bvalid && ram_bready) writes <= writes + 1;
    if (ram_rvalid && ram_rready && ram_rlast) reads <= reads + 1;
    if (write) begin
      for (int i = 0; i < 2; i++) if (s_axil_wstrb[i] && s_axil_awaddr[11:2] == 10'h001) latency[8*i+:8] <= s_axil_wdata[8*i+:8];
      for (int i = 0; i < 4; i++) begin
        if (s_axil_wstrb[i] && s_axil_awaddr[11:2] == 10'h003) slverr_page[8*i+:8] <= s_axil_wdata[8*i+:8];
        if (s_axil_wstrb[i] && s_axil_awaddr[11:2] == 10'h004) decerr_page[8*i+:8] <= s_axil_wdata[8*i+:8];
      end
      if (s_axil_wstrb[0] && s_axil_awaddr[11:2] == 10'h002) stall <= s_axil_wdata[7:0];
      if (s_axil_awaddr[11:2] == 10'h005) begin
        writes <= '0;
        reads  <= '0;
      end
      s_axil_bvalid <= 1'b1;
    end else if (s_axil_bready) s_axil_bvalid <= 1'b0;
    if (read) begin
      s_axil_rvalid <= 1'b1;
      case (s_axil_araddr[11:2])
        10'h000: s_axil_rdata <= 32'h44415053;  // "SPAD", first character in the lowest byte
        10'h001: s_axil_rdata <= 32'(latency);
        10'h002: s_axil_rdata <= 32'(stall);
        10'h003: s_axil_rdata <= slverr_page;
        10'h004: s_axil_rdata <= decerr_page;
        10'h005: s_axil_rdata <= writes;
        10'h006: s_axil_rdata <= reads;
        default: s_axil_rdata <= '0;
      endcase
    end else if (s_axil_rready) s_axil_rvalid <= 1'b0;
    if (!rst_n) begin
      latency <= '0;
      stall <= '0;
      slverr_page <= '1;
      decerr_page <= '1;
      writes <= '0;
      reads <= '0;
      s_axil_bvalid <= 1'b0;
      s_axil_rvalid <= 1'b0;
    end
  end
endmodule
