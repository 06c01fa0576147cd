// SPDX-License-Identifier: Apache-2.0
// The whole of Towpath between an endpoint's neutral TLP streams and a user core.
//
// Channels 0 to H2C-1 carry data from host to card, H2C to H2C+C2H-1 from card to host; the arrays of the user's side are indexed
// within their direction. Everything on the user's side is on `user_clk` with the active-low `user_rst_n`; with USER_ASYNC 0 the
// two clocks must be one net. Inside, resets are synchronous and active high.
module tp_core
  import tp_tlp_pkg::*;
#(
    parameter int DATA_WIDTH = 128,       // 64, 128, 256 or 512
    parameter int H2C = 1,
    parameter int C2H = 1,
    parameter bit USER_ASYNC = 0,
    parameter int TAGS = 32,              // read requests in flight, 8 to 256
    // For all H2C channels, which share it: a multiple of 1,024, at least 2,048 for each.
    parameter int LANDING_BYTES = H2C > 4 ? 4096 * H2C : 16384,
    // For all C2H channels, which share it: a power of two, at least 1,024 for each.
    parameter int SENDING_BYTES = C2H > 8 ? 1024 * 2 ** $clog2(C2H) : 8192,
    parameter int QUEUE_DEPTH = 16,       // descriptors for each channel
    parameter int INLINE_SLOTS = 4,       // for each H2C channel
    parameter int VECTORS = 32,           // MSI-X
    parameter int WINDOW_BYTES = 4096,    // register window, 0: none
    parameter int USER_INTERRUPTS = 16,   // that the user core has: discovery tells the host
    parameter int PAGE_SHIFT = 12,
    parameter int CORE_CLOCK_KHZ = 250000,
    parameter int USER_CLOCK_KHZ = 250000,
    parameter logic [31:0] CORE_VERSION = 0,
    parameter logic [63:0] SERIAL = 0,
    // Text, first character in the lowest byte, zero padded.
    parameter logic [255:0] CORE_NAME = "",
    parameter logic [(H2C+C2H)*256-1:0] CHANNEL_NAMES = "",
    localparam int KEEP = DATA_WIDTH / 8,
    localparam int NH = H2C == 0 ? 1 : H2C,  // port arrays have one element at least
    localparam int NC = C2H == 0 ? 1 : C2H,
    // What stands between the streams and the user core: docs/guide/channel-kinds.md. A bit for each channel, ...
    parameter logic [NH-1:0] H2C_VERDICTS = '0,
    parameter logic [NC-1:0] C2H_ASKED = '0,
    parameter logic [NC-1:0] C2H_AHEAD = '0,
    // ... and {kind_parameter[31:0], kind_version[15:0], kind[7:0], kind_name[63:0]} of its discovery entry.
    parameter logic [(H2C+C2H)*120-1:0] CHANNEL_KINDS = {(H2C + C2H) {32'd0, 16'd1, 8'd0, 64'h6d6165727473}},
    // BAR 4, and each channel's window in it, as its discovery entry tells it; 0: none.
    parameter logic [63:0] MEMORY_WINDOW_BYTES = 0,
    parameter logic [(H2C+C2H)*16-1:0] CHANNEL_WINDOWS = '0,
    parameter bit QOS = 0,                // channels have weights, rates and traffic classes
    parameter int PLUGINS = 0,
    parameter logic [towpath_pkg::TP_PLUGINS_MAX*128-1:0] PLUGIN_ENTRIES = '0,
    parameter bit FILL = 0,               // channels fire at a fill level
    // Channels that can be paired with another card's: see tp_peers. BAR 4 is the memories' up to INBOX_FIRST MiB; each inbox has one behind that.
    parameter logic [NH-1:0] H2C_INBOX = '0,
    parameter logic [NC-1:0] C2H_OUTBOX = '0,
    parameter int INBOX_BYTES = 16384,
    parameter int INBOX_FIRST = 65536,
    parameter bit PEERS_ONLY = 0           // no channel carries the host's data: H2C channels are inboxes, C2H channels take no lists
) (
    input logic clk,
    input logic rst,
    input tp_config_t cfg,
    output logic function_reset_done,     // a pulse: the card is quiet after cfg.function_reset
    output tp_errors_t errors,

    // neutral streams
    output logic                        tx_posted_valid,
    input  logic                        tx_posted_ready,
    output tp_write_hdr_t               tx_posted_hdr,
    output logic       [DATA_WIDTH-1:0] tx_posted_data,
    output logic                        tx_posted_last,
    output logic                        tx_read_valid,
    input  logic                        tx_read_ready,
    output tp_read_hdr_t                tx_read_hdr,
    output logic                        tx_answer_valid,
    input  logic                        tx_answer_ready,
    output tp_answer_hdr_t              tx_answer_hdr,
    output logic       [DATA_WIDTH-1:0] tx_answer_data,
    output logic                        tx_answer_last,
    input  logic                        rx_completion_valid,
    input  tp_completion_hdr_t          rx_completion_hdr,
    input  logic       [DATA_WIDTH-1:0] rx_completion_data,
    input  logic                        rx_completion_last,
    input  logic                        rx_completion_bad,
    input  logic                        rx_posted_valid,
    input  tp_request_hdr_t             rx_posted_hdr,
    input  logic       [DATA_WIDTH-1:0] rx_posted_data,
    input  logic                        rx_posted_last,
    input  logic                        rx_nonposted_valid,
    input  tp_request_hdr_t             rx_nonposted_hdr,
    output logic                        nonposted_credit,
    output logic                        rx_posted_hold,  // begin no further packet of rx_posted

    // the user's side
    input  logic                          user_clk,
    output logic                          user_rst_n,
    output logic [NH-1:0]                 h2c_tvalid,
    input  logic [NH-1:0]                 h2c_tready,
    output logic [NH-1:0][DATA_WIDTH-1:0] h2c_tdata,
    output logic [NH-1:0][      KEEP-1:0] h2c_tkeep,   // all ones but on the last beat
    output logic [NH-1:0]                 h2c_tlast,
    output logic [NH-1:0]                 h2c_error,   // with tlast: the message was cut by a fault
    output logic [NH-1:0][          63:0] h2c_length,  // of the whole message, 0: unknown; stands for the message
    output logic [NH-1:0][          63:0] h2c_offset,
    output logic [NH-1:0][          31:0] h2c_user,
    output logic [NH-1:0]                 h2c_reset,   // the channel is being reset: forget what it sent
    input  logic [NH-1:0]                 h2c_end_valid,   // H2C_VERDICTS: one for each message that ended without an error
    output logic [NH-1:0]                 h2c_end_ready,
    input  logic [NH-1:0][           5:0] h2c_end_status,  // 0: done
    input  logic [NC-1:0]                 c2h_tvalid,
    output logic [NC-1:0]                 c2h_tready,
    input  logic [NC-1:0][DATA_WIDTH-1:0] c2h_tdata,
    input  logic [NC-1:0][      KEEP-1:0] c2h_tkeep,   // all ones but on the last beat, where it is 2^n - 1
    input  logic [NC-1:0]                 c2h_tlast,
    input  logic [NC-1:0][          47:0] c2h_length,  // these three are taken with a message's first beat
    input  logic [NC-1:0][          31:0] c2h_offset,
    input  logic [NC-1:0][          31:0] c2h_user,
    input  logic [NC-1:0][           5:0] c2h_status,      // C2H_ASKED: beside tlast, 0: as asked
    output logic [NC-1:0]                 c2h_reset,
    output logic [NC-1:0]                 c2h_ask_valid,   // C2H_ASKED: send a message
    input  logic [NC-1:0]                 c2h_ask_ready,
    output logic [NC-1:0]                 c2h_ask_cancel,  // none: what was asked for before is not needed any more
    output logic [NC-1:0][          31:0] c2h_ask_length,
    output logic [NC-1:0][          63:0] c2h_ask_offset,
    output logic [NC-1:0][          31:0] c2h_ask_user,
    output logic [31:0]                   m_axil_awaddr,
    output logic                          m_axil_awvalid,
    input  logic                          m_axil_awready,
    output logic [31:0]                   m_axil_wdata,
    output logic [ 3:0]                   m_axil_wstrb,
    output logic                          m_axil_wvalid,
    input  logic                          m_axil_wready,
    input  logic [ 1:0]                   m_axil_bresp,
    input  logic                          m_axil_bvalid,
    output logic                          m_axil_bready,
    output logic [31:0]                   m_axil_araddr,
    output logic                          m_axil_arvalid,
    input  logic                          m_axil_arready,
    input  logic [31:0]                   m_axil_rdata,
    input  logic [ 1:0]                   m_axil_rresp,
    input  logic                          m_axil_rvalid,
    output logic                          m_axil_rready,
    input  logic [15:0]                   irq_valid,   // one event for each handshake
    output logic [15:0]                   irq_ready,
    // MEMORY_WINDOW_BYTES: the windows' writes, in rows, and those that failed; reads, and their rows. See tp_memory_window.
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
  localparam int CHANNELS = H2C + C2H;
  localparam int CHW = CHANNELS > 1 ? $clog2(CHANNELS) : 1;

  // ------------------------------------------------------------------------------------------------ control to mover
  logic host_words_valid, host_push_valid, host_push_torn;
  logic words_valid, push_valid, push_torn, arm_valid, cancel_valid, inline_valid, batch_valid;
  logic [CHW-1:0] wr_channel, push_channel, host_channel, host_push_channel, arm_channel, cancel_channel;
  logic [7:0] push_count, host_push_count;
  logic [31:0] arm_index, lead_bytes;
  logic lead_valid;
  logic [CHW-1:0] lead_channel;
  logic fill_valid;
  logic [CHW-1:0] fill_channel;
  logic [31:0] fill_level;
  logic credit_valid;
  logic [CHW-1:0] credit_channel;
  logic [31:0] credit;
  logic [11:2] wr_offset, host_offset;
  logic [DATA_WIDTH-1:0] wr_data, host_data;
  logic [DATA_WIDTH/8-1:0] wr_strb, host_strb;
  logic priv_write_valid, priv_read_valid, priv_read_ack;
  logic [CHW-1:0] priv_write_channel, priv_read_channel;
  logic [7:3] priv_write_offset, priv_read_offset;
  logic [63:0] priv_write_data, priv_read_data, mover_read_data, peer_read_data;
  logic [7:0] priv_write_strb;
  logic fire_valid, fire_ready;
  logic [7:0] fire_vector;
  logic message_valid, message_ready, msix_posted_valid, msix_posted_ready, msix_posted_last, msix_leaving;
  tp_write_hdr_t message_hdr, msix_posted_hdr;
  logic [DATA_WIDTH-1:0] message_data, msix_posted_data;
  logic card_reset, card_reset_done, user_busy, event_valid;
  logic [3:0] event_code;
  logic [7:0] quarantine;
  logic [15:0] quarantined;
  logic [CHANNELS-1:0] enabled, paired, paired_alarm, ended;
  logic [CHANNELS-1:0][7:0] ended_status;

  // ------------------------------------------------------------------------------------------------ mover and control to the user's edge
  logic [NH-1:0] dm_h2c_tvalid, dm_h2c_tready, dm_h2c_tlast, dm_h2c_error;  // before an inbox
  logic [NH-1:0][DATA_WIDTH-1:0] dm_h2c_tdata;
  logic [NH-1:0][KEEP-1:0] dm_h2c_tkeep;
  logic [NH-1:0][63:0] dm_h2c_length, dm_h2c_offset;
  logic [NH-1:0][31:0] dm_h2c_user;
  logic [NH-1:0] mv_h2c_tvalid, mv_h2c_tready, mv_h2c_tlast, mv_h2c_error, mv_h2c_reset, mv_h2c_reset_busy;
  logic [NH-1:0][DATA_WIDTH-1:0] mv_h2c_tdata;
  logic [NH-1:0][KEEP-1:0] mv_h2c_tkeep;
  logic [NH-1:0][63:0] mv_h2c_length, mv_h2c_offset;
  logic [NH-1:0][31:0] mv_h2c_user;
  logic [NC-1:0] mv_c2h_tvalid, mv_c2h_tready, mv_c2h_tlast, mv_c2h_reset, mv_c2h_reset_busy;
  logic [NC-1:0][DATA_WIDTH-1:0] mv_c2h_tdata;
  logic [NC-1:0][KEEP-1:0] mv_c2h_tkeep;
  logic [NC-1:0][47:0] mv_c2h_length;
  logic [NC-1:0][31:0] mv_c2h_offset, mv_c2h_user;
  logic [NH-1:0] mv_h2c_end_valid, mv_h2c_end_ready;
  logic [NH-1:0][5:0] mv_h2c_end_status;
  logic [NC-1:0] mv_c2h_ask_valid, mv_c2h_ask_ready, mv_c2h_ask_cancel;
  logic [NC-1:0][5:0] mv_c2h_status;
  logic [NC-1:0][31:0] mv_c2h_ask_length, mv_c2h_ask_user;
  logic [NC-1:0][63:0] mv_c2h_ask_offset;
  logic [31:0] mv_axil_awaddr, mv_axil_wdata, mv_axil_araddr, mv_axil_rdata;
  logic mv_axil_awvalid, mv_axil_awready, mv_axil_wvalid, mv_axil_wready, mv_axil_bvalid, mv_axil_bready;
  logic mv_axil_arvalid, mv_axil_arready, mv_axil_rvalid, mv_axil_rready;
  logic [3:0] mv_axil_wstrb;
  logic [1:0] mv_axil_bresp, mv_axil_rresp;
  logic [15:0] mv_irq_valid, mv_irq_ready;
  logic mv_mem_write_valid;
  logic mv_mem_write_ready;
  logic [35:0] mv_mem_write_address;
  logic [7:0] mv_mem_write_rows;
  logic [DATA_WIDTH-1:0] mv_mem_write_data;
  logic [KEEP-1:0] mv_mem_write_strb;
  logic mv_mem_write_last;
  logic mv_mem_failed_valid;
  logic mv_mem_failed_ready;
  logic mv_mem_read_valid;
  logic mv_mem_read_ready;
  logic [35:0] mv_mem_read_address;
  logic [4:0] mv_mem_read_rows;
  logic mv_mem_read_after;
  logic [15:0] mv_mem_read_taken;
  logic mv_mem_answer_valid;
  logic mv_mem_answer_ready;
  logic [DATA_WIDTH-1:0] mv_mem_answer_data;
  logic mv_mem_answer_error;

  tp_control #(
      .DATA_WIDTH(DATA_WIDTH),
      .H2C(H2C),
      .C2H(C2H),
      .TAGS(TAGS),
      .LANDING_BYTES(LANDING_BYTES),
      .SENDING_BYTES(kept_sending(SENDING_BYTES, NC)),
      .QUEUE_DEPTH(QUEUE_DEPTH),
      .INLINE_SLOTS(INLINE_SLOTS),
      .VECTORS(VECTORS),
      .WINDOW_BYTES(WINDOW_BYTES),
      .USER_INTERRUPTS(USER_INTERRUPTS),
      .PAGE_SHIFT(PAGE_SHIFT),
      .CORE_CLOCK_KHZ(CORE_CLOCK_KHZ),
      .USER_CLOCK_KHZ(USER_CLOCK_KHZ),
      .CORE_VERSION(CORE_VERSION),
      .SERIAL(SERIAL),
      .CORE_NAME(CORE_NAME),
      .CHANNEL_NAMES(CHANNEL_NAMES),
      .CHANNEL_KINDS(CHANNEL_KINDS),
      .MEMORY_WINDOW_BYTES(MEMORY_WINDOW_BYTES),
      .CHANNEL_WINDOWS(CHANNEL_WINDOWS),
      .FEATURES(
          16'(QOS) << towpath_pkg::TP_DISCOVERY_FEATURES_QOS_LSB | 16'(FILL) << towpath_pkg::TP_DISCOVERY_FEATURES_FILL_LSB
      ),
      .PLUGINS(PLUGINS),
      .PLUGIN_ENTRIES(PLUGIN_ENTRIES),
      .INBOX_FIRST(INBOX_FIRST)
  ) i_control (
      .wr_channel(host_channel),
      .wr_offset(host_offset),
      .wr_data(host_data),
      .wr_strb(host_strb),
      .words_valid(host_words_valid),
      .push_valid(host_push_valid),
      .push_channel(host_push_channel),
      .push_torn(host_push_torn),
      .push_count(host_push_count),
      .msix_posted_valid(message_valid),
      .msix_posted_ready(message_ready),
      .msix_posted_hdr(message_hdr),
      .msix_posted_data(message_data),
      .m_axil_awaddr(mv_axil_awaddr),
      .m_axil_awvalid(mv_axil_awvalid),
      .m_axil_awready(mv_axil_awready),
      .m_axil_wdata(mv_axil_wdata),
      .m_axil_wstrb(mv_axil_wstrb),
      .m_axil_wvalid(mv_axil_wvalid),
      .m_axil_wready(mv_axil_wready),
      .m_axil_bresp(mv_axil_bresp),
      .m_axil_bvalid(mv_axil_bvalid),
      .m_axil_bready(mv_axil_bready),
      .m_axil_araddr(mv_axil_araddr),
      .m_axil_arvalid(mv_axil_arvalid),
      .m_axil_arready(mv_axil_arready),
      .m_axil_rdata(mv_axil_rdata),
      .m_axil_rresp(mv_axil_rresp),
      .m_axil_rvalid(mv_axil_rvalid),
      .m_axil_rready(mv_axil_rready),
      .irq_valid(mv_irq_valid),
      .irq_ready(mv_irq_ready),
      .mem_write_valid(mv_mem_write_valid),
      .mem_write_ready(mv_mem_write_ready),
      .mem_write_address(mv_mem_write_address),
      .mem_write_rows(mv_mem_write_rows),
      .mem_write_data(mv_mem_write_data),
      .mem_write_strb(mv_mem_write_strb),
      .mem_write_last(mv_mem_write_last),
      .mem_failed_valid(mv_mem_failed_valid),
      .mem_failed_ready(mv_mem_failed_ready),
      .mem_read_valid(mv_mem_read_valid),
      .mem_read_ready(mv_mem_read_ready),
      .mem_read_address(mv_mem_read_address),
      .mem_read_rows(mv_mem_read_rows),
      .mem_read_after(mv_mem_read_after),
      .mem_read_taken(mv_mem_read_taken),
      .mem_answer_valid(mv_mem_answer_valid),
      .mem_answer_ready(mv_mem_answer_ready),
      .mem_answer_data(mv_mem_answer_data),
      .mem_answer_error(mv_mem_answer_error),
      .*
  );

  tp_dma #(
      .CORE_CLOCK_KHZ(CORE_CLOCK_KHZ),
      .DATA_WIDTH(DATA_WIDTH),
      .H2C(H2C),
      .C2H(C2H),
      .TAGS(TAGS),
      .LANDING_BYTES(LANDING_BYTES),
      .SENDING_BYTES(SENDING_BYTES),
      .QUEUE_DEPTH(QUEUE_DEPTH),
      .INLINE_SLOTS(INLINE_SLOTS),
      .QOS(QOS),
      .H2C_VERDICTS(H2C_VERDICTS),
      .C2H_ASKED(C2H_ASKED),
      .C2H_AHEAD(C2H_AHEAD),
      .FILL(FILL),
      .PEERS_ONLY(PEERS_ONLY)
  ) i_dma (
      .priv_read_data(mover_read_data),
      .h2c_tvalid(dm_h2c_tvalid),
      .h2c_tready(dm_h2c_tready),
      .h2c_tdata(dm_h2c_tdata),
      .h2c_tkeep(dm_h2c_tkeep),
      .h2c_tlast(dm_h2c_tlast),
      .h2c_error(dm_h2c_error),
      .h2c_length(dm_h2c_length),
      .h2c_offset(dm_h2c_offset),
      .h2c_user(dm_h2c_user),
      .h2c_reset(mv_h2c_reset),
      .h2c_reset_busy(mv_h2c_reset_busy),
      .h2c_end_valid(mv_h2c_end_valid),
      .h2c_end_ready(mv_h2c_end_ready),
      .h2c_end_status(mv_h2c_end_status),
      .c2h_tvalid(mv_c2h_tvalid),
      .c2h_tready(mv_c2h_tready),
      .c2h_tdata(mv_c2h_tdata),
      .c2h_tkeep(mv_c2h_tkeep),
      .c2h_tlast(mv_c2h_tlast),
      .c2h_length(mv_c2h_length),
      .c2h_offset(mv_c2h_offset),
      .c2h_user(mv_c2h_user),
      .c2h_status(mv_c2h_status),
      .c2h_ask_valid(mv_c2h_ask_valid),
      .c2h_ask_ready(mv_c2h_ask_ready),
      .c2h_ask_cancel(mv_c2h_ask_cancel),
      .c2h_ask_length(mv_c2h_ask_length),
      .c2h_ask_offset(mv_c2h_ask_offset),
      .c2h_ask_user(mv_c2h_ask_user),
      .c2h_reset(mv_c2h_reset),
      .c2h_reset_busy(mv_c2h_reset_busy),
      .*
  );

  assign priv_read_data = mover_read_data | peer_read_data;
  tp_peers #(
      .DATA_WIDTH(DATA_WIDTH),
      .H2C(H2C),
      .C2H(C2H),
      .QUEUE_DEPTH(QUEUE_DEPTH),
      .INBOX_BYTES(INBOX_BYTES),
      .H2C_INBOX(H2C_INBOX),
      .C2H_OUTBOX(C2H_OUTBOX),
      .CHANNEL_WINDOWS(CHANNEL_WINDOWS)
  ) i_peers (
      .read_data(peer_read_data),
      .*
  );

  // Two counters of the card's page are errors that the block has registers for.
  always_ff @(posedge clk) begin
    errors.completion_timeout <= event_valid && event_code == 4'(towpath_pkg::TP_CARD_TIMEOUTS_OFFSET / 4);
    errors.unexpected_completion <= event_valid && event_code == 4'(towpath_pkg::TP_CARD_UNEXPECTED_COMPLETIONS_OFFSET / 4);
  end

`ifndef SYNTHESIS
  // A write that has begun goes on without a gap.
  logic posted_open;
  always_ff @(posedge clk) begin
    if (tx_posted_valid && tx_posted_ready) posted_open <= !tx_posted_last;
    if (rst) posted_open <= 1'b0;
    else
      assert (tx_posted_valid || !posted_open)
      else $error("%m: a gap in a posted packet");
  end
`endif

  tp_user_edge #(
      .DATA_WIDTH(DATA_WIDTH),
      .H2C(H2C),
      .C2H(C2H),
      .USER_ASYNC(USER_ASYNC),
      .H2C_VERDICTS(H2C_VERDICTS),
      .C2H_ASKED(C2H_ASKED),
      .MEMORY_WINDOWS(MEMORY_WINDOW_BYTES != 0)
  ) i_user_edge (
      .*
  );
endmodule
