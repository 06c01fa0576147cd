// SPDX-License-Identifier: Apache-2.0
// Generated from contract/towpath.rdl by `python3 contract/generate.py`: do not edit.
//
// What both ends of the link agree on: offsets, fields, values and packed structures. What happens is in contract/protocol.md.
//
// Structures are packed with their first field in the lowest bits, so that a cast of the little-endian memory image is right.
// Masks are in place. Offsets, counts and bit numbers are numbers without a size, so that they meet signals of any width as a bare
// literal would; masks, resets and fixed values have their register's width. Not every name is used by every design.
package towpath_pkg;

  // verilator lint_off UNUSEDPARAM
  localparam TP_VERSION_MAJOR = 2;  // version of this contract: another one is refused
  localparam TP_VERSION_MINOR = 2;  // version of this contract: only adds
  localparam TP_BAR_DEVICE = 0;  // the BAR of pages
  localparam TP_BAR_WINDOW = 2;  // the BAR of the user core's registers
  localparam TP_BAR_MEMORY = 4;  // the BAR of the windows onto the user core's memories
  localparam TP_PAGE_DISCOVERY = 0;  // page of block DISCOVERY
  localparam TP_PAGE_CARD = 1;  // page of block CARD
  localparam TP_PAGE_MSIX = 2;  // page of block MSIX
  localparam TP_PAGE_CHANNELS = 4;  // first page of channel 0
  localparam TP_PAGES_PER_CHANNEL = 4;  // from one channel's pages to the next's
  localparam TP_PAGE_CHANNEL_PRIVILEGED = 0;  // page among a channel's pages
  localparam TP_PAGE_CHANNEL_DOORBELL = 1;  // page among a channel's pages
  localparam TP_PAGE_CHANNEL_INLINE = 2;  // page among a channel's pages
  localparam TP_PAGE_CHANNEL_BATCH = 3;  // page among a channel's pages
  localparam TP_PAGE_BYTES_MIN = 4096;  // smallest page
  localparam TP_CHANNELS_MAX = 60;  // channels, both directions together
  localparam TP_NAME_BYTES = 32;  // of a name, zeroes included
  localparam TP_PLUGINS_MAX = 8;  // plug-ins
  localparam TP_USER_INTERRUPTS = 16;  // user interrupts that have registers
  localparam TP_MSIX_VECTORS_MAX = 128;  // vectors for which the table has room
  localparam TP_INLINE_SLOT_BYTES = 64;  // of an inline slot, the longest inline message
  localparam TP_INLINE_SLOTS_MAX = 64;  // inline slots in the smallest page
  localparam TP_BATCH_SLOTS_MAX = 256;  // slots for descriptors in the smallest batch page

  typedef enum logic [7:0] {
    TP_DIRECTION_H2C = 8'd0,  // host to card
    TP_DIRECTION_C2H = 8'd1  // card to host
  } tp_direction_e;

  typedef enum logic [7:0] {
    TP_CHANNEL_KIND_STREAM = 8'd0,  // an AXI4-Stream of the user core
    TP_CHANNEL_KIND_MEMORY = 8'd1,  // addresses behind an AXI4 port of the user core
    TP_CHANNEL_KIND_NAMED = 8'd2,  // a kind from elsewhere, which `kind_name` tells
    TP_CHANNEL_KIND_PEER = 8'd3  // an AXI4-Stream of the user core that carries a peer's data, and none of the host's
  } tp_channel_kind_e;

  typedef enum logic [7:0] {
    TP_STATUS_NONE = 8'd0,  // of entries that complete nothing: message starts
    TP_STATUS_DONE = 8'd1,  // all bytes moved
    TP_STATUS_END_OF_MESSAGE = 8'd2,  // C2H: the message ended in this buffer
    TP_STATUS_UNSUPPORTED_REQUEST = 8'd3,  // the host refused a read: address not mapped, or the like
    TP_STATUS_COMPLETER_ABORT = 8'd4,  // the host could not answer a read
    TP_STATUS_POISONED = 8'd5,  // data came marked as corrupt
    TP_STATUS_TIMEOUT = 8'd6,  // the host did not answer a read in time
    TP_STATUS_CANCELLED = 8'd7,  // stopped by cancel, with the bytes so far
    TP_STATUS_BUS_MASTERING_OFF = 8'd8,  // the card may not access host memory
    TP_STATUS_RESET = 8'd9,  // stopped by a reset of the channel or the card
    TP_STATUS_TORN = 8'd10,  // the descriptor's words did not arrive whole and in order
    TP_STATUS_MALFORMED = 8'd11,  // unknown kind, slot or length out of range, list too short
    TP_STATUS_BAD_COMPLETION = 8'd12,  // an answer to a read had a wrong length or byte count
    TP_STATUS_LINK_DOWN = 8'd13,  // the link to the host went down
    TP_STATUS_KIND_STATUS = 8'd64  // 65 to 127: the channel's kind says so, with a number of its own from 1 to 63
  } tp_status_e;

  typedef enum logic [3:0] {
    TP_KIND_DIRECT = 4'd0,  // one contiguous piece of host memory
    TP_KIND_LIST = 4'd1,  // a table of pieces in host memory, which the card fetches
    TP_KIND_INLINE = 4'd2,  // the bytes stand in a slot of the inline page (H2C)
    TP_KIND_ATTRIBUTES = 4'd3,  // prefix: offset or card address, and user word of the message
    TP_KIND_MESSAGE_LENGTH = 4'd4  // prefix: bytes in the whole message, 0: unknown
  } tp_kind_e;

  typedef enum logic [2:0] {
    TP_TLP_STREAM_SENT_WRITE = 3'd0,  // the card writes memory, or raises an interrupt
    TP_TLP_STREAM_SENT_READ = 3'd1,  // the card reads memory
    TP_TLP_STREAM_SENT_COMPLETION = 3'd2,  // the card answers a read of a BAR
    TP_TLP_STREAM_RECEIVED_WRITE = 3'd4,  // a write to a BAR
    TP_TLP_STREAM_RECEIVED_READ = 3'd5,  // a read of a BAR
    TP_TLP_STREAM_RECEIVED_COMPLETION = 3'd6  // an answer to a read of the card's
  } tp_tlp_stream_e;

  typedef enum logic [2:0] {
    TP_PARTIAL_OUTCOME_IDLE = 3'd0,  // there was none since the card's reset, or it is under way
    TP_PARTIAL_OUTCOME_LOADED = 3'd1,  // the region holds the new core
    TP_PARTIAL_OUTCOME_REFUSED = 3'd2,  // a channel was within a message, and the core goes on as it was
    TP_PARTIAL_OUTCOME_OVERRUN = 3'd3,  // failed: a dword came for which there was no room
    TP_PARTIAL_OUTCOME_PORT = 3'd4,  // failed: the configuration port reports an error in the file
    TP_PARTIAL_OUTCOME_ABORTED = 3'd5  // failed: by `abort`
  } tp_partial_outcome_e;

  // Page 0, read-only: what the card is. A host reads `magic`, then the version, then the rest.
  localparam TP_DISCOVERY_MAGIC_OFFSET = 'h00;  // the bytes "TOWPATH\0"
  localparam logic [63:0] TP_DISCOVERY_MAGIC_VALUE = 64'h48544150574f54;
  localparam TP_DISCOVERY_VERSION_MAJOR_OFFSET = 'h08;  // of the contract; a host refuses another than its own
  localparam logic [15:0] TP_DISCOVERY_VERSION_MAJOR_VALUE = 16'h2;
  localparam TP_DISCOVERY_VERSION_MINOR_OFFSET = 'h0a;  // of the contract; a minor version only adds
  localparam logic [15:0] TP_DISCOVERY_VERSION_MINOR_VALUE = 16'h2;
  localparam TP_DISCOVERY_HEADER_BYTES_OFFSET = 'h0c;  // of this header
  localparam logic [15:0] TP_DISCOVERY_HEADER_BYTES_VALUE = 16'h100;
  localparam TP_DISCOVERY_PAGE_SHIFT_OFFSET = 'h0e;  // a page of BAR 0 has 1 << page_shift bytes
  localparam TP_DISCOVERY_DATA_BYTES_OFFSET = 'h0f;  // width of the core's data path
  localparam TP_DISCOVERY_CHANNELS_OFFSET = 'h10;  // number of channels, and of entries
  localparam TP_DISCOVERY_ENTRY_OFFSET_OFFSET = 'h12;  // of the first channel entry in this page
  localparam logic [15:0] TP_DISCOVERY_ENTRY_OFFSET_VALUE = 16'h100;
  localparam TP_DISCOVERY_ENTRY_BYTES_OFFSET = 'h14;  // from one channel entry to the next
  localparam logic [15:0] TP_DISCOVERY_ENTRY_BYTES_VALUE = 16'h40;
  localparam TP_DISCOVERY_VECTORS_OFFSET = 'h16;  // MSI-X vectors
  localparam TP_DISCOVERY_USER_INTERRUPTS_OFFSET = 'h18;  // interrupts of the user core
  localparam TP_DISCOVERY_TAGS_OFFSET = 'h1a;  // read requests that the card can have in flight
  localparam TP_DISCOVERY_WINDOW_BYTES_OFFSET = 'h1c;  // of the register window in BAR 2; 0: none
  localparam TP_DISCOVERY_SERIAL_OFFSET = 'h20;  // of the card
  localparam TP_DISCOVERY_CORE_CLOCK_KHZ_OFFSET = 'h28;  // Towpath's clock
  localparam TP_DISCOVERY_USER_CLOCK_KHZ_OFFSET = 'h2c;  // the user core's clock
  localparam TP_DISCOVERY_CORE_VERSION_OFFSET = 'h30;  // of the user core: a number of its own
  localparam TP_DISCOVERY_CORE_NAME_OFFSET = 'h40;  // of the user core, UTF-8, zero padded
  localparam TP_DISCOVERY_CORE_NAME_COUNT = 32;
  localparam TP_DISCOVERY_CORE_NAME_STRIDE = 1;
  localparam TP_DISCOVERY_MEMORY_WINDOW_BYTES_OFFSET = 'h60;  // of BAR 4, the windows onto the user core's memories; 0: none
  localparam TP_DISCOVERY_PLUGINS_OFFSET = 'h70;  // number of plug-ins, and of entries
  localparam TP_DISCOVERY_FEATURES_OFFSET = 'h72;  // what the card was built with
  localparam TP_DISCOVERY_FEATURES_QOS_LSB = 0;  // channels have weights, rates and traffic classes
  localparam logic [15:0] TP_DISCOVERY_FEATURES_QOS_MASK = 16'h1;
  localparam TP_DISCOVERY_FEATURES_FILL_LSB = 1;  // channels fire at a fill level
  localparam logic [15:0] TP_DISCOVERY_FEATURES_FILL_MASK = 16'h2;
  localparam TP_DISCOVERY_PLUGIN_ENTRY_OFFSET = 'h80;  // What a plug-in is. Entry n describes plug-in n.
  localparam TP_DISCOVERY_PLUGIN_ENTRY_COUNT = 8;
  localparam TP_DISCOVERY_PLUGIN_ENTRY_STRIDE = 16;
  localparam TP_DISCOVERY_CHANNEL_ENTRY_OFFSET = 'h100;  // What a channel is. Entry n describes channel n.
  localparam TP_DISCOVERY_CHANNEL_ENTRY_COUNT = 60;
  localparam TP_DISCOVERY_CHANNEL_ENTRY_STRIDE = 64;

  // What a plug-in is. Entry n describes plug-in n.
  localparam TP_PLUGIN_ENTRY_BYTES = 16;
  localparam TP_PLUGIN_ENTRY_TYPE_NAME_OFFSET = 'h00;  // ASCII, zero padded
  localparam TP_PLUGIN_ENTRY_TYPE_NAME_COUNT = 8;
  localparam TP_PLUGIN_ENTRY_TYPE_NAME_STRIDE = 1;
  localparam TP_PLUGIN_ENTRY_VERSION_OFFSET = 'h08;  // of the type; a host that knows another one leaves the plug-in alone
  localparam TP_PLUGIN_ENTRY_PAGES_OFFSET = 'h0a;  // of its registers, 4096 bytes each
  localparam TP_PLUGIN_ENTRY_OFFSET_OFFSET = 'h0c;  // of its registers in the register window

  // What a channel is. Entry n describes channel n.
  localparam TP_CHANNEL_ENTRY_BYTES = 64;
  localparam TP_CHANNEL_ENTRY_DIRECTION_OFFSET = 'h00;  // which way data goes
  localparam TP_CHANNEL_ENTRY_KIND_OFFSET = 'h01;  // what carries data at the card's end
  localparam TP_CHANNEL_ENTRY_KIND_VERSION_OFFSET = 'h02;  // of the kind; a host that knows another one leaves the channel alone
  localparam TP_CHANNEL_ENTRY_QUEUE_DEPTH_OFFSET = 'h04;  // descriptors that may be posted and not yet completed
  localparam TP_CHANNEL_ENTRY_INLINE_SLOTS_OFFSET = 'h06;  // slots in the inline page; 0: no inline descriptors
  localparam TP_CHANNEL_ENTRY_FIRST_PAGE_OFFSET = 'h08;  // index of the channel's privileged page; doorbell, inline and batch page follow it
  localparam TP_CHANNEL_ENTRY_BUFFER_BYTES_OFFSET = 'h0c;  // the card's own buffer: of an H2C channel, which shares it with the others of its kind, or of this C2H channel
  localparam TP_CHANNEL_ENTRY_BATCH_SLOTS_OFFSET = 'h10;  // slots for descriptors in the batch page; 0: it takes no batches
  localparam TP_CHANNEL_ENTRY_WINDOW_OFFSET = 'h12;  // of a memory's window, or of an H2C stream's inbox: 1 + its offset in BAR 4, in MiB; 0: none
  localparam TP_CHANNEL_ENTRY_KIND_PARAMETER_OFFSET = 'h14;  // the kind's own; of a memory its size in pages of 4096 bytes; of a stream 0, or what it has for a peer: of H2C the bytes that its inbox holds, of C2H 1
  localparam TP_CHANNEL_ENTRY_KIND_NAME_OFFSET = 'h18;  // ASCII, zero padded
  localparam TP_CHANNEL_ENTRY_KIND_NAME_COUNT = 8;
  localparam TP_CHANNEL_ENTRY_KIND_NAME_STRIDE = 1;
  localparam TP_CHANNEL_ENTRY_NAME_OFFSET = 'h20;  // UTF-8, zero padded
  localparam TP_CHANNEL_ENTRY_NAME_COUNT = 32;
  localparam TP_CHANNEL_ENTRY_NAME_STRIDE = 1;

  // Page 1: what concerns all channels and the user core. The driver's.
  localparam TP_CARD_CONTROL_OFFSET = 'h00;  // control
  localparam TP_CARD_CONTROL_RESET_LSB = 0;  // write 1: resets all channels and the user core; reads 1 until that is done
  localparam logic [31:0] TP_CARD_CONTROL_RESET_MASK = 32'h1;
  localparam TP_CARD_STATUS_OFFSET = 'h04;  // reserved
  localparam TP_CARD_WINDOW_TIMEOUT_OFFSET = 'h08;  // core clocks that an access of the register window may take, and a read or the write ahead of a memory window
  localparam logic [31:0] TP_CARD_WINDOW_TIMEOUT_RESET = 32'h3d090;
  localparam TP_CARD_WINDOW_STATUS_OFFSET = 'h0c;  // what went wrong in the windows since it was last cleared
  localparam TP_CARD_WINDOW_STATUS_TIMEOUT_LSB = 0;  // the user core did not answer in time
  localparam logic [31:0] TP_CARD_WINDOW_STATUS_TIMEOUT_MASK = 32'h1;
  localparam TP_CARD_WINDOW_STATUS_ERROR_LSB = 1;  // the user core answered SLVERR or DECERR
  localparam logic [31:0] TP_CARD_WINDOW_STATUS_ERROR_MASK = 32'h2;
  localparam TP_CARD_WINDOW_STATUS_MEMORY_TIMEOUT_LSB = 2;  // a memory did not answer in time: the windows are off, and this stays 1, until the card is reset
  localparam logic [31:0] TP_CARD_WINDOW_STATUS_MEMORY_TIMEOUT_MASK = 32'h4;
  localparam TP_CARD_WINDOW_STATUS_MEMORY_ERROR_LSB = 3;  // a memory answered SLVERR or DECERR, or there is none at the address
  localparam logic [31:0] TP_CARD_WINDOW_STATUS_MEMORY_ERROR_MASK = 32'h8;
  localparam TP_CARD_INBOUND_OVERRUNS_OFFSET = 'h10;  // writes to doorbells or registers that were dropped: no room, or not within 8 aligned bytes
  localparam TP_CARD_WINDOW_OVERRUNS_OFFSET = 'h14;  // writes to the register window that were dropped: no room, or not within 8 aligned bytes
  localparam TP_CARD_WINDOW_TIMEOUTS_OFFSET = 'h18;  // accesses of the register window that were not answered in time
  localparam TP_CARD_MEMORY_WINDOW_OVERRUNS_OFFSET = 'h1c;  // writes to the memory windows that were dropped: no room, or the windows are off
  localparam TP_CARD_QUARANTINE_OFFSET = 'h20;  // how long a timed-out tag stays out of use when its late answer never comes, in completion timeouts; 0: until the link goes down
  localparam logic [31:0] TP_CARD_QUARANTINE_RESET = 32'h10;
  localparam TP_CARD_QUARANTINED_OFFSET = 'h24;  // tags in quarantine now
  localparam TP_CARD_MEMORY_WINDOW_ERRORS_OFFSET = 'h28;  // writes to the memory windows that a memory refused, or that no memory is behind
  localparam TP_CARD_USER_IRQ_ENABLE_OFFSET = 'h40;  // bit k: user interrupt k fires `user_irq_vector[k]`
  localparam TP_CARD_UNSUPPORTED_REQUESTS_OFFSET = 'h48;  // reads which the host refused
  localparam TP_CARD_COMPLETER_ABORTS_OFFSET = 'h4c;  // reads which the host could not answer
  localparam TP_CARD_POISONED_OFFSET = 'h50;  // reads with data marked as corrupt
  localparam TP_CARD_TIMEOUTS_OFFSET = 'h54;  // reads which were not answered in time
  localparam TP_CARD_BAD_COMPLETIONS_OFFSET = 'h58;  // reads answered with a wrong length or byte count
  localparam TP_CARD_LATE_COMPLETIONS_OFFSET = 'h5c;  // answers that came after their read was given up
  localparam TP_CARD_BUS_MASTERING_LOSSES_OFFSET = 'h60;  // times that bus mastering was switched off
  localparam TP_CARD_LINK_DOWNS_OFFSET = 'h64;  // times that the link went down
  localparam TP_CARD_FUNCTION_RESETS_OFFSET = 'h68;  // function-level resets
  localparam TP_CARD_UNEXPECTED_COMPLETIONS_OFFSET = 'h6c;  // answers to reads which the card had not asked
  localparam TP_CARD_USER_IRQ_VECTOR_OFFSET = 'h80;  // MSI-X vector of user interrupt k
  localparam TP_CARD_USER_IRQ_VECTOR_COUNT = 16;
  localparam TP_CARD_USER_IRQ_VECTOR_STRIDE = 4;
  localparam TP_CARD_USER_IRQ_COUNT_OFFSET = 'hc0;  // events of user interrupt k, modulo 2^32
  localparam TP_CARD_USER_IRQ_COUNT_COUNT = 16;
  localparam TP_CARD_USER_IRQ_COUNT_STRIDE = 4;

  // Page 2: MSI-X. The kernel's.
  localparam TP_MSIX_VECTOR_OFFSET = 'h00;  // One vector of the MSI-X table.
  localparam TP_MSIX_VECTOR_COUNT = 128;
  localparam TP_MSIX_VECTOR_STRIDE = 16;
  localparam TP_MSIX_PENDING_OFFSET = 'h800;  // bit v modulo 64 of word v / 64: vector v is pending
  localparam TP_MSIX_PENDING_COUNT = 32;
  localparam TP_MSIX_PENDING_STRIDE = 8;

  // One vector of the MSI-X table.
  localparam TP_MSIX_VECTOR_BYTES = 16;
  localparam TP_MSIX_VECTOR_ADDRESS_OFFSET = 'h00;  // to which the message is written
  localparam TP_MSIX_VECTOR_DATA_OFFSET = 'h08;  // of the message
  localparam TP_MSIX_VECTOR_CONTROL_OFFSET = 'h0c;  // control
  localparam logic [31:0] TP_MSIX_VECTOR_CONTROL_RESET = 32'h1;
  localparam TP_MSIX_VECTOR_CONTROL_MASK_LSB = 0;  // holds the vector back and pending
  localparam logic [31:0] TP_MSIX_VECTOR_CONTROL_MASK_MASK = 32'h1;

  // A channel's privileged page. The driver's.
  localparam TP_CHANNEL_CONTROL_OFFSET = 'h00;  // control
  localparam TP_CHANNEL_CONTROL_ENABLE_LSB = 0;  // the channel runs; without it descriptors are dropped
  localparam logic [31:0] TP_CHANNEL_CONTROL_ENABLE_MASK = 32'h1;
  localparam TP_CHANNEL_CONTROL_ANNOUNCE_LSB = 1;  // C2H: write message starts
  localparam logic [31:0] TP_CHANNEL_CONTROL_ANNOUNCE_MASK = 32'h2;
  localparam TP_CHANNEL_RESET_OFFSET = 'h04;  // reset
  localparam TP_CHANNEL_RESET_RESET_LSB = 0;  // write 1: resets the channel; reads 1 until that is done
  localparam logic [31:0] TP_CHANNEL_RESET_RESET_MASK = 32'h1;
  localparam TP_CHANNEL_RING_BASE_OFFSET = 'h08;  // bus address of the completion ring, aligned to its size
  localparam TP_CHANNEL_RING_LOG2_OFFSET = 'h10;  // the completion ring has 1 << ring_log2 entries, 2 to 16
  localparam TP_CHANNEL_VECTOR_OFFSET = 'h14;  // MSI-X vector of the channel
  localparam TP_CHANNEL_STATUS_OFFSET = 'h18;  // status
  localparam TP_CHANNEL_STATUS_RUNNING_LSB = 0;  // the channel is enabled and takes descriptors
  localparam logic [31:0] TP_CHANNEL_STATUS_RUNNING_MASK = 32'h1;
  localparam TP_CHANNEL_STATUS_ERROR_LSB = 1;  // a descriptor too many was posted; all are dropped until a reset
  localparam logic [31:0] TP_CHANNEL_STATUS_ERROR_MASK = 32'h2;
  localparam TP_CHANNEL_STATUS_RESETTING_LSB = 2;  // a reset goes on
  localparam logic [31:0] TP_CHANNEL_STATUS_RESETTING_MASK = 32'h4;
  localparam TP_CHANNEL_OVERFLOWS_OFFSET = 'h1c;  // descriptors and batches dropped
  localparam TP_CHANNEL_TORN_OFFSET = 'h20;  // descriptors that arrived torn
  localparam TP_CHANNEL_PRODUCED_OFFSET = 'h24;  // ring entries written since enable, modulo 2^32
  localparam TP_CHANNEL_CONSUMED_OFFSET = 'h28;  // descriptors completed since enable, modulo 2^32
  localparam TP_CHANNEL_MODERATION_OFFSET = 'h30;  // holds an armed interrupt back until there are several entries, or for a time; 0: never
  localparam TP_CHANNEL_MODERATION_ENTRIES_LSB = 0;  // fire when so many entries have not been reaped; 0 is 1
  localparam logic [31:0] TP_CHANNEL_MODERATION_ENTRIES_MASK = 32'hffff;
  localparam TP_CHANNEL_MODERATION_TIME_LSB = 16;  // or so many times 64 core clocks after the first of them; 0: at once
  localparam logic [31:0] TP_CHANNEL_MODERATION_TIME_MASK = 32'hffff0000;
  localparam TP_CHANNEL_PEER_BASE_OFFSET = 'h38;  // bus address of what the channel writes to on the other card, C2H: the pairing's 8 KiB of the inbox; H2C: the doorbell `credit` of the channel that sends
  localparam TP_CHANNEL_WEIGHT_OFFSET = 'h40;  // the channel's part of the link while others of its direction want it, too; 0 counts as 1
  localparam logic [31:0] TP_CHANNEL_WEIGHT_RESET = 32'h1;
  localparam TP_CHANNEL_TRAFFIC_CLASS_OFFSET = 'h44;  // traffic class of the channel's reads and writes of data
  localparam TP_CHANNEL_RATE_OFFSET = 'h48;  // bytes of data that the channel may move in 2^20 core clocks; 0: as many as it can
  localparam TP_CHANNEL_HELD_OFFSET = 'h4c;  // what the card holds for the channel
  localparam TP_CHANNEL_HELD_BYTES_LSB = 0;  // bytes: not yet sent (C2H), not yet taken by the core (H2C)
  localparam logic [31:0] TP_CHANNEL_HELD_BYTES_MASK = 32'h7fffffff;
  localparam TP_CHANNEL_HELD_FULL_LSB = 31;  // C2H: the core can send no more, and no descriptor is there
  localparam logic [31:0] TP_CHANNEL_HELD_FULL_MASK = 32'h80000000;
  localparam TP_CHANNEL_PEER_CONTROL_OFFSET = 'h50;  // pairs the channel with one of another card; a reset of the channel clears `paired` and `posting`
  localparam TP_CHANNEL_PEER_CONTROL_PAIRED_LSB = 0;  // the channel is paired; from 0 to 1 its counts begin at 0
  localparam logic [31:0] TP_CHANNEL_PEER_CONTROL_PAIRED_MASK = 32'h1;
  localparam TP_CHANNEL_PEER_CONTROL_POSTING_LSB = 1;  // C2H: the card posts descriptors as far as it has credit; a fault clears it
  localparam logic [31:0] TP_CHANNEL_PEER_CONTROL_POSTING_MASK = 32'h2;
  localparam TP_CHANNEL_PEER_CONTROL_SLOT_LOG2_LSB = 8;  // log2 of a slot's bytes, 7 to 12; both ends of a pair have the same
  localparam logic [31:0] TP_CHANNEL_PEER_CONTROL_SLOT_LOG2_MASK = 32'hf00;
  localparam TP_CHANNEL_PEER_CONTROL_KEY_LSB = 16;  // stands in every credit, and its lower seven bits tell where the inbox is; both ends of a pair have the same, and each pairing another one than those before
  localparam logic [31:0] TP_CHANNEL_PEER_CONTROL_KEY_MASK = 32'hff0000;
  localparam TP_CHANNEL_PEER_STATUS_OFFSET = 'h54;  // how a pair is doing
  localparam TP_CHANNEL_PEER_STATUS_SLOTS_LSB = 0;  // slots since pairing, modulo 2^16: C2H posted, H2C ended
  localparam logic [31:0] TP_CHANNEL_PEER_STATUS_SLOTS_MASK = 32'hffff;
  localparam TP_CHANNEL_PEER_STATUS_IDLE_LSB = 16;  // C2H: no slot that was posted is under way; H2C: all that came has been taken by the core, but for the last beat of a message that has not ended
  localparam logic [31:0] TP_CHANNEL_PEER_STATUS_IDLE_MASK = 32'h10000;
  localparam TP_CHANNEL_PEER_STATUS_OPEN_LSB = 17;  // H2C: a message of the peer's has come in part, and not its end
  localparam logic [31:0] TP_CHANNEL_PEER_STATUS_OPEN_MASK = 32'h20000;
  localparam TP_CHANNEL_PEER_STATUS_OVERRUN_LSB = 18;  // H2C: since pairing something came that had no room, or that shows that something was lost, or the link was down: what came after that was dropped
  localparam logic [31:0] TP_CHANNEL_PEER_STATUS_OVERRUN_MASK = 32'h40000;
  localparam TP_CHANNEL_PEER_STATUS_WAITING_LSB = 19;  // H2C: the inbox waits for the end of a message that the host has begun
  localparam logic [31:0] TP_CHANNEL_PEER_STATUS_WAITING_MASK = 32'h80000;
  localparam TP_CHANNEL_PEER_STATUS_FAULT_LSB = 24;  // C2H: the fault that ended a slot since pairing; 0: none
  localparam logic [31:0] TP_CHANNEL_PEER_STATUS_FAULT_MASK = 32'hff000000;

  // A channel's doorbells: write-only, for the channel's user, mapped uncached.
  localparam TP_DOORBELL_DESCRIPTOR_OFFSET = 'h00;  // What a host posts: a piece of work, or a prefix of one. The meaning of address and length is the kind's.
  localparam TP_DOORBELL_ARM_OFFSET = 'h10;  // entries reaped since enable: fire as soon as the card has written more
  localparam TP_DOORBELL_CANCEL_OFFSET = 'h14;  // any value: end every descriptor committed before
  localparam TP_DOORBELL_LEAD_OFFSET = 'h18;  // early wake: fire when the descriptor in hand has no more bytes to go than these, in steps of 256; less: never
  localparam TP_DOORBELL_BATCH_OFFSET = 'h1c;  // commits so many descriptors of the batch page, the next ones in the order of its slots
  localparam TP_DOORBELL_FILL_OFFSET = 'h20;  // fires the channel's vector once, as soon as the card holds so many bytes
  localparam TP_DOORBELL_FILL_BYTES_LSB = 0;  // bytes; 0 with `above` 1: never
  localparam logic [31:0] TP_DOORBELL_FILL_BYTES_MASK = 32'h7fffffff;
  localparam TP_DOORBELL_FILL_ABOVE_LSB = 31;  // 1: so many or more, or as many as can be; 0: so many or fewer
  localparam logic [31:0] TP_DOORBELL_FILL_ABOVE_MASK = 32'h80000000;
  localparam TP_DOORBELL_CREDIT_OFFSET = 'h28;  // C2H, from the peer: how far its inbox has room
  localparam TP_DOORBELL_CREDIT_SLOTS_LSB = 0;  // slots since pairing that may be posted, modulo 2^16
  localparam logic [31:0] TP_DOORBELL_CREDIT_SLOTS_MASK = 32'hffff;
  localparam TP_DOORBELL_CREDIT_KEY_LSB = 16;  // that of the pairing; another one is ignored
  localparam logic [31:0] TP_DOORBELL_CREDIT_KEY_MASK = 32'hff0000;

  // What a host posts: a piece of work, or a prefix of one. The meaning of address and length is the kind's.
  localparam TP_DESCRIPTOR_BYTES = 16;
  localparam TP_DESCRIPTOR_ADDRESS_OFFSET = 'h00;  // of the piece, the list's table or the inline slot; of a prefix its first value
  localparam TP_DESCRIPTOR_LENGTH_OFFSET = 'h08;  // bytes; of a prefix its second value
  localparam TP_DESCRIPTOR_COOKIE_OFFSET = 'h0c;  // the host's own, handed back in the completion
  localparam TP_DESCRIPTOR_CONTROL_OFFSET = 'h0e;  // kind and flags
  localparam TP_DESCRIPTOR_CONTROL_KIND_LSB = 0;  // what the descriptor is
  localparam logic [15:0] TP_DESCRIPTOR_CONTROL_KIND_MASK = 16'hf;
  localparam TP_DESCRIPTOR_CONTROL_END_LSB = 4;  // H2C: the message ends after this descriptor's last byte
  localparam logic [15:0] TP_DESCRIPTOR_CONTROL_END_MASK = 16'h10;

  // One piece of a list, in a table in host memory, 16-byte aligned.
  localparam TP_LIST_ENTRY_BYTES = 16;
  localparam TP_LIST_ENTRY_ADDRESS_OFFSET = 'h00;  // of the piece, any byte; with `chain` of the next table, 16-byte aligned
  localparam TP_LIST_ENTRY_LENGTH_OFFSET = 'h08;  // bytes in the piece; ignored with `chain`
  localparam TP_LIST_ENTRY_CONTROL_OFFSET = 'h0c;  // flags
  localparam TP_LIST_ENTRY_CONTROL_LAST_LSB = 0;  // the list ends with this entry
  localparam logic [31:0] TP_LIST_ENTRY_CONTROL_LAST_MASK = 32'h1;
  localparam TP_LIST_ENTRY_CONTROL_CHAIN_LSB = 1;  // the entry holds no data but the address of the next table
  localparam logic [31:0] TP_LIST_ENTRY_CONTROL_CHAIN_MASK = 32'h2;

  // What the card writes into a channel's ring, whole and after the data it tells of.
  localparam TP_COMPLETION_BYTES = 16;
  localparam TP_COMPLETION_BYTES_OFFSET = 'h00;  // moved; in a message start bits 31:0 of the message's length
  localparam TP_COMPLETION_OFFSET_OFFSET = 'h04;  // C2H: the message's offset, as the core gave it
  localparam TP_COMPLETION_USER_OFFSET = 'h08;  // C2H: the message's user word, as the core gave it
  localparam TP_COMPLETION_COOKIE_OFFSET = 'h0c;  // of the descriptor; in a message start bits 47:32 of the message's length
  localparam TP_COMPLETION_STATUS_OFFSET = 'h0e;  // how the descriptor ended
  localparam TP_COMPLETION_FLAGS_OFFSET = 'h0f;  // flags
  localparam TP_COMPLETION_FLAGS_PHASE_LSB = 0;  // 1 in the ring's first lap, flips in each: tells a new entry from an old one
  localparam logic [7:0] TP_COMPLETION_FLAGS_PHASE_MASK = 8'h1;
  localparam TP_COMPLETION_FLAGS_START_LSB = 1;  // a message starts; nothing completes
  localparam logic [7:0] TP_COMPLETION_FLAGS_START_MASK = 8'h2;

  // Plug-in `reset`, version 1. Times are clocks of the user core's.
  localparam TP_PLUGIN_RESET_COMMAND_OFFSET = 'h00;  // commands, each by writing 1; of several in one write the last counts
  localparam TP_PLUGIN_RESET_COMMAND_START_LSB = 0;  // the sequence runs from its start
  localparam logic [31:0] TP_PLUGIN_RESET_COMMAND_START_MASK = 32'h1;
  localparam TP_PLUGIN_RESET_COMMAND_HOLD_LSB = 1;  // all outputs are asserted until `release`
  localparam logic [31:0] TP_PLUGIN_RESET_COMMAND_HOLD_MASK = 32'h2;
  localparam TP_PLUGIN_RESET_COMMAND_RELEASE_LSB = 2;  // what is held runs the sequence from its start
  localparam logic [31:0] TP_PLUGIN_RESET_COMMAND_RELEASE_MASK = 32'h4;
  localparam TP_PLUGIN_RESET_STATUS_OFFSET = 'h04;  // status
  localparam TP_PLUGIN_RESET_STATUS_BUSY_LSB = 0;  // the sequence runs or is held
  localparam logic [31:0] TP_PLUGIN_RESET_STATUS_BUSY_MASK = 32'h1;
  localparam TP_PLUGIN_RESET_STATUS_HELD_LSB = 1;  // held, by `hold` or by a fault
  localparam logic [31:0] TP_PLUGIN_RESET_STATUS_HELD_MASK = 32'h2;
  localparam TP_PLUGIN_RESET_STATUS_FAULT_LSB = 2;  // the core reports a fault
  localparam logic [31:0] TP_PLUGIN_RESET_STATUS_FAULT_MASK = 32'h4;
  localparam TP_PLUGIN_RESET_STATUS_ASSERTED_LSB = 8;  // bit k: output k is asserted; output 0 is the core's own reset
  localparam logic [31:0] TP_PLUGIN_RESET_STATUS_ASSERTED_MASK = 32'hff00;
  localparam TP_PLUGIN_RESET_OUTPUTS_OFFSET = 'h08;  // number of outputs
  localparam TP_PLUGIN_RESET_LENGTH_OFFSET = 'h0c;  // clocks for which all outputs are asserted at the sequence's start; 0 is 1
  localparam TP_PLUGIN_RESET_SEQUENCES_OFFSET = 'h10;  // sequences begun since the card's reset, by whatever, modulo 2^32
  localparam TP_PLUGIN_RESET_FAULTS_OFFSET = 'h14;  // faults of the core outside a sequence since the card's reset, modulo 2^32
  localparam TP_PLUGIN_RESET_ON_FAULT_OFFSET = 'h18;  // what a fault of the core does beside being counted
  localparam TP_PLUGIN_RESET_ON_FAULT_START_LSB = 0;  // the sequence runs from its start
  localparam logic [31:0] TP_PLUGIN_RESET_ON_FAULT_START_MASK = 32'h1;
  localparam TP_PLUGIN_RESET_ON_FAULT_HOLD_LSB = 1;  // all outputs are asserted until `release`
  localparam logic [31:0] TP_PLUGIN_RESET_ON_FAULT_HOLD_MASK = 32'h2;
  localparam TP_PLUGIN_RESET_DELAY_OFFSET = 'h20;  // clocks from the end of `length` to the release of output k; outputs that are not there read 0
  localparam TP_PLUGIN_RESET_DELAY_COUNT = 8;
  localparam TP_PLUGIN_RESET_DELAY_STRIDE = 4;

  // Plug-in `clock`, version 1.
  localparam TP_PLUGIN_CLOCK_SELECT_OFFSET = 'h00;  // a write holds the core in reset and switches its clock to that input; read: the input last selected
  localparam TP_PLUGIN_CLOCK_COMMAND_OFFSET = 'h04;  // commands, by writing 1
  localparam TP_PLUGIN_CLOCK_COMMAND_RELEASE_LSB = 0;  // the core is no longer held in reset
  localparam logic [31:0] TP_PLUGIN_CLOCK_COMMAND_RELEASE_MASK = 32'h1;
  localparam TP_PLUGIN_CLOCK_STATUS_OFFSET = 'h08;  // status
  localparam TP_PLUGIN_CLOCK_STATUS_BUSY_LSB = 0;  // the switch is under way, or the core has not had enough clocks to leave reset
  localparam logic [31:0] TP_PLUGIN_CLOCK_STATUS_BUSY_MASK = 32'h1;
  localparam TP_PLUGIN_CLOCK_STATUS_HELD_LSB = 1;  // the core is held in reset until `release`
  localparam logic [31:0] TP_PLUGIN_CLOCK_STATUS_HELD_MASK = 32'h2;
  localparam TP_PLUGIN_CLOCK_STATUS_ASTRAY_LSB = 2;  // the input last selected does not run, or stopped: the core is in reset until another is selected
  localparam logic [31:0] TP_PLUGIN_CLOCK_STATUS_ASTRAY_MASK = 32'h4;
  localparam TP_PLUGIN_CLOCK_STATUS_MEASURED_LSB = 3;  // `runs` and `khz` have been measured
  localparam logic [31:0] TP_PLUGIN_CLOCK_STATUS_MEASURED_MASK = 32'h8;
  localparam TP_PLUGIN_CLOCK_STATUS_CURRENT_LSB = 8;  // the input that is the core's clock
  localparam logic [31:0] TP_PLUGIN_CLOCK_STATUS_CURRENT_MASK = 32'h300;
  localparam TP_PLUGIN_CLOCK_STATUS_RUNS_LSB = 16;  // bit k: input k runs
  localparam logic [31:0] TP_PLUGIN_CLOCK_STATUS_RUNS_MASK = 32'h70000;
  localparam TP_PLUGIN_CLOCK_INPUTS_OFFSET = 'h0c;  // number of inputs
  localparam TP_PLUGIN_CLOCK_KHZ_OFFSET = 'h20;  // frequency of input k in kilohertz, as last measured, in steps of 16
  localparam TP_PLUGIN_CLOCK_KHZ_COUNT = 3;
  localparam TP_PLUGIN_CLOCK_KHZ_STRIDE = 4;

  // Plug-in `tlplog`, version 1. The ring stands in the upper half of its registers: entry n at 32 * (`depth` + n modulo `depth`).
  localparam TP_PLUGIN_TLPLOG_COMMAND_OFFSET = 'h00;  // commands, each by writing 1
  localparam TP_PLUGIN_TLPLOG_COMMAND_START_LSB = 0;  // packets are logged from now on
  localparam logic [31:0] TP_PLUGIN_TLPLOG_COMMAND_START_MASK = 32'h1;
  localparam TP_PLUGIN_TLPLOG_COMMAND_STOP_LSB = 1;  // and from now on not any more
  localparam logic [31:0] TP_PLUGIN_TLPLOG_COMMAND_STOP_MASK = 32'h2;
  localparam TP_PLUGIN_TLPLOG_COMMAND_CLEAR_LSB = 2;  // the log is empty, and both counts are 0
  localparam logic [31:0] TP_PLUGIN_TLPLOG_COMMAND_CLEAR_MASK = 32'h4;
  localparam TP_PLUGIN_TLPLOG_STATUS_OFFSET = 'h04;  // status
  localparam TP_PLUGIN_TLPLOG_STATUS_RUNNING_LSB = 0;  // packets are logged
  localparam logic [31:0] TP_PLUGIN_TLPLOG_STATUS_RUNNING_MASK = 32'h1;
  localparam TP_PLUGIN_TLPLOG_DEPTH_OFFSET = 'h08;  // entries in the ring, a power of two
  localparam TP_PLUGIN_TLPLOG_FILTER_OFFSET = 'h0c;  // which packets are logged
  localparam logic [31:0] TP_PLUGIN_TLPLOG_FILTER_RESET = 32'h3f77;
  localparam TP_PLUGIN_TLPLOG_FILTER_STREAMS_LSB = 0;  // bit k: those of stream k
  localparam logic [31:0] TP_PLUGIN_TLPLOG_FILTER_STREAMS_MASK = 32'h7f;
  localparam TP_PLUGIN_TLPLOG_FILTER_BARS_LSB = 8;  // bit k: of the writes to BARs and reads of them, and of the answers, those of BAR k
  localparam logic [31:0] TP_PLUGIN_TLPLOG_FILTER_BARS_MASK = 32'h3f00;
  localparam TP_PLUGIN_TLPLOG_LOGGED_OFFSET = 'h10;  // packets since `clear` that are in the ring, or were
  localparam TP_PLUGIN_TLPLOG_DROPPED_OFFSET = 'h18;  // packets since `clear` for which there was no room in the queue before the ring, modulo 2^32
  localparam TP_PLUGIN_TLPLOG_FIRST_OFFSET = 'h20;  // of the card's own writes and reads, those that begin at this address or above it ...
  localparam TP_PLUGIN_TLPLOG_LAST_OFFSET = 'h28;  // ... and not above this one
  localparam logic [63:0] TP_PLUGIN_TLPLOG_LAST_RESET = 64'hffffffffffffffff;

  // A packet in the log of plug-in `tlplog`. What a packet of its stream does not have is 0.
  localparam TP_PLUGIN_TLPLOG_ENTRY_BYTES = 32;
  localparam TP_PLUGIN_TLPLOG_ENTRY_ADDRESS_OFFSET = 'h00;  // of the first dword: in memory, or of an access to a BAR in the BAR; of an answer its lower address
  localparam TP_PLUGIN_TLPLOG_ENTRY_HEADER_OFFSET = 'h08;  // header
  localparam TP_PLUGIN_TLPLOG_ENTRY_HEADER_DWORDS_LSB = 0;  // of payload, of a read those that it wants; 0 in an answer that is an error
  localparam logic [31:0] TP_PLUGIN_TLPLOG_ENTRY_HEADER_DWORDS_MASK = 32'h7ff;
  localparam TP_PLUGIN_TLPLOG_ENTRY_HEADER_FIRST_BE_LSB = 11;  // byte enables of the first dword
  localparam logic [31:0] TP_PLUGIN_TLPLOG_ENTRY_HEADER_FIRST_BE_MASK = 32'h7800;
  localparam TP_PLUGIN_TLPLOG_ENTRY_HEADER_LAST_BE_LSB = 15;  // byte enables of the last dword, 0 if there is one dword
  localparam logic [31:0] TP_PLUGIN_TLPLOG_ENTRY_HEADER_LAST_BE_MASK = 32'h78000;
  localparam TP_PLUGIN_TLPLOG_ENTRY_HEADER_STREAM_LSB = 19;  // which way it went, and what it is
  localparam logic [31:0] TP_PLUGIN_TLPLOG_ENTRY_HEADER_STREAM_MASK = 32'h380000;
  localparam TP_PLUGIN_TLPLOG_ENTRY_HEADER_BAR_LSB = 22;  // of an access to a BAR: which one
  localparam logic [31:0] TP_PLUGIN_TLPLOG_ENTRY_HEADER_BAR_MASK = 32'h1c00000;
  localparam TP_PLUGIN_TLPLOG_ENTRY_HEADER_STATUS_LSB = 25;  // of an answer: completion status
  localparam logic [31:0] TP_PLUGIN_TLPLOG_ENTRY_HEADER_STATUS_MASK = 32'he000000;
  localparam TP_PLUGIN_TLPLOG_ENTRY_HEADER_POISONED_LSB = 28;  // of an answer to the card: its payload is marked as corrupt
  localparam logic [31:0] TP_PLUGIN_TLPLOG_ENTRY_HEADER_POISONED_MASK = 32'h10000000;
  localparam TP_PLUGIN_TLPLOG_ENTRY_HEADER_ATTR_LSB = 29;  // attributes; of the card's own requests relaxed ordering alone
  localparam logic [31:0] TP_PLUGIN_TLPLOG_ENTRY_HEADER_ATTR_MASK = 32'he0000000;
  localparam TP_PLUGIN_TLPLOG_ENTRY_IDS_OFFSET = 'h0c;  // identification
  localparam TP_PLUGIN_TLPLOG_ENTRY_IDS_TAG_LSB = 0;  // tag, of all but writes
  localparam logic [31:0] TP_PLUGIN_TLPLOG_ENTRY_IDS_TAG_MASK = 32'h3ff;
  localparam TP_PLUGIN_TLPLOG_ENTRY_IDS_BYTE_COUNT_LSB = 10;  // of an answer: bytes still to come, with this packet's
  localparam logic [31:0] TP_PLUGIN_TLPLOG_ENTRY_IDS_BYTE_COUNT_MASK = 32'h7ffc00;
  localparam TP_PLUGIN_TLPLOG_ENTRY_IDS_TC_LSB = 23;  // traffic class; 0 of writes to BARs and of answers to the card, of which it is not known
  localparam logic [31:0] TP_PLUGIN_TLPLOG_ENTRY_IDS_TC_MASK = 32'h3800000;
  localparam TP_PLUGIN_TLPLOG_ENTRY_IDS_LOST_LSB = 26;  // packets of this stream before this one were dropped
  localparam logic [31:0] TP_PLUGIN_TLPLOG_ENTRY_IDS_LOST_MASK = 32'h4000000;
  localparam TP_PLUGIN_TLPLOG_ENTRY_DATA_OFFSET = 'h10;  // first dword of payload, as it was sent: byte 0 lowest
  localparam TP_PLUGIN_TLPLOG_ENTRY_REQUESTER_OFFSET = 'h14;  // who asked, of accesses to BARs and their answers: bus, device, function
  localparam TP_PLUGIN_TLPLOG_ENTRY_TIME_HIGH_OFFSET = 'h16;  // bits 47:32 of the time
  localparam TP_PLUGIN_TLPLOG_ENTRY_TIME_LOW_OFFSET = 'h18;  // time when the packet began, in clocks of Towpath's since it was configured
  localparam TP_PLUGIN_TLPLOG_ENTRY_NUMBER_OFFSET = 'h1c;  // of the packet, counted from 0 at `clear`, modulo 2^32: tells an entry from the one that was there before

  // Plug-in `partial`, version 1. A region is decoupled and in reset from `begin` until `release` after a load that ended well.
  localparam TP_PLUGIN_PARTIAL_COMMAND_OFFSET = 'h00;  // commands, each by writing 1
  localparam TP_PLUGIN_PARTIAL_COMMAND_BEGIN_LSB = 0;  // a load begins, also in the middle of another one; refused while a channel is within a message
  localparam logic [31:0] TP_PLUGIN_PARTIAL_COMMAND_BEGIN_MASK = 32'h1;
  localparam TP_PLUGIN_PARTIAL_COMMAND_CUT_LSB = 1;  // with `begin`: it is not refused, and such messages are cut
  localparam logic [31:0] TP_PLUGIN_PARTIAL_COMMAND_CUT_MASK = 32'h2;
  localparam TP_PLUGIN_PARTIAL_COMMAND_END_LSB = 2;  // the file is all in `data`: the load ends when the configuration port has said what became of it
  localparam logic [31:0] TP_PLUGIN_PARTIAL_COMMAND_END_MASK = 32'h4;
  localparam TP_PLUGIN_PARTIAL_COMMAND_ABORT_LSB = 3;  // the load ends, as failed
  localparam logic [31:0] TP_PLUGIN_PARTIAL_COMMAND_ABORT_MASK = 32'h8;
  localparam TP_PLUGIN_PARTIAL_COMMAND_RELEASE_LSB = 4;  // the core runs, if the region holds a whole one and no load is under way
  localparam logic [31:0] TP_PLUGIN_PARTIAL_COMMAND_RELEASE_MASK = 32'h10;
  localparam TP_PLUGIN_PARTIAL_STATUS_OFFSET = 'h04;  // status
  localparam logic [31:0] TP_PLUGIN_PARTIAL_STATUS_RESET = 32'h4;
  localparam TP_PLUGIN_PARTIAL_STATUS_LOADING_LSB = 0;  // a load is under way
  localparam logic [31:0] TP_PLUGIN_PARTIAL_STATUS_LOADING_MASK = 32'h1;
  localparam TP_PLUGIN_PARTIAL_STATUS_DECOUPLED_LSB = 1;  // the region is decoupled, and the core in reset
  localparam logic [31:0] TP_PLUGIN_PARTIAL_STATUS_DECOUPLED_MASK = 32'h2;
  localparam TP_PLUGIN_PARTIAL_STATUS_WHOLE_LSB = 2;  // the region holds a whole core: as configured, or by a load that ended well
  localparam logic [31:0] TP_PLUGIN_PARTIAL_STATUS_WHOLE_MASK = 32'h4;
  localparam TP_PLUGIN_PARTIAL_STATUS_MIDWAY_LSB = 3;  // a channel is within a message
  localparam logic [31:0] TP_PLUGIN_PARTIAL_STATUS_MIDWAY_MASK = 32'h8;
  localparam TP_PLUGIN_PARTIAL_STATUS_OUTCOME_LSB = 8;  // what became of the last `begin`
  localparam logic [31:0] TP_PLUGIN_PARTIAL_STATUS_OUTCOME_MASK = 32'h700;
  localparam TP_PLUGIN_PARTIAL_ROOM_OFFSET = 'h08;  // dwords for which there is room in `data` now
  localparam TP_PLUGIN_PARTIAL_DATA_OFFSET = 'h0c;  // the next dword of the file, its first byte highest; outside a load it is dropped
  localparam TP_PLUGIN_PARTIAL_WORDS_OFFSET = 'h10;  // dwords that the configuration port has taken since `begin`, modulo 2^32
  localparam TP_PLUGIN_PARTIAL_LOADS_OFFSET = 'h14;  // loads that ended well since the card was configured, modulo 2^32
  localparam TP_PLUGIN_PARTIAL_CORE_NAME_OFFSET = 'h20;  // of the core in the region, UTF-8, zero padded, as the host wrote it; all 0 since the card was configured: the one of the discovery header
  localparam TP_PLUGIN_PARTIAL_CORE_NAME_COUNT = 32;
  localparam TP_PLUGIN_PARTIAL_CORE_NAME_STRIDE = 1;

  // Begin of a file for a simulated card, which has no bit file. `words` dwords of whatever follow, and their CRC-32 (that of Ethernet) with all that stands before. Numbers have their first byte highest.
  localparam TP_PLUGIN_PARTIAL_IMAGE_MAGIC_OFFSET = 'h00;  // by which such a file is known
  localparam logic [31:0] TP_PLUGIN_PARTIAL_IMAGE_MAGIC_VALUE = 32'h54505254;
  localparam TP_PLUGIN_PARTIAL_IMAGE_WORDS_OFFSET = 'h04;  // dwords between this header and the CRC
  localparam TP_PLUGIN_PARTIAL_IMAGE_CORE_NAME_OFFSET = 'h08;  // of the core to load: one of those that the card's manifest lists
  localparam TP_PLUGIN_PARTIAL_IMAGE_CORE_NAME_COUNT = 32;
  localparam TP_PLUGIN_PARTIAL_IMAGE_CORE_NAME_STRIDE = 1;

  typedef struct packed {
    logic [10:0] reserved;
    logic end_;
    logic [3:0] kind;
  } tp_descriptor_control_t;

  // What a host posts: a piece of work, or a prefix of one. The meaning of address and length is the kind's.
  typedef struct packed {
    tp_descriptor_control_t control;
    logic [15:0] cookie;
    logic [31:0] length;
    logic [63:0] address;
  } tp_descriptor_t;

  typedef struct packed {
    logic [29:0] reserved;
    logic chain;
    logic last;
  } tp_list_entry_control_t;

  // One piece of a list, in a table in host memory, 16-byte aligned.
  typedef struct packed {
    tp_list_entry_control_t control;
    logic [31:0] length;
    logic [63:0] address;
  } tp_list_entry_t;

  typedef struct packed {
    logic [5:0] reserved;
    logic start;
    logic phase;
  } tp_completion_flags_t;

  // What the card writes into a channel's ring, whole and after the data it tells of.
  typedef struct packed {
    tp_completion_flags_t flags;
    logic [7:0] status;
    logic [15:0] cookie;
    logic [31:0] user;
    logic [31:0] offset;
    logic [31:0] bytes;
  } tp_completion_t;

  typedef struct packed {
    logic [2:0] attr;
    logic poisoned;
    logic [2:0] status;
    logic [2:0] bar;
    logic [2:0] stream;
    logic [3:0] last_be;
    logic [3:0] first_be;
    logic [10:0] dwords;
  } tp_plugin_tlplog_entry_header_t;

  typedef struct packed {
    logic [4:0] reserved;
    logic lost;
    logic [2:0] tc;
    logic [12:0] byte_count;
    logic [9:0] tag;
  } tp_plugin_tlplog_entry_ids_t;

  // A packet in the log of plug-in `tlplog`. What a packet of its stream does not have is 0.
  typedef struct packed {
    logic [31:0] number;
    logic [31:0] time_low;
    logic [15:0] time_high;
    logic [15:0] requester;
    logic [31:0] data;
    tp_plugin_tlplog_entry_ids_t ids;
    tp_plugin_tlplog_entry_header_t header;
    logic [63:0] address;
  } tp_plugin_tlplog_entry_t;
  // verilator lint_on UNUSEDPARAM

endpackage
