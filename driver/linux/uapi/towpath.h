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
	__u32 window_bytes; /* of the user core's registers */
	__u16 channels;
	__u16 vectors; /* MSI-X vectors of the card */
	__u16 vectors_used; /* that the system gave */
	__u16 interrupts; /* of the user core */
	__u16 tags;
	__u16 reserved[3];
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
};

/*
 * A 32-bit register of the user core. ETIMEDOUT: the core did not answer; EREMOTEIO: it answered
 * with an error.
 */
struct towpath_register {
	__u32 argsz;
	__u32 flags;
#define TOWPATH_REGISTER_WRITE 0x1u
	__u32 offset; /* a multiple of four, less than window_bytes */
	__u32 value; /* in or out */
};

/* Events of a user interrupt. */
struct towpath_interrupt {
	__u32 argsz;
	__u32 flags;
#define TOWPATH_INTERRUPT_WAIT 0x1u /* until there are more than `seen` */
	__u32 index;
	__u32 seen; /* in: a `count` from before */
	__u32 count; /* out: since the card was reset, modulo 2^32 */
	__u32 reserved;
	__s64 timeout_ns; /* of the wait; negative: none. ETIMEDOUT, with `count` as it is */
};

#define TOWPATH_IOC_CARD_INFO _IOWR('t', 0x70, struct towpath_card_info)
#define TOWPATH_IOC_CHANNEL_INFO _IOWR('t', 0x71, struct towpath_channel_info)
#define TOWPATH_IOC_REGISTER _IOWR('t', 0x72, struct towpath_register)
#define TOWPATH_IOC_INTERRUPT _IOWR('t', 0x73, struct towpath_interrupt)
/* Reset the card: all channels and the user core. What is in flight ends with ECONNRESET. */
#define TOWPATH_IOC_CARD_RESET _IO('t', 0x74)

/* On a channel's file. */

/* Empty the channel, on the card and here. What is in flight ends with ECONNRESET. */
#define TOWPATH_IOC_CHANNEL_RESET _IO('t', 0x78)

#endif
