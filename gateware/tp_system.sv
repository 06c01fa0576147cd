// SPDX-License-Identifier: Apache-2.0
// The core with a user core behind it: neutral TLP streams on this side, nothing on the other. What every card has in common, simulated or not.
//
// `tp_user_pkg` (the parameters) and `tp_user` (the user core behind arrays) are generated from a core's manifest by host/cores
// (`towpath wrapper CORE`); they are compiled before this.
module tp_system
  import tp_tlp_pkg::*;
  import tp_user_pkg::*;
(
    input logic clk,
    input logic [USER_CLOCKS-1:0] user_clk,  // used with USER_ASYNC only
    input logic rst,
    input tp_config_t cfg,
    output logic function_reset_done,
    output tp_errors_t errors,

    output logic                                tx_posted_valid,
    input  logic                                tx_posted_ready,
    output tp_write_hdr_t                       tx_posted_hdr,
    output logic               [DATA_WIDTH-1:0] tx_posted_data,
    output logic                                tx_posted_last,
    output logic                                tx_read_valid,
    input  logic                                tx_read_ready,
    output tp_read_hdr_t                        tx_read_hdr,
    output logic                                tx_answer_valid,
    input  logic                                tx_answer_ready,
    output tp_answer_hdr_t                      tx_answer_hdr,
    output logic               [DATA_WIDTH-1:0] tx_answer_data,
    output logic                                tx_answer_last,
    input  logic                                rx_completion_valid,
    input  tp_completion_hdr_t                  rx_completion_hdr,
    input  logic               [DATA_WIDTH-1:0] rx_completion_data,
    input  logic                                rx_completion_last,
    input  logic                                rx_completion_bad,
    input  logic                                rx_posted_valid,
    input  tp_request_hdr_t                     rx_posted_hdr,
    input  logic               [DATA_WIDTH-1:0] rx_posted_data,
    input  logic                                rx_posted_last,
    input  logic                                rx_nonposted_valid,
    input  tp_request_hdr_t                     rx_nonposted_hdr,
    output logic                                nonposted_credit,
    output logic                                rx_posted_hold
);
  // With USER_ASYNC 0 both sides run on one net, as tp_core asks. Of several clocks the user's is that which a plug-in in tp_user asks for.
  logic uclk;
  logic switch_ask, switch_ready;
  logic [1:0] switch_input;
  logic [4+USER_CLOCKS*17-1:0] switch_told;
  if (USER_CLOCKS > 1) begin : gen_switch
    tp_clock_switch #(
        .CLOCKS(USER_CLOCKS),
        .KHZ(CORE_CLOCK_KHZ)
    ) clock_switch (
        .clk,
        .rst,
        .clocks(user_clk),
        .user_clk(uclk),
        .switch_ask,
        .switch_ready,
        .switch_input,
        .switch_told
    );
  end else begin : gen_one
    logic unused_switch;
    assign {switch_ask, switch_ready, switch_input, switch_told} = '0;
    assign unused_switch = ^{switch_ask, switch_ready, switch_input, switch_told};
    if (USER_ASYNC) begin : gen_async
      assign uclk = user_clk;
    end else begin : gen_sync
      assign uclk = clk;
      logic unused_user_clk;
      assign unused_user_clk = user_clk;
    end
  end

  logic user_rst_n;
  logic [NH-1:0] h2c_tvalid, h2c_tready, h2c_tlast, h2c_error, h2c_reset;
  logic [NH-1:0][DATA_WIDTH-1:0] h2c_tdata;
  logic [NH-1:0][KEEP-1:0] h2c_tkeep;
  logic [NH-1:0][63:0] h2c_length, h2c_offset;
  logic [NH-1:0][31:0] h2c_user;
  logic [NC-1:0] c2h_tvalid, c2h_tready, c2h_tlast, c2h_reset;
  logic [NC-1:0][DATA_WIDTH-1:0] c2h_tdata;
  logic [NC-1:0][KEEP-1:0] c2h_tkeep;
  logic [NC-1:0][47:0] c2h_length;
  logic [NC-1:0][31:0] c2h_offset, c2h_user;
  logic [NH-1:0] h2c_end_valid, h2c_end_ready;
  logic [NH-1:0][5:0] h2c_end_status;
  logic [NC-1:0] c2h_ask_valid, c2h_ask_ready, c2h_ask_cancel;
  logic [NC-1:0][5:0] c2h_status;
  logic [NC-1:0][31:0] c2h_ask_length, c2h_ask_user;
  logic [NC-1:0][63:0] c2h_ask_offset;
  logic [31:0] axil_awaddr, axil_wdata, axil_araddr, axil_rdata;
  logic [3:0] axil_wstrb;
  logic [1:0] axil_bresp, axil_rresp;
  logic axil_awvalid, axil_awready, axil_wvalid, axil_wready, axil_bvalid, axil_bready;
  logic axil_arvalid, axil_arready, axil_rvalid, axil_rready;
  logic [15:0] irq_valid, irq_ready;
  logic mem_write_valid;
  logic mem_write_ready;
  logic [35:0] mem_write_address;
  logic [7:0] mem_write_rows;
  logic [DATA_WIDTH-1:0] mem_write_data;
  logic [KEEP-1:0] mem_write_strb;
  logic mem_write_last;
  logic mem_failed_valid;
  logic mem_failed_ready;
  logic mem_read_valid;
  logic mem_read_ready;
  logic [35:0] mem_read_address;
  logic [4:0] mem_read_rows;
  logic mem_read_after;
  logic [15:0] mem_read_taken;
  logic mem_answer_valid;
  logic mem_answer_ready;
  logic [DATA_WIDTH-1:0] mem_answer_data;
  logic mem_answer_error;

  tp_core #(
      .DATA_WIDTH(DATA_WIDTH),
      .H2C(H2C),
      .C2H(C2H),
      .USER_ASYNC(USER_ASYNC),
      .TAGS(TAGS),
      .LANDING_BYTES(LANDING_BYTES),
      .SENDING_BYTES(SENDING_BYTES),
      .QUEUE_DEPTH(QUEUE_DEPTH),
      .INLINE_SLOTS(INLINE_SLOTS),
      .WINDOW_BYTES(WINDOW_BYTES),
      .USER_INTERRUPTS(USER_INTERRUPTS),
      .CORE_CLOCK_KHZ(CORE_CLOCK_KHZ),
      .USER_CLOCK_KHZ(USER_CLOCK_KHZ),
      .CORE_VERSION(CORE_VERSION),
      .SERIAL(SERIAL),
      .CORE_NAME(CORE_NAME),
      .CHANNEL_NAMES(CHANNEL_NAMES),
      .H2C_VERDICTS(H2C_VERDICTS),
      .C2H_ASKED(C2H_ASKED),
      .C2H_AHEAD(C2H_AHEAD),
      .CHANNEL_KINDS(CHANNEL_KINDS),
      .MEMORY_WINDOW_BYTES(MEMORY_WINDOW_BYTES),
      .CHANNEL_WINDOWS(CHANNEL_WINDOWS),
      .QOS(QOS),
      .PLUGINS(PLUGINS),
      .PLUGIN_ENTRIES(PLUGIN_ENTRIES),
      .FILL(FILL),
      .H2C_INBOX(H2C_INBOX),
      .C2H_OUTBOX(C2H_OUTBOX),
      .INBOX_BYTES(INBOX_BYTES),
      .INBOX_FIRST(INBOX_FIRST),
      .PEERS_ONLY(PEERS_ONLY)
  ) core (
      .user_clk(uclk),
      .m_axil_awaddr(axil_awaddr),
      .m_axil_awvalid(axil_awvalid),
      .m_axil_awready(axil_awready),
      .m_axil_wdata(axil_wdata),
      .m_axil_wstrb(axil_wstrb),
      .m_axil_wvalid(axil_wvalid),
      .m_axil_wready(axil_wready),
      .m_axil_bresp(axil_bresp),
      .m_axil_bvalid(axil_bvalid),
      .m_axil_bready(axil_bready),
      .m_axil_araddr(axil_araddr),
      .m_axil_arvalid(axil_arvalid),
      .m_axil_arready(axil_arready),
      .m_axil_rdata(axil_rdata),
      .m_axil_rresp(axil_rresp),
      .m_axil_rvalid(axil_rvalid),
      .m_axil_rready(axil_rready),
      .*
  );

  // For a plug-in that looks at packets; a tp_user without one has no such port.
  // verilator lint_off UNUSEDSIGNAL
  tp_tap_pkg::tp_taps_t tlp_taps;
  // verilator lint_on UNUSEDSIGNAL
  always_comb begin
    tlp_taps.rst = rst;
    tlp_taps.sent_write_beat = tx_posted_valid && tx_posted_ready;
    tlp_taps.sent_write_last = tx_posted_last;
    tlp_taps.sent_write_hdr = tx_posted_hdr;
    tlp_taps.sent_write_data = tx_posted_data[31:0];
    tlp_taps.sent_read_beat = tx_read_valid && tx_read_ready;
    tlp_taps.sent_read_hdr = tx_read_hdr;
    tlp_taps.sent_completion_beat = tx_answer_valid && tx_answer_ready;
    tlp_taps.sent_completion_last = tx_answer_last;
    tlp_taps.sent_completion_hdr = tx_answer_hdr;
    tlp_taps.sent_completion_data = tx_answer_data[31:0];
    tlp_taps.received_write_beat = rx_posted_valid;
    tlp_taps.received_write_last = rx_posted_last;
    tlp_taps.received_write_hdr = rx_posted_hdr;
    tlp_taps.received_write_data = rx_posted_data[31:0];
    tlp_taps.received_read_beat = rx_nonposted_valid;
    tlp_taps.received_read_hdr = rx_nonposted_hdr;
    tlp_taps.received_completion_beat = rx_completion_valid;
    tlp_taps.received_completion_last = rx_completion_last;
    tlp_taps.received_completion_hdr = rx_completion_hdr;
    tlp_taps.received_completion_data = rx_completion_data[31:0];
  end

  tp_user user (
      .clk  (uclk),
      .rst_n(user_rst_n),
      .*
  );
endmodule
