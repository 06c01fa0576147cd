// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Work in flight: post descriptors, take completions. */
#include <linux/dma-mapping.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>

#include "channel.h"
#include "trace.h"

int tp_channel_init(struct tp_channel *channel)
{
	struct tp_engine *engine = &channel->engine;
	dma_addr_t address;

	engine->ring_log2 = tp_engine_ring_log2(engine->depth);
	/* Aligned to the power of two, and so to its size. */
	engine->ring = dmam_alloc_coherent(channel->card->bus.device,
					   sizeof(*engine->ring) << engine->ring_log2, &address,
					   GFP_KERNEL);
	if (!engine->ring)
		return -ENOMEM;
	engine->ring_address = address;
	tp_qos_load(channel);
	return 0;
}

int tp_errno(u8 status)
{
	switch (status) {
	case TP_STATUS_DONE:
	case TP_STATUS_END_OF_MESSAGE:
		return 0;
	case TP_STATUS_CANCELLED:
		return -ECANCELED;
	case TP_STATUS_RESET:
		return -ECONNRESET;
	case TP_STATUS_TIMEOUT:
		return -ETIMEDOUT;
	case TP_STATUS_LINK_DOWN:
		return -ENOLINK;
	case TP_STATUS_BUS_MASTERING_OFF:
		return -EACCES;
	case TP_STATUS_POISONED:
		return -EBADMSG;
	case TP_STATUS_NONE:
		return -EPROTO;
	default:
		return status > TP_STATUS_KIND_STATUS ? -EREMOTEIO : -EIO;
	}
}

void tp_arm(struct tp_channel *channel)
{
	tp_engine_arm(&channel->engine);
	channel->armed = true;
	schedule_delayed_work(&channel->card->look, TP_LOOK);
}

int tp_post(struct tp_channel *channel, struct tp_work *work, struct tp_descriptor *descriptors)
{
	u16 index;

	lockdep_assert_held(&channel->lock);
	if (tp_is_stopped(channel))
		return -ECONNRESET;
	if (work->places > channel->engine.depth - channel->engine.used)
		return -EAGAIN;
	work->cookie = channel->next_cookie++;
	work->moved = 0;
	work->offset = 0;
	work->user = 0;
	work->posted_ns = ktime_get_ns();
	list_add_tail(&work->link, &channel->posted);
	/* Before the card can answer. */
	trace_towpath_post(channel, work);
	for (index = 0; index < work->places; index++) {
		descriptors[index].cookie = cpu_to_le16(work->cookie);
		tp_engine_post(&channel->engine, &descriptors[index]);
	}
	channel->statistics.submitted++;
	if (!channel->armed)
		tp_arm(channel);
	else
		schedule_delayed_work(&channel->card->look, TP_LOOK);
	return 0;
}

static void tp_unexpected(struct tp_channel *channel, const struct tp_entry *entry)
{
	channel->statistics.unexpected++;
	trace_towpath_refused(channel, entry, "unexpected");
}

bool tp_end(struct tp_channel *channel, struct tp_work *work, u8 status, u32 moved)
{
	const u64 nanoseconds = ktime_get_ns() - work->posted_ns;

	list_del_init(&work->link);
	channel->engine.used -= work->places;
	work->status = status;
	work->moved = moved;
	channel->statistics.completed++;
	channel->statistics.bytes += moved;
	tp_latency_count(channel, nanoseconds);
	trace_towpath_end(channel, work, nanoseconds);
	return channel->client->operations->ended(channel->client, work);
}

/* What a completion says of the oldest descriptor. TP_STATUS_NONE: what cannot be. */
static u8 tp_judge(struct tp_channel *channel, const struct tp_work *work,
		   const struct tp_entry *entry)
{
	const u8 last = tp_is_h2c(channel) ? TP_STATUS_NONE : TP_STATUS_END_OF_MESSAGE;
	const u8 status = entry->status;
	struct device *device = channel->card->bus.device;

	if (entry->bytes > work->wanted ||
	    (status == TP_STATUS_DONE && entry->bytes != work->wanted)) {
		channel->statistics.wrong_lengths++;
		trace_towpath_refused(channel, entry, "wrong_lengths");
		dev_warn_ratelimited(device, "%s: a completion of %u bytes for %u\n", channel->name,
				     entry->bytes, work->wanted);
		return TP_STATUS_NONE;
	}
	if (status > TP_STATUS_NONE && status <= TP_STATUS_LINK_DOWN &&
	    (status != TP_STATUS_END_OF_MESSAGE || status == last))
		return status;
	/* The kind's own. */
	if (status > TP_STATUS_KIND_STATUS && status < 2 * TP_STATUS_KIND_STATUS &&
	    !tp_is_stream(channel))
		return status;
	channel->statistics.wrong_statuses++;
	trace_towpath_refused(channel, entry, "wrong_statuses");
	dev_warn_ratelimited(device, "%s: a completion with status %u\n", channel->name, status);
	return TP_STATUS_NONE;
}

/* The start of a message. One that a reset has emptied, or is going to, is no news. */
static bool tp_take_start(struct tp_channel *channel, const struct tp_entry *entry)
{
	const struct tp_client_operations *operations = channel->client->operations;

	return !tp_is_running(channel) ||
	       (operations->started && operations->started(channel->client, entry));
}

static void tp_take(struct tp_channel *channel, const struct tp_entry *entry)
{
	struct tp_work *work = list_first_entry_or_null(&channel->posted, struct tp_work, link);
	struct device *device = channel->card->bus.device;
	u8 status;

	if (entry->start && tp_take_start(channel, entry))
		return;
	/* The work was ended before the card knew of it. */
	if (!work && channel->state != TP_CHANNEL_RUNNING)
		return;
	if (entry->start || !work) {
		tp_unexpected(channel, entry);
		dev_warn_ratelimited(device, "%s: a completion of nothing that is in flight\n",
				     channel->name);
		return;
	}
	if (entry->cookie != work->cookie) {
		channel->statistics.wrong_cookies++;
		trace_towpath_refused(channel, entry, "wrong_cookies");
		dev_warn_ratelimited(device, "%s: a completion with cookie %u, not %u\n",
				     channel->name, entry->cookie, work->cookie);
		return;
	}
	status = tp_judge(channel, work, entry);
	work->offset = entry->offset;
	work->user = entry->user;
	if (!tp_end(channel, work, status, status == TP_STATUS_NONE ? 0 : entry->bytes) &&
	    tp_is_running(channel))
		tp_unexpected(channel, entry);
}

void tp_reap(struct tp_channel *channel)
{
	struct tp_entry entry;
	bool news = false;
	u32 left;

	lockdep_assert_held(&channel->lock);
	/* No more than the ring has: a card might write entries for ever. */
	for (left = 1u << channel->engine.ring_log2; left; left--) {
		if (!tp_engine_next(&channel->engine, &entry))
			break;
		tp_take(channel, &entry);
		news = true;
	}
	if (news)
		tp_wake_locked(channel);
}

void tp_wake_locked(struct tp_channel *channel)
{
	wake_up_all(&channel->wait);
	if (channel->client->operations->news)
		channel->client->operations->news(channel->client);
}

void tp_wake(struct tp_channel *channel)
{
	spin_lock_irq(&channel->lock);
	tp_wake_locked(channel);
	spin_unlock_irq(&channel->lock);
}

void tp_wake_all(struct tp_card *card)
{
	u16 index;

	for (index = 0; index < card->channel_count; index++)
		tp_wake(&card->channels[index]);
	wake_up_all(&card->interrupt_wait);
}

bool tp_channel_interrupt(struct tp_channel *channel)
{
	unsigned long flags;
	bool news;

	spin_lock_irqsave(&channel->lock, flags);
	channel->statistics.interrupts++;
	tp_reap(channel);
	/* A call may have reaped what the vector fired for. */
	news = channel->engine.consumer != channel->fired || channel->level_stored;
	channel->fired = channel->engine.consumer;
	/* For a level, perhaps, which fires once for each store. */
	channel->level_stored = false;
	if (!list_empty(&channel->levels))
		tp_wake_locked(channel);
	trace_towpath_interrupt(channel, news);
	spin_unlock_irqrestore(&channel->lock, flags);
	return news;
}

/* Can completions come? */
static bool tp_expects(const struct tp_channel *channel)
{
	return tp_is_running(channel) &&
	       (!list_empty(&channel->posted) || channel->client->announce);
}

void tp_channel_rearm(struct tp_channel *channel, bool may)
{
	unsigned long flags;

	spin_lock_irqsave(&channel->lock, flags);
	channel->armed = false;
	if (may && tp_expects(channel))
		tp_arm(channel);
	spin_unlock_irqrestore(&channel->lock, flags);
}

void tp_look(struct work_struct *work)
{
	struct tp_card *card = container_of(to_delayed_work(work), struct tp_card, look);
	bool again = false;
	u16 index;

	for (index = 0; index < card->channel_count; index++) {
		struct tp_channel *channel = &card->channels[index];

		spin_lock_irq(&channel->lock);
		if (tp_expects(channel)) {
			tp_reap(channel);
			/*
			 * No interrupt came, or not yet: perhaps the card does not fire any more.
			 */
			if (channel->armed && channel->engine.consumer != channel->fired)
				tp_engine_arm(&channel->engine);
		}
		again |= tp_expects(channel);
		spin_unlock_irq(&channel->lock);
	}
	if (again)
		schedule_delayed_work(&card->look, TP_LOOK);
}
