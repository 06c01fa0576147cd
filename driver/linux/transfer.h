/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * One transfer: memory, checked and made into a descriptor, and held until the card is done with
 * it.
 *
 * The memory is a buffer's (memory.c), or pinned for the transfer alone (pin.c). It is released by
 * tp_transfer_release(), which may sleep: so not when the card is done, but by the call that
 * collects the transfer.
 */
#ifndef TOWPATH_TRANSFER_H
#define TOWPATH_TRANSFER_H

#include <linux/uio.h>

#include "channel.h"
#include "memory.h"
#include "uapi/towpath.h"

/* A message's length and attributes, before its descriptor. */
#define TP_PREFIXES 2

struct io_uring_cmd;

/* A piece of a transfer's memory. */
struct tp_held {
	struct tp_memory *memory; /* or NULL: pinned */
	struct tp_pin pin;
	u64 address; /* the program's */
	u64 bytes;
};

struct tp_transfer {
	struct tp_work work;
	struct list_head link; /* its owner's: a list of a queue */
	u64 ticket;
	struct io_uring_cmd *command; /* of a ring, or NULL */
	struct towpath_completion __user *completion; /* where a ring's wants it, or NULL */
	bool waits; /* in the list of those that are not posted yet */
	bool reads; /* H2C: the card reads the memory */
	u16 end; /* the descriptor's flag */
	struct tp_descriptor descriptors[TP_PREFIXES + 1]; /* work.places of them */
	struct tp_list_entry *table; /* or NULL */
	dma_addr_t table_address;
	size_t table_bytes;
	u32 held_count;
	struct tp_held held[];
};

/*
 * Under io: what a program wants of a queue whose buffers are `owner`'s. EMSGSIZE: too many pieces
 * or bytes; EINVAL, EFAULT, ENOENT: no such buffer, EACCES: it is for the other direction, ENOMEM.
 */
struct tp_transfer *tp_transfer_create(struct tp_channel *channel, struct tp_owner *owner,
				       const struct towpath_transfer *wanted);
/*
 * Under io: one piece of the current program's memory, for as long as the caller waits. It is
 * pinned as far as that is possible; the message ends with it (`end`) only if all of it is.
 */
struct tp_transfer *tp_transfer_pin(struct tp_channel *channel, u64 address, u64 bytes, bool end);
/* Is the next piece of the program's memory long enough for that? */
bool tp_transfer_suits(const struct iov_iter *iter);
/* The descriptor before one of a memory: where its bytes are, or go. */
void tp_describe_address(struct tp_descriptor *descriptor, u64 address);
/* A pinned piece is moved to, or from, this address of a memory; one to the card is a message. */
void tp_transfer_address(struct tp_transfer *transfer, u64 address);
/* Does a transfer name this memory? NULL: any that was taken back. */
bool tp_transfer_names(const struct tp_transfer *transfer, const struct tp_memory *memory);
/* How it ended, for the program. */
void tp_transfer_report(const struct tp_transfer *transfer, struct towpath_completion *into);
/* Release the memory of one that the card is done with, if that was not done before. */
void tp_transfer_release(struct tp_card *card, struct tp_transfer *transfer);
void tp_transfer_free(struct tp_card *card, struct tp_transfer *transfer);

#endif
