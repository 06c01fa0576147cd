// SPDX-License-Identifier: Apache-2.0
// What a card has for pairs with other cards' channels: the outbox of its C2H channels, an inbox for each H2C channel that is to have one, and the way
// of their credits into the posted stream. It stands between control, mover and the user's edge, and is wires where no channel has a part in pairs.
//
// Credits go beside MSI-X messages, as writes of a dword; a message goes first.
module tp_peers
  import towpath_pkg::*;
  import tp_tlp_pkg::*;
#(
    parameter int DATA_WIDTH = 128,
    parameter int H2C = 1,
    parameter int C2H = 1,
    parameter int QUEUE_DEPTH = 16,
    parameter int INBOX_BYTES = 16384,
    localparam int CHANNELS = H2C + C2H,
    localparam int CW = CHANNELS > 1 ? $clog2(CHANNELS) : 1,
    localparam int NH = H2C == 0 ? 1 : H2C,
    localparam int NC = C2H == 0 ? 1 : C2H,
    localparam int KEEP = DATA_WIDTH / 8,
    parameter logic [NH-1:0] H2C_INBOX = '0,
    parameter logic [NC-1:0] C2H_OUTBOX = '0,
    parameter logic [CHANNELS*16-1:0] CHANNEL_WINDOWS = '0  // 1 + where each inbox is in BAR 4, in MiB
) (
    // verilator lint_off UNUSEDSIGNAL
    input logic clk,
    input logic rst,
    input tp_config_t cfg,

    // packets to the card
    input logic                             rx_posted_valid,
    input tp_request_hdr_t                  rx_posted_hdr,
    input logic            [DATA_WIDTH-1:0] rx_posted_data,
    input logic                             rx_posted_last,

    // registers
    input  logic          priv_write_valid,
    input  logic [CW-1:0] priv_write_channel,
    input  logic [7:3]    priv_write_offset,
    input  logic [63:0]   priv_write_data,
    input  logic [7:0]    priv_write_strb,
    input  logic          priv_read_valid,
    input  logic [CW-1:0] priv_read_channel,
    input  logic [7:3]    priv_read_offset,
    input  logic          credit_valid,
    input  logic [CW-1:0] credit_channel,
    input  logic [31:0]   credit,
    // verilator lint_on UNUSEDSIGNAL
    output logic [63:0]   read_data,

    // descriptors, from control and on to the mover
    input  logic [CW-1:0]           host_channel,
    input  logic [11:2]             host_offset,
    input  logic [DATA_WIDTH-1:0]   host_data,
    input  logic [DATA_WIDTH/8-1:0] host_strb,
    input  logic                    host_words_valid,
    input  logic                    host_push_valid,
    input  logic [CW-1:0]           host_push_channel,
    input  logic                    host_push_torn,
    input  logic [7:0]              host_push_count,
    output logic [CW-1:0]           wr_channel,
    output logic [11:2]             wr_offset,
    output logic [DATA_WIDTH-1:0]   wr_data,
    output logic [DATA_WIDTH/8-1:0] wr_strb,
    output logic                    words_valid,
    output logic                    push_valid,
    output logic [CW-1:0]           push_channel,
    output logic                    push_torn,
    output logic [7:0]              push_count,
    input  logic [CHANNELS-1:0]      enabled,
    input  logic [CHANNELS-1:0]      ended,
    input  logic [CHANNELS-1:0][7:0] ended_status,
    output logic [CHANNELS-1:0]      paired,
    output logic [CHANNELS-1:0]      paired_alarm,

    // writes of a dword: MSI-X messages, and with them credits
    input  logic                           message_valid,
    output logic                           message_ready,
    input  tp_write_hdr_t                  message_hdr,
    input  logic          [DATA_WIDTH-1:0] message_data,
    output logic                           msix_posted_valid,
    input  logic                           msix_posted_ready,
    output tp_write_hdr_t                  msix_posted_hdr,
    output logic          [DATA_WIDTH-1:0] msix_posted_data,

    // streams, from the mover and on to the user's edge
    input  logic [NH-1:0]                 dm_h2c_tvalid,
    output logic [NH-1:0]                 dm_h2c_tready,
    input  logic [NH-1:0][DATA_WIDTH-1:0] dm_h2c_tdata,
    input  logic [NH-1:0][      KEEP-1:0] dm_h2c_tkeep,
    input  logic [NH-1:0]                 dm_h2c_tlast,
    input  logic [NH-1:0]                 dm_h2c_error,
    input  logic [NH-1:0][          63:0] dm_h2c_length,
    input  logic [NH-1:0][          63:0] dm_h2c_offset,
    input  logic [NH-1:0][          31:0] dm_h2c_user,
    output logic [NH-1:0]                 mv_h2c_tvalid,
    input  logic [NH-1:0]                 mv_h2c_tready,
    output logic [NH-1:0][DATA_WIDTH-1:0] mv_h2c_tdata,
    output logic [NH-1:0][      KEEP-1:0] mv_h2c_tkeep,
    output logic [NH-1:0]                 mv_h2c_tlast,
    output logic [NH-1:0]                 mv_h2c_error,
    output logic [NH-1:0][          63:0] mv_h2c_length,
    output logic [NH-1:0][          63:0] mv_h2c_offset,
    output logic [NH-1:0][          31:0] mv_h2c_user,
    input  logic [NH-1:0]                 mv_h2c_reset,
    input  logic [NC-1:0]                 mv_c2h_reset
);
  // ------------------------------------------------------------------------------------------------ descriptors
  logic [63:0] out_read_data, in_read_data;
  assign read_data = out_read_data | in_read_data;
  if (C2H_OUTBOX != '0) begin : g_outbox
    tp_outbox #(
        .DATA_WIDTH(DATA_WIDTH),
        .H2C(H2C),
        .C2H(C2H),
        .QUEUE_DEPTH(QUEUE_DEPTH),
        .ABLE(C2H_OUTBOX)
    ) i_outbox (
        .busy(rx_posted_valid),
        .in_channel(host_channel),
        .in_offset(host_offset),
        .in_data(host_data),
        .in_strb(host_strb),
        .in_words_valid(host_words_valid),
        .in_push_valid(host_push_valid),
        .in_push_channel(host_push_channel),
        .in_push_torn(host_push_torn),
        .in_push_count(host_push_count),
        .write_valid(priv_write_valid),
        .write_channel(priv_write_channel),
        .write_offset(priv_write_offset),
        .write_data(priv_write_data),
        .write_strb(priv_write_strb),
        .read_valid(priv_read_valid),
        .read_channel(priv_read_channel),
        .read_offset(priv_read_offset),
        .read_data(out_read_data),
        .flush(mv_c2h_reset),
        .alarm(paired_alarm),
        .*
    );
  end else begin : g_no_outbox
    assign {paired, paired_alarm, out_read_data} = '0;
    assign wr_channel = host_channel;
    assign wr_offset = host_offset;
    assign wr_data = host_data;
    assign wr_strb = host_strb;
    assign words_valid = host_words_valid;
    assign push_valid = host_push_valid;
    assign push_channel = host_push_channel;
    assign push_torn = host_push_torn;
    assign push_count = host_push_count;
    logic unused;
    assign unused = ^{credit_valid, credit_channel, credit, enabled, ended, ended_status, mv_c2h_reset};
  end

  // ------------------------------------------------------------------------------------------------ inboxes
  logic [NH-1:0] tell_valid, tell_turn, tell_ready;
  logic [NH-1:0][63:2] tell_address;
  logic [NH-1:0][31:0] tells;
  logic [NH-1:0][63:0] words;
  for (genvar c = 0; c < NH; c++) begin : g_channel
    localparam logic [15:0] WINDOW = CHANNEL_WINDOWS[16*c+:16];
    if (H2C != 0 && H2C_INBOX[c]) begin : g_inbox
      logic here, whole;
      assign whole = !rx_posted_last || (rx_posted_hdr.last_be == '1 && 32'(rx_posted_hdr.dwords) % (DATA_WIDTH / 32) == 0);
      assign here = rx_posted_valid && rx_posted_hdr.bar == 3'(TP_BAR_MEMORY) && rx_posted_hdr.offset[35:20] == WINDOW - 1'b1;
      tp_inbox #(
          .DATA_WIDTH(DATA_WIDTH),
          .BYTES(INBOX_BYTES)
      ) i_inbox (
          .clk,
          .rst,
          .flush(mv_h2c_reset[c]),
          .write_valid(priv_write_valid && priv_write_channel == CW'(c)),
          .write_offset(priv_write_offset),
          .write_data(priv_write_data),
          .write_strb(priv_write_strb),
          .word(words[c]),
          .link_up(cfg.link_up),
          .rx_valid(here),
          .rx_pages(rx_posted_hdr.offset[19:13]),
          .rx_entry(rx_posted_hdr.offset[12]),
          .rx_sound(rx_posted_hdr.dwords == 11'd4),
          .rx_whole(whole),
          .rx_data(rx_posted_data),
          .may_tell(cfg.bus_master && cfg.active && cfg.link_up),
          .tell_valid(tell_valid[c]),
          .tell_ready(tell_ready[c]),
          .tell_address(tell_address[c]),
          .tell(tells[c]),
          .in_valid(dm_h2c_tvalid[c]),
          .in_ready(dm_h2c_tready[c]),
          .in_data(dm_h2c_tdata[c]),
          .in_keep(dm_h2c_tkeep[c]),
          .in_last(dm_h2c_tlast[c]),
          .in_error(dm_h2c_error[c]),
          .in_length(dm_h2c_length[c]),
          .in_offset(dm_h2c_offset[c]),
          .in_user(dm_h2c_user[c]),
          .out_valid(mv_h2c_tvalid[c]),
          .out_ready(mv_h2c_tready[c]),
          .out_data(mv_h2c_tdata[c]),
          .out_keep(mv_h2c_tkeep[c]),
          .out_last(mv_h2c_tlast[c]),
          .out_error(mv_h2c_error[c]),
          .out_length(mv_h2c_length[c]),
          .out_offset(mv_h2c_offset[c]),
          .out_user(mv_h2c_user[c])
      );
    end else begin : g_wires
      assign mv_h2c_tvalid[c] = dm_h2c_tvalid[c];
      assign dm_h2c_tready[c] = mv_h2c_tready[c];
      assign mv_h2c_tdata[c] = dm_h2c_tdata[c];
      assign mv_h2c_tkeep[c] = dm_h2c_tkeep[c];
      assign mv_h2c_tlast[c] = dm_h2c_tlast[c];
      assign mv_h2c_error[c] = dm_h2c_error[c];
      assign mv_h2c_length[c] = dm_h2c_length[c];
      assign mv_h2c_offset[c] = dm_h2c_offset[c];
      assign mv_h2c_user[c] = dm_h2c_user[c];
      assign {words[c], tell_valid[c], tell_address[c], tells[c]} = '0;
      logic unused;
      assign unused = ^{WINDOW, mv_h2c_reset[c], tell_ready[c]};
    end
  end

  if (H2C_INBOX != '0) begin : g_inboxes
    localparam logic [7:3] CONTROL = 5'(TP_CHANNEL_PEER_CONTROL_OFFSET / 8);
    always_ff @(posedge clk) begin
      if (priv_read_valid) begin
        in_read_data <= '0;
        for (int c = 0; c < H2C; c++) if (priv_read_channel == CW'(c) && priv_read_offset == CONTROL) in_read_data <= words[c];
      end
    end

    tp_round_robin #(
        .N(NH)
    ) i_turn (
        .clk,
        .rst,
        .request(tell_valid),
        .take(tell_ready != '0),
        .grant(tell_turn)
    );
    assign tell_ready = msix_posted_ready && !message_valid ? tell_turn : '0;
    assign message_ready = msix_posted_ready && message_valid;
    assign msix_posted_valid = message_valid || tell_valid != '0;
    always_comb begin
      msix_posted_hdr = message_hdr;
      msix_posted_data = message_data;
      for (int c = 0; c < NH; c++)
      if (!message_valid && tell_turn[c]) begin
        msix_posted_hdr.addr = {tell_address[c], 2'b00};
        msix_posted_data = DATA_WIDTH'(tells[c]);
      end
    end
  end else begin : g_no_inboxes
    assign in_read_data = '0;
    assign message_ready = msix_posted_ready;
    assign msix_posted_valid = message_valid;
    assign msix_posted_hdr = message_hdr;
    assign msix_posted_data = message_data;
    assign tell_turn = '0;
    assign tell_ready = '0;
    logic unused;
    assign unused = ^{words, tell_valid, tell_turn, tell_address, tells};
  end
endmodule
