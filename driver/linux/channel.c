// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Work in flight on one channel: post, reap, cancel, reset.
 *
 * Whatever the card does, a descriptor ends: with its completion, by a cancel, by a reset, or, when
 * the card does not even end that, by cutting the card off from the machine's memory. So memory may
 * always be given back after tp_cancel() or tp_reset(). But for a card that cannot be reached:
 * without an IOMMU, one whose link comes back with its descriptors may still use it (ADR 15).
 */
#include <linux/dma-mapping.h>
#include <linux/iopoll.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>

#include "card.h"
#include "trace.h"

/* How long a call may be held up by a card that is being reset, or asleep. */
#define TP_SETTLE (10 * HZ)

int tp_channel_init(struct tp_card *card, struct tp_channel *channel)
{
	struct tp_engine *engine = &channel->engine;
	size_t bytes;

	engine->ring_log2 = tp_engine_ring_log2(engine->depth);
	bytes = sizeof(*engine->ring) << engine->ring_log2;
	/* Aligned to the power of two, and so to its size. */
	engine->ring =
		dma_alloc_coherent(&card->pci->dev, bytes, &channel->ring_address, GFP_KERNEL);
	if (!engine->ring)
		return -ENOMEM;
	engine->ring_address = channel->ring_address;
	spin_lock_irq(&channel->lock);
	tp_engine_start(engine, channel->vector, false);
	channel->running = true;
	spin_unlock_irq(&channel->lock);
	return 0;
}

void tp_channel_free(struct tp_channel *channel)
{
	struct tp_engine *engine = &channel->engine;

	if (engine->ring)
		dma_free_coherent(&channel->card->pci->dev,
				  sizeof(*engine->ring) << engine->ring_log2, engine->ring,
				  channel->ring_address);
	engine->ring = NULL;
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
		return -EIO;
	}
}

int tp_take_fault(struct tp_channel *channel)
{
	int error = 0;

	spin_lock_irq(&channel->lock);
	if (channel->faulted) {
		error = tp_errno(channel->fault);
		/* The card has closed the message towards the core. */
		if (list_empty(&channel->posted))
			channel->message_open = false;
	}
	channel->faulted = false;
	spin_unlock_irq(&channel->lock);
	return error;
}

int tp_take_reset(struct tp_channel *channel)
{
	int error;

	spin_lock_irq(&channel->lock);
	error = channel->reset_untold ? -ECONNRESET : 0;
	if (error) {
		channel->reset_told = true;
		channel->cut_short = false;
	}
	channel->reset_untold = false;
	spin_unlock_irq(&channel->lock);
	return error;
}

void tp_forget_reset(struct tp_channel *channel)
{
	const struct tp_card *card = channel->card;

	spin_lock_irq(&channel->lock);
	/* But for one of the card that has begun meanwhile, and is not the program's own. */
	channel->reset_untold =
		READ_ONCE(card->down) && !tp_queue_is_of(channel, READ_ONCE(card->down_by));
	spin_unlock_irq(&channel->lock);
}

/* Is the channel running, or for whoever comes next to start, or for ever not? */
static bool tp_is_settled(struct tp_channel *channel)
{
	const struct tp_card *card = channel->card;

	if (READ_ONCE(card->gone) || READ_ONCE(card->failed) || !tp_is_stopped(channel))
		return true;
	return READ_ONCE(channel->lost) && !READ_ONCE(card->down) && !atomic_read(&channel->resets);
}

int tp_await_settled(struct tp_channel *channel)
{
	long left =
		wait_event_interruptible_timeout(channel->wait, tp_is_settled(channel), TP_SETTLE);

	return left < 0 ? left : left == 0 ? -ECONNRESET : 0;
}

int tp_enter_settled(struct tp_channel *channel, bool may_wait)
{
	int error;

	for (;;) {
		error = may_wait ? tp_enter(channel->card) : tp_try_enter(channel->card);
		if (error != -ECONNRESET)
			return error;
		error = may_wait ? tp_await_settled(channel) : -EAGAIN;
		if (error)
			return error;
	}
}

int tp_post(struct tp_channel *channel, struct tp_work *work, u64 address, u32 control)
{
	struct tp_descriptor descriptor = { .address = cpu_to_le64(address),
					    .length = cpu_to_le32(work->wanted),
					    .control = cpu_to_le16(control) };

	work->places = 1;
	return tp_post_all(channel, work, &descriptor);
}

int tp_post_all(struct tp_channel *channel, struct tp_work *work, struct tp_descriptor *descriptors)
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
	if (!channel->armed) {
		tp_engine_arm(&channel->engine);
		channel->armed = true;
	}
	schedule_delayed_work(&channel->card->look, TP_LOOK);
	return 0;
}

static void tp_end(struct tp_channel *channel, struct tp_work *work, u8 status, u32 moved)
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
	work->ended(channel, work);
}

/* Has the status a meaning here? */
static bool tp_fits(const struct tp_channel *channel, u8 status)
{
	if (status == TP_STATUS_END_OF_MESSAGE)
		return !tp_is_h2c(channel);
	return status > TP_STATUS_NONE && status <= TP_STATUS_LINK_DOWN;
}

/* Is what the core has sent lost, and known to be? */
static bool tp_is_emptied(const struct tp_channel *channel)
{
	return !channel->running &&
	       (channel->resetting || channel->lost || READ_ONCE(channel->card->down));
}

static void tp_take(struct tp_channel *channel, const struct tp_entry *entry)
{
	struct tp_channel_statistics *statistics = &channel->statistics;
	struct device *device = &channel->card->pci->dev;
	struct tp_work *work = list_first_entry_or_null(&channel->posted, struct tp_work, link);
	u8 status = entry->status;
	u32 moved = entry->bytes;

	/* Those around a reset are told of messages that it has emptied, or is going to. */
	if (entry->start &&
	    (tp_is_emptied(channel) || tp_queue_started(channel, entry) || !channel->running))
		return;
	/* Given up before the card could be told of it. */
	if (!work && channel->lost)
		return;
	if (entry->start || !work) {
		statistics->unexpected++;
		trace_towpath_refused(channel, entry, "unexpected");
		dev_warn_ratelimited(device,
				     "%s: the card tells of something that nobody asked for\n",
				     channel->name);
		return;
	}
	if (entry->cookie != work->cookie) {
		statistics->wrong_cookies++;
		trace_towpath_refused(channel, entry, "wrong_cookies");
		dev_warn_ratelimited(device, "%s: a completion with cookie %u, not %u\n",
				     channel->name, entry->cookie, work->cookie);
		return;
	}
	if (moved > work->wanted || (status == TP_STATUS_DONE && moved != work->wanted)) {
		statistics->wrong_lengths++;
		trace_towpath_refused(channel, entry, "wrong_lengths");
		dev_warn_ratelimited(device, "%s: a completion of %u bytes for %u\n", channel->name,
				     moved, work->wanted);
		status = TP_STATUS_NONE;
		moved = 0;
	} else if (!tp_fits(channel, status)) {
		statistics->wrong_statuses++;
		trace_towpath_refused(channel, entry, "wrong_statuses");
		dev_warn_ratelimited(device, "%s: a completion with status %u\n", channel->name,
				     status);
		status = TP_STATUS_NONE;
		moved = 0;
	}
	if (status == TP_STATUS_END_OF_MESSAGE && !tp_queue_message_ended(channel) &&
	    channel->running) {
		statistics->unexpected++;
		trace_towpath_refused(channel, entry, "unexpected");
	}
	work->offset = entry->offset;
	work->user = entry->user;
	tp_end(channel, work, status, moved);
}

void tp_reap(struct tp_channel *channel)
{
	struct tp_entry entry;
	bool news = false;
	u32 left;

	lockdep_assert_held(&channel->lock);
	/* No more than there can be: a card might go on telling for ever. */
	for (left = 1u << channel->engine.ring_log2; left; left--) {
		if (!tp_engine_next(&channel->engine, &entry))
			break;
		tp_take(channel, &entry);
		news = true;
	}
	if (news) {
		tp_uring_post(channel);
		wake_up_all(&channel->wait);
		tp_queue_news(channel);
	}
}

bool tp_is_idle(struct tp_channel *channel)
{
	unsigned long flags;
	bool idle;

	spin_lock_irqsave(&channel->lock, flags);
	tp_reap(channel);
	idle = list_empty(&channel->posted);
	spin_unlock_irqrestore(&channel->lock, flags);
	return idle;
}

bool tp_is_out_of_reach(struct tp_card *card, unsigned int *looks)
{
	*looks = pci_device_is_present(card->pci) ? 0 : *looks + 1;
	return *looks > 1;
}

int tp_wait(struct tp_channel *channel, bool (*is_over)(struct tp_channel *channel))
{
	unsigned int looks = 0;
	long left;

	do {
		left = wait_event_interruptible_timeout(channel->wait,
							is_over(channel) || tp_is_stopped(channel),
							TP_LOOK);
	} while (left == 0 && !tp_is_out_of_reach(channel->card, &looks));
	return left < 0 ? left : left == 0 ? -ENOLINK : 0;
}

bool tp_channel_interrupt(struct tp_channel *channel)
{
	unsigned long flags;
	bool news = false;

	spin_lock_irqsave(&channel->lock, flags);
	if (channel->engine.ring) {
		channel->statistics.interrupts_taken++;
		tp_reap(channel);
		/* Others may have reaped what it fired for. */
		news = channel->engine.consumer != channel->told;
		channel->told = channel->engine.consumer;
		trace_towpath_interrupt(channel, news);
	}
	spin_unlock_irqrestore(&channel->lock, flags);
	return news;
}

/* Could the card have news? */
static bool tp_expects(const struct tp_channel *channel)
{
	return channel->running && (!list_empty(&channel->posted) || tp_queue_announces(channel));
}

/* Arm if there may be news, and not otherwise. */
static void tp_arm(struct tp_channel *channel, bool may)
{
	channel->armed = may && tp_expects(channel);
	if (channel->armed) {
		tp_engine_arm(&channel->engine);
		schedule_delayed_work(&channel->card->look, TP_LOOK);
	}
}

void tp_look(struct work_struct *work)
{
	struct tp_card *card = container_of(to_delayed_work(work), struct tp_card, look);
	bool again = false;
	u16 index;

	for (index = 0; index < card->channel_count; index++) {
		struct tp_channel *channel = &card->channels[index];

		spin_lock_irq(&channel->lock);
		if (tp_expects(channel))
			tp_reap(channel);
		/* There was no interrupt, or not yet: the card is perhaps not going to fire. */
		if (channel->armed && channel->engine.consumer != channel->told)
			tp_arm(channel, true);
		again |= tp_expects(channel);
		spin_unlock_irq(&channel->lock);
	}
	if (again)
		schedule_delayed_work(&card->look, TP_LOOK);
}

void tp_channel_rearm(struct tp_channel *channel, bool may)
{
	unsigned long flags;

	spin_lock_irqsave(&channel->lock, flags);
	tp_arm(channel, may && channel->engine.ring);
	spin_unlock_irqrestore(&channel->lock, flags);
}

/* End what the card can no longer reach. */
static void tp_abandon(struct tp_channel *channel)
{
	struct tp_work *work, *next;
	u8 status = channel->card->gone ? TP_STATUS_LINK_DOWN : TP_STATUS_RESET;

	lockdep_assert_held(&channel->lock);
	list_for_each_entry_safe(work, next, &channel->posted, link)
		tp_end(channel, work, status, 0);
	tp_uring_end(channel, status);
	channel->armed = false;
	wake_up_all(&channel->wait);
	tp_queue_news(channel);
}

void tp_channel_abandon(struct tp_channel *channel)
{
	spin_lock_irq(&channel->lock);
	channel->running = false;
	/* What the card has told is told: a late interrupt must find nothing that fits no work. */
	if (channel->engine.ring)
		tp_reap(channel);
	tp_abandon(channel);
	spin_unlock_irq(&channel->lock);
}

void tp_stop(struct tp_channel *channel)
{
	spin_lock_irq(&channel->lock);
	channel->running = false;
	spin_unlock_irq(&channel->lock);
	wake_up_all(&channel->wait);
}

void tp_unstop(struct tp_channel *channel)
{
	const struct tp_card *card = channel->card;

	spin_lock_irq(&channel->lock);
	channel->running = !card->gone && !card->failed && !card->down &&
			   !atomic_read(&channel->resets) && !channel->resetting && !channel->lost;
	/* An interrupt meanwhile has not armed it again. */
	if (channel->running) {
		tp_reap(channel);
		tp_uring_post(channel);
		tp_arm(channel, true);
	}
	spin_unlock_irq(&channel->lock);
	wake_up_all(&channel->wait);
}

void tp_lose(struct tp_channel *channel)
{
	spin_lock_irq(&channel->lock);
	channel->running = false;
	WRITE_ONCE(channel->lost, true);
	tp_queue_news(channel);
	spin_unlock_irq(&channel->lock);
	wake_up_all(&channel->wait);
	/* A ring's transfers have nobody who comes. */
	tp_uring_cut_off(channel);
}

void tp_stop_all(struct tp_card *card, const struct tp_owner *owner)
{
	u16 index;

	for (index = 0; index < card->channel_count; index++) {
		struct tp_channel *channel = &card->channels[index];

		spin_lock_irq(&channel->lock);
		channel->reset_untold = channel->is_open && !tp_queue_is_of(channel, owner);
		if (!tp_queue_is_of(channel, owner))
			tp_queue_tear(channel, -ECONNRESET);
		spin_unlock_irq(&channel->lock);
		tp_stop(channel);
	}
}

void tp_fail(struct tp_card *card)
{
	u16 index;

	WRITE_ONCE(card->failed, true);
	tp_window_revoke(card);
	tp_stop_all(card, NULL);
	tp_tell_all(card);
	for (index = 0; index < card->channel_count; index++)
		tp_uring_cut_off(&card->channels[index]);
	wake_up_all(&card->interrupt_wait);
}

bool tp_cut_off(struct tp_card *card)
{
	if (!pci_device_is_present(card->pci))
		return false;
	dev_err(&card->pci->dev,
		"the card does not stop: it is cut off from memory; bind it again to use it\n");
	pci_clear_master(card->pci);
	tp_fail(card);
	return true;
}

/* ENOLINK: the card cannot be reached, or not for long enough; EIO: it does not stop. */
static int tp_reset_engine(struct tp_channel *channel)
{
	unsigned int tries;

	for (tries = 0; tries < TP_TRIES; tries++) {
		bool unanswered = false;
		bool silent = false;
		bool goes_on;

		if (!pci_device_is_present(channel->card->pci))
			return -ENOLINK;
		spin_lock_irq(&channel->lock);
		tp_engine_reset(&channel->engine);
		spin_unlock_irq(&channel->lock);
		if (read_poll_timeout(tp_engine_is_resetting, goes_on, !goes_on, TP_POLL_US,
				      TP_GRACE_US, false, &channel->engine, &unanswered)) {
			tp_engine_is_resetting(&channel->engine, &silent);
			if (!unanswered || silent)
				break;
		} else if (!unanswered) {
			return 0;
		}
		/* It was out of reach meanwhile, and may not know of it. */
	}
	return tp_cut_off(channel->card) ? -EIO : -ENOLINK;
}

void tp_restart(struct tp_channel *channel, bool start)
{
	spin_lock_irq(&channel->lock);
	channel->resetting = false;
	if (!start)
		WRITE_ONCE(channel->lost, true);
	tp_reap(channel);
	tp_abandon(channel);
	/* Who takes the card down starts it again. */
	if (start && !channel->card->down && !channel->card->failed) {
		tp_engine_start(&channel->engine, channel->vector, tp_queue_announces(channel));
		channel->running = true;
		WRITE_ONCE(channel->lost, false);
		tp_queue_restarted(channel);
		tp_arm(channel, true);
	}
	spin_unlock_irq(&channel->lock);
	tp_buffers_drop(channel);
	/* Those who waited for the end of the reset. */
	wake_up_all(&channel->wait);
}

int tp_reset(struct tp_channel *channel)
{
	int error;

	spin_lock_irq(&channel->lock);
	channel->running = false;
	channel->resetting = true;
	trace_towpath_channel_reset(channel);
	spin_unlock_irq(&channel->lock);
	/* Whoever waits in it leaves. */
	wake_up_all(&channel->wait);
	/* One that has failed reaches no memory, and is not asked any more. */
	error = READ_ONCE(channel->card->failed) ? -EIO : tp_reset_engine(channel);
	tp_restart(channel, !error);
	return error;
}

int tp_revive(struct tp_channel *channel)
{
	if (!channel->lost)
		return 0;
	return pci_device_is_present(channel->card->pci) ? tp_reset(channel) : -ENOLINK;
}

void tp_cancel(struct tp_channel *channel)
{
	spin_lock_irq(&channel->lock);
	/* First what waits, or it would be posted. */
	tp_uring_end(channel, TP_STATUS_CANCELLED);
	tp_reap(channel);
	if (!list_empty(&channel->posted)) {
		trace_towpath_cancel(channel);
		tp_engine_cancel(&channel->engine);
		tp_engine_arm(&channel->engine);
		channel->armed = true;
	}
	spin_unlock_irq(&channel->lock);
	if (pci_device_is_present(channel->card->pci)) {
		if (!READ_ONCE(channel->card->failed) &&
		    wait_event_timeout(channel->wait, tp_is_idle(channel), TP_GRACE))
			return;
	} else {
		/* If it is pulled out, that is what is told. */
		wait_event_timeout(channel->wait, READ_ONCE(channel->card->gone), TP_LOOK);
	}
	if (tp_is_idle(channel))
		return;
	if (!READ_ONCE(channel->card->failed))
		dev_warn(&channel->card->pci->dev,
			 "%s: a cancel does not end; resetting the channel\n", channel->name);
	/* What had come and was not read is lost: that must be told. */
	spin_lock_irq(&channel->lock);
	channel->reset_untold = channel->is_open;
	tp_queue_tear(channel, -ECONNRESET);
	spin_unlock_irq(&channel->lock);
	tp_reset(channel);
}
