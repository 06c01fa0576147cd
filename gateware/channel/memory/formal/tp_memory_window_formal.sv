// SPDX-License-Identifier: Apache-2.0
// tp_memory_window before one tp_memory_join, with DMA beside it, and before another memory, which answers writes whenever it likes: a read of the
// window is put to the core only when each write that came before it, any, has been answered; each answer of the core goes to who asked, whole and in order; every burst has the rows that its
// address says; AXI4's rules for a master; and neither side waits for more than one burst of the other to begin.
// Shown from reset on, for a number of cycles, with rows of two bytes.
// Assumed: packets have one to three rows; DMA gives rows of a burst beside its address, and its bursts have one or two; the core answers in
// order. One read is under way at a time, as at the host's end.
module tp_memory_window_formal #(
    parameter int DATA_WIDTH = 16,
    parameter int ADDRESS_WIDTH = 14,
    localparam int KEEP = DATA_WIDTH / 8,
    localparam int CW = 5                     // of a count: more than the cycles that are looked at
) (
    input logic clk,
    input logic rst,
    input logic write_valid,
    input logic write_nowhere,
    input logic write_other,
    input logic [1:0] write_rows,
    input logic [DATA_WIDTH-1:0] write_data,
    input logic write_failed_ready,
    input logic read_valid,
    input logic read_nowhere,
    input logic [1:0] read_rows,
    input logic answer_ready,
    input logic x_ready,
    input logic xb_valid,
    input logic xb_error,
    input logic watch,
    input logic d_awvalid,
    input logic d_awlen,
    input logic [DATA_WIDTH-1:0] d_wdata,
    input logic d_wvalid,
    input logic d_bready,
    input logic d_arvalid,
    input logic d_arlen,
    input logic d_rready,
    input logic core_awready,
    input logic core_wready,
    input logic [1:0] core_bresp,
    input logic core_bvalid,
    input logic core_arready,
    input logic [DATA_WIDTH-1:0] core_rdata,
    input logic [1:0] core_rresp,
    input logic core_rvalid
);
  logic write_ready, write_failed_valid, read_ready, answer_valid, answer_error, w_valid, w_ready, wb_valid, wb_ready, wb_error;
  logic q_valid, q_ready, a_valid, a_ready, a_error, d_awready, d_wready, d_bvalid, d_arready, d_rlast, d_rvalid;
  logic core_awvalid, core_wlast, core_wvalid, core_bready, core_arvalid, core_rready, core_rlast, write_last, d_wlast;
  logic [35:0] w_address, q_address;
  logic [DATA_WIDTH-1:0] answer_data, a_data, d_rdata, core_wdata;
  logic [KEEP-1:0] core_wstrb;
  logic [1:0] d_bresp, d_rresp, core_awburst, core_arburst;
  logic [2:0] core_awsize, core_arsize;
  logic [ADDRESS_WIDTH-1:0] core_awaddr, core_araddr;
  logic [7:0] core_awlen, core_arlen;
  logic [15:0] taken, read_taken;
  // DMA is at even multiples of 256, the window at odd ones: so an address tells whose a burst is.
  logic x_valid, xb_ready, xq_valid, xa_ready;
  logic [35:0] x_address, xq_address;
  tp_memory_window #(
      .DATA_WIDTH(DATA_WIDTH),
      .WINDOWS(2),
      .WRITES(4),
      .OFFSETS({64'h100000, 64'h0}),
      .BYTES({64'h1000, 64'h1000})
  ) dut (
      .rst_n(!rst),
      .w_valid({x_valid, w_valid}),
      .w_ready({x_ready, w_ready}),
      .w_address({x_address, w_address}),
      .wb_valid({xb_valid, wb_valid}),
      .wb_ready({xb_ready, wb_ready}),
      .wb_error({xb_error, wb_error}),
      .q_valid({xq_valid, q_valid}),
      .q_ready({1'b0, q_ready}),
      .q_address({xq_address, q_address}),
      .a_valid({1'b0, a_valid}),
      .a_ready({xa_ready, a_ready}),
      .a_data({DATA_WIDTH'(0), a_data}),
      .a_error({1'b0, a_error}),
      .write_address(write_nowhere ? 36'h2000 : write_other ? 36'h100100 : 36'h100),
      .read_address(read_nowhere ? 36'h2000 : 36'h100),
      .read_rows(5'(read_rows)),
      .read_after(1'b1),
      .*
  );
  tp_memory_join #(
      .DATA_WIDTH(DATA_WIDTH),
      .ADDRESS_WIDTH(ADDRESS_WIDTH)
  ) join_dut (
      .rst_n(!rst),
      .d_awaddr('0),
      .d_awlen(8'(d_awlen)),
      .d_wstrb('1),
      .d_araddr('0),
      .d_arlen(8'(d_arlen)),
      .w_rows(8'(write_rows)),
      .w_data(write_data),
      .w_strb('1),
      .w_last(write_last),
      .q_rows(5'(read_rows)),
      .*
  );

  // ------------------------------------------------------------------------------------------------ who gives what
  logic started = 1'b0;
  logic [1:0] row;  // of the window's packet, and of DMA's burst
  logic d_row;
  assign write_last = row == write_rows - 2'd1;
  assign d_wlast = d_row == d_awlen;
  logic rows_given;  // of the burst whose address stands
  logic write_stands, read_stands, aw_stands, ar_stands, reading;
  logic [4:0] write_was;
  logic [2:0] read_was;
  logic aw_was, ar_was;
  logic [1:0] rows_due;  // of the read
  always_ff @(posedge clk) begin
    started <= 1'b1;
    if (write_valid && write_ready) row <= write_last ? '0 : row + 1'b1;
    if (d_wvalid && d_wready) d_row <= !d_wlast;
    if (d_awvalid && d_awready) rows_given <= 1'b0;
    else if (d_wvalid && d_wready && d_wlast) rows_given <= 1'b1;
    write_stands <= write_valid && !(write_ready && write_last) && !rst;
    write_was <= {write_nowhere, write_other, write_rows, write_valid};
    read_stands <= read_valid && !read_ready && !rst;
    read_was <= {read_nowhere, read_rows};
    aw_stands <= d_awvalid && !d_awready && !rst;
    aw_was <= d_awlen;
    ar_stands <= d_arvalid && !d_arready && !rst;
    ar_was <= d_arlen;
    if (read_valid && read_ready) begin
      reading <= 1'b1;
      rows_due <= read_rows;
    end else if (answer_valid && answer_ready) begin
      rows_due <= rows_due - 1'b1;
      if (rows_due == 2'd1) reading <= 1'b0;
    end
    if (rst) {row, d_row, rows_given, reading, rows_due} <= '0;
  end
  always_comb begin
    if (!started) assume (rst);
    if (write_valid) assume (write_rows != '0);
    if (write_stands) assume (write_valid && write_was == {write_nowhere, write_other, write_rows, 1'b1});
    if (read_valid) assume (read_rows != '0 && !reading);
    if (read_stands) assume (read_valid && read_was == {read_nowhere, read_rows});
    if (aw_stands) assume (d_awvalid && d_awlen == aw_was);
    if (ar_stands) assume (d_arvalid && d_arlen == ar_was);
    if (d_wvalid) assume (d_awvalid && !rows_given);
  end

  // A packet counts when its first row comes; a read follows those that had come when it was first shown.
  logic [15:0] taken_then;
  always_ff @(posedge clk) begin
    if (write_valid && row == '0 && !write_stands) taken <= taken + 1'b1;
    if (!read_stands) taken_then <= taken;
    if (rst) taken <= '0;
  end
  assign read_taken = read_stands ? taken_then : taken;

  // ------------------------------------------------------------------------------------------------ the core
  logic [3:0] aw_order, ar_order;  // whose: 1 the window's
  logic [3:0][7:0] ar_lens, aw_lens;
  logic [2:0] aw_count, ar_count, w_count;  // begun and not answered; bursts whose last row has come and that have no answer
  logic [7:0] r_row, w_row;
  logic aw_go, ar_go, b_go, r_go, w_go;
  assign aw_go = core_awvalid && core_awready;
  assign ar_go = core_arvalid && core_arready;
  assign w_go = core_wvalid && core_wready;
  assign b_go = core_bvalid && core_bready;
  assign r_go = core_rvalid && core_rready;
  assign core_rlast = r_row == ar_lens[0];
  logic [1:0] aw_place, ar_place;
  assign aw_place = 2'(aw_count - 3'(b_go));
  assign ar_place = 2'(ar_count - 3'(r_go && core_rlast));
  always_ff @(posedge clk) begin
    if (b_go) {aw_order, aw_lens} <= {aw_order >> 1, aw_lens >> 8};
    if (aw_go) begin
      aw_order[aw_place] <= core_awaddr[8];
      aw_lens[aw_place] <= core_awlen;
    end
    aw_count <= aw_count + 3'(aw_go) - 3'(b_go);
    if (w_go) w_row <= core_wlast ? '0 : w_row + 1'b1;
    w_count <= w_count + 3'(w_go && core_wlast) - 3'(b_go);
    if (r_go) r_row <= core_rlast ? '0 : r_row + 1'b1;
    if (r_go && core_rlast) {ar_order, ar_lens} <= {ar_order >> 1, ar_lens >> 8};
    if (ar_go) begin
      ar_order[ar_place] <= core_araddr[8];
      ar_lens[ar_place] <= core_arlen;
    end
    ar_count <= ar_count + 3'(ar_go) - 3'(r_go && core_rlast);
    if (rst) {aw_count, ar_count, w_count, w_row, r_row} <= '0;
  end
  logic b_stands, r_stands;
  logic [1:0] b_was;
  logic [DATA_WIDTH+1:0] r_was;
  always_ff @(posedge clk) begin
    b_stands <= core_bvalid && !core_bready && !rst;
    r_stands <= core_rvalid && !core_rready && !rst;
  end
  always_comb begin
    if (core_bvalid) assume (aw_count != '0 && w_count != '0);
    if (core_rvalid) assume (ar_count != '0);
    if (core_awready) assume (aw_count != 3'd4);
    if (core_arready) assume (ar_count != 3'd4);
    if (core_wready) assume (w_count < aw_count);
    if (b_stands) assume (core_bvalid && core_bresp == b_was);
    if (r_stands) assume (core_rvalid && {core_rdata, core_rresp} == r_was);
  end
  always_ff @(posedge clk) begin
    b_was <= core_bresp;
    r_was <= {core_rdata, core_rresp};
  end

  // ------------------------------------------------------------------------------------------------ what is promised
  logic [CW-1:0] came, answered;  // the windows' writes: with their first row; those of the first that are done
  logic [CW-1:0] followed;  // those that the read shown follows
  // The write that is watched, any: its number, where it went, and its number among those that went there.
  logic watching, watched_done;
  logic [CW-1:0] number, place;
  logic [1:0] to;  // 0 the first memory, 1 the other, 2 nowhere
  logic [2:0][CW-1:0] sent;  // with their first row
  logic [2:0][CW-1:0] told;  // done
  logic [1:0] goes;
  logic [CW-1:0] x_whole;  // whole packets that the other memory has
  logic xb_stands, xb_was;
  assign goes = write_nowhere ? 2'd2 : 2'(write_other);
  assign watched_done = told[to] > place;
  always_ff @(posedge clk) begin
    if (write_valid && row == '0 && !write_stands) begin
      sent[goes] <= sent[goes] + 1'b1;
      if (watch && !watching) begin
        watching <= 1'b1;
        number <= came;
        to <= goes;
        place <= sent[goes];
      end
    end
    told[0] <= told[0] + CW'(b_go && aw_order[0]);
    told[1] <= told[1] + CW'(xb_valid && xb_ready);
    told[2] <= told[2] + CW'(write_valid && write_ready && write_last && write_nowhere);
    x_whole <= x_whole + CW'(x_valid && x_ready && write_last);
    xb_stands <= xb_valid && !xb_ready && !rst;
    xb_was <= xb_error;
    if (rst) {watching, sent, told, x_whole} <= '0;
  end
  always_comb begin
    if (xb_valid) assume (told[1] < x_whole);
    if (xb_stands) assume (xb_valid && xb_error == xb_was);
  end
  logic d_waited, w_waited, dr_waited, q_waited;  // the other side has begun a burst since
  logic aw_shown, w_shown, ar_shown;
  logic [ADDRESS_WIDTH+7:0] aw_held, ar_held;
  logic [DATA_WIDTH:0] w_held;
  always_ff @(posedge clk) begin
    if (write_valid && row == '0 && !write_stands) came <= came + 1'b1;
    answered <= answered + CW'(b_go && aw_order[0]);
    if (!read_stands) followed <= came;
    aw_shown <= core_awvalid && !core_awready && !rst;
    aw_held <= {core_awaddr, core_awlen};
    w_shown <= core_wvalid && !core_wready && !rst;
    w_held <= {core_wdata, core_wlast};
    ar_shown <= core_arvalid && !core_arready && !rst;
    ar_held <= {core_araddr, core_arlen};
    q_waited <= q_valid && !q_ready && (q_waited || (d_arvalid && d_arready));
    dr_waited <= d_arvalid && !d_arready && (dr_waited || (q_valid && q_ready));
    w_waited <= w_valid && row == '0 && !w_ready && (w_waited || (d_awvalid && d_awready));
    d_waited <= join_dut.d_wants && !d_awready && (d_waited || (w_valid && w_ready && row == '0));
    if (rst) {came, answered, q_waited, dr_waited, w_waited, d_waited} <= '0;
  end
  logic [CW-1:0] follows;
  assign follows = read_stands ? followed : came;
  always_comb
    if (started && !rst) begin
      // order
      if (q_valid && watching && follows > number) assert (watched_done);
      if (read_valid && read_ready && watching && follows > number) assert (watched_done);
      assert (!xq_valid);
      // whose an answer is
      if (core_bvalid) assert (wb_valid == aw_order[0] && d_bvalid == !aw_order[0]);
      if (core_rvalid) assert (a_valid == ar_order[0] && d_rvalid == !ar_order[0]);
      if (a_valid) assert (answer_valid && answer_data == core_rdata && answer_error == core_rresp[1]);
      if (answer_valid && !a_valid) assert (answer_error);
      // bursts
      if (core_wvalid && w_count < aw_count) assert (core_wlast == (w_row == aw_lens[w_count[1:0]]));
      if (aw_shown) assert (core_awvalid && {core_awaddr, core_awlen} == aw_held);
      if (w_shown) assert (core_wvalid && {core_wdata, core_wlast} == w_held);
      if (ar_shown) assert (core_arvalid && {core_araddr, core_arlen} == ar_held);
      // turns
      if (q_waited) assert (!(d_arvalid && d_arready));
      if (dr_waited) assert (!(q_valid && q_ready));
      if (w_waited) assert (!(d_awvalid && d_awready));
      if (d_waited) assert (!(w_valid && w_ready && row == '0));
      cover (read_valid && read_ready && !read_nowhere && follows == CW'(2) && told[1] == CW'(1) && told[0] == CW'(1));
      cover (told[1] != '0 && told[0] == '0 && sent[0] != '0 && watching && to == 2'd0);
      cover (answer_valid && answer_ready && answer_error && write_failed_valid);
      cover (d_bvalid && d_bready && answered == CW'(1));
    end
endmodule
