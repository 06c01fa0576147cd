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
typedef __le16 tp_le16;
typedef __le32 tp_le32;
typedef __le64 tp_le64;
#else
#include <stddef.h>
#include <stdint.h>
typedef uint8_t tp_u8;
typedef uint16_t tp_le16;
typedef uint32_t tp_le32;
typedef uint64_t tp_le64;
#endif

#ifdef __cplusplus
#define TP_STATIC_ASSERT(condition, text) static_assert(condition, text)
#else
#define TP_STATIC_ASSERT(condition, text) _Static_assert(condition, text)
#endif

#define TP_VERSION_MAJOR 1u /* version of this contract: another one is refused */
#define TP_VERSION_MINOR 0u /* version of this contract: only adds */
#define TP_BAR_DEVICE 0u /* the BAR of pages */
#define TP_BAR_WINDOW 2u /* the BAR of the user core's registers */
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
#define TP_PAGE_BYTES_MIN 4096u /* smallest page */
#define TP_CHANNELS_MAX 60u /* channels, both directions together */
#define TP_NAME_BYTES 32u /* of a name, zeroes included */
#define TP_USER_INTERRUPTS 16u /* user interrupts that have registers */
#define TP_MSIX_VECTORS_MAX 128u /* vectors for which the table has room */
#define TP_INLINE_SLOT_BYTES 64u /* of an inline slot, the longest inline message */
#define TP_INLINE_SLOTS_MAX 64u /* inline slots in the smallest page */

enum tp_direction {
    TP_DIRECTION_H2C = 0, /* host to card */
    TP_DIRECTION_C2H = 1, /* card to host */
};

enum tp_channel_kind {
    TP_CHANNEL_KIND_STREAM = 0, /* an AXI4-Stream of the user core */
};

enum tp_kind {
    TP_KIND_DIRECT = 0, /* one contiguous piece of host memory */
    TP_KIND_LIST = 1, /* a table of pieces in host memory, which the card fetches */
    TP_KIND_INLINE = 2, /* the bytes stand in a slot of the inline page (H2C) */
    TP_KIND_ATTRIBUTES = 3, /* prefix: offset or card address, and user word of the message */
    TP_KIND_MESSAGE_LENGTH = 4, /* prefix: bytes in the whole message, 0: unknown */
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
};

/* Page 0, read-only: what the card is. A host reads `magic`, then the version, then the rest. */
#define TP_DISCOVERY_MAGIC_OFFSET 0x00u /* the bytes "TOWPATH\0" */
#define TP_DISCOVERY_MAGIC_VALUE 0x48544150574f54ull
#define TP_DISCOVERY_VERSION_MAJOR_OFFSET 0x08u /* of the contract; a host refuses another than its own */
#define TP_DISCOVERY_VERSION_MAJOR_VALUE 0x1u
#define TP_DISCOVERY_VERSION_MINOR_OFFSET 0x0au /* of the contract; a minor version only adds */
#define TP_DISCOVERY_VERSION_MINOR_VALUE 0x0u
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
#define TP_DISCOVERY_CHANNEL_ENTRY_OFFSET 0x100u /* What a channel is. Entry n describes channel n. */
#define TP_DISCOVERY_CHANNEL_ENTRY_COUNT 60u
#define TP_DISCOVERY_CHANNEL_ENTRY_STRIDE 64u

/* What a channel is. Entry n describes channel n. */
#define TP_CHANNEL_ENTRY_BYTES 64u
#define TP_CHANNEL_ENTRY_DIRECTION_OFFSET 0x00u /* which way data goes */
#define TP_CHANNEL_ENTRY_KIND_OFFSET 0x01u /* what carries data at the card's end */
#define TP_CHANNEL_ENTRY_FLAGS_OFFSET 0x02u /* reserved */
#define TP_CHANNEL_ENTRY_QUEUE_DEPTH_OFFSET 0x04u /* descriptors that may be posted and not yet completed */
#define TP_CHANNEL_ENTRY_INLINE_SLOTS_OFFSET 0x06u /* slots in the inline page; 0: no inline descriptors */
#define TP_CHANNEL_ENTRY_FIRST_PAGE_OFFSET 0x08u /* index of the channel's privileged page; doorbell and inline page follow it */
#define TP_CHANNEL_ENTRY_BUFFER_BYTES_OFFSET 0x0cu /* the card's own buffer for the channel */
#define TP_CHANNEL_ENTRY_NAME_OFFSET 0x20u /* UTF-8, zero padded */
#define TP_CHANNEL_ENTRY_NAME_COUNT 32u
#define TP_CHANNEL_ENTRY_NAME_STRIDE 1u

/* Page 1: what concerns all channels and the user core. The driver's. */
#define TP_CARD_CONTROL_OFFSET 0x00u /* control */
#define TP_CARD_CONTROL_RESET_LSB 0 /* write 1: resets all channels and the user core; reads 1 until that is done */
#define TP_CARD_CONTROL_RESET_MASK 0x1u
#define TP_CARD_STATUS_OFFSET 0x04u /* reserved */
#define TP_CARD_WINDOW_TIMEOUT_OFFSET 0x08u /* core clocks that an access of the register window may take */
#define TP_CARD_WINDOW_TIMEOUT_RESET 0x3d090u
#define TP_CARD_WINDOW_STATUS_OFFSET 0x0cu /* what went wrong in the register window since it was last cleared */
#define TP_CARD_WINDOW_STATUS_TIMEOUT_LSB 0 /* the user core did not answer in time */
#define TP_CARD_WINDOW_STATUS_TIMEOUT_MASK 0x1u
#define TP_CARD_WINDOW_STATUS_ERROR_LSB 1 /* the user core answered SLVERR or DECERR */
#define TP_CARD_WINDOW_STATUS_ERROR_MASK 0x2u
#define TP_CARD_INBOUND_OVERRUNS_OFFSET 0x10u /* writes of the host that found no room and were dropped */
#define TP_CARD_WINDOW_OVERRUNS_OFFSET 0x14u /* writes to the register window that found no room and were dropped */
#define TP_CARD_WINDOW_TIMEOUTS_OFFSET 0x18u /* accesses of the register window that were not answered in time */
#define TP_CARD_QUARANTINE_OFFSET 0x20u /* how long a timed-out tag stays out of use when its late answer never comes, in completion timeouts; 0: until the link goes down */
#define TP_CARD_QUARANTINE_RESET 0x10u
#define TP_CARD_QUARANTINED_OFFSET 0x24u /* tags in quarantine now */
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
#define TP_CHANNEL_OVERFLOWS_OFFSET 0x1cu /* descriptors dropped */
#define TP_CHANNEL_TORN_OFFSET 0x20u /* descriptors that arrived torn */
#define TP_CHANNEL_PRODUCED_OFFSET 0x24u /* ring entries written since enable, modulo 2^32 */
#define TP_CHANNEL_CONSUMED_OFFSET 0x28u /* descriptors completed since enable, modulo 2^32 */
#define TP_CHANNEL_MODERATION_OFFSET 0x30u /* holds an armed interrupt back until there are several entries, or for a time; 0: never */
#define TP_CHANNEL_MODERATION_ENTRIES_LSB 0 /* fire when so many entries have not been reaped; 0 is 1 */
#define TP_CHANNEL_MODERATION_ENTRIES_MASK 0xffffu
#define TP_CHANNEL_MODERATION_TIME_LSB 16 /* or so many times 64 core clocks after the first of them; 0: at once */
#define TP_CHANNEL_MODERATION_TIME_MASK 0xffff0000u

/* A channel's doorbells: write-only, for the channel's user, mapped uncached. */
#define TP_DOORBELL_DESCRIPTOR_OFFSET 0x00u /* What a host posts: a piece of work, or a prefix of one. The meaning of address and length is the kind's. */
#define TP_DOORBELL_ARM_OFFSET 0x10u /* entries reaped since enable: fire as soon as the card has written more */
#define TP_DOORBELL_CANCEL_OFFSET 0x14u /* any value: end every descriptor committed before */
#define TP_DOORBELL_LEAD_OFFSET 0x18u /* early wake: fire when the descriptor in hand has no more bytes to go than these, in steps of 256; less: never */

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

#endif
