// SPDX-License-Identifier: Apache-2.0
// What passes between the card and its endpoint, for those who only look: the six neutral streams of tp_tlp_pkg, on Towpath's clock.
//
// Of each stream: `beat` is 1 in a clock in which a beat goes over it, so valid and ready, if it has one; `last` with the last beat of a packet;
// `data` is the beat's first dword. The names are those of tlp_stream in the contract. tp_system drives it; a plug-in whose module has the port
// `tlp_taps` gets it. There is no way back: whoever looks cannot hold a packet.
package tp_tap_pkg;
  import tp_tlp_pkg::*;

  typedef struct packed {
    logic rst;  // of the endpoint: packets under way end nowhere
    logic sent_write_beat;
    logic sent_write_last;
    tp_write_hdr_t sent_write_hdr;
    logic [31:0] sent_write_data;
    logic sent_read_beat;
    tp_read_hdr_t sent_read_hdr;
    logic sent_completion_beat;
    logic sent_completion_last;
    tp_answer_hdr_t sent_completion_hdr;
    logic [31:0] sent_completion_data;
    logic received_write_beat;
    logic received_write_last;
    tp_request_hdr_t received_write_hdr;
    logic [31:0] received_write_data;
    logic received_read_beat;
    tp_request_hdr_t received_read_hdr;
    logic received_completion_beat;
    logic received_completion_last;
    tp_completion_hdr_t received_completion_hdr;
    logic [31:0] received_completion_data;
  } tp_taps_t;
endpackage
