// SPDX-License-Identifier: Apache-2.0
// One AXI4 port for a memory with a window: bursts of DMA (`d_`, from tp_memory_write and tp_memory_read) and of the window, in turn.
//
// The window gives rows of a burst (`w_`; address and number of rows stand beside the first) and takes `wb_`, one for each burst; it asks for rows (`q_`)
// and takes them (`a_`). The order in which bursts were begun says which side an answer belongs to: the core answers them in order, for all have
// one ID.
//
// A burst of DMA begins when all its rows are here: what it waits for may come over the link, and the link may be waiting for a window's write. A
// burst of the window has no such ties, for its packet has arrived; its rows may come slowly.
//
// Promises: AXI4's rules for a master; neither side waits for more than one burst of the other to begin, if both want to.
// Of an address the bits within a row are nobody's.
// verilator lint_off UNUSEDSIGNAL
module tp_memory_join #(
    parameter int DATA_WIDTH = 128,
    parameter int ADDRESS_WIDTH = 32,
    parameter logic [63:0] BASE = 64'h0,    // the core's address of the first byte, a multiple of 4096
    localparam int KEEP = DATA_WIDTH / 8
) (
    input logic clk,
    input logic rst_n,

    input  logic [ADDRESS_WIDTH-1:0] d_awaddr,
    input  logic [              7:0] d_awlen,
    input  logic                     d_awvalid,
    output logic                     d_awready,
    input  logic [   DATA_WIDTH-1:0] d_wdata,
    input  logic [         KEEP-1:0] d_wstrb,
    input  logic                     d_wlast,
    input  logic                     d_wvalid,
    output logic                     d_wready,
    output logic [              1:0] d_bresp,
    output logic                     d_bvalid,
    input  logic                     d_bready,
    input  logic [ADDRESS_WIDTH-1:0] d_araddr,
    input  logic [              7:0] d_arlen,
    input  logic                     d_arvalid,
    output logic                     d_arready,
    output logic [   DATA_WIDTH-1:0] d_rdata,
    output logic [              1:0] d_rresp,
    output logic                     d_rlast,
    output logic                     d_rvalid,
    input  logic                     d_rready,

    input  logic                  w_valid,
    output logic                  w_ready,
    input  logic [          35:0] w_address,  // in the memory
    input  logic [           7:0] w_rows,
    input  logic [DATA_WIDTH-1:0] w_data,
    input  logic [      KEEP-1:0] w_strb,
    input  logic                  w_last,
    output logic                  wb_valid,
    input  logic                  wb_ready,
    output logic                  wb_error,
    input  logic                  q_valid,
    output logic                  q_ready,
    input  logic [          35:0] q_address,
    input  logic [           4:0] q_rows,
    output logic                  a_valid,
    input  logic                  a_ready,
    output logic [DATA_WIDTH-1:0] a_data,
    output logic                  a_error,

    output logic [ADDRESS_WIDTH-1:0] core_awaddr,
    output logic [              7:0] core_awlen,
    output logic [              2:0] core_awsize,
    output logic [              1:0] core_awburst,
    output logic                     core_awvalid,
    input  logic                     core_awready,
    output logic [   DATA_WIDTH-1:0] core_wdata,
    output logic [         KEEP-1:0] core_wstrb,
    output logic                     core_wlast,
    output logic                     core_wvalid,
    input  logic                     core_wready,
    input  logic [              1:0] core_bresp,
    input  logic                     core_bvalid,
    output logic                     core_bready,
    output logic [ADDRESS_WIDTH-1:0] core_araddr,
    output logic [              7:0] core_arlen,
    output logic [              2:0] core_arsize,
    output logic [              1:0] core_arburst,
    output logic                     core_arvalid,
    input  logic                     core_arready,
    input  logic [   DATA_WIDTH-1:0] core_rdata,
    input  logic [              1:0] core_rresp,
    input  logic                     core_rlast,
    input  logic                     core_rvalid,
    output logic                     core_rready
);
  localparam int KW = $clog2(KEEP);
  localparam int ROWS = 256 * KEEP < 4096 ? 256 : 4096 / KEEP;  // of the longest burst of DMA
  localparam int AW = ADDRESS_WIDTH - KW;  // of a row's address
  localparam int OUTSTANDING = 64;
  typedef struct packed {
    logic [AW-1:0] row;
    logic [7:0] len;
  } burst_t;
  function automatic logic [AW-1:0] row_of(input logic [35:0] address);
    return AW'((BASE + 64'(address)) >> KW);
  endfunction

  // ------------------------------------------------------------------------------------------------ rows of DMA, until a burst is whole
  logic rows_valid, rows_take, rows_last;
  logic [DATA_WIDTH-1:0] rows_data;
  logic [KEEP-1:0] rows_strb;
  logic [$clog2(2*ROWS):0] whole;
  tp_deep_fifo #(
      .WIDTH(DATA_WIDTH + KEEP + 1),
      .DEPTH(2 * ROWS)
  ) i_rows (
      .clk,
      .rst(!rst_n),
      .in_valid(d_wvalid),
      .in_ready(d_wready),
      .in_data({d_wdata, d_wstrb, d_wlast}),
      .out_valid(rows_valid),
      .out_ready(rows_take),
      .out_data({rows_data, rows_strb, rows_last})
  );
  always_ff @(posedge clk) begin
    whole <= whole + ($clog2(
        2 * ROWS
    ) + 1)'(d_wvalid && d_wready && d_wlast) - ($clog2(
        2 * ROWS
    ) + 1)'(rows_valid && rows_take && rows_last);
    if (!rst_n) whole <= '0;
  end

  // ------------------------------------------------------------------------------------------------ writes
  logic begun, for_window, was_window;  // a burst has begun; whose this row is, and the one before
  logic d_wants, may, go, address_ready, order_ready, row_ready;
  burst_t aw, aw_out;
  assign d_wants = d_awvalid && rows_valid && whole != '0;
  assign for_window = begun ? was_window : w_valid && !(d_wants && was_window);
  assign may = row_ready && (begun || (address_ready && order_ready));
  assign go = may && (begun ? (was_window ? w_valid : rows_valid) : w_valid || d_wants);
  assign w_ready = may && for_window;
  assign rows_take = may && !for_window && (begun || d_wants);
  assign d_awready = may && !for_window && !begun && d_wants;
  assign aw = for_window ? '{row: row_of(w_address), len: w_rows - 1'b1} : '{row: d_awaddr[ADDRESS_WIDTH-1:KW], len: d_awlen};
  always_ff @(posedge clk) begin
    if (go) begin
      begun <= !(for_window ? w_last : rows_last);
      was_window <= for_window;
    end
    if (!rst_n) begin
      begun <= 1'b0;
      was_window <= 1'b0;
    end
  end
  tp_fifo #(
      .WIDTH($bits(burst_t)),
      .DEPTH(4)
  ) i_aw (
      .clk,
      .rst(!rst_n),
      .clear(1'b0),
      .in_valid(go && !begun),
      .in_ready(address_ready),
      .in_data(aw),
      .out_valid(core_awvalid),
      .out_ready(core_awready),
      .out_data(aw_out),
      .count()
  );
  assign core_awaddr = {aw_out.row, KW'(0)};
  assign core_awlen = aw_out.len;
  assign core_awsize = 3'(KW);
  assign core_awburst = 2'b01;
  tp_skid #(
      .WIDTH(DATA_WIDTH + KEEP + 1)
  ) i_w (
      .clk,
      .rst(!rst_n),
      .in_valid(go),
      .in_ready(row_ready),
      .in_data(for_window ? {w_data, w_strb, w_last} : {rows_data, rows_strb, rows_last}),
      .out_valid(core_wvalid),
      .out_ready(core_wready),
      .out_data({core_wdata, core_wstrb, core_wlast})
  );

  logic b_due, b_window;
  tp_fifo #(
      .WIDTH(1),
      .DEPTH(OUTSTANDING)
  ) i_b (
      .clk,
      .rst(!rst_n),
      .clear(1'b0),
      .in_valid(go && !begun),
      .in_ready(order_ready),
      .in_data(for_window),
      .out_valid(b_due),
      .out_ready(core_bvalid && core_bready),
      .out_data(b_window),
      .count()
  );
  assign core_bready = b_due && (b_window ? wb_ready : d_bready);
  assign wb_valid = core_bvalid && b_due && b_window;
  assign wb_error = core_bresp[1];
  assign d_bvalid = core_bvalid && b_due && !b_window;
  assign d_bresp = core_bresp;

  // ------------------------------------------------------------------------------------------------ reads
  logic asks_window, asked_window, ask, ar_ready, r_ready, r_due, r_window;
  burst_t ar, ar_out;
  assign asks_window = q_valid && !(d_arvalid && asked_window);
  assign ask = (q_valid || d_arvalid) && ar_ready && r_ready;
  assign q_ready = ar_ready && r_ready && asks_window;
  assign d_arready = ar_ready && r_ready && !asks_window;
  assign ar = asks_window ? '{row: row_of(q_address), len: 8'(q_rows - 1'b1)} : '{row: d_araddr[ADDRESS_WIDTH-1:KW], len: d_arlen};
  always_ff @(posedge clk) begin
    if (ask) asked_window <= asks_window;
    if (!rst_n) asked_window <= 1'b0;
  end
  tp_fifo #(
      .WIDTH($bits(burst_t)),
      .DEPTH(4)
  ) i_ar (
      .clk,
      .rst(!rst_n),
      .clear(1'b0),
      .in_valid(ask),
      .in_ready(ar_ready),
      .in_data(ar),
      .out_valid(core_arvalid),
      .out_ready(core_arready),
      .out_data(ar_out),
      .count()
  );
  assign core_araddr = {ar_out.row, KW'(0)};
  assign core_arlen = ar_out.len;
  assign core_arsize = 3'(KW);
  assign core_arburst = 2'b01;
  tp_fifo #(
      .WIDTH(1),
      .DEPTH(OUTSTANDING)
  ) i_r (
      .clk,
      .rst(!rst_n),
      .clear(1'b0),
      .in_valid(ask),
      .in_ready(r_ready),
      .in_data(asks_window),
      .out_valid(r_due),
      .out_ready(core_rvalid && core_rready && core_rlast),
      .out_data(r_window),
      .count()
  );
  assign core_rready = r_due && (r_window ? a_ready : d_rready);
  assign a_valid = core_rvalid && r_due && r_window;
  assign a_data = core_rdata;
  assign a_error = core_rresp[1];
  assign d_rvalid = core_rvalid && r_due && !r_window;
  assign d_rdata = core_rdata;
  assign d_rresp = core_rresp;
  assign d_rlast = core_rlast;
endmodule
