/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * What programs ask of towpath.ko beyond reading and writing files. See towpath(4).
 *
 * Every structure begins with `argsz`, the bytes that the caller knows of it, and `flags`. The
 * driver takes what is shorter than its own as zeroes, refuses with E2BIG what is longer unless the
 * rest is zero, and writes back no more than `argsz` bytes. Flags it does not know, and reserved
 * fields that are not zero, are refused with EINVAL. The layout is the same for 32-bit programs.
 */
#ifndef TOWPATH_UAPI_H
#define TOWPATH_UAPI_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define TOWPATH_NAME_BYTES 32
#define TOWPATH_KIND_NAME_BYTES 8

/* On the control file. */

/* What the card is, as its discovery table says. */
struct towpath_card_info {
	__u32 argsz;
	__u32 flags; /* none yet */
	__u16 version_major; /* of the contract */
	__u16 version_minor;
	__u32 data_bytes; /* width of the data path */
	__u64 serial;
	__u32 core_version;
	__u32 core_clock_khz;
	__u32 user_clock_khz;
	__u32 window_bytes; /* of the registers of the user core and its plug-ins */
	__u16 channels;
	__u16 vectors; /* MSI-X vectors of the card */
	__u16 vectors_used; /* that the system gave */
	__u16 interrupts; /* of the user core */
	__u16 tags;
	__u16 plugins;
	__u16 features;
#define TOWPATH_FEATURE_QOS 0x1u /* TOWPATH_IOC_CHANNEL_QOS works */
#define TOWPATH_FEATURE_FILL 0x2u /* TOWPATH_IOC_FILL_LEVEL works */
	__u16 reserved;
	char core_name[TOWPATH_NAME_BYTES]; /* padded with zeroes */
};

/* What channel `index` is. */
struct towpath_channel_info {
	__u32 argsz;
	__u32 flags; /* none yet */
	__u32 index; /* in */
	__u32 direction; /* 0: host to card, 1: card to host */
	__u32 queue_depth; /* descriptors */
	__u32 inline_slots;
	__u32 buffer_bytes; /* on the card */
	__u32 reserved;
	char name[TOWPATH_NAME_BYTES]; /* padded with zeroes */
	__u32 kind; /* enum tp_channel_kind of the contract; streams and memories have files */
	__u32 kind_version; /* of the kind; there is a file if it is 1 */
	__u32 kind_parameter; /* the kind's own */
	char kind_name[TOWPATH_KIND_NAME_BYTES]; /* padded with zeroes */
};

/* What plug-in `index` is. Its registers are read and written as the user core's are. */
struct towpath_plugin_info {
	__u32 argsz;
	__u32 flags; /* none yet */
	__u32 index; /* in */
	__u32 version; /* of its type */
	__u32 offset; /* of its registers in the window */
	__u32 bytes; /* of its registers */
	char type_name[TOWPATH_KIND_NAME_BYTES]; /* padded with zeroes */
};

/*
 * A 32-bit register of the user core. ETIMEDOUT: the core did not answer; EREMOTEIO: it answered
 * with an error.
 *
 * mmap() of the control file maps the registers into a program: from offset 0, shared, and up to
 * `window_bytes`, rounded up to a page. They want accesses of 4 or 8 aligned bytes, no memcpy(),
 * and a read after some writes, for the card drops what is longer or what it cannot queue. A read
 * that fails there gives all ones, and a write vanishes. No call reports it, but this one if the
 * failure happens at the same time. While the card is gone, asleep, failed or
 * being reset by the system, an access raises SIGBUS. EOPNOTSUPP: registers cannot be mapped on
 * this machine.
 */
struct towpath_register {
	__u32 argsz;
	__u32 flags;
#define TOWPATH_REGISTER_WRITE 0x1u
	__u32 offset; /* a multiple of four, less than window_bytes */
	__u32 value; /* in or out */
};

/*
 * The window of a memory: its bytes by loads and stores, without transfers. mmap() of the memory's
 * file maps it, shared, from the memory's byte that is the offset on; so does mmap() of the control
 * file, from `offset` on, also while the memory's channels are queues. Stores combine: a fence
 * makes them leave the processor in order, and a load behind it is answered after them. A load that
 * fails gives all ones, and a store vanishes; this call tells of it. While the card is gone,
 * asleep, failed or being reset by the system, an access raises SIGBUS. ENXIO: there is no memory
 * at this channel, or it has no window. EOPNOTSUPP: it cannot be mapped on this machine.
 */
struct towpath_window {
	__u32 argsz;
	__u32 flags; /* none yet */
	__u32 index; /* in: one of the memory's channels */
	__u32 off; /* 1: a memory did not answer in time; nothing goes until the card is reset */
	__u64 offset; /* of the memory's first byte in the control file */
	__u64 bytes; /* whole pages, no more than the memory */
	__u32 errors; /* changes when an access of any memory was refused since the last call */
	__u32 stores_refused; /* by any memory, since the card was switched on; modulo 2^32 */
	__u32 stores_dropped; /* there was no room for them, or the windows are off */
	__u32 reserved;
};

/*
 * A channel's part of the link. What `flags` name is set, for all programs; then all is told as the
 * card has it. To set anything needs CAP_SYS_ADMIN (EPERM). It stays over resets of the channel and
 * of the card, and the driver sets it again after a reset of the function and a sleep of the
 * system. EBUSY: a traffic class changes only while the channel has no transfer in flight, also
 * none that reads ahead. EOPNOTSUPP: the card has no such settings.
 */
struct towpath_channel_qos {
	__u32 argsz;
	__u32 flags;
#define TOWPATH_SET_WEIGHT 0x1u
#define TOWPATH_SET_RATE 0x2u
#define TOWPATH_SET_TRAFFIC_CLASS 0x4u
	__u32 index; /* in: of the channel */
	__u32 weight; /* 1 to 255: against others of its direction that want the link, too */
	__u32 rate; /* bytes of data in 2^20 clocks of the card's core; 0: as many as it can */
	__u32 traffic_class; /* 0 to 7, of its packets */
};

/* Events of a user interrupt. */
struct towpath_interrupt {
	__u32 argsz;
	__u32 flags;
#define TOWPATH_INTERRUPT_WAIT 0x1u /* until there are more than `seen` */
	__u32 index;
	__u32 seen; /* in: a `count` from before */
	__u32 count; /* out: modulo 2^32; a reset of the function begins anew, others do not */
	__u32 reserved;
	__s64 timeout_ns; /* of the wait; negative: none. ETIMEDOUT, with `count` as it is */
};

/*
 * Signal interrupts of the user core on an eventfd, too, until the control file is closed; perhaps
 * one for several, and now and then for none. One eventfd for each interrupt and control file: a
 * second one takes the place of the first.
 */
struct towpath_interrupt_event {
	__u32 argsz;
	__u32 flags; /* none yet */
	__u32 index;
	__s32 eventfd; /* -1: no longer */
};

/*
 * What the card has counted of faults on its link since it was switched on or its function was
 * reset. Counts stop at 65535.
 */
struct towpath_link_counters {
	__u32 argsz;
	__u32 flags; /* none yet */
	__u32 unsupported_requests;
	__u32 completer_aborts;
	__u32 poisoned;
	__u32 timeouts;
	__u32 bad_completions;
	__u32 late_completions;
	__u32 unexpected_completions;
	__u32 bus_mastering_losses;
	__u32 link_downs;
	__u32 function_resets;
	__u32 quarantined; /* tags, now */
	__u32 reserved;
};

/*
 * Memory of the program, pinned and mapped for the card until it is unregistered or the control
 * file is closed; transfers name it by `buffer`. It counts against RLIMIT_MEMLOCK (ENOMEM). What
 * lies at the addresses later is something else: unregister before it is unmapped.
 */
struct towpath_register_buffer {
	__u32 argsz;
	__u32 flags;
#define TOWPATH_BUFFER_TO_CARD 0x1u /* the card may read it */
#define TOWPATH_BUFFER_FROM_CARD 0x2u /* the card may write it */
	__u64 address;
	__u64 bytes;
	__u32 buffer; /* out: its handle, not zero */
	__u32 reserved;
};

/*
 * New memory, zeroed and mapped for the card, in few pieces. The program has it by mmap() of the
 * control file at `offset`, shared and from its beginning (ENXIO: more than there is; EAGAIN: the
 * card is being reset, or taken away), as often as it likes; transfers name it by `buffer`, and
 * places in it from 0 on. It counts as registered memory does.
 */
struct towpath_allocate_buffer {
	__u32 argsz;
	__u32 flags; /* TOWPATH_BUFFER_... */
	__u64 bytes; /* out: rounded up to pages */
	__u64 offset; /* out */
	__u32 buffer; /* out: its handle, not zero */
	__u32 reserved;
};

/*
 * The memory behind a dma-buf, that of a GPU or of another driver, pinned and mapped for the card
 * until it is unregistered or the control file is closed; transfers name it by `buffer`, and places
 * in it from 0 on. It counts as registered memory does. Nobody waits for what other devices do with
 * it, and where processors and devices see memory differently DMA_BUF_IOCTL_SYNC goes around what a
 * program does. An exporter that can move its memory may take it back: then all transfers in flight
 * on queues that use it there and then are cancelled, and later ones that name it are refused
 * (ESTALE); see `towpath_exchange` for messages that were cut short. EACCES: the descriptor is not
 * for reading, or not for writing, and the card was to. EADDRNOTAVAIL: the card would not find it
 * where its exporter says; with an IOMMU, some map nothing for the card. The kernel's log names the
 * exporter. EOPNOTSUPP: the kernel has no dma-bufs, or the exporter does not lend this one. Other
 * errors are the exporter's.
 */
struct towpath_import_buffer {
	__u32 argsz;
	__u32 flags; /* TOWPATH_BUFFER_... */
	__s32 dmabuf; /* its descriptor; may be closed afterwards */
	__u32 buffer; /* out: its handle, not zero */
	__u64 bytes; /* out */
};

/*
 * Any of these buffers. EBUSY: a transfer names it that is in flight, or was not collected, or a
 * program has it mapped.
 */
struct towpath_unregister_buffer {
	__u32 argsz;
	__u32 flags; /* none yet */
	__u32 buffer;
	__u32 reserved;
};

#define TOWPATH_IOC_CARD_INFO _IOWR('t', 0x70, struct towpath_card_info)
#define TOWPATH_IOC_CHANNEL_INFO _IOWR('t', 0x71, struct towpath_channel_info)
#define TOWPATH_IOC_REGISTER _IOWR('t', 0x72, struct towpath_register)
#define TOWPATH_IOC_INTERRUPT _IOWR('t', 0x73, struct towpath_interrupt)
/*
 * Reset the card: all channels and the user core. What is in flight ends with ECONNRESET. ENOLINK:
 * the card cannot be reached; each channel is reset when it is used again. EIO: it does not stop,
 * and is cut off. EINTR: the program was killed while it waited for others to leave the card.
 */
#define TOWPATH_IOC_CARD_RESET _IO('t', 0x74)
#define TOWPATH_IOC_INTERRUPT_EVENT _IOWR('t', 0x75, struct towpath_interrupt_event)
#define TOWPATH_IOC_LINK_COUNTERS _IOWR('t', 0x76, struct towpath_link_counters)
#define TOWPATH_IOC_REGISTER_BUFFER _IOWR('t', 0x77, struct towpath_register_buffer)
#define TOWPATH_IOC_UNREGISTER_BUFFER _IOWR('t', 0x78, struct towpath_unregister_buffer)
#define TOWPATH_IOC_ALLOCATE_BUFFER _IOWR('t', 0x79, struct towpath_allocate_buffer)
#define TOWPATH_IOC_IMPORT_BUFFER _IOWR('t', 0x7a, struct towpath_import_buffer)
#define TOWPATH_IOC_PLUGIN_INFO _IOWR('t', 0x7b, struct towpath_plugin_info)
#define TOWPATH_IOC_WINDOW _IOWR('t', 0x7c, struct towpath_window)
#define TOWPATH_IOC_CHANNEL_QOS _IOWR('t', 0x7d, struct towpath_channel_qos)

/* On a channel's file. */

/*
 * From now on the file is a queue of transfers: read() and write() are refused (EBUSY), nothing is
 * read ahead, poll() tells of completions and of a message's start that was not asked for (POLLIN),
 * and of room for a transfer (POLLOUT). The channel is reset if anything is under way on it, as on
 * one that reads ahead. Opened for reading with O_DIRECT it does not: what the user core has sent
 * before stays, and the queue finds it. When the file is closed the channel is reset.
 *
 * A channel of a memory, which has a file by its number, can only be a queue.
 */
struct towpath_queue {
	__u32 argsz;
	__u32 flags;
#define TOWPATH_QUEUE_ANNOUNCE 0x1u /* card to host: TOWPATH_IOC_MESSAGE_START works */
	__s32 control; /* the card's control file whose buffers transfers may name, or -1 */
	__s32 eventfd; /* counts whenever there is news, or -1 */
};

/* A piece of memory. */
struct towpath_piece {
	__u64 address; /* the program's; in an allocated or imported buffer, counted from 0 */
	__u64 bytes;
	__u32 buffer; /* that it lies in; 0: pinned for this transfer alone */
	__u32 reserved;
};

#define TOWPATH_TRANSFER_PIECES 512
#define TOWPATH_TRANSFER_BYTES (4u << 20)

/*
 * Moves up to TOWPATH_TRANSFER_BYTES, in up to TOWPATH_TRANSFER_PIECES pieces: a message or a part
 * of one. Card to host it ends when the memory is full or the message has ended.
 *
 * On a channel of a memory `offset` is an address there, and each transfer to the card ends its
 * message. When one was cancelled in its middle, a transfer of nothing that ends the message goes
 * before the next: else that would be taken as more of it. The user core's faults are statuses from
 * 65 on.
 */
struct towpath_transfer {
	__u64 pieces; /* struct towpath_piece[count] */
	__u32 count;
	__u32 flags; /* host to card; on a memory's reads TOWPATH_TRANSFER_ATTRIBUTES, too */
#define TOWPATH_TRANSFER_END 0x1u /* the message ends with it */
#define TOWPATH_TRANSFER_ATTRIBUTES 0x2u /* `offset` and `user` are for the user core */
#define TOWPATH_TRANSFER_LENGTH 0x4u /* so is `length`, of the whole message */
	__u64 length; /* up to 2^48 - 1; without its flag 0, and so with the next two */
	__u64 offset;
	__u32 user;
	__u32 reserved;
};

/* How a transfer ended. */
struct towpath_completion {
	__u64 ticket;
	__u32 bytes; /* moved */
	__u32 status; /* enum tp_status of the contract; 0: the card said of it what cannot be */
	__u32 offset; /* card to host: the user core's, of the message */
	__u32 user;
};

/*
 * Submits transfers, then collects how they and earlier ones ended, in the order of their
 * submission; tickets count from 0. Waits until `wanted` of them have ended, or none is in flight.
 *
 * An error of a transfer is told only if none before it was submitted: else `submitted` is less
 * than `transfers`, and the next call tells. EAGAIN: the card's queue has no room, or the file has
 * O_NONBLOCK and the card is being reset. ENOBUFS: 4096 transfers are in flight or were not
 * collected. ETIMEDOUT: not `wanted` in time. ECONNRESET: somebody else has reset the card, told
 * once; what was in flight has status `reset`. ECANCELED: transfers were cancelled because memory
 * of theirs was taken back, or a program that shares the queue has gone. All fields are written, as
 * with success, with any error but EFAULT and EINVAL.
 *
 * Host to card, while transfers that ended in one of these two ways have not been collected, none
 * is submitted (ECONNRESET, ECANCELED), for it would go on with a message that was cut short; the
 * call collects what has ended all the same. On a queue that has had transfers by io_uring, see
 * there. After a reset the next one begins a message. After ECANCELED the message is open still: a
 * transfer of nothing ends it.
 */
struct towpath_exchange {
	__u32 argsz;
	__u32 flags; /* none yet */
	__u64 transfer; /* struct towpath_transfer[transfers] */
	__u32 transfers;
	__u32 submitted; /* out */
	__u64 ticket; /* out: of the first submitted */
	__u64 completion; /* struct towpath_completion[completions] */
	__u32 completions; /* room */
	__u32 collected; /* out */
	__u32 wanted; /* up to `completions` */
	__u32 reserved;
	__s64 timeout_ns; /* in which no transfer of the channel ended; negative: none */
};

/*
 * A transfer by io_uring: the 16 bytes of a submission IORING_OP_URING_CMD whose `cmd_op` is
 * TOWPATH_URING_TRANSFER and whose file is a queue. For kernels from 6.7 on, and of rings with
 * IORING_SETUP_DEFER_TASKRUN for those from 6.18.7 on, or 6.12.67 of its branch; else EOPNOTSUPP.
 *
 * Its result is the number of bytes moved, or an error: the one that TOWPATH_IOC_EXCHANGE would
 * fail with, or of how the transfer ended, ECANCELED among them. ECONNRESET: also while a reset is
 * under way. `completion` is filled in, with a ticket of 0, when a transfer has ended that the card
 * was to have: its `status` says whether the message has ended, and its `bytes` how far one came
 * that failed. EFAULT if that is impossible.
 *
 * Transfers reach the card in the order of their submission, those of TOWPATH_IOC_EXCHANGE among
 * them, except those with IOSQE_ASYNC. What the card's queue has no room for waits in the driver,
 * and TOWPATH_IOC_EXCHANGE says EAGAIN meanwhile. One that is refused holds up none behind it:
 * link what belongs together (IOSQE_IO_LINK). But where somebody else has cut a message short, host
 * to card (see `towpath_exchange`), the driver cannot know what the program has seen by then: all
 * that comes, by a ring or a call, is refused with that error until, once it has been told,
 * TOWPATH_IOC_CANCEL, or a reset of the program's own.
 *
 * They are ended by TOWPATH_IOC_CANCEL; io_uring's own cancel does not reach them. When their
 * program or ring goes, all transfers of the channel are ended so. Until its last one has ended
 * the file stays open.
 */
struct towpath_uring_transfer {
	__u64 transfer; /* struct towpath_transfer */
	__u64 completion; /* struct towpath_completion, or 0 */
};

/* The message that the next byte belongs to, once the user core has begun it. ETIMEDOUT. */
struct towpath_message_start {
	__u32 argsz;
	__u32 flags; /* none yet */
	__u64 length; /* out: 0: the core did not tell */
	__u32 offset; /* out */
	__u32 user; /* out */
	__s64 timeout_ns; /* negative: none */
};

/*
 * Hold interrupts back until `entries` completions and message starts are there, or `time` has
 * passed, in units of 64 clocks of the core, since the first of them. With a time of 0 none is held
 * back.
 */
struct towpath_moderation {
	__u32 argsz;
	__u32 flags; /* none yet */
	__u16 entries;
	__u16 time;
	__u32 reserved;
};

/*
 * What the card holds of a queue's channel: bytes that the user core has sent and no transfer has
 * taken, card to host; or that have landed and the core has not taken. A level is reached by so
 * many or more, card to host, and by so many or fewer; and, card to host, whenever the channel is
 * full. One that can never be held, card to host, counts as the largest that can. EINVAL: more than
 * one flag. EOPNOTSUPP: the card has no fill levels. ETIMEDOUT: it was not reached in time.
 */
struct towpath_fill_level {
	__u32 argsz;
	__u32 flags; /* none: only tell */
#define TOWPATH_LEVEL_WAIT 0x1u /* until `level` is reached */
#define TOWPATH_LEVEL_EVENT 0x2u /* if it is not, count on the eventfd once it is; the last one */
#define TOWPATH_LEVEL_NEVER 0x4u /* take that back, as a reset of the channel does */
	__u32 level; /* in: bytes */
	__u32 bytes; /* out */
	__u32 full; /* out: 1: the core can send no more before a transfer takes some */
	__u32 reached; /* out: 1: `level` is */
	__s64 timeout_ns; /* of the wait; negative: none */
};

/*
 * What has been counted since the card was bound. The last four are faults of the card. Told of a
 * card that has gone or failed, too.
 */
struct towpath_channel_statistics {
	__u32 argsz;
	__u32 flags; /* none yet */
	__u64 submitted;
	__u64 completed;
	__u64 bytes;
	__u64 interrupts;
	__u64 wrong_cookies;
	__u64 wrong_lengths;
	__u64 wrong_statuses;
	__u64 unexpected;
};

/* Empty the channel, on the card and here. What is in flight ends with ECONNRESET. */
#define TOWPATH_IOC_CHANNEL_RESET _IO('t', 0x80)
#define TOWPATH_IOC_QUEUE _IOWR('t', 0x81, struct towpath_queue)
#define TOWPATH_IOC_EXCHANGE _IOWR('t', 0x82, struct towpath_exchange)
#define TOWPATH_IOC_MESSAGE_START _IOWR('t', 0x83, struct towpath_message_start)
/* End all transfers of a queue that are in flight, as far as they came. */
#define TOWPATH_IOC_CANCEL _IO('t', 0x84)
#define TOWPATH_IOC_MODERATION _IOWR('t', 0x85, struct towpath_moderation)
#define TOWPATH_IOC_CHANNEL_STATISTICS _IOWR('t', 0x86, struct towpath_channel_statistics)
#define TOWPATH_URING_TRANSFER _IOWR('t', 0x87, struct towpath_uring_transfer)
#define TOWPATH_IOC_FILL_LEVEL _IOWR('t', 0x88, struct towpath_fill_level)

#endif
