/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A channel: the work in flight on it, its state, and the client that uses it.
 *
 * channel.c posts descriptors and takes completions; reset.c changes the state: cancel, reset, and
 * what ends a channel. A descriptor ends whatever the card does: by its completion, a cancel, a
 * reset, or by cutting the card off from memory. So memory may be released after tp_cancel() or
 * tp_reset(). The exception is a card that cannot be reached: without an IOMMU, one whose link
 * comes back with its descriptors may still use it (ADR 15).
 */
#ifndef TOWPATH_CHANNEL_H
#define TOWPATH_CHANNEL_H

#include <linux/dma-direction.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include "card.h"
#include "engine.h"
#include "uapi/towpath.h"

/*
 * How long a cancel, and then a reset, may take. Reads under way end much sooner, unless they are
 * never answered.
 */
#define TP_GRACE (2 * HZ)

/* Powers of two in 64 bits of nanoseconds. */
#define TP_LATENCIES 64

struct tp_client;
struct tp_memory;
struct tp_ram;

/*
 *   state        from                             by
 *   CLOSED       any                              tp_close(): nothing is in flight
 *   RUNNING      CLOSED                           tp_start(): work may be posted
 *   RESETTING    CLOSED, RUNNING, NEEDS_RESET     tp_reset(): the card resets the channel
 *   NEEDS_RESET  any                              tp_lose(): the next user resets the channel
 *
 * Work is posted only while the channel is RUNNING, no call waits to reset it, and the card is
 * READY: tp_is_stopped() is the one question that callers ask.
 */
enum tp_channel_state {
	TP_CHANNEL_CLOSED,
	TP_CHANNEL_RUNNING,
	TP_CHANNEL_RESETTING,
	TP_CHANNEL_NEEDS_RESET,
};

/* A descriptor, from its post to its end. */
struct tp_work {
	struct list_head link; /* in channel->posted; empty before and after */
	u32 wanted; /* bytes */
	u32 moved;
	u32 offset; /* C2H: of the message */
	u32 user;
	u16 cookie;
	u16 places; /* in the card's queue, with its prefixes */
	u8 status; /* enum tp_status; TP_STATUS_NONE: the completion was refused */
	u64 posted_ns; /* ktime_get_ns() */
};

/* What a client does when the channel has something for it. All are called under channel->lock. */
struct tp_client_operations {
	/* A descriptor has ended. False: with a message's end whose start was not announced. */
	bool (*ended)(struct tp_client *client, struct tp_work *work);
	/* The core has begun a message. False: the client did not ask for announcements. */
	bool (*started)(struct tp_client *client, const struct tp_entry *entry);
	/* The channel is empty again. `own`: the client's user made the reset. */
	void (*reset)(struct tp_client *client, bool own);
	/* Completions were taken, or a state has changed. */
	void (*news)(struct tp_client *client);
	/* End what was not posted yet. */
	void (*flush)(struct tp_client *client, u8 status);
	/* Does work that has not ended use this memory? */
	bool (*names)(struct tp_client *client, const struct tp_memory *memory);
};

/* A fill level that somebody waits for. */
struct tp_level {
	struct list_head link; /* in channel->levels */
	u32 bytes;
};

/* Who posts on a channel: a file or a queue. */
struct tp_client {
	const struct tp_client_operations *operations;
	struct tp_channel *channel;
	struct tp_owner *owner; /* whose resets of the card are the client's own, or NULL */
	bool announce; /* the card announces messages */
};

struct tp_channel {
	struct tp_card *card;
	u16 index;
	u8 direction; /* enum tp_direction */
	u32 inline_slots;
	u32 buffer_bytes;
	char name[TP_NAME_BYTES + 1];
	u8 kind; /* enum tp_channel_kind, or another number */
	u16 kind_version;
	u32 kind_parameter;
	u16 window; /* of a memory: 1 + where its window begins in BAR 4, in MiB; 0: none */
	char kind_name[TP_CHANNEL_ENTRY_KIND_NAME_COUNT + 1];
	struct device *listed; /* in sysfs alone: it has no file */
	u32 vector;
	struct tp_client *file; /* the client when the channel is no queue, nor a memory's */
	struct tp_ram *ram; /* whose half it is, or NULL */
	bool has_name; /* its name is a file's */

	struct mutex io; /* one call at a time */
	wait_queue_head_t wait; /* work has ended, or a state has changed */

	spinlock_t lock; /* of what follows */
	enum tp_channel_state state;
	struct tp_client *client; /* changes under io, too */
	struct tp_engine engine;
	struct list_head posted; /* in the order of posts, which is that of their ends */
	u16 next_cookie;
	bool armed;
	u32 fired; /* entries reaped when the vector fired last */
	u32 moderation; /* the register's word */
	struct list_head levels; /* that are waited for; the card has the nearest */
	bool level_stored; /* and has not fired since */
	/* Its part of the link, on a card with such settings, as registers. */
	u32 weight;
	u32 rate;
	u32 traffic_class;
	bool is_open;
	bool flushing; /* the flush of a file has io, or waits for it */

	/* Epochs: resets and cancels that the channel's user did not make. */
	u32 resets;
	u32 cancels;
	u32 seen; /* the resets that were reported to the user */
	u32 resetters; /* calls that wait to reset the channel */
	bool in_call; /* a call on the file has io, and will report a reset */
	bool sent_away; /* a call got EAGAIN for io: its holder wakes those who poll */
	bool owed; /* a call has reported a reset that was not made yet, or will */

	struct towpath_channel_statistics statistics;
	u64 copied; /* bytes of them that the processor moved */
#if IS_ENABLED(CONFIG_TOWPATH_LATENCY)
	u64 latencies[TP_LATENCIES]; /* of descriptors, by the power of two below */
#endif
};

/* Is it a stream that this driver knows? */
static inline bool tp_is_stream(const struct tp_channel *channel)
{
	return channel->kind == TP_CHANNEL_KIND_STREAM && channel->kind_version == 1;
}

/* Half of a memory that this driver knows? */
static inline bool tp_is_memory(const struct tp_channel *channel)
{
	return channel->kind == TP_CHANNEL_KIND_MEMORY && channel->kind_version == 1;
}

/* Other channels have no file. A memory has two channels. */
static inline bool tp_has_file(const struct tp_channel *channel)
{
	return tp_is_stream(channel) || channel->ram;
}

static inline bool tp_is_h2c(const struct tp_channel *channel)
{
	return channel->direction == TP_DIRECTION_H2C;
}

static inline enum dma_data_direction tp_way(const struct tp_channel *channel)
{
	return tp_is_h2c(channel) ? DMA_TO_DEVICE : DMA_FROM_DEVICE;
}

/* Are completions and announcements of the card still valid? */
static inline bool tp_is_running(const struct tp_channel *channel)
{
	return READ_ONCE(channel->state) == TP_CHANNEL_RUNNING &&
	       tp_card_state(channel->card) == TP_CARD_READY;
}

/* Is there nothing to wait for in a channel, and no use in posting? */
static inline bool tp_is_stopped(const struct tp_channel *channel)
{
	return !tp_is_running(channel) || READ_ONCE(channel->resetters);
}

/* Within the card: must the next user reset the channel? */
static inline bool tp_needs_reset(const struct tp_channel *channel)
{
	const enum tp_channel_state state = READ_ONCE(channel->state);

	return state == TP_CHANNEL_CLOSED || state == TP_CHANNEL_NEEDS_RESET;
}

/* What a call gets that finds the channel stopped. */
static inline int tp_stopped_error(const struct tp_channel *channel)
{
	const int error = tp_card_error(channel->card);

	return error ? error : -ECONNRESET;
}

/* Was the channel reset, and that not reported? */
static inline bool tp_was_reset(const struct tp_channel *channel)
{
	return READ_ONCE(channel->seen) != READ_ONCE(channel->resets);
}

/* channel.c */
/* Allocate the ring; it is released with the card's device. */
int tp_channel_init(struct tp_channel *channel);
/*
 * Under lock: post a descriptor and the prefixes before it, `work->places` together. EAGAIN: the
 * card's queue has no room; ECONNRESET: the channel is stopped.
 */
int tp_post(struct tp_channel *channel, struct tp_work *work, struct tp_descriptor *descriptors);
/*
 * Under lock: end work that the card is done with. False: with the end of a message that was not
 * announced.
 */
bool tp_end(struct tp_channel *channel, struct tp_work *work, u8 status, u32 moved);
/* Under lock: take the completions that the card has written. */
void tp_reap(struct tp_channel *channel);
/* Under lock: let the card fire its vector with the next completion. */
void tp_arm(struct tp_channel *channel);
/* Wake all waiters, in calls, poll and rings. tp_wake_locked(): under lock. */
void tp_wake(struct tp_channel *channel);
void tp_wake_locked(struct tp_channel *channel);
void tp_wake_all(struct tp_card *card);
/* When the vector fires: take completions. False: there were none since the last time. */
bool tp_channel_interrupt(struct tp_channel *channel);
/* Arm again if completions can come; with `may` false, leave that to the next post. */
void tp_channel_rearm(struct tp_channel *channel, bool may);
/* Once a second while work is in flight: take completions whose interrupt was lost. */
void tp_look(struct work_struct *work);
/* How a descriptor ended, for programs: 0 or a negative errno. */
int tp_errno(u8 status);

/* The value of an expression, with the lock held. */
#define tp_locked(channel, expression)                             \
	({                                                         \
		typeof(expression) __value;                        \
		unsigned long __flags;                             \
		spin_lock_irqsave(&(channel)->lock, __flags);      \
		__value = (expression);                            \
		spin_unlock_irqrestore(&(channel)->lock, __flags); \
		__value;                                           \
	})
/* The same, after completions were taken. */
#define tp_reaped(channel, expression) tp_locked(channel, (tp_reap(channel), expression))

/*
 * Wait until `condition`, or the channel is stopped. ERESTARTSYS: a signal; ENOLINK: the card does
 * not answer.
 */
#define tp_wait(channel, condition)                                                               \
	({                                                                                        \
		unsigned int __looks = 0;                                                         \
		long __left;                                                                      \
		do {                                                                              \
			__left = wait_event_interruptible_timeout((channel)->wait,                \
								  (condition) ||                  \
									  tp_is_stopped(channel), \
								  TP_LOOK);                       \
		} while (__left == 0 && !tp_is_out_of_reach((channel)->card, &__looks));          \
		(int)(__left < 0 ? __left : __left == 0 ? -ENOLINK : 0);                          \
	})

/*
 * Under io: post work, and wait for its end; a signal cancels it, and what was moved until then
 * counts. EAGAIN: there is no room, and nothing was posted; any error of tp_wait().
 */
int tp_run(struct tp_channel *channel, struct tp_work *work, struct tp_descriptor *descriptors);

/* Is nothing in flight? */
static inline bool tp_is_idle(struct tp_channel *channel)
{
	return tp_reaped(channel, list_empty(&channel->posted));
}

/* reset.c */
/* End all that is in flight; the card does not reach it any more. */
void tp_close(struct tp_channel *channel);
/* The channel works no more until a reset: what is in flight stays so until then. */
void tp_lose(struct tp_channel *channel);
void tp_lose_locked(struct tp_channel *channel);
/*
 * Under io: reset the channel. `own`: its user asked for it, so it is not reported. ENOLINK: the
 * card cannot be reached, and the channel needs a reset; EIO: the card does not stop, and has
 * failed.
 */
int tp_reset(struct tp_channel *channel, bool own);
/* Close a channel that does not run, and have its client forget what was in it. */
void tp_empty(struct tp_channel *channel, bool own);
/* Start a channel that is empty. One that was not reset (`is_reset`) needs that first. */
void tp_restart(struct tp_channel *channel, bool is_reset);
/* Under io: reset the channel if it needs that. */
int tp_revive(struct tp_channel *channel);
/*
 * Under io: end all that is in flight, as far as it came. A cancel that does not end becomes a
 * reset, which is reported.
 */
void tp_cancel(struct tp_channel *channel);
/* End the work that uses this memory, and all that is in flight with it. Takes no other lock. */
void tp_evict(struct tp_channel *channel, const struct tp_memory *memory);

/* A reset of the card is wanted: calls leave. It is reported, but not to clients of `owner`. */
void tp_card_quiesce(struct tp_card *card, const struct tp_owner *owner);
/* The card serves no call any more. */
void tp_card_fail(struct tp_card *card);
/*
 * A card that does not stop loses its access to memory, and fails. False: it cannot be reached, and
 * is as it was.
 */
bool tp_card_cut_off(struct tp_card *card);
/* Does a reset go on, by this register? `unanswered`: the card did not answer. */
typedef bool (*tp_resetting)(void *context, bool *unanswered);
/*
 * Write the reset (`begin`), and wait for its end. ENOLINK: the card cannot be reached, and may not
 * know of it; ETIMEDOUT: the reset does not end.
 */
int tp_await_reset(struct tp_card *card, void (*begin)(void *context), tp_resetting goes_on,
		   void *context);

/* qos.c */
/* Take over what the card has. */
void tp_qos_load(struct tp_channel *channel);
/* After a reset that may have been one of the function: set all again. */
void tp_qos_restore(struct tp_card *card);
/*
 * Set what `wanted->flags` name, all checked, and tell all. EBUSY: the traffic class, with
 * descriptors posted; ENOLINK: the card does not answer.
 */
int tp_qos_set(struct tp_channel *channel, struct towpath_channel_qos *wanted);

/* access.c */
/*
 * Take io. Without `may_wait`: EAGAIN when another call has it, which wakes those who poll when it
 * leaves. ERESTARTSYS: a signal.
 */
int tp_lock(struct tp_channel *channel, bool may_wait);
void tp_unlock(struct tp_channel *channel);
/* Release io, and leave the card. */
int tp_unlock_leave(struct tp_channel *channel, int error);
/*
 * Wait for the end of a reset, of the channel or of the card. EAGAIN: without `may_wait`;
 * ERESTARTSYS: a signal; ECONNRESET: it takes longer than ten seconds.
 */
int tp_await_settled(struct tp_channel *channel, bool may_wait);
/* Enter the card, after a reset of it if there is one. */
int tp_enter_settled(struct tp_channel *channel, bool may_wait);
/*
 * Enter the card and take io, in order to reset the channel: calls in it leave. `alone`: there was
 * none that reports it.
 */
int tp_claim(struct tp_channel *channel, bool *alone);
/* Tell the channel's user of a reset, once: 0 or ECONNRESET. */
int tp_take_reset(struct tp_channel *channel);

/* Kbuild: CONFIG_TOWPATH_LATENCY. Under lock: a descriptor has ended. */
static inline void tp_latency_count(struct tp_channel *channel, u64 nanoseconds)
{
#if IS_ENABLED(CONFIG_TOWPATH_LATENCY)
	channel->latencies[fls64(nanoseconds >> 1)]++;
#endif
}

#endif
