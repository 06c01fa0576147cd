// SPDX-License-Identifier: Apache-2.0
// The neutral TLP streams: what the core and every endpoint adapter agree on.
//
// A stream is `valid`, `ready` (where there is one), `hdr`, `data`, `last`. The header stands beside the data and is the same on
// every beat of a packet. Payload starts in lane 0 with the dword that holds the first byte; the byte enables say which bytes of
// the first and last dword count. A packet without payload is one beat with `last`.
//
// The core promises: once valid, a beat stays until ready; the beats of a write are adjacent, for a block may nullify a packet with a gap; an
// answer has 128 bytes at most, and its beats may come slowly, for registers are read between them (see tp_whole_packet); no output depends
// combinationally on an input; `rx_posted_hold` falls again, whatever the user core does. An endpoint promises: each packet has as many beats as its header's length needs, adjacent or not, also when the
// link is lost in the middle; while the link is down it takes what the core sends and drops it, or leaves the packet under way to the block.
// Straddling, alignment on the block's bus, byte order and the block's buffers are the endpoint's affair.
//
// What an endpoint does not pass on (docs/adr/0024-neutral-streams-2.md):
//   a poisoned write, or one that is for no BAR of ours: dropped, and reported to the block
//   a request that the core does not know (I/O, atomic, locked, message): answered or reported as the specification wants (2.3.1)
// A packet that turns out damaged when beats of it have gone on is completed, an answer with `bad`. From then on the endpoint shows
// `bus_master` 0 until the function or the link is reset, or the host has switched bus mastering off: so nothing that such a packet wrote, or
// answered to a list's fetch, is acted upon. A damaged write of one beat is dropped, for registers take such writes at once.
//
// outbound  posted       memory writes: data, completion entries, MSI-X       ready
//           read         memory read requests, header only                     ready
//           completion   answers to inbound reads; never passes a posted       ready
//                        write that was accepted before it
// inbound   completion   answers to our reads                                  no ready: always taken; with `bad` beside
//                                                                              `last` it counts as poisoned
//           posted       writes to a BAR                                       no ready: always taken; while rx_posted_hold is 1,
//                                                                              the endpoint begins no further packet; few that
//                                                                              had begun to come, up to 4 KiB, may follow
//           nonposted    reads of a BAR                                        no ready: sent only against a credit, one
//                                                                              for each pulse of nonposted_credit
package tp_tlp_pkg;

  typedef struct packed {
    logic [63:0] addr;      // of the first dword: bits 1:0 are 0
    logic [10:0] dwords;    // 1 to 1024
    logic [3:0]  first_be;
    logic [3:0]  last_be;   // 0 when dwords is 1
    logic        relaxed;   // relaxed ordering
    logic [2:0]  tc;        // traffic class
  } tp_write_hdr_t;

  typedef struct packed {
    logic [63:0] addr;
    logic [10:0] dwords;
    logic [3:0]  first_be;
    logic [3:0]  last_be;
    logic        relaxed;
    logic [2:0]  tc;
    logic [9:0]  tag;
  } tp_read_hdr_t;

  // An answer to a read may be cut into packets at addresses that are multiples of this: the smallest read completion boundary.
  localparam int CPL_BOUNDARY = 64;

  // Completion status, PCI Express Base Specification 2.2.9
  localparam logic [2:0] CPL_OK = 3'b000;
  localparam logic [2:0] CPL_UNSUPPORTED_REQUEST = 3'b001;
  localparam logic [2:0] CPL_COMPLETER_ABORT = 3'b100;
  localparam logic [2:0] CPL_ENDED = 3'b111;  // no packet has come: the block has ended the read itself, for it took too long

  // An answer of ours to a read of a BAR.
  typedef struct packed {
    logic [15:0] requester;
    logic [9:0]  tag;
    logic [2:0]  tc;
    logic [2:0]  attr;
    logic [6:0]  lower_addr;
    logic [12:0] byte_count;
    logic [10:0] dwords;    // 0 when status is not CPL_OK
    logic [2:0]  status;
  } tp_answer_hdr_t;

  // An answer to a read of ours.
  typedef struct packed {
    logic [9:0]  tag;
    logic [2:0]  status;
    logic        poisoned;
    logic [10:0] dwords;
    logic [12:0] byte_count;  // bytes still to come, with this packet's
    logic [6:0]  lower_addr;
  } tp_completion_hdr_t;

  // A write to, or a read of, one of our BARs.
  typedef struct packed {
    logic [2:0]  bar;
    logic [35:0] offset;    // in the BAR, of the first dword: bits 1:0 are 0
    logic [10:0] dwords;
    logic [3:0]  first_be;
    logic [3:0]  last_be;
    logic [15:0] requester;
    logic [9:0]  tag;       // this and below: reads only
    logic [2:0]  tc;
    logic [2:0]  attr;
  } tp_request_hdr_t;

  // What the configuration space tells the core. Changes take effect between requests.
  typedef struct packed {
    logic [15:0] requester;      // bus, device, function
    logic [2:0]  max_payload;    // 128 << n bytes
    logic [2:0]  max_read;       // 128 << n bytes
    logic        rcb_128;        // read completion boundary: 128 bytes, not 64
    logic        bus_master;
    logic        relaxed;        // relaxed ordering is allowed
    logic        tags_8bit;      // extended tags
    logic        tags_10bit;
    logic [3:0]  completion_timeout;  // Device Control 2, 7.5.3.16
    logic        msix_enable;
    logic        msix_mask;      // the function's mask
    logic        link_up;
    logic        active;         // power state D0
    logic        function_reset; // held until the core acknowledges
    // TLPs that still fit in the block's transmit buffer; all ones: unknown. Those that have been sent and wait only for the link
    // partner's acknowledgement do not count as in it: tp_pace takes what is in it for what a read would wait behind.
    logic [7:0]  transmit_room;
  } tp_config_t;

  // What the core tells the block, for its error registers (Base Specification 6.2): a pulse for each.
  typedef struct packed {
    logic completion_timeout;
    logic unexpected_completion;
  } tp_errors_t;

  // Not of the streams: what each of several C2H channels keeps of the sending room while it has no descriptor, which discovery tells as its
  // `buffer_bytes`: half of an even part, rounded down to a power of two. A channel alone keeps all (docs/adr/0035-shared-sending.md).
  function automatic int kept_sending(input int bytes, input int channels);
    kept_sending = channels == 1 ? bytes : 2 ** ($clog2(bytes / channels + 1) - 2);
  endfunction
endpackage
