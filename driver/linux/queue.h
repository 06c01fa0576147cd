/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A channel's file as a queue of transfers: what queue.c, transfer.c and uring.c know of each
 * other.
 */
#ifndef TOWPATH_QUEUE_H
#define TOWPATH_QUEUE_H

#include "card.h"
#include "uapi/towpath.h"

/* A message's length and attributes, and its descriptor. */
#define TP_PREFIXES 2
/* Transfers whose end nobody has been told of. */
#define TP_UNCOLLECTED 4096

struct io_uring_cmd;

/* A piece of a transfer's memory, and what keeps it there. */
struct tp_held {
	struct tp_memory *memory; /* or NULL: pinned */
	struct tp_pin pin;
	u64 address; /* the program's */
	u64 bytes;
};

struct tp_transfer {
	struct tp_work work;
	struct list_head link; /* in queue->done, waiting or returning; or nowhere */
	u64 ticket;
	struct io_uring_cmd *command; /* of a ring, or NULL */
	struct towpath_completion __user *completion; /* a ring's wants it there, or NULL */
	bool waits; /* in queue->waiting */
	struct tp_descriptor descriptors[TP_PREFIXES + 1]; /* work.places of them */
	u16 end; /* the descriptor's flag */
	bool reads; /* H2C */
	struct tp_list_entry *table; /* or NULL */
	dma_addr_t table_address;
	size_t table_bytes;
	u32 held_count;
	struct tp_held held[];
};

/* Under channel->lock, but for what stays as it is. */
struct tp_queue {
	struct tp_channel *channel; /* stays */
	struct tp_owner *owner; /* of buffers, or NULL; stays */
	struct eventfd_ctx *event; /* or NULL; stays */
	bool announce; /* stays */
	struct list_head done; /* transfers that ended and were not collected, oldest first */
	u32 done_count;
	u32 in_flight; /* of those to be collected */
	u32 uncollected; /* with those in flight, and those of rings */
	int torn; /* H2C: why somebody else ended transfers, unknown to the program; or 0 */
	bool has_ring; /* or had one: only the program knows what it has seen */
	u64 next_ticket;
	/* Messages that the core has begun, and whose end was not told. */
	struct towpath_message_start starts[4];
	u32 start_count;
	bool start_told; /* the first of them */
	u32 moderation; /* the register's word */
	/* Of rings. */
	struct list_head waiting; /* for room in the card's queue, oldest first */
	struct list_head returning; /* ended, and on their way to their task */
	struct work_struct cancel; /* ends all that is in flight */
	bool cancelling; /* it will, or does */
};

/*
 * Under io: make a descriptor of what a program wants. EMSGSIZE: too many pieces or bytes; EINVAL,
 * EFAULT, ENOENT: no such buffer, EACCES: it is for the other direction, ENOMEM.
 */
struct tp_transfer *tp_transfer_create(struct tp_channel *channel,
				       const struct towpath_transfer *wanted);
/* Does a transfer name this memory? NULL: any that was taken back. */
bool tp_transfer_names(const struct tp_transfer *transfer, const struct tp_memory *memory);
/* Give back the memory of one that the card is done with; it may be called again. */
void tp_transfer_rest(struct tp_card *card, struct tp_transfer *transfer);

/* Under lock: what a transfer's work does in the end. */
void tp_transfer_ended(struct tp_channel *channel, struct tp_work *work);
/* Leave the card and the channel. */
int tp_queue_end(struct tp_channel *channel, int error);
/* A card that was cut off: no transfer comes to an end on it, and none needs its memory. */
void tp_queue_give_up(struct tp_channel *channel, bool may_wait);

#endif
