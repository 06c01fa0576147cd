// SPDX-License-Identifier: Apache-2.0
// Generated from contract/towpath.rdl by `python3 contract/generate.py`: do not edit.
//
// What both ends of the link agree on: offsets, fields, values and structures. What happens is in contract/protocol.md. For `include!`
// or as a module. Names are those of the C header without `TP_`. Masks are in place.

/// version of this contract: another one is refused
pub const VERSION_MAJOR: u16 = 2;
/// version of this contract: only adds
pub const VERSION_MINOR: u16 = 2;
/// the BAR of pages
pub const BAR_DEVICE: u8 = 0;
/// the BAR of the user core's registers
pub const BAR_WINDOW: u8 = 2;
/// the BAR of the windows onto the user core's memories
pub const BAR_MEMORY: u8 = 4;
/// PCI identification, vendor: 0x1234, which stands for none
pub const PCI_VENDOR: u16 = 0x1234;
/// PCI identification, device
pub const PCI_DEVICE: u16 = 0x7470;
/// PCI identification, subsystem's vendor
pub const PCI_SUBSYSTEM_VENDOR: u16 = 0x1234;
/// PCI identification, subsystem
pub const PCI_SUBSYSTEM: u16 = 0x0001;
/// PCI identification, class: a processing accelerator
pub const PCI_CLASS: u32 = 0x120000;
/// page of block DISCOVERY
pub const PAGE_DISCOVERY: u64 = 0;
/// page of block CARD
pub const PAGE_CARD: u64 = 1;
/// page of block MSIX
pub const PAGE_MSIX: u64 = 2;
/// first page of channel 0
pub const PAGE_CHANNELS: u64 = 4;
/// from one channel's pages to the next's
pub const PAGES_PER_CHANNEL: u64 = 4;
/// page among a channel's pages
pub const PAGE_CHANNEL_PRIVILEGED: u64 = 0;
/// page among a channel's pages
pub const PAGE_CHANNEL_DOORBELL: u64 = 1;
/// page among a channel's pages
pub const PAGE_CHANNEL_INLINE: u64 = 2;
/// page among a channel's pages
pub const PAGE_CHANNEL_BATCH: u64 = 3;
/// smallest page
pub const PAGE_BYTES_MIN: usize = 4096;
/// channels, both directions together
pub const CHANNELS_MAX: usize = 60;
/// of a name, zeroes included
pub const NAME_BYTES: usize = 32;
/// plug-ins
pub const PLUGINS_MAX: usize = 8;
/// user interrupts that have registers
pub const USER_INTERRUPTS: usize = 16;
/// vectors for which the table has room
pub const MSIX_VECTORS_MAX: usize = 128;
/// of an inline slot, the longest inline message
pub const INLINE_SLOT_BYTES: usize = 64;
/// inline slots in the smallest page
pub const INLINE_SLOTS_MAX: usize = 64;
/// slots for descriptors in the smallest batch page
pub const BATCH_SLOTS_MAX: usize = 256;

// Page 0, read-only: what the card is. A host reads `magic`, then the version, then the rest.
/// Offset: the bytes "TOWPATH\0"
pub const DISCOVERY_MAGIC_OFFSET: u64 = 0x00;
/// Value: the bytes "TOWPATH\0"
pub const DISCOVERY_MAGIC_VALUE: u64 = 0x48544150574f54;
/// Offset: of the contract; a host refuses another than its own
pub const DISCOVERY_VERSION_MAJOR_OFFSET: u64 = 0x08;
/// Value: of the contract; a host refuses another than its own
pub const DISCOVERY_VERSION_MAJOR_VALUE: u16 = 0x2;
/// Offset: of the contract; a minor version only adds
pub const DISCOVERY_VERSION_MINOR_OFFSET: u64 = 0x0a;
/// Value: of the contract; a minor version only adds
pub const DISCOVERY_VERSION_MINOR_VALUE: u16 = 0x2;
/// Offset: of this header
pub const DISCOVERY_HEADER_BYTES_OFFSET: u64 = 0x0c;
/// Value: of this header
pub const DISCOVERY_HEADER_BYTES_VALUE: u16 = 0x100;
/// Offset: a page of BAR 0 has 1 << page_shift bytes
pub const DISCOVERY_PAGE_SHIFT_OFFSET: u64 = 0x0e;
/// Offset: width of the core's data path
pub const DISCOVERY_DATA_BYTES_OFFSET: u64 = 0x0f;
/// Offset: number of channels, and of entries
pub const DISCOVERY_CHANNELS_OFFSET: u64 = 0x10;
/// Offset: of the first channel entry in this page
pub const DISCOVERY_ENTRY_OFFSET_OFFSET: u64 = 0x12;
/// Value: of the first channel entry in this page
pub const DISCOVERY_ENTRY_OFFSET_VALUE: u16 = 0x100;
/// Offset: from one channel entry to the next
pub const DISCOVERY_ENTRY_BYTES_OFFSET: u64 = 0x14;
/// Value: from one channel entry to the next
pub const DISCOVERY_ENTRY_BYTES_VALUE: u16 = 0x40;
/// Offset: MSI-X vectors
pub const DISCOVERY_VECTORS_OFFSET: u64 = 0x16;
/// Offset: interrupts of the user core
pub const DISCOVERY_USER_INTERRUPTS_OFFSET: u64 = 0x18;
/// Offset: read requests that the card can have in flight
pub const DISCOVERY_TAGS_OFFSET: u64 = 0x1a;
/// Offset: of the register window in BAR 2; 0: none
pub const DISCOVERY_WINDOW_BYTES_OFFSET: u64 = 0x1c;
/// Offset: of the card
pub const DISCOVERY_SERIAL_OFFSET: u64 = 0x20;
/// Offset: Towpath's clock
pub const DISCOVERY_CORE_CLOCK_KHZ_OFFSET: u64 = 0x28;
/// Offset: the user core's clock
pub const DISCOVERY_USER_CLOCK_KHZ_OFFSET: u64 = 0x2c;
/// Offset: of the user core: a number of its own
pub const DISCOVERY_CORE_VERSION_OFFSET: u64 = 0x30;
/// Offset: of the user core, UTF-8, zero padded
pub const DISCOVERY_CORE_NAME_OFFSET: u64 = 0x40;
/// How often `core_name` stands there.
pub const DISCOVERY_CORE_NAME_COUNT: usize = 32;
/// Bytes from one `core_name` to the next.
pub const DISCOVERY_CORE_NAME_STRIDE: u64 = 1;
/// Offset: of BAR 4, the windows onto the user core's memories; 0: none
pub const DISCOVERY_MEMORY_WINDOW_BYTES_OFFSET: u64 = 0x60;
/// Offset: number of plug-ins, and of entries
pub const DISCOVERY_PLUGINS_OFFSET: u64 = 0x70;
/// Offset: what the card was built with
pub const DISCOVERY_FEATURES_OFFSET: u64 = 0x72;
/// Lowest bit: channels have weights, rates and traffic classes
pub const DISCOVERY_FEATURES_QOS_LSB: u32 = 0;
/// Bits: channels have weights, rates and traffic classes
pub const DISCOVERY_FEATURES_QOS_MASK: u16 = 0x1;
/// Lowest bit: channels fire at a fill level
pub const DISCOVERY_FEATURES_FILL_LSB: u32 = 1;
/// Bits: channels fire at a fill level
pub const DISCOVERY_FEATURES_FILL_MASK: u16 = 0x2;
/// Offset: What a plug-in is. Entry n describes plug-in n.
pub const DISCOVERY_PLUGIN_ENTRY_OFFSET: u64 = 0x80;
/// How often `plugin_entry` stands there.
pub const DISCOVERY_PLUGIN_ENTRY_COUNT: usize = 8;
/// Bytes from one `plugin_entry` to the next.
pub const DISCOVERY_PLUGIN_ENTRY_STRIDE: u64 = 16;
/// Offset: What a channel is. Entry n describes channel n.
pub const DISCOVERY_CHANNEL_ENTRY_OFFSET: u64 = 0x100;
/// How often `channel_entry` stands there.
pub const DISCOVERY_CHANNEL_ENTRY_COUNT: usize = 60;
/// Bytes from one `channel_entry` to the next.
pub const DISCOVERY_CHANNEL_ENTRY_STRIDE: u64 = 64;

// What a plug-in is. Entry n describes plug-in n.

/// Bytes: What a plug-in is. Entry n describes plug-in n.
pub const PLUGIN_ENTRY_BYTES: usize = 16;
/// Offset: ASCII, zero padded
pub const PLUGIN_ENTRY_TYPE_NAME_OFFSET: u64 = 0x00;
/// How often `type_name` stands there.
pub const PLUGIN_ENTRY_TYPE_NAME_COUNT: usize = 8;
/// Bytes from one `type_name` to the next.
pub const PLUGIN_ENTRY_TYPE_NAME_STRIDE: u64 = 1;
/// Offset: of the type; a host that knows another one leaves the plug-in alone
pub const PLUGIN_ENTRY_VERSION_OFFSET: u64 = 0x08;
/// Offset: of its registers, 4096 bytes each
pub const PLUGIN_ENTRY_PAGES_OFFSET: u64 = 0x0a;
/// Offset: of its registers in the register window
pub const PLUGIN_ENTRY_OFFSET_OFFSET: u64 = 0x0c;

// What a channel is. Entry n describes channel n.

/// Bytes: What a channel is. Entry n describes channel n.
pub const CHANNEL_ENTRY_BYTES: usize = 64;
/// Offset: which way data goes
pub const CHANNEL_ENTRY_DIRECTION_OFFSET: u64 = 0x00;
/// Offset: what carries data at the card's end
pub const CHANNEL_ENTRY_KIND_OFFSET: u64 = 0x01;
/// Offset: of the kind; a host that knows another one leaves the channel alone
pub const CHANNEL_ENTRY_KIND_VERSION_OFFSET: u64 = 0x02;
/// Offset: descriptors that may be posted and not yet completed
pub const CHANNEL_ENTRY_QUEUE_DEPTH_OFFSET: u64 = 0x04;
/// Offset: slots in the inline page; 0: no inline descriptors
pub const CHANNEL_ENTRY_INLINE_SLOTS_OFFSET: u64 = 0x06;
/// Offset: index of the channel's privileged page; doorbell, inline and batch page follow it
pub const CHANNEL_ENTRY_FIRST_PAGE_OFFSET: u64 = 0x08;
/// Offset: the card's own buffer: of an H2C channel, which shares it with the others of its kind, or of this C2H channel
pub const CHANNEL_ENTRY_BUFFER_BYTES_OFFSET: u64 = 0x0c;
/// Offset: slots for descriptors in the batch page; 0: it takes no batches
pub const CHANNEL_ENTRY_BATCH_SLOTS_OFFSET: u64 = 0x10;
/// Offset: of a memory's window, or of an H2C stream's inbox: 1 + its offset in BAR 4, in MiB; 0: none
pub const CHANNEL_ENTRY_WINDOW_OFFSET: u64 = 0x12;
/// Offset: the kind's own; of a memory its size in pages of 4096 bytes; of a stream 0, or what it has for a peer: of H2C the bytes that its inbox holds, of C2H 1
pub const CHANNEL_ENTRY_KIND_PARAMETER_OFFSET: u64 = 0x14;
/// Offset: ASCII, zero padded
pub const CHANNEL_ENTRY_KIND_NAME_OFFSET: u64 = 0x18;
/// How often `kind_name` stands there.
pub const CHANNEL_ENTRY_KIND_NAME_COUNT: usize = 8;
/// Bytes from one `kind_name` to the next.
pub const CHANNEL_ENTRY_KIND_NAME_STRIDE: u64 = 1;
/// Offset: UTF-8, zero padded
pub const CHANNEL_ENTRY_NAME_OFFSET: u64 = 0x20;
/// How often `name` stands there.
pub const CHANNEL_ENTRY_NAME_COUNT: usize = 32;
/// Bytes from one `name` to the next.
pub const CHANNEL_ENTRY_NAME_STRIDE: u64 = 1;

// Page 1: what concerns all channels and the user core. The driver's.
/// Offset: control
pub const CARD_CONTROL_OFFSET: u64 = 0x00;
/// Lowest bit: write 1: resets all channels and the user core; reads 1 until that is done
pub const CARD_CONTROL_RESET_LSB: u32 = 0;
/// Bits: write 1: resets all channels and the user core; reads 1 until that is done
pub const CARD_CONTROL_RESET_MASK: u32 = 0x1;
/// Offset: reserved
pub const CARD_STATUS_OFFSET: u64 = 0x04;
/// Offset: core clocks that an access of the register window may take, and a read or the write ahead of a memory window
pub const CARD_WINDOW_TIMEOUT_OFFSET: u64 = 0x08;
/// After a reset: core clocks that an access of the register window may take, and a read or the write ahead of a memory window
pub const CARD_WINDOW_TIMEOUT_RESET: u32 = 0x3d090;
/// Offset: what went wrong in the windows since it was last cleared
pub const CARD_WINDOW_STATUS_OFFSET: u64 = 0x0c;
/// Lowest bit: the user core did not answer in time
pub const CARD_WINDOW_STATUS_TIMEOUT_LSB: u32 = 0;
/// Bits: the user core did not answer in time
pub const CARD_WINDOW_STATUS_TIMEOUT_MASK: u32 = 0x1;
/// Lowest bit: the user core answered SLVERR or DECERR
pub const CARD_WINDOW_STATUS_ERROR_LSB: u32 = 1;
/// Bits: the user core answered SLVERR or DECERR
pub const CARD_WINDOW_STATUS_ERROR_MASK: u32 = 0x2;
/// Lowest bit: a memory did not answer in time: the windows are off, and this stays 1, until the card is reset
pub const CARD_WINDOW_STATUS_MEMORY_TIMEOUT_LSB: u32 = 2;
/// Bits: a memory did not answer in time: the windows are off, and this stays 1, until the card is reset
pub const CARD_WINDOW_STATUS_MEMORY_TIMEOUT_MASK: u32 = 0x4;
/// Lowest bit: a memory answered SLVERR or DECERR, or there is none at the address
pub const CARD_WINDOW_STATUS_MEMORY_ERROR_LSB: u32 = 3;
/// Bits: a memory answered SLVERR or DECERR, or there is none at the address
pub const CARD_WINDOW_STATUS_MEMORY_ERROR_MASK: u32 = 0x8;
/// Offset: writes to doorbells or registers that were dropped: no room, or not within 8 aligned bytes
pub const CARD_INBOUND_OVERRUNS_OFFSET: u64 = 0x10;
/// Offset: writes to the register window that were dropped: no room, or not within 8 aligned bytes
pub const CARD_WINDOW_OVERRUNS_OFFSET: u64 = 0x14;
/// Offset: accesses of the register window that were not answered in time
pub const CARD_WINDOW_TIMEOUTS_OFFSET: u64 = 0x18;
/// Offset: writes to the memory windows that were dropped: no room, or the windows are off
pub const CARD_MEMORY_WINDOW_OVERRUNS_OFFSET: u64 = 0x1c;
/// Offset: how long a timed-out tag stays out of use when its late answer never comes, in completion timeouts; 0: until the link goes down
pub const CARD_QUARANTINE_OFFSET: u64 = 0x20;
/// After a reset: how long a timed-out tag stays out of use when its late answer never comes, in completion timeouts; 0: until the link goes down
pub const CARD_QUARANTINE_RESET: u32 = 0x10;
/// Offset: tags in quarantine now
pub const CARD_QUARANTINED_OFFSET: u64 = 0x24;
/// Offset: writes to the memory windows that a memory refused, or that no memory is behind
pub const CARD_MEMORY_WINDOW_ERRORS_OFFSET: u64 = 0x28;
/// Offset: bit k: user interrupt k fires `user_irq_vector[k]`
pub const CARD_USER_IRQ_ENABLE_OFFSET: u64 = 0x40;
/// Offset: reads which the host refused
pub const CARD_UNSUPPORTED_REQUESTS_OFFSET: u64 = 0x48;
/// Offset: reads which the host could not answer
pub const CARD_COMPLETER_ABORTS_OFFSET: u64 = 0x4c;
/// Offset: reads with data marked as corrupt
pub const CARD_POISONED_OFFSET: u64 = 0x50;
/// Offset: reads which were not answered in time
pub const CARD_TIMEOUTS_OFFSET: u64 = 0x54;
/// Offset: reads answered with a wrong length or byte count
pub const CARD_BAD_COMPLETIONS_OFFSET: u64 = 0x58;
/// Offset: answers that came after their read was given up
pub const CARD_LATE_COMPLETIONS_OFFSET: u64 = 0x5c;
/// Offset: times that bus mastering was switched off
pub const CARD_BUS_MASTERING_LOSSES_OFFSET: u64 = 0x60;
/// Offset: times that the link went down
pub const CARD_LINK_DOWNS_OFFSET: u64 = 0x64;
/// Offset: function-level resets
pub const CARD_FUNCTION_RESETS_OFFSET: u64 = 0x68;
/// Offset: answers to reads which the card had not asked
pub const CARD_UNEXPECTED_COMPLETIONS_OFFSET: u64 = 0x6c;
/// Offset: MSI-X vector of user interrupt k
pub const CARD_USER_IRQ_VECTOR_OFFSET: u64 = 0x80;
/// How often `user_irq_vector` stands there.
pub const CARD_USER_IRQ_VECTOR_COUNT: usize = 16;
/// Bytes from one `user_irq_vector` to the next.
pub const CARD_USER_IRQ_VECTOR_STRIDE: u64 = 4;
/// Offset: events of user interrupt k, modulo 2^32
pub const CARD_USER_IRQ_COUNT_OFFSET: u64 = 0xc0;
/// How often `user_irq_count` stands there.
pub const CARD_USER_IRQ_COUNT_COUNT: usize = 16;
/// Bytes from one `user_irq_count` to the next.
pub const CARD_USER_IRQ_COUNT_STRIDE: u64 = 4;

// Page 2: MSI-X. The kernel's.
/// Offset: One vector of the MSI-X table.
pub const MSIX_VECTOR_OFFSET: u64 = 0x00;
/// How often `vector` stands there.
pub const MSIX_VECTOR_COUNT: usize = 128;
/// Bytes from one `vector` to the next.
pub const MSIX_VECTOR_STRIDE: u64 = 16;
/// Offset: bit v modulo 64 of word v / 64: vector v is pending
pub const MSIX_PENDING_OFFSET: u64 = 0x800;
/// How often `pending` stands there.
pub const MSIX_PENDING_COUNT: usize = 32;
/// Bytes from one `pending` to the next.
pub const MSIX_PENDING_STRIDE: u64 = 8;

// One vector of the MSI-X table.

/// Bytes: One vector of the MSI-X table.
pub const MSIX_VECTOR_BYTES: usize = 16;
/// Offset: to which the message is written
pub const MSIX_VECTOR_ADDRESS_OFFSET: u64 = 0x00;
/// Offset: of the message
pub const MSIX_VECTOR_DATA_OFFSET: u64 = 0x08;
/// Offset: control
pub const MSIX_VECTOR_CONTROL_OFFSET: u64 = 0x0c;
/// After a reset: control
pub const MSIX_VECTOR_CONTROL_RESET: u32 = 0x1;
/// Lowest bit: holds the vector back and pending
pub const MSIX_VECTOR_CONTROL_MASK_LSB: u32 = 0;
/// Bits: holds the vector back and pending
pub const MSIX_VECTOR_CONTROL_MASK_MASK: u32 = 0x1;

// A channel's privileged page. The driver's.
/// Offset: control
pub const CHANNEL_CONTROL_OFFSET: u64 = 0x00;
/// Lowest bit: the channel runs; without it descriptors are dropped
pub const CHANNEL_CONTROL_ENABLE_LSB: u32 = 0;
/// Bits: the channel runs; without it descriptors are dropped
pub const CHANNEL_CONTROL_ENABLE_MASK: u32 = 0x1;
/// Lowest bit: C2H: write message starts
pub const CHANNEL_CONTROL_ANNOUNCE_LSB: u32 = 1;
/// Bits: C2H: write message starts
pub const CHANNEL_CONTROL_ANNOUNCE_MASK: u32 = 0x2;
/// Offset: reset
pub const CHANNEL_RESET_OFFSET: u64 = 0x04;
/// Lowest bit: write 1: resets the channel; reads 1 until that is done
pub const CHANNEL_RESET_RESET_LSB: u32 = 0;
/// Bits: write 1: resets the channel; reads 1 until that is done
pub const CHANNEL_RESET_RESET_MASK: u32 = 0x1;
/// Offset: bus address of the completion ring, aligned to its size
pub const CHANNEL_RING_BASE_OFFSET: u64 = 0x08;
/// Offset: the completion ring has 1 << ring_log2 entries, 2 to 16
pub const CHANNEL_RING_LOG2_OFFSET: u64 = 0x10;
/// Offset: MSI-X vector of the channel
pub const CHANNEL_VECTOR_OFFSET: u64 = 0x14;
/// Offset: status
pub const CHANNEL_STATUS_OFFSET: u64 = 0x18;
/// Lowest bit: the channel is enabled and takes descriptors
pub const CHANNEL_STATUS_RUNNING_LSB: u32 = 0;
/// Bits: the channel is enabled and takes descriptors
pub const CHANNEL_STATUS_RUNNING_MASK: u32 = 0x1;
/// Lowest bit: a descriptor too many was posted; all are dropped until a reset
pub const CHANNEL_STATUS_ERROR_LSB: u32 = 1;
/// Bits: a descriptor too many was posted; all are dropped until a reset
pub const CHANNEL_STATUS_ERROR_MASK: u32 = 0x2;
/// Lowest bit: a reset goes on
pub const CHANNEL_STATUS_RESETTING_LSB: u32 = 2;
/// Bits: a reset goes on
pub const CHANNEL_STATUS_RESETTING_MASK: u32 = 0x4;
/// Offset: descriptors and batches dropped
pub const CHANNEL_OVERFLOWS_OFFSET: u64 = 0x1c;
/// Offset: descriptors that arrived torn
pub const CHANNEL_TORN_OFFSET: u64 = 0x20;
/// Offset: ring entries written since enable, modulo 2^32
pub const CHANNEL_PRODUCED_OFFSET: u64 = 0x24;
/// Offset: descriptors completed since enable, modulo 2^32
pub const CHANNEL_CONSUMED_OFFSET: u64 = 0x28;
/// Offset: holds an armed interrupt back until there are several entries, or for a time; 0: never
pub const CHANNEL_MODERATION_OFFSET: u64 = 0x30;
/// Lowest bit: fire when so many entries have not been reaped; 0 is 1
pub const CHANNEL_MODERATION_ENTRIES_LSB: u32 = 0;
/// Bits: fire when so many entries have not been reaped; 0 is 1
pub const CHANNEL_MODERATION_ENTRIES_MASK: u32 = 0xffff;
/// Lowest bit: or so many times 64 core clocks after the first of them; 0: at once
pub const CHANNEL_MODERATION_TIME_LSB: u32 = 16;
/// Bits: or so many times 64 core clocks after the first of them; 0: at once
pub const CHANNEL_MODERATION_TIME_MASK: u32 = 0xffff0000;
/// Offset: bus address of what the channel writes to on the other card, C2H: the pairing's 8 KiB of the inbox; H2C: the doorbell `credit` of the channel that sends
pub const CHANNEL_PEER_BASE_OFFSET: u64 = 0x38;
/// Offset: the channel's part of the link while others of its direction want it, too; 0 counts as 1
pub const CHANNEL_WEIGHT_OFFSET: u64 = 0x40;
/// After a reset: the channel's part of the link while others of its direction want it, too; 0 counts as 1
pub const CHANNEL_WEIGHT_RESET: u32 = 0x1;
/// Offset: traffic class of the channel's reads and writes of data
pub const CHANNEL_TRAFFIC_CLASS_OFFSET: u64 = 0x44;
/// Offset: bytes of data that the channel may move in 2^20 core clocks; 0: as many as it can
pub const CHANNEL_RATE_OFFSET: u64 = 0x48;
/// Offset: what the card holds for the channel
pub const CHANNEL_HELD_OFFSET: u64 = 0x4c;
/// Lowest bit: bytes: not yet sent (C2H), not yet taken by the core (H2C)
pub const CHANNEL_HELD_BYTES_LSB: u32 = 0;
/// Bits: bytes: not yet sent (C2H), not yet taken by the core (H2C)
pub const CHANNEL_HELD_BYTES_MASK: u32 = 0x7fffffff;
/// Lowest bit: C2H: the core can send no more, and no descriptor is there
pub const CHANNEL_HELD_FULL_LSB: u32 = 31;
/// Bits: C2H: the core can send no more, and no descriptor is there
pub const CHANNEL_HELD_FULL_MASK: u32 = 0x80000000;
/// Offset: pairs the channel with one of another card; a reset of the channel clears `paired` and `posting`
pub const CHANNEL_PEER_CONTROL_OFFSET: u64 = 0x50;
/// Lowest bit: the channel is paired; from 0 to 1 its counts begin at 0
pub const CHANNEL_PEER_CONTROL_PAIRED_LSB: u32 = 0;
/// Bits: the channel is paired; from 0 to 1 its counts begin at 0
pub const CHANNEL_PEER_CONTROL_PAIRED_MASK: u32 = 0x1;
/// Lowest bit: C2H: the card posts descriptors as far as it has credit; a fault clears it
pub const CHANNEL_PEER_CONTROL_POSTING_LSB: u32 = 1;
/// Bits: C2H: the card posts descriptors as far as it has credit; a fault clears it
pub const CHANNEL_PEER_CONTROL_POSTING_MASK: u32 = 0x2;
/// Lowest bit: log2 of a slot's bytes, 7 to 12; both ends of a pair have the same
pub const CHANNEL_PEER_CONTROL_SLOT_LOG2_LSB: u32 = 8;
/// Bits: log2 of a slot's bytes, 7 to 12; both ends of a pair have the same
pub const CHANNEL_PEER_CONTROL_SLOT_LOG2_MASK: u32 = 0xf00;
/// Lowest bit: stands in every credit, and its lower seven bits tell where the inbox is; both ends of a pair have the same, and each pairing another one than those before
pub const CHANNEL_PEER_CONTROL_KEY_LSB: u32 = 16;
/// Bits: stands in every credit, and its lower seven bits tell where the inbox is; both ends of a pair have the same, and each pairing another one than those before
pub const CHANNEL_PEER_CONTROL_KEY_MASK: u32 = 0xff0000;
/// Offset: how a pair is doing
pub const CHANNEL_PEER_STATUS_OFFSET: u64 = 0x54;
/// Lowest bit: slots since pairing, modulo 2^16: C2H posted, H2C ended
pub const CHANNEL_PEER_STATUS_SLOTS_LSB: u32 = 0;
/// Bits: slots since pairing, modulo 2^16: C2H posted, H2C ended
pub const CHANNEL_PEER_STATUS_SLOTS_MASK: u32 = 0xffff;
/// Lowest bit: C2H: no slot that was posted is under way; H2C: all that came has been taken by the core, but for the last beat of a message that has not ended
pub const CHANNEL_PEER_STATUS_IDLE_LSB: u32 = 16;
/// Bits: C2H: no slot that was posted is under way; H2C: all that came has been taken by the core, but for the last beat of a message that has not ended
pub const CHANNEL_PEER_STATUS_IDLE_MASK: u32 = 0x10000;
/// Lowest bit: H2C: a message of the peer's has come in part, and not its end
pub const CHANNEL_PEER_STATUS_OPEN_LSB: u32 = 17;
/// Bits: H2C: a message of the peer's has come in part, and not its end
pub const CHANNEL_PEER_STATUS_OPEN_MASK: u32 = 0x20000;
/// Lowest bit: H2C: since pairing something came that had no room, or that shows that something was lost, or the link was down: what came after that was dropped
pub const CHANNEL_PEER_STATUS_OVERRUN_LSB: u32 = 18;
/// Bits: H2C: since pairing something came that had no room, or that shows that something was lost, or the link was down: what came after that was dropped
pub const CHANNEL_PEER_STATUS_OVERRUN_MASK: u32 = 0x40000;
/// Lowest bit: H2C: the inbox waits for the end of a message that the host has begun
pub const CHANNEL_PEER_STATUS_WAITING_LSB: u32 = 19;
/// Bits: H2C: the inbox waits for the end of a message that the host has begun
pub const CHANNEL_PEER_STATUS_WAITING_MASK: u32 = 0x80000;
/// Lowest bit: C2H: the fault that ended a slot since pairing; 0: none
pub const CHANNEL_PEER_STATUS_FAULT_LSB: u32 = 24;
/// Bits: C2H: the fault that ended a slot since pairing; 0: none
pub const CHANNEL_PEER_STATUS_FAULT_MASK: u32 = 0xff000000;

// A channel's doorbells: write-only, for the channel's user, mapped uncached.
/// Offset: What a host posts: a piece of work, or a prefix of one. The meaning of address and length is the kind's.
pub const DOORBELL_DESCRIPTOR_OFFSET: u64 = 0x00;
/// Offset: entries reaped since enable: fire as soon as the card has written more
pub const DOORBELL_ARM_OFFSET: u64 = 0x10;
/// Offset: any value: end every descriptor committed before
pub const DOORBELL_CANCEL_OFFSET: u64 = 0x14;
/// Offset: early wake: fire when the descriptor in hand has no more bytes to go than these, in steps of 256; less: never
pub const DOORBELL_LEAD_OFFSET: u64 = 0x18;
/// Offset: commits so many descriptors of the batch page, the next ones in the order of its slots
pub const DOORBELL_BATCH_OFFSET: u64 = 0x1c;
/// Offset: fires the channel's vector once, as soon as the card holds so many bytes
pub const DOORBELL_FILL_OFFSET: u64 = 0x20;
/// Lowest bit: bytes; 0 with `above` 1: never
pub const DOORBELL_FILL_BYTES_LSB: u32 = 0;
/// Bits: bytes; 0 with `above` 1: never
pub const DOORBELL_FILL_BYTES_MASK: u32 = 0x7fffffff;
/// Lowest bit: 1: so many or more, or as many as can be; 0: so many or fewer
pub const DOORBELL_FILL_ABOVE_LSB: u32 = 31;
/// Bits: 1: so many or more, or as many as can be; 0: so many or fewer
pub const DOORBELL_FILL_ABOVE_MASK: u32 = 0x80000000;
/// Offset: C2H, from the peer: how far its inbox has room
pub const DOORBELL_CREDIT_OFFSET: u64 = 0x28;
/// Lowest bit: slots since pairing that may be posted, modulo 2^16
pub const DOORBELL_CREDIT_SLOTS_LSB: u32 = 0;
/// Bits: slots since pairing that may be posted, modulo 2^16
pub const DOORBELL_CREDIT_SLOTS_MASK: u32 = 0xffff;
/// Lowest bit: that of the pairing; another one is ignored
pub const DOORBELL_CREDIT_KEY_LSB: u32 = 16;
/// Bits: that of the pairing; another one is ignored
pub const DOORBELL_CREDIT_KEY_MASK: u32 = 0xff0000;

// What a host posts: a piece of work, or a prefix of one. The meaning of address and length is the kind's.

/// Bytes: What a host posts: a piece of work, or a prefix of one. The meaning of address and length is the kind's.
pub const DESCRIPTOR_BYTES: usize = 16;
/// Offset: of the piece, the list's table or the inline slot; of a prefix its first value
pub const DESCRIPTOR_ADDRESS_OFFSET: u64 = 0x00;
/// Offset: bytes; of a prefix its second value
pub const DESCRIPTOR_LENGTH_OFFSET: u64 = 0x08;
/// Offset: the host's own, handed back in the completion
pub const DESCRIPTOR_COOKIE_OFFSET: u64 = 0x0c;
/// Offset: kind and flags
pub const DESCRIPTOR_CONTROL_OFFSET: u64 = 0x0e;
/// Lowest bit: what the descriptor is
pub const DESCRIPTOR_CONTROL_KIND_LSB: u32 = 0;
/// Bits: what the descriptor is
pub const DESCRIPTOR_CONTROL_KIND_MASK: u16 = 0xf;
/// Lowest bit: H2C: the message ends after this descriptor's last byte
pub const DESCRIPTOR_CONTROL_END_LSB: u32 = 4;
/// Bits: H2C: the message ends after this descriptor's last byte
pub const DESCRIPTOR_CONTROL_END_MASK: u16 = 0x10;

// One piece of a list, in a table in host memory, 16-byte aligned.

/// Bytes: One piece of a list, in a table in host memory, 16-byte aligned.
pub const LIST_ENTRY_BYTES: usize = 16;
/// Offset: of the piece, any byte; with `chain` of the next table, 16-byte aligned
pub const LIST_ENTRY_ADDRESS_OFFSET: u64 = 0x00;
/// Offset: bytes in the piece; ignored with `chain`
pub const LIST_ENTRY_LENGTH_OFFSET: u64 = 0x08;
/// Offset: flags
pub const LIST_ENTRY_CONTROL_OFFSET: u64 = 0x0c;
/// Lowest bit: the list ends with this entry
pub const LIST_ENTRY_CONTROL_LAST_LSB: u32 = 0;
/// Bits: the list ends with this entry
pub const LIST_ENTRY_CONTROL_LAST_MASK: u32 = 0x1;
/// Lowest bit: the entry holds no data but the address of the next table
pub const LIST_ENTRY_CONTROL_CHAIN_LSB: u32 = 1;
/// Bits: the entry holds no data but the address of the next table
pub const LIST_ENTRY_CONTROL_CHAIN_MASK: u32 = 0x2;

// What the card writes into a channel's ring, whole and after the data it tells of.

/// Bytes: What the card writes into a channel's ring, whole and after the data it tells of.
pub const COMPLETION_BYTES: usize = 16;
/// Offset: moved; in a message start bits 31:0 of the message's length
pub const COMPLETION_BYTES_OFFSET: u64 = 0x00;
/// Offset: C2H: the message's offset, as the core gave it
pub const COMPLETION_OFFSET_OFFSET: u64 = 0x04;
/// Offset: C2H: the message's user word, as the core gave it
pub const COMPLETION_USER_OFFSET: u64 = 0x08;
/// Offset: of the descriptor; in a message start bits 47:32 of the message's length
pub const COMPLETION_COOKIE_OFFSET: u64 = 0x0c;
/// Offset: how the descriptor ended
pub const COMPLETION_STATUS_OFFSET: u64 = 0x0e;
/// Offset: flags
pub const COMPLETION_FLAGS_OFFSET: u64 = 0x0f;
/// Lowest bit: 1 in the ring's first lap, flips in each: tells a new entry from an old one
pub const COMPLETION_FLAGS_PHASE_LSB: u32 = 0;
/// Bits: 1 in the ring's first lap, flips in each: tells a new entry from an old one
pub const COMPLETION_FLAGS_PHASE_MASK: u8 = 0x1;
/// Lowest bit: a message starts; nothing completes
pub const COMPLETION_FLAGS_START_LSB: u32 = 1;
/// Bits: a message starts; nothing completes
pub const COMPLETION_FLAGS_START_MASK: u8 = 0x2;

// Plug-in `reset`, version 1. Times are clocks of the user core's.
/// Offset: commands, each by writing 1; of several in one write the last counts
pub const PLUGIN_RESET_COMMAND_OFFSET: u64 = 0x00;
/// Lowest bit: the sequence runs from its start
pub const PLUGIN_RESET_COMMAND_START_LSB: u32 = 0;
/// Bits: the sequence runs from its start
pub const PLUGIN_RESET_COMMAND_START_MASK: u32 = 0x1;
/// Lowest bit: all outputs are asserted until `release`
pub const PLUGIN_RESET_COMMAND_HOLD_LSB: u32 = 1;
/// Bits: all outputs are asserted until `release`
pub const PLUGIN_RESET_COMMAND_HOLD_MASK: u32 = 0x2;
/// Lowest bit: what is held runs the sequence from its start
pub const PLUGIN_RESET_COMMAND_RELEASE_LSB: u32 = 2;
/// Bits: what is held runs the sequence from its start
pub const PLUGIN_RESET_COMMAND_RELEASE_MASK: u32 = 0x4;
/// Offset: status
pub const PLUGIN_RESET_STATUS_OFFSET: u64 = 0x04;
/// Lowest bit: the sequence runs or is held
pub const PLUGIN_RESET_STATUS_BUSY_LSB: u32 = 0;
/// Bits: the sequence runs or is held
pub const PLUGIN_RESET_STATUS_BUSY_MASK: u32 = 0x1;
/// Lowest bit: held, by `hold` or by a fault
pub const PLUGIN_RESET_STATUS_HELD_LSB: u32 = 1;
/// Bits: held, by `hold` or by a fault
pub const PLUGIN_RESET_STATUS_HELD_MASK: u32 = 0x2;
/// Lowest bit: the core reports a fault
pub const PLUGIN_RESET_STATUS_FAULT_LSB: u32 = 2;
/// Bits: the core reports a fault
pub const PLUGIN_RESET_STATUS_FAULT_MASK: u32 = 0x4;
/// Lowest bit: bit k: output k is asserted; output 0 is the core's own reset
pub const PLUGIN_RESET_STATUS_ASSERTED_LSB: u32 = 8;
/// Bits: bit k: output k is asserted; output 0 is the core's own reset
pub const PLUGIN_RESET_STATUS_ASSERTED_MASK: u32 = 0xff00;
/// Offset: number of outputs
pub const PLUGIN_RESET_OUTPUTS_OFFSET: u64 = 0x08;
/// Offset: clocks for which all outputs are asserted at the sequence's start; 0 is 1
pub const PLUGIN_RESET_LENGTH_OFFSET: u64 = 0x0c;
/// Offset: sequences begun since the card's reset, by whatever, modulo 2^32
pub const PLUGIN_RESET_SEQUENCES_OFFSET: u64 = 0x10;
/// Offset: faults of the core outside a sequence since the card's reset, modulo 2^32
pub const PLUGIN_RESET_FAULTS_OFFSET: u64 = 0x14;
/// Offset: what a fault of the core does beside being counted
pub const PLUGIN_RESET_ON_FAULT_OFFSET: u64 = 0x18;
/// Lowest bit: the sequence runs from its start
pub const PLUGIN_RESET_ON_FAULT_START_LSB: u32 = 0;
/// Bits: the sequence runs from its start
pub const PLUGIN_RESET_ON_FAULT_START_MASK: u32 = 0x1;
/// Lowest bit: all outputs are asserted until `release`
pub const PLUGIN_RESET_ON_FAULT_HOLD_LSB: u32 = 1;
/// Bits: all outputs are asserted until `release`
pub const PLUGIN_RESET_ON_FAULT_HOLD_MASK: u32 = 0x2;
/// Offset: clocks from the end of `length` to the release of output k; outputs that are not there read 0
pub const PLUGIN_RESET_DELAY_OFFSET: u64 = 0x20;
/// How often `delay` stands there.
pub const PLUGIN_RESET_DELAY_COUNT: usize = 8;
/// Bytes from one `delay` to the next.
pub const PLUGIN_RESET_DELAY_STRIDE: u64 = 4;

// Plug-in `clock`, version 1.
/// Offset: a write holds the core in reset and switches its clock to that input; read: the input last selected
pub const PLUGIN_CLOCK_SELECT_OFFSET: u64 = 0x00;
/// Offset: commands, by writing 1
pub const PLUGIN_CLOCK_COMMAND_OFFSET: u64 = 0x04;
/// Lowest bit: the core is no longer held in reset
pub const PLUGIN_CLOCK_COMMAND_RELEASE_LSB: u32 = 0;
/// Bits: the core is no longer held in reset
pub const PLUGIN_CLOCK_COMMAND_RELEASE_MASK: u32 = 0x1;
/// Offset: status
pub const PLUGIN_CLOCK_STATUS_OFFSET: u64 = 0x08;
/// Lowest bit: the switch is under way, or the core has not had enough clocks to leave reset
pub const PLUGIN_CLOCK_STATUS_BUSY_LSB: u32 = 0;
/// Bits: the switch is under way, or the core has not had enough clocks to leave reset
pub const PLUGIN_CLOCK_STATUS_BUSY_MASK: u32 = 0x1;
/// Lowest bit: the core is held in reset until `release`
pub const PLUGIN_CLOCK_STATUS_HELD_LSB: u32 = 1;
/// Bits: the core is held in reset until `release`
pub const PLUGIN_CLOCK_STATUS_HELD_MASK: u32 = 0x2;
/// Lowest bit: the input last selected does not run, or stopped: the core is in reset until another is selected
pub const PLUGIN_CLOCK_STATUS_ASTRAY_LSB: u32 = 2;
/// Bits: the input last selected does not run, or stopped: the core is in reset until another is selected
pub const PLUGIN_CLOCK_STATUS_ASTRAY_MASK: u32 = 0x4;
/// Lowest bit: `runs` and `khz` have been measured
pub const PLUGIN_CLOCK_STATUS_MEASURED_LSB: u32 = 3;
/// Bits: `runs` and `khz` have been measured
pub const PLUGIN_CLOCK_STATUS_MEASURED_MASK: u32 = 0x8;
/// Lowest bit: the input that is the core's clock
pub const PLUGIN_CLOCK_STATUS_CURRENT_LSB: u32 = 8;
/// Bits: the input that is the core's clock
pub const PLUGIN_CLOCK_STATUS_CURRENT_MASK: u32 = 0x300;
/// Lowest bit: bit k: input k runs
pub const PLUGIN_CLOCK_STATUS_RUNS_LSB: u32 = 16;
/// Bits: bit k: input k runs
pub const PLUGIN_CLOCK_STATUS_RUNS_MASK: u32 = 0x70000;
/// Offset: number of inputs
pub const PLUGIN_CLOCK_INPUTS_OFFSET: u64 = 0x0c;
/// Offset: frequency of input k in kilohertz, as last measured, in steps of 16
pub const PLUGIN_CLOCK_KHZ_OFFSET: u64 = 0x20;
/// How often `khz` stands there.
pub const PLUGIN_CLOCK_KHZ_COUNT: usize = 3;
/// Bytes from one `khz` to the next.
pub const PLUGIN_CLOCK_KHZ_STRIDE: u64 = 4;

// Plug-in `tlplog`, version 1. The ring stands in the upper half of its registers: entry n at 32 * (`depth` + n modulo `depth`).
/// Offset: commands, each by writing 1
pub const PLUGIN_TLPLOG_COMMAND_OFFSET: u64 = 0x00;
/// Lowest bit: packets are logged from now on
pub const PLUGIN_TLPLOG_COMMAND_START_LSB: u32 = 0;
/// Bits: packets are logged from now on
pub const PLUGIN_TLPLOG_COMMAND_START_MASK: u32 = 0x1;
/// Lowest bit: and from now on not any more
pub const PLUGIN_TLPLOG_COMMAND_STOP_LSB: u32 = 1;
/// Bits: and from now on not any more
pub const PLUGIN_TLPLOG_COMMAND_STOP_MASK: u32 = 0x2;
/// Lowest bit: the log is empty, and both counts are 0
pub const PLUGIN_TLPLOG_COMMAND_CLEAR_LSB: u32 = 2;
/// Bits: the log is empty, and both counts are 0
pub const PLUGIN_TLPLOG_COMMAND_CLEAR_MASK: u32 = 0x4;
/// Offset: status
pub const PLUGIN_TLPLOG_STATUS_OFFSET: u64 = 0x04;
/// Lowest bit: packets are logged
pub const PLUGIN_TLPLOG_STATUS_RUNNING_LSB: u32 = 0;
/// Bits: packets are logged
pub const PLUGIN_TLPLOG_STATUS_RUNNING_MASK: u32 = 0x1;
/// Offset: entries in the ring, a power of two
pub const PLUGIN_TLPLOG_DEPTH_OFFSET: u64 = 0x08;
/// Offset: which packets are logged
pub const PLUGIN_TLPLOG_FILTER_OFFSET: u64 = 0x0c;
/// After a reset: which packets are logged
pub const PLUGIN_TLPLOG_FILTER_RESET: u32 = 0x3f77;
/// Lowest bit: bit k: those of stream k
pub const PLUGIN_TLPLOG_FILTER_STREAMS_LSB: u32 = 0;
/// Bits: bit k: those of stream k
pub const PLUGIN_TLPLOG_FILTER_STREAMS_MASK: u32 = 0x7f;
/// Lowest bit: bit k: of the writes to BARs and reads of them, and of the answers, those of BAR k
pub const PLUGIN_TLPLOG_FILTER_BARS_LSB: u32 = 8;
/// Bits: bit k: of the writes to BARs and reads of them, and of the answers, those of BAR k
pub const PLUGIN_TLPLOG_FILTER_BARS_MASK: u32 = 0x3f00;
/// Offset: packets since `clear` that are in the ring, or were
pub const PLUGIN_TLPLOG_LOGGED_OFFSET: u64 = 0x10;
/// Offset: packets since `clear` for which there was no room in the queue before the ring, modulo 2^32
pub const PLUGIN_TLPLOG_DROPPED_OFFSET: u64 = 0x18;
/// Offset: of the card's own writes and reads, those that begin at this address or above it ...
pub const PLUGIN_TLPLOG_FIRST_OFFSET: u64 = 0x20;
/// Offset: ... and not above this one
pub const PLUGIN_TLPLOG_LAST_OFFSET: u64 = 0x28;
/// After a reset: ... and not above this one
pub const PLUGIN_TLPLOG_LAST_RESET: u64 = 0xffffffffffffffff;

// A packet in the log of plug-in `tlplog`. What a packet of its stream does not have is 0.

/// Bytes: A packet in the log of plug-in `tlplog`. What a packet of its stream does not have is 0.
pub const PLUGIN_TLPLOG_ENTRY_BYTES: usize = 32;
/// Offset: of the first dword: in memory, or of an access to a BAR in the BAR; of an answer its lower address
pub const PLUGIN_TLPLOG_ENTRY_ADDRESS_OFFSET: u64 = 0x00;
/// Offset: header
pub const PLUGIN_TLPLOG_ENTRY_HEADER_OFFSET: u64 = 0x08;
/// Lowest bit: of payload, of a read those that it wants; 0 in an answer that is an error
pub const PLUGIN_TLPLOG_ENTRY_HEADER_DWORDS_LSB: u32 = 0;
/// Bits: of payload, of a read those that it wants; 0 in an answer that is an error
pub const PLUGIN_TLPLOG_ENTRY_HEADER_DWORDS_MASK: u32 = 0x7ff;
/// Lowest bit: byte enables of the first dword
pub const PLUGIN_TLPLOG_ENTRY_HEADER_FIRST_BE_LSB: u32 = 11;
/// Bits: byte enables of the first dword
pub const PLUGIN_TLPLOG_ENTRY_HEADER_FIRST_BE_MASK: u32 = 0x7800;
/// Lowest bit: byte enables of the last dword, 0 if there is one dword
pub const PLUGIN_TLPLOG_ENTRY_HEADER_LAST_BE_LSB: u32 = 15;
/// Bits: byte enables of the last dword, 0 if there is one dword
pub const PLUGIN_TLPLOG_ENTRY_HEADER_LAST_BE_MASK: u32 = 0x78000;
/// Lowest bit: which way it went, and what it is
pub const PLUGIN_TLPLOG_ENTRY_HEADER_STREAM_LSB: u32 = 19;
/// Bits: which way it went, and what it is
pub const PLUGIN_TLPLOG_ENTRY_HEADER_STREAM_MASK: u32 = 0x380000;
/// Lowest bit: of an access to a BAR: which one
pub const PLUGIN_TLPLOG_ENTRY_HEADER_BAR_LSB: u32 = 22;
/// Bits: of an access to a BAR: which one
pub const PLUGIN_TLPLOG_ENTRY_HEADER_BAR_MASK: u32 = 0x1c00000;
/// Lowest bit: of an answer: completion status
pub const PLUGIN_TLPLOG_ENTRY_HEADER_STATUS_LSB: u32 = 25;
/// Bits: of an answer: completion status
pub const PLUGIN_TLPLOG_ENTRY_HEADER_STATUS_MASK: u32 = 0xe000000;
/// Lowest bit: of an answer to the card: its payload is marked as corrupt
pub const PLUGIN_TLPLOG_ENTRY_HEADER_POISONED_LSB: u32 = 28;
/// Bits: of an answer to the card: its payload is marked as corrupt
pub const PLUGIN_TLPLOG_ENTRY_HEADER_POISONED_MASK: u32 = 0x10000000;
/// Lowest bit: attributes; of the card's own requests relaxed ordering alone
pub const PLUGIN_TLPLOG_ENTRY_HEADER_ATTR_LSB: u32 = 29;
/// Bits: attributes; of the card's own requests relaxed ordering alone
pub const PLUGIN_TLPLOG_ENTRY_HEADER_ATTR_MASK: u32 = 0xe0000000;
/// Offset: identification
pub const PLUGIN_TLPLOG_ENTRY_IDS_OFFSET: u64 = 0x0c;
/// Lowest bit: tag, of all but writes
pub const PLUGIN_TLPLOG_ENTRY_IDS_TAG_LSB: u32 = 0;
/// Bits: tag, of all but writes
pub const PLUGIN_TLPLOG_ENTRY_IDS_TAG_MASK: u32 = 0x3ff;
/// Lowest bit: of an answer: bytes still to come, with this packet's
pub const PLUGIN_TLPLOG_ENTRY_IDS_BYTE_COUNT_LSB: u32 = 10;
/// Bits: of an answer: bytes still to come, with this packet's
pub const PLUGIN_TLPLOG_ENTRY_IDS_BYTE_COUNT_MASK: u32 = 0x7ffc00;
/// Lowest bit: traffic class; 0 of writes to BARs and of answers to the card, of which it is not known
pub const PLUGIN_TLPLOG_ENTRY_IDS_TC_LSB: u32 = 23;
/// Bits: traffic class; 0 of writes to BARs and of answers to the card, of which it is not known
pub const PLUGIN_TLPLOG_ENTRY_IDS_TC_MASK: u32 = 0x3800000;
/// Lowest bit: packets of this stream before this one were dropped
pub const PLUGIN_TLPLOG_ENTRY_IDS_LOST_LSB: u32 = 26;
/// Bits: packets of this stream before this one were dropped
pub const PLUGIN_TLPLOG_ENTRY_IDS_LOST_MASK: u32 = 0x4000000;
/// Offset: first dword of payload, as it was sent: byte 0 lowest
pub const PLUGIN_TLPLOG_ENTRY_DATA_OFFSET: u64 = 0x10;
/// Offset: who asked, of accesses to BARs and their answers: bus, device, function
pub const PLUGIN_TLPLOG_ENTRY_REQUESTER_OFFSET: u64 = 0x14;
/// Offset: bits 47:32 of the time
pub const PLUGIN_TLPLOG_ENTRY_TIME_HIGH_OFFSET: u64 = 0x16;
/// Offset: time when the packet began, in clocks of Towpath's since it was configured
pub const PLUGIN_TLPLOG_ENTRY_TIME_LOW_OFFSET: u64 = 0x18;
/// Offset: of the packet, counted from 0 at `clear`, modulo 2^32: tells an entry from the one that was there before
pub const PLUGIN_TLPLOG_ENTRY_NUMBER_OFFSET: u64 = 0x1c;

// Plug-in `partial`, version 1. A region is decoupled and in reset from `begin` until `release` after a load that ended well.
/// Offset: commands, each by writing 1
pub const PLUGIN_PARTIAL_COMMAND_OFFSET: u64 = 0x00;
/// Lowest bit: a load begins, also in the middle of another one; refused while a channel is within a message
pub const PLUGIN_PARTIAL_COMMAND_BEGIN_LSB: u32 = 0;
/// Bits: a load begins, also in the middle of another one; refused while a channel is within a message
pub const PLUGIN_PARTIAL_COMMAND_BEGIN_MASK: u32 = 0x1;
/// Lowest bit: with `begin`: it is not refused, and such messages are cut
pub const PLUGIN_PARTIAL_COMMAND_CUT_LSB: u32 = 1;
/// Bits: with `begin`: it is not refused, and such messages are cut
pub const PLUGIN_PARTIAL_COMMAND_CUT_MASK: u32 = 0x2;
/// Lowest bit: the file is all in `data`: the load ends when the configuration port has said what became of it
pub const PLUGIN_PARTIAL_COMMAND_END_LSB: u32 = 2;
/// Bits: the file is all in `data`: the load ends when the configuration port has said what became of it
pub const PLUGIN_PARTIAL_COMMAND_END_MASK: u32 = 0x4;
/// Lowest bit: the load ends, as failed
pub const PLUGIN_PARTIAL_COMMAND_ABORT_LSB: u32 = 3;
/// Bits: the load ends, as failed
pub const PLUGIN_PARTIAL_COMMAND_ABORT_MASK: u32 = 0x8;
/// Lowest bit: the core runs, if the region holds a whole one and no load is under way
pub const PLUGIN_PARTIAL_COMMAND_RELEASE_LSB: u32 = 4;
/// Bits: the core runs, if the region holds a whole one and no load is under way
pub const PLUGIN_PARTIAL_COMMAND_RELEASE_MASK: u32 = 0x10;
/// Offset: status
pub const PLUGIN_PARTIAL_STATUS_OFFSET: u64 = 0x04;
/// After a reset: status
pub const PLUGIN_PARTIAL_STATUS_RESET: u32 = 0x4;
/// Lowest bit: a load is under way
pub const PLUGIN_PARTIAL_STATUS_LOADING_LSB: u32 = 0;
/// Bits: a load is under way
pub const PLUGIN_PARTIAL_STATUS_LOADING_MASK: u32 = 0x1;
/// Lowest bit: the region is decoupled, and the core in reset
pub const PLUGIN_PARTIAL_STATUS_DECOUPLED_LSB: u32 = 1;
/// Bits: the region is decoupled, and the core in reset
pub const PLUGIN_PARTIAL_STATUS_DECOUPLED_MASK: u32 = 0x2;
/// Lowest bit: the region holds a whole core: as configured, or by a load that ended well
pub const PLUGIN_PARTIAL_STATUS_WHOLE_LSB: u32 = 2;
/// Bits: the region holds a whole core: as configured, or by a load that ended well
pub const PLUGIN_PARTIAL_STATUS_WHOLE_MASK: u32 = 0x4;
/// Lowest bit: a channel is within a message
pub const PLUGIN_PARTIAL_STATUS_MIDWAY_LSB: u32 = 3;
/// Bits: a channel is within a message
pub const PLUGIN_PARTIAL_STATUS_MIDWAY_MASK: u32 = 0x8;
/// Lowest bit: what became of the last `begin`
pub const PLUGIN_PARTIAL_STATUS_OUTCOME_LSB: u32 = 8;
/// Bits: what became of the last `begin`
pub const PLUGIN_PARTIAL_STATUS_OUTCOME_MASK: u32 = 0x700;
/// Offset: dwords for which there is room in `data` now
pub const PLUGIN_PARTIAL_ROOM_OFFSET: u64 = 0x08;
/// Offset: the next dword of the file, its first byte highest; outside a load it is dropped
pub const PLUGIN_PARTIAL_DATA_OFFSET: u64 = 0x0c;
/// Offset: dwords that the configuration port has taken since `begin`, modulo 2^32
pub const PLUGIN_PARTIAL_WORDS_OFFSET: u64 = 0x10;
/// Offset: loads that ended well since the card was configured, modulo 2^32
pub const PLUGIN_PARTIAL_LOADS_OFFSET: u64 = 0x14;
/// Offset: of the core in the region, UTF-8, zero padded, as the host wrote it; all 0 since the card was configured: the one of the discovery header
pub const PLUGIN_PARTIAL_CORE_NAME_OFFSET: u64 = 0x20;
/// How often `core_name` stands there.
pub const PLUGIN_PARTIAL_CORE_NAME_COUNT: usize = 32;
/// Bytes from one `core_name` to the next.
pub const PLUGIN_PARTIAL_CORE_NAME_STRIDE: u64 = 1;

// Begin of a file for a simulated card, which has no bit file. `words` dwords of whatever follow, and their CRC-32 (that of Ethernet) with all that stands before. Numbers have their first byte highest.
/// Offset: by which such a file is known
pub const PLUGIN_PARTIAL_IMAGE_MAGIC_OFFSET: u64 = 0x00;
/// Value: by which such a file is known
pub const PLUGIN_PARTIAL_IMAGE_MAGIC_VALUE: u32 = 0x54505254;
/// Offset: dwords between this header and the CRC
pub const PLUGIN_PARTIAL_IMAGE_WORDS_OFFSET: u64 = 0x04;
/// Offset: of the core to load: one of those that the card's manifest lists
pub const PLUGIN_PARTIAL_IMAGE_CORE_NAME_OFFSET: u64 = 0x08;
/// How often `core_name` stands there.
pub const PLUGIN_PARTIAL_IMAGE_CORE_NAME_COUNT: usize = 32;
/// Bytes from one `core_name` to the next.
pub const PLUGIN_PARTIAL_IMAGE_CORE_NAME_STRIDE: u64 = 1;

/// The contract's `direction`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Direction {
    /// host to card
    H2c = 0,
    /// card to host
    C2h = 1,
}

#[rustfmt::skip]
impl Direction {
    /// Every value, ascending.
    pub const ALL: [Self; 2] = [
        Self::H2c,
        Self::C2h,
    ];

    /// The name in the contract.
    pub const fn name(self) -> &'static str {
        match self {
            Self::H2c => "h2c",
            Self::C2h => "c2h",
        }
    }
}

impl TryFrom<u8> for Direction {
    /// The number that means nothing in this version.
    type Error = u8;

    fn try_from(number: u8) -> Result<Self, u8> {
        match number {
            0 => Ok(Self::H2c),
            1 => Ok(Self::C2h),
            other => Err(other),
        }
    }
}

/// The contract's `channel_kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ChannelKind {
    /// an AXI4-Stream of the user core
    Stream = 0,
    /// addresses behind an AXI4 port of the user core
    Memory = 1,
    /// a kind from elsewhere, which `kind_name` tells
    Named = 2,
    /// an AXI4-Stream of the user core that carries a peer's data, and none of the host's
    Peer = 3,
}

#[rustfmt::skip]
impl ChannelKind {
    /// Every value, ascending.
    pub const ALL: [Self; 4] = [
        Self::Stream,
        Self::Memory,
        Self::Named,
        Self::Peer,
    ];

    /// The name in the contract.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stream => "stream",
            Self::Memory => "memory",
            Self::Named => "named",
            Self::Peer => "peer",
        }
    }
}

impl TryFrom<u8> for ChannelKind {
    /// The number that means nothing in this version.
    type Error = u8;

    fn try_from(number: u8) -> Result<Self, u8> {
        match number {
            0 => Ok(Self::Stream),
            1 => Ok(Self::Memory),
            2 => Ok(Self::Named),
            3 => Ok(Self::Peer),
            other => Err(other),
        }
    }
}

/// The contract's `status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Status {
    /// of entries that complete nothing: message starts
    None = 0,
    /// all bytes moved
    Done = 1,
    /// C2H: the message ended in this buffer
    EndOfMessage = 2,
    /// the host refused a read: address not mapped, or the like
    UnsupportedRequest = 3,
    /// the host could not answer a read
    CompleterAbort = 4,
    /// data came marked as corrupt
    Poisoned = 5,
    /// the host did not answer a read in time
    Timeout = 6,
    /// stopped by cancel, with the bytes so far
    Cancelled = 7,
    /// the card may not access host memory
    BusMasteringOff = 8,
    /// stopped by a reset of the channel or the card
    Reset = 9,
    /// the descriptor's words did not arrive whole and in order
    Torn = 10,
    /// unknown kind, slot or length out of range, list too short
    Malformed = 11,
    /// an answer to a read had a wrong length or byte count
    BadCompletion = 12,
    /// the link to the host went down
    LinkDown = 13,
    /// 65 to 127: the channel's kind says so, with a number of its own from 1 to 63
    KindStatus = 64,
}

#[rustfmt::skip]
impl Status {
    /// Every value, ascending.
    pub const ALL: [Self; 15] = [
        Self::None,
        Self::Done,
        Self::EndOfMessage,
        Self::UnsupportedRequest,
        Self::CompleterAbort,
        Self::Poisoned,
        Self::Timeout,
        Self::Cancelled,
        Self::BusMasteringOff,
        Self::Reset,
        Self::Torn,
        Self::Malformed,
        Self::BadCompletion,
        Self::LinkDown,
        Self::KindStatus,
    ];

    /// The name in the contract.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Done => "done",
            Self::EndOfMessage => "end_of_message",
            Self::UnsupportedRequest => "unsupported_request",
            Self::CompleterAbort => "completer_abort",
            Self::Poisoned => "poisoned",
            Self::Timeout => "timeout",
            Self::Cancelled => "cancelled",
            Self::BusMasteringOff => "bus_mastering_off",
            Self::Reset => "reset",
            Self::Torn => "torn",
            Self::Malformed => "malformed",
            Self::BadCompletion => "bad_completion",
            Self::LinkDown => "link_down",
            Self::KindStatus => "kind_status",
        }
    }
}

impl TryFrom<u8> for Status {
    /// The number that means nothing in this version.
    type Error = u8;

    fn try_from(number: u8) -> Result<Self, u8> {
        match number {
            0 => Ok(Self::None),
            1 => Ok(Self::Done),
            2 => Ok(Self::EndOfMessage),
            3 => Ok(Self::UnsupportedRequest),
            4 => Ok(Self::CompleterAbort),
            5 => Ok(Self::Poisoned),
            6 => Ok(Self::Timeout),
            7 => Ok(Self::Cancelled),
            8 => Ok(Self::BusMasteringOff),
            9 => Ok(Self::Reset),
            10 => Ok(Self::Torn),
            11 => Ok(Self::Malformed),
            12 => Ok(Self::BadCompletion),
            13 => Ok(Self::LinkDown),
            64 => Ok(Self::KindStatus),
            other => Err(other),
        }
    }
}

/// The contract's `kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// one contiguous piece of host memory
    Direct = 0,
    /// a table of pieces in host memory, which the card fetches
    List = 1,
    /// the bytes stand in a slot of the inline page (H2C)
    Inline = 2,
    /// prefix: offset or card address, and user word of the message
    Attributes = 3,
    /// prefix: bytes in the whole message, 0: unknown
    MessageLength = 4,
}

#[rustfmt::skip]
impl Kind {
    /// Every value, ascending.
    pub const ALL: [Self; 5] = [
        Self::Direct,
        Self::List,
        Self::Inline,
        Self::Attributes,
        Self::MessageLength,
    ];

    /// The name in the contract.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::List => "list",
            Self::Inline => "inline",
            Self::Attributes => "attributes",
            Self::MessageLength => "message_length",
        }
    }
}

impl TryFrom<u8> for Kind {
    /// The number that means nothing in this version.
    type Error = u8;

    fn try_from(number: u8) -> Result<Self, u8> {
        match number {
            0 => Ok(Self::Direct),
            1 => Ok(Self::List),
            2 => Ok(Self::Inline),
            3 => Ok(Self::Attributes),
            4 => Ok(Self::MessageLength),
            other => Err(other),
        }
    }
}

/// The contract's `tlp_stream`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum TlpStream {
    /// the card writes memory, or raises an interrupt
    SentWrite = 0,
    /// the card reads memory
    SentRead = 1,
    /// the card answers a read of a BAR
    SentCompletion = 2,
    /// a write to a BAR
    ReceivedWrite = 4,
    /// a read of a BAR
    ReceivedRead = 5,
    /// an answer to a read of the card's
    ReceivedCompletion = 6,
}

#[rustfmt::skip]
impl TlpStream {
    /// Every value, ascending.
    pub const ALL: [Self; 6] = [
        Self::SentWrite,
        Self::SentRead,
        Self::SentCompletion,
        Self::ReceivedWrite,
        Self::ReceivedRead,
        Self::ReceivedCompletion,
    ];

    /// The name in the contract.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SentWrite => "sent_write",
            Self::SentRead => "sent_read",
            Self::SentCompletion => "sent_completion",
            Self::ReceivedWrite => "received_write",
            Self::ReceivedRead => "received_read",
            Self::ReceivedCompletion => "received_completion",
        }
    }
}

impl TryFrom<u8> for TlpStream {
    /// The number that means nothing in this version.
    type Error = u8;

    fn try_from(number: u8) -> Result<Self, u8> {
        match number {
            0 => Ok(Self::SentWrite),
            1 => Ok(Self::SentRead),
            2 => Ok(Self::SentCompletion),
            4 => Ok(Self::ReceivedWrite),
            5 => Ok(Self::ReceivedRead),
            6 => Ok(Self::ReceivedCompletion),
            other => Err(other),
        }
    }
}

/// The contract's `partial_outcome`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum PartialOutcome {
    /// there was none since the card's reset, or it is under way
    Idle = 0,
    /// the region holds the new core
    Loaded = 1,
    /// a channel was within a message, and the core goes on as it was
    Refused = 2,
    /// failed: a dword came for which there was no room
    Overrun = 3,
    /// failed: the configuration port reports an error in the file
    Port = 4,
    /// failed: by `abort`
    Aborted = 5,
}

#[rustfmt::skip]
impl PartialOutcome {
    /// Every value, ascending.
    pub const ALL: [Self; 6] = [
        Self::Idle,
        Self::Loaded,
        Self::Refused,
        Self::Overrun,
        Self::Port,
        Self::Aborted,
    ];

    /// The name in the contract.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Loaded => "loaded",
            Self::Refused => "refused",
            Self::Overrun => "overrun",
            Self::Port => "port",
            Self::Aborted => "aborted",
        }
    }
}

impl TryFrom<u8> for PartialOutcome {
    /// The number that means nothing in this version.
    type Error = u8;

    fn try_from(number: u8) -> Result<Self, u8> {
        match number {
            0 => Ok(Self::Idle),
            1 => Ok(Self::Loaded),
            2 => Ok(Self::Refused),
            3 => Ok(Self::Overrun),
            4 => Ok(Self::Port),
            5 => Ok(Self::Aborted),
            other => Err(other),
        }
    }
}

/// What a host posts: a piece of work, or a prefix of one. The meaning of address and length is the kind's. The fields are in the host's byte order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct Descriptor {
    /// of the piece, the list's table or the inline slot; of a prefix its first value
    pub address: u64,
    /// bytes; of a prefix its second value
    pub length: u32,
    /// the host's own, handed back in the completion
    pub cookie: u16,
    /// kind and flags
    pub control: u16,
}

const _: () = {
    assert!(core::mem::size_of::<Descriptor>() == DESCRIPTOR_BYTES);
    assert!(core::mem::offset_of!(Descriptor, address) as u64 == DESCRIPTOR_ADDRESS_OFFSET);
    assert!(core::mem::offset_of!(Descriptor, length) as u64 == DESCRIPTOR_LENGTH_OFFSET);
    assert!(core::mem::offset_of!(Descriptor, cookie) as u64 == DESCRIPTOR_COOKIE_OFFSET);
    assert!(core::mem::offset_of!(Descriptor, control) as u64 == DESCRIPTOR_CONTROL_OFFSET);
};

#[rustfmt::skip]
impl Descriptor {
    /// The image in memory.
    pub const fn to_le_bytes(self) -> [u8; DESCRIPTOR_BYTES] {
        let address = self.address.to_le_bytes();
        let length = self.length.to_le_bytes();
        let cookie = self.cookie.to_le_bytes();
        let control = self.control.to_le_bytes();
        [
address[0], address[1], address[2], address[3], address[4], address[5], address[6], address[7],
length[0], length[1], length[2], length[3],
cookie[0], cookie[1],
control[0], control[1],
        ]
    }

    /// From the image in memory.
    pub const fn from_le_bytes(image: [u8; DESCRIPTOR_BYTES]) -> Self {
        Self {
            address: u64::from_le_bytes([image[0], image[1], image[2], image[3], image[4], image[5], image[6], image[7]]),
            length: u32::from_le_bytes([image[8], image[9], image[10], image[11]]),
            cookie: u16::from_le_bytes([image[12], image[13]]),
            control: u16::from_le_bytes([image[14], image[15]]),
        }
    }
}

/// One piece of a list, in a table in host memory, 16-byte aligned. The fields are in the host's byte order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct ListEntry {
    /// of the piece, any byte; with `chain` of the next table, 16-byte aligned
    pub address: u64,
    /// bytes in the piece; ignored with `chain`
    pub length: u32,
    /// flags
    pub control: u32,
}

const _: () = {
    assert!(core::mem::size_of::<ListEntry>() == LIST_ENTRY_BYTES);
    assert!(core::mem::offset_of!(ListEntry, address) as u64 == LIST_ENTRY_ADDRESS_OFFSET);
    assert!(core::mem::offset_of!(ListEntry, length) as u64 == LIST_ENTRY_LENGTH_OFFSET);
    assert!(core::mem::offset_of!(ListEntry, control) as u64 == LIST_ENTRY_CONTROL_OFFSET);
};

#[rustfmt::skip]
impl ListEntry {
    /// The image in memory.
    pub const fn to_le_bytes(self) -> [u8; LIST_ENTRY_BYTES] {
        let address = self.address.to_le_bytes();
        let length = self.length.to_le_bytes();
        let control = self.control.to_le_bytes();
        [
address[0], address[1], address[2], address[3], address[4], address[5], address[6], address[7],
length[0], length[1], length[2], length[3],
control[0], control[1], control[2], control[3],
        ]
    }

    /// From the image in memory.
    pub const fn from_le_bytes(image: [u8; LIST_ENTRY_BYTES]) -> Self {
        Self {
            address: u64::from_le_bytes([image[0], image[1], image[2], image[3], image[4], image[5], image[6], image[7]]),
            length: u32::from_le_bytes([image[8], image[9], image[10], image[11]]),
            control: u32::from_le_bytes([image[12], image[13], image[14], image[15]]),
        }
    }
}

/// What the card writes into a channel's ring, whole and after the data it tells of. The fields are in the host's byte order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct Completion {
    /// moved; in a message start bits 31:0 of the message's length
    pub bytes: u32,
    /// C2H: the message's offset, as the core gave it
    pub offset: u32,
    /// C2H: the message's user word, as the core gave it
    pub user: u32,
    /// of the descriptor; in a message start bits 47:32 of the message's length
    pub cookie: u16,
    /// how the descriptor ended
    pub status: u8,
    /// flags
    pub flags: u8,
}

const _: () = {
    assert!(core::mem::size_of::<Completion>() == COMPLETION_BYTES);
    assert!(core::mem::offset_of!(Completion, bytes) as u64 == COMPLETION_BYTES_OFFSET);
    assert!(core::mem::offset_of!(Completion, offset) as u64 == COMPLETION_OFFSET_OFFSET);
    assert!(core::mem::offset_of!(Completion, user) as u64 == COMPLETION_USER_OFFSET);
    assert!(core::mem::offset_of!(Completion, cookie) as u64 == COMPLETION_COOKIE_OFFSET);
    assert!(core::mem::offset_of!(Completion, status) as u64 == COMPLETION_STATUS_OFFSET);
    assert!(core::mem::offset_of!(Completion, flags) as u64 == COMPLETION_FLAGS_OFFSET);
};

#[rustfmt::skip]
impl Completion {
    /// The image in memory.
    pub const fn to_le_bytes(self) -> [u8; COMPLETION_BYTES] {
        let bytes = self.bytes.to_le_bytes();
        let offset = self.offset.to_le_bytes();
        let user = self.user.to_le_bytes();
        let cookie = self.cookie.to_le_bytes();
        let status = self.status.to_le_bytes();
        let flags = self.flags.to_le_bytes();
        [
bytes[0], bytes[1], bytes[2], bytes[3],
offset[0], offset[1], offset[2], offset[3],
user[0], user[1], user[2], user[3],
cookie[0], cookie[1],
status[0],
flags[0],
        ]
    }

    /// From the image in memory.
    pub const fn from_le_bytes(image: [u8; COMPLETION_BYTES]) -> Self {
        Self {
            bytes: u32::from_le_bytes([image[0], image[1], image[2], image[3]]),
            offset: u32::from_le_bytes([image[4], image[5], image[6], image[7]]),
            user: u32::from_le_bytes([image[8], image[9], image[10], image[11]]),
            cookie: u16::from_le_bytes([image[12], image[13]]),
            status: u8::from_le_bytes([image[14]]),
            flags: u8::from_le_bytes([image[15]]),
        }
    }
}

/// A packet in the log of plug-in `tlplog`. What a packet of its stream does not have is 0. The fields are in the host's byte order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct PluginTlplogEntry {
    /// of the first dword: in memory, or of an access to a BAR in the BAR; of an answer its lower address
    pub address: u64,
    /// header
    pub header: u32,
    /// identification
    pub ids: u32,
    /// first dword of payload, as it was sent: byte 0 lowest
    pub data: u32,
    /// who asked, of accesses to BARs and their answers: bus, device, function
    pub requester: u16,
    /// bits 47:32 of the time
    pub time_high: u16,
    /// time when the packet began, in clocks of Towpath's since it was configured
    pub time_low: u32,
    /// of the packet, counted from 0 at `clear`, modulo 2^32: tells an entry from the one that was there before
    pub number: u32,
}

const _: () = {
    assert!(core::mem::size_of::<PluginTlplogEntry>() == PLUGIN_TLPLOG_ENTRY_BYTES);
    assert!(core::mem::offset_of!(PluginTlplogEntry, address) as u64 == PLUGIN_TLPLOG_ENTRY_ADDRESS_OFFSET);
    assert!(core::mem::offset_of!(PluginTlplogEntry, header) as u64 == PLUGIN_TLPLOG_ENTRY_HEADER_OFFSET);
    assert!(core::mem::offset_of!(PluginTlplogEntry, ids) as u64 == PLUGIN_TLPLOG_ENTRY_IDS_OFFSET);
    assert!(core::mem::offset_of!(PluginTlplogEntry, data) as u64 == PLUGIN_TLPLOG_ENTRY_DATA_OFFSET);
    assert!(core::mem::offset_of!(PluginTlplogEntry, requester) as u64 == PLUGIN_TLPLOG_ENTRY_REQUESTER_OFFSET);
    assert!(core::mem::offset_of!(PluginTlplogEntry, time_high) as u64 == PLUGIN_TLPLOG_ENTRY_TIME_HIGH_OFFSET);
    assert!(core::mem::offset_of!(PluginTlplogEntry, time_low) as u64 == PLUGIN_TLPLOG_ENTRY_TIME_LOW_OFFSET);
    assert!(core::mem::offset_of!(PluginTlplogEntry, number) as u64 == PLUGIN_TLPLOG_ENTRY_NUMBER_OFFSET);
};

#[rustfmt::skip]
impl PluginTlplogEntry {
    /// The image in memory.
    pub const fn to_le_bytes(self) -> [u8; PLUGIN_TLPLOG_ENTRY_BYTES] {
        let address = self.address.to_le_bytes();
        let header = self.header.to_le_bytes();
        let ids = self.ids.to_le_bytes();
        let data = self.data.to_le_bytes();
        let requester = self.requester.to_le_bytes();
        let time_high = self.time_high.to_le_bytes();
        let time_low = self.time_low.to_le_bytes();
        let number = self.number.to_le_bytes();
        [
address[0], address[1], address[2], address[3], address[4], address[5], address[6], address[7],
header[0], header[1], header[2], header[3],
ids[0], ids[1], ids[2], ids[3],
data[0], data[1], data[2], data[3],
requester[0], requester[1],
time_high[0], time_high[1],
time_low[0], time_low[1], time_low[2], time_low[3],
number[0], number[1], number[2], number[3],
        ]
    }

    /// From the image in memory.
    pub const fn from_le_bytes(image: [u8; PLUGIN_TLPLOG_ENTRY_BYTES]) -> Self {
        Self {
            address: u64::from_le_bytes([image[0], image[1], image[2], image[3], image[4], image[5], image[6], image[7]]),
            header: u32::from_le_bytes([image[8], image[9], image[10], image[11]]),
            ids: u32::from_le_bytes([image[12], image[13], image[14], image[15]]),
            data: u32::from_le_bytes([image[16], image[17], image[18], image[19]]),
            requester: u16::from_le_bytes([image[20], image[21]]),
            time_high: u16::from_le_bytes([image[22], image[23]]),
            time_low: u32::from_le_bytes([image[24], image[25], image[26], image[27]]),
            number: u32::from_le_bytes([image[28], image[29], image[30], image[31]]),
        }
    }
}

/// What is wrong with a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableFault {
    /// A register, or the sum of several that a rule limits.
    pub what: &'static str,
    /// What the card says it is.
    pub value: u64,
    /// What it is at least.
    pub least: u64,
    /// What it is at most.
    pub most: u64,
    /// What else is to be said of that; or empty.
    pub besides: &'static str,
}

impl core::fmt::Display for TableFault {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} is {}; allowed: {} to {}{}", self.what, self.value, self.least, self.most, self.besides)
    }
}

/// An error if `what` breaks its limits. The powers of two are 0 and those above.
fn limit(
    what: &'static str,
    value: u64,
    least: u64,
    most: u64,
    multiple_of: u64,
    power_of_two: bool,
    besides: &'static str,
) -> Result<(), TableFault> {
    let odd = value & (multiple_of - 1) != 0 || (power_of_two && value & value.wrapping_sub(1) != 0);
    if value < least || value > most || odd {
        return Err(TableFault { what, value, least, most, besides });
    }
    Ok(())
}

/// Page 0, read-only: what the card is. A host reads `magic`, then the version, then the rest. The numbers are in the host's byte order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Discovery {
    /// the bytes "TOWPATH\0"
    pub magic: u64,
    /// of the contract; a host refuses another than its own
    pub version_major: u16,
    /// of the contract; a minor version only adds
    pub version_minor: u16,
    /// of this header
    pub header_bytes: u16,
    /// a page of BAR 0 has 1 << page_shift bytes
    pub page_shift: u8,
    /// width of the core's data path
    pub data_bytes: u8,
    /// number of channels, and of entries
    pub channels: u16,
    /// of the first channel entry in this page
    pub entry_offset: u16,
    /// from one channel entry to the next
    pub entry_bytes: u16,
    /// MSI-X vectors
    pub vectors: u16,
    /// interrupts of the user core
    pub user_interrupts: u16,
    /// read requests that the card can have in flight
    pub tags: u16,
    /// of the register window in BAR 2; 0: none
    pub window_bytes: u32,
    /// of the card
    pub serial: u64,
    /// Towpath's clock
    pub core_clock_khz: u32,
    /// the user core's clock
    pub user_clock_khz: u32,
    /// of the user core: a number of its own
    pub core_version: u32,
    /// of the user core, UTF-8, zero padded
    pub core_name: [u8; 32],
    /// of BAR 4, the windows onto the user core's memories; 0: none
    pub memory_window_bytes: u64,
    /// number of plug-ins, and of entries
    pub plugins: u16,
    /// what the card was built with
    pub features: u16,
}

#[rustfmt::skip]
impl Discovery {
    /// Bytes of the image.
    pub const IMAGE_BYTES: usize = 116;

    /// From the bytes that the card shows.
    pub fn from_image(image: &[u8; 116]) -> Self {
        let mut core_name = [0; 32];
        core_name.copy_from_slice(&image[64..96]);
        Self {
            magic: u64::from_le_bytes([image[0], image[1], image[2], image[3], image[4], image[5], image[6], image[7]]),
            version_major: u16::from_le_bytes([image[8], image[9]]),
            version_minor: u16::from_le_bytes([image[10], image[11]]),
            header_bytes: u16::from_le_bytes([image[12], image[13]]),
            page_shift: u8::from_le_bytes([image[14]]),
            data_bytes: u8::from_le_bytes([image[15]]),
            channels: u16::from_le_bytes([image[16], image[17]]),
            entry_offset: u16::from_le_bytes([image[18], image[19]]),
            entry_bytes: u16::from_le_bytes([image[20], image[21]]),
            vectors: u16::from_le_bytes([image[22], image[23]]),
            user_interrupts: u16::from_le_bytes([image[24], image[25]]),
            tags: u16::from_le_bytes([image[26], image[27]]),
            window_bytes: u32::from_le_bytes([image[28], image[29], image[30], image[31]]),
            serial: u64::from_le_bytes([image[32], image[33], image[34], image[35], image[36], image[37], image[38], image[39]]),
            core_clock_khz: u32::from_le_bytes([image[40], image[41], image[42], image[43]]),
            user_clock_khz: u32::from_le_bytes([image[44], image[45], image[46], image[47]]),
            core_version: u32::from_le_bytes([image[48], image[49], image[50], image[51]]),
            core_name,
            memory_window_bytes: u64::from_le_bytes([image[96], image[97], image[98], image[99], image[100], image[101], image[102], image[103]]),
            plugins: u16::from_le_bytes([image[112], image[113]]),
            features: u16::from_le_bytes([image[114], image[115]]),
        }
    }

    /// An error: a host must not believe it. The caller has looked at magic and version.
    pub fn check(&self, bar_device: u64, bar_window: u64, bar_memory: u64) -> Result<(), TableFault> {
        limit("header_bytes", u64::from(self.header_bytes), 116, 65535, 1, false, "")?;
        limit("page_shift", u64::from(self.page_shift), 12, 16, 1, false, "")?;
        limit("data_bytes", u64::from(self.data_bytes), 8, 128, 1, true, ", a power of two")?;
        limit("channels", u64::from(self.channels), 1, 60, 1, false, "")?;
        limit("entry_offset", u64::from(self.entry_offset), 0, 65535, 8, false, ", a multiple of 8")?;
        limit("entry_bytes", u64::from(self.entry_bytes), 64, 65535, 8, false, ", a multiple of 8")?;
        limit("vectors", u64::from(self.vectors), 1, 128, 1, false, "")?;
        limit("user_interrupts", u64::from(self.user_interrupts), 0, 16, 1, false, "")?;
        limit("tags", u64::from(self.tags), 1, 1024, 1, false, "")?;
        limit("window_bytes", u64::from(self.window_bytes), 0, 4294967295, 8, true, ", a multiple of 8, 0 or a power of two")?;
        limit("core_clock_khz", u64::from(self.core_clock_khz), 1, 4294967295, 1, false, "")?;
        limit("memory_window_bytes", self.memory_window_bytes, 0, 18446744073709551615, 1, true, ", 0 or a power of two")?;
        limit("plugins", u64::from(self.plugins), 0, 8, 1, false, "")?;
        // header_bytes <= entry_offset
        limit("header_bytes", u64::from(self.header_bytes), 0, u64::from(self.entry_offset), 1, false, " (entry_offset)")?;
        // (8 + plugins) << 4 <= header_bytes
        limit("(8 + plugins) << 4", (8 + u64::from(self.plugins)) << 4, 0, u64::from(self.header_bytes), 1, false, " (header_bytes)")?;
        // entry_offset + channels * entry_bytes <= 1 << page_shift
        limit("entry_offset + channels * entry_bytes", u64::from(self.entry_offset) + (u64::from(self.channels) * u64::from(self.entry_bytes)), 0, 1 << u64::from(self.page_shift), 1, false, " (1 << page_shift)")?;
        // PAGE_CHANNELS << page_shift <= bar_device
        limit("4 << page_shift", 4 << u64::from(self.page_shift), 0, bar_device, 1, false, " (the bytes of BAR 0)")?;
        // window_bytes <= bar_window
        limit("window_bytes", u64::from(self.window_bytes), 0, bar_window, 1, false, " (the bytes of BAR 2)")?;
        // memory_window_bytes <= bar_memory
        limit("memory_window_bytes", self.memory_window_bytes, 0, bar_memory, 1, false, " (the bytes of BAR 4)")?;
        Ok(())
    }
}

/// What a plug-in is. Entry n describes plug-in n. The numbers are in the host's byte order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PluginEntry {
    /// ASCII, zero padded
    pub type_name: [u8; 8],
    /// of the type; a host that knows another one leaves the plug-in alone
    pub version: u16,
    /// of its registers, 4096 bytes each
    pub pages: u16,
    /// of its registers in the register window
    pub offset: u32,
}

#[rustfmt::skip]
impl PluginEntry {
    /// Bytes of the image.
    pub const IMAGE_BYTES: usize = 16;

    /// From the bytes that the card shows.
    pub fn from_image(image: &[u8; 16]) -> Self {
        let mut type_name = [0; 8];
        type_name.copy_from_slice(&image[0..8]);
        Self {
            type_name,
            version: u16::from_le_bytes([image[8], image[9]]),
            pages: u16::from_le_bytes([image[10], image[11]]),
            offset: u32::from_le_bytes([image[12], image[13], image[14], image[15]]),
        }
    }

    /// An error: a host must not believe it. The caller has checked `discovery`; `others` are the entries before.
    pub fn check(&self, discovery: &Discovery) -> Result<(), TableFault> {
        limit("pages", u64::from(self.pages), 1, 65535, 1, false, "")?;
        limit("offset", u64::from(self.offset), 0, 4294967295, 4096, false, ", a multiple of 4096")?;
        // offset + (pages << 12) <= window_bytes
        limit("offset + (pages << 12)", u64::from(self.offset) + (u64::from(self.pages) << 12), 0, u64::from(discovery.window_bytes), 1, false, " (window_bytes)")?;
        Ok(())
    }
}

/// What a channel is. Entry n describes channel n. The numbers are in the host's byte order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChannelEntry {
    /// which way data goes
    pub direction: u8,
    /// what carries data at the card's end
    pub kind: u8,
    /// of the kind; a host that knows another one leaves the channel alone
    pub kind_version: u16,
    /// descriptors that may be posted and not yet completed
    pub queue_depth: u16,
    /// slots in the inline page; 0: no inline descriptors
    pub inline_slots: u16,
    /// index of the channel's privileged page; doorbell, inline and batch page follow it
    pub first_page: u32,
    /// the card's own buffer: of an H2C channel, which shares it with the others of its kind, or of this C2H channel
    pub buffer_bytes: u32,
    /// slots for descriptors in the batch page; 0: it takes no batches
    pub batch_slots: u16,
    /// of a memory's window, or of an H2C stream's inbox: 1 + its offset in BAR 4, in MiB; 0: none
    pub window: u16,
    /// the kind's own; of a memory its size in pages of 4096 bytes; of a stream 0, or what it has for a peer: of H2C the bytes that its inbox holds, of C2H 1
    pub kind_parameter: u32,
    /// ASCII, zero padded
    pub kind_name: [u8; 8],
    /// UTF-8, zero padded
    pub name: [u8; 32],
}

#[rustfmt::skip]
impl ChannelEntry {
    /// Bytes of the image.
    pub const IMAGE_BYTES: usize = 64;

    /// From the bytes that the card shows.
    pub fn from_image(image: &[u8; 64]) -> Self {
        let mut kind_name = [0; 8];
        kind_name.copy_from_slice(&image[24..32]);
        let mut name = [0; 32];
        name.copy_from_slice(&image[32..64]);
        Self {
            direction: u8::from_le_bytes([image[0]]),
            kind: u8::from_le_bytes([image[1]]),
            kind_version: u16::from_le_bytes([image[2], image[3]]),
            queue_depth: u16::from_le_bytes([image[4], image[5]]),
            inline_slots: u16::from_le_bytes([image[6], image[7]]),
            first_page: u32::from_le_bytes([image[8], image[9], image[10], image[11]]),
            buffer_bytes: u32::from_le_bytes([image[12], image[13], image[14], image[15]]),
            batch_slots: u16::from_le_bytes([image[16], image[17]]),
            window: u16::from_le_bytes([image[18], image[19]]),
            kind_parameter: u32::from_le_bytes([image[20], image[21], image[22], image[23]]),
            kind_name,
            name,
        }
    }

    /// An error: a host must not believe it. The caller has checked `discovery`; `others` are the entries before.
    pub fn check(&self, others: &[ChannelEntry], discovery: &Discovery, bar_device: u64) -> Result<(), TableFault> {
        limit("direction", u64::from(self.direction), 0, 1, 1, false, ", h2c or c2h")?;
        limit("queue_depth", u64::from(self.queue_depth), 1, 32767, 1, false, "")?;
        limit("inline_slots", u64::from(self.inline_slots), 0, 64, 1, false, "")?;
        limit("first_page", u64::from(self.first_page), 4, 4294967295, 1, false, "")?;
        limit("batch_slots", u64::from(self.batch_slots), 0, 256, 1, true, ", 0 or a power of two")?;
        // direction == h2c or inline_slots <= 0
        if u64::from(self.direction) != 0 {
            limit("inline_slots", u64::from(self.inline_slots), 0, 0, 1, false, " unless direction == h2c")?;
        }
        // (first_page + PAGES_PER_CHANNEL) << page_shift <= bar_device
        limit("(first_page + 4) << page_shift", (u64::from(self.first_page) + 4) << u64::from(discovery.page_shift), 0, bar_device, 1, false, " (the bytes of BAR 0)")?;
        // window << 20 <= memory_window_bytes
        limit("window << 20", u64::from(self.window) << 20, 0, discovery.memory_window_bytes, 1, false, " (memory_window_bytes)")?;
        for other in others {
            if self.first_page.abs_diff(other.first_page) < 4 {
                return Err(TableFault { what: "first_page", value: self.first_page.into(), least: 4, most: 4294967295, besides: ", 4 or more away from every other entry's" });
            }
        }
        Ok(())
    }
}
