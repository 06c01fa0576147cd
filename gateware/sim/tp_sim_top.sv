// SPDX-License-Identifier: Apache-2.0
//
// The top that Verilator compiles for the simulator: tp_system with every field of the neutral streams as a port of its own, so that
// `model.cpp` reads and writes plain C++ integers and never takes a packed struct apart. Not for synthesis.
module tp_sim_top
  import tp_tlp_pkg::*;
  import tp_user_pkg::*;
(
    input  logic                  clk,
    input  logic [USER_CLOCKS-1:0] user_clk,  // used with USER_ASYNC only
    input  logic                  rst,
    input  logic [15:0]           cfg_requester,
    input  logic [2:0]            cfg_max_payload,
    input  logic [2:0]            cfg_max_read,
    input  logic                  cfg_rcb_128,
    input  logic                  cfg_bus_master,
    input  logic                  cfg_relaxed,
    input  logic                  cfg_tags_8bit,
    input  logic                  cfg_tags_10bit,
    input  logic [3:0]            cfg_completion_timeout,
    input  logic                  cfg_msix_enable,
    input  logic                  cfg_msix_mask,
    input  logic                  cfg_link_up,
    input  logic                  cfg_active,
    input  logic                  cfg_function_reset,
    input  logic [7:0]            cfg_transmit_room,
    output logic                  function_reset_done,
    output logic                  tx_posted_valid,
    input  logic                  tx_posted_ready,
    output logic [63:0]           tx_posted_addr,
    output logic [10:0]           tx_posted_dwords,
    output logic [3:0]            tx_posted_first_be,
    output logic [3:0]            tx_posted_last_be,
    output logic                  tx_posted_relaxed,
    output logic [2:0]            tx_posted_tc,
    output logic [DATA_WIDTH-1:0] tx_posted_data,
    output logic                  tx_posted_last,
    output logic                  tx_read_valid,
    input  logic                  tx_read_ready,
    output logic [63:0]           tx_read_addr,
    output logic [10:0]           tx_read_dwords,
    output logic [3:0]            tx_read_first_be,
    output logic [3:0]            tx_read_last_be,
    output logic                  tx_read_relaxed,
    output logic [2:0]            tx_read_tc,
    output logic [9:0]            tx_read_tag,
    output logic                  tx_answer_valid,
    input  logic                  tx_answer_ready,
    output logic [15:0]           tx_answer_requester,
    output logic [9:0]            tx_answer_tag,
    output logic [2:0]            tx_answer_tc,
    output logic [2:0]            tx_answer_attr,
    output logic [6:0]            tx_answer_lower_addr,
    output logic [12:0]           tx_answer_byte_count,
    output logic [10:0]           tx_answer_dwords,
    output logic [2:0]            tx_answer_status,
    output logic [DATA_WIDTH-1:0] tx_answer_data,
    output logic                  tx_answer_last,
    input  logic                  rx_completion_valid,
    input  logic [9:0]            rx_completion_tag,
    input  logic [2:0]            rx_completion_status,
    input  logic                  rx_completion_poisoned,
    input  logic [10:0]           rx_completion_dwords,
    input  logic [12:0]           rx_completion_byte_count,
    input  logic [6:0]            rx_completion_lower_addr,
    input  logic [DATA_WIDTH-1:0] rx_completion_data,
    input  logic                  rx_completion_last,
    input  logic                  rx_posted_valid,
    input  logic [2:0]            rx_posted_bar,
    input  logic [35:0]           rx_posted_offset,
    input  logic [10:0]           rx_posted_dwords,
    input  logic [3:0]            rx_posted_first_be,
    input  logic [3:0]            rx_posted_last_be,
    input  logic [DATA_WIDTH-1:0] rx_posted_data,
    input  logic                  rx_posted_last,
    input  logic                  rx_nonposted_valid,
    input  logic [2:0]            rx_nonposted_bar,
    input  logic [35:0]           rx_nonposted_offset,
    input  logic [10:0]           rx_nonposted_dwords,
    input  logic [3:0]            rx_nonposted_first_be,
    input  logic [3:0]            rx_nonposted_last_be,
    input  logic [15:0]           rx_nonposted_requester,
    input  logic [9:0]            rx_nonposted_tag,
    input  logic [2:0]            rx_nonposted_tc,
    input  logic [2:0]            rx_nonposted_attr,
    output logic                  nonposted_credit,
    output logic                  rx_posted_hold,
    // The streams at the user core, for the record of beats; a channel's bit is its number in its direction.
    output logic [7:0]            beat_h2c_channels,
    output logic [NH-1:0]         beat_h2c_valid,
    output logic [NH-1:0]         beat_h2c_ready,
    output logic [NC-1:0]         beat_c2h_valid,
    output logic [NC-1:0]         beat_c2h_ready
);
  assign beat_h2c_channels = 8'(H2C);
  assign beat_h2c_valid = system.h2c_tvalid;
  assign beat_h2c_ready = system.h2c_tready;
  assign beat_c2h_valid = system.c2h_tvalid;
  assign beat_c2h_ready = system.c2h_tready;

  tp_config_t cfg;
  assign cfg = '{
          requester: cfg_requester,
          max_payload: cfg_max_payload,
          max_read: cfg_max_read,
          rcb_128: cfg_rcb_128,
          bus_master: cfg_bus_master,
          relaxed: cfg_relaxed,
          tags_8bit: cfg_tags_8bit,
          tags_10bit: cfg_tags_10bit,
          completion_timeout: cfg_completion_timeout,
          msix_enable: cfg_msix_enable,
          msix_mask: cfg_msix_mask,
          link_up: cfg_link_up,
          active: cfg_active,
          function_reset: cfg_function_reset,
          transmit_room: cfg_transmit_room
      };

  tp_write_hdr_t tx_posted_hdr;
  assign tx_posted_addr = tx_posted_hdr.addr;
  assign tx_posted_dwords = tx_posted_hdr.dwords;
  assign tx_posted_first_be = tx_posted_hdr.first_be;
  assign tx_posted_last_be = tx_posted_hdr.last_be;
  assign tx_posted_relaxed = tx_posted_hdr.relaxed;
  assign tx_posted_tc = tx_posted_hdr.tc;

  tp_read_hdr_t tx_read_hdr;
  assign tx_read_addr = tx_read_hdr.addr;
  assign tx_read_dwords = tx_read_hdr.dwords;
  assign tx_read_first_be = tx_read_hdr.first_be;
  assign tx_read_last_be = tx_read_hdr.last_be;
  assign tx_read_relaxed = tx_read_hdr.relaxed;
  assign tx_read_tc = tx_read_hdr.tc;
  assign tx_read_tag = tx_read_hdr.tag;

  tp_answer_hdr_t tx_answer_hdr;
  assign tx_answer_requester = tx_answer_hdr.requester;
  assign tx_answer_tag = tx_answer_hdr.tag;
  assign tx_answer_tc = tx_answer_hdr.tc;
  assign tx_answer_attr = tx_answer_hdr.attr;
  assign tx_answer_lower_addr = tx_answer_hdr.lower_addr;
  assign tx_answer_byte_count = tx_answer_hdr.byte_count;
  assign tx_answer_dwords = tx_answer_hdr.dwords;
  assign tx_answer_status = tx_answer_hdr.status;

  tp_completion_hdr_t rx_completion_hdr;
  assign rx_completion_hdr = '{
          tag: rx_completion_tag,
          status: rx_completion_status,
          poisoned: rx_completion_poisoned,
          dwords: rx_completion_dwords,
          byte_count: rx_completion_byte_count,
          lower_addr: rx_completion_lower_addr
      };

  tp_request_hdr_t rx_posted_hdr;
  assign rx_posted_hdr = '{
          bar: rx_posted_bar,
          offset: rx_posted_offset,
          dwords: rx_posted_dwords,
          first_be: rx_posted_first_be,
          last_be: rx_posted_last_be,
          default: '0
      };

  tp_request_hdr_t rx_nonposted_hdr;
  assign rx_nonposted_hdr = '{
          bar: rx_nonposted_bar,
          offset: rx_nonposted_offset,
          dwords: rx_nonposted_dwords,
          first_be: rx_nonposted_first_be,
          last_be: rx_nonposted_last_be,
          requester: rx_nonposted_requester,
          tag: rx_nonposted_tag,
          tc: rx_nonposted_tc,
          attr: rx_nonposted_attr
      };

  tp_system system (
      .errors(),
      .rx_completion_bad(1'b0),
      .*
  );
endmodule
