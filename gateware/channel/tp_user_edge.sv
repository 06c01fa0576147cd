// SPDX-License-Identifier: Apache-2.0
// Between the mover and the user core: streams, registers, interrupts and memory windows, each to the user's clock, and the user core's reset.
//
// The mover's side (`mv_`) has the signals of tp_core's user ports, on `clk`. With USER_ASYNC 0 the two sides are wires (`clk` and `user_clk`
// are one net): a core that wants registers on its ports puts tp_skid there. With USER_ASYNC 1 streams go through FIFOs of DEPTH beats,
// attributes beside each beat, registers and interrupts through handshakes.
//
// `mv_*_reset` is 1 for a clock or more on `clk`: one reset, in which nothing moves. Beats that came before it are dropped on both sides of
// the crossing, beats after it arrive; to the core it is `*_reset`, 1 for a clock or more, beside `h2c_tvalid` 0 and `c2h_tready` 0.
// `mv_*_reset_busy` is 1 from its rise until the core has been told and nothing old is left: what either side sends from then on arrives.
// A user clock that stands still keeps it 1; `user_busy` ends it, since the reset of the whole core forgets all there is. With USER_ASYNC 0 it is always 0: then the reset is over with `mv_*_reset`.
// Nothing but that of the card resets the streams of the memory windows (`mem_`).
// `card_reset` (a level) holds the user core in reset, as does `rst`: `user_rst_n` is low for 16 clocks of the user's at least. `user_busy` is
// 1 until the core has left reset; meanwhile nothing passes in either direction, and what waited in the crossings is forgotten. With
// USER_ASYNC 0 the interrupts are mere wires, and the mover's side takes none meanwhile.
//
// A direction without channels has one element in its arrays, which nobody drives or reads: synthesis removes it.
// Not for: changing widths or keeping more than a crossing needs; that is the mover's buffers' work.
// Channels without verdicts, and channels that are not asked, leave those signals unused.
// verilator lint_off UNUSEDSIGNAL
module tp_user_edge #(
    parameter int DATA_WIDTH = 128,
    parameter int H2C = 1,
    parameter int C2H = 1,
    parameter bit USER_ASYNC = 0,
    parameter int DEPTH = 16,                // of each stream's crossing
    localparam int KEEP = DATA_WIDTH / 8,
    localparam int NH = H2C == 0 ? 1 : H2C,  // port arrays have one element at least
    localparam int NC = C2H == 0 ? 1 : C2H,
    parameter logic [NH-1:0] H2C_VERDICTS = '0,
    parameter logic [NC-1:0] C2H_ASKED = '0,
    parameter bit MEMORY_WINDOWS = 0
) (
    input  logic clk,
    input  logic rst,
    input  logic card_reset,
    output logic user_busy,

    // the mover's side
    input  logic [NH-1:0] mv_h2c_tvalid,
    output logic [NH-1:0] mv_h2c_tready,
    input  logic [NH-1:0][DATA_WIDTH-1:0] mv_h2c_tdata,
    input  logic [NH-1:0][KEEP-1:0] mv_h2c_tkeep,
    input  logic [NH-1:0] mv_h2c_tlast,
    input  logic [NH-1:0] mv_h2c_error,
    input  logic [NH-1:0][63:0] mv_h2c_length,
    input  logic [NH-1:0][63:0] mv_h2c_offset,
    input  logic [NH-1:0][31:0] mv_h2c_user,
    input  logic [NH-1:0] mv_h2c_reset,
    output logic [NH-1:0] mv_h2c_reset_busy,
    output logic [NH-1:0] mv_h2c_end_valid,
    input  logic [NH-1:0] mv_h2c_end_ready,
    output logic [NH-1:0][5:0] mv_h2c_end_status,
    output logic [NC-1:0] mv_c2h_tvalid,
    input  logic [NC-1:0] mv_c2h_tready,
    output logic [NC-1:0][DATA_WIDTH-1:0] mv_c2h_tdata,
    output logic [NC-1:0][KEEP-1:0] mv_c2h_tkeep,
    output logic [NC-1:0] mv_c2h_tlast,
    output logic [NC-1:0][47:0] mv_c2h_length,
    output logic [NC-1:0][31:0] mv_c2h_offset,
    output logic [NC-1:0][31:0] mv_c2h_user,
    output logic [NC-1:0][5:0] mv_c2h_status,
    input  logic [NC-1:0] mv_c2h_ask_valid,
    output logic [NC-1:0] mv_c2h_ask_ready,
    input  logic [NC-1:0] mv_c2h_ask_cancel,
    input  logic [NC-1:0][31:0] mv_c2h_ask_length,
    input  logic [NC-1:0][63:0] mv_c2h_ask_offset,
    input  logic [NC-1:0][31:0] mv_c2h_ask_user,
    input  logic [NC-1:0] mv_c2h_reset,
    output logic [NC-1:0] mv_c2h_reset_busy,
    input  logic [31:0] mv_axil_awaddr,
    input  logic mv_axil_awvalid,
    output logic mv_axil_awready,
    input  logic [31:0] mv_axil_wdata,
    input  logic [3:0] mv_axil_wstrb,
    input  logic mv_axil_wvalid,
    output logic mv_axil_wready,
    output logic [1:0] mv_axil_bresp,
    output logic mv_axil_bvalid,
    input  logic mv_axil_bready,
    input  logic [31:0] mv_axil_araddr,
    input  logic mv_axil_arvalid,
    output logic mv_axil_arready,
    output logic [31:0] mv_axil_rdata,
    output logic [1:0] mv_axil_rresp,
    output logic mv_axil_rvalid,
    input  logic mv_axil_rready,
    output logic [15:0] mv_irq_valid,
    input  logic [15:0] mv_irq_ready,
    // Writes to the memory windows, those that failed, reads, and their rows.
    input  logic mv_mem_write_valid,
    output logic mv_mem_write_ready,
    input  logic [35:0] mv_mem_write_address,
    input  logic [7:0] mv_mem_write_rows,
    input  logic [DATA_WIDTH-1:0] mv_mem_write_data,
    input  logic [KEEP-1:0] mv_mem_write_strb,
    input  logic mv_mem_write_last,
    output logic mv_mem_failed_valid,
    input  logic mv_mem_failed_ready,
    input  logic mv_mem_read_valid,
    output logic mv_mem_read_ready,
    input  logic [35:0] mv_mem_read_address,
    input  logic [4:0] mv_mem_read_rows,
    input  logic mv_mem_read_after,
    input  logic [15:0] mv_mem_read_taken,
    output logic mv_mem_answer_valid,
    input  logic mv_mem_answer_ready,
    output logic [DATA_WIDTH-1:0] mv_mem_answer_data,
    output logic mv_mem_answer_error,

    // the user's side
    input  logic user_clk,
    output logic user_rst_n,
    output logic [NH-1:0] h2c_tvalid,
    input  logic [NH-1:0] h2c_tready,
    output logic [NH-1:0][DATA_WIDTH-1:0] h2c_tdata,
    output logic [NH-1:0][KEEP-1:0] h2c_tkeep,
    output logic [NH-1:0] h2c_tlast,
    output logic [NH-1:0] h2c_error,
    output logic [NH-1:0][63:0] h2c_length,
    output logic [NH-1:0][63:0] h2c_offset,
    output logic [NH-1:0][31:0] h2c_user,
    output logic [NH-1:0] h2c_reset,
    input  logic [NH-1:0] h2c_end_valid,
    output logic [NH-1:0] h2c_end_ready,
    input  logic [NH-1:0][5:0] h2c_end_status,
    input  logic [NC-1:0] c2h_tvalid,
    output logic [NC-1:0] c2h_tready,
    input  logic [NC-1:0][DATA_WIDTH-1:0] c2h_tdata,
    input  logic [NC-1:0][KEEP-1:0] c2h_tkeep,
    input  logic [NC-1:0] c2h_tlast,
    input  logic [NC-1:0][47:0] c2h_length,
    input  logic [NC-1:0][31:0] c2h_offset,
    input  logic [NC-1:0][31:0] c2h_user,
    input  logic [NC-1:0][5:0] c2h_status,
    output logic [NC-1:0] c2h_reset,
    output logic [NC-1:0] c2h_ask_valid,
    input  logic [NC-1:0] c2h_ask_ready,
    output logic [NC-1:0] c2h_ask_cancel,
    output logic [NC-1:0][31:0] c2h_ask_length,
    output logic [NC-1:0][63:0] c2h_ask_offset,
    output logic [NC-1:0][31:0] c2h_ask_user,
    output logic [31:0] m_axil_awaddr,
    output logic m_axil_awvalid,
    input  logic m_axil_awready,
    output logic [31:0] m_axil_wdata,
    output logic [3:0] m_axil_wstrb,
    output logic m_axil_wvalid,
    input  logic m_axil_wready,
    input  logic [1:0] m_axil_bresp,
    input  logic m_axil_bvalid,
    output logic m_axil_bready,
    output logic [31:0] m_axil_araddr,
    output logic m_axil_arvalid,
    input  logic m_axil_arready,
    input  logic [31:0] m_axil_rdata,
    input  logic [1:0] m_axil_rresp,
    input  logic m_axil_rvalid,
    output logic m_axil_rready,
    input  logic [15:0] irq_valid,
    output logic [15:0] irq_ready,
    output logic mem_write_valid,
    input  logic mem_write_ready,
    output logic [35:0] mem_write_address,
    output logic [7:0] mem_write_rows,
    output logic [DATA_WIDTH-1:0] mem_write_data,
    output logic [KEEP-1:0] mem_write_strb,
    output logic mem_write_last,
    input  logic mem_failed_valid,
    output logic mem_failed_ready,
    output logic mem_read_valid,
    input  logic mem_read_ready,
    output logic [35:0] mem_read_address,
    output logic [4:0] mem_read_rows,
    output logic mem_read_after,
    output logic [15:0] mem_read_taken,
    input  logic mem_answer_valid,
    output logic mem_answer_ready,
    input  logic [DATA_WIDTH-1:0] mem_answer_data,
    input  logic mem_answer_error
);
  logic user_rst, near_rst, open;
  tp_reset_sync #(
      .CLOCKS(16)
  ) reset_sync (
      .clk,
      .request(rst || card_reset),
      .busy(user_busy),
      .src_rst(near_rst),
      .dst_clk(user_clk),
      .dst_rst(user_rst)
  );
  assign user_rst_n = !user_rst;
  assign open = !user_busy;

  if (USER_ASYNC) begin : gen_crossings
    for (genvar i = 0; i < NH; i++) begin : gen_h2c
      logic ready, resetting, verdicts_resetting;
      tp_h2c_crossing #(
          .WIDTH(DATA_WIDTH + KEEP + 2 + 64 + 64 + 32),
          .DEPTH(DEPTH)
      ) crossing (
          .clk,
          .rst(near_rst),
          .mv_reset(mv_h2c_reset[i]),
          .mv_reset_busy(resetting),
          .mv_tvalid(mv_h2c_tvalid[i] && open),
          .mv_tready(ready),
          .mv_beat({
            mv_h2c_tdata[i], mv_h2c_tkeep[i], mv_h2c_tlast[i], mv_h2c_error[i], mv_h2c_length[i], mv_h2c_offset[i], mv_h2c_user[i]
          }),
          .user_clk,
          .user_rst,
          .reset(h2c_reset[i]),
          .tvalid(h2c_tvalid[i]),
          .tready(h2c_tready[i]),
          .beat({h2c_tdata[i], h2c_tkeep[i], h2c_tlast[i], h2c_error[i], h2c_length[i], h2c_offset[i], h2c_user[i]})
      );
      assign mv_h2c_tready[i] = ready && open;
      assign mv_h2c_reset_busy[i] = (resetting || verdicts_resetting) && open;
      // Verdicts are reset after the stream: once the kind has forgotten its messages, it gives none of before.
      if (H2C_VERDICTS[i]) begin : gen_verdicts
        logic was_resetting, begins, valid, busy, unused_reset;
        always_ff @(posedge clk) was_resetting <= resetting && !near_rst;
        assign begins = was_resetting && !resetting;
        tp_c2h_crossing #(
            .WIDTH(6),
            .DEPTH(DEPTH)
        ) crossing (
            .user_clk,
            .user_rst,
            .reset(unused_reset),
            .tvalid(h2c_end_valid[i]),
            .tready(h2c_end_ready[i]),
            .beat(h2c_end_status[i]),
            .clk,
            .rst(near_rst),
            .mv_reset(begins),
            .mv_reset_busy(busy),
            .mv_tvalid(valid),
            .mv_tready(mv_h2c_end_ready[i] && open && !resetting),
            .mv_beat(mv_h2c_end_status[i])
        );
        assign mv_h2c_end_valid[i] = valid && open && !resetting;
        assign verdicts_resetting = busy || was_resetting;
      end else begin : gen_no_verdicts
        assign verdicts_resetting = 1'b0;
        assign mv_h2c_end_valid[i] = 1'b0;
        assign mv_h2c_end_status[i] = '0;
        assign h2c_end_ready[i] = 1'b0;
      end
    end
    for (genvar i = 0; i < NC; i++) begin : gen_c2h
      logic valid, resetting, asks_resetting, begins;
      logic [5:0] status, mv_status;  // of a stream nobody's
      assign status = C2H_ASKED[i] ? c2h_status[i] : '0;
      assign mv_c2h_status[i] = C2H_ASKED[i] ? mv_status : '0;
      tp_c2h_crossing #(
          .WIDTH(6 + DATA_WIDTH + KEEP + 1 + 48 + 32 + 32),
          .DEPTH(DEPTH)
      ) crossing (
          .user_clk,
          .user_rst,
          .reset(c2h_reset[i]),
          .tvalid(c2h_tvalid[i]),
          .tready(c2h_tready[i]),
          .beat({status, c2h_tdata[i], c2h_tkeep[i], c2h_tlast[i], c2h_length[i], c2h_offset[i], c2h_user[i]}),
          .clk,
          .rst(near_rst),
          .mv_reset(begins),
          .mv_reset_busy(resetting),
          .mv_tvalid(valid),
          .mv_tready(mv_c2h_tready[i] && open && !asks_resetting),
          .mv_beat({
            mv_status, mv_c2h_tdata[i], mv_c2h_tkeep[i], mv_c2h_tlast[i], mv_c2h_length[i], mv_c2h_offset[i], mv_c2h_user[i]
          })
      );
      assign mv_c2h_tvalid[i] = valid && open && !asks_resetting;
      assign mv_c2h_reset_busy[i] = (resetting || asks_resetting) && open;
      // Asks are reset before the stream: once no old one can come, the kind forgets those that it has.
      if (C2H_ASKED[i]) begin : gen_asks
        logic busy, was_busy, ready, unused_reset;
        tp_h2c_crossing #(
            .WIDTH(1 + 32 + 64 + 32),
            .DEPTH(4)
        ) crossing (
            .clk,
            .rst(near_rst),
            .mv_reset(mv_c2h_reset[i]),
            .mv_reset_busy(busy),
            .mv_tvalid(mv_c2h_ask_valid[i] && open),
            .mv_tready(ready),
            .mv_beat({mv_c2h_ask_cancel[i], mv_c2h_ask_length[i], mv_c2h_ask_offset[i], mv_c2h_ask_user[i]}),
            .user_clk,
            .user_rst,
            .reset(unused_reset),
            .tvalid(c2h_ask_valid[i]),
            .tready(c2h_ask_ready[i]),
            .beat({c2h_ask_cancel[i], c2h_ask_length[i], c2h_ask_offset[i], c2h_ask_user[i]})
        );
        always_ff @(posedge clk) was_busy <= busy && !near_rst;
        assign begins = was_busy && !busy;
        assign asks_resetting = busy || was_busy;
        assign mv_c2h_ask_ready[i] = ready && open;
      end else begin : gen_no_asks
        assign begins = mv_c2h_reset[i];
        assign asks_resetting = 1'b0;
        assign mv_c2h_ask_ready[i] = 1'b0;
        assign c2h_ask_valid[i] = 1'b0;
        assign {c2h_ask_cancel[i], c2h_ask_length[i], c2h_ask_offset[i], c2h_ask_user[i]} = '0;
      end
    end

    logic awready, wready, bvalid, arready, rvalid;
    tp_axil_crossing axil (
        .clk,
        .rst(near_rst),
        .s_awaddr(mv_axil_awaddr),
        .s_awvalid(mv_axil_awvalid && open),
        .s_awready(awready),
        .s_wdata(mv_axil_wdata),
        .s_wstrb(mv_axil_wstrb),
        .s_wvalid(mv_axil_wvalid && open),
        .s_wready(wready),
        .s_bresp(mv_axil_bresp),
        .s_bvalid(bvalid),
        .s_bready(mv_axil_bready && open),
        .s_araddr(mv_axil_araddr),
        .s_arvalid(mv_axil_arvalid && open),
        .s_arready(arready),
        .s_rdata(mv_axil_rdata),
        .s_rresp(mv_axil_rresp),
        .s_rvalid(rvalid),
        .s_rready(mv_axil_rready && open),
        .user_clk,
        .user_rst,
        .m_awaddr(m_axil_awaddr),
        .m_awvalid(m_axil_awvalid),
        .m_awready(m_axil_awready),
        .m_wdata(m_axil_wdata),
        .m_wstrb(m_axil_wstrb),
        .m_wvalid(m_axil_wvalid),
        .m_wready(m_axil_wready),
        .m_bresp(m_axil_bresp),
        .m_bvalid(m_axil_bvalid),
        .m_bready(m_axil_bready),
        .m_araddr(m_axil_araddr),
        .m_arvalid(m_axil_arvalid),
        .m_arready(m_axil_arready),
        .m_rdata(m_axil_rdata),
        .m_rresp(m_axil_rresp),
        .m_rvalid(m_axil_rvalid),
        .m_rready(m_axil_rready)
    );
    assign mv_axil_awready = awready && open;
    assign mv_axil_wready = wready && open;
    assign mv_axil_bvalid = bvalid && open;
    assign mv_axil_arready = arready && open;
    assign mv_axil_rvalid = rvalid && open;

    for (genvar i = 0; i < 16; i++) begin : gen_irq
      logic valid, ready, waits;
      // A plug-in may reset the core alone: a request that goes with that is on its way, and is completed.
      always_ff @(posedge user_clk) waits <= (irq_valid[i] || waits) && !ready && !user_rst;
      tp_pulse crossing (
          .src_clk(user_clk),
          .src_rst(user_rst),
          .src_valid(irq_valid[i] || waits),
          .src_ready(ready),
          .dst_clk(clk),
          .dst_rst(near_rst),
          .dst_valid(valid),
          .dst_ready(mv_irq_ready[i] && open)
      );
      assign irq_ready[i] = ready && !user_rst;
      assign mv_irq_valid[i] = valid && open;
    end
    if (MEMORY_WINDOWS) begin : gen_memory
      logic write_ready, write_valid, failed_ready, failed_valid, read_ready, read_valid, answer_ready, answer_valid;
      tp_async_fifo #(
          .WIDTH(36 + 8 + DATA_WIDTH + KEEP + 1),
          .DEPTH(DEPTH)
      ) writes (
          .wr_clk(clk),
          .wr_rst(near_rst),
          .wr_valid(mv_mem_write_valid && open),
          .wr_ready(write_ready),
          .wr_data({mv_mem_write_address, mv_mem_write_rows, mv_mem_write_data, mv_mem_write_strb, mv_mem_write_last}),
          .rd_clk(user_clk),
          .rd_rst(user_rst),
          .rd_valid(write_valid),
          .rd_ready(mem_write_ready && !user_rst),
          .rd_data({mem_write_address, mem_write_rows, mem_write_data, mem_write_strb, mem_write_last})
      );
      tp_pulse failures (
          .src_clk(user_clk),
          .src_rst(user_rst),
          .src_valid(mem_failed_valid),
          .src_ready(failed_ready),
          .dst_clk(clk),
          .dst_rst(near_rst),
          .dst_valid(failed_valid),
          .dst_ready(mv_mem_failed_ready && open)
      );
      tp_async_fifo #(
          .WIDTH(36 + 5 + 1 + 16),
          .DEPTH(4)
      ) reads (
          .wr_clk(clk),
          .wr_rst(near_rst),
          .wr_valid(mv_mem_read_valid && open),
          .wr_ready(read_ready),
          .wr_data({mv_mem_read_address, mv_mem_read_rows, mv_mem_read_after, mv_mem_read_taken}),
          .rd_clk(user_clk),
          .rd_rst(user_rst),
          .rd_valid(read_valid),
          .rd_ready(mem_read_ready && !user_rst),
          .rd_data({mem_read_address, mem_read_rows, mem_read_after, mem_read_taken})
      );
      tp_async_fifo #(
          .WIDTH(DATA_WIDTH + 1),
          .DEPTH(DEPTH)
      ) answers (
          .wr_clk(user_clk),
          .wr_rst(user_rst),
          .wr_valid(mem_answer_valid && !user_rst),
          .wr_ready(answer_ready),
          .wr_data({mem_answer_data, mem_answer_error}),
          .rd_clk(clk),
          .rd_rst(near_rst),
          .rd_valid(answer_valid),
          .rd_ready(mv_mem_answer_ready && open),
          .rd_data({mv_mem_answer_data, mv_mem_answer_error})
      );
      assign mem_write_valid = write_valid && !user_rst;
      assign mem_read_valid = read_valid && !user_rst;
      assign mv_mem_write_ready = write_ready && open;
      assign mem_failed_ready = failed_ready && !user_rst;
      assign mv_mem_failed_valid = failed_valid && open;
      assign mv_mem_read_ready = read_ready && open;
      assign mem_answer_ready = answer_ready && !user_rst;
      assign mv_mem_answer_valid = answer_valid && open;
    end
  end else begin : gen_wires
    for (genvar i = 0; i < NH; i++) begin : gen_h2c
      // Nothing moves in the cycle of the reset.
      assign h2c_tvalid[i] = mv_h2c_tvalid[i] && open && !mv_h2c_reset[i];
      assign mv_h2c_tready[i] = h2c_tready[i] && open && !mv_h2c_reset[i];
    end
    assign h2c_tdata = mv_h2c_tdata;
    assign h2c_tkeep = mv_h2c_tkeep;
    assign h2c_tlast = mv_h2c_tlast;
    assign h2c_error = mv_h2c_error;
    assign h2c_length = mv_h2c_length;
    assign h2c_offset = mv_h2c_offset;
    assign h2c_user = mv_h2c_user;
    assign h2c_reset = mv_h2c_reset;
    assign mv_h2c_reset_busy = '0;
    assign mv_h2c_end_valid = H2C_VERDICTS & h2c_end_valid & ~mv_h2c_reset & {NH{open}};
    assign h2c_end_ready = H2C_VERDICTS & mv_h2c_end_ready & ~mv_h2c_reset & {NH{open}};
    assign mv_h2c_end_status = h2c_end_status;
    for (genvar i = 0; i < NC; i++) begin : gen_c2h
      assign mv_c2h_tvalid[i] = c2h_tvalid[i] && open && !mv_c2h_reset[i];
      assign c2h_tready[i] = mv_c2h_tready[i] && open && !mv_c2h_reset[i];
    end
    assign mv_c2h_tdata = c2h_tdata;
    assign mv_c2h_tkeep = c2h_tkeep;
    assign mv_c2h_tlast = c2h_tlast;
    assign mv_c2h_length = c2h_length;
    assign mv_c2h_offset = c2h_offset;
    assign mv_c2h_user = c2h_user;
    assign mv_c2h_status = c2h_status;
    assign c2h_reset = mv_c2h_reset;
    assign mv_c2h_reset_busy = '0;
    assign c2h_ask_valid = C2H_ASKED & mv_c2h_ask_valid & ~mv_c2h_reset & {NC{open}};
    assign mv_c2h_ask_ready = C2H_ASKED & c2h_ask_ready & ~mv_c2h_reset & {NC{open}};
    assign c2h_ask_cancel = mv_c2h_ask_cancel;
    assign c2h_ask_length = mv_c2h_ask_length;
    assign c2h_ask_offset = mv_c2h_ask_offset;
    assign c2h_ask_user = mv_c2h_ask_user;

    assign m_axil_awaddr = mv_axil_awaddr;
    assign m_axil_awvalid = mv_axil_awvalid && open;
    assign mv_axil_awready = m_axil_awready && open;
    assign m_axil_wdata = mv_axil_wdata;
    assign m_axil_wstrb = mv_axil_wstrb;
    assign m_axil_wvalid = mv_axil_wvalid && open;
    assign mv_axil_wready = m_axil_wready && open;
    assign mv_axil_bresp = m_axil_bresp;
    assign mv_axil_bvalid = m_axil_bvalid && open;
    assign m_axil_bready = mv_axil_bready && open;
    assign m_axil_araddr = mv_axil_araddr;
    assign m_axil_arvalid = mv_axil_arvalid && open;
    assign mv_axil_arready = m_axil_arready && open;
    assign mv_axil_rdata = m_axil_rdata;
    assign mv_axil_rresp = m_axil_rresp;
    assign mv_axil_rvalid = m_axil_rvalid && open;
    assign m_axil_rready = mv_axil_rready && open;
    assign mv_irq_valid = irq_valid;
    assign irq_ready = mv_irq_ready;

    if (MEMORY_WINDOWS) begin : gen_memory
      assign mem_write_valid = mv_mem_write_valid && open;
      assign mv_mem_write_ready = mem_write_ready && open;
      assign {mem_write_address, mem_write_rows} = {mv_mem_write_address, mv_mem_write_rows};
      assign {mem_write_data, mem_write_strb, mem_write_last} = {mv_mem_write_data, mv_mem_write_strb, mv_mem_write_last};
      assign mv_mem_failed_valid = mem_failed_valid && open;
      assign mem_failed_ready = mv_mem_failed_ready && open;
      assign mem_read_valid = mv_mem_read_valid && open;
      assign mv_mem_read_ready = mem_read_ready && open;
      assign {mem_read_address, mem_read_rows} = {mv_mem_read_address, mv_mem_read_rows};
      assign {mem_read_after, mem_read_taken} = {mv_mem_read_after, mv_mem_read_taken};
      assign mv_mem_answer_valid = mem_answer_valid && open;
      assign mem_answer_ready = mv_mem_answer_ready && open;
      assign {mv_mem_answer_data, mv_mem_answer_error} = {mem_answer_data, mem_answer_error};
    end

    logic unused;
    assign unused = near_rst;  // resets crossings, of which there are none
  end

  if (!MEMORY_WINDOWS) begin : gen_no_memory
    assign {mv_mem_write_ready, mv_mem_failed_valid, mv_mem_read_ready, mv_mem_answer_valid, mv_mem_answer_data, mv_mem_answer_error} = '0;
    assign {mem_write_valid, mem_write_address, mem_write_rows, mem_write_data, mem_write_strb, mem_write_last} = '0;
    assign {mem_failed_ready, mem_read_valid, mem_read_address, mem_read_rows, mem_read_after, mem_read_taken, mem_answer_ready} = '0;
  end
endmodule
