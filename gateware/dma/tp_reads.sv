// SPDX-License-Identifier: Apache-2.0
// Reads of host memory on their way out: whose turn it is, which tag it gets, and when an answer is overdue.
//
// Only wires: tp_tags has the tags and says which clients may have one, tp_read_issue picks among their wishes.
// Of the configuration it reads what concerns reads.
// verilator lint_off UNUSEDSIGNAL
module tp_reads
  import tp_tlp_pkg::*;
#(
    parameter int CLIENTS = 2,
    parameter int TAGS = 32,
    parameter int CONTEXT = 8,
    parameter bit QOS = 0,
    parameter int SHARE = 13,
    parameter int CORE_CLOCK_KHZ = 250000,
    localparam int TW = $clog2(TAGS),
    localparam int IW = CLIENTS > 1 ? $clog2(CLIENTS) : 1,
    localparam int DATA = CLIENTS > 1 ? CLIENTS - 1 : 1
) (
    input logic clk,
    input logic rst,
    input tp_config_t cfg,
    input logic barred,                    // no request may leave the card
    input logic abandon,
    input logic [7:0] quarantine,

    // see tp_read_issue
    input  logic [CLIENTS-1:0]              want,
    output logic [CLIENTS-1:0]              grant,
    input  logic [CLIENTS-1:0][CONTEXT-1:0] context_in,
    output logic [IW-1:0]                   client,
    input  logic [63:0]                     addr,
    input  logic [11:0]                     more,
    input  logic [2:0]                      tc,
    input  logic                            even,
    input  logic [DATA-1:0][SHARE-1:0]      share,
    input  logic [DATA-1:0]                 waiting,
    input  logic [12:0]                     charge,
    output logic [TW-1:0]                   tag,
    output logic                            tag_take,
    output logic [CONTEXT-1:0]              note_context,
    output logic [12:0]                     note_bytes,
    output logic [6:0]                      note_low,
    output logic                            tx_read_valid,
    input  logic                            tx_read_ready,
    output tp_read_hdr_t                    tx_read_hdr,

    // see tp_tags
    output logic          hold,
    output logic [TW:0]   count,
    input  logic [TW-1:0] look_tag,
    output logic          look_out,
    output logic          look_lap,
    input  logic          quiet,
    input  logic          free_valid,
    input  logic          free_late,
    input  logic          give_up_valid,
    input  logic [TW-1:0] free_tag,
    output logic          overdue_valid,
    input  logic          overdue_ready,
    output logic [TW-1:0] overdue_tag,
    output logic          overdue_link,
    output logic          overdue_reset
);
  logic [CLIENTS-1:0] may;
  tp_tags #(
      .TAGS(TAGS),
      .CORE_CLOCK_KHZ(CORE_CLOCK_KHZ),
      .CLIENTS(CLIENTS)
  ) i_tags (
      .extended(cfg.tags_8bit || cfg.tags_10bit),
      .completion_timeout(cfg.completion_timeout),
      .link_up(cfg.link_up),
      .take(tag_take),
      .shown_valid(tx_read_valid),
      .shown_tag(tx_read_hdr.tag[TW-1:0]),
      .*
  );
  tp_read_issue #(
      .CLIENTS(CLIENTS),
      .TAGS(TAGS),
      .CONTEXT(CONTEXT),
      .QOS(QOS),
      .SHARE(SHARE)
  ) i_issue (
      .hold(hold || barred),
      .relaxed(cfg.relaxed),
      .want(want & may),
      .tag_valid(!QOS || |may),  // a wish that remains has one
      .*
  );
endmodule
