// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Fill levels: a wait for what the card holds. The card has one level for each channel, which fires
 * the channel's vector once. So the nearest of those that are waited for stands there, and is
 * stored again before each sleep. A fire promises nothing: who wakes looks, and takes off the list
 * all levels that are reached. If one of them stayed, each store would fire at once.
 */
#include <linux/jiffies.h>
#include <linux/sched/signal.h>

#include "queue.h"

/* What counts as so many bytes: more than this the core may not get onto the card. */
static u32 tp_level_bytes(const struct tp_channel *channel, u32 bytes)
{
	const u32 beat = channel->card->table.data_bytes;

	if (tp_is_h2c(channel))
		return min_t(u32, bytes, TP_DOORBELL_FILL_BYTES_MASK);
	return min_t(u32, bytes, channel->buffer_bytes - min(channel->buffer_bytes, beat));
}

/* Store the nearest level, or take back what stands on the card. */
static void tp_level_store(struct tp_channel *channel)
{
	const bool above = !tp_is_h2c(channel);
	const struct tp_level *level, *nearest = NULL;
	u32 word = TP_DOORBELL_FILL_ABOVE_MASK;

	lockdep_assert_held(&channel->lock);
	list_for_each_entry(level, &channel->levels, link)
		if (!nearest ||
		    (above ? level->bytes < nearest->bytes : level->bytes > nearest->bytes))
			nearest = level;
	/* The card has no fire for 0 bytes or more. Nobody waits for them. */
	if (nearest)
		word = above ? max(nearest->bytes, 1u) | TP_DOORBELL_FILL_ABOVE_MASK :
			       nearest->bytes;
	channel->level_stored = nearest;
	tp_engine_fill(&channel->engine, word);
}

static void tp_level_put(struct tp_channel *channel, struct tp_level *level)
{
	spin_lock_irq(&channel->lock);
	list_move(&level->link, &channel->levels);
	tp_level_store(channel);
	spin_unlock_irq(&channel->lock);
}

static void tp_level_take(struct tp_channel *channel, struct tp_level *level)
{
	spin_lock_irq(&channel->lock);
	list_del_init(&level->link);
	tp_level_store(channel);
	spin_unlock_irq(&channel->lock);
}

/* Does what the card holds reach so many bytes? */
static bool tp_is_reached(const struct tp_channel *channel, const struct towpath_fill_level *found,
			  u32 bytes)
{
	return tp_is_h2c(channel) ? found->bytes <= bytes : found->bytes >= bytes || found->full;
}

/* Levels that are reached leave the list; all who wait for them wake, but for the caller's own. */
static void tp_level_tell(struct tp_channel *channel, const struct towpath_fill_level *found,
			  const struct tp_level *own)
{
	struct tp_level *level, *next;
	bool news = false;

	spin_lock_irq(&channel->lock);
	list_for_each_entry_safe(level, next, &channel->levels, link) {
		if (!tp_is_reached(channel, found, level->bytes))
			continue;
		list_del_init(&level->link);
		news |= level != own;
	}
	if (news)
		tp_wake_locked(channel);
	spin_unlock_irq(&channel->lock);
}

/* What the card holds. ENOLINK: it does not answer. */
static int tp_level_look(struct tp_channel *channel, struct towpath_fill_level *wanted,
			 const struct tp_level *own)
{
	const void __iomem *from = channel->engine.privileged + TP_CHANNEL_HELD_OFFSET;
	u32 held = readl(from);

	/* No answer looks so, too. A card that came back in between answers the second read. */
	if (held == U32_MAX)
		held = tp_is_present(channel->card) ? readl(from) : U32_MAX;
	if (held == U32_MAX)
		return -ENOLINK;
	wanted->bytes = held & TP_CHANNEL_HELD_BYTES_MASK;
	wanted->full = !!(held & TP_CHANNEL_HELD_FULL_MASK);
	wanted->reached = tp_is_reached(channel, wanted, tp_level_bytes(channel, wanted->level));
	tp_level_tell(channel, wanted, own);
	return 0;
}

/*
 * Within the card, and without io. EAGAIN: leave the card, and begin again, with what is left of
 * the time.
 */
static int tp_level_wait(struct tp_channel *channel, struct towpath_fill_level *wanted, u64 *left)
{
	const bool limited = wanted->timeout_ns >= 0;
	struct tp_level level = {
		.link = LIST_HEAD_INIT(level.link),
		.bytes = tp_level_bytes(channel, wanted->level),
	};
	int error;

	for (;;) {
		u64 slice = min_t(u64, TP_LOOK, *left);
		long rest;

		/* Looked at behind the store: nothing is missed between the two. */
		tp_level_put(channel, &level);
		error = tp_level_look(channel, wanted, &level);
		if (error || wanted->reached)
			break;
		error = -ETIMEDOUT;
		if (!*left)
			break;
		rest = wait_event_interruptible_timeout(channel->wait,
							!READ_ONCE(channel->level_stored) ||
								list_empty(&level.link) ||
								tp_must_leave(channel),
							slice);
		/* A card that fires for every store keeps nobody from ending this. */
		error = rest < 0 || signal_pending(current) ? -EINTR : -EAGAIN;
		*left -= limited ? slice - max(rest, 0L) : 0;
		if (error == -EINTR || tp_must_leave(channel))
			break;
		cond_resched();
	}
	tp_level_take(channel, &level);
	return error;
}

/* Within the card, and without io. */
static int tp_level_call(struct tp_queue *queue, struct towpath_fill_level *wanted, u64 *left)
{
	struct tp_channel *channel = queue->client.channel;
	/* Such a call tells of the queue's level itself; any other leaves that to the eventfd. */
	const struct tp_level *own = wanted->flags ? &queue->level : NULL;
	int error;

	if (wanted->flags & TOWPATH_LEVEL_WAIT)
		return tp_level_wait(channel, wanted, left);
	error = tp_level_look(channel, wanted, own);
	if (wanted->flags & TOWPATH_LEVEL_EVENT && !error && !wanted->reached) {
		tp_locked(channel, queue->level.bytes = tp_level_bytes(channel, wanted->level));
		tp_level_put(channel, &queue->level);
		/* Behind the store, as above. */
		error = tp_level_look(channel, wanted, own);
	}
	if (wanted->flags && (wanted->flags & TOWPATH_LEVEL_NEVER || error || wanted->reached))
		tp_level_take(channel, &queue->level);
	return error;
}

int tp_fill_level(struct file *file, void *argument)
{
	struct tp_channel *channel = file->private_data;
	struct towpath_fill_level *wanted = argument;
	const s64 timeout = wanted->timeout_ns;
	u64 left = timeout < 0 ? U64_MAX : nsecs_to_jiffies64(timeout) + (timeout > 0);
	int error;

	if (hweight32(wanted->flags) > 1)
		return -EINVAL;
	if (!(channel->card->table.features & TP_DISCOVERY_FEATURES_FILL_MASK))
		return -EOPNOTSUPP;
	do {
		error = tp_queue_begin(channel, !(file->f_flags & O_NONBLOCK));
		if (error)
			return error;
		mutex_unlock(&channel->io);
		error = tp_level_call(tp_queue_of(channel), wanted, &left);
		tp_leave(channel->card);
	} while (error == -EAGAIN);
	return error;
}
