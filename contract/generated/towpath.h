/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Generated from contract/towpath.rdl by `python3 contract/generate.py`: do not edit.
 *
 * What both ends of the link agree on: offsets, fields, values and structures. What happens is in contract/protocol.md.
 * For C11 and later, C++11 and later, and the Linux kernel. Everything is little-endian; masks are in place.
 */
#ifndef TOWPATH_CONTRACT_H
#define TOWPATH_CONTRACT_H

#ifdef __KERNEL__
#include <linux/stddef.h>
#include <linux/types.h>
typedef __u8 tp_u8;
typedef __u16 tp_u16;
typedef __u32 tp_u32;
typedef __u64 tp_u64;
typedef __le16 tp_le16;
typedef __le32 tp_le32;
typedef __le64 tp_le64;
#else
#include <stddef.h>
#include <stdint.h>
typedef uint8_t tp_u8;
typedef uint16_t tp_u16;
typedef uint32_t tp_u32;
typedef uint64_t tp_u64;
typedef uint16_t tp_le16;
typedef uint32_t tp_le32;
typedef uint64_t tp_le64;
#endif

#ifdef __cplusplus
#define TP_STATIC_ASSERT(condition, text) static_assert(condition, text)
#else
#define TP_STATIC_ASSERT(condition, text) _Static_assert(condition, text)
#endif

#define TP_VERSION_MAJOR 2u /* version of this contract: another one is refused */
#define TP_VERSION_MINOR 2u /* version of this contract: only adds */
#define TP_BAR_DEVICE 0u /* the BAR of pages */
#define TP_BAR_WINDOW 2u /* the BAR of the user core's registers */
#define TP_BAR_MEMORY 4u /* the BAR of the windows onto the user core's memories */
#define TP_PCI_VENDOR 0x1234u /* PCI identification, vendor: 0x1234, which stands for none */
#define TP_PCI_DEVICE 0x7470u /* PCI identification, device */
#define TP_PCI_SUBSYSTEM_VENDOR 0x1234u /* PCI identification, subsystem's vendor */
#define TP_PCI_SUBSYSTEM 0x0001u /* PCI identification, subsystem */
#define TP_PCI_CLASS 0x120000u /* PCI identification, class: a processing accelerator */
#define TP_PAGE_DISCOVERY 0u /* page of block DISCOVERY */
#define TP_PAGE_CARD 1u /* page of block CARD */
#define TP_PAGE_MSIX 2u /* page of block MSIX */
#define TP_PAGE_CHANNELS 4u /* first page of channel 0 */
#define TP_PAGES_PER_CHANNEL 4u /* from one channel's pages to the next's */
#define TP_PAGE_CHANNEL_PRIVILEGED 0u /* page among a channel's pages */
#define TP_PAGE_CHANNEL_DOORBELL 1u /* page among a channel's pages */
#define TP_PAGE_CHANNEL_INLINE 2u /* page among a channel's pages */
#define TP_PAGE_CHANNEL_BATCH 3u /* page among a channel's pages */
#define TP_PAGE_BYTES_MIN 4096u /* smallest page */
#define TP_CHANNELS_MAX 60u /* channels, both directions together */
#define TP_NAME_BYTES 32u /* of a name, zeroes included */
#define TP_PLUGINS_MAX 8u /* plug-ins */
#define TP_USER_INTERRUPTS 16u /* user interrupts that have registers */
#define TP_MSIX_VECTORS_MAX 128u /* vectors for which the table has room */
#define TP_INLINE_SLOT_BYTES 64u /* of an inline slot, the longest inline message */
#define TP_INLINE_SLOTS_MAX 64u /* inline slots in the smallest page */
#define TP_BATCH_SLOTS_MAX 256u /* slots for descriptors in the smallest batch page */

enum tp_direction {
    TP_DIRECTION_H2C = 0, /* host to card */
    TP_DIRECTION_C2H = 1, /* card to host */
};

enum tp_channel_kind {
    TP_CHANNEL_KIND_STREAM = 0, /* an AXI4-Stream of the user core */
    TP_CHANNEL_KIND_MEMORY = 1, /* addresses behind an AXI4 port of the user core */
    TP_CHANNEL_KIND_NAMED = 2, /* a kind from elsewhere, which `kind_name` tells */
    TP_CHANNEL_KIND_PEER = 3, /* an AXI4-Stream of the user core that carries a peer's data, and none of the host's */
};

enum tp_status {
    TP_STATUS_NONE = 0, /* of entries that complete nothing: message starts */
    TP_STATUS_DONE = 1, /* all bytes moved */
    TP_STATUS_END_OF_MESSAGE = 2, /* C2H: the message ended in this buffer */
    TP_STATUS_UNSUPPORTED_REQUEST = 3, /* the host refused a read: address not mapped, or the like */
    TP_STATUS_COMPLETER_ABORT = 4, /* the host could not answer a read */
    TP_STATUS_POISONED = 5, /* data came marked as corrupt */
    TP_STATUS_TIMEOUT = 6, /* the host did not answer a read in time */
    TP_STATUS_CANCELLED = 7, /* stopped by cancel, with the bytes so far */
    TP_STATUS_BUS_MASTERING_OFF = 8, /* the card may not access host memory */
    TP_STATUS_RESET = 9, /* stopped by a reset of the channel or the card */
    TP_STATUS_TORN = 10, /* the descriptor's words did not arrive whole and in order */
    TP_STATUS_MALFORMED = 11, /* unknown kind, slot or length out of range, list too short */
    TP_STATUS_BAD_COMPLETION = 12, /* an answer to a read had a wrong length or byte count */
    TP_STATUS_LINK_DOWN = 13, /* the link to the host went down */
    TP_STATUS_KIND_STATUS = 64, /* 65 to 127: the channel's kind says so, with a number of its own from 1 to 63 */
};

enum tp_kind {
    TP_KIND_DIRECT = 0, /* one contiguous piece of host memory */
    TP_KIND_LIST = 1, /* a table of pieces in host memory, which the card fetches */
    TP_KIND_INLINE = 2, /* the bytes stand in a slot of the inline page (H2C) */
    TP_KIND_ATTRIBUTES = 3, /* prefix: offset or card address, and user word of the message */
    TP_KIND_MESSAGE_LENGTH = 4, /* prefix: bytes in the whole message, 0: unknown */
};

enum tp_tlp_stream {
    TP_TLP_STREAM_SENT_WRITE = 0, /* the card writes memory, or raises an interrupt */
    TP_TLP_STREAM_SENT_READ = 1, /* the card reads memory */
    TP_TLP_STREAM_SENT_COMPLETION = 2, /* the card answers a read of a BAR */
    TP_TLP_STREAM_RECEIVED_WRITE = 4, /* a write to a BAR */
    TP_TLP_STREAM_RECEIVED_READ = 5, /* a read of a BAR */
    TP_TLP_STREAM_RECEIVED_COMPLETION = 6, /* an answer to a read of the card's */
};

enum tp_partial_outcome {
    TP_PARTIAL_OUTCOME_IDLE = 0, /* there was none since the card's reset, or it is under way */
    TP_PARTIAL_OUTCOME_LOADED = 1, /* the region holds the new core */
    TP_PARTIAL_OUTCOME_REFUSED = 2, /* a channel was within a message, and the core goes on as it was */
    TP_PARTIAL_OUTCOME_OVERRUN = 3, /* failed: a dword came for which there was no room */
    TP_PARTIAL_OUTCOME_PORT = 4, /* failed: the configuration port reports an error in the file */
    TP_PARTIAL_OUTCOME_ABORTED = 5, /* failed: by `abort` */
};

/* Page 0, read-only: what the card is. A host reads `magic`, then the version, then the rest. */
#define TP_DISCOVERY_MAGIC_OFFSET 0x00u /* the bytes "TOWPATH\0" */
#define TP_DISCOVERY_MAGIC_VALUE 0x48544150574f54ull
#define TP_DISCOVERY_VERSION_MAJOR_OFFSET 0x08u /* of the contract; a host refuses another than its own */
#define TP_DISCOVERY_VERSION_MAJOR_VALUE 0x2u
#define TP_DISCOVERY_VERSION_MINOR_OFFSET 0x0au /* of the contract; a minor version only adds */
#define TP_DISCOVERY_VERSION_MINOR_VALUE 0x2u
#define TP_DISCOVERY_HEADER_BYTES_OFFSET 0x0cu /* of this header */
#define TP_DISCOVERY_HEADER_BYTES_VALUE 0x100u
#define TP_DISCOVERY_PAGE_SHIFT_OFFSET 0x0eu /* a page of BAR 0 has 1 << page_shift bytes */
#define TP_DISCOVERY_DATA_BYTES_OFFSET 0x0fu /* width of the core's data path */
#define TP_DISCOVERY_CHANNELS_OFFSET 0x10u /* number of channels, and of entries */
#define TP_DISCOVERY_ENTRY_OFFSET_OFFSET 0x12u /* of the first channel entry in this page */
#define TP_DISCOVERY_ENTRY_OFFSET_VALUE 0x100u
#define TP_DISCOVERY_ENTRY_BYTES_OFFSET 0x14u /* from one channel entry to the next */
#define TP_DISCOVERY_ENTRY_BYTES_VALUE 0x40u
#define TP_DISCOVERY_VECTORS_OFFSET 0x16u /* MSI-X vectors */
#define TP_DISCOVERY_USER_INTERRUPTS_OFFSET 0x18u /* interrupts of the user core */
#define TP_DISCOVERY_TAGS_OFFSET 0x1au /* read requests that the card can have in flight */
#define TP_DISCOVERY_WINDOW_BYTES_OFFSET 0x1cu /* of the register window in BAR 2; 0: none */
#define TP_DISCOVERY_SERIAL_OFFSET 0x20u /* of the card */
#define TP_DISCOVERY_CORE_CLOCK_KHZ_OFFSET 0x28u /* Towpath's clock */
#define TP_DISCOVERY_USER_CLOCK_KHZ_OFFSET 0x2cu /* the user core's clock */
#define TP_DISCOVERY_CORE_VERSION_OFFSET 0x30u /* of the user core: a number of its own */
#define TP_DISCOVERY_CORE_NAME_OFFSET 0x40u /* of the user core, UTF-8, zero padded */
#define TP_DISCOVERY_CORE_NAME_COUNT 32u
#define TP_DISCOVERY_CORE_NAME_STRIDE 1u
#define TP_DISCOVERY_MEMORY_WINDOW_BYTES_OFFSET 0x60u /* of BAR 4, the windows onto the user core's memories; 0: none */
#define TP_DISCOVERY_PLUGINS_OFFSET 0x70u /* number of plug-ins, and of entries */
#define TP_DISCOVERY_FEATURES_OFFSET 0x72u /* what the card was built with */
#define TP_DISCOVERY_FEATURES_QOS_LSB 0 /* channels have weights, rates and traffic classes */
#define TP_DISCOVERY_FEATURES_QOS_MASK 0x1u
#define TP_DISCOVERY_FEATURES_FILL_LSB 1 /* channels fire at a fill level */
#define TP_DISCOVERY_FEATURES_FILL_MASK 0x2u
#define TP_DISCOVERY_PLUGIN_ENTRY_OFFSET 0x80u /* What a plug-in is. Entry n describes plug-in n. */
#define TP_DISCOVERY_PLUGIN_ENTRY_COUNT 8u
#define TP_DISCOVERY_PLUGIN_ENTRY_STRIDE 16u
#define TP_DISCOVERY_CHANNEL_ENTRY_OFFSET 0x100u /* What a channel is. Entry n describes channel n. */
#define TP_DISCOVERY_CHANNEL_ENTRY_COUNT 60u
#define TP_DISCOVERY_CHANNEL_ENTRY_STRIDE 64u

/* What a plug-in is. Entry n describes plug-in n. */
#define TP_PLUGIN_ENTRY_BYTES 16u
#define TP_PLUGIN_ENTRY_TYPE_NAME_OFFSET 0x00u /* ASCII, zero padded */
#define TP_PLUGIN_ENTRY_TYPE_NAME_COUNT 8u
#define TP_PLUGIN_ENTRY_TYPE_NAME_STRIDE 1u
#define TP_PLUGIN_ENTRY_VERSION_OFFSET 0x08u /* of the type; a host that knows another one leaves the plug-in alone */
#define TP_PLUGIN_ENTRY_PAGES_OFFSET 0x0au /* of its registers, 4096 bytes each */
#define TP_PLUGIN_ENTRY_OFFSET_OFFSET 0x0cu /* of its registers in the register window */

/* What a channel is. Entry n describes channel n. */
#define TP_CHANNEL_ENTRY_BYTES 64u
#define TP_CHANNEL_ENTRY_DIRECTION_OFFSET 0x00u /* which way data goes */
#define TP_CHANNEL_ENTRY_KIND_OFFSET 0x01u /* what carries data at the card's end */
#define TP_CHANNEL_ENTRY_KIND_VERSION_OFFSET 0x02u /* of the kind; a host that knows another one leaves the channel alone */
#define TP_CHANNEL_ENTRY_QUEUE_DEPTH_OFFSET 0x04u /* descriptors that may be posted and not yet completed */
#define TP_CHANNEL_ENTRY_INLINE_SLOTS_OFFSET 0x06u /* slots in the inline page; 0: no inline descriptors */
#define TP_CHANNEL_ENTRY_FIRST_PAGE_OFFSET 0x08u /* index of the channel's privileged page; doorbell, inline and batch page follow it */
#define TP_CHANNEL_ENTRY_BUFFER_BYTES_OFFSET 0x0cu /* the card's own buffer: of an H2C channel, which shares it with the others of its kind, or of this C2H channel */
#define TP_CHANNEL_ENTRY_BATCH_SLOTS_OFFSET 0x10u /* slots for descriptors in the batch page; 0: it takes no batches */
#define TP_CHANNEL_ENTRY_WINDOW_OFFSET 0x12u /* of a memory's window, or of an H2C stream's inbox: 1 + its offset in BAR 4, in MiB; 0: none */
#define TP_CHANNEL_ENTRY_KIND_PARAMETER_OFFSET 0x14u /* the kind's own; of a memory its size in pages of 4096 bytes; of a stream 0, or what it has for a peer: of H2C the bytes that its inbox holds, of C2H 1 */
#define TP_CHANNEL_ENTRY_KIND_NAME_OFFSET 0x18u /* ASCII, zero padded */
#define TP_CHANNEL_ENTRY_KIND_NAME_COUNT 8u
#define TP_CHANNEL_ENTRY_KIND_NAME_STRIDE 1u
#define TP_CHANNEL_ENTRY_NAME_OFFSET 0x20u /* UTF-8, zero padded */
#define TP_CHANNEL_ENTRY_NAME_COUNT 32u
#define TP_CHANNEL_ENTRY_NAME_STRIDE 1u

/* Page 1: what concerns all channels and the user core. The driver's. */
#define TP_CARD_CONTROL_OFFSET 0x00u /* control */
#define TP_CARD_CONTROL_RESET_LSB 0 /* write 1: resets all channels and the user core; reads 1 until that is done */
#define TP_CARD_CONTROL_RESET_MASK 0x1u
#define TP_CARD_STATUS_OFFSET 0x04u /* reserved */
#define TP_CARD_WINDOW_TIMEOUT_OFFSET 0x08u /* core clocks that an access of the register window may take, and a read or the write ahead of a memory window */
#define TP_CARD_WINDOW_TIMEOUT_RESET 0x3d090u
#define TP_CARD_WINDOW_STATUS_OFFSET 0x0cu /* what went wrong in the windows since it was last cleared */
#define TP_CARD_WINDOW_STATUS_TIMEOUT_LSB 0 /* the user core did not answer in time */
#define TP_CARD_WINDOW_STATUS_TIMEOUT_MASK 0x1u
#define TP_CARD_WINDOW_STATUS_ERROR_LSB 1 /* the user core answered SLVERR or DECERR */
#define TP_CARD_WINDOW_STATUS_ERROR_MASK 0x2u
#define TP_CARD_WINDOW_STATUS_MEMORY_TIMEOUT_LSB 2 /* a memory did not answer in time: the windows are off, and this stays 1, until the card is reset */
#define TP_CARD_WINDOW_STATUS_MEMORY_TIMEOUT_MASK 0x4u
#define TP_CARD_WINDOW_STATUS_MEMORY_ERROR_LSB 3 /* a memory answered SLVERR or DECERR, or there is none at the address */
#define TP_CARD_WINDOW_STATUS_MEMORY_ERROR_MASK 0x8u
#define TP_CARD_INBOUND_OVERRUNS_OFFSET 0x10u /* writes to doorbells or registers that were dropped: no room, or not within 8 aligned bytes */
#define TP_CARD_WINDOW_OVERRUNS_OFFSET 0x14u /* writes to the register window that were dropped: no room, or not within 8 aligned bytes */
#define TP_CARD_WINDOW_TIMEOUTS_OFFSET 0x18u /* accesses of the register window that were not answered in time */
#define TP_CARD_MEMORY_WINDOW_OVERRUNS_OFFSET 0x1cu /* writes to the memory windows that were dropped: no room, or the windows are off */
#define TP_CARD_QUARANTINE_OFFSET 0x20u /* how long a timed-out tag stays out of use when its late answer never comes, in completion timeouts; 0: until the link goes down */
#define TP_CARD_QUARANTINE_RESET 0x10u
#define TP_CARD_QUARANTINED_OFFSET 0x24u /* tags in quarantine now */
#define TP_CARD_MEMORY_WINDOW_ERRORS_OFFSET 0x28u /* writes to the memory windows that a memory refused, or that no memory is behind */
#define TP_CARD_USER_IRQ_ENABLE_OFFSET 0x40u /* bit k: user interrupt k fires `user_irq_vector[k]` */
#define TP_CARD_UNSUPPORTED_REQUESTS_OFFSET 0x48u /* reads which the host refused */
#define TP_CARD_COMPLETER_ABORTS_OFFSET 0x4cu /* reads which the host could not answer */
#define TP_CARD_POISONED_OFFSET 0x50u /* reads with data marked as corrupt */
#define TP_CARD_TIMEOUTS_OFFSET 0x54u /* reads which were not answered in time */
#define TP_CARD_BAD_COMPLETIONS_OFFSET 0x58u /* reads answered with a wrong length or byte count */
#define TP_CARD_LATE_COMPLETIONS_OFFSET 0x5cu /* answers that came after their read was given up */
#define TP_CARD_BUS_MASTERING_LOSSES_OFFSET 0x60u /* times that bus mastering was switched off */
#define TP_CARD_LINK_DOWNS_OFFSET 0x64u /* times that the link went down */
#define TP_CARD_FUNCTION_RESETS_OFFSET 0x68u /* function-level resets */
#define TP_CARD_UNEXPECTED_COMPLETIONS_OFFSET 0x6cu /* answers to reads which the card had not asked */
#define TP_CARD_USER_IRQ_VECTOR_OFFSET 0x80u /* MSI-X vector of user interrupt k */
#define TP_CARD_USER_IRQ_VECTOR_COUNT 16u
#define TP_CARD_USER_IRQ_VECTOR_STRIDE 4u
#define TP_CARD_USER_IRQ_COUNT_OFFSET 0xc0u /* events of user interrupt k, modulo 2^32 */
#define TP_CARD_USER_IRQ_COUNT_COUNT 16u
#define TP_CARD_USER_IRQ_COUNT_STRIDE 4u

/* Page 2: MSI-X. The kernel's. */
#define TP_MSIX_VECTOR_OFFSET 0x00u /* One vector of the MSI-X table. */
#define TP_MSIX_VECTOR_COUNT 128u
#define TP_MSIX_VECTOR_STRIDE 16u
#define TP_MSIX_PENDING_OFFSET 0x800u /* bit v modulo 64 of word v / 64: vector v is pending */
#define TP_MSIX_PENDING_COUNT 32u
#define TP_MSIX_PENDING_STRIDE 8u

/* One vector of the MSI-X table. */
#define TP_MSIX_VECTOR_BYTES 16u
#define TP_MSIX_VECTOR_ADDRESS_OFFSET 0x00u /* to which the message is written */
#define TP_MSIX_VECTOR_DATA_OFFSET 0x08u /* of the message */
#define TP_MSIX_VECTOR_CONTROL_OFFSET 0x0cu /* control */
#define TP_MSIX_VECTOR_CONTROL_RESET 0x1u
#define TP_MSIX_VECTOR_CONTROL_MASK_LSB 0 /* holds the vector back and pending */
#define TP_MSIX_VECTOR_CONTROL_MASK_MASK 0x1u

/* A channel's privileged page. The driver's. */
#define TP_CHANNEL_CONTROL_OFFSET 0x00u /* control */
#define TP_CHANNEL_CONTROL_ENABLE_LSB 0 /* the channel runs; without it descriptors are dropped */
#define TP_CHANNEL_CONTROL_ENABLE_MASK 0x1u
#define TP_CHANNEL_CONTROL_ANNOUNCE_LSB 1 /* C2H: write message starts */
#define TP_CHANNEL_CONTROL_ANNOUNCE_MASK 0x2u
#define TP_CHANNEL_RESET_OFFSET 0x04u /* reset */
#define TP_CHANNEL_RESET_RESET_LSB 0 /* write 1: resets the channel; reads 1 until that is done */
#define TP_CHANNEL_RESET_RESET_MASK 0x1u
#define TP_CHANNEL_RING_BASE_OFFSET 0x08u /* bus address of the completion ring, aligned to its size */
#define TP_CHANNEL_RING_LOG2_OFFSET 0x10u /* the completion ring has 1 << ring_log2 entries, 2 to 16 */
#define TP_CHANNEL_VECTOR_OFFSET 0x14u /* MSI-X vector of the channel */
#define TP_CHANNEL_STATUS_OFFSET 0x18u /* status */
#define TP_CHANNEL_STATUS_RUNNING_LSB 0 /* the channel is enabled and takes descriptors */
#define TP_CHANNEL_STATUS_RUNNING_MASK 0x1u
#define TP_CHANNEL_STATUS_ERROR_LSB 1 /* a descriptor too many was posted; all are dropped until a reset */
#define TP_CHANNEL_STATUS_ERROR_MASK 0x2u
#define TP_CHANNEL_STATUS_RESETTING_LSB 2 /* a reset goes on */
#define TP_CHANNEL_STATUS_RESETTING_MASK 0x4u
#define TP_CHANNEL_OVERFLOWS_OFFSET 0x1cu /* descriptors and batches dropped */
#define TP_CHANNEL_TORN_OFFSET 0x20u /* descriptors that arrived torn */
#define TP_CHANNEL_PRODUCED_OFFSET 0x24u /* ring entries written since enable, modulo 2^32 */
#define TP_CHANNEL_CONSUMED_OFFSET 0x28u /* descriptors completed since enable, modulo 2^32 */
#define TP_CHANNEL_MODERATION_OFFSET 0x30u /* holds an armed interrupt back until there are several entries, or for a time; 0: never */
#define TP_CHANNEL_MODERATION_ENTRIES_LSB 0 /* fire when so many entries have not been reaped; 0 is 1 */
#define TP_CHANNEL_MODERATION_ENTRIES_MASK 0xffffu
#define TP_CHANNEL_MODERATION_TIME_LSB 16 /* or so many times 64 core clocks after the first of them; 0: at once */
#define TP_CHANNEL_MODERATION_TIME_MASK 0xffff0000u
#define TP_CHANNEL_PEER_BASE_OFFSET 0x38u /* bus address of what the channel writes to on the other card, C2H: the pairing's 8 KiB of the inbox; H2C: the doorbell `credit` of the channel that sends */
#define TP_CHANNEL_WEIGHT_OFFSET 0x40u /* the channel's part of the link while others of its direction want it, too; 0 counts as 1 */
#define TP_CHANNEL_WEIGHT_RESET 0x1u
#define TP_CHANNEL_TRAFFIC_CLASS_OFFSET 0x44u /* traffic class of the channel's reads and writes of data */
#define TP_CHANNEL_RATE_OFFSET 0x48u /* bytes of data that the channel may move in 2^20 core clocks; 0: as many as it can */
#define TP_CHANNEL_HELD_OFFSET 0x4cu /* what the card holds for the channel */
#define TP_CHANNEL_HELD_BYTES_LSB 0 /* bytes: not yet sent (C2H), not yet taken by the core (H2C) */
#define TP_CHANNEL_HELD_BYTES_MASK 0x7fffffffu
#define TP_CHANNEL_HELD_FULL_LSB 31 /* C2H: the core can send no more, and no descriptor is there */
#define TP_CHANNEL_HELD_FULL_MASK 0x80000000u
#define TP_CHANNEL_PEER_CONTROL_OFFSET 0x50u /* pairs the channel with one of another card; a reset of the channel clears `paired` and `posting` */
#define TP_CHANNEL_PEER_CONTROL_PAIRED_LSB 0 /* the channel is paired; from 0 to 1 its counts begin at 0 */
#define TP_CHANNEL_PEER_CONTROL_PAIRED_MASK 0x1u
#define TP_CHANNEL_PEER_CONTROL_POSTING_LSB 1 /* C2H: the card posts descriptors as far as it has credit; a fault clears it */
#define TP_CHANNEL_PEER_CONTROL_POSTING_MASK 0x2u
#define TP_CHANNEL_PEER_CONTROL_SLOT_LOG2_LSB 8 /* log2 of a slot's bytes, 7 to 12; both ends of a pair have the same */
#define TP_CHANNEL_PEER_CONTROL_SLOT_LOG2_MASK 0xf00u
#define TP_CHANNEL_PEER_CONTROL_KEY_LSB 16 /* stands in every credit, and its lower seven bits tell where the inbox is; both ends of a pair have the same, and each pairing another one than those before */
#define TP_CHANNEL_PEER_CONTROL_KEY_MASK 0xff0000u
#define TP_CHANNEL_PEER_STATUS_OFFSET 0x54u /* how a pair is doing */
#define TP_CHANNEL_PEER_STATUS_SLOTS_LSB 0 /* slots since pairing, modulo 2^16: C2H posted, H2C ended */
#define TP_CHANNEL_PEER_STATUS_SLOTS_MASK 0xffffu
#define TP_CHANNEL_PEER_STATUS_IDLE_LSB 16 /* C2H: no slot that was posted is under way; H2C: all that came has been taken by the core, but for the last beat of a message that has not ended */
#define TP_CHANNEL_PEER_STATUS_IDLE_MASK 0x10000u
#define TP_CHANNEL_PEER_STATUS_OPEN_LSB 17 /* H2C: a message of the peer's has come in part, and not its end */
#define TP_CHANNEL_PEER_STATUS_OPEN_MASK 0x20000u
#define TP_CHANNEL_PEER_STATUS_OVERRUN_LSB 18 /* H2C: since pairing something came that had no room, or that shows that something was lost, or the link was down: what came after that was dropped */
#define TP_CHANNEL_PEER_STATUS_OVERRUN_MASK 0x40000u
#define TP_CHANNEL_PEER_STATUS_WAITING_LSB 19 /* H2C: the inbox waits for the end of a message that the host has begun */
#define TP_CHANNEL_PEER_STATUS_WAITING_MASK 0x80000u
#define TP_CHANNEL_PEER_STATUS_FAULT_LSB 24 /* C2H: the fault that ended a slot since pairing; 0: none */
#define TP_CHANNEL_PEER_STATUS_FAULT_MASK 0xff000000u

/* A channel's doorbells: write-only, for the channel's user, mapped uncached. */
#define TP_DOORBELL_DESCRIPTOR_OFFSET 0x00u /* What a host posts: a piece of work, or a prefix of one. The meaning of address and length is the kind's. */
#define TP_DOORBELL_ARM_OFFSET 0x10u /* entries reaped since enable: fire as soon as the card has written more */
#define TP_DOORBELL_CANCEL_OFFSET 0x14u /* any value: end every descriptor committed before */
#define TP_DOORBELL_LEAD_OFFSET 0x18u /* early wake: fire when the descriptor in hand has no more bytes to go than these, in steps of 256; less: never */
#define TP_DOORBELL_BATCH_OFFSET 0x1cu /* commits so many descriptors of the batch page, the next ones in the order of its slots */
#define TP_DOORBELL_FILL_OFFSET 0x20u /* fires the channel's vector once, as soon as the card holds so many bytes */
#define TP_DOORBELL_FILL_BYTES_LSB 0 /* bytes; 0 with `above` 1: never */
#define TP_DOORBELL_FILL_BYTES_MASK 0x7fffffffu
#define TP_DOORBELL_FILL_ABOVE_LSB 31 /* 1: so many or more, or as many as can be; 0: so many or fewer */
#define TP_DOORBELL_FILL_ABOVE_MASK 0x80000000u
#define TP_DOORBELL_CREDIT_OFFSET 0x28u /* C2H, from the peer: how far its inbox has room */
#define TP_DOORBELL_CREDIT_SLOTS_LSB 0 /* slots since pairing that may be posted, modulo 2^16 */
#define TP_DOORBELL_CREDIT_SLOTS_MASK 0xffffu
#define TP_DOORBELL_CREDIT_KEY_LSB 16 /* that of the pairing; another one is ignored */
#define TP_DOORBELL_CREDIT_KEY_MASK 0xff0000u

/* What a host posts: a piece of work, or a prefix of one. The meaning of address and length is the kind's. */
#define TP_DESCRIPTOR_BYTES 16u
#define TP_DESCRIPTOR_ADDRESS_OFFSET 0x00u /* of the piece, the list's table or the inline slot; of a prefix its first value */
#define TP_DESCRIPTOR_LENGTH_OFFSET 0x08u /* bytes; of a prefix its second value */
#define TP_DESCRIPTOR_COOKIE_OFFSET 0x0cu /* the host's own, handed back in the completion */
#define TP_DESCRIPTOR_CONTROL_OFFSET 0x0eu /* kind and flags */
#define TP_DESCRIPTOR_CONTROL_KIND_LSB 0 /* what the descriptor is */
#define TP_DESCRIPTOR_CONTROL_KIND_MASK 0xfu
#define TP_DESCRIPTOR_CONTROL_END_LSB 4 /* H2C: the message ends after this descriptor's last byte */
#define TP_DESCRIPTOR_CONTROL_END_MASK 0x10u

/* One piece of a list, in a table in host memory, 16-byte aligned. */
#define TP_LIST_ENTRY_BYTES 16u
#define TP_LIST_ENTRY_ADDRESS_OFFSET 0x00u /* of the piece, any byte; with `chain` of the next table, 16-byte aligned */
#define TP_LIST_ENTRY_LENGTH_OFFSET 0x08u /* bytes in the piece; ignored with `chain` */
#define TP_LIST_ENTRY_CONTROL_OFFSET 0x0cu /* flags */
#define TP_LIST_ENTRY_CONTROL_LAST_LSB 0 /* the list ends with this entry */
#define TP_LIST_ENTRY_CONTROL_LAST_MASK 0x1u
#define TP_LIST_ENTRY_CONTROL_CHAIN_LSB 1 /* the entry holds no data but the address of the next table */
#define TP_LIST_ENTRY_CONTROL_CHAIN_MASK 0x2u

/* What the card writes into a channel's ring, whole and after the data it tells of. */
#define TP_COMPLETION_BYTES 16u
#define TP_COMPLETION_BYTES_OFFSET 0x00u /* moved; in a message start bits 31:0 of the message's length */
#define TP_COMPLETION_OFFSET_OFFSET 0x04u /* C2H: the message's offset, as the core gave it */
#define TP_COMPLETION_USER_OFFSET 0x08u /* C2H: the message's user word, as the core gave it */
#define TP_COMPLETION_COOKIE_OFFSET 0x0cu /* of the descriptor; in a message start bits 47:32 of the message's length */
#define TP_COMPLETION_STATUS_OFFSET 0x0eu /* how the descriptor ended */
#define TP_COMPLETION_FLAGS_OFFSET 0x0fu /* flags */
#define TP_COMPLETION_FLAGS_PHASE_LSB 0 /* 1 in the ring's first lap, flips in each: tells a new entry from an old one */
#define TP_COMPLETION_FLAGS_PHASE_MASK 0x1u
#define TP_COMPLETION_FLAGS_START_LSB 1 /* a message starts; nothing completes */
#define TP_COMPLETION_FLAGS_START_MASK 0x2u

/* Plug-in `reset`, version 1. Times are clocks of the user core's. */
#define TP_PLUGIN_RESET_COMMAND_OFFSET 0x00u /* commands, each by writing 1; of several in one write the last counts */
#define TP_PLUGIN_RESET_COMMAND_START_LSB 0 /* the sequence runs from its start */
#define TP_PLUGIN_RESET_COMMAND_START_MASK 0x1u
#define TP_PLUGIN_RESET_COMMAND_HOLD_LSB 1 /* all outputs are asserted until `release` */
#define TP_PLUGIN_RESET_COMMAND_HOLD_MASK 0x2u
#define TP_PLUGIN_RESET_COMMAND_RELEASE_LSB 2 /* what is held runs the sequence from its start */
#define TP_PLUGIN_RESET_COMMAND_RELEASE_MASK 0x4u
#define TP_PLUGIN_RESET_STATUS_OFFSET 0x04u /* status */
#define TP_PLUGIN_RESET_STATUS_BUSY_LSB 0 /* the sequence runs or is held */
#define TP_PLUGIN_RESET_STATUS_BUSY_MASK 0x1u
#define TP_PLUGIN_RESET_STATUS_HELD_LSB 1 /* held, by `hold` or by a fault */
#define TP_PLUGIN_RESET_STATUS_HELD_MASK 0x2u
#define TP_PLUGIN_RESET_STATUS_FAULT_LSB 2 /* the core reports a fault */
#define TP_PLUGIN_RESET_STATUS_FAULT_MASK 0x4u
#define TP_PLUGIN_RESET_STATUS_ASSERTED_LSB 8 /* bit k: output k is asserted; output 0 is the core's own reset */
#define TP_PLUGIN_RESET_STATUS_ASSERTED_MASK 0xff00u
#define TP_PLUGIN_RESET_OUTPUTS_OFFSET 0x08u /* number of outputs */
#define TP_PLUGIN_RESET_LENGTH_OFFSET 0x0cu /* clocks for which all outputs are asserted at the sequence's start; 0 is 1 */
#define TP_PLUGIN_RESET_SEQUENCES_OFFSET 0x10u /* sequences begun since the card's reset, by whatever, modulo 2^32 */
#define TP_PLUGIN_RESET_FAULTS_OFFSET 0x14u /* faults of the core outside a sequence since the card's reset, modulo 2^32 */
#define TP_PLUGIN_RESET_ON_FAULT_OFFSET 0x18u /* what a fault of the core does beside being counted */
#define TP_PLUGIN_RESET_ON_FAULT_START_LSB 0 /* the sequence runs from its start */
#define TP_PLUGIN_RESET_ON_FAULT_START_MASK 0x1u
#define TP_PLUGIN_RESET_ON_FAULT_HOLD_LSB 1 /* all outputs are asserted until `release` */
#define TP_PLUGIN_RESET_ON_FAULT_HOLD_MASK 0x2u
#define TP_PLUGIN_RESET_DELAY_OFFSET 0x20u /* clocks from the end of `length` to the release of output k; outputs that are not there read 0 */
#define TP_PLUGIN_RESET_DELAY_COUNT 8u
#define TP_PLUGIN_RESET_DELAY_STRIDE 4u

/* Plug-in `clock`, version 1. */
#define TP_PLUGIN_CLOCK_SELECT_OFFSET 0x00u /* a write holds the core in reset and switches its clock to that input; read: the input last selected */
#define TP_PLUGIN_CLOCK_COMMAND_OFFSET 0x04u /* commands, by writing 1 */
#define TP_PLUGIN_CLOCK_COMMAND_RELEASE_LSB 0 /* the core is no longer held in reset */
#define TP_PLUGIN_CLOCK_COMMAND_RELEASE_MASK 0x1u
#define TP_PLUGIN_CLOCK_STATUS_OFFSET 0x08u /* status */
#define TP_PLUGIN_CLOCK_STATUS_BUSY_LSB 0 /* the switch is under way, or the core has not had enough clocks to leave reset */
#define TP_PLUGIN_CLOCK_STATUS_BUSY_MASK 0x1u
#define TP_PLUGIN_CLOCK_STATUS_HELD_LSB 1 /* the core is held in reset until `release` */
#define TP_PLUGIN_CLOCK_STATUS_HELD_MASK 0x2u
#define TP_PLUGIN_CLOCK_STATUS_ASTRAY_LSB 2 /* the input last selected does not run, or stopped: the core is in reset until another is selected */
#define TP_PLUGIN_CLOCK_STATUS_ASTRAY_MASK 0x4u
#define TP_PLUGIN_CLOCK_STATUS_MEASURED_LSB 3 /* `runs` and `khz` have been measured */
#define TP_PLUGIN_CLOCK_STATUS_MEASURED_MASK 0x8u
#define TP_PLUGIN_CLOCK_STATUS_CURRENT_LSB 8 /* the input that is the core's clock */
#define TP_PLUGIN_CLOCK_STATUS_CURRENT_MASK 0x300u
#define TP_PLUGIN_CLOCK_STATUS_RUNS_LSB 16 /* bit k: input k runs */
#define TP_PLUGIN_CLOCK_STATUS_RUNS_MASK 0x70000u
#define TP_PLUGIN_CLOCK_INPUTS_OFFSET 0x0cu /* number of inputs */
#define TP_PLUGIN_CLOCK_KHZ_OFFSET 0x20u /* frequency of input k in kilohertz, as last measured, in steps of 16 */
#define TP_PLUGIN_CLOCK_KHZ_COUNT 3u
#define TP_PLUGIN_CLOCK_KHZ_STRIDE 4u

/* Plug-in `tlplog`, version 1. The ring stands in the upper half of its registers: entry n at 32 * (`depth` + n modulo `depth`). */
#define TP_PLUGIN_TLPLOG_COMMAND_OFFSET 0x00u /* commands, each by writing 1 */
#define TP_PLUGIN_TLPLOG_COMMAND_START_LSB 0 /* packets are logged from now on */
#define TP_PLUGIN_TLPLOG_COMMAND_START_MASK 0x1u
#define TP_PLUGIN_TLPLOG_COMMAND_STOP_LSB 1 /* and from now on not any more */
#define TP_PLUGIN_TLPLOG_COMMAND_STOP_MASK 0x2u
#define TP_PLUGIN_TLPLOG_COMMAND_CLEAR_LSB 2 /* the log is empty, and both counts are 0 */
#define TP_PLUGIN_TLPLOG_COMMAND_CLEAR_MASK 0x4u
#define TP_PLUGIN_TLPLOG_STATUS_OFFSET 0x04u /* status */
#define TP_PLUGIN_TLPLOG_STATUS_RUNNING_LSB 0 /* packets are logged */
#define TP_PLUGIN_TLPLOG_STATUS_RUNNING_MASK 0x1u
#define TP_PLUGIN_TLPLOG_DEPTH_OFFSET 0x08u /* entries in the ring, a power of two */
#define TP_PLUGIN_TLPLOG_FILTER_OFFSET 0x0cu /* which packets are logged */
#define TP_PLUGIN_TLPLOG_FILTER_RESET 0x3f77u
#define TP_PLUGIN_TLPLOG_FILTER_STREAMS_LSB 0 /* bit k: those of stream k */
#define TP_PLUGIN_TLPLOG_FILTER_STREAMS_MASK 0x7fu
#define TP_PLUGIN_TLPLOG_FILTER_BARS_LSB 8 /* bit k: of the writes to BARs and reads of them, and of the answers, those of BAR k */
#define TP_PLUGIN_TLPLOG_FILTER_BARS_MASK 0x3f00u
#define TP_PLUGIN_TLPLOG_LOGGED_OFFSET 0x10u /* packets since `clear` that are in the ring, or were */
#define TP_PLUGIN_TLPLOG_DROPPED_OFFSET 0x18u /* packets since `clear` for which there was no room in the queue before the ring, modulo 2^32 */
#define TP_PLUGIN_TLPLOG_FIRST_OFFSET 0x20u /* of the card's own writes and reads, those that begin at this address or above it ... */
#define TP_PLUGIN_TLPLOG_LAST_OFFSET 0x28u /* ... and not above this one */
#define TP_PLUGIN_TLPLOG_LAST_RESET 0xffffffffffffffffull

/* A packet in the log of plug-in `tlplog`. What a packet of its stream does not have is 0. */
#define TP_PLUGIN_TLPLOG_ENTRY_BYTES 32u
#define TP_PLUGIN_TLPLOG_ENTRY_ADDRESS_OFFSET 0x00u /* of the first dword: in memory, or of an access to a BAR in the BAR; of an answer its lower address */
#define TP_PLUGIN_TLPLOG_ENTRY_HEADER_OFFSET 0x08u /* header */
#define TP_PLUGIN_TLPLOG_ENTRY_HEADER_DWORDS_LSB 0 /* of payload, of a read those that it wants; 0 in an answer that is an error */
#define TP_PLUGIN_TLPLOG_ENTRY_HEADER_DWORDS_MASK 0x7ffu
#define TP_PLUGIN_TLPLOG_ENTRY_HEADER_FIRST_BE_LSB 11 /* byte enables of the first dword */
#define TP_PLUGIN_TLPLOG_ENTRY_HEADER_FIRST_BE_MASK 0x7800u
#define TP_PLUGIN_TLPLOG_ENTRY_HEADER_LAST_BE_LSB 15 /* byte enables of the last dword, 0 if there is one dword */
#define TP_PLUGIN_TLPLOG_ENTRY_HEADER_LAST_BE_MASK 0x78000u
#define TP_PLUGIN_TLPLOG_ENTRY_HEADER_STREAM_LSB 19 /* which way it went, and what it is */
#define TP_PLUGIN_TLPLOG_ENTRY_HEADER_STREAM_MASK 0x380000u
#define TP_PLUGIN_TLPLOG_ENTRY_HEADER_BAR_LSB 22 /* of an access to a BAR: which one */
#define TP_PLUGIN_TLPLOG_ENTRY_HEADER_BAR_MASK 0x1c00000u
#define TP_PLUGIN_TLPLOG_ENTRY_HEADER_STATUS_LSB 25 /* of an answer: completion status */
#define TP_PLUGIN_TLPLOG_ENTRY_HEADER_STATUS_MASK 0xe000000u
#define TP_PLUGIN_TLPLOG_ENTRY_HEADER_POISONED_LSB 28 /* of an answer to the card: its payload is marked as corrupt */
#define TP_PLUGIN_TLPLOG_ENTRY_HEADER_POISONED_MASK 0x10000000u
#define TP_PLUGIN_TLPLOG_ENTRY_HEADER_ATTR_LSB 29 /* attributes; of the card's own requests relaxed ordering alone */
#define TP_PLUGIN_TLPLOG_ENTRY_HEADER_ATTR_MASK 0xe0000000u
#define TP_PLUGIN_TLPLOG_ENTRY_IDS_OFFSET 0x0cu /* identification */
#define TP_PLUGIN_TLPLOG_ENTRY_IDS_TAG_LSB 0 /* tag, of all but writes */
#define TP_PLUGIN_TLPLOG_ENTRY_IDS_TAG_MASK 0x3ffu
#define TP_PLUGIN_TLPLOG_ENTRY_IDS_BYTE_COUNT_LSB 10 /* of an answer: bytes still to come, with this packet's */
#define TP_PLUGIN_TLPLOG_ENTRY_IDS_BYTE_COUNT_MASK 0x7ffc00u
#define TP_PLUGIN_TLPLOG_ENTRY_IDS_TC_LSB 23 /* traffic class; 0 of writes to BARs and of answers to the card, of which it is not known */
#define TP_PLUGIN_TLPLOG_ENTRY_IDS_TC_MASK 0x3800000u
#define TP_PLUGIN_TLPLOG_ENTRY_IDS_LOST_LSB 26 /* packets of this stream before this one were dropped */
#define TP_PLUGIN_TLPLOG_ENTRY_IDS_LOST_MASK 0x4000000u
#define TP_PLUGIN_TLPLOG_ENTRY_DATA_OFFSET 0x10u /* first dword of payload, as it was sent: byte 0 lowest */
#define TP_PLUGIN_TLPLOG_ENTRY_REQUESTER_OFFSET 0x14u /* who asked, of accesses to BARs and their answers: bus, device, function */
#define TP_PLUGIN_TLPLOG_ENTRY_TIME_HIGH_OFFSET 0x16u /* bits 47:32 of the time */
#define TP_PLUGIN_TLPLOG_ENTRY_TIME_LOW_OFFSET 0x18u /* time when the packet began, in clocks of Towpath's since it was configured */
#define TP_PLUGIN_TLPLOG_ENTRY_NUMBER_OFFSET 0x1cu /* of the packet, counted from 0 at `clear`, modulo 2^32: tells an entry from the one that was there before */

/* Plug-in `partial`, version 1. A region is decoupled and in reset from `begin` until `release` after a load that ended well. */
#define TP_PLUGIN_PARTIAL_COMMAND_OFFSET 0x00u /* commands, each by writing 1 */
#define TP_PLUGIN_PARTIAL_COMMAND_BEGIN_LSB 0 /* a load begins, also in the middle of another one; refused while a channel is within a message */
#define TP_PLUGIN_PARTIAL_COMMAND_BEGIN_MASK 0x1u
#define TP_PLUGIN_PARTIAL_COMMAND_CUT_LSB 1 /* with `begin`: it is not refused, and such messages are cut */
#define TP_PLUGIN_PARTIAL_COMMAND_CUT_MASK 0x2u
#define TP_PLUGIN_PARTIAL_COMMAND_END_LSB 2 /* the file is all in `data`: the load ends when the configuration port has said what became of it */
#define TP_PLUGIN_PARTIAL_COMMAND_END_MASK 0x4u
#define TP_PLUGIN_PARTIAL_COMMAND_ABORT_LSB 3 /* the load ends, as failed */
#define TP_PLUGIN_PARTIAL_COMMAND_ABORT_MASK 0x8u
#define TP_PLUGIN_PARTIAL_COMMAND_RELEASE_LSB 4 /* the core runs, if the region holds a whole one and no load is under way */
#define TP_PLUGIN_PARTIAL_COMMAND_RELEASE_MASK 0x10u
#define TP_PLUGIN_PARTIAL_STATUS_OFFSET 0x04u /* status */
#define TP_PLUGIN_PARTIAL_STATUS_RESET 0x4u
#define TP_PLUGIN_PARTIAL_STATUS_LOADING_LSB 0 /* a load is under way */
#define TP_PLUGIN_PARTIAL_STATUS_LOADING_MASK 0x1u
#define TP_PLUGIN_PARTIAL_STATUS_DECOUPLED_LSB 1 /* the region is decoupled, and the core in reset */
#define TP_PLUGIN_PARTIAL_STATUS_DECOUPLED_MASK 0x2u
#define TP_PLUGIN_PARTIAL_STATUS_WHOLE_LSB 2 /* the region holds a whole core: as configured, or by a load that ended well */
#define TP_PLUGIN_PARTIAL_STATUS_WHOLE_MASK 0x4u
#define TP_PLUGIN_PARTIAL_STATUS_MIDWAY_LSB 3 /* a channel is within a message */
#define TP_PLUGIN_PARTIAL_STATUS_MIDWAY_MASK 0x8u
#define TP_PLUGIN_PARTIAL_STATUS_OUTCOME_LSB 8 /* what became of the last `begin` */
#define TP_PLUGIN_PARTIAL_STATUS_OUTCOME_MASK 0x700u
#define TP_PLUGIN_PARTIAL_ROOM_OFFSET 0x08u /* dwords for which there is room in `data` now */
#define TP_PLUGIN_PARTIAL_DATA_OFFSET 0x0cu /* the next dword of the file, its first byte highest; outside a load it is dropped */
#define TP_PLUGIN_PARTIAL_WORDS_OFFSET 0x10u /* dwords that the configuration port has taken since `begin`, modulo 2^32 */
#define TP_PLUGIN_PARTIAL_LOADS_OFFSET 0x14u /* loads that ended well since the card was configured, modulo 2^32 */
#define TP_PLUGIN_PARTIAL_CORE_NAME_OFFSET 0x20u /* of the core in the region, UTF-8, zero padded, as the host wrote it; all 0 since the card was configured: the one of the discovery header */
#define TP_PLUGIN_PARTIAL_CORE_NAME_COUNT 32u
#define TP_PLUGIN_PARTIAL_CORE_NAME_STRIDE 1u

/* Begin of a file for a simulated card, which has no bit file. `words` dwords of whatever follow, and their CRC-32 (that of Ethernet) with all that stands before. Numbers have their first byte highest. */
#define TP_PLUGIN_PARTIAL_IMAGE_MAGIC_OFFSET 0x00u /* by which such a file is known */
#define TP_PLUGIN_PARTIAL_IMAGE_MAGIC_VALUE 0x54505254u
#define TP_PLUGIN_PARTIAL_IMAGE_WORDS_OFFSET 0x04u /* dwords between this header and the CRC */
#define TP_PLUGIN_PARTIAL_IMAGE_CORE_NAME_OFFSET 0x08u /* of the core to load: one of those that the card's manifest lists */
#define TP_PLUGIN_PARTIAL_IMAGE_CORE_NAME_COUNT 32u
#define TP_PLUGIN_PARTIAL_IMAGE_CORE_NAME_STRIDE 1u

/* What a host posts: a piece of work, or a prefix of one. The meaning of address and length is the kind's. */
struct tp_descriptor {
    tp_le64 address; /* of the piece, the list's table or the inline slot; of a prefix its first value */
    tp_le32 length; /* bytes; of a prefix its second value */
    tp_le16 cookie; /* the host's own, handed back in the completion */
    tp_le16 control; /* kind and flags */
};
TP_STATIC_ASSERT(sizeof(struct tp_descriptor) == TP_DESCRIPTOR_BYTES, "size of struct tp_descriptor");
TP_STATIC_ASSERT(offsetof(struct tp_descriptor, address) == TP_DESCRIPTOR_ADDRESS_OFFSET, "address in struct tp_descriptor");
TP_STATIC_ASSERT(offsetof(struct tp_descriptor, length) == TP_DESCRIPTOR_LENGTH_OFFSET, "length in struct tp_descriptor");
TP_STATIC_ASSERT(offsetof(struct tp_descriptor, cookie) == TP_DESCRIPTOR_COOKIE_OFFSET, "cookie in struct tp_descriptor");
TP_STATIC_ASSERT(offsetof(struct tp_descriptor, control) == TP_DESCRIPTOR_CONTROL_OFFSET, "control in struct tp_descriptor");

/* One piece of a list, in a table in host memory, 16-byte aligned. */
struct tp_list_entry {
    tp_le64 address; /* of the piece, any byte; with `chain` of the next table, 16-byte aligned */
    tp_le32 length; /* bytes in the piece; ignored with `chain` */
    tp_le32 control; /* flags */
};
TP_STATIC_ASSERT(sizeof(struct tp_list_entry) == TP_LIST_ENTRY_BYTES, "size of struct tp_list_entry");
TP_STATIC_ASSERT(offsetof(struct tp_list_entry, address) == TP_LIST_ENTRY_ADDRESS_OFFSET, "address in struct tp_list_entry");
TP_STATIC_ASSERT(offsetof(struct tp_list_entry, length) == TP_LIST_ENTRY_LENGTH_OFFSET, "length in struct tp_list_entry");
TP_STATIC_ASSERT(offsetof(struct tp_list_entry, control) == TP_LIST_ENTRY_CONTROL_OFFSET, "control in struct tp_list_entry");

/* What the card writes into a channel's ring, whole and after the data it tells of. */
struct tp_completion {
    tp_le32 bytes; /* moved; in a message start bits 31:0 of the message's length */
    tp_le32 offset; /* C2H: the message's offset, as the core gave it */
    tp_le32 user; /* C2H: the message's user word, as the core gave it */
    tp_le16 cookie; /* of the descriptor; in a message start bits 47:32 of the message's length */
    tp_u8 status; /* how the descriptor ended */
    tp_u8 flags; /* flags */
};
TP_STATIC_ASSERT(sizeof(struct tp_completion) == TP_COMPLETION_BYTES, "size of struct tp_completion");
TP_STATIC_ASSERT(offsetof(struct tp_completion, bytes) == TP_COMPLETION_BYTES_OFFSET, "bytes in struct tp_completion");
TP_STATIC_ASSERT(offsetof(struct tp_completion, offset) == TP_COMPLETION_OFFSET_OFFSET, "offset in struct tp_completion");
TP_STATIC_ASSERT(offsetof(struct tp_completion, user) == TP_COMPLETION_USER_OFFSET, "user in struct tp_completion");
TP_STATIC_ASSERT(offsetof(struct tp_completion, cookie) == TP_COMPLETION_COOKIE_OFFSET, "cookie in struct tp_completion");
TP_STATIC_ASSERT(offsetof(struct tp_completion, status) == TP_COMPLETION_STATUS_OFFSET, "status in struct tp_completion");
TP_STATIC_ASSERT(offsetof(struct tp_completion, flags) == TP_COMPLETION_FLAGS_OFFSET, "flags in struct tp_completion");

/* A packet in the log of plug-in `tlplog`. What a packet of its stream does not have is 0. */
struct tp_plugin_tlplog_entry {
    tp_le64 address; /* of the first dword: in memory, or of an access to a BAR in the BAR; of an answer its lower address */
    tp_le32 header; /* header */
    tp_le32 ids; /* identification */
    tp_le32 data; /* first dword of payload, as it was sent: byte 0 lowest */
    tp_le16 requester; /* who asked, of accesses to BARs and their answers: bus, device, function */
    tp_le16 time_high; /* bits 47:32 of the time */
    tp_le32 time_low; /* time when the packet began, in clocks of Towpath's since it was configured */
    tp_le32 number; /* of the packet, counted from 0 at `clear`, modulo 2^32: tells an entry from the one that was there before */
};
TP_STATIC_ASSERT(sizeof(struct tp_plugin_tlplog_entry) == TP_PLUGIN_TLPLOG_ENTRY_BYTES, "size of struct tp_plugin_tlplog_entry");
TP_STATIC_ASSERT(offsetof(struct tp_plugin_tlplog_entry, address) == TP_PLUGIN_TLPLOG_ENTRY_ADDRESS_OFFSET, "address in struct tp_plugin_tlplog_entry");
TP_STATIC_ASSERT(offsetof(struct tp_plugin_tlplog_entry, header) == TP_PLUGIN_TLPLOG_ENTRY_HEADER_OFFSET, "header in struct tp_plugin_tlplog_entry");
TP_STATIC_ASSERT(offsetof(struct tp_plugin_tlplog_entry, ids) == TP_PLUGIN_TLPLOG_ENTRY_IDS_OFFSET, "ids in struct tp_plugin_tlplog_entry");
TP_STATIC_ASSERT(offsetof(struct tp_plugin_tlplog_entry, data) == TP_PLUGIN_TLPLOG_ENTRY_DATA_OFFSET, "data in struct tp_plugin_tlplog_entry");
TP_STATIC_ASSERT(offsetof(struct tp_plugin_tlplog_entry, requester) == TP_PLUGIN_TLPLOG_ENTRY_REQUESTER_OFFSET, "requester in struct tp_plugin_tlplog_entry");
TP_STATIC_ASSERT(offsetof(struct tp_plugin_tlplog_entry, time_high) == TP_PLUGIN_TLPLOG_ENTRY_TIME_HIGH_OFFSET, "time_high in struct tp_plugin_tlplog_entry");
TP_STATIC_ASSERT(offsetof(struct tp_plugin_tlplog_entry, time_low) == TP_PLUGIN_TLPLOG_ENTRY_TIME_LOW_OFFSET, "time_low in struct tp_plugin_tlplog_entry");
TP_STATIC_ASSERT(offsetof(struct tp_plugin_tlplog_entry, number) == TP_PLUGIN_TLPLOG_ENTRY_NUMBER_OFFSET, "number in struct tp_plugin_tlplog_entry");

/* What is wrong with a table, to be told as: WHAT is VALUE; allowed: LEAST to MOST BESIDES, without the blank before BESIDES. */
struct tp_table_fault {
    const char *what; /* a register, or the sum of several that a rule limits */
    tp_u64 value;
    tp_u64 least;
    tp_u64 most;
    const char *besides; /* what else is to be said of that; or empty */
};

/* Little-endian bytes, as a number. */
static inline tp_u64 tp_table_number(const tp_u8 *at, tp_u32 bytes)
{
    tp_u64 value = 0;

    while (bytes)
        value = value << 8 | at[--bytes];
    return value;
}

/* Does `what` break its limits? The powers of two are 0 and those above. */
static inline int tp_table_breaks(struct tp_table_fault *fault, const char *what, tp_u64 value, tp_u64 least, tp_u64 most,
                                  tp_u64 multiple_of, int power_of_two, const char *besides)
{
    fault->what = what;
    fault->value = value;
    fault->least = least;
    fault->most = most;
    fault->besides = besides;
    return value < least || value > most || value & (multiple_of - 1) || (power_of_two && value & (value - 1));
}

/* Page 0, read-only: what the card is. A host reads `magic`, then the version, then the rest. The numbers are in the host's order of bytes. */
struct tp_discovery {
    tp_u64 magic; /* the bytes "TOWPATH\0" */
    tp_u16 version_major; /* of the contract; a host refuses another than its own */
    tp_u16 version_minor; /* of the contract; a minor version only adds */
    tp_u16 header_bytes; /* of this header */
    tp_u8 page_shift; /* a page of BAR 0 has 1 << page_shift bytes */
    tp_u8 data_bytes; /* width of the core's data path */
    tp_u16 channels; /* number of channels, and of entries */
    tp_u16 entry_offset; /* of the first channel entry in this page */
    tp_u16 entry_bytes; /* from one channel entry to the next */
    tp_u16 vectors; /* MSI-X vectors */
    tp_u16 user_interrupts; /* interrupts of the user core */
    tp_u16 tags; /* read requests that the card can have in flight */
    tp_u32 window_bytes; /* of the register window in BAR 2; 0: none */
    tp_u64 serial; /* of the card */
    tp_u32 core_clock_khz; /* Towpath's clock */
    tp_u32 user_clock_khz; /* the user core's clock */
    tp_u32 core_version; /* of the user core: a number of its own */
    tp_u8 core_name[32]; /* of the user core, UTF-8, zero padded */
    tp_u64 memory_window_bytes; /* of BAR 4, the windows onto the user core's memories; 0: none */
    tp_u16 plugins; /* number of plug-ins, and of entries */
    tp_u16 features; /* what the card was built with */
};

/* The bytes of it, as the card shows them. */
struct tp_discovery_image {
    tp_u8 bytes[116];
};

static inline void tp_discovery_read(struct tp_discovery *table, const struct tp_discovery_image *image)
{
    tp_u32 k;

    table->magic = (tp_u64)tp_table_number(image->bytes + 0, 8);
    table->version_major = (tp_u16)tp_table_number(image->bytes + 8, 2);
    table->version_minor = (tp_u16)tp_table_number(image->bytes + 10, 2);
    table->header_bytes = (tp_u16)tp_table_number(image->bytes + 12, 2);
    table->page_shift = (tp_u8)tp_table_number(image->bytes + 14, 1);
    table->data_bytes = (tp_u8)tp_table_number(image->bytes + 15, 1);
    table->channels = (tp_u16)tp_table_number(image->bytes + 16, 2);
    table->entry_offset = (tp_u16)tp_table_number(image->bytes + 18, 2);
    table->entry_bytes = (tp_u16)tp_table_number(image->bytes + 20, 2);
    table->vectors = (tp_u16)tp_table_number(image->bytes + 22, 2);
    table->user_interrupts = (tp_u16)tp_table_number(image->bytes + 24, 2);
    table->tags = (tp_u16)tp_table_number(image->bytes + 26, 2);
    table->window_bytes = (tp_u32)tp_table_number(image->bytes + 28, 4);
    table->serial = (tp_u64)tp_table_number(image->bytes + 32, 8);
    table->core_clock_khz = (tp_u32)tp_table_number(image->bytes + 40, 4);
    table->user_clock_khz = (tp_u32)tp_table_number(image->bytes + 44, 4);
    table->core_version = (tp_u32)tp_table_number(image->bytes + 48, 4);
    for (k = 0; k < 32; k++)
        table->core_name[k] = image->bytes[64 + k];
    table->memory_window_bytes = (tp_u64)tp_table_number(image->bytes + 96, 8);
    table->plugins = (tp_u16)tp_table_number(image->bytes + 112, 2);
    table->features = (tp_u16)tp_table_number(image->bytes + 114, 2);
}

/*
 * 1: a host must not believe it, and `fault` says why. The caller has looked at magic and version.
 */
static inline int tp_discovery_check(const struct tp_discovery *table, tp_u64 bar_device, tp_u64 bar_window, tp_u64 bar_memory, struct tp_table_fault *fault)
{
    if (tp_table_breaks(fault, "header_bytes", table->header_bytes, 116u, 65535u, 1u, 0, ""))
        return 1;
    if (tp_table_breaks(fault, "page_shift", table->page_shift, 12u, 16u, 1u, 0, ""))
        return 1;
    if (tp_table_breaks(fault, "data_bytes", table->data_bytes, 8u, 128u, 1u, 1, ", a power of two"))
        return 1;
    if (tp_table_breaks(fault, "channels", table->channels, 1u, 60u, 1u, 0, ""))
        return 1;
    if (tp_table_breaks(fault, "entry_offset", table->entry_offset, 0u, 65535u, 8u, 0, ", a multiple of 8"))
        return 1;
    if (tp_table_breaks(fault, "entry_bytes", table->entry_bytes, 64u, 65535u, 8u, 0, ", a multiple of 8"))
        return 1;
    if (tp_table_breaks(fault, "vectors", table->vectors, 1u, 128u, 1u, 0, ""))
        return 1;
    if (tp_table_breaks(fault, "user_interrupts", table->user_interrupts, 0u, 16u, 1u, 0, ""))
        return 1;
    if (tp_table_breaks(fault, "tags", table->tags, 1u, 1024u, 1u, 0, ""))
        return 1;
    if (tp_table_breaks(fault, "window_bytes", table->window_bytes, 0u, 4294967295u, 8u, 1, ", a multiple of 8, 0 or a power of two"))
        return 1;
    if (tp_table_breaks(fault, "core_clock_khz", table->core_clock_khz, 1u, 4294967295u, 1u, 0, ""))
        return 1;
    if (tp_table_breaks(fault, "memory_window_bytes", table->memory_window_bytes, 0u, 18446744073709551615u, 1u, 1, ", 0 or a power of two"))
        return 1;
    if (tp_table_breaks(fault, "plugins", table->plugins, 0u, 8u, 1u, 0, ""))
        return 1;
    /* header_bytes <= entry_offset */
    if (tp_table_breaks(fault, "header_bytes", (tp_u64)table->header_bytes, 0u, (tp_u64)table->entry_offset, 1u, 0, " (entry_offset)"))
        return 1;
    /* (8 + plugins) << 4 <= header_bytes */
    if (tp_table_breaks(fault, "(8 + plugins) << 4", (8ull + (tp_u64)table->plugins) << 4ull, 0u, (tp_u64)table->header_bytes, 1u, 0, " (header_bytes)"))
        return 1;
    /* entry_offset + channels * entry_bytes <= 1 << page_shift */
    if (tp_table_breaks(fault, "entry_offset + channels * entry_bytes", (tp_u64)table->entry_offset + ((tp_u64)table->channels * (tp_u64)table->entry_bytes), 0u, 1ull << (tp_u64)table->page_shift, 1u, 0, " (1 << page_shift)"))
        return 1;
    /* PAGE_CHANNELS << page_shift <= bar_device */
    if (tp_table_breaks(fault, "4 << page_shift", 4ull << (tp_u64)table->page_shift, 0u, bar_device, 1u, 0, " (the bytes of BAR 0)"))
        return 1;
    /* window_bytes <= bar_window */
    if (tp_table_breaks(fault, "window_bytes", (tp_u64)table->window_bytes, 0u, bar_window, 1u, 0, " (the bytes of BAR 2)"))
        return 1;
    /* memory_window_bytes <= bar_memory */
    if (tp_table_breaks(fault, "memory_window_bytes", table->memory_window_bytes, 0u, bar_memory, 1u, 0, " (the bytes of BAR 4)"))
        return 1;
    return 0;
}

/* What a plug-in is. Entry n describes plug-in n. The numbers are in the host's order of bytes. */
struct tp_plugin_entry {
    tp_u8 type_name[8]; /* ASCII, zero padded */
    tp_u16 version; /* of the type; a host that knows another one leaves the plug-in alone */
    tp_u16 pages; /* of its registers, 4096 bytes each */
    tp_u32 offset; /* of its registers in the register window */
};

/* The bytes of it, as the card shows them. */
struct tp_plugin_entry_image {
    tp_u8 bytes[16];
};

static inline void tp_plugin_entry_read(struct tp_plugin_entry *table, const struct tp_plugin_entry_image *image)
{
    tp_u32 k;

    for (k = 0; k < 8; k++)
        table->type_name[k] = image->bytes[0 + k];
    table->version = (tp_u16)tp_table_number(image->bytes + 8, 2);
    table->pages = (tp_u16)tp_table_number(image->bytes + 10, 2);
    table->offset = (tp_u32)tp_table_number(image->bytes + 12, 4);
}

/*
 * 1: a host must not believe it, and `fault` says why. The caller has checked `discovery`; `others` are the `count` entries before.
 */
static inline int tp_plugin_entry_check(const struct tp_plugin_entry *table, const struct tp_discovery *discovery, struct tp_table_fault *fault)
{
    if (tp_table_breaks(fault, "pages", table->pages, 1u, 65535u, 1u, 0, ""))
        return 1;
    if (tp_table_breaks(fault, "offset", table->offset, 0u, 4294967295u, 4096u, 0, ", a multiple of 4096"))
        return 1;
    /* offset + (pages << 12) <= window_bytes */
    if (tp_table_breaks(fault, "offset + (pages << 12)", (tp_u64)table->offset + ((tp_u64)table->pages << 12ull), 0u, (tp_u64)discovery->window_bytes, 1u, 0, " (window_bytes)"))
        return 1;
    return 0;
}

/* What a channel is. Entry n describes channel n. The numbers are in the host's order of bytes. */
struct tp_channel_entry {
    tp_u8 direction; /* which way data goes */
    tp_u8 kind; /* what carries data at the card's end */
    tp_u16 kind_version; /* of the kind; a host that knows another one leaves the channel alone */
    tp_u16 queue_depth; /* descriptors that may be posted and not yet completed */
    tp_u16 inline_slots; /* slots in the inline page; 0: no inline descriptors */
    tp_u32 first_page; /* index of the channel's privileged page; doorbell, inline and batch page follow it */
    tp_u32 buffer_bytes; /* the card's own buffer: of an H2C channel, which shares it with the others of its kind, or of this C2H channel */
    tp_u16 batch_slots; /* slots for descriptors in the batch page; 0: it takes no batches */
    tp_u16 window; /* of a memory's window, or of an H2C stream's inbox: 1 + its offset in BAR 4, in MiB; 0: none */
    tp_u32 kind_parameter; /* the kind's own; of a memory its size in pages of 4096 bytes; of a stream 0, or what it has for a peer: of H2C the bytes that its inbox holds, of C2H 1 */
    tp_u8 kind_name[8]; /* ASCII, zero padded */
    tp_u8 name[32]; /* UTF-8, zero padded */
};

/* The bytes of it, as the card shows them. */
struct tp_channel_entry_image {
    tp_u8 bytes[64];
};

static inline void tp_channel_entry_read(struct tp_channel_entry *table, const struct tp_channel_entry_image *image)
{
    tp_u32 k;

    table->direction = (tp_u8)tp_table_number(image->bytes + 0, 1);
    table->kind = (tp_u8)tp_table_number(image->bytes + 1, 1);
    table->kind_version = (tp_u16)tp_table_number(image->bytes + 2, 2);
    table->queue_depth = (tp_u16)tp_table_number(image->bytes + 4, 2);
    table->inline_slots = (tp_u16)tp_table_number(image->bytes + 6, 2);
    table->first_page = (tp_u32)tp_table_number(image->bytes + 8, 4);
    table->buffer_bytes = (tp_u32)tp_table_number(image->bytes + 12, 4);
    table->batch_slots = (tp_u16)tp_table_number(image->bytes + 16, 2);
    table->window = (tp_u16)tp_table_number(image->bytes + 18, 2);
    table->kind_parameter = (tp_u32)tp_table_number(image->bytes + 20, 4);
    for (k = 0; k < 8; k++)
        table->kind_name[k] = image->bytes[24 + k];
    for (k = 0; k < 32; k++)
        table->name[k] = image->bytes[32 + k];
}

/*
 * 1: a host must not believe it, and `fault` says why. The caller has checked `discovery`; `others` are the `count` entries before.
 */
static inline int tp_channel_entry_check(const struct tp_channel_entry *table, const struct tp_channel_entry *others, tp_u32 count, const struct tp_discovery *discovery, tp_u64 bar_device, struct tp_table_fault *fault)
{
    tp_u32 k;

    if (tp_table_breaks(fault, "direction", table->direction, 0u, 1u, 1u, 0, ", h2c or c2h"))
        return 1;
    if (tp_table_breaks(fault, "queue_depth", table->queue_depth, 1u, 32767u, 1u, 0, ""))
        return 1;
    if (tp_table_breaks(fault, "inline_slots", table->inline_slots, 0u, 64u, 1u, 0, ""))
        return 1;
    if (tp_table_breaks(fault, "first_page", table->first_page, 4u, 4294967295u, 1u, 0, ""))
        return 1;
    if (tp_table_breaks(fault, "batch_slots", table->batch_slots, 0u, 256u, 1u, 1, ", 0 or a power of two"))
        return 1;
    /* direction == h2c or inline_slots <= 0 */
    if ((tp_u64)table->direction != 0 && tp_table_breaks(fault, "inline_slots", (tp_u64)table->inline_slots, 0u, 0ull, 1u, 0, " unless direction == h2c"))
        return 1;
    /* (first_page + PAGES_PER_CHANNEL) << page_shift <= bar_device */
    if (tp_table_breaks(fault, "(first_page + 4) << page_shift", ((tp_u64)table->first_page + 4ull) << (tp_u64)discovery->page_shift, 0u, bar_device, 1u, 0, " (the bytes of BAR 0)"))
        return 1;
    /* window << 20 <= memory_window_bytes */
    if (tp_table_breaks(fault, "window << 20", (tp_u64)table->window << 20ull, 0u, discovery->memory_window_bytes, 1u, 0, " (memory_window_bytes)"))
        return 1;
    for (k = 0; k < count; k++) {
        const tp_u64 one = table->first_page, other = others[k].first_page;

        if (one < other + 4u && other < one + 4u) {
            tp_table_breaks(fault, "first_page", one, 4u, 4294967295u, 1u, 0, ", 4 or more away from every other entry's");
            return 1;
        }
    }
    return 0;
}

#endif
