// SPDX-License-Identifier: GPL-2.0 OR MIT
/* A channel's states: start, cancel, reset, and what ends it (channel.h has the table). */
#include <linux/iopoll.h>

#include "channel.h"
#include "trace.h"

#define TP_GRACE_US (2 * USEC_PER_SEC)
/* How often a reset's register is read meanwhile. */
#define TP_POLL_US 50
/* How often a reset is begun again on a card that did not answer during it. */
#define TP_TRIES 4

static void tp_move(struct tp_channel *channel, enum tp_channel_state to)
{
	static const u8 from[] = {
		[TP_CHANNEL_CLOSED] = BIT(TP_CHANNEL_CLOSED) | BIT(TP_CHANNEL_RUNNING) |
				      BIT(TP_CHANNEL_RESETTING) | BIT(TP_CHANNEL_NEEDS_RESET),
		[TP_CHANNEL_RUNNING] = BIT(TP_CHANNEL_CLOSED),
		[TP_CHANNEL_RESETTING] = BIT(TP_CHANNEL_CLOSED) | BIT(TP_CHANNEL_RUNNING) |
					 BIT(TP_CHANNEL_NEEDS_RESET),
		[TP_CHANNEL_NEEDS_RESET] = BIT(TP_CHANNEL_CLOSED) | BIT(TP_CHANNEL_RUNNING) |
					   BIT(TP_CHANNEL_RESETTING) | BIT(TP_CHANNEL_NEEDS_RESET),
	};

	lockdep_assert_held(&channel->lock);
	WARN_ONCE(IS_ENABLED(CONFIG_PROVE_LOCKING) && !(from[to] & BIT(channel->state)),
		  "towpath%d/%u: from state %d to %d\n", channel->card->number, channel->index,
		  channel->state, to);
	WRITE_ONCE(channel->state, to);
}

static void tp_start(struct tp_channel *channel)
{
	lockdep_assert_held(&channel->lock);
	tp_engine_start(&channel->engine, channel->vector, channel->client->announce);
	/* The reset took back a level that was stored before. */
	channel->level_stored = false;
	if (channel->moderation)
		writel(channel->moderation,
		       channel->engine.privileged + TP_CHANNEL_MODERATION_OFFSET);
	tp_move(channel, TP_CHANNEL_RUNNING);
	if (channel->client->announce)
		tp_arm(channel);
}

static void tp_flush_client(struct tp_channel *channel, u8 status)
{
	if (channel->client->operations->flush)
		channel->client->operations->flush(channel->client, status);
}

static void tp_close_locked(struct tp_channel *channel)
{
	const bool is_gone = tp_card_state(channel->card) == TP_CARD_GONE;
	const u8 status = is_gone ? TP_STATUS_LINK_DOWN : TP_STATUS_RESET;
	struct tp_work *work, *next;

	/* News of a channel that runs would post what waits. */
	WARN_ON_ONCE(IS_ENABLED(CONFIG_PROVE_LOCKING) && tp_is_running(channel));
	/* First what the card has written: a late interrupt must find nothing without work. */
	tp_reap(channel);
	tp_move(channel, TP_CHANNEL_CLOSED);
	list_for_each_entry_safe(work, next, &channel->posted, link)
		tp_end(channel, work, status, 0);
	tp_flush_client(channel, status);
	channel->armed = false;
	channel->level_stored = false;
	channel->owed = false;
	tp_wake_locked(channel);
}

void tp_close(struct tp_channel *channel)
{
	spin_lock_irq(&channel->lock);
	tp_close_locked(channel);
	spin_unlock_irq(&channel->lock);
}

void tp_lose_locked(struct tp_channel *channel)
{
	/* On a card that has gone, CLOSED is final: there is no ring any more. */
	if (tp_card_state(channel->card) != TP_CARD_GONE)
		tp_move(channel, TP_CHANNEL_NEEDS_RESET);
	tp_wake_locked(channel);
}

void tp_lose(struct tp_channel *channel)
{
	spin_lock_irq(&channel->lock);
	tp_lose_locked(channel);
	spin_unlock_irq(&channel->lock);
}

static void tp_empty_locked(struct tp_channel *channel, bool own)
{
	tp_close_locked(channel);
	if (own)
		channel->seen = channel->resets;
	channel->client->operations->reset(channel->client, own);
}

void tp_empty(struct tp_channel *channel, bool own)
{
	spin_lock_irq(&channel->lock);
	tp_empty_locked(channel, own);
	spin_unlock_irq(&channel->lock);
}

static void tp_restart_locked(struct tp_channel *channel, bool is_reset)
{
	if (!is_reset)
		tp_lose_locked(channel);
	else if (channel->state == TP_CHANNEL_CLOSED && !tp_card_error(channel->card))
		tp_start(channel);
	/* Else the reset of the card starts it, or its next user. */
	wake_up_all(&channel->wait);
}

void tp_restart(struct tp_channel *channel, bool is_reset)
{
	spin_lock_irq(&channel->lock);
	tp_restart_locked(channel, is_reset);
	spin_unlock_irq(&channel->lock);
}

int tp_await_reset(struct tp_card *card, void (*begin)(void *context), tp_resetting goes_on,
		   void *context)
{
	unsigned int tries;

	for (tries = 0; tries < TP_TRIES; tries++) {
		bool unanswered = false;
		bool silent = false;
		bool resetting;

		if (!tp_is_present(card))
			return -ENOLINK;
		begin(context);
		if (read_poll_timeout(goes_on, resetting, !resetting, TP_POLL_US, TP_GRACE_US,
				      false, context, &unanswered)) {
			goes_on(context, &silent);
			if (!unanswered || silent)
				break;
		} else if (!unanswered) {
			return 0;
		}
		/* It did not answer for a while, and may not know of the reset. */
	}
	return tp_is_present(card) ? -ETIMEDOUT : -ENOLINK;
}

static void tp_begin_reset(void *context)
{
	struct tp_channel *channel = context;

	spin_lock_irq(&channel->lock);
	tp_engine_reset(&channel->engine);
	spin_unlock_irq(&channel->lock);
}

static bool tp_is_resetting(void *context, bool *unanswered)
{
	struct tp_channel *channel = context;

	return tp_engine_is_resetting(&channel->engine, unanswered);
}

int tp_reset(struct tp_channel *channel, bool own)
{
	struct tp_card *card = channel->card;
	int error = -EIO;

	spin_lock_irq(&channel->lock);
	tp_move(channel, TP_CHANNEL_RESETTING);
	trace_towpath_channel_reset(channel);
	spin_unlock_irq(&channel->lock);
	/* Waiters leave the channel. */
	wake_up_all(&channel->wait);
	/* A card that has failed reaches no memory, and is not asked. */
	if (tp_card_state(card) != TP_CARD_FAILED)
		error = tp_await_reset(card, tp_begin_reset, tp_is_resetting, channel);
	if (error == -ETIMEDOUT)
		error = tp_card_cut_off(card) ? -EIO : -ENOLINK;
	spin_lock_irq(&channel->lock);
	/* A reset of the card that is to come is another one, and reported. */
	tp_empty_locked(channel, own && tp_card_state(card) == TP_CARD_READY);
	tp_restart_locked(channel, !error);
	spin_unlock_irq(&channel->lock);
	return error;
}

int tp_revive(struct tp_channel *channel)
{
	if (!tp_needs_reset(channel))
		return 0;
	return tp_is_present(channel->card) ? tp_reset(channel, false) : -ENOLINK;
}

/* Under lock. */
static void tp_begin_cancel(struct tp_channel *channel)
{
	tp_engine_cancel(&channel->engine);
	tp_arm(channel);
}

void tp_cancel(struct tp_channel *channel)
{
	struct tp_card *card = channel->card;
	const bool has_failed = tp_card_state(card) == TP_CARD_FAILED;

	spin_lock_irq(&channel->lock);
	/* First what is not posted yet, or it would be. */
	tp_flush_client(channel, TP_STATUS_CANCELLED);
	tp_reap(channel);
	if (!list_empty(&channel->posted)) {
		trace_towpath_cancel(channel);
		tp_begin_cancel(channel);
	}
	spin_unlock_irq(&channel->lock);
	if (!tp_is_present(card))
		/* If it was pulled out, that is the error. */
		wait_event_timeout(channel->wait, tp_card_state(card) == TP_CARD_GONE, TP_LOOK);
	else if (!has_failed)
		wait_event_timeout(channel->wait, tp_is_idle(channel), TP_GRACE);
	if (tp_is_idle(channel))
		return;
	if (!has_failed)
		dev_warn(card->bus.device, "%s: a cancel does not end; resetting the channel\n",
			 channel->name);
	/* What had come and was not read is lost: that is reported. */
	tp_locked(channel, channel->resets++);
	tp_reset(channel, false);
}

/* Under lock. */
static bool tp_names(struct tp_channel *channel, const struct tp_memory *memory)
{
	tp_reap(channel);
	return channel->client->operations->names &&
	       channel->client->operations->names(channel->client, memory);
}

/* Does no work use the memory, or can none reach it any more? */
static bool tp_is_rid_of(struct tp_channel *channel, const struct tp_memory *memory)
{
	return tp_card_state(channel->card) == TP_CARD_FAILED ||
	       !tp_locked(channel, tp_names(channel, memory));
}

void tp_evict(struct tp_channel *channel, const struct tp_memory *memory)
{
	struct tp_card *card = channel->card;
	bool is_named;

	spin_lock_irq(&channel->lock);
	is_named = tp_names(channel, memory);
	if (is_named) {
		channel->cancels++;
		tp_flush_client(channel, TP_STATUS_CANCELLED);
		tp_begin_cancel(channel);
	}
	spin_unlock_irq(&channel->lock);
	if (!is_named)
		return;
	if (tp_is_present(card) &&
	    wait_event_timeout(channel->wait, tp_is_rid_of(channel, memory), TP_GRACE))
		return;
	/* A reset takes the gate, which this caller may not. */
	dev_warn(card->bus.device, "%s: memory is taken back, and a cancel does not end\n",
		 channel->name);
	if (!tp_card_cut_off(card))
		tp_lose(channel);
}

/* Count a reset on all channels, but for those whose client belongs to `owner`. */
static void tp_count_reset(struct tp_card *card, const struct tp_owner *owner)
{
	u16 index;

	for (index = 0; index < card->channel_count; index++) {
		struct tp_channel *channel = &card->channels[index];

		spin_lock_irq(&channel->lock);
		if (!owner || channel->client->owner != owner)
			channel->resets++;
		spin_unlock_irq(&channel->lock);
	}
	atomic_inc(&card->interrupt_news);
	tp_wake_all(card);
}

void tp_card_quiesce(struct tp_card *card, const struct tp_owner *owner)
{
	/* First: a call that finds the card stopped is told of this reset, and of no other. */
	atomic_inc(&card->resets);
	tp_card_move(card, TP_CARD_RESETTING);
	tp_count_reset(card, owner);
}

void tp_card_fail(struct tp_card *card)
{
	tp_card_move(card, TP_CARD_FAILED);
	tp_window_revoke(card);
	tp_count_reset(card, NULL);
}

bool tp_card_cut_off(struct tp_card *card)
{
	if (!tp_is_present(card))
		return false;
	dev_err(card->bus.device,
		"the card does not stop: it is cut off from memory; bind it again to use it\n");
	card->bus.operations->set_master(card, false);
	tp_card_fail(card);
	return true;
}
