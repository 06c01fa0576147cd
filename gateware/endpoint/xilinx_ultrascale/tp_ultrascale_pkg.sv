// SPDX-License-Identifier: Apache-2.0
// The descriptors of the block's four streams, as PG156 (UltraScale) and PG213 (UltraScale+) define them: alike in both families.
package tp_ultrascale_pkg;

  typedef enum logic [3:0] {
    MEM_READ = 4'h0,
    MEM_WRITE = 4'h1,
    IO_READ = 4'h2,
    IO_WRITE = 4'h3,
    FETCH_ADD = 4'h4,
    SWAP = 4'h5,
    COMPARE_SWAP = 4'h6,
    MEM_READ_LOCKED = 4'h7,
    MESSAGE = 4'hc,
    VENDOR_MESSAGE = 4'hd,
    ATS_MESSAGE = 4'he
  } request_type_e;

  // A request of ours.
  typedef struct packed {
    logic force_ecrc;
    logic [2:0] attr;                      // 2: ID-based ordering, 1: relaxed ordering, 0: no snoop
    logic [2:0] tc;
    logic requester_enable;                // 0: the block puts in the bus number that it has captured
    logic [15:0] completer;                // of a memory request: none
    logic [7:0] tag;
    logic [15:0] requester;
    logic poisoned;
    request_type_e kind;
    logic [10:0] dwords;
    logic [63:2] addr;
    logic [1:0] at;
  } rq_t;

  // A request of the host's.
  typedef struct packed {
    logic reserved1;
    logic [2:0] attr;
    logic [2:0] tc;
    logic [5:0] aperture;                  // the BAR has 1 << n bytes
    logic [2:0] bar;
    logic [7:0] fn;
    logic [7:0] tag;
    logic [15:0] requester;
    logic reserved0;
    request_type_e kind;
    logic [10:0] dwords;
    logic [63:2] addr;
    logic [1:0] at;
  } cq_t;

  // An answer of ours.
  typedef struct packed {
    logic force_ecrc;
    logic [2:0] attr;
    logic [2:0] tc;
    logic completer_enable;                // 0: as above
    logic [15:0] completer;
    logic [7:0] tag;
    logic [15:0] requester;
    logic reserved3;
    logic poisoned;
    logic [2:0] status;
    logic [10:0] dwords;
    logic [1:0] reserved2;
    logic locked;
    logic [12:0] byte_count;
    logic [5:0] reserved1;
    logic [1:0] at;
    logic reserved0;
    logic [6:0] lower_addr;
  } cc_t;

  // An answer to us.
  typedef struct packed {
    logic reserved2;
    logic [2:0] attr;
    logic [2:0] tc;
    logic reserved1;
    logic [15:0] completer;
    logic [7:0] tag;
    logic [15:0] requester;
    logic reserved0;
    logic poisoned;
    logic [2:0] status;
    logic [10:0] dwords;
    logic reserved3;
    logic completed;                       // the request is answered, or has ended
    logic locked;
    logic [12:0] byte_count;
    logic [3:0] error;
    logic [11:0] lower_addr;
  } rc_t;

  // What the block says of an answer, beyond its status: `error` of rc_t. With the last two there was no packet: the block has ended the
  // request, and but for the tag no field of the descriptor counts.
  localparam logic [3:0] ERROR_POISONED = 4'h1;
  localparam logic [3:0] ERROR_MISMATCH = 4'h4;  // the requester's id, class or attributes are not those of the request
  localparam logic [3:0] ERROR_FUNCTION_RESET = 4'h8;
  localparam logic [3:0] ERROR_TIMEOUT = 4'h9;

  // What stands beside a request on CQ, and in the answer that refuses it, so that the block can log the request.
  typedef struct packed {
    logic [7:0] hint_tag;
    logic [1:0] hint_type;
    logic hint;
    logic [3:0] last_be;
    logic [3:0] first_be;
  } cq_side_t;

endpackage
