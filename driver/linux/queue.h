/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A channel's file as a queue of transfers (TOWPATH_IOC_QUEUE).
 *
 * Programs submit transfers and collect how they ended, many by one call. No call waits while it
 * holds channel->io, so that one thread may submit while another waits. A transfer is in flight
 * (channel->posted), then done (queue->done), and freed when it is collected; its memory is
 * released then. A reset that the program asks for holds its calls up and nothing else; any other
 * is reported once, if no transfer's status reports it. Transfers by io_uring (uring.c) share the
 * channel with these; their commands report how they ended.
 */
#ifndef TOWPATH_QUEUE_H
#define TOWPATH_QUEUE_H

#include <linux/fs.h>
#include <linux/poll.h>

#include "transfer.h"

/* Transfers that are not collected. */
#define TP_UNCOLLECTED 4096

/* Under channel->lock, but for what stays as it is. */
struct tp_queue {
	struct tp_client client; /* stays */
	struct eventfd_ctx *event; /* or NULL; stays */
	bool announces; /* stays: the program wants to know when messages start */
	struct list_head done; /* transfers that ended and were not collected, oldest first */
	u32 done_count;
	u32 in_flight; /* of those to be collected */
	u32 uncollected; /* with those in flight, and those of rings */
	u32 cut_short; /* of those done: with status cancelled or reset */
	/* H2C: the channel's epochs that the program goes on after. */
	u32 resets;
	u32 cancels;
	u64 next_ticket;
	struct tp_level level; /* whose end the eventfd tells; in channel->levels or nowhere */
	/* Messages that the core has begun, and whose end was not reported. */
	struct towpath_message_start starts[4];
	u32 start_count;
	bool start_reported; /* the first of them */
	/* Of rings. */
	bool has_ring; /* or had one: only the program knows what it has seen */
	struct list_head waiting; /* for room in the card's queue, oldest first */
	struct list_head returning; /* ended, and on their way to their task */
	struct work_struct cancel; /* ends all that is in flight */
	bool cancelling; /* the work will run, or runs */
};

/* The channel's queue, or NULL. */
struct tp_queue *tp_queue_of(const struct tp_channel *channel);
/* Make a queue of what a program asks for (TOWPATH_IOC_QUEUE), for tp_queue_attach(). */
struct tp_queue *tp_queue_create(struct tp_channel *channel, const struct towpath_queue *wanted);
void tp_queue_free(struct tp_queue *queue);
/* Under io and lock, with nothing in flight: the queue is the channel's client from now on. */
void tp_queue_attach(struct tp_channel *channel, struct tp_queue *queue);
/* The file is closed: end and free everything. The channel is a file again. */
void tp_queue_close(struct tp_channel *channel);
/* With the gate held for writing: the card goes. Release the memory of all transfers. */
void tp_queue_release(struct tp_channel *channel);
long tp_queue_ioctl(struct file *file, unsigned int command, unsigned long argument);
__poll_t tp_queue_poll(struct tp_channel *channel);

/* For fill.c and uring.c. */
/*
 * Enter the card and take io, after a reset under way (EAGAIN: without `may_wait`). EIO: the card
 * has failed, and the memory of all transfers is released.
 */
int tp_queue_begin(struct tp_channel *channel, bool may_wait);
/* Within the card: the next tp_queue_begin() reports why, or resets the channel. */
bool tp_must_leave(const struct tp_channel *channel);
/* TOWPATH_IOC_FILL_LEVEL */
int tp_fill_level(struct file *file, void *argument);

/* Under lock: why nothing may be submitted, or 0. */
int tp_queue_refuses(struct tp_queue *queue);
/* Under io: submit a transfer; a ring's waits where there is no room, any other gets EAGAIN. */
int tp_queue_submit(struct tp_queue *queue, const struct towpath_transfer *wanted,
		    struct io_uring_cmd *command, struct towpath_completion __user *completion);
/* Under lock: a transfer has ended, or was not posted. */
void tp_queue_ended(struct tp_queue *queue, struct tp_transfer *transfer);
/* The card has failed: end all transfers, which it cannot reach, and release their memory. */
void tp_queue_give_up(struct tp_channel *channel, bool may_wait);

/* uring.c; not linked without TP_HAS_URING */
/* A command on a channel's file, or the wish that one ends. */
int tp_uring_command(struct io_uring_cmd *command, unsigned int issue_flags);
void tp_uring_init(struct tp_queue *queue);
/* The queue is no client any more, and no transfer of a ring is left. */
void tp_uring_exit(struct tp_queue *queue);
/* Under lock: post what waits, as far as there is room; or see that it ends. */
void tp_uring_news(struct tp_queue *queue);
/* Under lock: end what waits. */
void tp_uring_flush(struct tp_queue *queue, u8 status);
/* Under lock: a ring's transfer was posted, or waits; and it has ended. */
void tp_uring_submitted(struct tp_queue *queue, struct tp_transfer *transfer, bool posted);
void tp_uring_ended(struct tp_queue *queue, struct tp_transfer *transfer);

#endif
