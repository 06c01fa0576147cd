// SPDX-License-Identifier: GPL-2.0 OR MIT
/* How calls come into a channel and leave it, and how a reset takes it from them. */
#include <linux/wait_bit.h>

#include "channel.h"

/* How long a call waits for the end of a reset. */
#define TP_SETTLE (10 * HZ)

int tp_lock(struct tp_channel *channel, bool may_wait)
{
	if (mutex_trylock(&channel->io))
		return 0;
	if (may_wait)
		return mutex_lock_interruptible(&channel->io) ? -ERESTARTSYS : 0;
	/* The flush is the driver's own: no call fails because of it. It ends soon. */
	if (wait_var_event_interruptible(&channel->flushing, !READ_ONCE(channel->flushing)))
		return -ERESTARTSYS;
	/* Before the last try: the holder of io sees this when it leaves, or has left. */
	smp_store_mb(channel->sent_away, true);
	return mutex_trylock(&channel->io) ? 0 : -EAGAIN;
}

void tp_unlock(struct tp_channel *channel)
{
	mutex_unlock(&channel->io);
	/* As in tp_lock(), the other way round. */
	smp_mb();
	if (READ_ONCE(channel->sent_away)) {
		WRITE_ONCE(channel->sent_away, false);
		wake_up_all(&channel->wait);
	}
}

int tp_unlock_leave(struct tp_channel *channel, int error)
{
	if (error && tp_card_state(channel->card) == TP_CARD_GONE)
		error = -ENODEV;
	mutex_unlock(&channel->io);
	tp_leave(channel->card);
	return error;
}

/* Is no reset under way, or is the card's state final? */
static bool tp_is_settled(const struct tp_channel *channel)
{
	const enum tp_card_state card = tp_card_state(channel->card);

	if (card != TP_CARD_READY)
		return card == TP_CARD_FAILED || card == TP_CARD_GONE;
	return READ_ONCE(channel->state) != TP_CHANNEL_RESETTING && !READ_ONCE(channel->resetters);
}

int tp_await_settled(struct tp_channel *channel, bool may_wait)
{
	long left;

	if (!may_wait)
		return -EAGAIN;
	left = wait_event_interruptible_timeout(channel->wait, tp_is_settled(channel), TP_SETTLE);
	return left < 0 ? left : left == 0 ? -ECONNRESET : 0;
}

int tp_enter_settled(struct tp_channel *channel, bool may_wait)
{
	int error;

	for (;;) {
		error = may_wait ? tp_enter(channel->card) : tp_try_enter(channel->card);
		if (error != -ECONNRESET)
			return error;
		error = tp_await_settled(channel, may_wait);
		if (error)
			return error;
	}
}

int tp_take_reset(struct tp_channel *channel)
{
	return tp_locked(channel, xchg(&channel->seen, channel->resets) != channel->resets) ?
		       -ECONNRESET :
		       0;
}

/* The caller was killed. A reset that was reported already must be made: the next user makes it. */
static void tp_give_up(struct tp_channel *channel)
{
	spin_lock_irq(&channel->lock);
	channel->resetters--;
	if (channel->owed && !channel->resetters && tp_is_running(channel))
		tp_lose_locked(channel);
	else
		tp_wake_locked(channel);
	spin_unlock_irq(&channel->lock);
}

int tp_run(struct tp_channel *channel, struct tp_work *work, struct tp_descriptor *descriptors)
{
	int error = tp_locked(channel, tp_post(channel, work, descriptors));

	if (error)
		return error;
	error = tp_wait(channel, tp_reaped(channel, list_empty(&work->link)));
	if (!tp_reaped(channel, list_empty(&work->link)))
		tp_cancel(channel);
	return error;
}

int tp_claim(struct tp_channel *channel, bool *alone)
{
	int error = tp_enter_settled(channel, true);

	if (error)
		return error;
	spin_lock_irq(&channel->lock);
	channel->resetters++;
	*alone = !channel->in_call;
	if (channel->in_call) {
		channel->resets++;
		channel->owed = true;
	}
	spin_unlock_irq(&channel->lock);
	wake_up_all(&channel->wait);
	error = mutex_lock_killable(&channel->io);
	if (error) {
		tp_give_up(channel);
		tp_leave(channel->card);
		return -EINTR;
	}
	tp_locked(channel, channel->resetters--);
	return 0;
}
