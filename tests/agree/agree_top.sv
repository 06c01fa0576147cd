// SPDX-License-Identifier: Apache-2.0
// tp_system and `activity`, which is 1 in a cycle in which the core shows anything: the bench looks at nothing else in the others, which
// makes it quick. Device under test of bench_agree. Not for synthesis.
module agree_top
  import tp_tlp_pkg::*;
  import tp_user_pkg::*;
(
    input logic clk,
    input logic user_clk,
    input logic rst,
    input tp_config_t cfg,
    output logic function_reset_done,
    output tp_errors_t errors,
    output logic activity,

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
  assign activity = tx_posted_valid || tx_read_valid || tx_answer_valid || nonposted_credit || function_reset_done;

  tp_system system (.*);
endmodule
